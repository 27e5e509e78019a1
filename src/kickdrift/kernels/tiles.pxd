# Running a job: tile after tile is loaded, stepped through all steps of the call, and stored.
#
# Where all forces are affine, components do not see each other. Then there is no tile to speak of:
# blocks of lanes are taken straight from the caller's rows into registers and stay there.
# Otherwise a tile is copied into planes that fit the first-level cache.

from libc.stdint cimport uintptr_t
from libc.string cimport memcpy, memset

from .bodies cimport Newton, energy_step, implicit_step
from .lanes cimport f32lane, lane, width
from .plan cimport (
    ALTERNATE, COMPOSITION, COMPOSITION_RK4, DRIFT_KICK, ENERGY_EULER, EXACT, EXPLICIT_EULER, FLAT, GROOT_WARREN, HEUN,
    IMPLICIT_EULER, KICK_DRIFT, MAX_CONSTANTS, MAX_DIM, MIDPOINT, RK4, STRIDED, TILE, VELOCITY_VERLET,
    VERLET_BACKWARD, VERLET_CENTRAL, Array, Job, Plan,
)
from .schemes cimport damp, has_opening, keeps, opening, set_constants, stage, stages, start
from .terms cimport accelerate, affine, values

cdef enum:
    WIDE = 8        # lanes stepped side by side: enough to hide the latency of additions
    NARROW = 4      # for schemes that need many registers per lane


# What a run of affine components is made of; all pointers advance together.
ctypedef struct Row:
    char* x
    char* v
    char* s
    const char* g
    const char* c
    const char* w
    const char* k
    const char* p
    const char* decay
    const char* flow[4]


cdef inline void advance_row(Row* row, Py_ssize_t size) noexcept nogil:
    row.x += size
    row.v += size
    if row.s != NULL:
        row.s += size
    row.g += size
    row.c += size
    row.w += size
    row.k += size
    row.p += size
    row.decay += size
    row.flow[0] += size
    row.flow[1] += size
    row.flow[2] += size
    row.flow[3] += size


cdef inline void block(
    int scheme, bint drag, bint spring, int lanes, const Plan* plan, const Job* job, const lane* constants,
    const Row* row, lane* check,
) noexcept nogil:
    """Step `lanes` lanes through the job in registers; check gathers what is not finite."""
    cdef lane x[WIDE]
    cdef lane v[WIDE]
    cdef lane s[WIDE]
    cdef lane p[WIDE]
    cdef lane q[WIDE]
    cdef lane y[WIDE]
    cdef lane z[WIDE]
    cdef lane* position = <lane*> row.x
    cdef lane* velocity = <lane*> row.v
    cdef lane* history = <lane*> row.s
    cdef const lane* g = <const lane*> row.g
    cdef const lane* c = <const lane*> row.c
    cdef const lane* w = <const lane*> row.w
    cdef const lane* k = <const lane*> row.k
    cdef const lane* anchor = <const lane*> row.p
    cdef const lane* decay = <const lane*> row.decay
    cdef const lane* fc = <const lane*> row.flow[0]
    cdef const lane* fs = <const lane*> row.flow[1]
    cdef const lane* fp = <const lane*> row.flow[2]
    cdef const lane* fq = <const lane*> row.flow[3]
    cdef bint historic = scheme == GROOT_WARREN or scheme == VERLET_BACKWARD or scheme == VERLET_CENTRAL
    cdef int number, i, form = scheme
    cdef int count = stages(scheme, drag, plan)
    cdef Py_ssize_t step
    for i in range(lanes):
        x[i] = position[i]
        v[i] = velocity[i]
        if historic:
            s[i] = history[i]
            if job.start:
                start(
                    scheme, plan.taylor_start, constants,
                    affine(drag, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i]), &x[i], &v[i], &s[i],
                )
        if keeps(scheme, drag):
            p[i] = affine(drag, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i])
    for step in range(job.steps):
        if scheme == ALTERNATE:
            form = KICK_DRIFT if (job.tick + step) % 2 == 0 else DRIFT_KICK
        if has_opening(form, drag):
            for i in range(lanes):
                opening(form, constants, &x[i], &v[i], &s[i], &p[i], &q[i])
        for number in range(count):
            for i in range(lanes):
                stage(
                    form, drag, number, plan.iterations, constants, fc + i, fs + i, fp + i, fq + i,
                    affine(drag, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i]),
                    &x[i], &v[i], &s[i], &p[i], &q[i], &y[i], &z[i],
                )
        if plan.damped:
            for i in range(lanes):
                damp(scheme, decay[i], &x[i], &v[i], &s[i])
    for i in range(lanes):
        position[i] = x[i]
        velocity[i] = v[i]
        if historic:
            history[i] = s[i]
        # A difference of equal numbers is zero if they are finite and not a number otherwise.
        check[0] = check[0] + ((x[i] - x[i]) + (v[i] - v[i]))


cdef inline void row_of_blocks(
    int scheme, int lanes, const Plan* plan, const Job* job, const lane* constants, Row* row, Py_ssize_t count,
    lane* check,
) noexcept nogil:
    """Step a row of `count` numbers: full blocks, then single lanes, then what is left of one."""
    cdef lane x[1]
    cdef lane v[1]
    cdef lane s[1]
    cdef Row part
    cdef Py_ssize_t one = sizeof(lane)
    cdef Py_ssize_t left = count * (one // width(check))
    while left >= lanes * one:
        blocks(scheme, lanes, plan, job, constants, row, check)
        advance_row(row, lanes * one)
        left -= lanes * one
    while left > 0:
        part = row[0]
        if left < one:
            # Coefficients are padded, the caller's arrays are not.
            part.x, part.v, part.s = <char*> x, <char*> v, <char*> s
            copy_part(&part, row, one, left)
        blocks(scheme, 1, plan, job, constants, &part, check)
        if left < one:
            copy_part(row, &part, left, left)
        advance_row(row, one)
        left -= one


cdef inline void copy_part(const Row* to, const Row* source, Py_ssize_t room, Py_ssize_t size) noexcept nogil:
    """Copy `size` bytes of state and fill up to `room` with zeros."""
    memset(to.x, 0, room)
    memset(to.v, 0, room)
    memcpy(to.x, source.x, size)
    memcpy(to.v, source.v, size)
    if source.s != NULL and to.s != NULL:
        memset(to.s, 0, room)
        memcpy(to.s, source.s, size)


cdef inline void blocks(
    int scheme, int lanes, const Plan* plan, const Job* job, const lane* constants, const Row* row, lane* check,
) noexcept nogil:
    """`block` for each affine family."""
    if plan.drag:
        if plan.spring:
            block(scheme, True, True, lanes, plan, job, constants, row, check)
        else:
            block(scheme, True, False, lanes, plan, job, constants, row, check)
    elif plan.spring:
        block(scheme, False, True, lanes, plan, job, constants, row, check)
    else:
        block(scheme, False, False, lanes, plan, job, constants, row, check)


# `row_of_blocks` for each scheme, as functions that are called through pointers: inlined into one,
# they would take compilers minutes.

cdef inline void row_explicit_euler(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(EXPLICIT_EULER, WIDE, plan, job, k, row, count, check)


cdef inline void row_kick_drift(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(KICK_DRIFT, WIDE, plan, job, k, row, count, check)


cdef inline void row_drift_kick(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(DRIFT_KICK, WIDE, plan, job, k, row, count, check)


cdef inline void row_alternate(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(ALTERNATE, WIDE, plan, job, k, row, count, check)


cdef inline void row_midpoint(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(MIDPOINT, NARROW, plan, job, k, row, count, check)


cdef inline void row_heun(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(HEUN, NARROW, plan, job, k, row, count, check)


cdef inline void row_rk4(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(RK4, NARROW, plan, job, k, row, count, check)


cdef inline void row_verlet_backward(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(VERLET_BACKWARD, NARROW, plan, job, k, row, count, check)


cdef inline void row_verlet_central(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(VERLET_CENTRAL, NARROW, plan, job, k, row, count, check)


cdef inline void row_velocity_verlet(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(VELOCITY_VERLET, WIDE, plan, job, k, row, count, check)


cdef inline void row_groot_warren(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(GROOT_WARREN, NARROW, plan, job, k, row, count, check)


cdef inline void row_composition(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(COMPOSITION, NARROW, plan, job, k, row, count, check)


cdef inline void row_composition_rk4(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(COMPOSITION_RK4, NARROW, plan, job, k, row, count, check)


cdef inline void row_exact(
    const Plan* plan, const Job* job, const lane* k, Row* row, Py_ssize_t count, lane* check,
) noexcept nogil:
    row_of_blocks(EXACT, NARROW, plan, job, k, row, count, check)


# Tiles in planes: a plane is TILE numbers, a register MAX_DIM planes.

cdef enum:
    X
    V
    S
    A
    P
    Q
    Y
    Z
    REGISTERS


cdef inline void load(
    const Array* array, int dim, Py_ssize_t first, Py_ssize_t count, Py_ssize_t m, lane* planes,
) noexcept nogil:
    """Copy a tile into planes; zeros follow up to m bodies."""
    cdef Py_ssize_t i
    cdef int j
    cdef const char* source
    cdef float* f32 = <float*> planes
    cdef double* f64 = <double*> planes
    for j in range(dim):
        source = array.data + first * array.body + j * array.component
        for i in range(count):
            if lane is f32lane:
                f32[j * TILE + i] = (<const float*> (source + i * array.body))[0]
            else:
                f64[j * TILE + i] = (<const double*> (source + i * array.body))[0]
        for i in range(count, m):
            if lane is f32lane:
                f32[j * TILE + i] = 0
            else:
                f64[j * TILE + i] = 0


cdef inline bint store(
    const Array* array, int dim, Py_ssize_t first, Py_ssize_t count, const lane* planes,
) noexcept nogil:
    """Copy planes back to the array; False where a number is not finite."""
    cdef Py_ssize_t i
    cdef int j
    cdef char* target
    cdef const float* f32 = <const float*> planes
    cdef const double* f64 = <const double*> planes
    cdef double check = 0
    for j in range(dim):
        target = array.data + first * array.body + j * array.component
        for i in range(count):
            if lane is f32lane:
                (<float*> (target + i * array.body))[0] = f32[j * TILE + i]
                check = check + (f32[j * TILE + i] - f32[j * TILE + i])
            else:
                (<double*> (target + i * array.body))[0] = f64[j * TILE + i]
                check = check + (f64[j * TILE + i] - f64[j * TILE + i])
    return check == 0


cdef inline void sweep(
    const Plan* plan, int form, int number, const lane* k, Py_ssize_t first, Py_ssize_t m, lane* r,
) noexcept nogil:
    """One stage for all numbers of a tile; the opening is stage -1, filling the history -2, damping -3."""
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t i, n
    cdef int j
    cdef bint drag = plan.velocity_dependent
    cdef int iterations = plan.iterations
    cdef const lane* decay
    for j in range(plan.dim):
        decay = <const lane*> values(&plan.decay, j, first, sizeof(lane) // width(r))
        for n in range(m // width(r)):
            i = j * plane + n
            if number >= 0:
                stage(
                    form, drag, number, iterations, k, k, k, k, k, r[A * row + i],
                    &r[X * row + i], &r[V * row + i], &r[S * row + i],
                    &r[P * row + i], &r[Q * row + i], &r[Y * row + i], &r[Z * row + i],
                )
            elif number == -1:
                opening(form, k, &r[X * row + i], &r[V * row + i], &r[S * row + i], &r[P * row + i], &r[Q * row + i])
            elif number == -2:
                start(
                    form, plan.taylor_start, k, r[A * row + i],
                    &r[X * row + i], &r[V * row + i], &r[S * row + i],
                )
            else:
                damp(form, decay[n], &r[X * row + i], &r[V * row + i], &r[S * row + i])


cdef inline void step_tile(
    const Plan* plan, Job* job, Py_ssize_t first, Py_ssize_t count, const lane* k, lane* r,
) noexcept nogil:
    """Step a loaded tile through the job, or up to the step that cannot be solved."""
    # Whole lanes of the widest kind.
    cdef Py_ssize_t m = (count + 15) // 16 * 16
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    cdef lane* x = r + X * row
    cdef lane* v = r + V * row
    cdef lane* a = r + A * row
    cdef bint drag = plan.velocity_dependent
    cdef int form = plan.scheme
    cdef int count_stages = stages(form, drag, plan)
    cdef int number
    cdef Py_ssize_t step, body
    cdef bint solved
    cdef Newton newton
    memset(&newton, 0, sizeof(Newton))
    if job.start:
        accelerate(plan, first, m, x, v, a)
        sweep(plan, form, -2, k, first, m, r)
    if keeps(form, drag):
        accelerate(plan, first, m, x, v, r + P * row)
    for step in range(job.steps):
        if plan.scheme == IMPLICIT_EULER:
            if lane is f32lane:
                solved = implicit_step(plan, first, count, m, <float*> x, <float*> v, &newton)
            else:
                solved = implicit_step(plan, first, count, m, <double*> x, <double*> v, &newton)
            if not solved:
                # The earliest step counts, and the first body of those that fail there.
                if step < job.failed_step:
                    job.failed_step = step
                    job.failed_body = newton.body
                    job.residual = newton.residual
                break
        elif plan.scheme == ENERGY_EULER:
            if lane is f32lane:
                energy_step(plan, first, count, m, <float*> x, <float*> v)
            else:
                energy_step(plan, first, count, m, <double*> x, <double*> v)
        else:
            if plan.scheme == ALTERNATE:
                form = KICK_DRIFT if (job.tick + step) % 2 == 0 else DRIFT_KICK
            if has_opening(form, drag):
                sweep(plan, form, -1, k, first, m, r)
            for number in range(count_stages):
                accelerate(plan, first, m, x, v, a)
                sweep(plan, form, number, k, first, m, r)
        if plan.damped:
            sweep(plan, form, -3, k, first, m, r)
    if plan.scheme == IMPLICIT_EULER:
        for body in range(count):
            job.evaluations = max(job.evaluations, newton.evaluations[body])


# A job.

cdef inline void splat(const Plan* plan, lane* k) noexcept nogil:
    """The scheme's constants as lanes."""
    cdef float f32[MAX_CONSTANTS]
    cdef double f64[MAX_CONSTANTS]
    cdef int i, count
    cdef Py_ssize_t n
    if lane is f32lane:
        count = set_constants(plan, f32)
    else:
        count = set_constants(plan, f64)
    for i in range(count):
        for n in range(width(k)):
            if lane is f32lane:
                (<float*> (k + i))[n] = f32[i]
            else:
                (<double*> (k + i))[n] = f64[i]


cdef inline bint is_zero(const lane* check) noexcept nogil:
    cdef Py_ssize_t n
    cdef bint result = True
    for n in range(width(check)):
        if lane is f32lane:
            result = result and (<const float*> check)[n] == 0
        else:
            result = result and (<const double*> check)[n] == 0
    return result


cdef inline Py_ssize_t first_bad(const Plan* plan, Py_ssize_t first, Py_ssize_t count, lane* like) noexcept nogil:
    """The first body of a tile whose state is not finite."""
    cdef Py_ssize_t i, place
    cdef int j
    cdef double x, v
    for i in range(first, first + count):
        for j in range(plan.dim):
            place = i * plan.x.body + j * plan.x.component
            x = (<float*> (plan.x.data + place))[0] if lane is f32lane else (<double*> (plan.x.data + place))[0]
            place = i * plan.v.body + j * plan.v.component
            v = (<float*> (plan.v.data + place))[0] if lane is f32lane else (<double*> (plan.v.data + place))[0]
            if x - x != 0 or v - v != 0:
                return i
    return -1


cdef inline void locate(
    const Plan* plan, Py_ssize_t first, int component, lane* r, Row* row,
) noexcept nogil:
    """The row of a component of a tile, or of the whole tile where components lie side by side."""
    cdef Py_ssize_t size = sizeof(lane) // width(r)
    cdef int i
    cdef Py_ssize_t place = MAX_DIM * TILE * size
    cdef char* planes = <char*> r + component * TILE * size
    if plan.layout == STRIDED:
        row.x, row.v = planes + X * place, planes + V * place
        row.s = NULL if plan.s.data == NULL else planes + S * place
    else:
        row.x = plan.x.data + first * plan.x.body + component * plan.x.component
        row.v = plan.v.data + first * plan.v.body + component * plan.v.component
        row.s = NULL
        if plan.s.data != NULL:
            row.s = plan.s.data + first * plan.s.body + component * plan.s.component
    row.g = values(&plan.g, component, first, size)
    row.c = values(&plan.c, component, first, size)
    row.w = values(&plan.w, component, first, size)
    row.k = values(&plan.k, component, first, size)
    row.p = values(&plan.p, component, first, size)
    row.decay = values(&plan.decay, component, first, size)
    for i in range(4):
        row.flow[i] = values(&plan.flow[i], component, first, size)


cdef inline void load_tile(const Plan* plan, Py_ssize_t first, Py_ssize_t count, lane* r) noexcept nogil:
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    load(&plan.x, plan.dim, first, count, TILE, r + X * row)
    load(&plan.v, plan.dim, first, count, TILE, r + V * row)
    if plan.s.data != NULL:
        load(&plan.s, plan.dim, first, count, TILE, r + S * row)


cdef inline bint store_tile(const Plan* plan, Py_ssize_t first, Py_ssize_t count, const lane* r) noexcept nogil:
    """False where the state is not finite."""
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    cdef bint finite = store(&plan.x, plan.dim, first, count, r + X * row)
    finite = store(&plan.v, plan.dim, first, count, r + V * row) and finite
    if plan.s.data != NULL:
        store(&plan.s, plan.dim, first, count, r + S * row)
    return finite


cdef inline bint step_affine(
    const Plan* plan, const Job* job, Py_ssize_t first, Py_ssize_t count, const lane* k, lane* r,
) noexcept nogil:
    """Step a tile in which components do not see each other; False where the state is not finite."""
    cdef void (*step_row)(const Plan*, const Job*, const lane*, Row*, Py_ssize_t, lane*) noexcept nogil
    cdef Row row
    cdef lane check[1]
    cdef int j
    cdef int rows = 1 if plan.layout == FLAT else plan.dim
    if plan.scheme == EXPLICIT_EULER:
        step_row = row_explicit_euler[lane]
    elif plan.scheme == KICK_DRIFT:
        step_row = row_kick_drift[lane]
    elif plan.scheme == DRIFT_KICK:
        step_row = row_drift_kick[lane]
    elif plan.scheme == ALTERNATE:
        step_row = row_alternate[lane]
    elif plan.scheme == MIDPOINT:
        step_row = row_midpoint[lane]
    elif plan.scheme == HEUN:
        step_row = row_heun[lane]
    elif plan.scheme == RK4:
        step_row = row_rk4[lane]
    elif plan.scheme == VERLET_BACKWARD:
        step_row = row_verlet_backward[lane]
    elif plan.scheme == VERLET_CENTRAL:
        step_row = row_verlet_central[lane]
    elif plan.scheme == VELOCITY_VERLET:
        step_row = row_velocity_verlet[lane]
    elif plan.scheme == GROOT_WARREN:
        step_row = row_groot_warren[lane]
    elif plan.scheme == COMPOSITION:
        step_row = row_composition[lane]
    elif plan.scheme == COMPOSITION_RK4:
        step_row = row_composition_rk4[lane]
    else:
        step_row = row_exact[lane]
    memset(check, 0, sizeof(lane))
    for j in range(rows):
        locate(plan, first, j, r, &row)
        step_row(plan, job, k, &row, count * plan.dim // rows, check)
    return is_zero(check)


cdef inline void run(const Plan* plan, Job* job, lane* like) noexcept nogil:
    """Step bodies job.first to job.last; what happened is in the job."""
    cdef lane k[MAX_CONSTANTS]
    # Whole cache lines: no lane of a tile straddles two.
    cdef double room[REGISTERS * MAX_DIM * TILE + 8]
    cdef lane* r = <lane*> ((<uintptr_t> &room[0] + 63) // 64 * 64)
    cdef bint affine_only = plan.terms == 0 and plan.scheme < IMPLICIT_EULER
    cdef bint finite
    cdef Py_ssize_t first, count
    splat(plan, k)
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    if plan.scheme != IMPLICIT_EULER:
        job.evaluations = (
            job.steps * stages(plan.scheme, plan.velocity_dependent, plan)
            + keeps(plan.scheme, plan.velocity_dependent) + job.start
        )
    first = job.first
    while first < job.last:
        count = min(<Py_ssize_t> TILE, job.last - first)
        if plan.layout == STRIDED or not affine_only:
            load_tile(plan, first, count, r)
        if affine_only:
            finite = step_affine(plan, job, first, count, k, r)
        else:
            step_tile(plan, job, first, count, k, r)
            finite = True
        if plan.layout == STRIDED or not affine_only:
            finite = store_tile(plan, first, count, r) and finite
        if not finite and job.bad_body < 0:
            job.bad_body = first_bad(plan, first, count, r)
        first += TILE
