"""What holds the bodies after each step, as the kernels call it."""

from .kernels.holdplan cimport HoldFunction
from .kernels.sweptplan cimport SweptTable


cdef class BoundHold:
    cdef HoldFunction function
    cdef const void* data
    cdef double cost        # of holding all bodies, in nanoseconds
    cdef list kept          # the arrays that data points to
    cdef object last        # of these

    cdef void* room(self, object shape, object dtype) except NULL
    cdef void* keep(self, object array, object dtype) except NULL


cdef list bind_holds(object plan, const SweptTable* table, Py_ssize_t padded)
