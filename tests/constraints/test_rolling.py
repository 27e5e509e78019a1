"""Bodies that friction rotates: bitwise equal to the reference in every kind of contact; and refused declarations."""

from dataclasses import replace

import numpy as np
import pytest
from plans import (
    assert_same_bits,
    compare_with_reference,
    held_scene,
    in_turn,
    level_scene,
    resting_around_scene,
    resting_scene,
    rolling_scene,
    told_resting_scene,
    told_scene,
    wrapped_scene,
)

import kickdrift as kd

MAKES = [held_scene, told_scene, wrapped_scene, resting_scene, told_resting_scene, level_scene, resting_around_scene]


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("first", [0, 14])
def test_random_plans(monkeypatch, make, dim, first):
    draw = in_turn(lambda rng, integrator: rolling_scene(rng, integrator, make, dim=dim))
    compare_with_reference(monkeypatch, draw, range(first, first + 14))


@pytest.mark.parametrize("dim", [2, 3])
def test_crowds(monkeypatch, dim):
    """There are enough contacts to fill whole vectors, and bodies have more contacts than there are colours."""

    def drawn(seed, rng):
        scene = rolling_scene(rng, kd.VelocityVerlet(), resting_scene, dim=dim, n=(90, 130)[seed % 2])
        contacts = [part for part in scene.arguments["constraints"] if isinstance(part, kd.Contacts)]
        radius = np.full(len(scene.position), 0.15)
        radius[0] = 1.5
        rest = replace(contacts[0], radius=radius, joints=(), friction=0.7, rolling=0.1)
        scene.arguments["constraints"] = [rest]
        return scene

    compare_with_reference(monkeypatch, drawn, range(4))


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_signs_of_zero_at_a_rough_box(isa, direction):
    """Spin does not move the surface of points; a wall that stops one leaves a velocity of -0 to the next wall."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    spin, velocity = np.repeat(signs, 8, axis=0), direction * np.tile(signs, (8, 1))
    walls = [kd.Box((-0.3, -0.2, -0.4), (0.3, 0.2, 0.4), 0.0), kd.Box((-0.4, -0.2, -0.2), (0.4, 0.2, 0.2), 0.5, 0.5)]
    worlds = [
        Stepper(
            np.zeros((64, 3)), velocity * (2.0, 2.0, 1.0), dt=0.5, angular_velocity=spin.copy(), inertia=0.5,
            forces=[kd.Gravity((0, 0, 1.0))], constraints=walls,
        ) for Stepper in (kd.Stepper, kd.reference.Stepper)
    ]  # fmt: skip
    for world in worlds:
        world.step()
    assert_same_bits(worlds[0].velocity, worlds[1].velocity)
    assert_same_bits(worlds[0].angular_velocity, worlds[1].angular_velocity)


@pytest.mark.parametrize("dim", [2, 3])
def test_bodies_of_infinite_inertia_keep_a_spin_of_negative_zero(isa, dim):
    spin = [2.0, -0.0] if dim == 2 else [[1.0, 2.0, 3.0], [5.0, -0.0, -0.0]]
    worlds = [
        Stepper(
            np.eye(2, dim) / 2, angular_velocity=np.array(spin), inertia=[0.5, np.inf],
            constraints=[kd.Contacts(0.5, friction=1.0, rolling=0.1)],
        ) for Stepper in (kd.Stepper, kd.reference.Stepper)
    ]  # fmt: skip
    for world in worlds:
        world.step()
        assert_same_bits(world.angular_velocity[1], np.array(spin[1]))
    assert_same_bits(worlds[0].angular_velocity, worlds[1].angular_velocity)
