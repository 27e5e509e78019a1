"""Checksum of a state, bit by bit, in plain Python."""

import numpy as np

PLACE, NAN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x7FF8000000000000)
LOW = np.uint64(0xFFFFFFFF)


def digest(array: np.ndarray, place: int) -> int:
    """Return the sum modulo 2**64 of the hashes of all numbers. place: index of the first number.

    A hash mixes bits and index. A sum has no order: it does not depend on layout, lane width and thread count.
    """
    numbers = array.ravel() + array.dtype.type(0)  # + 0 turns -0 into 0
    bits = numbers.view(np.uint32 if array.dtype == np.float32 else np.uint64).astype(np.uint64)
    bits[np.isnan(numbers)] = NAN
    keys = bits ^ (place + np.arange(len(bits), dtype=np.uint64)) * PLACE
    return int((bits + (keys & LOW) * (keys >> 32)).sum())
