"""EventStore: the events of a stepper, in memory that is made once."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..kernels.abi.events cimport EVENT_NUMBERS, Told
from ..kernels.simd.rounding cimport require_rounding

import numpy as np

require_rounding(__name__)


cdef class EventStore:
    """As many events as were asked for, in rows that kernels write to."""

    def __init__(self, object asked, int dim):
        from ..stepper.events import fields  # few programs have events
        self.dtype = fields(dim)
        self.numbers = EVENT_NUMBERS + 2 * dim
        self.rows = np.zeros((asked.capacity, self.numbers), np.int64)
        self.log.row = <int64_t*> <size_t> self.rows.ctypes.data
        self.log.capacity = asked.capacity
        self.log.hits_above = asked.hits_above
        self.log.begin, self.log.end = asked.begin, asked.end

    def take(self):
        """All events, which are not kept any longer."""
        taken = self.rows[: self.log.count].copy().view(self.dtype).reshape(self.log.count)
        self.log.count = 0
        return taken

    @property
    def dropped(self):
        return self.log.dropped

    cdef void cut(self, int64_t tick) noexcept:
        """Forget what was after a tick."""
        while self.log.count > 0 and self.log.row[(self.log.count - 1) * self.numbers] > tick:
            self.log.count -= 1


cdef class Touches:
    """Those who are to touch, prepared so that taking them over runs no Python code."""

    def __init__(self, object given):
        self.kept = [(source, np.ascontiguousarray(keys, np.int64)) for source, keys in given]
        self.source = np.array([source for source, _ in self.kept], np.int64)
        self.count = np.array([len(keys) for _, keys in self.kept], np.int64)
        self.place = np.array([keys.ctypes.data for _, keys in self.kept], np.int64)
        self.sources = len(self.kept)
        self.source_at = <const int64_t*> <size_t> self.source.ctypes.data
        self.count_at = <const int64_t*> <size_t> self.count.ctypes.data
        self.place_at = <const int64_t*> <size_t> self.place.ctypes.data

    cdef void execute(self, Told* told) noexcept:
        """Those of one constraint."""
        cdef int64_t number
        told.count = 0
        for number in range(self.sources):
            if self.source_at[number] == told.source:
                told.count = min(self.count_at[number], told.capacity)
                memcpy(told.touching, <const void*> <size_t> self.place_at[number], told.count * sizeof(int64_t))


cdef object keys_of(const Told* told):
    """The keys of those who touch, as a copy."""
    keys = np.empty(told.count, np.int64)
    memcpy(<void*> <size_t> keys.ctypes.data, told.touching, told.count * sizeof(int64_t))
    return keys
