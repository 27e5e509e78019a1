# Contact solver sweeps, a block of contacts at once: the formulas of kickdrift/reference/constraints/contact.py.
#
# Contacts of a block share no movable body, so each reads the velocities that it would read alone. Where the formulas
# branch, both results are computed, and each lane selects one. Numbers of lanes without an impulse are not changed.

from libc.stdint cimport int32_t, int64_t

from .contact_state cimport (
    ACROSS, ALONG, ARM, EASE, FASTEST, FIRST_WEIGHT, FRICTION, IMPULSIVE, INERTIA, LOAD, MASS, MOST, PULL, PUSH,
    RESTITUTION, ROLLING, SECOND_ARM, SECOND_EASE, SECOND_TURN, SECOND_WEIGHT, SHAPE_SPIN, SHARE, SIZE, SLOW, SPEED,
    TIMES, TURN, TURNS, group_of, speed_at_touch,
)
from .friction cimport axes_of, cross_impulses, cross_normals, limit_frictions
from .contact_events cimport record_impacts
from ..abi.constraints cimport (
    ALL_CONTACTS, BEGIN, CONTACT, DELTA_V, IMPULSIVE_ONES, RESUME, SOLVE, SPIN, TRAITS, TWIST, Contacts, Sweep,
)
from ..abi.plan cimport MAX_DIM
from ..simd.rows cimport gather_four, put_back, scatter_four, scatter_two
from ..simd.masks cimport all_zero, any_true, equals_zero, greater, select
from ..simd.vec cimport f32vec, filled, lane_of, product, set_lane, vec, vec_root, width
from ..space cimport is_periodic, turn_to_images

cdef enum:
    HARD = 5            # factor of the push-out speed of deep contacts
    ROW = 8             # vectors of a body: velocity, then position

# Indices in `same`: vectors that are passed with each block of a sweep. All but CHOSEN are the same for all blocks.
cdef enum:
    H
    SOFT
    SCALE
    LEFT
    CHOSEN              # 1 in the lanes to be solved
    SAME


cdef inline bint press(
    const Contacts* data, const Sweep* sweep, int64_t first, int64_t last, const vec* like,
) noexcept nogil:
    """Sweep over blocks first to last; return True if SOLVE finds a deep contact, or a warm start an impulsive one."""
    cdef int64_t block
    cdef int c
    if sweep.kind == BEGIN:
        for block in range(first, last):
            begin(data, block, <vec*> data.contact + (2 * sweep.dim + CONTACT) * block + 2 * sweep.dim)
            if data.surface != NULL:
                for c in range(MAX_DIM):
                    (<vec*> data.surface + MAX_DIM * block)[c] = filled(0, like)
            if data.axes > 0:
                begin_twist(data, block, <vec*> data.twist + TWIST * block)
    if data.axes == 1:
        return press_in(2, True, data, sweep, first, last, like)
    if data.axes == 3:
        return press_in(3, True, data, sweep, first, last, like)
    if sweep.dim == 2:
        return press_in(2, False, data, sweep, first, last, like)
    if sweep.dim == 3:
        return press_in(3, False, data, sweep, first, last, like)
    return press_in(1, False, data, sweep, first, last, like)


cdef inline bint press_in(
    int dim, bint rotates, const Contacts* data, const Sweep* sweep, int64_t first, int64_t last, const vec* like,
) noexcept nogil:
    cdef vec same[SAME]
    cdef vec a[ROW]
    cdef vec b[ROW]
    cdef vec spin[ROW]      # angular velocities of the first body; from 4 on, of the second
    cdef vec impulse[MAX_DIM]
    cdef vec* own
    cdef vec* twist = NULL
    cdef vec active
    cdef vec zero = filled(0, like)
    cdef vec one = filled(1, like)
    cdef vec chosen = one
    cdef bint partial = sweep.extra or sweep.only != ALL_CONTACTS
    cdef int64_t turns = data.lanes if sweep.alone and sweep.kind != BEGIN else 1
    cdef int64_t block, turn
    cdef bint found = False
    same[H] = filled(sweep.h, like)
    same[SOFT] = filled(sweep.soft, like)
    same[SCALE] = filled(sweep.scale, like)
    same[LEFT] = filled(sweep.left, like)
    same[CHOSEN] = one
    for block in range(first, last):
        own = <vec*> data.contact + (2 * dim + CONTACT) * block
        if rotates:
            twist = <vec*> data.twist + TWIST * block
        if sweep.kind == RESUME and all_zero(own[2 * dim + PUSH]):
            continue
        if partial:
            same[CHOSEN] = chosen = lanes_of(sweep, own + 2 * dim)
            if all_zero(chosen):
                continue
        for turn in range(turns):
            if sweep.alone:
                same[CHOSEN] = zero
                set_lane(&same[CHOSEN], turn, lane_of(&chosen, turn))
                if all_zero(same[CHOSEN]):
                    continue
            gather(dim, data, data.first + block * width(like), a)
            gather(dim, data, data.second + block * width(like), b)
            if sweep.kind == SOLVE:
                active = solve(dim, rotates, data, sweep, block, same, own, twist, a, b, spin, impulse, &found)
            else:
                if sweep.kind != RESUME:
                    direct(dim, data, block, own, a + dim, b + dim)
                if sweep.kind == BEGIN:
                    collide(dim, data, block, own, a, b)
                    continue
                found = is_impulsive(own + 2 * dim) or found
                active = warm(dim, rotates, data, sweep, block, same, own, twist, spin, impulse)
            if not all_zero(active):
                separate(dim, active, own + 2 * dim, impulse, a, b)
                scatter(dim, data, sweep, data.first_row + block * width(like), turn, a)
                scatter(dim, data, sweep, data.second_row + block * width(like), turn, b)
                if rotates:
                    give_spin(dim, data, sweep, data.first_row + block * width(like), turn, spin)
                    give_spin(dim, data, sweep, data.second_row + block * width(like), turn, spin + 4)
    return found


cdef inline vec lanes_of(const Sweep* sweep, const vec* more) noexcept nogil:
    """Return 1 in the lanes of a block that the sweep solves, else 0."""
    cdef vec zero = filled(0, more)
    cdef vec one = filled(1, more)
    if sweep.extra:
        return select(greater(one, more[TIMES]), one, zero)
    return more[IMPULSIVE] if sweep.only == IMPULSIVE_ONES else one - more[IMPULSIVE]


cdef inline bint is_impulsive(vec* more) noexcept nogil:
    """Mark contacts whose warm-start impulse exceeds that of a sustained load (IMPULSIVE); return True if any does."""
    cdef vec zero = filled(0, more)
    more[IMPULSIVE] = select(greater(more[PUSH], filled(2, more) * more[MASS] * more[SLOW]), filled(1, more), zero)
    return not all_zero(more[IMPULSIVE])


# Load and store the states of bodies.

cdef inline void gather(int dim, const Contacts* data, const int32_t* index, vec* q) noexcept nogil:
    """Gather velocities and positions into ROW vectors, some of which are unused."""
    gather_four(data.body, 0, 2 * dim, index, q)
    if dim == 3:
        gather_four(data.body, 2, 6, index, q + 4)
        q[4], q[5] = q[6], q[7]


cdef inline void gather_spin(const Contacts* data, int64_t block, const vec* like, vec* spin) noexcept nogil:
    """Load the angular velocities of both bodies; called only if an impulse may change them, which saves many reads."""
    gather_four(data.spin, 0, SPIN, data.first + block * width(like), spin)
    gather_four(data.spin, 0, SPIN, data.second + block * width(like), spin + 4)


cdef inline void scatter(
    int dim, const Contacts* data, const Sweep* sweep, const int32_t* index, int64_t turn, const vec* q,
) noexcept nogil:
    """Scatter velocities to the rows of bodies."""
    cdef vec kept[MAX_DIM]
    cdef int c
    if sweep.alone:
        for c in range(dim):
            kept[c] = q[c]
        put_back(dim, data.body, 2 * dim * index[turn], turn, kept)
        return
    if dim == 3:
        scatter_four(data.body, 6, index, q)    # the fourth number is a position component, which has not changed
    else:
        scatter_two(data.body, 0, 2 * dim, index, q)


cdef inline void give_spin(
    int dim, const Contacts* data, const Sweep* sweep, const int32_t* index, int64_t turn, const vec* spin,
) noexcept nogil:
    """Scatter angular velocities to the rows of bodies, including unused numbers behind them."""
    cdef vec kept[MAX_DIM]
    cdef int c
    if sweep.alone:
        for c in range(axes_of(dim)):
            kept[c] = spin[c]
        put_back(axes_of(dim), data.spin, SPIN * index[turn], turn, kept)
        return
    if dim == 3:
        scatter_four(data.spin, SPIN, index, spin)
    else:
        scatter_two(data.spin, 0, SPIN, index, spin)


cdef inline void rotate(
    int dim, vec active, vec first, vec second, const vec* twist, vec* spin,
) noexcept nogil:
    """Subtract `first` and `second` times an angular momentum from the angular velocities, in active lanes."""
    cdef int c
    for c in range(axes_of(dim)):
        spin[c] = select(equals_zero(active), spin[c], spin[c] - first * twist[c])
        spin[4 + c] = select(equals_zero(active), spin[4 + c], spin[4 + c] - second * twist[c])


cdef inline void separate(
    int dim, vec active, const vec* more, const vec* impulse, vec* a, vec* b,
) noexcept nogil:
    """Apply the impulses in lanes where `active` is not 0."""
    cdef int c
    for c in range(dim):
        a[c] = select(equals_zero(active), a[c], a[c] - more[FIRST_WEIGHT] * impulse[c])
        b[c] = select(equals_zero(active), b[c], b[c] + more[SECOND_WEIGHT] * impulse[c])


# Initialise contacts between bodies. Those with walls and shapes are overwritten afterwards.

cdef inline void begin(const Contacts* data, int64_t block, vec* more) noexcept nogil:
    """Initialise the numbers of contacts that do not depend on positions."""
    cdef vec its[ROW]
    cdef vec zero = filled(0, more)
    cdef vec one = filled(1, more)
    gather_four(data.traits, 0, TRAITS, data.first + block * width(more), its)
    gather_four(data.traits, 0, TRAITS, data.second + block * width(more), its + 4)
    more[SIZE] = its[0] + its[4]
    more[FASTEST] = filled(2, more) * more[SIZE]
    more[FIRST_WEIGHT] = its[1]
    more[SECOND_WEIGHT] = its[5]
    more[MASS] = one / (its[1] + its[5])
    more[ALONG] = more[MASS]
    more[ACROSS] = more[MASS]
    more[FRICTION] = vec_root(its[2] * its[6])
    more[RESTITUTION] = select(greater(its[3], its[7]), its[3], its[7])
    more[TURNS] = one
    more[PUSH] = zero
    more[MOST] = zero
    more[LOAD] = zero
    more[PULL] = zero
    more[TIMES] = filled(1.12, more)
    more[IMPULSIVE] = zero


cdef inline void begin_twist(const Contacts* data, int64_t block, vec* twist) noexcept nogil:
    """Initialise the data of rotating bodies, also for contacts with walls."""
    cdef vec its[ROW]
    cdef vec zero = filled(0, twist)
    cdef vec one = filled(1, twist)
    cdef vec total, ease
    cdef int c
    gather_four(data.traits, 0, TRAITS, data.first + block * width(twist), its)
    gather_four(data.traits, 0, TRAITS, data.second + block * width(twist), its + 4)
    total = its[1] + its[5]
    gather_four(data.spin, 4, SPIN, data.first + block * width(twist), its)
    gather_four(data.spin, 4, SPIN, data.second + block * width(twist), its + 4)
    for c in range(MAX_DIM):
        twist[c] = zero
    twist[ARM], twist[SECOND_ARM] = its[0], its[4]
    twist[EASE], twist[SECOND_EASE] = its[1], its[5]
    twist[TURN], twist[SECOND_TURN] = its[0] * its[1], its[4] * its[5]
    twist[SHARE] = total / (total + (its[0] * twist[TURN] + its[4] * twist[SECOND_TURN]))
    twist[ROLLING] = select(greater(its[6], its[2]), its[6], its[2]) * select(greater(its[3], its[7]), its[7], its[3])
    ease = its[1] + its[5]
    twist[INERTIA] = select(greater(ease, zero), one / ease, ease)
    twist[SHAPE_SPIN] = zero


cdef inline void collide(
    int dim, const Contacts* data, int64_t block, vec* own, const vec* a, const vec* b,
) noexcept nogil:
    """Compute the approach speed before the step, and the resting threshold, which follows from the forces."""
    cdef vec* more = own + 2 * dim
    cdef vec its[ROW]
    cdef vec displacement[MAX_DIM]
    cdef int c
    for c in range(dim):
        displacement[c] = b[c] - a[c]
        own[dim + c] = filled(0, own)
    more[SPEED] = -product(dim, displacement, own)
    gather_four(data.traits, DELTA_V, TRAITS, data.first + block * width(own), its)
    gather_four(data.traits, DELTA_V, TRAITS, data.second + block * width(own), its + 4)
    more[SLOW] = magnitude(product(dim, its, own)) + magnitude(product(dim, its + 4, own))


cdef inline vec magnitude(vec q) noexcept nogil:
    return select(greater(filled(0, &q), q), -q, q)


# Warm start by the impulses of the last substep, along current normals.

cdef inline vec warm(
    int dim, bint rotates, const Contacts* data, const Sweep* sweep, int64_t block, const vec* same, vec* own,
    const vec* twist, vec* spin, vec* impulse,
) noexcept nogil:
    """Set the impulses to apply; return nonzero numbers in lanes that have an impulse."""
    cdef vec* more = own + 2 * dim
    cdef vec active = more[PUSH]
    cdef vec along, friction_impulse
    cdef vec turns[MAX_DIM]
    cdef int c
    if sweep.alone:
        active = select(equals_zero(same[CHOSEN]), same[CHOSEN], active)
    if all_zero(active):
        return active
    along = product(dim, own + dim, own)
    for c in range(dim):
        friction_impulse = own[dim + c] - along * own[c]
        own[dim + c] = select(equals_zero(active), own[dim + c], friction_impulse)
        impulse[c] = more[PUSH] * own[c] + friction_impulse
    if rotates:
        gather_spin(data, block, own, spin)
        rotate(dim, active, twist[EASE], -twist[SECOND_EASE], twist, spin)
        cross_impulses(dim, own, own + dim, turns)
        rotate(dim, active, twist[TURN], twist[SECOND_TURN], turns, spin)
    return active


cdef inline void direct(
    int dim, const Contacts* data, int64_t block, vec* own, const vec* a, const vec* b,
) noexcept nogil:
    """Update the normals of contacts between bodies; contacts with walls keep their normals.

    In a periodic box normals follow the minimum image, whose offset is added to the contact distance.
    """
    cdef vec* more = own + 2 * dim
    cdef vec d[MAX_DIM]
    cdef vec past[MAX_DIM]
    cdef vec zero = filled(0, own)
    cdef vec r
    cdef int64_t lane, k
    cdef int c
    for c in range(dim):
        d[c] = b[c] - a[c]
    if is_periodic(&data.grid.torus):
        for c in range(dim):
            past[c] = d[c]
        turn_to_images(dim, d, &data.grid.torus)
        for c in range(dim):
            past[c] = past[c] - d[c]
    r = vec_root(product(dim, d, d))
    for c in range(dim):
        own[c] = select(greater(more[TURNS], zero), d[c] / r, own[c])
    if any_true(greater(more[TURNS], select(greater(r, zero), filled(1, own), zero))):
        for lane in range(data.lanes):
            if lane_of(&more[TURNS], lane) > 0 and not lane_of(&r, lane) > 0:
                k = block * width(own) + lane
                for c in range(dim):
                    set_lane(&own[c], lane, c == <int> ((data.second[k] - data.first[k] - 1) % dim))
    if is_periodic(&data.grid.torus):
        r = filled(0.5, own) * more[FASTEST] + product(dim, past, own)
        more[SIZE] = select(greater(more[TURNS], zero), r, more[SIZE])


# Solve one impulse: the normal part prevents penetration, the tangential part is friction.

cdef inline vec solve(
    int dim, bint rotates, const Contacts* data, const Sweep* sweep, int64_t block, const vec* same, vec* own,
    vec* twist, const vec* a, const vec* b, vec* spin, vec* impulse, bint* deep,
) noexcept nogil:
    """Set the impulses to apply; return nonzero numbers in lanes that have one. deep: set if any contact is deep."""
    cdef vec* more = own + 2 * dim
    cdef vec displacement[MAX_DIM]
    cdef vec across[MAX_DIM]
    cdef vec zero = filled(0, own)
    cdef vec one = filled(1, own)
    cdef vec turns[MAX_DIM]
    cdef vec mass, gap, speed, push, change, out, fastest, active, rough
    cdef int c
    for c in range(dim):
        displacement[c] = b[dim + c] - a[dim + c]
    gap = product(dim, displacement, own) - more[SIZE]
    for c in range(dim):
        displacement[c] = b[c] - a[c]
        if data.surface != NULL:
            displacement[c] = displacement[c] + (<const vec*> data.surface + MAX_DIM * block)[c]
    speed = product(dim, displacement, own)
    mass = more[ALONG]
    if sweep.soft > 0:
        fastest = -more[FASTEST]
        if any_true(greater(fastest, filled(16, own) * gap)):
            deep[0] = True
            note_deep(data, block, select(greater(fastest, filled(16, own) * gap), one, zero))
        out = same[SOFT] * gap
        change = filled(HARD, own) * out
        change = select(greater(change + more[FASTEST], zero), one - change / more[FASTEST], filled(2, own))
        out = change * out
        out = select(greater(out, fastest), out, fastest)
        push = same[SCALE] * (more[PUSH] - mass * (speed + out)) + more[LOAD] * (one - same[SCALE])
    else:
        mass = select(greater(more[ALONG], more[MASS]), more[TIMES] * more[ALONG], more[ALONG])
        push = more[PUSH] - mass * speed
    if any_true(greater(gap, zero)):
        out = more[PUSH] - mass * (speed + gap / same[H])
        if not sweep.soft > 0:
            out = select(greater(more[MOST], zero), out, zero)
        push = select(greater(gap, zero), out, push)
    push = select(greater(push, zero), push, zero * push)
    active = select(greater(push, zero), select(greater(more[MOST], zero), zero, same[CHOSEN]), zero)
    if not all_zero(active):
        touch(data, sweep, active, gap, speed, more)
        if sweep.events:
            record_impacts(dim, data, block, active, gap, speed, same[LEFT])
    # Neither impulse is negative: the sum is 0 only where both are 0, and then nothing changes.
    active = push + more[PUSH]
    if sweep.alone or sweep.extra or sweep.only != ALL_CONTACTS:
        active = select(equals_zero(same[CHOSEN]), same[CHOSEN], active)
    if all_zero(active):
        return active
    change = push - more[PUSH]
    more[MOST] = select(equals_zero(active), more[MOST], select(greater(push, more[MOST]), push, more[MOST]))
    more[PUSH] = select(equals_zero(active), more[PUSH], push)
    for c in range(dim):
        impulse[c] = change * own[c]
    if rotates:
        gather_spin(data, block, own, spin)
    if rotates and any_true(greater(twist[ROLLING], zero)):
        resist(dim, active, push, twist, spin)
    if any_true(greater(more[FRICTION], zero)):
        for c in range(dim):
            across[c] = displacement[c] - speed * own[c]
        mass = more[ACROSS]
        if rotates:
            for c in range(axes_of(dim)):
                turns[c] = twist[ARM] * spin[c] + twist[SECOND_ARM] * spin[4 + c]
            cross_normals(dim, turns, own, displacement)
            for c in range(dim):
                across[c] = across[c] - displacement[c]
            mass = mass * twist[SHARE]
        for c in range(dim):
            across[c] = own[dim + c] - mass * across[c]
        limit_frictions(dim, across, more[FRICTION] * push)
        if rotates:
            for c in range(dim):
                displacement[c] = across[c] - own[dim + c]
            cross_impulses(dim, own, displacement, turns)
            rough = select(greater(more[FRICTION], zero), active, zero)
            rotate(dim, rough, twist[TURN], twist[SECOND_TURN], turns, spin)
        for c in range(dim):
            impulse[c] = select(greater(more[FRICTION], zero), impulse[c] + (across[c] - own[dim + c]), impulse[c])
            across[c] = select(greater(more[FRICTION], zero), across[c], own[dim + c])
            own[dim + c] = select(equals_zero(active), own[dim + c], across[c])
    return active


cdef inline void resist(int dim, vec active, vec push, vec* twist, vec* spin) noexcept nogil:
    """Apply rolling resistance to the angular velocities in `spin`."""
    cdef vec roll[MAX_DIM]
    cdef vec change[MAX_DIM]
    cdef vec zero = filled(0, twist)
    cdef vec resists = select(greater(twist[ROLLING], zero), active, zero)
    cdef int c
    for c in range(axes_of(dim)):
        roll[c] = twist[c] - twist[INERTIA] * ((spin[4 + c] + twist[SHAPE_SPIN]) - spin[c])
    limit_frictions(axes_of(dim), roll, twist[ROLLING] * push)
    for c in range(axes_of(dim)):
        change[c] = roll[c] - twist[c]
        twist[c] = select(equals_zero(resists), twist[c], roll[c])
    rotate(dim, resists, twist[EASE], -twist[SECOND_EASE], change, spin)


cdef inline void note_deep(const Contacts* data, int64_t block, vec deep) noexcept nogil:
    """Mark the islands of contacts in the lanes where `deep` > 0."""
    cdef int64_t lane
    for lane in range(data.lanes):
        if lane_of(&deep, lane) > 0:
            data.deep[group_of(block * width(&deep) + lane, data)] = 1


cdef inline void touch(
    const Contacts* data, const Sweep* sweep, vec newly, vec gap, vec speed, vec* more,
) noexcept nogil:
    """Store the approach speed of contacts that begin in the lanes where `newly` > 0."""
    cdef bint ahead = not sweep.soft > 0
    cdef int64_t lane
    cdef double met
    cdef float pull
    cdef double pull_double
    for lane in range(data.lanes):
        if lane_of(&newly, lane) > 0:
            if vec is f32vec:
                met = speed_at_touch(
                    <float> -lane_of(&speed, lane), <float> lane_of(&gap, lane), <float> sweep.h, <float> sweep.given,
                    <float> sweep.count, <float> sweep.behind, ahead, <float> lane_of(&more[SPEED], lane),
                    <float> lane_of(&more[SLOW], lane), &pull,
                )
                set_lane(&more[PULL], lane, pull)
            else:
                met = speed_at_touch(
                    -lane_of(&speed, lane), lane_of(&gap, lane), sweep.h, sweep.given, sweep.count, sweep.behind, ahead,
                    lane_of(&more[SPEED], lane), lane_of(&more[SLOW], lane), &pull_double,
                )
                set_lane(&more[PULL], lane, pull_double)
            set_lane(&more[SPEED], lane, met)
