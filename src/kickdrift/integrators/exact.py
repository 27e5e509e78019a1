"""The exact flow of affine forces."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .base import Integrator

if TYPE_CHECKING:
    from ..stepper.model import Plan


class Exact(Integrator):
    """The exact solution over h for gravity, linear drag and anchored springs; other forces are rejected.

    x' = x + P v + Q a, v' = C v + S a with the acceleration a at the old state; C, S, P, Q are
    correctly rounded for each pair of drag and stiffness (some 0.1 ms each, once per dt).
    """

    name = "exact"
    source = "variation of constants; Hairer, Lubich, Wanner 2006, XIII.1.2"
    order = math.inf
    symplectic = True

    def check(self, plan: Plan) -> None:
        for term in plan.forces:
            if not term.affine:
                raise ValueError(
                    f"integrator: {self.name} takes Gravity, LinearDrag and AnchorSpring, got {type(term).__name__}"
                )
