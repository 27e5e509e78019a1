"""Shapes, static or moving, with continuous collision detection."""

from __future__ import annotations

from itertools import combinations, pairwise, product

from ..vector import Vector, dot, sqrt
from .friction import friction_impulse, spin_by
from .motion import Motion
from .walls import Wall, arrival, at_least, replace

#: Secant iterations for the time of impact with a rotating shape.
REFINED = 4
#: Maximal number of impacts of a body per step; after the last one it slides along the shape, if no shape moves.
BOUNCES = 8
#: Relative error of a computed distance, as a multiple of the machine epsilon.
ROUNDING = 16


class Shapes:
    """The shapes of a constraint, segments from a to b or boxes with corners a and b, and the contact distances."""

    def __init__(self, system, fields):
        self.system = system
        self.segments = bool(fields["segments"][0])
        rows = fields.get("motion")
        #: Motion of the shapes; None if static. `lay` moves `ends` from the beginning of the step to another time.
        self.motion = None if rows is None else Motion(system, fields, rows)
        self.now = 0.0
        self.ends = [
            (number, *(Vector([system.real(x) for x in fields[name][number]]) for name in ("lower", "upper")))
            for number in range(len(fields["lower"]))
            if fields["enabled"][number]
        ]
        self.lay(0.0)
        reach = [system.real(r) for r in fields["reach"]]
        self.reach = reach * (len(system.alive) if len(reach) == 1 else 1)
        #: Direction of each one-way shape, see `passes`; None if no shape is one-way.
        self.one_way = fields.get("one_way")

    def lay(self, time):
        """Move the shapes to their positions at a time after the beginning of the step."""
        if self.motion is not None:
            self.now = time
            self.ends = [(number, *self.motion.ends(number, time)) for number, _, _ in self.ends]

    def path(self, number, start, y, since, until=0.0):
        """Return start and motion of a body relative to a shape, from `since` s to `until` s before the step's end."""
        if self.motion is None:
            return start, y - start
        k, h = self.ends[number][0], self.motion.h
        begin = self.motion.along(k, h - float(since), 0.0, start)
        return begin, self.motion.along(k, h - float(until), 0.0, y) - begin

    def collide(self, number, at, since, half=0):
        """Return (distance, normal, surface velocity, `at` at the end of the step) for a body and a shape.

        at: position of the body `since` s before the end of the step; from then on it moves with the surface. half:
        half the thickness of the shape, whose surface is that far from its line. The velocity is None for static
        shapes.
        """
        k, a, b = self.ends[number]
        if self.motion is None:
            distance, n = self.away(at, a, b)
            return distance, n, None, at
        time = self.motion.h - float(since)
        distance, n = self.away(self.motion.along(k, time, 0.0, at), a, b)
        n = self.motion.turned(k, time, n)
        v = self.motion.velocity(k, time, at - (distance - half) * n)
        return distance, n, v, at + since * v

    def carried(self, number, at, since):
        """Return the position at the end of the step of a body that moves with a shape for the last `since` s."""
        assert self.motion is not None
        h = self.motion.h
        return self.motion.along(self.ends[number][0], h - float(since), h, at)

    def first_touch(self, number, start, y, since, r, through):
        """Return the fraction of a motion to y, in the last `since` s of the step, until the distance is r; or None."""
        k, a, b = self.ends[number]
        if self.motion is None or self.motion.rows[k][-1] == 0:
            begin, displacement = self.path(number, start, y, since)
            return self.touch(begin, displacement, r, a, b, through)
        # Relative to a rotating shape the path is curved. Straight pieces give the first guess for the secant method.
        pieces, nearly = self.motion.pieces(k, start, y, float(since), float(r))
        real = self.system.real
        shares = [real(piece) / real(pieces) for piece in range(pieces + 1)]
        places = [start, *(start + share * (y - start) for share in shares[1:-1]), y]
        times = [(real(1) - share) * since for share in shares]
        for piece, ((place, end), (left, until)) in enumerate(zip(pairwise(places), pairwise(times), strict=True)):
            begin, displacement = self.path(number, place, end, left, until)
            t = self.touch(begin, displacement, r, a, b, through)
            if t is None:
                continue
            t, gap = self.refined(number, start, y, since, r, shares[piece], (real(piece) + t) / real(pieces))
            if float(gap) <= nearly:  # otherwise the curved path misses the shape
                return t
        return None

    def refined(self, number, start, y, since, r, last, now):
        """Return the fraction of a motion until the distance from a rotating shape is r, and the remaining gap."""
        one = self.system.real(1)

        def gap(t):
            return self.collide(number, start + t * (y - start), (one - t) * since)[0] - r

        before, here = gap(last), gap(now)
        for _ in range(REFINED):
            if before == here:
                break
            then = now - here * ((now - last) / (here - before))
            if not (then >= 0 and then <= 1):
                break
            last, before, now = now, here, then
            here = gap(now)
        return now, here

    def away(self, y, a, b):
        """Return distance and outward normal from a shape to y; in a box, minus the depth below the nearest face."""
        return self.away_from_segment(y, a, b) if self.segments else self.away_from_box(y, a, b)

    def passes(self, y, r, number, a, b):
        """Return whether a one-way shape lets a body pass: the body is not above the shape at y, where its step begins.

        Above a segment is the left of the line from a to b, or the right if `one_way` is negative; above a box is the
        side of the declared direction.
        """
        if self.one_way is None:
            return False
        above = Vector([self.system.real(x) for x in self.one_way[number]])
        if self.segments:
            e = b - a
            size = sqrt(dot(e, e))
            above = above[0] * Vector([(0 * size - e[1]) / size, e[0] / size])
        else:
            a = Vector([high if x > 0 else low for x, low, high in zip(above, a, b, strict=True)])
        return dot(above, y - a) < r - r / 16

    def away_from_segment(self, y, a, b):
        zero, e = self.system.real(0), b - a
        along, square = dot(y - a, e), dot(e, e)
        if 0 < along < square:
            # y is beside the segment. Its distance may be tiny, therefore the normal is computed from the segment.
            size = sqrt(square)
            w = Vector([(zero - e[1]) / size, e[0] / size])
            q = dot(w, y - a)
            return (q, w) if q >= 0 else (zero - q, -1 * w)
        d = y - (b if along > 0 else a)
        r = sqrt(dot(d, d))
        return r, d / r if r > 0 else Vector([zero + 1, zero])

    def away_from_box(self, y, a, b):
        zero = self.system.real(0)
        d = y - Vector([low if x < low else high if x > high else x for x, low, high in zip(y, a, b, strict=True)])
        r = sqrt(dot(d, d))
        if not r <= 0:  # NaN counts as outside, too
            return r, d / r
        displacements = [(x - low, -1, j) for j, (x, low) in enumerate(zip(y, a, strict=True))]
        displacements += [(high - x, 1, j) for j, (x, high) in enumerate(zip(y, b, strict=True))]
        depth, sign, axis = min(displacements, key=lambda displacement: displacement[0])
        return zero - depth, Vector([zero + sign if j == axis else zero for j in range(len(y))])

    def touch(self, y, motion, r, a, b, through):
        """Return the fraction of a motion from y until the distance is r, or None. through: None if already closer."""
        # Rounding tilts the motion of a sliding body slightly into the shape. Motion by up to `small` into the tangent
        # plane is no collision: where two shapes share an edge, the body would collide with both in turn, and stop.
        # Ignoring it is safe: shapes are convex, so the body gets no deeper than `small`.
        small = 0 * r
        if not through:
            for p, q in zip(y, motion, strict=True):
                small = small + (abs(p) + abs(q))
            small = ROUNDING * self.system.epsilon * small
        distance, n = self.away(y, a, b)
        if distance < r:
            return self.system.real(0) if not through and dot(n, motion) < -small else None
        around = self.around_segment if self.segments else self.around_box
        first = None
        for t in around(y, motion, r, a, b):
            if t is not None and t <= 1 and (first is None or t < first):
                first = t
        if first is None or through:
            return first
        distance, n = self.away(y + first * motion, a, b)
        if not distance > small:
            return first  # too close to determine on which side the body is
        return first if dot(n, motion) < -small else None

    def around_segment(self, y, motion, r, a, b):
        """Continuous collision detection with the two sides and two ends of a segment."""
        e = b - a
        square = dot(e, e)
        yield self.round(y - a, motion, r)
        yield self.round(y - b, motion, r)
        if not square > 0:
            return
        size = sqrt(square)
        w = Vector([(0 * size - e[1]) / size, e[0] / size])
        q, dq = dot(w, y - a), dot(w, motion)
        if q > 0 and dq < 0:
            t = (q - r) / (0 * dq - dq)
        elif q < 0 and dq > 0:
            t = (0 * q - q - r) / dq
        else:
            return
        t = 0 * r if t < 0 else t  # closer than r by rounding
        along = dot(e, y - a + t * motion)
        if t >= 0 and along >= 0 and along <= square:
            yield t

    def around_box(self, y, motion, r, a, b):
        """Continuous collision detection with faces, edges and corners: y is outside of 1, 2 or 3 pairs of faces."""
        dim = len(y)
        for j in range(dim):
            if motion[j] > 0 and y[j] <= a[j]:
                t = (a[j] - r - y[j]) / motion[j]
            elif motion[j] < 0 and y[j] >= b[j]:
                t = (b[j] + r - y[j]) / motion[j]
            else:
                continue
            t = 0 * r if t < 0 else t  # closer than r by rounding
            if t >= 0 and self.is_within(y, motion, t, a, b, (j,)):
                yield t
        for count in range(2, dim + 1):
            for axes in combinations(range(dim), count):
                for corner in product((0, 1), repeat=count):
                    d = Vector([y[j] - (b if side else a)[j] for j, side in zip(axes, corner, strict=True)])
                    t = self.round(d, Vector([motion[j] for j in axes]), r)
                    if t is not None and self.is_within(y, motion, t, a, b, axes):
                        yield t

    def is_within(self, y, motion, t, a, b, but):
        """Return whether the point at fraction t is between all pairs of faces, ignoring the axes in `but`."""
        others = [j for j in range(len(y)) if j not in but]
        return all(a[j] <= y[j] + t * motion[j] and y[j] + t * motion[j] <= b[j] for j in others)

    def round(self, d, motion, r):
        """Return the fraction of a motion until a body at separation d from a point is at distance r."""
        square, along, outside = dot(motion, motion), dot(d, motion), dot(d, d) - r * r
        outside = 0 * r if outside < 0 else outside  # closer than r by rounding
        under_root = along * along - square * outside
        if not along < 0 or not under_root >= 0 or not outside >= 0:
            return None
        return outside / (sqrt(under_root) - along)


def shapes(
    system, before, segments, lower, upper, enabled, reach, restitution, friction, radius, weight, lag, sensor=None,
    bodies=None, belt=None, one_way=None, **moving,
):  # fmt: skip
    x, v, s = system.rows()
    wall = Wall(system, restitution, friction, radius, weight, lag, sensor, bodies, belt)
    fields = {"segments": segments, "lower": lower, "upper": upper, "enabled": enabled, "reach": reach}
    all_ = Shapes(system, fields | {"one_way": one_way, **moving})
    for i in wall.free:
        if wall.sensor[i]:
            go_through(system, wall, all_, i, before[i], x[i], v[i])
            continue
        y, u, start, since, number, met, support = x[i], v[i], before[i], system.h, None, False, None
        half = all_.reach[i] - wall.coefficients(i)[2]
        open_ = {k for k, shape in enumerate(all_.ends) if all_.passes(start, all_.reach[i], *shape)}
        for _ in range(BOUNCES):
            t, number, at = first_touch(all_, i, start, y, since, but=open_ | {number})
            if number is None:
                break
            since = (system.real(1) - t) * since
            _, n, moves, there = all_.collide(number, at, since, half)
            # In the corner of two shapes, where a body rests on both, t is 0 but for rounding errors.
            if support is not None and 1024 * t > 1:
                y, u = release(system, wall, i, since, support, y, u)
            y, u, support = turn(system, wall, all_, i, number, since, dot(n, there - y), y, u, n, at, moves)
            start, last, met = at, number, True
        else:
            # As in a slot as wide as the body: bounces take no time, and the motion along the slot remains. With moving
            # shapes the body stays at its place on the last one: others may come there in the meantime.
            motion = y - there
            y = start if all_.motion is None else all_.carried(last, start, since)
            if all_.motion is None:
                y = y + (motion - dot(n, motion) * n)
                _, number, at = first_touch(all_, i, start, y, since, but=open_ | {last})
                y = y if number is None else at
        zero = system.real(0)
        for number in range(len(all_.ends)):
            distance, n, moves, _ = all_.collide(number, y, zero, half)
            if distance < all_.reach[i] and number not in open_:
                y, u, _ = turn(system, wall, all_, i, number, zero, all_.reach[i] - distance, y, u, n, y, moves)
                met = True
        if met:
            replace(system, x, v, s, i, y, u)
    system.put(x, v, s)


def go_through(system, wall, shapes, i, start, y, u):
    """Record a body's sensor contacts: with the first shape on its path, and with all that it overlaps in the end."""
    one = system.real(1)

    def come(number, t):
        at, since = start + t * (y - start), (one - t) * system.h
        _, n, moves, there = shapes.collide(number, at, since)
        own = u if moves is None else u - moves
        report_impacts(system, wall, shapes, i, number, since, dot(n, there - y), own, n, wall.zero, at)

    t, first, _ = first_touch(shapes, i, start, y, system.h, through=True)
    if first is not None:
        come(first, t)
    for number, (name, _, _) in enumerate(shapes.ends):
        distance, n, _, _ = shapes.collide(number, y, wall.zero)
        if number == first or not distance < shapes.reach[i]:
            continue
        t = shapes.first_touch(number, start, y, system.h, shapes.reach[i], through=True)
        if t is not None:
            come(number, t)
        elif system.has_room(i, -1 - name, BOUNCES):  # in contact since before the step
            zero, r = wall.zero, wall.coefficients(i)[2]
            system.report(i, -1 - name, system.h, zero, zero, zero, zero, y - r * n, -1 * n)


def first_touch(shapes, i, start, y, since, through=False, but=()):
    """Find the first impact: (fraction of the motion, shape, position); of simultaneous impacts, the first shape's.

    but: shapes to skip, such as the one hit last: it is convex, and the body moves along its contact plane or away.
    """
    first, which = None, None
    for number in range(len(shapes.ends)):
        if number in but:
            continue
        t = shapes.first_touch(number, start, y, since, shapes.reach[i], through)
        if t is not None and (first is None or t < first):
            first, which = t, number
    return first, which, None if first is None else start + first * (y - start)


def turn(system, wall, shapes, i, number, time_since, depth, y, u, n, at, moves):
    """Resolve the collision of a body that is `depth` beyond the contact plane; moves: the plane's velocity or None.

    Returns position, velocity and, if the body rests on the shape, its support for `release`, else None.
    """
    if moves is not None:
        u = u - moves
    e, mu, r = wall.coefficients(i)
    across, delta_v = dot(n, u), dot(n, system.delta_v[i])
    found = wall.collide(depth, -across, -delta_v, e)
    if found is None:
        return y, u if moves is None else u + moves, None
    inside, inwards, time = found
    impulse = inwards - across
    report_impacts(system, wall, shapes, i, number, time_since, depth, u, n, impulse, at)
    y, along = y + (depth + inside) * n, u - across * n
    lost = 0 * n
    if mu > 0 and impulse > 0:
        lost = friction_impulse(system, i, r, wall.weight[i], n, along, mu * impulse, wall.belt)
        along = along - lost
        y = y - time * lost
        lost = (-delta_v / impulse if impulse > -delta_v else 1) * lost  # the part by the forces, without an impact
    u = along + inwards * n
    support = (n, delta_v, lost) if delta_v < 0 and not inwards > 0 else None
    return y, u if moves is None else u + moves, support


def release(system, wall, i, since, support, y, u):
    """Undo the support by a shape for the last `since` s of the step, in which the body is on another shape.

    `turn` has removed the velocity change by forces along the normal, and friction, as if they acted evenly over the
    whole step. Without this, a body would gain energy wherever it slides from one shape to the next in a bowl.
    """
    n, delta_v, lost = support
    change, share = delta_v * n + lost, since / system.h
    y = y + share * since / 2 * change
    share = share - wall.lag
    spin_by(system, i, wall.coefficients(i)[2], wall.weight[i], n, -share * lost)
    return y, u + share * change


def report_impacts(system, wall, shapes, i, number, time_since, depth, u, n, impulse, at):
    """Record a contact, up to the limit per body. A sensor contact separates at the end of the step."""
    name = shapes.ends[number][0]
    if not system.has_room(i, -1 - name, BOUNCES):
        return
    speed, delta_v = -dot(n, u) - wall.lag * dot(n, system.delta_v[i]), -dot(n, system.delta_v[i])
    _, fast = arrival(depth, speed, delta_v, system.h, system.h)
    radius = wall.coefficients(i)[2]
    impulse = wall.zero if wall.sensor[i] else impulse / wall.weight[i]
    left = wall.zero if wall.sensor[i] else time_since
    system.report(i, -1 - name, time_since, left, fast, at_least(delta_v, wall.zero), impulse, at - radius * n, -1 * n)
