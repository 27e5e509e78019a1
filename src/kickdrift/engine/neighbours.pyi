from typing import Any

from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class Found: ...

@disjoint_base
class Index:
    def __init__(
        self,
        points: NDArray[Any],
        rows: NDArray[Any] | None,
        radius: float,
        per_cell: float,
        buckets: int,
        step: list[int],
        torus: Any,
        size: NDArray[Any] | None = None,
    ) -> None: ...
    def pairs(self, out: Any) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def of(self, places: NDArray[Any], out: Any) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def cast(
        self,
        origins: NDArray[Any],
        motions: NDArray[Any],
        reach: float,
        out: NDArray[Any],
        shares: NDArray[Any],
        skip: NDArray[Any] | None = None,
    ) -> None: ...

@disjoint_base
class Nearest:
    def __init__(self, points: NDArray[Any], rows: NDArray[Any], torus: Any) -> None: ...
    def nearest(self, places: NDArray[Any], out: NDArray[Any], distances: NDArray[Any]) -> None: ...
