# Steps in which many bodies are pushed at once: each stage sweeps over them before the next begins.
#
# The registers of steps.pxd are planes of many bodies here: of a tile, or of all. A plane is as many
# numbers as a room says, a whole number of vectors, so that sweeps need not mind where the bodies end.

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..abi.registers cimport A, OUT, P, S, V, X
from ..abi.workspace cimport KEEP, START, Room
from ..abi.constraints cimport COMPLIANT_DISTANCE, DISTANCE, Distance
from ..simd.vec cimport vec, width
from ..abi.plan cimport ALTERNATE, DRIFT_KICK, KICK_DRIFT, Job, Plan
from ..integrators.steps cimport has_opening, stages
from .stages cimport size
from ..abi.coupled cimport INTERRUPTED, UNSOLVED, Push, Sweep
from ..integrators.traits cimport fsal, verlet


cdef inline char* out_register(const Room* room, int number, const vec* like) noexcept nogil:
    return room.start + (OUT - P + number) * size(room, like)


cdef inline int push(
    const Sweep* sweep, Job* job, const Room* room, const char* state, double t, vec* like,
) noexcept nogil:
    """Evaluate all pushes at a state; other than 0 where one fails."""
    cdef const Push* term
    cdef char* out
    cdef int number
    job.evaluations += 1
    for number in range(sweep.pushes):
        term = &sweep.push[number]
        out = out_register(room, number, like)
        memset(out, 0, sweep.plan.dim * room.plane * <Py_ssize_t> sizeof(vec) // width(like))
        job.code = term.function(
            t, room.first, room.count, sweep.plan.dim, room.plane,
            state + X * size(room, like), state + V * size(room, like), out, term.data,
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
    cdef int number
    if scheme == ALTERNATE:
        scheme = KICK_DRIFT if tick % 2 == 0 else DRIFT_KICK
    # One loop for all that is evaluated, so that compilers inline the sweeps once.
    for number in range(START, stages(scheme, drag, plan)):
        after = 0
        if number == START and not (step == 0 and job.start):
            continue
        # What holds move is pushed otherwise.
        if number == KEEP and not (fsal(scheme, drag) and (step == 0 or sweep.holds > 0)):
            continue
        if number == 0 and has_opening(scheme, drag):
            plan.between(False, scheme, plan, room, state, NULL, NULL)
            state = room.next
        if number >= 0 and not (plan.scheme == ALTERNATE and scheme == KICK_DRIFT):
            after = sweep.after[number]
        if push(sweep, job, room, state, t + after, like) != 0:
            return job.code
        finish(number, scheme, sweep, room, state, like)
        if number != KEEP:
            state = room.next
    if plan.damped and sweep.holds == 0:
        plan.between(True, scheme, plan, room, state, NULL, NULL)
    return 0


cdef inline int lone_step(const Sweep* sweep, Job* job, Py_ssize_t step, const Room* room, vec* like) noexcept nogil:
    """One step of bodies that meet in constraints only; other than 0 where it cannot be solved."""
    # One of the two in the room, which are this job's own.
    cdef Plan* plan = <Plan*> (sweep.plan if room.next == sweep.room else sweep.plan + 1)
    cdef bint damped = plan.damped
    cdef Job lone = job[0]
    lone.steps = 1
    lone.tick = job.tick + step
    lone.start = job.start and step == 0
    memcpy(room.next, room.now, (3 if plan.s.data != NULL else 2) * size(room, like))
    plan.damped = False  # that comes after the constraints
    plan.run(plan, &lone)
    plan.damped = damped
    if lone.failed_step == 1:
        job.evaluations += lone.evaluations
        return 0
    job.failed_body = lone.failed_body
    job.residual = lone.residual
    return UNSOLVED


cdef inline int hold(const Sweep* sweep, Job* job, Py_ssize_t step, const Room* room, vec* like) noexcept nogil:
    """The constraints, in their order, what they tell, and then damping."""
    cdef const Plan* plan = sweep.plan
    cdef char* s = room.next + S * size(room, like) if verlet(plan.scheme) else NULL
    cdef const vec* old = <const vec*> (room.now + V * size(room, like))
    cdef const vec* v = <const vec*> (room.next + V * size(room, like))
    cdef vec* gain = <vec*> sweep.gain
    cdef const vec* at_rest = NULL
    cdef Py_ssize_t i
    cdef int number
    if sweep.holds > 0:
        for i in range(plan.dim * room.plane // width(like)):
            gain[i] = v[i] - old[i]
    for number in range(sweep.holds):
        job.code = sweep.hold[number].function(
            sweep.hold[number].kind, plan.h, plan.n, plan.dim, room.plane, room.now + X * size(room, like), sweep.gain,
            room.next + X * size(room, like), room.next + V * size(room, like), s, sweep.hold[number].data,
            sweep.owner,
        )
        if job.code != 0:
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
        plan.between(True, plan.scheme, plan, room, room.next, at_rest, gain)
    return 0


cdef inline Py_ssize_t advance(const Sweep* sweep, Job* job, Room* room, vec* like) noexcept nogil:
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
            job.code = hold(sweep, job, step, room, like)
        if job.code != 0:
            return step
        room.now, room.next = room.next, room.now
        if sweep.look != NULL and (step + 1) % sweep.patience == 0 and sweep.look(sweep.owner):
            job.code = INTERRUPTED
            return step + 1
    return job.steps
