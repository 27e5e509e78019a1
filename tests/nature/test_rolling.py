"""Bodies that roll, slip and come to rest, against formulas: discs in the plane, spheres in space."""

import itertools
import math

import numpy as np
import pytest
from rolling_worlds import BETA, GROUNDS, G, R, about_z, bodies, gravity, ground, has_ground

import kickdrift as kd

#: energy_euler has a test of its own: on slopes its error is some per cent, with and without friction.
INTEGRATORS = [name for name in kd.INTEGRATORS if name != "energy_euler"]
CASES = [*itertools.product([2, 3], [np.float64, np.float32], [30, 60, 240])]


def slope(dim, degrees, friction):
    """Return the linear and the angular acceleration (about z) of bodies that roll or slip down a slope."""
    a, beta = math.radians(degrees), BETA[dim]
    grips = friction >= math.tan(a) * beta / (1 + beta)
    pull, normal = G * math.sin(a), G * math.cos(a)
    acceleration = np.where(grips, pull / (1 + beta), pull - friction * normal)
    return acceleration, np.where(grips, -pull / (1 + beta) / R, -friction * normal / (beta * R))


@pytest.mark.parametrize("name", GROUNDS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_body_rolls_down_a_slope_or_slips(name, integrator):
    for (dim, dtype, hz), degrees in itertools.product(CASES, [5, 20, 60]):
        if not has_ground(dim, name) or (integrator, dtype, hz) == ("verlet", np.float32, 240):
            continue  # verlet's velocities are differences of rounded positions
        friction = np.array([0.01, 0.1, 0.4, 0.9])
        how = {"hz": hz, "forces": [gravity(dim, degrees)], "integrator": integrator}
        balls = bodies(dim, ground(dim, name, friction), 4, dtype, **how)
        balls.step(hz // 2)
        speed, spin = np.array(balls.velocity[:, 0], np.float64), about_z(balls)
        balls.step(hz)
        acceleration, turns = slope(dim, degrees, friction)
        rel = 2e-2 if integrator == "verlet" and dtype == np.float32 else 2e-3
        assert balls.velocity[:, 0] - speed == pytest.approx(acceleration, rel=rel)
        assert about_z(balls) - spin == pytest.approx(turns, rel=rel)
        assert abs(balls.position[:, 1] - R).max() < 2e-3 * R


@pytest.mark.parametrize("name", ["contacts", "contacts with boxes", "contacts with segments"])
@pytest.mark.parametrize("substeps", [1, 2, 16])
def test_the_number_of_substeps_does_not_matter(name, substeps):
    for dim, hz, degrees in itertools.product([2, 3], [30, 240], [5, 60]):
        if not has_ground(dim, name):
            continue
        friction = np.array([0.01, 0.1, 0.4, 0.9])
        balls = bodies(
            dim, ground(dim, name, friction, substeps=substeps), 4, hz=hz, forces=[gravity(dim, degrees)]
        )  # fmt: skip
        balls.step(hz // 2)
        speed, spin = balls.velocity[:, 0].copy(), about_z(balls)
        balls.step(hz)
        acceleration, turns = slope(dim, degrees, friction)
        assert balls.velocity[:, 0] - speed == pytest.approx(acceleration, rel=1e-4)
        assert about_z(balls) - spin == pytest.approx(turns, rel=1e-4)


@pytest.mark.parametrize("dim", [2, 3])
def test_energy_euler_is_off_on_slopes_as_without_friction(dim):
    """energy_euler conserves energy along v + h a, whose normal part the wall removes: a first-order error."""
    errors = {}
    for hz, friction in itertools.product([60, 240], [0.0, 0.4]):
        rolls = 1 + BETA[dim] if friction else 1
        how = {"hz": hz, "forces": [gravity(dim, 20)], "integrator": "energy_euler"}
        ball = bodies(dim, ground(dim, "plane", friction), 1, velocity=3.0, spin=-3.0 / R if friction else 0.0, **how)
        ball.step(hz)
        errors[hz, friction] = (ball.velocity[0, 0] - 3.0) * rolls / (G * math.sin(math.radians(20))) - 1
    for friction in (0.0, 0.4):
        assert -0.07 < errors[60, friction] < 0
        assert errors[240, friction] == pytest.approx(errors[60, friction] / 4, rel=0.1)
    assert errors[240, 0.4] == pytest.approx(errors[240, 0.0], rel=0.2)


@pytest.mark.parametrize("name", GROUNDS)
@pytest.mark.parametrize("spin", [0.0, -3.0, 8.0])
def test_a_sliding_body_comes_to_roll_and_never_sooner(name, spin):
    """Without spin, v ends at v0 / (1 + beta); the slip decreases by (1 + 1 / beta) mu g per second."""
    v0, mu = 3.0, 0.2
    for dim, dtype, hz in CASES:
        if not has_ground(dim, name):
            continue
        ball = bodies(dim, ground(dim, name, mu), 1, dtype, v0, spin, hz=hz, forces=[gravity(dim)])
        beta, start = BETA[dim], float(ball.position[0, 0])
        slip, loss = v0 + R * spin, mu * G * (1 + 1 / BETA[dim])
        ends = abs(slip) / loss
        rolls = v0 - beta / (1 + beta) * slip
        for tick in range(1, int(1.5 * ends * hz) + 3):
            ball.step()
            v, w = float(ball.velocity[0, 0]), float(about_z(ball)[0])
            # The body is never faster than before, and does not roll sooner than friction allows.
            assert abs(v) <= max(v0, abs(rolls)) * (1 + 1e-6)
            left = max(abs(slip) - tick / hz * loss, 0)
            assert abs(v + R * w) == pytest.approx(left, abs=1e-4 * v0 + loss / hz / 8)
        assert float(ball.velocity[0, 0]) == pytest.approx(rolls, rel=2e-3, abs=1e-3)
        assert R * about_z(ball)[0] == pytest.approx(-rolls, rel=2e-3, abs=1e-3)
        if spin == 0 and hz == 240 and dtype == np.float64:
            slid = v0 * ends - mu * G * ends * ends / 2
            assert ends == pytest.approx(v0 / (mu * G) * (1 / 3 if dim == 2 else 2 / 7))
            assert slid == pytest.approx(v0 * v0 / (mu * G) * (5 / 18 if dim == 2 else 12 / 49))
            travelled = float(ball.position[0, 0]) - start
            assert travelled == pytest.approx(slid + rolls * (tick / hz - ends), rel=4e-3)


@pytest.mark.parametrize("name", GROUNDS)
def test_a_body_stops_that_spins_back_as_much(name):
    """With backspin of r |w0| = v0 / beta, speed and spin reach zero together."""
    for dim, dtype, hz in CASES:
        if not has_ground(dim, name):
            continue
        spin = 2.0 / (BETA[dim] * R)
        ball = bodies(dim, ground(dim, name, 0.2), 1, dtype, 2.0, spin, hz=hz, forces=[gravity(dim)])
        ball.step(4 * hz)
        assert abs(ball.velocity[0]).max() < 2e-3
        assert abs(R * about_z(ball)[0]) < 2e-3


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("c", [0.02, 0.1])
@pytest.mark.parametrize("name", ["contacts", "contacts with boxes", "contacts with segments"])
def test_rolling_resistance_slows_and_holds(name, dim, c):
    if not has_ground(dim, name):
        return
    cases = [
        *itertools.product([np.float64, np.float32], [30, 60, 240], [4]),
        (np.float64, 60, 1),
        (np.float64, 60, 16),
    ]
    for dtype, hz, substeps in cases:
        contacts = ground(dim, name, 0.8, rolling=[c, 0.0], substeps=substeps)
        balls = bodies(dim, contacts, 2, dtype, 4.0, -4.0 / R, hz=hz, forces=[gravity(dim)])
        balls.step(hz)
        slows = c * G / (1 + BETA[dim])
        assert 4.0 - balls.velocity[0, 0] == pytest.approx(slows, rel=2e-3)
        assert balls.velocity[1, 0] == pytest.approx(4.0, rel=1e-5)
        balls.step(int(5 / slows) * hz)
        assert abs(balls.velocity[0]).max() < 1e-5
        assert abs(about_z(balls)[0]) < 1e-5
        # A body with rolling resistance c rests on slopes with tan <= c, and rolls down steeper ones.
        for share in (0.9, 1.2):
            a = math.atan(share * c)
            balls = bodies(dim, contacts, 2, dtype, hz=hz, forces=[gravity(dim, math.degrees(a))])
            balls.step(hz // 2)
            speed = float(balls.velocity[0, 0])
            balls.step(2 * hz)
            pull = 0.0 if share < 1 else (math.sin(a) - c * math.cos(a)) * G / (1 + BETA[dim])
            assert balls.velocity[0, 0] - speed == pytest.approx(2 * pull, rel=2e-3, abs=1e-5)


def test_of_two_bodies_the_larger_rolling_resistance_counts():
    """A ball on top of a large one stays there if either has rolling resistance; otherwise it rolls off."""
    for coefficients, stays in (((0.1, 0.0), True), ((0.0, 0.1), True), ((0.0, 0.0), False)):
        contacts = kd.Contacts([10.0, R], friction=0.9, rolling=coefficients)
        ball = kd.Stepper(
            [[0.0, -10.0], [0.0, R]], [[0.0, 0.0], [0.1, 0.0]], mass=[np.inf, 1.0], hz=240,
            forces=[gravity(2)], constraints=[contacts], angular_velocity=[0.0, -0.1 / R],
        )  # fmt: skip
        ball.step(480)
        assert abs(ball.velocity[1]).max() < 1e-6 if stays else ball.velocity[1, 0] > 0.2


@pytest.mark.parametrize("hz", [30, 60, 240])
@pytest.mark.parametrize("dim", [2, 3])
def test_a_floor_of_many_pieces_is_one(hz, dim):
    """On a floor of tiles, a ball at rest does not begin to roll, and a rolling ball does not stumble."""
    count = 400
    low = np.zeros((count, dim))
    low[:, 0], low[:, 1] = 0.3 * np.arange(count) - 20, -1.0
    high = low + 0.3
    high[:, 1] = 0.0
    if dim == 3:
        low[:, 2], high[:, 2] = -5, 5
    for v in (0.0, 4.0):
        contacts = kd.Contacts(R, friction=0.5, shapes=[kd.Boxes(low, high)])
        balls = bodies(dim, [contacts], 2, velocity=v, spin=-v / R, hz=hz, forces=[gravity(dim)])
        balls.step(5 * hz)
        assert balls.velocity[:, 0] == pytest.approx(v, rel=1e-3, abs=1e-6)
        assert R * about_z(balls) == pytest.approx(-v, rel=1e-3, abs=1e-6)
        assert abs(balls.velocity[:, 1]).max() < 0.05


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("how", ["contacts", "collisions"])
def test_a_ball_rolls_over_a_large_ball_and_leaves_it(how, dim):
    """The ball leaves where g cos = v² / (A + r): at 4/7 of the starting cosine for discs, at 10/17 for spheres.

    After that its spin is constant, from which the test computes the speed at that point.
    """
    large, start = 10.0, 0.05
    position = np.zeros((2, dim))
    position[1, :2] = (large + R) * math.sin(start), (large + R) * math.cos(start)
    radius = [large, R]
    touching = (
        kd.Contacts(radius, friction=100.0) if how == "contacts" else kd.ElasticCollisions(radius, 0, friction=100)
    )
    ball = kd.Stepper(
        position, mass=[np.inf, 1.0], hz=240, forces=[gravity(dim)], constraints=[touching], angular_velocity=0.0
    )
    while math.hypot(*ball.position[1, :2]) < 1.01 * (large + R):
        ball.step()
        height = ball.position[1, 1] / math.hypot(*ball.position[1, :2])
        if height > 0.7:
            speed = math.hypot(*ball.velocity[1, :2])
            expected = math.sqrt(2 * G * (large + R) * (math.cos(start) - height) / (1 + BETA[dim]))
            assert speed == pytest.approx(expected, rel=5e-3, abs=3e-2)
            assert about_z(ball)[1] * R == pytest.approx(-speed, rel=1e-3, abs=1e-6)
    leaves = {2: 4 / 7, 3: 10 / 17}[dim] * math.cos(start)
    # Under ElasticCollisions, separate impacts carry the ball; the last impact is somewhat before the ball leaves.
    rel = 5e-3 if how == "contacts" else 4e-2
    assert about_z(ball)[1] * R == pytest.approx(-math.sqrt(G * (large + R) * leaves), rel=rel)


def test_a_pinned_body_is_an_axle():
    """A ball that rolls over a pinned wheel turns the wheel."""
    wheels = kd.Stepper(
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
    assert wheels.angular_velocity[0] < 4.9
    assert wheels.angular_velocity[1] < -0.1


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_pile_rests_with_rotation(dim, dtype):
    rng = np.random.default_rng(3)
    side = 6 if dim == 2 else 3
    grid = np.stack(np.meshgrid(*[np.arange(side)] * dim), axis=-1).reshape(-1, dim) * 1.02 + 0.6
    walls = [kd.Box(0.0, np.array([side * 1.05 + 0.2, 99.0, side * 1.05 + 0.2])[:dim])]
    balls = kd.Stepper(
        (grid + 0.01 * rng.normal(size=grid.shape)).astype(dtype),
        hz=60,
        forces=[gravity(dim)],
        constraints=[kd.Contacts(R, friction=0.4, rolling=0.02, walls=walls)],
        angular_velocity=0.0,
    )
    balls.step(1200)
    h = 1 / 60
    assert abs(balls.velocity).max() < G * h / 10
    assert abs(balls.angular_velocity).max() * R < G * h / 10


def test_a_heap_comes_to_rest():
    """Discs without rolling resistance roll apart; discs with resistance stay in a heap."""
    heights = {}
    for rolling in (0.0, 0.1):
        rng = np.random.default_rng(5)
        column, row = np.arange(200) % 8, np.arange(200) // 8
        x = np.stack([(column - 3.5) * 1.1 + 0.05 * rng.normal(size=200), row * 1.1 + 0.6], axis=1)
        heap = kd.Stepper(
            x,
            hz=60,
            forces=[gravity(2)],
            constraints=[kd.Contacts(R, friction=0.5, rolling=rolling, walls=[kd.Plane((0, 1), 0.0)])],
            angular_velocity=0.0,
        )
        heap.step(1800)
        heights[rolling] = heap.position[:, 1].mean() - R
        speed = max(abs(heap.velocity).max(), R * abs(heap.angular_velocity).max())
        assert speed < 1e-6 if rolling else speed > 1
    assert heights[0.1] > 2 * heights[0.0]


@pytest.mark.parametrize("kind", ["contacts", "walls", "collisions"])
def test_bodies_of_infinite_inertia_move_as_those_that_do_not_rotate(kind):
    rng = np.random.default_rng(1)
    x = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2) + 1
    box = kd.Box(0.0, (6.0, 9.0), 0.3, 0.4, 0.55)
    constraints = {
        "contacts": [kd.Contacts(0.55, friction=0.4, walls=[kd.Box(0.0, (6.0, 9.0))])],
        "walls": [box],
        "collisions": [kd.ElasticCollisions(0.55, 0.5, friction=0.3), box],
    }[kind]
    v = rng.normal(size=x.shape)
    how = {"hz": 60, "forces": [gravity(2)], "constraints": constraints}
    without = kd.Stepper(x.copy(), v.copy(), **how)
    infinite = kd.Stepper(x.copy(), v.copy(), angular_velocity=0.0, inertia=np.inf, **how)
    for world in (without, infinite):
        world.step(200)
    assert infinite.position == pytest.approx(without.position, abs=1e-6)
    assert not infinite.angular_velocity.any()


def test_a_rolling_body_does_not_notice_the_side_of_a_periodic_box():
    """A body rolls around a periodic box as on an endless floor."""
    around = kd.Periodic((0, -np.inf), (5, np.inf))
    for rolling in (0.0, 0.02):
        contacts = kd.Contacts(R, friction=0.5, rolling=rolling, walls=[kd.Plane((0, 1), 0.0)])
        endless = kd.Stepper([[1.0, R]], [[4.0, 0.0]], hz=60, forces=[gravity(2)], angular_velocity=[-4.0 / R],
                             constraints=[contacts])  # fmt: skip
        wrapped = kd.Stepper([[1.0, R]], [[4.0, 0.0]], hz=60, forces=[gravity(2)], angular_velocity=[-4.0 / R],
                             constraints=[contacts, around])  # fmt: skip
        for world in (endless, wrapped):
            world.step(240)
        assert endless.position[0, 0] > 10
        assert wrapped.position[0, 0] == pytest.approx(endless.position[0, 0] % 5, abs=1e-9)
        assert wrapped.angular_velocity == pytest.approx(endless.angular_velocity, abs=1e-9)
        assert wrapped.angle == pytest.approx(endless.angle, abs=1e-9)
