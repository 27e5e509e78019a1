# Rods that are solved together with contacts: the formulas of kickdrift/reference/constraints/contacts.py.

from libc.stdint cimport int32_t, int64_t

from .contact_impulses cimport apply
from .contact_state cimport body
from ..abi.constraints cimport Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, root
from ..simd.vec cimport real
from ..space cimport turn_to_image


cdef inline real* rod(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    """Data of a rod: direction, length, and its impulse without length correction."""
    return <real*> data.rod + (dim + 2) * k


cdef inline void begin_rods(int dim, const Contacts* data, const real* like) noexcept nogil:
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* pull = <const real*> data.pull[1 - data.state[0]]
    cdef real impulse[MAX_DIM]
    cdef real* own
    cdef real* a
    cdef real* b
    cdef real zero = 0
    cdef int64_t k
    cdef int c
    for k in range(data.rods):
        own = rod(dim, data, k, like)
        a = body(dim, data, data.rod_first[k], like)
        b = body(dim, data, data.rod_second[k], like)
        for c in range(dim):
            own[c] = b[dim + c] - a[dim + c]
        turn_to_image(dim, own, &data.grid.torus)
        own[dim] = root(dot(dim, own, own))
        for c in range(dim):
            own[c] = own[c] / own[dim] if own[dim] > 0 else zero * own[c]
            impulse[c] = pull[data.number[k]] * own[c]
        apply(dim, a, b, weight[data.rod_first[k]], weight[data.rod_second[k]], impulse)


cdef inline void drop_corrections(int dim, const Contacts* data, const real* like) noexcept nogil:
    """Remove the length corrections from impulses, so that they do not accumulate."""
    cdef const real* weight = <const real*> data.grid.weight
    cdef real* pull = <real*> data.pull[1 - data.state[0]]
    cdef real impulse[MAX_DIM]
    cdef const real* own
    cdef int64_t k, number
    cdef int32_t i, j
    cdef int c
    for k in range(data.rods):
        if (<const real*> data.compliance)[k] > 0:
            continue
        own = rod(dim, data, k, like)
        number, i, j = data.number[k], data.rod_first[k], data.rod_second[k]
        for c in range(dim):
            impulse[c] = (own[dim + 1] - pull[number]) * own[c]
        apply(dim, body(dim, data, i, like), body(dim, data, j, like), weight[i], weight[j], impulse)
        pull[number] = own[dim + 1]


cdef inline void solve_rods(bint push, int dim, real h, real soft, real scale, const Contacts* data) noexcept nogil:
    """push: correct lengths, with compliant rods as springs; otherwise remove corrections and solve velocities."""
    cdef const real* pull = <const real*> data.pull[1 - data.state[0]]
    cdef int64_t k
    if not push:
        drop_corrections(dim, data, &h)
    sweep_rods(False, dim, h, soft, scale, data)
    if push:
        for k in range(data.rods):
            rod(dim, data, k, &h)[dim + 1] = pull[data.number[k]]
        sweep_rods(True, dim, h, soft, scale, data)


cdef inline void sweep_rods(bint push, int dim, real h, real soft, real scale, const Contacts* data) noexcept nogil:
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* compliance = <const real*> data.compliance
    cdef const real* length = <const real*> data.length
    cdef real* pull = <real*> data.pull[1 - data.state[0]]
    cdef real way[MAX_DIM]
    cdef real* own
    cdef real* a
    cdef real* b
    cdef real total, speed, change, give, w_a, w_b
    cdef int64_t sweep, turn, k, number
    cdef int c
    for sweep in range(data.sweeps):
        for turn in range(data.rods):
            k = turn if sweep % 2 == 0 else data.rods - 1 - turn
            if not push and compliance[k] > 0:
                continue
            number = data.number[k]
            own = rod(dim, data, k, &h)
            a = body(dim, data, data.rod_first[k], &h)
            b = body(dim, data, data.rod_second[k], &h)
            w_a = weight[data.rod_first[k]]
            w_b = weight[data.rod_second[k]]
            total = w_a + w_b
            for c in range(dim):
                way[c] = b[c] - a[c]
            speed = dot(dim, way, own)
            if compliance[k] > 0:
                give = compliance[k] / (h * h)
                change = (speed + (own[dim] - length[k]) / h + give * pull[number]) / (total + give)
            elif push:
                change = (speed + soft * (own[dim] - length[k])) / total
            else:
                change = speed / total
            if push and not compliance[k] > 0:
                change = pull[number] - scale * (pull[number] - change)
            pull[number] = pull[number] - change
            for c in range(dim):
                way[c] = -change * own[c]
            apply(dim, a, b, w_a, w_b, way)
