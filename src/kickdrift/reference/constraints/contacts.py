"""Resting contact: Soft Step (Catto 2024, Solver2D), with circles, spheres, planes and rods."""

from __future__ import annotations

from ..vector import Vector, dot, sqrt
from .contact import CALM, EAGER, Contact, carried, direct, impulses, solve, stiffness_of, touches
from .contact_events import report_contacts, report_sensors
from .contact_rest import those_awake
from .contact_rods import Rod, stop_rods, to_and_fro
from .contact_search import candidates, group, in_colours
from .contact_shapes import Level, solve_shape_contacts
from .filters import Filter
from .friction import running
from .impacts import apply, approach, bounce, goes_on, turn
from .joints import limits_of, numbers

#: Relaxation sweeps, which remove the push-out velocity. Two sweeps damp waves in a pile twice as much as one.
RELAXING = 2
#: Relaxation sweeps for groups with a deep contact: an overlap of more than an eighth of the diameter. Also for groups
#: that a surface has left, see `Pile.is_left`.
DEEP = 8
#: Factors on EAGER in relaxation sweeps: 1.12 * 1.25 = 1.4 in the usual two sweeps, and 0.8 * 1.25 = 1 in the eight of
#: deep groups, because more than two over-relaxed sweeps destabilize a pile.
RELAXED, PLAIN = 1.12, 0.8


def contacts(system, before, **fields):
    """Step the bodies in contact through the substeps; other bodies keep the integrator's result."""
    pile = Pile(system, before, **fields)
    for number in range(pile.substeps):
        pile.substep(number)
    pile.finish()


class Pile:
    """The bodies, walls and shapes of a step, which are numbered in this order, and the contacts among them.

    p, u, w: positions, velocities and angular velocities within the step. x, v, s: the integrator's result, which
    bodies of infinite mass follow. found: the contacts; coloured: the same contacts in the order of solving.
    """

    def __init__(
        self, system, before, radius, restitution, friction, weight, normal, offset, wall_friction, first, second,
        length, compliance, number, sweeps, stiffness, substeps, lag, cells, through=None, rolling=None, lower=None,
        upper=None, limit=None, pair=None, member=None, wall_belt=None, sleep=None, **more,
    ):  # fmt: skip
        self.system, self.before, self.sleep, self.wall_belt = system, before, sleep, wall_belt
        shapes = {name.removeprefix("shape_"): field for name, field in more.items() if name.startswith("shape_")}
        filters = {name: field for name, field in more.items() if not name.startswith("shape_")}
        self.level = Level(system, **shapes) if shapes else None
        self.x, self.v, self.s = system.rows()
        self.n, self.substeps, self.sweeps = len(self.x), int(substeps[0]), sweeps[0]
        self.radius, self.restitution, self.friction, self.weight, self.offset, length, compliance, stiffness = numbers(
            system, radius, restitution, friction, weight, offset, length, compliance, stiffness
        )
        self.normal, self.wall_friction = numbers(system, *normal), numbers(system, *wall_friction)
        (self.rolling,) = numbers(system, [0] * self.n if rolling is None else rolling)
        self.parts, self.lag = system.real(self.substeps), system.real(lag[0])
        self.h, self.behind = system.h / self.parts, self.lag * self.parts
        # Velocities that lag behind positions also lag after a change of dt: see `Body.span`.
        self.full = system.span if self.lag > 0 else system.h
        self.span = self.full / self.parts
        self.soft, self.scale, self.rod_soft, self.rod_scale = stiffness_of(self.h, stiffness)
        self.beyond = self.n + len(self.offset)  # the number of the first shape
        self.begin()
        self.find(Filter(self.n, filters), through)
        limit = [-1] * len(cells) if limit is None else limit
        limits = limits_of(system, lower, upper, cells)
        self.tie(zip(first, second, number, length, compliance, limits, limit, cells, strict=True))

    def begin(self):
        """Start from the positions and velocities before the step, without the forces of the step."""
        system, n, level = self.system, self.n, self.level
        self.zero = system.real(0)
        self.still = Vector([self.zero] * system.dim)
        self.flat = self.still if system.dim == 3 else self.zero  # zero angular velocity
        sides = self.beyond - n + (int(level.begin[-1]) if level else 0)
        self.p = [Vector(row) for row in self.before] + [self.still] * sides
        self.u = [
            self.v[i] - system.delta_v[i] if self.weight[i] > 0 else (self.x[i] - self.p[i]) / system.h
            for i in range(n)
        ]
        self.u += [self.still] * sides
        spins = level.spins(self.flat) if level else []
        self.w = None
        if system.angular_velocity is not None:
            self.w = [*system.angular_velocity, *[self.flat] * (self.beyond - n), *spins]
        self.touched = [False] * (n + sides)
        self.delta_v = [system.delta_v[i] / self.parts for i in range(n)]

    # The contacts.

    def find(self, seen, through):
        """Find contacts and sensor contacts; warm-start the contacts with the impulses of the last step."""
        self.found, self.sensed, self.left = [], [], []
        for i, j, senses in candidates(
            self.system, self.x, self.p, self.radius, self.weight, self.normal, self.offset, self.system.alive, seen,
            through, self.level,
        ):  # fmt: skip
            if senses:
                self.sensed.append((i, j))
                continue
            contact = self.between(i, j)
            direct(contact, self.p, self.n)
            contact.speed = -dot(approach(contact, self.u), contact.n)
            moved = [k for k in (i, j) if k < self.n and self.weight[k] > 0]
            contact.slow = sum([abs(dot(self.system.delta_v[k], contact.n)) for k in moved], start=self.zero)
            self.warm_start(contact)
            self.found.append(contact)
        # A pinned body may rotate: it is an axle.
        inertia = self.system.inverse_inertia
        self.moved = [m > 0 or (self.w is not None and inertia[i] > 0) for i, m in enumerate(self.weight)]
        self.coloured = in_colours(self.found, self.moved)
        self.shape_contacts = [contact for contact in self.found if contact.shape is not None]

    def between(self, i, j):
        """Create the contact of body i with a body, wall or shape j."""
        n, radius, weight, level = self.n, self.radius, self.weight, self.level
        running_surfaces = self.wall_belt is not None or (level is not None and (level.belt is not None or level.moves))
        surface = self.still
        if j < n:
            mixed = sqrt(self.friction[i] * self.friction[j])
            e = self.restitution[i] if self.restitution[i] > self.restitution[j] else self.restitution[j]
            size = radius[i] + radius[j]
            contact = Contact(i, j, size, size, weight[i], weight[j], e, mixed)
            contact.space = self.system.space
        elif level is not None and j >= self.beyond:
            shape = j - self.beyond
            distance, away = level.away(self.p[i], shape)
            size, mu = level.reach(i, shape), level.friction[level.known[shape][0]][i]
            contact = Contact(i, j, size, size + size, weight[i], self.zero, self.restitution[i], mu)
            contact.n, contact.shape, contact.half = -1 * away, shape, size - radius[i]
            if running_surfaces:
                surface = level.surface(shape, self.p[i] - (distance - contact.half) * away, away)
        else:
            size, mu = self.offset[j - n] + radius[i], self.wall_friction[j - n][i]
            contact = Contact(i, j, size, radius[i] + radius[i], weight[i], self.zero, self.restitution[i], mu)
            contact.n = -1 * Vector(self.normal[j - n])
            if self.wall_belt is not None:
                surface = running(numbers(self.system, self.wall_belt[j - n])[0], -1 * contact.n)
        contact.surface = surface if running_surfaces else None
        if self.w is not None:
            self.rotate(contact)
        return contact

    def rotate(self, contact):
        """Enable rotation in a contact; of two bodies, the larger rolling resistance and the smaller radius count."""
        bodies = [k for k in (contact.i, contact.j) if k < self.n]
        arms, eases, resists = [
            [each[k] for k in bodies] + [self.zero] * (2 - len(bodies))
            for each in (self.radius, self.system.inverse_inertia, self.rolling)
        ]
        least = arms[1] if len(bodies) == 2 and arms[1] < arms[0] else arms[0]
        contact.rotates(arms, eases, (resists[1] if resists[1] > resists[0] else resists[0]) * least)

    def warm_start(self, contact):
        """Set the impulses of a contact to those of the last step; 0 for a new contact."""
        system, dim = self.system, self.system.dim
        nothing = self.zero, self.zero, *self.still
        contact.push, contact.load, *known = system.remembered.get((contact.i, contact.j), nothing)
        if contact.push > 0 and self.is_left(contact):
            self.left.append(contact)
            contact.push, contact.load, *known = nothing
        contact.friction_impulse, roll = Vector(known[:dim]), known[dim:]
        contact.roll = self.flat if not roll else Vector(roll) if dim == 3 else roll[0]
        contact.most = contact.push
        contact.pull = contact.total = self.zero
        contact.known = contact.push > 0
        if contact.known:
            touches(contact, system.h, self.zero, self.p[contact.i], self.radius)
            if not contact.speed > contact.slow:
                contact.along = system.real(EAGER) * contact.mass
                contact.across = system.real(CALM) * contact.mass

    def is_left(self, contact):
        """Return whether a surface recedes, and the body would follow at less than half of its speed.

        The impulse of the last step may contain what squeezed the body between this surface and another one. It ends
        here: the impulse of the other side is then solved before new impulses, and does not throw the body.
        """
        if contact.w_i > 0 and contact.w_j > 0:
            return False
        body, other = (contact.i, contact.j) if contact.w_i > 0 else (contact.j, contact.i)
        outwards = contact.n if body == contact.i else -1 * contact.n
        velocity = self.u[other] if contact.surface is None else self.u[other] + contact.surface
        recedes, pull = dot(velocity, outwards), dot(self.system.delta_v[body], outwards)
        follows = dot(self.u[body], outwards) + (pull if pull > 0 else self.zero)
        return recedes > 0 and follows + follows < recedes

    def tie(self, declared):
        """Set up the unbroken rods, with their impulses of the last step; find the groups.

        pull: impulse of each declared rod; `rods` contains only those between active bodies.
        """
        declared = list(declared)
        self.rods = [Rod(*rod) for rod in declared if not rod[-1].broken]
        self.groups = group(self.found, [(rod.i, rod.j) for rod in self.rods], self.moved)
        self.pull = [self.system.real(each) for each in self.system.remembered_rods]
        for i, j, place, *_, cell in declared:
            if cell.broken:
                self.pull[place] = self.zero
                self.system.loads.add(cell, i, j, self.zero, -1)

    # The substeps.

    def substep(self, number):
        """Kick, solve, move, relax."""
        system, h, u, weight = self.system, self.h, self.u, self.weight
        left = h * system.real(self.substeps - number)  # time to the end of the step
        self.kick(number)
        stop_rods(self.rods, self.pull, u, weight, h, self.span, self.sweeps)
        kept = list(self.pull)
        for rod in to_and_fro(self.rods, self.sweeps):
            rod.act(self.pull, u, weight, h, self.span, self.rod_soft, self.rod_scale)
        forces = system.real(number + 1), self.parts, self.behind
        deep = {contact.group for contact in self.left}  # groups with a deep contact
        # Impulses left from an impact support no load: as a warm start, they separate bodies until the contact is
        # solved. Solve these contacts first: otherwise approach speeds of other impacts would include this motion.
        impulsive = [contact.push > 2 * contact.mass * contact.slow for contact in self.coloured]
        for first in (True, False):
            for contact, comes_first in zip(self.coloured, impulsive, strict=True):
                if comes_first == first and solve(
                    contact, self.p, u, self.w, h, self.soft, self.scale, 1, left, self.radius, *forces
                ):
                    deep.add(contact.group)
        self.drift(number)
        self.forget_corrections(kept)
        for sweep in range(DEEP if deep else RELAXING):
            for contact in self.coloured:
                if sweep < RELAXING or contact.group in deep:
                    times = system.real(PLAIN if contact.group in deep else RELAXED)
                    solve(contact, self.p, u, self.w, h, self.zero, 1, times, left - h, self.radius, *forces)
        for rod in self.rods:
            rod.total = rod.total + self.pull[rod.number]

    def kick(self, number):
        """Apply the forces of a substep, and the impulses of the previous substep (warm start)."""
        system, u, weight = self.system, self.u, self.weight
        for i in range(self.n):
            if weight[i] > 0:
                u[i] = u[i] + self.delta_v[i]
        for rod in self.rods:
            rod.compute_normals(system, self.p)
            apply(u, rod.i, rod.j, weight[rod.i], weight[rod.j], self.pull[rod.number] * rod.displacement)
        for contact in self.found if number > 0 else ():
            contact.total = contact.total + contact.push
        given = system.real(number + 1)
        solve_shape_contacts(self.level, self.shape_contacts, self.p, u, system.delta_v, given, self.parts, EAGER, CALM)
        for contact in self.coloured:
            direct(contact, self.p, self.n)
            if contact.push != 0:
                i, j, across = contact.i, contact.j, contact.friction_impulse
                contact.friction_impulse = across - dot(across, contact.n) * contact.n
                impulse = contact.push * contact.n + contact.friction_impulse
                apply(u, i, j, contact.w_i, contact.w_j, impulse)
                if contact.spins:
                    apply(self.w, i, j, contact.eases[0], contact.eases[1], contact.roll)
                    turn(self.w, contact, contact.friction_impulse)

    def drift(self, number):
        """Move all bodies by a substep; fast bodies stop at shapes."""
        level, then = self.level, float(self.system.stepper._h)
        if number + 1 < self.substeps:
            then = then * (number + 1) / self.substeps
        for i in range(self.n):
            place = self.p[i] + self.h * self.u[i]
            if level is not None and self.weight[i] > 0:
                place, share = level.kept(i, self.p[i], place, then)
                if share is not None:
                    self.touched[i] = True
                    # Forces end with the motion: remove their velocity change in the rest of the substep.
                    self.u[i] = self.u[i] - (self.system.real(1) - share) * self.delta_v[i]
            self.p[i] = place
        if level is not None and level.moves:
            level.lay(then, self.h, self.shape_contacts)

    def forget_corrections(self, kept):
        """Remove the impulses that corrected lengths, once positions are updated.

        Warm starting with them would accumulate the correction while a length is off, and destabilize nearly straight
        chains of rods.
        """
        u, weight, pull = self.u, self.weight, self.pull
        for rod in self.rods:
            if not rod.compliance > 0:
                back = (kept[rod.number] - pull[rod.number]) * rod.displacement
                apply(u, rod.i, rod.j, weight[rod.i], weight[rod.j], back)
                pull[rod.number] = kept[rod.number]
            if rod.slack:
                rod.length = dot(self.system.space.nearest(self.p[rod.j] - self.p[rod.i]), rod.displacement)
        tight = [rod for rod in self.rods if rod.used or not rod.slack]
        stop_rods(tight, pull, u, weight, self.h, self.span, self.sweeps)

    # End of step.

    def finish(self):
        """Apply restitution, stop groups at rest, and store states, events and the impulses for the next step."""
        system, p, u, w, moved, touched = self.system, self.p, self.u, self.w, self.moved, self.touched
        for contact in self.coloured:
            bounce(contact, p, u, w, self.h, self.behind)
        for contact in self.found:
            if contact.most > 0:
                touched[contact.i] = touched[contact.j] = True
        for rod in self.rods:
            if rod.used or not rod.slack:
                touched[rod.i] = touched[rod.j] = True
        self.catch_up()
        lasting = [contact for contact in self.found if goes_on(contact, u)]
        awake = set(self.groups)
        if self.sleep is not None:
            both = self.found, lasting
            awake = those_awake(system, both, self.rods, self.groups, moved, self.before, p, u, w, self.radius)
        for i in range(self.n):
            if moved[i] and touched[i] and self.groups[i] not in awake:
                p[i], u[i] = Vector(self.before[i]), self.still
                if w is not None:
                    w[i] = self.flat
        self.store()
        report_contacts(system, self.found, p, u, self.radius)
        report_sensors(system, self.sensed, self.before, self.x, self.radius, self.normal, self.offset, self.level)
        self.remember(lasting, awake)

    def store(self):
        """Store the states of touched bodies, and the loads of rods."""
        system, p, u = self.system, self.p, self.u
        if self.w is not None:
            system.angular_velocity[:] = self.w[: self.n]
        for rod in self.rods:
            system.loads.add(rod.cell, rod.i, rod.j, self.zero - rod.total / self.full, rod.limit)
        for i in range(self.n):
            if self.touched[i] and self.weight[i] > 0:
                if self.s is not None:
                    self.s[i] = p[i] - system.h * (u[i] + (self.lag - system.real(0.5)) * system.delta_v[i])
                self.x[i], self.v[i] = p[i], u[i]
        system.put(self.x, self.v, self.s)

    def catch_up(self):
        """Replace the displacement of the substeps by that of the integrator, where bodies moved freely.

        Substeps apply the forces in equal parts, which gives other positions than the integrator. Without a correction,
        springs would not conserve energy. The correction acts along directions without a contact, in proportion to the
        remaining velocity change by forces: static friction leaves none. Bodies on rods are not corrected.
        """
        system, p, u = self.system, self.p, self.u
        half, one = system.real(0.5), system.real(1)
        share = half * ((self.parts + one) / self.parts)
        tied = {k for rod in self.rods if rod.used or not rod.slack for k in (rod.i, rod.j)}
        free, lacks = {}, {}
        for i in range(self.n):
            if self.touched[i] and self.weight[i] > 0 and i not in tied:
                free[i], begin = system.delta_v[i], self.v[i] - system.delta_v[i]
                lacks[i] = self.x[i] - (Vector(self.before[i]) + system.h * (begin + share * free[i]))
        for contact in self.coloured:
            for k in (contact.i, contact.j):
                if contact.most > 0 and k in free:
                    free[k], lacks[k] = (each - dot(each, contact.n) * contact.n for each in (free[k], lacks[k]))
        for i, change in free.items():
            square, left = dot(change, change), dot(u[i] - (self.v[i] - system.delta_v[i]), change)
            if square > 0 and left > 0:
                p[i] = p[i] + (left / square if left < square else one) * lacks[i]

    def remember(self, lasting, awake):
        """Store the impulses of continuing contacts and of rods; those of groups at rest do not change."""
        system = self.system
        impulses_by_pair = {
            (contact.i, contact.j): impulses(contact, carried(contact, self.h, self.substeps))
            if contact.group in awake
            else system.remembered[contact.i, contact.j]  # unchanged: groups at rest repeat this step
            for contact in lasting
        }
        for rod in self.rods:
            if self.groups[rod.i if self.moved[rod.i] else rod.j] not in awake:
                self.pull[rod.number] = system.real(system.remembered_rods[rod.number])
        system.remember(impulses_by_pair, self.pull)
