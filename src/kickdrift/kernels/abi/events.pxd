# Data of the kernels that record contact events.

from libc.stdint cimport int32_t, int64_t

from .plan cimport MAX_DIM

cdef enum Kind:         # those of events.py
    HIT = 1
    BEGIN
    END
    ENTER
    LEAVE
    BREAK

cdef enum:
    EVENT_NUMBERS = 10  # of 64 bits in an event, beside its two vectors

# How two met in a step: how long before its end, and until when; this is less than 0 where they push on.
ctypedef struct Contact:
    int64_t key             # slot_a << 32, and slot_b + 2**31
    double ago
    double left
    double speed
    double slow             # who comes together no faster rests
    double impulse
    double point[MAX_DIM]
    double normal[MAX_DIM]

# What a constraint reports. The contacts of a step have places: those of near pairs, or `slots` for each body.
ctypedef struct Told:
    int64_t source          # the number of the constraint
    bint region             # does it report who enters and leaves?
    int64_t slots           # or 0: of near pairs
    int64_t places
    int64_t capacity            # so many may touch
    int32_t* mark           # of each place: the number of its contact, from 1 on; or 0
    Contact* contact
    int64_t contacts
    int64_t* touching       # keys of those who touched a step ago, ascending
    int64_t count
    int64_t* next           # and of those who do now
    int64_t next_count

# The events of a stepper. Each is EVENT_NUMBERS + 2 dim numbers of 64 bits, in the order of events.py.
ctypedef struct Log:
    int64_t capacity
    int64_t count
    int64_t dropped
    int64_t* row
    double hits_above
    bint begin, end
    const int64_t* generation   # of each slot; or NULL: all are of the first
    # Of the step that ends.
    int64_t tick
    double time
    double h
