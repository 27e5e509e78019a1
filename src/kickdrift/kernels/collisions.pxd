# Bodies that meet each other: the formulas of kickdrift/reference/collisions.py, and the grid that finds the pairs.
#
# Cells are wider than any pair reaches, so that both bodies of a pair are in the same cell or in adjacent
# ones. They are counted off along one axis after the other into a ring of buckets, where far cells may
# share one: what is in the same bucket by chance is told apart by its distance. The cells beside a cell
# along the first axis are always in the adjacent buckets.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from .contacts cimport bounce, replace
from .holdplan cimport MOST_ROWS, PAIRS_PER_BODY, Collisions, Hold
from .lanes cimport real
from .plan cimport MAX_DIM
from .terms cimport dot, magnitude, root

cdef enum:
    SHORT = 24      # lists that are sooner sorted by insertion

# Slots, from each first to before each last.
ctypedef struct Around:
    int64_t ranges
    int32_t first[2 * MOST_ROWS]
    int32_t last[2 * MOST_ROWS]


cdef inline int collisions(
    double step, int64_t n, int64_t dim, int64_t stride, const real* gain, real* x, real* v, real* s,
    const Collisions* data,
) noexcept nogil:
    if data.per_cell > 0:
        if dim == 3:
            collide(3, <real> step, n, stride, gain, x, v, s, data)
        elif dim == 2:
            collide(2, <real> step, n, stride, gain, x, v, s, data)
        else:
            collide(1, <real> step, n, stride, gain, x, v, s, data)
    return 0


cdef inline void collide(
    int dim, real h, int64_t n, int64_t stride, const real* gain, real* x, real* v, real* s, const Collisions* data,
) noexcept nogil:
    cdef Around around
    cdef int64_t sweep, i, k
    cdef bint changed
    sort_bodies(dim, n, stride, x, data)
    if not find_pairs(dim, n, x, data):
        # Too many to be kept: each body's are found when it is its turn.
        for k in range(n):
            data.begin[data.body[k]] = k
        changed = False
        for i in range(n):
            look_around(data.bucket[i], data, &around)
            data.count[i] = find_partners(dim, n, data.begin[i], &around, x, data, data.partner)
            data.begin[i] = 0
            if meet_partners(0, dim, h, stride, i, gain, x, v, s, data):
                changed = True
        if changed:
            hold_walls(h, n, dim, stride, gain, x, v, s, data)
        return
    for sweep in range(data.iterations):
        changed = False
        for k in range(n):
            i = k if sweep % 2 == 0 else n - 1 - k
            if data.count[i] > 0 and meet_partners(sweep, dim, h, stride, i, gain, x, v, s, data):
                changed = True
        if not changed:
            return
        hold_walls(h, n, dim, stride, gain, x, v, s, data)


cdef inline void hold_walls(
    real h, int64_t n, int dim, int64_t stride, const real* gain, real* x, real* v, real* s, const Collisions* data,
) noexcept nogil:
    """What leans on a body that leans on a wall is held up by the wall in this step, not in later ones."""
    cdef const Hold* wall
    cdef int64_t number
    for number in range(data.walls):
        wall = &data.wall[number]
        wall.function(wall.kind, h, n, dim, stride, NULL, gain, x, v, s, wall.data)


# The grid.

cdef inline void sort_bodies(int dim, int64_t n, int64_t stride, const real* x, const Collisions* data) noexcept nogil:
    """Bodies into the slots of their buckets, in the order of their indices: a counting sort."""
    cdef const real* radius = <const real*> data.radius
    cdef real* place = <real*> data.place
    cdef uint64_t bucket
    cdef int32_t total = 0
    cdef int32_t count
    cdef double farthest = 70368744177664.0  # 2**46: beyond, rounding might put near bodies two cells apart
    cdef double c
    cdef int64_t i, slot, cell
    cdef int j
    memset(data.start, 0, (data.mask + 2) * sizeof(int32_t))
    for i in range(n):
        bucket = 0
        for j in range(dim):
            c = x[j * stride + i] * data.per_cell
            if not c > -farthest:  # or not a number
                c = -farthest
            if c > farthest:
                c = farthest
            cell = <int64_t> c
            bucket += data.step[j] * <uint64_t> (cell - (c < cell))
        data.bucket[i] = <uint32_t> (bucket & data.mask)
        data.start[data.bucket[i]] += 1
    for i in range(<int64_t> data.mask + 2):
        count = data.start[i]
        data.start[i] = total
        total += count
    for i in range(n):
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


cdef inline bint find_pairs(int dim, int64_t n, const real* like, const Collisions* data) noexcept nogil:
    """The partners of all bodies, if there is room for them."""
    cdef Around around
    cdef int64_t total = 0
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
                return False
    return True


cdef inline void look_around(uint64_t bucket, const Collisions* data, Around* around) noexcept nogil:
    """The slots of the cells around a cell and in it."""
    cdef uint64_t first, last
    cdef int64_t row
    around.ranges = 0
    for row in range(data.rows):
        first = (bucket + data.row[row]) & data.mask
        last = first + 3
        if last > data.mask + 1:  # around the ring
            last -= data.mask + 1
            around.first[around.ranges] = 0
            around.last[around.ranges] = data.start[last]
            around.ranges += 1
            last = data.mask + 1
        around.first[around.ranges] = data.start[first]
        around.last[around.ranges] = data.start[last]
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


# The pairs.

cdef inline bint meet_partners(
    int64_t sweep, int dim, real h, int64_t stride, int64_t i, const real* gain, real* x, real* v, real* s,
    const Collisions* data,
) noexcept nogil:
    """Let a body meet its partners; did any of them?"""
    cdef int32_t count = data.count[i]
    cdef const int32_t* partner = data.partner + data.begin[i]
    cdef bint changed = False
    cdef int32_t k
    for k in range(count):
        if meet_pair(sweep == 0, dim, h, stride, i, partner[count - 1 - k if sweep % 2 else k], gain, x, v, s, data):
            changed = True
    return changed


cdef inline bint meet_pair(
    bint first, int dim, real h, int64_t stride, int64_t i, int64_t j, const real* gain, real* x, real* v, real* s,
    const Collisions* data,
) noexcept nogil:
    cdef const real* radius = <const real*> data.radius
    cdef const real* weight = <const real*> data.weight
    cdef real d[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real g[MAX_DIM]
    cdef real f[MAX_DIM]
    cdef real y[MAX_DIM]
    cdef real w[MAX_DIM]
    cdef real zero = 0
    cdef real size = radius[i] + radius[j]
    cdef real overlap, share
    cdef int c
    for c in range(dim):
        d[c] = x[c * stride + j] - x[c * stride + i]
    overlap = size * size - dot(dim, d, d)
    if not overlap > 0 or not weight[i] + weight[j] > 0:
        return False
    for c in range(dim):
        u[c] = v[c * stride + j] - v[c * stride + i]
        f[c] = gain[c * stride + i]
        g[c] = gain[c * stride + j]
        if not weight[i] > 0:
            f[c] = zero * f[c]
        if not weight[j] > 0:
            g[c] = zero * g[c]
    if not meet(dim, d, u, size, overlap, f, g, <real> data.restitution, h, first):
        return False
    share = weight[i] / (weight[i] + weight[j])
    for c in range(dim):
        y[c] = x[c * stride + i] - share * d[c]
        w[c] = v[c * stride + i] - share * u[c]
    replace(dim, h, stride, i, y, w, x, v, s)
    share = weight[j] / (weight[i] + weight[j])
    for c in range(dim):
        y[c] = x[c * stride + j] + share * d[c]
        w[c] = v[c * stride + j] + share * u[c]
    replace(dim, h, stride, j, y, w, x, v, s)
    return True


cdef inline bint meet(
    int dim, real* d, real* u, real size, real overlap, const real* gain_i, const real* gain_j, real restitution,
    real h, bint first,
) noexcept nogil:
    """The way d and the velocity u from a body to the other become what is to be added to them."""
    cdef real zero = 0
    cdef real one = 1
    cdef real two = 2
    cdef real together = -dot(dim, d, u)
    cdef real time = 0
    cdef real at[MAX_DIM]
    cdef real n[MAX_DIM]
    cdef real past[MAX_DIM]
    cdef real r, speed, depth, pull, slow, inside, parting, k, e
    cdef int j
    cdef bint touched
    cdef real square = dot(dim, u, u)
    if together > 0:
        time = overlap / (root(together * together + square * overlap) + together)
    elif first and square > 0:
        time = (root(together * together + square * overlap) - together) / square
    touched = time > 0 and time <= h
    for j in range(dim):
        at[j] = d[j] - time * u[j] if touched else d[j]
    r = root(dot(dim, at, at))
    for j in range(dim):
        n[j] = at[j] / r if r > 0 else (one if j == 0 else zero)
    speed = -dot(dim, n, u)
    depth = speed * time if touched else size - r
    if speed <= 0 and not depth > -h * speed:
        return False

    pull = dot(dim, n, gain_i)
    slow = dot(dim, n, gain_j)
    e = magnitude(pull) + magnitude(slow)
    pull = pull - slow if pull > slow else zero
    slow = pull if restitution == one else e
    bounce(depth, speed, pull, slow, restitution, h, two * h if touched else zero, &inside, &parting)
    for j in range(dim):
        past[j] = u[j] + speed * n[j]
        u[j] = zero * u[j]
    if not touched and r < size:
        k = r / size
        for j in range(dim):
            u[j] = (k - one) * past[j]
        e = restitution if parting > 0 or restitution == one else zero
        parting = root(parting * parting + e * e * ((one - k * k) * dot(dim, past, past)))
    for j in range(dim):
        d[j] = (depth + inside) * n[j]
        u[j] = u[j] + (parting + speed) * n[j]
    return True
