# Where one vector is less than another, as bits: bit i is that of number i.

from libc.stdint cimport uint32_t, uint64_t

from .vec cimport f32vec, f64vec, vec

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__AVX512F__) && defined(KD_LANE_BYTES)
      #define kd_bits_f32(a, b) (uint32_t)_mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_LT_OQ)
      #define kd_bits_f64(a, b) (uint32_t)_mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_LT_OQ)
    #elif defined(__AVX__) && defined(KD_LANE_BYTES)
      #define kd_bits_f32(a, b) (uint32_t)_mm256_movemask_ps((__m256)((a) < (b)))
      #define kd_bits_f64(a, b) (uint32_t)_mm256_movemask_pd((__m256d)((a) < (b)))
    #elif defined(__SSE2__) && defined(KD_LANE_BYTES)
      #define kd_bits_f32(a, b) (uint32_t)_mm_movemask_ps((__m128)((a) < (b)))
      #define kd_bits_f64(a, b) (uint32_t)_mm_movemask_pd((__m128d)((a) < (b)))
    #elif defined(KD_LANE_BYTES)
      #define KD_BITS(vec, suffix) \
        static inline uint32_t kd_bits_ ## suffix(vec a, vec b) { \
            uint32_t bits = 0; \
            for (unsigned i = 0; i < sizeof a / sizeof a[0]; i++) bits |= (uint32_t)(a[i] < b[i]) << i; \
            return bits; \
        }
      KD_BITS(kd_f32, f32)
      KD_BITS(kd_f64, f64)
    #else
      #define kd_bits_f32(a, b) (uint32_t)((a) < (b))
      #define kd_bits_f64(a, b) (uint32_t)((a) < (b))
    #endif
    #if defined(__GNUC__) || defined(__clang__)
      #define kd_first_bit(bits) __builtin_ctzll(bits)
    #else
      static int kd_first_bit(uint64_t bits) {
          int n = 0;
          for (; !(bits & 1); bits >>= 1) n++;
          return n;
      }
    #endif
    """
    uint32_t bits_f32 "kd_bits_f32"(f32vec a, f32vec b) noexcept nogil
    uint32_t bits_f64 "kd_bits_f64"(f64vec a, f64vec b) noexcept nogil
    # The number of the lowest bit that is set; there is one
    int first_bit "kd_first_bit"(uint64_t bits) noexcept nogil


cdef inline uint32_t bits_less(vec a, vec b) noexcept nogil:
    if vec is f32vec:
        return bits_f32(a, b)
    else:
        return bits_f64(a, b)
