"""Contact tests at the end of a step: one function for each kind of constraint that records events.

Each takes the system and the fields of the constraint, and returns two functions of a pair's key, for pairs in contact
before or during the step. The first returns whether the pair is in contact now, the second (point, normal). A pair that
a filter now excludes is not in contact.
"""

from __future__ import annotations

from typing import Any

from ...constraints import Constraint
from ...declaration import kinds_of, known, require_entries
from ...stepper.events import key, slots
from ..vector import Vector, dot, sqrt
from .filters import Filter
from .shapes import ROUNDING, Shapes


def pairs(system, fields):
    x, _, _ = system.rows()
    radius = [system.real(r) for r in fields["radius"]] * (len(x) if len(fields["radius"]) == 1 else 1)
    seen = Filter(len(x), fields)

    def touch(each):
        i, j = slots(each)
        d, size = system.space.nearest(x[j] - x[i]), radius[i] + radius[j]
        near = size + size / 1024
        return dot(d, d) <= near * near and seen.collide(i, j)

    def place(each):
        i, j = slots(each)
        d = system.space.nearest(x[j] - x[i])
        r = sqrt(dot(d, d))
        normal = d / r if r > 0 else 0 * d
        return x[i] + radius[i] * normal, normal

    return touch, place


def walls(system, fields):
    """Contacts with `Box` and `Plane`."""
    x, _, _ = system.rows()
    slack = ROUNDING * system.epsilon

    def radius(i):
        return system.real(fields["radius"][i if len(fields["radius"]) > 1 else 0])

    def outside(i, number):
        """Return (depth beyond the wall, magnitude for the rounding tolerance, outward normal)."""
        if "normal" in fields:
            return beyond(system, x[i], fields["normal"][0], fields["offset"][0], radius(i))
        j, sign = number // 2, system.real(2 * (number % 2) - 1)
        bound = system.real(fields["upper" if number % 2 else "lower"][0][j])
        place = bound - sign * radius(i)
        normal = Vector([sign if k == j else system.real(0) for k in range(system.dim)])
        return sign * (x[i][j] - place), abs(x[i][j]) + abs(place), normal

    def touch(each):
        i, b = slots(each)
        depth, large, _ = outside(i, -1 - b)
        return not passes(fields.get("sensor"), i) and depth >= -(radius(i) / 1024 + slack * large)

    def place(each):
        i, b = slots(each)
        normal = outside(i, -1 - b)[2]
        return x[i] + radius(i) * normal, normal

    return touch, place


def beyond(system, y, normal, offset, r):
    """Return (depth beyond a plane, magnitude for the rounding tolerance, outward normal)."""
    n, place = Vector([system.real(a) for a in normal]), system.real(offset)
    large = abs(place)
    for a, b in zip(n, y, strict=True):
        large = large + abs(a * b)
    return place + r - dot(n, y), large, -1 * n


def contacts(system, fields):
    """Contacts of `Contacts`: pairs, planes and shapes."""
    x, _, _ = system.rows()
    touch_pair, place_pair = pairs(system, fields)
    faces, begin = len(fields["offset"]), fields.get("shape_begin", [])
    parts = [shapes(system, fields_of(fields, part)) for part in range(len(begin) - 1)]

    def outside(i, b):
        face = -1 - b
        return beyond(system, x[i], fields["normal"][face], fields["offset"][face], system.real(fields["radius"][i]))

    def touch(each):
        i, b = slots(each)
        if b >= 0:
            return touch_pair(each)
        if -1 - b >= faces:
            found, key_there = at_shape(i, -1 - b - faces)
            return found[0](key_there)
        depth, large, _ = outside(i, b)
        slack = system.real(fields["radius"][i]) / 1024 + ROUNDING * system.epsilon * large
        return not ("through" in fields and passes(fields["through"][-1 - b], i)) and depth >= -slack

    def place(each):
        i, b = slots(each)
        if b >= 0:
            return place_pair(each)
        if -1 - b >= faces:
            found, key_there = at_shape(i, -1 - b - faces)
            return found[1](key_there)
        normal = outside(i, b)[2]
        return x[i] + system.real(fields["radius"][i]) * normal, normal

    def at_shape(i, number):
        """Return both functions for the part of a shape, and the key within that part."""
        part = max(part for part in range(len(parts)) if begin[part] <= number)
        return parts[part], key(i, -1 - (number - int(begin[part])))

    return touch, place


def fields_of(fields, part):
    """Select the fields of one part of contact shapes, as arguments of `shapes`."""
    first, last = fields["shape_begin"][part : part + 2]
    own = {name: fields[f"shape_{name}"][first:last] for name in ("lower", "upper", "enabled")}
    if "shape_one_way" in fields and fields["shape_one_way"][first:last].any():
        own["one_way"] = fields["shape_one_way"][first:last]
    segments, reach = fields["shape_segments"][part : part + 1], fields["shape_reach"][part]
    sensor = fields["shape_through"][part]
    return {**own, "segments": segments, "reach": reach, "radius": fields["radius"], "sensor": sensor}


def region(system, fields):
    x, _, _ = system.rows()
    inside = within(system, fields)
    zero = Vector([system.real(0)] * system.dim)

    def touch(each):
        i = slots(each)[0]
        return bool(fields["watched"][i]) and system.alive[i] and inside(x[i])

    return touch, lambda each: (x[slots(each)[0]], zero)


def within(system, fields):
    """Return a function that tests whether a position is in a sensor region."""
    low, high = ([system.real(a) for a in fields[name][0]] for name in ("lower", "upper"))

    def in_box(y):
        return all(a <= b <= c for a, b, c in zip(low, y, high, strict=True))

    def in_ball(y):
        d = y - Vector(low)
        return dot(d, d) <= high[0] * high[0]

    return in_ball if fields["ball"][0] else in_box


def shapes(system, fields):
    x, _, _ = system.rows()
    found = Shapes(system, fields | {"enabled": [1] * len(fields["enabled"])})
    enabled = fields["enabled"]

    def radius(i):
        return system.real(fields["radius"][i if len(fields["radius"]) > 1 else 0])

    def touch(each):
        i, b = slots(each)
        reach = found.reach[i]
        large = reach
        for y in x[i]:
            large = large + abs(y)
        distance, _ = found.away(x[i], *found.ends[-1 - b][1:])
        there = bool(enabled[-1 - b]) and not passes(fields.get("sensor"), i)
        return there and distance <= reach + reach / 1024 + ROUNDING * system.epsilon * large

    def place(each):
        i, b = slots(each)
        _, n = found.away(x[i], *found.ends[-1 - b][1:])
        return x[i] - radius(i) * n, -1 * n

    return touch, place


def passes(sensor, i):
    """Return whether a body passes through a wall or shape without events, see `Wall._through`."""
    return sensor is not None and sensor[i] == 2


TOUCHING: dict[str, Any] = {
    "collisions": pairs,
    "contacts": contacts,
    "box": walls,
    "plane": walls,
    "sensor": region,
    "shapes": shapes,
}
REPORTING = [cls for cls in known(Constraint) if cls.sides is not Constraint.sides]  # walls, shapes
require_entries(__name__, TOUCHING, {kind for cls in REPORTING for kind in kinds_of(cls)})
