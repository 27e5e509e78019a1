"""Moving shapes, processed in tiles: one call of many steps equals as many single steps, whatever bodies they reach."""

import numpy as np
import pytest

import kickdrift as kd

TILE = 192  # number of bodies that kernels step together
DT = 1 / 64


def world(Stepper, n=4 * TILE, dtype=np.float64, lift=None, **how):
    """Create groups of falling bodies, 100 m apart; a lift rises between the first two."""
    group = np.arange(n) * 4 // n
    place = np.stack([100.0 * group + np.arange(n) % 7, 5.0 + np.arange(n) % 5], axis=1).astype(dtype)
    lift = lift or kd.Boxes([(-2.0, -60.0)], [(40.0, -50.0)], 0.5, 0.3, 0.25, velocity=(0.0, 20.0))
    stepper = Stepper(place, dt=DT, forces=[kd.Gravity((0.0, -10.0))], constraints=[lift], **how)
    return stepper, lift


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "velocity_verlet", "verlet", "rk4"])
@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_steps_are_as_many_single_ones(isa, integrator, events, dtype):
    how = {"integrator": integrator, "dtype": dtype}
    (many, lift), (single, _) = (world(kd.Stepper, events=kd.Events() if events else None, **how) for _ in range(2))
    for steps in (1, 100, 64, 200):
        many.step(steps)
        for _ in range(steps):
            single.step()
        np.testing.assert_array_equal(many.position, single.position)
        np.testing.assert_array_equal(many.velocity, single.velocity)
        np.testing.assert_array_equal(many.current(lift).lower, single.current(single.constraints[0]).lower)
    assert many.velocity[0, 1] > -40  # the lift has hit the first group
    assert many.velocity[-1, 1] == pytest.approx(-10 * many.time, rel=0.01)  # and no other group
    if events:
        np.testing.assert_array_equal(many.events.take(), single.events.take())


def test_few_bodies_are_where_the_reference_has_them(isa):
    (fast, _), (slow, _) = world(kd.Stepper, 12), world(kd.reference.Stepper, 12)
    for steps in (50, 40, 60):
        fast.step(steps)
        slow.step(steps)
        np.testing.assert_array_equal(fast.position, slow.position)
        assert fast.checksum() == slow.checksum()


@pytest.mark.parametrize("velocity", [(-3.0, 0.0), (0.0, 2.0), (0.0, 0.0)])
@pytest.mark.parametrize("angular_velocity", [0.0, 3.0])
def test_a_tile_is_asked_if_a_shape_comes_within_its_reach_in_the_call(isa, velocity, angular_velocity):
    """Place bodies at all distances from the area that a moving or rotating shape covers during the call."""
    place = np.stack(np.meshgrid(np.linspace(-6, 6, 64), np.linspace(-6, 6, 25)), axis=2).reshape(-1, 2)
    arm = [[(0.0, 0.0), (2.0, 0.5)]]
    given = {"velocity": velocity, "angular_velocity": angular_velocity, "center": (0.0, 0.0)}
    for steps in (2, 16, 90):
        many, single = (
            kd.Stepper(place.copy(), dt=DT, constraints=[kd.Segments(arm, 1.0, 0.0, 0.1, **given)]) for _ in range(2)
        )
        many.step(steps)
        for _ in range(steps):
            single.step()
        np.testing.assert_array_equal(many.position, single.position)


def test_after_a_failure_all_stand_at_the_last_whole_tick(isa):
    """A body near the lift becomes infinite during the call: shapes and distant tiles roll back to the tick before."""
    failing, lift = world(kd.Stepper)
    failing.velocity[0] = 0.0, -1e160
    failing.add(kd.QuadraticDrag(0.01))
    alike, _ = world(kd.Stepper)
    alike.velocity[0] = 0.0, -1e160
    alike.add(kd.QuadraticDrag(0.01))
    with pytest.raises(kd.NonFiniteError):
        failing.step(100)
    assert 0 < failing.tick < 100
    for _ in range(failing.tick - 1):
        alike.step()
    with pytest.raises(kd.NonFiniteError):
        alike.step()
    assert alike.tick == failing.tick
    np.testing.assert_array_equal(failing.position[1:], alike.position[1:])
    np.testing.assert_array_equal(failing.current(lift).lower, [[-2.0, -60.0 + 20.0 * DT * failing.tick]])


def test_tiles_that_go_back_ask_where_shapes_were(isa):
    """Repeated steps use the lift's earlier positions; from the last position, it would seem to reach a tile."""
    place = np.concatenate([np.zeros((TILE, 2)), [(145.0, 0.0)] * TILE])
    velocity = np.concatenate([np.zeros((TILE, 2)), [(0.0, 0.01)] * TILE])
    first = np.eye(1, 2 * TILE)[0]  # this body's position grows 7000-fold a step, and faster beyond 1 m
    place[0] = 0.0, 1e-300
    forces = [kd.AnchorSpring(3e7 * first), kd.QuadraticDrag(first)]
    lift = kd.Boxes([(100.0, -5.0)], [(102.0, 5.0)], 0.5, 0.3, 0.25, velocity=(20.0, 0.0))
    failing = kd.Stepper(place, velocity, dt=DT, integrator="semi_implicit_euler", forces=forces, constraints=[lift])
    with pytest.raises(kd.NonFiniteError):
        failing.step(100)
    assert 60 < failing.tick < 100
    np.testing.assert_allclose(failing.position[TILE:, 1], 0.01 * DT * failing.tick)
    assert failing.current(lift).lower[0, 0] == pytest.approx(100 + 20 * DT * failing.tick)
