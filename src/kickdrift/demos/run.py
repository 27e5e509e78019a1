"""Step the world of a program of yours, and save its trajectory.

The whole file FILE.py is run, without arguments, as a module named __kickdrift__. What stands under
`if __name__ == "__main__":` is not run, so put the loop of a game there. It leaves one Stepper or ODEStepper among its
global variables, or one named `world` if there are several, or a function `make()` that returns one.

The trajectory has all samples in one file of NumPy's .npz format: kickdrift.Trajectory.load reads it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..ode.stepper import ODEStepper
from .common import count, stepper_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift run scene.py --steps 600
  python -m kickdrift run scene.py --steps 600 --every 10 --save run.npz
"""
SHOWN = 20  #: bodies in the figure


def _file(text: str) -> str:
    if not Path(text).parent.is_dir():  # checked before the run, which may be long
        raise argparse.ArgumentTypeError(f"there is no folder {str(Path(text).parent)!r}")
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("world", type=stepper_of, metavar="FILE.py", help="a program that makes a stepper")
    parser.add_argument("--steps", type=count("steps", 600), default=600, metavar="N", help="default: 600")
    parser.add_argument("--every", type=count("steps", 10), default=1, metavar="N", help="sample every N steps")
    parser.add_argument("--save", type=_file, metavar="FILE.npz", help="write the trajectory")


def report(options: argparse.Namespace) -> str:
    before = time.perf_counter()
    options.run = options.world.record(options.steps, options.every, progress=True)
    seconds = time.perf_counter() - before
    if options.save is not None:
        options.run.save(options.save)
    return f"{options.world!r}\n{options.run!r}, in {seconds:.3g} s"


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """Draw the paths of some bodies, in one dimension over time."""
    values = options.run.y if isinstance(options.world, ODEStepper) else options.run.position
    axes = figure.subplots()
    for body in range(min(values.shape[1], SHOWN)):
        path = values[:, body].T
        axes.plot(*(path[:2] if len(path) > 1 else (options.run.time, path[0])))
    axes.set(xlabel="x" if values.shape[2] > 1 else "time (s)", ylabel="y" if values.shape[2] > 1 else "x")
