# Energy-conserving Euler where bodies are pushed too: `energy_together` of kickdrift/reference/integrators.py.
#
# All bodies are one tile, as in newton_krylov.pxd. What the pushes' potentials come to is told for all bodies at once,
# at both places where a body may end; the rest is done body by body, as in newton.pxd.

from libc.string cimport memset

from ..abi.registers cimport P, Q, S, V, X, Y, Z
from ..abi.workspace cimport KEEP, Room
from ..abi.plan cimport DAMPING, MAX_DIM, Job, Plan
from ..abi.coupled cimport Push, Sweep
from ..forces.fields cimport dot, field_vec, root
from ..loops.passes cimport finish, push
from ..loops.stages cimport size
from ..simd.vec cimport f32vec, real, spread, vec, width
from .newton cimport difference, mirror


cdef inline int add_work(const Sweep* sweep, Job* job, const Room* room, double t, vec* work, vec* like) noexcept nogil:
    """The potential per unit of mass at the places of `next` less that at those of `now`, of all pushes."""
    cdef vec* here = <vec*> (room.start + (Q - P) * size(room, like))
    cdef vec* there = <vec*> (room.start + (Y - P) * size(room, like))
    cdef const Push* term
    cdef Py_ssize_t n
    cdef int number
    for number in range(sweep.pushes):
        term = &sweep.push[number]
        memset(here, 0, size(room, like))
        memset(there, 0, size(room, like))
        job.code = term.potential(
            t, 0, room.count, sweep.plan.dim, room.plane, room.now + X * size(room, like),
            room.now + V * size(room, like), here, term.potential_data,
        )
        if job.code == 0:
            job.code = term.potential(
                t, 0, room.count, sweep.plan.dim, room.plane, room.next + X * size(room, like),
                room.now + V * size(room, like), there, term.potential_data,
            )
        if job.code != 0:
            job.failed_push = number
            return job.code
        for n in range((room.count + width(like) - 1) // width(like)):
            here[n] = field_vec(&term.factor, 0, n * width(like), like) * (there[n] - here[n])
            work[n] = here[n] if number == 0 else work[n] + here[n]
    return 0


cdef inline int energy_step(
    const Sweep* sweep, Job* job, const Room* room, double t, vec* like, real zero,
) noexcept nogil:
    cdef const Plan* plan = sweep.plan
    cdef Py_ssize_t plane = room.plane
    cdef Py_ssize_t vectors = (room.count + width(like) - 1) // width(like)
    cdef const vec* x = <const vec*> (room.now + X * size(room, like))
    cdef const vec* v = <const vec*> (room.now + V * size(room, like))
    cdef const vec* a = <const vec*> room.start
    cdef vec* y = <vec*> (room.next + X * size(room, like))
    cdef vec* u = <vec*> (room.next + V * size(room, like))
    cdef vec* near = <vec*> (room.start + (Z - P) * size(room, like))
    cdef vec* far = <vec*> (room.next + S * size(room, like))
    cdef real h = <real> plan.h
    cdef real two = 2
    cdef real half = h / two
    cdef vec step = spread(&h, 0, like)
    cdef vec middle = spread(&half, 0, like)
    cdef real old[MAX_DIM]
    cdef real place[MAX_DIM]
    cdef real speed[MAX_DIM]
    cdef real b[MAX_DIM]
    cdef real speed2, u2, work
    cdef Py_ssize_t i, n
    cdef int dim = plan.dim
    cdef int j
    if push(sweep, job, room, room.now, t, job.tick, like) != 0:
        return job.code
    finish(KEEP, 0, sweep, room, room.now, like)
    for j in range(dim):
        for n in range(vectors):
            i = j * plane // width(like) + n
            y[i] = x[i] + step * v[i]
    if add_work(sweep, job, room, t, near, like) != 0:
        return job.code
    for j in range(dim):
        for n in range(vectors):
            i = j * plane // width(like) + n
            y[i] = x[i] + step * (v[i] + middle * a[i])
    if add_work(sweep, job, room, t, far, like) != 0:
        return job.code
    for i in range(room.count):
        for j in range(dim):
            old[j] = (<const real*> x)[j * plane + i]
            speed[j] = (<const real*> v)[j * plane + i]
            b[j] = (<const real*> a)[j * plane + i]
            place[j] = old[j] + h * speed[j]
        work = (<const real*> near)[i]
        speed2 = dot(dim, &speed[0], &speed[0])
        if speed2 - two * (difference(plan, i, &old[0], &place[0]) + work) <= 0:
            work = (<const real*> far)[i]
            for j in range(dim):
                place[j] = old[j] + h * (speed[j] + half * b[j])
        speed2 = speed2 - two * (difference(plan, i, &old[0], &place[0]) + work)
        if speed2 < 0:
            mirror(dim, &b[0], &speed[0])
            for j in range(dim):
                place[j] = old[j]
        else:
            for j in range(dim):
                speed[j] = speed[j] + h * b[j]
            u2 = dot(dim, &speed[0], &speed[0])
            if u2 > 0:
                u2 = root(speed2 / u2)
            for j in range(dim):
                speed[j] = u2 * speed[j]
        for j in range(dim):
            (<real*> y)[j * plane + i] = place[j]
            (<real*> u)[j * plane + i] = speed[j]
    return 0


cdef inline int energy_together(
    const Sweep* sweep, Job* job, Py_ssize_t step, const Room* room, vec* like,
) noexcept nogil:
    """One step of all bodies, from `now` to `next`; other than 0 where that fails."""
    cdef double t = sweep.origin + (job.tick + step - sweep.origin_tick) * sweep.plan.h
    cdef float single = 0
    cdef double whole = 0
    if vec is f32vec:
        energy_step(sweep, job, room, t, like, single)
    else:
        energy_step(sweep, job, room, t, like, whole)
    if job.code == 0 and sweep.plan.damped and sweep.holds == 0:
        sweep.plan.between(DAMPING, sweep.plan.scheme, sweep.plan, room, room.next, NULL, NULL)
    return job.code
