"""The state of a clock, as numbers and strings."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from ..time_steps import LARGEST_PARTS, LARGEST_SECONDS, exact_time
from ..validation import integer, real, show
from .options import Settings
from .rates import HALF_RANGE, LEDGER_FULL, NANO, SCALE_ONE

if TYPE_CHECKING:
    from .clockwork import Clockwork


class State(NamedTuple):
    """The state of a clock, as integers, strings and one float, which JSON can store.

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
        """Check a saved state, which may come from JSON; return it as Python's own numbers."""
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
            raise ValueError("state: expected one that state() returned, got inconsistent numbers")
        settings.check_range(Fraction(state.num, state.den), state.scale)
        if state.next_num:
            settings.check_range(Fraction(state.next_num, state.next_den), state.scale)
        return state

    @classmethod
    def of(cls, now: dict[str, Any], policy: str, origin: Fraction) -> State:
        """Return the state of a clock with these numbers."""
        return cls(
            version=1,
            policy=policy,
            varied_ns=now["varied_s"] * NANO + now["varied_ns"],
            origin_num=origin.numerator,
            origin_den=origin.denominator,
            next_keep=int(now["next_keep"] and now["next_num"] > 0),
            paused=int(now["paused"]),
            **{name: now[name] for name in _AS_THEY_ARE},
        )

    def numbers(self, settings: Settings) -> dict[str, Any]:
        """Return the numbers of a clock in this state."""
        varied_s, varied_ns = divmod(self.varied_ns, NANO)
        return {
            **settings.terms(Fraction(self.num, self.den), self.scale),
            **{name: getattr(self, name) for name in (*_AS_THEY_ARE, "paused", "next_keep")},
            "varied_s": varied_s,
            "varied_ns": varied_ns,
        }


_AS_THEY_ARE = [
    *("num", "den", "tick", "acc", "due", "backlog", "scale", "scale_rest", "float_rest", "step_ns", "origin_tick"),
    *("next_num", "next_den", "fed_ns", "clamped_ns", "paused_ns", "dropped_steps", "dropped_rest", "backwards"),
    "quiet_ns",
]
"""Numbers that have the same name in a clock and in its saved state."""
_COUNT = (0, HALF_RANGE + (1 << 60))
"""Range of ticks: users may set almost 2**62, and the clock counts on from there."""
_LEDGER = (0, LEDGER_FULL + (1 << 50))
"""Range of the counters, which stop after the frame in which they reach the limit."""
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
"""Ranges of the integers of a state that do not depend on the settings."""


def changed_rate(clock: Clockwork, rate: Fraction, keep_fraction: bool) -> tuple[dict[str, int], Fraction]:
    """Return a clock's numbers that depend on the rate, for a new rate, and its new origin of time in s.

    Products of old and new terms exceed 64 bits, therefore this uses Python integers.
    """
    now, settings = clock._now, clock._settings
    terms = settings.terms(rate, now["scale"])
    # A "match" clock may be early by millions of steps of the new rate: `acc` is clamped to fit into 64 bits.
    if keep_fraction and not settings.policy.measures_step:
        acc = now["acc"] * terms["size"] // now["size"]
    else:
        acc = now["acc"] * terms["num"] // now["num"]
    acc = max(acc, -HALF_RANGE)
    backlog = dropped = 0
    if not settings.policy.measures_step:
        ahead = terms["high"] if settings.policy.runs_early else terms["size"]
        whole = acc // terms["size"] if acc >= ahead else 0
        backlog = min(whole, settings.kept_steps)
        acc -= (whole - backlog) * terms["size"]
        dropped = whole - backlog
    changes = {
        **terms,
        "acc": acc,
        "due": 0,
        "backlog": backlog,
        "origin_tick": now["tick"],
        "varied_s": 0,
        "varied_ns": 0,
        "dropped_steps": now["dropped_steps"] + dropped,
        "dropped_rest": now["dropped_rest"] * terms["size"] // now["size"],
        "next_num": 0,
        "next_den": 0,
    }
    return changes, exact_time(clock.time_exact)


def rebuild(cls: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Construct a clock, for pickle and copy."""
    return cls(**arguments)
