"""The demos of `python -m kickdrift demo NAME`: one module each, written with the public API only.

A demo joins by a line in `DEMOS`, or in `LIVE` if it has a scene for `--window`. Its docstring is its `--help`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Protocol

from . import attractor, balls, cloth, growth, jump, loops, orbit, ragdoll, spring

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .window import Scene


class Demo(Protocol):
    """The interface of a demo module."""

    __doc__: str | None
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> Any:
        """Declare the demo's own options."""

    def report(self, options: argparse.Namespace) -> str:
        """Run the demo and return what it prints."""

    def plot(self, options: argparse.Namespace, figure: Figure) -> Any:
        """Run the demo and draw it."""


class LiveDemo(Demo, Protocol):
    """A demo that can be watched."""

    def scene(self, options: argparse.Namespace) -> Scene:
        """The scene at the start."""


LIVE: dict[str, LiveDemo] = {
    "orbit": orbit,
    "balls": balls,
    "cloth": cloth,
    "ragdoll": ragdoll,
}
DEMOS: dict[str, Demo] = {
    "spring": spring,
    "jump": jump,
    "loops": loops,
    "attractor": attractor,
    "growth": growth,
    **LIVE,
}
