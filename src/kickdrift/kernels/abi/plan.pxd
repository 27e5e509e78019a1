# Arguments of the kernels: a Plan lasts from call to call, a Job belongs to one call.

from libc.stdint cimport int64_t, uint64_t, uint8_t

from .kinds cimport TermKind

# Indices of a scheme's constants.

cdef enum:
    H = 0           # h
    HALF = 1        # h / 2
    EXTRA = 2       # first constant that depends on the scheme, see set_constants()
    PER_KICK = 4    # constants per kick of a composition, from EXTRA + 2 on: length d of the kick, d/2, d/6, next drift


# Slot masks of worlds that spawn and remove bodies, padded to whole rows.

ctypedef struct SlotArrays:
    const uint8_t* alive    # per slot: 1 if active
    const uint8_t* needs_start    # per slot: 1 if spawned since the last step
    const void* weight      # `alive` as numbers (1 or 0) of the state's dtype
    Py_ssize_t end          # end of the slots in use: last active slot + 1
    Py_ssize_t spans
    const Py_ssize_t* span  # ranges of whole rows that contain active bodies: start and end of each range
    int item                # bytes of a number


cdef enum:
    TILE = 192          # bodies that are loaded, stepped and stored together
    ROW = 384           # bodies per row of coefficients: a multiple of TILE and of any block of vectors
    MAX_DIM = 3
    MAX_CONSTANTS = 36  # maximum number of constants of a scheme: h, h/2 and its own
    MAX_STAGES = 64     # maximum number of stages of a scheme

cdef enum Scheme:
    EXPLICIT_EULER
    KICK_DRIFT          # forms of semi-implicit Euler
    DRIFT_KICK
    MIDPOINT
    HEUN
    RK4
    VERLET_BACKWARD     # Verlet, with a backward difference as velocity
    VERLET_CENTRAL
    VELOCITY_VERLET
    COMPOSITION         # compositions: one scheme per kick rule for velocity-dependent forces
    COMPOSITION_RK4
    EXACT
    DOPRI8              # equations (ODE) only
    ALTERNATE           # schemes from here to IMPLICIT_EULER have no specialised loops: insert new schemes here
    GROOT_WARREN
    IMPLICIT_EULER      # from here on, the components of a body are solved for together
    ENERGY_EULER


cdef inline dict scheme_kinds():
    """Map each integrator kind to its scheme, or to the attribute that selects a scheme and a dict of its values."""
    return {
        "explicit_euler": EXPLICIT_EULER,
        "semi_implicit_euler": ("form", {"kick_drift": KICK_DRIFT, "drift_kick": DRIFT_KICK, "alternate": ALTERNATE}),
        "implicit_euler": IMPLICIT_EULER,
        "midpoint": MIDPOINT,
        "heun": HEUN,
        "rk4": RK4,
        "verlet": ("velocity", {"backward": VERLET_BACKWARD, "central": VERLET_CENTRAL}),
        "velocity_verlet": VELOCITY_VERLET,
        "groot_warren": GROOT_WARREN,
        "composition": ("kick_rule", {"midpoint": COMPOSITION, "rk4": COMPOSITION_RK4}),
        "energy_euler": ENERGY_EULER,
        "exact": EXACT,
    }


cdef enum Moment:       # parts of a step beside its stages
    OPENING             # before the first stage
    TURNING             # rotation by half a step, at both ends
    DAMPING             # at the end of the step

cdef enum Layout:
    FLAT                # contiguous (n, dim) state and coefficients
    PLANES              # structure of arrays: one contiguous row per component
    STRIDED             # other strides; copied through a buffer

# A coefficient, padded to whole rows. `body`: bytes from one body to the next; 0 if one row of equal numbers serves
# all bodies.
ctypedef struct Field:
    const char* component[MAX_DIM]
    Py_ssize_t body

# Array of the caller; strides in bytes.
ctypedef struct Array:
    char* data
    Py_ssize_t body
    Py_ssize_t component

# Indices in `field` of a Term; coefficients that its kind does not use are zeros.
cdef enum:
    STRENGTH = 0        # scalar coefficient
    SQUARE = 1          # scalar coefficient
    ORIGIN = 2          # position or velocity that the force is relative to
    AXIS = 3            # three components, uniform over bodies
    COEFFICIENTS = 4

ctypedef struct Term:
    TermKind kind
    bint per_body       # True if a coefficient differs between bodies
    Field field[COEFFICIENTS]

# Pointers for one call of `step`: to a row of numbers that affine forces act on, or to a structure-of-arrays tile.
ctypedef struct Row:
    Py_ssize_t first    # index of the first body
    char* planes        # structure-of-arrays tile, or NULL
    char* x
    char* v
    char* s
    char* before_x      # where to copy the state to before the steps; or NULL
    char* before_v
    const char* g
    const char* c
    const char* w
    const char* k
    const char* p
    const char* decay
    const char* flow[4]

ctypedef struct Plan

# Void pointers are arrays of the function's dtype. Functions without arrays get `like`, which is NULL and selects the
# float or double version by its type.

# Extend the extent (bounding box) of a tile by its positions, see constraints/static.pxd.
ctypedef void (*Measure)(
    const Plan*, Py_ssize_t first, Py_ssize_t count, Py_ssize_t plane, const void* x, void* extent,
) noexcept nogil

ctypedef struct Job:
    Py_ssize_t first, last      # bodies from `first` to before `last`; `first` is a multiple of ROW
    Py_ssize_t steps
    int64_t tick
    bint start                  # True: initialise the history of all bodies
    bint begin                  # True: initialise the history of bodies spawned since the last step
    const Array* before         # where to copy positions and velocities to before the steps, for drawing; or NULL
    bint recalled               # True: the tile still has the accelerations of the last step, at the present positions
    Measure measure             # called after each step of a tile in planes; or NULL
    void* extent                # last argument of `measure`
    # Results.
    int64_t evaluations
    Py_ssize_t bad_body         # first body with a non-finite state, or -1
    Py_ssize_t failed_step      # first step that was not completed, or `steps`
    Py_ssize_t failed_body      # body whose implicit step failed
    double residual
    int code                    # failure code, 0 for success; see abi/coupled.pxd
    int failed_part             # interaction that failed; -1: the implicit solver; -2 - k: constraint k
    Py_ssize_t done             # steps completed so far, if all bodies step together
    Py_ssize_t near             # tiles that `leap` of loops/coupled.pxd left out: they may touch a constraint

# Results of the Newton iterations of a tile.
ctypedef struct Newton:
    int64_t evaluations[TILE]
    Py_ssize_t body         # first body whose equation was not solved
    double residual

ctypedef void (*Run)(const Plan*, Job*, const void* like) noexcept nogil

# Implicit step of a structure-of-arrays tile. False: a body's equation was not solved, and the state is unchanged.
ctypedef bint (*Solve)(const Plan*, Py_ssize_t first, Py_ssize_t count, void* x, void* v, Newton*) noexcept nogil

# Write accelerations by affine forces and terms to `a`, whose components are `stride` numbers apart.
ctypedef void (*Accelerate)(
    const Plan*, Py_ssize_t first, Py_ssize_t count, Py_ssize_t stride, const void* x, const void* v, void* a,
) noexcept nogil

# Parts of a step in passes, see loops/stages.pxd: Finish computes a stage from accelerations; Between does the rest.
ctypedef void (*Finish)(
    int number, int scheme, const void* coupling, const void* workspace, const void* state,
) noexcept nogil
ctypedef void (*Between)(
    Moment moment, int scheme, const Plan*, const void* workspace, const void* state, const void* at_rest,
    const void* delta_v,
) noexcept nogil

ctypedef void (*Along)(int number, bint opens, bint ends, const Plan*, const void* stretch, void* check) noexcept nogil

ctypedef struct Plan:
    Scheme scheme
    Layout layout
    int dim
    Py_ssize_t n
    bint drag, wind, spring, velocity_dependent, damped, turned, taylor_start
    Array x, v
    Array s             # history: previous positions (Verlet) or accelerations
    Field g, c, w, k, p
    Field decay
    Field turn          # t of a rotation over half a step, three components
    Field turn_share    # s of that rotation: v' = v + v x t, then v + s v' x t
    Field flow[4]       # C, S, P, Q of the exact scheme
    int terms
    Term* term
    double h, last_h
    double lam
    int kicks           # kicks of a composition
    int iterations      # evaluations per velocity-dependent kick; or maximum number of Newton iterations
    double tolerance
    double constants[MAX_CONSTANTS]
    # The fields from here on are set when the plan is bound, so that short calls need no setup; the constants in
    # `prepared` are set again when h or last_h changes.
    char prepared[(MAX_CONSTANTS + 1) * 64]     # the scheme's constants, broadcast to vectors
    void* step                  # function that steps a row or tile; void*, as its type has vectors: see dispatch.pxd
    void* single_block                  # variant of `step` for numbers that do not fill a block of vectors
    Solve solve                 # replaces `step` in implicit schemes
    void (*passes)(const void* coupling, Job*, const void* like) noexcept nogil    # used if no fused loop applies
    int stages, fsal            # evaluations per step, and extra ones per call
    int rows, numbers           # rows of an array (1 or dim), and numbers of each body in a row (dim or 1)
    Row row[MAX_DIM]            # pointers to the first row of each component
    bint uniform                  # affine coefficients are uniform over bodies
    Run run
    const SlotArrays* slots        # slot masks; NULL: all bodies are active
    const void* applied         # Applied of this plan (forces in users' arrays); or NULL
    bint merges                 # True: `run` adds the forces in users' arrays; False: the caller has added them to g
    Run each                    # runs one span of active bodies, if `run` is `living` of Kernels
    Finish finish
    Between between
    Along along
    Accelerate accelerate


# Arguments of the kernels that add forces from users' arrays.

ctypedef struct Applied:
    int dim, count
    bint flat                   # True if coefficients are interleaved body by body (layout FLAT)
    const Array* force          # users' arrays, shape (n, dim), dtype of the state
    Field inverse_mass          # 1/m per component
    bint light                  # True if 1/m is the same positive number for all bodies
    Field g                     # constant acceleration by all other forces (the g of affine forces)


# Arguments of the kernel in noise.pxd.

ctypedef void (*OperateWide)(
    int code, Py_ssize_t vectors, char* out,
    const char* a, Py_ssize_t a_step, const char* b, Py_ssize_t b_step,
) noexcept nogil

ctypedef struct Noise:
    uint64_t seed
    const int64_t* generation   # generation of the body in each slot; NULL: 1
    const double* friction      # friction rate, 1/s; per body (step 1) or one for all (step 0)
    Py_ssize_t friction_step
    const double* heat          # temperature / mass, per body or one for all
    Py_ssize_t heat_step
    OperateWide operate         # evaluates float64 functions
    Py_ssize_t width            # lanes of a float64 vector


# Indices of registers; some are computed from earlier ones.
#
# A register has MAX_DIM components in a tile, and `dim` components if all bodies are one tile.

cdef enum:
    X                   # state: position, velocity and history
    V
    S
    P                   # P, Q, Y, Z: intermediate results that a step keeps from stage to stage
    Q
    Y
    Z
    REGISTERS           # registers of uncoupled bodies

cdef enum:              # registers of coupled bodies
    A = REGISTERS       # accelerations before the interactions
    OUT                 # output of the first interaction; each further interaction has one more register

cdef enum:              # all bodies as one tile
    STATE = P           # number of registers in each of the two state buffers
    ALL_OUT = STATE + OUT

cdef enum:
    HELD = 4            # number of registers after delta_v for steps in the caller's arrays, see `held` of Stretch

cdef enum:
    KEPT = 8            # number of search directions that a new one is orthogonalised to

cdef enum:              # registers of implicit steps
    PLACE               # PLACE and SPEED: positions y and velocities u at which the tangent is evaluated
    SPEED
    REST                # residual f of the step's equation
    DISPLACEMENT
    R
    DX
    CHANGE
    SPARE
    DIRECTION                           # search directions p: the new one and KEPT older ones
    IMAGE = DIRECTION + KEPT + 1        # J p of each direction
    MATRIX = IMAGE + KEPT + 1           # Jacobian of the forces on single bodies: dim rows of dim numbers per body
    HERE = MATRIX + MAX_DIM             # output of each interaction at PLACE and SPEED
