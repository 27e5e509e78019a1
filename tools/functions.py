"""kd.math in float32, for every argument that there is: is it the nearest float?

    python tools/prove.py functions [--write] [--quick] [--processes N] [name ...]

Looks at all 2**32 arguments of sin, cos, tan, exp, log, tanh and cbrt, with the package that Python finds. The oracle
is the C library's long double, where that has 64 bits (x86 without Microsoft's compiler), or mpmath with 200 bits where
long double comes so near the middle of two floats that its error could matter. Minutes for each function and core.
--quick: mpmath where float64 comes near the middle of two floats, and nothing elsewhere: this trusts float64's errors,
which tests/kernels/test_functions.py measures. --write: keep the digests of all results in tests/functions.txt;
otherwise they are compared with these. An argument that fails is one to enter as NEAREST in reference/functions.py.
"""

import hashlib
from multiprocessing import Pool
from pathlib import Path

import numpy as np

FILE = Path(__file__).parent.parent / "tests" / "functions.txt"
NAMES = ("sin", "cos", "tan", "exp", "log", "tanh", "cbrt")
SLICE, BLOCK = 2**22, 2**15


def near_middle(value, margin):
    """Which numbers are, but for a share `margin` of themselves, in the middle of two floats?"""
    near = value.astype(np.float32)
    wide = near.astype(value.dtype)
    way = np.where(value < wide, np.float32(-np.inf), np.float32(np.inf))
    other = np.nextafter(near, way).astype(value.dtype)
    off = np.abs(value - (wide + (other - wide) / 2))
    return (off <= np.abs(value) * margin) & np.isfinite(near)


def exact(name, x):
    """The nearest float, by mpmath."""
    from mpmath import mp, mpf

    with mp.workprec(400):
        value = mpf(float(x))
        true = mp.sign(value) * mp.cbrt(abs(value)) if name == "cbrt" else getattr(mp, name)(value)
        near = np.float32(float(true))
        for candidate in (near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))):
            if abs(mpf(float(candidate)) - true) < abs(mpf(float(near)) - true):
                near = candidate
        return near


def suspects(value):
    """Which float64 numbers are within a few units in the last place of the middle of two floats?"""
    last = value.view(np.uint64) & np.uint64(2**29 - 1)
    near = last - np.uint64(2**28 - 4) <= 8
    small = np.flatnonzero(np.abs(value) < 2.0**-126)  # where floats have fewer bits
    if len(small):
        near[small] = near_middle(value[small], 2.0**-50)
    return near & np.isfinite(value)


def look(job):
    """The arguments of a slice for which a function is wrong, and the digest of what it gives."""
    name, first, quick = job
    import kickdrift as kd

    function, digest, failed = getattr(kd.math, name), hashlib.blake2b(digest_size=16), []
    for start in range(first, first + SLICE, BLOCK):
        patterns = np.arange(start, start + BLOCK, dtype=np.uint32)
        x = patterns.view(np.float32)
        with np.errstate(all="ignore"):
            ours = function(x)
            digest.update(np.where(np.isnan(ours), np.float32(0), ours).astype("<f4", copy=False))  # of a NaN no bits
            if quick:
                suspect = suspects(function(x.astype(np.float64)))
            else:
                value = getattr(np, name)(x.astype(np.longdouble))
                suspect = near_middle(value, 2.0**-60) | (ours != value.astype(np.float32))
                suspect &= ~(np.isnan(ours) & np.isnan(value))
            failed += [int(patterns[n]) for n in np.flatnonzero(suspect) if exact(name, x[n]) != ours[n]]
    return failed, digest.digest()


def main(*arguments):
    given = list(arguments)
    processes = int(given.pop(given.index("--processes") + 1)) if "--processes" in given else 1
    options = {argument for argument in given if argument.startswith("--")}
    names = [name for name in given if not name.startswith("--")] or NAMES
    quick = "--quick" in options
    if not quick and np.finfo(np.longdouble).nmant < 63:
        raise SystemExit("long double is no oracle here: --quick")
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    known = dict(line.split()[::-1] for line in lines if line[0] != "#")
    failures = 0
    with Pool(processes) as pool:
        for name in names:
            jobs = [(name, first, quick) for first in range(0, 2**32, SLICE)]
            total, wrong = hashlib.blake2b(digest_size=16), []
            for failed, digest in pool.imap(look, jobs):
                wrong += failed
                total.update(digest)
            found = total.hexdigest()
            same = "--write" in options or known.get(name) == found
            known[name] = found
            failures += len(wrong) + (not same)
            print(
                f"{name}: {len(wrong)} of 2**32 are not the nearest float; {found}{'' if same else ', DIFFERENT'}",
                flush=True,
            )
            for pattern in wrong:
                print(f"  {pattern:#010x}: {np.uint32(pattern).view(np.float32)!r}", flush=True)
            if "--write" in options:
                head = "# kd.math in float32 for all 2**32 arguments: `python tools/prove.py functions --write`.\n"
                FILE.write_text(head + "".join(f"{digest} {name}\n" for name, digest in known.items()))
    return failures
