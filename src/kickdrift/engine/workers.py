"""Threads that share the work of large steps: one pool for the process, hired when first needed."""

from __future__ import annotations

import os
from _thread import allocate_lock  # threading itself comes with the first pool
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_lock = allocate_lock()
_pool: ThreadPoolExecutor | None = None
_size = 0


def share(calls: list[Callable[[], None]]) -> None:
    """Have others make all calls but the first, which this thread makes; theirs may still go on.

    Some may not be made at all where no thread can be had: whoever shares makes what nobody has begun.
    """
    with suppress(RuntimeError, ImportError):  # no thread starts, and nothing is imported, while the interpreter exits
        _hire(calls[1:])
    calls[0]()


def _hire(calls: list[Callable[[], None]]) -> None:
    # Who never shares work does not wait for its import.
    from concurrent.futures import ThreadPoolExecutor

    global _pool, _size
    with _lock:
        if _size < len(calls):
            # The smaller pool, if any, finishes what it has and goes.
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool, _size = ThreadPoolExecutor(len(calls), thread_name_prefix="kickdrift"), len(calls)
        for call in calls:
            assert _pool is not None
            _pool.submit(call)


def _forget() -> None:
    # Threads do not survive a fork.
    global _pool, _size, _lock
    _pool, _size, _lock = None, 0, allocate_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
