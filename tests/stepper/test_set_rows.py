"""`set` for some bodies equals a newly built stepper, also in snapshots, in kernels and reference."""

import dataclasses

import numpy as np
import pytest
import samples
from plans import assert_same_state

import kickdrift as kd
from kickdrift.declaration import Declaration, known
from kickdrift.stepper.model import Plan

RNG = np.random.default_rng(8)
POSITION, VELOCITY = RNG.uniform(1, 9, (6, 2)), RNG.normal(0, 3, (6, 2))
#: name -> (a declaration, coefficients for rows 1 and 4, {vector-valued coefficient: number of components}).
CASES = {
    "acceleration": (kd.Gravity((0, -9.0)), {"acceleration": [[1, 2], [3, 4]]}, {"acceleration": 2}),
    "wind of nothing": (kd.LinearDrag(0.5), {"wind": (3, 4)}, {"wind": 2}),
    "drag of each": (kd.LinearDrag(np.arange(6) / 8), {"coefficient": 2.0, "wind": (1, 1)}, {"wind": 2}),
    "springs": (kd.AnchorSpring(2.0, anchor=(5, 5)), {"stiffness": [4, 8], "anchor": [[1, 1], [8, 8]]}, {"anchor": 2}),
    "damping": (kd.Damping(0.5), {"rate": [1, 2]}, {}),
    "radius": (kd.ElasticCollisions(0.3), {"radius": [0.4, 0.2], "sensor": [True, False]}, {}),
    "filters": (kd.Box(0, 10, radius=0.2), {"category": 2**40, "mask": [3, 2**40]}, {}),
    "formula": (kd.Expression(x="-k*x", y="-k*y", k=2.0), {"k": [3.0, 4.0]}, {}),
}


def made(stepper, declaration):
    term = isinstance(declaration, kd.Gravity.__mro__[-3]) and not isinstance(declaration, (kd.Box, kd.Contacts))
    term = term and not isinstance(declaration, kd.ElasticCollisions)
    kind = {"forces": [declaration]} if term else {"constraints": [declaration]}
    return stepper(POSITION.copy(), VELOCITY.copy(), hz=60, **kind)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stepper", [kd.Stepper, kd.reference.Stepper])
def test_setting_rows_equals_a_newly_built_stepper(stepper, case):
    declaration, coefficients, wide = CASES[case]
    changed = made(stepper, declaration)
    changed.set(declaration, **coefficients, index=[1, 4])
    whole = {}
    for name, value in coefficients.items():
        now = np.asarray(getattr(declaration, name))
        array = np.broadcast_to(now, (6, 2) if name in wide else (6,)).copy()
        array[[1, 4]] = value
        whole[name] = array
    made_so = declaration.changed(whole)
    straight = made(stepper, made_so)
    for world in (changed, straight):
        world.step(20)
    assert_same_state(changed, straight)
    assert not np.array_equal(changed.position, made(stepper, declaration).position)
    saved, other = changed.snapshot(), made(stepper, declaration)
    other.restore(saved)
    for world in (changed, other):
        world.step(5)
    assert other.checksum() == changed.checksum()


@pytest.mark.parametrize("index", [1, slice(1, 2), [1], np.array([1]), np.array([False, True, False])])
def test_set_accepts_the_indices_of_set_mass(index):
    drag = kd.LinearDrag(1.0)
    world = kd.Stepper(np.zeros((3, 2)), forces=[drag])
    world.set(drag, coefficient=5, index=index)
    assert world.current(drag).coefficient.tolist() == [1, 5, 1]
    world.set(drag, coefficient=6, index=world.ids[1:2])
    assert world.current(drag).coefficient.tolist() == [1, 6, 1]


def test_equal_rows_become_a_uniform_coefficient_again():
    drag = kd.LinearDrag(1.0, wind=(1.0, 2.0))
    world = kd.Stepper(np.zeros((3, 2)), forces=[drag])
    first = world.snapshot()
    world.set(drag, coefficient=5, wind=(3, 4), index=1)
    assert world.snapshot() != first
    world.set(drag, coefficient=1, wind=(1, 2), index=1)
    assert world.snapshot() == first


def test_setting_a_row_after_a_shift():
    spring = kd.AnchorSpring(2.0, anchor=(1.0, 2.0))
    world = kd.Stepper(np.zeros((3, 2)), forces=[spring])
    world.shift((10.0, 0.0))
    world.set(spring, anchor=(5.0, 5.0), index=2)
    assert world.current(spring).anchor.tolist() == [[11, 2], [11, 2], [5, 5]]


def test_an_expression_parameter_may_be_called_index():
    formula = kd.Expression(x="-index*x", index=2.0)
    world = kd.Stepper([[1.0]], forces=[formula])
    world.set(formula, index=3.0)
    assert world.current(formula).index == 3


@pytest.mark.parametrize(
    ("coefficients", "error", "message"),
    [
        ({"lower": 1}, TypeError, r"Box\(lower\): expected one that can be set per body \(restitution, "),
        ({"walls": 1}, TypeError, r"expected coefficients \(lower, upper, .*got 'walls'"),
        ({"radius": [1, 2, 3]}, ValueError, r"Box\(radius\): expected a scalar or shape \(2,\)"),
        ({"radius": -1}, ValueError, r"Box\(radius\): expected numbers of at least 0"),
    ],
)
def test_invalid_row_changes_are_refused(coefficients, error, message):
    box = kd.Box(0, 9)
    world = kd.Stepper(np.ones((3, 2)), constraints=[box])
    before = world.snapshot()
    with pytest.raises(error, match=message):
        world.set(box, **coefficients, index=[0, 1])
    with pytest.raises(IndexError):
        world.set(box, radius=1, index=7)
    assert world.snapshot() == before


def test_springs_have_no_coefficients_per_body():
    ring = kd.Springs([(0, 1), (1, 2), (2, 0)], 5.0)
    world = kd.Stepper([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], forces=[ring])
    with pytest.raises(TypeError, match=r"Springs\(stiffness\).*\(none\) with index, set it without: index selects"):
        world.set(ring, stiffness=3, index=1)


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in contacts"])
def test_shapes_are_not_enabled_by_index(inside):
    """Regression: the message read as if `index` could be the number of a shape."""
    tiles = kd.Boxes([(0, 0), (1, 0)], [(1, 1), (2, 1)])
    world = kd.Stepper([[0.0, 9.0]], constraints=[kd.Contacts(0.5, shapes=[tiles])] if inside else [tiles])
    with pytest.raises(TypeError, match="set it without: index selects bodies; enabled is one bool per shape"):
        world.set(tiles, enabled=False, index=0)
    world.set(tiles, enabled=[False, True])
    assert world.overlap([(0.5, 0.5), (1.5, 0.5)])["query"].tolist() == [1]


def test_per_body_coefficients_are_declared_exactly(monkeypatch):
    """The coefficients that a plan reads per body are those declared as per body."""
    asked = {}
    owns = {method: getattr(Declaration, method) for method in ("_scalars", "_vectors")}
    for method in ("_scalars", "_vectors"):

        def spied(self, plan, name, method=method):
            asked.setdefault((type(self).__name__, method), set()).add(name)
            return owns[method](self, plan, name)

        monkeypatch.setattr(Declaration, method, spied)
    given = [declaration for declaration in samples.SAMPLES if declaration.per_body]
    for declaration in given:
        samples.world(kd.Stepper, declaration, integrator="semi_implicit_euler").step()
    fields = {cls: dataclasses.fields(cls) for cls in known(Declaration) if dataclasses.is_dataclass(cls)}
    told = {cls for cls in fields if any(field.metadata.get("per_body") for field in fields[cls])}
    assert told <= {type(declaration) for declaration in given}
    for kind, method in (("number", "_scalars"), ("vector", "_vectors")):
        for declaration in given:
            title = type(declaration).__name__
            names = {name for name, each in declaration.per_body.items() if each == kind}
            assert asked.get((title, method), set()) <= names, f"{title}: {method} is for what is declared per_body"
            assert names - {"category", "mask", "sensor"} <= set(declaration.coefficients), title


LEVEL = [kd.Boxes([(-1, -1), (5, -1)], [(5, 0), (11, 0.5)]), kd.Segments([[(0, 0), (0, 9)]], thickness=0.2)]
TOUCHING = {
    "collisions": [kd.ElasticCollisions(0.4)],
    "swept": [kd.ElasticCollisions(0.0, swept=True, restitution=0.5)],
    "around": [kd.ElasticCollisions(0.4), kd.Periodic(0.0, 10.0)],
    "contacts": [kd.Contacts(0.4, friction=0.3)],
    "level": [kd.Contacts(0.4, shapes=LEVEL, joints=[kd.Distance([(0, 1)], 1.0)])],
    "shapes": [kd.Contacts(0.4, shapes=LEVEL, walls=[kd.Plane((0, 1), 0.0)])],
    "walls": [
        kd.ElasticCollisions(0.4),
        LEVEL[0],
        kd.Plane((0, 1), 0.0, radius=0.4),
        kd.Plane((1, 1), 1.0, friction=0.3),
    ],
}


@pytest.mark.parametrize("kind", TOUCHING)
def test_sizes_and_masses_change_one_by_one(kind, isa):
    """Bindings are reused when bodies change masses or sizes, even for the first or last body of a size class."""
    rng = np.random.default_rng(4)
    start = rng.uniform(0.5, 9.5, (24, 2)), rng.normal(0, 4, (24, 2))
    worlds = [
        cls(*(array.copy() for array in start), mass=2.0, hz=30, constraints=TOUCHING[kind], alive=20)
        for cls in (kd.Stepper, kd.reference.Stepper)
    ]
    touch = TOUCHING[kind][0]
    for turn in range(24):
        row, size, mass = int(rng.integers(20)), float(rng.choice([0.0, 0.02, 0.1, 0.3, 0.7])), float(rng.uniform(1, 9))
        sizes = rng.uniform(0, 0.5, 24)
        what = ["radius", "mass", "spawn", "all", "class", "restitution"][turn % 6]
        for world in worlds:
            if what == "radius":
                world.set(touch, radius=size, index=row)
            elif what == "mass":
                world.set_mass(mass if turn % 4 else np.inf, index=row)
            elif what == "spawn":
                world.kill(row)
                world.spawn((5.0, 5.0), (1.0, 0.0), mass=mass, radius=size, restitution=0.5)
            elif what == "all":
                world.set(touch, radius=size)
            elif what == "class":
                world.set(touch, category=1 + turn % 2, radius=0.3, index=[row])
            else:
                world.set(touch, restitution=0.25, radius=sizes)
            world.step(2)
        assert_same_state(*worlds)
        assert worlds[0].checksum() == worlds[1].checksum()
        plan = worlds[0]._plan
        anew = Plan(plan.n, plan.dim, plan.dtype, plan.mass, plan.integrator, plan.forces, plan.constraints)
        for now, then in zip(plan.constraint_records, anew.constraint_records, strict=True):
            assert now.fields.keys() == then.fields.keys()
            for name, field in now.fields.items():
                np.testing.assert_array_equal(field, then.fields[name], strict=True)


@pytest.mark.parametrize("alive", [None, 450])
@pytest.mark.parametrize("kind", ["collisions", "swept", "around"])
def test_sizes_change_among_many(kind, alive, isa):
    """Grid cells follow the largest body of each size class, and the classes of the living bodies."""
    rng = np.random.default_rng(5)
    touch, *more = TOUCHING[kind]
    touch = dataclasses.replace(touch, radius=np.where(np.arange(500) % 2, 0.7, 0.05))
    start, velocity = rng.uniform(0, 10, (500, 2)), rng.normal(0, 4, (500, 2))
    changed = kd.Stepper(start, velocity, hz=30, constraints=[touch, *more], alive=alive)
    for sizes in ([0.3, 0.2], [0.7, 0.3], [0.05, 0.01], [0.2], [0.0, 0.2], [0.02, 0.5], [2.0, 0.1]):
        rows = rng.permutation(500)[: 500 if len(sizes) == 2 else 200]
        if alive is None:
            whole = changed.current(touch).radius.copy()
            whole[rows] = rng.choice(sizes, len(rows))
            changed.set(touch, radius=whole)
        else:
            changed.set(touch, radius=rng.choice(sizes, len(rows)), index=rows)
            changed.kill(np.flatnonzero(changed.alive)[::40])
            changed.spawn(rng.uniform(0, 10, (5, 2)), radius=sizes[0])
        x, v, living = changed.position.copy(), changed.velocity.copy(), None if alive is None else changed.alive
        anew = kd.Stepper(x, v, hz=30, constraints=changed.constraints, alive=living)
        for world in (changed, anew):
            world.step(3)
        assert_same_state(changed, anew)


@pytest.mark.parametrize("touch", [kd.ElasticCollisions(0.4), kd.Contacts(0.4)], ids=["collisions", "contacts"])
def test_masses_and_the_space_change_at_once(touch):
    """A restored snapshot may change masses and space at once; pairs are then searched in the restored space."""
    rng = np.random.default_rng(6)
    space = kd.Periodic(0.0, 10.0)
    start = rng.uniform(0, 10, (40, 2)), rng.normal(0, 4, (40, 2))
    world, other = (kd.Stepper(*(a.copy() for a in start), hz=30, constraints=[touch, space]) for _ in range(2))
    saved = world.snapshot()
    world.set(space, upper=7.0)
    world.set_mass(rng.uniform(1, 2, 40))
    world.step()
    world.restore(saved)
    for each in (world, other):
        each.step(10)
    assert_same_state(world, other)
