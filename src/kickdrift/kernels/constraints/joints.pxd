# Pins and distances: the formulas of kickdrift/reference/constraints/joints.py.

from libc.stdint cimport int64_t
from libc.string cimport memset

from .joint_lanes cimport Sweep, exceeds, find_loads, numbers, set_bounds, set_limits, straighten, take
from .loads cimport span_of
from ..abi.constraints cimport DIRECTION, PAIR_ROW, LIMITED, SOFT, Distance, Pin
from ..abi.coupled cimport INTERRUPTED
from ..forces.fields cimport root
from ..simd.rows cimport displacements_f32, displacements_f64
from ..simd.masks cimport greater, select
from ..simd.vec cimport f32vec, f64vec, filled, product, real, store_part, vec, vec_root, width
from ..space cimport is_periodic, toward, turn_to_images

cdef enum:
    RELAXATIONS = 500_000   # pair solves between two Ctrl-C checks: some milliseconds
    FEW = 2         # up to this many pairs, scalar code is faster
    SHORT = 16      # fewer numbers use scalar code: vector loads would stall on the preceding scalar stores


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
    double step, int64_t dim, int64_t stride, const real* before, real* x, real* v, const Distance* data, void* owner,
) noexcept nogil:
    """Move each pair to its length, and update velocities.

    Pairs without common bodies may be solved in any order, or at once, without changing a bit. Pairs are therefore
    sorted by level (`stage`): those of one level have no common body, and are computed in vectors.
    """
    cdef int64_t count = data.stage[data.stages] if data.stages > 0 else 0
    cdef real h = <real> step
    cdef int64_t p
    if data.direction > 0:
        gather(dim, stride, before, data)
        compute_normals(dim, count, data, x)
    if data.compliance != NULL:
        for p in range(count):
            (<real*> data.alpha)[p] = (<const real*> data.compliance)[p] / (h * span_of(h, data.last_h))
        shares(h, count, data.response, data)
    memset(data.force, 0, count * sizeof(real))
    memset(data.pull, 0, count * sizeof(real))
    memset(data.slowed, 0, count * sizeof(real))
    if data.upper != NULL:
        set_limits(count, data, x)
    gather(dim, stride, x, data)
    if not sweep(False, dim, h, data, owner):
        return INTERRUPTED
    follow(dim, h, stride, x, v, data)
    if data.direction == 2:
        if not project(dim, h, count, stride, x, v, data, owner):
            return INTERRUPTED
    find_loads(h, data)
    return 0


cdef inline bint project(
    int64_t dim, real h, int64_t count, int64_t stride, const real* x, real* v, const Distance* data, void* owner,
) noexcept nogil:
    """Remove velocities along pairs (RATTLE); return False if interrupted."""
    keep_turned(dim, count, data, x)
    compute_normals(dim, count, data, x)
    if data.upper != NULL:
        set_bounds(dim, h, data)
    if data.compliance != NULL:
        shares(h, count, data.response + 2, data)
    gather(dim, stride, v, data)
    pull_again(dim, h, <real*> data.row, data)
    if not sweep(True, dim, h, data, owner):
        return False
    scatter(dim, stride, v, data)
    return True


# Each constrained body has a row of PAIR_ROW numbers. Loops over vectors of pairs load and store whole rows.

cdef inline void gather(int dim, int64_t stride, const real* x, const Distance* data) noexcept nogil:
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


cdef inline void scatter(int dim, int64_t stride, real* x, const Distance* data) noexcept nogil:
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


cdef inline void follow(int dim, real h, int64_t stride, real* x, real* v, const Distance* data) noexcept nogil:
    """Store the corrected positions, and change velocities by the corrections / h."""
    cdef const real* row
    cdef int64_t k, p
    cdef int j
    for k in range(data.members):
        row = <const real*> data.row + data.place[k]
        for j in range(dim):
            p = j * stride + data.member[k]
            if row[j] != x[p]:
                v[p] = v[p] + (row[j] - x[p]) / h
            x[p] = row[j]   # also if equal: zeros may differ in sign


cdef inline void compute_normals(int dim, int64_t count, const Distance* data, const real* like) noexcept nogil:
    """Compute unit vectors from the first to the second body of each pair, or 0 if they coincide."""
    cdef real* displacement = <real*> data.displacement
    cdef const real* row = <const real*> data.row
    cdef real one = 1
    cdef real r, f
    cdef int64_t p
    cdef int j
    if count < SHORT:
        for p in range(count):
            for j in range(dim):
                displacement[j * count + p] = toward(row[data.second[p] + j] - row[data.first[p] + j], j, &data.torus)
            r = displacement[p] * displacement[p]
            for j in range(1, dim):
                r = r + displacement[j * count + p] * displacement[j * count + p]
            r = root(r)
            f = one / r if r > 0 else 0 * r
            for j in range(dim):
                displacement[j * count + p] = f * displacement[j * count + p]
    elif real is float:
        directions(dim, count, data, <const f32vec*> NULL)
    else:
        directions(dim, count, data, <const f64vec*> NULL)


cdef inline void directions(int dim, int64_t count, const Distance* data, const vec* like) noexcept nogil:
    cdef vec d[PAIR_ROW]
    cdef vec zero = filled(0, like)
    cdef vec one = filled(1, like)
    cdef vec r, f
    cdef int64_t p = 0
    cdef int c
    while p < count:
        if vec is f32vec:
            displacements_f32(<const float*> data.row, data.first + p, data.second + p, d)
        else:
            displacements_f64(<const double*> data.row, data.first + p, data.second + p, d)
        if is_periodic(&data.torus):
            turn_to_images(dim, d, &data.torus)
        r = vec_root(product(dim, d, d))
        f = select(greater(r, zero), one / r, zero * r)
        for c in range(dim):
            d[c] = f * d[c]
            store_part(&d[c], <char*> numbers(data.displacement, c * count + p, like), count - p)
        p += width(like)


cdef inline void keep_turned(int dim, int64_t count, const Distance* data, const real* like) noexcept nogil:
    """Of the rigid pairs that were corrected far, mark only those that the step has turned by more than 60 degrees."""
    cdef const real* row = <const real*> data.row
    cdef const real* displacement = <const real*> data.displacement
    cdef real* loose = <real*> data.pull
    cdef real d, r, along
    cdef int64_t p
    cdef int j
    for p in range(count):
        if not loose[p] > 0:
            continue
        r = along = 0
        for j in range(dim):
            d = toward(row[data.second[p] + j] - row[data.first[p] + j], j, &data.torus)
            r, along = r + d * d, along + d * displacement[j * count + p]
        if along + along - root(r) > 0:
            loose[p] = 0


cdef inline void shares(real h, int64_t count, const double* response, const Distance* data) noexcept nogil:
    """Compute the inverse masses of pairs; those of compliant ones are reduced by drag."""
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


cdef inline void correct_pairs(const Sweep* work, int64_t p, int64_t last, const vec* like) noexcept nogil:
    if not (work.velocities or work.compliant or work.limited or work.direction or is_periodic(&work.data.torus)):
        straighten(work.dim, work.data, p, last, like)
    else:
        take(work, p, last, like)


cdef inline bint sweep(
    bint velocities, int dim, real h, const Distance* data, void* owner,
) noexcept nogil:
    """Do all iterations over the levels, for positions or velocities; return False if interrupted."""
    cdef int64_t _iteration, stage, p, k
    cdef int64_t relaxed = 0
    cdef Sweep work
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
            elif real is float:
                correct_pairs(&work, p, work.last, <const f32vec*> NULL)
            else:
                correct_pairs(&work, p, work.last, <const f64vec*> NULL)
    return True


cdef inline const real* moves(bint second, const Distance* data, const real* like) noexcept nogil:
    if data.compliance != NULL:
        return <const real*> (data.share_second if second else data.share_first)
    if second:
        return <const real*> data.move_second
    return <const real*> data.move_first


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
    cdef const real* displacement = <const real*> data.displacement
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
        along = d[0] * displacement[p]
        for j in range(1, dim):
            along = along + d[j] * displacement[j * count + p]
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
            d[j] = share * (displacement[j * count + p] if direction > 0 else zero) + f * d[j]
        else:
            d[j] = f * d[j]
        first[j] = first[j] + move_first * d[j]
        second[j] = second[j] - move_second * d[j]


cdef inline void pull_again(int dim, real h, real* row, const Distance* data) noexcept nogil:
    """Repeat the impulses of the position solve on velocities, as a first guess of the velocity solve."""
    cdef int64_t count = data.stage[data.stages]
    cdef const real* displacement = <const real*> data.displacement
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
                d = change * displacement[j * count + p]
                row[data.first[p] + j] = row[data.first[p] + j] + moves(False, data, row)[p] * d
                row[data.second[p] + j] = row[data.second[p] + j] - moves(True, data, row)[p] * d


cdef inline void slow_pair(
    const Sweep* work, int dim, real h, real* row, const Distance* data, int64_t p,
) noexcept nogil:
    """Remove the relative velocity along a pair."""
    cdef int64_t count = data.stage[data.stages]
    cdef real* first = row + data.first[p]
    cdef real* second = row + data.second[p]
    cdef real move_first = moves(False, data, row)[p]
    cdef real move_second = moves(True, data, row)[p]
    cdef const real* displacement = <const real*> data.displacement
    cdef real* pull = <real*> data.pull
    cdef real* total = <real*> (data.pull if work.compliant else data.slowed)
    cdef real change, alpha, d, least, most
    cdef int j
    change = (second[0] - first[0]) * displacement[p]
    for j in range(1, dim):
        change = change + (second[j] - first[j]) * displacement[j * count + p]
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
        d = change * displacement[j * count + p]
        first[j] = first[j] + move_first * d
        second[j] = second[j] - move_second * d
