# Stages of the schemes of integrators/steps.pxd over structure-of-arrays planes, see passes.pxd.

from libc.string cimport memcpy, memset

from ..abi.plan cimport (
    A, COMPOSITION, DAMPING, EXTRA, H, HALF, KICK_DRIFT, MAX_DIM, OPENING, OUT, P, Q, RK4, S, TURNING, V,
    VELOCITY_VERLET, X, Y, Z, Moment, Plan,
)
from ..abi.coupled cimport KEEP, NONE, START, Coupling, Stretch, Workspace
from ..simd.masks cimport positive, select_or_zero
from ..simd.vec cimport vec, width
from .planes cimport aligned, sum_state
from ..integrators.steps cimport damp, evaluations, kick_constants, opening, stage, start, turn
from ..integrators.traits cimport has_history
from ..forces.fields cimport Affine, add_affine, field_vec, locate_affine, values


cdef enum:
    HISTORIC = 5    # maximum number of constants of a scheme after h and h / 2, without those of kicks

cdef enum:          # forces that act beside a single interaction, see `forces_of`
    ANY_FORCES, GRAVITY_ONLY, AFFINE_ONLY, WITH_TERMS


cdef inline Py_ssize_t size(const Workspace* workspace, const vec* like) noexcept nogil:
    """Bytes of a register."""
    return workspace.row * <Py_ssize_t> sizeof(vec) // width(like)


cdef inline bint leaves(const Plan* plan, const Workspace* workspace) noexcept nogil:
    """True if a step of RK4 leaves its initial state in `now`, which then needs no copy."""
    return plan.scheme == RK4 and not plan.turned and workspace.now != workspace.next


cdef inline const void* moving(const Coupling* coupling, const Workspace* workspace) noexcept nogil:
    """Return one number per body of the tile, positive if forces move the body; NULL if forces move all bodies."""
    cdef const Plan* plan = coupling.plan
    if coupling.moves != NULL:
        return coupling.moves     # with pinned bodies, all bodies are one tile, from body 0 on
    return NULL if workspace.full else <const char*> plan.slots.weight + workspace.first * plan.slots.item


cdef inline int forces_of(const Coupling* coupling, const Workspace* workspace) noexcept nogil:
    """Return the loop for a step: ANY_FORCES with a history, with inactive or pinned bodies, or two interactions."""
    cdef const Plan* plan = coupling.plan
    if coupling.interactions != 1 or plan.s.data != NULL or moving(coupling, workspace) != NULL:
        return ANY_FORCES
    return WITH_TERMS if plan.terms > 0 else AFFINE_ONLY if plan.drag or plan.spring else GRAVITY_ONLY


cdef inline bint keeps_forces(const Coupling* coupling, const Workspace* workspace) noexcept nogil:
    """True if RK4 can keep its slopes: one interaction, gravity, no history.

    The registers from Y on then store the output of each evaluation, and the last stage combines these outputs. In
    tiles, interactions write there directly. If all bodies are one tile, their output array is copied there.
    """
    return forces_of(coupling, workspace) == GRAVITY_ONLY and leaves(coupling.plan, workspace)


cdef inline vec pushed(const Coupling* coupling, Py_ssize_t body, const vec* out, Py_ssize_t row, vec a) noexcept nogil:
    """Return a + sum of factor * out over the interactions. factor: 1/m for forces; 0 for immovable bodies."""
    cdef int number
    for number in range(coupling.interactions):
        a = a + field_vec(&coupling.interaction[number].factor, 0, body, out) * out[number * row]
    return a


cdef inline void finish(
    int number, int scheme, const Coupling* coupling, const Workspace* workspace, const vec* state,
) noexcept nogil:
    """Add the interactions to the accelerations of all bodies at a state, and complete the stage."""
    if number == KEEP:
        finish_bodies(ANY_FORCES, KEEP, 0, coupling, workspace, state)
        return
    if number == START:
        finish_bodies(ANY_FORCES, START, scheme, coupling, workspace, state)
        return
    number = max(number, 0)     # compilers then drop the branches for KEEP and START
    if scheme == KICK_DRIFT:
        finish_scheme(number, KICK_DRIFT, coupling, workspace, state)
    elif scheme == RK4:
        finish_scheme(number, RK4, coupling, workspace, state)
    elif scheme == VELOCITY_VERLET:
        finish_scheme(number, VELOCITY_VERLET, coupling, workspace, state)
    elif scheme == COMPOSITION:
        finish_scheme(number, COMPOSITION, coupling, workspace, state)
    else:  # one loop for rare schemes, because each loop is compiled for every instruction set
        finish_bodies(ANY_FORCES, number, scheme, coupling, workspace, state)


cdef inline bint opens_ahead(const Coupling* coupling, const Workspace* workspace) noexcept nogil:
    """True if the last stage may also do the opening of the next step, before the state is checked: after a failure,
    the engine goes back to the state with which the call began, and runs fewer steps."""
    cdef const Plan* plan = coupling.plan
    return (
        coupling.workspace == NULL and coupling.constraints == 0 and coupling.noise == NULL
        and (plan.scheme == COMPOSITION or (plan.scheme == VELOCITY_VERLET and not plan.velocity_dependent))
        and forces_of(coupling, workspace) != ANY_FORCES and not (plan.damped or plan.turned)
    )


cdef inline void finish_scheme(
    int number, int scheme, const Coupling* coupling, const Workspace* workspace, const vec* state,
) noexcept nogil:
    """Choose the loop by the forces beside the interaction."""
    cdef int forces = forces_of(coupling, workspace)
    if scheme == RK4 and keeps_forces(coupling, workspace):
        finish_kept(number, coupling, workspace, state)
    elif scheme == RK4 or forces == ANY_FORCES:
        finish_bodies(ANY_FORCES, number, scheme, coupling, workspace, state)
    elif forces == GRAVITY_ONLY:
        finish_bodies(GRAVITY_ONLY, number, scheme, coupling, workspace, state)
    elif forces == AFFINE_ONLY:
        finish_bodies(AFFINE_ONLY, number, scheme, coupling, workspace, state)
    else:
        finish_bodies(WITH_TERMS, number, scheme, coupling, workspace, state)


cdef inline void finish_kept(
    int number, const Coupling* coupling, const Workspace* workspace, const vec* state,
) noexcept nogil:
    """Finish a stage of RK4 whose slopes are kept (`keeps_forces`)."""
    cdef const Plan* plan = coupling.plan
    cdef Py_ssize_t row = workspace.row // width(state)
    cdef const vec* x0 = <const vec*> workspace.now + X * row
    cdef const vec* v0 = <const vec*> workspace.now + V * row
    cdef vec* x = <vec*> workspace.next + X * row
    cdef vec* v = <vec*> workspace.next + V * row
    cdef const vec* out = <const vec*> workspace.start + (OUT - P) * row
    cdef vec* kept = <vec*> workspace.start + (Y - P) * row
    cdef const vec* k = aligned(plan.prepared, state)
    cdef const char* g
    cdef const char* factor = values(&coupling.interaction[0].factor, 0, workspace.first)
    cdef Py_ssize_t each = plan.g.body * width(state)
    cdef Py_ssize_t every = coupling.interaction[0].factor.body * width(state)
    cdef Py_ssize_t vectors = (workspace.count + width(state) - 1) // width(state)
    cdef Py_ssize_t i
    cdef int j
    if number < 3 and coupling.workspace != NULL:
        memcpy(kept + number * row, out, row * sizeof(vec))
    for j in range(plan.dim):
        i = j * workspace.plane // width(state)
        g = values(&plan.g, j, workspace.first)
        if number == 3 and each == 0 and every == 0:
            end_kept(True, row, vectors, k, g, 0, factor, 0, x0 + i, v0 + i, kept + i, x + i, v + i)
        elif number == 3:
            end_kept(False, row, vectors, k, g, each, factor, every, x0 + i, v0 + i, kept + i, x + i, v + i)
        elif each == 0 and every == 0:
            go_on_kept(
                True, vectors, k[H if number == 2 else HALF], g, 0, factor, 0, x0 + i, v0 + i,
                (v0 if number == 0 else v) + i, kept + number * row + i, x + i, v + i,
            )
        else:
            go_on_kept(
                False, vectors, k[H if number == 2 else HALF], g, each, factor, every, x0 + i, v0 + i,
                (v0 if number == 0 else v) + i, kept + number * row + i, x + i, v + i,
            )


cdef inline void go_on_kept(
    bint same, Py_ssize_t vectors, vec far, const char* g, Py_ssize_t each, const char* factor, Py_ssize_t every,
    const vec* x0, const vec* v0, const vec* speed, const vec* push, vec* x, vec* v,
) noexcept nogil:
    """Advance one component to the state of the next evaluation. same: gravity and masses are uniform."""
    cdef vec here = (<const vec*> g)[0]
    cdef vec share = (<const vec*> factor)[0]
    cdef vec y
    cdef Py_ssize_t i
    for i in range(vectors):
        if not same:
            here = (<const vec*> (g + i * each))[0]
            share = (<const vec*> (factor + i * every))[0]
        y = x0[i] + far * speed[i]
        v[i] = v0[i] + far * (here + share * push[i])
        x[i] = y


cdef inline void end_kept(
    bint same, Py_ssize_t row, Py_ssize_t vectors, const vec* k, const char* g, Py_ssize_t each, const char* factor,
    Py_ssize_t every, const vec* x0, const vec* v0, const vec* kept, vec* x, vec* v,
) noexcept nogil:
    """Advance one component to the end of the step, recomputing the velocities of the stages from kept outputs."""
    cdef vec h = k[H]
    cdef vec half = k[HALF]
    cdef vec sixth = k[EXTRA]
    cdef vec two = k[EXTRA + 1]
    cdef vec here = (<const vec*> g)[0]
    cdef vec share = (<const vec*> factor)[0]
    cdef const vec* second = kept + row
    cdef const vec* third = second + row
    cdef const vec* fourth = third + row
    cdef vec a, b, c, q
    cdef Py_ssize_t i
    for i in range(vectors):
        if not same:
            here = (<const vec*> (g + i * each))[0]
            share = (<const vec*> (factor + i * every))[0]
        a = here + share * kept[i]
        b = here + share * second[i]
        c = here + share * third[i]
        q = v0[i]
        x[i] = x0[i] + sixth * (((q + two * (q + half * a)) + two * (q + half * b)) + (q + h * c))
        v[i] = q + sixth * (((a + two * b) + two * c) + (here + share * fourth[i]))


cdef inline void finish_bodies(
    int forces, int number, int scheme, const Coupling* coupling, const Workspace* workspace, const vec* state,
) noexcept nogil:
    """`finish` in one loop over the bodies; forces: of `forces_of`, a constant that drops branches from the loop."""
    cdef const Plan* plan = coupling.plan
    cdef vec* to = <vec*> workspace.next
    cdef vec* r = <vec*> workspace.start
    cdef const vec* k = aligned(plan.prepared, state)
    cdef vec constants[EXTRA + HISTORIC]
    cdef Py_ssize_t plane = workspace.plane // width(state)
    cdef Py_ssize_t row = workspace.row // width(state)
    cdef Py_ssize_t vectors = (workspace.count + width(state) - 1) // width(state)
    cdef Py_ssize_t i, n
    cdef int j
    cdef vec a, x, v, s, here, share
    cdef vec* x0 = r
    cdef vec* v0 = r + (Q - P) * row
    # The loop reads local copies, because stores may alias the plan's memory. Uniform numbers are loaded once.
    cdef bint usual = forces != ANY_FORCES  # one interaction, no history, no inactive or pinned bodies
    cdef bint compiled = forces == WITH_TERMS if usual else plan.terms > 0
    cdef bint springs = forces != GRAVITY_ONLY and not compiled and plan.spring
    cdef bint drags = forces != GRAVITY_ONLY and not compiled and plan.drag
    cdef bint drag = plan.velocity_dependent
    cdef bint historic = not usual and has_history(scheme) and plan.s.data != NULL
    cdef int count = evaluations(scheme, drag, plan)
    cdef int evaluation = number % count
    cdef const vec* kick = kick_constants(k, max(number, 0) // count)
    cdef int last = plan.stages - 1
    cdef Affine terms
    cdef Py_ssize_t each = plan.g.body * width(state)
    cdef bint single = usual or coupling.interactions == 1
    cdef const char* factor = NULL
    cdef Py_ssize_t every = 0
    if single:
        factor = values(&coupling.interaction[0].factor, 0, workspace.first)
        every = coupling.interaction[0].factor.body * width(state)
        share = (<const vec*> factor)[0]
    for n in range(EXTRA + (2 if usual else HISTORIC)):
        constants[n] = k[n]
    if leaves(plan, workspace):
        x0, v0 = <vec*> workspace.now + X * row, <vec*> workspace.now + V * row
    # The last stage of velocity Verlet does not change positions.
    cdef bint opens = (
        (usual and scheme == VELOCITY_VERLET or scheme == COMPOSITION) and workspace.opens and number == last
    )
    cdef bint moves = opens or not (usual and scheme == VELOCITY_VERLET) or (drag and number == 0)
    cdef const vec* weight = NULL if usual else <const vec*> moving(coupling, workspace)
    for j in range(plan.dim):
        locate_affine(plan, j, workspace.first, &terms, state)
        here = (<const vec*> terms.g)[0]
        for n in range(vectors):
            i = j * plane + n
            v = state[V * row + i]
            x = state[X * row + i] if moves or forces == AFFINE_ONLY else v     # v: unused
            if compiled:
                a = r[(A - P) * row + i]
            else:
                if each != 0:
                    here = (<const vec*> (terms.g + n * each))[0]
                a = here
            a = add_affine(drags, springs, &terms, n, x, v, a)
            if single:
                if every != 0:
                    share = (<const vec*> (factor + n * every))[0]
                a = a + share * r[(OUT - P) * row + i]
            else:
                a = pushed(coupling, workspace.first + n * width(state), r + (OUT - P) * row + i, row, a)
            # Pinned bodies and inactive slots have a = 0, although functions may write forces on them.
            if not usual and weight != NULL:
                a = select_or_zero(positive(weight[n]), a)
            if not usual and number == KEEP:
                r[i] = a
                continue
            s = state[S * row + i] if historic else x
            if not usual and number == START:
                start(scheme, plan.taylor_start, constants, a, &x, &v, &s)
            else:
                stage(
                    scheme, drag, evaluation, evaluation == count - 1, constants, kick, k, k, k, k, a, &x, &v, &s,
                    &x0[i], &v0[i], &r[(Y - P) * row + i], &r[(Z - P) * row + i],
                )
            if opens:
                opening(
                    VELOCITY_VERLET if scheme == VELOCITY_VERLET else COMPOSITION, constants, &x, &v, NULL, &x0[i],
                    NULL,
                )
            if moves:
                to[X * row + i] = x
            to[V * row + i] = v
            if historic:
                to[S * row + i] = s


cdef inline void along(
    int number, bint opens, bint ends, const Plan* plan, const Stretch* row, vec* check,
) noexcept nogil:
    """Do a stage of the most used schemes on a stretch, like `finish`; if the step ends, add its state to `check`."""
    cdef const vec* k = aligned(plan.prepared, check)
    cdef const vec* v = <const vec*> row.v
    cdef vec* kept = <vec*> row.held
    cdef Py_ssize_t size = row.row // <Py_ssize_t> sizeof(vec)
    cdef Py_ssize_t vectors = row.bytes // <Py_ssize_t> sizeof(vec)
    if plan.scheme == KICK_DRIFT:
        along_stage(KICK_DRIFT, False, number, opens, plan, k, row)
    elif plan.scheme == COMPOSITION and plan.velocity_dependent:
        along_stage(COMPOSITION, True, number, opens, plan, k, row)
    elif plan.scheme == COMPOSITION:
        along_stage(COMPOSITION, False, number, opens, plan, k, row)
    elif plan.scheme == VELOCITY_VERLET and plan.velocity_dependent:
        along_stage(VELOCITY_VERLET, True, number, opens, plan, k, row)
    elif plan.scheme == VELOCITY_VERLET:
        along_stage(VELOCITY_VERLET, False, number, opens, plan, k, row)
    else:
        memcpy(kept + number * size, row.out, row.bytes)
        memset(row.out, 0, row.bytes)
        if number == 3:
            end_kept(
                False, size, vectors, k, row.g, row.each, row.factor, row.every, <const vec*> row.x0,
                <const vec*> row.v0, kept, <vec*> row.to_x, <vec*> row.to_v,
            )
        else:
            go_on_kept(
                False, vectors, k[H if number == 2 else HALF], row.g, row.each, row.factor, row.every,
                <const vec*> row.x0, <const vec*> row.v0, v, kept + number * size, <vec*> row.to_x, <vec*> row.to_v,
            )
    if ends:
        check[0] = check[0] + sum_state(
            1, vectors * width(check), vectors, <const vec*> row.to_x, <const vec*> row.to_v
        )


cdef inline void along_stage(
    int scheme, bint drag, int number, bint opens, const Plan* plan, const vec* k, const Stretch* row,
) noexcept nogil:
    cdef const vec* from_x = <const vec*> row.x
    cdef const vec* from_v = <const vec*> row.v
    cdef vec* to_x = <vec*> row.to_x
    cdef vec* to_v = <vec*> row.to_v
    cdef vec* out = <vec*> row.out
    cdef vec* held = <vec*> row.held    # register p of velocity Verlet, or q of compositions
    cdef int count = evaluations(scheme, drag, plan)
    cdef int evaluation = max(number, 0) % count
    cdef const vec* kick = kick_constants(k, max(number, 0) // count)
    cdef bint begins = number == KEEP or (drag and evaluation == 0)     # `held` has no value yet
    cdef bint holds = scheme == VELOCITY_VERLET or (scheme == COMPOSITION and drag)
    cdef bint changes_v = scheme != COMPOSITION or number != NONE or to_v != from_v
    cdef vec constants[EXTRA + 1]
    cdef vec kicks[4]
    cdef vec x, v, a, p
    cdef Py_ssize_t i
    for i in range(EXTRA + 1):
        constants[i] = k[i]
    for i in range(4 if scheme == COMPOSITION else 0):
        kicks[i] = kick[i]
    memset(&p, 0, sizeof(vec))
    for i in range(row.bytes // <Py_ssize_t> sizeof(vec)):
        x = from_x[i]
        v = from_v[i]
        if holds and not begins:
            p = held[i]
        if number != NONE:
            a = (<const vec*> (row.g + i * row.each))[0] + (<const vec*> (row.factor + i * row.every))[0] * out[i]
            memset(&out[i], 0, sizeof(vec))
            if number == KEEP:
                p = a
            else:
                stage(
                    scheme, drag, evaluation, evaluation == count - 1, constants, kicks, k, k, k, k, a, &x, &v, NULL,
                    &p, &p, NULL, NULL,
                )
            if holds:
                held[i] = p
        if opens:
            opening(scheme, constants, &x, &v, NULL, &p, NULL)
        to_x[i] = x
        if changes_v:
            to_v[i] = v


cdef inline void between(
    Moment moment, int scheme, const Plan* plan, const Workspace* workspace, const vec* state, const vec* at_rest,
    const vec* delta_v,
) noexcept nogil:
    """Do the part of a step that `moment` names: opening, rotation or damping.

    at_rest: velocity of a body at rest as a share of `delta_v`, which is not damped; or NULL.
    """
    cdef vec* to = <vec*> workspace.next
    cdef vec* r = <vec*> workspace.start
    cdef const vec* k = aligned(plan.prepared, state)
    cdef Py_ssize_t plane = workspace.plane // width(state)
    cdef Py_ssize_t row = workspace.row // width(state)
    cdef bint historic = plan.s.data != NULL
    cdef Py_ssize_t i, n
    cdef int j
    cdef vec x, v, s, still
    if moment == TURNING:
        turn_bodies(scheme, plan, workspace, state, to)
        return
    if moment == OPENING and scheme == VELOCITY_VERLET:
        open_bodies(VELOCITY_VERLET, plan.dim, k, workspace, state, to, r)
        return
    if moment == OPENING and scheme == COMPOSITION:
        open_bodies(COMPOSITION, plan.dim, k, workspace, state, to, r)
        return
    for j in range(plan.dim):
        for n in range((workspace.count + width(state) - 1) // width(state)):
            i = j * plane + n
            x = state[X * row + i]
            v = state[V * row + i]
            s = state[S * row + i] if historic else x
            if moment == DAMPING and at_rest != NULL:
                still = at_rest[n] * delta_v[i]
                v = v - still
                damp(scheme, field_vec(&plan.decay, j, workspace.first + n * width(state), state), &x, &v, &s)
                v = v + still
            elif moment == DAMPING:
                damp(scheme, field_vec(&plan.decay, j, workspace.first + n * width(state), state), &x, &v, &s)
            else:
                opening(scheme, k, &x, &v, &s, &r[i], &r[(Q - P) * row + i])
            to[X * row + i] = x
            to[V * row + i] = v
            if historic:
                to[S * row + i] = s


cdef inline void open_bodies(
    int scheme, int dim, const vec* k, const Workspace* workspace, const vec* state, vec* to, vec* r,
) noexcept nogil:
    """Begin a step of the most used schemes; p of velocity Verlet is in `r`."""
    cdef Py_ssize_t plane = workspace.plane // width(state)
    cdef Py_ssize_t row = workspace.row // width(state)
    cdef vec constants[EXTRA + 1]
    cdef vec x, v
    cdef Py_ssize_t i, n
    cdef int j
    for n in range(EXTRA + 1):
        constants[n] = k[n]
    for j in range(dim):
        for n in range((workspace.count + width(state) - 1) // width(state)):
            i = j * plane + n
            x = state[X * row + i]
            v = state[V * row + i]
            opening(scheme, constants, &x, &v, NULL, &r[i], NULL)
            to[X * row + i] = x
            to[V * row + i] = v


cdef inline void turn_bodies(
    int scheme, const Plan* plan, const Workspace* workspace, const vec* state, vec* to,
) noexcept nogil:
    """Rotate velocities by half a step, from one state to another."""
    # `turn` is the same for all schemes without a history: KICK_DRIFT stands for them.
    if plan.dim == 2 and plan.s.data == NULL:
        turn_in(2, False, KICK_DRIFT, plan, workspace, state, to)
    elif plan.dim == 3 and plan.s.data == NULL:
        turn_in(3, False, KICK_DRIFT, plan, workspace, state, to)
    else:
        turn_in(plan.dim, plan.s.data != NULL, scheme, plan, workspace, state, to)


cdef inline void turn_in(
    int dim, bint historic, int scheme, const Plan* plan, const Workspace* workspace, const vec* state, vec* to,
) noexcept nogil:
    """`turn_bodies`, specialised by `dim`, `historic` and `scheme`; uniform angles are loaded once."""
    cdef Py_ssize_t plane = workspace.plane // width(to)
    cdef Py_ssize_t row = workspace.row // width(to)
    cdef bint moves = historic or to != state      # False: `to` has the positions already
    cdef bint same = plan.turn.body == 0 and plan.turn_share.body == 0
    cdef vec x[MAX_DIM]
    cdef vec v[MAX_DIM]
    cdef vec s[MAX_DIM]
    cdef vec t[3]
    cdef vec share
    cdef Py_ssize_t n, body
    cdef int j
    for n in range((workspace.count + width(to) - 1) // width(to)):
        if n == 0 or not same:
            body = workspace.first + n * width(to)
            share = field_vec(&plan.turn_share, 0, body, to)
            for j in range(3):
                t[j] = field_vec(&plan.turn, j, body, to)
        for j in range(dim):
            x[j] = state[(X if moves else V) * row + j * plane + n]
            v[j] = state[V * row + j * plane + n]
            s[j] = state[S * row + j * plane + n] if historic else x[j]
        turn(scheme, dim, t, share, x, v, s)
        for j in range(dim):
            if moves:
                to[X * row + j * plane + n] = x[j]
            to[V * row + j * plane + n] = v[j]
            if historic:
                to[S * row + j * plane + n] = s[j]
