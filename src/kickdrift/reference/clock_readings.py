"""The readings of a fixed-step clock: time, tick, the fraction of the next step, and the time that was lost."""

from __future__ import annotations

import math
from fractions import Fraction

from ..clock.options import Settings
from ..clock.rates import NANO


class Readings:
    """Base of FixedClock: the properties that change nothing."""

    _settings: Settings
    _rate: Fraction
    _unit: Fraction
    _step: Fraction
    _left: Fraction
    _due: int
    _backlog: int
    _tick: int
    _measured: Fraction | None
    _origin: Fraction
    _origin_tick: int
    _varied: Fraction
    _scale_rest: Fraction
    _float_rest: float
    _paused: bool
    _fed_ns: int
    _clamped_ns: int
    _paused_ns: int
    _backwards: int
    _dropped: Fraction
    _quiet_ns: int

    def _early(self, float_rest: float, scale_rest: Fraction) -> Fraction:
        """Return the time in seconds by which a step may run early: see FixedClock."""
        raise NotImplementedError

    @property
    def alpha(self) -> float:
        """Interpolation factor between the last two states."""
        if not self._settings.policy.waits:
            return 1.0
        rest = self._left - (self._due + self._backlog) * self._step
        if rest >= self._step:
            return 1.0
        return min(max(self._in_steps(rest), 0.0), math.nextafter(1.0, 0.0))

    @property
    def alpha_raw(self) -> float:
        """`alpha` without clamping; "match" goes beyond 0 and 1 by up to `slack`."""
        if not self._settings.policy.runs_early:
            return self.alpha
        rest = self._left - (self._due + self._backlog) * self._step
        if rest < 0:
            rest = min(rest + self._early(self._float_rest, self._scale_rest), Fraction(0))
        return self._in_steps(rest)

    def _in_steps(self, seconds: Fraction) -> float:
        step = self._rate.denominator * NANO  # in clock units
        return float(seconds / self._unit) / float(step)

    @property
    def tick(self) -> int:
        """Number of counted steps."""
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
        """Length in seconds of the step to run now: dt, or the measured frame under "variable"."""
        return float(self._step if self._measured is None else self._measured)

    @property
    def substep_dt(self) -> float:
        """Length of an integrator step in seconds: that of a step divided by `substeps`."""
        return float(self._substep_exact)

    @property
    def _substep_exact(self) -> Fraction:
        """Exact length of an integrator step in seconds."""
        return (self._step if self._measured is None else self._measured) / self.substeps

    @property
    def substeps(self) -> int:
        """Integrator steps per step."""
        return self._settings.substeps

    @property
    def policy(self) -> str:
        """The rule that chooses the number of steps."""
        return self._settings.policy.text

    @property
    def overload(self) -> str:
        """The rule for frames with more than `max_steps` due steps."""
        return self._settings.overload.text

    @property
    def max_steps(self) -> int:
        """Maximal number of steps in a frame."""
        return self._settings.max_steps

    @property
    def deterministic(self) -> bool:
        """Whether every step has the same length."""
        return not self._settings.policy.measures_step

    @property
    def backlog(self) -> int:
        """Whole steps that are due in this frame or kept for later ones."""
        return self._due + self._backlog

    @property
    def dropped(self) -> Fraction:
        """Lost time, in steps."""
        return self._dropped

    @property
    def dropped_steps(self) -> int:
        """Whole lost steps."""
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
        """Number of calls of `advance_to` with an earlier time than before."""
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
