"""Forces between bodies: springs, pair potentials, and gravity among all bodies.

Each is an interaction as in `callbacks.py`. Forces on a body are summed in a fixed order, starting from zero.
"""

from __future__ import annotations

import numpy as np

from .formulas import evaluate
from .vector import Vector, dot, later, quotient, sqrt, stacked


def springs(system, interaction, t, x, v):
    """Return the accelerations of springs: F = (k (L - rest) + c L') d / L on body i, -F on body j; d = x_j - x_i."""
    forces = [zero(system) for _ in x]
    for (i, j), k, rest, c in coefficients(system, interaction):
        d = system.space.nearest(x[j] - x[i])
        length = sqrt(dot(d, d))
        f = k * (length - rest)
        if interaction.term.velocity_dependent:
            f = f + c * quotient(dot(v[j] - v[i], d), length)
        f = quotient(f, length)
        forces[i] = forces[i] + f * d
        forces[j] = forces[j] - f * d
    return forces


def n_body(system, interaction, t, x, v):
    """Return a_i = sum of mu_j d / (|d|² + e²)^(3/2), d = x_j - x_i, in order of j; the body itself contributes 0."""
    mu, e2 = numbers(system, interaction, "mu", len(x)), system.real(interaction.fields["e2"][0])
    accelerations = []
    for i in range(len(x)):
        a = zero(system)
        for j in range(len(x)):
            if system.alive[j]:
                d = x[j] - x[i]
                q = dot(d, d) + e2
                a = a + quotient(mu[j], q * sqrt(q)) * d
        accelerations.append(a)
    return accelerations


def pair_potential(system, interaction, t, x, v):
    """Return the accelerations: s d on the first of each pair within the cutoff, s = V'(r) / r, d = x_j - x_i."""
    cutoff = system.real(interaction.fields["cutoff"][0])
    known = {name: system.real(field[0]) for name, field in interaction.fields.items() if name != "cutoff"}
    forces = [zero(system) for _ in x]
    places = stacked(x)
    seen = system.alive & system.space.seen(places)
    for i in np.flatnonzero(seen).tolist():
        displacements = system.space.nearest(places - x[i])
        squares = dot(displacements, displacements)
        near = seen & (squares > 0) & (squares < cutoff * cutoff)
        for j in later(i, near):
            s = evaluate(interaction.term.operations, system.real, {"r": sqrt(squares[j]), **known})["x"]
            d = Vector([displacement[j] for displacement in displacements])
            forces[i] = forces[i] + s * d
            forces[j] = forces[j] - s * d
    return forces


def nothing(system, interaction, t, x, v):
    """Return zero accelerations for a thermostat, which acts outside of the sum of forces."""
    return [zero(system) for _ in x]


def nothing_tangent(system, interaction, t, x, v, far, fast):
    return lambda dx, dv: [zero(system) for _ in x]


def springs_tangent(system, interaction, t, x, v, far, fast):
    """Return the tangent of springs: dF n + F dn with n = d / L, tension F, and dn = (dd - n (n·dd)) / L."""

    def change(dx, dv):
        changes = [zero(system) for _ in x]
        for (i, j), k, rest, c in coefficients(system, interaction):
            d = system.space.nearest(x[j] - x[i])
            length = sqrt(dot(d, d))
            if not length > 0:
                continue
            n, dd = d / length, dx[j] - dx[i]
            along = dot(n, dd)
            across = (dd - along * n) / length
            tension = k * (length - rest)
            rise = k * along
            if interaction.term.velocity_dependent:
                u = v[j] - v[i]
                tension = tension + c * dot(u, n)
                rise = rise + c * (dot(dv[j] - dv[i], n) + dot(u, across))
            force = rise * n + tension * across
            changes[i] = changes[i] + force
            changes[j] = changes[j] - force
        return changes

    return change


def n_body_tangent(system, interaction, t, x, v, far, fast):
    """Return the tangent da_i = sum over j of mu_j (dd / r³ - 3 d (d·dd) / r⁵), r² = |d|² + e²."""
    mu, e2 = numbers(system, interaction, "mu", len(x)), system.real(interaction.fields["e2"][0])

    def change(dx, dv):
        changes = []
        for i in range(len(x)):
            a = zero(system)
            for j in range(len(x)):
                if j != i and system.alive[j]:
                    d, dd = x[j] - x[i], dx[j] - dx[i]
                    q = dot(d, d) + e2
                    cube = q * sqrt(q)
                    s = mu[j] / cube if cube > 0 else 0 * q
                    u = 3 * s * dot(d, dd) / q if cube > 0 else 0 * q
                    a = a + (s * dd - u * d)
            changes.append(a)
        return changes

    return change


def coefficients(system, interaction):
    """Return (i, j), k, rest, c for each spring between active bodies."""
    pairs = [(int(i), int(j)) for i, j in interaction.fields["pairs"]]
    springs = zip(pairs, *(numbers(system, interaction, name, len(pairs)) for name in ("k", "rest", "c")), strict=True)
    if system.slots is None:
        return list(springs)
    return [
        spring
        for spring, uncut in zip(
            springs, system.slots.uncut(interaction.fields["pairs"], interaction.fields.get("generations")), strict=True
        )
        if uncut
    ]


def numbers(system, interaction, name, n):
    """Broadcast a coefficient of a plan, with one row or n rows, to one number per item."""
    field = interaction.fields[name]
    return [system.real(field[i if len(field) > 1 else 0]) for i in range(n)]


def zero(system):
    return Vector([system.real(0)] * system.dim)
