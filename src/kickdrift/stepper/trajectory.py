"""The results of `record()`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Samples of a run: `time` (k,) in s, `position` (k, n, dim) in m, `velocity` (k, n, dim) in m/s.

    With rotation also `angular_velocity` (k, n) or (k, n, 3) in rad/s, and `angle` (k, n) in rad or
    `orientation` (k, n, 4); else these are None.
    """

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray | None = None
    angle: np.ndarray | None = None
    orientation: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, eq=False)
class ODETrajectory:
    """Samples of an ODEStepper's run: `time` (k,) and `y` (k, n, dim), in the units of the equation."""

    time: np.ndarray
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.time)
