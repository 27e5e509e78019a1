"""Helpers to construct `Worlds`: arrays of all worlds, and private copies of the given stepper."""

from __future__ import annotations

import copy
import struct
from collections.abc import Callable
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from ..errors import SnapshotError
from ..forces.applied import Applied
from ..rollback import parts, snapshots
from . import changes
from .entries import differences, places_of
from .rotation import check_unit

if TYPE_CHECKING:
    from ..declaration import Declaration
    from .base import StepperBase
    from .entries import Entry
    from .worlds_base import WorldsBase


#: Header of a snapshot of all worlds: `MAGIC` and the number of worlds. The lengths of their snapshots follow, then
#: the snapshots.
HEAD = struct.Struct("<8sQ")
MAGIC = b"kdworlds"


def rows_of(array: np.ndarray) -> np.ndarray:
    """Return a view of an array of all worlds as (worlds, n, k)."""
    return array[..., None] if array.ndim == 2 else array


def of_all(name: str, own: np.ndarray, count: int, given: Any, alive: np.ndarray | None = None) -> np.ndarray:
    """Return an array of all worlds: the user's array `given` after checks, or copies of the template's array `own`.

    alive: mask of active bodies; None: all rows are active.
    """
    shape = (count, *own.shape)
    if given is None:
        array = np.empty(shape, own.dtype)
        array[...] = own
        return array
    if given.dtype != own.dtype or not given.dtype.isnative:
        raise TypeError(f"{name}: expected {own.dtype}, in which the world computes, got {given.dtype}")
    if given.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {given.shape}")
    flags = given.flags
    if not flags.writeable or not flags.aligned:
        raise ValueError(f"{name}: expected a writable, aligned array (it is stepped in place)")
    if validation.overlaps_itself(given):
        raise ValueError(f"{name}: expected an item of its own for each body, got overlapping ones (broadcast?)")
    there = given if alive is None else given[:, alive]
    if not np.isfinite(there).all():
        raise ValueError(f"{name}: expected finite numbers, got {validation.show(there[~np.isfinite(there)][0])}")
    if name == "orientation":
        check_unit(there.reshape(-1, 4))
    return given


def counted(worlds: Any, given: dict[str, Any]) -> int:
    """Return the number of worlds, from the number itself or from arrays of all of them."""
    for name, array in given.items():
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name}: expected an array of your own, (worlds, n, ...), got {validation.show(array)}")
        if array.ndim < 2:
            raise ValueError(f"{name}: expected shape (worlds, n, ...), got {array.shape}")
    counts = {len(array) for array in given.values()}
    if worlds is not None:
        counts.add(validation.integer("worlds", worlds, 0, 2**31 - 1))
    if len(counts) != 1:
        raise ValueError(f"worlds: expected one number of worlds, or arrays of as many, got {sorted(counts) or 'none'}")
    return counts.pop()


def parted(data: bytes, count: int, rows: np.ndarray) -> list[bytes]:
    """Return the snapshots of the worlds `rows` in a snapshot of all worlds."""
    sizes = np.zeros(0, np.int64)
    if len(data) >= HEAD.size + 8 * count and HEAD.unpack_from(data)[1] == count:
        sizes = np.frombuffer(data, "<i8", count, HEAD.size)
    ends = np.cumsum(np.concatenate([[HEAD.size + 8 * count], np.clip(sizes, 0, len(data))]))
    if len(sizes) != count or (sizes < 0).any() or ends[-1] != len(data):
        raise SnapshotError(f"snapshot: expected one of {count} worlds, got one of others, or a damaged one")
    return [data[first:last] for first, last in zip(ends[rows].tolist(), ends[rows + 1].tolist(), strict=True)]


def check_snapshot(stepper: StepperBase, snapshot: bytes) -> None:
    """Raise SnapshotError for a snapshot with other coefficients or dt than a private stepper, as worlds share them."""
    saved = snapshots.parse(stepper, snapshot)
    same = saved.exact_dt == stepper._exact_dt and (saved.offset == stepper._offset).all()
    same = same and (saved.origin, saved.origin_tick) == (stepper._origin, stepper._origin_tick)
    if not same or (saved.changes is not None and saved.changes["plan"]):
        raise SnapshotError(
            "snapshot: expected the coefficients, dt and origin that the template had when the worlds were made"
        )


def private(
    world: StepperBase, cls: type[Any], arrays: dict[str, np.ndarray], array_of: Callable[[Applied], np.ndarray]
) -> tuple[Any, dict[Declaration, Any]]:
    """Return a private copy of a stepper in its present state, and a map of applied forces to those of the copy.

    arrays: constructor arguments of the copy. array_of: returns the copy's array for an applied force.
    """
    _, (_, arguments, snapshot, _, given) = world._reduced()
    # If the stepper is itself a copy, its `_handles` are measured declarations, and `given` has the user's handles.
    declared = [*world._handles, *world._firsts, *given[0], *(one for added in given[1] for one in added[:2])]
    others: dict[Declaration, Any] = {
        one: type(one)(array_of(one))  # type: ignore[call-arg]
        for one in declared
        if isinstance(one, Applied)
    }
    memo = {id(one): others.get(one, one) for one in declared}
    declared_ones = (arguments["forces"], arguments["constraints"], given)
    forces, constraints, given = copy.deepcopy(declared_ones, memo)
    arguments |= {"forces": forces, "constraints": constraints, "threads": 1, **arrays}
    return snapshots.rebuild(cls, arguments, snapshot, None, given), others


class _WithEntries:
    """A stepper as parts of its snapshot see it, but with other entries: the stepper itself stays as it is."""

    def __init__(self, stepper: StepperBase, entries: tuple[Entry, ...]) -> None:
        self._stepper, self._entries, self._changes_written = stepper, entries, None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stepper, name)


def checksum(stepper: Any, numbers: list[tuple[Any, dict[str, Any]]]) -> int:
    """Return the checksum that a stepper would have after `set` with these coefficients."""
    if not numbers:
        return int(stepper.checksum())
    entries = [*stepper._entries]
    for declaration, given in numbers:
        for place in places_of(stepper, declaration):
            entries[place] = changes.with_coefficients(stepper, entries[place], given, stepper._plan)
    sections = parts.written(_WithEntries(stepper, tuple(entries)))  # type: ignore[arg-type]
    return snapshots.digest(stepper, stepper._arrays(), sections)


def renumber(stepper: Any, numbers: list[tuple[Any, dict[str, Any]]]) -> None:
    """Set coefficients of a stepper for its steps only: its entries, and so its snapshots, stay as declared."""
    entries, changed = [*stepper._entries], {}
    before, last = vars(stepper).get("_fitted_entries", stepper._entries), vars(stepper).get("_fitted_numbers", {})
    fitted = {}
    for declaration, given in numbers:
        for place in places_of(stepper, declaration):
            fitted[place] = given
            if _alike(given, last.get(place, {})):
                entries[place] = before[place]  # numbers that are common to all worlds stay from world to world
                continue
            entries[place] = changes.with_coefficients(stepper, entries[place], given, stepper._plan)
            now, then = entries[place].today, before[place].today
            # An earlier, rejected call may have changed coefficients that this call does not set: reset them.
            changed[id(now)] = stepper._plan._parts.get(id(then)), given | differences(now, then)
    made = changes._remade(stepper, stepper._offset, tuple(entries), changed=changed, before=before)
    made["attributes"] |= {"_fitted_entries": made["attributes"].pop("_entries"), "_fitted_numbers": fitted}
    if made["attributes"].get("_motion") is not None:
        # Queries pass declarations of `_entries`, not those of the plan: rows must be found by both.
        made["attributes"]["_motion"].know(stepper._entries, stepper._entries)
    stepper._commit(numbers=stepper._numbers(made["binding"], stepper._dt), **made)


def _alike(given: dict[str, Any], last: dict[str, Any]) -> bool:
    """Return whether coefficients are the same objects, as those are that all worlds share."""
    return given.keys() == last.keys() and all(map(is_, given.values(), last.values()))


def rebuilt(
    cls: type[WorldsBase],
    world: StepperBase,
    count: int,
    threads: int,
    snapshot: bytes,
    numbers: dict[int, dict[str, Any]],
) -> WorldsBase:
    """Construct worlds from their pickled contents. numbers: coefficients by index of the entry."""
    worlds = cls(world, count, threads=threads)
    worlds.restore(snapshot)
    for place, given in numbers.items():
        worlds.set(world._entries[place].origin.handle, **given)
    return worlds
