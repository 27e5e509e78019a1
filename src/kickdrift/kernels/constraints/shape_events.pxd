# Events of shapes: contacts of a step, and which bodies touch.

from libc.stdint cimport int64_t

from .events cimport (
    finish_events, keep_touching, key_of, met_at, other_of, report, senses, unmet, visit,
)
from .impacts cimport arrival, at_least_zero, each
from .outlines cimport away
from ..abi.constraints cimport Shapes
from ..abi.events cimport Contact, Log, EventSource
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude, rounding
from ..simd.vec cimport real

cdef enum:
    BOUNCES = 8     # maximum number of bounces of a body per step


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
    if tracked and data.enabled[number]:
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
