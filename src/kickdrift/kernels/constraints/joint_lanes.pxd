# Solves the pairs of a level (`stage`) of Distance in vectors: pairs of one level have no body in common.

from libc.stdint cimport int64_t

from ..abi.constraints cimport LIMITED, PAIR_ROW, SOFT, Distance
from ..abi.plan cimport MAX_DIM
from ..simd.masks cimport greater, positive, select, select_or_zero
from ..simd.rows cimport (
    change_displacements, displacements_f32, displacements_f64, lay_f32, lay_f64, shrink_displacements,
)
from ..simd.vec cimport f32vec, filled, product, real, store_part, vec, vec_root, width
from ..space cimport is_periodic, toward, turn_to_images
from .loads cimport is_broken, span_of
from ..forces.fields cimport root

# Limits of pairs, and their loads: the formulas of kickdrift/reference/constraints/joints.py.

cdef inline real largest(real like) noexcept nogil:
    """The largest finite number."""
    if real is float:
        return 3.4028234663852886e38
    else:
        return 1.7976931348623157e308


cdef inline void set_limits(int64_t count, const Distance* data, const real* like) noexcept nogil:
    """Set the limits of pairs in this step; those of broken pairs are out of reach."""
    cdef int64_t p
    for p in range(count):
        if is_broken(&data.cell[p]):
            (<real*> data.low)[p], (<real*> data.high)[p] = 0, largest(like[0])
        else:
            (<real*> data.low)[p], (<real*> data.high)[p] = (
                (<const real*> data.lower)[p], (<const real*> data.upper)[p]
            )


cdef inline void set_bounds(int dim, real h, const Distance* data) noexcept nogil:
    """Set the bounds of velocity impulses: a pair at its upper limit may pull, one at its lower limit may push."""
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
    """Compute the load of each pair in this step, in N."""
    cdef const real* force = <const real*> data.force
    cdef const real* pull = <const real*> data.pull
    cdef const real* slowed = <const real*> data.slowed
    cdef real* load = <real*> data.load
    cdef real zero = 0
    cdef real one = 1
    cdef real rate = one / h
    cdef real per_span = one / span_of(h, data.last_h)
    cdef int64_t stage, p
    for stage in range(data.stages):
        for p in range(data.stage[stage], data.stage[stage + 1]):
            if data.how[stage] & SOFT:
                load[p] = (pull[p] - force[p] * rate) * per_span
            else:
                load[p] = (force[p] * rate + (zero if data.from_positions else slowed[p])) * per_span
                load[p] = load[p] * <real> data.cell[p].unit


cdef inline bint exceeds(
    real r, real along, real back, const Distance* data, int64_t p, real* length,
) noexcept nogil:
    """True if a pair would exceed a limit if its corrections so far were undone, which changes its length by `back`.
    length: set to the limit that the pair would exceed."""
    cdef real low = (<const real*> data.low)[p]
    cdef real high = (<const real*> data.high)[p]
    cdef real free = r * r + back * (along + along + back)
    length[0] = high if free > high * high else low
    return free > high * high or free < low * low


cdef inline vec find_inside(vec r, vec along, vec back, const Distance* data, int64_t p, vec* length) noexcept nogil:
    """Return 1 for pairs that would be within limits if their corrections so far were undone, else 0: see `exceeds`."""
    cdef vec one = filled(1, length)
    cdef vec low = (<const vec*> numbers(data.low, p, length))[0]
    cdef vec high = (<const vec*> numbers(data.high, p, length))[0]
    cdef vec free = r * r + back * (along + along + back)
    cdef vec over = select_or_zero(greater(free, high * high), one)
    length[0] = select(positive(over), high, low)
    return one - over - select_or_zero(greater(low * low, free), one)


cdef inline const void* numbers(const void* start, int64_t p, const vec* like) noexcept nogil:
    """Address of number p of an array."""
    return <const char*> start + p * (<int64_t> sizeof(vec) // width(like))


cdef enum:
    BATCH = 128     # pairs per batch (whole vectors): latencies of their square roots and divisions overlap

# Arguments for the pairs of a level.
ctypedef struct Sweep:
    bint velocities, compliant, limited
    int dim, direction
    double h
    const Distance* data
    int64_t first, last


cdef inline void straighten(int dim, const Distance* data, int64_t p, int64_t last, const vec* like) noexcept nogil:
    """Solve positions of rigid pairs without common bodies, along the line between them after the step.

    Corrections of a batch are computed first: interleaved stores would delay the roots of the next pairs.
    """
    cdef double room[BATCH]
    cdef vec d[PAIR_ROW]
    cdef vec r, f
    cdef vec* force
    cdef int64_t end, k
    while p < last:
        end = min(last, p + BATCH)
        k = p
        while k < end:
            if vec is f32vec:
                displacements_f32(<const float*> data.row, data.first + k, data.second + k, d)
            else:
                displacements_f64(<const double*> data.row, data.first + k, data.second + k, d)
            r = vec_root(product(dim, d, d))
            f = select_or_zero(positive(r), (r - (<const vec*> numbers(data.length, k, like))[0]) / r)
            (<vec*> numbers(room, k - p, like))[0] = f
            force = <vec*> numbers(data.force, k, like)
            f = force[0] + f * r
            if end - k < width(like):
                store_part(&f, <char*> force, end - k)
            else:
                force[0] = f
            k += width(like)
        shrink_displacements(
            data.row, data.first + p, data.second + p, <const vec*> room, numbers(data.move_first, p, like),
            numbers(data.move_second, p, like), end - p,
        )
        p = end


cdef inline void take(const Sweep* work, int64_t p, int64_t last, const vec* like) noexcept nogil:
    """Solve pairs without common bodies, for any kind and line of action."""
    cdef const Distance* data = work.data
    cdef int dim = work.dim
    cdef const void* move_first = data.move_first
    cdef const void* move_second = data.move_second
    cdef double room[PAIR_ROW * BATCH]
    cdef vec h = filled(work.h, like)
    cdef vec d[PAIR_ROW]
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
                displacements_f32(<const float*> data.row, data.first + k, data.second + k, d)
            else:
                displacements_f64(<const double*> data.row, data.first + k, data.second + k, d)
            total = (<const vec*> numbers(move_first, k, like))[0] + (<const vec*> numbers(move_second, k, like))[0]
            if work.velocities:
                slow(work, dim, h, total, data, k, end - k, d)
            else:
                if is_periodic(&data.torus):
                    turn_to_images(dim, d, &data.torus)
                correct(work, work.direction, dim, total, data, k, end - k, d)
            if vec is f32vec:
                lay_f32(<float*> numbers(room, PAIR_ROW * (k - p), like), d)
            else:
                lay_f64(<double*> numbers(room, PAIR_ROW * (k - p), like), d)
            k += width(like)
        change_displacements(
            data.row, data.first + p, data.second + p, <const vec*> room, numbers(move_first, p, like),
            numbers(move_second, p, like), end - p,
        )
        p = end


cdef inline void correct(
    const Sweep* work, int direction, int dim, vec total, const Distance* data, int64_t p, int64_t count, vec* d,
) noexcept nogil:
    """Replace separations by position corrections; lanes past the last pair are not stored."""
    cdef bint compliant = work.compliant
    cdef int64_t pairs = data.stage[data.stages]
    cdef vec length = (<const vec*> numbers(data.length, p, d))[0]
    cdef vec* force = <vec*> numbers(data.force, p, d)
    cdef vec* pull = <vec*> numbers(data.pull, p, d)
    cdef vec displacement[MAX_DIM]
    cdef vec zero = filled(0, d)
    cdef vec one = filled(1, d)
    cdef vec half = filled(0.5, d)
    cdef vec r, f, alpha, off, change, share, along, far, left, slope, twice, kept, aligned, pulled
    cdef vec inside = zero
    cdef vec mark = one
    cdef int c
    for c in range(MAX_DIM):
        displacement[c] = zero
    r = vec_root(product(dim, d, d))
    kept = zero
    share = zero
    along = zero
    if direction > 0:
        for c in range(dim):
            displacement[c] = (<const vec*> numbers(data.displacement, c * pairs + p, d))[0]
        along = product(dim, d, displacement)
        kept = select_or_zero(positive(along + along - r), one)
    if work.limited:
        aligned = kept
        pulled = zero - force[0] if compliant else force[0]
        inside = find_inside(r, select(positive(kept), along, r), total * pulled, data, p, &length)
        mark = one - inside
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
            change = pull[0] + select_or_zero(positive(half - slope), mark)
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
        d[c] = share * displacement[c] + f * d[c]


cdef inline void slow(
    const Sweep* work, int dim, vec h, vec total, const Distance* data, int64_t p, int64_t count, vec* d,
) noexcept nogil:
    """Replace relative velocities by velocity corrections."""
    cdef int64_t pairs = data.stage[data.stages]
    cdef vec* pull = <vec*> numbers(data.pull, p, d)
    cdef vec* so_far = <vec*> numbers(data.pull if work.compliant else data.slowed, p, d)
    cdef vec displacement[MAX_DIM]
    cdef vec change, now, alpha, least, most
    cdef int c
    for c in range(MAX_DIM):
        displacement[c] = filled(0, d)
    for c in range(dim):
        displacement[c] = (<const vec*> numbers(data.displacement, c * pairs + p, d))[0]
    change = product(dim, d, displacement)
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
        d[c] = change * displacement[c]
