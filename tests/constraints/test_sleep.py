"""Sleeping groups of bodies, `Contacts(sleep=True)`: when they fall asleep, what wakes them, and bitwise equality."""

import math
from dataclasses import replace

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import reference
from tests.plans import compare_with_reference, resting_around_scene, rolling_scene, running_scene, told_resting_scene

G = 9.81
SLOW = 1 / 1024


def sleepy(drawn, rng):
    """Let bodies sleep; small velocities, or a threshold raised by strong forces, make some of them fall asleep."""
    found = [
        replace(part, sleep=True) if isinstance(part, kd.Contacts) else part for part in drawn.arguments["constraints"]
    ]
    drawn.arguments["constraints"] = found
    if rng.integers(2):  # strong gravity raises the speed threshold
        drawn.arguments["forces"] = [kd.Gravity(rng.normal(size=drawn.position.shape[1]) * 300)]
    drawn.velocity[...] *= rng.choice([1, 1e-3])
    return drawn


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_random_scenes_equal_the_reference(monkeypatch, dim):
    def make(seed, rng):
        drawn = (
            told_resting_scene(rng, dim=dim)
            if dim == 1 or seed % 3
            else rolling_scene(rng, None, told_resting_scene, dim=dim)
        )
        return sleepy(drawn, rng)

    compare_with_reference(monkeypatch, make, range(40))


@pytest.mark.parametrize("around", [False, True])
def test_scenes_with_moving_shapes_or_periodic_sides_equal_the_reference(monkeypatch, around):
    def make(_, rng):
        drawn = resting_around_scene(rng, dim=2) if around else running_scene(rng, None, told_resting_scene, dim=2)
        return sleepy(drawn, rng)

    compare_with_reference(monkeypatch, make, range(30))


def heap(Stepper, count=12, dtype=np.float64, events=None, **how):
    """Return a heap of balls that has come to rest on a floor between two walls, and its contacts."""
    rng = np.random.default_rng(3)
    places = [(1.0 + 1.05 * (k % 4), 0.6 + 1.1 * (k // 4)) for k in range(count)]
    position = (np.array(places) + rng.uniform(-0.05, 0.05, (count, 2))).astype(dtype)
    walls = [kd.Plane((0, 1), 0.0), kd.Plane((1, 0), 0.0), kd.Plane((-1, 0), -5.5)]
    contacts = kd.Contacts(0.5, friction=0.6, walls=walls, sleep=True, **how)
    more = {} if events is None else {"events": events}
    world = Stepper(position, hz=60, forces=[kd.Gravity((0, -G))], constraints=[contacts], alive=count, **more)
    return world, contacts


CHANGES = {
    "nothing": lambda world, contacts: None,
    "a body put elsewhere": lambda world, contacts: world.position.__setitem__((3, 1), 4.0),
    "a kick": lambda world, contacts: world.velocity.__setitem__((2, 0), 3.0),
    "less friction": lambda world, contacts: world.set(contacts, friction=0.05),
    "larger balls": lambda world, contacts: world.set(contacts, radius=0.52),
    "a dead body": lambda world, contacts: world.kill(1),
    "a heavy body": lambda world, contacts: world.set_mass(50.0, index=[11]),
    "gravity sideways": lambda world, contacts: world.set(world.forces[0], acceleration=(3.0, -G)),
    "a wind": lambda world, contacts: world.add(kd.LinearDrag(0.5, wind=(4.0, 0.0))),
    "half the rate": lambda world, contacts: setattr(world, "dt", 1 / 30),
    "no sleep": lambda world, contacts: world.set(contacts, sleep=False),
    "another origin": lambda world, contacts: world.shift((10.0, 0.0)),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("told", [False, True])
def test_a_heap_at_rest_equals_the_reference_before_and_after_a_change(name, told):
    """Kernels skip steps that would change no bit; the reference computes all steps."""
    events, worlds = kd.Events(4096) if told else None, []
    settled, _ = heap(kd.Stepper, events=events)
    settled.step(420)
    for Stepper in (kd.Stepper, reference.Stepper):
        world, contacts = heap(Stepper, events=events)
        world.restore(settled.snapshot())
        still = world.position.copy()
        world.step(3)
        assert np.array_equal(world.position, still)
        assert not world.velocity.any()
        states = [world.snapshot()]
        CHANGES[name](world, contacts)
        for steps in (1, 1, 7, 40):
            world.step(steps)
            states.append(world.snapshot())
        assert name in ("nothing", "no sleep", "another origin") or not np.array_equal(world.position, still)
        worlds.append((states, world.force_evaluations, world.events.take().tobytes() if told else None))
    assert worlds[0] == worlds[1]


def test_a_heap_that_was_restored_or_copied_goes_on_alike():
    world, _ = heap(kd.Stepper)
    world.step(420)
    saved = world.snapshot()
    world.velocity[5] = (4.0, 9.0)
    world.step(30)
    moving = world.position.copy()
    world.restore(saved)
    world.step(10)
    assert not world.velocity.any()
    world.velocity[5] = (4.0, 9.0)
    world.step(30)
    assert np.array_equal(world.position, moving)


def test_many_worlds_sleep_alone():
    """Worlds share one stepper in turn, which must not carry the sleep state of one world over to another."""
    world, _ = heap(kd.Stepper)
    world.step(420)
    worlds = kd.Worlds(world, 3)
    worlds.velocity[1, 5] = (4.0, 9.0)
    alone = world.copy() if hasattr(world, "copy") else None
    worlds.step(25)
    assert np.array_equal(worlds.position[0], worlds.position[2])
    assert np.array_equal(worlds.position[0], world.position)
    world.velocity[5] = (4.0, 9.0)
    world.step(25)
    assert np.array_equal(worlds.position[1], world.position)
    assert alone is None or not alone.velocity.any()


# When bodies come to rest, compared with mechanics.


def tilted(rise, dtype=np.float64, integrator="velocity_verlet", sleep=True):
    """Return a ball at rest on ice, after gravity was tilted: its component along the ice is `rise` times g."""
    contacts = kd.Contacts(0.5, friction=0.0, walls=[kd.Plane((0, 1), 0.0)])
    gravity = kd.Gravity((0, -G))
    ball = kd.Stepper(
        np.array([[0.0, 0.5]], dtype), hz=60, forces=[gravity], constraints=[contacts], integrator=integrator
    )
    ball.step(600)
    ball.set(contacts, sleep=sleep)
    ball.set(gravity, acceleration=(rise * G, -math.sqrt(1 - rise * rise) * G))
    return ball


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "semi_implicit_euler", "verlet", "rk4", "leapfrog"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_net_force_below_a_thousandth_holds_and_one_above_it_does_not(dtype, integrator, sign):
    held = tilted(sign * 0.9 * SLOW, dtype, integrator)
    place = held.position.copy()
    held.step(600)
    assert np.array_equal(held.position, place)
    slides = tilted(sign * 1.2 * SLOW, dtype, integrator)
    slides.step(600)
    assert slides.position[0, 0] == pytest.approx(sign * 0.5 * 1.2 * SLOW * G * 100, rel=0.01)


def test_without_sleep_the_smallest_force_moves():
    ball = tilted(0.5 * SLOW, sleep=False)
    ball.step(600)
    assert ball.position[0, 0] == pytest.approx(0.5 * 0.5 * SLOW * G * 100, rel=0.01)


@pytest.mark.parametrize("speed", [3.0, -0.2])
def test_a_thrown_ball_does_not_stop_at_its_highest_point(speed):
    """The ball is slow for one step at most; the wall beside it is near, but does not stop it."""
    ways = []
    for sleep in (False, True):
        contacts = kd.Contacts(0.5, walls=[kd.Plane((1, 0), 0.0)], sleep=sleep)
        ball = kd.Stepper([[0.501, 0.0]], [[0.0, speed]], hz=60, forces=[kd.Gravity((0, -G))], constraints=[contacts])
        ways.append(ball.record(90).position)
    assert np.array_equal(*ways)


@pytest.mark.parametrize("speed", [1e-4, -0.01])
def test_a_slow_lift_and_a_slow_belt_carry(speed):
    box = {"lower": [(-2.0, -1.0)], "upper": [(2.0, 0.0)]}
    for shape, axis in (
        (kd.Boxes(**box, velocity=(0.0, speed)), 1),
        (kd.Boxes(**box, surface_speed=speed, friction=1.0), 0),
    ):
        contacts = kd.Contacts(0.5, friction=1.0, shapes=[shape], sleep=True)
        ball = kd.Stepper([[0.0, 0.5]], hz=60, forces=[kd.Gravity((0, -G))], constraints=[contacts])
        ball.step(60)
        before = ball.position[0, axis]
        ball.step(600)
        assert abs(ball.position[0, axis] - before) == pytest.approx(10 * abs(speed), rel=1e-3)


def test_without_gravity_nothing_slow_is_stopped():
    """Without forces the speed threshold, a thousandth of their effect, is zero."""
    contacts = kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0.0)], sleep=True)
    ball = kd.Stepper([[0.0, 0.5]], [[1e-9, 0.0]], hz=60, constraints=[contacts])
    ball.step(600)
    assert ball.position[0, 0] == pytest.approx(1e-8)


def test_a_ragdoll_and_a_spinning_ball():
    """Joints sleep with their bodies; a slowly spinning ball stops on a rough floor, and spins on without friction."""
    chain = kd.Distance([(0, 1), (1, 2)], length=1.1)
    contacts = kd.Contacts(0.5, friction=0.6, walls=[kd.Plane((0, 1), 0.0)], joints=[chain], sleep=True)
    world = kd.Stepper([[0, 0.5], [1.0, 0.9], [2.0, 0.5]], hz=60, forces=[kd.Gravity((0, -G))], constraints=[contacts])
    world.step(1200)
    place = world.position.copy()
    world.step(100)
    assert np.array_equal(world.position, place)
    for friction, moves in ((0.0, True), (0.6, False)):
        contacts = kd.Contacts(0.5, friction=friction, walls=[kd.Plane((0, 1), 0.0)], sleep=True)
        ball = kd.Stepper(
            [[0.0, 0.5]],
            hz=60,
            forces=[kd.Gravity((0, -G))],
            constraints=[contacts],
            angular_velocity=[1.0],
            angle=[0.0],
        )
        ball.step(1200)
        assert (ball.angular_velocity[0] > 0.9) == moves


@pytest.mark.parametrize("breaks_at", [None, 1e6])
@pytest.mark.parametrize("inside", [True, False])
def test_a_rope_at_rest_breaks_and_lets_go(breaks_at, inside):
    """In the tick of the break nothing moves; in the next ticks the load falls."""
    worlds = []
    for Stepper in (kd.Stepper, reference.Stepper):
        rope = kd.Distance([(0, 1)], length=1.0, breaks_at=breaks_at)
        contacts = kd.Contacts(0.2, walls=[kd.Plane((0, 1), 0.0)], joints=[rope] if inside else [], sleep=True)
        world = Stepper(
            [[0.0, 5.0], [0.0, 4.0], [3.0, 0.5]], hz=60, forces=[kd.Gravity((0, -G))],
            constraints=[kd.Pin([0]), *([] if inside else [rope]), contacts],
        )  # fmt: skip
        world.step(60)
        world.set(rope, breaks_at=1.0)
        world.step(60)
        worlds.append(world.snapshot())
        assert world.position[1, 1] < 1.0
    assert worlds[0] == worlds[1]


def test_a_hit_passes_through_balls_at_rest():
    """A group wakes as a whole: a Newton's cradle passes an impulse on within the step, as without sleep."""
    ways = []
    for sleep in (False, True):
        contacts = kd.Contacts(0.5, 1.0, 0.0, walls=[kd.Plane((0, 1), 0.0)], sleep=sleep)
        x = np.array([[k * 1.0, 0.5] for k in range(5)] + [[-6.0, 0.5]])
        world = kd.Stepper(x, hz=60, forces=[kd.Gravity((0, -G))], constraints=[contacts])
        world.step(120)
        world.velocity[5] = (4.0, 0.0)
        world.step(120)
        ways.append(world.velocity[:, 0].copy())
    assert ways[1] == pytest.approx(ways[0], abs=1e-3)
    assert ways[1][4] > 1.0


def test_sleep_is_a_flag():
    with pytest.raises(TypeError, match=r"Contacts\(sleep\): expected True or False, got 0.5"):
        kd.Contacts(1.0, sleep=0.5)


# Groups that sleep beside others that move.


def two_heaps(Stepper, **how):
    """Return two heaps 100 m apart on a floor, and a ball above the second heap."""
    one, _ = heap(Stepper)
    x = np.concatenate([one.position, one.position + np.array([100, 0]), [[102.0, 30.0]]])
    walls = [kd.Plane((0, 1), 0.0), kd.Plane((1, 0), 0.0)]
    beside = kd.Boxes([(5.5, 0.0), (98.0, 0.0), (105.5, 0.0)], [(7.0, 9.0), (100.0, 9.0), (107.0, 9.0)])
    contacts = kd.Contacts(0.5, friction=0.6, walls=walls, shapes=[beside], sleep=True)
    gravity = kd.Gravity([(0, -G)] * (len(x) - 1) + [(0, 0)])
    arguments = {"hz": 60, "forces": [gravity], "constraints": [contacts], "alive": len(x)}
    return Stepper(x, np.zeros_like(x), **(arguments | {name: each.copy() for name, each in how.items()})), contacts


MOVES = {
    "a ball falls": lambda world, _: world.velocity.__setitem__((24, 1), -9.0),
    "a body of infinite mass sinks in": lambda world, _: (
        world.set_mass(np.inf, index=[24]), world.velocity.__setitem__((24, 1), -9.0)
    ),
    "a body below is gone": lambda world, _: (world.velocity.__setitem__((24, 1), -0.1), world.kill(13)),
    "a body is exchanged": lambda world, _: (
        world.velocity.__setitem__((24, 1), -0.1), world.kill(13), world.spawn([[101.0, 3.0]], rows=[13])
    ),
    "a body comes again where it was": lambda world, _: (
        world.velocity.__setitem__((24, 1), -0.1),
        (place := world.position[15].copy()),
        world.kill(15),
        world.spawn(place[None], rows=[15]),
    ),
    "a body spins": lambda world, _: (
        world.velocity.__setitem__((24, 1), -0.1), world.angular_velocity.__setitem__(14, 9.0)
    ),
    "a body is nudged": lambda world, _: (
        world.velocity.__setitem__((24, 1), -0.1), world.velocity.__setitem__(14, 0.3)
    ),
    "less friction": lambda world, contacts: (
        world.velocity.__setitem__((24, 1), -0.1), world.set(contacts, friction=0.01)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("turns", [False, True])
def test_one_heap_moves_and_the_other_lies_still(name, turns):
    """Kernels compute only the contacts of the moving heap; the reference computes those of both."""
    if name == "a body spins" and not turns:
        pytest.skip("nothing spins")
    how, states = {"angular_velocity": np.zeros(25), "angle": np.zeros(25)} if turns else {}, []
    settled, _ = two_heaps(kd.Stepper, **how)
    settled.step(300)
    for Stepper in (kd.Stepper, reference.Stepper):
        world, contacts = two_heaps(Stepper, **how)
        world.restore(settled.snapshot())
        world.step(2)
        before = world.position[:12].copy()
        seen = [world.snapshot()]
        MOVES[name](world, contacts)
        for steps in (1, 1, 1, 90):
            world.step(steps)
            seen.append(world.snapshot())
        states.append(seen)
        assert name == "less friction" or np.array_equal(world.position[:12], before)
        assert not np.array_equal(
            world.position[12:], np.concatenate([before + np.array([100, 0]), world.position[24:]])
        )
    assert states[0] == states[1]
