"""Addresses of native callbacks and of their user data.

Accepted are numba's `cfunc`, function pointers of ctypes and cffi, `scipy.LowLevelCallable`, and PyCapsules with the
names of include/kickdrift/native.h. None of these packages is imported here.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .. import validation

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
_FUNCTION: Any = ctypes.CFUNCTYPE(None).__mro__[1]  # the base of all function pointers
_NUMBERS: dict[Any, np.dtype] = {ctypes.c_float: F32, ctypes.c_double: F64}
_LONGS = (ctypes.c_int64, ctypes.c_longlong, ctypes.c_long)


def get_include() -> str:
    """Return the include path for C compilers, of kickdrift/native.h and `cimport kickdrift.native`.

    >>> import os, kickdrift as kd
    >>> os.listdir(os.path.join(kd.get_include(), "kickdrift"))
    ['native.h']
    """
    return str(Path(__file__).parent.parent / "include")


class Kind(NamedTuple):
    """A C function type: int (double, int64_t ..., T * ..., void *)."""

    name: str
    integers: int
    arrays: int

    def __str__(self) -> str:
        middle = ["int64_t"] * self.integers + ["const T *"] * (self.arrays - 1)
        return f"int (double, {', '.join(middle)}, T *, void *), T float or double"

    @property
    def capsules(self) -> dict[str, np.dtype]:
        return {f"kickdrift_{self.name}_f32": F32, f"kickdrift_{self.name}_f64": F64}

    def of(self, types: list[Any], real: Any, integer: Any, array: Any, pointer: Any) -> bool:
        """Return whether argument types match. real, integer, array, pointer: predicates on one type."""
        last = 1 + self.integers + self.arrays
        return (
            len(types) == last + 1
            and real(types[0])
            and all(integer(argument) for argument in types[1 : 1 + self.integers])
            and all(array(argument) for argument in types[1 + self.integers : last])
            and pointer(types[last])
        )


FORCE = Kind("force", 4, 3)
FLOW = Kind("flow", 3, 2)


class Pointer(NamedTuple):
    """A C function: its address, its dtype, if declared, and its user data, if any."""

    address: int
    dtype: np.dtype | None
    user_data: Any = None


@cache
def prototype(kind: Kind, dtype: np.dtype) -> Any:
    """Return the ctypes type of a function."""
    number = ctypes.POINTER(ctypes.c_float if dtype == F32 else ctypes.c_double)
    middle = [ctypes.c_int64] * kind.integers + [number] * kind.arrays
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *middle, ctypes.c_void_p)


def call(kind: Kind, pointer: Pointer, data: int, t: float, integers: list[int], arrays: list[np.ndarray]) -> int:
    """Call a function on contiguous arrays of its dtype."""
    made = prototype(kind, arrays[0].dtype)
    places = [array.ctypes.data_as(made._argtypes_[1 + kind.integers]) for array in arrays]
    return made(pointer.address)(t, *integers, *places, data)


def function(name: str, kind: Kind, given: Any, dtype: Any = None) -> Pointer:
    """Return the pointer of a function; raise TypeError for another function type or dtype."""
    pointer = _function(f"{name}(function)", kind, given)
    if not pointer.address:
        raise ValueError(f"{name}(function): expected a function, got a null pointer ({type(given).__name__})")
    label = f"{name}(dtype): expected"
    if dtype is None:
        if pointer.dtype is None:
            raise TypeError(f"{label} float32 or float64, because the function does not imply it")
        return pointer
    wanted = dtype_of(f"{name}(dtype)", dtype)
    if pointer.dtype is not None and pointer.dtype != wanted:
        raise TypeError(f"{label} {pointer.dtype}, which the function is for, got {wanted}")
    return pointer._replace(dtype=wanted)


def dtype_of(name: str, given: Any) -> np.dtype:
    """Return float32 or float64; raise TypeError for anything else."""
    with suppress(TypeError):
        if given is not None and np.dtype(given) in (F32, F64):
            return np.dtype(given)
    raise TypeError(f"{name}: expected float32 or float64, got {validation.show(given)}")


def no_pickle(name: str) -> NoReturn:
    """Refuse to pickle, with TypeError: an address is invalid in another process, and calling it would crash."""
    raise TypeError(
        f"{name}: expected to stay in this process, since its code and user_data are addresses; where you would "
        f"unpickle it, make an equal stepper and restore a snapshot"
    )


def _function(name: str, kind: Kind, given: Any) -> Pointer:
    if type(given).__name__ == "LowLevelCallable":  # a callback of SciPy
        pointer = _function(name, kind, given.function)
        return pointer if given.user_data is None else pointer._replace(user_data=given.user_data)
    if type(given).__name__ == "CFunc" and hasattr(given, "ctypes"):  # a callback of numba
        given = given.ctypes
    if isinstance(given, _FUNCTION):
        address: Any = given
        return Pointer(ctypes.cast(address, ctypes.c_void_p).value or 0, _ctypes_dtype(name, kind, given))
    if type(given).__name__ == "PyCapsule":
        return _capsule(name, kind, given)
    if type(given).__module__ == "_cffi_backend":
        return _cffi(name, kind, given)
    raise TypeError(
        f"{name}: expected a numba cfunc, a function pointer of ctypes or cffi, a scipy.LowLevelCallable or a "
        f"PyCapsule, got {validation.show(given)}"
    )


def data(name: str, given: Any) -> int:
    """Return the address of user data, whose memory must outlive the function unless `given` itself owns it."""
    if given is None:
        return 0
    if type(given).__name__ == "PyCapsule":
        return _of_capsule("Pointer", given, _of_capsule("Name", given)) or 0
    if type(given).__module__ == "_cffi_backend":
        return int(sys.modules["_cffi_backend"].FFI().cast("intptr_t", given))
    if isinstance(given, (ctypes._Pointer, ctypes.c_void_p, ctypes.c_char_p)):
        return ctypes.cast(given, ctypes.c_void_p).value or 0
    if isinstance(given, (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)):
        return ctypes.addressof(given)
    if isinstance(given, np.ndarray):
        if not given.flags.c_contiguous:
            raise ValueError(f"{name}: expected a contiguous array, got strides {given.strides}")
        return int(given.ctypes.data)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise TypeError(
        f"{name}: expected an array, an object or pointer of ctypes or cffi, a PyCapsule, an address or None, "
        f"got {validation.show(given)}"
    )


def _ctypes_dtype(name: str, kind: Kind, given: Any) -> np.dtype | None:
    """Return the dtype that a ctypes function pointer declares, or None."""
    types = given.argtypes
    if not types:
        return None
    number = getattr(types[-2], "_type_", None) if len(types) > 1 else None
    good = number in _NUMBERS and kind.of(
        types,
        real=lambda argument: argument is ctypes.c_double,
        integer=lambda argument: argument in _LONGS and ctypes.sizeof(argument) == 8,
        array=lambda argument: getattr(argument, "_type_", None) is number,
        pointer=lambda argument: argument is ctypes.c_void_p,
    )
    if not good or given.restype is not ctypes.c_int:
        shown = ", ".join(argument.__name__ for argument in types)
        result = getattr(given.restype, "__name__", "void")
        raise TypeError(f"{name}: expected a function of type {kind}, got {result} ({shown})")
    return _NUMBERS[number]


def _cffi(name: str, kind: Kind, given: Any) -> Pointer:
    backend = sys.modules["_cffi_backend"]
    declared = backend.typeof(given)
    good, number = declared.kind == "function", ""
    if good:
        types = list(declared.args)
        number = types[-2].cname.removesuffix(" *") if len(types) > 1 else ""
        good = (
            number in ("float", "double")
            and declared.result.cname == "int"
            and kind.of(
                types,
                real=lambda argument: argument.cname == "double",
                integer=lambda argument: argument.kind == "primitive" and backend.FFI().sizeof(argument) == 8,
                array=lambda argument: argument.cname == f"{number} *",
                pointer=lambda argument: argument.kind == "pointer",
            )
        )
    if not good:
        raise TypeError(f"{name}: expected a function of type {kind}, got {declared.cname}")
    return Pointer(data(name, given), F32 if number == "float" else F64)


def _capsule(name: str, kind: Kind, given: Any) -> Pointer:
    known = {text.encode(): dtype for text, dtype in kind.capsules.items()}
    capsule = _of_capsule("Name", given)
    if capsule not in known:
        raise TypeError(f"{name}: expected a PyCapsule named {' or '.join(kind.capsules)}, got {capsule!r}")
    return Pointer(_of_capsule("Pointer", given, capsule), known[capsule], _of_capsule("Context", given))


def _of_capsule(what: str, capsule: Any, *name: bytes | None) -> Any:
    """Call PyCapsule_GetName, PyCapsule_GetPointer or PyCapsule_GetContext."""
    get = getattr(ctypes.pythonapi, f"PyCapsule_Get{what}")
    get.restype = ctypes.c_char_p if what == "Name" else ctypes.c_void_p
    get.argtypes = [ctypes.py_object, *[ctypes.c_char_p] * len(name)]
    return get(capsule, *name)
