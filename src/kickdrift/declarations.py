"""What force terms and constraints have in common: checked coefficients, and the shapes that plans want."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import arguments

if TYPE_CHECKING:
    from .plan import Plan


def numbers(minimum: float = -math.inf, maximum: float = math.inf, place: bool = False, **field: Any) -> Any:
    """A coefficient: a number, a vector or one of these per body, within bounds; or a place."""
    return dataclasses.field(metadata={"bounds": (minimum, maximum), "place": place}, **field)


@dataclass(frozen=True, eq=False)
class Declaration:
    """Base of what a stepper is told in `forces` and `constraints`: it adds itself to a plan.

    Coefficients become float64 arrays, checked and read-only. What is no real number raises TypeError,
    what is not finite or below its minimum ValueError. What has the wrong length or dimension raises
    ValueError when a stepper is made. All name the argument.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if "bounds" in field.metadata:
                label = f"{type(self).__name__}({field.name})"
                array = arguments.numbers(label, getattr(self, field.name), *field.metadata["bounds"])
                object.__setattr__(self, field.name, array)

    def placed(self, position: np.ndarray) -> Self:
        """The same, with what was left open taken from where the bodies are when a stepper is made."""
        return self

    def compile(self, plan: Plan) -> None:
        """Add this to a plan."""
        raise NotImplementedError

    def shifted(self, offset: np.ndarray) -> Self:
        """The same in coordinates whose origin lies at -offset."""
        places = [field.name for field in dataclasses.fields(self) if field.metadata.get("place")]
        return dataclasses.replace(self, **{name: getattr(self, name) + offset for name in places})

    # Coefficients in the two shapes that plans work with.

    def _scalars(self, plan: Plan, name: str) -> np.ndarray:
        return arguments.per_body(f"{type(self).__name__}({name})", getattr(self, name), plan.n)

    def _vectors(self, plan: Plan, name: str) -> np.ndarray:
        return arguments.per_body_vectors(f"{type(self).__name__}({name})", getattr(self, name), plan.n, plan.dim)


@dataclass(frozen=True, eq=False)
class Constraint(Declaration):
    """Base of all constraints, which are in `constraints.py`."""
