"""WHAT holds the bodies: one small declaration per constraint.

Constraints are applied after each step, in the order of their kinds (`TURNS` in stepper/model.py), and of one kind
in the order given; `Damping` comes after them. They keep nothing from one step to the next, but for `Contacts`, whose
impulses are in snapshots.

Bodies that are pinned or infinitely heavy are moved by no other constraint; the rest share a correction
by the inverse of their masses. Under `verlet`, whose next step follows positions and not velocities, the
previous position is moved so that it agrees with what a constraint has made of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from ..declaration import Declaration

if TYPE_CHECKING:
    from ..stepper.model import Plan


class Constraint(Declaration):
    """Base of all constraints, which follow each step."""

    @property
    def pins(self) -> np.ndarray:
        """The indices of the bodies that this keeps where they are."""
        return np.zeros(0, np.int64)

    #: Do bodies that meet each other report it?
    meets = False

    def sides(self, plan: Plan) -> int | None:
        """How many walls or shapes this has that report whom they meet; None where nothing reports."""
        return None

    def most_sides(self, plan: Plan) -> int:
        """How many of them a body may touch at once."""
        return min(self.sides(plan) or 0, 8)


ALL_BITS = 2**64 - 1
#: Shapes that a body in contacts may touch in a step: the nearest ones.
SHAPES_PER_BODY = 8


def bits(name: str, value: Any) -> np.ndarray:
    """Bits as uint64, a number or one per body; a read-only copy."""
    array = validation.plain(name, value)
    unsure = array.dtype == object or isinstance(value, (list, tuple))  # such as numbers beyond 2**63
    if (array.dtype.kind not in "iu" and not unsure) or validation.holds_bool(value):
        raise TypeError(f"{name}: expected ints of up to 64 bits, got {validation.show(value)}")
    if array.ndim > 1:
        raise ValueError(f"{name}: expected an int or shape (n,), got {array.shape}")
    try:
        if array.dtype.kind in "iu":
            sound = array.size == 0 or array.min() >= 0
        else:
            sound = all(0 <= number <= ALL_BITS and number == int(number) for number in array.ravel().tolist())
        if not sound:
            raise ValueError(f"{name}: expected ints from 0 to 2**64 - 1, got {validation.show(value)}")
    except TypeError:
        raise TypeError(f"{name}: expected ints of up to 64 bits, got {validation.show(value)}") from None
    array = np.array(value, np.uint64)
    array.flags.writeable = False
    return array


def flags(name: str, value: Any) -> np.ndarray:
    """True or False, or one per body; a read-only copy."""
    array = np.array(validation.plain(name, value))
    if array.dtype != bool:
        raise TypeError(f"{name}: expected True or False, or bool of shape (n,), got {validation.show(value)}")
    if array.ndim > 1:
        raise ValueError(f"{name}: expected a bool or shape (n,), got {array.shape}")
    array.flags.writeable = False
    return array


class Filtered(Constraint):
    """Base of what takes notice of bodies by what they are.

    It has the fields `category`, `mask` and `sensor`. Of two bodies each must have a category that is in the other's
    mask; a wall or shape takes notice of bodies whose category is in their mask, of which one may be the wall's own.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, check in (("category", bits), ("mask", bits), ("sensor", flags)):
            if hasattr(self, name):
                object.__setattr__(self, name, check(f"{type(self).__name__}({name})", getattr(self, name)))

    def _filters(self, plan: Plan) -> dict[str, np.ndarray]:
        """As fields, where they say anything."""
        category, mask = self._scalars(plan, "category"), self._scalars(plan, "mask")
        sensor = self._scalars(plan, "sensor")
        found: dict[str, np.ndarray] = {}
        if (category != 1).any() or (mask != ALL_BITS).any():
            found |= {"category": category, "mask": mask}
        if sensor.any():
            found["sensor"] = np.broadcast_to(sensor, (plan.n,)).astype(np.uint8)
        return found

    def _noticed(self, plan: Plan) -> np.ndarray:
        """Of each body: does a wall or shape take notice of it?"""
        noticed = (self._scalars(plan, "category") & self._scalars(plan, "mask")) != 0
        return np.broadcast_to(noticed, (plan.n,))


def pinned(plan: Plan) -> np.ndarray:
    """All bodies that are pinned: generation << 32 | index, ascending; the generation is 1 where none is told."""
    ids = [np.zeros(0, np.int64)]
    for constraint in plan._pins:
        pins = validation.within("Pin(indices)", constraint.pins, plan.n)
        if len(pins):
            tenants = getattr(constraint, "tenants", None)
            ids.append(pins | (np.int64(1) if tenants is None else tenants) << 32)
    bodies = np.sort(np.concatenate(ids))
    twice = bodies[1:][bodies[1:] == bodies[:-1]]
    if twice.size:
        raise ValueError(f"Pin(indices): expected each body once in all pins, got {twice[0] % 2**32} twice")
    return bodies


def weights(plan: Plan, bodies: np.ndarray | None = None, tenants: np.ndarray | None = None) -> np.ndarray:
    """1/m of bodies, of all where none are told; 0 for those that no constraint moves."""
    return plan.weights if bodies is None else weights_of(plan, bodies, tenants)


def weights_of(plan: Plan, bodies: np.ndarray, tenants: np.ndarray | None = None) -> np.ndarray:
    weight = np.broadcast_to(plan.inverse_mass, (plan.n,))[bodies]
    if plan._pins:
        weight[np.isin(bodies | (np.int64(1) if tenants is None else tenants) << 32, pinned(plan))] = 0
    return weight


def told_apart(tenants: np.ndarray | None) -> dict[str, np.ndarray]:
    """The part of a plan for these, or None."""
    return {} if tenants is None else {"tenants": tenants}


def countable(name: str, plan: Plan, most: int = 2**31) -> None:
    """Kernels count bodies that see each other, or their numbers, in 32 bits."""
    if plan.n >= most:
        raise ValueError(f"{name}: expected fewer than {most} bodies, got {plan.n}")
