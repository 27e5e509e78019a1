"""What a machine could give at most: how fast it copies memory of the size that a scene works on.

A call reads the state once and writes it once, whatever the number of its steps, as tiles stay in the caches. So a row
near the limit waits for memory, and a row far below it for arithmetic.
"""

from functools import cache
from time import perf_counter

import numpy as np

from .scene import Scene

#: Additions, multiplications, quotients and roots of one step, for each component, roughly: by force and integrator.
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
    """Bytes read and written per second, at best, as `size` bytes are copied to as many again and again."""
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
    """Bytes and operations per second of calls that take so long, and which share of the limit these bytes are."""
    numbers = scene.n * 3
    state = 2 * numbers * np.dtype(scene.dtype).itemsize
    moved = 2 * state / seconds
    operations = numbers * scene.steps * OPERATIONS[scene.force, scene.integrator] / seconds
    return {"bytes": moved, "operations": operations, "share": moved / bandwidth(state // 2)}
