"""The rotation of discs and spheres. Their inertia is equal about all axes, therefore axes are not coupled.

A step applies torques, then the step of the positions with its constraints, which may change angular velocities, then
updates the angles and applies damping. Angular velocities are copies until the step is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .vector import Vector, dot, sqrt

if TYPE_CHECKING:
    from .stepper import Stepper


class Turning:
    """The rotation of all bodies during one step."""

    def __init__(self, stepper: Stepper):
        plan, rotation = stepper._plan, stepper._rotation
        assert rotation is not None
        self.rotation = rotation
        self.real = real = plan.dtype.type
        self.h = real(stepper._h)
        self.decay = stepper._spin_decay
        slots = stepper._slots
        self.living = range(stepper.n) if slots is None else np.flatnonzero(slots.alive).tolist()
        #: Angular velocity of each body in rad/s: a number in the plane, a vector in space. Constraints change it.
        self.angular_velocity: list[Any] = [numbers_of(row) for row in rotation.velocity]
        #: 1/I of each body; 0 where its mass or inertia is infinite.
        self.inverse_inertia: list[Any] = list(rotation.inverse_of(plan))
        torques = [torque.reshape(stepper.n, -1) for torque in plan.torques]
        for i in self.living:
            if torques and self.inverse_inertia[i] > 0:
                acceleration, *more = (self.inverse_inertia[i] * numbers_of(torque[i]) for torque in torques)
                for other in more:
                    acceleration = acceleration + other
                self.angular_velocity[i] = self.angular_velocity[i] + self.h * acceleration

    def complete(self) -> None:
        """Update the angles by the present angular velocities, apply damping, and store angles and velocities."""
        for i in self.living:
            w = self.angular_velocity[i]
            row = self.rotation.turned[i]
            row[:] = row[0] + self.h * w if self.rotation.dim == 2 else turned(numbers_of(row), w, self.h, self.real)
            if self.decay is not None:
                w = self.decay[i if len(self.decay) > 1 else 0] * w
            self.rotation.velocity[i] = w


def numbers_of(row: np.ndarray) -> Any:
    """Return the row's number in the plane, or its vector in space."""
    return row[0] if len(row) == 1 else Vector(row)


def turned(q: Vector, w: Vector, h: Any, real: type) -> Vector:
    """Rotate the quaternion q by the angular velocity w, in world axes, for a time h.

    The exact factor is (cos x, sin x w/|w|), x = h |w| / 2. It is parallel to (1, tan x w/|w|); tan is a series here.
    The relative error of the angle is 5e-11 at h |w| = 1/6.
    """
    half = h / 2
    x2 = half * half * dot(w, w)
    u = half * (1 + x2 * (1 / real(3) + x2 * (2 / real(15) + x2 * (17 / real(315))))) * w
    a, b, c, d = q
    q = Vector(
        (
            a - (u[0] * b + u[1] * c + u[2] * d),
            b + (u[0] * a + (u[1] * d - u[2] * c)),
            c + (u[1] * a + (u[2] * b - u[0] * d)),
            d + (u[2] * a + (u[0] * c - u[1] * b)),
        )
    )
    # Normalize: the product has the length of q times sqrt(1 + u u), and rounding errors would accumulate.
    return q / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
