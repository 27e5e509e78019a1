from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .base import StepperBase
from .clock import FixedClock
from .core import Core

_Out = TypeVar("_Out")

class Frames(Core):
    def advance(self, seconds: float) -> int: ...
    @overload
    def interpolate(
        self, alpha: float | None = None, out: None = None, mode: str = "linear"
    ) -> NDArray[np.floating[Any]]: ...
    @overload
    def interpolate(self, alpha: float | None = None, *, out: _Out, mode: str = "linear") -> _Out: ...
    @overload
    def interpolate(self, alpha: float | None, out: _Out, mode: str = "linear") -> _Out: ...

class Stepper(StepperBase, Frames):
    @property
    def clock(self) -> FixedClock: ...
