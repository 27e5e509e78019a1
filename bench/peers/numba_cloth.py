"""numba: the loop of Jakobsen's cloth as one would write it in C."""

import numba
import numpy as np


@numba.njit
def step(x, before, weight, pairs, length, gravity, h, iterations):
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
    """x and the place before it; bodies of weight 0 hang where they are."""

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
        step(self.x, self.before, *self.arguments)
