"""The fixed-step clock, exact and made to be read.

A game draws when the display lets it, a simulation must advance in steps of one length. The clock
stands between the two. It holds `left`, the time that was fed and not yet simulated; each frame adds
to it, each step takes dt from it:

    left += frame;  n = left // dt;  left -= n * dt;  alpha = left / dt

but for a nanosecond that may be missing: a step is due when left + 1 ns >= dt.

Every time is a `fractions.Fraction` of a second, so nothing is ever rounded away. The compiled clock
does the same in 64-bit integers of 1/(hz.numerator * 10**9) seconds, which is exact as well because
dt and every nanosecond are whole multiples of that unit; `acc` in a saved state is `left` in units.
Policies and overload rules are in `clock_rules.py`. The class is as long as what users call of a clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..clock import options, rates, saved_state
from ..clock.options import Settings
from ..clock.rates import HALF_RANGE, LEDGER_FULL, LONGEST_FRAME_NS, NANO, SCALE_ONE
from ..clock.saved_state import State
from ..time_steps import exact_time
from .clock_rules import OVERLOADS, POLICIES


class FixedClock:
    """Turns uneven frame times into whole fixed steps and a fraction for drawing.

    >>> clock = FixedClock(hz=60)
    >>> clock.advance(0.04), clock.alpha
    (2, 0.4)
    """

    def __init__(
        self,
        hz: Any = None,
        dt: Any = None,
        *,
        policy: Any = "exact",
        max_steps: int = 8,
        overload: Any = "drop",
        max_frame: float | None = None,
        scale: float = 1.0,
        substeps: int = 1,
        carry: bool = True,
        slack: float = 0.25,
        tolerance: float = 0.1,
        phase: float = 0.0,
    ) -> None:
        self._settings = Settings.parse(
            hz,
            dt,
            policy=policy,
            max_steps=max_steps,
            overload=overload,
            max_frame=max_frame,
            scale=scale,
            substeps=substeps,
            carry=carry,
            slack=slack,
            tolerance=tolerance,
            phase=phase,
        )
        self._running = False  # is it inside a step? In steps() it is whenever others can call
        self._begin_again(self._settings.rate)
        self._warned = False  # of a frame that may be milliseconds
        self._stepper: Any = None  # a weak reference to the one that this clock is of

    def _begin_again(self, rate: Fraction, tick: int = 0, time: Fraction = Fraction(0)) -> None:
        """As it was made, but for rate, tick and time."""
        self._refuse_reentry()
        self._settings.check_range(rate, self._settings.scale)
        self._set_rate(rate)
        self._left = self._on_grid(self._settings.phase * self._step)
        self._due = 0  # steps of this frame that have not run yet
        self._backlog = 0  # whole steps kept for later frames
        self._tick = tick
        self._measured: Fraction | None = None  # the step of "variable" in seconds

        # time = origin + (tick - origin_tick) * dt, or origin + varied under "variable"
        self._origin = time
        self._origin_tick = tick
        self._varied = Fraction(0)

        self._scale = Fraction(self._settings.scale, SCALE_ONE)
        self._scale_rest = Fraction(0)  # nanoseconds that scaling has not given out yet, below 1
        self._float_rest = 0.0  # nanoseconds that float frames have not given out yet, below 1
        self._paused = False

        self._fed_ns = self._clamped_ns = self._paused_ns = self._backwards = 0
        self._dropped = Fraction(0)  # in steps
        self._quiet_ns = NANO  # time fed since the last loss, up to a second

        self._base_ns: int | None = None  # the last time that advance_to was given
        self._next_rate: tuple[Fraction, bool] | None = None  # set inside a frame, holds from the next
        self._open = False  # a frame is being stepped, in any form
        self._taken = 0  # due steps that a stepper's frame is running, and counts when they are done
        self._began_ns: int | None = None  # when the first step of this frame began, under "budget"
        self._handed = 0  # integrator steps counted in this frame that its stepper has not run yet

    # --- feeding time, all steps at once ---------------------------------------------------------

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
        """Advance by a whole array of frames; return the step counts and the alphas after each."""
        self._refuse_reentry()
        frames = rates.frame_array(frame_times)
        counts = rates.output_array("counts", counts, len(frames), "int64")
        alphas = rates.output_array("alphas", alphas, len(frames), "float64")
        for i, seconds in enumerate(frames):
            counts[i] = self.advance(seconds)
            alphas[i] = self.alpha
        return counts, alphas

    def _from_float(self, seconds: float) -> tuple[int, float]:
        """Split a float frame into whole nanoseconds and the rest, which the next frame gets."""
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
        """How much of a frame counts, in nanoseconds."""
        return self._settings.longest_frame(self._rate, int(self._scale * SCALE_ONE))

    def _early(self, float_rest: float, scale_rest: Fraction) -> Fraction:
        """A step is due if no more than this time is missing for it, in seconds.

        That is one nanosecond, and the fractions of nanoseconds that are carried to the next frame: they were fed
        already. It is half a step at most. The carried part is computed in floats, as in the compiled clock.
        """
        if not self._settings.policy.waits:
            return Fraction(0)
        carried = (float_rest * int(self._scale * SCALE_ONE) + int(scale_rest * SCALE_ONE)) / SCALE_ONE
        units = self._rate.numerator + int(carried * self._rate.numerator)
        return min(units * self._unit, self._half_step)

    # --- feeding time, step by step --------------------------------------------------------------

    def steps(self, seconds: float) -> Iterator[int]:
        """Feed one frame in seconds; loop over the ticks of its steps, each counted before its body."""
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
        """Take in one frame of ns nanoseconds; return how many steps are due."""
        self._close()
        self._handed = 0
        if self._paused:
            self._backlog, self._due = self._backlog + self._due, 0
            self._enter(ns, paused=ns)
            return 0

        # Real time is limited, then scaled, then added. Some policies ignore it.
        policy, overload, most = self._settings.policy, self._settings.overload, self._settings.max_steps
        used, scale_rest = ns, self._scale_rest
        if policy.ignores_time:
            frame = policy.value * self._step
        else:
            used = min(ns, self._longest_frame)
            scaled = used * self._scale + self._scale_rest
            frame, scale_rest = Fraction(math.floor(scaled), NANO), scaled - math.floor(scaled)
        left = self._left + frame

        # How many steps, of which length?
        due = left + self._early(float_rest, scale_rest)
        n, h, lost = POLICIES[policy.name](self, frame, left, due)

        # Too many? Then the overload rule says what is lost. A policy loses time only if it returns n <= max_steps.
        backlog = 0
        if n > most:
            n, backlog, lost = OVERLOADS[overload.name](self, n, h, left)
        left -= lost

        thrown_away = Fraction(0) if self._settings.carry else max(left - (n + backlog) * h, Fraction(0))

        # Nothing has changed up to here, nothing can fail from here on.
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
        """Is the frame close to a whole number of steps, and the clock close to real time after these steps?"""
        slack, tolerance = self._settings.slack, self._settings.tolerance
        return abs(deviation) <= tolerance * self._step and -slack * self._step <= rest < (1 + slack) * self._step

    def _enter(self, ns: int, clamped: int = 0, paused: int = 0) -> None:
        """Add to the sums of real time. All of them stop at one limit, so that their differences stay right."""
        if self._fed_ns < LEDGER_FULL:
            self._fed_ns += ns
            self._clamped_ns += clamped
            self._paused_ns += paused

    def _count(self, n: int) -> None:
        """Move on by n due steps."""
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
        """Under "budget", drop what is due once the steps of this frame have taken too long."""
        if self._settings.overload.name != "budget":
            return True
        now = time.perf_counter_ns()
        if self._began_ns is None:
            self._began_ns = now  # the first step always runs, or the game would stand still
        if now - self._began_ns < self._settings.overload.value:
            return True
        h = self._step if self._measured is None else self._measured
        self._left -= self._due * h
        self._dropped += self._due * h / self._step
        self._due = self._quiet_ns = 0
        return False

    def _close(self) -> None:
        """End the frame. A rate that was set inside it takes effect now. Due steps that were not run stay due."""
        self._open, self._began_ns = False, None
        if self._next_rate is not None:
            (rate, keep_fraction), self._next_rate = self._next_rate, None
            self._change_rate(rate, keep_fraction)

    def _refuse_reentry(self) -> None:
        if self._running:
            raise RuntimeError("the clock is inside a step: feed it when the frame is done")

    # --- reading ---------------------------------------------------------------------------------

    @property
    def alpha(self) -> float:
        """How far the frame is between the last two states, for interpolation."""
        if not self._settings.policy.waits:
            return 1.0
        rest = self._left - (self._due + self._backlog) * self._step
        if rest >= self._step:
            return 1.0
        return min(max(self._in_steps(rest), 0.0), math.nextafter(1.0, 0.0))

    @property
    def alpha_raw(self) -> float:
        """`alpha` before it is clamped; "match" goes beyond 0 and 1 by up to `slack`."""
        if not self._settings.policy.runs_early:
            return self.alpha
        rest = self._left - (self._due + self._backlog) * self._step
        if rest < 0:
            rest = min(rest + self._early(self._float_rest, self._scale_rest), Fraction(0))
        return self._in_steps(rest)

    def _in_steps(self, seconds: Fraction) -> float:
        step = self._rate.denominator * NANO  # in units
        return float(seconds / self._unit) / float(step)

    @property
    def tick(self) -> int:
        """How many steps have been counted."""
        return self._tick

    @property
    def time(self) -> float:
        """Simulated time in seconds, rounded once."""
        return float(self.time_exact)

    @property
    def time_exact(self) -> Fraction:
        """Simulated time in seconds."""
        if self._settings.policy.measures_step:
            return self._origin + self._varied
        return self._origin + (self._tick - self._origin_tick) * self._step

    @property
    def dt(self) -> float:
        """Seconds per step, rounded once."""
        return float(self._step)

    @property
    def step_dt(self) -> float:
        """Seconds of the step to run now: dt, or the measured frame under "variable"."""
        return float(self._step if self._measured is None else self._measured)

    @property
    def substep_dt(self) -> float:
        """Seconds per integrator step: the step over `substeps`."""
        return float(self._substep_exact)

    @property
    def _substep_exact(self) -> Fraction:
        """Seconds per integrator step as they are, for the stepper."""
        return (self._step if self._measured is None else self._measured) / self.substeps

    @property
    def substeps(self) -> int:
        """Integrator steps per step."""
        return self._settings.substeps

    @property
    def policy(self) -> str:
        """How the number of steps is chosen."""
        return self._settings.policy.text

    @property
    def overload(self) -> str:
        """What happens when more than `max_steps` steps are due."""
        return self._settings.overload.text

    @property
    def max_steps(self) -> int:
        """The most steps that one frame runs."""
        return self._settings.max_steps

    @property
    def deterministic(self) -> bool:
        """Whether every step has the same length."""
        return not self._settings.policy.measures_step

    @property
    def backlog(self) -> int:
        """Whole steps that are owed: due in this frame or kept for later ones."""
        return self._due + self._backlog

    @property
    def dropped(self) -> Fraction:
        """Time thrown away, in steps."""
        return self._dropped

    @property
    def dropped_steps(self) -> int:
        """Whole steps thrown away."""
        return math.floor(self._dropped)

    @property
    def fed_ns(self) -> int:
        """Real time fed, in nanoseconds."""
        return self._fed_ns

    @property
    def clamped_ns(self) -> int:
        """Real time beyond `max_frame`, in nanoseconds."""
        return self._clamped_ns

    @property
    def paused_ns(self) -> int:
        """Real time fed while paused, in nanoseconds."""
        return self._paused_ns

    @property
    def backwards(self) -> int:
        """How often `advance_to` was given an earlier time."""
        return self._backwards

    @property
    def overloaded(self) -> bool:
        """Whether time was lost within the last second of fed time."""
        return self._quiet_ns < NANO

    def __repr__(self) -> str:
        paused = ", paused" if self._paused else ""
        return (
            f"<FixedClock at {self._rate} Hz, {self.policy}, {self.overload},"
            f" tick {self._tick}, alpha {self.alpha:.3f}{paused}>"
        )

    # --- pause, scale, rate ----------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        """Whether fed time counts for nothing."""
        return self._paused

    def pause(self) -> None:
        """Let fed time count for nothing from the next frame on."""
        self._paused = True

    def resume(self) -> None:
        """Let fed time count again from the next frame on."""
        self._paused = False

    def single_step(self) -> int:
        """While paused, count one step of dt that no fed time pays for; return 1."""
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
        """Throw away all time that is waiting, and let the next advance_to set a new base."""
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

    @property
    def hz(self) -> Fraction:
        """Steps per simulated second."""
        return self._rate

    @hz.setter
    def hz(self, value: Any) -> None:
        self.set_hz(value)

    def set_hz(self, hz: Any, keep: str = "time") -> None:
        """Change the rate; keep the waiting time, or the fraction of a step."""
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

        # A "match" clock runs ahead of time. At a new rate that may be millions of steps; the limit is that of 64 bits.
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
        self._unit = Fraction(1, rate.numerator * NANO)  # of the compiled clock, in seconds
        self._half_step = self._on_grid(self._step / 2)

    def _on_grid(self, seconds: Fraction) -> Fraction:
        """Round down to whole units of the compiled clock: less than a nanosecond is lost."""
        return seconds // self._unit * self._unit

    # --- saving ----------------------------------------------------------------------------------

    def set_tick(self, t: int) -> None:
        """Set the tick, for rollback; waiting time stays as it is."""
        self._tick = options.parse_tick(t)

    def state(self) -> State:
        """All that changes, as a tuple that JSON can hold; without the base of advance_to."""
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
            dropped_steps=self.dropped_steps,
            dropped_rest=int(self._dropped % 1 * self._step / self._unit),
            backwards=self._backwards,
            quiet_ns=self._quiet_ns,
        )

    def load(self, state: Any) -> None:
        """Go back to a saved state; the next advance_to sets a new base."""
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

    def __reduce__(self) -> tuple[Any, ...]:
        return saved_state.rebuild, (type(self), self._settings.arguments()), (tuple(self.state()), self._handed)

    def __setstate__(self, state: Any) -> None:
        self.load(state[0])
        self._handed = state[1]
