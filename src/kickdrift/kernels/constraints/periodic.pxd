# Bodies that leave a periodic box: kickdrift/reference/constraints/periodic.py.

from libc.stdint cimport int64_t

from .impacts cimport replace
from ..abi.constraints cimport Periodic
from ..abi.plan cimport MAX_DIM
from ..simd.vec cimport real
from ..space cimport inside


cdef inline int wrap(
    double h, int64_t first, int64_t last, int dim, int64_t stride, real* x, real* v, real* s, const Periodic* data,
) noexcept nogil:
    """Wrap bodies that have left the box to its other side."""
    cdef const real* weight = <const real*> data.weight
    cdef real y[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef int64_t i
    cdef int c
    cdef bint moved
    for i in range(first, last):
        moved = False
        for c in range(dim):
            u[c] = v[c * stride + i]
            y[c] = inside(x[c * stride + i], c, &data.torus)
            moved = moved or y[c] != x[c * stride + i]
        if moved and weight[i] > 0:
            replace(dim, <real> h, stride, i, y, u, x, v, s)
    return 0
