"""Spawn and despawn in plain Python, and their effect on the constraints of a plan.

Rows of inactive bodies are zeroed. Inactive bodies take no part in pairs and collisions, and forces that functions
write for them are ignored. Springs, distances and pins act only on the generation for which they were declared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..stepper.slots import candidates, chosen, spawned

if TYPE_CHECKING:
    from ..stepper.slots import Slots


class SlotArrays:
    """Spawn and despawn for the reference Stepper."""

    if TYPE_CHECKING:
        _slots: Slots | None
        _position: np.ndarray
        _velocity: np.ndarray
        _history: np.ndarray | None
        _rotation: Any
        _turning_of: Any
        _write_turning: Any
        _drawn: tuple | None
        _exclusively: Any
        _book: Any
        _give_kinds: Any
        n: int
        dim: int
        dtype: np.dtype

    def spawn(
        self,
        position: Any,
        velocity: Any = 0.0,
        mass: Any = None,
        *,
        radius: Any = None,
        category: Any = None,
        mask: Any = None,
        sensor: Any = None,
        restitution: Any = None,
        friction: Any = None,
        rows: Any = None,
        **turning: Any,
    ) -> np.ndarray:
        """Spawn bodies in the lowest free slots; return their ids."""
        kinds = {"radius": radius, "category": category, "mask": mask, "sensor": sensor}
        kinds |= {"restitution": restitution, "friction": friction}
        return self._exclusively(self._spawn, position, velocity, mass, kinds, rows, turning)

    def _spawn(
        self, position: Any, velocity: Any, mass: Any, kinds: dict[str, Any], among: Any, turning: dict[str, Any]
    ) -> np.ndarray:
        x, v, m = spawned(position, velocity, mass, self.dim, self.dtype)
        values = self._turning_of(len(x), **turning)
        slots = self._book()
        rows = slots.free(len(x), candidates(self.n, among))
        self._give_kinds(rows, m, kinds)
        self._write_turning(rows, values)
        self._position[rows], self._velocity[rows] = x, v
        if self._history is not None:
            self._history[rows] = 0
        return slots.spawn(rows)

    def kill(self, ids: Any) -> None:
        """Despawn bodies and zero their rows."""
        self._exclusively(self._kill, ids)

    def _kill(self, ids: Any) -> None:
        slots = self._book()
        slots.kill(chosen(slots, ids))
        self._zero_inactive()

    def _find(self, ids: np.ndarray) -> np.ndarray:
        """Return the slots of bodies; -1 for those that are not active."""
        return self._book().find(ids)

    def _zero_inactive(self) -> None:
        """Zero the rows of inactive bodies, and the histories of bodies spawned after the last step."""
        if self._slots is not None:
            if self._history is not None:
                self._history[self._slots.needs_start[: self._slots.n] == 1] = 0
            turning = () if self._rotation is None else (self._rotation.velocity, self._rotation.turned)
            for array in (self._position, self._velocity, self._history, *turning):
                if array is not None:
                    array[self._slots.dead] = 0


#: Names of record fields with one value for all pins or pairs.
FOR_ALL = ("iterations", "response")
#: Names of record fields of `Contacts` with one item per rod.
RODS = ("first", "second", "length", "compliance", "number", "pair", "member", "lower", "upper", "limit")


def present_fields(system: Any, record: Any) -> dict[str, Any]:
    """Return the coefficients of a constraint, in which inactive bodies have inverse mass 0."""
    fields = {name: field for name, field in record.fields.items() if name != "generations"}
    if system.slots is None:
        return fields
    if record.kind == "contacts":
        left = uncut(system, record)
        rods = {name: fields[name][left] for name in RODS if name in fields}
        return {**fields, **rods, "weight": weights(system)}
    if record.kind == "pin" or "first" in fields:
        left = uncut(system, record)
        return {
            name: field if name in FOR_ALL else np.broadcast_to(field, (len(left),))[left]
            for name, field in fields.items()
        }
    return {**fields, "weight": weights(system)}


def uncut(system: Any, record: Any) -> np.ndarray:
    """Return a mask of the bodies or pairs on which a constraint is active."""
    fields = record.fields
    bodies = fields["indices"] if record.kind == "pin" else np.stack([fields["first"], fields["second"]], axis=1)
    return system.slots.uncut(bodies, fields.get("generations"))


def weights(system: Any) -> np.ndarray:
    """Return 1/m of each body; 0 for pinned and inactive bodies."""
    return np.where(system.movable, system.plan.inverse_mass, 0.0)


def pinned(system: Any) -> np.ndarray:
    """Return a mask of the bodies that are pinned. A pin ends with its body."""
    found = np.zeros(system.n, np.bool_)
    for record in system.plan.constraint_records:
        if record.kind == "pin":
            indices = record.fields["indices"]
            found[indices if system.slots is None else indices[uncut(system, record)]] = True
    return found


def present_at_rest(system: Any) -> np.ndarray | None:
    """Return `Plan.at_rest`, with 0 for bodies without an active link; None if the plan has none."""
    slots, plan = system.slots, system.plan
    if slots is None or plan.at_rest is None:
        return plan.at_rest
    held = np.zeros(plan.n, np.bool_)
    for record in plan.constraint_records:
        if "first" in record.fields and record.kind != "contacts":
            reads = uncut(system, record) & (record.fields["direction"] < 2)
            for name in ("first", "second"):
                held[record.fields[name][reads]] = True
    return np.where(held, plan.at_rest, plan.dtype.type(0))
