# Threads that help the one which runs a job.

from libc.stdint cimport int64_t, uint32_t

cdef enum:
    MOST_IN_CREW = 15

# What `taken` of a crew is while there is nothing to do, and when there will be nothing more.
cdef enum:
    NOTHING = 0xffff
    DISMISSED = 0x1ffff

# Part number `part` of so many parts of some work.
ctypedef void (*PartFunction)(const void* data, int64_t part, int64_t parts) noexcept nogil

# The leader hands out one piece of work after the other, each in as many parts as there are threads.
ctypedef struct Crew:
    uint32_t taken      # a bit for each part that somebody has, or that does not exist; atomic
    uint32_t done       # how many parts were done so far; atomic
    uint32_t due        # how many these will be when the work is done
    uint32_t here       # helpers that have come; atomic
    int64_t parts
    PartFunction work
    const void* data
