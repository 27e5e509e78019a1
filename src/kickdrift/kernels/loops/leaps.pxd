# Tiles under static constraints take all steps of a call while they are in the cache.
#
# To leap is to run many steps without a check after each. The largest speed and acceleration bound the distance that
# bodies can cover. A tile leaps if no constraint is within that distance. For affine forces the bound is proved. For
# others it is a guess: the leap is written to the other state buffer, the extent of the tile is measured after each
# step, and the leap is discarded if that reaches a constraint. A tile that cannot leap is checked after each step.
#
# Under affine forces a row of the caller's arrays leaps in place. That halves the time of calls of one step, which
# are too short to pay for copies into a tile.

from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

from ..abi.coupled cimport Coupling, Workspace
from ..abi.plan cimport EXACT, MAX_DIM, P, ROW, S, VELOCITY_VERLET, X, Z, Array, Field, Job, Measure, Plan, Row
from ..constraints.late_impulses cimport find_delta_v
from ..constraints.static cimport EXTENT, HIGH, constrain_tile, measure, reaches_any, widen
from ..forces.fields cimport FIRST_TERMS, values
from ..integrators.traits cimport fsal
from ..simd.vec cimport filled, vec, width
from .bounds cimport ACCELERATION, DRAG, MOTION, SPEED, SPRING, extend, survey
from .fused cimport damp_planes
from .slots cimport any_of, zero_inactive
from .passes cimport coupled_step
from .planes cimport aligned, is_finite, move_planes
from .rows cimport step_row
from .tiles cimport BEYOND, affine_only, in_planes, keep_row, locate, locate_planes

cdef enum:
    LONGEST = 4096  # maximum steps per leap, because rounding errors accumulate
    PATIENCE = 8    # steps before a failed leap is tried again

cdef enum:
    MOST_BYTES = 16     # largest vector of a body, in bytes, for rows of ROW bodies; others have rows of TILE
    COPY = ROW * MOST_BYTES + BEYOND + 64       # bytes of a coefficient in a row, as array of structures
    COPIES = 10 * COPY                          # bytes of all coefficients

cdef inline Py_ssize_t free_steps(
    const Coupling* coupling, Py_ssize_t steps, Py_ssize_t first, Py_ssize_t count, vec* r, const vec* now,
) noexcept nogil:
    """Number of steps, up to `steps`, in which a tile touches no constraint if no terms act; 0 if unknown."""
    cdef const Plan* plan = coupling.plan
    cdef vec motion[MOTION]
    cdef vec there[EXTENT]
    cdef vec extent[EXTENT]     # not used, because it includes the padding of the tile
    cdef vec check = filled(0, r)
    cdef Row row
    cdef int j
    for j in range(EXTENT):
        extent[j] = check
    for j in range(MOTION):
        motion[j] = filled(0, r)
    for j in range(plan.dim):
        locate_planes(plan, first, j, r, &row)
        survey(plan, &row, 1, (count + width(r) - 1) // width(r), extent, motion + j, &check, r)
    while steps > 1:
        if extend(plan, steps, motion, now, there):
            if not reaches_any(coupling, 0, coupling.constraints, first, count, there, there, r):
                return steps
        steps //= 4
    return 0


cdef inline int row_numbers(const Plan* plan, const Job* job, const vec* like) noexcept nogil:
    """Return the number of components per body in a row of the caller's arrays; 0 if rows cannot be stepped in place.
    """
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    if not affine_only(plan) or job.start or job.steps > LONGEST:
        return 0
    if all_arrays(plan, job, item, plan.dim * item):
        return plan.dim
    if all_arrays(plan, job, 0, item):
        return 1
    return 0


cdef inline bint all_arrays(const Plan* plan, const Job* job, Py_ssize_t component, Py_ssize_t body) noexcept nogil:
    """True if all arrays of the state have these strides. component: 0 if any stride between components will do."""
    cdef const Array* arrays[5]
    cdef int i
    arrays[0], arrays[1], arrays[2] = &plan.x, &plan.v, &plan.s
    arrays[3] = arrays[4] = NULL
    if job.before != NULL:
        arrays[3], arrays[4] = &job.before[0], &job.before[1]
    for i in range(5):
        if arrays[i] != NULL and arrays[i].data != NULL and not (
            arrays[i].body == body and (arrays[i].component == component or component == 0)
        ):
            return False
    return True


cdef inline const char* interleave(
    const Plan* plan, const Field* field, Py_ssize_t first, Py_ssize_t count, bint again, char* buffer,
    const vec* like,
) noexcept nogil:
    """Copy a coefficient to `buffer` as an array of structures. again: a uniform one is there already: no copy."""
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef Array rows
    rows.data, rows.body, rows.component = buffer, plan.dim * item, item
    if field.body != 0 or not again:
        move_planes(
            True, &rows, plan.dim, 0, count, (field.component[1] - field.component[0]) // item,
            <vec*> values(field, 0, first),
        )
        memset(buffer + count * rows.body, 0, BEYOND)
    return buffer


cdef inline void interleave_row(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, bint again, char* buffer, Row* row, const vec* like,
) noexcept nogil:
    """Replace the coefficients that a row uses by copies as arrays of structures."""
    cdef int i
    row.g = interleave(plan, &plan.g, first, count, again, buffer, like)
    row.c = row.w = row.k = row.p = row.decay = row.flow[0] = row.flow[1] = row.flow[2] = row.flow[3] = row.g
    if plan.drag:
        row.c = interleave(plan, &plan.c, first, count, again, buffer + COPY, like)
        row.w = interleave(plan, &plan.w, first, count, again, buffer + 2 * COPY, like)
    if plan.spring:
        row.k = interleave(plan, &plan.k, first, count, again, buffer + 3 * COPY, like)
        row.p = interleave(plan, &plan.p, first, count, again, buffer + 4 * COPY, like)
    if plan.damped:
        row.decay = interleave(plan, &plan.decay, first, count, again, buffer + 5 * COPY, like)
    if plan.scheme == EXACT:
        for i in range(4):
            row.flow[i] = interleave(plan, &plan.flow[i], first, count, again, buffer + (6 + i) * COPY, like)


cdef inline char* copy_rest(
    const char* row, Py_ssize_t whole, Py_ssize_t group, Py_ssize_t rest, vec* to,
) noexcept nogil:
    """Copy the last whole group of a row, and overwrite its first bodies with the remaining bodies after the group. The
    group's other bodies do not change bounds, which include them already."""
    memcpy(to, row + whole - group, group)
    memcpy(to, row + whole, rest)
    return <char*> to


cdef inline void survey_rest(
    const Plan* plan, const Row* row, int numbers, Py_ssize_t count, vec* extent, vec* motion, vec* check,
    const vec* like,
) noexcept nogil:
    """Survey the bodies after the last whole group, each in the lane of its radius in `greatest` (static.pxd)."""
    cdef Py_ssize_t group = numbers * sizeof(vec)
    cdef Py_ssize_t whole = count // width(like) * group
    cdef Py_ssize_t bytes_ = count % width(like) * (group // width(like))
    cdef vec copies[3 * MAX_DIM]
    cdef Row rest = row[0]
    rest.x = copy_rest(row.x, whole, group, bytes_, copies)
    rest.v = copy_rest(row.v, whole, group, bytes_, copies + MAX_DIM)
    if row.s != NULL:
        rest.s = copy_rest(row.s, whole, group, bytes_, copies + 2 * MAX_DIM)
    # Coefficients are padded with zeros, which do not extend a bound.
    rest.g = row.g + (whole if plan.g.body else 0)
    rest.c, rest.w = row.c + (whole if plan.c.body else 0), row.w + (whole if plan.w.body else 0)
    rest.k, rest.p = row.k + (whole if plan.k.body else 0), row.p + (whole if plan.p.body else 0)
    survey(plan, &rest, numbers, 1, extent, motion, check, like)


cdef inline void separate(int dim, vec* lanes, const vec* like) noexcept nogil:
    """Convert a group of vectors from an array of structures to one vector per component."""
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef vec apart[MAX_DIM]
    cdef Array rows
    cdef int j
    rows.data, rows.body, rows.component = <char*> lanes, dim * item, item
    move_planes(False, &rows, dim, 0, width(like), width(like), apart)
    for j in range(dim):
        lanes[j] = apart[j]


cdef inline bint leap_in_rows(
    const Coupling* coupling, const Job* job, Py_ssize_t first, Py_ssize_t count, int numbers, bint again,
    char* buffer, const vec* like,
) noexcept nogil:
    """Step bodies in the caller's arrays if they touch no constraint in the whole job; return True if stepped.

    Inactive slots are zeros: they widen the extent, and are zeroed again after the steps. The state is finite, before
    and after the steps. Tried: remember which rows touched in the last call, and measure only the others; 1.1 to 1.2
    times faster, not worth the additional state.
    """
    cdef const Plan* plan = coupling.plan
    cdef const vec* k = aligned(plan.prepared, like)
    cdef Py_ssize_t groups = count // width(like)
    cdef vec motion[MOTION]
    cdef vec now[EXTENT]
    cdef vec there[EXTENT]
    cdef vec check = filled(0, like)
    cdef Row rows[MAX_DIM]
    cdef int j
    if groups == 0 or job.begin and any_of(plan.slots.needs_start + first, count):
        return False
    for j in range(MOTION):
        motion[j] = filled(0, like)
    for j in range(plan.dim):
        now[j], now[HIGH + j] = filled(INFINITY, like), filled(-INFINITY, like)
    for j in range(plan.dim // numbers):
        locate(plan, first, j, &rows[j])
        keep_row(job, &rows[j], j)
        if numbers > 1:
            interleave_row(plan, first, count, again, buffer, &rows[j], like)
        survey(plan, &rows[j], numbers, groups, now + j, motion + j, &check, like)
        if count % width(like):
            survey_rest(plan, &rows[j], numbers, count, now + j, motion + j, &check, like)
    if not is_finite(check):
        return False
    if numbers > 1:
        separate(plan.dim, motion + SPEED, like)
        separate(plan.dim, motion + ACCELERATION, like)
        if plan.drag:
            separate(plan.dim, motion + DRAG, like)
        if plan.spring:
            separate(plan.dim, motion + SPRING, like)
        separate(plan.dim, now, like)
        separate(plan.dim, now + HIGH, like)
    if not extend(plan, job.steps, motion, now, there):
        return False
    if reaches_any(coupling, 0, coupling.constraints, first, count, there, there, like):
        return False
    for j in range(plan.dim // numbers):
        step_row(plan, job, k, &rows[j], count * numbers)
    if plan.slots != NULL:
        zero_inactive(plan, first, first + count)
    return True


cdef inline void step_by_loops(
    const Coupling* coupling, const Plan* plan, Job* job, Py_ssize_t first, Py_ssize_t count, vec* r,
) noexcept nogil:
    """Step a tile without constraints, by the loops of rows.pxd and fused.pxd."""
    # Not `plan.prepared`: a copy of the plan may have another alignment, where `aligned` would not find the constants.
    cdef const vec* k = aligned(coupling.plan.prepared, r)
    cdef Row row
    cdef int j
    if affine_only(plan):
        for j in range(plan.dim):
            locate_planes(plan, first, j, r, &row)
            step_row(plan, job, k, &row, count)
    else:
        row.first, row.planes = first, <char*> r
        step_row(plan, job, k, &row, count)
    job.evaluations += job.steps * (plan.stages + plan.fsal) + job.start


cdef inline void copy_state(
    const Plan* plan, bint kept, Py_ssize_t plane, Py_ssize_t vectors, const vec* source, vec* to,
) noexcept nogil:
    """Copy the state of a tile; kept: also the accelerations that its last step left for the next one, see fused.pxd.
    """
    cdef int left = P if fsal(plan.scheme, plan.velocity_dependent) else Z
    cdef int least = left if left == P else Z - min(plan.terms, FIRST_TERMS) + 1
    cdef Py_ssize_t i
    cdef int number, j
    for number in range(X, Z + 1):
        if number == S and plan.s.data == NULL or number > S and not (kept and least <= number <= left):
            continue
        for j in range(plan.dim):
            i = (number * MAX_DIM + j) * plane
            memcpy(to + i, source + i, vectors * sizeof(vec))


cdef inline void swap(Workspace* workspace) noexcept nogil:
    workspace.now, workspace.next = workspace.next, workspace.now


cdef inline Py_ssize_t leap(
    const Coupling* coupling, Job* part, Workspace* workspace, Py_ssize_t* most, vec* now, vec* like,
) noexcept nogil:
    """Leap up to part.steps steps; return their number, 0 if none. now: extent of the tile; most: limit of steps."""
    cdef const Plan* plan = coupling.plan
    cdef Py_ssize_t first = workspace.first
    cdef Py_ssize_t count = workspace.count
    cdef Py_ssize_t plane = workspace.plane // width(like)
    cdef Py_ssize_t vectors = (count + width(like) - 1) // width(like)
    cdef vec swept[EXTENT]
    cdef Py_ssize_t i
    part.steps = free_steps(coupling, min(part.steps, most[0]), first, count, <vec*> workspace.now, now)
    if part.steps == 0:
        return 0
    if affine_only(plan):
        step_by_loops(coupling, plan, part, first, count, <vec*> workspace.now)
        return part.steps
    for i in range(EXTENT):
        swept[i] = now[i]
    part.measure, part.extent = <Measure> widen[vec], swept
    copy_state(plan, part.recalled, plane, vectors, <vec*> workspace.now, <vec*> workspace.next)
    step_by_loops(coupling, plan, part, first, count, <vec*> workspace.next)
    part.measure = NULL
    if reaches_any(coupling, 0, coupling.constraints, first, count, swept, swept, like):
        part.evaluations = 0
        most[0] = part.steps // 4
        return 0
    swap(workspace)
    most[0] = LONGEST
    return part.steps


cdef inline Py_ssize_t advance_static(
    const Coupling* coupling, Job* job, Workspace* workspace, bint stops, vec* like,
) noexcept nogil:
    """Step a tile from `now`; return the steps done. stops: end before a step in which the tile touches a
    constraint."""
    cdef const Plan* plan = coupling.plan
    cdef const Plan* simple = plan
    cdef Py_ssize_t first = workspace.first
    cdef Py_ssize_t count = workspace.count
    cdef Py_ssize_t plane = workspace.plane // width(like)
    cdef Py_ssize_t vectors = (count + width(like) - 1) // width(like)
    cdef bint looped = affine_only(plan) or in_planes(plan)
    cdef bint needs_start = job.begin and any_of(plan.slots.needs_start + first, count)
    cdef bint recalls = plan.scheme == VELOCITY_VERLET and in_planes(plan) and not affine_only(plan)
    cdef bint recalled = False
    cdef Py_ssize_t step = 0
    cdef Py_ssize_t wait = 0
    cdef Py_ssize_t most = LONGEST
    cdef Job part
    cdef Plan undamped
    cdef vec before[EXTENT]
    cdef vec now[EXTENT]
    cdef int i
    workspace.opened = workspace.opens = False
    if plan.damped:     # damping follows the constraints
        undamped = plan[0]
        undamped.damped = False
        simple = &undamped
    measure(plan, first, count, workspace.plane, <const vec*> workspace.now, now)
    while step < job.steps:
        part = job[0]
        part.evaluations = 0
        part.start = job.start and step == 0
        part.begin = needs_start and step == 0
        part.tick += step
        part.recalled = recalled
        if looped and wait == 0 and not part.start and not part.begin:
            part.steps = job.steps - step
            if leap(coupling, &part, workspace, &most, now, like) > 0:
                job.evaluations += part.evaluations
                step += part.steps
                recalled = recalls
                if step < job.steps:
                    measure(plan, first, count, workspace.plane, <const vec*> workspace.now, now)
                continue
            wait = PATIENCE
            if most < 2:
                most = PATIENCE
        wait -= wait > 0
        part.steps = 1
        if looped and not part.begin:
            copy_state(plan, recalled, plane, vectors, <vec*> workspace.now, <vec*> workspace.next)
            step_by_loops(coupling, simple, &part, first, count, <vec*> workspace.next)
        else:
            coupled_step(coupling, &part, 0, workspace, like)
        job.evaluations += part.evaluations
        for i in range(EXTENT):
            before[i] = now[i]
        measure(plan, first, count, workspace.plane, <const vec*> workspace.next, now)
        recalled = recalls
        if reaches_any(coupling, 0, coupling.constraints, first, count, before, now, like):
            if stops:
                return step
            find_delta_v(plan, first, count, workspace, like)
            constrain_tile(coupling, 0, coupling.constraints, first, count, workspace, before, now, like)
            measure(plan, first, count, workspace.plane, <const vec*> workspace.next, now)
            recalled = False
        if plan.damped:
            damp_planes(plan, first, vectors, <vec*> workspace.next)
        swap(workspace)
        step += 1
    return step
