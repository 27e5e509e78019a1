"""Tapes: changes between ticks are recorded and replayed tick by tick, on any implementation."""

import copy
import gc
import pickle
import signal
import struct
import sys
import zlib

import numpy as np
import pytest
from forge import forge
from plans import INTEGRATORS, held_scene, outcome, scene

import kickdrift as kd


def game(cls, integrator="velocity_verlet", dtype=np.float64, **changes):
    rng = np.random.default_rng(5)
    position, force = rng.normal(size=(6, 2)).astype(dtype), np.zeros((6, 2), dtype)
    arguments = {
        "dt": 0.05,
        "integrator": integrator,
        "forces": [kd.AnchorSpring(2.0), kd.AppliedForce(force)],
        "state": {"ammo": np.array([3, 4])},
        **changes,
    }
    return cls(position, np.zeros((6, 2), dtype), **arguments)


def play(world):
    """Run a world with every kind of change."""
    saved = world.snapshot()
    world.step(3)
    world.velocity[2] += 1.0
    world.step()
    world.forces[1].force[1] = (1.0, 2.0)
    world.state["ammo"][0] -= 1
    world.step(2)
    world.teleport(4, (0.5, 0.25))
    world.position[:] *= 1.5
    world.advance(0.12)
    world.dt = 0.04
    world.step(2)
    world.shift((1.0, -2.0))
    world.restart()
    for _ in world.ticks(0.1):
        world.velocity[0, 0] -= 0.25
    world.restore(saved)
    world.step(2)


@pytest.mark.parametrize("integrator", ["verlet", "groot_warren", "rk4", "energy_euler", "implicit_euler"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_recorded_run_is_replayed(Stepper, integrator, dtype, tmp_path):
    world, free = game(Stepper, integrator, dtype), game(Stepper, integrator, dtype)
    tape = kd.Tape(world)
    play(world)
    tape.stop()
    play(free)
    assert free.snapshot() == world.snapshot()  # recording has no effect on the world
    ticks = len(tape)
    world.step(5)
    assert len(tape) == ticks > 12
    tape.save(tmp_path / "run")
    for cls in (kd.Stepper, kd.reference.Stepper):
        other = game(cls, integrator, dtype)
        kd.Tape.load(tmp_path / "run").replay(other)
        assert other.checksum() == free.checksum()
        assert other.time == free.time


@pytest.mark.parametrize("make", [scene, held_scene])
def test_every_integrator_can_be_replayed(make):
    for seed, integrator in enumerate(INTEGRATORS):
        drawn = make(np.random.default_rng(seed), integrator, n=5)
        world, other = drawn.make(kd.Stepper), drawn.make(kd.Stepper)
        tape = kd.Tape(world)
        for number in range(4):
            world.velocity[number] *= 0.5
            outcome(world, number + 1)
        tape.replay(other)
        assert other.checksum() == world.checksum()


def test_ode_steppers_can_be_recorded(ODEStepper):
    def make():
        return ODEStepper(np.ones((2, 3)), kd.flows.Lorenz(), dt=0.01, state={"seen": np.zeros(1)})

    world, other = make(), make()
    tape = kd.Tape(world)
    world.step(3)
    world.y[1] += 0.5
    world.state["seen"][0] = 2
    world.step(2)
    tape.replay(other)
    assert other.snapshot() == world.snapshot()


def test_the_first_tick_that_diverges_is_reported(Stepper):
    ratio = [1.0]

    def push(t, position, velocity, out):
        out[:] = ratio[0]

    def make():
        return Stepper(np.zeros((2, 2)), dt=0.5, forces=[kd.Acceleration(push)])

    world, other = make(), make()
    tape = kd.Tape(world)
    for tick in range(6):
        ratio[0] = 1.0 if tick < 3 else 2.0
        world.step()
    ratio[0] = 1.0
    with pytest.raises(kd.DesyncError, match="tick 4 ") as info:
        tape.replay(other)
    assert info.value.tick == other.tick == 4


def test_non_finite_states_are_recorded(Stepper):
    world, other = (Stepper(np.zeros((2, 1)), dt=1) for _ in range(2))
    tape = kd.Tape(world)
    world.velocity[1] = np.inf
    with pytest.raises(kd.NonFiniteError):
        world.step()
    world.velocity[1] = world.position[1] = 1
    world.step()
    tape.replay(other)
    assert other.snapshot() == world.snapshot()


def test_only_one_tape_records_at_a_time(Stepper):
    world = game(Stepper)
    tape = kd.Tape(world)
    with pytest.raises(RuntimeError, match="being recorded"):
        kd.Tape(world)
    with pytest.raises(RuntimeError, match="being recorded"):
        tape.replay(world)
    tape.stop()
    tape.stop()
    kd.Tape(world).stop()
    for nothing in (None, 5, "world", Stepper):
        with pytest.raises(TypeError, match="stepper: expected a Stepper"):
            kd.Tape(nothing)
        with pytest.raises(TypeError, match="stepper: expected a Stepper"):
            tape.replay(nothing)
    with pytest.raises(kd.SnapshotError):
        tape.replay(game(Stepper, "rk4"))


def test_forged_files_are_refused(Stepper, tmp_path):
    world = game(Stepper)
    tape = kd.Tape(world)
    play(world)
    tape.save(tmp_path / "run")
    data = (tmp_path / "run").read_bytes()

    def refused(forged, seal=True):
        if seal:
            forged = forged[:-4] + struct.pack("<I", zlib.crc32(forged[:-4]))
        (tmp_path / "forged").write_bytes(forged)
        other = game(Stepper)
        with pytest.raises((kd.SnapshotError, kd.DesyncError), match=r"tape: |snapshot: |tick"):
            kd.Tape.load(tmp_path / "forged").replay(other)

    for place in range(0, len(data), 37):
        refused(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :], seal=False)
        refused(data[:place], seal=False)
    first = 24 + struct.unpack_from("<Q", data, 8)[0]
    for place in (7, *range(8, 24), *range(first, first + 32)):
        refused(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
    for size in (10, 24, 100, first, first + 20, len(data) - 9):
        refused(data[:size] + bytes(4))
    refused(data[:-4] + bytes(8))
    with pytest.raises(OSError, match="nowhere"):
        kd.Tape.load(tmp_path / "nowhere")


def test_a_tape_that_starts_at_the_last_tick_is_refused(Stepper):
    world = Stepper([[0.0]], [[1.0]])
    tape = kd.Tape(world)
    world.step()
    tape._first = forge(tape._first, tick=2**62 - 1)
    with pytest.raises(kd.SnapshotError, match="tape: expected a tick that another follows"):
        tape.replay(Stepper([[0.0]]))


def test_an_interrupted_step_is_recorded(tmp_path):
    """Ctrl-C ends a call at a completed tick, which must be on the tape, also with two signals in a row."""

    class Interrupt(KeyboardInterrupt):
        pass

    def strike(frame, event, argument):
        """Raise in the `place`-th Python call that the tape makes after a tick, and again three calls later."""
        nonlocal place
        if event == "call" and world.tick > before and frame.f_code.co_filename != __file__:
            place -= 1
            if place in (0, -3):
                raise Interrupt

    struck = 0
    for first in range(1, 40):
        world = kd.Stepper([[0.0]], [[1.0]], dt=1)
        tape = kd.Tape(world)
        world.step(2)
        world.velocity[0] = 3.0
        place, before, tracing = first, world.tick, sys.gettrace()
        sys.settrace(strike)
        try:
            world.step(5)
        except Interrupt:
            struck += 1
        finally:
            sys.settrace(tracing)
        assert len(tape) == world.tick
        world.velocity[0] = 2.0
        world.step(3)
        other = kd.Stepper([[9.0]], dt=1)
        tape.replay(other)
        assert (other.tick, other.snapshot()) == (world.tick, world.snapshot())
    assert struck > 20


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on Windows")
def test_signals_during_many_ticks_are_recorded():
    lost = struck = 0
    armed = False

    def strike(number, frame):
        # CPython may run a handler late, when its thread takes the GIL: ignore signals after the steps.
        if armed:
            raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, strike)
    gc.disable()  # signals inside a callback of the collector, such as that of hypothesis, would be lost
    try:
        for number in range(200):
            world = kd.Stepper([[0.0]], [[1.0]], dt=1)
            tape = kd.Tape(world)
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (30 + 3 * number))
                world.step(5000)
                armed = False
            except KeyboardInterrupt:
                armed = False
                struck += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            lost += world.tick != len(tape)
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, old)
    assert lost == 0
    assert struck > 20


def test_a_tape_does_not_change_interpolation():
    """Frames of several steps, with enough bodies that kernels store the previous state."""
    pictures = []
    for taped in (False, True):
        clock = kd.FixedClock(50, substeps=3)
        world = kd.Stepper(np.zeros((500, 1)), np.ones((500, 1)), clock=clock, forces=[kd.Gravity([1.0])])
        tape = kd.Tape(world) if taped else None
        world.advance(0.05)
        pictures.append(world.interpolate(0.25))
        del tape
    assert pictures[0].tobytes() == pictures[1].tobytes()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda tape: pickle.loads(pickle.dumps(tape))])
def test_copies_have_the_ticks_so_far_and_leave_the_stepper_alone(duplicate):
    """Regression: copies shared the list of ticks and stopped the original; pickles included the stepper."""
    functions = [kd.Force(lambda t, position, velocity, out: None)]  # a lambda cannot be pickled
    world = kd.Stepper([[0.0]], [[1.0]], dt=1, forces=functions)
    tape = kd.Tape(world)
    world.step(2)
    twin = duplicate(tape)
    twin.stop()
    world.step()
    assert (len(tape), len(twin)) == (3, 2)
    other = kd.Stepper([[5.0]], dt=1, forces=functions)
    twin.replay(other)
    assert other.position.tolist() == [[2.0]]
