"""Rotating bodies without contacts: compared with theory, bitwise equal to the reference, saved, changed and drawn."""

import copy
import math
import pickle

import numpy as np
import pytest
from plans import (
    INTEGRATORS,
    LAYOUTS,
    assert_same_bits,
    compare_with_reference,
    held_scene,
    lay_out,
    resting_scene,
    scene,
    spinning_scene,
    told_resting_scene,
    turned_scene,
    wrapped_scene,
)

import kickdrift as kd

DTYPES = (np.float32, np.float64)


def flat(n=3, dtype=np.float64, **more):
    more = {"angular_velocity": np.arange(1.0, n + 1).astype(dtype), "inertia": 2.0} | more
    return np.zeros((n, 2), dtype), more


def world_of(cls, n=3, dtype=np.float64, dim=2, **more):
    more = {"angular_velocity": 1.0, "inertia": 2.0, "dt": 1 / 64} | more
    return cls(np.zeros((n, dim), dtype), **more)


# The same bits.


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize("make", [scene, held_scene], ids=["alone", "held"])
def test_every_integrator_rotates_as_the_reference_does(monkeypatch, integrator, make):
    compare_with_reference(monkeypatch, lambda seed, rng: spinning_scene(rng, integrator, make), range(4))


@pytest.mark.parametrize("make", [resting_scene, told_resting_scene, turned_scene, wrapped_scene])
def test_beside_all_else(monkeypatch, make):
    compare_with_reference(monkeypatch, lambda seed, rng: spinning_scene(rng, INTEGRATORS[seed], make), range(8))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [384, 385, 800])
def test_more_bodies_than_one_row(monkeypatch, n, dtype):
    compare_with_reference(
        monkeypatch, lambda seed, rng: spinning_scene(rng, INTEGRATORS[seed], dtype=dtype, n=n), range(3)
    )


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_any_layout(isa, dtype, dim):
    rng = np.random.default_rng(dim)
    w = rng.normal(size=(7, 1 if dim == 2 else 3)).astype(dtype)
    q = rng.normal(size=(7, 1 if dim == 2 else 4))
    q = (q / np.sqrt((q * q).sum(axis=1, keepdims=True))).astype(dtype)
    torque = rng.normal(size=w.shape).astype(dtype)
    ends = []
    for cls in (kd.Stepper, kd.reference.Stepper):
        for layout in LAYOUTS[:-1]:
            mine = [lay_out(array, layout) for array in (w, q, torque)]
            mine = [array[:, 0] for array in mine] if dim == 2 else mine
            name = "angle" if dim == 2 else "orientation"
            more = {"angular_velocity": mine[0], name: mine[1], "forces": [kd.AppliedTorque(mine[2])]}
            world = world_of(cls, 7, dtype, dim, **more)
            world.step(5)
            assert world.angular_velocity is mine[0]
            assert getattr(world, name) is mine[1]
            ends.append((mine[0].copy(), mine[1].copy()))
    for one in ends:
        for actual, expected in zip(one, ends[0], strict=True):
            assert_same_bits(actual, expected)


# Theory.


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_an_angle_is_exact(Stepper, integrator):
    """Sums are not rounded in steps of 1/64 s, with velocities of few binary digits."""
    position, more = flat()
    world = Stepper(position, dt=1 / 64, integrator=integrator, **more)
    world.step(640)
    assert world.angle.tolist() == [10.0, 20.0, 30.0]
    assert world.angular_velocity.tolist() == [1.0, 2.0, 3.0]


def test_an_orientation_turns_by_the_angle(Stepper):
    """Ten seconds of rotation about any axis have a relative error below 5e-11 per step at h w = 1/6."""
    w = 10 * np.array([[1.0, 0, 0], [0, 0, -1.0], [2 / 3, -2 / 3, 1 / 3]])
    world = Stepper(np.zeros((3, 3)), dt=1 / 60, angular_velocity=w, inertia=1.0)
    steps = 600
    world.step(steps)
    half = steps / 60 * 10 / 2
    exact = np.column_stack([np.full(3, math.cos(half)), math.sin(half) * w / 10])
    # Errors of steps add up; the error of q is half that of the angle.
    assert abs(world.orientation - exact).max() < steps * (1 / 6) * 5e-11
    assert abs(world.orientation - exact).max() > 1e-12  # a smaller error would mean another series


def test_a_pool_ball(Stepper):
    """A pool ball of r = 2.85 cm at 2 m/s and 60 Hz turns by 1.17 rad a step, of which 2.4e-4 are lost."""
    world = Stepper(np.zeros((1, 3)), dt=1 / 60, angular_velocity=[[0, 0, 2 / 0.0285]], inertia=1.0)
    world.step()
    angle = 2 * math.atan2(world.orientation[0, 3], world.orientation[0, 0])
    assert abs(angle / (2 / 0.0285 / 60) - 1) < 2.5e-4


@pytest.mark.parametrize("dtype", DTYPES)
def test_orientations_keep_their_length(dtype):
    rng = np.random.default_rng(1)
    world = kd.Stepper(
        np.zeros((50, 3), dtype), angular_velocity=(9 * rng.normal(size=(50, 3))).astype(dtype), inertia=1.0
    )
    world.step(100_000)
    length = np.sqrt((world.orientation.astype(np.float64) ** 2).sum(axis=1))
    assert abs(length - 1).max() < 2 * np.finfo(dtype).eps


def test_turning_about_the_worlds_axes(Stepper):
    """A quarter about x, then one about z: the body's y axis first becomes z, and stays there."""
    world = Stepper(np.zeros((1, 3)), dt=1 / 256, angular_velocity=[[math.pi / 2, 0, 0]], inertia=1.0)
    world.step(256)
    world.angular_velocity[:] = [[0, 0, math.pi / 2]]
    world.step(256)
    a, b, c, d = world.orientation[0]
    y = [2 * (b * c - a * d), a * a - b * b + c * c - d * d, 2 * (c * d + a * b)]
    np.testing.assert_allclose(y, [0, 0, 1], atol=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_torque_accelerates_by_its_inertia(Stepper, dim):
    shape = (3,) if dim == 2 else (3, 3)
    torque = np.full(shape, 3.0)
    world = Stepper(
        np.zeros((3, dim)),
        mass=[1.0, np.inf, 1.0],
        dt=1 / 64,
        angular_velocity=np.full(shape, 0.5),
        inertia=[2.0, 2.0, np.inf],
        forces=[kd.AppliedTorque(torque), kd.AppliedTorque(torque / 2)],
    )
    world.step(32)
    speeds = world.angular_velocity.reshape(3, -1)
    assert (speeds[0] == 0.5 + 4.5 / 2 / 2).all()
    assert (speeds[1:] == 0.5).all()  # no torque turns a body of infinite inertia
    torque[:] = np.nan
    torque[0] = -6.0
    world.remove(world.forces[1])
    world.step(32)
    assert (world.angular_velocity.reshape(3, -1) == [[0.5 + 4.5 / 4 - 1.5]] + 2 * [[0.5]]).all()


@pytest.mark.parametrize("hz", [30, 60, 240])
def test_damping_is_exact(Stepper, hz):
    world = Stepper(
        np.zeros((3, 2)),
        mass=[1, 1, np.inf],
        hz=hz,
        angular_velocity=4.0,
        inertia=1.0,
        forces=[kd.Damping(0.0, angular=[1.0, 2.0, 3.0])],
    )
    world.step(hz)
    np.testing.assert_allclose(world.angular_velocity, [4 * math.exp(-1), 4 * math.exp(-2), 4], rtol=1e-14)


def test_damping_of_velocities_leaves_rotation_alone(Stepper):
    world = world_of(Stepper, forces=[kd.Damping(2.0)])
    world.step(9)
    assert (world.angular_velocity == 1).all()
    world.set(world.forces[0], angular=64 * math.log(2))
    world.step()
    np.testing.assert_allclose(world.angular_velocity, 0.5, rtol=1e-15)


@pytest.mark.parametrize("dim", [2, 3])
def test_energy_counts_rotation(Stepper, dim):
    w = np.array([1.0, 2.0, 3.0]) if dim == 2 else np.array([[1.0, 0, 0], [0, 2.0, 0], [0, 0, 3.0]])
    world = Stepper(
        np.zeros((3, dim)), np.ones((3, dim)), [2.0, np.inf, 4.0], angular_velocity=w, inertia=[0.5, 1.0, np.inf]
    )
    assert world.energy() == ((2.0 + 4.0) * dim / 2 + 0.5 * 1.0 / 2, 0.0)


# Inertia.


def test_inertia_is_that_of_solid_bodies(Stepper):
    box, plane = kd.Box(-9, 9, radius=0.25), kd.Plane((0, 1), -9, radius=0.125)
    balls, bricks = kd.ElasticCollisions([1.0, 2.0, 3.0]), kd.Boxes([(5, 5)], [(6, 6)], radius=0.75)
    resting = kd.Contacts(0.5)
    for constraints, radius in (
        ([plane], 0.125),
        ([plane, box], 0.25),
        ([plane, box, bricks], 0.75),
        ([plane, box, bricks, balls], np.array([1.0, 2.0, 3.0])),
        ([resting], 0.5),
    ):
        world = world_of(Stepper, inertia=None, mass=[1.0, 2.0, 4.0], constraints=constraints)
        assert (world.inertia == 0.5 * np.array([1.0, 2.0, 4.0]) * radius**2).all()
        assert not world.inertia.flags.writeable
    sphere = Stepper([[0.0] * 3], mass=3.0, angular_velocity=0.0, constraints=[kd.Contacts(0.5)])
    assert sphere.inertia.tolist() == [0.4 * 3.0 * 0.25]


def test_inertia_follows_masses_and_radii(Stepper):
    torque = np.ones(2)
    balls = kd.ElasticCollisions(1.0)
    position = [[0.0, 0.0], [9.0, 0.0]]
    world = Stepper(position, dt=1, angular_velocity=0.0, constraints=[balls], forces=[kd.AppliedTorque(torque)])
    saved = world.snapshot()
    world.set_mass(4.0, index=[1])
    world.set(balls, radius=0.5, index=[0])
    assert world.inertia.tolist() == [0.125, 2.0]
    world.step()
    assert world.angular_velocity.tolist() == [8.0, 0.5]
    world.enable(balls, False)
    assert world.inertia.tolist() == [0.125, 2.0]  # a body keeps its size
    world.restore(saved)
    assert world.inertia.tolist() == [0.5, 0.5]
    world.step()
    assert world.angular_velocity.tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="inertia: expected inertia=, or a constraint with a radius"):
        world.remove(balls)
    assert world.constraints == (balls,)
    with pytest.raises(ValueError, match=r"inertia: expected inertia= for this stepper.*radius of 0\.0 m \(body 1\)"):
        world.set(balls, radius=0.0, index=[1])
    assert world.inertia.tolist() == [0.5, 0.5]
    world.step()
    assert world.angular_velocity.tolist() == [4.0, 4.0]


def test_inertia_that_was_given_stays(Stepper):
    world = world_of(Stepper, inertia=[1.0, 2.0, 3.0], constraints=[kd.Contacts(0.5)])
    world.set_mass(9.0)
    assert world.inertia.tolist() == [1.0, 2.0, 3.0]


# Arguments.


def test_nothing_rotates_where_nothing_is_said(Stepper):
    world = Stepper(np.zeros((2, 2)))
    assert (world.angular_velocity, world.angle, world.orientation, world.inertia) == (None,) * 4
    with pytest.raises(ValueError, match="interpolate_angles: expected a stepper with angular_velocity"):
        world.interpolate_angles()


def test_numbers_make_arrays(Stepper):
    world = world_of(Stepper, dtype=np.float32, angle=2)
    assert world.angular_velocity.dtype == world.angle.dtype == np.float32
    assert (world.angular_velocity.tolist(), world.angle.tolist()) == ([1.0] * 3, [2.0] * 3)
    assert world.orientation is None
    world = world_of(Stepper, dim=3, angular_velocity=(1, 2, 3))
    assert (world.angular_velocity == [[1, 2, 3]] * 3).all()
    assert (world.orientation == [[1, 0, 0, 0]] * 3).all()
    assert world.angle is None
    assert (world_of(Stepper, dim=3, angular_velocity=0.0).angular_velocity == np.zeros((3, 3))).all()


READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False
SHARED = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("dim", "arguments", "error", "message"),
    [
        (2, {"angle": 0.0}, ValueError, "angle: expected angular_velocity too"),
        (3, {"orientation": (1, 0, 0, 0)}, ValueError, "orientation: expected angular_velocity too"),
        (2, {"inertia": 1.0}, ValueError, "inertia: expected angular_velocity too"),
        (1, {"angular_velocity": 0.0}, ValueError, "expected bodies in two or three dimensions, got dim 1"),
        (2, {"angular_velocity": 0.0, "orientation": (1, 0, 0, 0)}, ValueError, "orientation: expected angle in 2"),
        (3, {"angular_velocity": 0.0, "angle": 0.0}, ValueError, "angle: expected orientation in 3 dimensions"),
        (2, {"angular_velocity": [1.0, 2.0]}, ValueError, r"angular_velocity: expected a number or shape \(3,\)"),
        (2, {"angular_velocity": np.zeros((3, 1))}, ValueError, r"shape \(3,\), got shape \(3, 1\)"),
        (3, {"angular_velocity": np.zeros(4)}, ValueError, r"angular_velocity: expected a number or shape \(3, 3\)"),
        (2, {"angular_velocity": "1"}, TypeError, "angular_velocity: expected real numbers"),
        (2, {"angular_velocity": True}, TypeError, "angular_velocity: expected real numbers"),
        (2, {"angular_velocity": np.nan}, ValueError, "angular_velocity: expected finite numbers, got nan for body 0"),
        (2, {"angular_velocity": np.zeros(3, np.float32)}, TypeError, "expected the dtype of position, float64"),
        (2, {"angular_velocity": READ_ONLY}, ValueError, "angular_velocity: expected a writable, aligned array"),
        (2, {"angular_velocity": np.broadcast_to(1.0, 3)}, ValueError, "angular_velocity: expected a writable"),
        (2, {"angular_velocity": 0.0, "angle": np.zeros(3, int)}, TypeError, "angle: expected the dtype of position"),
        (3, {"angular_velocity": 0.0, "orientation": (1, 0, 0, 0.1)}, ValueError, "expected unit quaternions, of len"),
        (3, {"angular_velocity": 0.0, "orientation": 0.5}, None, None),
        (3, {"angular_velocity": 0.0, "orientation": (0, 0, 0, 0)}, ValueError, "of length 1 within 0.0001, got"),
        (3, {"angular_velocity": 0.0, "orientation": [[1, 0, 0, 0]] * 2}, ValueError, "orientation: expected a number"),
        (2, {"angular_velocity": 0.0, "inertia": 0.0}, ValueError, "inertia: expected positive numbers"),
        (2, {"angular_velocity": 0.0, "inertia": -1.0}, ValueError, "inertia: expected positive numbers"),
        (
            2,
            {"angular_velocity": 0.0, "inertia": [1.0, 2.0]},
            ValueError,
            r"inertia: expected a scalar or shape \(3,\)",
        ),
        (2, {"angular_velocity": 0.0, "inertia": "big"}, TypeError, "inertia: expected real numbers"),
        (2, {"angular_velocity": 0.0, "inertia": None}, ValueError, "inertia: expected inertia=, or a constraint with"),
        (2, {"angular_velocity": SHARED[:, 0], "angle": SHARED[:, 0]}, ValueError, "shares memory with angle"),
        (2, {"forces": [kd.AppliedTorque(np.zeros(3))]}, ValueError, "AppliedTorque: expected a stepper with ang"),
        (
            2,
            {"angular_velocity": 0.0, "forces": [kd.AppliedTorque(np.zeros((3, 3)))]},
            ValueError,
            r"AppliedTorque\(torque\): expected shape \(3,\), got \(3, 3\)",
        ),
        (
            3,
            {"angular_velocity": 0.0, "forces": [kd.AppliedTorque(np.zeros(3))]},
            ValueError,
            r"AppliedTorque\(torque\): expected shape \(3, 3\), got \(3,\)",
        ),
        (
            2,
            {"angular_velocity": 0.0, "forces": [kd.AppliedTorque(np.zeros(3, np.float32))]},
            TypeError,
            r"AppliedTorque\(torque\): expected float64, as the state is, got float32",
        ),
    ],
)
def test_what_is_refused(Stepper, dim, arguments, error, message):
    arguments = ({"inertia": 1.0} if "angular_velocity" in arguments else {}) | arguments
    if error is None:
        Stepper(np.zeros((3, dim)), **arguments)
        return
    with pytest.raises(error, match=message):
        Stepper(np.zeros((3, dim)), **arguments)


def test_arrays_of_the_state_are_refused(Stepper):
    position = np.zeros((3, 2))
    with pytest.raises(ValueError, match="angular_velocity: shares memory with position"):
        Stepper(position, angular_velocity=position[:, 0], inertia=1.0)
    mine = np.zeros(3)
    with pytest.raises(ValueError, match="shares memory with angular_velocity"):
        Stepper(position, angular_velocity=mine, inertia=1.0, state={"mine": mine})
    world = Stepper(position, angular_velocity=mine, inertia=1.0)
    with pytest.raises(ValueError, match="out: shares memory with angular_velocity"):
        world.interpolate_angles(out=mine)


def test_torques_are_held_as_forces_are():
    with pytest.raises(TypeError, match=r"AppliedTorque\(torque\): expected an array of your own, of shape \(n,\) or"):
        kd.AppliedTorque([1.0])
    with pytest.raises(ValueError, match=r"expected shape \(n,\) or \(n, 3\), got \(1, 1, 1\)"):
        kd.AppliedTorque(np.zeros((1, 1, 1)))
    with pytest.raises(TypeError, match="expected float32 or float64"):
        kd.AppliedTorque(np.zeros(3, int))
    with pytest.raises(ValueError, match="overlapping"):
        kd.AppliedTorque(np.lib.stride_tricks.as_strided(np.zeros(3), (3,), (0,)))
    with pytest.raises(ValueError, match="writable"):
        kd.AppliedTorque(READ_ONLY)
    world = world_of(kd.Stepper, forces=[kd.AppliedTorque(np.zeros(3))])
    with pytest.raises(ValueError, match="AppliedTorque has no potential"):
        world.energy()


# Errors in a step.


@pytest.mark.parametrize("dim", [2, 3])
def test_what_is_not_finite_is_found_at_its_tick(Stepper, dim):
    torque = np.zeros((3,) if dim == 2 else (3, 3))
    world = world_of(Stepper, dim=dim, forces=[kd.AppliedTorque(torque)], dt=1.0, angular_velocity=0.0)
    world.step(2)
    torque[1] = 1e308
    with pytest.raises(kd.NonFiniteError) as caught:
        world.step(9)
    assert caught.value.body == 1
    assert world.tick == (
        5 if dim == 2 else 3
    )  # w grows by 5e307 a step, and angles sum it up; the square of w overflows at once


def test_a_step_that_fails_turns_nothing(Stepper):
    def fail(t, position, velocity, out):
        if world.tick == 3:
            raise ZeroDivisionError

    world = world_of(Stepper, forces=[kd.Force(fail)], integrator="semi_implicit_euler")
    with pytest.raises((kd.CallbackError, ZeroDivisionError)):
        world.step(9)
    assert (world.tick, world.angle.tolist()) == (3, [3 / 64] * 3)


def test_an_implicit_step_that_fails_turns_nothing(Stepper):
    wells = [kd.PointGravity(1e9, (1e-3, 0.0))]
    world = world_of(Stepper, 1, forces=wells, integrator=kd.ImplicitEuler(max_iterations=1), dt=1.0)
    with pytest.raises(kd.ConvergenceError):
        world.step(5)
    assert world.angle.tolist() == [float(world.tick)]


# Rotating bodies that are spawned and killed.


@pytest.mark.parametrize("dim", [2, 3])
def test_spawn_and_kill(Stepper, dim):
    dirty = np.full((4, 4), 0.5)
    more = {"angle": dirty[:, 0].copy()} if dim == 2 else {"orientation": dirty}
    world = world_of(Stepper, 4, dim=dim, alive=1, **more)
    name = "angle" if dim == 2 else "orientation"
    turned = getattr(world, name)
    assert turned[0].any()
    assert not turned[1:].any()
    one = world.spawn(np.ones(dim))
    assert (turned[1] == ([0.0] if dim == 2 else [1, 0, 0, 0])).all()
    assert not world.angular_velocity[1].any()
    spin = [1.0, 2.0] if dim == 2 else [[1.0, 0, 0], [0, 2.0, 0]]
    at = [3.0, 4.0] if dim == 2 else [(0, 1, 0, 0), (0, 0, 1, 0)]
    two = world.spawn(np.ones((2, dim)), angular_velocity=spin, **{name: at})
    assert world.angular_velocity[2:].tolist() == spin
    assert (turned[2:] == at).all()
    world.step(64)
    if dim == 2:
        np.testing.assert_allclose(turned, [1.5, 0.0, 4.0, 6.0])
    world.kill([*one, two[0]])
    assert not turned[1:3].any()
    assert not world.angular_velocity[1:3].any()
    turned[1] = 5.0  # rows of dead bodies become zeros again
    world.step()
    world.snapshot()
    assert not turned[1].any()
    again = world.spawn(np.ones(dim), angular_velocity=7.0)
    assert world.slots(again) == 1
    assert (world.angular_velocity[1] == 7).all()
    with pytest.raises(kd.CapacityError):
        world.spawn(np.ones((2, dim)))
    wrong = {"orientation" if dim == 2 else "angle": 1.0}
    with pytest.raises(ValueError, match="expected"):
        world.spawn(np.ones(dim), **wrong)
    with pytest.raises(ValueError, match="angular_velocity: expected a number or shape"):
        world.spawn(np.ones(dim), angular_velocity=np.zeros((3, 2)))
    assert world.count == 3


def test_spawn_with_a_mass(Stepper):
    world = Stepper(np.zeros((2, 2)), angular_velocity=0.0, alive=1, constraints=[kd.Contacts(1.0)])
    ids = world.spawn([[5.0, 5.0]], mass=4.0, angular_velocity=3.0, angle=1.0)
    assert world.inertia.tolist() == [0.5, 2.0]
    assert (world.angular_velocity[1], world.angle[1], len(ids)) == (3.0, 1.0, 1)


def test_spawn_where_nothing_rotates(Stepper):
    world = Stepper(np.zeros((2, 2)), alive=1)
    with pytest.raises(ValueError, match="angular_velocity: expected a stepper with angular_velocity"):
        world.spawn([[1.0, 1.0]], angular_velocity=1.0)
    assert world.count == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [2, 3])
def test_lives_as_in_the_reference(isa, dim, dtype):
    rng = np.random.default_rng(dim)
    name = "angle" if dim == 2 else "orientation"
    shape = (9,) if dim == 2 else (9, 3)
    torque = rng.normal(size=shape).astype(dtype)
    forces = [kd.AppliedTorque(torque), kd.Damping(0.1, 0.2)]
    worlds = [
        world_of(
            cls, 9, dtype, dim, alive=5, inertia=None, constraints=[kd.Contacts(0.1)], forces=forces, hz=60, dt=None
        )
        for cls in (kd.Stepper, kd.reference.Stepper)
    ]
    for world in worlds:
        world.step(3)
        world.kill([1, 3])
        world.step(2)
        turned = {name: 0.5 if dim == 2 else (0, 0, 0, 1)}
        world.spawn(np.full((2, dim), 3.0) + np.arange(2)[:, None], angular_velocity=0.25, **turned, mass=[2, 3])
        world.step(1)
        world.set_mass(1.5)
        world.advance(0.05)
    assert worlds[0].checksum() == worlds[1].checksum()
    for living in (False, True):
        drawn = [world.interpolate_angles(0.3, living=living) for world in worlds]
        np.testing.assert_array_equal(*drawn)


# Time.


def saved(world):
    """Return the rotational state that a snapshot must restore."""
    turned = world.angle if world.dim == 2 else world.orientation
    return world.angular_velocity.copy(), turned.copy()


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_snapshots_have_the_rotation(Stepper, dim, dtype):
    torque = np.ones((3,) if dim == 2 else (3, 3), dtype)
    world = world_of(Stepper, dtype=dtype, dim=dim, forces=[kd.AppliedTorque(torque)])
    world.step(3)
    snapshot, checksum, state = world.snapshot(), world.checksum(), saved(world)
    arrays = world.angular_velocity, world.angle if dim == 2 else world.orientation
    for change in (lambda: world.step(2), lambda: arrays[0].fill(7), lambda: arrays[1].fill(7), lambda: torque.fill(9)):
        change()
        assert world.checksum() != checksum
        world.restore(snapshot)
        assert world.checksum() == checksum
        for actual, expected in zip(arrays, state, strict=True):
            assert_same_bits(actual, expected)
    assert (torque == 1).all()
    for other in (copy.copy(world), copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert other.checksum() == checksum
        assert not np.shares_memory(other.angular_velocity, arrays[0])
        world.step()
        other.step()
        assert other.checksum() == world.checksum()
        world.restore(snapshot)


def test_snapshots_of_others_are_refused(Stepper):
    still, turning = Stepper(np.zeros((3, 2))), world_of(Stepper, dt=1 / 60)
    with pytest.raises(kd.SnapshotError, match="snapshot: of a stepper with other inertia"):
        turning.restore(still.snapshot())
    with pytest.raises(kd.SnapshotError, match="snapshot: of a stepper with other inertia"):
        still.restore(turning.snapshot())
    with pytest.raises(kd.SnapshotError, match="snapshot: of a stepper with other inertia"):
        turning.restore(world_of(Stepper, inertia=3.0, dt=1 / 60).snapshot())
    turning.restore(world_of(Stepper, inertia=2, dt=1 / 60, angle=4.0).snapshot())
    assert turning.angle.tolist() == [4.0] * 3


def test_a_copy_with_rows_of_the_dead(Stepper):
    world = world_of(Stepper, dim=3, alive=1)
    world.step()
    assert copy.copy(world).checksum() == world.checksum()


@pytest.mark.parametrize("dim", [2, 3])
def test_going_back(Stepper, dim):
    torque = np.zeros((4,) if dim == 2 else (4, 3))

    def play(world, tick):
        torque[:] = np.sin(tick + np.arange(torque.size)).reshape(torque.shape)
        if tick == 5:
            world.spawn(np.ones(dim), angular_velocity=2.0)
        if tick == 9:
            world.kill([0])

    world = world_of(Stepper, 4, dim=dim, alive=2, forces=[kd.AppliedTorque(torque), kd.Damping(0.1, 0.3)])
    kd.sync_test(world, 16, inputs=play)
    past = kd.Rollback(world, 8)
    past.resimulate(20, play)
    end = world.checksum()
    past.rollback(17)
    past.resimulate(20, play)
    assert (world.checksum(), past.checksum(17) != end) == (end, True)


def test_tapes(Stepper, tmp_path):
    torque = np.zeros(3)
    world = world_of(Stepper, forces=[kd.AppliedTorque(torque)])
    tape = kd.Tape(world)
    world.step(2)
    world.angle[1] = 3.0
    world.step()
    world.angular_velocity[:] = -1.0
    torque[2] = 4.0
    world.step(2)
    tape.stop()
    tape.save(tmp_path / "tape")
    other = world_of(Stepper, forces=[kd.AppliedTorque(np.zeros(3))])
    kd.Tape.load(tmp_path / "tape").replay(other)
    assert (other.tick, other.angle.tolist()) == (5, world.angle.tolist())


def test_record_samples_it(Stepper):
    motion = world_of(Stepper, dt=0.5).record(4, every=2)
    assert motion.angle[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert (motion.angular_velocity == 1).all()
    assert motion.orientation is None
    assert world_of(Stepper, dim=3).record(1).orientation.shape == (2, 3, 4)
    assert Stepper([[0.0]]).record(1).angular_velocity is None


def test_backwards(Stepper):
    world = world_of(Stepper, forces=[kd.Damping(0.0, angular=0.5)], angle=1.0)
    world.step(8)
    world.dt = -1 / 64
    world.step(8)
    np.testing.assert_allclose(world.angular_velocity, 1.0, rtol=1e-15)


def test_periodic_boxes_leave_rotation_alone(Stepper):
    world = Stepper(
        [[0.9, 0.5]], [[8.0, 0.0]], dt=1 / 64, angular_velocity=3.0, inertia=1.0, constraints=[kd.Periodic(0, 1)]
    )
    world.step(64)
    assert world.angle.tolist() == [3.0]


# Other arrays, other places.


@pytest.mark.parametrize("dim", [2, 3])
def test_rebind(Stepper, dim):
    name = "angle" if dim == 2 else "orientation"
    shape = (5,) if dim == 2 else (5, 3)
    balls = kd.Contacts(1.0)
    world = world_of(Stepper, 3, dim=dim, inertia=None, constraints=[balls], dt=0.5)
    world.position[:, 0] = 9 * np.arange(3)
    world.step()
    old, turned = world.angular_velocity, getattr(world, name).copy()
    world.rebind(world.position.copy(), world.velocity.copy())
    assert world.angular_velocity is old
    w = np.full((3, *shape[1:]), 2.0)
    world.rebind(world.position.copy(), world.velocity.copy(), angular_velocity=w)
    world.step()
    assert world.angular_velocity is w
    assert (getattr(world, name) != turned).any()
    assert (old == 1).all()
    far = np.zeros((5, dim))
    far[:, 0] = 9 * np.arange(5)
    with pytest.raises(ValueError, match="angular_velocity: expected a number or shape"):
        world.rebind(far, np.zeros((5, dim)))
    assert world.n == 3
    more = np.zeros(shape)
    world.rebind(far, np.zeros((5, dim)), more, **{name: 1.0 if dim == 2 else (0, 1, 0, 0)})
    assert (world.n, world.angular_velocity is more, len(world.inertia)) == (5, True, 5)
    world.step(2)
    assert len(world.interpolate_angles()) == 5
    fresh = world_of(Stepper, 3, dim=dim, inertia=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="as many as there are moments of inertia"):
        fresh.rebind(far, np.zeros((5, dim)), more, **{name: getattr(world, name).copy()})
    with pytest.raises(ValueError, match="angular_velocity: expected a stepper that was made with"):
        Stepper(np.zeros((1, dim))).rebind(np.zeros((1, dim)), np.zeros((1, dim)), 1.0)


def test_drawing(Stepper):
    world = world_of(Stepper, angular_velocity=[0.0, 64.0, 640.0])
    assert world.interpolate_angles().tolist() == [0.0] * 3
    world.advance(1.5 / 64)
    assert world.interpolate_angles().tolist() == [0.0, 0.5, 5.0]  # angles are not reduced to one turn
    assert world.interpolate_angles(0.25).tolist() == [0.0, 0.25, 2.5]
    out = np.zeros((3, 2), np.float32)
    assert world.interpolate_angles(out=out[:, 1]) is not None
    assert out.tolist() == [[0.0, 0.0], [0.0, 0.5], [0.0, 5.0]]
    world.step()
    assert world.interpolate_angles().tolist() == world.angle.tolist()
    for out, error in ((np.zeros((3, 1)), ValueError), (np.zeros(3, int), TypeError), ("x", TypeError)):
        with pytest.raises(error, match="out: expected"):
            world.interpolate_angles(out=out)
    with pytest.raises(TypeError, match="alpha"):
        world.interpolate_angles("1")


def test_drawing_orientations(Stepper):
    """Interpolation takes the shorter arc: -q is the same orientation as q."""
    world = world_of(Stepper, dim=3, angular_velocity=[[0, 0, 64 * 0.5]] * 3)
    world.advance(1.5 / 64)
    half = world.interpolate_angles()
    np.testing.assert_allclose(half, [[math.cos(0.125), 0, 0, math.sin(0.125)]] * 3, atol=1e-5)
    world.orientation[:] *= -1
    np.testing.assert_allclose(world.interpolate_angles(), half, rtol=1e-14)
    np.testing.assert_allclose((half * half).sum(axis=1), 1, rtol=1e-14)


def test_drawing_the_living(Stepper):
    world = world_of(Stepper, 4, alive=3, angular_velocity=64.0)
    world.kill([1])
    world.advance(1.5 / 64)
    world.spawn([1.0, 1.0], angle=7.0)
    np.testing.assert_array_equal(world.interpolate_angles(), [0.5, 7.0, 0.5, np.nan])
    assert world.interpolate_angles(living=True).tolist() == [0.5, 7.0, 0.5]


def test_teleport(Stepper):
    world = world_of(Stepper, angular_velocity=64.0)
    world.advance(1.5 / 64)
    world.teleport(1, [5.0, 5.0])
    assert world.interpolate_angles().tolist() == [0.5] * 3
    world.teleport([0, 2], [[5.0, 5.0]] * 2, angle=[3.0, 4.0])
    assert world.angle.tolist() == [3.0, 1.0, 4.0]
    assert world.interpolate_angles().tolist() == [3.0, 0.5, 4.0]
    with pytest.raises(ValueError, match="orientation: expected angle"):
        world.teleport(0, [1.0, 1.0], orientation=(1, 0, 0, 0))
    with pytest.raises(ValueError, match="angle: expected a stepper with angular_velocity"):
        Stepper(np.zeros((1, 2))).teleport(0, [1.0, 1.0], angle=1.0)
    assert world.position[0].tolist() == [5.0, 5.0]
    ball = world_of(Stepper, dim=3)
    ball.teleport(1, [1.0, 1.0, 1.0], orientation=(0, 1, 0, 0))
    assert ball.orientation[1].tolist() == [0, 1, 0, 0]


def test_bits_and_counts_do_not_depend_on_the_number_of_threads(isa):
    """The pass over so many bodies runs without the GIL."""
    rng = np.random.default_rng(2)
    x, w = 3 * rng.normal(size=(2, 5001, 3))
    results = set()
    for threads in (1, 3):
        floor = kd.Plane((0, 1, 0), -2.0, friction=0.5, radius=0.1)
        forces = [kd.Gravity((0, -9.0, 0)), kd.AppliedTorque(w.copy())]
        world = kd.Stepper(x.copy(), angular_velocity=w.copy(), constraints=[floor], forces=forces, threads=threads)
        world.step(20)
        world.step(3)
        results.add((world.checksum(), world.force_evaluations))
    assert len(results) == 1


def test_worlds_without_rotation_say_the_same(Stepper):
    """Neither snapshots nor the declared values of such worlds mention rotation."""
    world = Stepper(np.zeros((2, 2)), forces=[kd.Damping(0.5)], dt=1 / 64)
    text = world.snapshot()
    assert b"inertia" not in text
    assert b"rotation" not in text
    assert kd.Damping(0.5).declared_values().keys() == {"rate"}
    assert kd.Damping(0.5, 0.5).declared_values().keys() == {"rate", "angular"}


@pytest.mark.parametrize("n", [384, 385, 1000])
def test_drawing_crowds(Stepper, n):
    """In worlds of more bodies than fit in a row, the steps themselves store the previous state."""
    world = world_of(Stepper, n, angular_velocity=64.0)
    for _ in range(3):
        world.advance(1.5 / 64)
    assert (world.interpolate_angles() == world.angle - 1 + world.alpha).all()


def test_rebind_with_rows_of_the_dead(Stepper):
    """Rows of dead bodies need not be finite, and become zeros."""
    world = world_of(Stepper, 3, dim=3, alive=1)
    w, q = np.ones((4, 3)), np.full((4, 4), np.nan)
    q[0] = (0, 1, 0, 0)
    world.rebind(np.zeros((4, 3)), np.zeros((4, 3)), w, orientation=q)
    assert world.orientation.tolist() == [[0, 1, 0, 0]] + 3 * [[0] * 4]
    assert world.angular_velocity.tolist() == [[1] * 3] + 3 * [[0] * 3]
