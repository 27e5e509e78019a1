"""Move a world to other arrays, possibly with more rows: `rebind` becomes a method of steppers in base.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from .entries import same
from .model import Plan
from .slots import Slots, spawns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .base import StepperBase


def rebind(
    self: StepperBase,
    position: np.ndarray,
    velocity: np.ndarray,
    angular_velocity: ArrayLike | None = None,
    angle: ArrayLike | None = None,
    orientation: ArrayLike | None = None,
) -> None:
    """Move the world to other arrays. Tick, time and clock stay the same.

    position, velocity: arrays of the same dtype and dimension, with any layout. Their contents are the state from
    now on. They have as many rows as before, or more. More rows require that no coefficient or mass is per body:
    `set` or `set_mass` one number for all bodies, rebind, and set per-body values afterwards. Constructor arguments
    must not be per body either. New rows are free if `alive` was given or a body was spawned or removed.

    angular_velocity, angle, orientation: if bodies rotate, as for `Stepper`. Omitted arrays are kept, which requires
    as many rows as before.

    The integrator's history is reset, as after `restart`, unless the values are the same as before. Interpolation
    is always reset. With more rows, earlier snapshots no longer fit. Raises TypeError or ValueError for
    other arrays, RuntimeError during a step; nothing has changed then.

    >>> import numpy as np, kickdrift as kd
    >>> world = kd.Stepper(np.zeros((2, 3)), np.ones((2, 3)), dt=0.5)
    >>> world.step(2)
    >>> position, velocity = np.asfortranarray(world.position), np.asfortranarray(world.velocity)
    >>> world.rebind(position, velocity)
    >>> world.step()
    >>> world.position is position, position[0].tolist(), world.tick
    (True, [1.5, 1.5, 1.5], 3)
    """
    turning = {"angular_velocity": angular_velocity, "angle": angle, "orientation": orientation}
    self._exclusively(_rebind, self, position, velocity, turning)


def _rebind(self: StepperBase, position: Any, velocity: Any, turning: dict[str, Any]) -> None:
    alive = self._slots.alive if self._slots is not None and spawns(self) else None
    given = validation.state_arrays(position, velocity, alive)
    (n, dim), dtype = given[0].shape, given[0].dtype
    if dtype != self.dtype:
        raise TypeError(f"position: expected {self.dtype}, in which this stepper computes, got {dtype}")
    if dim != self.dim:
        raise ValueError(f"position: expected shape (n, {self.dim}), as before, got {given[0].shape}")
    if n < self.n:
        raise ValueError(f"position: expected at least {self.n} bodies, as before, got {n}")
    rotation = self._rebound_rotation(given, turning)
    turned = () if rotation is None else rotation.given
    for name, own in self._user_arrays.items():
        if any(np.shares_memory(array, own) for array in (*given, *turned)):
            names = ", ".join(("position", "velocity", *self._turning_arrays()))
            raise ValueError(f"{names}: share memory with state[{name!r}], expected arrays of their own")
    views = [array.view() for array in given]
    attributes: dict[str, Any] = {"_given": given, "_position": views[0], "_velocity": views[1]}
    plan = self._plan
    if n != self.n:
        attributes["_first_plan"] = _grown(self, self._first_plan, n, declared=True)
        plan = _grown(self, self._plan, n)
        plan.impulses = self._impulses_for(plan)
        plan.rotating, plan.loads = None if rotation is None else rotation.spin, self._plan.loads
        plan.motion = self._motion
        attributes |= {"_plan": plan, "_impulses": plan.impulses}
        attributes["_identity"] = self._described(attributes["_first_plan"])
        attributes["_snapshot_text"] = None
        if self._slots is not None:
            attributes["_slots"] = self._slots.grown(n) if spawns(self) else Slots(n)
    olds = (self._position, self._velocity)
    same_values = all(same(new, old) for new, old in zip(views, olds, strict=True))
    keep = self._started and n == self.n and same_values
    history = None
    if self._history is not None:
        history = np.zeros_like(views[0])
        if keep:
            history[...] = self._history
    attributes |= self._rebound(history)
    if rotation is not None:
        attributes["_rotation"] = rotation
    binding = self._binding(plan, (*views, history))
    resume = (self.tick, keep, self._last_h)
    numbers = self._numbers(binding, self._dt)
    self._commit(binding=binding, numbers=numbers, resume=resume, attributes=attributes)


def _grown(self: StepperBase, plan: Plan, n: int, declared: bool = False) -> Plan:
    """Extend a plan without per-body coefficients to n bodies. declared: True for the plan of the constructor."""
    advice = (
        "a stepper that was made with one number for all bodies can grow, and be set per body afterwards"
        if declared
        else "`set` or `set_mass` one number for all bodies, rebind, and set those of each afterwards, with index="
    )
    if not plan.uniform_mass:
        raise ValueError(f"position: expected {self.n} bodies, as many as there are masses, got {n}; {advice}")
    try:
        return Plan(n, self.dim, self.dtype, plan.mass, plan.integrator, plan.forces, plan.constraints)
    except ValueError as error:
        raise ValueError(f"position: expected {self.n} bodies, as before, got {n}: {error}; {advice}") from error
