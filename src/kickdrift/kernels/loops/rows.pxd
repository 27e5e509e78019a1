# Loops over rows of numbers under affine forces, which act on each component separately. A block of vectors stays in
# registers for all steps.

from libc.string cimport memcpy, memset

from ..simd.vec cimport WIDE, forget, vec, load_part, opaque, store_part, width
from ..abi.plan cimport COMPOSITION, COMPOSITION_RK4, Job, Plan, Row
from ..integrators.steps cimport damp, evaluations, has_opening, kick_constants, kicks, opening, stage, start
from ..forces.fields cimport affine
from ..integrators.traits cimport fsal, verlet

cdef enum:
    FEW = 2     # up to this many steps, single vectors are faster than a padded copy of a partial block
    LONG = 24   # vectors that a composition steps at once: more than registers can hold, see long_row


cdef inline const vec* coefficient(int vectors, const char* row, Py_ssize_t at, const vec* like) noexcept nogil:
    """The coefficients of a row from byte `at` on."""
    return <const vec*> (opaque(row + at) if vectors > 1 else row + at)


cdef inline vec block(
    int scheme, bint drag, bint wind, bint spring, int vectors, const Plan* plan, const Job* job, const vec* constants,
    const Row* row, Py_ssize_t at, vec* position, vec* velocity, vec* history, vec* before_x, vec* before_v,
    Py_ssize_t numbers,
) noexcept nogil:
    """Step `vectors` vectors through the job in registers; return sums of all numbers.

    at: byte offset in the rows of coefficients. A single vector may be partial, with `numbers` numbers.
    before_x, before_v: copy of the initial state, or NULL.
    """
    cdef vec x[WIDE]
    cdef vec v[WIDE]
    cdef vec s[WIDE]
    cdef vec p[WIDE]
    cdef vec q, y, z
    cdef const vec* g = coefficient(vectors, row.g, at, constants)
    cdef const vec* c = coefficient(vectors, row.c, at, constants)
    cdef const vec* w = coefficient(vectors, row.w, at, constants)
    cdef const vec* k = coefficient(vectors, row.k, at, constants)
    cdef const vec* anchor = coefficient(vectors, row.p, at, constants)
    cdef const vec* decay = coefficient(vectors, row.decay, at, constants)
    cdef const vec* fc = coefficient(vectors, row.flow[0], at, constants)
    cdef const vec* fs = coefficient(vectors, row.flow[1], at, constants)
    cdef const vec* fp = coefficient(vectors, row.flow[2], at, constants)
    cdef const vec* fq = coefficient(vectors, row.flow[3], at, constants)
    cdef int kick, number, i
    cdef int count = evaluations(scheme, drag, plan)
    cdef Py_ssize_t _step
    for i in range(vectors):
        load(vectors == 1, position + i, numbers, &x[i])
        load(vectors == 1, velocity + i, numbers, &v[i])
    if before_x != NULL:
        for i in range(vectors):
            before_x[i] = x[i]
            before_v[i] = v[i]
    for i in range(vectors):
        if verlet(scheme):
            load(vectors == 1, history + i, numbers, &s[i])
        if fsal(scheme, drag):
            p[i] = affine(drag, wind, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i])
    for _step in range(job.steps):
        forget()
        # Each vector completes its step, so that few registers hold intermediate results. Out-of-order execution
        # overlaps the vectors.
        for i in range(vectors):
            if has_opening(scheme, drag):
                opening(scheme, constants, &x[i], &v[i], &s[i], &p[i], &q)
            for kick in range(kicks(scheme, plan)):
                for number in range(count):
                    stage(
                        scheme, drag, number, number == count - 1, constants, kick_constants(constants, kick),
                        fc + i, fs + i, fp + i, fq + i,
                        affine(drag, wind, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i]),
                        &x[i], &v[i], &s[i], &p[i], &q, &y, &z,
                    )
        if plan.damped:
            for i in range(vectors):
                damp(scheme, decay[i], &x[i], &v[i], &s[i])
    q = x[0] + v[0]
    for i in range(vectors):
        store(vectors == 1, x[i], position + i, numbers)
        store(vectors == 1, v[i], velocity + i, numbers)
        if verlet(scheme):
            store(vectors == 1, s[i], history + i, numbers)
        if i > 0:
            q = q + (x[i] + v[i])
    return q


cdef inline vec step_row(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    """Step a row of `count` numbers, or a tile of `count` bodies, by the function of the plan's scheme."""
    cdef vec (*step)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    step = <vec (*)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil> plan.step
    return step(plan, job, k, row, 0, count)


cdef inline void load(bint part, const vec* place, Py_ssize_t numbers, vec* to) noexcept nogil:
    if part:
        load_part(to, <const char*> place, numbers)
    else:
        to[0] = place[0]


cdef inline void store(bint part, vec q, vec* place, Py_ssize_t numbers) noexcept nogil:
    if part:
        store_part(&q, <char*> place, numbers)
    else:
        place[0] = q


cdef inline void begin_row(
    int scheme, const Plan* plan, const vec* constants, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    """Initialise the history of `count` numbers of a row from byte `at` on, vector by vector."""
    cdef vec x, v, s
    while count > 0:
        load(True, <vec*> (row.x + at), count, &x)
        load(True, <vec*> (row.v + at), count, &v)
        start(
            scheme, plan.taylor_start, constants,
            affine(
                plan.drag, plan.wind, plan.spring, x, v, (<vec*> (row.g + at))[0], (<vec*> (row.c + at))[0],
                (<vec*> (row.w + at))[0], (<vec*> (row.k + at))[0], (<vec*> (row.p + at))[0],
            ),
            &x, &v, &s,
        )
        store(True, v, <vec*> (row.v + at), count)
        store(True, s, <vec*> (row.s + at), count)
        at += sizeof(vec)
        count -= width(constants)


cdef inline vec single_vectors(
    int scheme, const Plan* plan, const Job* job, const vec* constants, const Row* row,
    Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    """Step `count` numbers of a row from byte `at` on, vector by vector."""
    cdef vec check
    if verlet(scheme) and job.start:
        begin_row(scheme, plan, constants, row, at, count)
    memset(&check, 0, sizeof(vec))
    while True:
        check = check + block(
            scheme, plan.drag, plan.wind, plan.spring, 1, plan, job, constants, row, at, <vec*> (row.x + at),
            <vec*> (row.v + at), <vec*> (row.s + at) if verlet(scheme) else NULL, NULL, NULL, count,
        )
        count -= width(constants)
        if count <= 0:
            break
        at += sizeof(vec)
    return check


cdef inline vec row_of_blocks(
    int scheme, int vectors, const Plan* plan, const Job* job, const vec* constants, const Row* row, Py_ssize_t count,
) noexcept nogil:
    """Step a row of `count` numbers in blocks; a partial block is stepped in a padded copy or vector by vector."""
    cdef vec (*single_block)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    cdef vec x[WIDE]
    cdef vec v[WIDE]
    cdef vec s[WIDE]
    cdef vec* position = <vec*> row.x
    cdef vec* velocity = <vec*> row.v
    cdef vec* history = <vec*> row.s if verlet(scheme) else NULL
    cdef vec* before_x = <vec*> row.before_x
    cdef vec* before_v = <vec*> row.before_v
    cdef vec* bx
    cdef vec* bv
    cdef vec* px
    cdef vec* pv
    cdef vec* ps
    cdef vec check
    cdef Py_ssize_t w = width(constants)
    cdef Py_ssize_t most = vectors * w
    cdef Py_ssize_t at = 0
    # Uniform coefficients are the same in each block if it consists of whole bodies. All blocks then read the
    # coefficients of the first one, which stay in the first-level cache.
    cdef Py_ssize_t ahead = 0 if plan.uniform and most % plan.numbers == 0 else vectors * sizeof(vec)
    cdef Py_ssize_t place = 0   # byte offset in the rows of coefficients
    cdef Job begun
    single_block = <vec (*)(
        const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t,
    ) noexcept nogil> plan.single_block
    if scheme == COMPOSITION:
        if plan.drag and plan.spring:
            return long_row(scheme, True, True, plan, job, constants, row, count)
        elif plan.drag:
            return long_row(scheme, True, False, plan, job, constants, row, count)
        elif plan.spring:
            return long_row(scheme, False, True, plan, job, constants, row, count)
        return long_row(scheme, False, False, plan, job, constants, row, count)
    memset(&check, 0, sizeof(vec))
    if verlet(scheme) and job.start:
        if before_x != NULL:
            memcpy(before_x, position, count * (<Py_ssize_t> sizeof(vec) // w))
            memcpy(before_v, velocity, count * (<Py_ssize_t> sizeof(vec) // w))
            before_x = before_v = NULL
        begin_row(scheme, plan, constants, row, 0, count)
        begun = job[0]
        begun.start = False
        job = &begun
    while count > 0:
        px, pv, ps, bx, bv = position, velocity, history, before_x, before_v
        if count < most and before_x != NULL:
            memcpy(before_x, position, count * (<Py_ssize_t> sizeof(vec) // w))
            memcpy(before_v, velocity, count * (<Py_ssize_t> sizeof(vec) // w))
            bx = bv = NULL
        if count <= w or (count < most and job.steps <= FEW):
            return check + single_block(plan, job, constants, row, at, count)
        if count < most:
            # Only coefficients are padded, not the caller's arrays.
            px, pv, ps = x, v, s
            copy_part(False, position, x, vectors, count)
            copy_part(False, velocity, v, vectors, count)
            if verlet(scheme):
                copy_part(False, history, s, vectors, count)
        check = check + blocks(scheme, vectors, plan, job, constants, row, place, px, pv, ps, bx, bv)
        if count < most:
            copy_part(True, position, x, vectors, count)
            copy_part(True, velocity, v, vectors, count)
            if verlet(scheme):
                copy_part(True, history, s, vectors, count)
        position += vectors
        velocity += vectors
        if verlet(scheme):
            history += vectors
        if before_x != NULL:
            before_x += vectors
            before_v += vectors
        at += vectors * sizeof(vec)
        place += ahead
        count -= most
    return check


cdef inline vec long_row(
    int scheme, bint drag, bint spring, const Plan* plan, const Job* job, const vec* constants, const Row* row,
    Py_ssize_t count,
) noexcept nogil:
    """`row_of_blocks` for compositions, whose long dependency chains would stall the few vectors in registers.

    Enough vectors in the first-level cache hide that latency: twice as fast. Tried and dropped: a loop of its own for
    leapfrog, whose number of kicks is the constant 1; it was 1.2 to 1.4 times as fast.
    """
    cdef vec x[LONG]
    cdef vec v[LONG]
    cdef vec check
    cdef vec q
    cdef Py_ssize_t w = width(constants)
    cdef Py_ssize_t bytes_ = count * (<Py_ssize_t> sizeof(vec) // w)
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t i, vectors, _step
    cdef int middle = plan.iterations - 2   # evaluations of a kick between its first and its last
    cdef int kick, _iteration
    cdef const vec* here
    cdef const vec* g
    cdef const vec* c
    cdef const vec* u
    cdef const vec* k
    cdef const vec* p
    memset(&check, 0, sizeof(vec))
    if row.before_x != NULL:
        memcpy(row.before_x, row.x, bytes_)
        memcpy(row.before_v, row.v, bytes_)
    while count > 0:
        vectors = min(<Py_ssize_t> LONG, (count + w - 1) // w)
        for i in range(vectors):
            load_part(&x[i], row.x + at + i * sizeof(vec), count - i * w)
            load_part(&v[i], row.v + at + i * sizeof(vec), count - i * w)
        g, c, u = <const vec*> (row.g + at), <const vec*> (row.c + at), <const vec*> (row.w + at)
        k, p = <const vec*> (row.k + at), <const vec*> (row.p + at)
        for _step in range(job.steps):
            for i in range(vectors):
                opening(scheme, constants, &x[i], &v[i], NULL, NULL, NULL)
                for kick in range(plan.kicks):
                    here = kick_constants(constants, kick)
                    if drag:
                        kick_once(scheme, True, spring, 0, False, constants, here, g, c, u, k, p, i, x, v, &q)
                        for _iteration in range(middle):
                            kick_once(scheme, True, spring, 1, False, constants, here, g, c, u, k, p, i, x, v, &q)
                    kick_once(scheme, drag, spring, 1, True, constants, here, g, c, u, k, p, i, x, v, &q)
            if plan.damped:
                for i in range(vectors):
                    damp(scheme, (<const vec*> (row.decay + at))[i], &x[i], &v[i], NULL)
        for i in range(vectors):
            check = check + (x[i] + v[i])
            store_part(&x[i], row.x + at + i * sizeof(vec), count - i * w)
            store_part(&v[i], row.v + at + i * sizeof(vec), count - i * w)
        at += LONG * sizeof(vec)
        count -= LONG * w
    return check


cdef inline void kick_once(
    int scheme, bint drag, bint spring, int number, bint ends, const vec* constants, const vec* kick, const vec* g,
    const vec* c, const vec* w, const vec* k, const vec* p, Py_ssize_t i, vec* x, vec* v, vec* q,
) noexcept nogil:
    stage(
        scheme, drag, number, ends, constants, kick, NULL, NULL, NULL, NULL,
        affine(drag, True, spring, x[i], v[i], g[i], c[i], w[i], k[i], p[i]), &x[i], &v[i], NULL, NULL, q, NULL, NULL,
    )


cdef inline void copy_part(bint out, vec* row, vec* copy, Py_ssize_t vectors, Py_ssize_t count) noexcept nogil:
    """Copy `count` numbers of the state into whole vectors, or (out) back. Padding is finite: no NaN results."""
    cdef Py_ssize_t w = width(copy)
    cdef Py_ssize_t used = (count + w - 1) // w
    cdef Py_ssize_t i
    if out:
        for i in range(used):
            store_part(copy + i, <char*> (row + i), count - i * w)
    else:
        for i in range(vectors):
            load_part(copy + i, <const char*> (row + min(i, used - 1)), count - min(i, used - 1) * w)


cdef inline vec blocks(
    int scheme, int vectors, const Plan* plan, const Job* job, const vec* constants, const Row* row, Py_ssize_t at,
    vec* x, vec* v, vec* s, vec* bx, vec* bv,
) noexcept nogil:
    """`block`, specialised by the affine forces of the plan."""
    if plan.drag and plan.spring:
        return block(scheme, True, True, True, vectors, plan, job, constants, row, at, x, v, s, bx, bv, 0)
    elif plan.drag and plan.wind:
        return block(scheme, True, True, False, vectors, plan, job, constants, row, at, x, v, s, bx, bv, 0)
    elif plan.drag or scheme == COMPOSITION_RK4:  # a plan without drag is bound as COMPOSITION
        return block(scheme, True, False, False, vectors, plan, job, constants, row, at, x, v, s, bx, bv, 0)
    elif plan.spring:
        return block(scheme, False, False, True, vectors, plan, job, constants, row, at, x, v, s, bx, bv, 0)
    else:
        return block(scheme, False, False, False, vectors, plan, job, constants, row, at, x, v, s, bx, bv, 0)
