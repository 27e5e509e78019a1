# Fast functions of float vectors: each result is the nearest float, or is flagged as uncertain. About five times as
# fast as kickdrift/reference/functions.py, which defines them.
#
# A float64 value with a relative error below 2**-37 rounds to the same float as the exact value, unless it is that
# close to the midpoint of two floats: a few in 10,000 are (Ziv 1991, ACM TOMS 17, 410). So shorter polynomials than in
# float64 suffice. Vectors with a lane that is doubtful or out of range are recomputed by the float64 formulas.
# `tools/prove.py functions` verifies all 2**32 arguments. Polynomials are Chebyshev interpolants, or rational (tan).
#
# Exponents and signs are computed in floats or 32-bit integers, of which a vector holds twice as many lanes. With a
# table of 2**(j/8) in a register (AVX-512), exp, pow and tanh need shorter polynomials. So exp and tanh are verified
# with and without the table.

from .constants cimport ROUND
from .elementary cimport TOGETHER, polynomial
from ..abi.formulas cimport ATAN2, CBRT, COS, EXP, LOG, POW, SIN, TAN, TANH
from ..simd.bits cimport (
    TABLES, above, any_flag, beyond, bits, doubtful, eighths, flags, floats, joined, left, lower, lower_mask,
    lower_whole, negative_f32, not_normal, not_positive, number, odd_numbers, plus, put, shifted, tiny, to_floats,
    to_words, upper, upper_mask, upper_whole, w32vec, widen, words, words_where,
)
from ..simd.masks cimport less, mask, select, select_or_zero
from ..simd.vec cimport f32vec, f64vec

cdef extern from *:
    """
    static const double kd_quick_power[] = {  /* 2**r, -1/2 <= r <= 1/2; error 2**-38.7 */
        1, 0.6931471805568299, 0.24022650695888484, 0.05550410906349796, 0.009618129135252718,
        0.0013333478441780202, 0.00015403475164426638, 1.5303710920570028e-05, 1.3250812590443863e-06,
    };
    static const double kd_quick_power_8[] = {  /* 2**r, -1/16 <= r <= 1/16; error 2**-41.7 */
        1.000000000000287, 0.6931471805599737, 0.24022650563641212, 0.05550410853384901, 0.009619031872799779,
        0.001333445206627039,
    };
    static const double kd_quick_tanh[] = {   /* tanh(r ln 2 / 2) / r in r**2, -1/2 <= r <= 1/2; 2**-41.1 */
        0.3465735902798305, -0.013876027137765558, 0.000666676996174682, -3.2401826660207854e-05,
        1.530534690395716e-06,
    };
    static const double kd_quick_tanh_8[] = {  /* tanh(r ln 2 / 2) / r in r**2, |r| <= 1/16; 2**-43.9 */
        0.34657359027991225, -0.013876026887975595, 0.0006664879955568976,
    };
    static const double kd_quick_log[] = {    /* 2 artanh(s) / s in s**2, |2 artanh(s)| <= ln 2 / 2; 2**-37.8 */
        2.0000000000083635, 0.6666666524691081, 0.4000038479011479, 0.2853504356313236, 0.23616504319718873,
    };
    static const double kd_quick_log2[] = {   /* 2 artanh(s) / (s ln 2) in s**2; 2**-45 */
        2.8853900817778504, 0.9617966941123595, 0.5770779426302618, 0.41220922733052445, 0.3199066608891474,
        0.28288718263073565,
    };
    static const double kd_quick_sin[] = {    /* sin(pi r) / r in r**2, |r| < 0.50035; 2**-42.5 */
        3.1415926535896337, -5.167712779987439, 2.5501640358790376, -0.5992644334043258, 0.08214479012033916,
        -0.007363987692227815, 0.0004474662467029042,
    };
    static const double kd_quick_atan[] = {   /* atan(q) / q in q**2, 0 <= q <= tan(pi/8); 2**-40.3 */
        0.9999999999992442, -0.3333333327688608, 0.19999993049762435, -0.1428538640718612, 0.11103454236491274,
        -0.08992528079362637, 0.06974084047595203, -0.03765307369056794,
    };
    """
    const double* POWER_Q "kd_quick_power"
    const double* POWER_8 "kd_quick_power_8"
    const double* TANH_Q "kd_quick_tanh"
    const double* TANH_8 "kd_quick_tanh_8"
    const double* LOG_Q "kd_quick_log"
    const double* LOG2_Q "kd_quick_log2"
    const double* SIN_Q "kd_quick_sin"
    const double* ATAN_Q "kd_quick_atan"
    # tan(r pi / 2) / r = (c + c z + z**2) / (c + c z + c z**2 + c z**3), z = r**2; error 2**-45
    const double TAN_1 "80.8089752814357"
    const double TAN_2 "(-24.19422078037571)"
    const double TAN_3 "51.44459144892511"
    const double TAN_4 "(-57.71399984081574)"
    const double TAN_5 "6.344724591229524"
    const double TAN_6 "(-0.07531088011675503)"
    const double TURNS "0.636619770899415"  # 2 / pi, leading 29 bits: products with floats are exact
    const double TURNS_REST "1.4681663269012186e-09"  # rest of 2 / pi; it is > 0, so that -0 stays -0
    const double ROUND_8 "844424930131968.0"  # ROUND / 8: adding it rounds to eighths
    const double LOG2_E "1.4426950408889634"
    const double EIGHTH_TURN "0.7853981633974483"
    # w**(-1/3) / c in w c**3, |w - 1| < 2.5e-4, c = 0.80665; error 2**-40.4. The leading coefficient is 1.
    const double CUBE_0 "1.9284198886125912"
    const double CUBE_1 "(-1.837045143104074)"
    const double RANGE "126.0"  # 2**v is a normal float for |v| below it
    const double ROUND_ONE "6755399441056767.0"  # ROUND + 1023, the exponent of 1
    const double LN2_STEP "8.262958294867817e-08"  # ln 2 / 2**23
    # Constants for floats
    const float CUBE_F_0 "1.6059817f"  # c w**(-1/3), 0.423 < w < 0.535; error 7.6e-5; leading coefficient 1
    const float CUBE_F_1 "(-1.6794733f)"
    const float TWO_THIRDS_F "0.6666667f"
    const float TAN_EIGHTH_F "0.41421357f"
    const unsigned int ROOT_WORD "0x3f3504f3u"  # sqrt(1/2)
    const unsigned int EXPONENT_WORD "0xff800000u"
    const unsigned int SIGN_WORD "0x80000000u"
    const unsigned int MAGNITUDE_WORD "0x7fffffffu"
    const unsigned int LARGEST_WORD "0x7f7fffffu"  # the largest float
    const unsigned int FAR_WORD "0x48435000u"  # 200000, upper limit of sin, cos and tan
    const unsigned int EXP_WORD "0x42ae0000u"  # 87, upper limit of exp: e**x is normal
    const unsigned int TANH_WORD "0x43960000u"  # 300
    const unsigned int CUBE_WORD "0x699d0000u"  # scales the exponent of x**(-2/3) to the range of CUBE_F


# Data of TOGETHER vectors of floats, which functions process in lockstep to hide the latency of each operation.
ctypedef struct Side:
    f32vec x[TOGETHER]          # arguments
    f32vec y[TOGETHER]
    flags outside[TOGETHER]     # set where x is out of range
    f64vec v[2 * TOGETHER]      # results, for the lower and upper halves of x


# Results of one block of TOGETHER vectors, some of which are uncertain.
ctypedef struct Unsure:
    f32vec near[TOGETHER]
    flags doubt[TOGETHER]  # set where `near` may be wrong


cdef inline void take_within(Side* all, const f32vec* a, Py_ssize_t i, unsigned int most) noexcept nogil:
    cdef int k
    for k in range(TOGETHER):
        all.outside[k] = above(words(a[k * i]) & MAGNITUDE_WORD, most)
        widen(a + k * i, &all.v[2 * k], &all.v[2 * k + 1])


cdef inline void horner(const f64vec* z, f64vec* out, const double* c, int last) noexcept nogil:
    """c0 + c1 z + c2 z² ..., all vectors in lockstep. `out` may be z."""
    cdef f64vec p[2 * TOGETHER]
    cdef int i, k
    for k in range(2 * TOGETHER):
        p[k] = z[k] * c[last] + c[last - 1]
    for i in range(last - 2, -1, -1):
        for k in range(2 * TOGETHER):
            p[k] = p[k] * z[k] + c[i]
    for k in range(2 * TOGETHER):
        out[k] = p[k]


cdef inline void odd(f64vec* v, const double* c, int last) noexcept nogil:
    """v times a polynomial of v²"""
    cdef f64vec z[2 * TOGETHER]
    cdef int k
    for k in range(2 * TOGETHER):
        z[k] = v[k] * v[k]
    horner(z, z, c, last)
    for k in range(2 * TOGETHER):
        v[k] = v[k] * z[k]


cdef inline void power(f64vec* v) noexcept nogil:
    """2**v"""
    cdef f64vec whole[2 * TOGETHER]
    cdef int k
    if TABLES:
        for k in range(2 * TOGETHER):
            whole[k] = v[k] + ROUND_8
            v[k] = v[k] - (whole[k] - ROUND_8)
        horner(v, v, POWER_8, 5)
        for k in range(2 * TOGETHER):
            v[k] = eighths(bits(whole[k])) * v[k]
        return
    for k in range(2 * TOGETHER):
        whole[k] = v[k] + ROUND
        v[k] = v[k] - (whole[k] - ROUND)
    for k in range(2 * TOGETHER):
        v[k] = polynomial(v[k], POWER_Q, 8)
    for k in range(2 * TOGETHER):
        v[k] = number(plus(bits(v[k]), left(bits(whole[k]), 52)))


cdef inline void turned(f64vec* v, bint cosine) noexcept nogil:
    """Replace x by sin x, or by cos x = sin(x + pi/2), as sin(pi r) of the distance r to the nearest half turn."""
    cdef f64vec whole[2 * TOGETHER]
    cdef f64vec t, n
    cdef int k
    for k in range(2 * TOGETHER):
        t = v[k] * (0.5 * TURNS)
        if cosine:
            whole[k] = (t + 0.5) + ROUND
            n = (whole[k] - ROUND) - 0.5
        else:
            whole[k] = t + ROUND
            n = whole[k] - ROUND
        v[k] = (t - n) + v[k] * (0.5 * TURNS_REST)
    odd(v, SIN_Q, 6)  # preserves the sign of -0
    for k in range(2 * TOGETHER):
        v[k] = number(bits(v[k]) ^ left(bits(whole[k]), 63))


cdef inline void slope(f64vec* v) noexcept nogil:
    cdef f64vec z[2 * TOGETHER]
    cdef f64vec q[2 * TOGETHER]
    cdef mask odd[2 * TOGETHER]
    cdef f64vec t, n
    cdef int k
    for k in range(2 * TOGETHER):
        t = v[k] * TURNS
        n = t + ROUND
        odd[k] = odd_numbers(bits(n))
        v[k] = (t - (n - ROUND)) + v[k] * TURNS_REST
        z[k] = v[k] * v[k]
    for k in range(2 * TOGETHER):
        v[k] = v[k] * (TAN_1 + z[k] * (TAN_2 + z[k]))
        q[k] = TAN_3 + z[k] * (TAN_4 + z[k] * (TAN_5 + z[k] * TAN_6))
    for k in range(2 * TOGETHER):  # tan(r + pi/2) = -1 / tan r
        v[k] = select(odd[k], q[k], v[k]) / select(odd[k], -v[k], q[k])


cdef inline void steepness(f64vec* v) noexcept nogil:
    """Replace x by tanh x = (E - 1) / (E + 1), where E = exp(2 x) = s (1 + u) / (1 - u) and s = 2**j or 2**(j/8)."""
    cdef f64vec whole[2 * TOGETHER]
    cdef f64vec t, s
    cdef double round = ROUND_8 if TABLES else ROUND_ONE
    cdef int k
    for k in range(2 * TOGETHER):
        t = 2 * LOG2_E * v[k]
        whole[k] = t + round
        v[k] = t - (whole[k] - round)
    if TABLES:
        odd(v, TANH_8, 2)
    else:
        odd(v, TANH_Q, 4)
    for k in range(2 * TOGETHER):
        s = eighths(bits(whole[k])) if TABLES else number(left(bits(whole[k]), 52))
        t = 1 - s
        s = s + 1
        v[k] = (s * v[k] - t) / (s - t * v[k])  # preserves the sign of -0


cdef inline void take_apart(Side* all, const f32vec* a, Py_ssize_t i, w32vec* exponent) noexcept nogil:
    """Split x = 2**k m, with m in [sqrt(1/2), sqrt(2)], into `exponent`: 2**23 k, and `v`: (m - 1) / (m + 1)."""
    cdef w32vec x
    cdef f32vec f
    cdef int k
    for k in range(TOGETHER):
        all.outside[k] = not_positive(a[k * i])
        x = words(a[k * i])
        exponent[k] = (x - ROOT_WORD) & EXPONENT_WORD
        f = floats(x - exponent[k]) - 1  # exact
        all.v[2 * k], all.v[2 * k + 1] = lower(f), upper(f)
    for k in range(2 * TOGETHER):
        all.v[k] = all.v[k] / (all.v[k] + 2)


cdef inline void root(Side* all, const f32vec* a, Py_ssize_t i) noexcept nogil:
    """Compute cbrt x as x s times a polynomial. s: float estimate of c x**(-2/3), by a bit trick and a polynomial."""
    cdef f32vec s[TOGETHER]
    cdef f32vec w[TOGETHER]
    cdef f64vec y[2 * TOGETHER]
    cdef f64vec z[2 * TOGETHER]
    cdef int k
    for k in range(TOGETHER):
        all.outside[k] = not_normal(a[k * i])
        s[k] = floats(CUBE_WORD - to_words(to_floats(words(a[k * i]) & MAGNITUDE_WORD) * TWO_THIRDS_F))
    for k in range(TOGETHER):
        w[k] = a[k * i] * s[k]
        w[k] = w[k] * w[k] * s[k]
    for k in range(TOGETHER):
        s[k] = s[k] * (CUBE_F_0 + w[k] * (CUBE_F_1 + w[k]))
    for k in range(TOGETHER):
        all.v[2 * k], all.v[2 * k + 1] = lower(s[k]), upper(s[k])
        widen(a + k * i, &y[2 * k], &y[2 * k + 1])
    for k in range(2 * TOGETHER):
        y[k] = y[k] * all.v[k]
        z[k] = y[k] * y[k] * all.v[k]
    for k in range(2 * TOGETHER):
        all.v[k] = y[k] * (CUBE_0 + z[k] * (CUBE_1 + z[k]))


cdef inline void angle(Side* all, const f32vec* a, Py_ssize_t i, const f32vec* b, Py_ssize_t j) noexcept nogil:
    """Compute |atan2(a, b)|: atan of q = min / max, or of (q - 1) / (q + 1), plus eighths of a turn."""
    cdef f64vec e[2 * TOGETHER]
    cdef f64vec low, high, under, over
    cdef f32vec x, y, small, large
    cdef mask swap, back, big
    cdef w32vec share
    cdef int k
    for k in range(TOGETHER):
        back = negative_f32(b[k * j])
        y, x = floats(words(a[k * i]) & MAGNITUDE_WORD), floats(words(b[k * j]) & MAGNITUDE_WORD)
        swap = less(x, y)
        small, large = select(swap, x, y), select(swap, y, x)
        all.outside[k] = not_normal(large) | above(words(small), LARGEST_WORD)  # also set if one is NaN
        big = less(large * TAN_EIGHTH_F, small)
        share = words_where(big, 1) - words_where(swap, 2)
        share = share - words_where(back & ~swap, 4) + words_where(back & swap, 4)
        e[2 * k], e[2 * k + 1] = lower_whole(share), upper_whole(share)
        low, high, under, over = lower(small), upper(small), lower(large), upper(large)
        # both differences are exact
        all.v[2 * k] = (low - select_or_zero(lower_mask(big), under)) / (under + select_or_zero(lower_mask(big), low))
        big = upper_mask(big)
        all.v[2 * k + 1] = (high - select_or_zero(big, over)) / (over + select_or_zero(big, high))
    odd(all.v, ATAN_Q, 7)
    for k in range(2 * TOGETHER):
        all.v[k] = e[k] * EIGHTH_TURN + all.v[k]


cdef inline bint sure(Side* all, f32vec* out, const f32vec* sign, Py_ssize_t i, Unsure* unsure) noexcept nogil:
    """Round results to floats; return True if all are certain, else fill `unsure`. sign: source of signs, or NULL."""
    cdef f32vec near[TOGETHER]
    cdef flags some
    cdef int k
    for k in range(TOGETHER):
        all.outside[k] = all.outside[k] | doubtful(all.v[2 * k], all.v[2 * k + 1])
        if sign != NULL:
            near[k] = joined(all.v[2 * k], all.v[2 * k + 1])
            all.outside[k] = all.outside[k] | tiny(near[k])
            near[k] = floats((words(near[k]) & MAGNITUDE_WORD) | (words(sign[k * i]) & SIGN_WORD))
    some = all.outside[0]
    for k in range(1, TOGETHER):
        some = some | all.outside[k]
    if any_flag(some):
        for k in range(TOGETHER):
            unsure.near[k] = near[k] if sign != NULL else joined(all.v[2 * k], all.v[2 * k + 1])
            unsure.doubt[k] = all.outside[k]
        return False
    for k in range(TOGETHER):
        if sign != NULL:
            out[k] = near[k]
        else:
            put(out + k, all.v[2 * k], all.v[2 * k + 1])
    return True


cdef inline Py_ssize_t quick(
    int code, Py_ssize_t vectors, f32vec* out, const f32vec* a, Py_ssize_t i, const f32vec* b, Py_ssize_t j,
    Unsure* unsure,
) noexcept nogil:
    """out = f(a) or f(a, b); return the number of vectors before the first uncertain block of TOGETHER.

    i and j are steps, 1 or 0; `vectors` is a multiple of TOGETHER.
    """
    cdef Side all
    cdef w32vec exponent[TOGETHER]
    cdef f32vec y
    cdef Py_ssize_t n = 0
    cdef int k
    if code == SIN:
        while n < vectors:
            take_within(&all, a + n * i, i, FAR_WORD)
            turned(all.v, False)
            if not sure(&all, out + n, NULL, 0, unsure):
                return n
            n += TOGETHER
    elif code == COS:
        while n < vectors:
            take_within(&all, a + n * i, i, FAR_WORD)
            turned(all.v, True)
            if not sure(&all, out + n, NULL, 0, unsure):
                return n
            n += TOGETHER
    elif code == TAN:
        while n < vectors:
            take_within(&all, a + n * i, i, FAR_WORD)
            slope(all.v)
            if not sure(&all, out + n, NULL, 0, unsure):
                return n
            n += TOGETHER
    elif code == EXP:
        while n < vectors:
            take_within(&all, a + n * i, i, EXP_WORD)
            for k in range(2 * TOGETHER):
                all.v[k] = all.v[k] * LOG2_E
            power(all.v)
            if not sure(&all, out + n, NULL, 0, unsure):
                return n
            n += TOGETHER
    elif code == TANH:
        while n < vectors:
            take_within(&all, a + n * i, i, TANH_WORD)
            steepness(all.v)
            if not sure(&all, out + n, NULL, 0, unsure):
                return n
            n += TOGETHER
    elif code == LOG:
        while n < vectors:
            take_apart(&all, a + n * i, i, exponent)
            odd(all.v, LOG_Q, 4)    # ln m = 2 artanh((m - 1) / (m + 1))
            for k in range(TOGETHER):
                all.v[2 * k] = lower_whole(exponent[k]) * LN2_STEP + all.v[2 * k]
                all.v[2 * k + 1] = upper_whole(exponent[k]) * LN2_STEP + all.v[2 * k + 1]
            if not sure(&all, out + n, NULL, 0, unsure):
                return n
            n += TOGETHER
    elif code == CBRT:
        while n < vectors:
            root(&all, a + n * i, i)
            if not sure(&all, out + n, NULL, 0, unsure):
                return n
            n += TOGETHER
    elif code == POW:
        while n < vectors:
            take_apart(&all, a + n * i, i, exponent)
            odd(all.v, LOG2_Q, 5)
            for k in range(TOGETHER):
                y = b[(n + k) * j]
                exponent[k] = shifted(exponent[k], 23)
                all.v[2 * k] = lower(y) * (lower_whole(exponent[k]) + all.v[2 * k])
                all.v[2 * k + 1] = upper(y) * (upper_whole(exponent[k]) + all.v[2 * k + 1])
                all.outside[k] = all.outside[k] | beyond(all.v[2 * k], all.v[2 * k + 1], RANGE)
            power(all.v)
            if not sure(&all, out + n, NULL, 0, unsure):
                return n
            n += TOGETHER
    elif code == ATAN2:
        while n < vectors:
            angle(&all, a + n * i, i, b + n * j, j)
            if not sure(&all, out + n, a + n * i, i, unsure):
                return n
            n += TOGETHER
    return n
