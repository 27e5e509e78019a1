# Loops over a tile in the first-level cache: all steps of the call, each in one pass over the tile.

from libc.string cimport memset

from ..abi.plan cimport (
    COMPOSITION, EXTRA, IMPLICIT_EULER, KICK_DRIFT, MAX_DIM, P, RK4, S, TILE, V, VELOCITY_VERLET, X, Z, Job, Newton,
    Plan, Row, Term,
)
from ..abi.kinds cimport QUADRATIC_DRAG
from ..simd.vec cimport alone, f32alone, f32vec, f64vec, vec, width
from ..integrators.steps cimport damp, evaluations, has_opening, kick_constants, kicks, opening, stage, turn
from ..forces.fields cimport (
    AFFINE_VECTORS, FIRST_TERMS, TERM_VECTORS, Affine, accelerate_tile, add_affine, add_loaded, add_only, add_terms,
    field_vec, load_affine, load_each, load_term, load_terms, locate_affine,
)
from ..integrators.traits cimport fsal, repeats_place, splits_on_drag

cdef enum:
    MANY = -2           # `kind` for any terms, beside the kinds of terms that have a loop of their own: see step_kind


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


cdef inline void complete_stage(
    int scheme, bint drag, int kind, int dim, int number, bint ends, bint kept, const Plan* plan, bint drags,
    bint springs, bint uniform, const Affine* affine, const vec* f, const vec* constants, const vec* kick,
    Py_ssize_t n, Py_ssize_t body, vec* c, vec* held, vec* x, vec* v, vec* p, vec* q, vec* y, vec* z,
) noexcept nogil:
    """Evaluate the forces on vector n of a tile and do stage `number`; compilers keep the arrays in registers."""
    cdef bint keeps = drag and splits_on_drag(scheme)  # True: some evaluations repeat the positions of the previous one
    cdef Py_ssize_t g_step = plan.g.body * width(x)
    cdef vec a[MAX_DIM]
    cdef int j
    for j in range(dim):
        if uniform:
            a[j] = add_loaded(drags, springs, f, j, x[j], v[j])
        else:
            a[j] = (<const vec*> (affine[j].g + n * g_step))[0]
            a[j] = add_affine(drags, springs, &affine[j], n, x[j], v[j], a[j])
    if kind >= 0:
        add_only(kind, keeps, kept, dim, c, x, v, a, held)
    else:
        add_terms(keeps, kept, dim, plan, body, c, x, v, a, held)
    for j in range(dim):
        stage(
            scheme, drag, number, ends, constants, kick, NULL, NULL, NULL, NULL, a[j], &x[j], &v[j], NULL, &p[j], &q[j],
            &y[j], &z[j],
        )


cdef inline void step_vectors(
    int scheme, bint drag, int kind, int dim, bint uniform, bint recalled, const Plan* plan, const vec* k,
    Py_ssize_t first, Py_ssize_t vectors, vec* r,
) noexcept nogil:
    """Make one step of a tile: all of its stages, with all forces, for one vector of bodies after another.

    Square roots and divisions of one vector overlap with the next. kind: kind of the only term, or MANY;
    uniform: True if the coefficients of affine forces are the same for all bodies, and can stay in registers;
    recalled: True if the tile has the accelerations of the last evaluation, which was at the present positions.
    """
    cdef bint carries = repeats_place(scheme, drag, 0)  # store the last accelerations of a step for the next one
    cdef int each_kick = evaluations(scheme, drag, plan)
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef bint drags = plan.drag         # local copies, which no store can alias
    cdef bint springs = plan.spring
    cdef int held_terms = 1 if kind >= 0 else min(plan.terms, FIRST_TERMS)
    cdef Affine affine[MAX_DIM]
    cdef vec f[AFFINE_VECTORS]
    cdef Term term
    cdef bint each = kind >= 0 and plan.term.per_body
    cdef vec constants[EXTRA + 2]
    cdef vec c[FIRST_TERMS * TERM_VECTORS]
    cdef vec x[MAX_DIM]
    cdef vec v[MAX_DIM]
    cdef vec p[MAX_DIM]
    cdef vec q[MAX_DIM]
    cdef vec y[MAX_DIM]
    cdef vec z[MAX_DIM]
    cdef vec held[FIRST_TERMS * MAX_DIM]
    cdef Py_ssize_t n, body
    cdef int kick, number, j
    for j in range(EXTRA + 2):
        constants[j] = k[j]
    if uniform:
        load_affine(dim, plan, first, f)
    else:
        for j in range(dim):
            locate_affine(plan, j, first, &affine[j], r)
    if kind >= 0:
        term = plan.term[0]
        load_term(dim, &term, first, c)
    else:
        load_terms(dim, plan, first, c)
    for n in range(vectors):
        body = first + n * width(r)
        for j in range(dim):
            x[j], v[j] = r[X * row + j * plane + n], r[V * row + j * plane + n]
            if fsal(scheme, drag):
                p[j] = r[P * row + j * plane + n]
        if each:
            load_each(dim, &term, body, c)
        if carries and recalled:
            load_held(dim, held_terms, plane, n, r, held)
        if has_opening(scheme, drag):
            for j in range(dim):
                opening(scheme, constants, &x[j], &v[j], NULL, &p[j], NULL)
        for kick in range(kicks(scheme, plan)):
            if kind != MANY:    # the first stage is not in the loop, so that its number is a compile-time constant
                complete_stage(
                    scheme, drag, kind, dim, 0, each_kick == 1, carries and recalled, plan, drags, springs, uniform,
                    affine, f, constants, kick_constants(k, kick), n, body, c, held, x, v, p, q, y, z,
                )
            for number in range(0 if kind == MANY else 1, each_kick):
                complete_stage(
                    scheme, drag, kind, dim, number, number == each_kick - 1,
                    repeats_place(scheme, drag, number) and (number > 0 or recalled), plan, drags, springs, uniform,
                    affine, f, constants, kick_constants(k, kick), n, body, c, held, x, v, p, q, y, z,
                )
        for j in range(dim):
            r[X * row + j * plane + n], r[V * row + j * plane + n] = x[j], v[j]
            if fsal(scheme, drag):
                r[P * row + j * plane + n] = p[j]
        if carries:
            store_held(dim, held_terms, plane, n, r, held)


cdef inline void load_held(int dim, int terms, Py_ssize_t plane, Py_ssize_t n, const vec* r, vec* held) noexcept nogil:
    """Load the accelerations by the first terms, which the last step stored in registers of the tile."""
    cdef int i, j
    for i in range(terms):
        for j in range(dim):
            held[i * MAX_DIM + j] = r[((Z - i) * MAX_DIM + j) * plane + n]


cdef inline void store_held(int dim, int terms, Py_ssize_t plane, Py_ssize_t n, vec* r, const vec* held) noexcept nogil:
    cdef int i, j
    for i in range(terms):
        for j in range(dim):
            r[((Z - i) * MAX_DIM + j) * plane + n] = held[i * MAX_DIM + j]


cdef inline void step_kind(
    int scheme, bint drag, int dim, bint uniform, bint recalled, const Plan* plan, const vec* k, Py_ssize_t first,
    Py_ssize_t vectors, vec* r,
) noexcept nogil:
    """`step_vectors`, specialised for quadratic drag alone, whose coefficients stay in registers, but not beside
    gravity, linear drag or springs of each body (RK4 has no functions for uniform ones alone).

    That makes projectiles in two dimensions 1.5 to 2.2 times as fast. Tried and dropped: the same for PointGravity,
    0.9 to 1.4 times as fast, and for Vortex, 1.1 to 1.5 times.
    """
    if (uniform or scheme == RK4) and plan.terms == 1 and plan.term.kind == QUADRATIC_DRAG:
        step_vectors(scheme, drag, QUADRATIC_DRAG, dim, uniform, recalled, plan, k, first, vectors, r)
    else:
        step_vectors(scheme, drag, MANY, dim, uniform, recalled, plan, k, first, vectors, r)


cdef inline void step_planes(
    int scheme, bint drag, int dim, bint uniform, const Plan* plan, const Job* job, const vec* k, Py_ssize_t first,
    Py_ssize_t count, vec* r,
) noexcept nogil:
    """Step a loaded tile through the job."""
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    cdef Py_ssize_t vectors = (count + width(r) - 1) // width(r)
    cdef Py_ssize_t step
    if fsal(scheme, drag) and not job.recalled:
        plan.accelerate(plan, first, count, TILE, r + X * row, r + V * row, r + P * row)
    for step in range(job.steps):
        if plan.turned:
            turn_tile(plan, first, count, r)
        step_kind(scheme, drag, dim, uniform, step > 0 or job.recalled, plan, k, first, vectors, r)
        if plan.turned:
            turn_tile(plan, first, count, r)
        if plan.damped:
            damp_planes(plan, first, vectors, r)
        if job.measure != NULL:
            job.measure(plan, first, count, TILE, r + X * row, job.extent)


cdef inline void step_tile(
    int scheme, int dim, bint uniform, const Plan* plan, const Job* job, const vec* k, Py_ssize_t first,
    Py_ssize_t count, vec* r,
) noexcept nogil:
    """Step a loaded tile; velocity-dependent forces need another loop in some schemes."""
    if splits_on_drag(scheme) and plan.velocity_dependent:
        step_planes(scheme, splits_on_drag(scheme), dim, uniform, plan, job, k, first, count, r)
    else:
        step_planes(scheme, False, dim, uniform, plan, job, k, first, count, r)


cdef inline void step_alone(
    int scheme, int dim, bint uniform, const Plan* plan, const Job* job, const void* k, const Row* row,
    Py_ssize_t count, alone r,
) noexcept nogil:
    """`step_tile` with a restrict pointer `r`: compilers know that stores to the tile change no coefficient."""
    if alone is f32alone:
        step_tile(scheme, dim, uniform, plan, job, <const f32vec*> k, row.first, count, <f32vec*> r)
    else:
        step_tile(scheme, dim, uniform, plan, job, <const f64vec*> k, row.first, count, <f64vec*> r)


cdef inline void accelerate_planes(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, Py_ssize_t stride, const vec* x, const vec* v, vec* a,
) noexcept nogil:
    if plan.dim == 3:
        accelerate_tile(plan, 3, first, count, stride, x, v, a)
    elif plan.dim == 2:
        accelerate_tile(plan, 2, first, count, stride, x, v, a)
    else:
        accelerate_tile(plan, 1, first, count, stride, x, v, a)


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
