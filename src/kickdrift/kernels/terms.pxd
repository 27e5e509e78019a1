# What each force term adds, for a tile of bodies: the formulas of kickdrift/reference/terms.py.
#
# Positions, velocities and accelerations are planes of TILE numbers, one per component, of which the
# first m are worked on: m is a multiple of every lane's width, bodies beyond the last are zeros and
# nobody reads their results. The loops touch few arrays each, which is what compilers vectorise
# without being told to.

from libc.math cimport sqrt

from .lanes cimport f32lane, f64lane, lane, real, width
from .plan cimport AXIS, CENTER, MAX_DIM, POINT_GRAVITY, QUADRATIC_DRAG, SCALAR, SOFTENING, TILE, Field, Plan, Term

cdef extern from "<math.h>" nogil:
    float sqrtf(float)


cdef inline real root(real q) noexcept nogil:
    if real is float:
        return sqrtf(q)
    else:
        return sqrt(q)


cdef inline const char* values(const Field* field, int component, Py_ssize_t first, Py_ssize_t size) noexcept nogil:
    """A coefficient from body `first` on, of numbers of `size` bytes."""
    return field.data + (component * field.plane + first * field.step) * size


cdef inline real value(const Field* field, int component, Py_ssize_t body, real like) noexcept nogil:
    """A coefficient of one body; `like` only tells the type."""
    return (<const real*> values(field, component, body, sizeof(real)))[0]


cdef inline lane affine(
    bint drag, bint spring, lane x, lane v, lane g, lane c, lane w, lane k, lane p,
) noexcept nogil:
    """a = g - c (v - w) - k (x - p)"""
    cdef lane a = g
    if drag:
        a = a - c * (v - w)
    if spring:
        a = a - k * (x - p)
    return a


cdef inline void affine_tile(
    bint drag, bint spring, Py_ssize_t count, const lane* x, const lane* v, lane* a,
    const lane* g, const lane* c, const lane* w, const lane* k, const lane* p,
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        a[i] = affine(drag, spring, x[i], v[i], g[i], c[i], w[i], k[i], p[i])


cdef inline void offsets(
    const Term* term, int dim, Py_ssize_t first, Py_ssize_t m, const real* x, real* d,
) noexcept nogil:
    """d = x - center (or v - w)"""
    cdef int j
    cdef Py_ssize_t i
    cdef const real* center
    for j in range(dim):
        center = <const real*> values(&term.field[CENTER], j, first, sizeof(real))
        for i in range(m):
            d[j * TILE + i] = x[j * TILE + i] - center[i]


cdef inline void swirl(
    const Term* term, int dim, Py_ssize_t first, Py_ssize_t m, const real* x, real* t,
) noexcept nogil:
    """t = axis x (x - center)"""
    cdef real d[MAX_DIM * TILE]
    cdef Py_ssize_t i
    cdef real u0 = 0
    cdef real u1, u2
    offsets(term, dim, first, m, x, &d[0])
    if dim == 2:
        for i in range(m):
            t[i] = -d[TILE + i]
            t[TILE + i] = d[i]
        return
    u0 = value(&term.field[AXIS], 0, 0, u0)
    u1 = value(&term.field[AXIS], 1, 0, u0)
    u2 = value(&term.field[AXIS], 2, 0, u0)
    for i in range(m):
        t[i] = u1 * d[2 * TILE + i] - u2 * d[TILE + i]
    for i in range(m):
        t[TILE + i] = u2 * d[i] - u0 * d[2 * TILE + i]
    for i in range(m):
        t[2 * TILE + i] = u0 * d[TILE + i] - u1 * d[i]


cdef inline void squares(int dim, Py_ssize_t m, const real* d, real* q) noexcept nogil:
    """q = d.d, summed from the first component on"""
    cdef int j
    cdef Py_ssize_t i
    for i in range(m):
        q[i] = d[i] * d[i]
    for j in range(1, dim):
        for i in range(m):
            q[i] = q[i] + d[j * TILE + i] * d[j * TILE + i]


cdef inline void add_term(
    const Term* term, int dim, Py_ssize_t first, Py_ssize_t m, const real* x, const real* v, real* a,
) noexcept nogil:
    """a += the acceleration of one term"""
    cdef real d[MAX_DIM * TILE]
    cdef real q[TILE]
    cdef real cube
    cdef real zero = 0
    cdef const real* scalar = <const real*> values(&term.field[SCALAR], 0, first, sizeof(real))
    cdef const real* e2
    cdef int j
    cdef Py_ssize_t i
    if term.kind == POINT_GRAVITY:
        e2 = <const real*> values(&term.field[SOFTENING], 0, first, sizeof(real))
        offsets(term, dim, first, m, x, &d[0])
        squares(dim, m, &d[0], &q[0])
        for i in range(m):
            q[i] = q[i] + e2[i]
            cube = q[i] * root(q[i])
            q[i] = scalar[i] / cube if cube > 0 else zero
    elif term.kind == QUADRATIC_DRAG:
        offsets(term, dim, first, m, v, &d[0])
        squares(dim, m, &d[0], &q[0])
        for i in range(m):
            q[i] = scalar[i] * root(q[i])
    else:
        e2 = <const real*> values(&term.field[SOFTENING], 0, first, sizeof(real))
        swirl(term, dim, first, m, x, &d[0])
        squares(dim, m, &d[0], &q[0])
        for i in range(m):
            q[i] = q[i] + e2[i]
            # The minus turns the subtraction below into the addition of the formula.
            q[i] = -(scalar[i] / q[i]) if q[i] > 0 else zero
    for j in range(dim):
        for i in range(m):
            a[j * TILE + i] = a[j * TILE + i] - q[i] * d[j * TILE + i]


cdef inline void accelerate(
    const Plan* plan, Py_ssize_t first, Py_ssize_t m, const lane* x, const lane* v, lane* a,
) noexcept nogil:
    """a = the acceleration of the bodies from `first` on: the affine part, then the other terms."""
    cdef Py_ssize_t row = TILE // width(a)
    cdef Py_ssize_t size = sizeof(lane) // width(a)
    cdef int j, term
    for j in range(plan.dim):
        affine_tile(
            plan.drag, plan.spring, m // width(a), x + j * row, v + j * row, a + j * row,
            <const lane*> values(&plan.g, j, first, size), <const lane*> values(&plan.c, j, first, size),
            <const lane*> values(&plan.w, j, first, size), <const lane*> values(&plan.k, j, first, size),
            <const lane*> values(&plan.p, j, first, size),
        )
    for term in range(plan.terms):
        if lane is f32lane:
            add_term(&plan.term[term], plan.dim, first, m, <const float*> x, <const float*> v, <float*> a)
        else:
            add_term(&plan.term[term], plan.dim, first, m, <const double*> x, <const double*> v, <double*> a)


# The rest is for methods that need more than the acceleration. They look at one body.

cdef inline void term_jacobian(
    const Term* term, int dim, Py_ssize_t body, const real* x, const real* v, real by_x[3][3], real by_v[3][3],
) noexcept nogil:
    """Add the derivatives of one term by position and velocity; x and v hold dim numbers here."""
    cdef real d[3]
    cdef real b[3]
    cdef real u[3]
    cdef real rows[3][3]
    cdef real q, r, s, f, g
    cdef real zero = 0
    cdef real two = 2
    cdef real three = 3
    cdef real scalar = value(&term.field[SCALAR], 0, body, zero)
    cdef int i, j
    for j in range(dim):
        d[j] = (v[j] if term.kind == QUADRATIC_DRAG else x[j]) - value(&term.field[CENTER], j, body, zero)
    if term.kind == POINT_GRAVITY:
        q = dot(dim, &d[0], &d[0]) + value(&term.field[SOFTENING], 0, body, zero)
        r = q * root(q)
        s = scalar / r if r > 0 else zero
        f = three * s / q if r > 0 else zero
        for i in range(dim):
            for j in range(dim):
                by_x[i][j] = by_x[i][j] + f * d[i] * d[j]
            by_x[i][i] = by_x[i][i] - s
    elif term.kind == QUADRATIC_DRAG:
        r = root(dot(dim, &d[0], &d[0]))
        f = scalar / r if r > 0 else zero
        for i in range(dim):
            for j in range(dim):
                by_v[i][j] = by_v[i][j] - f * d[i] * d[j]
            by_v[i][i] = by_v[i][i] - scalar * r
    else:
        for j in range(3):
            u[j] = value(&term.field[AXIS], j, 0, zero)
        cross(dim, &u[0], &d[0], &b[0])
        for j in range(dim):
            d[j] = b[j]
        cross(dim, &u[0], &d[0], &b[0])  # minus the transposed matrix times t
        q = dot(dim, &d[0], &d[0]) + value(&term.field[SOFTENING], 0, body, zero)
        f = scalar / q if q > 0 else zero
        g = two * f / q if q > 0 else zero
        rows[0][0] = rows[1][1] = rows[2][2] = zero
        rows[0][1] = -u[2]
        rows[1][0] = u[2]
        rows[0][2] = u[1]
        rows[2][0] = -u[1]
        rows[1][2] = -u[0]
        rows[2][1] = u[0]
        for i in range(dim):
            for j in range(dim):
                by_x[i][j] = by_x[i][j] + f * rows[i][j] + g * d[i] * b[j]


cdef inline real potential_difference(
    const Term* term, int dim, Py_ssize_t body, real dphi, const real* x, const real* y,
) noexcept nogil:
    """Add the potential of one term at y less that at x; x and y hold dim numbers."""
    return dphi - (well(term, dim, body, y) - well(term, dim, body, x))


cdef inline real well(const Term* term, int dim, Py_ssize_t body, const real* x) noexcept nogil:
    """mu / sqrt(|d|² + e²), for PointGravity: no other term beside the affine ones has a potential."""
    cdef real d[3]
    cdef real r
    cdef real zero = 0
    cdef int j
    for j in range(dim):
        d[j] = x[j] - value(&term.field[CENTER], j, body, zero)
    r = root(dot(dim, &d[0], &d[0]) + value(&term.field[SOFTENING], 0, body, zero))
    return value(&term.field[SCALAR], 0, body, zero) / r if r > 0 else zero


cdef inline real dot(int dim, const real* u, const real* v) noexcept nogil:
    cdef real total = u[0] * v[0]
    cdef int j
    for j in range(1, dim):
        total = total + u[j] * v[j]
    return total


cdef inline void cross(int dim, const real* u, const real* r, real* t) noexcept nogil:
    """t = u x r; in the plane u is z."""
    if dim == 2:
        t[0] = -r[1]
        t[1] = r[0]
    else:
        t[0] = u[1] * r[2] - u[2] * r[1]
        t[1] = u[2] * r[0] - u[0] * r[2]
        t[2] = u[0] * r[1] - u[1] * r[0]


cdef inline real magnitude(real a) noexcept nogil:
    return -a if a < 0 else a


cdef inline real largest(int dim, const real* u) noexcept nogil:
    """The largest component by magnitude."""
    cdef real result = magnitude(u[0])
    cdef int j
    for j in range(1, dim):
        if magnitude(u[j]) > result:
            result = magnitude(u[j])
    return result
