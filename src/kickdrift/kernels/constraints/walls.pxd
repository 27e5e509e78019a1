# Collisions with planes and boxes, a vector of bodies at a time: kickdrift/reference/constraints/walls.py.
#
# One loop serves all dimensions. It always visits MAX_DIM components and branches on `dim`: loops of variable length
# would keep the vectors in memory instead of registers, which costs more.

from libc.stdint cimport int64_t

from .events cimport key_of, report, senses
from .friction cimport leave_belts, place, friction_vectors
from .impacts cimport arrival, at_least_zero, each, is_constrained
from ..abi.constraints cimport Each, Wall
from ..abi.plan cimport MAX_DIM
from ..simd.masks cimport any_true, equals_zero, greater, greater_equal, select
from ..simd.vec cimport f32vec, filled, lane_of, load_part, product, real, set_lane, spread, vec, vec_root, width

# Structure of arrays of the bodies that a wall constrains; `stride`: numbers per component.
ctypedef struct Bodies:
    int64_t last            # end of the range of bodies
    int64_t stride
    double h
    const void* delta_v        # velocity changes by the forces of the step
    void* x
    void* v
    void* s                 # Verlet's previous positions, or NULL


cdef inline vec numbers_of(const Each* values, int64_t body, const vec* like) noexcept nogil:
    """Load a coefficient of a vector of bodies."""
    if values.body == 0:
        return spread(values.number, 0, like)
    return place(values.number, body, like)[0]


cdef inline vec movable(const Wall* wall, int64_t body, int64_t last, const vec* like) noexcept nogil:
    """Return > 0 in the lanes of bodies that the wall constrains or records; lanes past the last body are 0."""
    cdef int64_t lane
    cdef vec weight
    load_part(&weight, <const char*> place(wall.weight, body, like), last - body)
    if wall.sensor != NULL or wall.only != NULL:
        for lane in range(min(<int64_t> width(like), last - body)):
            set_lane(&weight, lane, is_constrained(wall, lane_of(&weight, lane) > 0, body + lane))
    return weight


cdef inline vec solid(const Wall* wall, int64_t body, vec met) noexcept nogil:
    """Set `met` to 0 in the lanes of sensor bodies: they touch the wall without a response."""
    cdef int64_t lane
    if wall.sensor != NULL:
        for lane in range(width(&met)):
            if lane_of(&met, lane) > 0 and senses(wall.sensor, body + lane):
                set_lane(&met, lane, 0)
    return met


cdef inline void load_bodies(int dim, const Bodies* bodies, int64_t i, vec* y, vec* u, vec* g) noexcept nogil:
    """Load positions, velocities, and delta_v by forces."""
    cdef int j
    for j in range(MAX_DIM):
        if j < dim:
            y[j] = place(bodies.x, j * bodies.stride + i, y)[0]
            u[j] = place(bodies.v, j * bodies.stride + i, y)[0]
            g[j] = place(bodies.delta_v, j * bodies.stride + i, y)[0]


cdef inline void store_bodies(
    int dim, vec these, const Bodies* bodies, int64_t i, const vec* y, const vec* u,
) noexcept nogil:
    """Do `replace` of impacts.pxd in the lanes where `these` > 0."""
    cdef vec h = filled(bodies.h, y)
    cdef vec zero = filled(0, y)
    cdef vec* x
    cdef vec* v
    cdef vec* s
    cdef int j
    for j in range(MAX_DIM):
        if j < dim:
            x = place(bodies.x, j * bodies.stride + i, y)
            v = place(bodies.v, j * bodies.stride + i, y)
            if bodies.s != NULL:
                s = place(bodies.s, j * bodies.stride + i, y)
                s[0] = select(greater(these, zero), s[0] + (y[j] - x[0]) - h * (u[j] - v[0]), s[0])
            x[0] = select(greater(these, zero), y[j], x[0])
            v[0] = select(greater(these, zero), u[j], v[0])


cdef inline bint is_smooth(const Each* friction, const vec* like) noexcept nogil:
    """True if friction is 0 for all bodies."""
    return friction.body == 0 and not any_true(greater(spread(friction.number, 0, like), filled(0, like)))


cdef inline vec will_rest(vec depth, vec speed, vec pull, vec h) noexcept nogil:
    """1 where the impact was certainly not faster than the resting threshold, which saves a square root; 0 elsewhere.

    speed: > 0, an upper bound of the speed at impact, whose square is speed² - 2 pull / h depth, up to some rounding
    errors of speed². A margin of 1/256 below pull² excludes these errors. Squares that may overflow or underflow give
    0.
    """
    cdef vec one = filled(1, &h)
    cdef vec zero = filled(0, &h)
    cdef vec square = speed * speed
    cdef vec bound = pull * (pull + filled(2, &h) / h * depth)
    cdef vec far = select(greater(bound - filled(0.00390625, &h) * bound, square), one, zero)
    far = select(greater(square, filled(8e-28, &h)), far, zero)
    far = select(greater(filled(1e27, &h), bound), far, zero)
    return select(greater_equal(pull, speed), one, far)


cdef inline vec speeds_at_wall(vec depth, vec fast, vec delta_v, vec h) noexcept nogil:
    """Branch-free `speed_at_wall` of impacts.pxd."""
    cdef vec zero = filled(0, &h)
    cdef vec one = filled(1, &h)
    cdef vec lost = filled(2, &h) * delta_v / h * depth
    cdef vec share = select(greater(fast, zero), lost / fast / fast, one)
    share = select(greater(zero, delta_v), fast * fast - lost, one - share)
    share = select(greater(share, zero), share, zero)
    return select(greater(zero, delta_v), one, fast) * vec_root(share)


cdef inline vec at_most_each(vec longest, vec time) noexcept nogil:
    """Branch-free `at_most` of impacts.pxd."""
    cdef vec nearly = longest + longest / filled(1024, &longest)
    cdef vec first = select(greater_equal(nearly, time), longest, filled(0, &longest))
    return select(greater_equal(longest, time), time, first)


cdef inline vec collide_wall(
    vec depth, vec v, vec delta_v, vec part, vec restitution, vec h, vec lag, vec* inside, vec* inwards, vec* time,
) noexcept nogil:
    """Branch-free `collide_wall` of impacts.pxd: > 0 where a body collides; part: > 0 in lanes that may collide."""
    cdef vec zero = filled(0, &h)
    cdef vec one = filled(1, &h)
    cdef vec two = filled(2, &h)
    cdef vec speed = v + lag * delta_v
    cdef vec pull = select(greater(delta_v, zero), delta_v, zero)
    cdef vec touches_at_zero = select(equals_zero(depth), select(greater(speed, zero), one, zero), zero)
    cdef vec met = select(greater(depth, zero), one, touches_at_zero)
    cdef vec fast, at_wall, time_since, back, over, bounces
    cdef vec rests = select(greater(speed, zero), will_rest(depth, speed, pull, h), zero)
    met = select(greater(part, zero), met, zero)
    inside[0], inwards[0] = zero * depth, zero
    time[0] = pressed(h, lag)
    if not any_true(greater(met, rests)):
        return met
    fast = select(greater(zero, speed), -speed, speed)
    over = delta_v / h
    at_wall = speeds_at_wall(depth, fast, delta_v, h)
    time_since = two * depth / (at_wall + fast)
    time_since = at_most_each(h, time_since)
    back = restitution * at_wall
    # Slow impacts do not bounce, nor do impacts whose bounce would end outside of the wall again.
    bounces = select(greater(at_wall, pull), one, zero)
    time[0] = select(greater(speed, zero), select(greater(bounces, zero), time_since, time[0]), zero)
    bounces = select(greater_equal(over * time_since / two, back), zero, bounces)
    bounces = select(greater(speed, zero), bounces, zero)
    inside[0] = select(greater(bounces, zero), (back - over / two * time_since) * time_since, inside[0])
    fast = select(greater(bounces, zero), back - over * time_since, zero)
    fast = select(greater(speed, zero), fast, at_wall)  # bodies that already move inwards get their speed at the wall
    inwards[0] = select(greater(fast, zero), fast + lag * delta_v, zero)
    return met


cdef inline vec pressed(vec h, vec lag) noexcept nogil:
    return h * (filled(1, &h) / filled(2, &h) + lag)


cdef inline bint any_outside(vec q, vec low, vec high) noexcept nogil:
    return any_true(greater_equal(low, q) | greater_equal(q, high))


cdef inline void plane(
    int dim, const Wall* wall, const Bodies* bodies, int64_t i, const vec* like,
) noexcept nogil:
    cdef vec offset = spread(wall.offset, 0, like)
    cdef vec size = offset + numbers_of(&wall.radius, i, like)
    cdef bint per_body = wall.radius.body != 0
    cdef vec normal[MAX_DIM]
    cdef vec height = size
    cdef int j
    for j in range(MAX_DIM):
        normal[j] = spread(wall.normal, j if j < dim else 0, like)
    while True:
        # Skip vectors of bodies that are clear of the plane, with as few operations as possible for each.
        while i < bodies.last:
            if per_body:
                size = offset + numbers_of(&wall.radius, i, like)
            height = normal[0] * place(bodies.x, i, like)[0]
            if dim > 1:
                height = height + normal[1] * place(bodies.x, bodies.stride + i, like)[0]
            if dim > 2:
                height = height + normal[2] * place(bodies.x, 2 * bodies.stride + i, like)[0]
            if any_true(greater_equal(size, height)):
                break
            i += width(like)
        if i >= bodies.last:
            break
        collide_with_plane(dim, size - height, normal, wall, bodies, i)
        i += width(like)


cdef inline void collide_with_plane(
    int dim, vec depth, const vec* normal, const Wall* wall, const Bodies* bodies, int64_t i,
) noexcept nogil:
    cdef vec zero = filled(0, normal)
    cdef vec y[MAX_DIM]
    cdef vec u[MAX_DIM]
    cdef vec g[MAX_DIM]
    cdef vec lost[MAX_DIM]
    cdef vec across, pull, inside, inwards, time, met, mu, impulse, slides
    cdef int j
    load_bodies(dim, bodies, i, y, u, g)
    across, pull = product(dim, normal, u), product(dim, normal, g)
    met = collide_wall(
        depth, -across, -pull, movable(wall, i, bodies.last, normal), numbers_of(&wall.restitution, i, normal),
        filled(bodies.h, normal), filled(wall.lag, normal), &inside, &inwards, &time,
    )
    if not any_true(greater(met, zero)):
        return
    impulse = inwards - across
    if wall.events != NULL:
        if vec is f32vec:
            report_planes[float](
                width(normal), dim, i, <float> bodies.h, <const float*> &met, <const float*> &depth,
                <const float*> &across, <const float*> &pull, <const float*> y, <const float*> u,
                <const float*> &impulse, wall,
            )
        else:
            report_planes[double](
                width(normal), dim, i, bodies.h, <const double*> &met, <const double*> &depth,
                <const double*> &across, <const double*> &pull, <const double*> y, <const double*> u,
                <const double*> &impulse, wall,
            )
    met = solid(wall, i, met)
    for j in range(MAX_DIM):
        if j < dim:
            y[j] = y[j] + (depth + inside) * normal[j]
            u[j] = u[j] - across * normal[j]
            lost[j] = u[j]
    if not is_smooth(&wall.friction, normal):
        mu = numbers_of(&wall.friction, i, normal)
        slides = select(greater(mu, zero), select(greater(impulse, zero), met, zero), zero)
        leave_belts(dim, wall.belt, normal, lost)
        friction_vectors(
            dim, &wall.spin, i, numbers_of(&wall.radius, i, normal), place(wall.weight, i, normal)[0], normal, lost,
            mu * impulse, slides,
        )
        for j in range(MAX_DIM):
            if j < dim:
                u[j] = select(greater(slides, zero), u[j] - lost[j], u[j])
                y[j] = select(greater(slides, zero), y[j] - time * lost[j], y[j])
    for j in range(MAX_DIM):
        if j < dim:
            u[j] = u[j] + inwards * normal[j]
    store_bodies(dim, met, bodies, i, y, u)


cdef inline void box(
    int dim, int sides, const Wall* wall, const Bodies* bodies, int64_t i, const vec* like,
) noexcept nogil:
    cdef bint per_body = wall.radius.body != 0
    cdef bint inner
    cdef vec low[MAX_DIM]
    cdef vec high[MAX_DIM]
    bounds_of(dim, wall, i, low, high)
    while i < bodies.last:
        if per_body:
            bounds_of(dim, wall, i, low, high)
        inner = not any_outside(place(bodies.x, i, like)[0], low[0], high[0])
        if dim > 1:
            inner = inner and not any_outside(place(bodies.x, bodies.stride + i, like)[0], low[1], high[1])
        if dim > 2:
            inner = inner and not any_outside(place(bodies.x, 2 * bodies.stride + i, like)[0], low[2], high[2])
        if not inner:
            collide_with_box(dim, sides, low, high, wall, bodies, i)
        i += width(like)


cdef inline void bounds_of(int dim, const Wall* wall, int64_t i, vec* low, vec* high) noexcept nogil:
    """Bounds within which bodies do not touch the box."""
    cdef vec r = numbers_of(&wall.radius, i, low)
    cdef int j
    for j in range(dim):
        low[j] = spread(wall.lower, j, low) + r
        high[j] = spread(wall.upper, j, low) - r


cdef inline void collide_with_box(
    int dim, int sides, const vec* low, const vec* high, const Wall* wall, const Bodies* bodies, int64_t i,
) noexcept nogil:
    """sides: 2, hidden from compilers, which would unroll the large loop over sides."""
    cdef vec zero = filled(0, low)
    cdef vec one = filled(1, low)
    cdef vec e = numbers_of(&wall.restitution, i, low)
    cdef vec mu = numbers_of(&wall.friction, i, low)
    cdef bint rough = dim > 1 and not is_smooth(&wall.friction, low)
    cdef vec y[MAX_DIM]
    cdef vec u[MAX_DIM]
    cdef vec g[MAX_DIM]
    cdef vec lost[MAX_DIM]
    cdef vec normal[MAX_DIM]
    cdef vec sign, bound, other, there, inside, inwards, time, met, impulse, slides
    cdef vec outside = zero
    cdef int j, k, side
    load_bodies(dim, bodies, i, y, u, g)
    for j in range(dim):
        outside = select(greater(y[j], low[j]), select(greater(high[j], y[j]), outside, one), one)
    outside = select(greater(movable(wall, i, bodies.last, low), zero), outside, zero)
    for j in range(dim):
        for side in range(sides):
            sign = one if side else -one
            bound = high[j] if side else low[j]
            other = low[j] if side else high[j]
            met = collide_wall(
                sign * (y[j] - bound), sign * u[j], sign * g[j], outside, e, filled(bodies.h, low),
                filled(wall.lag, low), &inside, &inwards, &time,
            )
            if not any_true(greater(met, zero)):
                continue
            impulse = sign * u[j] + inwards
            if wall.events != NULL:
                if vec is f32vec:
                    report_boxes[float](
                        width(low), dim, i, 2 * j + side, <float> bodies.h, <const float*> &met,
                        <const float*> &bound, <const float*> y, <const float*> u, <const float*> g,
                        <const float*> &impulse, wall,
                    )
                else:
                    report_boxes[double](
                        width(low), dim, i, 2 * j + side, bodies.h, <const double*> &met, <const double*> &bound,
                        <const double*> y, <const double*> u, <const double*> g, <const double*> &impulse, wall,
                    )
            met = solid(wall, i, met)
            there = bound - sign * inside
            there = select(greater(zero, sign * (there - other)), other, there)
            y[j] = select(greater(met, zero), there, y[j])
            u[j] = select(greater(met, zero), -sign * inwards, u[j])
            if not rough:
                continue
            slides = select(greater(mu, zero), select(greater(impulse, zero), met, zero), zero)
            for k in range(MAX_DIM):
                if k < dim:
                    lost[k] = zero if k == j else u[k]
                    normal[k] = -sign if k == j else zero
            leave_belts(dim, wall.belt, normal, lost)
            friction_vectors(
                dim, &wall.spin, i, numbers_of(&wall.radius, i, low), place(wall.weight, i, low)[0], normal, lost,
                mu * impulse, slides,
            )
            for k in range(MAX_DIM):
                if k < dim and k != j:
                    u[k] = select(greater(slides, zero), u[k] - lost[k], u[k])
                    y[k] = select(greater(slides, zero), y[k] - time * lost[k], y[k])
    store_bodies(dim, outside, bodies, i, y, u)


# Events, body by body: vectors are passed as arrays of lanes.

cdef inline void impact_at_wall(
    real depth, real v, real delta_v, real h, real impulse, int64_t i, const Wall* data, real* time_since, real* fast,
    real* slow, real* given,
) noexcept nogil:
    """Compute the time since impact, approach speed, resting threshold and impulse of a body at a wall."""
    cdef real speed = v + <real> data.lag * delta_v
    time_since[0] = arrival(depth, speed, delta_v, h, h, fast)
    slow[0] = at_least_zero(delta_v)
    given[0] = 0
    if senses(data.sensor, i):
        if depth > 0 and not time_since[0] > 0:
            # a sensor body that touched before the step
            time_since[0], fast[0] = h, 0
    else:
        given[0] = impulse / (<const real*> data.weight)[i]


cdef inline void report_boxes(
    int64_t lanes, int dim, int64_t first, int64_t number, real h, const real* met, const real* bound, const real* y,
    const real* u, const real* g, const real* impulse, const Wall* data,
) noexcept nogil:
    """Record contacts of bodies with a side of a box."""
    cdef real point[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real time_since, fast, slow, given
    cdef real sign = 1 if number % 2 else -1
    cdef int64_t j = number // 2
    cdef int64_t i, lane, at
    cdef int k
    for lane in range(lanes):
        if not met[lane] > 0:
            continue
        i, at = first + lane, j * lanes + lane
        impact_at_wall(
            sign * (y[at] - bound[lane]), sign * u[at], sign * g[at], h, impulse[lane], i, data, &time_since, &fast,
            &slow,
            &given,
        )
        for k in range(dim):
            point[k] = y[k * lanes + lane] - time_since * u[k * lanes + lane]
            normal[k] = 0
        point[j], normal[j] = bound[lane] + sign * each(&data.radius, i, h), sign
        report(
            data.events, i * data.events.slots + number, key_of(i, -1 - number), time_since, time_since, fast, slow,
            given, dim, point,
            normal,
        )


cdef inline void report_planes(
    int64_t lanes, int dim, int64_t first, real h, const real* met, const real* depth, const real* across,
    const real* pull, const real* y, const real* u, const real* impulse, const Wall* data,
) noexcept nogil:
    """Record contacts of bodies with a plane."""
    cdef const real* n = <const real*> data.normal
    cdef real point[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real time_since, fast, slow, given, inner
    cdef real one = 1
    cdef int64_t i, lane
    cdef int j
    for lane in range(lanes):
        if not met[lane] > 0:
            continue
        i = first + lane
        impact_at_wall(
            depth[lane], -across[lane], -pull[lane], h, impulse[lane], i, data, &time_since, &fast, &slow, &given,
        )
        inner = depth[lane] - each(&data.radius, i, h)
        for j in range(dim):
            point[j] = y[j * lanes + lane] + inner * n[j] - time_since * (u[j * lanes + lane] - across[lane] * n[j])
            normal[j] = -one * n[j]
        report(data.events, i, key_of(i, -1), time_since, time_since, fast, slow, given, dim, point, normal)
