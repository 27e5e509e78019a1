# Kernels of constraints between bodies, or between a body and a fixed position.

from libc.stdint cimport int64_t

from ..constraints.joints cimport distance, pin
from ..abi.constraints cimport DISTANCE, PIN, Distance, ConstraintKind, Pin
from ..abi.coupled cimport NO_BRANCH
from ..simd.vec cimport real


cdef inline int tied(
    ConstraintKind kind, double h, int64_t first, int64_t last, int64_t dim, int64_t stride,
    const real* before, const real* delta_v, real* x, real* v, real* s, const void* data,
    void* owner,
) noexcept nogil:
    if kind == PIN:
        return pin(dim, stride, before, x, v, s, <const Pin*> data)
    if kind == DISTANCE:
        return distance(h, dim, stride, before, x, v, <const Distance*> data, owner)
    return NO_BRANCH
