"""Arrays of a state: their addresses and strides for kernels, and copies between them."""

cimport cython
from cpython.buffer cimport PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from ..kernels.abi.plan cimport ROW, Array
from ..kernels.simd.copies cimport move_f32, move_f64
from ..kernels.simd.rounding cimport require_rounding

from math import prod

import numpy as np

from ..kernels import aligned_zeros

require_rounding(__name__)

#: Below this number of items, a simple loop is faster than a call of memcpy or of a vectorised copy.
cdef enum:
    FEW = 16


cdef class View:
    """Array of shape (n, dim) with its address and strides for kernels. Subclasses have a typed memoryview of it."""

    def __cinit__(self, array):
        self.array = array
        self.n, self.dim = array.shape
        self.item = array.itemsize


# The subclasses are not in views.pxd, because modules that see memoryviews are twice as large.
cdef class SingleView(View):
    cdef float[:, :] numbers

    def __init__(self, array):
        self.numbers = array
        self.place = place_of[float](self.numbers)


cdef class DoubleView(View):
    cdef double[:, :] numbers

    def __init__(self, array):
        self.numbers = array
        self.place = place_of[double](self.numbers)


ctypedef fused number:
    float
    double


@cython.boundscheck(False)
cdef Array place_of(number[:, :] numbers) noexcept:
    cdef Array place
    place.data = <char*> &numbers[0, 0]  # with boundscheck off, also allowed for empty arrays
    place.body, place.component = numbers.strides[0], numbers.strides[1]
    return place


cdef list views(arrays):
    return [SingleView(array) if array.dtype == np.float32 else DoubleView(array) for array in arrays]


cdef void copy_views(list to, list source) noexcept:
    """Copy each array of `source` to its counterpart in `to`; shapes and dtypes must be equal."""
    cdef Py_ssize_t number
    cdef View here, there
    for number in range(len(to)):
        here, there = <View> to[number], <View> source[number]
        copy_array(&here.place, &there.place, here.n, here.dim, here.item)


cdef bint same_views(list one, list other) noexcept:
    """Return whether two lists of arrays of equal shapes and dtypes are bitwise equal."""
    cdef Py_ssize_t number
    cdef View here, there
    for number in range(len(one)):
        here, there = <View> one[number], <View> other[number]
        if not same_array(&here.place, &there.place, here.n, here.dim, here.item):
            return False
    return True


cdef bint same_array(
    const Array* one, const Array* other, Py_ssize_t n, Py_ssize_t dim, Py_ssize_t item,
) noexcept nogil:
    """Return whether two arrays (n, dim) of `item`-byte numbers are bitwise equal."""
    cdef Py_ssize_t i, j
    if one.component == item and one.body == dim * item and alike(one, other):
        return memcmp(one.data, other.data, n * one.body) == 0
    for j in range(dim):
        for i in range(n):
            if memcmp(
                one.data + i * one.body + j * one.component, other.data + i * other.body + j * other.component, item
            ) != 0:
                return False
    return True


cdef void scatter(
    char* to, const Py_ssize_t* shape, const Py_ssize_t* stride, int ndim, const char** source, Py_ssize_t item,
) noexcept nogil:
    """Copy contiguous items to an array of any shape; advance `source` past them."""
    cdef Py_ssize_t i
    if ndim == 0 or ndim == 1 and stride[0] == item:
        i = item if ndim == 0 else shape[0] * item
        memcpy(to, source[0], i)
        source[0] += i
        return
    for i in range(shape[0]):
        scatter(to + i * stride[0], shape + 1, stride + 1, ndim - 1, source, item)


cdef void gather(
    const char* source, const Py_ssize_t* shape, const Py_ssize_t* stride, int ndim, char** to, Py_ssize_t item,
) noexcept nogil:
    """Copy the items of an array of any shape to contiguous memory; advance `to` past them."""
    cdef Py_ssize_t i
    if ndim == 0 or ndim == 1 and stride[0] == item:
        i = item if ndim == 0 else shape[0] * item
        memcpy(to[0], source, i)
        to[0] += i
        return
    for i in range(shape[0]):
        gather(source + i * stride[0], shape + 1, stride + 1, ndim - 1, to, item)


cdef class Scratch:
    """Array for intermediate numbers of a step, with its address."""

    def __cinit__(self, shape, dtype, bint writable):
        # Loops process whole, aligned cache lines.
        size = prod(shape)
        workspace = np.zeros(size + 128, dtype)
        first = -workspace.ctypes.data % 64 // workspace.itemsize
        self.array = workspace[first : first + size].reshape(shape)
        self.data = <char*> <size_t> self.array.ctypes.data
        self.size = self.array.nbytes
        if len(shape) == 2:
            locate(&self.place, self.array)
        self.array.flags.writeable = writable


cdef int locate(Array* array, object source) except -1:
    """Set the address and strides of an array of shape (n, dim); the array is not kept alive."""
    cdef Py_buffer view  # three times faster than NumPy's attributes for address and strides
    PyObject_GetBuffer(source, &view, PyBUF_STRIDES)
    array.data = <char*> view.buf
    array.body, array.component = view.strides[0], view.strides[1]
    PyBuffer_Release(&view)
    return 0


cdef void copy_array(
    const Array* to, const Array* source, Py_ssize_t n, Py_ssize_t dim, Py_ssize_t item,
) noexcept nogil:
    """Copy (n, dim) numbers of `item` bytes each, for any strides of both arrays."""
    cdef bint rows = to.component == item and to.body == dim * item
    cdef bint planes = to.body == item and to.component == n * item
    cdef Py_ssize_t j
    if (rows or planes) and alike(to, source):
        memcpy(to.data, source.data, n * dim * item)
        return
    for j in range(dim):
        if item == 4:
            copy_strided[uint32_t](
                to.data + j * to.component, to.body, source.data + j * source.component, source.body, n, 0
            )
        else:
            copy_strided[uint64_t](
                to.data + j * to.component, to.body, source.data + j * source.component, source.body, n, 0
            )


ctypedef fused word:
    uint32_t
    uint64_t


cdef inline void copy_strided(
    char* to, Py_ssize_t to_stride, const char* source, Py_ssize_t source_stride, Py_ssize_t n, word like,
) noexcept nogil:
    """Copy n numbers between arrays of any stride; `like` only selects the type."""
    cdef Py_ssize_t i
    if n < FEW:
        for i in range(n):
            (<word*> (to + i * to_stride))[0] = (<const word*> (source + i * source_stride))[0]
    elif to_stride == sizeof(word) and source_stride == sizeof(word):
        memcpy(to, source, n * sizeof(word))
    elif to_stride == sizeof(word):
        if word is uint32_t:
            move_f32(False, <float*> to, <char*> source, source_stride, n)
        else:
            move_f64(False, <double*> to, <char*> source, source_stride, n)
    elif source_stride == sizeof(word):
        if word is uint32_t:
            move_f32(True, <float*> source, to, to_stride, n)
        else:
            move_f64(True, <double*> source, to, to_stride, n)
    else:
        for i in range(n):
            (<word*> (to + i * to_stride))[0] = (<const word*> (source + i * source_stride))[0]


cdef class Writes:
    def __cinit__(self, writes):
        """Prepare writes: tuples (array, rows or None, values) of shapes (n, dim), (k,) and (k, dim) or (n, dim).

        With rows None, the array may have any shape and item size; a single value, (1, 1), is broadcast to an array of
        two dimensions.
        """
        cdef Write* write
        writes = list(writes)
        self.kept = []
        self.write = <Write*> PyMem_Calloc(max(1, len(writes)), sizeof(Write))
        if self.write == NULL:
            raise MemoryError
        for array, rows, values in writes:
            values = np.ascontiguousarray(values, array.dtype)
            write = &self.write[self.count]
            self.count += 1
            if array.ndim != 2 or array.itemsize not in (4, 8):
                if values.size != array.size:
                    raise AssertionError(f"{values.size} numbers for {array.size}")
                axes = np.array([array.shape, array.strides], np.intp)
                write.to.data = <char*> <size_t> array.ctypes.data
                write.source.data = <char*> <size_t> values.ctypes.data
                write.item, write.ndim = array.itemsize, array.ndim
                write.shape = <const Py_ssize_t*> <size_t> axes.ctypes.data
                write.stride = write.shape + write.ndim
                self.kept.append((array, axes, values))
                continue
            if rows is not None:
                rows = np.ascontiguousarray(rows, np.int64)
                write.row = <const int64_t*> <size_t> rows.ctypes.data
            write.count, write.dim, write.item = len(values), array.shape[1], array.itemsize
            locate(&write.to, array)
            locate(&write.source, values)
            if rows is None and values.size == 1:
                write.count, write.source.body, write.source.component = len(array), 0, 0
            self.kept.append((array, rows, values))

    def __dealloc__(self):
        PyMem_Free(self.write)

    cdef void execute(self) noexcept nogil:
        cdef Py_ssize_t number, i
        cdef Write* write
        cdef Array to, source
        cdef const char* items
        for number in range(self.count):
            write = &self.write[number]
            if write.shape != NULL:
                items = write.source.data
                scatter(write.to.data, write.shape, write.stride, write.ndim, &items, write.item)
                continue
            if write.row == NULL:
                copy_array(&write.to, &write.source, write.count, write.dim, write.item)
                continue
            to, source = write.to, write.source
            for i in range(write.count):
                to.data = write.to.data + write.row[i] * to.body
                source.data = write.source.data + i * source.body
                copy_array(&to, &source, 1, write.dim, write.item)


cdef object laid_out_like(object array):
    """Return cache-aligned zeros of the shape of `array`, by rows if that is C-contiguous, else by components."""
    n, dim = array.shape
    numbers = aligned_zeros((1, n * dim), array.dtype)
    return numbers.reshape(n, dim) if array.flags.c_contiguous else numbers.reshape(dim, n).T


cdef bint alike(const Array* one, const Array* other) noexcept nogil:
    return one.body == other.body and one.component == other.component


cdef object whole_rows(object values, object model):
    """Return a copy with one number per body, padded because vector loads may run past the end."""
    array = aligned_zeros((1, padded(model.n) + ROW), model.dtype)[0]
    array[: model.n] = values
    return array


cdef Py_ssize_t padded(Py_ssize_t n):
    """Return the number of items per component for n bodies: n rounded up to a multiple of ROW."""
    return (n + ROW - 1) // ROW * ROW
