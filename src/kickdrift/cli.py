"""The command line, also `python -m kickdrift`: demo, compare, run, info. Without arguments it lists them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Sequence

from . import __version__, build_info
from .demos import DEMOS, Demo, compare, run
from .errors import KickdriftError

# Exit codes of the process. argparse uses USAGE too.
OK, FAILURE, USAGE, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 128 + 2, 128 + 13

COLUMNS = 80  #: width of help texts

GUIDE = """\
demos, with --plot FILE.png as a picture:
{demos}

examples:
  python -m kickdrift demo spring
  python -m kickdrift demo spring --dt 1/2 --steps 20 --plot spring.png
  python -m kickdrift demo jump
  python -m kickdrift demo loops
  python -m kickdrift compare orbit --plot orbit.png
  python -m kickdrift run scene.py --steps 600 --save run.npz
  python -m kickdrift info

`python -m kickdrift demo NAME --help` tells more. In Python: help(kickdrift).
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if not (sys.argv[1:] if arguments is None else arguments):
        arguments = ["--help"]
    options = _parser().parse_args(arguments)
    try:
        code: int = options.command(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe, as in `... | head`.
        _discard_output()
        return CLOSED_PIPE
    except OSError as error:
        # For example a full disk.
        _discard_output()
        return _complain(str(error), FAILURE)
    except KickdriftError as error:
        return _complain(str(error), FAILURE)


class _Help(argparse.HelpFormatter):
    """Formatter that fills paragraphs and keeps indented lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=COLUMNS)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip().split("\n\n")
        return "\n\n".join(
            part if "\n " in f"\n{part}" else textwrap.fill(part, COLUMNS, break_on_hyphens=False)
            for part in paragraphs
        )


def _program() -> str:
    """Return the program name as the user called it."""
    started = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    return "kickdrift" if started == "kickdrift" else "python -m kickdrift"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_program(),
        description="Fixed-step integrators for Python games and simulations.",
        epilog=GUIDE.format(demos="\n".join(_headlines())),
        formatter_class=_Help,
    )
    parser.add_argument("-V", "--version", action="version", version=f"kickdrift {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="run a demonstration", description="Run a demonstration.")
    names = demo.add_subparsers(required=True, metavar="NAME")
    for name, module in DEMOS.items():
        _add(names, name, module)
    _add(commands, "compare", compare)
    _add(commands, "run", run)

    info = commands.add_parser(
        "info", help="how this copy was built and what it runs on", description="Print kickdrift.build_info()."
    )
    info.add_argument("--json", action="store_true", help="for programs")
    info.set_defaults(command=_info)
    return parser


def _headlines() -> list[str]:
    """Return one line per demo."""
    lines = []
    for name, module in DEMOS.items():
        headline = (module.__doc__ or "").partition("\n\n")[0].rstrip(".")
        lines.append(textwrap.fill(f"  {name:10} {headline}", COLUMNS, subsequent_indent=" " * 13))
    return lines


def _add(parsers: argparse._SubParsersAction[argparse.ArgumentParser], name: str, module: Demo) -> None:
    """Add the command of a demo module, with its docstring as help."""
    headline, _, details = (module.__doc__ or "").partition("\n\n")
    child = parsers.add_parser(
        name,
        help=headline[0].lower() + headline[1:].rstrip("."),
        description=f"{headline}\n\n{details}",
        epilog=f"examples:\n{module.EXAMPLES}",
        formatter_class=_Help,
    )
    module.add_arguments(child)
    child.add_argument("--plot", metavar="FILE.png", help="draw a figure too (needs the extra `plot`: matplotlib)")
    child.set_defaults(command=_demo, demo=module, json=False)


def _demo(options: argparse.Namespace) -> int:
    demo: Demo = options.demo
    if options.plot is None:
        print(demo.report(options))
        return OK
    # matplotlib is optional: import it before the demo runs, so that an error comes at once.
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return _complain("--plot needs matplotlib, the extra `plot`: pip install 'kickdrift[plot]'", USAGE)
    figure = Figure(layout="constrained")
    suffix = os.path.splitext(options.plot)[1].lstrip(".").lower()
    known = figure.canvas.get_supported_filetypes()
    if suffix not in known:
        return _complain(f"--plot: expected a file name ending in one of {', '.join(known)}, got {options.plot}", USAGE)
    folder = os.path.dirname(options.plot) or "."
    if not os.path.isdir(folder):
        return _complain(f"--plot: there is no folder {folder}", USAGE)
    print(demo.report(options), flush=True)
    demo.plot(options, figure)
    try:
        figure.savefig(options.plot, dpi=150)
    except OSError as error:
        return _complain(f"--plot: {error}", FAILURE)
    if not options.json:
        print(f"\nThe figure is in {options.plot}.")
    return OK


def _info(options: argparse.Namespace) -> int:
    information = build_info()
    if options.json:
        print(json.dumps({"version": __version__, **information}, indent=2))
        return OK
    width = max(map(len, information))
    for name, value in information.items():
        print(f"{name:{width}}  {', '.join(value) if isinstance(value, tuple) else value}")
    return OK


def _complain(message: str, code: int) -> int:
    print(f"{_program()}: error: {message}", file=sys.stderr)
    return code


def _discard_output() -> None:
    # Redirect stdout to the null device, else Python flushes its buffer at exit and prints another error.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
