"""NumPy in place, well written: every operation uses `out`, and every temporary is allocated once."""

from functools import partial

import numpy as np

from ..scene import CENTER, DRAG, GRAVITY, MU, SOFTENING, Contestant, H, Scene


class Drag:
    """a = g - c v"""

    def __init__(self, scene: Scene, like: np.ndarray) -> None:
        # A full array, because broadcasting a row of three is slower.
        self.g = np.empty_like(like)
        self.g[:] = GRAVITY
        self.c = scene.real(DRAG)

    def __call__(self, x: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
        np.multiply(v, self.c, out=out)
        np.subtract(self.g, out, out=out)


class Well:
    """a = -mu d / (d.d + e²)^(3/2), d = x - center"""

    def __init__(self, scene: Scene, like: np.ndarray) -> None:
        self.center = np.empty_like(like)
        self.center[:] = CENTER
        self.mu, self.e2 = scene.real(-MU), scene.real(SOFTENING * SOFTENING)
        self.q, self.r = (np.empty(len(like), like.dtype) for _ in range(2))

    def __call__(self, x: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
        q, r = self.q, self.r
        np.subtract(x, self.center, out=out)
        np.einsum("ij,ij->i", out, out, out=q)
        np.add(q, self.e2, out=q)
        np.sqrt(q, out=r)
        np.multiply(q, r, out=q)
        np.divide(self.mu, q, out=q)
        np.multiply(out, q[:, None], out=out)


def euler(x, v, accelerate, h, steps, a, b) -> None:
    for _ in range(steps):
        accelerate(x, v, a)
        a *= h
        v += a
        np.multiply(v, h, out=a)
        x += a


def verlet(x, v, accelerate, h, steps, a, b) -> None:
    half = h / 2
    for _ in range(steps):
        accelerate(x, v, a)
        np.multiply(a, half, out=b)
        b += v
        b *= h
        x += b
        np.multiply(a, h, out=b)
        v += b
        accelerate(x, v, b)
        b -= a
        b *= half
        v += b


def rk4(x, v, accelerate, h, steps, a, b) -> None:
    two, half, sixth = x.dtype.type(2), h / 2, h / 6
    x0, v0, xs, vs = (np.empty_like(x) for _ in range(4))
    for _ in range(steps):
        x0[:] = x
        v0[:] = v
        xs[:] = v
        accelerate(x, v, a)
        vs[:] = a
        for share in (half, half, h):
            np.multiply(v, share, out=b)
            np.add(x0, b, out=x)
            np.multiply(a, share, out=b)
            np.add(v0, b, out=v)
            accelerate(x, v, a)
            for total, slope in ((xs, v), (vs, a)):
                if share is h:
                    total += slope
                else:
                    np.multiply(slope, two, out=b)
                    total += b
        np.multiply(xs, sixth, out=xs)
        np.add(x0, xs, out=x)
        np.multiply(vs, sixth, out=vs)
        np.add(v0, vs, out=v)


SCHEMES = {"semi_implicit_euler": euler, "velocity_verlet": verlet, "rk4": rk4}
FORCES = {"drag": Drag, "well": Well}


def contestant(scene: Scene) -> Contestant:
    x, v = scene.arrays()
    accelerate = FORCES[scene.force](scene, x)
    run = partial(
        SCHEMES[scene.integrator], x, v, accelerate, scene.real(H), scene.steps, np.empty_like(x), np.empty_like(x)
    )
    return Contestant(run, lambda: x, lambda: v)
