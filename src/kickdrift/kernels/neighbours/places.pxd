# The points around a place: the formulas of kickdrift/reference/neighbours.py.

from libc.stdint cimport int32_t, int64_t, uint64_t

from .cells cimport Cells, List, Ranges, add_range, bucket_at, reserve
from ..constraints.grid cimport Around, buckets_around
from ..constraints.lists cimport sort
from ..space cimport is_periodic, toward


cdef inline int64_t find_around(const double* x, const Cells* cells, List* found) noexcept nogil:
    """Add the points that are near a place, in ascending order; how many tests it took, or -1: no memory."""
    cdef Ranges around
    cdef Around sides
    cdef uint64_t bucket = bucket_at(x, cells, 0)
    cdef int64_t begin = found.count
    cdef int64_t tests = 0
    cdef int64_t k
    cdef double square = cells.radius * cells.radius
    cdef double d, q
    cdef int a, b, c, row
    around.count = 0
    if is_periodic(&cells.torus):
        buckets_around(bucket, cells.cells, cells.dim, &sides)
        around.count = <int> sides.ranges
        for row in range(around.count):
            around.first[row], around.last[row] = cells.start[sides.first[row]], cells.start[sides.last[row]]
    for a in range(-1 if cells.dim > 1 else 0, 2 if cells.dim > 1 else 1):
        if is_periodic(&cells.torus):
            break
        for b in range(-1 if cells.dim > 2 else 0, 2 if cells.dim > 2 else 1):
            add_range(
                bucket + <uint64_t> (a * <int64_t> cells.step[1]) + <uint64_t> (b * <int64_t> cells.step[2]) - 1,
                3, cells, &around,
            )
    for row in range(around.count):
        tests += around.last[row] - around.first[row]
    if not reserve(found, tests):
        return -1
    for row in range(around.count):
        for k in range(around.first[row], around.last[row]):
            d = toward(cells.place[k] - x[0], 0, &cells.torus)
            q = d * d
            for c in range(1, cells.dim):
                d = toward(cells.place[c * cells.n + k] - x[c], c, &cells.torus)
                q = q + d * d
            found.number[found.count] = cells.body[k]
            found.count += q <= square
    sort(found.number + begin, <int32_t> (found.count - begin))
    return tests
