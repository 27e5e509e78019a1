from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from .bodies import Core

_Real = float | Fraction | np.floating[Any] | np.integer[Any]
_Mode = Literal["linear", "hermite", "extrapolate"]
_Out = TypeVar("_Out")

@disjoint_base
class Frames(Core):
    def advance(self, seconds: _Real | None = None) -> int: ...
    @overload
    def interpolate(
        self, alpha: _Real | None = None, out: None = None, mode: _Mode = "linear", living: bool = False
    ) -> NDArray[np.floating[Any]]: ...
    @overload
    def interpolate(
        self, alpha: _Real | None = None, *, out: _Out, mode: _Mode = "linear", living: bool = False
    ) -> _Out: ...
    @overload
    def interpolate(self, alpha: _Real | None, out: _Out, mode: _Mode = "linear", living: bool = False) -> _Out: ...
    def ticks(self, seconds: _Real | None = None) -> Iterator[int]: ...
