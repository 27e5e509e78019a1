"""WHAT holds the bodies: one small declaration per constraint.

Constraints are applied after each step, in the order given.
"""

from __future__ import annotations

from dataclasses import dataclass

from .declarations import Declaration


@dataclass(frozen=True, eq=False)
class Constraint(Declaration):
    """Base of all constraints."""
