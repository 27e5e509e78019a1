"""Threads that share the work of large steps: one pool for the process, hired when first needed."""

from __future__ import annotations

import os
from _thread import allocate_lock  # threading itself comes with the first pool
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_lock = allocate_lock()
_pool: ThreadPoolExecutor | None = None
_size = 0


def share(calls: list[Callable[[], None]]) -> None:
    """Have others make all calls but the first, which this thread makes; theirs may still go on."""
    # Who never shares work does not wait for its import.
    from concurrent.futures import ThreadPoolExecutor

    global _pool, _size
    count = len(calls) - 1
    with _lock:
        if _size < count:
            # The smaller pool, if any, finishes what it has and goes.
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool, _size = ThreadPoolExecutor(count, thread_name_prefix="kickdrift"), count
        for call in calls[1:]:
            assert _pool is not None
            _pool.submit(call)
    calls[0]()


def _forget() -> None:
    # Threads do not survive a fork.
    global _pool, _size, _lock
    _pool, _size, _lock = None, 0, allocate_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
