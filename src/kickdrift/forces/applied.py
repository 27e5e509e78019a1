"""Forces read from arrays that the caller writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import validation
from ..declaration import Declaration, declaration
from .base import Term

if TYPE_CHECKING:
    from ..stepper.model import Plan


@declaration()
class AppliedForce(Term):
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

    affine = True
    conservative: ClassVar[bool] = True  # within a step, as `energy_euler` requires

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.force, np.ndarray):
            got = validation.show(self.force)
            raise TypeError(f"AppliedForce(force): expected an array of your own, of shape (n, dim), got {got}")
        array = validation.plain("AppliedForce(force)", self.force)
        if array.ndim != 2:
            raise ValueError(f"AppliedForce(force): expected shape (n, dim), got {array.shape}")
        if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
            raise TypeError(f"AppliedForce(force): expected float32 or float64 in native byte order, got {array.dtype}")
        if not array.flags.writeable or not array.flags.aligned:
            raise ValueError("AppliedForce(force): expected a writable, aligned array, for `restore` to write to")
        if validation.overlaps_itself(array):
            raise ValueError("AppliedForce(force): expected an item of its own for each body, got overlapping ones")
        # A view, because its shape cannot be changed from outside; it also blocks resizing of its base.
        object.__setattr__(self, "_array", array.view())

    def equals(self, other: Declaration) -> bool:
        """Return whether both reference the same array, because the caller writes to that one."""
        if not isinstance(other, AppliedForce):
            return False
        mine, others = self.array.__array_interface__, other.array.__array_interface__
        return all(mine[name] == others[name] for name in ("data", "shape", "strides"))

    def told(self) -> dict[str, Any]:
        """Return nothing: the contents of the array are part of the state."""
        return {}

    @property
    def array(self) -> np.ndarray:
        """The array, with the shape that it had when it was declared."""
        array: np.ndarray = self._array  # type: ignore[attr-defined]
        return array

    def compile(self, plan: Plan) -> None:
        if self.array.dtype != plan.dtype:
            raise TypeError(f"AppliedForce(force): expected {plan.dtype}, as the state is, got {self.array.dtype}")
        if self.array.shape != (plan.n, plan.dim):
            raise ValueError(f"AppliedForce(force): expected shape ({plan.n}, {plan.dim}), got {self.array.shape}")
        plan.add_applied(self.array)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.force,)
