# The pairs that are near among bodies of one class of size, in open space: a vector of slots is looked at together.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from ..abi.constraints cimport ALL, CROWD, GIVEN_UP, PAIRS_PER_BODY, TESTS, Collisions, Found
from ..abi.plan cimport MAX_DIM
from ..simd.masks cimport bits_less, first_bit
from ..simd.vec cimport filled, spread, vec, width
from .grid cimport Around, look_around
from .lists cimport sort


cdef inline Found find_alike(
    int dim, int64_t n, const Collisions* data, void* owner, const vec* like,
) noexcept nogil:
    """Those of a bucket look around together."""
    cdef Around around
    cdef int64_t total = 0
    cdef int64_t tests = 0
    cdef int64_t slot
    cdef uint64_t bucket
    cdef int32_t i
    for bucket in range(data.mask + 1):
        if data.start[bucket] == data.start[bucket + 1]:
            continue
        look_around(bucket, data, &around)
        for slot in range(data.start[bucket], data.start[bucket + 1]):
            i = data.body[slot]
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
    int dim, int64_t n, int64_t slot, const Around* around, const Collisions* data, int32_t* partner, const vec* like,
) noexcept nogil:
    """Bodies of higher index that are near, in ascending order; how many.

    Slots behind the last of a row are read too, and do not count: there is room for a vector behind the last of all.
    """
    cdef Py_ssize_t w = width(like)
    cdef Py_ssize_t item = sizeof(vec) // w
    cdef const char* place = <const char*> data.place
    cdef const int32_t* body = data.body
    cdef int32_t i = body[slot]
    cdef vec here[MAX_DIM + 1]
    cdef vec quarter = filled(0.25, like)
    cdef vec size, reach, d, square
    cdef uint32_t near
    cdef int32_t count = 0
    cdef int64_t row, k, left
    cdef int j
    for j in range(dim + 1):
        here[j] = spread(place, j * n + slot, like)
    for row in range(around.ranges):
        k = around.first[row]
        left = around.last[row] - k
        while left > 0:
            size = here[dim] + (<const vec*> (place + (dim * n + k) * item))[0]
            reach = size + quarter * size
            d = (<const vec*> (place + k * item))[0] - here[0]
            square = d * d
            for j in range(1, dim):
                d = (<const vec*> (place + (j * n + k) * item))[0] - here[j]
                square = square + d * d
            near = bits_less(square, reach * reach) & ((<uint32_t> 1 << min(left, <int64_t> w)) - 1)
            while near:
                # Half of them have a higher index, which no processor foresees: written down in any case.
                partner[count] = body[k + first_bit(near)]
                count += partner[count] > i
                near &= near - 1
            k += w
            left -= w
    sort(partner, count)
    return count
