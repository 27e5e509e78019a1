"""Bodies, walls and shapes along a ray and around a point, and contacts, by brute force, in float64."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .constraints.motion import laid_out
from .constraints.shapes import ROUNDING, Shapes
from .constraints.touching import fields_of
from .neighbours import Index, first_contact
from .space import space_of
from .vector import Vector, dot, sqrt


class Level:
    """Bodies, walls and shapes of a stepper, for queries.

    record, part: indices of a constraint record of the plan, and of a part of its shapes. scene: the `Scene` of the
    plan. x: positions of all rows.
    """

    index_type = Index

    def __init__(self, stepper: Any) -> None:
        self._plan, self._slots = stepper._plan, stepper._slots
        self._alive = np.ones(stepper.n, np.bool_) if self._slots is None else self._slots.alive
        self._system = SimpleNamespace(stepper=stepper, real=stepper.dtype.type, dim=stepper.dim)

    def _ids(self, rows):
        ids = rows | 1 << 32 if self._slots is None else self._slots.ids[np.maximum(rows, 0)]
        return np.where(rows < 0, rows, ids)

    def _shapes(self, record, part):
        record = self._plan.constraint_records[record]
        fields = laid_out(self._system, record, 0.0)
        fields = fields_of(fields, part) if record.kind == "contacts" else fields
        return Shapes(SimpleNamespace(real=np.float64, alive=(), epsilon=np.finfo(np.float64).eps), fields)

    def first_bodies(self, scene, x, origins, motions, reach, seen, skip):
        """Return the row of the body that each ray hits first, or -1, and the fraction of the motion until the hit."""
        rows = np.flatnonzero(self._alive & (scene.category & np.uint64(seen) != 0) & (scene.sensor == 0))
        rows = rows[reach + scene.radius[rows] > 0]
        skipped = None if skip is None else [int(np.searchsorted(rows, row)) if row in rows else -1 for row in skip]
        row, time = np.empty(len(origins), np.int64), np.empty(len(origins))
        Index(x[rows], rows, reach, None, size=scene.radius[rows]).cast(origins, motions, reach, row, time, skipped)
        return row, time

    def cast(self, scene, x, origins, motions, reach, seen, rows, times):
        """Return the first hit of each ray. rows, times: see `first_bodies`."""
        hits, hit = np.zeros(len(origins), scene.hit), rows >= 0
        share, normal = np.where(hit, times, np.inf), hits["normal"]
        d = origins[hit] + share[hit, None] * motions[hit] - x[rows[hit]]
        distance = np.sqrt(dot(Vector(d.T), Vector(d.T)))[:, None]
        normal[hit] = np.divide(d, distance, out=np.zeros_like(d), where=distance > 0)
        hits["query"], hits["slot"], hits["shape"], hits["source"] = np.arange(len(hits)), rows, -1, -1
        hits["what"][hit] = self._ids(rows[hit])
        for side in scene.sides:
            if not side.mask & seen:
                continue
            if side.normals is None:
                number = self._cast_at_shapes(side, origins, motions, reach, share, normal)
            else:
                number = self._cast_at_planes(side, origins, motions, reach, share, normal)
            closer = number >= 0
            hits["what"][closer], hits["shape"][closer] = -1 - side.first - number[closer], number[closer]
            hits["source"][closer], hits["slot"][closer] = side.source, -1
        hit = hits["what"] != 0
        hits["share"] = np.where(hit, share, 1.0)
        hits["point"] = origins + hits["share"][:, None] * motions
        hits["point"][hit] -= (reach * normal)[hit]
        return hits

    def _cast_at_planes(self, side, x, motions, r, share, normal):
        """Return the plane that each ray hits first of all so far, or -1; update the shares and normals."""
        found = np.full(len(x), -1)
        for number, (n, offset) in enumerate(zip(side.normals, side.offsets, strict=True)):
            gap, speed = dot(n, x.T) - offset - r, -dot(n, motions.T)
            inside = gap <= 0 if r > 0 else gap < 0
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                time = np.where(inside, 0.0, np.where(speed > 0, gap / speed, np.inf))
                closer = (time <= 1) & is_first(time, Vector(n), Vector(motions.T), share, Vector(normal.T))
            share[closer], found[closer], normal[closer] = time[closer], number, n
        return found

    @np.errstate(all="ignore")  # squares of large distances overflow
    def _cast_at_shapes(self, side, origins, motions, radius, shares, normals):
        """Return the shape that each ray hits first of all so far, or -1; update the shares and normals."""
        shapes, numbers = self._shapes(side.record, side.part), np.full(len(origins), -1)
        for k, (y, motion) in enumerate(zip(map(Vector, origins), map(Vector, motions), strict=True)):
            for number, a, b in shapes.ends:
                hit = first_hit(shapes, y, motion, radius, side.half, a, b)
                if hit is None:
                    continue
                share, n = hit
                if is_first(share, n, motion, shares[k], Vector(normals[k])):
                    shares[k], normals[k], numbers[k] = share, n, number
        return numbers

    @np.errstate(all="ignore")  # positions may be infinite
    def touching(self, scene, x, displacement, pairs, known):
        """Return the contacts, sorted, and a mask of those with a sensor. displacement: of each row in a step;
        pairs: per part (an index of rows, pairs with rows that the index lacks), or None; known: (constraint,
        pairs, impulses) as stored by `Contacts`, or None."""
        found, rows = [], np.flatnonzero(self._alive)
        for part, some in zip(scene.contacts, pairs, strict=True):
            if part.side is None:
                i, second, shape, normal, sensed = self._pairs(part, x, some)
            else:
                at = self._at_shapes if part.side.normals is None else self._at_planes
                i, shape, normal, sensed = at(part, rows, x[rows])
                i, second = rows[i], -1 - part.side.first - shape
            for k, one in enumerate(i):
                point = x[one] + part.radius[one] * normal[k]
                found.append((part.source, one, second[k], shape[k], point, normal[k], sensed[k]))
        found.sort(key=lambda touch: touch[:3])
        result = np.zeros(len(found), scene.contact)
        names = ("source", "slot_a", "slot_b", "shape", "point", "normal")
        for name, values in zip(names, zip(*found, strict=True), strict=False):
            result[name] = values
        for name in "ab":
            result[name] = self._ids(result[f"slot_{name}"])
        result["impulse"], source = np.nan, -1
        stored: dict[tuple[int, int], float] = {}
        if known is not None:
            source, pairs, pushes = known
            stored = dict(zip(map(tuple, pairs.tolist()), pushes, strict=True))
        for k in np.flatnonzero(result["source"] == source).tolist():
            first, second = result[["slot_a", "slot_b"]][k].tolist()
            result["impulse"][k] = stored.get((first, len(x) - 1 - second if second < 0 else second), 0.0)
        sensed = np.array([touch[-1] for touch in found], np.bool_)
        held = ~self._passing(scene, x, displacement, result)
        return result[held], sensed[held]

    def _passing(self, scene, x, displacement, contacts):
        """Return a mask of the contacts with one-way shapes that let the body pass, and give it no impulse."""
        passing = np.zeros(len(contacts), np.bool_)
        sides: dict[tuple[int, int], tuple[Any, ...]] = {}
        for part in scene.contacts:
            if part.side is not None and part.side.normals is None:
                shapes = self._shapes(part.side.record, part.side.part)
                sides |= {(part.source, -1 - part.side.first - end[0]): (part, shapes, end) for end in shapes.ends}
        for k, (source, i, second, impulse) in enumerate(contacts[["source", "slot_a", "slot_b", "impulse"]].tolist()):
            if (source, second) in sides:
                part, shapes, end = sides[source, second]
                y, before = Vector(x[i]), Vector(x[i] - displacement[i])
                below, began = (shapes.passes(place, part.reach[i], *end) for place in (y, before))
                passing[k] = (below and not impulse > 0) or (began and impulse == 0)
        return passing

    def _pairs(self, part, x, some):
        i, j = (np.zeros(0, np.int64),) * 2
        if some is not None:
            i, j = (np.concatenate(both) for both in zip(some[0].pairs(None), some[1].T, strict=True))
        space = space_of(None if some is None else some[0]._torus, float)
        columns = space.nearest(Vector((x[j] - x[i]).T))
        d = np.stack(columns, axis=1)
        distance, sensed = np.sqrt(dot(columns, columns)), (part.through[i] | part.through[j]) != 0
        kept = distance <= (part.radius[i] + part.radius[j]) * (1 + 1 / 1024)
        kept &= (part.category[i] & part.mask[j] != 0) & (part.category[j] & part.mask[i] != 0)
        kept &= sensed | (part.moves[i] != 0) | (part.moves[j] != 0)
        i, j, d, distance = i[kept], j[kept], d[kept], distance[kept, None]
        normal = np.divide(d, distance, out=np.zeros_like(d), where=distance > 0)
        return i, j, np.full(len(i), -1), normal, sensed[kept]

    def _at_planes(self, part, rows, x):
        """Return the contacts with walls: body indices, wall numbers, normals into the walls, mask of sensors."""
        side, r, through = part.side, part.radius[rows], part.through[:, rows]
        found = []
        for number, (n, offset) in enumerate(zip(side.normals, side.offsets, strict=True)):
            gap, large = dot(n, x.T) - offset - r, abs(offset) + dot(abs(n), abs(x.T))
            near = (gap <= r / 1024 + part.slack * large) & (through[number] != 2) & np.isfinite(large)
            found += [(i, number, 0.0 - n, through[number, i] == 1) for i in np.flatnonzero(near)]
        return listed(found, x.shape[1])

    def _at_shapes(self, part, rows, x):
        """Return the contacts with shapes, in the same form as `_at_planes`."""
        reach, through = part.reach[rows], part.through[0, rows]
        large = reach + dot(Vector(abs(x.T)), Vector(np.ones(x.shape[1])))
        reach = np.where(np.isfinite(large), reach + reach / 1024 + part.slack * large, -np.inf)
        near = self.near(part.side.record, part.side.part, x, reach)
        found = [(i, shape, 0.0 - n, through[i] == 1) for i, shape, _, n in zip(*near, strict=True) if through[i] != 2]
        return listed(found, x.shape[1])

    @np.errstate(all="ignore")
    def near(self, record, part, points, reaches):
        """Return (row, number, distance, outward normal) of all shapes within reach of each point, in this order."""
        shapes, found = self._shapes(record, part), []
        for row, (point, reach) in enumerate(zip(map(Vector, points), reaches, strict=True)):
            for number, a, b in shapes.ends:
                distance, n = shapes.away(point, a, b)
                if distance <= reach:
                    found.append((row, number, distance, list(n)))
        rows, numbers, distances, normals = zip(*found, strict=True) if found else ((),) * 4
        whole = np.array(rows, np.int64), np.array(numbers, np.int64)
        return *whole, np.array(distances, np.float64), np.array(normals, np.float64).reshape(-1, points.shape[1])


def is_first(share, n, motion, least, normal):
    """Return whether a hit precedes another: it is earlier, or as early with a normal more opposed to the motion."""
    return (share < least) | ((share == least) & (dot(n, motion) < dot(normal, motion)))


def first_hit(shapes, y, motion, radius, half, a, b):
    """Return the fraction of a motion until a circle, sphere or ray hits a shape, and the outward normal, or None.

    A motion that begins in the shape hits it with a share of 0. half: half the thickness of segments.
    """
    if shapes.away(y, a, b)[0] < radius + half:
        share = 0.0
    elif radius == 0:
        return along_segment(shapes, y, motion, half, a, b) if shapes.segments else along_box(y, motion, a, b)
    else:
        share = shapes.touch(y, motion, radius + half, a, b, False)
    if share is None:
        return None
    n = shapes.away(y + share * motion, a, b)[1]
    # Beside a thin segment, rounding errors decide the sign of the normal: turn it against the motion.
    return share, -1 * n if shapes.segments and share > 0 and dot(n, motion) > 0 else n


def along_box(y, motion, a, b):
    """Return `first_hit` of a ray that begins outside of a box, or on its surface.

    Of the faces that the motion opposes, it passes the planes of all before it leaves one of the other planes. It hits
    the face whose plane is the last; at an edge, of several such faces the one most opposed to the motion.
    """
    enters, leaves, axis = -np.inf, np.inf, 0
    for j in range(len(y)):
        if motion[j] == 0:
            if not a[j] <= y[j] <= b[j]:
                return None
            continue
        first, last = (a[j] - y[j], b[j] - y[j]) if motion[j] > 0 else (y[j] - b[j], y[j] - a[j])
        first, last = first / abs(motion[j]), last / abs(motion[j])
        if first > enters or (first == enters and abs(motion[j]) > abs(motion[axis])):
            enters, axis = first, j
        leaves = min(leaves, last)
    if not (enters >= 0 and enters <= leaves and enters <= 1):
        return None
    side = -1.0 if motion[axis] > 0 else 1.0
    return enters, Vector([side if j == axis else 0.0 for j in range(len(y))])


def along_segment(shapes, y, motion, half, a, b):
    """Return `first_hit` of a ray that begins outside of a segment: of its two sides and, if it is thick, round ends.

    A ray does not hit a side that it is parallel to, up to rounding errors.
    """
    share, e, d = None, b - a, y - a
    if half > 0:
        times = [first_contact(y - end, motion, 0.0, half) for end in (a, b)]
        share = min((time for time in times if time is not None), default=None)
    square = dot(e, e)
    size = sqrt(square)
    n = Vector([(0 * size - e[1]) / size, e[0] / size])
    q, dq = dot(n, d), dot(n, motion)
    if q < 0:
        n, q, dq = -1 * n, 0 - q, 0 - dq
    small = ROUNDING * shapes.system.epsilon * (abs(motion[0]) + abs(motion[1]))
    if square > 0 and q > 0 and dq < -small:
        time = (q - half) / (0 - dq)
        time = 0 * q if time < 0 else time  # closer by rounding
        if half > 0:
            along = dot(e, d + time * motion)
            between = along >= 0 and along <= square
        else:
            # Segments that share an end agree exactly on which side the ray passes it: no ray gets through.
            one, other = (motion[0] * z[1] - motion[1] * z[0] for z in (d, y - b))
            between = not (one > 0 and other > 0) and not (one < 0 and other < 0)
        if between and time <= 1 and (share is None or time < share):
            share = time
    if share is None:
        return None
    return share, shapes.away(y + share * motion, a, b)[1] if half > 0 else n


def listed(found, dim):
    """Convert a list of contacts, which may be empty, to an array per column."""
    i, number, normal, sensed = zip(*found, strict=True) if found else ((),) * 4
    normals = np.array(normal, np.float64).reshape(-1, dim)
    return np.array(i, np.int64), np.array(number, np.int64), normals, np.array(sensed, np.bool_)
