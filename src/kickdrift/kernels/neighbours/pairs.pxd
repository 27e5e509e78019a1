# Pairs of points that are near each other: the formulas of kickdrift/reference/neighbours.py.

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from .cells cimport Cells, List, Ranges, add_range, reserve
from ..constraints.grid cimport Around, buckets_around
from ..space cimport nearest

cdef enum:
    TESTS = 4_000_000       # of distances between two looks for Ctrl-C: some milliseconds


# Of two cells side by side one looks at the other: half of those around are ahead.

cdef inline int64_t find_ahead(
    int dim, uint64_t* bucket, const Cells* cells, List* lower, List* higher,
) noexcept nogil:
    """Pairs from a bucket on, for some milliseconds or until none is left; -1 where there is no memory."""
    cdef Ranges ahead
    cdef int64_t tests = 0
    cdef int64_t p, total
    cdef int32_t end
    cdef int row
    while bucket[0] <= cells.mask and tests < TESTS:
        end = cells.start[bucket[0] + 1]
        if end > cells.start[bucket[0]]:
            # What follows in the own cell and in the next one, which is the first of the ranges.
            ahead.count = 0
            if bucket[0] < cells.mask:
                add_range(bucket[0], 2, cells, &ahead)
            else:
                add_range(bucket[0], 1, cells, &ahead)
                add_range(0, 1, cells, &ahead)
            if dim == 2:
                add_range(bucket[0] + cells.step[1] - 1, 3, cells, &ahead)
            elif dim == 3:
                add_range(bucket[0] + cells.step[2] - 1, 3, cells, &ahead)
                for row in range(-1, 2):
                    add_range(
                        bucket[0] + cells.step[1] + <uint64_t> (<int64_t> row * <int64_t> cells.step[2]) - 1,
                        3, cells, &ahead,
                    )
            total = 0
            for row in range(ahead.count):
                total += ahead.last[row] - ahead.first[row]
            for p in range(cells.start[bucket[0]], end):
                if not (reserve(lower, total) and reserve(higher, total)):
                    return -1
                ahead.first[0] = <int32_t> p + 1
                pair_up(dim, p, &ahead, cells, lower, higher)
                tests += total
        bucket[0] += 1
    return 0


cdef inline int64_t find_pairs_around(
    int dim, uint64_t* bucket, const Cells* cells, List* lower, List* higher,
) noexcept nogil:
    """The same in a periodic box, where each cell looks at all around it, and takes points of higher index."""
    cdef Around around
    cdef int64_t tests = 0
    cdef int64_t p, k, total
    cdef double square = cells.radius * cells.radius
    cdef double d, q
    cdef int row, c
    while bucket[0] <= cells.mask and tests < TESTS:
        if cells.start[bucket[0] + 1] > cells.start[bucket[0]]:
            buckets_around(bucket[0], cells.cells, dim, &around)
            total = 0
            for row in range(around.ranges):
                total += cells.start[around.last[row]] - cells.start[around.first[row]]
            for p in range(cells.start[bucket[0]], cells.start[bucket[0] + 1]):
                if not (reserve(lower, total) and reserve(higher, total)):
                    return -1
                tests += total
                for row in range(around.ranges):
                    for k in range(cells.start[around.first[row]], cells.start[around.last[row]]):
                        q = 0
                        for c in range(dim):
                            d = nearest(cells.place[c * cells.n + k] - cells.place[c * cells.n + p], c, &cells.torus)
                            q = q + d * d if c > 0 else d * d
                        lower.number[lower.count] = cells.body[p]
                        higher.number[lower.count] = cells.body[k]
                        lower.count += (q <= square) & (cells.body[k] > cells.body[p])
                higher.count = lower.count
        bucket[0] += 1
    return 0


cdef inline void pair_up(
    int dim, int64_t p, const Ranges* ahead, const Cells* cells, List* lower, List* higher,
) noexcept nogil:
    cdef const double* place = cells.place
    cdef int64_t n = cells.n
    cdef int64_t count = lower.count
    cdef int32_t i = cells.body[p]
    cdef int32_t j
    cdef double square = cells.radius * cells.radius
    cdef double here[3]
    cdef double d, q
    cdef int64_t k
    cdef int row, c
    for c in range(dim):
        here[c] = place[c * n + p]
    for row in range(ahead.count):
        for k in range(ahead.first[row], ahead.last[row]):
            d = place[k] - here[0]
            q = d * d
            for c in range(1, dim):
                d = place[c * n + k] - here[c]
                q = q + d * d
            # Processors cannot predict which are near. So each is stored, and kept or overwritten, without a branch.
            j = cells.body[k]
            lower.number[count] = i if i < j else j
            higher.number[count] = j if i < j else i
            count += q <= square
    lower.count = higher.count = count


ctypedef fused index:
    int32_t
    int64_t


cdef inline void sort_by(
    const int32_t* key, const int32_t* other, int64_t count, int64_t n, int32_t* start, const int64_t* row,
    index* key_out, index* other_out,
) noexcept nogil:
    """Pairs by one of their points, and as they were among those that have the same: a counting sort.

    row: what points are called in the arrays that come out, or NULL.
    """
    cdef int64_t k
    cdef int32_t slot
    cdef int32_t total = 0
    memset(start, 0, n * sizeof(int32_t))
    for k in range(count):
        start[key[k]] += 1
    for k in range(n):
        slot = start[k]
        start[k] = total
        total += slot
    for k in range(count):
        slot = start[key[k]]
        start[key[k]] += 1
        key_out[slot] = <index> (key[k] if row == NULL else row[key[k]])
        other_out[slot] = <index> (other[k] if row == NULL else row[other[k]])
