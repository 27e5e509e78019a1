"""All that changes in a clock, as numbers and text."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from ..validation import LARGEST_PARTS, LARGEST_SECONDS, integer, real, show
from .options import Settings
from .rates import HALF_RANGE, LEDGER_FULL, NANO, SCALE_ONE


class State(NamedTuple):
    """All that changes in a clock, as integers, text and one float: JSON can hold it.

    Times are in nanoseconds, `acc` and `dropped_rest` in units of 1/num nanoseconds.
    """

    version: int
    policy: str
    num: int
    den: int
    tick: int
    acc: int
    due: int
    backlog: int
    scale: int
    scale_rest: int
    float_rest: float
    paused: int
    step_ns: int
    varied_ns: int
    origin_tick: int
    origin_num: int
    origin_den: int
    next_num: int
    next_den: int
    next_keep: int
    fed_ns: int
    clamped_ns: int
    paused_ns: int
    dropped_steps: int
    dropped_rest: int
    backwards: int
    quiet_ns: int

    @classmethod
    def parse(cls, given: Any, settings: Settings) -> State:
        """Check a saved state, which may have been through JSON; return it in Python's own numbers."""
        if not isinstance(given, list | tuple):
            raise TypeError(f"state: expected a tuple from state(), got {type(given).__name__}")
        if len(given) != len(cls._fields):
            raise ValueError(f"state: expected a tuple of {len(cls._fields)} items, got {len(given)}")
        bounds = {**_BOUNDS, "step_ns": (-1, settings.max_step_ns or -1), "due": (0, settings.max_steps)}
        values: dict[str, Any] = {}
        for name, value in zip(cls._fields, given, strict=True):
            if name == "policy":
                if value != settings.policy.text:
                    raise ValueError(f"state.policy: expected {settings.policy.text!r}, got {show(value)}")
                values[name] = settings.policy.text
            elif name == "float_rest":
                values[name] = real("state.float_rest", value, 0.0, math.nextafter(1.0, 0.0))
            else:
                values[name] = integer(f"state.{name}", value, *bounds[name])
        state = cls(**values)

        step = state.den * NANO
        rest = state.acc - (state.due + state.backlog) * step
        sound = (
            math.gcd(state.num, state.den) == 1
            and state.due + state.backlog <= settings.kept_steps
            and (settings.policy.runs_early or not settings.policy.waits or rest < step)
            and rest <= 2 * step + settings.max_step_ns * state.num
            and math.gcd(state.origin_num, state.origin_den) == 1
            and math.gcd(state.next_num, state.next_den) <= 1
            and (state.next_num == 0) == (state.next_den == 0)
            and state.next_keep <= state.next_num
            and state.dropped_rest < step
        )
        if not sound:
            raise ValueError("state: expected one that state() returned, got numbers that do not go together")
        settings.check_range(Fraction(state.num, state.den), state.scale)
        if state.next_num:
            settings.check_range(Fraction(state.next_num, state.next_den), state.scale)
        return state


_COUNT = (0, HALF_RANGE + (1 << 60))
"""Of what may be set to 2**62 and goes on from there."""
_LEDGER = (0, LEDGER_FULL + (1 << 50))
"""A ledger stops behind the frame that fills it."""
_BOUNDS = {
    "version": (1, 1),
    "num": (1, LARGEST_PARTS),
    "den": (1, LARGEST_SECONDS),
    "tick": _COUNT,
    "acc": (-HALF_RANGE, HALF_RANGE),
    "backlog": (0, HALF_RANGE),
    "scale": (0, 1000 * SCALE_ONE),
    "scale_rest": (0, SCALE_ONE - 1),
    "paused": (0, 1),
    "varied_ns": (0, HALF_RANGE * NANO),
    "origin_tick": _COUNT,
    "origin_num": (-(1 << 1300), 1 << 1300),
    "origin_den": (1, 1 << 1100),
    "next_num": (0, LARGEST_PARTS),
    "next_den": (0, LARGEST_SECONDS),
    "next_keep": (0, 1),
    "fed_ns": _LEDGER,
    "clamped_ns": _LEDGER,
    "paused_ns": _LEDGER,
    "dropped_steps": _LEDGER,
    "dropped_rest": (0, HALF_RANGE),
    "backwards": _LEDGER,
    "quiet_ns": (0, NANO),
}
"""The least and the most of each integer of a state, where the settings do not say."""


def rebuild(cls: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Make a clock anew, for pickle and copy."""
    return cls(**arguments)
