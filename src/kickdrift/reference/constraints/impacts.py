"""What restitution leaves where bodies of `Contacts` meet: the speed at the touch counts, not that before the step."""

from __future__ import annotations

from ..vector import dot, sqrt


def meet(contact, closing, gap, h, given, count, lead, ahead):
    """They come to touch, and come together so fast in this substep: how fast do they meet, and what pulls them?

    Under a steady pull the square of the speed less 2 pull gap / h does not change. Here it is that of semi-implicit
    Euler, where the speed that goes with a place is half a pull off; that of the step's beginning is the integrator's.

    contact.speed: that before the step; given: the substeps whose forces it has been given; lead: how many its velocity
    is ahead by, as the integrator has it; ahead: have bodies moved with it, too?
    """
    most = contact.slow / count
    pull = (closing - contact.speed) / given  # of a substep; others may have pushed
    pull = pull if pull < most else most
    pull = pull if pull > -most else -most
    start = closing - given * pull
    now = closing + pull / 2 if ahead else closing - pull / 2
    book, ours = start + lead * pull, start + pull / 2
    square = now * now + 2 * (pull / h) * gap + (book * book - ours * ours)
    contact.pull = pull
    contact.speed = sqrt(square) if square > 0 else 0 * square


def bounce(contact, p, u, h, lead):
    """What restitution leaves of the speed at which they met, where that is more than the forces of a step give.

    They stay together until the end of the step. The speed is that for the place where they are then.
    """
    if contact.restitution > 0 and contact.speed > contact.slow and contact.most > 0:
        i, j, n = contact.i, contact.j, contact.n
        gap = dot(p[j] - p[i], n) - contact.size
        left = contact.restitution * contact.speed
        square = left * left - 2 * (contact.pull / h) * gap
        apart = (sqrt(square) if square > 0 else 0 * square) + lead * contact.pull
        wanted = contact.push - contact.mass * (dot(u[j] - u[i], n) - apart)
        push = wanted if wanted > 0 else 0 * wanted
        change = push - contact.push
        contact.push = push
        apply(u, i, j, contact.w_i, contact.w_j, change * n)


def goes_on(contact, u):
    """Do they push at the end of the step, so that the next one begins with it? Not after an impact: they part."""
    parts = contact.restitution > 0 and dot(u[contact.j] - u[contact.i], contact.n) > contact.slow
    return contact.push > 0 and not parts


def apply(u, i, j, w_i, w_j, impulse):
    if w_i > 0:
        u[i] = u[i] - w_i * impulse
    if w_j > 0:
        u[j] = u[j] + w_j * impulse
