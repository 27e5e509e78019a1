"""Bodies spawned with their own radius, filters, restitution and friction, in all constraints."""

import numpy as np
import pytest

import kickdrift as kd

KIND = {"radius": 0.5, "category": 2, "mask": 5, "sensor": True, "restitution": 0.25, "friction": 0.75}


def level(contacts):
    """Return all constraints with per-body coefficients, and some that `spawn` does not change."""
    walls = [kd.Plane((0, 1), -9.0, mask=6), kd.Box(-10, 10)]
    shapes = [kd.Boxes([(-3, -3)], [(-2, -2)], category=4, mask=7), kd.Segments([[(4, 4), (5, 5)]], friction=0.9)]
    if contacts:
        return [kd.Contacts(1.0, walls=walls, shapes=shapes), kd.Sensor((0, 0), (1, 1), mask=2)]
    return [kd.ElasticCollisions(1.0), *walls, *shapes, kd.Sensor((0, 0), (1, 1), mask=2)]


def world(Stepper, constraints, **more):
    position, velocity = np.zeros((6, 2)), np.zeros((6, 2))
    position[:3] = [(-6, 0), (0, 6), (6, 0)]
    return Stepper(position, velocity, hz=60, forces=[kd.Gravity((0, -9.0))], constraints=constraints, alive=3, **more)


@pytest.mark.parametrize("sensor", [True, False])
@pytest.mark.parametrize("contacts", [True, False])
def test_spawned_is_made_so(Stepper, contacts, sensor):
    """A world whose bodies were spawned with coefficients equals one whose constraints had them from the start."""
    kind = KIND | {"sensor": sensor}
    ours = world(Stepper, level(contacts), events=kd.Events())
    ours.spawn([(-1.0, 1.0), (1.0, 1.0)], (0, 3), **{name: [value, value] for name, value in kind.items()})

    def rows(name, before):
        return [before] * 3 + [kind[name]] * 2 + [before]

    changed = {
        "radius": rows("radius", 1.0),
        "category": rows("category", 1),
        "sensor": rows("sensor", False),
        "restitution": rows("restitution", 0.0 if contacts else 1.0),
        "friction": rows("friction", 0.4 if contacts else 0.0),
        "mask": np.array(rows("mask", 2**64 - 1), np.uint64),
    }
    first, *others = level(contacts)
    made = []
    for own in others:
        each = {
            "category": [4 if isinstance(own, kd.Boxes) else 1] * 3 + [2, 2] + [4 if isinstance(own, kd.Boxes) else 1]
        }
        if not isinstance(own, kd.Sensor):
            each |= {name: rows(name, float(getattr(own, name))) for name in ("radius", "restitution", "friction")}
            each["sensor"] = rows("sensor", False)
        made.append(type(own)(**{name: getattr(own, name) for name in own.coefficients} | each))
    if contacts:
        changed |= {"walls": first.walls, "shapes": first.shapes}
    constraints = [type(first)(**changed), *made]
    book = world(Stepper, constraints, events=kd.Events())
    book.spawn([(-1.0, 1.0), (1.0, 1.0)], (0, 3))
    for _ in range(3):
        for each in (ours, book):
            each.step(40)
        assert ours.position.tobytes() == book.position.tobytes()
        assert ours.events.take().tobytes() == book.events.take().tobytes()


@pytest.mark.parametrize("contacts", [True, False])
def test_going_back(Stepper, contacts):
    ours = world(Stepper, level(contacts))
    ours.step(3)
    saved = ours.snapshot()
    for _ in range(2):
        ids = ours.spawn([(-1.0, 1.0), (1.0, 1.0)], **KIND)
        ours.step(5)
        later = ours.snapshot()
        ours.restore(saved)
        assert ours.snapshot() == saved
        assert np.all(ours.current(ours.constraints[0]).radius == 1.0)
    ours.restore(later)
    assert ours.ids[3:5].tolist() == ids.tolist()
    assert ours.constraints[0].radius.tolist() == [1, 1, 1, 0.5, 0.5, 1]
    other = world(Stepper, level(contacts))
    other.restore(later)
    assert other.checksum() == ours.checksum()


def test_tape_and_rollback(Stepper):
    def inputs(stepper, tick):
        if tick % 4 == 0 and stepper.count < 6:
            stepper.spawn((tick / 4 - 3, 3.0), (0, 5), radius=0.25 + tick / 64, mass=1 + tick, category=1 << (tick % 5))
        if tick % 9 == 8:
            stepper.kill(np.flatnonzero(stepper.alive)[:1])

    ours = world(Stepper, level(False))
    tape, past = kd.Tape(ours), kd.Rollback(ours)
    past.resimulate(30, inputs)
    end = ours.checksum()
    past.rollback(7)
    past.resimulate(30, inputs)
    assert ours.checksum() == end
    tape.stop()
    other = world(Stepper, level(False))
    kd.sync_test(other, 20, inputs=inputs)


def test_what_is_left_out_stays(Stepper):
    hits = kd.ElasticCollisions(1.0)
    ours = world(Stepper, [hits, kd.Box(-9, 9)])
    plan = ours._plan
    ours.spawn((1, 1), radius=1.0, restitution=1.0, friction=0.0, category=1, sensor=False, mask=2**64 - 1)
    # The spawn changed the Box, whose radius was 0, but not the collisions.
    assert ours.constraints[0] is plan.constraints[0]
    ours.spawn((3, 3), radius=2.0)
    assert ours.current(hits).radius.tolist() == [1, 1, 1, 1, 2, 1]
    ours.kill([4])
    ours.spawn((3, 3))
    assert ours.current(hits).radius.tolist() == [1, 1, 1, 1, 2, 1]
    plan = ours._plan
    ours.kill([4])
    ours.spawn((3, 3), radius=2.0)
    assert ours._plan is plan


def test_disabled_constraints_get_it_too(Stepper):
    hits, box = kd.ElasticCollisions(1.0), kd.Box(-9, 9)
    ours = world(Stepper, [hits, box])
    ours.enable(hits, False)
    ours.spawn((1, 1), radius=3.0)
    ours.enable(hits)
    assert ours.current(hits).radius.tolist() == [1, 1, 1, 3, 1, 1]
    ours.remove(box)
    with pytest.raises(ValueError, match="half the width"):
        ours.add(kd.Box(0, 1, radius=2.0))


def test_rows_to_choose_from(Stepper):
    ours = world(Stepper, [kd.ElasticCollisions(1.0)])
    assert ours.slots(ours.spawn((1, 1), rows=slice(4, None))).tolist() == [4]
    assert ours.slots(ours.spawn([(1, 1)], rows=[5, 4, 3, 3], radius=2.0)).tolist() == [3]
    assert ours.constraints[0].radius.tolist() == [1, 1, 1, 2, 1, 1]
    mask = np.arange(6) > 3
    assert ours.slots(ours.spawn((2, 2), 0.0, 3.0, rows=mask)).tolist() == [5]
    saved = ours.snapshot()
    for k, rows in ((1, mask), (2, slice(None)), (1, [])):
        with pytest.raises(kd.CapacityError):
            ours.spawn(np.ones((k, 2)), rows=rows)
    with pytest.raises(IndexError, match="rows: expected"):
        ours.spawn((1, 1), rows=[99])
    assert ours.snapshot() == saved


@pytest.mark.parametrize("more", [{}, {"mass": 2.0}])
@pytest.mark.parametrize(
    ("rows", "taken"),
    [
        (slice(3, 5), [3, 4]),
        (slice(-2, None), [4, 5]),
        (slice(3, None, 2), [3, 5]),
        (slice(None, None, -2), [3, 5]),
        (slice(5, 3), []),
        (slice(9, None), []),
    ],
)
def test_slices_of_rows(Stepper, rows, taken, more):
    ours = world(Stepper, [])
    assert ours.slots(ours.spawn(np.ones((len(taken), 2)), rows=rows, **more)).tolist() == taken
    with pytest.raises(kd.CapacityError):
        ours.spawn((1, 1), rows=rows, **more)


def test_velocities_that_can_be_broadcast(Stepper):
    ours = world(Stepper, [])
    ours.spawn([(1, 1), (2, 2), (3, 3)], [[4.0], [5.0], [6.0]])
    assert ours.velocity[3:].tolist() == [[4, 4], [5, 5], [6, 6]]
    ours.kill([3, 4])
    ours.spawn([(1, 1), (2, 2)], np.float32(7))
    assert ours.velocity[3:].tolist() == [[7, 7], [7, 7], [6, 6]]


def test_wrong_kinds_change_nothing(Stepper):
    ours = world(Stepper, [kd.ElasticCollisions(1.0), kd.Box(-9, 9)])
    saved = ours.snapshot()
    for wrong, text in (
        ({"radius": -1}, r"radius: expected numbers (from|of at least|>=)|radius: "),
        ({"radius": [1, 2, 3]}, r"radius: expected a number or shape \(2,\), one per body, got shape \(3,\)"),
        ({"radius": 9.5}, "Box"),
        ({"restitution": 1.5}, "restitution: "),
        ({"category": -1}, "category: expected ints from 0"),
        ({"mask": 1.5}, "mask: expected ints"),
        ({"sensor": 1}, "sensor: expected True or False"),
        ({"friction": np.nan}, "friction: "),
        ({"rows": "all"}, "rows: expected"),
        ({"position": (np.nan, 0)}, "position: "),
        ({"velocity": (1, 2, 3)}, "velocity: "),
        ({"position": [(0, 0)] * 9}, "free"),
    ):
        with pytest.raises((TypeError, ValueError, IndexError, kd.CapacityError), match=text):
            ours.spawn(**{"position": [(0, 0), (1, 1)], "radius": 0.5, "mass": 3.0} | wrong)
    assert ours.snapshot() == saved
    for name, value in KIND.items():
        with pytest.raises(ValueError, match=f"{name}: expected a constraint that has a {name} per body, got none"):
            world(Stepper, [kd.Pin([0])]).spawn((1, 1), **{name: value})
    with pytest.raises(ValueError, match="mask: expected a constraint"):
        world(Stepper, [kd.Box(-9, 9)]).spawn((1, 1), mask=3)
