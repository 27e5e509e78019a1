"""Bodies that rest on each other: Soft Step (Catto 2024, Solver2D), with circles, spheres, planes and rods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..space import Space
from ..vector import Vector, dot, sqrt
from .collisions import near_pairs, notice
from .contact_shapes import Level, lean
from .filters import Filter
from .impacts import apply, bounce, goes_on, meet
from .joints import numbers

#: Colours of which a body knows which are taken; what finds none of them free comes after all others.
COLOURS = 64
#: Sweeps that take away the speed of pushing out. Two take twice as much from the waves of a pile as one does.
RELAXING = 2
#: And for those that hang together with some that are deep in each other, by an eighth of their diameter.
DEEP = 8
#: Contacts that pushed a step ago are over-relaxed, so that waves in a pile die out sooner (Young 1954: any factor
#: below 2 takes energy); friction is under-relaxed, so that what slides down comes to rest. Blows are as they are.
EAGER, CALM = 1.25, 0.9
#: The sweeps that take away the speed of pushing out are over-relaxed by 1.12 times as much, by 1.4. More than two
#: sweeps that are over-relaxed would throw a pile about: where there are eight, they are taken as they are, by 1.
RELAXED, PLAIN = 1.12, 0.8
#: Contacts swing by so much of an oscillation in a substep at most, and rods by less. They swing by a quarter of it.
CONTACT_ANGLE, ROD_ANGLE = 0.6 * np.pi, 0.5 * np.pi
#: Deep contacts are harder: they are pushed out at 1 + 5 r times the speed, which is r times the fastest there is.
#: Not more than at twice the speed: beyond that, what lies between a floor and a very heavy body would rattle.
HARD = 5
#: So many substeps make contacts so stiff that they do without a carried load as long as they are compressed little.
FINE = 8
#: The load is that of the last so many steps.
STEPS = 36


class Contact:
    """Two bodies that touch or may do so in this step, or a body i and a wall or shape: their numbers follow.

    n: from i to j, of length 1; size: how far they are apart along it when they touch; w: inverse masses. In a
    periodic box n is that to the nearest image of j, and size is told with the way from there to j.
    push: along n, and rub: across it, the impulses of the last substep.
    """

    n: Any
    shape: int | None  # its number
    push: Any
    rub: Any
    load: Any  # that it does not give way to
    most: Any  # that it pushed with in the step
    speed: Any  # at which they come together before the step; from their touch on, at that
    pull: Any  # what forces gave of that in a substep
    slow: Any  # what the forces of the step may give of it
    group: int  # of those that hang together
    known: bool  # did they push a step ago?
    total: Any  # of the impulses along n of the substeps that are over
    ago: Any  # how long before the end of the step they came to touch,
    fast: Any  # how fast,
    point: Any  # where,
    way: Any  # and in which direction: from i to j

    def __init__(self, i, j, size, width, w_i, w_j, restitution, friction):
        self.i, self.j, self.size, self.w_i, self.w_j = i, j, size, w_i, w_j
        self.fastest = 2 * width  # m/s, by which overlap is pushed out: deep ones are not to burst
        self.mass = self.along = self.across = 1 / (w_i + w_j)
        self.restitution, self.friction, self.shape = restitution, friction, None
        self.space = Space()  # in which a body sees walls: where they are, once
        self.touch = size


def contacts(
    system, before, radius, restitution, friction, weight, normal, offset, wall_friction, first, second, length,
    compliance, number, sweeps, stiffness, substeps, lag, through=None, **more,
):  # fmt: skip
    """Move what touches through the substeps of the step; what touches nothing is left as the integrator has it."""
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
    # Positions and velocities on the way, of bodies and then of walls and shapes. What nothing moves goes its way.
    zero = system.real(0)
    still = Vector([zero] * dim)
    beyond = n + len(offset)
    sides = beyond - n + (int(level.begin[-1]) if level else 0)
    p = [Vector(row) for row in before] + [still] * sides
    u = [v[i] - system.gain[i] if weight[i] > 0 else (x[i] - p[i]) / system.h for i in range(n)]
    u += [still] * sides
    touched = [False] * (n + sides)
    seen = Filter(n, filters)
    alive = system.alive
    gain = [system.gain[i] / system.real(count) for i in range(n)]

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
            _, away = level.away(p[i], j - beyond)
            reach, mu = level.reach(i, j - beyond), level.friction[level.known[j - beyond][0]][i]
            contact = Contact(i, j, reach, reach + reach, weight[i], zero, restitution[i], mu)
            contact.n, contact.shape = -1 * away, j - beyond
        else:
            size = offset[j - n] + radius[i]
            contact = Contact(
                i, j, size, radius[i] + radius[i], weight[i], zero, restitution[i], wall_friction[j - n][i]
            )
            contact.n = -1 * Vector(normal[j - n])
        direct(contact, p, n)
        contact.speed = -dot(u[j] - u[i], contact.n)
        contact.slow = abs(dot(system.gain[i], contact.n)) + (abs(dot(system.gain[j], contact.n)) if j < n else zero)
        contact.push, contact.load, contact.rub = system.remembered.get((i, j), (zero, zero, still))
        contact.most = contact.push
        contact.pull = contact.total = zero
        contact.known = contact.push > 0
        if contact.known:
            touches(contact, system.h, zero, p[i], radius)
            if not contact.speed > contact.slow:
                contact.along = system.real(EAGER) * contact.mass
                contact.across = system.real(CALM) * contact.mass
        found.append(contact)
    coloured = in_colours(found, weight)
    group(found, list(zip(first, second, strict=True)), weight)
    leaning = [contact for contact in found if contact.shape is not None]
    rods = list(zip(first, second, length, compliance, strict=True))
    # Of all rods that were declared, of which these are the ones that hold bodies still.
    pull = [system.real(each) for each in system.remembered_rods]

    soft, scale, rod_soft, rod_scale = stiffness_of(h, stiffness)
    one, half, parts, lag = system.real(1), system.real(0.5), system.real(count), system.real(lag[0])
    lead = lag * parts
    for substep in range(count):
        left = h * system.real(count - substep)  # of the step
        for i in range(n):
            if weight[i] > 0:
                u[i] = u[i] + gain[i]
        ways = []
        for rod, (i, j, _length, _compliance) in enumerate(rods):
            d = system.space.nearest(p[j] - p[i])
            r = sqrt(dot(d, d))
            ways.append((d / r if r > 0 else zero * d, r))
            apply(u, i, j, weight[i], weight[j], pull[number[rod]] * ways[rod][0])
        for contact in found:
            if substep > 0:
                contact.total = contact.total + contact.push
        given = system.real(substep + 1)
        lean(level, leaning, p, u, system.gain, given, parts, EAGER, CALM)
        for contact in coloured:
            direct(contact, p, n)
            if contact.push != 0:
                contact.rub = contact.rub - dot(contact.rub, contact.n) * contact.n
                apply(u, contact.i, contact.j, contact.w_i, contact.w_j, contact.push * contact.n + contact.rub)
        stop_rods(rods, ways, number, pull, u, weight, sweeps[0])
        kept = list(pull)
        for rod in to_and_fro(len(rods), sweeps[0]):
            i, j, wanted, alpha = rods[rod]
            way, r = ways[rod]
            total = weight[i] + weight[j]
            speed = dot(u[j] - u[i], way)
            if alpha > 0:
                give = alpha / (h * h)
                change = (speed + (r - wanted) / h + give * pull[number[rod]]) / (total + give)
            else:
                change = (speed + rod_soft * (r - wanted)) / total
                change = pull[number[rod]] - rod_scale * (pull[number[rod]] - change)
            pull[number[rod]] = pull[number[rod]] - change
            apply(u, i, j, weight[i], weight[j], -change * way)
        forces = given, parts, lead
        deep = set()  # groups
        for contact in coloured:
            if solve(contact, p, u, h, soft, scale, one, left, radius, *forces):
                deep.add(contact.group)
        for i in range(n):
            place = p[i] + h * u[i]
            if level is not None and weight[i] > 0:
                place, share = level.kept(i, p[i], place)
                if share is not None:
                    touched[i] = True
                    u[i] = u[i] - (one - share) * gain[i]  # as fast as it came there
            p[i] = place
        # What has corrected lengths is done with positions. If it stayed in the impulses that the next substep begins
        # with, it would add up for as long as a length is off: nearly straight rods would be thrown about.
        for rod, (i, j, _length, alpha) in enumerate(rods):
            if not alpha > 0:
                apply(u, i, j, weight[i], weight[j], (kept[number[rod]] - pull[number[rod]]) * ways[rod][0])
                pull[number[rod]] = kept[number[rod]]
        stop_rods(rods, ways, number, pull, u, weight, sweeps[0])
        for sweep in range(DEEP if deep else RELAXING):
            for contact in coloured:
                if sweep < RELAXING or contact.group in deep:
                    times = system.real(PLAIN if contact.group in deep else RELAXED)
                    solve(contact, p, u, h, zero, one, times, left - h, radius, *forces)
    for contact in coloured:
        bounce(contact, p, u, h, lead)

    for contact in found:
        if contact.most > 0:
            touched[contact.i] = touched[contact.j] = True
    for i, j, _length, _compliance in rods:
        touched[i] = touched[j] = True
    for i in range(n):
        if touched[i] and weight[i] > 0:
            if s is not None:
                s[i] = p[i] - system.h * (u[i] + (lag - half) * system.gain[i])
            x[i], v[i] = p[i], u[i]
    system.put(x, v, s)
    for contact in found:
        impulse = contact.total + contact.push
        if not impulse > 0:
            continue
        closing = -dot(u[contact.j] - u[contact.i], contact.n)
        if closing > 0 and not contact.known:
            impulse = impulse + contact.mass * closing  # the rest of a blow that comes at the end of the step
        left = contact.ago if closing < 0 or not contact.push > 0 else system.real(-1)
        told = contact.i, contact.j if contact.j < n else n - 1 - contact.j
        system.report(*told, contact.ago, left, contact.fast, contact.slow, impulse, contact.point, contact.way)
    for i, j in sensed:
        if j < n:
            went = {k: (x[k] - before[k]) / system.h for k in (i, j)}
            notice(system, system.space.nearest(x[j] - x[i]), went[j] - went[i], x, went, i, j, radius)
        elif level is not None and j >= beyond:
            notice_shape(system, level, before[i], x[i], i, j - beyond, n - 1 - j, radius[i])
        else:
            notice_wall(system, before[i], x[i], i, n - 1 - j, Vector(normal[j - n]), offset[j - n], radius[i])
    pushing = {
        (contact.i, contact.j): (contact.push, carried(contact, h, count), contact.rub)
        for contact in found
        if goes_on(contact, u)
    }
    system.remember(pushing, pull)


def to_and_fro(count, sweeps):
    """0 to count - 1 and back, so often: what one end of a chain feels comes to the other in one sweep."""
    for sweep in range(sweeps):
        yield from range(count) if sweep % 2 == 0 else reversed(range(count))


def stop_rods(rods, ways, number, pull, u, weight, sweeps):
    """Velocities that change no length of rods, forwards and backwards; springs are left as they are."""
    for rod in to_and_fro(len(rods), sweeps):
        i, j, _length, alpha = rods[rod]
        if not alpha > 0:
            way = ways[rod][0]
            change = dot(u[j] - u[i], way) / (weight[i] + weight[j])
            pull[number[rod]] = pull[number[rod]] - change
            apply(u, i, j, weight[i], weight[j], -change * way)


def candidates(system, x, p, radius, weight, normal, offset, alive, seen, through, level):
    """Who may touch in this step: pairs i < j of bodies, and bodies with walls and shapes, whose numbers follow.

    (i, j, do they only report?). through: of each wall and body, 1 where it reports and goes through, 2 where it goes
    through.
    """
    n = len(x)
    partners: list[list[tuple[int, bool]]] = [[] for _ in range(n)]
    for i, j in near_pairs(x, radius, alive, system.space):
        if seen.meet(i, j) and (weight[i] + weight[j] > 0 or seen.senses(i, j)):
            partners[i].append((j, seen.senses(i, j)))
    for i in range(n):
        for face in range(len(offset)):
            # Now, or before the step.
            reach = offset[face] + radius[i] + radius[i] / 4
            way = Vector(normal[face])
            passes = 0 if through is None else through[face][i]
            if not (weight[i] > 0 if passes == 0 else passes == 1 and alive[i]):
                continue
            if dot(way, x[i]) <= reach or dot(way, p[i]) <= reach:
                partners[i].append((n + face, passes == 1))
        if level is not None:
            beyond = n + len(offset)
            near = level.near(i, p[i], x[i], weight[i] > 0, alive[i])
            partners[i] += [(beyond + number, senses) for number, senses in near]
    return [(i, j, senses) for i in range(n) for j, senses in partners[i]]


def touches(contact, ago, fast, place, radius):
    """They came to touch when body i was at this place."""
    contact.ago, contact.fast, contact.way = ago, fast, contact.n
    contact.point = place + radius[contact.i] * contact.n


def notice_wall(system, before, x, i, number, normal, offset, r):
    """Report a body that goes through a wall in the step, on the straight way that it is taken to have gone.

    Who touched before the step has no speed.
    """
    size = offset + r
    depth, first, zero = size - dot(normal, x), size - dot(normal, before), system.real(0)
    speed, left = (depth - first) / system.h, zero
    if first > 0:
        ago, left = system.h, zero if depth >= 0 else depth / speed
        speed = zero
    elif depth >= 0 and speed > 0:
        ago = depth / speed
    else:
        return
    way = -1 * normal
    system.report(i, number, ago, left, speed, zero, zero, x - ago / system.h * (x - before) + r * way, way)


def notice_shape(system, level, before, x, i, shape, number, r):
    """The same at a shape."""
    part, a, b = level.known[shape]
    shapes, motion = level.parts[part], x - before
    if not shapes.away(before, a, b)[0] >= shapes.reach[i]:
        return
    share = shapes.touch(before, motion, shapes.reach[i], a, b, through=False)
    if share is None:
        return
    at, zero = before + share * motion, system.real(0)
    _, away = shapes.away(at, a, b)
    speed = zero - dot(away, motion) / system.h
    if speed > 0:
        ago = (system.real(1) - share) * system.h
        system.report(i, number, ago, zero, speed, zero, zero, at - r * away, -1 * away)


def in_colours(found, weight):
    """Contacts of one colour have no body in common, so that these may be taken in any order, or at once.

    Each is given the lowest colour that is free of both, in the order of their numbers.
    """
    taken = [0] * len(weight)
    colours: list[list[Contact]] = [[] for _ in range(COLOURS + 1)]
    for contact in found:
        ends = [k for k in (contact.i, contact.j) if k < len(weight) and weight[k] > 0]
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


def group(found, rods, weight):
    """Number those that hang together by what may be moved: what is far away is to change nothing."""
    n, above = len(weight), list(range(len(weight)))

    def top(i):
        while above[i] != i:
            i = above[i]
        return i

    for i, j in [(contact.i, contact.j) for contact in found] + rods:
        if j < n and weight[i] > 0 and weight[j] > 0:
            above[top(i)] = top(j)
    for contact in found:
        contact.group = top(contact.i if weight[contact.i] > 0 else contact.j)


def stiffness_of(h, stiffness):
    """How fast overlap is pushed out (1/s), and the share of an impulse that is given: of contacts, and of rods.

    A soft contact gives way to what it carries: at rest it is as deep as a spring of this stiffness would be.

    stiffness: the angle by which contacts would swing in a second, and the damping ratios of contacts and of rods.
    They are springs as stiff as substeps allow, where no less is wanted; rods are stiffer by twice as much.
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
    """Where the bodies are now says in which direction they push; walls keep theirs."""
    if contact.j < n:
        way = p[contact.j] - p[contact.i]
        d = contact.space.nearest(way)
        r = sqrt(dot(d, d))
        zero = 0 * contact.size
        axis = (contact.j - contact.i - 1) % len(d)
        contact.n = d / r if r > 0 else Vector([1 + zero if k == axis else zero for k in range(len(d))])
        if contact.space.torus is not None:
            contact.size = contact.touch + dot(way - d, contact.n)


def solve(contact, p, u, h, soft, scale, times, left, radius, given, count, lead):
    """One impulse: along the normal so that they come no closer than they touch, across it by friction.

    Are they deep in each other? times: those that are over-relaxed, by so much more. left: of the step, from where
    they are now. given, count, lead: see `meet`.
    """
    i, j, n = contact.i, contact.j, contact.n
    mass = times * contact.along if contact.along > contact.mass else contact.along
    gap = dot(p[j] - p[i], n) - contact.size
    way = u[j] - u[i]
    speed = dot(way, n)
    if gap > 0 and (soft > 0 or contact.most > 0):
        wanted = contact.push - mass * (speed + gap / h)
    elif gap > 0:
        wanted = 0 * gap  # they come to touch when bodies move again
    elif not soft > 0:
        wanted = contact.push - mass * speed
    else:
        out = soft * gap
        less = HARD * out + contact.fastest > 0  # than twice as fast
        out = (1 - HARD * out / contact.fastest if less else 2) * out
        out = out if out > -contact.fastest else -contact.fastest
        wanted = scale * (contact.push - mass * (speed + out)) + contact.load * (1 - scale)
    push = wanted if wanted > 0 else 0 * wanted
    deep = 16 * gap < -contact.fastest
    if push > 0 and not contact.most > 0:
        meet(contact, -speed, gap, h, given, count, lead, ahead=not soft > 0)
        zero = type(h)(0)
        time = gap / (zero - speed) if gap > 0 else zero
        ago = left - time if left - time > 0 else zero
        touches(contact, ago, zero - speed if speed < 0 else zero, p[i] + time * u[i] if time > 0 else p[i], radius)
    if push == 0 and contact.push == 0:
        return deep
    change = push - contact.push
    contact.push = push
    contact.most = push if push > contact.most else contact.most
    impulse = change * n
    if contact.friction > 0:
        across = contact.rub - contact.across * (way - speed * n)
        limit = contact.friction * push
        square = dot(across, across)
        if square > limit * limit:
            across = limit / sqrt(square) * across
        impulse = impulse + (across - contact.rub)
        contact.rub = across
    apply(u, i, j, contact.w_i, contact.w_j, impulse)
    return deep


def carried(contact, h, substeps):
    """The load that a contact does not give way to from the next step on.

    Nine tenths of what it carries beyond ten bodies like its own, as it was over the last 36 steps, and never more
    than nine tenths of what it carries now: heavy bodies would sink into light ones. Fewer bodies need it not, and
    where nothing rubs it would let a pile creep.

    A load that follows late feeds waves: they grow by 0.45 / (36 dt) a second, and contacts take the less from a wave
    the longer it is. It keeps piles of more than some 100 layers from rest. Where substeps are fine it begins only
    beyond the impulse m v / (40 h) of a substep of h seconds, where v is two diameters a second.
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
