"""The results of `record()`."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np


class Samples:
    """Base of `Trajectory` and `ODETrajectory`: arrays over time; arrays that were not recorded are None."""

    _state: ClassVar[str]  #: the quantity that the repr describes
    time: np.ndarray

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        name, state = f"<kickdrift.{type(self).__name__}: {len(self)} samples", getattr(self, self._state)
        what = "" if state is None else f" of {self._state} {'x'.join(map(str, state.shape[1:]))}, {state.dtype}"
        return f"{name}{what}, {self.time[0]:g} to {self.time[-1]:g} s>" if len(self) else f"{name}{what}>"

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that were recorded, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if value is not None}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all arrays into one file of NumPy's .npz format; an existing file is overwritten.

        The file gets the given name, whatever its ending. Raises OSError if it cannot be written.
        """
        with open(path, "wb") as file:
            np.savez(file, **self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` has written. It may be untrusted: no code in it is run.

        Raises OSError if there is no such file, and ValueError if it is something else.
        """
        names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        with open(path, "rb") as file:
            try:
                with np.load(file, allow_pickle=False) as saved:
                    found = {name: saved[name] for name in saved.files}
            except MemoryError:
                raise
            except Exception as error:  # zipfile and NumPy raise many others for damaged files
                raise ValueError(
                    f"path: expected a file of {cls.__name__}.save, got {os.fspath(path)!r}, "
                    f"which is no archive of arrays"
                ) from error
        lengths = {array.shape[:1] for array in found.values()}
        if not {"time"} <= found.keys() <= names or len(lengths) > 1 or () in lengths:
            known = ", ".join(found) or "nothing"
            raise ValueError(f"path: expected a file of {cls.__name__}.save, got one with {known}")
        return cls(**found)


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Samples):
    """Samples of a run: `time` (k,) in s, `tick` (k,), `position` (k, n, dim) in m, `velocity` (k, n, dim) in m/s.

    With rotation also `angular_velocity` (k, n) or (k, n, 3) in rad/s, and `angle` (k, n) in rad or
    `orientation` (k, n, 4). With `record(energy=True)` also `energy` (k, 2) in J, kinetic and potential. Arrays that
    were not recorded are None. `len()` is the number of samples k.

    >>> import kickdrift as kd
    >>> run = kd.Stepper([[0.0, 0.0]], [[3.0, 4.0]], hz=10).record(20, every=2, energy=True)
    >>> run
    <kickdrift.Trajectory: 11 samples of position 1x2, float64, 0 to 2 s>
    >>> run.energy[0].tolist()
    [12.5, 0.0]
    """

    time: np.ndarray
    position: np.ndarray = None  # type: ignore[assignment]  # None only if `out` leaves it out
    velocity: np.ndarray = None  # type: ignore[assignment]
    tick: np.ndarray = None  # type: ignore[assignment]
    angular_velocity: np.ndarray | None = None
    angle: np.ndarray | None = None
    orientation: np.ndarray | None = None
    energy: np.ndarray | None = None

    _state = "position"


@dataclass(frozen=True, eq=False, repr=False)
class ODETrajectory(Samples):
    """Samples of an ODEStepper's run: `time` (k,), `tick` (k,) and `y` (k, n, dim), in the units of the equation."""

    time: np.ndarray
    y: np.ndarray = None  # type: ignore[assignment]  # None only if `out` leaves it out
    tick: np.ndarray = None  # type: ignore[assignment]

    _state = "y"
