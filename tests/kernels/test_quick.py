"""Error bounds of the fast formulas of float32 pow and atan2, which have too many arguments to test all.

A float64 result is rounded to float32 unless it is within 2**16 ulps of the middle of two floats: at least 2**-37 of
it (`doubtful` in kernels/simd/bits.pxd). Formulas with smaller errors give the nearest float. Here they are
evaluated like in the kernels, with + - * / in the same order, and compared with a wider type.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from plans import each_isa

import kickdrift as kd

SOURCE = Path(__file__).parents[2] / "src" / "kickdrift" / "kernels" / "functions" / "quick.pxd"
LIMIT = 2.0**-37

if not SOURCE.exists():
    pytest.skip("not in this copy", allow_module_level=True)
pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no type is wider than float64 here")


def coefficients(name):
    text = SOURCE.read_text("utf-8")
    numbers = re.search(rf"kd_quick_{name}\[\] = {{ */\*.*?\*/(.*?)}};", text, re.S)
    return [float(number) for number in numbers[1].replace(",", " ").split()]


def constant(name):
    return float(re.search(rf' {name} "\(?(\S+?)f?\)?"', SOURCE.read_text("utf-8"))[1])


def polynomial(z, c):
    """Evaluate like kernels/functions/elementary.pxd."""
    square = z * z
    parts = []
    for some in (c[::2], c[1::2]):
        total = np.full_like(z, some[-1])
        for number in some[-2::-1]:
            total = total * square + number
        parts.append(total)
    return parts[0] + z * parts[1]


def horner(z, c):
    total = z * c[-1] + c[-2]
    for number in c[-3::-1]:
        total = total * z + number
    return total


def off(values, true):
    """Return the largest relative error."""
    return float(np.max(np.abs((values - true) / true)))


def test_the_error_of_pow_is_below_the_limit():
    # Every third mantissa between sqrt(1/2) and sqrt(2), except 1, whose logarithm is 0.
    first, last = 0x3F3504F3, 0x3FB504F4
    worst = 0.0
    for start in range(first, last, 2**20):
        m = np.arange(start, min(start + 2**20, last), 3, dtype=np.uint32).view(np.float32)
        m = m[m != 1].astype(np.float64)
        s = (m - 1) / (m + 1)
        worst = max(worst, off(s * horner(s * s, coefficients("log2")), np.log2(m.astype(np.longdouble))))
    # The exponent adds an integer; sum and product are rounded. |y log2 x| is below 126, or the formula is not used.
    logarithm = worst + 2 * 2.0**-53
    exponent = constant("RANGE") * logarithm * np.log(2)
    r = np.linspace(-0.5, 0.5, 2**20 + 1)
    power = off(polynomial(r, coefficients("power")), np.exp2(r.astype(np.longdouble)))
    assert exponent + power < 0.9 * LIMIT, (np.log2(logarithm), np.log2(power))
    # The variant with a table rounds its entries and the product.
    r = r / 8
    power = off(horner(r, coefficients("power_8")), np.exp2(r.astype(np.longdouble))) + 2 * 2.0**-53
    assert exponent + power < 0.9 * LIMIT, (np.log2(logarithm), np.log2(power))


def test_the_error_of_atan2_is_below_the_limit():
    # The smaller argument over the larger is reduced to at most tan(pi / 8); sums and differences of the floats
    # are exact in float64.
    q = np.linspace(2.0**-20, 2**0.5 - 1 + 2.0**-22, 2**20)
    true = np.arctan(q.astype(np.longdouble))
    worst = off(q * horner(q * q, coefficients("atan")), true) + 2 * 2.0**-53
    # The angle is added to or subtracted from one to four eighths of a turn: at least half an eighth remains.
    total = worst + 4 * 2 * 2.0**-52
    assert total < 0.9 * LIMIT, np.log2(total)


@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_special_floats(name, monkeypatch):
    special = [0, 1, 2, 0.5, 3, 1e-45, 1e-40, 6.5658e-40, 1.2e-38, 2.4e-38, 1e-30, 1e30, 3.4e38, np.inf, np.nan, 126]
    special += [0.50000006, 0.99999994]
    special = np.array([*special, *(-np.array(special))], np.float32)
    pairs = np.array([*itertools.product(special, special)], np.float32)
    function = getattr(kd.math, name)
    for isa in each_isa(monkeypatch):
        with np.errstate(all="ignore"):
            wide = function(*pairs.astype(np.float64).T).astype(np.float32)
        ours = function(*pairs.T)
        assert ((ours.view(np.uint32) == wide.view(np.uint32)) | (np.isnan(ours) & np.isnan(wide))).all(), isa
        # Test each special value between ordinary neighbours.
        for i, (a, b) in enumerate(pairs[::7]):
            x, y = np.full((2, 70), 1.5, np.float32)
            x[33], y[33] = a, b
            found = function(x, y)
            assert found[33] == wide[::7][i] or np.isnan(found[33])
            assert (np.delete(found, 33) == found[0]).all()
