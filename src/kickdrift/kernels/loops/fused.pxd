# Loops over a tile in the first-level cache: all steps of the call, with each stage fused into one pass.

from libc.string cimport memset

from ..abi.constants cimport EXTRA, PER_KICK
from ..abi.kinds cimport POINT_GRAVITY, QUADRATIC_DRAG, TermKind, of_velocity
from ..abi.registers cimport P, Q, S, V, X, Y, Z
from ..simd.vec cimport alone, f32alone, f32vec, f64vec, filled, vec, width
from ..abi.plan cimport (
    COMPOSITION, IMPLICIT_EULER, KICK_DRIFT, MAX_DIM, RK4, TILE, VELOCITY_VERLET, Field, Job, Newton, Plan, Row, Term,
)
from ..integrators.steps cimport damp, evaluations, has_opening, kick_constants, kicks, opening, stage, turn
from ..forces.fields cimport (
    TERM_VECTORS, Affine, accelerate_tile, add_affine, add_term, field_vec, load_each, load_term, locate_affine,
    per_body, values,
)
from ..integrators.traits cimport fsal, repeats_place, splits_on_drag

cdef enum:
    NO_TERM = -1            # no term after affine forces

# Accelerations to which the last term is added.
ctypedef struct Base:
    Field field
    bint drags, springs     # affine forces to be added first
    Affine affine[MAX_DIM]


cdef inline void damp_planes(const Plan* plan, Py_ssize_t first, Py_ssize_t vectors, vec* r) noexcept nogil:
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t i, n
    cdef int j
    for j in range(plan.dim):
        for n in range(vectors):
            i = j * plane + n
            damp(
                plan.scheme, field_vec(&plan.decay, j, first + n * width(r), r),
                &r[X * row + i], &r[V * row + i], &r[S * row + i],
            )


cdef inline void turn_planes(const Plan* plan, int dim, Py_ssize_t first, Py_ssize_t vectors, vec* r) noexcept nogil:
    """Rotate velocities by half a step. Schemes with a history are not stepped in planes."""
    cdef Py_ssize_t plane = TILE // width(r)
    cdef vec* speed = r + V * MAX_DIM * plane
    cdef vec t[3]
    cdef vec v[MAX_DIM]
    cdef Py_ssize_t n
    cdef int j
    for n in range(vectors):
        for j in range(3):
            t[j] = field_vec(&plan.turn, j, first + n * width(r), r)
        for j in range(dim):
            v[j] = speed[j * plane + n]
        turn(KICK_DRIFT, dim, t, field_vec(&plan.turn_share, 0, first + n * width(r), r), NULL, v, NULL)
        for j in range(dim):
            speed[j * plane + n] = v[j]


cdef inline void turn_tile(const Plan* plan, Py_ssize_t first, Py_ssize_t count, vec* r) noexcept nogil:
    if plan.dim == 3:
        turn_planes(plan, 3, first, (count + width(r) - 1) // width(r), r)
    else:
        turn_planes(plan, 2, first, (count + width(r) - 1) // width(r), r)


cdef inline void open_tile(
    int scheme, bint drag, const Plan* plan, const vec* k, Py_ssize_t vectors, vec* r,
) noexcept nogil:
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t i
    cdef int j
    for j in range(plan.dim):
        for i in range(j * plane, j * plane + vectors):
            opening(scheme, k, &r[X * row + i], &r[V * row + i], NULL, &r[P * row + i], NULL)


cdef inline void finish_stage(
    int scheme, bint drag, int kind, bint each, int dim, int number, bint ends, bint opens, bint kept,
    const Term* term, const Base* base, const vec* k, const vec* kick, Py_ssize_t first, Py_ssize_t vectors, vec* r,
) noexcept nogil:
    """Complete a stage with the accelerations `base` and the last term. each: `per_body`; opens: do the opening, too.

    One pass for all: latencies of roots and quotients overlap with the next vector. kept: register Z has the
    accelerations by the term, which depends on position and was evaluated here before.
    """
    cdef bint keeps = drag and splits_on_drag(scheme) and not of_velocity(kind)
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Field there = base.field       # local copies, which no store can alias
    cdef Affine affine[MAX_DIM]
    cdef bint drags = base.drags
    cdef bint springs = base.springs
    cdef Term here
    cdef vec constants[EXTRA + 2]
    cdef vec of_kick[PER_KICK]
    cdef vec c[TERM_VECTORS]
    cdef vec x[MAX_DIM]
    cdef vec v[MAX_DIM]
    cdef vec p[MAX_DIM]
    cdef vec a[MAX_DIM]
    cdef vec b[MAX_DIM]
    cdef vec none = filled(-0.0, r)
    cdef Py_ssize_t n, i
    cdef int j
    for j in range(EXTRA + 2):
        constants[j] = k[j]
    if scheme == COMPOSITION:
        for j in range(PER_KICK):
            of_kick[j] = kick[j]
    if drags or springs:
        for j in range(dim):
            affine[j] = base.affine[j]
    if kind != NO_TERM:
        here = term[0]
        load_term(<TermKind> kind, dim, term, first, c)
    for n in range(vectors):
        for j in range(dim):
            i = j * plane + n
            x[j], v[j] = r[X * row + i], r[V * row + i]
            if fsal(scheme, drag):
                p[j] = r[P * row + i]
            if opens:
                opening(scheme, constants, &x[j], &v[j], NULL, &p[j], NULL)
            a[j] = field_vec(&there, j, n * width(r), r)
        if drags or springs:
            for j in range(dim):
                a[j] = add_affine(drags, springs, &affine[j], n, x[j], v[j], a[j])
        if kind != NO_TERM:
            if each:
                load_each(<TermKind> kind, dim, &here, first + n * width(r), c)
            if keeps:
                for j in range(dim):
                    b[j] = r[Z * row + j * plane + n] if kept else none     # none + b is b, whatever its sign
                if not kept:
                    add_term(<TermKind> kind, dim, c, x, b)
                for j in range(dim):
                    r[Z * row + j * plane + n] = b[j]
                    a[j] = a[j] + b[j]
            else:
                add_term(<TermKind> kind, dim, c, &v[0] if of_velocity(kind) else &x[0], a)
        for j in range(dim):
            i = j * plane + n
            stage(
                scheme, drag, number, ends, constants, of_kick, NULL, NULL, NULL, NULL, a[j], &x[j], &v[j], NULL,
                &p[j] if fsal(scheme, drag) else &r[P * row + i], &r[Q * row + i], &r[Y * row + i], &r[Z * row + i],
            )
            r[X * row + i] = x[j]
            r[V * row + i] = v[j]
            if fsal(scheme, drag):
                r[P * row + i] = p[j]


cdef inline void finish_known(
    int scheme, bint drag, int kind, bint each, int dim, int number, bint ends, bint opens, bint kept,
    const Term* term, const Base* base, const vec* k, const vec* kick, Py_ssize_t first, Py_ssize_t vectors, vec* r,
) noexcept nogil:
    """`finish_stage`, specialised by the kind of term. Tried: vortices, too; 1.1 to 1.5 times, 60 kB a module."""
    if kind == NO_TERM:
        finish_stage(
            scheme, drag, NO_TERM, False, dim, number, ends, opens, kept, term, base, k, kick, first, vectors, r,
        )
    elif kind == POINT_GRAVITY:
        finish_stage(
            scheme, drag, POINT_GRAVITY, each, dim, number, ends, opens, kept, term, base, k, kick, first, vectors, r,
        )
    elif kind == QUADRATIC_DRAG:
        finish_stage(
            scheme, drag, QUADRATIC_DRAG, each, dim, number, ends, opens, kept, term, base, k, kick, first, vectors, r,
        )
    else:
        finish_stage(
            scheme, drag, kind, each, dim, number, ends, opens, kept, term, base, k, kick, first, vectors, r,
        )


cdef inline void step_planes(
    int scheme, bint drag, int dim, const Plan* plan, const Job* job, const vec* k, Py_ssize_t first,
    Py_ssize_t count, vec* r,
) noexcept nogil:
    """Step a loaded tile through the job. Each term but the last has a pass of its own in each stage.

    These schemes have no history, so that accelerations use its register. Evaluations where the one before was use its
    accelerations, as far as they depend on position.
    """
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t vectors = (count + width(r) - 1) // width(r)
    cdef vec* a = r + S * row
    cdef int before = max(plan.terms - 1, 0)    # terms with a pass of their own
    cdef bint once = before == 0    # one pass does all
    cdef bint moves = not plan.drag     # True if the other passes depend on position alone
    cdef const Term* term = &plan.term[before]
    cdef int kind = term.kind if plan.terms > 0 else NO_TERM
    cdef bint each = plan.terms > 0 and per_body(term)
    cdef int each_kick = evaluations(scheme, drag, plan)
    cdef bint begins
    cdef Base base
    cdef int kick, number, j
    cdef Py_ssize_t _step
    for j in range(before):
        moves = moves and not of_velocity(plan.term[j].kind)
    base.drags, base.springs = once and plan.drag, once and plan.spring
    base.field.body = plan.g.body if once else <Py_ssize_t> sizeof(vec) // width(r)
    for j in range(dim):
        base.field.component[j] = values(&plan.g, j, first) if once else <const char*> (a + j * plane)
        locate_affine(plan, j, first, &base.affine[j], k)
    if fsal(scheme, drag) and not job.recalled:
        plan.accelerate(plan, plan.terms, first, count, TILE, r + X * row, r + V * row, r + P * row)
    for _step in range(job.steps):
        if plan.turned:
            turn_tile(plan, first, count, r)
        if has_opening(scheme, drag) and not once:
            open_tile(scheme, drag, plan, k, vectors, r)
        for kick in range(kicks(scheme, plan)):
            for number in range(each_kick):
                begins = _step == 0 and number == 0 and kick == 0
                if not once and not (moves and repeats_place(scheme, drag, number) and not begins):
                    plan.accelerate(plan, before, first, count, TILE, r + X * row, r + V * row, a)
                finish_known(
                    scheme, drag, kind, each, dim, number, number == each_kick - 1,
                    has_opening(scheme, drag) and once and number == 0 and kick == 0,
                    repeats_place(scheme, drag, number) and (job.recalled or not begins), term, &base, k,
                    kick_constants(k, kick), first, vectors, r,
                )
        if plan.turned:
            turn_tile(plan, first, count, r)
        if plan.damped:
            damp_planes(plan, first, vectors, r)
        if job.measure != NULL:
            job.measure(plan, first, count, TILE, r + X * row, job.extent)


cdef inline void step_tile(
    int scheme, int dim, const Plan* plan, const Job* job, const vec* k, Py_ssize_t first, Py_ssize_t count,
    vec* r,
) noexcept nogil:
    """Step a loaded tile; velocity-dependent forces need another loop in some schemes."""
    if splits_on_drag(scheme) and plan.velocity_dependent:
        step_planes(scheme, splits_on_drag(scheme), dim, plan, job, k, first, count, r)
    else:
        step_planes(scheme, False, dim, plan, job, k, first, count, r)


cdef inline void step_alone(
    int scheme, const Plan* plan, const Job* job, const void* k, const Row* row, Py_ssize_t count, alone r,
) noexcept nogil:
    """`r` is a restrict pointer: no store changes a coefficient."""
    cdef Py_ssize_t first = row.first
    if alone is f32alone:
        if plan.dim == 3:
            step_tile(scheme, 3, plan, job, <const f32vec*> k, first, count, <f32vec*> r)
        else:
            step_tile(scheme, 2, plan, job, <const f32vec*> k, first, count, <f32vec*> r)
    else:
        if plan.dim == 3:
            step_tile(scheme, 3, plan, job, <const f64vec*> k, first, count, <f64vec*> r)
        else:
            step_tile(scheme, 2, plan, job, <const f64vec*> k, first, count, <f64vec*> r)


cdef inline void accelerate_planes(
    const Plan* plan, int terms, Py_ssize_t first, Py_ssize_t count, Py_ssize_t stride, const vec* x, const vec* v,
    vec* a,
) noexcept nogil:
    if plan.dim == 3:
        accelerate_tile(plan, 3, terms, first, count, stride, x, v, a)
    elif plan.dim == 2:
        accelerate_tile(plan, 2, terms, first, count, stride, x, v, a)
    else:
        accelerate_tile(plan, 1, terms, first, count, stride, x, v, a)


cdef inline void solve_planes(const Plan* plan, Job* job, Py_ssize_t first, Py_ssize_t count, vec* r) noexcept nogil:
    """Step a tile by an implicit scheme, up to the first step that is not solved."""
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    cdef vec* x = r + X * row
    cdef vec* v = r + V * row
    cdef Py_ssize_t step, body
    cdef bint solved
    cdef Newton newton
    memset(&newton, 0, sizeof(Newton))
    for step in range(job.steps):
        if plan.turned:
            turn_tile(plan, first, count, r)
        solved = plan.solve(plan, first, count, x, v, &newton)
        if not solved:
            # Report the earliest failed step, and the first body that failed in it.
            if step < job.failed_step:
                job.failed_step = step
                job.failed_body = newton.body
                job.residual = newton.residual
            break
        if plan.turned:
            turn_tile(plan, first, count, r)
        if plan.damped:
            damp_planes(plan, first, (count + width(r) - 1) // width(r), r)
    if plan.scheme == IMPLICIT_EULER:
        for body in range(count):
            job.evaluations = max(job.evaluations, newton.evaluations[body])


cdef inline bint fused(int scheme) noexcept nogil:
    """True if the scheme has a fused loop, which is fast but takes much code for each scheme."""
    return scheme == KICK_DRIFT or scheme == VELOCITY_VERLET or scheme == RK4 or scheme == COMPOSITION
