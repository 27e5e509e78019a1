"""Conveyor belts and one-way shapes: against theory, and bitwise equal to the reference."""

import math

import numpy as np
import pytest
from plans import (
    compare_with_reference,
    held_scene,
    in_turn,
    level_scene,
    running_scene,
    told_resting_scene,
    told_scene,
)

import kickdrift as kd

G = 10.0
GRAVITY = kd.Gravity((0, -G))
FLOOR = {
    "plane": lambda **how: [kd.Plane((0, 1), 0, 0, 0.5, 0.5, **how)],
    "box": lambda **how: [kd.Box((-90, 0), (90, 50), 0, 0.5, 0.5, **how)],
    "boxes": lambda **how: [kd.Boxes([(-90, -1)], [(90, 0)], 0, 0.5, 0.5, **how)],
    "segments": lambda **how: [kd.Segments([[(-90, 0), (90, 0)]], 0, 0.5, 0.5, **how)],
    "corner": lambda **how: [kd.Plane((0, 1), 0, 0, 0.5, 0.5, **how), kd.Plane((0, 2), 0, 0, 0, 0.5)],
    "wall of contacts": lambda **how: [kd.Contacts(0.5, friction=0.5, walls=[kd.Plane((0, 1), 0, **how)])],
    "shape of contacts": lambda **how: [
        kd.Contacts(0.5, friction=0.5, shapes=[kd.Boxes([(-90, -1)], [(90, 0)], **how)])
    ],
}


@pytest.mark.parametrize("make", [held_scene, told_scene, told_resting_scene, level_scene])
@pytest.mark.parametrize("dim", [2, 3])
def test_random_plans(monkeypatch, make, dim):
    draw = in_turn(lambda rng, integrator: running_scene(rng, integrator, make, dim=dim))
    compare_with_reference(monkeypatch, draw, range(21))


@pytest.mark.parametrize("floor", FLOOR)
@pytest.mark.parametrize("speed", [-2.0, (2.0, 5.0)])
def test_a_crate_on_a_belt_reaches_its_speed(floor, speed):
    """A belt accelerates by mu g along (-n_y, n_x), to the left on a floor; normal parts of vectors have no effect."""
    crate = kd.Stepper([[0.0, 0.5]], hz=240, forces=[GRAVITY], constraints=FLOOR[floor](surface_speed=speed))
    crate.step(48)  # 0.2 s
    assert crate.velocity[0] == pytest.approx([0.5 * G * 0.2, 0], abs=1e-9)
    crate.step(240)
    assert crate.velocity[0] == pytest.approx([2, 0], abs=1e-6)
    assert crate.position[0] == pytest.approx([2 * 1.2 - 0.4, 0.5], abs=1e-2)


@pytest.mark.parametrize("floor", FLOOR)
def test_a_disc_on_a_belt_begins_to_roll(floor):
    """The contact point takes over the belt's speed u: v + r w = u, with v = u / 3 for a disc."""
    disc = kd.Stepper(
        [[0.0, 0.5]], hz=240, forces=[GRAVITY], constraints=FLOOR[floor](surface_speed=-3.0), angular_velocity=0.0
    )
    disc.step(240)
    assert disc.velocity[0] == pytest.approx([1, 0], abs=1e-6)
    assert disc.angular_velocity[0] == pytest.approx(2 / 0.5, abs=1e-5)


@pytest.mark.parametrize("normal", [(0, 1), (0, -1), (1, 0), (-1, 0), (3, 4)])
def test_the_sign(normal):
    """A positive speed points along (-n_y, n_x), on floors, ceilings, and walls on the left and on the right."""
    n = np.array(normal) / math.hypot(*normal)
    belt = kd.Plane(normal, 0, 0, 0.5, 0.5, surface_speed=2.0)
    crate = kd.Stepper([0.5 * n], hz=60, forces=[kd.Gravity(-G * n)], constraints=[belt])
    crate.step(120)
    np.testing.assert_allclose(crate.velocity[0], 2 * np.array([-n[1], n[0]]), atol=1e-9)


def test_a_sphere_on_a_belt_in_space():
    belt = kd.Boxes([(-90, -90, -1)], [(90, 90, 0)], 0, 0.5, 0.5, surface_speed=(2.0, -1.0, 7.0))
    gravity = kd.Gravity((0, 0, -G))
    sphere = kd.Stepper([[0.0, 0.0, 0.5]], hz=240, forces=[gravity], constraints=[belt], angular_velocity=0.0)
    sphere.step(480)
    # A sphere takes over 2/7 of the belt's speed; the rest becomes rolling.
    np.testing.assert_allclose(sphere.velocity[0], [4 / 7, -2 / 7, 0], atol=1e-6)


@pytest.mark.parametrize("inside", [False, True])
def test_a_belt_changes_its_speed(inside):
    belt = kd.Plane((0, 1), 0, 0, 0.5, 0.5, surface_speed=-2.0)
    held = kd.Contacts(0.5, walls=[belt], friction=0.5) if inside else belt
    crate = kd.Stepper([[0.0, 0.5]], hz=60, forces=[GRAVITY], constraints=[held])
    crate.step(60)
    start = crate.snapshot()
    if not inside:
        crate.set(belt, surface_speed=1.0)
        crate.step(60)
        assert crate.velocity[0, 0] == pytest.approx(-1, abs=1e-6)
        crate.set(belt, surface_speed=0.0)
        crate.step(60)
        assert crate.velocity[0, 0] == pytest.approx(0, abs=1e-6)
    crate.restore(start)
    crate.step(60)
    assert crate.velocity[0, 0] == pytest.approx(2, abs=1e-6)


@pytest.mark.parametrize(
    ("dim", "speed"), [(2, (1.0, 2.0, 3.0)), (2, [[1.0, 0.0]]), (3, 1.0), (3, (1.0, 2.0)), (1, 1.0)]
)
def test_speeds_that_are_refused(dim, speed):
    box = kd.Box(-1, 1, surface_speed=speed)
    for constraint in (box, kd.Contacts(0.1, walls=[box])):
        with pytest.raises(ValueError, match=r"Box\(surface_speed\): expected"):
            kd.Stepper(np.zeros((1, dim)), constraints=[constraint])


# From one side.

PLATFORMS = {
    "box": kd.Boxes([(-9, -1)], [(9, 0)], 0, 0, 0.5, one_way=True),
    "box with a direction": kd.Boxes([(-9, -1)], [(9, 0)], 0, 0, 0.5, one_way=(0.0, 2.0)),
    "segment": kd.Segments([[(-9, 0), (9, 0)]], 0, 0, 0.5, one_way=True),
    "segment to the left": kd.Segments([[(9, 0), (-9, 0)]], 0, 0, 0.5, one_way=(1.0, 1.0)),
    "segments": kd.Segments([[(-9, 0), (0, 0)], [(0, 0), (9, 0)]], 0, 0, 0.5, one_way=True),
    "box that is underneath": kd.Boxes([(-9, 0)], [(9, 1)], 0, 0, 0.5, one_way=(0.0, -1.0)),
}
#: name -> (initial height in m, initial vertical velocity in m/s, whether the body comes to rest on the platform).
WAYS = {
    "rests": (0.5, 0.0, True),
    "falls onto it": (3.0, -1.0, True),
    "is as fast as a bullet": (3.0, -1000.0, True),
    "jumps up through it": (-3.0, 12.0, True),
    "does not jump high enough": (-3.0, 6.0, False),
    "is shot up through it": (-3.0, 1000.0, False),
    "begins within it": (-0.25, 0.0, False),
    "begins below": (-2.0, 0.0, False),
}


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in contacts"])
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("way", WAYS)
def test_a_platform_holds_from_above(platform, way, inside):
    shapes, (y, v, stays) = PLATFORMS[platform], WAYS[way]
    up = -1 if "underneath" in platform else 1
    held = kd.Contacts(0.5, shapes=[shapes]) if inside else shapes
    ball = kd.Stepper([[0.1, up * y]], [[0, up * v]], hz=60, forces=[kd.Gravity((0, -up * G))], constraints=[held])
    ball.step(180)
    if stays:
        assert up * ball.position[0, 1] == pytest.approx(0.5, abs=1e-3)
        assert abs(ball.velocity).max() < 1e-9
    else:
        assert up * ball.position[0, 1] == pytest.approx(y + v * 3 - G * 9 / 2, rel=1e-9)


def test_a_pile_stays_on_a_platform():
    """A one-way platform keeps supporting bodies that a heavy load presses into it."""
    places = [[0.0, 0.5 + 0.99 * k] for k in range(10)]
    tiles = kd.Boxes([(k, -1) for k in range(-3, 3)], [(k + 1, 0) for k in range(-3, 3)], one_way=True)
    pile = kd.Stepper(
        places, mass=[*[1.0] * 9, 100.0], forces=[GRAVITY], constraints=[kd.Contacts(0.5, shapes=[tiles])]
    )
    pile.step(900)
    assert pile.position[:, 1].min() > 0.4


def test_a_runner_goes_over_joints_of_platforms():
    tiles = kd.Segments([[(k, 0), (k + 1, 0)] for k in range(-6, 30)], one_way=True)
    runner = kd.Stepper(
        [[0.3, 0.5]], [[8.0, 0.0]], hz=60, forces=[GRAVITY], constraints=[kd.Contacts(0.5, 0, 0, shapes=[tiles])]
    )
    runner.step(180)
    assert runner.position[0] == pytest.approx([24.3, 0.5], abs=1e-3)


@pytest.mark.parametrize("wrong", [(0.0, 0.0), 2, "up", None, [(0.0, 1.0)]])
def test_directions_that_are_refused(wrong):
    with pytest.raises((TypeError, ValueError), match=r"Boxes\(one_way\): expected"):
        kd.Boxes([(0, 0)], [(1, 1)], one_way=wrong)


def test_a_direction_of_another_dimension():
    with pytest.raises(ValueError, match=r"Boxes\(one_way\): expected True, False or a direction of shape \(2,\)"):
        kd.Stepper([[0.0, 0.0]], constraints=[kd.Boxes([(0, 0)], [(1, 1)], one_way=(0.0, 1.0, 0.0))])
