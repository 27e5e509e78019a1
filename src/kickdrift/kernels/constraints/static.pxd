# Static constraints, which act on each body alone, are applied tile by tile: walls, shapes and sensors out of reach of
# a tile are skipped.
#
# The extent of a tile has for each lane a bounding box of the active bodies in that lane. The corners of the extent are
# tested like bodies: rounded sums and products are monotonic, so a body inside cannot have another result. Distances
# within rounding errors count as reached.

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from .events cimport slack
from .late_impulses cimport keep_velocities, turn_impulses, turns_impulses
from .motion cimport begin_motion, lay
from ..abi.constraints cimport (
    BOX, CORNERS, MOVING, PERIODIC, PLANE, SENSOR, SHAPES, ConstraintCall, Corners, Each, Periodic, Sensor, Shapes,
    Torus, Wall,
)
from ..abi.coupled cimport Coupling, Workspace
from ..abi.plan cimport MAX_DIM, S, TILE, V, X, Plan
from ..integrators.traits cimport verlet
from ..simd.masks cimport (
    absolute, all_true, any_true, greater, greater_equal, less, mask, maximum, minimum, positive, select,
    select_or_zero,
)
from ..simd.vec cimport f32vec, filled, lane_of, load_part, spread, vec, width
from .friction cimport place

cdef enum:
    HIGH = MAX_DIM      # index of the high corner in an extent, which begins with the low corner
    EXTENT = 2 * MAX_DIM


cdef inline void measure(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, Py_ssize_t plane, const vec* x, vec* extent,
) noexcept nogil:
    """Compute the extent of a tile at x, with `plane` numbers per component. NaNs are ignored."""
    cdef int j
    for j in range(plan.dim):
        extent[j], extent[HIGH + j] = filled(INFINITY, x), filled(-INFINITY, x)
    widen(plan, first, count, plane, x, extent)
    for j in range(plan.dim):
        if any_true(greater(extent[j], extent[HIGH + j])):
            fill_lanes(&extent[j], &extent[HIGH + j])


cdef inline void widen(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, Py_ssize_t plane, const vec* x, vec* extent,
) noexcept nogil:
    """Extend the extent of a tile by the positions x of its active bodies."""
    cdef Py_ssize_t w = width(x)
    cdef Py_ssize_t whole = count // w if plan.slots == NULL else 0    # vectors without inactive lanes
    cdef const char* weight = NULL
    cdef const vec* q
    cdef vec low, high, active
    cdef vec one = filled(1, x)
    cdef Py_ssize_t n
    cdef int j
    if plan.slots != NULL:
        weight = <const char*> plan.slots.weight + first * plan.slots.item
    for j in range(plan.dim):
        q = x + j * (plane // w)
        low, high = extent[j], extent[HIGH + j]
        for n in range(whole):
            low, high = minimum(q[n], low), maximum(q[n], high)
        for n in range(whole, (count + w - 1) // w):
            load_part(&active, <const char*> &one if weight == NULL else weight + n * sizeof(vec), count - n * w)
            low = select(positive(active), minimum(q[n], low), low)
            high = select(positive(active), maximum(q[n], high), high)
        extent[j], extent[HIGH + j] = low, high


cdef inline void fill_lanes(vec* low, vec* high) noexcept nogil:
    """Fill lanes without bodies with the bounds of another lane, if any has bodies."""
    cdef mask empty = greater(low[0], high[0])
    cdef Py_ssize_t lane = 0
    while lane < width(low) and lane_of(low, lane) > lane_of(high, lane):
        lane += 1
    if lane < width(low):
        low[0] = select(empty, spread(low, lane, low), low[0])
        high[0] = select(empty, spread(high, lane, high), high[0])


cdef inline vec greatest(const Each* values, Py_ssize_t first, Py_ssize_t count, const vec* like) noexcept nogil:
    """Return for each lane the largest coefficient of the bodies in that lane; coefficients are >= 0."""
    cdef vec found = filled(0, like)
    cdef Py_ssize_t n
    if values.body == 0:
        return spread(values.number, 0, like)
    for n in range((count + width(like) - 1) // width(like)):
        found = maximum(place(values.number, first + n * width(like), like)[0], found)
    return found


cdef inline bint reaches_face(
    const void* normals, int64_t number, const void* offset, const Each* radius, int dim, Py_ssize_t first,
    Py_ssize_t count, const vec* extent, const vec* like,
) noexcept nogil:
    """True if a tile reaches the plane with this number."""
    cdef vec zero = filled(0, like)
    cdef vec height = zero
    cdef vec normal, part
    cdef int j
    for j in range(dim):
        normal = spread(normals, number * dim + j, like)
        part = normal * select(greater(normal, zero), extent[j], extent[HIGH + j])
        height = height + part if j > 0 else part
    return not all_true(greater(height, spread(offset, number, like) + greatest(radius, first, count, like)), like)


cdef inline bint reaches_corners(
    const Corners* corners, int dim, Py_ssize_t first, Py_ssize_t count, const vec* extent, const vec* like,
) noexcept nogil:
    """True if a tile reaches two planes, or one that may push a body into another: see `acute` in walls.py."""
    cdef const Each* radius
    cdef int64_t face, other
    cdef int found = 0
    for face in range(corners.faces):
        radius = &corners.wall[face].radius
        if reaches_face(corners.normal, face, corners.offset, radius, dim, first, count, extent, like):
            found += 1
            if found == 2:
                return True
            for other in range(corners.faces):
                if is_acute(corners.normal, face, other, dim, like):
                    return True
    return False


cdef inline bint is_acute(const void* normals, int64_t face, int64_t other, int dim, const vec* like) noexcept nogil:
    """True if two planes form an angle below 90 degrees."""
    cdef vec q = filled(0, like)
    cdef vec part
    cdef int j
    for j in range(dim):
        part = spread(normals, face * dim + j, like) * spread(normals, other * dim + j, like)
        q = q + part if j > 0 else part
    return any_true(greater(filled(0, like), q)) and any_true(greater(q, filled(-1, like)))


cdef inline bint reaches_box(
    const Wall* wall, int dim, Py_ssize_t first, Py_ssize_t count, const vec* extent, const vec* like,
) noexcept nogil:
    cdef vec r = greatest(&wall.radius, first, count, like)
    cdef int j
    for j in range(dim):
        if any_true(greater_equal(spread(wall.lower, j, like) + r, extent[j])):
            return True
        if any_true(greater_equal(extent[HIGH + j], spread(wall.upper, j, like) - r)):
            return True
    return False


cdef inline vec slack_of(const vec* like) noexcept nogil:
    """Relative tolerance for rounding errors."""
    if vec is f32vec:
        return filled(2 * slack[float](0), like)
    else:
        return filled(2 * slack[double](0), like)


cdef inline vec size_of(int dim, const vec* extent) noexcept nogil:
    """Return for each lane an upper bound of |x| + |y| + |z| of a body, to which rounding errors are proportional."""
    cdef vec size = filled(0, extent)
    cdef int j
    for j in range(dim):
        size = size + maximum(absolute(extent[j]), absolute(extent[HIGH + j]))
    return size


cdef inline bint reaches_shapes(
    const Shapes* shapes, int dim, Py_ssize_t first, Py_ssize_t count, const vec* swept, const vec* like,
) noexcept nogil:
    """True if a body of a tile may touch a shape in the step; swept: bounding box of the extents before and after."""
    cdef vec margin = greatest(&shapes.reach, first, count, like) + filled(shapes.motion.margin, like)
    cdef vec near = filled(1, like)
    cdef int j
    margin = margin + slack_of(like) * (margin + filled(2, like) * size_of(dim, swept))
    for j in range(dim):
        near = select_or_zero(greater_equal(filled(shapes.bounds[dim + j], like), swept[j] - margin), near)
        near = select_or_zero(greater_equal(swept[HIGH + j] + margin, filled(shapes.bounds[j], like)), near)
    return any_true(positive(near))


cdef inline bint reaches_region(const Sensor* sensor, int dim, const vec* swept, const vec* like) noexcept nogil:
    """True if the swept extent comes near a region. Coordinates so large that squares overflow count as near."""
    cdef vec margin = slack_of(like) * size_of(dim, swept)
    cdef vec near = filled(1, like)
    cdef vec share = filled(0.015625, like)
    cdef vec radius = spread(sensor.upper, 0, like)
    cdef vec low, high
    cdef int j
    if sensor.ball:
        if not all_true(less(size_of(dim, swept), filled(1e8 if vec is f32vec else 1e60, like)), like):
            return True
        margin = margin + radius * share
        for j in range(dim):
            low = absolute(spread(sensor.lower, j, like))
            margin = margin + (swept[HIGH + j] - swept[j]) * share + slack_of(like) * low
    for j in range(dim):
        low, high = spread(sensor.lower, j, like), spread(sensor.upper, 0 if sensor.ball else j, like)
        if sensor.ball:
            low, high = low - radius, low + radius
        near = select(greater(swept[j] - margin, high), filled(0, like), near)
        near = select(greater(low, swept[HIGH + j] + margin), filled(0, like), near)
    return any_true(positive(near))


cdef inline bint leaves_torus(const Torus* torus, int dim, const vec* extent, const vec* like) noexcept nogil:
    cdef int j
    for j in range(dim):
        if lane_of(<const vec*> torus.width, j) > 0 and not (
            all_true(greater_equal(extent[j], spread(torus.lower, j, like)), like)
            and all_true(less(extent[HIGH + j], spread(torus.upper, j, like)), like)
        ):
            return True
    return False


cdef inline bint is_swept(int kind) noexcept nogil:
    """True if `reaches` needs the extent of a tile before the step: these constraints act along the whole path."""
    return kind == SENSOR or kind == SHAPES or kind == MOVING


cdef inline bint reaches(
    const ConstraintCall* constraint, int dim, Py_ssize_t first, Py_ssize_t count, const vec* before,
    const vec* now, const vec* like,
) noexcept nogil:
    """True if a constraint may change a body of a tile, or record an event of one."""
    cdef vec swept[EXTENT]
    cdef int j
    if constraint.kind == PLANE:
        return reaches_face(
            (<const Wall*> constraint.data).normal, 0, (<const Wall*> constraint.data).offset,
            &(<const Wall*> constraint.data).radius, dim, first, count, now, like,
        )
    if constraint.kind == BOX:
        return reaches_box(<const Wall*> constraint.data, dim, first, count, now, like)
    if constraint.kind == PERIODIC:
        return leaves_torus(&(<const Periodic*> constraint.data).torus, dim, now, like)
    if constraint.kind == CORNERS:
        return reaches_corners(<const Corners*> constraint.data, dim, first, count, now, like)
    if constraint.kind == SENSOR and (<const Sensor*> constraint.data).events == NULL:
        return False
    if (constraint.kind == SHAPES or constraint.kind == MOVING) and (<const Shapes*> constraint.data).count == 0:
        return False
    if not is_swept(constraint.kind):
        return True     # other kinds, such as floor friction, act everywhere
    for j in range(dim):
        swept[j], swept[HIGH + j] = minimum(before[j], now[j]), maximum(before[HIGH + j], now[HIGH + j])
    if constraint.kind == SENSOR:
        return reaches_region(<const Sensor*> constraint.data, dim, swept, like)
    return reaches_shapes(<const Shapes*> constraint.data, dim, first, count, swept, like)


cdef inline bint any_swept(const Coupling* coupling, int begin, int end) noexcept nogil:
    """True if any static constraint from `begin` to `end` also needs the extent of a tile before the step."""
    cdef int number
    for number in range(begin, end):
        if is_swept(coupling.constraint[number].kind):
            return True
    return False


cdef inline bint reaches_any(
    const Coupling* coupling, int begin, int end, Py_ssize_t first, Py_ssize_t count, const vec* before,
    const vec* now, const vec* like,
) noexcept nogil:
    """True if a tile reaches any static constraint from `begin` to `end`."""
    cdef int number
    for number in range(begin, end):
        if reaches(&coupling.constraint[number], coupling.plan.dim, first, count, before, now, like):
            return True
    return False


cdef inline void lay_shapes(
    bint begins, const Coupling* coupling, int begin, int end, Py_ssize_t steps, const vec* like,
) noexcept nogil:
    """Move shapes to where they are at the beginning (begins) or the end of the step; at the beginning, also set their
    margin to the motion in `steps` steps, because tiles may step so far at once."""
    cdef int dim = coupling.plan.dim
    cdef double h = coupling.plan.h
    cdef Shapes* shapes
    cdef int number
    for number in range(begin, end):
        if coupling.constraint[number].kind != MOVING:
            continue
        shapes = <Shapes*> coupling.constraint[number].data
        shapes.motion.begun = begins
        if vec is f32vec:
            if begins:
                begin_motion[float](dim, h, shapes, NULL, steps)
            else:
                lay[float](dim, h, shapes, NULL)
        elif begins:
            begin_motion[double](dim, h, shapes, NULL, steps)
        else:
            lay[double](dim, h, shapes, NULL)


cdef inline void constrain_tile(
    const Coupling* coupling, int begin, int end, Py_ssize_t first, Py_ssize_t count, const Workspace* workspace,
    const vec* before, vec* now, const vec* like,
) noexcept nogil:
    """Apply the static constraints from `begin` to `end` to a tile that one of them reaches.

    now: extent of the tile, which is updated between the constraints, but not after the last one.
    """
    cdef const Plan* plan = coupling.plan
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef Py_ssize_t register = workspace.row * item
    cdef Py_ssize_t origin = workspace.first * item         # offset of the first body of the workspace
    cdef Py_ssize_t at = (first - workspace.first) * item
    cdef char* x = workspace.next + X * register - origin
    cdef char* v = workspace.next + V * register - origin
    cdef char* s = workspace.next + S * register - origin if verlet(plan.scheme) else NULL
    cdef const ConstraintCall* constraint
    cdef double free[MAX_DIM * TILE]        # velocities before a constraint whose impulses are turned
    cdef bint moved = False
    cdef int number
    for number in range(begin, end):
        constraint = &coupling.constraint[number]
        if moved:
            measure(plan, first, count, workspace.plane, <const vec*> (workspace.next + X * register + at), now)
            moved = False
        if reaches(constraint, plan.dim, first, count, before, now, like):
            if turns_impulses(constraint, plan):
                keep_velocities(plan.dim, first, count, workspace, <char*> free, TILE, like)
            constraint.function(
                constraint.kind, plan.h, first, first + count, plan.dim, workspace.plane,
                workspace.now + X * register - origin, workspace.delta_v - origin, x, v, s, constraint.data,
                coupling.owner,
            )
            if turns_impulses(constraint, plan):
                turn_impulses(constraint, plan, first, count, workspace, <char*> free, TILE, like)
            moved = True
