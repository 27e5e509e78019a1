"""All integrators side by side on one problem: error, energy, force evaluations and time.

The problem is one of those below, or FILE.py: a program that makes a kickdrift Stepper or ODEStepper. The whole file is
run, without arguments, as a module named __kickdrift__. Code under `if __name__ == "__main__":` is not run, so
put the loop of a game there. The stepper must be a global variable, named `world` if there are
several. It is stepped from its present state, with every integrator.

  spring    a mass on a spring, ten periods
  orbit     a planet on an ellipse of eccentricity 0.5, ten years
  pendulum  let go at 135 degrees, ten seconds
  throw     a ball with air drag, two seconds

Error: the largest distance from the exact solution at any time, of the worst body; beside it the median of all bodies,
by which the table is sorted: a ball that just touches a wall, or just misses it, can have any error. Problems without
a known solution are compared with Yoshida's method of order 6 with much smaller steps (for an ODEStepper rk4). Energy:
the largest error, relative to the initial energy. With friction the exact solution loses energy too; then the error is
the difference from its energy.
"""

from __future__ import annotations

import argparse
import json
import math
import runpy
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import kickdrift as kd

from ..progress import over
from .common import percent, table
from .spring import _seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift compare spring
  python -m kickdrift compare orbit --plot orbit.png
  python -m kickdrift compare throw --dt 1/30 --integrator velocity_verlet --integrator rk4
  python -m kickdrift compare pendulum --time 5 --json
"""

World = Any  # a Stepper or an ODEStepper
LOOKS = 200  #: number of times at which a run is compared
FINER = 4  #: ratio of the smallest step of the figure to that of the reference
SHARES = [Fraction(2) ** power for power in range(2, -4, -1)]  #: step sizes in the figure, in units of dt
FRICTION = (kd.LinearDrag, kd.QuadraticDrag)  # dissipative forces, without a potential


@dataclass(frozen=True)
class Problem:
    """A problem: `make` returns a new stepper, and `exact` the positions at a time, if known in closed form."""

    name: str
    text: str
    make: Callable[[str, Any], World]
    dt: Fraction | float
    time: float
    exact: Callable[[float], Any] | None = None
    names: tuple[str, ...] = tuple(kd.INTEGRATORS)


@dataclass(frozen=True)
class Run:
    """One integrator at one dt."""

    name: str
    dt: float
    steps: int
    error: float  #: largest error of the worst body; infinite if the run stopped
    median: float  #: median error over the bodies
    evaluations: int
    times: np.ndarray
    energy: np.ndarray | None  #: relative energy error
    seconds: float = math.nan
    stopped: str = ""  #: the reason, if the run stopped

    @property
    def drift(self) -> float | None:
        """Largest energy error, signed."""
        return None if self.energy is None else float(max(self.energy, key=abs))


# The problems.


def _spring(integrator: Any, dt: Any) -> World:
    return kd.Stepper([[1.0]], dt=dt, integrator=integrator, forces=[kd.AnchorSpring(1.0)])


ECCENTRICITY = 0.5


def _orbit(integrator: Any, dt: Any) -> World:
    near, speed = 1 - ECCENTRICITY, math.sqrt((1 + ECCENTRICITY) / (1 - ECCENTRICITY))
    return kd.Stepper([[near, 0.0]], [[0.0, speed]], dt=dt, integrator=integrator, forces=[kd.PointGravity(1.0)])


def _on_the_ellipse(t: float) -> list[list[float]]:
    """Solve Kepler's equation, E - e sin E = t, by Newton's method."""
    anomaly = t + ECCENTRICITY * math.sin(t)
    for _ in range(50):
        anomaly -= (anomaly - ECCENTRICITY * math.sin(anomaly) - t) / (1 - ECCENTRICITY * math.cos(anomaly))
    return [[math.cos(anomaly) - ECCENTRICITY, math.sqrt(1 - ECCENTRICITY**2) * math.sin(anomaly)]]


RELEASED = math.radians(135)


def _swing(t: float, position: np.ndarray, velocity: np.ndarray, out: np.ndarray) -> None:
    np.negative(np.sin(position), out=out)


def _pendulum(integrator: Any, dt: Any) -> World:
    pull = kd.Acceleration(
        _swing, velocity_dependent=False, potential=lambda x: 1 - np.cos(x[:, 0]), jacobian=_swing_jacobian
    )
    return kd.Stepper([[RELEASED]], dt=dt, integrator=integrator, forces=[pull])


def _swing_jacobian(t: float, x: np.ndarray, v: np.ndarray, dx: np.ndarray, dv: np.ndarray, out: np.ndarray) -> None:
    np.multiply(-np.cos(x), dx, out=out)


def _angle(t: float) -> list[list[float]]:
    """sin(x / 2) = k cn(t) / dn(t) with k = sin(x0 / 2): Abramowitz and Stegun 1964, 16.4."""
    k = math.sin(RELEASED / 2)
    a, b, c = [1.0], math.sqrt(1 - k * k), [k]
    for _ in range(8):  # quadratic convergence
        a, b, c = [*a, (a[-1] + b) / 2], math.sqrt(a[-1] * b), [*c, (a[-1] - b) / 2]
    phi = 2 ** (len(a) - 1) * a[-1] * t
    for big, small in zip(a[:0:-1], c[:0:-1], strict=True):
        phi = (phi + math.asin(small / big * math.sin(phi))) / 2
    return [[2 * math.asin(k * math.cos(phi) / math.sqrt(1 - (k * math.sin(phi)) ** 2))]]


def _throw(integrator: Any, dt: Any) -> World:
    forces = [kd.Gravity((0, -9.81)), kd.QuadraticDrag(0.01)]
    return kd.Stepper([[0.0, 0.0]], [[20.0, 20.0]], mass=0.5, dt=dt, integrator=integrator, forces=forces)


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("spring", "x'' = -x from x = 1", _spring, Fraction(1, 5), 20 * math.pi, lambda t: [[math.cos(t)]]),
        Problem("orbit", "an ellipse of eccentricity 0.5, a year of 2 pi", _orbit, 0.05, 20 * math.pi, _on_the_ellipse),
        Problem("pendulum", "x'' = -sin x from 135 degrees", _pendulum, Fraction(1, 20), 10.0, _angle),
        Problem("throw", "0.5 kg at 20, 20 m/s, drag of 0.01 kg/m", _throw, Fraction(1, 60), 2.0),
    )
}


def _problem(text: str) -> Problem:
    """Return a problem by name, or from the stepper of a file."""
    if text in PROBLEMS:
        return PROBLEMS[text]
    known = ", ".join(PROBLEMS)
    if not text.endswith(".py"):
        raise argparse.ArgumentTypeError(f"expected one of {known}, or a FILE.py, got {text!r}")
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    own, sys.argv = sys.argv, [text]  # hides our arguments from the program
    try:
        names = runpy.run_path(text, run_name="__kickdrift__")
    except SystemExit as error:
        raise argparse.ArgumentTypeError(f"{text} exited with code {error.code}") from error
    except Exception as error:
        raise argparse.ArgumentTypeError(f"{text} raised {type(error).__name__}: {error}") from error
    finally:
        sys.argv = own
    found = {name: value for name, value in names.items() if isinstance(value, (kd.Stepper, kd.ODEStepper))}
    if "world" not in found and len(found) != 1:
        left = f"{len(found)}: {', '.join(found)}" if found else "none"
        raise argparse.ArgumentTypeError(
            f"{text}: expected it to leave one Stepper or ODEStepper, or one named `world`, got {left}"
        )
    given = found.get("world") or next(iter(found.values()))
    y = given.y if isinstance(given, kd.ODEStepper) else None

    def make(integrator: Any, dt: Any) -> World:
        if isinstance(given, kd.ODEStepper):
            return kd.ODEStepper(np.array(y), given.rhs, dt=dt, integrator=integrator, jacobian=given.jacobian)
        return kd.Stepper(
            given.position.copy(),
            given.velocity.copy(),
            given.mass,
            dt=dt,
            integrator=integrator,
            forces=given.forces,
            constraints=given.constraints,
        )

    schemes = ("explicit_euler", "implicit_euler", "midpoint", "heun", "rk4")
    names_ = schemes if isinstance(given, kd.ODEStepper) else tuple(kd.INTEGRATORS)
    return Problem(text, repr(given).strip("<>"), make, given.dt, 600 * given.dt, None, names_)


# Running.


def _state(world: World) -> np.ndarray:
    state: np.ndarray = world.y if isinstance(world, kd.ODEStepper) else world.position
    return state


def _energy_of(world: World) -> Callable[[World], float] | None:
    """Return a function for the energy, or None if a force is neither conservative nor friction."""
    if isinstance(world, kd.ODEStepper):
        return None
    kept = []
    for term in world.forces:
        try:
            kd.Stepper(world.position.copy(), mass=world.mass, forces=[term]).energy()
        except ValueError:
            if not isinstance(term, FRICTION):
                return None
        else:
            kept.append(term)
    scale = kd.Stepper(world.position.copy(), world.velocity.copy(), world.mass, forces=kept)

    def energy(now: World) -> float:
        scale.position[:], scale.velocity[:] = now.position, now.velocity
        with np.errstate(over="ignore", invalid="ignore"):  # overflow of an unstable run is shown as infinity
            return sum(scale.energy())

    return energy


def _looks(steps: int) -> list[int]:
    """Return the step numbers at which a run is sampled."""
    return sorted({round(steps * look / LOOKS) for look in range(LOOKS + 1)})


class Comparison:
    """A problem over a duration, and its exact solution."""

    def __init__(self, problem: Problem, dt: Any, duration: float, finest: Fraction) -> None:
        self.problem = problem
        self.dt = dt if isinstance(dt, Fraction) else Fraction(dt)
        # A multiple of the largest step in the figure.
        most = int(SHARES[0])
        self.steps = max(most, most * round(duration / float(self.dt) / most))
        world = problem.make(problem.names[0], float(self.dt))
        self.energy = _energy_of(world)
        self.start = self.energy(world) if self.energy else 0.0
        self.finest = finest
        self.truths: dict[Fraction, tuple[np.ndarray, float]] = {}
        if problem.exact is None or any(isinstance(term, FRICTION) for term in getattr(world, "forces", ())):
            self._refine(world)

    def _refine(self, world: World) -> None:
        """Run the reference, and save its state at all sample times."""
        share = self.finest / FINER
        name = "rk4" if isinstance(world, kd.ODEStepper) else "yoshida6"
        fine = self.problem.make(name, self.dt * share)
        # Sample times in units of dt, for all step sizes.
        moments = {now * size for size in SHARES for now in _looks(int(self.steps / size))}
        for moment in sorted(moments):
            fine.step(int(moment / share) - fine.tick)
            energy = self.energy(fine) if self.energy else 0.0
            self.truths[moment] = (_state(fine).copy(), energy)

    def _truth(self, moment: Fraction) -> tuple[Any, float]:
        if self.problem.exact is None:
            return self.truths[moment]
        state = self.problem.exact(float(moment * self.dt))
        return np.array(state), self.truths[moment][1] if self.truths else self.start

    def run(self, name: str, share: Fraction = Fraction(1), clock: bool = False) -> Run:
        """Run one integrator with steps of share * dt; raise ValueError if it does not support the forces."""
        world = self.problem.make(name, self.dt * share)
        steps = int(self.steps / share)
        times, energies, stopped = [], [], ""
        errors = np.zeros(len(_state(world)))  # running maximum per body
        for look in _looks(steps):
            try:
                world.step(look - world.tick)
            except kd.KickdriftError as reason:
                stopped = str(reason)
                errors[:] = math.inf
                break
            state, energy = self._truth(look * share)
            with np.errstate(over="ignore"):  # overflow of an unstable run is shown as infinity
                errors = np.maximum(errors, np.sqrt(((_state(world) - state) ** 2).sum(axis=1)))
            times.append(float(look * share * self.dt))
            if self.energy is not None:
                with np.errstate(all="ignore"):
                    energies.append((self.energy(world) - energy) / (abs(self.start) or 1))
        seconds = math.nan
        if not stopped:
            # A single call, as in use: some integrators need an extra evaluation per call.
            seconds, world = self._clocked(name, share, steps, 3 if clock else 1)
        evaluations = world.evaluations if isinstance(world, kd.ODEStepper) else world.force_evaluations
        energy_errors = np.array(energies) if self.energy is not None else None
        dt = float(self.dt * share)
        error, median = float(errors.max(initial=0)), float(np.median(errors)) if len(errors) else 0.0
        return Run(name, dt, steps, error, median, evaluations, np.array(times), energy_errors, seconds, stopped)

    def _clocked(self, name: str, share: Fraction, steps: int, times: int) -> tuple[float, World]:
        best = math.inf
        for _ in range(times):
            world = self.problem.make(name, self.dt * share)
            before = time.perf_counter()
            world.step(steps)
            best = min(best, time.perf_counter() - before)
        return best, world


def compare(comparison: Comparison, names: Iterable[str]) -> tuple[list[Run], dict[str, str]]:
    """Return the runs sorted by median error, and the reasons why integrators refuse."""
    runs, refused = [], {}
    for name in over(names, "compare", "integrators"):
        try:
            runs.append(comparison.run(name, clock=True))
        except ValueError as error:
            refused[name] = str(error)
    return sorted(runs, key=lambda run: (run.median, run.error, run.name)), refused


# Tables and pictures.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "problem", type=_problem, metavar="PROBLEM", help=f"one of {', '.join(PROBLEMS)}; or FILE.py with your stepper"
    )
    parser.add_argument("--dt", type=_seconds, metavar="S", help="seconds per step, such as 0.5 or 1/60")
    parser.add_argument("--time", type=_duration, metavar="S", help="how many seconds are simulated")
    parser.add_argument(
        "--integrator",
        action="append",
        choices=list(kd.INTEGRATORS),
        metavar="NAME",
        help="only this one; may be given several times",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with the numbers of the figure")


def _duration(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds, such as 10, got {text!r}")
    return value


def _begin(options: argparse.Namespace, finest: Fraction) -> tuple[Comparison, list[str]]:
    problem: Problem = options.problem
    dt = problem.dt if options.dt is None else options.dt
    duration = problem.time if options.time is None else options.time
    names = [name for name in problem.names if options.integrator is None or name in options.integrator]
    return Comparison(problem, dt, duration, finest), names


def report(options: argparse.Namespace) -> str:
    comparison, names = _begin(options, SHARES[-1] if options.json else Fraction(1))
    runs, refused = compare(comparison, names)
    if options.json:
        return _json(comparison, runs, refused)
    rows = [["integrator", "order", "error", "median", "energy error", "force evaluations", "time (ms)"]]
    rows += [
        [
            run.name,
            f"{kd.INTEGRATORS[run.name].order:g}",
            "stopped" if run.stopped else f"{run.error:.2g}",
            "-" if run.stopped else f"{run.median:.2g}",
            "-" if run.drift is None else percent(run.drift),
            f"{run.evaluations:,}",
            f"{1e3 * run.seconds:.3g}" if math.isfinite(run.seconds) else "-",
        ]
        for run in runs
    ]
    dt = f"{float(comparison.dt):.6g}"
    heading = f"{options.problem.name}: {options.problem.text}; {comparison.steps:,} steps of {dt} s"
    notes = [f"{name}: {reason}" for name, reason in refused.items()]
    notes += [f"{run.name}: {run.stopped}" for run in runs if run.stopped]
    return "\n\n".join(filter(None, [heading, table(rows), "\n".join(notes)]))


def _series(comparison: Comparison, name: str) -> list[Run]:
    """Run an integrator with the steps of the figure, largest first, without runs that stopped."""
    runs = [comparison.run(name, share) for share in SHARES]
    return [run for run in runs if math.isfinite(run.error)]


def _json(comparison: Comparison, runs: list[Run], refused: dict[str, str]) -> str:
    def number(value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) else None

    integrators = {
        run.name: {
            "error": number(run.error),
            "median_error": number(run.median),
            "energy_error": number(run.drift),
            "force_evaluations": run.evaluations,
            "seconds": number(run.seconds),
            "stopped": run.stopped or None,
            "work_precision": [
                {"dt": fine.dt, "force_evaluations": fine.evaluations, "error": fine.error}
                for fine in _series(comparison, run.name)
            ],
        }
        for run in runs
    }
    result = {
        "problem": comparison.problem.name,
        "dt": float(comparison.dt),
        "steps": comparison.steps,
        "integrators": integrators,
        "refused": refused,
    }
    return json.dumps(result, indent=2)


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """Plot the error against its cost, and the energy error over time."""
    comparison, names = _begin(options, SHARES[-1])
    runs, _ = compare(comparison, names)
    shown = comparison.energy is not None
    figure.set_size_inches(12 if shown else 8, 6)
    panels = figure.subplots(1, 2 if shown else 1, squeeze=False)[0]
    places = {name: place for place, name in enumerate(kd.INTEGRATORS)}
    markers = "osD^v"
    least = 1e-16
    for run in over(sorted(runs, key=lambda run: places[run.name]), "compare", "curves"):
        place = places[run.name]
        style = {"color": f"C{place % 10}", "linestyle": ("-", "--")[place // 10], "linewidth": 1.2}
        series = [fine for fine in _series(comparison, run.name) if fine.error < 1e6]
        panels[0].loglog(
            [fine.evaluations for fine in series],
            [max(fine.error, least) for fine in series],
            marker=markers[place % 5],
            markersize=4,
            label=run.name,
            **style,
        )
        if shown and run.energy is not None:
            # The running maximum, because curves that cross zero in each period hide the others.
            largest = np.maximum.accumulate(np.abs(run.energy))
            panels[1].semilogy(run.times[largest > 0], np.clip(largest[largest > 0], least, 1e6), **style)
    text = f"{options.problem.name}, {comparison.steps * float(comparison.dt):.4g} s"
    panels[0].set(xlabel="force evaluations", ylabel="largest error", title=f"{text}: what an error costs")
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(max(low, least / 2), min(high, 1e3))
    panels[0].grid(alpha=0.3)
    if shown:
        title = f"steps of {float(comparison.dt):.4g} s: largest energy error so far"
        panels[1].set(xlabel="time (s)", ylabel="share of the energy at the start", title=title)
        low, high = panels[1].get_ylim()
        panels[1].set_ylim(max(low, least / 2), min(high, 1e3))
        panels[1].grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
