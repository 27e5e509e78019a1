"""Game of the tutorial: each page equals its program, and each part runs with a fake pygame."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from engines import Frames, fake_pygame

import kickdrift as kd

ROOT = Path(__file__).parents[2]
PARTS = ("ball", "paddle", "bricks", "levels", "rollback")


def follow(world):
    return world.position[0, 0] + 0.3 * np.sin(world.tick / 30)


def play(monkeypatch, part, frames, mouse=follow, edits=None, **given):
    """Run a part for some frames; return its variables. mouse: function of the world, wanted paddle position in m."""
    shown = Frames(frames)
    pygame = fake_pygame(shown)
    names = {"__name__": "__main__"}
    pygame.mouse.get_pos = lambda: (60 * mouse(names["world"]), 0)
    vars(pygame).update(given)
    monkeypatch.setitem(sys.modules, "pygame", pygame)
    program = (ROOT / "examples" / "tutorial" / f"{part}.py").read_text(encoding="utf-8")
    for old, new in (edits or {}).items():
        assert old in program
        program = program.replace(old, new)
    exec(program, names)
    return names | {"drawn": shown.drawn}


@pytest.mark.parametrize("part", PARTS)
def test_the_blocks_of_a_page_are_the_program(part):
    page = (ROOT / "docs" / f"tutorial-{part}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    program = (ROOT / "examples" / "tutorial" / f"{part}.py").read_text(encoding="utf-8")
    assert list(filter(None, "".join(blocks).splitlines())) == list(filter(None, program.splitlines()))


def test_the_ball_stays_in_the_box_and_keeps_its_speed(monkeypatch):
    game = play(monkeypatch, "ball", 600)
    assert np.linalg.norm(game["world"].velocity) == pytest.approx(np.hypot(3, 6.5), rel=1e-12)
    drawn = np.array([frame[0] for frame in game["drawn"]])
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    assert (low >= 9).all()  # 0.15 m are 9 pixels
    assert (high <= (711, 531)).all()
    assert (high - low > 500).all()


def test_the_paddle_returns_the_ball(monkeypatch):
    game = play(monkeypatch, "paddle", 1500)
    assert game["lives"] == 3
    assert np.linalg.norm(game["world"].velocity[0]) == pytest.approx(7)


def test_who_misses_loses_lives(monkeypatch):
    game = play(monkeypatch, "paddle", 3000, mouse=lambda world: 12 - world.position[0, 0])
    assert game["lives"] == 0
    assert len(game["drawn"]) < 3000


@pytest.mark.parametrize("part", ["bricks", "levels"])
def test_bricks_count_and_restart_brings_them_back(monkeypatch, part):
    game = play(monkeypatch, part, 1500)
    score, left = game["game"][0], game["there"].sum()
    assert score == 10 * (32 - left) > 50
    assert np.array_equal(game["world"].current(game["bricks"]).enabled, game["there"])
    game["world"].restore(game["start"], clock=True)
    assert game["game"][:2].tolist() == [0, 3]
    assert game["there"].all()


def test_keys_pause_and_restart(monkeypatch):
    pressed = {40: 112, 80: 112, 120: 114}  # pause, go on, restart
    ticks, frames = [], iter(range(200))

    def events():
        frame = next(frames)
        if frame == 150:
            return [SimpleNamespace(type=256)]
        return [SimpleNamespace(type=768, key=pressed[frame])] if frame in pressed else []

    def mouse(world):
        ticks.append(world.tick)
        return 6.0

    keys = {"KEYDOWN": 768, "K_p": 112, "K_r": 114, "event": SimpleNamespace(get=events)}
    game = play(monkeypatch, "bricks", 1000, mouse, **keys)
    assert max(ticks) == pytest.approx(80 * 2.04, abs=3)  # of 120 frames, 40 were paused
    assert game["world"].tick == pytest.approx(30 * 2.04, abs=3)


def test_rows_turn_round_and_the_next_level_is_faster(monkeypatch):
    game = play(monkeypatch, "levels", 600)
    world, bricks, there = game["world"], game["bricks"], game["there"]
    lower, upper = world.current(bricks).lower, world.current(bricks).upper
    assert lower[:, 0].min() > 0
    assert upper[:, 0].max() < 12
    assert np.ptp(lower[:8, 0] - game["corners"][:8, 0]) < 1e-9  # rows keep their shape
    speed = np.abs(game["drift"]).max()
    there[:] = False
    game["level"]()
    assert game["game"][2] == 2
    assert there.all()
    assert np.abs(game["drift"]).max() == pytest.approx(1.5 * speed)


GUESS = "theirs.get(tick, theirs[max(theirs)] if theirs else 9.0)"


@pytest.mark.parametrize("late", [1, 12, 60])
def test_late_input_gives_the_game_of_input_that_is_known(monkeypatch, late):
    """Compare a tick whose inputs are known in both runs."""
    checksums, rolled = [], []

    class Counting(kd.Rollback):
        def rollback(self, tick):
            rolled.append(tick)
            super().rollback(tick)

    monkeypatch.setattr(kd, "Rollback", Counting)
    for edits in ({GUESS: "friend(tick)", "LATE = 12": "LATE = 1000000"}, {"LATE = 12": f"LATE = {late}"}):
        assert not rolled
        game = play(monkeypatch, "rollback", 400, lambda world: 3 + 2 * np.sin(world.tick / 40), edits)
        checksums.append(game["past"].checksum(game["world"].tick - 61))
    assert len(rolled) > 3
    assert checksums[0] == checksums[1]
