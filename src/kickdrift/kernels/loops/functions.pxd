# Steps of bodies on which nothing but functions of all bodies acts together: by passes over tiles of the caller's
# arrays, which the functions read directly. States between two stages are in arrays of the same layout.

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..abi.coupled cimport INTERRUPTED, Coupling
from ..abi.plan cimport (
    ALTERNATE, COMPOSITION, COMPOSITION_RK4, DAMPING, DRIFT_KICK, GROOT_WARREN, HEUN, KICK_DRIFT, MAX_DIM, MIDPOINT,
    OPENING, RK4, TILE, VELOCITY_VERLET, VERLET_CENTRAL, Array, Job, Plan,
)
from ..abi.registers cimport OUT, P, REGISTERS, STATE, Y
from ..abi.workspace cimport KEEP, NONE, Stretch, Workspace
from ..integrators.steps cimport has_opening, stages
from ..integrators.traits cimport fsal
from ..simd.vec cimport vec, width
from .passes cimport finish
from .planes cimport aligned, fetch_state, first_bad, is_finite, move_state, move_tile, sum_planes
from .slots cimport clear, is_full
from .stages cimport keeps_forces, leaves, size

cdef enum:
    LONG = 48       # vectors of a stretch: a multiple of any number of components


cdef inline int held(int scheme, bint drag) noexcept nogil:
    """Number of registers, from the first one on, that a step keeps from pass to pass."""
    if scheme == RK4 or scheme == MIDPOINT or scheme == GROOT_WARREN:
        return 2
    if scheme == HEUN or scheme == COMPOSITION_RK4:
        return 3
    if scheme == VELOCITY_VERLET or (scheme == VERLET_CENTRAL and not drag):
        return 1
    return 2 if scheme == COMPOSITION and drag else 0


cdef inline void run_functions(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    """Run a job; the arrays are those of the last completed step, or of the first whose state is not finite."""
    cdef Coupling own = coupling[0]
    cdef vec check
    cdef Py_ssize_t step
    own.workspace = NULL    # a tile has its own registers
    for step in range(job.steps):
        memset(&check, 0, sizeof(vec))
        job.done = job.failed_step = step
        if step_once(coupling, &own, job, &check) != 0:
            return
        job.failed_step += 1
        if not is_finite(check):
            job.bad_body = first_bad(coupling.own, 0, job.last, like)
            if job.bad_body >= 0:
                return
        if (step + 1) % coupling.patience == 0 and coupling.look(coupling.owner):
            job.code = INTERRUPTED
            return


cdef inline int step_once(const Coupling* coupling, const Coupling* own, Job* job, vec* check) noexcept nogil:
    """Make one step; return other than 0 if a function fails. Add the new state to `check`."""
    cdef const Plan* plan = coupling.own
    cdef int scheme = plan.scheme
    cdef bint drag = plan.velocity_dependent
    cdef int64_t tick = job.tick + job.done
    cdef double t = coupling.origin + (tick - coupling.origin_tick) * plan.h    # as in passes.pxd
    cdef int last = stages(scheme, drag, plan) - 1
    cdef bint keeps = fsal(scheme, drag) and job.done == 0
    cdef bint opens
    cdef double after
    cdef int number
    cdef bint seen = False      # the state is no longer in the caller's arrays
    if scheme == ALTERNATE:
        scheme = KICK_DRIFT if tick % 2 == 0 else DRIFT_KICK
    opens = has_opening(scheme, drag)
    if keeps and evaluate(coupling, job, plan, t) != 0:
        return job.code
    if opens:
        over_tiles(coupling, own, scheme, KEEP if keeps else NONE, True, False, False, check)
        seen = True
    for number in range(last + 1):
        after = 0 if plan.scheme == ALTERNATE and scheme == KICK_DRIFT else coupling.after[number]
        if evaluate(coupling, job, coupling.seen if seen else plan, t + after) != 0:
            return job.code
        over_tiles(coupling, own, scheme, number, False, seen, number == last, check)
        seen = True
    return 0


cdef inline int evaluate(const Coupling* coupling, Job* job, const Plan* state, double t) noexcept nogil:
    """Evaluate all functions at a state; return 0 or a failure code."""
    cdef int number
    job.evaluations += 1
    for number in range(coupling.interactions):
        job.code = coupling.interaction[number].function(
            t, 0, state.n, state.dim, 0, state.x.data, state.v.data, NULL, coupling.interaction[number].data,
        )
        if job.code != 0:
            job.failed_part = number
            return job.code
    return 0


cdef inline void over_tiles(
    const Coupling* coupling, const Coupling* own, int scheme, int number, bint opens, bint seen, bint ends,
    vec* check,
) noexcept nogil:
    """Complete stage `number` of all bodies, or begin a step; from one of the two states to one of them."""
    cdef double memory[(OUT + REGISTERS) * MAX_DIM * TILE + 8]
    cdef vec* r = aligned(<char*> memory, check)
    cdef const Plan* plan = coupling.own
    cdef Py_ssize_t last = plan.n if plan.slots == NULL else plan.slots.end
    cdef Workspace workspace
    cdef char* state
    cdef bint kept
    cdef int to, k
    workspace.plane, workspace.row = TILE, MAX_DIM * TILE
    workspace.start = <char*> r + P * size(&workspace, check)
    workspace.opens = workspace.opened = False
    workspace.now = workspace.next = <char*> r
    if scheme == RK4:
        workspace.next = workspace.start    # it leaves the initial state in `now`
    state = workspace.next if seen else workspace.now
    workspace.first = along_rows(coupling, own, scheme, number, opens, seen, ends, check)
    while workspace.first < last:
        workspace.count = min(<Py_ssize_t> TILE, last - workspace.first)
        workspace.full = is_full(plan, workspace.first, workspace.count)
        kept = number >= 0 and keeps_forces(own, &workspace)
        if not seen or leaves(plan, &workspace):
            move_state(False, plan, workspace.first, workspace.count, <vec*> workspace.now)
        if seen:
            move_state(False, coupling.seen, workspace.first, workspace.count, <vec*> state)
        fetch_state(coupling.seen if seen else plan, workspace.first, last, check)
        if number != KEEP and (seen or opens):
            hold(False, coupling, scheme, &workspace, kept, number, ends, check)
        to = Y + number if kept else OUT
        for k in range(0 if number == NONE else coupling.interactions):
            take_out(&coupling.out[k], plan.dim, &workspace, <vec*> (
                workspace.start + (to - P + k) * size(&workspace, check)
            ))
        if number != NONE:
            finish(number, scheme, own, &workspace, state, check)
        if opens:
            plan.between(OPENING, scheme, own.plan, &workspace, state, NULL, NULL)
        if ends and plan.damped:
            plan.between(DAMPING, scheme, own.plan, &workspace, workspace.next, NULL, NULL)
        if ends:
            check[0] = check[0] + sum_planes(plan.dim, workspace.count, <vec*> workspace.next)
        hold(True, coupling, scheme, &workspace, kept, number, ends, check)
        move_state(True, plan if ends else coupling.seen, workspace.first, workspace.count, <vec*> workspace.next)
        workspace.first += TILE
    for k in range(0 if number == NONE or last == plan.n else coupling.interactions):
        clear(plan, &coupling.out[k], last, plan.n)


cdef inline bint alike(const Array* array, const Array* other) noexcept nogil:
    return array.body == other.body and array.component == other.component


cdef inline Py_ssize_t along_rows(
    const Coupling* coupling, const Coupling* own, int scheme, int number, bint opens, bint seen, bint ends,
    vec* check,
) noexcept nogil:
    """Do a pass of `over_tiles` in the caller's arrays themselves, where rows of numbers are alike; return bodies done.

    These are gravity, one function and the most used schemes: then each number is stepped as any other. The last
    bodies, which fill no vector, are left.
    """
    cdef const Plan* plan = coupling.own
    cdef const Plan* here = coupling.seen if seen else plan
    cdef const Plan* to = plan if ends else coupling.seen
    cdef const Array* out = &coupling.out[0]
    cdef Py_ssize_t w = width(check)
    cdef Py_ssize_t item = sizeof(vec) // w
    cdef Py_ssize_t done = plan.n // w * w
    cdef bint planes = plan.x.body == item
    cdef bint rows = plan.x.component == item and plan.x.body == plan.dim * item
    cdef vec pattern[LONG]
    cdef Stretch row
    cdef Py_ssize_t at, end, i
    cdef int j
    if not (
        done > 0 and (scheme == KICK_DRIFT or scheme == RK4 or scheme == COMPOSITION or scheme == VELOCITY_VERLET)
        and (scheme == KICK_DRIFT or scheme == RK4 or not plan.velocity_dependent)
        and coupling.interactions == 1 and plan.slots == NULL and plan.terms == 0
        and not (plan.drag or plan.spring or plan.damped)
        and (planes or rows and own.plan.g.body == 0 and coupling.interaction[0].factor.body == 0)
        and alike(&plan.x, &plan.v) and alike(&plan.x, out) and alike(&plan.x, &coupling.seen.x)
        and alike(&plan.x, &coupling.seen.v)
    ):
        return 0
    row.row = plan.dim * coupling.padded * item
    row.each, row.every = own.plan.g.body * w, coupling.interaction[0].factor.body * w
    if rows and not planes:
        row.each = sizeof(vec)
        for i in range(plan.dim * w):
            memcpy(<char*> pattern + i * item, own.plan.g.component[i % plan.dim], item)
        for i in range(plan.dim, LONG):
            pattern[i] = pattern[i - plan.dim]
    for j in range(plan.dim if planes else 1):
        at, end = j * plan.x.component, done * item * (1 if planes else plan.dim)
        row.x, row.v, row.x0, row.v0 = here.x.data + at, here.v.data + at, plan.x.data + at, plan.v.data + at
        row.to_x, row.to_v, row.out = to.x.data + at, to.v.data + at, out.data + at
        row.held = coupling.delta_v + (plan.dim + j) * coupling.padded * item
        row.g = own.plan.g.component[j] if planes else <const char*> pattern
        row.factor = coupling.interaction[0].factor.component[j]
        while end > 0:
            row.bytes = min(end, LONG * <Py_ssize_t> sizeof(vec))
            own.plan.along(number, scheme, opens, ends, own.plan, &row, check)
            row.x += row.bytes
            row.v += row.bytes
            row.x0 += row.bytes
            row.v0 += row.bytes
            row.to_x += row.bytes
            row.to_v += row.bytes
            row.out += row.bytes
            row.held += row.bytes
            if planes:
                row.g += LONG * row.each
                row.factor += LONG * row.every
            end -= row.bytes
    return done


cdef inline void take_out(const Array* out, int dim, const Workspace* workspace, vec* to) noexcept nogil:
    """Take the output of a function on a tile, and leave zeros for its next call."""
    cdef Py_ssize_t item = sizeof(vec) // width(to)
    cdef char* place = out.data + workspace.first * out.body
    cdef int j
    move_tile(False, out, dim, workspace.first, workspace.count, to)
    if out.component == item:
        memset(place, 0, workspace.count * out.body)
        return
    for j in range(dim):
        memset(place + j * out.component, 0, workspace.count * item)


cdef inline void hold(
    bint store, const Coupling* coupling, int scheme, const Workspace* workspace, bint kept, int number, bint ends,
    const vec* like,
) noexcept nogil:
    """Copy what a step keeps between passes from a tile to the registers of all bodies, or back."""
    cdef int begin = Y if scheme == RK4 else P
    cdef int end = begin + held(scheme, coupling.own.velocity_dependent)
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef Py_ssize_t bytes_ = (workspace.count + width(like) - 1) // width(like) * <Py_ssize_t> sizeof(vec)
    cdef char* here
    cdef char* there
    cdef int register, j
    if kept and store:
        begin, end = Y + number, Y + (number if ends else number + 1)
    elif kept:
        end = Y + 3 if ends else Y
    for register in range(begin, end):
        for j in range(coupling.own.dim):
            here = workspace.start + (register - P) * size(workspace, like) + j * TILE * item
            there = coupling.workspace + (
                ((2 * STATE + register - P) * coupling.own.dim + j) * coupling.padded + workspace.first
            ) * item
            memcpy(there if store else here, here if store else there, bytes_)
