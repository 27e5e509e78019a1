"""Conversion of numbers to exact steps and exact time: clocks, steppers and ODE steppers, compiled and reference."""

import copy
import gc
import math
import pickle
import time
from fractions import Fraction

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import time_steps

#: Frames of many seconds are intended here: silence their warning.
pytestmark = pytest.mark.filterwarnings("ignore:seconds. expected the time of a frame")

# --- from a number to an exact step ------------------------------------------------------------

MEANT = [
    (1 / 60, Fraction(1, 60)),
    (0.0166666666667, Fraction(1, 60)),
    (0.0166667, Fraction(166667, 10**7)),
    (0.0123457, Fraction(123457, 10**7)),
    (0.1, Fraction(1, 10)),
    ("1001/60000", Fraction(1001, 60000)),
    ("0.02", Fraction(1, 50)),
    ("1e-3", Fraction(1, 1000)),
    (1001 / 60000, Fraction(1001, 60000)),
    (Fraction(3, 1000), Fraction(3, 1000)),
    (3, Fraction(3)),
    (np.int32(3), Fraction(3)),
    (np.float64(0.25), Fraction(1, 4)),
    (86400.0, Fraction(86400)),
    (np.float32(1 / 60), Fraction(1, 60)),
    (np.float32(1 / 144), Fraction(1, 144)),
    (np.float32(0.0123457), Fraction(float(np.float32(0.0123457)))),
]


@pytest.mark.parametrize(("dt", "exact"), MEANT, ids=repr)
def test_a_number_is_the_same_exact_step_everywhere(Stepper, dt, exact):
    """A stepper and its clock convert a number to the same exact step."""
    body = Stepper([[0.0]], [[1.0]], dt=dt)
    assert body._exact_dt == exact
    assert Stepper._clock_type(dt=dt).hz == body.clock.hz == 1 / exact
    assert Stepper([[0.0]], dt=dt, clock=Stepper._clock_type(dt=dt)).dt == float(exact)
    assert kd.ODEStepper([[1.0]], lambda t, y, out: out.fill(0), dt=dt)._exact_dt == exact
    if isinstance(dt, str):
        assert Stepper([[0.0]], hz=str(1 / exact))._exact_dt == exact
    body.clock.advance_ns(0)
    body.step(3)
    assert body.time == float(3 * exact)
    assert body.clock.alpha == body.alpha == 0.0


@pytest.mark.parametrize("dt", [0.0123457, math.pi / 100, "1001/60000", 1e-9, 3e-7, 1 / 3, 0.7071067811865476, 9.9e5])
def test_every_step_size_works_with_a_clock(Stepper, dt):
    """Regression of 71db8c3: steppers with unusual step sizes could step, but raised when a clock was requested."""
    body = Stepper([[0.0]], [[1.0]], dt=dt)
    given = float(Fraction(dt))
    assert body.dt == pytest.approx(given, rel=1e-12)
    clock = body.clock
    assert clock.dt == clock.substep_dt == body.dt
    runs = [body.advance(body.dt) for _ in range(8)] if 1e-8 < given < 0.25 else []
    assert runs == [1] * len(runs)
    assert body.tick == clock.tick == len(runs)
    assert body.alpha == clock.alpha
    assert body.interpolate(0.5).shape == (1, 1)
    assert body.interpolate().shape == (1, 1)


def test_floats_are_converted_without_change_where_no_simple_fraction_is_close():
    """Floats from 0.25 ms to 0.1 s are used exactly, except for those that are close to a simple fraction by chance."""
    rng = np.random.default_rng(4)
    kept = 0
    for dt in rng.uniform(2.5e-4, 0.1, 2000).tolist():
        exact = time_steps.time_step(dt, None)
        assert time_steps.countable(exact)
        assert abs(float(exact) - dt) <= 1e-9 * dt
        kept += float(exact) == dt
        assert time_steps.time_step(None, 1 / dt) is not None
    assert kept > 1900
    counted = 0
    for dt in np.exp(rng.uniform(np.log(1e-9), np.log(1e6), 4000)).tolist():
        exact = time_steps.time_step(dt, None)
        assert time_steps.countable(exact) or dt > 1
        assert abs(float(exact) - dt) <= 1e-9 * dt
        counted += time_steps.countable(exact)
    # A clock cannot represent steps of seconds that are slightly more than 1e-9 from a simple fraction.
    assert counted > 3950


@pytest.mark.parametrize("dt", [1e-15, 1e9, 1e-300, 1e300, Fraction(1, 10**15)])
def test_steps_that_no_clock_can_represent(Stepper, dt):
    """Step sizes of molecules and galaxies work in steppers; only clocks refuse them."""
    body = Stepper([[0.0]], [[1.0]], dt=dt)
    body.step(4)
    assert (body.dt, body.time) == (float(dt), float(4 * Fraction(dt)) if dt != 1e-15 else 4e-15)
    for use in (lambda: body.clock, lambda: body.advance(1.0)):
        with pytest.raises(ValueError, match=r"^clock: expected dt to be a step that a clock can count, .* got "):
            use()
    assert body.interpolate(0.5).tolist() == body.position.tolist()
    twin = copy.copy(body)
    assert (twin.tick, twin.dt, twin.time) == (body.tick, body.dt, body.time)


def test_dt_of_a_substep_is_accepted_together_with_its_clock(Stepper):
    clock = Stepper._clock_type("60000/1001", substeps=7)
    body = Stepper([[0.0]], clock=clock, dt=1001 / 420000)
    assert body._exact_dt == Fraction(1001, 420000)


# --- variable steps ----------------------------------------------------------------------------


def measuring(Stepper, substeps=1):
    clock = Stepper._clock_type(60, policy="variable(0.1)", substeps=substeps)
    return Stepper([[0.0]], [[1.0]], clock=clock, forces=[kd.AnchorSpring(1.0)])


@pytest.mark.parametrize("substeps", [1, 3])
def test_a_measured_step_is_exact(Stepper, substeps):
    body = measuring(Stepper, substeps)
    total = 0
    for ns in (16_666_667, 12_345_679, 33_333_331):
        total += ns
        assert body.advance(Fraction(ns, 10**9)) == 1
        assert body._exact_dt == Fraction(body.clock.state().step_ns, 10**9 * substeps)
        assert body.dt == body.clock.substep_dt == float(body._exact_dt)
    assert body._time_exact() == body.clock.time_exact
    assert body.time == pytest.approx(total / 1e9, abs=3e-9)


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda body: pickle.loads(pickle.dumps(body)), None],
    ids=["copy", "deepcopy", "pickle", "restore"],
)
def test_steppers_with_variable_steps_can_be_copied_and_restored(Stepper, copied, substeps):
    body = measuring(Stepper, substeps)
    for frame in (0.0123457, 0.0171, 0.02):
        body.advance(frame)
    if copied is None:
        twin = measuring(Stepper, substeps)
        twin.restore(body.snapshot())
        assert twin.clock.hz == 60
    else:
        twin = copied(body)
        assert twin.clock is not body.clock
        assert twin.clock.state() == body.clock.state()
    assert (twin.tick, twin.dt, twin._exact_dt, twin.time) == (body.tick, body.dt, body._exact_dt, body.time)
    assert twin.snapshot() == body.snapshot()
    for frame in (0.013, 0.0, 0.05):
        assert body.advance(frame) == twin.advance(frame)
    if copied is not None:
        assert twin.snapshot() == body.snapshot()


def test_rollback_under_a_variable_clock(Stepper):
    body = measuring(Stepper)
    past = kd.Rollback(body, 10)
    seen = {}
    for frame in (0.01, 0.0123457, 0.0171, 0.02):
        past.save()
        seen[body.tick] = body.checksum(), body.dt, body.time
        body.advance(frame)
    past.rollback(2)
    assert (body.checksum(), body.dt, body.time) == seen[2]
    assert body.clock.hz == 60
    past.resimulate(4)
    assert body.tick == 4
    assert body.advance(0.01) == 1
    kd.sync_test(measuring(Stepper), 20)


# --- time ---------------------------------------------------------------------------------------


def test_exact_time_of_a_stepper_stays_bounded(Stepper):
    """Each dt has its own denominator: an exact sum of 500 of them would need thousands of digits."""
    body = Stepper(np.zeros((1, 1)), np.ones((1, 1)))
    exact = Fraction(0)
    for number in range(500):
        dt = Fraction(1, 10**6 + 3 + 2 * number)
        body.dt = dt
        body.step(2)
        exact += 2 * dt
    assert body.time == float(exact)
    assert abs(body._time_exact() - exact) < Fraction(1, 2**1080)
    assert len(body.snapshot()) < 4000
    twin = copy.copy(body)
    assert twin.time == body.time


def test_exact_time_of_a_clock_stays_bounded(Stepper):
    clock = Stepper._clock_type(60)
    exact = Fraction(0)
    for number in range(300):
        clock.hz = 10**6 + 3 + 2 * number
        exact += clock.advance_ns(2000) / clock.hz
    assert clock.tick > 300
    assert clock.time == float(exact)
    assert abs(clock.time_exact - exact) < Fraction(1, 2**1080)
    twin = copy.copy(clock)
    assert twin.time_exact == clock.time_exact


def test_time_that_overflows_is_infinite(Stepper):
    body = Stepper(np.zeros((0, 1)), dt=1e308)
    body.step(1)
    assert body.time == 1e308
    body.step(10**6)
    assert body.time == math.inf
    body.dt = 0.5
    assert body.time == math.inf
    assert body.record(2).time.tolist() == [math.inf] * 3


def test_callbacks_get_infinite_times(ODEStepper):
    times = []
    equation = ODEStepper([[0.0]], lambda t, y, out: times.append(t), dt=1e308, integrator="explicit_euler")
    equation.step(3)
    assert times == [0.0, 1e308, math.inf]


def test_huge_steps_are_refused_quickly(Stepper):
    begin = time.process_time()
    for bad in ("1e3000000", "1/" + "9" * 10**6, Fraction(3**10**6, 7), 10**10**6):
        for name in "dt", "hz":
            with pytest.raises(ValueError, match=f"^{name}: expected"):
                Stepper([[0.0]], **{name: bad})
    assert time.process_time() - begin < 5


# --- one clock per stepper ---------------------------------------------------------------------


def test_a_clock_belongs_to_one_stepper(Stepper):
    clock = Stepper._clock_type(60)
    body = Stepper([[0.0]], [[1.0]], clock=clock)
    with pytest.raises(ValueError, match=r"^clock: expected one of its own, got that of <kickdrift"):
        Stepper([[0.0]], clock=clock)
    own = Stepper([[0.0]])
    with pytest.raises(ValueError, match=r"^clock: expected one of its own"):
        Stepper([[0.0]], clock=own.clock)
    twins = [copy.copy(body), copy.deepcopy(body), pickle.loads(pickle.dumps(body))]
    assert len({id(stepper.clock) for stepper in (body, *twins)}) == 4
    assert body.advance(0.05) == 3
    assert Stepper([[0.0]], clock=copy.copy(clock)).clock.tick == 3


def test_a_deleted_or_refused_stepper_releases_its_clock(Stepper):
    clock = Stepper._clock_type(60)
    body = Stepper([[0.0]], clock=clock)
    del body
    gc.collect()
    with pytest.raises(ValueError, match="threads") as refused:
        Stepper([[0.0]], clock=clock, threads=0)
    assert Stepper([[0.0]], clock=clock).advance(0.05) == 3
    assert refused.value is not None
