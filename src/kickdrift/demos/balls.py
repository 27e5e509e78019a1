"""A gas: 2,000 elastic balls in a box.

They start on a grid, all at 1 m/s, each in its own direction. Collisions keep energy and momentum, and
mix the speeds. In the end the speeds have the distribution of Maxwell (1860) and Boltzmann (1872), in two
dimensions

  f(v) = v / s^2 exp(-v^2 / 2 s^2),  2 s^2 = mean of v^2

Bouncing off a wall keeps a ball's energy, but changes its momentum. So the same balls fly once more
without a box.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import TYPE_CHECKING

import numpy as np

import kickdrift as kd

from .options import count
from .table import fixed, table
from .window import Scene, draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo balls
  python -m kickdrift demo balls --balls 200
  python -m kickdrift demo balls --plot balls.png
"""

HZ = 60
RADIUS = 0.125  #: m
SPACE = 0.2  #: m^2 for each ball, of which it covers 25 %
TIMES = (0, 1, 2, 5, 10, 20)  #: s, of the table
MIXED = 20  #: s; by then nothing is left of the start
FREE = 5  #: s without a box


def width(count: int) -> float:
    """Of the box, in m."""
    return math.sqrt(SPACE * count)


def gas(count: int, walls: bool = True) -> kd.Stepper:
    """Balls on a grid that fills the box."""
    side = math.ceil(math.sqrt(count))
    place = (np.arange(count)[:, None] // np.array([1, side]) % side + 0.5) * (width(count) / side)
    angle = np.random.default_rng(1).uniform(0, 2 * math.pi, count)
    velocity = np.column_stack([np.cos(angle), np.sin(angle)])
    box = [kd.Box(0, width(count), radius=RADIUS)] if walls else []
    return kd.Stepper(place, velocity, clock=kd.FixedClock(HZ), constraints=[kd.ElasticCollisions(RADIUS), *box])


def speeds(balls: kd.Stepper) -> np.ndarray:
    return np.sqrt((balls.velocity**2).sum(axis=1))


def scale(balls: kd.Stepper) -> float:
    """The s of Maxwell and Boltzmann: that of the energy, and no fit."""
    return math.sqrt((balls.velocity**2).sum(axis=1).mean() / 2)


def distance(v: np.ndarray, s: float) -> float:
    """Kolmogorov's: how far the share of balls below a speed is, at most, from what it should be."""
    share = 1 - np.exp(-(np.sort(v) ** 2) / (2 * s * s))
    steps = np.arange(len(v) + 1) / len(v)
    return float(max(np.abs(share - steps[1:]).max(), np.abs(share - steps[:-1]).max()))


def momentum(balls: kd.Stepper) -> np.ndarray:
    """Of all balls together, with masses of 1 kg: (kg m/s, kg m/s, kg m^2/s), the last being angular."""
    (x, y), (u, v) = balls.position.T, balls.velocity.T
    return np.array([u.sum(), v.sum(), (x * v - y * u).sum()])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--balls",
        type=count("balls", 2000, least=10),
        default=2000,
        metavar="N",
        help="how many, at least 10; the box grows (default: 2000)",
    )


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
        x, y, _ = momentum(balls)
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
    return "\n\n".join([heading, table(rows, labels=0), _without_walls(options.balls), rate])


def _without_walls(count: int) -> str:
    balls = gas(count, walls=False)
    before, at_start = momentum(balls), sum(balls.energy())
    straight = balls.position + FREE * balls.velocity
    balls.step(FREE * HZ)
    turned = np.mean(np.abs(balls.position - straight).max(axis=1) > RADIUS)
    *across, spin = np.abs(momentum(balls) - before)
    return (
        f"Without walls, after {FREE} s in which {100 * turned:.0f} % of the balls were hit, momentum is off by "
        f"{max(across):.0e} kg m/s,\nangular momentum by {spin:.0e} kg m^2/s of {before[2]:.0f}, and energy by "
        f"{abs(sum(balls.energy()) / at_start - 1):.0e} of itself."
    )


def scene(options: argparse.Namespace) -> Scene:
    """One ball is red, so that the eye can follow it: it is like all others."""
    w = width(options.balls)
    return Scene(
        f"kickdrift: {options.balls:,} elastic balls",
        gas(options.balls),
        view=(-0.02 * w, 1.02 * w, -0.02 * w, 1.1 * w),
        radius=np.full(options.balls, RADIUS),
        colour=["#d62728" if ball == options.balls // 2 else "#7aa6d1" for ball in range(options.balls)],
        note="the red ball is like all others: follow it",
        backdrop=[w * np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])],
    )


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """The balls at a moment, and their speeds over many."""
    figure.set_size_inches(12, 5.8)
    picture, histogram = figure.subplots(1, 2, width_ratios=(1, 1.15))
    now = scene(options)
    balls = now.stepper
    balls.step(MIXED * HZ)
    draw(picture, now)
    picture.set(title=f"{options.balls:,} balls after {balls.time:g} s; {now.note}", xlabel="x (m)", ylabel="y (m)")
    samples = []
    for _ in range(20):
        balls.step(HZ)
        samples.append(speeds(balls))
    s, v = scale(balls), np.linspace(0, 4, 400)
    histogram.hist(
        np.concatenate(samples), bins=60, range=(0, 4), density=True, color="#7aa6d1", label="the balls, in 20 s"
    )
    histogram.plot(v, v / s**2 * np.exp(-((v / s) ** 2) / 2), color="black", label="Maxwell and Boltzmann")
    histogram.axvline(1, color="tab:red", linestyle="--", label="all balls, at the start")
    histogram.set(
        title="How fast the balls are", xlabel="speed (m/s)", ylabel="share of the balls per m/s", xlim=(0, 4)
    )
    histogram.legend(frameon=False)
