"""The common part of the compiled ODEStepper and the reference: everything except the arithmetic."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import time_steps, validation
from ..flows import Expression, Flow, Native
from ..integrators import EQUATION_INTEGRATORS, EquationName, resolve
from ..integrators.base import Integrator
from ..rollback import snapshots
from ..stepper.common import State
from ..stepper.trajectory import ODETrajectory
from .saved_flow import SavedFlow

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.recording import Recorder

#: rhs(t, y, out) or jacobian(t, y, out), called for all trajectories at once.
Function = Callable[[float, np.ndarray, np.ndarray], Any]


class ODEBase(State):
    """Check the arguments once and describe the stepper.

    A right-hand side is a `Flow` or a function, in Python or native.
    """

    _starts = False  # no scheme of an ODEStepper has a history

    def __init__(
        self,
        y: ArrayLike,
        rhs: Flow | Function,
        *,
        dt: float | Fraction | str | None = None,
        hz: float | Fraction | str | None = None,
        integrator: EquationName | Integrator | type[Integrator] = "rk4",
        threads: int = 1,
        jacobian: Function | None = None,
        state: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        if hasattr(self, "_given"):
            raise RuntimeError("a stepper is made once: __init__ was called before")
        self._given = validation.trajectories(y)
        self._y = self._given.view()  # a view: callers cannot change its shape
        self._begin(time_steps.signed_step(dt, hz, self._y.dtype), threads)
        self._take_state(state, y=self._y)
        self._integrator = resolve(integrator, EQUATION_INTEGRATORS, " for an ODEStepper")
        self._rhs = self._right_hand_side(rhs)
        self._given_rhs = rhs
        self._flow = self._first_flow = self._rhs if isinstance(self._rhs, Flow) else None
        if self._flow is not None:
            self._parts = (SavedFlow(), *self._parts)
        self._jacobian = jacobian
        if jacobian is not None:
            if self._flow is not None:
                raise ValueError(f"jacobian: expected none, {type(self._flow).__name__} has its own")
            _check_function("jacobian", jacobian)
        self._started, self._last_h = False, self._dt
        self._bind()
        self._identity  # noqa: B018 - computes the cached value now
        self._commit(numbers=self._numbers(None, self._dt))

    if TYPE_CHECKING:

        @property
        def evaluations(self) -> int: ...

        record: Recorder[ODETrajectory]

        def _bind(self) -> None: ...

    __init__.__qualname__ = "ODEStepper.__init__"  # the name that Python shows in errors about arguments

    def _right_hand_side(self, rhs: Any) -> Flow | Function:
        if isinstance(rhs, type) and issubclass(rhs, Flow):
            rhs = rhs()
        if isinstance(rhs, Flow):
            if self.dim != rhs.dim:
                raise ValueError(f"y: expected shape (n, {rhs.dim}) for {type(rhs).__name__}, got {self._y.shape}")
            rhs.parameters(self.dtype)
        elif isinstance(rhs, Expression):
            if self.dim != rhs.dim:
                names = ", ".join(rhs.texts)
                raise ValueError(
                    f"y: expected shape (n, {rhs.dim}) for an Expression with the components {names} (each string is "
                    f"a component), got {self._y.shape}"
                )
            rhs.code(self.n, self.dtype)
        elif isinstance(rhs, Native):
            if rhs.dtype != self.dtype:
                raise TypeError(f"rhs: expected a function for {self.dtype}, as y is, got one for {rhs.dtype}")
        else:
            _check_function("rhs", rhs)
        return rhs

    @property
    def y(self) -> np.ndarray:
        """The states, shape (n, dim): the caller's own array, if the argument was an array."""
        return self._given

    @y.setter
    def y(self, value: np.ndarray) -> None:
        validation.in_place("y", value, self._given)

    @property
    def n(self) -> int:
        """Number of trajectories."""
        return int(self._y.shape[0])

    @property
    def dim(self) -> int:
        """Number of components of a state."""
        return int(self._y.shape[1])

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64, in which every step is computed."""
        return self._y.dtype

    @property
    def rhs(self) -> Flow | Function:
        """The right-hand side: a flow, or the function that was given."""
        return self._rhs

    def set(self, flow: Flow | type[Flow] | None = None, /, **parameters: float) -> None:
        """Change parameters of the flow, from the next step on.

        flow: the right-hand side as it was given; it may be left out. parameters: those of its constructor. Snapshots
        contain parameters that were changed, and `restore` resets them. Raises TypeError or ValueError as the
        constructor does, and if the right-hand side is a function or a `flows.Expression`; RuntimeError during a step;
        nothing has changed then. Thread-safety: as `step`.

        >>> import kickdrift as kd
        >>> weather = kd.ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.01)
        >>> weather.set(rho=14)
        >>> weather.current()
        Lorenz(sigma=10.0, rho=14.0, beta=2.6666666666666665)
        """
        self._exclusively(self._set, flow, parameters)

    def _set(self, flow: Any, parameters: dict[str, Any]) -> None:
        now = self._own(flow)
        known = [field.name for field in dataclasses.fields(now)]
        for name in parameters:
            if name not in known:
                raise TypeError(f"{type(now).__name__}: expected parameters ({', '.join(known)}), got {name!r}")
        self._commit(**self._with_flow(dataclasses.replace(now, **parameters)))

    def current(self, flow: Flow | type[Flow] | None = None, /) -> Flow:
        """Return the flow with the current parameters; arguments and errors as those of `set`."""
        return self._exclusively(self._own, flow)

    def _own(self, flow: Any) -> Flow:
        if self._flow is None:
            raise ValueError(
                "flow: expected a stepper of a flow such as flows.Lorenz; parameters of functions and of "
                "flows.Expression stay"
            )
        # An ODEStepper has only one flow: equality suffices to identify it.
        if (
            flow is None
            or flow is self._given_rhs
            or (isinstance(flow, Flow) and flow in (self._first_flow, self._flow))
        ):
            return self._flow
        raise ValueError(
            f"flow: expected {self._first_flow}, which this stepper was given, got {validation.show(flow)}"
        )

    def _with_flow(self, flow: Flow) -> dict[str, Any]:
        """Return the changes of state that set other parameters of the flow."""
        if flow == self._first_flow:
            flow = self._first_flow
        return {"constants": flow.constants(self.dtype), "attributes": {"_flow": flow, "_rhs": flow}}

    @property
    def jacobian(self) -> Function | None:
        """The function for the derivatives of the right-hand side, or None."""
        return self._jacobian

    @property
    def integrator(self) -> Integrator:
        """The integrator, with its parameters."""
        return self._integrator

    # Methods that stepper/common.py requires for recording and snapshots.

    def _sampled(self) -> dict[str, np.ndarray]:
        return {"y": self._y}

    def _trajectory(self, **samples: Any) -> ODETrajectory:
        return ODETrajectory(**samples)

    def _arrays(self) -> list[np.ndarray]:
        return [self._y]

    def _targets(self, count: int) -> list[np.ndarray]:
        return [self._y]

    def _last_step(self, substeps: int) -> None:
        self.step(substeps)  # no interpolation: no previous state is kept

    def _array_count(self, started: bool) -> int:
        return 1

    def _described(self) -> dict[str, Any]:
        # Do not compare names of functions: the same function may be in another module.
        rhs = "function" if self._first_flow is None else repr(self._first_flow)
        return {
            "rhs": self._rhs.identity if isinstance(self._rhs, Expression) else rhs,
            "trajectories": self.n,
            "dim": self.dim,
            "dtype": str(self.dtype),
            "integrator": repr(self.integrator),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return self._exclusively(self._reduced)

    def _reduced(self) -> tuple[Any, ...]:
        arguments_ = {
            "y": self._y.copy(order="K"),
            "rhs": self._given_rhs,
            "integrator": self.integrator,
            "threads": self.threads,
            "jacobian": self._jacobian,
            "state": self._copied_state(),
        }
        return snapshots.rebuild, (type(self), arguments_, snapshots.save(self), None)

    def __repr__(self) -> str:
        rhs = getattr(self._rhs, "__qualname__", repr(self._rhs))
        return (
            f"<{type(self).__module__}.{type(self).__name__}: {self.n} trajectories, dim {self.dim}, {self.dtype}, "
            f"{self.integrator}, dt={self.dt:g}, rhs={rhs}, tick {self.tick}>"
        )


def _check_function(name: str, function: Any) -> None:
    if not callable(function):
        flows = " or a flow such as kd.flows.Lorenz()" if name == "rhs" else ""
        raise TypeError(f"{name}: expected a function of (t, y, out){flows}, got {validation.show(function)}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # built-in functions have no signature
    try:
        signature.bind(0.0, None, None)
    except TypeError:
        raise TypeError(f"{name}: expected a function of (t, y, out), got one of {signature}") from None
