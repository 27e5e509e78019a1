"""A user's program for mypy --strict; it is checked, never run."""

from fractions import Fraction
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import kickdrift as kd
from kickdrift.forces import Term

position = np.zeros((100, 3), np.float32)
velocity = np.zeros_like(position)
forces: list[Term] = [
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
kd.Stepper([[0.0]], integrator="rk5")  # type: ignore[arg-type]  # a misspelt name is found before the program runs
for scheme in kd.INTEGRATORS:
    kd.Stepper([[0.0]], integrator=scheme)
assert_type(world.advance(), int)
world.dt = Fraction(1, 120)
world.step()
world.step(n=64)
assert_type(world.spawn([0.0, 1.0, 2.0], velocity=(1.0, 0.0, 0.0), mass=2.0), npt.NDArray[np.int64])
world.kill(world.ids[:2])
world.kill([1, 2])
assert_type(world.count, int)
world.interpolate(living=True)
kd.Stepper(position, velocity, alive=10)
kd.Stepper([[0.0]], alive=[False])
world.restart()

assert_type(world.current(drag := kd.LinearDrag(1.0)), kd.LinearDrag)
world.set(drag, wind=(1.0, 0.0, 0.0))
world.enable(drag, False)
assert_type(world.add(kd.Pin(0)), kd.Pin)
world.remove(drag)
world.set_mass(3.0, index=[0, 2])
world.rebind(position, velocity)

assert_type(world.tick, int)
assert_type(world.time, float)
assert_type(world.force_evaluations, int)
assert_type(world.energy(), tuple[float, float])
assert_type(world.record(10, every=2), kd.Trajectory)
assert_type(world.record(10, out="x.npy", callback=lambda world: bool(world.tick > 3), energy=True), kd.Trajectory)
assert_type(kd.Trajectory.load("run.npz"), kd.Trajectory)
assert_type(kd.compare(world, ["rk4", kd.GrootWarren(lam=0.65)], dt="1/60")["rk4"].error, float)
assert_type(kd.build_info(), dict[str, object])

# A game: clock, frames and interpolation.
clock = kd.FixedClock(60, policy="match", overload=("backlog", 3), max_steps=5)
kd.FixedClock(dt=Fraction(1, 60), policy="locked(2)", substeps=4, carry=False)
kd.FixedClock(60, policy=kd.Locked(2), overload=kd.Budget(seconds=0.01))
kd.FixedClock(policy=kd.Variable(max_dt=0.05), overload=kd.Backlog)
kd.FixedClock(policy=kd.ExactSteps(), overload=kd.Drop())
assert_type(kd.Locked(2).steps, int)
assert_type(kd.Budget().seconds, float)
assert_type(clock.policy, str)
kd.FixedClock("60000/1001", max_frame=0.1, scale=0.5, slack=0.2, tolerance=0.05, phase=0.5)
assert_type(clock.advance(np.float32(0.02)), int)
assert_type(clock.advance_ns(16_666_667), int)
assert_type(clock.advance_ms(17), int)
assert_type(clock.advance_to(10**9), int)
assert_type(clock.plan([0.04, 0.01]), tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]])
for tick in clock.steps(0.05):
    assert_type(tick, int)
assert_type(clock.feed(0.05), int)
while clock.step():
    assert_type(clock.alpha, float)
assert_type(clock.hz, Fraction)
assert_type(clock.time_exact, Fraction)
assert_type(clock.dropped, Fraction)
clock.hz = 120
clock.set_hz("60000/1001", keep="fraction")
clock.scale = 0.5
clock.pause()
clock.single_step()
clock.resume()
clock.resync()
clock.load(clock.state())

game = kd.Stepper(position, velocity, clock=clock)
assert_type(game.clock, kd.FixedClock)
assert_type(game.advance(1 / 60), int)
assert_type(game.alpha, float)
vertices = np.zeros((100, 3), np.float32)
assert_type(game.interpolate(), npt.NDArray[np.floating[Any]])
assert_type(game.interpolate(0.5, mode="hermite"), npt.NDArray[np.floating[Any]])
game.interpolate(out=vertices)[0, 0]
assert_type(game.interpolate(out=bytearray(1200)), bytearray)
assert_type(game.interpolate(0.5, memoryview(bytearray(1200)), "extrapolate"), memoryview)
game.teleport([0, 1], (0.0, 0.0, 0.0))
game.shift((0.0, -1000.0, 0.0))

# A networked game: save, restore and resimulate.
saved: bytes = game.snapshot()
game.restore(saved)
game.restore(saved, clock=True)
assert_type(game.checksum(), int)
past = kd.Rollback(game, ticks=60)


def players(stepper: kd.Stepper, tick: int) -> None:
    stepper.velocity[0, 0] += tick % 3


past.save()
past.rollback(past.ticks[0])
past.resimulate(10, inputs=players)
kd.sync_test(game, frames=100, distance=8, inputs=players)

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
except kd.DesyncError as error:
    print(error.tick, error.expected, error.got)
except kd.OverloadError as error:
    print(error.steps)
except (kd.SnapshotError, kd.CallbackError, kd.KickdriftError) as error:
    print(error)

# Mistakes that a type checker must report: an unused `type: ignore` comment is an error too.
kd.Stepper([[0.0]], 1.0, 1.0, 1 / 60)  # type: ignore[call-arg]
kd.Stepper([[0.0]], integrator=4)  # type: ignore[arg-type]
kd.Stepper([[0.0]], forces=[9.81])  # type: ignore[list-item]
world.tick = 3  # type: ignore[misc]
world.step("one")  # type: ignore[arg-type]
kd.Stepper([[0.0]], clock=60)  # type: ignore[arg-type]
kd.FixedClock([60])  # type: ignore[arg-type]
kd.FixedClock(policy=kd.Drop())  # type: ignore[arg-type]
kd.FixedClock(overload=kd.Locked(2))  # type: ignore[arg-type]
kd.Locked("2")  # type: ignore[arg-type]
kd.Match(0.25)  # type: ignore[call-arg]
kd.Locked(2).steps = 3  # type: ignore[misc]
clock.tick = 3  # type: ignore[misc]
clock.set_hz(60, keep="beat")  # type: ignore[arg-type]
game.advance("0.01")  # type: ignore[arg-type]
game.interpolate(mode="cubic")  # type: ignore[call-overload]
kd.Rollback(60)  # type: ignore[arg-type]
past.resimulate(10, inputs=lambda stepper: None)  # type: ignore[arg-type, misc]
