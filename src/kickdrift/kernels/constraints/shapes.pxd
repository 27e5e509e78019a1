# Collisions of bodies with shapes: the formulas of kickdrift/reference/constraints/shapes.py.

from libc.stdint cimport int64_t

from .events cimport (
    finish_telling, keep_touching, key_of, met_at, other_of, report, senses, slack, unmet, visit,
)
from .friction cimport rub
from .impacts cimport arrival, at_least_zero, each, is_constrained, meet_wall, replace
from .outlines cimport away, touch
from ..abi.constraints cimport Shapes
from ..abi.events cimport Contact, Log, Told
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude
from ..simd.vec cimport real

cdef enum:
    BOUNCES = 8     # maximum number of bounces of a body per step
    DEEPEST = 128   # maximum size of the stack of tree nodes to visit


cdef inline int meet_shapes(
    double step, int64_t first, int64_t last, int dim, int64_t stride, const real* before, const real* gain, real* x,
    real* v, real* s, const Shapes* data,
) noexcept nogil:
    cdef const real* weight = <const real*> data.wall.weight
    cdef int64_t i
    if data.count == 0:
        return 0
    for i in range(first, last):
        if is_constrained(&data.wall, weight[i] > 0, i):
            meet_body(<real> step, dim, stride, i, before, gain, x, v, s, data)
    return 0


cdef inline void meet_body(
    real h, int dim, int64_t stride, int64_t i, const real* before, const real* gain, real* x, real* v, real* s,
    const Shapes* data,
) noexcept nogil:
    cdef real y[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real g[MAX_DIM]
    cdef real start[MAX_DIM]
    cdef real at[MAX_DIM]
    cdef real d[MAX_DIM]
    cdef real n[MAX_DIM]
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
        g[j] = gain[j * stride + i]
        start[j] = before[j * stride + i]
    if senses(data.wall.sensor, i):
        if data.wall.told != NULL:
            go_through(dim, h, i, start, y, u, g, data)
        return
    for _bounce in range(BOUNCES):
        number = first_touch(False, dim, start, y, reach, number, data, &share)
        if number < 0:
            break
        for j in range(dim):
            at[j] = start[j] + share * (y[j] - start[j])
        away(dim, at, number, data, n)
        since = (one - share) * since
        for j in range(dim):
            d[j] = at[j] - y[j]
        turn(dim, h, i, number, since, dot(dim, n, d), y, u, g, n, at, data)
        met = True
        for j in range(dim):
            start[j] = at[j]
    else:
        for j in range(dim):
            y[j] = start[j]
    number = next_overlap(dim, y, reach, -1, data)
    while number >= 0:
        distance = away(dim, y, number, data, n)
        turn(dim, h, i, number, 0, reach - distance, y, u, g, n, y, data)
        met = True
        number = next_overlap(dim, y, reach, number, data)
    if met:
        replace(dim, h, stride, i, y, u, x, v, s)


cdef inline void go_through(
    int dim, real h, int64_t i, const real* start, const real* y, const real* u, const real* g, const Shapes* data,
) noexcept nogil:
    """Record the first shape on the path of a sensor body, and all that it overlaps at the end of the step."""
    cdef real reach = each(&data.reach, i, h)
    cdef real motion[MAX_DIM]
    cdef real still[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real share
    cdef int64_t first = first_touch(True, dim, start, y, reach, -1, data, &share)
    cdef int64_t number
    cdef int j
    for j in range(dim):
        motion[j] = y[j] - start[j]
        still[j] = 0
    if first >= 0:
        come(dim, h, i, first, share, start, motion, y, u, g, data)
    number = next_overlap(dim, y, reach, -1, data)
    while number >= 0:
        if number == first:
            pass
        elif touch(True, dim, start, motion, reach, number, data, &share):
            come(dim, h, i, number, share, start, motion, y, u, g, data)
        else:
            # The overlap began before the step.
            away(dim, y, number, data, n)
            tell_shape(dim, h, i, number, h, 0, still, still, n, 0, y, data)
        number = next_overlap(dim, y, reach, number, data)


cdef inline void come(
    int dim, real h, int64_t i, int64_t number, real share, const real* start, const real* motion, const real* y,
    const real* u, const real* g, const Shapes* data,
) noexcept nogil:
    """Record a shape that a body reaches after `share` of its displacement."""
    cdef real at[MAX_DIM]
    cdef real d[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real one = 1
    cdef int j
    for j in range(dim):
        at[j] = start[j] + share * motion[j]
    away(dim, at, number, data, n)
    for j in range(dim):
        d[j] = at[j] - y[j]
    tell_shape(dim, h, i, number, (one - share) * h, dot(dim, n, d), u, g, n, 0, at, data)


cdef inline void turn(
    int dim, real h, int64_t i, int64_t number, real ago, real depth, real* y, real* u, const real* g, const real* n,
    const real* at, const Shapes* data,
) noexcept nogil:
    """Bounce a body that is `depth` beyond the tangent plane at the contact."""
    cdef real lag = <real> data.wall.lag
    cdef real mu = each(&data.wall.friction, i, h)
    cdef real across = dot(dim, n, u)
    cdef real pull = dot(dim, n, g)
    cdef real lost[MAX_DIM]
    cdef real inside, inwards, impulse, time
    cdef int j
    if not meet_wall(depth, -across, -pull, each(&data.wall.restitution, i, h), h, lag, &inside, &inwards, &time):
        return
    impulse = inwards - across
    tell_shape(dim, h, i, number, ago, depth, u, g, n, impulse, at, data)
    for j in range(dim):
        y[j] = y[j] + (depth + inside) * n[j]
        u[j] = u[j] - across * n[j]
        lost[j] = u[j]
    if mu > 0 and impulse > 0:
        rub(
            dim, &data.wall.spin, i, each(&data.wall.radius, i, h), (<const real*> data.wall.weight)[i], n, lost,
            mu * impulse,
        )
        for j in range(dim):
            u[j] = u[j] - lost[j]
            y[j] = y[j] - time * lost[j]
    for j in range(dim):
        u[j] = u[j] + inwards * n[j]


# In the tree.

cdef inline bint is_beside(int dim, const double* low, const double* high, const double* bounds) noexcept nogil:
    cdef int j
    for j in range(dim):
        if not (low[j] <= bounds[dim + j] and high[j] >= bounds[j]):
            return True
    return False


cdef inline int64_t first_touch(
    bint through, int dim, const real* start, const real* y, real reach, int64_t last, const Shapes* data, real* share,
) noexcept nogil:
    """First shape touched along the displacement, and after which share of it; the lower number if equal; or -1.

    last: the shape touched last, or -1. It is skipped: shapes are convex, and the path leaves it or slides along it.
    through: for sensors; shapes that overlap the start are skipped.
    """
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef double large = reach
    cdef int j
    for j in range(dim):
        motion[j] = y[j] - start[j]
        large = large + magnitude(start[j]) + magnitude(y[j])
    large = reach + slack(reach) * large
    for j in range(dim):
        low[j] = (start[j] if start[j] < y[j] else y[j]) - large
        high[j] = (y[j] if start[j] < y[j] else start[j]) + large
    return search(True, through, dim, low, high, start, motion, reach, last, data, share)


cdef inline int64_t next_overlap(
    int dim, const real* y, real reach, int64_t after, const Shapes* data,
) noexcept nogil:
    """First shape with a number above `after` that the body overlaps, or -1."""
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef double large = reach
    cdef real share
    cdef int j
    for j in range(dim):
        large = large + magnitude(y[j])
    large = reach + slack(reach) * large
    for j in range(dim):
        low[j] = y[j] - large
        high[j] = y[j] + large
    return search(False, False, dim, low, high, y, y, reach, after, data, &share)


cdef inline int64_t search(
    bint on_way, bint through, int dim, const double* low, const double* high, const real* y, const real* motion,
    real reach, int64_t last, const Shapes* data, real* share,
) noexcept nogil:
    """Search the shapes in a box: on_way, the one other than `last` that is touched first; else the first after `last`
    that overlaps; or -1."""
    cdef int64_t waiting[DEEPEST]
    cdef real n[MAX_DIM]
    cdef real t
    cdef int64_t found = -1
    cdef int64_t count = 1
    cdef int64_t node, k, number
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
            if on_way:
                if number == last or not touch(through, dim, y, motion, reach, number, data, &t):
                    continue
                if found < 0 or t < share[0] or (t == share[0] and number < found):
                    found = number
                    share[0] = t
            elif number > last and (found < 0 or number < found) and away(dim, y, number, data, n) < reach:
                found = number
    return found


# Events.

cdef inline void tell_shape(
    int dim, real h, int64_t i, int64_t number, real ago, real depth, const real* u, const real* g, const real* n,
    real impulse, const real* at, const Shapes* data,
) noexcept nogil:
    """Record a contact with a shape, up to the capacity of the body. Sensor contacts end after the step."""
    cdef Told* told = data.wall.told
    cdef real point[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real one = 1
    cdef real lag = <real> data.wall.lag
    cdef real gain, speed, fast, radius, given, left
    cdef int64_t key, place, k
    cdef bint sensed = senses(data.wall.sensor, i)
    cdef int j
    if told == NULL:
        return
    key, place = key_of(i, -1 - number), -1
    for k in range(i * told.slots, (i + 1) * told.slots):
        if told.mark[k] == 0 or told.contact[told.mark[k] - 1].key == key:
            place = k
            break
    if place < 0:
        return
    gain = dot(dim, n, g)
    speed = -dot(dim, n, u) - lag * gain
    arrival(depth, speed, -gain, h, h, &fast)
    radius = each(&data.wall.radius, i, h)
    given, left = 0, 0
    if not sensed:
        given = impulse / (<const real*> data.wall.weight)[i]
        left = ago
    for j in range(dim):
        point[j] = at[j] - radius * n[j]
        normal[j] = -one * n[j]
    report(told, place, key, ago, left, fast, at_least_zero(-gain), given, dim, point, normal)


cdef inline void tell_shapes(
    int dim, int64_t n, int64_t stride, const real* x, const Shapes* data, Log* log,
) noexcept nogil:
    cdef Told* told = data.wall.told
    cdef bint tracked = log.begin or log.end
    cdef const Contact* met[BOUNCES]
    cdef const Contact* contact
    cdef int64_t i, key
    cdef int64_t p = 0
    cdef int count, k, j
    if told.contacts == 0 and told.count == 0:
        return
    for i in range(n):
        # Contacts of the step in the order of their keys.
        count = 0
        for k in range(told.slots):
            contact = met_at(told, i * told.slots + k)
            if contact == NULL:
                continue
            j = count
            while j > 0 and met[j - 1].key > contact.key:
                met[j] = met[j - 1]
                j -= 1
            met[j] = contact
            count += 1
        k = 0
        while k < count or (p < told.count and told.touching[p] < key_of(i + 1, -2147483647)):
            if k < count and (p >= told.count or met[k].key <= told.touching[p]):
                key = met[k].key
                tell_one(dim, stride, x, i, key, met[k], p < told.count and told.touching[p] == key, tracked, data, log)
                p += p < told.count and told.touching[p] == key
                k += 1
            else:
                tell_one(dim, stride, x, i, told.touching[p], NULL, True, tracked, data, log)
                p += 1
    finish_telling(told)


cdef inline void tell_one(
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
        visit(log, data.wall.told, dim, contact, True, was, now)
    elif now:
        keep_touching(log, data.wall.told, key)
    else:
        unmet(&still, key, log.h)
        for j in range(dim):
            still.point[j] = y[j] - each(&data.wall.radius, i, share) * n[j]
            still.normal[j] = -one * n[j]
        visit(log, data.wall.told, dim, &still, False, was, now)
