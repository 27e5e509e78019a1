"""What a user's program looks like to mypy --strict; never run, only checked."""

from fractions import Fraction
from typing import assert_type

import numpy as np

import kickdrift as kd

position = np.zeros((100, 3), np.float32)
velocity = np.zeros_like(position)
forces: list[kd.forces.Term] = [
    kd.Gravity((0.0, -9.81, 0.0)),
    kd.LinearDrag(0.1, wind=np.array([1.0, 0.0, 0.0])),
    kd.QuadraticDrag([0.1] * 100),
    kd.AnchorSpring(5.0, damping=0.1),
    kd.AnchorSpring.from_frequency(2.0, damping_ratio=1.0),
    kd.PointGravity(1.0, softening=0.01),
    kd.Vortex(1.0, axis=(0, 1, 0)),
    kd.Damping.per_frame(0.05, fps=30),
]

world = kd.Stepper(position, velocity, 2.0, dt=1 / 60, integrator="rk4", forces=forces, threads=2)
kd.Stepper([[0.0]], hz=60, integrator=kd.GrootWarren(lam=0.65))
kd.Stepper([[0.0]], dt=Fraction(1, 60), integrator=kd.Leapfrog)
world.dt = Fraction(1, 120)
world.step()
world.step(n=64)
world.restart()

assert_type(world.tick, int)
assert_type(world.time, float)
assert_type(world.force_evaluations, int)
assert_type(world.energy(), tuple[float, float])
assert_type(world.record(10, every=2), kd.Trajectory)
assert_type(kd.build_info(), dict[str, object])

textbook: kd.reference.Stepper = kd.reference.Stepper(position, velocity, forces=forces)
textbook.step(3)

for name, scheme in kd.INTEGRATORS.items():
    print(name, scheme.order, scheme.symplectic, scheme.force_evaluations, scheme.source)

kd.kick(velocity, (0.0, -9.81, 0.0), 1 / 60)
kd.drift(position, velocity, 1 / 60)
kd.damp(velocity, rate=0.5, dt=1 / 60)

try:
    world.step(10**6)
except kd.NonFiniteError as error:
    print(error.body, error.first_tick, error.last_tick)
except kd.ConvergenceError as error:
    print(error.body, error.tick, error.residual)

# Mistakes that a checker must see: each comment is an error itself once its line is none.
kd.Stepper([[0.0]], 1.0, 1.0, 1 / 60)  # type: ignore[call-arg]
kd.Stepper([[0.0]], integrator=4)  # type: ignore[arg-type]
kd.Stepper([[0.0]], forces=[9.81])  # type: ignore[list-item]
world.tick = 3  # type: ignore[misc]
world.step("one")  # type: ignore[arg-type]
