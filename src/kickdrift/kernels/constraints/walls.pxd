# Bodies that meet a wall: the formulas of kickdrift/reference/constraints/walls.py.

from libc.stdint cimport int32_t, int64_t

from .events cimport key_of, report, senses, takes_part
from ..abi.constraints cimport Corners, Each, Wall
from ..abi.events cimport Told
from ..simd.vec cimport real
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude, root

cdef enum:
    SWEEPS = 256    # over the walls of a corner, at most


cdef inline real speed_at_wall(real depth, real fast, real pull, real h) noexcept nogil:
    """How fast a body met the wall that it is `depth` beyond now; fast: its speed now."""
    cdef real one = 1
    cdef real two = 2
    cdef real share
    if pull < 0:
        return root(at_least_zero(fast * fast - two * pull / h * depth))
    share = two * pull / h * depth / fast / fast if fast > 0 else one
    return fast * root(one - share) if share < one else <real> 0


cdef inline real at_least_zero(real number) noexcept nogil:
    return number if number > 0 else <real> 0


cdef inline real arrival(real depth, real speed, real pull, real h, real longest, real* fast) noexcept nogil:
    """How long ago, and how fast, a body met the wall that it is `depth` beyond now; speed: outwards, now."""
    cdef real two = 2
    cdef real time
    fast[0] = 0
    if not speed > 0:
        return 0
    fast[0] = speed_at_wall(depth, speed, pull, h)
    time = two * depth / (fast[0] + speed)
    return time if time <= longest else <real> 0


cdef inline void bounce(
    real depth, real speed, real pull, real slow, real restitution, real h, real longest, real pressed,
    real* inside, real* inwards, real* time,
) noexcept nogil:
    """Where a body goes on that is `depth` beyond a wall; speed: outwards, now."""
    cdef real two = 2
    cdef real fast = magnitude(speed)
    cdef real at_wall = speed_at_wall(depth, fast, pull, h)
    cdef real back
    inside[0] = 0 * depth
    inwards[0] = time[0] = 0
    if not speed > 0:
        inwards[0] = at_wall
        return
    if at_wall <= slow:
        time[0] = pressed
        return
    time[0] = two * depth / (at_wall + fast)
    if not time[0] <= longest:
        time[0] = 0
    back = restitution * at_wall
    if back <= pull / h * time[0] / two:
        return
    inside[0] = (back - pull / h / two * time[0]) * time[0]
    inwards[0] = back - pull / h * time[0]


cdef inline bint meet_wall(
    real depth, real v, real gain, real restitution, real h, real lag, real* inside, real* inwards, real* time,
) noexcept nogil:
    """Does a body meet the wall? Then where it goes on, as `bounce` says."""
    cdef real speed = v + lag * gain
    if not (depth > 0 or (depth == 0 and speed > 0)):
        return False
    if 0 < speed <= gain:
        # It met the wall no faster than it moves now, and so rests. `bounce` finds the same, by a root and a quotient.
        inside[0], inwards[0], time[0] = 0 * depth, 0, pressed(h, lag)
        return True
    bounce(depth, speed, gain, at_least_zero(gain), restitution, h, h, pressed(h, lag), inside, inwards, time)
    inwards[0] = inwards[0] + lag * gain if inwards[0] > 0 else <real> 0
    return True


cdef inline void rub(int count, real* v, real limit) noexcept nogil:
    """Replace a velocity along a wall by the part that friction takes away: at most `limit`."""
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
        if data.only != NULL and not data.only[i]:
            continue
        r = each(&data.radius, i, <real> 0)
        inner = True
        for j in range(dim):
            low = lower[j] + r
            high = upper[j] - r
            inner = inner and x[j * stride + i] > low and x[j * stride + i] < high
        if not inner and takes_part(weight[i] > 0, data.sensor, i):
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
    cdef real low, high, sign, place, other, impulse, inside, inwards, time
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
            if not meet_wall(sign * (y[j] - place), sign * u[j], sign * g[j], e, h, lag, &inside, &inwards, &time):
                continue
            impulse = sign * u[j] + inwards
            if data.told != NULL:
                tell_box(dim, i, 2 * j + side, sign, place + sign * r, h, y, u, g, impulse, place, data)
            if senses(data.sensor, i):
                continue
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
                    y[k] = y[k] - time * along[count]
                    count += 1
    replace(dim, h, stride, i, y, u, x, v, s)


cdef inline real pressed(real h, real lag) noexcept nogil:
    """For how long what is taken of a velocity all through a step has moved the position in it."""
    cdef real one = 1
    cdef real two = 2
    return h * (one / two + lag)


cdef inline int plane(
    double step, int64_t n, int64_t dim, int64_t stride, const real* gain, real* x, real* v, real* s, const Wall* data,
) noexcept nogil:
    cdef const real* normal = <const real*> data.normal
    cdef const real* weight = <const real*> data.weight
    cdef real place = (<const real*> data.offset)[0]
    cdef real depth
    cdef int64_t i, j
    for i in range(n):
        if data.only != NULL and not data.only[i]:
            continue
        depth = normal[0] * x[i]
        for j in range(1, dim):
            depth = depth + normal[j] * x[j * stride + i]
        depth = place + each(&data.radius, i, depth) - depth
        if depth >= 0 and takes_part(weight[i] > 0, data.sensor, i):
            plane_body(depth, step, <int> dim, stride, i, gain, x, v, s, data)
    return 0


cdef inline void plane_body(
    real depth, double step, int dim, int64_t stride, int64_t i,
    const real* gain, real* x, real* v, real* s, const Wall* data,
) noexcept nogil:
    cdef const real* n = <const real*> data.normal
    cdef real h = <real> step
    cdef real lag = <real> data.lag
    cdef real mu = each(&data.friction, i, h)
    cdef real y[MAX_DIM]
    cdef real u[MAX_DIM]
    cdef real g[MAX_DIM]
    cdef real lost[MAX_DIM]
    cdef real across, pull, impulse, inside, inwards, time
    cdef int j
    for j in range(dim):
        y[j] = x[j * stride + i]
        u[j] = v[j * stride + i]
        g[j] = gain[j * stride + i]
    across = dot(dim, n, u)
    pull = dot(dim, n, g)
    if not meet_wall(depth, -across, -pull, each(&data.restitution, i, h), h, lag, &inside, &inwards, &time):
        return
    impulse = inwards - across
    if data.told != NULL:
        tell_plane(dim, i, depth, across, pull, h, y, u, impulse, data)
    if senses(data.sensor, i):
        return
    for j in range(dim):
        y[j] = y[j] + (depth + inside) * n[j]
        u[j] = u[j] - across * n[j]
        lost[j] = u[j]
    if mu > 0 and impulse > 0:
        rub(dim, lost, mu * impulse)
        for j in range(dim):
            u[j] = u[j] - lost[j]
            y[j] = y[j] - time * lost[j]
    for j in range(dim):
        u[j] = u[j] + inwards * n[j]
    replace(dim, h, stride, i, y, u, x, v, s)


# Corners.

cdef inline int corners(
    double step, int64_t n, int64_t dim, int64_t stride, const real* gain, real* x, real* v, real* s,
    const Corners* data,
) noexcept nogil:
    """Bodies that several walls hold at once: each wall pushes as much as it must, given how much the others push."""
    cdef const real* normal = <const real*> data.normal
    cdef const real* offset = <const real*> data.offset
    cdef const real* radius = <const real*> data.radius
    cdef const real* weight = <const real*> data.weight
    cdef real* size = <real*> data.size
    cdef real along
    cdef int64_t i, k
    cdef int count, j
    for i in range(n):
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
        rub(dim, lost, mu * push[k])
        for j in range(dim):
            u[j] = u[j] - lost[j]
            y[j] = y[j] - time * lost[j]
    replace(dim, h, stride, i, y, u, x, v, s)


cdef inline real rubbed_for(
    int dim, real h, int64_t n, int64_t stride, int64_t i, int64_t face, const real* normal, const real* x,
    const real* v, const real* g, const Corners* data,
) noexcept nogil:
    """For how long what a wall of a corner takes of a velocity has moved the position: `time` of `bounce`."""
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
    """The same, and walls report what they have stopped."""
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
    """Report that a wall of a corner was met, on behalf of that wall."""
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
    """The nearest to y with dot(normal, y) >= size for all walls of the corner, and how much each has pushed."""
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


# What is reported of those who meet.

cdef inline void tell_wall(
    real depth, real v, real gain, real h, real impulse, int dim, int64_t i, int64_t number, real* ago,
    real* fast, real* slow, real* given, const Wall* data,
) noexcept nogil:
    """How long ago a body met the wall and how fast, what is slow there, and the impulse that it was given."""
    cdef real speed = v + <real> data.lag * gain
    ago[0] = arrival(depth, speed, gain, h, h, fast)
    slow[0] = at_least_zero(gain)
    given[0] = 0
    if senses(data.sensor, i):
        if depth > 0 and not ago[0] > 0:
            # It goes through, and touched before the step.
            ago[0], fast[0] = h, 0
    else:
        given[0] = impulse / (<const real*> data.weight)[i]


cdef inline void tell_box(
    int dim, int64_t i, int64_t number, real sign, real bound, real h, const real* y, const real* u, const real* g,
    real impulse, real place, const Wall* data,
) noexcept nogil:
    cdef real point[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real ago, fast, slow, given
    cdef int64_t j = number // 2
    cdef int k
    tell_wall(
        sign * (y[j] - place), sign * u[j], sign * g[j], h, impulse, dim, i, number, &ago, &fast, &slow, &given, data,
    )
    for k in range(dim):
        point[k] = bound if k == j else y[k] - ago * u[k]
        normal[k] = sign if k == j else <real> 0
    report(
        data.told, i * data.told.slots + number, key_of(i, -1 - number), ago, ago, fast, slow, given,
        dim, point, normal,
    )


cdef inline void tell_plane(
    int dim, int64_t i, real depth, real across, real pull, real h, const real* y, const real* u, real impulse,
    const Wall* data,
) noexcept nogil:
    cdef const real* n = <const real*> data.normal
    cdef real point[MAX_DIM]
    cdef real normal[MAX_DIM]
    cdef real ago, fast, slow, given
    cdef real one = 1
    cdef real inner = depth - each(&data.radius, i, h)
    cdef int j
    tell_wall(depth, -across, -pull, h, impulse, dim, i, 0, &ago, &fast, &slow, &given, data)
    for j in range(dim):
        point[j] = y[j] + inner * n[j] - ago * (u[j] - across * n[j])
        normal[j] = -one * n[j]
    report(data.told, i, key_of(i, -1), ago, ago, fast, slow, given, dim, point, normal)
