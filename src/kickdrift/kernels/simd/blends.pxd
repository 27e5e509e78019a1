# Choices between vectors by a comparison, and what of a comparison holds anywhere.

from .vec cimport f32vec, f64vec, vec

cdef extern from *:
    """
    #if defined(KD_LANE_BYTES)
      /* Where there are words for it, compilers are told: they take masks apart, number by number, for SSE2. */
      #if defined(__AVX512F__)
        #define KD_COMPARED(type, a, b, how) _mm512_cmp_ ## type ## _mask(a, b, _CMP_ ## how ## _OQ)
        #define KD_BLENDED(vec, type, mask, x, y) _mm512_mask_blend_ ## type(mask, y, x)
        #define KD_ANY(type, mask) ((mask) != 0)
        #define KD_EITHER(type, a, b) (!_mm512_kortestz(a, b))
        #define KD_FIRST(which, type, a, b) _mm512_ ## which ## _ ## type(a, b)
        #define KD_ALL(vec, type, mask) ((mask) == (1 << KD_WIDTH((vec){0})) - 1)
      #elif defined(__AVX__)
        #define KD_COMPARED(type, a, b, how) _mm256_cmp_ ## type(a, b, _CMP_ ## how ## _OQ)
        #define KD_BLENDED(vec, type, mask, x, y) _mm256_blendv_ ## type(y, x, mask)
        #define KD_ANY(type, mask) (_mm256_movemask_ ## type(mask) != 0)
        #define KD_EITHER(type, a, b) KD_ANY(type, _mm256_or_ ## type(a, b))
        #define KD_FIRST(which, type, a, b) _mm256_ ## which ## _ ## type(a, b)
        #define KD_ALL(vec, type, mask) (_mm256_movemask_ ## type(mask) == (1 << KD_WIDTH((vec){0})) - 1)
      #elif defined(__SSE2__)
        #define KD_SSE2_GT(type, a, b) _mm_cmpgt_ ## type(a, b)
        #define KD_SSE2_GE(type, a, b) _mm_cmpge_ ## type(a, b)
        #define KD_SSE2_EQ(type, a, b) _mm_cmpeq_ ## type(a, b)
        #define KD_COMPARED(type, a, b, how) KD_SSE2_ ## how(type, a, b)
        #define KD_BLENDED(vec, type, mask, x, y) \
            _mm_or_ ## type(_mm_and_ ## type(mask, x), _mm_andnot_ ## type(mask, y))
        #define KD_ANY(type, mask) (_mm_movemask_ ## type(mask) != 0)
        #define KD_EITHER(type, a, b) KD_ANY(type, _mm_or_ ## type(a, b))
        #define KD_FIRST(which, type, a, b) _mm_ ## which ## _ ## type(a, b)
        #define KD_ALL(vec, type, mask) (_mm_movemask_ ## type(mask) == (1 << KD_WIDTH((vec){0})) - 1)
      #else
        #define KD_PLAIN_GT(a, b) ((a) > (b))
        #define KD_PLAIN_GE(a, b) ((a) >= (b))
        #define KD_PLAIN_EQ(a, b) ((a) == (b))
        #define KD_COMPARED(type, a, b, how) KD_PLAIN_ ## how(a, b)
        #define KD_BLENDED(vec, type, mask, x, y) \
            ((vec)(((mask) & (__typeof__(mask))(x)) | (~(mask) & (__typeof__(mask))(y))))
        #define kd_is_zero_ps kd_is_zero_f32
        #define kd_is_zero_pd kd_is_zero_f64
        #define KD_ANY(type, mask) (!kd_is_zero_ ## type((__typeof__(a))(mask)))
        #define KD_EITHER(type, a, b) KD_ANY(type, (a) | (b))
        #define KD_PLAIN_min(a, b) ((b) > (a))
        #define KD_PLAIN_max(a, b) ((a) > (b))
        #define KD_FIRST(which, type, a, b) KD_BLENDED(__typeof__(a), type, KD_PLAIN_ ## which(a, b), a, b)
        #define KD_ALL(vec, type, mask) (kd_is_zero_ ## type((vec)~(mask)))
      #endif
      #define KD_BLENDS(vec, suffix, type) \
        static inline vec kd_above_ ## suffix(vec a, vec b, vec x, vec y) { \
            return (vec)KD_BLENDED(vec, type, KD_COMPARED(type, a, b, GT), x, y); \
        } \
        static inline vec kd_reaching_ ## suffix(vec a, vec b, vec x, vec y) { \
            return (vec)KD_BLENDED(vec, type, KD_COMPARED(type, a, b, GE), x, y); \
        } \
        static inline vec kd_at_zero_ ## suffix(vec a, vec x, vec y) { \
            return (vec)KD_BLENDED(vec, type, KD_COMPARED(type, a, (vec){0}, EQ), x, y); \
        } \
        static inline int kd_any_above_ ## suffix(vec a, vec b) { return KD_ANY(type, KD_COMPARED(type, a, b, GT)); } \
        static inline int kd_any_reaching_ ## suffix(vec a, vec b) { \
            return KD_ANY(type, KD_COMPARED(type, a, b, GE)); \
        } \
        static inline int kd_any_out_ ## suffix(vec a, vec low, vec high) { \
            return KD_EITHER(type, KD_COMPARED(type, low, a, GE), KD_COMPARED(type, a, high, GE)); \
        } \
        static inline vec kd_least_ ## suffix(vec a, vec b) { return (vec)KD_FIRST(min, type, a, b); } \
        static inline vec kd_most_ ## suffix(vec a, vec b) { return (vec)KD_FIRST(max, type, a, b); } \
        static inline int kd_zeros_ ## suffix(vec a) { \
            return KD_ALL(vec, type, KD_COMPARED(type, a, (vec){0}, EQ)); \
        }
      KD_BLENDS(kd_f32, f32, ps)
      KD_BLENDS(kd_f64, f64, pd)
    #else
      #define KD_BLENDS(number, suffix) \
        static number kd_above_ ## suffix(number a, number b, number x, number y) { return a > b ? x : y; } \
        static number kd_reaching_ ## suffix(number a, number b, number x, number y) { return a >= b ? x : y; } \
        static number kd_at_zero_ ## suffix(number q, number x, number y) { return q == 0 ? x : y; } \
        static int kd_any_above_ ## suffix(number a, number b) { return a > b; } \
        static int kd_any_reaching_ ## suffix(number a, number b) { return a >= b; } \
        static int kd_any_out_ ## suffix(number a, number low, number high) { return low >= a || a >= high; } \
        static number kd_least_ ## suffix(number a, number b) { return b > a ? a : b; } \
        static number kd_most_ ## suffix(number a, number b) { return a > b ? a : b; } \
        static int kd_zeros_ ## suffix(number a) { return a == 0; }
      KD_BLENDS(float, f32)
      KD_BLENDS(double, f64)
    #endif
    """
    f32vec above_f32 "kd_above_f32"(f32vec, f32vec, f32vec, f32vec) noexcept nogil
    f64vec above_f64 "kd_above_f64"(f64vec, f64vec, f64vec, f64vec) noexcept nogil
    f32vec reaching_f32 "kd_reaching_f32"(f32vec, f32vec, f32vec, f32vec) noexcept nogil
    f64vec reaching_f64 "kd_reaching_f64"(f64vec, f64vec, f64vec, f64vec) noexcept nogil
    f32vec at_zero_f32 "kd_at_zero_f32"(f32vec, f32vec, f32vec) noexcept nogil
    f64vec at_zero_f64 "kd_at_zero_f64"(f64vec, f64vec, f64vec) noexcept nogil
    bint any_above_f32 "kd_any_above_f32"(f32vec, f32vec) noexcept nogil
    bint any_above_f64 "kd_any_above_f64"(f64vec, f64vec) noexcept nogil
    bint any_reaching_f32 "kd_any_reaching_f32"(f32vec, f32vec) noexcept nogil
    bint any_reaching_f64 "kd_any_reaching_f64"(f64vec, f64vec) noexcept nogil
    bint any_out_f32 "kd_any_out_f32"(f32vec, f32vec low, f32vec high) noexcept nogil
    bint any_out_f64 "kd_any_out_f64"(f64vec, f64vec low, f64vec high) noexcept nogil
    f32vec least_f32 "kd_least_f32"(f32vec, f32vec) noexcept nogil
    f64vec least_f64 "kd_least_f64"(f64vec, f64vec) noexcept nogil
    f32vec most_f32 "kd_most_f32"(f32vec, f32vec) noexcept nogil
    f64vec most_f64 "kd_most_f64"(f64vec, f64vec) noexcept nogil
    bint zeros_f32 "kd_zeros_f32"(f32vec) noexcept nogil
    bint zeros_f64 "kd_zeros_f64"(f64vec) noexcept nogil


cdef inline vec where_above(vec a, vec b, vec x, vec y) noexcept nogil:
    """x where a > b, and y elsewhere: also where one of a and b is no number."""
    if vec is f32vec:
        return above_f32(a, b, x, y)
    else:
        return above_f64(a, b, x, y)


cdef inline vec where_reaching(vec a, vec b, vec x, vec y) noexcept nogil:
    """x where a >= b, and y elsewhere: also where one of a and b is no number."""
    if vec is f32vec:
        return reaching_f32(a, b, x, y)
    else:
        return reaching_f64(a, b, x, y)


cdef inline vec where_zero(vec q, vec x, vec y) noexcept nogil:
    """x where q is 0 of either sign, and y elsewhere."""
    if vec is f32vec:
        return at_zero_f32(q, x, y)
    else:
        return at_zero_f64(q, x, y)


cdef inline vec least(vec a, vec b) noexcept nogil:
    """The less of both; b where one is no number."""
    if vec is f32vec:
        return least_f32(a, b)
    else:
        return least_f64(a, b)


cdef inline vec most(vec a, vec b) noexcept nogil:
    """The greater of both; b where one is no number."""
    if vec is f32vec:
        return most_f32(a, b)
    else:
        return most_f64(a, b)


cdef inline bint any_above(vec a, vec b) noexcept nogil:
    """Is a > b anywhere?"""
    if vec is f32vec:
        return any_above_f32(a, b)
    else:
        return any_above_f64(a, b)


cdef inline bint any_reaching(vec a, vec b) noexcept nogil:
    """Is a >= b anywhere?"""
    if vec is f32vec:
        return any_reaching_f32(a, b)
    else:
        return any_reaching_f64(a, b)


cdef inline bint any_out(vec q, vec low, vec high) noexcept nogil:
    """Is low >= q or q >= high anywhere?"""
    if vec is f32vec:
        return any_out_f32(q, low, high)
    else:
        return any_out_f64(q, low, high)


cdef inline bint is_nothing(vec q) noexcept nogil:
    """Is every number 0, of either sign?"""
    if vec is f32vec:
        return zeros_f32(q)
    else:
        return zeros_f64(q)
