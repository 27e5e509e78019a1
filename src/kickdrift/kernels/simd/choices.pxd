# What formulas ask of vectors of either kind beside + - * /: comparisons, choices, magnitudes, whole numbers.
#
# The outcome of a comparison is a number, 1 or 0.

from .bits cimport i64vec  # for the C types beside it
from .vec cimport f32vec, f64vec, vec

cdef extern from *:
    """
    #if defined(KD_LANE_BYTES)
      typedef int32_t kd_i32 __attribute__((vector_size(KD_LANE_BYTES), aligned(4), may_alias));
      #define KD_CHOICES(vec, ints, number, whole, suffix, sign, most) \
        static inline vec kd_less_ ## suffix(vec a, vec b) { \
            return (vec)((ints)(a < b) & (ints)((vec){0} + 1)); \
        } \
        static inline vec kd_not_less_ ## suffix(vec a, vec b) { \
            return (vec)((ints)(a >= b) & (ints)((vec){0} + 1)); \
        } \
        static inline vec kd_equal_ ## suffix(vec a, vec b) { \
            return (vec)((ints)(a == b) & (ints)((vec){0} + 1)); \
        } \
        static inline vec kd_select_ ## suffix(vec test, vec a, vec b) { \
            const ints mask = (ints)(test > 0); \
            return (vec)((mask & (ints)a) | (~mask & (ints)b)); \
        } \
        static inline vec kd_abs_ ## suffix(vec a) { \
            return (vec)((ints)a & ~((ints){0} + sign)); \
        } \
        static inline vec kd_floor_ ## suffix(vec a) { \
            const ints signs = (ints)a & ((ints){0} + sign); \
            const vec large = (vec)(signs | (ints)((vec){0} + most)); \
            vec t = (a + large) - large; \
            t = t - (vec)((ints)(a < t) & (ints)((vec){0} + 1)); \
            t = (vec)((ints)t | signs); \
            const ints mask = (ints)((vec)((ints)a & ~((ints){0} + sign)) < most); \
            return (vec)((mask & (ints)t) | (~mask & (ints)a)); \
        }
      KD_CHOICES(kd_f32, kd_i32, float, int32_t, f32, (int32_t)(-0x7fffffff - 1), 8388608.0f)
      KD_CHOICES(kd_f64, kd_i64, double, int64_t, f64, (int64_t)(-0x7fffffffffffffffLL - 1), 4503599627370496.0)
    #else
      #define KD_CHOICES(number, suffix, root, down) \
        static number kd_less_ ## suffix(number a, number b) { return a < b ? 1 : 0; } \
        static number kd_not_less_ ## suffix(number a, number b) { return a >= b ? 1 : 0; } \
        static number kd_equal_ ## suffix(number a, number b) { return a == b ? 1 : 0; } \
        static number kd_select_ ## suffix(number test, number a, number b) { return test > 0 ? a : b; } \
        static number kd_abs_ ## suffix(number a) { return root(a); } \
        static number kd_floor_ ## suffix(number a) { return down(a); }
      KD_CHOICES(float, f32, fabsf, floorf)
      KD_CHOICES(double, f64, fabs, floor)
    #endif
    """
    f32vec less_f32 "kd_less_f32"(f32vec, f32vec) noexcept nogil
    f64vec less_f64 "kd_less_f64"(f64vec, f64vec) noexcept nogil
    f32vec not_less_f32 "kd_not_less_f32"(f32vec, f32vec) noexcept nogil
    f64vec not_less_f64 "kd_not_less_f64"(f64vec, f64vec) noexcept nogil
    f32vec equal_f32 "kd_equal_f32"(f32vec, f32vec) noexcept nogil
    f64vec equal_f64 "kd_equal_f64"(f64vec, f64vec) noexcept nogil
    f32vec select_f32 "kd_select_f32"(f32vec, f32vec, f32vec) noexcept nogil
    f64vec select_f64 "kd_select_f64"(f64vec, f64vec, f64vec) noexcept nogil
    f32vec abs_f32 "kd_abs_f32"(f32vec) noexcept nogil
    f64vec abs_f64 "kd_abs_f64"(f64vec) noexcept nogil
    f32vec floor_f32 "kd_floor_f32"(f32vec) noexcept nogil
    f64vec floor_f64 "kd_floor_f64"(f64vec) noexcept nogil


cdef inline vec is_less(vec a, vec b) noexcept nogil:
    if vec is f32vec:
        return less_f32(a, b)
    else:
        return less_f64(a, b)


cdef inline vec is_not_less(vec a, vec b) noexcept nogil:
    """a >= b: not where one is no number."""
    if vec is f32vec:
        return not_less_f32(a, b)
    else:
        return not_less_f64(a, b)


cdef inline vec is_equal(vec a, vec b) noexcept nogil:
    if vec is f32vec:
        return equal_f32(a, b)
    else:
        return equal_f64(a, b)


cdef inline vec select(vec test, vec a, vec b) noexcept nogil:
    """a where test > 0, and b elsewhere."""
    if vec is f32vec:
        return select_f32(test, a, b)
    else:
        return select_f64(test, a, b)


cdef inline vec without_sign(vec a) noexcept nogil:
    if vec is f32vec:
        return abs_f32(a)
    else:
        return abs_f64(a)


cdef inline vec round_down(vec a) noexcept nogil:
    if vec is f32vec:
        return floor_f32(a)
    else:
        return floor_f64(a)
