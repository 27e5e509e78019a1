# Constraints beside rotations of velocities: `turn_impulses` and `complete` of kickdrift/reference/system.py.

from libc.string cimport memcpy

from ..abi.constraints cimport BOX, DISTANCE, MOVING, PLANE, SHAPES, ConstraintCall, Wall
from ..abi.coupled cimport Workspace
from ..abi.plan cimport MAX_DIM, S, V, VERLET_CENTRAL, Plan
from ..forces.fields cimport field_vec
from ..integrators.steps cimport across, rotate
from ..integrators.traits cimport verlet
from ..simd.masks cimport absolute, any_true, equals_zero, greater, positive, select, select_or_zero
from ..simd.vec cimport filled, product, vec, width
from .walls cimport numbers_of


cdef inline bint turns_impulses(const ConstraintCall* call, const Plan* plan) noexcept nogil:
    """True if the impulses of a constraint are turned: the kinds in TURNED of the reference."""
    return plan.turned and (call.kind == DISTANCE or is_wall(call) and plan.scheme != VERLET_CENTRAL)


cdef inline bint is_wall(const ConstraintCall* call) noexcept nogil:
    return call.kind == PLANE or call.kind == BOX or call.kind == SHAPES or call.kind == MOVING


cdef inline void find_delta_v(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, const Workspace* workspace, const vec* like,
) noexcept nogil:
    """Compute the velocity changes by the forces of the step (delta_v), rotations excluded, for a range of bodies."""
    cdef Py_ssize_t w = width(like)
    cdef Py_ssize_t plane = workspace.plane // w
    cdef Py_ssize_t at = (first - workspace.first) * <Py_ssize_t> sizeof(vec) // w
    cdef const vec* old = <const vec*> (workspace.now + V * workspace.row * <Py_ssize_t> sizeof(vec) // w + at)
    cdef const vec* v = <const vec*> (workspace.next + V * workspace.row * <Py_ssize_t> sizeof(vec) // w + at)
    cdef vec* delta_v = <vec*> (workspace.delta_v + at)
    cdef Py_ssize_t i
    cdef int j
    if not plan.turned:
        for j in range(plan.dim):
            for i in range(j * plane, j * plane + (count + w - 1) // w):
                delta_v[i] = v[i] - old[i]
    elif plan.dim == 2:
        subtract_rotated(2, plan, first, count, plane, old, v, delta_v)
    else:
        subtract_rotated(3, plan, first, count, plane, old, v, delta_v)


cdef inline void subtract_rotated(
    int dim, const Plan* plan, Py_ssize_t first, Py_ssize_t count, Py_ssize_t plane, const vec* old, const vec* v,
    vec* delta_v,
) noexcept nogil:
    """Compute v minus the old velocities, rotated as in the step."""
    cdef bint same = plan.turn.body == 0 and plan.turn_share.body == 0
    cdef vec u[MAX_DIM]
    cdef vec t[3]
    cdef vec s
    cdef Py_ssize_t n
    cdef int j
    for n in range((count + width(v) - 1) // width(v)):
        if n == 0 or not same:
            s = load_rotation(plan, first + n * width(v), t)
        for j in range(dim):
            u[j] = old[j * plane + n]
        rotate(dim, t, s, u)
        rotate(dim, t, s, u)
        for j in range(dim):
            delta_v[j * plane + n] = v[j * plane + n] - u[j]


cdef inline vec load_rotation(const Plan* plan, Py_ssize_t body, vec* t) noexcept nogil:
    """Load t of a rotation over half a step, return s."""
    cdef int j
    for j in range(3):
        t[j] = field_vec(&plan.turn, j, body, t)
    return field_vec(&plan.turn_share, 0, body, t)


cdef inline void keep_velocities(
    int dim, Py_ssize_t first, Py_ssize_t count, const Workspace* workspace, char* free, Py_ssize_t stride,
    const vec* like,
) noexcept nogil:
    """Copy the velocities of a range of bodies to `free`, `stride` numbers per component."""
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef const char* v = workspace.next + (V * workspace.row + first - workspace.first) * item
    cdef int j
    for j in range(dim):
        memcpy(
            free + j * stride * item, v + j * workspace.plane * item,
            (count + width(like) - 1) // width(like) * <Py_ssize_t> sizeof(vec),
        )


cdef inline void turn_impulses(
    const ConstraintCall* call, const Plan* plan, Py_ssize_t first, Py_ssize_t count, const Workspace* workspace,
    const char* free, Py_ssize_t stride, const vec* like,
) noexcept nogil:
    """Turn the impulses that a constraint has added to the velocities `free`."""
    if plan.dim == 2:
        turn_each(2, call, plan, first, count, workspace, <const vec*> free, stride // width(like))
    else:
        turn_each(3, call, plan, first, count, workspace, <const vec*> free, stride // width(like))


cdef inline void turn_each(
    int dim, const ConstraintCall* call, const Plan* plan, Py_ssize_t first, Py_ssize_t count,
    const Workspace* workspace, const vec* free, Py_ssize_t stride,
) noexcept nogil:
    cdef Py_ssize_t w = width(free)
    cdef Py_ssize_t plane = workspace.plane // w
    cdef Py_ssize_t at = (first - workspace.first) * <Py_ssize_t> sizeof(vec) // w
    cdef vec* v = <vec*> (workspace.next + V * workspace.row * <Py_ssize_t> sizeof(vec) // w + at)
    cdef vec* history = <vec*> (workspace.next + S * workspace.row * <Py_ssize_t> sizeof(vec) // w + at)
    cdef bint bounces = is_wall(call)
    cdef bint keeps_history = verlet(plan.scheme)
    cdef vec one = filled(1, free)
    cdef vec h = filled(plan.h, free)
    cdef vec u[MAX_DIM]
    cdef vec impulse[MAX_DIM]
    cdef vec added[MAX_DIM]
    cdef vec t[3]
    cdef vec s, size, left, share, pushed
    cdef Py_ssize_t n, i
    cdef int j
    for n in range((count + w - 1) // w):
        pushed = filled(0, free)
        for j in range(dim):
            u[j] = v[j * plane + n]
            impulse[j] = u[j] - free[j * stride + n]
            pushed = pushed + absolute(impulse[j])
        if not any_true(positive(pushed)):
            continue
        if bounces:
            share = numbers_of(&(<const Wall*> call.data).friction, first + n * w, free)
            pushed = select_or_zero(equals_zero(share), pushed)
            size, left = product(dim, impulse, impulse), product(dim, u, impulse)
            share = one - filled(2, free) * select_or_zero(positive(size), left / size)
            share = select(positive(left), select_or_zero(positive(share), share), one)
            for j in range(dim):
                impulse[j] = share * impulse[j]
        s = load_rotation(plan, first + n * w, t)
        across(dim, impulse, t, added)
        s = select(greater(s, filled(1.5, free)), s / (s - one), s)     # LEAST of kickdrift/reference/forces.py
        for j in range(dim):
            i = j * plane + n
            added[j] = s * added[j]
            if keeps_history:
                history[i] = select(positive(pushed), history[i] - h * added[j], history[i])
            v[i] = select(positive(pushed), u[j] + added[j], u[j])
