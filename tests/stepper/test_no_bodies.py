"""Worlds without bodies: coefficients and masses may be empty arrays per body, and nothing is read from them."""

import copy
import pickle

import numpy as np
import pytest

import kickdrift as kd

NOBODY = np.zeros((0, 2))
TERMS = [
    (kd.PointGravity(1.0, center=NOBODY), {"mu": 2.0}),
    (kd.PointGravity(np.zeros(0), center=(1.0, 0.0)), {"mu": 2.0}),
    (kd.QuadraticDrag(np.zeros(0)), {"wind": (1.0, 2.0)}),
    (kd.Vortex(1.0, center=NOBODY), {"strength": 2.0}),
    (kd.AnchorSpring(1.0, anchor=NOBODY), {"stiffness": 2.0}),
    (kd.Gravity(NOBODY), {"acceleration": (0.0, -1.0)}),
    (kd.LinearDrag(np.zeros(0)), {"wind": (1.0, 2.0)}),
    (kd.Expression(x="a*x", a=np.zeros(0)), {"a": 2.0}),
]


@pytest.mark.parametrize(("term", "other"), TERMS)
def test_set_accepts_coefficients_of_no_bodies(term, other):
    world = kd.Stepper(NOBODY.copy(), forces=[term])
    world.set(term, **other)
    world.step(2)


@pytest.mark.parametrize(("term", "other"), TERMS)
def test_masses_of_no_bodies(Stepper, term, other):
    options = {"mass": np.zeros(0), "forces": [term], "constraints": [kd.Box(-1, 1, friction=np.zeros(0))]}
    world = Stepper(NOBODY.copy(), **options)
    world.set(term, **other)
    world.set_mass(3.0)
    world.step()
    for twin in (copy.copy(world), copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        twin.step()
        assert twin.mass.shape == (0,)
    saved = world.snapshot()
    world.step(2)
    world.restore(saved)
    assert world.snapshot() == saved
    with pytest.raises(ValueError, match="expected 0 bodies, as many as there are masses, got 3"):
        Stepper(NOBODY.copy(), mass=np.zeros(0)).rebind(np.zeros((3, 2)), np.zeros((3, 2)))
