"""A stepper creates its clock at first use; snapshots do not depend on whether that has happened."""

import pytest

import kickdrift as kd


def advance_by_a_negative_time(world):
    with pytest.raises(ValueError, match="seconds: expected a finite number of at least 0"):
        world.advance(-1.0)


LOOKS = [lambda world: world.clock, lambda world: world.alpha, lambda world: world.advance(0.0)]


@pytest.mark.parametrize("look", [*LOOKS, advance_by_a_negative_time], ids=["clock", "alpha", "no time", "refused"])
def test_looking_at_the_clock_changes_no_snapshot(Stepper, look):
    world = Stepper([[0.0]], [[1.0]], hz=60)
    before = world.snapshot()
    look(world)
    assert world.snapshot() == before


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("clock", [None, 60])
def test_restart_takes_the_clock_back(Stepper, looks, clock):
    """Restoring the first snapshot resets the clock, whether or not the clock was read before."""
    clocks = kd.reference.FixedClock if Stepper is kd.reference.Stepper else kd.FixedClock
    world = Stepper([[0.0]], [[1.0]], **({"hz": 60} if clock is None else {"clock": clocks(clock)}))
    if looks:
        assert world.clock.tick == 0
    start = world.snapshot()
    for _ in range(2):
        assert world.advance(0.1) == 6
    later = world.snapshot()
    world.restore(start)
    assert (world.tick, world.clock.tick, world.clock.time) == (0, 0, 0.0)
    assert world.advance(0.1) == 6
    assert (world.clock.tick, world.clock.time) == (6, 0.1)
    world.restore(later)
    assert (world.tick, world.clock.tick) == (12, 12)
