"""Fast bodies: no tunnelling, and exact times of impact along straight paths."""

import numpy as np
import pytest

import kickdrift as kd


def targets_and_bullets(count, rng):
    """Create distant targets of radius 12 with a bullet of radius 2 each, and their impact times in seconds."""
    side = int(np.ceil(np.sqrt(count)))
    target = 300.0 * np.stack(np.divmod(np.arange(count), side), axis=1)
    way = rng.uniform(0, 2 * np.pi, count)
    motion = np.stack([np.cos(way), np.sin(way)], axis=1)
    aside = rng.uniform(-13.5, 13.5, count)[:, None] * np.stack([-motion[:, 1], motion[:, 0]], axis=1)
    distance = rng.uniform(20, 90, count)
    start = target + aside - motion * distance[:, None]
    reach = np.sqrt(14.0**2 - (aside**2).sum(axis=1))
    return target, start, 6000 * motion, (distance - reach) / 6000


@pytest.mark.parametrize("integrator", ["velocity_verlet", "semi_implicit_euler", "verlet"])
def test_every_bullet_hits_its_target_once(isa, integrator):
    target, start, velocity, time = targets_and_bullets(400, np.random.default_rng(1))
    radius = np.repeat([12.0, 2.0], 400)
    world = kd.Stepper(
        np.concatenate([target, start]), np.concatenate([np.zeros((400, 2)), velocity]), np.repeat([np.inf, 1.0], 400),
        hz=60, integrator=integrator, constraints=[kd.ElasticCollisions(radius, swept=True)],
        events=kd.Events(begin=False, end=False),
    )  # fmt: skip
    world.step(2)
    hits = world.events.take()
    assert len(hits) == 400
    assert hits["slot_a"].tolist() == sorted(hits["slot_a"]) == list(range(400))
    assert (hits["slot_b"] == hits["slot_a"] + 400).all()
    assert np.abs(hits["time"] - time).max() < 1e-9
    speeds = np.sqrt((world.velocity[400:] ** 2).sum(axis=1))
    assert speeds == pytest.approx(6000)


def test_a_bullet_hits_the_first_of_a_row(Stepper):
    x = np.array([[0.0, 0.0], [40.0, 0.0], [80.0, 0.0], [-30.0, 0.0]])[[2, 0, 1, 3]]
    world = Stepper(
        x, [[0, 0], [0, 0], [0, 0], [6000, 0]], [np.inf, np.inf, np.inf, 1.0], hz=60,
        constraints=[kd.ElasticCollisions([12, 12, 12, 2], swept=True)], events=kd.Events(),
    )  # fmt: skip
    world.step()
    hits = world.events.take()
    hits = hits[hits["kind"] == kd.HIT]
    assert hits[["slot_a", "slot_b"]].tolist() == [(1, 3)]
    assert hits["time"].tolist() == pytest.approx([16 / 6000])
    assert world.position[3].tolist() == pytest.approx([-14 - (100 - 16), 0])


def test_two_bullets_collide_head_on(Stepper):
    world = Stepper(
        [[-50.0, 0.0], [50.0, 0.0]], [[9000.0, 0.0], [-9000.0, 0.0]], hz=60,
        constraints=[kd.ElasticCollisions(1, swept=True)], events=kd.Events(),
    )  # fmt: skip
    world.step()
    assert world.velocity.tolist() == [[-9000, 0], [9000, 0]]
    assert world.events.take()["time"] == pytest.approx(np.full(3, 98 / 18000))


def test_bullets_tunnel_without_continuous_detection(Stepper):
    world = Stepper(
        [[-50.0, 0.0], [50.0, 0.0]], [[9000.0, 0.0], [-9000.0, 0.0]], hz=60, constraints=[kd.ElasticCollisions(1)],
    )  # fmt: skip
    world.step()
    assert world.velocity.tolist() == [[9000, 0], [-9000, 0]]


def test_sensors_report_bullets(Stepper):
    world = Stepper(
        [[0.0, 0.0], [-50.0, 3.0]], [[0.0, 0.0], [6000.0, 0.0]], hz=60,
        constraints=[kd.ElasticCollisions([4, 1], sensor=[True, False], swept=True)], events=kd.Events(),
    )  # fmt: skip
    world.step()
    e = world.events.take()
    assert e["kind"].tolist() == [kd.HIT, kd.BEGIN, kd.END]
    assert e["time"] == pytest.approx([46 / 6000, 46 / 6000, 54 / 6000])
    assert e["impulse"].tolist() == [0, 0, 0]
    assert world.velocity.tolist() == [[0, 0], [6000, 0]]


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_fast_bodies_do_not_tunnel_through_shapes(isa, dim):
    """Bodies cross a room of boxes many times per step."""
    rng = np.random.default_rng(dim)
    walls_low, walls_high = [], []
    for axis in range(dim):
        for low, high in ((-1.0, 0.0), (10.0, 11.0)):
            a, b = np.full(dim, -1.0), np.full(dim, 11.0)
            a[axis], b[axis] = low, high
            walls_low.append(a)
            walls_high.append(b)
    for gravity in (0.0, -900.0):
        world = kd.Stepper(
            rng.uniform(1, 9, (60, dim)), 1000 * rng.normal(size=(60, dim)), hz=60,
            forces=[kd.Gravity(np.eye(dim)[0] * gravity)],
            constraints=[kd.Boxes(walls_low, walls_high, restitution=0.9, friction=0.1, radius=0.25)],
        )  # fmt: skip
        for _ in range(30):
            world.step(10)
            assert (world.position > 0.25 - 1e-6).all()
            assert (world.position < 9.75 + 1e-6).all()


def test_time_and_position_of_impacts_on_shapes(Stepper):
    shapes = kd.Boxes([(0, -5)], [(1, 5)], radius=2.0), kd.Segments([[(40, -9), (40, 9)]], radius=2.0, thickness=1.0)
    world = Stepper(
        [[-50.0, 0.0], [20.0, 0.0], [-50.0, 6.2]], [[6000.0, 0.0]] * 3, hz=60, constraints=shapes, events=kd.Events(),
    )  # fmt: skip
    world.step()
    hits = world.events.take()
    hits = hits[hits["kind"] == kd.HIT]
    assert hits[["source", "slot_a", "b"]].tolist() == [(0, 0, -1), (0, 2, -1), (1, 1, -1)]
    corner = 50 - np.sqrt(4 - 1.2**2)
    assert hits["time"] == pytest.approx(np.array([48, corner, 17.5]) / 6000, abs=1e-12)
    assert hits["point"][[0, 2]].tolist() == [[0, 0], [39.5, 0]]
    assert hits["point"][1] == pytest.approx([0, 5])
    assert hits["impulse"][0] == pytest.approx(12000)


def test_disabled_shapes_do_not_collide(Stepper):
    box = kd.Boxes([(0, 0), (4, 0)], [(1, 1), (5, 1)], enabled=[False, True])
    world = Stepper([[0.5, 3.0], [4.5, 3.0]], [[0.0, -6.0]] * 2, dt=1, constraints=[box])
    world.step()
    assert world.position.tolist() == [[0.5, -3], [4.5, pytest.approx(5, abs=1e-9)]]


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize(
    "constraint",
    [
        kd.Sensor((0, 0), (1, 1)),
        kd.Plane((0, 1), 0.0, radius=1.0, restitution=0),
        kd.Contacts(1.0, walls=[kd.Plane((0, 1), 0.0)]),
        kd.ElasticCollisions(1.0, sensor=True),
    ],
    ids=lambda constraint: type(constraint).__name__,
)
def test_a_body_in_the_row_of_another_has_contacts_of_its_own(constraint, restored):
    """Regression: a body spawned in a reused slot inherited the pairs of the killed one: no BEGIN, and a false END."""
    found = []
    for cls in (kd.Stepper, kd.reference.Stepper):
        world = cls([[0.5, 0.75], [1.0, 0.75], [0, 0]], alive=2, constraints=[constraint], events=kd.Events())
        world.kill([0])
        rows, before = [], world.spawn((0.5, 0.5))
        for place in ((0.5, 0.5), (9.0, 9.0), (0.5, 0.5)):
            world.step()
            world.events.take()
            world.kill(before)
            body = world.spawn(place)
            assert world.slots(body).tolist() == [0]
            if restored:
                world.restore(world.snapshot())
            world.step(3)
            events = world.events.take()
            mine = events[(events["a"] == body[0]) | (events["b"] == body[0])]
            assert not np.isin(mine["kind"], (kd.END, kd.LEAVE)).any()
            assert np.isin(mine["kind"], (kd.BEGIN, kd.ENTER)).any() == (place[0] < 9), place
            rows.append(events.tobytes())
            before = body
        found.append(rows)
    assert found[0] == found[1]
