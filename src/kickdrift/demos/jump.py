"""A jump at 30, 60 and 144 frames a second.

A player leaves the ground at 9.81 m/s upwards and 5 m/s forwards, under g = 9.81 m/s^2. The
exact jump is at the top (4.905 m) after 1 s, and back on the ground after 2 s, 10 m further on. Both
times are whole steps at every rate, so all differences come from the method.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import kickdrift as kd

from ..tables import table
from .common import fixed, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo jump
  python -m kickdrift demo jump --plot jump.png
"""

RATES = (30, 60, 144)
G, UP, FORWARD = 9.81, 9.81, 5.0
SAME = 1e-9  #: tolerance in m: smaller differences are rounding errors


@dataclass(frozen=True)
class Jump:
    apex: float  #: height after 1 s, in m
    end: float  #: height after 2 s, in m
    time: float  #: time of landing in s
    place: float  #: distance of landing in m
    path: np.ndarray  #: (k, 2) positions


def jump(name: Any, hz: int) -> Jump:
    """Simulate a little more than 2 s and find the landing point."""
    player = kd.Stepper([[0.0, 0.0]], [[FORWARD, UP]], hz=hz, integrator=name, forces=[kd.Gravity((0.0, -G))])
    flight = player.record(steps=2 * hz + hz // 5)
    x, y = flight.position[:, 0].T
    # The landing is a root of the parabola through three samples.
    last = int(np.argmax(y[2:] <= 0)) + 1
    slope, bend = (y[last + 1] - y[last - 1]) / 2, (y[last + 1] - 2 * y[last] + y[last - 1]) / 2
    share = (slope + math.sqrt(slope * slope - 4 * bend * y[last])) / (-2 * bend)
    return Jump(
        apex=float(y[hz]),
        end=float(y[2 * hz]),
        time=float(flight.time[last] + share * player.dt),
        place=float(x[last] + share * (x[last + 1] - x[last])),
        path=flight.position[:, 0],
    )


def spread(jumps: list[Jump]) -> float:
    """Return the largest difference of landing points between the rates, in m."""
    places = [each.place for each in jumps]
    return max(places) - min(places)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def report(options: argparse.Namespace) -> str:
    jumps = {name: [jump(name, hz) for hz in RATES] for name in kd.INTEGRATORS}
    heading = f"A jump, {UP:g} m/s up and {FORWARD:g} m/s forward under g = {G:g} m/s^2, at {listed(RATES)} Hz."
    return "\n\n".join([heading, _heights(jumps), _landings(jumps), _verdict(jumps)])


def _heights(jumps: dict[str, list[Jump]]) -> str:
    rates = [f"{hz} Hz" for hz in RATES]
    rows = [["", *rates, *rates], ["in truth", *[fixed(UP - G / 2)] * 3, *[fixed(2 * UP - 2 * G)] * 3]]
    for name, each in jumps.items():
        rows.append([name, *(fixed(one.apex) for one in each), *(fixed(one.end) for one in each)])
    return "Height (m) after 1 s, when it should be at the top, and after 2 s, when it should be 0:\n\n" + table(rows)


def _landings(jumps: dict[str, list[Jump]]) -> str:
    rates = [f"{hz} Hz" for hz in RATES]
    truth = ["in truth", *[fixed(2 * UP / G)] * 3, *[fixed(FORWARD * 2 * UP / G)] * 3, fixed(0.0)]
    rows = [["", *rates, *rates, "apart"], truth]
    for name, each in jumps.items():
        times, places = (fixed(one.time) for one in each), (fixed(one.place) for one in each)
        rows.append([name, *times, *places, fixed(spread(each))])
    return "Landing: time (s), place (m), and how far apart the places are (m):\n\n" + table(rows)


def _verdict(jumps: dict[str, list[Jump]]) -> str:
    apart = {name: spread(each) for name, each in jumps.items()}
    same = [name for name in jumps if apart[name] < SAME]
    lines = [f"The same spot at every rate, to rounding: {listed(same)}.", ""]
    euler = [apart[name] for name in jumps if name.endswith("euler")]
    if apart["velocity_verlet"] < SAME <= min(euler):
        lines.append(
            f"Velocity Verlet lands on the same spot at {listed(RATES)} Hz (within {apart['velocity_verlet']:.0e} m); "
            f"the Euler methods do not: their places are {min(euler):.2f} to {max(euler):.2f} m apart."
        )
    else:
        lines.append("That is not what theory says: velocity Verlet alone should be exact here, and no Euler method.")
    return "\n".join(textwrap.fill(line, 96) for line in lines)


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """Plot the jump in the upper row and the landing in the lower one, with a column for each of three methods."""
    names = ("explicit_euler", "semi_implicit_euler", "velocity_verlet")
    figure.set_size_inches(11, 6.2)
    panels = figure.subplots(2, len(names), sharey="row", squeeze=False)
    far, time = FORWARD * 2 * UP / G, np.linspace(0, 2.2 * UP / G, 400)
    for column, name in zip(panels.T, names, strict=True):
        for panel in column:
            panel.plot(FORWARD * time, UP * time - G / 2 * time * time, color="0.8", linewidth=5, label="in truth")
            for hz, colour, size in zip(RATES, ("tab:red", "tab:blue", "black"), (9, 6, 3), strict=True):
                # Different marker sizes keep coinciding points visible.
                dots = {"marker": "o", "markersize": size} if panel is column[1] else {}
                panel.plot(*jump(name, hz).path.T, color=colour, linewidth=1, label=f"{hz} Hz", **dots)
            panel.set_xlabel("distance x (m)")
        column[0].set(title=name, xlim=(0, 1.1 * far), ylim=(-0.5, 5.8))
        column[1].set(xlim=(0.95 * far, 1.025 * far), ylim=(-0.6, 1.2))
    panels[0, 0].set_ylabel("height y (m)")
    panels[1, 0].set_ylabel("height y (m), at the landing")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
