# Single impulses and contact stiffness: the formulas of kickdrift/reference/constraints/contact.py.

from libc.stdint cimport int64_t

from .contact_state cimport (
    ARM, FASTEST, FIRST_WEIGHT, FRICTION, LOAD, MASS, MOST, PULL, PUSH, RESTITUTION, SECOND_ARM, SECOND_TURN,
    SECOND_WEIGHT, SHARE, SIZE, SLOW, SPEED, TURN, approach, body,
    contact, read_vector, spin_row, twist_of,
)
from .friction cimport cross_impulse, cross_normal, limit_friction
from ..abi.constraints cimport Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, root
from ..simd.vec cimport real

cdef enum:
    FINE = 8            # substeps: see the reference
    STEPS = 36          # steps over which the load is averaged


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
    """Replace a tangential velocity by the friction impulse of the restitution, and rotate the bodies that rotate."""
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
