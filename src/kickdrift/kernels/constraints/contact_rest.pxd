# Groups at rest, `Contacts(sleep=True)`: the formulas of kickdrift/reference/constraints/contact_rest.py.

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

from .contact_impulses cimport goes_on
from .contact_rods cimport is_cut
from .contact_state cimport HELD, SENSED, body, read_vector, spin_row, surface_of
from ..abi.constraints cimport Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot
from ..simd.vec cimport real


cdef inline void hold(
    int dim, int64_t n, int64_t stride, const real* before, const real* delta_v, const real* x, const real* v,
    const Contacts* data,
) noexcept nogil:
    """Find the islands whose step would repeat the last one bitwise, at rest; their contacts are not solved.

    These are islands whose bodies and contacts have not changed since then, and that nothing from outside moves.
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
    """Set `data.deep` for the islands that are not at rest: see `those_awake` of the reference."""
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
    cdef real way[MAX_DIM]
    cdef real most, spin
    cdef int c
    for c in range(dim):
        kick[c] = delta_v[c * stride + i]
        way[c] = own[dim + c] - before[c * stride + i]
    most = <real> 9.5367431640625e-07 * dot(dim, kick, kick)
    if not (dot(dim, own, own) <= most and dot(dim, way, way) <= full * full * most):
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
    """Keep the impulses of rods at rest; forget those that have overflowed."""
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
