"""Bodies that meet each other, pair after pair."""

from __future__ import annotations

from .contacts import WALLS, bounce, replace
from .vector import Vector, dot, sqrt


def collisions(system, before, radius, restitution, weight, iterations):
    x, v, s = system.rows()
    weight = [system.real(w) for w in weight]
    radius = [system.real(r) for r in radius] * (len(x) if len(radius) == 1 else 1)
    n = len(x)
    near = [(i, j) for i in range(n) for j in range(i + 1, n) if is_near(x[j] - x[i], radius[i] + radius[j])]
    # What cannot be kept in memory that is proportional to n is gone through once.
    sweeps = iterations[0] if len(near) <= 16 * n else 1
    for sweep in range(sweeps):
        changed = False
        for i, j in near if sweep % 2 == 0 else reversed(near):
            if not weight[i] + weight[j] > 0:
                continue
            gain = [system.gain[k] if weight[k] > 0 else 0 * system.gain[k] for k in (i, j)]
            d, u, size = x[j] - x[i], v[j] - v[i], radius[i] + radius[j]
            found = meet(d, u, size, gain, system.real(restitution[0]), system.h, sweep == 0)
            if found is None:
                continue
            changed = True
            moved, turned = found  # the way from i to j, and how it changes
            share_i, share_j = weight[i] / (weight[i] + weight[j]), weight[j] / (weight[i] + weight[j])
            replace(system, x, v, s, i, x[i] - share_i * moved, v[i] - share_i * turned)
            replace(system, x, v, s, j, x[j] + share_j * moved, v[j] + share_j * turned)
        if not changed:
            break
        # What leans on a body that leans on a wall is held up by the wall in this step, not in later ones.
        system.put(x, v, s)
        for hold in system.plan.holds:
            if hold.kind in WALLS:
                WALLS[hold.kind](system, before, **hold.fields)
        x, v, s = system.rows()
    system.put(x, v, s)


def is_near(d, size):
    reach = size + size / 4
    return dot(d, d) < reach * reach


def meet(d, u, size, gain, restitution, h, first):
    """None, or what to add to the way d and the velocity u from one body to the other.

    size: the sum of their radii; gain: what the forces of the step have added to the velocity of each.
    first: may they have met without having been seen to? Then those that part may be halfway through.
    """
    zero = 0 * h
    overlap = size * size - dot(d, d)
    if not overlap > 0:
        return None
    together, time = -dot(d, u), zero
    if together > 0:
        time = overlap / (sqrt(together * together + dot(u, u) * overlap) + together)
    elif first and dot(u, u) > 0:
        time = (sqrt(together * together + dot(u, u) * overlap) - together) / dot(u, u)
    touched = 0 < time <= h
    at = d - time * u if touched else d
    r = sqrt(dot(at, at))
    n = at / r if r > 0 else Vector([1 + zero] + [zero] * (len(d) - 1))
    speed = -dot(n, u)
    depth = speed * time if touched else size - r
    if speed <= 0 and not depth > -h * speed:
        return None  # in the next step they are apart

    gains = [dot(n, g) for g in gain]
    pull = gains[0] - gains[1] if gains[0] > gains[1] else zero
    slow = pull if restitution == 1 else abs(gains[0]) + abs(gains[1])
    inside, parting = bounce(depth, speed, pull, slow, restitution, h, 2 * h if touched else zero)
    turned = zero * u
    if not touched and r < size:
        # Further apart, the same angular momentum goes with less speed past each other.
        past, k = u + speed * n, r / size
        turned = (k - 1) * past
        e = restitution if parting > 0 or restitution == 1 else zero
        parting = sqrt(parting * parting + e * e * ((1 - k * k) * dot(past, past)))
    return (depth + inside) * n, turned + (parting + speed) * n
