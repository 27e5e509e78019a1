# What contacts are solved with: bodies on their way through the substeps, and numbers of each contact.

from libc.stdint cimport int64_t

from ..abi.constraints cimport COLOURS, CONTACT, MEETING, SPIN, TRAITS, TWIST, Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude
from ..simd.vec cimport real

cdef enum:
    SENSED = COLOURS + 1    # the colour of contacts that only report

# The numbers of a contact, behind its normal and the impulse across it. Those that each sweep reads come first: so
# fewer pages of memory are read.
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
    TURNS           # 1 where its direction is that from one body to the other, 0 where that is a wall's or shape's
    RESTITUTION
    SPEED           # of approach: before the step, and from the touch on at that
    SLOW
    PULL            # what forces gave of it in a substep
    TIMES           # by so much more the ones are over-relaxed that are

# Where bodies rotate: the impulse of rolling resistance comes first, an angular momentum.
cdef enum:
    ARM = 3             # radii
    SECOND_ARM
    TURN                # radius / inertia
    SECOND_TURN
    EASE                # 1 / inertia
    SECOND_EASE
    SHARE               # of ACROSS that counts where friction rotates the bodies
    ROLLING             # largest torque of rolling resistance / normal force
    INERTIA             # what a difference of angular velocities is worth as an angular momentum

# What is told of a contact, before where it was and in which direction.
cdef enum:
    AGO
    FAST
    TOTAL
    KNOWN           # other than 0 where they pushed a step ago


# A body on the way through the substeps: its velocity, then its position.

cdef inline real* body(int dim, const Contacts* data, int64_t i, const real* like) noexcept nogil:
    return <real*> data.body + 2 * dim * i


# What it is, as its contacts begin.

cdef inline real* traits(const Contacts* data, int64_t i, const real* like) noexcept nogil:
    return <real*> data.traits + TRAITS * i


# A contact: the direction, the impulse across it, and the numbers above, each of them `data.lanes` behind the other.

cdef inline real* contact(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    cdef int64_t lane = k & (data.lanes - 1)
    return <real*> data.contact + (2 * dim + CONTACT) * (k - lane) + lane


# What rotates: a body's angular velocity and more, and a contact's numbers, which lie as in `contact`.

cdef inline real* spin_row(const Contacts* data, int64_t i, const real* like) noexcept nogil:
    return <real*> data.spin + SPIN * i


cdef inline real* twist_of(const Contacts* data, int64_t k, const real* like) noexcept nogil:
    cdef int64_t lane = k & (data.lanes - 1)
    return <real*> data.twist + TWIST * (k - lane) + lane


cdef inline real* surface_of(const Contacts* data, int64_t k, const real* like) noexcept nogil:
    """The velocity of a wall's or shape's surface at a contact, where any has one."""
    cdef int64_t lane = k & (data.lanes - 1)
    return <real*> data.surface + MAX_DIM * (k - lane) + lane


cdef inline void approach(
    int dim, const Contacts* data, int64_t k, const real* a, const real* b, real* way,
) noexcept nogil:
    """The velocity of the second of two surfaces relative to the first, but for their rotation; a, b: their bodies."""
    cdef int c
    for c in range(dim):
        way[c] = b[c] - a[c]
        if data.surface != NULL:
            way[c] = way[c] + surface_of(data, k, a)[c * data.lanes]


cdef inline void read_vector(int dim, const Contacts* data, const real* own, real* to) noexcept nogil:
    """The first of its vectors from there on."""
    cdef int c
    for c in range(dim):
        to[c] = own[c * data.lanes]


cdef inline void write_vector(int dim, const Contacts* data, real* own, const real* vector) noexcept nogil:
    cdef int c
    for c in range(dim):
        own[c * data.lanes] = vector[c]


cdef inline void relax(real* more, int64_t w) noexcept nogil:
    """Contacts that rest are over-relaxed, and their friction is under-relaxed: see `EAGER` in the reference."""
    more[ALONG * w] = <real> 1.25 * more[MASS * w]
    more[ACROSS * w] = <real> 0.9 * more[MASS * w]


cdef inline real* meeting(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    return <real*> data.meeting + (2 * dim + MEETING) * k


cdef inline void begin_impulse(
    int dim, int64_t stride, const real* gain, int64_t k, const Contacts* data,
) noexcept nogil:
    """What is known of a contact with a wall or shape before the first substep, where its direction and weight are."""
    cdef int64_t i = data.first[k]
    cdef int64_t w = data.lanes
    cdef real* own = contact(dim, data, k, gain)
    cdef real* more = own + 2 * dim * w
    cdef const real* a = body(dim, data, i, gain)
    cdef const real* b = body(dim, data, data.second[k], gain)
    cdef real normal[MAX_DIM]
    cdef real way[MAX_DIM]
    cdef real pull[MAX_DIM]
    cdef real one = 1
    cdef real zero = 0
    cdef int c
    more[SECOND_WEIGHT * w] = zero
    more[MASS * w] = one / (more[FIRST_WEIGHT * w] + more[SECOND_WEIGHT * w])
    more[ALONG * w] = more[MASS * w]
    more[ACROSS * w] = more[MASS * w]
    more[TURNS * w] = zero
    read_vector(dim, data, own, normal)
    approach(dim, data, k, a, b, way)
    for c in range(dim):
        pull[c] = gain[c * stride + i]
    more[SPEED * w] = -dot(dim, way, normal)
    more[SLOW * w] = magnitude(dot(dim, pull, normal))
    for c in range(dim):
        own[(dim + c) * w] = zero
    more[PUSH * w] = zero
    more[MOST * w] = zero
    more[LOAD * w] = zero
    more[PULL * w] = zero
    more[TIMES * w] = <real> 1.12


cdef inline int64_t group_of(int64_t k, const Contacts* data) noexcept nogil:
    """Of the contact at a place."""
    return data.group[data.first[k] if data.first_row[k] == data.first[k] else data.second[k]]
