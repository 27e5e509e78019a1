"""Threads that share the stages of a large cloth: the same bits, whoever is late, and nothing lost."""

import signal
import threading
import time

import numpy as np
import pytest
from plans import DISTANCES, assert_same_state, mesh, said
from processes import python

import kickdrift as kd
from kickdrift.engine import runner

SIDE = 40  # 780 pairs of a colour, or a few less


def cloth(how="before", dtype=np.float64, dim=3, threads=1, side=SIDE, **more):
    position = np.random.default_rng(1).normal(0, 0.01, (side * side, dim))
    position[:, :2] += np.stack(np.divmod(np.arange(side * side), side), axis=-1) * 0.1
    rods = kd.Distance(mesh(side), length=0.1, iterations=10, order="coloured", **DISTANCES[how])
    arguments = {"dt": 0.01, "integrator": "velocity_verlet", "forces": [kd.Gravity((0, -9.81, 0)[:dim])]} | more
    arguments["constraints"] = [kd.Pin([0, side - 1]), rods, *arguments.get("constraints", [])]
    return kd.Stepper(position.astype(dtype), threads=threads, **arguments)


@pytest.fixture
def hired(monkeypatch):
    """How many threads each job was for."""
    sizes, share = [], runner.share

    def counted(calls):
        sizes.append(len(calls))
        share(calls)

    monkeypatch.setattr(runner, "share", counted)
    return sizes


def assert_same_worlds(one, other):
    assert one.tick == other.tick
    assert_same_state(one, other)


@pytest.mark.parametrize("how", DISTANCES)
@pytest.mark.parametrize(("dtype", "dim"), [(np.float32, 2), (np.float64, 3)])
def test_a_crew_changes_no_bit(isa, hired, how, dtype, dim):
    alone = cloth(how, dtype, dim)
    crews = {threads: cloth(how, dtype, dim, threads) for threads in (2, 3, 40)}
    for steps in (20, 1, 60):
        alone.step(steps)
        for threads, crew in crews.items():
            crew.step(steps)
            with said(threads=threads, steps=steps):
                assert_same_worlds(crew, alone)
    assert set(hired) == {2, 3}  # more would have too little to do


def test_in_a_periodic_box_and_where_bodies_come_and_go(hired):
    more = {"constraints": [kd.Periodic(-10.0, 10.0)], "alive": np.arange(SIDE * SIDE) % 97 != 0}
    alone, crew = cloth(**more), cloth(threads=2, **more)
    for turn in range(4):
        for world in (alone, crew):
            world.kill(np.flatnonzero(world.alive)[turn :: 60 + turn])
            world.step(20)
        assert_same_worlds(crew, alone)
    assert set(hired) == {2}


def test_deaths_that_leave_few_pairs(hired):
    more = {"constraints": [], "alive": np.ones(SIDE * SIDE, bool)}
    alone, crew = cloth(**more), cloth(threads=2, **more)
    for world in (alone, crew):
        world.kill(np.flatnonzero(np.arange(SIDE * SIDE) % 3 == 0))
        world.step(60)
    assert_same_worlds(crew, alone)


def test_two_kinds_of_pairs_and_what_comes_and_goes(hired):
    worlds = [cloth("after", threads=threads) for threads in (1, 2)]
    braces = kd.Distance([(0, SIDE + 1), (1, SIDE + 2)], compliance=0.1)
    for change in (lambda world: None, lambda world: world.add(braces), lambda world: world.remove(braces)):
        hired.clear()
        for world in worlds:
            change(world)
            world.step(30)
        assert set(hired) == {2}
        assert_same_worlds(*worlds)


def test_separate_rods_are_shared_in_any_order(hired):
    pairs = np.arange(2400).reshape(-1, 2)
    position = np.random.default_rng(1).normal(0, 10, (2400, 2))
    worlds = [
        kd.Stepper(position.copy(), threads=threads, constraints=[kd.Distance(pairs, length=1.0)]) for threads in (1, 2)
    ]
    for world in worlds:
        world.step(100)
    assert set(hired) == {2}
    assert_same_worlds(*worlds)


@pytest.mark.parametrize("slow", [False, True])
def test_a_force_sees_the_same_ticks(slow):
    """Also where it takes so long that helpers leave."""
    seen = [], []

    def watch(number):
        def force(t, position, velocity, out):
            seen[number].append(worlds[number].tick)
            if slow:
                time.sleep(0.02)

        return kd.Force(force)

    worlds = [cloth(threads=1 + number, forces=[watch(number)]) for number in range(2)]
    for world in worlds:
        world.step(8 if slow else 40)
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 4
    assert_same_worlds(*worlds)


def test_attraction_is_still_divided(hired):
    worlds = [cloth(threads=threads, forces=[kd.NBody(1e-9)]) for threads in (1, 2)]
    for world in worlds:
        world.step(3)
    assert len(hired) > 3
    assert_same_worlds(*worlds)


ENDS = """
import threading, time, numpy as np, kickdrift as kd
pairs = np.arange(2400).reshape(-1, 2)
position = np.random.default_rng(1).normal(0, 10, (2400, 2))
world = kd.Stepper(position, threads=2, constraints=[kd.Distance(pairs, length=1.0)])
threading.Thread(target=world.step, args=(10**9,), daemon=True).start()
time.sleep(0.3)
print(world.tick > 0)
"""


def test_an_interpreter_ends_while_a_crew_works():
    assert python(ENDS) == "True\n"


def test_few_pairs_are_nobodys_help(hired):
    cloth(threads=2, side=20).step(200)  # 190 of a colour
    cloth(threads=2).step(1)  # much, but not for long
    assert hired == []


@pytest.mark.parametrize("late", ["the helper", "the leader", "nobody helps"])
def test_whoever_is_late(monkeypatch, late):
    def share(calls):
        threads = [threading.Thread(target=call) for call in calls[1:]] if late != "nobody helps" else []
        if late == "the helper":
            threads = [threading.Timer(0.01, call) for call in calls[1:]]
        for thread in threads:
            thread.start()
        if late == "the leader":
            time.sleep(0.01)
        calls[0]()
        for thread in threads:
            thread.join()

    alone, crew = cloth(), cloth(threads=3)
    alone.step(100)
    monkeypatch.setattr(runner, "share", share)
    crew.step(100)
    assert_same_worlds(crew, alone)


class StruckError(Exception):
    pass


@pytest.mark.parametrize("begun", [0, 1, 2])
def test_who_is_struck_while_threads_are_hired_has_all_steps_done(monkeypatch, begun):
    def share(calls):
        for call in calls[:begun]:
            call()
        raise StruckError

    alone, crew = cloth(), cloth(threads=2)
    alone.step(30)
    monkeypatch.setattr(runner, "share", share)
    with pytest.raises(StruckError):
        crew.step(30)
    assert_same_worlds(crew, alone)
    monkeypatch.undo()
    for world in (alone, crew):
        world.step(30)
    assert_same_worlds(crew, alone)


@pytest.mark.signals
def test_ctrl_c_stops_a_crew_at_a_completed_tick():
    def strike(number, frame):
        raise StruckError

    crew, alone = cloth(threads=2), cloth()
    before = signal.signal(signal.SIGINT, strike)
    timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    try:
        timer.start()
        with pytest.raises(StruckError):
            crew.step(10**6)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert 0 < crew.tick < 10**6
    alone.step(crew.tick)
    assert_same_worlds(crew, alone)


def test_a_force_that_fails_leaves_the_last_completed_tick():
    def fails(t, position, velocity, out):
        if t > 0.355:
            raise StruckError

    worlds = [cloth(threads=threads, forces=[kd.Force(fails)]) for threads in (1, 2)]
    for world in worlds:
        with pytest.raises(StruckError):
            world.step(100)
    assert worlds[0].tick > 30
    assert_same_worlds(*worlds)
