"""One case of a sweep: how a worker builds, steps, observes and saves it."""

from __future__ import annotations

import copy
import functools
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cloudpickle

from ..errors import KickdriftError, SnapshotError
from . import workers
from .store import Store

#: Seconds between two looks for a stop, and between two snapshots of a case that is running.
LOOK, SAVE = 0.1, 5.0
#: What a worker of the sweep's own pool looks at between slices of a case.
stop: Any = None
STOPPED = "stopped"


class CaseError(KickdriftError, RuntimeError):
    """The result of a case that raised an error.

    `case` has its parameters, `error` is what was raised (None where that cannot be pickled), `traceback` the text
    that Python would have printed.
    """

    def __init__(self, case: dict[str, Any], message: str, error: BaseException | None = None, text: str = "") -> None:
        parameters = ", ".join(f"{name}={value!r}" for name, value in case.items())
        super().__init__(f"case ({parameters}): {message}")
        self.case, self.message, self.error, self.traceback = case, message, error, text

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.case, self.message, self.error, self.traceback)

    @classmethod
    def of(cls, case: dict[str, Any], error: BaseException) -> CaseError:
        """The report of what a case raised."""
        text = "".join(traceback.format_exception(error))
        try:
            kept: BaseException | None = cloudpickle.loads(cloudpickle.dumps(error))
        except Exception:
            kept = None
        return cls(case, f"{type(error).__name__}: {error}", kept, text)


@dataclass(frozen=True)
class Job:
    """The arguments that all cases of a sweep share."""

    build: Callable[..., Any]
    observe: Callable[[Any], Any]
    steps: int
    every: int | None
    store: Store | None
    expected: dict[str, object]

    def packed(self) -> bytes:
        """For any process: also with functions that are written in `__main__` or in a notebook."""
        packed: bytes = cloudpickle.dumps(self)
        return packed


@functools.lru_cache(8)
def _unpacked(packed: bytes) -> Job:
    job: Job = cloudpickle.loads(packed)
    return job


def watch(started: Any, event: Any) -> None:
    """Runs first in each worker of the sweep's own pool. Only the process that waits for results handles Ctrl-C."""
    import signal

    global stop
    stop = event
    started.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(packed: bytes | Job, case: dict[str, Any], key: str) -> Any:
    """The result of a case, a CaseError, or STOPPED; WorkerError is raised."""
    job = _unpacked(packed) if isinstance(packed, bytes) else packed
    workers.require(job.expected)
    try:
        result = _run(job, case, key)
        if job.store is not None and result is not STOPPED:
            job.store.finish(key, result)
        return result
    except Exception as error:
        return CaseError.of(case, error)


def _run(job: Job, case: dict[str, Any], key: str) -> Any:
    world = job.build(**case)
    done, seen = 0, []
    if job.store is not None and (part := job.store.part(key)) is not None:
        try:
            world.restore(part["snapshot"])
            done, seen = part["done"], part["seen"]
        except SnapshotError:
            pass  # `build` was changed: begin anew
    pace, saved = 16, time.monotonic()
    while True:
        if job.every is not None and done % job.every == 0 and len(seen) == done // job.every:
            seen.append(copy.deepcopy(job.observe(world)))  # it may be an array that goes on changing
        if done == job.steps:
            return seen if job.every is not None else copy.deepcopy(job.observe(world))
        end = job.steps if job.every is None else min(job.steps, (done // job.every + 1) * job.every)
        count, before = min(pace, end - done), time.monotonic()
        world.step(count)
        done, now = done + count, time.monotonic()
        if now - before < LOOK / 2:
            pace = max(pace, 2 * count)
        elif now - before > 2 * LOOK:
            pace = max(1, count // 2)
        stopped = stop is not None and stop.is_set()
        if job.store is not None and (stopped or now - saved > SAVE):
            job.store.save(key, {"snapshot": world.snapshot(), "done": done, "seen": seen})
            saved = now
        if stopped:
            return STOPPED
