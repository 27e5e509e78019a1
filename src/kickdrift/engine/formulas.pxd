"""Formulas as the kernels run them."""

from ..kernels.abi.formulas cimport Formula, Operand, Operation


cdef class BoundFormula:
    cdef Formula formula
    cdef Operand* operand
    cdef Operation* operation
    cdef list arrays        # that it points into
    cdef list places        # (name, array): where what has a name lies, in each row again

    @staticmethod
    cdef BoundFormula of(tuple coded, object dtype)
