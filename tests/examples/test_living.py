"""Games in examples/: they run without a window and behave as described."""

import os
import random
import subprocess
import sys

import example_files
import numpy as np
import pytest
from example_files import EXAMPLES, in_sources

pytestmark = in_sources


def load(name):
    if name != "netplay":
        pytest.importorskip("pygame")
    return example_files.load(name)


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def test_examples_are_short():
    files = sorted(EXAMPLES.glob("*.py"))
    assert {"asteroids", "fountain", "netplay"} < {file.stem for file in files}
    for file in files:
        if file.stem not in ("air_hockey", "golf_search"):  # see test_scenes.py
            assert len(file.read_text().splitlines()) <= 150, file.name


def test_asteroids_runs():
    game, screen = load("asteroids").main(frames=4)
    assert screen.get_size() == (960, 640)
    assert game.world.tick == 4 * 2
    assert game.score.tolist() == [0, 1]


def test_asteroids_can_be_restored():
    asteroids = load("asteroids")
    game = asteroids.Game()
    saved, seen = None, []
    for frame in range(1200):
        if frame == 300:
            saved = game.world.snapshot()
        if frame >= 300:
            seen.append(game.world.checksum())
        game.frame(1 / 60, np.sin(frame / 50), frame % 90 < 20, True)
        assert game.world.alive[0]
        assert not len(game.world.events.take())
    assert game.score[0] != 0
    again = asteroids.Game()
    again.world.restore(saved)
    for frame in range(300, 1200):
        assert again.world.checksum() == seen[frame - 300], frame
        again.frame(1 / 60, np.sin(frame / 50), frame % 90 < 20, True)


def test_the_fountain_runs():
    fountain, screen = load("fountain").main(frames=4)
    assert 33 * 3 <= fountain.world.count <= 33 * 5
    below = [screen.get_at((x, y))[2] for x in range(400, 560, 2) for y in range(480, 640, 2)]
    assert max(below) > min(below) + 50


def test_the_fountain_never_runs_out_of_slots():
    module = load("fountain")
    fountain = module.Fountain()
    for _ in range(300):
        fountain.frame(1 / 60)
    assert fountain.world.count == pytest.approx(module.RATE * module.LIFE, rel=0.02)
    assert fountain.world.current(fountain.wind).wind[0] != 0


def test_netplay_in_two_processes():
    command = [sys.executable, EXAMPLES / "netplay.py", "--ticks", "90", "--speed", "6"]
    port = random.randrange(20000, 60000)
    run = subprocess.run(
        [*command, "--port", str(port)], capture_output=True, text=True, timeout=120, env={**os.environ}, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("90 ticks") == 2
    assert run.stdout.count("no desync") == 2
