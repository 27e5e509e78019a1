from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

NEAR: np.dtype[Any]

@disjoint_base
class Touches: ...

@disjoint_base
class Level:
    index_type: Any
    def __init__(self, stepper: Any) -> None: ...
    def first_bodies(
        self,
        scene: Any,
        x: NDArray[Any],
        origins: NDArray[Any],
        motions: NDArray[Any],
        reach: float,
        seen: int,
        skip: NDArray[Any] | None,
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def cast(
        self,
        scene: Any,
        x: NDArray[Any],
        origins: NDArray[Any],
        motions: NDArray[Any],
        reach: float,
        seen: int,
        rows: NDArray[Any],
        times: NDArray[Any],
    ) -> NDArray[Any]: ...
    def touching(
        self,
        scene: Any,
        x: NDArray[Any],
        displacement: NDArray[Any],
        pairs: list[Any],
        known: tuple[int, NDArray[Any], NDArray[Any]] | None,
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def near(
        self, record: int, part: int, points: NDArray[Any], reaches: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
