"""A curtain of distances, and what makes it stiff.

25 x 25 points are joined along and across the threads, and along both diagonals. The cloth starts flat
like a table top, falls, hangs from five hooks and touches the floor. In each step Verlet's method moves
the points. Then the distances of all pairs are corrected, one after the other, several times (Jakobsen
2001, Advanced Character Physics). Correcting one pair disturbs its neighbours. So the stretch of the
threads depends on the number of iterations and on the step. With compliance= you choose the stretch, and
it does not depend on them (XPBD: Macklin, Mueller, Chentanez 2016).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import kickdrift as kd

from ..progress import over
from .table import fixed, table
from .window import Scene, draw, floor, oblique

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo cloth
  python -m kickdrift demo cloth --plot cloth.png
"""

SIDE = 25  #: points
HOOKS = 5
WIDTH, HEIGHT = 1.0, 0.9  #: m; the cloth is a square
MASS = 0.3  #: kg, of all of it
AIR = 1.0  #: 1/s: the drag takes this share of the speed per second
COMPLIANCE = 0.1  #: m/N, of the pairs that give
SECONDS = 8

POINTS = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)  #: rows from front to back


def _pairs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.column_stack([one.ravel(), other.ravel()])


THREADS = np.concatenate([_pairs(POINTS[:, :-1], POINTS[:, 1:]), _pairs(POINTS[:-1], POINTS[1:])])
DIAGONALS = np.concatenate([_pairs(POINTS[:-1, :-1], POINTS[1:, 1:]), _pairs(POINTS[1:, :-1], POINTS[:-1, 1:])])
HUNG = POINTS[-1, np.linspace(0, SIDE - 1, HOOKS).round().astype(int)]


def cloth(clock: kd.FixedClock, iterations: int, compliance: float | None = None) -> kd.Stepper:
    """A square at the height of the hooks, just before it falls."""
    x, y = np.meshgrid(np.linspace(0, WIDTH, SIDE), np.linspace(0, WIDTH, SIDE))
    mass = MASS / SIDE**2
    return kd.Stepper(
        np.column_stack([x.ravel(), y.ravel(), np.full(SIDE**2, HEIGHT)]),
        mass=mass,
        clock=clock,
        integrator="verlet",
        forces=[kd.Gravity((0, 0, -9.81)), kd.LinearDrag(AIR * mass)],
        constraints=[
            kd.Pin(HUNG),
            kd.Distance(np.concatenate([THREADS, DIAGONALS]), iterations=iterations, compliance=compliance),
            kd.Plane((0, 0, 1), 0.0, restitution=0.0, friction=0.5),
        ],
    )


def stretch(position: np.ndarray) -> np.ndarray:
    """By how much of its length each thread between two neighbours is too long."""
    one, other = position[THREADS.T]
    return np.sqrt(((other - one) ** 2).sum(axis=1)) * (SIDE - 1) / WIDTH - 1


@dataclass(frozen=True)
class Run:
    hz: int
    iterations: int
    compliance: float | None
    stretch: np.ndarray  #: of all threads in the end
    lowest: float  #: m above the floor, of 20 looks a second
    fastest: float  #: m/s, in the end
    seconds: float  #: that the steps took


def run(hz: int, iterations: int, compliance: float | None = None) -> Run:
    piece = cloth(kd.FixedClock(hz), iterations, compliance)
    lowest, spent = HEIGHT, 0.0
    while piece.tick < SECONDS * hz:
        begin = time.perf_counter()
        piece.step(hz // 20)
        spent += time.perf_counter() - begin
        lowest = min(lowest, float(piece.position[:, 2].min()))
    fastest = float(np.sqrt((piece.velocity**2).sum(axis=1).max()))
    return Run(hz, iterations, compliance, stretch(piece.position), lowest, fastest, spent)


PLANS = (
    (60, 4, None), (60, 16, None), (60, 64, None), (240, 4, None), (240, 16, None),
    (60, 16, COMPLIANCE), (60, 32, COMPLIANCE), (240, 16, COMPLIANCE),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This demo has no options of its own."""


def report(options: argparse.Namespace) -> str:
    rows = [["threads", "steps/s", "iterations", "longest", "mean", "fastest (m/s)", "lowest (m)", "time (s)"]]
    for each in (run(*plan) for plan in over(PLANS, "cloth", "runs")):
        threads = "stiff" if each.compliance is None else f"compliance {each.compliance:g} m/N"
        longer = [f"{100 * each.stretch.max():+.1f}%", f"{100 * each.stretch.mean():+.2f}%"]
        numbers = [fixed(each.fastest, 4), fixed(each.lowest), f"{each.seconds:.2f}"]
        rows.append([threads, f"{each.hz}", f"{each.iterations}", *longer, *numbers])
    heading = (
        f"A cloth of {SIDE} x {SIDE} points and {len(THREADS) + len(DIAGONALS):,} distances, {SECONDS} s after it was "
        f"let go: how much longer than at\nthe start the longest thread is, and the mean of all; the fastest point, "
        f"and the lowest seen."
    )
    look = (
        "Stiff threads give less the more iterations there are, and less still for steps that are small at the\n"
        "same cost: 240 x 4 against 60 x 16. With compliance neither matters much."
    )
    return "\n\n".join([heading, table(rows), look])


def scene(options: argparse.Namespace) -> Scene:
    hung = np.isin(np.arange(SIDE**2), HUNG)
    return Scene(
        "kickdrift: cloth",
        cloth(kd.FixedClock(60, substeps=4), iterations=8),
        view=(-0.2, 2.05, -0.3, 1.35),
        radius=np.where(hung, 0.015, 0.0),
        colour=["#d62728"] * SIDE**2,
        pairs=THREADS,
        backdrop=floor(-0.1, 1.1, 0.0, 2.0),
        flat=oblique,
    )


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """The fall in six pictures."""
    figure.set_size_inches(12, 6.8)
    now = scene(options)
    piece = now.stepper
    for panel, seconds in zip(figure.subplots(2, 3).flat, (0, 0.25, 0.5, 0.75, 1, SECONDS), strict=True):
        piece.step(round(seconds / piece.dt) - piece.tick)
        draw(panel, now)
        panel.set(title=f"after {seconds:g} s", xticks=[], yticks=[])
    figure.supxlabel(
        f"{WIDTH:g} m of cloth on {HOOKS} hooks (red), over a floor; 240 steps/s, 8 iterations", fontsize=10
    )
