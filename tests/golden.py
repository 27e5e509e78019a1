"""Golden digests: the bitwise results of a few hundred plans, equal on every platform.

    python tests/golden.py             compare this build, on each instruction set, with golden.txt
    python tests/golden.py --digest    print one digest of all results for each instruction set of this build
    python tests/golden.py --write     rewrite golden.txt with the reference: only for intended changes of results

A line of golden.txt is a digest and the name of its case. Needs only the package and NumPy.
"""

import hashlib
import os
import platform
import re
import sys
import sysconfig
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # so that tests in other folders can import the modules beside this file
import plain
from draws import Draws
from plans import (
    ADDED_CONSTRAINTS,
    ADDED_FORCES,
    ADDED_INTEGRATORS,
    INTEGRATORS,
    LAYOUTS,
    added_scene,
    held_scene,
    lay_out,
    level_scene,
    resting_around_scene,
    resting_scene,
    rolling_scene,
    running_scene,
    scene,
    smooth_scene,
    spinning_scene,
    takers,
    told_resting_scene,
    told_scene,
    turned_scene,
    wrapped_scene,
)

import kickdrift as kd
from kickdrift import kernels
from kickdrift.reference.functions import FUNCTIONS, call

FILE = Path(__file__).with_name("golden.txt")
DTYPES = (np.float32, np.float64)
ROUNDS = 6  # scenes for each integrator and dtype
FEW = 5  # number of changed rows that `advice` recomputes with the reference
INTENDED = "If that is intended, run `python tests/golden.py --write`, and give the reason in the commit message."
ODE_INTEGRATORS = ("explicit_euler", "implicit_euler", "midpoint", "heun", "rk4", "dopri8")


def digest(*values):
    """Digest of values: arrays by their little-endian bits, everything else by its repr."""
    total = hashlib.blake2b(digest_size=8)
    for value in values:
        if isinstance(value, np.ndarray):
            value = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
            total.update(f"{value.dtype.str} {value.shape} ".encode() + value.tobytes())
        else:
            total.update(f"{value!r} ".encode())
    return total.hexdigest()


def attempt(step, *arguments):
    """Run a call; return its error's type and numbers, such as ticks, or None. The wording of messages is no result."""
    try:
        step(*arguments)
    except kd.KickdriftError as error:
        return type(error).__name__, *re.findall(r"[\d.e+-]*\d", str(error))
    return None


def stepped(drawn, rng, twin):
    """Digest of a scene after steps at two step rates and a frame of `advance`."""
    stepper = drawn.make(twin.Stepper)
    seen = [attempt(stepper.step, int(rng.integers(1, 12)))]
    # Later evaluation counts depend on how a change of dt and `advance` split the steps into calls.
    evaluations = stepper.force_evaluations
    if seen[-1] is None:
        stepper.dt = 0.0125
        seen.append(attempt(stepper.step, int(rng.integers(1, 6))))
    if seen[-1] is None:
        seen.append(attempt(stepper.advance, 0.03))
    finished = seen[-1] is None
    seen += [stepper.tick, evaluations]
    if finished:
        seen += [stepper.time, stepper.checksum()]
        seen += [stepper.interpolate(mode=mode) for mode in ("linear", "hermite", "extrapolate")]
    if not any("NonFiniteError" in part for part in seen if isinstance(part, tuple)):  # NaN payloads are unspecified
        seen += [stepper.position, stepper.velocity]
    return digest(*seen)


def saved(drawn, rng, twin):
    """Digest of a snapshot's bytes and of the steps after restore(): snapshots are portable across platforms."""
    stepper, other = drawn.make(twin.Stepper), drawn.make(twin.Stepper)
    attempt(stepper.step, int(rng.integers(1, 12)))
    snapshot = stepper.snapshot()
    other.restore(snapshot)
    failure = attempt(other.step, 3)
    return digest(snapshot, failure, other.position, other.velocity)


def with_spawns(drawn, rng, twin):
    """Digest of a scene with spawns, despawns and a restore across them."""
    n, dim = drawn.position.shape
    stepper = drawn.make(twin.Stepper, alive=rng.random(n) < 0.7)
    seen, snapshot = [], stepper.snapshot()
    for turn in range(6):
        living = np.flatnonzero(stepper.alive)
        stepper.kill(rng.permutation(living)[: len(living) // 3])
        free = n - stepper.count
        born = rng.normal(size=((free + 1) // 2, dim)), rng.normal(size=dim)
        seen += [stepper.spawn(*born), attempt(stepper.step, int(rng.integers(1, 4)))]
        if seen[-1] is not None:
            break
        seen += [stepper.checksum(), stepper.position.copy(), stepper.velocity.copy()]
        if turn == 1:
            snapshot = stepper.snapshot()
        elif turn == 4:
            stepper.restore(snapshot)
            seen.append(snapshot)
    return digest(*(seen[:-1] if isinstance(seen[-1], tuple) and "NonFiniteError" in seen[-1] else seen))


def ode_flow(y, flow, scheme, dt, twin):
    """Digest of the trajectories of an ODE flow."""
    stepper = twin.ODEStepper(y.copy(), flow, dt=dt, integrator=scheme)
    failure = attempt(stepper.step, 9)
    return digest(failure, stepper.tick, stepper.y, stepper.checksum())


FORCES = [
    kd.Expression(x="-a*x + b*sin(w*t) - vx*abs(vx)", a=1.0, b=0.3, w=2.0),
    kd.Potential("k/2*r**2 + A*exp(-r/s) + where(x < 0, x**4, cos(x))", r="norm(x, y)", k=9.0, A=1.0, s=0.2),
    kd.Expression(x="tanh(y) + cbrt(x)", y="atan2(y, x)/(1 + m) + pow(2 + x*x, y) - log(1 + t)*tan(x/3)"),
    kd.Expression(x="a*noise(0) - x", y="noise(1)*noise(2**31 - 1) - y*vx", a=0.7),
]
NEAR = [
    kd.PairPotential("4*e*((q/r)**12 - (q/r)**6)", cutoff=1.5, e=0.5, q=0.25),
    kd.Langevin(friction=0.5, temperature=2.0, seed=2**40 + 7),
]
FLOW = kd.flows.Expression(x="s*(y - x)", y="x*(r - z) - sin(y)", z="x*y - b*z + exp(-t)", s=10.0, r=28.0, b=8 / 3)


def under_expression(number, scheme, dtype, twin):
    """Digest of bodies under a force given as an expression."""
    rng = Draws(f"formula {number} {scheme}")
    position, velocity = (rng.normal(size=(17, 2)).astype(dtype) for _ in range(2))
    stepper = twin.Stepper(position, velocity, dt=0.01, mass=1.5, integrator=scheme, forces=[FORCES[number]])
    failure = attempt(stepper.step, 5)
    return digest(failure, stepper.tick, stepper.position, stepper.velocity, stepper.checksum(), FORCES[number].digest)


def forced(term, scheme, dtype, dt, twin):
    """Digest of bodies under pair forces, a thermostat, or a negative time step."""
    rng = Draws(f"beside {scheme} {dt}")
    position, velocity = (rng.normal(size=(23, 3)).astype(dtype) for _ in range(2))
    stepper = twin.Stepper(position, velocity, dt=dt, mass=1.5, integrator=scheme, forces=[kd.AnchorSpring(2.0), term])
    failure = attempt(stepper.step, 7)
    return digest(failure, stepper.tick, stepper.position, stepper.velocity, stepper.checksum())


def computed(name, dtype, twin):
    """Digest of functions on arrays; the reference evaluates them on single numbers."""
    rng = Draws(f"function {name}")
    anything = rng.uniform(-400, 400, 100)
    x, y = (
        np.concatenate([anything, rng.normal(size=100), np.ldexp(rng.normal(size=100), rng.integers(-99, 99, 100))])
        for _ in range(2)
    )
    given = [a.astype(dtype) for a in ((abs(x), y / 99) if name == "pow" else (x, y) if name == "atan2" else (x,))]
    if twin is kd:
        results = getattr(kd.math, name)(*given)
    else:
        with np.errstate(all="ignore"):
            results = np.array([call(name, dtype, *numbers) for numbers in zip(*given, strict=True)])
    return digest(np.where(np.isnan(results), dtype(0), results))


def kicked_and_drifted(dtype, layout, twin):
    """Digest of kick() and drift(), which have no reference implementation."""
    rng = Draws(layout)
    position, velocity, acceleration = (rng.normal(size=(37, 3)).astype(dtype) for _ in range(3))
    position, velocity = lay_out(position, layout), lay_out(velocity, layout)
    kd.kick(velocity, acceleration, 0.3)
    kd.drift(position, velocity, 0.7)
    kd.damp(velocity, rng.uniform(0, 3, 37), 0.11)
    return digest(position, velocity)


def with_events(drawn, twin):
    """Digest of collision and contact events."""
    stepper = drawn.make(twin.Stepper)
    seen = [attempt(stepper.step, 6)]
    if seen[-1] is None:
        seen += [stepper.checksum(), stepper.snapshot()]
    events = stepper.events.take()
    for name in ("time", "point", "normal", "speed", "impulse"):
        events[name][np.isnan(events[name])] = np.nan  # the sign of a NaN depends on the processor
    return digest(*seen, events, stepper.events.dropped)


def slept(integrator, dtype, turns, twin):
    """Digest of a heap that falls asleep, is woken by a kick to one of its balls, and falls asleep again."""
    rng = Draws(f"sleeping {integrator!r}")
    walls = [kd.Plane((0, 1), 0.0), kd.Plane((1, 0), 0.0), kd.Plane((-1, 0), -2.3)]
    x = [(0.6 + 1.05 * (k % 2), 0.6 + 1.1 * (k // 2) + 0.02 * rng.random()) for k in range(5)]
    how = {"angular_velocity": np.zeros(5, dtype), "angle": np.zeros(5, dtype)} if turns else {}
    heap = twin.Stepper(
        np.array(x, dtype), np.zeros((5, 2), dtype), hz=60, integrator=integrator, forces=[kd.Gravity((0, -9.81))],
        constraints=[kd.Contacts(0.5, friction=0.6, walls=walls, sleep=True)], **how,
    )  # fmt: skip
    seen = []
    for steps in (20, 160, 1):
        heap.step(steps)
        seen += [heap.checksum(), heap.position.copy(), heap.velocity.copy()]
    heap.velocity[4] = 1.0, 7.0
    for steps in (1, 100):
        heap.step(steps)
        seen += [heap.checksum(), heap.position.copy(), heap.velocity.copy()]
    return digest(*seen)


def terrain(integrator, dtype, number, twin):
    """Digest of bodies that slide and roll over a valley of many pieces, which may move."""
    x = np.arange(-20, 21) / 4
    points = np.stack([x, x * x / 8], axis=1)
    moves = {"velocity": (0.25, 0.5)} if number % 4 == 3 else {}
    ground = kd.Segments(np.stack([points[:-1], points[1:]], axis=1), 0, 0.25 * (number % 3), 0.25, **moves)
    x = np.arange(-4.0, 5.0)
    bodies = twin.Stepper(
        np.stack([x, x * x / 8 + 0.375], axis=1).astype(dtype), hz=60, integrator=integrator,
        forces=[kd.Gravity((0, -9.8125))], constraints=[ground], angular_velocity=0.0 if number % 2 else None,
    )  # fmt: skip
    bodies.step(40)
    return digest(bodies.checksum(), bodies.position, bodies.velocity)


def plain_scene(make, twin):
    """Digest of a plain scene in all dimensions, dtypes, sizes and layouts."""
    return digest(*(array for found in plain.worlds(twin, make) if found is not None for array in found))


def neighbour_queries(dtype, dim, twin):
    """Digest of neighbour queries."""
    rng = Draws(f"neighbours {dim}")
    position, places = rng.normal(size=(150, dim)).astype(dtype), rng.normal(size=(20, dim))
    near = twin.Neighbours(position, 0.4, rng.random(150) < 0.8)
    motion = 3 * rng.normal(size=(20, dim))
    return digest(*near.pairs(), *near.of(places), *near.nearest(places, 3), *near.cast(places, motion, 0.1))


def periodic_neighbour_queries(dtype, dim, twin):
    """Digest of neighbour queries in a periodic box."""
    rng = Draws(f"neighbours around {dim}")
    position, places = 2 * rng.normal(size=(150, dim)).astype(dtype), rng.normal(size=(20, dim))
    box = kd.Periodic(np.where(np.arange(dim) == 1, -np.inf, -1.5), np.where(np.arange(dim) == 1, np.inf, 2.0))
    near = twin.Neighbours(position, 0.4, rng.random(150) < 0.8, periodic=box)
    motion = 3 * rng.normal(size=(20, dim))
    return digest(*near.pairs(), *near.of(places), *near.nearest(places, 3), *near.cast(places, motion, 0.1))


def cases():
    """Yield (name, function of `kickdrift` or `kickdrift.reference` that computes the digest)."""
    for number in range(ROUNDS * len(INTEGRATORS) * len(DTYPES)):
        integrator = INTEGRATORS[number % len(INTEGRATORS)]
        dtype = DTYPES[number // len(INTEGRATORS) % len(DTYPES)]
        rng = Draws(number)
        # Every third round has constraints.
        held = number // (len(INTEGRATORS) * len(DTYPES)) % 3 == 2
        drawn = (held_scene if held else scene)(rng, integrator, dtype=dtype)
        parts = [*drawn.arguments["forces"], *drawn.arguments.get("constraints", ())]
        names = " + ".join(type(part).__name__ for part in parts) or "nothing"
        shape = "x".join(map(str, drawn.position.shape))
        name = f"{number} {integrator!r} {np.dtype(dtype)} {shape} {drawn.layout}: {names}"
        yield name, partial(stepped, drawn, rng)
        if number < len(INTEGRATORS) * len(DTYPES):
            yield f"snapshot {name}", partial(saved, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = told_scene(Draws(f"events {number}"), integrator, dtype=dtype)
        names = " + ".join(type(part).__name__ for part in drawn.arguments["constraints"])
        yield f"events {number} {integrator!r} {np.dtype(dtype)}: {names}", partial(with_events, drawn)
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = told_resting_scene(Draws(f"events of contacts {number}"), integrator, dtype=dtype)
        yield f"events of contacts {number} {integrator!r} {np.dtype(dtype)}", partial(with_events, drawn)
    for number, dtype in product(range(3), DTYPES):
        drawn = resting_scene(Draws(f"fine substeps {number}"), INTEGRATORS[number], dtype=dtype)
        constraints = drawn.arguments["constraints"]
        constraints[:] = [replace(part, substeps=12) if part.kind == "contacts" else part for part in constraints]
        yield f"contacts in fine substeps {number} {np.dtype(dtype)}", partial(stepped, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = level_scene(Draws(f"level {number}"), integrator, dtype=dtype, dim=2 if number % 2 else None)
        yield f"contacts with shapes {number} {integrator!r} {np.dtype(dtype)}", partial(with_events, drawn)
        if number % 5 == 0:
            yield f"lives contacts with shapes {number}", partial(with_spawns, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = resting_around_scene(Draws(f"contacts around {number}"), integrator, dtype=dtype)
        yield f"contacts around {number} {integrator!r} {np.dtype(dtype)}", partial(with_events, drawn)
        if number % 5 == 0:
            yield f"lives contacts around {number}", partial(with_spawns, drawn, Draws(number))
    for number, integrator in enumerate(INTEGRATORS):
        dtype = DTYPES[number // 2 % 2]
        yield f"terrain {number} {integrator!r} {np.dtype(dtype)}", partial(terrain, integrator, dtype, number)
    for number, dtype in product(range(3), DTYPES):
        drawn = told_scene(Draws(f"segments {number}"), kd.VelocityVerlet(), dtype=dtype, dim=2)
        drawn.arguments["constraints"].append(kd.Segments([[[-1.0, -0.5], [1.0, -0.25]]], 0.5, radius=0.1))
        yield f"events {number} at Segments {np.dtype(dtype)}", partial(with_events, drawn)
    for number in range(2 * len(INTEGRATORS) * len(DTYPES)):
        integrator = INTEGRATORS[number % len(INTEGRATORS)]
        dtype = DTYPES[number // len(INTEGRATORS) % len(DTYPES)]
        held = number >= len(INTEGRATORS) * len(DTYPES)
        rng = Draws(f"births and deaths {number}")
        drawn = (held_scene if held else scene)(rng, integrator, n=int(rng.choice([5, 17, 33])), dtype=dtype)
        name = "held, " if held else ""
        yield f"births and deaths {number} {name}{integrator!r} {np.dtype(dtype)}", partial(with_spawns, drawn, rng)
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = scene(Draws(f"applied {number}"), integrator, dtype=dtype)
        force = Draws(f"force {number}").normal(size=drawn.position.shape).astype(dtype)
        drawn.arguments["forces"].append(kd.AppliedForce(force))
        yield f"AppliedForce {integrator!r} {np.dtype(dtype)} {force.shape}", partial(stepped, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        rolls = number % 2
        make = (scene, held_scene, resting_scene)[number % 3]
        title = "rolling" if rolls else "spinning"
        drawn = (rolling_scene if rolls else spinning_scene)(Draws(f"{title} {number}"), integrator, make, dtype=dtype)
        parts = [*drawn.arguments["forces"], *drawn.arguments.get("constraints", ())]
        names = " + ".join(type(part).__name__ for part in parts) or "nothing"
        shape = "x".join(map(str, drawn.position.shape))
        name = f"{title} {number} {integrator!r} {np.dtype(dtype)} {shape} {drawn.layout}: {names}"
        yield name, partial(stepped, drawn, Draws(number))
        if number % 5 == 0:
            yield f"snapshot {name}", partial(saved, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = running_scene(Draws(f"running {number}"), integrator, (held_scene, level_scene)[number % 2], dtype, 2)
        name = f"running {number} {integrator!r} {np.dtype(dtype)} {drawn.position.shape} {drawn.layout}"
        yield name, partial(stepped, drawn, Draws(number))
        if number % 3 == 0:
            yield f"snapshot {name}", partial(saved, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS[::3], DTYPES)):
        yield f"sleeping {integrator!r} {np.dtype(dtype)}", partial(slept, integrator, dtype, number % 4 > 1)
    turning = [integrator for integrator in INTEGRATORS if not isinstance(integrator, kd.Exact)]
    for number, (integrator, dtype) in enumerate(product(turning, DTYPES)):
        rng = Draws(f"turned {number}")
        drawn = turned_scene(rng, integrator, number % 3 == 2, dtype)
        names = " + ".join(type(term).__name__ for term in drawn.arguments["forces"]) or "nothing"
        shape = "x".join(map(str, drawn.position.shape))
        yield f"turned {integrator!r} {np.dtype(dtype)} {shape} {drawn.layout}: {names}", partial(stepped, drawn, rng)
    for number, (integrator, dtype) in enumerate(product(turning, DTYPES)):
        rng = Draws(f"smooth {number}")
        drawn = smooth_scene(rng, integrator, dtype)
        names = " + ".join(type(part).__name__ for part in drawn.arguments["constraints"])
        shape = "x".join(map(str, drawn.position.shape))
        name = f"smooth {number} {integrator!r} {np.dtype(dtype)} {shape} {drawn.layout}: {names}"
        yield name, partial(stepped, drawn, rng)
    for word, draw in (("resting", resting_scene), ("wrapped", wrapped_scene)):
        for number, dtype in product(range(len(INTEGRATORS)), DTYPES):
            rng = Draws(f"{word} {number}")
            drawn = draw(rng, INTEGRATORS[number], dtype=dtype)
            shape = "x".join(map(str, drawn.position.shape))
            names = " + ".join(type(part).__name__ for part in drawn.arguments["constraints"])
            name = f"{word} {number} {INTEGRATORS[number]!r} {np.dtype(dtype)} {shape} {drawn.layout}: {names}"
            yield name, partial(stepped, drawn, rng)
            if number % 5 == 0:
                yield f"snapshot {name}", partial(saved, drawn, Draws(number))
            if word == "wrapped" and number % 4 == 1:
                yield f"lives {name}", partial(with_spawns, drawn, Draws(number))
    for integrator, dtype, number in product(ADDED_INTEGRATORS, DTYPES, range(ROUNDS)):
        rng = Draws(f"added {integrator!r} {np.dtype(dtype)} {number}")
        drawn = (held_scene if number % 3 == 2 else scene)(rng, integrator, dtype=dtype)
        shape = "x".join(map(str, drawn.position.shape))
        name = f"added {integrator!r} {np.dtype(dtype)} {number} {shape} {drawn.layout}"
        yield name, partial(stepped, drawn, rng)
        yield f"snapshot {name}", partial(saved, drawn, Draws(name))
    for added in (*ADDED_FORCES, *ADDED_CONSTRAINTS):
        for integrator, dtype in product(takers(added), DTYPES):
            rng = Draws(f"added {added} {integrator!r} {np.dtype(dtype)}")
            drawn = added_scene(rng, added, integrator, dtype)
            shape = "x".join(map(str, drawn.position.shape))
            yield f"added {added} {integrator!r} {np.dtype(dtype)} {shape} {drawn.layout}", partial(stepped, drawn, rng)
    flows = [cls() for cls in kd.flows.Flow.__subclasses__()]
    for flow, scheme, dtype in product(flows, ODE_INTEGRATORS, DTYPES):
        rng = Draws(f"{flow!r} {scheme}")
        y = rng.uniform(0.1, 1, (int(rng.integers(1, 40)), flow.dim)).astype(dtype)
        dt = rng.uniform(0.001, 0.05)
        yield f"{flow!r} {scheme} {np.dtype(dtype)} {len(y)}", partial(ode_flow, y, flow, scheme, dt)
    for number, scheme, dtype in product(range(len(FORCES)), ("rk4", "velocity_verlet", "implicit_euler"), DTYPES):
        yield f"{FORCES[number]!r} {scheme} {np.dtype(dtype)}", partial(under_expression, number, scheme, dtype)
    for dtype in DTYPES:
        yield f"{FORCES[1]!r} energy_euler {np.dtype(dtype)}", partial(under_expression, 1, "energy_euler", dtype)
    for term, scheme, dtype in product(NEAR, ("velocity_verlet", "verlet", "rk4", "implicit_euler"), DTYPES):
        yield f"{term!r} {scheme} {np.dtype(dtype)}", partial(forced, term, scheme, dtype, 0.01)
    for scheme, dtype in product(("velocity_verlet", "verlet", "yoshida4", "implicit_euler", "energy_euler"), DTYPES):
        yield f"back in time {scheme} {np.dtype(dtype)}", partial(forced, kd.PointGravity(2.0), scheme, dtype, -0.01)
    for scheme, dtype in product(ODE_INTEGRATORS, DTYPES):
        y = Draws(f"flow {scheme}").uniform(0.1, 1, (7, 3)).astype(dtype)
        yield f"{FLOW!r} {scheme} {np.dtype(dtype)} {len(y)}", partial(ode_flow, y, FLOW, scheme, 0.01)
    for name, dtype in product(FUNCTIONS, DTYPES):
        yield f"math.{name} {np.dtype(dtype)}", partial(computed, name, dtype)
    for layout, dtype in product(LAYOUTS, DTYPES):
        yield f"kick, drift, damp {np.dtype(dtype)} {layout}", partial(kicked_and_drifted, dtype, layout)
    for name, make in plain.rows():
        yield name, partial(plain_scene, make)
    for dim, dtype in product((1, 2, 3), DTYPES):
        yield f"Neighbours {np.dtype(dtype)} dim {dim}", partial(neighbour_queries, dtype, dim)
        yield f"Neighbours around {np.dtype(dtype)} dim {dim}", partial(periodic_neighbour_queries, dtype, dim)


def digests(twin=kd):
    """Return {name of the case: digest}."""
    return {name: compute(twin) for name, compute in cases()}


def written():
    """Return the contents of golden.txt."""
    lines = [line for line in FILE.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return {name: digest for digest, name in (line.split(" ", 1) for line in lines)}


def write():
    """Write the digests of the reference, so that a wrong kernel is never recorded as correct."""
    found = digests(kd.reference)
    head = "# Made by `python tests/golden.py --write`: see there.\n"
    FILE.write_text(head + "".join(f"{digest} {name}\n" for name, digest in found.items()), "utf-8", newline="\n")
    print(f"{len(found)} digests written")


def unequal(found):
    """Return the names of the rows of golden.txt that have another digest in {name: digest}."""
    return [name for name, digest in written().items() if found.get(name) != digest]


def advice(found):
    """Return advice on {name: digest} of the kernels, after recomputing a few changed rows with the reference."""
    few = unequal(found)[:FEW]
    book = {name: compute(kd.reference) for name, compute in cases() if name in few}
    if any(found.get(name) != book.get(name) for name in few):
        return "The kernels do not equal the reference: mend them."
    return f"The reference has changed, too (or a plan or sample that rows draw from). {INTENDED}"


def compare():
    """Return the number of differing digests; new rows do not count."""
    wrong = 0
    for isa in kernels.isas:
        kernels.isa = isa
        found, expected = digests(), written()
        differ = unequal(found)
        print(f"{isa}: {len(found)} plans, {len(differ)} differ, {len(found.keys() - expected.keys())} are new")
        for name in differ:
            print(f"  {found.get(name)}, not {expected[name]}: {name}")
        if differ:
            print(advice(found))
        wrong += len(differ)
    return wrong


def summary():
    """Print a table row for each instruction set; also write it to the folder $KICKDRIFT_DIGESTS if that is set."""
    rows = []
    for isa in kernels.isas:
        kernels.isa = isa
        found = digests()
        where = (isa, sys.byteorder, platform.python_version(), np.__version__)
        verdict = "equal" if found == written() else "DIFFERENT"
        rows.append("\t".join(map(str, (*where, len(found), digest(*found.items()), verdict))))
    print(*rows, sep="\n")
    if folder := os.environ.get("KICKDRIFT_DIGESTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = sysconfig.get_config_var("EXT_SUFFIX").split(".")[1]  # names Python, processor, system and C library
        (Path(folder) / f"{name}.tsv").write_text("".join(f"{row}\n" for row in rows), "utf-8")


def main(arguments):
    if arguments == ["--write"]:
        write()
    elif arguments == ["--digest"]:
        summary()
    elif arguments:
        raise SystemExit(__doc__)
    else:
        return compare()
    return 0


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
