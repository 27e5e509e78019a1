"""Formulas, bound: their lists of operations as C structs; and functions of arrays."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.string cimport memcpy, memset

from ..kernels.abi.formulas cimport (
    ABS, ADD, ATAN2, BLOCK, CBRT, COPY, COS, DIV, EACH, EQUAL, EXP, FLOOR, KNOWN, LESS, LOAD, LOG, MAX, MAX_OPERANDS,
    MAX_REGISTERS, MAX_UNIFORM, MIN, MOVED, MUL, MUL_ADD, MUL_SUB, NEG, NOT_LESS, POSITION, POW, PRESET, REGISTER,
    RESULT, SIN, SPED, SQRT, STORE, SUB, SUB_MUL, TAN, TANH, TIME, UNIFORM, VELOCITY, WHERE, Formula, FormulaTable,
    Operand, Operation,
)
from ..kernels.abi.tables cimport Kernels, offered_in
from ..kernels.simd.rounding cimport require_rounding

import numpy as np

from .. import kernels

require_rounding(__name__)

#: The numbers of operations and of kinds of operands, and how many of what a formula may have.
CODES = {
    "add": ADD, "sub": SUB, "mul": MUL, "div": DIV, "neg": NEG, "abs": ABS, "min": MIN, "max": MAX, "floor": FLOOR,
    "less": LESS, "not_less": NOT_LESS, "equal": EQUAL, "where": WHERE, "copy": COPY, "mul_add": MUL_ADD,
    "mul_sub": MUL_SUB, "sub_mul": SUB_MUL, "load": LOAD, "store": STORE, "sqrt": SQRT, "sin": SIN, "cos": COS,
    "tan": TAN, "exp": EXP, "log": LOG, "tanh": TANH, "cbrt": CBRT, "pow": POW, "atan2": ATAN2,
}
KINDS = {
    "known": KNOWN, "time": TIME, "uniform": UNIFORM, "position": POSITION, "velocity": VELOCITY, "moved": MOVED,
    "sped": SPED, "each": EACH, "register": REGISTER, "result": RESULT,
}
LIMITS = {"registers": MAX_REGISTERS, "uniform": MAX_UNIFORM, "operands": MAX_OPERANDS}

cdef enum:
    RELEASE = 4096          # numbers from which on other threads may run meanwhile


def apply(str name, out, a, b):
    """out = function(a) or function(a, b): contiguous arrays of one dtype, float32 or float64, and one size."""
    cdef const Kernels* offered = offered_in(kernels.offered())
    cdef bint single = out.dtype == np.float32
    cdef const FormulaTable* table = &offered[0 if single else 1].formulas
    cdef int code = CODES[name]
    cdef Py_ssize_t item = 4 if single else 8
    cdef Py_ssize_t size = out.size
    cdef Py_ssize_t whole = size // table.width
    cdef Py_ssize_t rest = (size - whole * table.width) * item
    cdef Py_ssize_t done = whole * table.width * item
    cdef char* to = <char*> <size_t> out.ctypes.data
    cdef const char* first = <const char*> <size_t> a.ctypes.data
    cdef const char* second = NULL
    cdef char last[3][64]
    if b is not None:
        second = <const char*> <size_t> b.ctypes.data
    if size >= RELEASE:
        with nogil:
            table.operate(code, whole, to, first, 1, second, 1, NULL, 0)
    else:
        table.operate(code, whole, to, first, 1, second, 1, NULL, 0)
    if rest:
        memset(last, 0, sizeof(last))
        memcpy(last[1], first + done, rest)
        if second != NULL:
            memcpy(last[2], second + done, rest)
        table.operate(code, 1, last[0], last[1], 1, last[2] if second != NULL else NULL, 1, NULL, 0)
        memcpy(to + done, last[0], rest)


cdef class BoundFormula:
    """A formula; it holds on to all that it points to."""

    def __dealloc__(self):
        PyMem_Free(self.operand)
        PyMem_Free(self.operation)

    @staticmethod
    cdef BoundFormula of(tuple coded, object dtype):
        """coded: of forces/formulas.py: operations, numbers that are known, and rows of them, one for each body."""
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
        for n, (name, to, a, b, c) in enumerate(code.operations):
            bound.operation[n].code, bound.operation[n].out = CODES[name], to
            bound.operation[n].a, bound.operation[n].b, bound.operation[n].c = a, b, c
        formula.operands, formula.operand = len(code.operands), bound.operand
        formula.operations, formula.operation = len(code.operations), bound.operation
        formula.uniform, formula.columns = code.uniform, code.columns
        # A number that is known lies there as often as any vector wants it.
        known = kernels.aligned_zeros((len(presets) + 1, PRESET // dtype.itemsize), dtype)
        for n, value in enumerate(presets):
            known[n] = value
        count = max([len(row) for row in rows], default=0)
        each = kernels.aligned_zeros((len(rows) + 1, (count + 2 * BLOCK - 1) // BLOCK * BLOCK), dtype)
        for n, row in enumerate(rows):
            each[n, : len(row)] = row
        bound.arrays = [known, each]
        formula.presets = <const char*> <size_t> known.ctypes.data
        formula.rows = <const char*> <size_t> each.ctypes.data
        formula.row = each.strides[0]
        return bound
