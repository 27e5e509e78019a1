from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

from .runner import Runner

@disjoint_base
class Become: ...

@disjoint_base
class Core(Runner):
    def step(self, n: int = 1, progress: bool = False) -> None: ...
    def restart(self) -> None: ...
    def spawn(
        self,
        position: ArrayLike,
        velocity: ArrayLike = 0.0,
        mass: ArrayLike | None = None,
        *,
        radius: ArrayLike | None = None,
        category: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        sensor: ArrayLike | None = None,
        restitution: ArrayLike | None = None,
        friction: ArrayLike | None = None,
        rows: Any = None,
        angular_velocity: ArrayLike | None = None,
        angle: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
    ) -> NDArray[np.int64]: ...
    def kill(self, ids: ArrayLike) -> None: ...
    @property
    def force_evaluations(self) -> int: ...
