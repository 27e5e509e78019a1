"""`compare`: several integrators on one problem, as a table and as figures."""

from __future__ import annotations

import math
import os
import time as clock
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from . import time_steps, validation
from .errors import KickdriftError
from .integrators import INTEGRATORS, resolve
from .integrators.base import Integrator
from .ode.stepper import ODEStepper
from .problems import PROBLEMS, Problem, World, problem_of
from .progress import over
from .stepper.stepper import Stepper
from .tables import percent, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = 200  #: number of intervals between the times at which errors are measured
FINER = 4  #: ratio of the smallest step of the figures to that of the reference
SHARES = [Fraction(2) ** power for power in range(2, -4, -1)]  #: step sizes of the figures, as multiples of dt
FLOOR, CEILING = 1e-16, 1e3  #: limits of the axis of errors in figures


@dataclass(frozen=True, eq=False)
class Run:
    """A run of one integrator with one dt. `Comparison` describes the attributes."""

    name: str
    order: float
    dt: float
    steps: int
    error: float
    median: float
    evaluations: int
    times: np.ndarray
    energy: np.ndarray | None
    path: np.ndarray
    seconds: float = math.nan
    stopped: str = ""

    @property
    def drift(self) -> float | None:
        """Largest energy error, signed."""
        return None if self.energy is None else float(max(self.energy, key=abs))


def compare(
    problem: str | Stepper | ODEStepper,
    integrators: str | Integrator | type[Integrator] | Iterable[str | Integrator | type[Integrator]] | None = None,
    dt: float | Fraction | str | None = None,
    time: float | None = None,
) -> Comparison:
    """Run several integrators on one problem; return a table of their errors, energies and costs.

    problem: "spring", "orbit", "pendulum", "throw", or a stepper of yours, which is copied and stepped on from where it
    is. A clock, events and your own arrays are not copied.
    integrators: names or instances such as `GrootWarren(lam=0.65)`; all if left out. Those that do not support the
    forces are listed in `refused`.
    dt: seconds per step; that of the problem if left out.
    time: simulated seconds; if left out that of the problem, for your own stepper 600 steps.

    Errors are distances from the exact solution. If it is unknown, that is a run of `yoshida6`, for an ODEStepper of
    `dopri8`, with much smaller steps. Raises TypeError or ValueError that names the argument.

    >>> import kickdrift as kd
    >>> result = kd.compare("spring", ["explicit_euler", "leapfrog"], dt=0.1, time=6)
    >>> [run.name for run in result]
    ['leapfrog', 'explicit_euler']
    >>> result["leapfrog"].evaluations
    60
    """
    if isinstance(problem, (Stepper, ODEStepper)):
        found = problem_of(problem)
    elif isinstance(problem, str) and problem in PROBLEMS:
        found = PROBLEMS[problem]
    else:
        wrong = ValueError if isinstance(problem, str) else TypeError
        known = f"one of {', '.join(PROBLEMS)}, a Stepper or an ODEStepper"
        raise wrong(f"problem: expected {known}, got {validation.show(problem)}{validation.meant(problem, PROBLEMS)}")
    if isinstance(integrators, (str, Integrator, type)):
        integrators = [integrators]
    if integrators is not None and not isinstance(integrators, Iterable):
        raise TypeError(f"integrators: expected names or instances, got {validation.show(integrators)}")
    exact = time_steps.time_step(found.dt if dt is None else dt, None)
    seconds = found.time if time is None else validation.real("time", time)
    if not 0 < seconds <= 2**53 * exact:
        raise ValueError(f"time: expected seconds above 0, for at most 2**53 steps, got {validation.show(seconds)}")
    return Comparison(found, exact, seconds, integrators)


class Comparison:
    """What `compare` returns: a sequence of runs, sorted by their median error, that prints as a table.

    `problem`, `dt` and `steps` are those of each run. `comparison["rk4"]` is a run by name; it raises KeyError if there
    is none. `refused` has the reasons of integrators that do not support the forces, by name. A run has

      name, order     of the integrator
      error, median   m, largest distance from the exact solution at any time: of the worst body, and the median of all
      energy          energy error as a share of the energy at the start, at each of `times` (s); None without potential
      drift           the largest energy error, with its sign; with friction the difference from the exact energy
      evaluations     how often the forces were evaluated
      seconds         how long the steps took on this machine
      path            (k, 2), first component of position and velocity of body 0 at `times`; of an equation y[0], y[1]
      stopped         the reason why the run ended early, or ""

    >>> import kickdrift as kd
    >>> kd.compare("spring", ["explicit_euler"], dt=0.1, time=6)["explicit_euler"].drift > 0.5
    True
    """

    def __init__(self, problem: Problem, dt: Fraction, time: float, integrators: Iterable[Any] | None = None) -> None:
        known = problem.known
        schemes = [resolve(each, known) for each in (known if integrators is None else integrators)]
        self.problem, self.dt = problem.name, float(dt)
        # The duration is a multiple of the largest step in the figures, so that all runs end at the same time.
        most = int(SHARES[0])
        self.steps = max(most, most * round(time / self.dt / most))
        self._problem, self._dt = problem, dt
        world = problem.make(next(iter(known)), self.dt)
        self._energy = _energy_of(world)
        self._start = self._energy(world) if self._energy else 0.0
        self._unknown = problem.exact is None or any(term.dissipative for term in getattr(world, "forces", ()))
        self._truths: dict[Fraction, tuple[np.ndarray, float]] = {}
        self._finest = SHARES[0]
        self._refine(Fraction(1))
        self._schemes: dict[str, Integrator] = {}
        self.refused: dict[str, str] = {}
        runs = []
        for scheme in over(schemes, "compare", "integrators"):
            # Instances with other parameters than the defaults are named by their repr().
            name = scheme.name if scheme == known[scheme.name]() else repr(scheme)
            try:
                runs.append(self._run(name, scheme, clocked=True))
            except ValueError as error:
                self.refused[name] = str(error)
            else:
                self._schemes[name] = scheme
        self.runs = sorted(runs, key=lambda run: (run.median, run.error, run.name))

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __getitem__(self, name: str) -> Run:
        for run in self.runs:
            if run.name == name:
                return run
        raise KeyError(f"expected one of {', '.join(run.name for run in self.runs)}, got {name!r}")

    def __repr__(self) -> str:
        rows = [["integrator", "order", "error", "median", "energy error", "force evaluations", "time (ms)"]]
        rows += [
            [
                run.name,
                f"{run.order:g}",
                "stopped" if run.stopped else f"{run.error:.2g}",
                "-" if run.stopped else f"{run.median:.2g}",
                "-" if run.drift is None else percent(run.drift),
                f"{run.evaluations:,}",
                f"{1e3 * run.seconds:.3g}" if math.isfinite(run.seconds) else "-",
            ]
            for run in self.runs
        ]
        heading = f"{self.problem}: {self._problem.text}; {self.steps:,} steps of {self.dt:.6g} s"
        notes = [f"{name}: {reason}" for name, reason in self.refused.items()]
        notes += [f"{run.name}: {run.stopped}" for run in self.runs if run.stopped]
        return "\n\n".join(filter(None, [heading, table(rows), "\n".join(notes)]))

    def plot(self, file: str | os.PathLike[str] | None = None, kind: str = "cost") -> None:
        """Draw a figure with matplotlib, which is optional: `pip install 'kickdrift[plot]'`.

        file: a path, whose ending is the format. If it is left out, a new figure of `matplotlib.pyplot` is drawn, which
        notebooks show, and programs with `pyplot.show()`.
        kind: "cost", the error against force evaluations, at six step sizes, and the energy error over time; "order",
        the error against the step size, whose slope is the order; "phase", velocity against position.

        Raises ImportError without matplotlib, ValueError for another kind, and OSError if the file cannot be written.
        """
        validation.one_of("kind", kind, ("cost", "order", "phase"))
        if file is None:
            from matplotlib import pyplot

            self.draw(pyplot.figure(layout="constrained"), kind)
            return
        from matplotlib.figure import Figure

        figure = Figure(layout="constrained")
        self.draw(figure, kind)
        figure.savefig(file, dpi=150)

    def draw(self, figure: Figure, kind: str = "cost") -> None:
        """Draw into a given figure of matplotlib; kind: as for `plot`."""
        energies = kind == "cost" and self._energy is not None
        figure.set_size_inches(12 if energies else 8, 6)
        panels = figure.subplots(1, 2 if energies else 1, squeeze=False)[0]
        text = f"{self.problem}, {self.steps * self.dt:.4g} s"
        places = {name: place for place, name in enumerate({**self._problem.known, **self._schemes})}
        for run in over(sorted(self.runs, key=lambda run: places[run.name]), "compare", "curves"):
            place = places[run.name]
            style = {"color": f"C{place % 10}", "linestyle": ("-", "--")[place // 10 % 2], "linewidth": 1.2}
            marks = {"marker": "osD^v"[place % 5], "markersize": 4, "label": run.name}
            if kind == "phase":
                panels[0].plot(*run.path.T, label=run.name, **style)
                continue
            series = [fine for fine in self.series(run.name) if fine.error < 1e6]
            cost = [fine.evaluations if kind == "cost" else fine.dt for fine in series]
            panels[0].loglog(cost, [max(fine.error, FLOOR) for fine in series], **marks, **style)
            if energies and run.energy is not None:
                # The running maximum, because curves that cross zero in each period hide the others.
                largest = np.maximum.accumulate(np.abs(run.energy))
                panels[1].semilogy(run.times[largest > 0], np.clip(largest[largest > 0], FLOOR, 1e6), **style)
        if kind == "phase":
            names = ("y[0]", "y[1]") if self._problem.known is not INTEGRATORS else ("position (m)", "velocity (m/s)")
            panels[0].set(xlabel=names[0], ylabel=names[1], title=f"{text}: phase")
        else:
            what = (
                ("force evaluations", "what an error costs")
                if kind == "cost"
                else ("step (s)", "the slope is the order")
            )
            panels[0].set_xscale("log", base=10 if kind == "cost" else 2)
            panels[0].set(xlabel=what[0], ylabel="largest error", title=f"{text}: {what[1]}")
        if energies:
            title = f"steps of {self.dt:.4g} s: largest energy error so far"
            panels[1].set(xlabel="time (s)", ylabel="share of the energy at the start", title=title)
        for panel in panels:
            panel.grid(alpha=0.3)
            if kind != "phase":
                low, high = panel.get_ylim()
                panel.set_ylim(max(low, FLOOR / 2), min(high, CEILING))
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)

    def series(self, name: str) -> list[Run]:
        """Return runs of an integrator at six step sizes, from 4 dt to dt / 8, without those that stopped."""
        self._refine(SHARES[-1])
        runs = [self._run(name, self._schemes[name], share) for share in SHARES]
        return [run for run in runs if math.isfinite(run.error)]

    def _refine(self, finest: Fraction) -> None:
        """Run the reference with a fraction of the finest step, and save its state at all sample times."""
        if not self._unknown or self._finest <= finest:
            return
        self._finest = finest
        share = finest / FINER
        fine = self._problem.make("yoshida6" if "yoshida6" in self._problem.known else "dopri8", self._dt * share)
        # Sample times in units of dt, for all step sizes.
        moments = {now * size for size in SHARES for now in _looks(int(self.steps / size))}
        for moment in sorted(moments):
            fine.step(int(moment / share) - fine.tick)
            self._truths[moment] = _state(fine).copy(), self._energy(fine) if self._energy else 0.0

    def _truth(self, moment: Fraction) -> tuple[Any, float]:
        exact = self._problem.exact
        if exact is None:
            return self._truths[moment]
        return np.array(exact(float(moment * self._dt))), self._truths[moment][1] if self._truths else self._start

    def _run(self, name: str, scheme: Integrator, share: Fraction = Fraction(1), clocked: bool = False) -> Run:
        """Run one integrator with steps of share * dt; raise ValueError if it does not support the forces."""
        world = self._problem.make(scheme, self._dt * share)
        steps = int(self.steps / share)
        times, energies, path, stopped = [], [], [], ""
        errors = np.zeros(len(_state(world)))  # running maximum per body
        for look in _looks(steps):
            try:
                world.step(look - world.tick)
            except KickdriftError as reason:
                stopped = str(reason)
                errors[:] = math.inf
                break
            state, energy = self._truth(look * share)
            with np.errstate(over="ignore"):  # overflow of an unstable run is shown as infinity
                errors = np.maximum(errors, np.sqrt(((_state(world) - state) ** 2).sum(axis=1)))
            times.append(float(look * share * self._dt))
            path.append(_point(world))
            if self._energy is not None:
                with np.errstate(all="ignore"):
                    energies.append((self._energy(world) - energy) / (abs(self._start) or 1))
        seconds = math.nan
        if not stopped:
            # Measure a single call, as in normal use: some integrators need an extra evaluation per call.
            seconds, world = self._clocked(scheme, share, steps, 3 if clocked else 1)
        return Run(
            name,
            scheme.order,
            float(self._dt * share),
            steps,
            float(errors.max(initial=0)),
            float(np.median(errors)) if len(errors) else 0.0,
            world.evaluations if isinstance(world, ODEStepper) else world.force_evaluations,
            np.array(times),
            np.array(energies) if self._energy is not None else None,
            np.array(path),
            seconds,
            stopped,
        )

    def _clocked(self, scheme: Integrator, share: Fraction, steps: int, times: int) -> tuple[float, World]:
        best = math.inf
        for _ in range(times):
            world = self._problem.make(scheme, self._dt * share)
            before = clock.perf_counter()
            world.step(steps)
            best = min(best, clock.perf_counter() - before)
        return best, world


def _looks(steps: int) -> list[int]:
    """Return the step numbers at which a run is sampled."""
    return sorted({round(steps * look / LOOKS) for look in range(LOOKS + 1)})


def _state(world: World) -> np.ndarray:
    return world.y if isinstance(world, ODEStepper) else world.position


def _point(world: World) -> list[float]:
    """Return the point of body 0 in phase space; nan where there is none."""
    if isinstance(world, ODEStepper):
        return [float(y) for y in [*world.y[0], math.nan][:2]] if world.n else [math.nan] * 2
    return [float(array[0, 0]) for array in (world.position, world.velocity)] if world.n else [math.nan] * 2


def _energy_of(world: World) -> Callable[[World], float] | None:
    """Return a function for the energy, or None if a force is neither conservative nor friction."""
    if isinstance(world, ODEStepper):
        return None
    kept = []
    for term in world.forces:
        try:
            Stepper(world.position.copy(), mass=world.mass, forces=[term]).energy()
        except ValueError:
            if not term.dissipative:
                return None
        else:
            kept.append(term)
    scale = Stepper(world.position.copy(), world.velocity.copy(), world.mass, forces=kept)

    def energy(now: World) -> float:
        scale.position[:], scale.velocity[:] = now.position, now.velocity
        with np.errstate(over="ignore", invalid="ignore"):  # overflow of an unstable run is shown as infinity
            return sum(scale.energy())

    return energy
