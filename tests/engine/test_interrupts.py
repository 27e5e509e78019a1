"""Atomicity: Ctrl-C at any line of Python, and calls from other threads and callbacks at any time."""

import contextlib
import copy
import gc
import math
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state

import kickdrift as kd

HERE = __file__


class Interrupt(KeyboardInterrupt):
    pass


def interrupted(action, place):
    """Interrupt the action at its `place`-th executed line of Python (from 1); True if it ran that far."""
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        if frame.f_code.co_filename == HERE:
            return None
        if event == "line":
            lines += 1
            if lines == place:
                raise Interrupt
        return trace

    before = sys.gettrace()
    gc.disable()  # otherwise garbage-collection callbacks, like that of hypothesis, would be interrupted too
    sys.settrace(trace)
    try:
        action()
    except BaseException:
        # Some NumPy functions convert the exception to another one.
        if lines < place:
            raise
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return lines >= place  # some NumPy functions swallow the exception


def interrupt_everywhere(make, action, places=200):
    """Interrupt an action on `make()` at about `places` of its lines: it must happen completely or not at all."""
    plain, done = make(), make()
    action(done)
    outcomes = set()
    lines = next(line for line in range(50, 10**6, 50) if not interrupted(lambda: action(make()), line))
    for place in range(1, 10**6, max(1, lines // places)):
        world = make()
        ended = not interrupted(lambda world=world: action(world), place)
        if state(world) == state(plain):
            outcomes.add("nothing")
        else:
            assert state(world) == state(done), f"half of it is done after line {place}"
            outcomes.add("all")
        twin = copy.deepcopy(plain if state(world) == state(plain) else done)
        for stepper in (world, twin):
            stepper.step(2)
        assert state(world) == state(twin)
        if ended:
            return place - 1, outcomes
    raise AssertionError("it never ends")


def state(world):
    clock = world.__dict__.get("_clock")
    offset = None if isinstance(world, kd.ODEStepper) else [force.anchor.tolist() for force in world.forces[:1]]
    return (world.snapshot(), world.tick, world.time, world.dt, offset, clock and (clock.tick, clock.hz))


def swing(integrator="verlet", **more):
    """Create a world with history, a clock, coefficients that depend on dt, interactions and constraints."""
    position = np.array([[0.0, 1.0], [1.0, 1.5], [2.0, 1.0]])
    world = kd.Stepper(
        position,
        np.array([[0.5, 0.0], [0.0, 0.25], [0.0, -0.5]]),
        [1.0, 2.0, math.inf],
        integrator=integrator,
        clock=kd.FixedClock(60),
        forces=[
            kd.AnchorSpring(4.0, anchor=(1.0, 1.0)),
            kd.Damping(0.3),
            kd.Springs([(0, 1)], 5.0),
            kd.Force(lambda t, x, v, out: None),
        ],
        constraints=[kd.Distance([(1, 2)]), kd.Box(-5, 5, radius=0.1), kd.ElasticCollisions(0.1)],
        **more,
    )
    world.advance(0.05)
    return world


def alone(integrator="verlet"):
    """Create bodies without interactions."""
    world = kd.Stepper(
        np.ones((4, 3), np.float32),
        np.ones((4, 3), np.float32),
        clock=kd.FixedClock(60),
        integrator=integrator,
        forces=[kd.AnchorSpring(4.0, anchor=(0.5, 1.0, 0.0)), kd.Damping(0.3)],
    )
    world.advance(0.05)
    return world


def weather():
    world = kd.ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.01)
    world.step(3)
    return world


EARLIER = {}


def earlier(make):
    """Return a snapshot of another tick, dt and position."""
    if make not in EARLIER:
        world = make()
        world.step(5)
        world.dt = 1 / 100
        world.step(1)
        if make is not weather:
            world.shift([0.25] * world.dim)
        EARLIER[make] = world.snapshot()
    return EARLIER[make]


ACTIONS = {
    "step": lambda world, make: world.step(3),
    "restore": lambda world, make: world.restore(earlier(make)),
    "dt": lambda world, make: setattr(world, "dt", 1 / 90),
    "restart": lambda world, make: world.restart(),
    "shift": lambda world, make: world.shift([0.5] * world.dim),
    "teleport": lambda world, make: world.teleport([2, 0], [[0.5] * world.dim, [1.5] * world.dim]),
}


@pytest.mark.signals
@pytest.mark.parametrize("make", [swing, alone, weather])
@pytest.mark.parametrize("name", ACTIONS)
def test_an_interrupted_action_is_atomic(make, name):
    if make is weather and name in ("shift", "teleport", "restart"):
        pytest.skip("an ODEStepper has none")
    earlier(make)
    lines, outcomes = interrupt_everywhere(make, lambda world: ACTIONS[name](world, make))
    assert "all" in outcomes
    if name in ("restore", "dt", "shift", "teleport"):
        assert lines > 10, "nothing was interrupted"


@pytest.mark.signals
@pytest.mark.parametrize("made", [kd.RK4, lambda: kd.GrootWarren(lam=0.65), kd.ExplicitEuler, kd.flows.Lorenz])
def test_an_interrupted_repr_is_complete_the_next_time(made):
    one = made()
    text = repr(one)
    for place in range(1, 100):
        ended = not interrupted(lambda: repr(one), place)
        assert repr(one) == text
        if ended:
            break
    assert place > 2


@pytest.mark.signals
def test_an_interrupted_frame_ends_at_a_completed_step():
    for place in range(1, 10**4):
        world = swing()
        world.clock.set_hz(61)  # the next frame adopts the new rate, in Python code
        ended = not interrupted(lambda world=world: world.advance(0.05), place)
        twin = swing()
        twin.dt = world._exact_dt
        twin.step(world.tick - twin.tick)
        assert_same_state(world, twin)
        assert world.clock.tick == world.tick
        if ended:
            break
    assert place > 2


@pytest.mark.signals
def test_exceptions_in_numpy_functions_leave_steps_complete(monkeypatch):
    # Simulates a signal handler that raises inside NumPy.
    world, calls = kd.Stepper([[0.5]], [[1.0]], constraints=[kd.Box(0, 1)]), []
    original = np.copyto

    def copyto(*given, **more):
        calls.append(given)
        if len(calls) == 4:
            raise Interrupt
        return original(*given, **more)

    monkeypatch.setattr(np, "copyto", copyto)
    with contextlib.suppress(Interrupt):
        world.step()
    twin = kd.Stepper([[0.5]], [[1.0]], constraints=[kd.Box(0, 1)])
    monkeypatch.undo()
    twin.step(world.tick)
    assert (world.position.tolist(), world.velocity.tolist()) == (twin.position.tolist(), twin.velocity.tolist())


def inside(world_of):
    """Return {call: error message} of calls made inside a step of the world `world_of(callback)`."""
    answers = {}

    def meddle(t, x, v, out):
        for name, call in CALLS.items():
            try:
                call(world)
                answers[name] = "done"
            except RuntimeError as error:
                answers[name] = str(error)

    world = world_of(meddle)
    world.step()
    return answers


CALLS = {
    "step": lambda world: world.step(),
    "advance": lambda world: world.advance(0.1),
    "snapshot": lambda world: world.snapshot(),
    "checksum": lambda world: world.checksum(),
    "energy": lambda world: world.energy(),
    "interpolate": lambda world: world.interpolate(alpha=0.5),
    "record": lambda world: world.record(3),
    "restart": lambda world: world.restart(),
    "shift": lambda world: world.shift((1.0, 0.0)),
    "teleport": lambda world: world.teleport(0, (1.0, 0.0)),
    "dt": lambda world: setattr(world, "dt", 0.5),
    "restore": lambda world: world.restore(b""),
    "copy": lambda world: copy.deepcopy(world),
    "save": lambda world: kd.Rollback(world).save(),
}


def test_calls_that_read_or_change_the_state_are_refused_inside_a_step(Stepper):
    answers = inside(lambda meddle: Stepper(np.zeros((2, 2)), forces=[kd.Force(meddle)]))
    assert answers == dict.fromkeys(CALLS, "this stepper is stepping already: it serves one thread at a time")


def test_a_refused_dt_does_not_change_the_clock(Stepper):
    def meddle(t, x, v, out):
        with pytest.raises(RuntimeError):
            world.dt = 0.5

    world = Stepper(np.zeros((1, 1)), dt=1 / 60, forces=[kd.Force(meddle)])
    hz = world.clock.hz
    world.advance(0.02)
    assert (world.clock.hz, world.dt, world.tick) == (hz, 1 / 60, 1)


# Threads.


def repeat(*calls, seconds=0.4):
    """Repeat each call in a thread of its own; return how often each succeeded and was refused."""
    stop, done, refused, errors = threading.Event(), [0] * len(calls), [0] * len(calls), []

    def work(number):
        try:
            while not stop.is_set():
                time.sleep(0)  # release the GIL
                try:
                    calls[number]()
                    done[number] += 1
                except RuntimeError as error:
                    if "stepping already" not in str(error):
                        raise
                    refused[number] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(len(calls))]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        stop.wait(seconds)
        stop.set()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    assert not any(thread.is_alive() for thread in threads), (done, refused)
    assert not errors, errors
    return done, refused


def test_shift_during_steps_of_another_thread_is_refused_or_done_between_steps():
    # Pairs and buffers are bound again by shift(): no step may still read the old ones.
    rng = np.random.default_rng(3)
    world = kd.Stepper(
        rng.normal(size=(3000, 2)),
        forces=[kd.Springs(rng.permutation(3000).reshape(-1, 2), 1.0), kd.Damping(0.1), kd.Gravity((0, -1))],
        constraints=[kd.Plane((0, 1), -50.0)],
    )
    offset = np.array([1.0, 0.0])
    done, refused = repeat(
        lambda: world.step(20), lambda: world.shift(offset), lambda: world.shift(-offset), seconds=1.0
    )
    assert done[0] > 0
    assert world.tick == 20 * done[0]
    assert sum(refused) > 0
    assert np.abs(world.velocity).max() > 0


@pytest.mark.parametrize("restoring", [False, True])
def test_steps_are_refused_while_coordinates_are_shifted(Stepper, restoring):
    """A step in another thread would see partly shifted forces."""
    answers = []

    class Watched(kd.AnchorSpring):
        def shifted(self, offset):
            try:
                world.step()
            except RuntimeError as error:
                answers.append(str(error))
            return super().shifted(offset)

    world = Stepper([[0.0]], forces=[Watched(1.0, anchor=(1.0,))])
    if restoring:
        world.shift([0.25])  # restore() shifts back only if there was a shift
    saved = world.snapshot()
    answers.clear()
    world.shift([0.5])
    if restoring:
        answers.clear()
        world.restore(saved)
    assert answers == ["this stepper is stepping already: it serves one thread at a time"]
    assert world.tick == 0


def test_steps_are_refused_while_a_frame_updates_its_clock(Stepper):
    answers = []

    class Watched(Stepper):
        def _follow_clock(self):
            try:
                self.step()
            except RuntimeError as error:
                answers.append(str(error))
            super()._follow_clock()

    world = Watched([[0.0]], clock=Stepper._clock_type(60))
    world.clock.set_hz(50)
    assert world.advance(0.05) == 2
    assert answers == ["this stepper is stepping already: it serves one thread at a time"]
    assert (world.tick, world.dt) == (2, 0.02)


def test_frames_and_steps_of_two_threads_add_up():
    clock = kd.FixedClock(60, policy="variable(0.1)")
    world = kd.Stepper(np.zeros((500, 2)), clock=clock, forces=[kd.Gravity((0, -1))])
    steps = []
    seconds = iter(range(10**9))
    done, _ = repeat(lambda: steps.append(world.advance(0.01 + 1e-6 * (next(seconds) % 7))), lambda: world.step(1))
    assert world.tick == sum(steps) + done[1]


def test_snapshots_during_steps_of_another_thread_show_completed_ticks():
    world = kd.Stepper(np.zeros((4000, 2)), np.ones((4000, 2)), dt=1.0)
    taken = []

    def steps():
        world.step(3)
        time.sleep(1e-4)  # otherwise the other thread is always refused

    counts = repeat(steps, lambda: taken.append(world.snapshot()))
    twin = kd.Stepper(np.zeros((4000, 2)), np.ones((4000, 2)), dt=1.0)
    assert taken, counts
    for snapshot in taken[-50:]:
        twin.restore(snapshot)
        assert (twin.position == twin.tick).all()


# Uninitialized objects, and arrays whose shape changes.


def test_uninitialized_steppers_raise_instead_of_crashing():
    for cls in (kd.Stepper, kd.ODEStepper):
        blank = cls.__new__(cls)
        for call in (blank.step, blank.checksum, blank.snapshot, lambda blank=blank: blank.restore(b"")):
            with pytest.raises((RuntimeError, AttributeError)):
                call()
    for call in ("restart", "interpolate", "energy"):
        with pytest.raises(RuntimeError, match="never made"):
            getattr(kd.Stepper.__new__(kd.Stepper), call)()
    refused = kd.Stepper.__new__(kd.Stepper)
    with pytest.raises(ValueError, match="integrator"):
        refused.__init__([[0.0]], integrator="nonesuch")
    with pytest.raises(RuntimeError, match="never made"):
        refused.checksum()


@pytest.mark.parametrize(
    "make", [lambda: kd.Stepper([[1.0]], [[2.0]]), lambda: kd.ODEStepper([[1.0]], lambda t, y, out: None, dt=1)]
)
def test_a_second_init_is_refused_and_changes_nothing(make):
    world = make()
    before = world.snapshot()
    with pytest.raises(RuntimeError, match="made once"):
        world.__init__(np.zeros((5, 2)), kd.flows.Lorenz() if isinstance(world, kd.ODEStepper) else None)
    assert world.snapshot() == before
    world.step()


def reshape_in_place(array, shape):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5 advises against it
        array.shape = shape


@pytest.mark.parametrize("shape", [(12,), (2, 6), (12, 1)])
def test_a_changed_shape_of_the_callers_array_has_no_effect(Stepper, shape):
    position, twin = np.arange(12.0).reshape(4, 3), Stepper(np.arange(12.0).reshape(4, 3), np.ones((4, 3)))
    world = Stepper(position, np.ones((4, 3)))
    assert world.position is position
    reshape_in_place(position, shape)
    for stepper in (world, twin):
        stepper.step(2)
        stepper.teleport(1, (0.0, 1.0, 2.0))
        stepper.shift((1.0, 1.0, 1.0))
    assert world.snapshot() == twin.snapshot()
    assert world.checksum() == twin.checksum()
    assert_same_bits(world.interpolate(), twin.interpolate())
    world.restore(twin.snapshot())
    assert_same_bits(position.reshape(4, 3), twin.position)


def test_a_changed_shape_of_an_ode_array_has_no_effect(ODEStepper):
    y = np.arange(6.0).reshape(2, 3)
    world, twin = ODEStepper(y, kd.flows.Lorenz(), dt=0.01), ODEStepper(y.copy(), kd.flows.Lorenz(), dt=0.01)
    reshape_in_place(y, (6,))
    for stepper in (world, twin):
        stepper.step(2)
    assert world.snapshot() == twin.snapshot()


def test_ticks_stay_in_their_range(Stepper):
    world = Stepper(np.zeros((0, 2)))
    world.step(2**62 - 1)
    for n in (1, 2**62, 2**63, 10**30):
        with pytest.raises(ValueError, match=r"^n: expected at most 0 steps from tick"):
            world.step(n)
    assert world.tick == 2**62 - 1
    assert world.snapshot()


def test_an_interrupted_rollback_can_continue():
    for place in range(1, 10**4):
        world = swing()
        past = kd.Rollback(world, 8)
        past.resimulate(world.tick + 4)
        last = world.tick
        ended = not interrupted(lambda world=world, past=past: past.rollback(world.tick - 3), place)
        assert world.tick in (last, last - 3)
        past.resimulate(last)
        twin = swing()
        twin.step(last - twin.tick)
        assert world.checksum() == twin.checksum()
        if ended:
            break
    assert place > 10


def test_an_interrupted_call_does_not_leave_worlds_locked():
    worlds, place = kd.Worlds(kd.Stepper([[0.0]], [[1.0]], dt=0.5), 2), 1
    while interrupted(worlds.checksum, place):
        place += 1
        worlds.step(0)
    assert place > 5


def test_an_interrupted_resimulation_applies_inputs_once():
    def resimulate(past):
        past.resimulate(9, lambda world, tick: world.velocity.__iadd__(tick + 1.0))

    for place in range(1, 10**4):
        world = kd.Stepper([[0.0]], clock=kd.FixedClock(60, substeps=3))
        past = kd.Rollback(world)
        ended = not interrupted(lambda past=past: resimulate(past), place)
        resimulate(past)
        assert (world.tick, world.velocity.tolist()) == (9, [[1.0 + 4.0 + 7.0]])
        if ended:
            break
    assert place > 100
