"""Forces by callbacks of the user, in Python or native code.

They are evaluated for many bodies at once, after the forces of `fields.py`, into an array of zeros. The result is
divided by the masses, except for accelerations, and added.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from .. import validation
from ..declaration import Declaration, declaration
from ..errors import CallbackError
from .base import Interaction

if TYPE_CHECKING:
    from ..stepper.model import Plan
    from . import native


@declaration(init=False)
class Callback(Interaction):
    """Base of forces by callbacks."""

    function: Any
    velocity_dependent: bool  # type: ignore[misc]
    potential: Callable[..., Any] | None
    divided_by_mass: bool
    jacobian: Callable[..., object] | None = None

    def _declare(
        self, function: Any, velocity_dependent: bool, potential: Callable[..., Any] | None, divided_by_mass: bool
    ) -> None:
        flags_given = {"velocity_dependent": velocity_dependent, "divided_by_mass": divided_by_mass}
        flags = {name: validation.flag(self._argument(name), value) for name, value in flags_given.items()}
        if potential is not None and not callable(potential):
            name = self._argument("potential")
            raise TypeError(f"{name}: expected a function or None, got {validation.show(potential)}")
        for name, value in {"function": function, "potential": potential, **flags}.items():
            object.__setattr__(self, name, value)

    def _argument(self, name: str) -> str:
        return f"{type(self).__name__}({name})"

    @property
    def coefficients(self) -> tuple[str, ...]:
        return ()

    def equals(self, other: Declaration) -> bool:
        """Return whether the functions are interchangeable, regardless of their names."""
        names = ("function", "potential", "jacobian", "user_data", "threadsafe")
        pairs = [[getattr(each, name, None) for each in (self, other)] for name in names]
        return super().equals(other) and all(_do_the_same(*pair) for pair in pairs)

    def declared_values(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "velocity_dependent": self.velocity_dependent,
            "divided_by_mass": self.divided_by_mass,
        }

    def compile(self, plan: Plan) -> None:
        plan.add_interaction(self.kind, self, self.divided_by_mass)

    def evaluate(self, t: float, position: np.ndarray, velocity: np.ndarray, out: np.ndarray) -> None:
        """Call the function for all bodies, with read-only arrays and zeros of shape (n, dim)."""
        raise NotImplementedError

    def probe(self, position: np.ndarray, velocity: np.ndarray) -> None:
        if self.velocity_dependent or not len(position):
            return
        x, v = position.copy(), velocity.copy()
        outs = [np.zeros_like(x), np.zeros_like(x)]
        for out, faster in zip(outs, (v, v + np.arange(1, v.size + 1).reshape(v.shape)), strict=True):
            for array in (x, faster):
                array.flags.writeable = False
            self.evaluate(0.0, x, faster, out)
        if outs[0].tobytes() != outs[1].tobytes():
            raise ValueError(
                f"{self._argument('velocity_dependent')}: expected True, since the function gives other values "
                f"for other velocities; integrators then evaluate it where velocities count"
            )

    @property
    def label(self) -> str:
        function = self.function
        name = getattr(function, "__qualname__", type(function).__name__)
        label = f"{type(self).__name__} {getattr(function, '__module__', '')}.{name}"
        return label.encode("utf-8", "backslashreplace").decode()  # names may contain surrogates

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        if self.potential is None:
            return super().potential_energy(plan, position)
        given = self.potential(position)
        name = self._argument("potential")
        if given is None:
            raise TypeError(f"{name}: expected it to return the energy of each body, got None")
        energy = validation.plain(name, given).astype(np.float64)
        if energy.shape not in ((), (plan.n,)):
            raise ValueError(f"{name}: expected it to return shape ({plan.n},), got {energy.shape}")
        return plan.mobility * energy if self.divided_by_mass else plan.finite_mass * energy


#: Types whose equal values are interchangeable.
_PLAIN = (bool, int, float, str, MethodType)


def _do_the_same(one: Any, other: Any) -> bool:
    """Return whether two objects are interchangeable: identical, equal plain values, or closures of the same code."""
    if one is other or type(one) is not type(other):
        return one is other
    if isinstance(one, _PLAIN):
        return bool(one == other)
    if not isinstance(one, FunctionType) or one.__code__ != other.__code__ or one.__globals__ is not other.__globals__:
        return False
    try:
        held = [
            [*(f.__defaults__ or ()), f.__kwdefaults__, *(cell.cell_contents for cell in f.__closure__ or ())]
            for f in (one, other)
        ]
    except ValueError:  # an unbound closure cell
        return False
    return len(held[0]) == len(held[1]) and all(
        a is b or (type(a) is type(b) and isinstance(a, _PLAIN) and bool(a == b)) for a, b in zip(*held, strict=True)
    )


class PythonFunction(Callback):
    """Base of forces that are Python functions, called once per evaluation for all bodies."""

    alone = True

    kind = "python"

    def __init__(
        self,
        function: Callable[..., object],
        velocity_dependent: bool = True,
        potential: Callable[..., Any] | None = None,
        jacobian: Callable[..., object] | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"{self._argument('function')}: expected a function, got {validation.show(function)}")
        if jacobian is not None and not callable(jacobian):
            name = self._argument("jacobian")
            raise TypeError(f"{name}: expected a function or None, got {validation.show(jacobian)}")
        object.__setattr__(self, "jacobian", jacobian)
        self._declare(function, velocity_dependent, potential, isinstance(self, Force))

    def evaluate(self, t: float, position: np.ndarray, velocity: np.ndarray, out: np.ndarray) -> None:
        self.check_result(self.function(t, position, velocity, out))

    def evaluate_jacobian(
        self, t: float, x: np.ndarray, v: np.ndarray, dx: np.ndarray, dv: np.ndarray, out: np.ndarray
    ) -> None:
        """Call `jacobian` for the first-order change of forces, with read-only arrays and zeros of shape (n, dim)."""
        assert self.jacobian is not None
        self.check_result(self.jacobian(t, x, v, dx, dv, out), "jacobian")

    def check_result(self, result: object, name: str = "function") -> None:
        """Raise TypeError for a function that returns a result instead of writing to `out`."""
        if result is not None:
            raise TypeError(
                f"{self._argument(name)}: expected it to write into `out`, as in out[:] = ..., and to return "
                f"None, got {validation.show(result)}"
            )


class Force(PythonFunction):
    """A force in N from a Python function, called once per evaluation for all bodies.

    function(t, position, velocity, out): t is in s. position, in m, and velocity, in m/s, are read-only arrays of
    shape (n, dim). out has the same shape and dtype, and starts at zero. The function writes forces to it. It
    must not keep the arrays, because they are reused.
    velocity_dependent: False promises that the function ignores velocities. Some integrators then call it less often.
    The promise is tested when a stepper is made.
    potential(position): the energy of each body in J, shape (n,), for `energy()`.
    jacobian(t, position, velocity, dx, dv, out): for `implicit_euler`. It writes to out the first-order change
    of the forces when positions change by dx and velocities by dv. Without it, difference quotients are used.

    An exception in the function passes through `step`. The stepper is then at the last completed tick. Raises
    TypeError if it is not a function, or if the function returns something, and ValueError if it breaks the promise
    about velocities. Results are bitwise reproducible only if the function uses nothing but + - * / and
    numpy.sqrt; numpy.exp, for example, differs between machines.

    >>> import kickdrift as kd
    >>> def wind(t, position, velocity, out):
    ...     out[:, 0] = 2.0 * t
    >>> leaf = kd.Stepper([[0.0, 0.0]], dt=0.25, forces=[kd.Force(wind, velocity_dependent=False)])
    >>> leaf.step(4)
    >>> leaf.velocity.tolist()
    [[1.0, 0.0]]
    """


class Acceleration(PythonFunction):
    """An acceleration in m/s² from a Python function: like `Force`, but not divided by mass.

    function, velocity_dependent, jacobian: as for `Force`, with accelerations. potential(position): energy per mass, in
    J/kg.

    Bodies of infinite mass are not accelerated. Raises the errors of `Force`.

    >>> import kickdrift as kd
    >>> def down(t, position, velocity, out):
    ...     out[:, 1] = -10
    >>> stone = kd.Stepper([[0.0, 5.0]], dt=0.5, forces=[Acceleration(down, velocity_dependent=False)])
    >>> stone.step(2)
    >>> stone.position.tolist()
    [[0.0, 0.0]]
    """


class NativeForce(Callback):
    """A force in N from a native callback, called without the GIL for a tile of bodies at a time.

    function: a numba `cfunc`, a function pointer of ctypes or cffi, a `scipy.LowLevelCallable`, or a PyCapsule that
    `kickdrift.native` makes from Cython. Its type is declared in kickdrift/native.h (see `get_include`):

        int f(double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
              const T *position, const T *velocity, T *out, void *user_data)

    Component j of body first + i is at [j * stride + i] of position (m), velocity (m/s) and out, which starts at
    zero. The force on a body may depend only on that body, because tiles are of any size. If the function returns
    anything other than 0, the step raises CallbackError, at the last completed tick. If a Python function behind
    ctypes raises an exception, ctypes prints and ignores it: catch it, and return a code.
    user_data: a contiguous array, an object or pointer of ctypes or cffi, a PyCapsule or an address; kept alive.
    dtype: float32 or float64, of the arrays of the function. Required only if the type of the function does
    not imply it.
    threadsafe: whether several threads may call the function at once. If not, the stepper uses one thread.
    velocity_dependent, potential: as for `Force`. divided_by_mass: if False, the function writes
    accelerations in m/s².

    After a failure the steps before it are repeated, and the function is called for them again. Copies of a stepper
    share function and user_data; it cannot be pickled, since addresses are of no use elsewhere. Raises TypeError or
    ValueError for an unsuitable function or user_data. Wrong native code can crash Python.

    >>> import ctypes, kickdrift as kd
    >>> @kd.NativeForce.prototype("float64")  # compiled code in earnest: this calls Python
    ... def push(t, first, count, dim, stride, position, velocity, out, user_data):
    ...     for i in range(count):
    ...         out[i] = 2.0
    ...     return 0
    >>> cart = kd.Stepper([[0.0]], mass=4, dt=0.5, forces=[kd.NativeForce(push)])
    >>> cart.step(2)
    >>> cart.velocity.tolist()
    [[0.5]]
    """

    kind = "native"
    user_data: Any
    dtype: np.dtype
    threadsafe: bool
    pointer: native.Pointer
    data: int

    def __init__(
        self,
        function: Any,
        user_data: Any = None,
        dtype: Any = None,
        threadsafe: bool = False,
        velocity_dependent: bool = True,
        potential: Callable[..., Any] | None = None,
        divided_by_mass: bool = True,
    ) -> None:
        self._declare(function, velocity_dependent, potential, divided_by_mass)
        threadsafe = validation.flag(self._argument("threadsafe"), threadsafe)
        from . import native  # imported late: it imports ctypes, which is slow

        pointer = native.function(type(self).__name__, native.FORCE, function, dtype)
        given = pointer.user_data if user_data is None else user_data
        for name, value in (
            ("user_data", given),
            ("threadsafe", threadsafe),
            ("dtype", pointer.dtype),
            ("pointer", pointer),
            ("data", native.data(self._argument("user_data"), given)),
        ):
            object.__setattr__(self, name, value)

    @staticmethod
    def prototype(dtype: Any) -> Any:
        """Return the ctypes function type: a decorator, or the type to cast a pointer to."""
        from . import native

        return native.prototype(native.FORCE, native.dtype_of("NativeForce.prototype(dtype)", dtype))

    def __copy__(self) -> Self:
        return self._with()

    def __deepcopy__(self, memo: object) -> Self:
        return self._with()  # another handle to the same code and user_data

    def __reduce__(self) -> NoReturn:
        from . import native

        native.no_pickle(type(self).__name__)

    def compile(self, plan: Plan) -> None:
        if plan.dtype != self.dtype:
            raise TypeError(f"{self._argument('dtype')}: expected {plan.dtype}, as the state is, got {self.dtype}")
        super().compile(plan)

    def evaluate(self, t: float, position: np.ndarray, velocity: np.ndarray, out: np.ndarray) -> None:
        from . import native

        n, dim = position.shape
        planes = [np.asfortranarray(array) for array in (position, velocity, out)]
        code = native.call(native.FORCE, self.pointer, self.data, t, [0, n, dim, n], planes)
        if code != 0:
            raise CallbackError(self.label, code)
        out[...] = planes[2]
