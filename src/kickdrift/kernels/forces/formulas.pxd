# The machine that runs formulas: each operation for a block of bodies at a time, in rows that stay in the first-level
# cache. What an operation does to numbers is said in kickdrift/reference/formulas.py.

from libc.stdint cimport int64_t

from ..abi.formulas cimport (
    ABS, ADD, ADD_ADD, ADD_MUL, ADD_SUB, BLOCK, COPY, DIFF_ADD, DIFF_MUL, DIFF_MUL_ADD, DIFF_MUL_SUB, DIFF_SUB, DIV,
    EACH, EQUAL, FLOOR, KNOWN, LESS, LOAD, MAX, MAX_OPERANDS, MAX_REGISTERS, MAX_UNIFORM, MIN, MOVED, MUL, MUL_ADD,
    MUL_ADD_ADD, MUL_ADD_SUB, MUL_MUL, MUL_MUL_ADD, MUL_MUL_SUB, MUL_SUB, MUL_SUB_ADD, MUL_SUB_SUB, NEG, NOISE,
    NOT_LESS, POSITION, PRESET, PRODUCTS_ADDED, PRODUCTS_SUBTRACTED, REGISTER, RESULT, SPED, SQRT, SQUARES_ADDED,
    STORE, SUB, SUB_MUL, SUB_MUL_MUL, TIME, UNIFORM, VELOCITY, WHERE, Formula, Operand, Operation,
)
from ..functions.normals cimport noise_row
from ..functions.rows cimport functions, functions_of_floats
from ..loops.planes cimport aligned
from ..simd.choices cimport is_equal, is_less, is_not_less, round_down, select, without_sign
from ..simd.copies cimport move_f32, move_f64
from ..simd.vec cimport f32vec, spread_f32, spread_f64, vec, vec_root, width


cdef inline void operate(
    const Operation* o, Py_ssize_t vectors, char** at, const Py_ssize_t* step, const vec* like,
) noexcept nogil:
    """One operation on so many vectors. Operands are somewhere, and have steps: 1, or 0 if the same for all."""
    cdef int code = o.code
    cdef vec* out = <vec*> at[o.out]
    cdef const vec* a = <const vec*> at[o.a]
    cdef const vec* b = <const vec*> at[o.b]
    cdef const vec* c = <const vec*> at[o.c]
    cdef const vec* d = <const vec*> at[o.d]
    cdef Py_ssize_t i = step[o.a]
    cdef Py_ssize_t j = step[o.b]
    cdef Py_ssize_t k = step[o.c]
    cdef Py_ssize_t m = step[o.d]
    cdef vec same, other    # numbers that are read once
    cdef Py_ssize_t n
    if code == ADD:
        for n in range(vectors):
            out[n] = a[n * i] + b[n * j]
    elif code == SUB:
        for n in range(vectors):
            out[n] = a[n * i] - b[n * j]
    elif code == MUL:
        for n in range(vectors):
            out[n] = a[n * i] * b[n * j]
    elif code == DIV:
        for n in range(vectors):
            out[n] = a[n * i] / b[n * j]
    elif code == MUL_ADD:
        if i == 0:
            same = a[0]
            for n in range(vectors):
                out[n] = same * b[n * j] + c[n * k]
        else:
            for n in range(vectors):
                out[n] = a[n * i] * b[n * j] + c[n * k]
    elif code == MUL_SUB:
        if i == 0:
            same = a[0]
            for n in range(vectors):
                out[n] = same * b[n * j] - c[n * k]
        else:
            for n in range(vectors):
                out[n] = a[n * i] * b[n * j] - c[n * k]
    elif code == SUB_MUL:
        if i == 0:
            same = a[0]
            for n in range(vectors):
                out[n] = c[n * k] - same * b[n * j]
        else:
            for n in range(vectors):
                out[n] = c[n * k] - a[n * i] * b[n * j]
    elif code == MUL_MUL:
        if i == 0:
            same = a[0]
            for n in range(vectors):
                out[n] = (same * b[n * j]) * c[n * k]
        else:
            for n in range(vectors):
                out[n] = (a[n * i] * b[n * j]) * c[n * k]
    elif code == ADD_MUL:
        for n in range(vectors):
            out[n] = (a[n * i] + b[n * j]) * c[n * k]
    elif code == DIFF_MUL:
        for n in range(vectors):
            out[n] = (a[n * i] - b[n * j]) * c[n * k]
    elif code == ADD_ADD:
        for n in range(vectors):
            out[n] = (a[n * i] + b[n * j]) + c[n * k]
    elif code == ADD_SUB:
        for n in range(vectors):
            out[n] = (a[n * i] + b[n * j]) - c[n * k]
    elif code == DIFF_ADD:
        for n in range(vectors):
            out[n] = (a[n * i] - b[n * j]) + c[n * k]
    elif code == DIFF_SUB:
        for n in range(vectors):
            out[n] = (a[n * i] - b[n * j]) - c[n * k]
    elif code == MUL_MUL_ADD:
        if i == 0:
            same = a[0]
            for n in range(vectors):
                out[n] = (same * b[n * j]) * c[n * k] + d[n * m]
        else:
            for n in range(vectors):
                out[n] = (a[n * i] * b[n * j]) * c[n * k] + d[n * m]
    elif code == MUL_MUL_SUB:
        if i == 0:
            same = a[0]
            for n in range(vectors):
                out[n] = (same * b[n * j]) * c[n * k] - d[n * m]
        else:
            for n in range(vectors):
                out[n] = (a[n * i] * b[n * j]) * c[n * k] - d[n * m]
    elif code == SUB_MUL_MUL:
        if i == 0:
            same = a[0]
            for n in range(vectors):
                out[n] = d[n * m] - (same * b[n * j]) * c[n * k]
        else:
            for n in range(vectors):
                out[n] = d[n * m] - (a[n * i] * b[n * j]) * c[n * k]
    elif code == DIFF_MUL_ADD:
        for n in range(vectors):
            out[n] = (a[n * i] - b[n * j]) * c[n * k] + d[n * m]
    elif code == DIFF_MUL_SUB:
        for n in range(vectors):
            out[n] = (a[n * i] - b[n * j]) * c[n * k] - d[n * m]
    elif code == MUL_ADD_ADD:
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j] + c[n * k]) + d[n * m]
    elif code == MUL_ADD_SUB:
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j] + c[n * k]) - d[n * m]
    elif code == MUL_SUB_ADD:
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j] - c[n * k]) + d[n * m]
    elif code == MUL_SUB_SUB:
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j] - c[n * k]) - d[n * m]
    elif code == PRODUCTS_ADDED:
        if i == 0 and k == 0:
            same = a[0]
            other = c[0]
            for n in range(vectors):
                out[n] = same * b[n * j] + other * d[n * m]
        else:
            for n in range(vectors):
                out[n] = a[n * i] * b[n * j] + c[n * k] * d[n * m]
    elif code == PRODUCTS_SUBTRACTED:
        if i == 0 and k == 0:
            same = a[0]
            other = c[0]
            for n in range(vectors):
                out[n] = same * b[n * j] - other * d[n * m]
        else:
            for n in range(vectors):
                out[n] = a[n * i] * b[n * j] - c[n * k] * d[n * m]
    elif code == SQUARES_ADDED:
        for n in range(vectors):
            same = a[n * i]
            other = b[n * j]
            out[n] = same * same + other * other
    elif code == NEG:
        for n in range(vectors):
            out[n] = -a[n * i]
    elif code == ABS:
        for n in range(vectors):
            out[n] = without_sign(a[n * i])
    elif code == MIN:
        for n in range(vectors):
            out[n] = select(is_less(b[n * j], a[n * i]), b[n * j], a[n * i])
    elif code == MAX:
        for n in range(vectors):
            out[n] = select(is_less(a[n * i], b[n * j]), b[n * j], a[n * i])
    elif code == FLOOR:
        for n in range(vectors):
            out[n] = round_down(a[n * i])
    elif code == LESS:
        for n in range(vectors):
            out[n] = is_less(a[n * i], b[n * j])
    elif code == NOT_LESS:
        for n in range(vectors):
            out[n] = is_not_less(a[n * i], b[n * j])
    elif code == EQUAL:
        for n in range(vectors):
            out[n] = is_equal(a[n * i], b[n * j])
    elif code == WHERE:
        for n in range(vectors):
            out[n] = select(a[n * i], b[n * j], c[n * k])
    elif code == COPY:
        for n in range(vectors):
            out[n] = a[n * i]
    elif code == SQRT:
        for n in range(vectors):
            out[n] = vec_root(a[n * i])
    elif vec is f32vec:
        functions_of_floats(code, vectors, out, a, i, b, j)
    else:
        functions(code, vectors, out, a, i, b, j)


cdef inline void move_column(
    bint out, vec* row, Py_ssize_t step, char* place, Py_ssize_t columns, Py_ssize_t count,
) noexcept nogil:
    """A row from or to a column of numbers that lie row by row; what is stored may be the same for all."""
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


# Bodies that operations are done for at once; of flows their rows.
ctypedef struct Block:
    const char* x
    char* out
    Py_ssize_t dim
    int64_t first
    Py_ssize_t count
    int64_t tick


cdef inline void operate_all(
    const Formula* formula, int begin, int end, Py_ssize_t vectors, char** at, const Py_ssize_t* step,
    const Block* block, const vec* like,
) noexcept nogil:
    """Operations of a list, one after the other."""
    cdef Py_ssize_t size = sizeof(vec) // width(like)
    cdef const Operation* o
    cdef int n
    for n in range(begin, end):
        o = &formula.operation[n]
        if o.code == LOAD:
            move_column(False, <vec*> at[o.out], 1, <char*> block.x + o.a * size, block.dim, block.count)
        elif o.code == STORE:
            move_column(True, <vec*> at[o.a], step[o.a], block.out + o.out * size, formula.columns, block.count)
        elif o.code == NOISE:
            noise_row(
                o.a, block.tick, block.first, block.count, formula.generation, <void*> at[o.out], vec is f32vec,
            )
        else:
            operate(o, vectors, at, step, like)


# Where the operands of a kind begin, and bytes from each to the next.
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
    """Planes of `stride` numbers, or, for the formulas of flows, `dim` numbers for each. tick: that of the noise."""
    cdef double memory[8 + 8 * (1 + MAX_UNIFORM) + MAX_REGISTERS * BLOCK]
    cdef char* at[MAX_OPERANDS]
    cdef Py_ssize_t step[MAX_OPERANDS]
    cdef Kind kinds[RESULT + 1]
    cdef const Operand* operand = formula.operand
    cdef vec* buffer = aligned(<char*> memory, like)
    cdef Py_ssize_t size = <Py_ssize_t> sizeof(vec) // width(like)
    cdef Py_ssize_t plane = stride * size
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t shift
    cdef Kind* kind
    cdef Block block
    cdef int n
    if vec is f32vec:
        buffer[0] = spread_f32(<float> t)
    else:
        buffer[0] = spread_f64(t)
    place(kinds, KNOWN, formula.presets, PRESET, 0)
    place(kinds, TIME, <char*> buffer, 0, 0)
    place(kinds, UNIFORM, <char*> (buffer + 1), sizeof(vec), 0)
    place(kinds, REGISTER, <char*> (buffer + 1 + MAX_UNIFORM), BLOCK * size, 1)
    block.dim, block.tick = dim, tick
    while begin < count:
        shift = begin * size
        place(kinds, POSITION, x + shift, plane, 1)
        place(kinds, VELOCITY, v + shift, plane, 1)
        place(kinds, MOVED, dx + shift, plane, 1)
        place(kinds, SPED, dv + shift, plane, 1)
        place(kinds, EACH, formula.rows + (first + begin) * size, formula.row, 1)
        place(kinds, RESULT, out + shift, plane, 1)
        for n in range(formula.operands):
            kind = &kinds[operand[n].kind]
            at[n], step[n] = <char*> kind.base + operand[n].index * kind.apart, kind.step
        block.x, block.out, block.first = x + dim * shift, out + formula.columns * shift, first + begin
        block.count = min(<Py_ssize_t> BLOCK, count - begin)
        if begin == 0:
            operate_all(formula, 0, formula.uniform, 1, at, step, &block, like)
        operate_all(
            formula, formula.uniform, formula.operations, (block.count + width(like) - 1) // width(like), at, step,
            &block, like,
        )
        begin += block.count
    return 0


cdef inline void operate_once(
    int code, Py_ssize_t vectors, vec* out,
    const vec* a, Py_ssize_t i, const vec* b, Py_ssize_t j, const vec* c, Py_ssize_t k, const vec* d, Py_ssize_t l,
) noexcept nogil:
    """An operation that is in no list."""
    cdef char* at[5]
    cdef Py_ssize_t step[5]
    cdef Operation o
    at[0], at[1], at[2], at[3], at[4] = <char*> out, <char*> a, <char*> b, <char*> c, <char*> d
    step[0], step[1], step[2], step[3], step[4] = 1, i, j, k, l
    o.code, o.out, o.a, o.b, o.c, o.d = code, 0, 1, 2, 3, 4
    operate(&o, vectors, at, step, out)
