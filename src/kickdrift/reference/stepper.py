"""The stepper in plain Python: the specification that the kernels are held to, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import validation
from ..errors import ConvergenceError, NonFiniteError
from ..integrators import Composition, Exact
from ..stepper.base import StepperBase
from ..stepper.interpolation import canvas, weights
from .checksum import digest
from .clock import FixedClock
from .events import Log
from .interpolation import draw
from .lock import Exclusive
from .system import Body, System


class Stepper(Exclusive, StepperBase):
    """`kickdrift.Stepper` in plain Python: the same arguments, the same bits, made to be read.

    Computes with NumPy's scalars of the state's dtype, one number after the other.

    >>> from kickdrift import Gravity, reference
    >>> ball = reference.Stepper([[0.0, 10.0]], dt=0.5, forces=[Gravity((0, -10))])
    >>> ball.step(2)
    >>> ball.position.tolist()
    [[0.0, 5.0]]
    """

    _clock_type = FixedClock
    # What depends on dt, see `_numbers`.
    _h: float
    _decay: np.ndarray | None
    _flow: np.ndarray | None
    _composition: tuple | None

    def _bind(self) -> None:
        self._tick = 0
        self._evaluations = 0
        self._keeps = False  # does the last step's acceleration serve the next one of the call?
        self._history = np.zeros_like(self._position) if self.integrator.history else None
        self._started = False
        self._last_h = self._dt
        self._drawn: tuple | None = None
        self._log: Any = None if self._events is None else Log(self._events, self.dim)

    def _take_events(self) -> np.ndarray:
        return np.asarray(self._log.take())

    @property
    def _events_dropped(self) -> int:
        return int(self._log.dropped)

    def _touching(self):
        if self._log is None:
            return []
        return [(source, np.array(keys, np.int64)) for source, keys in sorted(self._log.touching.items())]

    def _binding(self, plan):
        return plan  # bodies read it anew in each call

    def _numbers(self, plan, h: float) -> dict:
        """What of a plan depends on dt."""
        plan = self._plan if plan is None else plan
        return {
            "_h": h,
            "_decay": plan.decay(h) if plan.damped else None,
            "_flow": plan.flow(h) if isinstance(self.integrator, Exact) else None,
            "_composition": plan.composition(h) if isinstance(self.integrator, Composition) else None,
        }

    def _commit(
        self, *, writes=(), binding=None, numbers=None, resume=None, attributes=None, clock_rate=None, clock_tick=None,
        touching=None,
    ) -> None:  # fmt: skip
        """Change several things; the compiled twin does it in one go."""
        if clock_rate is not None:
            self._clock.set_hz(clock_rate)  # may refuse it, so it comes first
        if clock_tick is not None:
            self._clock.set_tick(clock_tick)
        for array, rows, values in writes:
            array[slice(None) if rows is None else rows] = values
        self.__dict__.update(numbers or {})
        if resume is not None:
            self._tick, self._started, self._last_h = resume
            self._drawn = None
            if self._log is not None:
                self._log.cut(self._tick)
        if touching is not None:
            self._log.touching = {source: keys.tolist() for source, keys in touching}
        if not self._started:
            self._last_h = self._h
        self.__dict__.update(attributes or {})

    def restart(self) -> None:
        """Forget the integrator's history: the next step starts from the arrays alone."""
        self._exclusively(self._restart)

    def _restart(self) -> None:
        self._started, self._last_h = False, self._h

    def _digest(self, values: np.ndarray, place: int) -> int:
        return digest(values, place)

    def step(self, n: int = 1) -> None:
        """Run n fixed steps; the arguments and errors of `kickdrift.Stepper.step`."""
        self._exclusively(self._step, validation.steps(n, self.tick))

    def _step(self, n: int) -> None:
        validation.steps(n, self.tick)
        if n == 0 or self.n == 0:
            self._tick += n
            return
        if n > 1 and self._last_h != self._h:
            # The history spans another dt: the first step has constants of its own, and is taken by itself.
            self._step(1)
            n -= 1
            self._evaluations -= self._keeps  # kept for the next step, which is of the same call
        first = self.tick
        with np.errstate(all="ignore"):  # what overflows is found below
            if self._plan.pushes or self._plan.holds:
                failure = self._advance_system(n)
            else:
                done, failure = self._advance(n)
                if failure is not None:
                    self._advance(done)
                self._tick += done
        if failure is not None:
            raise ConvergenceError(failure.body, self.tick, failure.residual)
        finite = np.isfinite(self._position) & np.isfinite(self._velocity)
        if not finite.all():
            body = int(np.argmin(finite.all(axis=1)))
            raise NonFiniteError(body, first, self.tick, history=self._history is not None)

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
        self._keeps = bodies[0]._kept is not None
        return n, None

    def _advance_system(self, n: int):
        """Step all bodies together, up to the last step that can be completed, and say what failed."""
        system, first = System(self), self.tick
        try:
            system.run(n)
        finally:
            if system.done:
                arrays = (self._position, self._velocity, self._history)
                for array, vector in zip(arrays, system.completed, strict=True):
                    if array is not None:
                        array[...] = np.reshape(np.array(vector, self.dtype), array.shape)
                self._started, self._last_h = True, self._h
            self._tick = first + system.done
            self._evaluations += system.evaluations
            self._keeps = system._kept is not None
        return None if system.done == n else _Failure(system.failed.index, system.failed.residual)

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
        return self._exclusively(self._frame, seconds)

    def _frame(self, seconds: float) -> int:
        """All steps but the last in one go; under a budget each by itself, since time is looked at before it."""
        clock, first, done = self.clock, self.tick, 0
        due, substeps = clock.feed(seconds), clock.substeps
        budget = clock._settings.overload.name == "budget"
        clock._running = True
        try:
            if due and clock.substep_dt != self._dt:
                self._follow_clock()
            if budget:
                while clock._may_step():
                    clock._taken = 1
                    self._keep_and_step(substeps)
                    clock._count(1)
                    done += 1
            elif due:
                clock._taken = due
                self._step((due - 1) * substeps)
                self._keep_and_step(substeps)
        finally:
            # A step that is done counts, also where it raised: its state may be no longer finite.
            clock._count((self.tick - first) // substeps - done)
            clock._running, clock._taken = False, 0
            clock._close()
        return (self.tick - first) // substeps

    def _last_step(self, substeps: int) -> None:
        self._exclusively(self._keep_and_step, substeps)

    def _keep_and_step(self, substeps: int) -> None:
        """Run a step, and keep the state before it for drawing."""
        before = self._position.copy(), self._velocity.copy()
        self._step(substeps)
        self._drawn = (self.tick, before)

    @property
    def _previous(self) -> tuple[np.ndarray, np.ndarray] | None:
        return self._drawn[1] if self._drawn is not None and self._drawn[0] == self.tick else None

    def interpolate(self, alpha: float | None = None, out=None, mode: str = "linear"):
        """Positions for drawing, between the last two states of a frame."""
        return self._exclusively(self._picture, alpha, out, mode)

    def _picture(self, alpha: float | None, out, mode: str):
        share = self.alpha if alpha is None else validation.real("alpha", alpha)
        now = (self._position, self._velocity)
        before = now if self._previous is None or mode == "extrapolate" else self._previous
        if self._previous is None and mode == "hermite":
            mode = "linear"
        mix = weights(mode, share, self._frame_step)
        result = np.empty_like(self._position, order="C") if out is None else out
        target = result if out is None else canvas(out, self)
        real = float if self.dtype == np.float64 else np.float32
        with np.errstate(all="ignore"):  # as compiled code, which draws whatever there is
            draw(*before, *now, mix, real, target)
        return result


class _Failure:
    def __init__(self, body: int, residual: float):
        self.body, self.residual = body, residual
