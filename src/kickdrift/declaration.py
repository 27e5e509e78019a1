"""What force terms and constraints have in common: checked coefficients, and the shapes that plans want."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import validation

if TYPE_CHECKING:
    from .stepper.model import Plan


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
                array = validation.numbers(label, getattr(self, field.name), *field.metadata["bounds"])
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
        return validation.per_body(f"{type(self).__name__}({name})", getattr(self, name), plan.n)

    def _vectors(self, plan: Plan, name: str) -> np.ndarray:
        return validation.per_body_vectors(f"{type(self).__name__}({name})", getattr(self, name), plan.n, plan.dim)


def known(base: type[Any]) -> set[type[Any]]:
    """The declarations that may be given: the classes that no other derives from."""
    from . import constraints  # noqa: F401 - so that all of them exist
    from .forces import callbacks, fields, formulas, interactions  # noqa: F401

    return set().union(*map(known, base.__subclasses__())) or {base}


def declared(argument: str, plural: str, base: type[Any], given: Iterable[Any]) -> tuple[Any, ...]:
    """The declarations of a kind as a tuple; anything else is refused."""

    def names() -> str:
        return ", ".join(sorted(cls.__name__ for cls in known(base)))

    try:
        declarations = tuple(given)
    except (TypeError, NotImplementedError):  # the latter from a buffer of two dimensions
        text = f"{argument}: expected a sequence of {plural} ({names()}), got {validation.show(given)}"
        raise TypeError(text) from None
    for declaration in declarations:
        if not isinstance(declaration, base):
            raise TypeError(f"{argument}: expected {plural} ({names()}), got {validation.show(declaration)}")
    return declarations
