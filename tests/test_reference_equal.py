"""0 ulp: what is compiled computes the same bits as the reference."""

import numpy as np
import pytest
from plans import INTEGRATORS, LAYOUTS, assert_same_bits, held_scene, outcome, scene

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


def extreme_scene(seed):
    """A random scene whose numbers are as large or as small as they may be, or zero."""
    rng = np.random.default_rng(seed)
    drawn = (held_scene if rng.integers(2) else scene)(rng, n=int(rng.integers(2, 6)))
    limits = np.finfo(drawn.position.dtype)
    most = 300 if limits.bits == 64 else 37

    def stretched(array):
        scale = [1, 0, 10 ** rng.uniform(-most, most), 10 ** rng.uniform(-most, most, array.shape)][rng.integers(4)]
        return np.clip(array * scale, limits.min, limits.max).astype(array.dtype)

    drawn.position, drawn.velocity = stretched(drawn.position), stretched(drawn.velocity)
    if rng.integers(2):
        drawn.arguments["dt"] = float(np.clip(10 ** rng.uniform(-most, most), limits.tiny, limits.max))
    return drawn


@pytest.mark.parametrize("seeds", [range(100), range(400, 500), range(1000, 1100)], ids=repr)
def test_the_reference_divides_by_zero_as_processors_do(seeds):
    """Where Python's floats would raise ZeroDivisionError, kernels go on with infinity, and tell of it."""
    made = 0
    for seed in seeds:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                drawn = extreme_scene(seed)
                ours, book = drawn.make(kd.Stepper), drawn.make(kd.reference.Stepper)
        except ValueError:
            continue  # some coefficient overflows
        made += 1
        failure = outcome(ours, 3)
        assert failure == outcome(book, 3), seed
        if failure and failure[0] is kd.NonFiniteError:
            continue
        np.testing.assert_array_equal(ours.position, book.position, err_msg=str(seed))
        np.testing.assert_array_equal(ours.velocity, book.velocity, err_msg=str(seed))
    assert made > 50


@pytest.mark.parametrize("compliance", [0, 0.5])
def test_compliance_at_a_dt_whose_square_is_zero(Stepper, compliance):
    link = kd.Distance([(0, 1)], 1.0, compliance=compliance)
    with pytest.raises(kd.NonFiniteError):
        Stepper([[0.0], [2.0]], dt=1e-200, constraints=[link]).step()
