# The kernels of an instruction set.

from libc.stdint cimport uint64_t
from libc.string cimport memset

from .digest cimport digest
from .dispatch cimport prepare
from .lanes cimport f32lane, f64lane
from .odemodule cimport fill_ode
from .plan cimport Array, Job, Plan
from .sweptmodule cimport fill_swept, run_f32, run_f64
from .sweptplan cimport Sweep
from .tables cimport Kernels
from .tiles cimport in_a_row, in_place, in_sweeps, run_row, run_rows, run_tiles


cdef inline void row_f32(const Plan* plan, Job* job) noexcept nogil:
    cdef f32lane* like = NULL
    run_row(plan, job, like)


cdef inline void row_f64(const Plan* plan, Job* job) noexcept nogil:
    cdef f64lane* like = NULL
    run_row(plan, job, like)


cdef inline void rows_f32(const Plan* plan, Job* job) noexcept nogil:
    cdef f32lane* like = NULL
    run_rows(plan, job, like)


cdef inline void rows_f64(const Plan* plan, Job* job) noexcept nogil:
    cdef f64lane* like = NULL
    run_rows(plan, job, like)


cdef inline void tiles_f32(const Plan* plan, Job* job) noexcept nogil:
    cdef f32lane* like = NULL
    run_tiles(plan, job, like)


cdef inline void tiles_f64(const Plan* plan, Job* job) noexcept nogil:
    cdef f64lane* like = NULL
    run_tiles(plan, job, like)


cdef inline void sweeps(const Plan* plan, Job* job) noexcept nogil:
    """A job that tiles.pxd has no loop for, by sweeps without pushes."""
    cdef Sweep sweep
    memset(&sweep, 0, sizeof(Sweep))
    sweep.plan = plan
    (<void (*)(const Sweep*, Job*) noexcept nogil> plan.step)(&sweep, job)


cdef inline void prepare_f32(Plan* plan) noexcept nogil:
    cdef f32lane* like = NULL
    prepare(plan, like)
    if in_sweeps(plan):
        plan.step = <void*> run_f32  # called from there, it is compiled once
        plan.run = sweeps
    else:
        plan.run = row_f32 if in_a_row(plan) else rows_f32 if in_place(plan) else tiles_f32


cdef inline void prepare_f64(Plan* plan) noexcept nogil:
    cdef f64lane* like = NULL
    prepare(plan, like)
    if in_sweeps(plan):
        plan.step = <void*> run_f64  # called from there, it is compiled once
        plan.run = sweeps
    else:
        plan.run = row_f64 if in_a_row(plan) else rows_f64 if in_place(plan) else tiles_f64


cdef inline uint64_t digest_f32(const Array* array, Py_ssize_t n, int dim, uint64_t place) noexcept nogil:
    cdef float* like = NULL
    return digest(array, n, dim, place, like)


cdef inline uint64_t digest_f64(const Array* array, Py_ssize_t n, int dim, uint64_t place) noexcept nogil:
    cdef double* like = NULL
    return digest(array, n, dim, place, like)


cdef inline void fill(Kernels* f32, Kernels* f64) noexcept:
    f32.prepare = prepare_f32
    f32.digest = digest_f32
    f64.prepare = prepare_f64
    f64.digest = digest_f64
    fill_swept(&f32.swept, &f64.swept)
    fill_ode(&f32.ode, &f64.ode)
