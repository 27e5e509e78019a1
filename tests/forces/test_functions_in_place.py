"""In short calls, force functions read the caller's arrays: equal to the reference on both sides of each condition.

`PLAIN` meets all conditions; each of `OTHERS` violates one of them, and its function gets a copy of the state.
"""

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state, said

import kickdrift as kd

SCHEMES = (
    "semi_implicit_euler", "leapfrog", "velocity_verlet", "rk4", "yoshida4", "explicit_euler", "midpoint", "heun",
    "verlet", kd.Verlet(velocity="central"), kd.SemiImplicitEuler(form="drift_kick"),
    kd.SemiImplicitEuler(form="alternate"), kd.GrootWarren(),
)  # fmt: skip


def pull(t, position, velocity, out):
    out += t - 4.0 * position  # relies on zeros
    out[::2] *= 0.5


def rub(t, position, velocity, out):
    out[:, 0] += t - velocity[:, -1]


PULL, RUB = kd.Force(pull, velocity_dependent=False), kd.Force(rub)
DOWN = kd.Gravity((0.5, -8.0))
PLAIN = [{"forces": [PULL, DOWN]}, {"forces": [PULL]}, {"forces": [RUB, DOWN]}]
OTHERS = {
    "two functions": {"forces": [PULL, RUB]},
    "five functions": {"forces": [*[kd.Force(pull, False) for _ in range(4)], RUB]},
    "gravity of each body": {"forces": [PULL, kd.Gravity(np.arange(34.0).reshape(17, 2))]},
    "masses": {"forces": [PULL, DOWN], "mass": [*range(1, 17), np.inf]},
    "drag": {"forces": [PULL, DOWN, kd.LinearDrag(0.25)]},
    "anchors": {"forces": [PULL, DOWN, kd.AnchorSpring(3.0)]},
    "damping": {"forces": [PULL, DOWN, kd.Damping(0.5)]},
    "a term": {"forces": [PULL, DOWN, kd.PointGravity(2.0, softening=0.5)]},
    "an array": {"forces": [PULL, DOWN, kd.AppliedForce(np.arange(34.0).reshape(17, 2))]},
    "rotation": {"forces": [PULL, DOWN, kd.Magnetic(0.5, 1.0)]},
    "springs": {"forces": [PULL, DOWN, kd.Springs([(0, 3)], 2.0)]},
    "a floor": {"forces": [PULL, DOWN], "constraints": [kd.Plane((0.0, 1.0), -1.0)]},
    "inactive rows": {"forces": [PULL, DOWN], "alive": np.arange(17) % 5 != 1},
    "inactive last rows": {"forces": [PULL, DOWN], "alive": 9},
}


def play(cls, layouts="CC", n=17, dim=2, dtype=np.float64, integrator="leapfrog", **arguments):
    rng = np.random.default_rng(1)
    x, v = (np.array(rng.normal(size=(n, dim)), dtype, order=layout) for layout in layouts)
    world, states = cls(x, v, dt=1 / 32, integrator=integrator, **arguments), []
    for steps in (1, 1, 2, 4, 5, 1):
        if world.count < n and steps == 4:
            world.spawn([0.25] * dim, [1.0] * dim)
            world.kill(0)
        world.step(steps)
        states.append((world.position.copy(), world.velocity.copy()))
    return states, world


def assert_equal(**arguments):
    (states, world), (expected, book) = (play(cls, **arguments) for cls in (kd.Stepper, kd.reference.Stepper))
    with said(**arguments):
        for state, other in zip(states, expected, strict=True):
            assert_same_bits(state[0], other[0])
            assert_same_bits(state[1], other[1])
        assert world.force_evaluations == book.force_evaluations
        assert world.snapshot() == book.snapshot()


@pytest.mark.parametrize("integrator", SCHEMES, ids=repr)
def test_every_scheme(isa, integrator):
    for arguments in (*PLAIN, *OTHERS.values()):
        if not (str(integrator).startswith(("Groot", "groot")) and "constraints" in arguments):
            assert_equal(integrator=integrator, **arguments)


@pytest.mark.parametrize("layouts", ["CC", "FF", "CF", "FC"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts_and_sizes(isa, layouts, dtype):
    for dim, function in ((1, PULL), (2, PULL), (3, PULL), (3, RUB)):
        forces = [function, kd.Gravity(np.arange(1.0, dim + 1))]
        for n in (1, 7, 16, 193):  # near whole numbers of vectors and tiles
            for integrator in ("semi_implicit_euler", "velocity_verlet", "leapfrog", "rk4"):
                assert_equal(layouts=layouts, dtype=dtype, n=n, dim=dim, integrator=integrator, forces=forces)


def many_steps(world):
    for _ in range(9):
        world.step()


@pytest.mark.parametrize("of_velocities", [False, True])
@pytest.mark.parametrize("integrator", SCHEMES, ids=repr)
def test_an_error_leaves_the_last_tick_and_no_output(isa, integrator, of_velocities):
    left = None

    def fails(t, position, velocity, out):
        nonlocal left
        pull(t, position, velocity, out)
        if left is not None:
            left -= 1
            if left < 0:
                raise RuntimeError("no more")

    rng = np.random.default_rng(1)
    start = rng.normal(size=(2, 17, 2))
    force = kd.Force(fails, velocity_dependent=of_velocities)
    world, other = (kd.Stepper(*start.copy(), dt=1 / 32, integrator=integrator, forces=[force]) for _ in range(2))
    world.step()
    other.step()
    for left in range(4):
        tick, allowed = world.tick, left
        with pytest.raises(RuntimeError, match="no more"):
            many_steps(world)
        left = None
        other.step(0)
        for _ in range(world.tick - tick):
            other.step()
        assert_same_state(world, other)
        left = allowed
    left = None
    world.step(3)
    other.step(3)
    assert_same_state(world, other)


def test_a_world_that_overflows_stays_at_that_tick(isa):
    def grows(t, position, velocity, out):
        out[11] = np.finfo(out.dtype).max / 2

    for n in (12, 17, 40):  # the overflowing body is in the last vector, or before it
        for dtype in (np.float64, np.float32):
            world = kd.Stepper(np.zeros((n, 2), dtype), dt=1e3, forces=[kd.Force(grows, False)])
            with pytest.raises(kd.NonFiniteError, match="body 11 "):
                world.step(4)
            assert world.tick == 1


def test_other_arrays_are_seen_after_a_change(isa):
    force = kd.Force(pull, velocity_dependent=False)
    world, other = (kd.Stepper(np.ones((17, 2)), hz=32, forces=[force]) for _ in range(2))
    for each in (world, other):
        each.step()
    world.rebind(np.asfortranarray(world.position + 1.0), world.velocity.copy())
    other.position[:] += 1.0
    for each in (world, other):
        each.step()
    assert_same_state(world, other)
