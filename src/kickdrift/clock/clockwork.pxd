"""The C face of the fixed-step clock, for the stepper's frame loop.

    n = clock.begin_frame(seconds)       # checks and feeds; from here on the clock refuses other callers
    try:
        done = run(n, step_length(&clock.now))      # without the GIL; says how many steps it completed
    finally:
        count_steps(&clock.now, done)    # what is not counted stays owed to the next frame
        clock.end_frame()                # settings made inside the frame hold from here on

Where it has a budget, each step is asked for and counted by itself:

    while clock.may_step():              # false too when the budget is spent: the rest is dropped
        clock.now.taken = 1
        run(1, step_length(&clock.now))
        count_steps(&clock.now, 1)

`now.substeps` integrator steps make up each step. The layout and the list of methods are private to the
package: cimport from other packages is not supported.
"""

from libc.stdint cimport int64_t

from ..kernels.clock cimport Clock


cdef class Clockwork:
    cdef Clock now
    cdef readonly object _settings
    cdef readonly object _origin            # of time, in seconds
    cdef int64_t base_ns                    # of `advance_to`
    cdef bint has_base
    cdef bint running                       # is it inside a step?
    cdef bint planning                      # does `plan` count, without the GIL?
    cdef bint warned                        # of a frame that may be milliseconds
    cdef int64_t began_ns                   # when the first step of the frame began; -1: not yet
    cdef public object _stepper             # a weak reference to the one that this clock is of

    # Of a frame loop. Needs the GIL.
    cdef int64_t begin_frame(self, object seconds) except -1
    cdef int next_step(self) except -1
    cdef int may_step(self) except -1
    cdef int end_frame(self) except -1

    # Of the clock itself.
    cdef int _change_rate(self) except -1
    cdef int put(self, dict changes, object origin) except -1
    cdef int _refuse_reentry(self) except -1
    cdef int _look_at(self, double frame) except -1
    cdef int64_t _feed(self, object seconds) except -1
    cdef int64_t _begin(self, int64_t ns, double float_rest) except -1
    cdef int64_t _run_due(self, int64_t n) except -1
    cdef int _within_budget(self) except -1
    cdef int _close(self) except -1
