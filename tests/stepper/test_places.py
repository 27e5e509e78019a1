"""Coordinates of declarations: each is declared as such, moves with `shift`, and is set in shifted coordinates."""

import dataclasses

import numpy as np
import pytest
from samples import POSITION, SAMPLES

import kickdrift as kd
from kickdrift.constraints.base import Constraint
from kickdrift.declaration import declaration
from kickdrift.errors import SnapshotError
from kickdrift.forces.base import Term
from kickdrift.stepper.entries import same

WAY = np.array([0.5, -0.25])

#: Samples with coordinates, and alternative values that can be set on their own.
PLACED = [
    (one, {name: others[name][0] for name in sorted(one.places & others.keys()) if getattr(one, name) is not None})
    for one, others in SAMPLES.items()
    if one.places
]
each = pytest.mark.parametrize(("one", "others"), PLACED, ids=[type(one).__name__ for one, _ in PLACED])


def world_of(cls, *declared, **more):
    forces = [one for one in declared if isinstance(one, Term)]
    held = [one for one in declared if isinstance(one, Constraint)]
    return cls(POSITION, forces=forces, constraints=held, **more)


@each
def test_shifted_changes_exactly_the_declared_coordinates(one, others):
    moved = one.shifted(WAY)
    told = {name for name in one.coefficients if not same(getattr(one, name), getattr(moved, name))}
    assert told - {"normal", "shapes", "walls"} == one.places - {"normal", "shapes", "walls"} - {
        name for name in one.places if getattr(one, name) is None
    }
    assert told <= one.places


def test_coordinate_fields_must_be_declared_as_places():
    with pytest.raises(ImportError, match=r"Buoy\(center\): expected a coordinate, declared with place"):

        @declaration()
        class Buoy(Constraint):
            center: float = 0.0


@each
def test_coordinates_are_set_in_shifted_coordinates(Stepper, one, others):
    world = world_of(Stepper, one)
    world.shift(WAY)
    for name, value in others.items():
        world.set(one, **{name: value})
        assert type(one) is kd.Contacts or np.array_equal(getattr(world.current(one), name), value)
    made_so = world_of(Stepper, dataclasses.replace(world.current(one)))
    assert same(world.current(one), (made_so.forces + made_so.constraints)[0])


@each
def test_a_declaration_added_again_after_a_shift_keeps_its_coordinates(Stepper, one, others):
    world = world_of(Stepper)
    world.remove(world.add(one))
    world.shift(WAY)
    again = dataclasses.replace(one)
    world.add(again)
    assert same(world.current(again), again)


@each
def test_snapshots_with_coordinates_from_another_origin_are_refused(Stepper, one, others):
    here, there = world_of(Stepper), world_of(Stepper)
    here.shift(WAY)
    for world in (here, there):
        world.add(dataclasses.replace(one))
    with pytest.raises(SnapshotError):
        there.restore(here.snapshot())


@each
def test_restore_keeps_set_coordinates(Stepper, one, others):
    world, twin = world_of(Stepper, one), world_of(Stepper, one)
    world.shift(WAY)
    world.set(one, **others)
    saved = world.snapshot()
    twin.restore(saved)
    assert twin.snapshot() == saved
    assert same(twin.current(one), world.current(one))


def test_one_corner_of_a_sensor_can_be_set():
    sensor = kd.Sensor(5.0, 6.0)
    world = world_of(kd.Stepper, sensor)
    world.shift(WAY)
    world.set(sensor, upper=20.0)
    assert (world.current(sensor).lower.tolist(), world.current(sensor).upper.tolist()) == ([5.5, 4.75], [20, 20])
    world.set(sensor, lower=0.0)
    assert (world.current(sensor).lower.tolist(), world.current(sensor).radius) == (0, None)
