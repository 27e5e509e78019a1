# Tiles under static constraints take all steps of a call while they are in the cache.
#
# With affine forces a tile leaps: the largest speed and acceleration bound the distance that bodies can cover. If no
# constraint is within that distance, the steps run in one go, in registers. Otherwise each step is checked.

from libc.math cimport fabs
from libc.string cimport memcpy

from ..abi.coupled cimport Coupling
from ..abi.plan cimport COMPOSITION, COMPOSITION_RK4, MAX_DIM, Job, Plan, Row
from ..abi.registers cimport S, V, X
from ..abi.workspace cimport Workspace
from ..constraints.static cimport Extent, constrain_tile, find_delta_v, measure, number_of, reaches_any
from ..forces.fields cimport affine, field_vec
from ..integrators.traits cimport verlet
from ..simd.masks cimport absolute, maximum
from ..simd.vec cimport f32vec, filled, vec, width
from .fused cimport damp_planes
from .slots cimport any_of
from .passes cimport coupled_step
from .planes cimport aligned
from .tiles cimport affine_only, in_planes, locate_planes

cdef enum:
    LONGEST = 4096  # maximum steps per leap, because rounding errors accumulate
    PATIENCE = 8    # steps before a failed leap is tried again

# Bounds of the motion along one axis, over the bodies of a tile.
ctypedef struct Motion:
    double speed
    double acceleration
    double drag             # 1/s
    double spring           # 1/s2


cdef inline double greatest_of(vec q) noexcept nogil:
    cdef double found = 0
    cdef Py_ssize_t lane
    for lane in range(width(&q)):
        found = max(found, number_of(&q, lane))
    return found


cdef inline void find_motion(
    const Plan* plan, int j, Py_ssize_t first, Py_ssize_t count, const vec* r, Py_ssize_t plane, Motion* motion,
) noexcept nogil:
    """Find the largest magnitudes in a tile. For Verlet, v also counts as (x - s) / last_h."""
    cdef const vec* x = r + (X * MAX_DIM + j) * plane
    cdef const vec* v = r + (V * MAX_DIM + j) * plane
    cdef const vec* s = r + (S * MAX_DIM + j) * plane
    cdef vec zero = filled(0, r)
    cdef vec last = filled(plan.last_h, r)
    cdef vec a
    cdef vec speed = zero
    cdef vec acceleration = zero
    cdef vec drag = zero
    cdef vec spring = zero
    cdef vec c = zero
    cdef vec k = zero
    cdef vec w = zero
    cdef vec p = zero
    cdef Py_ssize_t n, body
    for n in range((count + width(r) - 1) // width(r)):
        body = first + n * width(r)
        if plan.drag:
            c, w = field_vec(&plan.c, j, body, r), field_vec(&plan.w, j, body, r)
            drag = maximum(absolute(c), drag)
        if plan.spring:
            k, p = field_vec(&plan.k, j, body, r), field_vec(&plan.p, j, body, r)
            spring = maximum(absolute(k), spring)
        speed = maximum(absolute(v[n]), speed)
        if verlet(plan.scheme):
            speed = maximum(absolute((x[n] - s[n]) / last), speed)
        a = affine(plan.drag, True, plan.spring, x[n], v[n], field_vec(&plan.g, j, body, r), c, w, k, p)
        acceleration = maximum(absolute(a), acceleration)
    motion.speed, motion.acceleration = greatest_of(speed), greatest_of(acceleration)
    motion.drag, motion.spring = greatest_of(drag), greatest_of(spring)


cdef inline double time_of(const Plan* plan, Py_ssize_t steps) noexcept nogil:
    """Upper bound of the time that steps drift or kick, one step of lookahead included; signs do not matter."""
    cdef double drift = fabs(plan.h)
    cdef double kick = 0
    cdef int i
    if plan.scheme == COMPOSITION or plan.scheme == COMPOSITION_RK4:
        drift = fabs(plan.constants[0])
        for i in range(plan.kicks):
            kick += fabs(plan.constants[1 + 2 * i])
            drift += fabs(plan.constants[2 + 2 * i])
    return (steps + 1) * max(max(drift, kick), fabs(plan.last_h))


cdef inline bint extend(
    const Plan* plan, Py_ssize_t steps, const Motion* motion, const Extent* now, Extent* there, const vec* like,
) noexcept nogil:
    """Bound the extent of a tile over `steps` steps; return False if there is no bound.

    With largest speed W and acceleration A during time T: W <= V + T A, the displacement is at most T W, and
    A <= a + c (W + V) + k T W. V and a are the initial values.
    """
    cdef double t = time_of(plan, steps)
    cdef double epsilon = 1.2e-7 if vec is f32vec else 2.3e-16
    cdef double share, displacement
    cdef int j
    for j in range(plan.dim):
        share = t * (motion[j].drag + motion[j].spring * t)
        if not share < 0.5:
            return False
        displacement = motion[j].speed + t * (motion[j].acceleration + motion[j].drag * motion[j].speed)
        displacement = 1.01 * t * displacement / (1 - share)
        displacement += 16 * epsilon * (steps + 8) * (max(fabs(now.low[j]), fabs(now.high[j])) + displacement)
        there.low[j], there.high[j] = now.low[j] - displacement, now.high[j] + displacement
        if not (displacement - displacement == 0):
            return False
    return True


cdef inline Py_ssize_t free_steps(
    const Coupling* coupling, Py_ssize_t steps, Py_ssize_t first, Py_ssize_t count, const vec* r, Py_ssize_t plane,
    const Extent* now,
) noexcept nogil:
    """Number of steps, up to `steps`, in which a tile touches no constraint; 0 if unknown."""
    cdef const Plan* plan = coupling.plan
    cdef Motion motion[MAX_DIM]
    cdef Extent there
    cdef int j
    steps = min(steps, <Py_ssize_t> LONGEST)
    for j in range(plan.dim):
        find_motion(plan, j, first, count, r, plane, &motion[j])
    while steps > 1:
        if extend(plan, steps, motion, now, &there, r):
            if not reaches_any(coupling, 0, coupling.constraints, first, count, &there, &there, r):
                return steps
        steps //= 4
    return 0


cdef inline void step_by_loops(
    const Coupling* coupling, const Plan* plan, Job* job, Py_ssize_t first, Py_ssize_t count, vec* r,
) noexcept nogil:
    """Step a tile without constraints, by the loops of rows.pxd and fused.pxd."""
    cdef vec (*step)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    cdef const vec* k = aligned(coupling.plan.prepared, r)     # a copy of the plan may have another alignment
    cdef Row row
    cdef int j
    step = <vec (*)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil> plan.step
    if affine_only(plan):
        for j in range(plan.dim):
            locate_planes(plan, first, j, r, &row)
            step(plan, job, k, &row, 0, count)
    else:
        row.first, row.planes = first, <char*> r
        step(plan, job, k, &row, 0, count)
    job.evaluations += job.steps * (plan.stages + plan.fsal) + job.start


cdef inline Py_ssize_t advance_static(
    const Coupling* coupling, Job* job, Workspace* workspace, bint stops, vec* like,
) noexcept nogil:
    """Step a tile from `now`; return the steps done. stops: end before a step in which it touches a constraint."""
    cdef const Plan* plan = coupling.plan
    cdef const Plan* simple = plan
    cdef Py_ssize_t first = workspace.first
    cdef Py_ssize_t count = workspace.count
    cdef Py_ssize_t plane = workspace.plane // width(like)
    cdef Py_ssize_t vectors = (count + width(like) - 1) // width(like)
    cdef bint leaps = affine_only(plan)
    cdef bint looped = leaps or in_planes(plan)
    cdef bint needs_start = job.begin and any_of(plan.slots.needs_start + first, count)
    cdef Py_ssize_t step = 0
    cdef Py_ssize_t wait = 0
    cdef Py_ssize_t i
    cdef int j, number
    cdef Job part
    cdef Plan undamped
    cdef Extent before, now
    workspace.opened = workspace.opens = False
    if plan.damped:     # damping follows the constraints
        undamped = plan[0]
        undamped.damped = False
        simple = &undamped
    measure(plan, first, count, workspace.plane, <const vec*> workspace.now, &now)
    while step < job.steps:
        part = job[0]
        part.evaluations = 0
        part.start = job.start and step == 0
        part.begin = needs_start and step == 0
        part.tick += step
        part.steps = 1
        if leaps and wait == 0 and not part.start and not part.begin:
            part.steps = free_steps(coupling, job.steps - step, first, count, <vec*> workspace.now, plane, &now)
            if part.steps > 0:
                step_by_loops(coupling, plan, &part, first, count, <vec*> workspace.now)
                job.evaluations += part.evaluations
                step += part.steps
                measure(plan, first, count, workspace.plane, <const vec*> workspace.now, &now)
                continue
            part.steps, wait = 1, PATIENCE
        wait -= wait > 0
        if looped and not part.begin:
            for number in range(X, S + 1 if plan.s.data != NULL else S):
                for j in range(plan.dim):
                    i = (number * MAX_DIM + j) * plane
                    memcpy(<vec*> workspace.next + i, <vec*> workspace.now + i, vectors * sizeof(vec))
            step_by_loops(coupling, simple, &part, first, count, <vec*> workspace.next)
        else:
            coupled_step(coupling, &part, 0, workspace, like)
        job.evaluations += part.evaluations
        before = now
        measure(plan, first, count, workspace.plane, <const vec*> workspace.next, &now)
        if reaches_any(coupling, 0, coupling.constraints, first, count, &before, &now, like):
            if stops:
                return step
            find_delta_v(plan.dim, first, count, workspace, like)
            constrain_tile(coupling, 0, coupling.constraints, first, count, workspace, &before, &now, like)
        if plan.damped:
            damp_planes(plan, first, vectors, <vec*> workspace.next)
        workspace.now, workspace.next = workspace.next, workspace.now
        step += 1
    return step
