"""Merge the affine terms of a plan: a = g - c (v - w) - k (x - p), damping rates, the rotation of velocities (omega),
and the damping of angular velocities (spin).

Each symbol has a column, which is recomputed only if its contributions have changed. Sums are computed in float64, in
declared order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_
from typing import Any, NamedTuple

import numpy as np

#: Contribution of one force: (symbol, value of shape (1|n,) or (1|n, dim), for c and k the vector that it weights).
Share = tuple[str, np.ndarray, Any]
#: Symbol of each column -> symbol of the weighted mean of its vectors, or None.
_MEANS = {"g": None, "c": "w", "k": "p", "rate": None, "omega": None, "spin": None}


class Column(NamedTuple):
    """The sum of the contributions to a symbol, with one row or one per body."""

    shares: list[Share]
    total: np.ndarray  #: in float64
    rounded: tuple[np.ndarray, np.ndarray]  #: the sum and the weighted mean, rounded for kernels
    acts: tuple[bool, bool]  #: True if the sum is not zero; True if the mean is not zero


_NONE: list[Share] = []
_LEAST = np.nextafter(0.0, 1.0)  #: smallest positive float64
#: Column of worlds without damping of angular velocities.
_NO_SPIN = Column([], np.zeros(1), (np.zeros(1), np.zeros((1, 1))), (False, False))


def columns(
    shares: Iterable[Share],
    dim: int,
    known: dict[str, Column],
    rounded: Callable[[str, np.ndarray], np.ndarray],
) -> dict[str, Column]:
    """Return the columns by symbol. known: columns of the previous plan, reused if their contributions are the same."""
    mine: dict[str, list[Share]] = {}
    for share in shares:
        mine.setdefault(share[0], []).append(share)
    found = {}
    for symbol in _MEANS:
        added, before = mine.get(symbol, _NONE), known.get(symbol)
        if symbol == "spin" and not added:
            found[symbol] = _NO_SPIN
            continue
        same = before is not None and len(before.shares) == len(added) and all(map(is_, before.shares, added))
        found[symbol] = before if before is not None and same else _column(symbol, added, dim, rounded)
    return found


def _column(symbol: str, shares: list[Share], dim: int, rounded: Callable[[str, np.ndarray], np.ndarray]) -> Column:
    total = np.zeros((1, {"g": dim, "omega": 3}[symbol])) if symbol in ("g", "omega") else np.zeros(1)
    mean, name = np.zeros((1, dim)), _MEANS[symbol]
    for _, value, place in shares:
        if name is None:
            total = total + value
        else:
            total, mean = _weighted(total, mean, value, place)
    acts = bool(np.count_nonzero(total)), bool(np.count_nonzero(mean))  # many times as fast as `any`
    return Column(shares, total, (rounded(symbol, total), mean if name is None else rounded(name, mean)), acts)


def _weighted(
    total: np.ndarray, mean: np.ndarray, weight: np.ndarray, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add a weight and its value to a running total and weighted mean."""
    count = np.count_nonzero(weight)
    if not count:
        return total, mean
    if not np.count_nonzero(total):  # the mean of one value is this value, or 0 where its weight is 0
        return total + weight, (value if count == len(weight) else np.where(weight[:, None] > 0, value, 0.0)) + 0.0
    total = total + weight
    # This form of the mean is exact for a single value and for equal values. Where the total is 0, the weight is 0
    # too, and `_LEAST` avoids 0 / 0.
    share = weight / np.maximum(total, _LEAST)
    return total, mean + share[:, None] * (value - mean)
