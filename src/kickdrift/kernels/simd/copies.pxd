# Copies between a contiguous row of numbers and memory of any stride.
#
# Only these loops are left to the auto-vectoriser: for the usual strides, which are compile-time constants, it emits
# shuffles. All other loops are written in vectors; there it is off, because it makes code larger and no faster.

from .vec cimport f32vec  # unused, but it includes the C types of vec.pxd

cdef extern from *:
    """
    #include <string.h>  /* below: copies with strides, and of interleaved pairs and triples */
    #if defined(__GNUC__) && !defined(__clang__)
      #define KD_VECTORISED static __attribute__((noinline, optimize("tree-vectorize")))
    #else
      #define KD_VECTORISED static
    #endif
    /* kd_forget keeps compilers from replacing the loop by a call of memcpy: the row of a tile is too short for it. */
    static void kd_copy(char *to, const char *from, Py_ssize_t bytes) {
      #ifdef KD_LANE_BYTES
        for (; bytes >= KD_LANE_BYTES; bytes -= KD_LANE_BYTES, to += KD_LANE_BYTES, from += KD_LANE_BYTES) {
            *(kd_f32 *)to = *(const kd_f32 *)from;
            kd_forget();
        }
      #endif
        memcpy(to, from, bytes);
    }
    #define KD_EACH(number, distance) \
        if (out) for (i = 0; i < count; i++) *(number *)(place + i * (distance)) = row[i]; \
        else for (i = 0; i < count; i++) row[i] = *(const number *)(place + i * (distance));
    #define KD_MOVE(name, number) \
        KD_VECTORISED void name(int out, number *row, char *place, Py_ssize_t stride, Py_ssize_t count) { \
            Py_ssize_t i; \
            const Py_ssize_t size = sizeof(number); \
            if (stride == size && out) kd_copy(place, (const char *)row, count * size); \
            else if (stride == size) kd_copy((char *)row, place, count * size); \
            else if (stride == 3 * size) { KD_EACH(number, 3 * size) } \
            else if (stride == 2 * size) { KD_EACH(number, 2 * size) } \
            else { KD_EACH(number, stride) } \
        }
    KD_MOVE(kd_move_f32, float)
    KD_MOVE(kd_move_f64, double)
    #define KD_MOVE_PAIRS(name, number, type, vector, zip, even) \
        KD_VECTORISED void name( \
            int out, number *CYTHON_RESTRICT x, Py_ssize_t apart, number *CYTHON_RESTRICT place, Py_ssize_t count \
        ) { \
            number *CYTHON_RESTRICT y = x + apart; \
            Py_ssize_t i = 0; \
            KD_PAIRS(type, vector, zip, even) \
            if (out) for (; i < count; i++) place[2 * i] = x[i], place[2 * i + 1] = y[i]; \
            else for (; i < count; i++) x[i] = place[2 * i], y[i] = place[2 * i + 1]; \
        }
    /* Force one load per vector. Otherwise compilers load each vector once per shuffle that reads it, and loads that
       straddle cache lines take twice as long. */
    #if defined(__AVX512F__) && defined(KD_LANE_BYTES)
      #define KD_LOADED(a, b) __asm__("" : "+v"(a), "+v"(b))
      #define KD_PAIRS(type, vector, zip, even) \
        const __m512i lower = KD_ZIP ## zip, upper = KD_ADD ## zip(lower, even / 2); \
        const __m512i first = KD_EVEN ## zip, second = KD_ADD ## zip(first, 1); \
        for (; i + even <= count; i += even) { \
            vector a, b; \
            if (out) { \
                a = _mm512_loadu_ ## type(x + i), b = _mm512_loadu_ ## type(y + i); \
                KD_LOADED(a, b); \
                _mm512_storeu_ ## type(place + 2 * i, _mm512_permutex2var_ ## type(a, lower, b)); \
                _mm512_storeu_ ## type(place + 2 * i + even, _mm512_permutex2var_ ## type(a, upper, b)); \
            } else { \
                a = _mm512_loadu_ ## type(place + 2 * i), b = _mm512_loadu_ ## type(place + 2 * i + even); \
                KD_LOADED(a, b); \
                _mm512_storeu_ ## type(x + i, _mm512_permutex2var_ ## type(a, first, b)); \
                _mm512_storeu_ ## type(y + i, _mm512_permutex2var_ ## type(a, second, b)); \
            } \
        }
      #define KD_ZIP64 _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11)
      #define KD_EVEN64 _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14)
      #define KD_ADD64(a, b) _mm512_add_epi64(a, _mm512_set1_epi64(b))
      #define KD_ZIP32 _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
      #define KD_EVEN32 _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
      #define KD_ADD32(a, b) _mm512_add_epi32(a, _mm512_set1_epi32(b))
    #else
      #define KD_PAIRS(type, vector, zip, even)
    #endif
    KD_MOVE_PAIRS(kd_move_pairs_f32, float, ps, __m512, 32, 16)
    KD_MOVE_PAIRS(kd_move_pairs_f64, double, pd, __m512d, 64, 8)
    /* Number 3 i + j of a row is component j of body i. In three vectors of w numbers the lanes with component j are
       all different, because 3 and w are coprime. So blends collect them in one vector, and a permutation orders it:
       number i comes from lane (3 i + j) modulo w. */
    #if defined(KD_LANE_BYTES) && KD_LANE_BYTES >= 32 && (defined(__AVX512F__) || defined(__AVX2__))
      #define KD_WITH(f, ...) f(__VA_ARGS__)
      #define KD_AT(f, j) f(j, 0), f(j, 1), f(j, 2), f(j, 3)
      #define KD_AT8(f, j) KD_AT(f, j), f(j, 4), f(j, 5), f(j, 6), f(j, 7)
      #define KD_AT16(f, j) KD_AT8(f, j), f(j, 8), f(j, 9), f(j, 10), f(j, 11), f(j, 12), f(j, 13), f(j, 14), f(j, 15)
      #define KD_BIT(w, k, j, l) ((((k) * (w) + (l)) % 3 == (j)) << (l))
      #define KD_BITS4(w, k, j, l) (KD_BIT(w, k, j, l) | KD_BIT(w, k, j, l + 1) | KD_BIT(w, k, j, l + 2) \
                                    | KD_BIT(w, k, j, l + 3))
      #define KD_BITS8(w, k, j) (KD_BITS4(w, k, j, 0) | KD_BITS4(w, k, j, 4))
      #define KD_BITS16(w, k, j) (KD_BITS8(w, k, j) | KD_BITS4(w, k, j, 8) | KD_BITS4(w, k, j, 12))
      #if defined(__AVX512F__)
        #define KD_ORDER8(j, i) (3 * (i) + (j)) % 8
        #define KD_BACK8(j, i) ((i) + 8 - (j)) * 3 % 8
        #define KD_ORDER16(j, i) (3 * (i) + (j)) % 16
        #define KD_BACK16(j, i) ((i) + 16 - (j)) * 11 % 16
        #define KD_ORDERED_f64(v, j) _mm512_permutexvar_pd(KD_WITH(_mm512_setr_epi64, KD_AT8(KD_ORDER8, j)), v)
        #define KD_SPREAD_f64(v, j) _mm512_permutexvar_pd(KD_WITH(_mm512_setr_epi64, KD_AT8(KD_BACK8, j)), v)
        #define KD_ORDERED_f32(v, j) _mm512_permutexvar_ps(KD_WITH(_mm512_setr_epi32, KD_AT16(KD_ORDER16, j)), v)
        #define KD_SPREAD_f32(v, j) _mm512_permutexvar_ps(KD_WITH(_mm512_setr_epi32, KD_AT16(KD_BACK16, j)), v)
        #define KD_CHOSEN_f64(a, b, c, j) \
            _mm512_mask_blend_pd(KD_BITS8(8, 2, j), _mm512_mask_blend_pd(KD_BITS8(8, 1, j), a, b), c)
        #define KD_CHOSEN_f32(a, b, c, j) \
            _mm512_mask_blend_ps(KD_BITS16(16, 2, j), _mm512_mask_blend_ps(KD_BITS16(16, 1, j), a, b), c)
        #define KD_MIXED_f64(x, y, z, k) \
            _mm512_mask_blend_pd(KD_BITS8(8, k, 2), _mm512_mask_blend_pd(KD_BITS8(8, k, 1), x, y), z)
        #define KD_MIXED_f32(x, y, z, k) \
            _mm512_mask_blend_ps(KD_BITS16(16, k, 2), _mm512_mask_blend_ps(KD_BITS16(16, k, 1), x, y), z)
        #define KD_READ_PART(type, p) _mm512_loadu_ ## type(p)
        #define KD_WRITE(type, p, v) _mm512_storeu_ ## type(p, v)
        #define KD_VECTOR_f64 __m512d
        #define KD_VECTOR_f32 __m512
      #else
        #define KD_PICK(j) ((j) % 4 | (3 + (j)) % 4 << 2 | (6 + (j)) % 4 << 4 | (9 + (j)) % 4 << 6)
        #define KD_PICK_BACK(j) \
            ((4 - (j)) * 3 % 4 | (5 - (j)) * 3 % 4 << 2 | (6 - (j)) * 3 % 4 << 4 | (7 - (j)) * 3 % 4 << 6)
        #define KD_ORDER8(j, i) (3 * (i) + (j)) % 8
        #define KD_BACK8(j, i) ((i) + 8 - (j)) * 3 % 8
        #define KD_ORDERED_f64(v, j) _mm256_permute4x64_pd(v, KD_PICK(j))
        #define KD_SPREAD_f64(v, j) _mm256_permute4x64_pd(v, KD_PICK_BACK(j))
        #define KD_ORDERED_f32(v, j) _mm256_permutevar8x32_ps(v, KD_WITH(_mm256_setr_epi32, KD_AT8(KD_ORDER8, j)))
        #define KD_SPREAD_f32(v, j) _mm256_permutevar8x32_ps(v, KD_WITH(_mm256_setr_epi32, KD_AT8(KD_BACK8, j)))
        #define KD_CHOSEN_f64(a, b, c, j) \
            _mm256_blend_pd(_mm256_blend_pd(a, b, KD_BITS4(4, 1, j, 0)), c, KD_BITS4(4, 2, j, 0))
        #define KD_CHOSEN_f32(a, b, c, j) \
            _mm256_blend_ps(_mm256_blend_ps(a, b, KD_BITS8(8, 1, j)), c, KD_BITS8(8, 2, j))
        #define KD_MIXED_f64(x, y, z, k) \
            _mm256_blend_pd(_mm256_blend_pd(x, y, KD_BITS4(4, k, 1, 0)), z, KD_BITS4(4, k, 2, 0))
        #define KD_MIXED_f32(x, y, z, k) \
            _mm256_blend_ps(_mm256_blend_ps(x, y, KD_BITS8(8, k, 1)), z, KD_BITS8(8, k, 2))
        #define KD_READ_PART(type, p) _mm256_loadu_ ## type(p)
        #define KD_WRITE(type, p, v) _mm256_storeu_ ## type(p, v)
        #define KD_VECTOR_f64 __m256d
        #define KD_VECTOR_f32 __m256
      #endif
      #define KD_TAKE_TRIPLE(type, suffix, x, y, z, place, w) \
        a = KD_READ_PART(type, place); \
        b = KD_READ_PART(type, place + w); \
        c = KD_READ_PART(type, place + 2 * w); \
        KD_WRITE(type, x, KD_ORDERED_ ## suffix(KD_CHOSEN_ ## suffix(a, b, c, 0), 0)); \
        KD_WRITE(type, y, KD_ORDERED_ ## suffix(KD_CHOSEN_ ## suffix(a, b, c, 1), 1)); \
        KD_WRITE(type, z, KD_ORDERED_ ## suffix(KD_CHOSEN_ ## suffix(a, b, c, 2), 2));
      #define KD_PUT_TRIPLE(type, suffix, x, y, z, place, w) \
        a = KD_SPREAD_ ## suffix(KD_READ_PART(type, x), 0); \
        b = KD_SPREAD_ ## suffix(KD_READ_PART(type, y), 1); \
        c = KD_SPREAD_ ## suffix(KD_READ_PART(type, z), 2); \
        KD_WRITE(type, place, KD_MIXED_ ## suffix(a, b, c, 0)); \
        KD_WRITE(type, place + w, KD_MIXED_ ## suffix(a, b, c, 1)); \
        KD_WRITE(type, place + 2 * w, KD_MIXED_ ## suffix(a, b, c, 2));
      #define KD_TRIPLE(i, w, type, vector, suffix) \
        for (; i + w <= count; i += w) { \
            vector a, b, c; \
            if (out) { KD_PUT_TRIPLE(type, suffix, x + i, y + i, z + i, place + 3 * i, w) } \
            else { KD_TAKE_TRIPLE(type, suffix, x + i, y + i, z + i, place + 3 * i, w) } \
        }
    #else
      #define KD_TRIPLE(i, w, type, vector, suffix)
    #endif
    #define KD_MOVE_TRIPLES(name, number, type, suffix) \
        static void name(int out, number *x, Py_ssize_t apart, number *place, Py_ssize_t count) { \
            number *y = x + apart, *z = y + apart; \
            Py_ssize_t i = 0; \
            KD_TRIPLE(i, (Py_ssize_t)(KD_LANE_BYTES / sizeof(number)), type, KD_VECTOR_ ## suffix, suffix) \
            for (; i < count; i++) { \
                if (out) place[3 * i] = x[i], place[3 * i + 1] = y[i], place[3 * i + 2] = z[i]; \
                else x[i] = place[3 * i], y[i] = place[3 * i + 1], z[i] = place[3 * i + 2]; \
            } \
        }
    KD_MOVE_TRIPLES(kd_move_triples_f32, float, ps, f32)
    KD_MOVE_TRIPLES(kd_move_triples_f64, double, pd, f64)
    """
    void move_f32 "kd_move_f32"(bint out, float* row, char* place, Py_ssize_t stride, Py_ssize_t count) noexcept nogil
    void move_f64 "kd_move_f64"(bint out, double* row, char* place, Py_ssize_t stride, Py_ssize_t count) noexcept nogil
    # Copy between two rows, `apart` numbers from each other, and an array of (x, y) pairs
    void move_pairs_f32 "kd_move_pairs_f32"(
        bint out, float* rows, Py_ssize_t apart, float* place, Py_ssize_t count,
    ) noexcept nogil
    void move_pairs_f64 "kd_move_pairs_f64"(
        bint out, double* rows, Py_ssize_t apart, double* place, Py_ssize_t count,
    ) noexcept nogil
    # Copy between three rows, `apart` numbers from each other, and an array of (x, y, z) triples
    void move_triples_f32 "kd_move_triples_f32"(
        bint out, float* rows, Py_ssize_t apart, float* place, Py_ssize_t count,
    ) noexcept nogil
    void move_triples_f64 "kd_move_triples_f64"(
        bint out, double* rows, Py_ssize_t apart, double* place, Py_ssize_t count,
    ) noexcept nogil
