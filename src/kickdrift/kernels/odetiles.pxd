# Built-in flows: tile after tile is loaded, stepped through all steps of the call, and stored.
#
# Lanes of trajectories stay in registers from the first step to the last; only implicit Euler goes
# back and forth between lanes and single trajectories.

from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcpy, memset

from .flows cimport (
    AIZAWA, CONSTANTS, HALVORSEN, LORENZ, LOTKA_VOLTERRA, MAX_PARAMETERS, ROSSLER, THOMAS, VAN_DER_POL, ZERO,
    derivatives, rate,
)
from .lanes cimport lane, real, width
from .odeplan cimport Newton, ODEPlan
from .odeschemes cimport check, correct, first_bad, set_step, splat, stage, stages
from .plan cimport EXPLICIT_EULER, HEUN, IMPLICIT_EULER, MAX_DIM, MIDPOINT, RK4, TILE, Job
from .tiles cimport move_tile

cdef enum:
    LANES = 3       # stepped side by side: while one waits for a result, the others have work
    ROWS = 96       # of a tile: LANES divides the lanes that they are, whatever the width


cdef inline void block(
    int scheme, int flow, int dim, const lane* h, const lane* c, Py_ssize_t steps, lane* planes,
) noexcept nogil:
    """Step LANES lanes through the job in registers."""
    cdef lane y[LANES * MAX_DIM]
    cdef lane u[LANES * MAX_DIM]
    cdef lane s[LANES * MAX_DIM]
    cdef lane k[MAX_DIM]
    cdef Py_ssize_t plane = TILE // width(planes)
    cdef Py_ssize_t _step
    cdef int which, i, j
    for i in range(LANES):
        for j in range(dim):
            y[i * dim + j] = planes[j * plane + i]
            u[i * dim + j] = y[i * dim + j]
    for _step in range(steps):
        for which in range(stages(scheme)):
            for i in range(LANES):
                rate(flow, c, &u[i * dim], &k[0])
                for j in range(dim):
                    stage(scheme, which, h, k[j], y[i * dim + j], &u[i * dim + j], &s[i * dim + j])
        for i in range(LANES * dim):
            y[i] = u[i]
    for i in range(LANES):
        for j in range(dim):
            planes[j * plane + i] = y[i * dim + j]


cdef inline void blocks(
    int flow, int dim, const ODEPlan* plan, Py_ssize_t steps, const lane* h, const lane* c, Py_ssize_t count,
    lane* planes,
) noexcept nogil:
    cdef Py_ssize_t i = 0
    while i * width(planes) < count:
        if plan.scheme == EXPLICIT_EULER:
            block(EXPLICIT_EULER, flow, dim, h, c, steps, planes + i)
        elif plan.scheme == MIDPOINT:
            block(MIDPOINT, flow, dim, h, c, steps, planes + i)
        elif plan.scheme == HEUN:
            block(HEUN, flow, dim, h, c, steps, planes + i)
        else:
            block(RK4, flow, dim, h, c, steps, planes + i)
        i += LANES


# `blocks` for each flow, as functions that are called through pointers: inlined into one, they would
# take compilers minutes.

cdef inline void lorenz(
    const ODEPlan* plan, Py_ssize_t steps, const lane* h, const lane* c, Py_ssize_t count, lane* planes,
) noexcept nogil:
    blocks(LORENZ, 3, plan, steps, h, c, count, planes)


cdef inline void rossler(
    const ODEPlan* plan, Py_ssize_t steps, const lane* h, const lane* c, Py_ssize_t count, lane* planes,
) noexcept nogil:
    blocks(ROSSLER, 3, plan, steps, h, c, count, planes)


cdef inline void thomas(
    const ODEPlan* plan, Py_ssize_t steps, const lane* h, const lane* c, Py_ssize_t count, lane* planes,
) noexcept nogil:
    blocks(THOMAS, 3, plan, steps, h, c, count, planes)


cdef inline void halvorsen(
    const ODEPlan* plan, Py_ssize_t steps, const lane* h, const lane* c, Py_ssize_t count, lane* planes,
) noexcept nogil:
    blocks(HALVORSEN, 3, plan, steps, h, c, count, planes)


cdef inline void aizawa(
    const ODEPlan* plan, Py_ssize_t steps, const lane* h, const lane* c, Py_ssize_t count, lane* planes,
) noexcept nogil:
    blocks(AIZAWA, 3, plan, steps, h, c, count, planes)


cdef inline void lotka_volterra(
    const ODEPlan* plan, Py_ssize_t steps, const lane* h, const lane* c, Py_ssize_t count, lane* planes,
) noexcept nogil:
    blocks(LOTKA_VOLTERRA, 2, plan, steps, h, c, count, planes)


cdef inline void van_der_pol(
    const ODEPlan* plan, Py_ssize_t steps, const lane* h, const lane* c, Py_ssize_t count, lane* planes,
) noexcept nogil:
    blocks(VAN_DER_POL, 2, plan, steps, h, c, count, planes)


# Implicit Euler: the right-hand side and its derivatives are evaluated for lanes in planes, the rest is
# done in rows.

cdef inline void to_rows(Py_ssize_t count, Py_ssize_t columns, const real* planes, real* rows) noexcept nogil:
    cdef Py_ssize_t i, j
    for j in range(columns):
        for i in range(count):
            rows[i * columns + j] = planes[j * TILE + i]


cdef inline void to_planes(Py_ssize_t count, Py_ssize_t columns, const real* rows, real* planes) noexcept nogil:
    cdef Py_ssize_t i, j
    for j in range(columns):
        for i in range(count):
            planes[j * TILE + i] = rows[i * columns + j]


cdef inline void evaluate(
    const ODEPlan* plan, bint derive, Py_ssize_t count, const lane* c, const lane* planes, lane* results,
) noexcept nogil:
    """The right-hand side of a tile, or its derivatives."""
    cdef lane y[MAX_DIM]
    cdef lane k[MAX_DIM * MAX_DIM]
    cdef Py_ssize_t plane = TILE // width(planes)
    cdef Py_ssize_t i = 0
    cdef int j
    while i * width(planes) < count:
        for j in range(plan.dim):
            y[j] = planes[j * plane + i]
        if derive:
            derivatives(plan.flow, c, &y[0], &k[0])
        else:
            rate(plan.flow, c, &y[0], &k[0])
        for j in range(plan.dim * plan.dim if derive else plan.dim):
            results[j * plane + i] = k[j]
        i += 1


cdef inline void implicit_tile(
    const ODEPlan* plan, Job* job, Py_ssize_t first, Py_ssize_t count, const lane* c, real* planes, lane* wide,
) noexcept nogil:
    """Step a tile through the job, or up to the step that cannot be solved."""
    cdef real u[MAX_DIM * TILE]
    cdef real y[MAX_DIM * TILE]
    cdef real k[MAX_DIM * TILE]
    cdef real r[MAX_DIM * TILE]
    cdef real m[MAX_DIM * MAX_DIM * TILE]
    cdef real slope[TILE]
    cdef real results[MAX_DIM * MAX_DIM * TILE]
    cdef char status[TILE]
    cdef int64_t work[TILE]
    cdef Newton newton
    cdef Py_ssize_t step, i
    cdef Py_ssize_t size = count * plan.dim * sizeof(real)
    cdef int iteration
    newton.n, newton.dim, newton.h, newton.tolerance = count, plan.dim, plan.h, plan.tolerance
    newton.u, newton.y, newton.k, newton.residual = <char*> u, <char*> y, <char*> k, <char*> r
    newton.jacobian, newton.slope, newton.status, newton.work = <char*> m, <char*> slope, status, work
    newton.failed = -1
    memset(work, 0, sizeof(work))
    to_rows(count, plan.dim, planes, &u[0])
    for step in range(job.steps):
        memcpy(y, u, size)
        memset(status, 0, sizeof(status))
        memset(slope, 0, sizeof(slope))
        for iteration in range(plan.iterations + 1):
            to_planes(count, plan.dim, &u[0], planes)
            evaluate(plan, False, count, c, <const lane*> planes, <lane*> results)
            to_rows(count, plan.dim, &results[0], &k[0])
            if check(&newton, iteration, iteration == plan.iterations, planes) == 0:
                break
            evaluate(plan, True, count, c, <const lane*> planes, <lane*> results)
            to_rows(count, plan.dim * plan.dim, &results[0], &m[0])
            correct(&newton, planes)
        if newton.failed >= 0:
            # The earliest step counts, and the first trajectory of those that fail there.
            if step < job.failed_step:
                job.failed_step = step
                job.failed_body = first + newton.failed
                job.residual = newton.failed_residual
            break
    to_planes(count, plan.dim, &u[0], planes)
    for i in range(count):
        job.evaluations = max(job.evaluations, work[i])


# A job: tile after tile is loaded, stepped through all steps of the call, and stored.

cdef inline void run(const ODEPlan* plan, Job* job, real* like, lane* wide) noexcept nogil:
    """Step trajectories job.first to job.last; what happened is in the job. `like` and `wide` tell types."""
    cdef void (*step_tile)(const ODEPlan*, Py_ssize_t, const lane*, const lane*, Py_ssize_t, lane*) noexcept nogil
    cdef lane h[4]
    cdef lane c[CONSTANTS]
    # Whole cache lines: no lane of a tile straddles two.
    cdef double room[MAX_DIM * TILE + 8]
    cdef lane* planes = <lane*> ((<uintptr_t> &room[0] + 63) // 64 * 64)
    cdef Py_ssize_t i, count, bad, first = job.first
    set_step(plan.h, like, h)
    for i in range(MAX_PARAMETERS):
        splat(<real> plan.parameters[i], c + i)
    for i in range(ZERO, CONSTANTS):
        splat(<real> (i - ZERO), c + i)
    if plan.flow == LORENZ:
        step_tile = lorenz[lane]
    elif plan.flow == ROSSLER:
        step_tile = rossler[lane]
    elif plan.flow == THOMAS:
        step_tile = thomas[lane]
    elif plan.flow == HALVORSEN:
        step_tile = halvorsen[lane]
    elif plan.flow == AIZAWA:
        step_tile = aizawa[lane]
    elif plan.flow == LOTKA_VOLTERRA:
        step_tile = lotka_volterra[lane]
    else:
        step_tile = van_der_pol[lane]
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    if plan.scheme != IMPLICIT_EULER:
        job.evaluations = job.steps * stages(plan.scheme)
    while first < job.last:
        count = min(<Py_ssize_t> ROWS, job.last - first)
        if count < ROWS:
            memset(&room[0], 0, sizeof(room))
        move_tile(False, &plan.y, plan.dim, first, count, planes)
        if plan.scheme == IMPLICIT_EULER:
            implicit_tile(plan, job, first, count, c, <real*> planes, wide)
        else:
            step_tile(plan, job.steps, h, c, count, planes)
        move_tile(True, &plan.y, plan.dim, first, count, planes)
        bad = first_bad(count, plan.dim, <real*> planes, 1, TILE)
        if bad >= 0 and job.bad_body < 0:
            job.bad_body = first + bad
        first += ROWS
