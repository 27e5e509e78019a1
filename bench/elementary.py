"""Measure kd.math and NumPy: each function of 10,000 numbers, in both dtypes.

Run as `python -m bench.elementary`; it takes a few seconds. Prints Markdown: speed relative to NumPy. KICKDRIFT_ISA
chooses an instruction set, NPY_DISABLE_CPU_FEATURES disables some of NumPy's.
"""

import argparse
import os
from collections.abc import Callable

import numpy as np

import kickdrift as kd

from .table import processor
from .timing import measure

NAMES = ("sin", "cos", "tan", "exp", "log", "tanh", "cbrt", "pow", "atan2")
NUMPY: dict[str, Callable[..., object]] = {"pow": np.power, "atan2": np.arctan2}
SIZE = 10_000


def arguments(name: str, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    if name == "atan2":
        return [rng.normal(size=SIZE).astype(dtype) for _ in range(2)]
    ranges = {"log": [(0.1, 10)], "pow": [(0.1, 10), (-3, 3)], "tanh": [(-3, 3)]}
    return [rng.uniform(low, high, SIZE).astype(dtype) for low, high in ranges.get(name, [(-10, 10)])]


def shares(dtype: str, rounds: int) -> list[str]:
    cells = []
    for name in NAMES:
        given = arguments(name, dtype)
        ours, theirs = getattr(kd.math, name), NUMPY.get(name, getattr(np, name, None))
        assert theirs is not None
        runs = {
            "ours": lambda f=ours, given=given: f(*given),
            "theirs": lambda f=theirs, given=given: f(*given),
        }
        # Minima of short rounds, because noise from other processes only adds time.
        times = measure(runs, rounds, least=1e-4)
        cells.append(f"{min(times['theirs']) / min(times['ours']):.2f}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"{processor()}, {kd.build_info()['isa']}, shortest of {options.rounds}\n")
    print("| | " + " | ".join(NAMES) + " |\n" + "|---" * (len(NAMES) + 1) + "|")
    for dtype in ("float32", "float64"):
        print(f"| {dtype} | " + " | ".join(shares(dtype, options.rounds)) + " |", flush=True)


if __name__ == "__main__":
    main()
