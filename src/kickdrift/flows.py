"""Compiled right-hand sides for ODEStepper: built-in flows, y' = f(y), and native callbacks.

Each flow names its parameters and its source. The equations are implemented twice: in `kickdrift.reference.flows` as
the readable reference, in `kickdrift/kernels/ode/flows.pxd` for speed.

Flows are dimensionless: y and time are in the units in which the equation is published.
"""

from __future__ import annotations

import dataclasses
import math
from decimal import Context, Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from . import validation
from .declaration import Frozen, frozen, once
from .errors import CallbackError
from .forces import native

if TYPE_CHECKING:
    from .forces.formula.machine import Code
    from .forces.formula.program import Builder, Program

__all__ = [
    "Aizawa",
    "Expression",
    "Flow",
    "Halvorsen",
    "Lorenz",
    "LotkaVolterra",
    "Native",
    "Rossler",
    "Thomas",
    "VanDerPol",
]


class Flow(Frozen):
    """Base of all flows; parameters are finite floats, shared by all trajectories."""

    dim: ClassVar[int] = 3
    source: ClassVar[str]
    #: Key in the tables of reference and engine.
    kind: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.__name__

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            label = f"{type(self).__name__}({field.name})"
            object.__setattr__(self, field.name, validation.real(label, getattr(self, field.name)))

    def parameters(self, dtype: np.dtype) -> list[float]:
        """Return the parameters, rounded to the dtype in which the flow is computed."""
        values = [getattr(self, field.name) for field in dataclasses.fields(self)]
        with np.errstate(over="ignore", under="ignore"):
            rounded = [float(dtype.type(value)) for value in values]
        for field, value in zip(dataclasses.fields(self), rounded, strict=True):
            if not math.isfinite(value):
                raise ValueError(
                    f"{type(self).__name__}({field.name}): {getattr(self, field.name)!r} overflows {dtype}"
                )
        return rounded

    def constants(self, dtype: np.dtype) -> list[float]:
        """Return the constants of the kernel: the parameters, and others that the equations need."""
        return self.parameters(dtype)


@frozen()
class Lorenz(Flow):
    """x' = sigma (y - x), y' = x (rho - z) - y, z' = x y - beta z: convection, and the butterfly.

    >>> import kickdrift as kd
    >>> weather = kd.ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.01)
    >>> weather.step(100)
    >>> weather.y.round(3).tolist()
    [[-9.379, -8.357, 29.362]]
    """

    sigma: float = 10.0
    rho: float = 28.0
    beta: float = 8 / 3
    source = "Lorenz 1963, J. Atmos. Sci. 20, 130, eqs. 25-27"


@frozen()
class Rossler(Flow):
    """x' = -y - z, y' = x + a y, z' = b + z (x - c): a spiral that folds back into itself."""

    a: float = 0.2
    b: float = 0.2
    c: float = 5.7
    source = "Rössler 1976, Phys. Lett. A 57, 397"


@frozen()
class Thomas(Flow):
    """x' = sin y - b x, y' = sin z - b y, z' = sin x - b z: a walk through a labyrinth of feedbacks.

    libm's sine differs between platforms. This flow uses its own sine, made of + - * only and defined in
    `kickdrift.reference.flows`. Its error is below 2 ulp for |x| <= 30 (the attractor stays within 5), and below
    2 ulp of 1 up to 10^8 in float64 and 10^3 in float32. Larger arguments give meaningless results.
    """

    b: float = 0.208186
    source = "Thomas 1999, Int. J. Bifurcation Chaos 9, 1889"

    def constants(self, dtype: np.dtype) -> list[float]:
        return [*self.parameters(dtype), *sine_constants(dtype)]


@frozen()
class Halvorsen(Flow):
    """x' = -a x - 4 y - 4 z - y², and its cyclic permutations: cyclically symmetric chaos."""

    a: float = 1.89
    source = "A. D. Halvorsen, in Sprott 2003, Chaos and Time-Series Analysis, table A.11"


@frozen()
class Aizawa(Flow):
    """A sphere with a tube through its poles:

    x' = (z - b) x - d y, y' = d x + (z - b) y,
    z' = c + a z - z³/3 - (x² + y²) (1 + e z) + f z x³.
    """

    a: float = 0.95
    b: float = 0.7
    c: float = 0.6
    d: float = 3.5
    e: float = 0.25
    f: float = 0.1
    source = "Langford 1984, in Numerical Methods for Bifurcation Problems, 285; known as Aizawa's"


@frozen()
class LotkaVolterra(Flow):
    """x' = x (alpha - beta y), y' = y (delta x - gamma): prey x and predators y, two-dimensional."""

    alpha: float = 2 / 3
    beta: float = 4 / 3
    gamma: float = 1.0
    delta: float = 1.0
    dim = 2
    source = "Lotka 1925, Elements of Physical Biology; Volterra 1926, Nature 118, 558"


@frozen()
class VanDerPol(Flow):
    """x' = y, y' = mu (1 - x²) y - x: an oscillator with a limit cycle, two-dimensional; stiff for large mu."""

    mu: float = 1.0
    dim = 2
    source = "van der Pol 1926, Phil. Mag. 2, 978"


_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


@cache
def sine_constants(dtype: np.dtype) -> tuple[float, ...]:
    """Return 1/pi, the rounding constant, pi in three parts, pi/2, 1/2, 1, 2, and the Taylor coefficients.

    Adding the rounding constant rounds to an integer. Argument reduction is that of Cody and Waite: the first two
    parts of pi are short enough that their products with a whole number of half-turns are exact.
    """
    bits, few = (24, 14) if dtype == np.float32 else (53, 25)
    with localcontext(Context(prec=60)):
        pi_1 = int(_PI * 2 ** (few - 2)) / Decimal(2 ** (few - 2))
        pi_2 = int((_PI - pi_1) * 2 ** (2 * few - 2)) / Decimal(2 ** (2 * few - 2))
        exact = [1 / _PI, Decimal(3 * 2 ** (bits - 2)), pi_1, pi_2, _PI - pi_1 - pi_2, _PI / 2]
        exact += [Decimal("0.5"), Decimal(1), Decimal(2)]
        exact += [(-1) ** k / Decimal(math.factorial(2 * k + 1)) for k in range(1, 11)]
        # Double rounding through float64 to float32 changes no bit that matters here.
        return tuple(float(dtype.type(float(value))) for value in exact)


class Native:
    """The right-hand side of y' = f(t, y) as a native callback, for all trajectories at once.

    function: a numba `cfunc`, a function pointer of ctypes or cffi, a `scipy.LowLevelCallable`, or a PyCapsule that
    `kickdrift.native` makes from Cython. Its type is declared in kickdrift/native.h (see `get_include`):

        int f(double t, int64_t first, int64_t count, int64_t dim, const T *y, T *out, void *user_data)

    Component j of trajectory first + i is at [i * dim + j] of y and of out, which starts at zero. A return
    value other than 0 raises CallbackError, at the last completed tick.
    user_data: a contiguous array, an object or pointer of ctypes or cffi, a PyCapsule or an address; kept alive.
    dtype: float32 or float64, of its arrays; required if the type of the function does not imply it.

    It can be called from Python like any right-hand side: native(t, y, out). Copies of a stepper share function and
    user_data; it cannot be pickled. Raises TypeError or ValueError for any other function or other arrays. Wrong native
    code can crash Python.

    >>> import kickdrift as kd
    >>> @kd.flows.Native.prototype("float64")  # compiled code in earnest: this calls Python
    ... def decay(t, first, count, dim, y, out, user_data):
    ...     for i in range(count * dim):
    ...         out[i] = -y[i]
    ...     return 0
    >>> atoms = kd.ODEStepper([[1.0]], kd.flows.Native(decay), dt=0.5, integrator="explicit_euler")
    >>> atoms.step(2)
    >>> atoms.y.tolist()
    [[0.25]]
    """

    def __init__(self, function: Any, user_data: Any = None, dtype: Any = None) -> None:
        self.function = function
        self.pointer = native.function("Native", native.FLOW, function, dtype)
        self.user_data = self.pointer.user_data if user_data is None else user_data
        self.data = native.data("Native(user_data)", self.user_data)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the function's arrays: float32 or float64."""
        assert self.pointer.dtype is not None
        return self.pointer.dtype

    @staticmethod
    def prototype(dtype: Any) -> Any:
        """Return the ctypes function type: a decorator, or the type to cast a pointer to."""
        return native.prototype(native.FLOW, native.dtype_of("Native.prototype(dtype)", dtype))

    def __call__(self, t: float, y: np.ndarray, out: np.ndarray) -> None:
        """Write the derivatives at y, of shape (n, dim), to out; both contiguous."""
        for name, array in (("y", y), ("out", out)):
            if not isinstance(array, np.ndarray) or array.dtype != self.dtype:
                raise TypeError(f"{name}: expected an array of {self.dtype}, got {validation.show(array)}")
            if array.ndim != 2 or not array.flags.c_contiguous or not array.flags.aligned:
                raise ValueError(f"{name}: expected a contiguous, aligned array of shape (n, dim), got {array.shape}")
        if out.shape != y.shape or not out.flags.writeable:
            raise ValueError(f"out: expected a writable array of the shape of y, {y.shape}, got {out.shape}")
        code = native.call(native.FLOW, self.pointer, self.data, t, [0, *y.shape], [y, out])
        if code != 0:
            raise self.failure(code)

    def __copy__(self) -> Native:
        return self

    def __deepcopy__(self, memo: object) -> Native:
        return self  # it never changes

    def __reduce__(self) -> NoReturn:
        native.no_pickle("flows.Native")

    def failure(self, code: int) -> CallbackError:
        """Return the error for a return value other than 0."""
        return CallbackError(
            f"flows.Native {getattr(self.function, '__qualname__', type(self.function).__name__)}", code
        )


class Expression:
    """The right-hand side of y' = f(t, y) as expressions, bitwise reproducible on every platform.

    Keywords with strings are the components. Their names are the variables of the expressions, and their order is the
    order of the components in the state; give as many as there are dimensions. Keywords with numbers, or one number
    per trajectory, shape (n,), are parameters. Expressions are those of `kickdrift.Expression`, with these names and t,
    but without definitions: equal subexpressions are computed once. `implicit_euler` uses symbolic derivatives.

    It can be called from Python like any right-hand side: flow(t, y, out). Raises ValueError for a mistake in an
    expression, and its message shows the column; TypeError for parameters that are not real numbers.

    >>> import kickdrift as kd
    >>> rhs = kd.flows.Expression(x="s*(y - x)", y="x*(r - z) - y", z="x*y - b*z", s=10.0, r=28.0, b=8/3)
    >>> weather = kd.ODEStepper([[1.0, 1.0, 1.0]], rhs, dt=0.01)
    >>> weather.step(100)
    >>> weather.y.round(3).tolist()
    [[-9.379, -8.357, 29.362]]
    """

    def __init__(self, **formulas: Any) -> None:
        from .forces.formulas import parted

        self.texts, self.parameters = parted("Expression", formulas, ("t",))
        if not self.texts:
            raise ValueError("Expression: expected an expression for each component, got none")
        if "t" in self.texts:
            raise ValueError("Expression(t): expected another name for a component, this one is a variable")
        self.operations  # noqa: B018 - parse now: report mistakes in the constructor

    @property
    def dim(self) -> int:
        """Number of components of a state."""
        return len(self.texts)

    @once
    def _nodes(self) -> tuple[Builder, dict[str, int]]:
        from .forces.formula.parser import Parser

        parser = Parser("Expression", ["t", *self.texts, *self.parameters], {})
        return parser.builder, {name: parser.read(name, text) for name, text in self.texts.items()}

    @once
    def operations(self) -> Program:
        """The program for the time derivatives."""
        from .forces.formula.program import finished

        return finished(*self._nodes)

    @once
    def derivatives(self) -> Program:
        """The program for the Jacobian matrix; "x y" is dx'/dy, and entries that are always 0 are omitted."""
        from .forces.formula.derivatives import tangent
        from .forces.formula.program import MOST, TooLongError, finished

        builder, components = self._nodes
        builder.most = 8 * MOST
        found = {}
        try:
            for name, node in components.items():
                for other in components:
                    change = tangent(builder, node, {builder.node("name", other): builder.const(1)})
                    if change is not None:
                        found[f"{name} {other}"] = change
            return finished(builder, found)
        except TooLongError:
            raise ValueError("Expression: too long for its derivatives") from None

    def program(self) -> str:
        """Return the list of operations that is run for each trajectory, as a string.

        >>> import kickdrift as kd
        >>> print(kd.flows.Expression(x="v", v="-k*x", k=4.0).program())
        _0 = -k
        _1 = _0 * x
        x = v
        v = _1
        """
        from .forces.formulas import Listing

        return Listing(self.operations)

    @property
    def digest(self) -> str:
        """A digest of the list of operations: 32 hexadecimal digits, equal on every platform."""
        return self.operations.digest

    def __repr__(self) -> str:
        given = [f"{name}={text!r}" for name, text in self.texts.items()]
        from .forces.formulas import shown

        return f"Expression({', '.join([*given, *shown(self.parameters)])})"

    @property
    def identity(self) -> str:
        """Digest of the contents: the list of operations and the parameters."""
        import hashlib  # slow to import

        digest = hashlib.blake2b(self.digest.encode(), digest_size=16)
        for name, value in self.parameters.items():
            digest.update(f"{name} {value.shape}".encode() + value.astype("<f8").tobytes())
        return f"Expression {digest.hexdigest()}"

    def fields(self, n: int, dtype: np.dtype) -> dict[str, np.ndarray]:
        """Return the parameters for n trajectories, each of shape (1,) or (n,)."""
        fields = {}
        for name, array in self.parameters.items():
            label = f"Expression({name})"
            with np.errstate(over="ignore", under="ignore"):
                fields[name] = validation.per_body(label, array, n, "trajectory").astype(dtype)
            if not np.isfinite(fields[name]).all():
                raise ValueError(f"{label}: overflows {dtype}")
        return fields

    def code(
        self, n: int, dtype: np.dtype, rows: bool = False, derivatives: bool = False
    ) -> tuple[Code, list[Any], list[np.ndarray]]:  # the type `Coded` of forces/formulas.py, written out
        """Return the kernel code of the equations or of their Jacobian.

        rows: for an array of structures instead of a structure of arrays.
        """
        from .engine.formulas import LIMITS
        from .forces.formulas import coded

        fields = self.fields(n, dtype)
        each = [name for name, field in fields.items() if len(field) != 1]
        places: dict[str, tuple[str, Any]] = {"t": ("time", 0)}
        places |= {name: ("load" if rows else "position", number) for number, name in enumerate(self.texts)}
        places |= {name: ("each", each.index(name)) if name in each else ("known", name) for name in fields}
        pairs = [f"{name} {other}" for name in self.texts for other in self.texts]
        results = {name: number for number, name in enumerate(pairs if derivatives else self.texts)}
        program = self.derivatives if derivatives else self.operations
        return coded("Expression", program, places, fields, LIMITS, results, rows)

    def __call__(self, t: float, y: np.ndarray, out: np.ndarray) -> None:
        """Write the derivatives at y, of shape (n, dim), to out."""
        from .forces.formulas import evaluate

        if y.shape[1:] != (self.dim,) or out.shape != y.shape:
            raise ValueError(f"y: expected shape (n, {self.dim}), and out the same, got {y.shape} and {out.shape}")
        values: dict[str, Any] = {"t": t, **self.fields(len(y), y.dtype), **dict(zip(self.texts, y.T, strict=True))}
        for column, (_, result) in enumerate(evaluate(self.operations, values, y.dtype.type).items()):
            out[:, column] = result


#: Relative increment of difference quotients, and the lower bound of the size that scales it, relative to the
#: largest component. Both are powers of two, near the square root and the fourth root of the precision.
QUOTIENT = {"float32": (2.0**-12, 2.0**-6), "float64": (2.0**-26, 2.0**-13)}


def refuse(name: str, result: Any, out: np.ndarray) -> None:
    """Raise TypeError for a function that returned a result instead of writing to `out`."""
    got = f"an array of shape {result.shape}" if isinstance(result, np.ndarray) else validation.show(result)
    raise TypeError(
        f"{name}: expected it to write to out, of shape {out.shape}, and return None, but it returned {got}; "
        f"write `out[:] = ...` in place of `return ...`"
    )
