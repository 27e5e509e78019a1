"""Validation of numbers and arrays from users.

Each function returns the value in the one form that the rest of the package uses, or raises an exception. Its message
names the argument, the expected value and the value given.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

_REAL_KINDS = "iuf"
_REALS = (np.dtype(np.float64), np.dtype(np.float32))
_EXACT = 2**53  # all integers up to this one are exact in float64


def show(value: Any) -> str:
    """Format a value for an error message: short, with its type."""
    return f"{short(value)} ({type(value).__name__})"


def short(value: Any) -> str:
    """Format a value for an error message. If its repr() fails, name the failure instead of raising."""
    try:
        text = repr(value)
    except Exception as error:
        if isinstance(value, int):  # Python limits the digits of int to str
            text = f"about {'-' if value < 0 else ''}2**{value.bit_length()}"
        else:
            text = f"<no text: {type(error).__name__}>"
    text = text if len(text) <= 60 else text[:57] + "..."
    # Surrogates cannot be encoded, therefore not printed or sent either.
    return text.encode("utf-8", "backslashreplace").decode()


def meant(value: Any, choices: Iterable[str]) -> str:
    """Suggest the choice closest to a misspelt word, as the end of an error message; "" if none is close."""
    from difflib import get_close_matches

    near = get_close_matches(value.lower(), list(choices), 1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def in_place(name: str, value: Any, own: np.ndarray | None, error: type[Exception] = AttributeError) -> None:
    """Accept the assignment of an array to itself, with which `world.velocity *= 0.9` ends; refuse all others."""
    if value is own or (isinstance(value, np.ndarray) and own is not None and same_memory(value, own)):
        return
    how = "none in this world" if own is None else f"to be changed in place, as in {name}[:] = ... or {name} *= ..."
    raise error(f"{name}: expected {how}, got {show(value)}")


def same_memory(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays are views of the same items, in the same order."""
    here, there = one.__array_interface__, other.__array_interface__
    return one.strides == other.strides and all(here[name] == there[name] for name in ("data", "shape", "typestr"))


def integer(name: str, value: Any, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return an int within bounds. NumPy integers are accepted, bools are not."""
    if isinstance(value, (bool, np.bool_)) or getattr(value, "dtype", None) == np.bool_:
        raise TypeError(f"{name}: expected an int, got {show(value)}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an int, got {show(value)}") from None
    if minimum is not None and number < minimum:
        raise ValueError(f"{name}: expected an int of at least {minimum}, got {short(number)}")
    if maximum is not None and number > maximum:
        raise ValueError(f"{name}: expected an int of at most {maximum}, got {short(number)}")
    return number


def threads(value: Any) -> int:
    """Return a valid number of threads. Large numbers are harmless: threads without work are never started."""
    return integer("threads", value, 1, 2**31 - 1)


LARGEST_TICK = 2**62 - 1
"""Ticks stay below 2**62, so that sums of two of them fit into 64 bits."""


def steps(n: Any, tick: int) -> int:
    """Return the number of steps to run, which must not pass the largest tick."""
    number = integer("n", n, 0)
    if number > LARGEST_TICK - tick:
        raise ValueError(f"n: expected at most {LARGEST_TICK - tick} steps from tick {tick} on, got {show(n)}")
    return number


def flag(name: str, value: Any) -> bool:
    """Return a bool; NumPy bools are accepted."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {show(value)}")
    return bool(value)


def one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ValueError if the value is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, choices))
        raise ValueError(f"{name}: expected one of {known}, got {show(value)}{meant(value, choices)}")


def real(
    name: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf, above: float = -math.inf
) -> float:
    """Return a finite float; `minimum` and `maximum` are inclusive, `above` is not. NumPy scalars are accepted."""
    # NumPy registers its real scalars as numbers.Real, but not its booleans.
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name}: expected a real number, got {show(value)}")
    number = as_float(value)
    if not math.isfinite(number) or not minimum <= number <= maximum or number <= above:
        bound = f" greater than {above:g}" if above > -math.inf else ""
        bound = f" of at least {minimum:g}" if minimum > -math.inf else bound
        bound = f" from {minimum:g} to {maximum:g}" if maximum < math.inf else bound
        raise ValueError(f"{name}: expected a finite number{bound}, got {show(value)}")
    return number


def ratio(a: int, b: int) -> float:
    """Return a / b, rounded once; infinity on overflow."""
    try:
        return a / b
    except OverflowError:
        return math.inf


def as_float(value: Any) -> float:
    """Return float(value); infinity on overflow."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def plain(name: str, value: Any, what: str = "numbers in a regular array") -> np.ndarray:
    """Return numpy.asarray(value); refuse masked arrays, because the mask would be ignored, and ragged lists.

    Subclasses of ndarray are converted too: they can override shape and strides, which kernels rely on. what: what is
    expected, for the message about ragged lists.
    """
    if isinstance(value, np.ndarray) and "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name}: expected an array without a mask, got a MaskedArray; pass its .data, or what its .filled(...) "
            f"returns"
        )
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{name}: expected {what}, got {show(value)}") from None


def in_float64(array: np.ndarray) -> np.ndarray:
    """Return a copy in float64. Numbers that overflow become infinite, and are later rejected as not finite."""
    if array.dtype == np.float64:
        return np.array(array, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # invalid: a signalling NaN
        return np.array(array, np.float64)


def raw_bytes(name: str, value: Any) -> bytes:
    """Return a copy of a bytes-like object."""
    try:
        with memoryview(value) as view:
            return view.tobytes()
    except (TypeError, ValueError, BufferError):
        raise TypeError(f"{name}: expected bytes, got {show(value)}") from None


def holds_bool(value: Any) -> bool:
    """Return whether a list or tuple contains a bool, which NumPy would convert to a number."""
    if not isinstance(value, (list, tuple)):
        return False
    for each in value:
        kind = type(each)
        if kind is float or kind is int:
            continue
        if getattr(each, "dtype", kind) in (bool, np.bool_) or holds_bool(each):
            return True
    return False


def _check_kind(name: str, value: Any, array: np.ndarray, kinds: str = _REAL_KINDS, what: str = "real numbers") -> None:
    """Raise TypeError for a dtype of another kind, or a bool in `value`; array: `value` converted by NumPy."""
    if array.dtype.kind not in kinds or holds_bool(value):
        raise TypeError(f"{name}: expected {what}, got {show(value)}")


def numbers(name: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf) -> np.ndarray:
    """Return a finite float64 array of any shape; a read-only copy."""
    kind = type(value)
    if kind is tuple or kind is float or kind is int:  # fast path for a few plain numbers
        least, most = minimum if minimum > -_EXACT else -_EXACT, maximum if maximum < _EXACT else _EXACT
        for number in value if kind is tuple else (value,):
            kind = type(number)
            if not (kind is float or kind is int) or not least <= number <= most:
                break
        else:
            array = np.array(value, np.float64)
            array.setflags(write=False)
            return array
    array = plain(name, value)
    _check_kind(name, value, array)
    array = in_float64(array)
    if array.size <= 4:  # NumPy's call overhead dominates for few numbers
        few = array.ravel().tolist()
        finite, least, most = all(map(math.isfinite, few)), min(few, default=0.0), max(few, default=0.0)
    else:
        finite, least, most = bool(np.isfinite(array).all()), array.min(), array.max()
    if not finite:
        raise ValueError(f"{name}: expected finite numbers, got {show(value)}")
    if array.size and least < minimum:
        raise ValueError(f"{name}: expected numbers of at least {minimum:g}, got {least:g}")
    if array.size and most > maximum:
        raise ValueError(f"{name}: expected numbers of at most {maximum:g}, got {most:g}")
    array.flags.writeable = False
    return array


def unit(direction: np.ndarray) -> np.ndarray:
    """Return a direction other than zero with length 1."""
    scaled = direction / max(map(abs, direction.tolist()))  # avoids overflow of squares
    return scaled / math.sqrt(dot(scaled, scaled))


def dot(u: np.ndarray, v: np.ndarray) -> float:
    """Add the products from left to right, in every Python: from 3.12 on sum() compensates for rounding errors."""
    total = 0.0
    for a, b in zip(u.tolist(), v.tolist(), strict=True):
        total += a * b
    return total


def distinct(array: np.ndarray) -> np.ndarray:
    """Return the different integers of an array, ascending. np.unique would import numpy.ma, in some 10 ms."""
    ordered = np.sort(array, axis=None)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]]


def per_body(name: str, array: np.ndarray, n: int, what: str = "body") -> np.ndarray:
    """Return a coefficient as shape (1,), shared, or (n,), one per body (`what` in messages)."""
    if array.ndim == 0:
        return array.reshape(1)
    if array.shape != (n,):
        raise ValueError(f"{name}: expected a scalar or shape ({n},), one value per {what}, got shape {array.shape}")
    return array


def pairs(name: str, value: Any) -> np.ndarray:
    """Return pairs of body indices: a read-only int64 copy of shape (pairs, 2)."""
    array = plain(name, value, "pairs of indices, shape (pairs, 2)")
    if array.size == 0:
        array = np.zeros((0, 2), np.int64)
    _check_kind(name, value, array, "iu", "ints")
    if array.ndim != 2 or array.shape[1] != 2:
        hint = f"; one pair is [({array[0]}, {array[1]})]" if array.shape == (2,) else ""
        raise ValueError(f"{name}: expected shape (pairs, 2), got {array.shape}{hint}")
    alone = np.flatnonzero(array[:, 0] == array[:, 1])
    if len(alone):
        raise ValueError(f"{name}: expected two bodies in a pair, got {array[alone[0]].tolist()} as pair {alone[0]}")
    array = np.array(array, dtype=np.int64)
    array.flags.writeable = False
    return array


def indices(name: str, value: Any) -> np.ndarray:
    """Return body indices: a read-only int64 copy of shape (k,)."""
    array = plain(name, value, "indices of bodies")
    if array.size == 0:
        array = np.zeros(0, np.int64)
    _check_kind(name, value, array, "iu", "ints")
    if array.ndim > 1:
        raise ValueError(f"{name}: expected an int or shape (k,), got {array.shape}")
    array = np.array(array, dtype=np.int64, ndmin=1)
    array.flags.writeable = False
    return array


def rows(index: Any, *shape: int, name: str = "index") -> np.ndarray:
    """Return the flat positions that a NumPy index selects in an array of this shape."""
    try:
        for part in index if isinstance(index, tuple) else (index,):
            if part is None or (getattr(part, "dtype", type(part)) in (bool, np.bool_) and np.ndim(part) == 0):
                raise TypeError("NumPy would add an axis")
        return np.asarray(np.arange(math.prod(shape)).reshape(shape)[index])
    except (IndexError, TypeError, ValueError) as error:
        expected = "expected an int, slice, array of ints or mask of bodies, or ids"
        raise IndexError(f"{name}: {expected}, got {show(index)}: {error}") from None


def within(name: str, indices: np.ndarray, n: int) -> np.ndarray:
    """Return the indices, or pairs of indices; raise ValueError if one is out of range."""
    outside = np.argwhere((indices < 0) | (indices >= n))
    if len(outside):
        row = outside[0, 0]
        place = f" as pair {row}" if indices.ndim > 1 else ""
        raise ValueError(f"{name}: expected indices from 0 to {n - 1}, got {indices[row].tolist()}{place}")
    return indices


def per_body_vectors(name: str, array: np.ndarray, n: int, dim: int) -> np.ndarray:
    """Return vectors of shape (1, dim), shared, or (n, dim), one per body.

    A scalar is accepted as a vector if it is unambiguous: zero, or dim = 1.
    """
    if array.ndim == 0 and (dim == 1 or array == 0):
        return np.array([[float(array)] * dim])
    if array.shape == (dim,):
        return array.reshape(1, dim)
    if array.shape != (n, dim):
        raise ValueError(
            f"{name}: expected a vector of shape ({dim},) or one per body of shape ({n}, {dim}), "
            f"got shape {array.shape}"
        )
    return array


def state_arrays(position: Any, velocity: Any, living: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity as arrays to step in place; living: mask of the rows that must be finite."""
    position = _state_array("position", position, living=living)
    if velocity is None:
        velocity = np.zeros_like(position)
        return position, velocity
    if not isinstance(velocity, np.ndarray) and not _is_buffer(velocity):
        velocity = _in_dtype(velocity, position.dtype)
    velocity = _state_array("velocity", velocity, living=living)
    if velocity.shape != position.shape:
        raise ValueError(f"velocity: expected the shape of position, {position.shape}, got {velocity.shape}")
    if velocity.dtype != position.dtype:
        raise TypeError(f"velocity: expected the dtype of position, {position.dtype}, got {velocity.dtype}")
    if np.shares_memory(position, velocity):
        raise ValueError("velocity: shares memory with position, expected arrays of their own")
    return position, velocity


def _in_dtype(numbers: Any, dtype: np.dtype) -> Any:
    """Convert a list of real numbers to an array of this dtype; return other values unchanged, to be refused later."""
    try:
        array = np.asarray(numbers)
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is rejected as not finite
            return array.astype(dtype) if array.dtype.kind in _REAL_KINDS and not holds_bool(numbers) else numbers
    except ValueError:
        return numbers


def own_memory(applied: Iterable[np.ndarray], state: Iterable[np.ndarray]) -> None:
    """Refuse arrays of forces and torques in memory of the state: a step would change what it reads at its start."""
    for array in applied:
        if any(np.shares_memory(array, other) for other in state):
            raise ValueError("forces: an applied force or torque shares memory with the state, expected its own array")


def trajectories(y: Any) -> np.ndarray:
    """Return the state of an ODEStepper as an array to step in place."""
    return _state_array("y", y, sys.maxsize, "trajectory")


def _state_array(
    name: str, value: Any, most: int = 3, row: str = "body", living: np.ndarray | None = None
) -> np.ndarray:
    array = plain(name, value, "an array of shape (n, dim)")
    if array.dtype.kind in _REAL_KINDS and holds_bool(value):
        raise TypeError(f"{name}: expected real numbers, got {show(value)}")
    if array.ndim != 2 or not 1 <= array.shape[1] <= most:
        dims = f"1 to {most}" if most < sys.maxsize else "at least 1"
        raise ValueError(f"{name}: expected shape (n, dim) with dim {dims}, got {array.shape}")
    if array.dtype.kind in "iu":
        # Steps need fractions; lists of ints are common, so convert instead of raising.
        array = array.astype(np.float64)
    elif not isinstance(value, np.ndarray) and not _is_buffer(value):
        array = in_float64(array) if array.dtype.kind == "f" else np.array(array)
    if array.dtype not in _REALS or not array.dtype.isnative:
        raise TypeError(f"{name}: expected float32 or float64 in native byte order, got {array.dtype}")
    flags = array.flags
    if not flags.writeable:
        raise ValueError(f"{name}: expected a writable array (it is stepped in place), got a read-only one")
    if not flags.aligned:
        raise ValueError(f"{name}: expected an aligned array, got one whose items straddle their own size")
    if not flags.c_contiguous and overlaps_itself(array):
        raise ValueError(f"{name}: expected an item of its own for each {row}, got overlapping ones (broadcast?)")
    finite = np.isfinite(array)
    if not finite.all():
        finite = finite.all(axis=1)
        if living is not None:
            rows = min(len(finite), len(living))
            finite[:rows] |= ~living[:rows]
            finite[rows:] = True
        if not finite.all():
            first = int(np.argmin(finite))
            raise ValueError(f"{name}: expected finite numbers, got {array[first]} for {row} {first}")
    return array


def array_of_bodies(
    name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype, living: np.ndarray | None = None
) -> np.ndarray:
    """Return an array of this shape, (n,) or (n, k), to step in place. A number or one row for all makes a new one."""
    array = plain(name, value, f"a number or shape {shape}")
    _check_kind(name, value, array)
    if array.shape not in ((), shape[1:], shape):
        raise ValueError(f"{name}: expected a number or shape {shape}, got shape {array.shape}")
    if array.shape != shape or not (isinstance(value, np.ndarray) or _is_buffer(value)):
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is rejected as not finite
            array = np.broadcast_to(array.astype(dtype), shape).copy()
    if array.dtype != dtype or not array.dtype.isnative:
        raise TypeError(f"{name}: expected the dtype of position, {dtype}, got {array.dtype}")
    if not array.flags.writeable or not array.flags.aligned:
        raise ValueError(f"{name}: expected a writable, aligned array (it is stepped in place)")
    if overlaps_itself(array):
        raise ValueError(f"{name}: expected an item of its own for each body, got overlapping ones (broadcast?)")
    finite = np.isfinite(as_rows(array)).all(axis=1)
    if living is not None:
        finite |= ~living
    if not finite.all():
        body = int(np.argmin(finite))
        raise ValueError(f"{name}: expected finite numbers, got {array[body]} for body {body}")
    return array


def as_rows(array: np.ndarray) -> np.ndarray:
    """Return a view of shape (n, k) of an array of shape (n,) or (n, k)."""
    return array[:, None] if array.ndim == 1 else array


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def overlaps_itself(array: np.ndarray) -> bool:
    """Return whether items of an array may share memory: True unless each stride spans all axes of smaller ones."""
    span = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and stride < span:
            return array.size > 0
        span += stride * (size - 1)
    return False


_LEAST_MASS = float(np.finfo(np.float64).tiny)
"""The least mass in kg: the reciprocal of a subnormal number can overflow."""


def masses(mass: Any, n: int, name: str = "mass") -> np.ndarray:
    """Return masses in kg: shape (1,) or (n,), positive, numpy.inf allowed; a read-only copy. Also inertia in kg m2."""
    if type(mass) is float and mass >= _LEAST_MASS:  # fast path for one mass of all bodies
        array = np.array([mass])
        array.flags.writeable = False
        return array
    array = plain(name, mass, "a number or one per body")
    _check_kind(name, mass, array)
    array = per_body(name, in_float64(array), n)
    bad = ~(array >= _LEAST_MASS)
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"{name}: expected positive numbers (numpy.inf for a body that is never accelerated), "
            f"got {array[first]} for body {first}"
        )
    array.flags.writeable = False
    return array
