# Arguments of the kernels for coupled bodies: interactions and constraints.

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t

from .constraints cimport Collisions, ConstraintCall, ConstraintFunction, FindAlike, FindAmongFew, Press, Spin, Torus
from .events cimport Log
from .plan cimport MAX_STAGES, Applied, Array, Field, Job, Noise, Plan, Run, Solve
from .formulas cimport FormulaTable
from .ode cimport ODETable

cdef enum:
    TILE_INTERACTIONS = 4   # maximum number of interactions for steps tile by tile; with more, all bodies are one tile

cdef enum:              # failure codes of a job; other codes come from the interaction or constraint that failed
    UNSOLVED = -1_000_001
    INTERRUPTED = -1_000_002
    NO_BRANCH = -1_000_003  # this build has no kernel for this kind of constraint

# Write the force on bodies first to first + count to `out`, which the caller zeroes unless `fills` is set. Component
# j of body first + i is at [j * stride + i], in float or double. A result other than 0 stops the step.
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

# Several steps of a few bodies with mutual attraction, from one state buffer to another: see few.pxd.
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

# Convert recorded contacts to events, or discard them if not `keep`. Returns -1, or the number of a constraint whose
# kind has no branch there, which is an error.
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
    bint only_put_back          # True: bodies interact, and a periodic box is their only constraint
    Log* log                    # event log, or NULL
    ReportFunction report_events
    double origin               # time of origin_tick, s
    int64_t origin_tick
    double after[MAX_STAGES]   # per stage: seconds from the latest tick to the time of its evaluation
    int64_t ticks[MAX_STAGES]   # per stage: 0 if its latest tick is the start of the step, 1 if it is the end
    # All bodies as one tile; `workspace` is NULL if tiles step separately.
    char* workspace             # two state buffers of x, v and s, then the other registers
    char* delta_v                  # register with the velocity changes by the forces of a step, for constraints
    Py_ssize_t padded           # numbers per component in the workspace, including padding
    bint recalled               # True: the workspace has the accelerations of the initial state, for FSAL schemes
    bint in_place               # True: a step cannot fail after it changed the state, so one state buffer is enough
    # Set if all constraints act on single bodies, and some record events or move; else NULL. own: plan of the caller's
    # arrays. near: 1 for each tile that may touch a constraint in this call; these tiles step in the workspace.
    const Plan* own
    uint8_t* near
    # direct: the call steps in the caller's arrays, whose plan is `own` (see loops/coupled.pxd). seen: arrays of the
    # same layout, for positions and velocities between two stages and for the output of the interaction function.
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
    """Time of a tick in s, by the formula of `_time_of` in stepper/base.py: rounding errors do not add up."""
    return coupling.origin + (tick - coupling.origin_tick) * coupling.plan.h


ctypedef void (*RunCoupled)(const Coupling*, Job*, const void* like) noexcept nogil

# Copy `count` bodies into a state buffer of the workspace (`plane` numbers per component), or out of it if `out`.
ctypedef void (*MoveBodies)(
    bint out, const Plan*, Py_ssize_t first, Py_ssize_t count, Py_ssize_t plane, void* state, const void* like,
) noexcept nogil

# Function table for one dtype.
ctypedef struct CoupledTable:
    RunCoupled run
    MoveBodies move
    RunCoupled leap                 # steps only the tiles that touch no constraint in this call: loops/coupled.pxd
    InteractionFunction springs     # see interactions.pxd
    InteractionFunction n_body
    StepFew three  # for up to three bodies; NULL if registers are narrower than four doubles: use `few`
    StepFew few
    InteractionFunction formula     # see formulas.pxd
    NoisyFunction noisy_formula
    InteractionFunction pairs       # see pairs.pxd
    ConstraintFunction tie          # pins and distances
    ConstraintFunction wall         # planes, boxes, and the corners that they form
    ConstraintFunction collide      # shapes, sensors, collisions, contacts, periodic boxes, floor friction
    ReportFunction report_events    # turns contacts into events, see constraints/contact_events.pxd
    Press press                     # contact solver sweep
    FindAmongFew find_among_few     # pair searches of collisions and contacts
    FindAlike find_uniform
    FindAlike find_in_plane         # pair search in two dimensions
    int64_t lanes                   # contacts solved at once (vector lanes)
    ImplicitStep implicit           # see newton_krylov.pxd
    ImplicitStep energy             # see energy.pxd
    TangentFunction springs_tangent
    TangentFunction n_body_tangent
    TangentFunction formula_tangent
    NoisyTangent noisy_formula_tangent


# Arguments of the kernels in interactions.pxd.

cdef enum:
    BOTH_DIRECTIONS = 32      # from this number of bodies on, both bodies of a pair share one evaluation of distance

ctypedef struct NBody:
    int64_t n           # number of bodies, all of which attract
    const void* mu      # G m per body
    const void* e2
    const uint8_t* alive    # per slot: 1 if the body attracts; NULL: all do

# Springs. Arrays are padded to whole vectors of either dtype by springs from body 0 to itself, which have no force.
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
    PAIRS_AT_ONCE = 768     # pairs per evaluation of the potential's expression; a multiple of any vector width
    LIST_TOO_SHORT = -1_000_004  # failure code besides those above: the neighbour list exceeds its capacity

ctypedef struct Pairs:
    int64_t n
    double cutoff
    double margin           # extra cutoff distance of the neighbour list (skin)
    const uint8_t* alive    # per slot: 1 if active; NULL: all are
    InteractionFunction kernel   # kernel of pairs.pxd for this dtype
    InteractionFunction formula  # evaluates V'(r) / r for rows of distances
    void* slope
    Collisions grid         # grid of cells; the cell width exceeds cutoff + margin
    # Neighbour list: per body, candidates of higher index.
    bint listed
    int64_t* begin          # offsets of each body's candidates, n + 1 numbers
    int32_t* partner
    int64_t capacity            # capacity of `partner`
    int64_t most            # maximum capacity; if more is needed, each evaluation searches the grid instead
    uint8_t* lived          # mask of the bodies that were active when the list was built
    void* was               # positions at the time when the list was built
    # Workspace.
    int32_t* near           # candidates of one body
    int32_t* first          # gathered pairs within the cutoff: both bodies, separations and distances
    int32_t* second
    void* displacement
    void* distance
    void* pull
    void* owner


# Registers of many bodies.

# A step reads the state in `now` and writes `next`, then both are swapped: if it fails, the last completed state is
# intact. A tile of uncoupled bodies may use one buffer for both.
ctypedef struct Workspace:
    char* now           # state before the step: registers X, V and S (plan.pxd)
    char* next          # state after the step
    char* start         # other registers, from P on
    char* delta_v       # velocity changes by the forces of a step, for constraints
    Py_ssize_t first, count
    bint full           # True: all bodies of the workspace are active
    bint opens          # True: the last stage also does the part of the next step before its first evaluation
    bint opened         # True: the previous step has done the part of this step before its first evaluation
    Py_ssize_t plane    # numbers from one component to the next
    Py_ssize_t row      # numbers from one register to the next

# A contiguous row of whole vectors, of one component or of all components interleaved.
ctypedef struct Stretch:
    Py_ssize_t bytes
    const char* x       # state of the evaluation
    const char* v
    const char* x0      # state before the step
    const char* v0
    char* to_x          # state after the stage
    char* to_v
    char* out           # output of the only interaction function; zeroed after it is read
    char* held          # first register that a step keeps between stages; further ones follow, `row` bytes apart
    Py_ssize_t row
    const char* g       # gravity, `each` bytes from vector to vector; factor: 1/m, `every` bytes. 0 bytes: uniform
    Py_ssize_t each
    const char* factor
    Py_ssize_t every

cdef enum:              # further values of the stage number of a pass; stages count from 0
    START = -2          # initialise the history
    KEEP = -1           # store the accelerations: the next step reads them before its first evaluation
    NONE = START        # in loops/coupled.pxd, which has no START: begin a step without an evaluation


# Arguments of kernels/rotation.pxd, whose two passes over rotating bodies run before and after a step.

ctypedef struct Turning:
    Py_ssize_t n
    int dim
    double h
    const uint8_t* alive        # per body: 1 if active; NULL: all are
    Array velocity              # angular velocity of the caller, (n, 1) or (n, 3), rad/s
    Array turned                # angles (n, 1) in rad, or orientations (n, 4)
    Spin spin                   # copy of the angular velocities, which a step reads and writes
    int torques
    const Array* torque         # users' arrays of torques, (n, 1) or (n, 3)
    const void* decay           # factor of angular damping per step; NULL: 1
    Py_ssize_t decay_body       # stride of `decay`: 0 for one number for all bodies, else 1

# Pass before or after a step. Returns the first body whose rotation is not finite, or -1.
ctypedef Py_ssize_t (*Turn)(const Turning*, const void* like) noexcept nogil


# Function tables of an instruction set's modules, one for float and one for double.

cdef extern from *:
    """
    #ifndef KICKDRIFT_ABI
      #define KICKDRIFT_ABI 0  /* compiled without setup.py, which hashes the files in abi/ */
    #endif
    """
    const uint64_t KICKDRIFT_ABI

ctypedef struct Kernels

cdef enum:                  # results of Missing other than the number of a term without a kernel
    NOTHING = -1
    SCHEME = -2

# Check once per plan, before it is prepared, for terms or schemes without a kernel.
ctypedef int (*Missing)(Plan*, const void* like) noexcept nogil

# Prepare a plan; call again after any change of it.
ctypedef void (*Prepare)(Plan*, const Kernels*, const void* like) noexcept nogil

# Write a scheme's constants to `to`; return their number.
ctypedef int (*Constants)(const Plan*, void* to) noexcept nogil

# Digest (checksum) of (n, dim) numbers; `place` is the index of the first one in the whole array.
ctypedef uint64_t (*Digest)(const Array*, Py_ssize_t n, int dim, uint64_t place, const void* like) noexcept nogil

# Write g + F / m of up to ROW bodies to each component of `out`. F: users' forces. `first`: a multiple of ROW.
ctypedef void (*Merge)(const Applied*, Py_ssize_t first, Py_ssize_t count, char** out, const void* like) noexcept nogil

ctypedef struct Kernels:
    uint64_t abi            # KICKDRIFT_ABI; always first, so that any build can read it
    Missing missing
    Prepare prepare
    Constants constants
    Run living              # for plans with slots: calls `each` of the plan for every span of active bodies
    Digest digest
    Merge merge
    Turn begin_turning      # rotation before a step
    Turn complete_turning   # rotation after a step
    Solve implicit_euler    # for uncoupled bodies
    Solve energy_euler
    CoupledTable coupled    # for coupled bodies
    ODETable ode            # for y' = f(t, y)
    FormulaTable formulas


cdef inline const Kernels* offered_in(object capsule) except NULL:
    """Return the tables (float, double) of a module; raise ImportError if its structs differ from this build's."""
    cdef const Kernels* kernels = <const Kernels*> PyCapsule_GetPointer(capsule, "kickdrift.Kernels")
    if kernels.abi != KICKDRIFT_ABI:
        raise ImportError(
            "kickdrift: expected kernels and engine from one build, got some from before a change in kernels/abi/;"
            " run `python setup.py build_ext --inplace` without KICKDRIFT_ISAS, or install again"
        )
    return kernels


cdef inline int take_over(Kernels* kernels, object capsule) except -1:
    """Copy the tables of another module, to be extended by this one."""
    cdef const Kernels* other = offered_in(capsule)
    kernels[0] = other[0]
    kernels[1] = other[1]
    return 0
