"""What pushes many bodies at once, bound: a C function and what it works on, for each kind of push."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t


cdef class BoundPush:
    """Base: a C function of a push; it holds on to all that its data points to."""


cdef class PythonPush(BoundPush):
    """A Python function, which is called for all bodies at once."""

    cdef int show(self, object x, object v, object out) except -1:
        """The planes of all bodies that the function is to be called with, shape (n, dim)."""
        for array in (x, v):
            array.flags.writeable = False
        self.views = x, v, out
        return 0


cdef int call_python(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept with gil:
    cdef PythonPush push = <PythonPush> data
    try:
        position, velocity, to = push.views
        result = push.call(t, position, velocity, to)
        if result is not None:
            push.term.check_result(result)
        PyErr_CheckSignals()
    except BaseException as error:
        push.error = error
        return 1
    return 0


cdef BoundPush bind_python(object push, object plan):
    cdef PythonPush bound = PythonPush()
    bound.term, bound.call = push.term, push.term.function
    bound.function, bound.data = call_python, <void*> bound
    bound.whole = bound.python = True
    return bound


cdef BoundPush bind_native(object push, object plan):
    cdef BoundPush bound = BoundPush()
    bound.keep = push.term
    bound.function = <PushFunction> <size_t> push.term.pointer.address
    bound.data = <void*> <size_t> push.term.data
    bound.shared = push.term.threadsafe
    bound.cost = 10.0 * plan.n
    return bound


cdef BoundPush bind_push(object push, object plan):
    """The C function of a push of a plan."""
    return (bind_native if push.kind == "native" else bind_python)(push, plan)
