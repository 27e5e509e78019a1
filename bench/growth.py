"""Time per body and step from 100 to 10,000,000 bodies, for each kernel: `python -m bench.growth`.

The density of a scene stays the same, so that the time per body would be flat if caches had no end. n-body is left
out: its time grows with the pairs. Times are of the process, the least of some rounds. Calls make 16 steps; two where
1,000,000 bodies touch each other. `--json FILE` writes the figures, and `python docs/make_pictures.py` draws them.
"""

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np

import kickdrift as kd

from . import table
from .timing import measure

#: Steps of a call: few enough for Ctrl-C, enough for the cache.
STEPS = 16
GRAVITY = (0.0, -9.81)
#: Least and greatest time per body from 1,000 bodies on.
GOAL = 2.5


def square(n: int, spacing: float) -> np.ndarray:
    """Return n places in rows, slightly displaced."""
    side = math.ceil(math.sqrt(n))
    number = np.arange(n)
    places = spacing * np.stack([number % side, number // side], axis=1)
    return np.asarray(places + np.random.default_rng(1).uniform(-0.1, 0.1, (n, 2)) * spacing, np.float64)


def moving(n: int, spacing: float, speed: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    return square(n, spacing), np.random.default_rng(2).normal(size=(n, 2)) * speed


def rows(n: int) -> kd.Stepper:
    return kd.Stepper(*moving(n, 1.0), hz=60, forces=[kd.Gravity(GRAVITY), kd.LinearDrag(0.1)])


def tiles(n: int) -> kd.Stepper:
    return kd.Stepper(*moving(n, 1.0), hz=60, forces=[kd.PointGravity(1.0, (0.5, 0.5), 1.0), kd.LinearDrag(0.1)])


def walls(n: int) -> kd.Stepper:
    side = math.ceil(math.sqrt(n))
    box = kd.Box((-1.0, -1.0), (side + 1.0, side + 1.0))
    return kd.Stepper(*moving(n, 1.0), hz=60, constraints=[box])


def springs(n: int) -> kd.Stepper:
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    return kd.Stepper(square(n, 1.0), hz=60, forces=[kd.Springs(pairs, 10.0)])


def expression(n: int) -> kd.Stepper:
    return kd.Stepper(*moving(n, 1.0), hz=60, forces=[kd.Expression(x="-2*sin(x)", y="-2*sin(y)")])


def atoms(n: int) -> kd.Stepper:
    side = math.ceil(math.sqrt(n)) * 1.2
    return kd.Stepper(
        *moving(n, 1.2, 0.5),
        dt=0.002,
        forces=[kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=2.5, shift=True)],
        constraints=[kd.Periodic((0, 0), (side, side))],
    )


def gas(n: int) -> kd.Stepper:
    side = math.ceil(math.sqrt(n)) * 3.0
    return kd.Stepper(
        *moving(n, 3.0), hz=60, constraints=[kd.Periodic((0, 0), (side, side)), kd.ElasticCollisions(0.5)]
    )


def pile(n: int) -> kd.Stepper:
    """Rows of balls on a floor, 20 deep; they have come to rest when they are timed."""
    width = math.ceil(n / 20)
    number = np.arange(n)
    row = number // width
    place = np.stack([2.001 * (number % width) + row % 2, 1.0 + 1.74 * row], axis=1)
    one = kd.Stepper(
        place,
        hz=60,
        forces=[kd.Gravity(GRAVITY)],
        constraints=[kd.Contacts(1.0, walls=[kd.Box((-1.0, 0.0), (2.001 * width + 1.0, 1e6))])],
    )
    one.step(60 if n <= 10_000 else 20)
    return one


#: What a kernel does, its scene, and the most bodies that memory or patience allow.
KERNELS: dict[str, tuple[Callable[[int], kd.Stepper], int]] = {
    "gravity and drag": (rows, 10**7),
    "a well and drag": (tiles, 10**7),
    "a box": (walls, 10**7),
    "springs": (springs, 10**7),
    "an expression": (expression, 10**7),
    "Lennard-Jones": (atoms, 10**6),
    "a gas of circles": (gas, 10**6),
    "a pile of circles": (pile, 10**6),
}


def grown(make: Callable[[int], kd.Stepper], counts: list[int], most: int, rounds: int) -> dict[str, float]:
    """Return seconds per body and step for each number of bodies."""
    found = {}
    for n in counts:
        one = make(n)
        steps = STEPS if n < most or most == 10**7 else 2
        times = measure({"one": lambda one=one, steps=steps: one.step(steps)}, rounds, 1e-2, process_time)
        found[str(n)] = min(times["one"]) / steps / n
        del one
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 10,000 bodies")
    parser.add_argument("--json", metavar="FILE", help="write everything to a file as well")
    options = parser.parse_args()
    about = table.machine({"numpy": np.__version__})
    for key, value in about.items():
        print(f"- {key}: {value}")
    counts = [10**k for k in range(2, 5 if options.quick else 8)]
    print(f"\n| ns a body and step | {' | '.join(f'{n:,}' for n in counts)} | most / least from 1,000 |")
    print("|---" * (len(counts) + 2) + "|")
    kernels = {}
    for name, (make, most) in KERNELS.items():
        kernels[name] = found = grown(make, [n for n in counts if n <= most], most, 3)
        later = [seconds for n, seconds in found.items() if int(n) >= 1000]
        grows = max(later) / min(later)
        cells = [f"{found[str(n)] * 1e9:.3g}" if str(n) in found else "" for n in counts]
        print(f"| {name} | {' | '.join(cells)} | {grows:.2f}{'' if grows <= GOAL else ' **no**'} |", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps({"about": about, "seconds": kernels}, indent=1) + "\n")


if __name__ == "__main__":
    main()
