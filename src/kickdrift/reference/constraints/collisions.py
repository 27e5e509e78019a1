"""Bodies that meet each other, pair after pair."""

from __future__ import annotations

from itertools import product

from ...constraints.broad_phase import CROWD, Grid, cell
from ..vector import Vector, dot, sqrt
from .walls import WALLS, bounce, replace


def collisions(system, before, radius, restitution, weight, iterations):
    x, v, s = system.rows()
    weight = [system.real(w) for w in weight]
    radius = [system.real(r) for r in radius] * (len(x) if len(radius) == 1 else 1)
    pairs = near_pairs(x, radius, [part.alive for part in system.parts])
    for sweep in range(iterations[0]):
        changed = False
        for i, j in pairs if sweep % 2 == 0 else reversed(pairs):
            if not weight[i] + weight[j] > 0:
                continue
            gain = [system.gain[k] if weight[k] > 0 else 0 * system.gain[k] for k in (i, j)]
            d, u, size = x[j] - x[i], v[j] - v[i], radius[i] + radius[j]
            found = meet(d, u, size, gain, system.real(restitution[0]), system.h, sweep == 0, (j - i - 1) % len(d))
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


def near_pairs(x, radius, alive=None):
    """Who meets whom, i < j, in order: all that are near, or where bodies crowd, so many that time stays linear."""
    n = len(x)
    alive = [True] * n if alive is None else alive

    def near(i, j):
        return alive[i] and alive[j] and is_near(x[j] - x[i], radius[i] + radius[j])

    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if near(i, j)]
    if len(pairs) <= CROWD * n:
        return pairs
    # Each body looks at the first few in each cell around it, of its own class of size at those of higher index
    # only, and takes the first few that are near.
    grid = Grid(radius, len(x[0]))
    classes = range(len(grid.per_cell))

    def cells(i, size_class):
        return [cell(float(place), grid.per_cell[size_class], i) for place in x[i]]

    buckets: dict[int, list[int]] = {}
    for i in range(n):
        if alive[i] and grid.size_class[i] in classes:
            buckets.setdefault(grid.bucket(cells(i, grid.size_class[i])), []).append(i)
    pairs = []
    for i in range(n):
        if not alive[i]:
            continue
        found = []
        for size_class in classes[: grid.size_class[i] + 1]:
            own = size_class == grid.size_class[i]
            for offset in product((-1, 0, 1), repeat=len(x[0])):
                place = [a + b for a, b in zip(cells(i, size_class), offset, strict=True)]
                seen = [j for j in buckets.get(grid.bucket(place), []) if j > i or not own][:CROWD]
                found += [j for j in seen if grid.size_class[j] == size_class and near(i, j)]
        pairs += [(min(i, j), max(i, j)) for j in sorted(found)[:CROWD]]
    return sorted(pairs)


def is_near(d, size):
    reach = size + size / 4
    return dot(d, d) < reach * reach


def meet(d, u, size, gain, restitution, h, first, axis):
    """None, or what to add to the way d and the velocity u from one body to the other.

    size: the sum of their radii; gain: what the forces of the step have added to the velocity of each.
    first: may they have met without having been seen to? Then those that part may be halfway through.
    axis: along which those part that are at the same place.
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
    n = at / r if r > 0 else Vector([1 + zero if k == axis else zero for k in range(len(d))])
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
