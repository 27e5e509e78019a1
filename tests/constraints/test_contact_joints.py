"""Joints of `Contacts` are handles as all others: set, enable, remove, current; and snapshots know."""

import copy
import pickle

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state

import kickdrift as kd
from kickdrift import reference

both = pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper], ids=["compiled", "reference"])


def bridge(Stepper):
    """Three bodies in a row, and a pair that rests on a floor beside them; the first one is pinned."""
    rod, rope = kd.Distance([(0, 1)]), kd.Distance([(1, 2)])
    contacts = kd.Contacts(0.1, joints=[rod, rope], walls=[kd.Plane((0, 1), -20.0)])
    position = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [9.0, -19.9], [9.0, -19.7]]
    world = Stepper(position, forces=[kd.Gravity((0, -9.81))], constraints=[kd.Pin(0), contacts])
    return world, contacts, rod, rope


def apart(world, i, j):
    return float(np.linalg.norm(world.position[i] - world.position[j]))


@both
def test_a_joint_is_set_switched_and_removed(Stepper):
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
def test_a_changed_world_is_one_that_was_made_so(Stepper):
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
def test_what_rests_feels_nothing_of_it(Stepper):
    """To the bit: its impulses go on."""
    worlds = [bridge(Stepper), bridge(Stepper)]
    for world, _contacts, _rod, rope in worlds:
        world.step(60)
        if world is worlds[0][0]:
            world.enable(rope, False)
        world.step(10)
    assert_same_bits(worlds[0][0].position[3:], worlds[1][0].position[3:])


@both
def test_snapshots_and_copies_know(Stepper):
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
def test_what_is_as_declared_again_has_the_same_bytes(Stepper):
    world, _contacts, rod, rope = bridge(Stepper)
    before = world.snapshot()
    world.set(rod, length=2.0)
    world.enable(rope, False)
    world.enable(rope)
    world.set(rod, length=[1.0])
    assert world.snapshot() == before
