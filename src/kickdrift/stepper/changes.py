"""Changes between two ticks: coefficients, forces, constraints, masses and the arrays themselves.

A stepper has one entry per declaration, in the order of evaluation. Entries are immutable. A change builds new entries,
a new plan and a new binding, and `_commit` replaces all three at once. Therefore a changed stepper equals one that was
constructed with the changed values, and a rejected change has no effect.

Functions without an underscore that take a stepper as `self` become its methods in base.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import validation
from ..constraints.base import OF_JOINTS, OF_SHAPES, Constraint
from ..declaration import Declaration
from ..engine.serving import between
from ..forces.base import Term
from . import joints, motion
from .entries import Entry, Origin, acting, apart, at_offset, differences, give_name, places_of, remember, same
from .loads import first_saved, loads_after
from .model import Plan
from .rows import with_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..rollback.impulses import Level
    from .base import StepperBase

D = TypeVar("D", bound=Declaration)


def set(self: StepperBase, declaration: Declaration, /, *unnamed: Any, index: Any = None, **coefficients: Any) -> None:
    """Change coefficients of a force or constraint, from the next step on.

    declaration: the object passed to the stepper, or its current version in `forces` or `constraints`. The original
    object stays valid after a change. If the stepper has it twice, both change. Joints and shapes of `Contacts` are
    declarations too. coefficients: any arguments of its constructor except functions, pairs, walls and joints, in the
    same units and shapes. Positions are in the current coordinates, if the stepper was shifted. Measured lengths stay
    the same, unless you give them; None measures them again. index: the bodies whose coefficients change, as for
    `set_mass`: an int, slice, array of ints or mask, or ids. Give one value for all these bodies or one value each. If
    left out, all bodies change. Coefficients are copied: changing an array that you passed has no effect, call `set`
    instead.

    Setting one number takes some 40 microseconds, in a world of any size, and up to 1 more for each other force or
    constraint that was declared; some 130 for shapes and joints of `Contacts`. Enabling or disabling any of 5,000
    shapes takes some 1 ms. Moving shapes rebuilds their tree: 9 ms for a thousand, 40 ms in `Contacts`. Rates of
    `Damping`, and drag and stiffness under `exact`, take some 40 microseconds for each distinct value. Raises TypeError
    or ValueError as the constructors do, RuntimeError during a step; nothing has changed then. Thread-safety: as
    `step`.

    >>> import kickdrift as kd
    >>> wind = kd.LinearDrag(1.0, wind=(2.0,))
    >>> leaf = kd.Stepper([[0.0]], dt=0.5, integrator="explicit_euler", forces=[wind])
    >>> leaf.set(wind, wind=(8.0,))
    >>> leaf.step()
    >>> leaf.velocity.tolist(), leaf.current(wind).wind.tolist()
    ([[4.0]], [8.0])
    >>> balls = kd.ElasticCollisions(1.0)
    >>> world = kd.Stepper([[0.0], [5.0], [9.0]], constraints=[balls])
    >>> world.set(balls, radius=3.0, index=[1])
    >>> world.current(balls).radius.tolist()
    [1.0, 3.0, 1.0]
    """
    if unnamed:
        known = "=..., ".join(getattr(declaration, "coefficients", ())) or "coefficient"
        raise TypeError(f"set: expected coefficients by name, got {validation.show(unnamed[0])}; write {known}=...")
    places = self._exclusively(_set, self, declaration, coefficients, index)
    if "damping" in coefficients:
        self._warn_of(_standing(self, places))


def _set(self: StepperBase, declaration: Declaration, coefficients: dict[str, Any], index: Any) -> list[int]:
    """Change coefficients; return the indices of the declaration's entries ([] for a part of `Contacts`)."""
    if parts := joints.found(self, declaration):
        _set_joints(self, parts, coefficients, index)
        return []
    shapes = motion.found(self, declaration)
    if shapes and index is None and motion.set_speeds(self, shapes, coefficients):
        return []
    if shapes and motion.are_contacts(self, shapes):
        _set_shapes(self, shapes, coefficients, index)
        return []
    entries, places = [*self._entries], places_of(self, declaration)
    if index is not None and "index" in declaration.coefficients:  # here a parameter of an expression, not bodies
        coefficients, index = {**coefficients, "index": index}, None
    given, changed = coefficients, {}
    for place in places:
        if index is not None:
            given = _of_rows(self, entries[place], coefficients, index)
        entry = entries[place]
        if "shapes" in given:
            given = {**given, "shapes": motion.present(entry, given["shapes"])}
        entries[place] = with_coefficients(self, entry, given, self._plan)
        changed[id(entries[place].today)] = self._plan._parts.get(id(entry.today)), given
    follow: dict[tuple[int, int], int | None] = {}
    for place in places:
        if motion.shapes_of(entries[place]):
            follow |= motion.followed(entries[place], self._entries[place], given, place)
    _change(self, tuple(entries), places, changed, follow=follow)
    return places


def _set_joints(self: StepperBase, parts: list[tuple[int, int]], coefficients: dict[str, Any], index: Any) -> None:
    """Change coefficients of joints of `Contacts`."""

    def other(state: Any, first: Any) -> Any:
        entry = _alone(self, first, state[0])
        given = coefficients if index is None else _of_rows(self, entry, coefficients, index)
        return with_coefficients(self, entry, given, self._plan).now, state[1]

    entries, names, changed = joints.changed(self, parts, other), [OF_JOINTS + name for name in coefficients], {}
    for place, _ in parts:
        changed[id(entries[place].today)] = self._plan._parts.get(id(self._entries[place].today)), names
    _change(self, entries, changed=changed)


def _set_shapes(self: StepperBase, shapes: list[tuple[int, int]], coefficients: dict[str, Any], index: Any) -> None:
    """Change coefficients of shapes of `Contacts`."""

    def given_to(part: Any) -> dict[str, Any]:
        return coefficients if index is None else _of_rows(self, _alone(self, part, part), coefficients, index)

    new, follow = motion.changed(self, shapes, given_to)
    entries, names, changed = [*self._entries], [OF_SHAPES + name for name in coefficients], {}
    for place, level in new.items():
        part = self._plan._parts.get(id(entries[place].today))
        entries[place] = with_coefficients(self, entries[place], {"shapes": level}, self._plan)
        changed[id(entries[place].today)] = part, names
    _change(self, tuple(entries), new, changed, follow=follow)


def _alone(self: StepperBase, first: Declaration, now: Declaration) -> Entry:
    """Return an entry for a part of `Contacts`, as if the part was declared in the current coordinates."""
    return Entry(Origin(None, first, first, self._offset), now, self._offset, True, self._offset, now)


def _of_rows(self: StepperBase, entry: Entry, coefficients: dict[str, Any], index: Any) -> dict[str, Any]:
    """Return the coefficients of all bodies, with those of the indexed bodies replaced."""
    if isinstance(index, np.ndarray):
        index = validation.plain("index", index)
    rows = np.ravel(validation.rows(self._rows_of(index), self.n))
    assert entry.today is not None
    return with_rows(entry.origin.first, entry.today, coefficients, rows, self.n, self.dim)


def with_coefficients(self: StepperBase, entry: Entry, coefficients: dict[str, Any], plan: Plan) -> Entry:
    """Return an entry with changed coefficients. The coefficients are given in the current coordinates."""
    origin, offset = entry.origin, self._offset
    base, at = entry.now, entry.at
    if at is not offset and not base.places.isdisjoint(coefficients) and (at != offset).any():
        assert entry.today is not None
        base, at = entry.today, offset
    if motion.is_placed(base, coefficients):
        base, at = motion.posed(self, entry.today), offset
    now = base.changed(coefficients).placed(self._position, plan.periodic)
    if "shapes" in coefficients:
        (now,) = apart([now])
    if "indices" in coefficients and self._slots is not None:
        now = now.bound_to(self._slots)
    for name in coefficients:
        if at is origin.at and not same(getattr(now, name), getattr(origin.first, name)):
            break
    else:
        then = at_offset(origin.first, at - origin.at)
        if entry.joints is None and not differences(now, then):
            now, at = origin.first, origin.at  # declared values again: canonical form, for equal snapshots
    today = now if at is offset else at_offset(now, offset - at)
    return Entry(origin, now, at, entry.enabled, offset, today, entry.joints)


def current(self: StepperBase, declaration: D) -> D:
    """Return a force or constraint with its current values, after `set`, in the current coordinates.

    Raises TypeError or ValueError if the stepper does not have it, RuntimeError during a step.

    >>> import kickdrift as kd
    >>> spring = kd.AnchorSpring(2.0)
    >>> world = kd.Stepper([[1.0]], forces=[spring])
    >>> world.set(spring, stiffness=3)
    >>> world.current(spring)
    AnchorSpring(stiffness=array(3.), damping=array(0.), anchor=array(0.), per_mass=False)
    """
    return self._exclusively(_current, self, declaration)


def _current(self: StepperBase, declaration: Declaration) -> Declaration | None:
    for place, number in joints.found(self, declaration):
        state = joints.states(self._entries[place])[number]
        assert state is not None
        return state[0]
    for place, number in motion.found(self, declaration):
        if self._entries[place].now.kind == "contacts":
            return motion.posed(self, motion.shapes_of(self._entries[place])[number][2])
    return motion.posed(self, self._entries[places_of(self, declaration)[0]].today)


def enable(self: StepperBase, declaration: Declaration, enabled: bool = True) -> None:
    """Enable or disable a force or constraint, from the next step on. Its order and values stay the same.

    A disabled constraint forgets its contacts: enabled again, even before the next step, they begin anew, with a BEGIN.

    Raises TypeError, ValueError or RuntimeError as `set` does; nothing has changed then.

    >>> import kickdrift as kd
    >>> gravity = kd.Gravity((-10.0,))
    >>> ball = kd.Stepper([[0.0]], dt=0.5, forces=[gravity])
    >>> ball.enable(gravity, False)
    >>> ball.step()
    >>> ball.velocity.tolist(), ball.forces
    ([[0.0]], ())
    """
    self._exclusively(_enable, self, declaration, validation.flag("enabled", enabled))
    self._warn_of()


def _enable(self: StepperBase, declaration: Declaration, enabled: bool) -> None:
    if parts := joints.found(self, declaration):
        _change(self, joints.changed(self, parts, lambda state, _first: (state[0], enabled)))
        return
    _refuse_parts(self, declaration)
    entries = list(self._entries)
    for place in places_of(self, declaration):
        entries[place] = entries[place]._replace(enabled=enabled)
    _change(self, tuple(entries))


def _refuse_parts(self: StepperBase, declaration: Any) -> None:
    """Raise ValueError for shapes of `Contacts`, which are no constraints by themselves."""
    if motion.are_contacts(self, motion.found(self, declaration)):
        raise ValueError(
            f"declaration: expected a force or constraint, got {type(declaration).__name__} of Contacts: "
            f"set(shapes, enabled=False) disables them, set(contacts, shapes=...) replaces them"
        )


def add(self: StepperBase, declaration: D) -> D:
    """Add a force or constraint at the end, from the next step on. Returns it, for later changes.

    Lengths that were left out are measured now. A removed declaration, or an equal one, may be added again; it then has
    its original coefficients. Snapshots know declarations by their values, but an `AppliedForce` by the order of `add`:
    in the inputs of a rollback, add the same object again, do not make another. `restore` adds a removed declaration
    again if it is among the last 4,096, or the last 64 of `AppliedForce`. Raises TypeError or ValueError as the
    stepper's constructor does, and if the stepper already has it; RuntimeError during a step; nothing has changed then.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0], [1.5]], dt=0.5)
    >>> rope = world.add(kd.Distance([(0, 1)], length=1.0))
    >>> world.step()
    >>> world.position.tolist()
    [[0.25], [1.25]]
    """
    if not isinstance(declaration, (Term, Constraint)):
        raise TypeError(f"declaration: expected a force or constraint, got {validation.show(declaration)}")
    self._exclusively(_add, self, declaration)
    self._warn_of(_standing(self, places_of(self, declaration)))
    return declaration


def _add(self: StepperBase, declaration: Term | Constraint) -> None:
    present = {id(entry.origin) for entry in self._entries}
    mine = self._by_handle.get(declaration, ())
    if any(id(origin) in present for origin in mine):
        raise ValueError(
            f"declaration: expected one that this stepper does not have, got {type(declaration).__name__} again; "
            f"copy.copy makes another"
        )
    (first,) = apart([declaration.placed(self._position, self._plan.periodic)], self._entries)
    if self._slots is not None:
        first = first.bound_to(self._slots)
    origin = Origin(None, declaration, first, self._offset)
    known = self._added.get(origin.token, ())
    equal = [old for old in known if old.first.equals(first)]
    origin.label = equal[0].label if equal else max((old.label + 1 for old in known), default=0)
    # Reuse the origin of an equal, removed declaration: repeating a change then gives an identical snapshot.
    declared = (old for old in self._declared if old.first.equals(first) and old.token == origin.token)
    origin = next((old for old in (*declared, *equal) if id(old) not in present), origin)
    entry = Entry(
        origin, origin.first, origin.at, True, self._offset, at_offset(origin.first, self._offset - origin.at)
    )
    if isinstance(first, Term):
        first.probe(self._position, self._velocity)
    vars(origin).pop("loads", None)  # pairs of a declaration that is added again are neither loaded nor broken
    constraints = [entry for entry in self._entries if isinstance(entry.now, Constraint)]
    terms = self._entries[: len(self._entries) - len(constraints)]
    entries = (*self._entries, entry) if isinstance(first, Constraint) else (*terms, entry, *constraints)
    changes = _remade(self, self._offset, entries)
    # Registration is permanent, as snapshots may refer to it; only the entries determine which declarations act.
    give_name(self, origin, declaration)
    remember(self, origin)
    _take(self, changes)


def remove(self: StepperBase, declaration: Declaration) -> None:
    """Remove a force or constraint, from the next step on. Restoring an earlier snapshot adds it again.

    Raises TypeError or ValueError if the stepper does not have it, RuntimeError during a step; nothing has changed
    then.

    >>> import kickdrift as kd
    >>> gravity = kd.Gravity((-10.0,))
    >>> ball = kd.Stepper([[0.0]], forces=[gravity])
    >>> ball.remove(gravity)
    >>> ball.forces
    ()
    """
    self._exclusively(_remove, self, declaration)


def _remove(self: StepperBase, declaration: Declaration) -> None:
    if parts := joints.found(self, declaration):
        _change(self, joints.changed(self, parts, lambda _state, _first: None))
        return
    _refuse_parts(self, declaration)
    gone = places_of(self, declaration)
    left = tuple(entry for place, entry in enumerate(self._entries) if place not in gone)
    _take(self, _remade(self, self._offset, left))


def set_mass(self: StepperBase, value: ArrayLike, index: Any = None) -> None:
    """Change masses of bodies, from the next step on.

    value: kg, one number or one per body; numpy.inf for a body that no force accelerates. index: an int, slice,
    array of ints or mask of bodies, or ids; all if left out. Velocities stay the same, so momentum changes. All
    coefficients that are divided by mass are computed again, for all bodies.
    Raises TypeError, ValueError or IndexError, RuntimeError during a step; nothing has changed then.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0], [1.0], [2.0]], mass=2.0)
    >>> world.set_mass(3.0, index=[0, 2])
    >>> world.mass.tolist()
    [3.0, 2.0, 3.0]
    """
    self._exclusively(change_mass, self, value, index)
    self._warn_of()


def change_mass(self: StepperBase, value: ArrayLike, index: Any) -> None:
    mass = self._plan.mass
    if index is None:
        mass = validation.masses(value, self.n)
    else:
        if isinstance(index, np.ndarray):
            index = validation.plain("index", index)
        index = validation.rows(self._rows_of(index), self.n)
        given = validation.plain("value", value)
        if given.dtype.kind not in "iuf":
            raise TypeError(f"value: expected real numbers, got {validation.show(value)}")
        mass = mass + np.zeros(self.n)
        try:
            mass[index] = given
        except ValueError:
            shape = mass[index].shape
            raise ValueError(f"value: expected a number or shape {shape}, got shape {given.shape}") from None
        mass = validation.masses(mass, self.n)
    _take(self, shifted(self, self._offset, self._entries, canonical_masses(self, mass)))


def canonical_masses(self: StepperBase, mass: np.ndarray) -> np.ndarray:
    """Return the canonical form of masses, so that equal worlds have equal snapshots."""
    bodies = np.zeros(self.n)
    for known in (self._first_plan.mass, self._plan.mass):
        if self.n == 0 or (mass + bodies == known + bodies).all():
            return known
    if len(self._first_plan.mass) > 1:
        mass = mass + bodies
    elif (mass == mass[0]).all():
        mass = mass[:1]
    mass = np.ascontiguousarray(mass)
    mass.flags.writeable = False
    return mass


# Shared implementation.


def _standing(self: StepperBase, places: list[int]) -> list[Any]:
    """Return the current declarations of the entries at `places`, without disabled entries."""
    entries = [self._entries[place] for place in places]
    return [entry.today for entry in entries if entry.enabled]


def shifted(
    self: StepperBase,
    offset: np.ndarray,
    entries: tuple[Entry, ...] | None = None,
    mass: np.ndarray | None = None,
    **plan: Any,
) -> dict[str, Any]:
    """Return the `_commit` arguments for a plan with another offset, entries or masses; defaults: current values."""
    entries = tuple([entry.shifted(offset) for entry in (self._entries if entries is None else entries)])
    return _remade(self, offset, entries, mass, **plan)


def _remade(
    self: StepperBase,
    offset: np.ndarray,
    entries: tuple[Entry, ...],
    mass: np.ndarray | None = None,
    follow: Mapping[tuple[int, int], int | None] = MappingProxyType({}),
    before: tuple[Entry, ...] | None = None,
    **plan: Any,
) -> dict[str, Any]:
    """Return the `_commit` arguments for a plan whose entries are already in the coordinates of `offset`.

    before: the entries of the present plan, if they are not those of the stepper: see `renumber` of Worlds.
    """
    mass = self._plan.mass if mass is None else mass
    old = self._plan
    model = Plan(old.n, old.dim, old.dtype, mass, old.integrator, **acting(entries), previous=old, **plan)
    model.impulses = self._impulses_for(model, offset is not self._offset and not np.array_equal(offset, self._offset))
    attributes = {"_plan": model, "_offset": offset, "_entries": entries, "_impulses": model.impulses}
    gone, come = between(self._entries if before is None else before, entries)
    held = [entry for entry in (*gone, *come) if not isinstance(entry.now, Term)]
    if held:
        model.loads = loads_after(old.loads, gone, come)
    shapes = [each for entry in held if entry.now.kind in motion.HOLDERS for each in motion.shapes_of(entry)]
    if any(now.moves for _, now, _ in shapes):
        attributes["_motion"] = model.motion = motion.motion_of(self, entries, follow)
    if [(entry.origin, entry.enabled) for entry in gone] != [(entry.origin, entry.enabled) for entry in come]:
        attributes |= self._numbered(self.tick, entries)
    return {"binding": self._binding(model), "attributes": attributes}


def _change(
    self: StepperBase,
    entries: tuple[Entry, ...],
    checked: Iterable[int] = (),
    changed: Mapping[int, Any] = MappingProxyType({}),
    mass: np.ndarray | None = None,
    follow: Mapping[tuple[int, int], int | None] = MappingProxyType({}),
) -> None:
    """Replace the entries. Entries at the indices `checked` are validated even if disabled.

    changed: see Plan. follow: see Motion.
    """
    if not all(entries[place].enabled for place in checked):
        trial = [entry._replace(enabled=entry.enabled or place in checked) for place, entry in enumerate(entries)]
        plan = self._plan
        Plan(plan.n, plan.dim, plan.dtype, plan.mass, plan.integrator, **acting(trial), previous=plan)
    changes = _remade(self, self._offset, entries, mass, changed=changed, follow=follow)
    impulses = changes["attributes"]["_impulses"]
    if self._impulses is not None and impulses is not None and impulses.level is not self._impulses.level:
        _check_moves(self, changes["attributes"]["_plan"], self._impulses.level, impulses.level)
    if impulses is not self._impulses and self._events is not None and getattr(impulses, "moved", None) is not None:
        changes["touching"] = impulses.renumbered(self._plan, self._touching())
    changes["writes"] = first_saved(*between(self._entries, entries))
    _take(self, changes)


def _check_moves(self: StepperBase, plan: Plan, before: Level, now: Level) -> None:
    """Reject shapes that `set` moves far into bodies: without a velocity of the shapes, bodies would tunnel through."""
    fields = plan.contacts
    assert fields is not None
    alive = np.ones(plan.n, np.bool_) if self._slots is None else self._slots.alive.astype(np.bool_)
    found = now.moved_into(before, fields | {"weight": fields["weight"] * alive}, self._position)
    if found is not None:
        raise ValueError(
            f"Contacts(shapes): expected shapes that move by a radius into a body at most, got number {found[0]}, "
            f"which moves farther into body {found[1]}: move it by less in each step, or the body too"
        )


def _take(self: StepperBase, changes: dict[str, Any]) -> None:
    self._commit(numbers=self._numbers(changes["binding"], self._dt), **changes)
