"""The compiled part of a stepper that steps; the frame loop builds on it."""

from libc.stdint cimport int64_t

from .guard cimport guard_t
from .kernels.plan cimport Array, Field, Job, Layout, Plan, Term
from .sharing cimport Sharing


cdef class Core(Sharing):
    cdef Plan plan
    cdef Term* terms
    cdef Py_buffer views[2]
    cdef int bound          # how many of them
    cdef guard_t busy
    cdef bint started       # the history is filled
    cdef double cost        # of one step of all bodies, in nanoseconds
    cdef Py_ssize_t most    # steps between two looks for Ctrl-C
    cdef int again          # evaluations that the next part of a call repeats
    cdef int64_t ticks
    cdef int64_t evaluations
    cdef object history     # array, or None
    cdef bint fallible      # may a step fail?
    cdef list saved         # arrays to go back to then
    cdef list coefficients  # arrays that the plan points into
    cdef Py_ssize_t lasting  # of them, those that do not depend on dt

    cdef void locate(self, Array* array, object source) except *
    cdef void bind_scheme(self, object integrator) except *
    cdef Layout layout(self) except *
    cdef bint componentwise(self)
    cdef void bind_coefficients(self, object plan) except *
    cdef Field field(self, object values) except *
    cdef double estimate(self) except -1
    cdef int hold(self) except -1
    cdef void prepare(self) noexcept
    cdef void settle(self) noexcept
    cdef int go(self, Py_ssize_t steps) except -1
    cdef int save_for_failure(self) except -1
    cdef list state(self)
    cdef int complete(self, Py_ssize_t steps, bint last) except -1
    cdef int raise_waiting(self, Py_ssize_t steps) except -1
    cdef int run_or_restore(self, Py_ssize_t steps) except -1
    cdef int raise_failure(self, const Job* failed) except -1
    cdef int run(self, Py_ssize_t steps) except -1
