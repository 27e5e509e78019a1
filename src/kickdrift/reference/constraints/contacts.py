"""Resting contact: Soft Step (Catto 2024, Solver2D), with circles, spheres, planes and rods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..space import Space
from ..vector import Vector, dot, sqrt
from .collisions import near_pairs, report_sensor
from .contact_rest import those_awake
from .contact_rods import Rod, stop_rods, to_and_fro
from .contact_shapes import Level, solve_shape_contacts
from .filters import Filter
from .friction import cone, running, slip
from .impacts import apply, approach, bounce, collide, goes_on, turn
from .joints import limits_of, numbers

#: Colours of the graph colouring. Contacts for which none is free are solved last.
COLOURS = 64
#: Relaxation sweeps, which remove the push-out velocity. Two sweeps damp waves in a pile twice as much as one.
RELAXING = 2
#: Relaxation sweeps for groups with a deep contact: an overlap of more than an eighth of the diameter.
DEEP = 8
#: Over-relaxation of contacts that persist from the last step damps waves in a pile (Young 1954: every factor
#: below 2 dissipates energy). Under-relaxed friction brings sliding bodies to rest. Impacts are not relaxed.
EAGER, CALM = 1.25, 0.9
#: Factors on EAGER in relaxation sweeps: two sweeps at 1.4 in total; the eight sweeps of deep groups at 1, because
#: more than two over-relaxed sweeps destabilize a pile.
RELAXED, PLAIN = 1.12, 0.8
#: Maximal phase in rad that the oscillation of a soft contact, or of a rod, advances in a substep.
CONTACT_ANGLE, ROD_ANGLE = 0.6 * np.pi, 0.5 * np.pi
#: Deep contacts are stiffer: a push-out speed of r times the limit is multiplied by 1 + 5 r, but at most by 2.
#: Larger factors make a body jitter between a floor and a very heavy body.
HARD = 5
#: From this number of substeps on, contacts are stiff enough to need no carried load at small compression.
FINE = 8
#: Time constant of the carried load, in steps.
STEPS = 36


class Contact:
    """A possible contact in this step: bodies i and j, or body i and a wall or shape, numbered after the bodies.

    n: unit normal from i to j. size: separation along n at touch. w_i, w_j: inverse masses. In a periodic box n points
    to the minimum image of j, and size includes the displacement from there to j. push and rub: normal impulse and
    friction impulse of the last substep.
    """

    n: Any
    shape: int | None  # number of the shape
    push: Any
    friction_impulse: Any
    roll: Any  # impulse of rolling resistance, an angular momentum
    load: Any  # part of the normal impulse that causes no compression
    most: Any  # largest normal impulse in the step
    speed: Any  # approach speed before the step; after the impact: at the impact
    pull: Any  # change of the approach speed by forces, per substep
    slow: Any  # largest change of the approach speed by the forces of a step
    group: int  # connected component
    known: bool  # whether the contact persists from the last step
    total: Any  # sum of the normal impulses of the completed substeps
    time_since: Any  # time from the impact to the end of the step
    fast: Any  # approach speed at the impact
    point: Any  # position of the impact
    displacement: Any  # normal at the impact, from i to j
    surface: Any  # velocity of a wall's or shape's surface; None where no surface has one

    def __init__(self, i, j, size, width, w_i, w_j, restitution, friction):
        self.i, self.j, self.size, self.w_i, self.w_j = i, j, size, w_i, w_j
        self.fastest = 2 * width  # m/s, limit of the push-out speed: deep overlaps must not burst
        self.mass = self.along = self.across = 1 / (w_i + w_j)
        self.restitution, self.friction, self.shape = restitution, friction, None
        self.space = Space()  # walls have no periodic images
        self.touch = size
        self.spins = False

    def rotates(self, arms, eases, rolling):
        """Let friction rotate the bodies. arms: radii; eases: inverse inertias, 0 for a wall; rolling: torque / force.

        share: the mass that counts for friction, as a share of that for the normal impulse.
        """
        total = self.w_i + self.w_j
        self.spins, self.arms, self.eases, self.rolling = True, arms, eases, rolling
        self.turns = [arm * ease for arm, ease in zip(arms, eases, strict=True)]
        self.share = total / (total + (arms[0] * self.turns[0] + arms[1] * self.turns[1]))
        ease = eases[0] + eases[1]
        self.inertia = 1 / ease if ease > 0 else ease


def contacts(
    system, before, radius, restitution, friction, weight, normal, offset, wall_friction, first, second, length,
    compliance, number, sweeps, stiffness, substeps, lag, cells, through=None, rolling=None, lower=None, upper=None,
    limit=None, pair=None, member=None, wall_belt=None, sleep=None, **more,
):  # fmt: skip
    """Step the bodies in contact through the substeps; other bodies keep the integrator's result."""
    shapes = {name.removeprefix("shape_"): field for name, field in more.items() if name.startswith("shape_")}
    filters = {name: field for name, field in more.items() if not name.startswith("shape_")}
    level = Level(system, **shapes) if shapes else None
    x, v, s = system.rows()
    dim, n, count = system.dim, len(x), int(substeps[0])
    radius, restitution, friction, weight, offset, length, compliance, stiffness = numbers(
        system, radius, restitution, friction, weight, offset, length, compliance, stiffness
    )
    normal, wall_friction = numbers(system, *normal), numbers(system, *wall_friction)
    h = system.h / system.real(count)
    # Positions and velocities within the step: bodies, walls, shapes. Bodies of infinite mass keep their motion.
    zero = system.real(0)
    still = Vector([zero] * dim)
    flat = still if dim == 3 else zero  # no rotation
    running_surfaces = wall_belt is not None or (level is not None and (level.belt is not None or level.moves))
    beyond = n + len(offset)
    sides = beyond - n + (int(level.begin[-1]) if level else 0)
    p = [Vector(row) for row in before] + [still] * sides
    u = [v[i] - system.delta_v[i] if weight[i] > 0 else (x[i] - p[i]) / system.h for i in range(n)]
    u += [still] * sides
    (rolling,) = numbers(system, [0] * n if rolling is None else rolling)
    w = None if system.angular_velocity is None else system.angular_velocity + [flat] * sides
    touched = [False] * (n + sides)
    seen = Filter(n, filters)
    alive = system.alive
    delta_v = [system.delta_v[i] / system.real(count) for i in range(n)]

    found, sensed = [], []
    for i, j, senses in candidates(system, x, p, radius, weight, normal, offset, alive, seen, through, level):
        if senses:
            sensed.append((i, j))
            continue
        if j < n:
            mixed = sqrt(friction[i] * friction[j])
            e = restitution[i] if restitution[i] > restitution[j] else restitution[j]
            contact = Contact(i, j, radius[i] + radius[j], radius[i] + radius[j], weight[i], weight[j], e, mixed)
            contact.space = system.space
        elif level is not None and j >= beyond:
            distance, away = level.away(p[i], j - beyond)
            reach, mu = level.reach(i, j - beyond), level.friction[level.known[j - beyond][0]][i]
            contact = Contact(i, j, reach, reach + reach, weight[i], zero, restitution[i], mu)
            contact.n, contact.shape = -1 * away, j - beyond
        else:
            size = offset[j - n] + radius[i]
            contact = Contact(
                i, j, size, radius[i] + radius[i], weight[i], zero, restitution[i], wall_friction[j - n][i]
            )
            contact.n = -1 * Vector(normal[j - n])
        if w is not None:
            arms, eases, resists = [radius[i], zero], [system.inverse_inertia[i], zero], [rolling[i], zero]
            if j < n:
                arms[1], eases[1], resists[1] = radius[j], system.inverse_inertia[j], rolling[j]
            least = arms[1] if j < n and arms[1] < arms[0] else arms[0]
            contact.rotates(arms, eases, (resists[1] if resists[1] > resists[0] else resists[0]) * least)
        contact.surface = still if running_surfaces else None
        if running_surfaces and level is not None and j >= beyond:
            contact.surface = level.surface(j - beyond, p[i] - distance * away, away)
        elif wall_belt is not None and j >= n:
            contact.surface = running(numbers(system, wall_belt[j - n])[0], -1 * contact.n)
        direct(contact, p, n)
        contact.speed = -dot(approach(contact, u), contact.n)
        contact.slow = abs(dot(system.delta_v[i], contact.n)) + (
            abs(dot(system.delta_v[j], contact.n)) if j < n else zero
        )
        contact.push, contact.load, *known = system.remembered.get((i, j), (zero, zero, *still))
        contact.friction_impulse, roll = Vector(known[:dim]), known[dim:]
        contact.roll = flat if not roll else Vector(roll) if dim == 3 else roll[0]
        contact.most = contact.push
        contact.pull = contact.total = zero
        contact.known = contact.push > 0
        if contact.known:
            touches(contact, system.h, zero, p[i], radius)
            if not contact.speed > contact.slow:
                contact.along = system.real(EAGER) * contact.mass
                contact.across = system.real(CALM) * contact.mass
        found.append(contact)
    # A pinned body may rotate: it is an axle.
    moved = [m > 0 or (w is not None and system.inverse_inertia[i] > 0) for i, m in enumerate(weight)]
    coloured = in_colours(found, moved)
    limits = limits_of(system, lower, upper, cells)
    limit = [-1] * len(cells) if limit is None else limit
    all_rods = zip(first, second, number, length, compliance, limits, limit, cells, strict=True)
    rods = [Rod(*rod) for rod in all_rods if not rod[-1].broken]
    groups = group(found, [(rod.i, rod.j) for rod in rods], moved)
    shape_contacts = [contact for contact in found if contact.shape is not None]
    # Indexed by declared rod; `rods` contains only those between active bodies.
    pull = [system.real(each) for each in system.remembered_rods]
    for i, j, place, cell in zip(first, second, number, cells, strict=True):
        if cell.broken:
            pull[place] = zero
            system.loads.add(cell, i, j, zero, -1)

    soft, scale, rod_soft, rod_scale = stiffness_of(h, stiffness)
    one, half, parts, lag = system.real(1), system.real(0.5), system.real(count), system.real(lag[0])
    lead = lag * parts
    for substep in range(count):
        left = h * system.real(count - substep)  # time to the end of the step
        for i in range(n):
            if weight[i] > 0:
                u[i] = u[i] + delta_v[i]
        for rod in rods:
            rod.aim(system, p)
            apply(u, rod.i, rod.j, weight[rod.i], weight[rod.j], pull[rod.number] * rod.displacement)
        for contact in found:
            if substep > 0:
                contact.total = contact.total + contact.push
        given = system.real(substep + 1)
        solve_shape_contacts(level, shape_contacts, p, u, system.delta_v, given, parts, EAGER, CALM)
        for contact in coloured:
            direct(contact, p, n)
            if contact.push != 0:
                contact.friction_impulse = (
                    contact.friction_impulse - dot(contact.friction_impulse, contact.n) * contact.n
                )
                apply(
                    u,
                    contact.i,
                    contact.j,
                    contact.w_i,
                    contact.w_j,
                    contact.push * contact.n + contact.friction_impulse,
                )
                if contact.spins:
                    apply(w, contact.i, contact.j, contact.eases[0], contact.eases[1], contact.roll)
                    turn(w, contact, contact.friction_impulse)
        stop_rods(rods, pull, u, weight, h, sweeps[0])
        kept = list(pull)
        for rod in to_and_fro(rods, sweeps[0]):
            rod.act(pull, u, weight, h, rod_soft, rod_scale)
        forces = given, parts, lead
        deep = set()  # groups with a deep contact
        for contact in coloured:
            if solve(contact, p, u, w, h, soft, scale, one, left, radius, *forces):
                deep.add(contact.group)
        then = float(system.stepper._h)
        if substep + 1 < count:
            then = then * (substep + 1) / count
        for i in range(n):
            place = p[i] + h * u[i]
            if level is not None and weight[i] > 0:
                place, share = level.kept(i, p[i], place, then)
                if share is not None:
                    touched[i] = True
                    u[i] = u[i] - (one - share) * delta_v[i]  # remove the forces after the impact
            p[i] = place
        if level is not None and level.moves:
            level.lay(then, h, shape_contacts)
        # Remove the impulses that corrected lengths once the positions are updated. Warm starting with them would
        # accumulate the correction while a length is off, and destabilize nearly straight chains of rods.
        for rod in rods:
            if not rod.compliance > 0:
                back = (kept[rod.number] - pull[rod.number]) * rod.displacement
                apply(u, rod.i, rod.j, weight[rod.i], weight[rod.j], back)
                pull[rod.number] = kept[rod.number]
            if rod.slack:
                rod.length = dot(system.space.nearest(p[rod.j] - p[rod.i]), rod.displacement)
        stop_rods([rod for rod in rods if rod.used or not rod.slack], pull, u, weight, h, sweeps[0])
        for sweep in range(DEEP if deep else RELAXING):
            for contact in coloured:
                if sweep < RELAXING or contact.group in deep:
                    times = system.real(PLAIN if contact.group in deep else RELAXED)
                    solve(contact, p, u, w, h, zero, one, times, left - h, radius, *forces)
        for rod in rods:
            rod.total = rod.total + pull[rod.number]
    for contact in coloured:
        bounce(contact, p, u, w, h, lead)
    for contact in found:
        if contact.most > 0:
            touched[contact.i] = touched[contact.j] = True
    for rod in rods:
        if rod.used or not rod.slack:
            touched[rod.i] = touched[rod.j] = True
    lasting = [contact for contact in found if goes_on(contact, u)]
    awake = set(groups)
    if sleep is not None:
        awake = those_awake(system, (found, lasting), rods, groups, moved, before, p, u, w, radius)
    for i in range(n):
        if moved[i] and touched[i] and groups[i] not in awake:
            p[i], u[i] = Vector(before[i]), still
            if w is not None:
                w[i] = flat
    if w is not None:
        system.angular_velocity[:] = w[:n]
    for rod in rods:
        system.loads.add(rod.cell, rod.i, rod.j, zero - rod.total / system.h, rod.limit)
    for i in range(n):
        if touched[i] and weight[i] > 0:
            if s is not None:
                s[i] = p[i] - system.h * (u[i] + (lag - half) * system.delta_v[i])
            x[i], v[i] = p[i], u[i]
    system.put(x, v, s)
    for contact in found:
        impulse = contact.total + contact.push
        if not impulse > 0:
            continue
        closing = -dot(approach(contact, u), contact.n)
        if closing > 0 and not contact.known:
            impulse = impulse + contact.mass * closing  # rest of an impact at the end of the step
        left = contact.time_since if closing < 0 or not contact.push > 0 else system.real(-1)
        event = contact.i, contact.j if contact.j < n else n - 1 - contact.j
        system.report(
            *event, contact.time_since, left, contact.fast, contact.slow, impulse, contact.point, contact.displacement
        )
    for i, j in sensed:
        if j < n:
            went = {k: (x[k] - before[k]) / system.h for k in (i, j)}
            report_sensor(system, system.space.nearest(x[j] - x[i]), went[j] - went[i], x, went, i, j, radius)
        elif level is not None and j >= beyond:
            report_sensor_shape(system, level, before[i], x[i], i, j - beyond, n - 1 - j, radius[i])
        else:
            report_sensor_wall(system, before[i], x[i], i, n - 1 - j, Vector(normal[j - n]), offset[j - n], radius[i])
    impulses_by_pair = {
        (contact.i, contact.j): impulses(contact, carried(contact, h, count))
        if contact.group in awake
        else system.remembered[contact.i, contact.j]  # stays, so that the next step does the same
        for contact in lasting
    }
    for rod in rods:
        if groups[rod.i if moved[rod.i] else rod.j] not in awake:
            pull[rod.number] = system.real(system.remembered_rods[rod.number])
    system.remember(impulses_by_pair, pull)


def impulses(contact, load):
    """Return the numbers that outlive the step, see `Impulses`."""
    roll = contact.roll if isinstance(contact.roll, Vector) else [contact.roll]
    return contact.push, load, *contact.friction_impulse, *(roll if contact.spins else ())


def candidates(system, x, p, radius, weight, normal, offset, alive, seen, through, level):
    """Broad phase: pairs i < j of bodies, and bodies with walls and shapes, which are numbered after the bodies.

    Returns (i, j, whether it is a sensor contact). through: per wall and body, 1 for a sensor contact, 2 for none.
    """
    n = len(x)
    partners: list[list[tuple[int, bool]]] = [[] for _ in range(n)]
    for i, j in near_pairs(x, radius, alive, system.space, seen):
        if weight[i] + weight[j] > 0 or seen.senses(i, j):
            partners[i].append((j, seen.senses(i, j)))
    for i in range(n):
        for face in range(len(offset)):
            # Near the wall after the step or before it.
            reach = offset[face] + radius[i] + radius[i] / 4
            displacement = Vector(normal[face])
            passes = 0 if through is None else through[face][i]
            if not (weight[i] > 0 if passes == 0 else passes == 1 and alive[i]):
                continue
            if dot(displacement, x[i]) <= reach or dot(displacement, p[i]) <= reach:
                partners[i].append((n + face, passes == 1))
        if level is not None:
            beyond = n + len(offset)
            near = level.near(i, p[i], x[i], weight[i] > 0, alive[i], beyond)
            partners[i] += [(beyond + number, senses) for number, senses in near]
    return [(i, j, senses) for i in range(n) for j, senses in partners[i]]


def touches(contact, time_since, fast, place, radius):
    """Store the impact of a contact; place: the position of body i at that time."""
    contact.time_since, contact.fast, contact.displacement = time_since, fast, contact.n
    contact.point = place + radius[contact.i] * contact.n


def report_sensor_wall(system, before, x, i, number, normal, offset, r):
    """Record the sensor contact of a body with a wall, assuming straight motion in the step.

    A body in contact since before the step has speed 0.
    """
    size = offset + r
    depth, first, zero = size - dot(normal, x), size - dot(normal, before), system.real(0)
    speed, left = (depth - first) / system.h, zero
    if first > 0:
        time_since, left = system.h, zero if depth >= 0 else depth / speed
        speed = zero
    elif depth >= 0 and speed > 0:
        time_since = depth / speed
    else:
        return
    displacement = -1 * normal
    system.report(
        i,
        number,
        time_since,
        left,
        speed,
        zero,
        zero,
        x - time_since / system.h * (x - before) + r * displacement,
        displacement,
    )


def report_sensor_shape(system, level, before, x, i, shape, number, r):
    """Record the sensor contact of a body with a shape, assuming straight motion in the step."""
    part, a, b = level.known[shape]
    shapes = level.parts[part]
    if shapes.motion is not None:  # relative to where the shape is now
        before = shapes.motion.forth(shape - int(level.begin[part]), 0.0, shapes.motion.h, before)
    motion = x - before
    if not shapes.away(before, a, b)[0] >= shapes.reach[i]:
        return
    share = shapes.touch(before, motion, shapes.reach[i], a, b, through=False)
    if share is None:
        return
    at, zero = before + share * motion, system.real(0)
    _, away = shapes.away(at, a, b)
    speed = zero - dot(away, motion) / system.h
    if speed > 0:
        time_since = (system.real(1) - share) * system.h
        system.report(i, number, time_since, zero, speed, zero, zero, at - r * away, -1 * away)


def in_colours(found, moved):
    """Colour the contact graph: contacts of one colour share no body, and can be solved in any order or in parallel.

    Greedy colouring: in order, each contact gets the lowest colour that is free at both of its bodies.
    """
    taken = [0] * len(moved)
    colours: list[list[Contact]] = [[] for _ in range(COLOURS + 1)]
    for contact in found:
        ends = [k for k in (contact.i, contact.j) if k < len(moved) and moved[k]]
        mask = 0
        for k in ends:
            mask |= taken[k]
        colour = 0
        while mask >> colour & 1:
            colour += 1
        colours[min(colour, COLOURS)].append(contact)
        for k in ends:
            taken[k] |= (1 << colour) & (2**COLOURS - 1)
    return [contact for colour in colours for contact in colour]


def group(found, rods, moved):
    """Number the connected components over movable bodies, and return that of each body.

    Results must not depend on distant bodies.
    """
    n, above = len(moved), list(range(len(moved)))

    def top(i):
        while above[i] != i:
            i = above[i]
        return i

    for i, j in [(contact.i, contact.j) for contact in found] + rods:
        if j < n and moved[i] and moved[j]:
            above[top(i)] = top(j)
    groups = [top(i) for i in range(n)]
    for contact in found:
        contact.group = groups[contact.i if moved[contact.i] else contact.j]
    return groups


def stiffness_of(h, stiffness):
    """Return push-out rate (1/s) and impulse scale of soft constraints: for contacts, then for rods.

    A soft contact is compressed by its load: at rest, as much as a spring of this stiffness.

    stiffness: angular frequency of contacts in rad/s, and the damping ratios of contacts and of rods. The frequency
    is limited to what the substeps can resolve; that of rods is twice as high.
    """
    results = []
    for times, most, ratio in zip((1, 2), (CONTACT_ANGLE, ROD_ANGLE), stiffness[1:], strict=True):
        most, angle = type(h)(most), h * stiffness[0]
        stiff = times * (angle if 0 < angle < most else most)
        a1 = 2 * ratio + stiff
        a2 = stiff * a1
        results += [stiff / a1 / h, a2 / (1 + a2)]
    return results


def direct(contact, p, n):
    """Compute the normal of a contact between bodies from their positions; normals of walls and shapes are kept."""
    if contact.j < n:
        displacement = p[contact.j] - p[contact.i]
        d = contact.space.nearest(displacement)
        r = sqrt(dot(d, d))
        zero = 0 * contact.size
        axis = (contact.j - contact.i - 1) % len(d)
        contact.n = d / r if r > 0 else Vector([1 + zero if k == axis else zero for k in range(len(d))])
        if contact.space.torus is not None:
            contact.size = contact.touch + dot(displacement - d, contact.n)


def solve(contact, p, u, w, h, soft, scale, times, left, radius, given, count, lead):
    """Apply one normal impulse, one of rolling resistance and one of friction; return whether the overlap is deep.

    Friction comes last: what slips least is what users see.

    times: extra factor of over-relaxed contacts. left: time from the present positions to the end of the step.
    given, count, lead: see `collide`.
    """
    i, j, n = contact.i, contact.j, contact.n
    mass = times * contact.along if contact.along > contact.mass else contact.along
    gap = dot(p[j] - p[i], n) - contact.size
    displacement = approach(contact, u)
    speed = dot(displacement, n)
    if gap > 0 and (soft > 0 or contact.most > 0):
        wanted = contact.push - mass * (speed + gap / h)
    elif gap > 0:
        wanted = 0 * gap  # no contact before the positions change
    elif not soft > 0:
        wanted = contact.push - mass * speed
    else:
        out = soft * gap
        less = HARD * out + contact.fastest > 0  # below the limit of twice the speed
        out = (1 - HARD * out / contact.fastest if less else 2) * out
        out = out if out > -contact.fastest else -contact.fastest
        wanted = scale * (contact.push - mass * (speed + out)) + contact.load * (1 - scale)
    push = wanted if wanted > 0 else 0 * wanted
    deep = 16 * gap < -contact.fastest
    if push > 0 and not contact.most > 0:
        collide(contact, -speed, gap, h, given, count, lead, ahead=not soft > 0)
        zero = type(h)(0)
        time = gap / (zero - speed) if gap > 0 else zero
        time_since = left - time if left - time > 0 else zero
        touches(
            contact, time_since, zero - speed if speed < 0 else zero, p[i] + time * u[i] if time > 0 else p[i], radius
        )
    if push == 0 and contact.push == 0:
        return deep
    change = push - contact.push
    contact.push = push
    contact.most = push if push > contact.most else contact.most
    impulse = change * n
    if contact.spins and contact.rolling > 0:
        roll = cone(contact.roll - contact.inertia * (w[j] - w[i]), contact.rolling * push)
        apply(w, i, j, contact.eases[0], contact.eases[1], roll - contact.roll)
        contact.roll = roll
    if contact.friction > 0:
        along, mass = displacement - speed * n, contact.across
        if contact.spins:
            along, mass = slip(along, contact.arms[0] * w[i] + contact.arms[1] * w[j], n), mass * contact.share
        across = cone(contact.friction_impulse - mass * along, contact.friction * push)
        if contact.spins:
            turn(w, contact, across - contact.friction_impulse)
        impulse = impulse + (across - contact.friction_impulse)
        contact.friction_impulse = across
    apply(u, i, j, contact.w_i, contact.w_j, impulse)
    return deep


def carried(contact, h, substeps):
    """Compute the load that causes no compression of a contact from the next step on.

    It is 90 % of the normal impulse beyond the weight of ten such bodies, averaged over 36 steps, and at most 90 % of
    the present one. Without it, heavy bodies sink into light ones. Lighter loads do not need it, and without friction
    it would let a pile creep.

    The delay of the average feeds waves: they grow at a rate of 0.45 / (36 dt) per second, and contacts damp long waves
    least. Piles of more than about 100 layers therefore do not come to rest. From `FINE` substeps on, the load starts
    only beyond the impulse m v / (40 h) of a substep of h seconds, where v is two diameters per second.
    """
    light = 10 * contact.mass * contact.slow / type(h)(substeps)
    slight = contact.mass * contact.fastest / (40 * h)
    if substeps >= FINE and slight > light:
        light = slight
    heavy = contact.push - light
    heavy = heavy if heavy > 0 and contact.friction > 0 else 0 * heavy
    most = type(heavy)(0.9) * heavy
    load = contact.load + (most - contact.load) / STEPS
    return load if load < most else most
