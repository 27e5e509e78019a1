# Built-in flows by implicit Euler, which goes back and forth between vectors and single trajectories.

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..abi.flows cimport CONSTANTS
from .flows cimport derivatives, rate
from ..simd.vec cimport vec, real, width
from ..abi.ode cimport ODE_ROWS, Newton, ODEPlan
from .steps cimport check, correct, first_bad, set_constants
from ..abi.plan cimport MAX_DIM, TILE, Job
from ..loops.planes cimport aligned, move_tile


# The right-hand side and its derivatives are evaluated for vectors in planes, the rest is done in rows.

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
    const ODEPlan* plan, bint derive, Py_ssize_t count, const vec* c, const vec* planes, vec* results,
) noexcept nogil:
    """The right-hand side of a tile, or its derivatives."""
    cdef vec y[MAX_DIM]
    cdef vec k[MAX_DIM * MAX_DIM]
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
    const ODEPlan* plan, Job* job, Py_ssize_t first, Py_ssize_t count, const vec* c, real* planes, const vec* wide,
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
            evaluate(plan, False, count, c, <const vec*> planes, <vec*> results)
            to_rows(count, plan.dim, &results[0], &k[0])
            if check(&newton, iteration, iteration == plan.iterations, planes) == 0:
                break
            evaluate(plan, True, count, c, <const vec*> planes, <vec*> results)
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


cdef inline void solve(const ODEPlan* plan, Job* job, const real* like, const vec* wide) noexcept nogil:
    """As `run` of tiles.pxd."""
    cdef vec c[CONSTANTS]
    cdef double buffer[MAX_DIM * TILE + 8]
    cdef vec* planes = aligned(<char*> buffer, wide)
    cdef Py_ssize_t count, bad, first = job.first
    set_constants(plan, c)
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    while first < job.last:
        count = min(<Py_ssize_t> ODE_ROWS, job.last - first)
        if count < ODE_ROWS:
            memset(&buffer[0], 0, sizeof(buffer))
        move_tile(False, &plan.y, plan.dim, first, count, planes)
        implicit_tile(plan, job, first, count, c, <real*> planes, wide)
        move_tile(True, &plan.y, plan.dim, first, count, planes)
        bad = first_bad(count, plan.dim, <real*> planes, 1, TILE)
        if bad >= 0 and job.bad_body < 0:
            job.bad_body = first + bad
        first += ODE_ROWS
