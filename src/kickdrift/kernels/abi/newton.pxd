# Steps that look at all components of a body at once, for a tile in planes: see newton.pxd.

from libc.stdint cimport int64_t

from .plan cimport TILE, Plan

# What solving the implicit steps of a tile tells.
ctypedef struct Newton:
    int64_t evaluations[TILE]
    Py_ssize_t body         # that was not solved
    double residual

# One step of a tile; False, changing nothing, where a body's cannot be solved.
ctypedef bint (*Solve)(
    const Plan*, Py_ssize_t first, Py_ssize_t count, void* x, void* v, Newton*,
) noexcept nogil
