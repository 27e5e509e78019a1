# Integration schemes for one component: what happens to a vector around each evaluation of the acceleration. A step is
# opening(), then for each stage: a = a(x, v), stage(). x and v always hold the state of the next evaluation. Registers
# p, q, y, z hold intermediate results, s is the history. Formulas and the order of operations are those of
# kickdrift/reference/integrators.py.
#
# Callers pass scheme, number of stage and `drag` (velocity-dependent forces) as constants where speed matters, so that
# compilers remove the branches.

from ..abi.plan cimport (
    COMPOSITION, COMPOSITION_RK4, DRIFT_KICK, EXACT, EXPLICIT_EULER, EXTRA, GROOT_WARREN, H, HALF, HEUN, KICK_DRIFT,
    MAX_DIM, MIDPOINT, PER_KICK, RK4, VELOCITY_VERLET, VERLET_BACKWARD, VERLET_CENTRAL, Plan,
)
from ..simd.vec cimport vec, real
from .traits cimport fsal, verlet


cdef inline bint has_opening(int scheme, bint drag) noexcept nogil:
    return (
        scheme == DRIFT_KICK or scheme == GROOT_WARREN or scheme == COMPOSITION or scheme == COMPOSITION_RK4
        or fsal(scheme, drag)
    )


cdef inline int kicks(int scheme, const Plan* plan) noexcept nogil:
    """Number of kicks of a composition; 1 for other schemes."""
    return plan.kicks if scheme == COMPOSITION or scheme == COMPOSITION_RK4 else 1


cdef inline const vec* kick_constants(const vec* k, int kick) noexcept nogil:
    return k + EXTRA + 2 + PER_KICK * kick


cdef inline int stages(int scheme, bint drag, const Plan* plan) noexcept nogil:
    """Number of evaluations of the acceleration in a step."""
    return kicks(scheme, plan) * evaluations(scheme, drag, plan)


cdef inline int evaluations(int scheme, bint drag, const Plan* plan) noexcept nogil:
    """Number of evaluations of the acceleration per step, or per kick of a composition."""
    if scheme == MIDPOINT or scheme == HEUN:
        return 2
    if scheme == RK4:
        return 4
    if scheme == VELOCITY_VERLET or verlet(scheme):
        return 2 if drag else 1
    if scheme == COMPOSITION or scheme == COMPOSITION_RK4:
        return plan.iterations if drag else 1
    return 1


cdef inline int set_constants(const Plan* plan, real* k) noexcept nogil:
    """Fill k with the scheme's constants and return their number.

    h and h / 2 come first, then from EXTRA on the scheme's own. The first two of these always count, even if a scheme
    does not use them and leaves them unset.
    """
    cdef real h = <real> plan.h
    cdef real last = <real> plan.last_h
    cdef real d
    cdef real two = 2
    cdef real six = 6
    cdef int kick
    k[H] = h
    k[HALF] = h / two
    if plan.scheme == RK4:
        k[EXTRA] = h / six
        k[EXTRA + 1] = two
    elif plan.scheme == GROOT_WARREN:
        k[EXTRA] = <real> plan.lam * h
    elif verlet(plan.scheme):
        k[EXTRA] = h / last
        k[EXTRA + 1] = h * (h + last) / two
        k[EXTRA + 2] = last / two
        # For start(): the previous position is one timestep of length last_h back.
        k[EXTRA + 3] = last * last / two
        k[EXTRA + 4] = last
        return EXTRA + 5
    elif plan.scheme == COMPOSITION or plan.scheme == COMPOSITION_RK4:
        k[EXTRA] = <real> plan.constants[0]
        k[EXTRA + 1] = two
        for kick in range(plan.kicks):
            d = <real> plan.constants[1 + 2 * kick]
            k[EXTRA + 2 + PER_KICK * kick] = d
            k[EXTRA + 3 + PER_KICK * kick] = d / two
            k[EXTRA + 4 + PER_KICK * kick] = d / six
            k[EXTRA + 5 + PER_KICK * kick] = <real> plan.constants[2 + 2 * kick]
        return EXTRA + 2 + PER_KICK * plan.kicks
    return EXTRA + 2


cdef inline void start(int scheme, bint taylor, const vec* k, vec a, vec* x, vec* v, vec* s) noexcept nogil:
    """Initialise the history from the state and its acceleration."""
    if scheme == GROOT_WARREN:
        s[0] = a
    else:
        s[0] = x[0] - k[EXTRA + 4] * v[0]
        if taylor:
            s[0] = s[0] + k[EXTRA + 3] * a
        if scheme == VERLET_BACKWARD:
            v[0] = (x[0] - s[0]) / k[EXTRA + 4]


cdef inline void opening(int scheme, const vec* k, vec* x, vec* v, vec* s, vec* p, vec* q) noexcept nogil:
    """Do the part of a step before its first evaluation."""
    cdef vec y
    if scheme == DRIFT_KICK:
        x[0] = x[0] + k[H] * v[0]
    elif scheme == VELOCITY_VERLET:
        x[0] = x[0] + k[H] * (v[0] + k[HALF] * p[0])
        v[0] = v[0] + k[H] * p[0]
    elif scheme == GROOT_WARREN:
        x[0] = x[0] + k[H] * (v[0] + k[HALF] * s[0])
        q[0] = v[0]
        v[0] = v[0] + k[EXTRA] * s[0]
    elif scheme == VERLET_CENTRAL:
        y = x[0] + (k[EXTRA] * (x[0] - s[0]) + k[EXTRA + 1] * p[0])
        v[0] = (y - x[0]) / k[H]
        s[0] = x[0]
        x[0] = y
    elif scheme == COMPOSITION or scheme == COMPOSITION_RK4:
        x[0] = x[0] + k[EXTRA] * v[0]


cdef inline void stage(
    int scheme, bint drag, int number, bint ends, const vec* k, const vec* kick,
    const vec* fc, const vec* fs, const vec* fp, const vec* fq, vec a,
    vec* x, vec* v, vec* s, vec* p, vec* q, vec* y, vec* z,
) noexcept nogil:
    """Do the part of a step after evaluation `number` (from 0), which returned a.

    kick: constants of this kick of a composition; ends: the evaluation is the last one of its kick or step.
    """
    cdef vec last
    if scheme == EXPLICIT_EULER:
        x[0] = x[0] + k[H] * v[0]
        v[0] = v[0] + k[H] * a
    elif scheme == KICK_DRIFT:
        v[0] = v[0] + k[H] * a
        x[0] = x[0] + k[H] * v[0]
    elif scheme == DRIFT_KICK:
        v[0] = v[0] + k[H] * a
    elif scheme == MIDPOINT:
        if number == 0:
            p[0] = x[0]
            q[0] = v[0]
            x[0] = x[0] + k[HALF] * v[0]
            v[0] = v[0] + k[HALF] * a
        else:
            x[0] = p[0] + k[H] * v[0]
            v[0] = q[0] + k[H] * a
    elif scheme == HEUN:
        if number == 0:
            p[0] = x[0]
            q[0] = v[0]
            y[0] = a
            x[0] = x[0] + k[H] * v[0]
            v[0] = v[0] + k[H] * a
        else:
            x[0] = p[0] + k[HALF] * (q[0] + v[0])
            v[0] = q[0] + k[HALF] * (y[0] + a)
    elif scheme == RK4:
        if number == 0:
            p[0] = x[0]
            q[0] = v[0]
            y[0] = v[0]
            z[0] = a
        elif number < 3:
            y[0] = y[0] + k[EXTRA + 1] * v[0]
            z[0] = z[0] + k[EXTRA + 1] * a
        if number < 2:
            x[0] = p[0] + k[HALF] * v[0]
            v[0] = q[0] + k[HALF] * a
        elif number == 2:
            x[0] = p[0] + k[H] * v[0]
            v[0] = q[0] + k[H] * a
        else:
            x[0] = p[0] + k[EXTRA] * (y[0] + v[0])
            v[0] = q[0] + k[EXTRA] * (z[0] + a)
    elif scheme == VERLET_BACKWARD:
        if drag and number == 0:
            v[0] = v[0] + k[EXTRA + 2] * a
        else:
            last = x[0]
            x[0] = last + (k[EXTRA] * (last - s[0]) + k[EXTRA + 1] * a)
            v[0] = (x[0] - last) / k[H]
            s[0] = last
    elif scheme == VERLET_CENTRAL:
        if drag and number == 0:
            last = x[0]
            x[0] = last + (k[EXTRA] * (last - s[0]) + k[EXTRA + 1] * a)
            v[0] = (x[0] - last) / k[H]
            s[0] = last
        else:
            p[0] = a
            v[0] = v[0] + k[HALF] * a
    elif scheme == VELOCITY_VERLET:
        if drag and number == 0:
            p[0] = a
            x[0] = x[0] + k[H] * (v[0] + k[HALF] * a)
            v[0] = v[0] + k[H] * a
        else:
            v[0] = v[0] + k[HALF] * (a - p[0])
            p[0] = a
    elif scheme == GROOT_WARREN:
        v[0] = q[0] + k[HALF] * (s[0] + a)
        s[0] = a
    elif scheme == COMPOSITION or scheme == COMPOSITION_RK4:
        if not drag:
            v[0] = v[0] + kick[0] * a
            x[0] = x[0] + kick[3] * v[0]
            return
        if number == 0:
            q[0] = v[0]
        if scheme == COMPOSITION:
            if not ends:
                v[0] = q[0] + kick[1] * a
            else:
                v[0] = q[0] + kick[0] * a
                x[0] = x[0] + kick[3] * v[0]
        elif number == 0:
            y[0] = a
            v[0] = q[0] + kick[1] * a
        elif number == 1:
            y[0] = y[0] + k[EXTRA + 1] * a
            v[0] = q[0] + kick[1] * a
        elif number == 2:
            y[0] = y[0] + k[EXTRA + 1] * a
            v[0] = q[0] + kick[0] * a
        else:
            v[0] = q[0] + kick[2] * (y[0] + a)
            x[0] = x[0] + kick[3] * v[0]
    elif scheme == EXACT:
        last = v[0]
        x[0] = x[0] + (fp[0] * last + fq[0] * a)
        v[0] = fc[0] * last + fs[0] * a


cdef inline void turn(int scheme, int dim, const vec* t, vec s, vec* x, vec* v, vec* history) noexcept nogil:
    """Rotate velocities by half a step; for Verlet also the last displacement. t has three components even in 2-D."""
    cdef vec displacement[3]
    cdef int j
    rotate(dim, t, s, v)
    if verlet(scheme):
        for j in range(dim):
            displacement[j] = x[j] - history[j]
        rotate(dim, t, s, displacement)
        for j in range(dim):
            history[j] = x[j] - displacement[j]


cdef inline void rotate(int dim, const vec* t, vec s, vec* v) noexcept nogil:
    """v += s (v + v x t) x t"""
    cdef vec a[MAX_DIM]
    cdef vec b[MAX_DIM]
    cdef int j
    across(dim, v, t, a)
    for j in range(dim):
        a[j] = v[j] + a[j]
    across(dim, a, t, b)
    for j in range(dim):
        v[j] = v[j] + s * b[j]


cdef inline void across(int dim, const vec* v, const vec* t, vec* result) noexcept nogil:
    """v x t; in 2-D t is along z."""
    if dim == 2:
        result[0] = v[1] * t[2]
        result[1] = -(v[0] * t[2])
    else:
        result[0] = v[1] * t[2] - v[2] * t[1]
        result[1] = v[2] * t[0] - v[0] * t[2]
        result[2] = v[0] * t[1] - v[1] * t[0]


cdef inline void damp(int scheme, vec decay, vec* x, vec* v, vec* s) noexcept nogil:
    """v *= exp(-rate h); Verlet also scales the last displacement."""
    v[0] = decay * v[0]
    if verlet(scheme):
        s[0] = x[0] - decay * (x[0] - s[0])
