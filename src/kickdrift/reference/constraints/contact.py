"""One contact: its impulses and its stiffness (Catto 2024, Solver2D)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..space import Space
from ..vector import Vector, dot, sqrt
from .friction import cone, slip
from .impacts import apply, approach, collide, turn

#: Over-relaxation of contacts that persist from the last step damps waves in a pile (Young 1954: every factor
#: below 2 dissipates energy). Under-relaxed friction brings sliding bodies to rest. Impacts are not relaxed.
EAGER, CALM = 1.25, 0.9
#: Limit of angular frequency times substep, in rad, of soft contacts and of rods.
CONTACT_ANGLE, ROD_ANGLE = 0.6 * np.pi, 0.5 * np.pi
#: Deep contacts are stiffer: a push-out speed of r times the limit is multiplied by 1 + 5 r, but at most by 2.
#: Larger factors make a body jitter between a floor and a very heavy body.
HARD = 5
#: From this number of substeps on, contacts are stiff enough to carry small loads by themselves, see `carried`.
FINE = 8
#: Time constant of the carried load, in steps, see `carried`.
STEPS = 36


class Contact:
    """A possible contact in this step, of bodies i and j, or of body i and a wall or shape.

    Numbers of walls and shapes follow those of the bodies. n: unit normal from i to j. size: separation along n at
    touch. w_i, w_j: inverse masses. In a periodic box n points to the minimum image of j, and size includes the
    displacement from there to j. push and friction_impulse: normal and tangent impulse of the last substep.
    """

    n: Any
    shape: int | None  # number of the shape
    half: Any  # half the thickness of the shape
    push: Any
    friction_impulse: Any
    roll: Any  # impulse of rolling resistance, an angular momentum
    load: Any  # part of the normal impulse that causes no compression, see `carried`
    most: Any  # largest normal impulse in the step
    speed: Any  # approach speed before the step; from the impact on, that at the impact
    pull: Any  # change of the approach speed by forces, per substep
    slow: Any  # largest change of the approach speed by the forces of a step; slower contacts are resting
    group: int  # connected component
    known: bool  # whether the contact persists from the last step
    total: Any  # sum of the normal impulses of the completed substeps
    time_since: Any  # time from the impact to the end of the step
    fast: Any  # approach speed at the impact
    point: Any  # position of the impact
    displacement: Any  # normal at the impact, from i to j
    surface: Any  # velocity of a wall's or shape's surface; None if no wall or shape has one

    def __init__(self, i, j, size, width, w_i, w_j, restitution, friction):
        self.i, self.j, self.size, self.w_i, self.w_j = i, j, size, w_i, w_j
        self.fastest = 2 * width  # m/s, limit of the push-out speed: deep overlaps must not explode
        self.mass = self.along = self.across = 1 / (w_i + w_j)
        self.restitution, self.friction, self.shape = restitution, friction, None
        self.space = Space()  # walls have no periodic images
        self.touch = size
        self.spins = False

    def rotates(self, arms, eases, rolling):
        """Enable rotation. arms: radii; eases: inverse inertias, 0 for a wall; rolling: rolling torque / force, in m.

        share: effective mass for friction / effective mass for the normal impulse.
        """
        total = self.w_i + self.w_j
        self.spins, self.arms, self.eases, self.rolling = True, arms, eases, rolling
        self.turns = [arm * ease for arm, ease in zip(arms, eases, strict=True)]
        self.share = total / (total + (arms[0] * self.turns[0] + arms[1] * self.turns[1]))
        ease = eases[0] + eases[1]
        self.inertia = 1 / ease if ease > 0 else ease


def direct(contact, p, n):
    """Compute the normal of a contact between two bodies from their positions; other contacts are unchanged."""
    if contact.j < n:
        displacement = p[contact.j] - p[contact.i]
        d = contact.space.nearest(displacement)
        r = sqrt(dot(d, d))
        zero = 0 * contact.touch  # not 0 * size: size is negative across a periodic boundary
        axis = (contact.j - contact.i - 1) % len(d)
        contact.n = d / r if r > 0 else Vector([1 + zero if k == axis else zero for k in range(len(d))])
        if contact.space.torus is not None:
            contact.size = contact.touch + dot(displacement - d, contact.n)


def touches(contact, time_since, fast, place, radius):
    """Store the impact of a contact. place: the position of body i at that time."""
    contact.time_since, contact.fast, contact.displacement = time_since, fast, contact.n
    contact.point = place + radius[contact.i] * contact.n


def solve(contact, p, u, w, h, soft, scale, times, left, radius, given, count, behind):
    """Apply a normal, a rolling and a friction impulse; return whether the overlap is deep.

    Friction comes last, because a remaining slip is more visible than a remaining overlap.

    times: extra factor of over-relaxed contacts. left: time from the present positions to the end of the step. given,
    count, behind: see `collide`.
    """
    i, j, n = contact.i, contact.j, contact.n
    mass = times * contact.along if contact.along > contact.mass else contact.along
    gap = dot(p[j] - p[i], n) - contact.size
    displacement = approach(contact, u)
    speed = dot(displacement, n)
    if gap > 0 and (soft > 0 or contact.most > 0):
        wanted = contact.push - mass * (speed + gap / h)
    elif gap > 0:
        wanted = 0 * gap  # a relaxation sweep starts no contact across a gap
    elif not soft > 0:
        wanted = contact.push - mass * speed
    else:
        out = soft * gap
        less = HARD * out + contact.fastest > 0  # the factor for deep contacts is below its limit of 2
        out = (1 - HARD * out / contact.fastest if less else 2) * out
        out = out if out > -contact.fastest else -contact.fastest
        wanted = scale * (contact.push - mass * (speed + out)) + contact.load * (1 - scale)
    push = wanted if wanted > 0 else 0 * wanted
    deep = 16 * gap < -contact.fastest
    if push > 0 and not contact.most > 0:
        collide(contact, -speed, gap, h, given, count, behind, ahead=not soft > 0)
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


def stiffness_of(h, stiffness):
    """Return push-out rate (1/s) and impulse scale of soft constraints: for contacts, then for rods.

    stiffness: angular frequency of contacts in rad/s, and the damping ratios of contacts and of rods. A contact at rest
    is compressed by its load as much as a spring of this frequency. The frequency is at most what substeps resolve,
    and 0 stands for that limit. The frequency of rods is twice that of contacts, with a limit of its own.
    """
    results = []
    for times, most, ratio in zip((1, 2), (CONTACT_ANGLE, ROD_ANGLE), stiffness[1:], strict=True):
        most, angle = type(h)(most), h * stiffness[0]
        stiff = times * (angle if 0 < angle < most else most)
        a1 = 2 * ratio + stiff
        a2 = stiff * a1
        results += [stiff / a1 / h, a2 / (1 + a2)]
    return results


def carried(contact, h, substeps):
    """Compute the load of a contact that will cause no compression from the next step on.

    This carried load is 90 % of the normal impulse beyond the weight of ten such bodies, averaged over 36 steps, and at
    most 90 % of the present excess. Without it, heavy bodies sink into light ones. Lighter loads are not carried;
    without friction none is, because the pile would creep.

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


def impulses(contact, load):
    """Return the impulses that warm-start the next step, see `Impulses`."""
    roll = contact.roll if isinstance(contact.roll, Vector) else [contact.roll]
    return contact.push, load, *contact.friction_impulse, *(roll if contact.spins else ())
