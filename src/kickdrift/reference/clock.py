"""The fixed-step clock, exact and made to be read.

A game draws when the display allows it; a simulation must advance in steps of one length. The clock converts frame
times to steps. `left` is the time that was fed and not yet simulated. Each frame adds to `left`, each step subtracts
dt:

    left += frame;  n = left // dt;  left -= n * dt;  alpha = left / dt

A step may run a nanosecond early: it is due when left + 1 ns >= dt.

Every time is a `fractions.Fraction` of a second, therefore nothing is rounded. The compiled clock computes in 64-bit
integers of 1/(hz.numerator * 10**9) seconds. This is exact, too: dt and every nanosecond are whole multiples of that
unit. `acc` in a saved state is `left` in this unit. Policies and overload rules are in `clock_rules.py`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..clock import options, rates
from ..clock.options import Settings
from ..clock.rates import HALF_RANGE, LEDGER_FULL, LONGEST_FRAME_NS, NANO, SCALE_ONE
from ..clock.saved_state import State
from ..time_steps import exact_time
from .clock_readings import ClockReadings
from .clock_rules import OVERLOADS, POLICIES


class FixedClock(ClockReadings):
    """Convert variable frame times to whole fixed steps and a fraction for drawing.

    >>> clock = FixedClock(hz=60)
    >>> clock.advance(0.04), clock.alpha
    (2, 0.4)
    """

    def _set_up(self, settings: Settings) -> None:
        self._settings = settings
        self._running = False  # whether a step is running; in steps(): until the loop ends
        self._begin_again(self._settings.rate)
        self._warned = False  # whether the warning about milliseconds was given
        self._stepper: Any = None  # a weak reference to the stepper that owns this clock

    def _begin_again(self, rate: Fraction, tick: int = 0, time: Fraction = Fraction(0)) -> None:
        """Reset everything but rate, tick and time."""
        self._refuse_reentry()
        self._settings.check_range(rate, self._settings.scale)
        self._set_rate(rate)
        self._left = self._on_grid(self._settings.phase * self._step)
        self._due = 0  # steps of this frame that have not run yet
        self._backlog = 0  # whole steps kept for later frames
        self._tick = tick
        self._measured: Fraction | None = None  # length of a "variable" step in seconds

        # time = origin + (tick - origin_tick) * dt, or origin + varied under "variable"
        self._origin = time
        self._origin_tick = tick
        self._varied = Fraction(0)

        self._scale = Fraction(self._settings.scale, SCALE_ONE)
        self._scale_rest = Fraction(0)  # remainder of scaling in nanoseconds, below 1
        self._float_rest = 0.0  # remainder of float frames in nanoseconds, below 1
        self._paused = False

        self._fed_ns = self._clamped_ns = self._paused_ns = self._backwards = 0
        self._dropped = Fraction(0)  # time lost, in steps
        self._quiet_ns = NANO  # time fed since time was last lost, in ns, counted up to a second

        self._base_ns: int | None = None  # argument of the last advance_to: its reference time
        self._next_rate: tuple[Fraction, bool] | None = None  # rate to apply after this frame
        self._open = False  # whether a frame is open: begun by any method, and not yet closed
        self._taken = 0  # due steps that a stepper's frame runs now; counted when they are complete
        self._began_ns: int | None = None  # start of the first step of this frame, under "budget"
        self._handed = 0  # integrator steps counted in this frame that the stepper has not run yet

    # --- feed time: run all steps at once --------------------------------------------------------

    def advance(self, seconds: float) -> int:
        """Feed one frame in seconds; return how many steps to run now."""
        self._refuse_reentry()
        return self._run_due(self._begin(*self._from_float(seconds)))

    def advance_ns(self, ns: int) -> int:
        """Feed one frame in nanoseconds; return how many steps to run now."""
        self._refuse_reentry()
        return self._run_due(self._begin(rates.frame_ns(ns), self._float_rest))

    def advance_ms(self, ms: int) -> int:
        """Feed one frame in milliseconds; return how many steps to run now."""
        self._refuse_reentry()
        return self._run_due(self._begin(rates.frame_ms(ms), self._float_rest))

    def advance_to(self, now_ns: int) -> int:
        """Feed the time since the last call, from an absolute time; return how many steps to run now."""
        self._refuse_reentry()
        now = rates.absolute_ns(now_ns)
        base = now if self._base_ns is None else self._base_ns
        if self._base_ns is None or now < base:
            self._backwards += now < base
            self._base_ns = now
            return 0
        n = self._run_due(self._begin(min(now - base, LONGEST_FRAME_NS), self._float_rest))
        self._base_ns = now
        return n

    def plan(self, frame_times: Any, counts: Any = None, alphas: Any = None) -> tuple[Any, Any]:
        """Advance by an array of frame times; return the step counts and the alphas after each."""
        self._refuse_reentry()
        frames = rates.frame_array(frame_times)
        counts, alphas = rates.output_arrays(frames, counts, alphas)
        for i, seconds in enumerate(frames):
            counts[i] = self.advance(seconds)
            alphas[i] = self.alpha
        return counts, alphas

    def _from_float(self, seconds: float) -> tuple[int, float]:
        """Split a float frame into whole nanoseconds and a remainder, which is added to the next frame."""
        seconds = rates.frame_seconds(seconds)
        cut_off = seconds * NANO > self._longest_frame and not (self._settings.policy.ignores_time or self._paused)
        if seconds > 1 and cut_off and not self._warned:
            self._warned = True
            rates.warn_of_milliseconds(seconds, self._longest_frame, 3)
        if seconds * NANO >= LONGEST_FRAME_NS:
            return LONGEST_FRAME_NS, self._float_rest
        exact = seconds * NANO + self._float_rest
        return math.floor(exact), exact - math.floor(exact)

    @property
    def _longest_frame(self) -> int:
        """Maximal length of a frame, in nanoseconds; longer ones are clamped."""
        return self._settings.longest_frame(self._rate, int(self._scale * SCALE_ONE))

    def _early(self, float_rest: float, scale_rest: Fraction) -> Fraction:
        """Return the time in seconds by which a step may run early.

        It is one nanosecond plus the fractions of a nanosecond that were fed but are not yet in `left`; at most half a
        step. These fractions are computed in floats, as in the compiled clock.
        """
        if not self._settings.policy.waits:
            return Fraction(0)
        carried = (float_rest * int(self._scale * SCALE_ONE) + int(scale_rest * SCALE_ONE)) / SCALE_ONE
        units = self._rate.numerator + int(carried * self._rate.numerator)
        return min(units * self._unit, self._half_step)

    # --- feed time: run step by step -------------------------------------------------------------

    def steps(self, seconds: float) -> Iterator[int]:
        """Feed one frame in seconds; iterate over the ticks of its steps, each counted before the loop body runs."""
        self.feed(seconds)
        return self._each_step()

    def feed(self, seconds: float) -> int:
        """Feed one frame in seconds for `while clock.step()`; return how many steps are due."""
        self._refuse_reentry()
        return self._begin(*self._from_float(seconds))

    def step(self) -> bool:
        """Count the next due step and return True, or return False when the frame is done."""
        self._refuse_reentry()
        return self._step_if_due()

    def _each_step(self) -> Iterator[int]:
        self._refuse_reentry()
        self._running = True
        try:
            while self._step_if_due():
                yield self._tick
        finally:
            self._running = False
            self._close()

    def _step_if_due(self) -> bool:
        if self._may_step():
            self._count(1)
            self._handed += self.substeps
            return True
        self._close()
        return False

    def _may_step(self) -> bool:
        return bool(self._due) and self._within_budget()

    # --- one frame -------------------------------------------------------------------------------

    def _begin(self, ns: int, float_rest: float) -> int:
        """Feed one frame of ns nanoseconds; return how many steps are due."""
        self._close()
        self._handed = 0
        if self._paused:
            self._backlog, self._due = self._backlog + self._due, 0
            self._enter(ns, paused=ns)
            return 0

        # Fed time is clamped, then scaled, then added. Some policies ignore it.
        policy, overload, most = self._settings.policy, self._settings.overload, self._settings.max_steps
        used, scale_rest = ns, self._scale_rest
        if policy.ignores_time:
            frame = policy.value * self._step
        else:
            used = min(ns, self._longest_frame)
            scaled = used * self._scale + self._scale_rest
            frame, scale_rest = Fraction(math.floor(scaled), NANO), scaled - math.floor(scaled)
        left = self._left + frame

        # The policy chooses number and length of the steps.
        due = left + self._early(float_rest, scale_rest)
        n, h, lost = POLICIES[policy.name](self, frame, left, due)

        # On overload, the rule chooses the lost time. A policy itself loses time only if it returns n <= max_steps.
        backlog = 0
        if n > most:
            n, backlog, lost = OVERLOADS[overload.name](self, n, h, left)
        left -= lost

        thrown_away = Fraction(0) if self._settings.carry else max(left - (n + backlog) * h, Fraction(0))

        # A failing call must not change the state: all that may raise is above, all changes are below.
        self._left = left - thrown_away
        if lost or thrown_away:
            self._dropped += (lost + thrown_away) / self._step
        self._scale_rest, self._float_rest = scale_rest, float_rest
        self._due, self._backlog, self._open = n, backlog, True
        self._measured = h if policy.measures_step else None
        self._enter(ns, clamped=ns - used)
        lossy = lost > 0 or used < ns
        self._quiet_ns = 0 if lossy else min(self._quiet_ns + ns, NANO)
        return n

    def _matches(self, deviation: Fraction, rest: Fraction) -> bool:
        """Return whether a frame is close to a whole number of steps, after which the clock is close to real time."""
        slack, tolerance = self._settings.slack, self._settings.tolerance
        return abs(deviation) <= tolerance * self._step and -slack * self._step <= rest < (1 + slack) * self._step

    def _enter(self, ns: int, clamped: int = 0, paused: int = 0) -> None:
        """Add to the totals of real time. All totals stop at one limit, which keeps their differences correct."""
        if self._fed_ns < LEDGER_FULL:
            self._fed_ns += ns
            self._clamped_ns += clamped
            self._paused_ns += paused

    def _count(self, n: int) -> None:
        """Count n due steps."""
        self._tick += n
        self._due -= n
        if self._measured is not None:
            self._left -= n * self._measured
            self._varied += n * self._measured
        else:
            self._left -= n * self._step

    def _run_due(self, n: int) -> int:
        self._count(n)
        self._handed = n * self.substeps
        self._close()
        return n

    def _within_budget(self) -> bool:
        """Return whether steps may run; under "budget", drop the due steps once this frame has used its time."""
        if self._settings.overload.name != "budget":
            return True
        now = time.perf_counter_ns()
        if self._began_ns is None:
            self._began_ns = now  # the first step always runs, or time would stand still
        if now - self._began_ns < self._settings.overload.value:
            return True
        h = self._step if self._measured is None else self._measured
        self._left -= self._due * h
        self._dropped += self._due * h / self._step
        self._due = self._quiet_ns = 0
        return False

    def _close(self) -> None:
        """End the frame: apply a rate that was set inside it. Steps that were not run stay due."""
        self._open, self._began_ns = False, None
        if self._next_rate is not None:
            (rate, keep_fraction), self._next_rate = self._next_rate, None
            self._change_rate(rate, keep_fraction)

    def _refuse_reentry(self) -> None:
        if self._running:
            raise RuntimeError("the clock is inside a step: feed or restore it after the loop over the frame's ticks")

    # --- pause, scale, rate ----------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        """Whether the clock ignores fed time."""
        return self._paused

    def pause(self) -> None:
        """Ignore fed time from the next frame on."""
        self._paused = True

    def resume(self) -> None:
        """Count fed time again from the next frame on."""
        self._paused = False

    def single_step(self) -> int:
        """While paused, count one step of dt; return 1."""
        self._refuse_reentry()
        if not self._paused:
            raise RuntimeError("single_step() needs a paused clock: call pause() first")
        self._tick += 1
        self._handed = self.substeps
        if not self.deterministic:
            self._origin = exact_time(self._origin + self._step)
            self._measured = None
        return 1

    def resync(self) -> None:
        """Drop all waiting time; the next advance_to only sets a new reference time."""
        running = self._taken * (self._step if self._measured is None else self._measured)
        self._dropped += max(self._left - running, Fraction(0)) / self._step
        self._left = min(self._left, running)
        self._due, self._backlog = self._taken, 0
        self._base_ns = None

    @property
    def scale(self) -> float:
        """Simulated seconds per real second."""
        return float(self._scale)

    @scale.setter
    def scale(self, value: float) -> None:
        scale = options.parse_scale(value)
        for rate in (self._rate, self._next_rate[0] if self._next_rate else self._rate):
            self._settings.check_range(rate, scale)
        self._scale = Fraction(scale, SCALE_ONE)

    def set_hz(self, hz: Any, keep: str = "time") -> None:
        """Change the rate. keep: whether the waiting time is unchanged, or the fraction of a step."""
        rate, keep_fraction = options.parse_change(hz), options.parse_keep(keep)
        self._settings.check_range(rate, int(self._scale * SCALE_ONE))
        if self._open:
            self._next_rate = rate, keep_fraction
        else:
            self._next_rate = None
            self._change_rate(rate, keep_fraction)

    def _change_rate(self, rate: Fraction, keep_fraction: bool) -> None:
        self._origin, self._origin_tick, self._varied = exact_time(self.time_exact), self._tick, Fraction(0)
        step = 1 / rate
        left = self._left / self._step * step if keep_fraction and self.deterministic else self._left
        self._set_rate(rate)
        self._dropped = math.floor(self._dropped) + self._on_grid(self._dropped % 1 * step) / step

        # A "match" clock may be ahead of real time, at a new rate by millions of steps: limit this to 64 bits.
        self._left = max(self._on_grid(left), -HALF_RANGE * self._unit)
        self._due = self._backlog = 0
        if self.deterministic:
            ahead = 1 + (self._settings.slack if self._settings.policy.runs_early else 0)
            whole = self._left // step if self._left >= ahead * step else 0
            self._backlog = min(whole, self._settings.kept_steps)
            self._left -= (whole - self._backlog) * step
            self._dropped += whole - self._backlog

    def _set_rate(self, rate: Fraction) -> None:
        self._rate = rate
        self._step = 1 / rate  # dt in seconds, exactly
        self._unit = Fraction(1, rate.numerator * NANO)  # unit of the compiled clock, in seconds
        self._half_step = self._on_grid(self._step / 2)

    def _on_grid(self, seconds: Fraction) -> Fraction:
        """Round down to whole units of the compiled clock; loses less than a nanosecond."""
        return seconds // self._unit * self._unit

    # --- saving ----------------------------------------------------------------------------------

    def set_tick(self, t: int) -> None:
        """Set the tick, for rollback; waiting time is unchanged."""
        self._tick = options.parse_tick(t)

    def state(self) -> State:
        """Return the state as a tuple that JSON can store; without the reference time of advance_to."""
        next_rate, next_keep = self._next_rate or (None, False)
        return State(
            version=1,
            policy=self.policy,
            num=self._rate.numerator,
            den=self._rate.denominator,
            tick=self._tick,
            acc=int(self._left / self._unit),
            due=self._due,
            backlog=self._backlog,
            scale=int(self._scale * SCALE_ONE),
            scale_rest=int(self._scale_rest * SCALE_ONE),
            float_rest=self._float_rest,
            paused=int(self._paused),
            step_ns=-1 if self._measured is None else int(self._measured * NANO),
            varied_ns=int(self._varied * NANO),
            origin_tick=self._origin_tick,
            origin_num=self._origin.numerator,
            origin_den=self._origin.denominator,
            next_num=next_rate.numerator if next_rate else 0,
            next_den=next_rate.denominator if next_rate else 0,
            next_keep=int(next_keep),
            fed_ns=self._fed_ns,
            clamped_ns=self._clamped_ns,
            paused_ns=self._paused_ns,
            dropped_steps=math.floor(self._dropped),
            dropped_rest=int(self._dropped % 1 * self._step / self._unit),
            backwards=self._backwards,
            quiet_ns=self._quiet_ns,
        )

    def load(self, state: Any) -> None:
        """Restore a saved state; the next advance_to only sets a new reference time."""
        if self._taken:
            self._refuse_reentry()
        s = State.parse(state, self._settings)
        self._set_rate(Fraction(s.num, s.den))
        self._tick = s.tick
        self._left = s.acc * self._unit
        self._due, self._backlog = s.due, s.backlog
        self._scale = Fraction(s.scale, SCALE_ONE)
        self._scale_rest = Fraction(s.scale_rest, SCALE_ONE)
        self._float_rest = s.float_rest
        self._paused = bool(s.paused)
        self._measured = None if s.step_ns < 0 else Fraction(s.step_ns, NANO)
        self._varied = Fraction(s.varied_ns, NANO)
        self._origin, self._origin_tick = Fraction(s.origin_num, s.origin_den), s.origin_tick
        self._next_rate = (Fraction(s.next_num, s.next_den), bool(s.next_keep)) if s.next_num else None
        self._fed_ns, self._clamped_ns, self._paused_ns = s.fed_ns, s.clamped_ns, s.paused_ns
        self._dropped = s.dropped_steps + s.dropped_rest * self._unit / self._step
        self._backwards, self._quiet_ns = s.backwards, s.quiet_ns
        self._base_ns, self._open, self._began_ns = None, False, None
        self._handed = 0

    @property
    def _now(self) -> dict[str, Any]:
        size = self._rate.denominator * NANO  # units per step
        return {**self.state()._asdict(), "size": size, "handed": self._handed}

    def __setstate__(self, state: Any) -> None:
        self.load(state[0])
        self._handed = state[1]
