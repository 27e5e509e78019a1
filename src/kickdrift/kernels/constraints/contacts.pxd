# Resting contact (substepped solver): the formulas of kickdrift/reference/constraints/contacts.py.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from .broad_phase cimport find_pairs
from .contact_impulses cimport carried, goes_on, rebound, stiffness_of
from .contact_rest cimport find_awake, hold, hold_rods, rests
from .contact_rods cimport add_pulls, begin_rods, finish_rods, is_cut, solve_rods, start_rods
from .contact_shapes cimport begin_shape, keep_out, lay_level, solve_shape_contacts, near_shapes
from .contact_state cimport (
    FASTEST, FIRST_WEIGHT, FRICTION, HELD, KNOWN, LOAD, MOST, PUSH, RESTITUTION, SENSED, SIZE, SLOW, SPEED, TIMES,
    TOTAL, begin_impulse, body, contact, group_of, contact_event, relax, spin_row, surface_of, traits, twist_of,
)
from .events cimport senses
from .friction cimport run_belt
from .motion cimport begin_motion
from .contact_events cimport add_up, record_impact, report_collisions
from ..abi.constraints cimport (
    BEGIN, COLOURS, CONTACT, DELTA_V, NOWHERE, RESUME, SHAPES_PER_BODY, SOLVE, WARM, Contacts, Sweep,
)
from ..simd.vec cimport real
from ..abi.plan cimport MAX_DIM
from ..abi.coupled cimport INTERRUPTED

cdef extern from *:
    """
    /* Index of the lowest bit that is 0, or 64 */
    static inline int kd_lowest_zero(uint64_t bits) {
      #if defined(__GNUC__) || defined(__clang__)
        return ~bits ? __builtin_ctzll(~bits) : 64;
      #else
        int place = 0;
        for (; bits & 1; bits >>= 1) place++;
        return place;
      #endif
    }
    """
    int lowest_zero "kd_lowest_zero"(uint64_t) noexcept nogil

cdef enum:
    RELAXING = 2        # relaxing sweeps, which remove the push-out velocity
    DEEP = 8            # relaxing sweeps of islands with deep contacts
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
    real* v,
    real* s, const Contacts* data, void* owner,
) noexcept nogil:
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* stiffness = <const real*> data.stiffness
    cdef real substeps = <real> data.substeps
    cdef real h = full / substeps
    cdef real one = 1
    cdef real zero = 0
    cdef Sweep sweep
    cdef real soft, scale, rod_soft, rod_scale, left, after
    cdef real start[MAX_DIM]
    cdef real* own
    cdef real* times
    cdef const real* given
    cdef int64_t count, _substep, _sweep, i, k
    cdef bint bounces, deep
    cdef bint was_deep = False
    cdef int64_t solved = 0
    cdef real lead = <real> data.lag * substeps
    cdef double then = step
    cdef bint events = data.grid.events != NULL
    cdef int j
    if data.grid.classes > 0:
        if not find_pairs(dim, n, stride, x, &data.grid, owner):
            return INTERRUPTED
    else:
        memset(data.grid.count, 0, n * sizeof(int32_t))
    for k in range(data.parts if data.moves else 0):
        begin_motion(dim, step, &data.shapes[k], x)
    bounces = begin_bodies(dim, full, n, stride, before, delta_v, x, v, data)
    memset(data.touched, 0, n + data.faces + 1)
    data.found[0] = find_contacts(dim, n, stride, x, data)
    find_known(data.found[0], data)
    find_groups(n, data.found[0], data)
    if data.sleep:
        hold(dim, n, stride, before, delta_v, x, v, data)
    count = sort_colours(n, data.found[0], data)
    data.found[1] = count
    sweep.kind, sweep.dim, sweep.events, sweep.h = BEGIN, dim, events, h
    sweep.count, sweep.lead, sweep.extra = substeps, lead, False
    press(&sweep, data, x)
    for k in range(count):
        if data.second[k] >= n:
            begin_wall(dim, n, stride, delta_v, k, data)
        if events:
            contact_event(dim, data, k, x)[TOTAL] = 0
            contact_event(dim, data, k, x)[KNOWN] = 0
    for k in range(data.found[2]):
        begin_shape(dim, n, stride, delta_v, data.shape_contacts[k], data)
    recall(dim, full, data.found[0], data)
    start_rods(dim, data, x)
    share_delta_v(dim, n, substeps, data)
    stiffness_of(h, one, <real> 1.8849555921538759, stiffness[0], stiffness[1], &soft, &scale)
    stiffness_of(h, one + one, <real> 1.5707963267948966, stiffness[0], stiffness[2], &rod_soft, &rod_scale)

    for _substep in range(data.substeps):
        for i in range(n):
            if weight[i] > 0:
                own = body(dim, data, i, x)
                given = traits(data, i, x) + DELTA_V
                for j in range(dim):
                    own[j] = own[j] + given[j]
        begin_rods(dim, data, x)
        left = h * <real> (data.substeps - _substep)
        if events and _substep > 0:
            for k in range(count):
                add_up(dim, k, data, x)
        sweep.given = _substep + 1
        solve_shape_contacts(dim, stride, delta_v, <real> sweep.given, data)
        sweep.kind = WARM if _substep > 0 else RESUME
        press(&sweep, data, x)
        solve_rods(True, dim, h, rod_soft, rod_scale, data)
        sweep.kind, sweep.soft, sweep.scale, sweep.left = SOLVE, soft, scale, left
        memset(data.deep, 0, n)
        deep = press(&sweep, data, x)
        if deep or was_deep:
            for k in range(count):
                if data.first[k] < n:
                    times = contact(dim, data, k, x) + (2 * dim + TIMES) * data.lanes
                    times[0] = <real> 0.8 if data.deep[group_of(k, data)] else <real> 1.12
        was_deep = deep
        if data.moves:
            then = step if _substep + 1 == data.substeps else step * (_substep + 1) / data.substeps
        for i in range(n):
            own = body(dim, data, i, x)
            for j in range(dim):
                start[j] = own[dim + j]
                own[dim + j] = own[dim + j] + h * own[j]
            if data.parts > 0 and weight[i] > 0 and keep_out(dim, i, then, start, own + dim, data, &after):
                data.touched[i] = 1
                given = traits(data, i, x) + DELTA_V
                for j in range(dim):
                    own[j] = own[j] - (one - after) * given[j]
        if data.moves:
            lay_level(dim, h, then, data)
        solve_rods(False, dim, h, zero, one, data)
        sweep.soft, sweep.scale, sweep.left = zero, one, left - h
        for _sweep in range(DEEP if deep else RELAXING):
            sweep.extra = _sweep >= RELAXING
            press(&sweep, data, x)
        sweep.extra = False
        add_pulls(dim, data, x)
        solved += (DEEP + 2 if deep else RELAXING + 2) * count + 2 * data.sweeps * data.rods + n
        if solved > SOLVED:
            solved = 0
            if data.grid.look(owner):
                return INTERRUPTED
    for k in range(count if bounces else 0):
        rebound(dim, k, h, lead, data)
    finish(dim, full, n, data.found[0], stride, before, delta_v, x, v, s, data)
    if events:
        report_collisions(dim, full, n, stride, before, x, data)
    return 0


cdef inline bint begin_bodies(
    int dim, real full, int64_t n, int64_t stride, const real* before, const real* delta_v, const real* x,
    const real* v,
    const Contacts* data,
) noexcept nogil:
    """Set states before the step, without its forces, and traits; return True if any body has restitution."""
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
            more[DELTA_V + j] = delta_v[j * stride + i]
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
    """Sweep over all contacts colour by colour, then over uncoloured ones one by one; True if any is deep."""
    cdef int64_t first = data.found[3] // data.lanes
    cdef int64_t last = data.found[1] // data.lanes
    cdef bint deep
    sweep.alone = False
    deep = data.press(data, sweep, 0, first, like)
    if first < last:
        sweep.alone = True
        deep = data.press(data, sweep, first, last, like) or deep
    return deep


# Contact search and graph colouring.

cdef inline int64_t find_contacts(
    int dim, int64_t n, int64_t stride, const real* x, const Contacts* data,
) noexcept nogil:
    """List pairs i < j of bodies, and bodies with walls and shapes, in order; sensors get the colour SENSED."""
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* radius = <const real*> data.grid.radius
    cdef const real* normal = <const real*> data.normal
    cdef const real* offset = <const real*> data.offset
    cdef const real* own
    cdef real end[MAX_DIM]
    cdef real four = 4
    cdef real now, then, reach
    cdef int64_t near[SHAPES_PER_BODY]
    cdef bint reports[SHAPES_PER_BODY]
    cdef int place = <int> data.state[0]
    cdef int64_t known = 0
    cdef int64_t count = 0
    cdef int64_t i, k, face
    cdef int32_t partner
    cdef bint sensed, alive
    cdef int j
    data.found[2] = 0
    for i in range(n):
        for k in range(data.grid.count[i]):
            partner = data.grid.partner[data.grid.begin[i] + k]
            sensed = senses(data.grid.sensor, i) or senses(data.grid.sensor, partner)
            if weight[i] + weight[partner] > 0 or sensed:
                data.one[count] = <int32_t> i
                data.other[count] = partner
                data.colour[count] = SENSED if sensed else 0
                count += 1
        alive = data.grid.size_class[i] != NOWHERE
        own = body(dim, data, i, x) + dim
        for face in range(data.faces if weight[i] > 0 or (data.through != NULL and alive) else 0):
            sensed = False
            if data.through != NULL:
                sensed = data.through[face * n + i] == 1
                if not (sensed or (data.through[face * n + i] == 0 and weight[i] > 0)):
                    continue
            reach = offset[face] + radius[i] + radius[i] / four
            now = normal[dim * face] * x[i]
            then = normal[dim * face] * own[0]
            for j in range(1, dim):
                now = now + normal[dim * face + j] * x[j * stride + i]
                then = then + normal[dim * face + j] * own[j]
            if now <= reach or then <= reach:
                data.one[count] = <int32_t> i
                data.other[count] = <int32_t> (n + face)
                data.colour[count] = SENSED if sensed else 0
                count += 1
        if data.parts == 0:
            continue
        for j in range(dim):
            end[j] = x[j * stride + i]
        while known < data.state[1 + place] and data.pair[place][2 * known] < i:
            known += 1
        for j in range(near_shapes(dim, i, own, end, weight[i] > 0, alive, known, data, near, reports)):
            data.one[count] = <int32_t> i
            data.other[count] = <int32_t> (n + data.faces + near[j])
            data.colour[count] = SENSED if reports[j] else 0
            if not reports[j]:
                data.shape_contacts[data.found[2]] = <int32_t> count
                data.found[2] += 1
            count += 1
    return count


cdef inline int32_t top(int32_t* above, int32_t i) noexcept nogil:
    """Root of a body's island (union-find with path compression)."""
    cdef int32_t highest = i
    cdef int32_t next
    while above[highest] != highest:
        highest = above[highest]
    while above[i] != highest:
        next = above[i]
        above[i] = highest
        i = next
    return highest


cdef inline void find_groups(int64_t n, int64_t count, const Contacts* data) noexcept nogil:
    """Find the island of each body: movable bodies connected by contacts and rods."""
    cdef int32_t* above = data.group
    cdef int64_t k
    cdef int32_t i, j
    for i in range(<int32_t> n):
        above[i] = i
    for k in range(count + data.rods):
        if data.colour[k] == SENSED if k < count else is_cut(data, k - count):
            continue
        i = data.one[k] if k < count else data.rod_first[k - count]
        j = data.other[k] if k < count else data.rod_second[k - count]
        if j < n and data.moved[i] and data.moved[j]:
            above[top(above, i)] = top(above, j)
    for i in range(<int32_t> n):
        above[i] = top(above, i)


cdef inline int64_t sort_colours(int64_t n, int64_t count, const Contacts* data) noexcept nogil:
    """Colour contacts greedily, and order them by colour; return the number of solve-order indices without sensors.

    Sensors come last. All shapes count as one static body, which also pads blocks. Within a colour, contacts with an
    impulse in the last step come first: most blocks then have impulses in all lanes or in none.
    """
    cdef int64_t start[2 * SENSED + 3]
    cdef int64_t w = data.lanes
    cdef int32_t empty_row = <int32_t> (n + data.faces + 1)
    cdef int64_t end
    cdef uint64_t taken
    cdef int64_t k
    cdef int32_t i, j
    cdef int colour
    memset(start, 0, sizeof(start))
    memset(data.taken, 0, n * sizeof(uint64_t))
    for k in range(count):
        if data.colour[k] >= SENSED:
            start[2 * SENSED + 1] += 1
            continue
        i = data.one[k]
        j = data.other[k]
        taken = data.taken[i] if data.moved[i] else 0
        if j < n and data.moved[j]:
            taken |= data.taken[j]
        colour = lowest_zero(taken)
        if colour < COLOURS:
            taken = <uint64_t> 1 << colour
            if data.moved[i]:
                data.taken[i] |= taken
            if j < n and data.moved[j]:
                data.taken[j] |= taken
        data.colour[k] = <uint8_t> colour
        start[group(k, data) + 1] += 1
    for colour in range(2 * SENSED + 1):
        start[colour + 1] += start[colour]
        if colour % 2 == 1:
            start[colour + 1] = (start[colour + 1] + w - 1) & -w
    data.found[3] = start[2 * COLOURS]
    end = start[2 * SENSED]
    for k in range(count):
        colour = group(k, data)
        data.place[k] = <int32_t> start[colour]
        start[colour] += 1
        i = data.one[k]
        j = <int32_t> min(data.other[k], n + data.faces)
        data.first[data.place[k]] = i
        data.second[data.place[k]] = j
        data.first_row[data.place[k]] = i if data.moved[i] else empty_row
        data.second_row[data.place[k]] = j if j < n and data.moved[j] else empty_row
    for colour in range(1, 2 * SENSED, 2):
        while start[colour] & (w - 1):
            data.first[start[colour]] = data.second[start[colour]] = empty_row - 1
            data.first_row[start[colour]] = data.second_row[start[colour]] = empty_row
            start[colour] += 1
    return end


cdef inline int group(int64_t k, const Contacts* data) noexcept nogil:
    """Sort key: two per colour, by impulse in the last step; uncoloured contacts stay in order."""
    return 2 * min(<int> data.colour[k], <int> SENSED) + (data.colour[k] < COLOURS and data.known[k] < 0)


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
        return  # see `begin_shape`
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


cdef inline void find_known(int64_t count, const Contacts* data) noexcept nogil:
    """Match contacts with the impulses of the last step: both lists are in ascending order."""
    cdef int place = <int> data.state[0]
    cdef int64_t known = data.state[1 + place]
    cdef const int32_t* pair = data.pair[place]
    cdef int64_t m = 0
    cdef int64_t k
    for k in range(count):
        while m < known and (pair[2 * m] < data.one[k] or (pair[2 * m] == data.one[k] and
                                                           pair[2 * m + 1] < data.other[k])):
            m += 1
        data.known[k] = -1
        if m < known and pair[2 * m] == data.one[k] and pair[2 * m + 1] == data.other[k]:
            data.known[k] = <int32_t> m


cdef inline void recall(int dim, real full, int64_t count, const Contacts* data) noexcept nogil:
    """Warm-start contacts and rods by the impulses of the last step."""
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
    find_awake(dim, full, n, count, stride, before, delta_v, data)
    for k in range(count):
        if data.colour[k] == SENSED:
            continue
        held = data.colour[k] == HELD
        own = contact(dim, data, data.place[k], x)
        if held or own[(2 * dim + MOST) * w] > 0:
            data.touched[data.one[k]] = 1
            data.touched[min(data.other[k], n + data.faces)] = 1
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
        else:
            memcpy(push, last + data.known[k] * width, width * sizeof(real))
        push += width
        kept += 1
    finish_rods(dim, full, data)
    hold_rods(data, x)
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
