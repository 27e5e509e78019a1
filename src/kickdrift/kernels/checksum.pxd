# The 64-bit digest of an array's bits: a sum over all numbers of their bits and place, mixed.
#
# A sum has no order, so that every layout, vector width and thread count comes to the same. Zeros count
# as positive and all NaNs as one. kickdrift/reference/checksum.py says the same.

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from .simd.vec cimport real
from .abi.plan cimport Array

cdef extern from *:
    """
    /* The golden ratio: odd, and without pattern. */
    #define KD_PLACE 0x9E3779B97F4A7C15ull
    #define KD_NAN 0x7FF8000000000000ull
    """
    const uint64_t KD_PLACE, KD_NAN


cdef inline uint64_t bits(real number) noexcept nogil:
    cdef uint32_t single = 0
    cdef uint64_t result = 0
    number = number + <real> 0  # -0 + 0 is 0
    if real is float:
        memcpy(&single, &number, sizeof(single))
        result = single
    else:
        memcpy(&result, &number, sizeof(result))
    return result if number == number else KD_NAN


cdef inline uint64_t mixed(uint64_t u, uint64_t key) noexcept nogil:
    """The halves, keyed with the place, multiplied: the one wide product that every processor has."""
    key = u ^ key
    return u + <uint64_t> (<uint32_t> key) * (key >> 32)


cdef inline uint64_t digest(const Array* array, Py_ssize_t n, int dim, uint64_t place, const real* like) noexcept nogil:
    """The digest of (n, dim) numbers whose first counts as number `place`; `like` only tells the type."""
    cdef uint64_t total = 0
    cdef Py_ssize_t i
    cdef int j
    cdef const char* row
    cdef uint64_t key = place * KD_PLACE  # counted up: of 64-bit products processors make few
    cdef const real* flat = <const real*> array.data
    if array.component == sizeof(real) and array.body == dim * <Py_ssize_t> sizeof(real):
        for i in range(n * dim):
            total += mixed(bits(flat[i]), key)
            key += KD_PLACE
        return total
    for j in range(dim):
        row = array.data + j * array.component
        key = (place + <uint64_t> j) * KD_PLACE
        for i in range(n):
            total += mixed(bits((<const real*> (row + i * array.body))[0]), key)
            key += <uint64_t> dim * KD_PLACE
    return total
