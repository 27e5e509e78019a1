"""Numbers that need exp, log, cos or roots, correctly rounded on every platform.

libm may differ in the last bit from one system to the next, `decimal` may not. Everything here is
computed once per dt, never in a step.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import factorial

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
    return _each(_decay, rates, h)[0]


def _decay(rate: float, h: float) -> list[Decimal]:
    return [(-Decimal(rate) * Decimal(h)).exp()]


def half_tangents(omega: np.ndarray, h: float) -> np.ndarray:
    """tan(|omega| h / 2) times the direction of omega, for each row (k, 3): what rotates by |omega| h (Boris 1970)."""
    return np.ascontiguousarray(_each(_tangent, *omega.T, h).T)


def _tangent(x: float, y: float, z: float, h: float) -> list[Decimal]:
    axis = [Decimal(x), Decimal(y), Decimal(z)]
    speed = sum((w * w for w in axis), Decimal(0)).sqrt()
    if not speed:
        return axis
    sine, cosine = _sine_and_cosine(speed * Decimal(h) / 2)
    return [w / speed * sine / cosine for w in axis]


def _sine_and_cosine(angle: Decimal) -> tuple[Decimal, Decimal]:
    """By Taylor's series of a small part of the angle, which is doubled again."""
    with localcontext() as context:
        halvings = max(0, angle.adjusted() + 3) * 4
        context.prec += halvings
        small = angle / 2**halvings
        sine, rest, term, order = Decimal(0), Decimal(0), small, 1
        while term.adjusted() > small.adjusted() - context.prec:
            sine += term
            term *= small / (order + 1)
            rest += term  # 1 - cos, which loses no digits
            term *= -small / (order + 2)
            order += 2
        for _ in range(halvings):
            sine, rest = 2 * sine * (1 - rest), 2 * sine * sine
        return sine, 1 - rest


def decay_rates(losses: np.ndarray) -> np.ndarray:
    """-ln(1 - loss) for each loss: the decay rate that takes this share away per unit of time."""
    return _each(_decay_rate, losses)[0]


def _decay_rate(loss: float) -> list[Decimal]:
    with localcontext() as context:
        context.prec += max(0, -Decimal(loss).adjusted())  # 1 - loss has all digits of a small loss
        return [-(1 - Decimal(loss)).ln()]


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
    return _each(_flow, c, k, h, many=lambda c, k, _: _flows(c, k, h))


def _flow(drag: float, spring: float, step: float) -> list[Decimal]:
    c, k, h = Decimal(drag), Decimal(spring), Decimal(step)
    # Power series on an interval short enough that 24 terms reach full precision, then doubling:
    # the flow over 2h is the flow over h, twice. Each doubling may cost a bit, hence the reserve.
    doublings = 0
    while abs(c * h) > Decimal("0.01") or k * h * h > Decimal("0.0001"):
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


def _flows(drag: np.ndarray, spring: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """What `_flow` comes to for many at once, rounded, and for which of them that is certain.

    The same way, in units of the interval: its length h drops out, with c h for c, k h² for k, S / h and Q / h².
    """
    from .double_double import Doubled  # few programs have so many different bodies

    with np.errstate(all="ignore"):  # what is not finite is not certain
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
        # The derivatives fall by 0.0162 at least, the larger root of x² = 0.01 x + 0.0001: what is left out is less.
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


#: From so many different values on, numbers that `decimal` would have to work out one by one are tried together.
MANY = 100


def _each(
    function: Callable[..., list[Decimal]],
    *arrays: np.ndarray | float,
    many: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None,
) -> np.ndarray:
    """`function` of each element, worked out once for each different one, rounded to float64.

    arrays: of one shape; or numbers, which are the same for all elements.
    many: the same for all elements at once, and for which of them it is sure of the last bit.
    """
    same = np.broadcast_arrays(*(np.asarray(array, dtype=np.float64) for array in arrays))
    columns = np.stack([array.ravel() for array in same], axis=1)
    distinct, where = _distinct(columns)
    if many is not None and len(distinct) >= MANY:
        values, known = many(*distinct.T)
        values[~known] = _one_by_one(function, distinct[~known], values.shape[1])
    else:
        values = _one_by_one(function, distinct)
    if not len(distinct):  # no bodies, and so nothing to tell how many results there are
        values = np.array([function(*[1.0] * len(arrays))], dtype=np.float64)[:0]
    results = values[where].T
    return results.reshape(len(results), *same[0].shape)


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows, and which of them each row is.

    numpy.unique(axis=0) compares structured arrays, and turns a Ctrl-C that comes meanwhile into a TypeError.
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


@lru_cache(maxsize=4096)  # copies, snapshots and changes of other things ask for the same again
def _rounded(function: Callable[..., list[Decimal]], row: bytes) -> list[float]:
    """`function` of the float64 numbers that these bytes are: bytes tell 0.0 from -0.0."""
    with localcontext(_CONTEXT):
        return [float(number) for number in function(*np.frombuffer(row).tolist())]
