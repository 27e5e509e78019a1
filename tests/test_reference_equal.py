"""0 ulp: what is compiled computes the same bits as the reference."""

import numpy as np
import pytest
from plans import INTEGRATORS, LAYOUTS, assert_same_bits, outcome, scene

import kickdrift as kd

PLANS = 630


@pytest.mark.parametrize("number", range(0, PLANS, 30))
def test_random_plans(isa, number):
    for seed in range(number, number + 30):
        rng = np.random.default_rng(seed)
        drawn = scene(rng, INTEGRATORS[seed % len(INTEGRATORS)])
        n = int(rng.integers(1, 12))
        ours, book = drawn.make(kd.Stepper), drawn.make(kd.reference.Stepper)
        failure = outcome(ours, n)
        assert failure == outcome(book, n)
        assert ours.tick == book.tick
        if failure and failure[0] is kd.NonFiniteError:
            continue  # the payload of a NaN is not specified
        assert_same_bits(ours.position, book.position)
        assert_same_bits(ours.velocity, book.velocity)
        assert ours.force_evaluations == book.force_evaluations
        if failure:
            continue
        # The same work in two calls, at another rate.
        half = n // 2
        ours.dt = book.dt = 0.0125
        if outcome(ours, half) or outcome(ours, n - half):
            continue
        book.step(n)
        assert_same_bits(ours.position, book.position)
        assert_same_bits(ours.velocity, book.velocity)
        assert ours.time == book.time


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_layout_and_splitting_change_nothing(isa, integrator, layout):
    rng = np.random.default_rng(1)
    drawn = scene(rng, integrator, n=300)
    whole, parts = drawn.make(kd.Stepper, "row"), drawn.make(kd.Stepper, layout)
    whole.step(40)
    for n in (1, 0, 7, 31, 1):
        parts.step(n)
    assert_same_bits(parts.position, whole.position)
    assert_same_bits(parts.velocity, whole.velocity)
    assert parts.time == whole.time
