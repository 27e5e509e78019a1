# The kernels for bodies that are not left alone.

from libc.stdint cimport int64_t

from ..abi.interactions cimport NBody, Springs
from ..abi.workspace cimport Room
from ..integrators.energy cimport energy_together
from ..integrators.newton_krylov cimport together
from ..simd.vec cimport f32vec, f64vec
from ..forces.interactions cimport n_body, n_body_tangent, springs, springs_tangent
from ..abi.plan cimport Job
from ..loops.coupled cimport run
from ..abi.coupled cimport Sweep, SweptTable
from .joints_table cimport tie_f32, tie_f64


cdef inline void run_f32(const Sweep* sweep, Job* job) noexcept nogil:
    cdef f32vec* like = NULL
    run(sweep, job, like)


cdef inline int springs_f32(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil:
    cdef f32vec* like = NULL
    return springs(dim, stride, <const float*> x, <const float*> v, <float*> out, <const Springs*> data, like)


cdef inline int n_body_f32(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil:
    return n_body(first, count, dim, stride, <const f32vec*> x, <f32vec*> out, <const NBody*> data)


cdef inline int implicit_f32(const void* sweep, Job* job, Py_ssize_t step, const void* room) noexcept nogil:
    cdef f32vec* like = NULL
    return together(<const Sweep*> sweep, job, step, <const Room*> room, like)


cdef inline int energy_f32(const void* sweep, Job* job, Py_ssize_t step, const void* room) noexcept nogil:
    cdef f32vec* like = NULL
    return energy_together(<const Sweep*> sweep, job, step, <const Room*> room, like)


cdef inline int springs_tangent_f32(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept nogil:
    cdef f32vec* like = NULL
    return springs_tangent(
        dim, stride, <const float*> x, <const float*> v, <const float*> dx, <const float*> dv, <float*> out,
        <const Springs*> data, like,
    )


cdef inline int n_body_tangent_f32(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept nogil:
    return n_body_tangent(
        n, dim, stride, <const f32vec*> x, <const f32vec*> dx, <f32vec*> out, <const NBody*> data
    )


cdef inline void run_f64(const Sweep* sweep, Job* job) noexcept nogil:
    cdef f64vec* like = NULL
    run(sweep, job, like)


cdef inline int springs_f64(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil:
    cdef f64vec* like = NULL
    return springs(dim, stride, <const double*> x, <const double*> v, <double*> out, <const Springs*> data, like)


cdef inline int n_body_f64(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil:
    return n_body(first, count, dim, stride, <const f64vec*> x, <f64vec*> out, <const NBody*> data)


cdef inline int implicit_f64(const void* sweep, Job* job, Py_ssize_t step, const void* room) noexcept nogil:
    cdef f64vec* like = NULL
    return together(<const Sweep*> sweep, job, step, <const Room*> room, like)


cdef inline int energy_f64(const void* sweep, Job* job, Py_ssize_t step, const void* room) noexcept nogil:
    cdef f64vec* like = NULL
    return energy_together(<const Sweep*> sweep, job, step, <const Room*> room, like)


cdef inline int springs_tangent_f64(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept nogil:
    cdef f64vec* like = NULL
    return springs_tangent(
        dim, stride, <const double*> x, <const double*> v, <const double*> dx, <const double*> dv, <double*> out,
        <const Springs*> data, like,
    )


cdef inline int n_body_tangent_f64(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept nogil:
    return n_body_tangent(
        n, dim, stride, <const f64vec*> x, <const f64vec*> dx, <f64vec*> out, <const NBody*> data
    )


cdef inline void fill_swept(SweptTable* f32, SweptTable* f64) noexcept:
    f32.run = run_f32
    f32.springs = springs_f32
    f32.n_body = n_body_f32
    f32.tie = tie_f32
    f32.implicit = implicit_f32
    f32.energy = energy_f32
    f32.springs_tangent = springs_tangent_f32
    f32.n_body_tangent = n_body_tangent_f32
    f64.run = run_f64
    f64.springs = springs_f64
    f64.n_body = n_body_f64
    f64.tie = tie_f64
    f64.implicit = implicit_f64
    f64.energy = energy_f64
    f64.springs_tangent = springs_tangent_f64
    f64.n_body_tangent = n_body_tangent_f64
