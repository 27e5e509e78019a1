"""The numbers of a binding that may differ from world to world."""

from .bodies cimport Core


cdef list number_blocks(Core core)
cdef tuple bound_by(Core core)
