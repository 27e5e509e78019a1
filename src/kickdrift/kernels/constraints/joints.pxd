# Pins and distances: the formulas of kickdrift/reference/constraints/joints.py.

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from ..abi.constraints cimport Distance, Pin
from ..simd.vec cimport f32vec, f64vec, vec, vec_root, real, store_part, where_positive, width
from ..abi.plan cimport MAX_DIM
from ..abi.coupled cimport INTERRUPTED
from ..forces.fields cimport root
from ..space cimport is_periodic, nearest, toward

cdef enum:
    BATCH = 64      # pairs whose roots and quotients are under way at once
    LANE = 16       # numbers in the widest vector
    RELAXATIONS = 500_000   # of pairs between two looks for Ctrl-C: some milliseconds
    FEW = 2         # for up to so many pairs it is faster to take them one by one


cdef inline int pin(
    int64_t dim, int64_t stride, const real* before, real* x, real* v, real* s, const Pin* data,
) noexcept nogil:
    cdef int64_t k, j, i
    for k in range(data.count):
        for j in range(dim):
            i = j * stride + data.index[k]
            x[i] = before[i]
            v[i] = 0
            if s != NULL:
                s[i] = x[i]
    return 0


cdef inline int distance(
    bint compliant, double step, int64_t n, int64_t dim, int64_t stride, const real* before, real* x, real* v,
    const Distance* data, void* owner,
) noexcept nogil:
    """Move each pair to its length, and let velocities follow.

    Pairs that have no body in common may be taken in any order, or at once, without changing a bit: they are
    sorted by stages, and those of one stage are computed in vectors.
    """
    if dim == 3:
        return relax(compliant, 3, <real> step, n, stride, before, x, v, data, owner)
    if dim == 2:
        return relax(compliant, 2, <real> step, n, stride, before, x, v, data, owner)
    return relax(compliant, 1, <real> step, n, stride, before, x, v, data, owner)


cdef inline int relax(
    bint compliant, int dim, real h, int64_t n, int64_t stride, const real* before, real* x, real* v,
    const Distance* data, void* owner,
) noexcept nogil:
    cdef real* was = <real*> data.was
    cdef int64_t count = data.stage[data.stages] if data.stages > 0 else 0
    cdef int64_t i, p
    cdef int j
    if count == 0:
        return 0
    for j in range(dim):
        memcpy(was + j * stride, x + j * stride, n * sizeof(real))
    if data.direction > 0:
        directions(dim, stride, count, before, data)
    if compliant:
        for p in range(count):
            (<real*> data.alpha)[p] = (<const real*> data.compliance)[p] / (h * h)
        shares(h, count, data.response, data)
    memset(data.force, 0, count * sizeof(real))
    memset(data.pull, 0, count * sizeof(real))
    if not sweep(False, compliant, dim, h, stride, x, data, owner):
        return INTERRUPTED
    for j in range(dim):
        for i in range(j * stride, j * stride + n):
            v[i] = v[i] + (x[i] - was[i]) / h
    if data.direction < 2:
        return 0
    directions(dim, stride, count, x, data)
    if compliant:
        shares(h, count, data.response + 2, data)
    return 0 if sweep(True, compliant, dim, h, stride, v, data, owner) else INTERRUPTED


cdef inline void directions(
    int dim, int64_t stride, int64_t count, const real* x, const Distance* data,
) noexcept nogil:
    """From the first body of each pair to the second, of length 1, or 0 where they are at the same place."""
    cdef real* way = <real*> data.way
    cdef real one = 1
    cdef real r, f
    cdef int64_t p
    cdef int j
    for p in range(count):
        for j in range(dim):
            way[j * count + p] = toward(
                x[j * stride + data.second[p]] - x[j * stride + data.first[p]], j, &data.torus
            )
        r = way[p] * way[p]
        for j in range(1, dim):
            r = r + way[j * count + p] * way[j * count + p]
        r = root(r)
        f = one / r if r > 0 else 0 * r
        for j in range(dim):
            way[j * count + p] = f * way[j * count + p]


cdef inline void shares(real h, int64_t count, const double* response, const Distance* data) noexcept nogil:
    """By how much a pull moves the bodies of each pair, by what drag leaves of it."""
    cdef const real* move_first = <const real*> data.move_first
    cdef const real* move_second = <const real*> data.move_second
    cdef const real* drag_first = <const real*> data.drag_first
    cdef const real* drag_second = <const real*> data.drag_second
    cdef real a = <real> response[0]
    cdef real b = <real> response[1]
    cdef int64_t p
    for p in range(count):
        (<real*> data.share_first)[p] = move_first[p] * left_by_drag(drag_first[p], h, a, b)
        (<real*> data.share_second)[p] = move_second[p] * left_by_drag(drag_second[p], h, a, b)


cdef inline real left_by_drag(real c, real h, real first, real second) noexcept nogil:
    cdef real one = 1
    cdef real z = c * h
    cdef real least = <real> 0.1
    cdef real more = one - z * (first - z * second) - least
    return least + (more if more > 0 else 0 * more)


cdef inline bint sweep(
    bint velocities, bint compliant, int dim, real h, int64_t stride, real* x, const Distance* data, void* owner,
) noexcept nogil:
    """All iterations, over positions or velocities; False where somebody wants to stop."""
    cdef int64_t _iteration, stage, p, k, last, count
    cdef int64_t relaxed = 0
    for _iteration in range(data.iterations):
        for stage in range(data.stages):
            p = data.stage[stage]
            last = data.stage[stage + 1]
            relaxed += last - p + 1
            if relaxed > RELAXATIONS:
                relaxed = 0
                if data.look(owner):
                    return False
            if last - p <= FEW:
                for k in range(p, last):
                    if velocities:
                        slow_pair(compliant, dim, h, stride, x, data, k)
                    else:
                        relax_pair(compliant, dim, stride, x, data, k)
                continue
            while p < last:
                count = min(<int64_t> BATCH, last - p)
                take_batch(velocities, compliant, dim, h, stride, x, data, p, count)
                p += count
    return True


cdef inline const real* moves(bint compliant, bint second, const Distance* data, const real* like) noexcept nogil:
    if compliant:
        return <const real*> (data.share_second if second else data.share_first)
    return <const real*> (data.move_second if second else data.move_first)


cdef inline void relax_pair(
    bint compliant, int dim, int64_t stride, real* x, const Distance* data, int64_t p,
) noexcept nogil:
    cdef int64_t count = data.stage[data.stages]
    cdef int64_t first = data.first[p]
    cdef int64_t second = data.second[p]
    cdef real length = (<const real*> data.length)[p]
    cdef real move_first = moves(compliant, False, data, x)[p]
    cdef real move_second = moves(compliant, True, data, x)[p]
    cdef const real* way = <const real*> data.way
    cdef real* force = <real*> data.force
    cdef real zero = 0
    cdef real d[3]
    cdef real r, f, alpha, off, change, share, along, far, left, slope, twice
    cdef bint kept = False
    cdef int j
    for j in range(dim):
        d[j] = toward(x[j * stride + second] - x[j * stride + first], j, &data.torus)
    r = d[0] * d[0]
    for j in range(1, dim):
        r = r + d[j] * d[j]
    r = root(r)
    share = zero
    along = zero
    if data.direction > 0:
        along = d[0] * way[p]
        for j in range(1, dim):
            along = along + d[j] * way[j * count + p]
        kept = along + along - r > 0
    if compliant:
        alpha = (<const real*> data.alpha)[p]
        off = r - length + alpha * force[p]
        slope = 1
        if kept:
            slope = along / r
            twice = (move_first + move_second) * (force[p] - off / ((move_first + move_second) * slope + alpha))
            twice = twice + twice
            kept = length * length - twice * twice > 0
            slope = slope if kept else <real> 1
        change = off / ((move_first + move_second) * slope + alpha) if r > 0 else zero
        force[p] = force[p] - change
        f = zero
        if kept:
            share = change
        elif r > 0:
            f = change / r
    else:
        f = (r - length) / r if r > 0 else zero
        if kept:
            far = (r - length) * (r + length)
            left = along * along - far
            if left + left + left + left - length * length > 0:
                share = far / (along + root(left))
                kept = length * length - (share + share) * (share + share) > 0
                twice = force[p] + share + (force[p] + share)
                if length * length - twice * twice > 0:
                    f = zero
                else:
                    share = zero
            else:
                kept = False
        if data.direction > 0:
            force[p] = force[p] + (share + f * r)
            if not kept:
                (<real*> data.pull)[p] = 1
    for j in range(dim):
        if data.direction > 0 or compliant:
            d[j] = share * (way[j * count + p] if data.direction > 0 else zero) + f * d[j]
        else:
            d[j] = f * d[j]
        x[j * stride + first] = x[j * stride + first] + move_first * d[j]
        x[j * stride + second] = x[j * stride + second] - move_second * d[j]


cdef inline void slow_pair(
    bint compliant, int dim, real h, int64_t stride, real* v, const Distance* data, int64_t p,
) noexcept nogil:
    """Take away what is left of the velocity along a pair."""
    cdef int64_t count = data.stage[data.stages]
    cdef int64_t first = data.first[p]
    cdef int64_t second = data.second[p]
    cdef real move_first = moves(compliant, False, data, v)[p]
    cdef real move_second = moves(compliant, True, data, v)[p]
    cdef const real* way = <const real*> data.way
    cdef real* pull = <real*> data.pull
    cdef real change, alpha, d
    cdef int j
    change = (v[second] - v[first]) * way[p]
    for j in range(1, dim):
        change = change + (v[j * stride + second] - v[j * stride + first]) * way[j * count + p]
    if compliant:
        alpha = (<const real*> data.alpha)[p]
        change = change - alpha * (pull[p] + (<const real*> data.force)[p] / h)
        change = change / (move_first + move_second + alpha)
        pull[p] = pull[p] + change
    elif pull[p] > 0:
        change = 0
    for j in range(dim):
        d = change * way[j * count + p]
        v[j * stride + first] = v[j * stride + first] + move_first * d
        v[j * stride + second] = v[j * stride + second] - move_second * d


cdef inline void take_batch(
    bint velocities, bint compliant, int dim, real h, int64_t stride, real* x, const Distance* data, int64_t p,
    int64_t count,
) noexcept nogil:
    """The same for pairs that have no body in common."""
    cdef real d[MAX_DIM * BATCH]
    cdef real all_h[LANE]
    cdef const int32_t* first = data.first + p
    cdef const int32_t* second = data.second + p
    cdef const real* move_first = moves(compliant, False, data, x) + p
    cdef const real* move_second = moves(compliant, True, data, x) + p
    cdef int64_t k
    cdef int j
    for k in range(LANE):
        all_h[k] = h
    for j in range(dim):
        for k in range(count):
            d[j * BATCH + k] = x[j * stride + second[k]] - x[j * stride + first[k]]
    if is_periodic(&data.torus) and not velocities:
        for j in range(dim):
            for k in range(count):
                d[j * BATCH + k] = nearest(d[j * BATCH + k], j, &data.torus)
    if real is float:
        if velocities:
            slow(compliant, dim, <f32vec*> all_h, data, p, count, <f32vec*> d)
        else:
            correct(compliant, dim, data, p, count, <f32vec*> d)
    else:
        if velocities:
            slow(compliant, dim, <f64vec*> all_h, data, p, count, <f64vec*> d)
        else:
            correct(compliant, dim, data, p, count, <f64vec*> d)
    for j in range(dim):
        for k in range(count):
            x[j * stride + first[k]] = x[j * stride + first[k]] + move_first[k] * d[j * BATCH + k]
            x[j * stride + second[k]] = x[j * stride + second[k]] - move_second[k] * d[j * BATCH + k]


cdef inline void correct(
    bint compliant, int dim, const Distance* data, int64_t p, int64_t count, vec* d,
) noexcept nogil:
    """The ways from body to body become what they are to lose; what lies behind the last pair is not used."""
    cdef int64_t plane = BATCH // width(d)
    cdef int64_t pairs = data.stage[data.stages]
    cdef const vec* length = <const vec*> numbers(data.length, p, d)
    cdef const vec* move_first = NULL
    cdef const vec* move_second = NULL
    cdef const vec* given = NULL
    cdef const vec* way[3]
    cdef vec* force = NULL
    cdef vec* pull = NULL
    cdef vec r, f, alpha, off, total, change, share, along, far, left, slope, twice, kept, zero, half, one
    cdef int64_t k
    cdef int j
    zero = length[0] - length[0]
    one = zero + 1
    half = one / 2
    for j in range(dim):
        way[j] = <const vec*> numbers(data.way, j * pairs + p, d)
    if compliant:
        move_first = <const vec*> numbers(data.share_first, p, d)
        move_second = <const vec*> numbers(data.share_second, p, d)
        given = <const vec*> numbers(data.alpha, p, d)
    force = <vec*> numbers(data.force, p, d)
    pull = <vec*> numbers(data.pull, p, d)
    for k in range((count + width(d) - 1) // width(d)):
        r = d[k] * d[k]
        for j in range(1, dim):
            r = r + d[j * plane + k] * d[j * plane + k]
        r = vec_root(r)
        if not compliant:
            f = where_positive(r, (r - length[k]) / r)
            if data.direction == 0:
                for j in range(dim):
                    d[j * plane + k] = f * d[j * plane + k]
                continue
        kept = zero
        share = zero
        if data.direction > 0:
            along = d[k] * way[0][k]
            for j in range(1, dim):
                along = along + d[j * plane + k] * way[j][k]
            kept = where_positive(along + along - r, one)
        if compliant:
            alpha = given[k]
            off = r - length[k] + alpha * force[k]
            total = move_first[k] + move_second[k]
            slope = one
            if data.direction > 0:
                twice = total * (force[k] - off / (total * (along / r) + alpha))
                twice = twice + twice
                kept = where_positive(length[k] * length[k] - twice * twice, kept)
                slope = where_positive(half - kept, one) + where_positive(kept, along / r)
            change = where_positive(r, off / (total * slope + alpha))
            share = where_positive(kept, change)
            f = where_positive(r, where_positive(half - kept, change / r))
            change = force[k] - change
            store_part(&change, <char*> &force[k], count - k * width(d))
        else:
            far = (r - length[k]) * (r + length[k])
            left = along * along - far
            kept = where_positive(left + left + left + left - length[k] * length[k], kept)
            share = where_positive(kept, far / (along + vec_root(left)))
            slope = where_positive(length[k] * length[k] - (share + share) * (share + share), kept)
            change = pull[k] + where_positive(half - slope, one)
            store_part(&change, <char*> &pull[k], count - k * width(d))
            twice = force[k] + share + (force[k] + share)
            kept = where_positive(length[k] * length[k] - twice * twice, kept)
            share = where_positive(kept, share)
            f = where_positive(half - kept, f)
            change = force[k] + (share + f * r)
            store_part(&change, <char*> &force[k], count - k * width(d))
        for j in range(dim):
            if data.direction > 0:
                d[j * plane + k] = share * way[j][k] + f * d[j * plane + k]
            else:
                d[j * plane + k] = share * zero + f * d[j * plane + k]


cdef inline void slow(
    bint compliant, int dim, const vec* h, const Distance* data, int64_t p, int64_t count, vec* d,
) noexcept nogil:
    """The velocities from body to body become what they are to lose."""
    cdef int64_t plane = BATCH // width(d)
    cdef int64_t pairs = data.stage[data.stages]
    cdef const vec* move_first = NULL
    cdef const vec* move_second = NULL
    cdef const vec* alpha = NULL
    cdef const vec* force = NULL
    cdef const vec* way[3]
    cdef vec* pull = <vec*> numbers(data.pull, p, d)
    cdef vec change, pulled, one
    cdef int64_t k
    cdef int j
    for j in range(dim):
        way[j] = <const vec*> numbers(data.way, j * pairs + p, d)
    if compliant:
        move_first = <const vec*> numbers(data.share_first, p, d)
        move_second = <const vec*> numbers(data.share_second, p, d)
        alpha = <const vec*> numbers(data.alpha, p, d)
        force = <const vec*> numbers(data.force, p, d)
    one = h[0] / h[0]
    for k in range((count + width(d) - 1) // width(d)):
        change = d[k] * way[0][k]
        for j in range(1, dim):
            change = change + d[j * plane + k] * way[j][k]
        if compliant:
            change = change - alpha[k] * (pull[k] + force[k] / h[0])
            change = change / (move_first[k] + move_second[k] + alpha[k])
            pulled = pull[k] + change
            store_part(&pulled, <char*> &pull[k], count - k * width(d))
        else:
            change = where_positive(one / 2 - pull[k], change)
        for j in range(dim):
            d[j * plane + k] = change * way[j][k]


cdef inline const void* numbers(const void* start, int64_t p, const vec* like) noexcept nogil:
    """An array from number p on."""
    return <const char*> start + p * (<int64_t> sizeof(vec) // width(like))
