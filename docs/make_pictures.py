"""Draw the pictures of these pages into docs/pictures: python docs/make_pictures.py."""

import argparse
import json
import math
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from PIL import Image

import kickdrift as kd
from kickdrift.demos import compare

FOLDER = Path(__file__).parent / "pictures"
GROWTH = Path(__file__).parents[1] / "bench" / "results" / "growth.json"
#: Chung and Ooi (2011), test 4: degrees and tangential restitution, read from their figure; and what Kharaz measured.
THEIRS = [(5.2, 0.95), (10.2, 0.69), (15, 0.62), (20.1, 0.62), (25, 0.63), (30.1, 0.68), (35, 0.74), (40, 0.78),
          (50, 0.85), (60, 0.89), (70, 0.93), (80, 0.97), (85, 0.98)]  # fmt: skip
MEASURED = [(2.2, 0.8), (4.2, 0.75), (9.8, 0.68), (20.2, 0.6), (30.4, 0.69), (39.5, 0.77), (49.6, 0.85), (71.1, 0.94),
            (79.2, 0.97), (85.2, 0.98)]  # fmt: skip


def slide(axes):
    """A disc and a sphere that slide at first: how fast they are, and how fast their surfaces rotate."""
    for dim, name in ((2, "disc"), (3, "sphere")):
        gravity, normal, x = (0, -9.81, 0)[:dim], (0, 1, 0)[:dim], [[0, 0.1, 0][:dim]]
        floor = kd.Plane(normal, 0.0, restitution=0, friction=0.2, radius=0.1)
        ball = kd.Stepper(
            x, [[3.0, 0, 0][:dim]], hz=240, forces=[kd.Gravity(gravity)], constraints=[floor], angular_velocity=0.0
        )
        seen = ball.record(200)
        spin = -0.1 * seen.angular_velocity.reshape(len(seen.time), -1)[:, -1]
        line = axes.plot(seen.time, seen.velocity[:, 0, 0], label=f"{name}: velocity")
        axes.plot(seen.time, spin, "--", color=line[0].get_color(), label=f"{name}: r × angular velocity")
    axes.set(xlabel="s", ylabel="m/s", title="Slides, then rolls: 3 m/s, friction 0.2")
    axes.legend()


def bounce(axes):
    """Which share of the speed along a surface is left after a bounce, at the angles of Chung and Ooi."""
    degrees, left = np.arange(1, 90), []
    for a in np.radians(degrees):
        v = np.array([[3.9 * math.sin(a), -3.9 * math.cos(a), 0.0]])
        ball = kd.Stepper(
            [[0, 0.0025, 0]] - 1e-4 * v, v.copy(), dt=2e-4, angular_velocity=0.0,
            constraints=[kd.Plane((0, 1, 0), 0.0, 0.98, 0.092, 0.0025)],
        )  # fmt: skip
        ball.step(2)
        left.append(ball.velocity[0, 0] / v[0, 0])
    axes.plot(degrees, left, label="kickdrift: a rigid sphere")
    axes.plot(*zip(*THEIRS, strict=True), "s", mfc="none", label="Chung and Ooi: elastic, Hertz-Mindlin")
    axes.plot(*zip(*MEASURED, strict=True), "k.", label="measured (Kharaz et al. 2001)")
    axes.set(
        xlabel="degrees from the normal", ylabel="speed along the surface, after / before", title="Bounces at 3.9 m/s"
    )
    axes.set_ylim(0.35, 1.02)
    axes.legend(loc="lower right")


def growth(axes):
    """Time per body and step of each kernel, by the number of bodies."""
    for name, found in json.loads(GROWTH.read_text(encoding="utf-8"))["seconds"].items():
        axes.loglog([int(n) for n in found], [1e9 * seconds for seconds in found.values()], "o-", label=name)
    axes.set(xlabel="bodies", ylabel="ns per body and step")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, reverse=True)


def save(figure, name, **how):
    """Save a figure with few colours, so that it is small."""
    figure.savefig(FOLDER / f"{name}.png", dpi=160, **how)
    with Image.open(FOLDER / f"{name}.png") as picture:
        picture.convert("RGB").quantize(64).save(FOLDER / f"{name}.png", optimize=True)


def halves(figure, *names, width=0.42):
    """Save the two panels of a figure in a file each: pages show them side by side, on phones one below the other."""
    for axes, left, right in zip(figure.axes, (0.07, 0.57), (0.42, width), strict=True):
        axes.set_position([left, 0.12, right, 0.8])
        axes.set_title(axes.get_title(), fontsize=10, loc="left")
        axes.set_title("")
    for number, name in enumerate(names):
        half = Bbox.from_bounds(5 * number, 0, 5, figure.get_figheight())
        save(figure, name, bbox_inches=half)


def main():
    for name in ("spring", "orbit", "throw"):
        parser = argparse.ArgumentParser()
        compare.add_arguments(parser)
        figure = Figure(layout="constrained")
        compare.plot(parser.parse_args([name]), figure)
        figure.set_layout_engine("none")
        figure.set_size_inches(10, 4.4)
        left, right = figure.axes
        right.legend(
            *left.get_legend_handles_labels(), loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=9
        )
        figure.legends.clear()
        halves(figure, f"compare-{name}-cost", f"compare-{name}-energy", width=0.25)
    figure = Figure(figsize=(10, 4.4))
    left, right = figure.subplots(1, 2)
    slide(left)
    bounce(right)
    halves(figure, "rolling-slide", "rolling-bounce")
    figure = Figure(figsize=(8, 4.4), layout="constrained")
    growth(figure.subplots())
    save(figure, "growth")


if __name__ == "__main__":
    main()
