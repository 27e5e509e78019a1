"""Base classes of constraints.

Constraints are applied after each step, in the order of their `turn`, and within a turn in declared order; `Damping`
is applied last. Only `Contacts` keeps state between steps: its impulses, which snapshots contain.

No constraint moves pinned or infinitely heavy bodies. Other bodies share a correction by the inverse of their masses.
`verlet` derives the next step from positions, not velocities: constraints then also correct the previous position, to
agree with the corrected position and velocity.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from ..declaration import Declaration

if TYPE_CHECKING:
    from ..stepper.model import Plan


class AfterStep(Declaration):
    """Base of declarations that act on the state after a step: constraints, and forces such as `FloorFriction`."""

    #: Order of application: 0 floor friction and pins; 1 distances; 2 collisions; 3 walls, shapes and contacts, which
    #: decide the final positions; 4 sensors, which record these; 5 periodic boundaries, which wrap them.
    turn = 3
    #: Whether bodies bounce off or rest on this constraint: `ElasticCollisions` applies it after each sweep, `cast`
    #: hits it.
    solid = False
    #: Priority of the field `radius` as the radius of bodies: the lowest rank above 0 counts. Rank 0: no such field.
    radius_rank = 0

    @property
    def pins(self) -> np.ndarray:
        """Indices of the bodies that this constraint fixes in place."""
        return np.zeros(0, np.int64)

    @property
    def distances(self) -> tuple[Any, ...]:
        """The `Distance` constraints contained in this constraint."""
        return ()

    #: Whether collisions between bodies are recorded as events.
    reports_pairs = False

    def sides(self, plan: Plan) -> int | None:
        """Return the number of walls or shapes that record events; None if the constraint records none."""
        return None

    def most_sides(self, plan: Plan) -> int:
        """Return the largest number of walls or shapes that one body can touch at a time."""
        return min(self.sides(plan) or 0, 8)


class Constraint(AfterStep):
    """Base of all constraints."""


#: Values of fields that a pair lacks when records are joined: rigid, of fixed length, unbreakable, first generation.
ABSENT = {
    "compliance": -1.0, "drag_first": 0.0, "drag_second": 0.0, "unit": 1.0, "lower": -1.0, "upper": -1.0, "limit": -1.0,
    "generations": 1,
}  # fmt: skip
#: Limit of a pair whose breaks_at is infinite: its load is stored in each step, because snapshots contain it.
NEVER_BREAKS = -2.0
ALL_BITS = 2**64 - 1
#: Maximal number of shapes that touch one body in a step: the nearest ones.
SHAPES_PER_BODY = 8
#: Prefixes of changed coefficients of a `Contacts` that belong to its shapes or its joints.
OF_SHAPES, OF_JOINTS = "shapes.", "joints."


def bits(name: str, value: Any) -> np.ndarray:
    """Validate bit masks, a number or one per body; return a read-only copy in uint64."""
    array = validation.plain(name, value)
    unsure = array.dtype == object or isinstance(value, (list, tuple))  # ints of 2**63 and more
    if (array.dtype.kind not in "iu" and not unsure) or validation.holds_bool(value):
        raise TypeError(f"{name}: expected ints of up to 64 bits, got {validation.show(value)}")
    if array.ndim > 1:
        raise ValueError(f"{name}: expected an int or shape (n,), got {array.shape}")
    try:
        if array.dtype.kind in "iu":
            sound = array.dtype.kind == "u" or array.size == 0 or array.min() >= 0
        else:
            # As objects: NumPy makes floats of a list with small ints and ints of 2**63 and more.
            each = np.array(value, object).ravel().tolist()
            sound = all(0 <= number <= ALL_BITS and number == int(number) for number in each)
        if not sound:
            raise ValueError(f"{name}: expected ints from 0 to 2**64 - 1, got {validation.show(value)}")
    except (TypeError, ArithmeticError):  # Decimals raise ArithmeticError
        raise TypeError(f"{name}: expected ints of up to 64 bits, got {validation.show(value)}") from None
    array = np.array(value, np.uint64)
    array.flags.writeable = False
    return array


def flags(name: str, value: Any) -> np.ndarray:
    """Validate a bool, or one per body; return a read-only copy."""
    array = np.array(validation.plain(name, value))
    if array.dtype != bool:
        raise TypeError(f"{name}: expected True or False, or bool of shape (n,), got {validation.show(value)}")
    if array.ndim > 1:
        raise ValueError(f"{name}: expected a bool or shape (n,), got {array.shape}")
    array.flags.writeable = False
    return array


#: Fields of collision filters, and the functions that validate them.
_FILTERS = {"category": bits, "mask": bits, "sensor": flags}


class Filtered(Constraint):
    """Base of constraints with collision filters.

    Subclasses have the fields `category`, `mask` and `sensor`. Two bodies collide if the category of each is in the
    mask of the other. A body collides with a wall or shape if its category is in the mask given for that body.
    """

    independent = frozenset(_FILTERS)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _FILTERS:
            if hasattr(self, name):
                object.__setattr__(self, name, self._checked(name, getattr(self, name)))

    def _checked(self, name: str, value: Any) -> np.ndarray:
        if name in _FILTERS:
            return _FILTERS[name](f"{type(self).__name__}({name})", value)
        return super()._checked(name, value)

    def _filters(self, plan: Plan) -> dict[str, np.ndarray]:
        """Return the record fields of filters that differ from the defaults."""
        category, mask = self._scalars(plan, "category"), self._scalars(plan, "mask")
        sensor = self._scalars(plan, "sensor")
        found: dict[str, np.ndarray] = {}
        if (category != 1).any() or (mask != ALL_BITS).any():
            found |= {"category": category, "mask": mask}
        if sensor.any():
            found["sensor"] = np.broadcast_to(sensor, (plan.n,)).astype(np.uint8)
        return found

    def _changed_filters(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        """Return changed record fields of filters, or {} if no filter changes; None if fields appear or disappear."""
        if _FILTERS.keys().isdisjoint(names):
            return {}
        fields = self._filters(plan)
        return fields if all((name in fields) == (name in before) for name in _FILTERS) else None

    def _selected(self, plan: Plan, owner: Filtered | None = None) -> np.ndarray:
        """Return for each body whether its category passes the mask of a wall or shape.

        owner: the `Contacts` that contains the wall or shape, if any. Its category replaces the default category, 1.
        """
        category = self._scalars(plan, "category")
        if owner is not None and len(category) == 1 and category[0] == 1:
            category = owner._scalars(plan, "category")
        filter_field = (category & self._scalars(plan, "mask")) != 0
        return np.broadcast_to(filter_field, (plan.n,))


def pinned(plan: Plan) -> np.ndarray:
    """Return all pinned bodies as generation << 32 | index, ascending; the generation defaults to 1."""
    ids = [np.zeros(0, np.int64)]
    for constraint in plan._pins:
        pins = validation.within("Pin(indices)", constraint.pins, plan.n)
        if len(pins):
            generations = getattr(constraint, "generations", None)
            ids.append(pins | (np.int64(1) if generations is None else generations) << 32)
    bodies = np.sort(np.concatenate(ids))
    twice = bodies[1:][bodies[1:] == bodies[:-1]]
    if twice.size:
        raise ValueError(f"Pin(indices): expected each body once in all pins, got {twice[0] % 2**32} twice")
    return bodies


def weights(plan: Plan, bodies: np.ndarray | None = None, generations: np.ndarray | None = None) -> np.ndarray:
    """Return 1/m of bodies, by default of all; 0 for pinned and infinitely heavy bodies."""
    return plan.weights if bodies is None else weights_of(plan, bodies, generations)


def weights_of(plan: Plan, bodies: np.ndarray, generations: np.ndarray | None = None) -> np.ndarray:
    weight = np.broadcast_to(plan.inverse_mass, (plan.n,))[bodies]
    if plan._pins:
        weight[np.isin(bodies | (np.int64(1) if generations is None else generations) << 32, pinned(plan))] = 0
    return weight


def generation_fields(generations: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the record field of generations; no field for None."""
    return {} if generations is None else {"generations": generations}


def countable(name: str, plan: Plan, most: int = 2**31) -> None:
    """Check that indices and counts of bodies fit into the 32 bits that kernels use."""
    if plan.n >= most:
        raise ValueError(f"{name}: expected fewer than {most} bodies, got {plan.n}")
