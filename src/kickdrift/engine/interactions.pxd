"""Bound interactions: C functions and data for the kernels."""

from libc.stdint cimport int64_t

from ..kernels.abi.coupled cimport CoupledTable, InteractionFunction, NBody, Pairs, Springs, TangentFunction
from ..kernels.abi.plan cimport Job, Noise
from .formulas cimport BoundFormula
from .slots cimport Ends, Links


cdef class BoundInteraction:
    cdef InteractionFunction function
    cdef void* data
    cdef TangentFunction tangent    # or NULL
    cdef void* tangent_data
    cdef InteractionFunction potential  # or NULL
    cdef void* potential_data
    cdef bint noisy         # True if these functions read the tick
    cdef bint fills         # True if the function overwrites all of its output
    cdef bint whole         # True if each call must be for all bodies, not for a range
    cdef bint shared        # True if several threads may call the functions at once
    cdef bint unfailing     # True if the functions never fail (always return 0)
    cdef bint by_position   # True if the forces depend on positions only, with all else fixed during a call
    cdef bint repeatable    # True if equal states give equal forces: no time, no noise, no user function
    cdef double cost        # estimated time of one evaluation for all bodies, in ns
    cdef object keep        # the owner of the data
    cdef dict places        # arrays (1, count) of the writable fields, by name
    cdef object error       # its last exception, or None

    cdef int find_links(self, Links links) except -1
    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1


cdef class PythonInteraction(BoundInteraction):
    cdef object term
    cdef object call
    cdef dict views         # arguments (position, velocity, out) of the user's function, by address of the positions
    cdef tuple tangent_views    # arguments of the user's jacobian: position, velocity, dx, dv and out

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
    cdef object generations     # generations of the bodies at both ends of each spring; None: all are 1
    cdef Ends ends          # None before the first spawn or kill


# Data shared by the threads of an n-body evaluation.
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
