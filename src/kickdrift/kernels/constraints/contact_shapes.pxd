# Shapes that bodies rest on: the formulas of kickdrift/reference/constraints/contact_shapes.py.

from libc.stdint cimport int32_t, int64_t

from .motion cimport displacement_of, fit_level, is_moving, lay, move_along, spin_of, surface_velocity
from .contact_state cimport (
    ACROSS, TIME_SINCE, ALONG, FAST, FASTEST, FIRST_WEIGHT, FRICTION, KNOWN, LOAD, MASS, MOST, PULL, PUSH, RESTITUTION,
    SHAPE_SPIN, SIZE, SLOW, SPEED, begin_impulse, body, contact, contact_event, relax, surface_of, twist_of,
    write_vector,
)
from .events cimport slack
from .friction cimport run_belt
from .outlines cimport Walk, away, begin_walk, next_in_box, passes, touch
from .walls cimport each
from ..abi.constraints cimport CONTACT_EVENT, SHAPES_PER_BODY, Contacts, Shapes
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude, root
from ..simd.vec cimport real


cdef inline int64_t part_of(int64_t number, const Contacts* data) noexcept nogil:
    """Index of the Shapes struct that contains a shape."""
    return data.part[number]


cdef inline real away_from(int dim, const real* y, int64_t number, const Contacts* data, real* n) noexcept nogil:
    """Signed distance of y from a shape; n: unit vector away from it."""
    cdef int64_t part = part_of(number, data)
    return away(dim, y, number - data.shape_begin[part], &data.shapes[part], n)


cdef inline real reach_of(int64_t i, int64_t number, const Contacts* data, real like) noexcept nogil:
    return each(&data.shapes[part_of(number, data)].reach, i, like)


# Search for near shapes.

cdef inline int near_shapes(
    int dim, int64_t i, const real* start, const real* end, bint free, bint alive, int64_t known, const Contacts* data,
    int64_t* number, bint* reports,
) noexcept nogil:
    """Find the shapes that a body may touch in a step, the SHAPES_PER_BODY nearest at most; return how many.

    number: shape numbers, ascending; reports: True for shapes for which the body is a sensor. The search is bounded by
    the displacement that the body would have without contacts. free: the body is movable. known: index of the first
    pair of the last step whose first body is i or a later one.
    """
    cdef const Shapes* shapes
    cdef real gap[SHAPES_PER_BODY]
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef real displacement[MAX_DIM]
    cdef real four = 4
    cdef real reach, length, bound, large, apart
    cdef Walk parts, walk
    cdef int64_t part, own, shape
    cdef int through, j, m
    cdef int count = 0
    for j in range(dim):
        displacement[j] = end[j] - start[j]
    length = root(dot(dim, displacement, displacement))
    reach = each(&data.level.reach, i, length)
    bound = reach / four + length + <real> data.level.motion.displacement
    large = reach + bound
    for j in range(dim):
        large = large + magnitude(start[j])
    large = reach + bound + slack(reach) * large
    for j in range(dim):
        low[j] = start[j] - large
        high[j] = start[j] + large
    begin_walk(&parts, &data.level)
    while True:
        part = next_in_box(dim, low, high, &data.level, &parts)
        if part < 0:
            break
        shapes = &data.shapes[part]
        through = 0 if shapes.wall.sensor == NULL else shapes.wall.sensor[i]
        if not (free if through == 0 else through == 1 and alive):
            continue
        reach = each(&shapes.reach, i, length)
        begin_walk(&walk, shapes)
        while True:
            own = next_in_box(dim, low, high, shapes, &walk)
            if own < 0:
                break
            shape = data.shape_begin[part] + own
            if through == 0 and shapes.one_way != NULL and not rested(i, shape, known, data):
                if passes(dim, start, reach, own, shapes):
                    continue
            apart = away(dim, start, own, shapes, displacement) - reach
            bound = reach / four + length
            if is_moving(shapes):
                bound = bound + <real> displacement_of(dim, &shapes.motion, own)
            if apart <= bound:
                count = keep_nearest(count, apart, shape, through == 1, gap, number, reports)
    # Sort by shape number.
    for j in range(1, count):
        m = j
        while m > 0 and number[m - 1] > number[m]:
            shape, number[m], number[m - 1] = number[m], number[m - 1], number[m]
            through, reports[m], reports[m - 1] = reports[m], reports[m - 1], reports[m]
            m -= 1
    return count


cdef inline bint rested(int64_t i, int64_t shape, int64_t known, const Contacts* data) noexcept nogil:
    """True if the body rested on the shape in the last step. known: see `near_shapes`."""
    cdef int place = <int> data.state[0]
    cdef const int32_t* pair = data.pair[place]
    while known < data.state[1 + place] and pair[2 * known] == i:
        if pair[2 * known + 1] == data.n + data.faces + shape:
            return True
        known += 1
    return False


cdef inline int keep_nearest(
    int count, real apart, int64_t shape, bint report, real* gap, int64_t* number, bint* reports,
) noexcept nogil:
    """Insert a shape into the nearest ones, ordered by gap, then number; return their count."""
    cdef int m = count
    if count == SHAPES_PER_BODY:
        m = count - 1
        if gap[m] < apart or (gap[m] == apart and number[m] < shape):
            return count
    else:
        count += 1
    while m > 0 and (apart < gap[m - 1] or (apart == gap[m - 1] and shape < number[m - 1])):
        gap[m], number[m], reports[m] = gap[m - 1], number[m - 1], reports[m - 1]
        m -= 1
    gap[m], number[m], reports[m] = apart, shape, report
    return count


cdef inline bint keep_out(
    int dim, int64_t i, double then, const real* start, real* end, const Contacts* data, real* after,
) noexcept nogil:
    """Stop a fast body where it first touches a shape in a substep; return True if it does.

    after: time of impact as a share of the substep. The body then moves with the shape. then: end of the substep, in s
    after the beginning of the step.
    """
    cdef const Shapes* shapes
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef real straight[MAX_DIM]
    cdef real displacement[MAX_DIM]
    cdef real place[MAX_DIM]
    cdef const real* motion
    cdef real n[MAX_DIM]
    cdef real sixteen = 16
    cdef real sixtyfour = 64
    cdef real two = 2
    cdef real least = two
    cdef real radius = (<const real*> data.grid.radius)[i]
    cdef real square, reach, large, distance, size, share
    cdef Walk parts, walk
    cdef int64_t part, number
    cdef int64_t best = -1
    cdef int j
    for j in range(dim):
        straight[j] = end[j] - start[j]
    square = dot(dim, straight, straight)
    after[0] = least
    if not data.moves and not sixteen * square > radius * radius:
        return False    # too slow to pass a shape in a substep: no reach is less than the radius
    reach = each(&data.level.reach, i, square)
    large = reach
    for j in range(dim):
        large = large + magnitude(start[j]) + magnitude(end[j])
    large = reach + slack(reach) * large + <real> data.level.motion.displacement
    for j in range(dim):
        low[j] = (start[j] if start[j] < end[j] else end[j]) - large
        high[j] = (end[j] if start[j] < end[j] else start[j]) + large
    begin_walk(&parts, &data.level)
    while True:
        part = next_in_box(dim, low, high, &data.level, &parts)
        if part < 0:
            break
        shapes = &data.shapes[part]
        reach = each(&shapes.reach, i, square)
        if shapes.wall.sensor != NULL and shapes.wall.sensor[i] != 0:
            continue
        if not is_moving(shapes) and not sixteen * square > reach * reach:
            continue
        begin_walk(&walk, shapes)
        while True:
            number = next_in_box(dim, low, high, shapes, &walk)
            if number < 0:
                break
            motion = straight
            if is_moving(shapes):
                move_along(dim, &shapes.motion, number, then, shapes.motion.now, end, displacement)
                for j in range(dim):
                    displacement[j] = displacement[j] - start[j]
                motion = displacement
                if not sixteen * dot(dim, displacement, displacement) > reach * reach:
                    continue
            if shapes.one_way != NULL and passes(dim, start, reach, number, shapes):
                continue
            # A body that overlaps the shape already, such as a resting one, is stopped at half the reach.
            distance = away(dim, start, number, shapes, n)
            size = reach - reach / sixtyfour
            size = size if distance >= size else reach / two
            if not (distance >= size and touch(False, dim, start, motion, size, number, shapes, &share)):
                continue
            if share < least or (share == least and data.shape_begin[part] + number < best):
                least, best = share, data.shape_begin[part] + number
                for j in range(dim):
                    place[j] = start[j] + share * motion[j]
                if is_moving(shapes):
                    move_along(dim, &shapes.motion, number, shapes.motion.now, then, place, place)
    after[0] = least
    if least < two:
        for j in range(dim):
            end[j] = place[j]
    return least < two


# Contacts with shapes.

cdef inline void begin_shape(
    int dim, int64_t n, int64_t stride, const real* delta_v, int64_t k, const Contacts* data,
) noexcept nogil:
    """Initialise contact k, which is with a shape."""
    cdef int64_t i = data.one[k]
    cdef int64_t number = data.other[k] - n - data.faces
    cdef int64_t part = part_of(number, data)
    cdef real* own = contact(dim, data, data.place[k], delta_v)
    cdef int64_t w = data.lanes
    cdef real* more = own + 2 * dim * w
    cdef real reach = each(&data.shapes[part].reach, i, delta_v[0])
    cdef real half = reach - (<const real*> data.grid.radius)[i]    # half the thickness of the shape
    cdef real one = 1
    cdef real normal[MAX_DIM]
    cdef real point[MAX_DIM]
    cdef real distance
    cdef int c
    more[FIRST_WEIGHT * w] = (<const real*> data.grid.weight)[i]
    more[SIZE * w] = reach
    more[FASTEST * w] = 2 * (reach + reach)
    more[RESTITUTION * w] = (<const real*> data.restitution)[i]
    more[FRICTION * w] = (<const real*> data.shape_friction)[part * n + i]
    distance = away_from(dim, body(dim, data, i, delta_v) + dim, number, data, normal)
    for c in range(dim):
        own[c * w] = -one * normal[c]
        point[c] = body(dim, data, i, delta_v)[dim + c] - (distance - half) * normal[c]
    if data.surface != NULL:
        move_surface(dim, data.place[k], number, point, normal, data)
    begin_impulse(dim, stride, delta_v, data.place[k], data)


cdef inline void solve_shape_contacts(
    int dim, int64_t stride, const real* delta_v, real given, const Contacts* data,
) noexcept nogil:
    """Update all contacts with shapes. given: number of substeps whose forces are in the velocities."""
    cdef int64_t first = 0
    cdef int64_t last
    while first < data.found[2]:
        last = first + 1
        while last < data.found[2] and data.one[data.shape_contacts[last]] == data.one[data.shape_contacts[first]]:
            last += 1
        solve_shape_contact(dim, stride, <int> (last - first), data.shape_contacts + first, delta_v, given, data)
        first = last


cdef inline void move_surface(
    int dim, int64_t place, int64_t number, const real* point, const real* n, const Contacts* data,
) noexcept nogil:
    """Set the velocity of a shape's surface at a contact, by its belt and its motion, and the angular velocity.

    n: normal of the surface.
    """
    cdef int64_t part = part_of(number, data)
    cdef const Shapes* shapes = &data.shapes[part]
    cdef real* own = surface_of(data, place, n)
    cdef real v[MAX_DIM]
    cdef real moves[MAX_DIM]
    cdef int c
    for c in range(dim):
        v[c] = 0
    if shapes.wall.belt != NULL:
        run_belt(dim, <const real*> shapes.wall.belt, n, v)
    if is_moving(shapes):
        surface_velocity(dim, &shapes.motion, number - data.shape_begin[part], shapes.motion.now, point, moves)
        for c in range(dim):
            v[c] = v[c] + moves[c]
        if data.axes == 1:
            twist_of(data, place, n)[SHAPE_SPIN * data.lanes] = <real> spin_of(
                dim, &shapes.motion, number - data.shape_begin[part],
            )
    for c in range(dim):
        own[c * data.lanes] = v[c]


cdef inline void lay_level(int dim, real h, double time, const Contacts* data) noexcept nogil:
    """Move the shapes, and the planes of contact with them, by a substep of h seconds. time: its end, as in `lay`."""
    cdef int64_t w = data.lanes
    cdef int64_t k, part
    cdef real* own
    cdef real size
    cdef int c
    for k in range(data.found[2]):
        if is_moving(&data.shapes[part_of(shape_at(data.shape_contacts[k], data), data)]):
            own = contact(dim, data, data.place[data.shape_contacts[k]], &h)
            size = surface_of(data, data.place[data.shape_contacts[k]], &h)[0] * own[0]
            for c in range(1, dim):
                size = size + surface_of(data, data.place[data.shape_contacts[k]], &h)[c * w] * own[c * w]
            own[(2 * dim + SIZE) * w] = own[(2 * dim + SIZE) * w] - h * size
    for part in range(data.parts):
        lay(dim, time, &data.shapes[part], &h)
    fit_level(dim, data)


cdef inline int64_t shape_at(int64_t k, const Contacts* data) noexcept nogil:
    """Number of the shape of contact k."""
    return data.other[k] - data.n - data.faces


cdef inline void solve_shape_contact(
    int dim, int64_t stride, int count, const int32_t* group, const real* delta_v, real given, const Contacts* data,
) noexcept nogil:
    """Update one body's contacts with shapes: near shapes are active; where two overlap, only the nearer one."""
    cdef int64_t i = data.one[group[0]]
    cdef const real* u = body(dim, data, i, delta_v)
    cdef const real* y = u + dim
    cdef real gaps[SHAPES_PER_BODY]
    cdef real places[SHAPES_PER_BODY * MAX_DIM]
    cdef bint apart[SHAPES_PER_BODY]
    cdef bint covered[SHAPES_PER_BODY]
    cdef real pull[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef int64_t w = data.lanes
    cdef real* own
    cdef real* more
    cdef real distance, reach, half, share
    cdef real zero = 0
    cdef real one = 1
    cdef real four = 4
    cdef int m, k, c, other
    for m in range(count):
        own = contact(dim, data, data.place[group[m]], delta_v)
        more = own + 2 * dim * w
        distance = away_from(dim, y, shape_at(group[m], data), data, normal)
        reach = reach_of(i, shape_at(group[m], data), data, zero)
        gaps[m] = distance - reach
        apart[m] = gaps[m] > reach / four
        for c in range(dim):
            places[m * dim + c] = y[c] - distance * normal[c]
        if data.surface != NULL:
            half = reach - (<const real*> data.grid.radius)[i]
            for c in range(dim):
                pull[c] = y[c] - (distance - half) * normal[c]
            move_surface(dim, data.place[group[m]], shape_at(group[m], data), pull, normal, data)
        for c in range(dim):
            normal[c] = -one * normal[c]
            pull[c] = zero - y[c]
        write_vector(dim, data, own, normal)
        more[SIZE * w] = dot(dim, pull, normal) - gaps[m]
        if not more[MOST * w] > 0:
            for c in range(dim):
                pull[c] = delta_v[c * stride + i]
            share = dot(dim, pull, normal)
            for c in range(dim):
                pull[c] = u[c]
                if data.surface != NULL:
                    pull[c] = pull[c] - surface_of(data, data.place[group[m]], delta_v)[c * w]
            more[SPEED * w] = dot(dim, pull, normal) - given * (share / <real> data.substeps)
            more[SLOW * w] = magnitude(share)
    for m in range(count):
        covered[m] = False
        if not apart[m]:
            for k in range(count):
                if covers(dim, i, k, m, group, gaps, apart, places, data):
                    covered[m] = True
                    break
    for m in range(count):
        own = contact(dim, data, data.place[group[m]], delta_v)
        more = own + 2 * dim * w
        more[ALONG * w] = more[MASS * w]
        more[ACROSS * w] = more[MASS * w]
        if not more[SPEED * w] > more[SLOW * w]:
            relax(more, w)
        if not (apart[m] or covered[m]):
            continue
        if covered[m]:
            other = -1
            for k in range(count):
                if not covered[k] and covers(dim, i, k, m, group, gaps, apart, places, data):
                    if other < 0 or gaps[k] < gaps[other]:
                        other = k
            if other >= 0:
                hand_over(dim, data.place[group[m]], data.place[group[other]], delta_v, data)
        more[PUSH * w] = zero
        more[LOAD * w] = zero
        more[ALONG * w] = zero
        more[ACROSS * w] = zero
        for c in range(dim):
            own[(dim + c) * w] = zero
        for c in range(<int> data.axes):
            twist_of(data, data.place[group[m]], delta_v)[c * w] = zero


cdef inline bint covers(
    int dim, int64_t i, int k, int m, const int32_t* group, const real* gaps, const bint* apart, const real* places,
    const Contacts* data,
) noexcept nogil:
    """True if the point of shape m closest to the body also lies in the closer shape k."""
    cdef real n[MAX_DIM]
    cdef real sixtyfour = 64
    if apart[k] or not (gaps[k] < gaps[m] or (gaps[k] == gaps[m] and k < m)):
        return False
    return (away_from(dim, places + m * dim, shape_at(group[k], data), data, n)
            <= reach_of(i, shape_at(group[m], data), data, gaps[0]) / sixtyfour)


cdef inline void hand_over(
    int dim, int64_t k, int64_t other, const real* like, const Contacts* data,
) noexcept nogil:
    """Transfer the impulses and the load of one contact to another."""
    cdef real* own = contact(dim, data, k, like)
    cdef int64_t w = data.lanes
    cdef real* more = own + 2 * dim * w
    cdef real* its = contact(dim, data, other, like)
    cdef real* its_more = its + 2 * dim * w
    cdef real* events
    cdef real* other_events
    cdef int c
    if more[MOST * w] > 0 and more[SPEED * w] > its_more[SPEED * w]:
        its_more[SPEED * w] = more[SPEED * w]
        its_more[SLOW * w] = more[SLOW * w]
        its_more[PULL * w] = more[PULL * w]
    its_more[PUSH * w] = its_more[PUSH * w] + more[PUSH * w]
    its_more[LOAD * w] = its_more[LOAD * w] + more[LOAD * w]
    for c in range(dim):
        its[(dim + c) * w] = its[(dim + c) * w] + own[(dim + c) * w]
    for c in range(<int> data.axes):
        twist_of(data, other, like)[c * w] = twist_of(data, other, like)[c * w] + twist_of(data, k, like)[c * w]
    if data.grid.events != NULL and more[MOST * w] > 0 and not its_more[MOST * w] > 0:
        # The other contact continues the recorded one, and gets its impact.
        events = contact_event(dim, data, k, like)
        other_events = contact_event(dim, data, other, like)
        other_events[TIME_SINCE] = events[TIME_SINCE]
        other_events[FAST] = events[FAST]
        other_events[KNOWN] = events[KNOWN]
        for c in range(2 * dim):
            other_events[CONTACT_EVENT + c] = events[CONTACT_EVENT + c]
    its_more[MOST * w] = its_more[PUSH * w] if its_more[PUSH * w] > its_more[MOST * w] else its_more[MOST * w]
    more[MOST * w] = 0
