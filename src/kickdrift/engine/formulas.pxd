"""Bound expressions: bytecode for the kernels."""

from ..kernels.abi.formulas cimport Formula, Operand, Operation


cdef class BoundFormula:
    cdef Formula formula
    cdef Operand* operand
    cdef Operation* operation
    cdef list arrays        # memory that it points to
    cdef list places        # (name, array) of each coefficient with one value for all bodies: where to write new values

    @staticmethod
    cdef BoundFormula of(tuple coded, object dtype)
