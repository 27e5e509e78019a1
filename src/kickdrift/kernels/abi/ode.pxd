# Plan and job of the kernels for y' = f(t, y), and their function table.

from libc.stdint cimport int64_t

from .plan cimport Array, Job, Scheme


# The built-in right-hand sides and where their constants are.


cdef enum:
    MAX_PARAMETERS = 20
    ZERO = MAX_PARAMETERS   # the numbers that formulas name
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
    ODE_ROWS = 96           # trajectories that are stepped together: whole blocks of vectors of any kind

cdef enum:
    MAX_SLOPES = 12         # of a tableau
    MAX_WEIGHTS = 64

cdef enum Status:           # of a trajectory in a Newton iteration
    OPEN
    SOLVED
    FAILED

# An explicit Runge-Kutta method by its table: after stage i the next state is y + h times the sum of weights
# times slopes, from `start[i]` up to `start[i + 1]`.
ctypedef struct Tableau:
    int stages
    int start[MAX_SLOPES + 1]
    int slope[MAX_WEIGHTS]      # which
    double weight[MAX_WEIGHTS]

ctypedef struct ODEPlan:
    Scheme scheme
    Flow flow
    int dim
    Py_ssize_t n
    Array y
    double h
    double tolerance        # of Newton's method
    int iterations
    double parameters[MAX_PARAMETERS]
    Tableau tableau         # of the schemes that have one

# A Newton iteration for trajectories whose right-hand side is evaluated for all of them at once. Arrays
# are row by row: (n, dim), but slope, status and work are (n,) and jacobian is (n, dim, dim).
ctypedef struct Newton:
    Py_ssize_t n
    Py_ssize_t dim
    double h, tolerance
    char* u                 # the new states, so far
    const char* y           # the old ones
    const char* k           # the right-hand side at the new ones
    char* residual          # u - y - h k, which becomes the correction
    char* jacobian
    char* slope             # how strongly the right-hand side reacts: the largest derivative
    char* status
    int64_t* work           # evaluations that were needed
    Py_ssize_t failed       # the first trajectory that failed, or -1
    double failed_residual

ctypedef void (*ODERun)(const ODEPlan*, Job*, const void* like) noexcept nogil
# s: workspace for sums of slopes, or for all slopes of a tableau, each in whole cache lines; k may be its place there.
ctypedef void (*ODEStage)(
    const ODEPlan*, int stage, Py_ssize_t count, const void* k, const void* y, void* u, void* s,
) noexcept nogil
ctypedef Py_ssize_t (*Bad)(Py_ssize_t n, Py_ssize_t dim, const void* y) noexcept nogil
ctypedef Py_ssize_t (*Check)(Newton*, int iteration, bint last, const void* like) noexcept nogil
ctypedef void (*Correct)(Newton*, const void* like) noexcept nogil
ctypedef void (*Increments)(Newton*, Py_ssize_t column, double share, double floor, void* moved) noexcept nogil
ctypedef void (*Quotients)(Newton*, Py_ssize_t column, const void* moved, const void* k) noexcept nogil

# For one kind of number. Arrays are row by row: (n, dim), or `count` numbers in whole cache lines.
ctypedef struct ODETable:
    ODERun run          # explicit schemes
    ODERun solve        # implicit Euler
    ODEStage sweep
    Bad bad
    Check check
    Correct correct
    Increments increments
    Quotients quotients
