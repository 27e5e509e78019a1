"""Expressions, as the kernels run them."""

from ..kernels.abi.formulas cimport Formula, Operand, Operation


cdef class BoundFormula:
    cdef Formula formula
    cdef Operand* operand
    cdef Operation* operation
    cdef list arrays        # that it points into
    cdef list places        # (name, array): positions of named numbers, one array per row

    @staticmethod
    cdef BoundFormula of(tuple coded, object dtype)
