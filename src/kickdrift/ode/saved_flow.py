"""Snapshot section for a changed flow: parameters that differ from those of the constructor."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import validation
from ..errors import SnapshotError
from ..rollback import parts


class SavedFlow(parts.Part):
    """Snapshot section that undoes `ODEStepper.set`, as JSON: hexadecimal floats by name."""

    name = "changes"

    def save(self, stepper: Any) -> bytes:
        return _encoded(stepper._first_flow, stepper._flow)

    def most(self, stepper: Any) -> int:
        return 64 + 64 * len(dataclasses.fields(stepper._first_flow))

    def parse(self, stepper: Any, data: bytes) -> dict[str, Any]:
        if data == self.save(stepper):
            return {}
        import json

        try:
            saved = json.loads(data.decode("ascii")) if data else {}
            flow = dataclasses.replace(
                stepper._first_flow, **{name: float.fromhex(text) for name, text in saved.items()}
            )
            changes: dict[str, Any] = stepper._with_flow(flow)
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise SnapshotError(f"snapshot: its changes are refused: {validation.short(error)}") from None
        if _encoded(stepper._first_flow, flow) != data:
            raise SnapshotError("snapshot: its changes are not as snapshot() writes them")
        return changes


def _encoded(first: Any, now: Any) -> bytes:
    if now is first:
        return b""
    import json

    names = [field.name for field in dataclasses.fields(first)]
    saved = {name: getattr(now, name).hex() for name in names if getattr(now, name) != getattr(first, name)}
    return json.dumps(saved, separators=(",", ":")).encode() if saved else b""
