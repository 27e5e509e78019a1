"""kick, drift and damp: in place, bitwise equal to their formulas, with checked arguments."""

import math

import numpy as np
import pytest
from plans import assert_same_bits, lay_out

import kickdrift as kd

DTYPES = [np.float32, np.float64]
LAYOUTS = ["row", "component", "sliced", "reversed"]
VERBS = {"kick": ("velocity", "acceleration"), "drift": ("position", "velocity")}


def pair(dtype, shape=(37, 3)):
    rng = np.random.default_rng(1)
    return rng.normal(size=shape).astype(dtype), rng.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("verb", VERBS)
def test_kick_and_drift_equal_their_formula(verb, layout, dtype):
    numbers, rates = pair(dtype)
    target = lay_out(numbers, layout)
    for source in (rates, rates[::-1], rates[0], rates[:, :1], np.arange(3), [0.25, 1, 2], 2):
        for dt in (1 / 60, -0.3, 2):
            expected = target + dtype(dt) * np.asarray(source, dtype)
            assert getattr(kd, verb)(target, source, dt) is None
            assert_same_bits(target, expected)


@pytest.mark.parametrize("verb", VERBS)
def test_one_dimension_and_no_bodies(verb):
    for shape in ((5,), (5, 1), (1, 3), (0, 3), (0,)):
        target = np.zeros(shape, np.float32)
        getattr(kd, verb)(target, 1, 0.5)
        assert target.tolist() == np.full(shape, 0.5).tolist()


def test_items_around_a_slice_are_not_changed():
    room = np.full((9, 5), 7.0)
    kd.kick(room[::2, 1:3], (1.0, 2.0), 1)
    assert room[::2, 1:3].tolist() == [[8, 9]] * 5
    room[::2, 1:3] = 7
    assert (room == 7).all()


def test_an_overflow_is_infinite_without_a_warning():
    velocity = np.array([1e38, np.inf], np.float32)
    kd.kick(velocity, 3e38, 10.0)
    kd.damp(velocity, 1e300, 1.0)
    assert np.isnan(velocity).all()  # infinity times zero


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_damp_equals_its_formula(layout, dtype):
    numbers, _ = pair(dtype)
    rates = np.linspace(0, 3, len(numbers))
    for rate in (0, 0.7, rates, rates.tolist()):
        target = lay_out(numbers, layout)
        factors = np.array([math.exp(-r * 0.25) for r in np.broadcast_to(rate, len(numbers))])
        assert kd.damp(target, rate, 0.25) is None
        # math.exp may be off by one ulp where damp is correctly rounded.
        epsilon = np.finfo(dtype).eps
        np.testing.assert_allclose(target, factors.astype(dtype)[:, None] * numbers, rtol=2 * epsilon)


def test_damp_is_correctly_rounded():
    velocity = np.ones(1)
    kd.damp(velocity, 1.0, 1.0)
    assert velocity.item() == 0.36787944117144233  # 1/e = 0.367879441171442321595...
    kd.damp(velocity, 1e300, 1e300)
    assert velocity.item() == 0


def test_damp_without_bodies_and_in_one_dimension():
    for rate in (1.0, []):
        kd.damp(np.zeros((0, 2)), rate, 1.0)
    velocity = np.ones(3)
    kd.damp(velocity, [0, 1, 0], 0.0)
    assert velocity.tolist() == [1, 1, 1]


def test_kick_drift_and_damp_make_a_step(Stepper):
    x, v = pair(np.float64)
    stepper = Stepper(x.copy(), v.copy(), dt=0.1, integrator="semi_implicit_euler",
                      forces=[kd.Gravity((0, -9.81, 0)), kd.Damping(0.5)])  # fmt: skip
    for _ in range(4):
        kd.kick(v, (0, -9.81, 0), 0.1)
        kd.drift(x, v, 0.1)
        kd.damp(v, 0.5, 0.1)
    stepper.step(4)
    assert_same_bits(stepper.position, x)
    assert_same_bits(stepper.velocity, v)


READ_ONLY = np.zeros((3, 2))
READ_ONLY.flags.writeable = False
TARGETS = [
    (TypeError, "expected an array of float32 or float64, got list", [[0.0, 0.0]]),
    (TypeError, "expected an array of float32 or float64, got int64", np.zeros((3, 2), np.int64)),
    (TypeError, "expected an array of float32 or float64, got [<>]f8", np.zeros(3, np.dtype("f8").newbyteorder())),
    (ValueError, r"expected shape \(n,\) or \(n, dim\), got \(2, 2, 2\)", np.zeros((2, 2, 2))),
    (ValueError, "expected a writable array", READ_ONLY),
    (ValueError, "expected an aligned array", np.frombuffer(bytearray(49), np.float64, 6, offset=1).reshape(3, 2)),
    (ValueError, "expected an item of its own", np.lib.stride_tricks.as_strided(np.zeros(4), (3, 2), (8, 8))),
    (ValueError, "expected an item of its own", np.lib.stride_tricks.as_strided(np.zeros(4), (3,), (0,))),
]
SOURCES = [
    (TypeError, "expected the dtype of {}, float64, got float32", np.zeros((3, 2), np.float32)),
    (TypeError, "expected real numbers, got 'x'", "x"),
    (TypeError, "expected real numbers", np.zeros((3, 2), complex)),
    (ValueError, "expected finite numbers, got nan", math.nan),
    (ValueError, r"expected a shape that broadcasts to \(3, 2\), got \(4, 2\)", np.zeros((4, 2))),
    (ValueError, r"expected a shape that broadcasts to \(3, 2\), got \(1, 3, 2\)", np.zeros((1, 3, 2))),
]
RATES = [
    (-1, "expected numbers of at least 0, got -1"),
    ([1, 2], r"expected a scalar or shape \(3,\), one value per body, got shape \(2,\)"),
    (np.ones((3, 2)), r"expected a scalar or shape \(3,\)"),
]


@pytest.mark.parametrize(("error", "message", "target"), TARGETS)
def test_invalid_targets_are_refused(error, message, target):
    for verb, name in (("kick", "velocity"), ("drift", "position"), ("damp", "velocity")):
        with pytest.raises(error, match=f"^{name}: {message}"):
            getattr(kd, verb)(target, 1.0, 0.1)


@pytest.mark.parametrize(("error", "message", "source"), SOURCES)
@pytest.mark.parametrize("verb", VERBS)
def test_invalid_sources_are_refused(verb, error, message, source):
    name, other = VERBS[verb]
    target = np.ones((3, 2))
    with pytest.raises(error, match=f"^{other}: {message.format(name)}"):
        getattr(kd, verb)(target, source, 0.1)
    assert (target == 1).all()


@pytest.mark.parametrize(("rate", "message"), RATES)
def test_invalid_rates_are_refused(rate, message):
    velocity = np.ones((3, 2))
    with pytest.raises(ValueError, match=f"^rate: {message}"):
        kd.damp(velocity, rate, 0.1)
    assert (velocity == 1).all()


def test_shared_memory_is_refused():
    target = np.ones((3, 2))
    for source in (target, target[::-1], target[:1], target[:, :1]):
        with pytest.raises(ValueError, match=r"^acceleration: shares memory with velocity"):
            kd.kick(target, source, 0.1)
    kd.drift(target[:, 0], target[:, 1], 1.0)  # interleaved arrays share no memory
    assert target.tolist() == [[2, 1]] * 3


@pytest.mark.parametrize("dt", [math.nan, "1", True, -0.1])
def test_invalid_dt_is_refused(dt):
    for verb in ("kick", "drift", "damp") if dt != -0.1 else ("damp",):
        with pytest.raises((TypeError, ValueError), match=r"^dt: expected a "):
            getattr(kd, verb)(np.ones(2), 1.0, dt)


def test_numbers_that_overflow_float32_are_refused():
    target = np.ones(2, np.float32)
    with pytest.raises(ValueError, match=r"^acceleration: expected numbers within the range of float32"):
        kd.kick(target, 1e300, 1)
    with pytest.raises(ValueError, match=r"^dt: expected a number within the range of float32"):
        kd.kick(target, 1.0, 1e300)
    assert (target == 1).all()
