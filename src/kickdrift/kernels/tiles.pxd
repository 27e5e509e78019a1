# Running a job: tile after tile is loaded, stepped through all steps of the call, and stored.
#
# Where all forces are affine, components do not see each other. Then there is no tile to speak of:
# blocks of lanes are taken straight from the caller's rows into registers and stay there.
# Otherwise a tile is copied into planes that fit the first-level cache.

from libc.stdint cimport uint32_t, uintptr_t
from libc.string cimport memcpy, memset

from .bodies cimport Newton, energy_step, implicit_step
from .lanes cimport MEDIUM, NARROW, WIDE, f32lane, forget, lane, load_part, store_part, width
from .plan cimport (
    ALTERNATE, COMPOSITION, COMPOSITION_RK4, DRIFT_KICK, ENERGY_EULER, EXACT, EXPLICIT_EULER, GROOT_WARREN, HEUN,
    IMPLICIT_EULER, KICK_DRIFT, MAX_CONSTANTS, MAX_DIM, MIDPOINT, PLANES, RK4, ROW, STRIDED, TILE, VELOCITY_VERLET,
    VERLET_BACKWARD, VERLET_CENTRAL, Array, Job, Plan,
)
from .schemes cimport damp, has_opening, keeps, minds_drag, opening, set_constants, stage, stages, start
from .terms cimport accelerate, accelerate_tile, affine, field_lane, values

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
    int scheme, bint drag, bint wind, bint spring, int lanes, const Plan* plan, const Job* job, const lane* constants,
    const Row* row, lane* check,
) noexcept nogil:
    """Step `lanes` lanes through the job in registers; check gathers what is not finite."""
    cdef lane x[WIDE]
    cdef lane v[WIDE]
    cdef lane s[WIDE]
    cdef lane p[WIDE]
    cdef lane q, y, z
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
                    affine(drag, wind, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i]), &x[i], &v[i], &s[i],
                )
        if keeps(scheme, drag):
            p[i] = affine(drag, wind, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i])
    for step in range(job.steps):
        forget()
        if scheme == ALTERNATE:
            form = KICK_DRIFT if (job.tick + step) % 2 == 0 else DRIFT_KICK
        # A lane takes its whole step, so that few registers hold what is between its stages: the
        # processor itself overlaps lanes.
        for i in range(lanes):
            if has_opening(form, drag):
                opening(form, constants, &x[i], &v[i], &s[i], &p[i], &q)
            for number in range(count):
                stage(
                    form, drag, number, plan.iterations, constants, fc + i, fs + i, fp + i, fq + i,
                    affine(drag, wind, spring, x[i], v[i], g[i], c[i], w[i], k[i], anchor[i]),
                    &x[i], &v[i], &s[i], &p[i], &q, &y, &z,
                )
        if plan.damped:
            for i in range(lanes):
                damp(scheme, decay[i], &x[i], &v[i], &s[i])
    # A difference of equal numbers is zero if they are finite and not a number otherwise.
    q = x[0] - x[0]
    for i in range(lanes):
        position[i] = x[i]
        velocity[i] = v[i]
        if historic:
            history[i] = s[i]
        q = q + ((x[i] - x[i]) + (v[i] - v[i]))
    check[0] = check[0] + q


cdef inline void row_of_blocks(
    int scheme, int lanes, const Plan* plan, const Job* job, const lane* constants, Row* row, Py_ssize_t count,
    lane* check,
) noexcept nogil:
    """Step a row of `count` numbers in blocks; what does not fill the last is stepped in a copy."""
    cdef lane x[WIDE]
    cdef lane v[WIDE]
    cdef lane s[WIDE]
    cdef Row copy
    cdef Row* here
    cdef Py_ssize_t w = width(check)
    cdef Py_ssize_t room
    while count > 0:
        # What fits into one lane, such as a single body, needs no more.
        room = lanes * w if count > w else w
        here = row
        if count < room:
            # Coefficients are padded, the caller's arrays are not.
            copy = row[0]
            copy.x, copy.v, copy.s = <char*> x, <char*> v, <char*> s
            copy_part(False, row, &copy, room // w, count, check)
            here = &copy
        if count > w:
            blocks(scheme, lanes, plan, job, constants, here, check)
        else:
            block(scheme, plan.drag, plan.wind, plan.spring, 1, plan, job, constants, here, check)
        if count < room:
            copy_part(True, row, &copy, room // w, count, check)
        advance_row(row, room // w * sizeof(lane))
        count -= room


cdef inline void copy_part(
    bint out, const Row* row, const Row* copy, Py_ssize_t lanes, Py_ssize_t count, const lane* like,
) noexcept nogil:
    """Copy `count` numbers of state into whole lanes, zeros following, or out of them."""
    copy_numbers(out, row.x, <lane*> copy.x, lanes, count)
    copy_numbers(out, row.v, <lane*> copy.v, lanes, count)
    if row.s != NULL:
        copy_numbers(out, row.s, <lane*> copy.s, lanes, count)


cdef inline void copy_numbers(bint out, char* row, lane* copy, Py_ssize_t lanes, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(lanes):
        if out:
            store_part(copy + i, row + i * sizeof(lane), count - i * width(copy))
        else:
            load_part(copy + i, row + i * sizeof(lane), count - i * width(copy))


cdef inline void blocks(
    int scheme, int lanes, const Plan* plan, const Job* job, const lane* constants, const Row* row, lane* check,
) noexcept nogil:
    """`block` for each affine family."""
    if plan.drag and plan.spring:
        block(scheme, True, True, True, lanes, plan, job, constants, row, check)
    elif plan.drag and plan.wind:
        block(scheme, True, True, False, lanes, plan, job, constants, row, check)
    elif plan.drag:
        block(scheme, True, False, False, lanes, plan, job, constants, row, check)
    elif plan.spring:
        block(scheme, False, False, True, lanes, plan, job, constants, row, check)
    else:
        block(scheme, False, False, False, lanes, plan, job, constants, row, check)


# Tiles in planes: a plane is TILE numbers, a register MAX_DIM planes.

cdef enum:
    X
    V
    S
    P
    Q
    Y
    Z
    REGISTERS


cdef inline void move(
    bint out, const Array* array, int dim, Py_ssize_t stride, Py_ssize_t first, Py_ssize_t count, lane* planes,
) noexcept nogil:
    """Copy a tile into planes, zeros following up to a whole lane, or out of them."""
    cdef Py_ssize_t size = sizeof(lane) // width(planes)
    cdef Py_ssize_t i, rest
    cdef int j
    cdef char* place
    cdef float* f32
    cdef double* f64
    for j in range(dim):
        place = array.data + first * array.body + j * array.component
        f32 = <float*> planes + j * TILE
        f64 = <double*> planes + j * TILE
        for i in range(count):
            if out and lane is f32lane:
                (<float*> (place + i * stride))[0] = f32[i]
            elif out:
                (<double*> (place + i * stride))[0] = f64[i]
            elif lane is f32lane:
                f32[i] = (<const float*> (place + i * stride))[0]
            else:
                f64[i] = (<const double*> (place + i * stride))[0]
        if not out:
            rest = width(planes) - 1 - (count - 1) % width(planes)
            memset(<char*> planes + (j * TILE + count) * size, 0, rest * size)


cdef inline void move_tile(
    bint out, const Array* array, int dim, Py_ssize_t first, Py_ssize_t count, lane* planes,
) noexcept nogil:
    """`move` with the usual strides as constants: compilers then find better ways than number by number."""
    cdef Py_ssize_t size = sizeof(lane) // width(planes)
    if array.body == size:
        move(out, array, dim, size, first, count, planes)
    elif array.body == 3 * size:
        move(out, array, dim, 3 * size, first, count, planes)
    elif array.body == 2 * size:
        move(out, array, dim, 2 * size, first, count, planes)
    else:
        move(out, array, dim, array.body, first, count, planes)


cdef inline void damp_planes(const Plan* plan, Py_ssize_t first, Py_ssize_t lanes, lane* r) noexcept nogil:
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t i, n
    cdef int j
    for j in range(plan.dim):
        for n in range(lanes):
            i = j * plane + n
            damp(
                plan.scheme, field_lane(&plan.decay, j, first + n * width(r), r),
                &r[X * row + i], &r[V * row + i], &r[S * row + i],
            )


cdef inline void step_planes(
    int scheme, int dim, bint drag, const Plan* plan, const Job* job, const lane* k,
    Py_ssize_t first, Py_ssize_t count, lane* r,
) noexcept nogil:
    """Step a loaded tile through the job, stage by stage."""
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t lanes = (count + width(r) - 1) // width(r)
    cdef int form = scheme
    cdef int number, j
    cdef Py_ssize_t step, n, i
    cdef lane x[MAX_DIM]
    cdef lane v[MAX_DIM]
    cdef lane a[MAX_DIM]
    if job.start or keeps(scheme, drag):
        accelerate_tile(plan, dim, first, count, r + X * row, r + V * row, r + P * row)
        for j in range(dim):
            for n in range(lanes if job.start else 0):
                i = j * plane + n
                start(
                    scheme, plan.taylor_start, k, r[P * row + i], &r[X * row + i], &r[V * row + i], &r[S * row + i],
                )
    for step in range(job.steps):
        if scheme == ALTERNATE:
            form = KICK_DRIFT if (job.tick + step) % 2 == 0 else DRIFT_KICK
        for number in range(stages(scheme, drag, plan)):
            for n in range(lanes):
                for j in range(dim):
                    i = j * plane + n
                    x[j] = r[X * row + i]
                    v[j] = r[V * row + i]
                    if number == 0 and has_opening(form, drag):
                        opening(form, k, &x[j], &v[j], &r[S * row + i], &r[P * row + i], &r[Q * row + i])
                accelerate(plan, dim, first + n * width(r), x, v, a)
                for j in range(dim):
                    i = j * plane + n
                    stage(
                        form, drag, number, plan.iterations, k, k, k, k, k, a[j], &x[j], &v[j],
                        &r[S * row + i], &r[P * row + i], &r[Q * row + i], &r[Y * row + i], &r[Z * row + i],
                    )
                    r[X * row + i] = x[j]
                    r[V * row + i] = v[j]
        if plan.damped:
            damp_planes(plan, first, lanes, r)


cdef inline void solve_planes(
    const Plan* plan, Job* job, const lane* k, Py_ssize_t first, Py_ssize_t count, lane* r,
) noexcept nogil:
    """The same for the schemes that look at all components of a body, up to the step that cannot be solved."""
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    cdef lane* x = r + X * row
    cdef lane* v = r + V * row
    cdef Py_ssize_t step, body
    cdef bint solved
    cdef Newton newton
    memset(&newton, 0, sizeof(Newton))
    for step in range(job.steps):
        if plan.scheme == ENERGY_EULER:
            if lane is f32lane:
                energy_step(plan, first, count, count, <float*> x, <float*> v)
            else:
                energy_step(plan, first, count, count, <double*> x, <double*> v)
        else:
            if lane is f32lane:
                solved = implicit_step(plan, first, count, count, <float*> x, <float*> v, &newton)
            else:
                solved = implicit_step(plan, first, count, count, <double*> x, <double*> v, &newton)
            if not solved:
                # The earliest step counts, and the first body of those that fail there.
                if step < job.failed_step:
                    job.failed_step = step
                    job.failed_body = newton.body
                    job.residual = newton.residual
                break
        if plan.damped:
            damp_planes(plan, first, (count + width(r) - 1) // width(r), r)
    if plan.scheme == IMPLICIT_EULER:
        for body in range(count):
            job.evaluations = max(job.evaluations, newton.evaluations[body])


cdef inline void step_scheme(
    int scheme, int lanes, const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count,
    lane* check, lane* r,
) noexcept nogil:
    """Step a row of `count` numbers, or where there is none a tile of so many bodies."""
    if row != NULL:
        row_of_blocks(scheme, lanes, plan, job, k, row, count, check)
    elif plan.velocity_dependent and minds_drag(scheme):
        step_planes_of(scheme, True, plan, job, k, first, count, r)
    elif scheme != EXACT:  # which takes affine forces only
        step_planes_of(scheme, False, plan, job, k, first, count, r)


cdef inline void step_planes_of(
    int scheme, bint drag, const Plan* plan, const Job* job, const lane* k, Py_ssize_t first, Py_ssize_t count, lane* r,
) noexcept nogil:
    """`step_planes` for each number of dimensions."""
    if plan.dim == 3:
        step_planes(scheme, 3, drag, plan, job, k, first, count, r)
    elif plan.dim == 2:
        step_planes(scheme, 2, drag, plan, job, k, first, count, r)
    else:
        step_planes(scheme, 1, drag, plan, job, k, first, count, r)


# Each scheme as a function that is called through a pointer: inlined into one, they would take
# compilers minutes.

cdef inline void explicit_euler(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(EXPLICIT_EULER, WIDE, plan, job, k, row, first, count, check, r)


cdef inline void kick_drift(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(KICK_DRIFT, WIDE, plan, job, k, row, first, count, check, r)


cdef inline void drift_kick(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(DRIFT_KICK, WIDE, plan, job, k, row, first, count, check, r)


cdef inline void alternate(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(ALTERNATE, WIDE, plan, job, k, row, first, count, check, r)


cdef inline void midpoint(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(MIDPOINT, NARROW, plan, job, k, row, first, count, check, r)


cdef inline void heun(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(HEUN, NARROW, plan, job, k, row, first, count, check, r)


cdef inline void rk4(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(RK4, NARROW, plan, job, k, row, first, count, check, r)


cdef inline void verlet_backward(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(VERLET_BACKWARD, NARROW, plan, job, k, row, first, count, check, r)


cdef inline void verlet_central(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(VERLET_CENTRAL, NARROW, plan, job, k, row, first, count, check, r)


cdef inline void velocity_verlet(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(VELOCITY_VERLET, MEDIUM, plan, job, k, row, first, count, check, r)


cdef inline void groot_warren(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(GROOT_WARREN, NARROW, plan, job, k, row, first, count, check, r)


cdef inline void composition(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(COMPOSITION, NARROW, plan, job, k, row, first, count, check, r)


cdef inline void composition_rk4(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(COMPOSITION_RK4, NARROW, plan, job, k, row, first, count, check, r)


cdef inline void exact(
    const Plan* plan, Job* job, const lane* k, Row* row, Py_ssize_t first, Py_ssize_t count, lane* check, lane* r,
) noexcept nogil:
    step_scheme(EXACT, NARROW, plan, job, k, row, first, count, check, r)


# A job.

cdef inline lane* aligned(const char* room, const lane* like) noexcept nogil:
    """Whole cache lines: no lane from here on straddles two."""
    return <lane*> ((<uintptr_t> room + 63) // 64 * 64)


cdef inline void prepare(Plan* plan, lane* like) noexcept nogil:
    """The scheme's constants as lanes."""
    cdef lane* k = aligned(plan.prepared, like)
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
    """Sums of differences of equal numbers are never -0."""
    cdef uint32_t words[16]
    cdef uint32_t bits = 0
    cdef size_t i
    # A copy, because compilers may assume that a pointer to integers sees no floating-point numbers.
    memcpy(words, check, sizeof(lane))
    for i in range(sizeof(lane) // sizeof(uint32_t)):
        bits |= words[i]
    return bits == 0


cdef inline Py_ssize_t first_bad(const Plan* plan, Py_ssize_t first, Py_ssize_t last, lane* like) noexcept nogil:
    """The first body whose state is not finite, or -1."""
    cdef Py_ssize_t i, place
    cdef int j
    cdef double x, v
    for i in range(first, last):
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
    row.g = values(&plan.g, component, first)
    row.c = values(&plan.c, component, first)
    row.w = values(&plan.w, component, first)
    row.k = values(&plan.k, component, first)
    row.p = values(&plan.p, component, first)
    row.decay = values(&plan.decay, component, first)
    for i in range(4):
        row.flow[i] = values(&plan.flow[i], component, first)


cdef inline void move_state(
    bint out, const Plan* plan, Py_ssize_t first, Py_ssize_t count, lane* r,
) noexcept nogil:
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    move_tile(out, &plan.x, plan.dim, first, count, r + X * row)
    move_tile(out, &plan.v, plan.dim, first, count, r + V * row)
    if plan.s.data != NULL:
        move_tile(out, &plan.s, plan.dim, first, count, r + S * row)


cdef inline void check_planes(int dim, Py_ssize_t count, const lane* r, lane* check) noexcept nogil:
    """As in `block`."""
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t i, n
    cdef int j
    for j in range(dim):
        for n in range((count + width(r) - 1) // width(r)):
            i = j * plane + n
            check[0] = check[0] + (
                (r[X * MAX_DIM * plane + i] - r[X * MAX_DIM * plane + i])
                + (r[V * MAX_DIM * plane + i] - r[V * MAX_DIM * plane + i])
            )


cdef inline void run(const Plan* plan, Job* job, lane* like) noexcept nogil:
    """Step bodies job.first to job.last; what happened is in the job."""
    cdef void (*step)(
        const Plan*, Job*, const lane*, Row*, Py_ssize_t, Py_ssize_t, lane*, lane*,
    ) noexcept nogil
    cdef double room[REGISTERS * MAX_DIM * TILE + 8]
    cdef lane* r = aligned(<char*> room, like)
    cdef const lane* k = aligned(plan.prepared, like)
    cdef bint affine_only = plan.terms == 0 and plan.scheme < IMPLICIT_EULER
    cdef Py_ssize_t first, count
    cdef int j
    cdef Row row
    cdef lane check[1]
    if plan.scheme == EXPLICIT_EULER:
        step = explicit_euler[lane]
    elif plan.scheme == KICK_DRIFT:
        step = kick_drift[lane]
    elif plan.scheme == DRIFT_KICK:
        step = drift_kick[lane]
    elif plan.scheme == ALTERNATE:
        step = alternate[lane]
    elif plan.scheme == MIDPOINT:
        step = midpoint[lane]
    elif plan.scheme == HEUN:
        step = heun[lane]
    elif plan.scheme == RK4:
        step = rk4[lane]
    elif plan.scheme == VERLET_BACKWARD:
        step = verlet_backward[lane]
    elif plan.scheme == VERLET_CENTRAL:
        step = verlet_central[lane]
    elif plan.scheme == VELOCITY_VERLET:
        step = velocity_verlet[lane]
    elif plan.scheme == GROOT_WARREN:
        step = groot_warren[lane]
    elif plan.scheme == COMPOSITION:
        step = composition[lane]
    elif plan.scheme == COMPOSITION_RK4:
        step = composition_rk4[lane]
    else:
        step = exact[lane]
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    if plan.scheme != IMPLICIT_EULER:
        job.evaluations = (
            job.steps * stages(plan.scheme, plan.velocity_dependent, plan)
            + keeps(plan.scheme, plan.velocity_dependent) + job.start
        )
    memset(check, 0, sizeof(lane))
    if affine_only and plan.layout != STRIDED:
        # In the caller's memory; one plane of components after the other, for the prefetchers' sake.
        for j in range(plan.dim if plan.layout == PLANES else 1):
            first = job.first
            while first < job.last:
                count = min(<Py_ssize_t> ROW, job.last - first)
                locate(plan, first, j, r, &row)
                step(
                    plan, job, k, &row, first, count if plan.layout == PLANES else count * plan.dim, check, NULL,
                )
                first += ROW
    else:
        first = job.first
        while first < job.last:
            count = min(<Py_ssize_t> TILE, job.last - first)
            move_state(False, plan, first, count, r)
            if affine_only:
                for j in range(plan.dim):
                    locate(plan, first, j, r, &row)
                    step(plan, job, k, &row, first, count, check, NULL)
            elif plan.scheme < IMPLICIT_EULER:
                step(plan, job, k, NULL, first, count, check, r)
            else:
                solve_planes(plan, job, k, first, count, r)
            check_planes(plan.dim, count, r, check)
            move_state(True, plan, first, count, r)
            first += TILE
    if not is_zero(check):
        job.bad_body = first_bad(plan, job.first, job.last, r)
