"""What pushes many bodies at once, as the kernels call it."""

from .kernels.sweptplan cimport PushFunction


cdef class BoundPush:
    cdef PushFunction function
    cdef void* data
    cdef bint whole         # does it want all bodies at once?
    cdef bint python        # does it want the GIL?
    cdef bint shared        # may several threads call it at once?
    cdef double cost        # of evaluating it for all bodies, in nanoseconds
    cdef object keep        # what the data belongs to
    cdef object error       # what it raised last, or None


cdef class PythonPush(BoundPush):
    cdef object term
    cdef object call
    cdef tuple views        # position, velocity and out as the function sees them

    cdef int show(self, object x, object v, object out) except -1


cdef BoundPush bind_push(object push, object plan)
