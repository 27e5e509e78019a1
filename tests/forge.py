"""Forged snapshots: arbitrary fields with consistent lengths and checksums."""

import json
import struct
import zlib

import numpy as np

from kickdrift.reference.checksum import digest

PROLOGUE = struct.Struct("<8sII")
NUMBERS = struct.Struct("<qqqqdQ")
NAMES = ("tick", "clock_tick", "started", "text_length", "last_h", "checksum")


def take_apart(snapshot):
    """Split a snapshot into (numbers by name, text as bytes, arrays as bytes)."""
    length = PROLOGUE.unpack_from(snapshot)[1]
    numbers = dict(zip(NAMES, NUMBERS.unpack_from(snapshot, PROLOGUE.size), strict=True))
    return numbers, snapshot[PROLOGUE.size + NUMBERS.size : length], snapshot[length:]


def forge(snapshot, text=None, fields=None, arrays=None, length=None, check=None, sections=b"", **numbers):
    """Build a snapshot with other `numbers`, `text`, text `fields` or `arrays` (bytes, or shape (n, dim)).

    sections: bytes that follow the arrays; a multiple of 8 if the checksum shall be correct.

    Parameters left out keep their values or are computed to be consistent. A field set to `...` is removed.
    """
    was, own_text, tail = take_apart(snapshot)
    if fields is not None:
        merged = {**json.loads(own_text), **fields}
        text = json.dumps({name: value for name, value in merged.items() if value is not ...})
    text = own_text if text is None else text
    text = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    text = text.ljust(-(-len(text) // 8) * 8)
    was["text_length"] = len(text)
    if isinstance(arrays, list):
        size = arrays[0].size
        total = sum(digest(array, i * size) for i, array in enumerate(arrays))
        words = np.frombuffer(sections, "<u2" if arrays[0].itemsize == 4 else "<u4").astype(arrays[0].dtype)
        was["checksum"] = (total + digest(words, len(arrays) * size)) % 2**64
        tail = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays) + sections
    elif arrays is not None:
        tail = arrays
    body = NUMBERS.pack(*{**was, **numbers}.values()) + text
    length = PROLOGUE.size + len(body) if length is None else length
    check = (
        zlib.crc32((PROLOGUE.pack(snapshot[:8], length, 0) + body)[PROLOGUE.size : length]) if check is None else check
    )
    return PROLOGUE.pack(snapshot[:8], length, check) + body + tail


def forgeries(snapshot):
    """Yield (name, snapshot) of forgeries that every stepper must reject."""
    for name, tick in (("negative", -1), ("2**62", 2**62), ("last", 2**63 - 1), ("first", -(2**63))):
        yield f"tick {name}", forge(snapshot, tick=tick)
    for clock_tick in (-2, -(2**63), 2**62, 2**63 - 1):
        yield f"clock tick {clock_tick}", forge(snapshot, clock_tick=clock_tick)
    for started in (2, -1, 2**62):
        yield f"started {started}", forge(snapshot, started=started)
    for last_h in (np.nan, np.inf, -np.inf, 0.0, 5e-324, -0.0):
        yield f"last_h {last_h}", forge(snapshot, last_h=last_h)
    for text_length in (-8, -1, 0, 8, 2**40, 2**63 - 1, -(2**63)):
        yield f"text length {text_length}", forge(snapshot, text_length=text_length)
    yield "no header", snapshot[:8] + bytes(8) + snapshot[16:]
    for length in (0, 1, 15, 16, 63, 64, len(snapshot), len(snapshot) + 1, 2**32 - 1):
        yield f"length {length}", forge(snapshot, length=length)
    yield "checksum", forge(snapshot, checksum=0)
    yield "no arrays", forge(snapshot, arrays=b"")
    yield "more arrays", snapshot + take_apart(snapshot)[2]

    text = take_apart(snapshot)[1]
    numbers = [
        "1/0",
        "0",
        "0/1",
        "--1/60",
        "-0",
        "-",
        "- 1/60",
        "1e3000000",
        "1e-3000000",
        "1/" + "9" * 5000,
        "1/1/1",
        "/",
        "",
    ]
    numbers += ["2/4", "01/60", " 1/60", "1/60 ", "0.5", "nan", "inf", "1_0/60", "१/60", "\ud800", "9" * 30000]
    for name in ("dt", "origin"):
        for number in [*numbers, 5, 0.5, None, True, [], {}, ["1/60"], ...]:
            if (name, number) != ("origin", "0"):
                yield f"{name} {str(number)[:12]}", forge(snapshot, fields={name: number})
    for tick in (-1, 2**62, 2**70, "0", "text", 0.0, None, True, False, [0], ...):
        yield f"origin_tick {tick}", forge(snapshot, fields={"origin_tick": tick})
    good = json.loads(text)["offset"]
    for offset in ([*good, "0x0.0p+0"], good[1:] or ["0x0.0p+0"] * 2, "", None, 5, {}, {"0": good}, ...):
        yield f"offset of {offset}", forge(snapshot, fields={"offset": offset})
    for item in (
        "inf",
        "nan",
        "0x1.0p+99999",
        "0x1.0p+1024",
        "1.5",
        "",
        "0x1",
        0.0,
        None,
        [],
        "0x0.0p+00",
        "\udfff",
        "x" * 9999,
    ):
        if good:
            yield f"offset {str(item)[:12]}", forge(snapshot, fields={"offset": [item, *good[1:]]})
    for name in json.loads(text):
        for value in (..., None, 0, -1, True, "x", "\ud800", [], {}, [[]], 10**400, 1.5, np.inf):
            if (name, value) != ("origin_tick", 0) and (name, value) != ("offset", good):
                yield f"{name}: {str(value)[:12]}", forge(snapshot, fields={name: value})
    yield "another key", forge(snapshot, fields={"more": 1})
    yield "a key twice", forge(snapshot, text=text.rstrip()[:-1] + b', "origin_tick": 0}')
    yield "another order", forge(snapshot, text=json.dumps(dict(reversed(json.loads(text).items()))))
    yield "spaces", forge(snapshot, text=text + b" " * 8)
    yield "long text", forge(snapshot, text=text + b" " * 2**16)
    for raw in (
        "",
        "{",
        "{}",
        "[]",
        "null",
        "5",
        '"text"',
        "nan",
        "{" * 20000,
        "[" * 20000,
        "[" * 900 + "]" * 900,
        "\0",
    ):
        yield f"text {raw[:8]!r} of {len(raw)}", forge(snapshot, text=raw)
    yield "no UTF-8", forge(snapshot, text=b"\xff\xfe" * 40)
    yield "nested", forge(snapshot, text='{"a":' * 4000 + "1" + "}" * 4000)
    yield "nested value", forge(snapshot, text=text.rstrip()[:-1] + b', "dt": ' + b"[" * 900 + b"]" * 900 + b"}")
    yield "digits", forge(snapshot, text=text.rstrip()[:-1] + b', "origin_tick": ' + b"9" * 20000 + b"}")
