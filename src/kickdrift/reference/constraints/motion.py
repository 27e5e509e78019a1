"""Moving shapes: their positions within a step, and the velocities of their surfaces.

Motions are in float64, for any dtype of the bodies. Positions follow from displacement and angle, so that a rotating
shape stays rigid.
"""

from __future__ import annotations

from math import sqrt

from ..functions import cos, sin
from ..vector import Vector

#: Maximal number of straight pieces of a path relative to a rotating shape.
MOST_PIECES = 32


class Motion:
    """The motion of the shapes of one part in a step, at constant velocities.

    rows: displacement, angle, velocity and angular velocity of each shape at the beginning of the step.
    """

    def __init__(self, system, fields, rows):
        self.real, self.dim = system.real, system.dim
        self.h = float(system.stepper._h)
        self.rows = rows.tolist()
        self.lower, self.upper, self.center = (fields[name].tolist() for name in ("lower", "upper", "center"))
        self.far = fields["far"].tolist()
        #: Largest displacement of the surface of each shape in the step, in m.
        self.displacements = list(map(self._way, self.rows, self.far))

    def _way(self, row, far):
        square = row[self.dim + 1] * row[self.dim + 1]
        for j in range(1, self.dim):
            square = square + row[self.dim + 1 + j] * row[self.dim + 1 + j]
        return (sqrt(square) + abs(row[-1]) * far) * self.h

    def displaced(self, k, time):
        row = self.rows[k]
        return [row[j] + time * row[self.dim + 1 + j] for j in range(self.dim)]

    def middle(self, k, time):
        """Return the center of rotation at a time after the beginning of the step."""
        return [c + d for c, d in zip(self.center[k], self.displaced(k, time), strict=True)]

    def ends(self, k, time):
        """Return the two ends or corners of a shape."""
        displacement, angle = self.displaced(k, time), self.rows[k][self.dim] + time * self.rows[k][-1]
        return tuple(self._vector(self._placed(k, end[k], displacement, angle)) for end in (self.lower, self.upper))

    def _placed(self, k, end, displacement, angle):
        if angle == 0:
            return [a + d for a, d in zip(end, displacement, strict=True)]
        c, s, middle = cos(angle), sin(angle), self.center[k]
        x, y = end[0] - middle[0], end[1] - middle[1]
        return [middle[0] + (c * x - s * y) + displacement[0], middle[1] + (s * x + c * y) + displacement[1]]

    def pieces(self, k, start, y, since, r):
        """Return (number of straight pieces that approximate a path relative to a rotating shape, negligible gap).

        Over a time t the path deviates from a straight line by at most t²/8 times its acceleration, w² R + 2 w v. The
        number of pieces keeps this below the gap.
        """
        row, time = self.rows[k], self.h - since
        angle = abs(row[-1]) * since
        away = [float(a) - b for a, b in zip(start, self.middle(k, time), strict=True)]
        along = [float(a) - float(b) - since * v for a, b, v in zip(y, start, row[self.dim + 1 :], strict=False)]
        radius, length = (sqrt(d[0] * d[0] + d[1] * d[1]) for d in (away, along))
        nearly = min(abs(row[-1]) * self.far[k] * self.h / 8, (r + length + angle * radius) / 64)
        bend = angle * (angle * (radius + length) + 2 * length) / 8
        if not bend < MOST_PIECES * MOST_PIECES * nearly:
            return MOST_PIECES, nearly
        return int(sqrt(bend / nearly)) + 1, nearly

    def velocity(self, k, time, point):
        """Return the velocity of a shape's surface at a point."""
        v, w = self.rows[k][self.dim + 1 : -1], self.rows[k][-1]
        if w != 0:
            middle = self.middle(k, time)
            v = [v[0] - w * (float(point[1]) - middle[1]), v[1] + w * (float(point[0]) - middle[0])]
        return self._vector(v)

    def along(self, k, now, then, point):
        """Return the position at the time `then` of a point that moves with the shape, and is at `point` at `now`.

        Its position relative to the shape is equal at both times; `then` may be earlier.
        """
        w = self.rows[k][-1]
        if w == 0:
            return point + self._vector([(then - now) * v for v in self.rows[k][self.dim + 1 : -1]])
        c, s = cos(w * (then - now)), sin(w * (then - now))
        here, there = self.middle(k, now), self.middle(k, then)
        x, y = float(point[0]) - here[0], float(point[1]) - here[1]
        return self._vector([there[0] + (c * x - s * y), there[1] + (s * x + c * y)])

    def turned(self, k, time, n):
        """Rotate a direction with the shape, from the beginning of the step to `time`."""
        w = self.rows[k][-1]
        if w == 0:
            return n
        c, s, x, y = cos(w * time), sin(w * time), float(n[0]), float(n[1])
        return self._vector([c * x - s * y, s * x + c * y])

    def _vector(self, numbers):
        return Vector([self.real(number) for number in numbers])


def advance(rows, dim, h):
    """Move shapes by a step."""
    rows[:, : dim + 1] = rows[:, : dim + 1] + h * rows[:, dim + 1 :]


def motion_rows(system, record):
    """Return the motion rows of a record's shapes, part by part; None for static parts."""
    motion = system.stepper._motion
    shapes = record.constraint.shapes if record.kind == "contacts" else (record.constraint,)
    return [motion.of(part) if part.moves else None for part in shapes]


def moved_records(system):
    """Return the records with moving shapes."""
    names = ("far", "shape_far")
    return [record for record in system.plan.constraint_records if any(name in record.fields for name in names)]


def laid_out(system, record, time):
    """Return the fields of a record, its shapes at their positions a time after the beginning of the step."""
    fields = record.fields
    if "far" in fields:
        return {**fields, **_ends(system, fields, motion_rows(system, record)[0], time)}
    if "shape_far" not in fields:
        return fields
    begin, lower, upper = fields["shape_begin"], fields["shape_lower"].copy(), fields["shape_upper"].copy()
    for part, rows in enumerate(motion_rows(system, record)):
        if rows is not None:
            own = slice(begin[part], begin[part + 1])
            ends = _ends(system, part_of(fields, own), rows, time)
            lower[own], upper[own] = ends["lower"], ends["upper"]
    return {**fields, "shape_lower": lower, "shape_upper": upper}


def part_of(fields, own):
    """Select the fields of `Motion` for one part of contact shapes."""
    return {name: fields[f"shape_{name}"][own] for name in ("lower", "upper", "center", "far")}


def _ends(system, fields, rows, time):
    import numpy as np

    motion = Motion(system, fields, rows)
    ends = np.array([motion.ends(k, time) for k in range(len(rows))], system.real).reshape(len(rows), 2, system.dim)
    return {"lower": ends[:, 0], "upper": ends[:, 1]}
