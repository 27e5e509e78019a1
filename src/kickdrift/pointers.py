"""Functions and data in machine code, as users hold them: what address they stand for.

Taken are numba's `cfunc`, function pointers of ctypes and cffi, `scipy.LowLevelCallable`, and PyCapsules
named as include/kickdrift/force.h says. None of these packages is imported here.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import arguments

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
_CAPSULES: dict[bytes | None, np.dtype] = {b"kickdrift_force_f32": F32, b"kickdrift_force_f64": F64}
_FUNCTION: Any = ctypes.CFUNCTYPE(None).__mro__[1]  # the base of all function pointers
_NUMBERS: dict[Any, np.dtype] = {ctypes.c_float: F32, ctypes.c_double: F64}
_INTEGERS = (ctypes.c_int64, ctypes.c_longlong, ctypes.c_long)
SIGNATURE = "int (double, int64_t, int64_t, int64_t, int64_t, const T *, const T *, T *, void *), T float or double"


def get_include() -> str:
    """The folder to put on a C compiler's include path for kickdrift/force.h, and so for `cimport kickdrift.native`.

    >>> import os, kickdrift as kd
    >>> os.listdir(os.path.join(kd.get_include(), "kickdrift"))
    ['force.h']
    """
    return str(Path(__file__).parent / "include")


class Pointer(NamedTuple):
    """A C function: its address, the dtype that it is for, if it tells, and its user data, if it brings some."""

    address: int
    dtype: np.dtype | None
    user_data: Any


@cache
def prototype(dtype: np.dtype) -> Any:
    """The type of a force as ctypes has it."""
    number = ctypes.POINTER(ctypes.c_float if dtype == F32 else ctypes.c_double)
    integers = [ctypes.c_int64] * 4
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, *integers, number, number, number, ctypes.c_void_p)


def function(name: str, given: Any) -> Pointer:
    """The function that is meant; TypeError where its type is not that of a force."""
    if type(given).__name__ == "LowLevelCallable":  # of scipy
        pointer = function(name, given.function)
        return pointer._replace(user_data=given.user_data) if given.user_data is not None else pointer
    if type(given).__name__ == "CFunc" and hasattr(given, "ctypes"):  # of numba
        given = given.ctypes
    if isinstance(given, _FUNCTION):
        return _checked(name, given, ctypes.cast(given, ctypes.c_void_p).value, _ctypes_dtype(name, given))
    if type(given).__name__ == "PyCapsule":
        return _capsule(name, given)
    if type(given).__module__ == "_cffi_backend":
        return _cffi(name, given)
    raise TypeError(
        f"{name}: expected a numba cfunc, a function pointer of ctypes or cffi, a scipy.LowLevelCallable or a "
        f"PyCapsule, got {arguments.show(given)}"
    )


def data(name: str, given: Any) -> int:
    """The address that is meant; what is there must outlive the force, unless it is `given` itself."""
    if given is None:
        return 0
    if type(given).__name__ == "PyCapsule":
        return _pointer_of(given, _name_of(given)) or 0
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
        f"got {arguments.show(given)}"
    )


def _checked(name: str, given: Any, address: int | None, dtype: np.dtype | None, user_data: Any = None) -> Pointer:
    if not address:
        raise ValueError(f"{name}: expected a function, got a null pointer ({type(given).__name__})")
    return Pointer(address, dtype, user_data)


def _mismatch(name: str, given: Any) -> TypeError:
    return TypeError(f"{name}: expected a function of type {SIGNATURE}, got {given}")


def _ctypes_dtype(name: str, given: Any) -> np.dtype | None:
    """The dtype that a function pointer of ctypes declares; None where it declares nothing."""
    types = given.argtypes
    if not types:
        return None
    pointers = [getattr(kind, "_type_", None) for kind in types[5:8]]
    number = pointers[0] if pointers else None
    good = (
        len(types) == 9
        and types[0] is ctypes.c_double
        and all(kind in _INTEGERS and ctypes.sizeof(kind) == 8 for kind in types[1:5])
        and all(kind is number for kind in pointers)
        and number in _NUMBERS
        and given.restype is ctypes.c_int
    )
    if not good:
        shown = ", ".join(kind.__name__ for kind in types)
        raise _mismatch(name, f"{getattr(given.restype, '__name__', 'void')} ({shown})")
    return _NUMBERS[number]


def _name_of(capsule: Any) -> bytes | None:
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)


def _pointer_of(capsule: Any, name: bytes | None) -> int | None:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


def _capsule(name: str, given: Any) -> Pointer:
    kind = _name_of(given)
    if kind not in _CAPSULES:
        wanted = " or ".join(known.decode() for known in _CAPSULES if known)
        raise TypeError(f"{name}: expected a PyCapsule named {wanted}, got {kind!r}")
    get = ctypes.pythonapi.PyCapsule_GetContext
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object]
    return _checked(name, given, _pointer_of(given, kind), _CAPSULES[kind], get(given))


def _cffi(name: str, given: Any) -> Pointer:
    backend = sys.modules["_cffi_backend"]
    kind = backend.typeof(given)
    if kind.kind != "function":
        raise _mismatch(name, kind.cname)
    types = [argument.cname for argument in kind.args]
    number = types[7].removesuffix(" *") if len(types) == 9 else ""
    good = (
        number in ("float", "double")
        and types[0] == "double"
        and all(argument.kind == "primitive" and backend.FFI().sizeof(argument) == 8 for argument in kind.args[1:5])
        and types[5] == types[6] == types[7]
        and kind.args[8].kind == "pointer"
        and kind.result.cname == "int"
    )
    if not good:
        raise _mismatch(name, kind.cname)
    return _checked(name, given, data(name, given), F32 if number == "float" else F64)
