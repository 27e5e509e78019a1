# What the modules of an instruction set offer, twice: for float and for double.

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint64_t

from .formulas cimport FormulaTable
from .newton cimport Solve
from .ode cimport ODETable
from .plan cimport Array, Plan
from .coupled cimport SweptTable

ctypedef struct Kernels

ctypedef struct Kernels:
    void (*prepare)(const Kernels*, Plan*) noexcept nogil       # whenever anything in the plan changed
    # Of (n, dim) numbers, the first of which counts as number `place`.
    uint64_t (*digest)(const Array*, Py_ssize_t n, int dim, uint64_t place) noexcept nogil
    Solve implicit_euler    # of bodies that are left alone
    Solve energy_euler
    SweptTable swept        # for bodies that are not left alone
    ODETable ode            # for y' = f(t, y)
    FormulaTable formulas


cdef inline int take_over(Kernels* kernels, object capsule) except -1:
    """What another module offers, for this one to add to."""
    cdef const Kernels* other = <const Kernels*> PyCapsule_GetPointer(capsule, "kickdrift.Kernels")
    kernels[0] = other[0]
    kernels[1] = other[1]
    return 0
