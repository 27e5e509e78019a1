# Acceleration of each force term: the formulas of kickdrift/reference/forces.py.
#
# A vector of bodies stays in registers from the load of its positions to the end of the stage. The other arithmetic of
# the stage then fills the latency of square roots and divisions.

from libc.math cimport sqrt

from ..simd.masks cimport positive, select_or_zero
from ..simd.vec cimport filled, vec, vec_root, real, width
from ..abi cimport kinds
from ..abi.plan cimport AXIS, ENERGY_EULER, IMPLICIT_EULER, MAX_DIM, ORIGIN, SQUARE, STRENGTH, Field, Plan, Term

cdef extern from "<math.h>" nogil:
    float sqrtf(float)


cdef inline real root(real q) noexcept nogil:
    if real is float:
        return sqrtf(q)
    else:
        return sqrt(q)


cdef inline const char* values(const Field* field, int component, Py_ssize_t body) noexcept nogil:
    """Address of one component of a coefficient, for the bodies from `body` on."""
    return field.component[component] + body * field.body


cdef inline real value(const Field* field, int component, Py_ssize_t body, real like) noexcept nogil:
    """Load a coefficient of one body; `like` only selects the type."""
    return (<const real*> values(field, component, body))[0]


cdef inline vec affine(
    bint drag, bint wind, bint spring, vec x, vec v, vec g, vec c, vec w, vec k, vec p,
) noexcept nogil:
    """a = g - c (v - w) - k (x - p); without wind v - w equals v bitwise"""
    cdef vec a = g
    if drag and wind:
        a = a - c * (v - w)
    elif drag:
        a = a - c * v
    if spring:
        a = a - k * (x - p)
    return a


# Addresses of the coefficients of affine forces, for one component from a body on; steps: bytes from one vector of
# bodies to the next.
ctypedef struct Affine:
    const char* g
    const char* c
    const char* w
    const char* k
    const char* p
    Py_ssize_t c_step, w_step, k_step, p_step


cdef inline void locate_affine(
    const Plan* plan, int j, Py_ssize_t first, Affine* terms, const vec* like,
) noexcept nogil:
    terms.g, terms.c, terms.w = values(&plan.g, j, first), values(&plan.c, j, first), values(&plan.w, j, first)
    terms.k, terms.p = values(&plan.k, j, first), values(&plan.p, j, first)
    terms.c_step, terms.w_step = plan.c.body * width(like), plan.w.body * width(like)
    terms.k_step, terms.p_step = plan.k.body * width(like), plan.p.body * width(like)


cdef inline vec add_affine(
    bint drag, bint spring, const Affine* terms, Py_ssize_t n, vec x, vec v, vec a,
) noexcept nogil:
    """a + drag + spring, for vector n of bodies."""
    if drag:
        a = affine(
            True, True, False, x, v, a, (<const vec*> (terms.c + n * terms.c_step))[0],
            (<const vec*> (terms.w + n * terms.w_step))[0], a, a,
        )
    if spring:
        a = affine(
            False, False, True, x, v, a, a, a, (<const vec*> (terms.k + n * terms.k_step))[0],
            (<const vec*> (terms.p + n * terms.p_step))[0],
        )
    return a


cdef enum:                      # indices of the coefficients of affine forces, once they are loaded
    AT_G = 0
    AT_C = MAX_DIM
    AT_W = 2 * MAX_DIM
    AT_K = 3 * MAX_DIM
    AT_P = 4 * MAX_DIM
    AFFINE_VECTORS = 5 * MAX_DIM


cdef inline void load_affine(int dim, const Plan* plan, Py_ssize_t body, vec* f) noexcept nogil:
    """Load the coefficients of affine forces for a vector of bodies."""
    cdef int j
    for j in range(dim):
        f[AT_G + j], f[AT_C + j] = field_vec(&plan.g, j, body, f), field_vec(&plan.c, j, body, f)
        f[AT_W + j], f[AT_K + j] = field_vec(&plan.w, j, body, f), field_vec(&plan.k, j, body, f)
        f[AT_P + j] = field_vec(&plan.p, j, body, f)


cdef inline vec add_loaded(bint drag, bint spring, const vec* f, int j, vec x, vec v) noexcept nogil:
    """Acceleration by affine forces, from loaded coefficients of component j."""
    cdef vec a = f[AT_G + j]
    if drag:
        a = affine(True, True, False, x, v, a, f[AT_C + j], f[AT_W + j], a, a)
    if spring:
        a = affine(False, False, True, x, v, a, a, a, f[AT_K + j], f[AT_P + j])
    return a


# Functions that branch on the kind of a term return whether they have a branch for it. `has_branches` checks this once
# per plan. Steps ignore the result, so that compilers do not compute it there.

cdef enum:                      # indices of a term's coefficients, after they are loaded to TERM_VECTORS vectors
    AT_STRENGTH = 0
    AT_SQUARE = 1
    AT_ORIGIN = 2
    AT_AXIS = AT_ORIGIN + MAX_DIM
    TERM_VECTORS = AT_AXIS + 3

cdef enum:
    FIRST_TERMS = 3  # the first three terms keep their coefficients loaded in loops; their accelerations may be reused


cdef inline void load_term(int dim, const Term* term, Py_ssize_t body, vec* c) noexcept nogil:
    """Load the coefficients of a vector of bodies."""
    cdef int j
    c[AT_STRENGTH] = field_vec(&term.field[STRENGTH], 0, body, c)
    for j in range(dim):
        c[AT_ORIGIN + j] = field_vec(&term.field[ORIGIN], j, body, c)
    c[AT_SQUARE] = field_vec(&term.field[SQUARE], 0, body, c)
    if dim == 3:
        for j in range(3):
            c[AT_AXIS + j] = field_vec(&term.field[AXIS], j, 0, c)


cdef inline void load_each(int dim, const Term* term, Py_ssize_t body, vec* c) noexcept nogil:
    """Load the per-body coefficients of the next vector of bodies. Uniform ones stay in registers."""
    cdef int j
    if term.field[STRENGTH].body != 0:
        c[AT_STRENGTH] = field_vec(&term.field[STRENGTH], 0, body, c)
    if term.field[SQUARE].body != 0:
        c[AT_SQUARE] = field_vec(&term.field[SQUARE], 0, body, c)
    if term.field[ORIGIN].body != 0:
        for j in range(dim):
            c[AT_ORIGIN + j] = field_vec(&term.field[ORIGIN], j, body, c)


cdef inline bint add_term(kinds.TermKind kind, int dim, const vec* c, const vec* x, vec* a) noexcept nogil:
    """Add the acceleration by a term: a -= f d, or a += f t for a direction t across an axis.

    c: as loaded by `load_term`; x: position or velocity, whichever the term depends on.
    """
    cdef vec d[MAX_DIM]
    cdef vec t[MAX_DIM]
    cdef const vec* u = c + AT_AXIS
    cdef vec q, f
    cdef int j
    for j in range(dim):
        d[j] = x[j] - c[AT_ORIGIN + j]
        t[j] = d[j]
    if kind == kinds.CENTRIFUGAL:
        for j in range(dim):
            t[j] = c[AT_SQUARE] * d[j]
        if dim == 3:
            q = u[0] * d[0]
            for j in range(1, 3):
                q = q + u[j] * d[j]
            for j in range(3):
                t[j] = t[j] - q * u[j]
        for j in range(dim):
            a[j] = a[j] + c[AT_STRENGTH] * t[j]
        return True
    if kind == kinds.VORTEX and dim == 2:
        t[0] = -d[1]
        t[1] = d[0]
    elif kind == kinds.VORTEX:
        t[0] = u[1] * d[2] - u[2] * d[1]
        t[1] = u[2] * d[0] - u[0] * d[2]
        t[2] = u[0] * d[1] - u[1] * d[0]
    q = t[0] * t[0]
    for j in range(1, dim):
        q = q + t[j] * t[j]
    if kind == kinds.QUADRATIC_DRAG:
        f = c[AT_STRENGTH] * vec_root(q)
    elif kind == kinds.POINT_GRAVITY or kind == kinds.VORTEX:
        q = q + c[AT_SQUARE]
        if kind == kinds.POINT_GRAVITY:
            q = q * vec_root(q)
        f = select_or_zero(positive(q), c[AT_STRENGTH] / q)
    else:
        return False
    for j in range(dim):
        if kind == kinds.VORTEX:
            a[j] = a[j] + f * t[j]
        else:
            a[j] = a[j] - f * t[j]
    return True


cdef inline vec field_vec(const Field* field, int component, Py_ssize_t body, const vec* like) noexcept nogil:
    """Load a coefficient of a vector of bodies; `like` only selects the type."""
    return (<const vec*> values(field, component, body))[0]


cdef inline bint add_known(int kind, int dim, const vec* c, const vec* x, const vec* v, vec* a) noexcept nogil:
    """`add_term`, specialised by kind, with position or velocity as argument."""
    if kind == kinds.POINT_GRAVITY:
        return add_term(kinds.POINT_GRAVITY, dim, c, x, a)
    if kind == kinds.QUADRATIC_DRAG:
        return add_term(kinds.QUADRATIC_DRAG, dim, c, v, a)
    if dim > 1 and kind == kinds.VORTEX:
        return add_term(kinds.VORTEX, dim, c, x, a)
    if kinds.of_velocity(kind):     # two calls: `v if ... else x` as argument would force both into memory
        return add_term(<kinds.TermKind> kind, dim, c, v, a)
    return add_term(<kinds.TermKind> kind, dim, c, x, a)


cdef inline void add_only(
    int kind, bint keeps, bint kept, int dim, const vec* c, const vec* x, const vec* v, vec* a, vec* held,
) noexcept nogil:
    """a += the only term, whose kind is a compile-time constant; keeps, kept, held: see `add_terms`."""
    cdef int j
    if not keeps or kinds.of_velocity(kind):
        add_known(kind, dim, c, x, v, a)
        return
    if not kept:
        for j in range(dim):
            held[j] = filled(-0.0, x)
        add_known(kind, dim, c, x, v, held)
    for j in range(dim):
        a[j] = a[j] + held[j]


cdef inline void load_terms(int dim, const Plan* plan, Py_ssize_t body, vec* c) noexcept nogil:
    """Load the coefficients of the first FIRST_TERMS terms, for `add_terms`."""
    cdef int number
    for number in range(min(plan.terms, FIRST_TERMS)):
        load_term(dim, &plan.term[number], body, c + number * TERM_VECTORS)


cdef inline void add_terms(
    bint keeps, bint kept, int dim, const Plan* plan, Py_ssize_t body, vec* first, const vec* x, const vec* v, vec* a,
    vec* held,
) noexcept nogil:
    """a += all terms, for the vector of bodies from `body` on.

    first: coefficients of the first FIRST_TERMS terms, from `load_terms`. keeps: store in `held` the accelerations by
    those first terms that depend on position; kept: reuse these, because the last evaluation was at the same positions.
    """
    cdef const Term* term = plan.term
    cdef const Term* end = term + plan.terms
    cdef vec none = filled(-0.0, x)     # -0: none + b is b, also if b is -0
    cdef vec c[TERM_VECTORS]
    cdef vec b[MAX_DIM]
    cdef vec* here = first
    cdef bint holds
    cdef int j
    while term < end:
        holds = keeps and here != c and not kinds.of_velocity(term.kind)
        if holds and kept:
            for j in range(dim):
                a[j] = a[j] + held[j]
        else:
            for j in range(dim):
                b[j] = none
            if here == c:
                load_term(dim, term, body, c)
            elif term.per_body:
                load_each(dim, term, body, here)
            add_known(term.kind, dim, here, x, v, b)
            for j in range(dim):
                a[j] = a[j] + b[j]
                if holds:
                    held[j] = b[j]
        held += MAX_DIM
        term += 1
        here = here + TERM_VECTORS if term < plan.term + FIRST_TERMS else c


cdef inline void accelerate_tile(
    const Plan* plan, int dim, Py_ssize_t first, Py_ssize_t count, Py_ssize_t stride,
    const vec* x, const vec* v, vec* a,
) noexcept nogil:
    """a = acceleration by affine forces and terms, for bodies in planes of `stride` numbers."""
    cdef Py_ssize_t plane = stride // width(a)
    cdef Py_ssize_t each = plan.g.body * width(a)
    cdef bint drag = plan.drag      # local copies, which no store can alias
    cdef bint spring = plan.spring
    cdef Affine fields[MAX_DIM]
    cdef vec y[MAX_DIM]
    cdef vec u[MAX_DIM]
    cdef vec b[MAX_DIM]
    cdef vec c[FIRST_TERMS * TERM_VECTORS]
    cdef Py_ssize_t n, i
    cdef int j
    for j in range(dim):
        locate_affine(plan, j, first, &fields[j], a)
    load_terms(dim, plan, first, c)
    for n in range((count + width(a) - 1) // width(a)):
        for j in range(dim):
            i = j * plane + n
            y[j], u[j] = x[i], v[i]
            b[j] = add_affine(drag, spring, &fields[j], n, y[j], u[j], (<const vec*> (fields[j].g + n * each))[0])
        add_terms(False, False, dim, plan, first + n * width(a), c, y, u, b, NULL)
        for j in range(dim):
            a[j * plane + n] = b[j]


# Derivatives and potentials of terms for implicit and energy-conserving schemes, body by body.

cdef inline bint term_jacobian(
    const Term* term, int dim, Py_ssize_t body, const real* x, const real* v, real by_x[3][3], real by_v[3][3],
) noexcept nogil:
    """Add the derivatives of one term by position and velocity; x and v have dim components."""
    cdef real d[3]
    cdef real b[3]
    cdef real u[3]
    cdef real rows[3][3]
    cdef real q, r, s, f, g
    cdef real zero = 0
    cdef real two = 2
    cdef real three = 3
    cdef real scalar = value(&term.field[STRENGTH], 0, body, zero)
    cdef int i, j
    for j in range(dim):
        d[j] = (v[j] if kinds.of_velocity(term.kind) else x[j]) - value(&term.field[ORIGIN], j, body, zero)
    if term.kind == kinds.POINT_GRAVITY:
        q = dot(dim, &d[0], &d[0]) + value(&term.field[SQUARE], 0, body, zero)
        r = q * root(q)
        s = scalar / r if r > 0 else zero
        f = three * s / q if r > 0 else zero
        for i in range(dim):
            for j in range(dim):
                by_x[i][j] = by_x[i][j] + f * d[i] * d[j]
            by_x[i][i] = by_x[i][i] - s
    elif term.kind == kinds.QUADRATIC_DRAG:
        r = root(dot(dim, &d[0], &d[0]))
        f = scalar / r if r > 0 else zero
        for i in range(dim):
            for j in range(dim):
                by_v[i][j] = by_v[i][j] - f * d[i] * d[j]
            by_v[i][i] = by_v[i][i] - scalar * r
    elif term.kind == kinds.CENTRIFUGAL:
        q = value(&term.field[SQUARE], 0, body, zero)
        for i in range(dim):
            if dim == 3:
                for j in range(3):
                    by_x[i][j] = by_x[i][j] - scalar * (
                        value(&term.field[AXIS], i, 0, zero) * value(&term.field[AXIS], j, 0, zero)
                    )
            by_x[i][i] = by_x[i][i] + scalar * q
    elif term.kind == kinds.VORTEX:
        for j in range(3):
            u[j] = value(&term.field[AXIS], j, 0, zero)
        cross(dim, &u[0], &d[0], &b[0])
        for j in range(dim):
            d[j] = b[j]
        cross(dim, &u[0], &d[0], &b[0])  # now b is minus the transpose of the cross product matrix `rows`, times d
        q = dot(dim, &d[0], &d[0]) + value(&term.field[SQUARE], 0, body, zero)
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
    else:
        return False
    return True


cdef inline bint potential_difference(
    const Term* term, int dim, Py_ssize_t body, real* dphi, const real* x, const real* y,
) noexcept nogil:
    """Add one term's potential at y minus that at x; x and y have dim components."""
    cdef real d[3]
    cdef real t[3]
    cdef real q
    cdef real zero = 0
    cdef real two = 2
    cdef int j
    if term.kind == kinds.CENTRIFUGAL:
        for j in range(dim):
            d[j] = (x[j] + y[j]) / two - value(&term.field[ORIGIN], j, body, zero)
            t[j] = value(&term.field[SQUARE], 0, body, zero) * d[j]
        if dim == 3:
            q = value(&term.field[AXIS], 0, 0, zero) * d[0]
            for j in range(1, 3):
                q = q + value(&term.field[AXIS], j, 0, zero) * d[j]
            for j in range(3):
                t[j] = t[j] - q * value(&term.field[AXIS], j, 0, zero)
        for j in range(dim):
            d[j] = y[j] - x[j]
        dphi[0] = dphi[0] - value(&term.field[STRENGTH], 0, body, zero) * dot(dim, &t[0], &d[0])
    elif term.kind == kinds.POINT_GRAVITY:
        dphi[0] = dphi[0] - (well(term, dim, body, y) - well(term, dim, body, x))
    else:
        return False
    return True


cdef inline real well(const Term* term, int dim, Py_ssize_t body, const real* x) noexcept nogil:
    """Return mu / sqrt(|d|² + e²): minus the potential of PointGravity."""
    cdef real d[3]
    cdef real r
    cdef real zero = 0
    cdef int j
    for j in range(dim):
        d[j] = x[j] - value(&term.field[ORIGIN], j, body, zero)
    r = root(dot(dim, &d[0], &d[0]) + value(&term.field[SQUARE], 0, body, zero))
    return value(&term.field[STRENGTH], 0, body, zero) / r if r > 0 else zero


cdef inline real dot(int dim, const real* u, const real* v) noexcept nogil:
    cdef real total = u[0] * v[0]
    cdef int j
    for j in range(1, dim):
        total = total + u[j] * v[j]
    return total


cdef inline void cross(int dim, const real* u, const real* r, real* t) noexcept nogil:
    """t = u x r; in 2-D u is along z."""
    if dim == 2:
        t[0] = -r[1]
        t[1] = r[0]
    else:
        t[0] = u[1] * r[2] - u[2] * r[1]
        t[1] = u[2] * r[0] - u[0] * r[2]
        t[2] = u[0] * r[1] - u[1] * r[0]


cdef inline real rounding(real like) noexcept nogil:
    """Bound of the relative error of a computed distance: 16 times the machine epsilon."""
    if real is float:
        return 1.9073486328125e-06
    else:
        return 3.552713678800501e-15


cdef inline real magnitude(real a) noexcept nogil:
    return -a if a < 0 else a


cdef inline real largest(int dim, const real* u) noexcept nogil:
    """Largest magnitude of a component; NaN if any is NaN."""
    cdef real result = magnitude(u[0])
    cdef int j
    for j in range(1, dim):
        result = larger(result, magnitude(u[j]))
    return result


cdef inline real larger(real a, real b) noexcept nogil:
    """The larger of two magnitudes; NaN if one is NaN."""
    return b if b > a or b != b else a


cdef inline bint has_branches(int scheme, int dim, const Term* term, const real* like, const vec* wide) noexcept nogil:
    """True if the scheme supports the kind of a term; checked by evaluating it at zeros."""
    cdef vec x[MAX_DIM]
    cdef vec a[MAX_DIM]
    cdef vec c[TERM_VECTORS]
    cdef real y[MAX_DIM]
    cdef real by_x[3][3]
    cdef real by_v[3][3]
    cdef real dphi = 0
    cdef int i, j
    for i in range(MAX_DIM):
        y[i] = 0
        x[i] = a[i] = 0 * field_vec(&term.field[STRENGTH], 0, 0, wide)
        for j in range(MAX_DIM):
            by_x[i][j] = by_v[i][j] = 0
    if scheme == IMPLICIT_EULER and not term_jacobian(term, dim, 0, &y[0], &y[0], by_x, by_v):
        return False
    if scheme == ENERGY_EULER and not potential_difference(term, dim, 0, &dphi, &y[0], &y[0]):
        return False
    load_term(dim, term, 0, c)
    return add_known(term.kind, dim, c, x, x, a)
