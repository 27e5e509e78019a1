"""Coefficients as the kernels read them."""

from ..kernels.abi.constraints cimport Torus
from ..kernels.abi.plan cimport Field, Plan

cdef Field of_numbers(
    const Plan* plan, const double* numbers, int count, Py_ssize_t item, bint flat, list arrays,
) except *
cdef Field field(const Plan* plan, object values, list arrays) except *
cdef object space(Torus* torus, object model)
