"""Bound constraints of a plan."""

from ..kernels.abi.coupled cimport CoupledTable
from .walls cimport BoundConstraint


cdef BoundConstraint bind_constraint(object constraint, object plan, const CoupledTable* table, Py_ssize_t padded)
