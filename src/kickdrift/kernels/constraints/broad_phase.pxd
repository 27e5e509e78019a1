# Broad phase: finds the pairs that kickdrift/reference/constraints/collisions.py defines.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from ..abi.constraints cimport ALL, CROWD, GIVEN_UP, MOST_CLASSES, NOWHERE, PAIRS_PER_BODY, TESTS, Collisions, Found
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport root
from ..simd.vec cimport f32vec, filled, product, real, spread, vec, width
from ..space cimport is_periodic, toward, turn_to_images
from .grid cimport (
    FAR_OUT, FEW, Around, bucket_in_box, bucket_of, buckets_around, classify, collide_by_filter, copy_places, filter_of,
    find_buckets, is_empty_for, is_seen, keep_lowest, lay_around, look_around, look_around_box, looks_around,
    may_collide, sort, sort_bodies, sort_pairs, wanted_by, wanted_in,
)
from ..simd.masks cimport first_bit, flags_of, less

cdef inline bint find_pairs(
    int dim, int64_t n, int64_t stride, const real* x, const Collisions* data, void* owner,
) noexcept nogil:
    """Find the partners of all bodies; return False if interrupted."""
    if n <= FEW:
        data.find_among_few(dim, n, stride, x, data, NULL)
        return True
    if is_periodic(&data.torus):
        find_buckets(dim, n, stride, x, data)
    sort_bodies(dim, n, stride, x, data)
    if data.classes != 1 or data.points:
        return keep_few(find_unlike(dim, n, stride, x, data, owner), dim, n, stride, x, data, owner)
    copy_places(dim, n, stride, x, data)
    return keep_few(data.find_uniform(dim, n, data, owner, NULL), dim, n, stride, x, data, owner)


cdef inline bint is_near(
    int dim, int64_t stride, const real* x, int64_t i, int64_t j, const Collisions* data,
) noexcept nogil:
    """True if two bodies are within 5/4 of the sum of their radii, or come so near in the step (swept volumes)."""
    cdef real size, reach, d
    cdef real quarter = 0.25
    cdef real square = 0
    cdef int c
    if data.swept_x != NULL:
        return comes_near(dim, i, j, data, <const real*> data.swept_x, <const real*> data.swept_v)
    size = (<const real*> data.radius)[i] + (<const real*> data.radius)[j]
    reach = size + quarter * size
    for c in range(dim):
        d = toward(x[c * stride + j] - x[c * stride + i], c, &data.torus)
        square = square + d * d if c > 0 else d * d
    return square < reach * reach


# All nearby pairs, up to the capacity.

cdef inline Found find_unlike(
    int dim, int64_t n, int64_t stride, const real* x, const Collisions* data, void* owner,
) noexcept nogil:
    """Find nearby pairs across size classes: each body searches its own class and those of larger bodies."""
    cdef Around around
    cdef int64_t total = 0
    cdef int64_t tests = 0
    cdef int64_t row, k
    cdef int32_t i, j
    cdef int size_class
    cdef uint64_t bucket, wanted
    cdef uint64_t filters[MOST_CLASSES]  # merged filter bits of all bodies of each class
    cdef bint filtered = data.category != NULL
    cdef int classes = <int> data.classes
    memset(filters, 0, sizeof(filters))
    for i in range(<int32_t> (n if filtered else 0)):
        if data.size_class[i] < data.classes:
            filters[data.size_class[i]] |= filter_of(data.category[i], data.mask_bits[i])
    for i in range(<int32_t> n):
        if not looks_around(i, data):
            continue
        wanted = wanted_by(i, data)
        for size_class in range(min(classes, data.size_class[i] + 1)):
            if filtered and not may_collide(wanted, filters[size_class]):
                continue
            if is_periodic(&data.torus):
                bucket = bucket_in_box(dim, stride, x, i, size_class, data)
                look_around_box(bucket, wanted, size_class, dim, data, &around)
            else:
                look_around(bucket_of(dim, stride, x, i, size_class, data), wanted, data, &around)
            for row in range(around.ranges):
                for k in range(around.first[row], around.last[row]):
                    j = data.body[k]
                    if not is_partner(dim, stride, x, i, k, size_class, data):
                        continue
                    if total == PAIRS_PER_BODY * n:
                        return CROWD
                    data.lower[total] = min(i, j)
                    data.higher[total] = max(i, j)
                    total += 1
            tests += around.slots
            if tests > TESTS:
                tests = 0
                if data.look(owner):
                    return GIVEN_UP
    sort_pairs(n, total, data)
    return ALL


cdef inline bint is_partner(
    int dim, int64_t stride, const real* x, int32_t i, int64_t k, int size_class, const Collisions* data,
) noexcept nogil:
    """True if the body in slot k has this size class, is near body i, and is larger (or equal, with a higher index)."""
    cdef const real* radius = <const real*> data.radius
    cdef int32_t j = data.body[k]
    if not collide_by_filter(i, j, data):
        return False
    if data.size_class[j] != size_class or radius[j] < radius[i] or (radius[j] == radius[i] and j <= i):
        return False
    return is_near(dim, stride, x, i, j, data)


cdef inline bint comes_near(
    int dim, int64_t i, int64_t j, const Collisions* data, const real* x, const real* v,
) noexcept nogil:
    """True if two bodies on straight paths come within 5/4 of the sum of their radii in the step."""
    cdef int64_t stride = data.swept_stride
    cdef real h = <real> data.swept_h
    cdef real size, reach, time
    cdef real square = 0
    cdef real along = 0
    cdef real quarter = 0.25
    cdef real d[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef int64_t swap = i
    cdef int c
    if i > j:
        i = j
        j = swap
    size = (<const real*> data.swept_radius)[i] + (<const real*> data.swept_radius)[j]
    reach = size + quarter * size
    for c in range(dim):
        d[c] = toward(x[c * stride + j] - x[c * stride + i], c, &data.torus)
        u[c] = v[c * stride + j] - v[c * stride + i]
        square = square + u[c] * u[c] if c > 0 else u[c] * u[c]
        along = along + d[c] * u[c] if c > 0 else d[c] * u[c]
    time = along / square if square > 0 else <real> 0
    if time > h:
        time = h
    square = 0
    for c in range(dim):
        if time > 0:
            d[c] = d[c] - time * u[c]
        square = square + d[c] * d[c] if c > 0 else d[c] * d[c]
    return square < reach * reach


cdef inline void find_swept_few(int dim, int64_t n, const real* middle, const Collisions* data) noexcept nogil:
    """Test every pair: for few bodies, sorting them into cells takes longer."""
    cdef bint seen_at[FEW]
    cdef int64_t total = 0
    cdef int64_t i, j
    for i in range(n):
        seen_at[i] = data.size_class[i] != NOWHERE and (
            not is_periodic(&data.torus) or is_seen(dim, n, middle, i, &data.torus)
        )
    for i in range(n):
        data.begin[i] = total
        for j in range(i + 1, n):
            # Store unconditionally, because a branch would be mispredicted.
            data.partner[total] = <int32_t> j
            total += seen_at[i] & seen_at[j] & collide_by_filter(i, j, data) & is_near(dim, n, middle, i, j, data)
        data.count[i] = <int32_t> (total - data.begin[i])


cdef inline bint find_displacements(
    int dim, double h, int64_t n, int64_t stride, const real* x, const real* v, const Collisions* data, void* owner,
) noexcept nogil:
    """Find partners for continuous collision detection; return False if interrupted."""
    cdef Collisions displacements = data[0]
    cdef real* middle = <real*> data.middle
    cdef real* extent = <real*> data.extent
    cdef real half = 0.5
    cdef real displacement
    cdef int64_t i
    cdef int c
    cdef Found found
    memset(extent, 0, n * sizeof(real))
    for c in range(dim):
        for i in range(n):
            displacement = half * (<real> h * v[c * stride + i])
            middle[c * n + i] = x[c * stride + i] - displacement
            extent[i] = extent[i] + displacement * displacement
    for i in range(n):
        extent[i] = (<const real*> data.radius)[i] + root(extent[i])
    displacements.radius = extent
    displacements.size_class = data.swept_class
    displacements.swept_x, displacements.swept_v, displacements.swept_radius = x, v, data.radius
    displacements.swept_stride, displacements.swept_h = stride, h
    classify(n, extent, data.size_class, data.swept_class, &displacements)
    if n <= FEW:
        find_swept_few(dim, n, middle, &displacements)
        return True
    if is_periodic(&data.torus):
        lay_around(dim, <const real*> data.torus.width, &displacements)
        find_buckets(dim, n, n, middle, &displacements)
    sort_bodies(dim, n, n, middle, &displacements)
    found = find_unlike(dim, n, n, middle, &displacements, owner)
    return keep_few(found, dim, n, n, middle, &displacements, owner)


# Limit the number of partners of each body in dense scenes.

cdef inline bint keep_few(
    Found found, int dim, int64_t n, int64_t stride, const real* x, const Collisions* data, void* owner,
) noexcept nogil:
    """Repeat the search with a limit for each body if any exceeds it; return False if interrupted."""
    if found == CROWD or (found == ALL and is_crowded(n, <const real*> data.radius, data)):
        found = find_few(dim, n, stride, x, data, owner)
    return found != GIVEN_UP


cdef inline bint is_crowded(int64_t n, const real* radius, const Collisions* data) noexcept nogil:
    """True if the search of any body (the smaller one of each pair) has found more than PAIRS_PER_BODY partners."""
    cdef int32_t* met = data.next
    cdef int64_t i, k
    cdef int32_t j, looks
    memset(met, 0, n * sizeof(int32_t))
    for i in range(n):
        for k in range(data.begin[i], data.begin[i] + data.count[i]):
            j = data.partner[k]
            looks = j if radius[j] < radius[i] else <int32_t> i
            met[looks] += 1
            if met[looks] > PAIRS_PER_BODY:
                return True
    return False


cdef inline Found find_few(
    int dim, int64_t n, int64_t stride, const real* x, const Collisions* data, void* owner,
) noexcept nogil:
    """Keep the PAIRS_PER_BODY partners of lowest index of each body; stop scanning a cell past the highest of them."""
    cdef const real* radius = <const real*> data.radius
    cdef bint even[MOST_CLASSES]        # True if all bodies of a class have equal radii
    cdef int32_t any_of[MOST_CLASSES]
    cdef int32_t partner[PAIRS_PER_BODY]
    cdef int32_t count
    cdef int64_t total = 0
    cdef int64_t tests = 0
    cdef int64_t row, k, first
    cdef uint64_t bucket, beside
    cdef int32_t i
    cdef int size_class, c, buckets
    cdef bint own
    cdef Around around
    for c in range(MOST_CLASSES):
        any_of[c] = -1
    for i in range(<int32_t> n):
        if data.size_class[i] < data.classes:
            c = data.size_class[i]
            if any_of[c] < 0:
                any_of[c] = i
                even[c] = True
            even[c] = even[c] and radius[i] == radius[any_of[c]]
    # First slot of each bucket that is not processed yet; later slots have higher indices.
    memcpy(data.next, data.start, (data.mask + 1) * sizeof(int32_t))
    for i in range(<int32_t> n):
        count = 0
        if not looks_around(i, data):
            continue
        if data.size_class[i] < data.classes:
            data.next[data.bucket[i]] += 1
        for size_class in range(min(<int> data.classes, data.size_class[i] + 1)):
            own = size_class == data.size_class[i]
            bucket = bucket_of(dim, stride, x, i, size_class, data)
            if is_periodic(&data.torus):
                bucket = bucket_in_box(dim, stride, x, i, size_class, data)
                buckets_around(bucket, data.cells + 3 * size_class, dim, &around)
            else:
                around.ranges = data.rows
            for row in range(around.ranges):
                buckets = around.last[row] - around.first[row] if is_periodic(&data.torus) else 3
                for c in range(buckets):
                    if is_periodic(&data.torus):
                        beside = <uint64_t> (around.first[row] + c)
                    else:
                        beside = (bucket + data.row[row] + <uint64_t> c) & data.mask
                    if is_empty_for(wanted_by(i, data), beside, beside + 1, data):
                        continue
                    first = data.next[beside] if own and even[size_class] else data.start[beside]
                    for k in range(first, data.start[beside + 1]):
                        if count == PAIRS_PER_BODY and data.body[k] > partner[count - 1]:
                            break
                        tests += 1
                        if is_partner(dim, stride, x, i, k, size_class, data):
                            count = keep_lowest(partner, count, data.body[k])
        for k in range(count):
            data.lower[total] = min(i, partner[k])
            data.higher[total] = max(i, partner[k])
            total += 1
        if tests > TESTS:
            tests = 0
            if data.look(owner):
                return GIVEN_UP
    sort_pairs(n, total, data)
    return ALL


# Broad phase for few bodies, and for bodies of one size class: tests a vector of bodies at once.
#
# Cell occupancy is unpredictable, and branches on it are mispredicted. Each body therefore tests at least one vector in
# each row, collects the results of all rows in a bit mask, and extracts the partners afterwards.

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
    """Return a bit mask of a few bodies: 1 if a body is active, and not too far outside of a periodic box."""
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
    memset(data.count, 0, n * sizeof(int32_t))  # bodies outside the grid are not visited, and have no partners
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
