"""Pin and distance constraints."""

from __future__ import annotations

import numpy as np

from ..vector import Vector, dot, sqrt


def pin(system, before, indices):
    x, v, s = system.rows()
    for i in indices:
        x[i] = before[i]
        v[i] = Vector([system.real(0)] * system.dim)
        if s is not None:
            s[i] = x[i]
    system.put(x, v, s)


def distance(
    system, before, first, second, length, move_first, move_second, direction, iterations,
    compliance=None, drag_first=None, drag_second=None, response=None,
):  # fmt: skip
    """Correct the length of one pair after another, then update the velocities.

    Pairs are in the order of the solver: as declared, sorted by colour (`colours` in kickdrift/constraints/joints.py),
    or as joined by `tied` (kickdrift/stepper/tying.py) if several declarations share a body.
    direction of corrections, one or per pair: 0 after the step (Jakobsen), 1 before the step (SHAKE), 2 before the
    step, with velocity projection (RATTLE). compliance: negative for rigid pairs.
    """
    pairs = Pairs(system, first, second, length, direction)
    if compliance is None:
        rigid = [True] * pairs.count
        one_share, other_share = numbers(system, move_first, move_second)
    else:
        rigid = [not each >= 0 for each in compliance]
        soft = Soft(system, move_first, move_second, drag_first, drag_second, response, compliance)
        one_share, other_share = soft.shares(rigid, soft.response[:2])
    x, v, s = system.rows()
    pairs.aim(before)
    for _ in range(iterations[0]):
        for pair, (i, j) in enumerate(pairs.ends):
            d = system.space.nearest(x[j] - x[i])
            if rigid[pair]:
                change = pairs.corrected(pair, d)
            else:
                change = soft.corrected(pairs, pair, d, one_share[pair] + other_share[pair])
            x[i] = x[i] + one_share[pair] * change
            x[j] = x[j] - other_share[pair] * change
    follow(system, x, v, s)
    if 2 not in pairs.direction:
        return
    x, v, s = system.rows()
    pairs.aim(x)
    # Start the second half of the step with the impulse of the first half, then solve for the remaining error.
    for pair, (i, j) in enumerate(pairs.ends):
        if pairs.direction[pair] == 2 and rigid[pair] and not pairs.loose[pair]:
            change = pairs.pulled[pair] / system.h
            v[i] = v[i] + one_share[pair] * (change * pairs.ways[pair])
            v[j] = v[j] - other_share[pair] * (change * pairs.ways[pair])
    if compliance is not None:
        one_share, other_share = soft.shares(rigid, soft.response[2:])
    for _ in range(iterations[0]):
        for pair, (i, j) in enumerate(pairs.ends):
            if pairs.direction[pair] < 2:
                continue
            n = pairs.ways[pair]
            if rigid[pair]:
                change = system.real(0) if pairs.loose[pair] else dot(v[j] - v[i], n)
            else:
                change = soft.slowed(pair, dot(v[j] - v[i], n), one_share[pair] + other_share[pair])
            v[i] = v[i] + one_share[pair] * (change * n)
            v[j] = v[j] - other_share[pair] * (change * n)
    system.put(x, v, s)


class Pairs:
    """State of the distance solver.

    pulled: accumulated correction of each pair in this step. loose: pairs that turned or were corrected too far,
    which get no velocity projection.
    """

    def __init__(self, system, first, second, length, direction):
        self.system, self.count = system, len(first)
        self.ends = list(zip(first, second, strict=True))
        (self.length,) = numbers(system, length)
        self.direction = [int(each) for each in np.broadcast_to(direction, (self.count,))]
        self.pulled, self.loose = [system.real(0)] * self.count, [False] * self.count

    def aim(self, x):
        """Compute the unit vector from first to second body of each pair; 0 for coincident bodies."""
        self.ways = []
        for i, j in self.ends:
            d = self.system.space.nearest(x[j] - x[i])
            r = sqrt(dot(d, d))
            self.ways.append((1 / r if r > 0 else 0 * r) * d)

    def corrected(self, pair, d):
        """Return the correction of the separation d of a rigid pair.

        A pair that has turned by more than 60 degrees, or is corrected by more than half of its length in the step,
        uses the direction after the step: with the direction before it, tension would add energy.
        """
        wanted, zero = self.length[pair], self.system.real(0)
        r = sqrt(dot(d, d))
        f = (r - wanted) / r if r > 0 else zero
        if self.direction[pair] == 0:
            return f * d
        # The smaller root of |d - share n| = length.
        n = self.ways[pair]
        along, far = dot(d, n), (r - wanted) * (r + wanted)
        left = along * along - far
        share = zero
        if along + along - r > 0 and left + left + left + left - wanted * wanted > 0:
            share = far / (along + sqrt(left))
            most = wanted * wanted
            if not most - (share + share) * (share + share) > 0:
                self.loose[pair] = True
            twice = self.pulled[pair] + share + (self.pulled[pair] + share)
            if most - twice * twice > 0:
                f = zero
            else:
                share = zero
        else:
            self.loose[pair] = True
        self.pulled[pair] = self.pulled[pair] + (share + f * r)
        return share * n + f * d


class Soft:
    """Pairs with compliance (XPBD): `force` is the accumulated Lagrange multiplier of the step, times h².

    With direction 2 a pair applies equal impulses in both halves of the step. response: the share that drag leaves of
    an impulse's effect on the position, and on the final velocity: see `left_by_drag`.
    """

    def __init__(self, system, move_first, move_second, drag_first, drag_second, response, compliance):
        self.h, self.zero, self.one = system.h, system.real(0), system.real(1)
        self.moves = numbers(system, move_first, move_second)
        self.drags = numbers(system, drag_first, drag_second)
        self.compliance, self.response = numbers(system, compliance, response)
        self.alpha = [each / (self.h * self.h) for each in self.compliance]
        self.force, self.pull = [self.zero] * len(compliance), [self.zero] * len(compliance)

    def shares(self, rigid, response):
        """Return the displacement of both bodies per correction, reduced by drag; rigid pairs are not reduced."""
        return [
            [
                w if hard else w * left_by_drag(c, self.h, *response)
                for w, c, hard in zip(moves, drags, rigid, strict=True)
            ]
            for moves, drags in zip(self.moves, self.drags, strict=True)
        ]

    def corrected(self, pairs, pair, d, total):
        n, wanted, alpha, force = pairs.ways[pair], pairs.length[pair], self.alpha[pair], self.force[pair]
        r = sqrt(dot(d, d))
        along = dot(d, n)
        off, slope = r - wanted + alpha * force, self.one
        kept = pairs.direction[pair] > 0 and along + along - r > 0
        if kept:
            slope = along / r
            twice = total * (force - off / (total * slope + alpha))
            twice = twice + twice
            kept = wanted * wanted - twice * twice > 0
            slope = slope if kept else self.one
        change = off / (total * slope + alpha) if r > 0 else self.zero
        self.force[pair] = force - change
        share, f = change if kept else self.zero, change / r if r > 0 and not kept else self.zero
        return share * n + f * d

    def slowed(self, pair, along, total):
        """Return the velocity correction along a pair."""
        alpha = self.alpha[pair]
        missing = self.pull[pair] + self.force[pair] / self.h  # difference to the impulse of the first half
        change = (along - alpha * missing) / (total + alpha)
        self.pull[pair] = self.pull[pair] + change
        return change


def left_by_drag(c, h, first, second):
    """Return the share of a constant force's effect that drag leaves: the integrator's series in c h, at least 0.1."""
    z, least = c * h, type(h)(0.1)
    more = 1 - z * (first - z * second) - least
    return least + (more if more > 0 else 0 * more)


def follow(system, x, v, s):
    """Derive velocities from corrected positions. Position Verlet needs no correction."""
    was, _, _ = system.rows()
    v = [v[i] + (x[i] - was[i]) / system.h for i in range(len(x))]
    system.put(x, v, s)


def numbers(system, *arrays):
    """Convert arrays to lists of scalars of the state's dtype."""
    return [[system.real(number) for number in array] for array in arrays]
