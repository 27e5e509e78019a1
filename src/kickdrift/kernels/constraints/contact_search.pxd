# Contacts of a step, their groups and colours: the search of kickdrift/reference/constraints/contact_search.py.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from .contact_rods cimport is_cut
from .contact_shapes cimport near_shapes
from .contact_state cimport SENSED, body
from .events cimport senses
from ..abi.constraints cimport COLOURS, NOWHERE, SHAPES_PER_BODY, Contacts
from ..simd.vec cimport real
from ..abi.plan cimport MAX_DIM

cdef extern from *:
    """
    /* Index of the lowest bit that is 0, or 64 */
    static inline int kd_lowest_zero(uint64_t bits) {
      #if defined(__GNUC__) || defined(__clang__)
        return ~bits ? __builtin_ctzll(~bits) : 64;
      #else
        int place = 0;
        for (; bits & 1; bits >>= 1) place++;
        return place;
      #endif
    }
    """
    int lowest_zero "kd_lowest_zero"(uint64_t) noexcept nogil


cdef inline int64_t find_contacts(
    int dim, int64_t n, int64_t stride, const real* x, const Contacts* data,
) noexcept nogil:
    """List pairs i < j of bodies, and bodies with walls and shapes, in order; sensors get the colour SENSED."""
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* radius = <const real*> data.grid.radius
    cdef const real* normal = <const real*> data.normal
    cdef const real* offset = <const real*> data.offset
    cdef const real* own
    cdef real end[MAX_DIM]
    cdef real four = 4
    cdef real now, then, reach
    cdef int64_t near[SHAPES_PER_BODY]
    cdef bint reports[SHAPES_PER_BODY]
    cdef int place = <int> data.state[0]
    cdef int64_t known = 0
    cdef int64_t count = 0
    cdef int64_t i, k, face
    cdef int32_t partner
    cdef bint sensed, alive
    cdef int j
    data.found[2] = 0
    for i in range(n):
        for k in range(data.grid.count[i]):
            partner = data.grid.partner[data.grid.begin[i] + k]
            sensed = senses(data.grid.sensor, i) or senses(data.grid.sensor, partner)
            if weight[i] + weight[partner] > 0 or sensed:
                data.one[count] = <int32_t> i
                data.other[count] = partner
                data.colour[count] = SENSED if sensed else 0
                count += 1
        alive = data.grid.size_class[i] != NOWHERE
        own = body(dim, data, i, x) + dim
        for face in range(data.faces if weight[i] > 0 or (data.through != NULL and alive) else 0):
            sensed = False
            if data.through != NULL:
                sensed = data.through[face * n + i] == 1
                if not (sensed or (data.through[face * n + i] == 0 and weight[i] > 0)):
                    continue
            reach = offset[face] + radius[i] + radius[i] / four
            now = normal[dim * face] * x[i]
            then = normal[dim * face] * own[0]
            for j in range(1, dim):
                now = now + normal[dim * face + j] * x[j * stride + i]
                then = then + normal[dim * face + j] * own[j]
            if now <= reach or then <= reach:
                data.one[count] = <int32_t> i
                data.other[count] = <int32_t> (n + face)
                data.colour[count] = SENSED if sensed else 0
                count += 1
        if data.parts == 0:
            continue
        for j in range(dim):
            end[j] = x[j * stride + i]
        while known < data.state[1 + place] and data.pair[place][2 * known] < i:
            known += 1
        for j in range(near_shapes(dim, i, own, end, weight[i] > 0, alive, known, data, near, reports)):
            data.one[count] = <int32_t> i
            data.other[count] = <int32_t> (n + data.faces + near[j])
            data.colour[count] = SENSED if reports[j] else 0
            if not reports[j]:
                data.shape_contacts[data.found[2]] = <int32_t> count
                data.found[2] += 1
            count += 1
    return count


cdef inline int32_t top(int32_t* above, int32_t i) noexcept nogil:
    """Root of a body's island (union-find with path compression)."""
    cdef int32_t highest = i
    cdef int32_t next
    while above[highest] != highest:
        highest = above[highest]
    while above[i] != highest:
        next = above[i]
        above[i] = highest
        i = next
    return highest


cdef inline void find_groups(int64_t n, int64_t count, const Contacts* data) noexcept nogil:
    """Find the island of each body: movable bodies connected by contacts and rods."""
    cdef int32_t* above = data.group
    cdef int64_t k
    cdef int32_t i, j
    for i in range(<int32_t> n):
        above[i] = i
    for k in range(count + data.rods):
        if data.colour[k] == SENSED if k < count else is_cut(data, k - count):
            continue
        i = data.one[k] if k < count else data.rod_first[k - count]
        j = data.other[k] if k < count else data.rod_second[k - count]
        if j < n and data.moved[i] and data.moved[j]:
            above[top(above, i)] = top(above, j)
    for i in range(<int32_t> n):
        above[i] = top(above, i)


cdef inline int64_t sort_colours(int64_t n, int64_t count, const Contacts* data) noexcept nogil:
    """Colour contacts greedily, and order them by colour; return the number of solve-order indices without sensors.

    Sensors come last. All shapes count as one static body, which also pads blocks. Within a colour, contacts with an
    impulse in the last step come first: most blocks then have impulses in all lanes or in none.
    """
    cdef int64_t start[2 * SENSED + 3]
    cdef int64_t w = data.lanes
    cdef int32_t empty_row = <int32_t> (n + data.faces + 1)
    cdef int64_t end
    cdef uint64_t taken
    cdef int64_t k
    cdef int32_t i, j
    cdef int colour
    memset(start, 0, sizeof(start))
    memset(data.taken, 0, n * sizeof(uint64_t))
    for k in range(count):
        if data.colour[k] >= SENSED:
            start[2 * SENSED + 1] += 1
            continue
        i = data.one[k]
        j = data.other[k]
        taken = data.taken[i] if data.moved[i] else 0
        if j < n and data.moved[j]:
            taken |= data.taken[j]
        colour = lowest_zero(taken)
        if colour < COLOURS:
            taken = <uint64_t> 1 << colour
            if data.moved[i]:
                data.taken[i] |= taken
            if j < n and data.moved[j]:
                data.taken[j] |= taken
        data.colour[k] = <uint8_t> colour
        start[group(k, data) + 1] += 1
    for colour in range(2 * SENSED + 1):
        start[colour + 1] += start[colour]
        if colour % 2 == 1:
            start[colour + 1] = (start[colour + 1] + w - 1) & -w
    data.found[3] = start[2 * COLOURS]
    end = start[2 * SENSED]
    for k in range(count):
        colour = group(k, data)
        data.place[k] = <int32_t> start[colour]
        start[colour] += 1
        i = data.one[k]
        j = <int32_t> min(data.other[k], n + data.faces)
        data.first[data.place[k]] = i
        data.second[data.place[k]] = j
        data.first_row[data.place[k]] = i if data.moved[i] else empty_row
        data.second_row[data.place[k]] = j if j < n and data.moved[j] else empty_row
    for colour in range(1, 2 * SENSED, 2):
        while start[colour] & (w - 1):
            data.first[start[colour]] = data.second[start[colour]] = empty_row - 1
            data.first_row[start[colour]] = data.second_row[start[colour]] = empty_row
            start[colour] += 1
    return end


cdef inline int group(int64_t k, const Contacts* data) noexcept nogil:
    """Sort key: two per colour, by impulse in the last step; uncoloured contacts stay in order."""
    return 2 * min(<int> data.colour[k], <int> SENSED) + (data.colour[k] < COLOURS and data.known[k] < 0)


cdef inline void find_known(int64_t count, const Contacts* data) noexcept nogil:
    """Match contacts with the impulses of the last step: both lists are in ascending order."""
    cdef int place = <int> data.state[0]
    cdef int64_t known = data.state[1 + place]
    cdef const int32_t* pair = data.pair[place]
    cdef int64_t m = 0
    cdef int64_t k
    for k in range(count):
        while m < known and (pair[2 * m] < data.one[k] or (pair[2 * m] == data.one[k] and
                                                           pair[2 * m + 1] < data.other[k])):
            m += 1
        data.known[k] = -1
        if m < known and pair[2 * m] == data.one[k] and pair[2 * m + 1] == data.other[k]:
            data.known[k] = <int32_t> m
