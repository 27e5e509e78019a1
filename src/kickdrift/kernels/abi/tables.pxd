# What the modules of an instruction set offer, twice: for float and for double.

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint64_t

from .applied cimport Applied
from .formulas cimport FormulaTable
from .ode cimport ODETable
from .plan cimport Array, Plan, Solve
from .coupled cimport SweptTable

ctypedef struct Kernels

# To be called whenever anything in the plan has changed.
ctypedef void (*Prepare)(Plan*, const Kernels*, const void* like) noexcept nogil

# Of (n, dim) numbers, the first of which counts as number `place`.
ctypedef uint64_t (*Digest)(const Array*, Py_ssize_t n, int dim, uint64_t place, const void* like) noexcept nogil

# g + F / m of bodies from a multiple of ROW on, ROW at most, to where their components go.
ctypedef void (*Merge)(const Applied*, Py_ssize_t first, Py_ssize_t count, char** out, const void* like) noexcept nogil

ctypedef struct Kernels:
    Prepare prepare
    Digest digest
    Merge merge
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
