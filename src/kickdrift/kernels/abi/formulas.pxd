# Formulas as the kernels run them: a list of operations on rows of numbers, one number for each body.

from libc.stdint cimport int64_t

# r is what the operation before left in registers, and where the result goes; a, b, c, d are operands. Where an
# operation is there twice, the second one has an a, and of two products a c too, that is the same for all bodies.
cdef enum OperationCode:
    AND_ADD                 # r + a
    SAME_AND_ADD
    AND_SUB                 # r - a
    SAME_AND_SUB
    FROM                    # a - r
    SAME_FROM
    AND_MUL
    SAME_AND_MUL
    AND_DIV
    SAME_AND_DIV
    INTO                    # a / r
    SAME_INTO
    AND_NEG
    AND_SQUARE
    AND_SQRT
    AND_MUL_ADD             # r a + b, rounded twice; and what else is several operations, each rounded
    SAME_AND_MUL_ADD
    AND_MUL_SUB             # r a - b
    SAME_AND_MUL_SUB
    MUL_FROM                # b - r a
    SAME_MUL_FROM
    AND_MUL_MUL             # (r a) b
    ADD_PRODUCT             # r + a b
    SAME_ADD_PRODUCT
    SUB_PRODUCT             # r - a b
    SAME_SUB_PRODUCT
    FROM_PRODUCT            # a b - r
    SAME_FROM_PRODUCT
    TAKE                    # a: from here on r is not read
    SAME_TAKE
    ADD
    SAME_ADD
    SUB
    SAME_SUB
    MUL
    SAME_MUL
    DIV
    SAME_DIV
    NEG
    SQRT
    MUL_ADD                 # a b + c
    SAME_MUL_ADD
    MUL_SUB                 # a b - c
    SAME_MUL_SUB
    SUB_MUL                 # c - a b
    SAME_SUB_MUL
    MUL_MUL                 # (a b) c
    SAME_MUL_MUL
    ADD_MUL                 # (a + b) c
    DIFF_MUL                # (a - b) c
    PRODUCTS_ADDED          # a b + c d
    SAME_PRODUCTS_ADDED
    PRODUCTS_SUBTRACTED     # a b - c d
    SAME_PRODUCTS_SUBTRACTED
    SQUARES_ADDED           # a a + b b
    ABS
    MIN
    MAX
    FLOOR
    LESS
    NOT_LESS
    EQUAL
    WHERE
    END                     # of what is done for a group of bodies before the next; r is lost
    SPREAD                  # out = a, which is the same for all bodies, as often as a group wants it
    LOAD                    # out = component c of the states that lie row by row
    STORE                   # column c = a
    NOISE                   # out = noise(c)
    SIN                     # from here on functions, which are computed in float64: out = f(a) or f(a, b)
    COS
    TAN
    EXP
    LOG
    TANH
    CBRT
    POW
    ATAN2

cdef enum:
    GROUP = 8               # vectors that go through the list together, at most
    BLOCK = 192             # bodies that are stepped together: whole groups, of vectors of any kind
    MAX_REGISTERS = 40      # rows of intermediate results, for the bodies of a block
    PARTS = 2               # of a row, each room for a group
    MAX_UNIFORM = 256       # intermediate results that are the same for all bodies, and
    MAX_SPREAD = 256        # how many of them are stored as often as a group wants them
    MAX_OPERANDS = 1024
    PRESET = 64 * GROUP     # bytes in which a number that is known before lies, again and again
    NOWHERE = -1            # in place of an operand that the result goes to

cdef enum OperandKind:      # those of the first five are the same for all bodies, or for all groups of them
    REGISTER
    KNOWN                   # number `index` of `presets`
    TIME
    UNIFORM
    SPREAD_OUT
    ROW                     # as a register, of all bodies of a block
    POSITION                # components
    VELOCITY
    MOVED                   # of dx
    SPED                    # of dv
    EACH                    # row `index` of `rows`
    RESULT                  # component of `out`

ctypedef struct Operand:
    int kind
    int index

# Operands by their numbers.
ctypedef struct Operation:
    int code
    int out                 # where the result is stored beside, or NOWHERE
    int a, b, c, d
    int run                 # so many from here on, END counted, are done for a group; 0: this one for a block

ctypedef struct Formula:
    int operands
    int still               # so many of them come first that are at one place for all groups
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
    const char* a, Py_ssize_t a_step, const char* b, Py_ssize_t b_step,
) noexcept nogil

# For one kind of number.
ctypedef struct FormulaTable:
    Py_ssize_t width        # numbers in a vector
    Operate operate
    FlowFunction flow
