# Built-in right-hand sides: the formulas of kickdrift/reference/flows.py.
#
# c: constants of the flow, parameters first, as in kickdrift/flows.py; then literal constants at fixed indices.
# Literals would be doubles, which do not mix with vectors of floats.

from ..abi.ode cimport AIZAWA, FOUR, HALVORSEN, LORENZ, LOTKA_VOLTERRA, ONE, ROSSLER, THOMAS, THREE, TWO, ZERO
from ..simd.vec cimport vec


cdef inline void rate(int flow, const vec* c, const vec* y, vec* k) noexcept nogil:
    """k = f(y)"""
    if flow == LORENZ:
        k[0] = c[0] * (y[1] - y[0])
        k[1] = y[0] * (c[1] - y[2]) - y[1]
        k[2] = y[0] * y[1] - c[2] * y[2]
    elif flow == ROSSLER:
        k[0] = -y[1] - y[2]
        k[1] = y[0] + c[0] * y[1]
        k[2] = c[1] + y[2] * (y[0] - c[2])
    elif flow == THOMAS:
        k[0] = sine(c + 1, y[1]) - c[0] * y[0]
        k[1] = sine(c + 1, y[2]) - c[0] * y[1]
        k[2] = sine(c + 1, y[0]) - c[0] * y[2]
    elif flow == HALVORSEN:
        k[0] = -c[0] * y[0] - c[FOUR] * y[1] - c[FOUR] * y[2] - y[1] * y[1]
        k[1] = -c[0] * y[1] - c[FOUR] * y[2] - c[FOUR] * y[0] - y[2] * y[2]
        k[2] = -c[0] * y[2] - c[FOUR] * y[0] - c[FOUR] * y[1] - y[0] * y[0]
    elif flow == AIZAWA:  # a, b, c, d, e, f
        k[0] = (y[2] - c[1]) * y[0] - c[3] * y[1]
        k[1] = c[3] * y[0] + (y[2] - c[1]) * y[1]
        k[2] = (
            c[2] + c[0] * y[2] - y[2] * y[2] * y[2] / c[THREE] - (y[0] * y[0] + y[1] * y[1]) * (c[ONE] + c[4] * y[2])
            + c[5] * y[2] * (y[0] * y[0] * y[0])
        )
    elif flow == LOTKA_VOLTERRA:
        k[0] = y[0] * (c[0] - c[1] * y[1])
        k[1] = y[1] * (c[3] * y[0] - c[2])
    else:
        k[0] = y[1]
        k[1] = c[0] * (c[ONE] - y[0] * y[0]) * y[1] - y[0]


cdef inline vec sine(const vec* c, vec x) noexcept nogil:
    """sin x. c: 1/pi; a number whose addition and subtraction round to an integer; pi as a sum of three parts; pi/2,
    1/2, 1, 2; Taylor coefficients."""
    cdef vec n = (x * c[0] + c[1]) - c[1]
    cdef vec r = ((x - n * c[2]) - n * c[3]) - n * c[4]
    cdef vec odd = n - c[8] * ((c[6] * n + c[1]) - c[1])
    cdef vec z = r * r
    cdef vec p = c[18]
    cdef int i
    for i in range(9):
        p = p * z + c[17 - i]
    return (c[7] - c[8] * (odd * odd)) * (r + r * (z * p))


cdef inline void derivatives(int flow, const vec* c, const vec* y, vec* m) noexcept nogil:
    """m = Jacobian df/dy, row by row"""
    if flow == LORENZ:
        put(m, -c[0], c[0], c[ZERO])
        put(m + 3, c[1] - y[2], -c[ONE], -y[0])
        put(m + 6, y[1], y[0], -c[2])
    elif flow == ROSSLER:
        put(m, c[ZERO], -c[ONE], -c[ONE])
        put(m + 3, c[ONE], c[0], c[ZERO])
        put(m + 6, y[2], c[ZERO], y[0] - c[2])
    elif flow == THOMAS:
        put(m, -c[0], sine(c + 1, y[1] + c[6]), c[ZERO])
        put(m + 3, c[ZERO], -c[0], sine(c + 1, y[2] + c[6]))
        put(m + 6, sine(c + 1, y[0] + c[6]), c[ZERO], -c[0])
    elif flow == HALVORSEN:
        put(m, -c[0], -c[FOUR] - c[TWO] * y[1], -c[FOUR])
        put(m + 3, -c[FOUR], -c[0], -c[FOUR] - c[TWO] * y[2])
        put(m + 6, -c[FOUR] - c[TWO] * y[0], -c[FOUR], -c[0])
    elif flow == AIZAWA:
        put(m, y[2] - c[1], -c[3], y[0])
        put(m + 3, c[3], y[2] - c[1], y[1])
        put(
            m + 6,
            -c[TWO] * y[0] * (c[ONE] + c[4] * y[2]) + c[THREE] * c[5] * y[2] * (y[0] * y[0]),
            -c[TWO] * y[1] * (c[ONE] + c[4] * y[2]),
            c[0] - y[2] * y[2] - c[4] * (y[0] * y[0] + y[1] * y[1]) + c[5] * (y[0] * y[0] * y[0]),
        )
    elif flow == LOTKA_VOLTERRA:
        m[0] = c[0] - c[1] * y[1]
        m[1] = -c[1] * y[0]
        m[2] = c[3] * y[1]
        m[3] = c[3] * y[0] - c[2]
    else:
        m[0] = c[ZERO]
        m[1] = c[ONE]
        m[2] = -c[TWO] * c[0] * y[0] * y[1] - c[ONE]
        m[3] = c[0] * (c[ONE] - y[0] * y[0])


cdef inline void put(vec* row, vec a, vec b, vec c) noexcept nogil:
    row[0] = a
    row[1] = b
    row[2] = c
