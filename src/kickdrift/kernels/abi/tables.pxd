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
      #define KICKDRIFT_ABI 0  /* compiled without setup.py, which hashes the files in abi/ */
    #endif
    """
    const uint64_t KICKDRIFT_ABI

ctypedef struct Kernels

cdef enum:                  # results of Missing: the number of an unsupported term, or one of these
    NOTHING = -1
    SCHEME = -2

# Check once per plan, before it is prepared, for terms or schemes without a kernel.
ctypedef int (*Missing)(Plan*, const void* like) noexcept nogil

# Prepare a plan; call again after any change of it.
ctypedef void (*Prepare)(Plan*, const Kernels*, const void* like) noexcept nogil

# Write a scheme's constants to `to`; return their number.
ctypedef int (*Constants)(const Plan*, void* to) noexcept nogil

# Digest of (n, dim) numbers; `place` is the index of the first.
ctypedef uint64_t (*Digest)(const Array*, Py_ssize_t n, int dim, uint64_t place, const void* like) noexcept nogil

# Write g + F / m of up to ROW bodies, from a multiple of ROW on, to each component of `out`.
ctypedef void (*Merge)(const Applied*, Py_ssize_t first, Py_ssize_t count, char** out, const void* like) noexcept nogil

ctypedef struct Kernels:
    uint64_t abi            # KICKDRIFT_ABI; always first, so that any build can read it
    Missing missing
    Prepare prepare
    Constants constants
    Run living              # runs `each` of a plan on spans of active bodies
    Digest digest
    Merge merge
    Turn begin_turning      # rotation before a step
    Turn complete_turning   # rotation after a step
    Solve implicit_euler    # for uncoupled bodies
    Solve energy_euler
    CoupledTable coupled    # for coupled bodies
    ODETable ode            # for y' = f(t, y)
    FormulaTable formulas


cdef inline const Kernels* offered_in(object capsule) except NULL:
    """Return the tables (float, double) of a module; raise ImportError if its structs differ from this build's."""
    cdef const Kernels* kernels = <const Kernels*> PyCapsule_GetPointer(capsule, "kickdrift.Kernels")
    if kernels.abi != KICKDRIFT_ABI:
        raise ImportError(
            "kickdrift: expected kernels and engine from one build, got some from before a change in kernels/abi/;"
            " run `python setup.py build_ext --inplace` without KICKDRIFT_ISAS, or install again"
        )
    return kernels


cdef inline int take_over(Kernels* kernels, object capsule) except -1:
    """Copy the tables of another module, to be extended by this one."""
    cdef const Kernels* other = offered_in(capsule)
    kernels[0] = other[0]
    kernels[1] = other[1]
    return 0
