# One impulse, and how stiff it is: the formulas of kickdrift/reference/constraints/contacts.py.

from libc.stdint cimport int64_t

from .contact_state cimport (
    ACROSS, ALONG, FASTEST, FIRST_WEIGHT, FRICTION, LOAD, MASS, MOST, PUSH, RESTITUTION, SECOND_WEIGHT, SIZE, SLOW,
    SPEED, body, contact,
)
from .meetings cimport meets
from ..abi.constraints cimport Contacts
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot, root
from ..simd.vec cimport real
from ..space cimport is_periodic, nearest

cdef enum:
    FINE = 8            # substeps: see the reference
    STEPS = 36          # of which the load is taken
    HARD = 5            # how much faster deep contacts are pushed out


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


cdef inline void direct(
    int dim, int64_t n, int64_t i, int64_t j, real* own, const real* a, const real* b, const Contacts* data,
) noexcept nogil:
    """Where the bodies are now says in which direction they push; walls keep theirs."""
    if is_periodic(&data.grid.torus) and j < n:
        direct_around(dim, i, j, own, a, b, data)
    else:
        direct_open(dim, n, i, j, own, a, b)


cdef inline void direct_around(
    int dim, int64_t i, int64_t j, real* own, const real* a, const real* b, const Contacts* data,
) noexcept nogil:
    """The same to the nearest image; the way to that is told as a part of the size."""
    cdef const real* radius = <const real*> data.grid.radius
    cdef real d[MAX_DIM]
    cdef real past[MAX_DIM]
    cdef real one = 1
    cdef real zero = 0
    cdef real r
    cdef int c
    for c in range(dim):
        past[c] = b[dim + c] - a[dim + c]
        d[c] = nearest(past[c], c, &data.grid.torus)
        past[c] = past[c] - d[c]
    r = root(dot(dim, d, d))
    for c in range(dim):
        own[c] = d[c] / r if r > 0 else (one if c == <int> ((j - i - 1) % dim) else zero)
    own[2 * dim + SIZE] = radius[i] + radius[j] + dot(dim, past, own)


cdef inline void direct_open(
    int dim, int64_t n, int64_t i, int64_t j, real* normal, const real* a, const real* b,
) noexcept nogil:
    cdef real d[MAX_DIM]
    cdef real one = 1
    cdef real zero = 0
    cdef real r
    cdef int c
    if j >= n:
        return
    for c in range(dim):
        d[c] = b[dim + c] - a[dim + c]
    r = root(dot(dim, d, d))
    for c in range(dim):
        normal[c] = d[c] / r if r > 0 else (one if c == <int> ((j - i - 1) % dim) else zero)


cdef inline void apply(int dim, real* a, real* b, real w_a, real w_b, const real* impulse) noexcept nogil:
    cdef int c
    for c in range(dim):
        a[c] = a[c] - w_a * impulse[c]
        b[c] = b[c] + w_b * impulse[c]


cdef inline void warm(int dim, int64_t n, int64_t k, const Contacts* data, const real* like) noexcept nogil:
    """Begin with the impulse of the substep before, in the direction of now."""
    cdef int64_t i = data.first[k]
    cdef int64_t j = data.second[k]
    cdef real* own = contact(dim, data, k, like)
    cdef real* more = own + 2 * dim
    cdef real* a = body(dim, data, i, like)
    cdef real* b = body(dim, data, j, like)
    cdef real impulse[MAX_DIM]
    cdef real along
    cdef int c
    direct(dim, n, i, j, own, a, b, data)
    if more[PUSH] == 0:
        return
    along = dot(dim, own + dim, own)
    for c in range(dim):
        own[dim + c] = own[dim + c] - along * own[c]
        impulse[c] = more[PUSH] * own[c] + own[dim + c]
    apply(dim, a, b, more[FIRST_WEIGHT], more[SECOND_WEIGHT], impulse)


cdef inline bint solve(
    int dim, real h, real soft, real scale, real times, real left, bint told, int64_t k, const Contacts* data,
) noexcept nogil:
    """One impulse: along the normal so that they come no closer than they touch, across it by friction.

    Are they deep in each other? times: those that are over-relaxed, by so much more. left: of the step, from where
    they are now.
    """
    cdef real* own = contact(dim, data, k, &h)
    cdef real* more = own + 2 * dim
    cdef real* a = body(dim, data, data.first[k], &h)
    cdef real* b = body(dim, data, data.second[k], &h)
    cdef real way[MAX_DIM]
    cdef real impulse[MAX_DIM]
    cdef real across[MAX_DIM]
    cdef real mass = times * more[ALONG] if more[ALONG] > more[MASS] else more[ALONG]
    cdef real gap, apart, speed, push, change, limit, square, time
    cdef real zero = 0
    cdef real sixteen = 16
    cdef real hard = HARD
    cdef real two = 2
    cdef real one = 1
    cdef bint deep
    cdef int c
    for c in range(dim):
        way[c] = b[dim + c] - a[dim + c]
    gap = dot(dim, way, own) - more[SIZE]
    apart = gap
    for c in range(dim):
        way[c] = b[c] - a[c]
    speed = dot(dim, way, own)
    deep = sixteen * gap < -more[FASTEST]
    if gap > 0:
        push = more[PUSH] - mass * (speed + gap / h)
    elif not soft > 0:
        push = more[PUSH] - mass * speed
    else:
        gap = soft * gap
        change = two
        if hard * gap + more[FASTEST] > 0:
            change = one - hard * gap / more[FASTEST]
        gap = change * gap
        gap = gap if gap > -more[FASTEST] else -more[FASTEST]
        push = scale * (more[PUSH] - mass * (speed + gap)) + more[LOAD] * (one - scale)
    push = push if push > 0 else 0 * push
    if told and push > 0 and not more[MOST] > 0:
        time = apart / (zero - speed) if apart > 0 else zero
        limit = left - time if left - time > 0 else zero
        meets(dim, limit, zero - speed if speed < 0 else zero, time, k, data)
    if push == 0 and more[PUSH] == 0:
        return deep
    change = push - more[PUSH]
    more[PUSH] = push
    more[MOST] = push if push > more[MOST] else more[MOST]
    for c in range(dim):
        impulse[c] = change * own[c]
    if more[FRICTION] > 0:
        for c in range(dim):
            across[c] = own[dim + c] - more[ACROSS] * (way[c] - speed * own[c])
        limit = more[FRICTION] * push
        square = dot(dim, across, across)
        if square > limit * limit:
            square = limit / root(square)
            for c in range(dim):
                across[c] = square * across[c]
        for c in range(dim):
            impulse[c] = impulse[c] + (across[c] - own[dim + c])
            own[dim + c] = across[c]
    apply(dim, a, b, more[FIRST_WEIGHT], more[SECOND_WEIGHT], impulse)
    return deep


cdef inline void rebound(int dim, int64_t k, const Contacts* data, const real* like) noexcept nogil:
    """What restitution leaves of the speed at which they met, where that is more than the forces of a step give."""
    cdef real* own = contact(dim, data, k, like)
    cdef real* more = own + 2 * dim
    cdef real* a = body(dim, data, data.first[k], like)
    cdef real* b = body(dim, data, data.second[k], like)
    cdef real way[MAX_DIM]
    cdef real push, change
    cdef int c
    if not (more[RESTITUTION] > 0 and more[SPEED] > more[SLOW] and more[MOST] > 0):
        return
    for c in range(dim):
        way[c] = b[c] - a[c]
    push = more[PUSH] - more[MASS] * (dot(dim, way, own) - more[RESTITUTION] * more[SPEED])
    push = push if push > 0 else 0 * push
    change = push - more[PUSH]
    more[PUSH] = push
    for c in range(dim):
        way[c] = change * own[c]
    apply(dim, a, b, more[FIRST_WEIGHT], more[SECOND_WEIGHT], way)


cdef inline real carried(const real* more, real h, int64_t substeps) noexcept nogil:
    """The load that a contact does not give way to from the next step on."""
    cdef real ten = 10
    cdef real light = ten * more[MASS] * more[SLOW] / <real> substeps
    cdef real slight = more[MASS] * more[FASTEST] / (<real> 40 * h)
    cdef real heavy, most, load
    if substeps >= FINE and slight > light:
        light = slight
    heavy = more[PUSH] - light
    heavy = heavy if heavy > 0 and more[FRICTION] > 0 else 0 * heavy
    most = <real> 0.9 * heavy
    load = more[LOAD] + (most - more[LOAD]) / <real> STEPS
    return load if load < most else most
