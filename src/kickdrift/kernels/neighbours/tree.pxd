# k nearest points by a k-d tree (Bentley 1975); formulas of kickdrift/reference/neighbours.py. Nodes split at the
# median of their widest axis (Friedman, Bentley, Finkel 1977), so that all leaves have the same depth.
#
# Node i has the children 2 i and 2 i + 1; the root is 1. Points are stored in leaf order. Bounding boxes are rounded
# outwards, because they only give lower bounds of distances. Unused axes have coordinates 0.

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int64_t

from ..abi.constraints cimport Torus
from ..space cimport is_periodic, nearest

cdef enum:
    LEAF = 16               # maximum number of points per leaf
    DEEPEST = 32            # maximum number of levels: enough for 2**31 points

cdef extern from *:
    # exceeds the relative rounding error of a distance
    const double ROUNDING "(1 / 281474976710656.0)"     # 2**-48

ctypedef struct Point:
    double x[3]
    int64_t body

ctypedef struct Box:
    double middle[3]
    double half[3]          # half of the box's width

ctypedef struct Tree:
    int dim
    int64_t n
    int64_t leaves          # a power of two
    Torus torus             # periodic box, with all points inside; or open space
    Point* point            # points in leaf order
    Box* box                # bounding box of each node


cdef inline int64_t leaves_for(int64_t n) noexcept nogil:
    cdef int64_t leaves = 1
    while leaves * LEAF < n:
        leaves *= 2
    return leaves


# Construction.

cdef inline void plant(Tree* tree) noexcept nogil:
    """Sort the points into leaves and compute bounding boxes."""
    cdef int64_t chance = 1
    cdef int64_t level = 1
    cdef int64_t node, first, last
    cdef int axis
    while level <= tree.leaves:
        for node in range(level, 2 * level):
            first, last = first_of(node - level, level, tree), first_of(node - level + 1, level, tree)
            axis = enclose(first, last, &tree.box[node], tree)
            if level < tree.leaves:
                part(tree.point, first, last, first_of(2 * (node - level) + 1, 2 * level, tree), axis, &chance)
        level *= 2


cdef inline int64_t first_of(int64_t number, int64_t nodes, const Tree* tree) noexcept nogil:
    """Index of the first point of node `number` among the `nodes` of its level."""
    return tree.n * number // nodes


cdef inline int enclose(int64_t first, int64_t last, Box* box, const Tree* tree) noexcept nogil:
    """Compute the bounding box of points first to last; return its widest axis."""
    cdef double low[3]
    cdef double high[3]
    cdef int64_t k
    cdef int axis = 0
    cdef int c
    for c in range(3):
        low[c], high[c] = INFINITY, -INFINITY
    for k in range(first, last):
        for c in range(3):
            low[c] = min(low[c], tree.point[k].x[c])
            high[c] = max(high[c], tree.point[k].x[c])
    for c in range(3):
        box.middle[c] = 0.5 * low[c] + 0.5 * high[c]
        box.half[c] = max(high[c] - box.middle[c], box.middle[c] - low[c]) * (1 + ROUNDING)
        if is_periodic(&tree.torus) and c < tree.dim:
            box.half[c] += (<const double*> tree.torus.width)[c] * ROUNDING
        if box.half[c] > box.half[axis]:
            axis = c
    return axis


cdef inline void part(
    Point* point, int64_t first, int64_t last, int64_t middle, int axis, int64_t* chance,
) noexcept nogil:
    """Partition points around index `middle` by one coordinate (Hoare 1961, Find)."""
    cdef int64_t i, j
    cdef double pivot
    cdef Point held
    last -= 1
    while first < last:
        # Pseudorandom pivot, with a fixed seed (Park, Miller 1988): any fixed choice has worst cases, such as points on
        # a circle, for which it repeatedly picks an extreme.
        chance[0] = chance[0] * 48271 % 2147483647
        pivot = point[first + chance[0] % (last - first + 1)].x[axis]
        i, j = first, last
        while i <= j:
            while point[i].x[axis] < pivot:
                i += 1
            while pivot < point[j].x[axis]:
                j -= 1
            if i <= j:
                held = point[i]
                point[i] = point[j]
                point[j] = held
                i += 1
                j -= 1
        if j < middle:
            first = i
        if i > middle:
            last = j


# Queries.

cdef inline double least_square(const double* x, const Box* box, const Tree* tree) noexcept nogil:
    """Lower bound of the squared distance from a position to the points in a box."""
    cdef double total = 0
    cdef double d
    cdef int c
    for c in range(3):
        d = box.middle[c] - x[c]
        if is_periodic(&tree.torus) and c < tree.dim:
            d = nearest(d, c, &tree.torus)
        d = fabs(d) - box.half[c]
        d = d if d > 0 else 0
        total += d * d
    return total * (1 - ROUNDING)


cdef inline int64_t find_nearest(
    const double* place, int64_t k, const Tree* tree, int64_t* i, double* distance,
) noexcept nogil:
    """Find the k points nearest to a position, by squared distance, then index; return the number of tests."""
    cdef double x[3]
    cdef int64_t later[DEEPEST]     # stack of nodes to visit, the nearer child on top
    cdef double square[DEEPEST]     # lower bound of the squared distance to each node
    cdef int64_t waiting = 1
    cdef int64_t tests = 0
    cdef int64_t node, slot, farther
    cdef double left, right
    cdef int c
    for c in range(3):
        x[c] = place[c] if c < tree.dim else 0
    for slot in range(k):
        i[slot], distance[slot] = -1, INFINITY
    later[0], square[0] = 1, 0
    while waiting > 0:
        waiting -= 1
        if square[waiting] > distance[k - 1]:
            continue
        node = later[waiting]
        tests += 1
        if node < tree.leaves:
            left = least_square(x, &tree.box[2 * node], tree)
            right = least_square(x, &tree.box[2 * node + 1], tree)
            farther = right >= left
            later[waiting], square[waiting] = 2 * node + farther, right if farther else left
            later[waiting + 1], square[waiting + 1] = 2 * node + 1 - farther, left if farther else right
            waiting += 2
            continue
        for slot in range(first_of(node - tree.leaves, tree.leaves, tree),
                          first_of(node - tree.leaves + 1, tree.leaves, tree)):
            tests += 1
            keep(x, &tree.point[slot], k, tree, i, distance)
    for slot in range(k):
        distance[slot] = sqrt(distance[slot])
    return tests + k


cdef inline void keep(
    const double* x, const Point* point, int64_t k, const Tree* tree, int64_t* i, double* square,
) noexcept nogil:
    """Insert a point into the k nearest so far, if it is one of them."""
    cdef double d
    cdef double q = 0
    cdef int64_t at = k - 1
    cdef int c
    for c in range(3):
        d = point.x[c] - x[c]
        if is_periodic(&tree.torus) and c < tree.dim:
            d = nearest(d, c, &tree.torus)
        q = q + d * d
    if not (q < square[at] or (q == square[at] and point.body < i[at])):
        return
    while at > 0 and (q < square[at - 1] or (q == square[at - 1] and point.body < i[at - 1])):
        i[at], square[at] = i[at - 1], square[at - 1]
        at -= 1
    i[at], square[at] = point.body, q
