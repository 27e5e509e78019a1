# Loads and breaks of pairs, once a step is completed: `Loads.resolve` of kickdrift/reference/loads.py.

from libc.stdint cimport int64_t

from .events cimport add_event, key_of
from ..abi.constraints cimport LoadCell, Torus
from ..abi.events cimport BREAK, Contact, Log, EventSource
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, root
from ..simd.vec cimport real
from ..space cimport turn_to_image


cdef inline real span_of(real h, double last_h) noexcept nogil:
    """Time span of the forces of a step: `Body.span` of kickdrift/reference/body.py. last_h: h, except under Verlet."""
    cdef real two = 2
    return (h + <real> last_h) / two


cdef inline bint is_broken(const LoadCell* pair) noexcept nogil:
    return pair.cell[1] > 0


cdef inline void resolve(
    int dim, real h, int64_t stride, const real* x, int64_t count, const LoadCell* pairs, const real* load,
    const Torus* torus, Log* log,
) noexcept nogil:
    """Store the loads of pairs, and break the pairs beyond their limit. log: records the breaks, by rank; or NULL."""
    cdef const LoadCell* pair
    cdef int64_t broken = 0
    cdef int64_t rank = -1
    cdef int64_t p, next
    for p in range(count):
        pair = &pairs[p]
        pair.cell[0] = load[p]
        if not is_broken(pair) and pair.limit >= 0 and (load[p] > pair.limit or -load[p] > pair.limit):
            pair.cell[1] = 2    # broken in this step, not recorded yet
            broken += 1
    while broken > 0:
        next = -1
        for p in range(count):
            pair = &pairs[p]
            if pair.cell[1] > 1 and pair.rank > rank and (next < 0 or pair.rank < pairs[next].rank):
                next = p
        pair = &pairs[next]
        rank, pair.cell[1] = pair.rank, 1
        broken -= 1
        if log != NULL:
            report_break(dim, h, stride, x, pair, load[next], torus, log)


cdef inline void report_break(
    int dim, real h, int64_t stride, const real* x, const LoadCell* pair, real load, const Torus* torus, Log* log,
) noexcept nogil:
    cdef real d[MAX_DIM]
    cdef real half = 0.5
    cdef real one = 1
    cdef real r
    cdef EventSource events
    cdef Contact contact
    cdef int c
    events.source = <int64_t> pair.owner[0]
    contact.key = key_of(pair.first, pair.second)
    contact.speed, contact.impulse = 0, load * h
    for c in range(dim):
        d[c] = x[c * stride + pair.second] - x[c * stride + pair.first]
    turn_to_image(dim, d, torus)
    r = root(dot(dim, d, d))
    r = one / r if r > 0 else 0 * r
    for c in range(dim):
        contact.normal[c] = r * d[c]
        contact.point[c] = x[c * stride + pair.first] + half * d[c]
    add_event(log, &events, dim, BREAK, &contact, 0, False)
