from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

NEAR: np.dtype[Any]

@disjoint_base
class Level:
    index_type: Any
    def __init__(self, stepper: Any) -> None: ...
    def cast(
        self,
        record: int,
        part: int,
        origins: NDArray[Any],
        motions: NDArray[Any],
        reach: float,
        shares: NDArray[Any],
        normals: NDArray[Any],
    ) -> NDArray[Any]: ...
    def near(
        self, record: int, part: int, points: NDArray[Any], reaches: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
