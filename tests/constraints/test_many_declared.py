"""Pairs declared one by one are bitwise equal to a single declaration, and are solved in one pass."""

import numpy as np
import pytest
from plans import assert_same_state

import kickdrift as kd
from kickdrift import reference
from kickdrift.stepper.tying import sprung, tied

PAIRS = [(2 * k, 2 * k + 1) for k in range(12)]
APART = pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper], ids=["kernels", "reference"])


def world(Stepper, links, dtype=np.float64, **more):
    rng = np.random.default_rng(3)
    position, velocity = rng.normal(0, 2, (30, 2)).astype(dtype), rng.normal(size=(30, 2)).astype(dtype)
    kind = "forces" if isinstance(links[0], kd.Springs) else "constraints"
    return Stepper(position, velocity, rng.uniform(1, 2, 30), hz=50, **{kind: links}, **more)


RODS = {
    "rods": {},
    "ropes": {"max_length": 0.5},
    "soft": {"compliance": 0.01},
    "jakobsen": {"direction": "after"},
    "coloured": {"order": "coloured"},
    "breaking": {"breaks_at": 30.0},
}


@APART
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "semi_implicit_euler", "verlet"])
@pytest.mark.parametrize("kind", RODS)
def test_rods_apart_are_rods_together(Stepper, dtype, integrator, kind):
    more = {"integrator": integrator, "dtype": dtype, "events": kd.Events()}
    how = {"length": 1.0} | RODS[kind] if kind != "ropes" else RODS[kind]
    together, apart = ([kd.Distance(PAIRS, **how)], [kd.Distance([pair], **how) for pair in PAIRS])
    one, other = world(Stepper, together, **more), world(Stepper, apart, **more)
    assert len(other._plan.constraint_records) == 1
    for _ in range(3):
        one.step(4)
        other.step(4)
        assert_same_state(one, other)
        assert one.load(together[0]).tolist() == [float(other.load(rod)[0]) for rod in apart]
    events = [each.events.take()[["tick", "a", "b"]].tolist() for each in (one, other)]
    assert events[0] == events[1]
    assert bool(events[0]) == (kind == "breaking")


@APART
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "rk4", "implicit_euler"])
def test_springs_apart_are_springs_together(Stepper, damping, integrator):
    """Pairs may share bodies: forces are summed in the order of declaration."""
    pairs = [*PAIRS, (0, 5), (5, 7), (5, 0)]
    one = world(Stepper, [kd.Springs(pairs, 4.0, 1.0, damping)], integrator=integrator)
    other = world(Stepper, [kd.Springs([pair], 4.0, 1.0, damping) for pair in pairs], integrator=integrator)
    assert len(other._plan.interactions) == 1
    for each in (one, other):
        each.step(20)
    assert_same_state(one, other)
    assert one.energy() == pytest.approx(other.energy(), rel=1e-14)


ROD, ROPE, STRUT = {"length": 1.0}, {"length": None, "max_length": 1.0}, {"length": 1.0, "breaks_at": np.inf}


@APART
@pytest.mark.parametrize("x", [0.8, 1.2])
@pytest.mark.parametrize(("before", "after"), [(ROD, ROPE), (ROPE, ROD), (ROD, STRUT), (STRUT, ROD)])
def test_set_may_turn_a_rod_that_is_joined_with_a_rope_into_one(Stepper, before, after, x):
    def links(first):
        position = [[0.0, 0.0], [x, 0.0], [2.0, 0.0]]
        rods = [kd.Distance([(0, 1)], **first), kd.Distance([(1, 2)], max_length=5.0)]
        return Stepper(position, [[0.0, 0.0], [0.1, 0.0], [0.0, 0.0]], hz=60, constraints=rods), rods[0]

    made, _ = links(after)
    changed, rod = links(before)
    names = dict.fromkeys(before) | {"max_length": None, "breaks_at": None} | after
    changed.set(rod, **names)
    for each in (made, changed):
        each.step(3)
    assert_same_state(changed, made)


def test_only_what_is_alike_is_joined():
    springs = [kd.Springs([(0, 1)], 1.0, 1.0), kd.Springs([(2, 3)], 1.0, 1.0, 0.1), kd.Springs([(4, 5)], 1.0, 1.0)]
    assert [len(each.fields["pairs"]) for each in world(kd.Stepper, springs)._plan.interactions] == [3]
    rods = [kd.Distance([(0, 1)]), kd.Distance([(2, 3)], iterations=9), kd.Distance([(4, 5)], compliance=0.1)]
    assert len(world(kd.Stepper, rods)._plan.constraint_records) == 3
    # Rods that share a body use the largest of their iteration counts, and merge with rods of that count.
    rods += [kd.Distance([(5, 6)], compliance=0.1, iterations=9), kd.Distance([(7, 8)], compliance=0.1, iterations=9)]
    assert [len(each.fields["first"]) for each in world(kd.Stepper, rods)._plan.constraint_records] == [1, 1, 3]


@APART
def test_a_rod_without_pairs_is_joined_with_any(Stepper):
    """A declaration without pairs lacks fields of the others, such as limits and generations."""
    none = np.zeros((0, 2), np.int64)
    ropes = [kd.Distance(PAIRS[:2], max_length=1.0, breaks_at=9.0), kd.Distance(none, length=1.0)]
    one, other = world(Stepper, ropes[:1], alive=30), world(Stepper, ropes, alive=30)
    other.add(kd.Distance(none, length=2.0))
    for each in (one, other):
        each.step(10)
    assert_same_state(one, other)


@APART
@pytest.mark.parametrize("kind", ["rods", "springs"])
def test_changed_added_and_removed_one_by_one(Stepper, kind):
    """Plan and steps equal those of a world that is newly built with the same declarations."""

    def link(k, value):
        pair = [(k, k + 1)] if k % 3 else [(k, k + 1), (k + 2, k + 4)]
        return kd.Distance(pair, value) if kind == "rods" else kd.Springs(pair, value, 1.0)

    name = "length" if kind == "rods" else "stiffness"
    links = [link(k, 1.0) for k in (0, 1, 6, 8, 10, 14)]
    changed = world(Stepper, links)
    changed.set(links[2], **{name: 1.5})
    changed.remove(links[1])
    late = changed.add(link(17, 1.25))
    changed.enable(links[4], False)
    changed.set(late, **{name: 0.75})
    changed.enable(links[4])
    changed.set(links[5], **{name: 2.0})
    made = world(Stepper, [links[0], link(6, 1.5), link(8, 1.0), link(10, 1.0), link(14, 2.0), link(17, 0.75)])
    for plans in zip(
        *(each._plan.interactions + each._plan.constraint_records for each in (changed, made)), strict=True
    ):
        fields = [plan.fields for plan in plans]
        assert fields[0].keys() == fields[1].keys()
        for field, values in fields[0].items():
            np.testing.assert_array_equal(values, fields[1][field])
    for each in (changed, made):
        each.step(10)
    assert_same_state(changed, made)


@pytest.mark.parametrize("seed", [5, 29, 133])
@pytest.mark.parametrize("moving", [False, True], ids=["still", "moving"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_of_a_level_apart_are_shapes_together(dtype, moving, seed):
    """All declarations share one tree: contacts and states are bitwise equal to those of a single declaration."""
    lower = np.array([(1.5 * k, -1.0 - 0.25 * (k % 3)) for k in range(40)])
    velocity = np.array([(0.0, 0.5 * (k % 3 - 1)) for k in range(40)])

    def level(some):
        how = {"velocity": velocity[some]} if moving else {}
        return kd.Boxes(lower[some], lower[some] + (1.5, 1.0), friction=0.3, **how)

    worlds = []
    for shapes in ([level(slice(None))], [level(slice(k, k + 1)) for k in range(40)]):
        rng = np.random.default_rng(seed)
        position = rng.uniform((0, 0.5), (60, 9), (80, 2)).astype(dtype)
        velocities = rng.normal(0, 3, (80, 2)).astype(dtype)
        contacts = kd.Contacts(rng.uniform(0.2, 0.6, 80), 0.3, shapes=shapes)
        worlds.append(kd.Stepper(position, velocities, hz=60, forces=[kd.Gravity((0, -9.81))], constraints=[contacts]))
    for _ in range(12):
        for each in worlds:
            each.step(10)
        assert_same_state(*worlds)
        assert len(worlds[0].touching()) == len(worlds[1].touching()) > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_lift_meets_bodies_of_any_tile(dtype, isa):
    """Tiles that a moving shape cannot reach are skipped: this one sweeps past 300 bodies and hits each in turn."""
    worlds = []
    for Stepper in (kd.Stepper, reference.Stepper):
        position = np.stack([np.linspace(0, 299, 300), np.zeros(300)], axis=1).astype(dtype)
        sweeper = kd.Boxes([(-9, -1)], [(-8.6, 1)], velocity=(2000.0, 0.0), radius=0.2, restitution=0.5)
        worlds.append(Stepper(position, np.zeros_like(position), hz=60, constraints=[sweeper], events=kd.Events()))
    for _ in range(4):
        for world in worlds:
            world.step(3)
        assert_same_state(*worlds)
    assert (worlds[0].velocity[:300, 0] > 2000).sum() > 290
    events = [world.events.take() for world in worlds]
    assert events[0].tobytes() == events[1].tobytes()


KINDS = [
    {"length": 1.0}, {"max_length": 2.0}, {"length": 1.0, "breaks_at": 50.0}, {"length": 1.0, "iterations": 3},
    {"length": 1.0, "compliance": 0.02}, {"length": 1.0, "order": "coloured"},
]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_what_is_joined_does_not_depend_on_what_came_before(seed):
    """Plans reuse merged records of the previous plan; all fields must equal those of a plan built from scratch."""
    rng = np.random.default_rng(seed)
    kinds = [KINDS[0]] if seed < 2 else KINDS  # equal kinds reuse most; mixed ones differ in fields

    def link():
        first = int(rng.integers(0, 28))
        pairs = [(first, first + 1)] if rng.random() < 0.7 else [(first, first + 2), (first + 1, first + 2)]
        if seed % 2:
            return kd.Springs(pairs, float(rng.uniform(1, 5)), 1.0, float(rng.integers(0, 2)))
        return kd.Distance(pairs, **kinds[rng.integers(len(kinds))])

    def alike(one, other):
        assert [each.kind for each in one] == [each.kind for each in other]
        for now, then in zip(one, other, strict=True):
            assert list(now.fields) == list(then.fields)
            assert now.members == then.members
            for name, field in now.fields.items():
                np.testing.assert_array_equal(field, then.fields[name], strict=True)

    changed, saved = world(kd.Stepper, [link() for _ in range(5)], alive=28 if seed % 3 else None), []
    for _ in range(40):
        have = [*changed.forces, *changed.constraints]
        one = have[rng.integers(len(have))] if have else None
        what = rng.integers(6)
        if what == 0 and len(have) < 12:
            changed.add(link())
        elif what == 1 and len(have) > 1:
            changed.remove(one)
        elif what == 2 and len(have) > 3:
            changed.enable(one, False)
        elif what == 3:
            changed.set_mass(float(rng.choice([1.0, 2.0, np.inf])), index=int(rng.integers(28)))
        elif what == 4:  # replaces several declarations at once, possibly by as many
            saved.append(changed.snapshot())
            changed.restore(saved[rng.integers(len(saved))])
        elif one is not None:
            name = "stiffness" if seed % 2 else "length" if one.max_length is None else "max_length"
            changed.set(one, **{name: float(rng.uniform(0.5, 2.0))})
        plan = changed._plan
        rods = [part for each in changed.constraints for part in plan._parts[id(each)].constraint_records]
        alike(plan._ties, tied(plan.n, rods, ()))
        parts = [part for each in changed.forces for part in plan._parts[id(each)].interactions]
        alike(plan.interactions, sprung(parts, ()))


@APART
def test_walls_of_corners_change_one_by_one(Stepper):
    """Corners read the coefficients of their walls, which are set, added, removed and filtered one by one."""
    rng = np.random.default_rng(2)
    position, velocity = rng.uniform(0, 1, (40, 3)), rng.normal(0, 4, (40, 3))

    def made(walls, start=None):
        x, v = (position, velocity) if start is None else (start.position, start.velocity)
        forces = [kd.Gravity((-3.0, -9.0, -1.0))]
        return Stepper(x.copy(), v.copy(), rng.uniform(1, 2, 40), hz=50, forces=forces, constraints=walls)

    normals = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.1), (0.0, 0.0, 1.0)]
    walls = [kd.Plane(normal, 0.0, restitution=0.2) for normal in normals]
    level = kd.Boxes([(3.0, 0.0, 0.0)], [(4.0, 1.0, 1.0)])
    changed = made([walls[0], level, *walls[1:]])
    floor = walls[1]
    each = np.linspace(0, 0.8, 40)
    for change in (
        lambda: changed.set(floor, friction=0.5),
        lambda: changed.set(walls[2], friction=each, radius=0.05),
        lambda: changed.set(floor, friction=each, index=np.arange(40)),
        lambda: changed.set(walls[0], offset=0.1),
        lambda: changed.set(floor, category=np.where(np.arange(40) % 3, 1, 2), mask=1),
        lambda: changed.add(kd.Box(-1.0, 4.0, friction=0.3)),
        lambda: changed.remove(walls[0]),
        lambda: changed.set(floor, friction=0.1),
        lambda: changed.enable(level, False),
    ):
        change()
        anew = made(changed.constraints, changed)
        anew.set_mass(changed.mass)
        for one in (changed, anew):
            one.step(5)
        assert_same_state(changed, anew)
    assert len(changed._plan.constraint_records) > 3
