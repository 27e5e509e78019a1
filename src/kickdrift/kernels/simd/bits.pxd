# The bits of float64 vectors, as vectors of whole numbers; and choices between vectors.
#
# A choice is made by a mask, whose numbers are all ones or all zeros, as comparisons make them. Shifts to the right
# are those of unsigned numbers: older instruction sets have no others for 64 bits.

from libc.stdint cimport int64_t

from .vec cimport f32vec, f64vec  # for the C types beside it

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(KD_LANE_BYTES)
      typedef int64_t kd_i64 __attribute__((vector_size(KD_LANE_BYTES), aligned(8), may_alias));
      typedef uint64_t kd_u64 __attribute__((vector_size(KD_LANE_BYTES), aligned(8), may_alias));
      typedef float kd_half __attribute__((vector_size(KD_LANE_BYTES / 2), aligned(4), may_alias));
      #define kd_bits(q) ((kd_i64)(q))
      #define kd_number(i) ((kd_f64)(i))
      #define kd_right(i, n) ((kd_i64)((kd_u64)(i) >> (n)))
      #define kd_less(a, b) ((kd_i64)((a) < (b)))
      #define kd_same(a, b) ((kd_i64)((a) == (b)))
      #define kd_all_i64(i) ((kd_i64){0} + (int64_t)(i))
      #define kd_left(i, n) ((kd_i64)((kd_u64)(i) << (n)))
      #define kd_plus(i, j) ((kd_i64)((kd_u64)(i) + (kd_u64)(j)))
      #define kd_widen(p) __builtin_convertvector(*(const kd_half *)(p), kd_f64)
      #define kd_narrow(p, q) (*(kd_half *)(p) = __builtin_convertvector(q, kd_half))
    #else
      typedef int64_t kd_i64;
      static kd_i64 kd_bits(double q) { kd_i64 i; memcpy(&i, &q, 8); return i; }
      static double kd_number(kd_i64 i) { double q; memcpy(&q, &i, 8); return q; }
      #define kd_right(i, n) ((kd_i64)((uint64_t)(i) >> (n)))
      #define kd_less(a, b) (-(kd_i64)((a) < (b)))
      #define kd_same(a, b) (-(kd_i64)((a) == (b)))
      #define kd_all_i64(i) ((kd_i64)(i))
      #define kd_left(i, n) ((kd_i64)((uint64_t)(i) << (n)))
      #define kd_plus(i, j) ((kd_i64)((uint64_t)(i) + (uint64_t)(j)))
      #define kd_widen(p) ((double)*(const float *)(p))
      #define kd_narrow(p, q) (*(float *)(p) = (float)(q))
    #endif
    #define kd_choose(mask, a, b) kd_number(((mask) & kd_bits(a)) | (~(mask) & kd_bits(b)))
    #define kd_any(mask) (!kd_is_zero_f64(kd_number(mask)))
    """
    ctypedef int64_t i64vec "kd_i64"
    i64vec bits "kd_bits"(f64vec) noexcept nogil
    f64vec number "kd_number"(i64vec) noexcept nogil
    i64vec right "kd_right"(i64vec, int) noexcept nogil
    i64vec left "kd_left"(i64vec, int) noexcept nogil
    i64vec plus "kd_plus"(i64vec, i64vec) noexcept nogil      # which may overflow, as unsigned numbers do
    i64vec less "kd_less"(f64vec, f64vec) noexcept nogil
    i64vec same "kd_same"(f64vec, f64vec) noexcept nogil
    i64vec all_of "kd_all_i64"(int64_t) noexcept nogil
    f64vec choose "kd_choose"(i64vec mask, f64vec a, f64vec b) noexcept nogil
    bint any_of "kd_any"(i64vec mask) noexcept nogil
    # As many floats as an f64vec has numbers
    f64vec widen "kd_widen"(const float*) noexcept nogil
    void narrow "kd_narrow"(float*, f64vec) noexcept nogil
