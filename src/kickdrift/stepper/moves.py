"""Teleport bodies, and shift the origin of the coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from .changes import shifted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .base import StepperBase


def teleport(
    self: StepperBase,
    index: Any,
    position: ArrayLike,
    *,
    angle: ArrayLike | None = None,
    orientation: ArrayLike | None = None,
) -> None:
    """Move bodies to another position at once. `interpolate` does not blend between the old and the new position.

    index: an int, slice, array of ints or mask of bodies, or ids. position: m, of the shape of
    `stepper.position[index]`. Velocities do not change, including the history of `verlet`. angle, orientation: for
    rotating bodies, one number or quaternion for all bodies, or one each; unchanged if left out. Raises
    IndexError, TypeError or ValueError before anything changes, RuntimeError during a step.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0], [1.0]], [[1.0], [1.0]], dt=0.5)
    >>> world.teleport(1, [100.0])
    >>> world.position.tolist()
    [[0.0], [100.0]]
    """
    self._exclusively(_teleport, self, index, position, angle, orientation)


def _teleport(self: StepperBase, index: Any, position: ArrayLike, angle: Any, orientation: Any) -> None:
    if type(index) is int and index < 2**32 and angle is None and orientation is None:
        try:
            self._move(index, position)
            return
        except (TypeError, ValueError, IndexError, OverflowError):
            pass  # the general code below raises the error
    self._move_rows(index, position, angle, orientation)


def move_rows(self: StepperBase, index: Any, position: ArrayLike, angle: Any = None, orientation: Any = None) -> None:
    if isinstance(index, np.ndarray):
        index = validation.plain("index", index)
    index = self._rows_of(index)
    values = validation.numbers("position", position)
    chosen = validation.rows(index[0] if isinstance(index, tuple) and index else index, self.n)
    rows = np.ravel(chosen)
    if isinstance(index, tuple):  # a tuple may also index components
        rows = validation.distinct(rows)
        moved = self._position.copy()
        components = validation.rows(index, self.n, self.dim)
        moved.ravel()[components] = _fitting(values, components.shape)
        there = moved[rows]
    else:
        there = np.empty((*np.shape(chosen), self.dim), self.dtype)
        there[...] = _fitting(values, there.shape)
        there = there.reshape(-1, self.dim)
    if not np.isfinite(there).all():
        raise ValueError(f"position: expected finite numbers, got {validation.show(position)}")
    writes = [(self._position, rows, there)]
    if self._started and self.integrator.history == "previous position":
        writes.append((self._history, rows, self._history[rows] + (there - self._position[rows])))  # type: ignore[arg-type, index]
    if self._previous is not None:
        writes += [(self._previous[0], rows, there), (self._previous[1], rows, self._velocity[rows])]
    if angle is not None or orientation is not None:
        turning = self._turning_of(len(rows), None, angle, orientation)
        assert turning is not None
        assert self._rotation is not None
        places = [self._rotation.turned, *([] if self._previous is None else self._previous[2:])]
        writes += [(array, rows, turning[1]) for array in places]
    self._commit(writes=writes)


def _fitting(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(f"position: expected shape {shape}, that of position[index], got {values.shape}") from None


def shift(self: StepperBase, offset: ArrayLike) -> None:
    """Move everything by `offset`, in m, of shape (dim,): bodies, anchors and centers (floating origin).

    Afterwards the origin of the coordinates lies at -offset. `interpolate` returns positions in the new coordinates,
    and motion stays smooth. Raises TypeError or ValueError before anything changes.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[1000.0]], forces=[kd.AnchorSpring(1.0, anchor=(1001.0,))])
    >>> world.shift((-1000.0,))
    >>> world.position.tolist(), world.forces[0].anchor.tolist()
    ([[0.0]], [1.0])
    """
    vector = validation.numbers("offset", offset)
    if vector.shape != (self.dim,):
        raise ValueError(f"offset: expected shape ({self.dim},), got {vector.shape}")
    self._exclusively(_shift, self, vector)


def _shift(self: StepperBase, vector: np.ndarray) -> None:
    changes = shifted(self, self._offset + vector)
    arrays = [self._position]
    if self._started and self.integrator.history == "previous position":
        arrays.append(self._history)  # type: ignore[arg-type]
    if self._previous is not None:
        arrays.append(self._previous[0])
    with np.errstate(over="ignore", invalid="ignore"):
        moved = [array + vector.astype(self.dtype) for array in arrays]
    if any((np.isfinite(before) & ~np.isfinite(after)).any() for before, after in zip(arrays, moved, strict=True)):
        raise ValueError(f"offset: expected one that leaves positions finite in {self.dtype}, got {vector.tolist()}")
    writes = [(array, None, after) for array, after in zip(arrays, moved, strict=True)]
    self._commit(writes=writes, numbers=self._numbers(changes["binding"], self._dt), **changes)
