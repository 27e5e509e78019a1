"""The stepper in plain Python: the specification that the kernels are held to, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arguments
from ..base import StepperBase
from ..drawing import canvas, weights
from ..errors import ConvergenceError, NonFiniteError
from ..integrators import Composition, Exact
from .clock import FixedClock
from .digest import digest
from .drawing import draw
from .schemes import SCHEMES, STARTS, NotConverged
from .terms import TERMS, Affine
from .vector import Vector


class Stepper(StepperBase):
    """`kickdrift.Stepper` in plain Python: the same arguments, the same bits, made to be read.

    Computes with floats for float64 arrays and with numpy.float32 scalars for float32 ones.

    >>> from kickdrift import Gravity, reference
    >>> ball = reference.Stepper([[0.0, 10.0]], dt=0.5, forces=[Gravity((0, -10))])
    >>> ball.step(2)
    >>> ball.position.tolist()
    [[0.0, 5.0]]
    """

    _clock_type = FixedClock

    def _bind(self) -> None:
        self._tick = 0
        self._evaluations = 0
        self._history = np.zeros_like(self._position) if self.integrator.history else None
        self._started = False
        self._last_h = self._dt
        self._drawn: tuple | None = None

    def _rebind(self) -> None:
        pass  # bodies read the plan anew in each call

    def _set_dt(self, h: float) -> None:
        self._h = h
        if not self._started:
            self._last_h = h
        self._decay = self._plan.decay(h) if self._plan.damped else None
        self._flow = self._plan.flow(h) if isinstance(self.integrator, Exact) else None
        self._composition = self._plan.composition(h) if isinstance(self.integrator, Composition) else None

    def restart(self) -> None:
        """Forget the integrator's history: the next step starts from the arrays alone."""
        self._started, self._last_h = False, self._h

    def _resume(self, tick: int, started: bool, last_h: float) -> None:
        self._tick, self._started, self._last_h = tick, started, last_h
        self._drawn = None

    def _digest(self, values: np.ndarray, place: int) -> int:
        return digest(values, place)

    def step(self, n: int = 1) -> None:
        """Run n fixed steps; the arguments and errors of `kickdrift.Stepper.step`."""
        n = arguments.integer("n", n, 0)
        if n == 0:
            return
        with np.errstate(all="ignore"):  # what overflows is found below
            done, failure = self._advance(n)
            if failure is not None:
                self._advance(done)
        first = self.tick
        self._tick += done
        if failure is not None:
            raise ConvergenceError(failure.body, self.tick, failure.residual)
        finite = np.isfinite(self._position) & np.isfinite(self._velocity)
        if not finite.all():
            raise NonFiniteError(int(np.argmin(finite.all(axis=1))), first, self.tick)

    def _advance(self, n: int):
        """Step each body n times; where one fails, change nothing and say after how many steps."""
        bodies = [Body(self, index) for index in range(self.n)]
        for body in bodies:
            body.run(n)
        failures = [body for body in bodies if body.done < n]
        if failures:
            first = min(failures, key=lambda body: body.done)
            return first.done, _Failure(first.index, first.residual)
        for body in bodies:
            self._position[body.index], self._velocity[body.index] = body.x, body.v
            if self._history is not None and body.history is not None:
                self._history[body.index] = body.history
        if n:
            self._started, self._last_h = True, self._h
        self._evaluations += max((body.evaluations for body in bodies), default=0)
        return n, None

    @property
    def tick(self) -> int:
        """Completed steps."""
        return self._tick

    @property
    def force_evaluations(self) -> int:
        """How often the forces on all bodies were evaluated so far (by the busiest, where they iterate)."""
        return self._evaluations

    # Frames.

    def advance(self, seconds: float) -> int:
        """Feed the time of a frame to the clock, run the steps that are due, return how many."""
        count = 0
        for _ in self.clock.steps(seconds):
            if self.clock.substep_dt != self._dt:
                self._follow_clock()
            self._last_step(self.clock.substeps)
            count += 1
        return count

    def _last_step(self, substeps: int = 1) -> None:
        """Run a step, and keep the state before it for drawing."""
        before = self._position.copy(), self._velocity.copy()
        self.step(substeps)
        self._drawn = (self.tick, before)

    @property
    def _previous(self) -> tuple[np.ndarray, np.ndarray] | None:
        return self._drawn[1] if self._drawn is not None and self._drawn[0] == self.tick else None

    def interpolate(self, alpha: float | None = None, out=None, mode: str = "linear"):
        """Positions for drawing, between the last two states of a frame."""
        share = self.alpha if alpha is None else arguments.real("alpha", alpha)
        now = (self._position, self._velocity)
        before = now if self._previous is None or mode == "extrapolate" else self._previous
        if self._previous is None and mode == "hermite":
            mode = "linear"
        mix = weights(mode, share, self._frame_step)
        result = np.empty_like(self._position, order="C") if out is None else out
        target = result if out is None else canvas(out, self)
        real = float if self.dtype == np.float64 else np.float32
        draw(*before, *now, mix, real, target)
        return result


class _Failure:
    def __init__(self, body: int, residual: float):
        self.body, self.residual = body, residual


class Body:
    """One body on its way through the steps of a call: what the schemes work on."""

    def __init__(self, stepper: Stepper, index: int):
        plan = stepper._plan
        self.index = index
        self.real = real = float if plan.dtype == np.float64 else np.float32
        self.x, self.v = self._vector(stepper._position), self._vector(stepper._velocity)
        self.history: Any = (
            self._vector(stepper._history) if stepper._started and stepper._history is not None else None
        )
        self.integrator = plan.integrator
        self.velocity_dependent = plan.velocity_dependent
        self.tick = stepper.tick
        self.h = real(stepper._h)
        self.last_h = real(stepper._last_h)
        self.epsilon = real(np.finfo(plan.dtype).eps)
        self.smallest = real(np.finfo(plan.dtype).tiny / np.finfo(plan.dtype).eps)
        self.affine = Affine(
            plan.drag,
            plan.spring,
            self._vector(plan.g),
            self._scalar(plan.c),
            self._vector(plan.w),
            self._scalar(plan.k),
            self._vector(plan.p),
        )
        self.terms = [
            TERMS[record.kind](*(self._coefficient(field) for field in record.fields.values()))
            for record in plan.records
        ]
        self.decay = None if stepper._decay is None else self._scalar(stepper._decay)
        self.flow = None if stepper._flow is None else [self._scalar(row) for row in stepper._flow]
        if stepper._composition is not None:
            self.composition = [[real(number) for number in row] for row in stepper._composition]
        self.evaluations = 0
        self.done = 0
        self._kept: Vector | None = None

    def run(self, n: int) -> None:
        """n steps, or fewer where one cannot be solved."""
        step, start = SCHEMES[self.integrator.name], STARTS.get(self.integrator.name)
        if start is not None and self.history is None:
            start(self, self.h)
        while self.done < n:
            try:
                step(self, self.h)
            except NotConverged as failure:
                self.residual = float(failure.args[0])
                return
            self.last_h = self.h
            if self.decay is not None:
                self.damp(self.decay)
            self.tick += 1
            self.done += 1

    def a(self, x: Vector, v: Vector) -> Vector:
        """The acceleration: the affine part, then the other terms in their order."""
        self.evaluations += 1
        a = self.affine.acceleration(x, v)
        for term in self.terms:
            a = term.acceleration(a, x, v)
        return a

    def keep(self, a: Vector) -> Vector:
        """Remember an acceleration for the next step of this call, where velocity cannot change it."""
        self._kept = None if self.velocity_dependent else a
        return a

    def kept(self, x: Vector, v: Vector) -> Vector:
        """The acceleration at the start of a step: the remembered one, or a new one."""
        return self.a(x, v) if self._kept is None else self._kept

    def jacobian(self, x: Vector, v: Vector):
        """The derivatives of the acceleration by position and by velocity."""
        by_x, by_v = self.affine.jacobian(len(x))
        for term in self.terms:
            term.jacobian(by_x, by_v, x, v)
        return by_x, by_v

    def potential_difference(self, x: Vector, y: Vector):
        """The potential per unit of mass at y less that at x."""
        dphi = self.affine.potential_difference(x, y)
        for term in self.terms:
            dphi = term.potential_difference(dphi, x, y)
        return dphi

    def damp(self, decay) -> None:
        """v *= exp(-rate h); Verlet's velocity is the way from the previous position."""
        self.v = decay * self.v
        if self.integrator.name == "verlet":
            self.history = self.x - decay * (self.x - self.history)

    # Rows of a plan's arrays, which have one row for all bodies or one for each.

    def _vector(self, rows: np.ndarray) -> Vector:
        return Vector([self.real(number) for number in rows[self.index if len(rows) > 1 else 0]])

    def _scalar(self, rows: np.ndarray):
        return self.real(rows[self.index if len(rows) > 1 else 0])

    def _coefficient(self, rows: np.ndarray):
        return self._scalar(rows) if rows.ndim == 1 else self._vector(rows)
