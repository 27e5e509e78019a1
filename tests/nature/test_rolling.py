"""What rolls, slips, bounces and spins, against formulas: discs in the plane, spheres in space."""

import itertools
import math

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import reference

STEPPER = __import__("os").environ.get("KD_REF") and reference.Stepper or kd.Stepper
G, R, MASS = 9.81, 0.5, 2.0
#: Inertia of solid discs and spheres, in m r^2, by dimension.
BETA = {2: 1 / 2, 3: 2 / 5}
INTEGRATORS = ["semi_implicit_euler", "velocity_verlet", "verlet", "leapfrog", "rk4", "midpoint", "explicit_euler"]
CASES = [*itertools.product([2, 3], [np.float64, np.float32], [30, 60, 240])]


def up(dim, degrees=0.0):
    """The vector of gravity above a slope that descends along x, whose normal is the last axis but one, y."""
    a = math.radians(degrees)
    return np.array([G * math.sin(a), -G * math.cos(a), 0.0][:dim])


def grounds(dim, friction, restitution=0.0):
    """What bodies of radius R roll on: constraints by name. Friction is one per body."""
    wall = {"friction": friction, "restitution": restitution, "radius": R}
    normal, low, high = (0, 1, 0)[:dim], (-1e3, 0, -1e3)[:dim], (1e3, 1e3, 1e3)[:dim]
    below = (-1e3, -5, -1e3)[:dim], (1e3, 0, 1e3)[:dim]
    rest = {"friction": friction, "restitution": restitution}
    boxes = kd.Boxes([below[0]], [below[1]])
    found = {
        "plane": [kd.Plane(normal, 0.0, **wall)],
        "box": [kd.Box(low, high, **wall)],
        "boxes": [kd.Boxes([below[0]], [below[1]], **wall)],
        "contacts": [kd.Contacts(R, walls=[kd.Plane(normal, 0.0)], **rest)],
        "contacts with boxes": [kd.Contacts(R, shapes=[boxes], **rest)],
    }
    if dim == 2:
        ends = [[(-1e3, 0), (1e3, 0)]]
        found["segments"] = [kd.Segments(ends, **wall)]
    return found


GROUNDS = [*grounds(2, 0.5)]


def world(dim, constraints, count, dtype=np.float64, velocity=0.0, spin=0.0, height=0.0, **how):
    """Bodies in a row across the slope, which touch the ground; spin is that about z."""
    position = np.zeros((count, dim), dtype)
    position[:, 0] = 10 * np.arange(count) - 5 * (count - 1)  # near 0, for float32
    position[:, 1] = R + height
    v = np.zeros((count, dim), dtype)
    v[:, 0] = velocity
    w = np.zeros(count if dim == 2 else (count, 3), dtype)
    w.reshape(count, -1)[:, -1] = spin
    return STEPPER(position, v, mass=MASS, constraints=constraints, angular_velocity=w, **how)


def about_z(stepper):
    w = stepper.angular_velocity
    return np.array(w if w.ndim == 1 else w[:, 2], np.float64)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_body_rolls_down_a_slope_or_slips(ground, integrator):
    for (dim, dtype, hz), degrees in itertools.product(CASES, [5, 20, 60]):
        if ground not in grounds(dim, 0.5) or (integrator, dtype, hz) == ("verlet", np.float32, 240):
            continue  # whose velocities are differences of positions, rounded
        friction, a = np.array([0.01, 0.1, 0.4, 0.9]), math.radians(degrees)
        how = {"hz": hz, "forces": [kd.Gravity(up(dim, degrees))], "integrator": integrator}
        balls = world(dim, grounds(dim, friction)[ground], 4, dtype, **how)
        balls.step(hz // 2)
        start, spun = np.array(balls.velocity[:, 0], np.float64), about_z(balls)
        balls.step(hz)
        beta = BETA[dim]
        grips = friction >= math.tan(a) * beta / (1 + beta)
        rolls, slips = G * math.sin(a) / (1 + beta), G * (math.sin(a) - friction * math.cos(a))
        turns = np.where(grips, -rolls / R, -friction * G * math.cos(a) / (beta * R))
        rel = 2e-2 if integrator == "verlet" and dtype == np.float32 else 2e-3
        assert balls.velocity[:, 0] - start == pytest.approx(np.where(grips, rolls, slips), rel=rel)
        assert about_z(balls) - spun == pytest.approx(turns, rel=rel)
        assert abs(balls.position[:, 1] - R).max() < 2e-3 * R


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("spin", [0.0, -3.0, 8.0])
def test_a_sliding_body_comes_to_roll_and_never_sooner(ground, spin):
    """v = v0 / (1 + beta) without spin; the slip falls by (1 + 1 / beta) mu g a second."""
    v0, mu = 3.0, 0.2
    for dim, dtype, hz in CASES:
        if ground not in grounds(dim, mu):
            continue
        balls = world(dim, grounds(dim, mu)[ground], 1, dtype, v0, spin, hz=hz, forces=[kd.Gravity(up(dim))])
        beta, start = BETA[dim], float(balls.position[0, 0])
        slip = v0 + R * spin
        ends = abs(slip) / (mu * G * (1 + 1 / beta))
        rolls = v0 - beta / (1 + beta) * slip
        for tick in range(1, int(1.5 * ends * hz) + 3):
            balls.step()
            v, w = float(balls.velocity[0, 0]), float(about_z(balls)[0])
            # Never faster than the body was, nor does it roll before it may.
            assert abs(v) <= max(v0, abs(rolls)) * (1 + 1e-6)
            left = abs(slip) - tick / hz * mu * G * (1 + 1 / beta)
            assert abs(v + R * w) == pytest.approx(
                max(left, 0), abs=1e-4 * v0 + 1.01 * mu * G * (1 + 1 / beta) / hz / 8
            )
        assert float(balls.velocity[0, 0]) == pytest.approx(rolls, rel=2e-3, abs=1e-3)
        assert R * about_z(balls)[0] == pytest.approx(-rolls, rel=2e-3, abs=1e-3)
        if spin == 0 and hz == 240 and dtype == np.float64:
            after, way = tick / hz, float(balls.position[0, 0]) - start
            slid = v0 * ends - mu * G * ends * ends / 2
            assert slid == pytest.approx(v0 * v0 / (mu * G) * (5 / 18 if dim == 2 else 12 / 49))
            assert way == pytest.approx(slid + rolls * (after - ends), rel=4e-3)


@pytest.mark.parametrize("ground", GROUNDS)
def test_a_body_stops_that_spins_back_as_much(ground):
    """Where r w0 = -v0 / beta, nothing is left to roll with."""
    for dim, dtype, hz in CASES:
        if ground not in grounds(dim, 0.2):
            continue
        spin = 2.0 / (BETA[dim] * R)
        balls = world(dim, grounds(dim, 0.2)[ground], 1, dtype, 2.0, spin, hz=hz, forces=[kd.Gravity(up(dim))])
        balls.step(4 * hz)
        assert abs(balls.velocity[0]).max() < 2e-3 and abs(R * about_z(balls)[0]) < 2e-3


def rebound(dim, how, dtype=np.float64, speed=3.9, degrees=45.0, e=0.8, mu=0.3, spin=0.0, hz=60):
    """Velocity and spin after a bounce, without gravity; degrees from the normal."""
    a = math.radians(degrees)
    position = np.zeros((1, dim), dtype)
    position[0, 1] = R + 0.4 * speed * math.cos(a) / hz
    velocity = np.zeros((1, dim), dtype)
    velocity[0, :2] = speed * math.sin(a), -speed * math.cos(a)
    mass, w = [MASS], np.zeros((1, 3), dtype)
    w[0, 2] = spin
    if how == "collisions":
        constraints = [kd.ElasticCollisions(R, e, friction=mu)]
        position, velocity = (np.concatenate([rows, 0 * rows]) for rows in (position, velocity))
        position[1, 1] = -R
        # They touch with their centres one above the other, and so does the first with a plane through y = 0.
        position[0, :2] = np.array([0, R]) - 0.4 / hz * velocity[0, :2]
        mass, w = [MASS, np.inf], np.concatenate([w, 0 * w])
    else:
        constraints = grounds(dim, mu, e)[how]
    ball = STEPPER(
        position,
        velocity,
        mass=mass,
        hz=hz,
        constraints=constraints,
        angular_velocity=w if dim == 3 else w[:, 2].copy(),
    )
    ball.step(3)
    return np.array(ball.velocity[0], np.float64), float(about_z(ball)[0])


def after_bounce(dim, speed=3.9, degrees=45.0, e=0.8, mu=0.3, spin=0.0):
    """The same in theory: along the surface, off it, spin."""
    a, beta = math.radians(degrees), BETA[dim]
    across, along = speed * math.cos(a), speed * math.sin(a)
    slip = along + R * spin
    lost = min(abs(slip) * beta / (1 + beta), mu * (1 + e) * across) * (slip > 0 or -1)
    return along - lost, e * across, spin - lost / (beta * R)


@pytest.mark.parametrize("how", [*GROUNDS, "collisions"])
@pytest.mark.parametrize("dim", [2, 3])
def test_a_bounce_grips_or_slips(how, dim):
    for degrees, mu, spin, e in itertools.product([5, 20, 40, 60, 85], [0.05, 0.3, 1.0], [0, 5, -9], [0.0, 0.5, 1.0]):
        if how != "collisions" and how not in grounds(dim, mu):
            continue
        along, off, turns = after_bounce(dim, 3.9, degrees, e, mu, spin)
        v, w = rebound(dim, how, np.float64, 3.9, degrees, e, mu, spin)
        assert (v[0], v[1], w) == pytest.approx((along, off, turns), abs=1e-9), (degrees, mu, spin, e)


@pytest.mark.parametrize("how", [*GROUNDS, "collisions"])
@pytest.mark.parametrize("dim", [2, 3])
def test_a_spinning_ball_that_is_dropped_goes_off(how, dim):
    if how == "segments" and dim == 3:
        return
    share = BETA[dim] / (1 + BETA[dim])
    v, w = rebound(dim, how, degrees=0.0, mu=3.0, spin=8.0)
    assert v[0] == pytest.approx(-share * R * 8.0, rel=1e-9) and R * w == pytest.approx(share * R * 8.0, rel=1e-9)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0.6, 0, -0.8), (0.3, 0.9, 0.1)])
def test_in_space_a_bounce_follows_the_plane_of_slip(axis):
    """The slip has one direction in a bounce: a cone, not a pyramid. The spin about the normal stays."""
    w = 20 * np.array(axis, float)
    v = np.array([1.5, -3.0, 0.7])
    for mu in (0.1, 2.0):
        ball = STEPPER(
            [[0.0, R + 0.01, 0.0]],
            [v],
            hz=60,
            constraints=[kd.Plane((0, 1, 0), 0.0, 0.5, mu, R)],
            angular_velocity=[w.copy()],
        )
        ball.step(2)
        n = np.array([0, 1.0, 0])
        slip = v - (v @ n) * n - R * np.cross(w, n)
        lost = slip * min(2 / 7, mu * 1.5 * 3.0 / np.linalg.norm(slip))
        assert ball.velocity[0] == pytest.approx(v * [1, -0.5, 1] - lost, abs=1e-9)
        assert ball.angular_velocity[0] == pytest.approx(w + np.cross(n, lost) / (0.4 * R), abs=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("c", [0.02, 0.1])
def test_rolling_resistance_slows_and_holds(dim, c):
    for dtype, hz, shapes in itertools.product([np.float64, np.float32], [30, 60, 240], [False, True]):
        floor = (0, 1, 0)[:dim]
        ground = {"walls": [kd.Plane(floor, 0.0)]}
        if shapes:
            ground = {"shapes": [kd.Boxes([(-1e3, -5, -1e3)[:dim]], [(1e3, 0, 1e3)[:dim]])]}
        contacts = [kd.Contacts(R, friction=0.8, rolling=[c, 0.0], **ground)]
        balls = world(dim, contacts, 2, dtype, 4.0, -4.0 / R, hz=hz, forces=[kd.Gravity(up(dim))])
        balls.step(hz)
        slows = c * G / (1 + BETA[dim])
        assert 4.0 - balls.velocity[0, 0] == pytest.approx(slows, rel=2e-3)
        assert balls.velocity[1, 0] == pytest.approx(4.0, rel=1e-5)
        balls.step(int(5 / slows) * hz)
        assert abs(balls.velocity[0]).max() < 1e-5 and abs(about_z(balls)[0]) < 1e-5
        # On slopes it holds up to tan = c.
        for share in (0.9, 1.2):
            degrees = math.degrees(math.atan(share * c))
            balls = world(dim, contacts, 2, dtype, hz=hz, forces=[kd.Gravity(up(dim, degrees))])
            balls.step(hz // 2)
            begin = float(balls.velocity[0, 0])
            balls.step(2 * hz)
            a = math.radians(degrees)
            moves = 0.0 if share < 1 else (math.sin(a) - c * math.cos(a)) * G / (1 + BETA[dim])
            assert balls.velocity[0, 0] - begin == pytest.approx(2 * moves, rel=2e-3, abs=1e-5)


def momentum(stepper):
    """Angular momentum about the origin, with the spins."""
    x, v, w = stepper.position, stepper.velocity, stepper.angular_velocity
    m, inertia = np.broadcast_to(stepper.mass, len(x))[:, None], np.asarray(stepper.inertia)
    if x.shape[1] == 2:
        return math.fsum(m[:, 0] * (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]) + inertia * w)
    return np.array([math.fsum(row) for row in (m * np.cross(x, v) + inertia[:, None] * w).T])


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("e", [1.0, 0.7])
def test_bodies_that_rub_keep_their_angular_momentum(dim, e):
    rng = np.random.default_rng(dim)
    n = 500
    side = round(n ** (1 / dim)) + 1
    grid = np.stack(np.meshgrid(*[np.arange(side) - side / 2] * dim), axis=-1).reshape(-1, dim)[:n]
    rub = kd.ElasticCollisions(0.4, e, friction=0.6)
    pull = kd.AnchorSpring(4.0)  # central, which lets them meet again and again
    w = 5 * rng.normal(size=n if dim == 2 else (n, 3))
    balls = STEPPER(
        grid + 0.05 * rng.normal(size=(n, dim)),
        rng.normal(size=(n, dim)),
        hz=240,
        constraints=[rub],
        angular_velocity=w,
    )
    del pull
    first, scale = momentum(balls), float(np.abs(balls.inertia[:, None] * w.reshape(n, -1)).sum())
    scale += float(np.linalg.norm(balls.position, axis=1) @ np.linalg.norm(balls.velocity, axis=1))
    turned = np.array(balls.angular_velocity)
    balls.step(10_000)
    assert abs(balls.angular_velocity - turned).max() > 1
    assert momentum(balls) == pytest.approx(first, abs=1e-11 * scale)


def test_two_discs_on_axles_share_what_they_have():
    """w0 and 0 become w0 / 2 and -w0 / 2: so heavy, they spin alone."""
    discs = STEPPER(
        [[0.0, 0.0], [0.999, 0.0]],
        [[1e-3, 0.0], [-1e-3, 0.0]],
        mass=1e12,
        inertia=0.25,
        hz=60,
        angular_velocity=[6.0, 0.0],
        constraints=[kd.ElasticCollisions(0.5, friction=1.0)],
    )
    discs.step(2)
    assert discs.angular_velocity == pytest.approx([3.0, -3.0])


@pytest.mark.parametrize("hz", [30, 60, 240])
@pytest.mark.parametrize("dim", [2, 3])
def test_a_floor_of_many_pieces_is_one(hz, dim):
    """A ball that lies does not begin to roll, and one that rolls does not stumble."""
    count = 400
    low = np.zeros((count, dim))
    low[:, 0], low[:, 1] = 0.3 * np.arange(count) - 20, -1.0
    high = low + 0.3
    high[:, 1] = 0.0
    if dim == 3:
        low[:, 2], high[:, 2] = -5, 5
    for resting in (True, False):
        contacts = kd.Contacts(R, friction=0.5, shapes=[kd.Boxes(low, high)])
        position = np.zeros((2, dim))
        position[:, 0], position[:, 1] = (0.1, 5.0), R
        v = 0.0 if resting else 4.0
        velocity = np.zeros((2, dim))
        velocity[:, 0] = v
        w = np.zeros((2, 3))
        w[:, 2] = -v / R
        balls = STEPPER(
            position, velocity, hz=hz, forces=[kd.Gravity(up(dim))], constraints=[contacts],
            angular_velocity=w if dim == 3 else w[:, 2].copy(),
        )  # fmt: skip
        balls.step(5 * hz)
        assert balls.velocity[:, 0] == pytest.approx(v, rel=1e-3, abs=1e-6)
        assert R * about_z(balls) == pytest.approx(-v, rel=1e-3, abs=1e-6)
        assert abs(balls.velocity[:, 1]).max() < 0.05


def test_a_pinned_body_is_an_axle():
    """A ball that rolls over a wheel on an axle turns it."""
    wheels = STEPPER(
        [[0.0, 0.0], [0.0, 2.0]],
        hz=240,
        forces=[kd.Gravity((0, -G))],
        constraints=[
            kd.Pin(0),
            kd.Contacts(1.0, friction=0.9, walls=[kd.Plane((1, 0), -1.0), kd.Plane((-1, 0), -1.0)]),
        ],
        angular_velocity=[5.0, 0.0],
    )
    wheels.step(20)
    assert wheels.position[0].tolist() == [0.0, 0.0]
    assert wheels.angular_velocity[0] < 4.9 and wheels.angular_velocity[1] < -0.1


@pytest.mark.parametrize("dim", [2, 3])
def test_a_pile_rests_with_rotation(dim):
    rng = np.random.default_rng(3)
    side = 6 if dim == 2 else 3
    grid = np.stack(np.meshgrid(*[np.arange(side)] * dim), axis=-1).reshape(-1, dim) * 1.02 + 0.6
    walls = [kd.Box(0.0, np.array([side * 1.05 + 0.2, 99.0, side * 1.05 + 0.2])[:dim])]
    balls = STEPPER(
        grid + 0.01 * rng.normal(size=grid.shape),
        hz=60,
        forces=[kd.Gravity(up(dim))],
        constraints=[kd.Contacts(R, friction=0.4, rolling=0.02, walls=walls)],
        angular_velocity=0.0,
    )
    balls.step(1200)
    h = 1 / 60
    assert abs(balls.velocity).max() < G * h / 10 and abs(balls.angular_velocity).max() * R < G * h / 10


def test_a_heap_comes_to_rest():
    """Without rolling resistance discs roll apart; with it they stay a heap."""
    heights = []
    for rolling in (0.0, 0.1):
        rng = np.random.default_rng(5)
        x = np.stack([rng.uniform(-3, 3, 200), 1 + 0.6 * np.arange(200) % 40], axis=1)
        x = np.stack(
            [(np.arange(200) % 8 - 3.5) * 1.1 + 0.05 * rng.normal(size=200), np.arange(200) // 8 * 1.1 + 0.6], axis=1
        )
        heap = STEPPER(
            x,
            hz=60,
            forces=[kd.Gravity((0, -G))],
            constraints=[kd.Contacts(R, friction=0.5, rolling=rolling, walls=[kd.Plane((0, 1), 0.0)])],
            angular_velocity=0.0,
        )
        heap.step(2400)
        heights.append(float(heap.position[:, 1].max()))
        if rolling:
            assert abs(heap.velocity).max() < 0.02
    assert heights[1] > 2 * heights[0]


@pytest.mark.parametrize("kind", ["contacts", "walls", "collisions"])
def test_without_rotation_nothing_changes(kind):
    """Bodies with infinite inertia move as those that do not rotate."""
    rng = np.random.default_rng(1)
    x = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2) + 1
    box = kd.Box(0.0, (6.0, 9.0), 0.3, 0.4, 0.55)
    constraints = {
        "contacts": [kd.Contacts(0.55, friction=0.4, walls=[kd.Box(0.0, (6.0, 9.0))])],
        "walls": [box],
        "collisions": [kd.ElasticCollisions(0.55, 0.5, friction=0.3), box],
    }[kind]
    v = rng.normal(size=x.shape)
    how = {"hz": 60, "forces": [kd.Gravity((0, -G))], "constraints": constraints}
    still = STEPPER(x.copy(), v.copy(), **how)
    stiff = STEPPER(x.copy(), v.copy(), angular_velocity=0.0, inertia=np.inf, **how)
    for world_ in (still, stiff):
        world_.step(200)
    assert stiff.position == pytest.approx(still.position, abs=1e-6)
    assert not stiff.angular_velocity.any()


def test_the_reference_rolls_as_the_kernels_do():
    for cls in (kd.Stepper, reference.Stepper):
        ball = cls([[0.0, R]], hz=60, forces=[kd.Gravity((1.0, -G))], angular_velocity=0.0,
                   constraints=[kd.Contacts(R, walls=[kd.Plane((0, 1), 0.0)])])  # fmt: skip
        ball.step(60)
        assert ball.velocity[0, 0] == pytest.approx(2 / 3, rel=2e-3)
