# What contacts are solved with: bodies on their way through the substeps, and numbers of each contact.

from libc.stdint cimport int64_t

from ..abi.constraints cimport COLOURS, CONTACT, MEETING, Contacts
from ..simd.vec cimport real

cdef enum:
    SENSED = COLOURS + 1    # the colour of contacts that only report

# The numbers of a contact, behind its normal and the impulse across it.
cdef enum:
    SIZE
    FIRST_WEIGHT
    SECOND_WEIGHT
    MASS
    RESTITUTION
    FRICTION
    SPEED
    SLOW
    PUSH
    MOST
    FASTEST
    LOAD
    ALONG           # what a speed is worth as an impulse: along the normal
    ACROSS          # and across it

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


cdef inline real* meeting(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    return <real*> data.meeting + (2 * dim + MEETING) * k
