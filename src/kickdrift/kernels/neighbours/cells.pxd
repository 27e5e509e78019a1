# Points in a cell grid, as constraints/broad_phase.py describes it; and growing result lists.

from libc.math cimport floor, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memset

from ..abi.constraints cimport MOST_ROWS, Torus
from ..constraints.grid cimport Around, bucket_around, buckets_around, cell, sort
from ..space cimport is_periodic, nearest, toward


ctypedef struct Cells:
    int dim
    int64_t n
    double radius
    double per_cell         # 1 / cell width; cells are wider than the radius
    uint64_t mask           # number of buckets - 1
    uint64_t step[3]        # hash step along each axis, in buckets
    Torus torus             # periodic box, with all points inside; or open space
    int64_t cells[3]        # periodic only: cells per axis
    double per_width[3]     # periodic only: 1 / cell width per axis
    const double* x         # points, (n, dim)
    int32_t* start          # first slot of each bucket
    uint32_t* bucket        # bucket of each point
    int32_t* body           # point of each slot, sorted by bucket, then index
    double* place           # coordinates in slot order, component by component
    const double* size      # radius of each point, added to the reach of casts; or NULL
    double largest          # the largest size

# Growing array of results.
ctypedef struct List:
    int32_t* number
    int64_t count
    int64_t capacity

# Ranges of slots: first, end.
ctypedef struct Ranges:
    int count
    int32_t first[2 * MOST_ROWS]
    int32_t last[2 * MOST_ROWS]


cdef inline bint reserve(List* found, int64_t more) noexcept nogil:
    """Make room for `more` numbers; return False if memory is exhausted."""
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
    """Sort points by bucket, then index: a counting sort."""
    cdef int64_t i, slot
    cdef int32_t count
    cdef int32_t total = 0
    cdef int c
    memset(cells.start, 0, (cells.mask + 3) * sizeof(int32_t))
    for i in range(cells.n):
        cells.bucket[i] = <uint32_t> bucket_at(cells.x + i * cells.dim, cells, i)
        cells.start[cells.bucket[i] + 1] += 1
    # While points are written, start[b + 1] is the next free slot of bucket b. Afterwards it is the end of that bucket.
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
    """Append the slots of `width` adjacent buckets, modulo the number of buckets."""
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
    """Bucket of a cell in open space."""
    return (<uint64_t> at[0] + cells.step[1] * <uint64_t> at[1] + cells.step[2] * <uint64_t> at[2]) & cells.mask


# Points within a radius of a position: the formulas of kickdrift/reference/neighbours.py.


cdef inline int64_t find_around(const double* x, const Cells* cells, List* found) noexcept nogil:
    """Append the points near a position, ascending; return the number of tests, or -1 if memory is exhausted."""
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


# Pairs of points within a radius: the formulas of kickdrift/reference/neighbours.py.


cdef enum:
    TESTS = 4_000_000       # distance tests between two Ctrl-C checks, some milliseconds


# Half-stencil: each pair of adjacent cells is searched from one of them only.

cdef inline int64_t find_ahead(int dim, uint64_t* bucket, const Cells* cells, List* lower, List* higher) noexcept nogil:
    """Append the pairs of the buckets from `bucket` on, up to TESTS tests; return -1 if memory is exhausted."""
    cdef Ranges ahead
    cdef int64_t tests = 0
    cdef int64_t p, total
    cdef int32_t end
    cdef int row
    while bucket[0] <= cells.mask and tests < TESTS:
        end = cells.start[bucket[0] + 1]
        if end > cells.start[bucket[0]]:
            # The rest of the point's own cell and the next cell are the first range.
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
    """`find_ahead` in a periodic box: each cell searches its full neighbourhood for points of higher index."""
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
            # Branch-free: hits are unpredictable, so each pair is stored, and kept or overwritten.
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
    """Sort pairs by one of their two points: a counting sort, which is stable.

    row: number of each point in the output; NULL: its index.
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


# First point hit along a displacement: the formulas of kickdrift/reference/neighbours.py. The axis along which the
# displacement is longest is cut into slabs at cell borders. In each slab the path crosses few cells.


cdef inline int64_t find_along_ray(
    const double* origin, const double* motion, double reach, int64_t skip, const Cells* cells, int64_t* i,
    double* share,
) noexcept nogil:
    """Find the first point, other than `skip`, that comes within `reach`; return the number of tests."""
    cdef int64_t low[3]
    cdef int64_t high[3]
    cdef int64_t at[3]
    cdef int64_t tests = 0
    cdef int64_t slab, first, last, displacement, slot
    cdef double width = 1 / cells.per_cell
    cdef double wide = reach + cells.largest + width / 16    # margin far above rounding errors
    cdef double from_share, to_share, near, far
    cdef uint64_t bucket
    cdef int dim = cells.dim
    cdef int axis = 0
    cdef int c
    i[0], share[0] = -1, 1
    if is_periodic(&cells.torus):
        return hit_images(origin, motion, reach, skip, cells, i, share)
    for c in range(1, dim):
        if (motion[c] if motion[c] > 0 else -motion[c]) > (motion[axis] if motion[axis] > 0 else -motion[axis]):
            axis = c
    displacement = -1 if motion[axis] < 0 else 1
    # Test all points if coordinates are too large for the grid, or if the path crosses more cells than points exist.
    near = wide
    for c in range(dim):
        far = (origin[c] if origin[c] > 0 else -origin[c]) + (motion[c] if motion[c] > 0 else -motion[c]) + wide
        near = far if far > near else near
    far = 1
    for c in range(dim):
        far = far * ((2 * wide + (width if c != axis else
                                  (motion[c] if motion[c] > 0 else -motion[c]))) * cells.per_cell + 2)
    if not (near * cells.per_cell < 1e9 and far < cells.n):
        for slot in range(cells.n):
            hit_image(origin, motion, reach, skip, slot, NULL, NULL, cells, i, share)
        return cells.n
    first = cell(origin[axis] - displacement * wide, cells.per_cell, 0)
    last = cell(origin[axis] + motion[axis] + displacement * wide, cells.per_cell, 0)
    for c in range(3):
        low[c] = high[c] = 0
    slab = first
    while (last - slab) * displacement >= 0:
        # Part of the path during which points of this slab are within reach.
        from_share, to_share = 0, 1
        if motion[axis] != 0:
            near = slab if displacement > 0 else slab + 1
            near = (near * width - displacement * wide - origin[axis]) / motion[axis]
            far = ((slab + 1 if displacement > 0 else slab) * width + displacement * wide - origin[axis]) / motion[axis]
            from_share = min(max(near, 0.0), 1.0)
            to_share = min(max(far, 0.0), 1.0)
        if i[0] >= 0 and from_share > share[0]:
            break
        for c in range(dim):
            near, far = origin[c] + from_share * motion[c], origin[c] + to_share * motion[c]
            low[c] = cell(min(near, far) - wide, cells.per_cell, 0)
            high[c] = cell(max(near, far) + wide, cells.per_cell, 0)
        low[axis] = high[axis] = slab
        for at[2] in range(low[2], high[2] + 1):
            for at[1] in range(low[1], high[1] + 1):
                for at[0] in range(low[0], high[0] + 1):
                    bucket = bucket_of_cell(at, cells)
                    tests += 1
                    for slot in range(cells.start[bucket], cells.start[bucket + 1]):
                        tests += 1
                        hit_image(origin, motion, reach, skip, slot, NULL, NULL, cells, i, share)
        slab += displacement
    return tests


cdef inline int64_t hit_images(
    const double* origin, const double* motion, double reach, int64_t skip, const Cells* cells, int64_t* i,
    double* share,
) noexcept nogil:
    """Test all points, in every periodic image that the path may touch."""
    cdef const double* lower = <const double*> cells.torus.lower
    cdef const double* upper = <const double*> cells.torus.upper
    cdef const double* width = <const double*> cells.torus.width
    cdef const double* per_width = <const double*> cells.torus.per_width
    cdef int64_t first[3]
    cdef int64_t last[3]
    cdef int64_t turn[3]
    cdef int64_t slot
    cdef int64_t tests = 0
    cdef double end
    cdef int c
    for c in range(3):
        first[c] = last[c] = 0
        if c < cells.dim:
            end = origin[c] + motion[c]
            if not end - end == 0:
                return 1    # a path with NaN or infinity hits nothing
            if width[c] > 0:
                first[c] = <int64_t> floor((min(origin[c], end) - reach - upper[c]) * per_width[c])
                last[c] = <int64_t> floor((max(origin[c], end) + reach - lower[c]) * per_width[c]) + 1
    for turn[2] in range(first[2], last[2] + 1):
        for turn[1] in range(first[1], last[1] + 1):
            for turn[0] in range(first[0], last[0] + 1):
                tests += cells.n
                for slot in range(cells.n):
                    hit_image(origin, motion, reach, skip, slot, turn, width, cells, i, share)
    return tests


cdef inline void hit_image(
    const double* origin, const double* motion, double reach, int64_t skip, int64_t slot, const int64_t* turn,
    const double* width, const Cells* cells, int64_t* i, double* share,
) noexcept nogil:
    """Replace hit i at `share` of the motion if this point is hit earlier, or as early with a lower index. turn: number
    of box widths to the periodic image of the point, per axis; NULL: open space."""
    cdef double d[3]
    cdef double time
    cdef int64_t body = cells.body[slot]
    cdef int c
    if body == skip:
        return
    for c in range(cells.dim):
        if turn == NULL:
            d[c] = origin[c] - cells.place[c * cells.n + slot]
        else:
            d[c] = origin[c] - (cells.place[c * cells.n + slot] + turn[c] * width[c])
    time = time_of_hit(cells.dim, d, motion, reach, 0 if cells.size == NULL else cells.size[body])
    if time <= 1 and (i[0] < 0 or time < share[0] or (time == share[0] and body < i[0])):
        i[0], share[0] = body, time


cdef inline double time_of_hit(
    int dim, const double* d, const double* motion, double radius, double size,
) noexcept nogil:
    """Share of the motion after which a circle at separation d touches another of radius `size`; above 1: it does not.

    A ray, whose radius is 0, hits a circle only if it enters it: a tangent does not.
    """
    cdef double reach = radius + size
    cdef double square = 0
    cdef double along = 0
    cdef double outside = 0
    cdef double across = 0
    cdef bint ray = radius == 0 and size > 0
    cdef double under_root, apart
    cdef int c
    for c in range(dim):
        square = square + motion[c] * motion[c] if c > 0 else motion[c] * motion[c]
        along = along + d[c] * motion[c] if c > 0 else d[c] * motion[c]
        outside = outside + d[c] * d[c] if c > 0 else d[c] * d[c]
    outside = outside - reach * reach
    if outside < 0 or (outside == 0 and not ray):
        return 0
    if not along < 0:
        return 2
    under_root = along * along - square * outside
    if ray:
        # Rounding errors of this difference are large for a tangent, and for a small circle.
        if not square > 0:
            return 2
        for c in range(dim):
            apart = d[c] - along / square * motion[c]
            across = across + apart * apart if c > 0 else apart * apart
        under_root = square * (reach * reach - across)
        if not under_root > 0:
            return 2
    if not under_root >= 0:
        return 2
    return outside / (sqrt(under_root) - along)
