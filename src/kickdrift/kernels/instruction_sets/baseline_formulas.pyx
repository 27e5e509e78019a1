"""Part of an instruction set's module: kernels of formulas and of functions of arrays.

The linker keeps only `kickdrift_fill_formulas` and its callees; this is never imported as a module.
"""

from libc.stdint cimport int64_t

from ..simd.rounding cimport rounds
from ..simd.vec cimport f32vec, f64vec, vec, width
from ..abi.coupled cimport InteractionFunction, Kernels, NoisyFunction, NoisyTangent, TangentFunction
from ..abi.formulas cimport FlowFunction, Formula, Operate
from ..forces.formulas cimport operate_once, run_formula

# Kernels of formulas and of functions of arrays.

cdef inline int add_formula(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const vec* x, const vec* v, vec* out, const Formula* data,
) noexcept nogil:
    return add_noisy_formula(t, first, count, dim, stride, x, v, out, data, 0)


cdef inline int add_noisy_formula(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const vec* x, const vec* v, vec* out, const Formula* data, int64_t tick,
) noexcept nogil:
    return run_formula(
        data, t, first, count, stride, dim, <const char*> x, <const char*> v, NULL, NULL, <char*> out, tick, out
    )


cdef inline int change_formula(
    double t, int64_t n, int64_t dim, int64_t stride,
    const vec* x, const vec* v, const vec* dx, const vec* dv, vec* out, const Formula* data,
) noexcept nogil:
    return change_noise(t, n, dim, stride, x, v, dx, dv, out, data, 0)


cdef inline int change_noise(
    double t, int64_t n, int64_t dim, int64_t stride,
    const vec* x, const vec* v, const vec* dx, const vec* dv, vec* out, const Formula* data, int64_t tick,
) noexcept nogil:
    return run_formula(
        data, t, 0, n, stride, dim, <const char*> x, <const char*> v, <const char*> dx, <const char*> dv, <char*> out,
        tick, out,
    )


cdef inline int flow_formula(
    double t, int64_t first, int64_t count, int64_t dim, const vec* y, vec* out, const Formula* formula,
) noexcept nogil:
    return run_formula(formula, t, first, count, 0, dim, <const char*> y, NULL, NULL, NULL, <char*> out, 0, out)


cdef inline void fill_formulas(Kernels* kernels, vec* like) noexcept nogil:
    """Fill the function table for the number type of `like`."""
    kernels.formulas.width = width(like)
    kernels.formulas.operate = <Operate> operate_once[vec]
    kernels.formulas.flow = <FlowFunction> flow_formula[vec]
    kernels.coupled.formula = <InteractionFunction> add_formula[vec]
    kernels.coupled.formula_tangent = <TangentFunction> change_formula[vec]
    kernels.coupled.noisy_formula = <NoisyFunction> add_noisy_formula[vec]
    kernels.coupled.noisy_formula_tangent = <NoisyTangent> change_noise[vec]


cdef public bint kickdrift_fill_formulas(void* kernels) noexcept nogil:
    """Fill the tables for float and double; return whether this part rounds as IEEE 754 says."""
    fill_formulas(<Kernels*> kernels, <f32vec*> NULL)
    fill_formulas(<Kernels*> kernels + 1, <f64vec*> NULL)
    return rounds()
