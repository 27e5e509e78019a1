"""Implicit Euler: stiff springs, the guaranteed residual, and failures to converge."""

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state
from samples import TERMS, in_space

import kickdrift as kd
from kickdrift.forces.base import FieldTerm
from kickdrift.reference import forces
from kickdrift.reference.vector import Vector
from kickdrift.stepper.model import Plan

MU, SOFTENING, CENTER = 4.0, 0.3, np.array([0.2, -0.1, 0.0])
C, D, STIFFNESS = 0.8, 0.5, 30.0
H = 0.05
FORCES = [
    kd.AnchorSpring(STIFFNESS, damping=D),
    kd.PointGravity(MU, CENTER, SOFTENING),
    kd.QuadraticDrag(C),
    kd.Vortex(2.0, axis=(1, 2, 2), softening=0.5),
]


def acceleration(x, v):
    """Acceleration of FORCES on bodies of mass 1, computed from their documented formulas."""
    d = x - CENTER
    t = np.cross(np.array([1, 2, 2]) / 3, x)
    speed, r2, q = (np.sum(u * u, axis=1, keepdims=True) for u in (v, d, t))
    well = -MU * d / (r2 + SOFTENING**2) ** 1.5
    return -STIFFNESS * x - D * v + well - C * np.sqrt(speed) * v + 2.0 * t / (q + 0.25)


def bodies(n, dtype=np.float64):
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, 3)).astype(dtype), (3 * rng.normal(size=(n, 3))).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9, 1e-12])
def test_the_residual_is_below_the_tolerance(Stepper, dtype, tolerance):
    x, v = bodies(5 if Stepper is kd.reference.Stepper else 200, dtype)
    stepper = Stepper(x, v, dt=H, integrator=kd.ImplicitEuler(tolerance=tolerance), forces=FORCES)
    epsilon = np.finfo(dtype).eps
    for _ in range(50):
        old_x, old_v = x.astype(float), v.astype(float)
        stepper.step()
        new_x, new_v = x.astype(float), v.astype(float)
        a = acceleration(new_x, new_v)
        scale = np.abs(new_v).max(axis=1) + np.abs(old_v).max(axis=1) + H * np.abs(a).max(axis=1)
        # Rounding errors of the sum, and of x and v amplified by the stiffest force.
        noise = 8 * epsilon * (scale + H * 200 * (np.abs(new_x).max(axis=1) + np.abs(new_v).max(axis=1)))
        residual = np.abs(new_v - old_v - H * a).max(axis=1)
        assert (residual <= 1.01 * tolerance * scale + noise).all()
        assert np.abs(new_x - old_x - H * new_v).max() <= 8 * epsilon


def test_the_solution_equals_that_of_fixed_point_iteration():
    # Fixed-point iteration needs no Jacobian, but a short step.
    x, v = bodies(20)
    old_x, old_v, h = x.copy(), v.copy(), 1e-3
    kd.Stepper(x, v, dt=h, integrator=kd.ImplicitEuler(tolerance=1e-14), forces=FORCES).step()
    u = old_v
    for _ in range(60):
        u = old_v + h * acceleration(old_x + h * u, u)
    np.testing.assert_allclose(v, u, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(x, old_x + h * u, rtol=1e-12, atol=1e-12)


FIELDS = [term for term in TERMS if isinstance(term, FieldTerm) and term.kind]


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("term", FIELDS, ids=lambda term: type(term).__name__)
def test_jacobians_are_the_derivatives_of_the_accelerations(term, dim):
    # Tests the reference; the kernels are bitwise equal to it.
    if dim == 3:
        term = in_space(term)
    (record,) = Plan(1, dim, np.dtype(np.float64), np.ones(1), kd.RK4(), [term]).records
    fields = {
        name: float(values[0]) if values.ndim == 1 else Vector(values[0]) for name, values in record.fields.items()
    }
    term = forces.TERMS[record.kind](**fields)
    x, v, d = np.array([1.1, 0.2, -0.6])[:dim], np.array([-0.5, 0.8, 0.3])[:dim], 1e-6
    by_x, by_v = ([[0.0] * dim for _ in range(dim)] for _ in range(2))
    term.jacobian(by_x, by_v, Vector(x), Vector(v))
    assert np.any([by_x, by_v]), f"tests/samples.py: expected a sample whose acceleration varies at x = {x}, v = {v}"

    def a(x, v):
        return np.array(term.acceleration(Vector(np.zeros(dim)), Vector(x), Vector(v)))

    for j, e in enumerate(d * np.eye(dim)):
        np.testing.assert_allclose([row[j] for row in by_x], (a(x + e, v) - a(x - e, v)) / (2 * d), atol=1e-8)
        np.testing.assert_allclose([row[j] for row in by_v], (a(x, v + e) - a(x, v - e)) / (2 * d), atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("damping", [0.0, 1e3])
def test_stable_on_a_spring_of_a_million_over_h_squared(Stepper, dtype, damping):
    dt, mass = 1 / 60, 2.0
    spring = kd.AnchorSpring(1e6 * mass / dt**2, damping, anchor=(1.0, -2.0))
    x, v = np.array([[3.0, 5.0]], dtype), np.array([[-40.0, 70.0]], dtype)
    stepper = Stepper(x, v, mass, dt=dt, integrator="implicit_euler", forces=[spring])
    start = energy = sum(stepper.energy())
    for _ in range(20):
        stepper.step()
        now = sum(stepper.energy())
        assert now <= energy + 1e-12 * start
        energy = now
    np.testing.assert_allclose(x, [[1.0, -2.0]], atol=1e-5)
    assert np.abs(v).max() < 1e-3


def falling_into_the_sun(cls, n, failing=(5, 3), threads=1):
    """Create bodies around an unsoftened center; two of them fall into it, at different times."""
    rng = np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, n)
    x = 4 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    v = np.stack([-np.sin(angle), np.cos(angle)], axis=1) / 2
    for body, distance in zip(failing, (1.0, 1.5), strict=True):
        x[body], v[body] = (distance, 0.01), (0.0, 0.0)
    integrator = kd.ImplicitEuler(max_iterations=8)
    return cls(x, v, dt=0.02, integrator=integrator, forces=[kd.PointGravity(1.0)], threads=threads)


def test_failure_leaves_all_bodies_at_the_last_completed_tick_and_the_stepper_usable(Stepper):
    n = 6 if Stepper is kd.reference.Stepper else 300
    stepper = falling_into_the_sun(Stepper, n)
    stepper.step(10)
    with pytest.raises(kd.ConvergenceError) as caught:
        stepper.step(1000)
    failure = caught.value
    assert failure.body == 5
    assert failure.tick == stepper.tick
    assert 10 < failure.tick < 1010
    assert failure.residual > 0
    assert f"body 5 at tick {failure.tick}: residual" in str(failure)
    again = falling_into_the_sun(Stepper, n)
    again.step(failure.tick)
    assert_same_state(stepper, again)
    assert stepper.time == again.time
    # The failed step fails again with an equal message; without that body it succeeds.
    with pytest.raises(kd.ConvergenceError, match=f"body 5 at tick {failure.tick}"):
        stepper.step()
    stepper.position[5], stepper.velocity[5] = (4.0, 0.0), (0.0, 0.5)
    stepper.step()
    assert stepper.tick == failure.tick + 1


def test_the_first_of_several_failing_bodies_is_reported(Stepper):
    x, v = np.zeros((300, 1)), np.full((300, 1), 1e-3)
    if Stepper is kd.reference.Stepper:
        x, v = x[:200], v[:200]
    v[[140, 150, 199]] = 100.0
    drag = kd.QuadraticDrag(50.0)
    stepper = Stepper(x, v, dt=0.1, integrator=kd.ImplicitEuler(max_iterations=1, tolerance=1e-3), forces=[drag])
    before = x.copy(), v.copy()
    with pytest.raises(kd.ConvergenceError) as caught:
        stepper.step(3)
    assert (caught.value.body, caught.value.tick) == (140, 0)
    assert_same_bits(x, before[0])
    assert_same_bits(v, before[1])


def test_the_residual_of_a_failure_is_that_of_the_last_iterate(Stepper):
    # u is one Newton step from u = v for the equation u - v + h c u |u| = 0.
    v, h, c = 100.0, 0.1, 50.0
    stepper = Stepper([[0.0]], [[v]], dt=h, integrator=kd.ImplicitEuler(max_iterations=1), forces=[kd.QuadraticDrag(c)])
    with pytest.raises(kd.ConvergenceError) as caught:
        stepper.step()
    u = v - h * c * v * v / (1 + 2 * h * c * v)
    assert caught.value.residual == pytest.approx(abs(u - v + h * c * u * u), rel=1e-12)


def test_threads_report_the_same_failure():
    # Enough bodies for several threads; failures occur at different steps and in different threads.
    outcomes = []
    for threads in (1, 2, 3):
        stepper = falling_into_the_sun(kd.Stepper, 20000, failing=(15000, 3), threads=threads)
        with pytest.raises(kd.ConvergenceError) as caught:
            stepper.step(1000)
        outcomes.append((str(caught.value), stepper.position.tobytes(), stepper.velocity.tobytes()))
    assert "body 15000 " in outcomes[0][0]
    assert outcomes[0] == outcomes[1] == outcomes[2]


def poison_last(t, position, velocity, out):
    out[-1, 1] = np.nan


@pytest.mark.parametrize("n", [1, 3, 40])
@pytest.mark.parametrize("force", [kd.Expression(y="sqrt(x - 10)"), kd.Force(poison_last)], ids=["Expression", "Force"])
def test_a_nan_beside_zeros_is_not_taken_as_solved(Stepper, force, n):
    """The residual is the largest component: a maximum by comparisons would skip a NaN after the first component."""
    world = Stepper(np.zeros((n, 2)), np.zeros((n, 2)), dt=0.1, integrator="implicit_euler", forces=[force])
    with pytest.raises(kd.ConvergenceError, match="residual nan"):
        world.step()
    assert world.tick == 0
    assert not world.position.any()
