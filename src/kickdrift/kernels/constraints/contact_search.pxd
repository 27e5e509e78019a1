# Contacts of a step, their islands (groups) and graph colours: kickdrift/reference/constraints/contact_search.py.

from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.string cimport memcmp, memcpy, memset

from .contact_rods cimport is_cut
from .contact_shapes cimport near_shapes
from .contact_state cimport HELD, SENSED, body, goes_on, read_vector, spin_row, surface_of
from .events cimport senses
from ..abi.constraints cimport COLOURS, NOWHERE, SHAPES_PER_BODY, Contacts
from ..simd.vec cimport real
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot

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
    """List contacts in order: pairs i < j of bodies, bodies with walls and shapes; sensors get the colour SENSED."""
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
    """Sort key: two per colour, with or without an impulse in the last step; uncoloured contacts keep their order."""
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


# Islands at rest, `Contacts(sleep=True)`: the formulas of kickdrift/reference/constraints/contact_rest.py.

cdef inline void hold(
    int dim, int64_t n, int64_t stride, const real* before, const real* delta_v, const real* x, const real* v,
    const Contacts* data,
) noexcept nogil:
    """Find the islands at rest whose step would bitwise repeat the last one; their contacts are not solved.

    Bodies and contacts of these islands have not changed since then, and nothing from outside moves them.
    """
    cdef int place = <int> data.state[0]
    cdef const int32_t* pair = data.pair[place]
    cdef const real* now
    cdef int64_t count = data.found[0]
    cdef int64_t m = 0
    cdef int64_t i, j, k
    # Contacts that record events are solved in each step, and so are islands with rods, for the rods' loads.
    memset(data.held, data.grid.events == NULL, n)
    for i in range(n):
        if not (repeats(dim, i, stride, before, delta_v, x, v, data) and (data.rested[i] or not data.moved[i])):
            data.held[data.group[i]] = 0
    for k in range(data.rods):
        data.held[data.group[data.rod_first[k]]] = data.held[data.group[data.rod_second[k]]] = 0
    for k in range(count):
        if data.colour[k] == SENSED:
            continue
        i, j = data.one[k], data.other[k]
        if not data.moved[i]:
            i, j = j, i
        if (j < n and not data.held[data.group[j]]) or (j >= n + data.faces and data.moves):
            data.held[data.group[i]] = 0
        while data.known[k] >= 0 and m <= data.known[k]:
            if m < data.known[k]:
                let_go(&pair[2 * m], n, data)
            m += 1
    while m < data.state[1 + place]:
        let_go(&pair[2 * m], n, data)
        m += 1
    m = 0
    for k in range(count):
        i = data.one[k] if data.moved[data.one[k]] else data.other[k]
        if data.colour[k] != SENSED and data.held[data.group[i]]:
            data.colour[k] = HELD
    for k in range(data.found[2]):
        if data.colour[data.shape_contacts[k]] != HELD:
            data.shape_contacts[m] = data.shape_contacts[k]
            m += 1
    data.found[2] = m
    for j in range(dim):
        for k in range(4):
            now = quantity(k, before, delta_v, x, v)
            memcpy(<real*> data.last + (4 * j + k) * data.n, now + j * stride, n * sizeof(real))


cdef inline const real* quantity(
    int64_t number, const real* before, const real* delta_v, const real* x, const real* v,
) noexcept nogil:
    return before if number == 0 else delta_v if number == 1 else x if number == 2 else v


cdef inline bint repeats(
    int dim, int64_t i, int64_t stride, const real* before, const real* delta_v, const real* x, const real* v,
    const Contacts* data,
) noexcept nogil:
    """True if a body does not rotate, and its positions, velocities and forces are bitwise those of the last step."""
    cdef const real* now
    cdef int64_t k
    cdef int c
    for c in range(dim):
        for k in range(4):
            now = quantity(k, before, delta_v, x, v)
            if memcmp(&now[c * stride + i], <const real*> data.last + (4 * c + k) * data.n + i, sizeof(real)) != 0:
                return False
    for c in range(<int> data.axes):
        if spin_row(data, i, x)[c] != 0:
            return False
    return True


cdef inline void let_go(const int32_t* pair, int64_t n, const Contacts* data) noexcept nogil:
    """Solve the islands of a pair again, because its contact ended."""
    data.held[data.group[pair[0]]] = 0
    if pair[1] < n:
        data.held[data.group[pair[1]]] = 0


cdef inline void find_awake(
    int dim, real full, int64_t n, int64_t count, int64_t stride, const real* before, const real* delta_v,
    const Contacts* data,
) noexcept nogil:
    """Set `data.deep` for the islands that are not at rest: `those_awake` of reference/constraints/contact_rest.py."""
    cdef real surface[MAX_DIM]
    cdef int64_t i, j, k
    cdef bint carries
    memset(data.deep, not data.sleep, n)
    if not data.sleep:
        return
    for i in range(n):
        if data.moved[i] and not data.held[data.group[i]] and not is_slow(dim, full, i, stride, before, delta_v, data):
            data.deep[data.group[i]] = 1
    for k in range(count + data.rods):
        if data.colour[k] >= SENSED if k < count else is_cut(data, k - count):
            continue
        i = data.one[k] if k < count else data.rod_first[k - count]
        j = data.other[k] if k < count else data.rod_second[k - count]
        if not data.moved[i]:
            i, j = j, i
        carries = j < n and not data.moved[j] and dot(dim, body(dim, data, j, before), body(dim, data, j, before)) > 0
        if k < count and data.surface != NULL:
            read_vector(dim, data, surface_of(data, data.place[k], before), surface)
            carries = carries or dot(dim, surface, surface) > 0
        if k < count:
            carries = carries or goes_on(dim, data.place[k], data, before) != (data.known[k] >= 0)
        if carries:
            data.deep[data.group[i]] = 1


cdef inline bint is_slow(
    int dim, real full, int64_t i, int64_t stride, const real* before, const real* delta_v, const Contacts* data,
) noexcept nogil:
    cdef real radius = (<const real*> data.grid.radius)[i]
    cdef const real* own = body(dim, data, i, before)
    cdef const real* w
    cdef real kick[MAX_DIM]
    cdef real displacement[MAX_DIM]
    cdef real most, spin
    cdef int c
    for c in range(dim):
        kick[c] = delta_v[c * stride + i]
        displacement[c] = own[dim + c] - before[c * stride + i]
    most = <real> 9.5367431640625e-07 * dot(dim, kick, kick)
    if not (dot(dim, own, own) <= most and dot(dim, displacement, displacement) <= full * full * most):
        return False
    if data.axes == 0:
        return True
    w = spin_row(data, i, before)
    spin = w[0] * w[0] if data.axes == 1 else dot(3, w, w)
    return not spin > 0 or (radius > 0 and radius * radius * spin <= most)


cdef inline bint rests(int64_t i, const Contacts* data) noexcept nogil:
    """True if a body is at rest: it keeps its position from before the step."""
    return data.moved[i] and data.touched[i] and not data.deep[data.group[i]]


cdef inline bint are_finite(const real* numbers, int64_t count) noexcept nogil:
    """True if all numbers are finite: x - x is NaN for any other."""
    cdef real total = 0
    cdef int64_t k
    for k in range(count):
        total = total + (numbers[k] - numbers[k])
    return total == 0


cdef inline void keep_pulls(const Contacts* data, const real* like) noexcept nogil:
    """Keep the last step's impulses of rods in islands at rest; set those to 0 that have overflowed."""
    cdef const real* last = <const real*> data.pull[data.state[0]]
    cdef real* pull = <real*> data.pull[1 - data.state[0]]
    cdef int64_t i, k
    for k in range(data.rods):
        i = data.rod_first[k] if data.moved[data.rod_first[k]] else data.rod_second[k]
        if not (is_cut(data, k) or data.deep[data.group[i]]):
            pull[data.number[k]] = last[data.number[k]]
    for k in range(data.declared):
        if not are_finite(pull + k, 1):
            pull[k] = 0
