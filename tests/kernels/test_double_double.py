"""Double-double arithmetic: its error bounds hold, and its results equal those of decimal."""

import time
from fractions import Fraction

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import exact_math
from kickdrift.exact_math.double_double import Doubled


def test_error_bounds_hold_and_are_small():
    rng = np.random.default_rng(0)
    numbers = [rng.normal(size=200) * 2.0 ** rng.integers(-60, 60, 200) for _ in range(5)]
    rows = [[Fraction(number) for number in row] for row in zip(*numbers, strict=True)]
    for made in (
        lambda a, b, c, d, e: a * b + c * d * e,
        lambda a, b, c, d, e: (a + b) * (c - d) - a * c,
        lambda a, b, c, d, e: a * a * a * b - (a + e) * (a + e) * c,
    ):
        result, exact = made(*map(Doubled.of, numbers)), [made(*row) for row in rows]
        for high, low, error, true in zip(result.high, result.low, result.error, exact, strict=True):
            assert abs(Fraction(high) + Fraction(low) - true) <= Fraction(error)
            assert high == high + low
        values, known = result.rounded()
        assert known.mean() > 0.9
        assert values[known].tolist() == [float(true) for true, sure in zip(exact, known, strict=True) if sure]


def test_uncertain_roundings_are_detected():
    tie = Doubled.of(1.0) + Doubled.of(2.0**-53)
    assert not tie.rounded()[1]
    assert not Doubled.near(Fraction(1, 3)).widened(2.0**-54).rounded()[1]
    assert Doubled.near(Fraction(1, 3)).rounded() == (1 / 3, True)
    with np.errstate(all="ignore"):
        for number in (1e300, 1e-300, np.inf, np.nan):
            assert not (Doubled.of(number) * Doubled.of(number)).rounded()[1]


CASES = {
    "springs": lambda rng, n: (np.zeros(n), rng.uniform(0, 50, n), 1 / 60),
    "dampers": lambda rng, n: (rng.uniform(0, 5, n), rng.uniform(0, 50, n), 1 / 60),
    "stiff": lambda rng, n: (rng.uniform(0, 1e3, n), rng.uniform(0, 1e8, n), 0.1),
    "of all sizes": lambda rng, n: (10 ** rng.uniform(-30, 12, n), 10 ** rng.uniform(-30, 20, n), 1 / 60),
    "dyadic": lambda rng, n: (rng.integers(0, 64, n) / 8, rng.integers(0, 64, n) / 8, 1 / 64),
    "critical": lambda rng, n: ((x := rng.integers(1, 1000, n) / 16), x * x / 4, 0.25),
    "next to nothing": lambda rng, n: (10 ** rng.uniform(-300, 0, n), 10 ** rng.uniform(-300, 0, n), 1e-160),
}


@pytest.mark.parametrize("case", CASES)
def test_flows_of_many_bodies_equal_those_of_parts(case):
    c, k, h = CASES[case](np.random.default_rng(1), 400)
    many = exact_math.oscillator_flows(c, k, h)
    parts = zip(np.split(c, 8), np.split(k, 8), strict=True)
    each = np.concatenate([exact_math.oscillator_flows(*part, h) for part in parts], axis=1)
    assert many.tobytes() == each.tobytes()


def test_exact_with_forty_thousand_masses_is_fast():
    mass = np.random.default_rng(2).uniform(0.5, 3, 40_000)
    forces = [kd.AnchorSpring(20.0, 0.5), kd.Gravity((0, -9.81))]
    x = np.random.default_rng(3).normal(size=(40_000, 2))
    began = time.process_time()
    bodies = kd.Stepper(x.copy(), mass=mass, integrator="exact", forces=forces)
    assert time.process_time() - began < 3
    bodies.step(5)
    some = kd.Stepper(x[:50].copy(), mass=mass[:50], integrator="exact", forces=forces)
    some.step(5)
    assert some.position.tobytes() == bodies.position[:50].tobytes()
