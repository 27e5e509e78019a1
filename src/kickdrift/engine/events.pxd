"""Contact events, passed from kernels to Python."""

from libc.stdint cimport int64_t

from ..kernels.abi.events cimport Log, EventSource


cdef class EventStore:
    cdef Log log
    cdef int64_t numbers        # 64-bit numbers per event
    cdef object rows, dtype

    cdef void cut(self, int64_t tick) noexcept


cdef class Touches:
    cdef object kept, source, count, place
    cdef int64_t sources
    cdef const int64_t* source_at
    cdef const int64_t* count_at
    cdef const int64_t* place_at

    cdef void execute(self, EventSource* events) noexcept


cdef object keys_of(const EventSource* events)
