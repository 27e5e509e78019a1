"""The fixed-step clock, public class. `reference/clock.py` implements the same clock with fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ..time_steps import exact_time
from . import options, saved_state
from .clockwork import Clockwork
from .rates import SCALE_ONE
from .readings import Rate, Readings
from .saved_state import State

__all__ = ["FixedClock"]

_Seconds = float | Fraction | np.floating[Any] | np.integer[Any]


class FixedClock(Readings, Clockwork):
    """Convert variable frame times to whole fixed steps and a fraction for drawing.

    The clock is exact: after any number of frames it has counted the steps that fit into the time fed to it, at
    any rational rate. A step is due as soon as at most a nanosecond is missing. So a frame of 1/60 s runs one step of
    1/60 s, although neither a float nor whole nanoseconds can represent it.

    hz: steps per second, an int, float, Fraction or string such as "60000/1001"; 60 if dt is left out too.
    Or dt: seconds per step, of these types. A float stands for the simplest fraction that rounds to it, so dt=1/60
    means 60 Hz. This also applies to the dt of steppers. A step is a fraction of at most 2**27 seconds (4 years), with
    a denominator of at most 2**33 (0.12 ns).
    policy: the rule for the number of steps in a frame, an instance or its name. `ExactSteps()`, "exact": as many as
    fit. `Match()`, "match": the nearest whole number if the frame is close to one, as long as the clock stays within
    `slack` of the true time; smoothest on screen. `Locked(k)`, "locked(k)": k, for any frame time. `Variable(max_dt)`,
    "variable(max_dt)": one step, as long as the frame.
    max_steps: maximal number of steps in a frame.
    overload: the rule for frames with more due steps, an instance or its name. `Drop()`, "drop": drop whole steps.
    `Backlog(limit)`, "backlog(limit)": keep up to `limit` for later frames. `Resync()`, "resync": drop everything, run
    nothing. `Raise()`, "raise": raise `OverloadError` and refuse the frame. `Budget(seconds)`, "budget(seconds)": as
    "drop", and when the steps of a frame have taken this long in wall time, `steps()`, `step()` and the stepper drop
    the remaining steps.
    max_frame: seconds. Longer frames are clamped to it. If left out, 0.25 or two steps, whichever is longer. Clamping a
    frame of more than a second gives a RuntimeWarning, once for each clock: it may be in milliseconds.
    scale: simulated seconds per real second, 0 to 1000, rounded to a multiple of 2**-20.
    substeps: number of integrator steps in each step.
    carry: False drops the rest of each frame after its steps.
    slack: for "match", how far the clock may be from the true time, 0 to 0.5 steps.
    tolerance: for "match", how far a frame may be from a whole number of steps, 0 to 0.5 steps.
    phase: the initial waiting time in steps, at least 0 and below 1.

    Raises TypeError or ValueError if an argument is invalid, or if all of them together could overflow 64 bits.
    Thread-safety: one clock is used by one thread at a time. Feeding it inside a step is a RuntimeError, and so is
    feeding it, or setting its rate or scale, while `plan()` runs in another thread.

    >>> clock = FixedClock(hz=60)
    >>> clock.advance(0.04), clock.alpha
    (2, 0.4)
    """

    __slots__ = ()

    # --- scale, rate ----------------------------------------------------------------------

    def single_step(self) -> int:
        """While paused, count one step of dt; return 1, the number of steps to run now.

        Raises RuntimeError if the clock is not paused.
        """
        self._refuse_inside()
        if not self.paused:
            raise RuntimeError("single_step() needs a paused clock: call pause() first")
        changes, origin = {"tick": self.tick + 1, "handed": self.substeps}, None
        if self._settings.policy.measures_step:
            origin = exact_time(self._origin + 1 / self.hz)
            changes["step_ns"] = -1
        self._put(changes, origin)
        return 1

    @property
    def scale(self) -> float:
        """Simulated seconds per real second; it changes the number of steps, never dt."""
        return self._now["scale"] / SCALE_ONE

    @scale.setter
    def scale(self, value: _Seconds) -> None:
        scale, now = options.parse_scale(value), self._now
        self._settings.check_range(self.hz, scale)
        if now["next_num"]:
            self._settings.check_range(Fraction(now["next_num"], now["next_den"]), scale)
        self._put({"scale": scale, "max_frame_ns": self._settings.longest_frame(self.hz, scale)})

    def set_hz(self, hz: Rate, keep: Literal["time", "fraction"] = "time") -> None:
        """Change the rate, from the next frame on; `time` stays continuous.

        hz: steps per second, as in the constructor.
        keep: "time" keeps the waiting time in seconds, rounded down by less than a nanosecond. "fraction" keeps the
        waiting time in steps; under "variable", which has none, in seconds.

        Raises TypeError or ValueError for another rate or name.

        >>> clock = FixedClock(60)
        >>> clock.advance(0.03)
        1
        >>> clock.set_hz(120)
        >>> clock.advance(0.0), clock.tick, clock.time
        (1, 2, 0.025)
        """
        self._put(*self._planned(hz, keep))

    def _planned(self, hz: Rate, keep: str) -> tuple[dict[str, Any], Fraction | None]:
        """Return the numbers that a new rate changes, and the new origin of time; None inside an open frame."""
        rate, keep_fraction = options.parse_change(hz), options.parse_keep(keep)
        now = self._now
        self._settings.check_range(rate, now["scale"])
        if now["open"]:
            return {"next_num": rate.numerator, "next_den": rate.denominator, "next_keep": keep_fraction}, None
        return saved_state.changed_rate(self, rate, keep_fraction)

    # --- saving ----------------------------------------------------------------------------------

    def state(self) -> State:
        """Return the state of the clock as a tuple of numbers and strings, which JSON can store.

        It does not contain the settings of the constructor, except hz and scale. Nor does it contain the base of
        `advance_to`, which means nothing in another process.

        >>> clock = FixedClock(60)
        >>> saved = clock.state()
        >>> clock.advance(0.1), clock.load(saved), clock.tick
        (6, None, 0)
        """
        return State.of(self._now, self.policy, self._origin)

    def load(self, state: Sequence[Any]) -> None:
        """Restore a saved state, also one from JSON; the next advance_to sets a new base.

        Raises TypeError or ValueError, and changes nothing, if it is not a state of a clock with this policy and
        within these limits. Raises RuntimeError inside a step, because the step is not counted yet.
        """
        if self._now["taken"]:
            self._refuse_inside()
        saved = State.parse(state, self._settings)
        self._resume(saved.numbers(self._settings), Fraction(saved.origin_num, saved.origin_den))

    def __setstate__(self, state: tuple[Sequence[Any], int]) -> None:
        self.load(state[0])
        self._put({"handed": state[1]})
