"""Random numbers that are reproducible on every platform and NumPy version.

NumPy guarantees neither: its normal() calls libm, and its uniform() is a sum of products that some compilers
contract to FMA. These draws use integers and single roundings only.
"""

import math
import random

import numpy as np


class Draws:
    """The part of the `numpy.random.Generator` interface that tests/plans.py uses."""

    def __init__(self, seed):
        self._bits = random.Random(seed).getrandbits

    def _words(self, each, size):
        """Draw `each` 32-bit words per array element, in the order in which scalar draws would consume them."""
        shape = tuple(size) if np.iterable(size) else (int(size),)
        count = math.prod(shape) * each
        drawn = self._bits(32 * count).to_bytes(4 * count, "little") if count else b""
        return np.frombuffer(drawn, "<u4").astype(np.uint64).reshape(*shape, each)

    def random(self, size=None):
        """Uniform in [0, 1)."""
        if size is None:
            return self._bits(53) / 2**53
        words = self._words(2, size)
        return (words[..., 0] | words[..., 1] >> 11 << 32) / 2**53

    def uniform(self, low=0.0, high=1.0, size=None):
        return low + (high - low) * self.random(size)

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Approximately normal: the sum of twelve uniform numbers, minus 6."""
        total = sum(self._bits(32) for _ in range(12)) if size is None else self._words(12, size).sum(axis=-1)
        return loc + scale * (total / 2**32 - 6)

    def integers(self, low, high=None, size=None):
        """Uniform integers in [low, high), or in [0, low)."""
        low, high = (0, low) if high is None else (low, high)
        # The modulo bias of a 64-bit remainder is negligible here.
        if size is None:
            return low + self._bits(64) % (high - low)
        words = self._words(2, size)
        return low + ((words[..., 0] | words[..., 1] << 32) % (high - low)).astype(np.int64)

    def choice(self, values, size=None, replace=True):
        values = np.arange(values) if isinstance(values, int) else np.asarray(values)
        if replace:
            return values[self.integers(len(values), size=size)]
        return self.permutation(values)[:size]

    def permutation(self, values):
        values = np.arange(values) if isinstance(values, int) else np.array(values)
        for i in range(len(values) - 1, 0, -1):
            j = self.integers(i + 1)
            values[[i, j]] = values[[j, i]]
        return values
