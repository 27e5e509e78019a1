"""kick, drift and damp: one substep each, for engines with forces of their own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import exact_math, validation


def kick(velocity: NDArray[np.floating[Any]], acceleration: ArrayLike, dt: float) -> None:
    """velocity += dt * acceleration, in place.

    velocity: m/s, float32 or float64, shape (n,) or (n, dim), any strides.
    acceleration: m/s², an array of the same dtype, or numbers; of a shape that broadcasts to it.
    dt: seconds, of either sign.

    Raises TypeError and ValueError before anything changes. Thread-safety: one writer per array.

    >>> import numpy as np, kickdrift as kd
    >>> velocity = np.zeros((2, 2))
    >>> kd.kick(velocity, (0.0, -10.0), 0.5)
    >>> velocity.tolist()
    [[0.0, -5.0], [0.0, -5.0]]
    """
    _add("velocity", velocity, "acceleration", acceleration, dt)


def drift(position: NDArray[np.floating[Any]], velocity: ArrayLike, dt: float) -> None:
    """position += dt * velocity, in place; arguments and errors as those of `kick`.

    >>> import numpy as np, kickdrift as kd
    >>> position = np.zeros(2)
    >>> kd.drift(position, np.array([1.0, 2.0]), 0.25)
    >>> position.tolist()
    [0.25, 0.5]
    """
    _add("position", position, "velocity", velocity, dt)


@np.errstate(all="ignore")
def damp(velocity: NDArray[np.floating[Any]], rate: ArrayLike, dt: float) -> None:
    """velocity *= exp(-rate dt), in place: the decay does not depend on the frame rate.

    velocity: as in `kick`. rate: >= 0 in 1/s, a number or one per body of shape (n,). dt: seconds >= 0.
    exp is correctly rounded, so results are equal on every platform. The last few hundred pairs of a single rate
    and dt are cached. Raises the errors of `kick`.

    >>> import numpy as np, kickdrift as kd
    >>> velocity = np.ones(2)
    >>> kd.damp(velocity, rate=np.log(2), dt=1.0)
    >>> velocity.tolist()
    [0.5, 0.5]
    """
    target = _writable("velocity", velocity)
    rates = validation.numbers("rate", rate, minimum=0.0)
    h = validation.real("dt", dt, minimum=0.0)
    if rates.ndim == 0:
        target *= target.dtype.type(_decay(float(rates), h))
    else:
        factors = exact_math.decays(validation.per_body("rate", rates, len(target)), h).astype(target.dtype)
        target *= factors if target.ndim == 1 else factors[:, None]


@lru_cache(512)
def _decay(rate: float, h: float) -> float:
    return float(exact_math.decays(np.array([rate]), h)[0])


@np.errstate(all="ignore")
def _add(name: str, array: Any, other_name: str, other: Any, dt: Any) -> None:
    target = _writable(name, array)
    source = validation.plain(other_name, other) if isinstance(other, np.ndarray) else other
    if not isinstance(source, np.ndarray) or source.dtype.kind != "f":
        source = validation.numbers(other_name, source).astype(target.dtype)
        if not np.isfinite(source).all():
            raise ValueError(
                f"{other_name}: expected numbers within the range of {target.dtype}, got {validation.show(other)}"
            )
    elif source.dtype != target.dtype:
        raise TypeError(f"{other_name}: expected the dtype of {name}, {target.dtype}, got {source.dtype}")
    h = validation.real("dt", dt)
    if abs(h) > np.finfo(target.dtype).max:
        raise ValueError(f"dt: expected a number within the range of {target.dtype}, got {validation.show(dt)}")
    if source.shape != target.shape:
        try:
            np.broadcast_to(source, target.shape)
        except ValueError:
            raise ValueError(
                f"{other_name}: expected a shape that broadcasts to {target.shape}, got {source.shape}"
            ) from None
    if np.shares_memory(target, source):
        raise ValueError(f"{other_name}: shares memory with {name}, expected arrays of their own")
    target += target.dtype.type(h) * source


def _writable(name: str, given: Any) -> NDArray[np.floating[Any]]:
    if not isinstance(given, np.ndarray):
        raise TypeError(f"{name}: expected an array of float32 or float64, got {type(given).__name__}")
    array = validation.plain(name, given)
    if array.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"{name}: expected an array of float32 or float64, got {array.dtype}")
    if array.ndim not in (1, 2):
        raise ValueError(f"{name}: expected shape (n,) or (n, dim), got {array.shape}")
    if not array.flags.writeable:
        raise ValueError(f"{name}: expected a writable array (it is changed in place), got a read-only one")
    if not array.flags.aligned:
        raise ValueError(f"{name}: expected an aligned array, got one whose items straddle their own size")
    if validation.overlaps_itself(array):
        raise ValueError(f"{name}: expected an item of its own for each body, got overlapping ones (broadcast?)")
    return array
