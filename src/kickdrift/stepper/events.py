"""Contact events of a stepper: configuration, log, and the snapshot section of touching pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import validation
from ..errors import SnapshotError
from ..rollback.parts import Part

if TYPE_CHECKING:
    from ..declaration import Declaration
    from ..rollback.history import EventHistory
    from .base import StepperBase
    from .model import Plan

#: Maximum size of the event buffer in bytes.
_MOST_BYTES = 2**40
#: Maximum average number of contacts per body.
MOST_TOUCHING = 16


class Kind(IntEnum):
    """The kind of an event: HIT, BEGIN, END, ENTER, LEAVE or BREAK; also in `kickdrift` itself, as `kd.HIT`."""

    HIT = 1  #: impact faster than `hits_above`
    BEGIN = 2  #: contact begins
    END = 3  #: contact ends
    ENTER = 4  #: a body enters a `Sensor`
    LEAVE = 5  #: a body leaves a `Sensor`
    BREAK = 6  #: a pair of a `Distance` breaks because its load exceeded `breaks_at`


HIT, BEGIN, END, ENTER, LEAVE, BREAK = Kind


@dataclass(frozen=True)
class Events:
    """Record contact events: `Stepper(..., events=Events())`, then `stepper.events.take()`.

    capacity: how many events fit between two calls of `take()`. When it is full, further events are only counted, in
    `stepper.events.dropped`, as are pairs in contact beyond the capacity for tracked contacts.
    hits_above: m/s; impacts with a higher approach speed are a HIT, slower ones are left out. The default is for games,
    where slow impacts make no sound. To count all impacts, as in physics, use 0. begin, end: whether BEGIN and END
    are recorded. For these, snapshots and checksums contain the pairs in contact, but no events: take them before you
    save a game.

    `take()` returns a structured array of shape (k,), one row per event, sorted by tick, source, slot_a, slot_b and
    kind. Each event is returned once. The fields of the array:
    tick, int64, of the stepper after the step;
    time, s, of the contact within the step;
    kind, one of `HIT`, `BEGIN`, `END`, `ENTER`, `LEAVE`, `BREAK`;
    source, the number of the constraint;
    a and b, int64: ids of bodies, generation << 32 | slot; b is -1 - number for a wall or shape;
    slot_a, slot_b: rows of bodies, -1 - number for a wall or shape;
    point, m, and normal, from a to b, of shape (dim,);
    speed, m/s, the approach speed;
    impulse, N s, the normal impulse, summed over the tick; never negative, except of a BREAK.
    The walls of a `Box` have the numbers 0 for lower x, 1 for upper x, 2 for lower y, and so on. A `Plane` has number
    0.

    After an impact, two bodies stay in contact while the gap after each tick is at most 1/1024 of the
    sum of their radii, or the rounding error. A pair that collides and separates in one tick is a BEGIN and an END. END
    has speed and impulse 0. Its time is that of the separation if the contact began in the same tick, or
    if one of the two is a sensor; else it is the beginning of the tick. If a pair collides several times in a tick,
    time, point, normal and speed are those of the fastest impact. An approach speed of no more than the velocity change
    by the forces of one step is resting contact, and no HIT.

    For bodies with `sensor` set the impulse is 0, and a pair is one HIT, when the overlap begins. A pair that overlaps
    without an impact, for example after a teleport, is a BEGIN in its first tick: the time is the beginning of that
    tick, the speed is 0, and there is no HIT. ENTER and LEAVE come only from `Sensor`; their normal is 0, and their
    speed is that of the body.

    BREAK comes after the other events of its tick, one for each pair of a `Distance` that broke: a and b are its
    bodies, time is that of the tick, point the middle between them, speed 0, and impulse the load times dt.

    Raises TypeError or ValueError for wrong numbers. A stepper without events does no work for them.

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
            object.__setattr__(self, name, validation.flag(f"Events({name})", getattr(self, name)))


class EventLog:
    """The events of a stepper, `stepper.events`. `take()` returns each event once."""

    __slots__ = ("_stepper",)

    def __init__(self, stepper: StepperBase) -> None:
        self._stepper = stepper

    def take(self) -> np.ndarray:
        """Return all events since the last call: a structured array, owned by the caller; see `Events`.

        `restore` drops the events of later ticks that were not taken. Raises RuntimeError during a step, for a
        stepper that was made without `events=`, and while a `Rollback` of the stepper exists, which keeps the events:
        see `of`, and `Rollback.events`.
        """
        _asked(self._stepper)
        if owner(self._stepper) is not None:
            raise RuntimeError(
                "events.take(): the events of this stepper belong to its Rollback; in `inputs` read "
                "stepper.events.of(tick), and for sounds and sparks rollback.events(confirmed=tick)"
            )
        return self._stepper._exclusively(self._stepper._take_events)

    def of(self, tick: int, ticks: int = 1) -> np.ndarray:
        """Return the events of a tick in a world with a `Rollback`, for game logic in `inputs`; calls may be repeated.

        tick: that of the stepper after the step, as in the field `tick`. Therefore `of(tick)` in inputs(stepper, tick)
        returns the events of the previous step, equal in each replay. ticks: number of ticks that end with `tick`, such
        as `clock.substeps`. Returns a structured array as `take` does.

        Raises ValueError for ticks outside of the Rollback's history, TypeError if these are not ints,
        RuntimeError during a step, for a stepper that was made without `events=`, and without a `Rollback`:
        `take` returns the events then.

        >>> import numpy as np, kickdrift as kd
        >>> bounces = np.zeros(1, np.int64)
        >>> ball = kd.Stepper(
        ...     [[1.0]], [[5.0]], dt=0.5, constraints=[kd.Box(0, 2.5)], events=kd.Events(), state={"bounces": bounces}
        ... )
        >>> def inputs(stepper, tick):
        ...     bounces[0] += (stepper.events.of(tick)["kind"] == kd.HIT).sum()
        >>> past = kd.Rollback(ball)
        >>> past.resimulate(4, inputs)
        >>> past.rollback(2)
        >>> past.resimulate(4, inputs)
        >>> bounces.tolist()
        [3]
        """
        _asked(self._stepper)
        tick, ticks = validation.integer("tick", tick), validation.integer("ticks", ticks, 1)
        kept = owner(self._stepper)
        if kept is None:
            raise RuntimeError(
                "events.of(): expected a kickdrift.Rollback of this stepper, which keeps the events of "
                "its ticks; without one, events.take() returns them"
            )
        return kept.of(tick, ticks)

    def where(self, events: np.ndarray, declaration: Declaration) -> np.ndarray:
        """Mask of the events that a constraint recorded, bool of the shape of `events`.

        events: from `take`, `of` or `Rollback.events`, or contacts from `touching()`. declaration: a constraint that
        the stepper has or had, also a wall or shapes within `Contacts`. Numbers of constraints change when one is
        added, removed or disabled; the last 4096 such changes are known. Changes of the walls or shapes of `Contacts`
        by `set` are not: the current walls and shapes count for all ticks.

        Raises TypeError or ValueError for a declaration that the stepper never had, for other arrays, and for events
        that are older than the known changes.

        >>> import kickdrift as kd
        >>> floor, goal = kd.Box(0, 9), kd.Sensor(lower=2, upper=4)
        >>> ball = kd.Stepper([[1.0]], [[4.0]], dt=1, constraints=[floor, goal], events=kd.Events())
        >>> ball.step()
        >>> ball.remove(floor)
        >>> ball.step()
        >>> events = ball.events.take()
        >>> events["source"].tolist(), ball.events.where(events, goal).tolist()
        ([1, 1], [True, True])
        """
        names = event_names(events)
        wanted = self._stepper._sources_of(declaration)
        known, count, last = self._stepper._numberings
        begin, constraints = zip(*known[:count], last, strict=True)
        ticks = events["tick"] if "tick" in names else np.full(events.shape, self._stepper.tick + 1)
        since = np.searchsorted(begin, ticks) - 1  # the last numbering that began before the tick
        if (since < 0).any():
            raise ValueError(f"events: expected those after tick {begin[0]}, got some of tick {ticks.min()}")
        result = np.zeros(events.shape, np.bool_)
        for number in validation.distinct(since):
            result |= (since == number) & from_sources(events, constraints[number], wanted)
        return result

    @property
    def dropped(self) -> int:
        """Number of events lost to a full buffer, since the stepper was made.

        The number never decreases: events lost in an undone tick stay counted, and count again if they are lost in the
        replay. If it is above 0, or above an earlier value, use a larger `Events(capacity)`.
        """
        _asked(self._stepper)
        return int(self._stepper._events_dropped) + self._stepper._events_forgotten


def _asked(stepper: StepperBase) -> None:
    if stepper._events is None:
        raise RuntimeError("events: this stepper was made without; pass events=kickdrift.Events()")


def fields(dim: int) -> np.dtype:
    """Return the dtype of events in `dim` dimensions."""
    numbers = [(name, np.int64) for name in ("kind", "source", "a", "b", "slot_a", "slot_b")]
    vectors = [(name, np.float64, (dim,)) for name in ("point", "normal")]
    return np.dtype(
        [("tick", np.int64), ("time", np.float64), *numbers, *vectors, ("speed", np.float64), ("impulse", np.float64)]
    )


# Touching pairs are sorted by key. Keys sort by slot_a, then by slot_b.


def key(slot_a: int, slot_b: int) -> int:
    """Encode a pair in one number. slot_a: a body; slot_b: another body, or -1 - number of a wall or shape."""
    return (slot_a << 32) + slot_b + 2**31


def slots(key: int) -> tuple[int, int]:
    """Decode the pair (slot_a, slot_b) of a key."""
    return key >> 32, (key & (2**32 - 1)) - 2**31


class Reporting(NamedTuple):
    """The event settings of a constraint."""

    pairs: bool  #: True if the constraint records contacts between bodies
    walls: int  #: number of walls or shapes
    at_once: int  #: maximum number of simultaneous contacts of a body with walls or shapes
    region: bool  #: True if the constraint records ENTER and LEAVE
    capacity: int  #: maximum number of pairs in contact


def event_names(events: Any) -> tuple[str, ...]:
    """Return the names of the columns of events or contacts; raise TypeError for anything else."""
    names = events.dtype.names or () if isinstance(events, np.ndarray) else ()
    if not {"source", "slot_b"} <= {*names}:
        raise TypeError(f"events: expected events or contacts of a stepper, got {validation.show(events)}")
    return names


def from_sources(events: np.ndarray, origins: Sequence[Any], wanted: Mapping[Any, tuple[float, float]]) -> np.ndarray:
    """Return the mask of events from the `wanted` constraints. origins: the origin of each constraint number."""
    result, side = np.zeros(events.shape, np.bool_), -1 - events["slot_b"]
    for source, origin in enumerate(origins):
        if origin in wanted:
            first, last = wanted[origin]
            result |= (events["source"] == source) & (first <= side) & (side < last)
    return result


def reporting(plan: Plan) -> dict[int, Reporting]:
    """Return the constraints that record events: constraint number -> settings."""
    found = {}
    for record in plan.constraint_records:
        walls = record.constraint.sides(plan)
        if walls is not None:
            pairs, at_once = record.constraint.reports_pairs, record.constraint.most_sides(plan)
            capacity = plan.n * (MOST_TOUCHING * pairs + at_once)
            found[plan.source(record)] = Reporting(pairs, walls, at_once, record.kind == "sensor", capacity)
    return found


class Touching(Part):
    """The snapshot section of pairs in contact: constraint number, count, and keys; int64, little-endian."""

    name = "touching"

    def save(self, stepper: Any) -> bytes:
        kept = [(source, keys) for source, keys in stepper._touching() if len(keys)]
        return b"".join(np.array([source, len(keys), *keys.tolist()], "<i8").tobytes() for source, keys in kept)

    def most(self, stepper: Any) -> int:
        # The snapshot may have other constraints that record events; a thousand of them is the limit.
        return 1000 * (16 + 8 * MOST_TOUCHING * stepper.n)

    def parse(self, stepper: Any, data: bytes) -> dict[str, Any]:
        if len(data) % 8:
            raise SnapshotError(f"snapshot: expected whole records of touching pairs, got {len(data)} bytes")
        numbers = np.frombuffer(data, "<i8").astype(np.int64)
        kept: list[tuple[int, np.ndarray]] = []
        while len(numbers):
            source, count = numbers[:2].tolist() if len(numbers) > 1 else (-1, 0)
            if source <= (kept[-1][0] if kept else -1) or not 0 < count <= len(numbers) - 2:
                raise SnapshotError(f"snapshot: constraint {source} cannot have {count} touching pairs")
            kept.append((source, np.ascontiguousarray(numbers[2 : 2 + count])))
            numbers = numbers[2 + count :]

        def check(attributes: dict[str, Any]) -> list[Any]:
            """Reject pairs that cannot be in contact under the restored plan."""
            kinds = reporting(attributes.get("_plan", stepper._plan))
            for source, keys in kept:
                if source not in kinds or len(keys) > kinds[source].capacity:
                    raise SnapshotError(f"snapshot: constraint {source} cannot have {len(keys)} touching pairs")
                first, second = keys >> 32, (keys & (2**32 - 1)) - 2**31
                right = (first >= 0) & (first < stepper.n) & (second >= -kinds[source].walls)
                right &= (second < 0) | (kinds[source].pairs & (first < second) & (second < stepper.n))
                if not right.all() or (keys[1:] <= keys[:-1]).any():
                    raise SnapshotError("snapshot: the touching pairs are not as snapshot() writes them")
            return []

        return {"touching": kept, "later": [check]}


def owner(stepper: StepperBase) -> EventHistory | None:
    """Return the Rollback history that receives the stepper's events, or None."""
    reference = stepper._event_history
    return None if reference is None else reference()
