"""Restitution of `Contacts`: it acts on the approach speed at the impact, not on that before the step."""

from __future__ import annotations

from ..vector import dot, sqrt
from .friction import cone, cross, slip


def collide(contact, closing, gap, h, given, count, behind, ahead):
    """Compute the approach speed at an impact in this substep, and the acceleration along the normal.

    Under constant acceleration, speed² - 2 pull gap / h is conserved; pull: change of the approach speed per substep.
    Substeps use semi-implicit Euler, whose velocity is off by pull / 2 at each position; the initial velocity of the
    step is that of the integrator.

    contact.speed: approach speed before the step. given: number of substeps whose forces the velocity includes. behind:
    number of substeps by which the integrator's velocity is behind its position. ahead: whether positions already
    include the displacement by `closing`.
    """
    most = contact.slow / count
    pull = (closing - contact.speed) / given  # per substep; impulses of other contacts may contribute
    pull = pull if pull < most else most
    pull = pull if pull > -most else -most
    start = closing - given * pull
    now = closing + pull / 2 if ahead else closing - pull / 2
    book, ours = start + behind * pull, start + pull / 2
    square = now * now + 2 * (pull / h) * gap + (book * book - ours * ours)
    contact.pull = pull
    contact.speed = sqrt(square) if square > 0 else 0 * square


def approach(contact, u):
    """Return the velocity of the second of two surfaces relative to the first, without the rotation of the bodies."""
    displacement = u[contact.j] - u[contact.i]
    return displacement if contact.surface is None else displacement + contact.surface


def bounce(contact, p, u, w, h, behind):
    """Apply restitution to impacts that are faster than the velocity change by the forces of a step.

    Bodies stay in contact until the end of the step, and bounce then, at a speed corrected for their positions at that
    time. Friction acts on this impulse, too.
    """
    if contact.restitution > 0 and contact.speed > contact.slow and contact.most > 0:
        i, j, n = contact.i, contact.j, contact.n
        gap = dot(p[j] - p[i], n) - contact.size
        left = contact.restitution * contact.speed
        square = left * left - 2 * (contact.pull / h) * gap
        apart = (sqrt(square) if square > 0 else 0 * square) + behind * contact.pull
        displacement = approach(contact, u)
        wanted = contact.push - contact.mass * (dot(displacement, n) - apart)
        push = wanted if wanted > 0 else 0 * wanted
        change = push - contact.push
        contact.push = push
        impulse = change * n
        if contact.friction > 0 and change > 0:
            along, mass = displacement - dot(displacement, n) * n, contact.mass
            if contact.spins:
                along, mass = slip(along, contact.arms[0] * w[i] + contact.arms[1] * w[j], n), mass * contact.share
            friction_impulse = cone(-mass * along, contact.friction * change)
            if contact.spins:
                turn(w, contact, friction_impulse)
            impulse = impulse + friction_impulse
        apply(u, i, j, contact.w_i, contact.w_j, impulse)


def goes_on(contact, u):
    """Return whether this contact warm-starts the next step: it is active, and does not separate."""
    parts = contact.restitution > 0 and dot(approach(contact, u), contact.n) > contact.slow
    return contact.push > 0 and not parts


def turn(w, contact, friction_impulse):
    """Change the angular velocities of both bodies by a friction impulse on the second one."""
    twist = cross(contact.n, friction_impulse)
    for k, turn_k in zip((contact.i, contact.j), contact.turns, strict=True):
        if turn_k > 0:
            w[k] = w[k] - turn_k * twist


def apply(u, i, j, w_i, w_j, impulse):
    """Apply an impulse to the second body, and its opposite to the first. w_i, w_j: inverse masses or inertias."""
    if w_i > 0:
        u[i] = u[i] - w_i * impulse
    if w_j > 0:
        u[j] = u[j] + w_j * impulse
