"""A plan derived from another reuses all that a change does not affect, and equals a plan built from scratch."""

import contextlib
import dataclasses

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import reference
from kickdrift.constraints.broad_phase import MOST_CLASSES, Grid
from kickdrift.engine.serving import between, common_ends
from kickdrift.stepper.model import Plan


def assert_same_plan(changed, anew):
    """Compare all data that plans pass to the kernels."""
    for name in ("records", "interactions", "constraint_records"):
        one, other = getattr(changed, name), getattr(anew, name)
        assert [record.kind for record in one] == [record.kind for record in other]
        for mine, its in zip(one, other, strict=True):
            assert mine.fields.keys() == its.fields.keys()
            for field, values in mine.fields.items():
                np.testing.assert_array_equal(values, its.fields[field], strict=True)
    for name in ("g", "c", "w", "k", "p", "rate", "omega", "spin", "at_rest", "weights"):
        np.testing.assert_array_equal(getattr(changed, name), getattr(anew, name))
    for name in ("drag", "wind", "spring", "damped", "turned", "linked", "velocity_dependent", "periodic"):
        assert getattr(changed, name) == getattr(anew, name)
    assert list(map(id, changed._pins)) == list(map(id, anew._pins))
    assert (changed.contacts is None) == (anew.contacts is None)
    assert changed.fingerprint == anew.fingerprint
    assert [changed.source(each) for each in changed.constraint_records] == [
        anew.source(each) for each in anew.constraint_records
    ]


def draw(rng, contacts):
    """Return a force or constraint of any kind, and a change of it."""
    k = int(rng.integers(0, 24))
    boxes = kd.Boxes([(50.0, 50.0), (1e4, 90.0)], [(60.0, 60.0), (2e4, 95.0)])
    shapes = {"surface_speed": 2.0}, {"enabled": [True, bool(k % 2)]}, {"radius": 0.5}, {"lower": [(40, 40), (80, 80)]}
    kinds = [
        (kd.Gravity((0.0, -9.0)), {"acceleration": (k, 1.0)}),
        (kd.LinearDrag(0.1), {"wind": (k, 0.0)}),
        (kd.FloorFriction(0.5), {"deceleration": k}),
        (kd.Springs([(k, k + 1)], 2.0, 1.0), {"stiffness": k}),
        (kd.Distance([(k, k + 1)], length=2.0), {"length": 1.0 + k}),
        (kd.Distance([(k, k + 2)], length=2.0, direction="after"), {"length": 1.0 + k}),
        (kd.Distance([(k, k + 2)], length=2.0, compliance=0.1), {"compliance": 0.2}),
        (kd.Pin([k]), {"indices": [k + 1]}),
        (kd.Sensor((0, 0), (9, 9)), {"mask": 2}),
        (kd.Periodic((0.0, -np.inf), (1e5, np.inf)), {"upper": (2e5, np.inf)}),
    ]
    if contacts:
        kinds.append((kd.Contacts(0.5, shapes=[boxes], walls=[kd.Plane((0, 1), 0.0)]), {"friction": 0.1 * k}))
    else:
        kinds += [
            (kd.ElasticCollisions(0.5), {"radius": 0.1 + k / 50}),
            (kd.Plane((0.1 * k, 1.0), -100.0), {"friction": 0.01 * k, "surface_speed": float(k % 2)}),
            (boxes, shapes[k % 4]),
        ]
    return kinds[rng.integers(len(kinds))]


@pytest.mark.parametrize("seed", range(12))
def test_changed_plans_equal_plans_made_anew(seed):
    rng = np.random.default_rng(seed)
    position = rng.uniform(0, 40, (30, 2))
    integrator = ["velocity_verlet", "semi_implicit_euler", "verlet"][seed % 3]
    world = kd.Stepper(position, mass=np.where(seed % 2, 2.0, 1.0), hz=100, integrator=integrator)
    known, changes = [], 0
    for _ in range(40):
        what = rng.integers(5)
        with contextlib.suppress(ValueError):  # refused combinations, such as two periodic boxes
            if what < 2 or not known:
                one, change = draw(rng, seed % 4 < 2)
                known.append((world.add(one), change))
            elif what == 2:
                world.remove(known.pop(rng.integers(len(known)))[0])
            elif what == 3:
                world.enable(known[rng.integers(len(known))][0], bool(rng.integers(2)))
            elif rng.random() < 0.3:
                world.set_mass(float(rng.choice([1.0, 2.0, np.inf])), index=int(rng.integers(30)))
            else:
                one, change = known[rng.integers(len(known))]
                world.set(one, **change)
            changes += 1
        plan = world._plan
        anew = Plan(plan.n, plan.dim, plan.dtype, plan.mass, plan.integrator, plan.forces, plan.constraints)
        assert_same_plan(plan, anew)
        assert plan._parts.keys() <= {id(entry.today) for entry in world._entries}
    assert changes > 20


def test_common_ends_do_not_overlap():
    a, b, c = object(), object(), object()
    assert common_ends([a, a], (a,)) == (1, 0)
    assert common_ends((a, b, c), [a, c]) == (1, 1)
    assert common_ends((), [a]) == common_ends([b], [a]) == (0, 0)
    assert common_ends((a, b), (a, b)) == (2, 0)
    assert between((a, b, c), (a, c)) == ((b,), ())
    assert between([a, c], [a, b, b, c]) == ([], [b, b])
    assert common_ends([[]], [[]]) == (0, 0)  # equal, but another object


def test_size_classes_end_with_the_last_one():
    """A size class contains radii down to a quarter of its largest; the last class contains all smaller ones."""
    radius = np.array([4.0**-k for k in range(20)] + [0.0])
    grid = Grid(radius, 2)
    assert len(grid.per_cell) == MOST_CLASSES
    assert grid.size_class.tolist() == [*range(MOST_CLASSES), *[MOST_CLASSES - 1] * (20 - MOST_CLASSES), MOST_CLASSES]
    assert Grid(np.array([1.0, 0.25 + 2**-54, 0.25, 0.2]), 2).size_class.tolist() == [0, 0, 1, 1]
    assert Grid(np.zeros(3), 2).per_cell == []


def test_the_skin_of_shapes_is_that_of_enabled_ones():
    """The distance that points keep from shapes scales with the largest coordinate of the enabled shapes."""
    boxes = kd.Boxes([(0.0, 0.0), (0.0, 0.0)], [(1.0, 1.0), (1e6, 1e6)])
    plan = Plan(1, 2, np.dtype(np.float64), np.ones(1), kd.RK4(), [], [boxes])
    near = boxes.changed({"enabled": [True, False]})
    radius = np.zeros(1)
    assert near.reach(plan, radius) < 1e-3 * boxes.reach(plan, radius)
    assert near.changed({"enabled": True}).reach(plan, radius) == boxes.reach(plan, radius)
    moved = dataclasses.replace(boxes, upper=[(1.0, 1.0), (2.0, 2.0)])
    assert moved.reach(plan, radius) < 1e-3 * boxes.reach(plan, radius)


@pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper], ids=["kernels", "reference"])
def test_no_bodies_change_nothing(Stepper):
    """Setting coefficients or masses of an empty list of bodies leaves them uniform, as declared."""
    balls = kd.ElasticCollisions(1.0)
    world = Stepper(np.zeros((4, 2)), mass=2.0, alive=2, constraints=[balls])
    saved = world.snapshot()
    world.set(balls, radius=3.0, index=[])
    assert world.spawn(np.zeros((0, 2)), radius=3.0, mass=5.0, category=2).size == 0
    assert world.snapshot() == saved
    assert world.current(balls).radius == 1.0
    assert world.mass == 2.0
    world.set(balls, radius=3.0, index=[0, 1])
    assert world.current(balls).radius.tolist() == [3.0, 3.0, 1.0, 1.0]
    world.set(balls, radius=3.0, index=[2, 3])
    assert world.current(balls).radius == 3.0
