"""Snapshots of header and arrays, in one go: most of them are that.

rollback/snapshots.py says what they are. What is anything else, or damaged, is left to it, and so are the errors.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from .bodies cimport Core
from .runner cimport copy_array
from ..kernels.abi.plan cimport Array
from ..kernels.simd.rounding cimport require_rounding

import sys
from zlib import crc32

import numpy as np

from ..rollback import snapshots

require_rounding(__name__)

cdef bint LITTLE = sys.byteorder == "little"    # which snapshots are
cdef bytes MAGIC = snapshots.MAGIC
cdef int64_t TICKS = snapshots.TICKS
# The magnitudes of steps that a history may span, in float64 and float32.
cdef double[2] LEAST = [float(np.finfo(np.float64).tiny), float(np.finfo(np.float32).tiny)]
cdef double[2] MOST = [float(np.finfo(np.float64).max), float(np.finfo(np.float32).max)]

cdef enum:
    PROLOGUE = 16           # magic and version, length of the header, CRC-32 of what follows of it
    NUMBERS = 48
    HEADER = 64             # both


# What follows the prologue; then comes the text.
ctypedef struct Numbers:
    int64_t tick
    int64_t clock_tick      # -1: no clock
    int64_t started
    int64_t text            # its length
    double last_h
    uint64_t checksum


cdef inline void write_prologue(char* to, const char* magic, Py_ssize_t text, uint32_t check) noexcept nogil:
    cdef uint32_t length = <uint32_t> (HEADER + text)
    memcpy(to, magic, 8)
    memcpy(to + 8, &length, 4)
    memcpy(to + 12, &check, 4)


cdef inline bint begins_with(
    const char* data, Py_ssize_t size, const char* magic, const char* text, Py_ssize_t length,
) noexcept nogil:
    """Does a snapshot begin as one with this text, whatever its numbers are? The CRC-32 is to be checked yet."""
    cdef uint32_t header
    if size < HEADER + length or memcmp(data, magic, 8) != 0 or memcmp(data + HEADER, text, length) != 0:
        return False
    memcpy(&header, data + 8, 4)
    return header == HEADER + length


cdef inline uint32_t check_of(const char* data) noexcept nogil:
    cdef uint32_t check
    memcpy(&check, data + 12, 4)
    return check


cdef bytes text_of(Core self):
    """The text of a snapshot that consists of header and arrays; None where there would be sections."""
    cdef dict own = self.__dict__
    cdef tuple known
    if not LITTLE or self.slots is not None or self.store is not None or self.applied != NULL:
        return None
    plan = self._plan   # with what waits to be told to it
    known = own.get("_alone")
    if known is None or not (
        known[0] is plan and known[1] is own["_exact_dt"] and known[2] is own["_origin"]
        and known[3] == self.origin_tick and known[4] is own["_offset"] and own.get("_slots") is None
    ):
        known = own["_alone"] = snapshots.alone(self)
    return known[5]


cdef uint64_t digest_all(Core self, const char* data, Py_ssize_t rows) noexcept nogil:
    cdef Array whole
    whole.data, whole.body, whole.component = <char*> data, self.plan.dim * self.item, self.item
    return self.kernels.digest(&whole, rows, self.plan.dim, 0, NULL)


def snapshot_alone(Core self):
    """`snapshots.save` of a stepper that has no sections to add; None for others."""
    cdef bytes text = text_of(self)
    cdef bytes data
    cdef bint history = self.started and self.plan.s.data != NULL
    cdef Py_ssize_t size = self.plan.n * self.plan.dim * self.item
    cdef Py_ssize_t length
    cdef Numbers numbers
    cdef char* start
    cdef Array to
    if text is None:
        return None
    length = PyBytes_GET_SIZE(text)
    data = PyBytes_FromStringAndSize(NULL, HEADER + length + (2 + history) * size)
    start = PyBytes_AS_STRING(data)
    to.data, to.body, to.component = start + HEADER + length, self.plan.dim * self.item, self.item
    copy_array(&to, &self.plan.x, self.plan.n, self.plan.dim, self.item)
    to.data += size
    copy_array(&to, &self.plan.v, self.plan.n, self.plan.dim, self.item)
    to.data += size
    if history:
        copy_array(&to, &self.plan.s, self.plan.n, self.plan.dim, self.item)
    clock = self.__dict__.get("_clock")
    numbers.tick, numbers.clock_tick = self.completed, -1 if clock is None else clock.tick
    numbers.started, numbers.text = self.started, length
    numbers.last_h = self.plan.last_h if self.started else self.__dict__["_dt"]
    numbers.checksum = digest_all(self, start + HEADER + length, (2 + history) * self.plan.n)
    memcpy(start + PROLOGUE, &numbers, NUMBERS)
    memcpy(start + HEADER, PyBytes_AS_STRING(text), length)
    write_prologue(start, MAGIC, length, crc32(PyBytes_FromStringAndSize(start + PROLOGUE, NUMBERS + length)))
    return data


def restored_alone(Core self, snapshot, bint clock_tick):
    """`restore` of such a snapshot of this stepper; False, changing nothing, for any other and for damaged ones."""
    cdef bytes text
    cdef const char* data
    cdef const char* arrays
    cdef Py_ssize_t length
    cdef Py_ssize_t size = self.plan.n * self.plan.dim * self.item
    cdef bint history
    cdef Numbers numbers
    cdef Array source
    cdef double spanned = self.plan.last_h
    if type(snapshot) is not bytes:
        return False
    text = text_of(self)
    if text is None:
        return False
    length, data = PyBytes_GET_SIZE(text), PyBytes_AS_STRING(snapshot)
    if not begins_with(data, PyBytes_GET_SIZE(snapshot), MAGIC, PyBytes_AS_STRING(text), length):
        return False
    if crc32(PyBytes_FromStringAndSize(data + PROLOGUE, NUMBERS + length)) != check_of(data):
        return False
    memcpy(&numbers, data + PROLOGUE, NUMBERS)
    history = numbers.started == 1 and self.plan.s.data != NULL
    arrays = data + HEADER + length
    if not (
        self.origin_tick <= numbers.tick < TICKS and -1 <= numbers.clock_tick < TICKS
        and 0 <= numbers.started <= 1 and numbers.text == length
        and PyBytes_GET_SIZE(snapshot) == HEADER + length + (2 + history) * size
    ):
        return False
    if numbers.started:
        if not LEAST[self.single] <= fabs(numbers.last_h) <= MOST[self.single]:
            return False
    elif numbers.last_h != <double> self.__dict__["_dt"]:
        return False
    if digest_all(self, arrays, (2 + history) * self.plan.n) != numbers.checksum:
        return False
    if clock_tick and numbers.clock_tick >= 0 and self.__dict__.get("_clock") is not None:
        self.turn_clock(None, numbers.clock_tick, None)
    # From here on no Python code runs.
    source.data, source.body, source.component = <char*> arrays, self.plan.dim * self.item, self.item
    copy_array(&self.plan.x, &source, self.plan.n, self.plan.dim, self.item)
    source.data += size
    copy_array(&self.plan.v, &source, self.plan.n, self.plan.dim, self.item)
    source.data += size
    if history:
        copy_array(&self.plan.s, &source, self.plan.n, self.plan.dim, self.item)
    self.completed, self.started, self.drawn_tick = numbers.tick, numbers.started, -1
    self.plan.last_h = numbers.last_h if numbers.started else self.plan.h
    if self.plan.last_h != spanned:
        self.binding.prepare()
    return True
