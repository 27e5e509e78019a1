# Bodies that meet a wall: the formulas of kickdrift/reference/walls.py.

from libc.stdint cimport int64_t

from ..abi.constraints cimport Each, Wall
from ..simd.vec cimport real
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude, root


cdef inline void bounce(
    real depth, real speed, real pull, real slow, real restitution, real h, real longest, real* inside, real* inwards,
) noexcept nogil:
    """How far inside, and how fast inwards, a body goes on that is found `depth` outside, `speed` outwards."""
    cdef real one = 1
    cdef real two = 2
    cdef real fast = magnitude(speed)
    cdef real share = two * pull / h * depth / fast / fast if fast > 0 else one
    cdef real at_wall = 0
    cdef real time, back
    if share < one:
        at_wall = fast * root(one - share)
    inside[0] = 0
    inwards[0] = 0
    if not speed > 0:
        inwards[0] = at_wall
        return
    if at_wall <= slow:
        return
    time = two * depth / (at_wall + fast)
    if not time <= longest:
        time = 0
    back = restitution * at_wall
    if back <= pull / h * time / two:
        return
    inside[0] = (back - pull / h / two * time) * time
    inwards[0] = back - pull / h * time


cdef inline bint meet_wall(
    real depth, real v, real gain, real restitution, real h, real lag, real* inside, real* inwards,
) noexcept nogil:
    """Does a body meet the wall? Then how far inside and with what velocity inwards it goes on."""
    cdef real speed = v + lag * gain
    cdef real pull = gain if gain > 0 else <real> 0
    if not (depth > 0 or (depth == 0 and speed > 0)):
        return False
    if 0 < speed <= pull:
        # It meets the wall no faster than it is found, and so rests: `bounce` says the same after a root and a quotient.
        inside[0] = inwards[0] = 0
        return True
    bounce(depth, speed, pull, pull, restitution, h, h, inside, inwards)
    inwards[0] = inwards[0] + lag * gain if inwards[0] > 0 else <real> 0
    return True


cdef inline void rub(int count, real* v, real limit) noexcept nogil:
    """A velocity along a wall becomes what friction takes of it: at most `limit`."""
    cdef real speed = root(dot(count, v, v))
    cdef real share
    cdef int k
    if not speed <= limit:
        share = limit / speed
        for k in range(count):
            v[k] = share * v[k]


cdef inline real each(const Each* values, int64_t i, real like) noexcept nogil:
    """The number of a body; `like` only tells the type."""
    return (<const real*> values.number)[i * values.body]


cdef inline void replace(
    int dim, real h, int64_t stride, int64_t i, const real* y, const real* u, real* x, real* v, real* s,
) noexcept nogil:
    """Give a body another position and velocity, and Verlet the previous position that goes with them."""
    cdef int j
    for j in range(dim):
        if s != NULL:
            s[j * stride + i] = s[j * stride + i] + (y[j] - x[j * stride + i]) - h * (u[j] - v[j * stride + i])
        x[j * stride + i] = y[j]
        v[j * stride + i] = u[j]


cdef inline int box(
    double step, int64_t n, int64_t dim, int64_t stride, const real* gain, real* x, real* v, real* s, const Wall* data,
) noexcept nogil:
    cdef const real* lower = <const real*> data.lower
    cdef const real* upper = <const real*> data.upper
    cdef const real* weight = <const real*> data.weight
    cdef real low, high, r
    cdef int64_t i, j
    cdef bint inner
    for i in range(n):
        r = each(&data.radius, i, <real> 0)
        inner = True
        for j in range(dim):
            low = lower[j] + r
            high = upper[j] - r
            inner = inner and x[j * stride + i] > low and x[j * stride + i] < high
        if not inner and weight[i] > 0:
            box_body(step, <int> dim, stride, i, gain, x, v, s, data)
    return 0


cdef inline void box_body(
    double step, int dim, int64_t stride, int64_t i, const real* gain, real* x, real* v, real* s, const Wall* data,
) noexcept nogil:
    cdef real h = <real> step
    cdef real lag = <real> data.lag
    cdef real e = each(&data.restitution, i, h)
    cdef real mu = each(&data.friction, i, h)
    cdef real r = each(&data.radius, i, h)
    cdef real y[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real g[MAX_DIM]
    cdef real along[MAX_DIM]
    cdef real low, high, sign, place, other, impulse, inside, inwards
    cdef int j, k, side, count
    for j in range(dim):
        y[j] = x[j * stride + i]
        u[j] = v[j * stride + i]
        g[j] = gain[j * stride + i]
    for j in range(dim):
        low = (<const real*> data.lower)[j] + r
        high = (<const real*> data.upper)[j] - r
        for side in range(2):
            sign = 1 if side else -1
            place = high if side else low
            other = low if side else high
            if not meet_wall(sign * (y[j] - place), sign * u[j], sign * g[j], e, h, lag, &inside, &inwards):
                continue
            impulse = sign * u[j] + inwards
            y[j] = place - sign * inside
            u[j] = -sign * inwards
            if sign * (y[j] - other) < 0:
                y[j] = other
            if not (mu > 0 and impulse > 0 and dim > 1):
                continue
            count = 0
            for k in range(dim):
                if k != j:
                    along[count] = u[k]
                    count += 1
            rub(count, &along[0], mu * impulse)
            count = 0
            for k in range(dim):
                if k != j:
                    u[k] = u[k] - along[count]
                    y[k] = y[k] - moving(h, lag) * along[count]
                    count += 1
    replace(dim, h, stride, i, y, u, x, v, s)


cdef inline real moving(real h, real lag) noexcept nogil:
    """How long what forces add to a velocity in a step has moved the position in it."""
    cdef real one = 1
    cdef real two = 2
    return h * (one / two + lag)


cdef inline int plane(
    double step, int64_t n, int64_t dim, int64_t stride, const real* gain, real* x, real* v, real* s, const Wall* data,
) noexcept nogil:
    cdef const real* normal = <const real*> data.lower
    cdef const real* weight = <const real*> data.weight
    cdef real place = (<const real*> data.upper)[0]
    cdef real depth
    cdef int64_t i, j
    for i in range(n):
        depth = normal[0] * x[i]
        for j in range(1, dim):
            depth = depth + normal[j] * x[j * stride + i]
        depth = place + each(&data.radius, i, depth) - depth
        if depth >= 0 and weight[i] > 0:
            plane_body(depth, step, <int> dim, stride, i, gain, x, v, s, data)
    return 0


cdef inline void plane_body(
    real depth, double step, int dim, int64_t stride, int64_t i,
    const real* gain, real* x, real* v, real* s, const Wall* data,
) noexcept nogil:
    cdef const real* n = <const real*> data.lower
    cdef real h = <real> step
    cdef real lag = <real> data.lag
    cdef real mu = each(&data.friction, i, h)
    cdef real y[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real g[MAX_DIM]
    cdef real lost[MAX_DIM]
    cdef real across, pull, impulse, inside, inwards
    cdef int j
    for j in range(dim):
        y[j] = x[j * stride + i]
        u[j] = v[j * stride + i]
        g[j] = gain[j * stride + i]
    across = dot(dim, n, u)
    pull = dot(dim, n, g)
    if not meet_wall(depth, -across, -pull, each(&data.restitution, i, h), h, lag, &inside, &inwards):
        return
    impulse = inwards - across
    for j in range(dim):
        y[j] = y[j] + (depth + inside) * n[j]
        u[j] = u[j] - across * n[j]
        lost[j] = u[j]
    if mu > 0 and impulse > 0:
        rub(dim, lost, mu * impulse)
        for j in range(dim):
            u[j] = u[j] - lost[j]
            y[j] = y[j] - moving(h, lag) * lost[j]
    for j in range(dim):
        u[j] = u[j] + inwards * n[j]
    replace(dim, h, stride, i, y, u, x, v, s)
