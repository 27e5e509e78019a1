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

_HEAD = struct.Struct("<q")
#: Near pairs that a body has at most, on average.
PAIRS_PER_BODY = 16


class Impulses:
    """Room for the impulses of a plan: made once, so that it outlives every binding.

    A step reads one place and writes the other; `state` says which is which, once the step is done. Of the pairs of a
    place that push each other there are as many as `state` says, in ascending order; walls have numbers after those
    of the bodies. `push` has the impulse along the line between two, the load that it does not give way to, and the
    impulse across it as a vector; `pull` those of rods.
    """

    def __init__(self, plan: Plan) -> None:
        fields = next(hold.fields for hold in plan.holds if hold.kind == "contacts")
        self.n, self.faces, self.rods = plan.n, len(fields["offset"]), len(fields["first"])
        self.room = (PAIRS_PER_BODY + self.faces) * plan.n
        #: The place to read from; a number that is not used; how many pairs there are in each place.
        self.state = np.zeros((4, 1), np.int64)
        self.pair = [np.zeros((self.room, 2), np.int32) for _ in range(2)]
        self.push = [np.zeros((self.room, 2 + plan.dim), plan.dtype) for _ in range(2)]
        self.pull = [np.zeros((self.rods, 1), plan.dtype) for _ in range(2)]

    def now(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs that push each other, with what impulses; and the impulses of rods."""
        place = int(self.state[0, 0])
        count = int(self.state[2 + place, 0])
        return self.pair[place][:count], self.push[place][:count], self.pull[place]

    def writes(self, pair: np.ndarray, push: np.ndarray, pull: np.ndarray) -> list[tuple[np.ndarray, None, np.ndarray]]:
        """What `_commit` is to write for these to be there."""
        count = len(pair)
        state = np.array([[0], [0], [count], [0]])
        return [
            (self.pair[0][:count], None, pair),
            (self.push[0][:count], None, push),
            (self.pull[0], None, pull),
            (self.state, None, state),
        ]


def impulses_of(plan: Plan) -> Impulses | None:
    """Room for those of a plan, or None where there are no contacts."""
    return Impulses(plan) if any(hold.kind == "contacts" for hold in plan.holds) else None


class ContactsPart(Part):
    """The section "contacts"."""

    name = "contacts"

    def save(self, stepper: StepperBase) -> bytes:  # type: ignore[override]
        room = _room(stepper)
        pair, push, pull = room.now()
        if not len(pair) and not pull.any():
            return b""
        form = stepper.dtype.newbyteorder("<")
        parts = [pair.astype("<i4"), (push + 0).astype(form), (pull + 0).astype(form)]  # -0 + 0 is 0
        return b"".join([_HEAD.pack(len(pair)), *(part.tobytes() for part in parts)])

    def most(self, stepper: StepperBase) -> int:  # type: ignore[override]
        return self._size(stepper, _room(stepper).room)

    def _size(self, stepper: StepperBase, count: int) -> int:
        numbers = count * (2 + stepper.dim) + _room(stepper).rods
        return _HEAD.size + 8 * count + numbers * stepper.dtype.itemsize

    def parse(self, stepper: StepperBase, data: bytes) -> dict[str, Any]:  # type: ignore[override]
        room = _room(stepper)
        form = stepper.dtype.newbyteorder("<")
        width = 2 + stepper.dim
        if not data:
            empty = np.zeros((0, 2), np.int32), np.zeros((0, width), form), np.zeros((room.rods, 1), form)
            return {"writes": room.writes(*empty)}
        count = _HEAD.unpack_from(data)[0] if len(data) >= _HEAD.size else -1
        if not 0 <= count <= room.room or len(data) != self._size(stepper, count):
            raise SnapshotError("snapshot: expected contacts of this stepper")
        pair = np.frombuffer(data, "<i4", 2 * count, _HEAD.size).reshape(count, 2)
        place = _HEAD.size + 8 * count
        push = np.frombuffer(data, form, width * count, place).reshape(count, width)
        pull = np.frombuffer(data, form, room.rods, place + push.nbytes).reshape(room.rods, 1)
        first, second = pair.T.astype(np.int64)
        key = first * (room.n + room.faces) + second
        bodies = (first >= 0) & (first < room.n) & (second > first) & (second < room.n + room.faces)
        numbers = np.concatenate([push.ravel(), pull.ravel()])
        plausible = np.isfinite(numbers).all() and not (np.signbit(numbers) & (numbers == 0)).any()
        if not (
            bodies.all()
            and (np.diff(key) > 0).all()
            and plausible
            and (push[:, 0] > 0).all()
            and (push[:, 1] >= 0).all()
        ):
            raise SnapshotError("snapshot: expected contacts in order, with impulses that push")
        if not count and not pull.any():
            raise SnapshotError("snapshot: expected contacts or no section of them")
        return {"writes": room.writes(pair, push, pull)}


def _room(stepper: StepperBase) -> Impulses:
    assert stepper._impulses is not None
    return stepper._impulses
