"""Arrays of numbers with twice the digits of a float64, each with a bound of its error.

For numbers that must be correctly rounded and are too many for `decimal`. A number is an unevaluated sum of two floats
that lies within `error` of the true one: Dekker 1971, Numerische Mathematik 18, 224; bounds in Joldes, Muller, Popescu
2017, ACM Trans. Math. Softw. 44, 15res. Where that does not settle how it is rounded, or where something has overflowed
or nearly vanished, `rounded` says so, and `decimal` decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

# Generous: what is proven is 5 * 2**-106 of a product, 3 * 2**-106 of a sum, and less than 2**-1060 where parts of a
# product vanish.
_SHARE, _VANISHED = 2.0**-100, 2.0**-1000


@dataclass(frozen=True)
class Doubled:
    """high + low, high being the nearest float64 to it, give or take `error`."""

    high: np.ndarray
    low: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, floats: Any) -> Doubled:
        """Floats, which are exact."""
        array = np.asarray(floats, dtype=np.float64)
        return cls(array, np.zeros_like(array), np.zeros_like(array))

    @classmethod
    def near(cls, number: Fraction) -> Doubled:
        """A number that is known exactly."""
        high = float(number)
        return cls(np.array(high), np.array(float(number - Fraction(high))), np.array(abs(high) * _SHARE))

    def __add__(self, other: Doubled) -> Doubled:
        high, low = _sum(self.high, other.high)
        rest, least = _sum(self.low, other.low)
        high, low = _settled(high, low + rest)
        high, low = _settled(high, low + least)
        return Doubled(high, low, self.error + other.error + np.abs(high) * _SHARE)

    def __sub__(self, other: Doubled) -> Doubled:
        return self + other.times(-1.0)

    def __mul__(self, other: Doubled) -> Doubled:
        high, low = _product(self.high, other.high)
        high, low = _settled(high, low + (self.high * other.low + self.low * other.high))
        error = np.abs(self.high) * other.error + np.abs(other.high) * self.error + self.error * other.error
        return Doubled(high, low, error + np.abs(high) * _SHARE + _VANISHED)

    def times(self, power_of_two: float) -> Doubled:
        """The number times a power of two, of either sign."""
        return Doubled(self.high * power_of_two, self.low * power_of_two, self.error * abs(power_of_two))

    def widened(self, error: float) -> Doubled:
        """The same number, known to so much less."""
        return Doubled(self.high, self.low, self.error + error)

    def where(self, chosen: np.ndarray, other: Doubled) -> Doubled:
        """These numbers where `chosen`, others elsewhere."""
        pairs = zip((self.high, self.low, self.error), (other.high, other.low, other.error), strict=True)
        return Doubled(*(np.where(chosen, ours, others) for ours, others in pairs))

    def rounded(self) -> tuple[np.ndarray, np.ndarray]:
        """The nearest float64s, and whether they are known to be that."""
        error = 2 * self.error  # the bounds have been rounded themselves
        known = (self.high + (self.low - error) == self.high) & (self.high + (self.low + error) == self.high)
        return self.high, known & np.isfinite(error)


def _sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum, and what rounding took."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def _settled(large: np.ndarray, small: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same where the first number is known to be the larger one."""
    total = large + small
    return total, small - (total - large)


def _product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded product, and what rounding took, from halves whose products are exact."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    product = a * b
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shifted = (2.0**27 + 1) * a
    upper = shifted - (shifted - a)
    return upper, a - upper
