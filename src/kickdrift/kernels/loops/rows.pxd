# Rows of affine components: blocks of lanes are taken from them into registers, and stay there for all steps.

from libc.string cimport memset

from ..simd.vec cimport WIDE, expect, forget, lane, load_part, opaque, store_part, width
from ..abi.plan cimport COMPOSITION_RK4, Job, Plan, Row
from ..integrators.steps cimport damp, has_opening, opening, stage, stages, start
from ..forces.fields cimport affine
from ..integrators.traits cimport keeps, verlet

cdef enum:
    AHEAD = 4096    # bytes: of arrays beyond the caches, what comes later is on its way while this is stepped
    FEW = 2     # steps so few that lanes had better be stepped one by one than copied


cdef inline const lane* coefficient(int lanes, const char* row, Py_ssize_t at, const lane* like) noexcept nogil:
    """From a place in a row on."""
    return <const lane*> (opaque(row + at) if lanes > 1 else row + at)


cdef inline lane block(
    int scheme, bint drag, bint wind, bint spring, int lanes, const Plan* plan, const Job* job, const lane* constants,
    const Row* row, Py_ssize_t at, lane* position, lane* velocity, lane* history, Py_ssize_t numbers,
) noexcept nogil:
    """Step `lanes` lanes through the job in registers; return sums of all numbers.

    at: bytes from the start of the row, for the coefficients. A lane that is alone may have fewer numbers than fit.
    """
    cdef lane x[WIDE]
    cdef lane v[WIDE]
    cdef lane s[WIDE]
    cdef lane p[WIDE]
    cdef lane q, y, z
    cdef const lane* g = coefficient(lanes, row.g, at, constants)
    cdef const lane* c = coefficient(lanes, row.c, at, constants)
    cdef const lane* w = coefficient(lanes, row.w, at, constants)
    cdef const lane* k = coefficient(lanes, row.k, at, constants)
    cdef const lane* anchor = coefficient(lanes, row.p, at, constants)
    cdef const lane* decay = coefficient(lanes, row.decay, at, constants)
    cdef const lane* fc = coefficient(lanes, row.flow[0], at, constants)
    cdef const lane* fs = coefficient(lanes, row.flow[1], at, constants)
    cdef const lane* fp = coefficient(lanes, row.flow[2], at, constants)
    cdef const lane* fq = coefficient(lanes, row.flow[3], at, constants)
    cdef int number, i
    cdef int count = stages(scheme, drag, plan)
    cdef Py_ssize_t _step
    for i in range(lanes):
        load(lanes == 1, position + i, numbers, &x[i])
        load(lanes == 1, velocity + i, numbers, &v[i])
        if verlet(scheme):
            load(lanes == 1, history + i, numbers, &s[i])
            if job.start:
                start(
                    scheme, plan.taylor_start, constants,
                    affine(drag, wind, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i]), &x[i], &v[i], &s[i],
                )
        if keeps(scheme, drag):
            p[i] = affine(drag, wind, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i])
    for _step in range(job.steps):
        forget()
        # A lane takes its whole step, so that few registers hold what is between its stages: the
        # processor itself overlaps lanes.
        for i in range(lanes):
            if has_opening(scheme, drag):
                opening(scheme, constants, &x[i], &v[i], &s[i], &p[i], &q)
            for number in range(count):
                stage(
                    scheme, drag, number, plan.iterations, constants, fc + i, fs + i, fp + i, fq + i,
                    affine(drag, wind, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i]),
                    &x[i], &v[i], &s[i], &p[i], &q, &y, &z,
                )
        if plan.damped:
            for i in range(lanes):
                damp(scheme, decay[i], &x[i], &v[i], &s[i])
    q = x[0] + v[0]
    for i in range(lanes):
        store(lanes == 1, x[i], position + i, numbers)
        store(lanes == 1, v[i], velocity + i, numbers)
        if verlet(scheme):
            store(lanes == 1, s[i], history + i, numbers)
        if i > 0:
            q = q + (x[i] + v[i])
    return q


cdef inline void load(bint part, const lane* place, Py_ssize_t numbers, lane* to) noexcept nogil:
    if part:
        load_part(to, <const char*> place, numbers)
    else:
        to[0] = place[0]


cdef inline void store(bint part, lane q, lane* place, Py_ssize_t numbers) noexcept nogil:
    if part:
        store_part(&q, <char*> place, numbers)
    else:
        place[0] = q


cdef inline lane lone_lanes(
    int scheme, const Plan* plan, const Job* job, const lane* constants, const Row* row,
    Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    """Step the `count` numbers of a row from `at` bytes on, lane by lane."""
    cdef lane* x = <lane*> (row.x + at)
    cdef lane* v = <lane*> (row.v + at)
    cdef lane* s = <lane*> (row.s + at) if verlet(scheme) else NULL
    cdef lane check
    memset(&check, 0, sizeof(lane))
    while count > 0:
        check = check + block(
            scheme, plan.drag, plan.wind, plan.spring, 1, plan, job, constants, row, at, x, v, s, count,
        )
        x += 1
        v += 1
        if verlet(scheme):
            s += 1
        at += sizeof(lane)
        count -= width(constants)
    return check


cdef inline lane row_of_blocks(
    int scheme, int lanes, const Plan* plan, const Job* job, const lane* constants, const Row* row, Py_ssize_t count,
) noexcept nogil:
    """Step a row of `count` numbers in blocks; what does not fill the last is stepped in a copy or lane by lane."""
    cdef lane (*lone)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    cdef lane x[WIDE]
    cdef lane v[WIDE]
    cdef lane s[WIDE]
    cdef lane* position = <lane*> row.x
    cdef lane* velocity = <lane*> row.v
    cdef lane* history = <lane*> row.s if verlet(scheme) else NULL
    cdef lane* px
    cdef lane* pv
    cdef lane* ps
    cdef Py_ssize_t line
    cdef lane check
    cdef Py_ssize_t w = width(constants)
    cdef Py_ssize_t room = lanes * w
    cdef Py_ssize_t at = 0
    lone = <lane (*)(
        const Plan*, const Job*, const lane*, const Row*, Py_ssize_t, Py_ssize_t,
    ) noexcept nogil> plan.lone
    memset(&check, 0, sizeof(lane))
    while count > 0:
        if count <= w or (count < room and job.steps <= FEW):
            return check + lone(plan, job, constants, row, at, count)
        px, pv, ps = position, velocity, history
        if count < room:
            # Coefficients are padded, the caller's arrays are not.
            px, pv, ps = x, v, s
            copy_part(False, position, x, lanes, count)
            copy_part(False, velocity, v, lanes, count)
            if verlet(scheme):
                copy_part(False, history, s, lanes, count)
        else:
            for line in range(lanes * <Py_ssize_t> sizeof(lane) // 64):
                expect(<char*> px + AHEAD + 64 * line)
                expect(<char*> pv + AHEAD + 64 * line)
        check = check + blocks(scheme, lanes, plan, job, constants, row, at, px, pv, ps)
        if count < room:
            copy_part(True, position, x, lanes, count)
            copy_part(True, velocity, v, lanes, count)
            if verlet(scheme):
                copy_part(True, history, s, lanes, count)
        position += lanes
        velocity += lanes
        if verlet(scheme):
            history += lanes
        at += lanes * sizeof(lane)
        count -= room
    return check


cdef inline void copy_part(bint out, lane* row, lane* copy, Py_ssize_t lanes, Py_ssize_t count) noexcept nogil:
    """Copy `count` numbers of state into whole lanes, anything finite following, or out of them."""
    cdef Py_ssize_t w = width(copy)
    cdef Py_ssize_t used = (count + w - 1) // w
    cdef Py_ssize_t i
    if out:
        for i in range(used):
            store_part(copy + i, <char*> (row + i), count - i * w)
    else:
        for i in range(lanes):
            load_part(copy + i, <const char*> (row + min(i, used - 1)), count - min(i, used - 1) * w)


cdef inline lane blocks(
    int scheme, int lanes, const Plan* plan, const Job* job, const lane* constants, const Row* row, Py_ssize_t at,
    lane* x, lane* v, lane* s,
) noexcept nogil:
    """`block` for each affine family."""
    if plan.drag and plan.spring:
        return block(scheme, True, True, True, lanes, plan, job, constants, row, at, x, v, s, 0)
    elif plan.drag and plan.wind:
        return block(scheme, True, True, False, lanes, plan, job, constants, row, at, x, v, s, 0)
    elif plan.drag or scheme == COMPOSITION_RK4:  # which is another scheme without drag
        return block(scheme, True, False, False, lanes, plan, job, constants, row, at, x, v, s, 0)
    elif plan.spring:
        return block(scheme, False, False, True, lanes, plan, job, constants, row, at, x, v, s, 0)
    else:
        return block(scheme, False, False, False, lanes, plan, job, constants, row, at, x, v, s, 0)
