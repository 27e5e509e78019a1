# Jobs of coupled bodies. Tiles step one after the other if bodies are independent. All bodies step as one tile if they
# interact, or if a function needs them all.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..abi.events cimport EventSource
from ..abi.plan cimport MAX_DIM, OUT, P, REGISTERS, RK4, ROW, S, TILE, X, Array, Job, Plan
from ..abi.coupled cimport INTERRUPTED, KEEP, NONE, Coupling, Stretch, Workspace, time_of
from ..constraints.static cimport lay_shapes
from ..simd.masks cimport positive, select_or_zero
from ..simd.vec cimport vec, width
from .leaps cimport COPIES, MOST_BYTES, advance_static, leap_in_rows, row_numbers
from .slots cimport any_of
from .passes cimport advance, sound
from .planes cimport aligned, end, first_bad, is_finite, keep_tile, move_state, prefetch_state, sum_planes
from .stages cimport size
from ..integrators.steps cimport has_opening, stages
from ..integrators.traits cimport fsal

# The functions up to `last_numbers` step in the caller's arrays, where a function of all bodies reads the state, so
# that nothing is copied. The state between two stages and the output of the function are arrays of the same layout.
#
# Only gravity and this function act, so all numbers are stepped alike. A stage loops over whole rows of numbers: one
# row per component of component-major arrays, or one row of all numbers of row-major ones.

cdef enum:
    LONG = 48       # maximum number of vectors of a stretch; divisible by 1, 2 and 3, the numbers of components


cdef inline void run_functions(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    """Run a job; the arrays then have the state after the last completed step, or after the first that is not finite.
    """
    cdef vec check
    cdef Py_ssize_t step
    for step in range(job.steps):
        memset(&check, 0, sizeof(vec))
        job.done = job.failed_step = step
        if step_once(coupling, job, &check) != 0:
            return
        job.failed_step += 1
        if not is_finite(check):
            job.bad_body = first_bad(coupling.own, 0, job.last, like)
            if job.bad_body >= 0:
                return
        if (step + 1) % coupling.patience == 0 and coupling.look(coupling.owner):
            job.code = INTERRUPTED
            return


cdef inline int step_once(const Coupling* coupling, Job* job, vec* check) noexcept nogil:
    """Make one step; return nonzero if the function fails. Add the new state to `check`."""
    cdef const Plan* plan = coupling.own
    cdef int scheme = plan.scheme
    cdef bint drag = plan.velocity_dependent
    cdef int last = stages(scheme, drag, plan) - 1
    cdef bint keeps = fsal(scheme, drag) and job.done == 0
    cdef bint seen = has_opening(scheme, drag)      # True if the next state to evaluate is in `coupling.seen`
    cdef int number
    if keeps and evaluate(coupling, job, &plan.x, &plan.v, time_of(coupling, job.tick + job.done)) != 0:
        return job.code
    if seen:
        over_rows(coupling, KEEP if keeps else NONE, True, False, False, check)
    for number in range(last + 1):
        if evaluate(
            coupling, job, &coupling.seen[0] if seen else &plan.x, &coupling.seen[1] if seen else &plan.v,
            time_of(coupling, job.tick + job.done + coupling.ticks[number]) + coupling.after[number],
        ) != 0:
            return job.code
        over_rows(coupling, number, False, seen, number == last, check)
        seen = True
    return 0


cdef inline int evaluate(const Coupling* coupling, Job* job, const Array* x, const Array* v, double t) noexcept nogil:
    """Evaluate the function at a state; return 0 or a failure code."""
    job.evaluations += 1
    job.failed_part = 0
    job.code = coupling.interaction.function(
        t, 0, coupling.own.n, coupling.own.dim, 0, x.data, v.data, NULL, coupling.interaction.data,
    )
    return job.code


cdef inline void over_rows(
    const Coupling* coupling, int number, bint opens, bint seen, bint ends, vec* check,
) noexcept nogil:
    """Complete stage `number`, or begin a step.

    The old state is in the caller's arrays, or with `seen` in `coupling.seen`; the new one with `ends` in the caller's
    arrays, else in `coupling.seen`.
    """
    cdef const Plan* plan = coupling.own
    cdef const Plan* numbers = coupling.plan    # plan with the coefficients
    cdef const Array* x = &coupling.seen[0] if seen else &plan.x
    cdef const Array* v = &coupling.seen[1] if seen else &plan.v
    cdef const Array* to_x = &plan.x if ends else &coupling.seen[0]
    cdef const Array* to_v = &plan.v if ends else &coupling.seen[1]
    cdef const Array* out = &coupling.seen[2]
    cdef Py_ssize_t w = width(check)
    cdef Py_ssize_t item = sizeof(vec) // w
    cdef bint planes = plan.x.body == item
    cdef double memory[LONG * 8 + 8]
    cdef vec* pattern = aligned(<char*> memory, check)  # gravity of a stretch with interleaved components
    cdef Stretch row
    cdef Py_ssize_t at, left, i
    cdef int j
    row.row = plan.dim * coupling.padded * item
    row.each, row.every = numbers.g.body * w, coupling.interaction.factor.body * w
    if not planes:
        row.each = sizeof(vec)
        for i in range(plan.dim * w):
            memcpy(<char*> pattern + i * item, numbers.g.component[i % plan.dim], item)
        for i in range(plan.dim, LONG):
            pattern[i] = pattern[i - plan.dim]
    for j in range(plan.dim if planes else 1):
        at, left = j * plan.x.component, plan.n * item * (1 if planes else plan.dim)
        row.x, row.v, row.x0, row.v0 = x.data + at, v.data + at, plan.x.data + at, plan.v.data + at
        row.to_x, row.to_v, row.out = to_x.data + at, to_v.data + at, out.data + at
        row.held = coupling.delta_v + (plan.dim + j) * coupling.padded * item
        row.g = numbers.g.component[j] if planes else <const char*> pattern
        row.factor = coupling.interaction.factor.component[j]
        while left >= <Py_ssize_t> sizeof(vec):
            row.bytes = min(left // <Py_ssize_t> sizeof(vec), <Py_ssize_t> LONG) * <Py_ssize_t> sizeof(vec)
            plan.along(number, opens, ends, numbers, &row, check)
            row.x += row.bytes
            row.v += row.bytes
            row.x0 += row.bytes
            row.v0 += row.bytes
            row.to_x += row.bytes
            row.to_v += row.bytes
            row.out += row.bytes
            row.held += row.bytes
            i = row.bytes // <Py_ssize_t> sizeof(vec)
            row.g += (i if planes or i < LONG else 0) * row.each
            row.factor += i * row.every
            left -= row.bytes
        if left > 0:
            last_numbers(number, opens, ends, plan, numbers, &row, left, check)


cdef inline void last_numbers(
    int number, bint opens, bint ends, const Plan* plan, const Plan* numbers, const Stretch* row, Py_ssize_t left,
    vec* check,
) noexcept nogil:
    """Do a stage of the last numbers of a row, less than a vector, in copies padded with zeros."""
    cdef vec copy[7]
    cdef Stretch part = row[0]
    memset(copy, 0, sizeof(copy))
    memcpy(&copy[0], row.x, left)
    memcpy(&copy[1], row.v, left)
    memcpy(&copy[2], row.x0, left)
    memcpy(&copy[3], row.v0, left)
    memcpy(&copy[4], row.out, left)
    part.bytes = sizeof(vec)
    part.x, part.v, part.x0, part.v0 = <char*> &copy[0], <char*> &copy[1], <char*> &copy[2], <char*> &copy[3]
    part.out, part.to_x, part.to_v = <char*> &copy[4], <char*> &copy[5], <char*> &copy[6]
    plan.along(number, opens, ends, numbers, &part, check)
    memcpy(row.to_x, &copy[5], left)
    memcpy(row.to_v, &copy[6], left)
    memcpy(row.out, &copy[4], left)


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

    Moving shapes stay where they are at the beginning of the job; their margin covers the motion in all its steps.
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


ctypedef union Memory:      # registers of a tile, or copies of the coefficients of a row of the caller's arrays
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
            # Constraints also read the state before the step, so that there are two buffers. The second one uses the
            # output registers of interactions, because tiles with constraints have no interactions.
            workspace.next = workspace.start + (OUT - P) * size(&workspace, like)
            workspace.delta_v = workspace.next + P * size(&workspace, like)
        elif plan.scheme == RK4 and not plan.turned:
            workspace.next = workspace.start    # registers P and Q, which RK4 does not use then: see `leaves`
        move_state(False, plan, workspace.first, workspace.count, r)
        keep_tile(plan, job, workspace.first, workspace.count, r)
        prefetch_state(plan, workspace.first, job.last, like)
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
    # Functions read all slots, and those after the last active one must stay zero. If there are any, `full` is False:
    # stages then zero the accelerations of inactive slots.
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
