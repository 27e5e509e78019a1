"""The public class ODEStepper."""

from __future__ import annotations

from ..engine.ode import ODECore
from .base import ODEBase


class ODEStepper(ODEBase, ODECore):
    """Step n independent trajectories of y' = f(t, y), in your own array.

    y: (n, dim), any dim, float32 or float64, any strides. It is stepped in place; lists and integer arrays are copied
    to float64.
    rhs: the right-hand side. It is a flow such as `kd.flows.Lorenz()`, which runs in compiled code; or a native
    callback, `kd.flows.Native`; or a Python function rhs(t, y, out), which is called once per stage for all
    trajectories. t is in s, y is read-only, of shape (n, dim), and out, of equal shape, starts at zero. The function
    writes to out. It must not keep the arrays, because they are reused.
    dt: seconds (or whatever the equation's unit of time is) per fixed step, a float, int or Fraction. Or hz: steps per
    second.
    integrator: "explicit_euler", "implicit_euler", "midpoint", "heun", "rk4" or "dopri8", or an instance such as
    ImplicitEuler(tolerance=1e-6).
    threads: number of threads for large steps of a flow. Results are bitwise equal for any number.
    jacobian: jacobian(t, y, out), for implicit Euler with a function: out[:, i, j] = df_i/dy_j, of shape (n, dim,
    dim), which starts at zero. Without it, derivatives are difference quotients, which call rhs dim more times in
    each Newton iteration.
    state: your own arrays that belong to the trajectories, by name. They may have any shape, and the dtypes bool,
    int, uint, float or complex. Snapshots, checksums and copies contain them, see `state`.

    Time is exact: stages are evaluated at t + c dt with t = tick * dt, rounded once. Raises TypeError or ValueError,
    which name the argument. Thread-safety: one thread at a time per stepper, else RuntimeError. Different steppers
    run in parallel.

    >>> import numpy as np, kickdrift as kd
    >>> def pendulum(t, y, out):
    ...     out[:, 0] = y[:, 1]
    ...     out[:, 1] = -np.sin(y[:, 0])
    >>> swing = kd.ODEStepper([[0.1, 0.0], [3.0, 0.0]], pendulum, dt=0.01)
    >>> swing.step(100)
    >>> swing.y.round(4).tolist()
    [[0.0541, -0.0841], [2.9234, -0.1655]]
    """

    __module__ = "kickdrift"  # its public module
