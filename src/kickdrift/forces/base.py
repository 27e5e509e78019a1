"""The base of all force terms."""

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
    """Base of all force terms."""

    velocity_dependent: ClassVar[bool] = False  #: does the acceleration depend on the velocity?
    affine: ClassVar[bool] = False  #: is it merged into g - c (v - w) - k (x - p)?
    conservative: ClassVar[bool] = False  #: is it minus the gradient of a potential, and no more?

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        """Potential energy of each body in J, shape (n,), for float64 positions."""
        raise ValueError(f"energy: {type(self).__name__} has no potential")

    def living_energy(self, plan: Plan, position: np.ndarray, slots: Slots) -> np.ndarray:
        """The same where some bodies do not live: what it says of these does not count."""
        return self.potential_energy(plan, position)

    def probe(self, position: np.ndarray, velocity: np.ndarray) -> None:
        """Refuse, when a stepper is made, what turns out not to be as declared."""

    @property
    def label(self) -> str:
        """A text that identifies this term, in addition to the numbers in its plan."""
        return type(self).__name__


class FieldTerm(Term):
    """Base of the terms that push each body by itself, and are evaluated after the affine part."""

    alone = True


class Interaction(Term):
    """Base of the terms for many bodies at once: functions of users, and what bodies do to each other."""


class Elastic(Term):
    """Base of springs, which may be damped."""

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
        """Stiffness and damping for each unit of mass."""
        omega = 2 * math.pi * validation.numbers(f"{cls.__name__}(hertz)", hertz, minimum=0.0)
        ratio = validation.numbers(f"{cls.__name__}(damping_ratio)", damping_ratio, minimum=0.0)
        with np.errstate(over="ignore"):  # refused as not finite
            return omega * omega, 2 * ratio * omega
