"""Conversion of time steps to exact fractions, for all clocks and steppers."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from numbers import Rational, Real
from typing import Any

import numpy as np

from .validation import as_float, real, show

#: Limits of num and den of a clock's step, num / den seconds. With the default settings, num * 10**9 and
#: den * substeps stay far enough below 2**63 to be counted in 64 bits.
LARGEST_SECONDS = 2**27
LARGEST_PARTS = 2**33
#: Maximal characters of a number as a string; maximal bits of numerator and denominator, more than the range of
#: floats needs, 2**-1074 to 2**1024.
_LONGEST_TEXT = 64
_LARGEST_BITS = 1100


def time_step(dt: Any, hz: Any, dtype: np.dtype | None = None) -> Fraction:
    """Return the step in seconds from `dt` or `hz`: `_time_step`, cached for plain numbers and strings."""
    if all(value is None or type(value) in (float, int, str, Fraction) for value in (dt, hz)):
        return _remembered_step(dt, hz, dtype)
    return _time_step(dt, hz, dtype)


def signed_step(dt: Any, hz: Any, dtype: np.dtype | None = None) -> Fraction:
    """Return the step in seconds, negative for a negative `dt`: steppers can run backwards, clocks cannot."""
    if hz is None:
        if isinstance(dt, str) and dt.strip().startswith("-"):
            return -time_step(dt.strip()[1:], None, dtype)
        if isinstance(dt, Real) and not isinstance(dt, bool) and dt < 0:
            return -time_step(-dt, None, dtype)
    return time_step(dt, hz, dtype)


def _time_step(dt: Any, hz: Any, dtype: np.dtype | None = None) -> Fraction:
    """Return the step in seconds from `dt` or `hz` as an exact fraction.

    Strings, ints and fractions are exact. A float stands for the simplest fraction that rounds to it (1/60 is a
    sixtieth, not the binary number closest to one), which makes time = tick * dt exact. Simple means that it is
    unlikely by chance: num * den up to 2**48. Up to 10**6 a relative error of 1e-9 is accepted, for numbers typed in
    decimals. A float32 may also stand for a fraction up to 10**4 that rounds to it. Other floats are exact. Fractions
    too large for a clock are rounded to the nearest one that it can count, if that is within 1e-9; otherwise the step
    stays exact, and has no clock.

    >>> time_step(1 / 60, None), time_step("1001/60000", None), time_step(None, 0.0166666666667)
    (Fraction(1, 60), Fraction(1001, 60000), Fraction(60, 1))
    >>> time_step(0.0123457, None)
    Fraction(123457, 10000000)
    """
    if dt is not None and hz is not None:
        raise TypeError(f"dt, hz: expected one of the two, got dt={_short(dt)} and hz={_short(hz)}")
    if dt is None and hz is None:
        raise TypeError("dt, hz: expected one of the two, got neither")
    name, value = ("dt", dt) if hz is None else ("hz", hz)
    exact = _fraction(name, value)
    step = _countable(exact if hz is None else 1 / exact)
    if dtype is not None:
        # Steps are computed in the dtype of the state: its range limits dt.
        limits = np.finfo(dtype)
        if not float(limits.tiny) <= as_float(step) <= float(limits.max):
            raise ValueError(f"{name}: expected a step within the range of {dtype}, got {show(value)}")
    return step


_remembered_step = lru_cache(64, typed=True)(_time_step)


def what_clocks_count() -> str:
    """Describe the countable steps, for error messages."""
    return (
        f"a step that a clock can count, from 0.12 ns to 4 years: a fraction of a second with a numerator of at most"
        f" {LARGEST_SECONDS:,} and a denominator of at most {LARGEST_PARTS:,}"
    )


def countable(step: Fraction) -> bool:
    """Return whether a clock can count this step."""
    return 0 < step.numerator <= LARGEST_SECONDS and step.denominator <= LARGEST_PARTS


def _countable(step: Fraction) -> Fraction:
    """Return the nearest countable step if it is within 1e-9, else the step itself."""
    if countable(step):
        return step
    most = min(LARGEST_PARTS, LARGEST_SECONDS * step.denominator // step.numerator)
    if most < 1:
        return step
    near = step.limit_denominator(most)
    return near if near > 0 and countable(near) and abs(near - step) * 10**9 <= step else step


def _fraction(name: str, value: Any) -> Fraction:
    """Return the positive fraction for a number or string."""
    if isinstance(value, str):
        exact = _read(name, value)
    elif isinstance(value, Rational) and not isinstance(value, int | np.integer):
        exact = Fraction(int(value.numerator), int(value.denominator))
        if max(abs(exact.numerator), exact.denominator).bit_length() > 2 * _LARGEST_BITS:
            raise ValueError(
                f"{name}: expected a positive number within the range of a float, got a Fraction of parts with more"
                f" than {2 * _LARGEST_BITS} bits"
            )
    elif isinstance(value, int) and value.bit_length() > 2 * _LARGEST_BITS:
        raise ValueError(
            f"{name}: expected a number within the range of a float, got an int of {value.bit_length()} bits"
        )
    else:
        number = real(name, value, above=0)
        whole = isinstance(value, int | np.integer)
        exact = Fraction(int(value)) if whole else _meant(number, isinstance(value, np.float32))
    if exact <= 0:
        raise ValueError(f"{name}: expected a positive number, got {show(value)}")
    if not (0 < as_float(exact) < math.inf and 0 < as_float(1 / exact) < math.inf):
        raise ValueError(f"{name}: expected a positive number within the range of a float, got {show(value)}")
    return exact


def _read(name: str, text: str) -> Fraction:
    """Parse a number. Check its size first, because a short power of ten can be expensive to expand."""
    exponent = re.search(r"[eE]([+-]?[\d_]+)", text) if len(text) <= _LONGEST_TEXT else None
    try:
        if len(text) <= _LONGEST_TEXT and (exponent is None or abs(int(exponent[1])) <= _LARGEST_BITS):
            return Fraction(text)
    except (ValueError, ZeroDivisionError):
        pass
    raise ValueError(f'{name}: expected a number or string such as "60000/1001", got {_short(text)}')


def _meant(number: float, single: bool = False) -> Fraction:
    """Return the simple fraction that rounds to a positive float or is within 1e-9, else the float itself.

    single: whether it was given as float32, so that also a fraction of num * den up to 10**4 stands for it that rounds
    to this float32.
    """
    top, bottom = number.as_integer_ratio()
    if single:
        near = _simplest(top * (2**24 - 1), bottom * 2**24, top * (2**24 + 1), bottom * 2**24)
        if near.numerator * near.denominator <= 10**4 and np.float32(float(near)) == number:
            return near
    near = _simplest(top * (10**9 - 1), bottom * 10**9, top * (10**9 + 1), bottom * 10**9)
    if near.numerator * near.denominator <= 10**6:
        return near
    above = math.nextafter(number, math.inf)
    if above < math.inf:
        # The interval that rounds to this float ends half-way to its neighbours.
        a, b = math.nextafter(number, 0.0).as_integer_ratio()
        c, d = above.as_integer_ratio()
        simple = _simplest(top * b + a * bottom, 2 * bottom * b, top * d + c * bottom, 2 * bottom * d)
        if simple.numerator * simple.denominator <= 2**48 and float(simple) == number:  # ties may round away
            return simple
    return Fraction(top, bottom)


def _simplest(low: int, under: int, high: int, below: int) -> Fraction:
    """Return the simplest fraction from low / under to high / below, all positive, by continued fractions."""
    before, last = (0, 1), (1, 0)
    while True:
        part = -(-low // under)
        found = part * below <= high
        part -= not found
        before, last = last, (before[0] + part * last[0], before[1] + part * last[1])
        if found:
            return Fraction(*last)
        # The fractional part is below 1: continue with its reciprocal.
        low, under, high, below = below, high - part * below, under, low - part * under


def exact_time(time: Fraction) -> Fraction:
    """Return a time whose numerator and denominator stay bounded over many changes of dt.

    Beyond denominators of 2**1100 it is rounded to a multiple of 2**-1100 s, which is finer than any float.
    """
    if time.denominator.bit_length() <= _LARGEST_BITS + 1:
        return time
    return Fraction(round(time * 2**_LARGEST_BITS), 2**_LARGEST_BITS)


def _short(value: Any) -> str:
    """Return the truncated repr of a value; an int with too many digits is described by its size."""
    if isinstance(value, str) and len(value) > 60:
        return f"{value[:57]!r}... ({len(value)} characters)"
    try:
        text = repr(value)
    except ValueError:
        return f"{type(value).__name__} of too many digits"
    return text if len(text) <= 60 else text[:57] + "..."
