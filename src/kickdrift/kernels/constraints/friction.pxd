# Friction, and how it rotates bodies: the formulas of kickdrift/reference/constraints/friction.py.

from libc.stdint cimport int64_t

from ..abi.constraints cimport Floor, Spin
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, root
from ..simd.masks cimport any_true, greater, select
from ..simd.vec cimport filled, product, real, spread, vec, vec_root, width
from .impacts cimport each

# Angular velocities have one component in 2-D, and three in 3-D.

cdef inline int axes_of(int dim) noexcept nogil:
    return 1 if dim == 2 else 3


cdef inline void cross_normal(int dim, const real* w, const real* n, real* to) noexcept nogil:
    """to = w x n, a velocity along the surface."""
    if dim == 2:
        to[0] = -w[0] * n[1]
        to[1] = w[0] * n[0]
    else:
        to[0] = w[1] * n[2] - w[2] * n[1]
        to[1] = w[2] * n[0] - w[0] * n[2]
        to[2] = w[0] * n[1] - w[1] * n[0]


cdef inline void cross_impulse(int dim, const real* n, const real* impulse, real* to) noexcept nogil:
    """to = n x impulse, an angular momentum."""
    if dim == 2:
        to[0] = n[0] * impulse[1] - n[1] * impulse[0]
    else:
        to[0] = n[1] * impulse[2] - n[2] * impulse[1]
        to[1] = n[2] * impulse[0] - n[0] * impulse[2]
        to[2] = n[0] * impulse[1] - n[1] * impulse[0]


cdef inline void cross_normals(int dim, const vec* w, const vec* n, vec* to) noexcept nogil:
    """to = w x n, a velocity along the surface."""
    if dim == 2:
        to[0] = -w[0] * n[1]
        to[1] = w[0] * n[0]
    else:
        to[0] = w[1] * n[2] - w[2] * n[1]
        to[1] = w[2] * n[0] - w[0] * n[2]
        to[2] = w[0] * n[1] - w[1] * n[0]


cdef inline void cross_impulses(int dim, const vec* n, const vec* impulse, vec* to) noexcept nogil:
    """to = n x impulse, an angular momentum."""
    if dim == 2:
        to[0] = n[0] * impulse[1] - n[1] * impulse[0]
    else:
        to[0] = n[1] * impulse[2] - n[2] * impulse[1]
        to[1] = n[2] * impulse[0] - n[0] * impulse[2]
        to[2] = n[0] * impulse[1] - n[1] * impulse[0]


# Conveyor belts.

cdef inline void run_belt(int dim, const real* belt, const real* n, real* v) noexcept nogil:
    """v = velocity of a conveyor belt (see `Wall.belt`); n: the normal of its surface."""
    cdef real along = dot(dim, belt + 1, n)
    cdef int j
    for j in range(dim):
        v[j] = belt[1 + j] - along * n[j]
    if dim == 2:
        v[0] = v[0] + belt[0] * -n[1]
        v[1] = v[1] + belt[0] * n[0]


cdef inline void leave_belt(int dim, const real* belt, const real* n, real* v) noexcept nogil:
    """Replace a velocity by the velocity relative to a conveyor belt, if there is one."""
    cdef real own[MAX_DIM]
    cdef int j
    if belt != NULL:
        run_belt(dim, belt, n, own)
        for j in range(dim):
            v[j] = v[j] - own[j]


cdef inline void leave_belts(int dim, const void* belt, const vec* n, vec* v) noexcept nogil:
    """`leave_belt` for as many bodies as a vec has lanes."""
    cdef vec own[MAX_DIM]
    cdef vec turns
    cdef int j
    if belt == NULL:
        return
    for j in range(MAX_DIM):
        own[j] = spread(belt, 1 + j if j < dim else 1, n)
    turns = product(dim, own, n)
    for j in range(MAX_DIM):
        if j < dim:
            own[j] = own[j] - turns * n[j]
    if dim == 2:
        turns = spread(belt, 0, n)
        own[0] = own[0] + turns * -n[1]
        own[1] = own[1] + turns * n[0]
    for j in range(MAX_DIM):
        if j < dim:
            v[j] = v[j] - own[j]


# Coulomb's limit.

cdef inline void limit_friction(int count, real* v, real limit) noexcept nogil:
    """Shorten a vector to at most the length `limit`."""
    cdef real square = dot(count, v, v)
    cdef real share
    cdef int j
    if square > limit * limit:
        share = limit / root(square)
        for j in range(count):
            v[j] = share * v[j]


cdef inline void limit_frictions(int count, vec* v, vec limit) noexcept nogil:
    """`limit_friction` for as many bodies or contacts as a vec has lanes."""
    cdef vec square = product(count, v, v)
    cdef vec share
    cdef int j
    if any_true(greater(square, limit * limit)):
        share = limit / vec_root(square)
        for j in range(MAX_DIM):
            if j < count:
                v[j] = select(greater(square, limit * limit), share * v[j], v[j])


# Friction with static surfaces.

cdef inline real inverse_inertia(const Spin* spin, int64_t i, real like) noexcept nogil:
    """`like` only selects the type."""
    return (<const real*> spin.inverse_inertia)[i]


cdef inline void friction_impulse(
    int dim, const Spin* spin, int64_t i, real r, real weight, const real* n, real* lost, real limit,
) noexcept nogil:
    """Replace a tangential velocity (lost) by the part that friction removes, at most `limit`.

    If the body rotates, also change its angular velocity. n: normal towards the body.
    """
    cdef real arm[MAX_DIM]
    cdef real surface[MAX_DIM]
    cdef real* w = <real*> spin.w + i
    cdef real turn, share
    cdef int j
    if spin.w == NULL:
        limit_friction(dim, lost, limit)
        return
    turn = r * inverse_inertia(spin, i, r)
    share = weight / (weight + r * turn)
    for j in range(axes_of(dim)):
        arm[j] = r * w[j * spin.stride]
    cross_normal(dim, arm, n, surface)
    for j in range(dim):
        lost[j] = share * (lost[j] - surface[j])
    limit_friction(dim, lost, limit)
    spin_by(dim, spin, i, r, weight, n, lost)


cdef inline void spin_by(
    int dim, const Spin* spin, int64_t i, real r, real weight, const real* n, const real* lost,
) noexcept nogil:
    """Change the rotation of a body by a friction impulse that removes the velocity `lost`."""
    cdef real twist[MAX_DIM]
    cdef real* w = <real*> spin.w + i
    cdef real turn
    cdef int j
    if spin.w == NULL:
        return
    turn = r * inverse_inertia(spin, i, r) / weight
    cross_impulse(dim, n, lost, twist)
    for j in range(axes_of(dim)):
        w[j * spin.stride] = w[j * spin.stride] + turn * twist[j]


cdef inline void friction_vectors(
    int dim, const Spin* spin, int64_t i, vec r, vec weight, const vec* n, vec* lost, vec limit, vec slides,
) noexcept nogil:
    """`friction_impulse` for a vector of bodies from i on, where `slides` is > 0."""
    cdef vec arm[MAX_DIM]
    cdef vec surface[MAX_DIM]
    cdef vec zero = filled(0, n)
    cdef vec turn, share
    cdef vec* w
    cdef int j
    if spin.w == NULL:
        limit_frictions(dim, lost, limit)
        return
    turn = r * place(spin.inverse_inertia, i, n)[0]
    share = weight / (weight + r * turn)
    for j in range(axes_of(dim)):
        arm[j] = r * place(spin.w, j * spin.stride + i, n)[0]
    cross_normals(dim, arm, n, surface)
    for j in range(dim):
        lost[j] = share * (lost[j] - surface[j])
    limit_frictions(dim, lost, limit)
    cross_impulses(dim, n, lost, arm)
    turn = turn / weight
    for j in range(axes_of(dim)):
        w = place(spin.w, j * spin.stride + i, n)
        w[0] = select(greater(slides, zero), w[0] + turn * arm[j], w[0])


cdef inline vec* place(const void* planes, int64_t first, const vec* like) noexcept nogil:
    """Address of the vector that begins at number `first`."""
    return <vec*> (<char*> planes + first * (<int64_t> sizeof(vec) // width(like)))


# Friction on a floor: kickdrift/reference/constraints/floor.py.

cdef inline int slow_down(
    real h, int64_t first, int64_t last, int dim, int64_t stride, const real* before, real* delta_v, real* x, real* v,
    real* s, const Floor* data,
) noexcept nogil:
    """Slow bodies down. Bodies that stop within the step stay where they stop."""
    cdef real zero = 0
    cdef real one = 1
    cdef real half = <real> 0.5 * h
    cdef real was[MAX_DIM]
    cdef real motion[MAX_DIM]
    cdef real read[MAX_DIM]
    cdef real fall, speed, left, share
    cdef int64_t i, k
    cdef int c
    for i in range(first, last):
        fall = each(&data.deceleration, i, h) * h
        if not fall > 0:
            continue
        for c in range(dim):
            k = c * stride + i
            was[c] = v[k] - delta_v[k]
            read[c] = v[k]
            motion[c] = v[k] if s == NULL else (x[k] - s[k]) / h
        speed = root(dot(dim, motion, motion))
        if speed <= fall:
            left = zero
            share = root(dot(dim, was, was))
            share = half * (share / (share + (fall - speed)) if share > 0 else zero)
            for c in range(dim):
                x[c * stride + i] = before[c * stride + i] + share * was[c]
        else:
            share = half * (fall / speed)
            for c in range(dim):
                x[c * stride + i] = x[c * stride + i] - share * motion[c]
            left = one - fall / speed
        if s != NULL:
            for c in range(dim):
                s[c * stride + i] = x[c * stride + i] - h * (left * motion[c])
            speed = root(dot(dim, read, read))
            left = zero if not left > 0 or speed <= fall else one - fall / speed
        for c in range(dim):
            k = c * stride + i
            v[k] = left * v[k]
            delta_v[k] = v[k] - was[c]
    return 0
