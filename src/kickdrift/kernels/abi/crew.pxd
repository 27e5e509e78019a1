# Threads that help the one which runs a job.

from libc.stdint cimport int64_t, uint64_t

cdef enum:
    MOST_IN_CREW = 31

# Part number `part` of so many parts of some work.
ctypedef void (*PartFunction)(const void* data, int64_t part, int64_t parts) noexcept nogil

# The leader hands out one piece of work after the other, each in as many parts as there are threads. Whoever takes a
# part may read what the work is: it stays the same until all parts are done.
ctypedef struct Crew:
    uint64_t turn       # its number in the upper half, in the lower one a bit for each part that is taken; atomic
    uint64_t done       # parts of all turns; atomic
    uint64_t due        # how many these will be when the turn is over
    int64_t parts
    PartFunction work
    const void* data
