# The points around a place, and those nearest to it: the formulas of kickdrift/reference/neighbours.py.

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

from .cells cimport Cells, List, Ranges, add_range, bucket_at, bucket_of_cell, reserve
from ..constraints.grid cimport Around, buckets_around, cell, cell_around
from ..constraints.lists cimport sort
from ..space cimport is_periodic, toward


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
                    tests += 1
                    if not is_periodic(&cells.torus) or come_around(c, b, a, at, cells):
                        bucket = bucket_of_cell(at, cells)
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
