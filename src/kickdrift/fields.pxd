"""Coefficients as the kernels read them."""

from .kernels.plan cimport Field, Plan

cdef Field field(const Plan* plan, object values, list arrays) except *
