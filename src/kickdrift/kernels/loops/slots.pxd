# Jobs of worlds with inactive slots: only rows with active bodies are stepped.
#
# Uncoupled loops ignore the masks, because bodies do not influence each other; inactive slots are zeroed afterwards.
# Coupled kernels zero the accelerations of inactive slots instead, since functions see all slots in each stage.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..abi.plan cimport MAX_DIM, ROW, Array, Job, Plan, SlotArrays
from ..abi.coupled cimport Turning


cdef inline void run_active(const Plan* plan, Job* job, const void* like) noexcept nogil:
    """Run `plan.each` on spans with active bodies. The earliest failure is reported."""
    cdef const SlotArrays* living = plan.slots
    cdef Py_ssize_t k
    cdef Job part
    cdef int64_t begun = 0
    job.bad_body = -1
    job.failed_step = job.steps
    job.evaluations = 0
    for k in range(living.spans):
        part = job[0]
        part.first = max(job.first, living.span[2 * k])
        part.last = min(job.last, living.span[2 * k + 1])
        if part.first >= part.last:
            continue
        if job.begin:
            begun = max(begun, start_spawned(plan, &part))
        plan.each(plan, &part, NULL)
        zero_inactive(plan, part.first, part.last)
        job.evaluations = max(job.evaluations, part.evaluations)
        if job.bad_body < 0:
            job.bad_body = part.bad_body
        if part.failed_step < job.failed_step:
            job.failed_step = part.failed_step
            job.failed_body = part.failed_body
            job.residual = part.residual
            job.code = part.code
    job.evaluations += begun


cdef inline int64_t start_spawned(const Plan* plan, const Job* job) noexcept nogil:
    """Initialise the history of bodies spawned since the last step; return the number of evaluations.

    A job of 0 steps initialises whole rows. Bodies that already had a history get it back from a copy, with their
    velocities. Coupled bodies are started elsewhere: see `start_spawned` of passes.pxd.
    """
    cdef double buffer[2 * MAX_DIM * ROW]
    cdef char* v = <char*> buffer
    cdef char* s = v + MAX_DIM * ROW * <Py_ssize_t> sizeof(double)
    cdef Py_ssize_t i
    cdef int64_t evaluations = 0
    cdef Job part = job[0]
    part.start = True
    part.begin = False
    part.steps = 0
    while part.first < job.last:
        part.last = min(part.first + ROW, job.last)
        if any_of(plan.slots.needs_start + part.first, part.last - part.first):
            for i in range(part.first, part.last):
                keep_row(True, plan, &plan.v, i, v + (i - part.first) * MAX_DIM * plan.slots.item)
                keep_row(True, plan, &plan.s, i, s + (i - part.first) * MAX_DIM * plan.slots.item)
            plan.each(plan, &part, NULL)
            for i in range(part.first, part.last):
                if not plan.slots.needs_start[i]:
                    keep_row(False, plan, &plan.v, i, v + (i - part.first) * MAX_DIM * plan.slots.item)
                    keep_row(False, plan, &plan.s, i, s + (i - part.first) * MAX_DIM * plan.slots.item)
            evaluations = max(evaluations, part.evaluations - plan.fsal)
        part.first += ROW
    return evaluations


cdef inline void keep_row(bint there, const Plan* plan, const Array* array, Py_ssize_t i, char* buffer) noexcept nogil:
    """Copy the components of body i from an array to a buffer (there), or back."""
    cdef char* at = array.data + i * array.body
    cdef int j
    for j in range(plan.dim):
        if there:
            memcpy(buffer + j * plan.slots.item, at + j * array.component, plan.slots.item)
        else:
            memcpy(at + j * array.component, buffer + j * plan.slots.item, plan.slots.item)


cdef inline bint any_of(const uint8_t* mask, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint8_t found = 0
    for i in range(count):
        found |= mask[i]
    return found


cdef inline void zero_inactive(const Plan* plan, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Zero the state of the inactive slots from first to before last."""
    cdef const uint8_t* alive = plan.slots.alive
    cdef uint64_t eight, all_eight = 0x0101010101010101u
    cdef Py_ssize_t i = first
    cdef Py_ssize_t k
    while i < last:
        if last - i >= 8:
            memcpy(&eight, alive + i, 8)
            if eight == all_eight:
                i += 8
                continue
        if alive[i]:
            i += 1
            continue
        k = i
        while i < last and not alive[i]:
            i += 1
        clear(plan, &plan.x, k, i)
        clear(plan, &plan.v, k, i)
        if plan.s.data != NULL:
            clear(plan, &plan.s, k, i)


cdef inline void zero_inactive_rotation(const Turning* turning, Py_ssize_t item) noexcept nogil:
    """Zero angular velocities and orientations of inactive slots."""
    cdef Py_ssize_t i
    cdef int j
    for i in range(turning.n):
        if not turning.alive[i]:
            for j in range(1 if turning.dim == 2 else 3):
                memset(turning.velocity.data + i * turning.velocity.body + j * turning.velocity.component, 0, item)
            for j in range(1 if turning.dim == 2 else 4):
                memset(turning.turned.data + i * turning.turned.body + j * turning.turned.component, 0, item)


cdef inline void clear(const Plan* plan, const Array* array, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Zero an array for the bodies from first to before last."""
    cdef Py_ssize_t item = plan.slots.item
    cdef Py_ssize_t i
    cdef int j
    if array.component == item and array.body == plan.dim * item:
        memset(array.data + first * array.body, 0, (last - first) * array.body)
        return
    for j in range(plan.dim):
        if array.body == item:
            memset(array.data + first * item + j * array.component, 0, (last - first) * item)
        else:
            for i in range(first, last):
                memset(array.data + i * array.body + j * array.component, 0, item)
