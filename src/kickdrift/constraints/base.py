"""WHAT holds the bodies: one small declaration per constraint.

Constraints are applied after each step, in the order given, but for pins, which come first; `Damping` comes
after them. They keep nothing from one step to the next, but for `Contacts`, whose impulses are in snapshots.

Bodies that are pinned or infinitely heavy are moved by no other constraint; the rest share a correction
by the inverse of their masses. Under `verlet`, whose next step follows positions and not velocities, the
previous position is moved so that it agrees with what a constraint has made of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import validation
from ..declaration import Declaration

if TYPE_CHECKING:
    from ..stepper.model import Plan


@dataclass(frozen=True, eq=False)
class Constraint(Declaration):
    """Base of all constraints, which follow each step."""

    @property
    def pins(self) -> np.ndarray:
        """The indices of the bodies that this keeps where they are."""
        return np.zeros(0, np.int64)


def pinned(plan: Plan) -> np.ndarray:
    """All bodies that are pinned: generation << 32 | index, ascending; the generation is 1 where none is told."""
    ids = [np.zeros(0, np.int64)]
    for constraint in plan.constraints:
        pins = validation.within("Pin(indices)", constraint.pins, plan.n)
        if len(pins):
            tenants = getattr(constraint, "tenants", None)
            ids.append(pins | (np.int64(1) if tenants is None else tenants) << 32)
    bodies = np.sort(np.concatenate(ids))
    twice = bodies[1:][bodies[1:] == bodies[:-1]]
    if twice.size:
        raise ValueError(f"Pin(indices): expected each body once in all pins, got {twice[0] % 2**32} twice")
    return bodies


def weights(plan: Plan, bodies: np.ndarray | None = None, tenants: np.ndarray | None = None) -> np.ndarray:
    """1/m of bodies, of all where none are told; 0 for those that no constraint moves."""
    bodies = np.arange(plan.n) if bodies is None else bodies
    weight = (plan.inverse_mass + np.zeros(plan.n))[bodies]
    weight[np.isin(bodies | (np.int64(1) if tenants is None else tenants) << 32, pinned(plan))] = 0
    return weight


def told_apart(tenants: np.ndarray | None) -> dict[str, np.ndarray]:
    """What a plan is told of them, if anything."""
    return {} if tenants is None else {"tenants": tenants}


def countable(name: str, plan: Plan) -> None:
    """Kernels count bodies that see each other in 32 bits."""
    if plan.n >= 2**31:
        raise ValueError(f"{name}: expected fewer than {2**31} bodies, got {plan.n}")
