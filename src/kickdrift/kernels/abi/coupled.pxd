# Arguments of the kernels for coupled bodies: interactions and constraints.

from libc.stdint cimport int64_t, uint8_t

from .constraints cimport ConstraintCall, ConstraintFunction, FindAlike, FindAmongFew, Press
from .events cimport Log
from .noise cimport Noise
from .plan cimport MAX_STAGES, Array, Field, Job, Plan

cdef enum:
    TILE_INTERACTIONS = 4   # maximum number of interactions for steps tile by tile; with more, all bodies are one tile

cdef enum:              # failure codes of a job; other codes come from the interaction or constraint that failed
    UNSOLVED = -1_000_001
    INTERRUPTED = -1_000_002
    NO_BRANCH = -1_000_003  # this build has no kernel for this kind of constraint

# Write the force on bodies first to first + count to `out`, which is zeroed unless it `fills` it. Component j of body
# first + i is at [j * stride + i], in float or double. A result other than 0 stops the step.
ctypedef int (*InteractionFunction)(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil

# Write the first-order change of the force for changes dx, dv of positions and velocities, for all n bodies.
ctypedef int (*TangentFunction)(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept nogil

# Forces with noise also get the tick that seeds it.
ctypedef int (*NoisyFunction)(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data, int64_t tick,
) noexcept nogil
ctypedef int (*NoisyTangent)(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data, int64_t tick,
) noexcept nogil

# One implicit step of all bodies as one system, from `now` to `next` of a Workspace (see passes.pxd).
ctypedef int (*ImplicitStep)(
    const void* coupling, Job* job, Py_ssize_t step, const void* workspace, const void* like,
) noexcept nogil

# Several steps of a few bodies with mutual attraction, from one state to another: see few.pxd.
ctypedef void (*StepFew)(
    const void* coupling, Py_ssize_t steps, int64_t tick, const char* source, char* to, const void* like,
) noexcept nogil

# Ctrl-C check between two steps: True means stop.
ctypedef bint (*Look)(void* owner) noexcept nogil

ctypedef struct InteractionCall:
    InteractionFunction function
    void* data
    Field factor                    # 1/m for forces, 1 for accelerations; 0 for immovable bodies
    TangentFunction tangent         # derivative of the force; NULL: finite differences
    void* tangent_data
    bint velocity_dependent
    bint by_position                # True: the force depends on nothing but positions during a call
    InteractionFunction potential   # writes each body's potential energy where forces write component 0; or NULL
    void* potential_data
    bint noisy                      # True: function and tangent also get the tick, and there is no potential
    bint fills                      # True: the function overwrites all of `out`, which needs no zeroing

# Turns recorded contacts into events, or drops them if not `keep`. Returns -1, or the number of a constraint whose kind
# is unknown there, which is an error.
ctypedef int64_t (*ReportFunction)(
    bint keep, int64_t constraints, const ConstraintCall* constraint, int64_t n, int64_t dim, int64_t stride,
    const void* x, Log* log,
) noexcept nogil

ctypedef struct Coupling:
    const Plan* plan            # two plans for the workspace, one per state buffer
    int interactions
    const InteractionCall* interaction
    const Noise* noise          # or NULL
    int constraints
    const ConstraintCall* constraint
    const void* moves           # 1/m of each body, 0 for pinned and inactive ones; NULL: no body is pinned
    bint only_put_back          # a periodic box is the only constraint on interacting bodies
    Log* log                    # event log, or NULL
    ReportFunction report_events
    double origin               # time of origin_tick, s
    int64_t origin_tick
    double after[MAX_STAGES]   # time of each stage's evaluation after the tick at or before it, s
    int64_t ticks[MAX_STAGES]   # offset of that tick: 1 at the end of a step
    # All bodies as one tile; `workspace` is NULL if tiles step separately.
    char* workspace             # two state buffers of x, v and s, then the other registers
    char* delta_v                  # register with delta_v by the forces of a step, for constraints
    Py_ssize_t padded           # numbers in a plane, padded
    bint recalled               # the workspace still has the accelerations of the initial state, for schemes with FSAL
    bint in_place               # steps cannot fail after they changed a number, so that one state buffer is enough
    # If all constraints are static and have events: the plan of the caller's arrays, and for each tile 1 if it may
    # touch a constraint in this call. Those tiles step in the workspace. Otherwise both are NULL.
    const Plan* own
    uint8_t* near
    # If a call steps in the caller's arrays, see loops/functions.pxd: `own` is the plan of these arrays, and `seen` has
    # those of positions and velocities between two stages, and of the function's output.
    bint direct
    const Array* seen
    ImplicitStep implicit       # or NULL
    StepFew few                 # kernel for a few bodies whose only interaction is attraction; or NULL
    char* krylov                # registers of the Newton-Krylov solver
    Field weight                # mass of each body / largest mass
    Look look
    void* owner
    Py_ssize_t patience         # steps between two Ctrl-C checks


cdef inline double time_of(const Coupling* coupling, int64_t tick) noexcept nogil:
    """Time of a tick in s, as `_time_of` of stepper/base.py has it: the end of a step is where the next one begins."""
    return coupling.origin + (tick - coupling.origin_tick) * coupling.plan.h


ctypedef void (*RunCoupled)(const Coupling*, Job*, const void* like) noexcept nogil

# Copies `count` bodies into a state of the workspace, which has `plane` numbers per component, or out of it.
ctypedef void (*MoveBodies)(
    bint out, const Plan*, Py_ssize_t first, Py_ssize_t count, Py_ssize_t plane, void* state, const void* like,
) noexcept nogil

# Function table for one dtype.
ctypedef struct CoupledTable:
    RunCoupled run
    MoveBodies move
    RunCoupled leap                 # steps tiles away from static constraints, see loops/coupled.pxd
    InteractionFunction springs     # see interactions.pxd
    InteractionFunction n_body
    StepFew three                   # kernel for three bodies; NULL if `few` is as fast
    StepFew few
    InteractionFunction formula     # see formulas.pxd
    NoisyFunction noisy_formula
    InteractionFunction pairs       # see pairs.pxd
    ConstraintFunction tie          # pins and distances
    ConstraintFunction wall         # planes and boxes
    ConstraintFunction collide         # shapes, sensors, collisions, contacts, periodic boxes
    ReportFunction report_events               # turns contacts into events, see constraints/events.pxd
    Press press                     # contact solver sweep
    FindAmongFew find_among_few       # pair searches of collisions and contacts
    FindAlike find_uniform
    FindAlike find_in_plane         # pair search in two dimensions
    int64_t lanes                   # contacts solved at once (vector lanes)
    ImplicitStep implicit           # see newton_krylov.pxd
    ImplicitStep energy             # see energy.pxd
    TangentFunction springs_tangent
    TangentFunction n_body_tangent
    TangentFunction formula_tangent
    NoisyTangent noisy_formula_tangent
