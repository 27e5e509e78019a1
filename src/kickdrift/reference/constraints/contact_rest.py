"""Detection of groups of bodies at rest, for `Contacts(sleep=True)`."""

from __future__ import annotations

from ..vector import Vector, dot

#: Square of 1/1024: slow bodies are below this share of the velocity change by the forces of a step.
SHARE = 2.0**-20


def those_awake(system, contacts, rods, groups, moved, before, p, u, w, radius):
    """Return the groups that are not at rest.

    A body at rest is slower than 1/1024 of the velocity change by the forces of the step, in translation and rotation:
    a net force below a thousandth of its weight is ignored. Nothing that moves touches it, and its contacts are those
    of the last step.

    contacts: (all of this step, those that continue in the next step).
    """
    found, lasting = contacts[0], set(contacts[1])
    awake = {groups[i] for i, moves in enumerate(moved) if moves and not is_slow(system, i, before, p, u, w, radius)}
    for contact in found:
        runs = contact.surface is not None and dot(contact.surface, contact.surface) > 0
        if runs or (contact in lasting) != contact.known:
            awake.add(contact.group)
    for touch in (*found, *rods):
        inner, outer = (touch.i, touch.j) if moved[touch.i] else (touch.j, touch.i)
        if outer < len(moved) and not moved[outer] and dot(u[outer], u[outer]) > 0:
            awake.add(groups[inner])
    return awake


def is_slow(system, i, before, p, u, w, radius):
    kick, displacement = system.delta_v[i], p[i] - Vector(before[i])
    most = system.real(SHARE) * dot(kick, kick)
    if not (dot(u[i], u[i]) <= most and dot(displacement, displacement) <= system.h * system.h * most):
        return False
    if w is None:
        return True
    spin = dot(w[i], w[i]) if isinstance(w[i], Vector) else w[i] * w[i]
    return not spin > 0 or (radius[i] > 0 and radius[i] * radius[i] * spin <= most)
