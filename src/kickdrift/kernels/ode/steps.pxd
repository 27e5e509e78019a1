# One step of y' = f(t, y): the schemes of kickdrift/reference/ode.py.
#
# Stages of explicit schemes are the same code for a few vectors in registers and for whole arrays. Implicit Euler
# couples the components of a trajectory and uses scalar arithmetic. Small integers are variables: as literals they
# would turn float expressions into double ones.

from libc.float cimport DBL_EPSILON, DBL_MIN, FLT_EPSILON, FLT_MIN
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..abi.ode cimport CONSTANTS, FAILED, MAX_PARAMETERS, ODE_ROWS, OPEN, SOLVED, ZERO, Newton, ODEPlan, Tableau
from ..simd.masks cimport all_zero
from ..simd.vec cimport filled, real, vec, width
from ..abi.plan cimport DOPRI8, EXPLICIT_EULER, HEUN, MAX_DIM, MIDPOINT, RK4, TILE, Job
from ..forces.fields cimport largest, magnitude
from .flows cimport derivatives, rate
from ..loops.planes cimport aligned, move_tile


cdef enum:      # constants of the schemes: h, h/2, h/6, 2
    H
    H_2
    H_6
    TWICE


# The explicit schemes.

cdef inline int stages(int scheme) noexcept nogil:
    return 12 if scheme == DOPRI8 else 4 if scheme == RK4 else 1 if scheme == EXPLICIT_EULER else 2


cdef enum:      # what a stage does with the running sum of slopes
    NOTHING
    BEGIN_SUM
    ADD_TWICE
    USE_SUM         # use the sum instead of the slope


cdef inline int share(int scheme, int which) noexcept nogil:
    """Index of the constant that multiplies the slope of stage `which`."""
    if which == 0:
        return H if scheme == EXPLICIT_EULER or scheme == HEUN else H_2
    if scheme == RK4:
        return H_2 if which == 1 else H if which == 2 else H_6
    return H if scheme == MIDPOINT else H_2


cdef inline int keeping(int scheme, int which) noexcept nogil:
    if scheme == EXPLICIT_EULER or scheme == MIDPOINT:
        return NOTHING
    if which == 0:
        return BEGIN_SUM
    return ADD_TWICE if scheme == RK4 and which < 3 else USE_SUM


cdef inline void stage(int keep, vec far, vec two, vec k, vec y, vec* u, vec* s) noexcept nogil:
    """Advance y to the next stage (or step) along k = f(u), the slope; s: running sum of slopes."""
    if keep == BEGIN_SUM:
        s[0] = k
    elif keep == ADD_TWICE:
        s[0] = s[0] + two * k
    u[0] = y + far * (s[0] + k if keep == USE_SUM else k)


cdef inline void stage_of_all(
    int keep, vec far, vec two, Py_ssize_t vectors, const vec* k, const vec* y, vec* u, vec* s,
) noexcept nogil:
    """`stage` for many vectors, specialised by `keep`."""
    cdef Py_ssize_t i
    if keep == NOTHING:
        for i in range(vectors):
            stage(NOTHING, far, two, k[i], y[i], &u[i], &s[i])
    elif keep == BEGIN_SUM:
        for i in range(vectors):
            stage(BEGIN_SUM, far, two, k[i], y[i], &u[i], &s[i])
    elif keep == ADD_TWICE:
        for i in range(vectors):
            stage(ADD_TWICE, far, two, k[i], y[i], &u[i], &s[i])
    else:
        for i in range(vectors):
            stage(USE_SUM, far, two, k[i], y[i], &u[i], &s[i])


cdef inline void set_step(double step, const real* like, vec* h) noexcept nogil:
    """Set the constants of the schemes; `like` only selects the dtype."""
    cdef real two = 2
    cdef real six = 6
    h[H] = filled(<real> step, h)
    h[H_2] = filled(<real> step / two, h)
    h[H_6] = filled(<real> step / six, h)
    h[TWICE] = filled(two, h)


cdef inline void set_weights(const Tableau* table, vec* w) noexcept nogil:
    cdef int i
    for i in range(table.start[table.stages]):
        w[i] = filled(table.weight[i], w)


cdef inline void combine(
    const Tableau* table, int which, const vec* h, const vec* w, Py_ssize_t vectors, const vec* slopes,
    Py_ssize_t apart, const vec* y, vec* u,
) noexcept nogil:
    """u = state after stage `which`, from all slopes so far; apart: vectors from one slope to the next."""
    cdef int start = table.start[which]
    cdef Py_ssize_t i
    cdef int m
    for i in range(vectors):
        u[i] = w[start] * slopes[table.slope[start] * apart + i]
    for m in range(start + 1, table.start[which + 1]):
        for i in range(vectors):
            u[i] = u[i] + w[m] * slopes[table.slope[m] * apart + i]
    for i in range(vectors):
        u[i] = y[i] + h[H] * u[i]


cdef inline void set_constants(const ODEPlan* plan, vec* c) noexcept nogil:
    """Set the parameters of the flow and its literal constants."""
    cdef Py_ssize_t i
    for i in range(MAX_PARAMETERS):
        c[i] = filled(plan.parameters[i], c)
    for i in range(ZERO, CONSTANTS):
        c[i] = filled(i - ZERO, c)


cdef inline void sweep_tableau(
    const Tableau* table, int which, const vec* h, Py_ssize_t vectors, const vec* k, const vec* y, vec* u, vec* s,
) noexcept nogil:
    """`combine` for many vectors, four at a time. s has all slopes; k, the latest, is first copied there if needed."""
    cdef Py_ssize_t lines = 64 // sizeof(vec)
    cdef Py_ssize_t apart = (vectors + lines - 1) // lines * lines
    cdef int start = table.start[which]
    cdef int end = table.start[which + 1]
    cdef Py_ssize_t i = 0
    cdef const vec* slope
    cdef vec w, a, b, c, d
    cdef int m
    if k != s + which * apart:
        memcpy(s + which * apart, k, vectors * sizeof(vec))
    while i + 4 <= vectors:
        w = filled(table.weight[start], u)
        slope = s + table.slope[start] * apart + i
        a, b, c, d = w * slope[0], w * slope[1], w * slope[2], w * slope[3]
        for m in range(start + 1, end):
            w = filled(table.weight[m], u)
            slope = s + table.slope[m] * apart + i
            a = a + w * slope[0]
            b = b + w * slope[1]
            c = c + w * slope[2]
            d = d + w * slope[3]
        u[i] = y[i] + h[H] * a
        u[i + 1] = y[i + 1] + h[H] * b
        u[i + 2] = y[i + 2] + h[H] * c
        u[i + 3] = y[i + 3] + h[H] * d
        i += 4
    while i < vectors:
        a = filled(table.weight[start], u) * s[table.slope[start] * apart + i]
        for m in range(start + 1, end):
            a = a + filled(table.weight[m], u) * s[table.slope[m] * apart + i]
        u[i] = y[i] + h[H] * a
        i += 1


cdef inline void sweep(
    const ODEPlan* plan, int which, const vec* h, Py_ssize_t count, const vec* k, const vec* y, vec* u, vec* s,
) noexcept nogil:
    """Do stage `which` of an explicit scheme, whose slope is k, for all `count` numbers of a state."""
    cdef Py_ssize_t vectors = (count + width(u) - 1) // width(u)
    cdef int scheme = plan.scheme
    if scheme == DOPRI8:
        sweep_tableau(&plan.tableau, which, h, vectors, k, y, u, s)
    else:
        stage_of_all(keeping(scheme, which), h[share(scheme, which)], h[TWICE], vectors, k, y, u, s)


cdef inline bint finite(Py_ssize_t count, const vec* y) noexcept nogil:
    """True if all numbers of whole vectors are finite: y - y is 0 only then."""
    cdef vec check[1]
    cdef Py_ssize_t i
    check[0] = y[0] - y[0]
    for i in range((count + width(y) - 1) // width(y)):
        check[0] = check[0] + (y[i] - y[i])
    return all_zero(check[0])


cdef inline Py_ssize_t first_bad(
    Py_ssize_t n, Py_ssize_t dim, const real* y, Py_ssize_t row, Py_ssize_t column,
) noexcept nogil:
    """First trajectory that is not finite, or -1; row, column: strides in numbers."""
    cdef Py_ssize_t i, j
    for i in range(n):
        for j in range(dim):
            if y[i * row + j * column] - y[i * row + j * column] != 0:
                return i
    return -1


# Implicit Euler: the parts of a Newton iteration around the evaluation of the Jacobian, which may be a user's function.

cdef inline bint close_enough(
    Py_ssize_t dim, real h, real tolerance, const real* u, const real* y, const real* k, real slope, real residual,
) noexcept nogil:
    """True if the residual is below the tolerance, or below the rounding errors of its terms."""
    cdef real four = 4
    cdef real epsilon, smallest, scale, noise
    if real is float:
        epsilon = FLT_EPSILON
        smallest = FLT_MIN / FLT_EPSILON
    else:
        epsilon = DBL_EPSILON
        smallest = DBL_MIN / DBL_EPSILON
    scale = largest(<int> dim, u) + largest(<int> dim, y) + magnitude(h) * largest(<int> dim, k)
    noise = scale + magnitude(h) * slope * largest(<int> dim, u)
    return residual <= tolerance * scale + four * epsilon * noise + smallest


cdef inline bint eliminate(Py_ssize_t dim, real h, real* m, real* r) noexcept nogil:
    """Replace r by (1 - h m)⁻¹ r, by Gaussian elimination in place; return False if singular."""
    cdef real one = 1
    cdef real t
    cdef Py_ssize_t i, j, row, pivot
    for i in range(dim * dim):
        m[i] = -h * m[i]
    for i in range(dim):
        m[i * dim + i] = one + m[i * dim + i]
    for i in range(dim):
        pivot = i
        for row in range(i + 1, dim):
            if magnitude(m[row * dim + i]) > magnitude(m[pivot * dim + i]):
                pivot = row
        if m[pivot * dim + i] == 0:
            return False
        if pivot != i:
            for j in range(dim):
                t = m[i * dim + j]
                m[i * dim + j] = m[pivot * dim + j]
                m[pivot * dim + j] = t
            t = r[i]
            r[i] = r[pivot]
            r[pivot] = t
        for row in range(i + 1, dim):
            t = m[row * dim + i] / m[i * dim + i]
            for j in range(i + 1, dim):
                m[row * dim + j] = m[row * dim + j] - t * m[i * dim + j]
            r[row] = r[row] - t * r[i]
    for row in range(dim - 1, -1, -1):
        for j in range(row + 1, dim):
            r[row] = r[row] - m[row * dim + j] * r[j]
        r[row] = r[row] / m[row * dim + row]
    return True


cdef inline Py_ssize_t check(Newton* newton, int iteration, bint last, const real* like) noexcept nogil:
    """Compute the residuals and mark solved trajectories; return the number of open ones."""
    cdef Py_ssize_t dim = newton.dim
    cdef Py_ssize_t i, j, still = 0
    cdef real h = <real> newton.h
    cdef real tolerance = <real> newton.tolerance
    cdef real residual
    cdef const real* u
    cdef const real* y
    cdef const real* k
    cdef real* r
    for i in range(newton.n):
        if newton.status[i] != OPEN:
            continue
        newton.work[i] += 1
        u = <const real*> newton.u + i * dim
        y = <const real*> newton.y + i * dim
        k = <const real*> newton.k + i * dim
        r = <real*> newton.residual + i * dim
        for j in range(dim):
            r[j] = u[j] - y[j] - h * k[j]
        residual = largest(<int> dim, r)
        if residual == 0 or (
            iteration > 0 and close_enough(dim, h, tolerance, u, y, k, (<real*> newton.slope)[i], residual)
        ):
            newton.status[i] = SOLVED
        elif last:
            give_up(newton, i, residual)
        else:
            still += 1
    return still


cdef inline void correct(Newton* newton, const real* like) noexcept nogil:
    """Make a Newton step for each open trajectory."""
    cdef Py_ssize_t dim = newton.dim
    cdef Py_ssize_t i, j
    cdef real h = <real> newton.h
    cdef real residual
    cdef real* u
    cdef real* r
    cdef real* m
    for i in range(newton.n):
        if newton.status[i] != OPEN:
            continue
        u = <real*> newton.u + i * dim
        r = <real*> newton.residual + i * dim
        m = <real*> newton.jacobian + i * dim * dim
        (<real*> newton.slope)[i] = largest(<int> (dim * dim), m)
        residual = largest(<int> dim, r)
        if not eliminate(dim, h, m, r):
            give_up(newton, i, residual)
            continue
        for j in range(dim):
            u[j] = u[j] - r[j]


cdef inline void give_up(Newton* newton, Py_ssize_t i, double residual) noexcept nogil:
    newton.status[i] = FAILED
    if newton.failed < 0 or i < newton.failed:
        newton.failed = i
        newton.failed_residual = residual


cdef inline void increments(Newton* newton, Py_ssize_t column, double share, double floor, real* moved) noexcept nogil:
    """moved = u with component `column` increased, for difference quotients."""
    cdef Py_ssize_t dim = newton.dim
    cdef Py_ssize_t i, j
    cdef real size, other, smallest
    cdef real one = 1
    cdef const real* u
    if real is float:
        smallest = FLT_MIN / FLT_EPSILON
    else:
        smallest = DBL_MIN / DBL_EPSILON
    for i in range(newton.n):
        u = <const real*> newton.u + i * dim
        for j in range(dim):
            moved[i * dim + j] = u[j]
        size = magnitude(u[column])
        other = magnitude((<const real*> newton.y)[i * dim + column])
        if other > size:
            size = other
        other = <real> floor * largest(<int> dim, u)
        if other > size:
            size = other
        if size < smallest:
            size = largest(<int> dim, <const real*> newton.k + i * dim)
        if size < smallest:
            size = one
        moved[i * dim + column] = u[column] + <real> share * size


cdef inline void quotients(Newton* newton, Py_ssize_t column, const real* moved, const real* k) noexcept nogil:
    """Store column `column` of the Jacobian, from the right-hand side k at `moved`."""
    cdef Py_ssize_t dim = newton.dim
    cdef Py_ssize_t i, j
    cdef real step
    for i in range(newton.n):
        step = moved[i * dim + column] - (<const real*> newton.u)[i * dim + column]
        for j in range(dim):
            (<real*> newton.jacobian)[(i * dim + j) * dim + column] = (
                k[i * dim + j] - (<const real*> newton.k)[i * dim + j]
            ) / step


# Implicit Euler of built-in flows.


# Right-hand sides and Jacobians are evaluated in vectors of trajectories (planes: structure of arrays), the rest for
# one trajectory at a time (rows: array of structures).

cdef inline void to_rows(Py_ssize_t count, Py_ssize_t columns, const real* planes, real* rows) noexcept nogil:
    cdef Py_ssize_t i, j
    for j in range(columns):
        for i in range(count):
            rows[i * columns + j] = planes[j * TILE + i]


cdef inline void to_planes(Py_ssize_t count, Py_ssize_t columns, const real* rows, real* planes) noexcept nogil:
    cdef Py_ssize_t i, j
    for j in range(columns):
        for i in range(count):
            planes[j * TILE + i] = rows[i * columns + j]


cdef inline void evaluate(
    const ODEPlan* plan, bint derive, Py_ssize_t count, const vec* c, const vec* planes, vec* results,
) noexcept nogil:
    """Evaluate the right-hand side of a tile, or its Jacobian."""
    cdef vec y[MAX_DIM]
    cdef vec k[MAX_DIM * MAX_DIM]
    cdef Py_ssize_t plane = TILE // width(planes)
    cdef Py_ssize_t i = 0
    cdef int j
    while i * width(planes) < count:
        for j in range(plan.dim):
            y[j] = planes[j * plane + i]
        if derive:
            derivatives(plan.flow, c, &y[0], &k[0])
        else:
            rate(plan.flow, c, &y[0], &k[0])
        for j in range(plan.dim * plan.dim if derive else plan.dim):
            results[j * plane + i] = k[j]
        i += 1


cdef inline void implicit_tile(
    const ODEPlan* plan, Job* job, Py_ssize_t first, Py_ssize_t count, const vec* c, real* planes, const vec* wide,
) noexcept nogil:
    """Step a tile through the job, up to the first step that is not solved."""
    cdef real u[MAX_DIM * TILE]
    cdef real y[MAX_DIM * TILE]
    cdef real k[MAX_DIM * TILE]
    cdef real r[MAX_DIM * TILE]
    cdef real m[MAX_DIM * MAX_DIM * TILE]
    cdef real slope[TILE]
    cdef real results[MAX_DIM * MAX_DIM * TILE]
    cdef char status[TILE]
    cdef int64_t work[TILE]
    cdef Newton newton
    cdef Py_ssize_t step, i
    cdef Py_ssize_t size = count * plan.dim * sizeof(real)
    cdef int iteration
    newton.n, newton.dim, newton.h, newton.tolerance = count, plan.dim, plan.h, plan.tolerance
    newton.u, newton.y, newton.k, newton.residual = <char*> u, <char*> y, <char*> k, <char*> r
    newton.jacobian, newton.slope, newton.status, newton.work = <char*> m, <char*> slope, status, work
    newton.failed = -1
    memset(work, 0, sizeof(work))
    to_rows(count, plan.dim, planes, &u[0])
    for step in range(job.steps):
        memcpy(y, u, size)
        memset(status, 0, sizeof(status))
        memset(slope, 0, sizeof(slope))
        for iteration in range(plan.iterations + 1):
            to_planes(count, plan.dim, &u[0], planes)
            evaluate(plan, False, count, c, <const vec*> planes, <vec*> results)
            to_rows(count, plan.dim, &results[0], &k[0])
            if check(&newton, iteration, iteration == plan.iterations, planes) == 0:
                break
            evaluate(plan, True, count, c, <const vec*> planes, <vec*> results)
            to_rows(count, plan.dim * plan.dim, &results[0], &m[0])
            correct(&newton, planes)
        if newton.failed >= 0:
            # Report the earliest failed step, and the first trajectory that failed in it.
            if step < job.failed_step:
                job.failed_step = step
                job.failed_body = first + newton.failed
                job.residual = newton.failed_residual
            break
    to_planes(count, plan.dim, &u[0], planes)
    for i in range(count):
        job.evaluations = max(job.evaluations, work[i])


cdef inline void solve(const ODEPlan* plan, Job* job, const real* like, const vec* wide) noexcept nogil:
    """Step trajectories job.first to job.last by implicit Euler."""
    cdef vec c[CONSTANTS]
    cdef double buffer[MAX_DIM * TILE + 8]
    cdef vec* planes = aligned(<char*> buffer, wide)
    cdef Py_ssize_t count, bad, first = job.first
    set_constants(plan, c)
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    while first < job.last:
        count = min(<Py_ssize_t> ODE_ROWS, job.last - first)
        if count < ODE_ROWS:
            memset(&buffer[0], 0, sizeof(buffer))
        move_tile(False, &plan.y, plan.dim, first, count, planes)
        implicit_tile(plan, job, first, count, c, <real*> planes, wide)
        move_tile(True, &plan.y, plan.dim, first, count, planes)
        bad = first_bad(count, plan.dim, <real*> planes, 1, TILE)
        if bad >= 0 and job.bad_body < 0:
            job.bad_body = first + bad
        first += ODE_ROWS
