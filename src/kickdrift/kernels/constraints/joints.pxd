# Pins and distances: the formulas of kickdrift/reference/constraints/joints.py.

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from .loads cimport is_broken
from ..abi.constraints cimport DIRECTION, HELD_ROW, LIMITED, SHARED, SOFT, Distance, Pin
from ..abi.coupled cimport INTERRUPTED
from ..abi.crew cimport PartFunction
from ..abi.plan cimport MAX_DIM
from ..crew cimport lead
from ..forces.fields cimport root
from ..simd.rows cimport change_ways, lay_f32, lay_f64, shrink_ways, ways_f32, ways_f64
from ..simd.masks cimport greater, positive, select, select_or_zero
from ..simd.vec cimport f32vec, f64vec, filled, product, real, store_part, vec, vec_root, width
from ..space cimport is_periodic, toward, turn_to_images

cdef enum:
    BATCH = 128     # pairs whose roots and quotients are under way at once, whole vectors
    RELAXATIONS = 500_000   # of pairs between two looks for Ctrl-C: some milliseconds
    FEW = 2         # for up to so many pairs it is faster to take them one by one
    # Parts of a stage are multiples of it: whole vectors. So only the last vector of a stage reaches beyond it, to rows
    # that others may be writing: what is made of these is dropped.
    WHOLE = 64
    SHORT = 16      # vectors of fewer numbers would wait for these, which were just written one by one


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
    double step, int64_t n, int64_t dim, int64_t stride, const real* before, real* x, real* v, const Distance* data,
    void* owner,
) noexcept nogil:
    """Move each pair to its length, and let velocities follow.

    Pairs that have no body in common may be taken in any order, or at once, without changing a bit: they are
    sorted by stages, and those of one stage are computed in vectors.
    """
    cdef real* was = <real*> data.was
    cdef int64_t count = data.stage[data.stages] if data.stages > 0 else 0
    cdef real h = <real> step
    cdef int64_t p
    cdef int j
    for j in range(dim):
        memcpy(was + j * stride, x + j * stride, n * sizeof(real))
    if data.direction > 0:
        fetch(dim, stride, before, data)
        aim(dim, count, data, x)
    if data.compliance != NULL:
        for p in range(count):
            (<real*> data.alpha)[p] = (<const real*> data.compliance)[p] / (h * h)
        shares(h, count, data.response, data)
    memset(data.force, 0, count * sizeof(real))
    memset(data.pull, 0, count * sizeof(real))
    memset(data.slowed, 0, count * sizeof(real))
    if data.upper != NULL:
        set_limits(count, data, x)
    fetch(dim, stride, x, data)
    if not sweep(False, dim, h, data, owner):
        return INTERRUPTED
    give(dim, stride, x, data)
    if n < SHORT:
        for j in range(dim):
            for p in range(j * stride, j * stride + n):
                v[p] = v[p] + (x[p] - was[p]) / h
    elif real is float:
        follow(dim, n, stride, <const f32vec*> was, <const f32vec*> x, <f32vec*> v, step)
    else:
        follow(dim, n, stride, <const f64vec*> was, <const f64vec*> x, <f64vec*> v, step)
    if data.direction == 2:
        if not project(dim, h, count, stride, x, v, data, owner):
            return INTERRUPTED
    find_loads(h, data)
    return 0


cdef inline bint project(
    int64_t dim, real h, int64_t count, int64_t stride, const real* x, real* v, const Distance* data, void* owner,
) noexcept nogil:
    """Velocities along pairs end (RATTLE); False where somebody wants to stop."""
    aim(dim, count, data, x)
    if data.upper != NULL:
        set_bounds(dim, h, data)
    if data.compliance != NULL:
        shares(h, count, data.response + 2, data)
    fetch(dim, stride, v, data)
    pull_again(dim, h, <real*> data.row, data)
    if not sweep(True, dim, h, data, owner):
        return False
    give(dim, stride, v, data)
    return True


cdef inline real largest(real like) noexcept nogil:
    """The largest finite number."""
    if real is float:
        return 3.4028234663852886e38
    else:
        return 1.7976931348623157e308


cdef inline void set_limits(int64_t count, const Distance* data, const real* like) noexcept nogil:
    """The limits of pairs in this step; those of broken ones are out of reach."""
    cdef int64_t p
    for p in range(count):
        if is_broken(&data.cell[p]):
            (<real*> data.low)[p], (<real*> data.high)[p] = 0, largest(like[0])
        else:
            (<real*> data.low)[p], (<real*> data.high)[p] = (
                (<const real*> data.lower)[p], (<const real*> data.upper)[p]
            )


cdef inline void set_bounds(int dim, real h, const Distance* data) noexcept nogil:
    """A pair at its upper limit may pull, one at its lower limit may push; others only take back what they pulled."""
    cdef const real* row = <const real*> data.row
    cdef real zero = 0
    cdef real near = 0.0009765625
    cdef real d[3]
    cdef real r, low, high, pulled, back
    cdef int64_t stage, p
    cdef bint equal
    cdef int j
    for stage in range(data.stages):
        if not data.how[stage] & LIMITED:
            continue
        for p in range(data.stage[stage], data.stage[stage + 1]):
            for j in range(dim):
                d[j] = toward(row[data.second[p] + j] - row[data.first[p] + j], j, &data.torus)
            r = d[0] * d[0]
            for j in range(1, dim):
                r = r + d[j] * d[j]
            r = root(r)
            low, high, pulled = (<real*> data.low)[p], (<real*> data.high)[p], (<real*> data.force)[p]
            pulled = zero - pulled if data.how[stage] & SOFT else pulled
            equal = not (low < high or high < low)
            back = zero - pulled / h
            (<real*> data.most)[p] = back if back > 0 else zero
            (<real*> data.least)[p] = back if back < 0 else zero
            if equal or pulled > 0 or not r < high - near * high:
                (<real*> data.most)[p] = largest(r)
            if equal or pulled < 0 or not r > low + near * low:
                (<real*> data.least)[p] = zero - largest(r)


cdef inline void find_loads(real h, const Distance* data) noexcept nogil:
    """The load of each pair in this step, in N."""
    cdef const real* force = <const real*> data.force
    cdef const real* pull = <const real*> data.pull
    cdef const real* slowed = <const real*> data.slowed
    cdef real* load = <real*> data.load
    cdef real zero = 0
    cdef int64_t stage, p
    for stage in range(data.stages):
        for p in range(data.stage[stage], data.stage[stage + 1]):
            if data.how[stage] & SOFT:
                load[p] = (pull[p] - force[p] / h) / h
            else:
                load[p] = (force[p] / h + (zero if data.from_positions else slowed[p])) / h * <real> data.cell[p].unit


# Rows of the bodies that pairs hold. Vectors of pairs read and write them whole.

cdef inline void fetch(int dim, int64_t stride, const real* x, const Distance* data) noexcept nogil:
    cdef real* row
    cdef int64_t k, i
    for k in range(data.members):
        i = data.member[k]
        row = <real*> data.row + data.place[k]
        row[0] = x[i]
        if dim > 1:
            row[1] = x[stride + i]
        if dim > 2:
            row[2] = x[2 * stride + i]


cdef inline void give(int dim, int64_t stride, real* x, const Distance* data) noexcept nogil:
    cdef const real* row
    cdef int64_t k, i
    for k in range(data.members):
        i = data.member[k]
        row = <const real*> data.row + data.place[k]
        x[i] = row[0]
        if dim > 1:
            x[stride + i] = row[1]
        if dim > 2:
            x[2 * stride + i] = row[2]


cdef inline void follow(
    int dim, int64_t n, int64_t stride, const vec* was, const vec* x, vec* v, double step,
) noexcept nogil:
    cdef vec h = filled(step, v)
    cdef vec q
    cdef int64_t k, last
    cdef int j
    for j in range(dim):
        last = (j * stride + n + width(v) - 1) // width(v)
        for k in range(j * stride // width(v), last):
            q = v[k] + (x[k] - was[k]) / h
            store_part(&q, <char*> &v[k], j * stride + n - k * width(v))


cdef inline void aim(int dim, int64_t count, const Distance* data, const real* like) noexcept nogil:
    """From the first body of each pair to the second, of length 1, or 0 where they are at the same place."""
    cdef real* way = <real*> data.way
    cdef const real* row = <const real*> data.row
    cdef real one = 1
    cdef real r, f
    cdef int64_t p
    cdef int j
    if count < SHORT:
        for p in range(count):
            for j in range(dim):
                way[j * count + p] = toward(row[data.second[p] + j] - row[data.first[p] + j], j, &data.torus)
            r = way[p] * way[p]
            for j in range(1, dim):
                r = r + way[j * count + p] * way[j * count + p]
            r = root(r)
            f = one / r if r > 0 else 0 * r
            for j in range(dim):
                way[j * count + p] = f * way[j * count + p]
    elif real is float:
        directions(dim, count, data, <const f32vec*> NULL)
    else:
        directions(dim, count, data, <const f64vec*> NULL)


cdef inline void directions(int dim, int64_t count, const Distance* data, const vec* like) noexcept nogil:
    cdef vec d[HELD_ROW]
    cdef vec zero = filled(0, like)
    cdef vec one = filled(1, like)
    cdef vec r, f
    cdef int64_t p = 0
    cdef int c
    while p < count:
        if vec is f32vec:
            ways_f32(<const float*> data.row, data.first + p, data.second + p, d)
        else:
            ways_f64(<const double*> data.row, data.first + p, data.second + p, d)
        if is_periodic(&data.torus):
            turn_to_images(dim, d, &data.torus)
        r = vec_root(product(dim, d, d))
        f = select(greater(r, zero), one / r, zero * r)
        for c in range(dim):
            d[c] = f * d[c]
            store_part(&d[c], <char*> numbers(data.way, c * count + p, like), count - p)
        p += width(like)


cdef inline void shares(real h, int64_t count, const double* response, const Distance* data) noexcept nogil:
    """By how much a pull moves the bodies of each pair, by what drag leaves of it; rigid ones go all the way."""
    cdef const real* move_first = <const real*> data.move_first
    cdef const real* move_second = <const real*> data.move_second
    cdef const real* drag_first = <const real*> data.drag_first
    cdef const real* drag_second = <const real*> data.drag_second
    cdef real* share_first = <real*> data.share_first
    cdef real* share_second = <real*> data.share_second
    cdef real a = <real> response[0]
    cdef real b = <real> response[1]
    cdef int64_t p
    for p in range(count):
        share_first[p], share_second[p] = move_first[p], move_second[p]
        if (<const real*> data.compliance)[p] >= 0:
            share_first[p] = move_first[p] * left_by_drag(drag_first[p], h, a, b)
            share_second[p] = move_second[p] * left_by_drag(drag_second[p], h, a, b)


cdef inline real left_by_drag(real c, real h, real first, real second) noexcept nogil:
    cdef real one = 1
    cdef real z = c * h
    cdef real least = <real> 0.1
    cdef real more = one - z * (first - z * second) - least
    return least + (more if more > 0 else 0 * more)


# What is done with the pairs of a stage.
ctypedef struct Sweep:
    bint velocities, compliant, limited
    int dim, direction
    double h
    const Distance* data
    int64_t first, last


cdef inline void part_f32(const void* work, int64_t part, int64_t parts) noexcept nogil:
    part_of(<const Sweep*> work, part, parts, <const f32vec*> NULL)


cdef inline void part_f64(const void* work, int64_t part, int64_t parts) noexcept nogil:
    part_of(<const Sweep*> work, part, parts, <const f64vec*> NULL)


cdef inline void part_of(const Sweep* work, int64_t part, int64_t parts, const vec* like) noexcept nogil:
    """Pairs of one stage have no body in common, so no bit depends on who takes which."""
    cdef int64_t pieces = (work.last - work.first + WHOLE - 1) // WHOLE
    cdef int64_t p = work.first + pieces * part // parts * WHOLE
    hold_pairs(work, p, min(work.last, work.first + pieces * (part + 1) // parts * WHOLE), like)


cdef inline void hold_pairs(const Sweep* work, int64_t p, int64_t last, const vec* like) noexcept nogil:
    if not (work.velocities or work.compliant or work.limited or work.direction or is_periodic(&work.data.torus)):
        straighten(work.dim, work.data, p, last, like)
    else:
        take(work, p, last, like)


cdef inline bint sweep(
    bint velocities, int dim, real h, const Distance* data, void* owner,
) noexcept nogil:
    """All iterations, over positions or velocities; False where somebody wants to stop."""
    cdef int64_t _iteration, stage, p, k
    cdef int64_t relaxed = 0
    cdef Sweep work
    cdef PartFunction part = part_f32 if real is float else part_f64
    work.velocities, work.dim, work.h, work.data = velocities, dim, h, data
    for _iteration in range(data.iterations):
        for stage in range(data.stages):
            work.compliant, work.direction = data.how[stage] & SOFT != 0, data.how[stage] & DIRECTION
            work.limited = data.how[stage] & LIMITED != 0
            if velocities and work.direction < 2:
                continue
            p = work.first = data.stage[stage]
            work.last = data.stage[stage + 1]
            relaxed += work.last - p + 1
            if relaxed > RELAXATIONS:
                relaxed = 0
                if data.look(owner):
                    return False
            if work.last - p <= FEW:
                for k in range(p, work.last):
                    if velocities:
                        slow_pair(&work, dim, h, <real*> data.row, data, k)
                    else:
                        relax_pair(&work, work.direction, dim, <real*> data.row, data, k)
            elif data.crew != NULL and work.last - p >= SHARED:
                lead(data.crew, part, &work)
            elif real is float:
                hold_pairs(&work, p, work.last, <const f32vec*> NULL)
            else:
                hold_pairs(&work, p, work.last, <const f64vec*> NULL)
    return True


cdef inline const real* moves(bint second, const Distance* data, const real* like) noexcept nogil:
    if data.compliance != NULL:
        return <const real*> (data.share_second if second else data.share_first)
    if second:
        return <const real*> data.move_second
    return <const real*> data.move_first


cdef inline bint exceeds(
    real r, real along, real back, const Distance* data, int64_t p, real* length,
) noexcept nogil:
    """Is a pair beyond its limits, without its own correction? length: the limit."""
    cdef real low = (<const real*> data.low)[p]
    cdef real high = (<const real*> data.high)[p]
    cdef real free = r * r + back * (along + along + back)
    length[0] = high if free > high * high else low
    return free > high * high or free < low * low


cdef inline void relax_pair(
    const Sweep* work, int direction, int dim, real* row, const Distance* data, int64_t p,
) noexcept nogil:
    cdef bint compliant = work.compliant
    cdef int64_t count = data.stage[data.stages]
    cdef real* first = row + data.first[p]
    cdef real* second = row + data.second[p]
    cdef real length = (<const real*> data.length)[p]
    cdef real move_first = moves(False, data, row)[p]
    cdef real move_second = moves(True, data, row)[p]
    cdef const real* way = <const real*> data.way
    cdef real* force = <real*> data.force
    cdef real zero = 0
    cdef real d[3]
    cdef real r, f, alpha, off, change, share, along, far, left, slope, twice
    cdef bint kept = False
    cdef int j
    for j in range(dim):
        d[j] = toward(second[j] - first[j], j, &data.torus)
    r = d[0] * d[0]
    for j in range(1, dim):
        r = r + d[j] * d[j]
    r = root(r)
    share = zero
    along = zero
    if direction > 0:
        along = d[0] * way[p]
        for j in range(1, dim):
            along = along + d[j] * way[j * count + p]
        kept = along + along - r > 0
    f = zero - force[p] if compliant else force[p]
    if work.limited and not exceeds(r, along if kept else r, (move_first + move_second) * f, data, p, &length):
        force[p] = 0
        share = zero - f if kept else zero
        f = (zero - f) / r if not kept and r > 0 else zero
    elif compliant:
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
        force[p] = force[p] + (share + f * r)
        if direction > 0 and not kept:
            (<real*> data.pull)[p] = 1
    for j in range(dim):
        if direction > 0 or compliant:
            d[j] = share * (way[j * count + p] if direction > 0 else zero) + f * d[j]
        else:
            d[j] = f * d[j]
        first[j] = first[j] + move_first * d[j]
        second[j] = second[j] - move_second * d[j]


cdef inline void pull_again(int dim, real h, real* row, const Distance* data) noexcept nogil:
    """As hard as a pair has pulled in the first half of the step it pulls in the second: what is off is then found."""
    cdef int64_t count = data.stage[data.stages]
    cdef const real* way = <const real*> data.way
    cdef real change, d
    cdef int64_t stage, p
    cdef int j
    for stage in range(data.stages):
        if data.how[stage] & (DIRECTION | SOFT) != 2:
            continue
        for p in range(data.stage[stage], data.stage[stage + 1]):
            if (<const real*> data.pull)[p] > 0:
                continue
            change = (<const real*> data.force)[p] / h
            (<real*> data.slowed)[p] = change
            for j in range(dim):
                d = change * way[j * count + p]
                row[data.first[p] + j] = row[data.first[p] + j] + moves(False, data, row)[p] * d
                row[data.second[p] + j] = row[data.second[p] + j] - moves(True, data, row)[p] * d


cdef inline void slow_pair(
    const Sweep* work, int dim, real h, real* row, const Distance* data, int64_t p,
) noexcept nogil:
    """Take away what is left of the velocity along a pair."""
    cdef int64_t count = data.stage[data.stages]
    cdef real* first = row + data.first[p]
    cdef real* second = row + data.second[p]
    cdef real move_first = moves(False, data, row)[p]
    cdef real move_second = moves(True, data, row)[p]
    cdef const real* way = <const real*> data.way
    cdef real* pull = <real*> data.pull
    cdef real* total = <real*> (data.pull if work.compliant else data.slowed)
    cdef real change, alpha, d, least, most
    cdef int j
    change = (second[0] - first[0]) * way[p]
    for j in range(1, dim):
        change = change + (second[j] - first[j]) * way[j * count + p]
    if work.compliant:
        alpha = (<const real*> data.alpha)[p]
        change = change - alpha * (pull[p] + (<const real*> data.force)[p] / h)
        change = change / (move_first + move_second + alpha)
    if work.limited:
        least, most = (<const real*> data.least)[p], (<const real*> data.most)[p]
        if total[p] + change < least:
            change = least - total[p]
        elif total[p] + change > most:
            change = most - total[p]
    elif not work.compliant and pull[p] > 0:
        change = 0
    total[p] = total[p] + change
    for j in range(dim):
        d = change * way[j * count + p]
        first[j] = first[j] + move_first * d
        second[j] = second[j] - move_second * d


cdef inline void straighten(int dim, const Distance* data, int64_t p, int64_t last, const vec* like) noexcept nogil:
    """The same for pairs that have no body in common, along the line after the step.

    Shares come first: what moves the bodies would keep the roots of the next pairs waiting.
    """
    cdef double room[BATCH]
    cdef vec d[HELD_ROW]
    cdef vec r, f
    cdef vec* force
    cdef int64_t end, k
    while p < last:
        end = min(last, p + BATCH)
        k = p
        while k < end:
            if vec is f32vec:
                ways_f32(<const float*> data.row, data.first + k, data.second + k, d)
            else:
                ways_f64(<const double*> data.row, data.first + k, data.second + k, d)
            r = vec_root(product(dim, d, d))
            f = select_or_zero(positive(r), (r - (<const vec*> numbers(data.length, k, like))[0]) / r)
            (<vec*> numbers(room, k - p, like))[0] = f
            force = <vec*> numbers(data.force, k, like)
            f = force[0] + f * r
            store_part(&f, <char*> force, end - k)
            k += width(like)
        shrink_ways(
            data.row, data.first + p, data.second + p, <const vec*> room, numbers(data.move_first, p, like),
            numbers(data.move_second, p, like), end - p,
        )
        p = end


cdef inline void take(const Sweep* work, int64_t p, int64_t last, const vec* like) noexcept nogil:
    """The same for whatever is to be done with pairs."""
    cdef const Distance* data = work.data
    cdef int dim = work.dim
    cdef const void* move_first = data.move_first
    cdef const void* move_second = data.move_second
    cdef double room[HELD_ROW * BATCH]
    cdef vec h = filled(work.h, like)
    cdef vec d[HELD_ROW]
    cdef vec total
    cdef int64_t end, k
    if data.compliance != NULL:
        move_first = data.share_first
        move_second = data.share_second
    while p < last:
        end = min(last, p + BATCH)
        k = p
        while k < end:
            if vec is f32vec:
                ways_f32(<const float*> data.row, data.first + k, data.second + k, d)
            else:
                ways_f64(<const double*> data.row, data.first + k, data.second + k, d)
            total = (<const vec*> numbers(move_first, k, like))[0] + (<const vec*> numbers(move_second, k, like))[0]
            if work.velocities:
                slow(work, dim, h, total, data, k, end - k, d)
            else:
                if is_periodic(&data.torus):
                    turn_to_images(dim, d, &data.torus)
                correct(work, work.direction, dim, total, data, k, end - k, d)
            if vec is f32vec:
                lay_f32(<float*> numbers(room, HELD_ROW * (k - p), like), d)
            else:
                lay_f64(<double*> numbers(room, HELD_ROW * (k - p), like), d)
            k += width(like)
        change_ways(
            data.row, data.first + p, data.second + p, <const vec*> room, numbers(move_first, p, like),
            numbers(move_second, p, like), end - p,
        )
        p = end


cdef inline void correct(
    const Sweep* work, int direction, int dim, vec total, const Distance* data, int64_t p, int64_t count, vec* d,
) noexcept nogil:
    """The ways from body to body become what they are to lose; what lies behind the last pair is not kept."""
    cdef bint compliant = work.compliant
    cdef int64_t pairs = data.stage[data.stages]
    cdef vec length = (<const vec*> numbers(data.length, p, d))[0]
    cdef vec* force = <vec*> numbers(data.force, p, d)
    cdef vec* pull = <vec*> numbers(data.pull, p, d)
    cdef vec way[MAX_DIM]
    cdef vec zero = filled(0, d)
    cdef vec one = filled(1, d)
    cdef vec half = filled(0.5, d)
    cdef vec r, f, alpha, off, change, share, along, far, left, slope, twice, kept, aligned, pulled
    cdef vec inside = zero
    cdef int c
    for c in range(MAX_DIM):
        way[c] = zero
    r = vec_root(product(dim, d, d))
    kept = zero
    share = zero
    along = zero
    if direction > 0:
        for c in range(dim):
            way[c] = (<const vec*> numbers(data.way, c * pairs + p, d))[0]
        along = product(dim, d, way)
        kept = select_or_zero(positive(along + along - r), one)
    aligned = kept
    pulled = zero - force[0] if compliant else force[0]
    if work.limited:
        inside = find_inside(r, select(positive(kept), along, r), total * pulled, data, p, &length)
    if compliant:
        alpha = (<const vec*> numbers(data.alpha, p, d))[0]
        off = r - length + alpha * force[0]
        slope = one
        if direction > 0:
            twice = total * (force[0] - off / (total * (along / r) + alpha))
            twice = twice + twice
            kept = select_or_zero(positive(length * length - twice * twice), kept)
            slope = select_or_zero(positive(half - kept), one) + select_or_zero(positive(kept), along / r)
        change = select_or_zero(positive(r), off / (total * slope + alpha))
        share = select_or_zero(positive(kept), change)
        f = select_or_zero(positive(r), select_or_zero(positive(half - kept), change / r))
        change = force[0] - change
    else:
        f = select_or_zero(positive(r), (r - length) / r)
        if direction > 0:
            far = (r - length) * (r + length)
            left = along * along - far
            kept = select_or_zero(positive(left + left + left + left - length * length), kept)
            share = select_or_zero(positive(kept), far / (along + vec_root(left)))
            slope = select_or_zero(positive(length * length - (share + share) * (share + share)), kept)
            change = pull[0] + select_or_zero(positive(half - slope), select_or_zero(positive(half - inside), one))
            store_part(&change, <char*> pull, count)
            twice = force[0] + share + (force[0] + share)
            kept = select_or_zero(positive(length * length - twice * twice), kept)
            share = select_or_zero(positive(kept), share)
            f = select_or_zero(positive(half - kept), f)
        change = force[0] + (share + f * r)
    if work.limited:
        share = select(positive(inside), select_or_zero(positive(aligned), zero - pulled), share)
        off = select_or_zero(positive(half - aligned), select_or_zero(positive(r), (zero - pulled) / r))
        f = select(positive(inside), off, f)
        change = select_or_zero(positive(half - inside), change)
    store_part(&change, <char*> force, count)
    if direction == 0 and not compliant:
        for c in range(MAX_DIM):
            d[c] = f * d[c]
        return
    for c in range(MAX_DIM):
        d[c] = share * way[c] + f * d[c]


cdef inline vec find_inside(vec r, vec along, vec back, const Distance* data, int64_t p, vec* length) noexcept nogil:
    """1 for pairs that are within their limits without their own correction, else 0. length: the nearer limit."""
    cdef vec one = filled(1, length)
    cdef vec low = (<const vec*> numbers(data.low, p, length))[0]
    cdef vec high = (<const vec*> numbers(data.high, p, length))[0]
    cdef vec free = r * r + back * (along + along + back)
    cdef vec over = select_or_zero(greater(free, high * high), one)
    length[0] = select(positive(over), high, low)
    return one - over - select_or_zero(greater(low * low, free), one)


cdef inline void slow(
    const Sweep* work, int dim, vec h, vec total, const Distance* data, int64_t p, int64_t count, vec* d,
) noexcept nogil:
    """The velocities from body to body become what they are to lose."""
    cdef int64_t pairs = data.stage[data.stages]
    cdef vec* pull = <vec*> numbers(data.pull, p, d)
    cdef vec* so_far = <vec*> numbers(data.pull if work.compliant else data.slowed, p, d)
    cdef vec way[MAX_DIM]
    cdef vec change, now, alpha, least, most
    cdef int c
    for c in range(MAX_DIM):
        way[c] = filled(0, d)
    for c in range(dim):
        way[c] = (<const vec*> numbers(data.way, c * pairs + p, d))[0]
    change = product(dim, d, way)
    if work.compliant:
        alpha = (<const vec*> numbers(data.alpha, p, d))[0]
        change = change - alpha * (pull[0] + (<const vec*> numbers(data.force, p, d))[0] / h)
        change = change / (total + alpha)
    if work.limited:
        least = (<const vec*> numbers(data.least, p, d))[0]
        most = (<const vec*> numbers(data.most, p, d))[0]
        now = so_far[0] + change
        change = select(
            greater(least, now), least - so_far[0], select(greater(now, most), most - so_far[0], change),
        )
    elif not work.compliant:
        change = select_or_zero(positive(filled(0.5, d) - pull[0]), change)
    now = so_far[0] + change
    store_part(&now, <char*> so_far, count)
    for c in range(MAX_DIM):
        d[c] = change * way[c]


cdef inline const void* numbers(const void* start, int64_t p, const vec* like) noexcept nogil:
    """An array from number p on."""
    return <const char*> start + p * (<int64_t> sizeof(vec) // width(like))
