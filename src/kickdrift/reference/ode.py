"""y' = f(t, y) in plain Python: one step of each scheme, and the stepper around them.

All n trajectories are stepped together as one vector `y` of n * dim numbers, in textbook form. A
scheme advances the system by one step of h and returns the new y. `f(c, y)` is the right-hand side
at y, c steps after the start of the step. The order of operations is part of the specification.
"""

from __future__ import annotations

import numpy as np

from .. import validation
from ..declaration import require_entries
from ..errors import ConvergenceError, NonFiniteError
from ..flows import QUOTIENT, Expression, refuse
from ..integrators import EQUATION_INTEGRATORS
from ..ode.base import ODEBase
from ..progress import in_parts
from .flows import FLOWS
from .formulas import evaluate
from .integrators import NotConverged, solve
from .lock import Exclusive, taped
from .vector import Vector, largest


def explicit_euler(system, y, h):
    return y + h * system.f(0, y)


def midpoint(system, y, h):
    k = system.f(0, y)
    return y + h * system.f(1 / 2, y + h / 2 * k)


def heun(system, y, h):
    k1 = system.f(0, y)
    k2 = system.f(1, y + h * k1)
    return y + h / 2 * (k1 + k2)


def rk4(system, y, h):
    k1 = system.f(0, y)
    k2 = system.f(1 / 2, y + h / 2 * k1)
    k3 = system.f(1 / 2, y + h / 2 * k2)
    k4 = system.f(1, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def dopri8(system, y, h):
    slopes, u = [], y
    tableau, times = system.integrator.tableau, system.integrator.evaluation_shares[0]
    for c, weights in zip(times, tableau, strict=True):
        slopes.append(system.f(c, u))
        total = None
        for i, weight in weights.items():
            term = system.real(weight) * slopes[i]
            total = term if total is None else total + term
        u = y + h * total
    return u


def implicit_euler(system, y, h):
    """Solve r(u) = u - y - h f(1, u) = 0 for the new state u, by Newton's method.

    The trajectories are independent, except that f is evaluated for all at once. Each trajectory is iterated until it
    is solved, or has failed.
    """
    old, new = y.rows(system.dim), y.rows(system.dim)
    tolerance, limit = system.real(system.integrator.tolerance), system.integrator.max_iterations
    slope = [system.real(0)] * system.n
    open_, failures = set(range(system.n)), {}
    for iteration in range(limit + 1):
        u = join(new)
        k = system.f(1, u, open_).rows(system.dim)
        residuals = {}
        for i in sorted(open_):
            r = new[i] - old[i] - h * k[i]
            residual = largest(r)
            scale = largest(new[i]) + largest(old[i]) + abs(h) * largest(k[i])
            noise = scale + abs(h) * slope[i] * largest(new[i])
            # Accept the first guess only if it is exact: f may be small at the old state and large
            # at the new one.
            close = residual <= tolerance * scale + 4 * system.epsilon * noise + system.smallest
            if residual == 0 or (iteration > 0 and close):
                open_.discard(i)
            elif iteration == limit:
                failures[i] = residual
            else:
                residuals[i] = r, residual
        if not open_ or iteration == limit:
            break
        jacobians = system.jacobians(u, join(old), join(k))
        for i, (r, residual) in residuals.items():
            slope[i] = largest([entry for row in jacobians[i] for entry in row])
            matrix = [[-h * entry for entry in row] for row in jacobians[i]]
            for j in range(system.dim):
                matrix[j][j] = 1 + matrix[j][j]
            try:
                new[i] = new[i] - solve(matrix, r, residual)
            except NotConverged:
                failures[i] = residual
                open_.discard(i)
    if failures:
        first = min(failures)
        raise NotConverged(failures[first], first)
    return join(new)


def join(rows):
    """Concatenate the vectors of the trajectories."""
    return Vector([number for row in rows for number in row])


SCHEMES = {
    "explicit_euler": explicit_euler,
    "implicit_euler": implicit_euler,
    "midpoint": midpoint,
    "heun": heun,
    "rk4": rk4,
    "dopri8": dopri8,
}
require_entries(__name__, SCHEMES, EQUATION_INTEGRATORS)


class FlowSystem:
    """n independent trajectories of a built-in, autonomous flow."""

    def __init__(self, stepper):
        self.n, self.dim, self.integrator = stepper.n, stepper.dim, stepper.integrator
        self.real = stepper.dtype.type
        self.epsilon = self.real(np.finfo(stepper.dtype).eps)
        self.smallest = self.real(np.finfo(stepper.dtype).tiny / np.finfo(stepper.dtype).eps)
        self.evaluations = [0] * self.n
        if stepper._flow is not None:
            parameters = map(self.real, stepper._flow.parameters(stepper.dtype))
            self.flow = FLOWS[stepper._flow.kind](*parameters)

    def at(self, t, dt):
        """Set the time and length of the present step."""
        self.t, self.dt = t, dt

    def f(self, c, y, needed=None):
        """Evaluate the right-hand side; needed: trajectories whose result is used, None for all."""
        for i in range(self.n) if needed is None else needed:
            self.evaluations[i] += 1
        return join(self.flow.rate(*row) for row in y.rows(self.dim))

    def jacobians(self, u, old, k):
        """Return the Jacobian of each trajectory at the state u."""
        matrices = [self.flow.jacobian(*row) for row in u.rows(self.dim)]
        return [[[self.real(entry) for entry in row] for row in matrix] for matrix in matrices]


class FunctionSystem(FlowSystem):
    """n trajectories whose right-hand side is a function, called once for all of them."""

    def __init__(self, stepper):
        super().__init__(stepper)
        self.rhs, self.jacobian, self.dtype = stepper.rhs, stepper.jacobian, stepper.dtype

    def f(self, c, y, needed=None):
        self.evaluations = [count + 1 for count in self.evaluations]
        return self._numbers(self._call("rhs", self.rhs, c, y, (self.n, self.dim)))

    def _call(self, name, function, c, y, shape):
        """Call function(t, y, out) with t = t0 + c dt in float64, for any dtype of the state."""
        array, out = np.array(y, self.dtype).reshape(self.n, self.dim), np.zeros(shape, self.dtype)
        array.flags.writeable = False
        result = function(self.t + c * self.dt, array, out)
        if result is not None and result is not out:
            refuse(name, result, out)
        return out

    def _numbers(self, array):
        return Vector(map(self.real, array.ravel()))

    def jacobians(self, u, old, k):
        if self.jacobian is not None:
            out = self._call("jacobian", self.jacobian, 1, u, (self.n, self.dim, self.dim))
            return [[self._numbers(row) for row in matrix] for matrix in out]
        # Differentiate f by component j of all trajectories at once: one column of each Jacobian.
        matrices = [[[None] * self.dim for _ in range(self.dim)] for _ in range(self.n)]
        for j in range(self.dim):
            moved, steps = u.rows(self.dim), []
            for i, (now, before, rate) in enumerate(zip(moved, old.rows(self.dim), k.rows(self.dim), strict=True)):
                there = now[j] + self._increment(now, before, rate, j)
                steps.append(there - now[j])  # the increment after rounding
                moved[i] = Vector([*now[:j], there, *now[j + 1 :]])
            rates = self.f(1, join(moved)).rows(self.dim)
            for i, rate in enumerate(k.rows(self.dim)):
                for row in range(self.dim):
                    matrices[i][row][j] = (rates[i][row] - rate[row]) / steps[i]
        return matrices

    def _increment(self, now, before, rate, j):
        """Return the increment of component j: a share of its size, or of another scale if it is close to zero."""
        share, floor = map(self.real, QUOTIENT[self.dtype.name])
        size = abs(now[j])
        if abs(before[j]) > size:
            size = abs(before[j])
        if floor * largest(now) > size:
            size = floor * largest(now)
        if size < self.smallest:
            size = largest(rate)  # the state is 0: use the rate
        if size < self.smallest:
            size = self.real(1)
        return share * size


class FormulaSystem(FunctionSystem):
    """n trajectories whose right-hand side is an expression."""

    def __init__(self, stepper):
        super().__init__(stepper)
        self.fields = self.rhs.fields(self.n, self.dtype)

    def f(self, c, y, needed=None):
        self.evaluations = [count + 1 for count in self.evaluations]
        return Vector([number for results in self._run(self.rhs.operations, c, y) for number in results.values()])

    def _run(self, program, c, y):
        """Return the results of a program for each trajectory."""
        for i, row in enumerate(y.rows(self.dim)):
            values = {"t": self.real(self.t + c * self.dt), **dict(zip(self.rhs.texts, row, strict=True))}
            values |= {name: self.real(field[i if len(field) > 1 else 0]) for name, field in self.fields.items()}
            yield evaluate(program, self.real, values)

    def jacobians(self, u, old, k):
        if self.jacobian is not None:
            return super().jacobians(u, old, k)
        names = self.rhs.texts
        rows = self._run(self.rhs.derivatives, 1, u)
        return [[[row.get(f"{a} {b}", self.real(0)) for b in names] for a in names] for row in rows]


class ODEStepper(Exclusive, ODEBase):
    """`kickdrift.ODEStepper` in plain Python: same arguments, bitwise equal results, made to be read.

    Computes with floats for float64 arrays and with numpy.float32 scalars for float32 ones.

    >>> from kickdrift import reference
    >>> def decay(t, y, out):
    ...     out[:] = -y
    >>> atoms = reference.ODEStepper([[1.0]], decay, dt=0.5, integrator="explicit_euler")
    >>> atoms.step(2)
    >>> atoms.y.tolist()
    [[0.25]]
    """

    _h: float  # see `_numbers`

    def _bind(self) -> None:
        self._tick = 0
        self._evaluations = 0

    def _numbers(self, binding, h: float) -> dict:
        return {"_h": h}

    def _commit(self, *, writes=(), numbers=None, resume=None, constants=None, attributes=None) -> None:
        """Apply several changes; the compiled implementation does it atomically."""
        for array, _, values in writes:
            array[...] = values
        if resume is not None:
            self._tick = resume[0]
        self.__dict__.update(numbers or {})
        self.__dict__.update(attributes or {})

    @property
    def tick(self) -> int:
        """Completed steps."""
        return self._tick

    @property
    def evaluations(self) -> int:
        """Evaluations of the right-hand side in completed steps (maximum over trajectories)."""
        return self._evaluations

    def step(self, n: int = 1, progress: bool = False) -> None:
        """Run n fixed steps, with the arguments and errors of `kickdrift.ODEStepper.step`."""
        n = validation.steps(n, self.tick)
        if validation.flag("progress", progress):
            in_parts(self.step, n, True)
        else:
            self._exclusively(self._step, n)

    @taped
    def _step(self, n: int) -> None:
        validation.steps(n, self.tick)
        with np.errstate(all="ignore"):  # overflow is detected below
            if self.n == 0 or n == 0:
                self._tick += n
            elif self._flow is not None:
                self._run(FlowSystem(self), n)
            else:
                system = FormulaSystem if isinstance(self.rhs, Expression) else FunctionSystem
                # A function call dominates the cost, so check the state after each step.
                for _ in range(n):
                    self._run(system(self), 1)

    def _run(self, system: FlowSystem, n: int) -> None:
        """Run n steps, at most up to one that does not converge or is not finite; store completed steps only."""
        scheme, h = SCHEMES[self.integrator.name], system.real(self._h)
        finite, failure = np.ones(len(self._y), np.bool_), None
        evaluations = list(system.evaluations)
        for _ in range(n):
            system.at(self.time, self._dt)
            try:
                y = scheme(system, Vector(map(system.real, self._y.ravel())), h)
            except NotConverged as error:
                failure = error
                break
            self._y[...] = np.array(y, self.dtype).reshape(self._y.shape)
            self._tick += 1
            evaluations = list(system.evaluations)
            finite = np.isfinite(self._y).all(axis=1)
            if not finite.all():
                break
        self._evaluations += max(evaluations)
        if not finite.all():
            raise NonFiniteError(int(np.argmin(finite)), self.tick - 1, self.tick, "trajectory")
        if failure is not None:
            residual, trajectory = failure.args
            raise ConvergenceError(trajectory, self.tick, float(residual), "trajectory")
