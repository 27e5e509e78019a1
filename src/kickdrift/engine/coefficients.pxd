"""Coefficients as the kernels read them."""

from ..kernels.abi.constraints cimport Torus
from ..kernels.abi.plan cimport Field, Plan

cdef Field field(const Plan* plan, object values, list arrays) except *
cdef object space(Torus* torus, object model)
