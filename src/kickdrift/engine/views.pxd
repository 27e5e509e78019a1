"""Arrays of a state: their addresses and strides for kernels, and copies between them."""

from libc.stdint cimport int64_t

from ..kernels.abi.plan cimport Array


# Array of shape (n, dim), with its address and strides for kernels.
cdef class View:
    cdef object array
    cdef Array place
    cdef Py_ssize_t n, dim, item    # bytes of a number


# Array for intermediate numbers of a step.
cdef class Scratch:
    cdef object array       # a view of larger memory: user functions cannot resize a view
    cdef char* data
    cdef Py_ssize_t size    # size in bytes
    cdef Array place        # address and strides of the shape (n, dim)


cdef list views(arrays)
cdef void copy_views(list to, list source) noexcept
cdef bint same_views(list one, list other) noexcept
cdef bint same_array(const Array* one, const Array* other, Py_ssize_t n, Py_ssize_t dim, Py_ssize_t item) noexcept nogil
cdef void scatter(
    char* to, const Py_ssize_t* shape, const Py_ssize_t* stride, int ndim, const char** source, Py_ssize_t item,
) noexcept nogil
cdef void gather(
    const char* source, const Py_ssize_t* shape, const Py_ssize_t* stride, int ndim, char** to, Py_ssize_t item,
) noexcept nogil
cdef int locate(Array* array, object source) except -1
cdef void copy_array(const Array* to, const Array* source, Py_ssize_t n, Py_ssize_t dim, Py_ssize_t item) noexcept nogil


# Deferred copy of rows of one array to rows of another.
ctypedef struct Write:
    Array to, source
    Py_ssize_t count, dim, item
    const int64_t* row          # target row of each source row; NULL: rows from 0 on
    # For target arrays that are not (n, dim) of 4- or 8-byte items: contiguous items are scattered.
    const Py_ssize_t* shape     # NULL: rows (n, dim)
    const Py_ssize_t* stride
    int ndim


cdef class Writes:
    """Rows to write into arrays, prepared before the commit, so that `execute` runs no Python code."""

    cdef list kept
    cdef Write* write
    cdef Py_ssize_t count
    cdef void execute(self) noexcept nogil


cdef object laid_out_like(object array)
cdef bint alike(const Array* one, const Array* other) noexcept nogil
cdef object whole_rows(object values, object model)
cdef Py_ssize_t padded(Py_ssize_t n)
