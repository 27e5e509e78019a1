# The loops over a loaded tile: its bodies go through all steps of the call while they are in the first-level cache, or
# in registers.

from libc.string cimport memset

from ..abi.constants cimport EXTRA, PER_KICK
from ..abi.registers cimport P, Q, S, V, X, Y, Z
from ..simd.vec cimport alone, f32alone, f32vec, f64vec, vec, width
from ..abi.plan cimport (
    AXIS, COMPOSITION, IMPLICIT_EULER, KICK_DRIFT, MAX_DIM, ORIGIN, POINT_GRAVITY, QUADRATIC_DRAG, RK4, SQUARE,
    STRENGTH, TILE, VELOCITY_VERLET, VORTEX, Field, Job, Newton, Plan, Row, Term, TermKind,
)
from ..integrators.steps cimport damp, has_opening, opening, rotate, stage, stages, turn
from ..forces.fields cimport accelerate, accelerate_tile, add_term, field_vec
from ..integrators.traits cimport fsal

cdef enum:
    MOST_ABREAST = 3        # vectors that go through all steps side by side, in 32 registers
    TWICE = 2               # evaluations in a kick of leapfrog that depends on velocity
    ANY = -1                # kind of term: whatever there is
    HELD = 3 * MAX_DIM + 2  # what the only term and constant accelerations are made of
    SLOW_TO_STORE = 64      # bytes: AVX-512's vectors go to the caches in two parts on many processors


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
    """Half a step of turning. What has a history is not stepped in planes."""
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


cdef inline bint moves_on(int scheme, bint drag) noexcept nogil:
    """May a step of a tile leave the state where it is, and write the next one elsewhere?

    It costs nothing where the first stage reads each number just before it writes it. Walls want to know both states.
    """
    return scheme == KICK_DRIFT or (scheme == VELOCITY_VERLET and drag)


cdef inline void step_planes(
    int scheme, const Plan* plan, const Job* job, const vec* k, Py_ssize_t first, Py_ssize_t count, Py_ssize_t source,
    vec* r,
) noexcept nogil:
    """Step a loaded tile through the job: each stage passes over it twice, for accelerations and what becomes of them.

    None of these schemes has a history: the accelerations are where it would be.
    """
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t vectors = (count + width(r) - 1) // width(r)
    cdef const vec* state = r + source if moves_on(scheme, False) else r
    # The accelerations of both places are in one, so that fewer places share the fastest cache.
    cdef vec* a = r + min(source, 0) + S * row if moves_on(scheme, False) else r + S * row
    cdef int number, j
    cdef Py_ssize_t _step, i
    cdef vec x, v
    if fsal(scheme, False):
        plan.accelerate(plan, first, count, TILE, r + X * row, r + V * row, r + P * row)
    for _step in range(job.steps):
        if plan.turned:
            turn_tile(plan, first, count, r)
        if has_opening(scheme, False):
            for j in range(plan.dim):
                for i in range(j * plane, j * plane + vectors):
                    opening(
                        scheme, k, &r[X * row + i], &r[V * row + i], &r[S * row + i], &r[P * row + i], &r[Q * row + i],
                    )
        for number in range(stages(scheme, False, plan)):
            plan.accelerate(plan, first, count, TILE, state + X * row, state + V * row, a)
            for j in range(plan.dim):
                for i in range(j * plane, j * plane + vectors):
                    x, v = state[X * row + i], state[V * row + i]
                    stage(
                        scheme, False, number, 1, k, k, k, k, k, a[i], &x, &v,
                        NULL, &r[P * row + i], &r[Q * row + i], &r[Y * row + i], &r[Z * row + i],
                    )
                    r[X * row + i] = x
                    r[V * row + i] = v
            state = r
        if plan.turned:
            turn_tile(plan, first, count, r)
        if plan.damped:
            damp_planes(plan, first, vectors, r)


cdef inline bint alone_in(TermKind kind, const Plan* plan) noexcept nogil:
    """Does one term of this kind, the same for all, do all that is done to the bodies of a tile?"""
    return (
        plan.terms == 1 and plan.term[0].kind == kind and not plan.drag and not plan.spring
        and not plan.turned and not plan.damped and plan.g.body == 0 and plan.term[0].field[STRENGTH].body == 0
        and plan.term[0].field[SQUARE].body == 0 and plan.term[0].field[ORIGIN].body == 0
    )


cdef inline void hold(int components, Field* field, vec* here) noexcept nogil:
    """Take a coefficient that is the same for all bodies into vectors that compilers may keep in registers."""
    cdef int j
    for j in range(components):
        here[j] = field_vec(field, j, 0, here)
        field.component[j] = <const char*> (here + j)


cdef inline void hold_term(
    int kind, int dim, const Plan* plan, Field* g, Term* term, vec* here,
) noexcept nogil:
    """Take what the only term and constant accelerations are made of into HELD vectors."""
    g[0] = plan.g
    term[0] = plan.term[0]
    hold(dim, g, here)
    hold(dim, &term.field[ORIGIN], here + MAX_DIM)
    hold(1, &term.field[STRENGTH], here + 3 * MAX_DIM)
    if kind != QUADRATIC_DRAG:
        hold(1, &term.field[SQUARE], here + 3 * MAX_DIM + 1)
    if kind == VORTEX and dim == 3:
        hold(3, &term.field[AXIS], here + 2 * MAX_DIM)


cdef inline void step_vectors(
    int scheme, int dim, int kind, const Plan* plan, const Job* job, const vec* k, Py_ssize_t first,
    Py_ssize_t count, Py_ssize_t source, vec* r,
) noexcept nogil:
    """The same in one pass for each stage. kind: what the bodies are `alone_in`, or ANY.

    A vector is accelerated before the one ahead of it is stepped: roots and quotients do not wait then.
    """
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t row = MAX_DIM * plane
    cdef Py_ssize_t vectors = (count + width(r) - 1) // width(r)
    cdef bint drag = kind == QUADRATIC_DRAG     # the other schemes that are here do not ask
    cdef Field g
    cdef Term term
    cdef vec held[HELD]
    cdef vec constants[EXTRA + 2]
    cdef const vec* c = k if scheme == COMPOSITION else constants
    cdef const vec* state = r + source if moves_on(scheme, drag) else r
    cdef int number, j
    cdef Py_ssize_t _step, n, i
    cdef vec x[MAX_DIM]
    cdef vec v[MAX_DIM]
    cdef vec p[MAX_DIM]
    cdef vec a[MAX_DIM]
    cdef vec next_x[MAX_DIM]
    cdef vec next_v[MAX_DIM]
    cdef vec next_p[MAX_DIM]
    cdef vec next_a[MAX_DIM]
    cdef vec* kept
    if kind != ANY:
        hold_term(kind, dim, plan, &g, &term, held)
    for j in range(EXTRA + 2):
        constants[j] = k[j]
    if fsal(scheme, drag):
        plan.accelerate(plan, first, count, TILE, r + X * row, r + V * row, r + P * row)
    for _step in range(job.steps):
        if kind == ANY and plan.turned:
            turn_tile(plan, first, count, r)
        for number in range(stages(scheme, drag, plan)):
            for n in range(-1, vectors):
                if n + 1 < vectors:
                    for j in range(dim):
                        i = j * plane + n + 1
                        next_x[j] = state[X * row + i]
                        next_v[j] = state[V * row + i]
                        if fsal(scheme, drag):
                            next_p[j] = r[P * row + i]
                        if has_opening(scheme, drag) and number == 0:
                            opening(scheme, c, &next_x[j], &next_v[j], NULL, &next_p[j], NULL)
                    if kind == ANY:
                        accelerate(plan, dim, first + (n + 1) * width(r), next_x, next_v, next_a)
                    else:
                        pull(dim, <TermKind> kind, &g, &term, next_x, next_v, next_a)
                if n >= 0:
                    for j in range(dim):
                        i = j * plane + n
                        if kind != ANY and kind != QUADRATIC_DRAG and not has_opening(scheme, drag):
                            v[j] = state[V * row + i]
                        kept = &p[j] if fsal(scheme, drag) else &r[P * row + i]
                        stage(
                            scheme, drag, number, 1, c, c, c, c, c, a[j], &x[j], &v[j],
                            NULL, kept, &r[Q * row + i], &r[Y * row + i], &r[Z * row + i],
                        )
                        r[X * row + i] = x[j]
                        r[V * row + i] = v[j]
                        if fsal(scheme, drag):
                            r[P * row + i] = p[j]
                for j in range(dim):
                    x[j], v[j], p[j], a[j] = next_x[j], next_v[j], next_p[j], next_a[j]
            state = r
        if kind == ANY and plan.turned:
            turn_tile(plan, first, count, r)
        if kind == ANY and plan.damped:
            damp_planes(plan, first, vectors, r)


cdef inline void step_abreast(
    int scheme, int dim, TermKind kind, const Plan* plan, const Job* job, const vec* k, Py_ssize_t count, vec* r,
) noexcept nogil:
    """RK4, or leapfrog, of bodies `alone_in` such a term: a few vectors at once go through all steps in registers.

    While the roots and quotients of one are under way, the others have work.
    """
    cdef int few = MOST_ABREAST if sizeof(vec) == SLOW_TO_STORE and scheme == COMPOSITION else 2
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t vectors = (count + width(r) - 1) // width(r)
    cdef vec* place = r + X * MAX_DIM * plane
    cdef vec* speed = r + V * MAX_DIM * plane
    cdef vec* before = r + Q * MAX_DIM * plane
    cdef Field g
    cdef Term term
    cdef vec held[HELD]
    cdef vec constants[EXTRA + 2 + PER_KICK]
    cdef vec x[MOST_ABREAST * MAX_DIM]
    cdef vec v[MOST_ABREAST * MAX_DIM]
    cdef Py_ssize_t _step, n, at
    cdef int i, j
    hold_term(kind, dim, plan, &g, &term, held)
    for j in range(EXTRA + 2 if scheme == RK4 else EXTRA + 2 + PER_KICK):
        constants[j] = k[j]
    n = 0
    while n < vectors:
        for i in range(few):
            at = min(n + i, vectors - 1)    # the last one again, where there are no others
            for j in range(dim):
                x[i * dim + j], v[i * dim + j] = place[j * plane + at], speed[j * plane + at]
                if scheme == RK4 and job.steps == 1:  # for walls, which look for it where `stage` keeps it
                    before[j * plane + at] = speed[j * plane + at]
        for _step in range(job.steps):
            step_one(scheme, dim, kind, constants, &g, &term, x, v)
            step_one(scheme, dim, kind, constants, &g, &term, x + dim, v + dim)
            if few == MOST_ABREAST:
                step_one(scheme, dim, kind, constants, &g, &term, x + 2 * dim, v + 2 * dim)
        for i in range(few):
            at = min(n + i, vectors - 1)
            for j in range(dim):
                place[j * plane + at], speed[j * plane + at] = x[i * dim + j], v[i * dim + j]
        n += few


cdef inline void step_one(
    int scheme, int dim, TermKind kind, const vec* k, const Field* g, const Term* term, vec* x, vec* v,
) noexcept nogil:
    """One step of a vector. Its stages are written out: compilers do not unroll what is so long."""
    cdef vec p[MAX_DIM]
    cdef vec q[MAX_DIM]
    cdef vec y[MAX_DIM]
    cdef vec z[MAX_DIM]
    cdef int j
    if scheme == COMPOSITION:
        for j in range(dim):
            opening(scheme, k, &x[j], &v[j], NULL, NULL, NULL)
    evaluate(scheme, 0, dim, kind, k, g, term, x, v, p, q, y, z)
    evaluate(scheme, 1, dim, kind, k, g, term, x, v, p, q, y, z)
    if scheme == RK4:
        evaluate(scheme, 2, dim, kind, k, g, term, x, v, p, q, y, z)
        evaluate(scheme, 3, dim, kind, k, g, term, x, v, p, q, y, z)


cdef inline void evaluate(
    int scheme, int number, int dim, TermKind kind, const vec* k, const Field* g, const Term* term,
    vec* x, vec* v, vec* p, vec* q, vec* y, vec* z,
) noexcept nogil:
    cdef bint drag = kind == QUADRATIC_DRAG
    cdef vec a[MAX_DIM]
    cdef int j
    pull(dim, kind, g, term, x, v, a)
    for j in range(dim):
        stage(scheme, drag, number, TWICE, k, k, k, k, k, a[j], &x[j], &v[j], NULL, &p[j], &q[j], &y[j], &z[j])


cdef inline void pull(
    int dim, TermKind kind, const Field* g, const Term* term, const vec* x, const vec* v, vec* a,
) noexcept nogil:
    cdef int j
    for j in range(dim):
        a[j] = field_vec(g, j, 0, a)
    add_term(kind, dim, term, 0, v if kind == QUADRATIC_DRAG else x, a)


cdef inline bint charges(const Plan* plan) noexcept nogil:
    """Is a turn all that is done to bodies beside constant accelerations, as to charges in uniform fields?"""
    return (
        (plan.scheme == KICK_DRIFT or plan.scheme == VELOCITY_VERLET) and plan.dim == MAX_DIM and plan.turned
        and not (plan.terms > 0 or plan.drag or plan.spring or plan.damped)
    )


cdef inline void kick_two(
    int scheme, const Plan* plan, const vec* k, Py_ssize_t first, vec* x, vec* v,
) noexcept nogil:
    cdef vec g, p
    cdef int i, j
    for i in range(2):
        for j in range(MAX_DIM):
            g = p = field_vec(&plan.g, j, first + i * width(x), x)
            if has_opening(scheme, False):
                opening(scheme, k, &x[i * MAX_DIM + j], &v[i * MAX_DIM + j], NULL, &p, NULL)
            stage(
                scheme, False, 0, 1, k, k, k, k, k, g, &x[i * MAX_DIM + j], &v[i * MAX_DIM + j], NULL, &p, NULL, NULL,
                NULL,
            )


cdef inline void step_two(const Plan* plan, const vec* k, Py_ssize_t first, vec* x, vec* v) noexcept nogil:
    """One step of two vectors of them."""
    cdef vec t[2 * MAX_DIM]
    cdef vec s[2]
    cdef Py_ssize_t body
    cdef int i, j
    for i in range(2):
        body = first + i * width(x)
        s[i] = field_vec(&plan.turn_share, 0, body, x)
        for j in range(MAX_DIM):
            t[i * MAX_DIM + j] = field_vec(&plan.turn, j, body, x)
    rotate(2, MAX_DIM, t, s, v)
    if plan.scheme == KICK_DRIFT:
        kick_two(KICK_DRIFT, plan, k, first, x, v)
    else:
        kick_two(VELOCITY_VERLET, plan, k, first, x, v)
    rotate(2, MAX_DIM, t, s, v)


cdef inline void step_charges(
    const Plan* plan, const Job* job, const vec* k, Py_ssize_t first, Py_ssize_t count, vec* r,
) noexcept nogil:
    """`step_planes` for them, in one pass for each step. A plane is a whole number of two vectors."""
    cdef Py_ssize_t plane = TILE // width(r)
    cdef vec* place = r + X * MAX_DIM * plane
    cdef vec* speed = r + V * MAX_DIM * plane
    cdef vec x[2 * MAX_DIM]
    cdef vec v[2 * MAX_DIM]
    cdef Py_ssize_t _step, n
    cdef int i, j
    for _step in range(job.steps):
        n = 0
        while n * width(r) < count:
            for i in range(2):
                for j in range(MAX_DIM):
                    x[i * MAX_DIM + j], v[i * MAX_DIM + j] = place[j * plane + n + i], speed[j * plane + n + i]
            step_two(plan, k, first + n * width(r), x, v)
            for i in range(2):
                for j in range(MAX_DIM):
                    place[j * plane + n + i], speed[j * plane + n + i] = x[i * MAX_DIM + j], v[i * MAX_DIM + j]
            n += 2


cdef inline void step_tile(
    int scheme, int dim, const Plan* plan, const Job* job, const vec* k, Py_ssize_t first, Py_ssize_t count,
    Py_ssize_t source, vec* r,
) noexcept nogil:
    """Step a loaded tile, by loops over vectors where they are the faster ones and not too much code."""
    if sizeof(vec) == SLOW_TO_STORE and alone_in(POINT_GRAVITY, plan):
        step_lone(scheme, dim, POINT_GRAVITY, plan, job, k, first, count, source, r)
    elif sizeof(vec) == SLOW_TO_STORE and alone_in(VORTEX, plan):
        step_lone(scheme, dim, VORTEX, plan, job, k, first, count, source, r)
    elif (
        (sizeof(vec) == SLOW_TO_STORE or scheme == VELOCITY_VERLET or scheme == COMPOSITION)
        and alone_in(QUADRATIC_DRAG, plan)
    ):
        step_lone(scheme, dim, QUADRATIC_DRAG, plan, job, k, first, count, source, r)
    elif sizeof(vec) == SLOW_TO_STORE and (scheme == KICK_DRIFT or scheme == RK4):
        step_vectors(scheme, dim, ANY, plan, job, k, first, count, source, r)
    else:
        step_planes(scheme, plan, job, k, first, count, source, r)


cdef inline void step_lone(
    int scheme, int dim, TermKind kind, const Plan* plan, const Job* job, const vec* k, Py_ssize_t first,
    Py_ssize_t count, Py_ssize_t source, vec* r,
) noexcept nogil:
    if scheme == RK4 or (scheme == COMPOSITION and kind == QUADRATIC_DRAG):
        step_abreast(scheme, dim, kind, plan, job, k, count, r)
    else:
        step_vectors(scheme, dim, kind, plan, job, k, first, count, source, r)


cdef inline void step_alone(
    int scheme, const Plan* plan, const Job* job, const void* k, const Row* row, Py_ssize_t count, alone r,
) noexcept nogil:
    """Here compilers may assume that no store changes a coefficient."""
    cdef Py_ssize_t first = row.first
    cdef Py_ssize_t source = row.source // <Py_ssize_t> sizeof(r[0])    # in vectors
    if alone is f32alone:
        if plan.dim == 3:
            step_tile(scheme, 3, plan, job, <const f32vec*> k, first, count, source, <f32vec*> r)
        else:
            step_tile(scheme, 2, plan, job, <const f32vec*> k, first, count, source, <f32vec*> r)
    else:
        if plan.dim == 3:
            step_tile(scheme, 3, plan, job, <const f64vec*> k, first, count, source, <f64vec*> r)
        else:
            step_tile(scheme, 2, plan, job, <const f64vec*> k, first, count, source, <f64vec*> r)


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
    """The same for the schemes that look at all components of a body, up to the step that cannot be solved."""
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
            # The earliest step that fails is reported, and the first body that fails in it.
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
    """Is there one loop for all that a stage does to a vector? It is fast, but much code for each scheme."""
    return scheme == KICK_DRIFT or scheme == VELOCITY_VERLET or scheme == RK4 or scheme == COMPOSITION
