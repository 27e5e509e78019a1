"""Magnetic fields and rotating frames: equality with the reference, and physics."""

import math

import numpy as np
import pytest
from plans import INTEGRATORS, assert_same_state, compare_with_reference, in_turn, smooth_scene, turned_scene

import kickdrift as kd

TURNING = [integrator for integrator in INTEGRATORS if not isinstance(integrator, kd.Exact)]
SECOND = ["velocity_verlet", "leapfrog", "yoshida4", "midpoint", "heun", "rk4", "groot_warren"]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_plans_equal_the_reference(monkeypatch, first, held):
    draw = in_turn(lambda rng, integrator: turned_scene(rng, integrator, held), TURNING)
    compare_with_reference(monkeypatch, draw, range(first, first + 20))


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_rods_and_smooth_walls_equal_the_reference(monkeypatch, first):
    compare_with_reference(monkeypatch, in_turn(smooth_scene, TURNING), range(first, first + 20))


@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper])
def test_a_field_that_is_set_in_the_run_acts_on_rods(Stepper):
    """The impulses of constraints are turned from then on, which needs memory that the stepper did not have before."""
    steppers = []
    for field in (2.0, 0.0):
        chain = np.stack([np.arange(7), np.zeros(7)], axis=1)
        field = kd.Magnetic(1.0, field)
        rods = kd.Distance([[k, k + 1] for k in range(6)], 1.0)
        steppers.append(Stepper(chain, chain[:, ::-1].copy(), dt=0.01, forces=[field], constraints=[rods]))
        if len(steppers) == 2:
            steppers[1].set(field, field=2.0)
        steppers[-1].step(50)
    assert_same_state(*steppers)


@pytest.mark.parametrize("integrator", ["velocity_verlet", "leapfrog", "semi_implicit_euler", "yoshida4"])
def test_a_magnetic_field_does_no_work(integrator):
    """1,000 revolutions at omega h = 0.1."""
    charge = kd.Stepper(
        [[1.0, 2.0, 3.0]], [[1.0, -0.5, 2.0]], mass=0.5, dt=0.1, integrator=integrator,
        forces=[kd.Magnetic(0.5, (0.6, 0.0, 0.8))],
    )  # fmt: skip
    kinetic, _ = charge.energy()
    charge.step(round(1000 * 2 * math.pi / 0.1))
    assert charge.energy() == (pytest.approx(kinetic, rel=1e-9), 0.0)


@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper])
@pytest.mark.parametrize("charge", [2.0, -2.0])
def test_charges_circle_with_the_cyclotron_frequency(Stepper, charge):
    """v' = q/m v x B in the plane: a positive charge circles clockwise about a field towards the viewer."""
    start = np.array([[3.0, 0.0]])
    particle = Stepper(np.zeros((1, 2)), start.copy(), mass=4.0, dt=0.25, forces=[kd.Magnetic(charge, 3.0)])
    particle.step(7)
    angle = -charge * 3.0 / 4.0 * 7 * 0.25
    turned = [[3 * math.cos(angle), 3 * math.sin(angle)]]
    np.testing.assert_allclose(particle.velocity, turned, rtol=1e-14)


def crossed_fields(integrator, steps):
    """Error of a charge in E and B after 2 s: the exact solution drifts with E x B / B² and circles."""
    q, m, b = 1.5, 2.0, 4.0
    e, v0 = np.array([0.3, -0.2]), np.array([1.0, 0.5])
    stepper = kd.Stepper(
        np.zeros((1, 2)), v0[None].copy(), mass=m, dt=2 / steps, integrator=integrator,
        forces=[kd.Magnetic(q, b), kd.Gravity(q / m * e)],
    )  # fmt: skip
    stepper.step(steps)
    w, drift = -q * b / m, np.array([e[1], -e[0]]) / b
    u, angle = v0 - drift, w * 2
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    place = drift * 2 + np.array([u[1] + (turn @ u)[1] - 2 * u[1], u[0] - (turn @ u)[0]]) / w
    return np.abs(stepper.position[0] - place).max() + np.abs(stepper.velocity[0] - (drift + turn @ u)).max()


@pytest.mark.parametrize("integrator", SECOND)
def test_second_order_in_crossed_fields(integrator):
    errors = [crossed_fields(integrator, steps) for steps in (100, 200, 400)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([2, 2], abs=0.1)


@pytest.mark.parametrize("dim", [2, 3])
def test_free_motion_in_a_rotating_frame_equals_the_transformed_inertial_one(dim):
    """Compare with straight motion, transformed to a frame that rotates about a center."""
    omega, center = 0.7, np.array([0.5, -0.25, 0.0])[:dim]
    rest, speed = np.array([1.0, 2.0, 3.0])[:dim], np.array([-0.5, 0.25, 0.125])[:dim]

    def turned(angle, vector):
        result = vector.copy()
        c, s = math.cos(angle), math.sin(angle)
        result[0], result[1] = c * vector[0] + s * vector[1], c * vector[1] - s * vector[0]
        return result

    def across(vector):  # omega z x vector
        result = np.zeros(dim)
        result[0], result[1] = -omega * vector[1], omega * vector[0]
        return result

    frame = kd.RotatingFrame(omega if dim == 2 else (0, 0, omega), center)
    stepper = kd.Stepper(
        rest[None].copy(), (speed - across(rest - center))[None], mass=3.0, dt=0.001, forces=[frame],
    )  # fmt: skip
    before = sum(stepper.energy())
    stepper.step(2000)
    there = center + turned(2 * omega, rest + 2 * speed - center)
    np.testing.assert_allclose(stepper.position[0], there, atol=1e-5)
    assert sum(stepper.energy()) == pytest.approx(before, abs=1e-5)
    moved = kd.Stepper(rest[None] + 10, (speed - across(rest - center))[None], mass=3.0, dt=0.001,
                       forces=[kd.RotatingFrame(frame.omega, center + 10)])  # fmt: skip
    moved.shift((-10,) * dim)
    moved.step(2000)
    np.testing.assert_allclose(moved.position, stepper.position, atol=1e-12)


def test_foucault_pendulum():
    """At latitude 49° the plane of oscillation rotates once per day / sin 49°; the day has 600 s here."""
    period = 600 / math.sin(math.radians(49))
    swing, turn = kd.AnchorSpring.from_frequency(0.5), kd.RotatingFrame(2 * math.pi / period)
    pendulum = kd.Stepper([[1.0, 0.0]], dt=0.01, forces=[swing, turn])
    x, y = pendulum.record(40_000, every=1).position[:, 0].T
    r = x * x + y * y
    peaks = np.flatnonzero((r[1:-1] > r[:-2]) & (r[1:-1] >= r[2:])) + 1
    angle = np.unwrap(2 * np.arctan2(y[peaks], x[peaks])) / 2
    rate = -np.polyfit(peaks * 0.01, angle, 1)[0]
    assert 2 * math.pi / rate == pytest.approx(period, rel=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kd.Stepper([[0.0]], forces=[kd.Magnetic(1, 1)]), r"^Magnetic: expected dim 2 or 3, got 1"),
        (
            lambda: kd.Stepper(np.zeros((2, 3)), forces=[kd.Magnetic(1, 1)]),
            r"^Magnetic\(field\): expected shape \(3,\) or \(n, 3\), got \(\)",
        ),
        (
            lambda: kd.Stepper(np.zeros((2, 3)), forces=[kd.RotatingFrame(1)]),
            r"^RotatingFrame\(omega\): expected shape \(3,\), got \(\)",
        ),
        (
            lambda: kd.Stepper(np.zeros((2, 2)), integrator="exact", forces=[kd.Magnetic(1, 1)]),
            r"^integrator: exact takes",
        ),
        (
            lambda: kd.Stepper(np.zeros((2, 2)), integrator="implicit_euler", forces=[kd.Magnetic(1, 1), kd.NBody()]),
            r"^integrator: implicit_euler takes Magnetic and RotatingFrame only without",
        ),
    ],
)
def test_invalid_fields_and_frames_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("integrator", ["velocity_verlet", "semi_implicit_euler"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_steps_of_charges_equal_the_reference(isa, integrator, dtype):
    """A single step works in place on contiguous components, and on tiles otherwise."""
    rng = np.random.default_rng(4)
    for n in (1, 7, 16, 31, 64, 250):
        x, v = (rng.normal(size=(n, 3)).astype(dtype) for _ in range(2))
        forces = [kd.Magnetic(rng.normal(size=n), rng.normal(size=(n, 3))), kd.Gravity(rng.normal(size=3))]
        given = {"dt": 0.1, "integrator": integrator, "forces": forces}
        rows, planes = kd.Stepper(x.copy(), v.copy(), **given), kd.Stepper(x.copy("F"), v.copy("F"), **given)
        many, book = kd.Stepper(x.copy(), v.copy(), **given), kd.reference.Stepper(x.copy(), v.copy(), **given)
        for _ in range(5):
            rows.step()
            planes.step()
        many.step(5)
        book.step(5)
        for ours in (rows, planes, many):
            assert_same_state(ours, book)
            assert ours.force_evaluations >= 5


@pytest.mark.parametrize("integrator", ["velocity_verlet", "semi_implicit_euler"])
def test_a_charge_that_overflows_is_reported(integrator):
    x = np.zeros((100, 3))
    x[70] = 1e308
    wild = kd.Stepper(x, x.copy(), dt=10.0, integrator=integrator, forces=[kd.Magnetic(1.0, (0.0, 0.0, 1e-3))])
    with pytest.raises(kd.NonFiniteError, match="body 70"):
        wild.step()
    assert wild.tick == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expressions_in_a_magnetic_field_equal_the_reference(isa, dtype):
    """RK4 keeps a copy of the initial state only if there is a rotation."""
    rng = np.random.default_rng(5)
    x, v = (rng.normal(size=(250, 2)).astype(dtype) for _ in range(2))
    pull = kd.Expression(x="-k*x*(x*x + y*y)", y="-y*k - vx*0.1", k=2.0)
    for forces in ([pull], [pull, kd.Magnetic(0.5, 2.0)], [pull, kd.LinearDrag(0.1)]):
        given = {"dt": 0.02, "integrator": "rk4", "forces": forces}
        ours, book = kd.Stepper(x.copy(), v.copy(), **given), kd.reference.Stepper(x.copy(), v.copy(), **given)
        for steps in (1, 3):
            ours.step(steps)
            book.step(steps)
        assert_same_state(ours, book)
