"""Another declaration in the place of one: what of a plan stays, and what is other. Plans have these as methods."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ..declaration import Declaration
from ..forces.base import Term
from ..integrators.euler import EnergyEuler
from . import merging
from .pieces import ConstraintRecord, InteractionRecord, Part, Refill

if TYPE_CHECKING:
    from .model import Plan

#: What a plan computes of its coefficients when it is asked.
_FOLLOWING = frozenset(("fingerprint", "_beside", "_exact_affine", "_rounded_affine"))


def replaced(self: Plan, before: Declaration, now: Declaration) -> Plan | None:
    """The same plan with another declaration in the place of one; None where more than its own part follows from it.

    That is so of what couples bodies, and of drag that pairs held before the step are told. The plan is what a plan
    made with the other would be. Lists and records that stay are the same objects.
    """
    old = self._parts[id(before)]
    if old.coupled:
        return None
    # Affine terms see to it themselves that what overflows is refused, and is no warning.
    part = self._compile(now) if now.affine else self._compile_alone(now)  # type: ignore[attr-defined]
    plan = _with_part(self, before, now, part)
    parts = plan._parts
    if old.records or part.records:
        plan.records = [record for term in plan.forces for record in parts[id(term)].records]
    if old.affine or part.affine:
        plan._merge(self)
    plan.integrator.check(plan)
    records = self.constraint_records
    if records and any(record.splits for record in records) and not np.array_equal(plan._c, self._c):
        return None
    return plan


def renumbered(self: Plan, before: Term, trial: Term) -> list[float] | None:
    """`numbers` with another affine term in the place of one; None where more follows from it than these.

    trial: what `plainly` makes of the term. It is what `replaced` comes to.
    """
    if self.numbers is None:
        return None
    dim, beside = self.dim, self.__dict__.get("_beside")
    if beside is None or beside[0] is not before:
        place = next(place for place, term in enumerate(self.forces) if term is before)
        sums = [self._parts[id(term)].affine for term in self.forces]
        self._beside = beside = (before, sum(sums[:place], ()), sum(sums[place + 1 :], ()))
    shares = (*beside[1], *self._compile(trial).affine, *beside[2])
    numbers, _, _ = merging.summed(shares, self.dim)
    drag, wind, spring = numbers[-2] != 0, any(numbers[dim : 2 * dim]), numbers[-1] != 0
    if drag is not self.drag or wind is not self.wind or spring is not self.spring:
        return None
    if not self._ordinary(numbers):
        return None
    if isinstance(self.integrator, EnergyEuler) and trial.conservative != before.conservative:
        return None
    if self.constraint_records and any(record.splits for record in self.constraint_records):
        return None
    return numbers


def _with_part(self: Plan, before: Declaration, now: Declaration, part: Part) -> Plan:
    """The same with another declaration in the place of one, before anything is made of its part."""
    plan = object.__new__(type(self))
    plan.__dict__ = state = self.__dict__.copy()
    for name in _FOLLOWING.intersection(state):
        del state[name]
    which = "forces" if before in self.forces else "constraints"
    state[which] = tuple([now if one is before else one for one in state[which]])
    state["_parts"] = parts = self._parts.copy()
    del parts[id(before)]
    parts[id(now)] = part
    return plan


def refilled(self: Plan, before: Declaration, now: Declaration, names: Collection[str]) -> tuple[Plan, Refill] | None:
    """The same plan with other numbers in the fields of one record; None where more follows from them.

    names: the coefficients in which `now` differs from `before`. The plan is what a plan made with `now` would be.
    """
    made, old = refill(self, before, now, names), self._parts[id(before)]
    if made is None:
        return None
    fields = made.fields
    part = Part()
    part.__dict__.update(old.__dict__)
    plan = _with_part(self, before, now, part)
    if old.interactions:
        one = old.interactions[0]
        interaction = InteractionRecord(one.kind, now, one.factor, one.fields | fields)
        part.interactions = (interaction,)
        plan.interactions = [interaction if each is one else each for each in self.interactions]
        return plan, made
    kept = old.constraint_records[0]
    record = ConstraintRecord(kept.kind, now, kept.fields | fields)
    part.constraint_records, part.walls = (record,), (now,) if old.walls else ()
    place = next(i for i, each in enumerate(self.constraint_records) if each.constraint is before)
    plan.constraint_records = [*self.constraint_records]
    plan.constraint_records[place] = self._dragged(record)
    return plan, made


def refill(self: Plan, before: Declaration, now: Declaration, names: Collection[str]) -> Refill | None:
    """The fields that are others then, of the record that acts."""
    old = self._parts[id(before)]
    whole: tuple[Any, ...] = (*old.interactions, *old.constraint_records)
    if len(whole) != 1 or (old.walls and self._corners.constraint_records):
        return None
    one: InteractionRecord | ConstraintRecord = whole[0]
    if isinstance(one, InteractionRecord) and now.velocity_dependent != one.term.velocity_dependent:  # type: ignore[attr-defined]
        return None
    fields = self._fields_of(now, names, one.fields)  # what overflows is refused
    if fields is None:
        return None
    if isinstance(one, ConstraintRecord):  # the one that acts may have been told of drag
        alone = (each for each in self.constraint_records if each.constraint is before and not each.members)
        one = next(alone, None)  # type: ignore[assignment]
        if one is None:  # with others it is one system
            return None
    return Refill(one, self._rounded(fields))
