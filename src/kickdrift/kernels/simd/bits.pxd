# The bits of vectors, as vectors of whole numbers; and choices between vectors.
#
# A choice is made by a mask, whose numbers are all ones or all zeros, as comparisons make them. Shifts to the right
# are those of unsigned numbers: older instruction sets have no others for 64 bits.

from libc.stdint cimport int64_t, uint32_t

from .vec cimport f32vec, f64vec  # for the C types beside it

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    /* A double has 29 bits more than a float; 2**28 is their middle. Within 2**16 of that they are doubtful. */
    #define KD_MIDDLE (((int64_t)1 << 28) + ((int64_t)1 << 16))
    #define KD_AWAY ((((int64_t)1 << 29) - 1) & ~(((int64_t)1 << 17) - 1))
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
      #if defined(__AVX512F__)  /* which GCC makes of two halves otherwise */
        #define kd_widen(p) ((kd_f64)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)(p))))
      #else
        #define kd_widen(p) __builtin_convertvector(*(const kd_half *)(p), kd_f64)
      #endif
      #define kd_narrow(p, q) (*(kd_half *)(p) = __builtin_convertvector(q, kd_half))
      typedef uint32_t kd_w32 __attribute__((vector_size(KD_LANE_BYTES), aligned(4), may_alias));
      typedef int32_t kd_s32 __attribute__((vector_size(KD_LANE_BYTES), aligned(4), may_alias));
      #define kd_words(q) ((kd_w32)(q))
      #define kd_floats(i) ((kd_f32)(i))
      #define kd_to_floats(i) __builtin_convertvector((kd_s32)(i), kd_f32)
      #define kd_to_words(q) ((kd_w32)__builtin_convertvector(q, kd_s32))
      #if defined(__AVX512F__)
        typedef unsigned kd_doubt;
        #define kd_is_doubtful(q) ((unsigned)_mm512_testn_epi64_mask( \
            (__m512i)(kd_bits(q) + KD_MIDDLE), _mm512_set1_epi64(KD_AWAY)))
        #define kd_doubted(d) ((d) != 0)
      #else
        typedef kd_i64 kd_doubt;
        #define kd_is_doubtful(q) ((kd_i64)(((kd_bits(q) + KD_MIDDLE) & KD_AWAY) == 0))
        #define kd_doubted(d) (!kd_is_zero_f64(kd_number(d)))
      #endif
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
      typedef uint32_t kd_w32;
      static kd_w32 kd_words(float q) { kd_w32 i; memcpy(&i, &q, 4); return i; }
      static float kd_floats(kd_w32 i) { float q; memcpy(&q, &i, 4); return q; }
      #define kd_to_floats(i) ((float)(int32_t)(i))
      #define kd_to_words(q) ((kd_w32)(int32_t)(q))
      typedef int kd_doubt;
      #define kd_is_doubtful(q) (((kd_bits(q) + KD_MIDDLE) & KD_AWAY) == 0)
      #define kd_doubted(d) (d)
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
    # The same for floats
    ctypedef uint32_t w32vec "kd_w32"
    w32vec words "kd_words"(f32vec) noexcept nogil
    f32vec floats "kd_floats"(w32vec) noexcept nogil
    f32vec to_floats "kd_to_floats"(w32vec) noexcept nogil      # of numbers below 2**31
    w32vec to_words "kd_to_words"(f32vec) noexcept nogil        # cut off
    # Do 2**-37 of a number of an f64vec decide which of two normal floats is nearest? Doubts are joined by |.
    ctypedef int Doubt "kd_doubt"
    Doubt is_doubtful "kd_is_doubtful"(f64vec) noexcept nogil
    bint doubted "kd_doubted"(Doubt) noexcept nogil
