"""The lock of a stepper in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Exclusive:
    """Whatever reads or changes the state has the stepper for itself; a second call is refused."""

    _busy = False

    def _exclusively(self, function: Callable[..., Any], *given: Any) -> Any:
        """function(*given), while nobody else may read or change the state."""
        if self._busy:
            raise RuntimeError("this stepper is stepping already: it serves one thread at a time")
        self._busy = True
        try:
            return function(*given)
        finally:
            self._busy = False
