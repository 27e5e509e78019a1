# Explicit schemes for built-in flows (the right-hand sides of flows.pxd): each tile of trajectories is loaded, stepped
# through all steps of the call, and stored.
#
# Vectors of trajectories stay in registers from the first step to the last.

from libc.string cimport memset

from ..abi.ode cimport (
    AIZAWA, CONSTANTS, HALVORSEN, LORENZ, LOTKA_VOLTERRA, MAX_SLOPES, MAX_WEIGHTS, ODE_ROWS, ROSSLER, THOMAS,
    VAN_DER_POL, ODEPlan,
)
from .flows cimport rate
from ..simd.masks cimport all_zero
from ..simd.vec cimport vec, real, width
from .steps cimport (
    TWICE, combine, first_bad, keeping, set_constants, set_step, set_weights, share, stage_of_all, stages,
)
from ..abi.plan cimport DOPRI8, MAX_DIM, TILE, Job
from ..loops.planes cimport aligned, move_tile

cdef enum:
    WEIGHTS = 4     # index of a tableau's weights, after the constants of the other schemes
    LANES = 3       # vectors of trajectories that are stepped at once, so that their latencies overlap
    MAX_STAGES = 4  # maximum number of stages of schemes without a tableau


cdef inline void block(
    int flow, int dim, const ODEPlan* plan, const int* keep, const int* far, const vec* h, const vec* c,
    Py_ssize_t steps, vec* planes,
) noexcept nogil:
    """Step LANES vectors through the job in registers, with the stages of any scheme in one loop.

    For a tableau, all slopes of a step are stored in the first-level cache.
    """
    cdef vec y[LANES * MAX_DIM]
    cdef vec u[LANES * MAX_DIM]
    cdef vec s[LANES * MAX_DIM]
    cdef vec k[LANES * MAX_DIM]
    cdef vec slopes[MAX_SLOPES * LANES * MAX_DIM]
    cdef Py_ssize_t plane = TILE // width(planes)
    cdef int count = stages(plan.scheme)
    cdef Py_ssize_t _step
    cdef int which, i, j
    for i in range(LANES):
        for j in range(dim):
            y[i * dim + j] = planes[j * plane + i]
            u[i * dim + j] = y[i * dim + j]
    for _step in range(steps):
        for which in range(count):
            for i in range(LANES):
                rate(flow, c, &u[i * dim], &k[i * dim])
            if plan.scheme == DOPRI8:
                for i in range(LANES * dim):
                    slopes[which * LANES * dim + i] = k[i]
                combine(&plan.tableau, which, h, h + WEIGHTS, LANES * dim, slopes, LANES * dim, y, u)
            else:
                stage_of_all(keep[which], h[far[which]], h[TWICE], LANES * dim, k, y, u, s)
        for i in range(LANES * dim):
            y[i] = u[i]
    for i in range(LANES):
        for j in range(dim):
            planes[j * plane + i] = y[i * dim + j]


cdef inline void blocks(
    int flow, int dim, const ODEPlan* plan, Py_ssize_t steps, const vec* h, const vec* c, Py_ssize_t count,
    vec* planes,
) noexcept nogil:
    cdef int keep[MAX_STAGES]
    cdef int far[MAX_STAGES]
    cdef int which
    cdef Py_ssize_t i = 0
    for which in range(MAX_STAGES):
        keep[which] = keeping(plan.scheme, which)
        far[which] = share(plan.scheme, which)
    while i * width(planes) < count:
        block(flow, dim, plan, keep, far, h, c, steps, planes + i)
        i += LANES


# `blocks` for each flow. `run` calls these functions through pointers: a single function with all flows inlined takes
# minutes to compile.

cdef inline void lorenz(
    const ODEPlan* plan, Py_ssize_t steps, const vec* h, const vec* c, Py_ssize_t count, vec* planes,
) noexcept nogil:
    blocks(LORENZ, 3, plan, steps, h, c, count, planes)


cdef inline void rossler(
    const ODEPlan* plan, Py_ssize_t steps, const vec* h, const vec* c, Py_ssize_t count, vec* planes,
) noexcept nogil:
    blocks(ROSSLER, 3, plan, steps, h, c, count, planes)


cdef inline void thomas(
    const ODEPlan* plan, Py_ssize_t steps, const vec* h, const vec* c, Py_ssize_t count, vec* planes,
) noexcept nogil:
    blocks(THOMAS, 3, plan, steps, h, c, count, planes)


cdef inline void halvorsen(
    const ODEPlan* plan, Py_ssize_t steps, const vec* h, const vec* c, Py_ssize_t count, vec* planes,
) noexcept nogil:
    blocks(HALVORSEN, 3, plan, steps, h, c, count, planes)


cdef inline void aizawa(
    const ODEPlan* plan, Py_ssize_t steps, const vec* h, const vec* c, Py_ssize_t count, vec* planes,
) noexcept nogil:
    blocks(AIZAWA, 3, plan, steps, h, c, count, planes)


cdef inline void lotka_volterra(
    const ODEPlan* plan, Py_ssize_t steps, const vec* h, const vec* c, Py_ssize_t count, vec* planes,
) noexcept nogil:
    blocks(LOTKA_VOLTERRA, 2, plan, steps, h, c, count, planes)


cdef inline void van_der_pol(
    const ODEPlan* plan, Py_ssize_t steps, const vec* h, const vec* c, Py_ssize_t count, vec* planes,
) noexcept nogil:
    blocks(VAN_DER_POL, 2, plan, steps, h, c, count, planes)


# A whole job.

cdef inline bint finite_planes(int dim, Py_ssize_t count, const vec* planes) noexcept nogil:
    """True if all numbers of a tile are finite: sums of y - y are 0 then. Checking each number takes longer."""
    cdef Py_ssize_t plane = TILE // width(planes)
    cdef Py_ssize_t n
    cdef int j
    cdef vec total
    memset(&total, 0, sizeof(vec))
    for j in range(dim):
        for n in range((count + width(planes) - 1) // width(planes)):
            total = total + (planes[j * plane + n] - planes[j * plane + n])
    return all_zero(total)


cdef inline void run(const ODEPlan* plan, Job* job, const real* like, const vec* wide) noexcept nogil:
    """Step trajectories job.first to job.last by an explicit scheme; `like` and `wide` only select types."""
    cdef void (*step_tile)(const ODEPlan*, Py_ssize_t, const vec*, const vec*, Py_ssize_t, vec*) noexcept nogil
    cdef vec h[WEIGHTS + MAX_WEIGHTS]
    cdef vec c[CONSTANTS]
    cdef double buffer[MAX_DIM * TILE + 8]
    cdef vec* planes = aligned(<char*> buffer, wide)
    cdef Py_ssize_t count, bad, first = job.first
    set_step(plan.h, like, h)
    if plan.scheme == DOPRI8:
        set_weights(&plan.tableau, h + WEIGHTS)
    set_constants(plan, c)
    if plan.flow == LORENZ:
        step_tile = lorenz[vec]
    elif plan.flow == ROSSLER:
        step_tile = rossler[vec]
    elif plan.flow == THOMAS:
        step_tile = thomas[vec]
    elif plan.flow == HALVORSEN:
        step_tile = halvorsen[vec]
    elif plan.flow == AIZAWA:
        step_tile = aizawa[vec]
    elif plan.flow == LOTKA_VOLTERRA:
        step_tile = lotka_volterra[vec]
    else:
        step_tile = van_der_pol[vec]
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = job.steps * stages(plan.scheme)
    while first < job.last:
        count = min(<Py_ssize_t> ODE_ROWS, job.last - first)
        if count < ODE_ROWS:
            memset(&buffer[0], 0, sizeof(buffer))
        move_tile(False, &plan.y, plan.dim, first, count, planes)
        step_tile(plan, job.steps, h, c, count, planes)
        move_tile(True, &plan.y, plan.dim, first, count, planes)
        bad = -1
        if not finite_planes(plan.dim, count, planes):  # the padding of the last vector may cause this, too
            bad = first_bad(count, plan.dim, <real*> planes, 1, TILE)
        if bad >= 0 and job.bad_body < 0:
            job.bad_body = first + bad
        first += ODE_ROWS
