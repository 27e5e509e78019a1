"""Core, the compiled base of Stepper that runs steps. Its subclass Frames adds the frame loop."""

cimport cython
from libc.stdint cimport int64_t

from .binding cimport Binding
from .coupled cimport Coupled
from ..kernels.abi.plan cimport Applied, Plan
from .events cimport EventStore
from ..kernels.abi.coupled cimport Coupling, RunCoupled
from .runner cimport Runner
from .rotation cimport BoundRotation
from .slots cimport Slots


cdef class Core(Runner):
    cdef Binding binding    # the current model as C structs
    cdef Plan* plan  # part of the binding
    cdef const Applied* applied     # forces in arrays of the user, or NULL
    cdef Coupled coupled
    cdef const Coupling* coupling   # data of coupled bodies; NULL: no coupling, `plan` has all data
    cdef RunCoupled run_coupled
    cdef bint leaping       # True: `call` steps only the tiles that touch no constraint
    cdef Py_ssize_t item    # bytes of a number
    cdef bint started       # True if the history is initialised
    cdef BoundRotation rotation     # None: bodies do not rotate
    cdef Slots slots        # None before the first spawn or kill, unless created with `alive`
    cdef EventStore store   # events that the user has not read yet; None: events are off
    cdef double origin      # time at origin_tick
    cdef int64_t origin_tick
    cdef const int64_t* handed  # steps due in the current frame that `step` has not run yet; NULL: no clock
    cdef list known         # state before the last step, to detect rest; None if bodies cannot sleep
    cdef bint still         # True if the last step changed no bit of the state: the next ones can be skipped
    cdef int64_t drawn_tick  # tick at the end of the last frame: the saved previous state is valid only at this tick

    cdef int step_in_frame(self, object n) except -1
    cdef void adopt(self, Binding binding) noexcept
    cdef int turn_clock(self, object rate, object tick, object anew) except -1
    cdef int raise_waiting(self) except -1
    cdef list whole_state(self)
    cdef Py_ssize_t run_awake(self) except -1
    cdef Py_ssize_t run_some(self, Py_ssize_t steps) except -1
    cdef Py_ssize_t run_workspace(self, Py_ssize_t steps) except -1
    cdef Py_ssize_t run_function(self, Py_ssize_t steps) except -1
    cdef Py_ssize_t conclude(self) except -1
    cdef Py_ssize_t run_static(self, Py_ssize_t steps) except -1
    cdef int leap(self, Py_ssize_t steps) except -1
    cdef void prepare_job(self, Py_ssize_t steps) noexcept nogil
    cdef void count(self, Py_ssize_t steps) noexcept nogil
    cdef void begin_rotation(self) noexcept nogil
    cdef int make_slots(self) except -1
