"""Golden digests: what a few hundred plans come to, to the last bit, on every platform.

    python tests/golden.py             compare this build, on each instruction set, with golden.txt
    python tests/golden.py --digest    one word for all of them, for each instruction set of this build
    python tests/golden.py --write     make golden.txt anew, by the reference: only where results are meant to change

A line of golden.txt is a digest and what it is of. Needs nothing but the package and NumPy.
"""

import hashlib
import os
import platform
import sys
import sysconfig
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for whoever imports this file from elsewhere
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
    running_scene,
    scene,
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
ODE_INTEGRATORS = ("explicit_euler", "implicit_euler", "midpoint", "heun", "rk4", "dopri8")


def digest(*values):
    """Of arrays, by their little-endian bits, and of anything else by what it looks like."""
    total = hashlib.blake2b(digest_size=8)
    for value in values:
        if isinstance(value, np.ndarray):
            value = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
            total.update(f"{value.dtype.str} {value.shape} ".encode() + value.tobytes())
        else:
            total.update(f"{value!r} ".encode())
    return total.hexdigest()


def attempt(step, *arguments):
    """What a step raises, in a form that can be compared; None for nothing."""
    try:
        step(*arguments)
    except kd.KickdriftError as error:
        return type(error).__name__, str(error)
    return None


def stepped(drawn, rng, twin):
    """A scene: steps at two rates, and frames."""
    stepper = drawn.make(twin.Stepper)
    seen = [attempt(stepper.step, int(rng.integers(1, 12)))]
    # Later counts depend on how a change of dt and `advance` cut the steps into calls.
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
    if not any("NonFiniteError" in part for part in seen if isinstance(part, tuple)):  # a NaN's payload is anybody's
        seen += [stepper.position, stepper.velocity]
    return digest(*seen)


def saved(drawn, rng, twin):
    """The bytes of a snapshot, and where they lead: what one platform writes, all can read."""
    stepper, other = drawn.make(twin.Stepper), drawn.make(twin.Stepper)
    attempt(stepper.step, int(rng.integers(1, 12)))
    snapshot = stepper.snapshot()
    other.restore(snapshot)
    failure = attempt(other.step, 3)
    return digest(snapshot, failure, other.position, other.velocity)


def lived(drawn, rng, twin):
    """A scene whose bodies die and are born, and which goes back over that."""
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


def solved(y, flow, scheme, dt, twin):
    """Trajectories of a flow."""
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


def pushed(number, scheme, dtype, twin):
    """Bodies under a formula."""
    rng = Draws(f"formula {number} {scheme}")
    position, velocity = (rng.normal(size=(17, 2)).astype(dtype) for _ in range(2))
    stepper = twin.Stepper(position, velocity, dt=0.01, mass=1.5, integrator=scheme, forces=[FORCES[number]])
    failure = attempt(stepper.step, 5)
    return digest(failure, stepper.tick, stepper.position, stepper.velocity, stepper.checksum(), FORCES[number].digest)


def beside(term, scheme, dtype, dt, twin):
    """Bodies that push each other, those in a bath, and those that go back in time."""
    rng = Draws(f"beside {scheme} {dt}")
    position, velocity = (rng.normal(size=(23, 3)).astype(dtype) for _ in range(2))
    stepper = twin.Stepper(position, velocity, dt=dt, mass=1.5, integrator=scheme, forces=[kd.AnchorSpring(2.0), term])
    failure = attempt(stepper.step, 7)
    return digest(failure, stepper.tick, stepper.position, stepper.velocity, stepper.checksum())


def computed(name, dtype, twin):
    """Functions of arrays; the reference's of numbers, one by one."""
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


def moved(dtype, layout, twin):
    """The verbs alone, which have no twin."""
    rng = Draws(layout)
    position, velocity, acceleration = (rng.normal(size=(37, 3)).astype(dtype) for _ in range(3))
    position, velocity = lay_out(position, layout), lay_out(velocity, layout)
    kd.kick(velocity, acceleration, 0.3)
    kd.drift(position, velocity, 0.7)
    kd.damp(velocity, rng.uniform(0, 3, 37), 0.11)
    return digest(position, velocity)


def told(drawn, twin):
    """Who met whom, and who touches."""
    stepper = drawn.make(twin.Stepper)
    seen = [attempt(stepper.step, 6)]
    if seen[-1] is None:
        seen += [stepper.checksum(), stepper.snapshot()]
    events = stepper.events.take()
    for name in ("time", "point", "normal", "speed", "impulse"):
        events[name][np.isnan(events[name])] = np.nan  # whose sign is the processor's choice
    return digest(*seen, events, stepper.events.dropped)


def repeated(make, twin):
    """A plain scene, in all dimensions, dtypes, sizes and layouts."""
    return digest(*(array for found in plain.worlds(twin, make) if found is not None for array in found))


def asked(dtype, dim, twin):
    """Who is near whom."""
    rng = Draws(f"neighbours {dim}")
    position, places = rng.normal(size=(150, dim)).astype(dtype), rng.normal(size=(20, dim))
    near = twin.Neighbours(position, 0.4, rng.random(150) < 0.8)
    motion = 3 * rng.normal(size=(20, dim))
    return digest(*near.pairs(), *near.of(places), *near.nearest(places, 3), *near.cast(places, motion, 0.1))


def asked_around(dtype, dim, twin):
    """The same in a periodic box."""
    rng = Draws(f"neighbours around {dim}")
    position, places = 2 * rng.normal(size=(150, dim)).astype(dtype), rng.normal(size=(20, dim))
    box = kd.Periodic(np.where(np.arange(dim) == 1, -np.inf, -1.5), np.where(np.arange(dim) == 1, np.inf, 2.0))
    near = twin.Neighbours(position, 0.4, rng.random(150) < 0.8, periodic=box)
    motion = 3 * rng.normal(size=(20, dim))
    return digest(*near.pairs(), *near.of(places), *near.nearest(places, 3), *near.cast(places, motion, 0.1))


def cases():
    """(what it is, function of `kickdrift` or `kickdrift.reference` that gives the digest), as golden.txt has them."""
    for number in range(ROUNDS * len(INTEGRATORS) * len(DTYPES)):
        integrator = INTEGRATORS[number % len(INTEGRATORS)]
        dtype = DTYPES[number // len(INTEGRATORS) % len(DTYPES)]
        rng = Draws(number)
        # In every third round bodies are held.
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
        yield f"events {number} {integrator!r} {np.dtype(dtype)}: {names}", partial(told, drawn)
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = told_resting_scene(Draws(f"events of contacts {number}"), integrator, dtype=dtype)
        yield f"events of contacts {number} {integrator!r} {np.dtype(dtype)}", partial(told, drawn)
    for number, dtype in product(range(3), DTYPES):
        drawn = resting_scene(Draws(f"fine substeps {number}"), INTEGRATORS[number], dtype=dtype)
        constraints = drawn.arguments["constraints"]
        constraints[:] = [replace(part, substeps=12) if part.kind == "contacts" else part for part in constraints]
        yield f"contacts in fine substeps {number} {np.dtype(dtype)}", partial(stepped, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = level_scene(Draws(f"level {number}"), integrator, dtype=dtype, dim=2 if number % 2 else None)
        yield f"contacts with shapes {number} {integrator!r} {np.dtype(dtype)}", partial(told, drawn)
        if number % 5 == 0:
            yield f"lives contacts with shapes {number}", partial(lived, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = resting_around_scene(Draws(f"contacts around {number}"), integrator, dtype=dtype)
        yield f"contacts around {number} {integrator!r} {np.dtype(dtype)}", partial(told, drawn)
        if number % 5 == 0:
            yield f"lives contacts around {number}", partial(lived, drawn, Draws(number))
    for number, dtype in product(range(3), DTYPES):
        drawn = told_scene(Draws(f"segments {number}"), kd.VelocityVerlet(), dtype=dtype, dim=2)
        drawn.arguments["constraints"].append(kd.Segments([[[-1.0, -0.5], [1.0, -0.25]]], 0.5, radius=0.1))
        yield f"events {number} at Segments {np.dtype(dtype)}", partial(told, drawn)
    for number in range(2 * len(INTEGRATORS) * len(DTYPES)):
        integrator = INTEGRATORS[number % len(INTEGRATORS)]
        dtype = DTYPES[number // len(INTEGRATORS) % len(DTYPES)]
        held = number >= len(INTEGRATORS) * len(DTYPES)
        rng = Draws(f"births and deaths {number}")
        drawn = (held_scene if held else scene)(rng, integrator, n=int(rng.choice([5, 17, 33])), dtype=dtype)
        name = "held, " if held else ""
        yield f"births and deaths {number} {name}{integrator!r} {np.dtype(dtype)}", partial(lived, drawn, rng)
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = scene(Draws(f"applied {number}"), integrator, dtype=dtype)
        force = Draws(f"force {number}").normal(size=drawn.position.shape).astype(dtype)
        drawn.arguments["forces"].append(kd.AppliedForce(force))
        yield f"AppliedForce {integrator!r} {np.dtype(dtype)} {force.shape}", partial(stepped, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        make = (scene, held_scene, resting_scene)[number % 3]
        drawn = spinning_scene(Draws(f"spinning {number}"), integrator, make, dtype=dtype)
        name = f"spinning {number} {integrator!r} {np.dtype(dtype)} {drawn.position.shape} {drawn.layout}"
        yield name, partial(stepped, drawn, Draws(number))
        if number % 5 == 0:
            yield f"snapshot {name}", partial(saved, drawn, Draws(number))
    for number, (integrator, dtype) in enumerate(product(INTEGRATORS, DTYPES)):
        drawn = running_scene(Draws(f"running {number}"), integrator, (held_scene, level_scene)[number % 2], dtype, 2)
        name = f"running {number} {integrator!r} {np.dtype(dtype)} {drawn.position.shape} {drawn.layout}"
        yield name, partial(stepped, drawn, Draws(number))
        if number % 3 == 0:
            yield f"snapshot {name}", partial(saved, drawn, Draws(number))
    turning = [integrator for integrator in INTEGRATORS if not isinstance(integrator, kd.Exact)]
    for number, (integrator, dtype) in enumerate(product(turning, DTYPES)):
        rng = Draws(f"turned {number}")
        drawn = turned_scene(rng, integrator, number % 3 == 2, dtype)
        names = " + ".join(type(term).__name__ for term in drawn.arguments["forces"]) or "nothing"
        shape = "x".join(map(str, drawn.position.shape))
        yield f"turned {integrator!r} {np.dtype(dtype)} {shape} {drawn.layout}: {names}", partial(stepped, drawn, rng)
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
                yield f"lives {name}", partial(lived, drawn, Draws(number))
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
        yield f"{flow!r} {scheme} {np.dtype(dtype)} {len(y)}", partial(solved, y, flow, scheme, dt)
    for number, scheme, dtype in product(range(len(FORCES)), ("rk4", "velocity_verlet", "implicit_euler"), DTYPES):
        yield f"{FORCES[number]!r} {scheme} {np.dtype(dtype)}", partial(pushed, number, scheme, dtype)
    for dtype in DTYPES:
        yield f"{FORCES[1]!r} energy_euler {np.dtype(dtype)}", partial(pushed, 1, "energy_euler", dtype)
    for term, scheme, dtype in product(NEAR, ("velocity_verlet", "verlet", "rk4", "implicit_euler"), DTYPES):
        yield f"{term!r} {scheme} {np.dtype(dtype)}", partial(beside, term, scheme, dtype, 0.01)
    for scheme, dtype in product(("velocity_verlet", "verlet", "yoshida4", "implicit_euler", "energy_euler"), DTYPES):
        yield f"back in time {scheme} {np.dtype(dtype)}", partial(beside, kd.PointGravity(2.0), scheme, dtype, -0.01)
    for scheme, dtype in product(ODE_INTEGRATORS, DTYPES):
        y = Draws(f"flow {scheme}").uniform(0.1, 1, (7, 3)).astype(dtype)
        yield f"{FLOW!r} {scheme} {np.dtype(dtype)} {len(y)}", partial(solved, y, FLOW, scheme, 0.01)
    for name, dtype in product(FUNCTIONS, DTYPES):
        yield f"math.{name} {np.dtype(dtype)}", partial(computed, name, dtype)
    for layout, dtype in product(LAYOUTS, DTYPES):
        yield f"kick, drift, damp {np.dtype(dtype)} {layout}", partial(moved, dtype, layout)
    for name, make in plain.rows():
        yield name, partial(repeated, make)
    for dim, dtype in product((1, 2, 3), DTYPES):
        yield f"Neighbours {np.dtype(dtype)} dim {dim}", partial(asked, dtype, dim)
        yield f"Neighbours around {np.dtype(dtype)} dim {dim}", partial(asked_around, dtype, dim)


def digests(twin=kd):
    """{what it is: its digest}."""
    return {name: compute(twin) for name, compute in cases()}


def written():
    """What golden.txt says."""
    lines = [line for line in FILE.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return {name: digest for digest, name in (line.split(" ", 1) for line in lines)}


def write():
    """Write the reference's digests: a wrong kernel is not written down as right."""
    found = digests(kd.reference)
    head = "# Made by `python tests/golden.py --write`: see there.\n"
    FILE.write_text(head + "".join(f"{digest} {name}\n" for name, digest in found.items()), "utf-8", newline="\n")
    print(f"{len(found)} digests written")


def compare():
    """How many digests differ; new rows do not count."""
    wrong = 0
    for isa in kernels.isas:
        kernels.isa = isa
        found, expected = digests(), written()
        differ = [name for name in expected if found.get(name) != expected[name]]
        print(f"{isa}: {len(found)} plans, {len(differ)} differ, {len(found.keys() - expected.keys())} are new")
        for name in differ:
            print(f"  {found.get(name)}, not {expected[name]}: {name}")
        wrong += len(differ)
    return wrong


def summary():
    """One row of a table for each instruction set; also written to a file in the folder $KICKDRIFT_DIGESTS, if set."""
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
        name = sysconfig.get_config_var("EXT_SUFFIX").split(".")[1]  # of Python, processor, system and C library
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
