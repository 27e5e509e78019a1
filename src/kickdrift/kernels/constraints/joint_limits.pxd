# Limits of pairs, and their loads: the formulas of kickdrift/reference/constraints/joints.py.

from libc.stdint cimport int64_t

from .loads cimport is_broken
from ..abi.constraints cimport LIMITED, SOFT, Distance
from ..forces.fields cimport root
from ..simd.masks cimport greater, positive, select, select_or_zero
from ..simd.vec cimport filled, real, vec, width
from ..space cimport toward


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
    cdef int64_t stage, p
    for stage in range(data.stages):
        for p in range(data.stage[stage], data.stage[stage + 1]):
            if data.how[stage] & SOFT:
                load[p] = (pull[p] - force[p] * rate) * rate
            else:
                load[p] = (force[p] * rate + (zero if data.from_positions else slowed[p])) * rate
                load[p] = load[p] * <real> data.cell[p].unit


cdef inline bint exceeds(
    real r, real along, real back, const Distance* data, int64_t p, real* length,
) noexcept nogil:
    """Return whether a pair exceeds its limits without its own correction. length: set to that limit."""
    cdef real low = (<const real*> data.low)[p]
    cdef real high = (<const real*> data.high)[p]
    cdef real free = r * r + back * (along + along + back)
    length[0] = high if free > high * high else low
    return free > high * high or free < low * low


cdef inline vec find_inside(vec r, vec along, vec back, const Distance* data, int64_t p, vec* length) noexcept nogil:
    """Return 1 for pairs within their limits without their own correction, else 0. length: set to the limit."""
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
