# Running a job: tile after tile is loaded, stepped through all steps of the call, and stored.
#
# Where all forces are affine, components do not see each other. Then there is no tile to speak of:
# blocks of lanes are taken straight from the caller's rows into registers and stay there.
# Otherwise a tile is copied into planes that fit the first-level cache.

from libc.stdint cimport uintptr_t
from libc.string cimport memset

from .bodies cimport Newton, energy_step, implicit_step
from .copies cimport move_f32, move_f64
from .lanes cimport MEDIUM, NARROW, WIDE, alone, f32alone, f32lane, f64alone, f64lane, forget, is_zero, lane, load_part, opaque, store_part, width
from .plan cimport (
    COMPOSITION, COMPOSITION_RK4, DRIFT_KICK, ENERGY_EULER, EXACT, EXPLICIT_EULER, HEUN, IMPLICIT_EULER, KICK_DRIFT,
    MAX_CONSTANTS, MAX_DIM, MIDPOINT, PLANES, RK4, ROW, STRIDED, TILE, VELOCITY_VERLET, VERLET_BACKWARD,
    VERLET_CENTRAL, Array, Job, Plan, Row,
)
from .schemes cimport damp, has_opening, keeps, minds_drag, opening, rare, set_constants, stage, stages, start
from .terms cimport accelerate, accelerate_tile, affine, field_lane, values

cdef enum:
    FEW = 2     # steps so few that lanes had better be stepped one by one than copied


cdef inline bint historic(int scheme) noexcept nogil:
    return scheme == VERLET_BACKWARD or scheme == VERLET_CENTRAL


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
        if historic(scheme):
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
        if historic(scheme):
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


cdef inline lane row_of_blocks(
    int scheme, int lanes, const Plan* plan, const Job* job, const lane* constants, const Row* row, Py_ssize_t count,
) noexcept nogil:
    """Step a row of `count` numbers in blocks; what does not fill the last is stepped in a copy or lane by lane."""
    cdef lane x[WIDE]
    cdef lane v[WIDE]
    cdef lane s[WIDE]
    cdef lane* position = <lane*> row.x
    cdef lane* velocity = <lane*> row.v
    cdef lane* history = <lane*> row.s if historic(scheme) else NULL
    cdef lane* px
    cdef lane* pv
    cdef lane* ps
    cdef int taken
    cdef lane check
    cdef Py_ssize_t w = width(constants)
    cdef Py_ssize_t room = lanes * w
    cdef Py_ssize_t at = 0
    memset(&check, 0, sizeof(lane))
    while count > 0:
        if count <= w or (count < room and job.steps <= FEW):
            check = check + block(
                scheme, plan.drag, plan.wind, plan.spring, 1, plan, job, constants, row, at,
                position, velocity, history, count,
            )
            taken = 1
        else:
            px, pv, ps = position, velocity, history
            if count < room:
                # Coefficients are padded, the caller's arrays are not.
                px, pv, ps = x, v, s
                copy_part(False, position, x, lanes, count)
                copy_part(False, velocity, v, lanes, count)
                if historic(scheme):
                    copy_part(False, history, s, lanes, count)
            check = check + blocks(scheme, lanes, plan, job, constants, row, at, px, pv, ps)
            if count < room:
                copy_part(True, position, x, lanes, count)
                copy_part(True, velocity, v, lanes, count)
                if historic(scheme):
                    copy_part(True, history, s, lanes, count)
            taken = lanes
        position += taken
        velocity += taken
        if historic(scheme):
            history += taken
        at += taken * sizeof(lane)
        count -= taken * w
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


cdef inline void move_tile(
    bint out, const Array* array, int dim, Py_ssize_t first, Py_ssize_t count, lane* planes,
) noexcept nogil:
    """Copy a tile into planes, zeros following up to a whole lane, or out of them."""
    cdef Py_ssize_t size = sizeof(lane) // width(planes)
    cdef Py_ssize_t rest = width(planes) - 1 - (count - 1) % width(planes)
    cdef int j
    cdef char* place
    cdef char* plane
    for j in range(dim):
        place = array.data + first * array.body + j * array.component
        plane = <char*> planes + j * TILE * size
        if lane is f32lane:
            move_f32(out, <float*> plane, place, array.body, count)
        else:
            move_f64(out, <double*> plane, place, array.body, count)
        if not out:
            memset(plane + count * size, 0, rest * size)


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
    int scheme, int dim, const Plan* plan, const Job* job, const lane* k, Py_ssize_t first, Py_ssize_t count, alone r,
) noexcept nogil:
    """Step a loaded tile through the job, stage by stage."""
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t lanes = (count + width(r) - 1) // width(r)
    cdef int number, j
    cdef Py_ssize_t _step, n, i
    cdef lane x[MAX_DIM]
    cdef lane v[MAX_DIM]
    cdef lane a[MAX_DIM]
    if (lane is f32lane and alone is f32alone) or (lane is f64lane and alone is f64alone):
        if keeps(scheme, False):
            accelerate_tile(plan, dim, first, count, r + X * row, r + V * row, r + P * row)
        for _step in range(job.steps):
            for number in range(stages(scheme, False, plan)):
                for n in range(lanes):
                    for j in range(dim):
                        i = j * plane + n
                        x[j] = r[X * row + i]
                        v[j] = r[V * row + i]
                        if number == 0 and has_opening(scheme, False):
                            opening(scheme, k, &x[j], &v[j], &r[S * row + i], &r[P * row + i], &r[Q * row + i])
                    accelerate(plan, dim, first + n * width(r), x, v, a)
                    for j in range(dim):
                        i = j * plane + n
                        stage(
                            scheme, False, number, 1, k, k, k, k, k, a[j], &x[j], &v[j],
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


cdef inline lane sum_planes(int dim, Py_ssize_t count, const lane* r) noexcept nogil:
    """As in `block`."""
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t i, n
    cdef int j
    cdef lane q
    memset(&q, 0, sizeof(lane))
    for j in range(dim):
        for n in range((count + width(r) - 1) // width(r)):
            i = j * plane + n
            q = q + (r[X * MAX_DIM * plane + i] + r[V * MAX_DIM * plane + i])
    return q


cdef inline bint fused(int scheme) noexcept nogil:
    """Is all that happens to a lane in a stage one loop? That is fast, and large for each scheme."""
    return scheme == KICK_DRIFT or scheme == VELOCITY_VERLET or scheme == RK4 or scheme == COMPOSITION


cdef inline lane step_scheme(
    int scheme, int lanes, const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    """Step a row of `count` numbers, or a tile of so many bodies; return sums of all numbers."""
    if row.planes == NULL:
        return row_of_blocks(scheme, lanes, plan, job, k, row, count)
    if fused(scheme) and plan.dim == 3:
        if lane is f32lane:
            step_planes(scheme, 3, plan, job, k, row.first, count, <f32alone> row.planes)
        else:
            step_planes(scheme, 3, plan, job, k, row.first, count, <f64alone> row.planes)
    elif fused(scheme):
        if lane is f32lane:
            step_planes(scheme, 2, plan, job, k, row.first, count, <f32alone> row.planes)
        else:
            step_planes(scheme, 2, plan, job, k, row.first, count, <f64alone> row.planes)
    return sum_planes(plan.dim, count, <lane*> row.planes)


# Each scheme as a function that is called through a pointer: inlined into one, they would take
# compilers minutes.

cdef inline lane explicit_euler(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(EXPLICIT_EULER, WIDE, plan, job, k, row, count)


cdef inline lane kick_drift(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(KICK_DRIFT, WIDE, plan, job, k, row, count)


cdef inline lane drift_kick(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(DRIFT_KICK, WIDE, plan, job, k, row, count)


cdef inline lane midpoint(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(MIDPOINT, NARROW, plan, job, k, row, count)


cdef inline lane heun(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(HEUN, NARROW, plan, job, k, row, count)


cdef inline lane rk4(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(RK4, NARROW, plan, job, k, row, count)


cdef inline lane verlet_backward(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(VERLET_BACKWARD, NARROW, plan, job, k, row, count)


cdef inline lane verlet_central(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(VERLET_CENTRAL, NARROW, plan, job, k, row, count)


cdef inline lane velocity_verlet(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(VELOCITY_VERLET, MEDIUM, plan, job, k, row, count)


cdef inline lane composition(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(COMPOSITION, NARROW, plan, job, k, row, count)


cdef inline lane composition_rk4(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(COMPOSITION_RK4, NARROW, plan, job, k, row, count)


cdef inline lane exact(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(EXACT, NARROW, plan, job, k, row, count)


# A job.

cdef inline lane* aligned(const char* room, const lane* like) noexcept nogil:
    """Whole cache lines: no lane from here on straddles two."""
    return <lane*> ((<uintptr_t> room + 63) // 64 * 64)


cdef inline void locate(const Plan* plan, Py_ssize_t first, int component, Row* row) noexcept nogil:
    """The row of a component from a body on, or of all components where they lie side by side."""
    cdef int i
    row.first = first
    row.planes = NULL
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


cdef inline void locate_planes(const Plan* plan, Py_ssize_t first, int component, lane* r, Row* row) noexcept nogil:
    """The same for a tile, whose state is in planes."""
    cdef Py_ssize_t plane = TILE // width(r)
    locate(plan, first, component, row)
    row.x = <char*> (r + (X * MAX_DIM + component) * plane)
    row.v = <char*> (r + (V * MAX_DIM + component) * plane)
    if row.s != NULL:
        row.s = <char*> (r + (S * MAX_DIM + component) * plane)


cdef inline void prepare(Plan* plan, lane* like) noexcept nogil:
    """What does not change from call to call: constants as lanes, the scheme's function, the first rows."""
    cdef lane (*step)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t) noexcept nogil
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
    plan.rows = plan.dim if plan.layout == PLANES else 1
    plan.numbers = 1 if plan.layout == PLANES else plan.dim
    for i in range(plan.dim):
        locate(plan, 0, i, &plan.row[i])
    plan.stages = stages(plan.scheme, plan.velocity_dependent, plan)
    plan.keeps = keeps(plan.scheme, plan.velocity_dependent)
    if plan.scheme == EXPLICIT_EULER:
        step = explicit_euler[lane]
    elif plan.scheme == KICK_DRIFT:
        step = kick_drift[lane]
    elif plan.scheme == DRIFT_KICK:
        step = drift_kick[lane]
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
    elif plan.scheme == COMPOSITION:
        step = composition[lane]
    elif plan.scheme == COMPOSITION_RK4:
        step = composition_rk4[lane]
    else:
        step = exact[lane]
    plan.step = <void*> step


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


cdef inline void move_state(
    bint out, const Plan* plan, Py_ssize_t first, Py_ssize_t count, lane* r,
) noexcept nogil:
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    move_tile(out, &plan.x, plan.dim, first, count, r + X * row)
    move_tile(out, &plan.v, plan.dim, first, count, r + V * row)
    if plan.s.data != NULL:
        move_tile(out, &plan.s, plan.dim, first, count, r + S * row)


cdef inline void begin(const Plan* plan, Job* job) noexcept nogil:
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = job.steps * plan.stages + plan.keeps + job.start


cdef inline void end(const Plan* plan, Job* job, lane check) noexcept nogil:
    # A sum is finite only if all its numbers are; if it is not, we look whose fault that is, if anybody's. The
    # difference of equal numbers is 0 if they are finite and not a number otherwise, but never -0.
    if not is_zero(check - check):
        job.bad_body = first_bad(plan, job.first, job.last, &check)


cdef inline bint in_place(const Plan* plan) noexcept nogil:
    return affine_only(plan) and plan.layout != STRIDED


cdef inline bint in_a_row(const Plan* plan) noexcept nogil:
    return in_place(plan) and plan.rows == 1 and plan.n <= ROW


cdef inline bint in_sweeps(const Plan* plan) noexcept nogil:
    """Has this module no loop of its own for that? Then bodies are stepped as if pushes were among their forces."""
    return rare(plan.scheme) or plan.terms > 0 and plan.scheme < IMPLICIT_EULER and not (
        fused(plan.scheme) and plan.dim > 1 and not (plan.velocity_dependent and minds_drag(plan.scheme))
    )


cdef inline bint affine_only(const Plan* plan) noexcept nogil:
    return plan.terms == 0 and plan.scheme < IMPLICIT_EULER


cdef inline void run_row(const Plan* plan, Job* job, lane* like) noexcept nogil:
    """The same for so few bodies that they are a row and no more: as little as can be lies around their steps."""
    cdef lane (*step)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t) noexcept nogil
    step = <lane (*)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t) noexcept nogil> plan.step
    begin(plan, job)
    end(plan, job, step(plan, job, aligned(plan.prepared, like), &plan.row[0], plan.n * plan.numbers))


cdef inline void run_rows(const Plan* plan, Job* job, lane* like) noexcept nogil:
    """Step bodies job.first to job.last in the caller's memory; what happened is in the job."""
    cdef lane (*step)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t) noexcept nogil
    cdef const lane* k = aligned(plan.prepared, like)
    cdef Py_ssize_t first
    cdef int j
    cdef const Row* here
    cdef Row row
    cdef lane check
    step = <lane (*)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t) noexcept nogil> plan.step
    begin(plan, job)
    memset(&check, 0, sizeof(lane))
    # One plane of components after the other, for the prefetchers' sake.
    for j in range(plan.rows):
        first = job.first
        while first < job.last:
            here = &plan.row[j]
            if first > 0:
                locate(plan, first, j, &row)
                here = &row
            check = check + step(plan, job, k, here, min(<Py_ssize_t> ROW, job.last - first) * plan.numbers)
            first += ROW
    end(plan, job, check)


cdef inline void run_tiles(const Plan* plan, Job* job, lane* like) noexcept nogil:
    """The same in copies of tiles."""
    cdef lane (*step)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t) noexcept nogil
    cdef double room[REGISTERS * MAX_DIM * TILE + 8]
    cdef lane* r = aligned(<char*> room, like)
    cdef const lane* k = aligned(plan.prepared, like)
    cdef Py_ssize_t first, count
    cdef int j
    cdef Row row
    cdef lane check
    step = <lane (*)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t) noexcept nogil> plan.step
    begin(plan, job)
    memset(&check, 0, sizeof(lane))
    if plan.scheme == IMPLICIT_EULER:
        job.evaluations = 0  # what it takes
    first = job.first
    while first < job.last:
        count = min(<Py_ssize_t> TILE, job.last - first)
        move_state(False, plan, first, count, r)
        if affine_only(plan):
            for j in range(plan.dim):
                locate_planes(plan, first, j, r, &row)
                check = check + step(plan, job, k, &row, count)
        elif plan.scheme < IMPLICIT_EULER:
            row.first, row.planes = first, <char*> r
            check = check + step(plan, job, k, &row, count)
        else:
            solve_planes(plan, job, k, first, count, r)
            check = check + sum_planes(plan.dim, count, r)
        move_state(True, plan, first, count, r)
        first += TILE
    end(plan, job, check)
