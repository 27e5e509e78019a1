"""Entries: the forces and constraints of a stepper, as declared and with their current values."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice
from operator import is_not, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .. import validation
from ..declaration import Declaration, once
from ..forces.base import Term

if TYPE_CHECKING:
    from .base import StepperBase

#: Limits on removed declarations that are kept for restoring snapshots: number of distinct tokens, and number of
#: declarations per token (different objects that a snapshot cannot distinguish).
MOST_ADDED, MOST_ALIKE = 4096, 64


class Origin:
    """A declaration as passed to the constructor or to `add`."""

    def __init__(self, number: int | None, handle: Declaration, first: Declaration, at: np.ndarray) -> None:
        self.number = number  #: index in the constructor's declarations; None if added later
        self.handle = handle  #: the user's object; if equal objects were added one after another, the latest
        self.first = first  #: the declaration, with omitted lengths measured
        self.at = at  #: total `shift` of the stepper at the declaration: its positions are in those coordinates
        self.label = 0  #: index among the added declarations with an equal token, in the order of `add`

    @once
    def loads(self) -> tuple[np.ndarray, ...]:
        """The load arrays of its `Distance` declarations, see loads.py; initially nothing is loaded or broken."""
        return tuple(np.zeros((1 + len(each.pairs), 2)) for each in getattr(self.first, "distances", ()))

    @once
    def token(self) -> str:
        """Key that identifies the declared values, identical on every machine."""
        from hashlib import blake2b  # imported late: it loads OpenSSL, which is slow

        described = self.first.declared_values()
        if self.first.places:
            described["at"] = self.at
        parts = [type(self.first).__name__.encode()]
        for name, value in described.items():
            parts.append(f" {name} ".encode())
            if isinstance(value, np.ndarray):
                parts.append(f"{value.shape} ".encode())
                value = little_endian(value)
            parts.append(value if isinstance(value, bytes) else repr(value).encode())
        return blake2b(b"".join(parts), digest_size=16).hexdigest()

    @property
    def key(self) -> str:
        """The token and the label. The label distinguishes forces in users' arrays: the token ignores contents."""
        return f"{self.token}+{self.label}" if self.label else self.token


class Entry(NamedTuple):
    """A declaration of a stepper with its current values."""

    origin: Origin
    now: Declaration  #: the current values; `origin.first` if unchanged
    at: np.ndarray  #: total `shift` that defines the coordinates of `now`
    enabled: bool
    offset: np.ndarray | None  #: current total `shift` of the stepper
    today: Declaration | None  #: `now` in the current coordinates
    joints: tuple[tuple[Declaration, bool] | None, ...] | None = None  #: joints of `Contacts`; None: as declared

    @property
    def added(self) -> bool:
        """True if the declaration was added after construction."""
        return self.origin.number is None

    def shifted(self, offset: np.ndarray) -> Entry:
        """Return the entry in the coordinates of another offset."""
        if self.offset is offset or (self.offset is not None and np.array_equal(self.offset, offset)):
            return self
        return self._replace(offset=offset, today=at_offset(self.now, offset - self.at))


def little_endian(array: np.ndarray) -> bytes:
    """Return the items of an array as bytes that are equal on every machine."""
    return (array if sys.byteorder == "little" else array.astype(array.dtype.newbyteorder("<"))).tobytes()


def at_offset(declaration: Declaration, displacement: np.ndarray) -> Declaration:
    """Return a declaration in coordinates displaced by `displacement`."""
    return declaration.shifted(displacement) if displacement.any() else declaration


def entered(origins: Iterable[Origin]) -> tuple[Entry, ...]:
    """Create the initial entries of the constructor's declarations."""
    return tuple(Entry(origin, origin.first, origin.at, True, origin.at, origin.first) for origin in origins)


def apart(declarations: Iterable[Declaration], entries: Iterable[Entry] = ()) -> tuple[Any, ...]:
    """Return the declarations, with copies of constraints that occur more than once or already have an entry.

    Loads and breaks of pairs, and positions of shapes, are stored per object: identical objects would share them.
    """
    seen = {id(each) for entry in entries for each in (entry.today, *_parts(entry.today))}
    return tuple([_apart(each, seen) for each in declarations])


def _parts(declaration: Any) -> tuple[Any, ...]:
    return (*getattr(declaration, "shapes", ()), *getattr(declaration, "joints", ()))


def _apart(declaration: Any, seen: set[int]) -> Any:
    parts: dict[str, Any] = {}
    if _parts(declaration):
        parts = {
            name: tuple([_apart(each, seen) for each in getattr(declaration, name)]) for name in ("shapes", "joints")
        }
        parts = {name: own for name, own in parts.items() if any(map(is_not, own, getattr(declaration, name)))}
    if parts or (id(declaration) in seen and not isinstance(declaration, Term)):
        handle, declaration = getattr(declaration, "handle", None), declaration._with(**parts)
        declaration = declaration if handle is None else declaration.named(handle)
    seen.add(id(declaration))
    return declaration


def acting(entries: Iterable[Entry]) -> dict[str, Any]:
    """Return the arguments of `Plan`: enabled forces, enabled constraints, and disabled declarations (idle)."""
    found: dict[str, list[Any]] = {"forces": [], "constraints": [], "idle": []}
    for entry in entries:
        today = entry.today
        name = "idle" if not entry.enabled else "forces" if isinstance(today, Term) else "constraints"
        found[name].append(today)
    return found


def same(a: Any, b: Any) -> bool:
    """Return whether two coefficients are bitwise equal."""
    if a is b:
        return True
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Declaration) and isinstance(b, Declaration):
        return type(a) is type(b) and same(tuple(a.declared_values().values()), tuple(b.declared_values().values()))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.tobytes() == b.tobytes() and a.dtype == b.dtype
    return type(a) is type(b) and bool(a == b)


def differences(now: Declaration, then: Declaration) -> dict[str, Any]:
    """Return the coefficients (and generations) of `now` that differ from those of `then`, by name."""
    names = [*now.coefficients, "generations"] if "indices" in now.coefficients else now.coefficients
    return {name: getattr(now, name) for name in names if not same(getattr(now, name), getattr(then, name))}


def places_of(self: StepperBase, declaration: Any) -> list[int]:
    """Return the indices of a declaration's entries."""
    if not isinstance(declaration, Declaration):
        raise TypeError(f"declaration: expected a force or constraint, got {validation.show(declaration)}")
    origins = self._by_handle.get(declaration, ())
    places = [
        place for place, entry in enumerate(self._entries) if entry.origin in origins or entry.today is declaration
    ]
    if not places:
        name = type(declaration).__name__
        if origins:
            raise ValueError(f"declaration: expected one that this stepper has, got {name}, which was removed")
        attribute = "forces" if isinstance(declaration, Term) else "constraints"
        alike = [place for place, each in enumerate(getattr(self, attribute)) if type(each) is type(declaration)]
        hint = f"; here {attribute}[{alike[0]}] is a {name}, by which it can be changed too" if alike else ""
        raise ValueError(
            f"declaration: expected one that this stepper was given, the object itself, got another {name} (a copy "
            f"of a stepper has copies of them){hint}"
        )
    return places


# Functions for attributes that steppers compute at first use, as a stepper without changes needs none of them.


def declared(self: StepperBase) -> tuple[Origin, ...]:
    """Return the origins of the constructor's declarations, including removed ones, for snapshots."""
    # Reuse the stepper's own offset if possible: identical objects need no comparison.
    offset = np.zeros(self._plan.dim) if self._offset.any() else self._offset
    pairs = zip(self._handles, self._firsts, strict=True)
    return tuple(Origin(number, *pair, offset) for number, pair in enumerate(pairs))


def added(self: StepperBase) -> dict[str, tuple[Origin, ...]]:
    """Return the declarations added after construction, by token."""
    return {}


def by_handle(self: StepperBase) -> WeakKeyDictionary[Declaration, tuple[Origin, ...]]:
    known: WeakKeyDictionary[Declaration, tuple[Origin, ...]] = WeakKeyDictionary()
    for origin in self._declared:
        known[origin.handle] = (*known.get(origin.handle, ()), origin)
    return known


def entries(self: StepperBase) -> tuple[Entry, ...]:
    """Return the entries in the order of evaluation, forces before constraints."""
    return tuple(entry.shifted(self._offset) for entry in entered(self._declared))


#: Minimum number of earlier numberings to keep. At twice this number, the older half is dropped.
MOST_NUMBERINGS = 4096
#: (tick, constraints): events after this tick, up to the next numbering, number the constraints in this order.
Numbering = tuple[float, tuple[Origin, ...]]
#: (earlier numberings, the number of valid ones, current numbering). Changes that failed or were undone leave others.
Numberings = tuple[list[Numbering], int, Numbering]


def numberings(self: StepperBase) -> Numberings:
    return [], 0, (-math.inf, acting_constraints(self._entries))


def numbered(self: StepperBase, tick: int, entries: tuple[Entry, ...] | None = None) -> dict[str, Any]:
    """Return {"_numberings": new value} if `entries` act after `tick`; {} if unchanged. Drop later numberings."""
    if entries is None and "_numberings" not in vars(self):
        return {}  # nothing was ever added, removed or disabled
    (known, count, last), now = self._numberings, acting_constraints(self._entries if entries is None else entries)
    if last[1] == now and last[0] <= tick:
        return {}
    if last[0] < tick:
        known = known[:count] if count < len(known) else known
        known.append(last)
        if count + 1 == 2 * MOST_NUMBERINGS:
            known = known[MOST_NUMBERINGS:]
        return {"_numberings": (known, len(known), (tick, now))}
    count = bisect_left(known, tick, 0, count, key=itemgetter(0))
    if count and known[count - 1][1] == now:
        return {"_numberings": (known, count - 1, known[count - 1])}
    return {"_numberings": (known, count, (tick, now))}


def sources_of(self: StepperBase, declaration: Any) -> dict[Origin, tuple[float, float]]:
    """Return the origins of a constraint (also a removed one), each with a range of numbers of walls and shapes.

    For a wall or shapes within `Contacts`, the origins are those of the `Contacts`.
    """
    if not isinstance(declaration, Declaration) or isinstance(declaration, Term):
        raise TypeError(f"declaration: expected a constraint, got {validation.show(declaration)}")
    origins = [entry.origin for entry in self._entries if entry.today is declaration]
    found = dict.fromkeys((*origins, *self._by_handle.get(declaration, ())), (-math.inf, math.inf))
    known = {origin: origin.handle for origin in (*self._declared, *(o for each in self._added.values() for o in each))}
    for origin, owner in (*known.items(), *((entry.origin, entry.today) for entry in self._entries)):
        first = 0
        for part in (*getattr(owner, "walls", ()), *getattr(owner, "shapes", ())):
            last = first + (part.sides(self._plan) or 0)
            if part is declaration:
                found[origin] = first, last
            first = last
    if not found:
        raise ValueError(
            f"declaration: expected a constraint that this stepper has or had, the object itself, got another "
            f"{type(declaration).__name__}"
        )
    return found


def acting_constraints(entries: tuple[Entry, ...]) -> tuple[Origin, ...]:
    return tuple([entry.origin for entry in entries if entry.enabled and not isinstance(entry.now, Term)])


def give_name(self: StepperBase, origin: Origin, handle: Declaration) -> None:
    known = self._by_handle.get(handle, ())
    if origin not in known:
        self._by_handle[handle] = (*known, origin)
    origin.handle = handle


def given_so_far(self: StepperBase) -> tuple[Any, ...]:
    """Return data for pickle and copies: handles, and (handle, first, at, label) of added declarations."""
    added = [origin for origins in self._added.values() for origin in origins]
    return (
        [origin.handle for origin in self._declared],
        [(origin.handle, origin.first, origin.at, origin.label) for origin in added],
    )


def take_given(self: StepperBase, given: tuple[Any, ...]) -> None:
    handles, added = given
    self._by_handle = WeakKeyDictionary()
    for origin, handle in zip(self._declared, handles, strict=True):
        give_name(self, origin, handle)
    for handle, first, at, label in added:
        origin = Origin(None, handle, first, at)
        origin.label = label
        give_name(self, origin, handle)
        self._added[origin.token] = (*self._added.get(origin.token, ()), origin)


def remember(self: StepperBase, origin: Origin) -> None:
    """Register an origin for restoring snapshots; drop removed origins beyond the limits."""
    if origin.number is not None:
        return
    known = self._added.pop(origin.token, ())
    self._added[origin.token] = known if origin in known else (*known, origin)  # now the newest: dropped last
    present = {id(origin), *(id(entry.origin) for entry in self._entries)}
    absent = [old for old in known if id(old) not in present][: max(0, len(self._added[origin.token]) - MOST_ALIKE)]
    for token in [*islice(self._added, max(0, len(self._added) - MOST_ADDED))]:
        if not any(id(old) in present for old in self._added[token]):
            absent += self._added.pop(token)
    for old in absent:
        _forget(self, old)


def _forget(self: StepperBase, origin: Origin) -> None:
    """Drop an origin, also from `_by_handle`: a weak key would not expire, as the origin refers to its handle."""
    alike = tuple(old for old in self._added.get(origin.token, ()) if old is not origin)
    if alike:
        self._added[origin.token] = alike
    for handle in {origin.handle, origin.first}:
        named = tuple(old for old in self._by_handle.pop(handle, ()) if old is not origin)
        if named:
            self._by_handle[handle] = named
