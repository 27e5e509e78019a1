"""The compiled kernels, one module per instruction set, and the choice between them.

A module is imported only where processor and operating system support its instructions: even its start-up code may
contain them. Results of all modules are bitwise equal.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder

import numpy as np

from . import instruction_sets
from .instruction_sets.processor import BUILD, COMPILER, FLAGS, SUPPORTED

KNOWN = ("baseline", "avx2", "avx512")

#: The instruction sets that are in this build and that this machine supports, slowest first.
available = tuple(
    isa
    for isa in KNOWN
    if isa in SUPPORTED and PathFinder.find_spec(f"{__name__}.instruction_sets.{isa}", instruction_sets.__path__)
)


def offered() -> object:
    """Return the capsule with the kernels that new steppers use."""
    return _kernels(isa)


@cache
def _kernels(isa: str) -> object:
    return import_module(f"{__name__}.instruction_sets.{isa}").KERNELS


def _choose() -> tuple[str, ...]:
    forced = os.environ.get("KICKDRIFT_ISA")
    if not forced:
        return available
    if forced not in available:
        reason = "not supported by this machine or build" if forced in KNOWN else "unknown"
        raise ImportError(f"KICKDRIFT_ISA={forced}: {reason}; expected one of {', '.join(available)}")
    return (forced,)


#: The instruction sets that steppers of this process may use: all available ones, or only that in KICKDRIFT_ISA.
isas = _choose()
#: The instruction set that new steppers use.
isa = isas[-1]


def aligned_zeros(shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """Return zeros that start at a cache line: vectors that straddle two lines take twice as long to load."""
    buffer = np.zeros(shape[0] * shape[1] * dtype.itemsize + 63, np.uint8)
    start = -buffer.__array_interface__["data"][0] % 64  # takes a third of the time of `buffer.ctypes.data`
    return np.ndarray(shape, dtype, buffer, start)


def build_info() -> dict[str, object]:
    """Version, compiler and flags of this build, and the instruction sets used and available.

    >>> import kickdrift as kd
    >>> sorted(kd.build_info())
    ['build', 'compiler', 'flags', 'isa', 'isas', 'version']
    """
    from .. import __version__

    return {"version": __version__, "build": BUILD, "compiler": COMPILER, "flags": FLAGS, "isa": isa, "isas": available}
