"""The pull of a sun, written four times: built in, in Python, in Python that numba compiles, in C.

a = -mu x / |x|^3. The same operations in the same order give the same bits in each of them.
"""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kickdrift as kd


class AbsentError(Exception):
    """This way needs something that is not on this machine."""


def built_in(mu: float) -> kd.PointGravity:
    return kd.PointGravity(mu)


def in_python(mu: float) -> kd.Force:
    """Called once per evaluation, with all bodies."""

    def pull(t: float, position: np.ndarray, velocity: np.ndarray, out: np.ndarray) -> None:
        x, y = position.T
        q = x * x + y * y
        s = mu / (q * np.sqrt(q))
        out[:, 0] = -(s * x)
        out[:, 1] = -(s * y)

    return kd.Force(pull, velocity_dependent=False)


def in_numba(mu: float) -> kd.NativeForce:
    """Called with a tile of bodies, without the GIL: component j of its body i is at [j * stride + i]."""
    try:
        import numba
    except ImportError:
        raise AbsentError("not installed: pip install numba") from None
    types: Any = numba.types
    real, index, reals = types.float64, types.int64, types.CPointer(types.float64)
    signature = types.int32(real, index, index, index, index, reals, reals, reals, types.voidptr)

    def pull(t, first, count, dim, stride, position, velocity, out, user_data):  # type: ignore[no-untyped-def]
        for i in range(count):
            x, y = position[i], position[stride + i]
            q = x * x + y * y
            s = mu / (q * math.sqrt(q))
            out[i] = -(s * x)
            out[stride + i] = -(s * y)
        return 0

    return kd.NativeForce(numba.cfunc(signature)(pull), velocity_dependent=False)


C = """
#include <math.h>
#include "kickdrift/native.h"

int pull(double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
         const double *x, const double *v, double *out, void *user_data)
{
    const double mu = *(const double *)user_data;
    const double *y = x + stride;
    for (int64_t i = 0; i < count; i++) {
        const double q = x[i] * x[i] + y[i] * y[i];
        const double s = mu / (q * sqrt(q));
        out[i] = -(s * x[i]);
        out[stride + i] = -(s * y[i]);
    }
    return 0;
}
"""


def in_c(mu: float) -> kd.NativeForce:
    """The same by ctypes, from a library that is compiled here. Contracted a * b + c would be other bits."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise AbsentError("no C compiler: cc, gcc or clang")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source, library = Path(folder, "pull.c"), Path(folder, "pull.so")
        source.write_text(C)
        flags = ["-O2", "-shared", "-fPIC", "-ffp-contract=off", "-I", kd.get_include()]
        done = subprocess.run([compiler, *flags, source, "-o", library, "-lm"], capture_output=True, text=True)
        if done.returncode != 0:
            raise AbsentError(f"{compiler} fails: {done.stderr.strip().partition(chr(10))[0]}")
        function = kd.NativeForce.prototype("float64")(("pull", ctypes.CDLL(str(library))))
    return kd.NativeForce(function, np.array([mu]), velocity_dependent=False)


WAYS: dict[str, Callable[[float], Any]] = {
    "kd.PointGravity": built_in,
    "kd.Force, in Python": in_python,
    "kd.NativeForce, by numba": in_numba,
    "kd.NativeForce, C by ctypes": in_c,
}
