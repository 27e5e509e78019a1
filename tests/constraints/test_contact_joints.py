"""Joints of `Contacts` as handles: set, enable, remove, current and snapshots work."""

import copy
import pickle

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state

import kickdrift as kd
from kickdrift import reference
from kickdrift.stepper.model import Plan

both = pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper], ids=["compiled", "reference"])


def bridge(Stepper):
    """Create three bodies in a row with the first pinned, and a stack of two on a floor beside them."""
    rod, rope = kd.Distance([(0, 1)]), kd.Distance([(1, 2)])
    contacts = kd.Contacts(0.1, joints=[rod, rope], walls=[kd.Plane((0, 1), -20.0)])
    position = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [9.0, -19.9], [9.0, -19.7]]
    world = Stepper(position, forces=[kd.Gravity((0, -9.81))], constraints=[kd.Pin(0), contacts])
    return world, contacts, rod, rope


def apart(world, i, j):
    return float(np.linalg.norm(world.position[i] - world.position[j]))


@both
def test_joints_can_be_set_disabled_and_removed(Stepper):
    world, contacts, rod, rope = bridge(Stepper)
    world.step(30)
    world.set(rod, length=1.5)
    assert (world.current(rod).length, world.current(rope).length.tolist()) == (1.5, [1.0])
    assert world.constraints[1].joints == (world.current(rod), world.current(rope))
    world.step(60)
    assert apart(world, 0, 1) == pytest.approx(1.5, abs=0.01)
    assert apart(world, 1, 2) == pytest.approx(1.0, abs=0.01)
    world.enable(rope, False)
    world.step(30)
    assert apart(world, 1, 2) > 1.2
    world.enable(rope)
    world.step(60)
    assert apart(world, 1, 2) == pytest.approx(1.0, abs=0.02)
    world.remove(rod)
    assert world.constraints[1].joints == (world.current(rope),)
    for change in (lambda: world.set(rod, length=2.0), lambda: world.enable(rod), lambda: world.remove(rod)):
        with pytest.raises(ValueError, match=r"declaration: expected one that this stepper has, got Distance, which"):
            change()
    world.set(contacts, friction=0.2)
    assert world.constraints[1].joints == (world.current(rope),)
    with pytest.raises(ValueError, match=r"Contacts\(joints\): expected rods or compliance, got stiffness"):
        world.set(rope, stiffness=0.5)


@both
def test_changed_joints_equal_a_newly_built_world(Stepper):
    world, _contacts, rod, rope = bridge(Stepper)
    world.set(rod, length=0.75)
    world.remove(rope)
    made = Stepper(
        world.position.copy(),
        forces=[kd.Gravity((0, -9.81))],
        constraints=[
            kd.Pin(0),
            kd.Contacts(0.1, joints=[kd.Distance([(0, 1)], 0.75)], walls=[kd.Plane((0, 1), -20.0)]),
        ],
    )
    for each in (world, made):
        each.step(20)
    assert_same_state(world, made)


@both
def test_disabling_a_joint_does_not_disturb_resting_bodies(Stepper):
    """Other contacts keep their accumulated impulses, so resting bodies stay bitwise equal."""
    worlds = [bridge(Stepper), bridge(Stepper)]
    for world, _contacts, _rod, rope in worlds:
        world.step(60)
        if world is worlds[0][0]:
            world.enable(rope, False)
        world.step(10)
    assert_same_bits(worlds[0][0].position[3:], worlds[1][0].position[3:])


@both
def test_snapshots_and_copies_contain_changed_joints(Stepper):
    world, _contacts, rod, rope = bridge(Stepper)
    saved = [world.snapshot()]
    for change in (
        lambda: world.set(rod, length=1.5),
        lambda: world.enable(rope, False),
        lambda: world.remove(rod),
        lambda: world.enable(rope),
    ):
        world.step(3)
        change()
        saved.append(world.snapshot())
    for other in (world, bridge(Stepper)[0], copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        for snapshot in reversed(saved):
            other.restore(snapshot)
            assert other.snapshot() == snapshot
            states = []
            for each in (world, other):
                each.restore(snapshot)
                each.step(5)
                states.append(each.position.copy())
            assert_same_bits(*states)
    world.restore(saved[0])
    assert world.current(rod).length.tolist() == [1.0]


@both
def test_joints_changed_back_to_their_declaration_give_equal_snapshots(Stepper):
    world, _contacts, rod, rope = bridge(Stepper)
    before = world.snapshot()
    world.set(rod, length=2.0)
    world.enable(rope, False)
    world.enable(rope)
    world.set(rod, length=[1.0])
    assert world.snapshot() == before


@both
def test_impulses_that_overflow_are_forgotten(Stepper):
    """If kept, these impulses would act on a repaired body in the next step, and make snapshots invalid."""
    contacts = kd.Contacts(0.1, joints=[kd.Distance([(0, 1)])], walls=[kd.Plane((0, 1), -1.1)])
    position = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, -1.0]])
    world = Stepper(position, mass=10, constraints=[contacts])
    start = position.copy()
    world.velocity[1:] = [[1e308, 0.0], [0.0, -1e308]]
    with pytest.raises(kd.NonFiniteError), np.errstate(all="ignore"):
        world.step()
    position[...], world.velocity[...] = start, 0
    copied = copy.copy(world)
    for each in (world, copied):
        each.step()
        assert (each.position == start).all()
        assert not each.touching()["impulse"].any()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_contacts_that_change_between_births_equal_the_reference(isa, dtype, seed):
    """Changed coefficients of joints, filters and rolling resistance reach the arrays that the kernels read."""
    rng = np.random.default_rng(seed)
    pairs = np.arange(12).reshape(6, 2)
    rods, ropes = kd.Distance(pairs[:3], length=0.5), kd.Distance(pairs[3:], max_length=0.6)
    soft = kd.Distance([(12, 13)], length=0.4, compliance=1e-4)
    walls = [kd.Plane((0, 1), -3.0, mask=2), kd.Box(-4.0, 4.0, sensor=rng.random(16) < 0.5)]
    contacts = kd.Contacts(0.2, friction=0.6, rolling=0.1, category=3, joints=[rods, ropes, soft], walls=walls)
    place = rng.uniform(-2, 2, (16, 2)).astype(dtype)
    how = {"hz": 60, "forces": [kd.Gravity((0, -9.0))], "constraints": [contacts], "alive": 16, "angular_velocity": 0}
    worlds = [stepper(place.copy(), **how) for stepper in (kd.Stepper, kd.reference.Stepper)]
    changes = [
        lambda: (rods, {"length": rng.uniform(0.3, 0.8)}),
        lambda: (rods, {"length": rng.uniform(0.3, 0.8, 3)}),
        lambda: (ropes, {"max_length": rng.uniform(0.3, 0.8)}),
        lambda: (soft, {"compliance": rng.uniform(0, 1e-3), "length": 0.5}),
        lambda: (contacts, {"category": rng.integers(1, 4, 16)}),
        lambda: (contacts, {"sensor": rng.random(16) < 0.2}),
        lambda: (contacts, {"rolling": rng.uniform(0, 0.5)}),
        lambda: (contacts, {"friction": rng.uniform(0, 1), "rolling": 0.0}),
    ]
    for _ in range(14):
        declaration, given = rng.choice(changes)()
        gone = rng.integers(0, 16, 2)
        born = rng.uniform(-2, 2, (2, 2))
        for world in worlds:
            world.set(declaration, **given)
            assert _made_anew(world) == _kept(world)  # equals a newly built plan
            world.step(2)
            world.kill([world.ids[row] for row in set(gone.tolist()) if world.alive[row]])
            world.step()
            world.spawn(born[: 16 - world.count])
        assert_same_state(*worlds)
        assert worlds[0].snapshot() == worlds[1].snapshot()


def _kept(world):
    return {name: (values.dtype.str, values.tobytes()) for name, values in world._plan.contacts.items()}


def _made_anew(world):
    """Return the contact fields of a plan of the same constraints, built without the previous plan."""
    plan = world._plan
    anew = Plan(plan.n, plan.dim, plan.dtype, plan.mass, plan.integrator, plan.forces, plan.constraints)
    return {name: (values.dtype.str, values.tobytes()) for name, values in anew.contacts.items()}
