"""Collisions between bodies, solved pair by pair."""

from __future__ import annotations

import numpy as np

from ...constraints.broad_phase import CROWD
from ..space import Space
from ..vector import Vector, dot, either, later, quotient, sqrt, stacked
from .filters import Filter
from .friction import cone, cross, slip
from .walls import arrival, at_least, at_most, bounce, replace

#: Maximal rounds of continuous collision detection in a step.
ROUNDS = 64


def collisions(system, before, radius, restitution, weight, iterations, lag, friction=None, swept=None, **filters):
    x, v, s = system.rows()
    lag = system.real(lag[0])
    weight = [system.real(w) for w in weight]
    radius = each(system, radius)
    restitution, friction = each(system, restitution), None if friction is None else each(system, friction)
    seen = Filter(len(x), filters)
    alive = system.alive
    if swept is None:
        pairs = near_pairs(x, radius, alive, system.space, seen)
    else:
        pairs = swept_pairs(x, v, radius, system.h, alive, system.space, seen)
    displacement = system.space.nearest
    since, last = [system.h] * len(x), [-1] * len(x)
    moved: set[int] = set()  # bodies that were moved since the walls were last applied
    w = system.angular_velocity
    turn = [] if w is None else [r * ease for r, ease in zip(radius, system.inverse_inertia, strict=True)]

    def move(i, j, sweep, time=None):
        """Resolve the collision of a pair, if any. time: time since impact, if already known."""
        d, size = displacement(x[j] - x[i]), radius[i] + radius[j]
        overlap = size * size - dot(d, d)
        if not overlap > 0 and time is None:
            return
        e = restitution[i] if restitution[i] > restitution[j] else restitution[j]
        mu = system.real(0) if friction is None else sqrt(friction[i] * friction[j])
        delta_v = [system.delta_v[k] if weight[k] > 0 else 0 * system.delta_v[k] for k in (i, j)]
        first = sweep == 0 and swept is None
        total, spin, share = weight[i] + weight[j], None, system.real(1)
        if w is not None:
            spin = radius[i] * w[i] + radius[j] * w[j]
            share = total / (total + (radius[i] * turn[i] + radius[j] * turn[j]))
        found = collide(
            d, v[j] - v[i], size, overlap, delta_v, e, mu, system.h, lag, first, (j - i - 1) % len(d), time, spin, share
        )
        if found is None:
            return
        apart, turned, met, lost = found  # separation correction, velocity change, contact data, friction loss
        if w is not None and lost is not None:
            twist = cross(met[-1], lost)
            w[i], w[j] = w[i] + turn[i] / total * twist, w[j] + turn[j] / total * twist
        moved.update((i, j))
        report_impacts(system, met, x, v, i, j, radius, weight)
        share_i, share_j = weight[i] / total, weight[j] / total
        replace(system, x, v, s, i, x[i] - share_i * apart, v[i] - share_i * turned)
        replace(system, x, v, s, j, x[j] + share_j * apart, v[j] + share_j * turned)

    def touch(i, j):
        """Return the time since a pair's impact; 0 if there is none after the last impacts of both bodies."""
        if seen.senses(i, j) or not weight[i] + weight[j] > 0 or (last[i] == j and last[j] == i):
            return system.real(0)
        time = when(displacement(x[j] - x[i]), v[j] - v[i], radius[i] + radius[j])
        return time if time <= since[i] and time <= since[j] else system.real(0)

    times: dict = {}
    turned = set(range(len(x)))  # bodies whose velocity changed in the last round
    for _ in range(0 if swept is None else ROUNDS):
        # Resolve each impact that is the earliest of both its bodies, then search again: it may prevent later impacts.
        earliest: dict = {}
        for i, j in pairs:
            if i in turned or j in turned:
                times[i, j] = touch(i, j)
            time = times[i, j]
            for k in (i, j) if time > 0 else ():
                if k not in earliest or time > times[earliest[k]]:
                    earliest[k] = (i, j)
        ready = [pair for pair in pairs if pair[0] in earliest and earliest[pair[0]] == earliest.get(pair[1]) == pair]
        for i, j in ready:
            move(i, j, 0, times[i, j])
            since[i] = since[j] = times[i, j]
            last[i], last[j] = j, i
        turned = {k for pair in ready for k in pair}
        if not ready:
            break
    for sweep in range(iterations[0]):
        for i, j in pairs if sweep % 2 == 0 else reversed(pairs):
            if seen.senses(i, j):
                if sweep == 0:
                    report_sensor(system, displacement(x[j] - x[i]), v[j] - v[i], x, v, i, j, radius)
                continue
            if not weight[i] + weight[j] > 0:
                continue
            move(i, j, sweep)
        if not moved:
            break
        # Apply the walls after each sweep, to support stacks; only to moved bodies, because rounding in a wall may
        # change a resting position.
        system.put(x, v, s)
        for record in system.plan.constraint_records:
            if record.solid:
                system.apply(record, before, bodies=sorted(moved))
        x, v, s = system.rows()
        moved.clear()
    system.put(x, v, s)


def each(system, numbers):
    """Broadcast a coefficient to all bodies."""
    return [system.real(number) for number in numbers] * (len(system.alive) if len(numbers) == 1 else 1)


def report_impacts(system, met, x, v, i, j, radius, weight):
    """Record the contact of a pair."""
    if not system.reporting:
        return
    time_since, speed, depth, pull, slow, change, n = met
    _, fast = arrival(depth, speed, pull, system.h, time_since)
    point = x[i] - time_since * v[i] + radius[i] * n
    system.report(i, j, time_since, time_since, fast, slow, change / (weight[i] + weight[j]), point, n)


def report_sensor(system, d, u, x, v, i, j, radius):
    """Record the contact of a pair with a sensor. A pair in contact since before the step has speed 0."""
    if not system.reporting:
        return
    size, zero = radius[i] + radius[j], system.real(0)
    overlap, together, square = size * size - dot(d, d), -dot(d, u), dot(u, u)
    under_root = together * together + square * overlap
    if square > 0 and under_root >= 0:
        root = sqrt(under_root)
        time_since, left = (root - together) / square, (zero - root - together) / square
    elif not square > 0 and overlap > 0:
        time_since, left = system.h + system.h, zero  # no relative motion: in contact since before the step
    else:
        return
    left = left if left > 0 else zero
    if 0 < time_since <= system.h:
        n = 1 / size * (d - time_since * u)
        speed = -dot(n, u)
    elif time_since > system.h and left < system.h:
        time_since = system.h
        at = d - time_since * u
        r = sqrt(dot(at, at))
        n = at / r if r > 0 else zero * at
        speed = zero
    else:
        return
    system.report(i, j, time_since, left, speed, zero, zero, x[i] - time_since * v[i] + radius[i] * n, n)


def when(d, u, size):
    """Return the time since impact of a pair at separation d and relative velocity u; 0 without an impact."""
    overlap, together, square = size * size - dot(d, d), -dot(d, u), dot(u, u)
    under_root = together * together + square * overlap
    if not square > 0 or not under_root >= 0:
        return 0 * size
    return (sqrt(under_root) - together) / square


def swept_pairs(x, v, radius, h, alive, space, seen):
    """Broad phase of bodies with continuous detection. Size for `few_pairs`: radius plus half of the displacement."""
    places, speeds, radii = stacked(x), stacked(v), np.array(radius)
    displacement = (h * speeds) / 2
    there = alive & space.seen(places - displacement)

    def near(i):
        """Return a mask of the bodies that come closer to body i in the step than 5/4 of the sum of both radii."""
        d, u = space.nearest(places - x[i]), speeds - v[i]
        time = quotient(dot(d, u), dot(u, u))
        time = np.where(time > h, h, time)
        return there[i] & there & is_near(either(time > 0, d - time * u, d), radius[i] + radii)

    return few_pairs(near, radii + sqrt(dot(displacement, displacement)), seen)


def near_pairs(x, radius, alive=None, space=None, seen=None):
    """Broad phase at the present positions, see `few_pairs`."""
    alive = np.ones(len(x), np.bool_) if alive is None else np.asarray(alive)
    space = Space() if space is None else space
    places, radii = stacked(x), np.array(radius)
    alive = alive & space.seen(places)

    def near(i):
        """Return a mask of the bodies closer to body i than 5/4 of the sum of both radii."""
        return alive[i] & alive & is_near(space.nearest(places - x[i]), radius[i] + radii)

    return few_pairs(near, radius, seen)


def few_pairs(near, size, seen=None):
    """Select pairs i < j, in order; per body at most CROWD neighbours that are larger, or equal with a higher index.

    Without deep overlap, no body has more such neighbours. The limit bounds the time in dense crowds, and it is local:
    distant bodies do not affect the selection, nor do pairs that the filter `seen` excludes.
    """
    pairs, met = [], [0] * len(size)
    for i in range(len(size)):
        for j in later(i, near(i)):
            if seen is not None and not seen.collide(i, j):
                continue
            looks = j if size[j] < size[i] else i
            met[looks] += 1
            if met[looks] <= CROWD:
                pairs.append((i, j))
    return pairs


def is_near(d, size):
    reach = size + size / 4
    return dot(d, d) < reach * reach


def collide(
    d, u, size, overlap, delta_v, restitution, friction, h, lag, first, axis, given=None, spin=None, share=1,
):  # fmt: skip
    """Resolve a collision. Return changes of the separation d and the relative velocity u, contact data, friction loss.

    The friction loss is the change of the relative velocity by friction, or None. Without a collision the result is
    None.

    size: sum of the radii. overlap: size² - |d|². delta_v: velocity change of each body by the forces of the step. lag:
    number of steps by which the velocity is behind the position. first: whether this is the first sweep, in which even
    separating bodies may have collided within the step. axis: of the normal for coincident centers. given: time since
    impact, if known. spin: see `slip`. share: change of the relative velocity that ends a slip / slip.
    """
    zero = 0 * h
    together, time = -dot(d, u), zero
    if given is not None:
        time = given
    elif together > 0:
        time = overlap / (sqrt(together * together + dot(u, u) * overlap) + together)
    elif first and dot(u, u) > 0:
        time = (sqrt(together * together + dot(u, u) * overlap) - together) / dot(u, u)
    since = at_most(h, time, zero)  # for events; the positions at the impact follow from `time`
    touched = since > 0
    at = d - time * u if touched else d
    r = sqrt(dot(at, at))
    n = at / r if r > 0 else Vector([1 + zero if k == axis else zero for k in range(len(d))])
    speed = -dot(n, u)
    depth = speed * time if touched else size - r
    if speed <= 0 and not depth > -h * speed:
        return None  # the bodies separate by themselves within the next step

    deltas = [dot(n, g) for g in delta_v]
    pull = deltas[0] - deltas[1]
    slow = at_least(pull, zero) if restitution == 1 else abs(deltas[0]) + abs(deltas[1])
    closing = speed + lag * pull
    inside, parting, _ = bounce(depth, closing, pull, slow, restitution, h, 2 * h if touched else zero, zero)
    if parting > 0:
        parting = parting + lag * pull
    past, turned = u + speed * n, zero * u
    if not touched and r < size:
        # Moving the bodies apart lowers the tangential speed, because angular momentum is conserved.
        k = r / size
        turned = (k - 1) * past
        e = restitution if parting > 0 or restitution == 1 else zero
        parting = sqrt(parting * parting + e * e * ((1 - k * k) * dot(past, past)))
    moved, lost = (depth + inside) * n, None
    if friction > 0 and parting + speed > 0:
        lost = cone(share * slip(past + turned, spin, n), friction * (parting + speed))
        turned = turned - lost
        if touched:
            moved = moved - time * lost
    met = since, closing, depth, pull, slow, parting + speed, n
    return moved, turned + (parting + speed) * n, met, lost
