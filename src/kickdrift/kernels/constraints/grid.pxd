# The grid of cells that bodies are sorted into, as constraints/broad_phase.py describes it. The cells beside a cell
# along the first axis are always in the adjacent buckets.

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

from ..abi.constraints cimport MOST_CLASSES, MOST_ROWS, NOWHERE, PAIRS_PER_BODY, Collisions, Torus
from ..simd.vec cimport real
from ..space cimport inside, is_periodic, seen

cdef enum:
    FAR_OUT = 4294967295        # stands for the bucket of a body too far outside of a periodic box
    FEW = PAIRS_PER_BODY + 1    # with so few bodies, none can have more than PAIRS_PER_BODY partners

# Ranges of slots, or of buckets (see buckets_around): from first to before last.
ctypedef struct Around:
    int64_t ranges
    int32_t first[2 * MOST_ROWS]
    int32_t last[2 * MOST_ROWS]
    int64_t slots               # number of slots in all ranges


# Sorting.

cdef inline int64_t cell(double place, double per_cell, int64_t body) noexcept nogil:
    """Cell number of a coordinate; cells farther out than 2**46 are wider. NaN and infinity pass no distance test:
    their cell is the body index, so that they do not crowd one cell."""
    cdef double far = 70368744177664.0  # 2**46
    cdef double c = place * per_cell
    cdef int64_t number, first
    if c >= -far and c <= far:
        number = <int64_t> c
        return number - (c < number)
    if c - c == 0:
        number = bits(c if c > 0 else -c)
        first = bits(far)
        number = <int64_t> far + ((number - first) >> 6)
        return number if c > 0 else -1 - number
    return bits(place) if place - place == 0 else body


cdef inline int64_t bits(double number) noexcept nogil:
    cdef int64_t result
    memcpy(&result, &number, sizeof(double))
    return result


cdef inline uint64_t bucket_of(
    int dim, int64_t stride, const real* x, int64_t i, int size_class, const Collisions* data,
) noexcept nogil:
    """Bucket of a body's position in the grid of a size class."""
    cdef uint64_t bucket = 0
    cdef int j
    for j in range(dim):
        bucket += data.step[j] * <uint64_t> cell(x[j * stride + i], data.per_cell[size_class], i)
    return bucket & data.mask


cdef inline uint64_t bucket_around(
    int dim, int64_t stride, const real* x, int64_t i, const int64_t* cells, const double* per_width,
    const Torus* torus,
) noexcept nogil:
    """Bucket of a body's position in a periodic box, whose cells are numbered row by row."""
    cdef uint64_t bucket = 0
    cdef uint64_t step = 1
    cdef int64_t number
    cdef int j
    for j in range(dim):
        number = cell_around(x[j * stride + i], i, j, per_width[j], torus)
        if not (<const real*> torus.width)[j] > 0:
            number %= cells[j]
            if number < 0:
                number += cells[j]
        bucket += step * <uint64_t> min(number, cells[j] - 1)
        step *= <uint64_t> cells[j]
    return bucket


cdef inline uint64_t bucket_in_box(
    int dim, int64_t stride, const real* x, int64_t i, int size_class, const Collisions* data,
) noexcept nogil:
    return bucket_around(
        dim, stride, x, i, data.cells + 3 * size_class, data.per_width + 3 * size_class, &data.torus,
    )


cdef inline void find_buckets(int dim, int64_t n, int64_t stride, const real* x, const Collisions* data) noexcept nogil:
    """Find the buckets in a periodic box; separate from `sort_bodies`, which must stay small for inlining."""
    cdef int64_t i
    for i in range(n):
        if not is_seen(dim, stride, x, i, &data.torus):
            data.bucket[i] = FAR_OUT
        elif data.size_class[i] < data.classes:
            data.bucket[i] = <uint32_t> bucket_in_box(dim, stride, x, i, data.size_class[i], data)
        else:
            data.bucket[i] = 0


cdef inline bint is_seen(int dim, int64_t stride, const real* x, int64_t i, const Torus* torus) noexcept nogil:
    cdef int j
    for j in range(dim):
        if not seen(x[j * stride + i], j, torus):
            return False
    return True


cdef inline bint looks_around(int64_t i, const Collisions* data) noexcept nogil:
    """True if a body is active, and not too far outside of a periodic box."""
    return data.size_class[i] != NOWHERE and not (is_periodic(&data.torus) and data.bucket[i] == FAR_OUT)


cdef inline int64_t cell_around(
    real x, int64_t body, int axis, double per_width, const Torus* torus,
) noexcept nogil:
    """Cell number of a coordinate along one axis, counted from the lower side of the box."""
    cdef double at
    if not (<const real*> torus.width)[axis] > 0:
        return cell(x, per_width, body)
    at = inside(x, axis, torus)
    at = (at - (<const real*> torus.lower)[axis]) * per_width
    return <int64_t> at if at > 0 and at < 2147483648.0 else 0


cdef inline void sort_bodies(int dim, int64_t n, int64_t stride, const real* x, const Collisions* data) noexcept nogil:
    """Sort bodies except points into slots by bucket, then index: a counting sort.

    In a periodic box, call `find_buckets` before. For searches that read `place`, call `copy_places` afterwards.
    """
    # Local copies of pointers: compilers must assume that each store may change those in `data`.
    cdef const uint8_t* size_class = data.size_class
    cdef const uint64_t* category = data.category
    cdef uint64_t* filters = data.filters
    cdef uint32_t* bucket = data.bucket
    cdef int32_t* start = data.start
    cdef bint periodic = is_periodic(&data.torus)
    cdef int32_t total = 0
    cdef int32_t count
    cdef int64_t i
    memset(start, 0, (data.mask + 2) * sizeof(int32_t))
    if category != NULL:
        memset(filters, 0, (data.mask + 1) * sizeof(uint64_t))
    for i in range(n):
        if size_class[i] >= data.classes or (periodic and bucket[i] == FAR_OUT):
            continue
        if not periodic:
            bucket[i] = <uint32_t> bucket_of(dim, stride, x, i, size_class[i], data)
        start[bucket[i] + 1] += 1
        if category != NULL:
            filters[bucket[i]] |= filter_of(category[i], data.mask_bits[i])
    for i in range(<int64_t> data.mask + 2):
        count = start[i]
        start[i] = total
        total += count
    for i in range(n):
        if size_class[i] >= data.classes or (periodic and bucket[i] == FAR_OUT):
            continue
        # While bodies are written, start[b + 1] is the next free slot of bucket b. Afterwards it is the end of b.
        data.body[start[bucket[i] + 1]] = <int32_t> i
        start[bucket[i] + 1] += 1


cdef inline void copy_places(int dim, int64_t n, int64_t stride, const real* x, const Collisions* data) noexcept nogil:
    """Copy positions and radii to the order of slots, for searches that read the data of many neighbours."""
    cdef const real* radius = <const real*> data.radius
    cdef real* place = <real*> data.place
    cdef int64_t i, slot
    cdef int j
    for slot in range(data.start[data.mask + 1]):
        i = data.body[slot]
        for j in range(dim):
            place[j * n + slot] = x[j * stride + i]
        place[dim * n + slot] = radius[i]


# The cells around a cell.

cdef inline uint64_t filter_of(uint64_t category, uint64_t mask) noexcept nogil:
    """Pack category and mask into one number. Bits b and b + 32 are merged, so that some cells are searched in vain."""
    return <uint32_t> (category | category >> 32) | (mask | mask >> 32) << 32


cdef inline uint64_t wanted_by(int64_t i, const Collisions* data) noexcept nogil:
    """Return the filter bits of bodies that this one may collide with: categories in its mask, masks with its category.
    """
    return filter_of(data.mask_bits[i], data.category[i]) if data.category != NULL else 0


cdef inline uint64_t wanted_in(uint64_t bucket, const Collisions* data) noexcept nogil:
    """Return the union of `wanted_by` over the bodies of a cell: its filter with masks and categories swapped."""
    return data.filters[bucket] << 32 | data.filters[bucket] >> 32 if data.category != NULL else 0


cdef inline bint may_collide(uint64_t wanted, uint64_t there) noexcept nogil:
    """True if bodies with the filter bits `there` may collide with a body whose `wanted_by` is `wanted`."""
    there &= wanted
    return <uint32_t> there != 0 and there >> 32 != 0


cdef inline bint collide_by_filter(int64_t i, int64_t j, const Collisions* data) noexcept nogil:
    """True if the masks of both bodies accept the other's category."""
    return data.category == NULL or (
        data.category[i] & data.mask_bits[j] != 0 and data.category[j] & data.mask_bits[i] != 0
    )


cdef inline bint is_empty_for(uint64_t wanted, uint64_t first, uint64_t last, const Collisions* data) noexcept nogil:
    """True if certainly no body in buckets `first` to `last` is wanted; the bits of all buckets are merged."""
    cdef uint64_t there = 0
    cdef uint64_t bucket
    if data.category == NULL:
        return False
    for bucket in range(first, last):
        there |= data.filters[bucket]
    return not may_collide(wanted, there)


cdef inline void look_around(uint64_t bucket, uint64_t wanted, const Collisions* data, Around* around) noexcept nogil:
    """List the ranges of slots of a cell and its neighbours, without rows of cells that have no wanted body."""
    cdef uint64_t first, last
    cdef int64_t row
    around.ranges = 0
    around.slots = 0
    for row in range(data.rows):
        first = (bucket + data.row[row]) & data.mask
        last = first + 3
        if last > data.mask + 1:  # the buckets are a ring
            last -= data.mask + 1
            if not is_empty_for(wanted, 0, last, data):
                around.first[around.ranges] = 0
                around.last[around.ranges] = data.start[last]
                around.slots += data.start[last]
                around.ranges += 1
            last = data.mask + 1
        if is_empty_for(wanted, first, last, data):
            continue
        around.first[around.ranges] = data.start[first]
        around.last[around.ranges] = data.start[last]
        around.slots += data.start[last] - data.start[first]
        around.ranges += 1


cdef inline void look_around_box(
    uint64_t bucket, uint64_t wanted, int size_class, int dim, const Collisions* data, Around* around,
) noexcept nogil:
    """`look_around` for a cell of this size class in a periodic box."""
    cdef int64_t row
    cdef int64_t kept = 0
    around.slots = 0
    buckets_around(bucket, data.cells + 3 * size_class, dim, around)
    for row in range(around.ranges):
        if is_empty_for(wanted, around.first[row], around.last[row], data):
            continue
        around.first[kept] = data.start[around.first[row]]
        around.last[kept] = data.start[around.last[row]]
        around.slots += around.last[kept] - around.first[kept]
        kept += 1
    around.ranges = kept


cdef inline void buckets_around(uint64_t bucket, const int64_t* cells, int dim, Around* around) noexcept nogil:
    """List the ranges of buckets of a cell and its neighbours in a periodic box, each bucket once even if few exist."""
    cdef int64_t at[3]
    cdef int64_t few[3]
    cdef int64_t a, b, row
    cdef int j
    for j in range(3):
        at[j] = 0
        few[j] = 1
        if j < dim:
            at[j] = <int64_t> bucket % cells[j]
            bucket = <uint64_t> (<int64_t> bucket // cells[j])
            few[j] = min(cells[j], <int64_t> 3)
    around.ranges = 0
    for b in range(few[2]):
        for a in range(few[1]):
            row = 0
            if dim > 2:
                row = (at[2] + b - 1 + cells[2]) % cells[2] if few[2] == 3 else b
            if dim > 1:
                row = row * cells[1] + ((at[1] + a - 1 + cells[1]) % cells[1] if few[1] == 3 else a)
            row = row * cells[0]
            if cells[0] <= 3:
                add_buckets(row, row + cells[0], around)
            elif at[0] == 0:
                add_buckets(row, row + 2, around)
                add_buckets(row + cells[0] - 1, row + cells[0], around)
            elif at[0] == cells[0] - 1:
                add_buckets(row, row + 1, around)
                add_buckets(row + cells[0] - 2, row + cells[0], around)
            else:
                add_buckets(row + at[0] - 1, row + at[0] + 2, around)


cdef inline void add_buckets(int64_t first, int64_t last, Around* around) noexcept nogil:
    around.first[around.ranges] = <int32_t> first
    around.last[around.ranges] = <int32_t> last
    around.ranges += 1


# Grids that are rebuilt in each step.

cdef inline void classify(
    int64_t n, const real* radius, const uint8_t* alive, uint8_t* size_class, Collisions* data,
) noexcept nogil:
    """Assign size classes, as `Grid` of broad_phase.py does."""
    cdef double wide, limit
    cdef double widest = 0
    cdef int64_t i
    cdef int number = 0
    for i in range(n):
        # Bodies without a size (points at rest), or whose radius is not finite, are in no class, so that others do not
        # find them, but they search all classes. Inactive bodies do not search.
        if alive[i] == NOWHERE:
            size_class[i] = NOWHERE
        elif not radius[i] > 0 or not radius[i] < INFINITY:
            size_class[i] = MOST_CLASSES
        else:
            size_class[i] = 0
            widest = radius[i] if radius[i] > widest else widest
    while widest > 0:
        wide = 1 / widest / (2.5 * (1 + 1.0 / 64))
        data.per_cell[number] = wide if wide < 1e300 else 1e300
        limit = widest / 4 if number + 1 < MOST_CLASSES else -INFINITY  # the last class has all smaller bodies
        number += 1
        widest = 0
        for i in range(n):
            if size_class[i] == number - 1 and not radius[i] > limit:
                size_class[i] = <uint8_t> number
                widest = radius[i] if radius[i] > widest else widest
    data.classes = number
    data.points = True


cdef inline void lay_around(int dim, const real* width, Collisions* data) noexcept nogil:
    """Lay out the cells of a periodic box for each size class, as `laid_around` of broad_phase.py does."""
    cdef int64_t* cells
    cdef double most = 65536
    cdef double many
    cdef int number, j, largest
    for number in range(data.classes):
        cells = data.cells + 3 * number
        for j in range(dim):
            many = width[j] * data.per_cell[number] if width[j] > 0 else most
            cells[j] = <int64_t> (1 if not many > 1 else (many if many < most else most))
        while True:
            many = 1
            largest = 0
            for j in range(dim):
                many *= cells[j]
                if cells[j] > cells[largest]:
                    largest = j
            if many <= data.mask + 1:
                break
            cells[largest] = (cells[largest] + 1) // 2
        for j in range(dim):
            data.per_width[3 * number + j] = (
                <double> cells[j] / <double> width[j] if width[j] > 0 else data.per_cell[number]
            )


# Lists of partners, in ascending order.

cdef enum:
    SHORT = 24              # up to this length, insertion sort is faster


cdef inline void sort(int32_t* a, int32_t count) noexcept nogil:
    """Sort ascending: insertion sort if short, else heapsort."""
    cdef int32_t i, j, value
    cdef bint sorted = True
    for i in range(1, count):
        sorted = sorted and a[i - 1] < a[i]
    if sorted:
        return
    if count <= SHORT:
        for i in range(1, count):
            value = a[i]
            j = i
            while j > 0 and a[j - 1] > value:
                a[j] = a[j - 1]
                j -= 1
            a[j] = value
        return
    for i in range(count // 2 - 1, -1, -1):
        sift(a, i, count)
    for i in range(count - 1, 0, -1):
        value = a[0]
        a[0] = a[i]
        a[i] = value
        sift(a, 0, i)


cdef inline void sift(int32_t* a, int32_t i, int32_t count) noexcept nogil:
    """Sift a number down a heap."""
    cdef int32_t value = a[i]
    cdef int32_t child = 2 * i + 1
    while child < count:
        if child + 1 < count and a[child + 1] > a[child]:
            child += 1
        if a[child] <= value:
            break
        a[i] = a[child]
        i = child
        child = 2 * i + 1
    a[i] = value


cdef inline int32_t keep_lowest(int32_t* a, int32_t count, int32_t value) noexcept nogil:
    """Insert a number into an ascending list of the lowest PAIRS_PER_BODY ones; return its length."""
    cdef int32_t j
    if count == PAIRS_PER_BODY:
        if value > a[count - 1]:
            return count
        count -= 1
    j = count
    while j > 0 and a[j - 1] > value:
        a[j] = a[j - 1]
        j -= 1
    a[j] = value
    return count + 1


cdef inline void sort_pairs(int64_t n, int64_t total, const Collisions* data) noexcept nogil:
    """Group pairs by lower body: partners of each body in ascending order."""
    cdef int64_t i, k, end
    memset(data.count, 0, n * sizeof(int32_t))
    for k in range(total):
        data.count[data.lower[k]] += 1
    end = 0
    for i in range(n):
        data.begin[i] = end
        end += data.count[i]
        data.count[i] = 0
    for k in range(total):
        i = data.lower[k]
        data.partner[data.begin[i] + data.count[i]] = data.higher[k]
        data.count[i] += 1
    for i in range(n):
        sort(data.partner + data.begin[i], data.count[i])
