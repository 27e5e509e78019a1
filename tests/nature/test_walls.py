"""Walls, shapes and heavy bodies against analytic mechanics, in every direction."""

import itertools
import math

import numpy as np
import pytest
from plans import AT_WALLS, largest_rest_speed, uses_old_velocity

import kickdrift as kd
from kickdrift import reference

G = 9.81
R = 0.125  # radius of the bodies
DOWN = [k * np.pi / 4 for k in range(8)]  # directions of the force, as angles: each wall is floor, ceiling and side
FOLLOWING = pytest.mark.parametrize("integrator", AT_WALLS, ids=repr)


def turned(angle, vectors):
    """Rotate vectors from a world where down is -y to one where down is `angle`."""
    c, s = np.cos(angle + np.pi / 2), np.sin(angle + np.pi / 2)
    return np.asarray(vectors, float) @ np.array([[c, s], [-s, c]])


def gravity(angle):
    return kd.Gravity(tuple(turned(angle, (0.0, -G))))


def plane(angle, **more):
    return kd.Plane(tuple(turned(angle, (0, 1))), 0.0, **more)


def segment(angle, **more):
    return kd.Segments([turned(angle, [(-50, 0), (50, 0)])], **more)


def straight(angle):
    return np.isclose(np.cos(2 * angle) ** 2, 1)


def block(angle, **more):
    """Create a box with a side through the origin; None if it would not be axis-aligned."""
    ends = turned(angle, [(-50, 0), (50, -20)])
    return kd.Boxes([ends.min(0)], [ends.max(0)], **more) if straight(angle) else None


def room(angle, **more):
    ends = turned(angle, [(-50, 0), (50, 90)])
    return kd.Box(ends.min(0), ends.max(0), **more) if straight(angle) else None


def speed_tolerance(integrator):
    """Relative accuracy of the impact speed: the alternating form is half a kick off at odd ticks."""
    return 1e-2 if getattr(integrator, "form", "") == "alternate" else 1e-9


def largest_creep(integrator, hz):
    """Largest displacement per second of a body held by friction."""
    if uses_old_velocity(integrator):
        return G / hz / 2
    return G / hz**2 if getattr(integrator, "start", "") == "backward" else 1e-9


FLOORS = [plane, segment, block, room]


def floors(**more):
    """Yield every kind of wall below the origin, for every direction of the force."""
    for angle in DOWN:
        for floor in FLOORS:
            wall = floor(angle, radius=R, **more)
            if wall is not None:
                yield angle, wall


def energy(world, force):
    """Energy per unit mass of each body, with velocities at the time of the positions."""
    v = world.velocity + world.integrator.velocity_lag * world.dt * np.asarray(force)
    return 0.5 * (v * v).sum(1) - world.position @ np.asarray(force)


def rooms(**more):
    """Yield four walls around (0, 0) .. (3, 2), of each kind."""
    low, high = np.array([0.0, 0.0]), np.array([3.0, 2.0])
    corners = [low, (3.0, 0.0), high, (0.0, 2.0)]
    yield [kd.Box(low, high, **more)]
    yield [
        kd.Plane(normal, offset, **more) for normal, offset in (((1, 0), 0), ((-1, 0), -3), ((0, 1), 0), ((0, -1), -2))
    ]
    yield [kd.Segments(list(zip(corners, corners[1:] + corners[:1], strict=True)), **more)]
    yield [kd.Boxes([(-1, -1), (-1, 2), (-1, -1), (3, -1)], [(4, 0), (4, 3), (0, 3), (4, 3)], **more)]


@FOLLOWING
def test_elastic_bounces_conserve_energy(integrator):
    x = np.array([[0.3, 0.4], [1.5, 1.0], [2.8, 1.9], [0.7, 1.6]])
    v = np.array([[1.0, 0.0], [-3.0, 8.0], [0.2, -5.0], [7.0, 6.0]])
    for number, walls in enumerate(rooms()):
        for angle in DOWN[number % 2 :: 2]:
            force = turned(angle, (0.0, -G))
            world = kd.Stepper(x.copy(), v.copy(), hz=60, integrator=integrator, forces=[kd.Gravity(tuple(force))],
                               constraints=walls)  # fmt: skip
            world.step(2)  # the alternating form is on its parabola at every other tick
            before = energy(world, force)
            world.step(600)
            np.testing.assert_allclose(energy(world, force), before, rtol=0, atol=1e-11 * 60)
            assert (world.position > -1e-9).all()
            assert (world.position < np.array([3, 2]) + 1e-9).all()


def test_elastic_bounces_conserve_energy_in_1d_3d_and_float32():
    for dtype, tolerance in ((np.float64, 1e-11), (np.float32, 2e-3)):
        for dim in (1, 2, 3):
            for axis, sign in ((0, 1), (dim - 1, -1)):
                x, v = np.full((2, dim), 0.6, dtype), np.full((2, dim), 0.3, dtype)
                v[0, axis], v[1, axis] = 8, -1
                force = np.zeros(dim)
                force[axis] = sign * G
                world = kd.Stepper(x, v, hz=60, forces=[kd.Gravity(tuple(force))], constraints=[kd.Box(0, 2)])
                before = energy(world, force)
                world.step(600)
                np.testing.assert_allclose(energy(world, force), before, rtol=tolerance)


@FOLLOWING
@pytest.mark.parametrize("hz", [30, 240])
def test_a_bounce_keeps_restitution_squared_of_the_energy(integrator, hz):
    for e in (0.9, 0.4):
        for angle, wall in floors(restitution=e):
            force = turned(angle, (0.0, -G))
            world = kd.Stepper(turned(angle, [(0, 0.5 + R), (1, 5.0 + R)]), hz=hz, integrator=integrator,
                               forces=[kd.Gravity(tuple(force))], constraints=[wall])  # fmt: skip
            world.step(2)
            floor = G * R  # energy of a body that lies on the floor
            before = energy(world, force) - floor
            for k, seconds in ((0, 0.4), (1, 1.15)):  # after the first touch, before the second
                world.step(2 * int(seconds * hz / 2) - world.tick)
                np.testing.assert_allclose(
                    energy(world, force)[k] - floor, e * e * before[k], rtol=speed_tolerance(integrator)
                )


@FOLLOWING
@pytest.mark.parametrize("hz", [30, 240])
def test_friction_acts_at_the_time_of_impact(integrator, hz):
    """A body shot at the floor: its position after the bounce equals exact mechanics."""
    mu, e = 0.3, 0.5
    for angle, wall in floors(restitution=e, friction=mu):
        force = turned(angle, (0.0, -G))
        world = kd.Stepper(turned(angle, [(0, 2.0 + R)]), turned(angle, [(9.0, -7.0)]), hz=hz, integrator=integrator,
                           forces=[kd.Gravity(tuple(force))], constraints=[wall])  # fmt: skip
        world.step(2)
        back = -np.pi - angle  # rotates to where down is -y
        (x,) = turned(back, world.position)
        (v,) = turned(back, world.velocity + integrator.velocity_lag * world.dt * force)
        assert x[1] > 0
        x[1] -= R
        fast = np.sqrt(v[1] ** 2 + 2 * G * x[1])
        touch = (fast + v[1]) / G
        steps = 2 * int(0.2 * hz)
        world.step(steps)
        rest = steps / hz - touch
        expected = (x[0] + v[0] * touch + (v[0] - mu * (1 + e) * fast) * rest, R + e * fast * rest - G / 2 * rest**2)
        np.testing.assert_allclose(turned(back, world.position)[0], expected, rtol=0, atol=speed_tolerance(integrator))


@FOLLOWING
def test_a_body_slides_down_a_slope_like_a_block(integrator):
    """The acceleration from rest is g (sin - mu cos), or 0 if friction is sufficient."""
    slope, hz = 0.5, 60
    for mu in (0.0, 0.2, 0.7):
        a = max(0.0, G * (np.sin(slope) - mu * np.cos(slope)))
        for angle, wall in floors(restitution=0.0, friction=mu):
            force = turned(angle, (G * np.sin(slope), -G * np.cos(slope)))
            world = kd.Stepper(turned(angle, [(0.0, R)]), hz=hz, integrator=integrator,
                               forces=[kd.Gravity(tuple(force))], constraints=[wall])  # fmt: skip
            world.step(hz)
            along, height = turned(-np.pi - angle, world.position)[0]
            assert height == pytest.approx(R, abs=1e-9)
            assert along == pytest.approx(a / 2, abs=a / hz if a else largest_creep(integrator, hz))
            speed = turned(-np.pi - angle, world.velocity)[0]
            assert speed[0] == pytest.approx(a, abs=1.1 * G / hz)
            assert abs(speed[1]) <= largest_rest_speed(integrator, G / hz)


def test_points_slide_along_segments_of_any_direction():
    for angle in np.linspace(0, 2 * np.pi, 25):
        force = turned(angle, (G * np.sin(0.5), -G * np.cos(0.5)))
        track = kd.Segments([turned(angle, [(-50, 0), (50, 0)])], restitution=0.0)
        world = kd.Stepper(turned(angle, [(0.0, 1e-3)]), turned(angle, [(1.0, 0.0)]), hz=60,
                           forces=[kd.Gravity(tuple(force))], constraints=[track])  # fmt: skip
        world.step(60)
        along, height = turned(-np.pi - angle, world.position)[0]
        assert height == pytest.approx(0, abs=1e-9)
        assert along == pytest.approx(1 + G * np.sin(0.5) / 2, abs=1e-3)


def tiles(kind, size, start, top, count, **more):
    """Return a floor of tiles of a size, whose top is at `top`, and unit vectors along it and up from it."""
    k = start + size * np.arange(count)
    if kind == "boxes in 3-D":
        across = 0 * k - 9
        lower = np.stack([np.r_[k, k], np.r_[across, 0 * k], 0 * np.r_[k, k] + top - 1], axis=1)
        upper = np.stack([np.r_[k, k] + size, np.r_[0 * k, 0 * k + 9], 0 * np.r_[k, k] + top], axis=1)
        return kd.Boxes(lower, upper, **more), np.array([1.0, 0, 0]), np.array([0, 0, 1.0])
    if kind == "boxes":
        floor = kd.Boxes(np.stack([k, 0 * k + top - 1], 1), np.stack([k + size, 0 * k + top], 1), **more)
        return floor, np.array([1.0, 0]), np.array([0, 1.0])
    along = turned({"ceiling": np.pi / 2, "side": np.pi, "slanted": 0.7}.get(kind, -np.pi / 2), (1, 0))
    up = np.array([-along[1], along[0]])
    points = np.stack([np.outer(k, along), np.outer(k + size, along)], axis=1) + top * up
    return kd.Segments(points, **more), along, up


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@FOLLOWING
@pytest.mark.parametrize("kind", ["boxes", "boxes in 3-D", "floor", "ceiling", "side", "slanted"])
def test_a_body_slides_over_a_floor_of_tiles(Stepper, kind, integrator, dtype):
    """Without friction x = v t, whatever the tiles, whether they stand still or move along their normal."""
    rng = np.random.default_rng(1)
    cases = [
        (2.0, 1.0, 0.0, 60, None), (5.0, 0.5, 0.5, 60, -0.3), (20.0, 0.3, 0.0, 30, 1.5), (1.0, 0.1, 0.5, 240, None),
        (5.0, rng.uniform(0.3, 1), 0.5, 30, -0.3), (rng.uniform(3, 9), 0.3, 0.0, 60, None),
    ]  # fmt: skip
    for speed, size, restitution, hz, lift in cases if Stepper is kd.Stepper else cases[:1] + cases[4:5]:
        for start, top in ((-2.0, 0.0), (rng.uniform(-3, -2), rng.uniform(-3, 3))):
            count = int((speed * 25 / hz + 4) / size)
            more = {"restitution": restitution, "radius": R}
            floor, along, up = tiles(kind, size, start, top, count, **more)
            if lift is not None:
                floor = tiles(kind, size, start, top, count, velocity=tuple(lift * up), **more)[0]
            velocity = speed * along + (lift or 0.0) * up
            body = Stepper(
                np.array([(top + R) * up], dtype), np.array([velocity], dtype), hz=hz, integrator=integrator,
                forces=[kd.Gravity(tuple(-G * up))], constraints=[floor],
            )  # fmt: skip
            body.step(25)
            tolerance = 1e-6 if dtype is np.float64 else 5e-3
            assert body.position[0] @ along == pytest.approx(speed * body.time, rel=tolerance)
            assert body.velocity[0] @ along == pytest.approx(speed, rel=tolerance)
            height = body.position[0] @ up - top - R - (lift or 0.0) * body.time
            assert height == pytest.approx(0, abs=tolerance)


@pytest.mark.parametrize("carried", ["belt", "disc"])
def test_belts_of_tiles_carry_and_discs_roll_over_them(Stepper, carried):
    floor = tiles("boxes", 0.5, -2.0, 0.0, 20, restitution=0.0, radius=R, friction=0.5,
                  surface_speed=(2.0, 0.0) if carried == "belt" else 0.0)[0]  # fmt: skip
    spin = {} if carried == "belt" else {"angular_velocity": [-2.0 / R]}
    body = Stepper([[0.0, R]], [[2.0, 0.0]], hz=60, forces=[kd.Gravity((0, -G))], constraints=[floor], **spin)
    body.step(60)
    assert body.position[0] == pytest.approx([2, R], abs=1e-9)
    assert body.velocity[0] == pytest.approx([2, 0], abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "velocity_verlet", "verlet"])
def test_no_speed_takes_a_body_out_of_a_corner(Stepper, integrator, dtype):
    """Bodies of any speed stay in closed rooms of segments with acute and obtuse corners, at rest or moving."""
    bodies = 10 if Stepper is kd.Stepper else 2
    for seed in range(40 if Stepper is kd.Stepper else 8):
        rng = np.random.default_rng(seed)
        angles = (
            np.sort(rng.uniform(0, 2 * np.pi, 3)) if seed % 2 else np.array([0.0, 3.0, 3.0 + rng.uniform(0.1, 0.5)])
        )
        while np.diff(np.r_[angles, angles[0] + 2 * np.pi]).max() > 0.99 * np.pi:
            angles = np.sort(rng.uniform(0, 2 * np.pi, 3))
        corners = rng.choice([1, 100]) * rng.uniform(-1, 1, 2) + 9 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        radius = rng.uniform(0.02, 0.2)
        drift = rng.uniform(-3, 3, 2) if seed % 3 == 0 else None
        moving = {} if drift is None else {"velocity": tuple(drift)}
        room = kd.Segments(
            [(corners[k], corners[k - 1]) for k in range(3)], restitution=rng.choice([0.0, 0.5, 1.0]),
            friction=rng.choice([0.0, 0.5]), radius=radius, **moving,
        )  # fmt: skip
        speed = 10.0 ** rng.uniform(0, 4)
        world = Stepper(
            np.tile(corners.mean(0), (bodies, 1)).astype(dtype), rng.normal(0, speed, (bodies, 2)).astype(dtype), hz=60,
            integrator=integrator, forces=[kd.Gravity(tuple(rng.normal(0, 30, 2)))], constraints=[room],
        )  # fmt: skip
        for _ in range(30):
            world.step()
            places = world.position - (0 if drift is None else drift * world.time)
            for k in range(3):
                edge = corners[k] - corners[k - 1]
                normal = np.array([-edge[1], edge[0]]) / np.sqrt(edge @ edge)
                assert ((places - corners[k - 1]) @ normal > 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["boxes", "segments", "in contacts"])
def test_no_unit_of_length_and_no_far_shape_keeps_a_body_above_the_floor(Stepper, kind, dtype):
    """A body rests at its radius, in mm as in km, on a wide floor, and beside a disabled shape that is far away."""
    for radius, width, far, enabled in [
        (1e-4, 1e-2, 0.02, True), (0.5, 1e4, 1e4, True), (4.0, 100.0, 2e4, True), (0.5, 9.0, 1e5, [True, False]),
    ]:  # fmt: skip
        ends = [(-width, 0), (width, 0)], [(far, 0), (far + width, 0)]
        more = {"restitution": 0.0, "radius": radius, "enabled": enabled}
        floor = kd.Boxes([(x, -width) for (x, _), _ in ends], [b for _, b in ends], **more)
        if kind == "segments":
            floor = kd.Segments(ends, **more)
        world = Stepper(
            np.array([[0.0, 1.5 * radius]], dtype), hz=60, forces=[kd.Gravity((0, -100 * radius))],
            constraints=[kd.Contacts(radius, shapes=[floor]) if kind == "in contacts" else floor],
        )  # fmt: skip
        world.step(60)
        assert world.position[0, 1] == pytest.approx(radius, rel=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [0.0, 1.0, 1e5])
def test_points_do_not_pass_through_shapes_at_any_place(Stepper, far, dtype):
    """Bodies without a radius stay in closed rooms, at any speed, near the origin and far from it."""
    for seed in range(20 if Stepper is kd.Stepper else 4):
        rng = np.random.default_rng(seed)
        angle, middle = rng.uniform(0, 7), far * rng.uniform(-1, 1, 2)
        corners = middle + turned(angle, [(-9, -9), (9, -9), (9, 9), (-9, 9)])
        room = kd.Segments([(corners[k - 1], corners[k]) for k in range(4)], restitution=rng.choice([0.0, 0.9]))
        world = Stepper(
            (middle + rng.uniform(-6, 6, (10, 2))).astype(dtype),
            (10.0 ** rng.uniform(0, 4) * rng.normal(size=(10, 2))).astype(dtype), hz=60,
            forces=[kd.Gravity(tuple(rng.normal(0, 30, 2)))], constraints=[room],
        )  # fmt: skip
        world.step(60)
        places = turned(-np.pi - angle, world.position - middle)
        assert (abs(places) < 9 + 64 * np.finfo(dtype).eps * (far + 9)).all()


@FOLLOWING
def test_a_sliding_body_stops_after_v_squared_over_2_mu_g(integrator):
    mu, v = 0.5, 3.0
    for hz in (30, 240):
        for angle, wall in floors(restitution=0.3, friction=mu):
            world = kd.Stepper(turned(angle, [(0.0, R)]), turned(angle, [(v, 0.0)]), hz=hz, integrator=integrator,
                               forces=[gravity(angle)], constraints=[wall])  # fmt: skip
            world.step(int(2 * hz))
            along, height = turned(-np.pi - angle, world.position)[0]
            assert height == pytest.approx(R, abs=1e-9)
            # A velocity half a step after or before the position corresponds to half a step of distance.
            assert along == pytest.approx(v * v / (2 * mu * G), abs=1.1 * v / hz)
            assert np.abs(world.velocity).max() <= largest_rest_speed(integrator, G / hz)


@FOLLOWING
def test_a_dropped_body_comes_to_rest(integrator):
    for angle, wall in floors(restitution=0.5):
        world = kd.Stepper(turned(angle, [(0.0, 1.0)]), hz=60, integrator=integrator, forces=[gravity(angle)],
                           constraints=[wall])  # fmt: skip
        world.step(300)
        np.testing.assert_allclose(turned(-np.pi - angle, world.position), [(0.0, R)], atol=1e-9)
        assert np.abs(world.velocity).max() <= largest_rest_speed(integrator, G / 60)


@FOLLOWING
def test_a_body_leaves_an_edge_and_falls(integrator):
    for angle in DOWN:
        for edge in ("segment", "block"):
            ends = turned(angle, [(-5, 0), (0, 0)] if edge == "segment" else [(-5, -1), (0, 0)])
            if edge == "segment":
                wall = kd.Segments([ends], restitution=0.0, radius=R)
            elif straight(angle):
                wall = kd.Boxes([ends.min(0)], [ends.max(0)], restitution=0.0, radius=R)
            else:
                continue
            world = kd.Stepper(turned(angle, [(-1.01, R)]), turned(angle, [(4.0, 0.0)]), hz=120,
                               integrator=integrator, forces=[gravity(angle)], constraints=[wall])  # fmt: skip
            world.step(84)
            along, height = turned(-np.pi - angle, world.position)[0]
            left = 84 / 120 - 1.01 / 4.0
            assert along == pytest.approx(4.0 * left, abs=1e-9)
            assert height == pytest.approx(R - G / 2 * left**2, abs=G * left / 60)


@FOLLOWING
def test_a_heavy_body_acts_like_a_wall(integrator):
    """Bodies hit a pinned disc of radius 50 from above, below and the sides, and keep their energy."""
    for angle in DOWN[::2]:
        for side in (0.0, 0.5 * np.pi, np.pi, 1.5 * np.pi):
            force = turned(angle, (0.0, -G))
            out = turned(side, (0.0, 1.0))
            x = np.array([np.zeros(2), 50.6 * out])
            v = np.array([np.zeros(2), -8.0 * out])
            world = kd.Stepper(
                x, v, hz=60, integrator=integrator, forces=[kd.Gravity(tuple(force))],
                constraints=[kd.Pin(0), kd.ElasticCollisions([50.0, 0.1])],
            )  # fmt: skip
            world.step()
            before = energy(world, force)[1]
            world.step(30)
            assert (world.position[1] - x[0]) @ (world.position[1] - x[0]) > 50.1**2 - 1e-6
            assert energy(world, force)[1] == pytest.approx(before, rel=1e-10)


# Corners: each wall has its own friction cone.

EDGES = {
    "planes": lambda **given: [kd.Plane((1, 0, 0), 0.0, **given), kd.Plane((0, 1, 0), 0.0, **given)],
    "box": lambda **given: [kd.Box((0, 0, -99), (9, 9, 99), **given)],
    "boxes": lambda **given: [kd.Boxes([(-9, -9, -99)] * 2, [(9, 0, 99), (0, 9, 99)], **given)],
}


@pytest.mark.parametrize("edge", ["planes", "box"])
@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper], ids=["compiled", "reference"])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "semi_implicit_euler", "leapfrog", "rk4"])
def test_a_body_in_an_edge_slides_beyond_both_friction_cones(Stepper, integrator, edge):
    """Gravity presses a body against two planes: it sticks up to mu (N1 + N2), and slides with the rest."""
    mu, hz = 0.2, 60
    for along in (0.1, 0.39, 0.41, 0.6, 2.0):
        world = Stepper(
            np.zeros((1, 3)), hz=hz, integrator=integrator, forces=[kd.Gravity((-G, -G, along * G))],
            constraints=EDGES[edge](friction=mu),
        )  # fmt: skip
        world.step(hz)
        expected = G * max(0.0, along - 2 * mu)
        assert world.velocity[0] == pytest.approx([0, 0, expected], abs=1e-12), along
        assert world.position[0] == pytest.approx([0, 0, expected / 2], abs=0.51 * expected / hz + 1e-12), along


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("place", [(0.5, 0.5), (0.25, 0.75), (0.75, 0.25)])
def test_impacts_on_an_edge_have_friction_within_both_cones(Stepper, edge, place):
    """A body that moves along an edge at 5 m/s hits both walls at 3 m/s, without restitution.

    Planes and sides of a box act together, with friction along the edge only. Shapes act in sequence: friction of
    the first one also reduces the speed towards the second.
    """
    mu, fast, into = 0.2, 5.0, 3.0
    x = np.array([[*(into / 60 * np.array(place)), 0.0]])
    world = Stepper(x, [[-into, -into, fast]], hz=60, constraints=EDGES[edge](restitution=0.0, friction=mu))
    world.step(2)
    left = 1 - mu * into / np.hypot(fast, into)  # fraction left of the velocity along the first wall
    expected = left * (fast - mu * into) if edge == "boxes" else fast - 2 * mu * into
    assert world.velocity[0] == pytest.approx([0, 0, expected], abs=1e-12)


@pytest.mark.parametrize("make", [*FLOORS, "pair", "swept"], ids=lambda make: getattr(make, "__name__", make))
def test_an_impact_at_the_beginning_of_a_step_is_not_before_it(Stepper, make):
    """Regression: rounding decided whether a body in contact lost its first step; half of them stayed in place."""
    rng = np.random.default_rng(3)
    hit = DOWN[6]  # -y
    for speed, hz in zip(rng.uniform(0.5, 10, 20), rng.integers(60, 300, 20), strict=True):
        fall = [0.0, -speed]
        if callable(make):
            at = turned(hit, [[0.0, R]])
            world = Stepper(at.copy(), [fall], hz=int(hz), constraints=[make(hit, radius=R)], events=kd.Events())
        else:
            x = rng.uniform(-9, 9)
            at = np.array([[x, 0.3 + 2 * R], [x, 0.3]])
            balls = kd.ElasticCollisions(R, swept=make == "swept")
            world = Stepper(at.copy(), [fall, [0, 0]], hz=int(hz), constraints=[balls], events=kd.Events())
        world.step()
        assert world.position[-1] - at[-1] == pytest.approx(world.velocity[-1] / hz, abs=1e-9)
        assert abs(world.velocity[-1, 1]) == pytest.approx(speed)
        (time,) = world.events.take()["time"][:1]
        assert 0 <= time < 1e-9


@pytest.mark.parametrize("up", [1, -1], ids=["floor", "ceiling"])
@pytest.mark.parametrize("hz", [30, 60, 240])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper])
def test_a_bouncy_ball_comes_to_rest_between_a_ramp_and_a_wall(Stepper, dtype, hz, up):
    """At rest its velocity is 0, and it has no contact events: it neither leaves nor hits a wall."""
    drawn = itertools.product((0.2, 0.35, 0.5), (0, 0.3, 0.8), ("semi_implicit_euler", "velocity_verlet", "verlet"))
    for slope, restitution, integrator in drawn if Stepper is kd.Stepper else [(0.5, 0.3, "velocity_verlet")]:
        each = {"radius": 0.1, "restitution": restitution}
        ramp = kd.Plane((-math.sin(slope), up * math.cos(slope)), 0, **each)
        ball = Stepper(
            np.array([(0.5, up)], dtype), hz=hz, integrator=integrator, forces=[kd.Gravity((0, -9.81 * up))],
            constraints=[ramp, kd.Plane((1, 0), 0, **each)],
            events=kd.Events(9999, hits_above=1e-6, begin=True, end=True),
        )  # fmt: skip
        ball.step((20 if restitution > 0.5 else 8) * hz)
        ball.events.take()
        before = ball.position.copy()
        for _ in range(hz // 2):
            ball.step()
            assert abs(ball.velocity).max() < 4 * np.finfo(dtype).eps
        assert abs(ball.position - before).max() < 4 * np.finfo(dtype).eps
        assert len(ball.events.take()) == 0
