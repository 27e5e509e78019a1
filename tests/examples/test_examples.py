"""Example games: they play automatically, and their score equals that of the events."""

import pytest
from example_files import in_sources, load

pytestmark = in_sources


def play(name, seconds):
    """Play a game automatically at 60 frames per second."""
    game = load(name).Game()
    for _ in range(60 * seconds):
        game.frame(1 / 60, **({"alone": True} if name == "pinball" else {}))
    return game


def test_pinball_is_deterministic_and_scores():
    games = [play("pinball", 20) for _ in range(2)]
    assert games[0].score > 100
    assert games[0].score == games[1].score
    assert games[0].sounds > games[0].score / 100


def test_breakout_scores_removed_bricks():
    game = play("breakout", 120)
    gone = [10 * (6 - brick // 10) for brick in range(60) if not game.there[brick]]
    assert game.score == sum(gone)
    assert len(gone) > 20


def test_the_platformer_plays_by_itself():
    """The player is carried by lifts and the belt, jumps through ledges, and reaches the end of the level."""
    games = [load("platformer").Game() for _ in range(2)]
    for game in games:
        most = 0.0
        for _ in range(60 * 14):
            game.frame(1 / 60, alone=True)
            most = max(most, game.world.position[0, 0])
        assert most > 3000
        assert game.score > 2
    assert games[0].world.checksum() == games[1].world.checksum()


@pytest.mark.parametrize("name", ["pinball", "breakout", "platformer"])
def test_examples_draw_something(name, monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    game, screen = load(name).main(frames=30)
    picture = pygame.surfarray.array3d(screen)
    pygame.quit()
    assert (picture != picture[0, -1]).any(axis=-1).mean() > 0.01
    assert game.world.tick >= 30 * 2
