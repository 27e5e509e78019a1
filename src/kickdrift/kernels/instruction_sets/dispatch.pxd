# Two functions for each scheme, called through pointers: a single function with all schemes takes minutes to compile.
#
# The first steps a row in blocks. The second, `..._vectors`, steps short rows vector by vector, with less
# register setup.

from ..simd.vec cimport MEDIUM, NARROW, WIDE, f32vec, vec, width
from ..abi.plan cimport (
    COMPOSITION, COMPOSITION_RK4, DRIFT_KICK, EXACT, EXPLICIT_EULER, HEUN, KICK_DRIFT, MAX_CONSTANTS, MIDPOINT, PLANES,
    RK4, VELOCITY_VERLET, VERLET_BACKWARD, VERLET_CENTRAL, Job, Plan, Row,
)
from ..loops.rows cimport row_of_blocks, single_vectors
from ..abi.coupled cimport Kernels
from ..integrators.steps cimport fsal, stages
from ..loops.tiles cimport affine_only, aligned, in_a_row, in_planes, locate, step_in_planes


cdef inline vec explicit_euler(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(EXPLICIT_EULER, WIDE, plan, job, k, row, count)


cdef inline vec explicit_euler_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(EXPLICIT_EULER, plan, job, k, row, at, count)


cdef inline vec kick_drift(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(KICK_DRIFT, WIDE, plan, job, k, row, count)


cdef inline vec kick_drift_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(KICK_DRIFT, plan, job, k, row, at, count)


cdef inline vec drift_kick(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(DRIFT_KICK, MEDIUM, plan, job, k, row, count)


cdef inline vec drift_kick_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(DRIFT_KICK, plan, job, k, row, at, count)


cdef inline vec midpoint(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(MIDPOINT, NARROW, plan, job, k, row, count)


cdef inline vec midpoint_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(MIDPOINT, plan, job, k, row, at, count)


cdef inline vec heun(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(HEUN, NARROW, plan, job, k, row, count)


cdef inline vec heun_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(HEUN, plan, job, k, row, at, count)


cdef inline vec rk4(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(RK4, NARROW, plan, job, k, row, count)


cdef inline vec rk4_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(RK4, plan, job, k, row, at, count)


cdef inline vec verlet_backward(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(VERLET_BACKWARD, NARROW, plan, job, k, row, count)


cdef inline vec verlet_backward_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(VERLET_BACKWARD, plan, job, k, row, at, count)


cdef inline vec verlet_central(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(VERLET_CENTRAL, NARROW, plan, job, k, row, count)


cdef inline vec verlet_central_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(VERLET_CENTRAL, plan, job, k, row, at, count)


cdef inline vec velocity_verlet(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(VELOCITY_VERLET, MEDIUM, plan, job, k, row, count)


cdef inline vec velocity_verlet_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(VELOCITY_VERLET, plan, job, k, row, at, count)


cdef inline vec composition(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(COMPOSITION, NARROW, plan, job, k, row, count)


cdef inline vec composition_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(COMPOSITION, plan, job, k, row, at, count)


cdef inline vec composition_rk4(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(COMPOSITION_RK4, NARROW, plan, job, k, row, count)


cdef inline vec composition_rk4_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(COMPOSITION_RK4, plan, job, k, row, at, count)


cdef inline vec exact(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return row_of_blocks(EXACT, NARROW, plan, job, k, row, count)


cdef inline vec exact_vectors(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return single_vectors(EXACT, plan, job, k, row, at, count)


# Loops over tiles (loops/fused.pxd): a function for each scheme and dimension, and for coefficients of affine forces
# that are uniform or those of each body. Compilers assign registers better in small functions than in a large one.

cdef inline vec kick_drift_2d(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(KICK_DRIFT, 2, True, plan, job, k, row, count)


cdef inline vec kick_drift_2d_each(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(KICK_DRIFT, 2, False, plan, job, k, row, count)


cdef inline vec kick_drift_3d(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(KICK_DRIFT, 3, True, plan, job, k, row, count)


cdef inline vec kick_drift_3d_each(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(KICK_DRIFT, 3, False, plan, job, k, row, count)


cdef inline vec rk4_2d(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(RK4, 2, False, plan, job, k, row, count)


cdef inline vec rk4_3d(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(RK4, 3, False, plan, job, k, row, count)


cdef inline vec velocity_verlet_2d(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(VELOCITY_VERLET, 2, True, plan, job, k, row, count)


cdef inline vec velocity_verlet_2d_each(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(VELOCITY_VERLET, 2, False, plan, job, k, row, count)


cdef inline vec velocity_verlet_3d(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(VELOCITY_VERLET, 3, True, plan, job, k, row, count)


cdef inline vec velocity_verlet_3d_each(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(VELOCITY_VERLET, 3, False, plan, job, k, row, count)


cdef inline vec composition_2d(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(COMPOSITION, 2, True, plan, job, k, row, count)


cdef inline vec composition_2d_each(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(COMPOSITION, 2, False, plan, job, k, row, count)


cdef inline vec composition_3d(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(COMPOSITION, 3, True, plan, job, k, row, count)


cdef inline vec composition_3d_each(
    const Plan* plan, const Job* job, const vec* k, const Row* row, Py_ssize_t at, Py_ssize_t count,
) noexcept nogil:
    return step_in_planes(COMPOSITION, 3, False, plan, job, k, row, count)


cdef inline void* step_of_planes(const Plan* plan, const vec* like) noexcept nogil:
    """Return the function that steps tiles of the plan."""
    cdef vec (*step)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    cdef bint flat = plan.dim == 2
    if plan.scheme == KICK_DRIFT:
        if plan.uniform:
            step = kick_drift_2d[vec] if flat else kick_drift_3d[vec]
        else:
            step = kick_drift_2d_each[vec] if flat else kick_drift_3d_each[vec]
    elif plan.scheme == RK4:    # large functions, which gain little: only those for coefficients of each body
        step = rk4_2d[vec] if flat else rk4_3d[vec]
    elif plan.scheme == VELOCITY_VERLET:
        if plan.uniform:
            step = velocity_verlet_2d[vec] if flat else velocity_verlet_3d[vec]
        else:
            step = velocity_verlet_2d_each[vec] if flat else velocity_verlet_3d_each[vec]
    else:
        if plan.uniform:
            step = composition_2d[vec] if flat else composition_3d[vec]
        else:
            step = composition_2d_each[vec] if flat else composition_3d_each[vec]
    return <void*> step


cdef inline void set_up(Plan* plan, const Kernels* kernels, const vec* like) noexcept nogil:
    """Prepare what persists between calls: constants as vectors, functions of the scheme, pointers to rows."""
    cdef vec* k = aligned(plan.prepared, like)
    cdef float f32[MAX_CONSTANTS]
    cdef double f64[MAX_CONSTANTS]
    cdef int i, count
    cdef Py_ssize_t n
    if vec is f32vec:
        count = kernels.constants(plan, f32)
    else:
        count = kernels.constants(plan, f64)
    for i in range(count):
        for n in range(width(k)):
            if vec is f32vec:
                (<float*> (k + i))[n] = f32[i]
            else:
                (<double*> (k + i))[n] = f64[i]
    plan.rows = plan.dim if plan.layout == PLANES else 1
    plan.numbers = 1 if plan.layout == PLANES else plan.dim
    plan.uniform = plan.applied == NULL and not (
        plan.g.body or plan.c.body or plan.w.body or plan.k.body or plan.p.body or plan.decay.body
    )
    for i in range(4):
        plan.uniform = plan.uniform and plan.flow[i].body == 0
    for i in range(plan.dim):
        locate(plan, 0, i, &plan.row[i])
    plan.stages = stages(plan.scheme, plan.velocity_dependent, plan)
    plan.fsal = fsal(plan.scheme, plan.velocity_dependent)
    choose(plan, like)
    if in_a_row(plan) and plan.n * plan.numbers <= width(k):
        plan.step = plan.single_block  # for example one body, whose steps are so short that the setup time matters


cdef inline bint choose(Plan* plan, const vec* like) noexcept nogil:
    """Set the functions of the plan's scheme; return False if it has none."""
    cdef vec (*step)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    cdef vec (*single_block)(const Plan*, const Job*, const vec*, const Row*, Py_ssize_t, Py_ssize_t) noexcept nogil
    if plan.scheme == EXPLICIT_EULER:
        step, single_block = explicit_euler[vec], explicit_euler_vectors[vec]
    elif plan.scheme == KICK_DRIFT:
        step, single_block = kick_drift[vec], kick_drift_vectors[vec]
    elif plan.scheme == DRIFT_KICK:
        step, single_block = drift_kick[vec], drift_kick_vectors[vec]
    elif plan.scheme == MIDPOINT:
        step, single_block = midpoint[vec], midpoint_vectors[vec]
    elif plan.scheme == HEUN:
        step, single_block = heun[vec], heun_vectors[vec]
    elif plan.scheme == RK4:
        step, single_block = rk4[vec], rk4_vectors[vec]
    elif plan.scheme == VERLET_BACKWARD:
        step, single_block = verlet_backward[vec], verlet_backward_vectors[vec]
    elif plan.scheme == VERLET_CENTRAL:
        step, single_block = verlet_central[vec], verlet_central_vectors[vec]
    elif plan.scheme == VELOCITY_VERLET:
        step, single_block = velocity_verlet[vec], velocity_verlet_vectors[vec]
    elif plan.scheme == COMPOSITION:
        step, single_block = composition[vec], composition_vectors[vec]
    elif plan.scheme == COMPOSITION_RK4:
        step, single_block = composition_rk4[vec], composition_rk4_vectors[vec]
    elif plan.scheme == EXACT:
        step, single_block = exact[vec], exact_vectors[vec]
    else:
        plan.step = plan.single_block = NULL
        return False
    plan.step = <void*> step
    if in_planes(plan) and not affine_only(plan):
        plan.step = step_of_planes(plan, like)
    plan.single_block = <void*> single_block
    return True
