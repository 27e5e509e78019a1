"""Costs of spawn, despawn, changes at run time and loops over ticks: `python -m bench.living`.

`--before DIR` also measures the creation of a stepper in another tree, which must be built in place.
"""

import argparse
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import kickdrift as kd
from kickdrift import kernels

from . import table
from .table import Row, at_most, compare, seconds
from .timing import measure

Run = Callable[[], object]
GRAVITY = (0.0, -9.81)
MAKE = """
import sys, numpy as np, kickdrift as kd
from time import perf_counter
best = 1e9
for _ in range(60):
    start = perf_counter()
    for _ in range(20):
        kd.Stepper(np.zeros((1000, 2)), np.zeros((1000, 2)), dt=0.01,
                   forces=[kd.Gravity((0, -9.81)), kd.LinearDrag(1.0, (2.0, 0.0))])
    best = min(best, (perf_counter() - start) / 20)
print(best)
"""


def world(n: int, **more: object) -> kd.Stepper:
    rng = np.random.default_rng(1)
    chosen = {"hz": 100, "forces": [kd.Gravity(GRAVITY), kd.LinearDrag(0.1)]} | more
    return kd.Stepper(rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), **chosen)  # type: ignore[arg-type]


def short(runs: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Measure in many short rounds, most of which other processes do not interrupt."""
    return measure(runs, 10 * rounds, least=3e-4)


def beside(title: str, runs: dict[str, Run], most: float | None, rounds: int) -> Row:
    """Compare the first of two with the second; `most`: the largest ratio of their times."""
    return at_most(f"{title}: {next(iter(runs))}", short(runs, rounds), most)


def loops(rounds: int) -> list[Row]:
    rows = []
    for n in (100, 6000, 100_000):
        one, other = world(n), world(n)

        def ticks(one: kd.Stepper = one) -> None:
            for _ in one.ticks(0.01):
                pass

        runs: dict[str, Run] = {"ticks": ticks, "advance": lambda other=other: other.advance(0.01)}
        rows.append(beside(f"{n:,} bodies, a frame of one tick", runs, 1.5, rounds))
    return rows


def aligned(values: np.ndarray) -> np.ndarray:
    """Return a copy aligned to cache lines, because vectors across two lines take up to twice as long."""
    copy = kernels.aligned_zeros(values.shape, values.dtype)
    copy[...] = values
    return copy


def forces(rounds: int) -> list[Row]:
    rows = []
    for n in (100, 6000, 100_000):
        for dtype in (np.float32, np.float64):
            rng = np.random.default_rng(1)
            start = rng.normal(size=(2, n, 2)).astype(dtype)
            force = aligned(np.ones((n, 2), dtype))
            one = kd.Stepper(*map(aligned, start), dt=0.01, forces=[kd.AppliedForce(force)])
            other = kd.Stepper(*map(aligned, start), dt=0.01, forces=[kd.Gravity(np.ones((n, 2)))])
            runs: dict[str, Run] = {"AppliedForce": one.step, "gravity of each body": other.step}
            rows.append(beside(f"{n:,} bodies, f{start.itemsize * 8}, step()", runs, 1.5, rounds))
    return rows


def made_in(path: Path) -> float:
    """Return the seconds in which a source tree makes a stepper."""
    command = [sys.executable, "-c", MAKE]
    return float(subprocess.run(command, env={"PYTHONPATH": str(path)}, capture_output=True, check=True).stdout)


def changes(rounds: int, before: str) -> list[Row]:
    wind, number = kd.LinearDrag(1.0, (2.0, 0.0)), iter(range(10**9))

    def make() -> kd.Stepper:
        return kd.Stepper(
            np.zeros((1000, 2)),
            np.zeros((1000, 2)),
            dt=0.01,
            forces=[kd.Gravity(GRAVITY), kd.LinearDrag(1.0, (2.0, 0.0))],
        )

    one = kd.Stepper(np.zeros((1000, 2)), np.zeros((1000, 2)), dt=0.01, forces=[kd.Gravity(GRAVITY), wind])
    runs: dict[str, Run] = {
        "set of a wind": lambda: one.set(wind, wind=(float(next(number)), 0.0)),
        "making the stepper": make,
    }
    title = "1,000 bodies"
    rows = [beside(title, runs, 0.1, rounds)]
    if before:
        # Separate processes, because garbage collection would take longer in this one.
        paths = (Path(kd.__file__).parent.parent, Path(before) / "src")
        times = [[made_in(path) for path in paths] for _ in range(3)]
        now, then = map(min, zip(*times, strict=True))
        row = Row(f"{title}: making the stepper", seconds(now), f"making it in {before}", seconds(then), now / then)
        row.goal, row.met = f"≤ {1 / 3:.2g} times as long", now / then <= 1 / 3
        rows.append(row)
    return rows


def level(shapes: int, alive: int | None, contacts: bool) -> tuple[kd.Stepper, dict[str, Any]]:
    """Return a world of 6,200 bodies in a level, and what is changed in it by name."""
    rng, side = np.random.default_rng(6), math.ceil(math.sqrt(shapes))
    lower = 100.0 * np.array([(i % side, i // side) for i in range(shapes)]) + 2000
    boxes = kd.Boxes(lower, lower + 40, friction=0.5)
    changing: dict[str, Any] = {"wind": kd.LinearDrag(0.1, wind=(0.0, 0.0)), "rod": kd.Distance([(0, 1)], length=5.0)}
    if contacts:
        changing["contacts"] = kd.Contacts(2.0, friction=0.4, shapes=[boxes])
    else:
        changing |= {"hits": kd.ElasticCollisions(2.0, sensor=True, category=1, mask=3), "boxes": boxes}
    forces, constraints = [kd.Gravity(GRAVITY), changing["wind"]], [*changing.values()][1:]
    changing["boxes"] = boxes
    start = rng.uniform(0, 1000, (6200, 2)), rng.normal(0, 50, (6200, 2))
    return kd.Stepper(*start, hz=60, forces=forces, constraints=constraints, alive=alive), changing


def levels(rounds: int) -> list[Row]:
    """What a change costs in a level: the table of `levels.md`. Enabling and adding are measured as pairs of calls."""
    rows, each = [], iter(range(10**9))

    def number() -> float:
        return next(each) % 1000 + 1.0

    def changes_of(game: kd.Stepper, changing: dict[str, Any]) -> Iterator[tuple[str, float, Run]]:
        def off_and_on(name: str) -> Run:
            return lambda: (game.enable(changing[name], False), game.enable(changing[name], True))

        def added(make: Callable[[], Any]) -> Run:
            return lambda: game.remove(game.add(make()))

        def one_off() -> None:
            there = np.ones(game.current(changing["boxes"]).count, np.bool_)
            there[next(each) % len(there)] = False
            game.set(changing["boxes"], enabled=there)

        yield "set of a wind", 1, lambda: game.set(changing["wind"], wind=(number(), 0.0))
        yield "set of the boxes' friction", 1, lambda: game.set(changing["boxes"], friction=number() / 1000)
        yield "set of the boxes' surface speed", 1, lambda: game.set(changing["boxes"], surface_speed=number())
        yield "one of the boxes off", 1, one_off
        if "contacts" in changing:
            contacts = changing["contacts"]
            yield "set of the contacts' friction", 1, lambda: game.set(contacts, friction=number() / 1000)
            yield "set of one radius, index=5", 1, lambda: game.set(contacts, radius=number() / 500, index=5)
            yield "set_mass of one, index=5", 1, lambda: game.set_mass(number(), index=5)
            if game.n > game.alive.sum():
                some = {"position": np.zeros((30, 2)), "radius": 1.5, "mass": np.arange(1.0, 31.0)}
                yield "spawn and kill of 30 with a radius and masses", 1.5, lambda: game.kill(game.spawn(**some))
            return
        yield "set of a rod's length", 1, lambda: game.set(changing["rod"], length=number())
        yield (
            "set of two categories and masks, index=[5, 7]",
            1,
            lambda: game.set(changing["hits"], category=int(number()), mask=int(number()), index=[5, 7]),
        )
        yield "wind off and on", 2, off_and_on("wind")
        yield "rod off and on", 2, off_and_on("rod")
        yield "boxes off and on", 2, off_and_on("boxes")
        yield "a force made, added, removed", 2, added(lambda: kd.Gravity((number(), 0.0)))
        yield "a rod made, added, removed", 2, added(lambda: kd.Distance([(2, 3)], length=number()))
        yield "a box made, added, removed", 2, added(lambda: kd.Boxes([(-90.0, -90.0)], [(-80.0, number())]))

    def changes_among(count: int) -> Iterator[tuple[str, float, Run]]:
        rods = [kd.Distance([(2 * k, 2 * k + 1)], length=5.0) for k in range(count)]
        walls = [kd.Plane((math.cos(k), math.sin(k)), -1e4) for k in range(4)]
        game = kd.Stepper(np.random.default_rng(6).uniform(0, 1000, (6200, 2)), hz=60, constraints=[*rods, *walls])
        yield "set of a rod's length", 1, lambda: game.set(rods[3], length=number())
        yield "a rod made, added, removed", 2, lambda: game.remove(game.add(kd.Distance([(998, 999)], number())))
        yield "a rod off and on", 2, lambda: (game.enable(rods[3], False), game.enable(rods[3], True))
        yield "set of a plane's friction", 1, lambda: game.set(walls[1], friction=number() / 1000)

    def measured(where: str, changes: Iterator[tuple[str, float, Run]]) -> None:
        for name, calls, run in changes:
            time = min(short({name: run}, rounds)[name])
            row = Row(f"{where}: {name}", seconds(time), "")
            row.goal, row.met = f"≤ {seconds(calls * 20e-6)} on a quiet machine", time <= calls * 20e-6
            rows.append(row)

    for contacts in (False, True):
        for shapes in (10, 1000, 5000):
            for alive in (None, 50):
                where = f"6,200 bodies, {shapes:,} shapes{', alive=50' if alive else ''}"
                measured(where, changes_of(*level(shapes, alive, contacts)))
    for rods in (10, 100):
        measured(f"6,200 bodies, {rods} rods declared one by one, 4 planes", changes_among(rods))
    return rows


def slots(rounds: int) -> list[Row]:
    some = world(6000)
    some.kill(np.arange(0, 3300, 100))
    x, v = np.random.default_rng(2).normal(size=(2, 33, 2))
    rows, array = np.random.default_rng(3).permutation(6000)[:33], np.zeros((6000, 2))

    def births() -> None:
        some.kill(some.spawn(x, v))

    def assign() -> None:
        array[rows] = x

    few, many = world(100), world(10_000)
    many.kill(np.arange(100, 10_000))
    return [
        beside("33 of 6,000 bodies", {"spawn and kill": births, "a NumPy fancy assignment": assign}, 5, rounds),
        beside("step()", {"10,000 slots of which 100 live": many.step, "100 bodies": few.step}, 1.5, rounds),
    ]


def frames(rounds: int) -> list[Row]:
    """A frame of a small game, part by part and as a whole; and single bodies that come and go, as Python numbers.

    Seen from above: with gravity, or a wind that never turns, all bodies lie in a corner after the first rows.
    """
    rng = np.random.default_rng(5)
    wind, number = kd.LinearDrag(0.1, wind=(0.0, 0.0)), iter(range(10**9))
    game = kd.Stepper(
        rng.uniform(0, 1000, (500, 2)),
        rng.normal(0, 50, (500, 2)),
        hz=60,
        forces=[kd.Gravity((0.0, 0.0)), wind],
        constraints=[kd.ElasticCollisions(2.0, sensor=True), kd.Box(0, 1000)],
        events=kd.Events(),
        alive=300,
    )
    x, v = rng.uniform(0, 1000, (30, 2)), rng.normal(0, 50, (30, 2))
    some = [game.spawn(x, v), game.spawn((1.0, 2.0))]

    def births() -> None:
        game.kill(some[0])
        some[0] = game.spawn(x, v)

    def one() -> None:
        game.kill(int(some[1][0]))
        some[1] = game.spawn((1.0, 2.0), (3.0, 4.0))

    parts: dict[str, Run] = {
        "set": lambda: game.set(wind, wind=(float(next(number) % 60 - 30), 0.0)),
        "spawn and kill of 30": births,
        "slots of 30": lambda: game.slots(some[0]),
        "advance": lambda: game.advance(1 / 60),
        "events.take": lambda: game.events.take(),
        "interpolate": lambda: game.interpolate(living=True),
    }

    def frame() -> None:
        for part in parts.values():
            part()

    def rest() -> None:
        for name, part in parts.items():
            if name != "set":
                part()

    rows = []
    for name, run, most in [*((name, run, None) for name, run in parts.items()), ("all but set", rest, None),
                            ("all of these", frame, 60e-6), ("spawn and kill of 1", one, 6e-6)]:  # fmt: skip
        time = min(short({name: run}, rounds)[name])
        row = Row(f"a frame in a world of 500: {name}", seconds(time), "")
        if most is not None:
            row.goal, row.met = f"≤ {seconds(most)} on a quiet machine", time <= most
        rows.append(row)
    return rows


def rollback(rounds: int) -> list[Row]:
    one, other = world(100), world(100)
    past = kd.Rollback(one, ticks=12)
    past.save()
    past.resimulate(10)
    start = one.tick - 10

    def again() -> None:
        past.rollback(start)
        past.resimulate(start + 10)

    def back() -> None:
        past.rollback(start)
        past.resimulate(start + 1)

    def steps() -> None:
        for _ in range(9):
            other.step()

    ten, single, nine = map(min, short({"ten": again, "one": back, "steps": steps}, rounds).values())
    above = (ten - single - nine) / 9
    row = Row("100 bodies: resimulate, of each tick, above its step", seconds(max(above, 1e-9)), "")
    row.goal, row.met = "≤ 3 µs on a quiet machine", above <= 3e-6
    return [row]


def games(rounds: int) -> list[Row]:
    """Measure the moving parts of the examples per frame against plain NumPy: spawns, despawns, wind, steps."""
    n, count, life, dt = 10_000, 33, 240, 1 / 60
    rng = np.random.default_rng(4)
    speeds = rng.normal(0, 300, (count, 2)).astype(np.float32)
    wind = kd.LinearDrag(0.8, wind=(0.0, 0.0))
    ours = kd.Stepper(
        np.zeros((n, 2), np.float32),
        dt=dt,
        alive=0,
        integrator="semi_implicit_euler",
        forces=[kd.Gravity((0, 500)), wind],
    )
    born: list[np.ndarray] = []
    x, v, alive = np.zeros((n, 2), np.float32), np.zeros((n, 2), np.float32), np.zeros(n, np.bool_)
    theirs: list[np.ndarray] = []
    gravity, frame = np.array((0, 500), np.float32), [0, 0]

    def fountain() -> None:
        if len(born) >= life:
            ours.kill(born.pop(0))
        born.append(ours.spawn((480.0, 620.0), speeds))
        ours.set(wind, wind=(250 * math.sin(frame[0] * dt), 0.0))
        frame[0] += 1
        ours.step()

    def plain() -> None:
        if len(theirs) >= life:
            alive[theirs.pop(0)] = False
        slots = np.flatnonzero(~alive)[:count]
        alive[slots], x[slots], v[slots] = True, (480, 620), speeds
        theirs.append(slots)
        blow = np.array((250 * math.sin(frame[1] * dt), 0), np.float32)
        frame[1] += 1
        v[alive] += np.float32(dt) * (gravity - np.float32(0.8) * (v[alive] - blow))
        x[alive] += np.float32(dt) * v[alive]

    for _ in range(life + 10):
        fountain()
        plain()
    if not np.allclose(ours.position[ours.alive], x[alive], rtol=1e-3, atol=1e-2):
        raise SystemExit("the fountain in NumPy computes something else than ours")
    rows = compare(
        "fountain, 7,920 particles, a tick", {"ours": fountain, "NumPy": plain}, {"NumPy": 3}, 5 * rounds, []
    )

    place, speed = rng.uniform(0, 640, (40, 2)), rng.normal(0, 60, (40, 2))
    rocks = kd.Stepper(np.zeros((512, 2)), dt=1 / 120, alive=0)
    rocks.spawn(place, speed)
    a, b, lives = np.zeros((512, 2)), np.zeros((512, 2)), np.zeros(512, np.bool_)
    a[:40], b[:40], lives[:40] = place, speed, True
    shot = np.array([[480.0, 320.0]])

    def asteroids() -> None:
        rocks.kill(rocks.spawn(shot, 0.0))
        rocks.step()

    def numpy_asteroids() -> None:
        slots = np.flatnonzero(~lives)[:1]
        lives[slots], a[slots], b[slots] = True, shot, 0.0
        lives[slots] = False
        a[lives] += b[lives] / 120

    rows += compare(
        "asteroids, 40 rocks, a shot born and gone, a tick",
        {"ours": asteroids, "NumPy": numpy_asteroids},
        {"NumPy": 3},
        5 * rounds,
        [],
    )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.living", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--before", metavar="DIR", default="", help="another tree to measure making a stepper in")
    parser.add_argument("--json", metavar="FILE", help="write everything to a file as well")
    options = parser.parse_args()
    rounds = 5 if options.quick else 21
    about = table.machine({"numpy": np.__version__})

    def rows() -> Iterator[Row]:
        yield from loops(rounds)
        yield from forces(rounds)
        yield from changes(rounds, options.before)
        yield from levels(rounds)
        yield from slots(rounds)
        yield from frames(rounds)
        yield from rollback(rounds)
        yield from games(rounds)

    table.report(about, rows(), options.json)


if __name__ == "__main__":
    main()
