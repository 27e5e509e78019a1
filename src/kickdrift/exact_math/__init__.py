"""Numbers that need exp, log, cos or roots, correctly rounded on every platform.

libm may differ in the last bit between systems; `decimal` does not. Steppers call these functions
once per dt, never in a step.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import factorial

import numpy as np

# A float64 has 17 digits. With 60 digits rounding is correct, except for ties, which do not occur. The exponent range
# is wide, to keep exp(-10**6) from underflow.
_CONTEXT = Context(prec=60, Emax=10**9, Emin=-(10**9))


def cube_root_of_two() -> Decimal:
    return Decimal(2) ** (Decimal(1) / Decimal(3))


def scaled(coefficients: Callable[[], tuple[list[Decimal], ...]], h: float) -> list[list[float]]:
    """Return the lists of `coefficients()` times h."""
    with localcontext(_CONTEXT):
        return [[float(c * Decimal(h)) for c in row] for row in coefficients()]


def decays(rates: np.ndarray, h: float) -> np.ndarray:
    """Return exp(-rate h) for each rate."""
    return _each(_decay, rates, h)[0]


def _decay(rate: float, h: float) -> list[Decimal]:
    return [(-Decimal(rate) * Decimal(h)).exp()]


def half_tangents(omega: np.ndarray, h: float) -> np.ndarray:
    """Return tan(|omega| h / 2) times the direction of omega, shape (k, 3), for rotations by |omega| h (Boris 1970)."""
    return np.ascontiguousarray(_each(_tangent, *omega.T, h).T)


def _tangent(x: float, y: float, z: float, h: float) -> list[Decimal]:
    axis = [Decimal(x), Decimal(y), Decimal(z)]
    speed = sum((w * w for w in axis), Decimal(0)).sqrt()
    if not speed:
        return axis
    sine, cosine = _sine_and_cosine(speed * Decimal(h) / 2)
    return [w / speed * sine / cosine for w in axis]


def _sine_and_cosine(angle: Decimal) -> tuple[Decimal, Decimal]:
    """Return sine and cosine: Taylor series for a halved angle, then repeated angle doubling."""
    with localcontext() as context:
        halvings = max(0, angle.adjusted() + 3) * 4
        context.prec += halvings
        small = angle / 2**halvings
        sine, rest, term, order = Decimal(0), Decimal(0), small, 1
        while term.adjusted() > small.adjusted() - context.prec:
            sine += term
            term *= small / (order + 1)
            rest += term  # 1 - cos, to avoid cancellation
            term *= -small / (order + 2)
            order += 2
        for _ in range(halvings):
            sine, rest = 2 * sine * (1 - rest), 2 * sine * sine
        return sine, 1 - rest


def decay_rates(losses: np.ndarray) -> np.ndarray:
    """Return -ln(1 - loss) for each loss: the decay rate with this loss per unit of time."""
    return _each(_decay_rate, losses)[0]


def _decay_rate(loss: float) -> list[Decimal]:
    with localcontext() as context:
        context.prec += max(0, -Decimal(loss).adjusted())  # 1 - loss is exact in decimal, also for a small loss
        return [-(1 - Decimal(loss)).ln()]


def oscillator_flows(c: np.ndarray, k: np.ndarray, h: float) -> np.ndarray:
    """Return the flow of x'' = -c x' - k (x - p) over h, as (C, S, P, Q) for each pair (c, k).

    With a the acceleration at the start, exactly

        v(h) = C v + S a        x(h) = x + P v + Q a

    where S solves S'' = -c S' - k S, S(0) = 0, S'(0) = 1, Q is the integral of S, C = S' + c S
    and P = S + c Q. These are entire functions of c and k: one equation covers under-, over- and
    critically damped, undamped and free motion. The usual solutions in cos, cosh and 1/k are
    singular at the transitions.
    """
    c, k = np.broadcast_arrays(c, k)
    return _each(_flow, c, k, h, many=lambda c, k, _: _flows(c, k, h))


def _flow(drag: float, spring: float, step: float) -> list[Decimal]:
    c, k, h = Decimal(drag), Decimal(spring), Decimal(step)
    # A power series on an interval so short that 24 terms reach full precision, then doubling: the flow over 2 h is the
    # flow over h, twice. Each doubling may lose a bit, hence the extra precision.
    doublings = 0
    while abs(c * h) > Decimal("0.01") or k * h * h > Decimal("0.0001"):
        h /= 2
        doublings += 1
    with localcontext() as context:
        context.prec += doublings
        derivative, last, power = Decimal(1), Decimal(0), Decimal(1)
        q, s, ds = Decimal(0), Decimal(0), Decimal(0)  # the integral of S, S itself, and its derivative
        for order in range(24):  # derivative = S^(order + 1)(0), power = h^order / order!
            ds += derivative * power
            s += derivative * power * h / (order + 1)
            q += derivative * power * h * h / ((order + 1) * (order + 2))
            derivative, last = -c * derivative - k * last, derivative
            power *= h / (order + 1)
        for _ in range(doublings):
            # Compose the flow (x, v, a) with itself; a(h) = -k S v + S' a.
            p, cc = s + c * q, ds + c * s
            q, s, ds = q + p * s + q * ds, cc * s + s * ds, ds * ds - k * s * s
        return [ds + c * s, s, s + c * q, q]


def _flows(drag: np.ndarray, spring: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded flows of many pairs, and a mask of those whose rounding is certain.

    The algorithm is that of `_flow` in units of the interval h: it uses c h and k h², and results in S / h and Q / h².
    """
    from .double_double import Doubled  # imported lazily: rarely needed

    with np.errstate(all="ignore"):  # non-finite results count as uncertain
        long = np.maximum(drag * abs(h) / 0.01, np.sqrt(spring) * abs(h) / 0.01)
        doublings = np.where((long < 2.0**50) & (long > 1), np.ceil(np.log2(long)) + 1, 0)
        step = Doubled.of(np.ldexp(h, -doublings.astype(np.int64)))
        c, k = Doubled.of(drag) * step, Doubled.of(spring) * step * step
        derivative, last = Doubled.of(np.ones(len(doublings))), Doubled.of(np.zeros(len(doublings)))
        ds, s, q = last, last, last
        for order in range(16):
            ds += derivative * Doubled.near(Fraction(1, factorial(order)))
            s += derivative * Doubled.near(Fraction(1, factorial(order + 1)))
            q += derivative * Doubled.near(Fraction(1, factorial(order + 2)))
            derivative, last = (c * derivative + k * last).times(-1), derivative
        # Successive derivatives shrink by 0.0162, the larger root of x² = 0.01 x + 0.0001: this bounds the remainder.
        ds, s, q = (number.widened(2.0**-130) for number in (ds, s, q))
        for number in range(int(doublings.max(initial=0))):
            more = doublings > number
            p, cc = s + c * q, ds + c * s
            doubled_q, doubled_s, doubled_ds = q + p * s + q * ds, cc * s + s * ds, ds * ds - k * s * s
            q, s, ds = (
                doubled_q.times(0.25).where(more, q),
                doubled_s.times(0.5).where(more, s),
                doubled_ds.where(more, ds),
            )
            c, k = c.times(2).where(more, c), k.times(4).where(more, k)
        whole = Doubled.of(h)
        results = [(ds + c * s), whole * s, whole * (s + c * q), whole * whole * q]
        values, known = zip(*(result.rounded() for result in results), strict=True)
    return np.stack(values, axis=1), np.logical_and.reduce(known) & (long < 2.0**50)


#: From this number of distinct values on, double-double arrays are tried before `decimal`, which works one by one.
MANY = 100


def _each(
    function: Callable[..., list[Decimal]],
    *arrays: np.ndarray | float,
    many: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None,
) -> np.ndarray:
    """Return `function` of each element, computed once per distinct element, rounded to float64.

    arrays: of one shape, or numbers shared by all elements.
    many: a vectorized form of `function`, which also returns a mask of correctly rounded results.
    """
    same = np.broadcast_arrays(*(np.asarray(array, dtype=np.float64) for array in arrays))
    columns = np.stack([array.ravel() for array in same], axis=1)
    distinct, where = _distinct(columns)
    if many is not None and len(distinct) >= MANY:
        values, known = many(*distinct.T)
        values[~known] = _one_by_one(function, distinct[~known], values.shape[1])
    else:
        values = _one_by_one(function, distinct)
    if not len(distinct):  # no elements: a call with ones shows the number of results
        values = np.array([function(*[1.0] * len(arrays))], dtype=np.float64)[:0]
    results = values[where].T
    return results.reshape(len(results), *same[0].shape)


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows, and for each row its index among them.

    numpy.unique(axis=0) is no alternative: it compares structured arrays, and turns Ctrl-C into a TypeError.
    """
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    where = np.empty(len(rows), dtype=np.intp)
    where[order] = np.cumsum(new) - 1
    return ordered[new], where


def _one_by_one(function: Callable[..., list[Decimal]], rows: np.ndarray, width: int = -1) -> np.ndarray:
    values = [_rounded(function, row.tobytes()) for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), width if len(rows) else max(width, 0))


@lru_cache(maxsize=4096)  # copies, restored snapshots and changes of single bodies repeat most arguments
def _rounded(function: Callable[..., list[Decimal]], row: bytes) -> list[float]:
    """Return `function` of float64 numbers. Their bytes are the key of the cache, because 0.0 equals -0.0."""
    with localcontext(_CONTEXT):
        return [float(number) for number in function(*np.frombuffer(row).tolist())]
