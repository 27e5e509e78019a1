# Interpreter of formulas. Each group of vectors in turn runs through the operations up to the next one that works on a
# whole block: a function, noise, or the load or store of a column.
#
# The result of an operation stays in registers for the next one. It is stored only if a later operation reads it, in
# memory for one group. Semantics of operations: kickdrift/reference/formulas.py.

from libc.stdint cimport int64_t

from ..abi.formulas cimport (
    ABS, ADD, ADD_MUL, ADD_PRODUCT, AND_ADD, AND_DIV, AND_MUL, AND_MUL_ADD, AND_MUL_MUL, AND_MUL_SUB, AND_NEG,
    AND_SQRT, AND_SQUARE, AND_SUB, BLOCK, DIFF_MUL, DIV, EACH, EQUAL, FLOOR, FROM, FROM_PRODUCT, GROUP, INTO, KNOWN,
    LESS, LOAD, MAX, MAX_OPERANDS, MAX_REGISTERS, MAX_SPREAD, MAX_UNIFORM, MIN, MOVED, MUL, MUL_ADD, MUL_FROM, MUL_MUL,
    MUL_SUB, NEG, NOISE, NOT_LESS, NOWHERE, PARTS, POSITION, PRESET, PRODUCTS_ADDED, PRODUCTS_SUBTRACTED, REGISTER,
    RESULT, ROW, SAME_ADD, SAME_ADD_PRODUCT, SAME_AND_ADD, SAME_AND_DIV, SAME_AND_MUL, SAME_AND_MUL_ADD,
    SAME_AND_MUL_SUB, SAME_AND_SUB, SAME_DIV, SAME_FROM, SAME_FROM_PRODUCT, SAME_INTO, SAME_MUL, SAME_MUL_ADD,
    SAME_MUL_FROM, SAME_MUL_MUL, SAME_MUL_SUB, SAME_PRODUCTS_ADDED, SAME_PRODUCTS_SUBTRACTED, SAME_SUB, SAME_SUB_MUL,
    SAME_SUB_PRODUCT, SAME_TAKE, SPED, SPREAD, SPREAD_OUT, SQRT, SQUARES_ADDED, STORE, SUB, SUB_MUL, SUB_PRODUCT, TAKE,
    TIME, UNIFORM, VELOCITY, WHERE, Formula, Operand, Operation,
)
from ..functions.normals cimport noise_row
from ..functions.rows cimport functions, functions_of_floats
from ..loops.planes cimport aligned
from ..simd.masks cimport absolute, equal, greater_equal, less, positive, round_down, select, select_or_zero
from ..simd.copies cimport move_f32, move_f64
from ..simd.vec cimport f32vec, filled, vec, vec_root, width

cdef extern from *:
    """
    /* Vectors per group: as many as stay in registers, if the other operands are in memory; BLOCK is a multiple. The
       baseline has fewer, for small code. */
    #if defined(__AVX512F__)
      #define KD_GROUP 6
    #elif defined(__AVX__) || defined(__aarch64__)
      #define KD_GROUP 8
    #else
      #define KD_GROUP 4
    #endif
    typedef struct { char each[1]; } kd_one;
    typedef struct { char each[KD_GROUP]; } kd_group;
    /* Unrolled loops: compilers keep arrays in registers only if all indices are constants. */
    enum { KD_FIRST = 0 };
    #define KD_NUMBER(number, to, value) { enum { KD_N = number, KD_M = KD_FIRST ? 0 : number }; (to)[KD_N] = value; }
    #define KD_TWO(number, to, value) KD_NUMBER(number, to, value) KD_NUMBER(number + 1, to, value)
    #define KD_WRITTEN_OUT(count, to, value) do { \
        KD_NUMBER(0, to, value) \
        if ((count) > 1) { KD_NUMBER(1, to, value) KD_TWO(2, to, value) } \
        if ((count) > 4) { KD_TWO(4, to, value) } \
        if ((count) > 6) { KD_TWO(6, to, value) } \
    } while (0)
    #define KD_EACH_OR_FIRST(first, count, to, value) do { \
        if (first) { enum { KD_FIRST = 1 }; KD_WRITTEN_OUT(count, to, value); } \
        else KD_WRITTEN_OUT(count, to, value); \
    } while (0)
    """
    # to[N] = value, for N = 0 to count - 1; count: 1 or KD_GROUP
    void each "KD_WRITTEN_OUT"(Py_ssize_t count, ...) noexcept nogil
    # The same, where M is N, or 0 if `first`: operands with index M are then uniform
    void each_or_first "KD_EACH_OR_FIRST"(bint first, Py_ssize_t count, ...) noexcept nogil
    enum:
        N "KD_N"
        M "KD_M"
    # Number of vectors at once, as the size of a type: a fused type makes it a compile-time constant.
    ctypedef struct One "kd_one":
        char each
    ctypedef struct Group "kd_group":
        char each

ctypedef fused some:
    One
    Group


cdef inline void work_out(
    int code, Py_ssize_t vectors, vec* out, const vec* a, Py_ssize_t i, const vec* b, Py_ssize_t j,
) noexcept nogil:
    """Evaluate a function on vectors. Steps of operands are 1, or 0 if uniform."""
    if vec is f32vec:
        functions_of_floats(code, vectors, out, a, i, b, j)
    else:
        functions(code, vectors, out, a, i, b, j)


cdef inline void move_column(
    bint out, vec* row, Py_ssize_t step, char* place, Py_ssize_t columns, Py_ssize_t count,
) noexcept nogil:
    """Copy between a contiguous row and a column of rows (n, columns); a stored value may be uniform (step 0)."""
    cdef Py_ssize_t n
    if vec is f32vec:
        if step or not out:
            move_f32(out, <float*> row, place, columns * sizeof(float), count)
        else:
            for n in range(count):
                (<float*> place)[n * columns] = (<float*> row)[0]
    else:
        if step or not out:
            move_f64(out, <double*> row, place, columns * sizeof(double), count)
        else:
            for n in range(count):
                (<double*> place)[n * columns] = (<double*> row)[0]


# The bodies (or trajectories) that run_formula processes at once.
ctypedef struct Block:
    const char* x
    char* out
    Py_ssize_t dim
    int64_t first
    Py_ssize_t count
    Py_ssize_t vectors
    int64_t tick


cdef inline void aside(
    const Formula* formula, const Operation* o, char** at, const Py_ssize_t* step, const Block* block, const vec* like,
) noexcept nogil:
    """Do an operation for a whole block: a function, noise, the load or store of a column, or a broadcast.

    at: address of each operand; step: 1, or 0 if uniform.
    """
    cdef Py_ssize_t size = sizeof(vec) // width(like)
    cdef Py_ssize_t n
    if o.code == LOAD:
        move_column(False, <vec*> at[o.out], 1, <char*> block.x + o.c * size, block.dim, block.count)
    elif o.code == STORE:
        move_column(True, <vec*> at[o.a], step[o.a], block.out + o.c * size, formula.columns, block.count)
    elif o.code == NOISE:
        noise_row(o.c, block.tick, block.first, block.count, formula.generation, <void*> at[o.out], vec is f32vec)
    elif o.code == SPREAD:
        for n in range(GROUP):
            (<vec*> at[o.out])[n] = (<const vec*> at[o.a])[0]
    else:
        work_out(
            o.code, block.vectors, <vec*> at[o.out], <const vec*> at[o.a], step[o.a], <const vec*> at[o.b], step[o.b],
        )


cdef inline void operate(const Operation* o, char** at, const vec* like, const some* vectors) noexcept nogil:
    """Run operations up to END for one group of vectors; r: result of the previous operation."""
    cdef vec r[GROUP]
    cdef vec* out
    cdef const vec* a
    cdef const vec* b
    cdef const vec* c
    cdef const vec* d
    cdef vec zero = filled(0, like)
    cdef int code
    # Dead store: without it compilers assume that r keeps values between calls.
    each(sizeof(some), r, zero)
    while True:
        code = o.code
        a = <const vec*> at[o.a]
        b = <const vec*> at[o.b]
        if code == AND_ADD or code == SAME_AND_ADD:
            each_or_first(code == SAME_AND_ADD, sizeof(some), r, r[N] + a[M])
        elif code == AND_SUB or code == SAME_AND_SUB:
            each_or_first(code == SAME_AND_SUB, sizeof(some), r, r[N] - a[M])
        elif code == FROM or code == SAME_FROM:
            each_or_first(code == SAME_FROM, sizeof(some), r, a[M] - r[N])
        elif code == AND_MUL or code == SAME_AND_MUL:
            each_or_first(code == SAME_AND_MUL, sizeof(some), r, r[N] * a[M])
        elif code == AND_DIV or code == SAME_AND_DIV:
            each_or_first(code == SAME_AND_DIV, sizeof(some), r, r[N] / a[M])
        elif code == INTO or code == SAME_INTO:
            each_or_first(code == SAME_INTO, sizeof(some), r, a[M] / r[N])
        elif code == AND_NEG:
            each(sizeof(some), r, -r[N])
        elif code == AND_SQUARE:
            each(sizeof(some), r, r[N] * r[N])
        elif code == AND_SQRT:
            each(sizeof(some), r, vec_root(r[N]))
        elif code == AND_MUL_ADD or code == SAME_AND_MUL_ADD:
            each_or_first(code == SAME_AND_MUL_ADD, sizeof(some), r, r[N] * a[M] + b[N])
        elif code == AND_MUL_SUB or code == SAME_AND_MUL_SUB:
            each_or_first(code == SAME_AND_MUL_SUB, sizeof(some), r, r[N] * a[M] - b[N])
        elif code == MUL_FROM or code == SAME_MUL_FROM:
            each_or_first(code == SAME_MUL_FROM, sizeof(some), r, b[N] - r[N] * a[M])
        elif code == AND_MUL_MUL:
            each(sizeof(some), r, (r[N] * a[N]) * b[N])
        elif code == ADD_PRODUCT or code == SAME_ADD_PRODUCT:
            each_or_first(code == SAME_ADD_PRODUCT, sizeof(some), r, r[N] + a[M] * b[N])
        elif code == SUB_PRODUCT or code == SAME_SUB_PRODUCT:
            each_or_first(code == SAME_SUB_PRODUCT, sizeof(some), r, r[N] - a[M] * b[N])
        elif code == FROM_PRODUCT or code == SAME_FROM_PRODUCT:
            each_or_first(code == SAME_FROM_PRODUCT, sizeof(some), r, a[M] * b[N] - r[N])
        elif code == TAKE or code == SAME_TAKE:
            each_or_first(code == SAME_TAKE, sizeof(some), r, a[M])
        elif code == ADD or code == SAME_ADD:
            each_or_first(code == SAME_ADD, sizeof(some), r, a[M] + b[N])
        elif code == SUB or code == SAME_SUB:
            each_or_first(code == SAME_SUB, sizeof(some), r, a[M] - b[N])
        elif code == MUL or code == SAME_MUL:
            each_or_first(code == SAME_MUL, sizeof(some), r, a[M] * b[N])
        elif code == DIV or code == SAME_DIV:
            each_or_first(code == SAME_DIV, sizeof(some), r, a[M] / b[N])
        elif code == NEG:
            each(sizeof(some), r, -a[N])
        elif code == SQRT:
            each(sizeof(some), r, vec_root(a[N]))
        elif code == MUL_ADD or code == SAME_MUL_ADD:
            c = <const vec*> at[o.c]
            each_or_first(code == SAME_MUL_ADD, sizeof(some), r, a[M] * b[N] + c[N])
        elif code == MUL_SUB or code == SAME_MUL_SUB:
            c = <const vec*> at[o.c]
            each_or_first(code == SAME_MUL_SUB, sizeof(some), r, a[M] * b[N] - c[N])
        elif code == SUB_MUL or code == SAME_SUB_MUL:
            c = <const vec*> at[o.c]
            each_or_first(code == SAME_SUB_MUL, sizeof(some), r, c[N] - a[M] * b[N])
        elif code == MUL_MUL or code == SAME_MUL_MUL:
            c = <const vec*> at[o.c]
            each_or_first(code == SAME_MUL_MUL, sizeof(some), r, (a[M] * b[N]) * c[N])
        elif code == ADD_MUL:
            c = <const vec*> at[o.c]
            each(sizeof(some), r, (a[N] + b[N]) * c[N])
        elif code == DIFF_MUL:
            c = <const vec*> at[o.c]
            each(sizeof(some), r, (a[N] - b[N]) * c[N])
        elif code == PRODUCTS_ADDED or code == SAME_PRODUCTS_ADDED:
            c = <const vec*> at[o.c]
            d = <const vec*> at[o.d]
            each_or_first(code == SAME_PRODUCTS_ADDED, sizeof(some), r, a[M] * b[N] + c[M] * d[N])
        elif code == PRODUCTS_SUBTRACTED or code == SAME_PRODUCTS_SUBTRACTED:
            c = <const vec*> at[o.c]
            d = <const vec*> at[o.d]
            each_or_first(code == SAME_PRODUCTS_SUBTRACTED, sizeof(some), r, a[M] * b[N] - c[M] * d[N])
        elif code == SQUARES_ADDED:
            each(sizeof(some), r, a[N] * a[N] + b[N] * b[N])
        elif code == ABS:
            each(sizeof(some), r, absolute(a[N]))
        elif code == MIN:
            each(sizeof(some), r, select(less(b[N], a[N]), b[N], a[N]))
        elif code == MAX:
            each(sizeof(some), r, select(less(a[N], b[N]), b[N], a[N]))
        elif code == FLOOR:
            each(sizeof(some), r, round_down(a[N]))
        elif code == LESS:
            each(sizeof(some), r, select_or_zero(less(a[N], b[N]), filled(1, r)))
        elif code == NOT_LESS:
            each(sizeof(some), r, select_or_zero(greater_equal(a[N], b[N]), filled(1, r)))
        elif code == EQUAL:
            each(sizeof(some), r, select_or_zero(equal(a[N], b[N]), filled(1, r)))
        elif code == WHERE:
            c = <const vec*> at[o.c]
            each(sizeof(some), r, select(positive(a[N]), b[N], c[N]))
        else:
            return
        if o.out != NOWHERE:
            out = <vec*> at[o.out]
            each(sizeof(some), out, r[N])
        o += 1


cdef inline void operate_on_groups(
    const Formula* formula, const Operation* o, Py_ssize_t vectors, char** at, const vec* like,
) noexcept nogil:
    """Run operations up to END for all vectors of a block, group by group."""
    cdef Py_ssize_t group_size = sizeof(Group)
    cdef Py_ssize_t together = group_size if vectors >= group_size else 1
    cdef Py_ssize_t done = 0
    cdef Py_ssize_t shift = together
    cdef const One* one = NULL
    cdef const Group* group = NULL
    cdef int n
    while True:
        if together == 1:
            operate(o, at, like, one)
        else:
            operate(o, at, like, group)
        done += shift
        if done == vectors:
            break
        # The last group ends with the last vector. Vectors that it shares with the group before are computed twice.
        shift = min(together, vectors - done)
        for n in range(formula.still, formula.operands):
            at[n] += shift * sizeof(vec)
    for n in range(formula.still, formula.operands):
        at[n] -= (vectors - together) * sizeof(vec)


# Addresses of the operands of one kind: base, bytes from one operand to the next, and step (0 if uniform).
ctypedef struct Kind:
    const char* base
    Py_ssize_t apart
    Py_ssize_t step


cdef inline void place(Kind* kinds, int kind, const char* base, Py_ssize_t apart, Py_ssize_t step) noexcept nogil:
    kinds[kind].base, kinds[kind].apart, kinds[kind].step = base, apart, step


cdef inline int run_formula(
    const Formula* formula, double t, int64_t first, int64_t count, Py_ssize_t stride, Py_ssize_t dim,
    const char* x, const char* v, const char* dx, const char* dv, char* out, int64_t tick, vec* like,
) noexcept nogil:
    """Run a formula on planes of `stride` numbers, or, for flows, on rows of `dim` numbers. tick: seed of the noise."""
    cdef double memory[8 + 8 * (1 + MAX_UNIFORM + MAX_SPREAD * GROUP) + MAX_REGISTERS * BLOCK]
    cdef char* at[MAX_OPERANDS]
    cdef Py_ssize_t step[MAX_OPERANDS]
    cdef Kind kinds[RESULT + 1]
    cdef const Operand* operand = formula.operand
    cdef const Operation* o
    cdef vec* buffer = aligned(<char*> memory, like)
    cdef Py_ssize_t size = <Py_ssize_t> sizeof(vec) // width(like)
    cdef Py_ssize_t plane = stride * size
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t shift
    cdef char* rows
    cdef Kind* kind
    cdef Block block
    cdef int n
    buffer[0] = filled(t, like)
    place(kinds, KNOWN, formula.presets, PRESET, 0)
    place(kinds, TIME, <char*> buffer, 0, 0)
    place(kinds, UNIFORM, <char*> (buffer + 1), sizeof(vec), 0)
    place(kinds, SPREAD_OUT, <char*> (buffer + 1 + MAX_UNIFORM), GROUP * sizeof(vec), 1)
    rows = <char*> (buffer + 1 + MAX_UNIFORM + MAX_SPREAD * GROUP)
    place(kinds, ROW, rows, BLOCK * size, 1)
    # Operands of kind REGISTER are halves of the rows, which they use from the end of the last row backwards.
    shift = BLOCK * size // PARTS
    place(kinds, REGISTER, rows + MAX_REGISTERS * BLOCK * size - shift, -shift, 1)
    block.dim, block.tick = dim, tick
    while begin < count:
        shift = begin * size
        place(kinds, POSITION, x + shift, plane, 1)
        place(kinds, VELOCITY, v + shift, plane, 1)
        place(kinds, MOVED, dx + shift, plane, 1)
        place(kinds, SPED, dv + shift, plane, 1)
        place(kinds, EACH, formula.rows + (first + begin) * size, formula.row, 1)
        place(kinds, RESULT, out + shift, plane, 1)
        for n in range(0 if begin == 0 else formula.still, formula.operands):
            kind = &kinds[operand[n].kind]
            at[n], step[n] = <char*> kind.base + operand[n].index * kind.apart, kind.step
        block.x, block.out, block.first = x + dim * shift, out + formula.columns * shift, first + begin
        block.count = min(<Py_ssize_t> BLOCK, count - begin)
        n = formula.uniform if begin > 0 else 0
        while n < formula.operations:
            o = &formula.operation[n]
            block.vectors = 1 if n < formula.uniform else (block.count + width(like) - 1) // width(like)
            if o.run > 0:
                operate_on_groups(formula, o, block.vectors, at, like)
                n += o.run
            else:
                aside(formula, o, at, step, &block, like)
                n += 1
        begin += block.count
    return 0


cdef inline void operate_once(
    int code, Py_ssize_t vectors, vec* out, const vec* a, Py_ssize_t i, const vec* b, Py_ssize_t j,
) noexcept nogil:
    """Evaluate one operation that is not part of a formula, for functions of arrays."""
    cdef Py_ssize_t n
    if code == SQRT:
        for n in range(vectors):
            out[n] = vec_root(a[n * i])
    else:
        work_out(code, vectors, out, a, i, b, j)
