# The kernels for formulas, and for functions of arrays.

from libc.stdint cimport int64_t

from ..abi.formulas cimport Formula
from ..abi.tables cimport Kernels
from ..forces.formulas cimport operate, run_formula
from ..simd.vec cimport f32vec, f64vec, width


cdef inline void operate_f32(
    int code, Py_ssize_t vectors, char* out,
    const char* a, Py_ssize_t a_step, const char* b, Py_ssize_t b_step, const char* c, Py_ssize_t c_step,
) noexcept nogil:
    operate(
        code, vectors, <f32vec*> out, <const f32vec*> a, a_step, <const f32vec*> b, b_step, <const f32vec*> c, c_step
    )


cdef inline int push_f32(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil:
    cdef f32vec* like = NULL
    return run_formula(
        <const Formula*> data, t, first, count, stride, dim, <const char*> x, <const char*> v, NULL, NULL, <char*> out,
        like,
    )


cdef inline int tangent_f32(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept nogil:
    cdef f32vec* like = NULL
    return run_formula(
        <const Formula*> data, t, 0, n, stride, dim, <const char*> x, <const char*> v, <const char*> dx,
        <const char*> dv, <char*> out, like,
    )


cdef inline int flow_f32(
    double t, int64_t first, int64_t count, int64_t dim, const void* y, void* out, void* formula,
) noexcept nogil:
    cdef f32vec* like = NULL
    return run_formula(
        <const Formula*> formula, t, first, count, 0, dim, <const char*> y, NULL, NULL, NULL, <char*> out, like
    )


cdef inline void operate_f64(
    int code, Py_ssize_t vectors, char* out,
    const char* a, Py_ssize_t a_step, const char* b, Py_ssize_t b_step, const char* c, Py_ssize_t c_step,
) noexcept nogil:
    operate(
        code, vectors, <f64vec*> out, <const f64vec*> a, a_step, <const f64vec*> b, b_step, <const f64vec*> c, c_step
    )


cdef inline int push_f64(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil:
    cdef f64vec* like = NULL
    return run_formula(
        <const Formula*> data, t, first, count, stride, dim, <const char*> x, <const char*> v, NULL, NULL, <char*> out,
        like,
    )


cdef inline int tangent_f64(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept nogil:
    cdef f64vec* like = NULL
    return run_formula(
        <const Formula*> data, t, 0, n, stride, dim, <const char*> x, <const char*> v, <const char*> dx,
        <const char*> dv, <char*> out, like,
    )


cdef inline int flow_f64(
    double t, int64_t first, int64_t count, int64_t dim, const void* y, void* out, void* formula,
) noexcept nogil:
    cdef f64vec* like = NULL
    return run_formula(
        <const Formula*> formula, t, first, count, 0, dim, <const char*> y, NULL, NULL, NULL, <char*> out, like
    )


cdef inline void fill_formulas(Kernels* f32, Kernels* f64) noexcept:
    cdef f32vec* narrow = NULL
    cdef f64vec* wide = NULL
    f32.formulas.width = width(narrow)
    f32.formulas.operate = operate_f32
    f32.formulas.flow = flow_f32
    f32.swept.formula = push_f32
    f32.swept.formula_tangent = tangent_f32
    f64.formulas.width = width(wide)
    f64.formulas.operate = operate_f64
    f64.formulas.flow = flow_f64
    f64.swept.formula = push_f64
    f64.swept.formula_tangent = tangent_f64
