"""The common base of forces and constraints: checked coefficients, in the shapes that plans need.

Other layers look a declaration up by the `kind` of its class, each in a table of its own. `require_entries` checks
at import that a table is complete.
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
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self, TypeVar, dataclass_transform

import numpy as np

from . import validation

if TYPE_CHECKING:
    from .constraints.periodic import Periodic
    from .stepper.model import Plan
    from .stepper.slots import Slots


Value = TypeVar("Value")


class once(cached_property[Value]):  # noqa: N801
    """`functools.cached_property` without the lock that it has in Python 3.11.

    All objects of a class share that lock, and a thread that is interrupted inside it blocks all others forever.
    Without the lock, two threads that need the value at the same time may both compute it.
    """

    if not TYPE_CHECKING:

        def __get__(self, instance, owner=None):
            return self if instance is None else vars(instance).setdefault(self.attrname, self.func(instance))


@dataclass_transform(frozen_default=True, eq_default=False)
def frozen(**options: bool) -> Callable[[type[Value]], type[Value]]:
    """Make a subclass of `Frozen` with new fields a dataclass.

    `dataclass` compiles each method that it generates: 0.1 ms of every import. `Frozen` has all but the constructor.
    """

    def made(cls: type[Value]) -> type[Value]:
        cls = dataclass(eq=False, repr=False, **options)(cls)
        cls._fields = tuple([field.name for field in dataclasses.fields(cls)])  # type: ignore[arg-type, attr-defined]
        return cls

    return made


@frozen()
class Frozen:
    """Base of values that cannot be changed: `frozen` makes dataclasses of its subclasses.

    Its repr() has no recursion guard, unlike the repr() that `dataclass` generates. An exception at the wrong moment,
    such as Ctrl-C, leaves that guard set: the object, and any later one at its address, then prints as "...".
    Snapshots identify integrators and flows by their repr().
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._fields])

    def __repr__(self) -> str:
        fields = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(fields)})"

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __setattr__(self, name: str, value: Any) -> None:
        """Let the constructor set each field, once."""
        if name in self.__dict__ or name not in self._fields:
            self._refuse(name)
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def _refuse(self, name: str) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def generations() -> Any:
    """Declare the field for the generation of each slot that a constraint belongs to; None: generation 1."""
    return dataclasses.field(default=None, kw_only=True, repr=False)


#: The registered tables of kinds: module, base class of the declarations, table.
TABLES: list[tuple[str, type[Any], Collection[str]]] = []


def require_entries(module: str, table: Collection[str], declared: type[Any] | Collection[str]) -> None:
    """Raise ImportError for a table with a missing entry or one that matches no declared name.

    declared: the names, or the base of the classes that have a `kind`. Modules are imported lazily: a class that is
    defined later is checked when it is defined.
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
    """Return the kinds of a class, usually one."""
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
    """Declare a coefficient: a number, a vector or one of these per body, within bounds.

    place: whether it is a coordinate, which `shifted` moves. per_body: the form of one body's value in `set` with
    `index=`; None if the coefficient cannot be given per body.
    """
    return dataclasses.field(metadata={"bounds": (minimum, maximum), "place": place, "per_body": per_body}, **field)


def filter_field(default: Any) -> Any:
    """Declare a collision filter field, a number per body, which the class itself checks."""
    return dataclasses.field(default=default, metadata={"per_body": "number"})


def place(**field: Any) -> Any:
    """Declare a field of coordinates, or of walls and shapes that have some; the class itself checks it."""
    return dataclasses.field(metadata={"place": True}, **field)


def lazy(value: Any) -> bool:
    """Return whether the value is a dask array that is not yet computed."""
    return hasattr(value, "__dask_graph__")


#: Value of `weighed` for parts that depend on no mass, except on which masses are infinite.
NO_MASS = np.zeros(0, np.int64)
#: Structural fields, which are not coefficients.
_CONSISTS_OF = frozenset(("pairs", "generations", "force", "torque", "walls", "joints"))
#: Fields of these names must be declared with `place`, else `shift` would not move them.
_COORDINATES = frozenset(("anchor", "center", "lower", "normal", "offset", "points", "shapes", "upper", "walls"))


@dataclass_transform(frozen_default=True, eq_default=False)
def declaration(**options: bool) -> Callable[[type[Value]], type[Value]]:
    """Make a subclass of `Declaration` a dataclass, and collect the metadata of its fields."""

    def made(cls: type[Value]) -> type[Value]:
        cls = frozen(**options)(cls)
        cls._describe()  # type: ignore[attr-defined]
        return cls

    return made


@declaration()
class Declaration(Frozen):
    """Base of the entries of `forces` and `constraints`; `compile` adds one to a plan.

    Coefficients become float64 arrays, checked and read-only. A value that is not a real number raises TypeError. A
    value that is not finite or out of bounds raises ValueError. A wrong length or dimension raises ValueError when a
    stepper is made. All messages name the argument. Dask arrays stay lazy for `kickdrift.distributed`, which passes
    each chunk of bodies its rows; any other stepper computes them.
    """

    #: Key in the tables of reference and engine, or several keys; "" for forces merged into the affine part.
    kind: ClassVar[Any] = ""
    #: Whether each body depends only on itself, and not on its index: chunks of bodies can be stepped separately.
    alone: ClassVar[bool] = False
    #: Coefficients with no check besides their bounds: all, for a class without its own `__post_init__`.
    independent: ClassVar[frozenset[str]] = frozenset()
    #: Indices of the bodies on whose finite masses the compiled part depends; None: all bodies.
    weighed: ClassVar[Any] = None
    #: From the metadata of the fields: bounds of numbers, and the coordinates that `shifted` moves.
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
        """Collect the metadata of the fields of a class."""
        fields = {field.name: field.metadata for field in dataclasses.fields(cls)}
        cls.bounds = {name: says["bounds"] for name, says in fields.items() if "bounds" in says}
        cls.places = frozenset(name for name, says in fields.items() if says.get("place"))
        for name in _COORDINATES & fields.keys() - cls.places:
            raise ImportError(f"{cls.__name__}({name}): expected a coordinate, declared with place")
        per_body = {name: says["per_body"] for name, says in fields.items() if says.get("per_body")}
        cls._per_body = dict(sorted(per_body.items(), key=lambda each: each[1]))
        cls._coefficients = tuple([name for name in fields if name not in _CONSISTS_OF])
        if cls.__post_init__.__module__ == __name__:
            cls.independent = frozenset(cls.bounds)

    # A declaration is a handle, therefore equal only to itself.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def _refuse(self, name: str) -> NoReturn:
        """Raise an error that names `set`: a change of the attribute would not reach the compiled plan."""
        title = type(self).__name__
        if name in self.coefficients:
            handle = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", title).lower()
            raise dataclasses.FrozenInstanceError(f"{title} cannot be changed; write world.set({handle}, {name}=...)")
        raise dataclasses.FrozenInstanceError(f"{title} cannot be changed, and {name!r} is none of its coefficients")

    def __post_init__(self) -> None:
        for name in self.bounds:
            if not lazy(getattr(self, name)):
                self.__dict__[name] = self._checked(name, getattr(self, name))

    def _checked(self, name: str, value: Any) -> np.ndarray:
        return validation.numbers(f"{type(self).__name__}({name})", value, *self.bounds[name])

    # Changes at run time.

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of constructor arguments that can be changed later: not functions, pairs, walls and joints."""
        return self._coefficients

    @property
    def per_body(self) -> dict[str, str]:
        """Coefficients that may be given per body, each "number" or "vector"; numbers before vectors."""
        return self._per_body

    def changed(self, coefficients: dict[str, Any]) -> Self:
        """Return a copy with other coefficients, checked as in the constructor."""
        if self.independent.issuperset(coefficients):
            # The constructor checks only the bounds of these, so unchanged coefficients need no second check.
            return self._with(**{name: self._checked(name, coefficients[name]) for name in coefficients})
        for name in coefficients:
            if name not in self.coefficients:
                known = ", ".join(self.coefficients) or "none that can be changed"
                hint = validation.meant(name, self.coefficients)
                raise TypeError(f"{type(self).__name__}: expected coefficients ({known}), got {name!r}{hint}")
        return dataclasses.replace(self, **coefficients)

    def _with(self, **values: Any) -> Self:
        """Return a copy with other values that were already checked."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **values)
        return other

    def equals(self, other: Declaration) -> bool:
        """Return whether this declaration may replace another one with equal contents."""
        return type(self) is type(other)

    def declared_values(self) -> dict[str, Any]:
        """Return the contents as arrays, numbers and strings: equal for equal declarations of a class."""
        values = {name: getattr(self, name) for name in self._fields}
        if values.get("generations", self) is None:
            del values["generations"]
        return values

    def computed(self) -> Self:
        """Return a copy with dask arrays computed."""
        arrays = {name: np.asarray(value) for name, value in vars(self).items() if lazy(value)}
        return dataclasses.replace(self, **arrays) if arrays else self

    def doubts(self, plan: Plan, dt: float) -> str | None:
        """Return a warning about instability with steps of dt, or None."""
        return None

    def placed(self, position: np.ndarray, periodic: Periodic | None = None) -> Self:
        """Return a copy with omitted coefficients measured from the initial positions, by minimum image in a box."""
        return self

    def bound_to(self, slots: Slots) -> Self:
        """Return a copy bound to the current (or next) generation of each slot. Constraints and springs override it."""
        return self

    def compile(self, plan: Plan) -> None:
        """Add the declaration to a plan."""
        raise NotImplementedError

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        """Return the record fields that depend on these coefficients; None if anything else depends on them.

        names: may include "mass", for declarations with a constraint record, if the plan has other masses.
        before: all fields of the record before the change. The result equals what `compile` would add, with the same
        checks. `set` then writes it in place into the arrays that kernels read, without a new plan.
        """
        return None

    def shifted(self, offset: np.ndarray) -> Self:
        """Return a copy in coordinates whose origin lies at -offset."""
        values = {name: value for name in self.places if (value := getattr(self, name)) is not None}
        moved = {
            name: tuple(part.shifted(offset) for part in value) if isinstance(value, tuple) else value + offset
            for name, value in values.items()
        }
        return dataclasses.replace(self, **moved) if moved else self

    # Coefficients in the shapes that plans need: one value for all bodies, or one per body.

    def _scalars(self, plan: Plan, name: str) -> np.ndarray:
        array = getattr(self, name)
        if array.ndim == 0:
            return array.reshape(1)
        return validation.per_body(f"{type(self).__name__}({name})", getattr(self, name), plan.n)

    def _scaled(self, plan: Plan, name: str, share: Literal["inverse_mass", "mobility"]) -> np.ndarray:
        """Return a coefficient times the inverse mass or mobility of the plan."""
        return self._scalars(plan, name) * getattr(plan, share)

    def _vectors(self, plan: Plan, name: str) -> np.ndarray:
        """Return a coefficient as vectors of shape (1, dim) or (n, dim)."""
        array: np.ndarray = getattr(self, name)
        if array.shape == (plan.dim,):
            return array.reshape(1, plan.dim)
        return validation.per_body_vectors(f"{type(self).__name__}({name})", getattr(self, name), plan.n, plan.dim)


def known(base: type[Any]) -> set[type[Any]]:
    """Return the classes that users can instantiate: the leaves below `base` in this package."""
    package = __package__ + "."
    for module in sys.modules[__package__]._NAMES:  # lazy modules define their classes on import
        if module.startswith(("constraints.", "forces.")):
            import_module(package + module)
    # Leave out users' subclasses.
    derived = [cls for cls in base.__subclasses__() if cls.__module__.startswith(package)]
    return set().union(*map(known, derived)) or {base}


def declared(
    argument: str, plural: str, base: type[Any], given: Iterable[Any], compute: bool = True
) -> tuple[Any, ...]:
    """Return the declarations as a tuple; raise TypeError for anything else."""

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
    except (TypeError, NotImplementedError):  # NotImplementedError: a two-dimensional buffer
        raise refused(given, "a sequence of ") from None
    for declaration in declarations:
        if not isinstance(declaration, base):
            raise refused(declaration, "")
    return tuple(declaration.computed() for declaration in declarations) if compute else declarations
