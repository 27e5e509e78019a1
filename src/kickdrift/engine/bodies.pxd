"""The compiled part of a stepper of bodies that steps; the frame loop builds on it."""

cimport cython
from libc.stdint cimport int64_t

from .binding cimport Binding
from .coupled cimport Coupled
from ..kernels.abi.applied cimport Applied
from .events cimport EventStore
from ..kernels.abi.plan cimport Job, Plan
from ..kernels.abi.coupled cimport Coupling, RunCoupled
from .runner cimport Runner
from .slots cimport Slots


cdef class Core(Runner):
    cdef Binding binding    # what is stepped, as the kernels read it
    cdef Plan* plan  # its parts
    cdef const Applied* applied     # forces in users' arrays, or NULL
    cdef Coupled coupled
    cdef const Coupling* coupling   # what is run: coupled bodies, or NULL for the plan
    cdef RunCoupled run_coupled
    cdef bint leaping       # do only those tiles step that reach no static constraint?
    cdef Py_ssize_t item    # bytes of a number
    cdef bint started       # is the history filled?
    cdef Slots slots        # where bodies come and go, or None
    cdef EventStore store   # of those who meet, or None
    cdef double origin      # the time at which origin_tick was
    cdef int64_t origin_tick
    cdef const int64_t* handed  # steps that the clock has counted, to be run by `step`; or NULL, without a clock
    cdef int64_t drawn_tick  # where the last step of a frame ended: elsewhere there is no state before it

    cdef int step_in_frame(self, object n) except -1
    cdef void adopt(self, Binding binding) noexcept
    cdef int turn_clock(self, object rate, object tick, object anew) except -1
    cdef int raise_waiting(self) except -1
    cdef Py_ssize_t run_workspace(self, Py_ssize_t steps) except -1
    cdef Py_ssize_t run_static(self, Py_ssize_t steps) except -1
    cdef int leap(self, Py_ssize_t steps) except -1
    cdef int run_slots(self, Py_ssize_t steps) except -1
    cdef int make_slots(self) except -1
