# Collisions of bodies with shapes: the formulas of kickdrift/reference/constraints/shapes.py.

from libc.stdint cimport int64_t

from .events cimport (
    finish_events, keep_touching, key_of, met_at, other_of, report, senses, slack, unmet, visit,
)
from .friction cimport leave_belt, friction_impulse
from .motion cimport (
    begin_motion, go_back, go_forth, is_moving, lay, rotates, surface_velocity, turn_normal,
)
from .impacts cimport arrival, at_least_zero, each, is_constrained, collide_wall, replace
from .outlines cimport away, passes, touch
from ..abi.constraints cimport Shapes
from ..abi.events cimport Contact, Log, EventSource
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude
from ..simd.vec cimport real

cdef enum:
    REFINED = 4     # secant steps to the time when a body touches a rotating shape
    BOUNCES = 8     # maximum number of bounces of a body per step
    DEEPEST = 128   # maximum size of the stack of tree nodes to visit


cdef inline int collide_shapes(
    double step, int64_t first, int64_t last, int dim, int64_t stride, const real* before, const real* delta_v, real* x,
    real* v, real* s, const Shapes* data,
) noexcept nogil:
    cdef const real* weight = <const real*> data.wall.weight
    cdef int64_t i
    begin_motion(dim, step, data, x)
    for i in range(first, last if data.count > 0 else first):
        if is_constrained(&data.wall, weight[i] > 0, i):
            collide_body(step, <real> step, dim, stride, i, before, delta_v, x, v, s, data)
    lay(dim, step, data, x)
    return 0


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
    cdef real one = 1
    cdef real share, distance
    cdef int64_t number = -1
    cdef bint met = False
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
        meet_shape(dim, step, since, number, at, data, n, moves, there)
        for j in range(dim):
            d[j] = there[j] - y[j]
        turn(dim, h, i, number, since, dot(dim, n, d), y, u, g, n, at, moves, data)
        met = True
        for j in range(dim):
            start[j] = at[j]
    else:
        for j in range(dim):
            y[j] = start[j]
        if is_moving(data):
            go_forth(dim, &data.motion, number, step - <double> since, step, start, y)
    number = next_overlap(dim, step, origin, y, reach, -1, data)
    while number >= 0:
        distance = meet_shape(dim, step, 0, number, y, data, n, moves, there)
        turn(dim, h, i, number, 0, reach - distance, y, u, g, n, y, moves, data)
        met = True
        number = next_overlap(dim, step, origin, y, reach, number, data)
    if met:
        replace(dim, h, stride, i, y, u, x, v, s)


cdef inline void go_through(
    int dim, double step, real h, int64_t i, const real* start, const real* y, const real* u, const real* g,
    const Shapes* data,
) noexcept nogil:
    """Record the first shape on the path of a sensor body, and all that it overlaps at the end of the step."""
    cdef real reach = each(&data.reach, i, h)
    cdef real there[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real still[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef real n[MAX_DIM]
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
            # The overlap began before the step.
            meet_shape(dim, step, 0, number, y, data, n, moves, there)
            report_shape(dim, h, i, number, h, 0, still, still, n, 0, y, data)
        number = next_overlap(dim, step, NULL, y, reach, number, data)


cdef inline void come(
    int dim, double step, real h, int64_t i, int64_t number, real share, const real* start, const real* y,
    const real* u, const real* g, const Shapes* data,
) noexcept nogil:
    """Record a shape that a body reaches after `share` of its displacement."""
    cdef real at[MAX_DIM]
    cdef real there[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef real own[MAX_DIM]
    cdef real d[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real one = 1
    cdef real since = (one - share) * h
    cdef int j
    for j in range(dim):
        at[j] = start[j] + share * (y[j] - start[j])
    meet_shape(dim, step, since, number, at, data, n, moves, there)
    for j in range(dim):
        d[j] = there[j] - y[j]
        own[j] = u[j] - moves[j] if is_moving(data) else u[j]
    report_shape(dim, h, i, number, since, dot(dim, n, d), own, g, n, 0, at, data)


cdef inline void turn(
    int dim, real h, int64_t i, int64_t number, real time_since, real depth, real* y, real* u, const real* g,
    const real* n,
    const real* at, const real* moves, const Shapes* data,
) noexcept nogil:
    """Bounce a body that is `depth` beyond the tangent plane at the contact. moves: the plane's velocity, if any."""
    cdef real lag = <real> data.wall.lag
    cdef real mu = each(&data.wall.friction, i, h)
    cdef real pull = dot(dim, n, g)
    cdef real lost[MAX_DIM]
    cdef real across, inside, inwards, impulse, time
    cdef int j
    if is_moving(data):
        for j in range(dim):
            u[j] = u[j] - moves[j]
    across = dot(dim, n, u)
    if not collide_wall(depth, -across, -pull, each(&data.wall.restitution, i, h), h, lag, &inside, &inwards, &time):
        if is_moving(data):
            for j in range(dim):
                u[j] = u[j] + moves[j]
        return
    impulse = inwards - across
    report_shape(dim, h, i, number, time_since, depth, u, g, n, impulse, at, data)
    for j in range(dim):
        y[j] = y[j] + (depth + inside) * n[j]
        u[j] = u[j] - across * n[j]
        lost[j] = u[j]
    if mu > 0 and impulse > 0:
        leave_belt(dim, <const real*> data.wall.belt, n, lost)
        friction_impulse(
            dim, &data.wall.spin, i, each(&data.wall.radius, i, h), (<const real*> data.wall.weight)[i], n, lost,
            mu * impulse,
        )
        for j in range(dim):
            u[j] = u[j] - lost[j]
            y[j] = y[j] - time * lost[j]
    for j in range(dim):
        u[j] = u[j] + inwards * n[j]
        if is_moving(data):
            u[j] = u[j] + moves[j]


cdef inline real meet_shape(
    int dim, double step, real since, int64_t number, const real* at, const Shapes* data, real* n, real* moves,
    real* there,
) noexcept nogil:
    """The distance of a body that is by a shape `since` before the end of the step, and the normal.

    Of shapes that move, their velocity at that place, and where the place is at the end.
    """
    cdef real y[MAX_DIM]
    cdef real distance
    cdef double time = step - <double> since
    cdef int j
    if not is_moving(data):
        for j in range(dim):
            there[j] = at[j]
        return away(dim, at, number, data, n)
    go_back(dim, &data.motion, number, 0, time, at, y)
    distance = away(dim, y, number, data, n)
    turn_normal(dim, &data.motion, number, time, n)
    for j in range(dim):
        y[j] = at[j] - distance * n[j]
    surface_velocity(dim, &data.motion, number, time, y, moves)
    for j in range(dim):
        there[j] = at[j] + since * moves[j]
    return distance


cdef inline bint touch_moving(
    bint through, int dim, double step, real since, const real* start, const real* y, real r, int64_t number,
    const Shapes* data, real* share,
) noexcept nogil:
    """`touch` on the straight way of a body in the last `since` of the step, by shapes that move."""
    cdef real begin[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real one = 1
    cdef real last = 0
    cdef real before, here, then
    cdef int _step, j
    go_back(dim, &data.motion, number, 0, step - <double> since, start, begin)
    go_back(dim, &data.motion, number, 0, step, y, motion)
    for j in range(dim):
        motion[j] = motion[j] - begin[j]
    if not touch(through, dim, begin, motion, r, number, data, share):
        return False
    if not rotates(dim, &data.motion, number):
        return True
    before = gap_at(dim, step, since, last, start, y, r, number, data)
    here = gap_at(dim, step, since, share[0], start, y, r, number, data)
    for _step in range(REFINED):
        if before == here:
            break
        then = share[0] - here * ((share[0] - last) / (here - before))
        if not (then >= 0 and then <= one):
            break
        last, before, share[0] = share[0], here, then
        here = gap_at(dim, step, since, then, start, y, r, number, data)
    return True


cdef inline real gap_at(
    int dim, double step, real since, real share, const real* start, const real* y, real r, int64_t number,
    const Shapes* data,
) noexcept nogil:
    """The gap to a shape after a share of a way."""
    cdef real at[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef real there[MAX_DIM]
    cdef real one = 1
    cdef int j
    for j in range(dim):
        at[j] = start[j] + share * (y[j] - start[j])
    return meet_shape(dim, step, (one - share) * since, number, at, data, n, moves, there) - r


# In the tree.

cdef inline bint is_beside(int dim, const double* low, const double* high, const double* bounds) noexcept nogil:
    cdef int j
    for j in range(dim):
        if not (low[j] <= bounds[dim + j] and high[j] >= bounds[j]):
            return True
    return False


cdef inline int64_t first_touch(
    bint through, int dim, double step, real since, const real* origin, const real* start, const real* y, real reach,
    int64_t last, const Shapes* data, real* share,
) noexcept nogil:
    """First shape touched along the displacement, and after which share of it; the lower number if equal; or -1.

    last: the shape touched last, or -1. It is skipped: shapes are convex, and the path leaves it or slides along it.
    through: for sensors; shapes that overlap the start are skipped. origin: position before the step; NULL for sensors.
    """
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef double large = reach
    cdef int j
    for j in range(dim):
        large = large + magnitude(start[j]) + magnitude(y[j])
    large = reach + slack(reach) * large + data.motion.displacement
    for j in range(dim):
        low[j] = (start[j] if start[j] < y[j] else y[j]) - large
        high[j] = (y[j] if start[j] < y[j] else start[j]) + large
    return search(True, through, dim, step, since, origin, low, high, start, y, reach, last, data, share)


cdef inline int64_t next_overlap(
    int dim, double step, const real* origin, const real* y, real reach, int64_t after, const Shapes* data,
) noexcept nogil:
    """First shape with a number above `after` that the body overlaps, or -1."""
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef double large = reach
    cdef real share
    cdef int j
    for j in range(dim):
        large = large + magnitude(y[j])
    large = reach + slack(reach) * large + data.motion.displacement
    for j in range(dim):
        low[j] = y[j] - large
        high[j] = y[j] + large
    return search(False, False, dim, step, 0, origin, low, high, y, y, reach, after, data, &share)


cdef inline int64_t search(
    bint swept, bint through, int dim, double step, real since, const real* origin, const double* low,
    const double* high, const real* start, const real* y, real reach, int64_t last, const Shapes* data, real* share,
) noexcept nogil:
    """Search the shapes in a box: swept, the one other than `last` that is touched first; else the first after `last`
    that overlaps; or -1."""
    cdef int64_t waiting[DEEPEST]
    cdef real n[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef real there[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real t, distance
    cdef int64_t found = -1
    cdef int64_t count = 1
    cdef int64_t node, k, number
    cdef bint one_way = origin != NULL and data.one_way != NULL
    cdef int j
    for j in range(dim):
        motion[j] = y[j] - start[j]
    waiting[0] = 0
    while count > 0:
        count -= 1
        node = waiting[count]
        if is_beside(dim, low, high, data.bounds + node * 2 * dim):
            continue
        if data.leaves[node] == 0:
            waiting[count] = data.first[node]
            waiting[count + 1] = data.first[node] + 1
            count += 2
            continue
        for k in range(data.first[node], data.first[node] + data.leaves[node]):
            number = data.number[k]
            if one_way and passes(dim, origin, reach, number, data):
                continue
            if swept:
                if number == last:
                    continue
                if is_moving(data):
                    if not touch_moving(through, dim, step, since, start, y, reach, number, data, &t):
                        continue
                elif not touch(through, dim, start, motion, reach, number, data, &t):
                    continue
                if found < 0 or t < share[0] or (t == share[0] and number < found):
                    found = number
                    share[0] = t
            elif number > last and (found < 0 or number < found):
                if is_moving(data):
                    distance = meet_shape(dim, step, 0, number, y, data, n, moves, there)
                else:
                    distance = away(dim, y, number, data, n)
                if distance < reach:
                    found = number
    return found


# Events.

cdef inline void report_shape(
    int dim, real h, int64_t i, int64_t number, real time_since, real depth, const real* u, const real* g,
    const real* n,
    real impulse, const real* at, const Shapes* data,
) noexcept nogil:
    """Record a contact with a shape, up to the capacity of the body. Sensor contacts end after the step."""
    cdef EventSource* events = data.wall.events
    cdef real point[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real one = 1
    cdef real lag = <real> data.wall.lag
    cdef real delta_v, speed, fast, radius, given, left
    cdef int64_t key, place, k
    cdef bint sensed = senses(data.wall.sensor, i)
    cdef int j
    if events == NULL:
        return
    key, place = key_of(i, -1 - number), -1
    for k in range(i * events.slots, (i + 1) * events.slots):
        if events.mark[k] == 0 or events.contact[events.mark[k] - 1].key == key:
            place = k
            break
    if place < 0:
        return
    delta_v = dot(dim, n, g)
    speed = -dot(dim, n, u) - lag * delta_v
    arrival(depth, speed, -delta_v, h, h, &fast)
    radius = each(&data.wall.radius, i, h)
    given, left = 0, 0
    if not sensed:
        given = impulse / (<const real*> data.wall.weight)[i]
        left = time_since
    for j in range(dim):
        point[j] = at[j] - radius * n[j]
        normal[j] = -one * n[j]
    report(events, place, key, time_since, left, fast, at_least_zero(-delta_v), given, dim, point, normal)


cdef inline void report_shapes(
    int dim, int64_t n, int64_t stride, const real* x, const Shapes* data, Log* log,
) noexcept nogil:
    cdef EventSource* events = data.wall.events
    cdef bint tracked = log.begin or log.end
    cdef const Contact* met[BOUNCES]
    cdef const Contact* contact
    cdef int64_t i, key
    cdef int64_t p = 0
    cdef int count, k, j
    if events.contacts == 0 and events.count == 0:
        return
    for i in range(n):
        # Collect the contacts of body i in the order of their keys.
        count = 0
        for k in range(events.slots):
            contact = met_at(events, i * events.slots + k)
            if contact == NULL:
                continue
            j = count
            while j > 0 and met[j - 1].key > contact.key:
                met[j] = met[j - 1]
                j -= 1
            met[j] = contact
            count += 1
        k = 0
        while k < count or (p < events.count and events.touching[p] < key_of(i + 1, -2147483647)):
            if k < count and (p >= events.count or met[k].key <= events.touching[p]):
                key = met[k].key
                report_one_shape(
                    dim, stride, x, i, key, met[k], p < events.count and events.touching[p] == key, tracked, data, log,
                )
                p += p < events.count and events.touching[p] == key
                k += 1
            else:
                report_one_shape(dim, stride, x, i, events.touching[p], NULL, True, tracked, data, log)
                p += 1
    finish_events(events)


cdef inline void report_one_shape(
    int dim, int64_t stride, const real* x, int64_t i, int64_t key, const Contact* contact, bint was, bint tracked,
    const Shapes* data, Log* log,
) noexcept nogil:
    cdef int64_t number = -1 - other_of(key)
    cdef real y[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real share = 1024
    cdef real one = 1
    cdef real reach = each(&data.reach, i, share)
    cdef real large = reach
    cdef real distance
    cdef Contact still
    cdef bint now = False
    cdef int j
    for j in range(dim):
        y[j] = x[j * stride + i]
        large = large + magnitude(y[j])
    distance = away(dim, y, number, data, n)
    if tracked and data.enabled[number]:
        now = distance <= reach + reach / share + slack(reach) * large
    if contact != NULL:
        visit(log, data.wall.events, dim, contact, True, was, now)
    elif now:
        keep_touching(log, data.wall.events, key)
    else:
        unmet(&still, key, log.h)
        for j in range(dim):
            still.point[j] = y[j] - each(&data.wall.radius, i, share) * n[j]
            still.normal[j] = -one * n[j]
        visit(log, data.wall.events, dim, &still, False, was, now)
