# One impulse, and how stiff it is: the formulas of kickdrift/reference/constraints/contacts.py.

from libc.stdint cimport int64_t

from .contact_state cimport (
    FASTEST, FIRST_WEIGHT, FRICTION, LOAD, MASS, MOST, PUSH, RESTITUTION, SECOND_WEIGHT, SLOW, SPEED, body,
    contact, read_vector,
)
from ..abi.constraints cimport Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot
from ..simd.vec cimport real

cdef enum:
    FINE = 8            # substeps: see the reference
    STEPS = 36          # of which the load is taken


cdef inline void stiffness_of(
    real h, real times, real most, real wanted, real ratio, real* soft, real* scale,
) noexcept nogil:
    """How fast overlap is pushed out (1/s), and the share of an impulse that a soft contact gives."""
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
    """What nothing moves is left as it is."""
    cdef int c
    if w_a > 0:
        for c in range(dim):
            a[c] = a[c] - w_a * impulse[c]
    if w_b > 0:
        for c in range(dim):
            b[c] = b[c] + w_b * impulse[c]


cdef inline void rebound(int dim, int64_t k, const Contacts* data, const real* like) noexcept nogil:
    """What restitution leaves of the speed at which they met, where that is more than the forces of a step give."""
    cdef real* own = contact(dim, data, k, like)
    cdef int64_t w = data.lanes
    cdef real* more = own + 2 * dim * w
    cdef real normal[MAX_DIM]
    cdef real* a = body(dim, data, data.first[k], like)
    cdef real* b = body(dim, data, data.second[k], like)
    cdef real way[MAX_DIM]
    cdef real push, change
    cdef int c
    if not (more[RESTITUTION * w] > 0 and more[SPEED * w] > more[SLOW * w] and more[MOST * w] > 0):
        return
    read_vector(dim, data, own, normal)
    for c in range(dim):
        way[c] = b[c] - a[c]
    push = more[PUSH * w] - more[MASS * w] * (dot(dim, way, normal) - more[RESTITUTION * w] * more[SPEED * w])
    push = push if push > 0 else 0 * push
    change = push - more[PUSH * w]
    more[PUSH * w] = push
    for c in range(dim):
        way[c] = change * normal[c]
    apply(dim, a, b, more[FIRST_WEIGHT * w], more[SECOND_WEIGHT * w], way)


cdef inline real carried(const real* more, int64_t w, real h, int64_t substeps) noexcept nogil:
    """The load that a contact does not give way to from the next step on."""
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
