"""What a clock may be told: the arguments of both clocks are checked and normalised here.

The compiled clock and the reference differ in their arithmetic alone. Everything else that they
share is in this file: rates, policies, frame times, limits and saved states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..validation import LARGEST_PARTS, LARGEST_SECONDS, countable, integer, real, show, time_step

NANO = 10**9
SCALE_ONE = 1 << 20
"""Scale is held in multiples of 2**-20."""
MOST_SUBSTEPS = 10**6
"""Times the largest numerator of a rate this stays below 2**53, so that dt / substeps is rounded once."""
LONGEST_FRAME_NS = 10**15
"""A single frame counts as 11 days at most."""
LEDGER_FULL = 1 << 62
"""Ledgers of time stop here, at 146 years."""
ROOM = 1 << 62
"""Whatever may be in the accumulator at once is below this many units."""

# --- numbers -----------------------------------------------------------------------------------


def flag(name: str, value: Any) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}: expected True or False, got {show(value)}")
    return bool(value)


def nanoseconds(name: str, value: Any) -> int:
    """Check a positive duration in seconds; return it in whole nanoseconds."""
    seconds = real(name, value, 1e-9, LONGEST_FRAME_NS / NANO)
    return round(Fraction(seconds) * NANO)


# --- frame times -------------------------------------------------------------------------------


def frame_seconds(value: Any) -> float:
    """Check the time of one frame in seconds."""
    return real("seconds", value, 0.0)


def frame_ns(value: Any) -> int:
    """Check the time of one frame in nanoseconds."""
    return min(integer("ns", value, 0), LONGEST_FRAME_NS)


def frame_ms(value: Any) -> int:
    """Check the time of one frame in milliseconds; return nanoseconds."""
    return min(integer("ms", value, 0) * 10**6, LONGEST_FRAME_NS)


def absolute_ns(value: Any) -> int:
    """Check an absolute time in nanoseconds: any two differ by less than 2**63."""
    return integer("now_ns", value, 1 - LEDGER_FULL, LEDGER_FULL - 1)


def frame_array(frame_times: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Check an array or list of frame times in seconds; return contiguous float64."""
    array = np.asarray(frame_times)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"frame_times: expected real numbers, got dtype {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"frame_times: expected one dimension, got shape {array.shape}")
    frames = np.require(array, np.float64, ("C", "A"))
    bad = np.flatnonzero(~(np.isfinite(frames) & (frames >= 0)))
    if bad.size:
        real(f"frame_times[{bad[0]}]", float(frames[bad[0]]), 0.0)
    return frames


def output_array(name: str, given: Any, size: int, dtype: str) -> np.ndarray[Any, Any]:
    """Check an output array, or make it when none is given."""
    if given is None:
        return np.empty(size, dtype)
    array = np.asarray(given)
    if array is not given and not isinstance(given, memoryview) and not hasattr(given, "buffer_info"):
        raise TypeError(f"{name}: expected an array to write to, got {type(given).__name__}")
    if array.dtype != dtype:
        raise TypeError(f"{name}: expected dtype {np.dtype(dtype)}, got {array.dtype}")
    if array.shape != (size,):
        raise ValueError(f"{name}: expected shape ({size},), got {array.shape}")
    if not array.flags.carray:
        raise ValueError(f"{name}: expected a contiguous, aligned, writable array")
    return array


# --- rates -------------------------------------------------------------------------------------


def parse_rate(hz: Any = None, dt: Any = None) -> Fraction:
    """Return the step rate in 1/s from exactly one of hz and dt; 60 when both are None.

    >>> parse_rate("60000/1001"), parse_rate(dt=1 / 60), parse_rate(59.94)
    (Fraction(60000, 1001), Fraction(60, 1), Fraction(2997, 50))
    """
    step = time_step(dt, 60 if hz is None and dt is None else hz)
    if not countable(step):
        name, given = ("hz", hz) if dt is None else ("dt", dt)
        raise ValueError(
            f"{name}: expected steps that a clock can count, of num / den seconds with num up to {LARGEST_SECONDS} and"
            f" den up to {LARGEST_PARTS}, got {show(given)}"
        )
    return 1 / step


# --- policies and overload rules ---------------------------------------------------------------


class Choice(NamedTuple):
    """A policy or an overload rule with its one argument: `locked(2)`, `budget(0.004)`."""

    name: str
    value: int
    """Steps or nanoseconds; 0 for a choice without argument."""
    text: str


class Argument(NamedTuple):
    """What a choice takes in parentheses."""

    check: Callable[[str, Any], int]
    default: int | float
    number: Callable[[str], int | float]


def _steps(name: str, value: Any) -> int:
    return integer(name, value, 1)


POLICIES = {
    "exact": None,
    "match": None,
    "locked": Argument(_steps, 1, int),
    "variable": Argument(nanoseconds, 0.1, float),
}
OVERLOADS = {
    "drop": None,
    "backlog": Argument(_steps, 60, int),
    "resync": None,
    "raise": None,
    "budget": Argument(nanoseconds, 0.004, float),
}


def parse_choice(argument: str, known: dict[str, Argument | None], given: Any) -> Choice:
    """Read "name", "name(value)" or (name, value).

    >>> parse_choice("policy", POLICIES, "locked(2)") == parse_choice("policy", POLICIES, ("locked", 2))
    True
    """
    name: str
    value: Any = None
    if isinstance(given, str):
        name = given.strip()
        if name.endswith(")"):
            name, _, value = name[:-1].partition("(")
            name, value = name.rstrip(), value.strip()
    elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        name, value = given
    else:
        raise TypeError(f"{argument}: expected text or a pair (name, value), got {show(given)}")
    takes = known.get(name)
    if name not in known or (takes is None and value is not None):
        names = ", ".join(name if takes is None else f"{name}({takes.default})" for name, takes in known.items())
        raise ValueError(f"{argument}: expected one of {names}, got {show(given)}")
    if takes is None:
        return Choice(name, 0, name)
    if value is None:
        value = takes.default
    elif isinstance(value, str):
        try:
            value = takes.number(value)
        except ValueError:
            raise ValueError(f"{argument} {name}(...): expected a number, got {show(given)}") from None
    checked = takes.check(f"{argument} {name}(...)", value)
    return Choice(name, checked, f"{name}({checked if takes.number is int else checked / NANO})")


# --- everything together -----------------------------------------------------------------------


class Settings(NamedTuple):
    """The checked arguments of a clock."""

    rate: Fraction
    policy: Choice
    overload: Choice
    max_steps: int
    max_frame_ns: int
    scale: int
    """In multiples of 2**-20."""
    substeps: int
    carry: bool
    slack: Fraction
    tolerance: Fraction
    phase: Fraction

    @classmethod
    def parse(
        cls,
        hz: Any = None,
        dt: Any = None,
        *,
        policy: Any = "exact",
        max_steps: Any = 8,
        overload: Any = "drop",
        max_frame: Any = 0.25,
        scale: Any = 1.0,
        substeps: Any = 1,
        carry: Any = True,
        slack: Any = 0.25,
        tolerance: Any = 0.1,
        phase: Any = 0.0,
    ) -> Settings:
        """Check the arguments of a clock one by one, then together."""
        settings = cls(
            rate=parse_rate(hz, dt),
            policy=parse_choice("policy", POLICIES, policy),
            overload=parse_choice("overload", OVERLOADS, overload),
            max_steps=integer("max_steps", max_steps, 1),
            max_frame_ns=nanoseconds("max_frame", max_frame),
            scale=parse_scale(scale),
            substeps=integer("substeps", substeps, 1, MOST_SUBSTEPS),
            carry=flag("carry", carry),
            slack=Fraction(real("slack", slack, 0.0, 0.5)),
            tolerance=Fraction(real("tolerance", tolerance, 0.0, 0.5)),
            phase=Fraction(real("phase", phase, 0.0, 1.0)),
        )
        if settings.phase == 1:
            raise ValueError(f"phase: expected a number below 1, got {phase!r}")
        if settings.phase and settings.policy.name == "variable":
            raise ValueError(f"phase: expected 0 under policy {settings.policy.text}, got {phase!r}")
        if settings.policy.name == "locked" and settings.policy.value > settings.max_steps:
            raise ValueError(
                f"max_steps: expected at least as many as policy {settings.policy.text} runs, got {settings.max_steps}"
            )
        settings.check_room(settings.rate, settings.scale)
        return settings

    def check_room(self, rate: Fraction, scale: int) -> None:
        """Refuse settings under which the accumulator of the compiled clock could overflow.

        It never holds more than a frame, `kept_steps` and a step that is not complete yet.
        """
        longest_ns = (self.max_frame_ns * scale >> 20) + 1 + self.max_step_ns
        if longest_ns * rate.numerator + (self.kept_steps + 2) * rate.denominator * NANO >= ROOM:
            raise ValueError(
                "hz, scale, max_frame, max_steps, policy and overload: expected that together they leave room in"
                " 64 bits,"
                f" got hz={rate}, scale={scale / SCALE_ONE:g}, max_frame={self.max_frame_ns / NANO:g},"
                f" max_steps={self.max_steps}, policy={self.policy.text!r}, overload={self.overload.text!r}"
            )

    @property
    def kept_steps(self) -> int:
        """How many whole steps may be left over from frame to frame."""
        return self.max_steps + (self.overload.value if self.overload.name == "backlog" else 0)

    @property
    def max_step_ns(self) -> int:
        """The longest measured step; 0 when steps are fixed."""
        return self.policy.value if self.policy.name == "variable" else 0

    def window(self, rate: Fraction) -> tuple[int, int, int]:
        """Tolerance, low and high end of the `match` policy in units of the accumulator."""
        step = rate.denominator * NANO
        return (
            math.floor(self.tolerance * step),
            math.ceil(-self.slack * step),
            math.ceil((1 + self.slack) * step),
        )

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments that make an equal clock."""
        return {
            "hz": self.rate,
            "policy": self.policy.text,
            "max_steps": self.max_steps,
            "overload": self.overload.text,
            "max_frame": self.max_frame_ns / NANO,
            "scale": self.scale / SCALE_ONE,
            "substeps": self.substeps,
            "carry": self.carry,
            "slack": float(self.slack),
            "tolerance": float(self.tolerance),
            "phase": float(self.phase),
        }


def parse_scale(value: Any) -> int:
    """Check a time scale; return it in multiples of 2**-20."""
    return round(real("scale", value, 0.0, 1000.0) * SCALE_ONE)


def parse_change(hz: Any) -> Fraction:
    """Check a new rate, which there is no default for."""
    if hz is None:
        raise TypeError("hz: expected a number or text, got None")
    return parse_rate(hz)


def parse_keep(keep: Any) -> bool:
    """Check what a change of rate keeps; return whether it is the fraction of a step."""
    if not isinstance(keep, str) or keep not in ("time", "fraction"):
        raise ValueError(f'keep: expected "time" or "fraction", got {keep!r}')
    return keep == "fraction"


def parse_tick(t: Any) -> int:
    """Check a tick: far enough from the ends of int64 to count on for a hundred years."""
    return integer("t", t, 0, (1 << 62) - 1)


# --- saved states ------------------------------------------------------------------------------


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
        bounds = {**_BOUNDS, "step_ns": (-1, settings.max_step_ns), "due": (0, settings.max_steps)}
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
            and (settings.policy.name != "exact" or rest < step)
            and rest <= 2 * step + settings.max_step_ns * state.num
            and math.gcd(state.origin_num, state.origin_den) == 1
            and math.gcd(state.next_num, state.next_den) <= 1
            and (state.next_num == 0) == (state.next_den == 0)
            and state.next_keep <= state.next_num
            and state.dropped_rest < step
        )
        if not sound:
            raise ValueError("state: expected one that state() returned, got numbers that do not go together")
        settings.check_room(Fraction(state.num, state.den), state.scale)
        if state.next_num:
            settings.check_room(Fraction(state.next_num, state.next_den), state.scale)
        return state


_COUNT = (0, ROOM + (1 << 60))
"""Of what may be set to 2**62 and goes on from there."""
_LEDGER = (0, LEDGER_FULL + (1 << 50))
"""A ledger stops behind the frame that fills it."""
_BOUNDS = {
    "version": (1, 1),
    "num": (1, LARGEST_PARTS),
    "den": (1, LARGEST_SECONDS),
    "tick": _COUNT,
    "acc": (-ROOM, ROOM),
    "backlog": (0, ROOM),
    "scale": (0, 1000 * SCALE_ONE),
    "scale_rest": (0, SCALE_ONE - 1),
    "paused": (0, 1),
    "varied_ns": (0, ROOM * NANO),
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
    "dropped_rest": (0, ROOM),
    "backwards": _LEDGER,
    "quiet_ns": (0, NANO),
}
"""The least and the most of each integer of a state, where the settings do not say."""


def rebuild(cls: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Make a clock anew, for pickle and copy."""
    return cls(**arguments)
