# Arguments of the kernels: a persistent plan, and a job for each call.

from libc.stdint cimport int64_t

from .kinds cimport TermKind
from .slots cimport Living

cdef enum:
    TILE = 192          # bodies that are loaded, stepped and stored together
    ROW = 384           # bodies whose coefficients lie in a row: whole tiles, and whole blocks of vectors of any kind
    MAX_DIM = 3
    MAX_CONSTANTS = 36  # of a scheme: h, h/2 and what it needs beside
    MAX_STAGES = 64     # of a scheme

cdef enum Scheme:
    EXPLICIT_EULER
    KICK_DRIFT          # the forms of semi-implicit Euler
    DRIFT_KICK
    MIDPOINT
    HEUN
    RK4
    VERLET_BACKWARD     # by velocity read-out
    VERLET_CENTRAL
    VELOCITY_VERLET
    COMPOSITION         # by the rule for kicks that depend on velocity
    COMPOSITION_RK4
    EXACT
    DOPRI8              # of equations alone
    ALTERNATE           # from here on without loops of their own: a new one goes here
    GROOT_WARREN
    IMPLICIT_EULER      # from here on the components of a body are not stepped one by one
    ENERGY_EULER


cdef inline dict scheme_kinds():
    """The scheme of each integrator; or the attribute that chooses one, and what its values stand for."""
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


cdef enum Moment:       # of a step, beside its evaluations
    OPENING             # before the first
    TURNING             # at its beginning and its end
    DAMPING             # after its end

cdef enum Layout:
    FLAT                # bodies' components side by side (n, dim), and so are the affine coefficients
    PLANES              # a contiguous row per component
    STRIDED             # anything else: through a buffer

# A coefficient: padded to whole rows; where its components start, and bytes from a body to the next:
# 0 where one row's worth of equal numbers serves all.
ctypedef struct Field:
    const char* component[MAX_DIM]
    Py_ssize_t body

# An array of the caller: distances in bytes.
ctypedef struct Array:
    char* data
    Py_ssize_t body
    Py_ssize_t component

# The four coefficients that a term may have; those that it does not have are zeros.
cdef enum:
    STRENGTH = 0        # a number
    SQUARE = 1          # a number
    ORIGIN = 2          # what its position or velocity is relative to
    AXIS = 3            # three components, the same for all bodies
    COEFFICIENTS = 4

ctypedef struct Term:
    TermKind kind
    Field field[COEFFICIENTS]

# What a run of affine components is made of; or else a tile in planes.
ctypedef struct Row:
    Py_ssize_t first    # body
    char* planes        # or NULL
    char* x
    char* v
    char* s
    char* before_x      # where the state before the steps goes, or NULL
    char* before_v
    const char* g
    const char* c
    const char* w
    const char* k
    const char* p
    const char* decay
    const char* flow[4]

ctypedef struct Job:
    Py_ssize_t first, last      # bodies; first is a multiple of ROW
    Py_ssize_t steps
    int64_t tick
    bint start                  # fill the history first
    bint begin                  # or that of those alone that were born after the last step
    const Array* before         # where positions and velocities from before the steps go; or NULL
    # Results.
    int64_t evaluations
    Py_ssize_t bad_body         # first body that is not finite, or -1
    Py_ssize_t failed_step      # the first that was not completed, or `steps`
    Py_ssize_t failed_body      # of an implicit step
    double residual
    int code                    # other than 0 where an interaction failed, see abi/coupled.pxd
    int failed_part             # or constraint, where there is no branch for its kind
    Py_ssize_t done             # steps completed so far, where all bodies step together
    Py_ssize_t near             # tiles that a leap has left as they were

# What solving the implicit steps of a tile tells.
ctypedef struct Newton:
    int64_t evaluations[TILE]
    Py_ssize_t body         # that was not solved
    double residual

ctypedef struct Plan

# In all that follows, arrays that a function takes are of its kind of number. Where there are none, a pointer `like`
# is: it is NULL, and what it would point to tells the functions of float from those of double.

# Runs a job.
ctypedef void (*Run)(const Plan*, Job*, const void* like) noexcept nogil

# One step of a tile in planes, for schemes that look at all components of a body at once; False, changing nothing,
# where a body's cannot be solved.
ctypedef bint (*Solve)(
    const Plan*, Py_ssize_t first, Py_ssize_t count, void* x, void* v, Newton*,
) noexcept nogil

# Writes the accelerations by affine forces and the first so many terms into `a`: bodies in planes of `stride` numbers.
ctypedef void (*Accelerate)(
    const Plan*, int terms, Py_ssize_t first, Py_ssize_t count, Py_ssize_t stride, const void* x, const void* v,
    void* a,
) noexcept nogil

# What a stage of a pass makes of accelerations, and what is done at other moments of a step: stages.pxd.
ctypedef void (*Finish)(
    int number, int scheme, const void* coupling, const void* workspace, const void* state,
) noexcept nogil
ctypedef void (*Between)(
    Moment moment, int scheme, const Plan*, const void* workspace, const void* state, const void* at_rest,
    const void* gain,
) noexcept nogil

ctypedef struct Plan:
    Scheme scheme
    Layout layout
    int dim
    Py_ssize_t n
    bint drag, wind, spring, velocity_dependent, damped, turned, taylor_start
    Array x, v
    Array s             # the history: previous position, or acceleration
    Field g, c, w, k, p
    Field decay
    Field turn          # t of a rotation over half a step, three components, and
    Field turn_share    # s: v' = v + v x t, v + s v' x t
    Field flow[4]       # C, S, P, Q of the exact scheme
    int terms
    Term* term
    double h, last_h
    double lam
    int kicks           # of a composition
    int iterations      # evaluations per kick that depends on velocity; or Newton's limit
    double tolerance
    double constants[MAX_CONSTANTS]
    # What kernels prepare, for h and last_h, so that small calls find it done:
    char prepared[(MAX_CONSTANTS + 1) * 64]     # the scheme's constants as vectors
    void* step                  # its function for a row or tile: of a type with vectors, see dispatch.pxd
    void* lone                  # its function for less than a block, of the same type
    Solve solve                 # or else this one
    void (*passes)(const void* coupling, Job*, const void* like) noexcept nogil    # or else this one
    int stages, fsal            # evaluations of each step, and of each call beside
    int rows, numbers           # rows that hold all components of bodies, numbers of each body there
    Row row[MAX_DIM]            # where they start
    bint alike                  # are the coefficients of affine forces the same for all bodies?
    Run run
    const Living* living        # where bodies come and go; else NULL
    const void* applied         # Applied of this plan, where forces are in users' arrays; else NULL
    bint merges                 # does `run` merge these by itself? Else g has them already.
    Run each                    # what runs rows with living bodies then
    Finish finish
    Between between
    Accelerate accelerate
