"""Implicit Euler with forces between bodies: one system of equations for all velocities.

    f(u) = u - v - h a(x + h u, u) = 0

is solved by Newton's method. The matrix of each of its steps, J = 1 - h (da/dv + h da/dx), is never
written down: J p is all that is asked for (Baraff, Witkin 1998; Knoll, Keyes 2004). Scalar products
are weighted with the masses: where forces have a potential, J is symmetric by them.

Linear systems are solved by Orthomin, which is the conjugate residual method where J is symmetric and
needs no symmetry otherwise: Vinsome 1976; Saad 2003, Iterative Methods, 6.9. Where springs are pressed,
J may bend the other way; what has been found until then still goes downhill: Dembo, Steihaug 1983.
Steps are not made shorter: what stiff springs resist to is not the step but that it is straight, and the
next one puts that right.
"""

from __future__ import annotations

from .callbacks import TANGENTS
from .integrators import NotConverged
from .vector import Vector, dot, flat, largest, split

KEPT = 8  # directions that a new one is made orthogonal to
MOST_PRODUCTS = 1000  # of one linear system
SHARE = 0.01  # of a residual may be left by one
SUMS = 16  # as many numbers as any lane holds


def implicit_euler(system, h):
    """Solve f(u) = 0 for the new velocities u, and move on with them."""
    v, real = system.v, system.real
    tolerance, limit = real(system.integrator.tolerance), system.integrator.max_iterations
    y, u, a, f = evaluate(system, h, v)
    slope = real(0)
    for iteration in range(limit + 1):
        residual = largest(f)
        if residual == 0:
            break
        scale = largest(u) + largest(v) + abs(h) * largest(a)
        far = largest(y) + abs(h) * largest(u)
        goal = tolerance * scale + 4 * system.epsilon * (scale + slope * far) + system.smallest
        # The first guess is never good enough: for fast bodies any force would seem negligible.
        if iteration > 0 and residual <= goal:
            break
        if iteration == limit:
            raise NotConverged(residual, worst(flat(f)) // system.dim)
        share = goal / residual / 4
        share = share if iteration > 0 and share > SHARE else real(SHARE)
        tangent = Tangent(system, h, y, u, far, scale)
        way = residual * orthomin(tangent, f / residual, share)
        slope = tangent.slope
        y, u, a, f = evaluate(system, h, u - way)
    system.x, system.v = y, u


def evaluate(system, h, u):
    """(y, u, a, f): where velocities u lead to, what bodies feel there, and what is left of the equation."""
    y = system.x + h * u
    a = system.a(y, u, h)
    return y, u, a, u - system.v - h * a


class Tangent:
    """J at (y, u): the terms of single bodies as small matrices, the interactions as functions."""

    def __init__(self, system, h, y, u, far, fast):
        self.system, self.h = system, h
        self.slope = system.real(0)  #: how strongly f reacts to y, as far as was seen
        self.matrices = []
        ys, us = split(y), split(u)
        for part, *state in zip(system.parts, ys, us, strict=True):
            by_x, by_v = part.jacobian(*state)
            self.matrices.append(
                [Vector([b + h * a for a, b in zip(*rows, strict=True)]) for rows in zip(by_x, by_v, strict=True)]
            )
        t = system.time(h)
        far = far if far > 0 else system.real(1)
        self.interactions = [
            (interaction, TANGENTS[interaction.kind](system, interaction, t, ys, us, far, fast))
            for interaction in system.plan.interactions
        ]

    def product(self, p):
        """J p: p less h times how accelerations change when velocities change by p, and places by h p."""
        system, h = self.system, self.h
        dx, dv = split(h * p), split(p)
        total = system.joined(
            [Vector([dot(row, d) for row in matrix]) for matrix, d in zip(self.matrices, dv, strict=True)]
        )
        for interaction, change in self.interactions:
            total = total + system.scalar(interaction.factor) * system.joined(change(dx, dv))
        change = system.of_the_living(total)
        slope = largest(change) / largest(p)
        self.slope = slope if slope > self.slope else self.slope
        return p - h * change


def orthomin(tangent, b, share):
    """w with |b - J w| <= share |b|, or as near as there is use in coming; |b| is about 1."""
    system = tangent.system
    w, r = system.real(0) * b, b
    rest = inner(system, r, r)
    goal = share * share * rest
    kept: list = []
    for number in range(MOST_PRODUCTS):
        if not rest > goal:
            break
        p, q = r, tangent.product(r)
        for before, image, norm in kept:
            s = inner(system, q, image) / norm
            p, q = p - s * before, q - s * image
        if not inner(system, p, q) > 0:  # downhill ends here; and where numbers do
            return r if number == 0 else w
        norm = inner(system, q, q)
        s = inner(system, r, q) / norm
        w, r = w + s * p, r - s * q
        rest = inner(system, r, r)
        kept = [*kept, (p, q, norm)][-KEPT:]
    return w


def inner(system, p, q):
    """The sum of m p q, in SUMS running sums per component, which are added at last."""
    total = system.real(0)
    for a, b in zip(p, q, strict=True):
        sums = [system.real(0)] * SUMS
        for i, number in enumerate(system.weights * (a * b)):
            sums[i % SUMS] = sums[i % SUMS] + number
        for number in sums:
            total = total + number
    return total


def worst(f):
    """The place of the largest component; of what is no number the first."""
    place = 0
    for i, number in enumerate(f):
        if number != number:
            return i
        if abs(number) > abs(f[place]):
            place = i
    return place
