"""kick, drift and damp: the verbs of every scheme, alone, for engines with forces of their own."""

from functools import lru_cache

from libc.float cimport FLT_MAX

from ..kernels.abi.tables cimport Change, Grid, Kernels, offered_in
from ..kernels.simd.rounding cimport require_rounding

import numpy as np

from .. import validation
from .. import exact_math
from ..kernels.instruction_sets import scalar

require_rounding(__name__)

cdef object FLOAT32 = np.dtype(np.float32)
cdef object FLOAT64 = np.dtype(np.float64)

# For float, for double.
cdef const Kernels* KERNELS = offered_in(scalar.KERNELS)

ctypedef fused real:
    float
    double


def kick(velocity, acceleration, dt):
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
    add("velocity", velocity, "acceleration", acceleration, dt)


def drift(position, velocity, dt):
    """position += dt * velocity, in place; arguments and errors as those of `kick`.

    >>> import numpy as np, kickdrift as kd
    >>> position = np.zeros(2)
    >>> kd.drift(position, np.array([1.0, 2.0]), 0.25)
    >>> position.tolist()
    [0.25, 0.5]
    """
    add("position", position, "velocity", velocity, dt)


def damp(velocity, rate, dt):
    """velocity *= exp(-rate dt), in place: the same decay at every frame rate.

    velocity: as in `kick`. rate: >= 0 in 1/s, a number or one per body of shape (n,). dt: seconds >= 0.
    exp is correctly rounded, so the result is the same on every platform. The last few hundred pairs of a single rate
    and dt are cached. Raises what `kick` raises.

    >>> import numpy as np, kickdrift as kd
    >>> velocity = np.ones(2)
    >>> kd.damp(velocity, rate=np.log(2), dt=1.0)
    >>> velocity.tolist()
    [0.5, 0.5]
    """
    target = writable("velocity", velocity)
    rates = validation.numbers("rate", rate, minimum=0.0)
    h = validation.real("dt", dt, minimum=0.0)
    if rates.ndim == 0:
        factors = np.full(1, decay(float(rates), h))
    else:
        factors = exact_math.decays(validation.per_body("rate", rates, len(target)), h)
    factors = factors.astype(target.dtype)
    factors = np.broadcast_to(factors.reshape(len(factors), *[1] * (target.ndim - 1)), target.shape)
    target, factors = ordered(target, factors)
    if target.dtype == FLOAT32:
        change[float](KERNELS[0].scale, target, factors, 0)
    else:
        change[double](KERNELS[1].scale, target, factors, 0)


@lru_cache(512)
def decay(rate, h):
    return float(exact_math.decays(np.array([rate]), h)[0])


cdef object writable(str name, object given):
    if not isinstance(given, np.ndarray):
        raise TypeError(f"{name}: expected an array of float32 or float64, got {type(given).__name__}")
    array = validation.plain(name, given)
    if array.dtype != FLOAT64 and array.dtype != FLOAT32:
        raise TypeError(f"{name}: expected an array of float32 or float64, got {array.dtype}")
    if array.ndim not in (1, 2):
        raise ValueError(f"{name}: expected shape (n,) or (n, dim), got {array.shape}")
    if not array.flags.writeable:
        raise ValueError(f"{name}: expected a writable array (it is changed in place), got a read-only one")
    if not array.flags.aligned:
        raise ValueError(f"{name}: expected an aligned array, got one whose items straddle their own size")
    if not array.flags.forc and validation.overlaps_itself(array if array.ndim == 2 else array[:, None]):
        raise ValueError(f"{name}: expected an item of its own for each body, got overlapping ones (broadcast?)")
    return array


cdef void add(str name, object array, str other_name, object other, object dt) except *:
    target = writable(name, array)
    if isinstance(other, np.ndarray):
        other = validation.plain(other_name, other)
    if isinstance(other, np.ndarray) and other.dtype.kind == "f" and other.dtype != target.dtype:
        raise TypeError(f"{other_name}: expected the dtype of {name}, {target.dtype}, got {other.dtype}")
    source = other
    if not isinstance(other, np.ndarray) or other.dtype != target.dtype:
        source = numbers(other_name, other, target.dtype)
    h = validation.real("dt", dt)
    if target.dtype == FLOAT32 and abs(h) > FLT_MAX:
        raise ValueError(f"dt: expected a number within the range of float32, got {validation.show(dt)}")
    if source.shape != target.shape:
        try:
            source = np.broadcast_to(source, target.shape)
        except ValueError:
            raise ValueError(
                f"{other_name}: expected a shape that broadcasts to {target.shape}, got {source.shape}"
            ) from None
    if np.may_share_memory(target, source) and np.shares_memory(target, source):
        raise ValueError(f"{other_name}: shares memory with {name}, expected arrays of their own")
    if not source.flags.aligned:
        source = source.copy()
    target, source = ordered(target, source)
    if target.dtype == FLOAT32:
        change[float](KERNELS[0].add_scaled, target, source, h)
    else:
        change[double](KERNELS[1].add_scaled, target, source, h)


cdef object numbers(str name, object value, object dtype):
    with np.errstate(over="ignore"):
        array = validation.numbers(name, value).astype(dtype)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected numbers within the range of {dtype}, got {validation.show(value)}")
    return array


cdef tuple ordered(object target, object source):
    """Both with two axes, of which the inner one is that whose items are closest together; in one row if they can."""
    if target.ndim == 1:
        return target[None], source[None]
    if target.strides[0] <= target.strides[1]:
        target, source = target.T, source.T
    if gapless(target) and gapless(source):
        target, source = target.reshape(1, -1), source.reshape(1, -1)
    return target, source


cdef bint gapless(object array) except *:
    cdef Py_ssize_t apart = array.strides[0]
    cdef Py_ssize_t count = array.shape[1]
    cdef Py_ssize_t step = array.strides[1]
    return apart == count * step


cdef void change(Change loop, real[:, :] target, const real[:, :] source, double h) except *:
    cdef Grid grid
    cdef real* like = NULL
    if target.shape[0] == 0 or target.shape[1] == 0:
        return
    grid.rows, grid.count = target.shape[0], target.shape[1]
    grid.row[0], grid.row[1] = target.strides[0], source.strides[0]
    grid.step[0], grid.step[1] = target.strides[1], source.strides[1]
    with nogil:
        loop(&grid, <char*> &target[0, 0], <const char*> &source[0, 0], h, like)
