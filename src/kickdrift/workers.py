"""Threads that share the work of large steps: one pool for the process, hired when first needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_size = 0


def share(function: Callable[..., Any], calls: list[tuple]) -> Iterable[Any]:
    """function(*call) for each call, in parallel; this thread takes the first. Results in order."""
    others = [_workers(len(calls) - 1).submit(function, *call) for call in calls[1:]]
    try:
        first = function(*calls[0])
    finally:
        # Whatever happens here, nobody leaves while others write into the arrays.
        rest = [_result(other) for other in others]
    return [first, *rest]


def _result(future: Any) -> Any:
    # Ctrl-C may interrupt the wait; the work goes on, so the wait has to.
    interrupt = None
    while True:
        try:
            result = future.result()
        except KeyboardInterrupt as error:
            interrupt = error
        else:
            break
    if interrupt is not None:
        raise interrupt
    return result


def _workers(count: int) -> ThreadPoolExecutor:
    # Who never shares work does not wait for its import.
    from concurrent.futures import ThreadPoolExecutor

    global _pool, _size
    with _lock:
        if _pool is None or _size < count:
            # The smaller pool, if any, finishes what it has and goes.
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool, _size = ThreadPoolExecutor(count, thread_name_prefix="kickdrift"), count
        return _pool


def _forget() -> None:
    # Threads do not survive a fork.
    global _pool, _size, _lock
    _pool, _size, _lock = None, 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
