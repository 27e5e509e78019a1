"""Impulses of contacts and joints for warm starting: storage and snapshot section."""

from __future__ import annotations

import copy
import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints.base import SHAPES_PER_BODY
from ..errors import SnapshotError
from .parts import Part

if TYPE_CHECKING:
    from ..stepper.base import StepperBase
    from ..stepper.model import Plan
    from ..stepper.slots import Slots

_HEAD = struct.Struct("<q")
#: Record fields that determine how walls, rods and shapes are numbered: if unchanged, the impulses are reused.
_LAYOUT = ("offset", "first", "generations", "shape_begin", "shape_segments", "shape_lower", "shape_upper")
#: Capacity for pairs: the maximum average number of near pairs per body.
PAIRS_PER_BODY = 16


class Impulses:
    """The impulse arrays of a plan; they outlive its bindings.

    Double-buffered: a step reads one buffer and writes the other, then swaps them in `state`, which also has the
    number of active pairs in each. Pairs are in ascending order; walls, then shapes, are numbered after the bodies.
    `push` has the normal impulse, the load that causes no compression, the friction impulse as a vector, and with
    rotation the impulse of rolling resistance. `pull` has the impulses of rods.
    """

    #: Number in this plan of each wall and shape of the previous plan, or -1 if it is gone; None if unchanged.
    moved: np.ndarray | None = None

    def __init__(self, plan: Plan) -> None:
        assert plan.contacts is not None
        self.fields = fields = plan.contacts
        self.level = Level(fields)
        self.n, self.faces, self.rods = plan.n, len(fields["offset"]), len(fields["first"])
        self.sides = _sides(fields)
        self.ends, self.generations = np.stack([fields["first"], fields["second"]], axis=1), fields["generations"]
        self.dim, self.dtype = plan.dim, plan.dtype
        #: Numbers per pair in `push`.
        self.width = 2 + plan.dim + (0 if plan.rotating is None else len(plan.rotating.planes))
        self.capacity = (PAIRS_PER_BODY + self.faces + min(self.sides - self.faces, SHAPES_PER_BODY)) * plan.n
        #: Index of the buffer to read; number of pairs in each buffer.
        self.state = np.zeros((3, 1), np.int64)
        self.pair = [np.zeros((self.capacity, 2), np.int32) for _ in range(2)]
        self.push = [np.zeros((self.capacity, self.width), plan.dtype) for _ in range(2)]
        self.pull = [np.zeros((self.rods, 1), plan.dtype) for _ in range(2)]

    def unchanged(self) -> bool:
        """Return whether the last step changed no bit of the impulses."""
        count, other = self.state[1:, 0].tolist()
        both = ([buffers[0][:count], buffers[1][:count]] for buffers in (self.pair, self.push))
        return count == other and all(one.tobytes() == two.tobytes() for one, two in (*both, self.pull))

    def followed(self, plan: Plan, shifted: bool) -> Impulses:
        """Return the impulses for a new plan: those of unchanged bodies, walls, rods and shapes.

        shifted: whether the origin of coordinates has changed; shapes are then matched by number.
        """
        assert plan.contacts is not None
        fields = plan.contacts
        if plan.n == self.n and all(self.fields.get(name) is fields.get(name) for name in _LAYOUT):
            return self
        if (self.n, self.faces, self.dtype) != (plan.n, len(fields["offset"]), plan.dtype):
            return Impulses(plan)
        now = np.stack([fields["first"], fields["second"]], axis=1)
        if not (np.array_equal(self.ends, now) and np.array_equal(self.generations, fields["generations"])):
            return self._with_rods(Impulses(plan)).followed(plan, shifted)
        level = Level(fields)
        if self.level.same(level):
            return self
        now = np.arange(len(self.level)) if shifted and len(level) == len(self.level) else self.level.numbers_in(level)
        if np.array_equal(now, np.arange(len(level))):  # all shapes keep their numbers: reuse the arrays
            other = copy.copy(self)
            other.level, other.moved = level, None
            return other
        other = Impulses(plan)
        other.moved = np.concatenate([np.arange(self.faces), np.where(now >= 0, now + self.faces, -1)])
        place = int(self.state[0, 0])
        count = int(self.state[1 + place, 0])
        pair, push = self.pair[place][:count].copy(), self.push[place][:count]
        side = pair[:, 1] >= self.n
        pair[side, 1] = np.where((found := other.moved[pair[side, 1] - self.n]) >= 0, found + self.n, -1)
        left = np.flatnonzero(pair[:, 1] >= 0)
        left = left[np.lexsort(pair[left].T[::-1])]
        for array, _, values in other.writes(pair[left], push[left], self.pull[place]):
            array[...] = values
        return other

    def _with_rods(self, other: Impulses) -> Impulses:
        """Return a copy for another plan that differs in rods only; unchanged rods keep their impulses."""
        new, place = copy.copy(self), int(self.state[0, 0])
        new.rods, new.ends, new.generations = other.rods, other.ends, other.generations
        new.state, new.pair, new.push = (
            self.state.copy(),
            *([a.copy() for a in each] for each in (self.pair, self.push)),
        )
        new.pull = other.pull
        waiting: dict[bytes, list[Any]] = {}
        for row, value in reversed([*zip(self._named(), self.pull[place], strict=True)]):
            waiting.setdefault(row, []).append(value)
        for number, row in enumerate(new._named()):
            if waiting.get(row):
                new.pull[place][number] = waiting[row].pop()
        return new

    def _named(self) -> list[bytes]:
        return [row.tobytes() for row in np.concatenate([self.ends, self.generations], axis=1)]

    def renumbered(self, plan: Plan, touching: list[tuple[int, np.ndarray]]) -> list[tuple[int, np.ndarray]]:
        """Renumber the shapes in (constraint number, keys of pairs in contact) of the previous plan."""
        sources = [plan.source(record) for record in plan.constraint_records if record.kind == "contacts"]
        assert self.moved is not None
        numbered = []
        for source, keys in touching:
            if source in sources:
                side = 2**31 - 1 - (keys & (2**32 - 1))  # number of the wall or shape; negative for bodies
                now = np.where(side < 0, side, self.moved[np.maximum(side, 0)] if len(self.moved) else -1)
                keys = np.sort((keys + side - now)[(side < 0) | (now >= 0)])
            numbered.append((source, keys))
        return numbered

    def now(self, slots: Slots | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the active pairs, their impulses, and the impulses of rods."""
        place = int(self.state[0, 0])
        count = int(self.state[1 + place, 0])
        return self.lasting(slots, self.pair[place][:count], self.push[place][:count], self.pull[place])

    def lasting(
        self, slots: Slots | None, pair: np.ndarray, push: np.ndarray, pull: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Drop impulses of bodies despawned since the step, whose slots may have been reused."""
        if slots is None:
            return pair, push, pull
        old = np.concatenate([(slots.alive & (slots.needs_start[: self.n] == 0)), np.ones(self.sides, np.bool_)])
        still = old[pair].all(axis=1)
        return pair[still], push[still], np.where(slots.uncut(self.ends, self.generations)[:, None], pull, 0 * pull)

    def writes(self, pair: np.ndarray, push: np.ndarray, pull: np.ndarray) -> list[tuple[np.ndarray, None, np.ndarray]]:
        """Return the array writes by which `_commit` stores these impulses."""
        count = len(pair)
        state = np.array([[0], [count], [0]])
        return [
            (self.pair[0][:count], None, pair),
            (self.push[0][:count], None, push),
            (self.pull[0], None, pull),
            (self.state, None, state),
        ]


class Level:
    """The geometry of the shapes of `Contacts`, grouped by declaration of shapes (a part)."""

    def __init__(self, fields: dict[str, np.ndarray]) -> None:
        none = np.zeros((0, 1))
        self.begin = fields.get("shape_begin", np.zeros(1, np.int64))
        self.kind = np.repeat(fields.get("shape_segments", np.zeros(0, np.uint8)), np.diff(self.begin))
        self.ends = [fields.get(f"shape_{name}", none) for name in ("lower", "upper")]

    def __len__(self) -> int:
        return len(self.kind)

    def same(self, other: Level) -> bool:
        arrays = ((level.begin, level.kind, *level.ends) for level in (self, other))
        return all(a is b or np.array_equal(a, b) for a, b in zip(*arrays, strict=True))

    def numbers_in(self, other: Level) -> np.ndarray:
        """Map each shape to its number in another level, or -1.

        Shapes match by position, preferably with the same number. Otherwise they match by number within the part, if
        the part has as many shapes of the same kind: the shape has then moved.
        """
        found, count = np.full(len(self), -1), min(len(self), len(other))
        alike = self.kind[:count] == other.kind[:count]
        for here, there in zip(self.ends, other.ends, strict=True):
            alike = alike & (here[:count] == there[:count]).all(axis=1)
        found[:count][alike] = np.flatnonzero(alike)
        free = np.ones(len(other), np.bool_)
        free[:count] = ~alike
        rest = [np.flatnonzero(found < 0), np.flatnonzero(free)]
        waiting: dict[bytes, list[int]] = {}
        for number, place in reversed([*zip(rest[1].tolist(), other._places(rest[1]), strict=True)]):
            waiting.setdefault(place, []).append(number)
        for number, place in zip(rest[0].tolist(), self._places(rest[0]), strict=True):
            if waiting.get(place):
                found[number] = waiting[place].pop()
        taken = np.zeros(len(other), np.bool_)
        taken[found[found >= 0]] = True
        for mine, its in zip(self._parts(), other._parts(), strict=False):
            if np.array_equal(self.kind[mine], other.kind[its]):
                moved = (found[mine] < 0) & ~taken[its]
                found[mine] = np.where(moved, np.arange(its.start, its.stop), found[mine])
        return found

    def moved_into(self, before: Level, fields: dict[str, np.ndarray], position: np.ndarray) -> tuple[int, int] | None:
        """Find a shape that was moved into a body, deeper than the body's radius: (shape, body), or None.

        fields: the fields of the record of these shapes.
        """
        position, part = position.astype(np.float64), np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))
        numbers = before.numbers_in(self)
        known = np.flatnonzero(numbers >= 0)
        moved = [
            (one[known] != other[numbers[known]]).any(axis=1) for one, other in zip(before.ends, self.ends, strict=True)
        ]
        for old in known[moved[0] | moved[1]].tolist():
            number = int(numbers[old])
            if not fields["shape_enabled"][number]:
                continue
            ends = [(level.ends[0][k], level.ends[1][k]) for level, k in ((before, old), (self, number))]
            far, near = (outside(position, *each, self.kind[number]) for each in ends)
            if self.kind[number]:  # a segment has no interior: bodies that changed sides count as inside
                sides = [(position - one) @ [one[1] - two[1], two[0] - one[0]] for one, two in ends]
                near = np.where(sides[0] * sides[1] < 0, -near, near)
            held = (fields["weight"] > 0) & (fields["shape_through"][part[number]] == 0)
            reach = fields["shape_reach"][part[number]]
            into = (near < far) & (reach - near > fields["radius"]) & (abs(near) < reach)
            if (held & into).any():
                return number, int(np.flatnonzero(held & into)[0])
        return None

    def _places(self, numbers: np.ndarray) -> list[bytes]:
        rows = np.concatenate([self.kind[numbers, None], *(ends[numbers] for ends in self.ends)], axis=1)
        return [row.tobytes() for row in rows + 0.0]

    def _parts(self) -> list[slice]:
        return [slice(*ends) for ends in pairwise(self.begin.tolist())]


def outside(position: np.ndarray, one: np.ndarray, other: np.ndarray, segment: bool) -> np.ndarray:
    """Return the signed distance of each position from a segment or box; negative inside a box."""
    with np.errstate(over="ignore", invalid="ignore"):  # non-finite positions are inside nothing
        if segment:
            along = other - one
            share = np.clip((position - one) @ along / max(float(along @ along), 1e-300), 0, 1)
            return np.asarray(np.linalg.norm(position - one - share[:, None] * along, axis=1))
        beyond = np.maximum(one - position, position - other)
        return np.asarray(np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0))


def _sides(fields: dict[str, np.ndarray]) -> int:
    """Return the number of walls and shapes."""
    return len(fields["offset"]) + len(fields.get("shape_lower", ()))


class ContactsPart(Part):
    """The section "contacts": number of pairs; pairs, int32; their impulses; the impulses of rods."""

    name = "contacts"

    def save(self, stepper: StepperBase) -> bytes:  # type: ignore[override]
        if stepper._impulses is None:
            return b""
        pair, push, pull = stepper._impulses.now(stepper._slots)
        if not len(pair) and not pull.any():
            return b""
        form = stepper.dtype.newbyteorder("<")
        parts = [pair.astype("<i4"), (push + 0).astype(form), (pull + 0).astype(form)]  # + 0 turns -0 into 0
        return b"".join([_HEAD.pack(len(pair)), *(part.tobytes() for part in parts)])

    def absent(self, stepper: StepperBase) -> bool:  # type: ignore[override]
        return stepper._impulses is None

    def most(self, stepper: StepperBase) -> int:  # type: ignore[override]
        # The snapshot may have been saved with other constraints: at most a thousand walls, a million rods.
        pairs = (PAIRS_PER_BODY + 1000) * stepper.n
        return _HEAD.size + pairs * (8 + (5 + stepper.dim) * stepper.dtype.itemsize) + 10**6 * stepper.dtype.itemsize

    def parse(self, stepper: StepperBase, data: bytes) -> dict[str, Any]:  # type: ignore[override]
        return {"contacts": data}  # parsed in `check`: the mask of active bodies is in another section

    def check(self, stepper: StepperBase, saved: Any) -> None:  # type: ignore[override]
        data, slots = saved.changes.pop("contacts"), stepper._slots
        if "slots" in saved.changes:
            slots = stepper._book().grown(stepper.n)
            slots.become(*saved.changes["slots"])
        later = lambda attributes: _writes(attributes.get("_impulses", stepper._impulses), data, slots)  # noqa: E731
        saved.changes["later"].append(later)


def _writes(impulses: Impulses | None, data: bytes, slots: Slots | None) -> list[tuple[np.ndarray, None, np.ndarray]]:
    """Return the array writes that restore impulses, for a plan and the slots of its bodies."""
    if impulses is None:
        if data:
            raise SnapshotError("snapshot: expected no contacts, as there are none")
        return []
    form, width = impulses.dtype.newbyteorder("<"), impulses.width
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
        raise SnapshotError("snapshot: expected contacts in order, with normal impulses above 0")
    last = impulses.lasting(slots, pair, push, pull)
    if len(last[0]) < count or not np.array_equal(last[2], pull):
        raise SnapshotError("snapshot: expected contacts and joints of active bodies")
    if not count and not pull.any():
        raise SnapshotError("snapshot: expected contacts or no section of them")
    return impulses.writes(pair, push, pull)
