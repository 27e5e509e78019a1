# Arguments of the kernels in interactions.pxd.

from libc.stdint cimport int32_t, int64_t, uint8_t

from .constraints cimport Collisions, Torus
from .coupled cimport InteractionFunction


cdef enum:
    BOTH_WAYS = 32      # bodies from which on it pays to work out a pair's attraction once for both

ctypedef struct NBody:
    int64_t n           # bodies, all of which attract
    const void* mu      # G m of each
    const void* e2
    const uint8_t* alive    # which of them do, where bodies come and go; else NULL

# Numbers of springs are padded to whole vectors of any kind; what pads them joins body 0 to itself.
ctypedef struct Springs:
    Torus torus
    int64_t count
    bint damped
    const int64_t* first
    const int64_t* second
    const void* k
    const void* rest
    const void* c


# Arguments of the kernel in pairs.pxd. Arrays of numbers are of the state's dtype.


cdef enum:
    PAIRS_AT_ONCE = 768     # pairs that the formula is run for at once; whole vectors of any kind
    LIST_TOO_SHORT = -1_000_003

ctypedef struct Pairs:
    int64_t n
    double cutoff
    double margin           # by which candidates may be farther apart
    const uint8_t* alive    # where bodies come and go; else NULL
    InteractionFunction kernel   # that of pairs.pxd, for this kind of number
    InteractionFunction formula  # V'(r) / r of rows of distances
    void* slope
    Collisions grid         # its cells are as wide as the cutoff and the margin
    # The list: of each body the candidates of higher index.
    bint listed
    int64_t* begin          # of each body, and of the one behind the last
    int32_t* partner
    int64_t capacity            # for so many
    int64_t most            # more than that are found anew each time
    uint8_t* lived          # of each body: did it when the list was made?
    void* was               # where it was
    # Workspace.
    int32_t* near           # candidates of one body
    int32_t* first          # of each pair that is near: its bodies, the way between them, and numbers
    int32_t* second
    void* way
    void* distance
    void* pull
    void* owner
