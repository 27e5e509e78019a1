"""Constraints that tie bodies to a place, or to each other."""

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
    """Move each pair to its length, one after the other, and let velocities follow.

    Pairs come in the order in which they are taken: as they are given, or sorted by the colours of `colours`
    (kickdrift/constraints/joints.py), or as `tied` has it where several declarations hold a body
    (kickdrift/stepper/tying.py).
    direction, one or one of each pair: 0 for the one after the step (Jakobsen), 1 for that before it (SHAKE), 2 for
    that and velocities which change no length (RATTLE). compliance: < 0 for pairs that have none, which are rigid.
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
    # As hard as a pair has pulled in the first half of the step it pulls in the second: what is off is then found.
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
    """Pairs of bodies on their way to their lengths.

    pulled: how far each was pulled so far in this step. loose: those that turned or were pulled too far at once, whose
    velocities are left as Jakobsen has them.
    """

    def __init__(self, system, first, second, length, direction):
        self.system, self.count = system, len(first)
        self.ends = list(zip(first, second, strict=True))
        (self.length,) = numbers(system, length)
        self.direction = [int(each) for each in np.broadcast_to(direction, (self.count,))]
        self.pulled, self.loose = [system.real(0)] * self.count, [False] * self.count

    def aim(self, x):
        """From the first body of each pair to the second, of length 1, or 0 where they are at the same place."""
        self.ways = []
        for i, j in self.ends:
            d = self.system.space.nearest(x[j] - x[i])
            r = sqrt(dot(d, d))
            self.ways.append((1 / r if r > 0 else 0 * r) * d)

    def corrected(self, pair, d):
        """What a rigid pair loses of d, the way from one body to the other.

        A pair that has turned by more than 60 degrees, or is pulled by more than half of its length in the step, is
        corrected along the direction after it: tension beyond that would swing bodies up.
        """
        wanted, zero = self.length[pair], self.system.real(0)
        r = sqrt(dot(d, d))
        f = (r - wanted) / r if r > 0 else zero
        if self.direction[pair] == 0:
            return f * d
        # Of the two ways along n to where |d - share n| is the length, the shorter.
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
    """Pairs with compliance (XPBD): `force` is Lagrange's multiplier, times h², that each was given in this step.

    With direction 2 the pair pulls in both halves of the step alike. response: what drag leaves of a pull on the
    position, and of one on the velocity that is left for the end of the step: see `left_by_drag`.
    """

    def __init__(self, system, move_first, move_second, drag_first, drag_second, response, compliance):
        self.h, self.zero, self.one = system.h, system.real(0), system.real(1)
        self.moves = numbers(system, move_first, move_second)
        self.drags = numbers(system, drag_first, drag_second)
        self.compliance, self.response = numbers(system, compliance, response)
        self.alpha = [each / (self.h * self.h) for each in self.compliance]
        self.force, self.pull = [self.zero] * len(compliance), [self.zero] * len(compliance)

    def shares(self, rigid, response):
        """By how much a pull moves the bodies of each pair, by what drag leaves of it; rigid ones go all the way."""
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
        """What is to be lost of the velocity along a pair."""
        alpha = self.alpha[pair]
        missing = self.pull[pair] + self.force[pair] / self.h  # of what it pulled with at the beginning of the step
        change = (along - alpha * missing) / (total + alpha)
        self.pull[pair] = self.pull[pair] + change
        return change


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
