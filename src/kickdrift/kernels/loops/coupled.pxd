# Running a job where many bodies are pushed at once: tile after tile where each body goes its way, all
# bodies as one tile where they see each other, or a function wants them all.

from libc.string cimport memcpy, memset

from ..abi.registers cimport OUT, P, Q, REGISTERS, S, V, X, Y
from ..abi.workspace cimport Workspace
from ..simd.masks cimport positive, select_or_zero
from ..simd.vec cimport vec, width
from ..abi.plan cimport MAX_DIM, RK4, TILE, Job, Plan, Row
from .planes cimport aligned, end, fetch_state, keep_tile, move_state, sum_planes
from .living cimport any_of
from .stages cimport size
from .passes cimport advance, sound
from .fused cimport damp_planes, moves_on
from .tiles cimport in_planes
from ..constraints.wall_vectors cimport find_room, in_vectors, leave_room
from ..abi.coupled cimport TILE_INTERACTIONS, Coupling


cdef inline void run(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    job.code = 0
    job.done = 0
    if coupling.workspace == NULL:
        run_tiles(coupling, job, like)
    else:
        run_whole(coupling, job, like)


cdef inline void run_tiles(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    """All steps of a tile, then the next; the earliest failure counts."""
    cdef double memory[(OUT + TILE_INTERACTIONS) * MAX_DIM * TILE + 8]
    cdef vec* r = aligned(<char*> memory, like)
    cdef const Plan* plan = coupling.plan
    cdef const Plan* simple = plan
    cdef Plan undamped
    cdef bint looped
    cdef Py_ssize_t done
    cdef Job part
    cdef Workspace workspace
    cdef vec low[MAX_DIM]
    cdef vec high[MAX_DIM]
    cdef bint roomy = False
    cdef vec check
    memset(&check, 0, sizeof(vec))
    workspace.start = <char*> r + P * MAX_DIM * TILE * <Py_ssize_t> sizeof(vec) // width(like)
    workspace.plane = TILE
    workspace.row = MAX_DIM * TILE
    workspace.first = job.first
    workspace.held = in_vectors(coupling)
    looped = workspace.held and in_planes(plan)
    if looped:
        roomy = find_room(coupling, low, high)
    if looped and plan.damped:
        undamped = plan[0]
        undamped.damped = False
        simple = &undamped
    while workspace.first < job.last:
        workspace.count = min(<Py_ssize_t> TILE, job.last - workspace.first)
        if plan.living != NULL and not any_of(plan.living.alive + workspace.first, workspace.count):
            workspace.first += TILE
            continue
        part = job[0]
        part.evaluations = 0
        workspace.now = workspace.next = <char*> r
        if coupling.constraints > 0:
            # Walls want the state before the step as well. There are no pushes then, whose registers are these.
            workspace.next = workspace.start + (OUT - P) * size(&workspace, like)
            workspace.gain = workspace.next + P * size(&workspace, like)
        elif plan.scheme == RK4 and not plan.turned:
            workspace.next = workspace.start    # where others keep what rk4 leaves in `now`, see `leaves`
        move_state(False, plan, workspace.first, workspace.count, r)
        keep_tile(plan, job, workspace.first, workspace.count, r)
        fetch_state(plan, workspace.first, job.last, like)
        if plan.living != NULL:
            park_tile(plan, workspace.first, workspace.count, r)
        if looped:
            workspace.now = step_held(coupling, simple, job, workspace.first, workspace.count, roomy, low, high, r)
            part.evaluations = job.steps * (plan.stages + plan.fsal)
            done = job.steps
            if plan.living != NULL:
                park_tile(plan, workspace.first, workspace.count, <vec*> workspace.now)
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


cdef inline char* step_held(
    const Coupling* coupling, const Plan* plan, const Job* job, Py_ssize_t first, Py_ssize_t count, bint roomy,
    const vec* low, const vec* high, vec* r,
) noexcept nogil:
    """All steps of a loaded tile that walls hold, where fused.pxd has a loop for the scheme; returns where it is then.

    plan: the same without damping, which comes after the walls. roomy, low, high: what `find_room` found.
    """
    cdef vec (*step)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t vectors = (count + width(r) - 1) // width(r)
    cdef const vec* k = aligned(coupling.plan.prepared, r)     # a copy may be aligned otherwise
    cdef bint moves = moves_on(plan.scheme, plan.velocity_dependent) and not plan.turned
    cdef vec* state = r
    cdef vec* next = r
    cdef const vec* old = r + REGISTERS * row
    cdef Py_ssize_t _step
    cdef int j
    cdef Job one = job[0]
    cdef Row here
    step = <vec (*)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil> plan.step
    one.steps = 1
    here.first = first
    if plan.scheme == RK4 and not plan.turned:
        old = r + Q * row       # where its first stage keeps the velocity
    for _step in range(job.steps):
        if moves:   # back and forth between two places, of which none is a register of the other
            next = r + Y * row if state == r else r
            old = state + V * row
        elif old == r + REGISTERS * row:
            for j in range(plan.dim):
                memcpy(<vec*> old + j * plane, r + V * row + j * plane, vectors * sizeof(vec))
        here.planes, here.source = <char*> next, (state - next) * <Py_ssize_t> sizeof(vec)
        step(plan, &one, k, &here, 0, count)
        state = next
        if not roomy or leave_room(plan.dim, vectors, low, high, state + X * row):
            plan.hold(coupling, first, count, old, state)
        if coupling.plan.damped:
            damp_planes(coupling.plan, first, vectors, state)
    return <char*> state


cdef inline void run_whole(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    cdef Workspace workspace
    workspace.plane = coupling.padded
    workspace.row = coupling.plan.dim * coupling.padded
    workspace.held = False
    workspace.first = 0
    workspace.count = coupling.plan.n if coupling.plan.living == NULL else coupling.plan.living.end
    workspace.now = coupling.workspace
    workspace.next = workspace.now + P * size(&workspace, like)
    workspace.start = workspace.next + P * size(&workspace, like)
    if coupling.in_place:
        workspace.next = workspace.now
    workspace.gain = coupling.gain
    job.failed_step = advance(coupling, job, &workspace, like)
    sound(coupling, job, &workspace, like)


cdef inline void park_tile(const Plan* plan, Py_ssize_t first, Py_ssize_t count, vec* r) noexcept nogil:
    """Functions are shown zeros for the dead, whatever stands in their rows; and zeros they remain."""
    cdef const vec* weight = <const vec*> (<const char*> plan.living.weight + first * plan.living.item)
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t n, i
    cdef int j, number
    for number in range(X, S + 1 if plan.s.data != NULL else S):
        for j in range(plan.dim):
            for n in range((count + width(r) - 1) // width(r)):
                i = (number * MAX_DIM + j) * plane + n
                r[i] = select_or_zero(positive(weight[n]), r[i])
