"""Numbers that kernels read already, and that plan and entries are told when somebody asks for these.

Games set a wind or a thrust in every tick, and nobody looks at it in between. So `set` hands the
kernels what they read, and what else follows waits: it is made as by any other `set`. Both take the numbers from the
same places: of affine terms from `compile` and `merging`, of all others from `fields_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..declaration import Declaration

if TYPE_CHECKING:
    from .base import StepperBase
    from .entries import Entry

Value = TypeVar("Value")
_PLAIN = frozenset((float, int))


class Settled(Generic[Value]):
    """`_plan` or `_entries` of steppers: while numbers wait, they are not in the stepper's own `__dict__`, but here.

    So whoever sets nothing reads them as any attribute.
    """

    def __init__(self, make: Any = None) -> None:
        self.make = make

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    def __get__(self, stepper: Any, owner: type[Any]) -> Any:
        if stepper is None:
            return self
        own = stepper.__dict__
        while "_pending" in own or self.name in own:  # another thread may set, too
            settle(stepper)
            found = own.get(self.name)
            if found is not None:
                return found
        if self.make is None:
            raise AttributeError(f"{type(stepper).__name__!r} object has no attribute {self.name!r}")
        return own.setdefault(self.name, self.make(stepper))


def set_numbers(self: StepperBase, declaration: Declaration, coefficients: dict[str, Any]) -> bool:
    """Do what `set` does, where it is numbers alone that kernels read of it; else nothing.

    Raises what `set` raises where numbers do not fit into the plan.
    """
    own = self.__dict__
    pending = own.get("_pending")
    # Lists and arrays may have other numbers by the time that they are read again.
    for name, value in coefficients.items():
        if type(value) is list:
            coefficients = {**coefficients, name: tuple(value)}
    if pending is not None:
        handle, place, earlier, plan, entries = pending
        if handle is not declaration:
            return False
        coefficients = earlier | coefficients
    else:
        plan, entries = own["_plan"], own.get("_entries", ())
        place = _place(self, declaration, entries)
        if place < 0:
            return False
    today, pending = entries[place].today, (declaration, place, coefficients, plan, entries)
    if getattr(today, "affine", False):
        trial = today.plainly(coefficients, plan.dim)
        numbers = None if trial is None else plan.renumbered(today, trial)
        return numbers is not None and self._renumbered(numbers, pending)
    if not plan._parts[id(today)].coupled:
        return False
    for value in coefficients.values():
        if type(value) not in _PLAIN and not (type(value) is tuple and _PLAIN.issuperset(map(type, value))):
            return False
    try:
        now = today.changed(coefficients)
    except (TypeError, ValueError):
        return False  # `set` refuses what it was given, and here lists are tuples
    refill = plan.refill(today, now, coefficients) if now.placed(self._position, plan.periodic) is now else None
    writes = None if refill is None else self._refills(refill)
    if writes is None:
        return False
    self._commit(writes=writes, attributes={"_pending": pending})
    return True


def _place(self: StepperBase, declaration: Declaration, entries: tuple[Entry, ...]) -> int:
    """Where the only entry of a declaration is, whose numbers may wait; -1 for any other."""
    if not isinstance(declaration, Declaration):
        return -1
    origins = self._by_handle.get(declaration, ())
    places = [place for place, entry in enumerate(entries) if entry.origin in origins or entry.today is declaration]
    if len(places) != 1:
        return -1
    entry = entries[places[0]]
    # What was told in other coordinates would be rounded otherwise.
    here = entry.at is self._offset or not entry.now.places
    return places[0] if here and entry.enabled else -1


def settle(self: StepperBase) -> None:
    """Tell plan and entries what waits. Threads that do so at once do the same; what was set meanwhile goes on waiting.

    Kernels read these numbers already, so this may happen at any time, also while another thread steps.
    """
    from .changes import with_coefficients

    pending = self.__dict__.get("_pending")
    if pending is None:
        return
    _, place, coefficients, plan, entries = pending
    base = object.__new__(type(plan))  # plans are compiled by one thread at a time
    base.__dict__ = plan.__dict__.copy()
    entry = with_coefficients(self, entries[place], coefficients, base)
    today = entries[place].today
    changed = base.replaced(today, entry.today) or base.refilled(today, entry.today, coefficients)[0]
    entries = (*entries[:place], entry, *entries[place + 1 :])
    self._settle(pending, {"_plan": changed, "_entries": entries})
