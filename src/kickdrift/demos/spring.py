"""All integrators on a spring, beside the exact solution.

A mass of 10 kg on a spring of 5 N/m is pulled out to 20 m and let go: a = -x/2. These are the
numbers of the lecture "Game Physics Notes 02" (CSCI 321, Western Washington University, 2017),
which follows the same mass with one method after the other.
"""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import kickdrift as kd
from kickdrift.integrators.base import Integrator

from ..tables import percent, table
from .common import abreast, count, fixed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo spring
  python -m kickdrift demo spring --dt 1/60 --steps 600
  python -m kickdrift demo spring --steps 30 --plot spring.png
"""

MASS, STIFFNESS, START = 10.0, 5.0, 20.0
OMEGA = math.sqrt(STIFFNESS / MASS)
ROWS = 20  #: maximal number of rows; longer runs are printed at every second, third, ... step


def exact(time: float) -> tuple[float, float]:
    """Return position and velocity of the exact solution."""
    return START * math.cos(OMEGA * time), -START * OMEGA * math.sin(OMEGA * time)


class Sample(NamedTuple):
    time: float
    position: float
    velocity: float
    energy_error: float  #: energy relative to the initial energy


@dataclass(frozen=True)
class Run:
    integrator: Integrator
    samples: list[Sample]

    @property
    def position_error(self) -> float:
        return max(abs(sample.position - exact(sample.time)[0]) for sample in self.samples)

    @property
    def energy_error(self) -> float:
        """Largest energy error, signed."""
        return max((sample.energy_error for sample in self.samples), key=abs)


def run(name: Any, dt: float | Fraction, steps: int, rows: int) -> Run:
    """Run steps, sample some of them, and stop if the state overflows."""
    spring = kd.Stepper([[START]], mass=MASS, dt=dt, integrator=name, forces=[kd.AnchorSpring(STIFFNESS)])
    every = -(-steps // rows)
    samples = []
    at_start = sum(spring.energy())
    while True:
        with np.errstate(over="ignore"):  # overflow of an unstable run is shown as infinity
            energy_error = sum(spring.energy()) / at_start - 1
        samples.append(Sample(spring.time, float(spring.position[0, 0]), float(spring.velocity[0, 0]), energy_error))
        if spring.tick == steps:
            break
        try:
            spring.step(min(every, steps - spring.tick))
        except kd.KickdriftError:
            break
    return Run(spring.integrator, samples)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "seconds per step, such as 0.5 or 1/60 (default: 1)"
    parser.add_argument("--dt", type=_seconds, default=1, metavar="S", help=text)
    text = "how many steps (default: 10)"
    parser.add_argument("--steps", type=count("steps", 10), default=10, metavar="N", help=text)


def _seconds(text: str) -> float | Fraction:
    try:
        value = Fraction(text) if "/" in text else float(text)
        if kd.Stepper([[0.0]], dt=value).dt < 0:  # the constructor checks dt
            raise ValueError("back in time")
    except (ValueError, ZeroDivisionError) as error:
        raise argparse.ArgumentTypeError(f"expected seconds, such as 0.5 or 1/60, got {text!r}") from error
    return value


def report(options: argparse.Namespace) -> str:
    runs = [run(name, options.dt, options.steps, ROWS) for name in kd.INTEGRATORS]
    every = -(-options.steps // ROWS)
    shown = "every step" if every == 1 else f"every {every} steps"
    heading = (
        f"A mass on a spring, a = -x/2, let go at x = 20 m: {options.steps} steps of {options.dt} s, shown {shown}.\n"
        f"Energy: the error of kinetic + potential energy, as a share of what there was at the start."
    )
    # Number of integrator columns that fit into the terminal.
    count = max(1, (shutil.get_terminal_size((110, 24)).columns - 21) // 28)
    bands = [_band(runs[first : first + count]) for first in range(0, len(runs), count)]
    return "\n\n".join([heading, *bands, _summary(runs)])


def _band(runs: Sequence[Run]) -> str:
    """Format the exact solution beside some integrators."""
    times = [sample.time for sample in max((run.samples for run in runs), key=len)]
    truth = [[f"{time:g}", *map(fixed, exact(time))] for time in times]
    blocks = [("exact solution", table([["t (s)", "x (m)", "v (m/s)"], *truth], labels=0, gap=" "))]
    for run in runs:
        rows = [[fixed(now.position), fixed(now.velocity), percent(now.energy_error)] for now in run.samples]
        rows += [["stopped", "", ""]] * (len(times) - len(rows))
        blocks.append((run.integrator.name, table([["x (m)", "v (m/s)", "energy"], *rows], labels=0, gap=" ")))
    return abreast(blocks)


def _summary(runs: Sequence[Run]) -> str:
    """Format the errors of all integrators, smallest first."""
    rows = [["integrator", "order", "forces/step", "symplectic", "largest x error (m)", "largest energy error"]]
    for run in sorted(runs, key=lambda run: run.position_error):
        method, error = run.integrator, percent(run.energy_error)
        evaluations, symplectic = str(method.force_evaluations or "iterates"), "yes" if method.symplectic else "no"
        rows.append([method.name, f"{method.order:g}", evaluations, symplectic, f"{run.position_error:.2g}", error])
    return "The most exact first:\n\n" + table(rows)


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """Plot one panel per integrator on equal axes; unstable runs leave their panel."""
    columns = 5
    rows = -(-len(kd.INTEGRATORS) // columns)
    figure.set_layout_engine("constrained", w_pad=0.1)  # room between the last number of an axis and the next axis
    figure.set_size_inches(2.6 * columns, 2.1 * rows + 0.8)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    end = options.steps * float(options.dt)
    fine = np.linspace(0, end, 5000)
    for panel, name in zip(panels.flat, kd.INTEGRATORS, strict=False):
        result = run(name, options.dt, options.steps, rows=5000)
        time = [sample.time for sample in result.samples]
        # Clip far outside of the panel: matplotlib fails near the limits of floats.
        position = np.clip([sample.position for sample in result.samples], -100 * START, 100 * START)
        panel.plot(fine, START * np.cos(OMEGA * fine), color="0.75", linewidth=3, label="exact solution")
        dots = "." if len(time) <= 60 else ""
        panel.plot(time, position, color="tab:red", marker=dots, linewidth=1, label=f"integrator, dt = {options.dt} s")
        panel.set_title(f"{name}\nenergy error up to {percent(result.energy_error)}", fontsize=9)
        panel.axhline(0, color="0.85", linewidth=0.8, zorder=0)
    panels[0, 0].set(xlim=(0, end), ylim=(-1.6 * START, 1.6 * START))
    figure.supxlabel("time t (s)", fontsize=10)
    figure.supylabel("position x (m)", fontsize=10)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
