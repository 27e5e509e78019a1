"""The equation of each force, for one body; accelerations also for a batch, whose components are columns.

A force is a class of up to three methods over the coefficients of its plan record: the acceleration;
its Jacobians by position and velocity, for the implicit method; the difference in potential between
two positions, for the energy-conserving method. Matrices are lists of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..declaration import require_entries
from ..forces.base import FieldTerm
from .vector import Number, Vector, dot, quotient, sqrt

TERMS: dict[str, type] = {}


def formulas_of(kind):
    """Make a class a dataclass and register it for a kind of force."""

    def entered(cls):
        TERMS[kind] = dataclass(cls)
        return cls

    return entered


@formulas_of("point_gravity")
class PointGravity:
    """a = -mu d / (|d|² + e²)^(3/2), d = x - center; zero where |d|² + e² is zero."""

    mu: Number
    e2: Number
    center: Vector

    def acceleration(self, a, x, v):
        d = x - self.center
        q = dot(d, d) + self.e2
        return a - quotient(self.mu, q * sqrt(q)) * d

    def jacobian(self, by_x, by_v, x, v):
        d = x - self.center
        q = dot(d, d) + self.e2
        cube = q * sqrt(q)
        s = quotient(self.mu, cube)
        u = quotient(3 * s, q)
        for i in range(len(x)):
            for j in range(len(x)):
                by_x[i][j] = by_x[i][j] + u * d[i] * d[j]
            by_x[i][i] = by_x[i][i] - s

    def potential_difference(self, dphi, x, y):
        return dphi - (self._well(y) - self._well(x))

    def _well(self, x):
        d = x - self.center
        r = sqrt(dot(d, d) + self.e2)
        return quotient(self.mu, r)


@formulas_of("quadratic_drag")
class QuadraticDrag:
    """a = -c |u| u, u = v - w."""

    c: Number
    w: Vector

    def acceleration(self, a, x, v):
        u = v - self.w
        return a - self.c * sqrt(dot(u, u)) * u

    def jacobian(self, by_x, by_v, x, v):
        u = v - self.w
        r = sqrt(dot(u, u))
        f = quotient(self.c, r)
        for i in range(len(x)):
            for j in range(len(x)):
                by_v[i][j] = by_v[i][j] - f * u[i] * u[j]
            by_v[i][i] = by_v[i][i] - self.c * r


@formulas_of("vortex")
class Vortex:
    """a = s t / (|t|² + e²), t = axis x (x - center); zero on the axis."""

    s: Number
    e2: Number
    center: Vector
    axis: Vector

    def acceleration(self, a, x, v):
        t = self._cross(x - self.center)
        q = dot(t, t) + self.e2
        return a + quotient(self.s, q) * t

    def jacobian(self, by_x, by_v, x, v):
        t = self._cross(x - self.center)
        q = dot(t, t) + self.e2
        f = quotient(self.s, q)
        g = quotient(2 * f, q)
        rows = self._matrix(len(x))
        b = self._cross(t)  # negative transpose times t
        for i in range(len(x)):
            for j in range(len(x)):
                by_x[i][j] = by_x[i][j] + f * rows[i][j] + g * t[i] * b[j]

    def _cross(self, r):
        """Return axis x r; in the plane the axis is z."""
        if len(r) == 2:
            return Vector([-r[1], r[0]])
        u = self.axis
        return Vector([u[1] * r[2] - u[2] * r[1], u[2] * r[0] - u[0] * r[2], u[0] * r[1] - u[1] * r[0]])

    def _matrix(self, dim):
        """Return the matrix of `_cross`."""
        u, zero = self.axis, 0 * self.s
        if dim == 2:
            return [[zero, -u[2]], [u[2], zero]]
        return [[zero, -u[2], u[1]], [u[2], zero, -u[0]], [-u[1], u[0], zero]]


@formulas_of("centrifugal")
class Centrifugal:
    """a = w x (d x w) = w² d - (w d) w, d = x - center; in 2-D w is normal to the plane."""

    share: Number
    w2: Number
    center: Vector
    omega: Vector

    def acceleration(self, a, x, v):
        return a + self.share * self._outward(x)

    def jacobian(self, by_x, by_v, x, v):
        for i in range(len(x)):
            if len(x) == 3:
                for j in range(3):
                    by_x[i][j] = by_x[i][j] - self.share * (self.omega[i] * self.omega[j])
            by_x[i][i] = by_x[i][i] + self.share * self.w2

    def potential_difference(self, dphi, x, y):
        """Subtract the work from x to y. The force is linear in x, therefore its midpoint value is exact."""
        return dphi - self.share * dot(self._outward((x + y) / 2), y - x)

    def _outward(self, x):
        d = x - self.center
        if len(x) == 2:
            return self.w2 * d
        return self.w2 * d - dot(self.omega, d) * self.omega


require_entries(__name__, TERMS, FieldTerm)


#: Least s = 1 + cos(angle) of a rotation for which `Rotation.of_impulse` uses the tangent of the angle: 60 degrees.
LEAST = 1.5


@dataclass
class Rotation:
    """v + s (v + v x t) x t, s = 2 / (1 + t²): v rotated about t by -2 atan |t|, right-hand rule (Boris 1970)."""

    t: Vector
    s: Number

    def __call__(self, v):
        return v + self.s * self._cross(v + self._cross(v))

    def of_impulse(self, impulse):
        """Return the velocity that a rotation about t adds to an impulse: impulse x t, by the tangent of the angle.

        It is perpendicular to the impulse. So a velocity that the impulse has made tangential stays so, and gravity and
        the force of a floor, both rotated, still cancel. Large angles: the sine, because the tangent has a pole.
        """
        share = np.where(self.s > LEAST, self.s / (self.s - 1), self.s)
        return share * self._cross(impulse)

    def _cross(self, v):
        t = self.t
        if len(v) == 2:
            return Vector([v[1] * t[2], -(v[0] * t[2])])
        return Vector([v[1] * t[2] - v[2] * t[1], v[2] * t[0] - v[0] * t[2], v[0] * t[1] - v[1] * t[0]])


@dataclass
class Affine:
    """a = g - c (v - w) - k (x - p): gravity, linear drag and anchored springs, merged."""

    drag: bool
    spring: bool
    g: Vector
    c: Number
    w: Vector
    k: Number
    p: Vector

    def acceleration(self, x, v):
        a = self.g
        if self.drag:
            a = a - self.c * (v - self.w)
        if self.spring:
            a = a - self.k * (x - self.p)
        return a

    def jacobian(self, dim):
        """Return the Jacobians (by_x, by_v), to which the other forces are added."""
        zero = 0 * self.k
        by_x = [[-self.k if i == j and self.spring else zero for j in range(dim)] for i in range(dim)]
        by_v = [[-self.c if i == j and self.drag else zero for j in range(dim)] for i in range(dim)]
        return by_x, by_v

    def potential_difference(self, x, y):
        """Return minus the work from x to y. The force is linear, therefore its midpoint value is exact."""
        a = self.acceleration((x + y) / 2, None)
        return -dot(a, y - x)
