"""Rows of what users do, beside what they would use instead: `python -m bench.users [row ...]`.

Times are of the process, in turns, so that other work on the machine counts little.
"""

import argparse
from collections.abc import Callable
from functools import partial, wraps
from time import process_time

import numpy as np

import kickdrift as kd

from . import peers, table
from .table import Row, seconds
from .timing import measure, ratio

Run = Callable[[], object]
GRAVITY, HZ = (0.0, -900.0), 60


def beside(title: str, runs: dict[str, Run], goal: float | None, rounds: int) -> Row:
    """Compare the first of two with the second; `goal`: the least ratio of their times."""
    times = measure(runs, rounds, clock=process_time)
    (_, ours), (peer, theirs) = times.items()
    r, middle = ratio(theirs, ours), [sorted(each)[len(each) // 2] for each in (ours, theirs)]
    met = None if goal is None else r.median >= goal
    wanted = "" if goal is None else f"≥ {goal:.3g}"
    return Row(title, seconds(middle[0]), peer, seconds(middle[1]), *r, wanted, met, middle[0])


def spring(t, position, velocity, out):
    np.multiply(position, -4.0, out=out)


class Plain:
    """The textbook's schemes in NumPy, in place, with as few passes as they need; forces are not evaluated twice."""

    def __init__(self, x: np.ndarray, v: np.ndarray, h: float, function: Callable[..., None] = spring) -> None:
        self.x, self.v, self.h, self.function = x, v, h, function
        self.f, self.y, self.u, self.t = (np.empty_like(x) for _ in range(4))
        self.sums, self.slopes = np.empty_like(x), np.empty_like(x)
        self.begun = False

    def evaluate(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.function(0.0, x, v, self.f)
        return self.f

    def add(self, to: np.ndarray, share: float, rate: np.ndarray, source: np.ndarray | None = None) -> None:
        """to = source + share * rate, by default to += ..."""
        np.multiply(rate, share, out=self.t)
        np.add(to if source is None else source, self.t, out=to)

    def semi_implicit_euler(self) -> None:
        self.add(self.v, self.h, self.evaluate(self.x, self.v))
        self.add(self.x, self.h, self.v)

    def leapfrog(self) -> None:
        self.add(self.x, self.h / 2, self.v)
        self.add(self.v, self.h, self.evaluate(self.x, self.v))
        self.add(self.x, self.h / 2, self.v)

    def velocity_verlet(self) -> None:
        if not self.begun:
            self.evaluate(self.x, self.v)
            self.begun = True
        self.add(self.v, self.h / 2, self.f)
        self.add(self.x, self.h, self.v)
        self.add(self.v, self.h / 2, self.evaluate(self.x, self.v))

    def rk4(self) -> None:
        x, v = self.x, self.v
        for number, (far, weight) in enumerate(((0.5, 1.0), (0.5, 2.0), (1.0, 2.0), (0.0, 1.0))):
            f = self.evaluate(self.y if number else x, self.u if number else v)
            u = self.u if number else v
            if number:
                self.add(self.sums, weight, u)
                self.add(self.slopes, weight, f)
            else:
                np.copyto(self.sums, u)
                np.copyto(self.slopes, f)
            if far:
                self.add(self.y, far * self.h, u, x)
                self.add(self.u, far * self.h, f, v)
        self.add(x, self.h / 6, self.sums)
        self.add(v, self.h / 6, self.slopes)


def functions(rounds: int) -> list[Row]:
    """a Python force in single steps, beside NumPy in place"""
    rows = []
    for n in (1000, 100_000):
        for name in ("semi_implicit_euler", "leapfrog", "velocity_verlet", "rk4"):
            start = np.random.default_rng(1).normal(size=(2, n, 2))
            plain = Plain(*start.copy(), 1e-3)
            force = kd.Acceleration(spring, velocity_dependent=False)
            ours = kd.Stepper(*start.copy(), dt=1e-3, integrator=name, forces=[force])
            theirs = getattr(plain, name)
            for _ in range(5):
                ours.step()
                theirs()
            if not np.allclose(ours.position, plain.x, rtol=1e-9):
                raise SystemExit(f"{name} in NumPy computes something else than ours")
            title = f"a Python force on {n:,} bodies, {name.replace('_', ' ')}, step(), f64"
            rows.append(beside(title, {"ours": ours.step, "NumPy in place": theirs}, 1, rounds))
    return rows


def calls(rounds: int) -> list[Row]:
    """velocity Verlet in single calls, beside step(20)"""
    rng, side = np.random.default_rng(1), 12
    lattice = np.stack(np.meshgrid(*[np.arange(side) + 0.5] * 3), -1).reshape(-1, 3) * 1.06
    bond, box = kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=2.5, shift=True), kd.Periodic(0, 1.06 * side)
    x, v = rng.normal(size=(2, 1000, 3))
    atoms = rng.normal(0, 1, lattice.shape)
    rows = []
    for title, make in (
        (
            "n-body gravity, 1,000 bodies",
            lambda: kd.Stepper(x.copy(), v.copy(), dt=1e-3, forces=[kd.NBody(1e-3, 0.05)]),
        ),
        (
            f"Lennard-Jones, {side**3:,} atoms",
            lambda: kd.Stepper(lattice.copy(), atoms.copy(), dt=0.002, forces=[bond], constraints=[box]),
        ),
    ):
        one, other = make(), make()

        def single(one: kd.Stepper = one) -> None:
            for _ in range(20):
                one.step()

        runs = {"20 single calls": single, "step(20)": partial(other.step, 20)}
        rows.append(beside(f"{title}, velocity Verlet, f64: 20 calls of step()", runs, 1 / 1.1, rounds))
    return rows


def births(rounds: int) -> list[Row]:
    """one body born and one killed, in a loop"""
    rows = []
    for n in (1000, 100_000):
        world = kd.Stepper(np.zeros((n, 2)), hz=HZ, forces=[kd.Gravity(GRAVITY)], alive=n // 2)
        some = [world.spawn((1.0, 2.0))]
        x, v, alive = np.zeros((n, 2)), np.zeros((n, 2)), np.arange(n) <= n // 2

        def ours(world: kd.Stepper = world, some: list[np.ndarray] = some) -> None:
            world.kill(int(some[0][0]))
            some[0] = world.spawn((1.0, 2.0), (3.0, 4.0))

        def theirs(x: np.ndarray = x, v: np.ndarray = v, alive: np.ndarray = alive, n: int = n) -> None:
            alive[n // 2] = False
            slot = alive.argmin()
            alive[slot], x[slot], v[slot] = True, (1.0, 2.0), (3.0, 4.0)

        row = beside(f"a birth and a death among {n:,} rows", {"ours": ours, "NumPy": theirs}, None, 3 * rounds)
        row.goal, row.met = "≤ 6 µs", row.ours_seconds is not None and row.ours_seconds <= 6e-6
        rows.append(row)
    return rows


def needs_pymunk(case: Callable[[int], list[Row]]) -> Callable[[int], list[Row]]:
    """Skip a case without pymunk, with a message."""

    @wraps(case)
    def run(rounds: int) -> list[Row]:
        if not peers.installed("pymunk"):
            return [Row(str(case.__doc__), "", "pymunk", "not installed")]
        return case(rounds)

    return run


def pymunk_space(x: np.ndarray, v: np.ndarray, radius: float, gravity: tuple[float, float], **shape: float):
    """Return a space of pymunk and its bodies."""
    import pymunk

    space, bodies = pymunk.Space(), []
    space.gravity = gravity
    for place, speed in zip(x.tolist(), v.tolist(), strict=True):
        body = pymunk.Body(1, pymunk.moment_for_circle(1, 0, radius))
        body.position, body.velocity = tuple(place), tuple(speed)
        circle = pymunk.Circle(body, radius)
        circle.friction, circle.elasticity = shape.get("friction", 0.0), shape.get("elasticity", 0.0)
        space.add(body, circle)
        bodies.append(body)
    return space, bodies


def add_segments(space, ends: np.ndarray, thick: float = 0.0, **shape: float) -> None:
    import pymunk

    for a, b in ends.tolist():
        segment = pymunk.Segment(space.static_body, tuple(a), tuple(b), thick)
        segment.friction, segment.elasticity = shape.get("friction", 0.0), shape.get("elasticity", 0.0)
        space.add(segment)


@needs_pymunk
def gas(rounds: int) -> list[Row]:
    """a gas of 2,000 circles whose speed is a tenth of a radius per step, and three times the radius"""
    from .together import circles

    rows, radius = [], 0.5
    for speed in (0.1, 3.0):
        x, v, side = circles(2000)
        v *= speed * radius * HZ / np.hypot(*v.T).mean()
        bouncing = [kd.Box(0.0, side, radius=radius), kd.ElasticCollisions(radius)]
        ours = kd.Stepper(x.copy(), v.copy(), dt=1 / HZ, constraints=bouncing)
        from .peers.circles import Space

        theirs = Space(x, v, radius, side, 1 / HZ)
        for _ in range(60):
            ours.step()
            theirs.step()
        title = f"a gas of 2,000 circles, {speed:g} radii a step, f64"
        rows.append(beside(title, {"ours": ours.step, "pymunk": theirs.step}, 3, rounds))
    return rows


@needs_pymunk
def falling(rounds: int) -> list[Row]:
    """2,000 balls that fall into a box, restitution 0.6: the first four seconds"""
    n, radius, width = 2000, 10.0, 1400.0
    rng = np.random.default_rng(1)
    columns = int((width - 40) // 24)
    grid = np.stack([np.arange(n) % columns, np.arange(n) // columns], 1)
    x = grid * 24.0 + 30 + rng.uniform(-1, 1, (n, 2))
    v = np.zeros((n, 2))
    ends = np.array([[(0, 0), (width, 0)], [(0, 0), (0, 6000)], [(width, 0), (width, 6000)]])
    walls = [kd.Plane((0, 1), 0.0), kd.Plane((1, 0), 0.0), kd.Plane((-1, 0), -width)]
    bounds = [kd.Plane(wall.normal, wall.offset, radius=radius, restitution=0.6) for wall in walls]
    ways = {
        "ElasticCollisions": [kd.ElasticCollisions(radius, restitution=0.6), *bounds],
        "Contacts": [kd.Contacts(radius, restitution=0.6, walls=walls)],
    }
    ticks, rows = 4 * HZ, []
    for name, constraints in ways.items():
        times: dict[str, list[float]] = {name: [], "pymunk": []}
        for _ in range(max(2, rounds // 5)):
            ours = kd.Stepper(x.copy(), v.copy(), hz=HZ, forces=[kd.Gravity(GRAVITY)], constraints=constraints)
            space, _bodies = pymunk_space(x, v, radius, GRAVITY, elasticity=0.6**0.5, friction=0.4)
            add_segments(space, ends, elasticity=0.6**0.5, friction=0.4)
            for who, step in ((name, ours.step), ("pymunk", lambda space=space: space.step(1 / HZ))):
                start = process_time()
                for _ in range(ticks):
                    step()
                times[who].append((process_time() - start) / ticks)
        pairs = kd.Neighbours(ours.position, 2 * radius).pairs()
        gap = ours.position[pairs[0]] - ours.position[pairs[1]]
        deep = np.quantile(1 - np.sqrt((gap**2).sum(axis=1)) / (2 * radius), 0.99)
        r = ratio(times["pymunk"], times[name])
        middle = {who: seconds(sorted(each)[len(each) // 2]) for who, each in times.items()}
        title = f"2,000 balls fall, e = 0.6, {name}, a hundredth overlaps by {deep:.2f} of a diameter or more"
        goal = 1.5 if name == "Contacts" else None
        met = None if goal is None else r.median >= goal
        rows.append(Row(title, middle[name], "pymunk", middle["pymunk"], *r, "≥ 1.5" if goal else "", met))
    return rows


@needs_pymunk
def terrain(rounds: int) -> list[Row]:
    """1,000 balls that rolled to rest on 500 segments"""
    n, radius = 1000, 5.0
    rng = np.random.default_rng(1)
    place = np.linspace(0, 5000, 501)
    height = 60 * np.sin(place / 90) + rng.uniform(-4, 4, 501)
    points = np.stack([place, height], 1)
    ends = np.stack([points[:-1], points[1:]], 1)
    x = np.stack([np.linspace(50, 4950, n), 120 + 30 * rng.random(n)], 1)
    v = np.zeros((n, 2))
    contacts = kd.Contacts(radius, friction=0.4, shapes=[kd.Segments(ends, friction=0.4)])
    ours = kd.Stepper(x.copy(), v.copy(), hz=HZ, forces=[kd.Gravity(GRAVITY)], constraints=[contacts])
    space, _ = pymunk_space(x, v, radius, GRAVITY, friction=0.4**0.5)
    add_segments(space, ends, friction=0.4**0.5)
    for _ in range(60):
        ours.step()
        space.step(1 / HZ)
    runs = {"ours": ours.step, "pymunk": partial(space.step, 1 / HZ)}
    return [beside("1,000 balls on 500 segments, Contacts, f64", runs, 3, rounds)]


def large(rounds: int) -> list[Row]:
    """piles of Contacts: nanoseconds per ball of many, in random order, and with two threads"""
    from .piles import ours as pile

    rows, worlds = [], {}
    for n in (2000, 30_000):
        world = pile("box", n)
        world.step(60)
        order = np.random.default_rng(1).permutation(n)
        worlds[n] = world
        mixed = kd.Stepper(
            world.position[order], world.velocity[order], hz=HZ, forces=world.forces, constraints=world.constraints
        )
        mixed.step(2)
        runs = {"random order": mixed.step, "the order made": world.step}
        row = beside(f"a falling pile of {n:,}, Contacts: rows in random order", runs, None, rounds)
        rows.append(row)
    times = measure({str(n): world.step for n, world in worlds.items()}, rounds, clock=process_time)
    each = {n: sorted(times[str(n)])[rounds // 2] / n for n in worlds}
    row = Row("a ball of a pile of 30,000, Contacts", seconds(each[30_000]), "of 2,000", seconds(each[2000]))
    row.goal, row.met, row.ratio = "≤ 250 ns", each[30_000] <= 250e-9, each[2000] / each[30_000]
    return [*rows, row]


def fluid(rounds: int) -> list[Row]:
    """Lennard-Jones beside OpenMM's CPU platform on one thread, calls of five steps"""
    rows = []
    for side in (16, 26):
        width = (side**3 / 0.8) ** (1 / 3)
        place = (np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3) + 0.5) * width / side
        speed = np.random.default_rng(0).normal(0, 1, place.shape)
        speed -= speed.mean(axis=0)
        title = f"Lennard-Jones, {side**3:,} atoms, step(5)"
        if (theirs := open_mm(place, speed, width)) is None:
            rows.append(Row(title, "", "OpenMM", "not installed"))
            continue
        for dtype, goal in ((np.float32, 1.2), (np.float64, 1.0)):
            bond = kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=2.5, shift=True)
            box = kd.Periodic(0, width)
            ours = kd.Stepper(place.astype(dtype), speed.astype(dtype), dt=0.002, forces=[bond], constraints=[box])
            name = f"{title}, {table.bits(np.dtype(dtype).name)}"
            ours.step(200)
            theirs(200)
            runs = {"ours": partial(ours.step, 5), "OpenMM, 1 thread, f32": partial(theirs, 5)}
            rows.append(beside(name, runs, goal, rounds))
    return rows


def open_mm(place: np.ndarray, speed: np.ndarray, width: float) -> Callable[[int], object] | None:
    """Return the steps of the same fluid by OpenMM, in units where epsilon, sigma and the mass are 1; or None."""
    try:
        import openmm
    except ImportError:
        return None
    system, force = openmm.System(), openmm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors(*(np.eye(3) * width))
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(2.5)
    force.setUseDispersionCorrection(False)
    for _ in place:
        system.addParticle(1.0)
        force.addParticle(0.0, 1.0, 1.0)
    system.addForce(force)
    platform = openmm.Platform.getPlatformByName("CPU")
    context = openmm.Context(system, openmm.VerletIntegrator(0.002), platform, {"Threads": "1"})
    context.setPositions(place)
    context.setVelocities(speed)
    return lambda steps: context.getIntegrator().step(steps)


def expressions(rounds: int) -> list[Row]:
    """an expression, beside a Force of NumPy that computes the same"""
    rows = []
    for n in (1000, 10_000, 100_000):
        start = np.random.default_rng(1).normal(size=(2, n, 2))

        def swirl(t, x, v, out):
            d = np.sqrt((x * x).sum(axis=1) + 0.25)
            out[:, 0] = -x[:, 1] / d - np.sin(x[:, 0])
            out[:, 1] = x[:, 0] / d - np.sin(x[:, 1])

        def sines(t, x, v, out):
            d = np.sqrt((x * x).sum(axis=1) + 0.25)
            out[:, 0] = -x[:, 1] / d - kd.math.sin(x[:, 0])
            out[:, 1] = x[:, 0] / d - kd.math.sin(x[:, 1])

        text = kd.Expression(x="-y/d - sin(x)", y="x/d - sin(y)", d="sqrt(x*x + y*y + 0.25)")
        forces = {
            "the expression": text,
            "kd.math in a Force": kd.Force(sines, velocity_dependent=False),
            "NumPy in a Force": kd.Force(swirl, velocity_dependent=False),
        }
        steps = {name: kd.Stepper(*start.copy(), dt=1e-3, forces=[force]).step for name, force in forces.items()}
        for name in list(steps)[:2]:
            runs = {name: steps[name], "NumPy in a Force": steps["NumPy in a Force"]}
            rows.append(beside(f"two sines and a root on {n:,} bodies, {name}, step(), f64", runs, None, rounds))
    return rows


@needs_pymunk
def asleep(rounds: int) -> list[Row]:
    """a pile of 2,000 balls that lies still"""
    from . import piles

    world, awake = (piles.ours("box", 2000, sleep=sleep) for sleep in (True, False))
    world.step(1200)
    awake.step(1200)
    space, bodies = piles.theirs("box", 2000)
    space.sleep_time_threshold = 0.5
    space.step(1 / HZ)
    for body in bodies:  # by itself this pile does not fall asleep within half a minute
        body.sleep()
    title = "a pile of 2,000 balls that lies still, a step"
    rows = [beside(title, {"ours": world.step, "pymunk asleep": partial(space.step, 1 / HZ)}, 1, rounds)]
    return [*rows, beside(title, {"ours": world.step, "without sleep": awake.step}, None, rounds)]


CASES = {
    "users-functions": functions,
    "users-calls": calls,
    "users-births": births,
    "users-gas": gas,
    "users-falling": falling,
    "users-terrain": terrain,
    "users-asleep": asleep,
    "users-large": large,
    "users-fluid": fluid,
    "users-expressions": expressions,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.users", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="row", help=", ".join(name[6:] for name in CASES))
    parser.add_argument("--rounds", type=int, default=11, help="in which each has its turn")
    options = parser.parse_args()
    for key, value in table.machine(peers.versions()).items():
        print(f"- {key}: {value}")
    print(f"\n{table.header()}")
    for name, case in CASES.items():
        if name[6:] in (options.rows or [name[6:]]):
            for row in case(options.rounds):
                print(table.line(row.cells()), flush=True)


if __name__ == "__main__":
    main()
