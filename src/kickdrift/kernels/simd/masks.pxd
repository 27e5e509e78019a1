# Masks: results of vector comparisons, one flag per lane, and select by mask.
#
# Combine masks with & and |. Comparisons with NaN are false. After ~ use all_true, never any_true: AVX-512 masks of
# doubles have 8 unused bits, which ~ sets.

from libc.stdint cimport int32_t, uint32_t, uint64_t

from .vec cimport f32vec, f64vec, filled, vec

cdef extern from *:
    """
    #include <math.h>  /* below: comparisons, selects, minima, maxima and floors of vectors; tests of masks */
    #include <stdint.h>
    #if defined(KD_LANE_BYTES)
      typedef int32_t kd_s32 __attribute__((vector_size(KD_LANE_BYTES), aligned(4), may_alias));
      typedef int64_t kd_i64 __attribute__((vector_size(KD_LANE_BYTES), aligned(8), may_alias));
      #if defined(__AVX512F__)
        typedef __mmask16 kd_mask;
        #define KD_COMPARED(type, a, op, b, how) _mm512_cmp_ ## type ## _mask(a, b, _CMP_ ## how ## _OQ)
        #define KD_SELECTED(vec, type, m, a, b) _mm512_mask_blend_ ## type(m, b, a)
        #define KD_LEAST(type, a, b) _mm512_min_ ## type(a, b)
        #define KD_GREATEST(type, a, b) _mm512_max_ ## type(a, b)
        #define KD_FLAGS(vec, type, m) ((uint32_t)(m) & ((1u << KD_WIDTH((vec){0})) - 1))
        #define KD_ALL_TRUE(vec, m) (KD_FLAGS(vec, , m) == (1u << KD_WIDTH((vec){0})) - 1)
        #define kd_any_true(m) ((m) != 0)
      #else
        typedef kd_s32 kd_mask;
        #define KD_COMPARED(type, a, op, b, how) (kd_mask)((a) op (b))
        #define KD_ALL_TRUE(vec, m) !kd_any_true(~(m))
        #if defined(__AVX__)
          /* Compilers emit this instruction only for floats. */
          #define KD_SELECTED(vec, type, m, a, b) _mm256_blendv_ ## type(b, a, (vec)(m))
          #define KD_LEAST(type, a, b) _mm256_min_ ## type(a, b)
          #define KD_GREATEST(type, a, b) _mm256_max_ ## type(a, b)
          #define KD_FLAGS(vec, type, m) _mm256_movemask_ ## type((vec)(m))
          #define kd_any_true(m) (_mm256_movemask_ps((__m256)(m)) != 0)
        #else
          #define KD_SELECTED(vec, type, m, a, b) (((m) & (kd_mask)(a)) | (~(m) & (kd_mask)(b)))
          #if defined(__SSE2__)
            #define KD_LEAST(type, a, b) _mm_min_ ## type(a, b)
            #define KD_GREATEST(type, a, b) _mm_max_ ## type(a, b)
            #define KD_FLAGS(vec, type, m) _mm_movemask_ ## type((vec)(m))
            #define kd_any_true(m) (_mm_movemask_ps((__m128)(m)) != 0)
          #else
            #define KD_LEAST(type, a, b) KD_SELECTED(, , (kd_mask)((b) > (a)), a, b)
            #define KD_GREATEST(type, a, b) KD_SELECTED(, , (kd_mask)((a) > (b)), a, b)
            #define KD_FLAGS(vec, type, m) kd_flags_ ## type(m)
            static inline uint32_t kd_flags_ps(kd_mask m) { return (m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8); }
            static inline uint32_t kd_flags_pd(kd_mask m) { return (m[0] & 1) | (m[2] & 2); }
            #define kd_any_true(m) ((((kd_i64)(m))[0] | ((kd_i64)(m))[1]) != 0)
          #endif
        #endif
      #endif
      #define KD_MASKS(vec, ints, suffix, type, large) \
        static inline kd_mask kd_greater_ ## suffix(vec a, vec b) { return KD_COMPARED(type, a, >, b, GT); } \
        static inline kd_mask kd_greater_equal_ ## suffix(vec a, vec b) { return KD_COMPARED(type, a, >=, b, GE); } \
        static inline kd_mask kd_equal_ ## suffix(vec a, vec b) { return KD_COMPARED(type, a, ==, b, EQ); } \
        static inline vec kd_select_ ## suffix(kd_mask m, vec a, vec b) { \
            return (vec)KD_SELECTED(vec, type, m, a, b); \
        } \
        static inline vec kd_minimum_ ## suffix(vec a, vec b) { return (vec)KD_LEAST(type, a, b); } \
        static inline vec kd_maximum_ ## suffix(vec a, vec b) { return (vec)KD_GREATEST(type, a, b); } \
        static inline int kd_all_true_ ## suffix(kd_mask m) { return KD_ALL_TRUE(vec, m); } \
        static inline uint32_t kd_flags_ ## suffix(kd_mask m) { return (uint32_t)KD_FLAGS(vec, type, m); } \
        static inline vec kd_abs_ ## suffix(vec a) { return (vec)((ints)a & ~(ints)-(vec){0}); } \
        static inline vec kd_floor_ ## suffix(vec a) { \
            const ints signs = (ints)a & (ints)-(vec){0}; \
            const vec most = (vec)(signs | (ints)((vec){0} + large)); \
            vec t = (a + most) - most; \
            t = t - kd_select_ ## suffix(kd_greater_ ## suffix(t, a), (vec){0} + 1, (vec){0}); \
            t = (vec)((ints)t | signs); \
            return kd_select_ ## suffix(kd_greater_ ## suffix((vec){0} + large, kd_abs_ ## suffix(a)), t, a); \
        }
      KD_MASKS(kd_f32, kd_s32, f32, ps, 8388608.0f)
      KD_MASKS(kd_f64, kd_i64, f64, pd, 4503599627370496.0)
    #else
      typedef int32_t kd_mask;
      #define kd_any_true(m) ((m) != 0)
      #define KD_MASKS(number, suffix, magnitude, down) \
        static kd_mask kd_greater_ ## suffix(number a, number b) { return -(a > b); } \
        static kd_mask kd_greater_equal_ ## suffix(number a, number b) { return -(a >= b); } \
        static kd_mask kd_equal_ ## suffix(number a, number b) { return -(a == b); } \
        static number kd_select_ ## suffix(kd_mask m, number a, number b) { return m ? a : b; } \
        static number kd_minimum_ ## suffix(number a, number b) { return b > a ? a : b; } \
        static number kd_maximum_ ## suffix(number a, number b) { return a > b ? a : b; } \
        static int kd_all_true_ ## suffix(kd_mask m) { return m != 0; } \
        static uint32_t kd_flags_ ## suffix(kd_mask m) { return m & 1; } \
        static number kd_abs_ ## suffix(number a) { return magnitude(a); } \
        static number kd_floor_ ## suffix(number a) { return down(a); }
      KD_MASKS(float, f32, fabsf, floorf)
      KD_MASKS(double, f64, fabs, floor)
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
    ctypedef int32_t mask "kd_mask"
    mask greater_f32 "kd_greater_f32"(f32vec, f32vec) noexcept nogil
    mask greater_f64 "kd_greater_f64"(f64vec, f64vec) noexcept nogil
    mask greater_equal_f32 "kd_greater_equal_f32"(f32vec, f32vec) noexcept nogil
    mask greater_equal_f64 "kd_greater_equal_f64"(f64vec, f64vec) noexcept nogil
    mask equal_f32 "kd_equal_f32"(f32vec, f32vec) noexcept nogil
    mask equal_f64 "kd_equal_f64"(f64vec, f64vec) noexcept nogil
    f32vec select_f32 "kd_select_f32"(mask, f32vec, f32vec) noexcept nogil
    f64vec select_f64 "kd_select_f64"(mask, f64vec, f64vec) noexcept nogil
    f32vec minimum_f32 "kd_minimum_f32"(f32vec, f32vec) noexcept nogil
    f64vec minimum_f64 "kd_minimum_f64"(f64vec, f64vec) noexcept nogil
    f32vec maximum_f32 "kd_maximum_f32"(f32vec, f32vec) noexcept nogil
    f64vec maximum_f64 "kd_maximum_f64"(f64vec, f64vec) noexcept nogil
    bint all_true_f32 "kd_all_true_f32"(mask) noexcept nogil
    bint all_true_f64 "kd_all_true_f64"(mask) noexcept nogil
    uint32_t flags_f32 "kd_flags_f32"(mask) noexcept nogil
    uint32_t flags_f64 "kd_flags_f64"(mask) noexcept nogil
    f32vec abs_f32 "kd_abs_f32"(f32vec) noexcept nogil
    f64vec abs_f64 "kd_abs_f64"(f64vec) noexcept nogil
    f32vec floor_f32 "kd_floor_f32"(f32vec) noexcept nogil
    f64vec floor_f64 "kd_floor_f64"(f64vec) noexcept nogil
    bint any_true "kd_any_true"(mask) noexcept nogil
    # Index of the lowest set bit; undefined for 0
    int first_bit "kd_first_bit"(uint64_t bits) noexcept nogil


cdef inline mask greater(vec a, vec b) noexcept nogil:
    if vec is f32vec:
        return greater_f32(a, b)
    else:
        return greater_f64(a, b)


cdef inline mask greater_equal(vec a, vec b) noexcept nogil:
    if vec is f32vec:
        return greater_equal_f32(a, b)
    else:
        return greater_equal_f64(a, b)


cdef inline mask equal(vec a, vec b) noexcept nogil:
    if vec is f32vec:
        return equal_f32(a, b)
    else:
        return equal_f64(a, b)


cdef inline mask less(vec a, vec b) noexcept nogil:
    return greater(b, a)


cdef inline mask positive(vec a) noexcept nogil:
    return greater(a, filled(0, &a))


cdef inline mask equals_zero(vec a) noexcept nogil:
    return equal(a, filled(0, &a))


cdef inline vec select(mask m, vec a, vec b) noexcept nogil:
    """Return a where the mask is true, b elsewhere."""
    if vec is f32vec:
        return select_f32(m, a, b)
    else:
        return select_f64(m, a, b)


cdef inline vec select_or_zero(mask m, vec a) noexcept nogil:
    return select(m, a, filled(0, &a))


cdef inline bint all_true(mask m, const vec* like) noexcept nogil:
    """True if all lanes are set; `like` only selects the type."""
    if vec is f32vec:
        return all_true_f32(m)
    else:
        return all_true_f64(m)


cdef inline uint32_t flags_of(mask m, const vec* like) noexcept nogil:
    """Pack a mask into an integer: bit i is set if lane i is true."""
    if vec is f32vec:
        return flags_f32(m)
    else:
        return flags_f64(m)


cdef inline bint all_zero(vec a) noexcept nogil:
    """True if every number is 0 or -0."""
    return all_true(equals_zero(a), &a)


cdef inline vec minimum(vec a, vec b) noexcept nogil:
    """Smaller of both; b if either is NaN."""
    if vec is f32vec:
        return minimum_f32(a, b)
    else:
        return minimum_f64(a, b)


cdef inline vec maximum(vec a, vec b) noexcept nogil:
    """Larger of both; b if either is NaN."""
    if vec is f32vec:
        return maximum_f32(a, b)
    else:
        return maximum_f64(a, b)


cdef inline vec absolute(vec a) noexcept nogil:
    if vec is f32vec:
        return abs_f32(a)
    else:
        return abs_f64(a)


cdef inline vec round_down(vec a) noexcept nogil:
    if vec is f32vec:
        return floor_f32(a)
    else:
        return floor_f64(a)
