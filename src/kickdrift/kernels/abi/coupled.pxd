# What the kernels are told where bodies are not left alone: interactions and constraints.

from libc.stdint cimport int64_t, uint8_t

from .constraints cimport ConstraintCall, ConstraintFunction, FindAlike, Press
from .events cimport Log
from .noise cimport Noise
from .plan cimport MAX_STAGES, Field, Job, Plan

cdef enum:
    TILE_INTERACTIONS = 4   # with more of them, all bodies are stepped as one tile

cdef enum:              # why a job ends early; what else an interaction or constraint returns is its own
    UNSOLVED = -1_000_001
    INTERRUPTED = -1_000_002
    NO_BRANCH = -1_000_003  # no kernel is there for this kind of constraint

# Writes what bodies first to first + count are pushed with into `out`, full of zeros unless it `fills` it. Component
# j of body first + i is at [j * stride + i]. What is not 0 stops the step. The same for float and double.
ctypedef int (*InteractionFunction)(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil

# Writes how that changes, to first order, when positions change by dx and velocities by dv, for all n bodies.
ctypedef int (*TangentFunction)(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept nogil

# The same with the tick whose noise it is.
ctypedef int (*NoisyFunction)(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data, int64_t tick,
) noexcept nogil
ctypedef int (*NoisyTangent)(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data, int64_t tick,
) noexcept nogil

# One step of all bodies as one system, from `now` to `next` of a Workspace (see passes.pxd).
ctypedef int (*ImplicitStep)(
    const void* coupling, Job* job, Py_ssize_t step, const void* workspace, const void* like,
) noexcept nogil

# So many steps of few bodies that attract each other, from the state in one place to that in another: see few.pxd.
ctypedef void (*StepFew)(
    const void* coupling, Py_ssize_t steps, int64_t tick, const char* source, char* to, const void* like,
) noexcept nogil

# Is there a reason to stop between two steps?
ctypedef bint (*Look)(void* owner) noexcept nogil

ctypedef struct InteractionCall:
    InteractionFunction function
    void* data
    Field factor                    # 1/m, or 1; 0 for bodies that nothing moves
    TangentFunction tangent         # or NULL: differences tell
    void* tangent_data
    bint velocity_dependent
    InteractionFunction potential   # writes the energy of each body where a component is written; or NULL
    void* potential_data
    bint noisy                      # are function and tangent told the tick? There is no potential then
    bint fills                      # does the function write all numbers? Then they need not be zeros before

# What becomes of those who met in a step, or in one that is not kept: a constraint without a branch for it, or -1.
ctypedef int64_t (*TellFunction)(
    bint keep, int64_t constraints, const ConstraintCall* constraint, int64_t n, int64_t dim, int64_t stride,
    const void* x, Log* log,
) noexcept nogil

ctypedef struct Coupling:
    const Plan* plan            # two of them in the workspace, with the state in one place and in the other
    int interactions
    const InteractionCall* interaction
    const Noise* noise          # or NULL
    int constraints
    const ConstraintCall* constraint
    bint only_put_back          # is a periodic box all that holds bodies which are pushed?
    Log* log                    # of those who meet, or NULL
    TellFunction tell
    double origin               # the time at which origin_tick was
    int64_t origin_tick
    double after[MAX_STAGES]   # when a stage evaluates, in seconds after the tick
    int64_t ticks[MAX_STAGES]   # in whole ticks after it
    # Where all bodies are stepped as one tile; NULL where each tile is on its own.
    char* workspace             # x, v and s in two places, and the other registers
    char* gain                  # of these one for constraints: what the forces of a step have added to v
    Py_ssize_t padded           # numbers in a plane
    bint in_place               # can nothing fail once a step has changed a number? One place is enough then
    # Where nothing but static constraints couples bodies that report events: the plan of the caller's arrays, and of
    # each tile, whether it may reach one of them in this call. The workspace is for these. Elsewhere NULL.
    const Plan* own
    uint8_t* near
    ImplicitStep implicit       # or NULL
    StepFew few                 # where the only interaction is attraction among few bodies; or NULL
    char* krylov                # its registers
    Field weight                # the share of each mass in the largest one
    Look look
    void* owner
    Py_ssize_t patience         # steps between two looks

ctypedef void (*RunCoupled)(const Coupling*, Job*, const void* like) noexcept nogil

# For one kind of number.
ctypedef struct CoupledTable:
    RunCoupled run
    RunCoupled leap                 # see loops/coupled.pxd
    InteractionFunction springs     # see interactions.pxd
    InteractionFunction n_body
    StepFew three                   # or NULL, where `few` is as fast
    StepFew few
    InteractionFunction formula     # see formulas.pxd
    NoisyFunction noisy_formula
    InteractionFunction pairs       # see pairs.pxd
    ConstraintFunction tie          # pins and distances
    ConstraintFunction wall         # planes and boxes
    ConstraintFunction meet         # shapes, sensors, collisions, contacts, periodic boxes
    TellFunction tell               # see constraints/events.pxd
    Press press                     # contacts
    FindAlike find_alike            # of collisions and contacts
    FindAlike find_in_plane         # the same in two dimensions
    int64_t lanes                   # so many at once
    ImplicitStep implicit           # see newton_krylov.pxd
    ImplicitStep energy             # see energy.pxd
    TangentFunction springs_tangent
    TangentFunction n_body_tangent
    TangentFunction formula_tangent
    NoisyTangent noisy_formula_tangent
