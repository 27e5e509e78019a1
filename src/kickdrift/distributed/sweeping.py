"""Parameter sweeps, on a local process pool or on any executor."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from concurrent import futures
from typing import TYPE_CHECKING, Any

from .. import validation
from ..progress import Progress, shown
from . import cases as one_case
from . import workers
from .cases import STOPPED, CaseError, Job
from .store import Store, key_of

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

#: Number of cases submitted ahead to an executor: enough for many workers, and bounded to limit memory.
AHEAD = 256
_UNGUARDED = 'sweep: its processes do not start; a script must call it below `if __name__ == "__main__":`'

#: A case with its number and its key.
Numbered = tuple[int, dict[str, Any], str]


def sweep(
    build: Callable[..., Any],
    cases: Iterable[Mapping[str, Any]],
    steps: int,
    observe: Callable[[Any], Any],
    every: int | None = None,
    executor: Executor | None = None,
    progress: bool = True,
    store: str | os.PathLike[str] | None = None,
) -> Iterator[Any]:
    """Run a world for each case, and yield the observations, in the order of the cases.

    build: build(**case) returns a `Stepper` or `ODEStepper`. cases: dicts of arguments for it; any iterable.
    observe: observe(stepper) returns the result, anything that pickles. It is called after `steps` steps;
    with `every=k` at the start and after each k steps, and the result is a list, at the times of `record`.
    executor: any `concurrent.futures.Executor`, such as Dask's `client.get_executor()` or mpi4py's
    `MPIPoolExecutor`; it is left open. Without one, a process for each processor of this machine; a script needs its
    `if __name__ == "__main__":` then, as with any process pool.
    progress: show a bar with rate and time left on standard error (lines, where that is no terminal).
    store: a folder shared by all workers. It contains finished cases, arrays and what `record` returns as .npz, and
    every five seconds a snapshot of each that is running. The same call resumes from there, with bitwise equal results.
    Cases are identified by their arguments, `steps`, `every`, and the code and defaults of `build` and `observe`, but
    neither by functions that these call nor by values from outside: use another folder after a change there.

    If a case raises, its result is a `CaseError` with its parameters, and the others continue; with a store the next
    call retries it. If a worker dies, its cases lose the progress since their last snapshot. Under Dask and without an
    executor they are repeated; other executors are broken then, and
    `concurrent.futures.BrokenExecutor` is raised. A `WorkerError` ends the sweep: that worker has another kickdrift.
    Closing the iterator, or Ctrl-C, stops the workers of this machine, which save their progress.
    Raises TypeError or ValueError, naming the argument, at once, and for a case when it is
    reached. Thread-safety: one thread at a time per iterator.

    >>> import kickdrift as kd
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from kickdrift import distributed
    >>> def throw(speed):
    ...     return kd.Stepper([[0.0]], [[speed]], dt=0.01, forces=[kd.Gravity((-10.0,))])
    >>> with ThreadPoolExecutor(2) as pool:
    ...     speeds = [{"speed": 5.0}, {"speed": 10.0}]
    ...     for height in distributed.sweep(throw, speeds, 50, lambda world: world.position[0, 0], executor=pool):
    ...         print(round(height, 6))
    1.25
    3.75
    """
    for name, function in (("build", build), ("observe", observe)):
        if not callable(function):
            raise TypeError(f"{name}: expected a function, got {validation.show(function)}")
    steps = validation.integer("steps", steps, 0)
    every = None if every is None else validation.integer("every", every, 1)
    if isinstance(cases, Mapping) or not isinstance(cases, Iterable):
        raise TypeError(f"cases: expected an iterable of dicts of arguments for build, got {validation.show(cases)}")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor: expected a concurrent.futures.Executor, got {validation.show(executor)}")
    if store is not None and not isinstance(store, (str, os.PathLike)):
        raise TypeError(f"store: expected the path of a folder, got {validation.show(store)}")
    progress = validation.flag("progress", progress)
    job = Job(build, observe, steps, every, None if store is None else Store(store), workers.identity())
    total = len(cases) if isinstance(cases, Sized) else None
    return _sweep(job, _numbered(job, cases), executor, total, progress)


def _numbered(job: Job, cases: Iterable[Mapping[str, Any]]) -> Iterator[Numbered]:
    for number, case in enumerate(cases):
        if not isinstance(case, Mapping) or not all(isinstance(name, str) for name in case):
            raise TypeError(
                f"cases: expected dicts of arguments for build, got {validation.show(case)} as no. {number}"
            )
        key = "" if job.store is None else key_of(dict(case), job.build, job.observe, job.steps, job.every)
        yield number, dict(case), key


def _sweep(
    job: Job, cases: Iterator[Numbered], executor: Executor | None, total: int | None, progress: bool
) -> Iterator[Any]:
    with shown(total, progress) as bar, _Processes() if executor is None else _Given(executor) as pool:
        results: dict[int, Any] = {}
        finished = _finished(job, cases, pool)
        for turn in itertools.count():
            while turn not in results:
                try:
                    number, result = next(finished)
                except StopIteration:
                    return
                _report(bar, result)
                results[number] = result
            yield results.pop(turn)


def _report(bar: Progress, result: Any) -> None:
    if isinstance(result, CaseError):
        bar.say(str(result))
    bar.advance()


def _finished(job: Job, cases: Iterator[Numbered], pool: _Processes | _Given) -> Iterator[tuple[int, Any]]:
    """Yield each case's number and result, in order of completion."""
    # Threads need no pickling: functions may refer to anything.
    packed = job if isinstance(pool.executor, futures.ThreadPoolExecutor) else job.packed()
    again, pending = deque[Numbered](), dict["Future[Any]", Numbered]()
    while True:
        # After a pool broke, run its cases one at a time, to identify the one that kills its worker.
        alone = bool(again)
        while len(pending) < (1 if alone else pool.ahead):
            item = again.popleft() if again else next(cases, None)
            if item is None:
                break
            if job.store is not None and job.store.has(item[2]):
                try:
                    kept = job.store.result(item[2])
                except ValueError as error:
                    kept = CaseError.of(item[1], error)
                yield item[0], kept
            else:
                try:
                    pending[pool.submit(one_case.run, packed, item[1], item[2])] = item
                except futures.BrokenExecutor:
                    again.append(item)
                    break
        if not pending and not again:
            return
        broken = not pending
        for future in futures.wait(pending, return_when=futures.FIRST_COMPLETED).done:
            number, case, key = pending.pop(future)
            try:
                result = future.result()
            except futures.BrokenExecutor as error:
                broken = True
                if pool.own and not alone:
                    again.append((number, case, key))
                    continue
                if not pool.own:
                    raise
                result = CaseError(case, f"its worker died: {error}")
            except (workers.WorkerError, futures.CancelledError):
                raise
            except Exception as error:  # such as a result that cannot be pickled, or Dask's KilledWorker
                result = CaseError.of(case, error)
            if result is STOPPED:
                raise RuntimeError("sweep: its workers were stopped")
            yield number, result
        if broken:
            again.extend(pending.values())
            pending.clear()
            pool.renew()


class _Given:
    """The caller's executor."""

    own, ahead = False, AHEAD

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.sent: set[Future[Any]] = set()

    def __enter__(self) -> _Given:
        return self

    def submit(self, *call: Any) -> Future[Any]:
        future = self.executor.submit(*call)
        self.sent.add(future)
        future.add_done_callback(self.sent.discard)
        return future

    def renew(self) -> None:
        raise futures.BrokenExecutor("executor: it is broken; call sweep again with a new one, and the same store")

    def __exit__(self, *error: object) -> None:
        for future in list(self.sent):
            future.cancel()


class _Processes:
    """A process pool with one process per processor, replaced when a process dies."""

    own = True

    def __init__(self) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise RuntimeError(_UNGUARDED)  # in a worker process, which imports an unguarded script
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.count, self.ahead = count, 4 * count
        # Spawn, because forked children of a process with threads may hang; Dask, rich and NumPy have threads.
        self.context = multiprocessing.get_context("spawn")
        self.started = self.context.Event()

    def __enter__(self) -> _Processes:
        self._begin()
        return self

    def _begin(self) -> None:
        self.stop = self.context.Event()
        self.executor = futures.ProcessPoolExecutor(self.count, self.context, one_case.watch, (self.started, self.stop))

    def renew(self) -> None:
        if not self.started.is_set():
            raise futures.BrokenExecutor(_UNGUARDED)
        self._begin()

    def submit(self, *call: Any) -> Future[Any]:
        return self.executor.submit(*call)

    def __exit__(self, *error: object) -> None:
        self.stop.set()
        self.executor.shutdown(cancel_futures=True)
