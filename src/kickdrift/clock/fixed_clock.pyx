"""The fixed-step clock in 64-bit integers. `reference/clock.py` says the same in fractions."""

import inspect
import math
import time
from fractions import Fraction

from . import options, rates, saved_state
from ..declaration import require_entries
from ..validation import exact_time
from ..errors import OverloadError
from .options import Settings
from .saved_state import State

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.float cimport DBL_MAX
from libc.math cimport floor
from libc.stdint cimport int64_t

from ..kernels.simd.rounding cimport require_rounding

require_rounding(__name__)

__all__ = ["FixedClock"]

# What `_take_in` branches on. "locked" does what "exact" does, with `value` steps in place of the frame's time: its
# class says so with `ignores_time`.
cdef enum:
    EXACT, MATCH, VARIABLE

cdef enum:
    DROP, BACKLOG, RESYNC, RAISE, BUDGET

cdef dict POLICIES = {"exact": EXACT, "match": MATCH, "locked": EXACT, "variable": VARIABLE}
cdef dict RULES = {"drop": DROP, "backlog": BACKLOG, "resync": RESYNC, "raise": RAISE, "budget": BUDGET}
require_entries(__name__, POLICIES, options.POLICIES)
require_entries(__name__, RULES, options.OVERLOADS)

cdef int64_t NANO = rates.NANO
cdef int64_t LONGEST_FRAME_NS = rates.LONGEST_FRAME_NS
cdef int64_t LEDGER_FULL = rates.LEDGER_FULL
cdef enum:
    SCALE_BITS = 20
    SCALE_MASK = 1048575
cdef double BELOW_ONE = math.nextafter(1.0, 0.0)


cdef int plain_integer(object value, int64_t low, int64_t high, int64_t *number) except -1:
    """Read an int from low to high. What is not one is left to `settings`, which refuses or converts it."""
    cdef int overflow = 0
    if type(value) is not int:
        return False
    number[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
    return not overflow and low <= number[0] <= high


cdef class FixedClock:
    """Turns uneven frame times into whole fixed steps and a fraction for drawing.

    The clock is exact: after any number of frames it has counted the steps that fit into the time it was given, at
    any rational rate. A step is due as soon as at most a nanosecond is missing. So a frame of 1/60 s runs one step of
    1/60 s, although neither a float nor whole nanoseconds can represent it.

    Parameters
    ----------
    hz, dt
        Steps per second, or seconds per step; int, float, Fraction or text such as "60000/1001".
        Give one of them; 60 Hz if neither. A float stands for the simplest fraction that rounds to it:
        `dt=1/60` means 60 Hz. Steppers read their dt alike. A step is a fraction of at most 2**27
        seconds (4 years), with a denominator of at most 2**33 (0.1 ns).
    policy
        How many steps a frame gets: an instance or its name. `ExactSteps()`, "exact": as many as fit. `Match()`,
        "match": the whole number that is near the frame's time, as long as the clock stays within `slack` of the true
        time; smoothest on screen. `Locked(k)`, "locked(k)": k, whatever the time. `Variable(max_dt)`,
        "variable(max_dt)": one step, as long as the frame.
    max_steps
        The most steps that one frame runs.
    overload
        What to do when more are due: an instance or its name. `Drop()`, "drop": drop whole steps. `Backlog(limit)`,
        "backlog(limit)": keep up to `limit` for later frames. `Resync()`, "resync": drop everything, run nothing.
        `Raise()`, "raise": raise `OverloadError` and refuse the frame. `Budget(seconds)`, "budget(seconds)": as
        "drop", and when the steps of a frame have taken this long in wall time, `steps()`, `step()` and the stepper
        drop the steps that are left.
    max_frame
        Seconds. A longer frame counts as this long.
    scale
        Simulated seconds per real second, 0 to 1000, rounded to a multiple of 2**-20.
    substeps
        How many integrator steps the stepper makes of each step.
    carry
        False drops the rest of each frame after its steps.
    slack, tolerance
        For "match", in steps, 0 to 0.5 each. slack: how far the clock may be from the true time. tolerance: how far a
        frame may be from a whole number of steps.
    phase
        The fraction of a step that waits at the beginning, at least 0 and below 1.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as described, or all of them together could overflow 64 bits.

    Thread-safety: one clock is used by one thread at a time. Feeding it inside a step, or while
    `plan()` runs in another thread, is a RuntimeError.

    >>> clock = FixedClock(hz=60)
    >>> clock.advance(0.04), clock.alpha
    (2, 0.4)
    """

    __signature__ = inspect.signature(Settings.parse)  # help() finds none of its own in a compiled class

    def __init__(
        self, hz=None, dt=None, *, policy="exact", max_steps=8, overload="drop", max_frame=0.25, scale=1.0,
        substeps=1, carry=True, slack=0.25, tolerance=0.1, phase=0.0,
    ):
        settings = Settings.parse(
            hz, dt, policy=policy, max_steps=max_steps, overload=overload, max_frame=max_frame, scale=scale,
            substeps=substeps, carry=carry, slack=slack, tolerance=tolerance, phase=phase,
        )
        self._refuse_reentry()
        self._settings = settings
        policy = settings.policy
        self._policy, self._policy_value = POLICIES[policy.name], policy.value
        self._ignores_time, self._measures_step = policy.ignores_time, policy.measures_step
        self._runs_early, self._waits = policy.runs_early, policy.waits
        self._rule, self._rule_value = RULES[settings.overload.name], settings.overload.value
        self._max_steps, self._max_frame_ns = settings.max_steps, settings.max_frame_ns
        self._substeps, self._carry = settings.substeps, settings.carry
        self._set_rate(self._terms(settings.rate))

        self._acc = math.floor(settings.phase * self._size)
        self._due = self._backlog = self._tick = 0
        self._step_ns = -1
        self._origin = Fraction(0)
        self._origin_tick = self._varied_s = self._varied_ns = 0
        self._scale, self._scale_rest, self._float_rest = settings.scale, 0, 0.0
        self._paused = False
        self._fed_ns = self._clamped_ns = self._paused_ns = self._backwards = 0
        self._dropped_steps = self._dropped_rest = 0
        self._quiet_ns = NANO
        self._has_base = False
        self._next_num = self._next_den = 0
        self._open = False
        self._taken = 0
        self._handed = 0
        self._began_ns = -1

    # --- feeding time, all steps at once ---------------------------------------------------------

    def advance(self, seconds):
        """Feed one frame; return how many steps to run now.

        The steps are counted as done: `tick` and `alpha` are those after them. Under overload="budget(...)" it
        returns up to `max_steps`, because only `steps()`, `step()` and the stepper see how long steps take.

        Parameters
        ----------
        seconds
            Time of the frame: any real number, also a NumPy scalar. It is rounded down to nanoseconds, and the rest
            is added to the next frame.

        Raises
        ------
        TypeError, ValueError
            Not a real number; negative or not finite. Nothing has changed then.
        OverloadError
            More than `max_steps` are due under overload="raise". Nothing has changed then.
        RuntimeError
            Called inside a step.

        Thread-safety: one thread at a time.

        >>> clock = FixedClock(60)
        >>> [clock.advance(1 / 144) for _ in range(5)]
        [0, 0, 1, 0, 1]
        """
        return self._run_due(self._feed(seconds))

    def advance_ns(self, ns):
        """Feed one frame in whole nanoseconds; return how many steps to run now. See `advance`.

        >>> FixedClock(60).advance_ns(50_000_000)
        3
        """
        self._refuse_reentry()
        cdef int64_t frame
        if not plain_integer(ns, 0, LONGEST_FRAME_NS, &frame):
            frame = rates.frame_ns(ns)
        return self._run_due(self._begin(frame, self._float_rest))

    def advance_ms(self, ms):
        """Feed one frame in whole milliseconds; return how many steps to run now. See `advance`.

        >>> FixedClock(60).advance_ms(50)   # what pygame's Clock.tick() returned
        3
        """
        self._refuse_reentry()
        cdef int64_t frame
        if plain_integer(ms, 0, LONGEST_FRAME_NS // 1_000_000, &frame):
            frame *= 1_000_000
        else:
            frame = rates.frame_ms(ms)
        return self._run_due(self._begin(frame, self._float_rest))

    def advance_to(self, now_ns):
        """Feed the time since the last call; return how many steps to run now. See `advance`.

        The first call, and the first after `resync()` or `load()`, sets the base and returns 0. A time that is
        earlier than the last one gives 0 steps, counts in `backwards`, and is the new base.

        Parameters
        ----------
        now_ns
            An absolute time in nanoseconds, as from `time.perf_counter_ns()`, within +-2**62.

        >>> clock = FixedClock(60)
        >>> clock.advance_to(10**9), clock.advance_to(10**9 + 50_000_000)
        (0, 3)
        """
        self._refuse_reentry()
        cdef int64_t n, now
        if not plain_integer(now_ns, 1 - LEDGER_FULL, LEDGER_FULL - 1, &now):
            now = rates.absolute_ns(now_ns)
        if not self._has_base or now < self._base_ns:
            self._backwards += self._has_base
            self._has_base = True
            self._base_ns = now
            return 0
        n = self._run_due(self._begin(min(now - self._base_ns, LONGEST_FRAME_NS), self._float_rest))
        self._base_ns = now
        return n

    def plan(self, frame_times, counts=None, alphas=None):
        """Advance by a whole array of frames in compiled code; return (counts, alphas).

        Afterwards the clock is as after the same calls of `advance`. After an `OverloadError` it is as before the
        frame that raised it. The GIL is released.

        Parameters
        ----------
        frame_times
            Array or list of seconds, one dimension. All are checked before anything changes.
        counts, alphas
            Arrays of int64 and float64 to write to, as long as `frame_times`; made when left out.

        >>> counts, alphas = FixedClock(60).plan([0.04, 0.01, 0.0])
        >>> counts.tolist(), alphas.round(3).tolist()
        ([2, 1, 0], [0.4, 0.0, 0.0])
        """
        self._refuse_reentry()
        frames_array = rates.frame_array(frame_times)
        counts = rates.output_array("counts", counts, len(frames_array), "int64")
        alphas = rates.output_array("alphas", alphas, len(frames_array), "float64")
        cdef const double[::1] frames = frames_array
        cdef int64_t[::1] counts_out = counts
        cdef double[::1] alphas_out = alphas
        cdef Py_ssize_t i
        cdef int64_t ns, n = 0
        cdef double rest
        self._close()
        self._running = True
        with nogil:
            for i in range(frames.shape[0]):
                ns = self._to_ns(frames[i], &rest)
                n = self._take_in(ns, rest)
                if n < 0:
                    break
                self.count(n)
                counts_out[i] = n
                alphas_out[i] = self.fraction()
        self._running = False
        self._close()
        if n < 0:
            raise OverloadError(-n)
        return counts, alphas

    # --- feeding time, step by step --------------------------------------------------------------

    def steps(self, seconds):
        """Feed one frame; loop over its steps, each counted before the body of the loop.

        Yields the tick: 1 in the body of the first step. After `break` the steps that did not run are still due in
        the next frame. Raises what `advance` raises.

        >>> clock = FixedClock(60)
        >>> [tick for tick in clock.steps(0.05)]
        [1, 2, 3]
        """
        self.feed(seconds)
        return self._each_step()

    def feed(self, seconds):
        """Feed one frame for `while clock.step()`; return how many steps are due. Raises as `advance`.

        Leaving the loop early keeps the time, as lockstep games need that wait for the others' input.

        >>> clock = FixedClock(60)
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
        self._running = True
        try:
            while self.next_step():
                yield self._tick
        finally:
            self._running = False
            self._close()

    # --- one frame -------------------------------------------------------------------------------

    cdef int64_t _feed(self, object seconds) except -1:
        """Check and take in a frame of float seconds; return how many steps are due."""
        cdef double rest, frame = -1.0
        self._refuse_reentry()
        if isinstance(seconds, float):  # as NumPy's float64 is
            frame = seconds
        if not 0.0 <= frame <= DBL_MAX:
            frame = rates.frame_seconds(seconds)
        cdef int64_t ns = self._to_ns(frame, &rest)
        return self._begin(ns, rest)

    cdef int64_t _to_ns(self, double seconds, double *rest) noexcept nogil:
        """Split seconds into whole nanoseconds and what the next frame gets."""
        if seconds * 1e9 >= <double>LONGEST_FRAME_NS:
            rest[0] = self._float_rest
            return LONGEST_FRAME_NS
        cdef double exact = seconds * 1e9 + self._float_rest
        cdef double whole = floor(exact)
        rest[0] = exact - whole
        return <int64_t>whole

    cdef int64_t _early(self, double float_rest, int64_t scale_rest) noexcept nogil:
        """How much may be missing of a step that is due, in units.

        A nanosecond; and what of others is carried to the next frame, which counts as fed; half a step at most.
        """
        if not self._waits:
            return 0
        cdef double carried = (float_rest * <double>self._scale + <double>scale_rest) / (SCALE_MASK + 1)
        return min(self._num + <int64_t>(carried * <double>self._num), self._size // 2)

    cdef int64_t _begin(self, int64_t ns, double float_rest) except -1:
        self._close()
        cdef int64_t n = self._take_in(ns, float_rest)
        if n < 0:
            raise OverloadError(-n)
        return n

    cdef int64_t _take_in(self, int64_t ns, double float_rest) noexcept nogil:
        """Take in one frame; return how many steps are due, negative if overload="raise" refuses them.

        No sum or product here can leave 64 bits: Settings.check_range bounds them together.
        """
        self._handed = 0
        if self._paused:
            self._backlog += self._due
            self._due = 0
            self._enter(ns, 0, ns)
            return 0

        # Real time is cut, then scaled, then added, unless it does not count at all.
        cdef int64_t used = ns, scale_rest = self._scale_rest, frame, lost = 0
        if self._ignores_time:
            frame = self._policy_value * self._size
        else:
            used = min(ns, self._max_frame_ns)
            scale_rest += (used & SCALE_MASK) * self._scale
            frame = ((used >> SCALE_BITS) * self._scale + (scale_rest >> SCALE_BITS)) * self._num
            scale_rest &= SCALE_MASK
        cdef int64_t acc = self._acc + frame

        # How many steps, of which length?
        cdef int64_t size = self._size, backlog = 0, m, step_ns = -1
        # `_early` is less than `soon`; it costs a tenth of a frame, so it is asked only where it can matter.
        cdef int64_t n = acc // size if acc > 0 else 0, soon = self._num * ((self._scale >> SCALE_BITS) + 3)
        cdef int64_t rest = acc - n * size
        if rest >= size - soon:
            n += rest >= size - self._early(float_rest, scale_rest)
        if self._policy == MATCH:
            m = (frame + size // 2) // size
            rest = acc - m * size
            if m >= 1 and -self._tolerance <= frame - m * size <= self._tolerance and (
                self._low <= rest < self._high - soon
                or self._low <= rest + self._early(float_rest, scale_rest) < self._high
            ):
                n = m
        elif self._policy == VARIABLE:
            lost = max(acc - self._policy_value * self._num, 0)
            acc -= lost
            step_ns = acc // self._num
            size = step_ns * self._num
            n = size > 0

        # Too many? A policy loses time only where n <= max_steps.
        cdef int64_t excess = n - self._max_steps
        if excess > 0:
            if self._rule == RAISE:
                return -n
            if self._rule == RESYNC:
                n, lost = 0, acc
            else:
                if self._rule == BACKLOG:
                    backlog = min(excess, self._rule_value)
                n, lost = self._max_steps, (excess - backlog) * size
            acc -= lost

        rest = acc - (n + backlog) * size
        cdef int64_t thrown_away = 0 if self._carry else max(rest, 0)

        self._acc = acc - thrown_away
        if lost + thrown_away > 0:
            self._drop(lost + thrown_away)
        self._scale_rest = scale_rest
        self._float_rest = float_rest
        self._due = n
        self._backlog = backlog
        self._open = True
        self._step_ns = step_ns
        self._enter(ns, ns - used, 0)
        self._quiet_ns = 0 if lost > 0 or used < ns else min(self._quiet_ns + ns, NANO)
        return n

    cdef void _enter(self, int64_t ns, int64_t clamped, int64_t paused) noexcept nogil:
        """Keep the ledgers of real time; they stop together, so that their differences stay true."""
        if self._fed_ns < LEDGER_FULL:
            self._fed_ns += ns
            self._clamped_ns += clamped
            self._paused_ns += paused

    cdef void _drop(self, int64_t units) noexcept nogil:
        # A frame drops less than 2**33 steps, so the ledger of steps may stop at 2**62.
        if self._dropped_steps < LEDGER_FULL:
            self._dropped_rest += units % self._size
            self._dropped_steps += units // self._size + self._dropped_rest // self._size
            self._dropped_rest %= self._size

    cdef void count(self, int64_t n) noexcept nogil:
        # Ticks fit: even if a step took a nanosecond to run, 2**62 of them would take 146 years.
        self._tick += n
        self._due -= n
        if self._step_ns < 0:
            self._acc -= n * self._size
        else:
            self._acc -= n * self._step_ns * self._num
            self._varied_ns += n * self._step_ns
            self._varied_s += self._varied_ns // NANO
            self._varied_ns %= NANO

    cdef int64_t _run_due(self, int64_t n) except -1:
        self.count(n)
        self._handed = n * self._substeps
        self._close()
        return n

    cdef int _within_budget(self) except -1:
        """Under "budget", drop what is due once the steps of this frame have taken too long."""
        if self._rule != BUDGET:
            return True
        cdef int64_t now = time.perf_counter_ns()
        if self._began_ns < 0:
            self._began_ns = now  # the first step runs in any case, or the game would stand still
        if now - self._began_ns < self._rule_value:
            return True
        cdef int64_t lost = self._due * (self._size if self._step_ns < 0 else self._step_ns * self._num)
        self._acc -= lost
        self._drop(lost)
        self._due = self._quiet_ns = 0
        return False

    cdef int _close(self) except -1:
        """End the frame; what was set inside it holds from now on. Due steps that were left stay due."""
        self._open = False
        self._began_ns = -1
        if self._next_num:
            self._change_rate(Fraction(self._next_num, self._next_den), self._next_keep)
        return 0

    cdef int _refuse_reentry(self) except -1:
        if self._running:
            raise RuntimeError("the clock is inside a step: feed it when the frame is done")
        return 0

    # --- the stepper's frame loop ----------------------------------------------------------------

    cdef int64_t begin_frame(self, object seconds) except -1:
        cdef int64_t n = self._feed(seconds)
        self._running = True
        self._taken = 0 if self.has_budget() else n
        return n

    cdef int next_step(self) except -1:
        if self.may_step():
            self.count(1)
            self._handed += self._substeps
            return True
        return False

    cdef int may_step(self) except -1:
        return self._due > 0 and self._within_budget()

    cdef int end_frame(self) except -1:
        self._running = False
        self._taken = 0
        return self._close()

    cdef bint has_budget(self) noexcept nogil:
        return self._rule == BUDGET

    cdef double step_length(self) noexcept nogil:
        # Both are integers below 2**53, so that the quotient is rounded once.
        if self._step_ns < 0:
            return <double>self._den / <double>self._num
        return <double>self._step_ns / 1e9

    cdef double fraction(self) noexcept nogil:
        if not self._waits:
            return 1.0
        cdef int64_t rest = self._acc - (self._due + self._backlog) * self._size
        if rest <= 0:
            return 0.0
        if rest >= self._size:
            return 1.0
        return min(<double>rest / <double>self._size, BELOW_ONE)  # both are rounded, where beyond 2**53

    # --- reading ---------------------------------------------------------------------------------

    @property
    def alpha(self):
        """How far the frame is between the last two states, for interpolation.

        0 <= alpha < 1, also while steps are still due. Under "match" it is limited to 0 and 1, under "locked" and
        "variable" it is always 1. It draws the state at (tick - 1 + alpha) * dt.
        """
        return self.fraction()

    @property
    def alpha_raw(self):
        """`alpha` before it is clamped; "match" goes beyond 0 and 1 by up to `slack`."""
        if not self._runs_early:
            return self.fraction()
        cdef int64_t rest = self._acc - (self._due + self._backlog) * self._size
        if rest < 0:
            rest = min(rest + self._early(self._float_rest, self._scale_rest), 0)
        return <double>rest / <double>self._size

    @property
    def tick(self):
        """How many steps have been counted."""
        return self._tick

    @property
    def time(self):
        """Simulated time in seconds, rounded once: never a running sum.

        >>> clock = FixedClock(60)
        >>> clock.set_tick(10**9)
        >>> clock.time
        16666666.666666666
        """
        return float(self.time_exact)

    @property
    def time_exact(self):
        """Simulated time in seconds, a Fraction; over changes of hz, to 2**-1100 s."""
        if self._measures_step:
            return self._origin + self._varied_s + Fraction(self._varied_ns, NANO)
        return self._origin + Fraction((<object>self._tick - self._origin_tick) * self._den, self._num)

    @property
    def dt(self):
        """Seconds per step, rounded once."""
        return <double>self._den / <double>self._num

    @property
    def step_dt(self):
        """Seconds of the step to run now: dt, or the measured frame under "variable"."""
        return self.step_length()

    @property
    def substep_dt(self):
        """Seconds per integrator step: the step over `substeps`."""
        if self._step_ns < 0:
            return <double>self._den / <double>(self._num * self._substeps)
        return <double>self._step_ns / <double>(NANO * self._substeps)

    @property
    def _substep_exact(self):
        """Seconds per integrator step as they are, for the stepper."""
        if self._step_ns < 0:
            return Fraction(self._den, self._num * self._substeps)
        return Fraction(self._step_ns, NANO * self._substeps)

    @property
    def substeps(self):
        """Integrator steps per step; the clock itself counts steps."""
        return self._substeps

    @property
    def policy(self):
        """How the number of steps is chosen, as text."""
        return self._settings.policy.text

    @property
    def overload(self):
        """What happens when more than `max_steps` steps are due, as text."""
        return self._settings.overload.text

    @property
    def max_steps(self):
        """The most steps that one frame runs."""
        return self._max_steps

    @property
    def deterministic(self):
        """Whether every step has the same length."""
        return not self._measures_step

    @property
    def backlog(self):
        """Whole steps that are due and did not run yet, in this frame or kept for later ones."""
        return self._due + self._backlog

    @property
    def dropped(self):
        """Time thrown away, in steps, a Fraction."""
        return self._dropped_steps + Fraction(self._dropped_rest, self._size)

    @property
    def dropped_steps(self):
        """Whole steps thrown away."""
        return self._dropped_steps

    @property
    def fed_ns(self):
        """Real time fed, in nanoseconds, including time that was cut off or paused.

        A frame counts as 10**15 ns (11 days) at most. All counters of time stop when this one reaches 2**62 ns (146
        years).
        """
        return self._fed_ns

    @property
    def clamped_ns(self):
        """Real time that was cut off by `max_frame`, in nanoseconds."""
        return self._clamped_ns

    @property
    def paused_ns(self):
        """Real time fed while paused, in nanoseconds."""
        return self._paused_ns

    @property
    def backwards(self):
        """How often `advance_to` was given an earlier time."""
        return self._backwards

    @property
    def overloaded(self):
        """Whether a frame was clamped or steps were dropped within the last second of fed time."""
        return self._quiet_ns < NANO

    def __repr__(self):
        paused = ", paused" if self._paused else ""
        return (
            f"<FixedClock at {self.hz} Hz, {self.policy}, {self.overload},"
            f" tick {self._tick}, alpha {self.alpha:.3f}{paused}>"
        )

    # --- pause, scale, rate ----------------------------------------------------------------------

    @property
    def paused(self):
        """Whether the clock is paused."""
        return self._paused

    def pause(self):
        """Pause: from the next frame on, time counts only in `paused_ns`."""
        self._paused = True

    def resume(self):
        """End a pause, from the next frame on.

        The base of `advance_to` moves with each call, paused or not. If a loop makes no calls while paused, it must
        call `resync()` too. Otherwise the pause counts as one long frame.
        """
        self._paused = False

    def single_step(self):
        """While paused, count one step of dt without any time; return 1, the number of steps to run now.

        Raises RuntimeError when the clock is not paused.
        """
        self._refuse_reentry()
        if not self._paused:
            raise RuntimeError("single_step() needs a paused clock: call pause() first")
        self._tick += 1
        self._handed = self._substeps
        if self._measures_step:
            self._origin = exact_time(self._origin + Fraction(self._den, self._num))
            self._step_ns = -1
        return 1

    def resync(self):
        """Drop all time that is waiting, and let the next `advance_to` set a new base.

        Call it after loading a level, after a stop in the debugger, or after the window was dragged. Inside a step it
        also drops the steps of the frame that did not run yet, but not those that a stepper's `advance` is running.
        `overloaded` does not count this as overload.
        """
        cdef int64_t running = self._taken * (self._size if self._step_ns < 0 else self._step_ns * self._num)
        if self._acc > running:
            self._drop(self._acc - running)
            self._acc = running
        self._due, self._backlog = self._taken, 0
        self._has_base = False

    @property
    def scale(self):
        """Simulated seconds per real second; how many steps run depends on it, dt never."""
        return <double>self._scale / (1 << SCALE_BITS)

    @scale.setter
    def scale(self, value):
        scale = options.parse_scale(value)
        self._settings.check_range(self.hz, scale)
        if self._next_num:
            self._settings.check_range(Fraction(self._next_num, self._next_den), scale)
        self._scale = scale

    @property
    def hz(self):
        """Steps per simulated second, a Fraction; setting it keeps the time, see `set_hz`."""
        return Fraction(self._num, self._den)

    @hz.setter
    def hz(self, value):
        self.set_hz(value)

    def set_hz(self, hz, keep="time"):
        """Change the rate, from the next frame on; `time` stays continuous.

        Parameters
        ----------
        hz
            Steps per second, as in the constructor.
        keep
            "time": what is waiting stays as many seconds, rounded down by less than a nanosecond.
            "fraction": it stays as many steps; but under "variable", where there are none, the time.

        >>> clock = FixedClock(60)
        >>> clock.advance(0.03)
        1
        >>> clock.set_hz(120)
        >>> clock.advance(0.0), clock.tick, clock.time
        (1, 2, 0.025)
        """
        rate, keep_fraction = options.parse_change(hz), options.parse_keep(keep)
        self._settings.check_range(rate, self._scale)
        if self._open:
            self._next_num, self._next_den = rate.numerator, rate.denominator
            self._next_keep = keep_fraction
        else:
            self._change_rate(rate, keep_fraction)

    cdef tuple _terms(self, object rate):
        """A rate as `_set_rate` takes it; Python code runs here, and not there."""
        return rate.numerator, rate.denominator, *self._settings.window(rate)

    cdef int _set_rate(self, tuple terms) except -1:
        self._num, self._den, self._tolerance, self._low, self._high = terms
        self._size = self._den * NANO
        return 0

    cdef int _change_rate(self, object rate, bint keep_fraction) except -1:
        """Everything is computed first, and then changed without any Python code in between."""
        # Products of old and new terms exceed 64 bits, so this is done in Python integers.
        terms, origin = self._terms(rate), exact_time(self.time_exact)
        acc: object = self._acc
        size: object = terms[1] * rates.NANO
        old_num: object = self._num
        old_size: object = self._size
        dropped_rest: object = self._dropped_rest
        dropped_rest = dropped_rest * size // old_size

        # The debt of a "match" clock may be millions of steps of a new rate; 64 bits bound it.
        if keep_fraction and not self._measures_step:
            acc = acc * size // old_size
        else:
            acc = acc * terms[0] // old_num
        acc = max(acc, -rates.HALF_RANGE)
        backlog: object = 0
        dropped: object = 0
        if not self._measures_step:
            ahead = terms[4] if self._runs_early else size
            whole = acc // size if acc >= ahead else 0
            backlog = min(whole, self._settings.kept_steps)
            acc -= (whole - backlog) * size
            dropped = whole - backlog

        cdef int64_t left = acc, kept = backlog, lost = dropped, lost_rest = dropped_rest  # all fit, or nothing changes
        self._set_rate(terms)
        self._origin, self._origin_tick = origin, self._tick
        self._varied_s = self._varied_ns = 0
        self._dropped_rest = lost_rest
        self._due, self._backlog, self._acc = 0, kept, left
        self._dropped_steps += lost
        self._next_num = self._next_den = 0
        return 0

    # --- saving ----------------------------------------------------------------------------------

    def set_tick(self, t):
        """Set the tick, for rollback. The waiting time stays the same.

        Under "variable" `time` does not follow the tick.
        """
        self._tick = options.parse_tick(t)

    def state(self):
        """The state of the clock as a tuple of numbers and text, which JSON can store.

        It does not contain the settings of the constructor, except hz and scale. Nor does it contain the base of
        `advance_to`, which means nothing in another process.

        >>> clock = FixedClock(60)
        >>> saved = clock.state()
        >>> clock.advance(0.1), clock.load(saved), clock.tick
        (6, None, 0)
        """
        return State(
            version=1,
            policy=self.policy,
            num=self._num,
            den=self._den,
            tick=self._tick,
            acc=self._acc,
            due=self._due,
            backlog=self._backlog,
            scale=self._scale,
            scale_rest=self._scale_rest,
            float_rest=self._float_rest,
            paused=<int>self._paused,
            step_ns=self._step_ns,
            varied_ns=<object>self._varied_s * NANO + self._varied_ns,
            origin_tick=self._origin_tick,
            origin_num=self._origin.numerator,
            origin_den=self._origin.denominator,
            next_num=self._next_num,
            next_den=self._next_den,
            next_keep=<int>(self._next_keep and self._next_num > 0),
            fed_ns=self._fed_ns,
            clamped_ns=self._clamped_ns,
            paused_ns=self._paused_ns,
            dropped_steps=self._dropped_steps,
            dropped_rest=self._dropped_rest,
            backwards=self._backwards,
            quiet_ns=self._quiet_ns,
        )

    def load(self, state):
        """Go back to a saved state, also one from JSON; the next advance_to sets a new base.

        Raises TypeError or ValueError, and changes nothing, if it is not a state of a clock with this policy and
        within these limits. Raises RuntimeError inside a step, because the step is not counted yet.
        """
        if self._taken:
            self._refuse_reentry()
        s = State.parse(state, self._settings)
        terms, origin, varied = self._terms(Fraction(s.num, s.den)), Fraction(s.origin_num, s.origin_den), s.varied_ns
        # From here on no Python code runs.
        self._set_rate(terms)
        self._tick, self._acc, self._due, self._backlog = s.tick, s.acc, s.due, s.backlog
        self._scale, self._scale_rest, self._float_rest = s.scale, s.scale_rest, s.float_rest
        self._paused, self._step_ns = s.paused, s.step_ns
        self._varied_s, self._varied_ns = divmod(varied, NANO)
        self._origin, self._origin_tick = origin, s.origin_tick
        self._next_num, self._next_den, self._next_keep = s.next_num, s.next_den, s.next_keep
        self._fed_ns, self._clamped_ns, self._paused_ns = s.fed_ns, s.clamped_ns, s.paused_ns
        self._dropped_steps, self._dropped_rest = s.dropped_steps, s.dropped_rest
        self._backwards, self._quiet_ns = s.backwards, s.quiet_ns
        self._has_base = self._open = False
        self._began_ns = -1
        self._handed = 0

    def __reduce__(self):
        return saved_state.rebuild, (type(self), self._settings.arguments()), tuple(self.state())

    def __setstate__(self, state):
        self.load(state)
