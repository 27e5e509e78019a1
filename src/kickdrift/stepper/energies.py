"""Kinetic and potential energy of a plan at a state. Plans have `energy` as a method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .model import Plan
    from .slots import Slots


def energy(plan: Plan, position: np.ndarray, velocity: np.ndarray, slots: Slots | None = None) -> tuple[float, float]:
    """Return (kinetic, potential) energy in J of active bodies, from float64 copies, summed without rounding errors."""
    position, velocity = position.astype(np.float64), velocity.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        kinetic = plan.finite_mass * (velocity * velocity).sum(axis=1) / 2
        if slots is None:
            potential = [term.potential_energy(plan, position) + np.zeros(plan.n) for term in plan.forces]
        else:
            kinetic = np.where(slots.alive, kinetic, 0.0)
            potential = [np.where(slots.alive, term.active_energy(plan, position, slots), 0.0) for term in plan.forces]
        return total(kinetic), total(np.concatenate(potential) if potential else np.zeros(0))


def total(energies: np.ndarray) -> float:
    try:
        return math.fsum(energies)
    except (OverflowError, ValueError):  # too large for a float, or infinities of both signs
        return float(energies.sum())
