"""Ragdolls: rods for bones, springs for muscles, and two slopes to slide down.

Each doll is 14 points. Rods are its bones (kd.Distance, after Jakobsen 2001, Advanced Character Physics).
Weak springs keep its knees, elbows and back from folding up (kd.Springs). Verlet's method moves it. Balls
at the joints keep dolls apart (kd.ElasticCollisions). The first doll hangs by a hand. The others are
thrown, fall, slide down the slopes, and come to rest in a heap.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import kickdrift as kd

from .options import count
from .table import fixed, table
from .window import Scene, draw, oblique

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo ragdoll
  python -m kickdrift demo ragdoll --dolls 50
  python -m kickdrift demo ragdoll --plot ragdoll.png
"""

HZ = 240
ITERATIONS = 16
TIMES = (0, 0.5, 1, 1.5, 2, 3, 5, 10, 20)  #: s, of the table

HEAD, NECK = 0, 1
SHOULDERS, ELBOWS, HANDS, HIPS, KNEES, FEET = (2, 3), (4, 5), (6, 7), (8, 9), (10, 11), (12, 13)  #: left, right
HAND = HANDS[0]  #: that the first doll hangs by

BODY = np.array(
    [  # of a standing doll: x, y, z (m), mass (kg), radius (m)
        (0.00, 0.00, 1.68, 5, 0.14),  # head
        (0.00, 0.00, 1.45, 5, 0.07),  # neck
        (-0.20, 0.00, 1.40, 8, 0.11), (0.20, 0.00, 1.40, 8, 0.11),  # shoulders
        (-0.47, 0.02, 1.38, 2, 0.06), (0.47, 0.02, 1.38, 2, 0.06),  # elbows
        (-0.72, 0.00, 1.36, 1, 0.05), (0.72, 0.00, 1.36, 1, 0.05),  # hands
        (-0.12, 0.00, 0.92, 9, 0.11), (0.12, 0.00, 0.92, 9, 0.11),  # hips
        (-0.14, -0.02, 0.48, 6, 0.08), (0.14, -0.02, 0.48, 6, 0.08),  # knees
        (-0.15, 0.00, 0.06, 3, 0.06), (0.15, 0.00, 0.06, 3, 0.06),  # feet
    ]
)  # fmt: skip
PLACES, MASSES, RADII = BODY[:, :3], BODY[:, 3], BODY[:, 4]

BONES = [
    (HEAD, NECK), SHOULDERS, HIPS,
    *((NECK, each) for each in SHOULDERS), *((HEAD, each) for each in SHOULDERS),
    *zip(SHOULDERS, HIPS, strict=True), *zip(SHOULDERS, HIPS[::-1], strict=True),
    *zip(SHOULDERS, ELBOWS, strict=True), *zip(ELBOWS, HANDS, strict=True),
    *zip(HIPS, KNEES, strict=True), *zip(KNEES, FEET, strict=True),
]  # fmt: skip
MUSCLES = [
    *zip(SHOULDERS, HANDS, strict=True), *zip(HIPS, FEET, strict=True),
    *zip(SHOULDERS, KNEES, strict=True), *((HEAD, each) for each in HIPS),
]  # fmt: skip
HERTZ, DAMPING = 3.0, 0.7  #: of two points that a muscle alone would join
APART = 1.2  #: m, from doll to doll
VALLEY, SLOPE = 0.6, math.radians(28)  #: where the two slopes meet (m, on the y axis), and how steep they are


def of_all(pairs: Sequence[tuple[int, int]], count: int) -> np.ndarray:
    """The same pairs of points for every doll."""
    return (np.array(pairs) + len(PLACES) * np.arange(count)[:, None, None]).reshape(-1, 2)


def crowd(count: int) -> kd.Stepper:
    """The first doll upright, at arm's length from its hand; the others turned and spinning at random."""
    random = np.random.default_rng(3)
    position, velocity = np.tile(PLACES, (count, 1, 1)), np.zeros((count, len(PLACES), 3))
    position[0] += [0.0, 0.0, 0.8]
    columns = math.ceil(math.sqrt(count))
    for doll in range(1, count):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        turn *= np.linalg.det(turn)  # no mirror
        around_centre = (PLACES - MASSES @ PLACES / MASSES.sum()) @ turn.T
        place = [APART * (doll % columns), APART * (doll // columns), random.uniform(1.5, 3)]
        position[doll], velocity[doll] = place + around_centre, np.cross(random.uniform(-3, 3, 3), around_centre)
    radius, across, up = np.tile(RADII, count), math.sin(SLOPE), math.cos(SLOPE)
    slopes = [
        kd.Plane((0, side * across, up), side * across * VALLEY, restitution=0.1, friction=0.35, radius=radius)
        for side in (1, -1)
    ]
    return kd.Stepper(
        position.reshape(-1, 3),
        velocity.reshape(-1, 3),
        mass=np.tile(MASSES, count),
        clock=kd.FixedClock(HZ),
        integrator="verlet",
        forces=[kd.Gravity((0, 0, -9.81)), kd.Springs.from_frequency(of_all(MUSCLES, count), HERTZ, DAMPING)],
        constraints=[
            kd.Pin(HAND),
            kd.Distance(of_all(BONES, count), iterations=ITERATIONS),
            kd.ElasticCollisions(radius, restitution=0.1),
            *slopes,
        ],
    )


def bones_off(dolls: kd.Stepper) -> float:
    """By how much of its length a bone is too long or too short, at most."""
    position = dolls.position.reshape(-1, len(PLACES), 3)
    one, other = np.array(BONES).T

    def lengths(points: np.ndarray) -> np.ndarray:
        return np.sqrt(((points[..., one, :] - points[..., other, :]) ** 2).sum(axis=-1))

    return float(np.abs(lengths(position) / lengths(PLACES) - 1).max())


def ground(y: np.ndarray) -> np.ndarray:
    """How high the slopes are."""
    return math.tan(SLOPE) * np.abs(y - VALLEY)


def slope(left: float, right: float, far: float) -> list[np.ndarray]:
    """A grid on both slopes, as it is seen."""
    ys = VALLEY + np.linspace(-1, 1, 13) * far
    lines = [np.column_stack([[left, right], np.full(2, y), np.full(2, ground(y))]) for y in ys]
    lines += [np.column_stack([np.full(13, x), ys, ground(ys)]) for x in np.linspace(left, right, 7)]
    return [oblique(line) for line in lines]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dolls", type=count("dolls", 5, least=2), default=5, metavar="N", help="how many, at least 2 (default: 5)"
    )


def report(options: argparse.Namespace) -> str:
    dolls = crowd(options.dolls)
    hand = dolls.position[HAND].copy()
    radius = np.tile(RADII, options.dolls)
    rows = [["time (s)", "energy (J)", "fastest (m/s)", "highest head (m)", "gap to ground (m)", "bones off by"]]
    for now in TIMES:
        dolls.step(round(now * HZ) - dolls.tick)
        fallen, speed = dolls.position[len(PLACES) :], np.sqrt((dolls.velocity[len(PLACES) :] ** 2).sum(axis=1))
        gap = (math.cos(SLOPE) * (dolls.position[:, 2] - ground(dolls.position[:, 1])) - radius).min()
        numbers = [fixed(sum(dolls.energy()), 1), *map(fixed, (speed.max(), fallen[:: len(PLACES), 2].max(), gap))]
        rows.append([f"{now:g}", *numbers, f"{100 * bones_off(dolls):.2f}%"])
    heading = (
        f"{options.dolls} dolls of {MASSES.sum():g} kg with {len(BONES)} bones; the first hangs by its left hand, the "
        f"others fall. {HZ} steps/s.\nEnergy: of motion, gravity and muscles, of all dolls. Fastest point and highest "
        f"head: of those that fall.\nGap: of the lowest point. Bones off by: the share of its length that a bone is "
        f"too long or too short, at most."
    )
    moved = np.abs(dolls.position[HAND] - hand).max()
    return "\n\n".join([heading, table(rows, labels=0), f"The pinned hand has moved by {moved:g} m."])


def scene(options: argparse.Namespace) -> Scene:
    """The dolls, each in a colour of its own."""
    dolls, count = crowd(options.dolls), options.dolls
    far = dolls.position.max(axis=0) + 0.5
    lines = slope(-1.8, far[0] + 0.4, max(2.2, far[1] - VALLEY))
    seen = np.concatenate([oblique(dolls.position), *lines])
    (left, bottom), (right, top) = seen.min(axis=0) - 0.2, seen.max(axis=0) + 0.2
    return Scene(
        "kickdrift: ragdolls",
        dolls,
        view=(left, right, bottom, top),
        radius=np.tile(RADII, count),
        colour=np.repeat([COLOURS[doll % len(COLOURS)] for doll in range(count)], len(PLACES)).tolist(),
        pairs=of_all(BONES, count),
        backdrop=lines,
        flat=oblique,
    )


COLOURS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e")


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """The fall in six pictures."""
    figure.set_size_inches(12, 5.4)
    now = scene(options)
    dolls = now.stepper
    for panel, seconds in zip(figure.subplots(2, 3).flat, (0, 0.3, 0.5, 0.8, 1.2, 5), strict=True):
        dolls.step(round(seconds * HZ) - dolls.tick)
        draw(panel, now)
        panel.set(title=f"after {seconds:g} s", xticks=[], yticks=[])
