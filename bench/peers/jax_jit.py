"""jax.jit on the CPU: structure of arrays, steps in a fori_loop, donated buffers, one thread."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np

from ..scene import CENTER, DRAG, GRAVITY, MU, SOFTENING, Contestant, H, Scene

jax.config.update("jax_enable_x64", True)


def contestant(scene: Scene) -> Contestant:
    real = scene.real
    h, c, mu, e2 = real(H), real(DRAG), real(MU), real(SOFTENING * SOFTENING)
    half, sixth, two = h / real(2), h / real(6), real(2)
    g, center = (np.array(vector, scene.dtype)[:, None] for vector in (GRAVITY, CENTER))

    def accelerate(x, v):
        if scene.force == "drag":
            return g - c * v
        d = x - center
        q = (d * d).sum(axis=0) + e2
        return -(mu / (q * jnp.sqrt(q))) * d

    def euler(_, state):
        x, v = state
        v = v + h * accelerate(x, v)
        return x + h * v, v

    def verlet(_, state):
        x, v = state
        a = accelerate(x, v)
        x, v = x + h * (v + half * a), v + h * a
        return x, v + half * (accelerate(x, v) - a)

    def rk4(_, state):
        x, v1 = state
        a1 = accelerate(x, v1)
        v2 = v1 + half * a1
        a2 = accelerate(x + half * v1, v2)
        v3 = v1 + half * a2
        a3 = accelerate(x + half * v2, v3)
        v4 = v1 + h * a3
        a4 = accelerate(x + h * v3, v4)
        return x + sixth * (v1 + two * v2 + two * v3 + v4), v1 + sixth * (a1 + two * a2 + two * a3 + a4)

    scheme = {"semi_implicit_euler": euler, "velocity_verlet": verlet, "rk4": rk4}[scene.integrator]
    step = jax.jit(lambda *state: jax.lax.fori_loop(0, scene.steps, scheme, state), donate_argnums=(0, 1))
    state = tuple(jnp.asarray(np.ascontiguousarray(array.T)) for array in scene.arrays())

    def run() -> None:
        nonlocal state
        state = jax.block_until_ready(step(*state))

    return Contestant(run, lambda: np.asarray(state[0]).T, lambda: np.asarray(state[1]).T)
