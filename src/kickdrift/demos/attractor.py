"""The butterfly effect: 100,000 Lorenz trajectories at once.

They start together, in a cube a millionth wide, and follow Lorenz's equations

  x' = 10 (y - x),  y' = x (28 - z) - y,  z' = x y - 8/3 z

(Lorenz 1963, J. Atmos. Sci. 20, 130) in compiled code, by RK4 with dt = 0.005. At first they stay
together. Then the cloud is stretched over the whole attractor, and only statistics can be predicted.
Pairs of trajectories that start 1e-11 apart move apart like exp(0.906 t).
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

import kickdrift as kd

from ..progress import over
from ..tables import table
from .common import count, fixed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo attractor
  python -m kickdrift demo attractor --trajectories 10000 --threads 2
  python -m kickdrift demo attractor --trajectories 20000 --plot attractor.png
"""

HZ = 200  #: steps per unit of time
TIMES = range(0, 41, 5)  #: times of the table rows
MIXED = 40  #: time after which the distribution no longer depends on the start
LYAPUNOV = 0.9056  #: Sprott 2003, Chaos and Time-Series Analysis, table A.5
APART, SETTLE, WATCH = 1e-11, 8, 12  #: initial distance of pairs; transient and measurement, in units of time


def cloud(options: argparse.Namespace) -> kd.ODEStepper:
    """Make a stepper with all trajectories close together."""
    start = np.random.default_rng(1).uniform(-5e-7, 5e-7, (options.trajectories, 3)) + np.array([1.0, 1.0, 20.0])
    return kd.ODEStepper(start, kd.flows.Lorenz(), hz=HZ, threads=options.threads)


def lyapunov(weather: kd.ODEStepper) -> tuple[float, float]:
    """Return the Lyapunov exponent and its standard error, from pairs that start at distance APART."""
    half = weather.n // 2
    one, other = weather.y[:half], weather.y[half : 2 * half]
    other[...] = one
    other[:, 0] += APART
    weather.step(SETTLE * HZ)  # aligns the difference with the direction of fastest growth
    before = np.linalg.norm(other - one, axis=1)
    weather.step(WATCH * HZ)
    rates = np.log(np.linalg.norm(other - one, axis=1) / before) / WATCH
    return float(rates.mean()), float(rates.std() / np.sqrt(half))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    number, text = count("trajectories", 1000, least=2), "how many, at least 2 (default: 100000)"
    parser.add_argument("--trajectories", type=number, default=100_000, metavar="N", help=text)
    number, text = count("threads", 2), "how many share the work (default: 1)"
    parser.add_argument("--threads", type=number, default=1, metavar="N", help=text)


def report(options: argparse.Namespace) -> str:
    weather = cloud(options)
    rows = [["time", "width of the cloud", "share with x > 0", "mean x", "mean z", "deviation of z"]]
    spent = 0.0
    for now in over(TIMES, "attractor", "times"):
        begin = time.perf_counter()
        weather.step(now * HZ - weather.tick)
        spent += time.perf_counter() - begin
        x, _, z = weather.y.T
        share = f"{100 * np.mean(x > 0):.1f}%"
        rows.append([f"{now}", f"{weather.y.std(axis=0).max():.1e}", share, *map(fixed, (x.mean(), z.mean(), z.std()))])
    steps = weather.n * weather.tick
    rate, error = lyapunov(weather)
    heading = (
        f"{weather.n:,} Lorenz trajectories that start within 1e-6 of each other, RK4, dt = {weather.dt:g}.\n"
        f"The width is the largest standard deviation of a component."
    )
    parting = f"Neighbours part like exp({rate:.4f} t), +- {error:.4f}; in books: {LYAPUNOV}."
    speed = f"{steps:,} steps of a trajectory in {spent:.2f} s: {steps / spent / 1e6:,.0f} million per second."
    return "\n\n".join([heading, table(rows, labels=0), parting, speed])


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """Plot the density of trajectories, at four times and over a long time."""
    figure.set_size_inches(12, 6.4)
    grid = figure.add_gridspec(2, 4, width_ratios=(1, 1, 1.9, 1.9))
    weather = cloud(options)
    for number, now in enumerate((15, 20, 25, 30)):
        weather.step(now * HZ - weather.tick)
        panel = figure.add_subplot(grid[divmod(number, 2)])
        _draw(panel, _density(weather.y, 150))
        panel.set(title=f"time {now}", xticks=[], yticks=[])
    weather.step(MIXED * HZ - weather.tick)
    density = np.zeros((600, 600))
    samples = max(40, 4_000_000 // weather.n)
    for _ in over(range(samples), "attractor", "looks"):
        weather.step(HZ // 20)
        density += _density(weather.y, 600)
    panel = figure.add_subplot(grid[:, 2:])
    _draw(panel, density)
    title = f"where {weather.n:,} trajectories are, over {samples / 20:g} units of time"
    panel.set(title=title, xlabel="x", ylabel="z")


BOX = (-25.0, 25.0, 0.0, 50.0)  #: limits of x and z in the density plot


def _density(y: np.ndarray, bins: int) -> np.ndarray:
    """Count the trajectories in each bin of x and z; ignore those outside."""
    left, right, bottom, top = BOX
    return np.histogram2d(y[:, 2], y[:, 0], bins, ((bottom, top), (left, right)))[0]


def _draw(panel: object, density: np.ndarray) -> None:
    # A logarithmic scale makes sparse edges and single trajectories visible.
    shade = np.log1p(density * (200 / max(1.0, float(density.max()))))
    panel.imshow(shade, origin="lower", extent=BOX, aspect="auto", cmap="magma", interpolation="nearest")  # type: ignore[attr-defined]
