# Static constraints tile by tile: walls, shapes and sensors out of reach of a tile are skipped.
#
# The extent of a tile is the bounding box of its active bodies. Comparisons are those of
# the constraints themselves, with the corners of the extent: rounded sums and products are monotonic, so no body inside
# has another outcome. Distances within rounding errors count as reached.

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t

from .events cimport slack
from ..abi.constraints cimport (
    BOX, CORNERS, FLOOR, PERIODIC, PLANE, SENSOR, SHAPES, ConstraintCall, Corners, Each, Periodic, Sensor, Shapes,
    Torus, Wall,
)
from ..abi.coupled cimport Coupling
from ..abi.plan cimport MAX_DIM, Plan
from ..abi.registers cimport S, V, X
from ..abi.workspace cimport Workspace
from ..integrators.traits cimport verlet
from ..simd.masks cimport any_true, greater, greater_equal, maximum, minimum, select
from ..simd.vec cimport f32vec, filled, spread, vec, width
from .friction cimport place

ctypedef struct Extent:
    double low[MAX_DIM]
    double high[MAX_DIM]


cdef inline void measure(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, Py_ssize_t plane, const vec* x, Extent* extent,
) noexcept nogil:
    """Compute the extent of a tile at x, with `plane` numbers per component. NaNs are ignored."""
    cdef Py_ssize_t w = width(x)
    cdef const char* weight = NULL
    cdef const vec* q
    cdef vec low, high, active
    cdef Py_ssize_t n, lane
    cdef int j
    if plan.living != NULL:
        weight = <const char*> plan.living.weight + first * plan.living.item
    for j in range(plan.dim):
        q = x + j * (plane // w)
        low, high = filled(INFINITY, x), filled(-INFINITY, x)
        if weight == NULL:
            for n in range(count // w):
                low, high = minimum(q[n], low), maximum(q[n], high)
        else:
            for n in range(count // w):
                active = (<const vec*> weight)[n]
                low = select(greater(active, filled(0, x)), minimum(q[n], low), low)
                high = select(greater(active, filled(0, x)), maximum(q[n], high), high)
        extent.low[j], extent.high[j] = INFINITY, -INFINITY
        if count >= w:
            for lane in range(w):
                widen(number_of(&low, lane), &extent.low[j], &extent.high[j])
                widen(number_of(&high, lane), &extent.low[j], &extent.high[j])
        for lane in range(count // w * w, count):
            if weight == NULL or number_of(<const vec*> weight, lane) > 0:
                widen(number_of(q, lane), &extent.low[j], &extent.high[j])


cdef inline double number_of(const vec* numbers, Py_ssize_t i) noexcept nogil:
    if vec is f32vec:
        return (<const float*> numbers)[i]
    else:
        return (<const double*> numbers)[i]


cdef inline void widen(double number, double* low, double* high) noexcept nogil:
    if number < low[0]:
        low[0] = number
    if number > high[0]:
        high[0] = number


cdef inline vec greatest(const Each* values, Py_ssize_t first, Py_ssize_t count, const vec* like) noexcept nogil:
    """Largest coefficient of a tile, broadcast; coefficients are >= 0."""
    cdef vec found = filled(0, like)
    cdef double one = 0
    cdef double none = 0
    cdef Py_ssize_t n
    if values.body == 0:
        return spread(values.number, 0, like)
    for n in range((count + width(like) - 1) // width(like)):
        found = maximum(place(values.number, first + n * width(like), like)[0], found)
    for n in range(width(like)):
        widen(number_of(&found, n), &none, &one)
    return filled(one, like)


cdef inline bint reaches_face(
    const void* normals, int64_t number, const void* offset, const Each* radius, int dim, Py_ssize_t first,
    Py_ssize_t count, const Extent* extent, const vec* like,
) noexcept nogil:
    """True if a tile reaches the plane with this number."""
    cdef vec zero = filled(0, like)
    cdef vec height = zero
    cdef vec normal, part
    cdef int j
    for j in range(dim):
        normal = spread(normals, number * dim + j, like)
        part = normal * select(greater(normal, zero), filled(extent.low[j], like), filled(extent.high[j], like))
        height = height + part if j > 0 else part
    return not any_true(greater(height, spread(offset, number, like) + greatest(radius, first, count, like)))


cdef inline bint reaches_corners(
    const Corners* corners, int dim, Py_ssize_t first, Py_ssize_t count, const Extent* extent, const vec* like,
) noexcept nogil:
    """True if a tile reaches two or more planes: a single one has no corner."""
    cdef Each radius
    cdef int64_t face
    cdef int found = 0
    radius.body = 1
    for face in range(corners.faces):
        radius.number = place(corners.radius, face * corners.n, like)
        if reaches_face(corners.normal, face, corners.offset, &radius, dim, first, count, extent, like):
            found += 1
            if found == 2:
                return True
    return False


cdef inline bint reaches_box(
    const Wall* wall, int dim, Py_ssize_t first, Py_ssize_t count, const Extent* extent, const vec* like,
) noexcept nogil:
    cdef vec r = greatest(&wall.radius, first, count, like)
    cdef int j
    for j in range(dim):
        if any_true(greater_equal(spread(wall.lower, j, like) + r, filled(extent.low[j], like))):
            return True
        if any_true(greater_equal(filled(extent.high[j], like), spread(wall.upper, j, like) - r)):
            return True
    return False


cdef inline double slack_of(const vec* like) noexcept nogil:
    """Relative tolerance for rounding errors."""
    if vec is f32vec:
        return 2 * slack[float](0)
    else:
        return 2 * slack[double](0)


cdef inline double size_of(int dim, const Extent* extent) noexcept nogil:
    """Upper bound of the sum of a body's coordinate magnitudes."""
    cdef double size = 0
    cdef int j
    for j in range(dim):
        size += max(fabs(extent.low[j]), fabs(extent.high[j]))
    return size


cdef inline bint reaches_shapes(
    const Shapes* shapes, int dim, Py_ssize_t first, Py_ssize_t count, const Extent* swept, const vec* like,
) noexcept nogil:
    """True if a tile may reach a shape on its way; swept: extent before and after the step."""
    cdef vec reach = greatest(&shapes.reach, first, count, like)
    cdef double margin = number_of(&reach, 0)
    cdef int j
    margin += slack_of(like) * (margin + 2 * size_of(dim, swept))
    for j in range(dim):
        if not (swept.low[j] - margin <= shapes.bounds[dim + j] and swept.high[j] + margin >= shapes.bounds[j]):
            return False
    return True


cdef inline bint reaches_region(const Sensor* sensor, int dim, const Extent* swept, const vec* like) noexcept nogil:
    """True if the swept extent comes near a region. Coordinates so large that squares overflow count as near."""
    cdef double margin = slack_of(like) * size_of(dim, swept)
    cdef double largest = 1e8 if vec is f32vec else 1e60
    cdef double low, high, radius
    cdef int j
    if sensor.ball:
        if not size_of(dim, swept) < largest:
            return True
        radius = number_of(<const vec*> sensor.upper, 0)
        margin += radius / 64
        for j in range(dim):
            low = number_of(<const vec*> sensor.lower, j)
            margin += (swept.high[j] - swept.low[j]) / 64 + slack_of(like) * fabs(low)
    for j in range(dim):
        low = number_of(<const vec*> sensor.lower, j)
        if sensor.ball:
            low, high = low - radius, low + radius
        else:
            high = number_of(<const vec*> sensor.upper, j)
        if swept.low[j] - margin > high or swept.high[j] + margin < low:
            return False
    return True


cdef inline bint leaves_torus(const Torus* torus, int dim, const Extent* extent, const vec* like) noexcept nogil:
    cdef int j
    for j in range(dim):
        if number_of(<const vec*> torus.width, j) > 0 and not (
            number_of(<const vec*> torus.lower, j) <= extent.low[j]
            and extent.high[j] < number_of(<const vec*> torus.upper, j)
        ):
            return True
    return False


cdef inline bint reaches(
    const ConstraintCall* constraint, int dim, Py_ssize_t first, Py_ssize_t count, const Extent* before,
    const Extent* now, const vec* like,
) noexcept nogil:
    """True if a static constraint may change a body of a tile, or record an event of one."""
    cdef Extent swept
    cdef int j
    if constraint.kind == FLOOR:
        return True
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
    if constraint.kind == SENSOR and (<const Sensor*> constraint.data).told == NULL:
        return False
    if constraint.kind == SHAPES and (<const Shapes*> constraint.data).count == 0:
        return False
    for j in range(dim):
        swept.low[j], swept.high[j] = min(before.low[j], now.low[j]), max(before.high[j], now.high[j])
    if constraint.kind == SENSOR:
        return reaches_region(<const Sensor*> constraint.data, dim, &swept, like)
    return reaches_shapes(<const Shapes*> constraint.data, dim, first, count, &swept, like)


cdef inline bint reaches_any(
    const Coupling* coupling, int begin, int end, Py_ssize_t first, Py_ssize_t count, const Extent* before,
    const Extent* now, const vec* like,
) noexcept nogil:
    """True if a tile reaches any static constraint from `begin` to `end`."""
    cdef int number
    for number in range(begin, end):
        if reaches(&coupling.constraint[number], coupling.plan.dim, first, count, before, now, like):
            return True
    return False


cdef inline void constrain_tile(
    const Coupling* coupling, int begin, int end, Py_ssize_t first, Py_ssize_t count, const Workspace* workspace,
    const Extent* before, Extent* now, const vec* like,
) noexcept nogil:
    """Apply the static constraints from `begin` to `end` to a tile that one of them reaches; now: its extent."""
    cdef const Plan* plan = coupling.plan
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef Py_ssize_t register = workspace.row * item
    cdef Py_ssize_t origin = workspace.first * item         # offset of the first body of the workspace
    cdef Py_ssize_t at = (first - workspace.first) * item
    cdef char* x = workspace.next + X * register - origin
    cdef char* v = workspace.next + V * register - origin
    cdef char* s = workspace.next + S * register - origin if verlet(plan.scheme) else NULL
    cdef const ConstraintCall* constraint
    cdef int number
    for number in range(begin, end):
        constraint = &coupling.constraint[number]
        if reaches(constraint, plan.dim, first, count, before, now, like):
            constraint.function(
                constraint.kind, plan.h, first, first + count, plan.dim, workspace.plane,
                workspace.now + X * register - origin, workspace.gain - origin, x, v, s, constraint.data,
                coupling.owner,
            )
            measure(plan, first, count, workspace.plane, <const vec*> (workspace.next + X * register + at), now)


cdef inline void find_gain(
    int dim, Py_ssize_t first, Py_ssize_t count, const Workspace* workspace, const vec* like,
) noexcept nogil:
    """Compute delta_v by the forces of the step for a tile."""
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef Py_ssize_t at = (first - workspace.first) * item
    cdef const vec* old = <const vec*> (workspace.now + V * workspace.row * item + at)
    cdef const vec* v = <const vec*> (workspace.next + V * workspace.row * item + at)
    cdef vec* gain = <vec*> (workspace.gain + at)
    cdef Py_ssize_t plane = workspace.plane // width(like)
    cdef Py_ssize_t vectors = (count + width(like) - 1) // width(like)
    cdef Py_ssize_t i
    cdef int j
    for j in range(dim):
        for i in range(j * plane, j * plane + vectors):
            gain[i] = v[i] - old[i]
