"""The compiled clock and the reference clock agree in all observable behaviour."""

import contextlib
import copy
import doctest
import json
import pickle
import random
import threading

import numpy as np
import pytest

import kickdrift as kd
import kickdrift.clock.options
import kickdrift.reference.clock
from kickdrift.clock import FixedClock as Compiled
from kickdrift.reference.clock import FixedClock as Reference

#: Frames of many seconds are intended here: silence their warning.
pytestmark = pytest.mark.filterwarnings("ignore:seconds. expected the time of a frame")

READABLE = [name for name, value in vars(Reference).items() if isinstance(value, property) and name[0] != "_"]
RATES = [1, 30, 60, 64, 120, 1000, 999_983, "60000/1001", "1/7", "1000000/999999", "1/1000000", 1 / 50]


def observe(clock):
    return clock.state(), [getattr(clock, name) for name in READABLE], repr(clock)


def outcome(clock, operation):
    """Return the result or the exception of an operation."""
    try:
        return operation(clock)
    except Exception as error:
        return type(error), str(error)


def made(cls, settings):
    return outcome(cls, lambda cls: cls(**settings))


def some_settings(rng):
    rate = rng.choice(RATES)
    return {
        "hz": rate,
        "policy": rng.choice(["exact", "exact", "match", "match", "locked(2)", kd.Variable(0.05)]),
        "max_steps": rng.choice([2, 8, 100]),
        "overload": rng.choice(["drop", kd.Backlog(5), "resync", "raise"]),
        "max_frame": rng.choice([0.25, 0.25, 1.5, 10]),
        "scale": rng.choice([1.0, 1.0, 0.3, 1.7]),
        "substeps": rng.choice([1, 3]),
        "carry": rng.random() < 0.8,
        "slack": rng.choice([0.25, 0.0, 0.5, 0.1]),
        "tolerance": rng.choice([0.1, 0.0, 0.5]),
        "phase": rng.choice([0.0, 0.5, 0.999]),
    }


def some_frame(rng, clock):
    dt = clock.dt
    return rng.choice(
        [
            dt,
            dt * rng.gauss(1, 0.02) ** 2,
            rng.uniform(0, 3 * dt),
            rng.randrange(20) * dt,
            rng.uniform(0, 0.1),
            rng.choice([0.0, -0.0, 1e-12, 5e-324, 0.25, 7.0, 1e7, 1e300]),
        ]
    )


def some_operation(rng, clock):
    """Return a random operation that applies to both clocks."""
    frame = some_frame(rng, clock)
    ns = int(min(frame, 1e12) * 1e9)
    draw = rng.random()
    if draw < 0.40:
        return lambda c: c.advance(frame)
    if draw < 0.50:
        return lambda c: c.advance_ns(ns)
    if draw < 0.53:
        return lambda c: c.advance_ms(ns // 10**6)
    if draw < 0.60:
        now = rng.choice([ns, ns + 10**9, rng.randrange(-(2**62), 2**62)])
        return lambda c: c.advance_to(now)
    if draw < 0.65:
        return lambda c: list(c.steps(frame))
    if draw < 0.70:
        stop = rng.randrange(3)
        return lambda c: [tick for tick, _ in zip(c.steps(frame), range(stop), strict=False)]
    if draw < 0.75:
        stop, hz, keep = rng.randrange(4), rng.choice(RATES), rng.choice(["time", "fraction"])
        change = rng.random() < 0.3

        def pull(c):
            seen = [c.feed(frame)]
            while len(seen) <= stop and c.step():
                seen.append((c.tick, c.alpha))
                if change:
                    c.set_hz(hz, keep)
            return seen

        return pull
    if draw < 0.79:
        frames = [some_frame(rng, clock) for _ in range(5)]
        return lambda c: [part.tolist() for part in c.plan(frames, np.zeros(5, np.int64), np.zeros(5))]
    if draw < 0.82:
        hz, keep = rng.choice(RATES), rng.choice(["time", "fraction"])
        return lambda c: c.set_hz(hz, keep)
    if draw < 0.85:
        scale = rng.choice([0.0, 0.5, 1.0, 1.0, 2.0, rng.uniform(0, 3), 1000.0])
        return lambda c: setattr(c, "scale", scale)
    if draw < 0.88:
        return lambda c: c.pause()
    if draw < 0.92:
        return lambda c: c.resume()
    if draw < 0.94:
        return lambda c: c.single_step()
    if draw < 0.95:
        return lambda c: c.resync()
    if draw < 0.96:
        tick = rng.randrange(10**6)
        return lambda c: c.set_tick(tick)
    if draw < 0.97:
        return lambda c: c.load(json.loads(json.dumps(c.state())))
    if draw < 0.98:
        return lambda c: c.step()
    bad = rng.choice([float("nan"), float("inf"), -1, -1e-300, True, "1", None, 10**400, 1 + 2j, [1]])
    name = rng.choice(["advance", "advance_ns", "advance_ms", "advance_to", "set_hz", "set_tick", "load"])
    return lambda c: getattr(c, name)(bad)


@pytest.mark.parametrize("seed", range(20))
def test_random_operations_agree(seed):
    """Run 10**5 random operations, 5000 for each seed."""
    rng = random.Random(seed)
    for _ in range(50):
        settings = some_settings(rng)
        reference, compiled = made(Reference, settings), made(Compiled, settings)
        if isinstance(reference, tuple):
            assert reference == compiled
            continue
        for _ in range(100):
            operation = some_operation(rng, reference)
            assert outcome(reference, operation) == outcome(compiled, operation)
            assert observe(reference) == observe(compiled)


@pytest.mark.parametrize("policy", ["exact", "match"])
@pytest.mark.parametrize("scale", [2.0**-10, 1.0, 1.7, 60.000001, 1000.0])
@pytest.mark.parametrize("rate", ["1/7", "60000/1001", 60, 999_983, 999_999_937, 2**33])
def test_frames_close_to_whole_steps_agree(rate, scale, policy):
    """Frame times within a few nanoseconds of a whole number of steps, with fractions of a nanosecond."""
    rng = random.Random(f"{rate} {scale} {policy}")
    longest = min(30.0, 2**60 / 1e9 / kd.FixedClock(rate).hz.numerator) / scale
    limits = {"max_frame": longest, "scale": scale, "policy": policy, "max_steps": 50}
    reference, compiled = Reference(rate, **limits), Compiled(rate, **limits)
    for _ in range(300):
        waiting = float(reference.state().acc) / float(reference.hz.numerator) / 1e9
        whole = rng.choice([1, 1, 2, 3]) * reference.dt
        missing = rng.choice([0.0, rng.uniform(-3, 3), scale * rng.uniform(-2, 1)]) * 1e-9
        frame = max(whole - rng.choice([0.0, waiting]) + missing, 0.0) / scale
        assert compiled.advance(frame) == reference.advance(frame)
        assert observe(compiled) == observe(reference)


def members(cls):
    return {name: value for base in reversed(cls.__mro__[:-1]) for name, value in vars(base).items()}


def test_both_clocks_have_equal_public_names():
    def public(cls):
        return {name for name in members(cls) if not name.startswith("_")}

    assert public(Compiled) == public(Reference)


@pytest.mark.parametrize("module", [kickdrift.clock.options, kickdrift.reference.clock], ids=lambda m: m.__name__)
def test_docstring_examples_of_the_python_modules(module):
    assert doctest.testmod(module).failed == 0


def test_docstring_examples_of_the_compiled_module():
    # doctest's own finder misses the properties of a compiled class.
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for name, value in {"FixedClock": Compiled, **members(Compiled)}.items():
        runner.run(parser.get_doctest(value.__doc__ or "", {"FixedClock": Compiled}, name, None, 0))
    assert runner.summarize().failed == 0
    assert runner.tries > 20


def test_everything_public_is_documented():
    for cls in Reference, Compiled:
        for name, value in members(cls).items():
            assert name.startswith("_") or value.__doc__, name


def test_subclasses_survive_pickling():
    assert type(copy.copy(Subclass(30))) is Subclass
    assert pickle.loads(pickle.dumps(Subclass(30))).hz == 30


class Subclass(Compiled):
    pass


def test_calls_from_another_thread_are_refused_while_plan_runs():
    clock, frames = Compiled(60), np.zeros(5_000_000)
    planning = threading.Thread(target=clock.plan, args=(frames,))
    planning.start()
    refused = 0
    while planning.is_alive():
        try:
            clock.advance(0)
        except RuntimeError:
            refused += 1
    planning.join()
    assert refused
    assert clock.advance(0.05) == 3


def test_plan_loses_no_frame_while_another_thread_changes_the_clock():
    clock, frames = Compiled(60), np.full(2_000_000, 1 / 60)
    planning = threading.Thread(target=clock.plan, args=(frames,))
    planning.start()
    while planning.is_alive():
        with contextlib.suppress(RuntimeError):
            clock.scale = 1.0
        with contextlib.suppress(RuntimeError):
            clock.set_hz(60)
    planning.join()
    assert clock.tick == len(frames)
