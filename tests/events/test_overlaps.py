"""Initial overlaps are reported in the first tick; passing through a sensor is a single hit."""

import numpy as np
import pytest

import kickdrift as kd

ONE, BOTH = np.array([True, False]), np.array([True, True])
REST = [[0.0, 0.0], [0.0, 0.0]]
PAIR = [[0.0, 0.0], [0.5, 0.0]]
FLOOR = {"normal": (0, 1), "offset": 0}


def rows(Stepper, constraint, place, velocity, ticks=6, **options):
    """Return (tick, time, kind, slot_b, speed) of all events, with steps of 0.125 s."""
    world = Stepper(
        np.array(place), np.array(velocity), dt=0.125, constraints=[constraint],
        events=kd.Events(**{"hits_above": 0.0} | options),
    )  # fmt: skip
    world.step(ticks)
    return world.events.take()[["tick", "time", "kind", "slot_b", "speed"]].tolist()


BEGIN = (1, 0.0, int(kd.BEGIN))


@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("sensor", [ONE, BOTH])
def test_sensor_pairs(Stepper, sensor, swept):
    passing = kd.ElasticCollisions(0.5, sensor=sensor, swept=swept)
    begin = (*BEGIN, 1, 0.0)
    assert rows(Stepper, passing, PAIR, REST) == [begin]
    assert rows(Stepper, passing, [[0.0, 0.0], [0.0, 0.0]], REST) == [begin]
    away = rows(Stepper, passing, PAIR, [[0.0, 0.0], [2.0, 0.0]])
    assert away == [begin, (2, 0.25, int(kd.END), 1, 0.0)] or away == [begin, (3, 0.25, int(kd.END), 1, 0.0)]
    assert rows(Stepper, passing, [[0.0, 0.0], [1.5, 0.0]], REST) == []


def test_a_pair_that_separates_in_its_first_tick(Stepper):
    passing = kd.ElasticCollisions(0.5, sensor=ONE, swept=True)
    found = rows(Stepper, passing, PAIR, [[0.0, 0.0], [50.0, 0.0]])
    assert [row[2] for row in found] == [kd.BEGIN, kd.END]
    assert [row[1] for row in found] == pytest.approx([0, 0.01])


def test_a_pair_that_overlaps_after_a_teleport(Stepper):
    world = Stepper(
        [[0.0, 0.0], [9.0, 0.0]], dt=0.125, constraints=[kd.ElasticCollisions(0.5, sensor=ONE)], events=kd.Events()
    )
    world.step(2)
    world.teleport(1, [0.25, 0.0])
    world.step(2)
    assert world.events.take()[["tick", "time", "kind"]].tolist() == [(3, 0.25, int(kd.BEGIN))]
    assert world.touching()[["slot_a", "slot_b"]].tolist() == [(0, 1)]


@pytest.mark.parametrize("sensor", [ONE, BOTH])
def test_sensor_contacts(Stepper, sensor):
    passing = kd.Contacts(0.5, sensor=sensor)
    assert rows(Stepper, passing, PAIR, REST) == [(*BEGIN, 1, 0.0)]
    away = rows(Stepper, passing, PAIR, [[0.0, 0.0], [2.5, 0.0]])
    assert [row[2] for row in away] == [kd.BEGIN, kd.END]
    assert away[1][1] == pytest.approx(0.2)


@pytest.mark.parametrize(
    "wall",
    [
        kd.Contacts(0.5, walls=[kd.Plane(**FLOOR, sensor=True)]),
        kd.Plane(**FLOOR, radius=0.5, sensor=True),
        kd.Box((-9, 0), (9, 9), radius=0.5, sensor=True),
        kd.Boxes([(-9, -9)], [(9, 0)], radius=0.5, sensor=True),
        kd.Segments([[(-9, 0), (9, 0)]], radius=0.5, sensor=True),
    ],
    ids=["Contacts", "Plane", "Box", "Boxes", "Segments"],
)
def test_sensor_walls(Stepper, wall):
    number = -3 if isinstance(wall, kd.Box) else -1
    for velocity in (0.0, -0.125):
        assert rows(Stepper, wall, [[0.0, 0.25]], [[0.0, velocity]]) == [(*BEGIN, number, 0.0)]
    away = rows(Stepper, wall, [[0.0, 0.25]], [[0.0, 0.75]])
    assert [row[2] for row in away] == [kd.BEGIN, kd.END]
    assert 0.25 <= away[1][1] <= 0.375  # the body separates after 1/3 s
    # The overlap begins within a tick or between two; the last case does not track contacts.
    for height in (0.75, 0.8125, 1.0):
        found = rows(Stepper, wall, [[0.0, height]], [[0.0, -1.0]], ticks=8)
        assert [row[2:] for row in found] == [(int(kd.HIT), number, 1.0), (int(kd.BEGIN), number, 1.0)]
        assert [row[1] for row in found] == pytest.approx([height - 0.5] * 2)
    found = rows(Stepper, wall, [[0.0, 0.8125]], [[0.0, -1.0]], ticks=8, begin=False, end=False)
    assert [row[2] for row in found] == [kd.HIT]


def test_passing_a_row_of_shapes_is_one_hit_each(Stepper):
    bricks = kd.Boxes([(k, 0) for k in range(4)], [(k + 0.9, 1) for k in range(4)], radius=0.25, sensor=True)
    found = rows(Stepper, bricks, [[-1.0, 0.5]], [[3.0, 0.0]], ticks=20)
    for kind in (kd.HIT, kd.BEGIN, kd.END):
        assert sorted(row[3] for row in found if row[2] == kind) == [-4, -3, -2, -1]


def test_bouncing_bodies_hit_repeatedly(Stepper):
    """Each bounce off a solid wall is a hit."""
    ball = Stepper(
        [[0.5, 1.0]], [[0.0, 0.0]], hz=60, forces=[kd.Gravity((0, -9.81))],
        constraints=[kd.Plane(**FLOOR, radius=0.5, restitution=0.9)], events=kd.Events(),
    )  # fmt: skip
    ball.step(240)
    assert (ball.events.take()["kind"] == kd.HIT).sum() > 3


INSIDE = {
    "plane": kd.Plane((0, 1), 0.0, radius=0.5),
    "box": kd.Box((-99, 0), 99, radius=0.5),
    "boxes": kd.Boxes([(-9, -1)], [(9, 0)], radius=0.5),
    "segments": kd.Segments([[(-9, 0), (9, 0)]], radius=0.5),
    "pairs": kd.ElasticCollisions(0.5),
}


@pytest.mark.parametrize("name", INSIDE)
def test_a_body_that_leaves_an_overlap_is_not_pulled(Stepper, name):
    """The body is moved to where it just touches; the energy that this displacement costs is no impulse."""
    place, velocity = np.array([[0.0, 0.25], [0.0, -0.25]]), np.array([[0.0, 2.0], [0.0, 0.0]])
    count = 2 if name == "pairs" else 1
    world = Stepper(
        place[:count], velocity[:count], [1.0, np.inf][:count], dt=0.125, forces=[kd.Gravity((0, -1))],
        constraints=[INSIDE[name]], events=kd.Events(),
    )  # fmt: skip
    world.step()
    (begin,) = world.events.take()
    assert 0 < world.velocity[0, 1] < 1.875  # 2 m/s minus gravity and minus the energy correction
    assert (begin["kind"], begin["speed"], begin["impulse"]) == (kd.BEGIN, 0.0, 0.0)


TILES = kd.Boxes([(-9, -1), (0, -1)], [(0, 0), (9, 0)])
RESTING = {
    "pair": (kd.Contacts(0.5), [[0.0, 0.25], [0.0, -0.25]]),
    "plane": (kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0.0)]), [[0.0, 0.25]]),
    "ceiling": (kd.Contacts(0.5, walls=[kd.Plane((0, -1), 0.0)]), [[0.0, -0.25]]),
    "boxes": (kd.Contacts(0.5, shapes=[kd.Boxes([(-9, -1)], [(9, 0)])]), [[0.0, 0.25]]),
    "segments": (kd.Contacts(0.5, shapes=[kd.Segments([[(-9, 0), (9, 0)]])]), [[0.0, 0.25]]),
    "corner": (kd.Contacts(0.5, shapes=[TILES]), [[9.25, 0.125]]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", RESTING)
def test_bodies_of_contacts_that_overlap_without_an_impact(Stepper, name, dtype):
    """`Contacts` pushes them apart slowly. The contact begins with the first tick and lasts until they are apart."""
    constraint, place = RESTING[name]
    world = Stepper(np.array(place, dtype), dt=0.125, constraints=[constraint], events=kd.Events(hits_above=1e-6))
    world.step()
    (begin,) = world.events.take()
    assert (begin["kind"], begin["tick"], begin["time"]) == (kd.BEGIN, 1, 0)
    assert begin[["speed", "impulse"]].tolist() == pytest.approx((0, 0), abs=1e-6)
    world.step(8)
    assert len(world.events.take()) == 0
    assert len(world.touching()) == 1
    world.teleport(0, 90 * world.position[0])
    world.step()
    assert world.events.take()["kind"].tolist() == [kd.END]


@pytest.mark.parametrize("height", [0.5, 0.5 + 2**-12, 0.75])
@pytest.mark.parametrize("name", ["plane", "boxes", "segments"])
def test_bodies_of_contacts_that_do_not_overlap_have_no_events(Stepper, name, height):
    world = Stepper([[0.0, height]], dt=0.125, constraints=[RESTING[name][0]], events=kd.Events(hits_above=0))
    world.step(4)
    assert len(world.events.take()) == 0


def test_the_tile_beside_the_one_below_has_no_contact(Stepper):
    """A body over the seam of two tiles overlaps both, but only the one below holds it."""
    contacts = kd.Contacts(0.5, shapes=[TILES])
    world = Stepper([[0.25, 0.375]], dt=0.125, constraints=[contacts], events=kd.Events(hits_above=0))
    world.step()
    assert world.events.take()[["kind", "slot_b"]].tolist() == [(kd.BEGIN, -2)]


def test_bodies_of_contacts_that_are_spawned_or_moved_into_others(Stepper):
    world = Stepper(np.zeros((2, 2)), dt=0.125, constraints=[kd.Contacts(0.5)], events=kd.Events(), alive=1)
    world.step(2)
    world.spawn((0.75, 0.0))
    world.step(2)
    assert world.events.take()[["tick", "time", "kind"]].tolist() == [(3, 0.25, kd.BEGIN)]
    world.teleport(1, [9.0, 0.0])
    world.step()
    world.teleport(1, [0.25, 0.0])
    world.step()
    assert world.events.take()[["tick", "kind"]].tolist() == [(5, kd.END), (6, kd.BEGIN)]
