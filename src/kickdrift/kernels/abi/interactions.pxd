# Arguments of the kernels in interactions.pxd.

from libc.stdint cimport int32_t, int64_t, uint8_t

from .constraints cimport Collisions, Torus
from .coupled cimport InteractionFunction


cdef enum:
    BOTH_DIRECTIONS = 32      # fewest bodies for which both directions of a pair share one evaluation

ctypedef struct NBody:
    int64_t n           # number of bodies, all of which attract
    const void* mu      # G m per body
    const void* e2
    const uint8_t* alive    # per slot: 1 if the body attracts; NULL: all do

# Springs, padded to whole vectors of either dtype. Padding joins body 0 to itself.
ctypedef struct Springs:
    Torus torus
    int64_t count
    bint damped
    const int64_t* first
    const int64_t* second
    const void* k
    const void* rest
    const void* c


# Arguments of the kernel in pairs.pxd. Arrays of numbers have the state's dtype.


cdef enum:
    PAIRS_AT_ONCE = 768     # pairs per evaluation of the formula; a multiple of any vector width
    LIST_TOO_SHORT = -1_000_003

ctypedef struct Pairs:
    int64_t n
    double cutoff
    double margin           # extra cutoff distance of the neighbour list (skin)
    const uint8_t* alive    # per slot: 1 if active; NULL: all are
    InteractionFunction kernel   # kernel of pairs.pxd for this dtype
    InteractionFunction formula  # evaluates V'(r) / r for rows of distances
    void* slope
    Collisions grid         # cell grid, cell width = cutoff + margin
    # Neighbour list: per body, candidates of higher index.
    bint listed
    int64_t* begin          # offsets of each body's candidates, n + 1 numbers
    int32_t* partner
    int64_t capacity            # capacity of `partner`
    int64_t most            # maximum capacity; beyond it, pairs are searched in each evaluation
    uint8_t* lived          # mask of the bodies that were active when the list was built
    void* was               # positions when the list was built
    # Workspace.
    int32_t* near           # candidates of one body
    int32_t* first          # pairs within the cutoff: bodies, separations and distances
    int32_t* second
    void* displacement
    void* distance
    void* pull
    void* owner
