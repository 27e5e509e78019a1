"""Events of random scenes are equal on the reference and every instruction set, however steps are split into calls."""

import numpy as np
import pytest
from plans import INTEGRATORS, each_isa, level_scene, most_steps, outcome, said, told_resting_scene, told_scene

import kickdrift as kd
from kickdrift import kernels


def rows(world):
    return world.events.take().tobytes()


@pytest.mark.parametrize("draw", [told_scene, told_resting_scene, level_scene])
@pytest.mark.parametrize("first", range(0, 160, 20))
def test_events_of_reference_and_kernels_agree(monkeypatch, first, draw):
    count = 0
    for seed in range(first, first + 20):
        drawn = draw(np.random.default_rng(seed), INTEGRATORS[seed % len(INTEGRATORS)])
        steps = most_steps(seed, len(drawn.position), many=8)
        book = drawn.make(kd.reference.Stepper)
        failure = outcome(book, steps)
        touching, saved = (book.touching() if tracked(book) else None), book.snapshot()
        events = book.events.take()
        count += len(events)
        for isa in each_isa(monkeypatch):
            with said(scene=drawn, seed=seed, isa=isa):
                ours = drawn.make(kd.Stepper, threads=2)
                assert outcome(ours, steps) == failure
                if failure:
                    continue
                found = ours.events.take()
                assert found.dtype == events.dtype
                assert found.tobytes() == events.tobytes()
                assert ours.events.dropped == book.events.dropped
                assert ours.snapshot() == saved
                if touching is not None:
                    assert ours.touching().tobytes() == touching.tobytes()
                parts = drawn.make(kd.Stepper, "component")
                for part in (1, 0, (steps - 1) // 2, steps - 1 - (steps - 1) // 2):
                    parts.step(part)
                assert rows(parts) == events.tobytes()
    assert count > (400 if draw is told_scene else 100)


def tracked(world):
    return world._events.begin or world._events.end


@pytest.mark.parametrize("draw", [told_scene, told_resting_scene, level_scene])
@pytest.mark.parametrize("seed", range(12))
def test_events_are_recreated_after_a_restore(seed, draw):
    drawn = draw(np.random.default_rng(seed), "velocity_verlet")
    world, straight = drawn.make(kd.Stepper), drawn.make(kd.Stepper)
    straight.step(10)
    world.step(4)
    saved = world.snapshot()
    world.step(5)
    world.restore(saved)
    world.step(6)
    assert rows(world) == rows(straight)
    assert world.checksum() == straight.checksum()


def exhaustive_search(x, v, dt, ticks):
    """Return (tick, slot_a, slot_b, kind, time) of touches of discs of diameter 1 m in free flight, by the formula."""
    found = []
    for tick in range(1, ticks + 1):
        start = (tick - 1) * dt
        for i in range(len(x)):
            for j in range(i + 1, len(x)):
                d, u = (x + start * v)[j] - (x + start * v)[i], v[j] - v[i]
                under_root = (d @ u) ** 2 - u @ u * (d @ d - 1)
                if not under_root > 0:
                    continue
                first, last = ((-d @ u + sign * under_root**0.5) / (u @ u) for sign in (-1, 1))
                if 0 < first <= dt:
                    if -(d + first * u) @ u > 0.5:
                        found.append((tick, i, j, int(kd.HIT), start + first))
                    found.append((tick, i, j, int(kd.BEGIN), start + first))
                if 0 < last <= dt:
                    found.append((tick, i, j, int(kd.END), start + last))
    return sorted(found)


def test_restore_keeps_pending_events_of_earlier_ticks(Stepper):
    """A ball hits a side of its box in each tick."""
    world = Stepper(
        [[0.5]], [[1.0]], dt=1.0, constraints=[kd.Box(0.0, 1.0, 1.0)], events=kd.Events(begin=False, end=False)
    )
    world.step(3)
    saved = world.snapshot()
    world.step(2)
    world.restore(saved)
    world.step()
    assert world.events.take()["tick"].tolist() == [1, 2, 3, 4]


def test_dropped_events_stay_counted_after_a_restore(Stepper):
    """Four wall events per tick exceed a capacity of one; the tick is simulated twice."""
    box = kd.Box((-1, -1), (1, 1))
    asked = kd.Events(1, begin=False, end=False)
    world = Stepper([[0.9, 0.9], [-0.9, -0.9]], [[1.0, 1.0], [-1.0, -1.0]], dt=0.5, constraints=[box], events=asked)
    start = world.snapshot()
    world.step()
    assert world.events.dropped == 3
    world.restore(start)
    assert (world.events.dropped, len(world.events.take())) == (3, 0)
    world.step()
    assert (world.events.dropped, len(world.events.take())) == (6, 1)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_events_equal_those_of_an_exhaustive_search(monkeypatch, dim):
    rng = np.random.default_rng(dim)
    cells = np.stack(np.meshgrid(*[np.arange({1: 30, 2: 6, 3: 3}[dim])] * dim), axis=-1).reshape(-1, dim)
    x, v = 2.0 * cells, 4 * rng.normal(size=cells.shape)
    expected = exhaustive_search(x, v, 1 / 16, 24)
    assert len(expected) > 15
    passing = [kd.ElasticCollisions(0.5, sensor=True, swept=True)]
    for cls, isa in [(kd.reference.Stepper, kernels.isas[0]), *((kd.Stepper, isa) for isa in kernels.isas)]:
        monkeypatch.setattr(kernels, "isa", isa)
        world = cls(x.copy(), v.copy(), dt=1 / 16, constraints=passing, events=kd.Events())
        world.step(24)
        found = world.events.take()
        assert found[["tick", "slot_a", "slot_b", "kind"]].tolist() == [row[:4] for row in expected]
        assert found["time"] == pytest.approx([row[4] for row in expected], abs=1e-9)


def test_the_impulse_of_a_region_is_0_at_any_speed(Stepper):
    """The impulse is 0 even if the square of the speed overflows; regions have no normal."""
    world = Stepper(
        np.array([[-5e29]], np.float32),
        np.array([[1e30]], np.float32),
        dt=1,
        integrator="explicit_euler",
        constraints=[kd.Sensor(0.0, 9.0)],
        events=kd.Events(),
    )
    world.step()
    events = world.events.take()
    assert events["kind"].tolist() == [kd.ENTER, kd.LEAVE]
    assert events["speed"].tolist() == [np.inf, np.inf]
    assert events["impulse"].tolist() == [0, 0]
    assert events["normal"].tolist() == [[0], [0]]


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_events_are_sorted_by_the_number_of_the_constraint(Stepper, friction):
    """The order is not that of acting: constraints act by kind, and a Box acts in its corners first."""
    world = Stepper(
        [[0.0, 0.75], [1.0, 0.75], [4.25, 3.0]],
        [[1.0, -20.0], [0.0, -20.0], [20.0, 0.0]],
        dt=1 / 64,
        forces=[kd.Gravity((0, -1))],
        constraints=[
            kd.Sensor((-5, -5), (5, 5)),
            kd.Boxes([(-9, -1)], [(9, 0)], radius=0.5),
            kd.Box((-5, -50), (5, 50), radius=0.5, friction=friction),
            kd.ElasticCollisions(0.5),
        ],
        events=kd.Events(),
    )
    world.step(9)
    found = world.events.take()[["tick", "source", "slot_a", "slot_b", "kind"]].tolist()
    assert {source for _, source, *_ in found} == {0, 1, 2, 3}
    assert found == sorted(found)
