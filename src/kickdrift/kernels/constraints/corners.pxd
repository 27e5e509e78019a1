# Bodies that touch several walls at once, a vector of bodies at a time: the impulses of all walls are solved together.
# The formulas are those of kickdrift/reference/constraints/walls.py.

from libc.stdint cimport int32_t, int64_t

from .events cimport key_of, report
from .friction cimport friction_vectors, leave_belts, place
from .impacts cimport arrival, at_least_zero, each
from .walls cimport Bodies, at_most_each, load_bodies, numbers_of, pressed, speeds_at_wall, store_bodies
from ..abi.constraints cimport Corners, Wall
from ..abi.events cimport EventSource
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot
from ..simd.masks cimport any_true, equals_zero, greater, greater_equal, mask, positive, select, select_or_zero
from ..simd.vec cimport f32vec, filled, load_part, product, real, set_lane, spread, vec, width

cdef enum:
    SWEEPS = 256    # maximum number of sweeps over the walls of a corner


cdef inline void load_normal(int dim, const Corners* data, int64_t face, vec* normal) noexcept nogil:
    cdef int j
    for j in range(MAX_DIM):
        normal[j] = spread(data.normal, face * dim + (j if j < dim else 0), normal)


cdef inline void corners(int dim, const Corners* data, const Bodies* bodies, int64_t i, const vec* like) noexcept nogil:
    cdef vec zero = filled(0, like)
    cdef vec one = filled(1, like)
    cdef vec x[MAX_DIM]
    cdef vec normal[MAX_DIM]
    cdef vec weight, size, there, count
    cdef int64_t k
    cdef int faces, j
    while i < bodies.last:
        load_part(&weight, <const char*> place(data.weight, i, like), bodies.last - i)
        for j in range(MAX_DIM):
            x[j] = place(bodies.x, (j if j < dim else 0) * bodies.stride + i, like)[0]
        count = zero
        faces = 0       # number of walls that any body of the vector touches
        for k in range(data.faces):
            load_normal(dim, data, k, normal)
            size = spread(data.offset, k, like) + numbers_of(&data.wall[k].radius, i, like)
            there = select_or_zero(greater_equal(size - product(dim, normal, x), zero), weight)
            (<vec*> data.there)[k], (<vec*> data.size)[k] = zero, size
            if not any_true(positive(there)):
                continue
            there = select_or_zero(positive(there), one)
            if data.wall[k].sensor != NULL:
                pass_through(data.wall[k], i, bodies.last, &there)
            (<vec*> data.there)[k] = there
            faces += 1
        if faces > 0:
            faces = list_faces(dim, data, x, i, bodies.last, &count)
        if any_true(greater(count, one)):
            corner_bodies(dim, faces, data, bodies, i, weight, select_or_zero(greater(count, one), one))
        i += width(like)


cdef inline int list_faces(
    int dim, const Corners* data, const vec* x, int64_t i, int64_t last, vec* count,
) noexcept nogil:
    """List the walls that bodies touch, or are pushed into by another wall; return their number.

    `there` and `size` of the workspace contain those of all walls, then those of the listed ones. count: set to the
    number of walls of each body.
    """
    cdef vec* touched = <vec*> data.there
    cdef vec* size = <vec*> data.size
    cdef vec* there = <vec*> data.push
    cdef vec zero = filled(0, x)
    cdef vec one = filled(1, x)
    cdef vec y[MAX_DIM]
    cdef vec normal[MAX_DIM]
    cdef vec other[MAX_DIM]
    cdef vec depth, pushed
    cdef int64_t k, m
    cdef int faces = 0
    cdef int j
    for k in range(data.faces):
        load_normal(dim, data, k, normal)
        pushed = zero
        for m in range(data.faces):
            if not any_true(positive(touched[m])):
                continue
            load_normal(dim, data, m, other)
            if not is_acute(dim, other, normal):
                continue
            depth = size[m] - product(dim, other, x)
            for j in range(MAX_DIM):
                if j < dim:
                    y[j] = x[j] + depth * other[j]
            depth = size[k] - product(dim, normal, y)
            pushed = select(positive(select_or_zero(greater(depth, zero), touched[m])), one, pushed)
        if data.wall[k].sensor != NULL and any_true(positive(pushed)):
            pass_through(data.wall[k], i, last, &pushed)
        there[k] = select(positive(touched[k]), touched[k], pushed)
    count[0] = zero
    for k in range(data.faces):
        if not any_true(positive(there[k])):
            continue
        count[0] = count[0] + there[k]
        data.face[faces] = <int32_t> k
        touched[faces], size[faces] = there[k], size[k]
        faces += 1
    return faces


cdef inline bint is_acute(int dim, const vec* n, const vec* m) noexcept nogil:
    """True if two walls form an angle below 90 degrees."""
    cdef vec q = product(dim, n, m)
    return any_true(greater(filled(0, n), q)) and any_true(greater(q, filled(-1, n)))


cdef inline void pass_through(const Wall* wall, int64_t i, int64_t last, vec* there) noexcept nogil:
    """Set `there` to 0 for the bodies that pass through a wall, sensors included."""
    cdef int64_t lane
    for lane in range(min(<int64_t> width(there), last - i)):
        if wall.sensor[i + lane] != 0:
            set_lane(there, lane, 0)


cdef inline void corner_bodies(
    int dim, int faces, const Corners* data, const Bodies* bodies, int64_t i, vec weight, vec these,
) noexcept nogil:
    """Solve all walls of a vector of bodies; these: > 0 for bodies in a corner; faces: number of walls listed."""
    cdef const vec* there = <const vec*> data.there
    cdef vec lag = filled(data.lag, &weight)
    cdef vec zero = filled(0, &weight)
    cdef vec x[MAX_DIM]
    cdef vec v[MAX_DIM]
    cdef vec y[MAX_DIM]
    cdef vec u[MAX_DIM]
    cdef vec g[MAX_DIM]
    cdef vec normal[MAX_DIM]
    cdef vec other[MAX_DIM]
    cdef vec supported[MAX_DIM]
    cdef vec pull, push, speed, bounces
    cdef int k, m, j
    load_bodies(dim, bodies, i, y, u, g)
    for k in range(faces):
        bounces = numbers_of(&data.wall[data.face[k]].restitution, i, &weight)
        if not any_true(positive(bounces)):
            continue
        bounces = select_or_zero(positive(bounces), there[k])
        load_normal(dim, data, data.face[k], normal)
        speed = -product(dim, normal, g)
        pull = select_or_zero(positive(speed), speed)
        for m in range(faces):
            load_normal(dim, data, data.face[m], other)
            if is_acute(dim, other, normal):
                push = product(dim, other, g)
                for j in range(MAX_DIM):
                    if j < dim:
                        supported[j] = select(greater(zero, push), g[j] - push * other[j], g[j])
                push = -product(dim, normal, supported)
                pull = select(positive(select_or_zero(greater(push, pull), there[m])), push, pull)
        speed = lag * speed - product(dim, normal, u)
        these = select(positive(select_or_zero(greater(speed, pull + pull), bounces)), zero, these)
    if not any_true(positive(these)):
        return
    for j in range(MAX_DIM):
        if j < dim:
            x[j], v[j] = y[j], u[j]
    resolve(dim, faces, these, y, u, data)
    if data.wall[0].events != NULL:
        if vec is f32vec:
            report_corners[float](
                width(&weight), dim, faces, i, <float> bodies.h, <const float*> &these, <const float*> &weight,
                <const float*> x, <const float*> v, <const float*> g, data,
            )
        else:
            report_corners[double](
                width(&weight), dim, faces, i, bodies.h, <const double*> &these, <const double*> &weight,
                <const double*> x, <const double*> v, <const double*> g, data,
            )
    for k in range(faces):
        slide_on_wall(dim, data, bodies, i, k, weight, these, x, v, g, y, u)
    store_bodies(dim, these, bodies, i, y, u)


cdef inline void slide_on_wall(
    int dim, const Corners* data, const Bodies* bodies, int64_t i, int number, vec weight, vec these, const vec* x,
    const vec* v, const vec* g, vec* y, vec* u,
) noexcept nogil:
    """Apply friction with a wall of a corner; x, v: positions and velocities before the corner was solved."""
    cdef int64_t face = data.face[number]
    cdef vec push = (<const vec*> data.push)[number]
    cdef const Wall* wall = data.wall[face]
    cdef vec mu = numbers_of(&wall.friction, i, x)
    cdef vec slides = select_or_zero(positive(these), (<const vec*> data.there)[number])
    cdef vec radius = numbers_of(&wall.radius, i, x)
    cdef vec normal[MAX_DIM]
    cdef vec lost[MAX_DIM]
    cdef vec time, speed
    cdef int j
    slides = select_or_zero(positive(mu), select_or_zero(positive(push), slides))
    if not any_true(positive(slides)):
        return
    load_normal(dim, data, face, normal)
    time = time_of_friction(dim, data, spread(data.offset, face, x) + radius, filled(bodies.h, x), normal, x, v, g)
    speed = product(dim, normal, u)
    for j in range(dim):
        lost[j] = u[j] - speed * normal[j]
    if wall.belt != NULL:
        leave_belts(dim, wall.belt, normal, lost)
    friction_vectors(dim, &wall.spin, i, radius, weight, normal, lost, mu * push, slides)
    for j in range(dim):
        u[j] = select(positive(slides), u[j] - lost[j], u[j])
        y[j] = select(positive(slides), y[j] - time * lost[j], y[j])


cdef inline vec time_of_friction(
    int dim, const Corners* data, vec size, vec h, const vec* normal, const vec* x, const vec* v, const vec* g,
) noexcept nogil:
    """Effective time for which velocity that a corner's wall removes has moved the position: `time` of `bounce`."""
    cdef vec lag = filled(data.lag, x)
    cdef vec delta_v = -product(dim, normal, g)
    cdef vec depth = size - product(dim, normal, x)
    cdef vec speed = lag * delta_v - product(dim, normal, v)
    cdef vec fast = speeds_at_wall(depth, speed, delta_v, h)
    cdef vec time = filled(2, x) * depth / (fast + speed)
    time = at_most_each(h, time)
    fast = select_or_zero(positive(speed), fast)
    return select(greater(fast, select_or_zero(positive(delta_v), delta_v)), time, pressed(h, lag))


cdef inline void resolve(int dim, int faces, vec these, vec* y, vec* u, const Corners* data) noexcept nogil:
    """Move y to the nearest point with dot(normal, y) >= size for all walls of the corner, and u alike, with sizes of
    0.

    Both are solved in one loop, so that their latencies overlap. Store the impulses of u.
    """
    cdef vec* pushes = <vec*> data.push
    cdef vec zero = filled(0, y)
    cdef vec normal[MAX_DIM]
    cdef vec moves = these
    cdef vec turns = these
    cdef vec moved, turned, there
    cdef int _sweep, k
    for k in range(faces):
        pushes[k], pushes[faces + k] = zero * u[0], zero * y[0]
    for _sweep in range(SWEEPS):
        moved = turned = zero
        for k in range(faces):
            there = (<const vec*> data.there)[k]
            load_normal(dim, data, data.face[k], normal)
            push_out(dim, normal, (<const vec*> data.size)[k], there, moves, &pushes[faces + k], y, &moved)
            push_out(dim, normal, zero, there, turns, &pushes[k], u, &turned)
        moves, turns = moved, turned
        if not any_true(positive(moves) | positive(turns)):
            break


cdef inline void push_out(
    int dim, const vec* normal, vec size, vec there, vec these, vec* total, vec* y, vec* changed,
) noexcept nogil:
    """Move y out of one wall, in lanes where `there` and `these` are > 0; changed: 1 where the impulse changes."""
    cdef mask acts = positive(there) & positive(these)
    cdef vec push = total[0] + (size - product(dim, normal, y))
    cdef vec change
    cdef int j
    push = select(positive(push), push, filled(0, y) * push)
    change = push - total[0]
    changed[0] = select(acts, select(equals_zero(change), changed[0], filled(1, y)), changed[0])
    total[0] = select(acts, push, total[0])
    for j in range(MAX_DIM):
        if j < dim:
            y[j] = select(acts, y[j] + change * normal[j], y[j])


# Events, body by body: vectors are passed as arrays of lanes.

cdef inline void report_corners(
    int64_t lanes, int dim, int faces, int64_t first, real h, const real* these, const real* weight, const real* x,
    const real* v, const real* g, const Corners* data,
) noexcept nogil:
    """Record the contacts of bodies in corners with each of their walls."""
    cdef const real* push = <const real*> data.push
    cdef const real* normal
    cdef real was[MAX_DIM]
    cdef real went[MAX_DIM]
    cdef real delta_v[MAX_DIM]
    cdef real radius = 0
    cdef int64_t face, lane
    cdef int k, j
    for lane in range(lanes):
        if not these[lane] > 0:
            continue
        for j in range(dim):
            was[j], went[j], delta_v[j] = x[j * lanes + lane], v[j * lanes + lane], g[j * lanes + lane]
        for k in range(faces):
            if not (<const real*> data.there)[k * lanes + lane] > 0:
                continue
            face = data.face[k]
            normal = <const real*> data.normal + face * dim
            radius = each(&data.wall[face].radius, first + lane, radius)
            report_plane(
                data.wall[face].events, data.number[face], dim, first + lane, normal,
                (<const real*> data.offset)[face] + radius, radius, was, went, delta_v, h, <real> data.lag,
                push[k * lanes + lane], weight[lane],
            )


cdef inline void report_plane(
    EventSource* events, int64_t number, int dim, int64_t i, const real* n, real size, real r, const real* x,
    const real* v,
    const real* g, real h, real lag, real push, real weight,
) noexcept nogil:
    """Record the contact of a body in a corner with one of the walls."""
    cdef real across = dot(dim, n, v)
    cdef real delta_v = dot(dim, n, g)
    cdef real depth = size - dot(dim, n, x)
    cdef real speed = -across - lag * delta_v
    cdef real one = 1
    cdef real point[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real time_since, fast
    cdef int j
    if not (depth > 0 or speed > 0):
        return
    time_since = arrival(at_least_zero(depth), speed, -delta_v, h, h, &fast)
    for j in range(dim):
        point[j] = x[j] + (depth - r) * n[j] - time_since * (v[j] - across * n[j])
        normal[j] = -one * n[j]
    report(
        events, i * events.slots + number, key_of(i, -1 - number), time_since, time_since, fast,
        at_least_zero(-delta_v), push / weight,
        dim, point, normal,
    )
