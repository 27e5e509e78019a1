# What the module of each instruction set offers.

from libc.stdint cimport uint64_t

from .digest cimport digest
from .lanes cimport f32lane, f64lane
from .plan cimport Array, Job, KernelTable, Plan
from .sweeps cimport add_callback, sweep, sweep_accelerations
from .tiles cimport prepare, run


cdef inline void run_f32(const Plan* plan, Job* job) noexcept nogil:
    cdef f32lane* like = NULL
    run(plan, job, like)


cdef inline void run_f64(const Plan* plan, Job* job) noexcept nogil:
    cdef f64lane* like = NULL
    run(plan, job, like)


cdef inline void prepare_f32(Plan* plan) noexcept nogil:
    cdef f32lane* like = NULL
    prepare(plan, like)


cdef inline void prepare_f64(Plan* plan) noexcept nogil:
    cdef f64lane* like = NULL
    prepare(plan, like)


cdef inline uint64_t digest_f32(const Array* array, Py_ssize_t n, int dim, uint64_t place) noexcept nogil:
    cdef float* like = NULL
    return digest(array, n, dim, place, like)


cdef inline uint64_t digest_f64(const Array* array, Py_ssize_t n, int dim, uint64_t place) noexcept nogil:
    cdef double* like = NULL
    return digest(array, n, dim, place, like)


cdef inline void sweep_f32(const Plan* plan, int scheme, int number, char* room, Py_ssize_t padded) noexcept nogil:
    cdef f32lane* like = NULL
    sweep(plan, scheme, number, room, padded, like)


cdef inline void accelerate_f32(const Plan* plan, char* room, Py_ssize_t padded) noexcept nogil:
    cdef f32lane* like = NULL
    sweep_accelerations(plan, room, padded, like)


cdef inline void add_f32(
    const Plan* plan, bint divide, const char* out, const char* factors, char* room, Py_ssize_t padded,
) noexcept nogil:
    cdef f32lane* like = NULL
    add_callback(plan, divide, out, factors, room, padded, like)


cdef inline void sweep_f64(const Plan* plan, int scheme, int number, char* room, Py_ssize_t padded) noexcept nogil:
    cdef f64lane* like = NULL
    sweep(plan, scheme, number, room, padded, like)


cdef inline void accelerate_f64(const Plan* plan, char* room, Py_ssize_t padded) noexcept nogil:
    cdef f64lane* like = NULL
    sweep_accelerations(plan, room, padded, like)


cdef inline void add_f64(
    const Plan* plan, bint divide, const char* out, const char* factors, char* room, Py_ssize_t padded,
) noexcept nogil:
    cdef f64lane* like = NULL
    add_callback(plan, divide, out, factors, room, padded, like)


cdef inline void fill(KernelTable* f32, KernelTable* f64) noexcept:
    f32.prepare = prepare_f32
    f32.run = run_f32
    f32.sweep = sweep_f32
    f32.accelerate = accelerate_f32
    f32.add = add_f32
    f32.digest = digest_f32
    f64.prepare = prepare_f64
    f64.run = run_f64
    f64.sweep = sweep_f64
    f64.accelerate = accelerate_f64
    f64.add = add_f64
    f64.digest = digest_f64
