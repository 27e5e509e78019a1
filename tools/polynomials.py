"""Polynomials and constants of reference/functions.py: their derivation and errors.

    python tools/polynomials.py

Each polynomial interpolates a function at Chebyshev points, computed with 50 digits and rounded to float64; the last
number is the binary logarithm of its largest error. Finally reports whether they equal those of the reference.
"""

from mpmath import atan, cbrt, chebyfit, cos, exp, log, mp, mpf, sin, sqrt

from kickdrift.reference import functions

mp.dps = 50
MORE = mpf("1.0001")  # margin for rounding in the argument reduction


def exp_rest(r):
    """(e**r - 1 - r) / r²"""
    return (exp(r) - 1 - r) / r**2 if abs(r) > mpf(10) ** -12 else mpf(1) / 2 + r / 6 + r * r / 24


def log_rest(z):
    """(ln((1 + s) / (1 - s)) - 2 s) / s³, z = s²"""
    s = sqrt(z)
    return (log((1 + s) / (1 - s)) - 2 * s) / (s * z) if z > mpf(10) ** -14 else mpf(2) / 3 + 2 * z / 5


def pow_rest(z):
    """(3 (ln((1 + s) / (1 - s)) / 2 - s) / s³ - 1) / z, z = s²"""
    s = sqrt(z)
    if z < mpf(10) ** -9:
        return 3 * (mpf(1) / 5 + z / 7 + z * z / 9)
    return (3 * (log((1 + s) / (1 - s)) / 2 - s) / (s * z) - 1) / z


def sin_rest(z):
    """(sin s - s) / s³, z = s²"""
    s = sqrt(z)
    return (sin(s) - s) / (s * z) if z > mpf(10) ** -12 else -mpf(1) / 6 + z / 120


def cos_rest(z):
    """(cos s - 1 + z/2) / z², z = s²"""
    return (cos(sqrt(z)) - 1 + z / 2) / z**2 if z > mpf(10) ** -12 else mpf(1) / 24 - z / 720


def atan_rest(z):
    """(atan s - s) / s³, z = s²"""
    s = sqrt(z)
    return (atan(s) - s) / (s * z) if z > mpf(10) ** -12 else -mpf(1) / 3 + z / 5


LN2 = mpf("0.3467")  # a little more than ln(2) / 2
S = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * MORE  # (m - 1)² / (m + 1)² for m = sqrt(2)
QUARTER = (mp.pi / 4 * MORE) ** 2
FITS = {
    "EXP": (exp_rest, -LN2, LN2),
    "LOG": (log_rest, 0, S),
    "POW": (pow_rest, 0, S),
    "SIN": (sin_rest, 0, QUARTER),
    "COS": (cos_rest, 0, QUARTER),
    "ATAN": (atan_rest, 0, (sqrt(2) - 1) ** 2 * MORE),
    "CBRT": (cbrt, 1, 2),
}


def main():
    for name, (function, low, high) in FITS.items():
        known = getattr(functions, name)
        fitted, error = chebyfit(function, [low, high], len(known), error=True)
        rounded = tuple(float(c) for c in fitted[::-1])
        print(name, rounded, f"{float(mp.log(error, 2)):.1f}", "as in the reference" if rounded == known else "OTHERS")


if __name__ == "__main__":
    main()
