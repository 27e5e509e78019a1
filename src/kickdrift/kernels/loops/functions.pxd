# Steps in the caller's arrays, which a function of all bodies reads there: nothing is copied. The state between two
# stages, and the output of the function, are arrays of the same layout.
#
# Gravity and one function act, so that each number is stepped as any other: a stage goes over whole rows of numbers,
# which are the components of component-major arrays, or all numbers of row-major ones.

from libc.string cimport memcpy, memset

from ..abi.coupled cimport INTERRUPTED, Coupling, time_of
from ..abi.plan cimport Array, Job, Plan
from ..abi.workspace cimport KEEP, NONE, Stretch
from ..integrators.steps cimport has_opening, stages
from ..integrators.traits cimport fsal
from ..simd.vec cimport vec, width
from .planes cimport aligned, first_bad, is_finite

cdef enum:
    LONG = 48       # vectors of a stretch: a multiple of any number of components


cdef inline void run_functions(const Coupling* coupling, Job* job, vec* like) noexcept nogil:
    """Run a job; the arrays are those of the last completed step, or of the first whose state is not finite."""
    cdef vec check
    cdef Py_ssize_t step
    for step in range(job.steps):
        memset(&check, 0, sizeof(vec))
        job.done = job.failed_step = step
        if step_once(coupling, job, &check) != 0:
            return
        job.failed_step += 1
        if not is_finite(check):
            job.bad_body = first_bad(coupling.own, 0, job.last, like)
            if job.bad_body >= 0:
                return
        if (step + 1) % coupling.patience == 0 and coupling.look(coupling.owner):
            job.code = INTERRUPTED
            return


cdef inline int step_once(const Coupling* coupling, Job* job, vec* check) noexcept nogil:
    """Make one step; return other than 0 if the function fails. Add the new state to `check`."""
    cdef const Plan* plan = coupling.own
    cdef int scheme = plan.scheme
    cdef bint drag = plan.velocity_dependent
    cdef int last = stages(scheme, drag, plan) - 1
    cdef bint keeps = fsal(scheme, drag) and job.done == 0
    cdef bint seen = has_opening(scheme, drag)      # True if the next state to evaluate is in `coupling.seen`
    cdef int number
    if keeps and evaluate(coupling, job, &plan.x, &plan.v, time_of(coupling, job.tick + job.done)) != 0:
        return job.code
    if seen:
        over_rows(coupling, KEEP if keeps else NONE, True, False, False, check)
    for number in range(last + 1):
        if evaluate(
            coupling, job, &coupling.seen[0] if seen else &plan.x, &coupling.seen[1] if seen else &plan.v,
            time_of(coupling, job.tick + job.done + coupling.ticks[number]) + coupling.after[number],
        ) != 0:
            return job.code
        over_rows(coupling, number, False, seen, number == last, check)
        seen = True
    return 0


cdef inline int evaluate(
    const Coupling* coupling, Job* job, const Array* x, const Array* v, double t,
) noexcept nogil:
    """Evaluate the function at a state; return 0 or a failure code."""
    job.evaluations += 1
    job.failed_part = 0
    job.code = coupling.interaction.function(
        t, 0, coupling.own.n, coupling.own.dim, 0, x.data, v.data, NULL, coupling.interaction.data,
    )
    return job.code


cdef inline void over_rows(
    const Coupling* coupling, int number, bint opens, bint seen, bint ends, vec* check,
) noexcept nogil:
    """Complete stage `number`, or begin a step.

    The old state is in the caller's arrays, or with `seen` in `coupling.seen`; the new one with `ends` in the caller's
    arrays, else in `coupling.seen`.
    """
    cdef const Plan* plan = coupling.own
    cdef const Plan* numbers = coupling.plan    # plan with the coefficients
    cdef const Array* x = &coupling.seen[0] if seen else &plan.x
    cdef const Array* v = &coupling.seen[1] if seen else &plan.v
    cdef const Array* to_x = &plan.x if ends else &coupling.seen[0]
    cdef const Array* to_v = &plan.v if ends else &coupling.seen[1]
    cdef const Array* out = &coupling.seen[2]
    cdef Py_ssize_t w = width(check)
    cdef Py_ssize_t item = sizeof(vec) // w
    cdef bint planes = plan.x.body == item
    cdef double memory[LONG * 8 + 8]
    cdef vec* pattern = aligned(<char*> memory, check)  # gravity of bodies in a row
    cdef Stretch row
    cdef Py_ssize_t at, left, i
    cdef int j
    row.row = plan.dim * coupling.padded * item
    row.each, row.every = numbers.g.body * w, coupling.interaction.factor.body * w
    if not planes:
        row.each = sizeof(vec)
        for i in range(plan.dim * w):
            memcpy(<char*> pattern + i * item, numbers.g.component[i % plan.dim], item)
        for i in range(plan.dim, LONG):
            pattern[i] = pattern[i - plan.dim]
    for j in range(plan.dim if planes else 1):
        at, left = j * plan.x.component, plan.n * item * (1 if planes else plan.dim)
        row.x, row.v, row.x0, row.v0 = x.data + at, v.data + at, plan.x.data + at, plan.v.data + at
        row.to_x, row.to_v, row.out = to_x.data + at, to_v.data + at, out.data + at
        row.held = coupling.delta_v + (plan.dim + j) * coupling.padded * item
        row.g = numbers.g.component[j] if planes else <const char*> pattern
        row.factor = coupling.interaction.factor.component[j]
        while left >= <Py_ssize_t> sizeof(vec):
            row.bytes = min(left // <Py_ssize_t> sizeof(vec), <Py_ssize_t> LONG) * <Py_ssize_t> sizeof(vec)
            plan.along(number, opens, ends, numbers, &row, check)
            row.x += row.bytes
            row.v += row.bytes
            row.x0 += row.bytes
            row.v0 += row.bytes
            row.to_x += row.bytes
            row.to_v += row.bytes
            row.out += row.bytes
            row.held += row.bytes
            i = row.bytes // <Py_ssize_t> sizeof(vec)
            row.g += (i if planes or i < LONG else 0) * row.each
            row.factor += i * row.every
            left -= row.bytes
        if left > 0:
            last_numbers(number, opens, ends, plan, numbers, &row, left, check)


cdef inline void last_numbers(
    int number, bint opens, bint ends, const Plan* plan, const Plan* numbers, const Stretch* row, Py_ssize_t left,
    vec* check,
) noexcept nogil:
    """Do a stage of the last numbers of a row, less than a vector, in copies padded with zeros."""
    cdef vec copy[7]
    cdef Stretch part = row[0]
    memset(copy, 0, sizeof(copy))
    memcpy(&copy[0], row.x, left)
    memcpy(&copy[1], row.v, left)
    memcpy(&copy[2], row.x0, left)
    memcpy(&copy[3], row.v0, left)
    memcpy(&copy[4], row.out, left)
    part.bytes = sizeof(vec)
    part.x, part.v, part.x0, part.v0 = <char*> &copy[0], <char*> &copy[1], <char*> &copy[2], <char*> &copy[3]
    part.out, part.to_x, part.to_v = <char*> &copy[4], <char*> &copy[5], <char*> &copy[6]
    plan.along(number, opens, ends, numbers, &part, check)
    memcpy(row.to_x, &copy[5], left)
    memcpy(row.to_v, &copy[6], left)
    memcpy(row.out, &copy[4], left)
