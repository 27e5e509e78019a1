"""Validation of frame times and rates."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from ..time_steps import countable, time_step, what_clocks_count
from ..validation import integer, real, show

NANO = 10**9
SCALE_ONE = 1 << 20
"""Unit of stored scales: 2**-20."""
MOST_SUBSTEPS = 10**6
"""This times the largest numerator of a rate is below 2**53, so that dt / substeps is rounded only once."""
LONGEST_FRAME_NS = 10**15
"""Maximal length of a frame: 11 days."""
LEDGER_FULL = 1 << 62
"""Counters of time stop at this many ns, 146 years."""
HALF_RANGE = 1 << 62
"""Limit of the accumulator, in its units of 1/num nanoseconds (see `Settings.terms`)."""

# --- numbers -----------------------------------------------------------------------------------


def nanoseconds(name: str, value: Any) -> int:
    """Check a positive duration in seconds; return it in whole nanoseconds."""
    seconds = real(name, value, 1e-9, LONGEST_FRAME_NS / NANO)
    return round(Fraction(seconds) * NANO)


# --- frame times -------------------------------------------------------------------------------


def frame_seconds(value: Any) -> float:
    """Check the time of one frame in seconds."""
    return real("seconds", value, 0.0)


def warn_of_milliseconds(seconds: float, longest_ns: int, level: int) -> None:
    """Warn of a clamped frame of more than a second. level: number of stack frames up to the user's code."""
    warnings.warn(
        f"seconds: expected the time of a frame in seconds, got {seconds:g}, of which {longest_ns / NANO:g} count:"
        f" divide milliseconds by 1000, or set max_frame of the clock, if frames can be this long",
        RuntimeWarning,
        stacklevel=level + 1,
    )


def frame_ns(value: Any) -> int:
    """Check the time of one frame in nanoseconds."""
    return min(integer("ns", value, 0), LONGEST_FRAME_NS)


def frame_ms(value: Any) -> int:
    """Check the time of one frame in milliseconds; return nanoseconds."""
    return min(integer("ms", value, 0) * 10**6, LONGEST_FRAME_NS)


def absolute_ns(value: Any) -> int:
    """Check an absolute time in nanoseconds: differences stay below 2**63."""
    return integer("now_ns", value, 1 - LEDGER_FULL, LEDGER_FULL - 1)


def frame_array(frame_times: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Check an array or list of frame times in seconds; return contiguous float64."""
    array = np.asarray(frame_times)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"frame_times: expected real numbers, got dtype {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"frame_times: expected one dimension, got shape {array.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        frames = np.require(array, np.float64, ("C", "A"))
    bad = np.flatnonzero(~(np.isfinite(frames) & (frames >= 0)))
    if bad.size:
        real(f"frame_times[{bad[0]}]", float(frames[bad[0]]), 0.0)
    return frames


def output_arrays(frames: np.ndarray, counts: Any, alphas: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Check the arrays to write to, one item per frame, or allocate those that are not given."""
    counts = _output("counts", counts, len(frames), "int64")
    alphas = _output("alphas", alphas, len(frames), "float64")
    # The outputs are written frame by frame: one that shares memory would change frames that are still to be read.
    for one, other in ((counts, alphas), (counts, frames), (alphas, frames)):
        if np.shares_memory(one, other):
            raise ValueError("frame_times, counts, alphas: expected arrays of their own, got two that share memory")
    return counts, alphas


def _output(name: str, given: Any, size: int, dtype: str) -> np.ndarray[Any, Any]:
    if given is None:
        return np.empty(size, dtype)
    array = np.asarray(given)
    if array is not given and not isinstance(given, memoryview) and not hasattr(given, "buffer_info"):
        raise TypeError(f"{name}: expected an array to write to, got {type(given).__name__}")
    if array.dtype != dtype:
        raise TypeError(f"{name}: expected dtype {np.dtype(dtype)}, got {array.dtype}")
    if array.shape != (size,):
        raise ValueError(f"{name}: expected shape ({size},), got {array.shape}")
    if not array.flags.carray:
        raise ValueError(f"{name}: expected a contiguous, aligned, writable array")
    return array


# --- rates -------------------------------------------------------------------------------------


def parse_rate(hz: Any = None, dt: Any = None) -> Fraction:
    """Return the step rate in 1/s from exactly one of hz and dt; 60 if both are None.

    >>> parse_rate("60000/1001"), parse_rate(dt=1 / 60), parse_rate(59.94)
    (Fraction(60000, 1001), Fraction(60, 1), Fraction(2997, 50))
    """
    step = time_step(dt, 60 if hz is None and dt is None else hz)
    if not countable(step):
        name, given = ("hz", hz) if dt is None else ("dt", dt)
        raise ValueError(f"{name}: expected {what_clocks_count()}, got {show(given)}")
    return 1 / step
