"""The stepper in plain Python: the specification that the kernels must match bitwise."""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from ..errors import ConvergenceError, NonFiniteError
from ..integrators.compositions import Composition
from ..integrators.exact import Exact
from ..progress import in_parts
from ..stepper.base import StepperBase
from ..stepper.interpolation import Weights, canvas, weights
from .body import bodies
from .clock import FixedClock
from .events import Log
from .interpolation import draw
from .lock import Exclusive, taped
from .queries import Level
from .rotation import Turning
from .slots import SlotArrays
from .system import System

if TYPE_CHECKING:
    from .body import Body


class Stepper(SlotArrays, Exclusive, StepperBase):
    """`kickdrift.Stepper` in plain Python: same arguments, bitwise equal results, made to be read.

    Computes with NumPy scalars of the state's dtype, or with arrays where several bodies have the same control flow.

    >>> from kickdrift import Gravity, reference
    >>> ball = reference.Stepper([[0.0, 10.0]], dt=0.5, forces=[Gravity((0, -10))])
    >>> ball.step(2)
    >>> ball.position.tolist()
    [[0.0, 5.0]]
    """

    _measured: int | None = None  # monotonic time in ns of the last frame without an explicit time

    _clock_type = FixedClock
    _world = 0  # index of the world in `Worlds`, which is added to the keys of noise
    # Constants that depend on dt, see `_numbers`.
    _h: float
    _decay: np.ndarray | None
    _turn: tuple | None
    _flow: np.ndarray | None
    _composition: tuple | None
    _spin_decay: np.ndarray | None
    _turning: Turning | None = None  # rotation of the bodies during a step
    _held: np.ndarray  # gravity plus accelerations from users' arrays, constant for one call

    def _bind(self) -> None:
        self._tick = 0
        self._evaluations = 0
        self._keeps = False  # whether the next step of a call can reuse the last acceleration
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

    def _level(self) -> Level:
        return Level(self)

    def _touching(self):
        if self._log is None:
            return []
        self._log.forget_spawned(self._slots)
        return [(source, np.array(keys, np.int64)) for source, keys in sorted(self._log.touching.items())]

    def _binding(self, plan, state=None):
        self._inverse_inertia_of(plan)  # raises errors for missing inertia
        arrays = (self._position, self._velocity) if state is None else state[:2]
        validation.own_memory([*plan.applied, *plan.torques], [*arrays, *self._turning_arrays().values()])
        return plan  # no compiled binding: each call reads the plan

    def _rebound(self, history) -> dict:
        return {"_history": history}

    def _numbers(self, plan, h: float) -> dict:
        """Return the constants of a plan that depend on dt."""
        plan = self._plan if plan is None else plan
        plan.check_direction(h)
        return {
            "_h": h,
            "_decay": plan.decay(h) if plan.damped else None,
            "_spin_decay": plan.spin_decay(h) if plan.spin_damped else None,
            "_turn": plan.turn(h) if plan.turned else None,
            "_flow": plan.flow(h) if isinstance(self.integrator, Exact) else None,
            "_composition": plan.composition(h) if isinstance(self.integrator, Composition) else None,
        }

    def _commit(
        self,
        *,
        writes=(),
        binding=None,
        numbers=None,
        resume=None,
        attributes=None,
        clock_rate=None,
        clock_tick=None,
        clock_anew=None,
        slots=None,
        touching=None,
    ) -> None:
        """Apply several changes; the compiled implementation does it atomically."""
        # All that may raise comes first, before any change.
        if clock_anew is not None:
            self._clock._begin_again(*clock_anew)
        if clock_rate is not None:
            self._clock.set_hz(clock_rate)
        if clock_tick is not None:
            self._clock.set_tick(clock_tick)
        before = None if binding is self._plan else self._plan
        for array, rows, values in [*writes, *([] if binding is None else binding.numbered(before))]:
            array[... if rows is None else rows] = values
        self.__dict__.update(numbers or {})
        if resume is not None:
            self._tick, self._started, self._last_h = resume
            self._drawn = None
            if self._log is not None:
                self._log.cut(self._tick)
        if self._log is not None and "_plan" in (attributes or {}):
            self._log.follow(self._plan, attributes["_plan"])
        if touching is not None:
            self._log.touching = {source: keys.tolist() for source, keys in touching}
        if not self._started:
            self._last_h = self._h
        self.__dict__.update(attributes or {})
        self._held = self._plan.held()
        if slots is not None:
            self._book().become(*slots)
        if len(writes) or slots is not None or "_position" in (attributes or {}):
            self._zero_inactive()

    def restart(self) -> None:
        """Discard the integrator's history: the next step starts from the arrays alone."""
        self._exclusively(self._restart)

    def _restart(self) -> None:
        self._started, self._last_h = False, self._h

    def step(self, n: int = 1, progress: bool = False) -> None:
        """Run n fixed steps, with the arguments and errors of `kickdrift.Stepper.step`."""
        n = validation.steps(n, self.tick)
        if validation.flag("progress", progress):
            in_parts(self.step, n, True)
            return
        handed = 0 if self._clock is None else self._clock._handed
        self._exclusively(self._step_in_frame if handed else self._step, n)

    def _step_in_frame(self, n: int) -> None:
        """Run steps that the clock has counted; save the state before the last clock step, for interpolation."""
        clock, substeps, first, handed = self._clock, self._clock.substeps, self.tick, self._clock._handed
        count = min(n, handed)
        # The last clock step begins when this many integrator steps remain.
        before = ((handed - count) // substeps + 1) * substeps
        try:
            if clock.substep_dt != self._dt:
                self._follow_clock()
            state = self._previous
            if count and before <= handed:
                self._step(handed - before)
                state = self._copied()
                self._step(count - (handed - before))
            else:
                self._step(count)
            self._drawn = None if state is None else (self.tick, state)
            self._step(n - count)
        finally:
            clock._handed = max(0, handed - (self.tick - first))

    @taped
    def _step(self, n: int) -> None:
        validation.steps(n, self.tick)
        if n == 0 or self.count == 0:
            if n and self._log is not None:
                self._log.forget_spawned(self._slots)
                self._log.report_impacts(System(self), {})  # all bodies were despawned: end their contacts
            if self._motion is not None:
                self._motion.coast(self._plan, n, self._h)
            self._tick += n
            return
        self._zero_inactive()
        if n > 1 and self._last_h != self._h:
            # The history belongs to another dt: the first step has other constants, so run it alone.
            self._step(1)
            n -= 1
            self._evaluations -= self._keeps  # an evaluation that two steps share counts once
        if n > 1 and self._rotation is not None:
            # Run one step at a time, but count force evaluations as in one call.
            for left in reversed(range(n)):
                self._step(1)
                self._evaluations -= self._keeps and left > 0
            return
        first = self.tick
        self._held = self._plan.held()
        with np.errstate(all="ignore"):  # overflow is detected below
            self._turning = None if self._rotation is None else Turning(self)
            if self._log is not None:
                self._log.forget_spawned(self._slots)
            if self._plan.interactions or self._plan.constraint_records:
                failure = self._advance_system(n)
            else:
                done, failure = self._advance(n)
                if done < n:
                    self._advance(done)
                self._tick += done
            if self._turning is not None and self.tick > first:
                self._turning.complete()
        if self._slots is not None and self.tick > first:
            self._slots.needs_start[:] = 0
        state = [self._position, self._velocity]
        if self._rotation is not None:
            state += [self._rotation.velocity, self._rotation.turned]
        finite = np.all([np.isfinite(array).all(axis=1) for array in state], axis=0)
        if self.tick > first and not finite.all():
            body = int(np.argmin(finite))
            raise NonFiniteError(body, self.tick - 1, self.tick, history=self._history is not None)
        if failure is not None:
            body, residual = failure
            raise ConvergenceError(body, self.tick, residual)

    def _advance(self, n: int):
        """Advance each active body by n steps; if one fails, change nothing. Return (completed steps, failure)."""
        alone = bodies(self)
        for body in alone:
            body.run(n)
        failures = [body for body in alone if body.done < n]
        if failures:
            first = min(failures, key=lambda body: body.done)
            return first.done, first.failure
        for body in alone:
            self._store(body, body.x, body.v, body.history)
        if n:
            self._started, self._last_h = True, self._h
        self._evaluations += max(body.evaluations for body in alone)
        self._keeps = alone[0]._kept is not None
        return n, None

    def _store(self, body: Body, *vectors: Any) -> None:
        """Store positions, velocities and history of one body, or of a batch."""
        for array, vector in zip((self._position, self._velocity, self._history), vectors, strict=True):
            if array is not None and vector is not None:
                array[body.index] = np.transpose(vector)

    def _advance_system(self, n: int):
        """Advance all bodies together, up to a non-finite state or a failed step; return the failure, if any."""
        system, first = System(self), self.tick
        try:
            system.run(n)
        finally:
            if system.done:
                self._store(system, *system.completed)
                self._started, self._last_h = True, self._h
                if self._impulses is not None:
                    impulses_by_pair = sorted(system.remembered.items())
                    pair = np.array([ends for ends, _ in impulses_by_pair], np.int32).reshape(-1, 2)
                    push = np.array([numbers for _, numbers in impulses_by_pair], self.dtype)
                    pull = np.array(system.remembered_rods, self.dtype).reshape(-1, 1)
                    for array, _rows, values in self._impulses.writes(
                        pair, push.reshape(len(pair), self._impulses.width), pull
                    ):
                        array[...] = values
            self._tick = first + system.done
            self._evaluations += system.evaluations
            self._keeps = system._kept is not None
        return system.failure

    @property
    def tick(self) -> int:
        """Completed steps."""
        return self._tick

    @property
    def force_evaluations(self) -> int:
        """Number of evaluations of all forces so far; the maximum over bodies for iterative integrators."""
        return self._evaluations

    # Frames.

    def advance(self, seconds: float | None = None) -> int:
        """Feed the time of a frame to the clock, run the steps that are due, return their number."""
        return self._exclusively(self._frame, self._seconds_of(seconds))

    def _seconds_of(self, seconds: float | None) -> float:
        """Return the time of a frame in s: the given one, or the time since the last call without an argument."""
        if seconds is not None:
            return seconds
        last, self._measured = self._measured, monotonic_ns()
        return 0.0 if last is None else (self._measured - last) / 1_000_000_000

    def _frame(self, seconds: float) -> int:
        """Feed the clock a frame, and run the steps that are due.

        All but the last step are one call: the state before the last step is kept for interpolation. Under "budget",
        each step is a call of its own, and the time is checked before it.
        """
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
            # Completed steps count, even if a non-finite state raises.
            clock._count((self.tick - first) // substeps - done)
            clock._running, clock._taken = False, 0
            clock._close()
        return (self.tick - first) // substeps

    def ticks(self, seconds: float | None = None):
        """Feed the time of a frame to the clock; iterate over its steps: each runs after the loop body."""
        self.clock.feed(self._seconds_of(seconds))
        return self._each_tick(self.clock)

    def _each_tick(self, clock: FixedClock):
        clock._refuse_reentry()
        clock._running = True
        try:
            while clock._may_step():
                clock._taken = 1  # this step runs even if the loop body drops waiting time
                yield self.tick
                self._exclusively(self._owed_step, clock)
        finally:
            clock._running, clock._taken = False, 0
            clock._close()

    def _owed_step(self, clock: FixedClock) -> None:
        first = self.tick
        try:
            if clock.substep_dt != self._dt:
                self._follow_clock()
            self._keep_and_step(clock.substeps)
        finally:
            # Completed steps count, even if a non-finite state raises.
            clock._count((self.tick - first) // clock.substeps)
            clock._taken = 0

    def _move(self, body: int, position) -> None:
        self._move_rows(body, position)

    def _watch(self, clock: FixedClock) -> None:
        pass  # only the engine registers with its clock; here `step` reads the clock

    def _last_step(self, substeps: int) -> None:
        self._exclusively(self._keep_and_step, substeps)

    def _keep_and_step(self, substeps: int) -> None:
        """Run one clock step; keep the state before it, from which interpolation begins."""
        before = self._copied()
        self._step(substeps)
        self._drawn = (self.tick, before)
        if self._clock is not None:
            self._clock._handed = max(0, self._clock._handed - substeps)

    def _copied(self) -> tuple[np.ndarray, ...]:
        """Return copies of the present state, from which interpolation will begin."""
        turned = () if self._rotation is None else (self._rotation.turned.copy(),)
        self._drawn = None  # if the step fails, the present state will be drawn
        if self._motion is not None:
            self._motion.keep()
        return self._position.copy(), self._velocity.copy(), *turned

    @property
    def _previous(self) -> tuple[np.ndarray, ...] | None:
        return self._drawn[1] if self._drawn is not None and self._drawn[0] == self.tick else None

    def interpolate(self, alpha: float | None = None, out=None, mode: str = "linear", living: bool = False):
        """Interpolate positions for drawing between the last two states of a frame."""
        return self._exclusively(self._picture, alpha, out, mode, validation.flag("living", living))

    def _picture(self, alpha: float | None, out, mode: str, living: bool):
        share = self.alpha if alpha is None else validation.real("alpha", alpha)
        now = (self._position, self._velocity)
        mix = weights(mode, share, self._frame_step, self._previous is not None)
        before = now if self._previous is None or mode == "extrapolate" else self._previous[:2]
        rows = np.arange(self.n) if self._slots is None else np.flatnonzero(self._slots.alive)
        count = len(rows) if living else self.n
        result = np.empty((count, self.dim), self.dtype) if out is None else out
        target = result if out is None else canvas(out, self, count)
        real = float if self.dtype == np.float64 else np.float32
        drawn = np.full((self.n, self.dim), np.nan, target.dtype)
        with np.errstate(all="ignore"):  # drawing a non-finite state must not warn, as in compiled code
            for i in rows:
                # A body that was spawned after the last step is drawn at its present position.
                spawned = self._slots is not None and self._slots.needs_start[i] and mode != "extrapolate"
                x, v, x_new, v_new = (array[i : i + 1] for array in (*(now if spawned else before), *now))
                shares = Weights(0.0, 0.0, 0.0) if spawned else mix
                draw(x, v, x_new, v_new, shares, real, drawn[i : i + 1], self._plan.torus)
        target[...] = drawn[rows] if living else drawn
        return result
