"""What both fixed-step clocks have in common: their settings, and what they have counted."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from . import saved_state
from .options import OverloadRule, Policy, Settings
from .rates import NANO

if TYPE_CHECKING:
    from .saved_state import State

Rate = float | Fraction | str | np.floating[Any] | np.integer[Any]
Named = str | tuple[str, float]


class Readings:
    """Base of FixedClock and of its reference: the constructor, and properties that change nothing."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def _settings(self) -> Settings: ...
        @property
        def _now(self) -> dict[str, Any]: ...  # all numbers of the clock, by name

        def _set_up(self, settings: Settings) -> None: ...
        def set_hz(self, hz: Rate) -> None: ...
        def state(self) -> State: ...

        @property
        def tick(self) -> int: ...
        @property
        def alpha(self) -> float: ...
        @property
        def paused(self) -> bool: ...

    def __init__(
        self,
        hz: Rate | None = None,
        dt: Rate | None = None,
        *,
        policy: Named | Policy | type[Policy] = "exact",
        max_steps: int = 8,
        overload: Named | OverloadRule | type[OverloadRule] = "drop",
        max_frame: float | None = None,
        scale: float = 1.0,
        substeps: int = 1,
        carry: bool = True,
        slack: float = 0.25,
        tolerance: float = 0.1,
        phase: float = 0.0,
    ) -> None:
        settings = Settings.parse(
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
        self._set_up(settings)

    @property
    def policy(self) -> str:
        """The rule for the number of steps, as a string."""
        return self._settings.policy.text

    @property
    def overload(self) -> str:
        """The rule for frames with more than `max_steps` due steps, as a string."""
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
        """Whole steps that are due and did not run yet, in this frame or kept for later ones."""
        now = self._now
        return now["due"] + now["backlog"]

    @property
    def dropped(self) -> Fraction:
        """Lost time, in steps, a Fraction."""
        now = self._now
        return now["dropped_steps"] + Fraction(now["dropped_rest"], now["size"])

    @property
    def dropped_steps(self) -> int:
        """Whole lost steps."""
        return self._now["dropped_steps"]

    @property
    def fed_ns(self) -> int:
        """Real time fed, in nanoseconds, including clamped and paused time.

        A frame counts as 10**15 ns (11 days) at most. All counters of time stop when this one reaches 2**62 ns (146
        years).
        """
        return self._now["fed_ns"]

    @property
    def clamped_ns(self) -> int:
        """Real time beyond `max_frame`, in nanoseconds."""
        return self._now["clamped_ns"]

    @property
    def paused_ns(self) -> int:
        """Real time fed while paused, in nanoseconds."""
        return self._now["paused_ns"]

    @property
    def backwards(self) -> int:
        """Number of calls of `advance_to` with an earlier time than before."""
        return self._now["backwards"]

    @property
    def overloaded(self) -> bool:
        """Whether a frame was clamped or steps were dropped within the last second of fed time."""
        return self._now["quiet_ns"] < NANO

    def __repr__(self) -> str:
        paused = ", paused" if self.paused else ""
        return (
            f"<FixedClock at {self.hz} Hz, {self.policy}, {self.overload},"
            f" tick {self.tick}, alpha {self.alpha:.3f}{paused}>"
        )

    @property
    def hz(self) -> Fraction:
        """Steps per simulated second, a Fraction; setting it keeps the time, see `set_hz`."""
        now = self._now
        return Fraction(now["num"], now["den"])

    @hz.setter
    def hz(self, value: Rate) -> None:
        self.set_hz(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return saved_state.rebuild, (type(self), self._settings.arguments()), (tuple(self.state()), self._now["handed"])
