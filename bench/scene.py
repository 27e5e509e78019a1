"""Scenes: workloads for kickdrift and its peers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

import kickdrift as kd
from kickdrift import kernels

H = 1 / 60
# No component decays to zero, because denormal numbers are slow.
GRAVITY = (0.5, -9.81, 0.25)
DRAG = 0.1
MU, CENTER, SOFTENING = 50.0, (1.0, 2.0, 3.0), 0.5
AIR, WIND = 0.01, (3.0, 0.5, -1.0)
STRENGTH, AXIS = 2.0, (0.0, 0.0, 1.0)


class Contestant(NamedTuple):
    """An implementation of a scene: `run` computes it once, on its own arrays of shape (n, 3)."""

    run: Callable[[], object]
    position: Callable[[], np.ndarray]
    velocity: Callable[[], np.ndarray]


@dataclass(frozen=True)
class Scene:
    """Bodies in three dimensions: their forces, integrator and steps per call."""

    integrator: str = "semi_implicit_euler"
    force: str = "drag"  # gravity and linear drag; or alone: "well", a point mass, "wind", QuadraticDrag, "vortex"
    n: int = 100_000
    steps: int = 64
    layout: str = "component"  # or "row"
    dtype: str = "float32"
    per_body: str = ""  # "drag" or "mass" given per body
    threads: int = 1
    isa: str = kernels.isa

    @property
    def real(self) -> type:
        return np.dtype(self.dtype).type

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return initial positions and velocities, with a fixed seed."""
        rng = np.random.default_rng(1)
        lay_out = np.asfortranarray if self.layout == "component" else np.ascontiguousarray
        return tuple(lay_out(rng.normal(size=(self.n, 3)).astype(self.dtype)) for _ in range(2))

    def ours(self) -> Contestant:
        position, velocity = self.arrays()
        drag = np.full(self.n, DRAG) if self.per_body == "drag" else DRAG
        mass = np.ones(self.n) if self.per_body == "mass" else 1.0
        forces = {
            "drag": [kd.Gravity(GRAVITY), kd.LinearDrag(drag)],
            "well": [kd.PointGravity(MU, CENTER, SOFTENING)],
            "wind": [kd.QuadraticDrag(AIR, WIND)],
            "vortex": [kd.Vortex(STRENGTH, CENTER, AXIS, SOFTENING)],
        }[self.force]
        chosen, kernels.isa = kernels.isa, self.isa
        try:
            stepper = kd.Stepper(
                position, velocity, mass, dt=H, integrator=self.integrator, forces=forces, threads=self.threads
            )
        finally:
            kernels.isa = chosen
        # Single steps are called directly, without the overhead of `partial`.
        run = stepper.step if self.steps == 1 else partial(stepper.step, self.steps)
        return Contestant(run, lambda: stepper.position, lambda: stepper.velocity)
