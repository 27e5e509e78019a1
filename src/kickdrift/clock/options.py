"""The options of a clock: policies, overload rules, and the check of all arguments together.

The compiled clock and the reference differ in arithmetic only. They share this module, `rates.py` and
`saved_state.py`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, TypeVar

from ..declaration import Frozen, frozen
from ..validation import flag, integer, meant, real, show
from .rates import HALF_RANGE, LONGEST_FRAME_NS, MOST_SUBSTEPS, NANO, SCALE_ONE, nanoseconds, parse_rate


class Amount(NamedTuple):
    """The unit of an option's parameter."""

    check: Callable[[str, Any], int]
    """Check a value in steps or seconds; return it in steps or nanoseconds."""
    number: Callable[[str], int | float]
    """Parse a string as steps or seconds."""
    shown: Callable[[int], int | float]
    """Convert a checked value to the user's unit: steps stay, nanoseconds become seconds."""


def _steps(name: str, value: Any) -> int:
    return integer(name, value, 1, HALF_RANGE)


STEPS = Amount(_steps, int, int)
SECONDS = Amount(nanoseconds, float, lambda ns: ns / NANO)


def _takes(amount: Amount, default: float) -> Any:
    return dataclasses.field(default=default, metadata={"amount": amount})


class Option(Frozen):
    """Base of clock policies and overload rules, with at most one parameter, which has a default.

    A parameter of the wrong type raises TypeError, a wrong value ValueError; both name it. Durations are rounded to
    nanoseconds.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            amount = field.metadata["amount"]
            checked = amount.check(f"{type(self).__name__}({field.name})", getattr(self, field.name))
            object.__setattr__(self, field.name, amount.shown(checked))

    @classmethod
    def parameter(cls) -> dataclasses.Field[Any] | None:
        """The option's parameter, or None."""
        return next(iter(dataclasses.fields(cls)), None)

    @property
    def value(self) -> int:
        """The parameter in steps or nanoseconds; 0 for an option without one."""
        field = self.parameter()
        return 0 if field is None else field.metadata["amount"].check(field.name, getattr(self, field.name))

    @property
    def text(self) -> str:
        """The option as a string that parses to an equal option: "locked(2)"."""
        field = self.parameter()
        return self.name if field is None else f"{self.name}({getattr(self, field.name)})"


class Policy(Option):
    """Base of clock policies: rules for number and length of the steps in a frame.

    The waiting time after a frame is at most a frame, `kept_steps` and an incomplete step; Settings.check_range
    relies on it. A policy may lose time only in frames of at most `max_steps` steps: in others the
    overload rule decides what is lost.
    """

    #: True if each frame runs `value` steps, for any frame time. Then `value` is at most `max_steps`.
    ignores_time: ClassVar[bool] = False
    measures_step: ClassVar[bool] = False  #: True if a step is as long as the frame, up to `value` ns, instead of dt
    runs_early: ClassVar[bool] = False  #: True if a step may run before it is due: waiting time is then negative

    @property
    def waits(self) -> bool:
        """True if fed time waits until it fills a step of dt: `alpha` is then the filled fraction."""
        return not (self.ignores_time or self.measures_step)


class OverloadRule(Option):
    """Base of rules for frames with more than `max_steps` due steps."""

    @property
    def kept_steps(self) -> int:
        """Number of whole steps beyond `max_steps` that are kept for later frames."""
        return 0


class ExactSteps(Policy):
    """As many steps as fit; the rest waits for the next frame. For servers, replays and lockstep.

    >>> import kickdrift as kd
    >>> clock = kd.FixedClock(60, policy=kd.ExactSteps())
    >>> [clock.advance_ms(25) for _ in range(4)], clock.policy
    ([1, 2, 1, 2], 'exact')
    """

    name = "exact"


class Match(Policy):
    """Run the nearest whole number of steps, if the frame is close to it; otherwise as many as fit. For displays.

    The clock's `tolerance` limits the distance to a whole number, and `slack` that of the clock from the true time.

    >>> import kickdrift as kd
    >>> clock = kd.FixedClock(60, policy=kd.Match())
    >>> [clock.advance_ms(ms) for ms in (16, 17, 17, 16)]
    [1, 1, 1, 1]
    """

    name = "match"
    runs_early = True


@frozen()
class Locked(Policy):
    """Run a fixed number of steps in every frame, for any frame time. For tests and videos.

    steps: how many, at least 1. A clock raises ValueError if it is more than its `max_steps`.

    >>> import kickdrift as kd
    >>> clock = kd.FixedClock(60, policy=kd.Locked(2))
    >>> [clock.advance(seconds) for seconds in (0.0, 0.02, 5.0)]
    [2, 2, 2]
    """

    steps: int = _takes(STEPS, 1)
    name = "locked"
    ignores_time = True


@frozen()
class Variable(Policy):
    """Run one step as long as the frame: results differ from run to run.

    max_dt: the longest step in s, from 1e-9 to 1e6, else ValueError. The rest of a longer frame is dropped.

    >>> import kickdrift as kd
    >>> clock = kd.FixedClock(policy=kd.Variable(max_dt=0.1))
    >>> [(clock.advance(seconds), clock.step_dt) for seconds in (0.02, 0.5)]
    [(1, 0.02), (1, 0.1)]
    """

    max_dt: float = _takes(SECONDS, 0.1)
    name = "variable"
    measures_step = True


class Drop(OverloadRule):
    """Run `max_steps` steps and drop the others; the fraction of a step stays, so the picture does not jump.

    >>> import kickdrift as kd
    >>> clock = kd.FixedClock(60, overload=kd.Drop())
    >>> clock.advance(0.25), clock.dropped_steps
    (8, 7)
    """

    name = "drop"


@frozen()
class Backlog(OverloadRule):
    """Run `max_steps` steps, and keep others for later frames; steps beyond the limit are dropped.

    limit: maximal number of kept steps, at least 1, else ValueError.

    >>> import kickdrift as kd
    >>> clock = kd.FixedClock(60, overload=kd.Backlog(5))
    >>> clock.advance(0.25), clock.backlog, clock.dropped_steps
    (8, 5, 2)
    """

    limit: int = _takes(STEPS, 60)
    name = "backlog"

    @property
    def kept_steps(self) -> int:
        """The limit."""
        return self.limit


class Resync(OverloadRule):
    """Run no step, and drop all waiting time.

    >>> import kickdrift as kd
    >>> clock = kd.FixedClock(60, overload=kd.Resync())
    >>> clock.advance(0.25), clock.dropped
    (0, Fraction(15, 1))
    """

    name = "resync"


class Raise(OverloadRule):
    """Raise `OverloadError` and refuse the frame: the clock does not change.

    >>> import kickdrift as kd
    >>> clock = kd.FixedClock(60, overload=kd.Raise())
    >>> clock.advance(0.25)
    Traceback (most recent call last):
    kickdrift.errors.OverloadError: 15 steps are due, more than max_steps
    """

    name = "raise"


@frozen()
class Budget(OverloadRule):
    """Act as `Drop`; if the steps of a frame take too long, also drop the remaining ones.

    seconds: wall time in s, from 1e-9 to 1e6, else ValueError. `steps()`, `step()` and steppers check the time.
    `advance()` of a clock does not, because it runs no steps itself.

    >>> import kickdrift as kd
    >>> clock = kd.FixedClock(60, overload=kd.Budget(0.004))
    >>> clock.advance(0.25), clock.dropped_steps
    (8, 7)
    """

    seconds: float = _takes(SECONDS, 0.004)
    name = "budget"


POLICIES: dict[str, type[Policy]] = {cls.name: cls for cls in (ExactSteps, Match, Locked, Variable)}
OVERLOADS: dict[str, type[OverloadRule]] = {cls.name: cls for cls in (Drop, Backlog, Resync, Raise, Budget)}


_Kind = TypeVar("_Kind", bound=Option)


def parse_option(argument: str, known: Mapping[str, type[_Kind]], given: Any) -> _Kind:
    """Parse an instance, a class, "name", "name(value)" or (name, value).

    >>> {parse_option("policy", POLICIES, given) for given in ("locked", ("locked", 1), " locked( 1 )", Locked)}
    {Locked(steps=1)}
    """
    name: Any
    value: Any = None
    if isinstance(given, str):
        name = given.strip()
        if name.endswith(")"):
            name, _, value = name[:-1].partition("(")
            name, value = name.rstrip(), value.strip()
    elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        name, value = given
    else:
        name = next((name for name, cls in known.items() if given is cls or isinstance(given, cls)), None)
        if name is None:
            instances = ", ".join(repr(cls()) for cls in known.values())
            raise TypeError(
                f"{argument}: expected a string or a pair (name, value) or one of {instances}, got {show(given)}"
            )
        field = known[name].parameter()
        # Check the instance's value again: users can bypass the protection of frozen attributes.
        value = None if field is None or given is known[name] else getattr(given, field.name)
    field = known[name].parameter() if name in known else None
    if name not in known or (field is None and value is not None):
        names = ", ".join(cls().text for cls in known.values())
        hint = meant(name, known) if name not in known else ""
        raise ValueError(f"{argument}: expected one of {names}, got {show(given)}{hint}")
    if field is None or value is None:
        return known[name]()
    amount: Amount = field.metadata["amount"]
    if isinstance(value, str):
        try:
            value = amount.number(value)
        except ValueError:
            raise ValueError(f"{argument} {name}(...): expected a number, got {show(given)}") from None
    checked = amount.check(f"{argument} {name}(...)", value)
    return known[name](**{field.name: amount.shown(checked)})


# --- all arguments ----------------------------------------------------------------------------


class Settings(NamedTuple):
    """The checked arguments of a clock."""

    rate: Fraction
    policy: Policy
    overload: OverloadRule
    max_steps: int
    max_frame_ns: int | None
    """Maximal length of a frame in ns; None: the default of `longest_frame`."""
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
        max_frame: Any = None,
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
            policy=parse_option("policy", POLICIES, policy),
            overload=parse_option("overload", OVERLOADS, overload),
            max_steps=integer("max_steps", max_steps, 1),
            max_frame_ns=None if max_frame is None else nanoseconds("max_frame", max_frame),
            scale=parse_scale(scale),
            substeps=integer("substeps", substeps, 1, MOST_SUBSTEPS),
            carry=flag("carry", carry),
            slack=Fraction(real("slack", slack, 0.0, 0.5)),
            tolerance=Fraction(real("tolerance", tolerance, 0.0, 0.5)),
            phase=Fraction(real("phase", phase, 0.0, 1.0)),
        )
        if settings.phase == 1:
            raise ValueError(f"phase: expected a number below 1, got {phase!r}")
        if settings.phase and settings.policy.measures_step:
            raise ValueError(f"phase: expected 0 under policy {settings.policy.text}, got {phase!r}")
        if settings.policy.ignores_time and settings.policy.value > settings.max_steps:
            raise ValueError(
                f"max_steps: expected at least as many as policy {settings.policy.text} runs, got {settings.max_steps}"
            )
        settings.check_range(settings.rate, settings.scale)
        return settings

    def check_range(self, rate: Fraction, scale: int) -> None:
        """Reject settings under which the accumulator of the compiled clock could overflow.

        It contains at most a frame, `kept_steps` and an incomplete step, as policies guarantee.
        """
        longest = self.longest_frame(rate, scale)
        longest_ns = (longest * scale >> 20) + 1 + self.max_step_ns
        if longest_ns * rate.numerator + (self.kept_steps + 2) * rate.denominator * NANO >= HALF_RANGE:
            raise ValueError(
                "hz, scale, max_frame, max_steps, policy and overload: expected values that together fit into"
                f" 64 bits, got hz={rate}, scale={scale / SCALE_ONE:g}, max_frame={longest / NANO:g},"
                f" max_steps={self.max_steps}, policy={self.policy.text!r}, overload={self.overload.text!r}"
            )

    @property
    def kept_steps(self) -> int:
        """Maximal number of whole steps kept from frame to frame."""
        return self.max_steps + self.overload.kept_steps

    @property
    def max_step_ns(self) -> int:
        """Maximal length of a measured step in ns; 0 for fixed steps."""
        return self.policy.value if self.policy.measures_step else 0

    def longest_frame(self, rate: Fraction, scale: int) -> int:
        """Return the maximal length of a frame in ns; longer ones are clamped. Default: 0.25 s or two steps."""
        if self.max_frame_ns is not None:
            return self.max_frame_ns
        two_steps = math.ceil(2 * NANO * SCALE_ONE / (rate * scale)) if scale else 0
        return min(max(NANO // 4, two_steps), LONGEST_FRAME_NS)

    def terms(self, rate: Fraction, scale: int) -> dict[str, int]:
        """Return the numbers that depend on the rate; tolerance, low and high are used by the `match` policy."""
        size = rate.denominator * NANO
        return {
            "max_frame_ns": self.longest_frame(rate, scale),
            "num": rate.numerator,
            "den": rate.denominator,
            "size": size,
            "tolerance": math.floor(self.tolerance * size),
            "low": math.ceil(-self.slack * size),
            "high": math.ceil((1 + self.slack) * size),
        }

    def numbers(self, rate: Fraction) -> dict[str, int]:
        """Return the initial numbers of a clock that are not in `terms`. Those left out start at 0."""
        return {
            "policy_value": self.policy.value,
            "ignores_time": self.policy.ignores_time,
            "measures_step": self.policy.measures_step,
            "runs_early": self.policy.runs_early,
            "waits": self.policy.waits,
            "rule_value": self.overload.value,
            "max_steps": self.max_steps,
            "substeps": self.substeps,
            "carry": self.carry,
            "scale": self.scale,
            "acc": math.floor(self.phase * rate.denominator * NANO),
            "step_ns": -1,
            "quiet_ns": NANO,
        }

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments that make an equal clock."""
        return {
            "hz": self.rate,
            "policy": self.policy.text,
            "max_steps": self.max_steps,
            "overload": self.overload.text,
            "max_frame": None if self.max_frame_ns is None else self.max_frame_ns / NANO,
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
    """Check a new rate; it has no default."""
    if hz is None:
        raise TypeError("hz: expected a number or string, got None")
    return parse_rate(hz)


def parse_keep(keep: Any) -> bool:
    """Check what a change of rate keeps; return whether it is the fraction of a step."""
    if not isinstance(keep, str) or keep not in ("time", "fraction"):
        raise ValueError(f'keep: expected "time" or "fraction", got {keep!r}')
    return keep == "fraction"


def parse_tick(t: Any) -> int:
    """Check a new tick: ticks below 2**62 leave room in int64 to count for a hundred years."""
    return integer("t", t, 0, (1 << 62) - 1)
