# Running a job where many bodies are pushed at once: tile after tile where each body goes its way, all
# bodies as one tile where they see each other, or a function wants them all.

from libc.string cimport memset

from ..abi.registers cimport OUT, P, S, X
from ..abi.workspace cimport Room
from ..simd.vec cimport f32vec, vec, where_positive, width
from ..abi.plan cimport MAX_DIM, TILE, Job, Plan
from .planes cimport aligned, end, first_bad, keep_tile, move_state, sum_planes
from .living cimport any_of
from .stages cimport size
from .passes cimport advance, plan_of
from ..abi.coupled cimport TILE_PUSHES, Sweep


cdef inline void run(const Sweep* sweep, Job* job, vec* like) noexcept nogil:
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    job.code = 0
    job.done = 0
    if sweep.room == NULL:
        run_tiles(sweep, job, like)
    else:
        run_whole(sweep, job, like)


cdef inline void run_tiles(const Sweep* sweep, Job* job, vec* like) noexcept nogil:
    """All steps of a tile, then the next; the earliest failure counts."""
    cdef double memory[(OUT + TILE_PUSHES) * MAX_DIM * TILE + 8]
    cdef vec* r = aligned(<char*> memory, like)
    cdef const Plan* plan = sweep.plan
    cdef Py_ssize_t done
    cdef Job part
    cdef Room room
    cdef vec check
    memset(&check, 0, sizeof(vec))
    room.start = <char*> r + P * MAX_DIM * TILE * <Py_ssize_t> sizeof(vec) // width(like)
    room.plane = TILE
    room.row = MAX_DIM * TILE
    room.first = job.first
    while room.first < job.last:
        room.count = min(<Py_ssize_t> TILE, job.last - room.first)
        if plan.living != NULL and not any_of(plan.living.alive + room.first, room.count):
            room.first += TILE
            continue
        part = job[0]
        part.evaluations = 0
        room.now = room.next = <char*> r
        if sweep.holds > 0:
            # Walls want the state before the step as well. There are no pushes then, whose registers are these.
            room.next = room.start + (OUT - P) * size(&room, like)
            room.gain = room.next + P * size(&room, like)
        move_state(False, plan, room.first, room.count, r)
        keep_tile(plan, job, room.first, room.count, r)
        if plan.living != NULL:
            park_tile(plan, room.first, room.count, r)
        done = advance(sweep, &part, &room, like)
        job.evaluations = max(job.evaluations, part.evaluations)
        if done < job.failed_step:
            job.failed_step = done
            job.code = part.code
            job.failed_push = part.failed_push
            job.failed_body = room.first
        check = check + sum_planes(plan.dim, room.count, <vec*> room.now)
        move_state(True, plan, room.first, room.count, <vec*> room.now)
        room.first += TILE
    end(plan, job, check)


cdef inline void run_whole(const Sweep* sweep, Job* job, vec* like) noexcept nogil:
    cdef const Plan* plan
    cdef Room room
    room.plane = sweep.padded
    room.row = sweep.plan.dim * sweep.padded
    room.first = 0
    room.count = sweep.plan.n if sweep.plan.living == NULL else sweep.plan.living.end
    room.now = sweep.room
    room.next = room.now + P * size(&room, like)
    room.start = room.next + P * size(&room, like)
    room.gain = sweep.gain
    job.failed_step = advance(sweep, job, &room, like)
    plan = plan_of(sweep, room.now)
    job.bad_body = first_bad(plan, 0, room.count, like)


cdef inline void park_tile(const Plan* plan, Py_ssize_t first, Py_ssize_t count, vec* r) noexcept nogil:
    """Functions are shown zeros for the dead, whatever stands in their rows; and zeros they remain."""
    cdef const vec* weight = <const vec*> (<const char*> plan.living.weight + first * plan.living.item)
    cdef Py_ssize_t plane = TILE // width(r)
    cdef Py_ssize_t n, i
    cdef int j, number
    for number in range(X, S + 1 if plan.s.data != NULL else S):
        for j in range(plan.dim):
            for n in range((count + width(r) - 1) // width(r)):
                i = (number * MAX_DIM + j) * plane + n
                r[i] = where_positive(weight[n], r[i])
