"""Masses of spawned bodies, and their coefficients in all constraints that have coefficients per body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from ..constraints.base import bits, flags
from .changes import _change, canonical_masses, with_coefficients
from .entries import Entry
from .rows import with_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from .base import StepperBase

#: Validating functions of the coefficients that `spawn` accepts.
CHECKS: dict[str, Callable[[str, Any], np.ndarray]] = {
    "radius": lambda name, value: validation.numbers(name, value, 0.0),
    "category": bits,
    "mask": bits,
    "sensor": flags,
    "restitution": lambda name, value: validation.numbers(name, value, 0.0, 1.0),
    "friction": lambda name, value: validation.numbers(name, value, 0.0),
}


def give(self: StepperBase, rows: np.ndarray, mass: np.ndarray | None, given: dict[str, Any]) -> None:
    """Set the masses and coefficients of rows, where they differ from the current ones; becomes a method of steppers.

    given: coefficient name -> one value or one per row; None leaves a coefficient unchanged.
    """
    given = {name: _checked(name, value, len(rows)) for name, value in given.items() if value is not None}
    masses = None
    if mass is not None and _differ(self._plan.mass, rows, mass):
        masses = self._plan.mass + np.zeros(self.n)
        masses[rows] = mass
        masses = canonical_masses(self, masses)
    entries, changed = [*self._entries], {}
    places, missing = [], {*given}
    for place, entry in enumerate(entries):
        today: Any = entry.today
        own = {name: value for name, value in given.items() if _takes(today, name)}
        missing -= own.keys()
        coefficients = _differing(self, entry, own, rows)
        if coefficients:
            entries[place] = with_coefficients(self, entry, coefficients, self._plan)
            changed[id(entries[place].today)] = self._plan._parts.get(id(today)), coefficients
            places.append(place)
    if missing:
        name = sorted(missing)[0]
        raise ValueError(f"{name}: expected a constraint that has a {name} per body, got none")
    if places or masses is not None:
        _change(self, tuple(entries), places, changed, masses)


def _checked(name: str, value: Any, count: int) -> np.ndarray:
    array = CHECKS[name](name, value)
    if array.shape not in ((), (count,)):
        raise ValueError(f"{name}: expected a number or shape ({count},), one per body, got shape {array.shape}")
    return array


def _takes(declaration: Any, name: str) -> bool:
    """Return whether a declaration has a coefficient per body. A mask of walls, shapes or sensors is not one."""
    return name in declaration.per_body and (name != "mask" or declaration.reports_pairs)


def _differing(self: StepperBase, entry: Entry, own: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """Return those coefficients of an entry that change, as arrays over all bodies."""
    today: Any = entry.today
    changes = {name: value for name, value in own.items() if _differ(getattr(today, name), rows, value)}
    return with_rows(entry.origin.first, today, changes, rows, self.n, self.dim)


def _differ(values: np.ndarray, rows: np.ndarray, given: np.ndarray) -> bool:
    """Return whether `values` (one, or one per body) differ from `given` in any of the rows."""
    return len(rows) > 0 and bool(((values if values.size == 1 else values[rows]) != given).any())
