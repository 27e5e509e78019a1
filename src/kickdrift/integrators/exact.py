"""The exact flow of affine forces."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .base import Integrator


@dataclass(frozen=True)
class Exact(Integrator):
    """The exact solution over h for gravity, linear drag and anchored springs; other forces are refused.

    x' = x + P v + Q a, v' = C v + S a with the acceleration a at the old state; C, S, P, Q are
    correctly rounded for each pair of drag and stiffness (some 0.1 ms each, once per dt).
    """

    name = "exact"
    source = "variation of constants; Hairer, Lubich, Wanner 2006, XIII.1.2"
    order = math.inf
    symplectic = True
