"""Base classes of all forces."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import validation
from ..declaration import Declaration

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan
    from ..stepper.slots import Slots


class Term(Declaration):
    """Base of all forces."""

    velocity_dependent: ClassVar[bool] = False  #: the acceleration depends on the velocity
    affine: ClassVar[bool] = False  #: merged into the acceleration g - c (v - w) - k (x - p)
    conservative: ClassVar[bool] = False  #: equals minus the gradient of a potential
    dissipative: ClassVar[bool] = False  #: friction, which has no potential

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        """Return the potential energy of each body in J, shape (n,), for float64 positions."""
        raise ValueError(f"energy: {type(self).__name__} has no potential")

    def active_energy(self, plan: Plan, position: np.ndarray, slots: Slots) -> np.ndarray:
        """Return the potential energy of each body where some slots are inactive; their values are ignored."""
        return self.potential_energy(plan, position)

    def probe(self, position: np.ndarray, velocity: np.ndarray) -> None:
        """Check the declared properties of callbacks when a stepper is made."""

    @property
    def label(self) -> str:
        """Return a string that identifies this force, in addition to its numbers in the plan."""
        return type(self).__name__


class FieldTerm(Term):
    """Base of forces on single bodies, which are evaluated after the affine part."""

    alone = True


class Interaction(Term):
    """Base of forces evaluated for many bodies at once: callbacks, expressions and interactions between bodies."""

    per_mass = False  # whether coefficients are divided by reduced masses, in which pinned bodies are infinitely heavy


class Elastic(Term):
    """Base of springs with optional damping."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checked = validation.flag(f"{type(self).__name__}(per_mass)", self.per_mass)  # type: ignore[attr-defined]
        object.__setattr__(self, "per_mass", checked)

    @property
    def velocity_dependent(self) -> bool:  # type: ignore[override]
        damping = self.damping  # type: ignore[attr-defined]
        return bool(damping) if np.ndim(damping) == 0 else bool(np.any(damping))

    @property
    def conservative(self) -> bool:  # type: ignore[override]
        return not self.velocity_dependent

    @classmethod
    def _of_frequency(cls, hertz: ArrayLike, damping_ratio: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return stiffness and damping per unit of mass."""
        omega = 2 * math.pi * validation.numbers(f"{cls.__name__}(hertz)", hertz, minimum=0.0)
        ratio = validation.numbers(f"{cls.__name__}(damping_ratio)", damping_ratio, minimum=0.0)
        with np.errstate(over="ignore"):  # infinity by overflow is rejected later
            return omega * omega, 2 * ratio * omega
