"""Progress of long work on standard error: a bar in a terminal (rich), otherwise periodic lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

EVERY = 5.0  #: seconds between two lines of progress
PATIENCE = 2.0  #: seconds before long calls and commands show progress
PART = 0.1  #: approximate duration in s of the parts in which `in_parts` makes a call of many steps

T = TypeVar("T")


class Progress(Protocol):
    """The interface that shows progress: count finished items, print a line."""

    def advance(self, count: int = 1) -> None: ...
    def say(self, text: str) -> None: ...


class _Silent:
    def advance(self, count: int = 1) -> None: ...
    def say(self, text: str) -> None: ...


class _Lines:
    """Periodic lines, for files, notebooks and terminals without rich."""

    def __init__(self, total: int | None, what: str, of: str, every: float) -> None:
        self.total, self.what, self.of, self.every, self.done = total, what, of, every, 0
        self.begun = self.printed = time.monotonic()

    def advance(self, count: int = 1) -> None:
        self.done += count
        now = time.monotonic()
        # Always print the last line, if the work took long enough to print any.
        if now - self.printed >= self.every or (self.done == self.total and now - self.begun >= self.every):
            self.printed = now
            rate = self.done / (now - self.begun)
            done = f"{self.done}" if self.total is None else f"{self.done} of {self.total}"
            line = f"{self.what}: {done} {self.of}, {rate:.3g} a second"
            if self.total is not None:
                line += f", {(self.total - self.done) / rate:.0f} s left"
            self.say(line)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def shown(
    total: int | None, wanted: bool, what: str = "sweep", of: str = "cases", every: float | None = None
) -> Iterator[Progress]:
    """Show progress on standard error while the block runs; what: label, of: unit of the count."""
    every = EVERY if every is None else every
    if not wanted or sys.stderr is None:
        yield _Silent()
        return
    try:
        from rich import progress
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        yield _Lines(total, what, of, every)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(total, what, of, every)
        return

    class Rate(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(f"{task.finished_speed or task.speed or 0:.3g}/s")

    columns = (
        *(what, progress.BarColumn(), progress.MofNCompleteColumn(), Rate()),
        *(progress.TimeElapsedColumn(), "left", progress.TimeRemainingColumn()),
    )
    # The bar of a sweep is shown at once and stays; that of other work comes after `every` seconds, and is removed.
    patience = every if every < EVERY else 0.0
    bar, begun = progress.Progress(*columns, console=console, transient=every < EVERY), time.monotonic()
    task = bar.add_task(what, total=total)

    class Bar:
        def advance(self, count: int = 1) -> None:
            bar.advance(task, count)
            if time.monotonic() - begun >= patience:
                bar.start()

        def say(self, text: str) -> None:
            console.print(text, markup=False, highlight=False)

    if not patience:
        bar.start()
    try:
        yield Bar()
    finally:
        bar.stop()


def in_parts(step: Callable[[int], None], steps: int, wanted: bool) -> None:
    """Call step(k) until `steps` steps are done, and show progress if they take longer than `PATIENCE`."""
    part, before = 1, time.monotonic()
    with shown(steps, wanted, "step", "steps", PATIENCE) as bar:
        while steps:
            part = min(part, steps)
            step(part)
            bar.advance(part)
            steps -= part
            now = time.monotonic()
            part, before = (part * 2 if now - before < PART else max(1, part // 2)), now


def over(items: Iterable[T], what: str, of: str) -> Iterator[T]:
    """Iterate over items, and show progress if they take longer than `PATIENCE`."""
    items = list(items)
    with shown(len(items), True, what, of, PATIENCE) as bar:
        for item in items:
            yield item
            bar.advance()
