# What the module of each instruction set offers.

from libc.stdint cimport uint64_t

from .digest cimport digest
from .lanes cimport f32lane, f64lane
from .plan cimport Array, Job, KernelTable, Plan
from .tiles cimport in_a_row, in_place, prepare, run_row, run_rows, run_tiles


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


cdef inline void prepare_f32(Plan* plan) noexcept nogil:
    cdef f32lane* like = NULL
    prepare(plan, like)
    plan.run = row_f32 if in_a_row(plan) else rows_f32 if in_place(plan) else tiles_f32


cdef inline void prepare_f64(Plan* plan) noexcept nogil:
    cdef f64lane* like = NULL
    prepare(plan, like)
    plan.run = row_f64 if in_a_row(plan) else rows_f64 if in_place(plan) else tiles_f64


cdef inline uint64_t digest_f32(const Array* array, Py_ssize_t n, int dim, uint64_t place) noexcept nogil:
    cdef float* like = NULL
    return digest(array, n, dim, place, like)


cdef inline uint64_t digest_f64(const Array* array, Py_ssize_t n, int dim, uint64_t place) noexcept nogil:
    cdef double* like = NULL
    return digest(array, n, dim, place, like)


cdef inline void fill(KernelTable* f32, KernelTable* f64) noexcept:
    f32.prepare = prepare_f32
    f32.digest = digest_f32
    f64.prepare = prepare_f64
    f64.digest = digest_f64
