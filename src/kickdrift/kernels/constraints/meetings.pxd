# Events of contacts: impacts in the substeps, and pairs that touch at the end of the step.

from libc.stdint cimport int32_t, int64_t

from .collisions cimport notice_ways
from .contact_shapes cimport away_from, part_of, reach_of
from .contact_state cimport (
    AGO, FAST, KNOWN, MASS, PUSH, SENSED, SLOW, TOTAL, approach, body, contact, meeting, read_vector,
)
from .events cimport (
    beyond, finish_telling, keep_touching, key_of, met_at, other_of, pair_touches, place_pair, report, slack, unmet,
    visit,
)
from .motion cimport go_forth, is_moving
from .outlines cimport touch
from ..abi.constraints cimport MEETING, Contacts, Shapes
from ..abi.events cimport Contact, Log, Told
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude
from ..simd.vec cimport real


# In the solve.

cdef inline void add_up(int dim, int64_t k, const Contacts* data, const real* like) noexcept nogil:
    """Add the impulse of the last substep to the recorded total."""
    cdef real* told = meeting(dim, data, k, like)
    told[TOTAL] = told[TOTAL] + contact(dim, data, k, like)[(2 * dim + PUSH) * data.lanes]


cdef inline void meets(int dim, real ago, real fast, real time, int64_t k, const Contacts* data) noexcept nogil:
    """Record an impact in `time` seconds, along the current velocities. ago: its time before the end of the step."""
    cdef real* told = meeting(dim, data, k, &ago)
    cdef const real* own = contact(dim, data, k, &ago)
    cdef const real* a = body(dim, data, data.first[k], &ago)
    cdef real r = (<const real*> data.grid.radius)[data.first[k]]
    cdef int c
    told[AGO] = ago
    told[FAST] = fast
    for c in range(dim):
        told[MEETING + c] = (a[dim + c] + time * a[c] if time > 0 else a[dim + c]) + r * own[c * data.lanes]
        told[MEETING + dim + c] = own[c * data.lanes]


cdef inline void tell_meetings(
    int dim, real full, int64_t n, int64_t stride, const real* before, const real* x, const Contacts* data,
) noexcept nogil:
    """Record contacts with impulses, and sensor contacts."""
    cdef const real* own
    cdef const real* told
    cdef const real* a
    cdef const real* b
    cdef real way[MAX_DIM]
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
                notice_ways(dim, full, stride, i, j, k, before, x, &data.grid)
            elif j >= n + data.faces:
                notice_shape(dim, full, n, stride, k, before, x, data)
            else:
                notice_wall(dim, full, n, stride, k, before, x, data)
            continue
        told = meeting(dim, data, data.place[k], x)
        own = contact(dim, data, data.place[k], x)
        impulse = told[TOTAL] + own[(2 * dim + PUSH) * w]
        if not impulse > 0:
            continue
        a = body(dim, data, i, x)
        b = body(dim, data, min(j, n + data.faces), x)
        approach(dim, data, data.place[k], a, b, way)
        read_vector(dim, data, own, normal)
        closing = -dot(dim, way, normal)
        if closing > 0 and not told[KNOWN] > 0:
            impulse = impulse + own[(2 * dim + MASS) * w] * closing
        left = told[AGO] if closing < 0 or not own[(2 * dim + PUSH) * w] > 0 else -one
        key = key_of(i, j if j < n else n - 1 - j)
        report(
            data.grid.told, k, key, told[AGO], left, told[FAST], own[(2 * dim + SLOW) * w], impulse,
            dim, told + MEETING, told + MEETING + dim,
        )


cdef inline void notice_wall(
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
    cdef real way[MAX_DIM]
    cdef real one = 1
    cdef real depth, first, speed, ago
    cdef real left = 0
    cdef int c
    for c in range(dim):
        y[c] = x[c * stride + i]
        was[c] = before[c * stride + i]
    depth = size - dot(dim, normal, y)
    first = size - dot(dim, normal, was)
    speed = (depth - first) / h
    if first > 0:
        ago = h
        left = left if depth >= 0 else depth / speed
        speed = 0
    elif depth >= 0 and speed > 0:
        ago = depth / speed
    else:
        return
    for c in range(dim):
        way[c] = -one * normal[c]
        point[c] = y[c] - ago / h * (y[c] - was[c]) + r * way[c]
    report(data.grid.told, k, key_of(i, -1 - face), ago, left, speed, 0, 0, dim, point, way)


cdef inline void notice_shape(
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
    cdef real way[MAX_DIM]
    cdef real one = 1
    cdef real zero = 0
    cdef real share, speed
    cdef int c
    for c in range(dim):
        was[c] = before[c * stride + i]
    if is_moving(&data.shapes[part]):     # relative to where the shape is now
        go_forth(
            dim, &data.shapes[part].motion, number - data.shape_begin[part], 0, data.shapes[part].motion.now, was, was,
        )
    for c in range(dim):
        motion[c] = x[c * stride + i] - was[c]
    if not away_from(dim, was, number, data, way) >= reach:
        return
    if not touch(False, dim, was, motion, reach, number - data.shape_begin[part], &data.shapes[part], &share):
        return
    for c in range(dim):
        at[c] = was[c] + share * motion[c]
    away_from(dim, at, number, data, way)
    speed = zero - dot(dim, way, motion) / h
    if not speed > 0:
        return
    for c in range(dim):
        at[c] = at[c] - r * way[c]
        way[c] = -one * way[c]
    report(data.grid.told, k, key_of(i, n - 1 - data.other[k]), (one - share) * h, 0, speed, 0, 0, dim, at, way)


# Key order: the walls of a body, last one first, come before other bodies.

cdef inline void tell_contacts(
    int dim, int64_t n, int64_t stride, const real* x, const Contacts* data, Log* log,
) noexcept nogil:
    cdef Told* told = data.grid.told
    cdef int64_t p = 0
    cdef int64_t first = 0
    cdef int64_t last, walls, k
    if told.contacts == 0 and told.count == 0:
        return
    while first < data.found[0]:
        last = first
        walls = first
        while last < data.found[0] and data.one[last] == data.one[first]:
            last += 1
            if data.other[last - 1] < n:
                walls = last
        for k in range(last - 1, walls - 1, -1):
            tell_contact(dim, n, stride, x, k, key_of(data.one[k], n - 1 - data.other[k]), &p, data, log)
        for k in range(first, walls):
            tell_contact(dim, n, stride, x, k, key_of(data.one[k], data.other[k]), &p, data, log)
        first = last
    while p < told.count:
        part_contact(dim, n, stride, x, told.touching[p], data, log)
        p += 1
    finish_telling(told)


cdef inline void tell_contact(
    int dim, int64_t n, int64_t stride, const real* x, int64_t k, int64_t key, int64_t* p, const Contacts* data,
    Log* log,
) noexcept nogil:
    """Make events of a contact found in the step; earlier keys in `touching` were not found, and end."""
    cdef Told* told = data.grid.told
    cdef Contact* found
    cdef bint was
    if told.mark[k] == 0 and p[0] == told.count:
        return
    while p[0] < told.count and told.touching[p[0]] < key:
        part_contact(dim, n, stride, x, told.touching[p[0]], data, log)
        p[0] += 1
    was = p[0] < told.count and told.touching[p[0]] == key
    p[0] += was
    found = met_at(told, k)
    if found != NULL:
        visit(
            log, told, dim, found, True, was,
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
    cdef real way[MAX_DIM]
    cdef real one = 1
    cdef Contact still
    cdef real n_c
    cdef int c
    if contact_touches(dim, n, stride, x, key, data):
        keep_touching(log, data.grid.told, key)
        return
    unmet(&still, key, log.h)
    if j >= 0:
        place_pair(dim, stride, x, i, j, &data.grid, &still)
    elif -1 - j >= data.faces:
        for c in range(dim):
            y[c] = x[c * stride + i]
        away_from(dim, y, -1 - j - data.faces, data, way)
        for c in range(dim):
            still.point[c] = y[c] - (<const real*> data.grid.radius)[i] * way[c]
            still.normal[c] = -one * way[c]
    else:
        normal = <const real*> data.normal + (-1 - j) * dim
        for c in range(dim):
            n_c = -one * normal[c]
            still.point[c] = x[c * stride + i] + (<const real*> data.grid.radius)[i] * n_c
            still.normal[c] = n_c
    visit(log, data.grid.told, dim, &still, False, True, False)


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
    depth = beyond(
        dim, stride, x, i, <const real*> data.normal + (-1 - j) * dim, (<const real*> data.offset)[-1 - j], r, &large,
    )
    return depth >= -(r / share + slack(r) * large)


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
    if not shapes.enabled[number - data.shape_begin[part]]:
        return False
    return away_from(dim, y, number, data, n) <= reach + reach / share + slack(reach) * large
