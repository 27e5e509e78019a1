"""The demos of `python -m kickdrift demo NAME`: one module each, written with the public API only.

To add a demo, add a line to `DEMOS`. The docstring of the module is the demo's `--help`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Protocol

from . import attractor, balls, jump, loops, spring

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Demo(Protocol):
    """The interface of a demo module."""

    __doc__: str | None
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> Any:
        """Declare the demo's own options."""

    def report(self, options: argparse.Namespace) -> str:
        """Run the demo and return the text to print."""

    def plot(self, options: argparse.Namespace, figure: Figure) -> Any:
        """Run the demo and draw its figure."""


DEMOS: dict[str, Demo] = {"spring": spring, "jump": jump, "loops": loops, "balls": balls, "attractor": attractor}
