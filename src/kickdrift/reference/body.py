"""The bodies that integrators advance: a single body, or a batch of bodies with identical control flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .forces import TERMS, Affine, Rotation
from .integrators import ONE_BY_ONE, SCHEMES, STARTS, NotConverged
from .vector import Vector

if TYPE_CHECKING:
    from .stepper import Stepper


class Body:
    """One independent body, or a batch of bodies with identical control flow, during the steps of a call.

    In a batch, index is an array, and each component is a column with one number per body.
    """

    def __init__(self, stepper: Stepper, index: Any, needs_start: bool = False):
        plan = stepper._plan
        self.index = index
        self.real = real = plan.dtype.type
        self.x, self.v = self._state(stepper._position), self._state(stepper._velocity)
        self.history: Any = self._state(stepper._history) if stepper._started and stepper._history is not None else None
        self.needs_start = needs_start  #: whether the body was spawned after the last step
        self.integrator = plan.integrator
        self.velocity_dependent = plan.velocity_dependent
        self.constrained = bool(plan.constraint_records)
        self.tick = stepper.tick
        self.h = real(stepper._h)
        self.last_h = real(stepper._last_h)
        self.epsilon = real(np.finfo(plan.dtype).eps)
        self.smallest = real(np.finfo(plan.dtype).tiny / np.finfo(plan.dtype).eps)
        self.affine = Affine(
            plan.drag,
            plan.spring,
            self._state(np.broadcast_to(stepper._held, stepper._position.shape)),
            self.scalar(plan.c),
            self._vector(plan.w),
            self.scalar(plan.k),
            self._vector(plan.p),
        )
        self.terms = [
            TERMS[record.kind](**{name: self._coefficient(field) for name, field in record.fields.items()})
            for record in plan.records
        ]
        self.decay = None if stepper._decay is None else self.scalar(stepper._decay)
        self.rotation = None
        if stepper._turn is not None:
            self.rotation = Rotation(*(self._coefficient(row) for row in stepper._turn))
        self.flow = None if stepper._flow is None else [self.scalar(row) for row in stepper._flow]
        if stepper._composition is not None:
            self.composition = [[real(number) for number in row] for row in stepper._composition]
        self.evaluations = 0
        self.done = 0
        self.failure: tuple[int, float] | None = None  #: (body, residual) of a step that did not converge
        self._kept: Vector | None = None
        self.completed = self.x, self.v, self.history

    def run(self, n: int) -> None:
        """Run n steps; stop early if one does not converge, or makes the state non-finite."""
        self.begin()
        while self.done < n and self.finite:
            try:
                self.step(self.h)
            except NotConverged as failure:
                residual, *which = failure.args
                self.failure = which[0] if which else self.index, float(residual)
                return
            self.complete()
            self.last_h = self.h

    @property
    def finite(self) -> bool:
        """Whether the state after the last step is finite; true before the first step."""
        return self.done == 0 or bool(np.isfinite([*self.x, *self.v]).all())

    def begin(self) -> None:
        """Initialize the history, if the scheme has one, as if the previous step had the length `last_h`."""
        start = STARTS.get(self.integrator.kind)
        if start is not None and (self.history is None or self.needs_start):
            start(self, self.last_h)
        self.needs_start = False

    def step(self, h: Any) -> None:
        """Run one step of the scheme between two half rotations of the velocity, see `turn`."""
        self.turn()
        SCHEMES[self.integrator.kind](self, h)
        self.turn()

    def complete(self) -> None:
        """Apply damping and count the step. With constraints, `System` applies damping after these."""
        if self.decay is not None and not self.constrained:
            self.damp(self.decay)
        self.count()

    def count(self) -> None:
        """Count a completed step, and save its state for recovery if a later step fails."""
        self.tick += 1
        self.done += 1
        self.completed = self.x, self.v, self.history

    def turn(self) -> None:
        """Rotate velocities by magnetic fields and frames for half a step; under Verlet also the last displacement."""
        if self.rotation is None:
            return
        self.v = self.rotation(self.v)
        if self.continues_positions:
            self.history = self.x - self.rotation(self.x - self.history)

    @property
    def continues_positions(self) -> bool:
        """Whether a step continues from the previous position, as in Verlet."""
        return self.integrator.history == "previous position"

    @property
    def span(self) -> Any:
        """Time span of the forces of a step: a constant acceleration a moves a body by h * span * a.

        It is h, but (h + last_h) / 2 under Verlet. There may have been steps of negative dt before the constraints.
        """
        return (self.h + self.last_h) / 2 if self.continues_positions and self.last_h > 0 else self.h

    def thermostatted(self, x: Vector, v: Vector, a: Vector) -> tuple[Vector, Vector]:
        """Apply the thermostat in mid-drift under `velocity_verlet`; independent bodies have none, see `System`."""
        return x, v

    def around(self, x: Vector, v: Vector, history: Any = None) -> tuple[Vector, Any]:
        """Wrap positions at the end of a drift; no effect on independent bodies, see `System`."""
        return x, history

    def a(self, x: Vector, v: Vector, after: Any = 0) -> Vector:
        """Compute the acceleration at `after` s after the last tick: the affine part, then other forces in order."""
        self.evaluations += 1
        return self.alone(x, v)

    def alone(self, x: Vector, v: Vector) -> Vector:
        """Compute the acceleration without interactions between bodies."""
        a = self.affine.acceleration(x, v)
        for term in self.terms:
            a = term.acceleration(a, x, v)
        return a

    def keep(self, a: Vector) -> Vector:
        """Cache an acceleration for the next step of this call, if nothing can change it."""
        self._kept = None if self.velocity_dependent or self.constrained else a
        return a

    def kept(self, x: Vector, v: Vector) -> Vector:
        """Return the acceleration at the start of a step, from the cache if possible."""
        return self.a(x, v) if self._kept is None else self._kept

    def jacobian(self, x: Vector, v: Vector):
        """Return the Jacobians of the acceleration by position and by velocity."""
        by_x, by_v = self.affine.jacobian(len(x))
        for term in self.terms:
            term.jacobian(by_x, by_v, x, v)
        return by_x, by_v

    def potential_difference(self, x: Vector, y: Vector):
        """Return the potential per unit mass at y minus that at x."""
        dphi = self.affine.potential_difference(x, y)
        for term in self.terms:
            dphi = term.potential_difference(dphi, x, y)
        return dphi

    def damp(self, decay) -> None:
        """Apply v *= exp(-rate h); under Verlet, damp the displacement from the previous position, too."""
        self.v = decay * self.v
        if self.continues_positions:
            self.history = self.x - decay * (self.x - self.history)

    def _state(self, rows: np.ndarray) -> Vector:
        """Return the body's rows of an array with one row per body."""
        return Vector(rows[self.index].T)

    # Arrays of a plan have one row for all bodies, or one row per body.

    def scalar(self, rows: np.ndarray) -> Any:
        return rows[self.index if len(rows) > 1 else 0].astype(self.real)

    def _vector(self, rows: np.ndarray) -> Vector:
        return Vector(self.scalar(rows).T)

    def _coefficient(self, rows: np.ndarray):
        return self.scalar(rows) if rows.ndim == 1 else self._vector(rows)


#: Up to this number of bodies, stepping them one by one is faster than in a batch.
FEW = 4


def bodies(stepper: Stepper) -> list[Body]:
    """Return the independent active bodies, in batches of identical control flow where that is faster."""
    slots = stepper._slots
    alive = np.arange(stepper.n) if slots is None else np.flatnonzero(slots.alive)
    needs_start = np.zeros(stepper.n, np.bool_) if slots is None else slots.needs_start[: stepper.n] != 0
    if len(alive) <= FEW or stepper.integrator.kind in ONE_BY_ONE:
        return [Body(stepper, index, bool(needs_start[index])) for index in alive.tolist()]
    groups = [(alive[needs_start[alive] == age], age) for age in (False, True)]
    return [Body(stepper, group, age) for group, age in groups if len(group)]
