# Bit patterns of floating-point vectors, as vectors of integers.
#
# Right shifts of 64-bit integers are logical, because x86 before AVX-512 has no arithmetic ones.

from libc.stdint cimport int64_t, uint32_t

from .masks cimport mask
from .vec cimport f32vec, f64vec

cdef extern from *:
    """
    #include <stdint.h>  /* below: bit patterns of vectors, and conversions between floats and doubles */
    #include <string.h>
    /* A double has 29 more mantissa bits than a float. Rounding is doubtful within 2**16 of their midpoint 2**28. */
    #define KD_MIDDLE ((1u << 28) + (1u << 16))
    #define KD_MORE ((1u << 29) - 1)
    #define KD_DOUBTFUL (1u << 17)
    #if defined(KD_LANE_BYTES)
      typedef uint64_t kd_u64 __attribute__((vector_size(KD_LANE_BYTES), aligned(8), may_alias));
      typedef float kd_half __attribute__((vector_size(KD_LANE_BYTES / 2), aligned(4), may_alias));
      #define kd_bits(q) ((kd_i64)(q))
      #define kd_number(i) ((kd_f64)(i))
      #define kd_right(i, n) ((kd_i64)((kd_u64)(i) >> (n)))
      #define kd_all_i64(i) ((kd_i64){0} + (int64_t)(i))
      #define kd_left(i, n) ((kd_i64)((kd_u64)(i) << (n)))
      #define kd_plus(i, j) ((kd_i64)((kd_u64)(i) + (kd_u64)(j)))
      typedef uint32_t kd_w32 __attribute__((vector_size(KD_LANE_BYTES), aligned(4), may_alias));
      #define kd_words(q) ((kd_w32)(q))
      #define kd_floats(i) ((kd_f32)(i))
      #define kd_to_floats(i) __builtin_convertvector((kd_s32)(i), kd_f32)
      #define kd_to_words(q) ((kd_w32)__builtin_convertvector(q, kd_s32))
      #define kd_shifted(i, n) ((kd_w32)((kd_s32)(i) >> (n)))
      typedef int32_t kd_half_s32 __attribute__((vector_size(KD_LANE_BYTES / 2), aligned(4), may_alias));
      typedef uint32_t kd_half_w32 __attribute__((vector_size(KD_LANE_BYTES / 2), aligned(4), may_alias));
      /* GCC converts between one vector of floats and two of doubles through memory. */
      #if defined(__AVX512F__)
        #define kd_lower(q) ((kd_f64)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)(q))))
        #define kd_upper(q) ((kd_f64)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)(q), 1)))
        #define kd_lower_whole(i) ((kd_f64)_mm512_cvtepi32_pd(_mm512_castsi512_si256((__m512i)(i))))
        #define kd_upper_whole(i) ((kd_f64)_mm512_cvtepi32_pd(_mm512_extracti32x8_epi32((__m512i)(i), 1)))
        #define kd_low_words(a, b) ((kd_w32)_mm512_shuffle_ps((__m512)(a), (__m512)(b), 0x88))
        #define kd_signs(a, b) ((kd_w32)_mm512_shuffle_ps((__m512)(a), (__m512)(b), 0xdd))
        #define kd_joined(a, b) ((kd_f32)_mm512_insertf32x8( \
            _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)(a))), _mm512_cvtpd_ps((__m512d)(b)), 1))
        #define kd_any_negative(i) (_mm512_movepi32_mask((__m512i)(i)) != 0)
      #elif defined(__AVX2__)
        #define kd_lower(q) ((kd_f64)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)(q))))
        #define kd_upper(q) ((kd_f64)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)(q), 1)))
        #define kd_lower_whole(i) ((kd_f64)_mm256_cvtepi32_pd(_mm256_castsi256_si128((__m256i)(i))))
        #define kd_upper_whole(i) ((kd_f64)_mm256_cvtepi32_pd(_mm256_extracti128_si256((__m256i)(i), 1)))
        #define kd_low_words(a, b) ((kd_w32)_mm256_shuffle_ps((__m256)(a), (__m256)(b), 0x88))
        #define kd_signs(a, b) ((kd_w32)_mm256_shuffle_ps((__m256)(a), (__m256)(b), 0xdd))
        #define kd_joined(a, b) ((kd_f32)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)(b)), _mm256_cvtpd_ps((__m256d)(a))))
        #define kd_any_negative(i) (_mm256_movemask_ps((__m256)(i)) != 0)
      #elif defined(__SSE2__) && KD_LANE_BYTES == 16
        #define kd_lower(q) ((kd_f64)_mm_cvtps_pd((__m128)(q)))
        #define kd_upper(q) ((kd_f64)_mm_cvtps_pd(_mm_movehl_ps((__m128)(q), (__m128)(q))))
        #define kd_lower_whole(i) ((kd_f64)_mm_cvtepi32_pd((__m128i)(i)))
        #define kd_upper_whole(i) ((kd_f64)_mm_cvtepi32_pd((__m128i)_mm_movehl_ps((__m128)(i), (__m128)(i))))
        #define kd_low_words(a, b) ((kd_w32)_mm_shuffle_ps((__m128)(a), (__m128)(b), 0x88))
        #define kd_signs(a, b) ((kd_w32)_mm_shuffle_ps((__m128)(a), (__m128)(b), 0xdd))
        #define kd_joined(a, b) ((kd_f32)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)(a)), _mm_cvtpd_ps((__m128d)(b))))
        #define kd_any_negative(i) (_mm_movemask_ps((__m128)(i)) != 0)
      #else
        typedef union { kd_f32 f; kd_w32 w; kd_half half[2]; kd_half_s32 whole[2]; kd_half_w32 words[2]; } kd_halves;
        static inline kd_f64 kd_widened(kd_f32 q, int n) {
            const kd_halves a = {q};
            return __builtin_convertvector(a.half[n], kd_f64);
        }
        static inline kd_f64 kd_widened_whole(kd_w32 i, int n) {
            const kd_halves a = {.w = i};
            return __builtin_convertvector(a.whole[n], kd_f64);
        }
        static inline kd_w32 kd_low_words(kd_f64 a, kd_f64 b) {
            kd_halves c;
            c.words[0] = __builtin_convertvector((kd_u64)a, kd_half_w32);
            c.words[1] = __builtin_convertvector((kd_u64)b, kd_half_w32);
            return c.w;
        }
        static inline kd_w32 kd_signs(kd_f64 a, kd_f64 b) {
            return kd_low_words((kd_f64)((kd_u64)a >> 32), (kd_f64)((kd_u64)b >> 32));
        }
        static inline kd_f32 kd_joined(kd_f64 a, kd_f64 b) {
            kd_halves c;
            c.half[0] = __builtin_convertvector(a, kd_half);
            c.half[1] = __builtin_convertvector(b, kd_half);
            return c.f;
        }
        #define kd_lower(q) kd_widened(q, 0)
        #define kd_upper(q) kd_widened(q, 1)
        #define kd_lower_whole(i) kd_widened_whole(i, 0)
        #define kd_upper_whole(i) kd_widened_whole(i, 1)
        #define kd_any_negative(i) kd_any_true((kd_s32)((i) >> 31))
      #endif
      /* Loads and stores that convert between floats and doubles: fewer instructions than separate conversions. */
      #if defined(__AVX512F__)
        #define kd_widen(p, a, b) (*(a) = (kd_f64)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)(p))), \
                                   *(b) = (kd_f64)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)(p) + 8)))
        #define kd_put(p, a, b) (_mm256_storeu_ps((float *)(p), _mm512_cvtpd_ps((__m512d)(a))), \
                                 _mm256_storeu_ps((float *)(p) + 8, _mm512_cvtpd_ps((__m512d)(b))))
      #else
        #define kd_widen(p, a, b) (*(a) = kd_lower(*(p)), *(b) = kd_upper(*(p)))
        #define kd_put(p, a, b) (*(p) = kd_joined(a, b))
      #endif
    #else
      typedef int64_t kd_i64;
      static kd_i64 kd_bits(double q) { kd_i64 i; memcpy(&i, &q, 8); return i; }
      static double kd_number(kd_i64 i) { double q; memcpy(&q, &i, 8); return q; }
      #define kd_right(i, n) ((kd_i64)((uint64_t)(i) >> (n)))
      #define kd_all_i64(i) ((kd_i64)(i))
      #define kd_left(i, n) ((kd_i64)((uint64_t)(i) << (n)))
      #define kd_plus(i, j) ((kd_i64)((uint64_t)(i) + (uint64_t)(j)))
      typedef uint32_t kd_w32;
      static kd_w32 kd_words(float q) { kd_w32 i; memcpy(&i, &q, 4); return i; }
      static float kd_floats(kd_w32 i) { float q; memcpy(&q, &i, 4); return q; }
      #define kd_to_floats(i) ((float)(int32_t)(i))
      #define kd_to_words(q) ((kd_w32)(int32_t)(q))
      #define kd_shifted(i, n) ((kd_w32)((int32_t)(i) >> (n)))
      #define kd_lower(q) ((double)(q))
      #define kd_upper(q) ((double)(q))
      #define kd_lower_whole(i) ((double)(int32_t)(i))
      #define kd_upper_whole(i) ((double)(int32_t)(i))
      #define kd_low_words(a, b) ((kd_w32)kd_bits(a))
      #define kd_any_negative(i) ((i) >> 31)
      #define kd_joined(a, b) ((float)(a))
      #define kd_widen(p, a, b) (*(a) = *(b) = *(p))
      #define kd_put(p, a, b) (*(p) = (float)(a))
      #define kd_signs(a, b) ((kd_w32)(kd_bits(a) >> 63 & 0x80000000u))
    #endif
    /* AVX-512 has mask registers: compare and select take one instruction instead of two to four. */
    #define KD_LEAST_NORMAL 0x00800000u
    #define KD_ALL_BUT_SIGN 0x7fffffffu
    #if defined(__AVX512F__) && defined(KD_LANE_BYTES)
      typedef __mmask16 kd_flags;
      #define KD_W(i) ((__m512i)(i))
      #define KD_SAME_WORDS(n) _mm512_set1_epi32((int)(n))
      #define kd_doubtful(a, b) _mm512_testn_epi32_mask( \
          KD_W(kd_low_words(a, b) + KD_MIDDLE), KD_SAME_WORDS(KD_MORE & ~(KD_DOUBTFUL - 1)))
      #define kd_above(i, n) _mm512_cmpgt_epu32_mask(KD_W(i), KD_SAME_WORDS(n))
      #define kd_not_normal(q) _mm512_fpclass_ps_mask((__m512)(q), 0xbf)
      #define kd_not_positive(q) _mm512_fpclass_ps_mask((__m512)(q), 0xff)
      #define kd_tiny(q) _mm512_mask_testn_epi32_mask( \
          _mm512_test_epi32_mask(KD_W(q), KD_SAME_WORDS(KD_ALL_BUT_SIGN)), KD_W(q), KD_SAME_WORDS(0x7f000000))
      #define KD_NOT_BELOW(v, r) \
          _mm512_cmp_pd_mask(_mm512_abs_pd((__m512d)(v)), _mm512_set1_pd(r), _CMP_NLT_UQ)
      #define kd_beyond(a, b, r) ((kd_flags)(KD_NOT_BELOW(a, r) | KD_NOT_BELOW(b, r)))
      #define kd_any_flag(f) ((f) != 0)
      #define kd_negative(q) _mm512_movepi32_mask((__m512i)(q))
      #define kd_negative_f64(q) _mm512_movepi64_mask((__m512i)(q))
      #define kd_words_where(m, n) ((kd_w32)_mm512_maskz_mov_epi32(m, KD_SAME_WORDS(n)))
      #define kd_lower_mask(m) (m)
      #define kd_upper_mask(m) ((m) >> 8)
      #define kd_odd(i) _mm512_test_epi64_mask((__m512i)(i), _mm512_set1_epi64(1))
      /* 2**(j/8) minus the integer j * 2**49 */
      #define kd_eighths(i) kd_number(kd_plus(_mm512_permutexvar_epi64((__m512i)(i), _mm512_set_epi64( \
          0x3fef5818dcfba487, 0x3feee89f995ad3ad, 0x3feeace5422aa0db, 0x3feea09e667f3bcd, \
          0x3feebfdad5362a27, 0x3fef06fe0a31b715, 0x3fef72b83c7d517b, 0x3ff0000000000000)), kd_left(i, 49)))
      #define KD_TABLES 1
    #else
      typedef kd_w32 kd_flags;  /* sign bit set: true */
      #define kd_doubtful(a, b) (((kd_low_words(a, b) + KD_MIDDLE) & KD_MORE) - KD_DOUBTFUL)
      #define kd_above(i, n) ((n) - (i))
      #define KD_SIZE(q) (kd_words(q) & KD_ALL_BUT_SIGN)
      #define kd_not_normal(q) ((0x7f7fffffu - KD_SIZE(q)) | (KD_SIZE(q) - KD_LEAST_NORMAL))
      #define kd_not_positive(q) ((kd_words(q) + KD_LEAST_NORMAL) | (kd_words(q) - KD_LEAST_NORMAL))
      #define kd_tiny(q) ((KD_SIZE(q) - 2 * KD_LEAST_NORMAL) & ~(KD_SIZE(q) - 1))
      #define kd_any_flag(f) kd_any_negative(f)
      #define kd_eighths(i) kd_number(i)
      #define KD_TABLES 0
      #if defined(KD_LANE_BYTES)
        #define kd_beyond(a, b, r) (~kd_signs((kd_f64)(kd_abs_f64(a) < (r)), (kd_f64)(kd_abs_f64(b) < (r))))
        #define kd_negative(q) ((kd_s32)(q) >> 31)
        #define kd_negative_f64(q) ((kd_mask)-(kd_i64)((kd_u64)(q) >> 63))
        #define kd_words_where(m, n) ((kd_w32)(m) & (n))
        #define kd_odd(i) ((kd_mask)-((i) & 1))
        #if defined(__AVX2__)
          #define kd_lower_mask(m) ((kd_mask)_mm256_cvtepi32_epi64(_mm256_castsi256_si128((__m256i)(m))))
          #define kd_upper_mask(m) ((kd_mask)_mm256_cvtepi32_epi64(_mm256_extracti128_si256((__m256i)(m), 1)))
        #elif defined(__SSE2__) && KD_LANE_BYTES == 16
          #define kd_lower_mask(m) ((kd_mask)_mm_unpacklo_epi32((__m128i)(m), (__m128i)(m)))
          #define kd_upper_mask(m) ((kd_mask)_mm_unpackhi_epi32((__m128i)(m), (__m128i)(m)))
        #else
          static inline kd_mask kd_widened_mask(kd_mask m, int n) {
              const kd_halves a = {.w = (kd_w32)m};
              return (kd_mask)__builtin_convertvector(a.whole[n], kd_i64);
          }
          #define kd_lower_mask(m) kd_widened_mask(m, 0)
          #define kd_upper_mask(m) kd_widened_mask(m, 1)
        #endif
      #else
        #define kd_beyond(a, b, r) (fabs(a) < (r) ? 0 : 0x80000000u)
        #define kd_negative(q) (-(kd_mask)(kd_words(q) >> 31))
        #define kd_negative_f64(q) (-(kd_mask)((uint64_t)kd_bits(q) >> 63))
        #define kd_words_where(m, n) ((kd_w32)(m) & (n))
        #define kd_odd(i) (-(kd_mask)((i) & 1))
        #define kd_lower_mask(m) (m)
        #define kd_upper_mask(m) (m)
      #endif
    #endif
    """
    ctypedef int64_t i64vec "kd_i64"
    i64vec bits "kd_bits"(f64vec) noexcept nogil
    f64vec number "kd_number"(i64vec) noexcept nogil
    i64vec right "kd_right"(i64vec, int) noexcept nogil
    i64vec left "kd_left"(i64vec, int) noexcept nogil
    i64vec plus "kd_plus"(i64vec, i64vec) noexcept nogil      # wraps around on overflow
    i64vec all_of "kd_all_i64"(int64_t) noexcept nogil
    # 32-bit counterparts for floats
    ctypedef uint32_t w32vec "kd_w32"
    w32vec words "kd_words"(f32vec) noexcept nogil
    f32vec floats "kd_floats"(w32vec) noexcept nogil
    f32vec to_floats "kd_to_floats"(w32vec) noexcept nogil      # integers below 2**31
    w32vec to_words "kd_to_words"(f32vec) noexcept nogil        # truncates
    w32vec shifted "kd_shifted"(w32vec, int) noexcept nogil     # arithmetic shift right
    # Halves of a vector of floats, as two vectors of doubles. In scalar builds both are the same number.
    f64vec lower "kd_lower"(f32vec) noexcept nogil
    f64vec upper "kd_upper"(f32vec) noexcept nogil
    f64vec lower_whole "kd_lower_whole"(w32vec) noexcept nogil  # signed integers
    f64vec upper_whole "kd_upper_whole"(w32vec) noexcept nogil
    f32vec joined "kd_joined"(f64vec lower, f64vec upper) noexcept nogil    # rounds to nearest
    void widen "kd_widen"(const f32vec* place, f64vec* lower, f64vec* upper) noexcept nogil
    void put "kd_put"(f32vec* place, f64vec lower, f64vec upper) noexcept nogil
    # Flags of a vector of floats, one per lane, in an undefined order: combine them with |, and test them by any_flag.
    ctypedef uint32_t flags "kd_flags"
    bint any_flag "kd_any_flag"(flags) noexcept nogil
    # True where an error of 2**-37 (relative) could change which of two normal floats is nearest.
    flags doubtful "kd_doubtful"(f64vec, f64vec) noexcept nogil
    flags above "kd_above"(w32vec, unsigned int) noexcept nogil             # i > n, for i below 2**31
    flags not_normal "kd_not_normal"(f32vec) noexcept nogil                 # 0, subnormal, infinite or NaN
    flags not_positive "kd_not_positive"(f32vec) noexcept nogil             # not_normal or negative
    flags tiny "kd_tiny"(f32vec) noexcept nogil                             # 0 < |q| < 2**-125
    flags beyond "kd_beyond"(f64vec, f64vec, double) noexcept nogil         # |q| >= r or NaN
    # Split the mask of a vector of floats into masks of the two vectors of doubles that `lower` and `upper` return
    mask lower_mask "kd_lower_mask"(mask) noexcept nogil
    mask upper_mask "kd_upper_mask"(mask) noexcept nogil
    w32vec words_where "kd_words_where"(mask, unsigned int) noexcept nogil  # 0 where the mask is false
    # True where the sign bit is set
    mask negative_f32 "kd_negative"(f32vec) noexcept nogil
    mask negative_f64 "kd_negative_f64"(f64vec) noexcept nogil
    mask odd_numbers "kd_odd"(i64vec) noexcept nogil
    # True if a register has room for a table of 2**(j/8), j from 0 to 7. From it `eighths` computes 2**(i/8) for any
    # integer i: the low 3 bits of i choose the entry, the next 12 are added to the exponent.
    const bint TABLES "KD_TABLES"
    f64vec eighths "kd_eighths"(i64vec) noexcept nogil
