"""Overheads: import time, file size and call overhead."""

import compileall
import importlib.util
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path

import kickdrift as kd

from .scene import Scene
from .table import Row, bits, seconds
from .timing import measure, ratio

EMPTY = '''
cdef class Empty:
    """What a call costs that does nothing: a method with the signature of Stepper.step."""

    def step(self, object n=1):
        pass
'''


@cache
def empty_step():
    """Return an empty compiled method, built with the flags of the package; None without Cython or a compiler."""
    try:
        from Cython.Compiler.Main import compile_single
        from Cython.Compiler.Options import CompilationOptions
    except ImportError:
        return None
    from .peers import limit

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.pyx")
        source.write_text(EMPTY)
        compile_single(str(source), CompilationOptions(language_level=3), "empty")
        target = Path(folder, "empty" + sysconfig.get_config_var("EXT_SUFFIX"))
        include = sysconfig.get_paths()["include"]
        command = [limit.COMPILER, *limit.FLAGS, f"-I{include}", str(source.with_suffix(".c")), "-o", str(target)]
        subprocess.run(command, check=True)
        spec = importlib.util.spec_from_file_location("empty", target)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module.Empty().step


def call(rounds: int) -> list[Row]:
    """step() on one body against an empty compiled method: the overhead beyond the call itself."""
    empty = empty_step()
    rows = []
    for dtype in ("float32", "float64"):
        title = f"1 body, what step() adds to an empty compiled method, {bits(dtype)}"
        if empty is None:
            rows.append(Row(title, "", "an empty method", "Cython not installed"))
            continue
        times = measure({"ours": Scene(n=1, steps=1, layout="row", dtype=dtype).ours().run, "empty": empty}, rounds)
        added = statistics.median(mine - theirs for mine, theirs in zip(times["ours"], times["empty"], strict=True))
        r = ratio(times["empty"], times["ours"])
        ours, theirs = (seconds(statistics.median(times[name])) for name in ("ours", "empty"))
        goal = f"at most 12 ns more; is {added * 1e9:.1f}"
        rows.append(Row(title, ours, "an empty method", theirs, *r, goal, added <= 12e-9))
    return rows


PROGRAM = """
import time
start = time.perf_counter()
import numpy
between = time.perf_counter()
import kickdrift
imported = time.perf_counter()
kickdrift.Stepper([[0.0, 0.0]]).step()
print(between - start, imported - between, time.perf_counter() - between)
"""


def imports(rounds: int) -> list[Row]:
    """`import kickdrift` after NumPy is imported, against NumPy's own import, in fresh processes."""
    compileall.compile_dir(Path(kd.__file__).parent, quiet=2)  # like pip at installation
    command = [sys.executable, "-c", PROGRAM]
    texts = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(rounds)]
    theirs, *ours = (list(times) for times in zip(*(map(float, text.split()) for text in texts), strict=True))
    rows = []
    for title, times, most in (
        ("import kickdrift after NumPy", ours[0], 0.15),
        ("import kickdrift after NumPy, and a first step", ours[1], None),
    ):
        r = ratio(theirs, times)
        goal = "" if most is None else f"≤ {most:.3g} of NumPy's; is {1 / r.median:.3f}"
        met = None if most is None else 1 / r.median <= most
        middle = [seconds(statistics.median(each)) for each in (times, theirs)]
        rows.append(Row(title, middle[0], "import numpy", middle[1], *r, goal, met))
    return rows


def size(rounds: int) -> list[Row]:
    """The largest file of the package."""
    folder = Path(kd.__file__).parent
    largest = max((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    megabytes = largest.stat().st_size / 1e6
    title = f"largest file, {largest.relative_to(folder)}"
    return [Row(title, f"{megabytes:.2f} MB", "", goal="≤ 1.5 MB", met=megabytes <= 1.5)]


CASES = {"call": call, "import": imports, "size": size}
