"""The lock of a stepper in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..rollback import snapshots
from .checksum import digest


def taped(step: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
    """Wrap `_step` for tapes: while a tape records, run single steps, with its hooks before and after each."""

    @wraps(step)
    def _step(self: Any, n: int) -> None:
        tape = self._tape
        if tape is None:
            step(self, n)
            return
        self._tape = None
        try:
            for _ in range(n):
                tape._before(self)
                try:
                    step(self, 1)
                finally:
                    tape._after(self)
        finally:
            self._tape = tape

    return _step


class Exclusive:
    """Exclusive access to a stepper's state; a concurrent call is rejected."""

    _busy = False
    _tape: Any = None

    def _copies(self) -> bytes:
        return snapshots.copies(self)  # type: ignore[arg-type]

    def _digest(self, values: np.ndarray, place: int) -> int:
        return digest(values, place)

    def _exclusively(self, function: Callable[..., Any], *given: Any) -> Any:
        """Call function(*given) while no other thread may read or change the state."""
        if self._busy:
            raise RuntimeError("this stepper is stepping already: it serves one thread at a time")
        self._busy = True
        try:
            return function(*given)
        finally:
            self._busy = False
