"""Costs of user-defined forces: Python functions, and C functions against equivalent built-in forces."""

import ctypes
import statistics
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import kickdrift as kd

from .peers.limit import COMPILER, FLAGS, ISAS
from .table import Row, at_most, bits, seconds
from .timing import measure

DTYPES = ("float32", "float64")


def bodies(n: int, dtype: str, force: kd.Force, integrator: str) -> kd.Stepper:
    rng = np.random.default_rng(1)
    position, velocity = (np.asfortranarray(rng.normal(5, 1, (n, 3)).astype(dtype)) for _ in range(2))
    return kd.Stepper(position, velocity, dt=1e-4, integrator=integrator, forces=[force])


def nothing(t, position, velocity, out):
    pass


def python_rows(rounds: int) -> list[Row]:
    """a Python force, each evaluation without the function's own time, 1,000 bodies"""
    rows = []
    for dtype in DTYPES:
        for integrator, evaluations in (("semi_implicit_euler", 1), ("velocity_verlet", 1), ("rk4", 4)):
            stepper = bodies(1000, dtype, kd.Force(nothing, velocity_dependent=False), integrator)
            array = np.zeros((1000, 3), dtype)
            runs = {
                "ours": lambda stepper=stepper: stepper.step(100),
                "call": lambda array=array: [nothing(0.0, array, array, array) for _ in range(100)],
            }
            times = {name: statistics.median(each) for name, each in measure(runs, rounds).items()}
            cost = times["ours"] / 100 / evaluations - times["call"] / 100
            goal = "≤ 0.5 µs"
            case = f"1,000 bodies, Python force, {integrator}, {dtype}"
            rows.append(Row(case, seconds(cost), "per evaluation", goal=goal, met=cost <= 0.5e-6))
    return rows


def library(dtype: str, folder: str) -> ctypes.CDLL:
    """Compile the forces for one dtype and the current instruction set."""
    target = str(Path(folder, f"{dtype}.so"))
    real = {"float32": "float", "float64": "double"}[dtype]
    source = str(Path(__file__).parent / "peers" / "forces.c")
    flags = [*FLAGS, *ISAS[kd.build_info()["isa"]][0], f"-DREAL={real}"]
    subprocess.run([COMPILER, *flags, source, "-o", target, "-lm"], check=True)
    return ctypes.CDLL(target)


def native_rows(rounds: int) -> list[Row]:
    """a NativeForce in C against the built-in term, 100,000 bodies, step(64)"""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for dtype in DTYPES:
            forces = library(dtype, folder)

            def native(name: str, *numbers: float, dtype=dtype, forces=forces, **options: bool) -> kd.NativeForce:
                function = kd.NativeForce.prototype(dtype)((name, forces))
                return kd.NativeForce(function, np.array(numbers, dtype), **options)

            still = {"velocity_dependent": False, "divided_by_mass": False}
            pairs = {
                "nothing": (kd.Gravity((0, 0, 0)), native("nothing", **still)),
                "gravity": (kd.Gravity((1, 2, 3)), native("gravity", 1, 2, 3, **still)),
                "drag": (kd.LinearDrag(0.5), native("drag", 0.5)),
                "spring": (kd.AnchorSpring(3.0), native("spring", 3, velocity_dependent=False)),
                "well": (kd.PointGravity(2.0, softening=0.5), native("well", 2, 0.25, **still)),
            }
            for integrator in ("semi_implicit_euler", "velocity_verlet", "rk4"):
                for name, terms in pairs.items():
                    built_in, own = (bodies(100_000, dtype, term, integrator) for term in terms)
                    for stepper in (built_in, own):
                        stepper.step(3)
                    assert np.array_equal(built_in.position, own.position), (name, integrator, dtype)
                    # Affine forces stay in registers.
                    most = {"nothing": None, "well": 1.3}.get(name, 4)
                    how = f"{integrator.replace('_', ' ')}, step(64), {bits(dtype)}"
                    runs = {"own": partial(own.step, 64), "the built-in term": partial(built_in.step, 64)}
                    rows.append(at_most(f"100,000 bodies, NativeForce, {name}, {how}", measure(runs, rounds), most))
    return rows
