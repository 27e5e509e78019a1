# Choices between vectors by a comparison, and what of a comparison holds anywhere.

from .vec cimport f32vec, f64vec, spread_f32, spread_f64, vec

cdef extern from *:
    """
    #if defined(KD_LANE_BYTES)
      #if defined(__AVX512F__)
        #define KD_BLENDS(vec, suffix, type) \
          static inline vec kd_above_ ## suffix(vec a, vec b, vec x, vec y) { \
              return _mm512_mask_blend_ ## type(_mm512_cmp_ ## type ## _mask(a, b, _CMP_GT_OQ), y, x); \
          } \
          static inline vec kd_at_zero_ ## suffix(vec q, vec x, vec y) { \
              return _mm512_mask_blend_ ## type(_mm512_cmp_ ## type ## _mask(q, (vec){0}, _CMP_EQ_OQ), y, x); \
          } \
          static inline int kd_any_above_ ## suffix(vec a, vec b) { \
              return _mm512_cmp_ ## type ## _mask(a, b, _CMP_GT_OQ) != 0; \
          }
      #elif defined(__AVX__)
        #define KD_BLENDS(vec, suffix, type) \
          static inline vec kd_above_ ## suffix(vec a, vec b, vec x, vec y) { \
              return _mm256_blendv_ ## type(y, x, _mm256_cmp_ ## type(a, b, _CMP_GT_OQ)); \
          } \
          static inline vec kd_at_zero_ ## suffix(vec q, vec x, vec y) { \
              return _mm256_blendv_ ## type(y, x, _mm256_cmp_ ## type(q, (vec){0}, _CMP_EQ_OQ)); \
          } \
          static inline int kd_any_above_ ## suffix(vec a, vec b) { \
              return _mm256_movemask_ ## type(_mm256_cmp_ ## type(a, b, _CMP_GT_OQ)) != 0; \
          }
      #else
        #define KD_BLENDS(vec, suffix, type) \
          static inline vec kd_above_ ## suffix(vec a, vec b, vec x, vec y) { \
              const __typeof__(a > b) mask = a > b; \
              return (vec)((mask & (__typeof__(mask))x) | (~mask & (__typeof__(mask))y)); \
          } \
          static inline vec kd_at_zero_ ## suffix(vec q, vec x, vec y) { \
              const __typeof__(q == 0) mask = q == 0; \
              return (vec)((mask & (__typeof__(mask))x) | (~mask & (__typeof__(mask))y)); \
          } \
          static inline int kd_any_above_ ## suffix(vec a, vec b) { \
              return !kd_is_zero_ ## suffix((vec)(a > b)); \
          }
      #endif
      KD_BLENDS(kd_f32, f32, ps)
      KD_BLENDS(kd_f64, f64, pd)
    #else
      #define KD_BLENDS(number, suffix) \
        static number kd_above_ ## suffix(number a, number b, number x, number y) { return a > b ? x : y; } \
        static number kd_at_zero_ ## suffix(number q, number x, number y) { return q == 0 ? x : y; } \
        static int kd_any_above_ ## suffix(number a, number b) { return a > b; }
      KD_BLENDS(float, f32)
      KD_BLENDS(double, f64)
    #endif
    """
    f32vec above_f32 "kd_above_f32"(f32vec, f32vec, f32vec, f32vec) noexcept nogil
    f64vec above_f64 "kd_above_f64"(f64vec, f64vec, f64vec, f64vec) noexcept nogil
    f32vec at_zero_f32 "kd_at_zero_f32"(f32vec, f32vec, f32vec) noexcept nogil
    f64vec at_zero_f64 "kd_at_zero_f64"(f64vec, f64vec, f64vec) noexcept nogil
    bint any_above_f32 "kd_any_above_f32"(f32vec, f32vec) noexcept nogil
    bint any_above_f64 "kd_any_above_f64"(f64vec, f64vec) noexcept nogil


cdef inline vec where_above(vec a, vec b, vec x, vec y) noexcept nogil:
    """x where a > b, and y elsewhere: also where one of a and b is no number."""
    if vec is f32vec:
        return above_f32(a, b, x, y)
    else:
        return above_f64(a, b, x, y)


cdef inline vec where_zero(vec q, vec x, vec y) noexcept nogil:
    """x where q is 0 of either sign, and y elsewhere."""
    if vec is f32vec:
        return at_zero_f32(q, x, y)
    else:
        return at_zero_f64(q, x, y)


cdef inline bint any_above(vec a, vec b) noexcept nogil:
    """Is a > b anywhere?"""
    if vec is f32vec:
        return any_above_f32(a, b)
    else:
        return any_above_f64(a, b)


cdef inline vec filled(double number, const vec* like) noexcept nogil:
    """A number all over a vec; `like` only tells the type."""
    if vec is f32vec:
        return spread_f32(<float> number)
    else:
        return spread_f64(number)
