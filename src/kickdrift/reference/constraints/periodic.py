"""Periodic boundary conditions: bodies that leave the box re-enter on the opposite side."""

from __future__ import annotations

from .walls import replace


def periodic(system, before, **torus):
    x, v, s = system.rows()
    for i, alive in enumerate(system.alive):
        y = system.space.inside(x[i])
        if alive and y != x[i]:
            replace(system, x, v, s, i, y, v[i])
    system.put(x, v, s)
