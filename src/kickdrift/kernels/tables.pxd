# What the module of an instruction set offers, twice: for float and for double.

from libc.stdint cimport uint64_t

from .odeplan cimport ODETable
from .plan cimport Array, Plan
from .sweptplan cimport SweptTable

ctypedef struct Kernels:
    void (*prepare)(Plan*) noexcept nogil       # whenever anything in the plan changed
    # Of (n, dim) numbers, the first of which counts as number `place`.
    uint64_t (*digest)(const Array*, Py_ssize_t n, int dim, uint64_t place) noexcept nogil
    SweptTable swept        # for bodies that are not left alone
    ODETable ode            # for y' = f(t, y)
