"""Thread pool for the work of large steps: one pool per process, started on first use."""

from __future__ import annotations

import os
from _thread import RLock  # threading is imported with the first pool
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_lock = RLock()
_starting = False  # True while workers start: steps in a destructor or signal handler must then not use the pool
_pool: ThreadPoolExecutor | None = None
_size = 0


def share(calls: list[Callable[[], None]]) -> None:
    """Submit all calls except the first to the pool; run the first in this thread; do not wait for the others.

    The system may refuse to start threads. Therefore the caller must run every call that no worker has begun.
    """
    global _starting
    with _lock:
        if not _starting:
            try:
                _starting = True
                # While the interpreter exits, threads cannot start and imports fail.
                with suppress(RuntimeError, ImportError):
                    _submit(calls[1:])
            finally:
                _starting = False
    calls[0]()


def _submit(calls: list[Callable[[], None]]) -> None:
    # Imported late: programs with one thread do not need the module.
    from concurrent.futures import ThreadPoolExecutor

    global _pool, _size
    if _size < len(calls):
        before = _pool
        _pool, _size = ThreadPoolExecutor(len(calls), thread_name_prefix="kickdrift"), len(calls)
        # The smaller pool finishes its calls and shuts down.
        if before is not None:
            before.shutdown(wait=False)
    for call in calls:
        assert _pool is not None
        _pool.submit(call)


def _forget() -> None:
    # Threads do not survive a fork.
    global _pool, _size, _lock, _starting
    _pool, _size, _lock, _starting = None, 0, RLock(), False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
