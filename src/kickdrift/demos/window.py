"""Scenes of bodies: live in a window of pygame-ce, or one frame of them as a figure of matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import kickdrift as kd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (960, 720)  #: of the window at first, in pixels
PAPER, INK, GREY, PENCIL = "#ffffff", "#222222", "#777777", "#bbbbbb"  #: background, lines and names, notes, what rests
KEYS = "stop [Space]   close [Escape]"
NO_PAIRS = np.zeros((0, 2), np.int64)


def _first_two(position: np.ndarray) -> np.ndarray:
    return position[:, :2]


def oblique(position: np.ndarray) -> np.ndarray:
    """Places in space seen from the front, a little from the left and from above; z is up."""
    x, y, z = position.T
    turn, tilt = np.radians(30), np.radians(20)
    across, depth = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    return np.column_stack([across, z * np.cos(tilt) + depth * np.sin(tilt)])


def floor(left: float, right: float, front: float, back: float, cells: int = 6) -> list[np.ndarray]:
    """A grid on the ground, as it is seen."""
    xs, ys = np.linspace(left, right, cells + 1), np.linspace(front, back, cells + 1)
    lines = [np.array([(x, front, 0.0), (x, back, 0.0)]) for x in xs]
    lines += [np.array([(left, y, 0.0), (right, y, 0.0)]) for y in ys]
    return [oblique(line) for line in lines]


@dataclass(frozen=True)
class Scene:
    """A stepper, and how it is seen: a circle for each body, lines between some.

    flat: makes places (n, 2) in the picture from positions (n, dim); all lengths here are in its unit.
    """

    title: str
    stepper: kd.Stepper
    view: tuple[float, float, float, float]  #: left, right, bottom, top
    radius: np.ndarray  #: (n,); 0 is not drawn
    colour: Sequence[str]  #: n of them, as "#rrggbb"
    pairs: np.ndarray = field(default_factory=NO_PAIRS.copy)  #: (k, 2) bodies that a line joins
    backdrop: Sequence[np.ndarray] = ()  #: lines of shape (k, 2) that do not move
    names: Mapping[int, str] = field(default_factory=dict)  #: of some bodies
    flat: Callable[[np.ndarray], np.ndarray] = _first_two
    mode: Literal["linear", "hermite"] = "linear"  #: of `interpolate`
    note: str = ""  #: what the picture does not say by itself


def show(scene: Scene, seconds: float = float("inf")) -> None:
    """A window, until it is closed; Escape closes it, the space bar stops time."""
    import pygame

    pygame.display.init()  # and no sound
    pygame.font.init()
    try:
        screen = pygame.display.set_mode(SIZE, pygame.RESIZABLE)
        pygame.display.set_caption(scene.title)
        font, display, clock = pygame.font.Font(None, 22), pygame.time.Clock(), scene.stepper.clock
        shown = 0.0
        while shown < seconds:
            for event in pygame.event.get():
                key = event.key if event.type == pygame.KEYDOWN else None
                if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                    return
                if key == pygame.K_SPACE:
                    (clock.resume if clock.paused else clock.pause)()
            elapsed = display.tick(60) / 1000
            shown += elapsed
            scene.stepper.advance(elapsed)  # the steps that are due, if any
            _paint(pygame, screen, font, scene)
            pygame.display.flip()
    finally:
        pygame.quit()


def _paint(pygame: Any, screen: Any, font: Any, scene: Scene) -> None:
    """The positions between the last two steps, at the time of the frame."""
    left, right, bottom, top = scene.view
    width, height = screen.get_size()
    scale = min(width / (right - left), height / (top - bottom))
    middle = np.array([left + right, bottom + top]) / 2

    def pixels(places: np.ndarray) -> np.ndarray:
        return np.array([width, height]) / 2 + (places - middle) * np.array([scale, -scale])

    screen.fill(PAPER)
    for line in scene.backdrop:
        pygame.draw.aalines(screen, PENCIL, False, pixels(line).tolist())
    places = pixels(scene.flat(scene.stepper.interpolate(mode=scene.mode))).tolist()
    for one, other in scene.pairs.tolist():
        pygame.draw.aaline(screen, INK, places[one], places[other])
    for place, radius, colour in zip(places, (scale * scene.radius).tolist(), scene.colour, strict=True):
        if radius > 0:
            pygame.draw.aacircle(screen, colour, place, max(radius, 1.0))
    _write_names(pygame, screen, font, scene, places, scale)
    screen.blit(font.render(f"{scene.title.partition(': ')[2]}   {KEYS}", True, INK), (12, 10))
    screen.blit(font.render(scene.note, True, GREY), (12, 30))


def _write_names(pygame: Any, screen: Any, font: Any, scene: Scene, places: list[Any], scale: float) -> None:
    """Beside the bodies, on the first side where nothing is written or drawn yet."""
    gap = {body: scale * scene.radius[body] + 3 for body in scene.names}
    taken = []
    for body, size in gap.items():
        x, y = places[body]
        taken.append(pygame.Rect(x - size, y - size, 2 * size, 2 * size))
    for body, name in scene.names.items():
        text, (x, y) = font.render(name, True, INK), places[body]
        width, height = text.get_size()
        right, left, middle = x + gap[body], x - gap[body] - width, x - width / 2
        below, above = y + 3, y - height
        corners = [(right, below), (right, above), (left, below), (left, above)]
        corners += [(middle, y + gap[body] + 2), (middle, y - gap[body] - height - 2)]
        sides = [pygame.Rect(*corner, width, height) for corner in corners]
        free = next((side for side in sides if side.collidelist(taken) < 0), sides[0])
        screen.blit(text, free)
        taken.append(free)


def draw(panel: Axes, scene: Scene) -> None:
    """The state after the last step."""
    from matplotlib.collections import EllipseCollection, LineCollection

    places = scene.flat(scene.stepper.position)
    left, right, bottom, top = scene.view
    panel.set(aspect="equal", xlim=(left, right), ylim=(bottom, top))
    panel.add_collection(LineCollection(list(scene.backdrop), colors=PENCIL, linewidths=0.8))
    panel.add_collection(LineCollection(list(places[scene.pairs]), colors=INK, linewidths=0.8))
    size, seen = 2 * scene.radius, scene.radius > 0
    panel.add_collection(
        EllipseCollection(
            size[seen], size[seen], np.zeros(seen.sum()), units="xy", offsets=places[seen], zorder=3,
            facecolors=[colour for colour, shown in zip(scene.colour, seen, strict=True) if shown],
            transOffset=panel.transData,
        )
    )  # fmt: skip
    for body, name in scene.names.items():
        x, y = places[body]
        panel.annotate(name, (x + scene.radius[body], y), (2, -2), textcoords="offset points", va="top", fontsize=8)
