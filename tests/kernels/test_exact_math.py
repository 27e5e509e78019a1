"""An oracle for numbers that depend on dt: decays, exact flows and compositions, from closed forms in mpmath.

Stepper and reference share them, so comparing the two cannot detect errors. All must be correctly rounded.
"""

from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import exact_math
from kickdrift.stepper import model

mpmath = pytest.importorskip("mpmath")
DTYPES = [np.float32, np.float64]
#: At least 60 digits remain after any cancellation in the closed forms: c and k may be as small as 1e-308.
mp = mpmath.MPContext()
mp.dps = 1600


def exactly(number):
    """Convert an mpf to a fraction, to be rounded once."""
    if not number:
        return Fraction(0)
    sign, mantissa, exponent, bits = number._mpf_
    if exponent + bits < -4000:  # far below any float: 2**-4000 rounds alike, without a huge fraction
        return Fraction((-1) ** sign, 2**4000)
    return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** exponent


def nearest(number, dtype):
    """Round an mpf to the nearest float, ties to even, with integers only."""
    exact = exactly(number)
    if dtype is np.float64:
        return float(exact)  # Python divides integers with one rounding
    if not exact:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent  # 2**exponent <= size
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    return float(round(exact / unit) * unit)


def test_the_oracle_rounds_once():
    tie = mp.mpf(1) + mp.mpf(2) ** -24
    assert nearest(tie, np.float32) == 1
    assert nearest(tie + mp.mpf(2) ** -80, np.float32) == 1 + 2.0**-23
    assert nearest(mp.mpf(2) ** -150, np.float32) == 0
    assert nearest(mp.mpf(3) * mp.mpf(2) ** -150, np.float32) == 2.0**-148
    rng = np.random.default_rng(0)
    for number in rng.normal(size=100) * 10.0 ** rng.integers(-44, 38, 100):
        assert nearest(mp.mpf(number), np.float32) == np.float32(number)
        assert nearest(mp.mpf(number), np.float64) == number


@cache
def flow(c, k, h):
    """(C, S, P, Q) of x'' = -c x' - k x by the textbook cases: S'' = -c S' - k S, S(0) = 0, S'(0) = 1."""
    c, k, h = mp.mpf(c), mp.mpf(k), mp.mpf(h)
    discriminant = c * c / 4 - k
    fall = mp.exp(-c * h / 2)
    if discriminant == 0:
        s, ds = h * fall, (1 - c * h / 2) * fall
    else:
        root = mp.sqrt(abs(discriminant))
        sine, cosine = (mp.sinh, mp.cosh) if discriminant > 0 else (mp.sin, mp.cos)
        s = fall * sine(root * h) / root
        ds = fall * (cosine(root * h) - c / 2 * sine(root * h) / root)
    # Q is the integral of S, which follows from integrating S'' = -c S' - k S.
    q = (1 - ds - c * s) / k if k else (h - s) / c if c else h * h / 2
    return ds + c * s, s, s + c * q, q


def pairs(kind, rng, n):
    """Draw coefficients and a step."""
    h = float(rng.choice([1 / 60, 1 / 144, 0.1, 0.0123457, 2.5]))
    near = 1 + 2.0 ** -rng.integers(20, 53, n).astype(float) * rng.choice([-1, 1], n)
    c, k = rng.uniform(0, 5, n), rng.uniform(0, 200, n)
    return {
        "free": lambda: (np.zeros(n), np.zeros(n), h),
        "undamped": lambda: (np.zeros(n), k, h),
        "dragged": lambda: (c, np.zeros(n), h),
        "under": lambda: (np.sqrt(k) * rng.uniform(0, 2, n), k, h),
        "over": lambda: (2 * np.sqrt(k) * (1 + rng.uniform(0, 9, n)), k, h),
        "critical": lambda: ((x := rng.integers(1, 999, n) / 16), x * x / 4, h),
        "next to critical": lambda: ((x := rng.integers(1, 999, n) / 16), x * x / 4 * near, h),
        "stiff": lambda: (10 ** rng.uniform(0, 3, n), 10 ** rng.uniform(3, 7, n), h),
        "tiny": lambda: (10 ** rng.uniform(-300, -3, n), 10 ** rng.uniform(-300, -3, n), h),
        "tiny steps": lambda: (c, k, float(10 ** rng.uniform(-150, -6))),
        "huge steps": lambda: (c * 1e-3, k * 1e-3, float(10 ** rng.uniform(2, 4))),
        "unequal": lambda: (10 ** rng.uniform(-200, 3, n), 10 ** rng.uniform(-200, 4, n), h),
    }[kind]()


KINDS = [
    "free", "undamped", "dragged", "under", "over", "critical", "next to critical", "stiff", "tiny", "tiny steps",
    "huge steps", "unequal",
]  # fmt: skip


def springs(c, k, dtype, h):
    """Create a plan of the exact integrator with these drags and springs."""
    terms = [kd.LinearDrag(c), kd.AnchorSpring(k)]
    return model.Plan(len(c), 1, np.dtype(dtype), np.ones(1), kd.Exact(), terms)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_flows_are_correctly_rounded(kind, seed):
    """Few flows are computed with decimal, many with double-double arithmetic."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    compared = 0
    for n, few in ((6, True), (exact_math.MANY + 20, False)):
        c, k, h = pairs(kind, rng, n)
        assert kind == "free" or few or len(set(zip(c, k, strict=True))) >= exact_math.MANY, "not those that are many"
        chosen = range(n) if few else rng.choice(n, 12, replace=False)
        for dtype in DTYPES:
            actual = springs(c, k, dtype, h).flow(h)  # a single column if no coefficient acts
            actual = np.broadcast_to(actual, (len(actual), n))
            for i in chosen:
                true = [nearest(number, dtype) for number in flow(float(c[i]), float(k[i]), h)]
                assert actual[:, i].tolist() == true, f"seed {seed}: c {c[i]!r}, k {k[i]!r}, h {h!r}, {dtype.__name__}"
                compared += 4
    assert compared == 2 * 4 * (6 + 12)


RATES = {
    "usual": lambda rng: rng.uniform(0, 10, 40),
    "tiny": lambda rng: 10 ** rng.uniform(-320, -3, 40),
    "huge": lambda rng: 10 ** rng.uniform(1, 5, 40),
    "zero and more": lambda rng: np.array([0.0, 5e-324, 1e-17, 2.0**-53, 0.6931471805599453, 745.13, 746.0, 1e300]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", RATES)
def test_decays_are_correctly_rounded(kind, dtype):
    rng = np.random.default_rng(list(RATES).index(kind))
    for h in (1 / 60, 0.1, 1.0, 1e-9, 123.456):
        rates = RATES[kind](rng)
        made = model.Plan(len(rates), 1, np.dtype(dtype), np.ones(1), kd.RK4(), [kd.Damping(rates)])
        for rate, actual in zip(rates, made.decay(h), strict=True):
            with mp.workdps(420):
                true = mp.exp(-mp.mpf(float(rate)) * mp.mpf(h))
            assert float(actual) == nearest(true, dtype), f"rate {rate!r}, h {h!r}"


def test_decay_rates_are_correctly_rounded():
    rng = np.random.default_rng(3)
    losses = [*rng.uniform(0, 1, 40), *10 ** rng.uniform(-300, 0, 40), 0.0, 0.5, np.nextafter(1, 0), 5e-324]
    with mp.workdps(700):
        true = [nearest(-mp.log(1 - mp.mpf(float(loss))), np.float64) for loss in losses]
    assert exact_math.decay_rates(np.array(losses)).tolist() == true


# Compositions: fractions of h, from the published equations.


def leapfrogs(weights):
    """Compose steps of drift-kick-drift: half of each weight before its kick, half after it."""
    drifts = [mp.mpf(0)] * (len(weights) + 1)
    for i, weight in enumerate(weights):
        drifts[i] += weight / 2
        drifts[i + 1] += weight / 2
    return drifts, list(weights)


def yoshida4():
    w = 1 / (2 - mp.cbrt(2))
    return leapfrogs([w, -mp.cbrt(2) * w, w])


def yoshida6():
    """Solution A of Yoshida 1990, table 1, refined from its printed digits with the conditions for order 6.

    The sums of w**3 and of w**5 vanish, and so does one commutator coefficient; the latter is zero where a step of
    x'' = -x is correct to h**5.
    """

    def conditions(w1, w2, w3):
        weights = [w3, w2, w1, 1 - 2 * (w1 + w2 + w3), w1, w2, w3]
        return sum(w**3 for w in weights), sum(w**5 for w in weights), fifth_share(weights) - mp.mpf(1) / 120

    printed = ("-1.17767998417887", "0.235573213359357", "0.784513610477560")
    w1, w2, w3 = mp.findroot(conditions, [mp.mpf(w) for w in printed], tol=mp.mpf(10) ** -140, maxsteps=30)
    for w, text in zip((w1, w2, w3), printed, strict=True):
        assert abs(w - mp.mpf(text)) < mp.mpf(10) ** -14
    return leapfrogs([w3, w2, w1, 1 - 2 * (w1 + w2 + w3), w1, w2, w3])


def fifth_share(weights):
    """Coefficient of h**5 in the position after leapfrog steps of x'' = -x, from x = 0 and v = 1."""
    x, v = [mp.mpf(0)] * 7, [mp.mpf(1)] + [mp.mpf(0)] * 6  # polynomials in h

    def plus(p, share, q):
        """p + share h q"""
        return [p[0]] + [p[i] + share * q[i - 1] for i in range(1, 7)]

    for weight in weights:
        x = plus(x, weight / 2, v)
        v = plus(v, -weight, x)
        x = plus(x, weight / 2, v)
    return x[5]


def pefrl():
    xi, lam, chi = (mp.mpf(Decimal(t)) for t in ("0.1786178958448091", "-0.2123418310626054", "-0.06626458266981849"))
    return [xi, chi, 1 - 2 * (chi + xi), chi, xi], [(1 - 2 * lam) / 2, lam, lam, (1 - 2 * lam) / 2]


BOOK = {"leapfrog": lambda: leapfrogs([mp.mpf(1)]), "yoshida4": yoshida4, "pefrl": pefrl, "yoshida6": yoshida6}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BOOK)
def test_compositions_are_correctly_rounded(name, dtype):
    with mp.workdps(80):
        drifts, kicks = BOOK[name]()
        assert abs(sum(drifts) - 1) < mp.mpf(10) ** -70
        assert abs(sum(kicks) - 1) < mp.mpf(10) ** -70
        made = model.Plan(1, 1, np.dtype(dtype), np.ones(1), kd.INTEGRATORS[name](), [])
        for h in (1 / 60, 0.1, 1.0, 1e-30, 12345.678, *np.random.default_rng(1).uniform(0, 1, 50)):
            actual = made.composition(h)
            for row, true in zip(actual, (drifts, kicks), strict=True):
                assert list(map(float, row)) == [nearest(share * mp.mpf(h), dtype) for share in true], h


def test_all_compositions_are_tested():
    kinds = {name for name, cls in kd.INTEGRATORS.items() if issubclass(cls, kd.integrators.compositions.Composition)}
    assert kinds == BOOK.keys()


def test_equal_pairs_of_coefficients_are_computed_once(monkeypatch):
    """Pairs may be in any order; np.unique is not used, because it may turn KeyboardInterrupt into TypeError."""
    asked = []

    def both(c, k):
        asked.append((c, k))
        return [Decimal(c) + Decimal(k)]

    monkeypatch.delattr(np, "unique")
    rng = np.random.default_rng(6)
    c, k = rng.integers(0, 4, 90).astype(float), rng.integers(0, 4, 90).astype(float)
    assert exact_math._each(both, c, k)[0].tolist() == (c + k).tolist()
    assert sorted(asked) == sorted(set(zip(c.tolist(), k.tolist(), strict=True)))
    assert exact_math._each(both, c[:0], k[:0]).shape == (1, 0)
