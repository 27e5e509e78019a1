"""The five game loops on the same uneven frames.

The lecture "Game Physics Notes 02" (CSCI 321, Western Washington University, 2017) describes
five ways to convert the time between two frames to steps. Here each of them moves a spring of 5 Hz over
one sequence of frames, 21 s long: first on a 60 Hz display with half a millisecond of noise, then one frame
of a whole second, then on a 144 Hz display.
"""

from __future__ import annotations

import argparse
import json
import random
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

import kickdrift as kd

from ..tables import table
from .common import fixed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo loops
  python -m kickdrift demo loops --plot loops.png
"""

NOISE = 0.5e-3  #: noise of each time stamp in s, to either side
HITCH = 1.0  #: length of the one slow frame in s
SPRING = 5.0  #: Hz; at 60 steps/s each step is a twelfth of a swing
PARTS = {"60 Hz": slice(0, 600), "hitch": slice(600, 601), "144 Hz": slice(601, 601 + 1440)}
WIDTH = 100


@dataclass(frozen=True)
class Loop:
    name: str
    meaning: str
    hz: int | None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def call(self) -> str:
        """The constructor call of this loop's clock, as text."""
        rate = [] if self.hz is None else [str(self.hz)]
        settings = [f"{key}={json.dumps(value) if value else value}" for key, value in self.settings.items()]
        return f"FixedClock({', '.join(rate + settings)})"

    def clock(self) -> kd.FixedClock:
        return kd.FixedClock(self.hz, **self.settings)


LOOPS = (
    Loop("1", "one step of the display's period per frame, whatever the time", 60, {"policy": "locked(1)"}),
    Loop("2", "n steps per frame; or, with one clock tick for all, substeps=n", 240, {"policy": "locked(4)"}),
    Loop("3", "one step as long as the frame, up to 0.1 s", None, {"policy": "variable(0.1)"}),
    Loop("4", "small steps; what is left of each frame is thrown away", 240, {"carry": False}),
    Loop("5", "fixed steps; what is left waits for the next frame", 60),
    Loop("5, match", "the same, but no 0 or 2 steps for a little noise", 60, {"policy": "match"}),
)


def frames() -> list[float]:
    """Return frame times in s, from noisy time stamps; reproducible on every machine."""
    stamps, now = [0.0], Fraction(0)
    noise = random.Random(1)
    for period, count in ((Fraction(1, 60), 600), (Fraction(HITCH), 1), (Fraction(1, 144), 1440)):
        for _ in range(count):
            now += period
            stamps.append(float(now) + NOISE * (2 * noise.random() - 1))
    stamps[-1] = float(now)
    return np.diff(stamps).tolist()


@dataclass(frozen=True)
class Run:
    """The record of a loop, frame by frame."""

    loop: Loop
    real: np.ndarray  #: real time in s at the end of each frame
    steps: np.ndarray
    simulated: np.ndarray  #: simulated time in s
    energy: np.ndarray  #: energy relative to the initial energy
    clamped: float  #: time clamped by the clock in s
    dropped: float  #: time dropped by the clock in s

    @property
    def drift(self) -> np.ndarray:
        """Lead of the simulation over real time, in s."""
        return self.simulated - self.real

    def speed(self, part: str) -> float:
        """Return the ratio of simulated to real time in a part."""
        simulated, real = (np.diff(time, prepend=0.0)[PARTS[part]].sum() for time in (self.simulated, self.real))
        return float(simulated / real)

    def irregular(self, part: str) -> int:
        """Count the frames of a part without exactly one step."""
        return int(np.count_nonzero(self.steps[PARTS[part]] != 1))


def run(loop: Loop) -> Run:
    """Run all frames through a loop."""
    spring = kd.Stepper([[1.0]], clock=loop.clock(), forces=[kd.AnchorSpring.from_frequency(SPRING)])
    times = frames()
    at_start = sum(spring.energy())
    steps, simulated, energy = [], [], []
    for seconds in times:
        steps.append(spring.advance(seconds))
        simulated.append(spring.time)
        energy.append(sum(spring.energy()) / at_start)
    clock = spring.clock
    return Run(
        loop,
        np.cumsum(times),
        np.array(steps),
        np.array(simulated),
        np.array(energy),
        clamped=clock.clamped_ns / 1e9,
        dropped=float(clock.dropped) * clock.dt,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def report(options: argparse.Namespace) -> str:
    runs = [run(loop) for loop in LOOPS]
    heading = (
        f"A spring of {SPRING:g} Hz under five game loops, on the same {len(runs[0].steps):,} frames: 10 s at 60 Hz "
        f"with {NOISE * 1e3:g} ms of noise, one frame of {HITCH:g} s, 10 s at 144 Hz."
    )
    return "\n\n".join([textwrap.fill(heading, WIDTH), _loops(), _steps(runs), _outcome(runs), _verdict(runs)])


def _loops() -> str:
    rows = [["loop", "clock", "steps"], *[[loop.name, loop.call, loop.meaning] for loop in LOOPS]]
    return "\n".join(line.rstrip() for line in table(rows, labels=3).splitlines())


def _steps(runs: Sequence[Run]) -> str:
    names = ["least", "mean", "most", "none", "several"]
    rows = [["loop", *names, "hitch", *names]]
    for each in runs:
        slow, hitch, fast = (each.steps[part] for part in PARTS.values())
        rows.append([each.loop.name, *_counts(slow), str(hitch[0]), *_counts(fast)])
    title = "Steps per frame at 60 Hz, in the hitch, and at 144 Hz; how many frames had none, how many several:"
    return f"{title}\n\n{table(rows)}"


def _counts(steps: np.ndarray) -> list[str]:
    return [str(steps.min()), f"{steps.mean():.3f}", str(steps.max()), str(sum(steps == 0)), str(sum(steps > 1))]


def _outcome(runs: Sequence[Run]) -> str:
    rows = [["loop", "simulated", "drift", "clamped", "dropped", "after 60 Hz", "after the hitch", "at the end"]]
    for each in runs:
        seconds = [each.simulated[-1], each.drift[-1], each.clamped, each.dropped]
        energies = [each.energy[part.stop - 1] for part in PARTS.values()]
        rows.append([each.loop.name, *(fixed(value) for value in seconds), *(fixed(value, 2) for value in energies)])
    title = (
        f"Of {runs[0].real[-1]:g} s: simulated time, how far it is ahead of real time, and what the clock cut off or "
        f"threw away (s); energy of the spring, which should stay 1:"
    )
    return textwrap.fill(title, WIDTH) + "\n\n" + table(rows)


def _verdict(runs: Sequence[Run]) -> str:
    locked, small, variable, thrown, exact, match = runs
    before, after = (variable.energy[PARTS[part].stop - 1] for part in ("60 Hz", "hitch"))
    lost = -exact.drift[-1]
    text = f"""\
1, 2: the game runs {locked.speed("144 Hz"):.2f} and {small.speed("144 Hz"):.2f} times as fast at 144 Hz.
3: on time but for what was cut off; yet no two runs are alike, and the one long step of the hitch multiplied \
the energy by {after / before:.0f}.
4: the game runs at {thrown.speed("60 Hz"):.2f} of real time at 60 Hz, and at {thrown.speed("144 Hz"):.2f} at 144 Hz.
5: {lost:.3f} s behind, all of it cut off or dropped in the hitch, and counted, or waiting for the next step. \
{exact.irregular("60 Hz")} of the 600 frames at 60 Hz had 0 or 2 steps; under match {match.irregular("60 Hz")}."""
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="   ") for line in text.splitlines())


COLOURS = ("tab:orange", "tab:brown", "tab:red", "tab:purple", "black", "tab:blue")


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """Plot drift and energy over time."""
    runs = [run(loop) for loop in LOOPS]
    figure.set_size_inches(11, 5)
    drift, energy = figure.subplots(1, 2)
    for each, colour in zip(runs, COLOURS, strict=True):
        dashes = "--" if each.loop is LOOPS[1] or each.loop is LOOPS[-1] else "-"
        label = f"{each.loop.name}: {each.loop.call}"
        drift.plot(each.real, each.drift, dashes, color=colour, linewidth=2, label=label)
        energy.semilogy(each.real, each.energy, dashes, color=colour, linewidth=1)
    drift.axhline(0, color="0.8", zorder=0)
    drift.set(title="Simulated time ahead of real time", ylabel="drift (s)", ylim=(-7, 15))
    energy.set(title="Energy of the spring", ylabel="energy (start = 1)", ylim=(0.7, 150))
    energy.set_yticks([1, 10, 100], ["1", "10", "100"])
    for panel in (drift, energy):
        panel.set(xlabel="real time (s)", xlim=(0, 21))
        panel.axvspan(10, 11, color="0.92", zorder=0)
    figure.legend(*drift.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
