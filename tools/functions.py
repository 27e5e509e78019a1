"""Check that kd.math is correctly rounded in float32, for all 2**32 arguments.

    python tools/prove.py functions [--write] [--digests] [--processes N] [name ...]

Tests sin, cos, tan, exp, log, tanh and cbrt of the package that Python finds. The oracle is the C library's double;
its 64-bit long double if double is too close to the middle of two floats; and mpmath with 400 bits if long double is
too close as well (tools/nearest.c; x86-64, GCC). It takes about two minutes per function.
--write: save the digests of correct results in tests/functions.txt, instead of comparing them with that file.
--digests: compare digests only, in less than a minute per function, on any platform: results with the digest of
verified results are correct. exp and tanh have separate formulas for AVX-512: KICKDRIFT_ISA selects the tested ones.
An argument that fails must be added to NEAREST in reference/functions.py.
"""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from multiprocessing import Pool
from pathlib import Path

import numpy as np

FILE = Path(__file__).parent.parent / "tests" / "functions.txt"
NAMES = ("sin", "cos", "tan", "exp", "log", "tanh", "cbrt")
#: Parity: f(-x) = sign * f(x).
MIRRORED = {"sin": -1, "cos": 1, "tan": -1, "tanh": -1, "cbrt": -1}
SLICE, HALF = 2**22, 2**31
DOUBTS = 1000  # room for doubtful arguments per slice; usually there is at most one


def oracle(folder):
    """Compile and load the oracle, a C function that returns the nearest floats."""
    library = str(Path(folder, "nearest.so"))
    source = str(Path(__file__).with_name("nearest.c"))
    if not os.path.exists(library):
        compiler = os.environ.get("CC", "gcc").split()
        subprocess.run([*compiler, "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    function = ctypes.CDLL(library).nearest
    function.restype = ctypes.c_long
    function.argtypes = [ctypes.c_int, ctypes.c_uint32, ctypes.c_long, *[ctypes.c_void_p] * 2, ctypes.c_long]
    return function


def exact(name, x):
    """Return the float nearest to the function value, by mpmath."""
    from mpmath import mp, mpf

    with mp.workprec(400):
        value = mpf(float(x))
        true = mp.sign(value) * mp.cbrt(abs(value)) if name == "cbrt" else getattr(mp, name)(value)
        near = np.float32(float(true))
        for candidate in (near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))):
            if abs(mpf(float(candidate)) - true) < abs(mpf(float(near)) - true):
                near = candidate
        return near


def plain(results):
    """Return results in which all NaN have the same bits."""
    return np.where(np.isnan(results), np.float32(0), results).astype("<f4", copy=False)


def nearest(name, first, folder):
    """Return the float results nearest to the true values, for a slice of arguments."""
    out, doubtful = np.empty(SLICE, np.float32), np.empty(DOUBTS, np.uint32)
    found = oracle(folder)(NAMES.index(name), first, SLICE, out.ctypes.data, doubtful.ctypes.data, DOUBTS)
    assert found <= DOUBTS, f"{name}: {found} doubtful arguments from {first:#x} on"
    for pattern in doubtful[:found]:
        out[pattern - first] = exact(name, pattern.view(np.float32))
    return out


def check(job):
    """Return [(slice, wrong arguments, digest of the results)] of a slice and of its negatives."""
    name, first, folder = job
    import kickdrift as kd

    function, seen = getattr(kd.math, name), []
    right = nearest(name, first, folder) if folder else None
    for begin in (first, first + HALF) if name in MIRRORED else (first,):
        patterns = np.arange(begin, begin + SLICE, dtype=np.uint32)
        with np.errstate(all="ignore"):
            ours = plain(function(patterns.view(np.float32)))
        wrong = []
        if right is not None:
            expected = plain(right if begin == first else right * np.float32(MIRRORED[name]))
            wrong = patterns[ours.view(np.uint32) != expected.view(np.uint32)].tolist()
        seen.append((begin, wrong, hashlib.blake2b(ours, digest_size=16).digest()))
    return seen


def main(*arguments):
    given = list(arguments)
    processes = int(given.pop(given.index("--processes") + 1)) if "--processes" in given else 1
    options = {argument for argument in given if argument.startswith("--")}
    names = [name for name in given if not name.startswith("--")] or NAMES
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    known = dict(line.split()[::-1] for line in lines if line[0] != "#")
    failures = 0
    with tempfile.TemporaryDirectory() as folder, Pool(processes) as pool:
        if "--digests" in options:
            folder = None
        else:
            oracle(folder)
        for name in names:
            starts = range(0, HALF if name in MIRRORED else 2 * HALF, SLICE)
            seen = [part for parts in pool.imap(check, [(name, first, folder) for first in starts]) for part in parts]
            seen.sort()
            wrong = [pattern for _, some, _ in seen for pattern in some]
            found = hashlib.blake2b(b"".join(digest for *_, digest in seen), digest_size=16).hexdigest()
            write = "--write" in options and folder and not wrong
            same = write or known.get(name) == found
            failures += len(wrong) + (not same)
            about = f"{len(wrong)} of 2**32 are not the nearest float; " if folder else ""
            print(f"{name}: {about}{found}{'' if same else ', DIFFERENT'}", flush=True)
            for pattern in wrong[:100]:
                print(f"  {pattern:#010x}: {np.uint32(pattern).view(np.float32)!r}", flush=True)
            if write:
                known[name] = found
                head = "# kd.math in float32 for all 2**32 arguments: `python tools/prove.py functions --write`.\n"
                FILE.write_text(head + "".join(f"{known[each]} {each}\n" for each in NAMES if each in known))
    return failures
