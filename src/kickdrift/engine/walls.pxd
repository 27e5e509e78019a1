"""What holds the bodies after each step, as the kernels call it."""

from libc.stdint cimport int64_t

from ..kernels.abi.constraints cimport ConstraintCall, Each, Shapes, Wall
from ..kernels.abi.coupled cimport CoupledTable
from ..kernels.abi.crew cimport Crew
from ..kernels.abi.events cimport Told
from .slots cimport Links


cdef class BoundConstraint:
    cdef ConstraintCall constraint
    cdef double cost        # of holding all bodies, in nanoseconds
    cdef Py_ssize_t sharers     # threads that have enough to do with work that it hands out
    cdef bint static        # does it constrain each body by itself?
    cdef bint shares        # has it a workspace that threads would share?
    cdef list kept          # the arrays that its data points to
    cdef dict places        # by name, of the fields that may be written again: where their numbers lie, (1, count)
    cdef object tenants     # for which bodies it is, or None
    cdef object last        # of these
    cdef list tied          # while it is bound: other rods, whose stages serve where they have the same pairs

    cdef Told told          # what it has to report, where anybody wants to know

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1
    cdef int each(self, Each* each, dict fields, str name, object dtype) except -1
    cdef int listen(self, object kind, int64_t n) except -1
    cdef void hear(self, Told* told) noexcept
    cdef void* allocate(self, object shape, object dtype) except NULL
    cdef void* keep(self, object array, object dtype) except NULL
    cdef void* field(self, dict fields, str name, object dtype) except NULL
    cdef int lay_shapes(self, Shapes* shapes, dict fields, object dtype) except -1
    cdef int find_links(self, Links links) except -1
    cdef void take_crew(self, Crew* crew) noexcept


# Base of what bodies are kept out of.
cdef class BoundSolid(BoundConstraint):
    cdef object weight

    cdef int weigh(self, const void** field, object values, object dtype) except -1
    cdef int bind_wall(self, Wall* wall, dict fields, object dtype) except -1
