"""Double-double arrays with error bounds.

They replace `decimal` where many numbers must be correctly rounded. A number is an unevaluated sum of two floats within
`error` of the true value: Dekker 1971, Numerische Mathematik 18, 224; bounds in Joldes, Muller, Popescu 2017, ACM
Trans. Math. Softw. 44, 15res. Where the bound does not determine the rounding, or after overflow or underflow,
`rounded` returns False, and `decimal` is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

# Generous error bounds. Proven are 5 * 2**-106 for a product, 3 * 2**-106 for a sum, and less than 2**-1060 if parts of
# a product underflow.
_SHARE, _VANISHED = 2.0**-100, 2.0**-1000


@dataclass(frozen=True)
class Doubled:
    """Numbers high + low, with high the nearest float64, within `error` of the true value."""

    high: np.ndarray
    low: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, floats: Any) -> Doubled:
        """Convert floats, without error."""
        array = np.asarray(floats, dtype=np.float64)
        return cls(array, np.zeros_like(array), np.zeros_like(array))

    @classmethod
    def near(cls, number: Fraction) -> Doubled:
        """Convert an exact number to the nearest double-double."""
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
        """Return the number times a power of two, of either sign."""
        return Doubled(self.high * power_of_two, self.low * power_of_two, self.error * abs(power_of_two))

    def widened(self, error: float) -> Doubled:
        """Return the number with its error bound increased."""
        return Doubled(self.high, self.low, self.error + error)

    def where(self, chosen: np.ndarray, other: Doubled) -> Doubled:
        """Select these numbers where `chosen`, and those of `other` elsewhere."""
        pairs = zip((self.high, self.low, self.error), (other.high, other.low, other.error), strict=True)
        return Doubled(*(np.where(chosen, ours, others) for ours, others in pairs))

    def rounded(self) -> tuple[np.ndarray, np.ndarray]:
        """Return float64 numbers, and a mask of those that are certainly the nearest."""
        error = 2 * self.error  # the bounds themselves have rounding errors
        known = (self.high + (self.low - error) == self.high) & (self.high + (self.low + error) == self.high)
        return self.high, known & np.isfinite(error)


def _sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded sum and its rounding error."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def _settled(large: np.ndarray, small: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded sum and its rounding error, for |large| >= |small|."""
    total = large + small
    return total, small - (total - large)


def _product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded product and its rounding error, from halves whose products are exact (Dekker)."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    product = a * b
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shifted = (2.0**27 + 1) * a
    upper = shifted - (shifted - a)
    return upper, a - upper
