# Broad phase for few bodies, and for those of one size class: tests a vector of bodies at once.
#
# Cell occupancy is unpredictable, and branches on it are mispredicted. Each body therefore tests at least one vector
# in each row, collects the results of all rows in a bit mask, and extracts the partners afterwards.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from ..abi.constraints cimport ALL, CROWD, GIVEN_UP, NOWHERE, PAIRS_PER_BODY, TESTS, Collisions, Found
from ..abi.plan cimport MAX_DIM
from ..simd.masks cimport first_bit, flags_of, less
from ..simd.vec cimport f32vec, filled, product, spread, vec, width
from ..space cimport is_periodic, turn_to_images
from .grid cimport (
    FAR_OUT, Around, collide_by_filter, is_seen, look_around, look_around_box, wanted_by, wanted_in,
)
from .lists cimport sort


cdef enum:
    BITS = 64       # results collected in the bit mask before partners are extracted


cdef inline void find_among_few(
    int dim, int64_t n, int64_t stride, const char* x, const Collisions* data, const vec* like,
) noexcept nogil:
    """Test every pair: for few bodies, sorting them into cells takes longer (twice as long for six).

    Reads past the last body are masked out. The arrays are padded by one vector.
    """
    cdef Py_ssize_t w = width(like)
    cdef Py_ssize_t item = sizeof(vec) // w
    cdef const char* radius = <const char*> data.radius
    cdef int32_t* partner = data.partner
    cdef uint32_t present = bodies_of(dim, n, stride, x, data, like)
    cdef uint32_t found
    cdef vec here[MAX_DIM]
    cdef vec d[MAX_DIM]
    cdef vec quarter = filled(0.25, like)
    cdef vec size, reach, square
    cdef int64_t total = 0
    cdef int64_t i, k
    cdef int32_t first
    cdef int j
    for i in range(n):
        first = <int32_t> total
        found = 0
        for j in range(dim):
            here[j] = spread(x, j * stride + i, like)
        k = i + 1 if present >> i & 1 else n
        while k < n:
            size = spread(radius, i, like) + (<const vec*> (radius + k * item))[0]
            reach = size + quarter * size
            for j in range(dim):
                d[j] = (<const vec*> (x + (j * stride + k) * item))[0] - here[j]
            if is_periodic(&data.torus):
                turn_to_images(dim, d, &data.torus)
            square = product(dim, d, d)
            found |= flags_of(less(square, reach * reach), &square) << k
            k += w
        found &= present
        while found:
            partner[total] = <int32_t> first_bit(found)
            total += data.category == NULL or collide_by_filter(i, partner[total], data)
            found &= found - 1
        data.begin[i] = first
        data.count[i] = <int32_t> total - first


cdef inline uint32_t bodies_of(
    int dim, int64_t n, int64_t stride, const char* x, const Collisions* data, const vec* like,
) noexcept nogil:
    """One bit for each of few bodies that is active, and not too far outside of a periodic box."""
    cdef uint32_t present = 0
    cdef int64_t i
    for i in range(n):
        present |= <uint32_t> (data.size_class[i] != NOWHERE) << i
    for i in range(n if is_periodic(&data.torus) else 0):
        if vec is f32vec:
            present &= ~(<uint32_t> (not is_seen(dim, stride, <const float*> x, i, &data.torus)) << i)
        else:
            present &= ~(<uint32_t> (not is_seen(dim, stride, <const double*> x, i, &data.torus)) << i)
    return present


cdef inline Found find_uniform(
    int64_t dim, int64_t n, const Collisions* data, void* owner, const vec* like,
) noexcept nogil:
    cdef Around around
    cdef int64_t total = 0
    cdef int64_t tests = 0
    cdef uint64_t bucket = FAR_OUT
    cdef int64_t slot
    cdef int32_t i
    memset(data.count, 0, n * sizeof(int32_t))  # bodies outside the grid are not visited
    for slot in range(data.start[data.mask + 1]):
        i = data.body[slot]
        if not is_periodic(&data.torus):
            look_around(data.bucket[i], wanted_by(i, data), data, &around)
        elif data.bucket[i] != bucket:
            bucket = data.bucket[i]
            look_around_box(bucket, wanted_in(bucket, data), 0, <int> dim, data, &around)
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
    cdef vec d[MAX_DIM]
    cdef vec size, reach, square
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
            for j in range(dim):
                d[j] = (<const vec*> (place + (j * n + k) * item))[0] - here[j]
            if is_periodic(&data.torus):
                turn_to_images(<int> dim, d, &data.torus)
            square = product(<int> dim, d, d)
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
