# Steps in which many bodies are pushed at once: each stage sweeps over them before the next begins.
#
# The registers of schemes.pxd are planes of many bodies here: of a tile, or of all. A plane is as many
# numbers as a room says, a whole number of lanes, so that sweeps need not mind where the bodies end.

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from .abi.registers cimport A, OUT, P, Q, S, V, X, Y, Z
from .lanes cimport lane, width
from .plan cimport (
    ALTERNATE, DRIFT_KICK, EXPLICIT_EULER, GROOT_WARREN, HEUN, KICK_DRIFT, MIDPOINT, RK4, VELOCITY_VERLET,
    Job, Plan,
)
from .planes cimport aligned
from .schemes cimport damp, has_opening, opening, stage, stages, start
from .sweptplan cimport INTERRUPTED, UNSOLVED, Push, Sweep
from .terms cimport affine, field_lane, values
from .traits cimport keeps, verlet

# The registers of so many bodies. A step is made from the state in `now`, in `next`, which becomes `now` when
# it is complete: until then the last completed step is there to go back to. A tile on its own has one for both.
ctypedef struct Room:
    char* now           # X, V and S
    char* next
    char* start         # the others, from P on
    Py_ssize_t first, count
    Py_ssize_t plane    # numbers from a component to the next
    Py_ssize_t row      # and from a register to the next

cdef enum:              # what a sweep does with the accelerations, where it is not the work of a stage (from 0)
    START = -2          # fills the history
    KEEP = -1           # leaves them for the opening of the next step


cdef inline Py_ssize_t size(const Room* room, const lane* like) noexcept nogil:
    """Of a register, in bytes."""
    return room.row * <Py_ssize_t> sizeof(lane) // width(like)


cdef inline char* out_register(const Room* room, int number, const lane* like) noexcept nogil:
    return room.start + (OUT - P + number) * size(room, like)


cdef inline int push(
    const Sweep* sweep, Job* job, const Room* room, const char* state, double t, lane* like,
) noexcept nogil:
    """Evaluate all pushes at a state; other than 0 where one fails."""
    cdef const Push* term
    cdef char* out
    cdef int number
    job.evaluations += 1
    for number in range(sweep.pushes):
        term = &sweep.push[number]
        out = out_register(room, number, like)
        memset(out, 0, sweep.plan.dim * room.plane * <Py_ssize_t> sizeof(lane) // width(like))
        job.code = term.function(
            t, room.first, room.count, sweep.plan.dim, room.plane,
            state + X * size(room, like), state + V * size(room, like), out, term.data,
        )
        if job.code != 0:
            job.failed_push = number
            return job.code
    return 0


cdef inline lane pushed(
    const Sweep* sweep, Py_ssize_t body, const lane* out, Py_ssize_t row, lane a,
) noexcept nogil:
    """a += out / m, or out times 0 for bodies that nothing moves, for each push."""
    cdef int number
    for number in range(sweep.pushes):
        a = a + field_lane(&sweep.push[number].factor, 0, body, out) * out[number * row]
    return a


cdef inline void finish(
    int number, int scheme, const Sweep* sweep, const Room* room, const char* state, lane* like,
) noexcept nogil:
    """The accelerations of all bodies at a state, pushes included, and what a step makes of them."""
    if sweep.plan.terms > 0:
        sweep.plan.accelerate(
            sweep.plan, room.first, room.count, room.plane, state + X * size(room, like), state + V * size(room, like),
            room.start + (A - P) * size(room, like),
        )
    if number == KEEP:
        finish_scheme(KEEP, 0, sweep, room, state, like)
    elif number == START:
        finish_scheme(START, scheme, sweep, room, state, like)
    elif scheme == EXPLICIT_EULER:
        finish_scheme(number, EXPLICIT_EULER, sweep, room, state, like)
    elif scheme == KICK_DRIFT:
        finish_scheme(number, KICK_DRIFT, sweep, room, state, like)
    elif scheme == DRIFT_KICK:
        finish_scheme(number, DRIFT_KICK, sweep, room, state, like)
    elif scheme == MIDPOINT:
        finish_scheme(number, MIDPOINT, sweep, room, state, like)
    elif scheme == HEUN:
        finish_scheme(number, HEUN, sweep, room, state, like)
    elif scheme == RK4:
        finish_scheme(number, RK4, sweep, room, state, like)
    elif scheme == VELOCITY_VERLET:
        finish_scheme(number, VELOCITY_VERLET, sweep, room, state, like)
    elif scheme == GROOT_WARREN:
        finish_scheme(number, GROOT_WARREN, sweep, room, state, like)
    else:
        finish_scheme(number, scheme, sweep, room, state, like)


cdef inline void finish_scheme(
    int number, int scheme, const Sweep* sweep, const Room* room, const char* state, lane* like,
) noexcept nogil:
    cdef const Plan* plan = sweep.plan
    cdef const lane* from_ = <const lane*> state
    cdef lane* to = <lane*> room.next
    cdef lane* r = <lane*> room.start
    cdef const lane* k = aligned(plan.prepared, like)
    cdef Py_ssize_t plane = room.plane // width(like)
    cdef Py_ssize_t row = room.row // width(like)
    cdef Py_ssize_t lanes = (room.count + width(like) - 1) // width(like)
    cdef Py_ssize_t i, n, body
    cdef int j
    cdef lane a, x, v, s
    # The usual case, gravity and one push, is read from here: compilers must take it that what is
    # stored may be a pointer of the plan.
    cdef bint compiled = plan.terms > 0
    cdef bint plain = not (compiled or plan.drag or plan.spring)
    cdef bint drag = plan.velocity_dependent
    cdef bint historic = plan.s.data != NULL
    cdef int iterations = plan.iterations
    cdef const char* g
    cdef Py_ssize_t each = plan.g.body * width(like)
    cdef bint single = sweep.pushes == 1
    cdef const char* factor = NULL
    cdef Py_ssize_t every = 0
    if single:
        factor = values(&sweep.push[0].factor, 0, room.first)
        every = sweep.push[0].factor.body * width(like)
    for j in range(plan.dim):
        g = values(&plan.g, j, room.first)
        for n in range(lanes):
            i = j * plane + n
            body = room.first + n * width(like)
            x = from_[X * row + i]
            v = from_[V * row + i]
            if plain:
                a = (<const lane*> (g + n * each))[0]
            elif compiled:
                a = r[(A - P) * row + i]
            else:
                a = affine(
                    plan.drag, plan.wind, plan.spring, x, v,
                    field_lane(&plan.g, j, body, like), field_lane(&plan.c, j, body, like),
                    field_lane(&plan.w, j, body, like), field_lane(&plan.k, j, body, like),
                    field_lane(&plan.p, j, body, like),
                )
            if single:
                a = a + (<const lane*> (factor + n * every))[0] * r[(OUT - P) * row + i]
            else:
                a = pushed(sweep, body, r + (OUT - P) * row + i, row, a)
            if number == KEEP:
                r[i] = a
                continue
            s = from_[S * row + i] if historic else x
            if number == START:
                start(scheme, plan.taylor_start, k, a, &x, &v, &s)
            else:
                stage(
                    scheme, drag, number, iterations, k, k, k, k, k, a, &x, &v, &s,
                    &r[i], &r[(Q - P) * row + i], &r[(Y - P) * row + i], &r[(Z - P) * row + i],
                )
            to[X * row + i] = x
            to[V * row + i] = v
            if historic:
                to[S * row + i] = s


cdef inline void between(
    bint after, int scheme, const Plan* plan, const Room* room, const char* state, lane* like,
) noexcept nogil:
    """What a step does before its first evaluation, or after its last."""
    cdef const lane* from_ = <const lane*> state
    cdef lane* to = <lane*> room.next
    cdef lane* r = <lane*> room.start
    cdef const lane* k = aligned(plan.prepared, like)
    cdef Py_ssize_t plane = room.plane // width(like)
    cdef Py_ssize_t row = room.row // width(like)
    cdef bint historic = plan.s.data != NULL
    cdef Py_ssize_t i, n
    cdef int j
    cdef lane x, v, s
    for j in range(plan.dim):
        for n in range((room.count + width(like) - 1) // width(like)):
            i = j * plane + n
            x = from_[X * row + i]
            v = from_[V * row + i]
            s = from_[S * row + i] if historic else x
            if after:
                damp(scheme, field_lane(&plan.decay, j, room.first + n * width(like), like), &x, &v, &s)
            else:
                opening(scheme, k, &x, &v, &s, &r[i], &r[(Q - P) * row + i])
            to[X * row + i] = x
            to[V * row + i] = v
            if historic:
                to[S * row + i] = s


cdef inline int swept_step(const Sweep* sweep, Job* job, Py_ssize_t step, const Room* room, lane* like) noexcept nogil:
    """One step by sweeps, from `now` to `next`; other than 0 where a push fails."""
    cdef const Plan* plan = sweep.plan
    cdef const char* state = room.now
    cdef int64_t tick = job.tick + step
    cdef int scheme = plan.scheme
    cdef bint drag = plan.velocity_dependent
    cdef double t = sweep.origin + (tick - sweep.origin_tick) * plan.h  # `_time_of(tick)` of base.py
    cdef double after
    cdef int number
    if scheme == ALTERNATE:
        scheme = KICK_DRIFT if tick % 2 == 0 else DRIFT_KICK
    # One loop for all that is evaluated, so that compilers inline the sweeps once.
    for number in range(START, stages(scheme, drag, plan)):
        after = 0
        if number == START and not (step == 0 and job.start):
            continue
        # What holds move is pushed otherwise.
        if number == KEEP and not (keeps(scheme, drag) and (step == 0 or sweep.holds > 0)):
            continue
        if number == 0 and has_opening(scheme, drag):
            between(False, scheme, plan, room, state, like)
            state = room.next
        if number >= 0 and not (plan.scheme == ALTERNATE and scheme == KICK_DRIFT):
            after = sweep.after[number]
        if push(sweep, job, room, state, t + after, like) != 0:
            return job.code
        finish(number, scheme, sweep, room, state, like)
        if number != KEEP:
            state = room.next
    if plan.damped:
        between(True, scheme, plan, room, state, like)
    return 0


cdef inline int lone_step(const Sweep* sweep, Job* job, Py_ssize_t step, const Room* room, lane* like) noexcept nogil:
    """One step of bodies that meet in constraints only; other than 0 where it cannot be solved."""
    cdef const Plan* plan = sweep.plan if room.next == sweep.room else sweep.plan + 1
    cdef Job lone = job[0]
    lone.steps = 1
    lone.tick = job.tick + step
    lone.start = job.start and step == 0
    memcpy(room.next, room.now, (3 if plan.s.data != NULL else 2) * size(room, like))
    plan.run(plan, &lone)
    if lone.failed_step == 1:
        job.evaluations += lone.evaluations
        return 0
    job.failed_body = lone.failed_body
    job.residual = lone.residual
    return UNSOLVED


cdef inline int hold(const Sweep* sweep, Job* job, const Room* room, lane* like) noexcept nogil:
    """The constraints, in their order."""
    cdef const Plan* plan = sweep.plan
    cdef char* s = room.next + S * size(room, like) if verlet(plan.scheme) else NULL
    cdef const lane* old = <const lane*> (room.now + V * size(room, like))
    cdef const lane* v = <const lane*> (room.next + V * size(room, like))
    cdef lane* gain = <lane*> sweep.gain
    cdef Py_ssize_t i
    cdef int number
    if sweep.holds > 0:
        for i in range(plan.dim * room.plane // width(like)):
            gain[i] = v[i] - old[i]
    for number in range(sweep.holds):
        job.code = sweep.hold[number].function(
            sweep.hold[number].kind, plan.h, plan.n, plan.dim, room.plane, room.now + X * size(room, like), sweep.gain,
            room.next + X * size(room, like), room.next + V * size(room, like), s, sweep.hold[number].data,
        )
        if job.code != 0:
            return job.code
    return 0


cdef inline Py_ssize_t advance(const Sweep* sweep, Job* job, Room* room, lane* like) noexcept nogil:
    """Steps of the job until one fails; returns how many were completed."""
    cdef Py_ssize_t step
    for step in range(job.steps):
        job.done = step
        if sweep.implicit != NULL:
            job.code = sweep.implicit(sweep, job, step, room)
        elif sweep.pushes > 0 or sweep.room == NULL:
            job.code = swept_step(sweep, job, step, room, like)
        else:
            job.code = lone_step(sweep, job, step, room, like)
        if job.code == 0:
            job.code = hold(sweep, job, room, like)
        if job.code != 0:
            return step
        room.now, room.next = room.next, room.now
        if sweep.look != NULL and (step + 1) % sweep.patience == 0 and sweep.look(sweep.owner):
            job.code = INTERRUPTED
            return step + 1
    return job.steps
