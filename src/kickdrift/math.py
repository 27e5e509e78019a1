"""Elementary functions of arrays, bitwise reproducible on every platform, instruction set and array length.

The functions of libm, and so of NumPy, differ in the last bit between systems. These use only + - * /, square
roots and bit operations, in a fixed order, which `kickdrift.reference.functions` defines in plain Python.

float64: error below 1 ulp. float32: computed in float64 and rounded; for sin, cos, tan, exp, log, tanh and cbrt
the result is correctly rounded for all 2**32 arguments. sin, cos and tan accept arguments of any size.
Special values (nan, inf, -0, subnormal numbers) give the results of the C functions; no exception is raised.

Each accepts a number (and returns one) or an array of real numbers of any shape; two arguments broadcast.
If all arrays are float32, the result is float32; Python numbers adopt the dtype of the other argument. Otherwise it is
float64.
out: an array of the result's shape and dtype, which is written and returned. Thread-safety: any number of threads.
Raises TypeError for arguments that are not real numbers and for an `out` of another dtype, ValueError for its shape.

>>> import kickdrift as kd
>>> kd.math.sin(1.0), kd.math.pow(2.0, 0.5)
(0.8414709848078965, 1.4142135623730951)
>>> kd.math.cbrt([1, 8, 27]).tolist()
[1.0, 2.0, 3.0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import validation
from .engine.formulas import applied, apply

__all__ = ["atan2", "cbrt", "cos", "exp", "log", "pow", "sin", "sqrt", "tan", "tanh"]

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def sin(x: Any, out: np.ndarray | None = None) -> Any:
    """Return the sine of angles in radians.

    >>> import kickdrift as kd
    >>> kd.math.sin(1e300)
    -0.8178819121159085
    """
    return applied("sin", _general, out, x)


def cos(x: Any, out: np.ndarray | None = None) -> Any:
    """Return the cosine of angles in radians.

    >>> import kickdrift as kd
    >>> kd.math.cos([0.0, 1.0]).tolist()
    [1.0, 0.5403023058681398]
    """
    return applied("cos", _general, out, x)


def tan(x: Any, out: np.ndarray | None = None) -> Any:
    """Return the tangent of angles in radians.

    >>> import kickdrift as kd
    >>> kd.math.tan(1.5707963267948966)
    1.633123935319537e+16
    """
    return applied("tan", _general, out, x)


def exp(x: Any, out: np.ndarray | None = None) -> Any:
    """Return e to the power of x.

    >>> import kickdrift as kd
    >>> kd.math.exp([1.0, -1000.0, 1000.0]).tolist()
    [2.718281828459045, 0.0, inf]
    """
    return applied("exp", _general, out, x)


def log(x: Any, out: np.ndarray | None = None) -> Any:
    """Return the natural logarithm: -inf at 0, nan below.

    >>> import kickdrift as kd
    >>> kd.math.log([1.0, 0.0, -1.0]).tolist()
    [0.0, -inf, nan]
    """
    return applied("log", _general, out, x)


def pow(x: Any, y: Any, out: np.ndarray | None = None) -> Any:
    """Return x to the power of y: nan for finite x < 0, unless y is an integer or infinite; 1 for y = 0 and any x.

    >>> import kickdrift as kd
    >>> kd.math.pow(-2.0, [3.0, -1.0, 0.5, 0.0]).tolist()
    [-8.0, -0.5, nan, 1.0]
    """
    return applied("pow", _general, out, x, y)


def sqrt(x: Any, out: np.ndarray | None = None) -> Any:
    """Return the square root, correctly rounded; nan below 0.

    >>> import kickdrift as kd
    >>> kd.math.sqrt(2.0)
    1.4142135623730951
    """
    return applied("sqrt", _general, out, x)


def atan2(y: Any, x: Any, out: np.ndarray | None = None) -> Any:
    """Return the angle of the points (x, y) from the x axis, in radians, between -pi and pi.

    >>> import kickdrift as kd
    >>> kd.math.atan2([0.0, 1.0, -0.0], [1.0, 0.0, -1.0]).tolist()
    [0.0, 1.5707963267948966, -3.141592653589793]
    """
    return applied("atan2", _general, out, y, x)


def tanh(x: Any, out: np.ndarray | None = None) -> Any:
    """Return the hyperbolic tangent.

    >>> import kickdrift as kd
    >>> kd.math.tanh(0.5)
    0.46211715726000974
    """
    return applied("tanh", _general, out, x)


def cbrt(x: Any, out: np.ndarray | None = None) -> Any:
    """Return the cube root, also of negative numbers.

    >>> import kickdrift as kd
    >>> kd.math.cbrt(-27.0)
    -3.0
    """
    return applied("cbrt", _general, out, x)


def _general(name: str, out: np.ndarray | None, *given: Any) -> Any:
    arrays = [_real(name, value) for value in given]
    strong = [array.dtype for array, value in zip(arrays, given, strict=True) if type(value) not in (int, float)]
    single = bool(strong) and all(dtype == F32 for dtype in strong)
    dtype = F32 if single else F64
    with np.errstate(over="ignore", under="ignore"):
        arrays = [array.astype(dtype, copy=False) for array in arrays]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise ValueError(f"{name}: expected shapes that broadcast, got {shapes}") from None
    if out is not None:
        if not isinstance(out, np.ndarray) or out.dtype != dtype:
            got = out.dtype if isinstance(out, np.ndarray) else validation.show(out)
            raise TypeError(f"{name}(out): expected an array of {dtype}, got {got}")
        if out.shape != shape:
            raise ValueError(f"{name}(out): expected shape {shape}, got {out.shape}")
        if not out.flags.writeable:
            raise ValueError(f"{name}(out): expected an array that may be written to, got a read-only one")
    whole = [np.require(np.broadcast_to(array, shape), requirements=["C", "A"]) for array in arrays]
    direct = out is not None and out.flags.carray and out.ndim > 0
    if direct and any(np.may_share_memory(array, out) and array is not out for array in whole):
        direct = False
    result = out if direct and out is not None else np.empty(shape, dtype)
    apply(name, result, whole[0].reshape(shape), whole[1].reshape(shape) if len(whole) > 1 else None)
    if out is None:
        return result if shape else result[()].item() if dtype == F64 else result[()]
    if not direct:
        out[...] = result
    return out


def _real(name: str, value: Any) -> np.ndarray:
    """Convert to an array of float32 or float64; other real numbers become float64."""
    array = validation.plain(name, value)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected real numbers, got {validation.show(value)}")
    native = array.dtype.newbyteorder("=")
    return array.astype(native, copy=False) if native in (F32, F64) else validation.in_float64(array)
