"""Implicit Euler with interactions or callbacks (Newton-Krylov)."""

import numpy as np
import pytest
from plans import assert_same_state, outcome, said
from processes import python

import kickdrift as kd
from kickdrift import kernels
from kickdrift.reference import newton_krylov
from kickdrift.reference import system as book
from kickdrift.reference.vector import Vector

RING = [(i, (i + 1) % 6) for i in range(6)]


def ring(rng, dim=3):
    return rng.normal(size=(6, dim)), rng.normal(size=(6, dim)), rng.uniform(0.5, 3, 6)


def anchor(k, d=0.0):
    def force(t, position, velocity, out):
        out[:] = -k * position - d * velocity

    return force


def chain(n, dim=2):
    position = np.zeros((n, dim))
    position[:, 0] = np.arange(n) / n
    mass = np.full(n, 1.0)
    mass[0] = np.inf
    return position, mass, [(i, i + 1) for i in range(n - 1)]


def thrust(t, position, velocity, out):
    out[:] = np.sin(position) - 0.5 * velocity * np.sqrt((velocity * velocity).sum(axis=1))[:, None]


@pytest.mark.parametrize(
    "force",
    [
        kd.Springs(RING, 5.0, 0.4),
        kd.Springs(RING, 5.0, 0.4, 0.7),
        kd.NBody(2.0, 0.3),
        kd.NBody(-0.5),
        kd.Force(thrust),
        kd.PointGravity(2.0, softening=0.2),
    ],
)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_matrix_vector_products_are_derivatives(force, dim):
    rng = np.random.default_rng(1)
    x, v, mass = ring(rng, dim)
    stepper = kd.reference.Stepper(x, v, mass, dt=0.1, forces=[kd.Acceleration(anchor(1.0)), force])
    system = book.System(stepper)
    u, p = (Vector(rng.normal(size=(dim, 6))) for _ in range(2))
    y = system.x + 0.1 * u
    tangent = newton_krylov.Tangent(system, 0.1, y, u, 1.0, 1.0)
    e = 1e-5
    ends = [newton_krylov.evaluate(system, 0.1, u + sign * e * p)[3] for sign in (1, -1)]
    expected = (ends[0] - ends[1]) / (2 * e)
    assert np.array(tangent.product(p)) == pytest.approx(np.array(expected), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9, 1e-12])
def test_the_residual_is_below_the_tolerance(Stepper, tolerance):
    h = 0.2
    x, v, mass = ring(np.random.default_rng(2))
    forces = [kd.Springs(RING, 50.0, 0.4, 0.7), kd.NBody(2.0, 0.3), kd.Force(thrust), kd.LinearDrag(0.3)]
    stepper = Stepper(x.copy(), v.copy(), mass, dt=h, integrator=kd.ImplicitEuler(tolerance=tolerance), forces=forces)
    stepper.step()
    # A tiny step of explicit Euler measures the acceleration at the new state.
    probe = kd.reference.Stepper(
        stepper.position.copy(), stepper.velocity.copy(), mass, dt=2**-20, integrator="explicit_euler", forces=forces
    )
    probe.step()
    a = (probe.velocity - stepper.velocity) * 2**20
    scale = abs(stepper.velocity).max() + abs(v).max() + h * abs(a).max()
    assert abs(stepper.velocity - v - h * a).max() <= (tolerance + 1e-8) * scale
    assert stepper.position == pytest.approx(x + h * stepper.velocity, abs=1e-15)


@pytest.mark.parametrize("stiffness", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("jacobian", [False, True])
def test_a_callback_equals_the_term_it_imitates(Stepper, stiffness, jacobian):
    def slope(t, position, velocity, dx, dv, out):
        out[:] = -stiffness * dx - 3.0 * dv

    x, v, mass = ring(np.random.default_rng(3))
    force = kd.Force(anchor(stiffness, 3.0), jacobian=slope if jacobian else None)
    steppers = [
        Stepper(x.copy(), v.copy(), mass, dt=0.1, integrator="implicit_euler", forces=[kd.Gravity((0, -9, 0)), term])
        for term in (kd.AnchorSpring(stiffness, 3.0), force)
    ]
    for stepper in steppers:
        stepper.step(20)
    assert steppers[1].position == pytest.approx(steppers[0].position, rel=1e-7, abs=1e-9)
    assert steppers[1].velocity == pytest.approx(steppers[0].velocity, rel=1e-7, abs=1e-7)


def test_an_eigenvalue_of_minus_a_million(Stepper):
    def relax(t, position, velocity, out):
        out[:] = -1e6 * (velocity - 1)

    bodies = Stepper(np.zeros((3, 1)), dt=0.1, integrator="implicit_euler", forces=[kd.Acceleration(relax)])
    for tick in range(1, 6):
        bodies.step()
        assert bodies.velocity == pytest.approx(1 - (1 + 1e5) ** -tick * np.ones((3, 1)), rel=1e-8)


def test_asymmetric_forces_converge(Stepper):
    def whirl(t, position, velocity, out):  # every body is driven by the next one, perpendicular to it
        out[:, 0] = 300 * np.roll(position[:, 1], 1) - 50 * velocity[:, 0]
        out[:, 1] = -300 * np.roll(position[:, 0], 1) - 50 * velocity[:, 1]

    x, v, mass = ring(np.random.default_rng(4), 2)
    h = 0.1
    bodies = Stepper(x.copy(), v.copy(), mass, dt=h, integrator="implicit_euler", forces=[kd.Force(whirl)])
    bodies.step()
    out = np.zeros_like(x)
    whirl(0, bodies.position, bodies.velocity, out)
    assert bodies.velocity == pytest.approx(v + h * out / mass[:, None], rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6])  # times h² / m
@pytest.mark.parametrize("damping", [0, 0.1])
def test_a_stiff_chain_loses_energy_until_it_rests(Stepper, stiffness, damping):
    n = 6 if Stepper is kd.reference.Stepper else 24
    h = 0.1
    position, mass, pairs = chain(n)
    forces = [kd.Gravity((0, -9.81)), kd.Springs(pairs, stiffness / h**2, damping=damping)]
    bodies = Stepper(position, mass=mass, dt=h, integrator="implicit_euler", forces=forces)
    energy = sum(bodies.energy())
    for _ in range(2 if Stepper is kd.reference.Stepper else 100):
        bodies.step()
        before, energy = energy, sum(bodies.energy())
        assert energy <= before + 1e-6
    assert (bodies.position[0] == [0, 0]).all()
    if n == 24:
        assert np.linalg.norm(bodies.velocity, axis=1).max() < 0.2
        hanging = -np.arange(n) / n - 9.81 * h**2 / stiffness * np.cumsum(np.r_[0, np.arange(n - 1, 0, -1)])
        assert bodies.position[:, 1] == pytest.approx(hanging, abs=0.03)


def cloth(n):
    place = np.arange(n * n).reshape(n, n)
    pairs = [(place[:, :-1], place[:, 1:]), (place[:-1], place[1:])]
    pairs += [(place[:-1, :-1], place[1:, 1:]), (place[:-1, 1:], place[1:, :-1])]
    position = np.zeros((n, n, 3))
    position[:, :, 0], position[:, :, 2] = np.meshgrid(np.arange(n) / n, np.arange(n) / n)
    mass = np.full(n * n, 0.01)
    mass[[0, n - 1]] = np.inf
    return position.reshape(-1, 3), mass, np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])


@pytest.mark.parametrize("hz", [60, 10])
def test_stiff_cloth_at_large_steps(isa, hz):
    position, mass, pairs = cloth(12)
    forces = [kd.Gravity((0, -9.81, 0)), kd.Springs(pairs, 1000.0, damping=0.01)]
    sheet = kd.Stepper(position, mass=mass, hz=hz, integrator="implicit_euler", forces=forces)
    energy = sum(sheet.energy())
    for _ in range(20):
        sheet.step()
        before, energy = energy, sum(sheet.energy())
        assert energy <= before + 1e-9
    assert sheet.position[:, 1].min() < -0.1
    lengths = np.linalg.norm(sheet.position[pairs[:, 0]] - sheet.position[pairs[:, 1]], axis=1)
    assert (lengths < 1.1 * sheet.forces[1].rest_length).all()


@pytest.mark.parametrize("force", [kd.Springs(RING, 50.0, 0.4, 0.3), kd.NBody(0.5, 0.5)])
def test_momentum_is_conserved_to_the_tolerance(Stepper, force):
    x, v, mass = ring(np.random.default_rng(5))
    integrator = kd.ImplicitEuler(tolerance=1e-13)
    bodies = Stepper(x, v, mass, dt=0.1, integrator=integrator, forces=[force])
    before = mass @ v
    bodies.step(5)
    assert mass @ bodies.velocity == pytest.approx(before, abs=1e-11)


@pytest.mark.parametrize("number", range(0, 60, 10))
def test_random_systems_equal_the_reference(monkeypatch, number):
    compared = 0
    for seed in range(number, number + 10):
        rng = np.random.default_rng(seed)
        dim, n = int(rng.integers(1, 4)), int(rng.choice([1, 2, 3, 5, 9, 17, 20]))
        dtype = (np.float32, np.float64)[rng.integers(2)]
        x, v, mass = rng.normal(size=(n, dim)), rng.normal(size=(n, dim)), rng.uniform(0.5, 3, n)
        stiffness = rng.uniform(0, 100)

        def force(t, x, v, out, k=stiffness):
            out[:] = -k * x - 0.3 * v * np.sqrt((v * v).sum(axis=1))[:, None] + t

        def slope(t, x, v, dx, dv, out, k=stiffness):
            speed = np.sqrt((v * v).sum(axis=1))[:, None]
            out[:] = -k * dx - 0.3 * (dv * speed + v * ((v * dv).sum(axis=1)[:, None] / speed))

        choices = [
            kd.NBody(float(rng.uniform(-1, 1)), 0.2),
            kd.Force(force),
            kd.Acceleration(force, jacobian=slope),
            kd.Force(anchor(stiffness), velocity_dependent=False),
            kd.Gravity(rng.normal(size=dim)),
            kd.QuadraticDrag(0.3),
            kd.AnchorSpring(rng.uniform(0, 5, n), 0.1),
            kd.PointGravity(1.0, 0, 0.3),
            kd.Damping(0.3),
        ]
        forces = [choices[i] for i in rng.permutation(len(choices))[: rng.integers(1, 5)]]
        if n > 2:
            pairs = [(i, (i + 1) % n) for i in range(n)]
            damping = 0.3 if rng.integers(2) else 0
            forces.append(kd.Springs(pairs, 10.0 ** rng.integers(0, 5), rng.uniform(0, 1, n), damping))
        book, failure = None, None
        for isa in ("reference", *kernels.isas):
            cls = kd.reference.Stepper if isa == "reference" else kd.Stepper
            monkeypatch.setattr(kernels, "isa", isa)
            made = cls(x.astype(dtype), v.astype(dtype), mass, dt=0.1, integrator="implicit_euler", forces=forces)
            ended = outcome(made, 2)
            if book is None:
                book, failure = made, ended
                continue
            with said(seed=seed, isa=isa):
                assert ended == failure
                assert made.tick == book.tick
                assert_same_state(made, book)
                assert made.force_evaluations == book.force_evaluations
            compared += failure is None
    print(f"seeds {number} to {number + 9}: {compared} solved and compared")
    assert compared > 5 * len(kernels.isas), f"seeds {number} to {number + 9}"


def test_unsolvable_steps_raise_convergence_errors(Stepper):
    def jump(t, position, velocity, out):  # no velocity solves the equation
        out[1] = np.where(velocity[1] > 0, -1.0, 1.0) * (3 + velocity[1] * velocity[1])
        if t > 0.25:
            out[1] *= 100

    bodies = Stepper([[0.0], [0.0]], [[1.0], [0.0]], dt=0.1, integrator="implicit_euler", forces=[kd.Force(jump)])
    with pytest.raises(kd.ConvergenceError) as caught:
        bodies.step(5)
    assert caught.value.body == 1
    done = bodies.tick
    state = bodies.position.copy(), bodies.velocity.copy()
    assert state[0][0] == pytest.approx(0.1 * done)
    with pytest.raises(kd.ConvergenceError):
        bodies.step()
    assert bodies.tick == done
    assert (bodies.position == state[0]).all()
    assert (bodies.velocity == state[1]).all()


def test_callbacks_that_fail_during_a_solve(Stepper):
    calls = [0]

    def fails(t, position, velocity, out):
        calls[0] += 1
        if calls[0] == 60:
            raise KeyError("sixty")
        out[:] = -1e4 * position

    def poison(t, position, velocity, out):
        out[:] = np.nan

    x, v, mass = ring(np.random.default_rng(6))
    bodies = Stepper(x, v, mass, dt=0.1, integrator="implicit_euler", forces=[kd.Force(fails)])
    with pytest.raises(KeyError, match="sixty"):
        bodies.step(100)
    done = bodies.tick
    assert done > 0
    assert np.isfinite(bodies.position).all()
    bodies.step()
    assert bodies.tick == done + 1
    bodies = Stepper(x, v, mass, dt=0.1, integrator="implicit_euler", forces=[kd.Force(poison)])
    with pytest.raises(kd.ConvergenceError, match="residual nan"):
        bodies.step()
    assert bodies.tick == 0
    with pytest.raises(TypeError, match=r"Force\(jacobian\): expected a function or None"):
        kd.Force(fails, jacobian=5)

    def returns(t, position, velocity, dx, dv, out):
        return dx

    force = kd.Force(anchor(1.0), jacobian=returns)
    bodies = Stepper(x, v, mass, dt=0.1, integrator="implicit_euler", forces=[force])
    with pytest.raises(TypeError, match=r"Force\(jacobian\): expected it to write into `out`"):
        bodies.step()


def test_callbacks_get_the_time_at_the_end_of_the_step(Stepper):
    times = set()

    def push(t, position, velocity, out):
        times.add(t)
        out[:] = t - position

    cart = Stepper([[0.0]], dt=0.25, integrator="implicit_euler", forces=[kd.Force(push, velocity_dependent=False)])
    times.clear()  # drop the evaluation that validates the callback
    cart.step(2)
    assert times == {0.25, 0.5}


WHOLE_ROWS = """
import numpy as np
import kickdrift as kd

rng = np.random.default_rng(1)
pairs = np.stack([np.arange(383), np.arange(1, 384)], axis=1)
position, velocity, mass = rng.normal(size=(384, 1)), rng.normal(size=(384, 1)), rng.uniform(0.5, 3, 384)
for cls in (kd.reference.Stepper, kd.Stepper):
    forces = [kd.Springs(pairs, 3.0)]
    world = cls(position.copy(), velocity.copy(), mass, dt=1 / 60, integrator="implicit_euler", forces=forces)
    world.step()
    print(world.checksum())
"""


def test_masses_of_whole_rows_of_bodies_are_not_read_beyond(monkeypatch):
    """384 bodies fill a row. The memory after their masses is not theirs: glibc's MALLOC_PERTURB_ makes it NaN."""
    monkeypatch.setenv("MALLOC_PERTURB_", "255")
    book, ours = python(WHOLE_ROWS).split()
    assert ours == book
