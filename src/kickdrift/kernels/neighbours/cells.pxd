# Points in the cells of a grid, as constraints/broad_phase.py describes it; and lists of those that are found.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memset

from ..abi.constraints cimport MOST_ROWS, Torus
from ..constraints.grid cimport bucket_around, cell
from ..space cimport is_periodic

ctypedef struct Cells:
    int dim
    int64_t n
    double radius
    double per_cell         # 1 / width of a cell, more than the radius
    uint64_t mask           # buckets less one
    uint64_t step[3]        # from a cell to the next along each axis, in buckets
    Torus torus             # of a periodic box; then points are in it, and along each axis
    int64_t cells[3]        # there are so many cells
    double per_width[3]     # of 1 / width
    const double* x         # points, one after the other
    int32_t* start          # of each bucket: its first slot
    uint32_t* bucket        # of each point
    int32_t* body           # in each slot: points sorted by bucket, then index
    double* place           # of the point in each slot: component after component

# Numbers as they are found, in memory that grows.
ctypedef struct List:
    int32_t* number
    int64_t count
    int64_t capacity

# Slots, from each first to before each last.
ctypedef struct Ranges:
    int count
    int32_t first[2 * MOST_ROWS]
    int32_t last[2 * MOST_ROWS]


cdef inline bint reserve(List* found, int64_t more) noexcept nogil:
    """For so many numbers more; False where there is no memory."""
    cdef int64_t capacity = found.count + more
    cdef void* place
    if capacity <= found.capacity:
        return True
    capacity = max(2 * found.capacity, capacity + 1024)
    place = realloc(found.number, capacity * sizeof(int32_t))
    if place == NULL:
        return False
    found.number, found.capacity = <int32_t*> place, capacity
    return True


cdef inline uint64_t bucket_at(const double* x, const Cells* cells, int64_t i) noexcept nogil:
    cdef uint64_t bucket = 0
    cdef int c
    if is_periodic(&cells.torus):
        return bucket_around(cells.dim, 1, x - i, i, cells.cells, cells.per_width, &cells.torus)
    for c in range(cells.dim):
        bucket += cells.step[c] * <uint64_t> cell(x[c], cells.per_cell, i)
    return bucket & cells.mask


cdef inline void sort_points(const Cells* cells) noexcept nogil:
    """Points into the slots of their buckets, in the order of their indices: a counting sort."""
    cdef int64_t i, slot
    cdef int32_t count
    cdef int32_t total = 0
    cdef int c
    memset(cells.start, 0, (cells.mask + 3) * sizeof(int32_t))
    for i in range(cells.n):
        cells.bucket[i] = <uint32_t> bucket_at(cells.x + i * cells.dim, cells, i)
        cells.start[cells.bucket[i] + 1] += 1
    # Each start stands one place too far until the points have moved it on to its end.
    for i in range(1, <int64_t> cells.mask + 2):
        count = cells.start[i]
        cells.start[i] = total
        total += count
    for i in range(cells.n):
        slot = cells.start[cells.bucket[i] + 1]
        cells.start[cells.bucket[i] + 1] += 1
        cells.body[slot] = <int32_t> i
        for c in range(cells.dim):
            cells.place[c * cells.n + slot] = cells.x[i * cells.dim + c]
    cells.start[cells.mask + 2] = total


cdef inline void add_range(uint64_t first, int width, const Cells* cells, Ranges* around) noexcept nogil:
    """The slots of so many adjacent buckets, around the ring."""
    cdef uint64_t last
    first &= cells.mask
    last = first + <uint64_t> width
    if last > cells.mask + 1:
        last -= cells.mask + 1
        around.first[around.count] = 0
        around.last[around.count] = cells.start[last]
        around.count += 1
        last = cells.mask + 1
    around.first[around.count] = cells.start[first]
    around.last[around.count] = cells.start[last]
    around.count += 1


cdef inline uint64_t bucket_of_cell(const int64_t* at, const Cells* cells) noexcept nogil:
    """Of the cell with these numbers, in open space."""
    return (<uint64_t> at[0] + cells.step[1] * <uint64_t> at[1] + cells.step[2] * <uint64_t> at[2]) & cells.mask
