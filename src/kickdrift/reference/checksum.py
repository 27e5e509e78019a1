"""The digest of a state's bits, in plain Python."""

import math
import struct

import numpy as np

PLACE, NAN = 0x9E3779B97F4A7C15, 0x7FF8000000000000
MASK = 2**64 - 1


def digest(array: np.ndarray, place: int) -> int:
    """The sum over all numbers of their bits and place, mixed; the first counts as number `place`.

    A sum has no order, so that every layout, lane width and thread count comes to the same.
    """
    form = "<fI" if array.dtype == np.float32 else "<dQ"
    total = 0
    for number in map(float, array.ravel()):
        if math.isnan(number):
            bits = NAN
        else:
            (bits,) = struct.unpack("<" + form[2], struct.pack("<" + form[1], number + 0.0))  # -0 + 0 is 0
        key = bits ^ place * PLACE & MASK
        total += bits + (key & 0xFFFFFFFF) * (key >> 32)
        place += 1
    return total & MASK
