"""numba code of an expert: structure of arrays, fastmath, all steps on blocks that fit the L1 cache."""

from functools import partial

import numba
import numpy as np

from ..scene import Contestant, Scene
from .numba_loops import constants

BLOCK = 1024


@numba.njit(fastmath=True)
def drag_euler(x, v, g, c, h, steps):
    for j in range(x.shape[0]):
        for first in range(0, x.shape[1], BLOCK):
            xs, vs, gj = x[j, first : first + BLOCK], v[j, first : first + BLOCK], g[j]
            for _ in range(steps):
                for i in range(xs.size):
                    u = vs[i] + h * (gj - c * vs[i])
                    vs[i] = u
                    xs[i] += h * u


@numba.njit(fastmath=True)
def drag_verlet(x, v, g, c, h, steps):
    half = h / x.dtype.type(2)
    for j in range(x.shape[0]):
        for first in range(0, x.shape[1], BLOCK):
            xs, vs, gj = x[j, first : first + BLOCK], v[j, first : first + BLOCK], g[j]
            for _ in range(steps):
                for i in range(xs.size):
                    a = gj - c * vs[i]
                    xs[i] += h * (vs[i] + half * a)
                    u = vs[i] + h * a
                    vs[i] = u + half * (gj - c * u - a)


@numba.njit(fastmath=True)
def drag_rk4(x, v, g, c, h, steps):
    two = x.dtype.type(2)
    half, sixth = h / two, h / x.dtype.type(6)
    for j in range(x.shape[0]):
        for first in range(0, x.shape[1], BLOCK):
            xs, vs, gj = x[j, first : first + BLOCK], v[j, first : first + BLOCK], g[j]
            for _ in range(steps):
                for i in range(xs.size):
                    v1 = vs[i]
                    a1 = gj - c * v1
                    v2 = v1 + half * a1
                    a2 = gj - c * v2
                    v3 = v1 + half * a2
                    a3 = gj - c * v3
                    v4 = v1 + h * a3
                    a4 = gj - c * v4
                    xs[i] += sixth * (v1 + two * v2 + two * v3 + v4)
                    vs[i] = v1 + sixth * (a1 + two * a2 + two * a3 + a4)


@numba.njit(fastmath=True)
def well_euler(x, v, center, mu, e2, h, steps):
    cx, cy, cz = center
    for first in range(0, x.shape[1], BLOCK):
        block = slice(first, first + BLOCK)
        xs, ys, zs, us, vs, ws = x[0, block], x[1, block], x[2, block], v[0, block], v[1, block], v[2, block]
        for _ in range(steps):
            for i in range(xs.size):
                dx, dy, dz = xs[i] - cx, ys[i] - cy, zs[i] - cz
                q = dx * dx + dy * dy + dz * dz + e2
                f = h * mu / (q * np.sqrt(q))
                us[i] -= f * dx
                vs[i] -= f * dy
                ws[i] -= f * dz
                xs[i] += h * us[i]
                ys[i] += h * vs[i]
                zs[i] += h * ws[i]


LOOPS = {
    ("semi_implicit_euler", "drag"): drag_euler,
    ("velocity_verlet", "drag"): drag_verlet,
    ("rk4", "drag"): drag_rk4,
    ("semi_implicit_euler", "well"): well_euler,
}


def contestant(scene: Scene) -> Contestant:
    x, v = (np.ascontiguousarray(array.T) for array in scene.arrays())
    run = partial(LOOPS[scene.integrator, scene.force], x, v, *constants(scene))
    return Contestant(run, lambda: x.T, lambda: v.T)
