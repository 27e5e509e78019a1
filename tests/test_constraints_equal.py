"""0 ulp for bodies that are held: the compiled constraints compute the same bits as the reference."""

import numpy as np
import pytest
from plans import INTEGRATORS, LAYOUTS, assert_same_bits, held_scene

import kickdrift as kd

PLANS = 420


def outcome(stepper, n):
    """What a step raises, in a form that can be compared; None for nothing."""
    try:
        stepper.step(n)
    except kd.KickdriftError as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("number", range(0, PLANS, 30))
def test_random_plans(isa, number):
    for seed in range(number, number + 30):
        rng = np.random.default_rng(seed)
        drawn = held_scene(rng, INTEGRATORS[seed % len(INTEGRATORS)])
        n = int(rng.integers(1, 12))
        ours, book = drawn.make(kd.Stepper), drawn.make(kd.reference.Stepper)
        failure = outcome(ours, n)
        assert failure == outcome(book, n), seed
        assert ours.tick == book.tick
        if failure and failure[0] is kd.NonFiniteError:
            continue  # the payload of a NaN is not specified
        assert_same_bits(ours.position, book.position)
        assert_same_bits(ours.velocity, book.velocity)
        assert ours.force_evaluations == book.force_evaluations
        if failure:
            continue
        half = n // 2
        ours.dt = book.dt = 0.0125
        if outcome(ours, half) or outcome(ours, n - half):
            continue
        book.step(n)
        assert_same_bits(ours.position, book.position)
        assert_same_bits(ours.velocity, book.velocity)
        assert ours.checksum() == book.checksum()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_layout_splitting_and_threads_change_nothing(isa, integrator, layout):
    drawn = held_scene(np.random.default_rng(5), integrator, n=400)
    whole, parts = drawn.make(kd.Stepper, "row"), drawn.make(kd.Stepper, layout, threads=2)
    whole.step(20)
    for n in (1, 0, 7, 11, 1):
        parts.step(n)
    assert_same_bits(parts.position, whole.position)
    assert_same_bits(parts.velocity, whole.velocity)
    assert parts.checksum() == whole.checksum()
