"""Wheels deflated as well as deflate can: some twentieth smaller, and read by the same unzip as before.

    python tools/squeeze.py FOLDER      each wheel there is replaced; needs `pip install deflate` (libdeflate)

setup.py does it to each wheel that it builds. What repairs wheels for a release packs them anew, with zlib, which
looks for matches and does not look back. RECORD has digests of what is in a wheel, not of how it is packed, so it
stays true.
"""

import struct
import sys
import zipfile
from pathlib import Path

BUDGET = 1.9 * 2**20  # bytes of a wheel with all instruction sets, for Linux on x86-64
LOCAL = "<4s5H3L2H"  # the parts of a zip file, https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3
CENTRAL = "<4s6H3L5H2L"
END = "<4s4H2LH"


def deflated(data: bytes) -> tuple[int, bytes]:
    """How it is packed, and the packed bytes."""
    from deflate import deflate_compress

    packed = bytes(deflate_compress(data, 12))
    return (zipfile.ZIP_DEFLATED, packed) if len(packed) < len(data) else (zipfile.ZIP_STORED, data)


def squeeze(wheel: Path) -> None:
    """Replace a wheel by one with the same files in the same order."""
    body, directory = bytearray(), bytearray()
    with zipfile.ZipFile(wheel) as old:
        files = [(item, old.read(item)) for item in old.infolist() if not item.is_dir()]
    for item, data in files:
        method, packed = deflated(data)
        name = item.filename.encode("ascii")
        year, month, day, hour, minute, second = item.date_time
        when = (hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day)
        about = (method, *when, item.CRC, len(packed), len(data), len(name), 0)
        made_on = item.create_system << 8 | 20
        directory += struct.pack(
            CENTRAL, b"PK\1\2", made_on, 20, 0, *about, 0, 0, 0, item.external_attr, len(body)
        )  # fmt: skip
        directory += name
        body += struct.pack(LOCAL, b"PK\3\4", 20, 0, *about) + name + packed
    end = struct.pack(END, b"PK\5\6", 0, 0, len(files), len(files), len(directory), len(body), 0)
    new = wheel.with_suffix(".squeezed")
    new.write_bytes(bytes(body + directory + end))
    with zipfile.ZipFile(new) as squeezed:
        # Reading compares checksums too.
        if [(item.filename, squeezed.read(item)) for item in squeezed.infolist()] != [
            (item.filename, data) for item, data in files
        ]:
            raise SystemExit(f"{wheel.name}: what was squeezed is not what was there")
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, squeezed {new.stat().st_size:,}")
    new.replace(wheel)


def main(folder: str) -> int:
    wheels = sorted(Path(folder).glob("*.whl"))
    for wheel in wheels:
        squeeze(wheel)
    large = [wheel for wheel in wheels if "linux" in wheel.name and "x86_64" in wheel.name]
    large = [wheel for wheel in large if wheel.stat().st_size > BUDGET]
    for wheel in large:
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, of {BUDGET:,.0f} allowed")
    return len(large) if wheels else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
