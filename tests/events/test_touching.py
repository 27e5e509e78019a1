"""Contacts of the present positions, with and without events, and which bodies are grounded."""

from itertools import pairwise

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.stepper.queries import much_larger

GRAVITY = kd.Gravity((0.0, -900.0))
SCHEMES = [
    "explicit_euler", "semi_implicit_euler", "implicit_euler", "midpoint", "heun", "rk4", "verlet", "velocity_verlet",
    "groot_warren", "leapfrog", "yoshida4",
]  # fmt: skip
FLAT = [(k * 37.0, 0.0) for k in range(-2, 12)]
UP = [(k * 37.0, k * 25.0) for k in range(-2, 12)]
DOWN = [(k * 37.0, k * -25.0) for k in range(-2, 12)]


def floor(kind, points, **how):
    """Return one floor made of segments, or of boxes below its flat parts."""
    ends = list(pairwise(points))
    if kind == "segments":
        return kd.Segments(ends, **how)
    return kd.Boxes([(a[0], a[1] - 30) for a, _ in ends], [b for _, b in ends], **how)


@pytest.mark.parametrize("integrator", SCHEMES)
@pytest.mark.parametrize("contacts", [True, False])
@pytest.mark.parametrize(
    ("kind", "points", "speed"),
    [("segments", FLAT, 300), ("boxes", FLAT, 300), ("segments", UP, 200), ("segments", DOWN, 200)],
)
def test_a_runner_is_grounded_in_every_tick(integrator, contacts, kind, points, speed):
    along = np.subtract(points[1], points[0])
    along /= np.linalg.norm(along)
    normal, radius = np.array([-along[1], along[0]]), 10.0
    shapes = floor(kind, points) if contacts else floor(kind, points, radius=radius, restitution=0.0)
    world = kd.Stepper(
        [np.array(points[2]) + radius * normal],
        [speed * along],
        hz=60,
        integrator=integrator,
        forces=[GRAVITY],
        constraints=[kd.Contacts(radius, friction=0.0, shapes=[shapes]) if contacts else shapes],
    )
    for tick in range(60):
        world.step()
        assert world.grounded().tolist() == [True], tick
        if world.integrator.kind != "verlet":  # verlet derives velocities from positions
            world.velocity[0] += (speed - world.velocity[0] @ along) * along
    assert abs((world.position[0] - points[2]) @ normal - radius) < 0.02


def test_a_jump_leaves_the_ground(Stepper):
    floor = kd.Segments([[(-100, 0), (100, 0)]])
    world = Stepper([[0.0, 10.0]], hz=60, forces=[GRAVITY], constraints=[kd.Contacts(10.0, shapes=[floor])])
    world.step()
    assert world.grounded().tolist() == [True]
    world.velocity[0] = (0, 300)
    seen = []
    for _ in range(50):
        world.step()
        seen.append(bool(world.grounded()[0]))
    assert seen == sorted(seen)
    assert 35 <= seen.index(True) <= 42


def test_steep_slopes_ceilings_and_walls_are_no_ground(Stepper):
    """A ball in contact with a plane of each direction is grounded where the slope is not too steep."""
    angles = np.deg2rad([0, 44, 46, 90, 136, 180, 314, 316])
    for angle in angles:
        normal = np.array([np.sin(angle), np.cos(angle)])
        world = Stepper([2 * normal], constraints=[kd.Plane(normal, 0.0, radius=2.0)])
        contact = world.touching()
        assert len(contact) == 1
        assert np.allclose(contact["normal"], -normal)
        assert np.allclose(contact["point"], 0)
        assert world.grounded()[0] == (np.cos(angle) >= 0.7)
        assert world.grounded(slope=0.5)[0] == (np.cos(angle) >= 0.5)
        assert world.grounded(up=3 * normal).tolist() == [True]
        assert world.grounded(up=-normal, slope=0).tolist() == [False]


def test_a_lift_that_is_moved_carries(Stepper):
    lift = kd.Boxes([(-40, -10)], [(40, 0)])
    world = Stepper([[0.0, 10.0]], hz=60, forces=[GRAVITY], constraints=[kd.Contacts(10.0, shapes=[lift])])
    contacts = world.constraints[0]
    for tick in range(40):
        y = 0.5 * min(tick + 1, 20)
        world.set(contacts, shapes=[kd.Boxes([(-40, y - 10)], [(40, y)])])
        world.step()
        assert world.grounded().tolist() == [True], tick


def test_a_pile_says_what_it_presses_on(Stepper):
    floor = kd.Boxes([(-50, -1), (50, -1)], [(50, 0), (90, 0)])
    contacts = kd.Contacts(1.0, walls=[kd.Plane((1, 0), -20.0)], shapes=[kd.Segments([[(60, 0), (70, 0)]]), floor])
    world = Stepper(
        [[0.0, 1.0], [0.0, 3.0], [0.0, 5.0], [9.0, 50.0]],
        mass=[1.0, 2.0, 3.0, 1.0],
        hz=60,
        forces=[kd.Gravity((0, -10))],
        constraints=[contacts],
    )
    world.step(60)
    found = world.touching()
    assert found[["slot_a", "slot_b", "shape"]].tolist() == [(0, -3, 0), (0, 1, -1), (1, 2, -1)]
    assert found["a"].tolist() == [1 << 32, 1 << 32, 1 << 32 | 1]
    assert found["b"].tolist()[0] == -3
    assert np.allclose(found["impulse"], np.array([6, 5, 3]) * 10 / 60, rtol=1e-3)
    assert np.allclose(found["normal"], [(0, -1), (0, 1), (0, 1)], atol=1e-6)
    assert np.allclose(found["point"], [(0, 0), (0, 2), (0, 4)], atol=0.02)
    assert world.grounded().tolist() == [True, True, True, False]
    saved = world.snapshot()
    world.step(3)
    world.restore(saved)
    assert world.touching().tobytes() == found.tobytes()
    world.kill([1])
    assert world.touching()[["slot_a", "slot_b"]].tolist() == [(0, -3)]
    assert world.grounded().tolist() == [True, False, False, False]


@pytest.mark.parametrize("events", [None, kd.Events(), kd.Events(begin=False, end=False)])
def test_events_make_no_difference(Stepper, events):
    world = Stepper(
        [[0.0, 0.5], [1.0, 0.5], [5.0, 5.0]], constraints=[kd.ElasticCollisions(0.5), kd.Plane((0, 1), 0, radius=0.5)],
        events=events,
    )  # fmt: skip
    found = world.touching()
    assert found[["source", "slot_a", "slot_b"]].tolist() == [(0, 0, 1), (1, 0, -1), (1, 1, -1)]
    assert np.isnan(found["impulse"]).all()
    assert found["shape"].tolist() == [-1, 0, 0]
    assert world.grounded().tolist() == [True, True, False]


def test_filters_and_sensors(Stepper):
    hits = kd.ElasticCollisions(1.0, category=[1, 2, 1, 1], mask=[1, 3, 3, 3], sensor=[False, False, False, True])
    shelf = kd.Boxes([(-9, -1)], [(99, 0)], radius=1.0, category=[1, 2, 1, 1], mask=1)
    world = Stepper([[0.0, 1.0], [1.9, 1.0], [3.8, 1.0], [3.8, 2.5]], constraints=[hits, shelf])
    assert world.touching()[["source", "slot_a", "slot_b"]].tolist() == [(0, 1, 2), (0, 2, 3), (1, 0, -1), (1, 2, -1)]
    assert world.grounded().tolist() == [True, False, True, False]  # sensors neither carry bodies nor are carried


def test_pairs_touch_across_the_sides(Stepper):
    world = Stepper([[0.25, 5.0], [9.75, 5.0]], constraints=[kd.ElasticCollisions(0.25), kd.Periodic(0, 10)])
    (contact,) = world.touching()
    assert contact["normal"].tolist() == [-1, 0]
    assert contact["point"].tolist() == [0, 5]


def test_wrong_arguments(Stepper):
    world = Stepper([[0.0, 0.0]])
    for wrong in ({"up": (0, 0)}, {"up": (0, 1, 0)}, {"up": (np.inf, 0)}, {"slope": -0.1}, {"slope": 1.5}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
            world.grounded(**wrong)
    assert world.grounded().tolist() == [False]
    assert len(world.touching()) == 0


def test_a_body_in_contact_with_many_shapes(Stepper):
    low = np.stack([np.linspace(-1, 1, 150), np.zeros(150)], axis=1)
    world = Stepper([[0.0, 0.5]], constraints=[kd.Contacts(2.0, shapes=[kd.Boxes(low, low + 0.01)])])
    assert world.touching()["shape"].tolist() == [*range(149, -1, -1)]


def test_changes_are_seen_at_once(Stepper):
    """Queries cache coefficients per plan; each change must show in the next query."""
    rods, shelf = kd.ElasticCollisions(1.0), kd.Boxes([(-9, -1)], [(99, 0)], radius=1.0)
    world = Stepper([[0.0, 1.0], [1.9, 1.0], [9.0, 5.0]], constraints=[rods, shelf], alive=3)
    assert world.touching()["slot_b"].tolist() == [1, -1, -1]
    world.set(rods, radius=0.5)
    assert world.touching()["slot_b"].tolist() == [-1, -1]
    world.set(shelf, enabled=False)
    assert world.touching()["slot_b"].tolist() == []
    world.set(rods, radius=np.array([1.0, 1.0, 9.0]))
    assert world.touching()[["slot_a", "slot_b"]].tolist() == [(0, 1), (0, 2), (1, 2)]
    world.kill([1])
    assert world.touching()[["slot_a", "slot_b"]].tolist() == [(0, 2)]
    world.shift((100.0, 0.0))
    assert world.touching()[["slot_a", "slot_b"]].tolist() == [(0, 2)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["plane", "plane in contacts", "boxes", "boxes in contacts"])
def test_a_body_above_the_ground_does_not_touch_it_far_from_the_origin(Stepper, kind, dtype):
    """The contact tolerance is 1/1024 of the radius plus a few rounding errors, which is far below a pixel."""
    radius, place = 4.0, 4000.0
    if kind.startswith("plane"):
        ground = kd.Plane((0, 1), place, restitution=0.0, radius=radius)
    else:
        ground = kd.Boxes([(place - 99, place - 50)], [(place + 99, place)], restitution=0.0, radius=radius)
    if "in contacts" in kind:
        ground = kd.Contacts(radius, friction=0.0, **{"walls" if kind.startswith("plane") else "shapes": [ground]})
    world = Stepper(
        np.array([[place, place + radius]], dtype), hz=60, forces=[GRAVITY], constraints=[ground], events=kd.Events(),
    )  # fmt: skip
    for _ in range(30):
        world.step()
        assert world.grounded().tolist() == [True]
    events = world.events.take()
    assert (events["kind"] == kd.END).sum() == 0
    world.velocity[0, 1] = 60.0  # a hop of 2 px
    for _ in range(6):
        world.step()
        assert world.grounded().tolist() == [False]
    ended = world.events.take()
    assert (ended["kind"] == kd.END).tolist() == [True]
    assert ended["time"][0] == pytest.approx(30 / 60)


def test_few_large_bodies_do_not_make_all_cells_large(Stepper, monkeypatch):
    """Cells sized for one planet among 10,000 pebbles would contain nearly all pairs, and take 100 times as long."""
    widths, grid = [], kd.neighbours.grid
    monkeypatch.setattr(kd.neighbours, "grid", lambda *given: widths.append(given[3]) or grid(*given))
    rng = np.random.default_rng(8)
    position, radius, alive = rng.uniform(0, 30, (200, 2)), rng.uniform(0.1, 0.3, 200), rng.random(200) < 0.9
    radius[[3, 70, 71]], alive[[3, 70, 71]] = (9, 5, 7), (True, True, False)
    world = Stepper(position, constraints=[kd.ElasticCollisions(radius)], alive=alive)
    found = world.touching()
    gap = np.linalg.norm(position[:, None] - position, axis=-1) - np.add.outer(radius, radius)
    i, j = np.nonzero(np.triu(gap < 0, 1) & alive & alive[:, None])
    assert (found["slot_a"].tolist(), found["slot_b"].tolist()) == (i.tolist(), j.tolist())
    assert len(i) > 60
    there = world.overlap(position[:20], radius=0.1)
    away = np.linalg.norm(position[:20, None] - position, axis=-1) - radius
    i, j = np.nonzero((away <= 0.1) & alive)
    assert (there["query"].tolist(), there["slot"].tolist()) == (i.tolist(), j.tolist())
    assert all(0.3 < width < 0.7 for width in widths)


def test_who_is_much_larger():
    """At most 16 bodies are much larger: more than four times as large as the rest, of more than 128 bodies."""
    sizes = np.full(129, 0.5)
    for large, found in ((2.0, 0), (2.0000001, 1)):
        sizes[5] = large
        assert len(much_larger(sizes)) == found
    assert len(much_larger(sizes[:128])) == 0
    for count, found in ((16, 16), (17, 0)):
        assert len(much_larger(np.where(np.arange(129) < count, 3.0, 0.5))) == found
