# Four numbers in one register, float or double, where registers hold four doubles: for few bodies.
#
# Narrower instruction sets alias them to the vectors of vec.pxd, which have no lane rotation.

from .vec cimport f32vec  # for the C macros that its module defines

cdef extern from *:
    """
    #if defined(KD_LANE_BYTES)
      #define KD_WHERE(q, a) (__typeof__(a))(((q) > 0) & (__typeof__((q) > 0))(a))
    #else
      #define KD_WHERE(q, a) ((q) > 0 ? (a) : 0)
    #endif
    #if defined(KD_LANE_BYTES) && KD_LANE_BYTES >= 32
      #define KD_QUADS 1
      typedef float kd_q32 __attribute__((vector_size(16), aligned(4), may_alias));
      typedef double kd_q64 __attribute__((vector_size(32), aligned(8), may_alias));
      #define kd_root_q32(q) (kd_q32)_mm_sqrt_ps(q)
      #define kd_root_q64(q) (kd_q64)_mm256_sqrt_pd(q)
      #define kd_spread_q32(a) ((a) - (kd_q32){0})
      #define kd_spread_q64(a) ((a) - (kd_q64){0})
      #if defined(__clang__)
        #define KD_TURN(a, whole, ...) __builtin_shufflevector(a, a, __VA_ARGS__)
      #else
        typedef int kd_at_q32 __attribute__((vector_size(16)));
        typedef long long kd_at_q64 __attribute__((vector_size(32)));
        #define KD_TURN(a, whole, ...) __builtin_shuffle(a, (whole){__VA_ARGS__})
      #endif
      #define kd_ahead_q32(a) KD_TURN(a, kd_at_q32, 1, 2, 0, 3)
      #define kd_ahead_q64(a) KD_TURN(a, kd_at_q64, 1, 2, 0, 3)
      #define kd_behind_q32(a) KD_TURN(a, kd_at_q32, 2, 0, 1, 3)
      #define kd_behind_q64(a) KD_TURN(a, kd_at_q64, 2, 0, 1, 3)
    #else
      #define KD_QUADS 0
      #define kd_q32 kd_f32
      #define kd_q64 kd_f64
      #define kd_root_q32 kd_root_f32
      #define kd_root_q64 kd_root_f64
      #define kd_spread_q32 kd_spread_f32
      #define kd_spread_q64 kd_spread_f64
      #define kd_ahead_q32(a) (a)
      #define kd_ahead_q64(a) (a)
      #define kd_behind_q32(a) (a)
      #define kd_behind_q64(a) (a)
    #endif
    """
    enum:
        QUADS "KD_QUADS"    # True if quads have four lanes
    ctypedef float f32quad "kd_q32"
    ctypedef double f64quad "kd_q64"
    f32quad root_f32 "kd_root_q32"(f32quad q) noexcept nogil
    f64quad root_f64 "kd_root_q64"(f64quad q) noexcept nogil
    f32quad spread_f32 "kd_spread_q32"(float a) noexcept nogil
    f64quad spread_f64 "kd_spread_q64"(double a) noexcept nogil
    # Rotate lanes 0, 1, 2: ahead is lane i + 1, behind is lane i - 1 (modulo 3)
    f32quad ahead_f32 "kd_ahead_q32"(f32quad a) noexcept nogil
    f64quad ahead_f64 "kd_ahead_q64"(f64quad a) noexcept nogil
    f32quad behind_f32 "kd_behind_q32"(f32quad a) noexcept nogil
    f64quad behind_f64 "kd_behind_q64"(f64quad a) noexcept nogil
    # a where q > 0, and zero elsewhere
    f32quad where_f32 "KD_WHERE"(f32quad q, f32quad a) noexcept nogil
    f64quad where_f64 "KD_WHERE"(f64quad q, f64quad a) noexcept nogil

ctypedef fused quad:
    f32quad
    f64quad


cdef inline quad quad_root(quad q) noexcept nogil:
    if quad is f32quad:
        return root_f32(q)
    else:
        return root_f64(q)


cdef inline quad quad_where(quad q, quad a) noexcept nogil:
    if quad is f32quad:
        return where_f32(q, a)
    else:
        return where_f64(q, a)


cdef inline quad quad_spread(const void* number, const quad* like) noexcept nogil:
    """Broadcast a number; `like` only selects the type."""
    if quad is f32quad:
        return spread_f32((<const float*> number)[0])
    else:
        return spread_f64((<const double*> number)[0])


cdef inline quad quad_ahead(quad a) noexcept nogil:
    if quad is f32quad:
        return ahead_f32(a)
    else:
        return ahead_f64(a)


cdef inline quad quad_behind(quad a) noexcept nogil:
    if quad is f32quad:
        return behind_f32(a)
    else:
        return behind_f64(a)
