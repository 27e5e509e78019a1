"""Threads that share the work of large steps: one pool for the process, hired when first needed."""

from __future__ import annotations

import os
from _thread import RLock  # threading itself comes with the first pool
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_lock = RLock()
_hiring = False  # then it is this thread that hires: a destructor or a signal handler steps meanwhile, without others
_pool: ThreadPoolExecutor | None = None
_size = 0


def share(calls: list[Callable[[], None]]) -> None:
    """Have others make all calls but the first, which this thread makes; theirs may still go on.

    The system may refuse a thread. So the caller itself does all the parts that no worker has begun.
    """
    global _hiring
    with _lock:
        if not _hiring:
            try:
                _hiring = True
                # While the interpreter exits no thread starts, and nothing is imported.
                with suppress(RuntimeError, ImportError):
                    _hire(calls[1:])
            finally:
                _hiring = False
    calls[0]()


def _hire(calls: list[Callable[[], None]]) -> None:
    # Imported late, so that programs with one thread do not wait for it.
    from concurrent.futures import ThreadPoolExecutor

    global _pool, _size
    if _size < len(calls):
        before = _pool
        _pool, _size = ThreadPoolExecutor(len(calls), thread_name_prefix="kickdrift"), len(calls)
        # The smaller pool, if any, finishes what it has and goes.
        if before is not None:
            before.shutdown(wait=False)
    for call in calls:
        assert _pool is not None
        _pool.submit(call)


def _forget() -> None:
    # Threads do not survive a fork.
    global _pool, _size, _lock, _hiring
    _pool, _size, _lock, _hiring = None, 0, RLock(), False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
