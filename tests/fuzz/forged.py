"""Damaged snapshots, and forged ones with valid CRC and checksum but altered fields.

For any input, `restore` either results in a valid state or raises SnapshotError quickly and without a change. The
reference accepts and refuses the same snapshots.
"""

import copy
import json
import random
import time
import zlib

import numpy as np

import kickdrift as kd
from kickdrift.reference.checksum import digest

from . import scenes
from .common import NUMBERS, PROLOGUE, check, finite, observe, outcome, same, same_state, tally, without

SOON = 0.2 if kd.build_info()["build"] == "release" else 2.0  # seconds
MAGIC = b"kdsnap\x00\x02"

WHOLE = [0, 1, -1, 2, 7, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63), -(2**62), 255]
REAL = [0.0, -0.0, -1.0, 1e-320, 1e308, float("nan"), float("inf"), -float("inf"), 0.5]
FRACTIONS = [
    "1/60", "1/50", "0", "--1/60", "1/0", "0/0", "1e3000000", "1e-3000000", "1E400", "9" * 5000, "1/" + "9" * 5000,
    "", " 1/60 ", "nan", "inf", "x", "1_0/6_0", "١/٦٠", "\ud800", "1/60\0", 1, 0.5, None, True, [], {}, "1/1e5", "0x10",
]  # fmt: skip
HEXES = ["0x0.0p+0", "0x1.8p+1", "-0x1p-3", "nan", "inf", "0x1p+99999", "0x1p1023", "1", "", "x", None, 1, 0.5, []]
OTHERS = [None, True, 0, -1, 1.5, 10**30, "text", "", [], {}, ["0x0.0p+0"] * 9, "\ud800", [[["x"]]], 2**63, -(2**64)]
TEXTS = [
    b"", b"{", b"{}", b"[]", b"null", b"1", b"nan", b'"dt"', b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b"{}{}",
    b'{"dt": 1e999}', b"9" * 100_000, b" " * 64, b"\0" * 64, b'{"dt": "1/60", "dt": "1/50"}',
]  # fmt: skip


class Fields:
    """Fields of a snapshot; `bytes()` assembles them with valid CRC and checksum, unless these were set."""

    def __init__(self, snapshot, dtype):
        self.magic, length, _ = PROLOGUE.unpack_from(snapshot)
        values = NUMBERS.unpack_from(snapshot, PROLOGUE.size)
        self.tick, self.clock_tick, self.started, _, self.last_h, _ = values
        self.text = bytes(snapshot[PROLOGUE.size + NUMBERS.size : length])
        self.entries = json.loads(self.text)
        self.arrays = np.frombuffer(snapshot, np.dtype(dtype).newbyteorder("<"), offset=length).astype(dtype)
        self.length = self.text_length = self.check = self.checksum = None

    def write_entries(self):
        text = json.dumps(self.entries).encode()
        self.text = text.ljust(-(-len(text) // 8) * 8)

    def __bytes__(self):
        text_length = len(self.text) if self.text_length is None else self.text_length
        checksum = digest(self.arrays, 0) if self.checksum is None else self.checksum
        numbers = NUMBERS.pack(self.tick, self.clock_tick, self.started, text_length, self.last_h, checksum)
        check = zlib.crc32(numbers + self.text) if self.check is None else self.check
        length = PROLOGUE.size + len(numbers) + len(self.text) if self.length is None else self.length
        arrays = self.arrays.astype(self.arrays.dtype.newbyteorder("<")).tobytes()
        return PROLOGUE.pack(self.magic, length, check) + numbers + self.text + arrays


def forge(rng, snapshot, dtype):
    """Return a snapshot with one to three altered fields, and a description of the changes."""
    fields, done = Fields(snapshot, dtype), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        name = rng.choice(["entry", "entry", "entry", "entry", "number", "number", "text", "arrays", "prologue"])
        if name in without:
            continue
        if name == "entry":
            key = rng.choice([*fields.entries, "offset", "origin", "dt", "more"])
            done.append(f"entry {key} {forge_entry(rng, fields.entries, key)}")
            fields.write_entries()
        elif name == "number":
            field = rng.choice(["tick", "clock_tick", "started", "last_h", "text_length"])
            value = rng.choice(REAL if field == "last_h" else WHOLE)
            if field == "text_length" and rng.random() < 0.5:
                value = len(fields.text) + rng.choice([-8, -1, 1, 8, 64])
            setattr(fields, field, value)
            done.append(f"{field} {value!r}")
        elif name == "text":
            fields.text = rng.choice(TEXTS)
            done.append(f"text {fields.text[:20]!r}")
        elif name == "arrays":
            done.append(f"arrays {forge_arrays(rng, fields)}")
        else:
            field = rng.choice(["magic", "length", "check", "checksum"])
            size = 8 * (8 if field == "checksum" else 4)
            value = rng.choice([0, 8, 16, 64, 2**31, 2 ** (size - 1), 2**size - 1])
            setattr(fields, field, MAGIC[:7] + bytes([value % 256]) if field == "magic" else value)
            done.append(f"{field} {value}")
    return bytes(fields), ", ".join(done)


def forge_entry(rng, entries, key):
    if key not in entries and key != "more":
        return "is gone"
    if rng.random() < 0.1 and key != "more":
        del entries[key]
        return "gone"
    if key in ("dt", "origin") and rng.random() < 0.8:
        entries[key] = rng.choice(FRACTIONS)
    elif key == "origin_tick" and rng.random() < 0.7:
        entries[key] = rng.choice(WHOLE)
    elif key == "offset" and rng.random() < 0.8:
        entries[key] = [rng.choice(HEXES) for _ in range(rng.randrange(5))]
    else:
        entries[key] = rng.choice(OTHERS)
    return repr(entries[key])[:60]


def forge_arrays(rng, fields):
    way = rng.choice(["nan", "inf", "huge", "shorter", "longer", "fewer"])
    if way in ("nan", "inf", "huge") and fields.arrays.size:
        values = {"nan": np.nan, "inf": np.inf, "huge": np.finfo(fields.arrays.dtype).max}
        fields.arrays[rng.randrange(fields.arrays.size)] = values[way]
    elif way == "longer":
        fields.arrays = np.concatenate([fields.arrays, fields.arrays[:1]])
    else:
        fields.arrays = fields.arrays[: len(fields.arrays) // (2 if way == "fewer" else 1)][:-1]
    return way


def damage(rng, snapshot):
    """Damage a snapshot by flips, cuts, insertions or swaps."""
    data, done = bytearray(snapshot), []
    for _ in range(rng.choice([1, 1, 2, 5])):
        way = rng.choice(["flip", "flip", "byte", "cut", "drop", "insert", "swap", "zero"])
        place, other = (rng.randrange(len(data) + 1) for _ in range(2))
        if way == "flip" and place < len(data):
            data[place] ^= 1 << rng.randrange(8)
        elif way == "byte" and place < len(data):
            data[place] = rng.randrange(256)
        elif way == "cut":
            del data[place:]
        elif way == "drop":
            del data[place : place + rng.randrange(9)]
        elif way == "insert":
            data[place:place] = rng.randbytes(rng.randrange(17))
        elif way == "swap":
            size = rng.choice([1, 4, 8])
            data[place : place + size], data[other : other + size] = (
                data[other : other + size],
                data[place : place + size],
            )
        elif way == "zero":
            data[place : place + 8] = b"\0" * len(data[place : place + 8])
        done.append(f"{way} at {place}")
    return bytes(data), ", ".join(done)


def wrapped(rng, data):
    """Wrap bytes in other buffer objects, some of them unaligned."""
    way = rng.randrange(6)
    if way == 0 and "misaligned" not in without:
        shift = rng.randrange(1, 8)
        return memoryview(b"x" * shift + data)[shift:]
    if way == 1:
        return bytearray(data)
    if way == 2:
        return np.frombuffer(data, np.uint8)
    if way == 3:
        return memoryview(data)
    return data


def some_pair(rng):
    """Create a compiled stepper that has run for a while, and its reference."""
    seed = rng.randrange(2**32)
    if rng.random() < 0.3:
        make = scenes.equations(seed)
        pair = [make(kd.ODEStepper), make(kd.reference.ODEStepper)]
    else:
        drawn = scenes.bodies(seed, sizes=(1, 2, 3))
        clock = None
        if rng.random() < 0.5:
            clock = {**scenes.clock_settings(rng), "policy": "exact", "overload": "drop"}
        pair = [scenes.twin_of(module, drawn, clock) for module in (kd, kd.reference)]
    n, dt, offset = rng.randrange(5), rng.choice([None, 0.05, 1 / 90]), rng.random() < 0.5
    for stepper in pair:
        outcome(stepper.step, n)
        if dt is not None:
            stepper.dt = dt
            outcome(stepper.step, 1)
        if offset and hasattr(stepper, "shift"):
            stepper.shift([0.5] * stepper.dim)
    return pair


def timed(stepper, data):
    start = time.process_time()
    result = outcome(stepper.restore, data)
    return result, time.process_time() - start


def attempt(pair, data, name):
    """Restore a snapshot on both; return whether they accepted it."""
    tally.operations += 1
    before = [observe(stepper) for stepper in pair]
    results = []
    for stepper in pair:
        result, seconds = timed(stepper, data)
        check(seconds < SOON, f"{name}: restore took {seconds:.1f} s to come to {result}"[:300])
        kind = result[1] if result[0] == "raised" else "SnapshotError"
        check(kind == "SnapshotError", f"{name}: raised {result[1:]}"[:300])
        results.append(result)
    same(name, *results)
    if results[0][0] == "raised":
        for stepper, state in zip(pair, before, strict=True):
            same_state(f"{name}: refused", observe(stepper), state)
        return False
    fast, book = pair
    # An accepted snapshot must give a valid state.
    check(0 <= fast.tick < 2**63 - 2**32, f"{name}: tick {fast.tick}")
    check(fast.dt > 0 and np.isfinite(fast.dt), f"{name}: dt {fast.dt}")
    check(outcome(lambda: fast.time)[0] == "returned" and np.isfinite(fast.time), f"{name}: no time")
    same_state(name, observe(fast), observe(book))
    if finite(fast):
        again = fast.snapshot()
        fast.restore(again)
        same(f"{name}: saved again", fast.snapshot(), again)
    return True


def snapshots(seed, rounds=12):
    """Try damaged and forged snapshots of one stepper; in between it continues like its reference."""
    rng = random.Random(seed)
    pair = some_pair(rng)
    if not finite(pair[0]):
        return
    saved = pair[0].snapshot()
    for _ in range(rounds):
        for stepper in pair:
            outcome(stepper.step, 1)
        if rng.random() < 0.3:
            data, name = damage(rng, saved)
        else:
            data, name = forge(rng, saved, pair[0].dtype)
        try:
            pair = restore_and_step(pair, wrapped(rng, data), saved)
        except AssertionError as error:
            raise AssertionError(f"{error} -- {name}") from error


def restore_and_step(pair, data, saved):
    """Restore a snapshot, step, and return to a valid state; return the pair, or copies of it."""
    attempt(pair, data, "restore")
    sound = finite(pair[0])
    results = [outcome(stepper.step, 2) for stepper in pair]
    if sound:  # results of steps from infinities are unspecified
        same("step after it", *results)
        sound = all(map(finite, pair))
    if sound:
        same_state("step after it", *map(observe, pair))
    for stepper in pair:
        same("the sound snapshot after it", outcome(stepper.restore, saved)[0], "returned")
    # Evaluation counts of steps from infinities are unspecified: copies restart them.
    return pair if sound else [copy.deepcopy(stepper) for stepper in pair]
