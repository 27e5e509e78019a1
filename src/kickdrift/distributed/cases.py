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

from .. import validation
from ..errors import KickdriftError, SnapshotError
from . import workers
from .store import Store

#: Seconds between checks for a stop, and between snapshots of a running case.
LOOK, SAVE = 0.1, 5.0
#: Stop event of a worker in the sweep's own pool, checked between slices of a case.
stop: Any = None
STOPPED = "stopped"


class CaseError(KickdriftError, RuntimeError):
    """The result of a case that raised an error.

    `case` has its parameters, `error` is the exception (None if it cannot be pickled), `traceback` its formatted
    traceback.
    """

    def __init__(self, case: dict[str, Any], message: str, error: BaseException | None = None, text: str = "") -> None:
        parameters = ", ".join(f"{name}={validation.short(value)}" for name, value in case.items())
        super().__init__(f"case ({parameters}): {message}")
        self.case, self.message, self.error, self.traceback = case, message, error, text

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.case, self.message, self.error, self.traceback)

    @classmethod
    def of(cls, case: dict[str, Any], error: BaseException) -> CaseError:
        """Return the CaseError for an exception in a case."""
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
        """Pickle the job for any process, including functions defined in `__main__` or a notebook."""
        packed: bytes = cloudpickle.dumps(self)
        return packed


@functools.lru_cache(8)
def _unpacked(packed: bytes) -> Job:
    job: Job = cloudpickle.loads(packed)
    return job


def watch(started: Any, event: Any) -> None:
    """Initialize a worker of the sweep's own pool. It ignores Ctrl-C, which the parent process handles."""
    import signal

    global stop
    stop = event
    started.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(packed: bytes | Job, case: dict[str, Any], key: str) -> Any:
    """Return the result of a case, a CaseError, or STOPPED; raise WorkerError for another build."""
    job = _unpacked(packed) if isinstance(packed, bytes) else packed
    workers.require(job.expected)
    try:
        result = _run(job, case, key)
        if job.store is not None and result is not STOPPED:
            job.store.finish(key, result)
        return result
    except (Exception, SystemExit) as error:  # SystemExit of user code must not end the worker
        return CaseError.of(case, error)


def _run(job: Job, case: dict[str, Any], key: str) -> Any:
    world = job.build(**case)
    done, seen = 0, []
    if job.store is not None and (part := job.store.part(key)) is not None:
        try:
            world.restore(part["snapshot"])
            done, seen = part["done"], part["seen"]
        except SnapshotError:
            pass  # `build` was changed: restart this case
    pace, saved = 16, time.monotonic()
    while True:
        if job.every is not None and done % job.every == 0 and len(seen) == done // job.every:
            seen.append(copy.deepcopy(job.observe(world)))  # the result may be a view of the changing state
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
