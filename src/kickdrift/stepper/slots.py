"""Spawn and despawn: slots, their generations, and the ids of bodies.

A body keeps its row while it is active. The lowest free slots are used first. Spawning therefore depends only on mask
and generations, there is no free list, and restoring these two arrays restores the whole state.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels, validation
from ..errors import CapacityError, DeadBodyError, SnapshotError
from ..rollback.parts import Part

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .base import StepperBase
    from .common import State

ROW = 384  # bodies per block of a kernel's loop; equals ROW in kernels/abi/plan.pxd
#: A slot that reaches this generation is not used again: ids stay positive.
LAST_GENERATION = 2**31 - 1


class Slots:
    """Masks, generations and ids of the slots; shared by the compiled stepper and the reference.

    Callers must have the stepper's lock, except to read `alive` and `ids`.
    """

    def __init__(self, n: int, alive: np.ndarray | None = None) -> None:
        rows = -(-max(n, 1) // ROW) * ROW  # kernels read whole blocks of ROW slots
        self.n = n
        self.mask, self.needs_start = (kernels.aligned_zeros((1, rows), np.dtype(np.uint8))[0] for _ in range(2))
        self.generation = np.zeros(n, np.int64)  #: number of bodies spawned in each slot
        self.id = np.full(n, -1, np.int64)
        self.alive = _read_only(self.mask[:n].view(np.bool_))
        self.ids = _read_only(self.id)
        alive = np.ones(n, np.bool_) if alive is None else alive
        self.become(alive, alive.astype(np.int64), np.zeros(n, np.bool_))

    def become(self, alive: np.ndarray, generation: np.ndarray, needs_start: np.ndarray) -> None:
        """Replace masks and generations."""
        self.mask[: self.n], self.needs_start[: self.n], self.generation[:] = alive, needs_start, generation
        self.id[:] = np.where(alive, generation << 32 | np.arange(self.n), -1)

    def grown(self, n: int) -> Slots:
        """Return a copy with n rows; the new ones are free."""
        more = Slots(n, np.zeros(n, np.bool_))
        arrays = self.alive, self.generation, self.needs_start[: self.n]
        more.become(*(np.concatenate([array, np.zeros(n - self.n, array.dtype)]) for array in arrays))
        return more

    @property
    def untouched(self) -> bool:
        """True if no body was spawned or removed: every row has its first body."""
        return bool((self.mask[: self.n] == 1).all() and (self.generation == 1).all())

    @property
    def dead(self) -> np.ndarray:
        return np.flatnonzero(self.mask[: self.n] == 0)

    def free(self, wanted: int, among: range | np.ndarray) -> np.ndarray:
        """Return the lowest `wanted` free slots of `among` (ascending); raise CapacityError if there are fewer."""
        own = slice(among.start, among.stop) if isinstance(among, range) else among
        rows = np.flatnonzero((self.mask[own] == 0) & (self.generation[own] < LAST_GENERATION))
        rows = rows + among.start if isinstance(among, range) else among[rows]
        if len(rows) < wanted:
            raise CapacityError(wanted, len(rows))
        return rows[:wanted]

    def spawn(self, rows: np.ndarray) -> np.ndarray:
        """Spawn bodies in these slots; return their ids."""
        self.generation[rows] += 1
        self.mask[rows], self.needs_start[rows] = 1, 1
        self.id[rows] = self.generation[rows] << 32 | rows
        return self.id[rows]

    def kill(self, rows: np.ndarray) -> None:
        self.mask[rows], self.needs_start[rows], self.id[rows] = 0, 0, -1

    def find(self, ids: np.ndarray) -> np.ndarray:
        """Return the slots of bodies given by id or slot; -1 for inactive ones."""
        slots = ids & (2**32 - 1)
        there = np.where(slots < self.n, slots, 0)
        if self.n == 0:
            return np.full(ids.shape, -1, np.int64)
        lives = (ids >= 0) & (slots < self.n) & (self.mask[there] == 1)
        lives &= (ids < 2**32) | (self.id[there] == ids)
        return np.where(lives, slots, -1)

    def generations(self, name: str, bodies: np.ndarray) -> np.ndarray | None:
        """Return the generations of bodies for a new declaration: the active ones, or the next ones of free slots.

        Return None if all are 1, as for constructor arguments. Raise ValueError for bodies out of range.
        """
        bodies = validation.within(name, bodies, len(self.generation))
        generations = self.generation[bodies] + (self.mask[bodies] == 0)
        return None if (generations == 1).all() else generations

    def uncut(self, bodies: np.ndarray, generations: np.ndarray | None) -> np.ndarray:
        """Return a mask of the members, (k,) bodies or (k, 2) pairs, that are active and of the declared generation."""
        lasts = (self.mask[bodies] == 1) & (self.generation[bodies] == (1 if generations is None else generations))
        return lasts if lasts.ndim == 1 else lasts.all(axis=1)


def _read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be made writable, because its buffer is read-only."""
    return np.asarray(memoryview(array).toreadonly())  # type: ignore[arg-type]


def slots(self: StepperBase, ids: ArrayLike, *, missing: int | None = None) -> np.ndarray:
    """Return the rows of bodies, by their ids: int64, of the shape of ids.

    ids: from `spawn` or `ids`. Ints below 2**32 are rows already, and are returned unchanged. missing: the
    result for an inactive body. If left out, an inactive body raises DeadBodyError, which is a KeyError. Raises
    TypeError for anything but ints.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0], [0.0]], alive=0)
    >>> ids = world.spawn([[1.0], [2.0]])
    >>> world.kill(ids[:1])
    >>> world.slots(ids, missing=-1).tolist()
    [-1, 1]
    """
    array = as_ids("ids", ids)
    found = self._find(array)
    if missing is None and found.size and found.min() < 0:
        raise DeadBodyError(int(array[found < 0][0]))
    if missing is not None:
        found = np.where(found < 0, validation.integer("missing", missing), found)
    return found if found.ndim else found[()]


def as_ids(name: str, given: Any) -> np.ndarray:
    """Return ids or slots as int64."""
    try:
        array = validation.plain(name, given)
    except ValueError:
        raise ValueError(f"{name}: expected ints in a regular array, got {validation.show(given)}") from None
    if array.size == 0:
        return np.zeros(array.shape, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected ids, which are ints, got {validation.show(given)}")
    if array.dtype.kind == "u" and array.max() >= 2**63:
        raise DeadBodyError(int(array.max()))
    return array.astype(np.int64)


def chosen(slots: Slots, which: Any) -> np.ndarray:
    """Return the rows selected by the argument of `kill`, ascending and unique."""
    array = validation.plain("ids", which)
    if array.dtype == np.bool_:
        if array.shape != (slots.n,):
            raise ValueError(f"ids: expected a mask of shape ({slots.n},), got {array.shape}")
        return np.flatnonzero(array & (slots.mask[: slots.n] == 1))
    ids = as_ids("ids", array if array.ndim else which).ravel()
    rows = slots.find(ids)
    if (rows < 0).any():
        raise DeadBodyError(int(ids[rows < 0][0]))
    return validation.distinct(rows)


def living(alive: Any, n: int) -> np.ndarray | None:
    """Return the argument `alive` as a mask, or None if it was left out."""
    if alive is None:
        return None
    if isinstance(alive, (int, np.integer)) and not isinstance(alive, bool):
        return np.arange(n) < validation.integer("alive", alive, 0, n)
    mask = validation.plain("alive", alive)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        got = f"{mask.dtype} of shape {mask.shape}" if mask.ndim else validation.show(alive)
        raise (TypeError if mask.dtype != np.bool_ else ValueError)(
            f"alive: expected the number of active rows, or a mask of shape ({n},), got {got}"
        )
    return mask.copy()


def spawns(self: StepperBase) -> bool:
    """Return whether rows may be free: `alive` was given, or a body was spawned or removed.

    The existence of `_slots` is no proof: reading `ids` or `alive` creates the slots too.
    """
    return self._alive_given or (self._slots is not None and not self._slots.untouched)


def candidates(n: int, rows: Any) -> range | np.ndarray:
    """Return the rows that `spawn` may take, ascending: a range if they are adjacent."""
    if rows is None:
        return range(n)
    if isinstance(rows, np.ndarray):
        rows = validation.plain("rows", rows)
    found = validation.rows(rows, n, name="rows")
    if isinstance(rows, slice) and rows.step is None:
        return range(n)[rows]
    found = np.array(found, np.int64).ravel()
    return found if (found[1:] > found[:-1]).all() else validation.distinct(found)


def spawned(position: Any, velocity: Any, mass: Any, dim: int, dtype: np.dtype) -> tuple[Any, Any, Any]:
    """Check the arguments of `spawn`: positions and velocities (k, dim) in the state's dtype, masses (k,) or None."""
    x, v = _vectors("position", position, dim, dtype), _vectors("velocity", velocity, dim, dtype)
    if x.ndim == 0 or x.shape[-1] != dim:
        raise ValueError(f"position: expected shape ({dim},) or (k, {dim}), got {np.shape(position)}")
    v = v[0] if v.ndim == 2 and len(v) == 1 else v
    m = None if mass is None else np.array(validation.plain("mass", mass))
    k = next((len(array) for array in (x, v) if array.ndim == 2), 1 if m is None or m.ndim == 0 else len(m))
    for name, array in (("position", x), ("velocity", v)):
        if array.ndim == 2 and len(array) != k:
            raise ValueError(f"{name}: expected one vector for all or {k} rows, got {len(array)}")
    x, v = (np.ascontiguousarray(np.broadcast_to(array, (k, dim))) for array in (x, v))
    return x, v, None if m is None else validation.masses(m, k) + np.zeros(k)


def _vectors(name: str, given: Any, dim: int, dtype: np.dtype) -> np.ndarray:
    array = validation.numbers(name, given)
    if array.ndim > 2 or (array.ndim and array.shape[-1] not in (1, dim)):
        raise ValueError(f"{name}: expected shape ({dim},) or (k, {dim}), got {array.shape}")
    if array.dtype != dtype:
        with np.errstate(over="ignore"):
            array = array.astype(dtype)
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: expected numbers within the range of {dtype}, got {validation.show(given)}")
    return array


class SlotsPart(Part):
    """Snapshot section "slots": the generation of each slot, and whether the slot is active.

    The section is empty while all initial bodies are active.
    """

    name = "slots"
    _item = struct.Struct("<IB")

    def save(self, stepper: State) -> bytes:
        slots: Slots | None = stepper._slots  # type: ignore[attr-defined]
        if slots is None:
            return b""
        state = self._state(stepper, slots)
        if (state == 1).all() and (slots.generation == 1).all():
            return b""
        return slots.generation.astype("<u4").tobytes() + state.tobytes()

    def _state(self, stepper: State, slots: Slots) -> np.ndarray:
        """Encode slots: 1 active, 3 active with a history not yet started, 0 free."""
        mask = slots.mask[: slots.n]
        begins = stepper._started and stepper._array_count(True) > 2
        return mask + 2 * slots.needs_start[: slots.n] if begins else mask

    def absent(self, stepper: State) -> bool:
        return stepper._slots is None  # type: ignore[attr-defined]

    def most(self, stepper: State) -> int:
        return self._item.size * stepper.n

    def parse(self, stepper: State, data: bytes) -> dict[str, Any]:
        n = stepper.n
        if not data:
            ones = np.ones(n, np.bool_)
            same = stepper._slots is None  # type: ignore[attr-defined]
            return {} if same else {"slots": (ones, ones.astype(np.int64), ~ones)}
        if len(data) != self.most(stepper):
            raise SnapshotError(f"snapshot: expected slots of {self.most(stepper)} bytes, got {len(data)}")
        generation = np.frombuffer(data, "<u4", n).astype(np.int64)
        state = np.frombuffer(data, np.uint8, n, 4 * n)
        right = (state < 4) & (state != 2) & (generation <= LAST_GENERATION) & ((state == 0) | (generation > 0))
        if not right.all() or ((state == 1) & (generation == 1)).all():
            raise SnapshotError("snapshot: its slots are not as snapshot() writes them")
        return {"slots": (state > 0, generation, state == 3)}

    def check(self, stepper: State, saved: Any) -> None:
        """Check that inactive rows are zero, and that only integrators with a history have unstarted ones."""
        if "slots" not in saved.changes:
            return
        alive, _, needs_start = saved.changes["slots"]
        if needs_start.any() and len(saved.arrays) < 3:
            raise SnapshotError("snapshot: its slots are not as snapshot() writes them")
        for number, array in enumerate(saved.arrays):
            nothing = ~alive | needs_start if number == 2 else ~alive
            if array[nothing].tobytes().strip(b"\0"):
                raise SnapshotError("snapshot: the rows of inactive bodies are not zeros")
