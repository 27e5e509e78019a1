"""The C face of the fixed-step clock, for the stepper's frame loop.

    n = clock.begin_frame(seconds)       # checks and feeds; from here on the clock refuses other callers
    try:
        done = run(n, clock.step_length())      # without the GIL; says how many steps it completed
    finally:
        clock.count(done)                # what is not counted stays owed to the next frame
        clock.end_frame()                # settings made inside the frame hold from here on

Where it has a budget, each step is asked for and counted by itself:

    while clock.may_step():              # false too when the budget is spent: the rest is dropped
        clock._taken = 1
        run(1, clock.step_length())
        clock.count(1)

`_substeps` integrator steps make up each step. The layout and the list of methods are private to the
package: cimport from other packages is not supported.
"""

from libc.stdint cimport int64_t


cdef class FixedClock:
    # Units of time are 1/(num * 10**9) seconds, integers; a step is `_size` = den * 10**9 of them.
    cdef int64_t _num, _den, _size
    cdef int64_t _acc               # fed and not yet simulated; below 0 only under "match"
    cdef int64_t _tick
    cdef int64_t _due, _backlog     # whole steps in _acc: of this frame, kept for later ones
    cdef int64_t _step_ns           # the measured step of "variable"; -1: none, a step is dt

    # time = origin + (tick - origin_tick) * dt, or origin + varied under "variable"
    cdef object _origin
    cdef int64_t _origin_tick, _varied_s, _varied_ns

    # "match": tolerance, and the range of what may be left after the steps, in units
    cdef int64_t _tolerance, _low, _high

    cdef object _settings
    cdef int _policy, _rule         # where their rules differ
    cdef bint _ignores_time, _measures_step, _runs_early, _waits    # the policy's facts
    cdef int64_t _policy_value, _rule_value, _max_steps, _max_frame_ns, _substeps
    cdef bint _carry

    cdef int64_t _scale, _scale_rest        # in multiples of 2**-20; nanoseconds likewise
    cdef double _float_rest                 # nanoseconds, below 1
    cdef bint _paused

    cdef int64_t _fed_ns, _clamped_ns, _paused_ns, _backwards, _quiet_ns
    cdef int64_t _dropped_steps, _dropped_rest

    cdef int64_t _base_ns
    cdef bint _has_base
    cdef int64_t _next_num, _next_den       # a rate set inside a frame; 0: none
    cdef bint _next_keep
    cdef bint _open, _running
    cdef int64_t _taken                     # due steps that a stepper's frame is running, and counts when they are done
    cdef int64_t _handed                    # integrator steps counted in this frame that its stepper has not run yet
    cdef public object _stepper             # a weak reference to the one that this clock is of
    cdef int64_t _began_ns                  # when the first step of the frame began; -1: not yet

    # Of a frame loop. Needs the GIL: begin_frame, may_step, next_step, end_frame.
    cdef int64_t begin_frame(self, object seconds) except -1
    cdef int next_step(self) except -1
    cdef int may_step(self) except -1
    cdef void count(self, int64_t n) noexcept nogil         # n at most what is due
    cdef int end_frame(self) except -1
    cdef bint has_budget(self) noexcept nogil
    cdef double step_length(self) noexcept nogil            # h of the steps of this frame
    cdef double fraction(self) noexcept nogil               # alpha

    # Of the clock itself.
    cdef int _refuse_reentry(self) except -1
    cdef int64_t _feed(self, object seconds) except -1
    cdef int64_t _to_ns(self, double seconds, double *rest) noexcept nogil
    cdef int64_t _early(self, double float_rest, int64_t scale_rest) noexcept nogil
    cdef int64_t _take_in(self, int64_t ns, double float_rest) noexcept nogil
    cdef int64_t _begin(self, int64_t ns, double float_rest) except -1
    cdef int64_t _run_due(self, int64_t n) except -1
    cdef int _within_budget(self) except -1
    cdef void _drop(self, int64_t units) noexcept nogil
    cdef void _enter(self, int64_t ns, int64_t clamped, int64_t paused) noexcept nogil
    cdef int _close(self) except -1
    cdef tuple _terms(self, object rate)
    cdef int _set_rate(self, tuple terms) except -1
    cdef int _change_rate(self, object rate, bint keep_fraction) except -1
