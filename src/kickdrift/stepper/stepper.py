"""Stepper, as users call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..clock import FixedClock
from ..engine.frames import Looped
from .base import StepperBase


class Stepper(StepperBase, Looped):
    """Steps bodies that are pushed by forces: the caller's arrays, in place, in compiled code.

    position: (n, dim) in m, dim 1 to 3, float32 or float64, any strides, stepped in place (component-
    major arrays, `numpy.asfortranarray`, are fastest); lists and integer arrays are copied to float64.
    velocity: the same shape and dtype in m/s; zeros when left out.
    mass: kg, a number or (n,); numpy.inf for a body that no force accelerates.
    dt: seconds per fixed step, a number or text such as "1001/60000", 1/60 when left out; or hz, steps per second.
        Below 0 steps go back in time, where there are no constraints, no noise and no clock.
    integrator: a name of `INTEGRATORS`, a class or an instance, such as GrootWarren(lam=0.65).
    forces: terms such as Gravity, summed in this order: the affine ones first, Python functions last.
    constraints: what holds the bodies after each step, such as Pin or Box, applied in this order; pins first.
    threads: how many share the work of large steps; no bit of the result depends on it.
    clock: the FixedClock that `advance` feeds, one stepper's alone, which then sets dt; one of dt when left
    out. With substeps=k, dt and tick are those of the integrator: k to each step of the clock.
    alive: how many of the first rows hold a body that lives, or a mask of shape (n,); all when left out. The other rows
    are zeros from now on, and free for `spawn`, which takes the lowest; `kill` frees more. Who lives keeps its row.
    state: your own arrays that belong to the world, by name, such as ammunition or scores: of any shape, of bool, int,
    uint, float or complex. They are saved, restored in place, digested and copied with it, see `state`. A random
    generator's seed is such an array: `np.random.default_rng(seed)` in each tick, then `seed += 1`.
    events: `Events()`, where `stepper.events.take()` is to say who met whom.

    Raises TypeError or ValueError, naming the argument, for what it cannot step; later, once bound,
    a step checks nothing. Thread-safety: one thread at a time per stepper, else RuntimeError;
    different steppers run in parallel.

    >>> import numpy as np, kickdrift as kd
    >>> position = np.zeros((1000, 3), np.float32)
    >>> velocity = np.ones((1000, 3), np.float32)
    >>> world = kd.Stepper(position, velocity, dt=1/60, forces=[kd.Gravity((0, -9.81, 0))])
    >>> world.step(60)
    >>> position[0].round(2).tolist()
    [1.0, -3.9100000858306885, 1.0]
    """

    __module__ = "kickdrift"  # where users find it

    _clock_type = FixedClock

    if TYPE_CHECKING:

        @property
        def clock(self) -> FixedClock: ...
