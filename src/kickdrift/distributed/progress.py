"""How far a sweep is: rich's bar in a terminal, and a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Protocol

EVERY = 5.0  #: seconds between two lines


class Progress(Protocol):
    """Is told of each finished case."""

    def advance(self) -> None: ...
    def say(self, text: str) -> None: ...


class _Silent:
    def advance(self) -> None: ...
    def say(self, text: str) -> None: ...


class _Lines:
    """For files, notebooks and terminals without rich."""

    def __init__(self, total: int | None) -> None:
        self.total, self.done = total, 0
        self.begun = self.told = time.monotonic()

    def advance(self) -> None:
        self.done += 1
        now = time.monotonic()
        # The last is told too, of a sweep that was long enough to be told of.
        if now - self.told >= EVERY or (self.done == self.total and now - self.begun >= EVERY):
            self.told = now
            rate = self.done / (now - self.begun)
            line = f"sweep: {self.done} {'' if self.total is None else f'of {self.total} '}cases, {rate:.3g} a second"
            if self.total is not None:
                line += f", {(self.total - self.done) / rate:.0f} s left"
            self.say(line)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def shown(total: int | None, wanted: bool) -> Iterator[Progress]:
    """Show progress on standard error while the block runs."""
    if not wanted or sys.stderr is None:
        yield _Silent()
        return
    try:
        from rich import progress
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        yield _Lines(total)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(total)
        return

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(f"{task.finished_speed or task.speed or 0:.3g}/s")

    columns = (
        *("sweep", progress.BarColumn(), progress.MofNCompleteColumn(), Rate()),
        *(progress.TimeElapsedColumn(), "left", progress.TimeRemainingColumn()),
    )
    with progress.Progress(*columns, console=console) as bar:
        task = bar.add_task("sweep", total=total)

        class Bar:
            def advance(self) -> None:
                bar.advance(task)

            def say(self, text: str) -> None:
                console.print(text, markup=False, highlight=False)

        yield Bar()
