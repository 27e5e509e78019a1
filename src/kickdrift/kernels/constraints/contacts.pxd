# Resting contact (substepped solver): the formulas of kickdrift/reference/constraints/contacts.py.

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from .broad_phase cimport find_pairs
from .contact_state cimport (
    FASTEST, FIRST_WEIGHT, FRICTION, HELD, KNOWN, LOAD, MOST, PUSH, RESTITUTION, SECOND_WEIGHT, SENSED, SIZE, SLOW,
    SPEED, TIMES, TOTAL, begin_impulse, body, carried, contact, contact_event, goes_on, group_of, rebound, relax,
    spin_row, stiffness_of, surface_of, traits, twist_of,
)
from .contact_search cimport (
    are_finite, find_awake, find_contacts, find_groups, find_known, hold, keep_pulls, rests, sort_colours,
)
from .motion cimport begin_motion, fit_level
from .contact_rods cimport add_pulls, begin_rods, finish_rods, holds, rod, solve_rods, start_rods
from .loads cimport span_of
from .contact_shapes cimport begin_shape, keep_out, lay_level, solve_shape_contacts
from .friction cimport run_belt
from .contact_events cimport add_up, record_impact, report_collisions
from ..abi.constraints cimport (
    ALL_CONTACTS, BEGIN, CONTACT, DELTA_V, IMPULSIVE_ONES, RESUME, SOLVE, SUSTAINED_ONES, WARM, Contacts, Sweep,
)
from ..simd.vec cimport real
from ..abi.plan cimport MAX_DIM
from ..forces.fields cimport dot
from ..abi.coupled cimport INTERRUPTED

cdef enum:
    RELAXING = 2        # relaxing sweeps, which remove the push-out velocity
    DEEP = 8            # relaxing sweeps of islands with deep contacts
    LEFT_BEHIND = -2    # `known` of a contact whose surface has left the body: see `is_left`
    SOLVED = 200_000    # contacts solved between two Ctrl-C checks: some milliseconds

cdef inline int contacts(
    double step, int64_t n, int64_t dim, int64_t stride, const real* before, const real* delta_v, real* x, real* v,
    real* s, const Contacts* data, void* owner,
) noexcept nogil:
    if dim == 3:
        return rest(3, step, <real> step, n, stride, before, delta_v, x, v, s, data, owner)
    if dim == 2:
        return rest(2, step, <real> step, n, stride, before, delta_v, x, v, s, data, owner)
    return rest(1, step, <real> step, n, stride, before, delta_v, x, v, s, data, owner)


cdef inline int rest(
    int dim, double step, real full, int64_t n, int64_t stride, const real* before, const real* delta_v, real* x,
    real* v, real* s, const Contacts* data, void* owner,
) noexcept nogil:
    cdef const real* stiffness = <const real*> data.stiffness
    cdef real substeps = <real> data.substeps
    cdef real h = full / substeps
    cdef real one = 1
    cdef real soft[4]       # push-out rate and impulse scale of contacts, then of rods
    cdef Sweep sweep
    cdef int64_t number, k
    cdef int64_t solved = 0
    cdef bint bounces
    cdef bint deep = False
    if data.grid.classes > 0:
        if not find_pairs(dim, n, stride, x, &data.grid, owner):
            return INTERRUPTED
    else:
        memset(data.grid.count, 0, n * sizeof(int32_t))
    bounces = begin(dim, step, full, n, stride, before, delta_v, x, v, data, &sweep)
    stiffness_of(h, one, <real> 1.8849555921538759, stiffness[0], stiffness[1], &soft[0], &soft[1])
    stiffness_of(h, one + one, <real> 1.5707963267948966, stiffness[0], stiffness[2], &soft[2], &soft[3])
    for number in range(data.substeps):
        deep = run_substep(dim, step, h, number, deep, soft, n, stride, delta_v, x, data, &sweep)
        solved += (DEEP + 2 if deep else RELAXING + 2) * data.found[1] + 2 * data.sweeps * data.rods + n
        if solved > SOLVED:
            solved = 0
            if data.grid.look(owner):
                return INTERRUPTED
    for k in range(data.found[1] if bounces else 0):
        rebound(dim, k, h, <real> sweep.behind, data)
    finish(dim, full, n, data.found[0], stride, before, delta_v, x, v, s, data)
    if sweep.events:
        report_collisions(dim, full, n, stride, before, x, data)
    return 0


cdef inline bint run_substep(
    int dim, double step, real h, int64_t number, bint was_deep, const real* soft, int64_t n, int64_t stride,
    const real* delta_v, const real* like, const Contacts* data, Sweep* sweep,
) noexcept nogil:
    """Kick, solve, move, relax; return True if any contact is deep (overlap above an eighth of the diameter).
    was_deep: True if any contact was deep in the last substep."""
    cdef int64_t count = data.found[1]
    cdef double then = step if number + 1 == data.substeps else step * (number + 1) / data.substeps
    cdef real left = h * <real> (data.substeps - number)
    cdef real span = span_of(<real> step, data.last_h) / <real> data.substeps
    cdef real one = 1
    cdef real zero = 0
    cdef real* times
    cdef int64_t k, _sweep
    cdef bint deep, impulsive
    kick(dim, n, data, like)
    begin_rods(dim, data, like)
    if sweep.events and number > 0:
        for k in range(count):
            add_up(dim, k, data, like)
    sweep.given = number + 1
    solve_shape_contacts(dim, stride, delta_v, <real> sweep.given, data)
    sweep.kind = WARM if number > 0 else RESUME
    impulsive = press(sweep, data, like)
    solve_rods(True, dim, h, span, soft[2], soft[3], data)
    sweep.kind, sweep.soft, sweep.scale, sweep.left = SOLVE, soft[0], soft[1], left
    memset(data.deep, 0, n)
    sweep.only = IMPULSIVE_ONES
    deep = impulsive and press(sweep, data, like)
    sweep.only = SUSTAINED_ONES if impulsive else ALL_CONTACTS
    deep = press(sweep, data, like) or deep
    sweep.only = ALL_CONTACTS
    if data.found[4] > 0:
        deep = True
        for k in range(data.found[0]):
            if data.known[k] == LEFT_BEHIND:
                data.deep[group_of(data.place[k], data)] = 1
    if deep or was_deep:
        for k in range(count):
            if data.first[k] < n:
                times = contact(dim, data, k, like) + (2 * dim + TIMES) * data.lanes
                times[0] = <real> 0.8 if data.deep[group_of(k, data)] else <real> 1.12
    drift(dim, h, then, n, data, like)
    if data.moves:
        lay_level(dim, h, then, data)
    solve_rods(False, dim, h, span, zero, one, data)
    sweep.soft, sweep.scale, sweep.left = zero, one, left - h
    for _sweep in range(DEEP if deep else RELAXING):
        sweep.extra = _sweep >= RELAXING
        press(sweep, data, like)
    sweep.extra = False
    add_pulls(dim, data, like)
    return deep


cdef inline void kick(int dim, int64_t n, const Contacts* data, const real* like) noexcept nogil:
    """Change velocities by the forces of a substep."""
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* given
    cdef real* own
    cdef int64_t i
    cdef int j
    for i in range(n):
        if weight[i] > 0:
            own = body(dim, data, i, like)
            given = traits(data, i, like) + DELTA_V
            for j in range(dim):
                own[j] = own[j] + given[j]


cdef inline void drift(
    int dim, real h, double then, int64_t n, const Contacts* data, const real* like,
) noexcept nogil:
    """Move all bodies, but none through a shape; then: end of the substep, seconds after the beginning of the step."""
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* given
    cdef real* own
    cdef real start[MAX_DIM]
    cdef real one = 1
    cdef real after
    cdef int64_t i
    cdef int j
    for i in range(n):
        own = body(dim, data, i, like)
        for j in range(dim):
            start[j] = own[dim + j]
            own[dim + j] = own[dim + j] + h * own[j]
        if data.parts > 0 and weight[i] > 0 and keep_out(dim, i, then, start, own + dim, data, &after):
            data.touched[i] = 1
            given = traits(data, i, like) + DELTA_V
            for j in range(dim):
                own[j] = own[j] - (one - after) * given[j]


# The beginning of the step.

cdef inline bint begin(
    int dim, double step, real full, int64_t n, int64_t stride, const real* before, const real* delta_v, const real* x,
    const real* v, const Contacts* data, Sweep* sweep,
) noexcept nogil:
    """Find the contacts, sort them by colour and initialise them; return True if any body has restitution."""
    cdef real substeps = <real> data.substeps
    cdef bint events = data.grid.events != NULL
    cdef bint bounces
    cdef int64_t k
    for k in range(data.parts if data.moves else 0):
        begin_motion(dim, step, &data.shapes[k], x, 1)
    if data.moves:
        fit_level(dim, data)
    bounces = begin_bodies(dim, full, n, stride, before, delta_v, x, v, data)
    memset(data.touched, 0, n + data.faces + 1)
    data.found[0] = find_contacts(dim, n, stride, x, data)
    find_known(data.found[0], data)
    find_groups(n, data.found[0], data)
    if data.sleep:
        hold(dim, n, stride, before, delta_v, x, v, data)
    data.found[1] = sort_colours(n, data.found[0], data)
    sweep.kind, sweep.dim, sweep.events, sweep.h = BEGIN, dim, events, full / substeps
    sweep.count, sweep.behind, sweep.extra = substeps, <real> data.lag * substeps, False
    sweep.only = ALL_CONTACTS
    press(sweep, data, x)
    for k in range(data.found[1]):
        if data.second[k] >= n:
            begin_wall(dim, n, stride, delta_v, k, data)
        if events:
            contact_event(dim, data, k, x)[TOTAL] = 0
            contact_event(dim, data, k, x)[KNOWN] = 0
    for k in range(data.found[2]):
        begin_shape(dim, n, stride, delta_v, data.shape_contacts[k], data)
    data.found[4] = 0
    recall(dim, full, data.found[0], data)
    start_rods(dim, data, x)
    share_delta_v(dim, n, substeps, data)
    return bounces


cdef inline bint begin_bodies(
    int dim, real full, int64_t n, int64_t stride, const real* before, const real* delta_v, const real* x,
    const real* v,
    const Contacts* data,
) noexcept nogil:
    """Set the states of bodies to those before the step, and their traits; return True if any has restitution."""
    cdef const real* radius = <const real*> data.grid.radius
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* friction = <const real*> data.friction
    cdef const real* restitution = <const real*> data.restitution
    cdef real* own
    cdef real* more
    cdef bint bounces = False
    cdef int64_t i
    cdef int j
    for i in range(n):
        own = body(dim, data, i, x)
        more = traits(data, i, x)
        data.moved[i] = weight[i] > 0
        if data.axes > 0:
            data.moved[i] = begin_spin(i, data, more) or data.moved[i]  # a pinned body may rotate
        more[0], more[1], more[2], more[3] = radius[i], weight[i], friction[i], restitution[i]
        bounces = bounces or restitution[i] > 0
        for j in range(dim):
            own[dim + j] = before[j * stride + i]
            more[DELTA_V + j] = delta_v[j * stride + i] if weight[i] > 0 else 0 * full
            if weight[i] > 0:
                own[j] = v[j * stride + i] - delta_v[j * stride + i]
            else:
                own[j] = (x[j * stride + i] - own[dim + j]) / full
    return bounces


cdef inline bint begin_spin(int64_t i, const Contacts* data, const real* like) noexcept nogil:
    """Set the rotation data of a body; return True if its inertia is finite."""
    cdef real* own = spin_row(data, i, like)
    cdef const real* w = <const real*> data.grid.spin.w
    cdef int c
    for c in range(<int> data.axes):
        own[c] = w[c * data.grid.spin.stride + i]
    own[4] = own[7] = (<const real*> data.grid.radius)[i]
    own[5] = (<const real*> data.grid.spin.inverse_inertia)[i]
    own[6] = 0 if data.rolling == NULL else (<const real*> data.rolling)[i]
    return own[5] > 0


cdef inline void share_delta_v(int dim, int64_t n, real substeps, const Contacts* data) noexcept nogil:
    """Divide delta_v of the step's forces among the substeps."""
    cdef real* more
    cdef int64_t i
    cdef int j
    for i in range(n):
        more = traits(data, i, &substeps) + DELTA_V
        for j in range(dim):
            more[j] = more[j] / substeps


cdef inline bint press(Sweep* sweep, const Contacts* data, const real* like) noexcept nogil:
    """Sweep over contacts by colour, then one by one; True if SOLVE finds deep, or a warm start impulsive contacts."""
    cdef int64_t first = data.found[3] // data.lanes
    cdef int64_t last = data.found[1] // data.lanes
    cdef bint found
    sweep.alone = False
    found = data.press(data, sweep, 0, first, like)
    if first < last:
        sweep.alone = True
        found = data.press(data, sweep, first, last, like) or found
    return found


cdef inline void begin_wall(
    int dim, int64_t n, int64_t stride, const real* delta_v, int64_t k, const Contacts* data,
) noexcept nogil:
    """Initialise a contact with a wall, or padding of a block."""
    cdef int64_t i = data.first[k]
    cdef int64_t face = data.second[k] - n
    cdef int64_t w = data.lanes
    cdef real* own = contact(dim, data, k, delta_v)
    cdef real* more = own + 2 * dim * w
    cdef real normal[MAX_DIM]
    cdef real v[MAX_DIM]
    cdef real radius
    cdef real two = 2
    cdef int c
    if i == n + data.faces:
        begin_nothing(dim, own, data)
    if face == data.faces:
        return  # a contact with a shape, which `begin_shape` initialises, or padding
    radius = (<const real*> data.grid.radius)[i]
    more[FIRST_WEIGHT * w] = (<const real*> data.grid.weight)[i]
    more[SIZE * w] = (<const real*> data.offset)[face] + radius
    more[FASTEST * w] = two * (radius + radius)
    more[RESTITUTION * w] = (<const real*> data.restitution)[i]
    more[FRICTION * w] = (<const real*> data.wall_friction)[face * n + i]
    for c in range(dim):
        own[c * w] = -(<const real*> data.normal)[face * dim + c]
        normal[c] = -own[c * w]
    if data.wall_belt != NULL:
        run_belt(dim, <const real*> data.wall_belt + face * (dim + 1), normal, v)
        for c in range(dim):
            surface_of(data, k, delta_v)[c * w] = v[c]
    begin_impulse(dim, stride, delta_v, k, data)


cdef inline void begin_nothing(int dim, real* own, const Contacts* data) noexcept nogil:
    """Initialise padding: a contact of the static body with itself, which has no impulse."""
    cdef int f
    for f in range(2 * dim + CONTACT):
        own[f * data.lanes] = 0
    own[(2 * dim + FASTEST) * data.lanes] = 1
    own[(2 * dim + TIMES) * data.lanes] = <real> 1.12


cdef inline bint is_left(int dim, int64_t k, const Contacts* data, const real* like) noexcept nogil:
    """True if a surface recedes, and the body would follow at less than half of its speed."""
    cdef int64_t w = data.lanes
    cdef const real* own = contact(dim, data, k, like)
    cdef bint first = own[(2 * dim + FIRST_WEIGHT) * w] > 0
    cdef int64_t i = data.first[k] if first else data.second[k]
    cdef const real* a = body(dim, data, i, like)
    cdef const real* b = body(dim, data, data.second[k] if first else data.first[k], like)
    cdef const real* delta_v = traits(data, i, like) + DELTA_V
    cdef real outwards[MAX_DIM]
    cdef real velocity[MAX_DIM]
    cdef real zero = 0
    cdef real recedes, pull, follows
    cdef int c
    if first and own[(2 * dim + SECOND_WEIGHT) * w] > 0:
        return False
    for c in range(dim):
        outwards[c] = own[c * w] if first else -own[c * w]
        velocity[c] = b[c]
        if data.surface != NULL:
            velocity[c] = velocity[c] + surface_of(data, k, like)[c * w]
    recedes = dot(dim, velocity, outwards)
    if not recedes > 0:
        return False
    pull = dot(dim, delta_v, outwards)
    follows = dot(dim, a, outwards) + (pull if pull > 0 else zero)
    return follows + follows < recedes


cdef inline void recall(int dim, real full, int64_t count, const Contacts* data) noexcept nogil:
    """Warm-start contacts and rods by the impulses of the last step, except where a surface has left a body."""
    cdef int place = <int> data.state[0]
    cdef const real* push
    cdef real* own
    cdef int64_t w = data.lanes
    cdef int64_t k
    cdef int c
    for k in range(count):
        if data.known[k] < 0 or data.colour[k] >= SENSED:
            continue
        push = <const real*> data.push[place] + data.known[k] * (2 + dim + data.axes)
        if push[0] > 0 and is_left(dim, data.place[k], data, &full):
            data.known[k] = LEFT_BEHIND
            data.found[4] += 1
            continue
        for c in range(<int> data.axes):
            twist_of(data, data.place[k], push)[c * w] = push[2 + dim + c]
        own = contact(dim, data, data.place[k], &full)
        if data.grid.events != NULL:
            record_impact(dim, full, 0, 0, data.place[k], data)
            contact_event(dim, data, data.place[k], &full)[KNOWN] = 1
        if not own[(2 * dim + SPEED) * w] > own[(2 * dim + SLOW) * w]:
            relax(own + 2 * dim * w, w)
        own[(2 * dim + PUSH) * w] = push[0]
        own[(2 * dim + MOST) * w] = push[0]
        own[(2 * dim + LOAD) * w] = push[1]
        for c in range(dim):
            own[(dim + c) * w] = push[2 + c]
    for k in range(data.declared):
        (<real*> data.pull[1 - place])[k] = (<const real*> data.pull[place])[k]


# The end of the step.

cdef inline void finish(
    int dim, real full, int64_t n, int64_t count, int64_t stride, const real* before, const real* delta_v, real* x,
    real* v, real* s, const Contacts* data,
) noexcept nogil:
    """Store the states of bodies with contacts or rods, and the impulses for the next step."""
    cdef const real* weight = <const real*> data.grid.weight
    cdef int place = 1 - <int> data.state[0]
    cdef int32_t* pair = data.pair[place]
    cdef real* push = <real*> data.push[place]
    cdef const real* last = <const real*> data.push[1 - place]
    cdef real* own
    cdef real half = 0.5
    cdef int64_t w = data.lanes
    cdef int64_t width = 2 + dim + data.axes
    cdef int64_t kept = 0
    cdef int64_t i, k
    cdef bint held
    cdef int c
    for k in range(count):
        if data.colour[k] == HELD or (
            data.colour[k] != SENSED and contact(dim, data, data.place[k], x)[(2 * dim + MOST) * w] > 0
        ):
            data.touched[data.one[k]] = 1
            data.touched[min(data.other[k], n + data.faces)] = 1
    finish_rods(dim, full, data)
    catch_up(dim, full, n, stride, before, delta_v, x, v, data)
    find_awake(dim, full, n, count, stride, before, delta_v, data)
    for k in range(count):
        if data.colour[k] == SENSED:
            continue
        held = data.colour[k] == HELD
        own = contact(dim, data, data.place[k], x)
        if not (data.known[k] >= 0 if held else goes_on(dim, data.place[k], data, x)):
            continue
        pair[2 * kept] = data.one[k]
        pair[2 * kept + 1] = data.other[k]
        if not held and data.deep[group_of(data.place[k], data)]:
            push[0] = own[(2 * dim + PUSH) * w]
            push[1] = carried(own + 2 * dim * w, w, full / <real> data.substeps, data.substeps)
            for c in range(dim):
                push[2 + c] = own[(dim + c) * w]
            for c in range(<int> data.axes):
                push[2 + dim + c] = twist_of(data, data.place[k], x)[c * w]
            if not are_finite(push, width):
                continue
        else:
            memcpy(push, last + data.known[k] * width, width * sizeof(real))
        push += width
        kept += 1
    keep_pulls(data, x)
    for i in range(n if data.sleep else 0):
        data.rested[i] = rests(i, data)
        if data.rested[i]:
            own = body(dim, data, i, x)
            for c in range(dim):
                own[c], own[dim + c] = 0, before[c * stride + i]
            for c in range(<int> data.axes):
                spin_row(data, i, x)[c] = 0
    for c in range(<int> data.axes):
        for i in range(n):
            # Bodies of infinite inertia keep every bit: impulses of 0 would make -0 a 0.
            if spin_row(data, i, x)[5] > 0 or (data.sleep and data.rested[i]):
                (<real*> data.grid.spin.w)[c * data.grid.spin.stride + i] = spin_row(data, i, x)[c]
    for i in range(n):
        if not (data.touched[i] and weight[i] > 0):
            continue
        own = body(dim, data, i, x)
        for c in range(dim):
            if s != NULL:
                s[c * stride + i] = own[dim + c] - full * (own[c] + (<real> data.lag - half) * delta_v[c * stride + i])
            x[c * stride + i] = own[dim + c]
            v[c * stride + i] = own[c]
    data.state[1 + place] = kept


cdef inline void catch_up(
    int dim, real full, int64_t n, int64_t stride, const real* before, const real* delta_v, const real* x,
    const real* v, const Contacts* data,
) noexcept nogil:
    """Add the displacement by which substeps, with equal parts of the forces, fall short of that of the integrator.

    Only directions without a contact count, in the share of the forces' velocity change that remained there.
    """
    cdef const real* weight = <const real*> data.grid.weight
    cdef real* lack = <real*> data.lack
    cdef real* free
    cdef real* own
    cdef real kept[MAX_DIM]
    cdef real one = 1
    cdef real half = 0.5
    cdef real substeps = <real> data.substeps
    cdef real share = half * ((substeps + one) / substeps)
    cdef real square, left
    cdef int64_t i, k, p
    cdef int c
    for i in range(n):
        if not data.touched[i]:
            continue
        free = traits(data, i, x) + DELTA_V
        for c in range(dim):
            p = c * stride + i
            free[c] = delta_v[p]
            lack[i * dim + c] = x[p] - (before[p] + full * ((v[p] - delta_v[p]) + share * delta_v[p]))
    for k in range(data.found[1]):
        own = contact(dim, data, k, x)
        if own[(2 * dim + MOST) * data.lanes] > 0:
            for c in range(dim):
                kept[c] = own[c * data.lanes]
            keep_across(dim, n, data.first[k], data.second[k], kept, data)
    for k in range(data.rods):
        if holds(dim, data, k, rod(dim, data, k, x)):
            for c in range(dim):    # a displacement of bodies whose rod holds would change its length
                (traits(data, data.rod_first[k], x) + DELTA_V)[c] = 0
                (traits(data, data.rod_second[k], x) + DELTA_V)[c] = 0
    for i in range(n):
        if not (data.touched[i] and weight[i] > 0):
            continue
        free = traits(data, i, x) + DELTA_V
        own = body(dim, data, i, x)
        for c in range(dim):
            kept[c] = own[c] - (v[c * stride + i] - delta_v[c * stride + i])
        square, left = dot(dim, free, free), dot(dim, kept, free)
        if square > 0 and left > 0:
            left = left / square if left < square else one
            for c in range(dim):
                own[dim + c] = own[dim + c] + left * lack[i * dim + c]


cdef inline void keep_across(
    int dim, int64_t n, int64_t first, int64_t second, const real* normal, const Contacts* data,
) noexcept nogil:
    """Remove the component along a contact normal from delta_v and from the missing displacement of both bodies."""
    cdef real* vectors[2]
    cdef real along
    cdef int64_t i
    cdef int which, number, c
    for which in range(2):
        i = second if which else first
        if i >= n:
            continue
        vectors[0] = traits(data, i, normal) + DELTA_V
        vectors[1] = <real*> data.lack + i * dim
        for number in range(2):
            along = dot(dim, vectors[number], normal)
            for c in range(dim):
                vectors[number][c] = vectors[number][c] - along * normal[c]
