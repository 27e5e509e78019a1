"""State machines: a stepper and its reference run random operations, and are compared after each."""

import copy
import random
from fractions import Fraction

import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import kickdrift as kd

from . import scenes
from .changes import CHANGES
from .common import STEPS_FAIL, Twins, check, outcome, pickled, same, without, without_clock
from .living import LIVING, REFUSALS

SETTINGS = hypothesis.settings(
    deadline=None,
    database=None,
    stateful_step_count=20,
    phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
    suppress_health_check=list(hypothesis.HealthCheck),
    report_multiple_bugs=False,
    print_blob=False,
)

seeds = st.integers(0, 2**32 - 1)
counts = st.integers(0, 7)
rates = st.sampled_from([30, 50, 60, 90, "60000/1001", Fraction(75, 2)])
frames = st.floats(0, 0.1) | st.sampled_from([1 / 60, Fraction(1, 60), 1 / 50, 0.0, 3.0])
modes = st.sampled_from(["linear", "hermite", "extrapolate"])
ROUND_STEPS = [Fraction(1, 60), Fraction(1, 50), Fraction(1, 10), Fraction(1001, 60000), Fraction(1, 144), Fraction(1)]
steps = st.sampled_from([*ROUND_STEPS, 1 / 60, 0.1, 1, 0.0123457])

SOLVING = STEPS_FAIL
FRAMES = (*SOLVING, "OverloadError")

NAN, INF = float("nan"), float("inf")
#: Numbers to write into the state: signed zeros, subnormal and large ones.
SPECIAL = [-0.0, 0.0, 1e-40, -1e-310, 1e6, 1e19]
BAD = {
    "step": [-1, 1.5, None, "1", True, NAN, -(10**30), [1]],
    "advance": [-1, NAN, INF, "1", True, 1j, -1e-300],
    "dt": [0, NAN, INF, "x", None, True, 1e-320, Fraction(0), 10**400],
    "restore": [b"", b"kdsnap", None, 5, "text", b"\0" * 200],
    "record": [-1, 1.5, None, "3", True],
    "every": [0, -1, 0.5, None],
    "alpha": [NAN, INF, "1", True, 1j],
    "mode": ["cubic", None, 1, b"linear"],
    "shift": [NAN, None, "x", [[1.0]], [1.0] * 7, [INF, 0, 0]],
    "hz": [0, -1, NAN, "1/0", None, 10**12, "x"],
    "scale": [-1, NAN, INF, "1", None],
    "index": [10**6, "a", 1.5, None],
}


def cases():
    return st.sampled_from([(name, value) for name, values in BAD.items() for value in values])


class Common(RuleBasedStateMachine):
    """Operations that steppers of both kinds support."""

    twins: Twins

    def begin(self, make):
        self.saved = []
        made = [make(kd), make(kd.reference)]
        self.twins = Twins(*made)
        self.twins.compare("made")

    @rule(n=counts)
    def step(self, n):
        self.twins.do("step", lambda s: s.step(n), may_raise=SOLVING)

    @rule(n=counts, every=st.integers(1, 3))
    def record(self, n, every):
        self.twins.do("record", lambda s: s.record(n, every), may_raise=SOLVING)

    @rule(dt=steps)
    def change_dt(self, dt):
        name = "dt" if Fraction(dt).limit_denominator(10**5) in ROUND_STEPS else "odd dt"
        self.twins.do(name, lambda s: setattr(s, "dt", dt))

    @rule()
    def snapshot(self):
        self.saved.append((self.twins.fast.snapshot(), self.twins.fast.n))

    @rule(which=st.integers(0, 9))
    def restore(self, which):
        """Restore a snapshot of either implementation on both."""
        if self.saved:
            snapshot, n = self.saved[which % len(self.saved)]
            grown = ("SnapshotError",) if n != self.twins.fast.n else ()  # rebinding has added rows since
            self.twins.do("restore", lambda s: s.restore(snapshot), may_raise=grown)
            for stepper in () if grown else (self.twins.fast, self.twins.book):
                same("a restored snapshot", *(without_clock(b) for b in (stepper.snapshot(), snapshot)))

    @rule(way=st.sampled_from([copy.copy, copy.deepcopy, pickled]))
    def go_on_with_a_copy(self, way):
        self.twins.replace("copy", way)

    @rule(seed=seeds)
    def write(self, seed):
        """Write into the state between calls, like an engine."""

        def set_numbers(stepper):
            rng = random.Random(seed)
            for array in stepper._sampled().values():
                if rng.random() < 0.7:
                    special = rng.choice(SPECIAL) if rng.random() < 0.3 else rng.uniform(-1, 1)
                    array[tuple(rng.randrange(size) for size in array.shape)] = special

        self.twins.do("write", set_numbers)


class StepperMachine(Common):
    @initialize(seed=seeds, clocked=st.booleans())
    def make(self, seed, clocked):
        drawn = scenes.bodies(seed)
        clock = scenes.clock_settings(random.Random(seed)) if clocked else None
        if clock and "variable" in without and clock["policy"].startswith("variable"):
            clock = None
        self.begin(lambda module: scenes.twin_of(module, drawn, clock))

    @rule(seconds=frames)
    def advance(self, seconds):
        self.twins.do("advance", lambda s: s.advance(seconds), may_raise=FRAMES)

    @rule()
    def look_at_the_clock(self):
        self.twins.do("alpha", lambda s: s.alpha)

    @rule()
    def restart(self):
        self.twins.do("restart", lambda s: s.restart())

    @rule(seed=seeds)
    def teleport(self, seed):
        n, dim = self.twins.fast.n, self.twins.fast.dim
        rng = random.Random(seed)
        mask = np.array([rng.random() < 0.5 for _ in range(n)])
        index = rng.choice([rng.randrange(n), slice(rng.randrange(n), None), [rng.randrange(n)], mask, -1])
        place = [rng.uniform(-2, 2) for _ in range(dim)]
        self.twins.do("teleport", lambda s: s.teleport(index, place))

    @rule(seed=seeds)
    def shift(self, seed):
        rng = random.Random(seed)
        offset = [rng.choice([0, 1, -0.5, rng.uniform(-3, 3)]) for _ in range(self.twins.fast.dim)]
        self.twins.do("shift", lambda s: s.shift(offset))

    @rule(alpha=st.none() | st.floats(-0.5, 1.5), out=st.sampled_from([None, np.float32, np.float64]), mode=modes)
    def interpolate(self, alpha, out, mode):
        def draw(stepper):
            array = None if out is None else np.full((stepper.n, stepper.dim), np.nan, out)
            return stepper.interpolate(alpha, out=array, mode=mode)

        self.twins.do("interpolate", draw)

    @rule()
    def take_events(self):
        # Calls are refused if the events belong to a Rollback or do not exist.
        self.twins.do("events", lambda s: s.events.take(), may_raise=("RuntimeError",))
        self.twins.do("dropped", lambda s: s.events.dropped, may_raise=("RuntimeError",))
        self.twins.do("touching", lambda s: s.touching(), may_raise=("RuntimeError",))

    @rule(which=st.integers(0, 9))
    def go_back_to_fewer_events(self, which):
        """Restoring drops the events of later ticks."""
        self.restore(which)
        self.take_events()

    @rule(seed=seeds, most=st.integers(1, 3))
    def spawn(self, seed, most):
        def give_birth(stepper):
            rng = random.Random(seed)
            places = [[rng.uniform(-1, 1) for _ in range(stepper.dim)] for _ in range(most)]
            return stepper.spawn(places, rng.uniform(-1, 1))

        self.twins.do("spawn", give_birth, may_raise=("CapacityError",))

    @rule(seed=seeds)
    def kill(self, seed):
        rng = random.Random(seed)
        mask = np.array([rng.random() < 0.4 for _ in range(self.twins.fast.n)])
        self.twins.do("kill", lambda s: s.kill(mask))

    @rule(change=st.sampled_from(CHANGES), seed=seeds)
    def change(self, change, seed):
        """Change forces and constraints; both implementations must refuse the same changes."""
        refusals = ("ValueError", "TypeError", *SOLVING)
        self.twins.do(change.__name__, lambda s: change(s, seed), may_raise=refusals, atomic=True)

    @rule(act=st.sampled_from(LIVING), seed=seeds)
    def live(self, act, seed):
        """Run an operation such as spawn or rebind between steps; both implementations must accept or refuse it."""
        self.twins.do(act.__name__, lambda s: act(s, seed), may_raise=(*REFUSALS, *SOLVING), atomic=True)

    @rule()
    def energy(self):
        self.twins.do("energy", lambda s: s.energy(), may_raise=("ValueError",))

    @rule(rate=rates, keep=st.sampled_from(["time", "fraction"]))
    def change_rate(self, rate, keep):
        self.twins.do("set_hz", lambda s: s.clock.set_hz(rate, keep))

    @rule(scale=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
    def change_scale(self, scale):
        self.twins.do("scale", lambda s: setattr(s.clock, "scale", scale))

    @rule(name=st.sampled_from(["pause", "resume", "resume", "single_step", "resync"]))
    def tell_the_clock(self, name):
        refusal = ("RuntimeError",) if name == "single_step" else ()  # refused unless the clock is paused
        self.twins.do(name, lambda s: getattr(s.clock, name)(), may_raise=refusal)

    @rule(case=cases())
    def bad_argument(self, case):
        name, bad = case

        def attempt(s):
            return {
                "step": lambda: s.step(bad),
                "advance": lambda: s.advance(bad),
                "dt": lambda: setattr(s, "dt", bad),
                "restore": lambda: s.restore(bad),
                "record": lambda: s.record(bad),
                "every": lambda: s.record(3, bad),
                "alpha": lambda: s.interpolate(bad) if bad is not None else s.interpolate("x"),
                "mode": lambda: s.interpolate(0.5, mode=bad),
                "shift": lambda: s.shift(bad),
                "hz": lambda: s.clock.set_hz(bad),
                "scale": lambda: setattr(s.clock, "scale", bad),
                "index": lambda: s.teleport(bad, "no place"),
            }[name]()

        for stepper in (self.twins.fast, self.twins.book):
            outcome(lambda stepper=stepper: stepper.clock)  # create the clock before: a refused call would do so, too
        self.twins.refuse(f"bad {name}", attempt)


class ODEMachine(Common):
    @initialize(seed=seeds)
    def make(self, seed):
        made = scenes.equations(seed)
        self.begin(lambda module: made(module.ODEStepper))

    @rule(case=cases().filter(lambda case: case[0] in ("step", "dt", "restore", "record", "every")))
    def bad_argument(self, case):
        name, bad = case

        def attempt(s):
            return {
                "step": lambda: s.step(bad),
                "dt": lambda: setattr(s, "dt", bad),
                "restore": lambda: s.restore(bad),
                "record": lambda: s.record(bad),
                "every": lambda: s.record(3, bad),
            }[name]()

        self.twins.refuse(f"bad {name}", attempt)


def kicks(stepper, tick):
    """Player inputs as a function of the tick only."""
    if tick % 3 == 1:
        stepper.velocity[tick % stepper.n] += 0.125 * (tick % 5 - 2)


class RollbackMachine(StepperMachine):
    """State machine with a Rollback; `ring` is its expected content: the snapshot of each tick."""

    @initialize(room=st.integers(1, 6))
    def remember(self, room):
        self.room, self.ring, self.past = room, {}, None

    def pasts(self):
        # Copies and new steppers have no Rollback yet.
        steppers = (self.twins.fast, self.twins.book)
        if self.past is None or any(p.stepper is not s for p, s in zip(self.past, steppers, strict=True)):
            self.past, self.ring = [kd.Rollback(stepper, self.room) for stepper in steppers], {}
        return self.past

    def with_past(self, name, operation, may_raise=()):
        fast, book = self.pasts()
        result = self.twins.do(name, lambda s: operation(fast if s is self.twins.fast else book), may_raise=may_raise)
        same(f"{name}: ticks", fast.ticks, book.ticks)
        return result

    def keep(self, tick, snapshot):
        # After a restore to an earlier tick, later ticks are dropped.
        self.ring = {saved: state for saved, state in self.ring.items() if saved < tick}
        self.ring[tick] = snapshot
        while len(self.ring) > self.room:
            del self.ring[next(iter(self.ring))]

    @rule()
    def save(self):
        self.pasts()
        self.keep(self.twins.fast.tick, self.twins.fast.snapshot())
        self.with_past("save", lambda past: past.save())
        same("the ring", self.past[0].ticks, list(self.ring))

    @rule(n=st.integers(1, 4))
    def save_and_step(self, n):
        for _ in range(n):
            self.save()
            self.step(1)

    @rule(which=st.integers(0, 9))
    def rollback(self, which):
        self.pasts()
        if self.ring:
            tick = list(self.ring)[which % len(self.ring)]
            clock = self.twins.fast._clock
            counted = None if clock is None else clock.tick
            self.with_past("rollback", lambda past: past.rollback(tick))
            same("rolled back", without_clock(self.twins.fast.snapshot()), without_clock(self.ring[tick]))
            check(clock is None or clock.tick == counted, "rollback: real time went back")
            self.ring = {saved: snapshot for saved, snapshot in self.ring.items() if saved <= tick}
            same("the ring after a rollback", self.past[0].ticks, list(self.ring))

    @rule(n=st.integers(0, 5), inputs=st.sampled_from([None, kicks]))
    def resimulate(self, n, inputs):
        """Compare with a third stepper that makes single steps."""
        self.pasts()
        start = self.twins.fast.snapshot()
        clock = self.twins.fast._clock
        model = copy.deepcopy(self.twins.fast)
        end = self.twins.fast.tick + n
        result = self.with_past("resimulate", lambda past: past.resimulate(end, inputs), may_raise=SOLVING)
        if result is not None and result[0] == "returned" and (clock is None or clock.substeps == 1):
            same("a copy", without_clock(model.snapshot()), without_clock(start))
            for tick in range(model.tick, end):
                self.keep(tick, model.snapshot())
                if inputs is not None:
                    inputs(model, tick)
                model.step()
            same("resimulated", without_clock(self.twins.fast.snapshot()), without_clock(model.snapshot()))
            same("the ring after resimulation", self.past[0].ticks, list(self.ring))
        else:
            self.past = None  # restart

    @rule(frames=st.integers(0, 4), distance=st.integers(1, 3), inputs=st.sampled_from([None, kicks]))
    def sync_test(self, frames, distance, inputs):
        # A step counted by `single_step` is run first: resimulated, it would have the snapshot's dt, not the clock's.
        self.twins.do("owed", lambda s: s.step(0 if s._clock is None else 1), may_raise=SOLVING)
        self.twins.do("sync_test", lambda s: kd.sync_test(s, frames, distance, inputs), may_raise=SOLVING)

    @rule(bad=st.sampled_from([-1, 10**9, None, "1", 0.5]))
    def no_such_tick(self, bad):
        self.pasts()
        if bad not in self.ring:
            fast, book = self.past
            self.twins.refuse("bad rollback", lambda s: (fast if s is self.twins.fast else book).rollback(bad))


def as_they_come():
    """Do not shrink findings, which takes minutes."""
    global SETTINGS
    SETTINGS = hypothesis.settings(SETTINGS, phases=[hypothesis.Phase.generate])


def run(machine, seed, examples):
    # A new class, because hypothesis stores the seed in it.
    machine = hypothesis.seed(seed)(type(machine.__name__, (machine,), {}))
    run_state_machine_as_test(machine, settings=hypothesis.settings(SETTINGS, max_examples=examples))


def stepper(seed, examples=25):
    run(StepperMachine, seed, examples)


def ode(seed, examples=25):
    run(ODEMachine, seed, examples)


def rollback(seed, examples=25):
    run(RollbackMachine, seed, examples)
