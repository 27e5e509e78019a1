"""Numbers that need exp, log, cos or roots, correctly rounded on every platform.

libm may differ in the last bit from one system to the next, `decimal` may not. Everything here is
computed once per dt, never in a step.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext

import numpy as np

# 60 digits leave more than 40 beyond a float64's 17: rounding is then right but for ties that do
# not occur. The exponent range is decimal's own, so that exp(-10**6) is no underflow.
_CONTEXT = Context(prec=60, Emax=10**9, Emin=-(10**9))


def cube_root_of_two() -> Decimal:
    return Decimal(2) ** (Decimal(1) / Decimal(3))


def scaled(coefficients: Callable[[], tuple[list[Decimal], ...]], h: float) -> list[list[float]]:
    """The lists that `coefficients()` returns, times h."""
    with localcontext(_CONTEXT):
        return [[float(c * Decimal(h)) for c in row] for row in coefficients()]


def decays(rates: np.ndarray, h: float) -> np.ndarray:
    """exp(-rate h) for each rate."""
    return _each(lambda rate: [(-Decimal(rate) * Decimal(h)).exp()], rates)[0]


def decay_rates(losses: np.ndarray) -> np.ndarray:
    """-ln(1 - loss) for each loss: the decay rate that takes this share away per unit of time."""
    return _each(lambda loss: [-(1 - Decimal(loss)).ln()], losses)[0]


def oscillator_flows(c: np.ndarray, k: np.ndarray, h: float) -> np.ndarray:
    """The flow of x'' = -c x' - k (x - p) over h, as (C, S, P, Q) for each pair (c, k).

    With a the acceleration at the start, exactly

        v(h) = C v + S a        x(h) = x + P v + Q a

    where S solves S'' = -c S' - k S, S(0) = 0, S'(0) = 1, Q is the integral of S, C = S' + c S
    and P = S + c Q. These are entire functions of c and k: one formula serves under-, over- and
    critically damped, undamped and free motion, where the usual ones in cos, cosh and 1/k each
    fail at the seams.
    """
    c, k = np.broadcast_arrays(c, k)
    return _each(lambda c, k: _flow(Decimal(c), Decimal(k), Decimal(h)), c, k)


def _flow(c: Decimal, k: Decimal, h: Decimal) -> list[Decimal]:
    # Power series on an interval short enough that 24 terms reach full precision, then doubling:
    # the flow over 2h is the flow over h, twice. Each doubling may cost a bit, hence the reserve.
    doublings = 0
    while c * h > Decimal("0.01") or k * h * h > Decimal("0.0001"):
        h /= 2
        doublings += 1
    with localcontext() as context:
        context.prec += doublings
        derivative, last, power = Decimal(1), Decimal(0), Decimal(1)
        q, s, ds = Decimal(0), Decimal(0), Decimal(0)  # the integral of S, S and its derivative
        for order in range(24):  # derivative = S^(order + 1)(0), power = h^order / order!
            ds += derivative * power
            s += derivative * power * h / (order + 1)
            q += derivative * power * h * h / ((order + 1) * (order + 2))
            derivative, last = -c * derivative - k * last, derivative
            power *= h / (order + 1)
        for _ in range(doublings):
            # (x, v, a) -> the same over h, with a(h) = -k S v + S' a.
            p, cc = s + c * q, ds + c * s
            q, s, ds = q + p * s + q * ds, cc * s + s * ds, ds * ds - k * s * s
        return [ds + c * s, s, s + c * q, q]


def _each(function: Callable[..., list[Decimal]], *arrays: np.ndarray) -> np.ndarray:
    """`function` of each element, worked out once for each different one, rounded to float64."""
    columns = np.stack([np.asarray(array, dtype=np.float64).ravel() for array in arrays], axis=1)
    distinct, where = np.unique(columns, axis=0, return_inverse=True)
    with localcontext(_CONTEXT):
        values = np.array([[float(d) for d in function(*map(float, row))] for row in distinct], dtype=np.float64)
    if not len(distinct):  # no bodies, and so nothing to tell how many results there are
        values = np.array([function(*[1.0] * len(arrays))], dtype=np.float64)[:0]
    results = values[where.reshape(-1)].T
    return results.reshape(len(results), *np.shape(arrays[0]))
