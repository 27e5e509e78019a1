# Events of contacts: impacts in the substeps, and pairs that touch at the end of the step.

from libc.stdint cimport int32_t, int64_t

from .collisions cimport report_sensor
from .contact_shapes cimport away_from, part_of, reach_of
from .contact_state cimport (
    ALONG, FAST, KNOWN, MASS, PUSH, SENSED, SIZE, SLOW, TIME_SINCE, TOTAL, approach, body, contact, contact_event,
    read_vector,
)
from .events cimport (
    beyond, finish_events, forget, is_active, keep_touching, key_of, met_at, other_of, pair_touches, passes, place_pair,
    report, report_pairs, report_region, report_walls, senses, unmet, visit,
)
from .motion cimport is_moving, move_along
from .outlines cimport away, touch
from ..abi.constraints cimport (
    BOX, COLLISIONS, CONTACT_EVENT, CONTACTS, MOVING, PLANE, SENSOR, SHAPES, Collisions, ConstraintCall, Contacts,
    Sensor, Shapes, Wall,
)
from ..abi.events cimport Contact, EventSource, Log
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude, rounding
from ..simd.masks cimport greater, select
from ..simd.vec cimport f32vec, filled, lane_of, real, vec, width
from .impacts cimport arrival, at_least_zero, each

# Records of contacts, made while they are solved.

cdef inline void add_up(int dim, int64_t k, const Contacts* data, const real* like) noexcept nogil:
    """Add the impulse of the last substep to the recorded total."""
    cdef real* events = contact_event(dim, data, k, like)
    events[TOTAL] = events[TOTAL] + contact(dim, data, k, like)[(2 * dim + PUSH) * data.lanes]


cdef inline void record_impact(
    int dim, real time_since, real fast, real time, int64_t k, const Contacts* data,
) noexcept nogil:
    """Record an impact that comes in `time` seconds at the current velocities; time_since: seconds from the impact
    to the end of the step."""
    cdef real* events = contact_event(dim, data, k, &time_since)
    cdef const real* own = contact(dim, data, k, &time_since)
    cdef const real* a = body(dim, data, data.first[k], &time_since)
    cdef real r = (<const real*> data.grid.radius)[data.first[k]]
    cdef int c
    events[TIME_SINCE] = time_since
    events[FAST] = fast
    for c in range(dim):
        events[CONTACT_EVENT + c] = (a[dim + c] + time * a[c] if time > 0 else a[dim + c]) + r * own[c * data.lanes]
        events[CONTACT_EVENT + dim + c] = own[c * data.lanes]


cdef inline void record_impacts(
    int dim, const Contacts* data, int64_t block, vec newly, vec gap, vec speed, vec left,
) noexcept nogil:
    """Record contacts that begin in the lanes where `newly` > 0."""
    cdef vec zero = filled(0, &gap)
    cdef vec time = select(greater(gap, zero), gap / (zero - speed), zero)
    cdef vec time_since = select(greater(left - time, zero), left - time, zero)
    cdef vec fast = select(greater(zero, speed), zero - speed, zero)
    cdef int64_t lane
    cdef int64_t first = block * width(&gap)
    for lane in range(data.lanes):
        if lane_of(&newly, lane) > 0:
            if vec is f32vec:
                record_impact(
                    dim, <float> lane_of(&time_since, lane), <float> lane_of(&fast, lane), <float> lane_of(&time, lane),
                    first + lane, data,
                )
            else:
                record_impact(
                    dim, lane_of(&time_since, lane), lane_of(&fast, lane), lane_of(&time, lane), first + lane, data,
                )


cdef inline void report_collisions(
    int dim, real full, int64_t n, int64_t stride, const real* before, const real* x, const Contacts* data,
) noexcept nogil:
    """Record the contacts of a step that had impulses, overlaps without one, and the contacts of sensors."""
    cdef const real* own
    cdef const real* events
    cdef const real* a
    cdef const real* b
    cdef real displacement[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real impulse, closing, left
    cdef real one = 1
    cdef int64_t w = data.lanes
    cdef int64_t k, key
    cdef int32_t i, j
    for k in range(data.found[0]):
        i = data.one[k]
        j = data.other[k]
        if data.colour[k] == SENSED:
            if j < n:
                report_sensor(dim, full, stride, i, j, k, before, x, NULL, &data.grid)
            elif j >= n + data.faces:
                report_sensor_shape(dim, full, n, stride, k, before, x, data)
            else:
                report_sensor_wall(dim, full, n, stride, k, before, x, data)
            continue
        events = contact_event(dim, data, data.place[k], x)
        own = contact(dim, data, data.place[k], x)
        impulse = events[TOTAL] + own[(2 * dim + PUSH) * w]
        a = body(dim, data, i, x)
        b = body(dim, data, min(j, n + data.faces), x)
        read_vector(dim, data, own, normal)
        key = key_of(i, j if j < n else n - 1 - j)
        if not impulse > 0:
            report_overlap(dim, full, i, k, key, a, b, normal, own + 2 * dim * w, data)
            continue
        approach(dim, data, data.place[k], a, b, displacement)
        closing = -dot(dim, displacement, normal)
        if closing > 0 and not events[KNOWN] > 0:
            impulse = impulse + own[(2 * dim + MASS) * w] * closing
        left = events[TIME_SINCE] if closing < 0 or not own[(2 * dim + PUSH) * w] > 0 else -one
        report(
            data.grid.events, k, key, events[TIME_SINCE], left, events[FAST], own[(2 * dim + SLOW) * w], impulse,
            dim, events + CONTACT_EVENT, events + CONTACT_EVENT + dim,
        )


cdef inline void report_overlap(
    int dim, real full, int64_t i, int64_t k, int64_t key, const real* a, const real* b, const real* normal,
    const real* more, const Contacts* data,
) noexcept nogil:
    """Record an overlap after the step, without an impulse, as a contact from the beginning of the step on."""
    cdef int64_t w = data.lanes
    cdef real displacement[MAX_DIM]
    cdef real point[MAX_DIM]
    cdef int c
    for c in range(dim):
        displacement[c] = b[dim + c] - a[dim + c]
        point[c] = a[dim + c] + (<const real*> data.grid.radius)[i] * normal[c]
    if dot(dim, displacement, normal) - more[SIZE * w] < 0 and more[ALONG * w] > 0:
        report(data.grid.events, k, key, full, 0, 0, 0, 0, dim, point, normal)


cdef inline void report_sensor_wall(
    int dim, real h, int64_t n, int64_t stride, int64_t k, const real* before, const real* x, const Contacts* data,
) noexcept nogil:
    """Record a sensor body that passes through a wall in the step, on a straight path.

    Bodies that touched before the step get speed 0.
    """
    cdef int64_t i = data.one[k]
    cdef int64_t face = data.other[k] - n
    cdef const real* normal = <const real*> data.normal + face * dim
    cdef real r = (<const real*> data.grid.radius)[i]
    cdef real size = (<const real*> data.offset)[face] + r
    cdef real y[MAX_DIM]
    cdef real was[MAX_DIM]
    cdef real point[MAX_DIM]
    cdef real displacement[MAX_DIM]
    cdef real one = 1
    cdef real depth, first, speed, time_since
    cdef real left = 0
    cdef int c
    for c in range(dim):
        y[c] = x[c * stride + i]
        was[c] = before[c * stride + i]
    depth = size - dot(dim, normal, y)
    first = size - dot(dim, normal, was)
    speed = (depth - first) / h
    if first > 0:
        time_since = h
        left = left if depth >= 0 else depth / speed
        speed = 0
    elif depth >= 0 and speed > 0:
        time_since = depth / speed
    else:
        return
    for c in range(dim):
        displacement[c] = -one * normal[c]
        point[c] = y[c] - time_since / h * (y[c] - was[c]) + r * displacement[c]
    report(data.grid.events, k, key_of(i, -1 - face), time_since, left, speed, 0, 0, dim, point, displacement)


cdef inline void report_sensor_shape(
    int dim, real h, int64_t n, int64_t stride, int64_t k, const real* before, const real* x, const Contacts* data,
) noexcept nogil:
    """Record a sensor body that passes through a shape in the step, on a straight path."""
    cdef int64_t i = data.one[k]
    cdef int64_t number = data.other[k] - n - data.faces
    cdef int64_t part = part_of(number, data)
    cdef real r = (<const real*> data.grid.radius)[i]
    cdef real reach = reach_of(i, number, data, h)
    cdef real was[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real at[MAX_DIM]
    cdef real displacement[MAX_DIM]
    cdef real one = 1
    cdef real zero = 0
    cdef real share, speed
    cdef int c
    for c in range(dim):
        was[c] = before[c * stride + i]
    if is_moving(&data.shapes[part]):     # move the start of the path with the shape, to the end of the step
        move_along(
            dim, &data.shapes[part].motion, number - data.shape_begin[part], 0, data.shapes[part].motion.now, was, was,
        )
    for c in range(dim):
        motion[c] = x[c * stride + i] - was[c]
    if not away_from(dim, was, number, data, displacement) >= reach:
        return
    if not touch(False, dim, was, motion, reach, number - data.shape_begin[part], &data.shapes[part], &share):
        return
    for c in range(dim):
        at[c] = was[c] + share * motion[c]
    away_from(dim, at, number, data, displacement)
    speed = zero - dot(dim, displacement, motion) / h
    if not speed > 0:
        return
    for c in range(dim):
        at[c] = at[c] - r * displacement[c]
        displacement[c] = -one * displacement[c]
    report(
        data.grid.events, k, key_of(i, n - 1 - data.other[k]), (one - share) * h, 0, speed, 0, 0, dim, at, displacement,
    )


# Order of the keys of a body: first its shapes and walls, by descending number, then other bodies.

cdef inline void report_contacts(
    int dim, int64_t n, int64_t stride, const real* x, const Contacts* data, Log* log,
) noexcept nogil:
    cdef EventSource* events = data.grid.events
    cdef int64_t p = 0
    cdef int64_t first = 0
    cdef int64_t last, walls, k
    if events.contacts == 0 and events.count == 0:
        return
    while first < data.found[0]:
        last = first
        walls = first
        while last < data.found[0] and data.one[last] == data.one[first]:
            last += 1
            if data.other[last - 1] < n:
                walls = last
        for k in range(last - 1, walls - 1, -1):
            report_contact(dim, n, stride, x, k, key_of(data.one[k], n - 1 - data.other[k]), &p, data, log)
        for k in range(first, walls):
            report_contact(dim, n, stride, x, k, key_of(data.one[k], data.other[k]), &p, data, log)
        first = last
    while p < events.count:
        part_contact(dim, n, stride, x, events.touching[p], data, log)
        p += 1
    finish_events(events)


cdef inline void report_contact(
    int dim, int64_t n, int64_t stride, const real* x, int64_t k, int64_t key, int64_t* p, const Contacts* data,
    Log* log,
) noexcept nogil:
    """Make the events of contact k. Pairs in `touching` with lower keys had no contact: end their contact."""
    cdef EventSource* events = data.grid.events
    cdef Contact* found
    cdef bint was
    if events.mark[k] == 0 and p[0] == events.count:
        return
    while p[0] < events.count and events.touching[p[0]] < key:
        part_contact(dim, n, stride, x, events.touching[p[0]], data, log)
        p[0] += 1
    was = p[0] < events.count and events.touching[p[0]] == key
    p[0] += was
    found = met_at(events, k)
    if found != NULL:
        visit(
            log, events, dim, found, True, was,
            (log.begin or log.end) and (found.left < 0 or contact_touches(dim, n, stride, x, key, data)),
        )
    elif was:
        part_contact(dim, n, stride, x, key, data, log)


cdef inline void part_contact(
    int dim, int64_t n, int64_t stride, const real* x, int64_t key, const Contacts* data, Log* log,
) noexcept nogil:
    """End the contact of a pair that touched and had no contact in this step, unless it still touches."""
    cdef int64_t i = key >> 32
    cdef int64_t j = other_of(key)
    cdef const real* normal
    cdef real y[MAX_DIM]
    cdef real displacement[MAX_DIM]
    cdef real one = 1
    cdef Contact still
    cdef real n_c
    cdef int c
    if is_active(log, key) and contact_touches(dim, n, stride, x, key, data):
        keep_touching(log, data.grid.events, key)
        return
    unmet(&still, key, log.h)
    if j >= 0:
        place_pair(dim, stride, x, i, j, &data.grid, &still)
    elif -1 - j >= data.faces:
        for c in range(dim):
            y[c] = x[c * stride + i]
        away_from(dim, y, -1 - j - data.faces, data, displacement)
        for c in range(dim):
            still.point[c] = y[c] - (<const real*> data.grid.radius)[i] * displacement[c]
            still.normal[c] = -one * displacement[c]
    else:
        normal = <const real*> data.normal + (-1 - j) * dim
        for c in range(dim):
            n_c = -one * normal[c]
            still.point[c] = x[c * stride + i] + (<const real*> data.grid.radius)[i] * n_c
            still.normal[c] = n_c
    visit(log, data.grid.events, dim, &still, False, True, False)


cdef inline bint contact_touches(
    int dim, int64_t n, int64_t stride, const real* x, int64_t key, const Contacts* data,
) noexcept nogil:
    cdef int64_t i = key >> 32
    cdef int64_t j = other_of(key)
    cdef real r = (<const real*> data.grid.radius)[i]
    cdef real share = 1024
    cdef real depth, large
    if j >= 0:
        return pair_touches(dim, stride, x, i, j, &data.grid)
    if -1 - j >= data.faces:
        return shape_touches(dim, stride, x, i, -1 - j - data.faces, data)
    if data.through != NULL and passes(data.through + (-1 - j) * n, i):
        return False
    depth = beyond(
        dim, stride, x, i, <const real*> data.normal + (-1 - j) * dim, (<const real*> data.offset)[-1 - j], r, &large,
    )
    return depth >= -(r / share + rounding(r) * large)


cdef inline bint shape_touches(
    int dim, int64_t stride, const real* x, int64_t i, int64_t number, const Contacts* data,
) noexcept nogil:
    cdef int64_t part = part_of(number, data)
    cdef const Shapes* shapes = &data.shapes[part]
    cdef real y[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real share = 1024
    cdef real reach = reach_of(i, number, data, share)
    cdef real large = reach
    cdef int c
    for c in range(dim):
        y[c] = x[c * stride + i]
        large = large + magnitude(y[c])
    if passes(shapes.wall.sensor, i) or not shapes.enabled[number - data.shape_begin[part]]:
        return False
    return away_from(dim, y, number, data, n) <= reach + reach / share + rounding(reach) * large


# Contacts of bodies with shapes: records of a step, and their events.

cdef enum:
    BOUNCES = 8     # maximum number of bounces of a body per step, and of recorded contacts


cdef inline void report_shape(
    int dim, real h, int64_t i, int64_t number, real time_since, real depth, const real* u, const real* g,
    const real* n,
    real impulse, const real* at, const Shapes* data,
) noexcept nogil:
    """Record a contact with a shape, as long as the body has free records. Sensor contacts last to the end of the step.
    """
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
    cdef const Contact* found
    cdef int64_t i, key
    cdef int64_t p = 0
    cdef int count, k, j
    if events.contacts == 0 and events.count == 0:
        return
    for i in range(n):
        # Collect the contacts of body i in the order of their keys.
        count = 0
        for k in range(events.slots):
            found = met_at(events, i * events.slots + k)
            if found == NULL:
                continue
            j = count
            while j > 0 and met[j - 1].key > found.key:
                met[j] = met[j - 1]
                j -= 1
            met[j] = found
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
    int dim, int64_t stride, const real* x, int64_t i, int64_t key, const Contact* met, bint was, bint tracked,
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
    if tracked and data.enabled[number] and is_active(log, key) and not passes(data.wall.sensor, i):
        now = distance <= reach + reach / share + rounding(reach) * large
    if met != NULL:
        visit(log, data.wall.events, dim, met, True, was, now)
    elif now:
        keep_touching(log, data.wall.events, key)
    else:
        unmet(&still, key, log.h)
        for j in range(dim):
            still.point[j] = y[j] - each(&data.wall.radius, i, share) * n[j]
            still.normal[j] = -one * n[j]
        visit(log, data.wall.events, dim, &still, False, was, now)


# Events of all constraints at the end of a step.

cdef inline int64_t report_events(
    bint keep, int64_t constraints, const ConstraintCall* constraint, int64_t n, int64_t dim, int64_t stride,
    const real* x, Log* log,
) noexcept nogil:
    """Turn the contacts recorded in a step into events, or drop them if the step is not kept.

    Constraints act by kind, but their events come in the order of declaration. Return -1, or the number of a constraint
    that records events, but whose kind has no branch here.
    """
    cdef int64_t turn, number
    for turn in range(constraints):
        if constraint[turn].events == NULL:
            continue
        number = constraint[turn].reports
        if not keep:
            forget(constraint[number].events)
        elif constraint[number].kind == COLLISIONS:
            report_pairs(<int> dim, n, stride, x, <const Collisions*> constraint[number].data, log)
        elif constraint[number].kind == CONTACTS:
            report_contacts(<int> dim, n, stride, x, <const Contacts*> constraint[number].data, log)
        elif constraint[number].kind == SENSOR:
            report_region(<int> dim, n, stride, x, <const Sensor*> constraint[number].data, log)
        elif constraint[number].kind == SHAPES or constraint[number].kind == MOVING:
            report_shapes(<int> dim, n, stride, x, <const Shapes*> constraint[number].data, log)
        elif constraint[number].kind == BOX or constraint[number].kind == PLANE:
            report_walls(
                <int> dim, n, stride, x, constraint[number].kind == BOX, <const Wall*> constraint[number].data, log,
            )
        else:
            return number
    return -1
