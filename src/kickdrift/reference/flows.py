"""The built-in right-hand sides, and a sine that is bitwise equal on all platforms.

A flow is a class of parameters with two methods: the rate of change, and its Jacobian for the implicit method. Matrices
are lists of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..declaration import require_entries
from ..flows import Flow, sine_constants
from .vector import Number


@dataclass
class Lorenz:
    sigma: Number
    rho: Number
    beta: Number

    def rate(self, x, y, z):
        return self.sigma * (y - x), x * (self.rho - z) - y, x * y - self.beta * z

    def jacobian(self, x, y, z):
        return [[-self.sigma, self.sigma, 0], [self.rho - z, -1, -x], [y, x, -self.beta]]


@dataclass
class Rossler:
    a: Number
    b: Number
    c: Number

    def rate(self, x, y, z):
        return -y - z, x + self.a * y, self.b + z * (x - self.c)

    def jacobian(self, x, y, z):
        return [[0, -1, -1], [1, self.a, 0], [z, 0, x - self.c]]


@dataclass
class Thomas:
    b: Number

    def rate(self, x, y, z):
        return sine(y) - self.b * x, sine(z) - self.b * y, sine(x) - self.b * z

    def jacobian(self, x, y, z):
        return [[-self.b, cosine(y), 0], [0, -self.b, cosine(z)], [cosine(x), 0, -self.b]]


@dataclass
class Halvorsen:
    a: Number

    def rate(self, x, y, z):
        a = self.a
        return (
            -a * x - 4 * y - 4 * z - y * y,
            -a * y - 4 * z - 4 * x - z * z,
            -a * z - 4 * x - 4 * y - x * x,
        )

    def jacobian(self, x, y, z):
        a = self.a
        return [[-a, -4 - 2 * y, -4], [-4, -a, -4 - 2 * z], [-4 - 2 * x, -4, -a]]


@dataclass
class Aizawa:
    a: Number
    b: Number
    c: Number
    d: Number
    e: Number
    f: Number

    def rate(self, x, y, z):
        return (
            (z - self.b) * x - self.d * y,
            self.d * x + (z - self.b) * y,
            self.c + self.a * z - z * z * z / 3 - (x * x + y * y) * (1 + self.e * z) + self.f * z * (x * x * x),
        )

    def jacobian(self, x, y, z):
        by_x = -2 * x * (1 + self.e * z) + 3 * self.f * z * (x * x)
        by_z = self.a - z * z - self.e * (x * x + y * y) + self.f * (x * x * x)
        return [[z - self.b, -self.d, x], [self.d, z - self.b, y], [by_x, -2 * y * (1 + self.e * z), by_z]]


@dataclass
class LotkaVolterra:
    alpha: Number
    beta: Number
    gamma: Number
    delta: Number

    def rate(self, x, y):
        return x * (self.alpha - self.beta * y), y * (self.delta * x - self.gamma)

    def jacobian(self, x, y):
        return [[self.alpha - self.beta * y, -self.beta * x], [self.delta * y, self.delta * x - self.gamma]]


@dataclass
class VanDerPol:
    mu: Number

    def rate(self, x, y):
        return y, self.mu * (1 - x * x) * y - x

    def jacobian(self, x, y):
        return [[0, 1], [-2 * self.mu * x * y - 1, self.mu * (1 - x * x)]]


FLOWS = {cls.__name__: cls for cls in (Lorenz, Rossler, Thomas, Halvorsen, Aizawa, LotkaVolterra, VanDerPol)}
require_entries(__name__, FLOWS, Flow)


def sine(x):
    """Evaluate sin x from + - * alone: subtract multiples of pi, then Taylor's series to x^21."""
    real = np.dtype(np.float32 if isinstance(x, np.float32) else np.float64)
    constants = [type(x)(value) for value in sine_constants(real)]
    per_pi, rounder, pi_1, pi_2, pi_3, _, half, one, two, *taylor = constants
    n = (x * per_pi + rounder) - rounder  # the nearest whole number
    r = ((x - n * pi_1) - n * pi_2) - n * pi_3  # |r| <= pi/2, sin x = (-1)^n sin r
    odd = n - two * ((half * n + rounder) - rounder)  # 0 for even n, +1 or -1 for odd n
    z = r * r
    p = taylor[-1]
    for coefficient in reversed(taylor[:-1]):
        p = p * z + coefficient
    return (one - two * (odd * odd)) * (r + r * (z * p))


def cosine(x):
    """Evaluate cos x, with the accuracy that a derivative needs."""
    real = np.dtype(np.float32 if isinstance(x, np.float32) else np.float64)
    return sine(x + type(x)(sine_constants(real)[5]))
