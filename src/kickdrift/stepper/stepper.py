"""The public Stepper class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..clock import FixedClock
from ..engine.frames import Frames
from .base import StepperBase


class Stepper(StepperBase, Frames):
    """Step particles under forces, in your own arrays, in compiled code.

    position: (n, dim) in m, dim 1 to 3, float32 or float64, any strides. It is stepped in place; component-major
    arrays (`numpy.asfortranarray`) are fastest. Lists and integer arrays are copied to float64.
    velocity: m/s, of equal shape and dtype; zeros if left out.
    mass: kg, a number or (n,); numpy.inf for a body that no force accelerates.
    dt: seconds per fixed step, a number or string such as "1001/60000", 1/60 if left out. Or hz: steps per second.
    Negative steps go back in time. This works without constraints, noise and a clock.
    integrator: a name of `INTEGRATORS`, a class or an instance, such as GrootWarren(lam=0.65).
    forces: forces such as Gravity. They are summed in this order: first the affine ones, last Python functions.
    constraints: conditions on bodies, such as Pin or Box. They are applied after each step in this order, pins first.
    threads: number of threads that share the work of large steps. Results do not depend on it.
    clock: the FixedClock that `advance` uses. It sets dt, and belongs to this stepper only. If left out, one is made
    from dt. With substeps=k, dt and tick are those of the integrator: k for each step of the clock.
    alive: how many of the first rows hold an active body, or a mask of shape (n,); all if left out. All other rows are
    set to zeros, and are free. `spawn` takes the lowest free rows, `kill` frees rows. A body keeps its row while
    it is active.
    state: your own arrays that belong to the world, by name, such as ammunition or scores. They may have any shape,
    and the dtypes bool, int, uint, float or complex. Snapshots, checksums and copies contain them, see `state`. The
    seed of a random generator can be such an array: `np.random.default_rng(seed)` in each tick, then `seed += 1`.
    angular_velocity: rotation of bodies about their centers, in rad/s: (n,) in two dimensions, counter-clockwise if y
    points up, (n, 3) in three. It is stepped in place; a number makes an array. If left out, bodies do not rotate.
    angle: rad, (n,), in two dimensions, stepped in place; 0 if left out.
    orientation: unit quaternions w, x, y, z from body to world, (n, 4), in three dimensions, stepped in place;
    (1, 0, 0, 0) if left out.
    inertia: kg m², a number or (n,). If left out, that of solid discs (m r² / 2) or spheres (2 m r² / 5), whose radius
    is that of `Contacts`, or else of `ElasticCollisions`, shapes, or walls. It then follows changes of both.
    events: `Events()`, if `stepper.events.take()` shall return collisions and contacts.

    Run: `step(n)`, `record`; `advance(seconds)` and `ticks(seconds)` use `clock`; `interpolate()`,
    `interpolate_angles()` and `interpolate_shapes(shapes)` are for drawing.
    Look: `position`, `velocity`, `mass`, `angular_velocity`, `angle`, `orientation`, `inertia`, `n`,
    `dim`, `dtype`, `tick`, `time`, `dt`, `hz`, `alpha`, `energy()`, `state`, `forces`, `constraints`, `events.take()`,
    `force_evaluations`; `touching()`, `grounded()`, `load()`, `whole()`, `cast()`, `overlap()`.
    Change: `set`, `current`, `enable`, `add`, `remove`, `set_mass`, `teleport`, `shift`, `rebind`, `restart`.
    Spawn and despawn: `spawn`, `kill`, `alive`, `ids`, `slots`, `count`.
    Go back: `snapshot()`, `restore()`, `checksum()`, and `Rollback` and `Tape`.

    Raises TypeError or ValueError, which name the argument. All is checked at construction, and nothing in a
    step. Thread-safety: one thread at a time per stepper, else RuntimeError. Different steppers run in parallel.

    >>> import numpy as np, kickdrift as kd
    >>> position = np.zeros((1000, 3), np.float32)
    >>> velocity = np.ones((1000, 3), np.float32)
    >>> world = kd.Stepper(position, velocity, dt=1/60, forces=[kd.Gravity((0, -9.81, 0))])
    >>> world.step(60)
    >>> position[0].round(2).tolist()
    [1.0, -3.9100000858306885, 1.0]
    """

    __module__ = "kickdrift"  # its public name

    _clock_type = FixedClock

    def _level(self) -> Any:
        from ..engine.queries import Level  # imported late: few programs use queries

        return Level(self)

    if TYPE_CHECKING:

        @property
        def clock(self) -> FixedClock: ...
