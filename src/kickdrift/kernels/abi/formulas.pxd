# Bytecode of formulas: operations on rows, with one number per body.

from libc.stdint cimport int64_t

# Operation codes. r: result of the previous operation, in registers; a, b, c, d: operands. In SAME_ codes operand a is
# uniform over bodies; in sums of two products operand c is uniform, too. Compound operations round after each
# elementary one.
cdef enum OperationCode:
    AND_ADD, SAME_AND_ADD                       # r + a
    AND_SUB, SAME_AND_SUB                       # r - a
    FROM, SAME_FROM                             # a - r
    AND_MUL, SAME_AND_MUL
    AND_DIV, SAME_AND_DIV
    INTO, SAME_INTO                             # a / r
    AND_NEG
    AND_SQUARE
    AND_SQRT
    AND_MUL_ADD, SAME_AND_MUL_ADD               # r a + b
    AND_MUL_SUB, SAME_AND_MUL_SUB               # r a - b
    MUL_FROM, SAME_MUL_FROM                     # b - r a
    AND_MUL_MUL                                 # (r a) b
    ADD_PRODUCT, SAME_ADD_PRODUCT               # r + a b
    SUB_PRODUCT, SAME_SUB_PRODUCT               # r - a b
    FROM_PRODUCT, SAME_FROM_PRODUCT             # a b - r
    TAKE, SAME_TAKE                             # a; does not read r
    ADD, SAME_ADD
    SUB, SAME_SUB
    MUL, SAME_MUL
    DIV, SAME_DIV
    NEG
    SQRT
    MUL_ADD, SAME_MUL_ADD                       # a b + c
    MUL_SUB, SAME_MUL_SUB                       # a b - c
    SUB_MUL, SAME_SUB_MUL                       # c - a b
    MUL_MUL, SAME_MUL_MUL                       # (a b) c
    ADD_MUL                                     # (a + b) c
    DIFF_MUL                                    # (a - b) c
    PRODUCTS_ADDED, SAME_PRODUCTS_ADDED         # a b + c d
    PRODUCTS_SUBTRACTED, SAME_PRODUCTS_SUBTRACTED  # a b - c d
    SQUARES_ADDED                               # a a + b b
    ABS
    MIN
    MAX
    FLOOR
    LESS
    NOT_LESS
    EQUAL
    WHERE
    END                     # end of the operations that run group by group; r is undefined afterwards
    SPREAD                  # out = a, where a is uniform over bodies, copied to each vector of a group
    LOAD                    # out = component c of states in rows (n, dim)
    STORE                   # store a as column c
    NOISE                   # out = noise(c)
    SIN                     # from here on functions, computed in float64: out = f(a) or f(a, b)
    COS
    TAN
    EXP
    LOG
    TANH
    CBRT
    POW
    ATAN2

cdef enum:
    GROUP = 8               # maximum number of vectors that run through the operations together
    BLOCK = 192             # bodies per block: whole groups of KD_GROUP vectors in each instruction set
    MAX_REGISTERS = 40      # maximum number of rows of intermediate results per block
    PARTS = 2               # registers per row of memory: each has room for a group
    MAX_UNIFORM = 256       # maximum number of uniform intermediate results
    MAX_SPREAD = 256        # maximum number of uniform results that are copied to all vectors of a group
    MAX_OPERANDS = 1024
    PRESET = 64 * GROUP     # bytes of a broadcast constant
    NOWHERE = -1            # `out` of an operation whose result is not stored

cdef enum OperandKind:  # kinds of operands; those from REGISTER to SPREAD_OUT keep their address from group to group
    REGISTER
    KNOWN                   # constant number `index` of `presets`
    TIME
    UNIFORM
    SPREAD_OUT
    ROW                     # row of intermediate results for all bodies of a block
    POSITION                # component of positions
    VELOCITY
    MOVED                   # component of dx, the change of positions (tangents only)
    SPED                    # component of dv, the change of velocities (tangents only)
    EACH                    # per-body coefficient: row `index` of `rows`
    RESULT                  # component of `out`

ctypedef struct Operand:
    int kind
    int index

# One operation; its operands are indices into `operand`.
ctypedef struct Operation:
    int code
    int out                 # operand to store the result to; NOWHERE: only the next operation reads it, as r
    int a, b, c, d
    int run  # number of operations from this one to END, which run group by group; 0: runs on a whole block

ctypedef struct Formula:
    int operands
    int still               # number of leading operands whose address does not advance from group to group
    const Operand* operand
    int uniform             # number of leading operations whose results are uniform over bodies
    int operations
    const Operation* operation
    const char* presets
    const char* rows        # rows padded to whole blocks, `row` bytes each
    Py_ssize_t row
    int columns             # row length of the output of flows, whose results have the shape (n, columns)
    const int64_t* generation   # generation of the body in each slot, for noise; NULL: 1

# Right-hand side of y' = f(t, y), as in engine/ode.pyx.
ctypedef int (*FlowFunction)(
    double t, int64_t first, int64_t count, int64_t dim, const void* y, void* out, void* formula,
) noexcept nogil

# Apply an operation to vectors; steps are 1, or 0 for uniform operands.
ctypedef void (*Operate)(
    int code, Py_ssize_t vectors, char* out,
    const char* a, Py_ssize_t a_step, const char* b, Py_ssize_t b_step,
) noexcept nogil

# Function table for one dtype.
ctypedef struct FormulaTable:
    Py_ssize_t width        # lanes of a vector
    Operate operate
    FlowFunction flow
