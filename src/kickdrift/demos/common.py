"""Numbers on the command line and in its output."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..ode.stepper import ODEStepper
from ..stepper.stepper import Stepper
from ..validation import show


def count(of: str, like: int, least: int = 1) -> Callable[[str], int]:
    """Make an argparse type for a count."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            enough = f", at least {least}" if least > 1 else ""
            raise argparse.ArgumentTypeError(f"expected a number of {of}{enough}, such as {like}, got {text!r}")
        return int(text)

    return parse


def listed(items: Sequence[object]) -> str:
    *first, last = map(str, items or ["none"])
    return f"{', '.join(first)} and {last}" if first else last


def abreast(blocks: Sequence[tuple[str, str]]) -> str:
    """Join titled tables of equal height side by side."""
    columns = []
    for title, block in blocks:
        lines = [title, *block.splitlines()]
        width = max(map(len, lines))
        columns.append([line.ljust(width) for line in lines])
    return "\n".join(" | ".join(row).rstrip() for row in zip(*columns, strict=True))


def fixed(value: float, digits: int = 3) -> str:
    """Format with fixed decimals, or with an exponent if that is too wide."""
    if abs(value) >= 1e4:
        return f"{value:.1e}"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0: no minus sign before a zero


def stepper_of(text: str) -> Stepper | ODEStepper:
    """Run a program of a user, as an argument of the command line, and return the stepper that it makes."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    own, sys.argv = sys.argv, [text]  # the program must not see the arguments of this command
    try:
        names = runpy.run_path(text, run_name="__kickdrift__")
        found = {name: value for name, value in names.items() if isinstance(value, (Stepper, ODEStepper))}
        if not found and callable(names.get("make")):
            found = {"world": names["make"]()}
            if not isinstance(found["world"], (Stepper, ODEStepper)):
                raise TypeError(f"make(): expected it to return a Stepper or ODEStepper, got {show(found['world'])}")
    except SystemExit as error:
        raise argparse.ArgumentTypeError(f"{text} exited with code {error.code}") from error
    except Exception as error:
        raise argparse.ArgumentTypeError(f"{text} raised {type(error).__name__}: {error}") from error
    finally:
        sys.argv = own
    if "world" not in found and len(found) != 1:
        left = f"{len(found)}: {', '.join(found)}" if found else "none"
        raise argparse.ArgumentTypeError(
            f"{text}: expected it to leave one Stepper or ODEStepper, or one named `world`, or make(), got {left}"
        )
    return found.get("world") or next(iter(found.values()))
