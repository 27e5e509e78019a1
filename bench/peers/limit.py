"""The limit: `limit.c`, compiled for the scene's dtype and instruction set and called through ctypes."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np

from ..scene import AIR, AXIS, CENTER, DRAG, GRAVITY, MU, SOFTENING, STRENGTH, WIND, Contestant, H, Scene

COMPILER = os.environ.get("CC", "cc")
if not shutil.which(COMPILER):
    raise ImportError(f"{COMPILER}: no C compiler")

FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC"]
# Flags, bytes of a vector, and the number of vectors processed together: for components in separate planes, in rows,
# either of them with RK4, for bodies, and for bodies with RK4. The numbers are the fastest ones with 32 registers, and
# about half of them with 16.
ISAS = {
    "baseline": ([], 16, {"PLANE_LANES": 6, "ROW_LANES": 6, "RK4_LANES": 3, "BODY_LANES": 2, "BODY_RK4_LANES": 1}),
    "avx2": (["-mavx2"], 32, {"PLANE_LANES": 6, "ROW_LANES": 6, "RK4_LANES": 3, "BODY_LANES": 2, "BODY_RK4_LANES": 1}),
    "avx512": (
        ["-march=x86-64-v4", "-mprefer-vector-width=512"],
        64,
        {"PLANE_LANES": 10, "ROW_LANES": 9, "RK4_LANES": 6, "BODY_LANES": 4, "BODY_RK4_LANES": 2},
    ),
}
SCHEMES = {"semi_implicit_euler": "euler", "velocity_verlet": "verlet", "leapfrog": "leapfrog", "rk4": "rk4"}


@cache
def library(dtype: str, isa: str, whole: bool) -> ctypes.CDLL:
    """Compile the limits for one dtype and instruction set."""
    flags, size, lanes = ISAS[isa]
    real = {"float32": "float", "float64": "double"}[dtype]
    macros = {"REAL": real, "BYTES": size, "WHOLE": int(whole), **lanes}
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder, "limit.so"))
        defines = [f"-D{name}={value}" for name, value in macros.items()]
        source = str(Path(__file__).with_name("limit.c"))
        subprocess.run([COMPILER, *FLAGS, *flags, *defines, source, "-o", target, "-lm"], check=True)
        return ctypes.CDLL(target)


def contestant(scene: Scene, whole: bool = False) -> Contestant:
    """whole: with all operations of the general terms, even those that the scene does not need."""
    position, velocity = scene.arrays()
    make = _drag if scene.force == "drag" else _bodies
    calls = make(scene, library(scene.dtype, scene.isa, whole), position, velocity)

    def run() -> None:
        for call in calls:
            call()

    return Contestant(run, lambda: position, lambda: velocity)


def _drag(scene: Scene, code: ctypes.CDLL, position: np.ndarray, velocity: np.ndarray) -> list:
    """One call per component if components are contiguous, otherwise one call for all."""
    function = getattr(code, f"{scene.layout}_drag_{SCHEMES[scene.integrator]}")
    if scene.layout == "row":
        parts = [(position.ravel(), velocity.ravel(), np.resize(GRAVITY, 1024))]
    else:
        parts = [(position[:, j], velocity[:, j], np.full(1024, GRAVITY[j])) for j in range(3)]
    real = np.ctypeslib.as_ctypes_type(scene.dtype)
    return [
        _call(function, x, v, ctypes.c_long(x.size), g.astype(scene.dtype), real(DRAG), real(H), scene.steps)
        for x, v, g in parts
    ]


def _bodies(scene: Scene, code: ctypes.CDLL, position: np.ndarray, velocity: np.ndarray) -> list:
    function = getattr(code, f"{scene.force}_{SCHEMES[scene.integrator]}")
    strides = [ctypes.c_long(stride // position.itemsize) for stride in position.strides]
    numbers = {
        "well": (*CENTER, MU, SOFTENING * SOFTENING, 0, 0, 0),
        "wind": (*WIND, AIR, 0, 0, 0, 0),
        "vortex": (*CENTER, -STRENGTH, SOFTENING * SOFTENING, *AXIS),
    }
    constants = np.array(numbers[scene.force], scene.dtype)
    real = np.ctypeslib.as_ctypes_type(scene.dtype)
    return [_call(function, position, velocity, ctypes.c_long(scene.n), *strides, constants, real(H), scene.steps)]


def _call(function, *arguments):
    converted = [
        ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_long(a) if isinstance(a, int) else a
        for a in arguments
    ]
    call = partial(function, *converted)
    call.keep = arguments  # keeps the memory of the arrays alive
    return call
