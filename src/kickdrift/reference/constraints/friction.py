"""Friction between surfaces, and the rotation of bodies by friction: one law for all constraints.

For bodies A and B with unit normal n from A to B, the slip velocity is the tangential part of v_B - v_A - (r_A w_A +
r_B w_B) x n. A tangential impulse P on B, and -P on A, changes the slip by (1/m_A + 1/m_B + r_A² / I_A + r_B² / I_B) P:
for discs and spheres this factor is a number. Angular velocities w change by -r (n x P) / I each. Walls and shapes may
have a surface velocity, which enters in place of v.

Angular velocities and angular momenta are numbers in the plane, counter-clockwise, and vectors in space.
"""

from __future__ import annotations

from ..vector import Vector, dot, sqrt


def cross(a, b):
    """Return the vector product; in the plane, a number stands for a vector normal to the plane."""
    if not isinstance(a, Vector):
        return Vector([-a * b[1], a * b[0]])
    if len(a) == 2:
        return a[0] * b[1] - a[1] * b[0]
    return Vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def slip(along, spin, n):
    """Return the slip velocity. along: tangential relative velocity; spin: r_A w_A + r_B w_B, None without rotation."""
    return along if spin is None else along - cross(spin, n)


def running(belt, n):
    """Return the surface velocity of a belt with normal n. belt: speed along (-n_y, n_x) in the plane, and a vector."""
    v = Vector(belt[1:])
    v = v - dot(v, n) * n
    return v + belt[0] * Vector([-n[1], n[0]]) if len(v) == 2 else v


def cone(v, limit):
    """Clamp a vector or number to Coulomb's limit, by length: clamping components would change the direction."""
    square = dot(v, v) if isinstance(v, Vector) else v * v
    return limit / sqrt(square) * v if square > limit * limit else v


def friction_impulse(system, i, r, weight, n, along, limit, belt=None):
    """Return the velocity that friction with a surface takes from a body of radius r; also change its rotation.

    n: normal towards the body. along: tangential velocity. limit: of the velocity change. belt: see `running`.
    """
    if belt is not None:
        along = along - running(belt, n)
    if system.angular_velocity is None:
        return cone(along, limit)
    turn = r * system.inverse_inertia[i]
    lost = cone(weight / (weight + r * turn) * slip(along, r * system.angular_velocity[i], n), limit)
    spin_by(system, i, r, weight, n, lost)
    return lost


def spin_by(system, i, r, weight, n, lost):
    """Change the rotation of a body by a friction impulse that removes the velocity `lost`."""
    if system.angular_velocity is not None:
        turn = r * system.inverse_inertia[i]
        system.angular_velocity[i] = system.angular_velocity[i] + turn / weight * cross(n, lost)
