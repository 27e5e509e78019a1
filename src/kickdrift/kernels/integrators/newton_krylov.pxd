# Implicit Euler with interactions: kickdrift/reference/newton_krylov.py, in the same order of operations.
#
# The vectors of the linear solver are registers as in loops/passes.pxd (structure of arrays), in a workspace of their
# own. Forces are evaluated only at X and V of the next state: Python functions have views of the state buffers, but
# not of that workspace.

from libc.float cimport DBL_EPSILON, DBL_MIN, FLT_EPSILON, FLT_MIN
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..abi.plan cimport (
    CHANGE, DAMPING, DIRECTION, DISPLACEMENT, DX, HERE, IMAGE, KEPT, MATRIX, OUT, PLACE, R, REST, SPARE, SPEED, V, X,
    Field, Job, Plan,
)
from ..abi.coupled cimport KEEP, UNSOLVED, Coupling, InteractionCall, NoisyTangent, Workspace, time_of
from ..noise cimport apply_thermostat
from ..simd.masks cimport positive, select_or_zero
from ..simd.vec cimport f32vec, vec, load_part, real, spread, width
from ..loops.stages cimport moving, size
from ..loops.passes cimport finish, interact, out_register
from .newton cimport jacobian
from ..forces.fields cimport field_vec, larger, magnitude, root

cdef enum:
    MOST_PRODUCTS = 1000    # maximum number of products J p per linear system
    SUMS = 16               # partial sums of a dot product: as many as the widest vector has numbers

# Data of a step in progress.
ctypedef struct System:
    const Coupling* coupling
    Job* job
    const Workspace* workspace
    double t                # end of the step, s
    int64_t tick            # tick that seeds the noise
    double far, fast        # magnitudes of positions and velocities: scales of finite differences
    double slope            # largest observed |da| / |du|


cdef inline vec* vector(const System* system, int number, vec* like) noexcept nogil:
    return <vec*> (system.coupling.krylov + number * size(system.workspace, like))


cdef inline vec* shown(const System* system, int number, vec* like) noexcept nogil:
    """Return X or V of the next state."""
    return <vec*> (system.workspace.next + number * size(system.workspace, like))


cdef inline void combine(const System* system, vec* to, const vec* a, int sign, real s, const vec* b) noexcept nogil:
    """to = a + s b if sign > 0, a - s b if sign < 0, s b if sign is 0."""
    cdef vec factor = spread(&s, 0, b)
    cdef Py_ssize_t plane = system.workspace.plane // width(b)
    cdef Py_ssize_t vectors = (system.workspace.count + width(b) - 1) // width(b)
    cdef Py_ssize_t i
    cdef int j
    for j in range(system.coupling.plan.dim):
        for i in range(j * plane, j * plane + vectors):
            if sign > 0:
                to[i] = a[i] + factor * b[i]
            elif sign < 0:
                to[i] = a[i] - factor * b[i]
            else:
                to[i] = factor * b[i]


cdef inline void quotient(const System* system, vec* to, const vec* a, const vec* b, real s) noexcept nogil:
    """to = (a - b) / s, or a / s without b."""
    cdef vec divisor = spread(&s, 0, a)
    cdef Py_ssize_t plane = system.workspace.plane // width(a)
    cdef Py_ssize_t vectors = (system.workspace.count + width(a) - 1) // width(a)
    cdef Py_ssize_t i
    cdef int j
    for j in range(system.coupling.plan.dim):
        for i in range(j * plane, j * plane + vectors):
            to[i] = (a[i] - b[i]) / divisor if b != NULL else a[i] / divisor


cdef inline void copy(const System* system, vec* to, const vec* source) noexcept nogil:
    memcpy(to, source, size(system.workspace, source))


cdef inline real inner(const System* system, const vec* p, const vec* q, real like) noexcept nogil:
    """Return the sum of m p q (m: relative masses), by SUMS partial sums per component, which are then added."""
    cdef const Field* weight = &system.coupling.weight
    cdef vec sums[SUMS]
    cdef vec u, v
    cdef Py_ssize_t w = width(p)
    cdef Py_ssize_t plane = system.workspace.plane // w
    cdef Py_ssize_t whole = system.workspace.count // SUMS * SUMS
    cdef Py_ssize_t body, i, count
    cdef real total = 0
    cdef int j, k
    for j in range(system.coupling.plan.dim):
        memset(sums, 0, SUMS * sizeof(real))
        body = 0
        while body < whole:
            for k in range(SUMS // w):
                i = j * plane + body // w + k
                sums[k] = sums[k] + field_vec(weight, 0, body + k * w, p) * (p[i] * q[i])
            body += SUMS
        for k in range(SUMS // w):
            i = j * plane + whole // w + k
            count = system.workspace.count - whole - k * w
            if count <= 0:
                break   # weights are padded to whole rows only, and may end here
            load_part(&u, <const char*> (p + i), count)
            load_part(&v, <const char*> (q + i), count)
            sums[k] = sums[k] + field_vec(weight, 0, whole + k * w, p) * (u * v)
        for k in range(SUMS):
            total = total + (<real*> sums)[k]
    return total


cdef inline real most(const System* system, const void* numbers, real like) noexcept nogil:
    """Return the largest magnitude of a component of any body; NaN if any is NaN."""
    cdef const real* u = <const real*> numbers
    cdef real largest[SUMS]
    cdef Py_ssize_t whole = system.workspace.count // SUMS
    cdef Py_ssize_t i, k
    cdef int j
    for k in range(SUMS):
        largest[k] = 0
    for j in range(system.coupling.plan.dim):
        for i in range(whole):
            for k in range(SUMS):
                largest[k] = larger(largest[k], magnitude(u[j * system.workspace.plane + i * SUMS + k]))
        for i in range(whole * SUMS, system.workspace.count):
            largest[0] = larger(largest[0], magnitude(u[j * system.workspace.plane + i]))
    for k in range(1, SUMS):
        largest[0] = larger(largest[0], largest[k])
    return largest[0]


cdef inline Py_ssize_t worst(const System* system, const real* f) noexcept nogil:
    """Body with the largest component; the first body with a NaN, if any."""
    cdef Py_ssize_t body = 0, i
    cdef real largest = magnitude(f[0])
    cdef real a
    cdef int j
    for i in range(system.workspace.count):
        for j in range(system.coupling.plan.dim):
            a = magnitude(f[j * system.workspace.plane + i])
            if a != a:
                return i
            if a > largest:
                largest = a
                body = i
    return body


cdef inline int evaluate(const System* system, real h, vec* like) noexcept nogil:
    """Evaluate f and positions for the velocities in V of the next state; return nonzero if an interaction fails."""
    cdef const Coupling* coupling = system.coupling
    cdef const Workspace* workspace = system.workspace
    cdef const vec* x = <const vec*> (workspace.now + X * size(workspace, like))
    cdef const vec* v = <const vec*> (workspace.now + V * size(workspace, like))
    cdef vec* u = shown(system, V, like)
    cdef vec* f = vector(system, REST, like)
    cdef real one = 1
    combine(system, shown(system, X, like), x, 1, h, u)
    if interact(coupling, system.job, workspace, workspace.next, system.t, system.tick, like, OUT, False) != 0:
        return system.job.code
    finish(KEEP, 0, coupling, workspace, workspace.next, like)
    combine(system, f, u, -1, one, v)
    combine(system, f, f, -1, h, <const vec*> workspace.start)
    return 0


cdef inline void take_matrices(const System* system, real h, vec* like) noexcept nogil:
    """Store the Jacobians da/dv + h da/dx of forces on single bodies, and the outputs of interactions."""
    cdef const Plan* plan = system.coupling.plan
    cdef Py_ssize_t plane = system.workspace.plane
    cdef const real* y = <const real*> vector(system, PLACE, like)
    cdef const real* u = <const real*> vector(system, SPEED, like)
    cdef real* to
    cdef real by_x[3][3]
    cdef real by_v[3][3]
    cdef real position[3]
    cdef real velocity[3]
    cdef Py_ssize_t body
    cdef int i, j
    for body in range(system.workspace.count):
        for i in range(plan.dim):
            position[i] = y[i * plane + body]
            velocity[i] = u[i * plane + body]
        jacobian(plan, body, &position[0], &velocity[0], by_x, by_v)
        for i in range(plan.dim):
            to = <real*> vector(system, MATRIX + i, like)
            for j in range(plan.dim):
                to[j * plane + body] = by_v[i][j] + h * by_x[i][j]
    for i in range(system.coupling.interactions):
        copy(system, vector(system, HERE + i, like), <const vec*> out_register(system.workspace, i, like))


cdef inline int call(const System* system, int number, vec* like) noexcept nogil:
    """Evaluate one interaction at X and V of the next state."""
    cdef const InteractionCall* term = &system.coupling.interaction[number]
    cdef char* out = out_register(system.workspace, number, like)
    memset(out, 0, size(system.workspace, like))
    system.job.code = term.function(
        system.t, 0, system.workspace.count, system.coupling.plan.dim, system.workspace.plane,
        shown(system, X, like), shown(system, V, like), out, term.data,
    )
    if system.job.code != 0:
        system.job.failed_part = number
    return system.job.code


cdef inline int differences(const System* system, int number, const vec* p, vec* like, real zero) noexcept nogil:
    """Compute the change of an interaction's output for changes p of velocities and h p of positions (register DX), by
    finite differences, accurate to half of the digits."""
    cdef real epsilon = FLT_EPSILON if real is float else DBL_EPSILON
    cdef real half = root(epsilon)
    cdef real e
    cdef vec* out = <vec*> out_register(system.workspace, number, like)
    cdef vec* spare = vector(system, SPARE, like)
    cdef const vec* here = vector(system, HERE + number, like)
    cdef const vec* dx = vector(system, DX, like)
    cdef real one = 1
    e = half * <real> system.far / most(system, dx, zero)
    combine(system, shown(system, X, like), vector(system, PLACE, like), 1, e, dx)
    copy(system, shown(system, V, like), vector(system, SPEED, like))
    if call(system, number, like) != 0:
        return system.job.code
    quotient(system, out, out, here, e)
    if system.coupling.interaction[number].velocity_dependent:
        copy(system, spare, out)
        e = half * <real> system.fast / most(system, p, zero)
        copy(system, shown(system, X, like), vector(system, PLACE, like))
        combine(system, shown(system, V, like), vector(system, SPEED, like), 1, e, p)
        if call(system, number, like) != 0:
            return system.job.code
        quotient(system, out, out, here, e)
        combine(system, out, spare, 1, one, out)
    return 0


cdef inline int product(System* system, real h, vec* q, vec* like) noexcept nogil:
    """q = J r = r - h da, where da is the change of accelerations for velocities + r, positions + h r."""
    cdef const Coupling* coupling = system.coupling
    cdef const Workspace* workspace = system.workspace
    cdef const vec* p = vector(system, R, like)
    cdef vec* dx = vector(system, DX, like)
    cdef vec* change = vector(system, CHANGE, like)
    cdef const vec* row
    cdef const vec* o
    cdef const InteractionCall* term
    cdef const vec* weight
    cdef char* out
    cdef vec a
    cdef Py_ssize_t w = width(like)
    cdef Py_ssize_t plane = workspace.plane // w
    cdef Py_ssize_t vectors = (workspace.count + w - 1) // w
    cdef Py_ssize_t n
    cdef real slope
    cdef int dim = coupling.plan.dim
    cdef int i, j, number
    combine(system, dx, p, 0, h, p)
    for i in range(dim):
        row = vector(system, MATRIX + i, like)
        for n in range(vectors):
            a = row[n] * p[n]
            for j in range(1, dim):
                a = a + row[j * plane + n] * p[j * plane + n]
            change[i * plane + n] = a
    for number in range(coupling.interactions):
        term = &coupling.interaction[number]
        out = out_register(workspace, number, like)
        if term.tangent != NULL:
            memset(out, 0, size(workspace, like))
            if term.noisy:
                system.job.code = (<NoisyTangent> term.tangent)(
                    system.t, workspace.count, dim, workspace.plane, vector(system, PLACE, like),
                    vector(system, SPEED, like),
                    dx, p, out, term.tangent_data, system.tick,
                )
            else:
                system.job.code = term.tangent(
                    system.t, workspace.count, dim, workspace.plane, vector(system, PLACE, like),
                    vector(system, SPEED, like),
                    dx, p, out, term.tangent_data,
                )
            if system.job.code != 0:
                system.job.failed_part = number
                return system.job.code
        elif differences(system, number, p, like, h) != 0:
            return system.job.code
        o = <const vec*> out
        for j in range(dim):
            for n in range(vectors):
                change[j * plane + n] = change[j * plane + n] + (
                    field_vec(&term.factor, 0, n * w, like) * o[j * plane + n]
                )
    weight = <const vec*> moving(coupling, system.workspace)
    if weight != NULL:
        for j in range(dim):
            for n in range(vectors):
                change[j * plane + n] = select_or_zero(positive(weight[n]), change[j * plane + n])
    slope = most(system, change, h) / most(system, p, h)
    if slope > <real> system.slope:
        system.slope = slope
    combine(system, q, p, -1, h, change)
    return 0


cdef inline int orthomin(System* system, real h, real share, vec* like) noexcept nogil:
    """Solve J w = b until |b - J w| <= share |b|, or no further progress. b is in register R, w in DISPLACEMENT."""
    cdef vec* w = vector(system, DISPLACEMENT, like)
    cdef vec* r = vector(system, R, like)
    cdef vec* p
    cdef vec* q
    cdef const vec* image
    cdef real norms[KEPT + 1]
    cdef real rest = inner(system, r, r, h)
    cdef real goal = share * share * rest
    cdef real zero = 0
    cdef real s
    cdef int number, before, slot
    combine(system, w, r, 0, zero, r)
    for number in range(MOST_PRODUCTS):
        if not rest > goal:
            break
        slot = number % (KEPT + 1)
        p = vector(system, DIRECTION + slot, like)
        q = vector(system, IMAGE + slot, like)
        if product(system, h, q, like) != 0:
            return system.job.code
        copy(system, p, r)
        for before in range(max(0, number - KEPT), number):
            image = vector(system, IMAGE + before % (KEPT + 1), like)
            s = inner(system, q, image, h) / norms[before % (KEPT + 1)]
            combine(system, p, p, -1, s, vector(system, DIRECTION + before % (KEPT + 1), like))
            combine(system, q, q, -1, s, image)
        if not inner(system, p, q, h) > 0:  # J is not positive definite, or NaN
            if number == 0:
                copy(system, w, r)
            break
        norms[slot] = inner(system, q, q, h)
        s = inner(system, r, q, h) / norms[slot]
        combine(system, w, w, 1, s, p)
        combine(system, r, r, -1, s, q)
        rest = inner(system, r, r, h)
    return 0


cdef inline int implicit_step(
    const Coupling* coupling, Job* job, const Workspace* workspace, double t, int64_t tick, vec* like, real zero,
) noexcept nogil:
    """Solve f(u) = 0 for the new velocities u, and step with them; return nonzero if that fails."""
    cdef System system
    cdef const Plan* plan = coupling.plan
    cdef real h = <real> plan.h
    cdef real tolerance = <real> plan.tolerance
    cdef real epsilon = FLT_EPSILON if real is float else DBL_EPSILON
    cdef real smallest = FLT_MIN / FLT_EPSILON if real is float else DBL_MIN / DBL_EPSILON
    cdef real four = 4
    cdef real least = <real> 0.01
    cdef real one = 1
    cdef real residual, scale, far, goal, share
    cdef int iteration
    cdef vec* f
    system.coupling = coupling
    system.job = job
    system.workspace = workspace
    system.t = t
    system.tick = tick
    system.slope = 0
    f = vector(&system, REST, like)
    copy(&system, shown(&system, V, like), <const vec*> (workspace.now + V * size(workspace, like)))
    if evaluate(&system, h, like) != 0:
        return job.code
    for iteration in range(plan.iterations + 1):
        residual = most(&system, f, h)
        if residual == 0:
            break
        scale = (
            most(&system, shown(&system, V, like), h) + most(&system, workspace.now + V * size(workspace, like), h)
            + magnitude(h) * most(&system, workspace.start, h)
        )
        far = most(&system, shown(&system, X, like), h) + magnitude(h) * most(&system, shown(&system, V, like), h)
        goal = tolerance * scale + four * epsilon * (scale + <real> system.slope * far) + smallest
        # The first guess never counts as solved: for fast bodies any force would seem negligible.
        if iteration > 0 and residual <= goal:
            break
        if iteration == plan.iterations:
            job.failed_part = -1
            job.failed_body = worst(&system, <const real*> f)
            job.residual = residual
            job.code = UNSOLVED
            return UNSOLVED
        share = goal / residual / four
        if iteration == 0 or not share > least:
            share = least
        system.far = far if far > 0 else one
        system.fast = scale
        system.slope = 0
        copy(&system, vector(&system, PLACE, like), shown(&system, X, like))
        copy(&system, vector(&system, SPEED, like), shown(&system, V, like))
        take_matrices(&system, h, like)
        quotient(&system, vector(&system, R, like), f, NULL, residual)
        if orthomin(&system, h, share, like) != 0:
            return job.code
        combine(&system, vector(&system, DISPLACEMENT, like), f, 0, residual, vector(&system, DISPLACEMENT, like))
        combine(
            &system, shown(&system, V, like), vector(&system, SPEED, like), -1, one, vector(&system, DISPLACEMENT, like)
        )
        if evaluate(&system, h, like) != 0:
            return job.code
    return 0


cdef inline int together(
    const Coupling* coupling, Job* job, Py_ssize_t step, const Workspace* workspace, vec* like,
) noexcept nogil:
    """Make one implicit step of all bodies, from `now` to `next`; return nonzero if it fails."""
    cdef int64_t tick = job.tick + step + coupling.ticks[0]
    cdef double t = time_of(coupling, tick) + coupling.after[0]
    cdef float single = 0
    cdef double whole = 0
    if vec is f32vec:
        implicit_step(coupling, job, workspace, t, tick, like, single)
    else:
        implicit_step(coupling, job, workspace, t, tick, like, whole)
    if job.code == 0 and coupling.noise != NULL:
        apply_thermostat(coupling, workspace, job.tick + step, False, like)
    if job.code == 0 and coupling.plan.damped and coupling.constraints == 0:
        coupling.plan.between(DAMPING, coupling.plan.scheme, coupling.plan, workspace, workspace.next, NULL, NULL)
    return job.code
