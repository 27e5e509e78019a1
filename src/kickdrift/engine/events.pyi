from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class EventStore:
    def __init__(self, asked: Any, dim: int) -> None: ...
    def take(self) -> NDArray[np.void]: ...
    @property
    def dropped(self) -> int: ...

@disjoint_base
class Touches:
    def __init__(self, given: Any) -> None: ...
