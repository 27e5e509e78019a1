"""Changes of a running world: reused bindings have the right coefficients, and the time per change stays constant."""

import gc
import tracemalloc
from time import process_time

import numpy as np
import pytest
from plans import assert_same_bits

import kickdrift as kd
from kickdrift.stepper import entries


@pytest.mark.parametrize(("first", "second"), [(0.0, 2.0), (2.0, 0.0)])
def test_drag_that_begins_or_ends_between_interacting_bodies(Stepper, first, second):
    """A later call may reuse accelerations only if they do not depend on velocities, that is, without drag."""
    rng = np.random.default_rng(3)
    start = rng.normal(size=(2, 40, 2))
    drag = kd.LinearDrag(first, wind=(3.0, 1.0))
    worlds = [cls(*start.copy(), dt=0.1, forces=[kd.NBody(1.0, 0.1), drag]) for cls in (Stepper, kd.reference.Stepper)]
    for world in worlds:
        world.step(2)
        world.set(drag, coefficient=second)
        for _ in range(4):
            world.step()
    assert_same_bits(worlds[0].position, worlds[1].position)
    assert worlds[0].force_evaluations == worlds[1].force_evaluations


def test_numbers_of_events_after_constraints_without_bodies_change_places(Stepper):
    """The records do not change, but the number of their constraint does."""
    nothing, box = kd.Pin([]), kd.Box(0.0, 4.0)
    world = Stepper([[2.0]], [[4.0]], dt=0.5, constraints=[nothing, box], events=kd.Events())
    world.step(2)
    before = world.snapshot()
    world.remove(nothing)
    world.add(kd.Pin([]))
    world.step(2)
    after = world.snapshot()
    assert np.unique(world.events.take()["source"]).tolist() == [0, 1]
    for state, number in ((before, 1), (after, 0), (before, 1)):
        world.restore(state)
        world.step(2)
        assert np.unique(world.events.take()["source"]).tolist() == [number]


def test_joined_rods_and_their_breaks_keep_their_numbers(Stepper):
    """Rods that share a body form one record, which a change of the second rod must update."""
    rods = kd.Distance([(0, 1)], 1.0), kd.Distance([(1, 2)], 1.0, breaks_at=5.0)
    made = []
    for change in (False, True):
        second = kd.Distance([(1, 2)], 0.5 if not change else 1.0, breaks_at=5.0)
        world = Stepper(
            [[0.0], [1.0], [2.0]],
            dt=0.1,
            constraints=[rods[0], second],
            forces=[kd.Gravity((1.0,))],
            events=kd.Events(),
        )
        if change:
            world.set(second, length=0.5)
        world.step(3)
        made.append((world.snapshot(), world.events.take().tolist(), world.position, world.load(second).tolist()))
    assert_same_bits(made[0][2], made[1][2])
    assert made[0][1] == made[1][1]
    assert made[0][3] == made[1][3]


@pytest.mark.parametrize("uniform", [True, False])
def test_filters_that_are_set_equal_those_that_were_made(Stepper, uniform):
    """Filters change between uniform and per body, and between none and some."""
    category = 1 if uniform else np.array([1, 2, 4, 8])
    positions = np.array([[0.0], [1.0], [1.5], [2.0]])
    hits = kd.ElasticCollisions(0.6, category=category, mask=15)
    world = Stepper(positions.copy(), dt=0.1, constraints=[hits])
    for given in (
        {"category": 2, "index": [1]},
        {"mask": 3, "index": [0, 3]},
        {"category": 4},
        {"sensor": True, "index": 2},
    ):
        world.set(hits, **given)
        now = world.current(hits)
        other = Stepper(
            world.position.copy(), world.velocity.copy(), dt=0.1, constraints=[
                kd.ElasticCollisions(0.6, category=now.category, mask=now.mask, sensor=now.sensor)
            ]
        )  # fmt: skip
        world.step(2)
        other.step(2)
        assert_same_bits(world.position, other.position)
        assert_same_bits(world.velocity, other.velocity)


def test_a_change_leaves_the_rows_of_the_dead(Stepper):
    """Only the next step, and changes that write to the state, set rows of dead bodies to zero."""
    world = Stepper(np.zeros((3, 1)), dt=0.1, forces=[gravity := kd.Gravity((1.0,))], alive=1)
    world.position[2] = 7.0
    world.set(gravity, acceleration=(2.0,))
    assert world.position[2] == 7.0
    world.shift((1.0,))
    assert world.position.tolist() == [[1.0], [0.0], [0.0]]


def test_numbers_of_constraints_are_remembered_for_a_limited_time(Stepper, monkeypatch):
    monkeypatch.setattr(entries, "MOST_NUMBERINGS", 4)
    box = kd.Box(0.0, 4.0)
    world = Stepper([[2.0]], [[40.0]], dt=0.5, constraints=[box], events=kd.Events())
    states = []
    for number in range(20):
        pin = world.add(kd.Pin([]))
        states.append(world.snapshot())
        world.step()
        world.enable(pin, False)
        if number % 3 == 0:
            world.remove(box)  # twice in a tick
            world.add(box)
        world.step()
        world.remove(pin)
    assert len(world._numberings[0]) < 2 * 4
    events = world.events.take()
    with pytest.raises(ValueError, match="expected those after tick"):
        world.events.where(events, box)
    assert world.events.where(events[events["tick"] > 36], box).all()
    world.restore(states[-1])  # what followed is undone
    world.step(2)
    assert world.events.where(world.events.take(), box).all()
    world.restore(states[0])  # older than all remembered changes
    world.step(2)
    assert world.events.where(world.events.take(), box).all()


def test_numbers_of_constraints_after_going_back_before_several_changes(Stepper):
    pin, box = kd.Pin([]), kd.Box(0.0, 4.0)
    world = Stepper([[2.0]], [[40.0]], dt=0.5, constraints=[pin, box], events=kd.Events())
    start = world.snapshot()
    for enabled in (False, True, False):
        world.step(2)
        world.enable(pin, enabled)
    world.step(2)
    world.restore(start)
    world.step(3)
    world.enable(pin, False)
    world.step(3)
    events = world.events.take()
    assert np.unique(events["source"][events["tick"] <= 3]).tolist() == [1]
    assert world.events.where(events, box).all()


def test_a_wall_is_set_in_the_same_time_in_any_world():
    """Corners have no per-body arrays of their own that each change of a wall would have to rewrite."""
    times = []
    for n in (100, 100_000):
        floor = kd.Plane((0, 1), -1e4)
        walls = [floor, kd.Plane((1, 1), -1e4), kd.Box(-1e4, 1e4)]
        world = kd.Stepper(np.zeros((n, 2)), dt=0.1, constraints=walls)
        best = np.inf
        for k in range(40):
            start = process_time()
            world.set(floor, friction=k / 100)
            best = min(best, process_time() - start)
        times.append(best)
    assert times[1] < 3 * times[0]


def test_thousands_of_changes_cost_as_much_as_the_first():
    """Each change has its own tick, for whose events the numbers of the constraints are stored."""
    world = kd.Stepper(np.zeros((4, 1)), dt=0.1, events=kd.Events())
    gc.collect()

    def play(rounds):
        times = []
        for _ in range(rounds):
            start = process_time()
            world.remove(world.add(kd.Pin(0)))
            times.append(process_time() - start)
            world.step()
        return min(times)

    play(100)
    first = play(300)
    play(4500)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    play(1000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert play(300) < 1.5 * first
    assert grown < 1000 * 500  # bytes: each change stores constraint numbers, up to a limit
