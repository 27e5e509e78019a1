"""Costs of walls, frames, snapshots and user-defined forces, relative to another code path.

All rows compare two variants of kickdrift. A goal is the largest ratio of their times.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

import kickdrift as kd

from .functions import native_rows, python_rows
from .scene import H
from .table import Row, at_most, bits
from .timing import measure

DTYPES = ("float32", "float64")
EULER, VERLET = "semi_implicit_euler", "velocity_verlet"


def shots(
    position: np.ndarray, velocity: np.ndarray, dtype: str, integrator: str, constraints: Sequence[kd.Plane] = ()
) -> kd.Stepper:
    """Make bodies under gravity and quadratic drag."""
    forces = [kd.Gravity((0, -9.81, 0)), kd.QuadraticDrag(0.01)]
    x, v = (np.asfortranarray(array.astype(dtype)) for array in (position, velocity))
    return kd.Stepper(x, v, dt=H, integrator=integrator, forces=forces, constraints=list(constraints))


def walls(rounds: int) -> list[Row]:
    """1,000,000 shots with quadratic drag over a Plane, against the same without it"""
    n, rows = 1_000_000, []
    rng = np.random.default_rng(1)
    position, velocity = rng.uniform(5, 100, (n, 3)), rng.normal(0, 10, (n, 3))
    position[:, 1] += 10_000  # high enough that no shot lands during the benchmark
    for dtype in DTYPES:
        for integrator in (EULER, VERLET):
            planes = [], [kd.Plane((0, 1, 0), 0.0)], [kd.Plane((0, 1, 0), 0.0)]
            free, flying, landed = (shots(position, velocity, dtype, integrator, plane) for plane in planes)
            landed.position[:, 1] = 0
            landed.velocity[:, :] = 0
            landed.step(8)
            for what, stepper in (("in flight", flying), ("landed", landed)):
                title = f"1,000,000 shots, a Plane, {what}, {integrator.replace('_', ' ')}, step(8), {bits(dtype)}"
                runs = {"with": partial(stepper.step, 8), "without it": partial(free.step, 8)}
                rows.append(at_most(title, measure(runs, rounds), 1.3))
    return rows


def frames(rounds: int) -> list[Row]:
    """advance() of one due step, against step()"""
    rows = []
    for n, most, spare in ((100, 1.5, 100e-9), (6000, 1.3, 0.0), (100_000, 1.5, 0.0)):
        for dtype in DTYPES:
            rng = np.random.default_rng(1)

            def world(dtype: str = dtype, n: int = n, rng: np.random.Generator = rng) -> kd.Stepper:
                position, velocity = (rng.normal(size=(n, 2)).astype(dtype) for _ in range(2))
                return kd.Stepper(position, velocity, dt=1 / 64, forces=[kd.Gravity((0, -9.81))])

            one, other = world(), world()
            title = f"{n:,} bodies, advance() of one step, {bits(dtype)}"
            runs = {"advance": partial(one.advance, 1 / 64), "step()": other.step}
            rows.append(at_most(title, measure(runs, rounds), most, spare))
    return rows


def snapshots(rounds: int) -> list[Row]:
    """snapshot() and restore() of 10,000 bodies, against copies of the same bytes"""
    rows = []
    for dtype in DTYPES:
        world = kd.Stepper(np.zeros((10_000, 2), dtype), forces=[kd.Gravity((0, -9.81))])
        saved = world.snapshot()
        source, target = np.frombuffer(saved, np.uint8), np.empty(len(saved), np.uint8)
        title = f"10,000 bodies, snapshot() and restore(), {bits(dtype)}"

        def both(world: kd.Stepper = world) -> None:
            world.restore(world.snapshot())

        rows.append(at_most(title, measure({"both": both, "a copy": partial(np.copyto, target, source)}, rounds), 3))
    return rows


CASES = {
    "walls": walls,
    "frames": frames,
    "snapshots": snapshots,
    "python-force": python_rows,
    "native-force": native_rows,
}
