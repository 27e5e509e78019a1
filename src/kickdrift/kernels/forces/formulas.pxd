# The machine that runs formulas: each operation for a block of bodies at a time, in rows that stay in the first-level
# cache. What an operation does to numbers is said in kickdrift/reference/formulas.py.

from libc.stdint cimport int64_t

from ..abi.formulas cimport (
    ABS, ADD, ADD_ADD, ADD_MUL, ADD_SUB, BLOCK, COPY, DIFF_ADD, DIFF_MUL, DIFF_MUL_ADD, DIFF_MUL_SUB, DIFF_SUB, DIV,
    EACH, EQUAL, FLOOR, KNOWN, LESS, LOAD, MAX, MAX_OPERANDS, MAX_REGISTERS, MAX_UNIFORM, MIN, MOVED, MUL, MUL_ADD,
    MUL_ADD_ADD, MUL_ADD_SUB, MUL_MUL, MUL_MUL_ADD, MUL_MUL_SUB, MUL_SUB, MUL_SUB_ADD, MUL_SUB_SUB, NEG, NOISE,
    NOT_LESS, POSITION, PRESET, PRODUCTS_ADDED, PRODUCTS_SUBTRACTED, REGISTER, RESULT, SPED, SQRT, STORE, SUB,
    SUB_MUL, SUB_MUL_MUL, TIME, UNIFORM, VELOCITY, WHERE, Formula, Operand, Operation,
)
from ..functions.normals cimport noise_row
from ..functions.rows cimport functions, functions_of_floats
from ..loops.planes cimport aligned
from ..simd.choices cimport is_equal, is_less, is_not_less, round_down, select, without_sign
from ..simd.copies cimport move_f32, move_f64
from ..simd.vec cimport f32vec, spread_f32, spread_f64, vec, vec_root, width


cdef inline void operate(
    int code, Py_ssize_t vectors, vec* out,
    const vec* a, Py_ssize_t i, const vec* b, Py_ssize_t j, const vec* c, Py_ssize_t k, const vec* d, Py_ssize_t l,
) noexcept nogil:
    """One operation on so many vectors; i, j, k and l are the steps of its operands, 1 or 0."""
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
        for n in range(vectors):
            out[n] = a[n * i] * b[n * j] + c[n * k]
    elif code == MUL_SUB:
        for n in range(vectors):
            out[n] = a[n * i] * b[n * j] - c[n * k]
    elif code == SUB_MUL:
        for n in range(vectors):
            out[n] = c[n * k] - a[n * i] * b[n * j]
    elif code == MUL_MUL:
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
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j]) * c[n * k] + d[n * l]
    elif code == MUL_MUL_SUB:
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j]) * c[n * k] - d[n * l]
    elif code == SUB_MUL_MUL:
        for n in range(vectors):
            out[n] = d[n * l] - (a[n * i] * b[n * j]) * c[n * k]
    elif code == DIFF_MUL_ADD:
        for n in range(vectors):
            out[n] = (a[n * i] - b[n * j]) * c[n * k] + d[n * l]
    elif code == DIFF_MUL_SUB:
        for n in range(vectors):
            out[n] = (a[n * i] - b[n * j]) * c[n * k] - d[n * l]
    elif code == MUL_ADD_ADD:
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j] + c[n * k]) + d[n * l]
    elif code == MUL_ADD_SUB:
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j] + c[n * k]) - d[n * l]
    elif code == MUL_SUB_ADD:
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j] - c[n * k]) + d[n * l]
    elif code == MUL_SUB_SUB:
        for n in range(vectors):
            out[n] = (a[n * i] * b[n * j] - c[n * k]) - d[n * l]
    elif code == PRODUCTS_ADDED:
        for n in range(vectors):
            out[n] = a[n * i] * b[n * j] + c[n * k] * d[n * l]
    elif code == PRODUCTS_SUBTRACTED:
        for n in range(vectors):
            out[n] = a[n * i] * b[n * j] - c[n * k] * d[n * l]
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


# Where the operands are that are the same for all blocks, or else those of a block.
ctypedef struct Places:
    const char* x
    const char* v
    const char* dx
    const char* dv
    char* out
    Py_ssize_t plane        # bytes
    Py_ssize_t first        # bytes of the bodies before this block, in rows
    Py_ssize_t shift        # and in planes


cdef inline void locate(
    const Formula* formula, bint uniform, const Places* places, const char** at, Py_ssize_t* step, vec* buffer,
) noexcept nogil:
    cdef const Operand* operand
    cdef Py_ssize_t row = BLOCK * <Py_ssize_t> sizeof(vec) // width(buffer)
    cdef char* registers = <char*> (buffer + 1 + MAX_UNIFORM)
    cdef int n
    for n in range(formula.operands):
        operand = &formula.operand[n]
        if operand.kind == KNOWN:
            at[n], step[n] = formula.presets + operand.index * PRESET, 0
        elif operand.kind == TIME:
            at[n], step[n] = <const char*> buffer, 0
        elif operand.kind == UNIFORM:
            at[n], step[n] = <const char*> (buffer + 1 + operand.index), 0
        elif uniform:
            at[n] = NULL
        elif operand.kind == REGISTER:
            at[n], step[n] = registers + operand.index * row, 1
        elif operand.kind == POSITION:
            at[n], step[n] = places.x + operand.index * places.plane + places.shift, 1
        elif operand.kind == VELOCITY:
            at[n], step[n] = places.v + operand.index * places.plane + places.shift, 1
        elif operand.kind == MOVED:
            at[n], step[n] = places.dx + operand.index * places.plane + places.shift, 1
        elif operand.kind == SPED:
            at[n], step[n] = places.dv + operand.index * places.plane + places.shift, 1
        elif operand.kind == RESULT:
            at[n], step[n] = places.out + operand.index * places.plane + places.shift, 1
        else:  # EACH
            at[n], step[n] = formula.rows + operand.index * formula.row + places.first, 1


cdef inline int run_formula(
    const Formula* formula, double t, int64_t first, int64_t count, Py_ssize_t stride, Py_ssize_t dim,
    const char* x, const char* v, const char* dx, const char* dv, char* out, int64_t tick, vec* like,
) noexcept nogil:
    """Planes of `stride` numbers, or, for the formulas of flows, `dim` numbers for each. tick: that of the noise."""
    cdef double memory[8 + 8 * (1 + MAX_UNIFORM) + MAX_REGISTERS * BLOCK]
    cdef const char* at[MAX_OPERANDS]
    cdef Py_ssize_t step[MAX_OPERANDS]
    cdef vec* buffer = aligned(<char*> memory, like)
    cdef Py_ssize_t size = <Py_ssize_t> sizeof(vec) // width(like)
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t number, vectors
    cdef const Operation* o
    cdef Places places
    cdef int n
    places.x, places.v, places.dx, places.dv, places.out = x, v, dx, dv, out
    places.plane = stride * size
    places.first = places.shift = 0
    if vec is f32vec:
        buffer[0] = spread_f32(<float> t)
    else:
        buffer[0] = spread_f64(t)
    if formula.uniform > 0:
        locate(formula, True, &places, at, step, buffer)
        for n in range(formula.uniform):
            o = &formula.operation[n]
            operate(
                o.code, 1, <vec*> at[o.out], <const vec*> at[o.a], 0, <const vec*> at[o.b], 0, <const vec*> at[o.c], 0,
                <const vec*> at[o.d], 0,
            )
    while begin < count:
        number = min(<Py_ssize_t> BLOCK, count - begin)
        vectors = (number + width(like) - 1) // width(like)
        places.shift, places.first = begin * size, (first + begin) * size
        locate(formula, False, &places, at, step, buffer)
        for n in range(formula.uniform, formula.operations):
            o = &formula.operation[n]
            if o.code == LOAD:
                move_column(False, <vec*> at[o.out], 1, <char*> x + (begin * dim + o.a) * size, dim, number)
            elif o.code == STORE:
                move_column(
                    True, <vec*> at[o.a], step[o.a], out + (begin * formula.columns + o.out) * size, formula.columns,
                    number,
                )
            elif o.code == NOISE:
                noise_row(o.a, tick, first + begin, number, formula.generation, <void*> at[o.out], vec is f32vec)
            else:
                operate(
                    o.code, vectors, <vec*> at[o.out], <const vec*> at[o.a], step[o.a],
                    <const vec*> at[o.b], step[o.b], <const vec*> at[o.c], step[o.c], <const vec*> at[o.d], step[o.d],
                )
        begin += number
    return 0
