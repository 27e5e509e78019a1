# Shapes along a ray and around a point, in float64: the formulas of kickdrift/reference/queries.py.

from libc.stdint cimport int64_t

from .outlines cimport Walk, away, begin_walk, is_enabled, next_in_box, open_node, touch
from ..abi.constraints cimport Shapes
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude

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


cdef inline int64_t first_shape(
    int dim, const double* y, const double* motion, double reach, const Shapes* data, double* share, double* normal,
    int64_t* tests,
) noexcept nogil:
    """Return the shape hit first at less than `share` of the motion, or -1; update `share` and the outward normal."""
    cdef Walk walk
    cdef double at[MAX_DIM]
    cdef double n[MAX_DIM]
    cdef double t
    cdef double margin = margin_of(dim, y, motion, reach)
    cdef int64_t found = -1
    cdef int64_t node, k, number
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
            t = 0
            if not away(dim, y, number, data, n) < reach and not touch(False, dim, y, motion, reach, number, data, &t):
                continue
            if t < share[0] or (t == share[0] and number < found):
                found, share[0] = number, t
        walk.next = walk.last
    if found < 0:
        return -1
    for j in range(dim):
        at[j] = y[j] + share[0] * motion[j]
    away(dim, at, found, data, n)
    # A ray that ends on a segment without thickness: `away` has the sign of a rounding error, so point the normal back.
    t = -1 if data.segments and share[0] > 0 and dot(dim, n, motion) > 0 else 1
    for j in range(dim):
        normal[j] = t * n[j]
    return found


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
