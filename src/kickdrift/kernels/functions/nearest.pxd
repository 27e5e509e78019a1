# Arguments in float32 whose values lie so near the middle of two floats that float64 takes them for it: found by
# `tools/prove.py functions`, which looks at all arguments. As NEAREST in kickdrift/reference/functions.py.

cdef extern from *:
    """
    /* Also for minus the argument, where `even`; the last one has a share of 0. */
    typedef struct { int even; double argument, share; } kd_near_tie;
    #define KD_ABOVE (1 + 1 / 1125899906842624.0)
    #define KD_BELOW (1 - 1 / 1125899906842624.0)
    static const kd_near_tie kd_near_sin[] = {
        {1, 9830.3984375, KD_BELOW},
        {0, 0, 0}
    };
    static const kd_near_tie kd_near_cos[] = {
        {1, 1.100467763087514e+19, KD_BELOW},
        {1, 1.7269983397793917e+20, KD_ABOVE},
        {0, 0, 0}
    };
    static const kd_near_tie kd_near_log[] = {
        {0, 0.011794382706284523, KD_BELOW},
        {0, 9.472636222839355, KD_BELOW},
        {0, 58037908.0, KD_ABOVE},
        {0, 1.2783783694984994e+23, KD_ABOVE},
        {0, 5.498306075456329e+28, KD_ABOVE},
        {0, 0, 0}
    };
    """
    ctypedef struct NearTie "kd_near_tie":
        bint even
        double argument
        double share
    const NearTie* NEAR_SIN "kd_near_sin"
    const NearTie* NEAR_COS "kd_near_cos"
    const NearTie* NEAR_LOG "kd_near_log"
