# Formulas as the kernels run them: a list of operations on rows of numbers, one number for each body.

from libc.stdint cimport int64_t

cdef enum:
    BLOCK = 192             # bodies that an operation is done for at once
    MAX_REGISTERS = 40      # rows of intermediate results
    MAX_UNIFORM = 256       # intermediate results that are the same for all bodies
    MAX_OPERANDS = 1024
    PRESET = 64             # bytes in which a number that is known before lies, again and again

cdef enum OperationCode:
    ADD
    SUB
    MUL
    DIV
    NEG
    ABS
    MIN
    MAX
    FLOOR
    LESS
    NOT_LESS
    EQUAL
    WHERE
    COPY
    MUL_ADD                 # a b + c, rounded twice; and what else is several operations, each rounded
    MUL_SUB                 # a b - c
    SUB_MUL                 # c - a b
    MUL_MUL                 # (a b) c
    ADD_MUL                 # (a + b) c
    DIFF_MUL                # (a - b) c
    ADD_ADD                 # (a + b) + c
    ADD_SUB                 # (a + b) - c
    DIFF_ADD                # (a - b) + c
    DIFF_SUB                # (a - b) - c
    MUL_MUL_ADD             # (a b) c + d
    MUL_MUL_SUB             # (a b) c - d
    SUB_MUL_MUL             # d - (a b) c
    DIFF_MUL_ADD            # (a - b) c + d
    DIFF_MUL_SUB            # (a - b) c - d
    MUL_ADD_ADD             # (a b + c) + d
    MUL_ADD_SUB             # (a b + c) - d
    MUL_SUB_ADD             # (a b - c) + d
    MUL_SUB_SUB             # (a b - c) - d
    PRODUCTS_ADDED          # a b + c d
    PRODUCTS_SUBTRACTED     # a b - c d
    SQUARES_ADDED           # a a + b b
    LOAD                    # component a of the states that lie row by row
    STORE
    NOISE                   # noise(a)
    SQRT                    # from here on functions, of which all but this one are computed in float64
    SIN
    COS
    TAN
    EXP
    LOG
    TANH
    CBRT
    POW
    ATAN2

cdef enum OperandKind:
    KNOWN                   # number `index` of `presets`
    TIME
    UNIFORM
    POSITION                # components
    VELOCITY
    MOVED                   # of dx
    SPED                    # of dv
    EACH                    # row `index` of `rows`
    REGISTER
    RESULT                  # component of `out`

ctypedef struct Operand:
    int kind
    int index

# Operands by their numbers.
ctypedef struct Operation:
    int code
    int out
    int a, b, c, d

ctypedef struct Formula:
    int operands
    const Operand* operand
    int uniform             # so many operations come first, whose results are the same for all bodies
    int operations
    const Operation* operation
    const char* presets
    const char* rows        # padded to whole blocks, `row` bytes each
    Py_ssize_t row
    int columns             # of results that are stored row by row
    const int64_t* generation   # of the body in each slot, for noise; or NULL

# As in engine/ode.pyx.
ctypedef int (*FlowFunction)(
    double t, int64_t first, int64_t count, int64_t dim, const void* y, void* out, void* formula,
) noexcept nogil

# So many vectors: steps are 1, or 0 where an operand is the same for all.
ctypedef void (*Operate)(
    int code, Py_ssize_t vectors, char* out,
    const char* a, Py_ssize_t a_step, const char* b, Py_ssize_t b_step, const char* c, Py_ssize_t c_step,
    const char* d, Py_ssize_t d_step,
) noexcept nogil

# For one kind of number.
ctypedef struct FormulaTable:
    Py_ssize_t width        # numbers in a vector
    Operate operate
    FlowFunction flow
