"""Frame loop: converts frame times to steps, and interpolates between two steps for drawing."""

from libc.stdint cimport int64_t

from .bodies cimport Core
from ..clock.clockwork cimport Clockwork
from ..kernels.abi.constraints cimport Torus
from ..kernels.abi.plan cimport Array
from ..kernels.interpolation cimport Weights


cdef class Frames(Core):
    cdef Clockwork own             # the stepper's own clock, or None before its first use; see `handed` of Core
    cdef list previous              # saved state before the last step of a frame, for interpolation; or None
    cdef object around      # owner of the numbers that `torus` points to, or None
    cdef Torus torus
    cdef Array before[2]    # the previous-state buffers, while kernels write them
    cdef object measured    # monotonic ns of the last frame without an explicit time, or None

    cdef object seconds_of(self, object seconds)
    cdef int64_t frame(self, Clockwork clock, object seconds) except -1
    cdef int follow(self, Clockwork clock) except -1
    cdef int last_step(self, int64_t substeps) except -1
    cdef void put(self, const Array* to, Py_ssize_t row, const Array* source, Py_ssize_t source_row) noexcept nogil
    cdef bint kept_by_steps(self, int64_t substeps) noexcept
    cdef int reserve(self) except -1
    cdef int keep(self) except -1
    cdef list drawn_state(self)
    cdef bint has_previous(self) noexcept
    cdef object drawn(self, object alpha, object out, object mode, bint living)
    cdef void draw_active(
        self, const Array* x, const Array* v, const Array* target, const Weights* weights, bint single, bint living,
        bint beyond,
    ) noexcept
    cdef void draw_rows(
        self, const Array* x, const Array* v, const Array* target, Py_ssize_t first, Py_ssize_t to, Py_ssize_t count,
        const Weights* weights, bint single,
    ) noexcept
