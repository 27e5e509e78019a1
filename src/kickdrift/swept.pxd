"""Steps in which many bodies are pushed at once, or held."""

from .core cimport Core
from .kernels.holdplan cimport Hold
from .kernels.plan cimport Plan
from .kernels.sweptplan cimport Push, Sweep, SweptTable


cdef class Swept(Core):
    cdef const SweptTable* swept    # NULL where bodies are left alone
    cdef Sweep sweep
    cdef list bound_pushes, bound_holds
    cdef Push* push
    cdef Hold* hold
    cdef Plan[2] whole              # the plan of the bodies in the room, for each place of their state
    cdef object room                # the registers of all bodies, or None where tiles are on their own
    cdef object newton              # the registers of implicit steps, or None
    cdef list planes                # position, velocity and history in the room, for each place
    cdef double looked              # when Ctrl-C was looked for

    cdef int bind_pushes(self) except -1
    cdef int bind_room(self) except -1
    cdef int bind_implicit(self) except -1
    cdef int go_whole(self, Py_ssize_t steps) except -1
    cdef int enter(self) except -1
    cdef int leave(self, Py_ssize_t steps) except -1
