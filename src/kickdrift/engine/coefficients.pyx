"""Coefficients as the kernels read them: rows that are padded to whole tiles and vectors."""

from cpython.buffer cimport PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc

from ..kernels.abi.constraints cimport Torus
from ..kernels.abi.plan cimport FLAT, MAX_DIM, ROW, Field, Plan
from ..kernels.simd.rounding cimport require_rounding

import numpy as np

from .. import kernels

require_rounding(__name__)


cdef enum:
    MAX_COLUMNS = 8     # of a coefficient


cdef class Block:
    """Memory from the start of a cache line: vectors that straddle two take twice as long to load."""

    cdef void* memory
    cdef char* data

    def __dealloc__(self):
        PyMem_Free(self.memory)

    @staticmethod
    cdef Block of(size_t size):
        cdef Block block = Block.__new__(Block)
        block.memory = PyMem_Malloc(size + 63)
        if block.memory == NULL:
            raise MemoryError
        block.data = <char*> block.memory + (-<size_t> block.memory) % 64
        return block


cdef Field uniform(const Plan* plan, object values, bint flat, list arrays) except *:
    """A coefficient that is the same for all bodies, (1,) or (1, dim)."""
    cdef Py_buffer view
    cdef double numbers[MAX_COLUMNS]
    cdef const char* source
    cdef Py_ssize_t count, step, item
    cdef int j
    PyObject_GetBuffer(values, &view, PyBUF_STRIDES)
    source, item = <const char*> view.buf, view.itemsize
    count = view.shape[1] if view.ndim > 1 else 1
    step = view.strides[1] if view.ndim > 1 else 0
    if count <= MAX_COLUMNS:
        for j in range(<int> count):
            if item == 4:
                numbers[j] = (<const float*> (source + j * step))[0]
            else:
                numbers[j] = (<const double*> (source + j * step))[0]
    PyBuffer_Release(&view)
    if count > MAX_COLUMNS:
        raise AssertionError(f"a coefficient with {count} components")
    return of_numbers(plan, numbers, <int> count, item, flat, arrays)


cdef Field of_numbers(
    const Plan* plan, const double* numbers, int count, Py_ssize_t item, bint flat, list arrays,
) except *:
    """The same from its numbers, which the dtype of the state has."""
    cdef Field field
    cdef Py_ssize_t i
    cdef int j
    cdef int dim = plan.dim
    cdef int columns = dim if flat or count < dim else count
    cdef Block block = Block.of(columns * ROW * item)
    arrays.append(block)
    for j in range(columns):
        # Flat rows hold all components, one body after the other; others hold one component of all bodies.
        # One value for all components is written out for each: kernels need not know.
        if item == 4:
            fill[float](
                <float*> block.data, j if flat else j * ROW, columns if flat else 1,
                <float> numbers[j if count > 1 else 0],
            )
        else:
            fill[double](
                <double*> block.data, j if flat else j * ROW, columns if flat else 1, numbers[j if count > 1 else 0],
            )
    for j in range(MAX_DIM):
        i = 0 if flat else j * ROW * item
        field.component[j] = block.data + i
    field.body = 0
    return field


ctypedef fused real:
    float
    double


cdef inline void fill(real* to, Py_ssize_t first, Py_ssize_t step, real number) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(ROW):
        to[first + i * step] = number


cdef Field field(const Plan* plan, object values, list arrays) except *:
    """A coefficient, (1|n,) or (1|n, dim), in whole rows; `arrays` keeps them alive."""
    cdef Field field
    cdef bint flat = plan.layout == FLAT
    cdef int j
    if len(values) == 1 and values.ndim < 3:
        return uniform(plan, values, flat, arrays)
    n, dim = plan.n, plan.dim
    if n == 0:
        values = np.zeros((1, *values.shape[1:]), values.dtype)
    each = len(values) > 1
    rows = (n + ROW - 1) // ROW * ROW if each else ROW
    bodies = n if each else rows
    columns = values.reshape(len(values), -1)
    if flat:
        padded = kernels.aligned_zeros((rows, dim), values.dtype)
        padded[:bodies] = columns
    else:
        # One value for all components is written out for each: kernels need not know.
        padded = kernels.aligned_zeros((max(dim, columns.shape[1]), rows), values.dtype)
        padded[:, :bodies] = columns.T
    arrays.append(padded)
    start = padded.ctypes.data
    for j in range(MAX_DIM):
        # Flat rows hold all components.
        field.component[j] = <const char*> <size_t> (start + (0 if flat else j * padded.strides[0]))
    field.body = padded.strides[0 if flat else 1] if each else 0
    return field


cdef object space(Torus* torus, object model):
    """The space of a model as kernels know it; returns what keeps its numbers alive, None for open space."""
    cdef size_t start
    if model.torus is None:
        torus.lower = torus.upper = torus.width = torus.per_width = NULL
        return None
    numbers = np.array(model.torus, model.dtype)
    start = numbers.ctypes.data
    torus.lower = <const void*> start
    torus.upper = <const void*> (start + <size_t> numbers.strides[0])
    torus.width = <const void*> (start + 2 * <size_t> numbers.strides[0])
    torus.per_width = <const void*> (start + 3 * <size_t> numbers.strides[0])
    return numbers
