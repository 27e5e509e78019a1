"""Friction on a floor seen from above: exact paths and rest, bitwise equal in reference and kernels."""

import numpy as np
import pytest
from plans import assert_same_state

import kickdrift as kd
from kickdrift import reference

INTEGRATORS = [
    *kd.INTEGRATORS,
    kd.Verlet(velocity="central"),
    kd.Verlet(start="backward"),
    kd.SemiImplicitEuler(form="alternate"),
    kd.SemiImplicitEuler(form="drift_kick"),
]
every = pytest.mark.parametrize("integrator", INTEGRATORS, ids=str)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@dtypes
@every
@pytest.mark.parametrize("hz", [30, 61, 240])
def test_a_body_slides_as_far_as_theory_says(integrator, dtype, hz):
    """v² / (2 d), and there it lies."""
    position = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [2.0, 0.0, 0.0]], dtype)
    velocity = np.array([[3.0, 4.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype)
    world = kd.Stepper(position.copy(), velocity.copy(), hz=hz, integrator=integrator, forces=[kd.FloorFriction(2.0)])
    expected = position + velocity * np.linalg.norm(velocity, axis=1)[:, None] / 4
    world.step(int(1.25 * hz))
    time = world.time
    np.testing.assert_allclose(
        world.position[0], velocity[0] * (time - time**2 / 5), rtol=1e-3 if dtype is np.float32 else 1e-9
    )
    world.step(2 * hz)
    np.testing.assert_allclose(world.position, expected, atol=1e-2 if dtype is np.float32 else 1e-12)
    assert not world.velocity.any()
    there = world.position.copy()
    world.step(50)
    assert (world.position == there).all()


@every
def test_what_pulls_less_than_friction_moves_nothing(integrator):
    weak, strong = kd.Gravity((1.0, 1.5)), kd.Gravity((2.0, 1.0))
    for pull, moves in ((weak, False), (strong, True)):
        world = kd.Stepper([[5.0, 5.0]], hz=60, integrator=integrator, forces=[kd.FloorFriction(2.0), pull])
        world.step(120)
        assert (world.position != 5.0).any() == moves or integrator == "energy_euler"
        if moves and integrator != "energy_euler":
            np.testing.assert_allclose(world.velocity[0], np.array([2.0, 1.0]) * 2 * (1 - 2 / np.sqrt(5)), rtol=0.1)


def test_a_puck_on_a_slope_comes_to_rest_where_theory_says():
    world = kd.Stepper(
        [[0.0]], [[4.0]], dt=1 / 60, integrator="velocity_verlet", forces=[kd.FloorFriction(3.0), kd.Gravity((-1.0,))]
    )
    world.step(120)
    assert world.position[0, 0] == pytest.approx(16 / (2 * 4.0), rel=1e-9)
    assert world.velocity[0, 0] == 0


def test_coefficients_masses_and_changes():
    friction = kd.FloorFriction([1.0, 0.0, 4.0])
    world = kd.Stepper(np.zeros((3, 2)), [[2.0, 0.0]] * 3, [1.0, 5.0, np.inf], hz=60, forces=[friction])
    world.step(60)
    np.testing.assert_allclose(world.velocity[:, 0], [1.0, 2.0, 2.0])
    world.set(friction, deceleration=3.0, index=[1])
    world.step(30)
    np.testing.assert_allclose(world.velocity[:, 0], [0.5, 0.5, 2.0])
    world.enable(friction, False)
    world.step(30)
    np.testing.assert_allclose(world.velocity[:, 0], [0.5, 0.5, 2.0])
    world.enable(friction)
    world.set(friction, deceleration=0.5)
    world.step(30)
    np.testing.assert_allclose(world.velocity[:, 0], [0.25, 0.25, 2.0])
    world.remove(friction)
    world.step(30)
    np.testing.assert_allclose(world.velocity[:, 0], [0.25, 0.25, 2.0])
    assert world.energy()[1] == 0
    with pytest.raises(ValueError, match="dt: expected a positive number"):
        kd.Stepper([[0.0]], dt=-0.1, forces=[kd.FloorFriction(1.0)])
    with pytest.raises(ValueError, match=r"FloorFriction\(deceleration\): expected numbers of at least 0"):
        kd.FloorFriction(-1.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_overflow_is_not_hidden():
    world = kd.Stepper([[0.0]], [[1e308]], forces=[kd.FloorFriction(1.0), kd.Gravity((1.7e308,))], dt=1.0)
    with pytest.raises(kd.NonFiniteError):
        world.step()


def test_balls_of_a_table_lose_what_friction_takes():
    """Pool balls lose the energy m d per metre that they roll, where d is the deceleration, until all are at rest."""
    rng = np.random.default_rng(1)
    position = rng.uniform(1, 9, (12, 2)) * 10
    world = kd.Stepper(
        position, rng.normal(size=(12, 2)) * 30, hz=240, forces=[kd.FloorFriction(20.0)],
        constraints=[kd.ElasticCollisions(1.0), kd.Box(0, 100, radius=1.0)],
    )  # fmt: skip
    lost, energy = 0.0, world.energy()[0]
    while world.velocity.any():
        speed = np.linalg.norm(world.velocity, axis=1)
        world.step()
        lost += 20.0 * ((speed + np.linalg.norm(world.velocity, axis=1)) / 2 / 240).sum()
        assert world.tick < 2400
    assert lost == pytest.approx(energy, rel=0.02)


@pytest.mark.parametrize("seed", range(30))
def test_equal_to_the_reference(seed):
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(1, 60)), int(rng.integers(1, 4))
    dtype = [np.float32, np.float64][seed % 2]
    integrator = INTEGRATORS[seed % len(INTEGRATORS)]
    friction = kd.FloorFriction(rng.uniform(0, 3, n) if rng.integers(2) else 1.5)
    forces = [friction, kd.Gravity(rng.normal(size=dim))]
    if integrator != "exact" and rng.integers(2):
        forces += [kd.Damping(0.5)] if integrator == "energy_euler" else [kd.Damping(0.5), kd.QuadraticDrag(0.1)]
    if integrator not in ("exact", "energy_euler") and rng.integers(3) == 0 and n > 2:
        forces.append(kd.Springs([(0, 1), (1, 2)], 5.0, 1.0))
    box = kd.Box(-3, 3, restitution=0.5, friction=0.2, radius=0.1)
    choices = [[], [box], [kd.ElasticCollisions(0.1), box], [kd.Contacts(0.1, walls=[kd.Box(-3, 3)])]]
    choices += [[kd.Distance([(0, n - 1)], max_length=1.0), kd.Pin(0)]] if n > 1 else []
    choices += [[kd.Periodic(-3, 3)], [kd.Sensor(lower=[-1] * dim, upper=[1] * dim)]]
    constraints = choices[int(rng.integers(len(choices)))]
    position, velocity = rng.uniform(-2, 2, (n, dim)).astype(dtype), rng.normal(size=(n, dim)).astype(dtype)
    events = kd.Events() if rng.integers(2) else None
    worlds = [
        Stepper(
            position.copy(), velocity.copy(), rng_mass(seed, n), hz=60, integrator=integrator, forces=forces,
            constraints=constraints, alive=n, events=events,
        )
        for Stepper in (kd.Stepper, reference.Stepper)
    ]  # fmt: skip
    for turn in range(4):
        for world in worlds:
            world.step(5)
        assert_same_state(*worlds)
        assert worlds[0].snapshot() == worlds[1].snapshot()
        for world in worlds:
            if turn == 0:
                world.kill([0])
            elif turn == 1:
                world.spawn(position[:1], velocity[:1])
                world.set(friction, deceleration=2.5)
            elif turn == 2:
                world.dt = 1 / 90


def rng_mass(seed, n):
    mass = np.random.default_rng(seed).uniform(0.5, 2.0, n)
    mass[n // 2] = np.inf
    return mass


@pytest.mark.parametrize("threads", [1, 3])
def test_many_bodies_and_threads(threads):
    rng = np.random.default_rng(5)
    velocity = rng.normal(size=(5000, 2)) * 3
    world = kd.Stepper(np.zeros((5000, 2)), velocity.copy(), hz=60, forces=[kd.FloorFriction(2.0)], threads=threads)
    world.step(600)
    expected = velocity * np.linalg.norm(velocity, axis=1)[:, None] / 4
    np.testing.assert_allclose(world.position, expected, atol=1e-11)
