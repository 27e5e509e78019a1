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
    """The indices of all bodies that are pinned."""
    pins = [validation.within("Pin(indices)", constraint.pins, plan.n) for constraint in plan.constraints]
    indices = np.sort(np.concatenate([np.zeros(0, np.int64), *pins]))
    twice = indices[1:][indices[1:] == indices[:-1]]
    if twice.size:
        raise ValueError(f"Pin(indices): expected each body once in all pins, got {twice[0]} twice")
    return indices


def weights(plan: Plan) -> np.ndarray:
    """1/m of each body, shape (n,); 0 for those that no constraint moves."""
    weight = plan.inverse_mass + np.zeros(plan.n)
    weight[pinned(plan)] = 0
    return weight


def countable(name: str, plan: Plan) -> None:
    """Kernels count bodies that see each other in 32 bits."""
    if plan.n >= 2**31:
        raise ValueError(f"{name}: expected fewer than {2**31} bodies, got {plan.n}")
