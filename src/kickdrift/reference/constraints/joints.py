"""Pin and distance constraints."""

from __future__ import annotations

from typing import Any

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


#: Relative distance to a length limit within which a pair counts as at the limit.
NEAR = 1 / 1024


def distance(
    system, before, first, second, length, move_first, move_second, direction, iterations, cells, unit=None,
    compliance=None, drag_first=None, drag_second=None, response=None, lower=None, upper=None, limit=None, **_numbers,
):  # fmt: skip
    """Correct the length of one pair after another, then update the velocities.

    Pairs are in the order of the solver: as declared, sorted by colour (`colours` in kickdrift/constraints/joints.py),
    or as joined by `tied` (kickdrift/stepper/tying.py) if several declarations share a body.

    direction of corrections, one for all or one per pair: 0 after the step (Jakobsen), 1 before the step (SHAKE), 2
    before the step, with velocity projection (RATTLE). compliance: negative for rigid pairs. lower, upper: limits of
    the length, negative for pairs of fixed length. limit: load in N that breaks a pair, negative for none. unit: load
    in N of a rigid pair that is corrected by 1 m/s².
    """
    pairs = Pairs(system, first, second, length, direction, limits_of(system, lower, upper, cells))
    if compliance is None:
        rigid = [True] * pairs.count
        one_share, other_share = numbers(system, move_first, move_second)
    else:
        rigid = [not each >= 0 for each in compliance]
        soft = Soft(system, move_first, move_second, drag_first, drag_second, response, compliance)
        one_share, other_share = soft.shares(rigid, soft.response[:2])
    x, v, s = system.rows()
    pairs.compute_normals(before)
    for _ in range(iterations[0]):
        for pair, (i, j) in enumerate(pairs.ends):
            d = system.space.nearest(x[j] - x[i])
            total = one_share[pair] + other_share[pair]
            change = pairs.corrected(pair, d, total) if rigid[pair] else soft.corrected(pairs, pair, d, total)
            x[i] = x[i] + one_share[pair] * change
            x[j] = x[j] - other_share[pair] * change
    follow(system, x, v, s)
    if 2 in pairs.direction:
        x, v, s = system.rows()
        pairs.keep_turned(x)
        pairs.compute_normals(x)
        pairs.bound(x, [pairs.pulled[pair] if hard else -1 * soft.force[pair] for pair, hard in enumerate(rigid)])
        # Start the second half of the step with the impulse of the first half, then solve for the remaining error.
        for pair, (i, j) in enumerate(pairs.ends):
            if pairs.direction[pair] == 2 and rigid[pair] and not pairs.loose[pair]:
                change = pairs.slowed[pair] = pairs.pulled[pair] / system.h
                v[i] = v[i] + one_share[pair] * (change * pairs.displacements[pair])
                v[j] = v[j] - other_share[pair] * (change * pairs.displacements[pair])
        if compliance is not None:
            one_share, other_share = soft.shares(rigid, soft.response[2:])
        for _ in range(iterations[0]):
            for pair, (i, j) in enumerate(pairs.ends):
                if pairs.direction[pair] < 2:
                    continue
                n = pairs.displacements[pair]
                along = dot(v[j] - v[i], n)
                if not rigid[pair]:
                    along = soft.slowed(pair, along, one_share[pair] + other_share[pair])
                left = rigid[pair] and pairs.loose[pair] and pairs.limits[pair] is None
                change = system.real(0) if left else pairs.within(pair, along)
                pairs.slowed[pair] = pairs.slowed[pair] + change
                if not rigid[pair]:
                    soft.pull[pair] = pairs.slowed[pair]
                v[i] = v[i] + one_share[pair] * (change * n)
                v[j] = v[j] - other_share[pair] * (change * n)
        system.put(x, v, s)
    rate, per_span = system.real(1) / system.h, system.real(1) / system.span
    for pair, cell in enumerate(cells):
        if rigid[pair]:
            # Under Verlet, velocities only follow from positions: their corrections are no load.
            slowed = system.real(0) if system.continues_positions else pairs.slowed[pair]
            load = (pairs.pulled[pair] * rate + slowed) * per_span * system.real(unit[pair])
        else:
            load = (pairs.slowed[pair] - soft.force[pair] * rate) * per_span
        system.loads.add(cell, *pairs.ends[pair], load, -1 if limit is None else limit[pair])


compliant_distance = distance


def limits_of(system, lower, upper, cells):
    """Return the (minimum, maximum) length of each pair; None for fixed length. Broken pairs may have any length."""
    if upper is None:
        return [None] * len(cells)
    free = system.real(0), np.finfo(system.real).max
    return [
        None if most < 0 else free if cell.broken else (system.real(least), system.real(most))
        for least, most, cell in zip(lower, upper, cells, strict=True)
    ]


class Pairs:
    """State of the distance solver.

    pulled: accumulated correction of each pair in this step. slowed: accumulated velocity correction. loose: pairs that
    turned too far: their velocity correction does not start from the impulse of the first half, and without limits they
    get none. limits: (minimum, maximum) length; None: fixed `length`.
    """

    def __init__(self, system, first, second, length, direction, limits):
        self.system, self.count, self.limits = system, len(first), limits
        self.ends = list(zip(first, second, strict=True))
        (self.length,) = numbers(system, length)
        self.direction = [int(each) for each in np.broadcast_to(direction, (self.count,))]
        zero = system.real(0)
        self.pulled, self.loose = [zero] * self.count, [False] * self.count
        self.slowed = [zero] * self.count
        self.bounds: list[Any] = [None] * self.count

    def compute_normals(self, x):
        """Compute the unit vector from the first to the second body of each pair; 0 for coincident bodies."""
        self.displacements = []
        for i, j in self.ends:
            d = self.system.space.nearest(x[j] - x[i])
            r = sqrt(dot(d, d))
            self.displacements.append((1 / r if r > 0 else 0 * r) * d)

    def keep_turned(self, x):
        """Of the pairs that were corrected far, leave only those loose that the step has turned by over 60 degrees.

        Pairs that bear many times the weight of their own bodies are corrected far, but stay as they are.
        """
        for pair, (i, j) in enumerate(self.ends):
            if self.loose[pair]:
                d = self.system.space.nearest(x[j] - x[i])
                along = dot(d, self.displacements[pair])
                self.loose[pair] = not along + along - sqrt(dot(d, d)) > 0

    def wanted(self, pair, r, along, back):
        """Return the target length of a pair; None if it would be within its limits without its corrections so far.

        back: the displacement by these corrections. along: the length along the direction of correction.
        """
        if self.limits[pair] is None:
            return self.length[pair]
        least, most = self.limits[pair]
        free = r * r + back * (along + along + back)
        return most if free > most * most else least if free < least * least else None

    def corrected(self, pair, d, total):
        """Return the correction of the separation d of a rigid pair.

        A pair that has turned by more than 60 degrees, or is corrected by more than half of its length in the step,
        uses the direction after the step: with the direction before it, tension would add energy.
        """
        zero, n, pulled = self.system.real(0), self.displacements[pair], self.pulled[pair]
        r = sqrt(dot(d, d))
        along = dot(d, n)
        aligned = self.direction[pair] > 0 and along + along - r > 0
        wanted = self.wanted(pair, r, along if aligned else r, total * pulled)
        if wanted is None:
            self.pulled[pair] = zero
            share, f = (zero - pulled, zero) if aligned else (zero, (zero - pulled) / r if r > 0 else zero)
            return share * n + f * d if self.direction[pair] > 0 else f * d
        f = (r - wanted) / r if r > 0 else zero
        if self.direction[pair] == 0:
            self.pulled[pair] = pulled + f * r
            return f * d
        # share is the smaller root of |d - share n| = wanted.
        far = (r - wanted) * (r + wanted)
        left = along * along - far
        share = zero
        if aligned and left + left + left + left - wanted * wanted > 0:
            share = far / (along + sqrt(left))
            most = wanted * wanted
            if not most - (share + share) * (share + share) > 0:
                self.loose[pair] = True
            twice = pulled + share + (pulled + share)
            if most - twice * twice > 0:
                f = zero
            else:
                share = zero
        else:
            self.loose[pair] = True
        self.pulled[pair] = pulled + (share + f * r)
        return share * n + f * d

    def bound(self, x, pulled):
        """Set the bounds of each pair's velocity correction; None for pairs of fixed length.

        A pair at its upper limit may pull, one at its lower limit may push. In between, a pair may only take back its
        impulse of the first half of the step: a corrected rope must not leave its bodies in motion.
        """
        zero, most = self.system.real(0), np.finfo(self.system.real).max
        for pair, (i, j) in enumerate(self.ends):
            if self.limits[pair] is None:
                continue
            low, high = self.limits[pair]
            d = self.system.space.nearest(x[j] - x[i])
            r, near = sqrt(dot(d, d)), self.system.real(NEAR)
            pulls = low == high or pulled[pair] > 0 or not r < high - near * high
            pushes = low == high or pulled[pair] < 0 or not r > low + near * low
            back = zero - pulled[pair] / self.system.h
            self.bounds[pair] = (
                (zero - most if pushes else back if back < 0 else zero),
                (most if pulls else back if back > 0 else zero),
            )

    def within(self, pair, change):
        """Clamp a velocity correction, to keep the sum of a pair's corrections within its bounds."""
        if self.bounds[pair] is None:
            return change
        low, high = self.bounds[pair]
        now = self.slowed[pair] + change
        return low - self.slowed[pair] if now < low else high - self.slowed[pair] if now > high else change


class Soft:
    """Pairs with compliance (XPBD): `force` is the accumulated Lagrange multiplier, the force of the step times h span.

    With direction 2 a pair applies equal impulses in both halves of the step. response: coefficients of `left_by_drag`,
    two for the effect of an impulse on the position, then two for that on the final velocity.
    """

    def __init__(self, system, move_first, move_second, drag_first, drag_second, response, compliance):
        self.h, self.zero, self.one = system.h, system.real(0), system.real(1)
        self.moves = numbers(system, move_first, move_second)
        self.drags = numbers(system, drag_first, drag_second)
        self.compliance, self.response = numbers(system, compliance, response)
        self.alpha = [each / (self.h * system.span) for each in self.compliance]
        self.force, self.pull = [self.zero] * len(compliance), [self.zero] * len(compliance)

    def shares(self, rigid, response):
        """Return the displacements of both bodies per correction, reduced by drag, but not for rigid pairs."""
        return [
            [
                w if hard else w * left_by_drag(c, self.h, *response)
                for w, c, hard in zip(moves, drags, rigid, strict=True)
            ]
            for moves, drags in zip(self.moves, self.drags, strict=True)
        ]

    def corrected(self, pairs, pair, d, total):
        n, alpha, force = pairs.displacements[pair], self.alpha[pair], self.force[pair]
        r = sqrt(dot(d, d))
        along = dot(d, n)
        kept = pairs.direction[pair] > 0 and along + along - r > 0
        wanted = pairs.wanted(pair, r, along if kept else r, total * (self.zero - force))
        if wanted is None:
            self.force[pair] = self.zero
            share, f = (force, self.zero) if kept else (self.zero, force / r if r > 0 else self.zero)
            return share * n + f * d
        off, slope = r - wanted + alpha * force, self.one
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
        missing = self.pull[pair] + self.force[pair] / self.h  # difference from the first half's impulse
        return (along - alpha * missing) / (total + alpha)


def left_by_drag(c, h, first, second):
    """Return the share of a constant force's effect that drag leaves: the integrator's series in c h, at least 0.1."""
    z, least = c * h, type(h)(0.1)
    more = 1 - z * (first - z * second) - least
    return least + (more if more > 0 else 0 * more)


def follow(system, x, v, s):
    """Change velocities by the corrections of positions, divided by h; Verlet's previous positions do not change."""
    was, _, _ = system.rows()
    v = [
        Vector([c if a == b else c + (a - b) / system.h for a, b, c in zip(x[i], was[i], v[i], strict=True)])
        for i in range(len(x))
    ]
    system.put(x, v, s)


def numbers(system, *arrays):
    """Convert arrays to lists of scalars of the state's dtype."""
    return [[system.real(number) for number in array] for array in arrays]
