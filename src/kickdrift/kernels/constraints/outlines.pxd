# Distance of a body from one shape, and time of impact: formulas of kickdrift/reference/constraints/shapes.py.

from libc.stdint cimport int64_t

from ..abi.constraints cimport Shapes
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude, root, rounding
from ..simd.vec cimport real

cdef inline real away(int dim, const real* y, int64_t number, const Shapes* data, real* n) noexcept nogil:
    """Signed distance of y from a shape, and unit vector n away from it; inside, along the shortest way out."""
    cdef const real* a = <const real*> data.lower + number * dim
    cdef const real* b = <const real*> data.upper + number * dim
    return away_from_segment(dim, y, a, b, n) if data.segments else away_from_box(dim, y, a, b, n)


cdef inline bint passes(int dim, const real* y, real r, int64_t number, const Shapes* data) noexcept nogil:
    """True if a one-way shape lets a body pass that is at y at the beginning of a step: y is not above the shape."""
    cdef const real* above = <const real*> data.one_way + number * dim
    cdef const real* a = <const real*> data.lower + number * dim
    cdef const real* b = <const real*> data.upper + number * dim
    cdef real d[MAX_DIM]
    cdef real e[MAX_DIM]
    cdef real w[MAX_DIM]
    cdef real zero = 0
    cdef real sixteen = 16
    cdef real size
    cdef int j
    if data.segments:
        for j in range(dim):
            e[j] = b[j] - a[j]
            d[j] = y[j] - a[j]
        size = root(dot(dim, e, e))
        w[0], w[1] = above[0] * ((zero * size - e[1]) / size), above[0] * (e[0] / size)
        return dot(dim, w, d) < r - r / sixteen
    for j in range(dim):
        d[j] = y[j] - (b[j] if above[j] > 0 else a[j])
    return dot(dim, above, d) < r - r / sixteen


cdef inline real away_from_segment(int dim, const real* y, const real* a, const real* b, real* n) noexcept nogil:
    cdef real d[MAX_DIM]
    cdef real e[MAX_DIM]
    cdef real zero = 0
    cdef real one = 1
    cdef real along, square, r
    cdef int j
    for j in range(dim):
        e[j] = b[j] - a[j]
        d[j] = y[j] - a[j]
    along, square = dot(dim, d, e), dot(dim, e, e)
    if along > 0 and along < square:
        r = root(square)
        n[0], n[1] = (zero - e[1]) / r, e[0] / r
        r = dot(dim, n, d)
        if not r >= 0:
            n[0], n[1], r = -one * n[0], -one * n[1], zero - r
        return r
    for j in range(dim):
        d[j] = y[j] - (b[j] if along > 0 else a[j])
    r = root(dot(dim, d, d))
    if r > 0:
        n[0], n[1] = d[0] / r, d[1] / r
    else:
        n[0], n[1] = one, zero
    return r


cdef inline real away_from_box(int dim, const real* y, const real* a, const real* b, real* n) noexcept nogil:
    cdef real d[MAX_DIM]
    cdef real zero = 0
    cdef real one = 1
    cdef real r, displacement, sign
    cdef int j, axis
    for j in range(dim):
        d[j] = y[j] - (a[j] if y[j] < a[j] else (b[j] if y[j] > b[j] else y[j]))
    r = root(dot(dim, d, d))
    if not r <= 0:  # NaN, too, is not inside
        for j in range(dim):
            n[j] = d[j] / r
        return r
    axis, sign, r = 0, -one, y[0] - a[0]
    for j in range(1, dim):
        displacement = y[j] - a[j]
        if displacement < r:
            axis, r = j, displacement
    for j in range(dim):
        displacement = b[j] - y[j]
        if displacement < r:
            axis, sign, r = j, one, displacement
    for j in range(dim):
        n[j] = zero + sign if j == axis else zero
    return zero - r


cdef inline bint touch(
    bint through, int dim, const real* y, const real* motion, real r, int64_t number, const Shapes* data, real* share,
) noexcept nogil:
    """True if a point that moves from y comes within r of a shape; share: set to the share of the motion until then.
    If y is within r already: False with `through` (sensors), otherwise True only if the point moves deeper."""
    cdef const real* a = <const real*> data.lower + number * dim
    cdef const real* b = <const real*> data.upper + number * dim
    cdef real n[MAX_DIM]
    cdef real at[MAX_DIM]
    cdef real first = 2
    cdef real small = 0
    cdef int j
    if not through:
        for j in range(dim):
            small = small + (magnitude(y[j]) + magnitude(motion[j]))
        small = rounding(r) * small
    if away(dim, y, number, data, n) < r:
        share[0] = 0
        return not through and dot(dim, n, motion) < -small
    if data.segments:
        around_segment(dim, y, motion, r, a, b, &first)
    else:
        around_box(dim, y, motion, r, a, b, &first)
    share[0] = first
    if through or not first <= 1:
        return first <= 1
    for j in range(dim):
        at[j] = y[j] + first * motion[j]
    return not away(dim, at, number, data, n) > small or dot(dim, n, motion) < -small


cdef inline void keep_first(real t, real* first) noexcept nogil:
    if t <= 1 and t < first[0]:
        first[0] = t


cdef inline void around_segment(
    int dim, const real* y, const real* motion, real r, const real* a, const real* b, real* first,
) noexcept nogil:
    """Find the first contact with the two sides and two ends of a segment."""
    cdef real d[MAX_DIM]
    cdef real e[MAX_DIM]
    cdef real w[MAX_DIM]
    cdef real zero = 0
    cdef real square, size, q, dq, t, along
    cdef int j
    for j in range(dim):
        e[j] = b[j] - a[j]
        d[j] = y[j] - b[j]
    square = dot(dim, e, e)
    if around_point(dim, d, motion, r, &t):
        keep_first(t, first)
    for j in range(dim):
        d[j] = y[j] - a[j]
    if around_point(dim, d, motion, r, &t):
        keep_first(t, first)
    if not square > 0:
        return
    size = root(square)
    w[0], w[1] = (zero * size - e[1]) / size, e[0] / size
    q, dq = dot(dim, w, d), dot(dim, w, motion)
    if q > 0 and dq < 0:
        t = (q - r) / (zero * dq - dq)
    elif q < 0 and dq > 0:
        t = (zero * q - q - r) / dq
    else:
        return
    t = zero if t < 0 else t    # < 0 only by rounding errors: `touch` excludes starts within r
    for j in range(dim):
        d[j] = d[j] + t * motion[j]
    along = dot(dim, e, d)
    if t >= 0 and along >= 0 and along <= square:
        keep_first(t, first)


cdef inline void around_box(
    int dim, const real* y, const real* motion, real r, const real* a, const real* b, real* first,
) noexcept nogil:
    """Find the first contact with faces, edges and corners of a box, where a body is outside along 1, 2 or 3 axes."""
    cdef real d[MAX_DIM]
    cdef real m[MAX_DIM]
    cdef real zero = 0
    cdef real t
    cdef int j, axes, corner, count
    for axes in range(1, 1 << dim):
        count = 0
        for j in range(dim):
            count += (axes >> j) & 1
        if count == 1:
            for j in range(dim):
                if axes != 1 << j:
                    continue
                if motion[j] > 0 and y[j] <= a[j]:
                    t = (a[j] - r - y[j]) / motion[j]
                elif motion[j] < 0 and y[j] >= b[j]:
                    t = (b[j] + r - y[j]) / motion[j]
                else:
                    continue
                t = zero if t < 0 else t    # < 0 only by rounding errors: `touch` excludes starts within r
                if t >= 0 and is_within(dim, y, motion, t, a, b, axes):
                    keep_first(t, first)
            continue
        for corner in range(1 << dim):
            if corner & ~axes:
                continue
            count = 0
            for j in range(dim):
                if (axes >> j) & 1:
                    d[count] = y[j] - (b[j] if (corner >> j) & 1 else a[j])
                    m[count] = motion[j]
                    count += 1
            if around_point(count, d, m, r, &t) and is_within(dim, y, motion, t, a, b, axes):
                keep_first(t, first)


cdef inline bint is_within(
    int dim, const real* y, const real* motion, real t, const real* a, const real* b, int but,
) noexcept nogil:
    """True if a position is between the faces of all axes except those in the bit mask `but`."""
    cdef real place
    cdef int j
    for j in range(dim):
        if (but >> j) & 1:
            continue
        place = y[j] + t * motion[j]
        if not (a[j] <= place and place <= b[j]):
            return False
    return True


cdef inline bint around_point(int dim, const real* d, const real* motion, real r, real* t) noexcept nogil:
    """True if a body at offset d from a point comes within r of it; t: set to the share of the motion until then."""
    cdef real square = dot(dim, motion, motion)
    cdef real along = dot(dim, d, motion)
    cdef real outside = dot(dim, d, d) - r * r
    cdef real zero = 0
    cdef real under_root
    outside = zero if outside < 0 else outside  # < 0 only by rounding errors: `touch` excludes starts within r
    under_root = along * along - square * outside
    if not along < 0 or not under_root >= 0 or not outside >= 0:
        return False
    t[0] = outside / (root(under_root) - along)
    return True


# A walk through the leaves of a tree whose boxes overlap a given box. The tree is that of a Shapes struct, or that over
# all Shapes structs of `Contacts` (`level`).
#
# Disabled shapes stay in their leaves and are skipped: after a change of `enabled`, only boxes are fitted again.

cdef enum:
    DEEPEST = 128   # maximum size of the stack of tree nodes to visit


ctypedef struct Walk:
    int64_t waiting[DEEPEST]
    int64_t waits, next, last


cdef inline void begin_walk(Walk* walk, const Shapes* tree) noexcept nogil:
    walk.waiting[0] = 0
    walk.waits = 1 if tree.count > 0 else 0
    walk.next = walk.last = 0


cdef inline int64_t next_in_box(
    int dim, const double* low, const double* high, const Shapes* tree, Walk* walk,
) noexcept nogil:
    """Number of the next enabled shape in a leaf whose bounding box overlaps the given box, or -1."""
    cdef int64_t node
    while True:
        while walk.next < walk.last:
            walk.next += 1
            if is_enabled(tree.number[walk.next - 1], tree):
                return tree.number[walk.next - 1]
        if walk.waits == 0:
            return -1
        walk.waits -= 1
        node = walk.waiting[walk.waits]
        if not is_beside(dim, low, high, tree.bounds + node * 2 * dim):
            open_node(node, tree, walk)


cdef inline bint is_enabled(int64_t number, const Shapes* tree) noexcept nogil:
    return tree.enabled == NULL or tree.enabled[number]     # NULL: the tree over the Shapes structs of `Contacts`


cdef inline void open_node(int64_t node, const Shapes* tree, Walk* walk) noexcept nogil:
    """Begin to visit the shapes of a leaf, or push the two children of an inner node, the second of which is next."""
    if tree.leaves[node] == 0:
        walk.waiting[walk.waits] = tree.first[node]
        walk.waiting[walk.waits + 1] = tree.first[node] + 1
        walk.waits += 2
    else:
        walk.next, walk.last = tree.first[node], tree.first[node] + tree.leaves[node]


cdef inline bint is_beside(int dim, const double* low, const double* high, const double* bounds) noexcept nogil:
    cdef int j
    for j in range(dim):
        if not (low[j] <= bounds[dim + j] and high[j] >= bounds[j]):
            return True
    return False
