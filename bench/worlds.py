"""Costs of many worlds in one call: `python -m bench.worlds`.

Worlds of six discs in a box: beside a Python loop over steppers, pymunk, and NumPy over all worlds; memory of a million
resets. Times of one thread are those of the processor, so that other work on the machine counts little. `--sweep` adds
100,000 parameter sets on a LocalCluster, which needs the extra `distributed` and some minutes. JaxMARL's simple_tag,
six circles without walls, stands beside where it is installed (`bench.peers.mpe`). VMAS is not measured: of torch,
which it needs, the package index has the build for graphics cards alone, with all that it asks for some gigabytes.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

import kickdrift as kd

from . import table
from .peers import mpe
from .table import Row, at_most, compare, seconds
from .timing import measure, ratio

DISCS, RADIUS, WIDTH, DT = 6, 0.5, (6.0, 4.0), 1 / 60
PLACES = np.array([[1.0 + 2 * (i % 3), 1.0 + 2 * (i // 3)] for i in range(DISCS)])
PAIRS = [(i, j) for i in range(DISCS) for j in range(i + 1, DISCS)]
Run = Callable[[], object]


def discs() -> kd.Stepper:
    velocity = 2 * np.random.default_rng(1).normal(size=(DISCS, 2))
    constraints = [kd.ElasticCollisions(RADIUS, restitution=1.0), kd.Box((0, 0), WIDTH, radius=RADIUS)]
    return kd.Stepper(PLACES.copy(), velocity, dt=DT, constraints=constraints, integrator="semi_implicit_euler")


class Batch:
    """The same in NumPy, over all worlds at once: pairs one after the other, then walls."""

    def __init__(self, worlds: int) -> None:
        one = discs()
        self.x, self.v = (np.repeat(array[None], worlds, 0) for array in (one.position, one.velocity))

    def step(self) -> None:
        x, v = self.x, self.v
        x += v * DT
        for i, j in PAIRS:
            d = x[:, j] - x[:, i]
            square = (d * d).sum(axis=1)
            speed = ((v[:, j] - v[:, i]) * d).sum(axis=1)
            hit = (square < 4 * RADIUS * RADIUS) & (speed < 0)
            push = np.where(hit, speed / np.where(hit, square, 1), 0)[:, None] * d
            v[:, i] += push
            v[:, j] -= push
        for axis, width in enumerate(WIDTH):
            below, above = x[:, :, axis] < RADIUS, x[:, :, axis] > width - RADIUS
            v[:, :, axis] = np.where(below, abs(v[:, :, axis]), np.where(above, -abs(v[:, :, axis]), v[:, :, axis]))


def pymunk_worlds(worlds: int) -> list[object]:
    import pymunk

    made = []
    for _ in range(worlds):
        space, one = pymunk.Space(), discs()
        corners = [(0, 0), (WIDTH[0], 0), WIDTH, (0, WIDTH[1])]
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            wall = pymunk.Segment(space.static_body, a, b, 0.0)
            wall.elasticity = 1.0
            space.add(wall)
        for x, v in zip(one.position.tolist(), one.velocity.tolist(), strict=True):
            body = pymunk.Body(1.0, pymunk.moment_for_circle(1.0, 0, RADIUS))
            body.position, body.velocity = x, v
            circle = pymunk.Circle(body, RADIUS)
            circle.elasticity = 1.0
            space.add(body, circle)
        made.append(space)
    return made


def made(rounds: int) -> Iterator[Row]:
    """4,096 worlds in 0.2 s; a loop that makes as many steppers."""
    world = discs()
    times = measure({"Worlds(world, 4096)": lambda: kd.Worlds(world, 4096), "64 steppers": many_steppers}, rounds)
    ours = sorted(times["Worlds(world, 4096)"])[rounds // 2]
    row = at_most("making 4,096 worlds of six discs", times, None)
    row.goal, row.met = "≤ 0.2 s", ours <= 0.2
    yield row


def many_steppers() -> list[kd.Stepper]:
    return [discs() for _ in range(64)]


def steps(rounds: int) -> Iterator[Row]:
    """A step of each world beside a step within step(64) of one; by one thread and by two."""
    one = discs()
    worlds, shared = (kd.Worlds(one, 4096, threads=threads) for threads in (1, 2))

    def long() -> None:
        one.step(64)

    def single() -> None:
        for _ in range(64):
            worlds.step()

    # All make the same steps in turn, so that all are always in the same state.
    times = measure({"step()": single, "step(64) of one": long}, rounds, clock=time.process_time)
    times["step()"] = [value / 64 for value in times["step()"]]
    times["step(64) of one"] = [64 * value for value in times["step(64) of one"]]
    yield at_most("4,096 worlds, a step; 4,096 steps within step(64) of one", times, 1.2)
    start = one.snapshot()
    for each in (worlds, shared):
        each.restore(start)
    yield from compare(
        "4,096 worlds, two threads", {"ours": shared.step, "one thread": worlds.step}, {"one thread": 1.9}, rounds, []
    )


def peers(rounds: int) -> Iterator[Row]:
    for count in (64, 4096, 65536):
        worlds, batch = kd.Worlds(discs(), count), Batch(count)
        few = min(count, 4096)  # a loop takes as long for each of 4,096 as for each of 65,536
        steppers, missing = [discs() for _ in range(few)], []

        def loop(steppers: list[kd.Stepper] = steppers) -> None:
            for each in steppers:
                each.step()

        runs: dict[str, Run] = {"ours": worlds.step, "a loop over steppers": loop, "NumPy": batch.step}
        goals: dict[str, float | None] = {"a loop over steppers": 10.0 if count == 4096 else None, "NumPy": None}
        try:
            spaces = pymunk_worlds(few)
        except ImportError:
            missing = ["pymunk"]
        else:

            def step_spaces(spaces: list[object] = spaces) -> None:
                for each in spaces:
                    each.step(DT)  # type: ignore[attr-defined]

            runs["pymunk"], goals["pymunk"] = step_spaces, 30.0 if count == 4096 else None
        try:
            runs["MPE in JAX"], goals["MPE in JAX"] = mpe.stepped(count), None
        except ImportError:
            missing.append("MPE in JAX")
        times = measure(runs, rounds, clock=time.process_time)
        for name in times.keys() & {"a loop over steppers", "pymunk"}:
            times[name] = [value * count / few for value in times[name]]
        for name, goal in goals.items():
            r = ratio(times[name], times["ours"])
            middle = [sorted(times[each])[rounds // 2] for each in ("ours", name)]
            met = None if goal is None else r.median >= goal
            wanted = "" if goal is None else f"≥ {goal:g}"
            yield Row(f"{count} worlds, a step", seconds(middle[0]), name, seconds(middle[1]), *r, wanted, met)
        rate = count / sorted(times["ours"])[len(times["ours"]) // 2]
        yield Row(f"{count} worlds: {rate:.3g} worlds a second", seconds(1 / rate), "", "")
        yield from (Row(f"{count} worlds, a step", "", name, "not installed") for name in missing)


def resets() -> Row:
    """A million resets by mask: the most memory of the process, before and after."""
    import resource

    worlds, start, rng = kd.Worlds(discs(), 4096), discs().snapshot(), np.random.default_rng(0)
    masks = [rng.random(4096) < 0.5 for _ in range(8)]
    most = []
    for number in range(500):
        worlds.restore(start, where=masks[number % 8])
        worlds.step()
        if number in (20, 499):
            most.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    row = Row(
        "a million resets by mask: memory at most",
        f"{most[1] / 1024:.0f} MB",
        "after 40,000",
        f"{most[0] / 1024:.0f} MB",
    )
    row.goal, row.met = "≤ 1 MB more", most[1] - most[0] <= 1024
    return row


def throw(speed: float, drag: float) -> kd.Stepper:
    forces = [kd.QuadraticDrag(drag), kd.Gravity((0, -9.81))]
    return kd.Stepper([[0.0, 1.0]], [[speed, speed]], dt=0.01, forces=forces)


def throws(speeds: np.ndarray, drags: np.ndarray) -> kd.Worlds:
    drag = kd.QuadraticDrag(0.1)
    world = kd.Stepper([[0.0, 1.0]], dt=0.01, forces=[drag, kd.Gravity((0, -9.81))])
    worlds = kd.Worlds(world, len(speeds))
    worlds.velocity[...] = speeds[:, None, None]
    worlds.set(drag, coefficient=drags)
    return worlds


def reach(world: kd.Stepper) -> float:
    return float(world.position[0, 0])


def reaches(worlds: kd.Worlds) -> np.ndarray:
    return worlds.position[:, 0, 0].copy()


def sweep(count: int = 100_000, single: int = 2000) -> Row:
    """As many parameter sets on a LocalCluster, and some of them one by one."""
    from distributed import Client, LocalCluster

    from kickdrift import distributed

    rng = np.random.default_rng(0)
    speeds, drags = rng.uniform(1, 10, count), rng.uniform(0.01, 1, count)
    chunks = [{"speeds": speeds[k : k + 2500], "drags": drags[k : k + 2500]} for k in range(0, count, 2500)]
    cases = [{"speed": speeds[k], "drag": drags[k]} for k in range(single)]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        found, took = [], []
        for build, given, observe in ((throws, chunks, reaches), (throw, cases, reach)):
            before = time.perf_counter()
            some = distributed.sweep(build, given, 100, observe, executor=client.get_executor(), progress=False)
            found.append(np.concatenate([np.atleast_1d(each) for each in some]))
            took.append((time.perf_counter() - before) / len(found[-1]))
    if not np.array_equal(found[0][:single], found[1]):
        raise AssertionError("other results")
    row = Row(f"a sweep, each of {count} parameter sets", seconds(took[0]), "single steppers", seconds(took[1]))
    row.ratio, row.goal, row.met = took[1] / took[0], "≥ 20", took[1] / took[0] >= 20
    return row


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.worlds", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--sweep", action="store_true", help="a sweep on a LocalCluster too")
    parser.add_argument("--json", metavar="FILE", help="write everything to a file as well")
    options = parser.parse_args()
    rounds = 5 if options.quick else 21
    about = table.machine({"numpy": np.__version__})

    def rows() -> Iterator[Row]:
        yield from made(rounds)
        yield from steps(rounds)
        yield from peers(rounds)
        if sys.platform != "win32":
            yield resets()
        if options.sweep:
            yield sweep()

    table.report(about, rows(), options.json)


if __name__ == "__main__":
    main()
