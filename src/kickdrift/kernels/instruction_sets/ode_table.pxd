# The kernels for y' = f(t, y), but for the explicit schemes of built-in flows.

from ..simd.vec cimport f32vec, f64vec
from ..ode.newton cimport solve
from ..abi.ode cimport Newton, ODEPlan, ODETable
from ..ode.steps cimport check, correct, finite, first_bad, increments, quotients, set_step, sweep
from ..abi.plan cimport Job


cdef inline void solve_f32(const ODEPlan* plan, Job* job) noexcept nogil:
    cdef f32vec* wide = NULL
    cdef float* like = NULL
    solve(plan, job, like, wide)


cdef inline void sweep_f32(
    const ODEPlan* plan, int stage, Py_ssize_t count, const char* k, const char* y, char* u, char* s,
) noexcept nogil:
    cdef float* like = NULL
    cdef f32vec constants[4]
    set_step(plan.h, like, constants)
    sweep(plan, stage, constants, count, <const f32vec*> k, <const f32vec*> y, <f32vec*> u, <f32vec*> s, like)


cdef inline Py_ssize_t bad_f32(Py_ssize_t n, Py_ssize_t dim, const char* y) noexcept nogil:
    if finite(n * dim, <const f32vec*> y):
        return -1
    return first_bad(n, dim, <const float*> y, dim, 1)


cdef inline Py_ssize_t check_f32(Newton* newton, int iteration, bint last) noexcept nogil:
    cdef float* like = NULL
    return check(newton, iteration, last, like)


cdef inline void correct_f32(Newton* newton) noexcept nogil:
    cdef float* like = NULL
    correct(newton, like)


cdef inline void increments_f32(
    Newton* newton, Py_ssize_t column, double share, double floor, char* moved,
) noexcept nogil:
    increments(newton, column, share, floor, <float*> moved)


cdef inline void quotients_f32(Newton* newton, Py_ssize_t column, const char* moved, const char* k) noexcept nogil:
    quotients(newton, column, <const float*> moved, <const float*> k)


cdef inline void solve_f64(const ODEPlan* plan, Job* job) noexcept nogil:
    cdef f64vec* wide = NULL
    cdef double* like = NULL
    solve(plan, job, like, wide)


cdef inline void sweep_f64(
    const ODEPlan* plan, int stage, Py_ssize_t count, const char* k, const char* y, char* u, char* s,
) noexcept nogil:
    cdef double* like = NULL
    cdef f64vec constants[4]
    set_step(plan.h, like, constants)
    sweep(plan, stage, constants, count, <const f64vec*> k, <const f64vec*> y, <f64vec*> u, <f64vec*> s, like)


cdef inline Py_ssize_t bad_f64(Py_ssize_t n, Py_ssize_t dim, const char* y) noexcept nogil:
    if finite(n * dim, <const f64vec*> y):
        return -1
    return first_bad(n, dim, <const double*> y, dim, 1)


cdef inline Py_ssize_t check_f64(Newton* newton, int iteration, bint last) noexcept nogil:
    cdef double* like = NULL
    return check(newton, iteration, last, like)


cdef inline void correct_f64(Newton* newton) noexcept nogil:
    cdef double* like = NULL
    correct(newton, like)


cdef inline void increments_f64(
    Newton* newton, Py_ssize_t column, double share, double floor, char* moved,
) noexcept nogil:
    increments(newton, column, share, floor, <double*> moved)


cdef inline void quotients_f64(Newton* newton, Py_ssize_t column, const char* moved, const char* k) noexcept nogil:
    quotients(newton, column, <const double*> moved, <const double*> k)


cdef inline void fill_ode(ODETable* f32, ODETable* f64) noexcept:
    f32.solve = solve_f32
    f32.sweep = sweep_f32
    f32.bad = bad_f32
    f32.check = check_f32
    f32.correct = correct_f32
    f32.increments = increments_f32
    f32.quotients = quotients_f32
    f64.solve = solve_f64
    f64.sweep = sweep_f64
    f64.bad = bad_f64
    f64.check = check_f64
    f64.correct = correct_f64
    f64.increments = increments_f64
    f64.quotients = quotients_f64
