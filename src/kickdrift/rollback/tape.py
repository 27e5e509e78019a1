"""A recording of a run: initial snapshot, changes between ticks, and a checksum of each tick."""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from .. import validation
from ..errors import DesyncError, NonFiniteError, SnapshotError
from ..stepper.common import State
from . import snapshots

# File format: magic and version, length of the first snapshot, number of records; the snapshot; the records, each with
# tick, checksum, kind and length of its contents; CRC-32 of all that. Numbers are little-endian.
_MAGIC, _VERSION = b"kdtape\x00", 1
_HEAD = struct.Struct("<8sQQ")
_RECORD = struct.Struct("<qQQQ")
#: Kinds of changes before a tick: none; rows of the state, and sections of the parts; or a whole snapshot.
_NOTHING, _ROWS, _ALL = range(3)
#: Header of a change of rows: number of rows, and length of the sections, or `_SAME` if they are unchanged.
_CHANGE = struct.Struct("<QQ")
_SAME = 2**64 - 1


class _Record(NamedTuple):
    """A tick: its number after the step, its checksum, and the changes before it."""

    tick: int
    checksum: int
    kind: int
    change: bytes


class Tape:
    """Record a stepper from now on: a snapshot, the changes between ticks, and a checksum of each tick.

    stepper: a Stepper or an ODEStepper. Only one tape at a time records it. When a tick begins, the tape detects
    changes since the last one: by methods of the stepper, and in its arrays, in those of `state=` and of
    `AppliedForce`. It stores the rows of the state that differ. While a tape records, each tick is a separate call,
    which takes longer. Copies and pickles have the ticks so far, and record no more.

    Raises TypeError if it is not a stepper, RuntimeError if another tape records it. Thread-safety: that of the
    stepper.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0]], [[1.0]], dt=1)
    >>> tape = kd.Tape(world)
    >>> world.step(2)
    >>> world.velocity[0] = 3.0
    >>> world.step()
    >>> other = kd.Stepper([[9.0]], dt=1)
    >>> tape.replay(other)
    >>> other.tick, other.position.tolist(), len(tape)
    (3, [[5.0]], 3)
    """

    def __init__(self, stepper: Any) -> None:
        if not isinstance(stepper, State):
            raise TypeError(f"stepper: expected a Stepper or ODEStepper, got {validation.show(stepper)}")
        self._records: list[_Record] = []
        self._stepper: State | None = stepper
        stepper._exclusively(self._start, stepper)

    def _start(self, stepper: State) -> None:
        if stepper._tape is not None:
            raise RuntimeError("stepper: expected one that is not being recorded, call stop() of its tape first")
        self._last = snapshots.keep(stepper)
        self._first = snapshots.packed(stepper, self._last)
        self._change, self._begun = (_NOTHING, b""), (self._last.tick, 0)
        stepper._tape = self

    def stop(self) -> None:
        """Stop recording. The recorded ticks are kept."""
        stepper, self._stepper = self._stepper, None
        if stepper is not None:
            stepper._exclusively(setattr, stepper, "_tape", None)

    def __len__(self) -> int:
        """Return the number of recorded ticks."""
        return len(self._records)

    def __getstate__(self) -> dict[str, Any]:
        # A copy has the ticks recorded so far; only the original continues to record the stepper.
        return {"_first": self._first, "_records": [*self._records], "_stepper": None}

    # Methods that steppers call before and after each tick.

    def _before(self, stepper: State) -> None:
        now = snapshots.keep(stepper)
        self._change, self._begun = _difference(stepper, self._last, now), (now.tick, len(self._records))

    def _after(self, stepper: State) -> None:
        """Record a completed tick, exactly once even if this method is interrupted and called again."""
        now, (tick, recorded) = snapshots.keep(stepper), self._begun
        # A step that failed to converge is not recorded: the next step detects the changes before both.
        if now.tick != tick:
            if len(self._records) == recorded:
                self._records.append(_Record(now.tick, snapshots.checksum(stepper, now), *self._change))
            self._last = now

    # Replay.

    def replay(self, stepper: Any) -> None:
        """Run the recording on a stepper that was made like the recorded one.

        The stepper is restored to the first snapshot, and runs tick by tick from there. Raises DesyncError, which names
        the first tick whose checksum differs; SnapshotError if the tape is damaged or belongs to another stepper;
        TypeError or RuntimeError as the constructor does.
        """
        if not isinstance(stepper, State):
            raise TypeError(f"stepper: expected a Stepper or ODEStepper, got {validation.show(stepper)}")
        if stepper._tape is not None:
            raise RuntimeError("stepper: expected one that is not being recorded, call stop() of its tape first")
        stepper._exclusively(self._replay, stepper)

    def _replay(self, stepper: State) -> None:
        stepper._restore(self._first)
        for record in self._records:
            if record.kind == _ALL:
                stepper._restore(record.change)
            elif record.kind == _ROWS:
                stepper._restore(snapshots.packed(stepper, _changed(stepper, snapshots.keep(stepper), record.change)))
            if stepper.tick >= validation.LARGEST_TICK:
                raise SnapshotError(f"tape: expected a tick that another follows, got {stepper.tick}")
            with suppress(NonFiniteError):  # the recorded run raised it too, or the checksum differs
                stepper._step(1)
            checksum = stepper._checksum()
            if (stepper.tick, checksum) != (record.tick, record.checksum):
                raise DesyncError(record.tick, record.checksum, checksum)

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tape to a file, which any other machine can load."""
        parts = [_HEAD.pack(_MAGIC + bytes([_VERSION]), len(self._first), len(self._records)), self._first]
        for record in self._records:
            parts += [_RECORD.pack(record.tick, record.checksum, record.kind, len(record.change)), record.change]
        data = b"".join(parts)
        with open(path, "wb") as file:
            file.write(data + struct.pack("<I", zlib.crc32(data)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tape:
        """Read a tape from a file. Raises SnapshotError if it is damaged, OSError if the file cannot be read."""
        with open(path, "rb") as file:
            data = file.read()
        if data[:7] != _MAGIC or len(data) < _HEAD.size + 4:
            raise SnapshotError(f"tape: expected a file that begins with {_MAGIC!r}, got {data[:8]!r}")
        if data[7] != _VERSION:
            raise SnapshotError(f"tape: expected one of version {_VERSION}, got one of version {data[7]}")
        end = len(data) - 4
        if struct.unpack_from("<I", data, end)[0] != zlib.crc32(data[:end]):
            raise SnapshotError("tape: the file is damaged")
        tape = cls.__new__(cls)
        tape._stepper, tape._records = None, []
        _, size, count = _HEAD.unpack_from(data)
        tape._first, place = _piece(data, _HEAD.size, size, end)
        # Each record takes some bytes, so a forged count cannot exceed the data.
        for _ in range(count):
            head, place = _piece(data, place, _RECORD.size, end)
            tick, checksum, kind, size = _RECORD.unpack(head)
            change, place = _piece(data, place, size, end)
            if kind not in (_NOTHING, _ROWS, _ALL) or (kind == _NOTHING) != (not change):
                raise SnapshotError(f"tape: its record {len(tape._records)} is of kind {kind} and {size} bytes")
            tape._records.append(_Record(tick, checksum, kind, change))
        if place != end:
            raise SnapshotError(f"tape: {end - place} bytes too many")
        return tape


def _piece(data: bytes, place: int, size: int, end: int) -> tuple[bytes, int]:
    if size > end - place:
        raise SnapshotError(f"tape: expected {size} bytes from byte {place} on, got {end - place}")
    return data[place : place + size], place + size


def _difference(stepper: State, before: snapshots.Kept, now: snapshots.Kept) -> tuple[int, bytes]:
    """Return (kind, change) of the changes between two ticks."""
    if before._replace(clock_tick=0, data=b"", sections=b"") != now._replace(clock_tick=0, data=b"", sections=b""):
        return _ALL, snapshots.packed(stepper, now)
    if len(before.data) != len(now.data):
        return _ALL, snapshots.packed(stepper, now)
    if (before.data, before.sections) == (now.data, now.sections):
        return _NOTHING, b""
    size = stepper.dim * stepper.dtype.itemsize
    old, new = (np.frombuffer(kept.data, np.uint8).reshape(-1, size) for kept in (before, now))
    rows = np.flatnonzero((old != new).any(axis=1))
    sections = None if before.sections == now.sections else now.sections
    head = _CHANGE.pack(len(rows), _SAME if sections is None else len(sections))
    return _ROWS, b"".join([head, rows.astype("<u8").tobytes(), new[rows].tobytes(), sections or b""])


def _changed(stepper: State, now: snapshots.Kept, change: bytes) -> snapshots.Kept:
    """Return the state after a change; reject forged changes."""
    size = stepper.dim * stepper.dtype.itemsize
    count, length = _CHANGE.unpack_from(change) if len(change) >= _CHANGE.size else (_SAME, 0)
    rest = 0 if length == _SAME else length
    if count > len(change) or len(change) != _CHANGE.size + count * (8 + size) + rest:
        raise SnapshotError(f"tape: a change of {len(change)} bytes is damaged")
    rows = np.frombuffer(change, "<u8", count, _CHANGE.size)
    values = np.frombuffer(change, np.uint8, count * size, _CHANGE.size + 8 * count)
    data = np.frombuffer(now.data, np.uint8).reshape(-1, size).copy()
    if count and int(rows.max()) >= len(data):
        raise SnapshotError(f"tape: expected rows below {len(data)}, got {int(rows.max())}")
    data[rows.astype(np.intp)] = values.reshape(-1, size)
    sections = now.sections if length == _SAME else change[len(change) - length :]
    return now._replace(data=data.tobytes(), sections=sections)
