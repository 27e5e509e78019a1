"""kick, drift and damp: the verbs of every scheme, alone, for engines with forces of their own."""

from functools import lru_cache

from libc.float cimport FLT_MAX

from ..kernels.simd.rounding cimport require_rounding

import numpy as np

from .. import validation
from .. import exact_math

require_rounding(__name__)

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
    """velocity *= exp(-rate dt), in place: the decay that is the same at every frame rate.

    velocity: as in `kick`. rate: >= 0 in 1/s, a number or one per body of shape (n,). dt: seconds >= 0.
    exp is correctly rounded, so that the result is the same on every platform; the last few
    hundred pairs of a single rate and dt are remembered. Errors as those of `kick`.

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
    if target.dtype == np.float32:
        scale[float](target, factors)
    else:
        scale[double](target, factors)


@lru_cache(512)
def decay(rate, h):
    return float(exact_math.decays(np.array([rate]), h)[0])


cdef object writable(str name, object given):
    if not isinstance(given, np.ndarray):
        raise TypeError(f"{name}: expected an array of float32 or float64, got {type(given).__name__}")
    array = validation.plain(name, given)
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
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
    if target.dtype == np.float32 and abs(h) > FLT_MAX:
        raise ValueError(f"dt: expected a number within the range of float32, got {validation.show(dt)}")
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
    if target.dtype == np.float32:
        accumulate[float](target, source, h)
    else:
        accumulate[double](target, source, h)


cdef object numbers(str name, object value, object dtype):
    with np.errstate(over="ignore"):
        array = validation.numbers(name, value).astype(dtype)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected numbers within the range of {dtype}, got {validation.show(value)}")
    return array


# Loops over a view of two axes; the inner one is over the axis whose items are closest together.

cdef void order(object target, object source, Py_ssize_t* shape, Py_ssize_t* to, Py_ssize_t* by) except *:
    a, b = (0, 1) if target.ndim == 2 and target.strides[0] > target.strides[1] else (1, 0)
    if target.ndim == 1:
        target, source = target[:, None], source[:, None]
    shape[0], shape[1] = target.shape[a], target.shape[b]
    to[0], to[1] = target.strides[a], target.strides[b]
    by[0], by[1] = source.strides[a], source.strides[b]
    if to[0] == shape[1] * to[1] and by[0] == shape[1] * by[1]:
        shape[1] *= shape[0]
        shape[0] = 1


cdef void accumulate(object target, object source, real h) except *:
    cdef Py_ssize_t shape[2]
    cdef Py_ssize_t to[2]
    cdef Py_ssize_t by[2]
    cdef Py_ssize_t i, j
    cdef char* t = <char*> <size_t> target.ctypes.data
    cdef const char* s = <const char*> <size_t> source.ctypes.data
    order(target, source, shape, to, by)
    with nogil:
        for i in range(shape[0]):
            if to[1] == sizeof(real) and by[1] == sizeof(real):
                for j in range(shape[1]):
                    (<real*> (t + i * to[0]))[j] += h * (<const real*> (s + i * by[0]))[j]
            else:
                for j in range(shape[1]):
                    (<real*> (t + i * to[0] + j * to[1]))[0] += h * (<const real*> (s + i * by[0] + j * by[1]))[0]


cdef void scale(object target, object factors, real like=0) except *:
    cdef Py_ssize_t shape[2]
    cdef Py_ssize_t to[2]
    cdef Py_ssize_t by[2]
    cdef Py_ssize_t i, j
    cdef char* t = <char*> <size_t> target.ctypes.data
    cdef const char* s = <const char*> <size_t> factors.ctypes.data
    order(target, factors, shape, to, by)
    with nogil:
        for i in range(shape[0]):
            for j in range(shape[1]):
                (<real*> (t + i * to[0] + j * to[1]))[0] = (
                    (<const real*> (s + i * by[0] + j * by[1]))[0] * (<real*> (t + i * to[0] + j * to[1]))[0]
                )
