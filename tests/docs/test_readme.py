"""README.md: its code runs, its figures and links are correct, and it is short."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from engines import FAKES, Frames

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


FIRST, PYGAME, PYGLET, ARCADE = blocks("python")
LOOPS_OF_ENGINES = {"pygame": PYGAME, "pyglet": PYGLET, "arcade": ARCADE}


def run(*examples):
    """Run examples one after another in one namespace, and return it."""
    names = {}
    for example in examples:
        exec(compile(example, str(README), "exec"), names)
    return names


def test_the_first_example_runs(capsys):
    names = run(FIRST)
    assert capsys.readouterr().out.startswith("2.0 [")
    assert names["world"].position is names["position"]
    assert names["position"].shape == (1000, 2)
    assert len(FIRST.splitlines()) <= 12
    # Every ball stays in the window for a minute.
    names["world"].step(60 * 60)
    assert (names["position"] >= 3 - 1e-9).all()
    assert (names["position"] <= np.array([797, 597]) + 1e-9).all()


def test_the_readme_is_short_and_has_a_small_picture_at_the_top():
    lines = TEXT.splitlines()
    assert len(lines) <= 200
    assert "particle physics library for Python" in lines[2]
    (number,) = [number for number, line in enumerate(lines) if line.startswith("![")]
    assert number < 12
    picture = README.parent / re.findall(r"\]\(([^)]+)\)", lines[number])[0]
    assert picture.stat().st_size < 1_500_000


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_links_exist(target):
    assert (README.parent / target).exists()


# Game loops, with fake engines and with the installed ones.


@pytest.mark.parametrize("engine", FAKES)
def test_the_game_loops_run(engine, monkeypatch):
    frames = Frames()
    monkeypatch.setitem(sys.modules, engine, FAKES[engine](frames))
    names = run(FIRST, LOOPS_OF_ENGINES[engine])
    # 30 frames of 17 ms: 30 steps of 1/60 s and a remainder.
    world = names["world"]
    assert world.tick == 120 + 30
    assert len(frames.drawn) == 30
    drawn = np.array(frames.drawn[-1])
    if engine == "pygame":  # y points down in pygame
        drawn = np.array([0, 600]) + drawn * [1, -1]
    np.testing.assert_allclose(drawn, world.interpolate(), rtol=0, atol=1e-9)
    assert (drawn != names["position"]).any()


# Code that runs a program without a display and ends it after 1.5 s.
HEADLESS = {
    "pygame": "import pygame; pygame.display.init(); pygame.time.set_timer(pygame.QUIT, 1500, 1)",
    # The time starts with the first frame: creating a window is slow on a busy machine.
    "pyglet": """
import pyglet
pyglet.options.headless = True
run = pyglet.app.run
def run_for_a_while(interval):
    pyglet.clock.tick()
    pyglet.clock.schedule_once(lambda seconds: pyglet.app.exit(), 1.5)
    run(interval)
pyglet.app.run = run_for_a_while
""",
    # Headless, arcade has its own loop, which ends with its window.
    "arcade": """
import arcade, time
flip, began = arcade.Window.flip, []
def flip_for_a_while(window):
    began.append(time.monotonic())
    flip(window) if began[-1] < began[0] + 1.5 else window.close()
arcade.Window.flip = flip_for_a_while
""",
}
WINDOW = {
    "pygame": "pygame.display.set_mode((80, 60))",
    "pyglet": "pyglet.window.Window(80, 60)",
    "arcade": "arcade.Window(80, 60)",
}


@pytest.mark.parametrize("engine", HEADLESS)
def test_the_game_loops_run_on_the_real_engines(engine):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "ARCADE_HEADLESS": "True"}

    def python(*lines):
        command = [sys.executable, "-c", "\n".join(lines)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)

    window = python(HEADLESS[engine], WINDOW[engine])
    if window.returncode:
        pytest.skip(f"{engine} opens no window here: {window.stderr.splitlines()[-1]}")
    count = 'print("ticks:", world.tick)'
    game = python(HEADLESS[engine], FIRST, LOOPS_OF_ENGINES[engine], count)
    assert game.returncode == 0, game.stderr
    ticks = int(game.stdout.rpartition("ticks: ")[2]) - 120
    assert 3 <= ticks <= 100, "expected 3 to 100 ticks in 1.5 s; a machine that is very busy has fewer: run it again"


def test_shell_commands_create_an_environment_first():
    demo, tests = (block.strip() for block in blocks("sh"))
    for command, end in ((demo, "python -m kickdrift demo spring"), (tests, "python -m pytest")):
        assert command.startswith("python3 -m venv .venv")
        assert "pip install" in command
        assert command.endswith(end)
