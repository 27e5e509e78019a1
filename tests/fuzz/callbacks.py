"""Callbacks that raise, call their own stepper, and misuse everything within their reach.

Afterwards the stepper is at a completed tick, bitwise equal to an undisturbed reference, and continues like it.
"""

import copy
import pickle
import random

import numpy as np
from draws import Draws
from plans import scene

import kickdrift as kd

from . import scenes
from .common import check, finite, observe, outcome, plain, same, same_state, tally, without


class MischiefError(Exception):
    pass


class MischiefExit(BaseException):
    """An exception that is not derived from Exception, like KeyboardInterrupt and SystemExit."""


RAISED = (MischiefError, MischiefExit, KeyboardInterrupt, StopIteration, MemoryError)

#: Calls that a callback makes on its own stepper. All of them would modify or read an incomplete step.
BODIES = {
    "step": lambda s, saved: s.step(),
    "step(0)": lambda s, saved: s.step(0),
    "advance": lambda s, saved: s.advance(0.1),
    "record": lambda s, saved: s.record(2),
    "restore": lambda s, saved: s.restore(saved),
    "snapshot": lambda s, saved: s.snapshot(),
    "checksum": lambda s, saved: s.checksum(),
    "dt": lambda s, saved: setattr(s, "dt", 0.0625),
    "copy": lambda s, saved: copy.copy(s),
    "pickle": lambda s, saved: pickle.dumps(s),
    "save": lambda s, saved: kd.Rollback(s, 3).save(),
    "sync_test": lambda s, saved: kd.sync_test(s, 2),
    "restart": lambda s, saved: s.restart(),
    "teleport": lambda s, saved: s.teleport(0, [3.0] * s.dim),
    "shift": lambda s, saved: s.shift([1.0] * s.dim),
    "energy": lambda s, saved: s.energy(),
    "interpolate": lambda s, saved: s.interpolate(0.5),
    "hermite": lambda s, saved: s.interpolate(0.5, mode="hermite"),
    "__init__": lambda s, saved: s.__init__(np.ones((s.n, s.dim))),
}
EQUATIONS = {
    name: BODIES[name]
    for name in ("step", "step(0)", "record", "restore", "snapshot", "checksum", "dt", "copy", "pickle", "sync_test")
} | {"__init__": lambda s, saved: s.__init__(np.ones((s.n, s.dim)), scenes.decay, dt=0.1)}

WAYS = ("raise", "raise", "raise", "enter", "enter", "enter", "write", "keep", "return")


class Trouble:
    """Misbehaviour that a callback adds to its work in one of its calls, while `countdown` is set."""

    def __init__(self, rng, attempts):
        self.rng, self.attempts = rng, attempts
        self.stepper = self.saved = self.countdown = self.way = None
        self.kept, self.faults = [], []

    def arm(self, stepper, saved):
        self.stepper, self.saved = stepper, saved
        self.way = self.rng.choice(WAYS)
        self.countdown = self.rng.choice([1, 1, 2, 3, 5, 9, 17])
        self.names = self.rng.sample(sorted(self.attempts), 3)

    def disarm(self):
        self.countdown = None
        for array in self.kept:  # no longer used by the stepper
            if array.flags.writeable:
                array[...] = -123.0
        self.kept = []

    def __call__(self, read_only, out):
        """Called before the callback does its work; True if the work shall be skipped."""
        if self.countdown is None:
            return
        self.countdown -= 1
        if self.countdown:
            return
        tally.operations += 1
        if self.way == "raise":
            out[...] = np.nan
            raise self.rng.choice(RAISED)("mischief")
        if self.way == "enter":
            for name in self.names:
                if name not in without:
                    self.enter(name)
        elif self.way == "write":
            for array in read_only:
                if outcome(lambda array=array: array.fill(7.0))[0] != "raised":
                    self.faults.append("what it reads can be written to")
        elif self.way == "keep":
            self.kept = [*read_only, out]
        # "return": the stepper refuses a returned value in place of writing to out; see `work`.

    def enter(self, name):
        clock = getattr(self.stepper, "_clock", None)
        before = None if clock is None else (clock.state(), repr(clock))
        result = outcome(self.attempts[name], self.stepper, self.saved)
        if result[:2] != ("raised", "RuntimeError"):
            told = result[0] if result[0] == "returned" else ": ".join(result[1:])
            self.faults.append(f"{name} during a step {told}")
        if clock is not None and (clock.state(), repr(clock)) != before:
            self.faults.append(f"{name} during a step changed the clock")

    def result(self):
        """Return value of the callback."""
        return 5 if self.way == "return" and self.countdown == 0 else None


def force(trouble):
    """Create a force that misbehaves like `trouble`; None gives the same force without misbehaviour."""

    def work(t, position, velocity, out):
        if trouble is not None:
            trouble((position, velocity), out)
        out[...] = 0.25 * t - position - 0.25 * velocity
        return trouble and trouble.result()

    def change(t, position, velocity, dx, dv, out):
        if trouble is not None:
            trouble((position, velocity, dx, dv), out)
        out[...] = -dx - 0.25 * dv
        return trouble and trouble.result()

    return lambda kind, jacobian: kind(work, potential=scenes.nothing, jacobian=change if jacobian else None)


def some_bodies(seed, trouble):
    """Create a stepper with the misbehaving force among others."""
    rng = Draws(seed)
    drawn = scene(rng, n=int(rng.choice([1, 2, 3, 6])))
    integrator = drawn.arguments["integrator"]
    if isinstance(integrator, (kd.EnergyEuler, kd.Exact)):
        integrator = drawn.arguments["integrator"] = kd.VelocityVerlet()
    kind = (kd.Force, kd.Acceleration)[rng.integers(2)]
    drawn.arguments["forces"].insert(0, force(trouble)(kind, bool(rng.integers(2))))
    if rng.integers(3) == 0:
        drawn.arguments["constraints"] = [kd.Box(-3, 3, radius=0.1)]
    return drawn.make


def some_equations(seed, trouble):
    rng = Draws(seed)
    y = rng.normal(size=(int(rng.integers(1, 5)), int(rng.integers(1, 4)))).astype(scenes.DTYPES[rng.integers(2)])
    integrator, with_jacobian = scenes.ODE_INTEGRATORS[rng.integers(5)], rng.integers(2)

    def rhs(t, y, out):
        if trouble is not None:
            trouble((y,), out)
        scenes.decay(t, y, out)
        return trouble and trouble.result()

    def jacobian(t, y, out):
        if trouble is not None:
            trouble((y,), out)
        scenes.decay_jacobian(t, y, out)
        return trouble and trouble.result()

    return lambda cls: cls(y.copy(), rhs, dt=0.05, integrator=integrator, jacobian=jacobian if with_jacobian else None)


def states(stepper):
    return [plain(array) for array in stepper._arrays()], stepper.tick, stepper.time.hex()


def functions(seed, rounds=8):
    """Misbehave in one stepper, compiled or reference; the other one is undisturbed."""
    rng = random.Random(seed)
    ode = rng.random() < 0.35
    trouble = Trouble(rng, EQUATIONS if ode else BODIES)
    make = some_equations if ode else some_bodies
    classes = [kd.ODEStepper, kd.reference.ODEStepper] if ode else [kd.Stepper, kd.reference.Stepper]
    if rng.random() < 0.25:
        classes.reverse()
    stepper, twin = make(seed, trouble)(classes[0]), make(seed, None)(classes[1])
    for _ in range(rounds):
        if not finite(stepper):
            return
        saved, first = stepper.snapshot(), stepper.tick
        counted = None if ode else stepper.clock.tick
        n = rng.randrange(1, 6)
        trouble.arm(stepper, saved)
        calls = {"step": lambda n=n: stepper.step(n), "record": lambda n=n: stepper.record(n)}
        if not ode:
            calls["advance"] = lambda n=n: stepper.advance(n * stepper.dt * 1.01)
        name = rng.choice(sorted(calls))
        if name in without:
            continue
        result = None
        try:
            calls[name]()
        except (kd.NonFiniteError, kd.ConvergenceError):
            trouble.disarm()
            return  # not under test here
        except BaseException as error:
            result = type(error)
            expected = TypeError if trouble.way == "return" else RAISED
            check(trouble.countdown == 0 and issubclass(result, expected), f"{trouble.way} in {name}: {error!r}")
        struck = trouble.countdown == 0
        trouble.disarm()
        check(not trouble.faults, f"in {name}: {' '.join(trouble.faults[:1])}")
        check((result is not None) == (struck and trouble.way in ("raise", "return")), f"{name}: {result}")
        if name == "advance":
            same("steps of clock and stepper", stepper.clock.tick - counted, stepper.tick - first)
        elif result is None:
            same(f"{name}: tick", stepper.tick, first + n)
        else:
            check(first <= stepper.tick < first + n, f"{name} of {n} left tick {stepper.tick}, begun at {first}")
        try:
            twin.step(stepper.tick - twin.tick)
        except (kd.NonFiniteError, kd.ConvergenceError):
            return
        same(f"after {trouble.way} in {name}", states(stepper), states(twin))
        results = [outcome(one.step, 2) for one in (stepper, twin)]
        same(f"going on after {trouble.way} in {name}", *results)
        if not finite(stepper):
            return
        same(f"going on after {trouble.way} in {name}", states(stepper), states(twin))


def inputs(seed, rounds=6):
    """Raise in inputs of a Rollback: the stepper stays at the tick of the call."""
    rng = random.Random(seed)
    drawn = scenes.bodies(seed)
    stepper, twin = (drawn.make(cls) for cls in (kd.Stepper, kd.reference.Stepper))
    past, log = kd.Rollback(stepper, 8), {}

    def play(world, tick):
        log[tick] = log.get(tick) or rng.choice([0.0, 0.25, -0.5])
        if tick == bad:
            raise rng.choice(RAISED)
        world.velocity[tick % world.n] += log[tick]

    for _ in range(rounds):
        first = stepper.tick
        end = first + rng.randrange(1, 6)
        bad = rng.choice([None, *range(first, end)])
        tally.operations += 1
        try:
            past.resimulate(end, play)
        except (kd.NonFiniteError, kd.ConvergenceError):
            return
        except RAISED:
            same("where inputs raised", stepper.tick, bad)
        else:
            same("where resimulation ended", stepper.tick, end)
        for tick in range(twin.tick, stepper.tick):
            twin.velocity[tick % twin.n] += log[tick]
            twin.step()
        left = {"drawn", "snapshot", "alpha", "clock", "evaluations"}
        same_state("resimulated", *({k: v for k, v in observe(s).items() if k not in left} for s in (stepper, twin)))
        if rng.random() < 0.5:
            past.rollback(rng.choice(past.ticks))
            twin.restore(stepper.snapshot())
            log = {tick: value for tick, value in log.items() if tick < stepper.tick}


def callbacks(seed):
    for one in (functions, inputs):
        one(seed)
