"""sin, exp and other functions in Python's floats: the definition of `kickdrift.math`, bit by bit.

They consist of + - * / and square roots, each rounded once, and of exact operations on bits. So the results do not
depend on the platform's libm. Errors stay below 1 ulp (tests/kernels/test_functions.py compares with mpmath). For
float32 the float64 result is rounded. That is the nearest float32, except for the few arguments in NEAREST: their
results are so close to the midpoint of two float32 that the float64 result is that midpoint.
`tools/prove.py functions` tests all of them.

Polynomials are Chebyshev interpolants of 50 digits, rounded (tools/polynomials.py). exp and log are as in fdlibm (Ng
1993), without tables. Arguments of sin, cos and tan are reduced as by Cody and Waite (1980), or exactly as by Payne
and Hanek (1983). Extended precision is a sum of two floats (Dekker 1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .floats import (
    INF,
    NAN,
    ROUND,
    bits,
    flipped,
    leading,
    number,
    polynomial,
    power_of_two,
    product,
    quotient,
    scaled,
    signed,
)

SMALLEST = 2.0**-1022  # smallest normal float
LN2_HI, LN2_LO, INVERSE_LN2 = 0.6931471806019545, -4.2009150726810846e-11, 1.4426950408889634  # LN2_HI has 32 bits
EXP = (
    0.5, 0.1666666666666667, 0.04166666666666667, 0.00833333333332612, 0.0013888888888883737, 0.00019841269874873975,
    2.480158732558584e-05, 2.755725533255441e-06, 2.7557273594799413e-07, 2.510524515390137e-08, 2.0914707069612355e-09,
)  # fmt: skip
LOG = (
    0.666666666666667, 0.39999999999899444, 0.2857142862600327, 0.22222211130259878, 0.18182889455674947,
    0.15331710618210773, 0.14616585424888623,
)  # fmt: skip
POW = (
    0.6, 0.4285714285714405, 0.3333333333248383, 0.272727275030892,
    0.23076892443777647, 0.20002207040770967, 0.1755935450923681, 0.17584767935814777,
)  # fmt: skip
SIN = (
    -0.16666666666666666, 0.008333333333330946, -0.0001984126983675497, 2.755731610068303e-06,
    -2.5051131455427946e-08, 1.591810123027412e-10,
)  # fmt: skip
COS = (
    0.041666666666666664, -0.0013888888888887395, 2.4801587298763433e-05, -2.7557317270560326e-07,
    2.0876146024689747e-09, -1.1382614868556325e-11,
)  # fmt: skip
ATAN = (
    -0.3333333333333333, 0.19999999999999804, -0.14285714285659779, 0.11111111105150588, -0.09090908753259112,
    0.07692296368042296, -0.0666642476020052, 0.05878927554473807, -0.05230443640686948, 0.045515447340221615,
    -0.03456931506332609, 0.016284375050043393,
)  # fmt: skip
CBRT = (
    0.44864263080415745, 0.9437338117552575, -0.655068561722188, 0.3751475301420356, -0.13924853171031618,
    0.029496704251914946, -0.002703333870412061,
)  # fmt: skip
ROOTS = (1.0, 1.2599210498948732, 1.5874010519681996)  # cube roots of 1, 2 and 4
THIRD = 0.3333333333333333
TWO_THIRDS, TWO_THIRDS_LO = 0.6666666567325592, 9.934107462565104e-09  # TWO_THIRDS has 26 bits
TWO_OVER_PI = 0.6366197723675814
# pi/2 as a sum of three floats. The first two have 33 significant bits: products with small integers are exact.
HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
HALF_PI_HI, HALF_PI_LO = 1.5707963267948966, 6.123233995736766e-17
FAR = 400000.0  # limit of the simple reduction of arguments of sin, cos and tan
NEAR = 2.0**-14  # if the reduced argument is smaller than this, reduce exactly
#: The fractional bits of 2/pi, as many as the exponents of float64 need.
TWO_OVER_PI_BITS = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee8"
    "8235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f46"
    "3f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)
BITS = 1280
TAN_EIGHTH = 0.41421356237309503  # tan(pi / 8)
QUARTER_PI, QUARTER_PI_LO = 0.7853981633974492, -8.575622497214414e-16  # QUARTER_PI has 49 bits


# exp, tanh, log


def exp(x: float) -> float:
    """Return e**x = 2**k e**r, k an integer, |r| <= ln 2 / 2.

    >>> exp(1.0), exp(-1000.0), exp(1000.0)
    (2.718281828459045, 0.0, inf)
    """
    x = 710.0 if x > 710 else -746.0 if x < -746 else x
    k, h, low = exp_reduced(x)
    s, tail = exp_parts(h, low)
    return scaled(s + tail, k)


def exp_reduced(x: float) -> tuple[float, float, float]:
    """Return (k, h, l): x = k ln 2 + h - l; h is exact."""
    if x != x:
        return 0.0, x, 0.0
    k = (x * INVERSE_LN2 + ROUND) - ROUND
    return k, x - k * LN2_HI, k * LN2_LO


def exp_parts(h: float, low: float) -> tuple[float, float]:
    """Return e**(h - l) as a sum of two floats; the larger one is 1 + h, rounded."""
    r = h - low
    s = 1 + h
    return s, (h - (s - 1)) + (r * r * polynomial(r, EXP) - low)


def tanh(x: float) -> float:
    """Return (e**y - 1) / (e**y - 1 + 2) for y = 2 |x|, both as sums of two floats.

    >>> tanh(0.5), tanh(-30.0)
    (0.46211715726000974, -1.0)
    """
    y = 2 * abs(x)
    y = 44.0 if y > 44 else y
    k, h, low = exp_reduced(y)
    r = h - low
    tail = r * r * polynomial(r, EXP) - low
    power = power_of_two(k)
    a, b = power - 1, power * h
    s = a + b
    rest = (b - (s - a)) + power * tail
    nh = s + rest
    nl = rest - (nh - s)
    dh = 2 + nh
    back = dh - 2
    dl = ((2 - (dh - back)) + (nh - back)) + nl
    return signed(quotient(nh, nl, dh, dl), x)


def log_reduced(x: float) -> tuple[float, float]:
    """Return (k, m): x = 2**k m, m between sqrt(1/2) and sqrt(2), for a normal x > 0."""
    shifted = bits(x) + (bits(1.0) - LOG_OFFSET)
    m = number(bits(x) - (shifted & EXPONENT) + bits(1.0))
    return number(shifted >> 52 | bits(2.0**52)) - (2.0**52 + 1023), m


LOG_OFFSET = 0x3FE6A09E00000000  # slightly less than sqrt(1/2)
EXPONENT = 0xFFF << 52


def log(x: float) -> float:
    """Return ln x = k ln 2 + ln m; with f = m - 1 and s = f / (2 + f), ln m = f - f²/2 + s (f²/2 + R(s²)).

    >>> log(2.718281828459045), log(0.0), log(-1.0), log(1.0)
    (1.0, -inf, nan, 0.0)
    """
    if not SMALLEST <= x < INF:
        if x == 0:
            return -INF
        if not 0 < x < INF:
            return x if x == INF else NAN
        return log_parts(*log_reduced(x * 2.0**54), -54.0)
    return log_parts(*log_reduced(x), 0.0)


def log_parts(k: float, m: float, more: float) -> float:
    k = k + more
    f = m - 1
    s = f / (2 + f)
    z = s * s
    half = 0.5 * f * f
    return k * LN2_HI - ((half - (s * (half + z * polynomial(z, LOG)) + k * LN2_LO)) - f)


# sin, cos, tan


def trig_reduced(x: float) -> tuple[int, float, float]:
    """Return (n, r, l): x = n pi/2 + r + l, |r| <= pi/4 or slightly more; only n mod 4 is used."""
    if abs(x) < FAR:
        t = x * TWO_OVER_PI + ROUND
        n = t - ROUND
        a = x - n * HALF_PI[0]
        w = n * HALF_PI[1]
        b = a - w
        over = (w - (a - b)) + n * HALF_PI[2]
        r = b - over
        if n == 0 or abs(a) >= NEAR:
            return bits(t) & 3, r, (b - r) - over
    return exactly_reduced(x)


def exactly_reduced(x: float) -> tuple[int, float, float]:
    """Reduce any x, with 190 fractional bits of x 2/pi (Payne and Hanek 1983).

    x is an integer times 2**e. 192 bits of 2/pi are used: higher ones contribute multiples of 4 to the product,
    lower ones are negligible.
    """
    if x - x != 0:
        return 0, NAN, NAN
    i = bits(x)
    e = (i >> 52 & 0x7FF) - 1075
    mantissa = i & (2**52 - 1) | 2**52
    first = max(e - 2, 0)  # number of skipped bits of 2/pi
    window = TWO_OVER_PI_BITS >> BITS - first - 192 & (2**192 - 1)
    # Two bits of the product are before the binary point.
    p = (mantissa * window >> first + 2 - e) & (2**192 - 1)
    n = (p + 2**189 >> 190) & 3
    p = p + 2**189 & (2**190 - 1)
    negative = p < 2**189
    p = 2**189 - p if negative else p - 2**189
    # Split the fraction into its first 53 significant bits and the next 53.
    shift = 192 - p.bit_length()
    p = p << shift
    fh, fl = math.ldexp(p >> 139, 139 - 190 - shift), math.ldexp(p >> 86 & 2**53 - 1, 86 - 190 - shift)
    b, rest = product(fh, HALF_PI_HI)
    rest = rest + (fh * HALF_PI_LO + fl * HALF_PI_HI)
    r = b + rest
    low = rest - (r - b)
    sign = int(negative) ^ i >> 63
    return (-n if i >> 63 else n) & 3, flipped(r, sign), flipped(low, sign)


def sin_rest(r: float, low: float, z: float) -> float:
    """Return sin(r + l) - r, with z = r² (as fdlibm's __kernel_sin)."""
    v = z * r
    u = polynomial(z, SIN[1:])
    return -((z * (0.5 * low - v * u) - low) - v * SIN[0])


def cos_parts(r: float, low: float, z: float) -> tuple[float, float]:
    """Return cos(r + l) as a sum of two floats; the larger one is 1 - z/2, rounded (as fdlibm's __kernel_cos)."""
    half = 0.5 * z
    w = 1 - half
    return w, ((1 - w) - half) + (z * (z * polynomial(z, COS)) - r * low)


def sin(x: float) -> float:
    """Evaluate sin or cos of the reduced argument, by quadrant.

    >>> sin(1.0), sin(1e300), sin(-0.0)
    (0.8414709848078965, -0.8178819121159085, -0.0)
    """
    n, r, low = trig_reduced(x)
    return quarter(n, r, low)


def cos(x: float) -> float:
    """Evaluate sin or cos of the reduced argument, by quadrant.

    >>> cos(1.0), cos(1e300), cos(float("inf"))
    (0.5403023058681398, -0.5753861119575491, nan)
    """
    n, r, low = trig_reduced(x)
    return quarter(n + 1, r, low)


def quarter(n: int, r: float, low: float) -> float:
    z = r * r
    w, rest = cos_parts(r, low, z)
    return flipped(w + rest if n & 1 else r + sin_rest(r, low, z), n >> 1 & 1)


def tan(x: float) -> float:
    """Return sin / cos, or in odd quadrants -cos / sin, of the reduced argument, as sums of two floats.

    >>> tan(1.0), tan(1.5707963267948966), tan(-0.0)
    (1.5574077246549023, 1.633123935319537e+16, -0.0)
    """
    n, r, low = trig_reduced(x)
    z, more = product(r, r)
    rest = sin_rest(r, low, z)
    sh = r + rest
    sl = rest - (sh - r)
    w, rest = cos_parts(r, low, z)
    rest = rest - 0.5 * more
    ch = w + rest
    cl = rest - (ch - w)
    if n & 1:
        return flipped(quotient(ch, cl, sh, sl), 1)
    return quotient(sh, sl, ch, cl)


# cbrt, atan2, pow


def cbrt(x: float) -> float:
    """Return the cube root of x = 2**(3 k) m, 1 <= m < 8: a polynomial, then a step of Halley's method.

    >>> cbrt(27.0), cbrt(-2.0), cbrt(-0.0), cbrt(float("-inf"))
    (3.0, -1.2599210498948732, -0.0, -inf)
    """
    a, more = abs(x), 0.0
    if not SMALLEST <= a < INF:
        if not 0 < a < INF:
            return x
        a, more = a * 2.0**54, -18.0
    i = bits(a)
    e = number(i >> 52 | bits(2.0**52)) - (2.0**52 + 1023)
    m = number(i & (2**52 - 1) | bits(1.0))
    k = (e * THIRD - THIRD + ROUND) - ROUND
    j = e - 3 * k
    t = polynomial(m, CBRT) * (ROOTS[0] if j < 0.5 else ROOTS[1] if j < 1.5 else ROOTS[2])
    t = leading(t)
    m = m * (1.0 if j < 0.5 else 2.0 if j < 1.5 else 4.0)
    s = m / (t * t)
    t = t + t * ((s - t) / (t + t + s))
    return signed(t * power_of_two(k + more), x)


def atan2(y: float, x: float) -> float:
    """Return the angle of (x, y) in rad, by the atan of a ratio of at most tan(pi / 8).

    >>> atan2(1.0, 1.0), atan2(-0.0, -1.0), atan2(0.0, 0.0), atan2(1e-300, 1e300)
    (0.7853981633974483, -3.141592653589793, 0.0, 0.0)
    """
    a, b = abs(y), abs(x)
    swap, back = a > b, bits(x) >> 63
    a, b = (b, a) if swap else (a, b)
    direct = None
    if not (2.0**-500 < b < 2.0**500 and (a > 2.0**-900 or a == 0)):
        a, b, direct = conditioned(a, b)
        if direct is not None and (swap or back):
            direct = None
    big = a > b * TAN_EIGHTH
    # Numerator and denominator, as sums of two floats.
    nh = a - b if big else a
    nl = (a - (nh + b)) if big else 0.0
    dh = b + a if big else b
    dl = a - (dh - b) if big else 0.0
    th = nh / dh
    p, e = product(th, dh)
    low = -((((p - nh) + e) - nl) + th * dl) / dh
    z = th * th
    rest = th * z * polynomial(z, ATAN) + (low - low * z)
    # The result is a multiple of pi/4, plus or minus the atan of the ratio.
    eighths = (1.0 if big else 0.0) if not swap else (1.0 if big else 2.0)
    minus = int(swap)
    if back:
        eighths, minus = 4 - eighths, 1 - minus
    base = eighths * QUARTER_PI
    u = flipped(th, minus)
    s = base + u
    result = s + ((u - (s - base)) + (flipped(rest, minus) + eighths * QUARTER_PI_LO))
    return signed(abs(result if direct is None else direct), y) if result == result else NAN


def conditioned(a: float, b: float) -> tuple[float, float, float | None]:
    """Scale two numbers against overflow and underflow; also return a / b if its atan is equal to it, else None."""
    if a != a or b != b:
        return NAN, 1.0, None
    if b == 0:
        return 0.0, 1.0, 0.0
    if b == INF:
        return (1.0, 1.0, None) if a == INF else (0.0, 1.0, 0.0)
    scale = 2.0**-600 if b >= 2.0**500 else 2.0**600 if b <= 2.0**-500 else 1.0
    if a * scale <= 2.0**-900:
        return 0.0, 1.0, a / b
    return a * scale, b * scale, None


def pow(x: float, y: float) -> float:
    """Return e**(y ln x), with ln x and its product with y as sums of two floats.

    ln m = 2/3 s (3 + z + z² W(z)), s = (m - 1) / (m + 1), z = s², where products of the first 26 bits are exact, as in
    fdlibm (Ng 1993). Special values are those of C (F.10.4.4).

    >>> pow(2.0, 0.5), pow(-2.0, 3.0), pow(0.0, -1.0), pow(-8.0, 1 / 3)
    (1.4142135623730951, -8.0, inf, nan)
    """
    if SMALLEST <= x < INF and abs(y) < 2.0**900:
        return pow_parts(x, y, 0.0)
    if y == 0 or x == 1:
        return 1.0
    if x != x or y != y:
        return NAN
    a, sign = abs(x), 0
    if bits(x) >> 63:
        whole, odd = parity(y)
        if not whole and 0 < a < INF:
            return NAN
        sign = int(odd)
    if abs(y) == INF:
        return 1.0 if a == 1 else INF if (a > 1) == (y > 0) else 0.0
    if a == 0 or a == INF:
        return flipped(INF if (a == INF) == (y > 0) else 0.0, sign)
    y = 2.0**900 if y > 2.0**900 else -(2.0**900) if y < -(2.0**900) else y
    if a < SMALLEST:
        return flipped(pow_parts(a * 2.0**54, y, -54.0), sign)
    return flipped(pow_parts(a, y, 0.0), sign)


def parity(y: float) -> tuple[bool, bool]:
    """Return whether a number is an integer, and whether it is odd."""
    a = abs(y)
    if a >= 2.0**53:
        return True, False
    whole = a == float(int(a))
    return whole, whole and int(a) % 2 == 1


def pow_parts(x: float, y: float, more: float) -> float:
    k, m = log_reduced(x)
    k = k + more
    f = m - 1
    d = 1 + m
    inverse = 1 / d
    s = f * inverse
    sh, dh = leading(s), leading(d)
    sl = ((f - sh * dh) - sh * (m - (dh - 1))) * inverse
    z = s * s
    square = sh * sh
    g = z * z * polynomial(z, POW) + sl * (sh + s)
    th = leading(3 + square + g)
    tl = g - ((th - 3) - square)
    u = sh * th
    w = sl * th + tl * s
    uh = leading(u + w)
    ul = w - (uh - u)
    # ln x = k ln 2 + 2/3 (uh + ul)
    a, b = k * LN2_HI, TWO_THIRDS * uh
    total = a + b
    low = (b - (total - a)) + (TWO_THIRDS_LO * uh + ul * (2 * THIRD) + k * LN2_LO)
    lh = leading(total + low)
    ll = low - (lh - total)
    yh = leading(y)
    ph = yh * lh
    pl = (y - yh) * lh + y * ll
    if ph > 800 or ph < -800:
        ph, pl = (800.0 if ph > 0 else -800.0), 0.0
    k, h, low = exp_reduced(ph)
    s, tail = exp_parts(h, low - pl)
    return scaled(s + tail, k)


def sqrt(x: float) -> float:
    return NAN if x < 0 else math.sqrt(x)


#: Functions by their name in `kickdrift.math`.
FUNCTIONS: dict[str, Callable[..., float]] = {
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "exp": exp,
    "log": log,
    "sqrt": sqrt,
    "tanh": tanh,
    "cbrt": cbrt,
    "pow": pow,
    "atan2": atan2,
}

UP, DOWN = 1 + 2.0**-50, 1 - 2.0**-50
#: For float32: {function: {bits of the argument: factor on its float64 result}}. For odd and even functions: bits of
#: the argument > 0.
NEAREST: dict[str, dict[int, float]] = {
    "sin": {0x46199998: DOWN},
    "cos": {0x5F18B878: DOWN, 0x6115CB11: UP},
    "log": {0x3C413D3A: DOWN, 0x41178FEB: DOWN, 0x4C5D65A5: UP, 0x65D890D3: UP, 0x6F31A8EC: UP},
}


def call(name: str, real: type, *arguments: Any) -> Any:
    """Apply a function to numbers of a type: float, or a NumPy scalar."""
    result = FUNCTIONS[name](*map(float, arguments))
    if name in NEAREST and real is not float and real(0).itemsize == 4:
        near = int(arguments[0].view("u4")) & (0xFFFFFFFF if name in ("exp", "log") else 0x7FFFFFFF)
        result = result * NEAREST[name].get(near, 1.0)
    return real(result)
