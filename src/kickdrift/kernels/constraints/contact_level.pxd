# The tree of a level, whose leaves are declarations of shapes: which of them may have a shape near a body.

from libc.stdint cimport int64_t

from .motion cimport unite
from .shapes cimport DEEPEST, is_beside
from ..abi.constraints cimport Contacts, Shapes


# A walk through the tree.
ctypedef struct Walk:
    int64_t waiting[DEEPEST]
    int64_t waits, next, last


cdef inline void begin_walk(Walk* walk, const Contacts* data) noexcept nogil:
    walk.waiting[0] = 0
    walk.waits = 1 if data.level.count > 0 else 0
    walk.next = walk.last = 0


cdef inline int64_t next_part(
    int dim, const double* low, const double* high, const Contacts* data, Walk* walk,
) noexcept nogil:
    """Index of the next Shapes struct that may have a shape in a box, or -1."""
    cdef const Shapes* level = &data.level
    cdef int64_t node
    while walk.next == walk.last:
        if walk.waits == 0:
            return -1
        walk.waits -= 1
        node = walk.waiting[walk.waits]
        if is_beside(dim, low, high, level.bounds + node * 2 * dim):
            continue
        if level.leaves[node] == 0:
            walk.waiting[walk.waits] = level.first[node]
            walk.waiting[walk.waits + 1] = level.first[node] + 1
            walk.waits += 2
            continue
        walk.next, walk.last = level.first[node], level.first[node] + level.leaves[node]
    walk.next += 1
    return level.number[walk.next - 1]


cdef inline void fit_level(int dim, const Contacts* given) noexcept nogil:
    """Fit the tree of Shapes structs to where these are."""
    cdef Shapes* level = <Shapes*> &given.level
    cdef double* box
    cdef const double* part
    cdef int64_t node, k
    level.motion.displacement = 0
    for node in range(level.nodes - 1, -1, -1):     # parents come before their children
        box = level.bounds + node * 2 * dim
        if level.leaves[node] == 0:
            part = level.bounds + level.first[node] * 2 * dim
            unite(dim, part, part + 2 * dim, box)
            continue
        for k in range(level.first[node], level.first[node] + level.leaves[node]):
            part = given.shapes[level.number[k]].bounds
            level.motion.displacement = max(
                level.motion.displacement, given.shapes[level.number[k]].motion.displacement,
            )
            unite(dim, part, part if k == level.first[node] else box, box)
