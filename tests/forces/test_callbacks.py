"""Forces that are Python functions: bitwise equal to the terms they imitate, and robust against errors."""

import gc
import sys
import threading
import weakref
from functools import cache

import numpy as np
import pytest
from plans import INTEGRATORS, LAYOUTS, assert_same_state, compare_with_reference, scene

import kickdrift as kd

# Integrators that support Python functions.
TAKES = [i for i in INTEGRATORS if not isinstance(i, (kd.Exact, kd.EnergyEuler, kd.ImplicitEuler))]


def gravity(g):
    def function(t, position, velocity, out):
        out[:] = g

    return function


def drag(c):
    def function(t, position, velocity, out):
        out[:] = -(c * velocity)

    return function


def spring(k, p):
    def function(t, position, velocity, out):
        out[:] = -(k * (position - p))

    return function


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", TAKES, ids=repr)
def test_callbacks_equal_the_terms_they_imitate(Stepper, integrator, dtype):
    rng = np.random.default_rng(2)
    g, p = np.array([0.5, -9.81], dtype), np.array([0.25, 1.0], dtype)
    pairs = [
        (kd.Gravity(g), kd.Acceleration(gravity(g), velocity_dependent=False)),
        (kd.LinearDrag(0.5), kd.Force(drag(dtype(0.5)))),
        (kd.AnchorSpring(3.0, anchor=p), kd.Force(spring(dtype(3.0), p), velocity_dependent=False)),
    ]
    for term, function in pairs:
        states = []
        for force in (term, function):
            position = rng.normal(size=(5, 2)).astype(dtype)
            rng = np.random.default_rng(2)
            position, velocity = (rng.normal(size=(5, 2)).astype(dtype) for _ in range(2))
            stepper = Stepper(position, velocity, dt=0.03, integrator=integrator, forces=[force])
            stepper.step(3)
            stepper.step(9)
            states.append(stepper)
        assert_same_state(states[1], states[0])
        assert states[0].force_evaluations == states[1].force_evaluations


def mixed(dim):
    """Create a callback that uses all of its arguments, with + - * / only."""

    def function(t, position, velocity, out):
        out[:, 0] = t - position[:, -1] * velocity[:, 0]
        out[:] += position[::-1] / (1 + velocity * velocity)

    return function


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, in a callback whose world overflows
@pytest.mark.parametrize("number", range(0, 120, 12))
def test_kernels_equal_the_reference(monkeypatch, number):
    def make(seed, rng):
        drawn = scene(rng, TAKES[seed % len(TAKES)], n=int(rng.choice([1, 2, 3, 17])))
        forces = [kd.Force(mixed(drawn.position.shape[1])), kd.Acceleration(gravity(0.5), False)]
        drawn.arguments["forces"] += forces
        return drawn

    compare_with_reference(monkeypatch, make, range(number, number + 12))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_do_not_change_results(isa, layout):
    rng = np.random.default_rng(8)
    drawn = scene(rng, kd.Verlet(), n=500, dtype=np.float64)
    forces = [kd.Force(mixed(drawn.position.shape[1]))]
    row, other = drawn.make(kd.Stepper, "row", forces=forces), drawn.make(kd.Stepper, layout, forces=forces)
    for stepper in (row, other):
        stepper.step(5)
    assert_same_state(other, row)


def driven(t, position, velocity, out):
    """x'' = -x + sin(2 t) - v/5, with libm's sine: only the evaluation times are under test here."""
    out[:] = np.sin(2 * t) - position - velocity / 5


def end_of_driven(steps, integrator):
    body = kd.Stepper([[1.0]], [[0.0]], dt=1 / steps, integrator=integrator, forces=[kd.Force(driven)])
    body.step(5 * steps)
    return body.position[0, 0]


@cache
def true_end_of_driven(isa):
    return end_of_driven(1024, "rk4")


@pytest.mark.parametrize("integrator", TAKES, ids=repr)
def test_order_under_a_time_dependent_force(isa, integrator):
    order = integrator.order_with_drag
    coarse = {1: 256, 2: 64, 4: 16, 6: 4}[order]
    errors = [abs(end_of_driven(steps, integrator) - true_end_of_driven(isa)) for steps in (coarse, 2 * coarse)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_the_times_passed_to_a_callback(Stepper):
    told = []

    def listen(t, position, velocity, out):
        told.append(t)

    for integrator, expected in (
        ("explicit_euler", [0]),
        (kd.SemiImplicitEuler(form="drift_kick"), [0.5]),
        (kd.SemiImplicitEuler(form="alternate"), [0, 1.0]),
        ("midpoint", [0, 0.25]),
        ("heun", [0, 0.5]),
        ("rk4", [0, 0.25, 0.25, 0.5]),
        ("velocity_verlet", [0, 0.5]),
        ("leapfrog", [0.25, 0.25]),
    ):
        told.clear()
        Stepper([[0.0]], dt=0.5, integrator=integrator, forces=[kd.Force(listen)]).step(2)
        assert told[: len(expected)] == expected, integrator
        told.clear()
        later = Stepper([[0.0]], dt=0.5, integrator=integrator, forces=[kd.Force(listen)])
        later.step(4)
        told.clear()
        later.step(2)
        assert told[: len(expected)] == [2.0 + t for t in expected], integrator


class BoomError(Exception):
    pass


@pytest.mark.parametrize("integrator", TAKES, ids=repr)
def test_an_exception_leaves_the_last_completed_tick(Stepper, integrator):
    calls = 0

    def fragile(t, position, velocity, out):
        nonlocal calls
        calls += 1
        if calls == 23:
            raise BoomError("on the 23rd call")
        out[:] = -position

    def make(function):
        return Stepper([[1.0, 0.5]], [[0.0, 1.0]], dt=0.01, integrator=integrator, forces=[kd.Force(function)])

    broken = make(fragile)
    broken.step(0)
    with pytest.raises(BoomError, match="23rd"):
        broken.step(100)
    whole = make(spring(1.0, 0.0))
    assert 0 <= broken.tick < 23
    whole.step(broken.tick)
    if broken.tick:
        assert broken.snapshot()[64:] == whole.snapshot()[64:] or broken.checksum() == whole.checksum()
    broken.step(3)
    whole.step(3)
    assert broken.checksum() == whole.checksum()


def test_invalid_callbacks_are_explained(Stepper):
    def returns(t, position, velocity, out):
        return -position

    body = Stepper([[1.0]], [[2.0]], forces=[kd.Force(returns)])
    with pytest.raises(TypeError, match=r"Force\(function\): expected it to write into `out`.*return None"):
        body.step()
    assert (body.tick, body.position[0, 0]) == (0, 1.0)

    def writes_elsewhere(t, position, velocity, out):
        position[:] = 0

    with pytest.raises(ValueError, match="read-only"):
        Stepper([[1.0]], forces=[kd.Force(writes_elsewhere)]).step()

    def wrong_shape(t, position, velocity, out):
        out[:] = np.zeros(5)

    with pytest.raises(ValueError, match="broadcast"):
        Stepper([[1.0, 2.0]], forces=[kd.Force(wrong_shape)]).step()
    for bad in (None, 5, "f"):
        with pytest.raises(TypeError, match=r"Force\(function\): expected a function"):
            kd.Force(bad)
        if bad is not None:
            with pytest.raises(TypeError, match=r"potential\): expected a function"):
                kd.Force(returns, potential=bad)
    with pytest.raises(TypeError, match=r"velocity_dependent\): expected True or False"):
        kd.Force(returns, velocity_dependent="no")
    for integrator in ("exact", "energy_euler"):
        with pytest.raises(ValueError, match=f"integrator: {integrator} takes.*Force"):
            Stepper([[1.0]], integrator=integrator, forces=[kd.Force(drag(1.0))])


def test_undeclared_velocity_dependence_is_detected(Stepper):
    with pytest.raises(ValueError, match=r"Force\(velocity_dependent\): expected True"):
        Stepper([[1.0], [2.0]], forces=[kd.Force(drag(0.1), velocity_dependent=False)])
    Stepper([[1.0], [2.0]], forces=[kd.Force(spring(1.0, 0.0), velocity_dependent=False)])
    Stepper(np.zeros((0, 2)), forces=[kd.Force(drag(0.1), velocity_dependent=False)]).step(3)


def test_nan_from_a_callback_is_reported(Stepper):
    def poison(t, position, velocity, out):
        out[1] = np.nan

    bodies = Stepper([[1.0], [2.0], [3.0]], forces=[kd.Force(poison)])
    with pytest.raises(kd.NonFiniteError) as caught:
        bodies.step(2)
    assert caught.value.body == 1
    assert bodies.tick == 1


def test_a_callback_cannot_step_its_own_stepper(Stepper):
    def recursive(t, position, velocity, out):
        body.step()

    body = Stepper([[1.0]], forces=[kd.Force(recursive)])
    with pytest.raises(RuntimeError, match="stepping already"):
        body.step()
    assert body.tick == 0


def test_callbacks_cannot_resize_or_delete_arrays(isa):
    def vandal(t, position, velocity, out):
        with pytest.raises(ValueError, match="resize"):
            out.resize((100, 100))
        with pytest.raises(AttributeError):
            del bodies.position

    bodies = kd.Stepper(np.zeros((3, 2)), forces=[kd.Force(vandal)])
    bodies.step(2)


def test_infinite_masses_are_not_moved(Stepper):
    for term in (kd.Force(gravity(5.0), False), kd.Acceleration(gravity(5.0), False)):
        pair = Stepper([[0.0], [0.0]], [[1.0], [1.0]], mass=[np.inf, 2.0], dt=1, forces=[term])
        pair.step(3)
        assert pair.velocity[0, 0] == 1.0
        assert pair.velocity[1, 0] == 1.0 + 3 * (2.5 if term.divided_by_mass else 5.0)


def test_potentials_of_callbacks(Stepper):
    def height(position):
        return 9.0 * position[:, 1]

    for term, expected in (
        (kd.Force(gravity(0.0), False, potential=height), 9.0 * 2),
        (kd.Acceleration(gravity(0.0), False, potential=height), 3.0 * 9.0 * 2),
    ):
        assert Stepper([[1.0, 2.0]], mass=3.0, forces=[term]).energy() == (0.0, expected)
    with pytest.raises(ValueError, match="Force has no potential"):
        Stepper([[1.0, 2.0]], forces=[kd.Force(gravity(0.0))]).energy()
    with pytest.raises(ValueError, match=r"Force\(potential\): expected it to return shape \(1,\)"):
        Stepper([[1.0, 2.0]], forces=[kd.Force(gravity(0.0), potential=lambda x: x)]).energy()


def test_callbacks_see_the_current_tick(Stepper):
    ticks = []

    def watch(t, position, velocity, out):
        ticks.append(body.tick)

    body = Stepper([[1.0]], integrator="explicit_euler", forces=[kd.Force(watch)])
    body.step(3)
    assert ticks == [0, 1, 2]


def test_callbacks_in_frames_and_rollback(Stepper):
    force = kd.Force(spring(20.0, 0.0), velocity_dependent=False)
    body = Stepper([[1.0]], dt=1 / 60, forces=[force])
    assert body.advance(0.1) == 6
    assert body.interpolate(0.0).tolist() != body.position.tolist()
    kd.sync_test(body, frames=20)
    count = 0

    def counts(t, position, velocity, out):
        nonlocal count
        count += 1
        out[:] = count * 1e-3

    with pytest.raises(kd.DesyncError):
        kd.sync_test(Stepper([[1.0]], forces=[kd.Force(counts)]), frames=20)


def test_steppers_with_callbacks_in_several_threads(isa):
    def run(results, number):
        body = kd.Stepper([[1.0]], dt=0.01, forces=[kd.Force(spring(4.0, 0.0), False)])
        body.step(500)
        results[number] = body.checksum()

    results = {}
    threads = [threading.Thread(target=run, args=(results, number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results.values())) == 1


def test_callbacks_leak_no_references(isa):
    function = spring(4.0, 0.0)
    body = kd.Stepper(np.ones((3, 2)), forces=[kd.Force(function)])
    body.step(10)
    before = sys.getrefcount(function), sys.getrefcount(None)
    body.step(50_000)
    after = sys.getrefcount(function), sys.getrefcount(None)
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 1000
    gone = weakref.ref(body.position)
    del body
    gc.collect()
    assert gone() is None


def test_function_names_that_cannot_be_encoded(Stepper):
    def force(t, position, velocity, out):
        out[:] = 1

    force.__qualname__ = force.__name__ = force.__module__ = "\ud800"
    stepper = Stepper([[0.0]], forces=[kd.Force(force)])
    stepper.restore(stepper.snapshot())
    assert repr(stepper).encode()
