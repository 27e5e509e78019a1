# Pins and distances: the formulas of kickdrift/reference/constraints.py.

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from ..abi.constraints cimport Distance, Pin
from ..simd.vec cimport f32vec, f64vec, vec, vec_root, real, store_part, where_positive, width
from ..abi.plan cimport MAX_DIM
from ..abi.coupled cimport INTERRUPTED
from ..forces.fields cimport root

cdef enum:
    BATCH = 64      # pairs whose roots and quotients are under way at once
    LANE = 16       # numbers in the widest vector
    RELAXATIONS = 500_000   # of pairs between two looks for Ctrl-C: some milliseconds
    FEW = 2         # pairs that are sooner done one by one


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
    bint compliant, double step, int64_t n, int64_t dim, int64_t stride, real* x, real* v, const Distance* data,
    void* owner,
) noexcept nogil:
    """Move each pair to its length, and let velocities follow.

    Pairs that have no body in common may be taken in any order, or at once, without changing a bit: they are
    sorted by stages, and those of one stage are computed in vectors.
    """
    cdef bint done
    if dim == 3:
        done = relax(compliant, 3, step, n, stride, x, data, owner)
    elif dim == 2:
        done = relax(compliant, 2, step, n, stride, x, data, owner)
    else:
        done = relax(compliant, 1, step, n, stride, x, data, owner)
    if not done:
        return INTERRUPTED
    cdef const real* was = <const real*> data.was
    cdef real h = <real> step
    cdef int64_t i, j
    for j in range(dim):
        for i in range(j * stride, j * stride + n):
            v[i] = v[i] + (x[i] - was[i]) / h
    return 0


cdef inline bint relax(
    bint compliant, int dim, double step, int64_t n, int64_t stride, real* x, const Distance* data, void* owner,
) noexcept nogil:
    """False where somebody wants to stop."""
    cdef real* was = <real*> data.was
    cdef real* force = <real*> data.force
    cdef real h = <real> step
    cdef real zero = 0
    cdef int64_t _iteration, stage, p, k, last, count
    cdef int64_t relaxed = 0
    cdef int j
    for j in range(dim):
        memcpy(was + j * stride, x + j * stride, n * sizeof(real))
    if compliant:
        for p in range(data.stage[data.stages]):
            force[p] = zero
    for _iteration in range(data.iterations if data.stages > 0 else 0):
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
                    relax_pair(compliant, dim, h * h, stride, x, data, k)
                continue
            while p < last:
                count = min(<int64_t> BATCH, last - p)
                relax_batch(compliant, dim, h * h, stride, x, data, p, count)
                p += count
    return True


cdef inline void relax_pair(
    bint compliant, int dim, real h2, int64_t stride, real* x, const Distance* data, int64_t p,
) noexcept nogil:
    cdef int64_t first = data.first[p]
    cdef int64_t second = data.second[p]
    cdef real length = (<const real*> data.length)[p]
    cdef real move_first = (<const real*> data.move_first)[p]
    cdef real move_second = (<const real*> data.move_second)[p]
    cdef real* force = <real*> data.force
    cdef real zero = 0
    cdef real d[3]
    cdef real r, f, alpha, change
    cdef int j
    for j in range(dim):
        d[j] = x[j * stride + second] - x[j * stride + first]
    r = d[0] * d[0]
    for j in range(1, dim):
        r = r + d[j] * d[j]
    r = root(r)
    if compliant:
        alpha = (<const real*> data.compliance)[p] / h2
        change = zero
        if r > 0:
            change = (r - length + alpha * force[p]) / ((<const real*> data.total)[p] + alpha)
        f = change / r if r > 0 else zero
        force[p] = force[p] - change
    else:
        f = (r - length) / r if r > 0 else zero
    for j in range(dim):
        d[j] = f * d[j]
        x[j * stride + first] = x[j * stride + first] + move_first * d[j]
        x[j * stride + second] = x[j * stride + second] - move_second * d[j]


cdef inline void relax_batch(
    bint compliant, int dim, real h2, int64_t stride, real* x, const Distance* data, int64_t p, int64_t count,
) noexcept nogil:
    """The same for pairs that have no body in common."""
    cdef real d[MAX_DIM * BATCH]
    cdef real all_h2[LANE]
    cdef const int32_t* first = data.first + p
    cdef const int32_t* second = data.second + p
    cdef const real* move_first = <const real*> data.move_first + p
    cdef const real* move_second = <const real*> data.move_second + p
    cdef int64_t k
    cdef int j
    if compliant:
        for k in range(LANE):
            all_h2[k] = h2
    for j in range(dim):
        for k in range(count):
            d[j * BATCH + k] = x[j * stride + second[k]] - x[j * stride + first[k]]
    if real is float:
        correct(compliant, dim, <f32vec*> all_h2, data, p, count, <f32vec*> d)
    else:
        correct(compliant, dim, <f64vec*> all_h2, data, p, count, <f64vec*> d)
    for j in range(dim):
        for k in range(count):
            x[j * stride + first[k]] = x[j * stride + first[k]] + move_first[k] * d[j * BATCH + k]
            x[j * stride + second[k]] = x[j * stride + second[k]] - move_second[k] * d[j * BATCH + k]


cdef inline void correct(
    bint compliant, int dim, const vec* h2, const Distance* data, int64_t p, int64_t count, vec* d,
) noexcept nogil:
    """The ways from body to body become f d; what lies behind the last pair is not used."""
    cdef int64_t plane = BATCH // width(d)
    cdef const vec* length = <const vec*> numbers(data.length, p, d)
    cdef const vec* compliance = NULL
    cdef const vec* total = NULL
    cdef vec* force = NULL
    cdef vec r, f, alpha, change
    cdef int64_t k
    cdef int j
    if compliant:
        compliance = <const vec*> numbers(data.compliance, p, d)
        total = <const vec*> numbers(data.total, p, d)
        force = <vec*> numbers(data.force, p, d)
    for k in range((count + width(d) - 1) // width(d)):
        r = d[k] * d[k]
        for j in range(1, dim):
            r = r + d[j * plane + k] * d[j * plane + k]
        r = vec_root(r)
        if compliant:
            alpha = compliance[k] / h2[0]
            change = where_positive(r, (r - length[k] + alpha * force[k]) / (total[k] + alpha))
            f = where_positive(r, change / r)
            change = force[k] - change
            store_part(&change, <char*> &force[k], count - k * width(d))
        else:
            f = where_positive(r, (r - length[k]) / r)
        for j in range(dim):
            d[j * plane + k] = f * d[j * plane + k]


cdef inline const void* numbers(const void* start, int64_t p, const vec* like) noexcept nogil:
    """An array from number p on."""
    return <const char*> start + p * (<int64_t> sizeof(vec) // width(like))
