# Steps of coupled bodies by passes: each stage runs over all bodies before the next begins.
#
# The registers of integrators/steps.pxd are structure-of-arrays planes here, of a tile or of all bodies. Planes are
# padded to whole vectors, so that passes need no special case for the last bodies.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..abi.plan cimport (
    A, ALTERNATE, COMPOSITION, DAMPING, DRIFT_KICK, KICK_DRIFT, OPENING, OUT, P, ROW, S, TILE, TURNING, V,
    VELOCITY_VERLET, X, Y, Job, Plan,
)
from ..abi.coupled cimport (
    INTERRUPTED, KEEP, NO_BRANCH, START, UNSOLVED, Coupling, InteractionCall, InteractionFunction, NoisyFunction,
    Workspace, time_of,
)
from ..abi.constraints cimport (
    CONTACTS, DISTANCE, MOVING, ConstraintCall, Contacts, Distance, LoadCell, Shapes, Torus, acts_alone,
)
from ..abi.events cimport Log
from ..constraints.late_impulses cimport find_delta_v, keep_velocities, turn_impulses, turns_impulses
from ..constraints.loads cimport resolve
from ..constraints.motion cimport end_motion
from ..constraints.static cimport EXTENT, any_swept, constrain_tile, lay_shapes, measure, reaches_any
from ..simd.vec cimport f32vec, vec, width
from ..integrators.steps cimport evaluations, has_opening, stages, start
from ..noise cimport apply_thermostat
from .few cimport VECTORS
from .slots cimport any_of
from .planes cimport aligned, first_bad, is_finite, sum_state
from .stages cimport keeps_forces, opens_ahead, size
from ..integrators.traits cimport fsal, repeats_place, verlet


cdef inline char* out_register(const Workspace* workspace, int number, const vec* like) noexcept nogil:
    return workspace.start + (OUT - P + number) * size(workspace, like)


cdef inline int evaluate_interaction(
    const InteractionCall* term, InteractionFunction function, void* data, double t, int64_t tick,
    const Workspace* workspace, int dim,
    const void* x, const void* v, void* out,
) noexcept nogil:
    """Call a function of an interaction; noisy ones also get the tick."""
    if term.noisy:
        return (<NoisyFunction> function)(
            t, workspace.first, workspace.count, dim, workspace.plane, x, v, out, data, tick,
        )
    return function(t, workspace.first, workspace.count, dim, workspace.plane, x, v, out, data)


cdef inline int interact(
    const Coupling* coupling, Job* job, const Workspace* workspace, const char* state, double t, int64_t tick,
    vec* like, int to, bint stays,
) noexcept nogil:
    """Evaluate all interactions at a state; return 0 or a failure code. tick: seeds noise; to: first output register.

    stays: True if positions have not changed since the previous evaluation, whose output may then be reused.
    """
    cdef const InteractionCall* term
    cdef char* out
    cdef Py_ssize_t vectors = (workspace.count + width(like) - 1) // width(like)
    cdef int number, j
    job.evaluations += 1
    for number in range(coupling.interactions):
        term = &coupling.interaction[number]
        if stays and term.by_position:
            continue
        out = out_register(workspace, to - OUT + number, like)
        for j in range(0 if term.fills else coupling.plan.dim):
            memset(out + j * workspace.plane * <Py_ssize_t> sizeof(vec) // width(like), 0, vectors * sizeof(vec))
        job.code = evaluate_interaction(
            term, term.function, term.data, t, tick, workspace, coupling.plan.dim,
            state + X * size(workspace, like), state + V * size(workspace, like), out,
        )
        if job.code != 0:
            job.failed_part = number
            return job.code
    return 0


cdef inline void finish(
    int number, int scheme, const Coupling* coupling, const Workspace* workspace, const char* state, vec* like,
) noexcept nogil:
    """Compute accelerations at a state, interactions included, and complete the stage with them."""
    if coupling.plan.terms > 0:
        coupling.plan.accelerate(
            coupling.plan, workspace.first, workspace.count, workspace.plane,
            state + X * size(workspace, like), state + V * size(workspace, like),
            workspace.start + (A - P) * size(workspace, like),
        )
    coupling.plan.finish(number, scheme, coupling, workspace, state)


cdef inline int coupled_step(
    const Coupling* coupling, Job* job, Py_ssize_t step, const Workspace* workspace, vec* like,
) noexcept nogil:
    """Make one step by passes, from `now` to `next`; return nonzero if an interaction fails."""
    cdef const Plan* plan = coupling.plan
    cdef const char* state = workspace.now
    cdef int64_t tick = job.tick + step
    cdef int scheme = plan.scheme
    cdef bint drag = plan.velocity_dependent
    cdef double after, t
    cdef int64_t ticks
    cdef bint kept = coupling.workspace == NULL and keeps_forces(coupling, workspace)
    cdef int to
    # Wrap positions before the last evaluation: see `System.wraps_early` of kickdrift/reference/system.py.
    cdef bint wraps_early = coupling.only_put_back and fsal(scheme, drag)
    cdef bint keeps_nothing = coupling.constraints > 0 and not wraps_early
    cdef bint stays
    cdef int number
    if scheme == ALTERNATE:
        scheme = KICK_DRIFT if tick % 2 == 0 else DRIFT_KICK
    if job.begin and step == 0 and any_of(plan.slots.needs_start + workspace.first, workspace.count):
        if interact(coupling, job, workspace, state, time_of(coupling, tick), tick, like, OUT, False) != 0:
            return job.code
        finish(KEEP, 0, coupling, workspace, state, like)
        if workspace.next != workspace.now:
            memcpy(workspace.next, workspace.now, 3 * size(workspace, like))
            state = workspace.next
        start_spawned(plan, workspace, like)
    # One loop for all evaluations: compilers then inline the passes once.
    for number in range(START, stages(scheme, drag, plan)):
        after, ticks = 0, 0
        if number == START and not (step == 0 and job.start):
            continue
        # The first step of a call needs accelerations at its initial state. Later steps need them too if constraints
        # move bodies after the last evaluation, because its accelerations are then outdated.
        if number == KEEP and not (fsal(scheme, drag) and (step == 0 and not coupling.recalled or keeps_nothing)):
            continue
        if number == 0 and plan.turned:
            plan.between(TURNING, scheme, plan, workspace, state, NULL, NULL)
            state = workspace.next
        if number == 0 and workspace.opened:
            state = workspace.next
        elif number == 0 and has_opening(scheme, drag):
            plan.between(OPENING, scheme, plan, workspace, state, NULL, NULL)
            state = workspace.next
            if coupling.noise != NULL and scheme == VELOCITY_VERLET and not drag:
                apply_thermostat(coupling, workspace, tick, True, like)
            if wraps_early:
                put_back(coupling, workspace, like)
        if number >= 0 and not (plan.scheme == ALTERNATE and scheme == KICK_DRIFT):
            after, ticks = coupling.after[number], coupling.ticks[number]
        to = Y + number if kept and number >= 0 else OUT
        stays = repeats_place(scheme, drag, number % evaluations(scheme, drag, plan))
        stays = stays and (number > 0 or step > 0 and coupling.constraints == 0 and coupling.noise == NULL)
        # At the end of a step, t is bitwise the time of the next tick: the next step may reuse these accelerations.
        t = time_of(coupling, tick + ticks) + after
        if interact(coupling, job, workspace, state, t, tick + ticks, like, to, stays) != 0:
            return job.code
        finish(number, scheme, coupling, workspace, state, like)
        if number != KEEP:
            state = workspace.next
    if plan.turned:
        plan.between(TURNING, scheme, plan, workspace, workspace.next, NULL, NULL)
    if coupling.noise != NULL and not (scheme == VELOCITY_VERLET and not drag):
        apply_thermostat(coupling, workspace, tick, False, like)
    if plan.damped and coupling.constraints == 0:
        plan.between(DAMPING, scheme, plan, workspace, state, NULL, NULL)
    return 0


cdef inline void put_back(const Coupling* coupling, const Workspace* workspace, vec* like) noexcept nogil:
    """Wrap positions into the periodic box before the last evaluation, because the next step reuses that evaluation."""
    cdef char* s = workspace.next + S * size(workspace, like) if verlet(coupling.plan.scheme) else NULL
    coupling.constraint[0].function(
        coupling.constraint[0].kind, coupling.plan.h, 0, coupling.plan.n, coupling.plan.dim, workspace.plane, NULL,
        NULL, workspace.next + X * size(workspace, like), workspace.next + V * size(workspace, like), s,
        coupling.constraint[0].data, coupling.owner,
    )


cdef inline void start_spawned(const Plan* plan, const Workspace* workspace, vec* like) noexcept nogil:
    """Initialise the history of bodies spawned since the last step, from accelerations that `finish` stored (KEEP)."""
    cdef vec* x = <vec*> (workspace.next + X * size(workspace, like))
    cdef vec* v = <vec*> (workspace.next + V * size(workspace, like))
    cdef vec* s = <vec*> (workspace.next + S * size(workspace, like))
    cdef const vec* a = <const vec*> workspace.start
    cdef const vec* k = aligned(plan.prepared, like)
    cdef const uint8_t* needs_start = plan.slots.needs_start + workspace.first
    cdef Py_ssize_t w = width(like)
    cdef Py_ssize_t size_ = sizeof(vec) // w
    cdef Py_ssize_t n, i, lane
    cdef vec y, u, t
    cdef int j
    for j in range(plan.dim):
        for n in range((workspace.count + w - 1) // w):
            if not any_of(needs_start + n * w, w):
                continue
            i = j * workspace.plane // w + n
            y, u, t = x[i], v[i], s[i]
            start(plan.scheme, plan.taylor_start, k, a[i], &y, &u, &t)
            for lane in range(w):
                if needs_start[n * w + lane]:
                    memcpy(<char*> (v + i) + lane * size_, <char*> &u + lane * size_, size_)
                    memcpy(<char*> (s + i) + lane * size_, <char*> &t + lane * size_, size_)


cdef inline const Plan* plan_of(const Coupling* coupling, const char* state) noexcept nogil:
    """Return the plan for a state buffer of the workspace."""
    return coupling.plan if state == coupling.workspace else coupling.plan + 1


cdef inline int single_step(
    const Coupling* coupling, Job* job, Py_ssize_t step, const Workspace* workspace, vec* like,
) noexcept nogil:
    """Make one step of bodies without interactions; return nonzero if it cannot be solved."""
    # The plan belongs to this job alone, so that it may be changed and restored.
    cdef Plan* plan = <Plan*> plan_of(coupling, workspace.next)
    cdef bint damped = plan.damped
    cdef Job single_block = job[0]
    single_block.steps = 1
    single_block.before = NULL
    single_block.tick = job.tick + step
    single_block.start = job.start and step == 0
    single_block.begin = job.begin and step == 0
    plan.damped = False  # damping comes after the constraints
    if coupling.near == NULL:
        copy_planes(plan, workspace, like)
        plan.run(plan, &single_block, like)
    else:
        step_near(coupling, plan, &single_block, workspace, like)
    plan.damped = damped
    if single_block.failed_step == 1:
        job.evaluations += single_block.evaluations
        return 0
    job.failed_part = -1
    job.failed_body = single_block.failed_body
    job.residual = single_block.residual
    return UNSOLVED


cdef inline void copy_planes(const Plan* plan, const Workspace* workspace, const vec* like) noexcept nogil:
    """Copy the state of all bodies to `next`, without the padding of planes: with few bodies, it is most of a plane."""
    cdef Py_ssize_t bytes = (plan.n + width(like) - 1) // width(like) * <Py_ssize_t> sizeof(vec)
    cdef Py_ssize_t at
    cdef int k
    for k in range((3 if plan.s.data != NULL else 2) * plan.dim):
        at = k * workspace.plane * <Py_ssize_t> sizeof(vec) // width(like)
        memcpy(workspace.next + at, workspace.now + at, bytes)


cdef inline bint is_near(const Coupling* coupling, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """True if any tile in a range of bodies steps in the workspace, because it may touch a constraint."""
    return coupling.near == NULL or any_of(coupling.near + first // TILE, (last + TILE - 1) // TILE - first // TILE)


cdef inline void step_near(
    const Coupling* coupling, const Plan* plan, Job* job, const Workspace* workspace, const vec* like,
) noexcept nogil:
    """Step whole rows that contain a tile for which `is_near` is true; results of other tiles are discarded."""
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t at
    cdef Job part
    cdef int number, j
    job.evaluations = 0
    job.failed_step = 1
    while first < job.last:
        part = job[0]
        part.first, part.last = first, min(first + ROW, job.last)
        if is_near(coupling, first, part.last):
            for number in range(3 if plan.s.data != NULL else 2):
                for j in range(plan.dim):
                    at = (number * workspace.row + j * workspace.plane + first) * item
                    memcpy(workspace.next + at, workspace.now + at, (part.last - first) * item)
            plan.run(plan, &part, like)
            job.evaluations = max(job.evaluations, part.evaluations)
        first += ROW


cdef inline void constrain_by_tiles(
    const Coupling* coupling, int begin, int end, const Workspace* workspace, vec* like,
) noexcept nogil:
    """Apply the constraints `begin` to `end`, which act on each body alone, tile by tile."""
    cdef const Plan* plan = coupling.plan
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef bint swept = any_swept(coupling, begin, end)
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t count
    cdef vec before[EXTENT]
    cdef vec now[EXTENT]
    lay_shapes(True, coupling, begin, end, 1, like)
    while first < workspace.count:
        count = min(<Py_ssize_t> TILE, workspace.count - first)
        if not is_near(coupling, first, first + count):
            first += TILE
            continue
        if swept:
            measure(plan, first, count, workspace.plane, <const vec*> (workspace.now + first * item), before)
        measure(plan, first, count, workspace.plane, <const vec*> (workspace.next + first * item), now)
        if reaches_any(coupling, begin, end, first, count, before, now, like):
            if coupling.own != NULL:
                find_delta_v(plan, first, count, workspace, like)
            constrain_tile(coupling, begin, end, first, count, workspace, before, now, like)
        first += TILE
    lay_shapes(False, coupling, begin, end, 1, like)


cdef inline int constrain(
    const Coupling* coupling, Job* job, Py_ssize_t step, const Workspace* workspace, vec* like,
) noexcept nogil:
    """Apply the constraints in order, record their events, then apply damping."""
    cdef const Plan* plan = coupling.plan
    cdef char* s = workspace.next + S * size(workspace, like) if verlet(plan.scheme) else NULL
    cdef const vec* delta_v = <const vec*> workspace.delta_v
    cdef char* free = workspace.delta_v + size(workspace, like)     # the register after delta_v
    cdef const vec* at_rest = NULL
    cdef int64_t unrecorded
    cdef int number = 0
    cdef int begin
    if coupling.constraints > 0 and coupling.own == NULL:
        find_delta_v(plan, 0, plan.n, workspace, like)
    while number < coupling.constraints:
        begin = number
        while number < coupling.constraints and acts_alone(coupling.constraint[number].kind):
            number += 1
        if number > begin:
            constrain_by_tiles(coupling, begin, number, workspace, like)
            continue
        if turns_impulses(&coupling.constraint[number], plan):
            keep_velocities(plan.dim, 0, plan.n, workspace, free, workspace.plane, like)
        job.code = coupling.constraint[number].function(
            coupling.constraint[number].kind, plan.h, 0, plan.n, plan.dim, workspace.plane,
            workspace.now + X * size(workspace, like), workspace.delta_v, workspace.next + X * size(workspace, like),
            workspace.next + V * size(workspace, like), s, coupling.constraint[number].data, coupling.owner,
        )
        if job.code != 0:
            job.failed_part = -2 - number
            break
        if turns_impulses(&coupling.constraint[number], plan):
            turn_impulses(
                &coupling.constraint[number], plan, 0, plan.n, workspace, free, workspace.plane, like,
            )
        if coupling.constraint[number].kind == DISTANCE:
            at_rest = <const vec*> (<const Distance*> coupling.constraint[number].data).at_rest
        number += 1
    if coupling.log != NULL:
        coupling.log.tick = job.tick + step + 1
        coupling.log.time = time_of(coupling, coupling.log.tick)
        coupling.log.h = plan.h
        unrecorded = coupling.report_events(
            job.code == 0, coupling.constraints, coupling.constraint, plan.n, plan.dim, workspace.plane,
            workspace.next + X * size(workspace, like), coupling.log,
        )
        if unrecorded >= 0 and job.code == 0:
            job.code = NO_BRANCH
            job.failed_part = -2 - <int> unrecorded
    if job.code != 0:
        return job.code
    if coupling.constraints > 0 and plan.damped:
        plan.between(DAMPING, plan.scheme, plan, workspace, workspace.next, at_rest, delta_v)
    for number in range(coupling.constraints):
        if coupling.constraint[number].kind == CONTACTS:
            # The step is final: the next one warm-starts from its impulses.
            remember(<const Contacts*> coupling.constraint[number].data)
            move_level(plan.dim, plan.h, <const Contacts*> coupling.constraint[number].data)
        elif coupling.constraint[number].kind == MOVING:
            end_motion(plan.dim, plan.h, <const Shapes*> coupling.constraint[number].data)
        if coupling.constraint[number].kind == CONTACTS or coupling.constraint[number].kind == DISTANCE:
            keep_loads(step + 1 == job.steps, coupling, &coupling.constraint[number], workspace, like)
    return 0


cdef inline void keep_loads(
    bint last, const Coupling* coupling, const ConstraintCall* call, const Workspace* workspace, const vec* like,
) noexcept nogil:
    """Store the loads of pairs after a step; if snapshots contain no loads, only after the last step of a call.

    Loads that belong to snapshots are stored in each step, because a call may end with an error after any step.
    """
    cdef const Plan* plan = coupling.plan
    cdef const char* x = workspace.next + X * size(workspace, like)
    cdef const Torus* torus = &(<const Distance*> call.data).torus
    cdef const LoadCell* cell = (<const Distance*> call.data).cell
    cdef const void* load = (<const Distance*> call.data).load
    cdef Log* log = coupling.log
    cdef bint saves_loads = (<const Distance*> call.data).saves_loads
    cdef int64_t count
    if call.kind == CONTACTS:
        saves_loads = (<const Contacts*> call.data).saves_loads
    if not (last or saves_loads):
        return
    if call.kind == CONTACTS:
        torus, cell = &(<const Contacts*> call.data).grid.torus, (<const Contacts*> call.data).cell
        count, load = (<const Contacts*> call.data).rods, (<const Contacts*> call.data).load
    else:
        count = (<const Distance*> call.data).stage[(<const Distance*> call.data).stages]
    if vec is f32vec:
        resolve[float](plan.dim, plan.h, workspace.plane, <float*> x, count, cell, <const float*> load, torus, log)
    else:
        resolve[double](plan.dim, plan.h, workspace.plane, <double*> x, count, cell, <const double*> load, torus, log)


cdef inline void remember(const Contacts* contacts) noexcept nogil:
    contacts.state[0] = 1 - contacts.state[0]


cdef inline void move_level(int dim, double h, const Contacts* contacts) noexcept nogil:
    cdef int64_t part
    for part in range(contacts.parts if contacts.moves else 0):
        end_motion(dim, h, &contacts.shapes[part])


cdef inline bint only_attracted(const Coupling* coupling, const vec* like) noexcept nogil:
    """True if few.pxd can step these bodies: few of them, one interaction, gravity, and a supported scheme."""
    cdef const Plan* plan = coupling.plan
    return (
        plan.n <= VECTORS * width(like) and plan.slots == NULL and plan.terms == 0
        and not (plan.drag or plan.spring or plan.turned or plan.damped or plan.velocity_dependent)
        and coupling.constraints == 0
        and (
            plan.scheme == KICK_DRIFT or plan.scheme == DRIFT_KICK or plan.scheme == ALTERNATE
            or plan.scheme == COMPOSITION or plan.scheme == VELOCITY_VERLET
        )
    )


cdef inline Py_ssize_t advance_few(
    const Coupling* coupling, Job* job, Workspace* workspace, const vec* like,
) noexcept nogil:
    """Run the steps of the job with the few-body kernel, until interrupted."""
    cdef Py_ssize_t step = 0
    cdef Py_ssize_t count
    job.evaluations += job.steps * stages(coupling.plan.scheme, False, coupling.plan)
    job.evaluations += fsal(coupling.plan.scheme, False)
    while step < job.steps:
        job.done = step
        count = coupling.patience - step % coupling.patience
        count = min(count, job.steps - step)
        if count % 2:
            coupling.few(coupling, count, job.tick + step, workspace.now, workspace.next, like)
            workspace.now, workspace.next = workspace.next, workspace.now
        else:
            coupling.few(coupling, count, job.tick + step, workspace.now, workspace.now, like)
        step += count
        if coupling.look != NULL and step % coupling.patience == 0 and coupling.look(coupling.owner):
            job.code = INTERRUPTED
            job.evaluations -= (job.steps - step) * stages(coupling.plan.scheme, False, coupling.plan)
            return step
    return job.steps


cdef inline bint sound(const Coupling* coupling, Job* job, const Workspace* workspace, vec* like) noexcept nogil:
    """True if the state of all bodies is finite; otherwise store the first bad body in the job."""
    cdef const Plan* plan = plan_of(coupling, workspace.now)
    cdef Py_ssize_t part = workspace.count if coupling.near == NULL else TILE
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t last
    cdef const char* place
    while first < workspace.count and job.bad_body < 0:
        last = min(first + part, workspace.count)
        place = workspace.now + first * <Py_ssize_t> sizeof(vec) // width(like)
        if is_near(coupling, first, last) and not is_finite(sum_state(
            plan.dim, last - first, workspace.plane // width(like), <const vec*> place,
            <const vec*> (place + V * size(workspace, like)),
        )):
            job.bad_body = first_bad(plan, first, last, like)
        first = last
    return job.bad_body < 0


cdef inline Py_ssize_t advance(const Coupling* coupling, Job* job, Workspace* workspace, vec* like) noexcept nogil:
    """Run the steps of the job until one fails; return the number of completed steps. If all bodies are one tile, also
    stop after a step whose state is not finite."""
    cdef Py_ssize_t step
    cdef bint ahead = opens_ahead(coupling, workspace)
    workspace.opens = False
    if coupling.few != NULL and only_attracted(coupling, like):
        return advance_few(coupling, job, workspace, like)
    for step in range(job.steps):
        job.done = step
        workspace.opened = workspace.opens
        workspace.opens = ahead and step + 1 < job.steps
        if coupling.implicit != NULL:
            job.code = coupling.implicit(coupling, job, step, workspace, like)
        elif coupling.interactions > 0 or coupling.workspace == NULL:
            job.code = coupled_step(coupling, job, step, workspace, like)
        else:
            job.code = single_step(coupling, job, step, workspace, like)
        if job.code == 0:
            job.code = constrain(coupling, job, step, workspace, like)
        if job.code != 0:
            return step
        workspace.now, workspace.next = workspace.next, workspace.now
        if coupling.workspace != NULL and not sound(coupling, job, workspace, like):
            return step + 1
        if coupling.look != NULL and (step + 1) % coupling.patience == 0 and coupling.look(coupling.owner):
            job.code = INTERRUPTED
            return step + 1
    return job.steps
