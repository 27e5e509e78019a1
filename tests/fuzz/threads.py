"""Several threads call one stepper: each call is either refused or completed.

The steppers release the GIL during a step, by a Python callback or by having enough bodies.
"""

import copy
import random
import sys
import threading

import numpy as np
from draws import Draws

import kickdrift as kd

from . import scenes
from .common import check, plain, same, tally, without, without_clock

PATIENCE = 60  # seconds until all threads must end


def crowd(works):
    """Run functions concurrently, and raise the exceptions of any of them."""
    failures = []
    barrier = threading.Barrier(len(works))

    def guarded(work):
        try:
            barrier.wait(PATIENCE)
            work()
        except BaseException as error:
            failures.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            check(not thread.is_alive(), "a call never came back")
    finally:
        sys.setswitchinterval(before)
    if failures:
        raise failures[0]


def attempt(call, *arguments):
    """Make a call that may be refused; return whether it succeeded, and its result."""
    tally.operations += 1
    try:
        return True, call(*arguments)
    except (RuntimeError, kd.NonFiniteError, kd.ConvergenceError) as error:
        return False, error


def some_stepper(rng, clock=None, alike=False):
    """Return a function that creates a stepper that releases the GIL; `alike`: all its bodies move equally."""
    seed = rng.randrange(2**32)
    draws = Draws(seed)
    by_function = rng.random() < 0.6
    n = rng.choice([2, 3, 7]) if by_function else rng.choice([500, 3000])
    dim, dtype = rng.choice([1, 2, 3]), rng.choice(scenes.DTYPES)
    x, v = (draws.normal(size=(1 if alike else n, dim)).astype(dtype) for _ in range(2))
    x, v = (np.repeat(array, n // len(array), axis=0) for array in (x, v))
    forces = [kd.AnchorSpring(4.0, 0.5, anchor=(0.5,) * dim), kd.Damping(0.1)]
    if by_function:
        forces.append(scenes.FUNCTIONS[rng.randrange(2)]())
    constraints = [kd.Box(-50, 50)] if rng.random() < 0.5 else []
    integrator = rng.choice(["semi_implicit_euler", "velocity_verlet", "verlet", "rk4", "groot_warren"])
    arguments = {"integrator": integrator, "forces": forces, "constraints": constraints}
    threads = rng.choice([1, 1, 2])

    def make(threads=threads):
        if clock is None:
            return kd.Stepper(x.copy(), v.copy(), dt=0.01, threads=threads, **arguments)
        return kd.Stepper(x.copy(), v.copy(), threads=threads, clock=kd.FixedClock(**clock), **arguments)

    return make


def counting(seed, count=12, crew=3):
    """Step and read concurrently: ticks add up, and every observed state is that of a completed tick of a copy."""
    rng = random.Random(seed)
    variable = rng.random() < 0.3 and "variable" not in without
    clock = {"hz": 100, "policy": "variable(0.02)"} if variable else None
    make = some_stepper(rng, clock)
    stepper = make()
    stepper.clock  # noqa: B018 (created by the first access)
    stepped, seen = [], []

    def worker(seed):
        rng = random.Random(seed)

        def work():
            for _ in range(count):
                name = rng.choice(["step", "step", "advance", "record", *LOOKS])
                n = rng.randrange(1, 6)
                if name in without:
                    continue
                if name in LOOKS:
                    done, value = attempt(LOOKS[name], stepper)
                    if done:
                        seen.append((name, value))
                elif name == "step":
                    done, _ = attempt(stepper.step, n)
                    stepped.append(n * done)
                elif name == "record":
                    done, value = attempt(stepper.record, n)
                    stepped.append(n if done else max(0, len(getattr(value, "trajectory", [])) - 1))
                else:
                    done, value = attempt(stepper.advance, rng.choice([0.01, 0.025, 0.017]))
                    stepped.append(value if done else 0)

        return work

    crowd([worker(rng.randrange(2**32)) for _ in range(crew)])
    same("ticks", stepper.tick, sum(stepped))
    if variable:
        return  # the length of each step depends on the order of the threads
    twin = make(threads=1)
    states = {name: set() for name in LOOKS}
    for tick in range(stepper.tick + 1):
        if tick:
            twin.step()
        for name, look in LOOKS.items():
            states[name].add(comparable(name, look(twin)))
    for name, value in seen:
        check(comparable(name, value) in states[name], f"{name} saw no completed tick")
    same("the end", comparable("snapshot", stepper.snapshot()), comparable("snapshot", twin.snapshot()))


LOOKS = {
    "snapshot": lambda s: s.snapshot(),
    "checksum": lambda s: s.checksum(),
    "interpolate": lambda s: s.interpolate(0.0, mode="extrapolate"),
    "copy": lambda s: copy.copy(s).snapshot(),
}


def comparable(name, value):
    if name in ("snapshot", "copy"):
        return without_clock(value)
    return repr(plain(value))


def changing(seed, count=15, crew=3):
    """Make all calls concurrently on bodies that move equally: each observation shows equal bodies."""
    rng = random.Random(seed)
    make = some_stepper(rng, alike=True)
    stepper, twin = make(), make(threads=1)
    stepper.clock  # noqa: B018
    start = stepper.snapshot()
    stepper.step(3)
    twin.step(3)
    saved = [start, stepper.snapshot()]
    dim = stepper.dim
    odd = []

    def together(name, value):
        arrays = [value] if isinstance(value, np.ndarray) else [value.position, value.velocity]
        for array in arrays:
            tally.comparisons += 1
            if (array != array[:1]).any():
                odd.append(name)

    def worker(seed):
        rng = random.Random(seed)
        small = [rng.choice([0.5, -0.25, 0.125]) for _ in range(dim)]
        calls = {
            "step": lambda: stepper.step(rng.randrange(1, 5)),
            "advance": lambda: stepper.advance(0.03),
            "restore": lambda: stepper.restore(rng.choice(saved)),
            "shift": lambda: stepper.shift(small),
            "teleport": lambda: stepper.teleport(slice(None), small),
            "restart": stepper.restart,
            "dt": lambda: setattr(stepper, "dt", rng.choice([0.01, 0.02, 1 / 60])),
            "snapshot": stepper.snapshot,
            "interpolate": stepper.interpolate,
            "hermite": lambda: stepper.interpolate(0.5, mode="hermite"),
            "copy": lambda: copy.copy(stepper),
            "checksum": stepper.checksum,
            "energy": stepper.energy,
        }

        def work():
            for _ in range(count):
                name = rng.choice([*calls, "step", "step", "advance"])
                if name in without:
                    continue
                done, value = attempt(calls[name])
                if not done:
                    continue
                if name == "snapshot":
                    other = make()
                    other.restore(value)
                    together(name, other)
                elif name in ("interpolate", "hermite", "copy"):
                    together(name, value)

        return work

    crowd([worker(rng.randrange(2**32)) for _ in range(crew)])
    check(not odd, f"torn: {', '.join(sorted(set(odd)))}")
    together("the end", stepper)
    check(not odd, "torn: the end")
    stepper.restore(saved[1])
    for one in (stepper, twin):
        one.step(5)
    same("going on", without_clock(stepper.snapshot()), without_clock(twin.snapshot()))
    same("forces", [plain(np.asarray(f.anchor)) for f in stepper.forces[:1]],
         [plain(np.asarray(f.anchor)) for f in twin.forces[:1]])  # fmt: skip


def apart(seed, crew=3):
    """Run different steppers concurrently, each with its own threads."""
    rng = random.Random(seed)
    makes = [some_stepper(rng) for _ in range(crew)]
    steppers, twins = [make(threads=2) for make in makes], [make(threads=1) for make in makes]

    def worker(stepper):
        def work():
            for _ in range(5):
                tally.operations += 1
                stepper.step(4)
                stepper.restore(stepper.snapshot())

        return work

    crowd([worker(stepper) for stepper in steppers])
    for stepper, twin in zip(steppers, twins, strict=True):
        twin.step(20)
        same("side by side", stepper.snapshot(), twin.snapshot())


def threads(seed):
    for one in (counting, changing, apart):
        one(seed)
