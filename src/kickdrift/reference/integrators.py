"""One step of each integrator in textbook form, for one body; most also for a batch (see `Body`).

A body has position `x`, velocity `v`, the history that some schemes need, and `a(x, v)`, its
acceleration. `a(x, v, c)` is the acceleration at time t + c, for time-dependent forces. Each function
advances the body by one step of h. The order of operations is part of the specification:
h * (v + h / 2 * a) is not h * v + h * h / 2 * a in floating point.
"""

from __future__ import annotations

from ..declaration import require_entries
from ..integrators import INTEGRATORS, KINDS
from .vector import Vector, dot, largest, split, sqrt


class NotConverged(Exception):
    """Newton's method failed; arguments: the residual, and in a system of bodies the index of the worst body."""


def explicit_euler(body, h):
    x, v = body.x, body.v
    body.x = x + h * v
    body.v = v + h * body.a(x, v)


def semi_implicit_euler(body, h):
    form = body.integrator.form
    if form == "kick_drift" or (form == "alternate" and body.tick % 2 == 0):
        body.v = body.v + h * body.a(body.x, body.v)
        body.x = body.x + h * body.v
    else:
        body.x = body.x + h * body.v
        body.v = body.v + h * body.a(body.x, body.v, h)


def implicit_euler(body, h):
    """Solve f(u) = u - v - h a(x + h u, u) = 0 for the new velocity u, by Newton's method."""
    x, v, dim = body.x, body.v, len(body.x)
    tolerance, limit = body.real(body.integrator.tolerance), body.integrator.max_iterations
    u, slope = v, None
    for iteration in range(limit + 1):
        y = x + h * u
        a = body.a(y, u)
        f = u - v - h * a
        residual = largest(f)
        if residual == 0:
            break
        # Always correct the first guess: for fast bodies any force would seem negligible.
        if iteration > 0:
            scale = largest(u) + largest(v) + abs(h) * largest(a)
            noise = scale + slope * (largest(y) + abs(h) * largest(u))
            if residual <= tolerance * scale + 4 * body.epsilon * noise + body.smallest:
                break
        if iteration == limit:
            raise NotConverged(residual)
        by_x, by_v = body.jacobian(y, u)
        change = [[by_v[i][j] + h * by_x[i][j] for j in range(dim)] for i in range(dim)]
        slope = largest([entry for row in change for entry in row])
        matrix = [[-h * entry for entry in row] for row in change]
        for i in range(dim):
            matrix[i][i] = 1 + matrix[i][i]
        u = u - solve(matrix, f, residual)
    body.x, body.v = y, u


def solve(matrix, right, residual):
    """Gaussian elimination with partial pivoting."""
    n, right = len(right), list(right)
    for c in range(n):
        pivot = c
        for r in range(c + 1, n):
            if abs(matrix[r][c]) > abs(matrix[pivot][c]):
                pivot = r
        if matrix[pivot][c] == 0:
            raise NotConverged(residual)
        matrix[c], matrix[pivot] = matrix[pivot], matrix[c]
        right[c], right[pivot] = right[pivot], right[c]
        for r in range(c + 1, n):
            f = matrix[r][c] / matrix[c][c]
            for j in range(c + 1, n):
                matrix[r][j] = matrix[r][j] - f * matrix[c][j]
            right[r] = right[r] - f * right[c]
    for r in reversed(range(n)):
        for j in range(r + 1, n):
            right[r] = right[r] - matrix[r][j] * right[j]
        right[r] = right[r] / matrix[r][r]
    return Vector(right)


def midpoint(body, h):
    x, v = body.x, body.v
    xm = x + h / 2 * v
    vm = v + h / 2 * body.a(x, v)
    body.x = x + h * vm
    body.v = v + h * body.a(xm, vm, h / 2)


def heun(body, h):
    x, v = body.x, body.v
    a = body.a(x, v)
    xe = x + h * v
    ve = v + h * a
    body.x = x + h / 2 * (v + ve)
    body.v = v + h / 2 * (a + body.a(xe, ve, h))


def rk4(body, h):
    x, v = body.x, body.v
    v1, a1 = v, body.a(x, v)
    v2 = v + h / 2 * a1
    a2 = body.a(x + h / 2 * v1, v2, h / 2)
    v3 = v + h / 2 * a2
    a3 = body.a(x + h / 2 * v2, v3, h / 2)
    v4 = v + h * a3
    a4 = body.a(x + h * v3, v4, h)
    body.x = x + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
    body.v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def verlet_start(body, h):
    """Set the history, the previous position, by extrapolation from x and v."""
    x, v = body.x, body.v
    a = body.a(x, v)
    previous = x - h * v
    if body.integrator.start == "taylor":
        previous = previous + h * h / 2 * a
    if body.integrator.velocity == "backward":
        body.v = (x - previous) / h
    body.history = previous


def verlet(body, h):
    x, v, previous, last = body.x, body.v, body.history, body.last_h
    central = body.integrator.velocity == "central"
    if body.velocity_dependent and not central:
        v = v + last / 2 * body.a(x, v)  # v was (x - previous) / last, half a step behind x
    a = body.kept(x, v)
    x, previous = x + (h / last * (x - previous) + h * (h + last) / 2 * a), x
    v = (x - previous) / h
    x, previous = body.around(x, v, previous)
    body.x, body.v, body.history = x, v, previous
    if central:
        a = body.keep(body.a(x, v, h))
        body.v = v + h / 2 * a


def velocity_verlet(body, h):
    x, v = body.x, body.v
    a = body.kept(x, v)
    x = x + h * (v + h / 2 * a)
    vp = v + h * a
    x, vp = body.thermostatted(x, vp, a)
    x, _ = body.around(x, vp)
    a_new = body.keep(body.a(x, vp, h))
    body.x = x
    body.v = vp + h / 2 * (a_new - a)


def groot_warren_start(body, h):
    body.history = body.a(body.x, body.v)


def groot_warren(body, h):
    x, v, a = body.x, body.v, body.history
    lam = body.real(body.integrator.lam)
    x = x + h * (v + h / 2 * a)
    a_new = body.a(x, v + lam * h * a, h)
    body.x = x
    body.v = v + h / 2 * (a + a_new)
    body.history = a_new


def composition(body, h):
    """Alternate drifts and kicks: leapfrog, yoshida4, pefrl, yoshida6."""
    drifts, kicks = body.composition
    x = body.x + drifts[0] * body.v
    v, after = body.v, drifts[0]
    for c, d in zip(drifts[1:], kicks, strict=True):
        v = kick(body, x, v, d, after)
        x = x + c * v
        after = after + c
    body.x, body.v = x, v


def kick(body, x, v, d, after):
    """Return the velocity after v' = a(x, v) for a time d, at constant position and time."""
    if not body.velocity_dependent:
        return v + d * body.a(x, v, after)
    if body.integrator.kick_rule == "rk4":
        a1 = body.a(x, v, after)
        a2 = body.a(x, v + d / 2 * a1, after)
        a3 = body.a(x, v + d / 2 * a2, after)
        a4 = body.a(x, v + d * a3, after)
        return v + d / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    # Implicit midpoint, v_m = v + d/2 a(x, v_m): each fixed-point iteration raises the order by one.
    vm = v
    for _ in range(body.integrator.order - 1):
        vm = v + d / 2 * body.a(x, vm, after)
    return v + d * body.a(x, vm, after)


def energy_euler(body, h):
    x, v = body.x, body.v
    body.x, body.v = energy_kept(x, v, body.a(x, v), h, lambda y, turned: body.potential_difference(x, y))


def energy_together(system, h):
    """Run energy-conserving Euler with interactions: their potentials are evaluated for all bodies at once."""
    x, v = system.x, system.v
    a = system.a(x, v)
    works = [system.work(x, x + h * v), system.work(x, x + h * (v + h / 2 * a))]
    new = []
    rows = zip(system.parts, split(x), split(v), split(a), strict=True)
    for i, (part, place, speed, acceleration) in enumerate(rows):

        def difference(y, turned, part=part, place=place, i=i):
            return part.potential_difference(place, y) + works[turned][i]

        new.append(energy_kept(place, speed, acceleration, h, difference))
    system.x, system.v = (system.joined(vectors) for vectors in zip(*new, strict=True))


def energy_kept(x, v, a, h, difference):
    """Return the new position, and the velocity that conserves energy. difference: potential at y minus that at x."""
    y, turned = x + h * v, False
    if dot(v, v) - 2 * difference(y, turned) <= 0:  # close to a turning point
        y, turned = x + h * (v + h / 2 * a), True
    speed2 = dot(v, v) - 2 * difference(y, turned)
    if speed2 < 0:  # the energy does not suffice for the parabola, either
        return x, mirrored(v, a)
    u = v + h * a
    u2 = dot(u, u)
    if u2 > 0:
        u2 = sqrt(speed2 / u2)
    return y, u2 * u


def mirrored(v, a):
    """Reflect v in the direction of a; reverse it if a is zero."""
    a2 = dot(a, a)
    return v - 2 * dot(v, a) / a2 * a if a2 > 0 else -1 * v


def exact(body, h):
    x, v = body.x, body.v
    c, s, p, q = body.flow
    a = body.a(x, v)
    body.x = x + (p * v + q * a)
    body.v = c * v + s * a


#: Step functions by kind of integrator.
SCHEMES = {kind: globals()[kind] for kind in KINDS & globals().keys()}
require_entries(__name__, SCHEMES, KINDS)

#: Schemes whose control flow depends on the state: they step bodies one by one.
ONE_BY_ONE = {"implicit_euler", "energy_euler"}

#: Functions that initialize the history before the first step.
STARTS = {"verlet": verlet_start, "groot_warren": groot_warren_start}
require_entries(__name__, STARTS, {cls.kind for cls in INTEGRATORS.values() if cls.history})
