"""The step of time that a number or text means, as an exact fraction: the rule for all clocks and steppers."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from numbers import Rational, Real
from typing import Any

import numpy as np

from .validation import as_float, real, show

#: A clock counts steps of num / den seconds, in 64 bits, with num and den up to these. They leave room for
#: the default settings, and num * 10**9 and den * (substeps) stay far enough below 2**63.
LARGEST_SECONDS = 2**27
LARGEST_PARTS = 2**33
#: How long the text of a number may be, and how large the terms of a fraction: finer than the smallest
#: float, 2**-1074, and larger than the largest.
_LONGEST_TEXT = 64
_LARGEST_BITS = 1100


def time_step(dt: Any, hz: Any, dtype: np.dtype | None = None) -> Fraction:
    """The step in seconds from `dt` or `hz`: `_time_step`, which remembers those of plain numbers and text."""
    if all(value is None or type(value) in (float, int, str, Fraction) for value in (dt, hz)):
        return _remembered_step(dt, hz, dtype)
    return _time_step(dt, hz, dtype)


def signed_step(dt: Any, hz: Any, dtype: np.dtype | None = None) -> Fraction:
    """The same, and a step back in time where `dt` is negative: clocks count forwards alone, steppers go both ways."""
    if hz is None:
        if isinstance(dt, str) and dt.strip().startswith("-"):
            return -time_step(dt.strip()[1:], None, dtype)
        if isinstance(dt, Real) and not isinstance(dt, bool) and dt < 0:
            return -time_step(-dt, None, dtype)
    return time_step(dt, hz, dtype)


def _time_step(dt: Any, hz: Any, dtype: np.dtype | None = None) -> Fraction:
    """The step in seconds from `dt` or `hz`, as the exact fraction that is meant; the rule for all clocks and steppers.

    Text, ints and fractions are what they say. A float stands for the simplest fraction that rounds to it
    (1/60 is a sixtieth, not the binary number closest to one), so that time = tick * dt is exact. Simple is what
    chance does not bring: num * den up to 2**48; up to 10**6 it may also be off by 1e-9 (relative), as typed
    numbers are. Other floats stand for themselves. What has terms too large for a clock to count is then the
    nearest fraction that it can count, if that is within 1e-9; otherwise it stays, and there is no clock for it.

    >>> time_step(1 / 60, None), time_step("1001/60000", None), time_step(None, 0.0166666666667)
    (Fraction(1, 60), Fraction(1001, 60000), Fraction(60, 1))
    >>> time_step(0.0123457, None)
    Fraction(123457, 10000000)
    """
    if dt is not None and hz is not None:
        raise TypeError(f"dt, hz: expected one of the two, got dt={_short(dt)} and hz={_short(hz)}")
    name, value = ("dt", dt) if hz is None else ("hz", hz)
    exact = _fraction(name, value)
    step = _countable(exact if hz is None else 1 / exact)
    if dtype is not None:
        # Steps are computed in the dtype of the state, which may have a smaller range.
        limits = np.finfo(dtype)
        if not float(limits.tiny) <= as_float(step) <= float(limits.max):
            raise ValueError(f"{name}: expected a step within the range of {dtype}, got {show(value)}")
    return step


_remembered_step = lru_cache(64, typed=True)(_time_step)


def what_clocks_count() -> str:
    """The steps that a clock can count, as messages say it."""
    return (
        f"a step that a clock can count, from 0.12 ns to 4 years: a fraction of a second with a numerator of at most"
        f" {LARGEST_SECONDS:,} and a denominator of at most {LARGEST_PARTS:,}"
    )


def countable(step: Fraction) -> bool:
    """Can a clock count steps of so many seconds?"""
    return 0 < step.numerator <= LARGEST_SECONDS and step.denominator <= LARGEST_PARTS


def _countable(step: Fraction) -> Fraction:
    """The step itself, or the nearest one that a clock can count, where there is one within 1e-9."""
    if countable(step):
        return step
    most = min(LARGEST_PARTS, LARGEST_SECONDS * step.denominator // step.numerator)
    if most < 1:
        return step
    near = step.limit_denominator(most)
    return near if near > 0 and countable(near) and abs(near - step) * 10**9 <= step else step


def _fraction(name: str, value: Any) -> Fraction:
    """The positive fraction that a number or text stands for."""
    if isinstance(value, str):
        exact = _read(name, value)
    elif isinstance(value, Rational) and not isinstance(value, int | np.integer):
        exact = Fraction(int(value.numerator), int(value.denominator))
        if max(abs(exact.numerator), exact.denominator).bit_length() > 2 * _LARGEST_BITS:
            raise ValueError(
                f"{name}: expected a positive number within the range of a float, got a Fraction of terms with more"
                f" than {2 * _LARGEST_BITS} bits"
            )
    elif isinstance(value, int) and value.bit_length() > 2 * _LARGEST_BITS:
        raise ValueError(
            f"{name}: expected a number within the range of a float, got an int of {value.bit_length()} bits"
        )
    else:
        number = real(name, value, above=0)
        exact = Fraction(int(value)) if isinstance(value, int | np.integer) else _meant(number)
    if exact <= 0:
        raise ValueError(f"{name}: expected a positive number, got {show(value)}")
    if not (0 < as_float(exact) < math.inf and 0 < as_float(1 / exact) < math.inf):
        raise ValueError(f"{name}: expected a positive number within the range of a float, got {show(value)}")
    return exact


def _read(name: str, text: str) -> Fraction:
    """The number that a text says. It is bounded first: a power of ten may take few digits and a lot of time."""
    exponent = re.search(r"[eE]([+-]?[\d_]+)", text) if len(text) <= _LONGEST_TEXT else None
    try:
        if len(text) <= _LONGEST_TEXT and (exponent is None or abs(int(exponent[1])) <= _LARGEST_BITS):
            return Fraction(text)
    except (ValueError, ZeroDivisionError):
        pass
    raise ValueError(f'{name}: expected a number or text such as "60000/1001", got {_short(text)}')


def _meant(number: float) -> Fraction:
    """The simple fraction that rounds to a positive float or is within 1e-9, or else the float itself."""
    top, bottom = number.as_integer_ratio()
    near = _simplest(top * (10**9 - 1), bottom * 10**9, top * (10**9 + 1), bottom * 10**9)
    if near.numerator * near.denominator <= 10**6:
        return near
    above = math.nextafter(number, math.inf)
    if above < math.inf:
        # From half-way to the float below up to half-way to the one above.
        a, b = math.nextafter(number, 0.0).as_integer_ratio()
        c, d = above.as_integer_ratio()
        simple = _simplest(top * b + a * bottom, 2 * bottom * b, top * d + c * bottom, 2 * bottom * d)
        if simple.numerator * simple.denominator <= 2**48 and float(simple) == number:  # half-way may round away
            return simple
    return Fraction(top, bottom)


def _simplest(low: int, under: int, high: int, below: int) -> Fraction:
    """The fraction of smallest terms from low / under to high / below, all positive, by continued fractions."""
    before, last = (0, 1), (1, 0)
    while True:
        part = -(-low // under)
        found = part * below <= high
        part -= not found
        before, last = last, (before[0] + part * last[0], before[1] + part * last[1])
        if found:
            return Fraction(*last)
        # The rest is between 0 and 1: go on with its reciprocal.
        low, under, high, below = below, high - part * below, under, low - part * under


def exact_time(time: Fraction) -> Fraction:
    """An exact time whose terms do not grow without bound over many changes of dt.

    Beyond denominators of 2**1100 it is rounded to a multiple of 2**-1100 s, which is finer than any float.
    """
    if time.denominator.bit_length() <= _LARGEST_BITS + 1:
        return time
    return Fraction(round(time * 2**_LARGEST_BITS), 2**_LARGEST_BITS)


def _short(value: Any) -> str:
    """The beginning of what repr says, without type; of an int with too many digits what can be said."""
    if isinstance(value, str) and len(value) > 60:
        return f"{value[:57]!r}... ({len(value)} characters)"
    try:
        text = repr(value)
    except ValueError:
        return f"{type(value).__name__} of too many digits"
    return text if len(text) <= 60 else text[:57] + "..."
