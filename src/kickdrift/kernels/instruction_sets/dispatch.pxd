# Each scheme as functions that are called through pointers: inlined into one, they would take compilers minutes.
#
# One steps a row or a tile, the other what is too short for blocks, lane by lane: it keeps no registers for more.

from ..simd.vec cimport MEDIUM, NARROW, WIDE, f32lane, lane, width
from ..abi.plan cimport (
    COMPOSITION, COMPOSITION_RK4, DRIFT_KICK, EXACT, EXPLICIT_EULER, HEUN, KICK_DRIFT, MAX_CONSTANTS, MIDPOINT, PLANES,
    RK4, VELOCITY_VERLET, VERLET_BACKWARD, VERLET_CENTRAL, Job, Plan, Row,
)
from ..loops.rows cimport lone_lanes
from ..integrators.steps cimport keeps, set_constants, stages
from ..loops.tiles cimport aligned, in_a_row, locate, step_scheme


cdef inline lane explicit_euler(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(EXPLICIT_EULER, WIDE, plan, job, k, row, count)


cdef inline lane explicit_euler_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(EXPLICIT_EULER, plan, job, k, row, at, count)


cdef inline lane kick_drift(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(KICK_DRIFT, WIDE, plan, job, k, row, count)


cdef inline lane kick_drift_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(KICK_DRIFT, plan, job, k, row, at, count)


cdef inline lane drift_kick(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(DRIFT_KICK, WIDE, plan, job, k, row, count)


cdef inline lane drift_kick_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(DRIFT_KICK, plan, job, k, row, at, count)


cdef inline lane midpoint(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(MIDPOINT, NARROW, plan, job, k, row, count)


cdef inline lane midpoint_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(MIDPOINT, plan, job, k, row, at, count)


cdef inline lane heun(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(HEUN, NARROW, plan, job, k, row, count)


cdef inline lane heun_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(HEUN, plan, job, k, row, at, count)


cdef inline lane rk4(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(RK4, NARROW, plan, job, k, row, count)


cdef inline lane rk4_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(RK4, plan, job, k, row, at, count)


cdef inline lane verlet_backward(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(VERLET_BACKWARD, NARROW, plan, job, k, row, count)


cdef inline lane verlet_backward_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(VERLET_BACKWARD, plan, job, k, row, at, count)


cdef inline lane verlet_central(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(VERLET_CENTRAL, NARROW, plan, job, k, row, count)


cdef inline lane verlet_central_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(VERLET_CENTRAL, plan, job, k, row, at, count)


cdef inline lane velocity_verlet(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(VELOCITY_VERLET, MEDIUM, plan, job, k, row, count)


cdef inline lane velocity_verlet_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(VELOCITY_VERLET, plan, job, k, row, at, count)


cdef inline lane composition(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(COMPOSITION, NARROW, plan, job, k, row, count)


cdef inline lane composition_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(COMPOSITION, plan, job, k, row, at, count)


cdef inline lane composition_rk4(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(COMPOSITION_RK4, NARROW, plan, job, k, row, count)


cdef inline lane composition_rk4_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(COMPOSITION_RK4, plan, job, k, row, at, count)


cdef inline lane exact(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_scheme(EXACT, NARROW, plan, job, k, row, count)


cdef inline lane exact_lanes(
    const Plan* plan, const Job* job, const lane* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return lone_lanes(EXACT, plan, job, k, row, at, count)


cdef inline void prepare(Plan* plan, lane* like) noexcept nogil:
    """What does not change from call to call: constants as lanes, the scheme's function, the first rows."""
    cdef lane (*step)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    cdef lane (*lone)(const Plan*, const Job*, const lane*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    cdef lane* k = aligned(plan.prepared, like)
    cdef float f32[MAX_CONSTANTS]
    cdef double f64[MAX_CONSTANTS]
    cdef int i, count
    cdef Py_ssize_t n
    if lane is f32lane:
        count = set_constants(plan, f32)
    else:
        count = set_constants(plan, f64)
    for i in range(count):
        for n in range(width(k)):
            if lane is f32lane:
                (<float*> (k + i))[n] = f32[i]
            else:
                (<double*> (k + i))[n] = f64[i]
    plan.rows = plan.dim if plan.layout == PLANES else 1
    plan.numbers = 1 if plan.layout == PLANES else plan.dim
    for i in range(plan.dim):
        locate(plan, 0, i, &plan.row[i])
    plan.stages = stages(plan.scheme, plan.velocity_dependent, plan)
    plan.keeps = keeps(plan.scheme, plan.velocity_dependent)
    if plan.scheme == EXPLICIT_EULER:
        step, lone = explicit_euler[lane], explicit_euler_lanes[lane]
    elif plan.scheme == KICK_DRIFT:
        step, lone = kick_drift[lane], kick_drift_lanes[lane]
    elif plan.scheme == DRIFT_KICK:
        step, lone = drift_kick[lane], drift_kick_lanes[lane]
    elif plan.scheme == MIDPOINT:
        step, lone = midpoint[lane], midpoint_lanes[lane]
    elif plan.scheme == HEUN:
        step, lone = heun[lane], heun_lanes[lane]
    elif plan.scheme == RK4:
        step, lone = rk4[lane], rk4_lanes[lane]
    elif plan.scheme == VERLET_BACKWARD:
        step, lone = verlet_backward[lane], verlet_backward_lanes[lane]
    elif plan.scheme == VERLET_CENTRAL:
        step, lone = verlet_central[lane], verlet_central_lanes[lane]
    elif plan.scheme == VELOCITY_VERLET:
        step, lone = velocity_verlet[lane], velocity_verlet_lanes[lane]
    elif plan.scheme == COMPOSITION:
        step, lone = composition[lane], composition_lanes[lane]
    elif plan.scheme == COMPOSITION_RK4:
        step, lone = composition_rk4[lane], composition_rk4_lanes[lane]
    elif plan.scheme == EXACT:
        step, lone = exact[lane], exact_lanes[lane]
    else:
        step = lone = NULL  # others know what to do
    if in_a_row(plan) and plan.n * plan.numbers <= width(k):
        step = lone  # such as a single body: nothing may stand in its way
    plan.step = <void*> step
    plan.lone = <void*> lone
