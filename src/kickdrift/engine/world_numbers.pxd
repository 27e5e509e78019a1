"""Coefficients of a binding that may differ between the worlds of `Worlds`."""

from .bodies cimport Core


cdef list number_blocks(Core core)
cdef tuple bound_by(Core core)
