"""What pushes many bodies at once, as the kernels call it."""

from libc.stdint cimport int64_t

from ..kernels.abi.interactions cimport NBody, Pairs, Springs
from ..kernels.abi.coupled cimport CoupledTable, InteractionFunction, TangentFunction
from ..kernels.abi.noise cimport Noise
from ..kernels.abi.plan cimport Job
from .formulas cimport BoundFormula
from .slots cimport Ends, Links


cdef class BoundInteraction:
    cdef InteractionFunction function
    cdef void* data
    cdef TangentFunction tangent    # or NULL
    cdef void* tangent_data
    cdef InteractionFunction potential  # or NULL
    cdef void* potential_data
    cdef bint noisy         # are these told the tick?
    cdef bint fills         # does the function write all numbers?
    cdef bint whole         # does it want all bodies at once?
    cdef bint shared        # may several threads call it at once?
    cdef bint unfailing     # do its functions always return 0?
    cdef double cost        # of evaluating it for all bodies, in nanoseconds
    cdef object keep        # what the data belongs to
    cdef dict places        # by name, of the fields that may be written again: where their numbers lie, (1, count)
    cdef object error       # what it raised last, or None

    cdef int find_links(self, Links links) except -1
    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1


cdef class PythonInteraction(BoundInteraction):
    cdef object term
    cdef object call
    cdef list views         # position, velocity and out as the function sees them, for each place of the state
    cdef const void* first  # where the positions are in the first place
    cdef tuple tangent_views    # position, velocity, dx, dv and out as the user's jacobian sees them

    cdef int show(self, list places, object out) except -1
    cdef int show_tangent(self, list planes, object out) except -1


cdef class NativeInteraction(BoundInteraction):
    pass


cdef class FormulaInteraction(BoundInteraction):
    cdef BoundFormula force
    cdef BoundFormula change
    cdef BoundFormula energy


cdef class PairsInteraction(BoundInteraction):
    cdef Pairs pairs
    cdef BoundFormula slope
    cdef list arrays

    cdef void* take(self, object count, object dtype) except NULL
    cdef void grow(self) noexcept


cdef class LangevinInteraction(BoundInteraction):
    cdef Noise noise
    cdef list arrays


cdef class SpringsInteraction(BoundInteraction):
    cdef Springs springs
    cdef list arrays
    cdef object tenants     # for which bodies they are, or None
    cdef Ends ends          # or None, where no body dies


# What threads share when bodies attract each other.
ctypedef struct Crowd:
    InteractionFunction kernel
    void* data
    int64_t dim, stride
    const void* x
    void* out


cdef class NBodyInteraction(BoundInteraction):
    cdef NBody bodies
    cdef list arrays
    cdef Crowd crowd
    cdef Job job
    cdef Py_ssize_t threads


cdef BoundInteraction bind_interaction(object interaction, object plan, const CoupledTable* table, Py_ssize_t threads)
