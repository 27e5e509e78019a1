"""Events of a declaration are found after others were added, removed and disabled."""

import copy

import numpy as np
import pytest

import kickdrift as kd


def test_numbers_that_change(Stepper):
    floor, ceiling, goal = kd.Plane((0, 1), 0.0), kd.Plane((0, -1), -2.0), kd.Sensor((-1, 0.5), (1, 1.5))
    world = Stepper([[0.0, 1.0]], [[0.0, 1.0]], dt=0.5, constraints=[floor, goal, ceiling], events=kd.Events())
    world.step(8)  # the time from the floor to the ceiling and back
    world.remove(floor)
    shelf = world.add(kd.Plane((0, 1), 0.0, friction=0.1))
    world.step(8)
    world.enable(goal, False)
    world.step(8)
    world.enable(goal)
    world.step(8)
    events = world.events.take()
    hits = events[events["kind"] == kd.HIT]
    down = hits["normal"][:, 1] < 0
    assert world.events.where(hits, ceiling).tolist() == (~down).tolist()
    assert world.events.where(hits, floor).tolist() == (down & (hits["tick"] <= 8)).tolist()
    assert world.events.where(hits, shelf).tolist() == (down & (hits["tick"] > 8)).tolist()
    assert len(hits) == 8
    entered = events[np.isin(events["kind"], [kd.ENTER, kd.LEAVE])]
    assert world.events.where(entered, goal).all()
    assert not ((entered["tick"] > 17) & (entered["tick"] <= 24)).any()
    assert world.events.where(events[:0], goal).shape == (0,)


def test_going_back(Stepper):
    goal, floor = kd.Sensor((-1, 0.5), (1, 1.5)), kd.Plane((0, 1), 0.0)
    world = Stepper([[0.0, 2.0]], [[0.0, -1.0]], dt=0.5, constraints=[floor, goal], events=kd.Events())
    start = world.snapshot()
    for _ in range(2):
        world.remove(floor)
        world.step(1)
        without = world.snapshot()
        floor = world.add(kd.Plane((0, 1), 0.0))
        world.step(6)
        events = world.events.take()
        assert events["source"].tolist()[0] == 0
        assert world.events.where(events, goal).tolist() == np.isin(events["kind"], [kd.ENTER, kd.LEAVE]).tolist()
        assert world.events.where(events, floor).tolist() == (events["kind"] <= kd.END).tolist()
        world.restore(without)
        world.step(8)
        gone = world.events.take()
        assert world.events.where(gone, goal).all()
        assert len(gone) == 1
        other = copy.copy(world)
        other.restore(start)
        world.restore(start)
        floor = world.constraints[0]
    assert len(other.constraints) == 2


def test_parts_of_contacts_and_contacts_now(Stepper):
    left, right, floor = kd.Boxes([(-5, -1)], [(-1, 0)]), kd.Boxes([(1, -1), (6, -1)], [(5, 0), (9, 0)]), kd.Box(-9, 9)
    world = Stepper([[-3.0, 1.0], [7.0, 1.0]], constraints=[kd.Contacts(1.0, walls=[floor], shapes=[left, right])])
    found = world.touching()
    assert found["shape"].tolist() == [0, 1]
    where = world.events.where
    assert where(found, left).tolist() == [True, False]
    assert where(found, right).tolist() == [False, True]
    assert where(found, floor).tolist() == [False, False]
    assert where(found, world.constraints[0]).all()


def test_wrong_arguments(Stepper):
    world = Stepper([[0.0]], constraints=[kd.Box(0, 9)], events=kd.Events())
    with pytest.raises(ValueError, match="declaration: expected a constraint that this stepper has or had"):
        world.events.where(world.touching(), kd.Box(0, 9))
    with pytest.raises(TypeError, match="declaration: expected a constraint, got"):
        world.events.where(world.touching(), 3)
    with pytest.raises(TypeError, match="events: expected events or contacts"):
        world.events.where([1, 2], world.constraints[0])
