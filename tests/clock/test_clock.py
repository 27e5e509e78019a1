"""Behaviour of the clock, case by case, on both implementations. Time is passed in, tests never sleep."""

import array
import copy
import json
import math
import pickle
import re
import time
import warnings
from fractions import Fraction

import numpy as np
import pytest

import kickdrift as kd
import kickdrift.clock
import kickdrift.reference.clock
from kickdrift.clock import options
from kickdrift.errors import KickdriftError, OverloadError

#: Frames of many seconds are intended here: silence their warning.
pytestmark = pytest.mark.filterwarnings("ignore:seconds. expected the time of a frame")

NANO = 10**9
POLICIES = re.escape(", ".join(cls().text for cls in options.POLICIES.values()))


@pytest.fixture(scope="session", params=[kickdrift.reference.clock, kickdrift.clock], ids=["reference", "compiled"])
def FixedClock(request):  # noqa: N802
    return request.param.FixedClock


# --- construction ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "hz"),
    [
        ({}, 60),
        ({"hz": 144}, 144),
        ({"hz": 144.0}, 144),
        ({"hz": np.int32(50)}, 50),
        ({"hz": np.float32(60)}, 60),
        ({"hz": Fraction(60000, 1001)}, Fraction(60000, 1001)),
        ({"hz": "60000/1001"}, Fraction(60000, 1001)),
        ({"hz": 60000 / 1001}, Fraction(60000, 1001)),
        ({"hz": 59.94}, Fraction(2997, 50)),
        ({"hz": 1 / 3600}, Fraction(1, 3600)),
        ({"dt": 1 / 60}, 60),
        ({"dt": "1/60"}, 60),
        ({"dt": Fraction(1, 60)}, 60),
        ({"dt": 0.016}, Fraction(125, 2)),
        ({"dt": 1}, 1),
        ({"dt": 86400.0}, Fraction(1, 86400)),
        ({"dt": "1001/60000"}, Fraction(60000, 1001)),
        ({"hz": "59.94"}, Fraction(2997, 50)),
        ({"hz": 3.14159}, Fraction(314159, 100000)),
        ({"dt": 0.0123457}, Fraction(10**7, 123457)),
        ({"dt": 0.0166666666667}, 60),
        ({"hz": 10**6}, 10**6),
        ({"hz": 2**33}, 2**33),
        ({"dt": 2**27}, Fraction(1, 2**27)),
        ({"dt": 10**6}, Fraction(1, 10**6)),
    ],
    ids=repr,
)
def test_rates_are_exact_fractions(FixedClock, arguments, hz):
    clock = FixedClock(**arguments)
    assert clock.hz == hz
    assert isinstance(clock.hz, Fraction)
    assert clock.dt == clock.step_dt == float(1 / clock.hz)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"hz": 0}, ValueError, "hz: expected a finite number greater than 0, got 0"),
        ({"hz": -60.0}, ValueError, "hz: expected a finite number greater than 0, got -60.0"),
        ({"dt": 0.0}, ValueError, "dt: expected a finite number greater than 0"),
        ({"hz": float("nan")}, ValueError, "hz: expected a finite number greater than 0, got nan"),
        ({"hz": Fraction(0)}, ValueError, "hz: expected a positive number"),
        ({"hz": True}, TypeError, "hz: expected a real number, got True"),
        ({"hz": None, "dt": []}, TypeError, "dt: expected a real number"),
        ({"hz": 60, "dt": 1}, TypeError, "dt, hz: expected one of the two"),
        ({"hz": "sixty"}, ValueError, "hz: expected a number or string such as"),
        ({"hz": "1/0"}, ValueError, "hz: expected a number or string such as"),
        ({"hz": 2**34}, ValueError, "denominator of at most 8,589,934,592, got 17179869184"),
        ({"dt": 2**27 + 1}, ValueError, "numerator of at most 134,217,728 and a denominator of"),
        ({"hz": 1e-30}, ValueError, "numerator of at most 134,217,728"),
        ({"dt": 1e-15}, ValueError, "denominator of at most 8,589,934,592"),
        ({"policy": "fast"}, ValueError, f"policy: expected one of {POLICIES}, got"),
        ({"policy": "match(2)"}, ValueError, "policy: expected one of"),
        ({"policy": "locked(0)"}, ValueError, r"policy locked\(...\): expected an int of at least 1, got 0"),
        ({"policy": "locked(1.5)"}, ValueError, r"policy locked\(...\): expected a number"),
        ({"policy": kd.Locked(9)}, ValueError, r"max_steps: expected at least as many as policy locked\(9\) runs"),
        ({"policy": "locked(9)"}, ValueError, "max_steps: expected at least as many"),
        ({"policy": ("variable", -1)}, ValueError, r"policy variable\(...\): expected"),
        ({"policy": 3}, TypeError, "policy: expected a string or a pair"),
        ({"overload": "panic"}, ValueError, "overload: expected one of drop, backlog"),
        ({"overload": "budget(soon)"}, ValueError, r"overload budget\(...\): expected a number"),
        ({"max_steps": 0}, ValueError, "max_steps: expected an int of at least 1, got 0"),
        ({"max_steps": 2.0}, TypeError, "max_steps: expected an int, got 2.0"),
        ({"max_frame": 0}, ValueError, "max_frame: expected"),
        ({"scale": 1001}, ValueError, "scale: expected a finite number from 0 to 1000, got 1001"),
        ({"scale": -0.1}, ValueError, "scale: expected a finite number from 0 to 1000"),
        ({"substeps": 0}, ValueError, "substeps: expected an int of at least 1"),
        ({"carry": 1}, TypeError, "carry: expected True or False, got 1"),
        ({"slack": 0.6}, ValueError, "slack: expected a finite number from 0 to 0.5"),
        ({"tolerance": "0"}, TypeError, "tolerance: expected a real number"),
        ({"phase": 1.0}, ValueError, "phase: expected a number below 1"),
        ({"phase": 0.5, "policy": "variable"}, ValueError, "phase: expected 0 under policy"),
        ({"hz": 10**6, "max_frame": 1e5}, ValueError, "together fit into 64 bits"),
        ({"dt": 10**6, "max_steps": 10**4}, ValueError, "together fit into 64 bits"),
        ({"max_steps": 10**30}, ValueError, "together fit into 64 bits"),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_refused_arguments(FixedClock, arguments, error, message):
    with pytest.raises(error, match=message):
        FixedClock(**arguments)


def test_options_as_text_or_pairs(FixedClock):
    assert FixedClock(policy=("locked", 2)).policy == FixedClock(policy=" locked( 2 )").policy == "locked(2)"
    assert FixedClock(policy="variable").policy == "variable(0.1)"
    assert FixedClock(overload=("budget", 0.004)).overload == "budget(0.004)"
    assert FixedClock(overload="backlog").overload == "backlog(60)"


OPTIONS = [
    # columns: argument, instance, string, pair, normalized string
    ("policy", kd.ExactSteps(), "exact", ("exact", None), "exact"),
    ("policy", kd.Match(), "match", ("match", None), "match"),
    ("policy", kd.Locked(), "locked", ("locked", 1), "locked(1)"),
    ("policy", kd.Locked(2), "locked(2)", ("locked", np.int8(2)), "locked(2)"),
    ("policy", kd.Variable(), "variable", ("variable", Fraction(1, 10)), "variable(0.1)"),
    ("policy", kd.Variable(max_dt=0.05), "variable(0.05)", ("variable", 0.05), "variable(0.05)"),
    ("overload", kd.Drop(), "drop", ("drop", None), "drop"),
    ("overload", kd.Backlog(), "backlog", ("backlog", 60), "backlog(60)"),
    ("overload", kd.Backlog(limit=5), "backlog(5)", ("backlog", 5), "backlog(5)"),
    ("overload", kd.Resync(), "resync", ("resync", None), "resync"),
    ("overload", kd.Raise(), "raise", ("raise", None), "raise"),
    ("overload", kd.Budget(), "budget", ("budget", 0.004), "budget(0.004)"),
    ("overload", kd.Budget(0.01), "budget(0.01)", ("budget", np.float64(0.01)), "budget(0.01)"),
]


@pytest.mark.parametrize(("argument", "instance", "text", "pair", "said"), OPTIONS, ids=lambda value: repr(value))
def test_option_instances_equal_their_names(FixedClock, argument, instance, text, pair, said):
    clocks = [FixedClock(60, carry=False, **{argument: given}) for given in (instance, text, pair, said)]
    if instance == type(instance)():
        clocks.append(FixedClock(60, carry=False, **{argument: type(instance)}))
    seen = []
    for clock in clocks:
        assert getattr(clock, argument) == said
        made = []
        for frame in (0.02, 0.031, 0.2, 0.001, 0.05):
            try:
                made.append((clock.advance(frame), clock.alpha, clock.step_dt))
            except OverloadError as error:
                made.append(error.steps)
        seen.append((made, clock.state(), repr(clock)))
    assert all(one == seen[0] for one in seen)
    restored = pickle.loads(pickle.dumps(clocks[0]))
    assert (getattr(restored, argument), restored.state()) == (said, clocks[0].state())
    clocks[1].load(restored.state())


@pytest.mark.parametrize("option", [row[1] for row in OPTIONS], ids=repr)
def test_options_have_value_semantics(option):
    assert eval(repr(option), vars(kd)) == option == copy.deepcopy(option) == pickle.loads(pickle.dumps(option))
    assert hash(option) == hash(copy.copy(option))
    assert len({option, *(row[1] for row in OPTIONS)}) == len(OPTIONS)
    with pytest.raises(AttributeError):
        option.steps = 3


def test_option_values_are_normalized_exactly():
    assert kd.Budget(Fraction(1, 250)) == kd.Budget(0.004) == kd.Budget(np.float64(0.0040000000001))
    assert repr(kd.Locked(np.int64(3))) == "Locked(steps=3)"
    assert repr(kd.Variable(np.float32(0.25))) == "Variable(max_dt=0.25)"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: kd.Locked(0), ValueError, r"^Locked\(steps\): expected an int of at least 1, got 0"),
        (lambda: kd.Locked(1.5), TypeError, r"^Locked\(steps\): expected an int, got 1.5"),
        (lambda: kd.Locked(10**5000), ValueError, r"^Locked\(steps\): expected an int of at most"),
        (lambda: kd.Variable(-1), ValueError, r"^Variable\(max_dt\): expected a finite number from"),
        (lambda: kd.Variable(math.nan), ValueError, r"^Variable\(max_dt\): expected a finite number from"),
        (lambda: kd.Variable("0.1"), TypeError, r"^Variable\(max_dt\): expected a real number, got '0.1'"),
        (lambda: kd.Backlog(True), TypeError, r"^Backlog\(limit\): expected an int, got True"),
        (lambda: kd.Budget(0), ValueError, r"^Budget\(seconds\): expected a finite number from"),
    ],
)
def test_refused_options(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_options_of_the_wrong_kind_are_refused_with_the_known_ones(FixedClock):
    policies, rules = (
        re.escape(", ".join(repr(cls()) for cls in known.values())) for known in (options.POLICIES, options.OVERLOADS)
    )
    for given in kd.Drop(), kd.Drop, kd.Exact(), kd.Exact, None, ("locked", 1, 2):
        with pytest.raises(TypeError, match=rf"^policy: expected a string or a pair .*{policies}, got "):
            FixedClock(policy=given)
    for given in kd.Locked(2), kd.Match, kd.Exact(), None:
        with pytest.raises(TypeError, match=rf"^overload: expected a string or a pair .*{rules}, got "):
            FixedClock(overload=given)
    with pytest.raises(ValueError, match=f"^policy: expected one of {POLICIES}, got"):
        FixedClock(policy="drop")


def test_fields_of_a_modified_frozen_option_are_validated(FixedClock):
    forged = kd.Locked(2)
    object.__setattr__(forged, "steps", -2)
    with pytest.raises(ValueError, match=r"^policy locked\(...\): expected an int of at least 1, got -2"):
        FixedClock(policy=forged)


def test_an_option_without_an_implementation_is_an_import_error():
    from kickdrift.declaration import require_entries

    for known in options.POLICIES, options.OVERLOADS:
        require_entries("clock", known, known)
        for rules in list(known)[1:], [*known, "another"]:
            with pytest.raises(ImportError, match=f"^clock: expected an entry for each of {', '.join(known)}, got "):
                require_entries("clock", rules, known)


def test_repr(FixedClock):
    clock = FixedClock(60, policy="match")
    clock.advance_ns(50_000_000)
    clock.pause()
    assert repr(clock) == "<FixedClock at 60 Hz, match, drop, tick 3, alpha 0.000, paused>"


# --- feeding time ------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.25, np.float64(0.25), np.float32(0.25), np.float16(0.25), Fraction(1, 4)])
def test_seconds_of_any_number_type(FixedClock, seconds):
    clock = FixedClock(60, max_steps=20)
    assert clock.advance(seconds) == 15
    assert clock.fed_ns == NANO // 4


def test_integers_of_any_type(FixedClock):
    clock = FixedClock(60)
    assert clock.advance(0) == clock.advance(-0.0) == clock.advance(np.uint8(0)) == 0
    assert clock.advance_ns(np.int64(50_000_000)) == clock.advance_ms(np.uint16(50)) == 3


def test_the_first_absolute_time_is_the_base(FixedClock):
    for policy in "exact", "match", "locked(2)", "variable":
        assert FixedClock(policy=policy).advance_to(10**18) == 0


def test_absolute_times_that_run_backwards(FixedClock):
    clock = FixedClock(60)
    assert [clock.advance_to(ms * 10**6) for ms in (1000, 1050, 20, 70, 70)] == [0, 3, 0, 3, 0]
    assert (clock.backwards, clock.tick, clock.fed_ns) == (1, 6, 10**8)


def test_a_long_pause_in_the_debugger_is_clamped(FixedClock):
    clock = FixedClock(60)
    clock.advance_to(0)
    assert clock.advance_to(3600 * NANO) == 8
    assert clock.clamped_ns == 3600 * NANO - NANO // 4
    assert clock.dropped_steps == 7
    assert clock.overloaded


def test_absolute_times_beyond_64_bits_are_refused(FixedClock):
    clock = FixedClock(60)
    for bad in 2**62, -(2**62), 10**30:
        with pytest.raises(ValueError, match=r"now_ns: expected an int of at (most|least)"):
            clock.advance_to(bad)
    assert clock.advance_to(1 - 2**62) == 0
    assert clock.advance_to(2**62 - 1) == 8
    assert clock.fed_ns == 10**15


def test_feed_and_step(FixedClock):
    clock = FixedClock(60)
    assert clock.feed(0.05) == 3
    assert [(clock.step(), clock.tick) for _ in range(4)] == [(True, 1), (True, 2), (True, 3), (False, 3)]


def test_a_frame_without_steps_keeps_the_time(FixedClock):
    stalled, smooth = FixedClock(60), FixedClock(60)
    for frame in range(10):
        stalled.feed(0.02)
        while frame > 2 and stalled.step():
            pass
        smooth.advance(0.02)
    assert (stalled.tick, stalled.alpha) == (smooth.tick, smooth.alpha)


def test_leaving_a_loop_early_keeps_the_time(FixedClock):
    clock = FixedClock(60)
    for tick in clock.steps(0.1):
        if tick == 2:
            break
    assert (clock.tick, clock.backlog, clock.alpha) == (2, 4, 0.0)
    assert list(clock.steps(0.0)) == [3, 4, 5, 6]


def test_an_exception_in_a_step_leaves_a_consistent_clock(FixedClock):
    clock = FixedClock(60)

    def frame():
        for tick in clock.steps(0.1):
            assert tick < 3, "the third step fails"

    with pytest.raises(AssertionError, match="third"):
        frame()
    assert (clock.tick, clock.backlog) == (3, 3)
    assert clock.advance(0) == 3


@pytest.mark.parametrize(
    "operation",
    [
        lambda clock: clock.advance(0.1),
        lambda clock: clock.advance_ns(1),
        lambda clock: clock.advance_ms(1),
        lambda clock: clock.advance_to(1),
        lambda clock: clock.feed(0.1),
        lambda clock: clock.step(),
        lambda clock: clock.steps(0.1),
        lambda clock: clock.plan([0.1]),
        lambda clock: clock.single_step(),
    ],
)
def test_feeding_inside_a_step_is_refused(FixedClock, operation):
    clock = FixedClock(60)
    for _ in clock.steps(0.05):
        before = clock.state()
        with pytest.raises(RuntimeError, match="inside a step"):
            operation(clock)
        assert clock.state() == before
    assert clock.tick == 3


def test_settings_changed_inside_a_step_apply_from_the_next_frame(FixedClock):
    clock = FixedClock(60)
    for _ in clock.steps(0.05):
        clock.set_hz(120)
        clock.scale = 2
        clock.pause()
        assert clock.hz == 60
    assert (clock.tick, clock.hz) == (3, 120)
    assert clock.advance(0.05) == 0
    clock.resume()
    assert clock.advance(0.05) == 8


def test_settings_changed_between_steps_apply_from_the_next_frame(FixedClock):
    clock = FixedClock(60)
    clock.feed(0.05)
    clock.step()
    clock.hz = 30
    assert (clock.hz, clock.tick) == (60, 1)
    saved = json.loads(json.dumps(clock.state()))
    assert clock.feed(0.0) == 1
    assert (clock.hz, clock.time_exact) == (30, Fraction(1, 60))
    clock.load(saved)
    assert clock.feed(0.0) == 1


# --- policies ----------------------------------------------------------------------------------


def test_locked_ignores_time(FixedClock):
    clock = FixedClock(60, policy="locked(3)", max_frame=0.01)
    assert [clock.advance(seconds) for seconds in (0, 0.01, 5)] == [3, 3, 3]
    assert (clock.time, clock.clamped_ns, clock.overloaded) == (0.15, 0, False)


def test_variable_steps_have_the_measured_length(FixedClock):
    clock = FixedClock(60, policy="variable(0.1)", substeps=2)
    assert not clock.deterministic
    assert clock.step_dt == 1 / 60
    assert [clock.advance(seconds) for seconds in (0.01, 0.03, 0, 0.2)] == [1, 1, 0, 1]
    assert (clock.step_dt, clock.substep_dt) == (0.1, 0.05)
    assert (clock.tick, clock.time, clock.dropped) == (3, 0.14, 6)
    assert clock.overloaded


def test_substeps(FixedClock):
    clock = FixedClock(60, substeps=4)
    assert clock.advance(0.05) == 3
    assert (clock.substeps, clock.substep_dt) == (4, 1 / 240)


def test_without_carry_the_remainder_is_dropped(FixedClock):
    clock = FixedClock(60, carry=False)
    assert [clock.advance_ms(25) for _ in range(4)] == [1, 1, 1, 1]
    assert (clock.dropped, clock.dropped_steps, clock.alpha) == (2, 2, 0.0)
    assert not clock.overloaded


def test_phase_sets_the_initial_alpha(FixedClock):
    clock = FixedClock(60, phase=0.5)
    assert clock.alpha == 0.5
    assert [clock.advance_ns(8_333_334), clock.tick] == [1, 1]


def test_match_runs_one_step_per_frame_of_a_noisy_display(FixedClock):
    """A 60 Hz display with noise of 50 microseconds: one step in each of 36,000 frames."""
    n = 36_000 if FixedClock is kickdrift.clock.FixedClock else 2_000
    stamps = np.arange(n + 1) / 60 + np.random.default_rng(1).normal(0, 50e-6, n + 1)
    counts, _ = FixedClock(60, policy="match").plan(np.diff(stamps))
    assert (counts == 1).all()
    counts, _ = FixedClock(60).plan(np.diff(stamps))
    assert 0.4 < (counts == 1).mean() < 0.6


# --- overload ----------------------------------------------------------------------------------


def test_drop_overload(FixedClock):
    clock = FixedClock(60)
    clock.advance_ms(5)
    assert (clock.advance_ms(250), clock.dropped_steps, clock.alpha) == (8, 7, 0.3)


def test_backlog_overload(FixedClock):
    clock = FixedClock(60, overload="backlog(5)")
    assert clock.advance_ms(250) == 8
    assert (clock.backlog, clock.dropped_steps) == (5, 2)
    assert [clock.advance_ms(50), clock.backlog, clock.advance_ms(0)] == [8, 0, 0]


def test_resync_overload(FixedClock):
    clock = FixedClock(60, overload="resync")
    assert (clock.advance_ms(245), clock.dropped, clock.alpha) == (0, Fraction(147, 10), 0.0)
    assert clock.advance_ms(50) == 3


def test_raise_overload(FixedClock):
    clock = FixedClock(60, overload="raise")
    clock.advance_to(0)
    clock.advance(0.0123)
    before = clock.state()
    for refused in lambda: clock.advance(0.25), lambda: clock.advance_to(NANO), lambda: clock.steps(0.25):
        with pytest.raises(OverloadError, match="15 steps are due") as caught:
            refused()
        assert (caught.value.args, caught.value.steps) == ((15,), 15)
        assert isinstance(caught.value, KickdriftError)
        assert clock.state() == before
    clock.resync()
    assert clock.advance_to(2 * NANO) == 0


def test_budget_overload(FixedClock, monkeypatch):
    now = 0
    monkeypatch.setattr(time, "perf_counter_ns", lambda: now)
    clock = FixedClock(60, overload="budget(0.004)")
    assert clock.advance(0.25) == 8
    assert clock.dropped_steps == 7
    ticks = []
    for tick in clock.steps(0.1):
        ticks.append(tick)
        now += 1_500_000
    assert ticks == [9, 10, 11]
    assert (clock.dropped_steps, clock.backlog, clock.overloaded) == (10, 0, True)
    clock.feed(0.05)
    now += 10**9  # the budget measures the steps only, not the time before them
    assert clock.step()
    now += 10**9
    assert not clock.step()
    assert clock.tick == 12


def test_overloaded_lasts_for_a_second_of_fed_time(FixedClock):
    clock = FixedClock(60)
    assert not clock.overloaded
    clock.advance(1)
    for _ in range(99):
        clock.advance_ms(10)
        assert clock.overloaded
    clock.advance_ms(10)
    assert not clock.overloaded


def test_resync_drops_waiting_time(FixedClock):
    clock = FixedClock(60)
    clock.advance_to(0)
    clock.advance_to(10_000_000)
    clock.resync()
    assert (clock.alpha, clock.dropped) == (0.0, Fraction(6, 10))
    assert clock.advance_to(10**12) == 0
    for _ in clock.steps(0.05):
        clock.resync()
    assert (clock.tick, clock.dropped_steps) == (1, 2)


# --- pause, scale, rate, tick ------------------------------------------------------------------


def test_single_step(FixedClock):
    clock = FixedClock(60)
    clock.advance(0.02)
    with pytest.raises(RuntimeError, match="needs a paused clock"):
        clock.single_step()
    clock.pause()
    alpha = clock.alpha
    assert [clock.advance(0.1), clock.single_step(), clock.advance(0.1)] == [0, 1, 0]
    assert (clock.paused, clock.tick, clock.alpha, clock.paused_ns) == (True, 2, alpha, 2 * 10**8)


def test_single_step_of_variable_is_dt(FixedClock):
    clock = FixedClock(10, policy="variable")
    clock.advance(0.02)
    clock.pause()
    clock.single_step()
    assert (clock.step_dt, clock.time_exact) == (0.1, Fraction(12, 100))


@pytest.mark.parametrize("twin", [kd, kd.reference])
@pytest.mark.parametrize("policy", ["variable(0.05)", "exact", "locked(4)"])
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda world: pickle.loads(pickle.dumps(world))])
def test_copies_contain_the_steps_still_to_be_run(twin, policy, way):
    """Copies include steps that are counted but not yet run: one of single_step(), then those of a frame."""
    world = twin.Stepper([[0.0]], [[1.0]], clock=twin.FixedClock(60, policy=policy, substeps=2))
    world.advance(0.034)
    world.clock.pause()
    world.clock.single_step()
    for count in (lambda: 1, lambda: world.clock.advance(0.041)):
        count = count()
        copied = way(world)
        for each in (world, copied):
            each.step(2 * count)
        assert copied.snapshot() == world.snapshot()
        assert copied.interpolate(0.25) == world.interpolate(0.25)
        world.clock.resume()


@pytest.mark.parametrize("scale", [0, 0.5, 1, 1 / 3, 2.5, 1000])
def test_scale_has_no_accumulated_rounding_error(FixedClock, scale):
    clock = FixedClock(1000, scale=scale, max_steps=10**6)
    for _ in range(1000):
        clock.advance_ns(1_000_001)
    quantised = Fraction(round(scale * 2**20), 2**20)
    assert clock.scale == quantised
    assert clock.tick == 1_000_001_000 * quantised // 10**6
    assert clock.dt == 0.001


def test_a_scale_that_could_overflow_is_refused(FixedClock):
    clock = FixedClock(10**6, max_frame=1000)
    before = clock.state()
    with pytest.raises(ValueError, match="together fit"):
        clock.scale = 1000
    with pytest.raises(ValueError, match="scale: expected"):
        clock.scale = float("nan")
    assert clock.state() == before


def test_time_is_continuous_when_the_rate_changes(FixedClock):
    clock = FixedClock(60)
    clock.advance_ms(95)
    assert (clock.tick, clock.alpha) == (5, 0.7)
    clock.hz = "120"
    assert (clock.time_exact, clock.backlog, clock.alpha) == (Fraction(5, 60), 1, 0.4)
    assert clock.advance_ms(0) == 1
    assert clock.time_exact == Fraction(5, 60) + Fraction(1, 120)
    clock.set_hz(30, keep="fraction")
    assert clock.alpha == 0.4


@pytest.mark.parametrize("bad", [{"hz": 0}, {"hz": True}, {"hz": 60, "keep": "both"}, {"hz": 60, "keep": None}])
def test_refused_changes_of_rate(FixedClock, bad):
    clock = FixedClock(50)
    before = clock.state()
    with pytest.raises((TypeError, ValueError)):
        clock.set_hz(**bad)
    assert clock.state() == before


def test_set_tick(FixedClock):
    clock = FixedClock(60)
    clock.advance(0.11)
    alpha = clock.alpha
    clock.set_tick(2)
    assert (clock.tick, clock.alpha, clock.time) == (2, alpha, 2 / 60)
    for bad in -1, 2**62:
        with pytest.raises(ValueError, match="t: expected an int of at"):
            clock.set_tick(bad)


# --- saving ------------------------------------------------------------------------------------


def test_refused_states(FixedClock):
    clock = FixedClock(60)
    clock.advance(0.05)
    good = clock.state()
    bad = [
        {"version": 2}, {"policy": "match"}, {"num": 0}, {"num": 1.5}, {"num": 120, "den": 2}, {"den": 2**27 + 1},
        {"tick": 2**63}, {"acc": 2**61}, {"acc": NANO}, {"due": 9}, {"backlog": -1}, {"scale": 2**40},
        {"scale_rest": 2**20}, {"float_rest": float("nan")}, {"float_rest": 1.0}, {"paused": 2}, {"step_ns": 5},
        {"origin_den": 0}, {"next_num": 1}, {"next_num": 2, "next_den": 2}, {"dropped_rest": 10**9}, {"quiet_ns": -1},
        {"due": 5, "backlog": 5}, {"step_ns": 0},
    ]  # fmt: skip
    for change in bad:
        with pytest.raises((TypeError, ValueError), match="state"):
            clock.load(good._replace(**change))
        assert clock.state() == good
    for wrong in "state", None, (), good[1:]:
        with pytest.raises((TypeError, ValueError), match="state: expected"):
            clock.load(wrong)


@pytest.mark.parametrize("policy", ["exact", "match", "locked(2)", "variable(0.1)"])
def test_a_refused_state_leaves_the_clock_unchanged(FixedClock, policy):
    """load() accepts a whole state or nothing: each field is tried at and beyond its limits, and with other types."""
    clock = FixedClock(60, policy=policy)
    clock.advance(0.05)
    good = clock.state()
    ends = [1 << bits for bits in (20, 27, 30, 33, 53, 61, 62, 63, 64, 1100, 1300, 20_000)]
    values = [sign * (end + by) for end in ends for sign in (1, -1) for by in (-1, 0, 1)]
    others = [0, 1, 2, -1, 0.5, math.inf, -math.inf, math.nan, True, np.True_, None, "1", [1], np.float64(3)]
    taken = 0
    for name in good._fields:
        for value in values + others:
            try:
                clock.load(good._replace(**{name: value}))
            except (TypeError, ValueError):
                assert clock.state() == good
            else:
                assert clock.state() == good._replace(**{name: value})
                [clock.advance(0.01) for _ in range(3)]
                json.dumps(clock.state())
                clock.load(good)
                taken += 1
    assert taken > 50


def test_numpy_integers_are_accepted_in_a_state(FixedClock):
    clock = FixedClock(60)
    clock.advance(0.05)
    state = clock.state()
    given = [np.int64(value) if isinstance(value, int) else value for value in state]
    clock.load(given)
    assert clock.state() == state
    assert {type(value) for value in clock.state()} == {int, float, str}


def test_a_state_of_maximal_counters_can_be_loaded(FixedClock):
    clock = FixedClock(60)
    clock.load(clock.state()._replace(fed_ns=2**62 - 1, clamped_ns=2**62 - 1, tick=2**62 - 1))
    clock.advance(10**6)
    full = clock.state()
    assert full.fed_ns > 2**62
    clock.load(full)
    assert clock.state() == full


def test_huge_arguments_are_refused_quickly(FixedClock):
    begin = time.process_time()
    clock = FixedClock(60)
    rates = ["1e3000000", "1e-3000000", "1/" + "9" * 10**6, "9" * 10**6, "1e9_9999", "1e\uff1300000000"]
    rates += [Fraction(3**10**6, 7), 10**10**6]
    for rate in rates:
        for use in lambda rate: FixedClock(rate), lambda rate: FixedClock(dt=rate), clock.set_hz:
            with pytest.raises(ValueError, match=r"^(hz|dt): expected"):
                use(rate)
    for name, choice in ("policy", "locked"), ("overload", "backlog"):
        with pytest.raises(ValueError, match=rf"^{name} {choice}\(...\): expected an int of at most"):
            FixedClock(**{name: (choice, 10**5000)})
    for choice in "(" * 10**6, " " * 10**6, "locked" + " " * 10**6 + "x", "locked(" * 10**5 + ")" * 10**5:
        for name in "policy", "overload":
            with pytest.raises(ValueError, match=rf"^{name}( locked\(...\))?: expected") as refused:
                FixedClock(**{name: choice})
            assert len(str(refused.value)) < 300
    assert time.process_time() - begin < 5


def test_a_loaded_clock_starts_a_new_base_for_absolute_times(FixedClock):
    clock = FixedClock(60)
    clock.advance_to(0)
    clock.load(clock.state())
    assert clock.advance_to(NANO) == 0


# --- plan --------------------------------------------------------------------------------------


def test_plan_equals_advance(FixedClock):
    planned, stepped = FixedClock(60, policy="match"), FixedClock(60, policy="match")
    frames = np.random.default_rng(2).uniform(0, 0.4, 200)
    counts, alphas = planned.plan(frames)
    assert (counts.dtype, alphas.dtype) == (np.int64, np.float64)
    assert [(stepped.advance(seconds), stepped.alpha) for seconds in frames] == [
        *zip(counts.tolist(), alphas.tolist(), strict=True)
    ]
    assert planned.state() == stepped.state()


def test_plan_writes_to_given_arrays(FixedClock):
    counts, alphas = np.zeros(3, np.int64), array.array("d", [0.0] * 3)
    result = FixedClock(60).plan([0.05, 0, 1], counts, alphas)
    assert result[0] is counts
    assert counts.tolist() == [3, 0, 8]
    assert list(alphas) == result[1].tolist()
    assert [part.size for part in FixedClock(60).plan([])] == [0, 0]
    assert FixedClock(60).plan(np.array([0.1, 9.0, 0.1, 9.0], np.float32)[::2])[0].tolist() == [6, 6]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0.1, float("nan")],), ValueError, r"frame_times\[1\]: expected a finite number of at least 0, got nan"),
        (([0.1, 0.1, -1.0],), ValueError, r"frame_times\[2\]: expected a finite number of at least 0, got -1.0"),
        ((["0.1"],), TypeError, "frame_times: expected real numbers"),
        (([True],), TypeError, "frame_times: expected real numbers"),
        (([[0.1]],), ValueError, "frame_times: expected one dimension"),
        ((0.1,), ValueError, "frame_times: expected one dimension"),
        (([0.1], np.zeros(2, np.int64)), ValueError, r"counts: expected shape \(1,\), got \(2,\)"),
        (([0.1], np.zeros(1)), TypeError, "counts: expected dtype int64, got float64"),
        (([0.1], None, [0.0]), TypeError, "alphas: expected an array to write to, got list"),
        (([0.1] * 2, None, np.zeros(4)[::2]), ValueError, "alphas: expected a contiguous, aligned, writable array"),
        (
            ([0.1] * 2, None, np.zeros(17, np.uint8)[1:].view(np.float64)),
            ValueError,
            "alphas: expected a contiguous, aligned",
        ),
    ],
)
def test_refused_plans(FixedClock, arguments, error, message):
    clock = FixedClock(60)
    before = clock.state()
    with pytest.raises(error, match=message):
        clock.plan(*arguments)
    assert clock.state() == before


def test_plan_refuses_arrays_that_share_memory(FixedClock):
    """When alphas overwrote later frame times, frames of 3 3 3 3 steps came out as 3 0 0 0."""
    clock, memory = FixedClock(60), np.full(5, 0.05)
    numbers = np.zeros(4, np.int64)
    for counts, alphas in ((None, memory[1:]), (None, memory[:-1]), (numbers, numbers.view(np.float64))):
        with pytest.raises(ValueError, match="frame_times, counts, alphas: expected arrays of their own"):
            clock.plan(memory[:-1], counts, alphas)
    assert clock.fed_ns == 0
    assert (memory == 0.05).all()
    assert clock.plan(memory[:2], numbers[:2], memory[2:4])[0].tolist() == [3, 3]


def test_plan_stops_at_an_overload_error(FixedClock):
    clock = FixedClock(60, overload="raise")
    counts = np.full(3, -1, np.int64)
    with pytest.raises(OverloadError):
        clock.plan([0.05, 0.25, 0.05], counts)
    assert (counts.tolist(), clock.tick) == ([3, -1, -1], 3)
    assert clock.advance(0.05) == 3


@pytest.mark.parametrize("dt", [0.5, "1/3", 2, 1 / 60, 1000])
@pytest.mark.parametrize("scale", [1.0, 0.1, 7.0])
def test_frames_of_two_steps_are_not_clamped(FixedClock, dt, scale):
    clock = FixedClock(dt=dt, scale=scale)
    step = clock.dt / clock.scale
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [clock.advance(step) for _ in range(4)] == [1, 1, 1, 1]
        assert [clock.advance(2 * step) for _ in range(4)] == [2, 2, 2, 2]
        assert clock.clamped_ns == 0
        clock = FixedClock(dt=dt, scale=scale)
        clock.hz, clock.scale = clock.hz / 4, scale / 2
        two = math.ceil(2 * 10**9 / (clock.hz * Fraction(clock.scale)))  # whole nanoseconds
        assert clock.advance_ns(two) == 2
        again = pickle.loads(pickle.dumps(clock))
        assert (again.advance_ns(two), again.clamped_ns) == (2, 0)
    fast = FixedClock(60)
    assert (fast.advance(0.4), fast.clamped_ns) == (8, 150_000_000)


def test_a_frame_that_may_be_in_milliseconds_warns_once(FixedClock):
    clock = FixedClock(60)
    with pytest.warns(RuntimeWarning, match="frame in seconds, got 16.7, of which 0.25 count: divide milliseconds"):
        assert clock.advance(16.7) == 8
    clock.advance(16.7)  # once for each clock
    with pytest.warns(RuntimeWarning, match="got 17"):
        FixedClock(60).plan([0.01, 17.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paused = FixedClock(60)
        paused.pause()
        paused.advance(16.7)
        for fine in (
            FixedClock(60, max_frame=20),
            FixedClock(dt=10),
            FixedClock(60, policy="locked(2)"),
            FixedClock(60),
        ):
            fine.advance(1.0 if fine.max_steps == 8 and fine.hz == 60 and fine.policy == "exact" else 16.7)
        FixedClock(60).advance_ms(16_700)  # advance_ms() does not warn: its unit is explicit
