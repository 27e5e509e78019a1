# Broad phase for one size class without periodic boundaries: tests a vector of slots at once.
#
# Cell occupancy is unpredictable, and branches on it are mispredicted. Each body therefore tests at least one vector
# in each row, collects the results of all rows in a bit mask, and extracts the partners afterwards.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from ..abi.constraints cimport ALL, CROWD, GIVEN_UP, PAIRS_PER_BODY, TESTS, Collisions, Found
from ..abi.plan cimport MAX_DIM
from ..simd.masks cimport first_bit, flags_of, less
from ..simd.vec cimport filled, spread, vec, width
from .grid cimport Around, collide_by_filter, look_around, wanted_by
from .lists cimport sort


cdef enum:
    BITS = 64       # results collected in the bit mask before partners are extracted


cdef inline Found find_uniform(
    int64_t dim, int64_t n, const Collisions* data, void* owner, const vec* like,
) noexcept nogil:
    cdef Around around
    cdef int64_t total = 0
    cdef int64_t tests = 0
    cdef int64_t slot
    cdef int32_t i
    for slot in range(data.start[data.mask + 1]):
        i = data.body[slot]
        look_around(data.bucket[i], wanted_by(i, data), data, &around)
        data.begin[i] = total
        data.count[i] = find_partners(dim, n, slot, &around, data, data.partner + total, like)
        total += data.count[i]
        if total > PAIRS_PER_BODY * n:
            return CROWD
        tests += around.slots
        if tests > TESTS:
            tests = 0
            if data.look(owner):
                return GIVEN_UP
    return ALL


cdef inline int32_t find_partners(
    int64_t dim, int64_t n, int64_t slot, const Around* around, const Collisions* data, int32_t* partner,
    const vec* like,
) noexcept nogil:
    """Store the nearby bodies of higher index in ascending order; return their number.

    Reads past the end of a row are masked out. The arrays are padded by one vector.
    """
    cdef Py_ssize_t w = width(like)
    cdef Py_ssize_t item = sizeof(vec) // w
    cdef const char* place = <const char*> data.place
    cdef const int32_t* from_[BITS]
    cdef vec here[MAX_DIM + 1]
    cdef vec quarter = filled(0.25, like)
    cdef vec size, reach, d, square
    cdef uint64_t found = 0
    cdef int vectors = 0
    cdef uint64_t bit
    cdef int32_t i = data.body[slot]
    cdef int32_t count = 0
    cdef bint filtered = data.category != NULL
    cdef bint kept
    cdef int64_t row, k, left
    cdef int64_t j
    for j in range(dim + 1):
        here[j] = spread(place, j * n + slot, like)
    for row in range(around.ranges):
        k = around.first[row]
        left = around.last[row] - k
        while True:
            size = here[dim] + (<const vec*> (place + (dim * n + k) * item))[0]
            reach = size + quarter * size
            d = (<const vec*> (place + k * item))[0] - here[0]
            square = d * d
            for j in range(1, dim):
                d = (<const vec*> (place + (j * n + k) * item))[0] - here[j]
                square = square + d * d
            from_[vectors] = data.body + k
            found |= <uint64_t> (
                flags_of(less(square, reach * reach), &square) & ((<uint32_t> 1 << min(left, <int64_t> w)) - 1)
            ) << (vectors * w)
            vectors += 1
            k += w
            left -= w
            if vectors * w == BITS or (left <= 0 and row == around.ranges - 1):
                while found:
                    bit = first_bit(found)
                    # Store unconditionally: half have a higher index, and a branch would be mispredicted.
                    partner[count] = from_[bit // w][bit % w]
                    kept = partner[count] > i
                    if filtered and kept:
                        kept = collide_by_filter(i, partner[count], data)
                    count += kept
                    found &= found - 1
                vectors = 0
            if left <= 0:
                break
    sort(partner, count)
    return count
