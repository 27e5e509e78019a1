"""Plan: the numeric description of a stepper, which both the reference and the kernels run.

A stepper creates a new `Plan` when it is constructed, and for each change. Forces are checked against the bodies and
divided by masses. Affine forces are merged into one acceleration per component,

    a = g - c (v - w) - k (x - p),

and all coefficients are rounded to the dtype of the state. Accelerations are summed in a fixed order: the
affine part, the records, the interactions, each in declared order. After each step the constraints follow, by
kind. Unless stated otherwise, an array of a plan has one row for all bodies or one row per body.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy as np

from ..constraints.base import Constraint, weights_of
from ..constraints.periodic import Periodic, check_company, periodic_among
from ..declaration import Declaration, once
from ..engine.serving import common_ends
from ..forces.base import Term
from ..integrators.base import Integrator, shown
from ..integrators.verlet import Verlet
from . import energies, merging, step_numbers
from .additions import RECIPROCAL, Additions, check_finite
from .pieces import ConstraintRecord, InteractionRecord, Part, Record
from .tying import sprung, tied

_F64 = np.dtype(np.float64)
#: Record fields that are derived from other fields or from the declaration: the fingerprint excludes them.
DERIVED = ("pair", "member", "unit")

Changed = Mapping[int, tuple[Part | None, Collection[str]]]
#: Attributes that a plan computes at first use and copies from the previous plan, except the first one; all are
#: recomputed if masses, pins or the periodic box differ.
_COMPUTED = ("fingerprint", "weights", "rounded_weights", "applied_share", "weight")
#: The turns (see `AfterStep`) of distances, which are merged, and of walls, which may form corners.
_DISTANCES, _WALLS = 1, 3


def _column(symbol: str, place: int | None = None) -> Any:
    """Return a property that reads the sum of a column in float64 (None), its rounded sum (0) or rounded mean (1)."""

    def read(plan: Plan) -> np.ndarray:
        column = plan._columns[symbol]
        return column.total if place is None else column.rounded[place]

    return property(read)


class Plan(Additions):
    """The compiled form of integrator, forces, constraints and masses for n bodies in dim dimensions.

    previous: a plan whose unchanged parts are reused. changed: id of a changed declaration -> (its previous part or
    None, the names of changed coefficients). idle: disabled declarations.
    """

    events_enabled: bool = False  #: whether events are enabled
    motion: Any = None  #: `Motion` of the stepper; None if no shape moves
    impulses: Any = None  #: impulse storage of contacts, owned by the stepper
    loads: dict[int, np.ndarray] = {}  # noqa: RUF012 #: arrays of `Distance` by id, owned by the stepper: loads.py
    rotating: Any = None  #: `Spin` of the stepper; None if bodies do not rotate
    n: int
    dim: int
    dtype: np.dtype
    mass: np.ndarray  #: kg, one or one per body
    inverse_mass: np.ndarray  #: 1/m; zero for infinite mass
    mobility: np.ndarray  #: factor on gravity: 1, or 0 for infinite mass
    finite_mass: np.ndarray  #: m, or 0 for infinite mass, which energies exclude
    periodic: Any = None
    torus: Any = None  #: the periodic box; None for open space
    records: list[Record]
    interactions: list[InteractionRecord]
    applied: list[np.ndarray]  #: forces in users' arrays, (n, dim), which `held` adds to g
    torques: list[np.ndarray]  #: torques in users' arrays, (n,) or (n, 3)
    #: Velocity stored for a linked body at rest, as a share of delta_v, per body: see `add_links`.
    at_rest: np.ndarray | None = None
    drag: bool
    linked = False
    links: Sequence[np.ndarray] = ()  #: linked bodies
    _parts: dict[int, Part]  #: by id of the declaration, including disabled ones; a part refers to its declaration
    _pins: Sequence[Constraint] = ()
    _late: Sequence[Part] = ()  #: the parts of forces that act like constraints
    _held: Sequence[Part] = ()  #: the parts of constraints, in declared order; they act after `_late`
    _turns: Sequence[list[ConstraintRecord]] = ([],) * 6  #: the constraint records of all these parts, by turn
    _event_velocities: bool  #: True if forces other than linear drag depend on velocities
    _shares: list[merging.Share]
    _columns: dict[str, merging.Column]
    _ties: Sequence[ConstraintRecord] = ()  #: the merged records of `Distance`: see tying.py
    _undragged: list[ConstraintRecord]  #: the constraint records without the fields that `_drag` adds
    contacts: dict[str, np.ndarray] | None = None  #: the fields of `Contacts`, if the model has them

    def __init__(
        self,
        n: int,
        dim: int,
        dtype: np.dtype,
        mass: np.ndarray,
        integrator: Integrator,
        forces: Iterable[Term],
        constraints: Iterable[Constraint] = (),
        previous: Plan | None = None,
        changed: Changed = MappingProxyType({}),
        idle: Iterable[Declaration] = (),
    ) -> None:
        own, same = vars(self), previous is not None and previous.mass is mass
        if previous is not None:
            own.update(vars(previous))  # keeps attributes that this change does not affect
        self.n, self.dim, self.dtype = n, dim, dtype
        self.mass = mass
        self.uniform_mass = len(mass) == 1
        self.integrator = integrator
        self.forces, self.constraints, self._idle = tuple(forces), tuple(constraints), tuple(idle)
        self.disabled = tuple([each for each in self._idle if not isinstance(each, Term)])  #: constraints only
        if not same:
            self._derive_masses(previous)
        then = () if previous is None else previous.constraints
        ends = head, tail = common_ends(then, self.constraints)
        gone, come = then[head : len(then) - tail], self.constraints[head : len(self.constraints) - tail]
        if gone or come:
            self._surround((*gone, *come))
            own.pop("_numbers", None)
        known = {} if previous is None else self._known(previous)
        if previous is not None and not same:
            changed = self._with_masses(changed, previous)
        whole = previous is None or known is not previous._parts  # True if all parts must be collected again
        for name in _COMPUTED if whole else _COMPUTED[:1]:
            own.pop(name, None)
        self._parts = known.copy()
        if previous is not None:
            left = {*map(id, (*previous.forces, *gone, *previous._idle))}
            for key in left.difference(map(id, (*self.forces, *come, *self._idle))):
                self._parts.pop(key, None)
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is detected below
            if whole or self.forces != previous.forces:  # type: ignore[union-attr]
                self._push(changed, previous)
                self._merge(previous)
            if whole or self._late != previous._late:  # type: ignore[union-attr]
                self._hold(previous, changed, 0, 0)
            elif gone or come:
                self._hold(previous, changed, *ends)
            check_company(self)
        self.velocity_dependent = self.drag or self._event_velocities
        # Linked bodies: forces use the last step's velocity (x - x_prev)/h. The second-order velocity would add half a
        # step of gravity, which the links cancel later, but on which drag would act.
        if self.linked and isinstance(self.integrator, Verlet) and self.integrator.velocity == "backward":
            self.velocity_dependent = False
        self.integrator.check(self)
        self._drag(previous)
        self.idle = [self._parts[id(each)] for each in self._idle if id(each) in self._parts]

    def _surround(self, moved: tuple[Any, ...]) -> None:
        """Find the periodic box and the pins, on which all constraints depend. moved: added and removed constraints."""
        if [each for each in moved if isinstance(each, Periodic)]:
            self.periodic = periodic_among(self.constraints)
            self.torus = None if self.periodic is None else self.periodic.torus(self.dim, self.dtype)
        if [each for each in moved if type(each).pins is not Constraint.pins]:
            pins = [each for each in self.constraints if type(each).pins is not Constraint.pins and len(each.pins)]
            self._pins = self._pins if pins == self._pins else pins

    def _known(self, previous: Plan) -> dict[int, Part]:
        """Return the parts of `previous` that this plan can reuse."""
        parts = previous._parts
        if previous.periodic is not self.periodic:
            return {}  # separations between bodies differ
        if self.mass is not previous.mass:
            if self.mobility is not previous.mobility:
                return {}
            other = np.broadcast_to(self.mass != previous.mass, (self.n,))
            weighed = {key: part.declaration.weighed for key, part in parts.items()}
            parts = {
                key: part for key, part in parts.items() if weighed[key] is not None and not other[weighed[key]].any()
            }
        if self._pins is previous._pins:
            return parts
        # Constraints and springs per mass depend on the pins: if the pins differ, compile all of them again.
        return {
            key: part
            for key, part in parts.items()
            if not (part.constraint_records or part.linked or any(each.term.per_mass for each in part.interactions))
        }

    def _with_masses(self, changed: Changed, previous: Plan) -> Changed:
        """Add "mass" to the changes of each part of `previous`; {} if the box differs (all parts are recompiled)."""
        if previous.periodic is not self.periodic:
            return {}
        masses: dict[int, tuple[Part | None, Collection[str]]] = {
            key: (part, {"mass"}) for key, part in previous._parts.items()
        }
        return masses | {key: (part, {*names, "mass"}) for key, (part, names) in changed.items()}

    def _push(self, changed: Changed, previous: Plan | None) -> None:
        """Collect the contributions of all forces."""
        known = () if previous is None else previous.interactions
        self.records, self.interactions, self._shares = [], [], []
        self.applied, self.torques, self._late = [], [], []
        for each in self.forces:
            part = self._part_of(each, changed)
            self.records += part.records
            self.interactions += part.interactions
            self._shares += part.affine
            for term in part.applied:
                (self.torques if term.turns else self.applied).append(term.array)
            if part.constraint_records:
                self._late.append(part)
        self.interactions = sprung(self.interactions, known)
        self._event_velocities = any(record.velocity_dependent for record in self.records) or any(
            interaction.term.velocity_dependent for interaction in self.interactions
        )
        if sum([interaction.kind == "langevin" for interaction in self.interactions]) > 1:
            raise ValueError("forces: expected at most one Langevin, got more")

    def _hold(self, previous: Plan | None, changed: Changed, head: int, tail: int) -> None:
        """Collect the contributions of constraints. The first `head` and the last `tail` are the same as in `previous`.

        Results to which only unchanged constraints contribute are reused.
        """
        gone, last = self._held[head : len(self._held) - tail], self._held[len(self._held) - tail :]
        come = [self._part_of(each, changed) for each in self.constraints[head : len(self.constraints) - tail]]
        self._held = [*self._held[:head], *come, *last]
        if head + tail == 0:
            gone, come = [*(() if previous is None else previous._late), *gone], [*self._late, *come]
        turned, walled, linked = set(), previous is None, False
        for part in (*gone, *come):
            turned.update([record.constraint.turn for record in part.constraint_records])
            walled, linked = walled or len(part.walls) > 0, linked or part.linked
        if walled:
            self._corners = self._colliding(tuple([wall for part in self._held for wall in part.walls]), previous)
        self._turns = [*self._turns]
        for turn in turned:
            self._turns[turn] = self._in_turn(turn, gone, come, last)
        if _DISTANCES in turned:
            before = () if previous is None else previous._turns[_DISTANCES]
            self._ties = tied(self.n, self._turns[_DISTANCES], self._ties, before)
        self.constraint_records = self._undragged = [
            *self._turns[0], *self._ties, *self._turns[2], *self._with_corners(self._turns[_WALLS]), *self._turns[4],
            *self._turns[5],
        ]  # fmt: skip
        then, now = [[(id(part.links), part.linked) for part in parts] for parts in (gone, come)]
        if linked and then != now:
            parts = [*self._late, *self._held]
            self.linked = any(part.linked for part in parts)
            self.links = [bodies for part in parts for bodies in part.links]
            self.at_rest = np.zeros(self.n, self.dtype) if self.links else None
            if self.at_rest is not None:
                self.at_rest[np.concatenate(self.links)] = 0.5 - self.integrator.velocity_lag
        if _WALLS in turned:
            self.contacts = next((record.fields for record in self._turns[_WALLS] if record.kind == "contacts"), None)
            if self.contacts is not None:
                from ..constraints.contacts import check_walls

                check_walls(self)

    def _part_of(self, declaration: Any, changed: Changed) -> Part:
        """Return the part of a declaration: reused, updated for a change, or compiled."""
        part = self._parts.get(id(declaration))
        if part is None:
            before, names = changed.get(id(declaration), (None, ()))
            if before is not None:
                part = self._with_fields(before, declaration, names)
            if part is None:
                part = self._compile(declaration)
                if before is not None:
                    part.follow(before)
            self._parts[id(declaration)] = part
        return part

    def _with_fields(self, part: Part, now: Any, names: Collection[str]) -> Part | None:
        """Return a part with replaced fields in its only record; None if the coefficients affect anything else."""
        whole: tuple[Any, ...] = (*part.interactions, *part.constraint_records)
        if len(whole) != 1 or part.records or part.affine or (part.interactions and "mass" in names):
            return None  # `factor` of a force also depends on masses
        (record,) = whole
        which = "interactions" if part.interactions else "constraint_records"
        if part.interactions and now.velocity_dependent != record.term.velocity_dependent:
            return None
        fields = now.fields_of(self, names, record.fields)
        if fields is None:
            return None
        other = Part()
        vars(other).update(vars(part), declaration=now)
        setattr(other, which, (record.changed(record.fields | self._rounded(fields, now), now),))
        other.walls = (now,) if part.walls else ()
        return other

    def _colliding(self, walls: tuple[Any, ...], previous: Plan | None) -> Part:
        """Return the part with the corner constraint, which depends on all walls."""
        self._part = part = Part()
        if walls:
            from ..constraints.walls import add_corners

            add_corners(self, list(walls))
        if previous is not None:
            part.follow(previous._corners)
        part.walls = walls
        return part

    def _with_corners(self, records: list[ConstraintRecord]) -> list[ConstraintRecord]:
        """Return the records of walls in declared order, with the corner constraint before the first wall."""
        corners = self._corners.constraint_records
        first = [record.constraint for record in records].index(self._corners.walls[0]) if corners else 0
        return [*records[:first], *corners, *records[first:]]

    def _in_turn(
        self, turn: int, gone: Sequence[Part], come: Sequence[Part], after: Sequence[Part]
    ) -> list[ConstraintRecord]:
        """Return the records of a turn, in declared order, with those of `come` in place of those of `gone`.

        after: the parts that follow the replaced parts.
        """
        old, new = (
            [record for part in parts for record in part.constraint_records if record.constraint.turn == turn]
            for parts in (gone, come)
        )
        records = self._turns[turn]
        behind = (each for part in after for each in part.constraint_records if each.constraint.turn == turn)
        following = old[0] if old else next(behind, None)
        place = len(records) if following is None else records.index(following)
        return [*records[:place], *new, *records[place + len(old) :]]

    def _drag(self, previous: Plan | None) -> None:
        """Set the drag of both ends for compliant distances under velocity Verlet."""
        drags = self.drag and any(record.splits for record in self._ties)
        if not drags:
            self.constraint_records = self._undragged
            return
        if previous is not None and self._undragged == previous._undragged and np.array_equal(self._c, previous._c):
            self.constraint_records = previous.constraint_records
            return
        drag = self._c + np.zeros(self.n)
        self.constraint_records = [
            record.changed(
                record.fields
                | self._rounded(
                    {f"drag_{end}": drag[record.fields[end]] for end in ("first", "second")}, record.constraint
                ),
                record.constraint,
            )
            if record.splits
            else record
            for record in self._undragged
        ]

    def _merge(self, previous: Plan | None) -> None:
        """Merge the affine forces, and compute the flags that depend on them."""
        known = {} if previous is None else previous._columns
        self._columns = merging.columns(self._shares, self.dim, known, self._rounded_column)
        self.drag, self.wind = self._columns["c"].acts
        self.spring, self.damped = self._columns["k"].acts[0], self._columns["rate"].acts[0]
        self.turned = self._columns["omega"].acts[0]
        self.spin_damped = self._columns["spin"].acts[0]
        self._remembered = step_numbers.still_true(self, previous)

    def _rounded_column(self, name: str, array: np.ndarray) -> np.ndarray:
        if name not in ("rate", "omega", "spin"):
            return self._round(name, array)
        check_finite(name, array, _F64)  # stays in float64: only results derived from it are rounded
        return array

    def _derive_masses(self, previous: Plan | None) -> None:
        infinite = np.isinf(self.mass)
        self.inverse_mass, mobility = 1 / self.mass, np.where(infinite, 0.0, 1.0)
        if previous is None or not np.array_equal(mobility, previous.mobility):
            self.mobility = mobility
        self.finite_mass = np.where(infinite, 0.0, self.mass)

    def _compile(self, declaration: Any) -> Part:
        """Compile a declaration; return the part with its rounded coefficients."""
        self._part = part = Part()
        part.declaration = declaration
        declaration.compile(self)
        return part

    @once
    def weights(self) -> np.ndarray:
        """Return 1/m of each body; 0 for bodies that no constraint moves (pinned, or of infinite mass)."""
        weights = weights_of(self, np.arange(self.n))
        weights.flags.writeable = False
        return weights

    @once
    def rounded_weights(self) -> np.ndarray:
        return self._round(RECIPROCAL, self.weights, "mass")

    def owners(self, record: ConstraintRecord) -> list[np.ndarray]:
        """Return the load arrays of the `Distance` declarations that are merged in a record, see loads.py."""
        members = [*map(attrgetter("constraint"), record.members)] or record.constraint.distances
        return [*map(self.loads.__getitem__, map(id, members))]

    def numbered(self, before: Plan | None) -> list[tuple[np.ndarray, None, np.ndarray]]:
        """Return the writes of constraint numbers into row 0 of load arrays, where the number has changed.

        before: the previous plan, whose numbers the arrays have; None for the first plan.
        """
        if not self.loads:
            return []
        then = () if before is None else before.constraints
        head, tail = common_ends(then, self.constraints)
        last = len(self.constraints) - (tail if len(then) == len(self.constraints) else 0)
        constraints = enumerate(self.constraints[head:last], head)
        rows = [(self.loads[id(each)][:1], number) for number, every in constraints for each in every.distances]
        values = np.zeros((len(rows), 1, 2))
        values[:, 0, 0] = [number for _, number in rows]
        return [(row, None, value) for (row, number), value in zip(rows, values, strict=True) if row[0, 0] != number]

    def source(self, record: ConstraintRecord) -> int:
        """Return the number of a record's constraint; -1 for a force that acts like a constraint."""
        return self._numbers.get(id(record.constraint), -1)

    @once
    def _numbers(self) -> dict[int, int]:
        return {id(constraint): number for number, constraint in reversed([*enumerate(self.constraints)])}

    def held(self) -> np.ndarray:
        """Return g plus the current forces in users' arrays, in the dtype of the state, for the next call of `step`.

        a = g + F / m, in the order of the forces; a = g for bodies of infinite mass.
        """
        if not self.applied:
            return self.g
        total, share = self.g, self.applied_share[:, None]
        with np.errstate(all="ignore"):  # non-finite results are detected after the step
            for force in self.applied:
                total = total + np.where(share > 0, force * share, self.dtype.type(0))
        return total

    @once
    def applied_share(self) -> np.ndarray:
        """Return 1/m, the factor on forces in users' arrays: one number, or one per body."""
        return self._round(RECIPROCAL, self.inverse_mass, "mass")

    @once
    def weight(self) -> np.ndarray:
        """Return each mass divided by the largest one: the weights of inner products over all bodies."""
        return self._round("mass", self.finite_mass / (self.finite_mass.max(initial=0) or 1))

    decay = step_numbers.decay
    spin_decay = step_numbers.spin_decay
    turn = step_numbers.turn
    flow = step_numbers.flow
    composition = step_numbers.composition
    evaluation_times = step_numbers.evaluation_times
    check_direction = step_numbers.check_direction
    energy = energies.energy

    @once
    def fingerprint(self) -> str:
        """Return a digest of all that determines steps, except the state and dt."""
        import hashlib  # imported late: it is slow to import, and few programs need it

        digest = hashlib.blake2b(f"{self.n} {self.dim} {self.dtype} {shown(self.integrator)}".encode(), digest_size=16)
        affine = [self.mass, self.g, self.c, self.w, self.k, self.p, self.rate]
        if self.turned:
            affine.append(self.omega)
        if self.spin_damped:
            affine.append(self.spin)
        described: list[Record | InteractionRecord | ConstraintRecord] = [
            *self.records,
            *self.interactions,
            *self.constraint_records,
        ]
        records = [
            (record.kind, [field for name, field in record.fields.items() if name not in DERIVED])
            for record in described
        ]
        for name, arrays in [("affine", affine), *records]:
            digest.update(name.encode())
            for array in arrays:
                digest.update(f"{array.shape}".encode())
                digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        if self.applied:
            digest.update(f"applied {len(self.applied)}".encode())
        if self.torques:
            digest.update(f"torques {len(self.torques)}".encode())
        for interaction in self.interactions:
            digest.update(f"{interaction.term.label} {interaction.term.velocity_dependent}".encode())
        return digest.hexdigest()

    # Merged coefficients of the affine forces: `_c` and `_k` in float64, for `Exact`; all others rounded to the dtype
    # of the state, for steps.
    _c, _k = _column("c"), _column("k")
    g, c, w = _column("g", 0), _column("c", 0), _column("c", 1)
    k, p = _column("k", 0), _column("k", 1)
    rate, omega, spin = _column("rate", 0), _column("omega", 0), _column("spin", 0)
