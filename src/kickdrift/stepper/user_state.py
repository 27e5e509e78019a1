"""The user's own arrays that belong to a world: ammunition, cooldowns, scores."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from ..errors import SnapshotError
from ..rollback.parts import Part

if TYPE_CHECKING:
    from .common import State

_LITTLE = sys.byteorder == "little"
#: Supported kinds and item sizes: their bytes are equal on every platform, unlike those of long double.
_KINDS = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}


def user_arrays(given: Any, taken: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of `state=` by name. taken: the stepper's own arrays, which are always saved."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"state: expected a dict of arrays by name, got {validation.show(given)}")
    arrays: dict[str, np.ndarray] = {}
    for name, array in given.items():
        if not isinstance(name, str):
            raise TypeError(f"state: expected names that are strings, got {validation.show(name)}")
        if not isinstance(array, np.ndarray):
            raise TypeError(f"state[{name!r}]: expected a NumPy array, got {validation.show(array)}")
        _check(f"state[{name!r}]", validation.plain(f"state[{name!r}]", array), {**taken, **arrays})
        arrays[name] = array
    return arrays


def _check(label: str, array: np.ndarray, others: Mapping[str, np.ndarray]) -> None:
    if array.dtype.itemsize not in _KINDS.get(array.dtype.kind, ()) or not array.dtype.isnative:
        raise TypeError(f"{label}: expected bool, int, uint, float or complex in native byte order, got {array.dtype}")
    if not array.flags.writeable:
        raise ValueError(f"{label}: expected a writable array (it is restored in place), got a read-only one")
    span = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and array.size:
            if stride < span:
                raise ValueError(f"{label}: expected memory of its own for each item, got overlapping ones")
            span = stride * (size - 1) + span
    for name, other in others.items():
        if np.shares_memory(array, other):
            raise ValueError(f"{label}: shares memory with {name}, expected arrays of their own")


class UserArrays(Mapping[str, np.ndarray]):
    """The user's arrays by name, as `state` returns them. Arrays can be changed in place, but not replaced."""

    __slots__ = ("_arrays",)

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __setitem__(self, name: str, value: np.ndarray) -> None:
        validation.in_place(f"state[{name!r}]", value, self._arrays.get(name), TypeError)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return repr(self._arrays)


class UserState(Part):
    """The snapshot section of the user's arrays: their description as JSON, and their contents, sorted by name."""

    name = "state"

    def save(self, stepper: State) -> bytes:
        arrays = list(stepper._user_arrays.values())
        if not _LITTLE:
            arrays = [array.astype(_form(array)) for array in arrays]
        return b"".join([stepper._user_text, *[array.tobytes() for array in arrays]])

    def most(self, stepper: State) -> int:
        return len(stepper._user_text) + sum(array.nbytes for array in stepper._user_arrays.values())

    def parse(self, stepper: State, data: bytes) -> dict[str, Any]:
        expected = stepper._user_text
        if not data.startswith(expected) or len(data) != self.most(stepper):
            raise SnapshotError(f"snapshot: {self.unlike(stepper, data)}")
        place, writes = len(expected), []
        for name, array in stepper._user_arrays.items():
            values = np.frombuffer(data, _form(array), math.prod(array.shape), place).astype(array.dtype)
            if array.dtype == np.bool_ and (np.frombuffer(data, np.uint8, array.size, place) > 1).any():
                raise SnapshotError(f"snapshot: state {name!r} has booleans other than 0 and 1")
            writes.append((array, None, values.reshape(array.shape)))
            place += array.nbytes
        return {"writes": writes}

    def unlike(self, stepper: State, data: bytes) -> str:
        return f"of a stepper with {_shown(data)} in state=, here {_shown(stepper._user_text)}"


def _form(array: np.ndarray) -> np.dtype:
    """Return the dtype in which an array is saved."""
    return array.dtype.newbyteorder("<")


def _shown(data: bytes) -> str:
    """Return a section's description of its arrays, for an error message; the section may be damaged."""
    import json

    try:
        arrays, _ = json.JSONDecoder().raw_decode(data.decode("latin-1"))
        saved = [f"{str(name)[:40]!r} ({_type(form)} of shape {tuple(shape)})" for name, form, shape in arrays]
    except (ValueError, TypeError, RecursionError):
        return "other arrays" if data else "no arrays"
    text = ", ".join(saved) or "no arrays"
    return (text if len(text) <= 200 else text[:197] + "...").encode("ascii", "backslashreplace").decode()


def _type(form: Any) -> str:
    form = str(form)
    known = form[1:2] in _KINDS and form[2:] in [str(size) for size in _KINDS[form[1:2]]] and form[0] in "<|"
    return str(np.dtype(form).newbyteorder("=")) if known else "another type"


def described(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the description of arrays as JSON, padded with spaces to 8 bytes."""
    import json

    text = json.dumps([[name, _form(array).str, array.shape] for name, array in arrays.items()])
    return text.encode().ljust(-(-len(text) // 8) * 8)
