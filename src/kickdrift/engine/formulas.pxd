"""Bound expressions: bytecode for the kernels."""

from ..kernels.abi.formulas cimport Formula, Operand, Operation


cdef class BoundFormula:
    cdef Formula formula
    cdef Operand* operand
    cdef Operation* operation
    cdef list arrays        # memory that `formula` points to
    cdef list places        # (name, writable array) of each coefficient with one value for all bodies

    @staticmethod
    cdef BoundFormula of(tuple coded, object dtype)
