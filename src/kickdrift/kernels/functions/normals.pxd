# Standard normal numbers as a function of seed, tick and body: kickdrift/reference/noise.py.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from .elementary cimport cos, log
from ..simd.vec cimport f64vec, root_f64, width

cdef enum:
    AT_ONCE = 64    # bodies per call
    NOISE_K = 2     # number of the random stream of noise(k); the thermostat uses streams 0 and 1


cdef inline void philox(uint32_t* word, uint32_t k, uint32_t m) noexcept nogil:
    """Ten rounds of Philox 4x32."""
    cdef uint64_t p, q
    cdef uint32_t b, d
    cdef int _round
    for _round in range(10):
        p = <uint64_t> 0xD2511F53u * word[0]
        q = <uint64_t> 0xCD9E8D57u * word[2]
        b = word[1]
        d = word[3]
        word[0] = <uint32_t> (q >> 32) ^ b ^ k
        word[1] = <uint32_t> q
        word[2] = <uint32_t> (p >> 32) ^ d ^ m
        word[3] = <uint32_t> p
        k += 0x9E3779B9u
        m += 0xBB67AE85u


cdef inline void draw(
    uint64_t seed, int64_t tick, int64_t first, Py_ssize_t count, uint32_t which, const int64_t* generation,
    double* u, double* angle,
) noexcept nogil:
    """Draw uniform 0 < u <= 1 and 0 <= angle < 2 pi for up to AT_ONCE bodies, to be transformed to normal numbers.

    generation: generation of the body in each slot; NULL: 1.
    """
    cdef uint32_t word[4]
    cdef double turn = 6.283185307179586
    cdef double step = 1.0 / 9007199254740992.0
    cdef Py_ssize_t n
    for n in range(AT_ONCE):
        u[n] = 1
        angle[n] = 0
    for n in range(count):
        word[0] = <uint32_t> <uint64_t> tick
        word[1] = <uint32_t> (<uint64_t> tick >> 32)
        word[2] = <uint32_t> (first + n)
        word[3] = which
        if generation != NULL:
            word[3] |= <uint32_t> (<uint64_t> (generation[first + n] - 1) << 8)
        philox(word, <uint32_t> seed, <uint32_t> (seed >> 32))
        u[n] = <double> ((((<uint64_t> word[0] << 32) | word[1]) >> 11) + 1) * step
        angle[n] = turn * (<double> (((<uint64_t> word[2] << 32) | word[3]) >> 11) * step)


cdef inline void noise_row(
    int k, int64_t tick, int64_t first, Py_ssize_t count, const int64_t* generation, void* out, bint single,
) noexcept nogil:
    """Write noise(k) of `count` bodies to `out`, as floats if `single`, else as doubles."""
    cdef double u[AT_ONCE]
    cdef double angle[AT_ONCE]
    cdef f64vec* a = <f64vec*> u
    cdef f64vec* b = <f64vec*> angle
    cdef f64vec minus_two
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t n, some
    while begin < count:
        some = min(<Py_ssize_t> AT_ONCE, count - begin)
        draw(k, tick, first + begin, some, NOISE_K, generation, u, angle)
        for n in range((some + width(a) - 1) // width(a)):
            minus_two = log(a[n])
            minus_two = -2 * minus_two
            a[n] = root_f64(minus_two) * cos(b[n])
        for n in range(some):
            if single:
                (<float*> out)[begin + n] = <float> u[n]
            else:
                (<double*> out)[begin + n] = u[n]
        begin += some
