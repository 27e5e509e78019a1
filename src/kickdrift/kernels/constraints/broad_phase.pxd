# The grid that finds the pairs that meet, as kickdrift/grid.py describes it, and kickdrift/reference/collisions.py
# which pairs that are. The cells beside a cell along the first axis are always in the adjacent buckets.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from libc.math cimport INFINITY

from ..abi.constraints cimport MOST_CLASSES, MOST_ROWS, NOWHERE, PAIRS_PER_BODY, Collisions, Torus
from ..forces.fields cimport root
from ..simd.vec cimport real
from ..space cimport inside, is_periodic, nearest, toward
from ..abi.plan cimport MAX_DIM

cdef enum:
    SHORT = 24              # lists that are sooner sorted by insertion
    TESTS = 2_000_000       # of distances between two looks for Ctrl-C: some milliseconds

# What the search has come to.
cdef enum Found:
    ALL
    CROWD
    GIVEN_UP

# Slots, from each first to before each last.
ctypedef struct Around:
    int64_t ranges
    int32_t first[2 * MOST_ROWS]
    int32_t last[2 * MOST_ROWS]
    int64_t slots               # in all of them


cdef inline bint find_pairs(
    int dim, int64_t n, int64_t stride, const real* x, const Collisions* data, void* owner,
) noexcept nogil:
    """The partners of all bodies; False where somebody wants to stop."""
    # By a pointer, so that neither is inlined: what they call is.
    cdef Found (*alike)(int, int64_t, const real*, const Collisions*, void*) noexcept nogil
    cdef Found found
    alike = find_alike[real]
    if is_periodic(&data.torus):
        find_buckets(dim, n, stride, x, data)
        alike = find_alike_around[real]
    sort_bodies(dim, n, stride, x, data)
    if data.classes == 1 and not data.points:
        found = alike(dim, n, x, data, owner)
    else:
        found = find_unlike(dim, n, stride, x, data, owner)
    if found == CROWD:
        found = find_few(dim, n, stride, x, data, owner)
    return found != GIVEN_UP


# Sorting.

cdef inline int64_t cell(double place, double per_cell, int64_t body) noexcept nogil:
    """The number of the cell at a coordinate. What is no number is near nothing, and is spread by index."""
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
    """Where the cell of a body would be if it were of this class."""
    cdef uint64_t bucket = 0
    cdef int j
    for j in range(dim):
        bucket += data.step[j] * <uint64_t> cell(x[j * stride + i], data.per_cell[size_class], i)
    return bucket & data.mask


cdef inline uint64_t bucket_around(
    int dim, int64_t stride, const real* x, int64_t i, const int64_t* cells, const double* per_width,
    const Torus* torus,
) noexcept nogil:
    """The same in a periodic box, whose cells are counted off row by row."""
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
    """Of bodies in a periodic box, before they are sorted. Beside `sort_bodies`, which compilers inline as it is."""
    cdef int64_t i
    for i in range(n):
        if data.size_class[i] < data.classes:
            data.bucket[i] = <uint32_t> bucket_in_box(dim, stride, x, i, data.size_class[i], data)


cdef inline int64_t cell_around(
    real x, int64_t body, int axis, double per_width, const Torus* torus,
) noexcept nogil:
    """The number of the cell at a coordinate, from the lower side of the box on."""
    cdef double at
    if not (<const real*> torus.width)[axis] > 0:
        return cell(x, per_width, body)
    at = inside(x, axis, torus)
    at = (at - (<const real*> torus.lower)[axis]) * per_width
    return <int64_t> at if at > 0 and at < 2147483648.0 else 0


cdef inline void sort_bodies(int dim, int64_t n, int64_t stride, const real* x, const Collisions* data) noexcept nogil:
    """Bodies but for points into the slots of their buckets, in the order of their indices: a counting sort.

    In a periodic box `find_buckets` comes before.
    """
    cdef const real* radius = <const real*> data.radius
    cdef real* place = <real*> data.place
    cdef int32_t total = 0
    cdef int32_t count
    cdef int64_t i, slot
    cdef int j
    memset(data.start, 0, (data.mask + 2) * sizeof(int32_t))
    for i in range(n):
        if data.size_class[i] < data.classes:
            if not is_periodic(&data.torus):
                data.bucket[i] = <uint32_t> bucket_of(dim, stride, x, i, data.size_class[i], data)
            data.start[data.bucket[i]] += 1
    for i in range(<int64_t> data.mask + 2):
        count = data.start[i]
        data.start[i] = total
        total += count
    for i in range(n):
        if data.size_class[i] >= data.classes:
            continue
        slot = data.start[data.bucket[i]]
        data.start[data.bucket[i]] += 1
        data.body[slot] = <int32_t> i
        for j in range(dim):
            place[j * n + slot] = x[j * stride + i]
        place[dim * n + slot] = radius[i]
    # Each start has moved on to its end, which is where the next begins.
    for i in range(<int64_t> data.mask, -1, -1):
        data.start[i + 1] = data.start[i]
    data.start[0] = 0


# All pairs that are near, unless there are too many.

cdef inline Found find_alike(
    int dim, int64_t n, const real* like, const Collisions* data, void* owner,
) noexcept nogil:
    """Where all bodies are of one class, those of a bucket look around together."""
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
            data.count[i] = find_partners(dim, n, slot, &around, like, data, data.partner + total)
            total += data.count[i]
            if total > PAIRS_PER_BODY * n:
                return CROWD
            tests += around.slots
            if tests > TESTS:
                tests = 0
                if data.look(owner):
                    return GIVEN_UP
    return ALL


cdef inline Found find_alike_around(
    int dim, int64_t n, const real* like, const Collisions* data, void* owner,
) noexcept nogil:
    """The same in a periodic box."""
    cdef Around around
    cdef int64_t total = 0
    cdef int64_t tests = 0
    cdef int64_t slot
    cdef uint64_t bucket
    cdef int32_t i
    for bucket in range(data.mask + 1):
        if data.start[bucket] == data.start[bucket + 1]:
            continue
        look_around_box(bucket, 0, dim, data, &around)
        for slot in range(data.start[bucket], data.start[bucket + 1]):
            i = data.body[slot]
            data.begin[i] = total
            data.count[i] = find_partners_around(dim, n, slot, &around, like, data, data.partner + total)
            total += data.count[i]
            if total > PAIRS_PER_BODY * n:
                return CROWD
            tests += around.slots
            if tests > TESTS:
                tests = 0
                if data.look(owner):
                    return GIVEN_UP
    return ALL


cdef inline void look_around(uint64_t bucket, const Collisions* data, Around* around) noexcept nogil:
    """The slots of the cells around a cell and in it."""
    cdef uint64_t first, last
    cdef int64_t row
    around.ranges = 0
    around.slots = 0
    for row in range(data.rows):
        first = (bucket + data.row[row]) & data.mask
        last = first + 3
        if last > data.mask + 1:  # around the ring
            last -= data.mask + 1
            around.first[around.ranges] = 0
            around.last[around.ranges] = data.start[last]
            around.slots += data.start[last]
            around.ranges += 1
            last = data.mask + 1
        around.first[around.ranges] = data.start[first]
        around.last[around.ranges] = data.start[last]
        around.slots += data.start[last] - data.start[first]
        around.ranges += 1


cdef inline void look_around_box(
    uint64_t bucket, int size_class, int dim, const Collisions* data, Around* around,
) noexcept nogil:
    """The same in a periodic box, around a cell of this class."""
    cdef int64_t row
    around.slots = 0
    buckets_around(bucket, data.cells + 3 * size_class, dim, around)
    for row in range(around.ranges):
        around.first[row] = data.start[around.first[row]]
        around.last[row] = data.start[around.last[row]]
        around.slots += around.last[row] - around.first[row]


cdef inline void buckets_around(uint64_t bucket, const int64_t* cells, int dim, Around* around) noexcept nogil:
    """The buckets of the cells around a cell of a periodic box, as ranges; each once, also where cells are few."""
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


cdef inline int32_t find_partners(
    int dim, int64_t n, int64_t slot, const Around* around, const real* like, const Collisions* data,
    int32_t* partner,
) noexcept nogil:
    """Bodies of higher index that are near, in ascending order; how many."""
    cdef const real* place = <const real*> data.place
    cdef const int32_t* body = data.body
    cdef int32_t i = body[slot]
    cdef real here[MAX_DIM + 1]
    cdef real size, reach, d, square
    cdef real quarter = 0.25
    cdef int32_t count = 0
    cdef int64_t row, k, last
    cdef int j
    for j in range(dim + 1):
        here[j] = place[j * n + slot]
    for row in range(around.ranges):
        last = around.last[row]
        for k in range(around.first[row], last):
            size = here[dim] + place[dim * n + k]
            reach = size + quarter * size
            d = place[k] - here[0]
            square = d * d
            for j in range(1, dim):
                d = place[j * n + k] - here[j]
                square = square + d * d
            # Half of them have a higher index, which no processor foresees: written down in any case.
            partner[count] = body[k]
            count += (square < reach * reach) & (body[k] > i)
    sort(partner, count)
    return count


cdef inline int32_t find_partners_around(
    int dim, int64_t n, int64_t slot, const Around* around, const real* like, const Collisions* data,
    int32_t* partner,
) noexcept nogil:
    """The same in a periodic box."""
    cdef const real* place = <const real*> data.place
    cdef const int32_t* body = data.body
    cdef int32_t i = body[slot]
    cdef real here[MAX_DIM + 1]
    cdef real size, reach, d, square
    cdef real quarter = 0.25
    cdef int32_t count = 0
    cdef int64_t row, k, last
    cdef int j
    for j in range(dim + 1):
        here[j] = place[j * n + slot]
    for row in range(around.ranges):
        last = around.last[row]
        for k in range(around.first[row], last):
            size = here[dim] + place[dim * n + k]
            reach = size + quarter * size
            d = place[k] - here[0]
            d = nearest(d, 0, &data.torus)
            square = d * d
            for j in range(1, dim):
                d = place[j * n + k] - here[j]
                d = nearest(d, j, &data.torus)
                square = square + d * d
            partner[count] = body[k]
            count += (square < reach * reach) & (body[k] > i)
    sort(partner, count)
    return count


cdef inline Found find_unlike(
    int dim, int64_t n, int64_t stride, const real* x, const Collisions* data, void* owner,
) noexcept nogil:
    """Where there are several classes, each body looks around among those of its own and of larger size."""
    cdef Around around
    cdef int64_t total = 0
    cdef int64_t tests = 0
    cdef int64_t row, k
    cdef int32_t i, j
    cdef int size_class
    for i in range(<int32_t> n):
        if data.size_class[i] == NOWHERE:
            continue
        for size_class in range(min(<int> data.classes, data.size_class[i] + 1)):
            if is_periodic(&data.torus):
                look_around_box(
                    bucket_in_box(dim, stride, x, i, size_class, data), size_class, dim, data, &around,
                )
            else:
                look_around(bucket_of(dim, stride, x, i, size_class, data), data, &around)
            for row in range(around.ranges):
                for k in range(around.first[row], around.last[row]):
                    j = data.body[k]
                    if not is_partner(dim, n, stride, x, i, k, size_class, data):
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
    int dim, int64_t n, int64_t stride, const real* x, int32_t i, int64_t k, int size_class, const Collisions* data,
) noexcept nogil:
    """Is what is in a slot of this class, near, and not to be found the other way around?"""
    cdef const real* place = <const real*> data.place
    cdef int32_t j = data.body[k]
    cdef real size, reach, d, square
    cdef real quarter = 0.25
    cdef int c
    if data.size_class[j] != size_class or (data.size_class[i] == size_class and j <= i):
        return False
    if data.on_way_x != NULL:
        return comes_near(dim, i, j, data, <const real*> data.on_way_x, <const real*> data.on_way_v)
    size = (<const real*> data.radius)[i] + place[dim * n + k]
    reach = size + quarter * size
    d = toward(place[k] - x[i], 0, &data.torus)
    square = d * d
    for c in range(1, dim):
        d = toward(place[c * n + k] - x[c * stride + i], c, &data.torus)
        square = square + d * d
    return square < reach * reach


cdef inline bint comes_near(
    int dim, int64_t i, int64_t j, const Collisions* data, const real* x, const real* v,
) noexcept nogil:
    """Do two come near each other within the step?"""
    cdef int64_t stride = data.on_way_stride
    cdef real h = <real> data.on_way_h
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
    size = (<const real*> data.on_way_radius)[i] + (<const real*> data.on_way_radius)[j]
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


cdef inline bint find_ways(
    int dim, double h, int64_t n, int64_t stride, const real* x, const real* v, const Collisions* data, void* owner,
) noexcept nogil:
    """The partners of all bodies within the step; False where somebody wants to stop."""
    cdef Collisions ways = data[0]
    cdef real* middle = <real*> data.middle
    cdef real* extent = <real*> data.extent
    cdef real half = 0.5
    cdef real way, square
    cdef int64_t i
    cdef int c
    cdef Found found
    for i in range(n):
        square = 0
        for c in range(dim):
            way = half * (<real> h * v[c * stride + i])
            middle[c * n + i] = x[c * stride + i] - way
            square = square + way * way
        extent[i] = (<const real*> data.radius)[i] + root(square)
    ways.radius = extent
    ways.size_class = data.way_class
    ways.on_way_x, ways.on_way_v, ways.on_way_radius = x, v, data.radius
    ways.on_way_stride, ways.on_way_h = stride, h
    classify(n, extent, data.size_class, data.way_class, &ways)
    if is_periodic(&data.torus):
        lay_around(dim, <const real*> data.torus.width, &ways)
        find_buckets(dim, n, n, middle, &ways)
    sort_bodies(dim, n, n, middle, &ways)
    found = find_unlike(dim, n, n, middle, &ways, owner)
    if found == CROWD:
        return find_pairs(dim, n, stride, x, data, owner)
    return found != GIVEN_UP


cdef inline void classify(
    int64_t n, const real* radius, const uint8_t* alive, uint8_t* size_class, Collisions* data,
) noexcept nogil:
    """Classes of size, as `Grid` of broad_phase.py makes them."""
    cdef double widest, wide
    cdef int64_t i
    cdef int number = 0
    cdef bint more = True
    for i in range(n):
        size_class[i] = 0
    while more and number < MOST_CLASSES:
        # Those of this class are the ones that are left of the last.
        widest = 0
        for i in range(n):
            if size_class[i] == number and radius[i] > widest and radius[i] < INFINITY:
                widest = radius[i]
        if not widest > 0:
            break
        wide = 1 / widest / (2.5 * (1 + 1.0 / 64))
        data.per_cell[number] = wide if wide < 1e300 else 1e300
        more = False
        for i in range(n):
            if size_class[i] == number and not radius[i] > widest / 4 and number + 1 < MOST_CLASSES:
                size_class[i] = <uint8_t> (number + 1)
                more = True
        number += 1
    data.classes = number
    data.points = True
    # Points that stand still, and what is no number, meet none of their own; and who does not live meets nobody.
    for i in range(n):
        if alive[i] == NOWHERE:
            size_class[i] = NOWHERE
            continue
        if not radius[i] > 0 or not radius[i] < INFINITY:
            size_class[i] = <uint8_t> number


cdef inline void lay_around(int dim, const real* width, Collisions* data) noexcept nogil:
    """Cells of a periodic box for each class of size, as `laid_around` of broad_phase.py lays them."""
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


# Of a crowd, few.

cdef inline Found find_few(
    int dim, int64_t n, int64_t stride, const real* x, const Collisions* data, void* owner,
) noexcept nogil:
    """Each body looks at the first few in each cell around it, and takes the first few that are near."""
    cdef int32_t partner[PAIRS_PER_BODY]
    cdef int32_t count
    cdef int64_t total = 0
    cdef int64_t tests = 0
    cdef int64_t row, k, first
    cdef uint64_t bucket, beside
    cdef int32_t i
    cdef int size_class, c, width
    cdef bint own
    cdef Around around
    # Of each bucket the first slot of those whose turn has not come, which are those of higher index.
    memcpy(data.next, data.start, (data.mask + 1) * sizeof(int32_t))
    for i in range(<int32_t> n):
        count = 0
        if data.size_class[i] == NOWHERE:
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
                width = around.last[row] - around.first[row] if is_periodic(&data.torus) else 3
                for c in range(width):
                    if is_periodic(&data.torus):
                        beside = <uint64_t> (around.first[row] + c)
                    else:
                        beside = (bucket + data.row[row] + <uint64_t> c) & data.mask
                    first = data.next[beside] if own else data.start[beside]
                    for k in range(first, min(first + PAIRS_PER_BODY, <int64_t> data.start[beside + 1])):
                        tests += 1
                        if is_partner(dim, n, stride, x, i, k, size_class, data):
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


cdef inline int32_t keep_lowest(int32_t* a, int32_t count, int32_t value) noexcept nogil:
    """Put a number into an ascending list of the lowest ones; how many there are now."""
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
    """Pairs become the partners of each body, in ascending order."""
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


cdef inline void sort(int32_t* a, int32_t count) noexcept nogil:
    """Ascending: by insertion, or where that takes long as a heap."""
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
    """Let a number sink in a heap until none below is larger."""
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
