"""What `python -m kickdrift demo NAME` runs: one module per demo, written with the public API alone.

A demo joins by a line in `DEMOS`. Its docstring is its `--help`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Protocol

from . import attractor, growth, jump, loops, spring

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Demo(Protocol):
    """What a demo module offers."""

    __doc__: str | None
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> Any:
        """Declare the demo's own options."""

    def report(self, options: argparse.Namespace) -> str:
        """Run the demo and return what it prints."""

    def plot(self, options: argparse.Namespace, figure: Figure) -> Any:
        """Run the demo and draw it."""


DEMOS: dict[str, Demo] = {
    "spring": spring,
    "jump": jump,
    "loops": loops,
    "attractor": attractor,
    "growth": growth,
}
