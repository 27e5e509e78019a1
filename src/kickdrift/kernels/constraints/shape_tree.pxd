# The tree of shapes, or of declarations of shapes: a walk through the leaves that may be in a box.
#
# Disabled shapes stay in their leaves and are skipped, so that a change of `enabled` only fits the boxes again.

from libc.stdint cimport int64_t

from ..abi.constraints cimport Shapes

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
    """Number of the next enabled shape whose node reaches into a box, or -1."""
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
    return tree.enabled == NULL or tree.enabled[number]     # declarations are always enabled


cdef inline void open_node(int64_t node, const Shapes* tree, Walk* walk) noexcept nogil:
    """Visit what is in a node: its shapes, or its two children, the second one first."""
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
