"""Bodies that meet a wall: how they turn, and how they rub."""

from __future__ import annotations

from typing import Any

from ..vector import Vector, dot, sqrt


def bounce(depth, speed, pull, slow, restitution, h, longest, pressed):
    """Where a body goes on that is `depth` beyond a wall; speed: outwards, now.

    Returns how far inside it is, how fast it moves inwards, and for how long what friction takes of a velocity
    has moved the position: since the touch, and `pressed` of those that rest.

    `pull` is what the forces of the step have added to the speed outwards: the way back from `depth` to the
    wall is a parabola of the acceleration pull / h. A body that met the wall no faster than `slow` rests.
    `longest`: how long ago it may have done so; else it stays on the wall.
    """
    zero = 0 * h
    still = 0 * depth  # no number where the body came from infinity: a state that overflowed shall stay one
    fast = abs(speed)
    at_wall = speed_at_wall(depth, fast, pull, h)
    if not speed > 0:
        return still, at_wall, zero  # it is on its way back
    if at_wall <= slow:
        return still, zero, pressed
    time = 2 * depth / (at_wall + fast)
    if not time <= longest:
        time = zero
    inwards = restitution * at_wall
    if inwards <= pull / h * time / 2:  # it would be outside again
        return still, zero, time
    return (inwards - pull / h / 2 * time) * time, inwards - pull / h * time, time


def speed_at_wall(depth, fast, pull, h):
    """How fast a body met the wall that it is `depth` beyond now; fast: its speed now."""
    zero = 0 * h
    if pull < 0:  # away from the wall: it was faster there
        return sqrt(at_least(fast * fast - 2 * pull / h * depth, zero))
    share = 2 * pull / h * depth / fast / fast if fast > 0 else 1 + zero  # of the energy, lost on the way back
    return fast * sqrt(1 - share) if share < 1 else zero


def at_least(number, zero):
    """The number, or zero where it is less."""
    return number if number > 0 else zero


def arrival(depth, speed, pull, h, longest):
    """How long ago, and how fast, a body met the wall that it is `depth` beyond now; speed: outwards, now."""
    zero = 0 * h
    if not speed > 0:
        return zero, zero
    at_wall = speed_at_wall(depth, speed, pull, h)
    time = 2 * depth / (at_wall + speed)
    return (time if time <= longest else zero), at_wall


def rub(v, limit):
    """What friction takes of a velocity along a wall: at most `limit`."""
    speed = sqrt(dot(v, v))
    return v if speed <= limit else limit / speed * v


class Wall:
    """What walls of all shapes have in common: coefficients and the state that they work on."""

    def __init__(self, system, restitution, friction, radius, weight, lag, sensor=None, bodies=None):
        self.h = system.h
        self.lag = system.real(lag[0])
        self.zero = system.real(0)
        self._system = system
        self._rows = restitution, friction, radius
        self.weight = [system.real(w) for w in weight]
        #: Of each body: 1 where it reports and goes through, 2 where it goes through.
        sensor = [0] * len(weight) if sensor is None else sensor
        self.sensor = [s == 1 for s in sensor]
        bodies = range(len(weight)) if bodies is None else bodies
        self.free = [i for i in bodies if (weight[i] > 0 if sensor[i] == 0 else sensor[i] == 1 and system.alive[i])]

    def coefficients(self, i):
        """Restitution, friction and radius of a body."""
        return [self._system.real(row[i if len(row) > 1 else 0]) for row in self._rows]

    def meet(self, depth, v, gain, restitution):
        """None, or what `bounce` says of a body.

        depth, v and gain: of the position, the velocity and what forces added to it, outwards. The
        velocity is that of the position after `lag` more steps.
        """
        speed = v + self.lag * gain
        if not (depth > 0 or (depth == 0 and speed > 0)):
            return None
        slow = at_least(gain, self.zero)
        inside, inwards, time = bounce(depth, speed, gain, slow, restitution, self.h, self.h, self.pressed)
        # At rest is at rest, whatever time velocities belong to.
        return inside, inwards + self.lag * gain if inwards > 0 else self.zero, time

    def tell(self, i, number, depth, v, gain, impulse, normal, surface):
        """Report that a body met a wall. surface: from how long ago to the place of touch."""
        if not self._system.reporting:
            return
        speed = v + self.lag * gain
        slow = at_least(gain, self.zero)
        ago, fast = arrival(depth, speed, gain, self.h, self.h)
        if self.sensor[i] and depth > 0 and not ago > 0:  # it goes through, and touched before the step
            ago, fast = self.h, self.zero
        impulse = self.zero if self.sensor[i] else impulse / self.weight[i]
        self._system.report(i, -1 - number, ago, ago, fast, slow, impulse, surface(ago), normal)

    @property
    def pressed(self):
        """For how long what is taken of a velocity all through a step has moved the position in it."""
        return self.h * (0.5 + self.lag)


def box(system, before, lower, upper, restitution, friction, radius, weight, lag, sensor=None, bodies=None):
    x, v, s = system.rows()
    wall = Wall(system, restitution, friction, radius, weight, lag, sensor, bodies)
    lower, upper = ([system.real(bound) for bound in bounds[0]] for bounds in (lower, upper))
    for i in wall.free:
        e, mu, r = wall.coefficients(i)
        y, u = list(x[i]), list(v[i])
        for j in range(system.dim):
            low, high = lower[j] + r, upper[j] - r
            for sign, place, other in ((-1, low, high), (1, high, low)):  # outwards, the wall, and that opposite
                gain = system.gain[i]
                found = wall.meet(sign * (y[j] - place), sign * u[j], sign * gain[j], e)
                if found is None:
                    continue
                inside, inwards, time = found
                impulse = sign * u[j] + inwards

                def surface(ago, j=j, sign=sign, bound=place + sign * r, y=tuple(y), u=tuple(u)):
                    return Vector([bound if k == j else y[k] - ago * u[k] for k in range(len(y))])

                normal = Vector([system.real(sign) if k == j else wall.zero for k in range(system.dim)])
                wall.tell(
                    i, 2 * j + (sign > 0), sign * (y[j] - place), sign * u[j], sign * gain[j], impulse, normal, surface
                )
                if wall.sensor[i]:
                    continue
                y[j], u[j] = place - sign * inside, -sign * inwards
                if sign * (y[j] - other) < 0:
                    y[j] = other
                along = [k for k in range(system.dim) if k != j]
                if mu > 0 and impulse > 0 and along:
                    lost = rub(Vector([u[k] for k in along]), mu * impulse)
                    for k, speed in zip(along, lost, strict=True):
                        u[k] = u[k] - speed
                        y[k] = y[k] - time * speed
        replace(system, x, v, s, i, Vector(y), Vector(u))
    system.put(x, v, s)


def plane(system, before, normal, offset, restitution, friction, radius, weight, lag, sensor=None, bodies=None):
    x, v, s = system.rows()
    wall = Wall(system, restitution, friction, radius, weight, lag, sensor, bodies)
    n, place = Vector([system.real(number) for number in normal[0]]), system.real(offset[0])
    for i in wall.free:
        e, mu, r = wall.coefficients(i)
        across, gain = dot(n, v[i]), dot(n, system.gain[i])
        depth = place + r - dot(n, x[i])
        found = wall.meet(depth, -across, -gain, e)
        if found is None:
            continue
        inside, inwards, time = found
        y, along = x[i] + (depth + inside) * n, v[i] - across * n
        impulse = inwards - across

        def surface(ago, inner=x[i] + (depth - r) * n, along=along):
            return inner - ago * along

        wall.tell(i, 0, depth, -across, -gain, impulse, -1 * n, surface)
        if wall.sensor[i]:
            continue
        if mu > 0 and impulse > 0:
            lost = rub(along, mu * impulse)
            along = along - lost
            y = y - time * lost
        replace(system, x, v, s, i, y, along + inwards * n)
    system.put(x, v, s)


#: How often the walls of a corner are gone through at most, until nothing moves any more.
SWEEPS = 256


def corners(system, before, normal, offset, restitution, friction, radius, weight, lag, wall, number, through=None):
    """Bodies that several walls hold at once: each wall pushes as much as it must, given how much the others push.

    One after the other, each wall would send a body back into the one before, or up along it. A body that comes
    to a wall which would throw it back, with more speed than the forces of two steps give, is left to the walls.
    What walls have stopped they report here. through: of each wall and body, 0 where it is held.
    """
    x, v, s = system.rows()
    lag, zero = system.real(lag[0]), system.real(0)
    pressed = system.h * (system.real(0.5) + lag)
    normal = [Vector([system.real(component) for component in row]) for row in normal]
    sources = [system.plan.source(record) for record in system.plan.constraint_records if record.kind in WALLS]
    for i in range(len(x)):
        size = [system.real(place) + system.real(row[i]) for place, row in zip(offset, radius, strict=True)]
        held = [k for k in range(len(normal)) if through is None or through[k][i] == 0]
        there = [k for k in held if size[k] - dot(normal[k], x[i]) >= 0]
        if not weight[i] > 0 or len(there) < 2:
            continue
        thrown = False
        for k in there:
            gain = -dot(normal[k], system.gain[i])
            slow = at_least(gain, zero)
            if restitution[k][i] > 0 and lag * gain - dot(normal[k], v[i]) > slow + slow:
                thrown = True
        if thrown:
            continue
        y, _ = settle(x[i], [(normal[k], size[k]) for k in there])
        u, pushes = settle(v[i], [(normal[k], zero) for k in there])
        for k, push in zip(there, pushes, strict=True):
            r = system.real(radius[k][i])
            report_plane(
                system, sources[wall[k]], int(number[k]), i, normal[k], size[k], r, x[i], v[i], lag, push, weight[i]
            )
        for k, push in zip(there, pushes, strict=True):
            mu = system.real(friction[k][i])
            if mu > 0 and push > 0:
                gain = -dot(normal[k], system.gain[i])
                depth, speed = size[k] - dot(normal[k], x[i]), lag * gain - dot(normal[k], v[i])
                ago, fast = arrival(depth, speed, gain, system.h, system.h)
                lost = rub(u - dot(normal[k], u) * normal[k], mu * push)
                u, y = u - lost, y - (ago if fast > at_least(gain, zero) else pressed) * lost
        replace(system, x, v, s, i, y, u)
    system.put(x, v, s)


def report_plane(system, source, number, i, n, size, r, x, v, lag, push, weight):
    """Report that a wall of a corner was met, on behalf of that wall."""
    across, gain, depth, zero = dot(n, v), dot(n, system.gain[i]), size - dot(n, x), system.real(0)
    speed = -across - lag * gain
    if not (depth > 0 or speed > 0):
        return
    ago, fast = arrival(depth, speed, -gain, system.h, system.h)
    point = x + (depth - r) * n - ago * (v - across * n)
    system.report_for(
        source, i, -1 - number, ago, ago, fast, at_least(-gain, zero), push / system.real(weight), point, -1 * n
    )


def settle(y, walls):
    """The nearest to y with dot(n, y) >= size for all walls, and how much each has pushed."""
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
    """Give a body another position and velocity, and Verlet the previous position that goes with them."""
    if s is not None:
        s[i] = s[i] + (y - x[i]) - system.h * (u - v[i])
    x[i], v[i] = y, u


WALLS: dict[str, Any] = {"box": box, "plane": plane}
