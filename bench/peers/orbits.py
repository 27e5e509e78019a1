"""SciPy as commonly used for orbits: all bodies as one system for solve_ivp, or each one separately with odeint."""

from collections.abc import Callable

import numpy as np
from scipy.integrate import odeint, solve_ivp


def orbits(position: np.ndarray, velocity: np.ndarray, mu: float) -> dict[str, Callable[[], np.ndarray]]:
    """Return positions at time 1, by method."""
    shape = (2, *position.shape)
    start = np.stack([position, velocity]).ravel()

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        x, v = y.reshape(shape)
        r = np.sqrt((x * x).sum(axis=1, keepdims=True))
        return np.concatenate([v.ravel(), (x * (-mu / r**3)).ravel()])

    def together(method: str) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            solution = solve_ivp(rates, (0, 1), start, method=method, rtol=3e-8, atol=3e-8, t_eval=[1])
            return solution.y[:, -1].reshape(shape)[0]

        return run

    def rate(y: np.ndarray, t: float) -> tuple[float, ...]:
        x, z, vx, vz = y
        f = -mu / (x * x + z * z) ** 1.5
        return vx, vz, f * x, f * z

    def each() -> np.ndarray:
        states = np.concatenate([position, velocity], axis=1)
        return np.array([odeint(rate, state, (0, 1), rtol=1e-9, atol=1e-9)[-1, :2] for state in states])

    return {"SciPy, solve_ivp DOP853": together("DOP853"), "SciPy, odeint each": each}
