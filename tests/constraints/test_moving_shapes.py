"""Moving shapes, alone and in Contacts: against exact mechanics; snapshots, copies and many worlds keep their state."""

import copy
import math
import pickle

import numpy as np
import pytest
from plans import INTEGRATORS, assert_same_bits

import kickdrift as kd

G = 981.0  # px/s2: worlds of games
RADIUS = 8.0
SIDES = [(0, 1), (0, -1), (1, 0), (-1, 0)]
HERTZ = [30, 60, 144, 240]
RISE, OFFSET = np.array([0.0, 5.0]), np.array([64.0, -32.0])


@pytest.fixture(params=[False, True], ids=["alone", "in contacts"])
def inside(request):
    return request.param


def held(inside, *shapes, radius=RADIUS, restitution=0.0, friction=0.5):
    if inside:
        return [kd.Contacts(radius, restitution, friction, shapes=shapes)]
    return list(shapes)


def platform(n, velocity, restitution=0.0, friction=0.5):
    """Create a box whose face with the normal n goes through the origin."""
    n = np.array(n, float)
    lower, upper = np.full(2, -5000.0), np.full(2, 5000.0)
    axis = int(np.argmax(abs(n)))
    lower[axis], upper[axis] = (-40, 0) if n[axis] > 0 else (0, 40)
    return kd.Boxes([lower], [upper], restitution, friction, RADIUS, velocity=velocity)


# Translation.


@pytest.mark.parametrize("n", SIDES)
@pytest.mark.parametrize("hz", HERTZ)
@pytest.mark.parametrize("speed", [-500, -20, 30, 500])
def test_a_ball_on_a_lift(inside, n, hz, speed):
    """On moving floors, ceilings and side walls, balls in Contacts overlap as deeply as on a shape at rest."""
    n = np.array(n, float)
    lift = platform(n, speed * n)
    gravity = [kd.Gravity(-G * n)]
    ball = kd.Stepper([RADIUS * n], [speed * n], hz=hz, forces=gravity, constraints=held(inside, lift))
    still = kd.Stepper([RADIUS * n], hz=hz, forces=gravity, constraints=held(inside, platform(n, None)))
    for _ in range(2 * hz):
        ball.step()
        still.step()
        np.testing.assert_allclose(ball.position[0] - speed * ball.time * n, still.position[0], atol=1e-6)
        np.testing.assert_allclose(ball.velocity[0] - speed * n, still.velocity[0], atol=1e-6)


@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper])
def test_shapes_that_are_given_twice_move_at_their_velocity(inside, Stepper):
    lift = kd.Boxes([(0, 0)], [(1, 1)], velocity=(0, 60))
    world = Stepper([[50.0, 50.0]], hz=60, constraints=held(inside, lift, lift))
    world.step(60)
    assert world.current(lift).lower.tolist() == [[0, 60]]
    if inside:
        world.set(world.constraints[0], shapes=[lift, lift, lift])
    world.set(lift, velocity=(60, 0))
    for each in (world, pickle.loads(pickle.dumps(world))):
        each.step(30)
        now = [each.current(one) for one in each.constraints]
        boxes = now[0].shapes if inside else now
        assert [one.lower.tolist() for one in boxes] == [[[30, 60]]] * (3 if inside else 2)


@pytest.mark.parametrize("integrator", [one for one in INTEGRATORS if not isinstance(one, kd.EnergyEuler)], ids=str)
def test_a_lift_under_every_integrator(inside, integrator):
    lift = platform((0, 1), (30.0, 120.0))
    ball = kd.Stepper(
        [[3.0, RADIUS]], [[30.0, 120.0]], hz=60, integrator=integrator, forces=[kd.Gravity((0, -G))],
        constraints=held(inside, lift),
    )  # fmt: skip
    ball.step(120)
    np.testing.assert_allclose(ball.position, [[63.0, RADIUS + 240]], atol=5e-3 if inside else 1e-9)
    if integrator.velocity_lag == 0 and getattr(integrator, "form", "") != "alternate":
        np.testing.assert_allclose(ball.velocity, [[30.0, 120.0]], atol=1e-6)


@pytest.mark.parametrize("hz", HERTZ)
def test_a_lift_that_starts_and_stops(inside, hz):
    """A lift that starts hits the ball on it; when the lift stops, the ball flies on and falls back in a parabola."""
    lift = platform((0, 1), (0.0, 0.0))
    ball = kd.Stepper([[0.0, RADIUS]], hz=hz, forces=[kd.Gravity((0, -G))], constraints=held(inside, lift))
    ball.step(hz)
    ball.set(lift, velocity=(0, 300))
    ball.step(hz)
    np.testing.assert_allclose(ball.velocity[0], [0, 300], atol=1e-3)
    ball.set(lift, velocity=(0, 0))
    before = ball.position[0, 1]
    ball.step(hz // 5)
    t = (hz // 5) / hz
    np.testing.assert_allclose(ball.velocity[0], [0, 300 - G * t], atol=1e-3)
    np.testing.assert_allclose(ball.position[0, 1], before + 300 * t - G * t * t / 2, atol=G * t / hz)
    ball.step(hz)
    np.testing.assert_allclose(ball.position[0], [0, 300 + RADIUS], atol=2e-2)
    np.testing.assert_allclose(ball.current(lift).upper[0, 1], 300, atol=1e-9)


def test_it_falls_behind_a_lift_that_goes_down_fast(inside):
    """A lift at -500 px/s leaves the ball behind: an exact parabola until the ball is as fast, then rest on it."""
    lift = platform((0, 1), (0.0, -500.0))
    ball = kd.Stepper([[0.0, RADIUS]], hz=60, forces=[kd.Gravity((0, -G))], constraints=held(inside, lift))
    ball.step(30)
    np.testing.assert_allclose(ball.position[0], [0, RADIUS - G / 8], atol=1e-9)
    ball.step(60)
    np.testing.assert_allclose(ball.position[0], [0, RADIUS - 500 * 1.5], atol=1e-2)
    np.testing.assert_allclose(ball.velocity[0], [0, -500], atol=1e-6)


@pytest.mark.parametrize("n", SIDES)
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_paddle_hits_a_ball(n, restitution):
    """The ball gets (1 + e) times the paddle's speed, at the exact time of the impact, at any step rate."""
    n = np.array(n, float)
    for hz in HERTZ:
        paddle = platform(n, 400 * n, restitution)
        ball = kd.Stepper([(RADIUS + 50) * n], hz=hz, constraints=[paddle])
        ball.step(hz)
        speed = (1 + restitution) * 400
        np.testing.assert_allclose(ball.velocity[0], speed * n, atol=1e-9)
        np.testing.assert_allclose(ball.position[0], (RADIUS + 50 + speed * (1 - 50 / 400)) * n, atol=1e-6)


def test_friction_carries_a_crate(inside):
    """Friction accelerates the crate by mu g to the speed of the platform; then the crate no longer slides."""
    lift = platform((0, 1), (200.0, 0.0), friction=0.5)
    crate = kd.Stepper([[0.0, RADIUS]], hz=240, forces=[kd.Gravity((0, -G))], constraints=held(inside, lift))
    crate.step(48)
    np.testing.assert_allclose(crate.velocity[0], [0.5 * G * 0.2, 0], atol=1e-6)
    crate.step(240)
    np.testing.assert_allclose(crate.velocity[0], [200, 0], atol=1e-6)
    slid = 200 * 200 / 2 / (0.5 * G)  # px by which the crate lags behind: v2 / (2 mu g)
    assert crate.position[0, 0] == pytest.approx(200 * crate.time - slid, abs=0.5)


def test_a_disc_on_a_platform_rolls(inside):
    """As on a conveyor belt of speed u: v = u / 3, and the disc rotates."""
    lift = platform((0, 1), (300.0, 0.0))
    disc = kd.Stepper(
        [[0.0, RADIUS]], hz=240, forces=[kd.Gravity((0, -G))], constraints=held(inside, lift), angular_velocity=0.0
    )
    disc.step(480)
    np.testing.assert_allclose(disc.velocity[0], [100, 0], atol=1e-3)
    np.testing.assert_allclose(disc.angular_velocity[0], 200 / RADIUS, atol=1e-4)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("w", [2.0, -2.0])
def test_a_thick_mill_turns_with_its_surface(inside, side, w):
    """The surface of a rod of half thickness d moves at w d along the rod; a disc that lands on it gets a third."""
    d, hz, angle = 16.0, 4800, w * 0.5 / 4800
    rod = kd.Segments(
        [[(-100, 0), (100, 0)]], 0, 9.0, 0.0 if inside else RADIUS, thickness=2 * d, angular_velocity=w, center=(0, 0)
    )
    n = side * np.array([-np.sin(angle), np.cos(angle)])
    disc = kd.Stepper(
        [n * (d + RADIUS + 20 / hz)],
        [-40 * n],
        hz=hz,
        angular_velocity=0.0,
        constraints=held(inside, rod, friction=9.0),
    )
    disc.step()
    assert disc.velocity[0, 0] == pytest.approx(-side * w * d / 3, rel=1e-2)
    assert disc.angular_velocity[0] == pytest.approx(-2 / 3 * w * d / RADIUS, rel=1e-2)


@pytest.mark.parametrize("w", [0.2, -0.2])
@pytest.mark.parametrize("rolling", [0.5, 0.0])
def test_rolling_resistance_on_a_seesaw(w, rolling):
    """It resists rolling relative to the seesaw: a barrel turns with it. Without resistance the barrel rolls away."""
    angle = -w / 2
    along, n = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    seesaw = kd.Segments([[-400 * along, 400 * along]], angular_velocity=w, center=(0, 0))
    barrel = kd.Stepper(
        [RADIUS * n], [-RADIUS * w * along], hz=240, forces=[kd.Gravity((0, -G))], angular_velocity=w,
        constraints=[kd.Contacts(RADIUS, friction=1.0, rolling=rolling, shapes=[seesaw])],
    )  # fmt: skip
    barrel.step(240)
    place = barrel.position[0] @ (along * [1, -1])
    if rolling:
        assert barrel.angular_velocity[0] == pytest.approx(w, rel=1e-3)
        assert place == pytest.approx(0, abs=1e-3)
    else:
        assert abs(place) > RADIUS * abs(w) / 2


@pytest.mark.parametrize("speed", [-400.0, 60.0, 400.0])
def test_a_pile_is_carried_without_a_gap(speed):
    """A pile on a rising or sinking floor equals one on a floor at rest."""
    places = [[18.0 * k, RADIUS + 15.99 * j] for k in range(4) for j in range(8)]
    forces = [kd.Gravity((0, -G))]

    def pile(velocity, v):
        floor = platform((0, 1), velocity)
        return kd.Stepper(places, [[0.0, v]] * 32, hz=60, forces=forces, constraints=held(True, floor))

    moved, still = pile((0, speed), speed), pile(None, 0.0)
    for _ in range(60):
        moved.step()
        still.step()
        np.testing.assert_allclose(moved.position - [0, speed * moved.time], still.position, atol=1e-4)


@pytest.mark.parametrize("hz", [30, 60, 240])
@pytest.mark.parametrize("speed", [1e2, 1e4, 1e6])
def test_no_speed_takes_a_platform_through_a_ball(inside, hz, speed):
    for n in SIDES:
        n = np.array(n, float)
        lift = kd.Segments(
            [[(-5e3 * n[1], 5e3 * n[0]), (5e3 * n[1], -5e3 * n[0])]], 0.3, 0.5, RADIUS, velocity=speed * n
        )
        ball = kd.Stepper([200 * n], [-300 * n], hz=hz, forces=[kd.Gravity(-G * n)], constraints=held(inside, lift))
        for _ in range(10):
            ball.step()
            assert (ball.position[0] - ball.current(lift).points[0, 0]) @ n > RADIUS / 2


# Rotation.


def touched(p, r, start, w):
    """Return (time, contact distance, normal) at which a line that rotates about the origin touches a disc at rest."""
    far = math.hypot(*p)
    angle = math.atan2(p[1], p[0]) - math.asin(r / far)
    return (angle - start) / w, math.sqrt(far * far - r * r), np.array([-math.sin(angle), math.cos(angle)])


@pytest.mark.parametrize("hz", HERTZ)
@pytest.mark.parametrize("w", [1.0, 5.0, 20.0])
@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_flipper_gives_the_speed_of_its_surface(hz, w, restitution):
    """The speed is (1 + e) w s, with s the contact's distance from the center; place and time are exact to rounding."""
    p, start = np.array([42.0, 12.0]), -0.6
    line = [(0, 0), (60 * math.cos(start), 60 * math.sin(start))]
    flipper = kd.Segments([line], restitution, 0, RADIUS, angular_velocity=w, center=(0, 0))
    ball = kd.Stepper([p], hz=hz, constraints=[flipper])
    t, s, n = touched(p, RADIUS, start, w)
    steps = math.ceil(t * hz) + 2
    ball.step(steps)
    v = (1 + restitution) * w * s * n
    np.testing.assert_allclose(ball.velocity[0], v, rtol=1e-9)
    np.testing.assert_allclose(ball.position[0], p + v * (steps / hz - t), atol=1e-6)


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_flipper_in_contacts(restitution):
    """A body stays where it was hit until the step ends, and gets the surface speed at that place, to order h w."""
    p, start, w = np.array([42.0, 12.0]), -0.6, 20.0
    for hz, within in ((120, 0.03), (960, 0.005)):
        line = [(0, 0), (60 * math.cos(start), 60 * math.sin(start))]
        flipper = kd.Segments([line], angular_velocity=w, center=(0, 0))
        ball = kd.Stepper([p], hz=hz, constraints=held(True, flipper, restitution=restitution, friction=0))
        t, s, _ = touched(p, RADIUS, start, w)
        ball.step(math.ceil(t * hz) + 2)
        assert np.linalg.norm(ball.velocity) == pytest.approx((1 + restitution) * w * s, rel=within)


def test_a_bead_on_a_mill(inside):
    """Without friction and gravity the bead moves out along the wing: s'' = w2 s. The wing pushes it, as 2 s' > w r."""
    w, s, v = 2.0, 20.0, 40.0
    there = s * math.cosh(w / 2) + v / w * math.sinh(w / 2)
    mill = kd.Segments([[(-100, 0), (100, 0)]], 0, 0, RADIUS, angular_velocity=w)
    errors = []
    for hz in (120, 480):
        bead = kd.Stepper([[s, RADIUS]], [[v - w * RADIUS, w * s]], hz=hz, constraints=held(inside, mill, friction=0))
        bead.step(hz // 2)
        along = np.array([math.cos(w / 2), math.sin(w / 2)])
        errors.append(abs(bead.position[0] @ along - there))
        assert bead.position[0] @ [-along[1], along[0]] == pytest.approx(RADIUS, abs=0.02)
    assert errors[0] < 0.3
    assert errors[1] < errors[0] / 3


def test_the_places_of_a_mill_do_not_drift():
    """Positions follow from an accumulated angle: the mill stays rigid, without drift, for 128,000 steps."""
    for dtype in (np.float32, np.float64):
        mill = kd.Segments([[(0, 0), (100, 0)], [(0, 0), (0, 50)]], angular_velocity=7.0, center=(10, 0))
        world = kd.Stepper(np.zeros((1, 2), dtype), hz=128, constraints=[mill])
        world.step(128_000)
        points = world.current(mill).points
        lengths = np.linalg.norm(points[:, 1] - points[:, 0], axis=1)
        np.testing.assert_allclose(lengths, [100, 50], atol=1e-11)
        c, s = math.cos(7000.0), math.sin(7000.0)
        np.testing.assert_allclose(points[0, 1], [10 + 90 * c, 90 * s], atol=1e-8)


@pytest.mark.parametrize("hz", [30, 60, 240])
def test_nothing_passes_through_a_flipper(inside, hz):
    rng = np.random.default_rng(hz)
    w, length = 20.0, 60.0
    flipper = kd.Segments([[(0, 0), (length, 0)]], 0.5, 0.4, RADIUS, angular_velocity=w, center=(0, 0))
    for _ in range(40):
        far = rng.uniform(0.15, 0.95) * length
        angle = rng.uniform(0.3, 2) + math.asin(min(1, RADIUS / far))
        ball = kd.Stepper(
            [[far * math.cos(angle), far * math.sin(angle)]], 300 * rng.normal(size=(1, 2)), hz=hz,
            forces=[kd.Gravity((0, -G))], constraints=held(inside, flipper, restitution=0.5),
        )  # fmt: skip
        for step in range(1, hz // 10 + 1):
            ball.step()
            along = np.array([math.cos(w * step / hz), math.sin(w * step / hz)])
            if not 0 < ball.position[0] @ along < length:
                break
            assert ball.position[0] @ [-along[1], along[0]] > 0


@pytest.mark.parametrize(("hz", "w"), [(60, 4.0), (240, 16.0)])
def test_bodies_stay_in_a_drum(inside, hz, w):
    """The drum's rim moves by less than a radius in a step; its center oscillates, too."""
    corners = np.array([(1, 0), (0, 1), (-1, 0), (0, -1), (1, 0)], float)
    drum = kd.Segments(np.stack([corners[:-1], corners[1:]], axis=1), 0.3, 0.3, 0.08, angular_velocity=w, center=(0, 0))
    rng = np.random.default_rng(2)
    world = kd.Stepper(
        rng.uniform(-0.4, 0.4, (6, 2)), rng.normal(size=(6, 2)), hz=hz, forces=[kd.Gravity((0, -10))],
        constraints=held(inside, drum, radius=0.08, restitution=0.3, friction=0.3),
    )  # fmt: skip
    for number in range(150):
        world.set(drum, velocity=(0.5, 1.0) if number % 10 < 5 else (-0.5, -1.0))
        world.step()
        now = world.current(drum)
        sides = now.points[:, 1] - now.points[:, 0]
        for p in world.position:
            assert (sides[:, 0] * (p - now.points[:, 0])[:, 1] - sides[:, 1] * (p - now.points[:, 0])[:, 0] > 0).all()


# The state.


def game(Stepper, inside, **how):
    lift = kd.Boxes([(-2, -1), (3, 0)], [(2, 0), (4, 1)], 0, 0.5, 0.5, velocity=[(0, 3.0), (1, 0)])
    flipper = kd.Segments([[(-6, 0), (-3, 0)]], 0.5, 0.3, 0.5, angular_velocity=2.0, center=(-6, 0))
    floor = kd.Boxes([(-50, -3)], [(50, -2)], 0, 0.5, 0.5)
    world = Stepper(
        [[0.0, 0.6], [-4, 1.0], [3.5, 4]], hz=60, forces=[kd.Gravity((0, -10))],
        constraints=held(inside, floor, lift, flipper, radius=0.5), events=kd.Events(), **how,
    )  # fmt: skip
    return world, lift, flipper, floor


def play(world, lift, flipper, ticks):
    for tick in ticks:
        world.set(lift, velocity=(0, 3.0 if tick % 20 < 10 else -3.0))
        if tick % 7 == 0:
            world.set(flipper, angular_velocity=20.0 if tick % 14 else -20.0)
        world.step()


def test_it_goes_back_in_time(Stepper, inside):
    world, lift, flipper, _ = game(Stepper, inside)
    start = world.snapshot()
    play(world, lift, flipper, range(15))
    middle, sum_there = world.snapshot(), world.checksum()
    play(world, lift, flipper, range(15, 30))
    end = world.snapshot()
    world.restore(middle)
    assert world.checksum() == sum_there
    play(world, lift, flipper, range(15, 30))
    assert world.snapshot() == end
    world.restore(start)
    assert world.snapshot() == start
    for other in (copy.copy(world), copy.deepcopy(world), pickle.loads(pickle.dumps(world)), game(Stepper, inside)[0]):
        other.restore(end)
        other.step(5)
        world.restore(end)
        world.step(5)
        assert other.snapshot() == world.snapshot()


def test_rollback(inside):
    world, lift, flipper, _ = game(kd.Stepper, inside)
    rollback, sums = kd.Rollback(world, ticks=30), []
    for tick in range(25):
        rollback.save()
        play(world, lift, flipper, [tick])
        sums.append(world.checksum())
    rollback.rollback(9)
    for tick in range(9, 25):
        play(world, lift, flipper, [tick])
        assert world.checksum() == sums[tick]


def test_what_is_set(Stepper, inside):
    world, lift, flipper, floor = game(Stepper, inside)
    world.step(12)
    now = world.current(lift)
    np.testing.assert_allclose(now.upper, [[2, 0.6], [4.2, 1]])
    np.testing.assert_allclose(now.velocity, [(0, 3), (1, 0)])
    world.set(lift, lower=now.lower + RISE, upper=now.upper + RISE)  # relative to the current corners
    world.set(lift, friction=0.25)
    world.set(floor, friction=0.75)
    world.step(6)
    after = world.current(lift)
    np.testing.assert_allclose(after.upper, [[2, 5.9], [4.3, 6]])
    assert (after.friction, world.current(floor).friction) == (0.25, 0.75)
    points, saved = world.current(flipper).points, world.snapshot()
    world.set(flipper, thickness=0.5)
    np.testing.assert_array_equal(world.current(flipper).points, points)
    world.restore(saved)
    world.set(lift, velocity=(1, 1))  # it is still known
    np.testing.assert_array_equal(world.current(lift).velocity, (1, 1))
    world.set(flipper, angular_velocity=0.0)
    world.step()
    np.testing.assert_array_equal(world.current(flipper).points, points)
    with pytest.raises(ValueError, match=r"Boxes\(velocity\): expected shape \(2,\) or \(2, 2\), got shape \(3,\)"):
        world.set(lift, velocity=(1, 2, 3))
    with pytest.raises(TypeError, match="expected coefficients"):
        world.set(lift, angular_velocity=1.0)


def test_shapes_that_stood_still_get_a_velocity(Stepper, inside):
    world, lift, _, floor = game(Stepper, inside)
    world.step(6)
    world.set(floor, velocity=(0, 1))
    world.step(6)
    np.testing.assert_allclose(world.current(floor).upper, [[50, -1.9]])
    np.testing.assert_allclose(world.current(lift).upper[0], [2, 0.6])
    world.set(floor, velocity=None)  # the floor stops at its current position
    world.step(6)
    np.testing.assert_allclose(world.current(floor).upper, [[50, -1.9]])


def test_the_shapes_of_contacts_are_others(Stepper):
    world, lift, flipper, floor = game(Stepper, True)
    (contacts,) = world.constraints
    world.step(6)
    other = kd.Boxes([(20, 0)], [(22, 1)], velocity=(0, -1))
    world.set(contacts, shapes=(lift, other))  # the lift moves on
    world.step(6)
    np.testing.assert_allclose(world.current(lift).upper[0], [2, 0.6])
    np.testing.assert_allclose(world.current(other).upper, [[22, 0.9]])
    world.set(other, velocity=(0, 2))
    saved = world.snapshot()
    world.set(contacts, shapes=(other, floor, lift))
    world.step(6)
    np.testing.assert_allclose(world.current(other).upper, [[22, 1.1]])
    np.testing.assert_allclose(world.current(lift).upper[0], [2, 0.9])
    with pytest.raises(ValueError, match="expected one that this stepper"):
        world.set(flipper, angular_velocity=1.0)
    world.restore(saved)
    assert world.snapshot() == saved


def test_the_origin_is_shifted(Stepper, inside):
    world, lift, flipper, _ = game(Stepper, inside)
    twin, *shapes, _ = game(Stepper, inside)
    play(world, lift, flipper, range(5))
    play(twin, *shapes, range(5))
    world.shift(OFFSET)
    np.testing.assert_allclose(world.current(lift).lower, twin.current(shapes[0]).lower + OFFSET)
    play(world, lift, flipper, range(5, 25))
    play(twin, *shapes, range(5, 25))
    np.testing.assert_allclose(world.position, twin.position + OFFSET, atol=1e-9)
    np.testing.assert_allclose(world.current(flipper).points, twin.current(shapes[1]).points + OFFSET, atol=1e-9)


def test_what_is_off_waits(Stepper):
    world, lift, _, _ = game(Stepper, False)
    world.step(6)
    world.enable(lift, False)
    world.step(6)
    world.enable(lift)
    world.step(6)
    np.testing.assert_allclose(world.current(lift).upper[0], [2, 0.6])
    world.remove(lift)
    world.add(lift)
    np.testing.assert_allclose(world.current(lift).upper[0], [2, 0])


def test_they_move_without_bodies(Stepper):
    lift = kd.Boxes([(0, 0)], [(1, 1)], velocity=(0, 3))
    empty = Stepper(np.zeros((0, 2)), hz=60, constraints=[lift])
    empty.step(60)
    np.testing.assert_allclose(empty.current(lift).upper, [[1, 4]])
    waiting = Stepper(np.zeros((2, 2)), hz=60, constraints=[lift], alive=0)
    waiting.step(30)
    waiting.spawn([[9.0, 9.0]])
    waiting.step(30)
    np.testing.assert_allclose(waiting.current(lift).upper, [[1, 4]])


def test_places_to_draw(Stepper, inside):
    world, lift, flipper, floor = game(Stepper, inside)
    assert world.advance(1.5 / 60) == 1
    np.testing.assert_allclose(world.interpolate_shapes(lift)[0], [(-2, -0.975), (2, 0.025)])
    np.testing.assert_allclose(world.interpolate_shapes(floor), [[(-50, -3), (50, -2)]])
    half = 2.0 / 60 / 2
    np.testing.assert_allclose(
        world.interpolate_shapes(flipper), [[(-6, 0), (-6 + 3 * math.cos(half), 3 * math.sin(half))]], atol=1e-12
    )
    np.testing.assert_allclose(world.interpolate_shapes(lift, 1.0), np.stack(world.current(lift).ends(), axis=1))
    world.set(lift, velocity=(0, -50))  # interpolation still uses the previous positions
    np.testing.assert_allclose(world.interpolate_shapes(lift)[0], [(-2, -0.975), (2, 0.025)])
    with pytest.raises(TypeError, match="shapes: expected Boxes or Segments, got"):
        world.interpolate_shapes(3)
    with pytest.raises(ValueError, match="shapes: expected some that this stepper has, got another Boxes"):
        world.interpolate_shapes(kd.Boxes([(0, 0)], [(1, 1)]))


def test_events_of_what_moves(Stepper, inside):
    """A lift hits a ball at rest at a known time, and leaves it by descending faster than the ball falls."""
    lift = kd.Boxes([(-2, -2)], [(2, -1)], 0, 0.5, 0.5, velocity=(0, 2))
    world = Stepper([[0.0, 0.0]], hz=60, constraints=held(inside, lift, radius=0.5), events=kd.Events())
    world.step(30)
    events = world.events.take()
    (hit,) = events[events["kind"] == kd.HIT]
    assert hit["time"] == pytest.approx(0.25, abs=5e-3)
    assert hit["speed"] == pytest.approx(2, rel=1e-6)
    np.testing.assert_allclose(hit["normal"], [0, -1], atol=1e-12)
    assert len(world.touching()) == 1
    world.set(lift, velocity=(0, -5))
    world.step(2)
    events = world.events.take()
    assert events["kind"].tolist() == [kd.END]
    assert len(world.touching()) == 0


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (lambda: kd.Boxes([(0, 0)], [(1, 1)], velocity=1.0), r"Boxes\(velocity\): expected shape \(2,\) or \(1, 2\)"),
        (lambda: kd.Boxes([(0, 0)], [(1, 1)], velocity=(1, math.inf)), r"Boxes\(velocity\): expected finite"),
        (lambda: kd.Segments([[(0, 0), (1, 1)]], angular_velocity=(1, 2)), r"Segments\(angular_velocity\): expected"),
        (lambda: kd.Segments([[(0, 0), (1, 1)]], center=(1, 2, 3)), r"Segments\(center\): expected shape \(2,\)"),
    ],
)
def test_what_is_refused(shapes, message):
    with pytest.raises(ValueError, match=message):
        shapes()


def test_many_worlds(inside):
    """Each world has its own positions of shapes, at its own tick."""
    template, lift, *_ = game(kd.Stepper, inside)
    template.step(3)
    template.set(lift, velocity=(0, 2.5))
    worlds = kd.Worlds(template, 3)
    worlds.velocity[:, 0, 0] = (0.0, 0.5, 1.0)
    for _ in range(4):
        worlds.step(10)
    worlds.restore(template.snapshot(), where=np.array([False, True, False]))
    worlds.velocity[1, 0, 0] = 0.5
    worlds.step(20)
    for number, speed in enumerate((0.0, 0.5, 1.0)):
        alone = copy.deepcopy(template)
        alone.velocity[0, 0] = speed
        alone.step(20 if number == 1 else 60)
        np.testing.assert_array_equal(worlds.position[number], alone.position)


@pytest.mark.parametrize("swept", [False, True])
def test_collisions_meet_shapes_again_at_the_same_time(isa, swept):
    """Walls are solved again after collisions: shapes move by the exact dt, not by its float32 rounding."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (24, 2)).astype(np.float32)
    v = (4 * rng.normal(size=(24, 2))).astype(np.float32)
    mill = kd.Segments([[(-2, 0), (2, 0)], [(0, -2), (0, 2)]], radius=0.2, angular_velocity=3.0, velocity=(0.3, 0.1))
    parts = [mill, kd.ElasticCollisions(0.2, swept=swept)]
    fast, book = (
        Stepper(x.copy(), v.copy(), dt=0.1, constraints=parts) for Stepper in (kd.Stepper, kd.reference.Stepper)
    )
    fast.step(20)
    book.step(20)
    assert_same_bits(fast.position, book.position)
    assert_same_bits(fast.velocity, book.velocity)
