# Bodies that touch several walls at once: the impulses of all walls are solved together.
# The formulas are those of kickdrift/reference/constraints/walls.py.

from libc.stdint cimport int32_t, int64_t

from .events cimport key_of, report
from .friction cimport leave_belt, rub
from .impacts cimport arrival, at_least_zero, pressed, replace
from ..abi.constraints cimport Corners
from ..abi.events cimport Told
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot
from ..simd.vec cimport real

cdef enum:
    SWEEPS = 256    # over the walls of a corner, at most


cdef inline int corners(
    double step, int64_t first, int64_t last, int64_t dim, int64_t stride, const real* gain, real* x, real* v, real* s,
    const Corners* data,
) noexcept nogil:
    cdef int64_t n = data.n
    cdef const real* normal = <const real*> data.normal
    cdef const real* offset = <const real*> data.offset
    cdef const real* radius = <const real*> data.radius
    cdef const real* weight = <const real*> data.weight
    cdef real* size = <real*> data.size
    cdef real along
    cdef int64_t i, k
    cdef int count, j
    for i in range(first, last):
        if not weight[i] > 0:
            continue
        count = 0
        for k in range(data.faces):
            along = normal[k * dim] * x[i]
            for j in range(1, <int> dim):
                along = along + normal[k * dim + j] * x[j * stride + i]
            size[count] = offset[k] + radius[k * n + i]
            if data.through != NULL and data.through[k * n + i] != 0:
                continue
            if size[count] - along >= 0:
                data.there[count] = <int32_t> k
                count += 1
        if count > 1:
            corner_body(step, <int> dim, n, stride, i, count, gain, x, v, s, data)
    return 0


cdef inline void corner_body(
    double step, int dim, int64_t n, int64_t stride, int64_t i, int count, const real* gain,
    real* x, real* v, real* s, const Corners* data,
) noexcept nogil:
    cdef real h = <real> step
    cdef real lag = <real> data.lag
    cdef real zero = 0
    cdef real* size = <real*> data.size
    cdef real* push = <real*> data.push
    cdef const real* normal
    cdef real y[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real g[MAX_DIM]
    cdef real lost[MAX_DIM]
    cdef real pull, speed, mu, time
    cdef int64_t face
    cdef int k, j
    for j in range(dim):
        y[j] = x[j * stride + i]
        u[j] = v[j * stride + i]
        g[j] = gain[j * stride + i]
    for k in range(count):
        face = data.there[k]
        normal = <const real*> data.normal + face * dim
        speed = -dot(dim, normal, g)
        pull = at_least_zero(speed)
        speed = lag * speed - dot(dim, normal, u)
        if (<const real*> data.restitution)[face * n + i] > 0 and speed > pull + pull:
            return
    if data.told == NULL:
        settle(dim, count, y, data)
        for k in range(count):
            size[k] = zero
        settle(dim, count, u, data)
    else:
        settle_and_tell(dim, h, n, stride, i, count, x, v, y, u, g, data)
    for k in range(count):
        face = data.there[k]
        normal = <const real*> data.normal + face * dim
        mu = (<const real*> data.friction)[face * n + i]
        if not (mu > 0 and push[k] > 0):
            continue
        time = rubbed_for(dim, h, n, stride, i, face, normal, x, v, g, data)
        speed = dot(dim, normal, u)
        for j in range(dim):
            lost[j] = u[j] - speed * normal[j]
        if data.belt != NULL:
            leave_belt(dim, <const real*> data.belt + face * (dim + 1), normal, lost)
        rub(
            dim, &data.spin, i, (<const real*> data.radius)[face * n + i], (<const real*> data.weight)[i], normal, lost,
            mu * push[k],
        )
        for j in range(dim):
            u[j] = u[j] - lost[j]
            y[j] = y[j] - time * lost[j]
    replace(dim, h, stride, i, y, u, x, v, s)


cdef inline real rubbed_for(
    int dim, real h, int64_t n, int64_t stride, int64_t i, int64_t face, const real* normal, const real* x,
    const real* v, const real* g, const Corners* data,
) noexcept nogil:
    """Effective time by which velocity removed by a wall of a corner has moved the position: `time` of `bounce`."""
    cdef real lag = <real> data.lag
    cdef real gain = -dot(dim, normal, g)
    cdef real size = (<const real*> data.offset)[face] + (<const real*> data.radius)[face * n + i]
    cdef real depth = normal[0] * x[i]
    cdef real speed = normal[0] * v[i]
    cdef real ago, fast
    cdef int j
    for j in range(1, dim):
        depth = depth + normal[j] * x[j * stride + i]
        speed = speed + normal[j] * v[j * stride + i]
    ago = arrival(size - depth, lag * gain - speed, gain, h, h, &fast)
    return ago if fast > at_least_zero(gain) else pressed(h, lag)


cdef inline void settle_and_tell(
    int dim, real h, int64_t n, int64_t stride, int64_t i, int count, const real* x, const real* v, real* y, real* u,
    const real* g, const Corners* data,
) noexcept nogil:
    """Solve a corner, and record contacts for its walls."""
    cdef real* size = <real*> data.size
    cdef const real* push = <const real*> data.push
    cdef const real* normal
    cdef real was[MAX_DIM]
    cdef real went[MAX_DIM]
    cdef real weight = (<const real*> data.weight)[i]
    cdef int64_t face
    cdef int k, j
    settle(dim, count, y, data)
    for k in range(count):
        size[k] = 0
    settle(dim, count, u, data)
    for j in range(dim):
        was[j] = x[j * stride + i]
        went[j] = v[j * stride + i]
    for k in range(count):
        face = data.there[k]
        normal = <const real*> data.normal + face * dim
        size[k] = (<const real*> data.offset)[face] + (<const real*> data.radius)[face * n + i]
        report_plane(
            data.told[face], data.number[face], dim, i, normal, size[k], (<const real*> data.radius)[face * n + i],
            was, went, g, h, <real> data.lag, push[k], weight,
        )


cdef inline void report_plane(
    Told* told, int64_t number, int dim, int64_t i, const real* n, real size, real r, const real* x, const real* v,
    const real* g, real h, real lag, real push, real weight,
) noexcept nogil:
    """Record a contact of a corner for one of its walls."""
    cdef real across = dot(dim, n, v)
    cdef real gain = dot(dim, n, g)
    cdef real depth = size - dot(dim, n, x)
    cdef real speed = -across - lag * gain
    cdef real one = 1
    cdef real point[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real ago, fast
    cdef int j
    if not (depth > 0 or speed > 0):
        return
    ago = arrival(depth, speed, -gain, h, h, &fast)
    for j in range(dim):
        point[j] = x[j] + (depth - r) * n[j] - ago * (v[j] - across * n[j])
        normal[j] = -one * n[j]
    report(
        told, i * told.slots + number, key_of(i, -1 - number), ago, ago, fast, at_least_zero(-gain), push / weight,
        dim, point, normal,
    )


cdef inline void settle(int dim, int count, real* y, const Corners* data) noexcept nogil:
    """Move y to the nearest point with dot(normal, y) >= size for all walls of the corner; store their impulses."""
    cdef const real* size = <const real*> data.size
    cdef real* pushes = <real*> data.push
    cdef const real* normal
    cdef real push, change
    cdef bint changed
    cdef int _sweep, k, j
    for k in range(count):
        pushes[k] = 0 * y[0]
    for _sweep in range(SWEEPS):
        changed = False
        for k in range(count):
            normal = <const real*> data.normal + data.there[k] * dim
            push = pushes[k] + (size[k] - dot(dim, normal, y))
            push = push if push > 0 else 0 * push
            change = push - pushes[k]
            if change != 0:
                changed = True
            pushes[k] = push
            for j in range(dim):
                y[j] = y[j] + change * normal[j]
        if not changed:
            break
