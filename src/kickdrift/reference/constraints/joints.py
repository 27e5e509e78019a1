"""Constraints that tie bodies to a place, or to each other."""

from __future__ import annotations

from ..vector import Vector, dot, sqrt


def pin(system, before, indices):
    x, v, s = system.rows()
    for i in indices:
        x[i] = before[i]
        v[i] = Vector([system.real(0)] * system.dim)
        if s is not None:
            s[i] = x[i]
    system.put(x, v, s)


def distance(system, before, first, second, length, move_first, move_second, direction, iterations):
    """Move each pair to its length, one after the other, and let velocities follow.

    Pairs come in the order in which they are taken: as they are given, or sorted by the colours of `colours`
    (kickdrift/constraints/joints.py).
    direction: 0 for the one after the step (Jakobsen), 1 for that before it (SHAKE), 2 for that and velocities
    which change no length (RATTLE). A pair that has turned by more than 60 degrees, or is pulled by more than half of
    its length in the step, is corrected along the direction after it: tension beyond that would swing bodies up.
    `loose`: those that turned or were pulled as far at once, whose velocities are left as Jakobsen has them.
    """
    x, v, s = system.rows()
    length, move_first, move_second = numbers(system, length, move_first, move_second)
    zero = system.real(0)
    pairs = list(zip(first, second, strict=True))
    ways, pulled, loose = directions(system, before, pairs), [zero] * len(pairs), [False] * len(pairs)
    for _ in range(iterations[0]):
        for pair, (i, j) in enumerate(pairs):
            d, wanted = system.space.nearest(x[j] - x[i]), length[pair]
            r = sqrt(dot(d, d))
            f = (r - wanted) / r if r > 0 else zero
            if direction[0] > 0:
                # Of the two ways along n to where |d - share n| is the length, the shorter.
                n = ways[pair]
                along, far = dot(d, n), (r - wanted) * (r + wanted)
                left = along * along - far
                share = zero
                if along + along - r > 0 and left + left + left + left - wanted * wanted > 0:
                    share = far / (along + sqrt(left))
                    most = wanted * wanted
                    if not most - (share + share) * (share + share) > 0:
                        loose[pair] = True
                    twice = pulled[pair] + share + (pulled[pair] + share)
                    if most - twice * twice > 0:
                        f = zero
                    else:
                        share = zero
                else:
                    loose[pair] = True
                pulled[pair] = pulled[pair] + (share + f * r)
                change = share * n + f * d
            else:
                change = f * d
            x[i] = x[i] + move_first[pair] * change
            x[j] = x[j] - move_second[pair] * change
    follow(system, x, v, s)
    if direction[0] < 2:
        return
    x, v, s = system.rows()
    ways = directions(system, x, pairs)
    for _ in range(iterations[0]):
        for pair, (i, j) in enumerate(pairs):
            n = ways[pair]
            change = (zero if loose[pair] else dot(v[j] - v[i], n)) * n
            v[i] = v[i] + move_first[pair] * change
            v[j] = v[j] - move_second[pair] * change
    system.put(x, v, s)


def compliant_distance(
    system, before, first, second, length, move_first, move_second, drag_first, drag_second, response, compliance,
    direction, iterations,
):  # fmt: skip
    """XPBD: `force` is Lagrange's multiplier, times h², that each pair has been given in this step.

    direction: as above; with 2 the pair pulls in both halves of the step alike. response: what drag leaves of a
    pull on the position, and of one on the velocity that is left for the end of the step: see `left_by_drag`.
    """
    x, v, s = system.rows()
    h, zero, one = system.h, system.real(0), system.real(1)
    length, move_first, move_second, drag_first, drag_second, compliance, response = numbers(
        system, length, move_first, move_second, drag_first, drag_second, compliance, response
    )
    pairs = list(zip(first, second, strict=True))
    ways = directions(system, before, pairs)
    force = [zero] * len(pairs)
    alpha = [each / (h * h) for each in compliance]
    one_share = [w * left_by_drag(c, h, *response[:2]) for w, c in zip(move_first, drag_first, strict=True)]
    other_share = [w * left_by_drag(c, h, *response[:2]) for w, c in zip(move_second, drag_second, strict=True)]
    for _ in range(iterations[0]):
        for pair, (i, j) in enumerate(pairs):
            d, n = system.space.nearest(x[j] - x[i]), ways[pair]
            r = sqrt(dot(d, d))
            along, total = dot(d, n), one_share[pair] + other_share[pair]
            off, slope = r - length[pair] + alpha[pair] * force[pair], one
            kept = direction[0] > 0 and along + along - r > 0
            if kept:
                slope = along / r
                twice = total * (force[pair] - off / (total * slope + alpha[pair]))
                twice = twice + twice
                kept = length[pair] * length[pair] - twice * twice > 0
                slope = slope if kept else one
            change = off / (total * slope + alpha[pair]) if r > 0 else zero
            force[pair] = force[pair] - change
            share, f = change if kept else zero, change / r if r > 0 and not kept else zero
            way = share * n + f * d
            x[i] = x[i] + one_share[pair] * way
            x[j] = x[j] - other_share[pair] * way
    follow(system, x, v, s)
    if direction[0] < 2:
        return
    x, v, s = system.rows()
    ways = directions(system, x, pairs)
    pull = [zero] * len(pairs)
    one_share = [w * left_by_drag(c, h, *response[2:]) for w, c in zip(move_first, drag_first, strict=True)]
    other_share = [w * left_by_drag(c, h, *response[2:]) for w, c in zip(move_second, drag_second, strict=True)]
    for _ in range(iterations[0]):
        for pair, (i, j) in enumerate(pairs):
            n, total = ways[pair], one_share[pair] + other_share[pair]
            missing = pull[pair] + force[pair] / h  # of what it pulled with at the beginning of the step
            change = (dot(v[j] - v[i], n) - alpha[pair] * missing) / (total + alpha[pair])
            pull[pair] = pull[pair] + change
            v[i] = v[i] + one_share[pair] * (change * n)
            v[j] = v[j] - other_share[pair] * (change * n)
    system.put(x, v, s)


def directions(system, x, pairs):
    """From the first body of each pair to the second, of length 1, or 0 where they are at the same place."""
    ways = []
    for i, j in pairs:
        d = system.space.nearest(x[j] - x[i])
        r = sqrt(dot(d, d))
        ways.append((1 / r if r > 0 else 0 * r) * d)
    return ways


def left_by_drag(c, h, first, second):
    """The share of a steady pull that is left in a step, by an integrator's series in c h; never less than a tenth."""
    z, least = c * h, type(h)(0.1)
    more = 1 - z * (first - z * second) - least
    return least + (more if more > 0 else 0 * more)


def follow(system, x, v, s):
    """Velocities that go with new positions. Verlet's next step follows by itself."""
    was, _, _ = system.rows()
    v = [v[i] + (x[i] - was[i]) / system.h for i in range(len(x))]
    system.put(x, v, s)


def numbers(system, *arrays):
    """Arrays as lists of numbers to compute with."""
    return [[system.real(number) for number in array] for array in arrays]
