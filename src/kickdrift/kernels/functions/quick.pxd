# Functions of floats that are the nearest floats, or say that they do not know: what kickdrift/reference/functions.py
# defines, in a quarter of the time.
#
# A float64 value that is less than 2**-38 of itself off rounds to the same float as the exact one, unless it lies that
# near to the middle of two floats: a few in 10,000 do (Ziv 1991, ACM TOMS 17, 410). So fewer terms of the polynomials
# will do than for float64, and a number of floats among which there is a doubtful one, or one out of the range of
# these formulas, is computed as the reference says. `tools/prove.py functions` shows for all 2**32 arguments that the
# results are the nearest floats. Polynomials are Chebyshev interpolants, that of tan is rational.

from .constants cimport HALF_PI_1, ROUND, TAN_EIGHTH, TWO_OVER_PI
from .elementary cimport each, magnitude, polynomial, power_of_two
from ..loops.planes cimport aligned
from ..abi.formulas cimport ATAN2, CBRT, COS, EXP, LOG, POW, SIN, TAN, TANH
from ..simd.bits cimport (
    Doubt, all_of, any_of, bits, choose, doubted, floats, i64vec, is_doubtful, left, less, narrow, number, plus,
    right, to_floats, to_words, w32vec, widen, words,
)
from ..simd.vec cimport f32vec, f64vec, is_zero_f32, width

cdef enum:
    CHUNK = 64      # floats that are looked at together

cdef extern from *:
    """
    static const double kd_quick_exp[] = {    /* (2**r - 1) / r, -1/2 <= r <= 1/2: 2**-38.7 */
        0.6931471805568324, 0.24022650695888503, 0.05550410906326095, 0.009618129135236297, 0.0013333478473381189,
        0.00015403475186320017, 1.5303700808723403e-05, 1.325080558495172e-06,
    };
    static const double kd_quick_power[] = {  /* the same: 2**-44.5 */
        0.6931471805599453, 0.2402265069581299, 0.055504108664760424, 0.009618129159402855, 0.0013333558179043298,
        0.00015403455852169232, 1.5252686846088454e-05, 1.3255224954566728e-06, 1.0203121111197493e-07,
    };
    static const double kd_quick_log[] = {    /* (artanh(s) / s - 1) / z, z = s**2, to log(2)'s middle: 2**-43 */
        0.3333333333368755, 0.19999999398666463, 0.14285877268433167, 0.11095700384938066, 0.09681327444192586,
    };
    static const double kd_quick_log2[] = {   /* the same: 2**-50 */
        0.3333333333333104, 0.2000000000560328, 0.1428571206915346, 0.11111431140992394, 0.09070096860425454,
        0.08310909196015825,
    };
    static const double kd_quick_sin[] = {    /* (sin(r) / r - 1) / z, z = r**2, to a quarter of a turn: 2**-41.5 */
        -0.16666666666658467, 0.008333333330940343, -0.00019841268709047569, 2.755712317326084e-06,
        -2.5036744950479975e-08, 1.5502507984399832e-10,
    };
    static const double kd_quick_atan[] = {   /* (atan(q) / q - 1) / z, z = q**2, to an eighth of a turn: 2**-43 */
        -0.33333333333266196, 0.19999999949854486, -0.14285708110328282, 0.11110819715504752, -0.09084101872719776,
        0.07604799835878479, -0.06027306498793273, 0.032956778211230206,
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
    #define KD_HALF_TURN 3.141592653589793
    #define KD_QUARTER_TURN 1.5707963267948966
    #define KD_EIGHTH_TURN 0.7853981633974483
    #define KD_SMALL_FLOAT 0x3810000000000000 /* the bits of 2.0**-126 as a double */
    #define KD_THIRD_F 0.33333334f
    #define KD_TWO_NINTHS_F 0.22222222f
    /* Of floats. */
    #define KD_ONE_WORD 0x3f800000u
    #define KD_ROOT_WORD 0x004afb0du          /* 1 less sqrt(1/2), as words */
    #define KD_EXPONENT_WORD 0xff800000u
    #define KD_SIGN_WORD 0x80000000u
    #define KD_MAGNITUDE_WORD 0x7fffffffu
    #define KD_LEAST_WORD 0x00800000u         /* 2.0**-126 */
    #define KD_MOST_WORD 0x7f7fffffu          /* the largest float */
    #define KD_FAR_WORD 0x48435000u           /* 200000, for sin, cos and tan */
    #define KD_EXP_WORD 0x42ae0000u           /* 87: e**x is a normal number */
    #define KD_TANH_WORD 0x43960000u          /* 300 */
    #define KD_CUBE_WORD 0x54a20000u          /* the exponent of 1/cbrt(x) by that of x: at most 0.035 off */
    """
    const double* EXP_Q "kd_quick_exp"
    const double* POWER_Q "kd_quick_power"
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
    const double HALF_TURN "KD_HALF_TURN"
    const double QUARTER_TURN "KD_QUARTER_TURN"
    const double EIGHTH_TURN "KD_EIGHTH_TURN"
    const long long SMALL_FLOAT "KD_SMALL_FLOAT"
    const float THIRD_F "KD_THIRD_F"
    const float TWO_NINTHS_F "KD_TWO_NINTHS_F"
    const unsigned int ONE_WORD "KD_ONE_WORD"
    const unsigned int ROOT_WORD "KD_ROOT_WORD"
    const unsigned int EXPONENT_WORD "KD_EXPONENT_WORD"
    const unsigned int SIGN_WORD "KD_SIGN_WORD"
    const unsigned int MAGNITUDE_WORD "KD_MAGNITUDE_WORD"
    const unsigned int LEAST_WORD "KD_LEAST_WORD"
    const unsigned int MOST_WORD "KD_MOST_WORD"
    const unsigned int FAR_WORD "KD_FAR_WORD"
    const unsigned int EXP_WORD "KD_EXP_WORD"
    const unsigned int TANH_WORD "KD_TANH_WORD"
    const unsigned int CUBE_WORD "KD_CUBE_WORD"


cdef inline f64vec two_to_part(f64vec r, const double* c, int last) noexcept nogil:
    """2**r - 1, |r| <= 1/2"""
    return r * polynomial(r, c, last)


cdef inline f64vec quick_exp(f64vec x) noexcept nogil:
    cdef f64vec t = x * LOG2_E
    cdef f64vec whole = t + ROUND
    cdef f64vec y = 1 + two_to_part(t - (whole - ROUND), EXP_Q, 7)
    return number(plus(bits(y), left(bits(whole), 52)))


cdef inline f64vec quick_sin(f64vec x, bint cosine) noexcept nogil:
    """By halves of a turn: cos x = sin(x + pi/2)."""
    cdef f64vec whole, n, r, z
    if cosine:
        whole = (x * INVERSE_PI + 0.5) + ROUND
        n = (whole - ROUND) - 0.5
    else:
        whole = x * INVERSE_PI + ROUND
        n = whole - ROUND
    r = (x - n * PI_1) - n * PI_2
    z = r * r
    r = r * (1 + z * polynomial(z, SIN_Q, 5))  # which leaves the sign of -0
    return number(bits(r) ^ left(bits(whole), 63))


cdef inline f64vec quick_tan(f64vec x) noexcept nogil:
    cdef f64vec whole = x * TWO_OVER_PI + ROUND
    cdef f64vec n = whole - ROUND
    cdef f64vec r = (x - n * HALF_PI_1) - n * HALF_PI_REST
    cdef f64vec z = r * r
    cdef f64vec p = r * (1 + z * (TAN_1 + z * TAN_2))
    cdef f64vec q = 1 + z * (TAN_3 + z * (TAN_4 + z * TAN_5))
    cdef i64vec odd = -(bits(whole) & all_of(1))
    z = choose(odd, q, p) / choose(odd, p, q)
    return number(bits(z) ^ left(bits(whole), 63))


cdef inline f64vec quick_tanh(f64vec x) noexcept nogil:
    """e / (e + 2) for e = e**(2 x) - 1"""
    cdef f64vec t = 2 * LOG2_E * x
    cdef f64vec whole = t + ROUND
    cdef f64vec p = two_to_part(t - (whole - ROUND), POWER_Q, 8)
    cdef f64vec s = power_of_two(whole - ROUND)
    p = (s - 1) + s * p
    p = p / (p + 2)
    return number(bits(p) | (bits(x) ^ bits(magnitude(x))))  # also of -0


cdef inline f64vec quick_log_part(f64vec f, const double* c, int last) noexcept nogil:
    """ln(1 + f) / 2 = artanh(s), s = f / (2 + f)"""
    cdef f64vec s = f / (2 + f)
    cdef f64vec z = s * s
    return s + s * (z * polynomial(z, c, last))


cdef inline f64vec quick_atan2(f64vec y, f64vec x) noexcept nogil:
    """The angle of what is not below 0, see `atan2` of elementary.pxd."""
    cdef f64vec a = magnitude(y)
    cdef f64vec b = magnitude(x)
    cdef i64vec swap = less(b, a)
    cdef f64vec low = choose(swap, b, a)
    cdef f64vec high = choose(swap, a, b)
    cdef i64vec big = less(high * TAN_EIGHTH, low)
    cdef f64vec q = choose(big, low - high, low) / choose(big, high + low, high)
    cdef f64vec z = q * q
    q = number(big & bits(each(EIGHTH_TURN))) + (q + q * (z * polynomial(z, ATAN_Q, 7)))
    q = choose(swap, QUARTER_TURN - q, q)
    return choose(-right(bits(x), 63), HALF_TURN - q, q)


cdef inline Py_ssize_t at(Py_ssize_t n, Py_ssize_t step, const f32vec* like) noexcept nogil:
    """Where number n of a row is, or of its first vector again and again."""
    return n if step else n % width(like)


cdef inline void take_apart(
    const f32vec* row, Py_ssize_t i, float* exponent, float* rest, w32vec* outside,
) noexcept nogil:
    """x = 2**k (1 + f), 1 + f from sqrt(1/2) to sqrt(2); `outside` is negative where x is no normal number > 0."""
    cdef w32vec x, shifted
    cdef Py_ssize_t n
    for n in range(CHUNK // width(row)):
        x = words(row[n * i])
        outside[0] = outside[0] | (MOST_WORD - x) | (x - LEAST_WORD)
        shifted = x + ROOT_WORD
        (<f32vec*> exponent)[n] = to_floats(shifted >> 23) - 127
        (<f32vec*> rest)[n] = floats(x - (shifted & EXPONENT_WORD) + ONE_WORD) - 1


cdef inline void guess_root(const f32vec* row, Py_ssize_t i, float* guess, w32vec* outside) noexcept nogil:
    """1 / cbrt(x), to some 22 bits: Halley's steps, of 1 - x r³."""
    cdef w32vec x, sign
    cdef f32vec m, r, e
    cdef Py_ssize_t n
    for n in range(CHUNK // width(row)):
        x = words(row[n * i]) & MAGNITUDE_WORD
        sign = words(row[n * i]) & SIGN_WORD
        outside[0] = outside[0] | (MOST_WORD - x) | (x - LEAST_WORD)
        m = floats(x)
        r = floats(CUBE_WORD - to_words(to_floats(x) * THIRD_F))
        e = 1 - (m * r) * (r * r)
        r = r + r * (e * (THIRD_F + e * TWO_NINTHS_F))
        e = 1 - (m * r) * (r * r)
        r = r + r * (e * THIRD_F)
        (<f32vec*> guess)[n] = floats(words(r) | sign)


cdef inline bint quick(
    int code, float* out, const f32vec* a, Py_ssize_t i, const f32vec* b, Py_ssize_t j,
) noexcept nogil:
    """f(a) or f(a, b) for CHUNK floats; false where some of them may be wrong. i and j are the steps, 1 or 0."""
    cdef double buffer[CHUNK + 8]     # two rows of floats, aligned: they are read in halves of what is stored
    cdef float* first = <float*> aligned(<char*> buffer, a)
    cdef float* second = first + CHUNK
    cdef const float* x = <const float*> a
    cdef const float* y = <const float*> b
    cdef Doubt doubt = is_doubtful(each(0))
    cdef i64vec below = all_of(0)
    cdef w32vec outside = words(a[0]) & 0
    cdef unsigned int most = 0
    cdef f64vec u, v
    cdef Py_ssize_t part, n
    cdef Py_ssize_t w = width(&u)
    if code == LOG:
        take_apart(a, i, first, second, &outside)
        for part in range(CHUNK // w):
            n = part * w
            v = quick_log_part(widen(second + n), LOG_Q, 4)
            v = widen(first + n) * LN2 + (v + v)
            narrow(out + n, v)
            doubt |= is_doubtful(v)
    elif code == CBRT:
        guess_root(a, i, first, &outside)
        for part in range(CHUNK // w):
            n = part * w
            u = widen(first + n)
            v = widen(x + at(n, i, a)) * (u * u)
            u = 1 - v * u
            v = v + v * (u * 0.6666666666666666)
            narrow(out + n, v)
            doubt |= is_doubtful(v)
    elif code == POW:
        take_apart(a, i, first, second, &outside)
        for n in range(CHUNK // width(a)):
            outside = outside | (MOST_WORD - (words(b[n * j]) & MAGNITUDE_WORD))
        for part in range(CHUNK // w):
            n = part * w
            v = quick_log_part(widen(second + n), LOG2_Q, 5) * (2 * LOG2_E) + widen(first + n)
            v = widen(y + at(n, j, b)) * v
            below = below | bits(v + 126) | bits(1000 - v)
            u = v + ROUND
            v = 1 + two_to_part(v - (u - ROUND), POWER_Q, 8)
            v = number(plus(bits(v), left(bits(u), 52)))
            narrow(out + n, v)
            doubt |= is_doubtful(v)
    elif code == ATAN2:
        for n in range(CHUNK // width(a)):
            outside = outside | (MOST_WORD - (words(a[n * i]) & MAGNITUDE_WORD))
            outside = outside | (MOST_WORD - (words(b[n * j]) & MAGNITUDE_WORD))
        for part in range(CHUNK // w):
            n = part * w
            u = widen(x + at(n, i, a))
            v = quick_atan2(u, widen(y + at(n, j, b)))
            below = below | (bits(v) - all_of(SMALL_FLOAT))
            doubt |= is_doubtful(v)
            narrow(out + n, number(bits(v) | (bits(u) ^ bits(magnitude(u)))))
    else:
        most = EXP_WORD if code == EXP else TANH_WORD if code == TANH else FAR_WORD
        for n in range(CHUNK // width(a)):
            outside = outside | (most - (words(a[n * i]) & MAGNITUDE_WORD))
        if code == EXP:
            for part in range(CHUNK // w):
                n = part * w
                v = quick_exp(widen(x + at(n, i, a)))
                narrow(out + n, v)
                doubt |= is_doubtful(v)
        elif code == TANH:
            for part in range(CHUNK // w):
                n = part * w
                v = quick_tanh(widen(x + at(n, i, a)))
                narrow(out + n, v)
                doubt |= is_doubtful(v)
        elif code == TAN:
            for part in range(CHUNK // w):
                n = part * w
                v = quick_tan(widen(x + at(n, i, a)))
                narrow(out + n, v)
                doubt |= is_doubtful(v)
        elif code == COS:
            for part in range(CHUNK // w):
                n = part * w
                v = quick_sin(widen(x + at(n, i, a)), True)
                narrow(out + n, v)
                doubt |= is_doubtful(v)
        elif code == SIN:
            for part in range(CHUNK // w):
                n = part * w
                v = quick_sin(widen(x + at(n, i, a)), False)
                narrow(out + n, v)
                doubt |= is_doubtful(v)
        else:
            return False
    outside = outside >> 31
    return not (doubted(doubt) or any_of(right(below, 63))) and is_zero_f32(floats(outside))
