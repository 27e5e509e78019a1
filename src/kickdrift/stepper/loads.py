"""Loads of the pairs of `Distance`, and which pairs are broken.

Each `Distance` of a stepper has a load array, float64 of shape (1 + pairs, 2). Row 1 + k has the load of pair k in N,
from the last step in which the pair acted, and 1 if the pair is broken, else 0. Row 0 has the number of the constraint
that contains the `Distance`, for events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from ..constraints.base import weights_of
from ..errors import SnapshotError
from ..rollback.parts import Part
from .entries import Entry, Origin, places_of
from .joints import found, states

if TYPE_CHECKING:
    from .base import StepperBase


def present(entry: Entry) -> list[tuple[Any, np.ndarray, bool]]:
    """Return (current declaration, load array, enabled) of each `Distance` of an entry, without removed joints."""
    arrays = entry.origin.loads
    if not arrays:
        return []
    if hasattr(entry.origin.first, "pairs"):
        return [(entry.today, arrays[0], entry.enabled)]
    joints = zip(states(entry), arrays, strict=True)
    return [(each[0], array, each[1] and entry.enabled) for each, array in joints if each is not None]


def loads_after(known: dict[int, np.ndarray], gone: Iterable[Entry], come: Iterable[Entry]) -> dict[int, np.ndarray]:
    """Return the load arrays by id of the current declarations. known: those before `come` replaced `gone`."""
    then, now = (
        {id(each): array for entry in entries for each, array, _ in present(entry)} for entries in (gone, come)
    )
    left = known.copy()
    for key in then:
        left.pop(key, None)
    return left | now


def load(self: StepperBase, declaration: Any) -> np.ndarray:
    """The loads of the pairs of a `Distance` in the last tick, in N: float64 of shape (pairs,).

    declaration: a `Distance`, of `constraints` or of `joints` of `Contacts`, as for `set`. The load of a pair is its
    impulse in the tick, divided by dt, and positive in tension. (Under `verlet` it is divided by the mean of dt and the
    dt of the tick before.) It is 0 before the first step, and for pairs that do not act (slack, disabled, broken before
    this tick, of dead or immovable bodies). In the tick of a break it is the load that broke the pair. If the stepper
    has the `Distance` more than once, loads are summed. Snapshots contain loads if `breaks_at` is given; others are nan
    after `restore`, and 0 after a `set` that gives breaks_at, until the next step. After an error in a call of several
    steps, loads without `breaks_at` are those before the call.

    Raises TypeError or ValueError as `set` does, RuntimeError during a step.

    >>> import kickdrift as kd
    >>> rope = kd.Distance([(0, 1)], max_length=1.0)
    >>> crate = kd.Stepper([[0.0, 0.0], [0.0, -1.0]], mass=10, forces=[kd.Gravity((0, -9.81))],
    ...                    constraints=[kd.Pin(0), rope])
    >>> crate.step(10)
    >>> crate.load(rope).round(3).tolist()
    [98.1]
    """
    return self._exclusively(_load, self, declaration)


def _load(self: StepperBase, declaration: Any) -> np.ndarray:
    loads = []
    for now, array, enabled in _of(self, declaration):
        pairs = np.asarray(now.pairs)
        acts = weights_of(self._plan, pairs, now.generations).sum(axis=1) > 0
        if self._slots is not None:
            acts &= self._slots.uncut(pairs, now.generations)
        loads.append(np.where(acts & enabled, array[1:, 0], 0.0))
    return sum(loads[1:], loads[0])


def whole(self: StepperBase, declaration: Any) -> np.ndarray:
    """Mask of the unbroken pairs of a `Distance`: bool of shape (pairs,). See `Distance(breaks_at)`.

    If the stepper has the `Distance` more than once, a pair counts as whole only if it is unbroken in all of them.
    Pairs of removed bodies do not act any more, but are not broken. To find them, keep the ids when you declare the
    pairs: `ids = world.ids[pairs]`; later `(world.slots(ids, missing=-1) >= 0).all(axis=1)` is a mask of the pairs
    whose bodies are both active. declaration, errors: as for `load`.

    >>> import kickdrift as kd
    >>> thread = kd.Distance([(0, 1)], max_length=1.0, breaks_at=50.0)
    >>> crate = kd.Stepper([[0.0, 0.0], [0.0, -1.0]], mass=10, forces=[kd.Gravity((0, -9.81))],
    ...                    constraints=[kd.Pin(0), thread])
    >>> crate.step()
    >>> crate.whole(thread).tolist()
    [False]
    """
    return np.all([array[1:, 1] == 0 for _, array, _ in self._exclusively(_of, self, declaration)], axis=0)


def _of(self: StepperBase, declaration: Any) -> list[tuple[Any, np.ndarray, bool]]:
    """Return (current declaration, load array, enabled) for each occurrence of a `Distance` in the stepper."""
    kept = []
    for place, number in found(self, declaration):
        entry = self._entries[place]
        state = states(entry)[number]
        assert state is not None
        kept.append((state[0], entry.origin.loads[number], entry.enabled and state[1]))
    if kept:
        return kept
    entries = [self._entries[place] for place in places_of(self, declaration)]
    if not hasattr(entries[0].origin.first, "pairs") or not entries[0].origin.loads:
        raise TypeError(f"declaration: expected a Distance, got {validation.show(declaration)}")
    return [one for entry in entries for one in present(entry)]


def first_saved(before: Sequence[Entry], now: Sequence[Entry]) -> list[tuple[np.ndarray, None, np.ndarray]]:
    """Return writes that zero the loads of each `Distance` to which a change has just given `breaks_at`.

    Earlier snapshots lack these loads. With zeros, a world restored from such a snapshot stays equal to the original.
    """
    added = [array for array, saved in _arrays(now) if saved]
    if not added or len(before) != len(now):  # a declaration was added or removed: none has new values
        return []
    known = {id(array) for array, saved in _arrays(before) if saved}
    return [(array[1:, :1], None, np.zeros((1, 1))) for array in added if id(array) not in known]


class LoadsPart(Part):
    """Snapshot section "loads": loads and breaks of each `Distance` with `breaks_at`, float64, little-endian.

    A `Distance` without `breaks_at` has broken pairs if `set` removed the limit after a break. Then a byte follows for
    each pair without `breaks_at`, 1 if broken. The section is empty if nothing is loaded or broken. Loads without
    `breaks_at` are not saved, and nan after a restore.
    """

    name = "loads"

    def save(self, stepper: Any) -> bytes:
        arrays = _arrays(stepper._entries)
        kept = [array[1:] for array, saved in arrays if saved]
        others = [array for array, saved in arrays if not saved]
        # One test of the concatenated arrays is faster. Row 0, the constraint number, has 0 in the column of breaks.
        breaks = len(others) > 0 and bool(np.concatenate(others)[:, 1].any())
        if not breaks and not any(array.any() for array in kept):
            return b""
        parts = [(array + 0.0).astype("<f8").tobytes() for array in kept]
        return b"".join(parts + [array[1:, 1].astype(np.uint8).tobytes() for array in others if breaks])

    def absent(self, stepper: Any) -> bool:
        return not stepper._plan.loads

    def most(self, stepper: Any) -> int:
        known: list[Origin] = [*stepper._declared, *(one for ones in stepper._added.values() for one in ones)]
        return sum(16 * len(array) for origin in known for array in origin.loads)

    def parse(self, stepper: Any, data: bytes) -> dict[str, Any]:
        return {"later": [lambda attributes: _writes(attributes.get("_entries", stepper._entries), data)]}


def _arrays(entries: Iterable[Entry]) -> list[tuple[np.ndarray, bool]]:
    return [(array, each.breaks_at is not None) for entry in entries for each, array, _ in present(entry)]


def _writes(entries: Iterable[Entry], data: bytes) -> list[tuple[np.ndarray, None, np.ndarray]]:
    """Return the writes that restore a section; raise SnapshotError for a section that `save` cannot have written."""
    arrays = _arrays(entries)
    kept = [array[1:] for array, saved in arrays if saved]
    others = [array[1:] for array, saved in arrays if not saved]
    size, more = sum(16 * len(array) for array in kept), sum(map(len, others))
    if data and len(data) not in (size, size + more):
        raise SnapshotError(f"snapshot: expected {size} or {size + more} bytes of loads, got {len(data)}")
    breaks = len(data) > size
    numbers = np.frombuffer(data[:size] or bytes(size), "<f8").astype(np.float64).reshape(-1, 2)
    broken = np.frombuffer(data[size:] if breaks else bytes(more), np.uint8)
    plausible = np.isfinite(numbers[:, 0]).all() and ((numbers[:, 1] == 0) | (numbers[:, 1] == 1)).all()
    plausible = plausible and not (np.signbit(numbers) & (numbers == 0)).any() and (broken <= 1).all()
    if not plausible or (broken.any() != breaks) or (data and not breaks and not numbers.any()):
        raise SnapshotError("snapshot: its loads are not as snapshot() writes them")
    writes: list[tuple[np.ndarray, None, np.ndarray]] = []
    place = 0
    for array in kept:
        writes.append((array, None, numbers[place : place + len(array)]))
        place += len(array)
    place = 0
    for array in others:
        writes.append((array[:, :1], None, np.full((1, 1), np.nan)))
        writes.append((array[:, 1:], None, broken[place : place + len(array), None].astype(np.float64)))
        place += len(array)
    return writes
