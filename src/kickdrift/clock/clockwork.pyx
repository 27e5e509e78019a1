"""The compiled part of the fixed-step clock: from frame times to steps."""

import time
from fractions import Fraction

from . import options, rates
from ..declaration import require_entries
from ..errors import OverloadError
from .saved_state import changed_rate

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.float cimport DBL_MAX
from libc.stdint cimport int64_t

from ..kernels.clock cimport (
    BACKLOG, BUDGET, DROP, EXACT, LEDGER_FULL, LONGEST_FRAME_NS, MATCH, NANO, RAISE, RESYNC, VARIABLE,
    Clock, count_steps, drop, early, fraction, step_length, take_in, to_ns,
)
from ..kernels.simd.rounding cimport require_rounding

require_rounding(__name__)

cdef dict POLICIES = {"exact": EXACT, "match": MATCH, "locked": EXACT, "variable": VARIABLE}
cdef dict RULES = {"drop": DROP, "backlog": BACKLOG, "resync": RESYNC, "raise": RAISE, "budget": BUDGET}
require_entries(__name__, POLICIES, options.POLICIES)
require_entries(__name__, RULES, options.OVERLOADS)


cdef int plain_integer(object value, int64_t low, int64_t high, int64_t *number) except -1:
    """Return whether the value is an int from low to high, and store it. Functions of `rates` check other values."""
    cdef int overflow = 0
    if type(value) is not int:
        return False
    number[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
    return not overflow and low <= number[0] <= high


cdef class Clockwork:
    """The part of a FixedClock that runs in each frame. Settings and saved states are in `FixedClock`."""

    def _set_up(self, settings):
        """Initialize from settings."""
        self._refuse_reentry()
        self._settings = settings
        self._begin_again(settings.rate, 0, Fraction(0))
        self.warned = False

    def _begin_again(self, rate, tick, origin):
        """Reset all numbers except rate, tick and time."""
        settings = self._settings
        self._refuse_reentry()
        settings.check_range(rate, settings.scale)
        numbers = {
            **dict.fromkeys(self._now, 0), **settings.terms(rate, settings.scale), **settings.numbers(rate),
            "policy": POLICIES[settings.policy.name], "rule": RULES[settings.overload.name],
            "tick": tick, "origin_tick": tick,
        }
        self.has_base = False
        self.began_ns = -1
        self.put(numbers, origin)

    # --- feed time: run all steps at once --------------------------------------------------------

    def advance(self, seconds):
        """Feed one frame; return how many steps to run now.

        The steps are counted as done: `tick` and `alpha` are those after them. Under overload="budget(...)" it
        returns up to `max_steps`, because only `steps()`, `step()` and the stepper see how long steps take.

        seconds: time of the frame, any real number, also a NumPy scalar. It is rounded down to nanoseconds, and the
        rest is added to the next frame.

        Raises TypeError or ValueError if it is not a real number, negative or not finite, OverloadError if more than
        `max_steps` are due under overload="raise", RuntimeError inside a step; nothing has changed then. Thread-safety:
        one thread at a time.

        >>> import kickdrift as kd
        >>> clock = kd.FixedClock(60)
        >>> [clock.advance(1 / 144) for _ in range(5)]
        [0, 0, 1, 0, 1]
        """
        return self._run_due(self._feed(seconds))

    def advance_ns(self, ns):
        """Feed one frame in whole nanoseconds; return how many steps to run now. See `advance`.

        >>> import kickdrift as kd
        >>> kd.FixedClock(60).advance_ns(50_000_000)
        3
        """
        self._refuse_reentry()
        cdef int64_t frame
        if not plain_integer(ns, 0, LONGEST_FRAME_NS, &frame):
            frame = rates.frame_ns(ns)
        return self._run_due(self._begin(frame, self.now.float_rest))

    def advance_ms(self, ms):
        """Feed one frame in whole milliseconds; return how many steps to run now. See `advance`.

        >>> import kickdrift as kd
        >>> kd.FixedClock(60).advance_ms(50)   # what pygame's Clock.tick() returned
        3
        """
        self._refuse_reentry()
        cdef int64_t frame
        if plain_integer(ms, 0, LONGEST_FRAME_NS // 1_000_000, &frame):
            frame *= 1_000_000
        else:
            frame = rates.frame_ms(ms)
        return self._run_due(self._begin(frame, self.now.float_rest))

    def advance_to(self, now_ns):
        """Feed the time since the last call; return how many steps to run now. See `advance`.

        The first call, and the first after `resync()` or `load()`, sets the base and returns 0. A time that is
        earlier than the last one gives 0 steps, counts in `backwards`, and is the new base.

        now_ns: an absolute time in nanoseconds, as from `time.perf_counter_ns()`, within +-2**62.

        >>> import kickdrift as kd
        >>> clock = kd.FixedClock(60)
        >>> clock.advance_to(10**9), clock.advance_to(10**9 + 50_000_000)
        (0, 3)
        """
        self._refuse_reentry()
        cdef int64_t n, now
        if not plain_integer(now_ns, 1 - LEDGER_FULL, LEDGER_FULL - 1, &now):
            now = rates.absolute_ns(now_ns)
        if not self.has_base or now < self.base_ns:
            self.now.backwards += self.has_base
            self.has_base = True
            self.base_ns = now
            return 0
        n = self._run_due(self._begin(min(now - self.base_ns, LONGEST_FRAME_NS), self.now.float_rest))
        self.base_ns = now
        return n

    def plan(self, frame_times, counts=None, alphas=None):
        """Advance by a whole array of frames in compiled code; return (counts, alphas).

        Equivalent to calls of `advance`. An `OverloadError` leaves the clock as it was before the frame that raised it.
        The GIL is released.

        frame_times: array or list of seconds, one dimension. All are checked before anything changes.
        counts, alphas: arrays of int64 and float64 to write to, as long as `frame_times`; made when left out. Raises
        ValueError for arrays that share memory.

        >>> import kickdrift as kd
        >>> counts, alphas = kd.FixedClock(60).plan([0.04, 0.01, 0.0])
        >>> counts.tolist(), alphas.round(3).tolist()
        ([2, 1, 0], [0.4, 0.0, 0.0])
        """
        self._refuse_reentry()
        frames_array = rates.frame_array(frame_times)
        counts, alphas = rates.output_arrays(frames_array, counts, alphas)
        cdef const double[::1] frames = frames_array
        cdef int64_t[::1] counts_out = counts
        cdef double[::1] alphas_out = alphas
        cdef Py_ssize_t i
        cdef int64_t ns, n = 0
        cdef double rest
        self._close()
        self._look_at(frames_array.max(initial=0.0))
        self.running = self.planning = True
        with nogil:
            for i in range(frames.shape[0]):
                ns = to_ns(&self.now, frames[i], &rest)
                n = take_in(&self.now, ns, rest)
                if n < 0:
                    break
                count_steps(&self.now, n)
                counts_out[i] = n
                alphas_out[i] = fraction(&self.now)
        self.running = self.planning = False
        self._close()
        if n < 0:
            raise OverloadError(-n)
        return counts, alphas

    # --- feed time: run step by step -------------------------------------------------------------

    def steps(self, seconds):
        """Feed one frame; iterate over its steps, each counted before the loop body runs.

        Yields the tick: 1 in the body of the first step. After `break` the steps that did not run are still due in
        the next frame. Raises the errors of `advance`.

        >>> import kickdrift as kd
        >>> clock = kd.FixedClock(60)
        >>> [tick for tick in clock.steps(0.05)]
        [1, 2, 3]
        """
        self.feed(seconds)
        return self._each_step()

    def feed(self, seconds):
        """Feed one frame for `while clock.step()`; return how many steps are due. Raises as `advance`.

        Leaving the loop early keeps the time, for lockstep games that wait for remote inputs.

        >>> import kickdrift as kd
        >>> clock = kd.FixedClock(60)
        >>> clock.feed(0.05)
        3
        >>> while clock.step():
        ...     print(clock.tick)
        1
        2
        3
        """
        return self._feed(seconds)

    def step(self):
        """Count the next due step and return True, or return False when the frame is done. See `feed`."""
        self._refuse_reentry()
        if self.next_step():
            return True
        self._close()
        return False

    def _each_step(self):
        self._refuse_reentry()
        self.running = True
        try:
            while self.next_step():
                yield self.now.tick
        finally:
            self.running = False
            self._close()

    # --- one frame -------------------------------------------------------------------------------

    cdef int64_t _feed(self, object seconds) except -1:
        """Check and feed a frame of float seconds; return how many steps are due."""
        cdef double rest, frame = -1.0
        self._refuse_reentry()
        if isinstance(seconds, float):  # includes NumPy's float64
            frame = seconds
        if not 0.0 <= frame <= DBL_MAX:
            frame = rates.frame_seconds(seconds)
        cdef int64_t ns = to_ns(&self.now, frame, &rest)
        if frame > 1.0:
            self._look_at(frame)
        return self._begin(ns, rest)

    cdef int _look_at(self, double frame) except -1:
        """Warn if the time looks like milliseconds."""
        cdef Clock* now = &self.now
        if frame <= 1.0 or frame * NANO <= now.max_frame_ns or now.ignores_time or now.paused or self.warned:
            return 0
        self.warned = True
        rates.warn_of_milliseconds(frame, now.max_frame_ns, 1)
        return 0

    cdef int64_t _begin(self, int64_t ns, double float_rest) except -1:
        self._close()
        cdef int64_t n = take_in(&self.now, ns, float_rest)
        if n < 0:
            raise OverloadError(-n)
        return n

    cdef int64_t _run_due(self, int64_t n) except -1:
        count_steps(&self.now, n)
        self.now.handed = n * self.now.substeps
        self._close()
        return n

    cdef int _within_budget(self) except -1:
        """Return whether steps may run; under "budget", drop due steps if those of this frame took too long."""
        if self.now.rule != BUDGET:
            return True
        cdef int64_t now = time.perf_counter_ns()
        if self.began_ns < 0:
            self.began_ns = now  # the first step always runs, or time would stand still
        if now - self.began_ns < self.now.rule_value:
            return True
        cdef int64_t lost = self.now.due * (self.now.size if self.now.step_ns < 0 else self.now.step_ns * self.now.num)
        self.now.acc -= lost
        drop(&self.now, lost)
        self.now.due = self.now.quiet_ns = 0
        return False

    cdef int _close(self) except -1:
        """End the frame: apply settings made inside it. Steps that were not run stay due."""
        self.now.open = False
        self.began_ns = -1
        if self.now.next_num:
            self._change_rate()
        return 0

    cdef int _change_rate(self) except -1:
        rate = Fraction(self.now.next_num, self.now.next_den)
        changes, origin = changed_rate(self, rate, self.now.next_keep)
        return self.put(changes, origin)

    cdef int _refuse_reentry(self) except -1:
        if self.running:
            raise RuntimeError("the clock is inside a step: feed or restore it after the loop over the frame's ticks")
        return 0

    # --- the stepper's frame loop ----------------------------------------------------------------

    cdef int64_t begin_frame(self, object seconds) except -1:
        cdef int64_t n = self._feed(seconds)
        self.running = True
        self.now.taken = 0 if self.now.rule == BUDGET else n
        return n

    cdef int next_step(self) except -1:
        if self.may_step():
            count_steps(&self.now, 1)
            self.now.handed += self.now.substeps
            return True
        return False

    cdef int may_step(self) except -1:
        return self.now.due > 0 and self._within_budget()

    cdef int end_frame(self) except -1:
        self.running = False
        self.now.taken = 0
        return self._close()

    # --- properties ------------------------------------------------------------------------------

    @property
    def alpha(self):
        """Interpolation factor between the last two states.

        0 <= alpha < 1, also while steps are still due. Under "match" it is limited to 0 and 1, under "locked" and
        "variable" it is always 1. It draws the state at (tick - 1 + alpha) * dt.
        """
        return fraction(&self.now)

    @property
    def alpha_raw(self):
        """`alpha` before it is clamped; "match" goes beyond 0 and 1 by up to `slack`."""
        if not self.now.runs_early:
            return fraction(&self.now)
        cdef int64_t rest = self.now.acc - (self.now.due + self.now.backlog) * self.now.size
        if rest < 0:
            rest = min(rest + early(&self.now, self.now.float_rest, self.now.scale_rest), 0)
        return <double>rest / <double>self.now.size

    @property
    def tick(self):
        """Number of counted steps."""
        return self.now.tick

    @property
    def time(self):
        """Simulated time in seconds, rounded once, without accumulated errors.

        >>> import kickdrift as kd
        >>> clock = kd.FixedClock(60)
        >>> clock.set_tick(10**9)
        >>> clock.time
        16666666.666666666
        """
        return float(self.time_exact)

    @property
    def time_exact(self):
        """Simulated time in seconds, an exact Fraction; rounded to 2**-1100 s if its denominator would exceed that."""
        if self.now.measures_step:
            return self._origin + self.now.varied_s + Fraction(self.now.varied_ns, NANO)
        return self._origin + Fraction((<object>self.now.tick - self.now.origin_tick) * self.now.den, self.now.num)

    @property
    def dt(self):
        """Seconds per step, rounded once."""
        return <double>self.now.den / <double>self.now.num

    @property
    def step_dt(self):
        """Length of the current step in seconds: dt, or the measured frame time under "variable"."""
        return step_length(&self.now)

    @property
    def substep_dt(self):
        """Length of an integrator step in seconds: that of a step divided by `substeps`."""
        if self.now.step_ns < 0:
            return <double>self.now.den / <double>(self.now.num * self.now.substeps)
        return <double>self.now.step_ns / <double>(NANO * self.now.substeps)

    @property
    def _substep_exact(self):
        """Exact length of an integrator step in seconds."""
        if self.now.step_ns < 0:
            return Fraction(self.now.den, self.now.num * self.now.substeps)
        return Fraction(self.now.step_ns, NANO * self.now.substeps)

    @property
    def substeps(self):
        """Integrator steps per step; the clock itself counts steps."""
        return self.now.substeps

    # --- methods that change the clock ------------------------------------------------------------

    def resync(self):
        """Drop all waiting time; the next `advance_to` sets a new base.

        Call it after loading a level, after a stop in the debugger, or after the window was dragged. Inside a step it
        also drops the steps of the frame that did not run yet, but not those that a stepper's `advance` is running.
        `overloaded` does not count this as overload.
        """
        cdef Clock* now = &self.now
        cdef int64_t kept = now.taken * (now.size if now.step_ns < 0 else now.step_ns * now.num)
        if now.acc > kept:
            drop(now, now.acc - kept)
            now.acc = kept
        now.due, now.backlog = now.taken, 0
        self.has_base = False

    @property
    def paused(self):
        """Whether the clock is paused."""
        return self.now.paused

    def pause(self):
        """Pause: from the next frame on, time counts only in `paused_ns`."""
        self.now.paused = True

    def resume(self):
        """End a pause, from the next frame on.

        The base of `advance_to` moves with each call, paused or not. If a loop makes no calls while paused, it must
        call `resync()` too. Otherwise the pause counts as one long frame.
        """
        self.now.paused = False

    def set_tick(self, t):
        """Set the tick, for rollback. The waiting time is unchanged.

        Under "variable" `time` does not follow the tick.
        """
        self.now.tick = options.parse_tick(t)

    @property
    def _now(self):
        """Return all numbers of the clock by name."""
        return self.now

    cdef int put(self, dict changes, object origin) except -1:
        """Replace these numbers of the clock atomically. origin: new origin of time in s; None keeps the old one."""
        cdef Clock changed
        if self.planning:  # plan() changes `now` meanwhile: the assignment below would undo its frames
            raise RuntimeError("the clock runs plan() in another thread: change it when that has returned")
        numbers: dict = self.now
        numbers.update(changes)
        changed = numbers
        # No Python code runs from here on: a signal handler could raise between two changes.
        self.now = changed
        if origin is not None:
            self._origin = origin
        return 0

    def _put(self, changes, origin=None):
        self.put(changes, origin)

    def _resume(self, changes, origin):
        """Restore saved numbers: no frame is open, and the next `advance_to` sets a new base."""
        self.put({**changes, "open": False, "handed": 0}, origin)
        self.has_base = False
        self.began_ns = -1

    def _refuse_inside(self):
        self._refuse_reentry()
