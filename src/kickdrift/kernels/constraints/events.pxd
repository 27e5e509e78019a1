# Turns contacts into events: the rules of kickdrift/reference/events.py. A constraint calls `report` for each contact.
# After all constraints, `report_pairs`, `report_walls`, ... visit the contacts in the order of their keys.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from ..abi.constraints cimport Collisions, Each, Sensor, Wall
from ..abi.events cimport BEGIN, BREAK, END, ENTER, EVENT_NUMBERS, HIT, LEAVE, Contact, Log, EventSource
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude, root, rounding
from ..simd.vec cimport real
from ..space cimport toward
from .grid cimport collide_by_filter


cdef inline int64_t key_of(int64_t a, int64_t b) noexcept nogil:
    """Key of a body and its partner: another body, or -1 - number of a wall or shape."""
    return (a << 32) + b + (<int64_t> 1 << 31)


cdef inline int64_t other_of(int64_t key) noexcept nogil:
    """Partner in a key: another body, or -1 - number of a wall or shape."""
    return <int64_t> (<uint32_t> key) - (<int64_t> 1 << 31)


cdef inline void report(
    EventSource* events, int64_t place, int64_t key, double time_since, double left, double speed, double slow,
    double impulse, int dim, const real* point, const real* normal,
) noexcept nogil:
    """Record a contact; normal: from a to b. If a pair has several contacts in a step, the fastest is kept, with the
    sum of all impulses."""
    cdef Contact* contact
    cdef int c
    if events.mark[place] > 0:
        contact = &events.contact[events.mark[place] - 1]
        impulse = contact.impulse + impulse
        if not speed > contact.speed:
            contact.impulse = impulse
            return
    else:
        contact = &events.contact[events.contacts]
        events.contacts += 1
        events.mark[place] = <int32_t> events.contacts
    contact.key, contact.time_since, contact.left = key, time_since, left
    contact.speed, contact.slow, contact.impulse = speed, slow, impulse
    for c in range(dim):
        contact.point[c] = point[c]
        contact.normal[c] = normal[c]


cdef inline bint senses(const unsigned char* sensor, int64_t i) noexcept nogil:
    """True if a body is a sensor for a constraint: it records events without impulses."""
    return sensor != NULL and sensor[i] == 1


cdef inline bint passes(const unsigned char* sensor, int64_t i) noexcept nogil:
    """True if a body passes through a constraint without events."""
    return sensor != NULL and sensor[i] == 2


cdef inline bint is_known_faster(
    EventSource* events, int64_t place, double speed, double depth, double impulse,
) noexcept nogil:
    """If a contact at least as fast is recorded already, add the impulse to it and return True."""
    cdef Contact* contact
    if events.mark[place] == 0 or not depth >= 0:
        return False
    contact = &events.contact[events.mark[place] - 1]
    if not speed <= contact.speed:
        return False
    contact.impulse = contact.impulse + impulse
    return True


cdef inline bint is_active(const Log* log, int64_t key) noexcept nogil:
    """True if the bodies of a pair are active: killed ones touch nothing."""
    return log.alive == NULL or (log.alive[key >> 32] and (other_of(key) < 0 or log.alive[other_of(key)]))


# Events.

cdef inline void add_event(
    Log* log, const EventSource* events, int dim, int kind, const Contact* contact, double time_since, bint still,
) noexcept nogil:
    cdef int64_t* row
    cdef double* number
    cdef int64_t slot
    cdef bint active = is_active(log, contact.key)
    # A negative impulse corrects the speed of separating bodies: the event reports 0.
    cdef bint pulls = contact.impulse < 0 and kind != BREAK
    cdef int c
    if log.count == log.capacity:
        log.dropped += 1
        return
    row = log.row + log.count * (EVENT_NUMBERS + 2 * dim)
    log.count += 1
    number = <double*> row
    row[0] = log.tick
    number[1] = log.time - time_since
    row[2] = kind
    row[3] = events.source
    row[6] = contact.key >> 32
    row[7] = other_of(contact.key)
    for c in range(2):
        slot = row[6 + c]
        row[4 + c] = slot
        if slot >= 0:
            row[4 + c] = ((<int64_t> 1 if log.generation == NULL else log.generation[slot]) << 32) | slot
    for c in range(dim):
        number[8 + c] = contact.point[c] if active else 0
        number[8 + dim + c] = contact.normal[c] if active else 0
    number[8 + 2 * dim] = 0 if still else contact.speed
    number[9 + 2 * dim] = 0 if still or pulls else contact.impulse


cdef inline void visit(
    Log* log, EventSource* events, int dim, const Contact* contact, bint met, bint was, bint now,
) noexcept nogil:
    """Add the events of a pair in a step. met: the pair had a contact; was, now: it touched before or after the
    step. A contact without impulse (of a sensor) is a HIT only in its first step."""
    cdef bint again = was and not contact.impulse > 0
    cdef bint fast = contact.speed > log.hits_above and contact.speed > contact.slow
    if met and not events.region and fast and not again:
        add_event(log, events, dim, HIT, contact, contact.time_since, False)
    if (events.region or log.begin) and not was:
        add_event(log, events, dim, ENTER if events.region else BEGIN, contact, contact.time_since, False)
    if (events.region or log.end) and not now:
        add_event(log, events, dim, LEAVE if events.region else END, contact, contact.left, not events.region)
    if now:
        keep_touching(log, events, contact.key)


cdef inline Contact* met_at(EventSource* events, int64_t place) noexcept nogil:
    """Remove and return the contact with this index, or NULL."""
    cdef int32_t number = events.mark[place]
    events.mark[place] = 0
    return &events.contact[number - 1] if number > 0 else NULL


cdef inline void unmet(Contact* contact, int64_t key, double h) noexcept nogil:
    """Fill the data of a pair without contact in this step."""
    contact.key, contact.time_since, contact.left = key, 0, h
    contact.speed = contact.slow = contact.impulse = 0


cdef inline void keep_touching(Log* log, EventSource* events, int64_t key) noexcept nogil:
    """Store the key of a touching pair for the next step; pairs beyond the capacity count as dropped."""
    if events.next_count < events.capacity:
        events.next[events.next_count] = key
        events.next_count += 1
    else:
        log.dropped += 1


cdef inline void finish_events(EventSource* events) noexcept nogil:
    cdef int64_t* place = events.touching
    events.touching, events.count = events.next, events.next_count
    events.next, events.next_count = place, 0
    events.contacts = 0


cdef inline void forget_spawned(EventSource* events, const uint8_t* needs_start) noexcept nogil:
    """Forget touching pairs of slots in which bodies were spawned since the last step: former bodies touched there."""
    cdef int64_t kept = 0
    cdef int64_t k, key
    for k in range(events.count):
        key = events.touching[k]
        if not (needs_start[key >> 32] or (other_of(key) >= 0 and needs_start[other_of(key)])):
            events.touching[kept] = key
            kept += 1
    events.count = kept


cdef inline void forget(EventSource* events) noexcept nogil:
    """Drop the contacts of a step that is not kept."""
    memset(events.mark, 0, events.places * sizeof(int32_t))
    events.contacts = 0


# Contacts between bodies.

cdef inline void report_pairs(
    int dim, int64_t n, int64_t stride, const real* x, const Collisions* data, Log* log,
) noexcept nogil:
    cdef EventSource* events = data.events
    cdef bint tracked = log.begin or log.end
    cdef bint was, now
    cdef int64_t i, k, j, key, place
    cdef int64_t p = 0
    cdef Contact still
    cdef Contact* contact
    if events.contacts == 0 and events.count == 0:
        return
    for i in range(n):
        for k in range(data.count[i]):
            place = data.begin[i] + k
            j = data.partner[place]
            if events.mark[place] == 0 and p == events.count:
                continue
            key = key_of(i, j)
            while p < events.count and events.touching[p] < key:
                part_pair(dim, stride, x, events.touching[p], data, log)
                p += 1
            was = p < events.count and events.touching[p] == key
            p += was
            contact = met_at(events, place)
            if contact == NULL and not was:
                continue
            now = tracked and is_active(log, key) and pair_touches(dim, stride, x, i, j, data)
            if contact != NULL:
                visit(log, events, dim, contact, True, was, now)
            elif now:
                keep_touching(log, events, key)
            else:
                unmet(&still, key, log.h)
                place_pair(dim, stride, x, i, j, data, &still)
                visit(log, events, dim, &still, False, was, now)
    while p < events.count:
        part_pair(dim, stride, x, events.touching[p], data, log)
        p += 1
    finish_events(events)


cdef inline void part_pair(
    int dim, int64_t stride, const real* x, int64_t key, const Collisions* data, Log* log,
) noexcept nogil:
    """End the contact of a pair that is no longer near, unless it still touches."""
    cdef Contact still
    if is_active(log, key) and pair_touches(dim, stride, x, key >> 32, other_of(key), data):
        keep_touching(log, data.events, key)
        return
    unmet(&still, key, log.h)
    place_pair(dim, stride, x, key >> 32, other_of(key), data, &still)
    visit(log, data.events, dim, &still, False, True, False)


cdef inline bint pair_touches(
    int dim, int64_t stride, const real* x, int64_t i, int64_t j, const Collisions* data,
) noexcept nogil:
    cdef real size = (<const real*> data.radius)[i] + (<const real*> data.radius)[j]
    cdef real share = 1024
    cdef real near = size + size / share
    cdef real d = toward(x[j] - x[i], 0, &data.torus)
    cdef real square = d * d
    cdef int c
    for c in range(1, dim):
        d = toward(x[c * stride + j] - x[c * stride + i], c, &data.torus)
        square = square + d * d
    return square <= near * near and collide_by_filter(i, j, data)


cdef inline void place_pair(
    int dim, int64_t stride, const real* x, int64_t i, int64_t j, const Collisions* data, Contact* contact,
) noexcept nogil:
    cdef real d[MAX_DIM]
    cdef real n, r
    cdef real zero = 0
    cdef int c
    for c in range(dim):
        d[c] = toward(x[c * stride + j] - x[c * stride + i], c, &data.torus)
    r = root(dot(dim, d, d))
    for c in range(dim):
        n = d[c] / r if r > 0 else zero * d[c]
        contact.point[c] = x[c * stride + i] + (<const real*> data.radius)[i] * n
        contact.normal[c] = n


# Contacts of bodies with walls.

cdef inline real one_of(const Each* values, int64_t i, real like) noexcept nogil:
    return (<const real*> values.number)[i * values.body]


cdef inline real slack(real like) noexcept nogil:
    """Relative margin of searches in trees and tiles: 4096 rounding errors, far more than `rounding`."""
    if real is float:
        return 0.00048828125
    else:
        return 9.094947017729282e-13


cdef inline void report_walls(
    int dim, int64_t n, int64_t stride, const real* x, bint is_box, const Wall* data, Log* log,
) noexcept nogil:
    cdef EventSource* events = data.events
    cdef bint tracked = log.begin or log.end
    cdef bint was, now
    cdef int64_t i, w, key, place
    cdef int64_t p = 0
    cdef real r, depth, large, share = 1024
    cdef Contact still
    cdef Contact* contact
    if events.contacts == 0 and events.count == 0:
        return
    for i in range(n):
        r = one_of(&data.radius, i, <real> 0)
        for w in range(events.slots - 1, -1, -1):
            place = i * events.slots + w
            if events.mark[place] == 0 and p == events.count:
                continue
            key = key_of(i, -1 - w)
            was = p < events.count and events.touching[p] == key
            p += was
            contact = met_at(events, place)
            if contact == NULL and not was:
                continue
            now = False
            if tracked and is_active(log, key) and not passes(data.sensor, i):
                depth = outside(dim, stride, x, i, w, r, is_box, data, &large)
                now = depth >= -(r / share + rounding(r) * large)
            if contact != NULL:
                visit(log, events, dim, contact, True, was, now)
            elif now:
                keep_touching(log, events, key)
            else:
                unmet(&still, key, log.h)
                place_at_wall(dim, stride, x, i, w, r, is_box, data, &still)
                visit(log, events, dim, &still, False, was, now)
    finish_events(events)


cdef inline real outside(
    int dim, int64_t stride, const real* x, int64_t i, int64_t w, real r, bint is_box, const Wall* data, real* large,
) noexcept nogil:
    """Penetration depth of a body at a wall; large: magnitude of the terms, for its rounding error."""
    cdef real place, sign
    cdef int64_t j
    if is_box:
        j = w // 2
        sign = 1 if w % 2 else -1
        place = (<const real*> (data.upper if w % 2 else data.lower))[j] - sign * r
        large[0] = magnitude(x[j * stride + i]) + magnitude(place)
        return sign * (x[j * stride + i] - place)
    return beyond(dim, stride, x, i, <const real*> data.normal, (<const real*> data.offset)[0], r, large)


cdef inline real beyond(
    int dim, int64_t stride, const real* x, int64_t i, const real* normal, real place, real r, real* large,
) noexcept nogil:
    """Penetration depth of a body at a plane; large: set to the sum of |terms| without r, for the rounding error."""
    cdef real product
    cdef real depth = 0
    cdef int j
    large[0] = magnitude(place)
    for j in range(dim):
        product = normal[j] * x[j * stride + i]
        large[0] = large[0] + magnitude(product)
        depth = depth + product if j > 0 else product
    return place + r - depth


cdef inline void place_at_wall(
    int dim, int64_t stride, const real* x, int64_t i, int64_t w, real r, bint is_box, const Wall* data,
    Contact* contact,
) noexcept nogil:
    cdef real n
    cdef real zero = 0
    cdef real one = 1
    cdef int j
    for j in range(dim):
        if is_box:
            n = zero if j != w // 2 else (one if w % 2 else -one)
        else:
            n = -one * (<const real*> data.normal)[j]
        contact.point[j] = x[j * stride + i] + r * n
        contact.normal[j] = n


# Bodies in regions.

cdef inline bint is_watched(const Sensor* data, int64_t i) noexcept nogil:
    return data.watched[i] and (data.alive == NULL or data.alive[i])


cdef inline int sense(
    real h, int64_t first, int64_t last, int dim, int64_t stride, const real* before, const real* x,
    const Sensor* data,
) noexcept nogil:
    """Record when each body is in the region, on the straight path of the step."""
    cdef const real* low = <const real*> data.lower
    cdef const real* high = <const real*> data.upper
    cdef real start[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real point[MAX_DIM]
    cdef real nothing[MAX_DIM]
    cdef real enters, leaves
    cdef real zero = 0, one = 1
    cdef int64_t i
    cdef int c
    cdef bint found
    if data.events == NULL:
        return 0
    for i in range(first, last):
        if not is_watched(data, i):
            continue
        for c in range(dim):
            start[c] = before[c * stride + i]
            motion[c] = x[c * stride + i] - start[c]
        if data.ball:
            found = through_ball(dim, start, motion, low, high, &enters, &leaves)
        else:
            found = through_box(dim, start, motion, low, high, &enters, &leaves)
        if not found:
            continue
        for c in range(dim):
            point[c] = start[c] + enters * motion[c]
            nothing[c] = zero * motion[c]
        report(
            data.events, i, key_of(i, -1), (one - enters) * h, (one - leaves) * h, root(dot(dim, motion, motion)) / h,
            0, 0, dim, point, nothing,
        )
    return 0


cdef inline bint through_box(
    int dim, const real* x, const real* d, const real* low, const real* high, real* enters, real* leaves,
) noexcept nogil:
    cdef real first, last
    cdef int c
    enters[0], leaves[0] = 0, 1
    for c in range(dim):
        if not (d[c] > 0 or d[c] < 0):
            if not (low[c] <= x[c] and x[c] <= high[c]):
                return False
            continue
        first = ((low[c] if d[c] > 0 else high[c]) - x[c]) / d[c]
        last = ((high[c] if d[c] > 0 else low[c]) - x[c]) / d[c]
        if first > enters[0]:
            enters[0] = first
        if last < leaves[0]:
            leaves[0] = last
    return enters[0] <= leaves[0]


cdef inline bint through_ball(
    int dim, const real* x, const real* motion, const real* center, const real* radius, real* enters, real* leaves,
) noexcept nogil:
    cdef real d[MAX_DIM]
    cdef real square, along, beyond, under_root, first, last
    cdef real zero = 0
    cdef int c
    for c in range(dim):
        d[c] = x[c] - center[c]
    square = dot(dim, motion, motion)
    along = dot(dim, d, motion)
    beyond = dot(dim, d, d) - radius[0] * radius[0]
    enters[0], leaves[0] = 0, 1
    if not square > 0:
        return beyond <= 0
    under_root = along * along - square * beyond
    if not under_root >= 0:
        return False
    under_root = root(under_root)
    first = (zero - along - under_root) / square
    last = (under_root - along) / square
    if first > 0:
        enters[0] = first
    if last < 1:
        leaves[0] = last
    return enters[0] <= leaves[0]


cdef inline void report_region(
    int dim, int64_t n, int64_t stride, const real* x, const Sensor* data, Log* log,
) noexcept nogil:
    cdef EventSource* events = data.events
    cdef const real* low = <const real*> data.lower
    cdef const real* high = <const real*> data.upper
    cdef real d[MAX_DIM]
    cdef Contact still
    cdef Contact* contact
    cdef bint was, now
    cdef int64_t i, key
    cdef int64_t p = 0
    cdef int c
    for i in range(n):
        if events.mark[i] == 0 and p == events.count:
            continue
        key = key_of(i, -1)
        was = p < events.count and events.touching[p] == key
        p += was
        contact = met_at(events, i)
        if contact == NULL and not was:
            continue
        now = is_watched(data, i)
        if now and data.ball:
            for c in range(dim):
                d[c] = x[c * stride + i] - low[c]
            now = dot(dim, d, d) <= high[0] * high[0]
        elif now:
            for c in range(dim):
                now = now and low[c] <= x[c * stride + i] and x[c * stride + i] <= high[c]
        if contact != NULL:
            visit(log, events, dim, contact, True, was, now)
        elif now:
            keep_touching(log, events, key)
        else:
            unmet(&still, key, log.h)
            for c in range(dim):
                still.point[c] = x[c * stride + i]
                still.normal[c] = 0
            visit(log, events, dim, &still, False, was, now)
    finish_events(events)
