# Rows of numbers that lie apart, as vectors: number c of row l is number l of vector c.
#
# Rows are read whole and turned within registers, which takes a third of the work of reading each number on its own.
# Hardware's own gathers are no faster than that.

from libc.stdint cimport int32_t

from .vec cimport f32vec, f64vec, vec

cdef extern from *:
    """
    #include <stdint.h>
    #define KD_ROW(l) (rows + step * (int64_t)index[l])
    #if defined(KD_LANE_BYTES)
      #define KD_ROWS(result) static inline __attribute__((always_inline)) result
    #else
      #define KD_ROWS(result) static result
    #endif
    #if defined(KD_LANE_BYTES) && defined(__SSE2__)
      #if defined(__AVX512F__)
        #define KD_512(kind, a, b) \
            _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(KD_ROW(a))), _mm256_loadu_pd(KD_ROW(b)), 1)
        #define KD_128(a) _mm_loadu_ps(KD_ROW(a))
        #define KD_256(a, b) _mm256_insertf128_ps(_mm256_castps128_ps256(KD_128(a)), KD_128(b), 1)
        #define KD_FLOATS(a) _mm512_insertf32x8( \
            _mm512_castps256_ps512(KD_256(a, a + 4)), KD_256(a + 8, a + 12), 1)
        #define KD_LANES(name, type) _mm512_ ## name ## _ ## type
        #define kd_f64_in __m512d
        #define kd_f32_in __m512
      #elif defined(__AVX__)
        #define KD_FLOATS(a) _mm256_insertf128_ps( \
            _mm256_castps128_ps256(_mm_loadu_ps(KD_ROW(a))), _mm_loadu_ps(KD_ROW(a + 4)), 1)
        #define KD_LANES(name, type) _mm256_ ## name ## _ ## type
        #define kd_f64_in __m256d
        #define kd_f32_in __m256
      #else
        #define KD_FLOATS(a) _mm_loadu_ps(KD_ROW(a))
        #define KD_LANES(name, type) _mm_ ## name ## _ ## type
        #define kd_f64_in __m128d
        #define kd_f32_in __m128
      #endif
      #define KD_LOWER(type, a, b) KD_LANES(unpacklo, type)(a, b)
      #define KD_UPPER(type, a, b) KD_LANES(unpackhi, type)(a, b)
      KD_ROWS(void) kd_four_f64(const double *rows, long step, const int32_t *index, kd_f64 *q) {
        #if defined(__AVX512F__)
          const __m512d r0 = KD_512(pd, 0, 2), r1 = KD_512(pd, 1, 3), r2 = KD_512(pd, 4, 6), r3 = KD_512(pd, 5, 7);
          #define KD_EVEN(a, b) _mm512_shuffle_f64x2(a, b, 0x88)
          #define KD_ODD(a, b) _mm512_shuffle_f64x2(a, b, 0xdd)
        #elif defined(__AVX__)
          const __m256d r0 = _mm256_loadu_pd(KD_ROW(0)), r1 = _mm256_loadu_pd(KD_ROW(1));
          const __m256d r2 = _mm256_loadu_pd(KD_ROW(2)), r3 = _mm256_loadu_pd(KD_ROW(3));
          #define KD_EVEN(a, b) _mm256_permute2f128_pd(a, b, 0x20)
          #define KD_ODD(a, b) _mm256_permute2f128_pd(a, b, 0x31)
        #endif
        #if defined(__AVX__)
          const kd_f64_in t0 = KD_LOWER(pd, r0, r1), t1 = KD_UPPER(pd, r0, r1);
          const kd_f64_in t2 = KD_LOWER(pd, r2, r3), t3 = KD_UPPER(pd, r2, r3);
          q[0] = KD_EVEN(t0, t2);
          q[1] = KD_EVEN(t1, t3);
          q[2] = KD_ODD(t0, t2);
          q[3] = KD_ODD(t1, t3);
        #else
          const __m128d r0 = _mm_loadu_pd(KD_ROW(0)), r1 = _mm_loadu_pd(KD_ROW(1));
          const __m128d r2 = _mm_loadu_pd(KD_ROW(0) + 2), r3 = _mm_loadu_pd(KD_ROW(1) + 2);
          q[0] = KD_LOWER(pd, r0, r1);
          q[1] = KD_UPPER(pd, r0, r1);
          q[2] = KD_LOWER(pd, r2, r3);
          q[3] = KD_UPPER(pd, r2, r3);
        #endif
      }
      KD_ROWS(void) kd_four_f32(const float *rows, long step, const int32_t *index, kd_f32 *q) {
          const kd_f32_in r0 = KD_FLOATS(0), r1 = KD_FLOATS(1), r2 = KD_FLOATS(2), r3 = KD_FLOATS(3);
          const kd_f64_in t0 = (kd_f64_in)KD_LOWER(ps, r0, r1), t1 = (kd_f64_in)KD_UPPER(ps, r0, r1);
          const kd_f64_in t2 = (kd_f64_in)KD_LOWER(ps, r2, r3), t3 = (kd_f64_in)KD_UPPER(ps, r2, r3);
          q[0] = (kd_f32)KD_LOWER(pd, t0, t2);
          q[1] = (kd_f32)KD_UPPER(pd, t0, t2);
          q[2] = (kd_f32)KD_LOWER(pd, t1, t3);
          q[3] = (kd_f32)KD_UPPER(pd, t1, t3);
      }
      /* Two numbers of each row back. Row l of floats is half of a place of 16 bytes, row l of doubles is one. */
      #if defined(__AVX512F__)
        #define KD_XMM(q, n) _mm512_extractf64x2_pd((__m512d)(q), n)
      #elif defined(__AVX__)
        #define KD_XMM(q, n) _mm256_extractf128_pd((__m256d)(q), n)
      #else
        #define KD_XMM(q, n) ((__m128d)(q))
      #endif
      #define KD_PUT_DOUBLES(n) \
          _mm_storeu_pd(KD_ROW(2 * n), KD_XMM(low, n)); \
          _mm_storeu_pd(KD_ROW(2 * n + 1), KD_XMM(high, n));
      #define KD_PUT_FLOATS(n) { \
          const __m128d a = KD_XMM(low, n), b = KD_XMM(high, n); \
          _mm_storel_pd((double *)KD_ROW(4 * n), a); \
          _mm_storeh_pd((double *)KD_ROW(4 * n + 1), a); \
          _mm_storel_pd((double *)KD_ROW(4 * n + 2), b); \
          _mm_storeh_pd((double *)KD_ROW(4 * n + 3), b); }
      #if defined(__AVX512F__)
        #define KD_PUT_ALL(put) put(0) put(1) put(2) put(3)
      #elif defined(__AVX__)
        #define KD_PUT_ALL(put) put(0) put(1)
      #else
        #define KD_PUT_ALL(put) put(0)
      #endif
      /* All four numbers of each row back, by one store for each row that readers of whole rows do not wait for. */
      KD_ROWS(void) kd_put_four_f64(double *rows, long step, const int32_t *index, const kd_f64 *q) {
          const kd_f64_in t0 = KD_LOWER(pd, q[0], q[1]), t1 = KD_UPPER(pd, q[0], q[1]);
          const kd_f64_in t2 = KD_LOWER(pd, q[2], q[3]), t3 = KD_UPPER(pd, q[2], q[3]);
        #if defined(__AVX512F__)
          const __m512i lower = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
          const __m512i upper = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
          #define KD_PUT_ROWS(a, b, half, t, u) { \
              const __m512d r = _mm512_permutex2var_pd(t, half, u); \
              _mm256_storeu_pd(KD_ROW(a), _mm512_castpd512_pd256(r)); \
              _mm256_storeu_pd(KD_ROW(b), _mm512_extractf64x4_pd(r, 1)); }
          KD_PUT_ROWS(0, 2, lower, t0, t2)
          KD_PUT_ROWS(4, 6, upper, t0, t2)
          KD_PUT_ROWS(1, 3, lower, t1, t3)
          KD_PUT_ROWS(5, 7, upper, t1, t3)
        #elif defined(__AVX__)
          _mm256_storeu_pd(KD_ROW(0), KD_EVEN(t0, t2));
          _mm256_storeu_pd(KD_ROW(1), KD_EVEN(t1, t3));
          _mm256_storeu_pd(KD_ROW(2), KD_ODD(t0, t2));
          _mm256_storeu_pd(KD_ROW(3), KD_ODD(t1, t3));
        #else
          _mm_storeu_pd(KD_ROW(0), t0);
          _mm_storeu_pd(KD_ROW(0) + 2, t2);
          _mm_storeu_pd(KD_ROW(1), t1);
          _mm_storeu_pd(KD_ROW(1) + 2, t3);
        #endif
      }
      #define KD_PUT_FOURS(n) \
          _mm_storeu_pd((double *)KD_ROW(4 * n), KD_XMM(r0, n)); \
          _mm_storeu_pd((double *)KD_ROW(4 * n + 1), KD_XMM(r1, n)); \
          _mm_storeu_pd((double *)KD_ROW(4 * n + 2), KD_XMM(r2, n)); \
          _mm_storeu_pd((double *)KD_ROW(4 * n + 3), KD_XMM(r3, n));
      KD_ROWS(void) kd_put_four_f32(float *rows, long step, const int32_t *index, const kd_f32 *q) {
          const kd_f64_in t0 = (kd_f64_in)KD_LOWER(ps, q[0], q[1]), t1 = (kd_f64_in)KD_UPPER(ps, q[0], q[1]);
          const kd_f64_in t2 = (kd_f64_in)KD_LOWER(ps, q[2], q[3]), t3 = (kd_f64_in)KD_UPPER(ps, q[2], q[3]);
          const kd_f64_in r0 = KD_LOWER(pd, t0, t2), r1 = KD_UPPER(pd, t0, t2);
          const kd_f64_in r2 = KD_LOWER(pd, t1, t3), r3 = KD_UPPER(pd, t1, t3);
          KD_PUT_ALL(KD_PUT_FOURS)
      }
      KD_ROWS(void) kd_put_two_f64(double *rows, long step, const int32_t *index, kd_f64 a, kd_f64 b) {
          const kd_f64 low = KD_LOWER(pd, a, b), high = KD_UPPER(pd, a, b);
          KD_PUT_ALL(KD_PUT_DOUBLES)
      }
      KD_ROWS(void) kd_put_two_f32(float *rows, long step, const int32_t *index, kd_f32 a, kd_f32 b) {
          const kd_f32 low = KD_LOWER(ps, a, b), high = KD_UPPER(ps, a, b);
          KD_PUT_ALL(KD_PUT_FLOATS)
      }
    #elif defined(KD_LANE_BYTES)
      #define KD_FOUR(vec, number, suffix) \
        KD_ROWS(void) kd_four_ ## suffix(const number *rows, long step, const int32_t *index, vec *q) { \
            for (unsigned l = 0; l < sizeof q[0] / sizeof rows[0]; l++) \
                for (int c = 0; c < 4; c++) q[c][l] = KD_ROW(l)[c]; \
        } \
        KD_ROWS(void) kd_put_two_ ## suffix(number *rows, long step, const int32_t *index, vec a, vec b) { \
            for (unsigned l = 0; l < sizeof a / sizeof rows[0]; l++) KD_ROW(l)[0] = a[l], KD_ROW(l)[1] = b[l]; \
        } \
        KD_ROWS(void) kd_put_four_ ## suffix(number *rows, long step, const int32_t *index, const vec *q) { \
            for (unsigned l = 0; l < sizeof q[0] / sizeof rows[0]; l++) \
                for (int c = 0; c < 4; c++) KD_ROW(l)[c] = q[c][l]; \
        }
      KD_FOUR(kd_f32, float, f32)
      KD_FOUR(kd_f64, double, f64)
    #else
      #define KD_FOUR(number, suffix) \
        KD_ROWS(void) kd_four_ ## suffix(const number *rows, long step, const int32_t *index, number *q) { \
            for (int c = 0; c < 4; c++) q[c] = KD_ROW(0)[c]; \
        } \
        KD_ROWS(void) kd_put_two_ ## suffix(number *rows, long step, const int32_t *index, number a, number b) { \
            KD_ROW(0)[0] = a; \
            KD_ROW(0)[1] = b; \
        } \
        KD_ROWS(void) kd_put_four_ ## suffix(number *rows, long step, const int32_t *index, const number *q) { \
            for (int c = 0; c < 4; c++) KD_ROW(0)[c] = q[c]; \
        }
      KD_FOUR(float, f32)
      KD_FOUR(double, f64)
    #endif
    """
    void four_f32 "kd_four_f32"(const float*, long step, const int32_t* index, f32vec* q) noexcept nogil
    void four_f64 "kd_four_f64"(const double*, long step, const int32_t* index, f64vec* q) noexcept nogil
    void put_two_f32 "kd_put_two_f32"(float*, long step, const int32_t* index, f32vec a, f32vec b) noexcept nogil
    void put_two_f64 "kd_put_two_f64"(double*, long step, const int32_t* index, f64vec a, f64vec b) noexcept nogil
    void put_four_f32 "kd_put_four_f32"(float*, long step, const int32_t* index, const f32vec* q) noexcept nogil
    void put_four_f64 "kd_put_four_f64"(double*, long step, const int32_t* index, const f64vec* q) noexcept nogil


cdef inline void gather_four(
    const void* rows, Py_ssize_t first, long step, const int32_t* index, vec* q,
) noexcept nogil:
    """Four numbers of each row, from number `first` on; step: numbers from row to row, of which `index` says which."""
    if vec is f32vec:
        four_f32(<const float*> rows + first, step, index, q)
    else:
        four_f64(<const double*> rows + first, step, index, q)


cdef inline void scatter_two(
    void* rows, Py_ssize_t first, long step, const int32_t* index, const vec* q,
) noexcept nogil:
    """Two numbers of each row, back. No row is there twice, but for those that nobody reads."""
    if vec is f32vec:
        put_two_f32(<float*> rows + first, step, index, q[0], q[1])
    else:
        put_two_f64(<double*> rows + first, step, index, q[0], q[1])


cdef inline void put_back(
    int count, void* rows, Py_ssize_t first, Py_ssize_t lane, const vec* q,
) noexcept nogil:
    """The first numbers of a single row, from one lane of vectors."""
    cdef int c
    for c in range(count):
        if vec is f32vec:
            (<float*> rows)[first + c] = (<const float*> &q[c])[lane]
        else:
            (<double*> rows)[first + c] = (<const double*> &q[c])[lane]
