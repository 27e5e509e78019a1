"""Random changes of forces, constraints and coefficients, applied equally to a stepper and its reference."""

import random

import numpy as np

import kickdrift as kd


def declarations(stepper):
    """Return the forces and constraints, and the shapes of `Contacts`."""
    found = [*stepper.forces, *stepper.constraints]
    return found + [shape for one in found if isinstance(one, kd.Contacts) for shape in one.shapes]


def set_a_coefficient(stepper, seed):
    """Scale a number or invert a flag of one declaration, for all bodies or for one."""
    rng, found = random.Random(seed), declarations(stepper)
    if not found:
        return
    one = rng.choice(found)
    values = {name: getattr(one, name) for name in one.coefficients}
    values = {
        name: value for name, value in values.items() if isinstance(value, np.ndarray) and value.dtype.kind in "bf"
    }
    if not values:
        return
    name, value = rng.choice([*values.items()])
    value = np.logical_xor(value, rng.random() < 0.5) if value.dtype.kind == "b" else value * rng.choice([0, 0.5, 1.25])
    index = rng.randrange(stepper.n) if value.ndim == 0 and rng.random() < 0.3 else None
    stepper.set(one, index=index, **{name: value})


def enable_or_remove(stepper, seed):
    """Remove a force or constraint, or disable one for a step."""
    rng, found = random.Random(seed), [*stepper.forces, *stepper.constraints]
    if not found:
        return
    one = rng.choice(found)
    if rng.random() < 0.3:
        stepper.remove(one)
        return
    handle = stepper.current(one)
    stepper.enable(handle, False)
    try:
        stepper.step()
    finally:
        stepper.enable(handle)


def add(stepper, seed):
    rng = random.Random(seed)
    reach = rng.uniform(0.5, 3)
    stepper.add(
        rng.choice(
            [
                kd.QuadraticDrag(rng.random()),
                kd.LinearDrag(rng.random()),
                kd.Box(-reach, reach, rng.random(), radius=0.1, sensor=True),
                kd.Sensor([-reach] * stepper.dim, [reach] * stepper.dim),
            ]
        )
    )


def set_mass(stepper, seed):
    rng = random.Random(seed)
    stepper.set_mass(rng.choice([0.5, 2.0, np.inf]), rng.randrange(stepper.n))


CHANGES = (set_a_coefficient, set_a_coefficient, enable_or_remove, add, set_mass)
