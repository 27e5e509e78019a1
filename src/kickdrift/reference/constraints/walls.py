"""Collisions with walls: restitution and friction."""

from __future__ import annotations

from ..vector import Vector, dot, sqrt
from .friction import friction_impulse


def bounce(depth, speed, pull, slow, restitution, h, longest, pressed):
    """Reflect a body that is `depth` beyond a wall; speed: outward normal speed at the end of the step.

    Returns the distance inside the wall, the inward speed, and the time for which friction has affected the
    position: the time since impact, or `pressed` in resting contact.

    pull: change of the outward speed by the forces of the step; the trajectory from the wall to `depth` is a
    parabola of acceleration pull / h. slow: up to this impact speed the body comes to rest. longest: limit of the
    time since impact; beyond it the body stays on the wall, see `at_most`.
    """
    zero = 0 * h
    still = 0 * depth  # NaN if depth is infinite: an overflow must stay visible
    fast = abs(speed)
    at_wall = speed_at_wall(depth, fast, pull, h)
    if not speed > 0:
        return still, at_wall, zero  # already moving inwards
    if at_wall <= slow:
        return still, zero, pressed
    time = at_most(longest, 2 * depth / (at_wall + fast), zero)
    inwards = restitution * at_wall
    if inwards <= pull / h * time / 2:  # the forces have pushed the body back to the wall
        return still, zero, time
    return (inwards - pull / h / 2 * time) * time, inwards - pull / h * time, time


def speed_at_wall(depth, fast, pull, h):
    """Compute the impact speed of a body that is `depth` beyond a wall; fast: its present speed."""
    zero = 0 * h
    if pull < 0:  # decelerated since the impact
        return sqrt(at_least(fast * fast - 2 * pull / h * depth, zero))
    share = 2 * pull / h * depth / fast / fast if fast > 0 else 1 + zero  # relative energy gained since the impact
    return fast * sqrt(1 - share) if share < 1 else zero


def at_least(number, zero):
    """Return max(number, 0); NaN gives 0."""
    return number if number > 0 else zero


def at_most(longest, time, zero):
    """Return the time since an impact; 0 if it exceeds `longest`, the length of the step, by more than rounding."""
    if time <= longest:
        return time
    return longest if time <= longest + longest / 1024 else zero


def arrival(depth, speed, pull, h, longest):
    """Compute time since impact and impact speed of a body `depth` beyond a wall; speed: outwards, at present."""
    zero = 0 * h
    if not speed > 0:
        return zero, zero
    at_wall = speed_at_wall(depth, speed, pull, h)
    time = 2 * depth / (at_wall + speed)
    return at_most(longest, time, zero), at_wall


class Wall:
    """Coefficients and state shared by all wall constraints."""

    def __init__(self, system, restitution, friction, radius, weight, lag, sensor=None, bodies=None, belt=None):
        self.h = system.h
        self.lag = system.real(lag[0])
        self.zero = system.real(0)
        self.belt = None if belt is None else [system.real(b) for b in belt]
        self._system = system
        self._rows = restitution, friction, radius
        self.weight = [system.real(w) for w in weight]
        #: Per body: 1 for a sensor contact, 2 for no contact, 0 for collisions.
        sensor = [0] * len(weight) if sensor is None else sensor
        self.sensor = [s == 1 for s in sensor]
        self.solid = [s == 0 for s in sensor]
        bodies = range(len(weight)) if bodies is None else bodies
        self.free = [i for i in bodies if (weight[i] > 0 if sensor[i] == 0 else sensor[i] == 1 and system.alive[i])]

    def coefficients(self, i):
        """Return restitution, friction and radius of a body."""
        return [self._system.real(row[i if len(row) > 1 else 0]) for row in self._rows]

    def collide(self, depth, v, delta_v, restitution):
        """Return the result of `bounce` for a body, or None without contact.

        depth, v and delta_v: outward components of position, velocity, and velocity change by forces. The velocity
        is `lag` steps behind the position: at the position's time it is v + lag * delta_v.
        """
        speed = v + self.lag * delta_v
        if not (depth > 0 or (depth == 0 and speed > 0)):
            return None
        slow = at_least(delta_v, self.zero)
        inside, inwards, time = bounce(depth, speed, delta_v, slow, restitution, self.h, self.h, self.pressed)
        # A resting contact has speed 0, which needs no correction for the lag.
        return inside, inwards + self.lag * delta_v if inwards > 0 else self.zero, time

    def report_impacts(self, i, number, depth, v, delta_v, impulse, normal, surface):
        """Record the contact of a body with a wall. surface: function from time since impact to contact point."""
        if not self._system.reporting:
            return
        speed = v + self.lag * delta_v
        slow = at_least(delta_v, self.zero)
        time_since, fast = arrival(depth, speed, delta_v, self.h, self.h)
        if self.sensor[i] and depth > 0 and not time_since > 0:  # sensor contact since before the step
            time_since, fast = self.h, self.zero
        impulse = self.zero if self.sensor[i] else impulse / self.weight[i]
        self._system.report(i, -1 - number, time_since, time_since, fast, slow, impulse, surface(time_since), normal)

    @property
    def pressed(self):
        """Effective duration (s) in which a velocity change, spread over the step, has changed the position."""
        return self.h * (0.5 + self.lag)


def box(system, before, lower, upper, restitution, friction, radius, weight, lag, sensor=None, bodies=None, belt=None):
    x, v, s = system.rows()
    wall = Wall(system, restitution, friction, radius, weight, lag, sensor, bodies, belt)
    lower, upper = ([system.real(bound) for bound in bounds[0]] for bounds in (lower, upper))
    for i in wall.free:
        e, mu, r = wall.coefficients(i)
        y, u = list(x[i]), list(v[i])
        if all(low + r < c < high - r for low, c, high in zip(lower, y, upper, strict=True)):
            continue  # no contact: `replace` would turn a previous position of -0 into 0
        for j in range(system.dim):
            low, high = lower[j] + r, upper[j] - r
            for sign, place, other in ((-1, low, high), (1, high, low)):  # sign, this wall, the opposite wall
                delta_v = system.delta_v[i]
                found = wall.collide(sign * (y[j] - place), sign * u[j], sign * delta_v[j], e)
                if found is None:
                    continue
                inside, inwards, time = found
                impulse = sign * u[j] + inwards

                def surface(time_since, j=j, sign=sign, bound=place + sign * r, y=tuple(y), u=tuple(u)):
                    return Vector([bound if k == j else y[k] - time_since * u[k] for k in range(len(y))])

                normal = Vector([system.real(sign) if k == j else wall.zero for k in range(system.dim)])
                wall.report_impacts(
                    i,
                    2 * j + (sign > 0),
                    sign * (y[j] - place),
                    sign * u[j],
                    sign * delta_v[j],
                    impulse,
                    normal,
                    surface,
                )
                if wall.sensor[i]:
                    continue
                y[j], u[j] = place - sign * inside, -sign * inwards
                if sign * (y[j] - other) < 0:
                    y[j] = other
                if mu > 0 and impulse > 0 and system.dim > 1:
                    along = Vector([wall.zero if k == j else u[k] for k in range(system.dim)])
                    inner = Vector([system.real(-sign) if k == j else wall.zero for k in range(system.dim)])
                    lost = friction_impulse(system, i, r, wall.weight[i], inner, along, mu * impulse, wall.belt)
                    for k in range(system.dim):
                        if k != j:
                            u[k] = u[k] - lost[k]
                            y[k] = y[k] - time * lost[k]
        replace(system, x, v, s, i, Vector(y), Vector(u))
    system.put(x, v, s)


def plane(
    system, before, normal, offset, restitution, friction, radius, weight, lag, sensor=None, bodies=None, belt=None
):
    x, v, s = system.rows()
    wall = Wall(system, restitution, friction, radius, weight, lag, sensor, bodies, belt)
    n, place = Vector([system.real(number) for number in normal[0]]), system.real(offset[0])
    for i in wall.free:
        e, mu, r = wall.coefficients(i)
        across, delta_v = dot(n, v[i]), dot(n, system.delta_v[i])
        depth = place + r - dot(n, x[i])
        found = wall.collide(depth, -across, -delta_v, e)
        if found is None:
            continue
        inside, inwards, time = found
        y, along = x[i] + (depth + inside) * n, v[i] - across * n
        impulse = inwards - across

        def surface(time_since, inner=x[i] + (depth - r) * n, along=along):
            return inner - time_since * along

        wall.report_impacts(i, 0, depth, -across, -delta_v, impulse, -1 * n, surface)
        if wall.sensor[i]:
            continue
        if mu > 0 and impulse > 0:
            lost = friction_impulse(system, i, r, wall.weight[i], n, along, mu * impulse, wall.belt)
            along = along - lost
            y = y - time * lost
        replace(system, x, v, s, i, y, along + inwards * n)
    system.put(x, v, s)


#: Names of the record fields that contain positions of walls.
PLACES = ("lower", "upper", "normal", "offset")
#: Maximal iterations over the walls of a corner until convergence.
SWEEPS = 256


def corners(system, before, normal, offset, weight, lag, wall, number):
    """Solve bodies in contact with several walls at once, for the normal impulses of all these walls.

    Solved separately, each wall would push a body into the previous one, or along it. A wall that another one pushes
    the body into belongs to the corner, too. Bouncing bodies, whose approach speed exceeds the velocity change by the
    forces of two steps, are left to the single walls; the support by another wall belongs to these forces. Contacts are
    recorded here, as those of the single walls. wall: index of each plane's declaration, for its coefficients.
    """
    x, v, s = system.rows()
    lag, zero = system.real(lag[0]), system.real(0)
    pressed = system.h * (system.real(0.5) + lag)
    normal = [Vector([system.real(component) for component in row]) for row in normal]
    records = [record for record in system.plan.constraint_records if record.kind in ("box", "plane")]
    sources = [system.plan.source(record) for record in records]
    each = [
        Wall(system, **{name: field for name, field in record.fields.items() if name not in PLACES})
        for record in records
    ]
    walls = [each[k] for k in wall]
    for i in range(len(x)):
        restitution, friction, radius = zip(*(own.coefficients(i) for own in walls), strict=True)
        size = [system.real(place) + r for place, r in zip(offset, radius, strict=True)]
        held = [k for k, own in enumerate(walls) if own.solid[i]]
        depth = {k: size[k] - dot(normal[k], x[i]) for k in held}
        touched = [k for k in held if depth[k] >= 0]

        def is_pushed_into(k, x=x[i], size=size, depth=depth, touched=touched):
            walls = [j for j in touched if acute(normal[j], normal[k])]
            return any(size[k] - dot(normal[k], x + depth[j] * normal[j]) > 0 for j in walls)

        there = [k for k in held if k in touched or is_pushed_into(k)]
        if not weight[i] > 0 or len(there) < 2:
            continue
        thrown = False
        for k in there:
            delta_v = -dot(normal[k], system.delta_v[i])
            slow = at_least(delta_v, zero)
            for j in there:
                if acute(normal[j], normal[k]):
                    pull = dot(normal[j], system.delta_v[i])
                    supported = system.delta_v[i] - pull * normal[j] if pull < 0 else system.delta_v[i]
                    towards = -dot(normal[k], supported)
                    slow = towards if towards > slow else slow
            if restitution[k] > 0 and lag * delta_v - dot(normal[k], v[i]) > slow + slow:
                thrown = True
        if thrown:
            continue
        y, _ = resolve(x[i], [(normal[k], size[k]) for k in there])
        u, pushes = resolve(v[i], [(normal[k], zero) for k in there])
        for k, push in zip(there, pushes, strict=True):
            report_plane(
                system,
                sources[wall[k]],
                int(number[k]),
                i,
                normal[k],
                size[k],
                radius[k],
                x[i],
                v[i],
                lag,
                push,
                weight[i],
            )
        for k, push in zip(there, pushes, strict=True):
            if friction[k] > 0 and push > 0:
                delta_v = -dot(normal[k], system.delta_v[i])
                depth, speed = size[k] - dot(normal[k], x[i]), lag * delta_v - dot(normal[k], v[i])
                time_since, fast = arrival(depth, speed, delta_v, system.h, system.h)
                along, most = u - dot(normal[k], u) * normal[k], friction[k] * push
                lost = friction_impulse(
                    system, i, radius[k], system.real(weight[i]), normal[k], along, most, walls[k].belt
                )
                u, y = u - lost, y - (time_since if fast > at_least(delta_v, zero) else pressed) * lost
        replace(system, x, v, s, i, y, u)
    system.put(x, v, s)


def acute(n, m):
    """Return whether two walls form an angle below 90 degrees: the support by one pushes a body into the other."""
    return -1 < dot(n, m) < 0


def report_plane(system, source, number, i, n, size, r, x, v, lag, push, weight):
    """Record the contact with one wall of a corner, as a contact of that wall."""
    across, delta_v, depth, zero = dot(n, v), dot(n, system.delta_v[i]), size - dot(n, x), system.real(0)
    speed = -across - lag * delta_v
    if not (depth > 0 or speed > 0):
        return
    # A wall that only another one pushes the body into is reached at the end of the step.
    time_since, fast = arrival(at_least(depth, zero), speed, -delta_v, system.h, system.h)
    point = x + (depth - r) * n - time_since * (v - across * n)
    system.report_for(
        source,
        i,
        -1 - number,
        time_since,
        time_since,
        fast,
        at_least(-delta_v, zero),
        push / system.real(weight),
        point,
        -1 * n,
    )


def resolve(y, walls):
    """Project y to the closest point with dot(n, y) >= size for all walls; return it and each wall's push."""
    pushes = [0 * y[0]] * len(walls)
    for _ in range(SWEEPS):
        changed = False
        for k, (n, size) in enumerate(walls):
            push = pushes[k] + (size - dot(n, y))
            push = push if push > 0 else 0 * push
            change = push - pushes[k]
            if change != 0:
                changed = True
            pushes[k] = push
            y = y + change * n
        if not changed:
            break
    return y, pushes


def replace(system, x, v, s, i, y, u):
    """Set position and velocity of a body, and the matching previous position for Verlet."""
    if s is not None:
        s[i] = s[i] + (y - x[i]) - system.h * (u - v[i])
    x[i], v[i] = y, u
