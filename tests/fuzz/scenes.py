"""Subjects of fuzzing: random steppers of few bodies from tests/plans.py, with callbacks, clocks and flows."""

import functools

import numpy as np
from draws import Draws
from plans import (
    held_scene,
    level_scene,
    resting_around_scene,
    rolling_scene,
    running_scene,
    scene,
    spun,
    told_resting_scene,
    told_scene,
    wrapped_scene,
)

import kickdrift as kd

DTYPES = (np.float32, np.float64)
ODE_INTEGRATORS = ("explicit_euler", "implicit_euler", "midpoint", "heun", "rk4")
STEPS = (1 / 60, 0.1, 1 / 144, 1 / 100, 0.025)


# User callbacks at module level, so that they can be pickled; + - * only.


def swell(t, position, velocity, out):
    out[...] = 0.25 * t - position


def brake(t, position, velocity, out):
    out[...] = -0.5 * velocity
    out[:, 0] += 0.125


def decay(t, y, out):
    with np.errstate(all="ignore"):  # the reference suppresses warnings anyway
        out[...] = 0.5 * t - y


def coupled(t, y, out):
    with np.errstate(all="ignore"):  # the reference suppresses warnings anyway
        out[...] = 0.5 * y[:, ::-1] - y * y * y


def decay_jacobian(t, y, out):
    for j in range(y.shape[1]):
        out[:, j, j] = -1.0


def nothing(position):
    return np.zeros(len(position))


FUNCTIONS = [
    lambda: kd.Force(swell, velocity_dependent=False, potential=nothing),
    lambda: kd.Acceleration(brake, potential=nothing),
]


def running(make):
    """Return a function that draws a scene with conveyor belts, and with one-way or moving walls and shapes."""
    return lambda rng, n: running_scene(rng, make=make, n=n)


def rolling(rng, n):
    return rolling_scene(rng, make=told_resting_scene, n=n)


#: Scenes of several bodies.
SEVERAL = (
    *(scene, held_scene, told_scene, told_resting_scene, wrapped_scene, level_scene, resting_around_scene, rolling),
    *map(running, (held_scene, told_scene, level_scene, resting_around_scene)),
)


def bodies(seed, sizes=(1, 2, 3, 5, 8)):
    """Draw a random scene with any integrator, forces, constraints, events, slots, layout and dtype."""
    rng = Draws(seed)
    n = int(rng.choice(sizes))
    drawn = (SEVERAL[rng.integers(len(SEVERAL))] if n > 1 else scene)(rng, n=n)
    forces = drawn.arguments["forces"]
    if not isinstance(drawn.arguments["integrator"], (kd.EnergyEuler, kd.Exact)):
        if rng.integers(3) == 0:
            forces.append(FUNCTIONS[rng.integers(len(FUNCTIONS))]())
        if rng.integers(4) == 0:
            forces.append(kd.Expression(x="where(x < 0, k*sin(t), tanh(k - vx))", k=rng.normal(size=n)))
        if rng.integers(4) == 0:
            forces.append(kd.AppliedForce(rng.normal(size=drawn.position.shape).astype(drawn.position.dtype)))
    if rng.integers(3) == 0:
        drawn.arguments["alive"] = rng.random(n) < 0.7
    if drawn.position.shape[1] > 1 and "angular_velocity" not in drawn.arguments and rng.integers(4) == 0:
        spun(rng, drawn)
    if rng.integers(5) == 0:  # on a lattice bodies coincide, and differences are zeros of both signs
        for array in (drawn.position, drawn.velocity):
            array[...] = np.round(2 * array) / 2
    return drawn


def clock_settings(rng):
    return {
        "hz": rng.choice([30, 50, 60, 100, "60000/1001"]),
        "policy": rng.choice(["exact", "exact", "match", "locked(2)", "variable(0.05)"]),
        "overload": rng.choice(["drop", "backlog(5)", "resync", "raise"]),
        "max_steps": rng.choice([2, 4, 8]),
        "substeps": rng.choice([1, 1, 3]),
        "scale": rng.choice([1.0, 1.0, 0.3, 1.7]),
        "carry": rng.random() < 0.8,
    }


def twin_of(module, drawn, clock=None):
    """Create the scene's stepper from `kickdrift` or `kickdrift.reference`, with a clock of these settings."""
    if clock is None:
        return drawn.make(module.Stepper)
    return drawn.make(module.Stepper, dt=None, clock=module.FixedClock(**clock))


@functools.cache
def flows():
    return sorted(kd.flows.Flow.__subclasses__(), key=lambda cls: cls.__name__)


def equations(seed):
    """Return a function that creates an ODEStepper of a given class, always with the same numbers."""
    rng = Draws(seed)
    flow = rng.integers(2)
    rhs = flows()[rng.integers(len(flows()))]() if flow else (decay, coupled)[rng.integers(2)]
    dim = rhs.dim if flow else int(rng.integers(1, 5))
    y = (rng.normal(size=(int(rng.integers(1, 6)), dim)) * 0.5).astype(DTYPES[rng.integers(2)])
    arguments = {
        "dt": float(rng.choice([1 / 60, 0.01, 0.05])),
        "integrator": ODE_INTEGRATORS[rng.integers(5)],
        "jacobian": decay_jacobian if rhs is decay and rng.integers(2) else None,
    }
    order = "CF"[rng.integers(2)]
    return lambda cls: cls(np.array(y, order=order), rhs, **arguments)
