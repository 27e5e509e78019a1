# Rods that are solved together with contacts: the formulas of kickdrift/reference/constraints/contact_rods.py.

from libc.stdint cimport int32_t, int64_t

from .contact_state cimport apply, body
from .loads cimport is_broken, span_of
from ..abi.constraints cimport ROD, Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, root
from ..simd.vec cimport real
from ..space cimport turn_to_image


cdef enum:              # numbers of a rod after its direction
    LENGTH              # length at the start of the substep; for a rod with two limits, updated after the drift
    KEPT                # impulse before the length correction
    TOTAL_PULL          # sum of the impulses of the substeps
    USED                # > 0 if the rod had an impulse in this step
    LOW                 # limits of the length
    HIGH


cdef inline real* rod(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    """Address of the data of a rod: its direction, then ROD numbers."""
    return <real*> data.rod + (dim + <int> ROD) * k


cdef inline bint is_cut(const Contacts* data, int64_t k) noexcept nogil:
    """True if a rod is broken."""
    return is_broken(&data.cell[k])


cdef inline bint is_slack(int dim, const real* own) noexcept nogil:
    """True if a rod is free between two limits."""
    return own[dim + LOW] < own[dim + HIGH]


cdef inline bint holds(int dim, const Contacts* data, int64_t k, const real* own) noexcept nogil:
    """True if a rod constrained its bodies in the step."""
    return not is_cut(data, k) and (own[dim + USED] > 0 or not is_slack(dim, own))


cdef inline void start_rods(int dim, const Contacts* data, const real* like) noexcept nogil:
    """Set the limits of rods in this step, and zero the sums of the step."""
    cdef real* own
    cdef int64_t k
    for k in range(data.rods):
        own = rod(dim, data, k, like)
        own[dim + TOTAL_PULL], own[dim + USED] = 0, 0
        own[dim + LOW] = own[dim + HIGH] = (<const real*> data.length)[k]
        if data.upper != NULL and (<const real*> data.upper)[k] >= 0:
            own[dim + LOW], own[dim + HIGH] = (<const real*> data.lower)[k], (<const real*> data.upper)[k]
        if is_cut(data, k):
            (<real*> data.pull[1 - data.state[0]])[data.number[k]] = 0


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
        if is_cut(data, k):
            continue
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
    cdef real* own
    cdef real* a
    cdef real* b
    cdef int64_t k, number
    cdef int32_t i, j
    cdef int c
    for k in range(data.rods):
        if is_cut(data, k):
            continue
        own = rod(dim, data, k, like)
        number, i, j = data.number[k], data.rod_first[k], data.rod_second[k]
        a, b = body(dim, data, i, like), body(dim, data, j, like)
        if not (<const real*> data.compliance)[k] > 0:
            for c in range(dim):
                impulse[c] = (own[dim + KEPT] - pull[number]) * own[c]
            apply(dim, a, b, weight[i], weight[j], impulse)
            pull[number] = own[dim + KEPT]
        if is_slack(dim, own):
            for c in range(dim):
                impulse[c] = b[dim + c] - a[dim + c]
            turn_to_image(dim, impulse, &data.grid.torus)
            own[dim] = dot(dim, impulse, own)


cdef inline void solve_rods(
    bint push, int dim, real h, real span, real soft, real scale, const Contacts* data,
) noexcept nogil:
    """Solve all rods: with `push` their lengths, where compliant rods act as springs; otherwise their velocities.

    Before a velocity solve, remove the impulses that corrected lengths. span: that of a substep, see `span_of`.
    """
    cdef const real* pull = <const real*> data.pull[1 - data.state[0]]
    cdef int64_t k
    if not push:
        drop_corrections(dim, data, &h)
    sweep_rods(False, not push, dim, h, span, soft, scale, data)
    if push:
        for k in range(data.rods):
            rod(dim, data, k, &h)[dim + KEPT] = pull[data.number[k]]
        sweep_rods(True, False, dim, h, span, soft, scale, data)


cdef inline void add_pulls(int dim, const Contacts* data, const real* like) noexcept nogil:
    """Add the impulses of a substep to the sums from which loads are computed."""
    cdef const real* pull = <const real*> data.pull[1 - data.state[0]]
    cdef real* own
    cdef int64_t k
    for k in range(data.rods):
        own = rod(dim, data, k, like)
        own[dim + TOTAL_PULL] = own[dim + TOTAL_PULL] + pull[data.number[k]]


cdef inline void finish_rods(int dim, real full, const Contacts* data) noexcept nogil:
    """Compute the loads of rods, and mark the bodies that rods constrained."""
    cdef const real* own
    cdef real zero = 0
    cdef real span = span_of(full, data.last_h)
    cdef int64_t k
    for k in range(data.rods):
        own = rod(dim, data, k, &full)
        (<real*> data.load)[k] = zero - own[dim + TOTAL_PULL] / span
        if holds(dim, data, k, own):
            data.touched[data.rod_first[k]] = 1
            data.touched[data.rod_second[k]] = 1


cdef inline real change_of(
    bint push, const real* own, int dim, real wanted, real softness, real now, real total, real speed, real h,
    real soft, real scale,
) noexcept nogil:
    """Return the change of the impulse that moves a rod to the length `wanted`, or stops it there.

    softness: compliance / (h span), or 0.
    """
    cdef real off = own[dim] - wanted
    cdef real change
    if softness > 0:
        return (speed + off / h + softness * now) / (total + softness)
    if is_slack(dim, own) and (off < 0 if wanted == own[dim + HIGH] else off > 0):
        return (speed + off / h) / total
    if not push:
        return speed / total
    change = (speed + soft * off) / total
    return now - scale * (now - change)


cdef inline void sweep_rods(
    bint push, bint used_only, int dim, real h, real span, real soft, real scale, const Contacts* data,
) noexcept nogil:
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* compliance = <const real*> data.compliance
    cdef real* pull = <real*> data.pull[1 - data.state[0]]
    cdef real displacement[MAX_DIM]
    cdef real* own
    cdef real* a
    cdef real* b
    cdef real total, speed, change, softness, w_a, w_b, now
    cdef int64_t sweep, turn, k
    cdef int c
    for sweep in range(data.sweeps):
        for turn in range(data.rods):
            k = turn if sweep % 2 == 0 else data.rods - 1 - turn
            own = rod(dim, data, k, &h)
            if (not push and compliance[k] > 0) or is_cut(data, k):
                continue
            if used_only and is_slack(dim, own) and not own[dim + USED] > 0:
                continue
            now = pull[data.number[k]]
            a = body(dim, data, data.rod_first[k], &h)
            b = body(dim, data, data.rod_second[k], &h)
            w_a = weight[data.rod_first[k]]
            w_b = weight[data.rod_second[k]]
            total = w_a + w_b
            for c in range(dim):
                displacement[c] = b[c] - a[c]
            speed = dot(dim, displacement, own)
            softness = compliance[k] / (h * span) if compliance[k] > 0 else <real> 0
            change = change_of(push, own, dim, own[dim + HIGH], softness, now, total, speed, h, soft, scale)
            if is_slack(dim, own) and not now - change < 0:
                change = change_of(push, own, dim, own[dim + LOW], softness, now, total, speed, h, soft, scale)
                if not now - change > 0:
                    change = now
            now = now - change
            pull[data.number[k]] = now
            if now != 0:
                own[dim + USED] = 1
            for c in range(dim):
                displacement[c] = -change * own[c]
            apply(dim, a, b, w_a, w_b, displacement)
