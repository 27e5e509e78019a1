# Shapes along a ray and around a point, in float64: the formulas of kickdrift/reference/queries.py.

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from .outlines cimport Walk, away, begin_walk, is_enabled, next_in_box, open_node, touch
from ..abi.constraints cimport Shapes
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude, root, rounding
from ..neighbours.cells cimport time_of_hit

# A shape within reach of a point.
ctypedef struct Near:
    int64_t row             # index of the point
    int64_t number          # index of the shape
    double distance
    double normal[MAX_DIM]  # outward


cdef inline double margin_of(int dim, const double* y, const double* motion, double reach) noexcept nogil:
    """Return `reach` plus more than the rounding errors of `away` and `touch`, for the search by bounding boxes."""
    cdef double large = reach
    cdef int j
    for j in range(dim):
        large = large + magnitude(y[j]) + magnitude(motion[j])
    return reach + 9.094947017729282e-13 * large  # 4096 times the relative rounding error


cdef inline bint is_passed(
    int dim, const double* y, const double* motion, const double* bounds, double margin, double most,
) noexcept nogil:
    """True if a ray comes within the margin of a bounding box, after at most the share `most` of its motion."""
    cdef double enters = 0
    cdef double leaves = most
    cdef double first, last
    cdef int j
    for j in range(dim):
        first, last = bounds[j] - margin - y[j], bounds[dim + j] + margin - y[j]
        if motion[j] > 0:
            first, last = first / motion[j], last / motion[j]
        elif motion[j] < 0:
            first, last = last / motion[j], first / motion[j]
        elif first <= 0 and last >= 0:
            continue
        else:
            return False
        enters, leaves = max(enters, first), min(leaves, last)
    return enters <= leaves


cdef inline bint is_first(
    int dim, double share, const double* n, const double* motion, double least, const double* normal,
) noexcept nogil:
    """True if a hit precedes another: it is earlier, or as early with a normal more opposed to the motion."""
    return share < least or (share == least and dot(dim, n, motion) < dot(dim, normal, motion))


cdef inline int64_t first_shape(
    int dim, const double* y, const double* motion, double radius, double half, const Shapes* data, double* share,
    double* normal, int64_t* tests,
) noexcept nogil:
    """Return the shape that precedes the hit known so far, or -1; update `share` and the outward normal.

    half: half the thickness of segments, otherwise 0.
    """
    cdef Walk walk
    cdef double n[MAX_DIM]
    cdef double t = 0
    cdef double margin = margin_of(dim, y, motion, radius + half)
    cdef int64_t found = -1
    cdef int64_t node, k, number
    cdef bint tied
    cdef int j
    begin_walk(&walk, data)
    while walk.waits > 0:
        walk.waits -= 1
        node = walk.waiting[walk.waits]
        tests[0] += 1
        if not is_passed(dim, y, motion, data.bounds + node * 2 * dim, margin, min(share[0], 1.0)):
            continue
        open_node(node, data, &walk)
        for k in range(walk.next, walk.last):
            number = data.number[k]
            if not is_enabled(number, data):
                continue
            tests[0] += 4
            if not is_hit(dim, y, motion, radius, half, number, data, share[0], &t, n):
                continue
            # The tree visits shapes in an order of its own.
            tied = number < found and t == share[0] and dot(dim, n, motion) == dot(dim, normal, motion)
            if tied or is_first(dim, t, n, motion, share[0], normal):
                found, share[0] = number, t
                for j in range(dim):
                    normal[j] = n[j]
        walk.next = walk.last
    return found


cdef inline bint is_hit(
    int dim, const double* y, const double* motion, double radius, double half, int64_t number, const Shapes* data,
    double most, double* share, double* n,
) noexcept nogil:
    """True if a circle or sphere, or a ray, hits a shape; set the share of the motion before and the outward normal.

    A motion that begins in the shape hits it with a share of 0. The result is unspecified for shares above `most`.
    """
    cdef const double* a = <const double*> data.lower + number * dim
    cdef const double* b = <const double*> data.upper + number * dim
    cdef double at[MAX_DIM]
    cdef int j
    if away(dim, y, number, data, n) < radius + half:
        share[0] = 0
    elif radius == 0:
        if not data.segments:
            return along_box(dim, y, motion, a, b, share, n)
        if not along_segment(y, motion, half, a, b, share, n):
            return False
        if not half > 0:
            return True
    elif not touch(False, dim, y, motion, radius + half, number, data, share):
        return False
    if not share[0] <= most:
        return False
    for j in range(dim):
        at[j] = y[j] + share[0] * motion[j]
    away(dim, at, number, data, n)
    # Beside a thin segment, rounding errors decide the sign of the normal: turn it against the motion.
    if radius > 0 and data.segments and share[0] > 0 and dot(dim, n, motion) > 0:
        for j in range(dim):
            n[j] = -n[j]
    return True


cdef inline bint along_box(
    int dim, const double* y, const double* motion, const double* a, const double* b, double* share, double* n,
) noexcept nogil:
    """True if a ray that begins outside of a box, or on its surface, hits it; set share and outward normal.

    Of the faces that the motion opposes, it passes the planes of all before it leaves one of the other planes. It hits
    the face whose plane is the last; at an edge, of several such faces the one most opposed to the motion.
    """
    cdef double enters = -INFINITY
    cdef double leaves = INFINITY
    cdef double first, last
    cdef int axis = 0
    cdef int j
    for j in range(dim):
        if motion[j] == 0:
            if not (a[j] <= y[j] and y[j] <= b[j]):
                return False
            continue
        if motion[j] > 0:
            first, last = (a[j] - y[j]) / motion[j], (b[j] - y[j]) / motion[j]
        else:
            first, last = (y[j] - b[j]) / -motion[j], (y[j] - a[j]) / -motion[j]
        if first > enters or (first == enters and magnitude(motion[j]) > magnitude(motion[axis])):
            enters, axis = first, j
        if last < leaves:
            leaves = last
    if not (enters >= 0 and enters <= leaves and enters <= 1):
        return False
    share[0] = enters
    for j in range(dim):
        n[j] = 0
    n[axis] = -1 if motion[axis] > 0 else 1
    return True


cdef inline bint along_segment(
    const double* y, const double* motion, double half, const double* a, const double* b, double* share, double* n,
) noexcept nogil:
    """True if a ray that begins outside of a segment hits a side, or a round end if it is thick; set the share.

    n: set to the normal of the side that the ray begins at. A ray does not hit a side that it is parallel to, up to
    rounding errors.
    """
    cdef double d[2]
    cdef double e[2]
    cdef double c[2]
    cdef double zero = 0
    cdef double small, square, size, q, dq, t, along, one, other
    cdef bint between
    cdef int j
    share[0] = 2
    for j in range(2):
        e[j], d[j], c[j] = b[j] - a[j], y[j] - a[j], y[j] - b[j]
    if half > 0:
        share[0] = min(time_of_hit(2, d, motion, 0, half), time_of_hit(2, c, motion, 0, half))
    square = dot(2, e, e)
    size = root(square)
    n[0], n[1] = (zero * size - e[1]) / size, e[0] / size
    q, dq = dot(2, n, d), dot(2, n, motion)
    if q < 0:
        n[0], n[1], q, dq = -n[0], -n[1], zero - q, zero - dq
    small = rounding(size) * (magnitude(motion[0]) + magnitude(motion[1]))
    if square > 0 and q > 0 and dq < -small:
        t = (q - half) / (zero - dq)
        t = zero * q if t < 0 else t    # closer by rounding
        if half > 0:
            c[0], c[1] = d[0] + t * motion[0], d[1] + t * motion[1]
            along = dot(2, e, c)
            between = along >= 0 and along <= square
        else:
            # Segments that share an end agree exactly on which side the ray passes it: no ray gets through.
            one, other = motion[0] * d[1] - motion[1] * d[0], motion[0] * c[1] - motion[1] * c[0]
            between = not (one > 0 and other > 0) and not (one < 0 and other < 0)
        if between and t < share[0]:
            share[0] = t
    return share[0] <= 1


cdef inline int64_t shapes_near(
    int dim, const double* y, double reach, int64_t row, const Shapes* data, Near* found, int64_t room, int64_t* tests,
) noexcept nogil:
    """Append the shapes within `reach`, in the order of the tree, as long as there is room; return their number."""
    cdef double low[MAX_DIM]
    cdef double high[MAX_DIM]
    cdef double n[MAX_DIM]
    cdef double still[MAX_DIM]
    cdef double distance, margin
    cdef int64_t many = 0
    cdef int64_t number
    cdef Walk walk
    cdef int j
    for j in range(dim):
        still[j] = 0
    margin = margin_of(dim, y, still, reach)
    for j in range(dim):
        low[j], high[j] = y[j] - margin, y[j] + margin
    tests[0] += 16      # estimate of the visited nodes
    begin_walk(&walk, data)
    while True:
        number = next_in_box(dim, low, high, data, &walk)
        if number < 0:
            return many
        tests[0] += 4
        distance = away(dim, y, number, data, n)
        if not distance <= reach:
            continue
        if many < room:
            found[many].row, found[many].number, found[many].distance = row, number, distance
            for j in range(dim):
                found[many].normal[j] = n[j]
        many += 1
