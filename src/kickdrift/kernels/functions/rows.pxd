# Functions of rows of numbers: float64 by elementary.pxd; float32 by quick.pxd, and by float64 where that is uncertain.

from .elementary cimport TOGETHER, atan2s, cbrt, cos, exp, log, sin, tanh, tans
from .powers cimport pows
from .quick cimport Unsure, quick
from ..abi.formulas cimport ATAN2, CBRT, COS, EXP, LOG, POW, SIN, TAN, TANH
from ..simd.bits cimport any_flag, joined, lower, upper
from ..simd.vec cimport f32vec, f64vec, width


# Float32 arguments whose results are so close to the midpoint of two floats that float64 may round them to the wrong
# one. `tools/prove.py functions` found these by testing all. Same list as NEAREST in kickdrift/reference/functions.py.


cdef extern from *:
    """
    /* The result at `argument`, and at -argument if `even`, is multiplied by `share`. A share of 0 ends the list. */
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


cdef inline void functions(
    int code, Py_ssize_t vectors, f64vec* out, const f64vec* a, Py_ssize_t i, const f64vec* b, Py_ssize_t j,
) noexcept nogil:
    """out = f(a) or f(a, b) for `vectors` vectors; i and j are the steps of a and b."""
    cdef Py_ssize_t n = 0
    if code == SIN:
        for n in range(vectors):
            out[n] = sin(a[n * i])
    elif code == COS:
        for n in range(vectors):
            out[n] = cos(a[n * i])
    elif code == TAN:
        while n < vectors:
            tans(a + n * i, i, min(<Py_ssize_t> TOGETHER, vectors - n), out + n)
            n += TOGETHER
    elif code == EXP:
        for n in range(vectors):
            out[n] = exp(a[n * i])
    elif code == LOG:
        for n in range(vectors):
            out[n] = log(a[n * i])
    elif code == TANH:
        for n in range(vectors):
            out[n] = tanh(a[n * i])
    elif code == CBRT:
        for n in range(vectors):
            out[n] = cbrt(a[n * i])
    elif code == POW:
        while n < vectors:
            pows(a + n * i, i, b + n * j, j, min(<Py_ssize_t> TOGETHER, vectors - n), out + n)
            n += TOGETHER
    elif code == ATAN2:
        atan2s(a, i, b, j, vectors, out)


cdef inline void careful(int code, f32vec* out, f32vec a, f32vec b) noexcept nogil:
    """out = f(a) or f(a, b) of floats, computed in float64."""
    cdef f64vec x[2]
    cdef f64vec y[2]
    cdef f64vec result[2]
    x[0], x[1] = lower(a), upper(a)
    y[0], y[1] = lower(b), upper(b)
    functions(code, 2, result, x, 1, y, 1)
    nudge(code, 2 * width(result), <double*> x, <double*> result)
    out[0] = joined(result[0], result[1])


cdef inline void blocks_of_floats(
    int code, Py_ssize_t vectors, f32vec* out, const f32vec* a, Py_ssize_t i, const f32vec* b, Py_ssize_t j,
) noexcept nogil:
    """out = f(a) or f(a, b): uncertain vectors are recomputed in float64. `vectors` is a multiple of TOGETHER."""
    cdef Unsure unsure
    cdef Py_ssize_t n = 0
    cdef int k
    while n < vectors:
        n += quick(code, vectors - n, out + n, a + n * i, i, b + n * j, j, &unsure)
        if n < vectors:
            for k in range(TOGETHER):
                if any_flag(unsure.doubt[k]):
                    careful(code, out + n, a[n * i], b[n * j])
                else:
                    out[n] = unsure.near[k]
                n += 1


cdef inline void functions_of_floats(
    int code, Py_ssize_t vectors, f32vec* out, const f32vec* a, Py_ssize_t i, const f32vec* b, Py_ssize_t j,
) noexcept nogil:
    """out = f(a) or f(a, b) for any number of vectors: the last vector is repeated to fill a block of TOGETHER."""
    cdef f32vec x[TOGETHER]
    cdef f32vec y[TOGETHER]
    cdef f32vec near[TOGETHER]
    cdef Py_ssize_t whole = vectors - vectors % TOGETHER
    cdef Py_ssize_t n
    cdef int k
    if b == NULL:
        b, j = a, i
    blocks_of_floats(code, whole, out, a, i, b, j)
    if whole < vectors:
        for k in range(TOGETHER):
            n = min(whole + k, vectors - 1)
            x[k], y[k] = a[n * i], b[n * j]
        blocks_of_floats(code, TOGETHER, near, x, 1, y, 1)
        for k in range(<int> (vectors - whole)):
            out[whole + k] = near[k]


cdef inline void nudge(int code, Py_ssize_t count, const double* a, double* result) noexcept nogil:
    """Move the results of arguments in the lists of near ties to the correct side of the midpoint of two floats."""
    cdef const NearTie* tie = NULL
    cdef Py_ssize_t n
    if code == COS:
        tie = NEAR_COS
    elif code == LOG:
        tie = NEAR_LOG
    elif code == SIN:
        tie = NEAR_SIN
    if tie == NULL:
        return
    while tie.share != 0:
        for n in range(count):
            if a[n] == tie.argument or (tie.even and a[n] == -tie.argument):
                result[n] = result[n] * tie.share
        tie += 1
