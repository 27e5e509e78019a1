"""How the affine terms of a plan become one: a = g - c (v - w) - k (x - p); the rate of damping, and of turning.

All is computed in float64, in the order given. What is the same for all bodies takes plain floats, whose sums,
products and quotients are the same numbers as NumPy's: for a few of them that is many times as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

#: The contribution of one term: to g, rate or omega; or to c or k, as weight of its wind or anchor. The symbol, the
#: value, what it is the weight of, and whether it is the same for all bodies: then it is told in floats and lists of
#: them, or else in arrays.
Share = tuple[str, Any, Any, bool]


class Affine(NamedTuple):
    """The merged coefficients, in float64."""

    #: g, c, w, k and p, with one row or one per body; None where all are the same for all bodies.
    arrays: list[np.ndarray] | None
    #: (g, w, p, c, k) as floats, in that case.
    numbers: list[float] | None
    rate: np.ndarray
    omega: np.ndarray
    drag: bool
    wind: bool
    spring: bool
    damped: bool
    turned: bool


def share(symbol: str, value: Any, place: Any = None) -> Share:
    """The contribution of a term to `symbol`: floats and lists of them, or arrays of one row or one for each body."""
    if type(value) is np.ndarray and len(value) == 1:
        value = value.tolist()[0]
    if type(place) is np.ndarray and len(place) == 1:
        place = place.tolist()[0]
    return (symbol, value, place, type(value) is not np.ndarray and type(place) is not np.ndarray)


def merged(shares: Sequence[Share], dim: int) -> Affine:
    """The sum of what terms add, in their order."""
    for *_, uniform in shares:
        if not uniform:
            break
    else:
        return _uniform(shares, dim)
    totals = {
        "g": np.zeros((1, dim)),
        "c": np.zeros(1),
        "k": np.zeros(1),
        "rate": np.zeros(1),
        "omega": np.zeros((1, 3)),
    }
    means = {"c": np.zeros((1, dim)), "k": np.zeros((1, dim))}
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by the plan
        for symbol, value, place, _ in shares:
            value, place = (one if isinstance(one, np.ndarray) else np.array([one]) for one in (value, place))
            if symbol not in means:
                totals[symbol] = totals[symbol] + value
            else:
                totals[symbol], means[symbol] = _weighted(totals[symbol], means[symbol], value, place)
    c, w, k, p, rate, omega = totals["c"], means["c"], totals["k"], means["k"], totals["rate"], totals["omega"]
    drag, wind, spring, damped, turned = (bool(array.any()) for array in (c, w, k, rate, omega))
    return Affine([totals["g"], c, w, k, p], None, rate, omega, drag, wind, spring, damped, turned)


def _weighted(
    total: np.ndarray, mean: np.ndarray, weight: np.ndarray, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add a weight and its value to a running total and weighted mean."""
    total = total + weight
    # In this form equal values stay what they are and a single one is taken over unrounded.
    share = np.divide(weight + np.zeros_like(total), total, out=np.zeros_like(total), where=total > 0)
    return total, mean + share[:, None] * (value - mean)


def _uniform(shares: Sequence[Share], dim: int) -> Affine:
    """`merged` of what is the same for all bodies, in floats."""
    numbers, rate, omega = summed(shares, dim)
    rates = np.array([rate]) if rate else _NO_RATE
    turns = np.array([omega]) if omega else _NO_TURN
    return Affine(
        None,
        numbers,
        rates,
        turns,
        numbers[-2] != 0,
        any(numbers[dim : 2 * dim]),
        numbers[-1] != 0,
        rate != 0,
        omega is not None and any(omega),
    )


def summed(shares: Sequence[Share], dim: int) -> tuple[list[float], float, list[float] | None]:
    """What is the same for all bodies: (g, w, p, c, k), the rate of damping, and of turning."""
    g, w, p = [0.0] * dim, [0.0] * dim, [0.0] * dim
    c = k = rate = 0.0
    omega = None
    components = range(dim)
    for symbol, value, place, _ in shares:
        if symbol == "g":
            for j in components:
                g[j] += value[j]
        elif symbol == "c":
            c += value
            part = value / c if c > 0 else 0.0
            for j in components:
                w[j] += part * (place[j] - w[j])
        elif symbol == "k":
            k += value
            part = value / k if k > 0 else 0.0
            for j in components:
                p[j] += part * (place[j] - p[j])
        elif symbol == "omega":
            omega = [a + b for a, b in zip(omega or [0.0] * 3, value, strict=True)]
        else:
            rate += value
    return [*g, *w, *p, c, k], rate, omega


def in_row(numbers: list[float], dim: int, dtype: np.dtype) -> list[np.ndarray]:
    """g, c, w, k and p, of which each has one row, from the numbers (g, w, p, c, k)."""
    row = np.array(numbers, dtype)
    row.flags.writeable = False
    vectors, end = row[: 3 * dim].reshape(3, 1, dim), 3 * dim
    return [vectors[0], row[end : end + 1], vectors[1], row[end + 1 :], vectors[2]]


_NO_RATE, _NO_TURN = np.zeros(1), np.zeros((1, 3))
_NO_RATE.flags.writeable = _NO_TURN.flags.writeable = False
