"""The impulses of contacts and joints, from which the next step begins: where they are kept, and their section."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SnapshotError
from .parts import Part

if TYPE_CHECKING:
    from ..stepper.base import StepperBase
    from ..stepper.model import Plan
    from ..stepper.slots import Slots

_HEAD = struct.Struct("<q")
#: Near pairs that a body has at most, on average; and shapes that it may touch in a step: the nearest ones.
PAIRS_PER_BODY, SHAPES_PER_BODY = 16, 8


class Impulses:
    """The arrays for the impulses of a plan: made once, so that it outlives every binding.

    A step reads one place and writes the other; `state` says which is which, once the step is done. Of the pairs of a
    place that push each other there are as many as `state` says, in ascending order; walls, and then shapes, have
    numbers after those of the bodies. `push` has the impulse along the line between two, the load that it does not
    give way to, and the impulse across it as a vector; `pull` those of rods.
    """

    def __init__(self, plan: Plan) -> None:
        fields = _fields(plan)
        self.n, self.faces, self.rods = plan.n, len(fields["offset"]), len(fields["first"])
        self.sides = _sides(fields)
        self.ends, self.tenants = np.stack([fields["first"], fields["second"]], axis=1), fields["tenants"]
        self.dim, self.dtype = plan.dim, plan.dtype
        self.capacity = (PAIRS_PER_BODY + self.faces + min(self.sides - self.faces, SHAPES_PER_BODY)) * plan.n
        #: The place to read from; how many pairs there are in each place.
        self.state = np.zeros((3, 1), np.int64)
        self.pair = [np.zeros((self.capacity, 2), np.int32) for _ in range(2)]
        self.push = [np.zeros((self.capacity, 2 + plan.dim), plan.dtype) for _ in range(2)]
        self.pull = [np.zeros((self.rods, 1), plan.dtype) for _ in range(2)]

    def serves(self, plan: Plan) -> bool:
        """Are they those of this plan too?"""
        fields = _fields(plan)
        return (
            (self.n, self.faces, self.sides, self.dtype) == (plan.n, len(fields["offset"]), _sides(fields), plan.dtype)
            and np.array_equal(self.ends, np.stack([fields["first"], fields["second"]], axis=1))
            and np.array_equal(self.tenants, fields["tenants"])
        )

    def now(self, slots: Slots | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs that push each other, with what impulses; and the impulses of rods.

        Those of bodies that died since, and of the next in their slots, have ended.
        """
        place = int(self.state[0, 0])
        count = int(self.state[1 + place, 0])
        pair, push, pull = self.pair[place][:count], self.push[place][:count], self.pull[place]
        if slots is None:
            return pair, push, pull
        old = np.concatenate([(slots.alive & (slots.young[: self.n] == 0)), np.ones(self.sides, np.bool_)])
        still = old[pair].all(axis=1)
        return pair[still], push[still], np.where(slots.uncut(self.ends, self.tenants)[:, None], pull, 0 * pull)

    def writes(self, pair: np.ndarray, push: np.ndarray, pull: np.ndarray) -> list[tuple[np.ndarray, None, np.ndarray]]:
        """The writes that `_commit` makes to put these in place."""
        count = len(pair)
        state = np.array([[0], [count], [0]])
        return [
            (self.pair[0][:count], None, pair),
            (self.push[0][:count], None, push),
            (self.pull[0], None, pull),
            (self.state, None, state),
        ]


def has_contacts(plan: Plan) -> bool:
    return any(record.kind == "contacts" for record in plan.constraint_records)


def _fields(plan: Plan) -> dict[str, np.ndarray]:
    return next(record.fields for record in plan.constraint_records if record.kind == "contacts")


def _sides(fields: dict[str, np.ndarray]) -> int:
    """How many walls and shapes there are."""
    return len(fields["offset"]) + len(fields.get("shape_lower", ()))


class ContactsPart(Part):
    """The section "contacts"."""

    name = "contacts"

    def save(self, stepper: StepperBase) -> bytes:  # type: ignore[override]
        if stepper._impulses is None:
            return b""
        pair, push, pull = stepper._impulses.now(stepper._slots)
        if not len(pair) and not pull.any():
            return b""
        form = stepper.dtype.newbyteorder("<")
        parts = [pair.astype("<i4"), (push + 0).astype(form), (pull + 0).astype(form)]  # -0 + 0 is 0
        return b"".join([_HEAD.pack(len(pair)), *(part.tobytes() for part in parts)])

    def absent(self, stepper: StepperBase) -> bool:  # type: ignore[override]
        return stepper._impulses is None

    def most(self, stepper: StepperBase) -> int:  # type: ignore[override]
        # Walls and rods may be others when the snapshot was taken: a thousand walls, a million rods.
        pairs = (PAIRS_PER_BODY + 1000) * stepper.n
        return _HEAD.size + pairs * (8 + (2 + stepper.dim) * stepper.dtype.itemsize) + 10**6 * stepper.dtype.itemsize

    def parse(self, stepper: StepperBase, data: bytes) -> dict[str, Any]:  # type: ignore[override]
        return {"later": [lambda attributes: _writes(attributes.get("_impulses", stepper._impulses), data)]}


def _writes(impulses: Impulses | None, data: bytes) -> list[tuple[np.ndarray, None, np.ndarray]]:
    """The arrays that must be written for a plan when a snapshot is restored."""
    if impulses is None:
        if data:
            raise SnapshotError("snapshot: expected no contacts, as there are none")
        return []
    form, width = impulses.dtype.newbyteorder("<"), 2 + impulses.dim
    if not data:
        return impulses.writes(
            np.zeros((0, 2), np.int32), np.zeros((0, width), form), np.zeros((impulses.rods, 1), form)
        )
    count = _HEAD.unpack_from(data)[0] if len(data) >= _HEAD.size else -1
    size = _HEAD.size + 8 * count + (count * width + impulses.rods) * impulses.dtype.itemsize
    if not 0 <= count <= impulses.capacity or len(data) != size:
        raise SnapshotError("snapshot: expected contacts of this stepper")
    pair = np.frombuffer(data, "<i4", 2 * count, _HEAD.size).reshape(count, 2)
    place = _HEAD.size + 8 * count
    push = np.frombuffer(data, form, width * count, place).reshape(count, width)
    pull = np.frombuffer(data, form, impulses.rods, place + push.nbytes).reshape(impulses.rods, 1)
    first, second = pair.T.astype(np.int64)
    key = first * (impulses.n + impulses.sides) + second
    bodies = (first >= 0) & (first < impulses.n) & (second > first) & (second < impulses.n + impulses.sides)
    numbers = np.concatenate([push.ravel(), pull.ravel()])
    plausible = np.isfinite(numbers).all() and not (np.signbit(numbers) & (numbers == 0)).any()
    pushes = (push[:, 0] > 0).all() and (push[:, 1] >= 0).all()
    if not (bodies.all() and (np.diff(key) > 0).all() and plausible and pushes):
        raise SnapshotError("snapshot: expected contacts in order, with impulses that push")
    if not count and not pull.any():
        raise SnapshotError("snapshot: expected contacts or no section of them")
    return impulses.writes(pair, push, pull)
