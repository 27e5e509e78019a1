"""Single calls reuse the last accelerations only where the positions and all else they depend on are unchanged."""

import copy

import numpy as np
import pytest

import kickdrift as kd

N = 70  # more bodies than the n-body kernel for few bodies supports
FORCES = {
    "n_body": lambda: kd.NBody(2.0, softening=0.1),
    "springs": lambda: kd.Springs([(0, 1), (1, 2), (4, 5)], 3.0, 0.5),
    "pairs": lambda: kd.PairPotential("e*(q/r)**4", cutoff=2.5, e=1.0, q=0.3),
}
STRENGTH = {"n_body": {"G": -0.5}, "springs": {"stiffness": 7.0}, "pairs": {"e": 3.0}}


def move(world, _force):
    world.position[2] += 0.125


def negate_a_zero(world, _force):
    world.position[3] = -world.position[3]  # 0.0 and -0.0 are equal, but not bitwise


def accelerate(world, _force):
    world.velocity[1] = 2.0


def change_the_force(world, force):
    world.set(
        force, **STRENGTH[type(force).__name__.lower().replace("nbody", "n_body").replace("pairpotential", "pairs")]
    )


def change_a_mass(world, _force):
    world.set_mass(3.0, index=1)


def add_gravity(world, _force):
    world.add(kd.Gravity((0.0, -2.0)))


def disable(world, force):
    world.enable(force, False)


def slow_down(world, _force):
    world.dt = 0.01


def kill(world, _force):
    world.kill(1)


def respawn(world, _force):
    world.kill(1)
    world.spawn([0.25, -0.5], [0.0, 0.0], mass=2.0)


def go_back(world, _force):
    saved = world.snapshot()
    world.step(3)
    world.restore(saved)


CHANGES = [move, negate_a_zero, accelerate, change_the_force, change_a_mass, add_gravity]
CHANGES += [disable, slow_down, kill, respawn, go_back]


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("integrator", ["velocity_verlet", kd.Verlet(velocity="central"), "leapfrog"], ids=str)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", FORCES)
def test_a_change_between_single_calls_reaches_the_next_step(name, change, integrator, periodic):
    """A pickled copy has no accelerations of earlier calls that it could reuse."""
    rng = np.random.default_rng(5)
    position = rng.normal(size=(N, 2))
    position[3] = 0.0
    force, mass = FORCES[name](), rng.uniform(0.5, 2, N)
    if name == "n_body" and (periodic or change is negate_a_zero):
        return  # NBody refuses periodic boxes and infinite masses
    around = [kd.Periodic(-3.0, 3.0)] if periodic else []
    world = kd.Stepper(
        position,
        rng.normal(size=(N, 2)),
        mass,
        dt=0.02,
        integrator=integrator,
        forces=[force],
        constraints=around,
        alive=N,
    )
    if change is negate_a_zero:
        world.velocity[3], world.position[3] = 0.0, 0.0
        world.set_mass(np.inf, index=3)
    for _ in range(3):
        world.step()
    change(world, force)
    fresh = copy.deepcopy(world)
    for _ in range(2):
        world.step()
        fresh.step()
    assert world.checksum() == fresh.checksum()


def test_evaluations_are_counted_alike_in_the_reference():
    position = [[0.0, 0.0], [1.0, 0.0]]
    steppers = [
        cls(position, dt=0.1, forces=[kd.NBody(1.0, softening=0.1)]) for cls in (kd.Stepper, kd.reference.Stepper)
    ]
    for stepper in steppers:
        for _ in range(4):
            stepper.step()
        stepper.step(3)
    assert steppers[0].force_evaluations == steppers[1].force_evaluations == 2 * 4 + 3 + 1


@pytest.mark.parametrize("cls", [kd.Stepper, kd.reference.Stepper])
@pytest.mark.parametrize("integrator", [kd.VelocityVerlet(), kd.Verlet(velocity="central")])
def test_the_end_of_a_step_is_at_the_time_at_which_the_next_begins(cls, integrator):
    """Within a call, a step reuses the last accelerations; the next call evaluates them again, at the same time."""
    times = []

    def pull(t, _position, _velocity, out):
        times.append(t)
        out[...] = t

    for dtype in (np.float64, np.float32):
        worlds = [
            cls(np.zeros((3, 1), dtype), dt=1 / 60, integrator=integrator, forces=[force])
            for force in [kd.Force(pull, velocity_dependent=False), kd.Expression(x="t")]
        ]
        for world in worlds:
            single = copy.deepcopy(world)
            times.clear()
            world.step(50)
            whole = set(times)
            for _ in range(50):
                single.step()
            assert whole == set(times)
            assert world.checksum() == single.checksum()
