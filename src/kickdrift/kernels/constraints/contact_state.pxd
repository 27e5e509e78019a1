# Data of the contact solver: state of bodies during the substeps, and numbers of each contact.

from libc.stdint cimport int64_t

from ..abi.constraints cimport COLOURS, CONTACT, CONTACT_EVENT, SPIN, TRAITS, TWIST, Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude
from ..simd.vec cimport real

cdef enum:
    SENSED = COLOURS + 1    # colour of sensor contacts, which have no impulses
    HELD = SENSED + 1       # colour of contacts whose group repeats its last step, at rest

# The numbers of a contact, after its normal and its friction impulse. Those that every sweep reads come first, so that
# a sweep reads fewer pages of memory.
cdef enum:
    SIZE
    PUSH
    ALONG           # effective mass along the normal: impulse / velocity change
    MASS
    FASTEST
    FRICTION
    ACROSS          # effective mass across the normal
    FIRST_WEIGHT
    SECOND_WEIGHT
    MOST
    LOAD
    TURNS           # 1: the normal follows two bodies; 0: it is that of a wall or shape
    RESTITUTION
    SPEED           # approach speed: before the step, from the impact on that at impact
    SLOW
    PULL            # change of the approach speed by forces, per substep
    TIMES           # additional over-relaxation factor of over-relaxed contacts

# Numbers of a contact of rotating bodies, after the impulse of rolling resistance (angular momentum).
cdef enum:
    ARM = 3             # radii
    SECOND_ARM
    TURN                # radius / inertia
    SECOND_TURN
    EASE                # 1 / inertia
    SECOND_EASE
    SHARE               # factor of ACROSS for rotating bodies
    ROLLING             # largest torque of rolling resistance / normal force
    INERTIA             # effective inertia: angular momentum / change of angular velocity

# Recorded numbers of a contact, before its point and normal.
cdef enum:
    TIME_SINCE
    FAST
    TOTAL
    KNOWN           # other than 0 if it had an impulse in the last step


# State of a body during the substeps: velocity, then position.

cdef inline real* body(int dim, const Contacts* data, int64_t i, const real* like) noexcept nogil:
    return <real*> data.body + 2 * dim * i


# Traits of a body, which initialise its contacts.

cdef inline real* traits(const Contacts* data, int64_t i, const real* like) noexcept nogil:
    return <real*> data.traits + TRAITS * i


# Data of a contact: normal, tangential impulse, and the numbers from SIZE on, with stride `data.lanes`.

cdef inline real* contact(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    cdef int64_t lane = k & (data.lanes - 1)
    return <real*> data.contact + (2 * dim + CONTACT) * (k - lane) + lane


# Rotation: SPIN numbers of a body, and TWIST numbers of a contact, with stride `data.lanes`.

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
    int dim, const Contacts* data, int64_t k, const real* a, const real* b, real* displacement,
) noexcept nogil:
    """The velocity of the second of two surfaces relative to the first, but for their rotation; a, b: their bodies."""
    cdef int c
    for c in range(dim):
        displacement[c] = b[c] - a[c]
        if data.surface != NULL:
            displacement[c] = displacement[c] + surface_of(data, k, a)[c * data.lanes]


cdef inline void read_vector(int dim, const Contacts* data, const real* own, real* to) noexcept nogil:
    """Read a vector whose components have stride `data.lanes`."""
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


cdef inline real* contact_event(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    return <real*> data.contact_event + (2 * dim + CONTACT_EVENT) * k


cdef inline void begin_impulse(
    int dim, int64_t stride, const real* delta_v, int64_t k, const Contacts* data,
) noexcept nogil:
    """Initialise a contact with a wall or shape, whose normal and weight are set already."""
    cdef int64_t i = data.first[k]
    cdef int64_t w = data.lanes
    cdef real* own = contact(dim, data, k, delta_v)
    cdef real* more = own + 2 * dim * w
    cdef const real* a = body(dim, data, i, delta_v)
    cdef const real* b = body(dim, data, data.second[k], delta_v)
    cdef real normal[MAX_DIM]
    cdef real displacement[MAX_DIM]
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
    approach(dim, data, k, a, b, displacement)
    for c in range(dim):
        pull[c] = delta_v[c * stride + i]
    more[SPEED * w] = -dot(dim, displacement, normal)
    more[SLOW * w] = magnitude(dot(dim, pull, normal))
    for c in range(dim):
        own[(dim + c) * w] = zero
    more[PUSH * w] = zero
    more[MOST * w] = zero
    more[LOAD * w] = zero
    more[PULL * w] = zero
    more[TIMES * w] = <real> 1.12


cdef inline int64_t group_of(int64_t k, const Contacts* data) noexcept nogil:
    """Island of the contact with solve-order index k."""
    return data.group[data.first[k] if data.first_row[k] == data.first[k] else data.second[k]]
