"""Check that workers have the same build of kickdrift as the machine that sends them work."""

from __future__ import annotations

import functools
import os
import socket
import sys

import numpy as np

from .. import build_info, flows
from ..errors import KickdriftError
from ..forces.fields import Damping, PointGravity, QuadraticDrag
from ..ode.stepper import ODEStepper
from ..stepper.stepper import Stepper


class WorkerError(KickdriftError, RuntimeError):
    """A worker has another build of kickdrift than the machine that sent it work.

    `worker` is its name, `differences` has (here, there) for each fact in which the two differ.
    """

    def __init__(self, worker: str, differences: dict[str, tuple[object, object]]) -> None:
        listed = "; ".join(f"{name} {here!r} here, {there!r} there" for name, (here, there) in differences.items())
        super().__init__(
            f"worker {worker} has another kickdrift than this process: {listed}; "
            f"install the same build on both, and set KICKDRIFT_ISA on both or on none"
        )
        self.worker, self.differences = worker, differences

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.worker, self.differences)


@functools.cache
def identity() -> dict[str, object]:
    """Return facts that must be equal in two processes: the build, a forced instruction set, a digest of results.

    Machines may have different instruction sets, because results are bitwise equal in all of them. An instruction set
    forced with KICKDRIFT_ISA on one side only is a mistake.
    """
    info = build_info()
    isas = info["isas"]
    assert isinstance(isas, tuple)
    built = {name: info[name] for name in ("version", "build", "compiler", "flags")}
    return {**built, "forced isa": "" if info["isa"] == isas[-1] else info["isa"], "digest": f"{_digest():#018x}"}


def require(expected: dict[str, object]) -> None:
    """Raise WorkerError, with the name of this process, if its identity differs from the expected one."""
    mine = identity()
    differences = {
        name: (expected.get(name), mine.get(name))
        for name in {**expected, **mine}
        if expected.get(name) != mine.get(name)
    }
    if differences:
        raise WorkerError(_name(), differences)


def _name() -> str:
    place = f"process {os.getpid()} on {socket.gethostname()}"
    if "distributed" in sys.modules:
        from distributed import get_worker

        try:
            worker = get_worker()
        except ValueError:  # not a Dask worker
            return place
        return f"{worker.name} at {worker.address} ({place})"
    return place


def _digest() -> int:
    """Return a digest of a short run: both dtypes, full vectors and remainders, square roots, decay, equations."""
    total = 0
    for dtype in (np.float32, np.float64):
        position: np.ndarray = np.array(range(1, 75), dtype).reshape(37, 2)
        world = Stepper(
            position / 7,
            position[::-1] / 8,
            mass=1.7,
            dt=1 / 60,
            integrator="rk4",
            forces=[PointGravity(3.0, softening=0.1), QuadraticDrag(0.1), Damping(0.3)],
        )
        world.step(20)
        weather = ODEStepper(np.ascontiguousarray(world.position[:, [0, 1, 0]]), flows.Lorenz(), dt=0.01)
        weather.step(20)
        total = (total * 31 + world.checksum() * 7 + weather.checksum()) % 2**64
    return total
