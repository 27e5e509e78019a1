# pow of float64 vectors, with special numbers and lockstep as in elementary.pxd.

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from .constants cimport LN2_HI, LN2_LO, MOST, POW, SIGN, SMALLEST, THIRD, TWO_54, TWO_THIRDS, TWO_THIRDS_LO
from .elementary cimport (
    TOGETHER, each, exp_parts, exp_reduced, leading, log_reduced, ordinary, polynomial, power_of_two,
    scaled,
)
from ..simd.bits cimport all_of, bits, number
from ..simd.masks cimport absolute, all_true, equal, flags_of, less, mask, select
from ..simd.vec cimport f64vec, width


cdef inline bint parity(double y, bint* odd) noexcept nogil:
    """True if y is an integer; odd: set to True if y is odd."""
    cdef double a = -y if y < 0 else y
    odd[0] = False
    if a >= 9007199254740992.0:
        return True
    if a != <double> <int64_t> a:
        return False
    odd[0] = <int64_t> a & 1
    return True


cdef inline double special_power(double x, double y, double* base, double* exponent, double* more) noexcept nogil:
    """Return x**y if no formula is needed. Else return 0 or -0 with the sign of x**y, and set arguments of the formula.

    more: set to a number to add to the binary exponent of `base`; NaN: the returned value is the result.
    """
    cdef double a = -x if x < 0 else x
    cdef int64_t i
    cdef bint odd = False
    cdef bint negative
    cdef double rate = -y if y < 0 else y
    memcpy(&i, &x, 8)
    base[0], exponent[0], more[0] = 1, 1, NAN
    if y == 0 or x == 1:
        return 1
    if x != x or y != y:
        return NAN
    if i < 0:
        a = -x
        if not parity(y, &odd) and 0 < a < INFINITY:
            return NAN
    negative = i < 0 and odd
    if rate == INFINITY:
        return 1 if a == 1 else INFINITY if (a > 1) == (y > 0) else 0.0
    if a == 0 or a == INFINITY:
        rate = INFINITY if (a == INFINITY) == (y > 0) else 0.0
        return -rate if negative else rate
    exponent[0] = MOST if y > MOST else -MOST if y < -MOST else y
    base[0], more[0] = a, 0
    if a < SMALLEST:
        base[0], more[0] = a * TWO_54, -54
    return -0.0 if negative else 0.0


# Intermediate results: x = 2**k m, m - 1 = f, m + 1 = d, s = f / d = sh + sl
ctypedef struct Power:
    f64vec k, m, f, d, inverse, s, sh, sl, g, square, lh, ll, h, low, e


cdef inline void pow_reduced(f64vec x, f64vec more, Power* p) noexcept nogil:
    p.k = log_reduced(x, &p.m) + more
    p.f = p.m - 1
    p.d = 1 + p.m
    p.inverse = 1 / p.d
    p.s = p.f * p.inverse


cdef inline void pow_polynomial(Power* p) noexcept nogil:
    cdef f64vec dh = leading(p.d)
    cdef f64vec z = p.s * p.s
    p.sh = leading(p.s)
    p.sl = ((p.f - p.sh * dh) - p.sh * (p.m - (dh - 1))) * p.inverse
    p.square = p.sh * p.sh
    p.g = z * z * polynomial(z, POW, 7) + p.sl * (p.sh + p.s)


cdef inline void pow_logarithm(Power* p) noexcept nogil:
    """ln x = lh + ll"""
    cdef f64vec th = leading(3 + p.square + p.g)
    cdef f64vec tl = p.g - ((th - 3) - p.square)
    cdef f64vec u = p.sh * th
    cdef f64vec w = p.sl * th + tl * p.s
    cdef f64vec uh = leading(u + w)
    cdef f64vec ul = w - (uh - u)
    cdef f64vec a = p.k * LN2_HI
    cdef f64vec b = TWO_THIRDS * uh
    cdef f64vec s = a + b
    cdef f64vec low = (b - (s - a)) + (TWO_THIRDS_LO * uh + ul * (2 * THIRD) + p.k * LN2_LO)
    p.lh = leading(s + low)
    p.ll = low - (p.lh - s)


cdef inline bint pow_product(f64vec y, Power* p) noexcept nogil:
    """Set k, h and low: y ln x = k ln 2 + h - low. True if x**y is a normal number in all lanes."""
    cdef f64vec yh = leading(y)
    cdef f64vec ph = yh * p.lh
    cdef f64vec pl = (y - yh) * p.lh + y * p.ll
    cdef bint near = all_true(less(absolute(ph), each(700)), &y)
    cdef f64vec e
    if not near:
        e = select(less(each(800), ph), each(800), ph)
        e = select(less(e, each(-800)), each(-800), e)
        pl = select(less(each(800), absolute(ph)), each(0), pl)
        ph = e
    p.low = exp_reduced(ph, &p.k, &p.h) - pl
    return near


cdef inline f64vec pow_power(Power* p, bint near) noexcept nogil:
    cdef f64vec s = exp_parts(p.h, p.low, &p.e)
    s = s + p.e
    return s * power_of_two(p.k) if near else scaled(s, p.k)


cdef inline f64vec pow(f64vec x, f64vec y) noexcept nogil:
    cdef mask good = ordinary(x) & less(absolute(y), each(MOST))
    cdef f64vec special = each(0)
    cdef f64vec more = each(0)
    cdef f64vec m, h, s
    cdef bint near
    cdef Power p
    cdef Py_ssize_t i
    if not all_true(good, &x):
        m, h = x, y
        for i in range(width(&x)):
            if not flags_of(good, &x) >> i & 1:
                (<double*> &special)[i] = special_power(
                    (<double*> &m)[i], (<double*> &h)[i],
                    &(<double*> &x)[i], &(<double*> &y)[i], &(<double*> &more)[i],
                )
    pow_reduced(x, select(equal(more, more), more, each(0)), &p)
    pow_polynomial(&p)
    pow_logarithm(&p)
    near = pow_product(y, &p)
    s = pow_power(&p, near)
    if not all_true(good, &x):
        s = number(bits(s) | (bits(special) & all_of(SIGN)))
        s = select(good | equal(more, more), s, special)
    return s


cdef inline void pows(
    const f64vec* x, Py_ssize_t i, const f64vec* y, Py_ssize_t j, Py_ssize_t count, f64vec* out,
) noexcept nogil:
    """x**y of up to TOGETHER vectors; i and j are steps, 1 or 0."""
    cdef Power p[TOGETHER]
    cdef bint near[TOGETHER]
    cdef mask good = equal(x[0], x[0])
    cdef int k
    for k in range(TOGETHER):
        good = good & ordinary(x[min(k, count - 1) * i]) & less(absolute(y[min(k, count - 1) * j]), each(MOST))
    if not all_true(good, x):
        for k in range(count):
            out[k] = pow(x[k * i], y[k * j])
        return
    for k in range(TOGETHER):
        pow_reduced(x[min(k, count - 1) * i], each(0), &p[k])
    for k in range(TOGETHER):
        pow_polynomial(&p[k])
    for k in range(TOGETHER):
        pow_logarithm(&p[k])
    for k in range(TOGETHER):
        near[k] = pow_product(y[min(k, count - 1) * j], &p[k])
    for k in range(TOGETHER):
        out[min(k, count - 1)] = pow_power(&p[k], near[k])
