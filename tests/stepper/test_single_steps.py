"""Single steps: changes between them take effect in the next."""

import numpy as np
import pytest
from plans import assert_same_state

import kickdrift as kd

GRAVITY, DRAG = kd.Gravity((0.5, -9.81)), kd.LinearDrag(0.25)
PUSH = kd.Force(lambda t, x, v, out: out.__setitem__(slice(None), t - x), velocity_dependent=False)


def loop(world):
    """Call `step` in a loop over the clock's steps, which stores the previous state for interpolation."""
    for _ in world.clock.steps(0.05):
        world.step()


def tape(world):
    recording = kd.Tape(world)
    world.step()
    world.step()
    assert len(recording) == 2
    recording.stop()


def rollback(world):
    past = kd.Rollback(world, ticks=8)
    for _ in range(2):
        past.save()
        world.step()
    past.rollback(world.tick - 1)


def overflow(world):
    world.position[1] = np.inf
    for _ in range(2):
        with pytest.raises(kd.NonFiniteError, match="body 1 ") as caught:
            world.step()
        assert (caught.value.first_tick, caught.value.last_tick) == (world.tick - 1, world.tick)
    world.position[1] = world.velocity[1] = 0.5
    world.restart()


CHANGES = {
    "nothing": lambda world: None,
    "several steps": lambda world: world.step(3),
    "no step": lambda world: world.step(0),
    "a term": lambda world: world.set(GRAVITY, acceleration=(1.0, 2.0)),
    "a term for each body": lambda world: world.set(DRAG, coefficient=np.arange(len(world.position)) * 0.1),
    "another dt": lambda world: setattr(world, "dt", 0.02),
    "a restart": lambda world: world.restart(),
    "more terms": lambda world: world.add(kd.PointGravity(1.0, softening=0.1)),
    "fewer terms": lambda world: world.remove(DRAG),
    "a wall": lambda world: world.add(kd.Plane((0.0, 1.0), -0.25)),
    "a function": lambda world: world.add(PUSH),
    "a death": lambda world: world.kill(1),
    "a birth": lambda world: (world.kill(0), world.spawn((3.0, 4.0))),
    "a snapshot": lambda world: world.restore(world.snapshot()),
    "going back": lambda world: (saved := world.snapshot(), world.step(), world.step(), world.restore(saved)),
    "a frame": lambda world: world.advance(0.025),
    "a loop over a frame": lambda world: [world.tick for _ in world.ticks(0.025)],
    "a loop over the clock": loop,
    "a tape": tape,
    "a rollback": rollback,
    "a body put elsewhere": lambda world: world.teleport(0, (1.0, 1.0)),
    "an overflow": overflow,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "velocity_verlet", "verlet", "rk4"])
def test_single_steps_use_changes_made_between_them(Stepper, integrator, change):
    def play(cls):
        rng = np.random.default_rng(1)
        start = rng.normal(size=(2, 5, 2))
        world = cls(*start, dt=0.01, integrator=integrator, forces=[GRAVITY, DRAG], alive=5)
        if "birth" not in change and "death" not in change:
            world = cls(*start, dt=0.01, integrator=integrator, forces=[GRAVITY, DRAG])
        for _ in range(3):
            world.step()
        CHANGES[change](world)
        told = [(world.tick, world.time, world.force_evaluations)]
        for _ in range(3):
            world.step()
            told.append((world.tick, world.time, world.force_evaluations, world.interpolate(0.25).tobytes()))
        return world, told

    (world, told), (expected, known) = play(Stepper), play(kd.reference.Stepper)
    assert_same_state(world, expected)
    assert told == known


@pytest.mark.parametrize("integrator", ["explicit_euler", "semi_implicit_euler", "velocity_verlet", "rk4"])
@pytest.mark.parametrize("fails_in", [3, 4])
def test_a_callback_that_raises_leaves_the_last_completed_tick(Stepper, integrator, fails_in):
    """Steps alternate between two state buffers: 3 and 4 steps end in different ones."""

    def world(fails):
        def push(t, position, velocity, out):
            assert not out.any()
            out[:] = 1.0 - position
            if fails and t > (fails_in - 0.25) * 0.125:
                raise KeyError("enough")

        rng = np.random.default_rng(1)
        force = kd.Force(push, velocity_dependent=False)
        return Stepper(*rng.normal(size=(2, 40, 3)), dt=0.125, integrator=integrator, forces=[GRAVITY3, force])

    failing, calm = world(True), world(False)
    for _ in range(2):
        with pytest.raises(KeyError):
            failing.step(9)
    calm.step(failing.tick)
    assert fails_in - 1 <= failing.tick <= fails_in
    assert_same_state(failing, calm)


GRAVITY3 = kd.Gravity((0.5, -9.81, 1.0))
