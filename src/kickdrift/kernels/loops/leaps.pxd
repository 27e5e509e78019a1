# Tiles under static constraints take all steps of a call while they are in the cache.
#
# A tile leaps: the largest speed and acceleration bound the distance that bodies can cover. If no constraint is within
# that distance, the steps run in one go. With affine forces that is a proof. With others it is a guess: the leap is
# made beside the state and measured after each step, and is discarded if its extent reaches a constraint. Where a tile
# cannot leap, each step is checked.

from libc.math cimport fabs
from libc.string cimport memcpy

from ..abi.coupled cimport Coupling
from ..abi.plan cimport COMPOSITION, COMPOSITION_RK4, MAX_DIM, VELOCITY_VERLET, Job, Measure, Plan, Row
from ..abi.registers cimport P, S, V, X, Z
from ..abi.workspace cimport Workspace
from ..constraints.static cimport EXTENT, HIGH, constrain_tile, find_delta_v, measure, reaches_any, widen
from ..forces.fields cimport FIRST_TERMS, affine, field_vec
from ..integrators.traits cimport fsal, verlet
from ..simd.masks cimport absolute, all_true, all_zero, less, maximum
from ..simd.vec cimport f32vec, filled, vec, width
from .fused cimport damp_planes
from .slots cimport any_of
from .passes cimport coupled_step
from .planes cimport aligned
from .tiles cimport affine_only, in_planes, locate_planes

cdef enum:
    LONGEST = 4096  # maximum steps per leap, because rounding errors accumulate
    PATIENCE = 8    # steps before a failed leap is tried again

cdef enum:          # bounds of the motion along an axis, over the bodies in each lane; each for all axes
    SPEED = 0
    ACCELERATION = MAX_DIM
    DRAG = 2 * MAX_DIM          # 1/s
    SPRING = 3 * MAX_DIM        # 1/s2
    MOTION = 4 * MAX_DIM


cdef inline void find_motion(
    const Plan* plan, int j, Py_ssize_t first, Py_ssize_t count, const vec* r, Py_ssize_t plane, vec* motion,
) noexcept nogil:
    """Find the largest magnitudes in a tile, without those of terms. For Verlet, v also counts as (x - s) / last_h."""
    cdef const vec* x = r + (X * MAX_DIM + j) * plane
    cdef const vec* v = r + (V * MAX_DIM + j) * plane
    cdef const vec* s = r + (S * MAX_DIM + j) * plane
    cdef Py_ssize_t vectors = (count + width(r) - 1) // width(r)
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
    for n in range(vectors):
        speed = maximum(absolute(v[n]), speed)
    if verlet(plan.scheme):
        for n in range(vectors):
            speed = maximum(absolute((x[n] - s[n]) / last), speed)
    if not (plan.drag or plan.spring or plan.g.body):
        vectors = 1     # uniform
    for n in range(vectors):
        body = first + n * width(r)
        if plan.drag:
            c, w = field_vec(&plan.c, j, body, r), field_vec(&plan.w, j, body, r)
            drag = maximum(absolute(c), drag)
        if plan.spring:
            k, p = field_vec(&plan.k, j, body, r), field_vec(&plan.p, j, body, r)
            spring = maximum(absolute(k), spring)
        a = affine(plan.drag, True, plan.spring, x[n], v[n], field_vec(&plan.g, j, body, r), c, w, k, p)
        acceleration = maximum(absolute(a), acceleration)
    motion[SPEED + j], motion[ACCELERATION + j] = speed, acceleration
    motion[DRAG + j], motion[SPRING + j] = drag, spring


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
    const Plan* plan, Py_ssize_t steps, const vec* motion, const vec* now, vec* there,
) noexcept nogil:
    """Bound the extent of a tile over `steps` steps; return False if there is no bound.

    With largest speed W and acceleration A during time T: W <= V + T A, the displacement is at most T W, and
    A <= a + c (W + V) + k T W. V and a are the initial values.
    """
    cdef double epsilon = 1.2e-7 if vec is f32vec else 2.3e-16
    cdef vec t = filled(time_of(plan, steps), now)
    cdef vec least = filled(1e-30 if vec is f32vec else 1e-290, now)     # keeps bounds above 0 where products underflow
    cdef vec rounding = filled(16 * epsilon * (steps + 8), now)
    cdef vec share, displacement
    cdef int j
    for j in range(plan.dim):
        share = t * (motion[DRAG + j] + motion[SPRING + j] * t)
        if not all_true(less(share, filled(0.5, now)), now):
            return False
        displacement = motion[SPEED + j] + t * (motion[ACCELERATION + j] + motion[DRAG + j] * motion[SPEED + j])
        displacement = filled(1.01, now) * t * displacement / (filled(1, now) - share) + least
        displacement = displacement + rounding * (maximum(absolute(now[j]), absolute(now[HIGH + j])) + displacement)
        there[j], there[HIGH + j] = now[j] - displacement, now[HIGH + j] + displacement
        if not all_zero(displacement - displacement):
            return False
    return True


cdef inline Py_ssize_t free_steps(
    const Coupling* coupling, Py_ssize_t steps, Py_ssize_t first, Py_ssize_t count, const vec* r, Py_ssize_t plane,
    const vec* now,
) noexcept nogil:
    """Number of steps, up to `steps`, in which terms apart a tile touches no constraint; 0 if unknown."""
    cdef const Plan* plan = coupling.plan
    cdef vec motion[MOTION]
    cdef vec there[EXTENT]
    cdef int j
    for j in range(plan.dim):
        find_motion(plan, j, first, count, r, plane, motion)
    while steps > 1:
        if extend(plan, steps, motion, now, there):
            if not reaches_any(coupling, 0, coupling.constraints, first, count, there, there, r):
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


cdef inline void copy_state(
    const Plan* plan, bint kept, Py_ssize_t plane, Py_ssize_t vectors, const vec* source, vec* to,
) noexcept nogil:
    """Copy the state of a tile; kept: also what its last step left for the next one, see fused.pxd."""
    cdef int left = P if fsal(plan.scheme, plan.velocity_dependent) else Z
    cdef int least = left if left == P else Z - min(plan.terms, FIRST_TERMS) + 1
    cdef Py_ssize_t i
    cdef int number, j
    for number in range(X, Z + 1):
        if number == S and plan.s.data == NULL or number > S and not (kept and least <= number <= left):
            continue
        for j in range(plan.dim):
            i = (number * MAX_DIM + j) * plane
            memcpy(to + i, source + i, vectors * sizeof(vec))


cdef inline void swap(Workspace* workspace) noexcept nogil:
    workspace.now, workspace.next = workspace.next, workspace.now


cdef inline Py_ssize_t leap(
    const Coupling* coupling, Job* part, Workspace* workspace, Py_ssize_t* most, vec* now, vec* like,
) noexcept nogil:
    """Make part.steps steps, or fewer, in one go; return their number, 0 if none. now: the extent; most: of steps."""
    cdef const Plan* plan = coupling.plan
    cdef Py_ssize_t first = workspace.first
    cdef Py_ssize_t count = workspace.count
    cdef Py_ssize_t plane = workspace.plane // width(like)
    cdef Py_ssize_t vectors = (count + width(like) - 1) // width(like)
    cdef vec swept[EXTENT]
    cdef Py_ssize_t i
    part.steps = free_steps(
        coupling, min(part.steps, most[0]), first, count, <vec*> workspace.now, plane, now,
    )
    if part.steps == 0:
        return 0
    if affine_only(plan):
        step_by_loops(coupling, plan, part, first, count, <vec*> workspace.now)
        return part.steps
    for i in range(EXTENT):
        swept[i] = now[i]
    part.measure, part.extent = <Measure> widen[vec], swept
    copy_state(plan, part.recalled, plane, vectors, <vec*> workspace.now, <vec*> workspace.next)
    step_by_loops(coupling, plan, part, first, count, <vec*> workspace.next)
    part.measure = NULL
    if reaches_any(coupling, 0, coupling.constraints, first, count, swept, swept, like):
        part.evaluations = 0
        most[0] = part.steps // 4
        return 0
    swap(workspace)
    most[0] = LONGEST
    return part.steps


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
    cdef bint looped = affine_only(plan) or in_planes(plan)
    cdef bint needs_start = job.begin and any_of(plan.slots.needs_start + first, count)
    cdef bint recalls = plan.scheme == VELOCITY_VERLET and in_planes(plan) and not affine_only(plan)
    cdef bint recalled = False
    cdef Py_ssize_t step = 0
    cdef Py_ssize_t wait = 0
    cdef Py_ssize_t most = LONGEST
    cdef Job part
    cdef Plan undamped
    cdef vec before[EXTENT]
    cdef vec now[EXTENT]
    cdef int i
    workspace.opened = workspace.opens = False
    if plan.damped:     # damping follows the constraints
        undamped = plan[0]
        undamped.damped = False
        simple = &undamped
    measure(plan, first, count, workspace.plane, <const vec*> workspace.now, now)
    while step < job.steps:
        part = job[0]
        part.evaluations = 0
        part.start = job.start and step == 0
        part.begin = needs_start and step == 0
        part.tick += step
        part.recalled = recalled
        if looped and wait == 0 and not part.start and not part.begin:
            part.steps = job.steps - step
            if leap(coupling, &part, workspace, &most, now, like) > 0:
                job.evaluations += part.evaluations
                step += part.steps
                recalled = recalls
                if step < job.steps:
                    measure(plan, first, count, workspace.plane, <const vec*> workspace.now, now)
                continue
            wait = PATIENCE
            if most < 2:
                most = PATIENCE
        wait -= wait > 0
        part.steps = 1
        if looped and not part.begin:
            copy_state(plan, recalled, plane, vectors, <vec*> workspace.now, <vec*> workspace.next)
            step_by_loops(coupling, simple, &part, first, count, <vec*> workspace.next)
        else:
            coupled_step(coupling, &part, 0, workspace, like)
        job.evaluations += part.evaluations
        for i in range(EXTENT):
            before[i] = now[i]
        measure(plan, first, count, workspace.plane, <const vec*> workspace.next, now)
        recalled = recalls
        if reaches_any(coupling, 0, coupling.constraints, first, count, before, now, like):
            if stops:
                return step
            find_delta_v(plan.dim, first, count, workspace, like)
            constrain_tile(coupling, 0, coupling.constraints, first, count, workspace, before, now, like)
            measure(plan, first, count, workspace.plane, <const vec*> workspace.next, now)
            recalled = False
        if plan.damped:
            damp_planes(plan, first, vectors, <vec*> workspace.next)
        swap(workspace)
        step += 1
    return step
