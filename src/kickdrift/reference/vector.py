"""Vectors, for equations in textbook form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

#: numpy.float64 or numpy.float32, the dtype of the state. Division by zero gives inf or NaN, as in kernels.
Number = Any


class Vector(tuple[Any, ...]):
    """A tuple with componentwise + and -, and * and / by a number.

    In a batch of bodies each component is a column: an array with one number per body.

    Operations on one to three components are written out, which takes half as long.
    """

    __slots__ = ()
    __array_ufunc__ = None  # float32 * Vector must give a Vector, not an array

    def __add__(self, other: Vector) -> Vector:  # type: ignore[override]
        n = len(self)
        if n == 2:
            return Vector((self[0] + other[0], self[1] + other[1]))
        if n == 3:
            return Vector((self[0] + other[0], self[1] + other[1], self[2] + other[2]))
        if n == 1:
            return Vector((self[0] + other[0],))
        return Vector([a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: Vector) -> Vector:
        n = len(self)
        if n == 2:
            return Vector((self[0] - other[0], self[1] - other[1]))
        if n == 3:
            return Vector((self[0] - other[0], self[1] - other[1], self[2] - other[2]))
        if n == 1:
            return Vector((self[0] - other[0],))
        return Vector([a - b for a, b in zip(self, other, strict=True)])

    def __rmul__(self, factor: Number) -> Vector:
        n = len(self)
        if n == 2:
            return Vector((factor * self[0], factor * self[1]))
        if n == 3:
            return Vector((factor * self[0], factor * self[1], factor * self[2]))
        if n == 1:
            return Vector((factor * self[0],))
        return Vector([factor * a for a in self])

    def __truediv__(self, divisor: Number) -> Vector:
        return Vector([a / divisor for a in self])

    def rows(self, dim: int) -> list[Vector]:
        """Split a long vector into consecutive vectors of dim components."""
        return [Vector(self[i : i + dim]) for i in range(0, len(self), dim)]


def dot(u: Vector, v: Vector) -> Number:
    """Return the scalar product, summed from the first component to the last."""
    n = len(u)
    if n == 2:
        return u[0] * v[0] + u[1] * v[1]
    if n == 3:
        return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
    total = u[0] * v[0]
    for i in range(1, n):
        total = total + u[i] * v[i]
    return total


def split(columns: Vector) -> list[Vector]:
    """Split the columns of all bodies into one vector per body."""
    return list(map(Vector, zip(*columns, strict=True)))


def stacked(vectors: Iterable[Vector], real: type | None = None) -> Vector:
    """Combine the vectors of single bodies into columns, of the given scalar type."""
    return Vector([np.array(column, real) for column in zip(*vectors, strict=True)])


def either(condition: Any, yes: Vector, no: Vector) -> Vector:
    """Select vectors per body, by a mask, from two vectors of columns."""
    return Vector([np.where(condition, a, b) for a, b in zip(yes, no, strict=True)])


def flat(columns: Vector) -> list[Number]:
    """Return all numbers of the columns, body after body."""
    return [number for row in split(columns) for number in row]


def quotient(a: Number, b: Number) -> Number:
    """Return a / b where b > 0, and 0 elsewhere, also where b is NaN; for numbers or columns."""
    if isinstance(b, np.ndarray):
        return np.where(b > 0, a / b, b.dtype.type(0))
    return a / b if b > 0 else type(b)(0)


def later(i: int, chosen: Any) -> list[int]:
    """Return the indices greater than i in a mask, in order."""
    return [i + 1 + j for j in np.flatnonzero(chosen[i + 1 :]).tolist()]


def largest(u: Sequence[Number]) -> Number:
    """Return the largest component by magnitude, NaN if any is NaN; of columns, the largest of all bodies."""
    if isinstance(u[0], np.ndarray):
        u = flat(u)  # type: ignore[arg-type]
    result = abs(u[0])
    for a in u[1:]:
        result = abs(a) if abs(a) > result or a != a else result
    return result


def sqrt(q: Number) -> Number:
    """Return the square root of a number, in its own type, or of a column.

    For float32, rounding the float64 root gives the correctly rounded root.
    """
    if isinstance(q, np.ndarray):
        return np.sqrt(q)
    return type(q)(math.nan if q < 0 else math.sqrt(q))
