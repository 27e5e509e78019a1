"""Interleaved timing, for machines shared with other work."""

import gc
import statistics
from collections.abc import Callable
from itertools import repeat
from time import perf_counter
from typing import NamedTuple


class Ratio(NamedTuple):
    """Ratio of two times measured in the same rounds: median and quartiles."""

    median: float
    low: float
    high: float


def measure(
    runs: dict[str, Callable[[], object]], rounds: int, least: float = 4e-3, clock: Callable[[], float] = perf_counter
) -> dict[str, list[float]]:
    """Return seconds per call for each round, by name; each round lasts at least `least` seconds."""
    calls = {name: _calibrate(run, least, clock) for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in runs.items():
                times[name].append(_turn(run, calls[name], clock) / calls[name])
    finally:
        gc.enable()
    return times


def _calibrate(run: Callable[[], object], least: float, clock: Callable[[], float]) -> int:
    calls = 1
    while (seconds := _turn(run, calls, clock)) < least:
        calls = max(2 * calls, int(calls * least / max(seconds, 1e-9)))
    return calls


def _turn(run: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in repeat(None, calls):
        run()
    return clock() - start


def ratio(times: list[float], ours: list[float]) -> Ratio:
    """Return the ratio of their time to ours per round; above 1 ours is faster."""
    ratios = [theirs / mine for theirs, mine in zip(times, ours, strict=True)]
    low, median, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return Ratio(median, low, high)
