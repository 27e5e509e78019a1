# Jobs of coupled bodies. Tiles step one after the other if bodies are independent. All bodies step as one tile if they
# interact, or if a function needs them all.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from ..abi.events cimport EventSource
from ..abi.registers cimport OUT, P, REGISTERS, S, X
from ..abi.workspace cimport Workspace
from ..constraints.static cimport lay_shapes
from ..simd.masks cimport positive, select_or_zero
from ..simd.vec cimport vec, width
from ..abi.plan cimport MAX_DIM, RK4, ROW, TILE, Job, Plan
from .functions cimport run_functions
from .leaps cimport COPIES, MOST_BYTES, advance_static, leap_in_rows, row_numbers
from .slots cimport any_of
from .passes cimport advance, sound
from .planes cimport aligned, end, fetch_state, is_finite, keep_tile, move_state, sum_planes
from .stages cimport size
from ..abi.coupled cimport Coupling


cdef inline void run(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    job.code = 0
    job.done = 0
    if coupling.direct:
        run_functions(coupling, job, like)
    elif coupling.workspace == NULL:
        run_tiles(coupling, job, like)
    else:
        run_whole(coupling, job, like)


cdef inline void leap(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    """Step the tiles that stay clear of all constraints during the job; mark the others and leave them unchanged.

    Shapes that move are still where the job begins.
    """
    cdef Coupling own = coupling[0]
    cdef const EventSource* events
    cdef int64_t k
    cdef int number
    own.plan, own.workspace = coupling.own, NULL
    job.near = 0
    memset(coupling.near, 0, (coupling.plan.n + TILE - 1) // TILE)
    for number in range(coupling.constraints):
        events = coupling.constraint[number].events
        if events != NULL:
            for k in range(events.count):     # bodies in contact are near, because their separation is an event
                coupling.near[(events.touching[k] >> 32) // TILE] = True
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    job.code = 0
    lay_shapes(True, coupling, 0, coupling.constraints, job.steps, like)
    run_tiles(&own, job, like)
    lay_shapes(False, coupling, 0, coupling.constraints, job.steps, like)


ctypedef union Memory:      # of a tile, or of a row of the caller's arrays
    double registers[(OUT + REGISTERS) * MAX_DIM * TILE + 8]
    char copies[COPIES + 64]


cdef inline void run_tiles(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    """Step each tile through the whole job. The earliest failure is reported."""
    cdef Memory memory
    cdef vec* r = aligned(<char*> &memory, like)
    cdef const Plan* plan = coupling.plan
    cdef int numbers = row_numbers(plan, job, like) if coupling.constraints > 0 else 0
    cdef Py_ssize_t most = ROW if plan.dim * <Py_ssize_t> sizeof(vec) // width(like) <= MOST_BYTES else TILE
    cdef bint again = False
    cdef Py_ssize_t row, done
    cdef Job part
    cdef Workspace workspace
    cdef vec check
    memset(&check, 0, sizeof(vec))
    workspace.start = <char*> r + P * MAX_DIM * TILE * <Py_ssize_t> sizeof(vec) // width(like)
    workspace.plane = TILE
    workspace.row = MAX_DIM * TILE
    workspace.first = job.first
    while workspace.first < job.last:
        workspace.count = min(<Py_ssize_t> TILE, job.last - workspace.first)
        if plan.slots != NULL and not any_of(plan.slots.alive + workspace.first, workspace.count):
            workspace.first += TILE
            continue
        if coupling.near != NULL and coupling.near[workspace.first // TILE]:
            job.near += 1
            workspace.first += TILE
            continue
        row = min(most, job.last - workspace.first)
        if numbers > 0 and workspace.first % most == 0 and not (
            coupling.near != NULL and any_of(coupling.near + workspace.first // TILE, (row + TILE - 1) // TILE)
        ):
            if leap_in_rows(coupling, job, workspace.first, row, numbers, again, <char*> r, like):
                job.evaluations = max(job.evaluations, job.steps * (plan.stages + plan.fsal))
                again = True
                workspace.first += row
                continue
        again = False   # the tile overwrites the copies of coefficients
        workspace.full = is_full(plan, workspace.first, workspace.count)
        part = job[0]
        part.evaluations = 0
        workspace.now = workspace.next = <char*> r
        if coupling.constraints > 0:
            # Constraints read the state before the step, too. Without interactions their registers are free for it.
            workspace.next = workspace.start + (OUT - P) * size(&workspace, like)
            workspace.delta_v = workspace.next + P * size(&workspace, like)
        elif plan.scheme == RK4 and not plan.turned:
            workspace.next = workspace.start    # where other schemes store the initial state, see `leaves`
        move_state(False, plan, workspace.first, workspace.count, r)
        keep_tile(plan, job, workspace.first, workspace.count, r)
        fetch_state(plan, workspace.first, job.last, like)
        if not workspace.full:
            zero_inactive_tile(plan, workspace.first, workspace.count, r)
        if coupling.constraints > 0:
            done = advance_static(coupling, &part, &workspace, coupling.near != NULL, like)
            if not workspace.full:
                zero_inactive_tile(plan, workspace.first, workspace.count, <vec*> workspace.now)
            if coupling.near != NULL and (
                done < job.steps or not is_finite(sum_planes(plan.dim, workspace.count, <vec*> workspace.now))
            ):
                coupling.near[workspace.first // TILE] = True
                job.near += 1
                workspace.first += TILE
                continue
        else:
            done = advance(coupling, &part, &workspace, like)
        job.evaluations = max(job.evaluations, part.evaluations)
        if done < job.failed_step:
            job.failed_step = done
            job.code = part.code
            job.failed_part = part.failed_part
            job.failed_body = workspace.first
        check = check + sum_planes(plan.dim, workspace.count, <vec*> workspace.now)
        move_state(True, plan, workspace.first, workspace.count, <vec*> workspace.now)
        workspace.first += TILE
    end(plan, job, check)


cdef inline bint is_full(const Plan* plan, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint8_t active = 1
    if plan.slots != NULL:
        for i in range(first, first + count):
            active &= plan.slots.alive[i]
    return active


cdef inline void run_whole(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    cdef Workspace workspace
    workspace.plane = coupling.padded
    workspace.row = coupling.plan.dim * coupling.padded
    workspace.first = 0
    workspace.count = coupling.plan.n if coupling.plan.slots == NULL else coupling.plan.slots.end
    # Functions see all slots, so that those up to the end of a vector must stay zero.
    workspace.full = workspace.count == coupling.plan.n and is_full(coupling.plan, 0, workspace.count)
    workspace.now = coupling.workspace
    workspace.next = workspace.now + P * size(&workspace, like)
    workspace.start = workspace.next + P * size(&workspace, like)
    if coupling.in_place:
        workspace.next = workspace.now
    workspace.delta_v = coupling.delta_v
    job.failed_step = advance(coupling, job, &workspace, like)
    if coupling.few != NULL or job.code != 0:   # otherwise `advance` has checked this state
        sound(coupling, job, &workspace, like)


cdef inline void zero_inactive_tile(const Plan* plan, Py_ssize_t first, Py_ssize_t count, vec* r) noexcept nogil:
    """Zero the state of inactive slots, because functions see all slots."""
    cdef const vec* weight = <const vec*> (<const char*> plan.slots.weight + first * plan.slots.item)
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t n, i
    cdef int j, number
    for number in range(X, S + 1 if plan.s.data != NULL else S):
        for j in range(plan.dim):
            for n in range((count + width(r) - 1) // width(r)):
                i = (number * MAX_DIM + j) * plane + n
                r[i] = select_or_zero(positive(weight[n]), r[i])
