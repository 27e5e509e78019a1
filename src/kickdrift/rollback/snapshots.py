"""The bytes of a snapshot.

    8 bytes     magic and version
    8 bytes     length of the header in bytes, CRC-32 of the rest of the header
    48 bytes    tick, the clock's tick (-1: none, or 0), started, length of the text (int64 each), the
                step size of the history (float64), checksum of arrays and sections (uint64)
    text        JSON: identity of the stepper, dt, exact time, offset; padded with spaces to 8 bytes
    arrays      the state (positions and velocities, or y) and the history, row by row
    sections    of the parts that are not absent, each with its name and length: see `parts.py`

All numbers are little-endian, no byte is undefined, and equal states have equal bytes.

Snapshots are untrusted input, and checksums can be forged. `parse` therefore accepts only bytes that `save` could have
written, checks sizes before it processes them, and does not modify the stepper.
"""

from __future__ import annotations

import re
import struct
import sys
import zlib
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import time_steps, validation
from ..errors import SnapshotError
from . import parts

if TYPE_CHECKING:
    from ..stepper.common import State

_MAGIC = b"kdsnap\x00"
_VERSION = 2
MAGIC = _MAGIC + bytes([_VERSION])
_PROLOGUE = struct.Struct("<8sII")
_NUMBERS = struct.Struct("<qqqqdQ")
TICKS = 2**62  # ticks are below this limit, as in clocks
_DIGITS = 4300  # Python's default limit of digits in int(text)
_LONGEST_TEXT = 2**15  # room for four numbers of `_DIGITS` digits, and for the identity of a stepper
_WHOLE = f"[0-9]{{1,{_DIGITS}}}"
_LIMITS = {
    np.dtype(dtype): (float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)) for dtype in (np.float32, np.float64)
}
#: Little-endian dtypes of saved arrays.
_LITTLE = {dtype: dtype if sys.byteorder == "little" else dtype.newbyteorder("<") for dtype in _LIMITS}
_HEX = r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}"


class Saved(NamedTuple):
    """The checked contents of a snapshot that fits the stepper."""

    tick: int
    clock_tick: int | None
    started: bool
    last_h: float
    exact_dt: Fraction
    origin: Fraction
    origin_tick: int
    offset: np.ndarray
    #: The state and the history, if any: read-only arrays of shape (n, dim).
    arrays: list[np.ndarray]
    #: The changes that restore all parts of the stepper, see parts.py. None if there are no sections, and the
    #: stepper uses no part.
    changes: dict[str, Any] | None


class _Header(NamedTuple):
    """The numbers and the text before the arrays, as they are in the snapshot."""

    length: int
    tick: int
    clock_tick: int
    started: int
    last_h: float
    checksum: int
    text: bytes


class Kept(NamedTuple):
    """The contents of a snapshot before it is packed, which takes five times as long as to copy them."""

    tick: int
    clock_tick: int
    started: bool
    last_h: float
    time: tuple[Fraction, Fraction, int, bytes]  #: dt, origin, tick of the origin, offset
    data: bytes  #: the arrays
    sections: bytes


def keep(stepper: State, data: bytes | None = None) -> Kept:
    """Return a stepper's contents for `packed`. data: the bytes of the arrays, if already copied."""
    clock, started = stepper._clock, stepper._started
    time = stepper._exact_dt, stepper._origin, stepper._origin_tick, stepper._offset.tobytes()
    return Kept(
        stepper.tick,
        -1 if clock is None else clock.tick or -1,  # a new clock is saved like none, as it is made lazily
        started,
        stepper._last_h if started else stepper._dt,
        time,
        stepper._copies() if data is None else data,
        parts.written(stepper),
    )


def packed(stepper: State, kept: Kept) -> bytes:
    """Return the bytes of the snapshot with these contents."""
    return _joined(stepper, kept, checksum(stepper, kept), [kept.data])


def _joined(stepper: State, kept: Kept, check_of_state: int, data: list[Any]) -> bytes:
    text = _text(stepper, kept.time)
    numbers = _NUMBERS.pack(kept.tick, kept.clock_tick, kept.started, len(text), kept.last_h, check_of_state)
    length = _PROLOGUE.size + len(numbers) + len(text)
    check = zlib.crc32(text, zlib.crc32(numbers))
    prologue = _PROLOGUE.pack(MAGIC, length, check)
    return b"".join([prologue, numbers, text, *data, kept.sections])


def checksum(stepper: State, kept: Kept) -> int:
    """Return the `checksum()` of a stepper with these contents."""
    form = stepper.dtype.newbyteorder("<")
    whole = np.frombuffer(kept.data, form).astype(stepper.dtype, copy=False)
    count = stepper._array_count(kept.started)
    return digest(stepper, list(whole.reshape(count, stepper.n, stepper.dim)), kept.sections)


def save(stepper: State) -> bytes:
    """Return the snapshot of a stepper."""
    arrays = stepper._arrays()
    kept = keep(stepper, b"")
    form = _LITTLE[stepper.dtype]
    # Arrays are not copied: the lock keeps them unchanged, and a copy would take most of the time.
    data = [
        array if array.dtype is form and array.flags.c_contiguous else np.ascontiguousarray(array, form)
        for array in arrays
    ]
    return _joined(stepper, kept, digest(stepper, arrays, kept.sections), data)


def copies(stepper: State) -> bytes:
    """Return the bytes of the state arrays as in a snapshot: little-endian, row by row."""
    form = stepper.dtype.newbyteorder("<")
    return b"".join(array.astype(form).tobytes() for array in stepper._arrays())


def parse(stepper: State, snapshot: Any) -> Saved:
    """Parse a snapshot for a stepper. Raises SnapshotError, and changes nothing, if it does not fit."""
    n, dim, dtype = stepper.n, stepper.dim, stepper.dtype
    size = n * dim * dtype.itemsize
    most = _PROLOGUE.size + _NUMBERS.size + _LONGEST_TEXT + 3 * size  # size limit without sections
    if type(snapshot) is bytes and len(snapshot) <= most:
        data = snapshot
    else:
        data = bytes_of(snapshot, most + parts.longest(stepper))
    header = _header(data)
    exact_dt, origin, origin_tick, offset = stepper._exact_dt, stepper._origin, stepper._origin_tick, stepper._offset
    if header.text != _text(stepper, (exact_dt, origin, origin_tick, offset.tobytes())):
        exact_dt, origin, origin_tick, offset = _parse_text(stepper, header.text)
    _check_numbers(stepper, header, exact_dt, origin_tick)

    started, last_h = bool(header.started), header.last_h
    count = stepper._array_count(started)
    end = header.length + count * size
    if len(data) < end or (len(data) - end) % 8:
        wanted = f"at least {end} bytes" if len(data) < end else "a multiple of 8 bytes"
        raise SnapshotError(f"snapshot: damaged or cut off: expected {wanted}, got {len(data)}")
    whole = _array(dtype, data, header.length, count * n, dim)
    if digest(stepper, [whole], data[end:]) != header.checksum:
        raise SnapshotError("snapshot: damaged or cut off: the checksum of its arrays differs")
    clock_tick = header.clock_tick if header.clock_tick >= 0 else None
    simple = len(data) == end and parts.none(stepper)
    changes = None if simple else parts.together(parts.parsed(stepper, data, end))
    arrays = [whole[:n], whole[n : 2 * n], whole[2 * n :]][:count]
    saved = Saved(header.tick, clock_tick, started, last_h, exact_dt, origin, origin_tick, offset, arrays, changes)
    if not simple:
        for part in stepper._parts:
            part.check(stepper, saved)
    return saved


def digest(stepper: State, arrays: list[np.ndarray], sections: bytes) -> int:
    """Return the checksum of arrays and sections; sections count as integers, exact in the stepper's dtype."""
    if not sections and len(arrays) == 1:
        return int(stepper._digest(arrays[0], 0))
    total = place = 0
    for array in arrays:
        total += stepper._digest(array, place)
        place += array.size
    if sections:
        words = np.frombuffer(sections, "<u2" if stepper.dtype.itemsize == 4 else "<u4").astype(stepper.dtype)
        total += stepper._digest(words.reshape(-1, 1), place)
    return total % 2**64


def rebuild(cls: type, arguments: dict[str, Any], snapshot: Any, clock: Any, given: Any = None) -> Any:
    """Construct a stepper from its pickled contents. given: handles of its declarations."""
    data = bytes_of(snapshot)
    if clock is None:
        step = _dt(_fields(_header(data).text), np.dtype(np.float64))
        stepper = cls(**arguments, dt=step)
    else:
        stepper = cls(**arguments, clock=clock)
    if given is not None:
        stepper._take_given(given)
    # Do not restore tick and rate of the clock: it is a full copy, and may have a pending change of its rate.
    stepper._exclusively(stepper._restore, data, False, False)
    return stepper


def bytes_of(snapshot: Any, most: int | None = None) -> bytes:
    """Return a copy of a bytes-like object. Longer objects are rejected unread."""
    if isinstance(snapshot, str):
        raise SnapshotError("snapshot: expected bytes from snapshot(), got str")
    try:
        with memoryview(snapshot) as view:
            if most is not None and view.nbytes > most:
                raise SnapshotError(
                    f"snapshot: of another stepper, or damaged: expected at most {most} bytes, got {view.nbytes}"
                )
            return snapshot if type(snapshot) is bytes else view.tobytes()
    except SnapshotError:
        raise
    except (TypeError, ValueError, BufferError) as error:
        kind = type(snapshot).__name__
        raise SnapshotError(f"snapshot: expected bytes from snapshot(), got {kind} ({error})") from None


def _header(data: bytes) -> _Header:
    start = _PROLOGUE.size + _NUMBERS.size
    if len(data) < start:
        raise SnapshotError(f"snapshot: damaged or cut off: expected at least {start} bytes, got {len(data)}")
    magic, length, check = _PROLOGUE.unpack_from(data)
    if magic[:-1] != _MAGIC:
        raise SnapshotError(f"snapshot: expected it to begin with {_MAGIC!r}, got {magic!r}")
    if magic[-1] != _VERSION:
        raise SnapshotError(f"snapshot: expected one of version {_VERSION}, got one of version {magic[-1]}")
    # An empty header has a valid CRC: reject lengths that leave no header.
    if (
        not start <= length <= min(len(data), start + _LONGEST_TEXT)
        or zlib.crc32(data[_PROLOGUE.size : length]) != check
    ):
        raise SnapshotError(f"snapshot: damaged or cut off: the header of its {len(data)} bytes is not whole")
    tick, clock_tick, started, text_length, last_h, checksum = _NUMBERS.unpack_from(data, _PROLOGUE.size)
    if text_length != length - start:
        raise SnapshotError(f"snapshot: expected a text of {length - start} bytes, got {text_length}")
    return _Header(length, tick, clock_tick, started, last_h, checksum, data[start:length])


def _check_numbers(stepper: State, header: _Header, exact_dt: Fraction, origin_tick: int) -> None:
    if not 0 <= header.tick < TICKS:
        raise SnapshotError(f"snapshot: expected a tick from 0 to {TICKS - 1}, got {header.tick}")
    if not -1 <= header.clock_tick < TICKS:
        raise SnapshotError(f"snapshot: expected a clock's tick from -1 to {TICKS - 1}, got {header.clock_tick}")
    if not 0 <= origin_tick <= header.tick:
        raise SnapshotError(f"snapshot: expected an origin from tick 0 to {header.tick}, got {origin_tick}")
    if header.started not in ((0, 1) if stepper._starts else (0,)):
        raise SnapshotError(
            f"snapshot: expected started to be {'0 or 1' if stepper._starts else 0}, got {header.started}"
        )
    if exact_dt.numerator < 0 and getattr(stepper, "_clock", None) is not None:
        raise SnapshotError(f"snapshot: expected a dt that a clock can count, got {exact_dt}")
    if header.started:
        least, most = _LIMITS[stepper.dtype]
        plausible = least <= abs(header.last_h) <= most
    else:
        plausible = header.last_h == float(exact_dt)
    if not plausible:
        raise SnapshotError(f"snapshot: expected the length of the last step in s, got {header.last_h}")


def _array(dtype: np.dtype, data: bytes, place: int, rows: int, dim: int) -> np.ndarray:
    """Return the concatenated state arrays, shape (rows, dim)."""
    form = _LITTLE[dtype]
    array = np.frombuffer(data, form, rows * dim, place).reshape(rows, dim)
    if array.flags.aligned:
        return array.astype(dtype, copy=False)
    # Copy unaligned bytes to an aligned array.
    fresh = np.empty((rows, dim), form)
    fresh.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)[place : place + fresh.nbytes]
    return fresh.astype(dtype, copy=False)


# The text.


def _text(stepper: State, key: tuple[Fraction, Fraction, int, bytes]) -> bytes:
    """Return the text of the header, cached until the key (dt, origin, its tick, offset) changes."""
    if stepper._snapshot_text is None or stepper._snapshot_text[0] != key:
        exact_dt, origin, origin_tick, offset = key
        stepper._snapshot_text = key, _written(stepper, exact_dt, origin, origin_tick, np.frombuffer(offset))
    return stepper._snapshot_text[1]


def _written(stepper: State, exact_dt: Fraction, origin: Fraction, origin_tick: int, offset: np.ndarray) -> bytes:
    import json  # slow to import

    text = json.dumps(
        {
            **stepper._identity,
            "dt": str(exact_dt),
            "origin": str(origin),
            "origin_tick": origin_tick,
            "offset": [x.hex() for x in offset.tolist()],
        }
    )
    return text.encode().ljust(-(-len(text) // 8) * 8)


def _fields(text: bytes) -> dict[str, Any]:
    import json

    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"snapshot: the text is damaged: {validation.short(error)}") from None
    if not isinstance(fields, dict):
        raise SnapshotError(f"snapshot: the text is damaged: expected a dict, got {validation.show(fields)}")
    return fields


def _parse_text(stepper: State, text: bytes) -> tuple[Fraction, Fraction, int, np.ndarray]:
    """Return dt, origin, origin_tick and offset; the rest must be equal to the text that the stepper would write."""
    fields = _fields(text)
    for name, own in {"inertia": None, **stepper._identity}.items():
        if fields.get(name) != own:
            raise SnapshotError(
                f"snapshot: of a stepper with other {_difference(stepper, name, fields.get(name), own)}"
            )
    exact_dt, origin = _dt(fields, stepper.dtype), _number("origin", fields.get("origin"))
    origin_tick = fields.get("origin_tick")
    if type(origin_tick) is not int:
        raise SnapshotError(f"snapshot: expected origin_tick to be an int, got {validation.show(origin_tick)}")
    offset = _offset(fields.get("offset"), len(stepper._offset))
    # The text is canonical: comparing with the rewritten text detects missing, duplicate, added or reformatted items.
    if not 0 <= origin_tick < TICKS or _written(stepper, exact_dt, origin, origin_tick, offset) != text:
        raise SnapshotError("snapshot: the text is not as snapshot() writes it")
    return exact_dt, origin, origin_tick, offset


def _difference(stepper: State, name: str, got: Any, own: Any) -> str:
    if name != "forces":
        return f"{name}: {validation.short(got)}, here {own!r}"
    # One digest covers forces, constraints and masses: the message cannot say which of them differ.
    declared = (*stepper._plan.forces, *stepper._plan.constraints)
    here = ", ".join(type(each).__name__ for each in declared) or "none"
    return (
        f"forces, constraints or masses, here {here}: give both steppers the same classes in the same order, with the "
        f"same numbers, pairs and functions, as they were when made; `set` and `enable` since then do not matter"
    )


def _dt(fields: dict[str, Any], dtype: np.dtype) -> Fraction:
    exact = _number("dt", fields.get("dt"))
    try:
        time_steps.signed_step(exact, None, dtype)
    except ValueError as error:
        raise SnapshotError(f"snapshot: {error}") from None
    return exact


def _number(name: str, text: Any) -> Fraction:
    """Parse a fraction of digits only, with an optional minus sign: exponents would make short strings expensive."""
    minus = isinstance(text, str) and text.startswith("-")
    parts = text[minus:].split("/") if isinstance(text, str) and len(text) <= 2 * _DIGITS + 2 else []
    if not 1 <= len(parts) <= 2 or not all(re.fullmatch(_WHOLE, part) for part in parts):
        raise SnapshotError(f'snapshot: expected {name} as a fraction like "1/60", got {validation.show(text)}')
    try:
        return -Fraction(*map(int, parts)) if minus else Fraction(*map(int, parts))
    except (ValueError, ZeroDivisionError) as error:  # the user may have lowered Python's limit of digits
        raise SnapshotError(f"snapshot: {name}: {error}") from None


def _offset(texts: Any, dim: int) -> np.ndarray:
    if not isinstance(texts, list) or len(texts) != dim:
        raise SnapshotError(f"snapshot: expected an offset of {dim} numbers, got {validation.show(texts)}")
    if not all(isinstance(text, str) and len(text) < 32 and re.fullmatch(_HEX, text) for text in texts):
        raise SnapshotError(f"snapshot: expected an offset of hexadecimal numbers, got {validation.show(texts)}")
    try:
        return np.array([float.fromhex(text) for text in texts])
    except OverflowError:
        raise SnapshotError(f"snapshot: expected a finite offset, got {validation.show(texts)}") from None
