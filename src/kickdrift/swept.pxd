"""Steps in which Python forces are called."""

from libc.stdint cimport int64_t

from .core cimport Core

cdef enum:
    MOST_CALLBACKS = 64
    MOST_STAGES = 64


cdef class Swept(Core):
    cdef list callbacks         # pairs of term and function, or None
    cdef list factors           # their masses, or 1 and 0, a number per body
    cdef const char* factor[MOST_CALLBACKS]
    cdef bint divided[MOST_CALLBACKS]
    cdef object room            # the registers and what functions write to, in one array
    cdef object saved_state     # the registers x, v and s of the last completed step
    cdef tuple views            # position, velocity and out as functions see them
    cdef double origin          # the time at which origin_tick was
    cdef int64_t origin_tick
    cdef char* registers
    cdef char* aside
    cdef Py_ssize_t padded      # numbers in a row of a register
    cdef Py_ssize_t size        # bytes of a register
    cdef double after[MOST_STAGES]  # when a stage evaluates, in seconds after the tick

    cdef int bind_callbacks(self) except -1
    cdef int begin(self) except -1
    cdef int store(self) except -1
    cdef int keep_state(self, bint back) except -1
    cdef int one_step(self) except -1
    cdef int evaluate(self, double t) except -1
    cdef void sweep(self, int scheme, int number) noexcept
    cdef double now(self) noexcept
