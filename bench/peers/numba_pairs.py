"""numba, pair by pair: Jakobsen's cloth, and gravity with each pair once, like in C."""

import numba
import numpy as np


@numba.njit
def relax(x, before, weight, pairs, length, gravity, h, iterations):
    for i in range(x.shape[0]):
        if weight[i] == 0:
            continue
        for j in range(3):
            a = gravity if j == 1 else x.dtype.type(0)
            new = x[i, j] + (x[i, j] - before[i, j]) + h * h * a
            before[i, j] = x[i, j]
            x[i, j] = new
    for _ in range(iterations):
        for k in range(pairs.shape[0]):
            a, b = pairs[k, 0], pairs[k, 1]
            dx, dy, dz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
            r = np.sqrt(dx * dx + dy * dy + dz * dz)
            f = (r - length) / (r * (weight[a] + weight[b]))
            wa, wb = f * weight[a], f * weight[b]
            x[a, 0] += wa * dx
            x[a, 1] += wa * dy
            x[a, 2] += wa * dz
            x[b, 0] -= wb * dx
            x[b, 1] -= wb * dy
            x[b, 2] -= wb * dz


class Cloth:
    """Positions and previous positions of a cloth; bodies of weight 0 are fixed."""

    def __init__(
        self, position: np.ndarray, pairs: np.ndarray, pins: np.ndarray, length: float, gravity: float, h: float,
        iterations: int,
    ) -> None:  # fmt: skip
        real = position.dtype.type
        self.x, self.before = position.copy(), position.copy()
        weight = np.ones(len(position), position.dtype)
        weight[pins] = 0
        self.before[:, 1] += weight * real(h * h * gravity / 2)  # from rest
        self.arguments = weight, pairs, real(length), real(gravity), real(h), iterations

    def step(self) -> None:
        relax(self.x, self.before, *self.arguments)


@numba.njit
def leapfrog(x, v, a, mass, h, e2, steps):
    half = h / 2
    n = x.shape[0]
    for _ in range(steps):
        for i in range(n):
            for c in range(3):
                x[i, c] += half * v[i, c]
                a[i, c] = 0
        for i in range(n):
            for j in range(i):
                dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                q = dx * dx + dy * dy + dz * dz + e2
                s = 1 / (q * np.sqrt(q))
                si, sj = s * mass[j], s * mass[i]
                a[i, 0] += si * dx
                a[i, 1] += si * dy
                a[i, 2] += si * dz
                a[j, 0] -= sj * dx
                a[j, 1] -= sj * dy
                a[j, 2] -= sj * dz
        for i in range(n):
            for c in range(3):
                v[i, c] += h * a[i, c]
                x[i, c] += half * v[i, c]


class Cluster:
    """Bodies under gravity with drift, kick, drift steps."""

    def __init__(
        self, position: np.ndarray, velocity: np.ndarray, mass: np.ndarray, dt: float, softening: float
    ) -> None:
        self.x, self.v, self.a = position.copy(), velocity.copy(), np.zeros_like(position)
        self.arguments = mass, dt, softening**2

    def step(self, n: int = 1) -> None:
        leapfrog(self.x, self.v, self.a, *self.arguments, n)

    def position(self) -> np.ndarray:
        return self.x
