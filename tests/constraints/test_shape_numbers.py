"""Coefficients of many shapes change in a running world: results equal the reference, which has no tree of shapes."""

import numpy as np
import pytest
from plans import assert_same_state, each_isa

import kickdrift as kd

COUNT, BODIES = 40, 12
#: name -> function that draws a change; a list has one value per shape.
CHANGES = {
    "bricks": lambda rng: {"enabled": rng.random(COUNT) < rng.choice([0.02, 0.5, 0.98])},
    "all off": lambda rng: {"enabled": False},
    "all on": lambda rng: {"enabled": True},
    "friction": lambda rng: {"friction": rng.uniform(0, 1)},
    "belt": lambda rng: {"surface_speed": rng.normal()},
    "no belt": lambda rng: {"surface_speed": 0.0},
    "mask": lambda rng: {"mask": rng.integers(0, 4, BODIES)},
    "sensor": lambda rng: {"sensor": rng.random(BODIES) < 0.3},
    "category": lambda rng: {"category": int(rng.integers(1, 4))},
}
BOUNCES = CHANGES | {"restitution": lambda rng: {"restitution": rng.uniform(0, 1)}}
RADII = {"radius": lambda rng: {"radius": rng.uniform(0.1, 0.4)}}


def boxes(rng, **more):
    """Create boxes at random places, some of which overlap."""
    lower = rng.uniform(-6, 6, (COUNT, 2))
    return kd.Boxes(lower, lower + rng.uniform(0.2, 1.2, (COUNT, 2)), **more)


def segments(rng, **more):
    points = rng.uniform(-6, 6, (COUNT, 1, 2)) + rng.uniform(-1, 1, (COUNT, 2, 2))
    return kd.Segments(points, **more)


def elsewhere(rng, shapes, some):
    """Return arguments that move some of the shapes, or all of them."""
    way = rng.normal(0, 2, (COUNT, 2)) * (rng.random((COUNT, 1)) < (0.05 if some else 1))
    if isinstance(shapes, kd.Boxes):
        return {"lower": shapes.lower + way, "upper": shapes.upper + way}
    return {"points": shapes.points + way[:, None]}


def seen(world):
    """What queries find."""
    rng = np.random.default_rng(3)
    hits = world.cast(rng.uniform(-8, 8, (8, 2)), rng.normal(0, 6, (8, 2)), radius=0.1)
    return [hits.tobytes(), world.touching().tobytes(), world.overlap((0.5, 0.5), 2.0).tobytes()]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [boxes, segments])
@pytest.mark.parametrize("resting", [False, True], ids=["alone", "in Contacts"])
def test_a_world_with_changed_shapes_equals_the_reference(monkeypatch, resting, make, dtype, seed):
    rng = np.random.default_rng(seed)
    more = {"radius": 0.2, "restitution": 0.5} if not resting else {}
    thick = {} if make is boxes else {"thickness": 0.1}  # makes the contact distance a rounded sum
    one_way = bool(seed == 1) or ((0.6, 0.8) if seed == 2 else False)
    shapes, other = make(rng, friction=0.3, one_way=one_way, **thick, **more), make(rng, **thick, **more)
    changes = CHANGES if resting else BOUNCES | RADII
    radius = rng.uniform(0.1, 0.3, BODIES)
    constraints = [kd.Contacts(radius, friction=0.5, shapes=[other, shapes])] if resting else [other, shapes]
    position, velocity = rng.uniform(-7, 7, (BODIES, 2)).astype(dtype), rng.normal(0, 3, (BODIES, 2)).astype(dtype)

    def made(stepper):
        forces, events = [kd.Gravity((0, -5))], kd.Events(end=True)
        return stepper(position.copy(), velocity.copy(), hz=60, forces=forces, constraints=constraints, events=events)

    book, ours = made(kd.reference.Stepper), [made(kd.Stepper) for _ in each_isa(monkeypatch)]
    for _ in range(9):
        name = rng.choice([*changes, "some elsewhere", "all elsewhere"])
        if name.endswith("elsewhere") and resting:
            continue  # Contacts refuse shapes that move into bodies
        given = (
            elsewhere(rng, book.current(shapes), name.startswith("some"))
            if name.endswith("elsewhere")
            else changes[name](rng)
        )
        book.set(shapes, **given)
        alone = kd.Stepper(position.copy(), hz=60, forces=book.forces, constraints=book.constraints)
        assert book._plan.fingerprint == alone._plan.fingerprint, name  # equals a newly built plan
        found = seen(book)
        book.step(3)
        events = book.events.take().tobytes()
        for world in ours:
            world.set(shapes, **given)
            assert seen(world) == found, name
            world.step(3)
            assert_same_state(world, book)
            assert world.events.take().tobytes() == events, name
            assert world.snapshot() == book.snapshot()


@pytest.mark.parametrize("resting", [False, True], ids=["alone", "in Contacts"])
def test_a_refused_change_of_shapes_has_no_effect(resting):
    shapes = boxes(np.random.default_rng(1))
    constraints = [kd.Contacts(0.2, shapes=[shapes])] if resting else [shapes]
    world = kd.Stepper(np.zeros((3, 2)), hz=60, constraints=constraints)
    before = world.snapshot()
    for wrong in ({"enabled": [True, False]}, {"friction": [0.1, 0.2]}, {"surface_speed": (1.0, 2.0, 3.0)}):
        with pytest.raises(ValueError, match="expected"):
            world.set(shapes, **wrong)
    assert world.snapshot() == before
    world.set(shapes, enabled=False)
    assert len(world.overlap((0.0, 0.0), 9.0)) == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("compiled", [False, True], ids=["reference", "compiled"])
def test_each_world_has_its_own_numbers_of_shapes(compiled, dtype):
    where, count = kd if compiled else kd.reference, 4
    rng = np.random.default_rng(7)
    shapes = boxes(rng, radius=0.2, friction=0.3, surface_speed=1.0, restitution=0.5, mask=rng.integers(0, 2, BODIES))
    position, forces = rng.uniform(-7, 7, (BODIES, 2)).astype(dtype), [kd.Gravity((0, -5))]

    def made():
        return where.Stepper(position.copy(), hz=60, forces=forces, constraints=[shapes])

    worlds, alone = where.Worlds(made(), count), [made() for _ in range(count)]
    for name, values in {
        "enabled": rng.random((count, COUNT)) < 0.5,
        "surface_speed": rng.normal(size=count),
        "mask": rng.integers(0, 2, (count, BODIES)),
        "friction": rng.random(count),
    }.items():
        worlds.set(shapes, **{name: values})
        worlds.step(9)
        for number, one in enumerate(alone):
            one.set(shapes, **{name: values[number]})
            one.step(9)
            assert np.array_equal(worlds.position[number], one.position), name
            assert np.array_equal(worlds.velocity[number], one.velocity), name
    if compiled:  # all worlds share one tree of shapes
        lower = np.stack([shapes.lower - 0.01 * number for number in range(count)])
        with pytest.raises(ValueError, match="may differ from world to world"):
            worlds.set(shapes, lower=lower)
