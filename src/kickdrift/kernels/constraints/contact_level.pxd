# The tree of a level, whose leaves are declarations of shapes.

from libc.stdint cimport int64_t

from .motion cimport unite
from ..abi.constraints cimport Contacts, Shapes


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
