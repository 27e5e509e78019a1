# Data of the contact solver: state of bodies during the substeps, and numbers of each contact.

from libc.stdint cimport int64_t

from ..abi.constraints cimport COLOURS, CONTACT, CONTACT_EVENT, SPIN, TRAITS, TWIST, Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, magnitude, root
from ..simd.vec cimport real
from .friction cimport cross_impulse, cross_normal, limit_friction

cdef enum:
    SENSED = COLOURS + 1    # colour of sensor contacts, which have no impulses
    HELD = SENSED + 1       # colour of contacts of islands at rest that repeat their last step, and are not solved

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
    TURNS           # 1: the normal follows the positions of two bodies; 0: the normal is that of a wall or shape
    RESTITUTION
    SPEED           # approach speed: before the step; once the bodies touch, at the impact
    SLOW
    PULL            # change of the approach speed by forces, per substep
    TIMES           # additional over-relaxation factor of over-relaxed contacts
    IMPULSIVE       # 1 if the warm-start impulse exceeds the impulse of the forces of two steps, else 0

# Numbers of a contact of rotating bodies, after the impulse of rolling resistance (angular momentum).
cdef enum:
    ARM = 3             # radius of the first body, then of the second
    SECOND_ARM
    TURN                # radius / inertia
    SECOND_TURN
    EASE                # 1 / inertia
    SECOND_EASE
    SHARE               # factor of ACROSS for rotating bodies
    ROLLING             # largest torque of rolling resistance / normal force
    INERTIA             # effective inertia: angular momentum / change of angular velocity
    SHAPE_SPIN          # angular velocity of the shape; 0 if the second is a body

# Recorded numbers of a contact, before its point and normal.
cdef enum:
    TIME_SINCE
    FAST
    TOTAL
    KNOWN           # nonzero if the contact had an impulse in the last step


# State of a body during the substeps: velocity, then position.

cdef inline real* body(int dim, const Contacts* data, int64_t i, const real* like) noexcept nogil:
    return <real*> data.body + 2 * dim * i


# Traits of a body (see `Contacts.traits`), from which its contacts are initialised.

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
    """Address of the velocity of a wall's or shape's surface at a contact; `data.surface` must not be NULL."""
    cdef int64_t lane = k & (data.lanes - 1)
    return <real*> data.surface + MAX_DIM * (k - lane) + lane


cdef inline void approach(
    int dim, const Contacts* data, int64_t k, const real* a, const real* b, real* displacement,
) noexcept nogil:
    """Set `displacement` to the velocity of the second surface of a contact relative to the first, without the
    effect of rotation; a, b: states of the two bodies."""
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
    """Over-relax a resting contact, and under-relax its friction: see `EAGER` in reference/constraints/contact.py."""
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


# Single impulses and contact stiffness: the formulas of kickdrift/reference/constraints/contact.py.

cdef enum:
    FINE = 8            # with this many substeps or more, small impulses need no carried load: see `carried`
    STEPS = 36          # time constant of the carried load, in steps


cdef inline void stiffness_of(
    real h, real times, real most, real wanted, real ratio, real* soft, real* scale,
) noexcept nogil:
    """Soft-constraint coefficients: rate that removes overlap (1/s), and scale of the impulse."""
    cdef real one = 1
    cdef real two = 2
    cdef real angle = h * wanted
    cdef real a1, a2
    if not (angle > 0 and angle < most):
        angle = most
    angle = times * angle
    a1 = two * ratio + angle
    a2 = angle * a1
    soft[0] = angle / a1 / h
    scale[0] = a2 / (one + a2)


cdef inline void apply(int dim, real* a, real* b, real w_a, real w_b, const real* impulse) noexcept nogil:
    """Apply an impulse to b and its negative to a; immovable bodies keep their velocity."""
    cdef int c
    if w_a > 0:
        for c in range(dim):
            a[c] = a[c] - w_a * impulse[c]
    if w_b > 0:
        for c in range(dim):
            b[c] = b[c] + w_b * impulse[c]


# Restitution: the formulas of kickdrift/reference/constraints/impacts.py.

cdef inline real speed_at_touch(
    real closing, real gap, real h, real given, real count, real behind, bint ahead, real before, real slow, real* pull,
) noexcept nogil:
    """Approach speed at impact, from the closing speed of this substep; pull: its change by forces per substep."""
    cdef real two = 2
    cdef real zero = 0
    cdef real most = slow / count
    cdef real start, now, book, ours, square
    pull[0] = (closing - before) / given
    pull[0] = pull[0] if pull[0] < most else most
    pull[0] = pull[0] if pull[0] > -most else -most
    start = closing - given * pull[0]
    now = closing + pull[0] / two if ahead else closing - pull[0] / two
    book = start + behind * pull[0]
    ours = start + pull[0] / two
    square = now * now + two * (pull[0] / h) * gap + (book * book - ours * ours)
    return root(square) if square > 0 else zero * square


cdef inline void rebound(int dim, int64_t k, real h, real behind, const Contacts* data) noexcept nogil:
    """Apply restitution to a contact whose approach speed exceeds the resting threshold."""
    cdef real* own = contact(dim, data, k, &h)
    cdef int64_t w = data.lanes
    cdef real* more = own + 2 * dim * w
    cdef real normal[MAX_DIM]
    cdef real* a = body(dim, data, data.first[k], &h)
    cdef real* b = body(dim, data, data.second[k], &h)
    cdef real displacement[MAX_DIM]
    cdef real two = 2
    cdef real gap, left, square, apart, push, change
    cdef int c
    if not (more[RESTITUTION * w] > 0 and more[SPEED * w] > more[SLOW * w] and more[MOST * w] > 0):
        return
    read_vector(dim, data, own, normal)
    for c in range(dim):
        displacement[c] = b[dim + c] - a[dim + c]
    gap = dot(dim, displacement, normal) - more[SIZE * w]
    left = more[RESTITUTION * w] * more[SPEED * w]
    square = left * left - two * (more[PULL * w] / h) * gap
    apart = (root(square) if square > 0 else 0 * square) + behind * more[PULL * w]
    approach(dim, data, k, a, b, displacement)
    square = dot(dim, displacement, normal)
    push = more[PUSH * w] - more[MASS * w] * (square - apart)
    push = push if push > 0 else 0 * push
    change = push - more[PUSH * w]
    more[PUSH * w] = push
    if more[FRICTION * w] > 0 and change > 0:
        for c in range(dim):
            displacement[c] = displacement[c] - square * normal[c]
        restitution_friction(dim, k, normal, displacement, more[MASS * w], more[FRICTION * w] * change, data)
        for c in range(dim):
            displacement[c] = change * normal[c] + displacement[c]
    else:
        for c in range(dim):
            displacement[c] = change * normal[c]
    apply(dim, a, b, more[FIRST_WEIGHT * w], more[SECOND_WEIGHT * w], displacement)


cdef inline void restitution_friction(
    int dim, int64_t k, const real* n, real* displacement, real mass, real limit, const Contacts* data,
) noexcept nogil:
    """Replace a tangential velocity by the friction impulse of restitution, which also changes angular velocities."""
    cdef const real* twist = twist_of(data, k, n)
    cdef int64_t w = data.lanes
    cdef real* a = spin_row(data, data.first[k], n)
    cdef real* b = spin_row(data, data.second[k], n)
    cdef real spin[MAX_DIM]
    cdef real surface[MAX_DIM]
    cdef int c
    if data.axes == 0:
        for c in range(dim):
            displacement[c] = -mass * displacement[c]
        limit_friction(dim, displacement, limit)
        return
    for c in range(<int> data.axes):
        spin[c] = twist[ARM * w] * a[c] + twist[SECOND_ARM * w] * b[c]
    cross_normal(dim, spin, n, surface)
    mass = -(mass * twist[SHARE * w])
    for c in range(dim):
        displacement[c] = mass * (displacement[c] - surface[c])
    limit_friction(dim, displacement, limit)
    cross_impulse(dim, n, displacement, spin)
    for c in range(<int> data.axes):
        if data.first_row[k] == data.first[k]:
            a[c] = a[c] - twist[TURN * w] * spin[c]
        if data.second_row[k] == data.second[k]:
            b[c] = b[c] - twist[SECOND_TURN * w] * spin[c]


cdef inline bint goes_on(int dim, int64_t k, const Contacts* data, const real* like) noexcept nogil:
    """True if the impulse of a contact warm-starts the next step: it is > 0, and the bodies do not bounce apart."""
    cdef const real* own = contact(dim, data, k, like)
    cdef int64_t w = data.lanes
    cdef const real* more = own + 2 * dim * w
    cdef const real* a = body(dim, data, data.first[k], like)
    cdef const real* b = body(dim, data, data.second[k], like)
    cdef real normal[MAX_DIM]
    cdef real displacement[MAX_DIM]
    if not more[PUSH * w] > 0:
        return False
    if not more[RESTITUTION * w] > 0:
        return True
    read_vector(dim, data, own, normal)
    approach(dim, data, k, a, b, displacement)
    return not dot(dim, displacement, normal) > more[SLOW * w]


cdef inline real carried(const real* more, int64_t w, real h, int64_t substeps) noexcept nogil:
    """Load that a soft contact carries without compression from the next step on."""
    cdef real ten = 10
    cdef real light = ten * more[MASS * w] * more[SLOW * w] / <real> substeps
    cdef real slight, heavy, most, load
    if substeps >= FINE:
        slight = more[MASS * w] * more[FASTEST * w] / (<real> 40 * h)
        light = slight if slight > light else light
    heavy = more[PUSH * w] - light
    heavy = heavy if heavy > 0 and more[FRICTION * w] > 0 else 0 * heavy
    most = <real> 0.9 * heavy
    load = more[LOAD * w] + (most - more[LOAD * w]) / <real> STEPS
    return load if load < most else most
