"""Snapshots, restore, rollback, and detection of nondeterminism."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from plans import INTEGRATORS, LAYOUTS, assert_same_bits, each_isa, scene

import kickdrift as kd
from kickdrift import kernels


def running(integrator, cls=kd.Stepper, seed=11, **changes):
    """Create a stepper of seven bodies and step it a few times."""
    stepper = scene(np.random.default_rng(seed), integrator, n=7).make(cls, **changes)
    stepper.step(3)
    return stepper


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_a_snapshot_contains_all_state_of_later_steps(Stepper, integrator):
    stepper = running(integrator, Stepper)
    position, velocity = stepper.position, stepper.velocity
    saved = stepper.snapshot()
    assert saved == stepper.snapshot()
    stepper.step(5)
    later, time = stepper.checksum(), stepper.time
    stepper.step(2)
    stepper.dt = 0.003
    stepper.step(1)
    stepper.restore(saved)
    assert stepper.tick == 3
    assert stepper.snapshot() == saved
    assert stepper.position is position
    assert stepper.velocity is velocity
    stepper.step(5)
    assert stepper.checksum() == later
    assert stepper.time == time


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_snapshots_are_portable_between_implementations(monkeypatch, integrator):
    """A snapshot continues bitwise equal under another instruction set and in another layout."""
    ends = set()
    source = running(integrator)
    saved = source.snapshot()
    for _isa in each_isa(monkeypatch):
        for layout in LAYOUTS:
            target = scene(np.random.default_rng(11), integrator, n=7).make(kd.Stepper, layout)
            target.restore(saved)
            assert target.snapshot() == saved
            target.step(6)
            ends.add(target.checksum())
    book = scene(np.random.default_rng(11), integrator, n=7).make(kd.reference.Stepper)
    book.restore(saved)
    book.step(6)
    assert ends == {book.checksum()}


def test_damaged_snapshots_are_refused(Stepper):
    stepper = running(kd.Verlet(), Stepper)
    saved = stepper.snapshot()
    before = stepper.checksum(), stepper.tick
    rng = np.random.default_rng(0)
    for place in {*range(80), *rng.integers(0, len(saved), 60).tolist(), len(saved) - 1}:
        damaged = bytearray(saved)
        damaged[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(kd.SnapshotError):
            stepper.restore(bytes(damaged))
    for size in (0, 1, 15, 60, 63, 64, 100, len(saved) - 1):
        with pytest.raises(kd.SnapshotError):
            stepper.restore(saved[:size])
    for other in (saved + b"\0", None, 5, "text", stepper):
        with pytest.raises(kd.SnapshotError):
            stepper.restore(other)
    assert (stepper.checksum(), stepper.tick) == before
    stepper.restore(bytearray(saved))
    stepper.restore(memoryview(saved))


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"integrator": "rk4"}, "integrator"),
        ({"integrator": kd.SemiImplicitEuler(form="drift_kick")}, "integrator"),
        ({"forces": [kd.Gravity((0, -1))]}, "forces"),
        ({"mass": 2.0}, "forces"),
        ({"position": np.zeros((3, 2))}, "bodies"),
        ({"position": np.zeros((2, 3)), "forces": []}, "dim"),
        ({"position": np.zeros((2, 2), np.float32)}, "dtype"),
    ],
)
def test_snapshots_of_other_steppers_are_refused(Stepper, changes, name):
    arguments = {"position": np.zeros((2, 2)), "integrator": "semi_implicit_euler", "forces": [kd.Gravity((0, -9))]}
    own, other = Stepper(**arguments), Stepper(**{**arguments, **changes})
    with pytest.raises(kd.SnapshotError, match=f"other {name}"):
        own.restore(other.snapshot())


@pytest.mark.parametrize("dt", [1e-12, 3e-11, 1e9])
def test_a_dt_that_the_clock_cannot_represent_is_refused_before_any_change(Stepper, dt):
    arguments = {"position": np.zeros((1, 1)), "velocity": np.ones((1, 1)), "forces": [kd.AnchorSpring(1.0)]}
    free, clocked = Stepper(**arguments, dt=dt), Stepper(**arguments, clock=Stepper._clock_type(60))
    free.shift([3.0])
    before = clocked.snapshot()
    with pytest.raises(kd.SnapshotError, match=r"dt of .* refused here: hz"):
        clocked.restore(free.snapshot())
    assert clocked.snapshot() == before
    assert clocked.dt == 1 / 60


def test_the_checksum_depends_on_all_bits_except_signs_of_zero(Stepper):
    stepper = Stepper(np.array([[1.0, 0.0]]), np.zeros((1, 2)))
    checksum = stepper.checksum()
    stepper.velocity[0, 0] = -0.0
    assert stepper.checksum() == checksum
    stepper.position[0, 0] = np.nextafter(1.0, 2.0)
    assert stepper.checksum() != checksum
    stepper.position[0] = 0.0, 1.0  # the same numbers at other indices
    assert stepper.checksum() != checksum
    assert 0 <= checksum < 2**64


def test_checksums_are_stable_across_releases(Stepper):
    stepper = Stepper(np.arange(6.0).reshape(3, 2), np.ones((3, 2)), dt=0.25, forces=[kd.Gravity((0, -8))])
    assert stepper.checksum() == 0x9812D4A7632E25C3
    single = Stepper(np.arange(6, dtype=np.float32).reshape(3, 2), np.ones((3, 2), np.float32))
    assert single.checksum() == 0xC979B4EE396A25C3


def test_random_bit_flips_change_the_checksum(isa):
    rng = np.random.default_rng(2)
    for dtype, kind in ((np.float32, np.uint32), (np.float64, np.uint64)):
        stepper = kd.Stepper(rng.normal(size=(50, 3)).astype(dtype), rng.normal(size=(50, 3)).astype(dtype))
        checksums = {stepper.checksum()}
        bits = stepper.position.view(kind)
        for i in range(50):
            for bit in range(0, 8 * bits.itemsize, 7):
                bits[i, i % 3] ^= kind(1 << bit)
                checksums.add(stepper.checksum())
                bits[i, i % 3] ^= kind(1 << bit)
        assert len(checksums) == 1 + 50 * len(range(0, 8 * bits.itemsize, 7))


@pytest.mark.parametrize("integrator", ["verlet", "groot_warren", "yoshida4", "exact"])
def test_pickles_and_copies_continue_like_the_original(Stepper, integrator):
    stepper = Stepper(
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        dt=1 / 60,
        mass=[1.0, 2.0, np.inf],
        integrator=integrator,
        forces=[kd.Gravity((0, -9)), kd.AnchorSpring(3.0, anchor=(1, 1))],
    )
    stepper.advance(0.11)
    stepper.shift((4.0, 8.0))
    for twin in (pickle.loads(pickle.dumps(stepper)), copy.copy(stepper), copy.deepcopy(stepper)):
        assert twin.snapshot() == stepper.snapshot()
        assert twin.alpha == stepper.alpha
        assert twin.position.flags.f_contiguous
        assert not np.shares_memory(twin.position, stepper.position)
        original = stepper.snapshot()
        for one in (twin, stepper):
            one.advance(0.05)
        assert twin.checksum() == stepper.checksum()
        stepper.restore(original)
        stepper.clock.load(stepper.clock.state())


def test_rollback_with_late_input(Stepper):
    def push(world, tick):
        if tick == 3:
            world.velocity[0] += 1.0

    told_in_time, told_late = (Stepper([[0.0]], [[1.0]], dt=0.5, forces=[kd.Gravity([-1.0])]) for _ in range(2))
    past = kd.Rollback(told_late, ticks=8)
    for _ in range(6):
        past.save()
        told_late.step()
        push(told_in_time, told_in_time.tick)
        told_in_time.step()
    assert told_late.checksum() != told_in_time.checksum()
    past.rollback(2)
    assert past.ticks == [0, 1, 2]
    past.resimulate(6, inputs=push)
    assert told_late.checksum() == told_in_time.checksum()
    # Interpolation still uses the last two states.
    assert told_late.interpolate(0.0).tolist() != told_late.position.tolist()
    for wrong in (77, [0], {}, np.array([0, 1]), 0.5, None, "0"):
        with pytest.raises(ValueError, match="tick: expected one of the saved ticks"):
            past.rollback(wrong)
        with pytest.raises(ValueError, match="tick: expected one of the saved ticks"):
            past.checksum(wrong)


def test_the_ring_buffer_drops_the_oldest_snapshot(Stepper):
    stepper = Stepper([[0.0]])
    past = kd.Rollback(stepper, ticks=3)
    for _ in range(5):
        past.save()
        past.save()
        stepper.step()
    assert past.ticks == [2, 3, 4]
    for bad, error in ((0, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="ticks"):
            kd.Rollback(stepper, ticks=bad)


@pytest.mark.parametrize("frames", [0, 1])
@pytest.mark.parametrize("changed", [False, True])
def test_restore_resets_the_clock_rate(Stepper, frames, changed):
    wind = kd.LinearDrag(1.0)
    world = Stepper([[0.0]], [[1.0]], clock=Stepper._clock_type(60, substeps=2), forces=[wind])
    world.advance(0.1)
    saved, tick = world.snapshot(), world.clock.tick
    if changed:
        world.set(wind, coefficient=2.0)
    world.clock.set_hz(120)
    for _ in range(frames):
        world.advance(0.1)
    world.restore(saved)
    assert (world.clock.hz, world.clock.tick, world.dt) == (60, tick, 1 / 120)
    assert world.snapshot() == saved


def test_rollback_keeps_a_clock_rate_set_for_the_next_frame(Stepper):
    world = Stepper([[0.0]], [[1.0]], dt=1 / 60)
    past = kd.Rollback(world, ticks=4)
    for _ in range(2):
        past.save()
        world.advance(1 / 60)
    world.clock.set_hz(120)
    past.rollback(1)
    assert world.clock.hz == 120


def test_rollback_keeps_the_time_of_the_clock(Stepper):
    stepper = Stepper([[0.0]], [[1.0]], dt=0.1)
    stepper.advance(0.25)
    past = kd.Rollback(stepper)
    past.save()
    stepper.advance(0.2)
    alpha = stepper.alpha
    past.rollback(2)
    assert stepper.tick == 2
    assert stepper.clock.tick == 4
    assert stepper.alpha == alpha
    past.resimulate(4)
    assert stepper.tick == stepper.clock.tick == 4


def test_rollback_over_substeps(Stepper):
    """Interpolation after resimulate() spans a whole clock step, like after a frame."""
    clock = Stepper._clock_type(10, substeps=4)
    stepper = Stepper([[0.0]], [[10.0]], clock=clock)
    past = kd.Rollback(stepper, ticks=8)
    for _ in range(3):
        past.save()
        stepper.advance(0.1)
    assert past.ticks == [0, 4, 8]
    past.rollback(4)
    past.resimulate(12)
    assert past.ticks == [0, 4, 8]
    assert stepper.interpolate(0.0).tolist() == pytest.approx(np.array([[2.0]]))
    assert stepper.interpolate(1.0).tolist() == pytest.approx(np.array([[3.0]]))


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_sync_test_of_ten_thousand_frames(integrator):
    drawn = scene(np.random.default_rng(17), integrator, n=3)
    drawn.arguments["forces"] = [kd.AnchorSpring(4.0), kd.Gravity(np.full(drawn.position.shape[1], -0.5))]
    stepper = drawn.make(kd.Stepper)

    def impulses(world, tick):
        if tick % 3 == 0:
            world.velocity[pushed[tick]] += pushes[tick]

    rng = np.random.default_rng(18)
    pushed, pushes = rng.integers(3, size=10_000), rng.normal(size=(10_000, stepper.dim)) * 0.01
    kd.sync_test(stepper, frames=10_000, distance=2, inputs=impulses)
    assert stepper.tick == 10_000


@pytest.mark.parametrize("distance", range(1, 9))
def test_hidden_state_is_detected(Stepper, distance):
    calls = 0

    def fickle(world, tick):
        nonlocal calls
        calls += 1
        if calls == 20:
            world.velocity[0] += 1e-12

    with pytest.raises(kd.DesyncError, match="depends on something") as caught:
        kd.sync_test(Stepper([[0.0]], [[1.0]]), frames=50, distance=distance, inputs=fickle)
    assert 0 < caught.value.tick < 20
    assert caught.value.expected != caught.value.got
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_snapshots_are_portable_between_processes():
    code = (
        "import sys, numpy as np, kickdrift as kd\n"
        "s = kd.Stepper(np.zeros((2, 3)), np.ones((2, 3)), dt=0.1, integrator='rk4', forces=[kd.LinearDrag(0.3)])\n"
        "s.restore(sys.stdin.buffer.read()); s.step(10); sys.stdout.write(str(s.checksum()))"
    )
    stepper = kd.Stepper(np.zeros((2, 3)), np.ones((2, 3)), dt=0.1, integrator="rk4", forces=[kd.LinearDrag(0.3)])
    stepper.step(5)
    saved = stepper.snapshot()
    stepper.step(10)
    for isa in kernels.isas:
        result = subprocess.run(
            [sys.executable, "-c", code], input=saved, capture_output=True, check=True,
            env={**os.environ, "KICKDRIFT_ISA": isa},
        )  # fmt: skip
        assert int(result.stdout) == stepper.checksum()
    assert_same_bits(stepper.position, stepper.position)


def test_saved_ticks_have_a_checksum(Stepper):
    world = running(kd.Verlet(), Stepper)
    past, sums = kd.Rollback(world, 3), {}
    for _ in range(5):
        past.save()
        sums[world.tick] = world.checksum()
        world.step()
    assert {tick: past.checksum(tick) for tick in past.ticks} == {tick: sums[tick] for tick in past.ticks}
    for tick in (0, 99, None, "5"):
        with pytest.raises(ValueError, match="saved ticks"):
            past.checksum(tick)
    past.rollback(past.ticks[1])
    assert world.checksum() == sums[world.tick]


@pytest.mark.parametrize("policy", ["exact", "match", "variable(0.1)"])
def test_restoring_the_clock_restarts_a_game_exactly(Stepper, policy):
    """State, bodies, coefficients and clock: the second game equals the first, whatever happened in between."""

    def make():
        clock = Stepper._clock_type(60, policy=policy, scale=0.5, phase=0 if "variable" in policy else 0.25)
        gravity = kd.Gravity((0.0, -9.81))
        return Stepper([[0.0, 5.0]] * 3, [[1.0, 0.0]] * 3, forces=[gravity], clock=clock, alive=2), gravity

    def play(world):
        counts = [world.advance(seconds) for seconds in (0.01, 0.04, 0.02, 0.1)]
        return counts, world.position.tolist(), world.time, world.clock.state(), world.ids.tolist(), world.alpha

    world, gravity = make()
    world.step()
    start, tick = world.snapshot(), world.clock.tick
    first = play(world)
    for _ in range(2):
        world.kill(0)
        world.spawn((3.0, 4.0))
        world.set(gravity, acceleration=(1.0, 1.0))
        world.clock.scale = 3.0
        world.clock.set_hz(50)
        world.advance(0.3)
        world.clock.pause()
        world.clock.advance_to(10**9)
        world.restore(start, clock=True)
        assert (world.clock.tick, world.clock.scale, world.clock.paused, world.clock.hz) == (tick, 0.5, False, 60)
        assert world.clock.time == world.time
        again = play(world)
        assert (*again[:3], *again[4:]) == (*first[:3], *first[4:])
    for each in world.ticks(0.1):
        before = world.clock.state(), world.position.tolist()
        with pytest.raises(RuntimeError, match="inside a step"):
            world.restore(start, clock=True)
        assert (world.clock.state(), world.position.tolist()) == before
        assert each == world.tick
    world.clock.pause()
    world.restore(start)
    assert world.clock.paused
    world, _ = make()
    with pytest.raises(kd.SnapshotError):
        world.restore(start[:-1], clock=True)
    with pytest.raises(TypeError, match="clock: expected True or False"):
        world.restore(start, clock=1)


def test_restoring_a_clock_that_did_not_exist_resets_it(Stepper):
    world = Stepper([[0.0]], [[1.0]])
    start = world.snapshot()
    world.step(5)
    world.restore(start, clock=True)
    assert world.tick == 0
    world.advance(0.1)
    world.restore(start, clock=True)  # a snapshot from before the clock existed
    assert (world.tick, world.clock.tick, world.clock.time) == (0, 0, 0.0)
