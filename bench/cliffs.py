"""Cliffs: adding a feature may cost its share of time, but not more. `python -m bench.cliffs`

Measures pairs of forces, uniform or per body, with `--triples` also triples; walls, shapes and sensors near and far,
with and without events; `alive=`; rods and springs declared one by one; increasing numbers of bodies. Worlds are
measured in turns with their parts, in processor time. A cliff takes more than 1.5 times the time of its parts, with ten
distant walls more than 3 times.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import combinations, pairwise
from time import process_time
from typing import NamedTuple

import numpy as np

import kickdrift as kd

from . import table
from .table import Row, at_most
from .timing import measure, ratio

INTEGRATORS = ("semi_implicit_euler", "velocity_verlet", "leapfrog", "rk4")
NAMES = ("gravity", "linear drag", "quadratic drag", "spring", "well", "vortex", "magnetic", "damping")
UNIFORM = ("frame", "expression")
FORCES = (*NAMES, *(f"{name} per body" for name in NAMES), *UNIFORM, "applied")
WALLS = ("Plane", "Box", "Boxes", "Lift", "Segments", "Sensor")
LINKS = {"rods": "constraints", "springs": "forces"}
PAIRS = 100
MOST, MOST_TEN = 1.5, 3.0
FAR = 1e6  # m
DT = 1e-6  # s; tiny, because bodies must hardly move: each round then measures the same state
STEPS = 16
MANY = 10**5  # larger worlds are not cached between questions
LADDER = tuple(10**exponent for exponent in range(7))


@dataclass(frozen=True)
class World:
    """Bodies and what acts on them, by name."""

    forces: tuple[str, ...] = ()
    walls: tuple[str, ...] = ()  # pairs of a key of WALLS and "near" or "far"
    n: int = 1000
    integrator: str = "velocity_verlet"
    dim: int = 3
    dtype: str = "float32"
    events: bool = False
    alive: bool = False
    links: str = ""  # a key of LINKS, and "apart" if each pair is declared by itself
    steps: int = STEPS

    def __str__(self) -> str:
        named = [*self.forces, *(f"{count} {wall}" for wall, count in counted(self.walls)), *filter(None, [self.links])]
        options = [f"{self.dim}-D", self.integrator.replace("_", " "), table.bits(self.dtype), f"step({self.steps})"]
        options += ["events"] * self.events + ["alive="] * self.alive
        return f"{' + '.join(named) or 'drift'}: {self.n:,} bodies, {', '.join(options)}"

    def run(self) -> Callable[[], object]:
        return run(self)


def counted(walls: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(wall, walls.count(wall)) for wall in dict.fromkeys(walls)]


@lru_cache(maxsize=64)
def run(world: World) -> Callable[[], object]:
    rng = np.random.default_rng(1)
    shape = world.n, world.dim
    position, velocity = (np.asfortranarray(rng.normal(size=shape).astype(world.dtype)) for _ in range(2))
    if any(wall.endswith("near") for wall in world.walls):
        position[:, 1] = 0.0
        velocity[:, 1] = 0.0
    declared = {
        "forces": [force(name, rng, *shape, world.dtype) for name in world.forces],
        "constraints": [wall(name, world.dim) for name in world.walls],
    }
    if world.links:
        declared[LINKS[world.links.split()[0]]] += links(*world.links.split())
    stepper = kd.Stepper(
        position,
        velocity,
        dt=DT,
        integrator=world.integrator,
        **declared,
        alive=world.n if world.alive else None,
        events=kd.Events(hits_above=1.0) if world.events else None,
    )
    stepper.step(world.steps)  # warm-up: allocates memory and builds lists
    return partial(stepper.step, world.steps)


def force(name: str, rng: np.random.Generator, n: int, dim: int, dtype: str) -> object:
    kind, _, each = name.partition(" per body")
    per_body = name != kind + each
    share = rng.uniform(0.9, 1.1, n) if per_body else 1.0
    field = (0.1, 0.2, 0.3) if dim == 3 else 0.3
    return {
        "gravity": lambda: kd.Gravity(np.multiply.outer(share, (0.5, -9.81, 0.25)[:dim])),
        "linear drag": lambda: kd.LinearDrag(0.1 * share),
        "quadratic drag": lambda: kd.QuadraticDrag(0.01 * share),
        "spring": lambda: kd.AnchorSpring(2.0 * share),
        "well": lambda: kd.PointGravity(5.0 * share, (1.0, 2.0, 3.0)[:dim], 0.5),
        "vortex": lambda: kd.Vortex(2.0 * share, softening=0.5),
        "magnetic": lambda: kd.Magnetic(share, field),
        "damping": lambda: kd.Damping(0.1 * share),
        "frame": lambda: kd.RotatingFrame(field),
        "expression": lambda: kd.Expression(x="-k * x", k=2.0),
        "applied": lambda: kd.AppliedForce(np.ones((n, dim), dtype, order="F")),
    }[kind]()


def wall(name: str, dim: int) -> object:
    """Return a wall or shape; bodies rest on near ones, at y = 0."""
    kind, where = name.split()
    far = where == "far"
    low, high, level = np.full(dim, -FAR), np.full(dim, FAR), -FAR if far else 0.0
    low[1] = level
    floor = low - (0, 1, 0)[:dim], high.copy()
    floor[1][1] = level
    return {
        "Plane": lambda: kd.Plane((0, 1, 0)[:dim], level, restitution=0),
        "Box": lambda: kd.Box(low, high + FAR, restitution=0),
        "Boxes": lambda: kd.Boxes([floor[0]], [floor[1]], restitution=0),
        "Lift": lambda: kd.Boxes([floor[0]], [floor[1]], velocity=(1.0, 0.0, 0.0)[:dim], restitution=0),
        # Thick: a point at y = 0 would be on both sides of a line. Near ones end where float32 still resolves a body.
        "Segments": lambda: kd.Segments([[(-1e3, level - 0.1), (1e3, level - 0.1)]], restitution=0, thickness=0.2),
        "Sensor": lambda: kd.Sensor(low + 3 * FAR, low + 4 * FAR) if far else kd.Sensor(low - 1.0, low + FAR),
    }[kind]()


def links(kind: str, how: str = "together") -> list[object]:
    """Return PAIRS pairs of neighbours, in one declaration or each in its own."""
    pairs = [(2 * k, 2 * k + 1) for k in range(PAIRS)]
    make = {"rods": lambda some: kd.Distance(some, 1.0), "springs": lambda some: kd.Springs(some, 5.0, 1.0)}[kind]
    return [make([pair]) for pair in pairs] if how == "apart" else [make(pairs)]


class Question(NamedTuple):
    """A bound on the time of a whole, as a multiple of the summed times of its parts."""

    whole: World
    parts: tuple[World, ...]
    most: float = MOST

    def __str__(self) -> str:
        return str(self.whole)


def sums(size: int, base: World) -> Iterator[Question]:
    """Combine this number of forces; no force is combined with its own per-body variant."""
    for names in combinations(FORCES, size):
        if len({name.removesuffix(" per body") for name in names}) == size:
            yield Question(replace(base, forces=names), tuple(replace(base, forces=(name,)) for name in names))


def walls(base: World) -> Iterator[Question]:
    """Distant walls cost little, even ten of them; near walls cost their share beside forces and other walls."""
    falling = replace(base, forces=("gravity",))
    kinds = [kind for kind in WALLS if base.dim == 2 or kind != "Segments"]
    for kind in kinds:
        for name in ("gravity", "quadratic drag", "well", "linear drag per body"):
            free = replace(base, forces=("gravity",) if name == "gravity" else ("gravity", name))
            yield Question(replace(free, walls=(f"{kind} far",)), (replace(free, events=False),))
            if name != "gravity":
                near = replace(falling, walls=(f"{kind} near",))
                yield Question(replace(near, forces=free.forces), (near, replace(base, forces=(name,), events=False)))
        ten = replace(falling, walls=(f"{kind} far",) * 10)
        yield Question(ten, (replace(falling, events=False),), MOST_TEN)
    for pair in combinations([f"{kind} {where}" for kind in kinds for where in ("near", "far")], 2):
        yield Question(replace(falling, walls=pair), tuple(replace(falling, walls=(name,)) for name in pair))


def living(base: World) -> Iterator[Question]:
    """`alive=` with all bodies active costs no more than the world without it."""
    for name in FORCES:
        world = replace(base, forces=(name,))
        yield Question(replace(world, alive=True), (world,))
    for kind in WALLS:
        for where in ("near", "far"):
            if base.dim == 2 or kind != "Segments":
                world = replace(base, forces=("gravity",), walls=(f"{kind} {where}",))
                yield Question(replace(world, alive=True), (world,))


def apart(base: World) -> Iterator[Question]:
    """Pairs that are declared one by one cost no more than in one declaration."""
    for kind in LINKS:
        if base.n >= 2 * PAIRS:
            yield Question(replace(base, links=f"{kind} apart"), (replace(base, links=kind),))


def ladder(sizes: tuple[int, ...]) -> Iterator[Question]:
    """Ten times as many bodies take at most ten times as long, plus a half."""
    for forces in (("gravity",), ("gravity", "linear drag"), ("well",), ("well", "quadratic drag")):
        for walls in ((), ("Plane far",)):
            for few, many in pairwise(sizes):
                world = World(forces, walls, n=few, steps=64)
                yield Question(replace(world, n=many), (world,), 10 * MOST)


def questions(options: argparse.Namespace) -> Iterator[Question]:
    integrators = INTEGRATORS[1:2] if options.quick else INTEGRATORS
    for n in options.n or ((1000,) if options.quick else (1, 1000, 50_000)):
        for integrator in integrators:
            base = World(n=n, integrator=integrator)
            yield from sums(2, base)
            if options.triples:
                yield from sums(3, base)
            yield from living(base)
            yield from apart(base)
        for integrator in integrators[:2]:
            for dim in (2,) if options.quick else (2, 3):
                for events in (False, True):
                    yield from walls(World(n=n, integrator=integrator, dim=dim, events=events))
    if not options.quick:
        yield from ladder((*LADDER, 10**7) if options.huge else LADDER)


def ask(question: Question, rounds: int, least: float) -> Row:
    runs = {"whole": question.whole.run()} | {str(part): part.run() for part in question.parts}
    whole, *parts = measure(runs, rounds, least, process_time).values()
    together = [sum(times) for times in zip(*parts, strict=True)]
    if 1 < ratio(whole, together).median / question.most < 2:  # repeat longer, against noise
        whole, *parts = measure(runs, 2 * rounds + 3, 2 * least, process_time).values()
        together = [sum(times) for times in zip(*parts, strict=True)]
    if question.whole.n >= MANY:
        run.cache_clear()
    return at_most(str(question), {"whole": whole, "its parts": together}, question.most)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cliffs", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="some seconds: one integrator, one size, walls in two dimensions"
    )
    parser.add_argument("--triples", action="store_true", help="three forces at once, too")
    parser.add_argument("--huge", action="store_true", help="up to 10**7 bodies")
    parser.add_argument("--n", type=int, action="append", help="so many bodies, in place of the usual; may be repeated")
    parser.add_argument("--only", metavar="TEXT", default="", help="only worlds whose description has this text")
    parser.add_argument("--check", action="store_true", help="exit with status 1 where there is a cliff")
    parser.add_argument("--json", metavar="FILE", help="write everything to a file as well")
    options = parser.parse_args()
    rounds, least = (2, 5e-5) if options.quick else (5, 5e-4)
    about = table.machine({"numpy": np.__version__})
    for key, value in about.items():
        print(f"- {key}: {value}")
    rows = [ask(question, rounds, least) for question in questions(options) if options.only in str(question)]
    cliffs = sorted((row for row in rows if row.met is False), key=lambda row: -(row.ratio or 0.0))
    if cliffs:
        print(f"\n{table.header()}")
    for row in cliffs:
        print(table.line(row.cells()))
    print(f"\n{len(cliffs)} cliffs in {len(rows)} combinations.")
    if options.json:
        table.save(options.json, about, rows)
    if options.check and cliffs:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
