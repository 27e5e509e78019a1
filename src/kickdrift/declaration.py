"""The common base of force terms and constraints: checked coefficients, in the shapes that plans need.

Other layers know a declaration by the `kind` that its class names: each has a table from kinds to what it does with
them. Whether a table has all of them is checked when a module is imported, see `require_entries`.
"""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, dataclass_transform

import numpy as np

from . import validation

if TYPE_CHECKING:
    from .constraints.periodic import Periodic
    from .stepper.model import Plan
    from .stepper.slots import Slots


Value = TypeVar("Value")


class once(cached_property[Value]):  # noqa: N801
    """`functools.cached_property` without the lock that Python 3.11 has in that.

    All objects of a class share it there, and one thread that is interrupted while it holds it stops all others for
    good. Two threads that ask for the first time at once both compute the value here.
    """

    if not TYPE_CHECKING:

        def __get__(self, instance, owner=None):
            return self if instance is None else vars(instance).setdefault(self.attrname, self.func(instance))


class Frozen:
    """Base of frozen dataclasses. One that adds no fields needs no decorator, which takes its time in each import.

    Its repr() has no guard against recursion, as that which `dataclass` writes has: an exception at the wrong moment,
    as Ctrl-C is one, leaves that guard closed. From then on the object, and whatever lies at its address later, is
    "...". Snapshots know integrators and flows by their repr().
    """

    def __init_subclass__(cls) -> None:
        if "__repr__" not in vars(cls):
            cls.__repr__ = Frozen.__repr__  # type: ignore[method-assign]  # or `dataclass` would write one

    def __repr__(self: Any) -> str:
        fields = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(fields)})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def tenants() -> Any:
    """Of what holds bodies: for which body in each of their slots it is declared. None is for the first in all."""
    return dataclasses.field(default=None, kw_only=True, repr=False)


#: The tables of kinds so far: the module, the base of what is in it, and the table.
TABLES: list[tuple[str, type[Any], Collection[str]]] = []


def require_entries(module: str, table: Collection[str], declared: type[Any] | Collection[str]) -> None:
    """ImportError for a module whose table has no entry for one that is declared, or one for none of them.

    declared: the names; or the base of the classes that have a `kind`. Some of these are declared when their module
    is first asked for: they are looked for in the tables then.
    """
    if isinstance(declared, type):
        classes = [declared]
        for cls in classes:
            _check_kinds(module, table, cls)
            classes += cls.__subclasses__()
        TABLES.append((module, declared, table))
    elif set(table) != set(declared):
        raise ImportError(f"{module}: expected an entry for each of {', '.join(declared)}, got {', '.join(table)}")


def kinds_of(cls: type[Any]) -> tuple[str, ...]:
    """The kinds of a class: mostly one."""
    return (cls.kind,) if isinstance(cls.kind, str) else cls.kind


def _check_kinds(module: str, table: Collection[str], cls: type[Any]) -> None:
    for kind in kinds_of(cls):
        if kind and kind not in table:
            raise ImportError(f"{module}: expected an entry for {kind!r}, the kind of {cls.__name__}")


def numbers(
    minimum: float = -math.inf,
    maximum: float = math.inf,
    place: bool = False,
    per_body: Literal["number", "vector"] | None = None,
    **field: Any,
) -> Any:
    """A coefficient: a number, a vector or one of these per body, within bounds; or a place.

    per_body: what `set` with `index=` takes for each of some bodies, if it may be told per body.
    """
    return dataclasses.field(metadata={"bounds": (minimum, maximum), "place": place, "per_body": per_body}, **field)


def noticed(default: Any) -> Any:
    """What bodies are taken notice of by, a number per body, which the class itself checks."""
    return dataclasses.field(default=default, metadata={"per_body": "number"})


def place(**field: Any) -> Any:
    """Coordinates, or walls and shapes that have some, which the class itself checks."""
    return dataclasses.field(metadata={"place": True}, **field)


def lazy(value: Any) -> bool:
    """Is it a dask array, whose numbers are still to be computed?"""
    return hasattr(value, "__dask_graph__")


def _refuse(declaration: Declaration, name: str, value: Any) -> None:
    """`__setattr__` of declarations: a plan was made of them."""
    title = type(declaration).__name__
    if name in declaration.coefficients:
        handle = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", title).lower()
        raise dataclasses.FrozenInstanceError(f"{title} cannot be changed; write world.set({handle}, {name}=...)")
    raise dataclasses.FrozenInstanceError(f"{title} cannot be changed, and {name!r} is none of its coefficients")


#: Fields that are no coefficients: what a declaration is made of.
_CONSISTS_OF = frozenset(("pairs", "tenants", "force", "walls", "joints"))
#: Fields of these names must be declared as places, or `shift` would leave them where they were.
_COORDINATES = frozenset(("anchor", "center", "lower", "normal", "offset", "points", "shapes", "upper", "walls"))


@dataclass_transform(frozen_default=True, eq_default=False)
def declaration(**options: bool) -> Callable[[type[Value]], type[Value]]:
    """Make a class a frozen dataclass that says what to do instead where somebody sets an attribute."""

    def made(cls: type[Value]) -> type[Value]:
        cls = dataclass(frozen=True, eq=False, repr=False, **options)(cls)
        cls._describe()  # type: ignore[attr-defined]
        return cls

    return made


@declaration()
class Declaration(Frozen):
    """Base of what a stepper is told in `forces` and `constraints`: it adds itself to a plan.

    Coefficients become float64 arrays, checked and read-only. What is no real number raises TypeError,
    what is not finite or below its minimum ValueError. What has the wrong length or dimension raises
    ValueError when a stepper is made. All name the argument. Dask arrays are kept for `kickdrift.distributed`,
    which hands each chunk of bodies its rows; any other stepper computes them.
    """

    #: The name by which the reference and the engine know it, or several; "" for what is merged with others.
    kind: ClassVar[Any] = ""
    #: Does what it does to a body depend on that body alone, whatever its number? Then chunks can be stepped apart.
    alone: ClassVar[bool] = False
    #: The coefficients of which nothing is checked but their bounds. All, where there is no `__post_init__` of its own.
    independent: ClassVar[frozenset[str]] = frozenset()
    #: What fields say, by their names: bounds of numbers, and what `shifted` changes.
    bounds: ClassVar[dict[str, tuple[float, float]]] = {}
    places: ClassVar[frozenset[str]] = frozenset()
    _per_body: ClassVar[dict[str, str]] = {}
    _coefficients: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        for module, base, table in TABLES:
            if issubclass(cls, base):
                _check_kinds(module, table, cls)

    @classmethod
    def _describe(cls) -> None:
        """Collect what the fields of a class say."""
        fields = {field.name: field.metadata for field in dataclasses.fields(cls)}
        cls.bounds = {name: says["bounds"] for name, says in fields.items() if "bounds" in says}
        cls.places = frozenset(name for name, says in fields.items() if says.get("place"))
        for name in _COORDINATES & fields.keys() - cls.places:
            raise ImportError(f"{cls.__name__}({name}): expected a field that says it is a place")
        per_body = {name: says["per_body"] for name, says in fields.items() if says.get("per_body")}
        cls._per_body = dict(sorted(per_body.items(), key=lambda each: each[1]))
        cls._coefficients = tuple(name for name in fields if name not in _CONSISTS_OF)
        if cls.__post_init__.__module__ == __name__:
            cls.independent = frozenset(cls.bounds)
        cls.__setattr__ = _refuse  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in self.bounds:
            if not lazy(getattr(self, name)):
                self.__dict__[name] = self._checked(name, getattr(self, name))

    def _checked(self, name: str, value: Any) -> np.ndarray:
        return validation.numbers(f"{type(self).__name__}({name})", value, *self.bounds[name])

    # How a stepper changes it.

    @property
    def coefficients(self) -> tuple[str, ...]:
        """The arguments of its constructor that can be changed later: not functions, pairs, walls and joints."""
        return self._coefficients

    @property
    def per_body(self) -> dict[str, str]:
        """The coefficients that may be one per body, each "number" or "vector": numbers before vectors."""
        return self._per_body

    def changed(self, coefficients: dict[str, Any]) -> Self:
        """The same with other coefficients, checked as the constructor does."""
        if self.independent.issuperset(coefficients):
            # Nothing else is checked there: only what is new needs to be.
            other: Self = object.__new__(type(self))
            other.__dict__.update(
                self.__dict__, **{name: self._checked(name, coefficients[name]) for name in coefficients}
            )
            return other
        for name in coefficients:
            if name not in self.coefficients:
                known = ", ".join(self.coefficients) or "none that can be changed"
                hint = validation.meant(name, self.coefficients)
                raise TypeError(f"{type(self).__name__}: expected coefficients ({known}), got {name!r}{hint}")
        return dataclasses.replace(self, **coefficients)

    def equals(self, other: Declaration) -> bool:
        """May it replace another declaration with the same contents?"""
        return type(self) is type(other)

    def told(self) -> dict[str, Any]:
        """Its contents, as arrays, numbers and text: equal for equal declarations of a class."""
        told = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if told.get("tenants", self) is None:
            del told["tenants"]
        return told

    def computed(self) -> Self:
        """The same, without dask arrays."""
        arrays = {name: np.asarray(value) for name, value in vars(self).items() if lazy(value)}
        return dataclasses.replace(self, **arrays) if arrays else self

    def doubts(self, plan: Plan, dt: float) -> str | None:
        """What cannot go well with steps of dt, as a warning says it."""
        return None

    def placed(self, position: np.ndarray, periodic: Periodic | None = None) -> Self:
        """The same, with what was left open taken from where the bodies are when a stepper is made, in such a box."""
        return self

    def held(self, slots: Slots) -> Self:
        """The same for the bodies that are in their slots now, or the next ones; kept by those that hold bodies."""
        return self

    def compile(self, plan: Plan) -> None:
        """Add this to a plan."""
        raise NotImplementedError

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        """The fields of its record that depend on these coefficients; None where anything else does.

        before: all of its fields with other coefficients. What is returned is what `compile` would add, and checked as
        there. `set` then writes it to where kernels read it, and makes nothing anew.
        """
        return None

    def shifted(self, offset: np.ndarray) -> Self:
        """The same in coordinates whose origin lies at -offset."""
        told = {name: value for name in self.places if (value := getattr(self, name)) is not None}
        moved = {
            name: tuple(part.shifted(offset) for part in value) if isinstance(value, tuple) else value + offset
            for name, value in told.items()
        }
        return dataclasses.replace(self, **moved) if moved else self

    # Coefficients in the two shapes that plans work with.

    def _scalars(self, plan: Plan, name: str) -> np.ndarray:
        array = getattr(self, name)
        if array.ndim == 0:
            return array.reshape(1)
        array = validation.per_body(f"{type(self).__name__}({name})", getattr(self, name), plan.n)
        return array if plan.rows is None or len(array) == 1 else array[plan.rows]

    def _scaled(self, plan: Plan, name: str, share: Literal["inverse_mass", "mobility"]) -> np.ndarray:
        """A coefficient times what the plan says of masses."""
        return self._scalars(plan, name) * getattr(plan, share)

    def _vectors(self, plan: Plan, name: str) -> np.ndarray:
        """(1, dim) or (n, dim)."""
        array: np.ndarray = getattr(self, name)
        if array.shape == (plan.dim,):
            return array.reshape(1, plan.dim)
        array = validation.per_body_vectors(f"{type(self).__name__}({name})", getattr(self, name), plan.n, plan.dim)
        return array if plan.rows is None or len(array) == 1 else array[plan.rows]


def known(base: type[Any]) -> set[type[Any]]:
    """The kinds that may be given: classes of this package that no other of its classes derives from."""
    package = __package__ + "."
    for module in sys.modules[__package__]._NAMES:  # so that all of them exist
        if module.startswith(("constraints.", "forces.")):
            import_module(package + module)
    derived = [cls for cls in base.__subclasses__() if cls.__module__.startswith(package)]  # users may derive others
    return set().union(*map(known, derived)) or {base}


def declared(
    argument: str, plural: str, base: type[Any], given: Iterable[Any], compute: bool = True
) -> tuple[Any, ...]:
    """The declarations of a kind as a tuple; anything else is refused."""

    def refused(value: Any, wanted: str) -> TypeError:
        names = sorted(cls.__name__ for cls in known(base))
        hint = f"; did you mean [{type(value).__name__}(...)]?" if isinstance(value, base) else ""
        if isinstance(value, type) and issubclass(value, base):
            hint = f"; did you mean {value.__name__}(...)?"
        elif callable(value) and argument == "forces":
            hint = "; did you mean kd.Force(function)?"
        text = f"{argument}: got {validation.show(value)}{hint}"
        return TypeError(f"{text}{'' if hint.endswith('?') else ','} expected {wanted}{plural} ({', '.join(names)})")

    try:
        declarations = tuple(given)
    except (TypeError, NotImplementedError):  # the latter from a buffer of two dimensions
        raise refused(given, "a sequence of ") from None
    for declaration in declarations:
        if not isinstance(declaration, base):
            raise refused(declaration, "")
    return tuple(declaration.computed() for declaration in declarations) if compute else declarations
