# Gather and scatter of rows: number c of row l is lane l of vector c.
#
# Rows are loaded whole and transposed in registers, which takes a third of the time of scalar loads.
# Tried: hardware gather instructions, which are no faster than scalar loads.

from libc.stdint cimport int32_t

from .vec cimport f32vec, f64vec, lane_of, set_lane, vec, width
from .bits cimport i64vec  # unused, but it includes the C types of bits.pxd


cdef extern from *:
    """
    #include <stdint.h>  /* below: gather, scatter and transpose rows, for each instruction set */
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
      KD_ROWS(void) kd_read_f64(const double *rows, long step, const int32_t *index, kd_f64 *r) {
        #if defined(__AVX512F__)
          r[0] = KD_512(pd, 0, 2), r[1] = KD_512(pd, 1, 3), r[2] = KD_512(pd, 4, 6), r[3] = KD_512(pd, 5, 7);
        #elif defined(__AVX__)
          r[0] = _mm256_loadu_pd(KD_ROW(0)), r[1] = _mm256_loadu_pd(KD_ROW(1));
          r[2] = _mm256_loadu_pd(KD_ROW(2)), r[3] = _mm256_loadu_pd(KD_ROW(3));
        #else
          r[0] = _mm_loadu_pd(KD_ROW(0)), r[1] = _mm_loadu_pd(KD_ROW(1));
          r[2] = _mm_loadu_pd(KD_ROW(0) + 2), r[3] = _mm_loadu_pd(KD_ROW(1) + 2);
        #endif
      }
      KD_ROWS(void) kd_turn_f64(const kd_f64 *r, kd_f64 *q) {
        #if defined(__AVX__)
          const kd_f64_in t0 = KD_LOWER(pd, r[0], r[1]), t1 = KD_UPPER(pd, r[0], r[1]);
          const kd_f64_in t2 = KD_LOWER(pd, r[2], r[3]), t3 = KD_UPPER(pd, r[2], r[3]);
          #if defined(__AVX512F__)
            #define KD_EVEN(a, b) _mm512_shuffle_f64x2(a, b, 0x88)
            #define KD_ODD(a, b) _mm512_shuffle_f64x2(a, b, 0xdd)
          #else
            #define KD_EVEN(a, b) _mm256_permute2f128_pd(a, b, 0x20)
            #define KD_ODD(a, b) _mm256_permute2f128_pd(a, b, 0x31)
          #endif
          q[0] = KD_EVEN(t0, t2);
          q[1] = KD_EVEN(t1, t3);
          q[2] = KD_ODD(t0, t2);
          q[3] = KD_ODD(t1, t3);
        #else
          q[0] = KD_LOWER(pd, r[0], r[1]);
          q[1] = KD_UPPER(pd, r[0], r[1]);
          q[2] = KD_LOWER(pd, r[2], r[3]);
          q[3] = KD_UPPER(pd, r[2], r[3]);
        #endif
      }
      KD_ROWS(void) kd_read_f32(const float *rows, long step, const int32_t *index, kd_f32 *r) {
          r[0] = KD_FLOATS(0), r[1] = KD_FLOATS(1), r[2] = KD_FLOATS(2), r[3] = KD_FLOATS(3);
      }
      KD_ROWS(void) kd_turn_f32(const kd_f32 *r, kd_f32 *q) {
          const kd_f64_in t0 = (kd_f64_in)KD_LOWER(ps, r[0], r[1]), t1 = (kd_f64_in)KD_UPPER(ps, r[0], r[1]);
          const kd_f64_in t2 = (kd_f64_in)KD_LOWER(ps, r[2], r[3]), t3 = (kd_f64_in)KD_UPPER(ps, r[2], r[3]);
          q[0] = (kd_f32)KD_LOWER(pd, t0, t2);
          q[1] = (kd_f32)KD_UPPER(pd, t0, t2);
          q[2] = (kd_f32)KD_LOWER(pd, t1, t3);
          q[3] = (kd_f32)KD_UPPER(pd, t1, t3);
      }
      #define KD_READ(vec, number, suffix) \
        KD_ROWS(void) kd_four_ ## suffix(const number *rows, long step, const int32_t *index, vec *q) { \
            vec r[4]; \
            kd_read_ ## suffix(rows, step, index, r); \
            kd_turn_ ## suffix(r, q); \
        } \
        KD_ROWS(void) kd_displacements_ ## suffix( \
            const number *rows, const int32_t *first, const int32_t *second, vec *q \
        ) { \
            vec a[4], b[4]; \
            kd_read_ ## suffix(rows, 1, first, a); \
            kd_read_ ## suffix(rows, 1, second, b); \
            for (int k = 0; k < 4; k++) b[k] = b[k] - a[k]; \
            kd_turn_ ## suffix(b, q); \
        }
      KD_READ(kd_f32, float, f32)
      KD_READ(kd_f64, double, f64)
      /* Scatter two numbers to each row: 8 bytes of floats, 16 bytes of doubles. */
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
      /* Transpose columns to contiguous rows. */
      KD_ROWS(void) kd_lay_f64(double *rows, const kd_f64 *q) {
          const kd_f64_in t0 = KD_LOWER(pd, q[0], q[1]), t1 = KD_UPPER(pd, q[0], q[1]);
          const kd_f64_in t2 = KD_LOWER(pd, q[2], q[3]), t3 = KD_UPPER(pd, q[2], q[3]);
          #define KD_LAY(n) \
              _mm_storeu_pd(rows + 8 * n, KD_XMM(t0, n)); \
              _mm_storeu_pd(rows + 8 * n + 2, KD_XMM(t2, n)); \
              _mm_storeu_pd(rows + 8 * n + 4, KD_XMM(t1, n)); \
              _mm_storeu_pd(rows + 8 * n + 6, KD_XMM(t3, n));
          KD_PUT_ALL(KD_LAY)
      }
      KD_ROWS(void) kd_lay_f32(float *rows, const kd_f32 *q) {
          kd_f32 r[4];
          kd_turn_f32(q, r);
          #define KD_LAY_FLOATS(n) \
              for (int k = 0; k < 4; k++) _mm_storeu_pd((double *)(rows + 16 * n + 4 * k), KD_XMM(r[k], n));
          KD_PUT_ALL(KD_LAY_FLOATS)
      }
      /* Scatter four numbers to each row: half as many stores as two scatters of two numbers. */
      #if defined(__AVX512F__)
        #define KD_MIX(a, b, ...) _mm512_permutex2var_pd(a, _mm512_setr_epi64(__VA_ARGS__), b)
        #define KD_LOW(a, b) KD_MIX(a, b, 0, 1, 8, 9, 2, 3, 10, 11)
        #define KD_HIGH(a, b) KD_MIX(a, b, 4, 5, 12, 13, 6, 7, 14, 15)
        #define KD_HALF 4
        #define KD_PUT_ROWS(q, l) \
            _mm256_storeu_pd(KD_ROW(l), _mm512_castpd512_pd256(q)); \
            _mm256_storeu_pd(KD_ROW(l + 2), _mm512_extractf64x4_pd(q, 1));
      #elif defined(__AVX__)
        #define KD_LOW(a, b) _mm256_permute2f128_pd(a, b, 0x20)
        #define KD_HIGH(a, b) _mm256_permute2f128_pd(a, b, 0x31)
        #define KD_HALF 2
        #define KD_PUT_ROWS(q, l) _mm256_storeu_pd(KD_ROW(l), q);
      #endif
      KD_ROWS(void) kd_put_four_f64(double *rows, long step, const int32_t *index, const kd_f64 *q) {
        #if defined(__AVX__)
          #define KD_PUT_HALVES(halves, first) { \
              const kd_f64_in even = halves(q[0], q[2]), odd = halves(q[1], q[3]); \
              const kd_f64_in r = KD_LOWER(pd, even, odd), t = KD_UPPER(pd, even, odd); \
              KD_PUT_ROWS(r, first) \
              KD_PUT_ROWS(t, first + 1) }
          KD_PUT_HALVES(KD_LOW, 0)
          KD_PUT_HALVES(KD_HIGH, KD_HALF)
        #else
          for (int c = 0; c < 4; c += 2) {
              _mm_storeu_pd(KD_ROW(0) + c, KD_LOWER(pd, q[c], q[c + 1]));
              _mm_storeu_pd(KD_ROW(1) + c, KD_UPPER(pd, q[c], q[c + 1]));
          }
        #endif
      }
      KD_ROWS(void) kd_put_four_f32(float *rows, long step, const int32_t *index, const kd_f32 *q) {
          kd_f32 r[4];
          kd_turn_f32(q, r);
          #define KD_PUT_LANES(n) \
              for (int k = 0; k < 4; k++) _mm_storeu_pd((double *)KD_ROW(4 * n + k), KD_XMM(r[k], n));
          KD_PUT_ALL(KD_PUT_LANES)
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
        KD_ROWS(void) kd_put_four_ ## suffix(number *rows, long step, const int32_t *index, const vec *q) { \
            for (unsigned l = 0; l < sizeof q[0] / sizeof rows[0]; l++) \
                for (int c = 0; c < 4; c++) KD_ROW(l)[c] = q[c][l]; \
        } \
        KD_ROWS(void) kd_put_two_ ## suffix(number *rows, long step, const int32_t *index, vec a, vec b) { \
            for (unsigned l = 0; l < sizeof a / sizeof rows[0]; l++) KD_ROW(l)[0] = a[l], KD_ROW(l)[1] = b[l]; \
        } \
        KD_ROWS(void) kd_displacements_ ## suffix( \
            const number *rows, const int32_t *first, const int32_t *second, vec *q) { \
            for (unsigned l = 0; l < sizeof q[0] / sizeof rows[0]; l++) \
                for (int c = 0; c < 4; c++) q[c][l] = rows[second[l] + c] - rows[first[l] + c]; \
        } \
        KD_ROWS(void) kd_lay_ ## suffix(number *rows, const vec *q) { \
            for (unsigned l = 0; l < sizeof q[0] / sizeof rows[0]; l++) \
                for (int c = 0; c < 4; c++) rows[4 * l + c] = q[c][l]; \
        }
      KD_FOUR(kd_f32, float, f32)
      KD_FOUR(kd_f64, double, f64)
    #else
      #define KD_FOUR(number, suffix) \
        KD_ROWS(void) kd_four_ ## suffix(const number *rows, long step, const int32_t *index, number *q) { \
            for (int c = 0; c < 4; c++) q[c] = KD_ROW(0)[c]; \
        } \
        KD_ROWS(void) kd_put_four_ ## suffix(number *rows, long step, const int32_t *index, const number *q) { \
            for (int c = 0; c < 4; c++) KD_ROW(0)[c] = q[c]; \
        } \
        KD_ROWS(void) kd_put_two_ ## suffix(number *rows, long step, const int32_t *index, number a, number b) { \
            KD_ROW(0)[0] = a; \
            KD_ROW(0)[1] = b; \
        } \
        KD_ROWS(void) kd_displacements_ ## suffix( \
            const number *rows, const int32_t *first, const int32_t *second, number *q \
        ) { \
            for (int c = 0; c < 4; c++) q[c] = rows[*second + c] - rows[*first + c]; \
        } \
        KD_ROWS(void) kd_lay_ ## suffix(number *rows, const number *q) { \
            for (int c = 0; c < 4; c++) rows[c] = q[c]; \
        }
      KD_FOUR(float, f32)
      KD_FOUR(double, f64)
    #endif
    /* Add to_first * change to each first row, subtract to_second * change from each second: four numbers at once. */
    #if defined(KD_LANE_BYTES)
      typedef float kd_row_f32 __attribute__((vector_size(16), aligned(4), may_alias));
      typedef double kd_row_f64 __attribute__((vector_size(32), aligned(8), may_alias));
      #define KD_SHARE(number, suffix, change) { \
          kd_row_ ## suffix *const a = (kd_row_ ## suffix *)(rows + first[l]); \
          kd_row_ ## suffix *const b = (kd_row_ ## suffix *)(rows + second[l]); \
          const kd_row_ ## suffix p = *a, q = *b, d = change(kd_row_ ## suffix); \
          *a = p + to_first[l] * d; \
          *b = q - to_second[l] * d; }
      #define KD_SHRUNK(row) (share[l] * (q - p))
      #define KD_LAID(row) (*(const row *)(change + 4 * l))
    #else
      #define KD_SHARE(number, suffix, change) \
          for (int c = 0; c < 4; c++) { \
              const number p = rows[first[l] + c], q = rows[second[l] + c], d = change(number); \
              rows[first[l] + c] = p + to_first[l] * d; \
              rows[second[l] + c] = q - to_second[l] * d; }
      #define KD_SHRUNK(number) (share[l] * (q - p))
      #define KD_LAID(number) change[4 * l + c]
    #endif
    #if defined(__GNUC__) && !defined(__clang__)
      #define KD_KEPT_SHORT _Pragma("GCC unroll 1")
    #else
      #define KD_KEPT_SHORT
    #endif
    #define KD_ROWS_OF_PAIRS(number, suffix) \
      KD_ROWS(void) kd_shrink_ ## suffix( \
          number *rows, const int32_t *first, const int32_t *second, const number *share, const number *to_first, \
          const number *to_second, long count \
      ) { \
          KD_KEPT_SHORT \
          for (long l = 0; l < count; l++) KD_SHARE(number, suffix, KD_SHRUNK) \
      } \
      KD_ROWS(void) kd_part_ ## suffix( \
          number *rows, const int32_t *first, const int32_t *second, const number *change, const number *to_first, \
          const number *to_second, long count \
      ) { \
          KD_KEPT_SHORT \
          for (long l = 0; l < count; l++) KD_SHARE(number, suffix, KD_LAID) \
      }
    KD_ROWS_OF_PAIRS(float, f32)
    KD_ROWS_OF_PAIRS(double, f64)
    """
    void four_f32 "kd_four_f32"(const float*, long step, const int32_t* index, f32vec* q) noexcept nogil
    void four_f64 "kd_four_f64"(const double*, long step, const int32_t* index, f64vec* q) noexcept nogil
    void put_four_f32 "kd_put_four_f32"(float*, long step, const int32_t* index, const f32vec* q) noexcept nogil
    void put_four_f64 "kd_put_four_f64"(double*, long step, const int32_t* index, const f64vec* q) noexcept nogil
    void put_two_f32 "kd_put_two_f32"(float*, long step, const int32_t* index, f32vec a, f32vec b) noexcept nogil
    void put_two_f64 "kd_put_two_f64"(double*, long step, const int32_t* index, f64vec a, f64vec b) noexcept nogil
    # The functions below act on pairs of rows of four numbers; `first` and `second` are row offsets, in numbers.
    void displacements_f32 "kd_displacements_f32"(const float*, const int32_t* first, const int32_t* second,
    f32vec* q) noexcept nogil
    void displacements_f64 "kd_displacements_f64"(const double*, const int32_t* first, const int32_t* second,
    f64vec* q) noexcept nogil
    void lay_f32 "kd_lay_f32"(float* rows, const f32vec* q) noexcept nogil
    void lay_f64 "kd_lay_f64"(double* rows, const f64vec* q) noexcept nogil
    void shrink_f32 "kd_shrink_f32"(
        float*, const int32_t* first, const int32_t* second, const float* share, const float*, const float*, long count,
    ) noexcept nogil
    void shrink_f64 "kd_shrink_f64"(
        double*, const int32_t* first, const int32_t* second, const double* share, const double*, const double*,
        long count,
    ) noexcept nogil
    void part_f32 "kd_part_f32"(
        float*, const int32_t* first, const int32_t* second, const float* change, const float*, const float*,
        long count,
    ) noexcept nogil
    void part_f64 "kd_part_f64"(
        double*, const int32_t* first, const int32_t* second, const double* change, const double*, const double*,
        long count,
    ) noexcept nogil


cdef inline void gather_four(
    const void* rows, Py_ssize_t first, long step, const int32_t* index, vec* q,
) noexcept nogil:
    """Gather numbers first to first + 3 of each row index[l]; step: numbers from one row to the next."""
    if vec is f32vec:
        four_f32(<const float*> rows + first, step, index, q)
    else:
        four_f64(<const double*> rows + first, step, index, q)


cdef inline void scatter_four(void* rows, long step, const int32_t* index, const vec* q) noexcept nogil:
    """Store lane l of four vectors as the first four numbers of row index[l]. Indices of rows in use must differ."""
    if vec is f32vec:
        put_four_f32(<float*> rows, step, index, q)
    else:
        put_four_f64(<double*> rows, step, index, q)


cdef inline void scatter_two(
    void* rows, Py_ssize_t first, long step, const int32_t* index, const vec* q,
) noexcept nogil:
    """Store lane l of two vectors as numbers `first` and `first` + 1 of row index[l]. Indices in use must differ."""
    if vec is f32vec:
        put_two_f32(<float*> rows + first, step, index, q[0], q[1])
    else:
        put_two_f64(<double*> rows + first, step, index, q[0], q[1])


cdef inline void put_back(int count, void* rows, Py_ssize_t first, Py_ssize_t lane, const vec* q) noexcept nogil:
    """Store one lane of `count` vectors as numbers `first` and following of a single row."""
    cdef int c
    for c in range(count):
        set_lane(<vec*> rows, first + c, lane_of(&q[c], lane))


cdef inline void shrink_displacements(
    void* rows, const int32_t* first, const int32_t* second, const vec* share, const void* to_first,
    const void* to_second, long count,
) noexcept nogil:
    """Move both bodies of each pair toward each other by a share of their separation. No two pairs may share a body."""
    if vec is f32vec:
        shrink_f32(
            <float*> rows, first, second, <const float*> share, <const float*> to_first, <const float*> to_second,
            count,
        )
    else:
        shrink_f64(
            <double*> rows, first, second, <const double*> share, <const double*> to_first, <const double*> to_second,
            count,
        )


cdef inline void change_displacements(
    void* rows, const int32_t* first, const int32_t* second, const vec* change, const void* to_first,
    const void* to_second, long count,
) noexcept nogil:
    """Add to_first * change to the first body of each pair, and subtract to_second * change from the second.

    change: one row of four numbers per pair. No two pairs may share a body.
    """
    if vec is f32vec:
        part_f32(
            <float*> rows, first, second, <const float*> change, <const float*> to_first, <const float*> to_second,
            count,
        )
    else:
        part_f64(
            <double*> rows, first, second, <const double*> change, <const double*> to_first, <const double*> to_second,
            count,
        )


# Transpose w vectors of w numbers.
#
# Number c of row r has the index r w + c. Interleaving rows r and r + w/2 gives rows 2 r and 2 r + 1, which rotates
# the bits of the index left by one. After log2(w) rounds r and c have changed places.


cdef extern from *:
    """
    #if defined(KD_LANE_BYTES)  /* interleave the lower or upper halves of two vectors of doubles */
      #if KD_LANE_BYTES == 64
        #define KD_ZIP_LOWER 0, 8, 1, 9, 2, 10, 3, 11
        #define KD_ZIP_UPPER 4, 12, 5, 13, 6, 14, 7, 15
      #elif KD_LANE_BYTES == 32
        #define KD_ZIP_LOWER 0, 4, 1, 5
        #define KD_ZIP_UPPER 2, 6, 3, 7
      #else
        #define KD_ZIP_LOWER 0, 2
        #define KD_ZIP_UPPER 1, 3
      #endif
      #if defined(__clang__)
        #define kd_zip_lower(a, b) __builtin_shufflevector(a, b, KD_ZIP_LOWER)
        #define kd_zip_upper(a, b) __builtin_shufflevector(a, b, KD_ZIP_UPPER)
      #else
        #define kd_zip_lower(a, b) __builtin_shuffle(a, b, (kd_i64){KD_ZIP_LOWER})
        #define kd_zip_upper(a, b) __builtin_shuffle(a, b, (kd_i64){KD_ZIP_UPPER})
      #endif
    #else
      #define kd_zip_lower(a, b) (a)
      #define kd_zip_upper(a, b) (b)
    #endif
    """
    # Interleave the lower halves of two vectors, or their upper halves
    f64vec zip_lower "kd_zip_lower"(f64vec a, f64vec b) noexcept nogil
    f64vec zip_upper "kd_zip_upper"(f64vec a, f64vec b) noexcept nogil

cdef enum:
    LANES = 8       # upper bound of doubles in a vector


cdef inline const f64vec* transposed(const f64vec* rows, f64vec* buffer) noexcept nogil:
    """Transpose a square of vectors; return the address of the columns in `buffer`, which has 2 * LANES vectors."""
    cdef Py_ssize_t half = width(rows) // 2
    cdef f64vec* to = buffer
    cdef f64vec* other = buffer + LANES
    cdef Py_ssize_t turn = 1
    cdef Py_ssize_t r
    while turn <= half:
        for r in range(half):
            to[2 * r] = zip_lower(rows[r], rows[r + half])
            to[2 * r + 1] = zip_upper(rows[r], rows[r + half])
        rows, to, other = to, other, to
        turn *= 2
    return rows
