"""Exact rotations of velocities: magnetic fields and rotating frames.

The forces are v x w, perpendicular to the velocity: they rotate it and do no work. As part of the acceleration they
would be integrated like drag, which changes the energy. Instead each step is split into a rotation by h/2, the step of
the integrator under all other forces, and a rotation by h/2 (Strang 1968). The rotation keeps |v| to rounding at any
dt. Methods of order 2 and above, except `verlet`, are of order 2. With `velocity_verlet` that is Boris' method (1970),
with the exact angle.

The impulses of constraints belong to the step between the rotations, as all other forces do, but constraints act on
the velocities after both. Therefore the impulses of rods, walls and shapes are rotated afterwards (`turn_impulses` in
kickdrift/reference/system.py). Elsewhere, beside friction and `Contacts`, the order is 1, because the rotation deflects
velocities that the constraint removes later in the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import validation
from ..declaration import declaration, numbers
from .base import FieldTerm, Term

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan


def _axes(term: Term, plan: Plan, name: str, per_body: bool) -> np.ndarray:
    """Return vectors of shape (1, 3) or (n, 3); in two dimensions scalars become vectors along z."""
    label = f"{type(term).__name__}({name})"
    value = getattr(term, name)
    if plan.dim == 1:
        raise ValueError(f"{type(term).__name__}: expected dim 2 or 3, got 1 (nothing turns on a line)")
    if plan.dim == 2:
        along_z = validation.per_body(label, value, plan.n if per_body else 1)
        return np.stack([np.zeros_like(along_z), np.zeros_like(along_z), along_z], axis=1)
    if value.ndim == 0 or value.shape[-1] != 3:
        raise ValueError(f"{label}: expected shape (3,){' or (n, 3)' if per_body else ''}, got {value.shape}")
    return validation.per_body_vectors(label, value, plan.n if per_body else 1, 3)


@declaration()
class Magnetic(Term):
    """The force of a uniform magnetic field on charges: F = q v x B (Lorentz), by exact rotations (Boris 1970).

    charge: q in C, scalar or (n,). field: B in T, shape (3,) or (n, 3); in two dimensions the component out of the
    plane, scalar or (n,).

    It does no work: its potential is 0, and |v| is constant to rounding at any dt. For an electric field add an
    `Acceleration`, `Gravity(q / m * E)` or an `Expression`. With `velocity_verlet` this is Boris' method with the exact
    angle |q B / m| dt. With all other methods of order 2 and above, except `verlet`, it is of order 2. When dt is set,
    the rotations are prepared: this takes some 30 microseconds for each different q B / m.

    This also holds beside `Distance`, and walls and shapes without friction. A charge that rests on a floor or hangs on
    a rod stays at rest, and one that slides on a floor keeps its speed, to rounding. A bob that circles on a rod of 1 m
    at 2 m/s has lost 0.08 % of its speed after 10 s at 60 Hz, 0.001 % at 240 Hz (q B / m = 3 rad/s). Charges in an
    elastic `Box` keep their energy to rounding; under gravity they lose 1.4 % in a minute at 60 Hz, 0.07 % at 240 Hz.

    Beside friction, `Contacts`, and on the edge of two walls in space it is of order 1, and does work. Without friction
    a ball at rest in `Contacts` drifts with 1.4 m/s after 10 s at 60 Hz, with 0.4 m/s at 240 Hz (2 rad/s). With
    `semi_implicit_euler`, `implicit_euler` and `verlet` that bob slows to 1.77 m/s in 1 s at 60 Hz, to 1.94 at 240 Hz.
    The same force as an `Expression` is of order 1 beside all constraints. Choose a smaller dt.

    >>> import kickdrift as kd
    >>> electron = kd.Stepper([[1.0, 0.0]], [[0.0, 2.0]], dt=0.01, forces=[kd.Magnetic(charge=-2.0, field=1.0)])
    >>> electron.step(157)  # half a turn takes pi / 2 s
    >>> electron.position.round(2).tolist(), round(electron.energy()[0], 12)
    ([[-1.0, 0.0]], 2.0)
    """

    alone = True

    charge: ArrayLike = numbers(per_body="number")
    field: ArrayLike = numbers()
    conservative: ClassVar[bool] = True  # it does no work

    def compile(self, plan: Plan) -> None:
        rate = self._scalars(plan, "charge") * plan.inverse_mass
        plan.add_rotation(rate[:, None] * _axes(self, plan, "field", per_body=True))

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        return np.zeros(1)


@declaration()
class RotatingFrame(FieldTerm):
    """Coriolis and centrifugal acceleration in a rotating frame: a = 2 v x w + w x ((x - c) x w).

    omega: w in rad/s, shape (3,); in two dimensions a number, positive counter-clockwise. center: c in m, a point of
    the axis, 0 or (dim,).

    The Coriolis part is an exact rotation of velocities, see `Magnetic`. The centrifugal part is a force with the
    potential -m |w x (x - c)|² / 2. Not divided by mass. Infinitely heavy bodies are not affected. Beside constraints
    it behaves as `Magnetic`: Foucault's pendulum on a `Distance` is of order 2.

    >>> import kickdrift as kd
    >>> puck = kd.Stepper([[1.0, 0.0]], [[0.0, -1.0]], dt=0.01, forces=[kd.RotatingFrame(1.0)])
    >>> puck.step(157)  # at rest outside: here it circles clockwise, once in 2 pi s
    >>> puck.position.round(2).tolist()
    [[0.0, -1.0]]
    """

    omega: ArrayLike = numbers()
    center: ArrayLike = numbers(default=0.0, place=True)
    kind = "centrifugal"
    conservative: ClassVar[bool] = True

    def compile(self, plan: Plan) -> None:
        omega = _axes(self, plan, "omega", per_body=False)
        plan.add_rotation(2 * omega * plan.mobility[:, None])
        center = np.asarray(self.center)
        if center.ndim and center.shape != (plan.dim,):
            raise ValueError(f"RotatingFrame(center): expected 0 or shape ({plan.dim},), got {center.shape}")
        plan.add_record(
            self.kind,
            self,
            share=plan.mobility,
            w2=(omega * omega).sum(axis=1),
            center=self._vectors(plan, "center"),
            omega=omega,
        )

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        omega = _axes(self, plan, "omega", per_body=False)
        away = np.zeros((plan.n, 3))
        away[:, : plan.dim] = position - self._vectors(plan, "center")
        speed = np.cross(omega, away)
        return -plan.finite_mass * (speed * speed).sum(axis=1) / 2
