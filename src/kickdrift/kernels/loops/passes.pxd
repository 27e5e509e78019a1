# Steps in which many bodies are pushed at once: each stage sweeps over them before the next begins.
#
# The registers of steps.pxd are planes of many bodies here: of a tile, or of all. A plane is as many
# numbers as a room says, a whole number of vectors, so that sweeps need not mind where the bodies end.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..abi.registers cimport A, OUT, P, S, V, X
from ..abi.workspace cimport KEEP, START, Room
from ..abi.constraints cimport (
    COMPLIANT_DISTANCE, CONTACTS, DISTANCE, PERIODIC, Contacts, Distance, Each, Hold, Periodic, Wall,
)
from ..simd.vec cimport vec, width
from ..abi.plan cimport ALTERNATE, DAMPING, DRIFT_KICK, KICK_DRIFT, OPENING, TURNING, VELOCITY_VERLET, Job, Plan
from ..integrators.steps cimport has_opening, stages, start
from ..noise cimport stir
from .living cimport any_of
from .planes cimport aligned
from .stages cimport size
from ..abi.coupled cimport INTERRUPTED, UNSOLVED, NoisyFunction, Push, PushFunction, Sweep
from ..integrators.traits cimport fsal, verlet


cdef inline char* out_register(const Room* room, int number, const vec* like) noexcept nogil:
    return room.start + (OUT - P + number) * size(room, like)


cdef inline int evaluate_push(
    const Push* term, PushFunction function, void* data, double t, int64_t tick, const Room* room, int dim,
    const void* x, const void* v, void* out,
) noexcept nogil:
    """A function of a push, told the tick where it has noise."""
    if term.noisy:
        return (<NoisyFunction> function)(t, room.first, room.count, dim, room.plane, x, v, out, data, tick)
    return function(t, room.first, room.count, dim, room.plane, x, v, out, data)


cdef inline int push(
    const Sweep* sweep, Job* job, const Room* room, const char* state, double t, int64_t tick, vec* like,
) noexcept nogil:
    """Evaluate all pushes at a state; other than 0 where one fails. tick: that of the noise."""
    cdef const Push* term
    cdef char* out
    cdef Py_ssize_t vectors = (room.count + width(like) - 1) // width(like)
    cdef int number, j
    job.evaluations += 1
    for number in range(sweep.pushes):
        term = &sweep.push[number]
        out = out_register(room, number, like)
        for j in range(sweep.plan.dim):
            memset(out + j * room.plane * <Py_ssize_t> sizeof(vec) // width(like), 0, vectors * sizeof(vec))
        job.code = evaluate_push(
            term, term.function, term.data, t, tick, room, sweep.plan.dim,
            state + X * size(room, like), state + V * size(room, like), out,
        )
        if job.code != 0:
            job.failed_push = number
            return job.code
    return 0


cdef inline void finish(
    int number, int scheme, const Sweep* sweep, const Room* room, const char* state, vec* like,
) noexcept nogil:
    """The accelerations of all bodies at a state, pushes included, and what a step makes of them."""
    if sweep.plan.terms > 0:
        sweep.plan.accelerate(
            sweep.plan, room.first, room.count, room.plane, state + X * size(room, like), state + V * size(room, like),
            room.start + (A - P) * size(room, like),
        )
    sweep.plan.finish(number, scheme, sweep, room, state)


cdef inline int swept_step(const Sweep* sweep, Job* job, Py_ssize_t step, const Room* room, vec* like) noexcept nogil:
    """One step by sweeps, from `now` to `next`; other than 0 where a push fails."""
    cdef const Plan* plan = sweep.plan
    cdef const char* state = room.now
    cdef int64_t tick = job.tick + step
    cdef int scheme = plan.scheme
    cdef bint drag = plan.velocity_dependent
    cdef double t = sweep.origin + (tick - sweep.origin_tick) * plan.h  # `_time_of(tick)` of base.py
    cdef double after
    cdef int64_t ticks
    cdef bint keeps_nothing = sweep.holds > 0 and not sweep.wraps_early
    cdef int number
    if scheme == ALTERNATE:
        scheme = KICK_DRIFT if tick % 2 == 0 else DRIFT_KICK
    if job.begin and step == 0 and any_of(plan.living.young + room.first, room.count):
        if push(sweep, job, room, state, t, tick, like) != 0:
            return job.code
        finish(KEEP, 0, sweep, room, state, like)
        if room.next != room.now:
            memcpy(room.next, room.now, 3 * size(room, like))
            state = room.next
        begin_young(plan, room, like)
    # One loop for all that is evaluated, so that compilers inline the sweeps once.
    for number in range(START, stages(scheme, drag, plan)):
        after, ticks = 0, 0
        if number == START and not (step == 0 and job.start):
            continue
        # What holds move is pushed otherwise.
        if number == KEEP and not (fsal(scheme, drag) and (step == 0 or keeps_nothing)):
            continue
        if number == 0 and plan.turned:
            plan.between(TURNING, scheme, plan, room, state, NULL, NULL)
            state = room.next
        if number == 0 and has_opening(scheme, drag):
            plan.between(OPENING, scheme, plan, room, state, NULL, NULL)
            state = room.next
            if sweep.noise != NULL and scheme == VELOCITY_VERLET and not drag:
                stir(sweep, room, tick, True, like)
            if sweep.wraps_early:
                put_back(sweep, room, like)
        if number >= 0 and not (plan.scheme == ALTERNATE and scheme == KICK_DRIFT):
            after, ticks = sweep.after[number], sweep.ticks[number]
        if push(sweep, job, room, state, t + after, tick + ticks, like) != 0:
            return job.code
        finish(number, scheme, sweep, room, state, like)
        if number != KEEP:
            state = room.next
    if plan.turned:
        plan.between(TURNING, scheme, plan, room, room.next, NULL, NULL)
    if sweep.noise != NULL and not (scheme == VELOCITY_VERLET and not drag):
        stir(sweep, room, tick, False, like)
    if plan.damped and sweep.holds == 0:
        plan.between(DAMPING, scheme, plan, room, state, NULL, NULL)
    return 0


cdef inline void put_back(const Sweep* sweep, const Room* room, vec* like) noexcept nogil:
    """The only constraint, a periodic box, before the last evaluation of a step, which serves the next one too."""
    cdef char* s = room.next + S * size(room, like) if verlet(sweep.plan.scheme) else NULL
    sweep.hold[0].function(
        sweep.hold[0].kind, sweep.plan.h, sweep.plan.n, sweep.plan.dim, room.plane, NULL, NULL,
        room.next + X * size(room, like), room.next + V * size(room, like), s, sweep.hold[0].data, sweep.owner,
    )


cdef inline void begin_young(const Plan* plan, const Room* room, vec* like) noexcept nogil:
    """Fill the history of those that were born after the last step, whose accelerations are kept."""
    cdef vec* x = <vec*> (room.next + X * size(room, like))
    cdef vec* v = <vec*> (room.next + V * size(room, like))
    cdef vec* s = <vec*> (room.next + S * size(room, like))
    cdef const vec* a = <const vec*> room.start
    cdef const vec* k = aligned(plan.prepared, like)
    cdef const uint8_t* young = plan.living.young + room.first
    cdef Py_ssize_t w = width(like)
    cdef Py_ssize_t size_ = sizeof(vec) // w
    cdef Py_ssize_t n, i, lane
    cdef vec y, u, t
    cdef int j
    for j in range(plan.dim):
        for n in range((room.count + w - 1) // w):
            if not any_of(young + n * w, w):
                continue
            i = j * room.plane // w + n
            y, u, t = x[i], v[i], s[i]
            start(plan.scheme, plan.taylor_start, k, a[i], &y, &u, &t)
            for lane in range(w):
                if young[n * w + lane]:
                    memcpy(<char*> (v + i) + lane * size_, <char*> &u + lane * size_, size_)
                    memcpy(<char*> (s + i) + lane * size_, <char*> &t + lane * size_, size_)


cdef inline const Plan* plan_of(const Sweep* sweep, const char* state) noexcept nogil:
    """The plan of all bodies as one tile whose state is here: there is one for each of the two places."""
    return sweep.plan if state == sweep.room else sweep.plan + 1


cdef inline int lone_step(const Sweep* sweep, Job* job, Py_ssize_t step, const Room* room, vec* like) noexcept nogil:
    """One step of bodies that meet in constraints only; other than 0 where it cannot be solved."""
    # This job's own.
    cdef Plan* plan = <Plan*> plan_of(sweep, room.next)
    cdef bint damped = plan.damped
    cdef Job lone = job[0]
    lone.steps = 1
    lone.before = NULL
    lone.tick = job.tick + step
    lone.start = job.start and step == 0
    lone.begin = job.begin and step == 0
    memcpy(room.next, room.now, (3 if plan.s.data != NULL else 2) * size(room, like))
    plan.damped = False  # that comes after the constraints
    plan.run(plan, &lone, like)
    plan.damped = damped
    if lone.failed_step == 1:
        job.evaluations += lone.evaluations
        return 0
    job.failed_body = lone.failed_body
    job.residual = lone.residual
    return UNSOLVED


cdef inline const void* of_tile(
    const Hold* hold, Py_ssize_t first, Wall* there, Periodic* box, const vec* like,
) noexcept nogil:
    """What a constraint reads, for bodies from one on: of tiles but the first, these are walls and periodic boxes."""
    cdef Py_ssize_t offset = first * <Py_ssize_t> sizeof(vec) // width(like)
    if first == 0:
        return hold.data
    if hold.kind == PERIODIC:
        box[0] = (<const Periodic*> hold.data)[0]
        box.weight = <const char*> box.weight + offset
        return box
    there[0] = (<const Wall*> hold.data)[0]
    move_on(&there.restitution, offset)
    move_on(&there.friction, offset)
    move_on(&there.radius, offset)
    there.weight = <const char*> there.weight + offset
    return there


cdef inline void move_on(Each* values, Py_ssize_t offset) noexcept nogil:
    values.number = <const char*> values.number + values.body * offset


cdef inline int hold(const Sweep* sweep, Job* job, Py_ssize_t step, const Room* room, vec* like) noexcept nogil:
    """The constraints, in their order, what they tell, and then damping."""
    cdef const Plan* plan = sweep.plan
    cdef char* s = room.next + S * size(room, like) if verlet(plan.scheme) else NULL
    cdef const vec* old = <const vec*> (room.now + V * size(room, like))
    cdef const vec* v = <const vec*> (room.next + V * size(room, like))
    cdef vec* gain = <vec*> room.gain
    cdef Wall wall
    cdef Periodic box
    cdef const vec* at_rest = NULL
    cdef Py_ssize_t i
    cdef int number
    if sweep.holds > 0:
        for i in range(plan.dim * room.plane // width(like)):
            gain[i] = v[i] - old[i]
    for number in range(sweep.holds):
        job.code = sweep.hold[number].function(
            sweep.hold[number].kind, plan.h, room.count if sweep.room == NULL else plan.n, plan.dim, room.plane,
            room.now + X * size(room, like), room.gain, room.next + X * size(room, like),
            room.next + V * size(room, like), s,
            of_tile(&sweep.hold[number], room.first, &wall, &box, like), sweep.owner,
        )
        if job.code != 0:
            job.failed_push = number
            break
        if sweep.hold[number].kind == DISTANCE or sweep.hold[number].kind == COMPLIANT_DISTANCE:
            at_rest = <const vec*> (<const Distance*> sweep.hold[number].data).at_rest
    if sweep.log != NULL:
        sweep.log.tick = job.tick + step + 1
        sweep.log.time = sweep.origin + (sweep.log.tick - sweep.origin_tick) * plan.h
        sweep.log.h = plan.h
        sweep.tell(
            job.code == 0, sweep.holds, sweep.hold, plan.n, plan.dim, room.plane,
            room.next + X * size(room, like), sweep.log,
        )
    if job.code != 0:
        return job.code
    if sweep.holds > 0 and plan.damped:
        plan.between(DAMPING, plan.scheme, plan, room, room.next, at_rest, gain)
    for number in range(sweep.holds):
        if sweep.hold[number].kind == CONTACTS:
            # The step is done, and nothing goes back before it: the next begins with the impulses of this one.
            remember(<const Contacts*> sweep.hold[number].data)
    return 0


cdef inline void remember(const Contacts* contacts) noexcept nogil:
    contacts.state[0] = 1 - contacts.state[0]


cdef inline Py_ssize_t advance(const Sweep* sweep, Job* job, Room* room, vec* like) noexcept nogil:
    """Steps of the job until one fails; returns how many were completed."""
    cdef Py_ssize_t step
    for step in range(job.steps):
        job.done = step
        if sweep.implicit != NULL:
            job.code = sweep.implicit(sweep, job, step, room, like)
        elif sweep.pushes > 0 or sweep.room == NULL:
            job.code = swept_step(sweep, job, step, room, like)
        else:
            job.code = lone_step(sweep, job, step, room, like)
        if job.code == 0:
            job.code = hold(sweep, job, step, room, like)
        if job.code != 0:
            return step
        room.now, room.next = room.next, room.now
        if sweep.look != NULL and (step + 1) % sweep.patience == 0 and sweep.look(sweep.owner):
            job.code = INTERRUPTED
            return step + 1
    return job.steps
