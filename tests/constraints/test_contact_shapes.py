"""Contacts with shapes: bodies rest on platforms and slide along the ground."""

import math

import numpy as np
import pytest
from plans import each_isa

import kickdrift as kd

G = 9.81
GRAVITY = kd.Gravity((0, -G))
TILES = kd.Boxes([(k, -1) for k in range(-6, 6)], [(k + 1, 0) for k in range(-6, 6)])
GROUND = kd.Segments([[(k, 0), (k + 1, 0)] for k in range(-6, 6)])
FLOORS = {"boxes": TILES, "segments": GROUND}


def ball(Stepper, shapes, position, velocity=(0.0, 0.0), radius=0.5, forces=(GRAVITY,), **how):
    contacts = kd.Contacts(radius, shapes=shapes, **how)
    return Stepper([position], [velocity], forces=forces, constraints=[contacts], events=kd.Events())


# Resting.


@pytest.mark.parametrize("floor", FLOORS)
def test_a_pile_rests_on_a_platform(floor):
    """Ten columns of six bodies touch each other and the floor, and none falls off its ends."""
    places = np.array([(x, 0.25 + 0.5 * y) for x in np.arange(-2, 3, 0.5) for y in range(6)])
    places += np.random.default_rng(1).uniform(-0.01, 0.01, places.shape)
    pile = kd.Stepper(places, forces=[GRAVITY], constraints=[kd.Contacts(0.25, friction=0.6, shapes=[FLOORS[floor]])])
    pile.step(900)
    assert np.abs(pile.velocity).max() < 0.01
    apart = np.linalg.norm(pile.position[:, None] - pile.position[None], axis=2) + np.eye(60)
    assert apart.min() > 0.49
    assert pile.position[:, 1].min() > 0.24


def test_a_pile_on_a_platform_equals_one_on_a_plane():
    places = np.array([(x, 0.5 + y) for x in range(-2, 3) for y in range(3)], float)
    worlds = [
        kd.Stepper(places.copy(), forces=[GRAVITY], constraints=[kd.Contacts(0.5, **where)])
        for where in ({"walls": [kd.Plane((0, 1), 0.0)]}, {"shapes": [kd.Boxes([(-9, -9)], [(9, 0)])]})
    ]
    for world in worlds:
        world.step(300)
    assert worlds[0].position == pytest.approx(worlds[1].position, abs=1e-4)


def test_resting_on_boxes_in_one_and_three_dimensions(Stepper):
    block = kd.Boxes([(-1.0,)], [(0.0,)])
    line = Stepper([[3.0]], [[-2.0]], forces=[kd.Gravity((-G,))], constraints=[kd.Contacts(0.5, shapes=[block])])
    line.step(120)
    assert line.position[0, 0] == pytest.approx(0.5, abs=1e-3)
    table = kd.Boxes([(-1, -1, -1)], [(1, 1, 0)])
    ball = Stepper(
        [[0.2, 0.3, 2.0], [0.2, 0.3, 3.5]], forces=[kd.Gravity((0, 0, -G))],
        constraints=[kd.Contacts(0.5, shapes=[table])],
    )  # fmt: skip
    ball.step(120)
    assert ball.position[:, 2] == pytest.approx([0.5, 1.5], abs=0.01)


def test_friction_on_an_inclined_segment_equals_that_on_a_plane(Stepper):
    angle = math.radians(20)
    slope = kd.Segments([[(-8 * math.cos(angle), -8 * math.sin(angle)), (8 * math.cos(angle), 8 * math.sin(angle))]])
    for friction, slides in ((0.3, True), (0.45, False)):
        crate = ball(Stepper, [slope], (-0.5 * math.sin(angle), 0.5 * math.cos(angle)), friction=friction)
        crate.step(60)
        way = np.linalg.norm(crate.position[0] - (-0.5 * math.sin(angle), 0.5 * math.cos(angle)))
        if slides:
            assert way == pytest.approx(G * (math.sin(angle) - 0.3 * math.cos(angle)) / 2, rel=0.05)
        else:
            assert way < 0.01


def test_a_shape_has_its_own_friction(Stepper):
    ice = kd.Boxes([(-9, -1)], [(9, 0)], friction=0.01)
    for shapes, least in (([ice], 1.8), ([TILES], -1e-9)):
        puck = ball(Stepper, shapes, (0.0, 0.5), (2.0, 0.0))
        puck.step(60)
        assert least <= puck.velocity[0, 0] < 2


# Sliding on.


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("speed", [0.5, 2.0, 20.0])
def test_sliding_over_the_joints_of_a_floor_keeps_the_velocity(Stepper, floor, speed):
    puck = ball(Stepper, [FLOORS[floor]], (-5.0, 0.5), (speed, 0.0), friction=0)
    for _ in range(min(240, int(9 / speed * 60))):
        puck.step()
        assert puck.velocity[0, 0] == pytest.approx(speed, rel=1e-12)
        assert abs(puck.velocity[0, 1]) < 2e-3
        assert puck.position[0, 1] == pytest.approx(0.5, abs=1e-3)


def test_a_ball_slides_over_hills_without_energy_loss():
    """The energy is conserved without friction; a ghost collision at a joint of segments would reduce it."""
    x = np.linspace(-3, 3, 61)
    line = np.stack([x, 0.2 * x**2], axis=1)
    valley = kd.Segments(np.stack([line[:-1], line[1:]], axis=1))
    marble = ball(kd.Stepper, [valley], (-2.0, 0.2 * 4 + 0.13), radius=0.1, friction=0)
    top = []
    for _ in range(600):
        marble.step()
        top.append(marble.position[0, 0])
    assert max(top) > 1.8
    assert min(top[300:]) < -1.7


def test_low_curbs_are_climbed_and_high_ones_stop_a_body(Stepper):
    for height, over in ((1 / 160, True), (0.3, False)):
        curb = kd.Boxes([(1, -1)], [(9, height)])
        puck = ball(Stepper, [TILES, curb], (0.0, 0.5), (2.0, 0.0), friction=0)
        puck.step(90)
        assert bool(puck.position[0, 0] > 2) is over


# Fast bodies.


@pytest.mark.parametrize("speed", [60.0, 3e3, 1e6])
@pytest.mark.parametrize("floor", FLOORS)
def test_fast_bodies_do_not_tunnel(Stepper, floor, speed):
    bullet = ball(Stepper, [FLOORS[floor]], (0.3, 5.0), (0.3 * speed, -speed), radius=0.05, forces=())
    bullet.step(20)
    assert bullet.position[0, 1] > 0


def test_restitution_on_a_shape(Stepper):
    drop = ball(Stepper, [TILES], (0.95, 3.0), (1.0, 0.0), restitution=0.5, friction=0)
    way = [drop.velocity[0, 1] for _ in range(60) if drop.step() is None]
    assert max(way) == pytest.approx(math.sqrt(2 * G * 2.5) / 2, rel=0.02)


# Collision filtering.


def test_filters_sensors_and_disabled_shapes(Stepper):
    floor = kd.Boxes([(-9, -1)], [(9, 0)], category=[2, 1, 2], mask=2)
    gone = kd.Boxes([(-9, -1)], [(9, 0)], enabled=False)
    three = [[-3.0, 1.0], [0.0, 1.0], [3.0, 1.0]]
    world = Stepper(
        three, forces=[GRAVITY], events=kd.Events(),
        constraints=[kd.Contacts(0.5, shapes=[gone, floor], category=[2, 1, 2], mask=3, sensor=[False, False, True])],
    )  # fmt: skip
    world.step(60)
    assert world.position[0, 1] == pytest.approx(0.5, abs=1e-3)
    assert world.position[1, 1] == world.position[2, 1] < -3  # filtered by category; a sensor
    events = world.events.take()
    assert [(a, b) for a, b in zip(events["slot_a"], events["b"], strict=True) if a == 2][:1] == [(2, -2)]
    assert 1 not in events["slot_a"]
    assert events["b"].max() < -1  # all contacts are with the second shape: the first one is disabled


def test_events_number_shapes_after_walls(Stepper):
    world = Stepper(
        [[0.5, 2.0]], forces=[GRAVITY], events=kd.Events(),
        constraints=[kd.Contacts(0.5, walls=[kd.Box(-9, 9)], shapes=[TILES, GROUND])],
    )  # fmt: skip
    world.step(60)
    hit = world.events.take()
    assert hit["kind"].tolist() == [kd.HIT, kd.BEGIN]
    assert hit["b"].tolist() == [-1 - 4 - 6] * 2
    assert hit["point"][0] == pytest.approx([0.5, 0.0], abs=0.02)
    assert hit["normal"][0].tolist() == [0, -1]
    assert hit["speed"][0] == pytest.approx(math.sqrt(2 * G * 1.5), rel=0.05)
    touching = world.touching()  # the ground below the tile is as near, but carries no load
    assert touching["slot_b"].tolist() == [-23, -11]
    assert (touching["impulse"] > 0).tolist() == [False, True]


# State.


def test_a_restored_pile_on_shapes_continues_bitwise_equal(Stepper):
    def heap():
        places = np.random.default_rng(3).uniform(-1, 1, (12, 2)) + np.array([0, 2])
        return Stepper(places, forces=[GRAVITY], constraints=[kd.Contacts(0.3, shapes=[TILES])])

    world, other = heap(), heap()
    world.step(40)
    saved = world.snapshot()
    world.step(20)
    other.restore(saved)
    other.step(20)
    assert other.checksum() == world.checksum()
    forgotten = heap()
    forgotten.restore(saved)
    forgotten._impulses.state[1:] = 0
    assert forgotten.snapshot() != saved
    with pytest.raises(kd.SnapshotError):
        Stepper(np.zeros((12, 2)), constraints=[kd.Contacts(0.3)]).restore(saved)


def test_shift_moves_shapes():
    world = ball(kd.Stepper, [TILES, GROUND], (0.5, 0.5))
    world.step(30)
    world.shift((100.0, -20.0))
    world.step(30)
    assert world.position[0] == pytest.approx(np.array([100.5, -19.5]), abs=1e-3)


def test_threads_and_layout_do_not_change_results(monkeypatch):
    places = np.random.default_rng(5).uniform(-2, 2, (200, 2)) + np.array([0, 4])
    sums = set()
    for _isa in each_isa(monkeypatch):
        for threads, order in ((1, "C"), (2, "F")):
            world = kd.Stepper(
                np.array(places, order=order), threads=threads, forces=[GRAVITY],
                constraints=[kd.Contacts(0.1, shapes=[TILES])],
            )  # fmt: skip
            world.step(60)
            sums.add(world.checksum())
    assert len(sums) == 1


def test_only_the_nearest_shapes_of_a_crowd_are_solved(Stepper):
    """Of 40 segments in one place, only the nearest eight act."""
    points = [[(x, -1), (x, 0)] for x in np.linspace(-0.2, 0.2, 40)]
    world = ball(Stepper, [kd.Segments(points)], (0.0, 2.0))
    world.step(60)
    assert world.position[0, 1] == pytest.approx(0.5, abs=1e-3)


# Walls outside of Contacts.


BESIDE = [
    (kd.Plane((0, 1), 0), "walls"),
    (kd.Box(-9, 9, restitution=0), "walls"),
    (TILES, "shapes"),
    (GROUND, "shapes"),
]


@pytest.mark.parametrize(("wall", "argument"), BESIDE)
def test_a_wall_beside_contacts_is_refused(Stepper, wall, argument):
    said = rf"constraints: expected this {type(wall).__name__} in Contacts\({argument}=\.\.\.\), .* beside Contacts"
    contacts = kd.Contacts(0.5)
    for constraints in ([contacts, wall], [wall, contacts]):
        with pytest.raises(ValueError, match=said):
            Stepper([[0.0, 1.0]], constraints=constraints)
    # Adding the second constraint later is refused too, and leaves the stepper unchanged.
    for first, second in ((contacts, wall), (wall, contacts)):
        world = Stepper([[0.0, 1.0]], constraints=[first])
        before = world.snapshot()
        with pytest.raises(ValueError, match=said):
            world.add(second)
        assert len(world.constraints) == 1
        assert world.snapshot() == before
        world.step()


def test_a_wall_beside_contacts_cannot_be_enabled_or_changed_to_stop_bodies(Stepper):
    plane = kd.Plane((0, 1), 0, sensor=True)
    contacts = kd.Contacts(0.5)
    world = Stepper([[0.0, 1.0]], constraints=[contacts, plane])
    with pytest.raises(ValueError, match="expected this Plane in Contacts"):
        world.set(plane, sensor=False)
    floor = kd.Plane((0, 1), 0)
    world = Stepper([[0.0, 1.0]], constraints=[floor])
    world.enable(floor, False)
    world.add(contacts)
    with pytest.raises(ValueError, match="expected this Plane in Contacts"):
        world.enable(floor)
    world.enable(contacts, False)
    world.enable(floor)
    world.step()


def test_a_wall_beside_contacts_is_allowed_for_filtered_bodies(Stepper):
    """Sparks bounce off the floor that crates lie on; sparks and crates ignore each other."""
    sparks = kd.Plane((0, 1), 0, radius=0.1, category=[1, 2], mask=2)
    world = Stepper(
        [[0.0, 0.5], [2.0, 1.0]], [[0.0, 0.0], [0.0, -4.0]], forces=[GRAVITY],
        constraints=[
            kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0, category=[1, 2], mask=1)], category=[1, 2], mask=[1, 0]),
            sparks,
        ],
    )  # fmt: skip
    world.step(10)
    assert world.position[0, 1] == pytest.approx(0.5, abs=1e-3)
    before = world.velocity[1, 1]
    world.step(10)
    assert before < 0 < world.velocity[1, 1]


@pytest.mark.parametrize(
    ("shapes", "error", "message"),
    [
        ([kd.Plane((0, 1), 0)], TypeError, r"Contacts\(shapes\): expected Segments or Boxes, got Plane"),
        (TILES, TypeError, r"Contacts\(shapes\): expected a sequence \(Segments or Boxes\)"),
        ([kd.Boxes([(0, 0, 0)], [(1, 1, 1)])], ValueError, r"Boxes\(lower\): expected shape \(k, 2\)"),
        ([kd.Boxes([(0, 0)], [(1, 1)], enabled=[True, True])], ValueError, r"Boxes\(enabled\): expected a bool"),
    ],
)
def test_invalid_shapes_are_refused(shapes, error, message):
    with pytest.raises(error, match=message):
        kd.Stepper(np.zeros((4, 2)), constraints=[kd.Contacts(1, shapes=shapes)])


def test_segments_need_two_dimensions():
    with pytest.raises(ValueError, match="Segments: expected bodies in 2 dimensions, got 3"):
        kd.Stepper(np.zeros((4, 3)), constraints=[kd.Contacts(1, shapes=[GROUND])])
