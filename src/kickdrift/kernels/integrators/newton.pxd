# Schemes that couple the components of a body: implicit and energy-conserving Euler.
#
# Accelerations are evaluated for the whole tile, in vectors. The rest is done body by body in the scalar arithmetic of
# kickdrift/reference/integrators.py. Small integers are variables of type real: as literals they would turn float
# expressions into double ones.

from libc.float cimport DBL_EPSILON, DBL_MIN, FLT_EPSILON, FLT_MIN

from ..simd.vec cimport real
from ..abi.plan cimport MAX_DIM, TILE, Newton, Plan
from ..forces.fields cimport dot, largest, magnitude, potential_difference, root, term_jacobian, value


cdef inline void gather(int dim, const real* planes, Py_ssize_t i, real* u) noexcept nogil:
    cdef int j
    for j in range(dim):
        u[j] = planes[j * TILE + i]


cdef inline bint implicit_step(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, real* x, real* v, Newton* state,
) noexcept nogil:
    """Solve f(u) = u - v - h a(x + h u, u) = 0 for each body. If any body fails, return False and change no state."""
    cdef real h = <real> plan.h
    cdef real tolerance = <real> plan.tolerance
    cdef real four = 4
    cdef real epsilon, smallest, residual, scale, noise
    cdef real u[MAX_DIM * TILE]
    cdef real y[MAX_DIM * TILE]
    cdef real a[MAX_DIM * TILE]
    cdef real slope[TILE]
    cdef bint solved[TILE]
    cdef real f[MAX_DIM]
    cdef real position[MAX_DIM]
    cdef real guess[MAX_DIM]
    cdef real old[MAX_DIM]
    cdef real acceleration[MAX_DIM]
    cdef int dim = plan.dim
    cdef int iteration, j
    cdef Py_ssize_t i, unsolved = count
    if real is float:
        epsilon = FLT_EPSILON
        smallest = FLT_MIN / FLT_EPSILON
    else:
        epsilon = DBL_EPSILON
        smallest = DBL_MIN / DBL_EPSILON
    for i in range(count):
        solved[i] = plan.slots != NULL and not plan.slots.alive[first + i]
        unsolved -= solved[i]
    for j in range(dim):
        for i in range(count):
            u[j * TILE + i] = v[j * TILE + i]
            y[j * TILE + i] = x[j * TILE + i] + h * u[j * TILE + i]
    for iteration in range(plan.iterations + 1):
        plan.accelerate(plan, first, count, TILE, y, u, a)
        for i in range(count):
            if solved[i]:
                continue
            state.evaluations[i] += 1
            gather(dim, &u[0], i, &guess[0])
            gather(dim, &a[0], i, &acceleration[0])
            gather(dim, v, i, &old[0])
            gather(dim, &y[0], i, &position[0])
            for j in range(dim):
                f[j] = guess[j] - old[j] - h * acceleration[j]
            residual = largest(dim, &f[0])
            if residual == 0:
                solved[i] = True
            elif iteration > 0:
                scale = largest(dim, &guess[0]) + largest(dim, &old[0]) + magnitude(h) * largest(dim, &acceleration[0])
                noise = scale + slope[i] * (largest(dim, &position[0]) + magnitude(h) * largest(dim, &guess[0]))
                solved[i] = residual <= tolerance * scale + four * epsilon * noise + smallest
            if solved[i]:
                unsolved -= 1
                continue
            if iteration == plan.iterations or not correct(
                plan, first + i, h, &position[0], &guess[0], &f[0], &slope[i]
            ):
                state.body = first + i
                state.residual = residual
                return False
            for j in range(dim):
                guess[j] = guess[j] - f[j]
                u[j * TILE + i] = guess[j]
                y[j * TILE + i] = x[j * TILE + i] + h * guess[j]
        if unsolved == 0:
            break
    for j in range(dim):
        for i in range(count):
            x[j * TILE + i] = y[j * TILE + i]
            v[j * TILE + i] = u[j * TILE + i]
    return True


cdef inline bint correct(
    const Plan* plan, Py_ssize_t body, real h, const real* y, const real* u, real* f, real* slope,
) noexcept nogil:
    """Replace f by the Newton correction J⁻¹ f, J = 1 - h (da/dv + h da/dx); return False if J is singular.

    slope: largest magnitude in da/dv + h da/dx, which scales the rounding errors of f.
    """
    cdef real by_x[3][3]
    cdef real by_v[3][3]
    cdef real matrix[3][3]
    cdef real t
    cdef real one = 1
    cdef int dim = plan.dim
    cdef int i, j, c, r, pivot
    jacobian(plan, body, y, u, by_x, by_v)
    slope[0] = 0
    for i in range(dim):
        for j in range(dim):
            t = by_v[i][j] + h * by_x[i][j]
            if magnitude(t) > slope[0]:
                slope[0] = magnitude(t)
            matrix[i][j] = -h * t
        matrix[i][i] = one + matrix[i][i]
    for c in range(dim):
        pivot = c
        for r in range(c + 1, dim):
            if magnitude(matrix[r][c]) > magnitude(matrix[pivot][c]):
                pivot = r
        if matrix[pivot][c] == 0:
            return False
        for j in range(dim):
            t = matrix[c][j]
            matrix[c][j] = matrix[pivot][j]
            matrix[pivot][j] = t
        t = f[c]
        f[c] = f[pivot]
        f[pivot] = t
        for r in range(c + 1, dim):
            t = matrix[r][c] / matrix[c][c]
            for j in range(c + 1, dim):
                matrix[r][j] = matrix[r][j] - t * matrix[c][j]
            f[r] = f[r] - t * f[c]
    for r in range(dim - 1, -1, -1):
        for j in range(r + 1, dim):
            f[r] = f[r] - matrix[r][j] * f[j]
        f[r] = f[r] / matrix[r][r]
    return True


cdef inline void jacobian(
    const Plan* plan, Py_ssize_t body, const real* x, const real* v, real (*by_x)[3], real (*by_v)[3],
) noexcept nogil:
    """Set the derivatives of a body's acceleration by position and velocity, from all forces on single bodies."""
    cdef int i, j, term
    for i in range(plan.dim):
        for j in range(plan.dim):
            by_x[i][j] = 0
            by_v[i][j] = 0
        if plan.spring:
            by_x[i][i] = -value(&plan.k, i, body, <real> 0)
        if plan.drag:
            by_v[i][i] = -value(&plan.c, i, body, <real> 0)
    for term in range(plan.terms):
        term_jacobian(&plan.term[term], plan.dim, body, x, v, by_x, by_v)


cdef inline bint energy_step(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, real* x, real* v, Newton* state,
) noexcept nogil:
    """x' = x + h v, then scale v + h a to the speed that conserves energy. This never fails."""
    cdef real h = <real> plan.h
    cdef real two = 2
    cdef real half = h / two
    cdef real a[MAX_DIM * TILE]
    cdef real old[MAX_DIM]
    cdef real y[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real b[MAX_DIM]
    cdef real speed2
    cdef int dim = plan.dim
    cdef int j
    cdef Py_ssize_t i
    plan.accelerate(plan, first, count, TILE, x, v, a)
    for i in range(count):
        gather(dim, x, i, &old[0])
        gather(dim, v, i, &u[0])
        gather(dim, &a[0], i, &b[0])
        for j in range(dim):
            y[j] = old[j] + h * u[j]
        speed2 = dot(dim, &u[0], &u[0])
        # Near a turning point the energy does not suffice for this position: add h² a / 2.
        if speed2 - two * difference(plan, first + i, &old[0], &y[0]) <= 0:
            for j in range(dim):
                y[j] = old[j] + h * (u[j] + half * b[j])
        speed2 = speed2 - two * difference(plan, first + i, &old[0], &y[0])
        keep_energy(dim, h, speed2, &old[0], &b[0], &y[0], &u[0])
        for j in range(dim):
            x[j * TILE + i] = y[j]
            v[j * TILE + i] = u[j]
    return True


cdef inline void keep_energy(
    int dim, real h, real speed2, const real* x, const real* a, real* y, real* u,
) noexcept nogil:
    """Scale u + h a to the squared speed that conserves energy at the new position y.

    If that is negative, even the parabolic step is energetically forbidden: stay at x, and reflect u.
    """
    cdef real u2
    cdef int j
    if speed2 < 0:
        mirror(dim, a, u)
        for j in range(dim):
            y[j] = x[j]
        return
    for j in range(dim):
        u[j] = u[j] + h * a[j]
    u2 = dot(dim, u, u)
    if u2 > 0:
        u2 = root(speed2 / u2)
    for j in range(dim):
        u[j] = u2 * u[j]


cdef inline void mirror(int dim, const real* a, real* v) noexcept nogil:
    """Reflect v along a; reverse it if a is zero."""
    cdef real a2 = dot(dim, a, a)
    cdef real two = 2
    cdef real f = 0
    cdef int j
    if a2 > 0:
        f = two * dot(dim, v, a) / a2
    for j in range(dim):
        v[j] = v[j] - f * a[j] if a2 > 0 else -v[j]


cdef inline real difference(const Plan* plan, Py_ssize_t body, const real* x, const real* y) noexcept nogil:
    """Potential per unit of mass at y minus that at x."""
    cdef real work = 0
    cdef real two = 2
    cdef real a, dphi
    cdef int j, term
    for j in range(plan.dim):
        # A linear force at the midpoint, times the displacement, is its exact work.
        a = value(&plan.g, j, body, work)
        if plan.spring:
            a = a - value(&plan.k, j, body, work) * ((x[j] + y[j]) / two - value(&plan.p, j, body, work))
        work = a * (y[j] - x[j]) if j == 0 else work + a * (y[j] - x[j])
    dphi = -work
    for term in range(plan.terms):
        potential_difference(&plan.term[term], plan.dim, body, &dphi, x, y)
    return dphi
