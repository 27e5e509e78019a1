# The kernels for steps that look at all components of a body at once.

from ..abi.newton cimport Newton
from ..integrators.newton cimport energy_step, implicit_step
from ..abi.plan cimport Plan
from ..abi.tables cimport Kernels


cdef inline bint implicit_f32(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, void* x, void* v, Newton* state,
) noexcept nogil:
    return implicit_step(plan, first, count, <float*> x, <float*> v, state)


cdef inline bint implicit_f64(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, void* x, void* v, Newton* state,
) noexcept nogil:
    return implicit_step(plan, first, count, <double*> x, <double*> v, state)


cdef inline bint energy_f32(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, void* x, void* v, Newton* state,
) noexcept nogil:
    energy_step(plan, first, count, <float*> x, <float*> v)
    return True


cdef inline bint energy_f64(
    const Plan* plan, Py_ssize_t first, Py_ssize_t count, void* x, void* v, Newton* state,
) noexcept nogil:
    energy_step(plan, first, count, <double*> x, <double*> v)
    return True


cdef inline void fill_bodies(Kernels* f32, Kernels* f64) noexcept:
    f32.implicit_euler = implicit_f32
    f32.energy_euler = energy_f32
    f64.implicit_euler = implicit_f64
    f64.energy_euler = energy_f64
