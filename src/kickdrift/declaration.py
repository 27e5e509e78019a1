"""What force terms and constraints have in common: checked coefficients, and the shapes that plans want."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from . import validation

if TYPE_CHECKING:
    from .stepper.model import Plan
    from .stepper.slots import Slots


def tenants() -> Any:
    """Of what holds bodies: for which body in each of their slots it is declared. None is for the first in all."""
    return dataclasses.field(default=None, kw_only=True, repr=False)


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
        for name in self._fields.bounds:
            self._check(name, getattr(self, name))

    @property
    def _fields(self) -> _Fields:
        cls: Any = type(self)
        return _fields(cls)

    def _check(self, name: str, value: Any) -> None:
        """Take over a coefficient, if it is within its bounds."""
        array = validation.numbers(f"{type(self).__name__}({name})", value, *self._fields.bounds[name])
        object.__setattr__(self, name, array)

    # How a stepper changes it.

    @property
    def coefficients(self) -> tuple[str, ...]:
        """The arguments of its constructor that can be changed once a stepper has it: functions and pairs cannot."""
        return self._fields.coefficients

    @property
    def places(self) -> frozenset[str]:
        """The coefficients that `shifted` changes."""
        return self._fields.places

    def changed(self, coefficients: dict[str, Any]) -> Self:
        """The same with other coefficients, checked as the constructor does."""
        cls = type(self)
        for name in coefficients:
            if name not in self.coefficients:
                known = ", ".join(self.coefficients) or "none that can be changed"
                raise TypeError(f"{cls.__name__}: expected coefficients ({known}), got {name!r}")
        if cls.__post_init__ is not Declaration.__post_init__ or not self._fields.bounds.keys() >= coefficients.keys():
            return dataclasses.replace(self, **coefficients)
        # Nothing else is checked there: only what is new needs to be.
        other = object.__new__(cls)
        other.__dict__.update(self.__dict__)
        for name, value in coefficients.items():
            other._check(name, value)
        return other

    def told(self) -> dict[str, Any]:
        """What tells it from others of its class, as arrays, numbers and text."""
        told = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if told.get("tenants", self) is None:
            del told["tenants"]
        return told

    def placed(self, position: np.ndarray) -> Self:
        """The same, with what was left open taken from where the bodies are when a stepper is made."""
        return self

    def held(self, slots: Slots) -> Self:
        """The same for the bodies that are in their slots now, or the next ones; kept by those that hold bodies."""
        return self

    def compile(self, plan: Plan) -> None:
        """Add this to a plan."""
        raise NotImplementedError

    def shifted(self, offset: np.ndarray) -> Self:
        """The same in coordinates whose origin lies at -offset."""
        places = self._fields.places
        return dataclasses.replace(self, **{name: getattr(self, name) + offset for name in places}) if places else self

    # Coefficients in the two shapes that plans work with.

    def _scalars(self, plan: Plan, name: str) -> np.ndarray:
        array = validation.per_body(f"{type(self).__name__}({name})", getattr(self, name), plan.n)
        return array if plan.rows is None or len(array) == 1 else array[plan.rows]

    def _vectors(self, plan: Plan, name: str) -> np.ndarray:
        array = validation.per_body_vectors(f"{type(self).__name__}({name})", getattr(self, name), plan.n, plan.dim)
        return array if plan.rows is None or len(array) == 1 else array[plan.rows]


class _Fields(NamedTuple):
    """What a class says of its fields; dataclasses tell slowly."""

    bounds: dict[str, tuple[float, float]]
    places: frozenset[str]
    coefficients: tuple[str, ...]


@cache
def _fields(cls: Any) -> _Fields:
    fields = dataclasses.fields(cls)
    return _Fields(
        {field.name: field.metadata["bounds"] for field in fields if "bounds" in field.metadata},
        frozenset(field.name for field in fields if field.metadata.get("place")),
        tuple(field.name for field in fields if field.name not in ("pairs", "tenants", "force")),
    )


def known(base: type[Any]) -> set[type[Any]]:
    """The declarations that may be given: the classes that no other derives from."""
    from . import constraints  # noqa: F401 - so that all of them exist
    from .forces import callbacks, fields, interactions  # noqa: F401

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
