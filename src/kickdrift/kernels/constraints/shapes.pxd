# Collisions of bodies with shapes: the formulas of kickdrift/reference/constraints/shapes.py.

from libc.stdint cimport int64_t

from .events cimport senses, slack
from .friction cimport friction_impulse, leave_belt, spin_by
from .motion cimport (
    begin_motion, is_moving, lay, move_along, pieces_of, rotates, surface_velocity, turn_normal,
)
from .impacts cimport each, is_constrained, collide_wall, replace
from .outlines cimport Walk, away, begin_walk, is_beside, next_in_box, passes, touch
from .contact_events cimport BOUNCES, report_shape
from ..abi.constraints cimport Shapes
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude
from ..simd.vec cimport real

cdef enum:
    REFINED = 4     # number of secant steps that refine the time when a body touches a rotating shape

cdef enum:          # the support by a shape that a body rests on, over a step: see `release`
    NORMAL = 0
    FRICTION = MAX_DIM      # the velocity that friction removes
    DELTA_V = 2 * MAX_DIM   # the velocity change by forces, along the normal
    SUPPORT


cdef inline int collide_shapes(
    double step, int64_t first, int64_t last, int dim, int64_t stride, const real* before, const real* delta_v, real* x,
    real* v, real* s, const Shapes* data,
) noexcept nogil:
    cdef const real* weight = <const real*> data.wall.weight
    cdef int64_t i
    if not data.motion.begun:
        begin_motion(dim, step, data, x, 1)
    for i in range(first, last if data.count > 0 else first):
        if is_constrained(&data.wall, weight[i] > 0, i) and not passes_by(dim, stride, i, before, x, data):
            collide_body(step, <real> step, dim, stride, i, before, delta_v, x, v, s, data)
    if not data.motion.begun:
        lay(dim, step, data, x)
    return 0


cdef inline bint passes_by(
    int dim, int64_t stride, int64_t i, const real* before, const real* x, const Shapes* data,
) noexcept nogil:
    """True if a body stays outside of the bounding box of all shapes, so that `collide_body` would find no contact."""
    cdef real start[MAX_DIM]
    cdef real y[MAX_DIM]
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef int j
    for j in range(dim):
        start[j], y[j] = before[j * stride + i], x[j * stride + i]
    box_of(dim, start, y, each(&data.reach, i, y[0]), data, low, high)
    return is_beside(dim, low, high, data.bounds)


cdef inline void collide_body(
    double step, real h, int dim, int64_t stride, int64_t i, const real* before, const real* delta_v, real* x, real* v,
    real* s, const Shapes* data,
) noexcept nogil:
    cdef real y[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real g[MAX_DIM]
    cdef real origin[MAX_DIM]
    cdef real start[MAX_DIM]
    cdef real at[MAX_DIM]
    cdef real d[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef real there[MAX_DIM]
    cdef real since = h
    cdef real reach = each(&data.reach, i, h)
    cdef real half = reach - each(&data.wall.radius, i, h)
    cdef real one = 1
    cdef real share, distance
    cdef real support[SUPPORT]
    cdef int64_t number = -1
    cdef bint met = False
    cdef bint rests = False
    cdef int _bounce, j
    for j in range(dim):
        y[j] = x[j * stride + i]
        u[j] = v[j * stride + i]
        g[j] = delta_v[j * stride + i]
        origin[j] = start[j] = before[j * stride + i]
    if senses(data.wall.sensor, i):
        if data.wall.events != NULL:
            go_through(dim, step, h, i, start, y, u, g, data)
        return
    for _bounce in range(BOUNCES):
        number = first_touch(False, dim, step, since, origin, start, y, reach, number, data, &share)
        if number < 0:
            break
        for j in range(dim):
            at[j] = start[j] + share * (y[j] - start[j])
        since = (one - share) * since
        meet_shape(dim, step, since, number, at, half, data, n, moves, there)
        # In the corner of two shapes, where a body rests on both, the share is 0 but for rounding errors.
        if rests and 1024 * share > one:
            release(dim, h, i, since, support, y, u, data)
        for j in range(dim):
            d[j] = there[j] - y[j]
        rests = turn(dim, h, i, number, since, dot(dim, n, d), y, u, g, n, at, moves, data, support)
        met = True
        for j in range(dim):
            start[j] = at[j]
    else:
        # As in a slot as wide as the body: bounces take no time, and the motion along the slot remains. With moving
        # shapes the body stays at its place on the last one: others may come there in the meantime.
        for j in range(dim):
            d[j] = y[j] - there[j]
            y[j] = start[j]
        if is_moving(data):
            move_along(dim, &data.motion, number, step - <double> since, step, start, y)
        else:
            share = dot(dim, n, d)
            for j in range(dim):
                y[j] = y[j] + (d[j] - share * n[j])
            if first_touch(False, dim, step, since, origin, start, y, reach, number, data, &share) >= 0:
                for j in range(dim):
                    y[j] = start[j] + share * (y[j] - start[j])
    number = next_overlap(dim, step, origin, y, reach, -1, data)
    while number >= 0:
        distance = meet_shape(dim, step, 0, number, y, half, data, n, moves, there)
        turn(dim, h, i, number, 0, reach - distance, y, u, g, n, y, moves, data, support)
        met = True
        number = next_overlap(dim, step, origin, y, reach, number, data)
    if met:
        replace(dim, h, stride, i, y, u, x, v, s)


cdef inline void go_through(
    int dim, double step, real h, int64_t i, const real* start, const real* y, const real* u, const real* g,
    const Shapes* data,
) noexcept nogil:
    """Record the first shape on the path of a sensor body, and all shapes that it overlaps at the end of the step."""
    cdef real reach = each(&data.reach, i, h)
    cdef real there[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real still[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real zero = 0
    cdef real share
    cdef int64_t first = first_touch(True, dim, step, h, NULL, start, y, reach, -1, data, &share)
    cdef int64_t number
    cdef int j
    for j in range(dim):
        still[j] = 0
        motion[j] = y[j] - start[j]
    if first >= 0:
        come(dim, step, h, i, first, share, start, y, u, g, data)
    number = next_overlap(dim, step, NULL, y, reach, -1, data)
    while number >= 0:
        if number == first:
            pass
        elif (
            touch_moving(True, dim, step, h, start, y, reach, number, data, &share) if is_moving(data)
            else touch(True, dim, start, motion, reach, number, data, &share)
        ):
            come(dim, step, h, i, number, share, start, y, u, g, data)
        else:
            # The overlap began before the step: record it with speed 0.
            meet_shape(dim, step, 0, number, y, zero, data, n, moves, there)
            report_shape(dim, h, i, number, h, 0, still, still, n, 0, y, data)
        number = next_overlap(dim, step, NULL, y, reach, number, data)


cdef inline void come(
    int dim, double step, real h, int64_t i, int64_t number, real share, const real* start, const real* y,
    const real* u, const real* g, const Shapes* data,
) noexcept nogil:
    """Record a shape that a sensor body reaches after `share` of its displacement."""
    cdef real at[MAX_DIM]
    cdef real there[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef real own[MAX_DIM]
    cdef real d[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real zero = 0
    cdef real one = 1
    cdef real since = (one - share) * h
    cdef int j
    for j in range(dim):
        at[j] = start[j] + share * (y[j] - start[j])
    meet_shape(dim, step, since, number, at, zero, data, n, moves, there)
    for j in range(dim):
        d[j] = there[j] - y[j]
        own[j] = u[j] - moves[j] if is_moving(data) else u[j]
    report_shape(dim, h, i, number, since, dot(dim, n, d), own, g, n, 0, at, data)


cdef inline bint turn(
    int dim, real h, int64_t i, int64_t number, real time_since, real depth, real* y, real* u, const real* g,
    const real* n, const real* at, const real* moves, const Shapes* data, real* support,
) noexcept nogil:
    """Bounce a body that is `depth` beyond the tangent plane at a contact; return True if it rests on the shape.

    moves: surface velocity of a moving shape. support: set for a resting body, for `release`.
    """
    cdef real lag = <real> data.wall.lag
    cdef real mu = each(&data.wall.friction, i, h)
    cdef real pull = dot(dim, n, g)
    cdef real lost[MAX_DIM]
    cdef real one = 1
    cdef real across, inside, inwards, impulse, time, part
    cdef int j
    if is_moving(data):
        for j in range(dim):
            u[j] = u[j] - moves[j]
    across = dot(dim, n, u)
    if not collide_wall(depth, -across, -pull, each(&data.wall.restitution, i, h), h, lag, &inside, &inwards, &time):
        if is_moving(data):
            for j in range(dim):
                u[j] = u[j] + moves[j]
        return False
    impulse = inwards - across
    report_shape(dim, h, i, number, time_since, depth, u, g, n, impulse, at, data)
    for j in range(dim):
        y[j] = y[j] + (depth + inside) * n[j]
        u[j] = u[j] - across * n[j]
        lost[j] = u[j]
        support[NORMAL + j], support[FRICTION + j] = n[j], 0 * n[j]
    support[DELTA_V] = pull
    if mu > 0 and impulse > 0:
        leave_belt(dim, <const real*> data.wall.belt, n, lost)
        friction_impulse(
            dim, &data.wall.spin, i, each(&data.wall.radius, i, h), (<const real*> data.wall.weight)[i], n, lost,
            mu * impulse,
        )
        for j in range(dim):
            u[j] = u[j] - lost[j]
            y[j] = y[j] - time * lost[j]
        part = -pull / impulse if impulse > -pull else one      # by the forces, without an impact
        for j in range(dim):
            support[FRICTION + j] = part * lost[j]
    for j in range(dim):
        u[j] = u[j] + inwards * n[j]
        if is_moving(data):
            u[j] = u[j] + moves[j]
    return pull < 0 and not inwards > 0


cdef inline void release(
    int dim, real h, int64_t i, real since, const real* support, real* y, real* u, const Shapes* data,
) noexcept nogil:
    """Undo the support by a shape for the last `since` s of the step, in which the body is on another shape.

    `turn` has removed the velocity change by forces along the normal, and friction, as if they acted evenly over the
    whole step.
    """
    cdef real share = since / h
    cdef real later = share - <real> data.wall.lag
    cdef real two = 2
    cdef real lost[MAX_DIM]
    cdef real change
    cdef int j
    for j in range(dim):
        change = support[DELTA_V] * support[NORMAL + j] + support[FRICTION + j]
        y[j] = y[j] + share * since / two * change
        u[j] = u[j] + later * change
        lost[j] = -later * support[FRICTION + j]
    spin_by(
        dim, &data.wall.spin, i, each(&data.wall.radius, i, h), (<const real*> data.wall.weight)[i], support + NORMAL,
        lost,
    )


cdef inline real meet_shape(
    int dim, double step, real since, int64_t number, const real* at, real half, const Shapes* data, real* n,
    real* moves, real* there,
) noexcept nogil:
    """Return the distance of a body at `at` from a shape, `since` before the end of the step; n: set to the normal.

    half: half the thickness of the shape, whose surface is that far from its line. there: set to the place at the end
    of the step of a point that moves with the shape from `at` on; moves: if the shape moves, set to its surface
    velocity.
    """
    cdef real y[MAX_DIM]
    cdef real distance
    cdef double time = step - <double> since
    cdef int j
    if not is_moving(data):
        for j in range(dim):
            there[j] = at[j]
        return away(dim, at, number, data, n)
    move_along(dim, &data.motion, number, time, 0, at, y)
    distance = away(dim, y, number, data, n)
    turn_normal(dim, &data.motion, number, time, n)
    for j in range(dim):
        y[j] = at[j] - (distance - half) * n[j]
    surface_velocity(dim, &data.motion, number, time, y, moves)
    for j in range(dim):
        there[j] = at[j] + since * moves[j]
    return distance


cdef inline bint touch_moving(
    bint through, int dim, double step, real since, const real* start, const real* y, real r, int64_t number,
    const Shapes* data, real* share,
) noexcept nogil:
    """`touch` for a shape that moves, on the straight path of a body in the last `since` seconds of the step."""
    cdef real begin[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real place[MAX_DIM]
    cdef real end[MAX_DIM]
    cdef real one = 1
    cdef real count, first, last
    cdef double nearly = 0
    cdef bint curved = rotates(dim, &data.motion, number)
    cdef int pieces = pieces_of(&data.motion, number, step, start, y, since, r, &nearly) if curved else 1
    cdef int piece, j
    count = pieces
    for piece in range(pieces):
        first = <real> piece / count
        last = <real> (piece + 1) / count
        for j in range(dim):
            place[j] = start[j] + first * (y[j] - start[j]) if piece > 0 else start[j]
            end[j] = start[j] + last * (y[j] - start[j]) if piece + 1 < pieces else y[j]
        move_along(dim, &data.motion, number, step - <double> ((one - first) * since), 0, place, begin)
        move_along(dim, &data.motion, number, step - <double> ((one - last) * since), 0, end, motion)
        for j in range(dim):
            motion[j] = motion[j] - begin[j]
        if not touch(through, dim, begin, motion, r, number, data, share):
            continue
        if not curved:
            return True
        share[0] = (<real> piece + share[0]) / count
        if <double> refine(dim, step, since, start, y, r, number, data, first, share) <= nearly:
            return True     # otherwise the curved path misses the shape that its straight piece hits
    return False


cdef inline real refine(
    int dim, double step, real since, const real* start, const real* y, real r, int64_t number, const Shapes* data,
    real last, real* share,
) noexcept nogil:
    """Refine the share of a path after which a body touches a rotating shape, by secant steps; return the gap there."""
    cdef real one = 1
    cdef real before = gap_at(dim, step, since, last, start, y, r, number, data)
    cdef real here = gap_at(dim, step, since, share[0], start, y, r, number, data)
    cdef real then
    cdef int _step
    for _step in range(REFINED):
        if before == here:
            break
        then = share[0] - here * ((share[0] - last) / (here - before))
        if not (then >= 0 and then <= one):
            break
        last, before, share[0] = share[0], here, then
        here = gap_at(dim, step, since, then, start, y, r, number, data)
    return here


cdef inline real gap_at(
    int dim, double step, real since, real share, const real* start, const real* y, real r, int64_t number,
    const Shapes* data,
) noexcept nogil:
    """Gap between a body and a shape after a share of the body's path."""
    cdef real at[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef real there[MAX_DIM]
    cdef real one = 1
    cdef int j
    for j in range(dim):
        at[j] = start[j] + share * (y[j] - start[j])
    return meet_shape(dim, step, (one - share) * since, number, at, 0 * r, data, n, moves, there) - r


# Searches in the tree of shapes.

cdef inline void box_of(
    int dim, const real* start, const real* y, real reach, const Shapes* data, double* low, double* high,
) noexcept nogil:
    """Bounding box of all that a body may touch on the straight path from start to y, rounding errors included."""
    cdef double large = reach
    cdef int j
    for j in range(dim):
        large = large + magnitude(start[j]) + magnitude(y[j])
    large = reach + slack(reach) * large + data.motion.margin
    for j in range(dim):
        low[j] = (start[j] if start[j] < y[j] else y[j]) - large
        high[j] = (y[j] if start[j] < y[j] else start[j]) + large


cdef inline int64_t first_touch(
    bint through, int dim, double step, real since, const real* origin, const real* start, const real* y, real reach,
    int64_t last, const Shapes* data, real* share,
) noexcept nogil:
    """Return the first shape touched along the displacement, or -1; share: set to the share of the displacement.

    Of shapes touched at the same time the lowest number counts.

    last: the shape touched last, or -1. It is skipped: shapes are convex, and the path leaves it or slides along it.
    through: for sensors; shapes that overlap the start are skipped. origin: position before the step; NULL for sensors.
    """
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real t
    cdef int64_t found = -1
    cdef int64_t number
    cdef bint one_way = origin != NULL and data.one_way != NULL
    cdef Walk walk
    cdef int j
    for j in range(dim):
        motion[j] = y[j] - start[j]
    box_of(dim, start, y, reach, data, low, high)
    begin_walk(&walk, data)
    while True:
        number = next_in_box(dim, low, high, data, &walk)
        if number < 0:
            return found
        if number == last or (one_way and passes(dim, origin, reach, number, data)):
            continue
        if is_moving(data):
            if not touch_moving(through, dim, step, since, start, y, reach, number, data, &t):
                continue
        elif not touch(through, dim, start, motion, reach, number, data, &t):
            continue
        if found < 0 or t < share[0] or (t == share[0] and number < found):
            found, share[0] = number, t


cdef inline int64_t next_overlap(
    int dim, double step, const real* origin, const real* y, real reach, int64_t after, const Shapes* data,
) noexcept nogil:
    """First shape with a number above `after` that the body overlaps, or -1."""
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef real there[MAX_DIM]
    cdef int64_t found = -1
    cdef int64_t number
    cdef bint one_way = origin != NULL and data.one_way != NULL
    cdef Walk walk
    box_of(dim, y, y, reach, data, low, high)
    begin_walk(&walk, data)
    while True:
        number = next_in_box(dim, low, high, data, &walk)
        if number < 0:
            return found
        if number <= after or (found >= 0 and number > found):
            continue
        if one_way and passes(dim, origin, reach, number, data):
            continue
        if meet_shape(dim, step, 0, number, y, 0 * reach, data, n, moves, there) < reach:
            found = number
