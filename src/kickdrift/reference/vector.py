"""Vectors, so that formulas read as they do in books."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

#: numpy.float64 or numpy.float32, as the state is. Python's own floats will not divide by zero; kernels, and these, do.
Number = Any


class Vector(tuple[Any, ...]):
    """A tuple with componentwise + and -, and * and / by a number.

    Two and three components, as most vectors have, are written out: that takes half as long.
    """

    __slots__ = ()
    __array_ufunc__ = None  # a float32 times a vector is one, and no array

    def __add__(self, other: Vector) -> Vector:  # type: ignore[override]
        if len(self) == 2:
            return Vector((self[0] + other[0], self[1] + other[1]))
        if len(self) == 3:
            return Vector((self[0] + other[0], self[1] + other[1], self[2] + other[2]))
        return Vector([a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: Vector) -> Vector:
        if len(self) == 2:
            return Vector((self[0] - other[0], self[1] - other[1]))
        if len(self) == 3:
            return Vector((self[0] - other[0], self[1] - other[1], self[2] - other[2]))
        return Vector([a - b for a, b in zip(self, other, strict=True)])

    def __rmul__(self, factor: Number) -> Vector:
        if len(self) == 2:
            return Vector((factor * self[0], factor * self[1]))
        if len(self) == 3:
            return Vector((factor * self[0], factor * self[1], factor * self[2]))
        return Vector([factor * a for a in self])

    def __truediv__(self, divisor: Number) -> Vector:
        if len(self) == 2:
            return Vector((self[0] / divisor, self[1] / divisor))
        return Vector([a / divisor for a in self])

    def rows(self, dim: int) -> list[Vector]:
        """The vectors of dim components that lie in this one, one after the other."""
        return [Vector(self[i : i + dim]) for i in range(0, len(self), dim)]


def dot(u: Vector, v: Vector) -> Number:
    """The scalar product, summed from the first component on."""
    if len(u) == 2:
        return u[0] * v[0] + u[1] * v[1]
    if len(u) == 3:
        return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
    total = u[0] * v[0]
    for a, b in zip(u[1:], v[1:], strict=True):
        total = total + a * b
    return total


def largest(u: Sequence[Number]) -> Number:
    """The largest component by magnitude."""
    result = abs(u[0])
    for a in u[1:]:
        result = abs(a) if abs(a) > result else result
    return result


def sqrt(q: Number) -> Number:
    """The square root in the number's own type (rounding it from float64 to float32 is exact)."""
    return type(q)(math.nan if q < 0 else math.sqrt(q))
