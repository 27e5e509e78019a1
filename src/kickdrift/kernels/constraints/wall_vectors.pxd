# Walls that hold each body on its own: the formulas of walls.pxd, for a vector of bodies at a time.
#
# Most vectors of bodies are nowhere near a wall: a tile is gone through once for each wall, and what the forces have
# added to velocities is worked out for those alone that meet one. There is one loop for two and three dimensions. It
# asks whether there is a third component: that costs less than arrays in memory.

from libc.math cimport INFINITY

from ..abi.constraints cimport BOX, PLANE, ConstraintCall, Each, Wall
from ..abi.coupled cimport Coupling
from ..abi.plan cimport MAX_DIM, TILE, Plan
from ..abi.registers cimport S, V, X
from ..integrators.traits cimport verlet
from ..simd.masks cimport all_zero, any_true, equals_zero, greater, greater_equal, maximum, minimum, select
from ..simd.vec cimport filled, product, spread, vec, vec_root, width

# What walls work on: vectors of a tile.
ctypedef struct Tile:
    Py_ssize_t first        # body
    Py_ssize_t vectors
    double h
    const void* old         # velocities before the step
    void* x
    void* v
    void* s                 # Verlet's previous positions, or NULL
    void* gain              # what the forces of the step have added to v; or NULL, where that is v - old


cdef inline bint in_vectors(const Coupling* coupling) noexcept nogil:
    """Is there nothing but walls that `hold` can take, and that tell nobody whom they meet?"""
    cdef const ConstraintCall* wall
    cdef int number
    for number in range(coupling.constraints):
        wall = &coupling.constraint[number]
        if wall.kind != BOX and wall.kind != PLANE:
            return False
        if (<const Wall*> wall.data).told != NULL or (<const Wall*> wall.data).sensor != NULL:
            return False
    return coupling.constraints > 0 and coupling.plan.dim > 1


cdef inline bint find_room(const Coupling* coupling, vec* low, vec* high) noexcept nogil:
    """Strictly between which corners nobody meets a wall; False where a normal is oblique, or bodies differ in size."""
    cdef vec one = filled(1, low)
    cdef const Wall* wall
    cdef vec size, side
    cdef int number, j
    for j in range(MAX_DIM):
        low[j], high[j] = filled(-INFINITY, low), filled(INFINITY, low)
    for number in range(coupling.constraints):
        wall = <const Wall*> coupling.constraint[number].data
        if wall.radius.body != 0:
            return False
        size = numbers_of(&wall.radius, 0, low)
        for j in range(coupling.plan.dim):
            if coupling.constraint[number].kind == BOX:
                narrow(spread(wall.lower, j, low) + size, spread(wall.upper, j, low) - size, &low[j], &high[j])
                continue
            side = spread(wall.normal, j, low)
            if all_zero(side - one):
                narrow(spread(wall.offset, 0, low) + size, high[j], &low[j], &high[j])
            elif all_zero(side + one):
                narrow(low[j], -(spread(wall.offset, 0, low) + size), &low[j], &high[j])
            elif not all_zero(side):
                return False
    return True


cdef inline void narrow(vec lower, vec upper, vec* low, vec* high) noexcept nogil:
    low[0] = maximum(lower, low[0])
    high[0] = minimum(upper, high[0])


cdef inline bint leave_room(int dim, Py_ssize_t vectors, const vec* low, const vec* high, const vec* x) noexcept nogil:
    """Is anybody of a tile outside of these corners, or on them?"""
    cdef vec infinite = filled(INFINITY, x)
    cdef vec first, last
    cdef Py_ssize_t n
    cdef int j
    for j in range(dim):
        first, last = infinite, -infinite
        if any_true(greater(low[j], -infinite)):
            for n in range(j * (TILE // width(x)), j * (TILE // width(x)) + vectors):
                first = minimum(x[n], first)
        if any_true(greater(infinite, high[j])):
            for n in range(j * (TILE // width(x)), j * (TILE // width(x)) + vectors):
                last = maximum(x[n], last)
        if any_true(greater_equal(low[j], first)) or any_true(greater_equal(last, high[j])):
            return True
    return False


cdef inline void hold(
    const Coupling* coupling, Py_ssize_t first, Py_ssize_t count, const vec* old, vec* state,
) noexcept nogil:
    """Walls, in their order, after a step of a tile. old: the velocities before it; state: registers of a tile."""
    cdef const Plan* plan = coupling.plan
    cdef Py_ssize_t plane = TILE // width(state)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef double memory[MAX_DIM * TILE]
    cdef vec* gain = <vec*> memory
    cdef const vec* v = state + V * row
    cdef const Wall* wall
    cdef Tile tile
    cdef Py_ssize_t i
    cdef int number, j
    tile.first, tile.vectors, tile.h = first, (count + width(state) - 1) // width(state), plan.h
    tile.old, tile.x, tile.v = old, state + X * row, state + V * row
    tile.s = state + S * row if verlet(plan.scheme) else NULL
    tile.gain = NULL
    if coupling.constraints > 1:    # of which the first ones may change v
        tile.gain = gain
        for j in range(plan.dim):
            for i in range(j * plane, j * plane + tile.vectors):
                gain[i] = v[i] - old[i]
    for number in range(coupling.constraints):
        wall = <const Wall*> coupling.constraint[number].data
        if coupling.constraint[number].kind == BOX:
            hold_in_box(plan.dim, 2, wall, &tile, state)
        else:
            hold_by_plane(plan.dim, wall, &tile, state)


cdef inline vec numbers_of(const Each* values, Py_ssize_t body, const vec* like) noexcept nogil:
    """The numbers of a vector of bodies."""
    if values.body == 0:
        return spread(values.number, 0, like)
    return (<const vec*> (<const char*> values.number + body * <Py_ssize_t> sizeof(vec) // width(like)))[0]


cdef inline vec weight_of(const Wall* wall, Py_ssize_t body, const vec* like) noexcept nogil:
    """0 for those whom nothing moves, and for what lies beyond the last body."""
    return (<const vec*> (<const char*> wall.weight + body * <Py_ssize_t> sizeof(vec) // width(like)))[0]


cdef inline void load_body(int dim, const Tile* tile, Py_ssize_t n, vec* y, vec* u, vec* g) noexcept nogil:
    """Positions, velocities, and what the forces of the step have added to these."""
    cdef Py_ssize_t plane = TILE // width(y)
    cdef const vec* gain = <const vec*> tile.gain
    cdef Py_ssize_t i
    cdef int j
    for j in range(MAX_DIM):
        if j < 2 or dim > 2:
            i = j * plane + n
            y[j] = (<const vec*> tile.x)[i]
            u[j] = (<const vec*> tile.v)[i]
            if gain == NULL:
                g[j] = u[j] - (<const vec*> tile.old)[i]
            else:
                g[j] = gain[i]


cdef inline void replace_where(
    int dim, vec these, const Tile* tile, Py_ssize_t n, const vec* y, const vec* u,
) noexcept nogil:
    """`replace` of walls.pxd, for some numbers of a vector."""
    cdef Py_ssize_t plane = TILE // width(y)
    cdef vec h = filled(tile.h, y)
    cdef vec zero = filled(0, y)
    cdef vec* x
    cdef vec* v
    cdef vec* s
    cdef int j
    for j in range(MAX_DIM):
        if j < 2 or dim > 2:
            x = <vec*> tile.x + (j * plane + n)
            v = <vec*> tile.v + (j * plane + n)
            if tile.s != NULL:
                s = <vec*> tile.s + (j * plane + n)
                s[0] = select(greater(these, zero), s[0] + (y[j] - x[0]) - h * (u[j] - v[0]), s[0])
            x[0] = select(greater(these, zero), y[j], x[0])
            v[0] = select(greater(these, zero), u[j], v[0])


cdef inline vec will_rest(vec depth, vec speed, vec pull, vec h) noexcept nogil:
    """1 where it takes no root to see that a body met the wall no faster than it is pulled, and 0 elsewhere.

    speed: > 0. At the wall it was at most this; and its square was less by 2 pull / h depth, give or take some
    roundings of the square of the speed. What is less than pull squared by far more than that is less when it is
    rounded, too. Squares that may have overflown or lost digits do not count.
    """
    cdef vec one = filled(1, &h)
    cdef vec zero = filled(0, &h)
    cdef vec square = speed * speed
    cdef vec bound = pull * (pull + filled(2, &h) / h * depth)
    cdef vec far = select(greater(bound - filled(0.00390625, &h) * bound, square), one, zero)
    far = select(greater(square, filled(8e-28, &h)), far, zero)
    far = select(greater(filled(1e27, &h), bound), far, zero)
    return select(greater_equal(pull, speed), one, far)


cdef inline vec meet_wall(
    vec depth, vec v, vec gain, vec part, vec restitution, vec h, vec lag, vec* inside, vec* inwards, vec* time,
) noexcept nogil:
    """> 0 where a body meets the wall. Then where it goes on, as `bounce` says."""
    cdef vec zero = filled(0, &h)
    cdef vec one = filled(1, &h)
    cdef vec two = filled(2, &h)
    cdef vec speed = v + lag * gain
    cdef vec pull = select(greater(gain, zero), gain, zero)
    cdef vec met = select(greater(depth, zero) | (equals_zero(depth) & greater(speed, zero)), one, zero)
    cdef vec fast, at_wall, lost, share, ago, back, over, bounces
    cdef vec rests = select(greater(speed, zero), will_rest(depth, speed, pull, h), zero)
    met = select(greater(part, zero), met, zero)
    inside[0], inwards[0] = zero * depth, zero
    time[0] = pressed(h, lag)
    if not any_true(greater(met, rests)):
        return met
    fast = select(greater(zero, speed), -speed, speed)
    over = gain / h
    lost = two * gain / h * depth
    share = select(greater(fast, zero), lost / fast / fast, one)
    share = select(greater(zero, gain), fast * fast - lost, one - share)
    share = select(greater(share, zero), share, zero)
    at_wall = select(greater(zero, gain), one, fast) * vec_root(share)
    ago = two * depth / (at_wall + fast)
    ago = select(greater_equal(h, ago), ago, zero)
    back = restitution * at_wall
    # Not those that meet it slowly, or would be outside again.
    bounces = select(greater(at_wall, pull), one, zero)
    time[0] = select(greater(speed, zero), select(greater(bounces, zero), ago, time[0]), zero)
    bounces = select(greater_equal(over * ago / two, back), zero, bounces)
    bounces = select(greater(speed, zero), bounces, zero)
    inside[0] = select(greater(bounces, zero), (back - over / two * ago) * ago, inside[0])
    fast = select(greater(bounces, zero), back - over * ago, zero)
    fast = select(greater(speed, zero), fast, at_wall)  # those that are on their way back
    inwards[0] = select(greater(fast, zero), fast + lag * gain, zero)
    return met


cdef inline void rub(int count, vec* v, vec limit) noexcept nogil:
    """Replace a velocity along a wall by the part that friction takes away: at most `limit`."""
    cdef vec square = product(count, v, v)
    cdef vec speed, share
    cdef int j
    if all_zero(square):
        return
    speed = vec_root(square)
    share = limit / speed
    for j in range(MAX_DIM):
        if j < count:
            v[j] = select(greater_equal(limit, speed), v[j], share * v[j])


cdef inline vec pressed(vec h, vec lag) noexcept nogil:
    return h * (filled(1, &h) / filled(2, &h) + lag)


cdef inline bint is_smooth(const Each* friction, const vec* like) noexcept nogil:
    """Does nobody rub?"""
    return friction.body == 0 and not any_true(greater(spread(friction.number, 0, like), filled(0, like)))


cdef inline void hold_by_plane(int dim, const Wall* wall, const Tile* tile, const vec* like) noexcept nogil:
    cdef Py_ssize_t plane = TILE // width(like)
    cdef const vec* x = <const vec*> tile.x
    cdef vec place = spread(wall.offset, 0, like)
    cdef bint each = wall.radius.body != 0
    cdef vec size = place + numbers_of(&wall.radius, tile.first, like)
    cdef vec normal[MAX_DIM]
    cdef vec height = size
    cdef Py_ssize_t n = 0
    cdef int j
    for j in range(MAX_DIM):
        normal[j] = spread(wall.normal, j if dim > 2 else j % 2, like)
    while True:
        # The way to the next that meets it, with as little as possible for those that do not.
        while n < tile.vectors:
            if each:
                size = place + numbers_of(&wall.radius, tile.first + n * width(like), like)
            height = normal[0] * x[n] + normal[1] * x[plane + n]
            if dim > 2:
                height = height + normal[2] * x[2 * plane + n]
            if any_true(greater_equal(size, height)):
                break
            n += 1
        if n >= tile.vectors:
            break
        meet_plane(dim, size - height, normal, wall, tile, n)
        n += 1


cdef inline void meet_plane(
    int dim, vec depth, const vec* normal, const Wall* wall, const Tile* tile, Py_ssize_t n,
) noexcept nogil:
    cdef Py_ssize_t body = tile.first + n * width(normal)
    cdef vec h = filled(tile.h, normal)
    cdef vec lag = filled(wall.lag, normal)
    cdef vec zero = filled(0, normal)
    cdef vec one = filled(1, normal)
    cdef vec y[MAX_DIM]
    cdef vec u[MAX_DIM]
    cdef vec g[MAX_DIM]
    cdef vec lost[MAX_DIM]
    cdef vec across, inside, inwards, time, met, mu, impulse, rubs
    cdef int j
    load_body(dim, tile, n, y, u, g)
    across = product(dim, normal, u)
    met = meet_wall(
        depth, -across, -product(dim, normal, g), weight_of(wall, body, normal),
        numbers_of(&wall.restitution, body, normal), h, lag, &inside, &inwards, &time,
    )
    if not any_true(greater(met, zero)):
        return
    for j in range(MAX_DIM):
        if j < 2 or dim > 2:
            y[j] = y[j] + (depth + inside) * normal[j]
            u[j] = u[j] - across * normal[j]
            lost[j] = u[j]
    if not is_smooth(&wall.friction, normal):
        mu = numbers_of(&wall.friction, body, normal)
        impulse = inwards - across
        rubs = select(greater(mu, zero), select(greater(impulse, zero), one, zero), zero)
        rub(dim, lost, mu * impulse)
        for j in range(MAX_DIM):
            if j < 2 or dim > 2:
                u[j] = select(greater(rubs, zero), u[j] - lost[j], u[j])
                y[j] = select(greater(rubs, zero), y[j] - time * lost[j], y[j])
    for j in range(MAX_DIM):
        if j < 2 or dim > 2:
            u[j] = u[j] + inwards * normal[j]
    replace_where(dim, met, tile, n, y, u)


cdef inline void hold_in_box(int dim, int sides, const Wall* wall, const Tile* tile, const vec* like) noexcept nogil:
    cdef Py_ssize_t plane = TILE // width(like)
    cdef const vec* x = <const vec*> tile.x
    cdef bint each = wall.radius.body != 0
    cdef vec r = numbers_of(&wall.radius, tile.first, like)
    cdef vec low[MAX_DIM]
    cdef vec high[MAX_DIM]
    cdef Py_ssize_t n = 0
    cdef int j
    for j in range(dim):
        low[j] = spread(wall.lower, j, like) + r
        high[j] = spread(wall.upper, j, like) - r
    while True:
        while n < tile.vectors:
            if each:
                r = numbers_of(&wall.radius, tile.first + n * width(like), like)
                for j in range(dim):
                    low[j] = spread(wall.lower, j, like) + r
                    high[j] = spread(wall.upper, j, like) - r
            if any_true(greater_equal(low[0], x[n]) | greater_equal(x[n], high[0])):
                break
            if any_true(greater_equal(low[1], x[plane + n]) | greater_equal(x[plane + n], high[1])):
                break
            if dim > 2 and any_true(greater_equal(low[2], x[2 * plane + n]) | greater_equal(x[2 * plane + n], high[2])):
                break
            n += 1
        if n >= tile.vectors:
            break
        meet_box(dim, sides, low, high, wall, tile, n)
        n += 1


cdef inline void meet_box(
    int dim, int sides, const vec* low, const vec* high, const Wall* wall, const Tile* tile, Py_ssize_t n,
) noexcept nogil:
    """sides: 2, which compilers are not to know, as they would write down all that follows for each."""
    cdef Py_ssize_t body = tile.first + n * width(low)
    cdef vec h = filled(tile.h, low)
    cdef vec lag = filled(wall.lag, low)
    cdef vec zero = filled(0, low)
    cdef vec one = filled(1, low)
    cdef vec e = numbers_of(&wall.restitution, body, low)
    cdef vec mu = numbers_of(&wall.friction, body, low)
    cdef bint rough = not is_smooth(&wall.friction, low)
    cdef vec y[MAX_DIM]
    cdef vec u[MAX_DIM]
    cdef vec g[MAX_DIM]
    cdef vec lost[MAX_DIM]
    cdef vec sign, place, other, there, inside, inwards, time, met, impulse, rubs
    cdef vec outside = zero
    cdef int j, k, side
    load_body(dim, tile, n, y, u, g)
    for j in range(dim):
        outside = select(greater(y[j], low[j]), select(greater(high[j], y[j]), outside, one), one)
    outside = select(greater(weight_of(wall, body, low), zero), outside, zero)
    for j in range(dim):
        for side in range(sides):
            sign = one if side else -one
            place = high[j] if side else low[j]
            other = low[j] if side else high[j]
            met = meet_wall(
                sign * (y[j] - place), sign * u[j], sign * g[j], outside, e, h, lag, &inside, &inwards, &time,
            )
            if not any_true(greater(met, zero)):
                continue
            impulse = sign * u[j] + inwards
            there = place - sign * inside
            there = select(greater(zero, sign * (there - other)), other, there)
            y[j] = select(greater(met, zero), there, y[j])
            u[j] = select(greater(met, zero), -sign * inwards, u[j])
            if not rough:
                continue
            k = 0 if j > 0 else 1               # the first of the other components, and after that the last
            lost[0], lost[1] = u[k], u[2 if j < 2 else 1]
            rubs = select(greater(mu, zero), select(greater(impulse, zero), met, zero), zero)
            rub(dim - 1, lost, mu * impulse)
            u[k] = select(greater(rubs, zero), u[k] - lost[0], u[k])
            y[k] = select(greater(rubs, zero), y[k] - time * lost[0], y[k])
            if dim > 2:
                k = 2 if j < 2 else 1
                u[k] = select(greater(rubs, zero), u[k] - lost[1], u[k])
                y[k] = select(greater(rubs, zero), y[k] - time * lost[1], y[k])
    replace_where(dim, outside, tile, n, y, u)
