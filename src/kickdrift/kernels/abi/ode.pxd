# Plan and job of the kernels for y' = f(t, y), and their function table.

from libc.stdint cimport int64_t

from .plan cimport Array, Job, Scheme


# Built-in right-hand sides and the indices of their constants.


cdef enum:
    MAX_PARAMETERS = 20
    ZERO = MAX_PARAMETERS   # index of the constant 0: literal constants follow the parameters
    ONE
    TWO
    THREE
    FOUR
    CONSTANTS

cdef enum Flow:
    LORENZ
    ROSSLER
    THOMAS
    HALVORSEN
    AIZAWA
    LOTKA_VOLTERRA
    VAN_DER_POL


cdef enum:
    ODE_ROWS = 96           # trajectories per tile: a multiple of any block of vectors

cdef enum:
    MAX_SLOPES = 12         # maximum number of slopes of a tableau
    MAX_WEIGHTS = 64

cdef enum Status:           # status of a trajectory in a Newton iteration
    OPEN
    SOLVED
    FAILED

# Explicit Runge-Kutta method as a table: stage i yields the state y + h * sum(weight * slope) over the entries start[i]
# to start[i + 1]. The next stage evaluates its slope there; that of the last stage is the result.
ctypedef struct Tableau:
    int stages
    int start[MAX_SLOPES + 1]
    int slope[MAX_WEIGHTS]      # slope index of each entry
    double weight[MAX_WEIGHTS]

ctypedef struct ODEPlan:
    Scheme scheme
    Flow flow
    int dim
    Py_ssize_t n
    Array y
    double h
    double tolerance        # relative tolerance of Newton's method
    int iterations
    double parameters[MAX_PARAMETERS]
    Tableau tableau         # Runge-Kutta coefficients, for schemes that have a tableau

# Newton iteration of implicit Euler, evaluated for all trajectories at once. Arrays are (n, dim), but slope, status
# and work are (n,), and jacobian is (n, dim, dim).
ctypedef struct Newton:
    Py_ssize_t n
    Py_ssize_t dim
    double h, tolerance
    char* u                 # current iterate of the new states
    const char* y           # old states
    const char* k           # right-hand side at the iterate
    char* residual          # u - y - h k; overwritten by the correction
    char* jacobian
    char* slope             # largest magnitude of a derivative of the right-hand side
    char* status
    int64_t* work           # right-hand side evaluations
    Py_ssize_t failed       # first trajectory that failed, or -1
    double failed_residual

ctypedef void (*ODERun)(const ODEPlan*, Job*, const void* like) noexcept nogil
# Advance from the slope k of a stage to its state u. s: workspace for the sum of slopes, or for all slopes of a
# tableau, in whole cache lines; k may point into it.
ctypedef void (*ODEStage)(
    const ODEPlan*, int stage, Py_ssize_t count, const void* k, const void* y, void* u, void* s,
) noexcept nogil
ctypedef Py_ssize_t (*Bad)(Py_ssize_t n, Py_ssize_t dim, const void* y) noexcept nogil
ctypedef Py_ssize_t (*Check)(Newton*, int iteration, bint last, const void* like) noexcept nogil
ctypedef void (*Correct)(Newton*, const void* like) noexcept nogil
ctypedef void (*Increments)(Newton*, Py_ssize_t column, double share, double floor, void* moved) noexcept nogil
ctypedef void (*Quotients)(Newton*, Py_ssize_t column, const void* moved, const void* k) noexcept nogil

# Function table for one dtype. Arrays are (n, dim), or `count` numbers in whole cache lines.
ctypedef struct ODETable:
    ODERun run          # explicit schemes
    ODERun solve        # implicit Euler
    ODEStage sweep
    Bad bad
    Check check
    Correct correct
    Increments increments
    Quotients quotients
