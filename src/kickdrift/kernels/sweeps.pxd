# Steps in which many bodies are pushed at once: each stage sweeps over them before the next begins.
#
# The registers of schemes.pxd are planes of many bodies here: of a tile, or of all. A plane is as many
# numbers as a room says, a whole number of lanes, so that sweeps need not mind where the bodies end.

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from .lanes cimport lane, width
from .plan cimport ALTERNATE, DRIFT_KICK, KICK_DRIFT, MAX_DIM, VERLET_BACKWARD, VERLET_CENTRAL, Job, Plan
from .schemes cimport damp, has_opening, keeps, opening, stage, stages, start
from .sweptplan cimport INTERRUPTED, UNSOLVED, Push, Sweep
from .terms cimport accelerate, field_lane
from .tiles cimport P, Q, S, V, X, Y, Z, aligned

cdef enum:
    OUT = 7             # beside the registers of tiles.pxd: what pushes write to, a register for each

# The registers of so many bodies.
ctypedef struct Room:
    char* start
    Py_ssize_t first, count
    Py_ssize_t plane    # numbers from a component to the next
    Py_ssize_t row      # and from a register to the next

cdef enum Finish:       # what a sweep does with the accelerations
    STAGE
    START               # fills the history
    KEEP                # leaves them for the opening of the next step


cdef inline char* register(const Room* room, int number, const lane* like) noexcept nogil:
    return room.start + number * room.row * <Py_ssize_t> sizeof(lane) // width(like)


cdef inline int push(const Sweep* sweep, Job* job, const Room* room, double t, lane* like) noexcept nogil:
    """Evaluate all pushes; other than 0 where one fails."""
    cdef const Push* term
    cdef char* out
    cdef int number
    job.evaluations += 1
    for number in range(sweep.pushes):
        term = &sweep.push[number]
        out = register(room, OUT + number, like)
        memset(out, 0, sweep.plan.dim * room.plane * <Py_ssize_t> sizeof(lane) // width(like))
        job.code = term.function(
            t, room.first, room.count, sweep.plan.dim, room.plane,
            register(room, X, like), register(room, V, like), out, term.data,
        )
        if job.code != 0:
            job.failed_push = number
            return job.code
    return 0


cdef inline void pushed(
    const Sweep* sweep, int dim, Py_ssize_t body, const lane* out, Py_ssize_t plane, Py_ssize_t row, lane* a,
) noexcept nogil:
    """a += out / m, or out times 0 for bodies that nothing moves, for each push."""
    cdef const Push* term
    cdef lane factor
    cdef int number, j
    for number in range(sweep.pushes):
        term = &sweep.push[number]
        factor = field_lane(&term.factor, 0, body, a)
        for j in range(dim):
            if term.divided:
                a[j] = a[j] + out[number * row + j * plane] / factor
            else:
                a[j] = a[j] + factor * out[number * row + j * plane]


cdef inline void finish(
    Finish what, int scheme, int number, const Sweep* sweep, const Room* room, lane* like,
) noexcept nogil:
    """The accelerations of all bodies, pushes included, and what a step makes of them."""
    if sweep.plan.dim == 3:
        finish_dim(3, what, scheme, number, sweep, room, like)
    elif sweep.plan.dim == 2:
        finish_dim(2, what, scheme, number, sweep, room, like)
    else:
        finish_dim(1, what, scheme, number, sweep, room, like)


cdef inline void finish_dim(
    int dim, Finish what, int scheme, int number, const Sweep* sweep, const Room* room, lane* like,
) noexcept nogil:
    cdef const Plan* plan = sweep.plan
    cdef lane* r = <lane*> room.start
    cdef const lane* k = aligned(plan.prepared, like)
    cdef Py_ssize_t plane = room.plane // width(like)
    cdef Py_ssize_t row = room.row // width(like)
    cdef Py_ssize_t i, n
    cdef int j
    cdef lane x[MAX_DIM]
    cdef lane v[MAX_DIM]
    cdef lane a[MAX_DIM]
    for n in range((room.count + width(like) - 1) // width(like)):
        for j in range(dim):
            x[j] = r[X * row + j * plane + n]
            v[j] = r[V * row + j * plane + n]
        accelerate(plan, dim, room.first + n * width(like), x, v, a)
        pushed(sweep, dim, room.first + n * width(like), r + OUT * row + n, plane, row, a)
        for j in range(dim):
            i = j * plane + n
            if what == KEEP:
                r[P * row + i] = a[j]
                continue
            if what == START:
                start(scheme, plan.taylor_start, k, a[j], &x[j], &v[j], &r[S * row + i])
            else:
                stage(
                    scheme, plan.velocity_dependent, number, plan.iterations, k, k, k, k, k, a[j],
                    &x[j], &v[j], &r[S * row + i],
                    &r[P * row + i], &r[Q * row + i], &r[Y * row + i], &r[Z * row + i],
                )
            r[X * row + i] = x[j]
            r[V * row + i] = v[j]


cdef inline void between(bint after, int scheme, const Plan* plan, const Room* room, lane* like) noexcept nogil:
    """What a step does before its first evaluation, or after its last."""
    cdef lane* r = <lane*> room.start
    cdef const lane* k = aligned(plan.prepared, like)
    cdef Py_ssize_t plane = room.plane // width(like)
    cdef Py_ssize_t row = room.row // width(like)
    cdef Py_ssize_t i, n
    cdef int j
    for j in range(plan.dim):
        for n in range((room.count + width(like) - 1) // width(like)):
            i = j * plane + n
            if after:
                damp(
                    scheme, field_lane(&plan.decay, j, room.first + n * width(like), like),
                    &r[X * row + i], &r[V * row + i], &r[S * row + i],
                )
            else:
                opening(
                    scheme, k, &r[X * row + i], &r[V * row + i], &r[S * row + i], &r[P * row + i], &r[Q * row + i]
                )


cdef inline int swept_step(const Sweep* sweep, Job* job, Py_ssize_t step, const Room* room, lane* like) noexcept nogil:
    """One step by sweeps; other than 0 where a push fails."""
    cdef const Plan* plan = sweep.plan
    cdef int64_t tick = job.tick + step
    cdef int scheme = plan.scheme
    cdef bint drag = plan.velocity_dependent
    cdef double t = sweep.origin + (tick - sweep.origin_tick) * plan.h  # `_time_of(tick)` of base.py
    cdef double after
    cdef int number
    if scheme == ALTERNATE:
        scheme = KICK_DRIFT if tick % 2 == 0 else DRIFT_KICK
    if step == 0 and job.start:
        if push(sweep, job, room, t, like) != 0:
            return job.code
        finish(START, scheme, 0, sweep, room, like)
    # What holds move is pushed otherwise.
    if keeps(scheme, drag) and (step == 0 or sweep.holds > 0):
        if push(sweep, job, room, t, like) != 0:
            return job.code
        finish(KEEP, scheme, 0, sweep, room, like)
    if has_opening(scheme, drag):
        between(False, scheme, plan, room, like)
    for number in range(stages(scheme, drag, plan)):
        after = sweep.after[number]
        if plan.scheme == ALTERNATE and scheme == KICK_DRIFT:
            after = 0
        if push(sweep, job, room, t + after, like) != 0:
            return job.code
        finish(STAGE, scheme, number, sweep, room, like)
    if plan.damped:
        between(True, scheme, plan, room, like)
    return 0


cdef inline int lone_step(const Sweep* sweep, Job* job, Py_ssize_t step) noexcept nogil:
    """One step of bodies that meet in constraints only; other than 0 where it cannot be solved."""
    cdef Job lone = job[0]
    lone.steps = 1
    lone.tick = job.tick + step
    lone.start = job.start and step == 0
    sweep.table.run(sweep.plan, &lone)
    job.evaluations += lone.evaluations
    if lone.failed_step == 1:
        return 0
    job.failed_body = lone.failed_body
    job.residual = lone.residual
    return UNSOLVED


cdef inline int hold(const Sweep* sweep, Job* job, const Room* room, lane* like) noexcept nogil:
    """The constraints, in their order."""
    cdef const Plan* plan = sweep.plan
    cdef bint verlet = plan.scheme == VERLET_BACKWARD or plan.scheme == VERLET_CENTRAL
    cdef int number
    for number in range(sweep.holds):
        job.code = sweep.hold[number].function(
            plan.h, plan.n, plan.dim, room.plane, sweep.aside, register(room, X, like), register(room, V, like),
            register(room, S, like) if verlet else NULL, sweep.hold[number].data,
        )
        if job.code != 0:
            return job.code
    return 0


cdef inline Py_ssize_t advance(const Sweep* sweep, Job* job, const Room* room, lane* like) noexcept nogil:
    """Steps of the job until one fails; returns how many were completed."""
    cdef Py_ssize_t size = room.row * <Py_ssize_t> sizeof(lane) // width(like)
    cdef Py_ssize_t kept = (3 if sweep.plan.s.data != NULL else 2) * size
    cdef Py_ssize_t step
    for step in range(job.steps):
        if sweep.aside != NULL:
            job.done = step
            memcpy(sweep.aside, room.start, kept)
        if sweep.pushes > 0:
            job.code = swept_step(sweep, job, step, room, like)
        else:
            job.code = lone_step(sweep, job, step)
        if job.code == 0:
            job.code = hold(sweep, job, room, like)
        if job.code != 0:
            if sweep.aside != NULL:
                memcpy(room.start, sweep.aside, kept)
            return step
        if sweep.look != NULL and (step + 1) % sweep.patience == 0 and sweep.look(sweep.owner):
            job.code = INTERRUPTED
            return step + 1
    return job.steps
