# Data of the kernels that record contact events.

from libc.stdint cimport int32_t, int64_t, uint8_t

from .plan cimport MAX_DIM

cdef enum Kind:         # codes of events.py
    HIT = 1
    BEGIN
    END
    ENTER
    LEAVE
    BREAK

cdef enum:
    EVENT_NUMBERS = 10  # 64-bit numbers of an event beside its two vectors

# Contact of a pair within a step; times count back from the end of the step.
ctypedef struct Contact:
    int64_t key             # pair key: slot_a << 32 | slot_b + 2**31
    double time_since              # seconds from impact to the end of the step
    double left             # seconds from separation to the end of the step; < 0: still touching
    double speed            # approach speed
    double slow             # resting threshold: contacts below this approach speed record no HIT
    double impulse
    double point[MAX_DIM]
    double normal[MAX_DIM]  # from a to b

# Event recorder of a constraint. Contacts between bodies are indexed by their position in the pair list; contacts with
# walls and shapes by body * `slots` + a number below `slots`.
ctypedef struct EventSource:
    int64_t source          # constraint number in events
    bint region             # True for regions, which record ENTER and LEAVE
    int64_t slots           # maximum number of contacts per body; 0: contacts are indexed by pair
    int64_t places          # length of `mark`
    int64_t capacity            # room for touching pairs in `touching` and `next`
    int32_t* mark           # per contact index: 1 + position in `contact`; 0: no contact in this step
    Contact* contact
    int64_t contacts
    int64_t* touching       # keys of the pairs that touched at the end of the last step, ascending
    int64_t count
    int64_t* next           # keys of the pairs that touch now
    int64_t next_count

# Event log of a stepper. An event is EVENT_NUMBERS + 2 dim 64-bit numbers, in the order of events.py.
ctypedef struct Log:
    int64_t capacity
    int64_t count
    int64_t dropped
    int64_t* row
    double hits_above
    bint begin, end
    const int64_t* generation   # generation of the body in each slot; NULL: 1
    const uint8_t* alive        # per slot: 1 if active; NULL: all are
    # Tick, time and duration of the step that ends.
    int64_t tick
    double time
    double h
