# The kernels of an instruction set that are fast by constants: setup.py has everything inlined into them.

from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..abi.workspace cimport Room
from ..checksum cimport digest
from .dispatch cimport prepare
from ..simd.vec cimport f32vec, f64vec
from ..abi.ode cimport ODEPlan
from ..ode.tiles cimport run
from ..abi.plan cimport ENERGY_EULER, IMPLICIT_EULER, Array, Between, Job, Plan
from ..loops.stages cimport between, finish
from ..abi.coupled cimport Sweep
from ..abi.tables cimport Kernels
from ..loops.tiles cimport accelerate_planes, in_a_row, in_place, in_sweeps, run_row, run_rows, run_tiles


cdef inline void row_f32(const Plan* plan, Job* job) noexcept nogil:
    cdef f32vec* like = NULL
    run_row(plan, job, like)


cdef inline void row_f64(const Plan* plan, Job* job) noexcept nogil:
    cdef f64vec* like = NULL
    run_row(plan, job, like)


cdef inline void rows_f32(const Plan* plan, Job* job) noexcept nogil:
    cdef f32vec* like = NULL
    run_rows(plan, job, like)


cdef inline void rows_f64(const Plan* plan, Job* job) noexcept nogil:
    cdef f64vec* like = NULL
    run_rows(plan, job, like)


cdef inline void tiles_f32(const Plan* plan, Job* job) noexcept nogil:
    cdef f32vec* like = NULL
    run_tiles(plan, job, like)


cdef inline void tiles_f64(const Plan* plan, Job* job) noexcept nogil:
    cdef f64vec* like = NULL
    run_tiles(plan, job, like)


cdef inline void sweeps(const Plan* plan, Job* job) noexcept nogil:
    """A job that tiles.pxd has no loop for, by sweeps without pushes."""
    cdef Sweep sweep
    memset(&sweep, 0, sizeof(Sweep))
    sweep.plan = plan
    (<void (*)(const Sweep*, Job*) noexcept nogil> plan.step)(&sweep, job)


cdef inline void choose(const Kernels* kernels, Plan* plan) noexcept nogil:
    """What the plan runs where it is not in rows or tiles; NULL elsewhere."""
    plan.run = NULL
    if in_sweeps(plan):
        plan.step = <void*> kernels.swept.run
        plan.run = sweeps
    elif plan.scheme == IMPLICIT_EULER:
        plan.step = <void*> kernels.implicit_euler
    elif plan.scheme == ENERGY_EULER:
        plan.step = <void*> kernels.energy_euler


cdef inline void accelerate_f32(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, Py_ssize_t stride, const void* x, const void* v, void* a,
) noexcept nogil:
    accelerate_planes(plan, first, count, stride, <const f32vec*> x, <const f32vec*> v, <f32vec*> a)


cdef inline void finish_f32(
    int number, int scheme, const void* sweep, const void* room, const char* state,
) noexcept nogil:
    cdef f32vec* like = NULL
    finish(number, scheme, <const Sweep*> sweep, <const Room*> room, state, like)


cdef inline void between_f32(
    Between what, int scheme, const Plan* plan, const void* room, const char* state,
    const void* at_rest, const void* gain,
) noexcept nogil:
    cdef f32vec* like = NULL
    between(what, scheme, plan, <const Room*> room, state, <const f32vec*> at_rest, <const f32vec*> gain, like)


cdef inline void prepare_f32(const Kernels* kernels, Plan* plan) noexcept nogil:
    cdef f32vec* like = NULL
    prepare(plan, like)
    choose(kernels, plan)
    plan.accelerate, plan.finish, plan.between = accelerate_f32, finish_f32, between_f32
    if plan.run == NULL:
        plan.run = row_f32 if in_a_row(plan) else rows_f32 if in_place(plan) else tiles_f32


cdef inline void accelerate_f64(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, Py_ssize_t stride, const void* x, const void* v, void* a,
) noexcept nogil:
    accelerate_planes(plan, first, count, stride, <const f64vec*> x, <const f64vec*> v, <f64vec*> a)


cdef inline void finish_f64(
    int number, int scheme, const void* sweep, const void* room, const char* state,
) noexcept nogil:
    cdef f64vec* like = NULL
    finish(number, scheme, <const Sweep*> sweep, <const Room*> room, state, like)


cdef inline void between_f64(
    Between what, int scheme, const Plan* plan, const void* room, const char* state,
    const void* at_rest, const void* gain,
) noexcept nogil:
    cdef f64vec* like = NULL
    between(what, scheme, plan, <const Room*> room, state, <const f64vec*> at_rest, <const f64vec*> gain, like)


cdef inline void prepare_f64(const Kernels* kernels, Plan* plan) noexcept nogil:
    cdef f64vec* like = NULL
    prepare(plan, like)
    choose(kernels, plan)
    plan.accelerate, plan.finish, plan.between = accelerate_f64, finish_f64, between_f64
    if plan.run == NULL:
        plan.run = row_f64 if in_a_row(plan) else rows_f64 if in_place(plan) else tiles_f64


cdef inline void flow_f32(const ODEPlan* plan, Job* job) noexcept nogil:
    cdef f32vec* wide = NULL
    cdef float* like = NULL
    run(plan, job, like, wide)


cdef inline void flow_f64(const ODEPlan* plan, Job* job) noexcept nogil:
    cdef f64vec* wide = NULL
    cdef double* like = NULL
    run(plan, job, like, wide)


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
    f32.ode.run = flow_f32
    f64.ode.run = flow_f64
