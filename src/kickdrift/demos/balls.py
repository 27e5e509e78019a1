"""A gas: 2,000 elastic balls in a box.

They start on a grid, all at 1 m/s, each in its own direction. Collisions keep energy and momentum, and
mix the speeds. In the end the speeds have the distribution of Maxwell (1860) and Boltzmann (1872), in two
dimensions

  f(v) = v / s^2 exp(-v^2 / 2 s^2),  2 s^2 = mean of v^2
"""

from __future__ import annotations

import argparse
import math
import time
from typing import TYPE_CHECKING

import numpy as np

import kickdrift as kd

from ..tables import table
from .common import count, fixed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo balls
  python -m kickdrift demo balls --balls 200
  python -m kickdrift demo balls --plot balls.png
"""

HZ = 60
RADIUS = 0.125  #: radius of a ball in m
SPACE = 0.2  #: area per ball in m^2, of which the ball covers 25 %
TIMES = (0, 1, 2, 5, 10, 20)  #: times of the table rows in s
MIXED = 20  #: time in s after which the speeds no longer depend on the start


def width(count: int) -> float:
    """Return the width of the box in m."""
    return math.sqrt(SPACE * count)


def gas(count: int, walls: bool = True) -> kd.Stepper:
    """Make balls on a grid that fills the box."""
    side = math.ceil(math.sqrt(count))
    place = (np.arange(count)[:, None] // np.array([1, side]) % side + 0.5) * (width(count) / side)
    angle = np.random.default_rng(1).uniform(0, 2 * math.pi, count)
    velocity = np.column_stack([np.cos(angle), np.sin(angle)])
    box = [kd.Box(0, width(count), radius=RADIUS)] if walls else []
    return kd.Stepper(place, velocity, clock=kd.FixedClock(HZ), constraints=[kd.ElasticCollisions(RADIUS), *box])


def speeds(balls: kd.Stepper) -> np.ndarray:
    return np.sqrt((balls.velocity**2).sum(axis=1))


def scale(balls: kd.Stepper) -> float:
    """Return the s of the Maxwell-Boltzmann distribution, from the energy and not from a fit."""
    return math.sqrt((balls.velocity**2).sum(axis=1).mean() / 2)


def distance(v: np.ndarray, s: float) -> float:
    """Return the Kolmogorov-Smirnov distance between the speeds and the distribution."""
    share = 1 - np.exp(-(np.sort(v) ** 2) / (2 * s * s))
    steps = np.arange(len(v) + 1) / len(v)
    return float(max(np.abs(share - steps[1:]).max(), np.abs(share - steps[:-1]).max()))


def momentum(balls: kd.Stepper) -> np.ndarray:
    """Return the total momentum in kg m/s; masses are 1 kg."""
    return balls.velocity.sum(axis=0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    number, text = count("balls", 2000, least=10), "how many, at least 10; the box grows (default: 2000)"
    parser.add_argument("--balls", type=number, default=2000, metavar="N", help=text)


def report(options: argparse.Namespace) -> str:
    balls = gas(options.balls)
    at_start = sum(balls.energy())
    rows = [["time (s)", "energy error", "momentum x", "y (kg m/s)", "slowest (m/s)", "fastest (m/s)", "distance"]]
    spent = 0.0
    for now in TIMES:
        begin = time.perf_counter()
        balls.step(now * HZ - balls.tick)
        spent += time.perf_counter() - begin
        v = speeds(balls)
        x, y = momentum(balls)
        off = distance(v, scale(balls))
        error = f"{sum(balls.energy()) / at_start - 1:.0e}"
        rows.append([f"{now}", error, fixed(x, 2), fixed(y, 2), *map(fixed, (v.min(), v.max(), off))])
    heading = (
        f"{options.balls:,} balls of {RADIUS:g} m radius and 1 kg in a box of {width(options.balls):.1f} m, "
        f"{HZ} steps/s. Energy error: as a\nshare of the energy at the start. Distance: how far, at most, the share of "
        f"balls slower than some speed\nis from Maxwell's and Boltzmann's; chance leaves "
        f"{1.36 / math.sqrt(options.balls):.3f} or less of it, 19 times in 20."
    )
    rate = f"{balls.tick:,} steps of all balls took {spent:.2f} s: {balls.tick / spent / HZ:,.0f} times real time."
    return "\n\n".join([heading, table(rows, labels=0), rate])


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """Plot the balls at one time, and a histogram of the speeds at many times."""
    from matplotlib.collections import EllipseCollection

    figure.set_size_inches(12, 5.8)
    picture, histogram = figure.subplots(1, 2, width_ratios=(1, 1.15))
    balls = gas(options.balls)
    balls.step(MIXED * HZ)
    size, w = np.full(options.balls, 2 * RADIUS), width(options.balls)
    circles = EllipseCollection(
        size, size, np.zeros(options.balls), units="xy", offsets=balls.position, transOffset=picture.transData,
        facecolors="#7aa6d1",
    )  # fmt: skip
    picture.add_collection(circles)
    picture.set(title=f"{options.balls:,} balls after {MIXED} s", xlabel="x (m)", ylabel="y (m)")
    picture.set(aspect="equal", xlim=(0, w), ylim=(0, w))
    samples = []
    for _ in range(20):
        balls.step(HZ)
        samples.append(speeds(balls))
    s, v = scale(balls), np.linspace(0, 4, 400)
    seen = np.concatenate(samples)
    histogram.hist(seen, bins=60, range=(0, 4), density=True, color="#7aa6d1", label="the balls, in 20 s")
    histogram.plot(v, v / s**2 * np.exp(-((v / s) ** 2) / 2), color="black", label="Maxwell and Boltzmann")
    histogram.axvline(1, color="tab:red", linestyle="--", label="all balls, at the start")
    histogram.set(xlabel="speed (m/s)", ylabel="share of the balls per m/s", xlim=(0, 4))
    histogram.legend(frameon=False)
