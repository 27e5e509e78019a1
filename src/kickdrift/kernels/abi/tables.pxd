# Function tables of an instruction set's modules, one for float and one for double.

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint64_t

from .applied cimport Applied
from .formulas cimport FormulaTable
from .ode cimport ODETable
from .plan cimport Array, Plan, Run, Solve
from .rotation cimport Turn
from .coupled cimport CoupledTable

cdef extern from *:
    """
    #ifndef KICKDRIFT_ABI
      #define KICKDRIFT_ABI 0  /* not compiled by setup.py, which has a digest of the files in abi/ */
    #endif
    """
    const uint64_t KICKDRIFT_ABI

ctypedef struct Kernels

cdef enum:                  # what a plan has that there is no branch for: the number of a term, or one of these
    NOTHING = -1
    SCHEME = -2

# To be asked of each plan once, before it is prepared.
ctypedef int (*Missing)(Plan*, const void* like) noexcept nogil

# To be called whenever anything in the plan has changed.
ctypedef void (*Prepare)(Plan*, const Kernels*, const void* like) noexcept nogil

# Fills `to` with a scheme's constants and returns how many there are.
ctypedef int (*Constants)(const Plan*, void* to) noexcept nogil

# Of (n, dim) numbers; the first one has index `place`.
ctypedef uint64_t (*Digest)(const Array*, Py_ssize_t n, int dim, uint64_t place, const void* like) noexcept nogil

# g + F / m of bodies from a multiple of ROW on, ROW at most, to where their components go.
ctypedef void (*Merge)(const Applied*, Py_ssize_t first, Py_ssize_t count, char** out, const void* like) noexcept nogil

ctypedef struct Kernels:
    uint64_t abi            # KICKDRIFT_ABI; stays the first, so that it can be read whatever the others are
    Missing missing
    Prepare prepare
    Constants constants
    Run living              # `each` of a plan, for those that live
    Digest digest
    Merge merge
    Turn begin_turning      # before a step
    Turn complete_turning   # behind it
    Solve implicit_euler    # of bodies that are left alone
    Solve energy_euler
    CoupledTable coupled    # for bodies that are not left alone
    ODETable ode            # for y' = f(t, y)
    FormulaTable formulas


cdef inline const Kernels* offered_in(object capsule) except NULL:
    """The kernels, for float and for double, of a module that was compiled with the same structs as this one."""
    cdef const Kernels* kernels = <const Kernels*> PyCapsule_GetPointer(capsule, "kickdrift.Kernels")
    if kernels.abi != KICKDRIFT_ABI:
        raise ImportError(
            "kickdrift: expected kernels and engine from one build, got some from before a change in kernels/abi/;"
            " run `python setup.py build_ext --inplace` without KICKDRIFT_ISAS, or install again"
        )
    return kernels


cdef inline int take_over(Kernels* kernels, object capsule) except -1:
    """What another module offers, for this one to add to."""
    cdef const Kernels* other = offered_in(capsule)
    kernels[0] = other[0]
    kernels[1] = other[1]
    return 0
