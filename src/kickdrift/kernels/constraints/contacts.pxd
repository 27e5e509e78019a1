# Bodies that rest on each other: the formulas of kickdrift/reference/constraints/contacts.py.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from .broad_phase cimport find_pairs
from .collisions cimport drop_strangers
from .contact_state cimport (
    ACROSS, ALONG, FASTEST, FIRST_WEIGHT, FRICTION, KNOWN, LOAD, MASS, MOST, PUSH, RESTITUTION, SECOND_WEIGHT, SENSED,
    SIZE, SLOW, SPEED, TOTAL, body, contact, meeting,
)
from .events cimport senses
from .meetings cimport add_up, meets, tell_meetings
from ..abi.constraints cimport COLOURS, NOWHERE, Contacts
from ..simd.vec cimport real
from ..abi.plan cimport MAX_DIM
from ..abi.coupled cimport INTERRUPTED
from ..forces.fields cimport dot, magnitude, root

cdef enum:
    DEEP = 8            # sweeps that take away the speed of pushing out, where some are deep in each other
    SOLVED = 200_000    # contacts between two looks for Ctrl-C: some milliseconds

cdef inline int contacts(
    double step, int64_t n, int64_t dim, int64_t stride, const real* before, const real* gain, real* x, real* v,
    real* s, const Contacts* data, void* owner,
) noexcept nogil:
    if dim == 3:
        return rest(3, <real> step, n, stride, before, gain, x, v, s, data, owner)
    if dim == 2:
        return rest(2, <real> step, n, stride, before, gain, x, v, s, data, owner)
    return rest(1, <real> step, n, stride, before, gain, x, v, s, data, owner)


cdef inline int rest(
    int dim, real full, int64_t n, int64_t stride, const real* before, const real* gain, real* x, real* v, real* s,
    const Contacts* data, void* owner,
) noexcept nogil:
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* stiffness = <const real*> data.stiffness
    cdef real substeps = <real> data.substeps
    cdef real h = full / substeps
    cdef real one = 1
    cdef real zero = 0
    cdef real soft, scale, rod_soft, rod_scale
    cdef real* own
    cdef int64_t count, _substep, _sweep, i, k
    cdef bint deep
    cdef int64_t solved = 0
    cdef real left
    cdef bint told = data.grid.told != NULL
    cdef int j
    if data.grid.classes > 0:
        if not find_pairs(dim, n, stride, x, &data.grid, owner):
            return INTERRUPTED
        if data.grid.category != NULL:
            drop_strangers(n, &data.grid)
    else:
        memset(data.grid.count, 0, n * sizeof(int32_t))
    for i in range(n):
        data.moved[i] = weight[i] > 0
    for i in range(n + data.faces):
        own = body(dim, data, i, x)
        for j in range(dim):
            if i >= n:
                own[j] = zero
                own[dim + j] = zero
                continue
            own[dim + j] = before[j * stride + i]
            if weight[i] > 0:
                own[j] = v[j * stride + i] - gain[j * stride + i]
            else:
                own[j] = (x[j * stride + i] - own[dim + j]) / full
    data.found[0] = find_contacts(dim, n, stride, x, data)
    count = sort_colours(n, data.found[0], data)
    data.found[1] = count
    for k in range(count):
        begin_contact(dim, n, stride, gain, k, data)
    recall(dim, full, data.found[0], data)
    stiffness_of(h, one, stiffness[0], stiffness[1], &soft, &scale)
    stiffness_of(h, one + one, stiffness[0], stiffness[2], &rod_soft, &rod_scale)

    for _substep in range(data.substeps):
        for i in range(n):
            if weight[i] > 0:
                own = body(dim, data, i, x)
                for j in range(dim):
                    own[j] = own[j] + gain[j * stride + i] / substeps
        begin_rods(dim, data, x)
        left = h * <real> (data.substeps - _substep)
        for k in range(count):
            if told and _substep > 0:
                add_up(dim, k, data, x)
            warm(dim, n, k, data, x)
        solve_rods(True, dim, h, rod_soft, rod_scale, data)
        deep = False
        for k in range(count):
            if solve(dim, h, soft, scale, left, told, k, data):
                deep = True
        for i in range(n):
            own = body(dim, data, i, x)
            for j in range(dim):
                own[dim + j] = own[dim + j] + h * own[j]
        solve_rods(False, dim, h, zero, one, data)
        for _sweep in range(DEEP if deep else 1):
            for k in range(count):
                solve(dim, h, zero, one, left - h, told, k, data)
        solved += (DEEP + 2 if deep else 3) * count + 2 * data.sweeps * data.rods + n
        if solved > SOLVED:
            solved = 0
            if data.grid.look(owner):
                return INTERRUPTED
    for k in range(count):
        rebound(dim, k, data, x)
    finish(dim, full, n, data.found[0], stride, x, v, s, data)
    if told:
        tell_meetings(dim, full, n, stride, before, x, data)
    return 0


# Who touches whom.

cdef inline int64_t find_contacts(
    int dim, int64_t n, int64_t stride, const real* x, const Contacts* data,
) noexcept nogil:
    """Pairs i < j of bodies, and bodies with walls, in ascending order; how many. SENSED is the colour of some."""
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* radius = <const real*> data.grid.radius
    cdef const real* normal = <const real*> data.normal
    cdef const real* offset = <const real*> data.offset
    cdef const real* own
    cdef real four = 4
    cdef real now, then, reach
    cdef int64_t count = 0
    cdef int64_t i, k, face
    cdef int32_t partner
    cdef bint sensed
    cdef int j
    for i in range(n):
        for k in range(data.grid.count[i]):
            partner = data.grid.partner[data.grid.begin[i] + k]
            sensed = senses(data.grid.sensor, i) or senses(data.grid.sensor, partner)
            if weight[i] + weight[partner] > 0 or sensed:
                data.one[count] = <int32_t> i
                data.other[count] = partner
                data.colour[count] = SENSED if sensed else 0
                count += 1
        if not weight[i] > 0 and (data.through == NULL or data.grid.size_class[i] == NOWHERE):
            continue
        own = body(dim, data, i, x) + dim
        for face in range(data.faces):
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
    return count


cdef inline int64_t sort_colours(int64_t n, int64_t count, const Contacts* data) noexcept nogil:
    """Each contact gets the lowest colour that is free of both bodies, and its place behind those of lower colours.

    How many push; those that only report come last.
    """
    cdef int64_t start[COLOURS + 3]
    cdef int64_t push
    cdef uint64_t taken
    cdef int64_t k
    cdef int32_t i, j
    cdef int colour
    memset(start, 0, sizeof(start))
    memset(data.taken, 0, n * sizeof(uint64_t))
    for k in range(count):
        if data.colour[k] == SENSED:
            start[SENSED + 1] += 1
            continue
        i = data.one[k]
        j = data.other[k]
        taken = data.taken[i] if data.moved[i] else 0
        if j < n and data.moved[j]:
            taken |= data.taken[j]
        colour = 0
        while taken & 1:
            taken >>= 1
            colour += 1
        if colour < COLOURS:
            taken = <uint64_t> 1 << colour
            if data.moved[i]:
                data.taken[i] |= taken
            if j < n and data.moved[j]:
                data.taken[j] |= taken
        data.colour[k] = <uint8_t> colour
        start[colour + 1] += 1
    for colour in range(COLOURS + 2):
        start[colour + 1] += start[colour]
    push = start[SENSED]
    for k in range(count):
        data.place[k] = <int32_t> start[data.colour[k]]
        start[data.colour[k]] += 1
        data.first[data.place[k]] = data.one[k]
        data.second[data.place[k]] = data.other[k]
    return push


cdef inline void begin_contact(
    int dim, int64_t n, int64_t stride, const real* gain, int64_t k, const Contacts* data,
) noexcept nogil:
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* radius = <const real*> data.grid.radius
    cdef const real* restitution = <const real*> data.restitution
    cdef const real* friction = <const real*> data.friction
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
    cdef real two = 2
    cdef int c
    more[FIRST_WEIGHT] = weight[i]
    if j < n:
        more[SIZE] = radius[i] + radius[j]
        more[FASTEST] = two * more[SIZE]
        more[SECOND_WEIGHT] = weight[j]
        more[RESTITUTION] = restitution[i] if restitution[i] > restitution[j] else restitution[j]
        more[FRICTION] = root(friction[i] * friction[j])
    else:
        more[SIZE] = (<const real*> data.offset)[j - n] + radius[i]
        more[FASTEST] = two * (radius[i] + radius[i])
        more[SECOND_WEIGHT] = zero
        more[RESTITUTION] = restitution[i]
        more[FRICTION] = (<const real*> data.wall_friction)[(j - n) * n + i]
        for c in range(dim):
            own[c] = -(<const real*> data.normal)[(j - n) * dim + c]
    more[MASS] = one / (more[FIRST_WEIGHT] + more[SECOND_WEIGHT])
    more[ALONG] = more[MASS]
    more[ACROSS] = more[MASS]
    if data.grid.told != NULL:
        meeting(dim, data, k, gain)[TOTAL] = zero
        meeting(dim, data, k, gain)[KNOWN] = zero
    direct(dim, n, i, j, own, a, b)
    for c in range(dim):
        way[c] = b[c] - a[c]
        pull[c] = gain[c * stride + i]
        own[dim + c] = zero
    more[SPEED] = -dot(dim, way, own)
    more[SLOW] = magnitude(dot(dim, pull, own))
    if j < n:
        for c in range(dim):
            pull[c] = gain[c * stride + j]
        more[SLOW] = more[SLOW] + magnitude(dot(dim, pull, own))
    more[PUSH] = zero
    more[MOST] = zero
    more[LOAD] = zero


cdef inline void direct(
    int dim, int64_t n, int64_t i, int64_t j, real* normal, const real* a, const real* b,
) noexcept nogil:
    """Where the bodies are now says in which direction they push; walls keep theirs."""
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


cdef inline void recall(int dim, real full, int64_t count, const Contacts* data) noexcept nogil:
    """The impulses of the step before: both lists are in ascending order."""
    cdef int place = <int> data.state[0]
    cdef int64_t known = data.state[1 + place]
    cdef const int32_t* pair = data.pair[place]
    cdef const real* push = <const real*> data.push[place]
    cdef real* own
    cdef int64_t m = 0
    cdef int64_t k
    cdef int c
    for k in range(count):
        while m < known and (pair[2 * m] < data.one[k] or (pair[2 * m] == data.one[k] and
                                                           pair[2 * m + 1] < data.other[k])):
            m += 1
        if m < known and pair[2 * m] == data.one[k] and pair[2 * m + 1] == data.other[k]:
            if data.colour[k] == SENSED:
                continue
            own = contact(dim, data, data.place[k], &full)
            if data.grid.told != NULL:
                meets(dim, full, 0, 0, data.place[k], data)
                meeting(dim, data, data.place[k], &full)[KNOWN] = 1
            if not own[2 * dim + SPEED] > own[2 * dim + SLOW]:
                own[2 * dim + ALONG] = <real> 1.25 * own[2 * dim + MASS]
                own[2 * dim + ACROSS] = <real> 0.9 * own[2 * dim + MASS]
            own[2 * dim + PUSH] = push[m * (2 + dim)]
            own[2 * dim + MOST] = push[m * (2 + dim)]
            own[2 * dim + LOAD] = push[m * (2 + dim) + 1]
            for c in range(dim):
                own[dim + c] = push[m * (2 + dim) + 2 + c]
    for k in range(data.declared):
        (<real*> data.pull[1 - place])[k] = (<const real*> data.pull[place])[k]


cdef inline void stiffness_of(
    real h, real times, real wanted, real ratio, real* soft, real* scale,
) noexcept nogil:
    """How fast overlap is pushed out (1/s), and the share of an impulse that a soft contact gives."""
    cdef real one = 1
    cdef real two = 2
    cdef real quarter = <real> 1.5707963267948966
    cdef real angle = h * wanted
    cdef real a1, a2
    if not (angle > 0 and angle < quarter):
        angle = quarter
    angle = times * angle
    a1 = two * ratio + angle
    a2 = angle * a1
    soft[0] = angle / a1 / h
    scale[0] = a2 / (one + a2)


# Impulses.

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
    direct(dim, n, i, j, own, a, b)
    along = dot(dim, own + dim, own)
    for c in range(dim):
        own[dim + c] = own[dim + c] - along * own[c]
        impulse[c] = more[PUSH] * own[c] + own[dim + c]
    apply(dim, a, b, more[FIRST_WEIGHT], more[SECOND_WEIGHT], impulse)


cdef inline bint solve(
    int dim, real h, real soft, real scale, real left, bint told, int64_t k, const Contacts* data,
) noexcept nogil:
    """One impulse: along the normal so that they come no closer than they touch, across it by friction.

    Are they deep in each other? left: of the step, from where they are now.
    """
    cdef real* own = contact(dim, data, k, &h)
    cdef real* more = own + 2 * dim
    cdef real* a = body(dim, data, data.first[k], &h)
    cdef real* b = body(dim, data, data.second[k], &h)
    cdef real way[MAX_DIM]
    cdef real impulse[MAX_DIM]
    cdef real across[MAX_DIM]
    cdef real mass = more[ALONG]
    cdef real gap, apart, speed, push, change, limit, square, time
    cdef real zero = 0
    cdef real sixteen = 16
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
    else:
        gap = soft * gap
        gap = gap if gap > -more[FASTEST] else -more[FASTEST]
        push = scale * (more[PUSH] - mass * (speed + gap)) + more[LOAD] * (one - scale)
    push = push if push > 0 else 0 * push
    if told and push > 0 and not more[MOST] > 0:
        time = apart / (zero - speed) if apart > 0 else zero
        limit = left - time if left - time > 0 else zero
        meets(dim, limit, zero - speed if speed < 0 else zero, time, k, data)
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


# Rods.

cdef inline real* rod(int dim, const Contacts* data, int64_t k, const real* like) noexcept nogil:
    """Its direction, and its length now."""
    return <real*> data.rod + (dim + 1) * k


cdef inline void begin_rods(int dim, const Contacts* data, const real* like) noexcept nogil:
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* pull = <const real*> data.pull[1 - data.state[0]]
    cdef real impulse[MAX_DIM]
    cdef real* own
    cdef real* a
    cdef real* b
    cdef real zero = 0
    cdef int64_t k
    cdef int c
    for k in range(data.rods):
        own = rod(dim, data, k, like)
        a = body(dim, data, data.rod_first[k], like)
        b = body(dim, data, data.rod_second[k], like)
        for c in range(dim):
            own[c] = b[dim + c] - a[dim + c]
        own[dim] = root(dot(dim, own, own))
        for c in range(dim):
            own[c] = own[c] / own[dim] if own[dim] > 0 else zero * own[c]
            impulse[c] = pull[data.number[k]] * own[c]
        apply(dim, a, b, weight[data.rod_first[k]], weight[data.rod_second[k]], impulse)


cdef inline void solve_rods(bint push, int dim, real h, real soft, real scale, const Contacts* data) noexcept nogil:
    """push: are lengths put right, too? Then those with compliance are springs; they keep what they have else."""
    cdef const real* weight = <const real*> data.grid.weight
    cdef const real* compliance = <const real*> data.compliance
    cdef const real* length = <const real*> data.length
    cdef real* pull = <real*> data.pull[1 - data.state[0]]
    cdef real way[MAX_DIM]
    cdef real* own
    cdef real* a
    cdef real* b
    cdef real total, speed, change, give, w_a, w_b
    cdef int64_t sweep, turn, k, number
    cdef int c
    for sweep in range(data.sweeps):
        for turn in range(data.rods):
            k = turn if sweep % 2 == 0 else data.rods - 1 - turn
            if not push and compliance[k] > 0:
                continue
            number = data.number[k]
            own = rod(dim, data, k, &h)
            a = body(dim, data, data.rod_first[k], &h)
            b = body(dim, data, data.rod_second[k], &h)
            w_a = weight[data.rod_first[k]]
            w_b = weight[data.rod_second[k]]
            total = w_a + w_b
            for c in range(dim):
                way[c] = b[c] - a[c]
            speed = dot(dim, way, own)
            if compliance[k] > 0:
                give = compliance[k] / (h * h)
                change = (speed + (own[dim] - length[k]) / h + give * pull[number]) / (total + give)
            elif push:
                change = (speed + soft * (own[dim] - length[k])) / total
            else:
                change = speed / total
            if push and not compliance[k] > 0:
                change = pull[number] - scale * (pull[number] - change)
            pull[number] = pull[number] - change
            for c in range(dim):
                way[c] = -change * own[c]
            apply(dim, a, b, w_a, w_b, way)


# The end of the step.

cdef inline real carried(const real* more, real substeps) noexcept nogil:
    """The load that a contact does not give way to from the next step on."""
    cdef real ten = 10
    cdef real heavy = more[PUSH] - ten * more[MASS] * more[SLOW] / substeps
    heavy = heavy if heavy > 0 and more[FRICTION] > 0 else 0 * heavy
    return more[LOAD] + (<real> 0.9 * heavy - more[LOAD]) / <real> 24


cdef inline void finish(
    int dim, real full, int64_t n, int64_t count, int64_t stride, real* x, real* v, real* s, const Contacts* data,
) noexcept nogil:
    """Bodies that have touched something are where they came to; and the impulses are kept for the next step."""
    cdef const real* weight = <const real*> data.grid.weight
    cdef int place = 1 - <int> data.state[0]
    cdef int32_t* pair = data.pair[place]
    cdef real* push = <real*> data.push[place]
    cdef const real* own
    cdef int64_t kept = 0
    cdef int64_t i, k
    cdef int c
    memset(data.touched, 0, n + data.faces)
    for k in range(count):
        if data.colour[k] == SENSED:
            continue
        own = contact(dim, data, data.place[k], x)
        if own[2 * dim + MOST] > 0:
            data.touched[data.one[k]] = 1
            data.touched[data.other[k]] = 1
        if own[2 * dim + PUSH] > 0:
            pair[2 * kept] = data.one[k]
            pair[2 * kept + 1] = data.other[k]
            push[kept * (2 + dim)] = own[2 * dim + PUSH]
            push[kept * (2 + dim) + 1] = carried(own + 2 * dim, <real> data.substeps)
            for c in range(dim):
                push[kept * (2 + dim) + 2 + c] = own[dim + c]
            kept += 1
    for k in range(data.rods):
        data.touched[data.rod_first[k]] = 1
        data.touched[data.rod_second[k]] = 1
    for i in range(n):
        if not (data.touched[i] and weight[i] > 0):
            continue
        own = body(dim, data, i, x)
        for c in range(dim):
            if s != NULL:
                s[c * stride + i] = own[dim + c] - full * own[c]
            x[c * stride + i] = own[dim + c]
            v[c * stride + i] = own[c]
    data.state[1 + place] = kept
