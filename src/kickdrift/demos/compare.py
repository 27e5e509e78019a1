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
a known solution are compared with Yoshida's method of order 6 with much smaller steps (for an ODEStepper dopri8).
Energy: the largest error, relative to the initial energy. With friction the exact solution loses energy too; then the
error is the difference from its energy.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from ..comparison import Comparison
from ..integrators import EQUATION_INTEGRATORS, INTEGRATORS
from ..problems import PROBLEMS, Problem, problem_of
from .common import stepper_of
from .spring import _seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift compare spring
  python -m kickdrift compare orbit --plot orbit.png
  python -m kickdrift compare throw --dt 1/30 --integrator rk4
  python -m kickdrift compare pendulum --time 5 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "problem", type=_problem, metavar="PROBLEM", help=f"one of {', '.join(PROBLEMS)}; or FILE.py with your stepper"
    )
    parser.add_argument("--dt", type=_seconds, metavar="S", help="seconds per step, such as 0.5 or 1/60")
    parser.add_argument("--time", type=_duration, metavar="S", help="how many seconds are simulated")
    parser.add_argument(
        "--integrator",
        action="append",
        choices=[*(INTEGRATORS | EQUATION_INTEGRATORS)],
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


def _problem(text: str) -> Problem:
    """Return a problem by name, or that of the stepper of a file."""
    if text in PROBLEMS:
        return PROBLEMS[text]
    if not text.endswith(".py"):
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(PROBLEMS)}, or a FILE.py, got {text!r}")
    return replace(problem_of(stepper_of(text)), name=text)


def _comparison(options: argparse.Namespace) -> Comparison:
    problem: Problem = options.problem
    dt = problem.dt if options.dt is None else options.dt
    names = [name for name in problem.known if options.integrator is None or name in options.integrator]
    return Comparison(problem, Fraction(dt), problem.time if options.time is None else options.time, names)


def report(options: argparse.Namespace) -> str:
    options.comparison = _comparison(options)
    return _json(options.comparison) if options.json else repr(options.comparison)


def plot(options: argparse.Namespace, figure: Figure) -> None:
    comparison = options.comparison if hasattr(options, "comparison") else _comparison(options)
    comparison.draw(figure)


def _json(comparison: Comparison) -> str:
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
                for fine in comparison.series(run.name)
            ],
        }
        for run in comparison
    }
    result = {
        "problem": comparison.problem,
        "dt": comparison.dt,
        "steps": comparison.steps,
        "integrators": integrators,
        "refused": comparison.refused,
    }
    return json.dumps(result, indent=2)
