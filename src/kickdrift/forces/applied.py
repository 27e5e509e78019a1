"""Forces and torques read from arrays that the caller writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import validation
from ..declaration import Declaration, declaration
from .base import Term

if TYPE_CHECKING:
    from ..stepper.model import Plan


@declaration()
class Applied(Term):
    """Base of forces and torques in a user's array, the only field of the declaration."""

    affine = True
    conservative: ClassVar[bool] = True  # the force is constant within a step: `energy_euler` accepts it
    turns: ClassVar[bool] = False  #: whether it is a torque
    _field: ClassVar[str]
    _axes: ClassVar[dict[int, str]]  #: accepted shapes by number of axes, for error messages

    def __post_init__(self) -> None:
        super().__post_init__()
        name, given, shapes = self._name, getattr(self, self._field), " or ".join(self._axes.values())
        if not isinstance(given, np.ndarray):
            got = validation.show(given)
            raise TypeError(f"{name}: expected an array of your own, of shape {shapes}, got {got}")
        array = validation.plain(name, given)
        if array.ndim not in self._axes:
            raise ValueError(f"{name}: expected shape {shapes}, got {array.shape}")
        if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
            raise TypeError(f"{name}: expected float32 or float64 in native byte order, got {array.dtype}")
        if not array.flags.writeable or not array.flags.aligned:
            raise ValueError(f"{name}: expected a writable, aligned array, for `restore` to write to")
        if validation.overlaps_itself(array):
            raise ValueError(f"{name}: expected an item of its own for each body, got overlapping ones")
        # A view: callers cannot change its shape, and it blocks resizing of the base array.
        object.__setattr__(self, "_array", array.view())

    @property
    def _name(self) -> str:
        return f"{type(self).__name__}({self._field})"

    def equals(self, other: Declaration) -> bool:
        """Return whether both reference the same array, because the caller may change its contents."""
        if type(other) is not type(self):
            return False
        mine, others = self.array.__array_interface__, other.array.__array_interface__
        return all(mine[name] == others[name] for name in ("data", "shape", "strides"))

    def declared_values(self) -> dict[str, Any]:
        """Return no values: the contents of the array are part of the state."""
        return {}

    @property
    def array(self) -> np.ndarray:
        """The array, with the shape that it had when the force was declared."""
        array: np.ndarray = self._array  # type: ignore[attr-defined]
        return array

    def compile(self, plan: Plan) -> None:
        shape = (plan.n, plan.dim) if not self.turns else (plan.n,) if plan.dim == 2 else (plan.n, 3)
        if self.array.dtype != plan.dtype:
            raise TypeError(f"{self._name}: expected {plan.dtype}, as the state is, got {self.array.dtype}")
        if self.array.shape != shape:
            raise ValueError(f"{self._name}: expected shape {shape}, got {self.array.shape}")
        plan.add_applied(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (getattr(self, self._field),)


@declaration()
class AppliedForce(Applied):
    """A force on each body that is read from your own array: a = F / m, constant within a step.

    force: F in N, an array of shape (n, dim) with the dtype of the state and any strides. The stepper references the
    array, not a copy, and reads it at the start of each step. It never clears it; `force[:] = 0` does. `kill` does not
    clear it either: a body that is spawned into the same slot starts with the old force, unless you write the row when
    you `spawn`.
    Bodies of infinite mass do not move, whatever their force. The array is part of the state: snapshots contain its
    contents, and `restore` writes them back in place. There is no potential.

    Raises TypeError or ValueError for other arrays. Numbers that are not finite raise NonFiniteError after the step.

    >>> import numpy as np, kickdrift as kd
    >>> engine = np.zeros((1, 2))
    >>> ship = kd.Stepper([[0.0, 0.0]], mass=2.0, dt=0.5, forces=[kd.AppliedForce(engine)])
    >>> engine[0] = (4.0, 0.0)
    >>> ship.step()
    >>> ship.velocity.tolist()
    [[1.0, 0.0]]
    """

    force: np.ndarray

    _field = "force"
    _axes: ClassVar[dict[int, str]] = {2: "(n, dim)"}


@declaration()
class AppliedTorque(Applied):
    """A torque on each body that is read from your own array: dw/dt = T / I, constant within a step.

    torque: T in N m, an array of shape (n,) in two dimensions, counter-clockwise where y points up, or of shape (n, 3)
    in three, with the dtype of the state and any strides. The stepper references, reads, saves and restores
    the array as for `AppliedForce`; it never clears it. It changes angular velocities only. Bodies of infinite inertia
    keep theirs.

    Raises TypeError or ValueError for other arrays, and ValueError for a stepper without `angular_velocity`. Numbers
    that are not finite raise NonFiniteError after the step.

    >>> import numpy as np, kickdrift as kd
    >>> motor = np.array([3.0])
    >>> wheel = kd.Stepper(
    ...     [[0.0, 0.0]], dt=0.5, angular_velocity=0.0, inertia=6.0, forces=[kd.AppliedTorque(motor)])
    >>> wheel.step(2)
    >>> wheel.angular_velocity.tolist()
    [0.5]
    """

    torque: np.ndarray

    turns = True
    _field = "torque"
    _axes: ClassVar[dict[int, str]] = {1: "(n,)", 2: "(n, 3)"}
