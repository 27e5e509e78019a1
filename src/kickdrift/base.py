"""What the compiled stepper and its plain-Python twin share: everything but the arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arguments
from .forces import Term
from .integrators import Integrator, resolve
from .plan import Plan
from .trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class StepperBase:
    """Checks the arguments once, keeps the exact time, and describes the stepper.

    An implementation provides `_bind()`, called once everything is known, `_set_dt(h)`, `step(n)`,
    `restart()`, and the counters `tick` and `force_evaluations`.
    """

    def __init__(
        self,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        mass: ArrayLike = 1.0,
        *,
        dt: float | Fraction = 1 / 60,
        hz: float | Fraction | None = None,
        integrator: str | Integrator | type[Integrator] = "velocity_verlet",
        forces: Iterable[Term] = (),
        constraints: Iterable[Any] = (),
        threads: int = 1,
    ) -> None:
        self._position, self._velocity = arguments.state_arrays(position, velocity)
        n, dim = self._position.shape
        self._threads = arguments.integer("threads", threads, 1)
        self._constraints = tuple(constraints)
        if self._constraints:
            raise TypeError(f"constraints: expected none, got {arguments.show(self._constraints[0])}")
        self._dt, self._exact_dt = arguments.time_step(dt, hz)
        masses = arguments.masses(mass, n)
        self._plan = Plan(n, dim, self._position.dtype, masses, resolve(integrator), forces)
        # Time is origin + (tick - origin_tick) * dt, both exact; the origin moves when dt changes.
        self._origin, self._origin_tick = Fraction(0), 0
        self._bind()
        self._set_dt(self._dt)

    if TYPE_CHECKING:

        @property
        def tick(self) -> int: ...
        @property
        def force_evaluations(self) -> int: ...
        def _bind(self) -> None: ...
        def _set_dt(self, h: float) -> None: ...
        def step(self, n: int = 1) -> None: ...
        def restart(self) -> None: ...

    @property
    def position(self) -> np.ndarray:
        """Positions in m, shape (n, dim): the caller's own array where one was given."""
        return self._position

    @property
    def velocity(self) -> np.ndarray:
        """Velocities in m/s, shape (n, dim): the caller's own array where one was given."""
        return self._velocity

    @property
    def mass(self) -> float | np.ndarray:
        """Masses in kg: a float, or a read-only array of shape (n,) where one per body was given."""
        mass = self._plan.mass
        return float(mass[0]) if self._plan.uniform_mass else mass

    @property
    def n(self) -> int:
        """How many bodies."""
        return self._plan.n

    @property
    def dim(self) -> int:
        """How many dimensions, 1 to 3."""
        return self._plan.dim

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64, in which every step is computed."""
        return self._plan.dtype

    @property
    def integrator(self) -> Integrator:
        """The integrator with its parameters."""
        return self._plan.integrator

    @property
    def forces(self) -> tuple[Term, ...]:
        """The force terms, in the order in which they are summed."""
        return self._plan.forces

    @property
    def constraints(self) -> tuple[Any, ...]:
        """The constraints, in the order in which they are applied."""
        return self._constraints

    @property
    def threads(self) -> int:
        """How many threads share the work of large steps; it changes no bit of the result."""
        return self._threads

    @property
    def dt(self) -> float:
        """Seconds per step; may be set between steps (also to a Fraction), time stays continuous."""
        return self._dt

    @dt.setter
    def dt(self, value: float | Fraction) -> None:
        dt, exact_dt = arguments.time_step(value, None)
        self._set_dt(dt)
        self._origin, self._origin_tick = self._time_exact(), self.tick
        self._dt, self._exact_dt = dt, exact_dt

    def _time_exact(self) -> Fraction:
        return self._origin + (self.tick - self._origin_tick) * self._exact_dt

    @property
    def time(self) -> float:
        """Simulated seconds: tick * dt, rounded once and never a running sum."""
        return float(self._time_exact())

    def energy(self) -> tuple[float, float]:
        """(kinetic, potential) energy of all bodies in J, in float64 whatever the dtype.

        Bodies of infinite mass are left out. Raises ValueError where a term has no potential.

        >>> import kickdrift as kd
        >>> kd.Stepper([[0.0, 2.0]], [[3.0, 0.0]], mass=2, forces=[kd.Gravity((0, -10))]).energy()
        (9.0, 40.0)
        """
        return self._plan.energy(self._position, self._velocity)

    def record(self, steps: int, every: int = 1) -> Trajectory:
        """Run `steps` steps and keep the state now and after each `every` of them.

        >>> import kickdrift as kd
        >>> kd.Stepper([[0.0]], [[2.0]], dt=0.5).record(4, every=2).position.ravel().tolist()
        [0.0, 2.0, 4.0]
        """
        steps = arguments.integer("steps", steps, 0)
        every = arguments.integer("every", every, 1)
        samples = steps // every + 1
        time = np.empty(samples)
        position = np.empty((samples, *self._position.shape), self.dtype)
        velocity = np.empty_like(position)
        for sample in range(samples):
            if sample:
                self.step(every)
            time[sample], position[sample], velocity[sample] = self.time, self._position, self._velocity
        self.step(steps - (samples - 1) * every)
        return Trajectory(time, position, velocity)

    def __repr__(self) -> str:
        terms = ", ".join(type(term).__name__ for term in self.forces)
        return (
            f"<{type(self).__module__}.{type(self).__name__}: {self.n} bodies, dim {self.dim}, {self.dtype}, "
            f"{self.integrator}, dt={self.dt:g}, forces=[{terms}], tick {self.tick}>"
        )
