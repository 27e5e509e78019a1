# Collisions of bodies with each other: the formulas of kickdrift/reference/constraints/collisions.py.

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from .events cimport is_known_faster, key_of, report, senses
from .friction cimport axes_of, cross_impulse, cross_normal, inverse_inertia, limit_friction
from .impacts cimport arrival, at_least_zero, at_most, bounce, each, replace
from .broad_phase cimport find_pairs, find_displacements
from ..abi.constraints cimport Collisions, ConstraintCall, Wall
from ..simd.vec cimport real
from ..space cimport turn_to_image
from ..abi.plan cimport MAX_DIM
from ..abi.coupled cimport INTERRUPTED
from ..forces.fields cimport dot, magnitude, root

cdef enum:
    ROUNDS = 64             # maximum rounds of continuous collision detection per step
    IMPACTS = 200_000      # pair contacts between two Ctrl-C checks: some milliseconds


# Contact of a pair: time since impact, approach speed, overlap, resting threshold (slow), changes of the approach speed
# by forces (pull) and by the impulse (change), whether there is friction (slides), and the normal from i to j.
ctypedef struct Impact:
    double time_since, speed, depth, pull, slow, change
    bint slides
    double normal[MAX_DIM]


cdef inline int collisions(
    double step, int64_t n, int64_t dim, int64_t stride, const real* before, const real* delta_v, real* x, real* v,
    real* s, const Collisions* data, void* owner,
) noexcept nogil:
    if data.classes == 0:
        return 0
    if dim == 3:
        return collide(3, step, n, stride, before, delta_v, x, v, s, data, owner)
    if dim == 2:
        return collide(2, step, n, stride, before, delta_v, x, v, s, data, owner)
    return collide(1, step, n, stride, before, delta_v, x, v, s, data, owner)


cdef inline int collide(
    int dim, double step, int64_t n, int64_t stride, const real* before, const real* delta_v, real* x, real* v, real* s,
    const Collisions* data, void* owner,
) noexcept nogil:
    cdef real h = <real> step
    cdef int64_t sweep, i, k, pairs, place
    cdef int64_t met = 0
    cdef bint changed = False
    memset(data.moved, 0, n)
    if data.swept:
        if not find_displacements(dim, h, n, stride, x, v, data, owner):
            return INTERRUPTED
    elif not find_pairs(dim, n, stride, x, data, owner):
        return INTERRUPTED
    pairs = list_pairs(n, data)
    if data.swept and not collide_in_time(dim, h, pairs, stride, delta_v, x, v, s, data, owner, &changed):
        return INTERRUPTED
    for sweep in range(data.iterations):
        for k in range(pairs):
            place = k if sweep % 2 == 0 else pairs - 1 - k
            i = data.lower[place]
            place = data.higher[place]
            # Most near pairs do not overlap: skip the call for them.
            if data.sensor == NULL and not overlap_of(dim, stride, i, data.partner[place], x, data) > 0:
                continue
            if collide_pair(sweep == 0, 0, dim, h, stride, i, place, delta_v, x, v, s, data):
                changed = True
            met += 1
            if met > IMPACTS:
                met = 0
                if data.look(owner):
                    return INTERRUPTED
        met += pairs // 4   # testing four pairs takes as long as one contact
        if not changed:
            break
        collide_with_walls(step, n, dim, stride, before, delta_v, x, v, s, data, owner)
        met += n // 8       # solving the walls of eight bodies takes as long as one contact
        memset(data.moved, 0, n)
        changed = False
    return 0


cdef inline void collide_with_walls(
    double step, int64_t n, int dim, int64_t stride, const real* before, const real* delta_v, real* x, real* v, real* s,
    const Collisions* data, void* owner,
) noexcept nogil:
    """Solve the walls again for bodies that collisions have moved, so that stacks are supported within this step. A
    second solve of other bodies could change them by rounding errors.

    step: in double, as in the first solve, because a duration rounded to float32 would put moving shapes elsewhere.
    """
    cdef const ConstraintCall* call
    cdef Wall* wall
    cdef int64_t number
    for number in range(data.walls):
        call = &data.wall[number]
        wall = <Wall*> call.data  # Shapes begin with a Wall
        wall.only = data.moved
        call.function(call.kind, step, 0, n, dim, stride, before, delta_v, x, v, s, call.data, owner)
        wall.only = NULL


cdef inline int64_t list_pairs(int64_t n, const Collisions* data) noexcept nogil:
    """List the lower body and the partner index of each pair, ordered by body; return the number of pairs."""
    cdef int64_t pairs = 0
    cdef int64_t i, place
    for i in range(n):
        for place in range(data.begin[i], data.begin[i] + data.count[i]):
            data.lower[pairs] = <int32_t> i
            data.higher[pairs] = <int32_t> place
            pairs += 1
    return pairs


cdef inline real overlap_of(
    int dim, int64_t stride, int64_t i, int64_t j, const real* x, const Collisions* data,
) noexcept nogil:
    """Squared sum of radii minus squared distance: > 0 if two bodies overlap."""
    cdef const real* radius = <const real*> data.radius
    cdef real size = radius[i] + radius[j]
    cdef real d[MAX_DIM]
    cdef int c
    for c in range(dim):
        d[c] = x[c * stride + j] - x[c * stride + i]
    turn_to_image(dim, d, &data.torus)
    return size * size - dot(dim, d, d)


cdef inline bint collide_pair(
    bint first, real given, int dim, real h, int64_t stride, int64_t i, int64_t place, const real* delta_v,
    real* x, real* v, real* s, const Collisions* data,
) noexcept nogil:
    """Collide a pair; return False if it has no contact. first: True in the first of the sweeps over all pairs;
    given: seconds since its impact if known, else 0."""
    cdef int64_t j = data.partner[place]
    cdef const real* radius = <const real*> data.radius
    cdef const real* weight = <const real*> data.weight
    cdef real d[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real g[MAX_DIM]
    cdef real f[MAX_DIM]
    cdef real y[MAX_DIM]
    cdef real w[MAX_DIM]
    cdef real spin[MAX_DIM]
    cdef real lost[MAX_DIM]
    cdef real zero = 0
    cdef real size = radius[i] + radius[j]
    cdef real overlap, share, e
    cdef real ends = 1      # share of the slip velocity whose removal by friction stops the slip
    cdef real mu = 0
    cdef Impact met
    cdef int c
    if senses(data.sensor, i) or senses(data.sensor, j):
        if first and data.events != NULL:
            report_sensor(dim, h, stride, i, j, place, NULL, x, v, data)
        return False
    for c in range(dim):
        d[c] = x[c * stride + j] - x[c * stride + i]
    turn_to_image(dim, d, &data.torus)
    overlap = size * size - dot(dim, d, d)
    if not (overlap > 0 or given > 0) or not weight[i] + weight[j] > 0:
        return False
    for c in range(dim):
        u[c] = v[c * stride + j] - v[c * stride + i]
        f[c] = delta_v[c * stride + i]
        g[c] = delta_v[c * stride + j]
        if not weight[i] > 0:
            f[c] = zero * f[c]
        if not weight[j] > 0:
            g[c] = zero * g[c]
    e = each(&data.restitution, i, h)
    share = each(&data.restitution, j, h)
    e = e if e > share else share
    if data.friction.number != NULL:
        mu = root(each(&data.friction, i, h) * each(&data.friction, j, h))
    first = first and not data.swept
    if data.spin.w != NULL:
        ends = add_spins(dim, i, j, data, spin)
    if not resolve_pair(
        dim, d, u, size, overlap, f, g, e, mu, h, <real> data.lag, first, given, <int> ((j - i - 1) % dim),
        spin if data.spin.w != NULL else NULL, ends, lost, &met,
    ):
        return False
    if data.spin.w != NULL and met.slides:
        rotate_pair(dim, i, j, &met, lost, data)
    if data.events != NULL:
        report_collision(dim, h, stride, i, j, place, x, v, &met, data)
    share = weight[i] / (weight[i] + weight[j])
    for c in range(dim):
        y[c] = x[c * stride + i] - share * d[c]
        w[c] = v[c * stride + i] - share * u[c]
    replace(dim, h, stride, i, y, w, x, v, s)
    share = weight[j] / (weight[i] + weight[j])
    for c in range(dim):
        y[c] = x[c * stride + j] + share * d[c]
        w[c] = v[c * stride + j] + share * u[c]
    replace(dim, h, stride, j, y, w, x, v, s)
    data.moved[i] = data.moved[j] = True
    return True


cdef inline bint resolve_pair(
    int dim, real* d, real* u, real size, real overlap, const real* delta_v_i, const real* delta_v_j, real restitution,
    real friction, real h, real lag, bint first, real given, int axis, const real* spin, real ends, real* lost,
    Impact* met,
) noexcept nogil:
    """Replace the separation d and relative velocity u of a pair by their corrections; return False without contact.

    spin: sum of radius * angular velocity, or NULL; ends: share of the slip whose removal stops it; lost: tangential
    velocity removed by friction, if met.slides.
    """
    cdef real zero = 0
    cdef real one = 1
    cdef real two = 2
    cdef real together = -dot(dim, d, u)
    cdef real time = 0
    cdef real at[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real past[MAX_DIM]
    cdef real surface[MAX_DIM]
    cdef real r, speed, closing, depth, pull, slow, inside, parting, k, e
    cdef int j
    cdef bint touched
    cdef real square = dot(dim, u, u)
    if given > 0:
        time = given
    elif together > 0:
        time = overlap / (root(together * together + square * overlap) + together)
    elif first and square > 0:
        time = (root(together * together + square * overlap) - together) / square
    met.time_since = at_most(h, time)
    touched = met.time_since > 0
    for j in range(dim):
        at[j] = d[j] - time * u[j] if touched else d[j]
    r = root(dot(dim, at, at))
    for j in range(dim):
        n[j] = at[j] / r if r > 0 else (one if j == axis else zero)
    speed = -dot(dim, n, u)
    depth = speed * time if touched else size - r
    if speed <= 0 and not depth > -h * speed:
        return False

    pull = dot(dim, n, delta_v_i)
    slow = dot(dim, n, delta_v_j)
    e = magnitude(pull) + magnitude(slow)
    pull = pull - slow
    slow = at_least_zero(pull) if restitution == one else e
    closing = speed + lag * pull
    bounce(depth, closing, pull, slow, restitution, h, two * h if touched else zero, zero, &inside, &parting, &k)
    if parting > 0:
        parting = parting + lag * pull
    for j in range(dim):
        past[j] = u[j] + speed * n[j]
        u[j] = zero * u[j]
    if not touched and r < size:
        k = r / size
        for j in range(dim):
            u[j] = (k - one) * past[j]
        e = restitution if parting > 0 or restitution == one else zero
        parting = root(parting * parting + e * e * ((one - k * k) * dot(dim, past, past)))
    for j in range(dim):
        d[j] = (depth + inside) * n[j]
    met.slides = friction > 0 and parting + speed > 0
    if met.slides:
        for j in range(dim):
            lost[j] = past[j] + u[j]
        if spin != NULL:
            cross_normal(dim, spin, n, surface)
            for j in range(dim):
                lost[j] = ends * (lost[j] - surface[j])
        limit_friction(dim, lost, friction * (parting + speed))
        for j in range(dim):
            u[j] = u[j] - lost[j]
            if touched:
                d[j] = d[j] - time * lost[j]
    for j in range(dim):
        u[j] = u[j] + (parting + speed) * n[j]
        met.normal[j] = n[j]
    met.speed, met.depth, met.pull, met.slow, met.change = closing, depth, pull, slow, parting + speed
    return True


cdef inline real add_spins(int dim, int64_t i, int64_t j, const Collisions* data, real* spin) noexcept nogil:
    """Sum radius * angular velocity of a pair; return the share of a slip whose removal stops it."""
    cdef const real* radius = <const real*> data.radius
    cdef const real* weight = <const real*> data.weight
    cdef const real* w = <const real*> data.spin.w
    cdef real total = weight[i] + weight[j]
    cdef real turn_i = radius[i] * inverse_inertia(&data.spin, i, total)
    cdef real turn_j = radius[j] * inverse_inertia(&data.spin, j, total)
    cdef int c
    for c in range(axes_of(dim)):
        spin[c] = radius[i] * w[c * data.spin.stride + i] + radius[j] * w[c * data.spin.stride + j]
    return total / (total + (radius[i] * turn_i + radius[j] * turn_j))


cdef inline void rotate_pair(
    int dim, int64_t i, int64_t j, const Impact* met, const real* lost, const Collisions* data,
) noexcept nogil:
    """Change the spin of two bodies by friction; lost: tangential velocity that friction removes."""
    cdef const real* radius = <const real*> data.radius
    cdef const real* weight = <const real*> data.weight
    cdef real* w = <real*> data.spin.w
    cdef real total = weight[i] + weight[j]
    cdef real turn_i = radius[i] * inverse_inertia(&data.spin, i, total) / total
    cdef real turn_j = radius[j] * inverse_inertia(&data.spin, j, total) / total
    cdef real n[MAX_DIM]
    cdef real twist[MAX_DIM]
    cdef int c
    for c in range(dim):
        n[c] = <real> met.normal[c]
    cross_impulse(dim, n, lost, twist)
    for c in range(axes_of(dim)):
        w[c * data.spin.stride + i] = w[c * data.spin.stride + i] + turn_i * twist[c]
        w[c * data.spin.stride + j] = w[c * data.spin.stride + j] + turn_j * twist[c]


cdef inline bint collide_in_time(
    int dim, real h, int64_t pairs, int64_t stride, const real* delta_v, real* x, real* v, real* s,
    const Collisions* data, void* owner, bint* changed,
) noexcept nogil:
    """Resolve impacts in order of time, recomputing times after each round; return False if interrupted."""
    cdef real* since = <real*> data.since
    cdef real* earliest = <real*> data.earliest
    cdef real* times = <real*> data.time
    cdef int64_t i, j, k, place
    cdef int64_t met = 0
    cdef int _round
    cdef bint ready
    for k in range(pairs):
        i, j = data.lower[k], data.partner[data.higher[k]]
        since[i] = since[j] = h
        data.last[i] = data.last[j] = -1
    for _round in range(ROUNDS):
        ready = False
        for k in range(pairs):
            i, j = data.lower[k], data.partner[data.higher[k]]
            earliest[i] = earliest[j] = 0
            data.which[i] = data.which[j] = -1
        for k in range(pairs):
            i, place = data.lower[k], data.higher[k]
            j = data.partner[place]
            times[place] = time_of_touch(dim, stride, i, j, x, v, data)
            if not times[place] > 0:
                continue
            if times[place] > earliest[i]:
                earliest[i], data.which[i] = times[place], place
            if times[place] > earliest[j]:
                earliest[j], data.which[j] = times[place], place
        met += pairs
        for k in range(pairs):
            i, place = data.lower[k], data.higher[k]
            j = data.partner[place]
            if data.which[i] != place or data.which[j] != place:
                continue
            if collide_pair(False, times[place], dim, h, stride, i, place, delta_v, x, v, s, data):
                changed[0] = True
            since[i] = since[j] = times[place]
            data.last[i], data.last[j] = <int32_t> j, <int32_t> i
            ready = True
        if not ready:
            break
        if met > IMPACTS:
            met = 0
            if data.look(owner):
                return False
    return True


cdef inline real time_of_touch(
    int dim, int64_t stride, int64_t i, int64_t j, const real* x, const real* v, const Collisions* data,
) noexcept nogil:
    """Time since the impact of two bodies on straight paths, in s; 0: none."""
    cdef const real* radius = <const real*> data.radius
    cdef const real* weight = <const real*> data.weight
    cdef const real* since = <const real*> data.since
    cdef real size = radius[i] + radius[j]
    cdef real d[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real overlap, together, square, under_root, time
    cdef int c
    if senses(data.sensor, i) or senses(data.sensor, j) or not weight[i] + weight[j] > 0:
        return 0
    if data.last[i] == j and data.last[j] == i:
        return 0
    for c in range(dim):
        d[c] = x[c * stride + j] - x[c * stride + i]
        u[c] = v[c * stride + j] - v[c * stride + i]
    turn_to_image(dim, d, &data.torus)
    overlap = size * size - dot(dim, d, d)
    together, square = -dot(dim, d, u), dot(dim, u, u)
    under_root = together * together + square * overlap
    if not square > 0 or not under_root >= 0:
        return 0
    time = (root(under_root) - together) / square
    return time if time > 0 and time <= since[i] and time <= since[j] else <real> 0


cdef inline void report_collision(
    int dim, real h, int64_t stride, int64_t i, int64_t j, int64_t place, const real* x, const real* v,
    const Impact* met, const Collisions* data,
) noexcept nogil:
    """Record the contact of a pair."""
    cdef const real* weight = <const real*> data.weight
    cdef real point[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real fast
    cdef real time_since = <real> met.time_since
    cdef real impulse = <real> met.change / (weight[i] + weight[j])
    cdef int c
    if met.pull >= 0 and is_known_faster(data.events, place, met.speed, met.depth, impulse):
        return
    arrival(<real> met.depth, <real> met.speed, <real> met.pull, h, time_since, &fast)
    for c in range(dim):
        normal[c] = <real> met.normal[c]
        point[c] = x[c * stride + i] - time_since * v[c * stride + i] + (<const real*> data.radius)[i] * normal[c]
    report(
        data.events, place, key_of(i, j), time_since, time_since, fast, met.slow, impulse, dim, point, normal,
    )


cdef inline void report_sensor(
    int dim, real h, int64_t stride, int64_t i, int64_t j, int64_t place, const real* before, const real* x,
    const real* v, const Collisions* data,
) noexcept nogil:
    """Record a contact with a sensor, on straight paths. Pairs that touched before the step get speed 0.

    Paths follow the velocities v, or if v is NULL, start at the positions before the step.
    """
    cdef const real* radius = <const real*> data.radius
    cdef real size = radius[i] + radius[j]
    cdef real point[MAX_DIM]
    cdef real y[MAX_DIM]
    cdef real w[MAX_DIM]
    cdef real d[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real overlap, together, square, under_root, time_since, left, r
    cdef real speed = 0
    cdef real zero = 0
    cdef real one = 1
    cdef int c
    for c in range(dim):
        y[c] = x[c * stride + i]
        d[c] = x[c * stride + j] - y[c]
        w[c] = v[c * stride + i] if v != NULL else (y[c] - before[c * stride + i]) / h
        u[c] = (v[c * stride + j] if v != NULL else (x[c * stride + j] - before[c * stride + j]) / h) - w[c]
    turn_to_image(dim, d, &data.torus)
    overlap = size * size - dot(dim, d, d)
    together, square = -dot(dim, d, u), dot(dim, u, u)
    under_root = together * together + square * overlap
    if square > 0 and under_root >= 0:
        under_root = root(under_root)
        time_since = (under_root - together) / square
        left = (zero - under_root - together) / square
    elif not square > 0 and overlap > 0:
        time_since = h + h
        left = zero
    else:
        return
    left = left if left > 0 else zero
    if time_since > 0 and time_since <= h:
        for c in range(dim):
            d[c] = one / size * (d[c] - time_since * u[c])
        speed = -dot(dim, d, u)
    elif time_since > h and left < h:
        time_since = h
        for c in range(dim):
            d[c] = d[c] - time_since * u[c]
        r = root(dot(dim, d, d))
        for c in range(dim):
            d[c] = d[c] / r if r > 0 else zero * d[c]
    else:
        return
    for c in range(dim):
        point[c] = y[c] - time_since * w[c] + radius[i] * d[c]
    report(data.events, place, key_of(i, j), time_since, left, speed, 0, 0, dim, point, d)
