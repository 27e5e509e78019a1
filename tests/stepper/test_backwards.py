"""Negative dt: steppers run backwards in time; clocks do not."""

from fractions import Fraction

import numpy as np
import pytest
from forge import forge
from plans import assert_same_state

import kickdrift as kd
from kickdrift import reference

STEPPERS = [kd.Stepper, reference.Stepper]
SYMMETRIC = ["velocity_verlet", "leapfrog", "yoshida4", "yoshida6", "pefrl"]
TERMS = [kd.AnchorSpring(3.0), kd.PointGravity(2.0, softening=0.5)]
PLACES = [[1.0, 0.25], [-0.5, 2.0], [0.0, 1.5]]
SPEEDS = [[0.0, 1.0], [0.5, -0.25], [1.0, 0.0]]


def world(stepper=kd.Stepper, **options):
    options = {"dt": 0.01, "forces": TERMS, "mass": [1.0, 2.0, 3.0]} | options
    dtype = options.pop("dtype", np.float64)
    return stepper(np.array(PLACES, dtype), np.array(SPEEDS, dtype), **options)


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("integrator", SYMMETRIC)
def test_symmetric_integrators_return_to_the_initial_state(stepper, integrator):
    there = world(stepper, integrator=integrator)
    there.step(300)
    assert np.abs(there.position - PLACES).max() > 0.1
    there.dt = -there.dt
    there.step(300)
    assert np.abs(there.position - PLACES).max() < 1e-12
    assert np.abs(there.velocity - SPEEDS).max() < 1e-12
    assert there.tick == 600
    assert there.time == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", sorted(set(kd.INTEGRATORS) - {"dopri8", "exact"}))
def test_negative_dt_is_bitwise_equal_to_the_reference(integrator, dtype):
    pair = [world(stepper, integrator=integrator, dt=-0.02, dtype=dtype) for stepper in STEPPERS]
    for each in pair:
        each.step(40)
        each.dt = 0.01
        each.step(10)
        each.dt = "-1/64"
        each.step(10)
    assert_same_state(pair[0], pair[1])


@pytest.mark.parametrize("stepper", STEPPERS)
def test_exact_integrator_and_damping_run_backwards(stepper):
    terms = [kd.AnchorSpring(3.0), kd.LinearDrag(0.5), kd.Gravity((0.0, -1.0))]
    there = world(stepper, integrator="exact", forces=terms, dt=0.5)
    there.step(10)
    there.dt = Fraction(-1, 2)
    there.step(10)
    assert np.abs(there.position - PLACES).max() < 1e-11
    free = world(stepper, forces=[kd.Damping(0.5)], dt=-0.5)
    free.step()
    assert np.allclose(free.velocity, np.exp(0.25) * np.array(SPEEDS), rtol=1e-15)


def test_magnetic_rotation_is_reversible():
    there = world(forces=[kd.Magnetic(1.0, 2.0), kd.AnchorSpring(1.0)])
    there.step(200)
    there.dt = -0.01
    there.step(200)
    assert np.abs(there.position - PLACES).max() < 1e-12


def test_callbacks_get_the_time_of_backward_steps():
    times = []
    there = kd.Stepper([[0.0]], dt=-0.5, forces=[kd.Force(lambda t, x, v, out: times.append(t))], integrator="rk4")
    there.step(2)
    assert times[0] == 0
    assert min(times) == there.time == -1


@pytest.mark.parametrize("integrator", ["rk4", "dopri8", "implicit_euler", "midpoint"])
def test_ode_steppers_run_backwards(integrator):
    rhs = kd.flows.VanDerPol()
    pair = [each([[1.0, 0.5]], rhs, dt=-0.01, integrator=integrator) for each in (kd.ODEStepper, reference.ODEStepper)]
    for each in pair:
        each.step(50)
    assert pair[0].y.tobytes() == pair[1].y.tobytes()
    forwards = kd.ODEStepper([[1.0, 0.5]], rhs, dt=0.01, integrator="dopri8")
    forwards.step(100)
    forwards.dt = -0.01
    forwards.step(100)
    assert np.abs(forwards.y - [1.0, 0.5]).max() < 1e-12
    assert forwards.time == 0


@pytest.mark.parametrize("stepper", STEPPERS)
def test_constraints_and_noise_refuse_negative_dt(stepper):
    with pytest.raises(ValueError, match=r"dt: expected a positive number where there are constraints \(Box\)"):
        world(stepper, dt=-0.01, constraints=[kd.Box((-9, -9), (9, 9))])
    held = world(stepper, constraints=[kd.Box((-9, -9), (9, 9))])
    with pytest.raises(ValueError, match="dt: expected a positive number where there are constraints"):
        held.dt = -0.01
    assert held.dt == 0.01
    held.step()
    thermostatted = world(stepper, forces=[kd.Langevin(1.0, 1.0)])
    with pytest.raises(ValueError, match="dt: expected a positive number under Langevin"):
        thermostatted.dt = -0.01
    thermostatted.step()


@pytest.mark.parametrize("stepper", STEPPERS)
def test_clocks_refuse_negative_dt(stepper):
    there = world(stepper, dt=-0.01)
    with pytest.raises(ValueError, match="clock: expected dt"):
        _ = there.clock
    with pytest.raises(ValueError, match="clock: expected dt"):
        there.advance(0.1)
    timed = world(stepper)
    timed.advance(0.1)
    with pytest.raises(ValueError, match="expected a positive number"):
        timed.dt = -0.01
    for wrong in (0.0, -0.0, "--1", "0", float("-inf"), float("nan")):
        with pytest.raises(ValueError, match="dt"):
            there.dt = wrong
    with pytest.raises(ValueError, match="hz"):
        kd.Stepper([[0.0]], hz=-60)
    with pytest.raises(ValueError, match=r"positive|greater"):
        kd.FixedClock(dt=-0.01)


@pytest.mark.parametrize("integrator", ["verlet", "velocity_verlet", "groot_warren"])
def test_snapshots_keep_the_sign_of_dt(integrator):
    there = world(dt=-0.01, integrator=integrator)
    there.step(10)
    saved = there.snapshot()
    there.step(10)
    end = there.position.copy()
    other = world(dt=0.5, integrator=integrator)
    other.restore(saved)
    assert other.dt == -0.01
    assert other.time == -0.1
    other.dt = -0.01
    other.restore(saved)
    other.step(10)
    assert (other.position == end).all()


def test_snapshots_with_negative_dt_are_refused_by_noise_and_clocks():
    for options in ({"forces": [kd.Langevin(1.0, 1.0)]}, {"clock": kd.FixedClock(100), "dt": None}):
        there = world(**options)
        saved = there.snapshot()
        forged = forge(saved, last_h=-0.01, fields={"dt": "-1/100"})
        with pytest.raises(kd.SnapshotError, match="dt"):
            there.restore(forged)
        assert there.snapshot() == saved
