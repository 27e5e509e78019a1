"""Snapshot section of the arrays of `AppliedForce` and `AppliedTorque`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SnapshotError
from ..forces.applied import Applied
from .parts import Part

if TYPE_CHECKING:
    from ..stepper.entries import Entry


def idle_arrays(entries: Iterable[Entry]) -> list[np.ndarray]:
    """Return the arrays of disabled forces and torques, in declared order: they may be enabled again."""
    return [entry.now.array for entry in entries if not entry.enabled and isinstance(entry.now, Applied)]


def _arrays(stepper: Any) -> list[np.ndarray]:
    return [*stepper._plan.applied, *stepper._plan.torques, *idle_arrays(stepper._entries)]


class AppliedForces(Part):
    """Snapshot section of the arrays that users write: active forces, active torques, then the disabled of both."""

    name = "applied"

    def save(self, stepper: Any) -> bytes:
        return b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in _arrays(stepper))

    def absent(self, stepper: Any) -> bool:
        return not _arrays(stepper)

    def most(self, stepper: Any) -> int:
        """Return the size of all registered arrays in bytes: forces that are removed now may be in the snapshot."""
        added = [old.first for origins in stepper.__dict__.get("_added", {}).values() for old in origins]
        return sum(term.array.nbytes for term in (*stepper._handles, *added) if isinstance(term, Applied))

    def parse(self, stepper: Any, data: bytes) -> dict[str, Any]:
        return {"applied": data}  # parsed in `check`, as another section lists the arrays

    def check(self, stepper: Any, saved: Any) -> None:
        data, plan = saved.changes.pop("applied"), saved.changes["plan"]
        arrays = _arrays(stepper)
        if "entries" in plan:
            terms = [entry.now for entry in plan["entries"] if entry.enabled]
            written = [term for term in terms if isinstance(term, Applied)]
            arrays = [term.array for term in sorted(written, key=lambda term: term.turns)]
            arrays += idle_arrays(plan["entries"])
        expected = sum(array.nbytes for array in arrays)
        if len(data) != expected:
            raise SnapshotError(f"snapshot: expected {expected} bytes of applied forces, got {len(data)}")
        place = 0
        for array in arrays:
            values = np.frombuffer(data, array.dtype.newbyteorder("<"), array.size, place).astype(array.dtype)
            saved.changes["writes"].append((array, None, values.reshape(array.shape)))
            place += array.nbytes
