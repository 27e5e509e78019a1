# Jobs of uncoupled bodies: each tile is loaded, stepped through all steps of the call, and stored.
#
# Affine forces act on each component separately: rows.pxd steps bodies under these in the caller's arrays. Otherwise a
# tile is copied into planes that fit the first-level cache, and stepped by fused.pxd. Schemes without a loop there (see
# in_passes) are stepped by passes.pxd.

from libc.string cimport memset

from ..abi.plan cimport IMPLICIT_EULER, MAX_DIM, REGISTERS, ROW, S, STRIDED, TILE, V, X, Applied, Job, Plan, Row
from ..simd.vec cimport f32alone, f32vec, f64alone, vec, width
from .fused cimport fused, solve_planes, step_alone
from .planes cimport aligned, end, keep_tile, move_state, sum_planes
from .rows cimport FEW, step_row
from ..forces.applied cimport merge_row
from ..forces.fields cimport values
from ..integrators.traits cimport unspecialised


cdef inline vec step_in_planes(
    int scheme, int dim, bint uniform, const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t count,
) noexcept nogil:
    """Step a tile of `count` bodies. Return 0, because the caller sums the tile."""
    cdef vec nothing
    if vec is f32vec:
        step_alone(scheme, dim, uniform, plan, job, k, row, count, <f32alone> row.planes)
    else:
        step_alone(scheme, dim, uniform, plan, job, k, row, count, <f64alone> row.planes)
    memset(&nothing, 0, sizeof(vec))
    return nothing


cdef inline void locate(const Plan* plan, Py_ssize_t first, int component, Row* row) noexcept nogil:
    """Locate the row of a component from a body on, or the row of all components if they are contiguous."""
    cdef int i
    row.first = first
    row.planes = NULL
    row.x = plan.x.data + first * plan.x.body + component * plan.x.component
    row.v = plan.v.data + first * plan.v.body + component * plan.v.component
    row.s = row.before_x = row.before_v = NULL
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


cdef inline void keep_row(const Job* job, Row* row, int component) noexcept nogil:
    """Set the addresses where the state of a row before the steps is saved; `before` has the layout of the plan."""
    if job.before != NULL:
        row.before_x = job.before[0].data + row.first * job.before[0].body + component * job.before[0].component
        row.before_v = job.before[1].data + row.first * job.before[1].body + component * job.before[1].component


cdef inline void locate_planes(const Plan* plan, Py_ssize_t first, int component, vec* r, Row* row) noexcept nogil:
    """Locate the row of a component in a structure-of-arrays tile."""
    cdef Py_ssize_t plane = TILE // width(r)
    locate(plan, first, component, row)
    row.x = <char*> (r + (X * MAX_DIM + component) * plane)
    row.v = <char*> (r + (V * MAX_DIM + component) * plane)
    if row.s != NULL:
        row.s = <char*> (r + (S * MAX_DIM + component) * plane)


cdef inline void begin(const Plan* plan, Job* job) noexcept nogil:
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = job.steps * plan.stages + plan.fsal + job.start


cdef inline bint in_place(const Plan* plan) noexcept nogil:
    return affine_only(plan) and plan.layout != STRIDED


cdef inline bint in_a_row(const Plan* plan) noexcept nogil:
    return in_place(plan) and plan.rows == 1 and plan.n <= ROW


cdef inline bint in_passes(const Plan* plan) noexcept nogil:
    """True if neither rows.pxd nor fused.pxd has a loop for the plan. Bodies then step by passes, like coupled ones."""
    return plan.scheme < IMPLICIT_EULER and not affine_only(plan) and not in_planes(plan)


cdef inline bint in_planes(const Plan* plan) noexcept nogil:
    return fused(plan.scheme) and plan.dim > 1


cdef inline bint affine_only(const Plan* plan) noexcept nogil:
    """True if the loops of rows.pxd can step this plan. They cannot step drag without `velocity_dependent`, which
    occurs in backward Verlet with linked bodies (see stepper/model.py)."""
    cdef bint stepped_without = plan.drag and not plan.velocity_dependent
    if plan.terms > 0 or plan.turned:
        return False
    return plan.scheme < IMPLICIT_EULER and not unspecialised(plan.scheme) and not stepped_without


cdef inline void run_row(const Plan* plan, Job* job, vec* like) noexcept nogil:
    """Step bodies that fit one row, with minimal overhead."""
    begin(plan, job)
    end(plan, job, step_row(plan, job, aligned(plan.prepared, like), &plan.row[0], plan.n * plan.numbers))


cdef inline void run_rows(const Plan* plan, Job* job, vec* like) noexcept nogil:
    """Step bodies job.first to job.last in the caller's arrays."""
    cdef const vec* k = aligned(plan.prepared, like)
    cdef Py_ssize_t first, numbers
    cdef int j
    cdef const Row* here
    cdef Row row
    cdef vec check
    begin(plan, job)
    memset(&check, 0, sizeof(vec))
    # The outer loop is over components, because hardware prefetches sequential reads.
    for j in range(plan.rows):
        first = job.first
        while first < job.last:
            here = &plan.row[j]
            if first > 0 or job.before != NULL:
                locate(plan, first, j, &row)
                keep_row(job, &row, j)
                here = &row
            numbers = min(<Py_ssize_t> ROW, job.last - first) * plan.numbers
            check = check + step_row(plan, job, k, here, numbers)
            first += ROW
    end(plan, job, check)


cdef enum:
    BEYOND = 1024   # bytes; coefficients are read in whole blocks, at most this far past the last one


cdef inline void run_merged_rows(const Plan* plan, Job* job, vec* like) noexcept nogil:
    """`run_rows` with forces in users' arrays, which are added to g just before each row is stepped."""
    cdef char buffer[ROW * MAX_DIM * 8 + BEYOND + 64]
    cdef char* g = <char*> aligned(buffer, like)
    cdef const vec* k = aligned(plan.prepared, like)
    cdef Py_ssize_t item = sizeof(vec) // width(k)
    # Bodies per row: as many bytes in float64 as in float32, so that rows stay in the first-level cache.
    cdef Py_ssize_t most = ROW * 4 // item
    cdef Py_ssize_t first, count
    cdef int j
    cdef Row row
    cdef vec check
    begin(plan, job)
    memset(&check, 0, sizeof(vec))
    for j in range(plan.rows):
        first = job.first
        while first < job.last:
            count = min(most, job.last - first)
            if first > 0:
                locate(plan, first, j, &row)
            else:
                row = plan.row[j]
            keep_row(job, &row, j)
            merge_row(<const Applied*> plan.applied, j, first, count, g, k)
            if count < most and job.steps > FEW:     # fewer steps read no farther than to the end of the last vector
                memset(g + count * plan.numbers * item, 0, BEYOND)     # padding must be finite
            row.g = g
            check = check + step_row(plan, job, k, &row, count * plan.numbers)
            first += most
    end(plan, job, check)


cdef inline void run_tiles(const Plan* plan, Job* job, vec* like) noexcept nogil:
    """Step bodies job.first to job.last in structure-of-arrays copies of tiles."""
    cdef double buffer[REGISTERS * MAX_DIM * TILE + 8]
    cdef vec* r = aligned(<char*> buffer, like)
    cdef const vec* k = aligned(plan.prepared, like)
    cdef Py_ssize_t first, count
    cdef int j
    cdef Row row
    cdef vec check
    begin(plan, job)
    memset(&check, 0, sizeof(vec))
    if plan.scheme == IMPLICIT_EULER:
        job.evaluations = 0  # counted by the solver
    first = job.first
    while first < job.last:
        count = min(<Py_ssize_t> TILE, job.last - first)
        move_state(False, plan, first, count, r)
        keep_tile(plan, job, first, count, r)
        if affine_only(plan):
            for j in range(plan.dim):
                locate_planes(plan, first, j, r, &row)
                check = check + step_row(plan, job, k, &row, count)
        elif plan.scheme < IMPLICIT_EULER:
            row.first, row.planes = first, <char*> r
            step_row(plan, job, k, &row, count)
            check = check + sum_planes(plan.dim, count, r)
        else:
            solve_planes(plan, job, first, count, r)
            check = check + sum_planes(plan.dim, count, r)
        move_state(True, plan, first, count, r)
        first += TILE
    end(plan, job, check)
