"""Forces in users' own arrays: in each call what is in them then becomes the coefficient g of the plan."""

from libc.string cimport memset

from .coefficients cimport field
from ..kernels.abi.applied cimport Applied
from ..kernels.abi.plan cimport FLAT, MAX_DIM, ROW, Array, Job, Plan
from ..kernels.simd.rounding cimport require_rounding
from .runner cimport View, views

import numpy as np

require_rounding(__name__)


cdef enum:
    SPAN = ROW          # bodies whose forces are merged together: more of them fill the cache


cdef class AppliedForces:
    @staticmethod
    cdef AppliedForces of(object model, const Plan* plan):
        """Of a model, for a plan whose g has a row for each body."""
        cdef AppliedForces forces = AppliedForces.__new__(AppliedForces)
        cdef Applied* applied = &forces.applied
        cdef Array* places
        arrays = forces.arrays = views(model.applied)
        workspace = np.zeros(len(arrays) * sizeof(Array), np.uint8)
        places = <Array*> <size_t> workspace.ctypes.data
        for number, view in enumerate(arrays):
            places[<int> number] = (<View> view).place
        arrays.append(workspace)
        applied.dim, applied.count, applied.force = plan.dim, len(model.applied), places
        applied.flat = plan.layout == FLAT
        applied.g = field(plan, model.g, arrays)
        inverse_mass = model.applied_share[:, None]
        applied.light = len(model.applied_share) == 1 and model.applied_share[0] > 0
        applied.inverse_mass = field(plan, np.broadcast_to(inverse_mass, (len(inverse_mass), plan.dim)), arrays)
        return forces


cdef void merge_all(const Kernels* kernels, const Applied* applied, const Plan* plan) noexcept nogil:
    """Into the plan's own g."""
    merge_range(kernels, applied, plan, 0, plan.n)


cdef void merge_range(
    const Kernels* kernels, const Applied* applied, const Plan* plan, Py_ssize_t first, Py_ssize_t last,
) noexcept nogil:
    """Of bodies from a multiple of ROW on, to where the plan reads g."""
    cdef char* out[MAX_DIM]
    cdef int j
    while first < last:
        for j in range(plan.dim):
            out[j] = <char*> plan.g.component[j] + first * plan.g.body
        kernels.merge(applied, first, min(last - first, <Py_ssize_t> ROW), out, NULL)
        first += ROW


cdef void run_applied(
    const Kernels* kernels, const Applied* applied, const Plan* plan, Job* job,
) noexcept nogil:
    """Run a job some rows at a time: what is merged is in the fastest cache when it is read."""
    cdef char workspace[(SPAN * MAX_DIM + 8) * 8]
    cdef char* start = workspace + (64 - <size_t> workspace % 64) % 64
    cdef char* out[MAX_DIM]
    # A plan is prepared for where it lies within a cache line.
    cdef Plan place[2]
    cdef Plan* own = <Plan*> (<char*> place + (<size_t> plan - <size_t> place) % 64)
    cdef Job part
    cdef Py_ssize_t first = job.first
    cdef int j
    cdef Py_ssize_t plane
    if plan.n <= ROW:
        merge_all(kernels, applied, plan)
        plan.run(plan, job, NULL)
        return
    memset(workspace, 0, sizeof(workspace))   # what is read beyond the last body is finite
    own[0] = plan[0]
    plane = 0 if applied.flat else SPAN * own.g.body     # flat rows hold all components
    for j in range(own.dim):
        out[j] = start + j * plane
    part = job[0]
    job.bad_body, job.code, job.failed_step, job.evaluations = -1, 0, job.steps, 0
    while first < job.last:
        for j in range(own.dim):
            own.g.component[j] = out[j] - first * own.g.body
            own.row[j].g = own.g.component[j]   # where the first row starts
        part.first, part.last = first, min(job.last, first + SPAN)
        merge_range(kernels, applied, own, part.first, part.last)
        own.run(own, &part, NULL)
        if job.bad_body < 0:
            job.bad_body = part.bad_body
        if part.failed_step < job.failed_step:
            job.failed_step, job.failed_body, job.residual = part.failed_step, part.failed_body, part.residual
        job.evaluations = max(job.evaluations, part.evaluations)
        first += SPAN
