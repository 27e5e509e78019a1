"""Loads and breaks of the pairs of `Distance`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .vector import dot, split, sqrt


class Cell(NamedTuple):
    """Storage of a pair's load and broken flag: a row of an array of kickdrift/stepper/loads.py."""

    owner: np.ndarray
    row: int

    @property
    def broken(self) -> bool:
        return bool(self.owner[self.row, 1])


def cells(plan, record, fields) -> list[Cell]:
    """Return the cell of each pair of a record. fields: of the active pairs."""
    owners = plan.owners(record)
    members = fields.get("member", [0] * len(fields["pair"]))
    return [Cell(owners[member], 1 + pair) for member, pair in zip(members, fields["pair"], strict=True)]


class Loads:
    """The loads of a step, which are stored when the step is complete."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, ...]] = []

    def add(self, cell, i, j, load, limit) -> None:
        """Record the load of a pair. limit: the load that breaks it; below 0: none."""
        self.pairs.append((cell, i, j, load, limit))

    def resolve(self, system) -> None:
        """Store the loads, and break the pairs whose load exceeds their limit."""
        for cell, i, j, load, limit in self.pairs:
            cell.owner[cell.row, 0] = load
            if not cell.broken and limit >= 0 and (load > limit or -load > limit):
                cell.owner[cell.row, 1] = 1
                if system.reporting:
                    x = split(system.x)
                    d = system.space.nearest(x[j] - x[i])
                    r = sqrt(dot(d, d))
                    n = (1 / r if r > 0 else 0 * r) * d
                    middle = x[i] + system.real(0.5) * d
                    system.stepper._log.broke(system, int(cell.owner[0, 0]), i, j, middle, n, load * system.h)
