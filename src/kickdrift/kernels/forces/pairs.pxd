# Pair potentials with cutoff: `pair_potential` of kickdrift/reference/interactions.py.
#
# A neighbour list (Verlet 1967) has the candidates of each body. Each evaluation filters them by the exact cutoff and
# sums in index order. So results do not depend on when the list was built.

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from ..abi.constraints cimport NOWHERE, Collisions, Torus
from ..abi.coupled cimport LIST_TOO_SHORT, PAIRS_AT_ONCE, Pairs
from ..abi.plan cimport MAX_DIM
from ..constraints.grid cimport (
    Around, copy_places, find_buckets, is_seen, look_around, look_around_box, looks_around, sort, sort_bodies,
)
from ..simd.vec cimport real, vec, vec_root, width
from ..space cimport is_periodic, nearest

cdef enum:
    SPARE = 32      # gathered pairs are evaluated when there is room for fewer than this


cdef inline bint fresh(int dim, int64_t stride, const real* x, const Pairs* data) noexcept nogil:
    """True if the list still contains all pairs within the cutoff: no body has moved more than 0.49 of the margin."""
    cdef const real* was = <const real*> data.was
    cdef real limit = <real> (0.49 * data.margin)
    cdef real square, d
    cdef int64_t i
    cdef int j
    cdef bint near = True
    if not data.listed:
        return False
    limit = limit * limit
    if is_periodic(&data.grid.torus):
        return fresh_around(dim, stride, x, limit, data)
    if data.alive != NULL:
        for i in range(data.n):
            near &= data.lived[i] == data.alive[i]
        if not near:
            return False
    for i in range(data.n):
        d = x[i] - was[i]
        square = d * d
        for j in range(1, dim):
            d = x[j * stride + i] - was[j * data.n + i]
            square = square + d * d
        near &= square <= limit
    return near


cdef inline bint fresh_around(int dim, int64_t stride, const real* x, real limit, const Pairs* data) noexcept nogil:
    """`fresh` in a periodic box: displacements are minimum images, and bodies too far outside are not in the list."""
    cdef const real* was = <const real*> data.was
    cdef real square, d
    cdef int64_t i
    cdef int j
    cdef bint lives
    cdef bint near = True
    for i in range(data.n):
        square = 0
        lives = (data.alive == NULL or data.alive[i]) and is_seen(dim, stride, x, i, &data.grid.torus)
        near &= (data.lived[i] != 0) == lives
        for j in range(dim):
            d = nearest(x[j * stride + i] - was[j * data.n + i], j, &data.grid.torus)
            square = square + d * d
        near &= square <= limit
    return near


cdef inline int32_t candidates(
    int dim, int64_t n, int64_t stride, const real* x, int32_t i, real reach, const Collisions* grid, int32_t* partner,
) noexcept nogil:
    """Store the bodies of higher index within a distance, ascending; return their number. reach: squared distance."""
    cdef const real* place = <const real*> grid.place
    cdef const int32_t* body = grid.body
    cdef real here[MAX_DIM]
    cdef real square, d
    cdef int32_t count = 0
    cdef int64_t row, k
    cdef Around around
    cdef int j
    for j in range(dim):
        here[j] = x[j * stride + i]
    if is_periodic(&grid.torus):
        look_around_box(grid.bucket[i], 0, 0, dim, grid, &around)
        return candidates_around(dim, n, here, i, reach, &around, grid, partner)
    look_around(grid.bucket[i], 0, grid, &around)
    for row in range(around.ranges):
        for k in range(around.first[row], around.last[row]):
            d = place[k] - here[0]
            square = d * d
            for j in range(1, dim):
                d = place[j * n + k] - here[j]
                square = square + d * d
            partner[count] = body[k]
            count += (square < reach) & (body[k] > i)
    sort(partner, count)
    return count


cdef inline int32_t candidates_around(
    int dim, int64_t n, const real* here, int32_t i, real reach, const Around* around, const Collisions* grid,
    int32_t* partner,
) noexcept nogil:
    """`candidates` in a periodic box."""
    cdef const real* place = <const real*> grid.place
    cdef const int32_t* body = grid.body
    cdef real square, d
    cdef int32_t count = 0
    cdef int64_t row, k
    cdef int j
    for row in range(around.ranges):
        for k in range(around.first[row], around.last[row]):
            d = nearest(place[k] - here[0], 0, &grid.torus)
            square = d * d
            for j in range(1, dim):
                d = nearest(place[j * n + k] - here[j], j, &grid.torus)
                square = square + d * d
            partner[count] = body[k]
            count += (square < reach) & (body[k] > i)
    sort(partner, count)
    return count


cdef inline bint make_list(int dim, int64_t stride, const real* x, Pairs* data) noexcept nogil:
    """Build the neighbour list; return False if it needs more than its capacity."""
    cdef real reach = <real> (data.cutoff + data.margin)
    cdef int64_t total = 0
    cdef int64_t i
    cdef int32_t count
    cdef int j
    data.listed = False
    for i in range(data.n):
        (<unsigned char*> data.grid.size_class)[i] = 0 if data.alive == NULL or data.alive[i] else NOWHERE
    for j in range(dim):
        memcpy(<real*> data.was + j * data.n, x + j * stride, data.n * sizeof(real))
    if is_periodic(&data.grid.torus):
        find_buckets(dim, data.n, stride, x, &data.grid)
    sort_bodies(dim, data.n, stride, x, &data.grid)
    copy_places(dim, data.n, stride, x, &data.grid)
    for i in range(data.n):
        data.lived[i] = looks_around(i, &data.grid)
    for i in range(data.n):
        data.begin[i] = total
        if data.lived[i]:
            count = candidates(dim, data.n, stride, x, <int32_t> i, reach * reach, &data.grid, data.near)
            if total + count > data.capacity:
                return False
            if count > 0:  # memcpy to the end of a full array would be undefined
                memcpy(data.partner + total, data.near, count * sizeof(int32_t))
            total += count
    data.begin[data.n] = total
    data.listed = True
    return True


cdef inline int32_t gather(
    int dim, int64_t stride, const real* x, int32_t i, const int32_t* partner, int64_t count, real reach,
    int32_t filled, const Pairs* data,
) noexcept nogil:
    """Append the pairs of a body within the cutoff; return the new number of pairs. reach: square of the cutoff."""
    cdef real* displacement = <real*> data.displacement
    cdef real* distance = <real*> data.distance
    cdef real here[MAX_DIM]
    cdef real square, d
    cdef int64_t k
    cdef int32_t other
    cdef int j
    for j in range(dim):
        here[j] = x[j * stride + i]
    for k in range(count):
        other = partner[k]
        d = x[other] - here[0]
        displacement[filled] = d
        square = d * d
        for j in range(1, dim):
            d = x[j * stride + other] - here[j]
            displacement[j * PAIRS_AT_ONCE + filled] = d
            square = square + d * d
        distance[filled] = square
        data.first[filled] = i
        data.second[filled] = other
        filled += (square < reach) & (square > 0)
    return filled


cdef inline int32_t gather_around(
    int dim, int64_t stride, const real* x, int32_t i, const int32_t* partner, int64_t count, real reach,
    int32_t filled, const Pairs* data,
) noexcept nogil:
    """`gather` in a periodic box."""
    cdef const Torus* torus = &data.grid.torus
    cdef real* displacement = <real*> data.displacement
    cdef real* distance = <real*> data.distance
    cdef int32_t* first = data.first
    cdef int32_t* second = data.second
    cdef real here[MAX_DIM]
    cdef real d[MAX_DIM]
    cdef real square
    cdef int64_t k
    cdef int32_t other
    cdef int j
    for j in range(dim):
        here[j] = x[j * stride + i]
    for k in range(count):
        other = partner[k]
        for j in range(dim):
            d[j] = nearest(x[j * stride + other] - here[j], j, torus)
            displacement[j * PAIRS_AT_ONCE + filled] = d[j]
        square = d[0] * d[0]
        for j in range(1, dim):
            square = square + d[j] * d[j]
        distance[filled] = square
        first[filled] = i
        second[filled] = other
        filled += (square < reach) & (square > 0)
    return filled


cdef inline int work_out(
    int dim, int64_t stride, int32_t filled, real* out, const Pairs* data, vec* like,
) noexcept nogil:
    """Evaluate the gathered pairs and add their forces in order."""
    cdef const real* displacement = <const real*> data.displacement
    cdef const real* pull = <const real*> data.pull
    cdef vec* distance = <vec*> data.distance
    cdef real f
    cdef int64_t i, j
    cdef int32_t k
    cdef int c, code
    for k in range((filled + <int32_t> width(like) - 1) // <int32_t> width(like)):
        distance[k] = vec_root(distance[k])
    code = data.formula(0, 0, filled, 1, PAIRS_AT_ONCE, data.distance, NULL, data.pull, data.slope)
    if code != 0:
        return code
    for k in range(filled):
        i = data.first[k]
        j = data.second[k]
        for c in range(dim):
            f = pull[k] * displacement[c * PAIRS_AT_ONCE + k]
            out[c * stride + i] = out[c * stride + i] + f
            out[c * stride + j] = out[c * stride + j] - f
    return 0


cdef inline int add_all_pairs(int dim, int64_t stride, const real* x, real* out, Pairs* data, vec* like) noexcept nogil:
    cdef real reach = <real> data.cutoff
    cdef const int32_t* partner
    cdef int64_t i, k, count, part
    cdef int32_t filled = 0
    cdef int code
    reach = reach * reach
    if not fresh(dim, stride, x, data) and not make_list(dim, stride, x, data) and data.capacity < data.most:
        return LIST_TOO_SHORT
    for i in range(data.n):
        if not data.lived[i]:
            continue
        if data.listed:
            partner = data.partner + data.begin[i]
            count = data.begin[i + 1] - data.begin[i]
        else:
            partner = data.near
            count = candidates(dim, data.n, stride, x, <int32_t> i, 2 * reach, &data.grid, data.near)
        k = 0
        while k < count:
            part = min(count - k, <int64_t> (PAIRS_AT_ONCE - 1 - filled))
            if is_periodic(&data.grid.torus):
                filled = gather_around(dim, stride, x, <int32_t> i, partner + k, part, reach, filled, data)
            else:
                filled = gather(dim, stride, x, <int32_t> i, partner + k, part, reach, filled, data)
            k += part
            if filled > PAIRS_AT_ONCE - SPARE:
                code = work_out(dim, stride, filled, out, data, like)
                if code != 0:
                    return code
                filled = 0
    return work_out(dim, stride, filled, out, data, like)


cdef inline int add_pairs(int64_t dim, int64_t stride, const real* x, real* out, Pairs* data, vec* like) noexcept nogil:
    """Add F = V'(r) d / r to the first body of each pair, d = x_j - x_i, and -F to the second."""
    if dim == 1:
        return add_all_pairs(1, stride, x, out, data, like)
    elif dim == 2:
        return add_all_pairs(2, stride, x, out, data, like)
    return add_all_pairs(3, stride, x, out, data, like)
