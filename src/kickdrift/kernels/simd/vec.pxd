# A vector holds as many numbers as one register of the instruction set; operations act on all lanes.
#
# Cython sees vectors as plain numbers and writes ordinary C expressions. The compiler gives them their vector
# meaning (vector extensions of GCC and Clang), so that one formula serves every width and stays in registers.
# Without the extension (MSVC), or with KICKDRIFT_SCALAR, a vector is one number.
#
# Vectors need no more alignment than their numbers.

# Square roots have no C operator, and are named functions. So are comparisons and select, in masks.pxd.

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <math.h>  /* below: vector types, square roots, partial loads and stores, broadcasts */
    #if (defined(__GNUC__) || defined(__clang__)) && !defined(KICKDRIFT_SCALAR)  /* clang-cl does not define __GNUC__ */
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
      /* Load or store the first `count` numbers of a vector, zeros after them; count may be < 0 or > width. */
      #define KD_WIDTH(q) ((long)(sizeof(q) / sizeof((q)[0])))
      #define KD_CLAMP(count, width) ((count) < 0 ? 0 : (count) > (width) ? (width) : (count))
      #if defined(__AVX512F__)
        #define KD_MASK(q, count) ((1u << KD_CLAMP(count, KD_WIDTH(q))) - 1)
        #define KD_LOAD(type, p, mask) _mm512_maskz_loadu_ ## type(mask, p)
        #define KD_STORE(type, p, mask, q) _mm512_mask_storeu_ ## type(p, mask, q)
      #elif defined(__AVX2__)
        #define KD_MASK(q, count) (sizeof((q)[0]) == 4 \
            ? _mm256_cmpgt_epi32( \
                _mm256_set1_epi32((int)KD_CLAMP(count, 8)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)) \
            : _mm256_cmpgt_epi64(_mm256_set1_epi64x(KD_CLAMP(count, 4)), _mm256_setr_epi64x(0, 1, 2, 3)))
        #define KD_LOAD(type, p, mask) _mm256_maskload_ ## type(p, mask)
        #define KD_STORE(type, p, mask, q) _mm256_maskstore_ ## type(p, mask, q)
      #endif
      #define KD_PART(vec, number, suffix, type) \
        static inline __attribute__((always_inline)) vec kd_load_ ## suffix(const number *p, long count) { \
            vec q = {0}; \
            KD_LOAD_PART(vec, type) \
            return q; \
        } \
        static inline __attribute__((always_inline)) void kd_store_ ## suffix(number *p, long count, vec q) { \
            KD_STORE_PART(type) \
        }
      #if defined(KD_LOAD)
        #define KD_LOAD_PART(vec, type) q = (vec)KD_LOAD(type, p, KD_MASK(q, count));
        #define KD_STORE_PART(type) KD_STORE(type, p, KD_MASK(q, count), q);
      #else
        #define KD_LOAD_PART(vec, type) \
            if (count >= KD_WIDTH(q)) q = *(const vec *)p; \
            else for (int i = 0; i < KD_WIDTH(q); i++) if (i < count) q[i] = p[i];
        #define KD_STORE_PART(type) \
            if (count >= KD_WIDTH(q)) *(__typeof__(q) *)p = q; \
            else for (int i = 0; i < KD_WIDTH(q); i++) if (i < count) p[i] = q[i];
      #endif
      KD_PART(kd_f32, float, f32, ps)
      KD_PART(kd_f64, double, f64, pd)
      #define kd_spread_f32(a) ((a) - (kd_f32){0})  /* a - 0 keeps every bit of a, also the sign of -0 */
      #define kd_spread_f64(a) ((a) - (kd_f64){0})
    #else
      typedef float kd_f32;
      typedef double kd_f64;
      static kd_f32 kd_load_f32(const float *p, long count) { return count > 0 ? *p : 0; }
      static kd_f64 kd_load_f64(const double *p, long count) { return count > 0 ? *p : 0; }
      static void kd_store_f32(float *p, long count, kd_f32 q) { if (count > 0) *p = q; }
      static void kd_store_f64(double *p, long count, kd_f64 q) { if (count > 0) *p = q; }
      #define kd_root_f32 sqrtf
      #define kd_root_f64 sqrt
      #define kd_spread_f32(a) (a)
      #define kd_spread_f64(a) (a)
    #endif
    typedef kd_f32 *__restrict kd_f32_alone;
    typedef kd_f64 *__restrict kd_f64_alone;
    #if defined(__GNUC__) || defined(__clang__)
      #define kd_forget() __asm__ volatile("" ::: "memory")
      #define kd_prefetch(place) __builtin_prefetch(place, 1)
      static inline const char *kd_opaque(const char *place) { __asm__("" : "+r"(place)); return place; }
    #else
      #define kd_forget()
      #define kd_prefetch(place)
      #define kd_opaque(place) (place)
    #endif
    #if defined(__AVX512F__) || defined(__aarch64__)
      #define KD_WIDE 12    /* 32 vector registers */
      #define KD_MEDIUM 6
      #define KD_NARROW 6
    #else
      #define KD_WIDE 6     /* 16 vector registers */
      #define KD_MEDIUM 4
      #define KD_NARROW 3
    #endif
    """
    ctypedef float f32vec "kd_f32"
    ctypedef double f64vec "kd_f64"
    # restrict pointers: stores through them cannot change coefficients in memory, which then stay in registers
    ctypedef f32vec* f32alone "kd_f32_alone"
    ctypedef f64vec* f64alone "kd_f64_alone"
    f32vec root_f32 "kd_root_f32"(f32vec) noexcept nogil
    f64vec root_f64 "kd_root_f64"(f64vec) noexcept nogil
    # Load or store only the first `count` numbers of a vector; loads set the other lanes to zero
    f32vec load_f32 "kd_load_f32"(const float*, long count) noexcept nogil
    f64vec load_f64 "kd_load_f64"(const double*, long count) noexcept nogil
    void store_f32 "kd_store_f32"(float*, long count, f32vec) noexcept nogil
    void store_f64 "kd_store_f64"(double*, long count, f64vec) noexcept nogil
    # Broadcast
    f32vec spread_f32 "kd_spread_f32"(float) noexcept nogil
    f64vec spread_f64 "kd_spread_f64"(double) noexcept nogil
    # Compiler barrier: reload from memory. Otherwise compilers hoist more coefficients out of loops than registers
    # hold, and spill the state instead.
    void forget "kd_forget"() noexcept nogil
    # Prefetch for writing
    void prefetch "kd_prefetch"(const char* place) noexcept nogil
    # Hide the origin of a pointer from the compiler. If it knows that several pointers advance together, it computes
    # an address for each element of an unrolled loop, and spills these.
    const char* opaque "kd_opaque"(const char* place) noexcept nogil
    # Unroll factors: numbers of vectors that a loop steps at once, to hide the latency of additions. WIDE: for schemes
    # that need few registers beside x and v; NARROW: for those that need many.
    enum:
        WIDE "KD_WIDE"
        MEDIUM "KD_MEDIUM"
        NARROW "KD_NARROW"

ctypedef fused vec:
    f32vec
    f64vec

ctypedef fused alone:
    f32alone
    f64alone

ctypedef fused real:
    float
    double


cdef inline Py_ssize_t width(const vec* like) noexcept nogil:
    """Number of lanes of a vec; `like` only selects the type."""
    if vec is f32vec:
        return sizeof(f32vec) // sizeof(float)
    else:
        return sizeof(f64vec) // sizeof(double)


cdef inline vec vec_root(vec q) noexcept nogil:
    if vec is f32vec:
        return root_f32(q)
    else:
        return root_f64(q)


cdef inline vec spread(const void* numbers, Py_ssize_t i, const vec* like) noexcept nogil:
    """Broadcast numbers[i]; `like` only selects the type."""
    if vec is f32vec:
        return spread_f32((<const float*> numbers)[i])
    else:
        return spread_f64((<const double*> numbers)[i])


cdef inline vec filled(double number, const vec* like) noexcept nogil:
    """Broadcast a number; `like` only selects the type."""
    if vec is f32vec:
        return spread_f32(<float> number)
    else:
        return spread_f64(number)


cdef inline vec product(int dim, const vec* u, const vec* v) noexcept nogil:
    """Dot product of two vectors per lane. Unrolled, so that components stay in registers."""
    cdef vec total = u[0] * v[0]
    if dim > 1:
        total = total + u[1] * v[1]
    if dim > 2:
        total = total + u[2] * v[2]
    return total


cdef inline void load_part(vec* to, const char* place, Py_ssize_t count) noexcept nogil:
    """Load the first `count` numbers of a vector, zeros after them."""
    if vec is f32vec:
        to[0] = load_f32(<const float*> place, count)
    else:
        to[0] = load_f64(<const double*> place, count)


cdef inline void store_part(const vec* source, char* place, Py_ssize_t count) noexcept nogil:
    if vec is f32vec:
        store_f32(<float*> place, count, source[0])
    else:
        store_f64(<double*> place, count, source[0])


cdef inline double lane_of(const vec* numbers, int64_t lane) noexcept nogil:
    """Return one number of a vector, or of an array of vectors."""
    if vec is f32vec:
        return (<const float*> numbers)[lane]
    else:
        return (<const double*> numbers)[lane]


cdef inline void set_lane(vec* to, int64_t lane, double number) noexcept nogil:
    if vec is f32vec:
        (<float*> to)[lane] = <float> number
    else:
        (<double*> to)[lane] = number
