# sin, exp and other functions of float64 vectors; formulas are derived in kickdrift/reference/functions.py.
#
# The longest functions process several vectors in lockstep, which hides the latency of each operation.
#
# Formulas assume ordinary numbers (normal and finite). Lanes with other numbers are handled one by one: before the
# formula, which then gets an ordinary number instead, or after it.

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from .constants cimport (
    ATAN, CBRT, COS, DOWN, EXP, EXPONENT, EXPONENT_BIAS, FAR, HALF_PI_1, HALF_PI_2, HALF_PI_3, HALF_PI_HI,
    HALF_PI_LO, INVERSE_LN2, LARGE, LN2_HI, LN2_LO, LOG, LOG_OFFSET, MANTISSA, NEAR, ONE_BITS,
    QUARTER_PI, QUARTER_PI_LO, ROOT_2, ROOT_4, ROUND, SIGN, SIN, SMALL, SMALLEST, TAN_EIGHTH, THIRD, TINY, TRAILING,
    TWO_52_BITS, TWO_54, TWO_OVER_PI, TWO_OVER_PI_WORDS, UP,
)
from ..simd.bits cimport all_of, bits, i64vec, left, negative_f64, number, odd_numbers, plus, right
from ..simd.masks cimport absolute, all_true, equal, flags_of, greater_equal, less, mask, select
from ..simd.vec cimport f64vec, spread_f64, width

cdef enum:
    TOGETHER = 4    # number of vectors that the longest functions process in lockstep


cdef inline f64vec each(double a) noexcept nogil:
    return spread_f64(a)


cdef inline f64vec signed(f64vec x, f64vec like) noexcept nogil:
    """|x| with the signs of `like`."""
    return number(bits(x) | (bits(like) & all_of(SIGN)))


cdef inline f64vec leading(f64vec x) noexcept nogil:
    """Round x toward zero to the leading 26 bits of its mantissa."""
    return number(bits(x) & all_of(~TRAILING))


cdef inline f64vec power_of_two(f64vec k) noexcept nogil:
    return number(plus(left(bits(k + ROUND), 52), all_of(ONE_BITS)))


cdef inline f64vec scaled(f64vec y, f64vec k) noexcept nogil:
    cdef f64vec half = (k * 0.5 + ROUND) - ROUND
    return y * power_of_two(half) * power_of_two(k - half)


cdef inline f64vec polynomial(f64vec z, const double* c, int last) noexcept nogil:
    """c0 + c1 z + c2 z² ..., by Horner's rule for even and odd powers separately."""
    cdef f64vec square = z * z
    cdef f64vec ahead = each(c[last])
    cdef f64vec behind = each(c[last - 1])
    cdef int i
    for i in range(last - 2, -1, -2):
        ahead = ahead * square + c[i]
    for i in range(last - 3, -1, -2):
        behind = behind * square + c[i]
    if last % 2 == 0:
        return ahead + z * behind
    return behind + z * ahead


cdef inline f64vec product(f64vec a, f64vec b, f64vec* rest) noexcept nogil:
    """Product a b and its rounding error."""
    cdef f64vec p = a * b
    cdef f64vec ah = leading(a)
    cdef f64vec bh = leading(b)
    cdef f64vec al = a - ah
    cdef f64vec bl = b - bh
    rest[0] = ((ah * bh - p) + ah * bl + al * bh) + al * bl
    return p


cdef inline f64vec quotient(f64vec nh, f64vec nl, f64vec dh, f64vec dl) noexcept nogil:
    """(nh + nl) / (dh + dl)"""
    cdef f64vec inverse = 1 / dh
    cdef f64vec t = nh * inverse
    cdef f64vec e
    cdef f64vec p = product(t, dh, &e)
    return t - ((((p - nh) + e) - nl) + t * dl) * inverse


# exp, tanh, log

cdef inline f64vec exp_reduced(f64vec x, f64vec* k, f64vec* h) noexcept nogil:
    """Return l, and set k and h: x = k ln 2 + h - l, with an integer k."""
    k[0] = (x * INVERSE_LN2 + ROUND) - ROUND
    h[0] = x - k[0] * LN2_HI
    return k[0] * LN2_LO


cdef inline f64vec exp_parts(f64vec h, f64vec low, f64vec* tail) noexcept nogil:
    cdef f64vec r = h - low
    cdef f64vec s = 1 + h
    tail[0] = (h - (s - 1)) + (r * r * polynomial(r, EXP, 10) - low)
    return s


cdef inline f64vec exp(f64vec x) noexcept nogil:
    cdef f64vec k, h, low, s, tail
    cdef bint near = all_true(less(absolute(x), each(708)), &x)
    if not near:
        x = select(less(each(710), x), each(710), x)
        x = select(less(x, each(-746)), each(-746), x)
    low = exp_reduced(x, &k, &h)
    s = exp_parts(h, low, &tail)
    s = s + tail
    # Scaling in two steps is needed only where 2**k may overflow or be subnormal; elsewhere both give the same bits.
    return s * power_of_two(k) if near else scaled(s, k)


cdef inline f64vec tanh(f64vec x) noexcept nogil:
    cdef f64vec y = absolute(x)
    cdef f64vec k, h, low, r, tail, power, a, b, s, rest, nh, nl, dh, dl, back
    y = 2 * y
    y = select(less(each(44), y), each(44), y)
    low = exp_reduced(y, &k, &h)
    r = h - low
    tail = r * r * polynomial(r, EXP, 10) - low
    power = power_of_two(k)
    a = power - 1
    b = power * h
    s = a + b
    rest = (b - (s - a)) + power * tail
    nh = s + rest
    nl = rest - (nh - s)
    dh = 2 + nh
    back = dh - 2
    dl = ((2 - (dh - back)) + (nh - back)) + nl
    return signed(quotient(nh, nl, dh, dl), x)


cdef inline f64vec log_reduced(f64vec x, f64vec* m) noexcept nogil:
    """Return k, and set m: x = 2**k m, with sqrt(1/2) <= m < sqrt(2)."""
    cdef i64vec shifted = plus(bits(x), all_of(ONE_BITS - LOG_OFFSET))
    m[0] = number(plus(bits(x) - (shifted & all_of(EXPONENT)), all_of(ONE_BITS)))
    return number(right(shifted, 52) | all_of(TWO_52_BITS)) - EXPONENT_BIAS


cdef inline f64vec log_parts(f64vec k, f64vec m) noexcept nogil:
    cdef f64vec f = m - 1
    cdef f64vec s = f / (2 + f)
    cdef f64vec z = s * s
    cdef f64vec half = 0.5 * f * f
    return k * LN2_HI - ((half - (s * (half + z * polynomial(z, LOG, 6)) + k * LN2_LO)) - f)


cdef inline mask ordinary(f64vec a) noexcept nogil:
    """True for normal numbers > 0."""
    return greater_equal(a, each(SMALLEST)) & less(a, each(INFINITY))


cdef inline f64vec log(f64vec x) noexcept nogil:
    cdef mask good = ordinary(x)
    cdef mask small
    cdef f64vec m, k, result
    if all_true(good, &x):
        k = log_reduced(x, &m)
        return log_parts(k, m)
    small = less(x, each(SMALLEST))
    k = log_reduced(select(small, x * TWO_54, x), &m)
    result = log_parts(k + select(small, each(-54), each(0)), m)
    result = select(good | (less(each(0), x) & small), result, each(NAN))
    result = select(equal(x, each(0)), each(-INFINITY), result)
    return select(equal(x, each(INFINITY)), x, result)


# sin, cos, tan

cdef inline void exact_share(double x, int64_t* n, double* high, double* low) noexcept nogil:
    """Split x 2/pi into n, whose last two bits matter, and high + low, by 190 fractional bits (Payne, Hanek 1983)."""
    cdef uint64_t i, mantissa, top, carry
    cdef uint32_t g[6]
    cdef uint32_t p[8]
    cdef int e, first, k, j, s
    cdef int shift = 0
    cdef bint negative
    n[0] = 0
    if x - x != 0:
        high[0] = low[0] = NAN
        return
    memcpy(&i, &x, 8)
    e = <int> (i >> 52 & 0x7ff) - 1075
    mantissa = (i & <uint64_t> MANTISSA) | (<uint64_t> 1 << 52)
    first = e - 2 if e > 2 else 0
    # g and p are little-endian: the lowest 32 bits come first.
    for k in range(6):
        j = (first + 32 * (5 - k)) >> 5
        top = (<uint64_t> TWO_OVER_PI_WORDS[j] << 32) | TWO_OVER_PI_WORDS[j + 1]
        g[k] = <uint32_t> (top >> (32 - (first & 31)))
    for k in range(8):
        p[k] = 0
    for j in range(2):
        carry = 0
        for k in range(6):
            carry = carry + p[k + j] + <uint64_t> <uint32_t> (mantissa >> (32 * j)) * g[k]
            p[k + j] = <uint32_t> carry
            carry = carry >> 32
        p[6 + j] = <uint32_t> carry
    s = first + 2 - e
    while s >= 32:
        for k in range(7):
            p[k] = p[k + 1]
        p[7] = 0
        s = s - 32
    for k in range(6):
        top = (<uint64_t> p[k + 1] << 32) | p[k]
        p[k] = <uint32_t> (top >> s)
    # Round x 2/pi to the nearest integer n, the number of quarter turns.
    p[5] = p[5] + 0x20000000
    n[0] = p[5] >> 30
    p[5] = p[5] & 0x3fffffff
    negative = p[5] < 0x20000000
    p[5] = p[5] - 0x20000000
    if negative:
        carry = 1
        for k in range(6):
            carry = carry + <uint32_t> ~p[k]
            p[k] = <uint32_t> carry
            carry = carry >> 32
    # `high` gets the leading 53 bits, `low` the next 53.
    while p[5] == 0 and shift < 160:
        for k in range(5, 0, -1):
            p[k] = p[k - 1]
        p[0] = 0
        shift += 32
    s = 0
    while s < 31 and (p[5] << s) >> 31 == 0:
        s += 1
    shift += s
    for k in range(5, 0, -1):
        top = (<uint64_t> p[k] << 32) | p[k - 1]
        p[k] = <uint32_t> (top >> (32 - s))
    p[0] = p[0] << s
    top = (<uint64_t> p[5] << 32) | p[4]
    high[0] = two_to(-51 - shift) * <double> <int64_t> (top >> 11)
    top = ((top & 0x7ff) << 42) | (<uint64_t> p[3] << 10) | (p[2] >> 22)
    low[0] = two_to(-104 - shift) * <double> <int64_t> top
    if negative != <bint> (i >> 63):
        high[0], low[0] = -high[0], -low[0]
    if i >> 63:
        n[0] = -n[0]


cdef inline double two_to(int k) noexcept nogil:
    cdef uint64_t i = <uint64_t> (1023 + k) << 52
    cdef double result
    memcpy(&result, &i, 8)
    return result


cdef inline mask trig_usual(f64vec x, f64vec* t, f64vec* b, f64vec* over) noexcept nogil:
    """Set b, over and t: x = n pi/2 + b - over, n in the lowest bits of t. True in lanes where this is accurate."""
    cdef f64vec n, a, w
    t[0] = x * TWO_OVER_PI + ROUND
    n = t[0] - ROUND
    a = x - n * HALF_PI_1
    w = n * HALF_PI_2
    b[0] = a - w
    over[0] = (w - (a - b[0])) + n * HALF_PI_3
    return less(absolute(x), each(FAR)) & (equal(n, each(0)) | ~less(absolute(a), each(NEAR)))


cdef inline void trig_exact(f64vec x, mask good, i64vec* n, f64vec* b, f64vec* over) noexcept nogil:
    """In lanes where `good` is False, replace n, b and over by values that are accurate for any x."""
    cdef f64vec high = x
    cdef f64vec rest = x
    cdef i64vec which
    cdef f64vec w, p
    cdef Py_ssize_t i
    for i in range(width(&x)):
        exact_share((<double*> &x)[i], &(<int64_t*> &which)[i], &(<double*> &high)[i], &(<double*> &rest)[i])
    p = product(high, each(HALF_PI_HI), &w)
    w = -(w + (high * HALF_PI_LO + rest * HALF_PI_HI))
    b[0], over[0] = select(good, b[0], p), select(good, over[0], w)
    n[0] = bits(select(good, number(n[0]), number(which)))


cdef inline i64vec trig_parts(f64vec x, f64vec* b, f64vec* over) noexcept nogil:
    """Return n of x = n pi/2 + b - over."""
    cdef f64vec t
    cdef mask good = trig_usual(x, &t, b, over)
    cdef i64vec n = bits(t)
    cdef i64vec which
    cdef f64vec high, low
    if not all_true(good, &x):
        which, high, low = n, b[0], over[0]
        trig_exact(x, good, &which, &high, &low)
        n, b[0], over[0] = which, high, low
    return n


cdef inline i64vec trig_reduced(f64vec x, f64vec* r, f64vec* low) noexcept nogil:
    """Return n of x = n pi/2 + r + low."""
    cdef f64vec b, over
    cdef i64vec n = trig_parts(x, &b, &over)
    r[0] = b - over
    low[0] = (b - r[0]) - over
    return n


cdef inline f64vec sin_rest(f64vec r, f64vec low, f64vec z) noexcept nogil:
    """sin(r + low) - r"""
    cdef f64vec v = z * r
    cdef f64vec u = polynomial(z, SIN + 1, 4)
    return -((z * (0.5 * low - v * u) - low) - v * SIN[0])


cdef inline f64vec cos_parts(f64vec r, f64vec low, f64vec z, f64vec* rest) noexcept nogil:
    cdef f64vec half = 0.5 * z
    cdef f64vec w = 1 - half
    rest[0] = ((1 - w) - half) + (z * (z * polynomial(z, COS, 5)) - r * low)
    return w


cdef inline f64vec quarter(i64vec n, f64vec r, f64vec low) noexcept nogil:
    cdef f64vec z = r * r
    cdef f64vec rest
    cdef f64vec w = cos_parts(r, low, z, &rest)
    cdef f64vec result = select(odd_numbers(n), w + rest, r + sin_rest(r, low, z))
    return number(bits(result) ^ left(right(n, 1), 63))


cdef inline f64vec sin(f64vec x) noexcept nogil:
    cdef f64vec r, low
    cdef i64vec n = trig_reduced(x, &r, &low)
    return quarter(n, r, low)


cdef inline f64vec cos(f64vec x) noexcept nogil:
    cdef f64vec r, low
    cdef i64vec n = trig_reduced(x, &r, &low)
    return quarter(plus(n, all_of(1)), r, low)


cdef inline f64vec tan_sine(f64vec r, f64vec low, f64vec z, f64vec* sl) noexcept nogil:
    """Return sin(r + low) as an unevaluated sum of two doubles: sh, and sl as an output."""
    cdef f64vec rest = sin_rest(r, low, z)
    cdef f64vec sh = r + rest
    sl[0] = rest - (sh - r)
    return sh


cdef inline f64vec tan_cosine(f64vec r, f64vec low, f64vec z, f64vec more, f64vec* cl) noexcept nogil:
    """cos(r + low) = ch + cl, with r² = z + more; returns ch."""
    cdef f64vec rest
    cdef f64vec w = cos_parts(r, low, z, &rest)
    cdef f64vec ch
    rest = rest - 0.5 * more
    ch = w + rest
    cl[0] = rest - (ch - w)
    return ch


cdef inline f64vec tan_ratio(mask odd, f64vec sh, f64vec sl, f64vec ch, f64vec cl) noexcept nogil:
    cdef f64vec ratio = quotient(select(odd, ch, sh), select(odd, cl, sl), select(odd, sh, ch), select(odd, sl, cl))
    return select(odd, -ratio, ratio)


cdef inline void tans(const f64vec* x, Py_ssize_t i, Py_ssize_t count, f64vec* out) noexcept nogil:
    """tan of up to TOGETHER vectors; i: step of x, 1 or 0."""
    cdef f64vec r[TOGETHER]
    cdef f64vec low[TOGETHER]
    cdef f64vec z[TOGETHER]
    cdef f64vec more[TOGETHER]
    cdef f64vec sl[TOGETHER]
    cdef f64vec sh[TOGETHER]
    cdef mask odd[TOGETHER]
    cdef mask good
    cdef f64vec t
    cdef int k
    for k in range(TOGETHER):
        if k == 0:
            good = trig_usual(x[0], &t, &sh[k], &sl[k])
        else:
            good = good & trig_usual(x[min(k, count - 1) * i], &t, &sh[k], &sl[k])
        odd[k] = odd_numbers(bits(t))
    if not all_true(good, x):
        for k in range(TOGETHER):
            odd[k] = odd_numbers(trig_parts(x[min(k, count - 1) * i], &sh[k], &sl[k]))
    for k in range(TOGETHER):
        r[k] = sh[k] - sl[k]
        low[k] = (sh[k] - r[k]) - sl[k]
    for k in range(TOGETHER):
        z[k] = product(r[k], r[k], &more[k])
    for k in range(TOGETHER):
        sh[k] = tan_sine(r[k], low[k], z[k], &sl[k])
    for k in range(TOGETHER):
        r[k] = tan_cosine(r[k], low[k], z[k], more[k], &low[k])
    for k in range(TOGETHER):
        out[min(k, count - 1)] = tan_ratio(odd[k], sh[k], sl[k], r[k], low[k])


# cbrt, atan2

cdef inline f64vec cbrt(f64vec x) noexcept nogil:
    cdef f64vec a = absolute(x)
    cdef mask good = ordinary(a)
    cdef mask none = less(a, a)
    cdef mask second, third
    cdef f64vec more = each(0)
    cdef f64vec e, m, k, j, s, t
    if not all_true(good, &x):
        second = less(a, each(SMALLEST))
        none = equal(a, each(0)) | ~less(a, each(INFINITY))
        more = select(second, each(-18), more)
        a = select(second, a * TWO_54, a)
    e = number(right(bits(a), 52) | all_of(TWO_52_BITS)) - EXPONENT_BIAS
    m = number((bits(a) & all_of(MANTISSA)) | all_of(ONE_BITS))
    k = (e * THIRD - THIRD + ROUND) - ROUND
    j = e - 3 * k
    third = greater_equal(j, each(1.5))
    second = greater_equal(j, each(0.5))
    t = polynomial(m, CBRT, 6) * select(third, each(ROOT_4), select(second, each(ROOT_2), each(1)))
    t = leading(t)
    m = m * select(third, each(4), select(second, each(2), each(1)))
    s = m / (t * t)
    t = t + t * ((s - t) / (t + t + s))
    return select(none, x, signed(t * power_of_two(k + more), x))


cdef inline void condition(double* a, double* b, double* direct) noexcept nogil:
    """Scale a and b, 0 <= a <= b, so that nothing overflows or underflows; direct: result for tiny a / b, else -1."""
    cdef double scale
    direct[0] = -1
    if a[0] != a[0] or b[0] != b[0]:
        a[0], b[0] = NAN, 1
    elif b[0] == 0:
        a[0], b[0], direct[0] = 0, 1, 0
    elif b[0] == INFINITY:
        if a[0] < INFINITY:
            direct[0] = 0
        a[0], b[0] = (1 if a[0] == INFINITY else 0), 1
    else:
        scale = DOWN if b[0] >= LARGE else UP if b[0] <= SMALL else 1
        if a[0] * scale <= TINY:
            direct[0] = a[0] / b[0]
            a[0], b[0] = 0, 1
        else:
            a[0], b[0] = a[0] * scale, b[0] * scale


cdef inline f64vec atan2(f64vec y, f64vec x) noexcept nogil:
    cdef f64vec zero = each(0)
    cdef f64vec one = each(1)
    cdef f64vec b = absolute(x)
    cdef f64vec a = absolute(y)
    cdef mask swap = less(b, a)
    cdef mask back = negative_f64(x)
    cdef mask good, big
    cdef f64vec direct = each(-1)
    cdef f64vec nh, nl, dh, dl, th, p, e, low, z, rest, base, u, s, eighths
    cdef Py_ssize_t i
    p = select(swap, b, a)
    b = select(swap, a, b)
    a = p
    good = less(each(SMALL), b) & less(b, each(LARGE)) & (less(each(TINY), a) | equal(a, zero))
    if not all_true(good, &x):
        for i in range(width(&x)):
            if not flags_of(good, &x) >> i & 1:
                condition(&(<double*> &a)[i], &(<double*> &b)[i], &(<double*> &direct)[i])
    big = less(b * TAN_EIGHTH, a)
    nh = select(big, a - b, a)
    nl = select(big, a - (nh + b), zero)
    dh = select(big, b + a, b)
    dl = select(big, a - (dh - b), zero)
    th = nh / dh
    p = product(th, dh, &e)
    low = -((((p - nh) + e) - nl) + th * dl) / dh
    z = th * th
    rest = th * z * polynomial(z, ATAN, 11) + (low - low * z)
    eighths = select(big, one, select(swap, each(2), zero))
    eighths = select(back, 4 - eighths, eighths)
    base = eighths * QUARTER_PI
    u = select(swap ^ back, -th, th)
    s = base + u
    s = s + ((u - (s - base)) + (select(swap ^ back, -rest, rest) + eighths * QUARTER_PI_LO))
    if not all_true(good, &x):
        s = select(~less(direct, zero) & ~swap & ~back, direct, s)
    return signed(absolute(s), y)


cdef inline void atan2s(
    const f64vec* y, Py_ssize_t i, const f64vec* x, Py_ssize_t j, Py_ssize_t count, f64vec* out,
) noexcept nogil:
    cdef Py_ssize_t n
    for n in range(count):
        out[n] = atan2(y[n * i], x[n * j])
