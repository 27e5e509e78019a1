"""Measure ODEStepper and its alternatives: jax.jit with fori_loop, and numba.

10,000 Lorenz trajectories, 1,000 RK4 steps, float64, each on one thread of one processor. The competitors run in
turns, so that a busy machine affects all of them, and medians are compared. Compilation is not counted. Prints
Markdown. Run as `python -m bench.ode` with numba and jax installed; it takes about 20 seconds.
"""

import argparse
import os
import statistics
from collections.abc import Callable

import numpy as np

import kickdrift as kd

from .peers import installed
from .table import Row, compare, processor
from .timing import measure

SIGMA, RHO, BETA, H = 10.0, 28.0, 8 / 3, 0.005


def start(trajectories: int) -> np.ndarray:
    return np.random.default_rng(1).normal((1.0, 1.0, 25.0), 1.0, (trajectories, 3))


def kickdrift_run(y: np.ndarray, steps: int) -> Callable[[], np.ndarray]:
    stepper = kd.ODEStepper(y.copy(), kd.flows.Lorenz(SIGMA, RHO, BETA), dt=H)

    def run() -> np.ndarray:
        stepper.y[...] = y
        stepper.step(steps)
        return stepper.y

    return run


def numpy_function_run(y: np.ndarray, steps: int) -> Callable[[], np.ndarray]:
    """Run kickdrift's stepper with the flow as a Python function."""

    def lorenz(t, y, out):
        x, y, z = y.T
        out[:, 0] = SIGMA * (y - x)
        out[:, 1] = x * (RHO - z) - y
        out[:, 2] = x * y - BETA * z

    stepper = kd.ODEStepper(y.copy(), lorenz, dt=H)

    def run() -> np.ndarray:
        stepper.y[...] = y
        stepper.step(steps)
        return stepper.y

    return run


def numba_run(y: np.ndarray, steps: int) -> Callable[[], np.ndarray]:
    import numba

    @numba.njit
    def lorenz(x, y, z):
        return SIGMA * (y - x), x * (RHO - z) - y, x * y - BETA * z

    @numba.njit
    def loop(state, steps, h):
        for i in range(state.shape[0]):
            x, y, z = state[i]
            for _ in range(steps):
                a1, b1, c1 = lorenz(x, y, z)
                a2, b2, c2 = lorenz(x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1)
                a3, b3, c3 = lorenz(x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2)
                a4, b4, c4 = lorenz(x + h * a3, y + h * b3, z + h * c3)
                x += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
                y += h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
                z += h / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
            state[i, 0], state[i, 1], state[i, 2] = x, y, z

    def run() -> np.ndarray:
        state = y.copy()
        loop(state, steps, H)
        return state

    return run


def numba_planes_run(y: np.ndarray, steps: int, block: int = 128) -> Callable[[], np.ndarray]:
    """Numba code of an expert: structure of arrays, in blocks that fit the L1 cache and fill vectors; no fastmath."""
    import numba

    @numba.njit(error_model="numpy")
    def loop(xs, ys, zs, steps, h):
        n = len(xs)
        for first in range(0, n, block):
            x, y, z = xs[first : first + block], ys[first : first + block], zs[first : first + block]
            for _ in range(steps):
                for i in range(len(x)):
                    p, q, r = x[i], y[i], z[i]
                    a1, b1, c1 = SIGMA * (q - p), p * (RHO - r) - q, p * q - BETA * r
                    u, v, w = p + h / 2 * a1, q + h / 2 * b1, r + h / 2 * c1
                    a2, b2, c2 = SIGMA * (v - u), u * (RHO - w) - v, u * v - BETA * w
                    u, v, w = p + h / 2 * a2, q + h / 2 * b2, r + h / 2 * c2
                    a3, b3, c3 = SIGMA * (v - u), u * (RHO - w) - v, u * v - BETA * w
                    u, v, w = p + h * a3, q + h * b3, r + h * c3
                    a4, b4, c4 = SIGMA * (v - u), u * (RHO - w) - v, u * v - BETA * w
                    x[i] = p + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
                    y[i] = q + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
                    z[i] = r + h / 6 * (c1 + 2 * c2 + 2 * c3 + c4)

    given = np.ascontiguousarray(y.T)

    def run() -> np.ndarray:
        state = given.copy()
        loop(*state, steps, H)
        return state.T

    return run


def jax_run(y: np.ndarray, steps: int, columns: bool) -> Callable[[], np.ndarray]:
    """Run JAX on rows (n, 3), the usual layout, or on a tuple of columns, which compilers optimize better."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def lorenz(state):
        x, y, z = state if columns else state.T
        rates = SIGMA * (y - x), x * (RHO - z) - y, x * y - BETA * z
        return jnp.stack(rates) if columns else jnp.stack(rates, axis=1)

    def step(_, state):
        k1 = lorenz(state)
        k2 = lorenz(state + H / 2 * k1)
        k3 = lorenz(state + H / 2 * k2)
        k4 = lorenz(state + H * k3)
        return state + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    loop = jax.jit(lambda state: jax.lax.fori_loop(0, steps, step, state))
    given = jnp.asarray(y.T if columns else y)

    def run() -> np.ndarray:
        result = np.asarray(loop(given).block_until_ready())
        return result.T if columns else result

    return run


def ensemble(rounds: int) -> list[Row]:
    """1,000 Lorenz trajectories, 200 steps of rk4, f64"""
    y, steps = start(1000), 200
    if not installed("numba"):
        return [Row(str(ensemble.__doc__), "", "numba, planes", "not installed")]
    runs = {"ours": kickdrift_run(y, steps), "numba, planes": numba_planes_run(y, steps), "numba": numba_run(y, steps)}
    expected = runs["ours"]()
    for name, run in runs.items():
        assert np.allclose(run(), expected, atol=1e-6), name
    return compare(str(ensemble.__doc__), runs, {"numba, planes": 1.5, "numba": None}, rounds, [])


CASES = {"lorenz": ensemble}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trajectories", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    y = start(options.trajectories)
    runs = {
        "kickdrift, Lorenz()": kickdrift_run(y, options.steps),
        "jax, rows": jax_run(y, options.steps, columns=False),
        "jax, columns": jax_run(y, options.steps, columns=True),
        "numba": numba_run(y, options.steps),
        "numba, planes": numba_planes_run(y, options.steps),
        "kickdrift, Python function": numpy_function_run(y, options.steps),
    }
    expected = runs["kickdrift, Lorenz()"]()
    for name, run in runs.items():
        # Chaos amplifies rounding differences by about e^(0.9 t).
        assert np.allclose(run(), expected, atol=1e-3), name
    rounds = measure(runs, options.rounds, least=0)  # a round is one run
    times = {name: statistics.median(each) for name, each in rounds.items()}
    ours = times["kickdrift, Lorenz()"]
    print(f"{options.trajectories:,} Lorenz trajectories x {options.steps:,} RK4 steps, float64, one thread")
    print(f"({processor()}, {kd.build_info()['isa']}, median of {options.rounds})\n")
    print("| | seconds | times ours |\n|---|---:|---:|")
    for name, seconds in times.items():
        print(f"| {name} | {seconds:.4f} | {seconds / ours:.1f} |")


if __name__ == "__main__":
    main()
