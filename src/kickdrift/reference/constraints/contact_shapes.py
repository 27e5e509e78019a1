"""Shape contacts: in each substep a nearby shape acts as a plane through its point closest to the body.

Shapes are convex and lie behind that plane, therefore a body in front of it cannot touch the shape.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Any

from ..vector import Vector, dot, sqrt
from .friction import running
from .shapes import Shapes

#: Maximal number of shape contacts per body and step: those with the closest shapes.
SHAPES_PER_BODY = 8


class Level:
    """The shapes of `Contacts`, numbered consecutively part by part."""

    def __init__(
        self, system, segments, begin, lower, upper, enabled, reach, friction, through, belt=None, one_way=None,
        motion=None, **moving,
    ):  # fmt: skip
        self.system, self.begin = system, begin
        self.friction = [[system.real(mu) for mu in row] for row in friction]
        self.through = through
        #: Velocity of the belt of each part, see `running`; None if no part has one.
        self.belt = None if belt is None else [[system.real(b) for b in row] for row in belt]
        self.parts = []
        for part, (first, last) in enumerate(pairwise(begin)):
            own: dict[str, Any] = {
                "lower": lower[first:last],
                "upper": upper[first:last],
                "enabled": enabled[first:last],
                "one_way": None if one_way is None or not one_way[first:last].any() else one_way[first:last],
            }
            if motion is not None:
                own |= {"motion": motion[part], **{name: field[first:last] for name, field in moving.items()}}
            self.parts.append(Shapes(system, own | {"segments": segments[part : part + 1], "reach": reach[part]}))
        self.moves = motion is not None
        self.index()

    def index(self):
        #: (number, part, two end points or corners) of each enabled shape.
        self.all: list[tuple[int, int, Any, Any]] = []
        for part, shapes in enumerate(self.parts):
            ends: list[Any] = shapes.ends
            self.all += [(int(self.begin[part]) + number, part, a, b) for number, a, b in ends]
        self.known = {number: (part, a, b) for number, part, a, b in self.all}

    def lay(self, time, h, touching):
        """Move the shapes to their positions at a time, and the contact planes by their motion in h seconds."""
        for contact in touching:
            if self.parts[self.known[contact.shape][0]].motion is not None:
                contact.size = contact.size - h * dot(contact.surface, contact.n)
        for shapes in self.parts:
            shapes.lay(time)
        self.index()

    def away(self, y, number):
        """Return the distance and direction from a shape to a point."""
        part, a, b = self.known[number]
        return self.parts[part].away(y, a, b)

    def surface(self, number, point, n):
        """Return the velocity of a shape's surface at a point, where its normal is n."""
        part = self.known[number][0]
        v, shapes = n - n if self.belt is None else running(self.belt[part], n), self.parts[part]
        if shapes.motion is not None:
            v = v + shapes.motion.velocity(number - int(self.begin[part]), shapes.now, point)
        return v

    def spins(self, still):
        """Return the angular velocity of each shape; still: that of shapes that do not rotate."""
        found = []
        for (first, last), shapes in zip(pairwise(self.begin), self.parts, strict=True):
            if shapes.motion is None or self.system.dim == 3:
                found += [still] * int(last - first)
            else:
                found += [self.system.real(row[-1]) for row in shapes.motion.rows]
        return found

    def reach(self, i, number):
        return self.parts[self.known[number][0]].reach[i]

    def near(self, i, start, end, free, alive, first):
        """Return the shapes that a body may touch in a step, in order: (number, whether it is a sensor contact).

        The body is assumed to move no farther than without contacts. free: whether the body has finite mass. first: the
        number of the first shape, after those of bodies and walls.
        """
        displacement = end - start
        length, found = sqrt(dot(displacement, displacement)), []
        for number, part, a, b in self.all:
            passes = self.through[part][i]
            if not (free if passes == 0 else passes == 1 and alive):
                continue
            reach = self.parts[part].reach[i]
            if passes == 0 and (i, first + number) not in self.system.remembered and self.opens(number, start, reach):
                continue
            gap = self.parts[part].away(start, a, b)[0] - reach
            bound, motion = reach / 4 + length, self.parts[part].motion
            if motion is not None:
                bound = bound + self.system.real(motion.displacements[number - int(self.begin[part])])
            if gap <= bound:
                found.append((gap, number, passes == 1))
        return sorted((number, senses) for _, number, senses in sorted(found)[:SHAPES_PER_BODY])

    def opens(self, number, y, reach):
        """Return whether a one-way shape lets a body at y pass, see `Shapes.passes`."""
        part, a, b = self.known[number]
        return self.parts[part].passes(y, reach, number - int(self.begin[part]), a, b)

    def kept(self, i, start, end, then):
        """Return (position of a body after a substep, fraction of the substep until an impact, or None).

        A fast body stops at its first impact with a shape; from then on it moves with the shape. then: time from the
        beginning of the step to the end of the substep, in s.
        """
        least, place = None, end
        for number, part, a, b in self.all:
            shapes, k = self.parts[part], number - int(self.begin[part])
            stop = end if shapes.motion is None else shapes.motion.along(k, then, shapes.now, end)
            motion = stop - start
            square, reach = dot(motion, motion), shapes.reach[i]
            if self.through[part][i] != 0 or not 16 * square > reach * reach or self.opens(number, start, reach):
                continue
            # A body that already overlaps the shape, as in resting contact, stops at half of the contact distance.
            distance, size = shapes.away(start, a, b)[0], reach - reach / 64
            size = size if distance >= size else reach / 2
            if distance >= size:
                share = shapes.touch(start, motion, size, a, b, through=False)
                if share is not None and (least is None or share < least):
                    least, place = share, start + share * motion
                    if shapes.motion is not None:
                        place = shapes.motion.along(k, shapes.now, then, place)
        return place, least


def solve_shape_contacts(level, touching, p, u, delta_v, given, count, eager, calm):
    """Update the contact planes of all shape contacts. touching: shape contacts, grouped by body.

    given, count: number of substeps whose forces the velocities include, and of all substeps.
    """
    for i, group in groupby(touching, lambda contact: contact.i):
        solve_shape_contact(level, list(group), p[i], u[i], delta_v[i], given, count, eager, calm)


def solve_shape_contact(level, group, y, u, delta_v, given, count, eager, calm):
    """Update the shape contacts of one body; where two shapes join, only the closer one stays active.

    This prevents ghost collisions of bodies that roll along a row of shapes.
    """
    zero = 0 * level.reach(group[0].i, group[0].shape)
    still = Vector([zero] * len(y))
    gaps, places = [], []
    for contact in group:
        distance, away = level.away(y, contact.shape)
        reach = level.reach(contact.i, contact.shape)
        gaps.append(distance - reach)
        places.append(y - distance * away)
        contact.n = -1 * away
        contact.size = dot(still - y, contact.n) - gaps[-1]
        if contact.surface is not None:
            contact.surface = level.surface(contact.shape, y - (distance - contact.half) * away, away)
        if not contact.most > 0:
            pull = dot(delta_v, contact.n)
            own = u if contact.surface is None else u - contact.surface
            contact.speed = dot(own, contact.n) - given * (pull / count)
            contact.slow = abs(pull)
    apart = [gap > level.reach(c.i, c.shape) / 4 for gap, c in zip(gaps, group, strict=True)]

    def covers(k, m):
        """Return whether the point of shape m closest to the body also lies in the closer shape k."""
        if apart[k] or not (gaps[k] < gaps[m] or (gaps[k] == gaps[m] and k < m)):
            return False
        return level.away(places[m], group[k].shape)[0] <= level.reach(group[m].i, group[m].shape) / 64

    count = range(len(group))
    covered = [not apart[m] and any(covers(k, m) for k in count) for m in count]
    for m, contact in enumerate(group):
        slow = not contact.speed > contact.slow
        contact.along = type(zero)(eager) * contact.mass if slow else contact.mass
        contact.across = type(zero)(calm) * contact.mass if slow else contact.mass
        if not (apart[m] or covered[m]):
            continue
        if covered[m]:
            others = [k for k in count if not covered[k] and covers(k, m)]
            if others:
                hand_over(contact, group[min(others, key=lambda k: (gaps[k], k))])
        contact.push = contact.load = contact.along = contact.across = zero
        contact.friction_impulse, contact.roll = still, 0 * contact.roll


def hand_over(contact, other):
    """Transfer the impulses and the load of one contact to another."""
    if contact.most > 0 and contact.speed > other.speed:
        other.speed, other.slow, other.pull = contact.speed, contact.slow, contact.pull
    other.push, other.load = other.push + contact.push, other.load + contact.load
    other.friction_impulse, other.roll = other.friction_impulse + contact.friction_impulse, other.roll + contact.roll
    if contact.most > 0 and not other.most > 0:  # the transferred contact continues
        other.time_since, other.fast, other.point, other.displacement = (
            contact.time_since,
            contact.fast,
            contact.point,
            contact.displacement,
        )
        other.known = contact.known
    other.most = other.push if other.push > other.most else other.most
    contact.most = 0 * contact.most
