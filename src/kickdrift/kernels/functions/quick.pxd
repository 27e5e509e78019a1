# Functions of floats that are the nearest floats, or say that they do not know: what kickdrift/reference/functions.py
# defines, in a fifth of the time.
#
# A float64 value that is less than 2**-37 of itself off rounds to the same float as the exact one, unless it lies that
# near to the middle of two floats: a few in 10,000 do (Ziv 1991, ACM TOMS 17, 410). So fewer terms of the polynomials
# will do than for float64, and a vector of floats in which there is a doubtful one, or one out of the range of these
# formulas, is left to what the reference says. `tools/prove.py functions` shows for all 2**32 arguments that the
# results are the nearest floats. Polynomials are Chebyshev interpolants, that of tan is rational.
#
# What only chooses, exponents and signs, is worked out with floats or words, of which a vector holds twice as many.

from .constants cimport HALF_PI_1, ONE_BITS, ROUND, TWO_OVER_PI
from .elementary cimport TOGETHER, magnitude, polynomial
from ..abi.formulas cimport ATAN2, CBRT, COS, EXP, LOG, POW, SIN, TAN, TANH
from ..simd.bits cimport (
    all_of, any_negative, bits, doubtful, floats, i64vec, joined, left, lower, lower_whole, number, plus, put,
    shifted, signs, to_floats, to_words, upper, upper_whole, w32vec, widen, words,
)
from ..simd.vec cimport f32vec, f64vec

cdef extern from *:
    """
    static const double kd_quick_power[] = {  /* 2**r, -1/2 <= r <= 1/2: 2**-38.7 */
        1, 0.6931471805568299, 0.24022650695888484, 0.05550410906349796, 0.009618129135252718,
        0.0013333478441780202, 0.00015403475164426638, 1.5303710920570028e-05, 1.3250812590443863e-06,
    };
    static const double kd_quick_tanh[] = {   /* tanh(r ln 2 / 2) / r of r**2, -1/2 <= r <= 1/2: 2**-41.1 */
        0.3465735902798305, -0.013876027137765558, 0.000666676996174682, -3.2401826660207854e-05,
        1.530534690395716e-06,
    };
    static const double kd_quick_log[] = {    /* 2 artanh(s) / s of s**2, to ln 2's middle: 2**-37.8 */
        2.0000000000083635, 0.6666666524691081, 0.4000038479011479, 0.2853504356313236, 0.23616504319718873,
    };
    static const double kd_quick_log2[] = {   /* that by ln 2: 2**-45 */
        2.8853900817778504, 0.9617966941123595, 0.5770779426302618, 0.41220922733052445, 0.3199066608891474,
        0.28288718263073565,
    };
    static const double kd_quick_sin[] = {    /* sin(r) / r of r**2, to a quarter of a turn: 2**-43.5 */
        0.9999999999999496, -0.16666666666466431, 0.008333333320345448, -0.00019841266680622403,
        2.7556952695110885e-06, -2.5030259562979548e-08, 1.5411092661219133e-10,
    };
    static const double kd_quick_atan[] = {   /* atan(q) / q of q**2, 0 <= q <= 1/2: 2**-40.6 */
        0.9999999999993991, -0.33333333294349854, 0.19999995812958454, -0.1428554003495579, 0.11107447807581855,
        -0.09047100780861997, 0.07377957055191767, -0.052964097746140616, 0.02329680463519671,
    };
    /* tan(r) / r as (1 + c z + c z**2) / (1 + c z + c z**2 + c z**3): 2**-45 */
    #define KD_TAN_1 -0.12134231764400906
    #define KD_TAN_2 0.002032641986894294
    #define KD_TAN_3 -0.45467565097961926
    #define KD_TAN_4 0.020257859022272805
    #define KD_TAN_5 -9.745379103835085e-05
    #define KD_INVERSE_PI 0.3183098861837907
    #define KD_PI_1 3.1415926534682512        /* 33 bits */
    #define KD_PI_2 1.2154201013012384e-10
    #define KD_HALF_PI_REST 6.077100506506192e-11
    #define KD_LOG2_E 1.4426950408889634
    #define KD_LN2 0.6931471805599453
    #define KD_EIGHTH_TURN 0.7853981633974483
    #define KD_CUBE_0 2.2222251339942525      /* w**(-2/3), |w - 1| < 1.5e-4: 2**-41.2 */
    #define KD_CUBE_1 -1.7777835932926758
    #define KD_CUBE_2 0.5555584592984076
    #define KD_RANGE 126.0                    /* 2**v is a normal float for |v| below it */
    /* Of floats. */
    #define KD_CUBE_F_0 1.0000008f            /* (1 - e)**(-1/3), |e| < 0.103 */
    #define KD_CUBE_F_1 0.33469242f
    #define KD_CUBE_F_2 0.22304699f
    #define KD_THIRD_F 0.33333334f
    #define KD_ROOT_WORD 0x3f3504f3u          /* sqrt(1/2) */
    #define KD_EXPONENT_WORD 0xff800000u
    #define KD_SIGN_WORD 0x80000000u
    #define KD_MAGNITUDE_WORD 0x7fffffffu
    #define KD_LEAST_WORD 0x00800000u         /* 2.0**-126 */
    #define KD_MOST_WORD 0x7f7fffffu          /* the largest float */
    #define KD_SLIGHT_WORD 0x32000000u        /* the exponent of 2.0**100 */
    #define KD_FAR_WORD 0x48435000u           /* 200000, for sin, cos and tan */
    #define KD_EXP_WORD 0x42ae0000u           /* 87: e**x is a normal number */
    #define KD_TANH_WORD 0x43960000u          /* 300 */
    #define KD_CUBE_WORD 0x54a20000u          /* the exponent of 1/cbrt(x) by that of x: at most 0.035 off */
    """
    const double* POWER_Q "kd_quick_power"
    const double* TANH_Q "kd_quick_tanh"
    const double* LOG_Q "kd_quick_log"
    const double* LOG2_Q "kd_quick_log2"
    const double* SIN_Q "kd_quick_sin"
    const double* ATAN_Q "kd_quick_atan"
    const double TAN_1 "KD_TAN_1"
    const double TAN_2 "KD_TAN_2"
    const double TAN_3 "KD_TAN_3"
    const double TAN_4 "KD_TAN_4"
    const double TAN_5 "KD_TAN_5"
    const double INVERSE_PI "KD_INVERSE_PI"
    const double PI_1 "KD_PI_1"
    const double PI_2 "KD_PI_2"
    const double HALF_PI_REST "KD_HALF_PI_REST"
    const double LOG2_E "KD_LOG2_E"
    const double LN2 "KD_LN2"
    const double EIGHTH_TURN "KD_EIGHTH_TURN"
    const double CUBE_0 "KD_CUBE_0"
    const double CUBE_1 "KD_CUBE_1"
    const double CUBE_2 "KD_CUBE_2"
    const double RANGE "KD_RANGE"
    const float CUBE_F_0 "KD_CUBE_F_0"
    const float CUBE_F_1 "KD_CUBE_F_1"
    const float CUBE_F_2 "KD_CUBE_F_2"
    const float THIRD_F "KD_THIRD_F"
    const unsigned int ROOT_WORD "KD_ROOT_WORD"
    const unsigned int EXPONENT_WORD "KD_EXPONENT_WORD"
    const unsigned int SIGN_WORD "KD_SIGN_WORD"
    const unsigned int MAGNITUDE_WORD "KD_MAGNITUDE_WORD"
    const unsigned int LEAST_WORD "KD_LEAST_WORD"
    const unsigned int MOST_WORD "KD_MOST_WORD"
    const unsigned int SLIGHT_WORD "KD_SLIGHT_WORD"
    const unsigned int FAR_WORD "KD_FAR_WORD"
    const unsigned int EXP_WORD "KD_EXP_WORD"
    const unsigned int TANH_WORD "KD_TANH_WORD"
    const unsigned int CUBE_WORD "KD_CUBE_WORD"


# So many vectors of floats are computed side by side, each function in steps: with one alone the processor would wait
# for each result.
ctypedef struct Side:
    f32vec x[TOGETHER]          # arguments
    f32vec y[TOGETHER]
    w32vec outside[TOGETHER]    # negative where they are out of range
    f64vec v[2 * TOGETHER]      # results, as of the lower and upper halves of x
    Py_ssize_t first, last      # numbers of vectors; the last one is taken again and again


# Vectors of which some may be wrong: those where `doubt` is negative.
ctypedef struct Unsure:
    f32vec near[TOGETHER]
    w32vec doubt[TOGETHER]


cdef inline Py_ssize_t place(const Side* all, int k) noexcept nogil:
    return min(all.first + k, all.last)


cdef inline void take(Side* all, const f32vec* a, Py_ssize_t i) noexcept nogil:
    cdef int k
    for k in range(TOGETHER):
        all.x[k] = a[place(all, k) * i]


cdef inline void take_within(Side* all, const f32vec* a, Py_ssize_t i, unsigned int most) noexcept nogil:
    cdef int k
    for k in range(TOGETHER):
        all.x[k] = a[place(all, k) * i]
        all.outside[k] = most - (words(all.x[k]) & MAGNITUDE_WORD)
        widen(a + place(all, k) * i, &all.v[2 * k], &all.v[2 * k + 1])


cdef inline void horner(const f64vec* z, f64vec* out, const double* c, int last) noexcept nogil:
    """c0 + c1 z + c2 z² ...: each step for all vectors, so that none waits for the last. `out` may be z."""
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
    for k in range(2 * TOGETHER):
        whole[k] = v[k] + ROUND
        v[k] = v[k] - (whole[k] - ROUND)
    for k in range(2 * TOGETHER):
        v[k] = polynomial(v[k], POWER_Q, 8)
    for k in range(2 * TOGETHER):
        v[k] = number(plus(bits(v[k]), left(bits(whole[k]), 52)))


cdef inline void turned(f64vec* v, bint cosine) noexcept nogil:
    """By halves of a turn: cos x = sin(x + pi/2)."""
    cdef f64vec whole[2 * TOGETHER]
    cdef f64vec n
    cdef int k
    for k in range(2 * TOGETHER):
        if cosine:
            whole[k] = (v[k] * INVERSE_PI + 0.5) + ROUND
            n = (whole[k] - ROUND) - 0.5
        else:
            whole[k] = v[k] * INVERSE_PI + ROUND
            n = whole[k] - ROUND
        v[k] = (v[k] - n * PI_1) - n * PI_2
    odd(v, SIN_Q, 6)  # which leaves the sign of -0
    for k in range(2 * TOGETHER):
        v[k] = number(bits(v[k]) ^ left(bits(whole[k]), 63))


cdef inline void slope(f64vec* v) noexcept nogil:
    cdef f64vec whole[2 * TOGETHER]
    cdef f64vec z[2 * TOGETHER]
    cdef f64vec q[2 * TOGETHER]
    cdef f64vec n
    cdef i64vec swap
    cdef int k
    for k in range(2 * TOGETHER):
        whole[k] = v[k] * TWO_OVER_PI + ROUND
        n = whole[k] - ROUND
        v[k] = (v[k] - n * HALF_PI_1) - n * HALF_PI_REST
        z[k] = v[k] * v[k]
    for k in range(2 * TOGETHER):
        v[k] = v[k] * (1 + z[k] * (TAN_1 + z[k] * TAN_2))
        q[k] = 1 + z[k] * (TAN_3 + z[k] * (TAN_4 + z[k] * TAN_5))
    for k in range(2 * TOGETHER):
        swap = (bits(v[k]) ^ bits(q[k])) & -(bits(whole[k]) & all_of(1))
        v[k] = number(bits(v[k]) ^ swap ^ left(bits(whole[k]), 63)) / number(bits(q[k]) ^ swap)


cdef inline void steepness(f64vec* v) noexcept nogil:
    """tanh x as (e - 1) / (e + 1) for e = e**(2 x) = 2**k (1 + t) / (1 - t)"""
    cdef f64vec whole[2 * TOGETHER]
    cdef f64vec t, s
    cdef int k
    for k in range(2 * TOGETHER):
        t = 2 * LOG2_E * v[k]
        whole[k] = t + ROUND
        v[k] = t - (whole[k] - ROUND)
    odd(v, TANH_Q, 4)
    for k in range(2 * TOGETHER):
        s = number(plus(left(bits(whole[k]), 52), all_of(ONE_BITS)))
        t = 1 - s
        s = s + 1
        v[k] = (s * v[k] - t) / (s - t * v[k])  # which leaves the sign of -0


cdef inline void take_apart(Side* all, f64vec* exponent) noexcept nogil:
    """x = 2**k m, m from sqrt(1/2) to sqrt(2); (m - 1) / (m + 1) in v; outside where x is no normal number > 0."""
    cdef w32vec x, above
    cdef f64vec low, high
    cdef int k
    for k in range(TOGETHER):
        x = words(all.x[k])
        all.outside[k] = (x + LEAST_WORD) | (x - LEAST_WORD)
        above = x - ROOT_WORD
        x = x - (above & EXPONENT_WORD)
        above = shifted(above, 23)
        exponent[2 * k], exponent[2 * k + 1] = lower_whole(above), upper_whole(above)
        low, high = lower(floats(x)), upper(floats(x))
        all.v[2 * k], all.v[2 * k + 1] = (low - 1) / (low + 1), (high - 1) / (high + 1)


cdef inline void root(Side* all, const f32vec* a, Py_ssize_t i) noexcept nogil:
    """First r = 1 / cbrt(x), of floats, a polynomial of 1 - x r³: 2**-14. Then x r² times one of x r³."""
    cdef f32vec r[TOGETHER]
    cdef f32vec e[TOGETHER]
    cdef f64vec y[2 * TOGETHER]
    cdef f64vec w[2 * TOGETHER]
    cdef w32vec x
    cdef int k
    for k in range(TOGETHER):
        x = words(all.x[k]) & MAGNITUDE_WORD
        all.outside[k] = (MOST_WORD - x) | (x - LEAST_WORD)
        all.y[k] = floats(x)
        r[k] = floats(CUBE_WORD - to_words(to_floats(x) * THIRD_F))
    for k in range(TOGETHER):
        e[k] = 1 - (all.y[k] * r[k]) * (r[k] * r[k])
    for k in range(TOGETHER):
        r[k] = r[k] * (CUBE_F_0 + e[k] * (CUBE_F_1 + e[k] * CUBE_F_2))
        r[k] = floats(words(r[k]) | (words(all.x[k]) & SIGN_WORD))
    for k in range(TOGETHER):
        all.v[2 * k], all.v[2 * k + 1] = lower(r[k]), upper(r[k])
        widen(a + place(all, k) * i, &y[2 * k], &y[2 * k + 1])
    for k in range(2 * TOGETHER):
        y[k] = y[k] * (all.v[k] * all.v[k])
        w[k] = y[k] * all.v[k]
    for k in range(2 * TOGETHER):
        all.v[k] = y[k] * (CUBE_0 + w[k] * (CUBE_1 + w[k] * CUBE_2))


cdef inline void angle(Side* all) noexcept nogil:
    """The angle in the first eighth of a turn is that of the smaller by the larger, or of that less 1; it is added to
    so many eighths, or taken from them. Floats > 0 compare as their words do."""
    cdef f64vec e[2 * TOGETHER]
    cdef w32vec x, y, back, swap, less, more, half, big
    cdef f32vec n
    cdef int k
    for k in range(TOGETHER):
        x, y = words(all.y[k]), words(all.x[k])
        back = shifted(x, 31)
        x, y = x & MAGNITUDE_WORD, y & MAGNITUDE_WORD
        swap = shifted(x - y, 31)
        more = (x ^ y) & swap
        less = y ^ more
        more = x ^ more
        half = more - LEAST_WORD
        # What has no normal half, is no number, and results that may be subnormal; 0 itself is none.
        all.outside[k] = (MOST_WORD - more) | (half - LEAST_WORD) | ((less + SLIGHT_WORD - more) & ~(less - 1))
        big = shifted(half - less, 31)
        x = ((swap ^ (0 - big)) - swap) + (swap & 2)
        x = ((back ^ x) - back) + (back & 4)
        e[2 * k], e[2 * k + 1] = lower_whole(x), upper_whole(x)
        x = (swap ^ back) & SIGN_WORD
        n = floats(less | x) - floats((big & more) | x)  # exact
        less = big & less
        all.v[2 * k] = lower(n) / (lower(floats(more)) + lower(floats(less)))
        all.v[2 * k + 1] = upper(n) / (upper(floats(more)) + upper(floats(less)))
    odd(all.v, ATAN_Q, 8)
    for k in range(2 * TOGETHER):
        all.v[k] = e[k] * EIGHTH_TURN + all.v[k]


cdef inline f32vec rounded(Side* all, bint sign, int k) noexcept nogil:
    cdef f32vec near = joined(all.v[2 * k], all.v[2 * k + 1])
    if sign:
        near = floats(words(near) | (words(all.x[k]) & SIGN_WORD))
    return near


cdef inline bint sure(Side* all, f32vec* out, bint sign, Unsure* unsure) noexcept nogil:
    """Are these the nearest floats? If not, which are? `sign`: with the signs of the arguments, also of -0."""
    cdef w32vec some
    cdef int k
    for k in range(TOGETHER):
        all.outside[k] = all.outside[k] | doubtful(all.v[2 * k], all.v[2 * k + 1])
    some = all.outside[0]
    for k in range(1, TOGETHER):
        some = some | all.outside[k]
    if any_negative(some):
        for k in range(TOGETHER):
            unsure.near[k], unsure.doubt[k] = rounded(all, sign, k), all.outside[k]
        return False
    for k in range(TOGETHER):
        if sign:
            out[place(all, k)] = rounded(all, sign, k)
        else:
            put(out + place(all, k), all.v[2 * k], all.v[2 * k + 1])
    all.first += TOGETHER
    return True


cdef inline Py_ssize_t quick(
    int code, Py_ssize_t vectors, f32vec* out, const f32vec* a, Py_ssize_t i, const f32vec* b, Py_ssize_t j,
    Unsure* unsure,
) noexcept nogil:
    """f(a) or f(a, b), up to the first vectors in which some may be wrong: their number. i and j are steps, 1 or 0."""
    cdef Side all
    cdef f64vec y[2 * TOGETHER]
    cdef int k
    all.first, all.last = 0, vectors - 1
    if code == SIN:
        while all.first < vectors:
            take_within(&all, a, i, FAR_WORD)
            turned(all.v, False)
            if not sure(&all, out, False, unsure):
                return all.first
    elif code == COS:
        while all.first < vectors:
            take_within(&all, a, i, FAR_WORD)
            turned(all.v, True)
            if not sure(&all, out, False, unsure):
                return all.first
    elif code == TAN:
        while all.first < vectors:
            take_within(&all, a, i, FAR_WORD)
            slope(all.v)
            if not sure(&all, out, False, unsure):
                return all.first
    elif code == EXP:
        while all.first < vectors:
            take_within(&all, a, i, EXP_WORD)
            for k in range(2 * TOGETHER):
                all.v[k] = all.v[k] * LOG2_E
            power(all.v)
            if not sure(&all, out, False, unsure):
                return all.first
    elif code == TANH:
        while all.first < vectors:
            take_within(&all, a, i, TANH_WORD)
            steepness(all.v)
            if not sure(&all, out, False, unsure):
                return all.first
    elif code == LOG:
        while all.first < vectors:
            take(&all, a, i)
            take_apart(&all, y)
            odd(all.v, LOG_Q, 4)    # ln m is twice the artanh of this
            for k in range(2 * TOGETHER):
                all.v[k] = y[k] * LN2 + all.v[k]
            if not sure(&all, out, False, unsure):
                return all.first
    elif code == CBRT:
        while all.first < vectors:
            take(&all, a, i)
            root(&all, a, i)
            if not sure(&all, out, False, unsure):
                return all.first
    elif code == POW:
        while all.first < vectors:
            take(&all, a, i)
            take_apart(&all, y)
            odd(all.v, LOG2_Q, 5)
            for k in range(TOGETHER):
                all.y[k] = b[place(&all, k) * j]
                all.v[2 * k] = lower(all.y[k]) * (y[2 * k] + all.v[2 * k])
                all.v[2 * k + 1] = upper(all.y[k]) * (y[2 * k + 1] + all.v[2 * k + 1])
                all.outside[k] = all.outside[k] | (MOST_WORD - (words(all.y[k]) & MAGNITUDE_WORD)) | signs(
                    RANGE - magnitude(all.v[2 * k]), RANGE - magnitude(all.v[2 * k + 1])
                )
            power(all.v)
            if not sure(&all, out, False, unsure):
                return all.first
    elif code == ATAN2:
        while all.first < vectors:
            take(&all, a, i)
            for k in range(TOGETHER):
                all.y[k] = b[place(&all, k) * j]
            angle(&all)
            if not sure(&all, out, True, unsure):
                return all.first
    else:
        return 0
    return vectors
