"""EventStore: the events of a stepper, in memory of fixed capacity."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..kernels.abi.events cimport EVENT_NUMBERS, EventSource
from ..kernels.simd.rounding cimport require_rounding
from .slots cimport address

import numpy as np

require_rounding(__name__)


cdef class EventStore:
    """Buffer of a fixed number of event rows, which kernels write."""

    def __init__(self, object asked, int dim):
        from ..stepper.events import fields  # imported late: few programs use events
        self.dtype = fields(dim)
        self.numbers = EVENT_NUMBERS + 2 * dim
        self.rows = np.zeros((asked.capacity, self.numbers), np.int64)
        self.log.row = <int64_t*> <size_t> self.rows.ctypes.data
        self.log.capacity = asked.capacity
        self.log.hits_above = asked.hits_above
        self.log.begin, self.log.end = asked.begin, asked.end

    def take(self):
        """Return all events and clear the store."""
        taken = np.empty(self.log.count, self.dtype)
        if self.log.count > 0:  # fast path: without events, `address` of a structured array would take half the time
            memcpy(address(taken), self.log.row, self.log.count * self.numbers * sizeof(int64_t))
        self.log.count = 0
        return taken

    @property
    def dropped(self):
        return self.log.dropped

    cdef void cut(self, int64_t tick) noexcept:
        """Drop all events later than `tick`."""
        while self.log.count > 0 and self.log.row[(self.log.count - 1) * self.numbers] > tick:
            self.log.count -= 1


cdef class Touches:
    """Touching pairs to restore, prepared before the commit, so that `execute` runs no Python code."""

    def __init__(self, object given):
        self.kept = [(source, np.ascontiguousarray(keys, np.int64)) for source, keys in given]
        self.source = np.array([source for source, _ in self.kept], np.int64)
        self.count = np.array([len(keys) for _, keys in self.kept], np.int64)
        self.place = np.array([keys.ctypes.data for _, keys in self.kept], np.int64)
        self.sources = len(self.kept)
        self.source_at = <const int64_t*> <size_t> self.source.ctypes.data
        self.count_at = <const int64_t*> <size_t> self.count.ctypes.data
        self.place_at = <const int64_t*> <size_t> self.place.ctypes.data

    cdef void execute(self, EventSource* events) noexcept:
        """Set the touching pairs of the constraint that records into `events`."""
        cdef int64_t number
        events.count = 0
        for number in range(self.sources):
            if self.source_at[number] == events.source:
                events.count = min(self.count_at[number], events.capacity)
                memcpy(events.touching, <const void*> <size_t> self.place_at[number], events.count * sizeof(int64_t))


cdef object keys_of(const EventSource* events):
    """Return a copy of the keys of the touching pairs."""
    keys = np.empty(events.count, np.int64)
    memcpy(<void*> <size_t> keys.ctypes.data, events.touching, events.count * sizeof(int64_t))
    return keys
