"""Ctrl-C at any moment: the stepper is at a completed tick and continues like an undisturbed copy.

Half of the interrupts come from a timer after random microseconds. The others are raised at a chosen point where
CPython runs signal handlers: on entry to a Python function, and on return from C code. A profiling function that
raises finds these points, so each is equally likely, however short it is.
"""

import random
import signal
import sys
import time
from fractions import Fraction
from functools import partial

import kickdrift as kd

from . import scenes
from .common import check, finite, observe, same, same_state, tally, without, without_clock

SIZES = (1, 2, 3, 5, 8, 33, 200, 1000)


class Strike:
    """A single interrupt during `run`."""

    def __init__(self):
        self.armed, self.left, self.events = False, 0, 0

    def ring(self, *_):
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def count(self, frame, event, argument):
        self.events += event in ("call", "c_return")

    def strike(self, frame, event, argument):
        if event in ("call", "c_return"):
            self.left -= 1
            if self.left == 0 and self.armed:
                self.armed = False
                raise KeyboardInterrupt

    def places(self, call):
        """Make the call and count the points where it can be interrupted."""
        self.events = 0
        sys.setprofile(self.count)
        try:
            call()
        finally:
            sys.setprofile(None)
        return self.events

    def at_place(self, call, place):
        """Interrupt the call at a point; return whether it was interrupted."""
        self.left, self.armed = place, True
        try:
            sys.setprofile(self.strike)
            call()
        except KeyboardInterrupt:
            return True
        finally:
            self.armed = False
            sys.setprofile(None)
        return False

    def after(self, call, seconds):
        before = signal.signal(signal.SIGALRM, self.ring)
        self.armed = True
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
                call()
            except KeyboardInterrupt:
                return True
            finally:
                self.armed = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:  # between the two
            return True
        finally:
            signal.signal(signal.SIGALRM, before)
        return False


def full_state(stepper):
    """Return all state that later steps depend on, in comparable form."""
    seen = observe(stepper)
    for name in ("evaluations", "drawn", "forces", "alpha", "clock"):
        seen.pop(name, None)
    clock = stepper._clock
    if clock is not None:
        seen["rate"] = clock.hz
        if "snapshot" in seen:
            seen["snapshot"] = without_clock(seen["snapshot"][1])
    return seen


def calls(rng, ode):
    """Draw the call to be interrupted, for a stepper with its Rollback."""
    name = rng.choice(["step", "step", "record", "restore", "dt", "save", "rollback"] if ode else CALLS)
    n, size = rng.choice([1, 1, 2, 3, 10, 40]), rng.random()
    return name, {
        "step": lambda s, past, saved: s.step(n),
        "record": lambda s, past, saved: s.record(n, 1 + n // 4),
        "advance": lambda s, past, saved: s.advance(min(n, 8) * float(s.clock.dt) * 1.001),
        "resimulate": lambda s, past, saved: past.resimulate(s.tick + n),
        "restore": lambda s, past, saved: s.restore(saved),
        "rollback": lambda s, past, saved: past.rollback(past.ticks[int(size * len(past.ticks))]),
        "save": lambda s, past, saved: past.save(),
        "shift": lambda s, past, saved: s.shift([size] * s.dim),
        "teleport": lambda s, past, saved: s.teleport(slice(None), [size] * s.dim),
        "dt": lambda s, past, saved: setattr(s, "dt", Fraction(1, 40 + int(100 * size))),
        "restart": lambda s, past, saved: s.restart(),
    }[name]


CALLS = ["step", "step", "step", "record", "advance", "advance", "resimulate", "restore", "rollback", "save", "shift",
         "teleport", "dt", "restart"]  # fmt: skip
MANY = {"step", "record", "advance", "resimulate"}


def some_stepper(rng):
    """Return a function that creates a stepper, always with the same numbers, and whether it is an ODEStepper."""
    seed = rng.randrange(2**32)
    if rng.random() < 0.2:
        make = scenes.equations(seed)
        return (lambda: make(kd.ODEStepper)), True
    drawn = scenes.bodies(seed, sizes=SIZES)
    return (lambda: drawn.make(kd.Stepper)), False


def signals(seed, rounds=10):
    rng = random.Random(seed)
    make, ode = some_stepper(rng)
    stepper, twin = make(), make()
    strike = Strike()
    for one in (stepper, twin):
        if not ode:
            one.clock  # noqa: B018 (created by the first access)
    pasts = [kd.Rollback(one, 50) for one in (stepper, twin)]
    for past in pasts:
        past.save()
    saved = stepper.snapshot()
    for _ in range(rounds):
        name, call = calls(rng, ode)
        if name in without:
            continue
        before, ticks, first = full_state(stepper), list(pasts[0].ticks), stepper.tick
        fed = None if ode else stepper.clock.fed_ns
        own, other = (partial(call, s, p, saved) for s, p in zip((stepper, twin), pasts, strict=True))
        start = twin.snapshot()
        try:
            began = time.perf_counter()
            places = strike.places(other) if rng.random() < 0.5 else other() and 0
            took = time.perf_counter() - began
            if places:
                struck = strike.at_place(own, rng.randrange(1, places + 1))
            else:
                struck = strike.after(own, rng.random() * took * 1.1)
        except (kd.NonFiniteError, kd.ConvergenceError):
            return  # not under test here
        if not (finite(stepper) and finite(twin)):
            return
        tally.operations += struck
        what = f"{name} struck" if struck else name
        now = full_state(stepper)
        if not struck:
            same_state(f"{name}, not struck,", now, full_state(twin))
        elif name in MANY:
            check(first <= stepper.tick <= twin.tick, f"{what}: tick {stepper.tick} of {first} to {twin.tick}")
            if not ode:
                clock = stepper.clock
                check(
                    name != "advance" or clock.tick - stepper.tick == twin.clock.tick - twin.tick,
                    f"{what}: the clock is at tick {clock.tick}, the stepper at {stepper.tick}",
                )
                check(clock.fed_ns in (fed, twin.clock.fed_ns), f"{what}: {clock.fed_ns - fed} ns were fed")
            twin.restore(start)
            twin.step(stepper.tick - first)
            same_state(what, now, full_state(twin))
        elif now["tick"] == before["tick"] and now == before:
            tally.comparisons += 1
            twin.restore(start)
        else:
            same_state(what, now, full_state(twin))
        known = {*ticks, *range(first, stepper.tick + 1)}
        check(set(pasts[0].ticks) <= known, f"{what}: it remembers {pasts[0].ticks}, not {sorted(known)}")
        # The stepper continues, and both rollbacks become equal again.
        for one in (stepper, twin):
            try:
                one.step(2)
            except (kd.NonFiniteError, kd.ConvergenceError):
                return
            if not ode:
                one.restore(one.snapshot())
        same_state(f"going on after {what}", full_state(stepper), full_state(twin))
        if not ode:
            twin.clock.load(stepper.clock.state())
        if struck:
            pasts = [kd.Rollback(one, 50) for one in (stepper, twin)]
        for past in pasts:
            past.save()
        same("what is remembered", pasts[0]._snapshots.keys(), pasts[1]._snapshots.keys())
        if rng.random() < 0.3:
            saved = stepper.snapshot()
