"""C interface of the fixed-step clock, for the stepper's frame loop.

    n = clock.begin_frame(seconds)       # checks and feeds; from here on the clock rejects other callers
    try:
        done = run(n, step_length(&clock.now))      # without the GIL; returns the number of completed steps
    finally:
        count_steps(&clock.now, done)    # steps that are not counted stay due in the next frame
        clock.end_frame()                # applies settings made inside the frame

With a time budget, steps are run and counted one by one:

    while clock.may_step():              # False also when the budget is spent: the rest is dropped
        clock.now.taken = 1
        run(1, step_length(&clock.now))
        count_steps(&clock.now, 1)

A step consists of `now.substeps` integrator steps. The layout and the list of methods are private to the
package: cimport from other packages is not supported.
"""

from libc.stdint cimport int64_t

from ..kernels.clock cimport Clock


cdef class Clockwork:
    cdef Clock now
    cdef readonly object _settings
    cdef readonly object _origin            # origin of time, in seconds
    cdef int64_t base_ns                    # base of `advance_to`
    cdef bint has_base
    cdef bint running                       # True while a step runs
    cdef bint planning                      # True while `plan` runs without the GIL
    cdef bint warned                        # True if the warning about milliseconds was issued
    cdef int64_t began_ns                   # time of the first step of the frame; -1: none yet
    cdef public object _stepper             # a weak reference to the stepper that owns this clock

    # Methods of the frame loop; they need the GIL.
    cdef int64_t begin_frame(self, object seconds) except -1
    cdef int next_step(self) except -1
    cdef int may_step(self) except -1
    cdef int end_frame(self) except -1

    # Private methods.
    cdef int _change_rate(self) except -1
    cdef int put(self, dict changes, object origin) except -1
    cdef int _refuse_reentry(self) except -1
    cdef int _look_at(self, double frame) except -1
    cdef int64_t _feed(self, object seconds) except -1
    cdef int64_t _begin(self, int64_t ns, double float_rest) except -1
    cdef int64_t _run_due(self, int64_t n) except -1
    cdef int _within_budget(self) except -1
    cdef int _close(self) except -1
