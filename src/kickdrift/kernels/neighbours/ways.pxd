# The first point in the way of what moves: the formulas of kickdrift/reference/neighbours.py. The axis along
# which it goes farthest is cut at the borders of cells: in each slab the way passes few cells.

from libc.math cimport floor, sqrt
from libc.stdint cimport int64_t, uint64_t

from .cells cimport Cells, bucket_of_cell
from ..constraints.grid cimport cell
from ..space cimport is_periodic


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
                    bucket = bucket_of_cell(at, cells)
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
