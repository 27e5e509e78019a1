"""Loops over the steps of a frame: `ticks` and similar loops step and interpolate like `advance`."""

import gc
import itertools

import numpy as np
import pytest

import kickdrift as kd

FRAMES = [0.04, 0.001, 0.0, 0.02, 0.09, 0.016, 0.017, 0.3, 0.01, 1 / 60, 1 / 60]
CLOCKS = [
    {},
    {"substeps": 3},
    {"policy": "match"},
    {"policy": "locked(2)"},
    {"policy": "variable(0.1)"},
    {"max_steps": 2, "overload": "backlog(3)"},
    {"max_steps": 2, "overload": "resync"},
    {"overload": "budget(10)"},
    {"carry": False, "substeps": 2, "scale": 0.7},
]


def make(cls, **clock):
    forces = [kd.Gravity((0, -9.81)), kd.LinearDrag(0.2)]
    position = np.arange(6.0).reshape(3, 2)
    return cls(position, np.ones((3, 2)), forces=forces, clock=cls._clock_type(60, **clock))


def advanced(world, seconds):
    world.advance(seconds)


def ticked(world, seconds):
    for _ in world.ticks(seconds):
        pass


def stepped(world, seconds):
    for _ in world.clock.steps(seconds):
        world.step(world.clock.substeps)


def stepped_singly(world, seconds):
    for _ in world.clock.steps(seconds):
        for _ in range(world.clock.substeps):
            world.step()


def stepped_while(world, seconds):
    world.clock.feed(seconds)
    while world.clock.step():
        world.step(world.clock.substeps)


def stepped_by_count(world, seconds):
    for _ in range(world.clock.advance(seconds)):
        world.step(world.clock.substeps)


def stepped_at_once(world, seconds):
    world.step(world.clock.advance(seconds) * world.clock.substeps)


LOOPS = [ticked, stepped, stepped_singly, stepped_while, stepped_by_count, stepped_at_once]


def seen(world):
    clock = world.clock.state()._replace(due=0) if hasattr(world.clock.state(), "_replace") else world.clock.state()
    pictures = [world.interpolate(mode=mode).tolist() for mode in ("linear", "hermite", "extrapolate")]
    return world.tick, world.time, world.dt, world.checksum(), world.alpha, clock, pictures


@pytest.mark.parametrize("clock", CLOCKS, ids=str)
@pytest.mark.parametrize("loop", LOOPS)
def test_every_loop_equals_advance(Stepper, loop, clock):
    one, other = make(Stepper, **clock), make(Stepper, **clock)
    for frame in FRAMES:
        advanced(one, frame)
        loop(other, frame)
        assert seen(other) == seen(one)


def test_each_step_runs_after_the_loop_body(Stepper):
    world = make(Stepper)
    places = []
    for tick in world.ticks(0.05):
        assert tick == world.tick == world.clock.tick
        places.append(world.position[0, 0])
        world.velocity[0] = (60.0, 0.0)
    assert world.tick == world.clock.tick == 3
    assert places[0] == 0
    assert 0.9 < places[1] < 1.1
    # Interpolation starts at the position set by the loop body.
    world = make(Stepper)
    for _ in world.ticks(1.5 / 60):
        world.position[:] += 10
    assert (world.interpolate() > 10).all()


@pytest.mark.parametrize("way", ["break", "error", "dropped", "at once"])
def test_leaving_the_loop_early_leaves_the_remaining_steps_due(Stepper, way):
    world = make(Stepper)
    if way == "at once":
        world.ticks(0.05)
    elif way == "dropped":
        loop = world.ticks(0.05)
        next(loop)
        with pytest.raises(RuntimeError, match="inside a step"):
            world.advance(0.0)
        del loop
    else:
        try:
            for tick in world.ticks(0.05):
                if tick == 1:
                    if way == "break":
                        break
                    raise KeyError
        except KeyError:
            pass
    gc.collect()
    done = 1 if way in ("break", "error") else 0
    assert (world.tick, world.clock.tick) == (done, done)
    assert world.clock.backlog == 3 - done
    assert world.advance(0.0) == 3 - done
    assert world.tick == world.clock.tick == 3


def test_nested_frames_are_refused(Stepper):
    world = make(Stepper)

    def play(call):
        for _ in world.ticks(0.05):
            call(0.1)

    for call in (world.advance, world.ticks, world.clock.feed, world.clock.advance):
        with pytest.raises(RuntimeError, match="inside a step"):
            play(call)
    world = make(Stepper)
    loop, other = world.ticks(0.05), world.ticks(0.0)
    next(loop)
    with pytest.raises(RuntimeError, match="inside a step"):
        next(other)
    assert list(loop) == [1, 2]
    assert list(loop) == []
    assert list(other) == []
    assert world.tick == world.clock.tick == 3


@pytest.mark.parametrize("frame", [-1.0, np.nan, "1"])
def test_invalid_seconds_are_refused_when_the_loop_is_created(Stepper, frame):
    world = make(Stepper)
    with pytest.raises((TypeError, ValueError), match="seconds"):
        world.ticks(frame)
    assert (world.tick, world.clock.fed_ns) == (0, 0)


def test_ticks_creates_a_missing_clock(Stepper):
    world = Stepper([[0.0]], [[1.0]], dt=1 / 60)
    assert list(world.ticks(0.05)) == [0, 1, 2]
    assert world.clock.tick == 3


def test_after_an_error_in_a_loop_clock_and_stepper_agree(Stepper):
    world = make(Stepper)

    def play():
        for tick in world.ticks(0.1):
            if tick == 2:
                world.velocity[0] = np.inf

    with pytest.raises(kd.NonFiniteError):
        play()
    assert world.clock.tick == world.tick == 3
    world.velocity[0], world.position[0] = 0, 0
    assert world.advance(0.0) == 3


def test_resync_in_the_loop_keeps_the_current_step_only(Stepper):
    world = make(Stepper)
    for _ in world.ticks(0.1):
        world.clock.resync()
    assert (world.tick, world.clock.tick, world.clock.backlog) == (1, 1, 0)
    for _ in world.ticks(0.05):
        world.clock.resync()
        break
    assert world.clock.backlog == 1
    assert world.advance(0.0) == 1


def test_clock_changes_in_the_loop_apply_from_the_next_frame(Stepper):
    world = make(Stepper)
    for _ in world.ticks(0.05):
        world.clock.hz = 120
        assert world.dt == 1 / 60
    assert world.time == 0.05
    assert len(list(world.ticks(0.05))) == 6
    assert world.time == pytest.approx(0.1)
    assert world.dt == 1 / 120


def test_restore_in_the_loop(Stepper):
    world = make(Stepper)
    saved = world.snapshot()
    for _ in world.ticks(0.02):
        world.restore(saved)
    assert world.tick == 1


def test_a_budget_stops_the_loop(Stepper, monkeypatch):
    import time

    now = itertools.count(0, 2_000_000)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(now))
    world = make(Stepper, overload="budget(0.004)")
    assert len(list(world.ticks(5.5 / 60))) == 2
    assert world.tick == world.clock.tick == 2
    assert world.clock.dropped_steps == 3


def test_ticks_agree_with_the_reference(isa):
    one, other = make(kd.Stepper, substeps=2), make(kd.reference.Stepper, substeps=2)
    for number, frame in enumerate(FRAMES):
        for world in (one, other):
            for tick in world.ticks(frame):
                world.velocity[number % 3] += 0.1 * tick
                if number == 4 and tick % 4 == 2:
                    break
        assert seen(one) == seen(other)


def test_part_of_a_frame_in_a_clock_loop_is_interpolated(Stepper):
    """Only some of the steps that the clock counted have run."""
    world, twin = make(Stepper), make(Stepper)
    for number, _ in enumerate(world.clock.steps(3.5 / 60)):
        if number == 1:
            break
        world.step()
    twin.step()
    moved = twin.position.copy()
    assert world.position.tolist() == moved.tolist()
    start = np.arange(6.0).reshape(3, 2)
    assert world.interpolate(0.0).tolist() == start.tolist()
    # Steps beyond the counted ones do not belong to the frame, nor to the next one.
    world.step(2)
    world.step()
    assert world.interpolate(0.0).tolist() == world.position.tolist()
    world.clock.advance(0.02)
    world.clock.advance(0.0)
    world.step()
    assert world.interpolate(0.0).tolist() == world.position.tolist()


def test_loops_over_an_unrelated_clock_are_not_interpolated(Stepper):
    world, clock = make(Stepper), Stepper._clock_type(60)
    for _ in clock.steps(0.02):
        world.step()
    assert world.interpolate(0.5).tolist() == world.position.tolist()


def test_resimulate_in_a_clock_loop_is_interpolated(Stepper):
    world, twin = make(Stepper), make(Stepper)
    past = kd.Rollback(world, 4)
    for frame in FRAMES[:5]:
        for _ in world.clock.steps(frame):
            past.resimulate(world.tick + 1)
        twin.advance(frame)
        assert seen(world) == seen(twin)
        assert world.clock._handed == 0 if hasattr(world.clock, "_handed") else True


@pytest.mark.parametrize("clocked", [False, True])
def test_the_same_dt_again_changes_nothing(Stepper, clocked):
    how = {"clock": Stepper._clock_type(60, substeps=2)} if clocked else {"hz": 120}
    world = Stepper([[0.0]], [[1.0]], integrator="verlet", **how)
    world.step(3)
    saved = world.snapshot()
    world.dt = world.dt
    assert world.snapshot() == saved
    if clocked:
        world.clock.hz = 30
        world.dt = 1 / 120  # set back before a step has adopted the clock's rate
        assert world.clock.hz == 60


def test_negative_dt_beside_a_clock_is_refused(Stepper):
    world = Stepper([[0.0]], [[1.0]], clock=Stepper._clock_type(60))
    with pytest.raises(ValueError, match=r"dt: expected a positive number beside a clock, got -0.25"):
        world.dt = -0.25
    assert world.dt == 1 / 60
