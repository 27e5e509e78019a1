"""Implicit Euler with forces between bodies: one system of equations for all velocities.

f(u) = u - v - h a(x + h u, u) = 0 is solved by Newton's method. The matrix of each iteration, J = 1 - h (da/dv + h
da/dx), is never stored: only products J p are needed (Baraff, Witkin 1998; Knoll, Keyes 2004). Inner products are
weighted by the masses: if all forces have a potential, J is symmetric in this inner product.

The linear solver is Orthomin (Vinsome 1976; Saad 2003, Iterative Methods, 6.9). For symmetric J it is the conjugate
residual method. Compressed springs can make J indefinite: iteration then stops, and the result so far is still a
descent direction (Dembo, Steihaug 1983). There is no line search: shorter steps do not help stiff springs. A full step
is wrong because it is straight, and the next iteration corrects that.
"""

from __future__ import annotations

from .callbacks import TANGENTS
from .integrators import NotConverged
from .vector import Vector, dot, flat, largest, split

KEPT = 8  # number of previous directions to which a new one is made orthogonal
MOST_PRODUCTS = 1000  # maximum number of products J p per linear system
SHARE = 0.01  # a linear solve reduces the residual to this share, or less strictly near the end
SUMS = 16  # partial sums; at least the number of lanes of any vector


def implicit_euler(system, h):
    """Solve f(u) = 0 for the new velocities u, and advance with them."""
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
        # Always correct the first guess: for fast bodies any force would seem negligible.
        if iteration > 0 and residual <= goal:
            break
        if iteration == limit:
            raise NotConverged(residual, worst(flat(f)) // system.dim)
        share = goal / residual / 4
        share = share if iteration > 0 and share > SHARE else real(SHARE)
        tangent = Tangent(system, h, y, u, far, scale)
        displacement = residual * orthomin(tangent, f / residual, share)
        slope = tangent.slope
        y, u, a, f = evaluate(system, h, u - displacement)
    system.x, system.v = y, u


def evaluate(system, h, u):
    """Return (y, u, a, f): positions and accelerations for velocities u, and the residual."""
    y = system.x + h * u
    a = system.a(y, u, h)
    return y, u, a, u - system.v - h * a


class Tangent:
    """J at (y, u): matrices for the forces on single bodies, functions for interactions."""

    def __init__(self, system, h, y, u, far, fast):
        self.system, self.h = system, h
        self.slope = system.real(0)  #: maximal ratio of the change of f to that of u in the products so far
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
        """Return J p: p minus h times the change of the accelerations by dv = p and dx = h p."""
        system, h = self.system, self.h
        dx, dv = split(h * p), split(p)
        total = system.joined(
            [Vector([dot(row, d) for row in matrix]) for matrix, d in zip(self.matrices, dv, strict=True)]
        )
        for interaction, change in self.interactions:
            total = total + system.scalar(interaction.factor) * system.joined(change(dx, dv))
        change = system.of_movable(total)
        slope = largest(change) / largest(p)
        self.slope = slope if slope > self.slope else self.slope
        return p - h * change


def orthomin(tangent, b, share):
    """Return w with |b - J w| <= share |b|, or the best approximation reached; |b| is about 1."""
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
        if not inner(system, p, q) > 0:  # J is not positive definite, or NaN
            return r if number == 0 else w
        norm = inner(system, q, q)
        s = inner(system, r, q) / norm
        w, r = w + s * p, r - s * q
        rest = inner(system, r, r)
        kept = [*kept, (p, q, norm)][-KEPT:]
    return w


def inner(system, p, q):
    """Return the sum of m p q, by SUMS partial sums per component, added in order. m: mass / largest mass."""
    total = system.real(0)
    for a, b in zip(p, q, strict=True):
        sums = [system.real(0)] * SUMS
        for i, number in enumerate(system.weights * (a * b)):
            sums[i % SUMS] = sums[i % SUMS] + number
        for number in sums:
            total = total + number
    return total


def worst(f):
    """Return the index of the largest component by magnitude; of the first NaN, if there is one."""
    place = 0
    for i, number in enumerate(f):
        if number != number:
            return i
        if abs(number) > abs(f[place]):
            place = i
    return place
