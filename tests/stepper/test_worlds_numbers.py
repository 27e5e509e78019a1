"""Coefficients of many worlds, set for all of them at once or for each."""

import numpy as np
import pytest
from plans import assert_same_bits
from samples import COEFFICIENTS
from samples import world as sample_world

import kickdrift as kd


def entry(stepper):
    """Return the only declaration of a sample's world beside gravity."""
    _, one = (*stepper.forces, *stepper.constraints)
    return one


def compare(worlds, steppers):
    for stepper in steppers:
        stepper.step(5)
    worlds.step(5)
    for i, stepper in enumerate(steppers):
        assert_same_bits(np.ascontiguousarray(worlds.position[i]), stepper.position)
        assert_same_bits(np.ascontiguousarray(worlds.velocity[i]), stepper.velocity)
    sums = [stepper.checksum() for stepper in steppers]
    assert worlds.checksum()[: len(steppers)].tolist() == sums
    assert [worlds[i].checksum() for i in range(len(steppers))] == sums


SPEEDS = {"velocity", "angular_velocity"}  # state of each world, which `set` refuses


@pytest.mark.parametrize(
    ("one", "name", "value"),
    [each for each in COEFFICIENTS if each[1] not in SPEEDS and not isinstance(each[0], kd.Langevin)],  # seeds differ
)
def test_every_coefficient_can_be_set_for_all_worlds(Worlds, one, name, value):
    worlds, alone = Worlds(sample_world(kd.Stepper, one), 2), sample_world(kd.Stepper, one)
    for _ in range(2):
        worlds.set(one, **{name: np.stack([value] * 2) if isinstance(value, list) else value})
    alone.set(entry(alone), **{name: value})
    compare(worlds, [alone])


PAIRS = [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("one", "name", "values"),
    [
        (kd.Springs(PAIRS, 3.0, 1.0, 0.2, per_mass=True), "stiffness", [2.0, 5.0]),
        (kd.Springs(PAIRS, 3.0, 1.0, 0.2, per_mass=True), "stiffness", [(2.0, 3.0), (5.0, 1.0)]),
        (kd.Springs(PAIRS, 3.0, 1.0, 0.2, per_mass=True), "damping", [0.25, 0.5]),
        (kd.Springs(PAIRS, 3.0, 1.0, 0.2, per_mass=True), "rest_length", [0.5, 1.5]),
        (kd.Springs(PAIRS, 3.0, 1.0, 0.2), "per_mass", [False, True]),
        (kd.Expression(x="-k*x", k=[1.0, 2.0, 3.0]), "k", [(1.0, 2.0, 3.0), (5.0, 0.0, -1.0)]),
        (kd.Expression(x="-k*vx*b", y="b*y", k=1.0, b=[1.0, 2.0, 3.0]), "b", [(2.0, 2.0, 2.0), (5.0, 0.0, -1.0)]),
        (kd.Expression(x="-k*vx*b", y="b*y", k=1.0, b=[1.0, 2.0, 3.0]), "k", [2.0, 0.5]),
    ],
)
@pytest.mark.parametrize("integrator", ["velocity_verlet", "implicit_euler"])
def test_coefficients_of_each_world(Worlds, integrator, one, name, values):
    def make():
        return sample_world(kd.Stepper, one, integrator=integrator)

    worlds, steppers = Worlds(make(), 2), [make() for _ in values]
    for _ in range(2):
        worlds.set(one, **{name: np.array(values)})
        for stepper, value in zip(steppers, values, strict=True):
            stepper.set(entry(stepper), **{name: value})
        compare(worlds, steppers)


@pytest.mark.parametrize("integrator", ["velocity_verlet", "rk4", "verlet"])
@pytest.mark.parametrize("rods", [1, 2])
def test_drag_of_each_world_beside_compliant_rods(Worlds, integrator, rods):
    """Compliant rods that pull before the step depend on the drag, but it is no structure: it may differ."""

    def make():
        held = [kd.Distance([(k, k + 1)], length=1.0, compliance=1e-4 * (k + 1)) for k in range(rods)]
        drag = kd.LinearDrag(0.1)
        start = [[0.0, 0.0], [0.0, 1.3], [1.0, 1.3]], [[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]
        return kd.Stepper(*start, hz=50, integrator=integrator, forces=[drag], constraints=held), drag

    (template, drag), drags = make(), np.array([0.5, 0.6, 7.0])
    worlds, steppers = Worlds(template, 3), [make() for _ in drags]
    for given in (drags, drags[::-1], np.repeat(drags[None, ::-1], 3, axis=0) + drags[:, None]):
        worlds.set(drag, coefficient=given)
        for (stepper, own), value in zip(steppers, given, strict=True):
            stepper.set(own, coefficient=value)
        compare(worlds, [stepper for stepper, _ in steppers])
    worlds.kill(np.array([[False, False, True]] * 3))
    for stepper, _ in steppers:
        stepper.kill(2)
    compare(worlds, [stepper for stepper, _ in steppers])


@pytest.mark.parametrize("killed", [False, True])
def test_numbers_that_were_different_become_equal(Worlds, killed):
    """The compiled code has the numbers of the last world in its memory, when all worlds get those of the first."""

    def make():
        spring, rod = kd.Springs([(0, 1), (1, 2)], 2.0), kd.Distance([(2, 3)], length=1.0)
        start = [[0.0, 0.0], [0.0, 1.3], [1.0, 1.3], [2.0, 1.3]], [[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [3.0, 1.0]]
        return kd.Stepper(*start, hz=50, forces=[spring], constraints=[rod]), spring, rod

    (template, spring, rod), steppers = make(), [make() for _ in range(3)]
    worlds = Worlds(template, 3)
    if killed:
        worlds.kill(np.array([[True, False, False, False]] * 3))
        for stepper, *_ in steppers:
            stepper.kill(0)
    for stiffness, lengths in (([2.0, 3.0, 4.0], [1.0, 1.25, 1.5]), ([2.0] * 3, [1.0] * 3)):
        worlds.set(spring, stiffness=np.array(stiffness))
        worlds.set(rod, length=np.array(lengths))
        for (stepper, *own), k, length in zip(steppers, stiffness, lengths, strict=True):
            stepper.set(own[0], stiffness=k)
            stepper.set(own[1], length=length)
        compare(worlds, [stepper for stepper, *_ in steppers])
