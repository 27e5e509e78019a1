"""Weights of interpolation between two states, and checks of the output array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import validation

if TYPE_CHECKING:
    from .base import StepperBase

MODES = ("linear", "hermite", "extrapolate")


class Weights(NamedTuple):
    """Weights of x + (x_weight (x' - x) + (v_weight v + v_new_weight v')); primes denote the new state."""

    x: float
    v: float
    v_new: float


def weights(mode: str, alpha: float, h: float, between: bool) -> Weights:
    """Return the weights for the time alpha h after the old state. between: False if there is only the new state.

    "hermite" is the cubic through the positions and velocities of both states. "extrapolate" continues from the new
    state, which is also passed as the old one.
    """
    validation.one_of("mode", mode, MODES)
    if mode == "linear" or (mode == "hermite" and not between):
        return Weights(alpha, 0.0, 0.0)
    if mode == "extrapolate":
        return Weights(0.0, 0.0, alpha * h)
    rest = 1 - alpha
    return Weights(alpha * alpha * (3 - 2 * alpha), h * alpha * rest * rest, -h * alpha * alpha * rest)


def canvas(out: Any, stepper: StepperBase, rows: int) -> np.ndarray:
    """Check `out`, and return it as an array for the interpolated positions of `rows` bodies."""
    array = _as_vertices(out)
    if stepper.dim == 2 and array.shape == (rows, 3):
        array = array[:, :2]  # 2-D positions in 3-D vertices; z is left unchanged
    return _checked(array, stepper, (rows, stepper.dim), f" or ({rows}, 3)" if stepper.dim == 2 else "")


def canvas_of(out: Any, stepper: StepperBase, shape: tuple[int, ...]) -> np.ndarray:
    """Check `out`, and return it as an array of `shape`, (rows,) or (rows, k)."""
    return _checked(_as_vertices(out), stepper, shape)


def _as_vertices(out: Any) -> np.ndarray:
    if type(out) is np.ndarray:
        array = out
    else:
        array = validation.plain("out", out) if isinstance(out, np.ndarray) else _as_array(out)
    return _columns(array) if array.dtype.names is not None else array


def _checked(array: np.ndarray, stepper: StepperBase, shape: tuple[int, ...], also: str = "") -> np.ndarray:
    if array.shape != shape:
        raise ValueError(f"out: expected shape {shape}{also}, got {array.shape}")
    if array.dtype != np.float32 and array.dtype != np.float64:
        raise TypeError(f"out: expected float32 or float64 in native byte order, got {array.dtype}")
    flags = array.flags
    if not flags.writeable or not flags.aligned:
        raise ValueError("out: expected a writable, aligned buffer")
    if not flags.forc and validation.overlaps_itself(array):
        raise ValueError("out: expected an item of its own for each body, got overlapping ones (broadcast?)")
    for name in ("position", "velocity", "angular_velocity", "angle", "orientation"):
        state = getattr(stepper, name)
        if state is not None and np.shares_memory(array, state):
            raise ValueError(f"out: shares memory with {name}, which drawing must not change")
    return array


def _columns(array: np.ndarray) -> np.ndarray:
    """Return structured vertices, such as Panda3D's format "fff", as an array with one column per number."""
    names: tuple[str, ...] = array.dtype.names or ()
    fields: Any = array.dtype.fields
    kinds = {array.dtype[name] for name in names}
    places = [fields[name][1] for name in names]
    steps = set(np.diff(places).tolist()) or {array.dtype[0].itemsize}
    if array.ndim != 1 or len(kinds) != 1 or len(steps) != 1:
        raise TypeError(f"out: expected vertices of as many floats as there are dimensions, got {array.dtype}")
    shape, strides = (*array.shape, len(places)), (*array.strides, *steps)
    first = array[names[0]]
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=bool(array.flags.writeable))


def _as_array(out: Any) -> np.ndarray:
    try:
        return np.asarray(memoryview(out))
    except TypeError:
        raise TypeError(f"out: expected an array or buffer, got {validation.show(out)}") from None
