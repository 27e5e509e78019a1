# As many vectors as one of them has numbers: rows made columns.
#
# Number c of row r lies at the place r w + c. Row r and row r + w/2 zipped are rows 2 r and 2 r + 1: that turns the
# bits of places left by one. After as many turns as w has bits r and c have changed places.

from .bits cimport i64vec  # for the C types beside it
from .vec cimport f64vec, width

cdef extern from *:
    """
    #if defined(KD_LANE_BYTES)
      #if KD_LANE_BYTES == 64
        #define KD_ZIP_LOWER 0, 8, 1, 9, 2, 10, 3, 11
        #define KD_ZIP_UPPER 4, 12, 5, 13, 6, 14, 7, 15
      #elif KD_LANE_BYTES == 32
        #define KD_ZIP_LOWER 0, 4, 1, 5
        #define KD_ZIP_UPPER 2, 6, 3, 7
      #else
        #define KD_ZIP_LOWER 0, 2
        #define KD_ZIP_UPPER 1, 3
      #endif
      #if defined(__clang__)
        #define kd_zip_lower(a, b) __builtin_shufflevector(a, b, KD_ZIP_LOWER)
        #define kd_zip_upper(a, b) __builtin_shufflevector(a, b, KD_ZIP_UPPER)
      #else
        #define kd_zip_lower(a, b) __builtin_shuffle(a, b, (kd_i64){KD_ZIP_LOWER})
        #define kd_zip_upper(a, b) __builtin_shuffle(a, b, (kd_i64){KD_ZIP_UPPER})
      #endif
    #else
      #define kd_zip_lower(a, b) (a)
      #define kd_zip_upper(a, b) (b)
    #endif
    """
    # The numbers of two vectors by turns: those of their lower halves, and of their upper halves
    f64vec zip_lower "kd_zip_lower"(f64vec a, f64vec b) noexcept nogil
    f64vec zip_upper "kd_zip_upper"(f64vec a, f64vec b) noexcept nogil

cdef enum:
    LANES = 8       # as many doubles as any vector holds


cdef inline const f64vec* transposed(const f64vec* rows, f64vec* buffer) noexcept nogil:
    """Where in the buffer, of twice LANES vectors, the columns are."""
    cdef Py_ssize_t half = width(rows) // 2
    cdef f64vec* to = buffer
    cdef f64vec* other = buffer + LANES
    cdef Py_ssize_t turn = 1
    cdef Py_ssize_t r
    while turn <= half:
        for r in range(half):
            to[2 * r] = zip_lower(rows[r], rows[r + half])
            to[2 * r + 1] = zip_upper(rows[r], rows[r + half])
        rows, to, other = to, other, to
        turn *= 2
    return rows
