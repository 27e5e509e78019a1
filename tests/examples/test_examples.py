"""The examples: they play by themselves, and the score is that of the events."""

import importlib.util
from pathlib import Path

import pytest

import kickdrift as kd

FOLDER = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="examples are in the sources alone")


def example(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["pinball", "breakout"])
def test_they_are_short(name):
    assert len((FOLDER / f"{name}.py").read_text("utf-8").splitlines()) <= 120


def test_pinball():
    games = [example("pinball").Game() for _ in range(2)]
    for game in games:
        game.play(240 * 20)
    assert games[0].score > 100
    assert games[0].score == games[1].score
    assert games[0].sounds > games[0].score / 100


@pytest.mark.skipif(not hasattr(kd.Stepper, "set"), reason="needs Stepper.set")
def test_breakout():
    game = example("breakout").Game()
    game.play(120 * 120)
    gone = [10 * (6 - brick // 10) for brick in range(60) if not game.there[brick]]
    assert game.score == sum(gone)
    assert len(gone) > 20
