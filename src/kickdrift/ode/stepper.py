"""ODEStepper, as users call it."""

from __future__ import annotations

from ..engine.ode import ODECore
from .base import ODEBase


class ODEStepper(ODEBase, ODECore):
    """Steps n independent trajectories of y' = f(t, y), in the caller's own array.

    y: (n, dim), any dim, float32 or float64, any strides, stepped in place; lists and integer arrays
    are copied to float64.
    rhs: a flow such as `kd.flows.Lorenz()`, which runs in compiled code; or a function, in machine code as
    `kd.flows.Native`, or in Python as rhs(t, y, out), called once per stage for all trajectories: t in s, y of
    shape (n, dim) and read-only, out of the same shape, zeroed, to be written in place. Both arrays are the
    stepper's: they hold other numbers after the call.
    dt: seconds (or whatever the equation's unit of time is) per fixed step, a float, int or Fraction;
    or hz, steps per second.
    integrator: "explicit_euler", "implicit_euler", "midpoint", "heun", "rk4" or "dopri8", or an instance such as
    ImplicitEuler(tolerance=1e-6).
    threads: how many share the work of large steps of a flow; no bit of the result depends on it.
    jacobian: jacobian(t, y, out) for implicit Euler with a function: out[:, i, j] = df_i/dy_j, of shape
    (n, dim, dim), zeroed. Without it derivatives are difference quotients, dim more calls of rhs for
    each Newton iteration.
    state: your own arrays that belong to the trajectories, by name, of any shape, of bool, int, uint, float or
    complex. They are saved, restored in place, digested and copied with them, see `state`.

    Time is exact: stages are evaluated at t + c dt with t = tick * dt, rounded once.
    Raises TypeError or ValueError, naming the argument, for what it cannot step. Thread-safety: one
    thread at a time per stepper, else RuntimeError; different steppers run in parallel.

    >>> import numpy as np, kickdrift as kd
    >>> def pendulum(t, y, out):
    ...     out[:, 0] = y[:, 1]
    ...     out[:, 1] = -np.sin(y[:, 0])
    >>> swing = kd.ODEStepper([[0.1, 0.0], [3.0, 0.0]], pendulum, dt=0.01)
    >>> swing.step(100)
    >>> swing.y.round(4).tolist()
    [[0.0541, -0.0841], [2.9234, -0.1655]]
    """

    __module__ = "kickdrift"  # where users find it
