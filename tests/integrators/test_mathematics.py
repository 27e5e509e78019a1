"""Mathematical properties of each force and integrator."""

import math

import numpy as np
import pytest
from plans import INTEGRATORS
from samples import TERMS

import kickdrift as kd

G = 9.81
RATES = (30, 60, 144)


@pytest.mark.parametrize("hz", [2, 30, 60, 144])
@pytest.mark.parametrize("name", ["velocity_verlet", "groot_warren", "leapfrog", "verlet", "midpoint", "rk4", "exact"])
def test_exact_under_constant_gravity_at_any_rate(Stepper, name, hz):
    ball = Stepper([[0.0, 2.0]], [[3.0, 8.0]], hz=hz, integrator=name, forces=[kd.Gravity((0, -G))])
    for seconds in (1, 2, 3):
        ball.step(hz)
        expected = [3.0 * seconds, 2 + 8 * seconds - G * seconds**2 / 2]
        np.testing.assert_allclose(ball.position[0], expected, rtol=1e-12, atol=1e-11)
        if name != "verlet":
            np.testing.assert_allclose(ball.velocity[0], [3, 8 - G * seconds], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["explicit_euler", "semi_implicit_euler", "implicit_euler"])
def test_euler_methods_have_the_known_error_in_free_fall(Stepper, name):
    for hz in RATES:
        ball = Stepper([[0.0]], hz=hz, integrator=name, forces=[kd.Gravity(-G)])
        ball.step(hz)
        late = 1 if name == "explicit_euler" else -1
        assert ball.position.item() == pytest.approx(-G / 2 + late * G / (2 * hz), rel=1e-12)


# Energy-conserving Euler.


def test_energy_euler_conserves_energy_of_a_thrown_ball(Stepper):
    ball = Stepper([[0.0, 1.0]], [[2.0, 6.0]], 3.0, dt=0.01, integrator="energy_euler", forces=[kd.Gravity((0, -G))])
    energy, heights = sum(ball.energy()), []
    for _ in range(140):
        ball.step()
        heights.append(ball.position[0, 1])
        assert sum(ball.energy()) == pytest.approx(energy, rel=1e-12)
    assert max(heights) == pytest.approx(1 + 36 / (2 * G), rel=0.01)
    assert heights[-1] < 1
    assert ball.velocity[0, 1] < -6


def test_energy_euler_reverses_a_ball_thrown_straight_up(Stepper):
    # Without horizontal speed, the radicand at the top is zero or negative.
    ball = Stepper([[0.0]], [[6.0]], dt=0.01, integrator="energy_euler", forces=[kd.Gravity(-G)])
    energy = sum(ball.energy())
    for _ in range(140):
        ball.step()
        assert sum(ball.energy()) == pytest.approx(energy, abs=1e-3 * energy)
    assert ball.velocity.item() == pytest.approx(6 - G * 1.4, rel=0.02)


@pytest.mark.parametrize("dt", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("force", [kd.AnchorSpring(0.5), kd.PointGravity(1.0, softening=0.1)], ids=["spring", "well"])
def test_energy_euler_conserves_energy_at_any_step(isa, dt, force):
    rng = np.random.default_rng(4)
    bodies = kd.Stepper(
        rng.normal(size=(8, 2)), rng.normal(size=(8, 2)) / 2, dt=dt, integrator="energy_euler", forces=[force]
    )
    before = sum(bodies.energy())
    for _ in range(20):
        bodies.step(500)
        assert sum(bodies.energy()) == pytest.approx(before, rel=1e-8)
    assert (abs(bodies.velocity) > 1e-3).any(axis=1).all(), "all of them still move"


def test_energy_euler_oscillates_from_rest(Stepper):
    spring = Stepper([[1.0]], dt=0.01, integrator="energy_euler", forces=[kd.AnchorSpring(4.0)])
    crossings, last = 0, 1.0
    for _ in range(2000):
        spring.step()
        crossings += last * spring.position.item() < 0
        last = spring.position.item()
        assert sum(spring.energy()) == pytest.approx(2.0, rel=2e-3)
        assert abs(last) < 1.002
    assert crossings == pytest.approx(20 * 2 * 2 / (2 * math.pi), abs=1)


# Infinite mass.

FIELDS = [term for term in TERMS if term.alone and term.per_body]


def taken(integrator, terms):
    """Return the terms that an integrator supports."""
    if isinstance(integrator, kd.Exact):
        return [term for term in terms if isinstance(term, kd.Gravity | kd.LinearDrag | kd.AnchorSpring)]
    if isinstance(integrator, kd.EnergyEuler):
        return [term for term in terms if term.conservative]
    return terms


@pytest.mark.parametrize("mass", [np.inf, [1.0, np.inf]], ids=["all", "one"])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_infinite_mass_keeps_its_velocity(Stepper, integrator, mass):
    n, heavy = np.size(mass), np.size(mass) - 1
    v0, h, steps = np.array([0.25, -1.5]), 1 / 64, 24
    for terms in (*([term] for term in taken(integrator, FIELDS)), taken(integrator, FIELDS)):
        stepper = Stepper(np.full((n, 2), 0.5), np.tile(v0, (n, 1)), mass, dt=h, integrator=integrator, forces=terms)
        stepper.step(steps)
        name = " ".join(type(term).__name__ for term in terms)
        # Verlet's velocity is a difference of positions; binary fractions make it exact.
        assert stepper.velocity[heavy].tolist() == v0.tolist(), name
        np.testing.assert_allclose(stepper.position[heavy], 0.5 + steps * h * v0, rtol=1e-14, err_msg=name)
        if heavy:
            assert (stepper.velocity[0] != v0).any(), name


# float32 far from the origin.


def test_float32_keeps_differences_far_from_the_origin(Stepper):
    # A step of 1 s from rest shows the acceleration. The expanded form k x - k p would be accurate to 1/32 only.
    far = np.float32(2**20)
    x, v = np.array([[far + 0.125]], np.float32), np.zeros((1, 1), np.float32)
    spring = kd.AnchorSpring(0.3, anchor=far)
    Stepper(x, v, dt=1, integrator="explicit_euler", forces=[spring]).step()
    assert v.item() == -np.float32(0.3) * np.float32(0.125)
    x, v = np.zeros((1, 1), np.float32), np.array([[far + 0.5]], np.float32)
    drag = kd.LinearDrag(0.3, wind=far)
    Stepper(x, v, dt=1, integrator="explicit_euler", forces=[drag]).step()
    assert v.item() == far + np.float32(0.5) - np.float32(0.3) * np.float32(0.5)


@pytest.mark.parametrize("term", [kd.PointGravity(0.3, center=2**20), kd.QuadraticDrag(0.3, wind=2**20)], ids=repr)
def test_nonlinear_terms_keep_differences_far_from_the_origin(Stepper, term):
    far = np.float32(2**20) + np.float32(0.5)
    x, v = np.array([[far]]), np.array([[far]])
    Stepper(x, v, dt=1, integrator="explicit_euler", forces=[term]).step()
    change = -0.3 / 0.5**2 if isinstance(term, kd.PointGravity) else -0.3 * 0.5**2
    assert v.item() - far == pytest.approx(change, abs=0.0625)  # half the spacing of float32 numbers there


# Damping.


@pytest.mark.parametrize("name", ["semi_implicit_euler", "velocity_verlet", "groot_warren", "rk4", "leapfrog"])
@pytest.mark.parametrize("damping", [kd.Damping(0.7), kd.Damping.per_frame(0.05), kd.Damping.per_frame(0.05, fps=30)])
def test_damping_decays_equally_at_every_rate(Stepper, name, damping):
    speeds = []
    for hz in RATES:
        stepper = Stepper([[0.0]], [[8.0]], hz=hz, integrator=name, forces=[damping])
        stepper.step(hz // 2)
        speeds.append(stepper.velocity.item())
    assert speeds == pytest.approx([8 * math.exp(-0.5 * float(damping.rate))] * len(RATES), rel=1e-13)


def test_per_frame_damping_equals_the_usual_loop_at_its_own_rate(Stepper):
    for loss, fps in ((0.05, 60), (0.2, 30), (0.0, 60)):
        stepper = Stepper([[0.0]], [[8.0]], hz=fps, integrator="semi_implicit_euler",
                          forces=[kd.Damping.per_frame(loss, fps)])  # fmt: skip
        v = 8.0
        for _ in range(20):
            stepper.step()
            v -= v * loss
            assert stepper.velocity.item() == pytest.approx(v, rel=1e-13)


@pytest.mark.parametrize("velocity", ["backward", "central"])
def test_damping_acts_on_verlet_too(Stepper, velocity):
    # Verlet's velocity is a difference of positions: damping shortens the displacement of each step.
    speeds, places = [], []
    for hz in RATES:
        stepper = Stepper([[0.0]], [[8.0]], hz=hz, integrator=kd.Verlet(velocity=velocity), forces=[kd.Damping(2.0)])
        stepper.step(hz)
        speeds.append(stepper.velocity.item())
        places.append(stepper.position.item())
    assert speeds == pytest.approx([8 * math.exp(-2)] * len(RATES), rel=1e-12)
    # The displacement is a geometric sum, of first order in the step as with every integrator.
    assert places == pytest.approx([8 / hz / (1 - math.exp(-2 / hz)) * (1 - math.exp(-2)) for hz in RATES], rel=1e-12)


def test_damping_per_body(Stepper):
    stepper = Stepper(np.zeros((3, 1)), np.ones((3, 1)), dt=0.5, forces=[kd.Damping([0.0, 1.0, 2.0]), kd.Damping(1.0)])
    stepper.step()
    np.testing.assert_allclose(stepper.velocity.ravel(), np.exp([-0.5, -1.0, -1.5]), rtol=1e-15)


# Sums of terms, and their formulas.


def acceleration(cls, term, x, v, mass=1.0):
    stepper = cls([x], [v], mass, dt=1, integrator="explicit_euler", forces=[term])
    stepper.step()
    return stepper.velocity[0] - v


def test_forces_are_divided_by_mass_and_accelerations_are_not(Stepper):
    x, v = np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, -0.5])
    forces = [kd.LinearDrag(0.3), kd.QuadraticDrag(0.2), kd.AnchorSpring(2.0, 0.5)]
    accelerations = [kd.Gravity((1, 2, 3)), kd.PointGravity(2.0), kd.Vortex(1.5), kd.AnchorSpring.from_frequency(0.4)]
    for term in forces + accelerations:
        share = 4 if term in forces else 1
        light, heavy = acceleration(Stepper, term, x, v), acceleration(Stepper, term, x, v, 4.0)
        np.testing.assert_allclose(share * heavy, light, rtol=1e-13, err_msg=repr(term))


def test_every_term_equals_its_documented_formula(Stepper):
    x, v = np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, -0.5])
    w, p = np.array([0.2, 0.1, -0.3]), np.array([1.0, 1.0, 0.5])
    axis = np.array([1.0, 2.0, -2.0]) / 3
    u, d, t = v - w, x - p, np.cross(axis, x - p)
    omega = 2 * math.pi * 0.4
    expected = {
        kd.Gravity((1, 2, 3)): np.array([1, 2, 3]),
        kd.LinearDrag(0.3, w): -0.3 * u,
        kd.QuadraticDrag(0.3, w): -0.3 * np.linalg.norm(u) * u,
        kd.AnchorSpring(2.0, 0.5, p): -2 * d - 0.5 * v,
        kd.AnchorSpring.from_frequency(0.4, 0.7, p): -(omega**2) * d - 2 * 0.7 * omega * v,
        kd.PointGravity(2.0, p, 0.3): -2 * d / (d @ d + 0.09) ** 1.5,
        kd.Vortex(1.5, p, 7 * axis, 0.3): 1.5 * t / (t @ t + 0.09),
    }
    for term, a in expected.items():
        np.testing.assert_allclose(acceleration(Stepper, term, x, v), a, rtol=1e-13, err_msg=repr(term))


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, 0.01), (0, 0, -3)])
def test_vortex_rotates_about_z_in_the_plane(Stepper, axis):
    # Positive is counter-clockwise, seen against the axis.
    a = acceleration(Stepper, kd.Vortex(2.0, axis=axis), np.array([4.0, 0.0]), np.zeros(2))
    assert a.tolist() == [0, math.copysign(0.5, axis[2])]


def test_no_acceleration_at_the_center(Stepper):
    for term in (kd.PointGravity(2.0), kd.Vortex(2.0), kd.QuadraticDrag(2.0)):
        np.testing.assert_array_equal(acceleration(Stepper, term, np.zeros(3), np.zeros(3)), 0)


def test_terms_add_up_in_any_order(Stepper):
    x, v = np.array([0.5, -1.0]), np.array([1.0, 2.0])
    terms = [
        kd.Gravity((0, -G)), kd.Gravity((1, 0)), kd.LinearDrag(0.3, (1, 0)), kd.LinearDrag(0.6, (0, 2)),
        kd.AnchorSpring(2.0, 0.5, (1, 1)), kd.AnchorSpring(1.0, 0, (0, 3)), kd.QuadraticDrag(0.2), kd.PointGravity(1.0),
    ]  # fmt: skip
    total = sum(acceleration(Stepper, term, x, v) for term in terms)
    for order in (terms, terms[::-1]):
        stepper = Stepper([x], [v], dt=1, integrator="explicit_euler", forces=order)
        stepper.step()
        np.testing.assert_allclose(stepper.velocity[0] - v, total, rtol=1e-13)
