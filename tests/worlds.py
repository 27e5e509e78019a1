"""Worlds built by sweeps: in a module of their own, which worker processes can import."""

import os
import signal
import time
from pathlib import Path

import kickdrift as kd


def prey(alpha=1.0, beta=0.5, n=3):
    """Lotka-Volterra equations from n initial states."""

    def rhs(t, y, out):
        out[:, 0] = y[:, 0] * (alpha - beta * y[:, 1])
        out[:, 1] = y[:, 1] * (beta * y[:, 0] - 1.0)

    return kd.ODEStepper([[1.0 + place, 1.0] for place in range(n)], rhs, dt=0.01)


def throw(speed, drag=0.1):
    if speed < 0:
        raise ValueError(f"no such speed: {speed}")
    return kd.Stepper([[0.0, 1.0]], [[speed, speed]], dt=0.01, forces=[kd.QuadraticDrag(drag), kd.Gravity((0, -9.81))])


def slow(number, folder, seconds=0.01):
    """Create a world with slow steps; each start of the world appends the process id to a file."""
    with open(Path(folder) / f"{number}.starts", "a") as file:
        print(os.getpid(), file=file)

    def drag(t, position, velocity, out):
        time.sleep(seconds)
        out[:] = -0.1 * velocity

    return kd.Stepper([[0.0]], [[1.0 + number]], dt=0.01, forces=[kd.Force(drag)], integrator="semi_implicit_euler")


def deadly(number, folder, times):
    """Create a world; the first `times` builds of world number 2 kill their process instead."""
    marks = list(Path(folder).glob("death*"))
    if number == 2 and len(marks) < times:
        (Path(folder) / f"death{len(marks)}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return throw(1.0 + number)


def state(world):
    return world.y if isinstance(world, kd.ODEStepper) else world.position


def place(world):
    return world.position[0].tolist()


def motion(world):
    return world.record(20, every=5)
