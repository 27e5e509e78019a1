# Friction on a floor: kickdrift/reference/constraints/floor.py.

from libc.stdint cimport int64_t

from .impacts cimport each
from ..abi.constraints cimport Floor
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, root
from ..simd.vec cimport real


cdef inline int slow_down(
    real h, int64_t first, int64_t last, int dim, int64_t stride, const real* before, real* delta_v, real* x, real* v,
    real* s, const Floor* data,
) noexcept nogil:
    """Slow bodies down. Bodies that stop within the step stay where they stop."""
    cdef real zero = 0
    cdef real one = 1
    cdef real half = <real> 0.5 * h
    cdef real was[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real read[MAX_DIM]
    cdef real fall, speed, left, share
    cdef int64_t i, k
    cdef int c
    for i in range(first, last):
        fall = each(&data.deceleration, i, h) * h
        if not fall > 0:
            continue
        for c in range(dim):
            k = c * stride + i
            was[c] = v[k] - delta_v[k]
            read[c] = v[k]
            motion[c] = v[k] if s == NULL else (x[k] - s[k]) / h
        speed = root(dot(dim, motion, motion))
        if speed <= fall:
            left = zero
            share = root(dot(dim, was, was))
            share = half * (share / (share + (fall - speed)) if share > 0 else zero)
            for c in range(dim):
                x[c * stride + i] = before[c * stride + i] + share * was[c]
        else:
            share = half * (fall / speed)
            for c in range(dim):
                x[c * stride + i] = x[c * stride + i] - share * motion[c]
            left = one - fall / speed
        if s != NULL:
            for c in range(dim):
                s[c * stride + i] = x[c * stride + i] - h * (left * motion[c])
            speed = root(dot(dim, read, read))
            left = zero if not left > 0 or speed <= fall else one - fall / speed
        for c in range(dim):
            k = c * stride + i
            v[k] = left * v[k]
            delta_v[k] = v[k] - was[c]
    return 0
