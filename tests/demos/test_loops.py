"""Command line: python -m kickdrift demo loops. The five game loops give results that can be computed by hand."""

import random

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import cli
from kickdrift.demos import loops


@pytest.fixture(scope="module")
def runs():
    return {loop.name: loops.run(loop) for loop in loops.LOOPS}


@pytest.fixture
def report(capsys):
    assert cli.main(["demo", "loops"]) == 0
    return capsys.readouterr().out


def tables(report):
    """Return the last two tables: the cells of each loop by its name."""
    blocks = report.split("\n\n")
    for block in (blocks[3], blocks[5]):
        lines = block.splitlines()
        names = [loop.name for loop in loops.LOOPS]
        assert [line[:8].strip() for line in lines[2:]] == names
        yield {name: [float(cell) for cell in line[8:].split()] for name, line in zip(names, lines[2:], strict=True)}


def test_frame_times_are_as_described():
    frames = loops.frames()
    assert frames == loops.frames()
    assert len(frames) == 2041
    assert sum(frames) == pytest.approx(21, abs=1e-12)
    for part, seconds in zip(loops.PARTS.values(), (1 / 60, 1.0, 1 / 144), strict=True):
        deviation = np.abs(np.array(frames[part]) - seconds)
        assert deviation.max() <= 2 * loops.NOISE + 1e-12
        assert part.stop - part.start == 1 or deviation.max() > loops.NOISE  # really uneven


def test_printed_calls_create_the_clocks_of_the_loops():
    for loop in loops.LOOPS:
        typed = eval(f"kd.{loop.call}", {"kd": kd})
        assert typed.state() == loop.clock().state()
        assert repr(typed) == repr(loop.clock())


def test_loops_1_and_2_run_with_the_display(runs):
    for name, n in (("1", 1), ("2", 4)):
        assert set(runs[name].steps) == {n}
        # 2041 periods of 1/60 s in 21 s.
        assert runs[name].drift[-1] == pytest.approx(2041 / 60 - 21)
        assert runs[name].clamped == runs[name].dropped == 0


def test_loop_2_with_substeps_gives_the_same_motion():
    forces = [kd.AnchorSpring.from_frequency(5.0)]
    steps, substeps = (
        kd.Stepper([[1.0]], clock=clock, forces=forces)
        for clock in (kd.FixedClock(240, policy="locked(4)"), kd.FixedClock(60, policy="locked(1)", substeps=4))
    )
    for seconds in loops.frames()[:100]:
        assert (steps.advance(seconds), substeps.advance(seconds)) == (4, 1)
        assert steps.checksum() == substeps.checksum()


def test_loop_3_is_unstable_in_the_long_frame(runs):
    energy = runs["3"].energy
    # One step of velocity Verlet with omega h = pi from (1, 0): x' = 1 - pi²/2, v'/omega = -pi (1 - pi²/4).
    # The exact value depends on the phase at the long frame, so only the magnitude is tested.
    assert abs(energy[599] - 1) < 0.05
    assert 10 < energy[600] < 100
    assert runs["3"].drift[-1] == pytest.approx(-(runs["3"].clamped + runs["3"].dropped), abs=1e-6)
    assert (runs["3"].clamped, runs["3"].dropped) == pytest.approx((0.75, 0.15), abs=1e-3)


def test_loop_4_falls_behind_by_the_dropped_time(runs):
    run = runs["4"]
    assert run.drift[-1] == pytest.approx(-(run.clamped + run.dropped), abs=1e-6)
    # At 144 Hz, one step of 1/240 s fits into a frame.
    assert run.speed("144 Hz") == pytest.approx(144 / 240, abs=1e-3)


@pytest.mark.parametrize("name", ["5", "5, match"])
def test_loop_5_accounts_for_all_time(runs, name):
    run = runs[name]
    waiting = -(run.drift[-1] + run.clamped + run.dropped)
    assert -0.25 / 60 <= waiting < 1.25 / 60
    assert run.dropped == pytest.approx(7 / 60)  # 8 of the 15 steps in the clamped 0.25 s are run
    assert run.speed("60 Hz") == pytest.approx(1, abs=0.003)
    assert np.ptp(run.energy) < 0.15


def test_match_runs_one_step_in_each_frame(runs):
    assert runs["5, match"].irregular("60 Hz") == 0
    assert runs["5"].irregular("60 Hz") > 200


def test_the_report_prints_the_measured_numbers(report, runs):
    steps, outcome = tables(report)
    for name, run in runs.items():
        slow, hitch, fast = (run.steps[part] for part in loops.PARTS.values())
        assert steps[name][5] == hitch[0]
        for cells, counts in ((steps[name][:5], slow), (steps[name][6:], fast)):
            none, several = sum(counts == 0), sum(counts > 1)
            assert cells == [counts.min(), pytest.approx(counts.mean(), abs=5e-4), counts.max(), none, several]
        seconds = [run.simulated[-1], run.drift[-1], run.clamped, run.dropped]
        assert outcome[name][:4] == pytest.approx(seconds, abs=5.1e-4)
        assert outcome[name][4:] == pytest.approx([run.energy[i] for i in (599, 600, -1)], abs=5.1e-3)
    assert max(map(len, report.splitlines())) <= 120


def test_the_conclusion_is_computed(report):
    verdict = " ".join(report.rsplit("\n\n", 1)[1].split())
    assert "the game runs 2.40 and 2.40 times as fast at 144 Hz" in verdict
    assert verdict.endswith("of the 600 frames at 60 Hz had 0 or 2 steps; under match 0.")


def test_the_global_random_state_is_not_changed():
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    loops.frames()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
