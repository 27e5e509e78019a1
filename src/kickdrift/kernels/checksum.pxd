# 64-bit digest of an array: the sum over all numbers of their bits mixed with their index.
#
# A sum does not depend on order, so that all layouts, vector widths and thread counts give the same digest. -0 counts
# as 0, and all NaNs as one. Same as kickdrift/reference/checksum.py.

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from .simd.bits cimport i64vec  # unused, but it includes the C types of bits.pxd
from .simd.vec cimport real
from .abi.plan cimport Array

cdef extern from *:
    """
    /* 2**64 / golden ratio, odd: an irregular sequence of keys */
    #define KD_PLACE 0x9E3779B97F4A7C15ull
    #define KD_NAN 0x7FF8000000000000ull
    #if defined(KD_LANE_BYTES)
      #define KD_DIGESTED (KD_LANE_BYTES / 2)    /* numbers per iteration: four vectors, whose latencies overlap */
      typedef uint32_t kd_u32 __attribute__((vector_size(KD_LANE_BYTES / 2), aligned(4), may_alias));
      typedef int32_t kd_i32 __attribute__((vector_size(KD_LANE_BYTES / 2), aligned(4), may_alias));
      #if defined(__AVX512F__)
        #define KD_HALVES(k) ((kd_u64)_mm512_mul_epu32((__m512i)(k), (__m512i)((k) >> 32)))
      #elif defined(__AVX2__)
        #define KD_HALVES(k) ((kd_u64)_mm256_mul_epu32((__m256i)(k), (__m256i)((k) >> 32)))
      #elif defined(__SSE2__) && !defined(__AVX__)
        #define KD_HALVES(k) ((kd_u64)_mm_mul_epu32((__m128i)(k), (__m128i)((k) >> 32)))
      #else
        #define KD_HALVES(k) (((k) & 0xFFFFFFFFull) * ((k) >> 32))
      #endif
      static inline kd_u64 kd_bits_f64(const double *p) {
          kd_f64 q = *(const kd_f64 *)p + 0.0;
          kd_u64 right = (kd_u64)(q == q);
          return ((kd_u64)q & right) | (~right & KD_NAN);
      }
      static inline kd_u64 kd_bits_f32(const float *p) {
          kd_half q = *(const kd_half *)p + 0.0f;
          kd_u64 right = (kd_u64)__builtin_convertvector((kd_i32)(q == q), kd_i64);
          return (__builtin_convertvector((kd_u32)q, kd_u64) & right) | (~right & KD_NAN);
      }
      #define KD_DIGEST(number, bits_of) \
          const int lanes = KD_LANE_BYTES / 8; \
          kd_u64 keys[4], total[4], far = (kd_u64){0} + 4 * (uint64_t)lanes * step; \
          uint64_t sum = 0; \
          for (int i = 0; i < 4; i++) { \
              total[i] = (kd_u64){0}; \
              for (int j = 0; j < lanes; j++) keys[i][j] = key + (uint64_t)(i * lanes + j) * step; \
          } \
          for (; count >= KD_DIGESTED; count -= KD_DIGESTED, p += KD_DIGESTED) { \
              _Pragma("GCC unroll 4") \
              for (int i = 0; i < 4; i++) { \
                  kd_u64 u = bits_of(p + i * lanes), k = u ^ keys[i]; \
                  total[i] += u + KD_HALVES(k); \
                  keys[i] += far; \
              } \
          } \
          total[0] = (total[0] + total[1]) + (total[2] + total[3]); \
          for (int j = 0; j < lanes; j++) sum += total[0][j]; \
          return sum;
      static uint64_t kd_digest_f64(const double *p, Py_ssize_t count, uint64_t key, uint64_t step) {
          KD_DIGEST(double, kd_bits_f64)
      }
      static uint64_t kd_digest_f32(const float *p, Py_ssize_t count, uint64_t key, uint64_t step) {
          KD_DIGEST(float, kd_bits_f32)
      }
    #else
      #define KD_DIGESTED 1
      #define kd_digest_f64(p, count, key, step) 0
      #define kd_digest_f32(p, count, key, step) 0
    #endif
    """
    const uint64_t KD_PLACE, KD_NAN
    const Py_ssize_t KD_DIGESTED    # numbers per iteration of the vector version; 1: there is no vector version
    uint64_t kd_digest_f64(const double*, Py_ssize_t count, uint64_t key, uint64_t step) noexcept nogil
    uint64_t kd_digest_f32(const float*, Py_ssize_t count, uint64_t key, uint64_t step) noexcept nogil


cdef inline uint64_t bits(real number) noexcept nogil:
    cdef uint32_t single = 0
    cdef uint64_t result = 0
    number = number + <real> 0  # -0 + 0 is 0
    if real is float:
        memcpy(&single, &number, sizeof(single))
        result = single
    else:
        memcpy(&result, &number, sizeof(result))
    return result if number == number else KD_NAN


cdef inline uint64_t mixed(uint64_t u, uint64_t key) noexcept nogil:
    """Mix a number with the key of its index. Only 32-bit halves are multiplied: that is fast on every processor."""
    key = u ^ key
    return u + <uint64_t> (<uint32_t> key) * (key >> 32)


cdef inline uint64_t digest_row(const real* numbers, Py_ssize_t count, uint64_t key, uint64_t step) noexcept nogil:
    """Digest a contiguous row. key: key of the first number; step: from the key of one number to the next."""
    cdef uint64_t total = 0
    cdef Py_ssize_t i
    cdef Py_ssize_t together = count - count % KD_DIGESTED if KD_DIGESTED > 1 else 0
    if together > 0:
        if real is float:
            total = kd_digest_f32(numbers, together, key, step)
        else:
            total = kd_digest_f64(numbers, together, key, step)
        key += <uint64_t> together * step
    for i in range(together, count):
        total += mixed(bits(numbers[i]), key)
        key += step     # not index * KD_PLACE: 64-bit products are slow
    return total


cdef inline uint64_t digest(const Array* array, Py_ssize_t n, int dim, uint64_t place, const real* like) noexcept nogil:
    """The digest of (n, dim) numbers whose first has index `place`; `like` only selects the type."""
    cdef uint64_t total = 0
    cdef Py_ssize_t i
    cdef int j
    cdef const char* row
    cdef uint64_t key
    if array.component == sizeof(real) and array.body == dim * <Py_ssize_t> sizeof(real):
        return digest_row(<const real*> array.data, n * dim, place * KD_PLACE, KD_PLACE)
    for j in range(dim):
        row = array.data + j * array.component
        key = (place + <uint64_t> j) * KD_PLACE
        if array.body == sizeof(real):
            total += digest_row(<const real*> row, n, key, <uint64_t> dim * KD_PLACE)
            continue
        for i in range(n):
            total += mixed(bits((<const real*> (row + i * array.body))[0]), key)
            key += <uint64_t> dim * KD_PLACE
    return total
