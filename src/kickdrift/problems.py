"""The problems of `compare`, with exact solutions where they are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from .forces.callbacks import Acceleration
from .forces.fields import AnchorSpring, Gravity, PointGravity, QuadraticDrag
from .integrators import EQUATION_INTEGRATORS, INTEGRATORS
from .ode.stepper import ODEStepper
from .stepper.stepper import Stepper

World = Any  # a Stepper or an ODEStepper


@dataclass(frozen=True)
class Problem:
    """A problem: `make` returns a new stepper, and `exact` the positions at a time, if known in closed form."""

    name: str
    text: str
    make: Callable[[Any, Any], World]
    dt: Fraction | float
    time: float
    exact: Callable[[float], Any] | None = None
    known: dict[Any, Any] = field(default_factory=lambda: INTEGRATORS)


def _spring(integrator: Any, dt: Any) -> World:
    return Stepper([[1.0]], dt=dt, integrator=integrator, forces=[AnchorSpring(1.0)])


ECCENTRICITY = 0.5


def _orbit(integrator: Any, dt: Any) -> World:
    near, speed = 1 - ECCENTRICITY, math.sqrt((1 + ECCENTRICITY) / (1 - ECCENTRICITY))
    return Stepper([[near, 0.0]], [[0.0, speed]], dt=dt, integrator=integrator, forces=[PointGravity(1.0)])


def _on_the_ellipse(t: float) -> list[list[float]]:
    """Solve Kepler's equation, E - e sin E = t, by Newton's method."""
    anomaly = t + ECCENTRICITY * math.sin(t)
    for _ in range(50):
        anomaly -= (anomaly - ECCENTRICITY * math.sin(anomaly) - t) / (1 - ECCENTRICITY * math.cos(anomaly))
    return [[math.cos(anomaly) - ECCENTRICITY, math.sqrt(1 - ECCENTRICITY**2) * math.sin(anomaly)]]


RELEASED = math.radians(135)


def _swing(t: float, position: np.ndarray, velocity: np.ndarray, out: np.ndarray) -> None:
    np.negative(np.sin(position), out=out)


def _pendulum(integrator: Any, dt: Any) -> World:
    pull = Acceleration(
        _swing, velocity_dependent=False, potential=lambda x: 1 - np.cos(x[:, 0]), jacobian=_swing_jacobian
    )
    return Stepper([[RELEASED]], dt=dt, integrator=integrator, forces=[pull])


def _swing_jacobian(t: float, x: np.ndarray, v: np.ndarray, dx: np.ndarray, dv: np.ndarray, out: np.ndarray) -> None:
    np.multiply(-np.cos(x), dx, out=out)


def _angle(t: float) -> list[list[float]]:
    """sin(x / 2) = k cn(t) / dn(t) with k = sin(x0 / 2): Abramowitz and Stegun 1964, 16.4."""
    k = math.sin(RELEASED / 2)
    a, b, c = [1.0], math.sqrt(1 - k * k), [k]
    for _ in range(8):  # quadratic convergence
        a, b, c = [*a, (a[-1] + b) / 2], math.sqrt(a[-1] * b), [*c, (a[-1] - b) / 2]
    phi = 2 ** (len(a) - 1) * a[-1] * t
    for big, small in zip(a[:0:-1], c[:0:-1], strict=True):
        phi = (phi + math.asin(small / big * math.sin(phi))) / 2
    return [[2 * math.asin(k * math.cos(phi) / math.sqrt(1 - (k * math.sin(phi)) ** 2))]]


def _throw(integrator: Any, dt: Any) -> World:
    forces = [Gravity((0, -9.81)), QuadraticDrag(0.01)]
    return Stepper([[0.0, 0.0]], [[20.0, 20.0]], mass=0.5, dt=dt, integrator=integrator, forces=forces)


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("spring", "x'' = -x from x = 1", _spring, Fraction(1, 5), 20 * math.pi, lambda t: [[math.cos(t)]]),
        Problem("orbit", "an ellipse of eccentricity 0.5, a year of 2 pi", _orbit, 0.05, 20 * math.pi, _on_the_ellipse),
        Problem("pendulum", "x'' = -sin x from 135 degrees", _pendulum, Fraction(1, 20), 10.0, _angle),
        Problem("throw", "0.5 kg at 20, 20 m/s, drag of 0.01 kg/m", _throw, Fraction(1, 60), 2.0),
    )
}


def problem_of(given: World) -> Problem:
    """Return the problem of stepping this stepper on from where it is; it is copied, and stays as it is."""
    if isinstance(given, ODEStepper):
        y = np.array(given.y)

        def make_equation(integrator: Any, dt: Any) -> World:
            return ODEStepper(y.copy(), given.rhs, dt=dt, integrator=integrator, jacobian=given.jacobian)

        return Problem(
            "ODEStepper", repr(given).strip("<>"), make_equation, given.dt, 600 * given.dt, None, EQUATION_INTEGRATORS
        )
    names = ("position", "velocity", "mass", "angular_velocity", "angle", "orientation", "inertia")
    arrays = {name: None if (array := getattr(given, name)) is None else np.array(array) for name in names}
    alive, forces, constraints = np.array(given.alive), given.forces, given.constraints

    def make(integrator: Any, dt: Any) -> World:
        copies: dict[str, Any] = {name: None if array is None else array.copy() for name, array in arrays.items()}
        return Stepper(
            **copies,
            dt=dt,
            integrator=integrator,
            forces=forces,
            constraints=constraints,
            alive=None if alive.all() else alive,
        )

    return Problem("Stepper", repr(given).strip("<>"), make, given.dt, 600 * given.dt)
