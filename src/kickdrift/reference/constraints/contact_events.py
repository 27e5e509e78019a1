"""Events of `Contacts`: contacts with an impulse, and sensor contacts between bodies, walls and shapes."""

from __future__ import annotations

from ..vector import Vector, dot
from .collisions import report_sensor
from .impacts import approach


def report_contacts(system, found, p, u, radius):
    """Record the contacts that had an impulse in the step, and overlaps without one, as after a teleport."""
    n = system.n
    for contact in found:
        impulse = contact.total + contact.push
        if not impulse > 0:
            report_overlap(system, contact, p, radius)
            continue
        closing = -dot(approach(contact, u), contact.n)
        if closing > 0 and not contact.known:
            impulse = impulse + contact.mass * closing  # unfinished impact: add the impulse that would stop the bodies
        left = contact.time_since if closing < 0 or not contact.push > 0 else system.real(-1)
        system.report(
            *pair_of(contact, n), contact.time_since, left, contact.fast, contact.slow, impulse, contact.point,
            contact.displacement,
        )  # fmt: skip


def report_overlap(system, contact, p, radius):
    """Record a contact without an impulse from the beginning of the step on, if the bodies overlap after the step.

    Of two shapes that join, the one that another covers has no contact.
    """
    gap = dot(p[contact.j] - p[contact.i], contact.n) - contact.size
    if gap < 0 and contact.along > 0:
        zero, point = system.real(0), p[contact.i] + radius[contact.i] * contact.n
        system.report(*pair_of(contact, system.n), system.h, zero, zero, zero, zero, point, contact.n)


def pair_of(contact, n):
    """Return the two slots of a contact, -1 - number for a wall or shape."""
    return contact.i, contact.j if contact.j < n else n - 1 - contact.j


def report_sensors(system, sensed, before, x, radius, normal, offset, level):
    """Record the sensor contacts (i, j) of two bodies, or of a body with a wall or shape."""
    n, beyond = len(x), len(x) + len(offset)
    for i, j in sensed:
        if j < n:
            went = {k: (x[k] - before[k]) / system.h for k in (i, j)}
            report_sensor(system, system.space.nearest(x[j] - x[i]), went[j] - went[i], x, went, i, j, radius)
        elif level is not None and j >= beyond:
            report_sensor_shape(system, level, before[i], x[i], i, j - beyond, n - 1 - j, radius[i])
        else:
            report_sensor_wall(system, before[i], x[i], i, n - 1 - j, Vector(normal[j - n]), offset[j - n], radius[i])


def report_sensor_wall(system, before, x, i, number, normal, offset, r):
    """Record the sensor contact of a body with a wall, assuming straight motion in the step.

    A body in contact since before the step has speed 0.
    """
    size = offset + r
    depth, first, zero = size - dot(normal, x), size - dot(normal, before), system.real(0)
    speed, left = (depth - first) / system.h, zero
    if first > 0:
        time_since, left = system.h, zero if depth >= 0 else depth / speed
        speed = zero
    elif depth >= 0 and speed > 0:
        time_since = depth / speed
    else:
        return
    displacement = -1 * normal
    system.report(
        i,
        number,
        time_since,
        left,
        speed,
        zero,
        zero,
        x - time_since / system.h * (x - before) + r * displacement,
        displacement,
    )


def report_sensor_shape(system, level, before, x, i, shape, number, r):
    """Record the sensor contact of a body with a shape, assuming straight motion in the step."""
    part, a, b = level.known[shape]
    shapes = level.parts[part]
    if shapes.motion is not None:  # make `before` relative to the present position of the shape
        before = shapes.motion.along(shape - int(level.begin[part]), 0.0, shapes.motion.h, before)
    motion = x - before
    if not shapes.away(before, a, b)[0] >= shapes.reach[i]:
        return
    share = shapes.touch(before, motion, shapes.reach[i], a, b, through=False)
    if share is None:
        return
    at, zero = before + share * motion, system.real(0)
    _, away = shapes.away(at, a, b)
    speed = zero - dot(away, motion) / system.h
    if speed > 0:
        time_since = (system.real(1) - share) * system.h
        system.report(i, number, time_since, zero, speed, zero, zero, at - r * away, -1 * away)
