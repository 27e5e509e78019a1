"""What holds the bodies after each step, as the kernels call it."""

from libc.stdint cimport int64_t

from ..kernels.abi.constraints cimport ConstraintCall, Each, Shapes, Wall
from ..kernels.abi.coupled cimport CoupledTable
from ..kernels.abi.crew cimport Crew
from ..kernels.abi.events cimport Told
from .slots cimport Ends, Links


# What all constraints of a binding have in common, as kernels read it.
ctypedef struct Common:
    const void* weight          # 1/m of each body, 0 for those that nothing moves; or NULL
    const void* at_rest         # of each body, or NULL
    int64_t walls               # that bodies are kept off
    const ConstraintCall* wall


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
    cdef object order       # of the numbers in these places, or None where it is that of the fields
    cdef Ends ends          # what ends with bodies, or None

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
    cdef void join(self, const Common* common) noexcept
    cdef bint serves(self, object plan)
    cdef void take_crew(self, Crew* crew) noexcept
    cdef int bind_wall(self, Wall* wall, dict fields, object dtype) except -1
