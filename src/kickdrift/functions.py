"""YOUR forces: terms that are functions of the user, in Python or in machine code.

They are evaluated for many bodies at once, after the terms of `forces.py`, into an array of zeros
that is then added: divided by the masses or, for accelerations, as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import arguments
from .forces import Term

if TYPE_CHECKING:
    from .plan import Plan


@dataclass(frozen=True, eq=False, init=False)
class Callback(Term):
    """Base of the terms that are Python functions, called once per evaluation for all bodies."""

    function: Callable[..., object]
    velocity_dependent: bool  # type: ignore[misc]
    potential: Callable[..., Any] | None
    divided_by_mass: ClassVar[bool] = False

    def __init__(
        self,
        function: Callable[..., object],
        velocity_dependent: bool = True,
        potential: Callable[..., Any] | None = None,
    ) -> None:
        name = type(self).__name__
        if not callable(function):
            raise TypeError(f"{name}(function): expected a function, got {arguments.show(function)}")
        if not isinstance(velocity_dependent, bool):
            raise TypeError(
                f"{name}(velocity_dependent): expected True or False, got {arguments.show(velocity_dependent)}"
            )
        if potential is not None and not callable(potential):
            raise TypeError(f"{name}(potential): expected a function or None, got {arguments.show(potential)}")
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "velocity_dependent", velocity_dependent)
        object.__setattr__(self, "potential", potential)

    def shifted(self, offset: np.ndarray) -> Term:
        return self  # what its function knows of places is its own affair

    def compile(self, plan: Plan) -> None:
        plan.add_push("python", self, self.divided_by_mass)

    def check_result(self, result: object) -> None:
        """Refuse a function that returns something: what it should have written would be lost."""
        if result is not None:
            raise TypeError(
                f"{type(self).__name__}(function): expected it to write into `out`, as in out[:] = ..., and to return "
                f"None, got {arguments.show(result)}"
            )

    def probe(self, x: np.ndarray, v: np.ndarray) -> None:
        """Refuse a function that says it ignores velocity and does not."""
        if self.velocity_dependent or not len(x):
            return
        x, v = x.copy(), v.copy()
        outs = [np.zeros_like(x), np.zeros_like(x)]
        for out, faster in zip(outs, (v, v + np.arange(1, v.size + 1).reshape(v.shape)), strict=True):
            for array in (x, faster):
                array.flags.writeable = False
            self.check_result(self.function(0.0, x, faster, out))
        if outs[0].tobytes() != outs[1].tobytes():
            raise ValueError(
                f"{type(self).__name__}(velocity_dependent): expected True, since the function gives other values "
                f"for other velocities; integrators then evaluate it where velocities count"
            )

    @property
    def label(self) -> str:
        function = self.function
        name = getattr(function, "__qualname__", type(function).__name__)
        return f"{type(self).__name__} {getattr(function, '__module__', '')}.{name}"

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        if self.potential is None:
            return super().potential_energy(plan, position)
        energy = np.asarray(self.potential(position), dtype=np.float64)
        if energy.shape not in ((), (plan.n,)):
            name = f"{type(self).__name__}(potential)"
            raise ValueError(f"{name}: expected it to return shape ({plan.n},), got {energy.shape}")
        return plan.mobility * energy if self.divided_by_mass else plan.finite_mass * energy


class Force(Callback):
    """A force in N from a Python function, called once per evaluation for all bodies.

    function(t, position, velocity, out): t in s; position in m and velocity in m/s, read-only arrays of
    shape (n, dim); out, of the same shape and dtype and full of zeros, is to be filled with forces.
    It must not keep the arrays: they are used again.
    velocity_dependent=False promises that velocities do not matter, which saves some integrators an
    evaluation; it is probed when a stepper is made.
    potential(position): the energy of each body in J, shape (n,), for `energy()`.

    An exception in the function passes through `step`, which leaves the stepper at the last completed
    tick. Raises TypeError for what is no function, or returns something; ValueError where the probe
    finds out. Bits are as portable as the function is: + - * / and numpy.sqrt are, numpy.exp is not.

    >>> import kickdrift as kd
    >>> def wind(t, position, velocity, out):
    ...     out[:, 0] = 2.0 * t
    >>> leaf = kd.Stepper([[0.0, 0.0]], dt=0.25, forces=[kd.Force(wind, velocity_dependent=False)])
    >>> leaf.step(4)
    >>> leaf.velocity.tolist()
    [[1.0, 0.0]]
    """

    divided_by_mass: ClassVar[bool] = True


class Acceleration(Callback):
    """An acceleration in m/s² from a Python function; as `Force`, but not divided by mass.

    Bodies of infinite mass are not accelerated by it either. potential(position): J/kg. Raises as
    `Force` does.

    >>> import kickdrift as kd
    >>> def down(t, position, velocity, out):
    ...     out[:, 1] = -10
    >>> stone = kd.Stepper([[0.0, 5.0]], dt=0.5, forces=[Acceleration(down, velocity_dependent=False)])
    >>> stone.step(2)
    >>> stone.position.tolist()
    [[0.0, 0.0]]
    """
