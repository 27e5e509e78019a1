"""Who met whom: what a stepper is asked to report, and what it hands out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import validation
from .errors import SnapshotError
from .rollback.parts import Part

if TYPE_CHECKING:
    from .stepper.base import StepperBase
    from .stepper.model import Plan

#: So many bytes of events there may be at most.
_MOST_BYTES = 2**40


class Kind(IntEnum):
    """What an event is: HIT, BEGIN, END, ENTER or LEAVE; also in `kickdrift` itself, as `kd.HIT`."""

    HIT = 1  #: two came together faster than `hits_above`
    BEGIN = 2  #: two touch that did not
    END = 3  #: two that touched do not any more
    ENTER = 4  #: a body came into a `Sensor`
    LEAVE = 5  #: and left it


HIT, BEGIN, END, ENTER, LEAVE = Kind


@dataclass(frozen=True)
class Events:
    """What a stepper reports of those who meet: `Stepper(..., events=Events())`, then `stepper.events.take()`.

    capacity: room for so many events between two takes, made once; what comes when it is full is counted in
    `stepper.events.dropped`. hits_above: m/s; who comes together faster is a HIT. begin, end: are BEGIN and END wanted?
    They need to know who touched a tick ago, which is in snapshots and checksums then.

    `take()` returns a structured array, one row per event, of shape (k,), sorted by tick, source, slot_a, slot_b and
    kind, each once. Its fields: tick, int64, that of the stepper after the step; time, s, of the touch within it; kind,
    one of `HIT`, `BEGIN`, `END`, `ENTER`, `LEAVE`; source, the number of the constraint; a and b, int64: ids of bodies,
    generation << 32 | slot, where b is -1 - number for a wall or shape; slot_a, slot_b: rows of bodies, -1 - number for
    a wall or shape; point, m, and normal, from a to b, of shape (dim,); speed, m/s, at which they came together;
    impulse, N s, along the normal, the sum of the tick. Walls of a `Box` are numbered lower x, upper x, lower y, and so
    on; a `Plane` has number 0.

    Two that met touch from then on, as long as each tick leaves them no farther apart than 1/1024 of the sum of their
    radii, or rounding: what comes together and parts in one tick is a BEGIN and an END. END has no speed and no
    impulse; where nothing is known of the moment, it is the beginning of the tick. Where a pair meets several times in
    a tick, time, point, normal and speed are those of the fastest meeting. Who meets no faster than one step's forces
    push rests, and is no HIT. Bodies that push nothing, as `sensor` says, have the impulse 0. ENTER and LEAVE come from
    `Sensor` alone: their normal is 0, and their speed that of the body.

    Raises TypeError or ValueError for wrong numbers. Who asks for no events pays for none.

    >>> import kickdrift as kd
    >>> ball = kd.Stepper([[1.0]], [[4.0]], dt=0.5, constraints=[kd.Box(0, 2.5)], events=kd.Events())
    >>> ball.step()
    >>> hits = ball.events.take()
    >>> hits["kind"].tolist() == [kd.HIT, kd.BEGIN, kd.END], hits["time"].tolist(), hits["b"].tolist()
    (True, [0.375, 0.375, 0.375], [-2, -2, -2])
    """

    capacity: int = 4096
    hits_above: float = 0.5
    begin: bool = True
    end: bool = True

    def __post_init__(self) -> None:
        capacity = validation.integer("Events(capacity)", self.capacity, 1, _MOST_BYTES // 128)
        object.__setattr__(self, "capacity", capacity)
        object.__setattr__(self, "hits_above", validation.real("Events(hits_above)", self.hits_above, minimum=0.0))
        for name in ("begin", "end"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"Events({name}): expected True or False, got {validation.show(value)}")
            object.__setattr__(self, name, bool(value))


class EventLog:
    """The events of a stepper, `stepper.events`: taken by whoever wants them, once."""

    __slots__ = ("_stepper",)

    def __init__(self, stepper: StepperBase) -> None:
        self._stepper = stepper

    def take(self) -> np.ndarray:
        """All events since the last time, a structured array that is the caller's own; see `Events`.

        Raises RuntimeError during a step, and for a stepper that was made without `events=`.
        """
        _asked(self._stepper)
        return self._stepper._exclusively(self._stepper._take_events)

    @property
    def dropped(self) -> int:
        """How many events had no room, since the stepper was made."""
        _asked(self._stepper)
        return int(self._stepper._events_dropped)


def _asked(stepper: StepperBase) -> None:
    if stepper._events is None:
        raise RuntimeError("events: this stepper was made without; hand in events=kickdrift.Events()")


def touching(stepper: StepperBase) -> np.ndarray:
    """Those who touch now; see `Stepper.touching`."""
    _asked(stepper)
    if not (stepper._events.begin or stepper._events.end):
        raise RuntimeError("touching: this stepper was made with begin=False and end=False, and keeps no count")
    kept = stepper._exclusively(stepper._touching)
    regions = {source for source, kind in reporting(stepper._plan).items() if kind.region}
    rows = [(source, *slots(key)) for source, keys in kept for key in keys.tolist() if source not in regions]
    fields = [(name, np.int64) for name in ("source", "a", "b", "slot_a", "slot_b")]
    found = np.zeros(len(rows), fields)
    if rows:
        found["source"], found["slot_a"], found["slot_b"] = np.array(rows).T
        for name in "ab":
            slot = found[f"slot_{name}"]
            found[name] = np.where(slot < 0, slot, (1 << 32) + slot)
    return found


def fields(dim: int) -> np.dtype:
    """The dtype of events in so many dimensions."""
    numbers = [(name, np.int64) for name in ("kind", "source", "a", "b", "slot_a", "slot_b")]
    vectors = [(name, np.float64, (dim,)) for name in ("point", "normal")]
    return np.dtype(
        [("tick", np.int64), ("time", np.float64), *numbers, *vectors, ("speed", np.float64), ("impulse", np.float64)]
    )


# Those who touch go by keys, so that order is that of slot_a, then of slot_b.


def key(slot_a: int, slot_b: int) -> int:
    """One number for a body and what it meets: another one, or -1 - number."""
    return (slot_a << 32) + slot_b + 2**31


def slots(key: int) -> tuple[int, int]:
    """The two that a key is of."""
    return key >> 32, (key & (2**32 - 1)) - 2**31


class Reporting(NamedTuple):
    """How a constraint reports."""

    pairs: bool  #: do bodies meet each other?
    walls: int  #: how many walls or shapes it has
    region: bool  #: does it report who enters and leaves?
    room: int  #: so many may touch at once


def reporting(plan: Plan) -> dict[int, Reporting]:
    """The constraints that report, by their number."""
    found = {}
    for hold in plan.holds:
        walls = hold.constraint.sides(plan)
        if walls is not None:
            pairs = hold.constraint.meets
            room = plan.n * (16 + walls if pairs else min(walls, 8))
            found[plan.source(hold)] = Reporting(pairs, walls, hold.kind == "sensor", room)
    return dict(sorted(found.items()))


class Touching(Part):
    """Those who touch, in snapshots: number of the constraint, how many, and their keys; int64, little-endian."""

    name = "touching"

    def save(self, stepper: Any) -> bytes:
        kept = [(source, keys) for source, keys in stepper._touching() if len(keys)]
        return b"".join(np.array([source, len(keys), *keys.tolist()], "<i8").tobytes() for source, keys in kept)

    def most(self, stepper: Any) -> int:
        return sum(16 + 8 * kind.room for kind in reporting(stepper._plan).values())

    def parse(self, stepper: Any, data: bytes) -> dict[str, Any]:
        if len(data) % 8:
            raise SnapshotError(f"snapshot: expected whole numbers of who touches, got {len(data)} bytes")
        numbers = np.frombuffer(data, "<i8").astype(np.int64)
        kinds, kept, last = reporting(stepper._plan), [], -1
        while len(numbers):
            source, count = numbers[:2].tolist() if len(numbers) > 1 else (-1, 0)
            if source <= last or source not in kinds or not 0 < count <= min(kinds[source].room, len(numbers) - 2):
                raise SnapshotError(f"snapshot: constraint {source} has no {count} that touch")
            keys, numbers, last = numbers[2 : 2 + count], numbers[2 + count :], source
            first, second = keys >> 32, (keys & (2**32 - 1)) - 2**31
            right = (first >= 0) & (first < stepper.n) & (second >= -kinds[source].walls)
            right &= (second < 0) | (kinds[source].pairs & (first < second) & (second < stepper.n))
            if not right.all() or (keys[1:] <= keys[:-1]).any():
                raise SnapshotError("snapshot: those who touch are not as snapshot() writes them")
            kept.append((source, np.ascontiguousarray(keys)))
        return {"touching": kept}
