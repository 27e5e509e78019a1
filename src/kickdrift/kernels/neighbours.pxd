# Points in the cells of a grid, as constraints/broad_phase.py describes it; and who is near whom, by the formulas of
# kickdrift/reference/neighbours.py.

from libc.math cimport INFINITY, floor, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memset

from .constraints.grid cimport Around, bucket_around, buckets_around, cell, cell_around
from .constraints.lists cimport sort
from .abi.constraints cimport MOST_ROWS, Torus
from .space cimport is_periodic, nearest, toward

cdef enum:
    TESTS = 4_000_000       # of distances between two looks for Ctrl-C: some milliseconds

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


# Pairs. Of two cells side by side one looks at the other: half of those around are ahead.

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


# Around a place.

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


# The nearest. Cells are looked at in rings around that of the place, until what is left lies farther than those found.

cdef inline int64_t find_nearest(
    const double* x, int64_t k, const Cells* cells, int64_t* i, double* distance,
) noexcept nogil:
    """The k nearest to a place; returns how many tests it took."""
    cdef int64_t home[3]
    cdef int64_t at[3]
    cdef int64_t count = 0
    cdef int64_t tests = 0
    cdef int64_t ring = 0
    cdef int64_t a, b, c, slot
    cdef int64_t widest_a, widest_b
    cdef uint64_t bucket
    for c in range(3):
        home[c] = cell_at(x[c], c, 0, cells) if c < cells.dim else 0
    while True:
        # If there are fewer points than cells to look at, look at all points.
        if tests > 2 * cells.n + 64:
            count = 0
            for slot in range(cells.n):
                count = keep_nearest(x, slot, cells, k, count, i, distance)
            tests += cells.n
            break
        widest_b = ring if cells.dim > 1 else 0
        widest_a = ring if cells.dim > 2 else 0
        for a in range(-widest_a, widest_a + 1):
            for b in range(-widest_b, widest_b + 1):
                # Of rows inside the ring only both ends belong to it.
                c = -ring
                while c <= ring:
                    at[0], at[1], at[2] = home[0] + c, home[1] + b, home[2] + a
                    if is_periodic(&cells.torus):
                        tests += 1
                        if come_around(c, b, a, at, cells):
                            bucket = bucket_of_cells(at, cells)
                            for slot in range(cells.start[bucket], cells.start[bucket + 1]):
                                tests += 1
                                if is_in(slot, at, cells):
                                    count = keep_nearest(x, slot, cells, k, count, i, distance)
                        if c == -ring and ring > 0 and a != -ring and a != ring and b != -ring and b != ring:
                            c = ring
                        else:
                            c += 1
                        continue
                    bucket = (<uint64_t> at[0] + cells.step[1] * <uint64_t> at[1]
                              + cells.step[2] * <uint64_t> at[2]) & cells.mask
                    tests += 1
                    for slot in range(cells.start[bucket], cells.start[bucket + 1]):
                        tests += 1
                        if is_in(slot, at, cells):
                            count = keep_nearest(x, slot, cells, k, count, i, distance)
                    if c == -ring and ring > 0 and a != -ring and a != ring and b != -ring and b != ring:
                        c = ring
                    else:
                        c += 1
        # Cells are wider than the radius by more than rounding can hide.
        if count == k and distance[k - 1] < (ring * cells.radius) * (ring * cells.radius):
            break
        if count == cells.n:
            break
        ring += 1
    for c in range(count):
        distance[c] = sqrt(distance[c])
    for c in range(count, k):
        i[c], distance[c] = -1, INFINITY
    return tests


cdef inline int64_t cell_at(double x, int axis, int64_t body, const Cells* cells) noexcept nogil:
    """The number of the cell at a coordinate."""
    if is_periodic(&cells.torus):
        return min(cell_around(x, body, axis, cells.per_width[axis], &cells.torus), last_cell(axis, cells))
    return cell(x, cells.per_cell, body)


cdef inline int64_t last_cell(int axis, const Cells* cells) noexcept nogil:
    """Of a periodic box; along an open axis there is none."""
    if (<const double*> cells.torus.width)[axis] > 0:
        return cells.cells[axis] - 1
    return 9223372036854775807


cdef inline bint come_around(int64_t a, int64_t b, int64_t c, int64_t* at, const Cells* cells) noexcept nogil:
    """A cell so many cells beside another becomes that in the box; False where another way to it is as short."""
    cdef int64_t way[3]
    cdef int axis
    way[0], way[1], way[2] = a, b, c
    for axis in range(cells.dim):
        if not (<const double*> cells.torus.width)[axis] > 0:
            continue
        if way[axis] < -((cells.cells[axis] - 1) // 2) or way[axis] > cells.cells[axis] // 2:
            return False
        if at[axis] < 0:
            at[axis] += cells.cells[axis]
        elif at[axis] >= cells.cells[axis]:
            at[axis] -= cells.cells[axis]
    return True


cdef inline uint64_t bucket_of_cells(const int64_t* at, const Cells* cells) noexcept nogil:
    cdef int64_t bucket = 0
    cdef int64_t step = 1
    cdef int64_t number
    cdef int axis
    for axis in range(cells.dim):
        number = at[axis] % cells.cells[axis]
        if number < 0:
            number += cells.cells[axis]
        bucket += step * number
        step *= cells.cells[axis]
    return <uint64_t> bucket


cdef inline bint is_in(int64_t slot, const int64_t* at, const Cells* cells) noexcept nogil:
    """Is a point in this cell, and not in another of the same bucket?"""
    cdef int c
    for c in range(cells.dim):
        if cell_at(cells.place[c * cells.n + slot], c, cells.body[slot], cells) != at[c]:
            return False
    return True


cdef inline int64_t keep_nearest(
    const double* x, int64_t slot, const Cells* cells, int64_t k, int64_t count, int64_t* i, double* distance,
) noexcept nogil:
    """Enter a point among the k nearest, by their squares and then by index; how many there are now."""
    cdef double d
    cdef double square = 0
    cdef int64_t body = cells.body[slot]
    cdef int64_t place
    cdef int c
    for c in range(cells.dim):
        d = toward(cells.place[c * cells.n + slot] - x[c], c, &cells.torus)
        square = square + d * d if c > 0 else d * d
    if not square < INFINITY:
        return count
    if count == k:
        if square > distance[k - 1] or (square == distance[k - 1] and body > i[k - 1]):
            return count
        count -= 1
    place = count
    while place > 0 and (distance[place - 1] > square or (distance[place - 1] == square and i[place - 1] > body)):
        i[place] = i[place - 1]
        distance[place] = distance[place - 1]
        place -= 1
    i[place] = body
    distance[place] = square
    return count + 1


# In the way of what moves. The axis along which it goes farthest is cut at the borders of cells: in each slab the way
# passes few cells.

cdef inline int64_t find_in_way(
    const double* origin, const double* motion, double reach, const Cells* cells, int64_t* i, double* share,
) noexcept nogil:
    """The first point that comes as near as `reach`; returns how many tests it took."""
    cdef int64_t low[3]
    cdef int64_t high[3]
    cdef int64_t at[3]
    cdef int64_t tests = 0
    cdef int64_t slab, first, last, way, slot
    cdef double width = 1 / cells.per_cell
    cdef double wide = reach + width / 16        # by more than rounding can hide
    cdef double from_share, to_share, near, far
    cdef uint64_t bucket
    cdef int dim = cells.dim
    cdef int axis = 0
    cdef int c
    i[0], share[0] = -1, 1
    if is_periodic(&cells.torus):
        return meet_images(origin, motion, reach, cells, i, share)
    for c in range(1, dim):
        if (motion[c] if motion[c] > 0 else -motion[c]) > (motion[axis] if motion[axis] > 0 else -motion[axis]):
            axis = c
    way = -1 if motion[axis] < 0 else 1
    # Far out cells have other widths; and sooner all points than more cells than there are points.
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
            meet_point(origin, motion, reach, slot, cells, i, share)
        return cells.n
    first = cell(origin[axis] - way * wide, cells.per_cell, 0)
    last = cell(origin[axis] + motion[axis] + way * wide, cells.per_cell, 0)
    for c in range(3):
        low[c] = high[c] = 0
    slab = first
    while (last - slab) * way >= 0:
        # Where the way may be while a point of this slab is in it.
        from_share, to_share = 0, 1
        if motion[axis] != 0:
            near = ((slab if way > 0 else slab + 1) * width - way * wide - origin[axis]) / motion[axis]
            far = ((slab + 1 if way > 0 else slab) * width + way * wide - origin[axis]) / motion[axis]
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
                    bucket = (<uint64_t> at[0] + cells.step[1] * <uint64_t> at[1]
                              + cells.step[2] * <uint64_t> at[2]) & cells.mask
                    tests += 1
                    for slot in range(cells.start[bucket], cells.start[bucket + 1]):
                        tests += 1
                        meet_point(origin, motion, reach, slot, cells, i, share)
        slab += way
    return tests


cdef inline int64_t meet_images(
    const double* origin, const double* motion, double reach, const Cells* cells, int64_t* i, double* share,
) noexcept nogil:
    """In a periodic box: all points, in each of the boxes side by side that the way may touch."""
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
            if width[c] > 0:
                first[c] = <int64_t> floor((min(origin[c], end) - reach - upper[c]) * per_width[c])
                last[c] = <int64_t> floor((max(origin[c], end) + reach - lower[c]) * per_width[c]) + 1
    for turn[2] in range(first[2], last[2] + 1):
        for turn[1] in range(first[1], last[1] + 1):
            for turn[0] in range(first[0], last[0] + 1):
                tests += cells.n
                for slot in range(cells.n):
                    meet_image(origin, motion, reach, slot, turn, width, cells, i, share)
    return tests


cdef inline void meet_point(
    const double* origin, const double* motion, double reach, int64_t slot, const Cells* cells,
    int64_t* i, double* share,
) noexcept nogil:
    """Is this one sooner in the way, or as soon and of lower index?"""
    meet_image(origin, motion, reach, slot, NULL, NULL, cells, i, share)


cdef inline void meet_image(
    const double* origin, const double* motion, double reach, int64_t slot, const int64_t* turn, const double* width,
    const Cells* cells, int64_t* i, double* share,
) noexcept nogil:
    """The same of its image so many widths away; or of itself."""
    cdef double square = 0
    cdef double along = 0
    cdef double outside = 0
    cdef double d, under_root
    cdef double time = 0
    cdef int64_t body = cells.body[slot]
    cdef int c
    for c in range(cells.dim):
        if turn == NULL:
            d = origin[c] - cells.place[c * cells.n + slot]
        else:
            d = origin[c] - (cells.place[c * cells.n + slot] + turn[c] * width[c])
        square = square + motion[c] * motion[c] if c > 0 else motion[c] * motion[c]
        along = along + d * motion[c] if c > 0 else d * motion[c]
        outside = outside + d * d if c > 0 else d * d
    outside = outside - reach * reach
    if not outside <= 0:
        under_root = along * along - square * outside
        if not along < 0 or not under_root >= 0:
            return
        time = outside / (sqrt(under_root) - along)
        if not time <= 1:
            return
    if i[0] < 0 or time < share[0] or (time == share[0] and body < i[0]):
        i[0], share[0] = body, time
