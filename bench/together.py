"""Interacting bodies and orbits, against specialized peers."""

from collections.abc import Callable
from functools import partial, wraps

import numpy as np

import kickdrift as kd

from . import peers
from .table import Row, bits, compare, seconds
from .timing import measure

Case = Callable[[int], list[Row]]


def needs(*names: str) -> Callable[[Case], Case]:
    """Skip a case with a message if this kickdrift lacks a required name."""
    missing = [name for name in names if not hasattr(kd, name)]

    def choose(case: Case) -> Case:
        @wraps(case)
        def skip(rounds: int) -> list[Row]:
            return [Row(str(case.__doc__), "", "", f"skipped: kickdrift has no {', '.join(missing)}")]

        return skip if missing else case

    return choose


def agree(title: str, ours: np.ndarray, theirs: np.ndarray, most: float) -> float:
    """Return the relative difference of two results; raise an error above `most`."""
    apart = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not apart <= most:
        raise SystemExit(f"{title}: the peer computes something else than ours: they are {apart:g} apart")
    return apart


def rivals(*names: str) -> tuple[dict[str, object], list[str]]:
    """Return the modules of the peers, and the names of those not installed."""
    return {name: peers.module(name) for name in names if peers.installed(name)}, [
        name for name in names if not peers.installed(name)
    ]


@needs("NBody")
def n_body(rounds: int) -> list[Row]:
    """n-body gravity, leapfrog, one force evaluation a step, f64"""
    return cluster(rounds, 1000, 10, {"REBOUND": 4}) + cluster(rounds, 5000, 1, {"REBOUND": 4})


@needs("NBody")
def few(rounds: int) -> list[Row]:
    """n-body gravity of a few bodies, step(1000), leapfrog, f64"""
    goals: dict[str, float | None] = {"REBOUND": 1.2, "numba, pair by pair": 1}
    return cluster(rounds, 3, 1000, goals) + cluster(rounds, 10, 1000, goals)


def cluster(rounds: int, n: int, steps: int, goals: dict[str, float | None]) -> list[Row]:
    """Measure random bodies, with this number of steps per call."""
    title = f"n-body gravity, {n:,} bodies, leapfrog, step({steps}), f64"
    rng = np.random.default_rng(1)
    position, velocity = rng.normal(size=(n, 3)), rng.normal(0, 0.3, (n, 3))
    mass, dt, softening = rng.uniform(0.5, 1.5, n) / n, 1e-3, 0.05
    ours = kd.Stepper(
        position.copy(), velocity.copy(), mass, dt=dt, integrator="leapfrog", forces=[kd.NBody(1.0, softening)]
    )
    found, missing = rivals(*goals)
    runs: dict[str, Callable[[], object]] = {"ours": partial(ours.step, steps)}
    ours.step(10)
    for name, module in found.items():
        make = module.Simulation if name == "REBOUND" else module.Cluster
        theirs = make(position, velocity, mass, dt, softening)
        theirs.step(10)
        agree(title, ours.position, theirs.position(), 1e-9)
        runs[name] = partial(theirs.step, steps)
    return compare(title, runs, goals, rounds, missing)


@needs("NBody")
def figure_eight(rounds: int) -> list[Row]:
    """the figure eight of three bodies, leapfrog, step(1000), f64"""
    # Chenciner and Montgomery 2000, with Simó's numbers.
    position = np.array([(0.97000436, -0.24308753, 0), (-0.97000436, 0.24308753, 0), (0, 0, 0)])
    third = np.array((-0.93240737, -0.86473146, 0))
    velocity, mass, dt = np.array([-third / 2, -third / 2, third]), np.ones(3), 6.32591398 / 1000
    ours = kd.Stepper(position.copy(), velocity.copy(), mass, dt=dt, integrator="leapfrog", forces=[kd.NBody(1.0)])
    ours.step(1000)
    found, missing = rivals("REBOUND")
    runs: dict[str, Callable[[], object]] = {"ours": lambda: ours.step(1000)}
    rows = []
    for name, module in found.items():
        theirs = module.Simulation(position, velocity, mass, dt, 0.0)
        theirs.step(1000)
        apart = agree(str(figure_eight.__doc__), ours.position, theirs.position(), 1e-9)
        rows.append(Row(f"{figure_eight.__doc__}: how far apart", f"{apart:.2g}", name, goal="≤ 1e-09", met=True))
        runs[name] = lambda theirs=theirs: theirs.step(1000)
    return compare(str(figure_eight.__doc__), runs, {"REBOUND": None}, rounds, missing) + rows


RADIUS, SPEED, STEP = 0.5, 5.0, 1 / 60


def circles(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return circles that do not touch, 30 % of the area of a square, on a perturbed grid."""
    rng = np.random.default_rng(1)
    side = float(np.sqrt(n * np.pi * RADIUS**2 / 0.3))
    count = int(np.ceil(np.sqrt(n)))
    cells = np.stack(np.divmod(np.arange(n), count), axis=1) + 0.5
    room = side / count - 2 * RADIUS
    position = cells * side / count + rng.uniform(-0.4, 0.4, (n, 2)) * room
    return position, rng.normal(0, SPEED, (n, 2)), side


def bouncing(n: int) -> kd.Stepper:
    position, velocity, side = circles(n)
    walls = [kd.Box(0.0, side, radius=RADIUS), kd.ElasticCollisions(RADIUS)]
    return kd.Stepper(position, velocity, dt=STEP, constraints=walls)


@needs("ElasticCollisions", "Box")
def collisions(rounds: int) -> list[Row]:
    """elastic circles in a box, 30 % of its area, step(), f64"""
    return gas(rounds, 2000) + gas(rounds, 5000)


def gas(rounds: int, n: int) -> list[Row]:
    title = f"{n:,} {collisions.__doc__}"
    position, velocity, side = circles(n)
    energy = np.square(velocity).sum()
    ours = bouncing(n)
    found, missing = rivals("pymunk")
    contestants = {"ours": ours}
    for name, module in found.items():
        contestants[name] = module.Space(position, velocity, RADIUS, side, STEP)
        contestants[f"{name}, spatial hash"] = module.Space(position, velocity, RADIUS, side, STEP, hashed=True)
    # Billiards are chaotic: only averages agree after a second. pymunk lets circles overlap, which increases
    # their displacement: by a tenth or two at this step, less at smaller ones.
    way = {}
    for name, contestant in contestants.items():
        for _ in range(60):
            contestant.step()
        where, speed = np.asarray(contestant.position), np.asarray(contestant.velocity)
        way[name] = float(np.square(where - position).sum(axis=1).mean())
        kept = np.square(speed).sum() / energy
        if not (0.97 < kept < 1.03 and where.min() > 0 and where.max() < side):
            raise SystemExit(f"{title}: with {name}, circles left the box or {kept:.3g} of the energy is left")
        if not 0.8 < way[name] / way["ours"] < 1.2:
            raise SystemExit(f"{title}: with {name}, circles go {way[name]:.3g} m² instead of {way['ours']:.3g}")
    runs = {name: contestant.step for name, contestant in contestants.items()}
    return compare(title, runs, dict.fromkeys(list(runs)[1:], 3), rounds, missing)


@needs("ElasticCollisions", "Box")
def crowds(rounds: int) -> list[Row]:
    """step() per circle, 1,000 elastic circles and"""
    sizes = (1000, 10_000, 100_000)
    times = measure({str(n): bouncing(n).step for n in sizes}, rounds)
    each = {n: sorted(times[str(n)])[rounds // 2] / n for n in sizes}
    title, rows = str(crowds.__doc__), []
    for n in sizes[1:]:
        # 1,000 circles fit into the L1 cache: larger numbers take longer per circle, but do not grow with n.
        grown = each[n] / each[1000]
        goal = "at most 2 times as much"
        rows.append(Row(title, seconds(each[1000]), f"{n:,}", seconds(each[n]), grown, goal=goal, met=grown <= 2))
    return rows


@needs("Distance", "Pin")
def cloth(rounds: int) -> list[Row]:
    """a cloth, Verlet, 16 relaxations, step()"""
    return [
        row
        for side in (64, 128)
        for dtype, close in (("float32", 1e-2), ("float64", 1e-9))
        for row in hanging(rounds, side, dtype, close)
    ]


def hanging(rounds: int, side: int, dtype: str, close: float) -> list[Row]:
    """Measure ours in the order given, as the peer does, and coloured, where pairs are independent."""
    index = np.arange(side * side).reshape(side, side)
    across = np.stack([index[:, :-1], index[:, 1:]], axis=-1).reshape(-1, 2)
    down = np.stack([index[:-1], index[1:]], axis=-1).reshape(-1, 2)
    pairs, pins = np.concatenate([across, down]), index[0, [0, -1]]
    position = np.zeros((side * side, 3), dtype)
    position[:, 0], position[:, 2] = (0.1 * axis.ravel() for axis in np.divmod(index, side))

    def hang(order: str, threads: int) -> kd.Stepper:
        rods = kd.Distance(pairs, length=0.1, iterations=16, direction="after", order=order)
        forces, held = [kd.Gravity((0, -9.81, 0))], [kd.Pin(pins), rods]
        how = {"dt": STEP, "integrator": "verlet", "threads": threads}
        return kd.Stepper(position.copy(), forces=forces, constraints=held, **how)

    rival = "numba, pair by pair"
    found, missing = rivals(rival)
    rows: list[Row] = []
    for order, threads, goal in (("given", 1, 1.2), ("coloured", 1, 3), ("coloured", 2, 3)):
        if threads > 1 and side < 128:
            continue
        steps, ways = (16, f"{order}, two threads") if threads > 1 else (1, order)
        title = f"a cloth of {side} x {side}, Verlet, 16 relaxations, {ways}, step({steps}), {bits(dtype)}"
        ours = hang(order, threads)
        runs: dict[str, Callable[[], object]] = {"ours": partial(ours.step, steps)}
        if threads > 1:
            runs["one thread"] = partial(hang(order, 1).step, steps)
        for name, module in found.items():
            theirs = module.Cloth(position, pairs, pins, 0.1, -9.81, STEP, 16)
            for _ in range(30):
                theirs.step()
                ours.step()
            # Another order converges to the same cloth through other iterates.
            agree(title, ours.position, theirs.x, close if order == "given" else 0.1)
            runs[name] = partial(repeat, theirs.step, steps)
        rows += compare(title, runs, {rival: goal} | ({"one thread": 1} if threads > 1 else {}), rounds, missing)
    return rows


def repeat(step: Callable[[], object], times: int) -> None:
    for _ in range(times):
        step()


def orbits(rounds: int) -> list[Row]:
    """1,000 orbits of period 1, once round to 1e-6, f64"""
    title = str(orbits.__doc__)
    rng = np.random.default_rng(1)
    mu, eccentricity = 4 * np.pi**2, rng.uniform(0, 0.3, 1000)  # Kepler's third law with semi-major axis 1
    position, velocity = np.zeros((1000, 2)), np.zeros((1000, 2))
    position[:, 0] = 1 - eccentricity
    velocity[:, 1] = np.sqrt(mu * (1 + eccentricity) / (1 - eccentricity))
    x, v = position.copy(), velocity.copy()
    stepper = kd.Stepper(x, v, dt=1 / 100, integrator="yoshida6", forces=[kd.PointGravity(mu, (0, 0))])

    def ours() -> np.ndarray:
        x[:], v[:] = position, velocity
        stepper.step(100)
        return x

    found, missing = rivals("SciPy")
    runs: dict[str, Callable[[], np.ndarray]] = {"ours": ours}
    for module in found.values():
        runs |= module.orbits(position, velocity, mu)
    for name, run in runs.items():
        agree(f"{title}, {name}", run(), position, 1e-6)
    return compare(title, runs, dict.fromkeys(list(runs)[1:], 1), rounds, missing)


CASES = {
    "orbits": orbits,
    "n-body": n_body,
    "few": few,
    "figure-8": figure_eight,
    "collisions": collisions,
    "crowds": crowds,
    "cloth": cloth,
}
