"""Scenes: what is seen of the bodies is where they are."""

import sys

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import cli
from kickdrift.demos import LIVE, window


@pytest.fixture
def pygame(monkeypatch):
    """With a display that nobody sees."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    return pytest.importorskip("pygame")


class Frames(list):
    """What is shown, as arrays of colours (width, height, 3); 60 frames a second, whatever time they take.

    events: what happens after so many frames.
    """

    def __init__(self):
        self.events = {}


@pytest.fixture
def frames(pygame, monkeypatch):
    shown, flip = Frames(), pygame.display.flip

    def keep():
        shown.append(np.array(pygame.surfarray.array3d(pygame.display.get_surface())))
        if len(shown) in shown.events:
            pygame.event.post(shown.events[len(shown)])
        flip()

    class Clock:
        def tick(self, rate):
            return 1000 / rate

    monkeypatch.setattr(pygame.display, "flip", keep)
    monkeypatch.setattr(pygame.time, "Clock", Clock)
    return shown


def ball(**arguments):
    stepper = kd.Stepper([[-1.0, 0.0]], [[2.0, 0.0]], clock=kd.FixedClock(10), **arguments)
    return window.Scene("a ball", stepper, (-2.0, 2.0, -1.0, 1.0), np.array([0.2]), ["#ff0000"])


def centre(frame):
    """Of what is red, in m."""
    red = (frame[..., 0] > 200) & (frame[..., 1] < 100)
    width, height = red.shape
    x, y = np.argwhere(red).mean(axis=0)
    scale = min(width / 4, height / 2)
    return (x - width / 2) / scale, (height / 2 - y) / scale


@pytest.mark.parametrize("name", LIVE)
def test_every_scene_is_shown_live(frames, name):
    scene = LIVE[name].scene(cli._parser().parse_args(["demo", name]))
    before = scene.stepper.position.copy()
    window.show(scene, seconds=0.6)
    assert scene.stepper.tick > 0
    assert (scene.stepper.position != before).any()
    assert len(frames) == 36
    assert (frames[-1] != 255).any(axis=-1).mean() > 0.005
    assert (frames[-1] != frames[0]).any()


def test_the_ball_is_drawn_between_its_steps(frames):
    """At 10 steps and 60 frames a second: evenly, one step behind."""
    scene = ball()
    window.show(scene, seconds=1)
    x, y = np.array([centre(frame) for frame in frames]).T
    assert len(frames) == 60
    assert scene.stepper.tick in (9, 10)
    expected = -1 + 2 * np.maximum(np.arange(1, 61) / 60 - 0.1, 0)
    assert np.abs(x - expected).max() < 0.02  # m; a pixel is 0.004
    assert np.abs(y).max() < 0.02


def test_escape_and_closing_end_it(pygame, frames):
    for number, event in (
        (10, pygame.event.Event(pygame.KEYDOWN, key=pygame.K_ESCAPE)),
        (20, pygame.event.Event(pygame.QUIT)),
    ):
        frames.events = {number: event}
        window.show(ball(), seconds=20)
        assert len(frames) == number
        assert not pygame.display.get_init()


def test_the_space_bar_stops_time(pygame, frames):
    scene = ball()
    space = pygame.event.Event(pygame.KEYDOWN, key=pygame.K_SPACE)
    frames.events = {30: space, 61: space}
    window.show(scene, seconds=0.99)
    assert scene.stepper.clock.paused
    assert scene.stepper.tick in (4, 5)
    window.show(scene, seconds=0.5)
    assert not scene.stepper.clock.paused
    assert scene.stepper.tick in (9, 10)


def test_the_command_line(pygame, frames, capsys):
    frames.events = {30: pygame.event.Event(pygame.QUIT)}
    assert cli.main(["demo", "cloth", "--window"]) == 0
    assert len(frames) == 30
    assert capsys.readouterr().err == ""


def test_a_window_without_pygame(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert cli.main(["demo", "balls", "--window"]) == 2
    message = "--window needs pygame-ce, the extra `demo`: pip install 'kickdrift[demo]'"
    assert capsys.readouterr().err == f"python -m kickdrift: error: {message}\n"


def test_a_window_without_a_display(pygame, capsys, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "no such driver")
    assert cli.main(["demo", "balls", "--window"]) == 1
    assert capsys.readouterr().err.startswith("python -m kickdrift: error: --window: ")


@pytest.mark.parametrize("arguments", [["spring", "--window"], ["balls", "--window", "--plot", "balls.png"]])
def test_where_there_is_no_window(capsys, arguments):
    with pytest.raises(SystemExit):
        cli.main(["demo", *arguments])
    assert "--window" in capsys.readouterr().err


def test_a_figure_has_the_bodies_where_they_are():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    scene = ball()
    scene.stepper.step(5)
    panel = figure.add_subplot()
    window.draw(panel, scene)
    circles = panel.collections[-1]
    np.testing.assert_allclose(circles.get_offsets(), [[0.0, 0.0]], atol=1e-12)
    assert panel.get_xlim() == (-2, 2)
    assert panel.get_ylim() == (-1, 1)


def test_the_oblique_view():
    """Up is up, far is higher in the picture, and lengths are not blown up."""
    axes = window.oblique(np.eye(3))
    assert axes[2] @ [1, 0] == 0
    assert axes[2][1] > 0
    assert axes[1][1] > 0
    assert np.linalg.norm(axes, axis=1).max() < 1
    # A parallel projection onto a plane: two of the three singular values are 1, up to the third, which is lost.
    np.testing.assert_allclose(np.linalg.svd(axes)[1], [1, 1], atol=1e-12)
