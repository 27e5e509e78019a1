"""Frames: due steps, interpolation, teleport and shifts of the origin."""

import numpy as np
import pytest
from plans import INTEGRATORS, assert_same_bits, held_scene, scene

import kickdrift as kd


@pytest.fixture
def FixedClock(Stepper):  # noqa: N802
    """Return the clock class of the stepper."""
    return Stepper._clock_type


FRAMES = {
    "steady": [1 / 60] * 90,
    "hitch": [1 / 60] * 20 + [0.2] + [1 / 144] * 60,
    "none and many": [0.001, 0.002, 0.11, 0.0, 0.05, 0.0001] * 8,
}


@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES)
def test_uniform_motion_is_drawn_one_step_late(Stepper, FixedClock, frames):
    """x = v t is drawn as v (t - dt) in every frame, where t is the total time fed."""
    body = Stepper([[0.0, 0.0]], [[3.0, -1.0]], clock=FixedClock(60, max_steps=100))
    fed = 0.0
    for frame in frames:
        body.advance(frame)
        fed += frame
        if body.tick:
            expected = np.array([3.0, -1.0]) * (fed - 1 / 60)
            for mode in ("linear", "hermite"):
                np.testing.assert_allclose(body.interpolate(mode=mode)[0], expected, rtol=0, atol=1e-8)
            ahead = body.interpolate(mode="extrapolate")[0]
            np.testing.assert_allclose(ahead, expected + np.array([3.0, -1.0]) / 60, rtol=0, atol=1e-8)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_frame_patterns_do_not_change_physics(isa, integrator):
    """Equal total times, split into different frames, lead to bitwise equal states at equal ticks."""
    drawn = scene(np.random.default_rng(5), integrator, n=20)
    drawn.arguments["dt"] = 1 / 64
    one, other = drawn.make(kd.Stepper), drawn.make(kd.Stepper, layout="component")
    checksums = {}
    for _ in range(128):
        one.advance(1 / 128)
        checksums[one.tick] = one.checksum()
    for pattern in (3 / 64, 1 / 256, 1 / 256, 1 / 128, 5 / 64, 0.0, 7 / 64):
        for _ in range(4):
            other.advance(pattern)
            if other.tick in checksums:
                assert other.checksum() == checksums[other.tick]
    assert other.tick == 64
    assert one.tick == 64


def test_compiled_frames_equal_the_reference(isa):
    rng = np.random.default_rng(7)
    for number in range(40):
        drawn = scene(rng, INTEGRATORS[number % len(INTEGRATORS)], n=5)
        if isinstance(drawn.arguments["integrator"], kd.ImplicitEuler):
            continue
        ours, book = drawn.make(kd.Stepper), drawn.make(kd.reference.Stepper)
        for frame in rng.uniform(0, 0.08, 6):
            assert ours.advance(frame) == book.advance(frame)
            assert ours.alpha == book.alpha
            for mode in ("linear", "hermite", "extrapolate"):
                for dtype in (None, np.float32, np.float64):
                    canvases = [None if dtype is None else np.empty((5, ours.dim), dtype) for _ in range(2)]
                    assert_same_bits(
                        ours.interpolate(out=canvases[0], mode=mode), book.interpolate(out=canvases[1], mode=mode)
                    )
        assert ours.checksum() == book.checksum()
        assert ours.snapshot() == book.snapshot()


def ending(stepper, seconds):
    """Return the result or exception of a frame, and the state after it."""
    try:
        end = stepper.advance(seconds)
    except kd.KickdriftError as error:
        end = type(error), str(error)
    return end, stepper.tick, stepper.clock.tick, stepper.force_evaluations, stepper.time


@pytest.mark.parametrize("seed", range(40))
def test_frames_equal_the_reference_during_changes_and_overflows(seed):
    """Counts, ticks, evaluations and tick ranges of errors are equal, while rates change and states overflow."""
    rng = np.random.default_rng(seed)
    drawn = (scene if seed % 2 else held_scene)(rng, INTEGRATORS[seed % len(INTEGRATORS)], n=3)
    settings = [{}, {"substeps": 3}, {"policy": "variable"}, {"policy": "locked(2)"}, {"overload": "drop"}][seed % 5]
    del drawn.arguments["dt"]
    ours, book = (drawn.make(module.Stepper, clock=module.FixedClock(60, **settings)) for module in (kd, kd.reference))
    for frame in rng.uniform(0, 0.12, 8):
        event = rng.integers(6)
        place = rng.integers(3)
        for one in (ours, book):
            if event == 0 and one.clock.deterministic:
                one.clock.hz = 60 + 5 * (one.clock.tick % 7)
            elif event == 1:
                one.velocity[place] = np.finfo(one.dtype).max
            elif event == 2:
                one.position[:], one.velocity[:] = drawn.position, drawn.velocity
                one.restart()
        assert ending(ours, float(frame)) == ending(book, float(frame))
        if np.isfinite(ours.position).all():
            assert_same_bits(ours.position, book.position)


def test_force_evaluations_of_a_long_call_after_a_change_of_dt(Stepper):
    """After a change of dt, the first step is a call of its own; the next step reuses its last evaluation."""
    stepper = Stepper([[1.0]], [[1.0]], dt=0.25, forces=[kd.AnchorSpring(1.0)])
    stepper.step(3)
    assert stepper.force_evaluations == 4
    stepper.dt = 0.5
    stepper.step(4)
    assert stepper.force_evaluations == 4 + 5
    stepper.dt = 4
    stepper.velocity[:] = np.finfo(float).max
    with pytest.raises(kd.NonFiniteError) as caught:
        stepper.step(5)
    assert (caught.value.first_tick, caught.value.last_tick, stepper.tick) == (7, 8, 8)


def test_the_previous_state_is_the_one_before_the_last_step(Stepper):
    ball = Stepper([[0.0]], [[1.0]], dt=0.25, forces=[kd.Gravity([-8.0])], integrator="semi_implicit_euler")
    twin = Stepper([[0.0]], [[1.0]], dt=0.25, forces=[kd.Gravity([-8.0])], integrator="semi_implicit_euler")
    assert ball.advance(0.25 * 0.9) == 0
    ball.clock.resync()
    # The clock clamps the frame to 0.25 s.
    assert ball.advance(0.25) == 1
    twin.step(1)
    assert ball.interpolate(0.0).tolist() == [[0.0]]
    assert ball.interpolate(1.0).tolist() == twin.position.tolist()
    before = twin.position.copy()
    assert ball.advance(0.2) == 0
    assert ball.interpolate(0.0).tolist() == [[0.0]]
    assert ball.advance(0.05) == 1
    assert ball.interpolate(0.0).tolist() == before.tolist()


@pytest.mark.parametrize("overload", ["drop", "budget(10)"])
def test_resync_inside_a_step_lets_the_running_steps_finish(Stepper, overload):
    def meddle(t, x, v, out):
        clock.resync()

    clock = Stepper._clock_type(10, overload=overload)
    ball = Stepper([[0.0]], [[1.0]], clock=clock, forces=[kd.Force(meddle, velocity_dependent=False)])
    done = 2 if overload == "drop" else 1  # with a budget, each step is a call of its own
    assert ball.advance(0.25) == done
    assert (ball.tick, clock.tick, clock.state().acc, clock.backlog) == (done, done, 0, 0)
    assert clock.dropped == 2.5 - done
    assert ball.advance(0.1) == 1


@pytest.mark.parametrize("overload", ["drop", "budget(10)"])
def test_a_clock_cannot_be_loaded_inside_a_step(Stepper, overload):
    def meddle(t, x, v, out):
        with pytest.raises(RuntimeError, match="inside a step"):
            clock.load(saved)

    clock = Stepper._clock_type(10, overload=overload)
    saved = clock.state()
    ball = Stepper([[0.0]], [[1.0]], clock=clock, forces=[kd.Force(meddle)])
    assert (ball.advance(0.25), clock.tick) == (2, 2)
    clock.load(saved)
    assert clock.tick == 0


@pytest.mark.parametrize("overload", ["drop", "budget(10)"])
def test_a_step_that_overflows_counts_for_the_clock_too(Stepper, overload):
    clock = Stepper._clock_type(1, max_frame=10, overload=overload)
    ball = Stepper([[1e308]], [[1e308]], clock=clock)
    with pytest.raises(kd.NonFiniteError):
        ball.advance(4)
    assert clock.tick == ball.tick
    assert clock.backlog == 4 - ball.tick


def test_frames_stay_within_the_range_of_ticks(Stepper):
    world = Stepper(np.zeros((0, 2)), dt=0.1)
    world.step(2**62 - 2)
    with pytest.raises(ValueError, match="expected at most"):
        world.advance(0.25)
    assert world.tick == 2**62 - 1 == world.clock.tick + 2**62 - 2
    assert world.clock.backlog == 1


def test_interpolation_returns_the_state_before_the_first_frame_and_after_other_steps(Stepper):
    ball = Stepper([[1.0]], [[1.0]], dt=0.1)
    for mode in ("linear", "hermite"):
        assert ball.interpolate(0.5, mode=mode).tolist() == [[1.0]]
    ball.advance(0.1)
    assert ball.interpolate(0.5).tolist() == [[1.05]]
    ball.step()
    assert ball.interpolate(0.5).tolist() == ball.position.tolist()


def test_interpolation_never_changes_the_state(Stepper):
    ball = Stepper([[0.0, 1.0]], [[1.0, 2.0]], forces=[kd.Gravity((0, -10))])
    ball.advance(0.1)
    checksum = ball.checksum()
    for mode in ("linear", "hermite", "extrapolate"):
        ball.interpolate(0.3, mode=mode)
    assert ball.checksum() == checksum
    for out in (ball.position, ball.velocity, ball.position[:, ::-1]):
        with pytest.raises(ValueError, match="out: shares memory"):
            ball.interpolate(out=out)


def test_interpolating_into_part_of_a_vertex_buffer(Stepper):
    vertices = np.zeros((3, 8), np.float32)
    bodies = Stepper(np.arange(6.0).reshape(3, 2), np.ones((3, 2)), dt=0.5)
    bodies.advance(0.25)
    bodies.advance(0.25)
    view = vertices[:, 3:5]
    assert bodies.interpolate(0.5, out=view) is view
    assert vertices[:, 3:5].tolist() == [[0.25, 1.25], [2.25, 3.25], [4.25, 5.25]]
    assert not vertices[:, :3].any()
    assert not vertices[:, 5:].any()
    buffer = memoryview(bytearray(48)).cast("d", (3, 2))
    assert bodies.interpolate(0.5, out=buffer) is buffer
    assert buffer[2, 1] == 5.25


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros((2, 2)), ValueError, "shape"),
        (np.zeros((3, 2), int), TypeError, "float32 or float64"),
        (np.zeros((3, 2), np.float16), TypeError, "float32 or float64"),
        (np.zeros((3, 2), ">f8"), TypeError, "native"),
        (np.broadcast_to(0.0, (3, 2)), ValueError, "writable"),
        ([[0.0] * 2] * 3, TypeError, "buffer"),
    ],
)
def test_unsuitable_out_arrays_are_refused(Stepper, out, error, message):
    bodies = Stepper(np.zeros((3, 2)))
    with pytest.raises(error, match=f"out.*{message}"):
        bodies.interpolate(out=out)


def test_invalid_alpha_and_mode_are_refused(Stepper):
    bodies = Stepper(np.zeros((3, 2)))
    for alpha in (np.nan, np.inf):
        with pytest.raises(ValueError, match="alpha"):
            bodies.interpolate(alpha)
    with pytest.raises(TypeError, match="alpha"):
        bodies.interpolate("half")
    for mode in ("cubic", ["linear"], np.array(["linear", "hermite"]), None):
        with pytest.raises(ValueError, match="mode: expected one of 'linear', 'hermite', 'extrapolate'"):
            bodies.interpolate(mode=mode)
    with pytest.raises(ValueError, match=r"got 'hermit' \(str\); did you mean 'hermite'\?$"):
        bodies.interpolate(mode="hermit")


@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "groot_warren"])
def test_interpolation_does_not_cross_a_teleport(Stepper, integrator):
    pair = Stepper([[0.0], [10.0]], [[1.0], [1.0]], dt=0.1, integrator=integrator)
    pair.advance(0.25)
    pair.teleport(1, [500.0])
    for alpha in (0.0, 0.3, 0.99):
        assert pair.interpolate(alpha)[1, 0] == 500.0
        # The Hermite cubic still starts and ends with 1 m/s: it deviates by less than the displacement of a step.
        assert abs(pair.interpolate(alpha, mode="hermite")[1, 0] - 500.0) < 0.1
    pair.advance(0.05)
    # The velocity is unchanged.
    np.testing.assert_allclose(pair.interpolate(1.0)[1], [500.1], rtol=1e-13)
    np.testing.assert_allclose(pair.velocity, [[1.0], [1.0]], rtol=1e-10)


def test_teleport_accepts_numpy_indices(Stepper):
    bodies = Stepper(np.zeros((4, 2)), dt=0.1)
    bodies.teleport([0, 2], [[1, 2], [3, 4]])
    bodies.teleport(np.array([False, True, False, False]), (5, 6))
    bodies.teleport(slice(3, None), 7)
    assert bodies.position.tolist() == [[1, 2], [5, 6], [3, 4], [7, 7]]
    before = bodies.position.copy()
    for index, place, error in (
        (9, (0, 0), IndexError),
        (0, (1, 2, 3), ValueError),
        (0, np.nan, ValueError),
        ("a", 0, IndexError),
    ):
        with pytest.raises(error):
            bodies.teleport(index, place)
    assert (bodies.position == before).all()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_shift_changes_nothing_but_coordinates(isa, integrator):
    """The offset is a power of two and adds without rounding, so the physics must be bitwise equal."""
    rng = np.random.default_rng(3)
    position = rng.integers(-64, 64, (6, 2)) / 16.0
    velocity = rng.integers(-64, 64, (6, 2)) / 16.0
    forces = [kd.Gravity((0.0, -1.0)), kd.AnchorSpring(2.0, anchor=(0.5, 0.25))]
    here, there = (
        kd.Stepper(position.copy(), velocity.copy(), dt=1 / 64, integrator=integrator, forces=forces) for _ in range(2)
    )
    for stepper in (here, there):
        stepper.advance(5.5 / 64)
    drawn = there.interpolate()
    there.shift((1024.0, -2048.0))
    np.testing.assert_allclose(there.interpolate() - (1024, -2048), drawn, rtol=0, atol=1e-12)
    for stepper in (here, there):
        stepper.advance(20 / 64)
    np.testing.assert_allclose(there.position - (1024, -2048), here.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(there.velocity, here.velocity, rtol=0, atol=1e-9)
    there.shift((-1024.0, 2048.0))
    assert there.forces[1].anchor.tolist() == [0.5, 0.25]


def test_shift_moves_centers(Stepper):
    sun = Stepper([[1.0, 0.0]], [[0.0, 1.0]], dt=0.01, forces=[kd.PointGravity(1.0)])
    kinetic, potential = sun.energy()
    sun.shift((512, 0))
    assert sun.energy() == (kinetic, potential)
    assert sun.position.tolist() == [[513.0, 0.0]]
    for bad in ((1, 2, 3), 5, (np.nan, 0)):
        with pytest.raises(ValueError, match="offset"):
            sun.shift(bad)


def test_substeps(Stepper, FixedClock):
    coarse = Stepper([[0.0]], [[1.0]], clock=FixedClock(60, substeps=4), forces=[kd.Gravity([-9.0])])
    fine = Stepper([[0.0]], [[1.0]], hz=240, forces=[kd.Gravity([-9.0])])
    assert coarse.dt == 1 / 240
    assert coarse.advance(2.5 / 60) == 2
    fine.step(8)
    assert coarse.tick == 8
    assert coarse.clock.tick == 2
    assert coarse.checksum() == fine.checksum()
    # Interpolation spans the whole clock step, not its last substep.
    assert coarse.interpolate(0.0).tolist() == pytest.approx(np.array([[1 / 60 - 4.5 / 3600]]), rel=1e-12)


def test_dt_and_the_clock_follow_each_other(Stepper, FixedClock):
    body = Stepper([[0.0]], [[1.0]], clock=FixedClock(60))
    body.advance(3.5 / 60)
    body.dt = 1 / 30
    assert body.clock.hz == 30
    body.advance(2.5 / 30)
    assert body.time == pytest.approx(3 / 60 + 2 / 30, abs=1e-15)
    body.clock.hz = 120
    body.advance(1.5 / 60)
    assert body.dt == 1 / 120
    assert body.position[0, 0] == pytest.approx(body.time, abs=1e-14)


def test_the_variable_policy_makes_one_step_per_frame(Stepper, FixedClock):
    body = Stepper([[0.0]], [[1.0]], clock=FixedClock(60, policy="variable(0.1)"))
    for frame in (0.01, 0.02, 0.015):
        assert body.advance(frame) == 1
    assert body.position[0, 0] == pytest.approx(0.045, abs=1e-12)
    assert body.interpolate().tolist() == body.position.tolist()


def test_a_budget_stops_a_frame(Stepper, FixedClock, monkeypatch):
    import time

    now = iter(range(0, 10**12, 2_000_000))  # a fake clock that advances by 2 ms with each reading
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(now))
    body = Stepper([[0.0]], [[1.0]], clock=FixedClock(60, overload="budget(0.004)"))
    assert body.advance(5.5 / 60) == 2
    assert body.tick == body.clock.tick == 2
    assert body.clock.dropped_steps == 3


def test_after_an_error_in_a_frame_clock_and_stepper_agree(Stepper):
    body = Stepper([[0.0]], [[1.0]], dt=1 / 60, integrator="explicit_euler")
    body.velocity[0] = np.inf
    with pytest.raises(kd.NonFiniteError):
        body.advance(0.1)
    assert body.clock.tick == body.tick > 0
    body.position[0], body.velocity[0] = 0, 1
    assert body.advance(1.5 / 60) >= 1


@pytest.mark.parametrize("n", [1, 600])
def test_after_a_frame_that_fails_in_its_first_step_the_present_state_is_drawn(Stepper, n):
    failing = set()

    def force(time, position, velocity, out):
        if failing:
            raise LookupError

    body = Stepper(np.zeros((n, 1)), np.ones((n, 1)), dt=1 / 60, forces=[kd.Force(force)])
    body.advance(1.5 / 60)
    assert 0 < body.interpolate()[0] < body.position[0]
    failing.add("now")
    with pytest.raises(LookupError):
        body.advance(1 / 60)
    assert body.tick == 1
    assert_same_bits(body.interpolate(), body.position)


def test_clock_arguments(Stepper, FixedClock):
    with pytest.raises(TypeError, match="clock: expected a"):
        Stepper([[0.0]], clock=60)
    with pytest.raises(ValueError, match="clock: its step of 1/50 s"):
        Stepper([[0.0]], dt=1 / 60, clock=FixedClock(50))
    with pytest.raises(TypeError, match="dt, hz: expected one of the two"):
        Stepper([[0.0]], dt=1 / 60, hz=60)
    assert Stepper([[0.0]], dt=0.02, clock=FixedClock(50)).dt == 0.02
    for frame in (-1.0, np.nan, "1"):
        body = Stepper([[0.0]], [[1.0]])
        with pytest.raises((TypeError, ValueError), match="seconds"):
            body.advance(frame)
        assert body.tick == 0


def test_stepping_in_a_clock_loop_is_interpolated_like_advance(isa):
    ball = kd.Stepper([[0.0]], [[6.0]], dt=1 / 60)
    for _ in ball.clock.steps(0.025):
        ball.step()
    assert ball.interpolate().round(9).tolist() == [[0.05]]


@pytest.mark.parametrize("module", [kd, kd.reference])
def test_advance_without_seconds_measures_the_frame(module, monkeypatch):
    """advance() measures the frame in whole ns since its last measurement; frames of given seconds do not matter."""
    times = iter([10**18, 10**18 + 70_000_001, 10**18 + 120_000_000])
    target = "kickdrift.engine.frames.monotonic_ns" if module is kd else "kickdrift.reference.stepper.monotonic_ns"
    monkeypatch.setattr(target, lambda: next(times))
    world = module.Stepper([[0.0]], hz=100)
    assert (world.advance(), world.tick) == (0, 0)
    assert world.advance(0.05) == 5
    assert world.advance() == 7
    assert len(list(world.ticks())) == 5
