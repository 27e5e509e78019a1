# Shapes that move: the formulas of kickdrift/reference/constraints/motion.py. Arithmetic is in double; points and
# vectors have the dtype of the state.

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int64_t

from .outlines cimport is_enabled
from ..abi.constraints cimport Contacts, Motion, Shapes
from ..abi.plan cimport MAX_DIM
from ..functions.elementary cimport cos, each, sin
from ..simd.vec cimport f64vec, real

cdef enum:
    MOST_PIECES = 32    # maximum number of straight pieces of a path relative to a rotating shape


cdef inline double cosine(double angle) noexcept nogil:
    cdef f64vec found = cos(each(angle))
    return (<double*> &found)[0]


cdef inline double sine(double angle) noexcept nogil:
    cdef f64vec found = sin(each(angle))
    return (<double*> &found)[0]


cdef inline bint is_moving(const Shapes* shapes) noexcept nogil:
    return shapes.motion.state != NULL


cdef inline const double* row_of(int dim, const Motion* motion, int64_t k) noexcept nogil:
    """Address of the motion of shape k: displacement, angle, velocity, angular velocity."""
    return motion.state + k * (2 * dim + 2)


cdef inline bint rotates(int dim, const Motion* motion, int64_t k) noexcept nogil:
    return row_of(dim, motion, k)[2 * dim + 1] != 0


cdef inline void middle(int dim, const Motion* motion, int64_t k, double time, double* to) noexcept nogil:
    """The center of rotation at a time after the beginning of the step."""
    cdef const double* row = row_of(dim, motion, k)
    cdef int j
    for j in range(dim):
        to[j] = motion.center[k * dim + j] + (row[j] + time * row[dim + 1 + j])


cdef inline void place_end(
    int dim, const Motion* motion, int64_t k, const double* end, double time, real* to,
) noexcept nogil:
    cdef const double* row = row_of(dim, motion, k)
    cdef const double* center = motion.center + k * dim
    cdef double angle = row[dim] + time * row[2 * dim + 1]
    cdef double c, s, x, y
    cdef int j
    if angle == 0:
        for j in range(dim):
            to[j] = <real> (end[j] + (row[j] + time * row[dim + 1 + j]))
        return
    c, s = cosine(angle), sine(angle)
    x, y = end[0] - center[0], end[1] - center[1]
    to[0] = <real> (center[0] + (c * x - s * y) + (row[0] + time * row[dim + 1]))
    to[1] = <real> (center[1] + (s * x + c * y) + (row[1] + time * row[dim + 2]))


cdef inline void lay(int dim, double time, const Shapes* given, const real* like) noexcept nogil:
    """Move shapes, and the boxes of their tree, to their place at `time` seconds after the beginning of the step."""
    cdef Shapes* shapes = <Shapes*> given
    cdef const Motion* motion = &shapes.motion
    cdef real* lower = <real*> shapes.lower
    cdef real* upper = <real*> shapes.upper
    cdef int64_t k
    if not is_moving(shapes):
        return
    shapes.motion.now = time
    for k in range(motion.count):
        place_end(dim, motion, k, motion.lower + k * dim, time, lower + k * dim)
        place_end(dim, motion, k, motion.upper + k * dim, time, upper + k * dim)
    if shapes.count > 0:
        refit(dim, shapes, lower, upper)


cdef inline void refit(int dim, Shapes* shapes, const real* lower, const real* upper) noexcept nogil:
    """Fit the boxes of the tree to its enabled shapes. A leaf without enabled shapes has an empty box."""
    cdef double* box
    cdef const double* below
    cdef double low, high
    cdef int64_t node, k, number
    cdef int j
    for node in range(shapes.nodes - 1, -1, -1):    # parents come before their children
        box = shapes.bounds + node * 2 * dim
        if shapes.leaves[node] == 0:
            below = shapes.bounds + shapes.first[node] * 2 * dim
            unite(dim, below, below + 2 * dim, box)
            continue
        for j in range(dim):
            box[j], box[dim + j] = INFINITY, -INFINITY
        for k in range(shapes.first[node], shapes.first[node] + shapes.leaves[node]):
            number = shapes.number[k]
            for j in range(dim if is_enabled(number, shapes) else 0):
                low = min(<double> lower[number * dim + j], <double> upper[number * dim + j])
                high = max(<double> lower[number * dim + j], <double> upper[number * dim + j])
                box[j], box[dim + j] = min(box[j], low), max(box[dim + j], high)


cdef inline void unite(int dim, const double* one, const double* other, double* box) noexcept nogil:
    """Set a box to the bounding box of two boxes."""
    cdef int j
    for j in range(dim):
        box[j] = min(one[j], other[j])
        box[dim + j] = max(one[dim + j], other[dim + j])


cdef inline double speed_of(int dim, const double* row) noexcept nogil:
    """Speed of a shape, without its rotation."""
    cdef double square = row[dim + 1] * row[dim + 1]
    cdef int j
    for j in range(1, dim):
        square = square + row[dim + 1 + j] * row[dim + 1 + j]
    return sqrt(square)


cdef inline double displacement_of(int dim, const Motion* motion, int64_t k) noexcept nogil:
    """Largest displacement of the surface of shape k in the step."""
    cdef const double* row = row_of(dim, motion, k)
    return (speed_of(dim, row) + fabs(row[2 * dim + 1]) * motion.far[k]) * motion.step


cdef inline void begin_motion(
    int dim, double h, const Shapes* given, const real* like, Py_ssize_t steps,
) noexcept nogil:
    """Move shapes to where they are at the beginning of a step; set a margin that suffices for `steps` steps."""
    cdef Shapes* shapes = <Shapes*> given
    cdef const double* row
    cdef double speed, rotation
    cdef double most = 0
    cdef int64_t k
    if not is_moving(shapes):
        return
    shapes.motion.step, shapes.motion.displacement = h, 0
    for k in range(shapes.motion.count):
        row = row_of(dim, &shapes.motion, k)
        speed, rotation = speed_of(dim, row), fabs(row[2 * dim + 1]) * shapes.motion.far[k]
        shapes.motion.displacement = max(shapes.motion.displacement, displacement_of(dim, &shapes.motion, k))
        most = max(most, speed * h * <double> steps + min(rotation * h * <double> steps, 2 * shapes.motion.far[k]))
    lay(dim, 0, shapes, like)
    # `pieces_of` neglects gaps up to displacement / 8.
    shapes.motion.margin = most + shapes.motion.displacement / 8


cdef inline void end_motion(int dim, double h, const Shapes* shapes) noexcept nogil:
    """Advance displacement and angle of shapes by a completed step."""
    cdef double* row
    cdef int64_t k
    cdef int j
    for k in range(shapes.motion.count):
        row = <double*> row_of(dim, &shapes.motion, k)
        for j in range(dim + 1):
            row[j] = row[j] + h * row[dim + 1 + j]


cdef inline int pieces_of(
    const Motion* motion, int64_t k, double step, const real* start, const real* y, real since, real r, double* nearly,
) noexcept nogil:
    """Number of straight pieces that approximate a path relative to a rotating shape; nearly: set to a negligible gap.
    """
    cdef const double* row = row_of(2, motion, k)
    cdef double angle = fabs(row[5]) * <double> since
    cdef double here[MAX_DIM]
    cdef double dx, dy, radius, length, bend
    middle(2, motion, k, step - <double> since, here)
    dx, dy = <double> start[0] - here[0], <double> start[1] - here[1]
    radius = sqrt(dx * dx + dy * dy)
    dx = <double> y[0] - <double> start[0] - <double> since * row[3]
    dy = <double> y[1] - <double> start[1] - <double> since * row[4]
    length = sqrt(dx * dx + dy * dy)
    nearly[0] = min(fabs(row[5]) * motion.far[k] * step / 8, (<double> r + length + angle * radius) / 64)
    bend = angle * (angle * (radius + length) + 2 * length) / 8
    if not bend < MOST_PIECES * MOST_PIECES * nearly[0]:
        return MOST_PIECES
    return <int> sqrt(bend / nearly[0]) + 1


cdef inline double spin_of(int dim, const Motion* motion, int64_t k) noexcept nogil:
    """The angular velocity of a shape."""
    return row_of(dim, motion, k)[2 * dim + 1]


cdef inline void surface_velocity(
    int dim, const Motion* motion, int64_t k, double time, const real* point, real* v,
) noexcept nogil:
    """The velocity of a shape's surface at a point."""
    cdef const double* row = row_of(dim, motion, k)
    cdef double w = row[2 * dim + 1]
    cdef double at[MAX_DIM]
    cdef int j
    if w == 0:
        for j in range(dim):
            v[j] = <real> row[dim + 1 + j]
        return
    middle(dim, motion, k, time, at)
    v[0] = <real> (row[dim + 1] - w * (<double> point[1] - at[1]))
    v[1] = <real> (row[dim + 2] + w * (<double> point[0] - at[0]))


cdef inline void move_along(
    int dim, const Motion* motion, int64_t k, double now, double then, const real* point, real* to,
) noexcept nogil:
    """Move a point with the shape from the time `now` to `then`, either of which may be the earlier one.

    The point keeps its position relative to the shape.
    """
    cdef const double* row = row_of(dim, motion, k)
    cdef double w = row[2 * dim + 1]
    cdef double here[MAX_DIM]
    cdef double there[MAX_DIM]
    cdef double c, s, x, y
    cdef int j
    if w == 0:
        for j in range(dim):
            to[j] = point[j] + <real> ((then - now) * row[dim + 1 + j])
        return
    c, s = cosine(w * (then - now)), sine(w * (then - now))
    middle(dim, motion, k, now, here)
    middle(dim, motion, k, then, there)
    x, y = <double> point[0] - here[0], <double> point[1] - here[1]
    to[0], to[1] = <real> (there[0] + (c * x - s * y)), <real> (there[1] + (s * x + c * y))


cdef inline void turn_normal(int dim, const Motion* motion, int64_t k, double time, real* n) noexcept nogil:
    """Rotate a direction with a shape, from the beginning of the step to `time`."""
    cdef double w = row_of(dim, motion, k)[2 * dim + 1]
    cdef double c, s, x, y
    if w == 0:
        return
    c, s, x, y = cosine(w * time), sine(w * time), <double> n[0], <double> n[1]
    n[0], n[1] = <real> (c * x - s * y), <real> (s * x + c * y)


# The tree over all shapes of `Contacts`. Its leaves are Shapes structs, each with a tree of its own.

cdef inline void fit_level(int dim, const Contacts* given) noexcept nogil:
    """Fit the boxes of the tree over all shapes to the boxes of the Shapes structs."""
    cdef Shapes* level = <Shapes*> &given.level
    cdef double* box
    cdef const double* part
    cdef int64_t node, k
    level.motion.displacement = 0
    for node in range(level.nodes - 1, -1, -1):     # parents come before their children
        box = level.bounds + node * 2 * dim
        if level.leaves[node] == 0:
            part = level.bounds + level.first[node] * 2 * dim
            unite(dim, part, part + 2 * dim, box)
            continue
        for k in range(level.first[node], level.first[node] + level.leaves[node]):
            part = given.shapes[level.number[k]].bounds
            level.motion.displacement = max(
                level.motion.displacement, given.shapes[level.number[k]].motion.displacement,
            )
            unite(dim, part, part if k == level.first[node] else box, box)
