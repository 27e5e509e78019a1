"""The bytes of a snapshot.

    8 bytes     magic and version
    8 bytes     length of the header in bytes, CRC-32 of what follows of the header
    48 bytes    tick, the clock's tick (-1: no clock), started, length of the text (int64 each), the
                step that the history spans (float64), checksum of the arrays (uint64)
    text        JSON: what the stepper is, dt, exact time, offset; filled up with spaces to 8 bytes
    arrays      the state (positions and velocities, or y) and the history, row by row

All numbers are little-endian, nothing is left unset, and equal states have equal bytes.
"""

from __future__ import annotations

import struct
import zlib
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import SnapshotError

if TYPE_CHECKING:
    from .state import State

_MAGIC = b"kdsnap\x00\x01"
_PROLOGUE = struct.Struct("<8sII")
_NUMBERS = struct.Struct("<qqqqdQ")


def save(stepper: State) -> bytes:
    """The snapshot of a stepper."""
    text = _text(stepper)
    clock = stepper._clock
    numbers = _NUMBERS.pack(
        stepper.tick,
        -1 if clock is None else clock.tick,
        stepper._started,
        len(text),
        stepper._last_h,
        stepper.checksum(),
    )
    length = _PROLOGUE.size + len(numbers) + len(text)
    check = zlib.crc32(text, zlib.crc32(numbers))
    form = stepper.dtype.newbyteorder("<")
    arrays = [np.ascontiguousarray(array, dtype=form) for array in stepper._arrays()]
    return b"".join([_PROLOGUE.pack(_MAGIC, length, check), numbers, text, *(array.data for array in arrays)])


def load(stepper: State, snapshot: bytes) -> None:
    """Bring a stepper to a snapshot, or raise SnapshotError and change nothing."""
    view = _bytes(snapshot)
    if len(view) < _PROLOGUE.size + _NUMBERS.size:
        raise SnapshotError(f"snapshot: too short ({len(view)} bytes)")
    magic, length, check = _PROLOGUE.unpack_from(view)
    if magic != _MAGIC:
        raise SnapshotError(f"snapshot: expected it to begin with {_MAGIC!r}, got {bytes(magic)!r}")
    if length > len(view) or zlib.crc32(view[_PROLOGUE.size : length]) != check:
        raise SnapshotError("snapshot: the header is damaged")
    tick, clock_tick, started, text_length, last_h, checksum = _NUMBERS.unpack_from(view, _PROLOGUE.size)
    text = bytes(view[length - text_length : length])
    changes = None
    if text != _text(stepper):
        changes = _text_of(view)
        _compare(stepper, changes)

    count = stepper._array_count(bool(started))
    form = stepper.dtype.newbyteorder("<")
    size = stepper.n * stepper.dim
    if len(view) != length + count * size * form.itemsize:
        raise SnapshotError(f"snapshot: expected {length + count * size * form.itemsize} bytes, got {len(view)}")
    shape = (stepper.n, stepper.dim)
    places = [length + i * size * form.itemsize for i in range(count)]
    arrays = [np.frombuffer(view, form, size, place).reshape(shape) for place in places]
    arrays = [array.astype(stepper.dtype, copy=False) for array in arrays]
    if sum(stepper._digest(array, i * size) for i, array in enumerate(arrays)) % 2**64 != checksum:
        raise SnapshotError("snapshot: the arrays are damaged")

    if changes is not None:
        # First what may be refused: not every dt is a rate for a clock.
        if Fraction(changes["dt"]) != stepper._exact_dt:
            try:
                stepper._take_dt(Fraction(changes["dt"]))
            except ValueError as error:
                raise SnapshotError(f"snapshot: its dt of {changes['dt']} s is refused here: {error}") from error
        offset = np.array([float.fromhex(x) for x in changes["offset"]])
        if (offset != stepper._offset).any():
            stepper._move_forces(offset)
        stepper._origin, stepper._origin_tick = Fraction(changes["origin"]), changes["origin_tick"]
    stepper._resume(tick, bool(started), last_h)
    if clock_tick >= 0 and stepper._clock is not None:
        stepper._clock.set_tick(clock_tick)
    for to, array in zip(stepper._arrays(), arrays, strict=True):
        np.copyto(to, array)


def rebuild(cls: type, arguments: dict[str, Any], snapshot: bytes, clock: Any) -> Any:
    """A stepper from what pickle kept of it."""
    step = Fraction(_text_of(snapshot)["dt"])
    stepper = cls(**arguments, **({"dt": step} if clock is None else {"clock": clock}))
    stepper.restore(snapshot)
    return stepper


def _text(stepper: State) -> bytes:
    """What does not change from step to step; kept until it does."""
    key = (stepper._exact_dt, stepper._origin, stepper._origin_tick, stepper._offset.tobytes())
    if stepper._snapshot_text is None or stepper._snapshot_text[0] != key:
        import json  # which who takes no snapshots does not wait for

        text = json.dumps(
            {
                **stepper._identity(),
                "dt": str(stepper._exact_dt),
                "origin": str(stepper._origin),
                "origin_tick": stepper._origin_tick,
                "offset": [x.hex() for x in stepper._offset.tolist()],
            }
        )
        stepper._snapshot_text = key, text.encode().ljust(-(-len(text) // 8) * 8)
    return stepper._snapshot_text[1]


def _text_of(snapshot: bytes | memoryview) -> Any:
    import json

    length = _PROLOGUE.unpack_from(snapshot)[1]
    return json.loads(bytes(snapshot[_PROLOGUE.size + _NUMBERS.size : length]))


def _compare(stepper: State, text: dict[str, Any]) -> None:
    for name, own in stepper._identity().items():
        if text.get(name) != own:
            raise SnapshotError(f"snapshot: of a stepper with other {name}: {text.get(name)}, here {own}")


def _bytes(snapshot: Any) -> memoryview:
    try:
        return memoryview(snapshot).cast("B")
    except TypeError:
        raise SnapshotError(f"snapshot: expected bytes from snapshot(), got {type(snapshot).__name__}") from None
