# A lane is as many numbers as one register of the instruction set holds, stepped side by side.
#
# Cython takes lanes for plain numbers and writes ordinary C expressions; the compiler gives these
# expressions their vector meaning (GCC's and Clang's vector extensions). The same formula thus
# serves every width, and stays in registers where loops over arrays would only hope to. Where the
# extension is missing (MSVC) a lane is one number.
#
# Lanes may lie anywhere that their numbers may lie: the types ask for no more alignment.

# What C has no operator for, square roots and choices, is given names here.

cdef extern from *:
    """
    #include <math.h>
    #if defined(__GNUC__)
      #if defined(__SSE2__)
        #include <immintrin.h>
      #endif
      #if defined(__AVX512F__)
        #define KD_LANE_BYTES 64
        #define KD_ROOT(type) _mm512_sqrt_ ## type
      #elif defined(__AVX__)
        #define KD_LANE_BYTES 32
        #define KD_ROOT(type) _mm256_sqrt_ ## type
      #else
        #define KD_LANE_BYTES 16
        #define KD_ROOT(type) _mm_sqrt_ ## type
      #endif
      typedef float kd_f32 __attribute__((vector_size(KD_LANE_BYTES), aligned(4), may_alias));
      typedef double kd_f64 __attribute__((vector_size(KD_LANE_BYTES), aligned(8), may_alias));
      #define KD_WHERE(q, a) (__typeof__(a))(((q) > 0) & (__typeof__((q) > 0))(a))
      #if defined(__SSE2__)
        #define kd_root_f32(q) (kd_f32)KD_ROOT(ps)(q)
        #define kd_root_f64(q) (kd_f64)KD_ROOT(pd)(q)
      #else
        static inline kd_f32 kd_root_f32(kd_f32 q) {
            for (unsigned i = 0; i < sizeof q / sizeof q[0]; i++) q[i] = sqrtf(q[i]);
            return q;
        }
        static inline kd_f64 kd_root_f64(kd_f64 q) {
            for (unsigned i = 0; i < sizeof q / sizeof q[0]; i++) q[i] = sqrt(q[i]);
            return q;
        }
      #endif
    #else
      typedef float kd_f32;
      typedef double kd_f64;
      #define KD_WHERE(q, a) ((q) > 0 ? (a) : 0)
      #define kd_root_f32 sqrtf
      #define kd_root_f64 sqrt
    #endif
    #if defined(__GNUC__)
      #define kd_forget() __asm__ volatile("" ::: "memory")
    #else
      #define kd_forget()
    #endif
    #if defined(__AVX512F__) || defined(__aarch64__)
      #define KD_WIDE 12    /* of 32 registers */
      #define KD_MEDIUM 8
      #define KD_NARROW 6
    #else
      #define KD_WIDE 6     /* of 16 */
      #define KD_MEDIUM 4
      #define KD_NARROW 3
    #endif
    """
    ctypedef float f32lane "kd_f32"
    ctypedef double f64lane "kd_f64"
    f32lane root_f32 "kd_root_f32"(f32lane) noexcept nogil
    f64lane root_f64 "kd_root_f64"(f64lane) noexcept nogil
    # a where q > 0, and zero elsewhere
    f32lane where_f32 "KD_WHERE"(f32lane q, f32lane a) noexcept nogil
    f64lane where_f64 "KD_WHERE"(f64lane q, f64lane a) noexcept nogil
    # What was read from memory is to be read again: compilers would hoist coefficients out of loops
    # into registers that they do not have, and push out the state that belongs there.
    void forget "kd_forget"() noexcept nogil
    # How many lanes are stepped side by side, to hide the latency of additions: as many as the
    # registers hold, by what a scheme needs beside x and v.
    enum:
        WIDE "KD_WIDE"
        MEDIUM "KD_MEDIUM"
        NARROW "KD_NARROW"

ctypedef fused lane:
    f32lane
    f64lane

ctypedef fused real:
    float
    double


cdef inline Py_ssize_t width(const lane* like) noexcept nogil:
    """Numbers in a lane; `like` only tells the type."""
    if lane is f32lane:
        return sizeof(f32lane) // sizeof(float)
    else:
        return sizeof(f64lane) // sizeof(double)


cdef inline lane lane_root(lane q) noexcept nogil:
    if lane is f32lane:
        return root_f32(q)
    else:
        return root_f64(q)


cdef inline lane where_positive(lane q, lane a) noexcept nogil:
    """a where q > 0, and zero elsewhere."""
    if lane is f32lane:
        return where_f32(q, a)
    else:
        return where_f64(q, a)
