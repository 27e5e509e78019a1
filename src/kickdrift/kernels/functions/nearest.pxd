# Arguments in float32 whose values lie so near the middle of two floats that float64 takes them for it: found by
# `tools/prove.py functions`, which looks at all arguments. As NEAREST in kickdrift/reference/functions.py.

from ..abi.formulas cimport CBRT, COS, EXP, LOG, SIN, TANH

cdef extern from *:
    """
    typedef struct { int code, even; double argument, share; } kd_near_tie;
    static const kd_near_tie kd_nearest[] = {
        {-1, 0, 0, 0}
    };
    """
    ctypedef struct NearTie "kd_near_tie":
        int code
        bint even
        double argument
        double share
    const NearTie* NEAREST "kd_nearest"
