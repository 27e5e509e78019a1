# What contacts are solved with: bodies on their way through the substeps, and numbers of each contact.

from libc.stdint cimport int64_t

from ..abi.constraints cimport COLOURS, CONTACT, MEETING, Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude
from ..simd.vec cimport real

cdef enum:
    SENSED = COLOURS + 1    # the colour of contacts that only report

# The numbers of a contact, behind its normal and the impulse across it. Those that each sweep reads come first: so
# fewer lines of a cache are read.
cdef enum:
    SIZE
    PUSH
    ALONG           # what a speed is worth as an impulse: along the normal
    MASS
    FASTEST
    FRICTION
    ACROSS          # and across it
    FIRST_WEIGHT
    SECOND_WEIGHT
    MOST
    LOAD
    RESTITUTION
    SPEED
    SLOW

# What is told of a contact, before where it was and in which direction.
cdef enum:
    AGO
    FAST
    TOTAL
    KNOWN           # other than 0 where they pushed a step ago


# A body on the way through the substeps: its velocity, then its position.

cdef inline real* body(int dim, const Contacts* data, int64_t i, const real* like) noexcept nogil:
    return <real*> data.body + 2 * dim * i


# A contact: the direction, the impulse across it, and the numbers above.

cdef inline real* contact(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    return <real*> data.contact + (2 * dim + CONTACT) * k


cdef inline void relax(real* more) noexcept nogil:
    """Contacts that rest are over-relaxed, and their friction is under-relaxed: see `EAGER` in the reference."""
    more[ALONG] = <real> 1.25 * more[MASS]
    more[ACROSS] = <real> 0.9 * more[MASS]


cdef inline real* meeting(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    return <real*> data.meeting + (2 * dim + MEETING) * k


cdef inline void begin_impulse(
    int dim, int64_t n, int64_t stride, const real* gain, int64_t k, const Contacts* data,
) noexcept nogil:
    """What is known of a contact before the first substep, where its direction and its weights are."""
    cdef int64_t i = data.first[k]
    cdef int64_t j = data.second[k]
    cdef real* own = contact(dim, data, k, gain)
    cdef real* more = own + 2 * dim
    cdef const real* a = body(dim, data, i, gain)
    cdef const real* b = body(dim, data, j, gain)
    cdef real way[MAX_DIM]
    cdef real pull[MAX_DIM]
    cdef real one = 1
    cdef real zero = 0
    cdef int c
    more[MASS] = one / (more[FIRST_WEIGHT] + more[SECOND_WEIGHT])
    more[ALONG] = more[MASS]
    more[ACROSS] = more[MASS]
    if data.grid.told != NULL:
        meeting(dim, data, k, gain)[TOTAL] = zero
        meeting(dim, data, k, gain)[KNOWN] = zero
    for c in range(dim):
        way[c] = b[c] - a[c]
        pull[c] = gain[c * stride + i]
    more[SPEED] = -dot(dim, way, own)
    more[SLOW] = magnitude(dot(dim, pull, own))
    if j < n:
        for c in range(dim):
            pull[c] = gain[c * stride + j]
        more[SLOW] = more[SLOW] + magnitude(dot(dim, pull, own))
    for c in range(dim):
        own[dim + c] = zero
    more[PUSH] = zero
    more[MOST] = zero
    more[LOAD] = zero
