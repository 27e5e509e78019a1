"""Resimulation: after an error nothing is applied twice; the loop of the pages is right with substeps."""

import re
from pathlib import Path

import numpy as np
import pytest

import kickdrift as kd

ROOT = Path(__file__).parents[2]


class TroubleError(Exception):
    pass


def tower(Stepper, trouble, substeps=1):
    """Return a stepper with an array of its own and room to spawn; `trouble(t)` is called in each of its ticks."""
    ammo = np.array([1000])
    world = Stepper(
        np.zeros((60, 2)),
        clock=Stepper._clock_type(8, substeps=substeps),
        forces=[kd.Gravity((0.0, -8.0)), kd.Force(lambda t, x, v, out: trouble(t), velocity_dependent=False)],
        alive=1,
        state={"ammo": ammo},
        events=kd.Events(),
        constraints=[kd.Box((-9.0, -1.0), (9.0, 9.0), restitution=0.5)],
    )
    return world, ammo


@pytest.mark.parametrize("error", [TroubleError, KeyboardInterrupt])
@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize("place", ["before", "between", "after", "step"])
def test_after_an_error_the_inputs_of_a_tick_are_applied_once(Stepper, place, substeps, error):
    """Regression: inputs of the failed tick were applied again, on top of what they had changed."""
    ends = []
    for failing in (False, True):
        left = [2, 5, 5, 7] if failing else []  # numbers of the steps of the clock that fail, one for each time

        def fail(where, tick, left=left):
            if left and (where, tick) == (place, left[0] * substeps + (substeps - 1) * (where == "step")):
                del left[0]
                raise error

        world, ammo = tower(Stepper, lambda t, fail=fail: fail("step", round(t * 8 * substeps)), substeps)
        past = kd.Rollback(world)
        heard = []

        def inputs(stepper, tick, fail=fail, ammo=ammo, heard=heard):
            fail("before", tick)
            stepper.velocity[0] += (1.0, len(stepper.events.of(tick, substeps)))
            ammo[0] -= tick
            fail("between", tick)
            stepper.spawn([(0.0, tick)])
            heard.append(tick)
            fail("after", tick)

        while world.tick < 10 * substeps:
            try:
                past.resimulate(10 * substeps, inputs)
            except error:
                assert world.tick % substeps == 0
                assert world.count == 1 + world.tick // substeps
        assert not left
        assert sorted(set(heard)) == [substeps * each for each in range(10)]
        ends.append(
            (world.snapshot(), past.events(world.tick).tobytes(), past.ticks, [past.checksum(t) for t in past.ticks])
        )
    assert ends[0] == ends[1]
    assert len(ends[0][1]) > 0


def test_after_an_error_an_ode_stepper_is_whole(ODEStepper):
    world = ODEStepper([[0.0]], kd.flows.Expression(x="0 * x"), dt=0.5)
    past, once = kd.Rollback(world), [3]

    def inputs(stepper, tick):
        stepper.y += 1
        if tick in once:
            once.clear()
            raise TroubleError

    with pytest.raises(TroubleError):
        past.resimulate(6, inputs)
    assert (world.tick, world.y.tolist()) == (3, [[3.0]])
    past.resimulate(6, inputs)
    assert (world.tick, world.y.tolist()) == (6, [[6.0]])


def test_a_completed_step_is_kept_though_it_raises(Stepper):
    """The state overflows in a step, which is complete: nothing is undone, and its number is in the error."""
    world = Stepper([[0.0]], [[1e308]], dt=1)

    def inputs(stepper, tick):
        stepper.velocity[0] = 1e308

    past = kd.Rollback(world)
    with pytest.raises(kd.NonFiniteError):
        past.resimulate(6, inputs)
    assert world.tick == 2
    assert world.position.tolist() == [[np.inf]]


def test_after_an_error_sync_test_leaves_no_part_of_an_input(Stepper):
    world = Stepper([[0.0]], dt=1)

    def inputs(stepper, tick):
        stepper.velocity += 1
        if tick == 3:
            raise TroubleError

    with pytest.raises(TroubleError):
        kd.sync_test(world, 6, inputs=inputs)
    assert (world.tick, world.velocity.tolist()) == (3, [[3.0]])


@pytest.mark.parametrize("substeps", [1, 4])
def test_the_loop_of_the_page_runs_at_the_speed_of_the_clock(substeps):
    """Regression: with substeps it ran one tick for each step of the clock, four times too slow."""
    page = (ROOT / "docs/rollback.md").read_text()
    loop = page[page.index("import kickdrift") : page.index("now = world.tick")]
    names = {}
    exec(loop.replace("kd.FixedClock(60)", f"kd.FixedClock(60, substeps={substeps})"), names)
    world = names["world"]
    assert (world.clock.substeps, world.clock.tick) == (substeps, 6)
    assert world.tick == 6 * substeps
    assert names["past"].ticks == [*range(0, 6 * substeps, substeps)]


def test_no_page_runs_a_part_of_a_step_of_the_clock():
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.py"), ROOT / "README.md"]
    assert len(pages) > 30
    assert not [page.name for page in pages if re.search(r"resimulate\(\w+\.tick \+ 1\b", page.read_text())]
