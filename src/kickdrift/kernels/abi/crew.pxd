# Thread team: helper threads of the thread that runs a job.

from libc.stdint cimport int64_t, uint32_t

cdef enum:
    MOST_IN_CREW = 15

# Values of `Crew.taken`: no work at present, and shut down.
cdef enum:
    NOTHING = 0xffff
    DISMISSED = 0x1ffff

# Part number `part` of so many parts of some work.
ctypedef void (*PartFunction)(const void* data, int64_t part, int64_t parts) noexcept nogil

# The leader starts one piece of work at a time, split into as many parts as there are threads.
ctypedef struct Crew:
    uint32_t taken      # a bit for each part that is claimed or does not exist; atomic
    uint32_t done       # number of completed parts; atomic
    uint32_t due        # value of `done` at which the work is complete
    uint32_t here       # number of started helpers; atomic
    int64_t parts
    PartFunction work
    const void* data
