"""Policies and overload rules of the clock."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from ..clock import options
from ..clock.rates import NANO
from ..declaration import require_entries
from ..errors import OverloadError

if TYPE_CHECKING:
    from .clock import FixedClock

# --- policies: return (number of steps, their length, lost time) ---------------------------------

_Steps = tuple[int, Fraction, Fraction]


def _exact(clock: FixedClock, frame: Fraction, left: Fraction, due: Fraction) -> _Steps:
    """Return all steps that fit into the waiting time."""
    return max(due // clock._step, 0), clock._step, Fraction(0)


def _match(clock: FixedClock, frame: Fraction, left: Fraction, due: Fraction) -> _Steps:
    """Return the number of steps nearest to the frame, if the clock stays close to real time; else all that fit."""
    m = math.floor(frame / clock._step + Fraction(1, 2))
    if m >= 1 and clock._matches(frame - m * clock._step, due - m * clock._step):
        return m, clock._step, Fraction(0)
    return _exact(clock, frame, left, due)


def _variable(clock: FixedClock, frame: Fraction, left: Fraction, due: Fraction) -> _Steps:
    """Return one step as long as the waiting time, up to the longest allowed step; in whole nanoseconds."""
    longest = Fraction(clock._settings.max_step_ns, NANO)
    lost = max(left - longest, Fraction(0))
    h = Fraction((left - lost) * NANO // 1, NANO)
    return int(h > 0), h, lost


# "locked" ignores real time: each frame adds a fixed number of steps to `left`, and all of them run.
POLICIES = {"exact": _exact, "match": _match, "locked": _exact, "variable": _variable}
require_entries(__name__, POLICIES, options.POLICIES)


# --- overload rules: return (number of steps, steps kept for later frames, lost time) ------------

_Fewer = tuple[int, int, Fraction]


def _drop(clock: FixedClock, n: int, h: Fraction, left: Fraction) -> _Fewer:
    """Keep as many steps for later frames as the rule allows; drop the others."""
    most = clock._settings.max_steps
    kept = min(n - most, clock._settings.overload.kept_steps)
    return most, kept, (n - most - kept) * h


def _resync(clock: FixedClock, n: int, h: Fraction, left: Fraction) -> _Fewer:
    """Run no step; drop all waiting time."""
    return 0, 0, left


def _raise(clock: FixedClock, n: int, h: Fraction, left: Fraction) -> _Fewer:
    """Raise OverloadError."""
    raise OverloadError(n)


OVERLOADS = {"drop": _drop, "backlog": _drop, "resync": _resync, "raise": _raise, "budget": _drop}
require_entries(__name__, OVERLOADS, options.OVERLOADS)
