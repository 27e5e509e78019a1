"""A model as C structs for the kernels."""

from libc.stdint cimport int64_t

from .coefficients cimport AppliedForces
from .rotation cimport Torques
from .coupled cimport Coupled
from ..kernels.abi.plan cimport MAX_CONSTANTS, MAX_STAGES, Field, Layout, Plan, Term
from ..kernels.abi.coupled cimport Kernels


cdef class StepNumbers:
    """Numbers of a binding that depend on dt."""

    cdef double h
    cdef Field decay, turn, turn_share
    cdef Field flow[4]
    cdef double constants[MAX_CONSTANTS]
    cdef double after[MAX_STAGES]
    cdef int64_t ticks[MAX_STAGES]
    cdef list arrays            # memory that the fields point to
    cdef const void* spin_decay     # damping factors of angular velocities, or NULL
    cdef bint spin_decay_each       # True: one factor per body; False: one for all


cdef class Binding:
    cdef const Kernels* kernels
    cdef Plan plan
    cdef Term* terms
    cdef object model           # the Plan of model.py
    cdef list state             # views of position, velocity and, for schemes that have one, history
    cdef list arrays            # memory that the plan points to
    cdef dict coefficients      # affine coefficients: symbol -> (values, memory)
    cdef list records           # per term, the memory that its fields point to
    cdef AppliedForces applied  # forces in users' arrays, or None
    cdef Torques torques
    cdef StepNumbers numbers
    cdef bint fallible          # True if a step may fail
    cdef bint fsal             # first same as last: a call needs one evaluation more than its steps have stages
    cdef double cost            # estimated ns of one step of all bodies
    cdef Py_ssize_t most        # number of steps until the first check for Ctrl-C; Runner then adapts the number
    cdef Py_ssize_t helpers
    cdef list writes            # writes to data shared with the previous binding, deferred to the commit
    cdef Coupled coupled        # data of coupled bodies, or None
    cdef dict known             # if `coupled` is reused: its attribute `known` after the commit; or None

    @staticmethod
    cdef Binding of(object model, list state, const Kernels* kernels, Py_ssize_t threads, Binding previous)

    cdef Py_ssize_t steps_at_once(self) noexcept
    cdef int bind_scheme(self, object integrator) except -1
    cdef Layout layout(self, list arrays) except *
    cdef bint componentwise(self)
    cdef int bind_coefficients(self, Binding previous) except -1
    cdef int check_branches(self) except -1
    cdef Field coefficient(self, str symbol, const Field* known, dict before) except *
    cdef int bind_coupled(self, Py_ssize_t threads, Coupled previous) except -1
    cdef double estimate(self) except -1
    cdef StepNumbers numbers_for(self, double h, Binding previous)
    cdef void take(self, StepNumbers numbers) noexcept
    cdef void prepare(self) noexcept
