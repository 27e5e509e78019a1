"""Random numbers that are the same on every platform and for every version of NumPy.

NumPy promises neither: its normal() asks libm, and its uniform() is a sum of products that some
compilers contract. What is drawn here is a matter of integers and of single roundings.
"""

import math
import random

import numpy as np


class Draws:
    """As much of `numpy.random.Generator` as tests/plans.py uses."""

    def __init__(self, seed):
        self._bits = random.Random(seed).getrandbits

    def _array(self, draw, size):
        if size is None:
            return draw()
        shape = tuple(size) if np.iterable(size) else (int(size),)
        return np.array([draw() for _ in range(math.prod(shape))]).reshape(shape)

    def random(self, size=None):
        """Uniform in [0, 1)."""
        return self._array(lambda: self._bits(53) / 2**53, size)

    def uniform(self, low=0.0, high=1.0, size=None):
        return low + (high - low) * self.random(size)

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Nearly: the sum of twelve uniform numbers, less six."""
        return loc + scale * self._array(lambda: sum(self._bits(32) for _ in range(12)) / 2**32 - 6, size)

    def integers(self, low, high=None, size=None):
        """In [low, high), or in [0, low)."""
        low, high = (0, low) if high is None else (low, high)
        # The bias of a remainder of 64 bits is of no interest here.
        drawn = self._array(lambda: low + self._bits(64) % (high - low), size)
        return drawn if size is None else drawn.astype(np.int64)  # which no numbers at all would not be

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
