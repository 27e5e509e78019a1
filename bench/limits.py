"""Measure the lower bounds named in docs/speed.md: the call, the execution units, and passes over arrays in plain C.

Run as `python -m bench.limits`; it needs a C compiler, and Cython for the empty method. All times are minima of many
short rounds in turns, which makes them robust on a busy machine. Prints Markdown.
"""

import argparse
import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

import kickdrift as kd
from kickdrift.kernels import aligned_zeros

from .footprint import empty_step
from .functions import bodies, nothing
from .functions import library as forces_in
from .peers.limit import COMPILER, FLAGS, ISAS, contestant
from .scene import Scene
from .table import processor, seconds
from .timing import measure
from .ways import shots

DTYPES = ("float32", "float64")
LORENZ = 37, 34  # additions and products of a step of rk4


def least(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    return {name: min(times) for name, times in measure(runs, rounds, 1e-3).items()}


@cache
def library(dtype: str) -> ctypes.CDLL:
    flags, size, _ = ISAS[kd.build_info()["isa"]]
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder, "machine.so"))
        source = str(Path(__file__).parent / "peers" / "machine.c")
        real = {"float32": "float", "float64": "double"}[dtype]
        macros = [f"-DREAL={real}", f"-DBYTES={size}"]
        subprocess.run([COMPILER, *FLAGS, *flags, *macros, source, "-o", target], check=True)
        return ctypes.CDLL(target)


def passes(name: str, dtype: str, times: int, numbers: int, arrays: int) -> Callable[[], object]:
    """Return a call of a function of machine.c on arrays of this number and length."""
    size = ISAS[kd.build_info()["isa"]][1]
    kept = [aligned_zeros((1, numbers), np.dtype(dtype)) for _ in range(arrays)]
    vectors = numbers * np.dtype(dtype).itemsize // size
    function = getattr(library(dtype), name)
    given = [ctypes.c_long(times), ctypes.c_long(vectors), *(ctypes.c_void_p(each.ctypes.data) for each in kept)]

    def run() -> object:
        return function(*given) if kept else None

    return run


def call(rounds: int) -> list[tuple[str, str, str]]:
    """Measure the overhead of `step()` on one body beyond an empty method."""
    empty = empty_step()
    if empty is None:
        return []
    rows = []
    for dtype in DTYPES:
        times = least({"ours": Scene(n=1, steps=1, layout="row", dtype=dtype).ours().run, "empty": empty}, rounds)
        rows.append(
            (f"one body, step(), {dtype}", seconds(times["ours"]), f"an empty method {seconds(times['empty'])}")
        )
    return rows


def functions(rounds: int) -> list[tuple[str, str, str]]:
    """Measure a Python force on 1,000 bodies that does nothing, per step, and the passes around it in C."""
    rows = []
    array = np.zeros((1000, 3))
    for dtype in DTYPES:
        for integrator, name, arrays in (("semi_implicit_euler", "euler", 3), ("velocity_verlet", "verlet", 6)):
            stepper = bodies(1000, dtype, kd.Force(nothing, velocity_dependent=False), integrator)
            stepper.step(300)  # warm-up: calibrates how often the step checks for Ctrl-C
            runs = {
                "ours": partial(stepper.step, 100),
                "function": lambda: [nothing(0.0, array, array, array) for _ in range(100)],
                "C": passes(name, dtype, 100, 3072, arrays),
            }
            times = {key: value / 100 for key, value in least(runs, rounds).items()}
            added, bound = seconds(times["ours"] - times["function"]), seconds(times["C"] * 3000 / 3072)
            rows.append((f"1,000 bodies, Python force, {integrator}, {dtype}", added, f"passes in C {bound}"))
    return rows


def kept(rounds: int) -> list[tuple[str, str, str]]:
    """Measure `advance` of one due step against `step()`, and equivalent loops in C."""
    rows = []
    for dtype in DTYPES:
        for n in (6_000, 100_000):
            rng = np.random.default_rng(1)
            steppers = [
                kd.Stepper(
                    *(np.asfortranarray(rng.normal(size=(n, 2)).astype(dtype)) for _ in range(2)),
                    dt=1 / 64, integrator="semi_implicit_euler", forces=[kd.Gravity((0, -9.81))],
                )
                for _ in range(2)
            ]  # fmt: skip
            numbers = 2 * n // 64 * 64
            runs = {
                "step": steppers[0].step,
                "advance": partial(steppers[1].advance, 1 / 64),
                "C": passes("step", dtype, 1, numbers, 2),
                "C, kept": passes("kept", dtype, 1, numbers, 4),
            }
            times = least(runs, rounds)
            ours, theirs = times["advance"] / times["step"], times["C, kept"] / times["C"]
            rows.append(
                (f"advance / step(), {n:,} bodies, {dtype}", f"{ours:.2f}", f"the same loops in C {theirs:.2f}")
            )
    return rows


def walls(rounds: int) -> list[tuple[str, str, str]]:
    """Measure bodies above or on a Plane against those without it, and the pass over the bodies that any wall needs."""
    rows, tiles, steps = [], 520, 64
    for dtype in DTYPES:
        for integrator in ("semi_implicit_euler", "velocity_verlet"):
            still = np.zeros((tiles * 192, 3))
            planes = [], [kd.Plane((0, 1, 0), -1e6)], [kd.Plane((0, 1, 0), 0.0)]  # none, far, with resting bodies
            worlds = [shots(still, still, dtype, integrator, plane) for plane in planes]
            state = [aligned_zeros((1, tiles * 3 * 192), np.dtype(dtype)) for _ in range(3)]
            given = [ctypes.c_long(steps), ctypes.c_long(tiles), *(ctypes.c_void_p(s.ctypes.data) for s in state)]
            names = "free", "flying", "landed"
            runs = {name: partial(world.step, steps) for name, world in zip(names, worlds, strict=True)}
            times = least(runs | {"C": partial(library(dtype).wall, *given)}, rounds // 2)
            flying, landed = (f"{times[key] / times['free']:.2f}" for key in ("flying", "landed"))
            bound = f"landed, a pass in C {1 + times['C'] / times['free']:.2f}"
            name = integrator.replace("_", " ")
            rows.append((f"a Plane, in flight and landed, {name}, {dtype}", f"{flying}, {landed}", bound))
    return rows


def natives(rounds: int) -> list[tuple[str, str, str]]:
    """Measure a native callback against the built-in term, and the passes around the same function in C."""
    rows, tiles, steps = [], 520, 64
    with tempfile.TemporaryDirectory() as folder:
        for dtype in DTYPES:
            forces = forces_in(dtype, folder)
            for name, term, numbers in (
                ("gravity", kd.Gravity((1, 2, 3)), (1, 2, 3)),
                ("well", kd.PointGravity(2.0, softening=0.5), (2, 0.25)),
            ):
                data = np.array(numbers, dtype)
                function = kd.NativeForce.prototype(dtype)((name, forces))
                own = kd.NativeForce(function, data, velocity_dependent=False, divided_by_mass=False)
                state = [aligned_zeros((1, tiles * 3 * 192), np.dtype(dtype)) for _ in range(2)]
                state[0] += 5
                given = [ctypes.c_long(steps), ctypes.c_long(tiles), *(ctypes.c_void_p(s.ctypes.data) for s in state)]
                runs = {
                    "own": partial(bodies(tiles * 192, dtype, own, "semi_implicit_euler").step, steps),
                    "term": partial(bodies(tiles * 192, dtype, term, "semi_implicit_euler").step, steps),
                    "C": partial(library(dtype).own, *given, function, ctypes.c_void_p(data.ctypes.data)),
                }
                times = least(runs, rounds // 2)
                ours, bound = (f"{times[key] / times['term']:.2f}" for key in ("own", "C"))
                rows.append((f"NativeForce / the term, {name}, step(64), {dtype}", ours, f"passes in C {bound}"))
    return rows


def terms(rounds: int) -> list[tuple[str, str, str]]:
    """Measure single uniform terms: C written for the scene, and C with all the operations of the general terms."""
    rows = []
    for force, name in (("well", "PointGravity"), ("wind", "QuadraticDrag"), ("vortex", "Vortex")):
        for integrator in ("leapfrog", "rk4"):
            for dtype in DTYPES:
                scene = Scene(n=100_000, dtype=dtype, force=force, integrator=integrator)
                runs = {"ours": scene.ours().run, "C": contestant(scene).run, "whole": contestant(scene, True).run}
                times = least(runs, rounds // 4)
                less, whole = times["C"] / times["ours"], times["whole"] / times["ours"]
                rows.append((f"C / ours, {name}, {integrator}, {dtype}", f"{less:.2f}", f"C that does all {whole:.2f}"))
    return rows


def saved(rounds: int) -> list[tuple[str, str, str]]:
    """Measure snapshot() and restore() against their lower bound: a copy each, and a digest of the copy."""
    rows = []
    for dtype in DTYPES:
        stepper = kd.Stepper(np.ones((10_000, 2), dtype), forces=[kd.Gravity((0, -9.81))])
        runs = {
            "ours": lambda world=stepper: world.restore(world.snapshot()),
            "digest": stepper.checksum,
            "copy": partial(np.copyto, np.empty((2, 20_000), dtype), np.ones((2, 20_000), dtype)),
        }
        times = least(runs, rounds)
        both = f"2 digests, {seconds(2 * times['digest'])}, and 2 copies, {seconds(2 * times['copy'])}"
        rows.append((f"10,000 bodies, snapshot() and restore(), {dtype}", seconds(times["ours"]), both))
    return rows


def lorenz(rounds: int) -> list[tuple[str, str, str]]:
    """Measure an RK4 step of Lorenz's equations against its number of additions and products."""
    isa = kd.build_info()["isa"]
    units = library("float64")
    stepper = kd.ODEStepper(
        np.random.default_rng(1).normal((1.0, 1.0, 25.0), 1.0, (9600, 3)), kd.flows.Lorenz(), dt=1e-3
    )
    times = least(
        {
            "ours": partial(stepper.step, 20),
            **{
                name: partial(getattr(units, name), ctypes.c_long(100_000))
                for name in ("additions", "products", "both")
            },
            "cycles": partial(units.cycles, ctypes.c_long(100_000)),
        },
        rounds,
    )
    cycle = times["cycles"] / 1e5
    each = {name: times[name] / 8e5 / cycle for name in ("additions", "products", "both")}
    lanes = ISAS[isa][1] // 8
    ours = times["ours"] / (20 * 9600 // lanes) / cycle
    limit = max(LORENZ[0] * each["additions"], sum(LORENZ) * each["both"])
    said = ", ".join(f"{name} {value:.2f}" for name, value in each.items())
    return [
        ("cycles per vector: " + said, f"{1e-9 / cycle:.2f} GHz", ""),
        (
            "Lorenz, rk4, float64, cycles per step of a vector",
            f"{ours:.1f}",
            f"additions and products alone {limit:.1f}",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.limits", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    print(f"{processor()}, {kd.build_info()['isa']}, least of {options.rounds}\n")
    print("| what | ours | the limit |\n|---|---|---|")
    for measured in (call, functions, walls, natives, kept, terms, saved, lorenz):
        for row in measured(options.rounds):
            print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
