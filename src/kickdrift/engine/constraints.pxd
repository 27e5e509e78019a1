"""The constraints of a plan, bound."""

from ..kernels.abi.coupled cimport CoupledTable


cdef list bind_constraints(object plan, const CoupledTable* table, Py_ssize_t padded, list known)
