"""numba, straightforward: loops over steps, bodies and components, like in C."""

from functools import partial

import numba
import numpy as np

from ..scene import CENTER, DRAG, GRAVITY, MU, SOFTENING, Contestant, H, Scene


@numba.njit
def drag_euler(x, v, g, c, h, steps):
    for _ in range(steps):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                v[i, j] += h * (g[j] - c * v[i, j])
                x[i, j] += h * v[i, j]


@numba.njit
def drag_verlet(x, v, g, c, h, steps):
    half = h / x.dtype.type(2)
    for _ in range(steps):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                a = g[j] - c * v[i, j]
                x[i, j] += h * (v[i, j] + half * a)
                v[i, j] += h * a
                v[i, j] += half * (g[j] - c * v[i, j] - a)


@numba.njit
def drag_rk4(x, v, g, c, h, steps):
    two = x.dtype.type(2)
    half, sixth = h / two, h / x.dtype.type(6)
    for _ in range(steps):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                v1 = v[i, j]
                a1 = g[j] - c * v1
                v2 = v1 + half * a1
                a2 = g[j] - c * v2
                v3 = v1 + half * a2
                a3 = g[j] - c * v3
                v4 = v1 + h * a3
                a4 = g[j] - c * v4
                x[i, j] += sixth * (v1 + two * v2 + two * v3 + v4)
                v[i, j] += sixth * (a1 + two * a2 + two * a3 + a4)


@numba.njit
def pull(x, i, center, mu, e2):
    dx, dy, dz = x[i, 0] - center[0], x[i, 1] - center[1], x[i, 2] - center[2]
    q = dx * dx + dy * dy + dz * dz + e2
    f = -mu / (q * np.sqrt(q))
    return f * dx, f * dy, f * dz


@numba.njit
def well_euler(x, v, center, mu, e2, h, steps):
    for _ in range(steps):
        for i in range(x.shape[0]):
            a = pull(x, i, center, mu, e2)
            for j in range(3):
                v[i, j] += h * a[j]
                x[i, j] += h * v[i, j]


@numba.njit
def well_verlet(x, v, center, mu, e2, h, steps):
    half = h / x.dtype.type(2)
    for i in range(x.shape[0]):
        a = pull(x, i, center, mu, e2)
        for _ in range(steps):
            for j in range(3):
                x[i, j] += h * (v[i, j] + half * a[j])
            b = pull(x, i, center, mu, e2)
            for j in range(3):
                v[i, j] += half * (a[j] + b[j])
            a = b


LOOPS = {
    ("semi_implicit_euler", "drag"): drag_euler,
    ("velocity_verlet", "drag"): drag_verlet,
    ("rk4", "drag"): drag_rk4,
    ("semi_implicit_euler", "well"): well_euler,
    ("velocity_verlet", "well"): well_verlet,
}


def constants(scene: Scene) -> tuple:
    """Return constants in the dtype of the scene: numba computes in float64 if one operand is float64."""
    real = scene.real
    if scene.force == "well":
        return np.array(CENTER, scene.dtype), real(MU), real(SOFTENING * SOFTENING), real(H), scene.steps
    return np.array(GRAVITY, scene.dtype), real(DRAG), real(H), scene.steps


def contestant(scene: Scene) -> Contestant:
    x, v = scene.arrays()
    run = partial(LOOPS[scene.integrator, scene.force], x, v, *constants(scene))
    return Contestant(run, lambda: x, lambda: v)
