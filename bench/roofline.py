"""Roofline model: the memory bandwidth for the working set of a scene.

A call reads and writes the state once, for any number of steps, because tiles stay in the caches. A row near the limit
is bound by memory, a row far below it by arithmetic.
"""

from functools import cache
from time import perf_counter

import numpy as np

from .scene import Scene

#: Approximate number of arithmetic operations and roots per step and component, by force and integrator.
OPERATIONS = {
    ("drag", "semi_implicit_euler"): 6,
    ("drag", "velocity_verlet"): 12,
    ("drag", "rk4"): 34,
    ("well", "semi_implicit_euler"): 9,
    ("well", "velocity_verlet"): 13,
    ("well", "leapfrog"): 11,
    ("well", "rk4"): 46,
    ("wind", "semi_implicit_euler"): 8,
    ("wind", "velocity_verlet"): 16,
    ("wind", "leapfrog"): 18,
    ("wind", "rk4"): 43,
    ("vortex", "semi_implicit_euler"): 11,
    ("vortex", "velocity_verlet"): 15,
    ("vortex", "leapfrog"): 13,
    ("vortex", "rk4"): 55,
}


@cache
def bandwidth(size: int) -> float:
    """Return the peak copy bandwidth in bytes read and written per second, for arrays of `size` bytes."""
    source, to = np.ones(max(1, size // 8)), np.ones(max(1, size // 8))
    calls = max(1, (1 << 24) // max(size, 1))
    best = float("inf")
    for _ in range(20):
        start = perf_counter()
        for _ in range(calls):
            np.copyto(to, source)
        best = min(best, (perf_counter() - start) / calls)
    return 2 * source.nbytes / best


def work(scene: Scene, seconds: float) -> dict[str, float]:
    """Return bytes and operations per second of calls of this duration, and the share of the bandwidth limit."""
    numbers = scene.n * 3
    state = 2 * numbers * np.dtype(scene.dtype).itemsize
    moved = 2 * state / seconds
    operations = numbers * scene.steps * OPERATIONS[scene.force, scene.integrator] / seconds
    return {"bytes": moved, "operations": operations, "share": moved / bandwidth(state // 2)}
