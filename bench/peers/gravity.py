"""REBOUND: leapfrog (drift, kick, drift) with direct summation over all pairs, on one thread."""

import numpy as np
import rebound


class Simulation:
    def __init__(
        self, position: np.ndarray, velocity: np.ndarray, mass: np.ndarray, dt: float, softening: float
    ) -> None:
        sim = rebound.Simulation()
        sim.G, sim.dt, sim.softening = 1.0, dt, softening
        sim.integrator, sim.gravity = "leapfrog", "basic"
        for m, x, v in zip(mass, position, velocity, strict=True):
            sim.add(m=m, x=x[0], y=x[1], z=x[2], vx=v[0], vy=v[1], vz=v[2])
        self.sim = sim

    def step(self, n: int = 1) -> None:
        self.sim.steps(n)

    def position(self) -> np.ndarray:
        self.sim.synchronize()
        return np.array([(p.x, p.y, p.z) for p in self.sim.particles])
