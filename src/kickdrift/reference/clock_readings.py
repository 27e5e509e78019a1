"""The readings of a fixed-step clock: time, tick, and the fraction of the next step."""

from __future__ import annotations

import math
from fractions import Fraction

from ..clock.options import Settings
from ..clock.rates import NANO
from ..clock.readings import Readings


class ClockReadings(Readings):
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
