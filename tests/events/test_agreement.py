"""Events of random scenes: on the reference and on every instruction set, in any chunks, the same."""

import numpy as np
import pytest
from plans import INTEGRATORS, outcome, said, told_resting_scene, told_scene

import kickdrift as kd
from kickdrift import kernels


def rows(world):
    return world.events.take().tobytes()


@pytest.mark.parametrize("draw", [told_scene, told_resting_scene])
@pytest.mark.parametrize("first", range(0, 240, 20))
def test_reference_and_kernels_agree(monkeypatch, first, draw):
    count = 0
    for seed in range(first, first + 20):
        drawn = draw(np.random.default_rng(seed), INTEGRATORS[seed % len(INTEGRATORS)])
        book = drawn.make(kd.reference.Stepper)
        failure = outcome(book, 8)
        touching, saved = (book.touching() if tracked(book) else None), book.snapshot()
        events = book.events.take()
        count += len(events)
        for isa in kernels.isas:
            monkeypatch.setattr(kernels, "isa", isa)
            with said(seed=seed, isa=isa):
                ours = drawn.make(kd.Stepper, threads=2)
                assert outcome(ours, 8) == failure
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
                for steps in (1, 3, 0, 4):
                    parts.step(steps)
                assert rows(parts) == events.tobytes()
    assert count > (400 if draw is told_scene else 100)


def tracked(world):
    return world._events.begin or world._events.end


@pytest.mark.parametrize("draw", [told_scene, told_resting_scene])
@pytest.mark.parametrize("seed", range(12))
def test_going_back_makes_them_anew(seed, draw):
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
