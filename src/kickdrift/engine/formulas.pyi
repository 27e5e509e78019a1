from collections.abc import Callable
from typing import Any

import numpy as np

CODES: dict[str, int]
KINDS: dict[str, int]
LIMITS: dict[str, int]

def apply(name: str, out: np.ndarray, a: np.ndarray, b: np.ndarray | None) -> None: ...
def applied(name: str, general: Callable[..., Any], out: object, a: object, b: object = None) -> Any: ...
