"""The terms and constraints of a stepper: as they were given, and as they are now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..declaration import Declaration, once
from ..forces.base import Term

if TYPE_CHECKING:
    from .base import StepperBase

#: How many that were added and removed since a stepper knows, to find them in snapshots: different ones, and how many
#: of each that look alike there, and are not.
MOST_ADDED, MOST_ALIKE = 4096, 64


class Origin:
    """A declaration as it was given, when the stepper was made or later."""

    def __init__(self, number: int | None, handle: Declaration, first: Declaration, at: np.ndarray) -> None:
        self.number = number  #: among those that the stepper was made with; None where it was added
        self.handle = handle  #: by which it is changed: the last one, where equal ones were added in turn
        self.first = first  #: the same, with lengths measured
        self.at = at  #: the stepper's offset then: places are told in coordinates of that
        self.removed = False  #: has it ever been?

    @once
    def token(self) -> str:
        """A key that is different for each declaration, and the same on every machine."""
        from hashlib import blake2b  # which brings OpenSSL: as long as a tenth of our import

        digest = blake2b(type(self.first).__name__.encode(), digest_size=16)
        told = self.first.told()
        if self.first.places:
            told["at"] = self.at
        for name, value in told.items():
            digest.update(f" {name} ".encode())
            if isinstance(value, np.ndarray):
                digest.update(f"{value.shape} ".encode())
                value = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
            digest.update(value if isinstance(value, bytes) else repr(value).encode())
        return digest.hexdigest()


class Entry(NamedTuple):
    """A declaration that a stepper has, with today's values."""

    origin: Origin
    now: Declaration  #: `origin.first`, unless it was changed
    at: np.ndarray  #: the offset whose coordinates `now` is told in
    enabled: bool
    offset: np.ndarray | None  #: today's
    today: Declaration | None  #: `now` in today's coordinates
    joints: tuple[tuple[Declaration, bool] | None, ...] | None = None  #: of `Contacts`, unless as declared: joints.py

    @property
    def added(self) -> bool:
        """Was it added since the stepper was made?"""
        return self.origin.number is None

    def shifted(self, offset: np.ndarray) -> Entry:
        """The same in the coordinates of an offset."""
        if self.offset is offset or (self.offset is not None and np.array_equal(self.offset, offset)):
            return self
        return self._replace(offset=offset, today=at_offset(self.now, offset - self.at))


def at_offset(declaration: Declaration, way: np.ndarray) -> Declaration:
    """The same in coordinates that are so far off."""
    return declaration.shifted(way) if way.any() else declaration


def entered(origins: Iterable[Origin]) -> tuple[Entry, ...]:
    """The entries of what a stepper is made with, as it was given."""
    return tuple(Entry(origin, origin.first, origin.at, True, origin.at, origin.first) for origin in origins)


def acting(entries: Iterable[Entry]) -> dict[str, Any]:
    """The terms and constraints that are switched on, as a plan takes them, and those that are off."""
    today = [entry.today for entry in entries if entry.enabled]
    idle = [entry.today for entry in entries if not entry.enabled]
    terms = next((number for number, each in enumerate(today) if not isinstance(each, Term)), len(today))
    return {"forces": today[:terms], "constraints": today[terms:], "idle": idle}


def same(a: Any, b: Any) -> bool:
    """Are two coefficients the same, to the bit?"""
    if a is b:
        return True
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Declaration) and isinstance(b, Declaration):
        return type(a) is type(b) and same(tuple(a.told().values()), tuple(b.told().values()))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.tobytes() == b.tobytes() and a.dtype == b.dtype
    return type(a) is type(b) and bool(a == b)


def differences(now: Declaration, then: Declaration) -> dict[str, Any]:
    """The coefficients of a declaration that are not those of another; and for whom it is now, if it is for others."""
    names = [*now.coefficients, "tenants"] if "indices" in now.coefficients else now.coefficients
    return {name: getattr(now, name) for name in names if not same(getattr(now, name), getattr(then, name))}


# What a stepper keeps of them, made when it is first asked for: who changes nothing does not wait for it.


def declared(self: StepperBase) -> tuple[Origin, ...]:
    """All that the stepper was made with; snapshots find what was removed since."""
    # The stepper's own, where it is still that: what is the same object needs no comparison.
    offset = np.zeros(self._plan.dim) if self._offset.any() else self._offset
    pairs = zip(self._handles, self._firsts, strict=True)
    return tuple(Origin(number, *pair, offset) for number, pair in enumerate(pairs))


def added(self: StepperBase) -> dict[str, tuple[Origin, ...]]:
    """The declarations that were added later, by token."""
    return {}


def by_handle(self: StepperBase) -> WeakKeyDictionary[Declaration, tuple[Origin, ...]]:
    known: WeakKeyDictionary[Declaration, tuple[Origin, ...]] = WeakKeyDictionary()
    for origin in self._declared:
        known[origin.handle] = (*known.get(origin.handle, ()), origin)
    return known


def entries(self: StepperBase) -> tuple[Entry, ...]:
    """In the order in which they act, forces before constraints."""
    return tuple(entry.shifted(self._offset) for entry in entered(self._declared))


def give_name(self: StepperBase, origin: Origin, handle: Declaration) -> None:
    known = self._by_handle.get(handle, ())
    if origin not in known:
        self._by_handle[handle] = (*known, origin)
    origin.handle = handle


def given_so_far(self: StepperBase) -> tuple[Any, ...]:
    """For pickle and copies: the handles of what was declared; those of what was added, with what became of it."""
    added = [origin for origins in self._added.values() for origin in origins]
    return (
        [origin.handle for origin in self._declared],
        [(origin.handle, origin.first, origin.at, origin.removed) for origin in added],
    )


def take_given(self: StepperBase, given: tuple[Any, ...]) -> None:
    handles, added = given
    self._by_handle = WeakKeyDictionary()
    for origin, handle in zip(self._declared, handles, strict=True):
        give_name(self, origin, handle)
    for handle, first, at, removed in added:
        origin = Origin(None, handle, first, at)
        origin.removed = removed
        give_name(self, origin, handle)
        self._added[origin.token] = (*self._added.get(origin.token, ()), origin)


def remember(self: StepperBase, origin: Origin) -> None:
    """Know an origin for as long as a snapshot may ask for it; of those that come and go, only so many."""
    if origin.number is not None:
        return
    known = self._added.pop(origin.token, ())
    self._added[origin.token] = known if origin in known else (*known, origin)  # which makes the token the newest
    present = {id(origin), *(id(entry.origin) for entry in self._entries)}
    absent = [old for old in known if id(old) not in present][: max(0, len(self._added[origin.token]) - MOST_ALIKE)]
    for token in [*self._added][: max(0, len(self._added) - MOST_ADDED)]:
        if not any(id(old) in present for old in self._added[token]):
            absent += self._added.pop(token)
    for old in absent:
        _forget(self, old)


def _forget(self: StepperBase, origin: Origin) -> None:
    """Let go of an origin, and of what it is known by: that would not go by itself, as an origin keeps it."""
    alike = tuple(old for old in self._added.get(origin.token, ()) if old is not origin)
    if alike:
        self._added[origin.token] = alike
    for handle in {origin.handle, origin.first}:
        named = tuple(old for old in self._by_handle.pop(handle, ()) if old is not origin)
        if named:
            self._by_handle[handle] = named
