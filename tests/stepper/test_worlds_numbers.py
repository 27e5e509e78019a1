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
