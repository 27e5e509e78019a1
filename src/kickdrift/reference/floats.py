"""Bits of floats, polynomials, and sums of two floats: building blocks of `functions.py`."""

from __future__ import annotations

import math
import struct

INF, NAN = math.inf, math.nan
ROUND = 6755399441055744.0  # 1.5 * 2**52: x + ROUND has the integer nearest to x in its last bits


def bits(x: float) -> int:
    """Return the bits of a float as an integer."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def number(i: int) -> float:
    """Return the float with the low 64 bits of an integer."""
    return float(struct.unpack("<d", struct.pack("<Q", i & (2**64 - 1)))[0])


def signed(x: float, like: float) -> float:
    """Return x >= 0 with the sign of `like`."""
    return number(bits(x) | bits(like) & 2**63)


def flipped(x: float, sign: int) -> float:
    """Return x, or -x if sign is 1."""
    return number(bits(x) ^ sign << 63)


def leading(x: float) -> float:
    """Return the first 26 bits of x. Products of two such numbers, or of one and a remainder, are exact."""
    return number(bits(x) & ~(2**27 - 1))


def divided(a: float, b: float) -> float:
    """Return a / b, with C's results for b = 0."""
    if b != 0:
        return a / b
    return NAN if a == 0 or a != a else signed(INF, flipped(a, bits(b) >> 63))


def power_of_two(k: float) -> float:
    """Return 2**k for an integer -1022 <= k <= 1023."""
    return number((bits(k + ROUND) << 52) + bits(1.0))


def scaled(y: float, k: float) -> float:
    """Return y 2**k, in two steps: k may exceed the exponent range."""
    half = (k * 0.5 + ROUND) - ROUND
    return y * power_of_two(half) * power_of_two(k - half)


def polynomial(z: float, c: tuple[float, ...]) -> float:
    """Return c0 + c1 z + c2 z² ..., with Horner's rule for even and odd powers, which run in parallel."""
    square = z * z
    even, odd = horner(square, c[::2]), horner(square, c[1::2])
    return even + z * odd


def horner(z: float, c: tuple[float, ...]) -> float:
    total = c[-1]
    for coefficient in c[-2::-1]:
        total = total * z + coefficient
    return total


def product(a: float, b: float) -> tuple[float, float]:
    """Return a b as the rounded product and its error (Dekker 1971)."""
    p = a * b
    ah, bh = leading(a), leading(b)
    al, bl = a - ah, b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def quotient(nh: float, nl: float, dh: float, dl: float) -> float:
    """Return (nh + nl) / (dh + dl)."""
    inverse = 1 / dh
    t = nh * inverse
    p, e = product(t, dh)
    return t - ((((p - nh) + e) - nl) + t * dl) * inverse
