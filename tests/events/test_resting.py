"""Events where bodies rest: `Contacts`, and walls that meet in corners."""

import math

import numpy as np
import pytest

import kickdrift as kd

G = 9.81
GRAVITY = kd.Gravity((0, -G))
FLOOR = kd.Plane((0, 1), 0.0)


def of(events, kind):
    return events[events["kind"] == kind]


def valley(**how):
    a = math.pi / 4
    return [kd.Plane((side * math.sin(a), math.cos(a)), 0, 0.0, radius=0.2, **how) for side in (1, -1)]


def test_a_falling_ball_hits_the_floor_once(Stepper):
    ball = Stepper(
        [[0.5, 1.0]], mass=2.0, hz=240, forces=[GRAVITY], constraints=[kd.Contacts(0.2, walls=[FLOOR])],
        events=kd.Events(hits_above=0.1),
    )  # fmt: skip
    ball.step(240)
    events = ball.events.take()
    assert events["kind"].tolist() == [kd.HIT, kd.BEGIN]
    fall = math.sqrt(2 * 0.8 / G)
    hit = events[0]
    assert hit["time"] == pytest.approx(fall, abs=1 / 240)
    assert hit["speed"] == pytest.approx(G * fall, rel=0.01)
    # The impulse stops the ball and carries its weight for the rest of the tick.
    assert hit["impulse"] == pytest.approx(2 * G * fall, rel=0.02)
    assert hit["point"].tolist() == pytest.approx([0.5, 0.0], abs=1e-9)
    assert hit["normal"].tolist() == [0, -1]
    assert (hit["source"], hit["slot_a"], hit["slot_b"], hit["b"]) == (0, 0, -1, -1)
    assert ball.touching()[["slot_a", "slot_b"]].tolist() == [(0, -1)]


def test_a_collision_reports_time_speed_and_impulse(Stepper):
    balls = Stepper(
        [[0.0, 0.0], [3.0, 0.0]], [[4.0, 0.0], [0.0, 0.0]], [2.0, 1.0], hz=64,
        constraints=[kd.Contacts(0.5, restitution=1.0)], events=kd.Events(),
    )  # fmt: skip
    balls.step(64)
    events = balls.events.take()
    assert events["kind"].tolist() == [kd.HIT, kd.BEGIN, kd.END]
    hit = events[0]
    assert (hit["time"], hit["speed"]) == pytest.approx((0.5, 4.0))
    assert hit["impulse"] == pytest.approx(2 * 4 * 2 / 3)
    assert hit["point"].tolist() == pytest.approx([2.5, 0.0])
    assert hit["normal"].tolist() == [1, 0]
    assert len(balls.touching()) == 0


def test_hit_impulses_equal_the_momentum_change(Stepper):
    """Without forces, the impulses on a body sum up to the change of its momentum."""
    balls = Stepper(
        [[0.0, 0.0], [0.0, 1.05], [0.0, 2.15]], [[0.0, 3.0], [0.0, 0.0], [0.0, -1.0]], [1.0, 2.0, 3.0],
        hz=60, constraints=[kd.Contacts(0.5)], events=kd.Events(hits_above=0.0),
    )  # fmt: skip
    before = balls.velocity.copy()
    balls.step(4)
    events = of(balls.events.take(), kd.HIT)
    change = np.zeros((3, 2))
    for hit in events:
        change[hit["slot_a"]] -= hit["impulse"] * hit["normal"]
        change[hit["slot_b"]] += hit["impulse"] * hit["normal"]
    lost = np.array([1.0, 2.0, 3.0])[:, None] * (balls.velocity - before)
    assert {(hit["slot_a"], hit["slot_b"]) for hit in events} == {(0, 1), (1, 2)}
    # The tolerance covers impulses of later ticks, which have no hit event.
    assert np.abs(change - lost).max() < 0.2 * np.abs(lost).max()


def test_walls_of_contacts_are_numbered(Stepper):
    """Walls are numbered consecutively: the sides of the box first, then the plane."""
    walls = [kd.Box(0.0, 4.0), kd.Plane((1, 1), 0.0)]
    balls = Stepper(
        [[1.0, 2.0], [3.0, 2.0], [2.0, 1.0], [2.0, 3.0]], [[-9.0, 0.0], [9.0, 0.0], [0.0, -9.0], [0.0, 9.0]], hz=60,
        constraints=[kd.Contacts(0.1, walls=walls)], events=kd.Events(),
    )  # fmt: skip
    balls.step(20)
    hits = of(balls.events.take(), kd.HIT)
    assert sorted(hits[["slot_a", "slot_b"]].tolist()) == [(0, -1), (1, -2), (2, -3), (3, -4)]


def test_collision_filters(Stepper):
    """Two of four bodies fall through the others, one of them through the floor too."""
    category, mask = np.array([1, 2, 1, 4]), np.array([1, 2, 1, 4])
    balls = Stepper(
        [[0.0, 0.5], [0.0, 2.0], [0.0, 3.6], [0.0, 5.0]], hz=60, forces=[GRAVITY],
        constraints=[kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0.0, category=category, mask=3)], category=category,
                                 mask=mask)],
        events=kd.Events(),
    )  # fmt: skip
    balls.step(180)
    assert balls.position[:3, 1] == pytest.approx([0.5, 0.5, 1.5], abs=0.01)
    assert balls.position[3, 1] < -20
    hits = of(balls.events.take(), kd.HIT)
    assert hits[["slot_a", "slot_b"]].tolist() == [(1, -1), (0, 2)]


def test_sensors_report_without_collision_response(Stepper):
    still = [False, True, False]
    balls = Stepper(
        [[0.0, 5.0], [0.0, 3.0], [4.0, 5.0]], hz=60, mass=[1.0, np.inf, 1.0], forces=[GRAVITY],
        constraints=[kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0.0, sensor=[False, False, True])], sensor=still)],
        events=kd.Events(),
    )  # fmt: skip
    free = Stepper([[4.0, 5.0]], hz=60, forces=[GRAVITY])
    balls.step(90)
    free.step(90)
    assert balls.position[2].tolist() == free.position[0].tolist()
    assert balls.position[0, 1] == pytest.approx(0.5, abs=0.01)
    events = balls.events.take()
    through = events[events["slot_b"] == 1]
    assert through["kind"].tolist() == [kd.HIT, kd.BEGIN, kd.END]
    assert through["impulse"].tolist() == [0, 0, 0]
    assert through["speed"][0] == pytest.approx(math.sqrt(2 * G), rel=0.03)
    beyond = events[events["slot_a"] == 2]
    assert beyond["kind"].tolist() == [kd.HIT, kd.BEGIN]
    assert beyond["time"][0] == pytest.approx(math.sqrt(2 * 4.5 / G), abs=0.01)
    assert (2, -1) in balls.touching()[["slot_a", "slot_b"]].tolist()


def test_a_pile_at_rest_creates_no_events():
    rng = np.random.default_rng(1)
    pile = kd.Stepper(
        rng.uniform(0, 1, (20, 2)) * (4, 8) + (0, 1), hz=60, forces=[GRAVITY],
        constraints=[kd.Contacts(0.3, walls=[kd.Box(0, 10)])], events=kd.Events(),
    )  # fmt: skip
    pile.step(1200)
    pile.events.take()
    pile.step(300)
    assert len(pile.events.take()) == 0
    assert len(pile.touching()) >= 20


def test_each_event_of_a_pile_is_confirmed_once():
    def heap():
        rng = np.random.default_rng(7)
        return kd.Stepper(
            rng.uniform(-1, 1, (12, 2)) + np.array([0, 3]), forces=[GRAVITY], hz=60,
            constraints=[kd.Contacts(0.3, walls=[FLOOR, *valley()])], events=kd.Events(),
        )  # fmt: skip

    straight, world = heap(), heap()
    straight.step(60)
    expected = straight.events.take()
    past = kd.Rollback(world, ticks=16)
    found = []

    def play(ticks):
        for _ in range(ticks):
            past.save()
            world.step()

    for _ in range(15):
        play(4)
        if world.tick >= 8:
            past.rollback(world.tick - 6)
            play(6)
            found.append(past.events(confirmed=world.tick - 8))
    found.append(past.events(confirmed=world.tick))
    assert np.concatenate(found).tobytes() == expected.tobytes()
    assert len(of(expected, kd.HIT)) > 10


# Corners without contacts.


def test_both_walls_of_a_corner_report_the_impact(Stepper):
    ball = Stepper([[0.0, 2.0]], hz=60, forces=[GRAVITY], constraints=valley(), events=kd.Events())
    ball.step(200)
    events = ball.events.take()
    hits = of(events, kd.HIT)
    assert hits["source"].tolist() == [0, 1]
    fall = math.sqrt(2 * (2 - 0.2 * math.sqrt(2)) / G)
    assert hits["time"] == pytest.approx([fall, fall], abs=1e-3)
    assert hits["speed"] == pytest.approx([G * fall * math.sqrt(0.5)] * 2, rel=1e-3)
    # Both walls together stop the ball.
    up = -(hits["impulse"] @ hits["normal"][:, 1])
    assert up == pytest.approx(G * fall, rel=0.05)
    assert len(of(events, kd.BEGIN)) == 2
    assert len(of(events, kd.END)) == 0
    assert ball.touching()["source"].tolist() == [0, 1]


def test_filtered_walls_form_corners_for_the_bodies_they_stop(Stepper):
    balls = Stepper(
        [[0.3, 2.0], [0.3, 4.0]], hz=60, forces=[GRAVITY], constraints=valley(category=[1, 2], mask=1),
    )  # fmt: skip
    balls.step(1200)
    rest = balls.position[0].copy()
    assert rest == pytest.approx([0, 0.2 * math.sqrt(2)], abs=1e-6)
    balls.step(1)
    assert np.abs(balls.position[0] - rest).max() < 1e-6
    assert balls.position[1, 1] < -100


def test_the_end_of_a_contact_has_the_id_of_the_dead_body(Stepper):
    floor = kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0.0)])
    world = Stepper(
        [[1.0, 0.5], [1.9, 0.5]], hz=60, forces=[kd.Gravity((0, -9.81))], constraints=[floor], alive=2,
        events=kd.Events(),
    )  # fmt: skip
    world.step(5)
    first, second = world.ids.tolist()
    assert (first, second) in world.touching()[["a", "b"]].tolist()
    world.events.take()
    world.kill([first])
    world.step()
    told = world.events.take()
    assert told["kind"].tolist() == [kd.END] * len(told)
    assert (first, second) in told[["a", "b"]].tolist()


@pytest.mark.parametrize("alive", [None, 2])
def test_sensor_regions_continue_when_an_earlier_constraint_is_disabled(Stepper, alive):
    """The number of the region changes, but the bodies inside do not enter again."""
    balls, region = kd.ElasticCollisions(0.5), kd.Sensor((0, 0), (9, 9))
    world = Stepper([[1.0, 5.0], [3.0, 3.0]], hz=60, constraints=[balls, region], events=kd.Events(), alive=alive)
    world.step()
    assert world.events.take()["kind"].tolist() == [kd.ENTER] * 2
    for enabled in (False, True, False):
        world.enable(balls, enabled)
        world.step()
        assert world.events.take()["kind"].tolist() == []
        assert len(world.touching()) == 0 or world.touching()["source"].tolist() == [int(enabled)] * 2


def test_regions_ignore_dead_bodies_and_report_the_new_id_of_a_reused_slot(Stepper):
    """Rows of dead bodies are zeros, and the region contains the origin."""
    around = [kd.Sensor((0.0, 0.0), 1.0), kd.Plane((1.0, 0.0), 0.25)]
    world = Stepper([[5.0, 0.0]] * 3, alive=2, constraints=around, events=kd.Events())
    world.kill(0)
    world.step(2)
    assert not len(world.events.take())
    born = world.spawn([[0.5, 0.0]])
    world.step()
    events = world.events.take()
    assert events["kind"].tolist() == [int(kd.ENTER)]
    assert events["a"].tolist() == born.tolist()


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize(
    "constraint",
    [
        kd.Plane((0, 1), 0.0, radius=0.5),
        kd.Box(0.0, 9.0, radius=0.5),
        kd.Boxes([(-9, -9)], [(9, 0)], radius=0.5, velocity=0),
        kd.ElasticCollisions(0.5),
        kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0.0)]),
        kd.Contacts(0.5, shapes=[kd.Segments([[(-9, 0), (9, 0)]])]),
        kd.Sensor((0, 0), (9, 9)),
    ],
    ids=lambda constraint: type(constraint).__name__,
)
def test_the_contacts_of_killed_bodies_end_in_the_next_step(Stepper, constraint, left):
    """Rows of dead bodies are zeros, which touch each other, the floor and the region; in one case no body is left."""
    world = Stepper(
        [[3.0, 0.5], [3.99, 0.5], [8.0, 0.5]][: 2 + left], hz=60, forces=[kd.Gravity((0, -10))], alive=2 + left,
        constraints=[constraint], events=kd.Events(),
    )  # fmt: skip
    world.step(2)
    begun = world.events.take()
    begun = {(each["a"], each["b"]) for each in begun[begun["slot_a"] < 2]}
    assert begun
    many = (kd.Worlds if Stepper is kd.Stepper else kd.reference.Worlds)(world, 2)
    world.kill([0, 1])
    many.kill(np.array([[True, True, False][: 2 + left], [False] * (2 + left)]))
    for _ in range(3):
        world.step()
        many.step()
    events, of_worlds = world.events.take(), many.events.take()
    assert {(each["a"], each["b"]) for each in events} == begun
    assert len(events) == len(begun)
    assert np.isin(events["kind"], (kd.END, kd.LEAVE)).all()
    assert (events["tick"] == 3).all()
    assert events["time"] == pytest.approx(2 / 60)
    assert all((of_worlds[name] == events[name]).all() for name in events.dtype.names)
    assert (of_worlds["world"] == 0).all()


@pytest.mark.parametrize(
    "constraint",
    [kd.Box(0, 9), kd.ElasticCollisions(0.5), kd.Sensor((0, 0), (9, 9))],
    ids=lambda each: type(each).__name__,
)
def test_a_first_step_without_bodies_has_no_events(Stepper, constraint):
    """Verlet has no previous position yet, and a step without bodies creates none."""
    world = Stepper(
        [[1.0, 1.0]] * 2, dt=0.5, integrator="verlet", constraints=[constraint], alive=2, events=kd.Events()
    )
    world.kill([0, 1])
    world.step(2)
    assert world.tick == 2
    assert not len(world.events.take())


@pytest.mark.parametrize(
    ("constraint", "excluding"),
    [
        (kd.Plane((0, 1), 0.0, radius=0.5), {"mask": 2}),
        (kd.Box(0.0, 9.0, radius=0.5), {"mask": 2}),
        (kd.Boxes([(-9, -9)], [(9, 0)], radius=0.5), {"mask": 2}),
        (kd.ElasticCollisions(0.5), {"mask": 2}),
        (kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0.0, mask=1)]), {"category": 2, "mask": 1}),
        (kd.Contacts(0.5, shapes=[kd.Boxes([(-9, -9)], [(9, 0)], mask=1)]), {"category": 2, "mask": 1}),
    ],
    ids=lambda each: type(each).__name__,
)
def test_contacts_that_a_filter_excludes_end(Stepper, constraint, excluding):
    """Regression: a body whose new mask let it fall through a plane stayed in contact with that plane for ever."""
    world = Stepper(
        [[3.0, 0.5], [3.99, 0.5]], hz=60, forces=[kd.Gravity((0, -10))], constraints=[constraint], events=kd.Events(),
    )  # fmt: skip
    world.step(2)
    begun = world.events.take()[["slot_a", "slot_b"]].tolist()
    assert begun
    world.set(constraint, **excluding)
    world.step(3)
    events = world.events.take()
    assert events[["slot_a", "slot_b"]].tolist() == begun
    assert (events["kind"] == kd.END).all()
    assert (events["tick"] == 3).all()
    assert not len(world.touching())


@pytest.mark.parametrize("bodies", [2, 3, 9])
def test_dead_bodies_touch_no_sensor_wall(Stepper, bodies):
    """Rows of dead bodies are zeros, which are outside of the shifted walls and inside the shifted shape."""
    walls = [kd.Box(-1.0, 1.0, sensor=True), kd.Plane((1.0, 0.0), -1.0, sensor=True)]
    walls.append(kd.Boxes([(-9.0, -9.0)], [(-3.0, 9.0)], sensor=True))
    world = Stepper(np.zeros((bodies, 2)), alive=bodies, constraints=walls, events=kd.Events())
    world.kill(0)
    world.shift((5.0, 0.0))
    world.step(2)
    assert not len(world.touching())
    assert not len(world.events.take())


def test_event_times_continue_after_a_change_of_dt(Stepper):
    """A ball hits a side of its box in each tick."""
    box, events = kd.Box(0.0, 1.0, 1.0), kd.Events(begin=False, end=False)
    world = Stepper([[0.5]], [[1.0]], dt=1.0, constraints=[box], events=events)
    for dt in (1.0, 0.75, 1.5):
        world.dt = dt
        for _ in range(2):
            before = world.time
            world.step()
            assert all(before < time <= world.time for time in world.events.take()["time"])
