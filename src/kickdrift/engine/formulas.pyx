"""Expressions as C structs (lists of operations and operands), and mathematical functions of arrays."""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy, memset

from ..kernels.abi.formulas cimport (
    ABS, ADD, ADD_MUL, ADD_PRODUCT, AND_ADD, AND_DIV, AND_MUL, AND_MUL_ADD, AND_MUL_MUL, AND_MUL_SUB, AND_NEG,
    AND_SQRT, AND_SQUARE, AND_SUB, ATAN2, BLOCK, CBRT, COS, DIFF_MUL, DIV, EACH, END, EQUAL, EXP, FLOOR, FROM,
    FROM_PRODUCT, INTO, KNOWN, LESS, LOAD, LOG, MAX, MAX_OPERANDS, MAX_REGISTERS, MAX_SPREAD, MAX_UNIFORM, MIN, MOVED,
    MUL, MUL_ADD, MUL_FROM, MUL_MUL, MUL_SUB, NEG, NOISE, NOT_LESS, PARTS, POSITION, POW, PRESET, PRODUCTS_ADDED,
    PRODUCTS_SUBTRACTED, REGISTER, RESULT, ROW, SIN, SPED, SPREAD, SPREAD_OUT, SQRT, SQUARES_ADDED, STORE, SUB,
    SUB_MUL, SUB_PRODUCT, TAKE, TAN, TANH, TIME, UNIFORM, VELOCITY, WHERE, Formula, FormulaTable, Operand, Operation,
)
from ..kernels.abi.coupled cimport Kernels, offered_in
from ..kernels.simd.rounding cimport require_rounding


import numpy as np

from .. import kernels

require_rounding(__name__)

cdef object ARRAY = np.ndarray
cdef object EMPTY = np.empty
cdef object F32 = np.dtype("f4")
cdef object F64 = np.dtype("f8")

#: Codes of operations and of kinds of operands, and the limits of an expression.
CODES = {
    "and_add": AND_ADD, "and_sub": AND_SUB, "from": FROM, "and_mul": AND_MUL, "and_div": AND_DIV, "into": INTO,
    "and_neg": AND_NEG, "and_square": AND_SQUARE, "and_sqrt": AND_SQRT, "and_mul_add": AND_MUL_ADD,
    "and_mul_sub": AND_MUL_SUB, "mul_from": MUL_FROM, "and_mul_mul": AND_MUL_MUL, "add_product": ADD_PRODUCT,
    "sub_product": SUB_PRODUCT, "from_product": FROM_PRODUCT, "take": TAKE, "add": ADD, "sub": SUB, "mul": MUL,
    "div": DIV, "neg": NEG, "sqrt": SQRT, "mul_add": MUL_ADD, "mul_sub": MUL_SUB, "sub_mul": SUB_MUL,
    "mul_mul": MUL_MUL, "add_mul": ADD_MUL, "diff_mul": DIFF_MUL, "products_added": PRODUCTS_ADDED,
    "products_subtracted": PRODUCTS_SUBTRACTED, "squares_added": SQUARES_ADDED, "abs": ABS, "min": MIN, "max": MAX,
    "floor": FLOOR, "less": LESS, "not_less": NOT_LESS, "equal": EQUAL, "where": WHERE, "end": END, "spread": SPREAD,
    "load": LOAD, "store": STORE, "noise": NOISE, "sin": SIN, "cos": COS, "tan": TAN, "exp": EXP, "log": LOG,
    "tanh": TANH, "cbrt": CBRT, "pow": POW, "atan2": ATAN2,
}
KINDS = {
    "known": KNOWN, "time": TIME, "uniform": UNIFORM, "position": POSITION, "velocity": VELOCITY, "moved": MOVED,
    "sped": SPED, "each": EACH, "register": REGISTER, "row": ROW, "spread": SPREAD_OUT, "result": RESULT,
}
LIMITS = {
    "registers": MAX_REGISTERS, "parts": PARTS, "spread": MAX_SPREAD, "uniform": MAX_UNIFORM, "operands": MAX_OPERANDS,
}

cdef enum:
    RELEASE = 4096          # from this array size on (in numbers), functions release the GIL


cdef extern from *:
    """
    /* NumPy's C array interface (PyArrayInterface), and two of its flags. */
    typedef struct {
        int two, ndim;
        char kind;
        int itemsize, flags;
        Py_ssize_t *shape, *strides;
        char *data;
        PyObject *description;
    } kd_array;
    """
    ctypedef struct Array "kd_array":
        int ndim
        char kind
        int itemsize
        int flags
        Py_ssize_t* shape
        char* data
    const int USUAL "0x301"  # contiguous, aligned, of this machine's byte order
    const int WRITEABLE "0x400"

cdef object OFFERED_FOR = None
cdef const Kernels* OFFERED = NULL


cdef const Kernels* offered() except NULL:
    """Return the kernels of the current instruction set; the lookup is cached."""
    global OFFERED, OFFERED_FOR
    isa = kernels.isa
    if isa is not OFFERED_FOR:
        OFFERED = offered_in(kernels.offered())
        OFFERED_FOR = isa
    return OFFERED


cdef class Bytes:
    """Buffer of a contiguous array; the destructor releases it."""

    cdef Py_buffer view

    def __cinit__(self, array, bint written):
        PyObject_GetBuffer(array, &self.view, PyBUF_WRITABLE if written else PyBUF_SIMPLE)

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef bint partly(const char* first, const char* other, Py_ssize_t length):
    """Return whether two buffers overlap without being identical."""
    return first != other and first < other + length and other < first + length


def apply(str name, out, a, b):
    """Compute out = function(a) or function(a, b): contiguous arrays of one dtype, float32 or float64, and one size."""
    cdef Bytes to = Bytes(out, True)
    cdef Bytes first = Bytes(a, False)
    cdef Bytes other = Bytes(b, False) if b is not None else None
    cdef const char* y = NULL
    if other is not None:
        y = <const char*> other.view.buf
    run(name, out.itemsize, to.view.len, <char*> to.view.buf, <const char*> first.view.buf, y)


cdef int run(str name, Py_ssize_t item, Py_ssize_t length, char* result, const char* x, const char* y) except -1:
    cdef const FormulaTable* table = &offered()[0 if item == 4 else 1].formulas
    cdef int code = CODES[name]
    cdef Py_ssize_t size = length // item
    cdef Py_ssize_t whole = size // table.width
    cdef Py_ssize_t rest = (size - whole * table.width) * item
    cdef Py_ssize_t done = whole * table.width * item
    cdef char last[3][64]
    if size >= RELEASE:
        with nogil:
            table.operate(code, whole, result, x, 1, y, 1)
    else:
        table.operate(code, whole, result, x, 1, y, 1)
    if rest:
        memset(last, 0, sizeof(last))
        memcpy(last[1], x + done, rest)
        if y != NULL:
            memcpy(last[2], y + done, rest)
        table.operate(code, 1, last[0], last[1], 1, last[2] if y != NULL else NULL, 1)
        memcpy(result + done, last[0], rest)
    return 0


cdef bint viewed(array, Py_buffer* view) except -1:
    """Get the buffer of an array if kernels can read it; return whether they can. The caller releases the buffer.

    Kernels read arrays of float32 or float64, contiguous, aligned, and of at least one dimension.
    """
    try:
        PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    except (BufferError, ValueError):
        return False
    if view.ndim > 0 and view.format[0] in b"fd" and view.format[1] == 0:
        if <uintptr_t> view.buf % <uintptr_t> view.itemsize == 0:
            return True
    PyBuffer_Release(view)
    return False


cdef bint same_shape(int ndim, const Py_ssize_t* first, const Py_ssize_t* other):
    cdef int n
    for n in range(ndim):
        if first[n] != other[n]:
            return False
    return True


def applied(str name, general, out, a, b=None):
    """Return function(a) or function(a, b); the fast path takes contiguous arrays of one dtype and one shape.

    general(name, out, a[, b]) computes all other cases.
    """
    cdef Py_buffer first, other
    result = None
    if type(a) is ARRAY and (b is None or type(b) is ARRAY) and viewed(a, &first):
        try:
            if b is None:
                result = into(name, out, a, &first, NULL)
            elif viewed(b, &other):
                try:
                    if other.itemsize == first.itemsize and other.ndim == first.ndim:
                        if same_shape(first.ndim, first.shape, other.shape):
                            result = into(name, out, a, &first, &other)
                finally:
                    PyBuffer_Release(&other)
        finally:
            PyBuffer_Release(&first)
    if result is not None:
        return result
    return general(name, out, a) if b is None else general(name, out, a, b)


cdef object into(str name, out, a, const Py_buffer* first, const Py_buffer* other):
    """Write the result to `out` or (None) to a new array; return it, or None if `out` needs the general path."""
    result = out
    cdef const Array* to
    cdef const char* x = <const char*> first.buf
    cdef const char* y = NULL
    if other != NULL:
        y = <const char*> other.buf
    if out is None:
        result = EMPTY(a.shape, F32 if first.itemsize == 4 else F64)
    elif type(out) is not ARRAY:
        return None
    about = result.__array_struct__
    to = <const Array*> PyCapsule_GetPointer(about, NULL)
    if out is not None:
        if to.kind != b"f" or to.itemsize != first.itemsize or to.ndim != first.ndim:
            return None
        if to.flags & (USUAL | WRITEABLE) != USUAL | WRITEABLE or not same_shape(to.ndim, to.shape, first.shape):
            return None
        if partly(to.data, x, first.len) or y != NULL and partly(to.data, y, first.len):
            return None
    run(name, first.itemsize, first.len, to.data, x, y)
    return result


cdef int code_of(str name) except -1:
    """Return the code of an operation. Its "same_" variant, whose first operand is uniform, has the next code."""
    if name.startswith("same_"):
        return CODES[name.removeprefix("same_")] + 1
    return CODES[name]


cdef class BoundFormula:
    """Expression as C structs for kernels; owns the memory of these structs."""

    def __dealloc__(self):
        PyMem_Free(self.operand)
        PyMem_Free(self.operation)

    @staticmethod
    cdef BoundFormula of(tuple coded, object dtype):
        """Bind an expression. coded: its operations, known numbers, and rows with one number per body."""
        code, presets, rows = coded
        cdef BoundFormula bound = BoundFormula.__new__(BoundFormula)
        cdef Formula* formula = &bound.formula
        cdef Py_ssize_t n
        bound.operand = <Operand*> PyMem_Calloc(max(1, len(code.operands)), sizeof(Operand))
        bound.operation = <Operation*> PyMem_Calloc(max(1, len(code.operations)), sizeof(Operation))
        if bound.operand == NULL or bound.operation == NULL:
            raise MemoryError
        for n, (kind, index) in enumerate(code.operands):
            bound.operand[n].kind, bound.operand[n].index = KINDS[kind], index
        for n, (name, to, a, b, c, d, run) in enumerate(code.operations):
            bound.operation[n].code, bound.operation[n].out, bound.operation[n].run = code_of(name), to, run
            bound.operation[n].a, bound.operation[n].b, bound.operation[n].c, bound.operation[n].d = a, b, c, d
        formula.operands, formula.operand = len(code.operands), bound.operand
        formula.still = code.still
        formula.operations, formula.operation = len(code.operations), bound.operation
        formula.uniform, formula.columns = code.uniform, code.columns
        # Repeat each known number (literal or coefficient) over the length of a group of the widest vectors.
        known = kernels.aligned_zeros((len(presets) + 1, PRESET // dtype.itemsize), dtype)
        bound.places = []
        for n, value in enumerate(presets):
            known[n] = value
            if isinstance(code.presets[n], str):
                bound.places.append((code.presets[n], known[n, :, None]))
        count = max([len(row) for row in rows], default=0)
        each = kernels.aligned_zeros((len(rows) + 1, (count + 2 * BLOCK - 1) // BLOCK * BLOCK), dtype)
        for n, row in enumerate(rows):
            each[n, : len(row)] = row
        bound.arrays = [known, each]
        formula.presets = <const char*> <size_t> known.ctypes.data
        formula.rows = <const char*> <size_t> each.ctypes.data
        formula.row = each.strides[0]
        return bound
