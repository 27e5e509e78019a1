# The bytes of snapshots before the arrays, as rollback/snapshots.py says, on machines that are little-endian.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

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
