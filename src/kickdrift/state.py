"""What all steppers are: arrays that are stepped in place, at an exact time, and can be saved."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arguments, snapshots


class State:
    """Keeps the exact time, records, and saves; what is stepped and how is left to what derives.

    What derives calls `_begin(dt, threads)` and provides what is declared below.
    """

    #: The clock that frames are fed to, where there is one.
    _clock: Any = None
    #: How far everything was shifted, component by component, where that can be.
    _offset: np.ndarray = np.zeros(0)

    if TYPE_CHECKING:

        @property
        def tick(self) -> int: ...
        @property
        def n(self) -> int: ...
        @property
        def dim(self) -> int: ...
        @property
        def dtype(self) -> np.dtype: ...

        _started: bool  # is the history filled?
        _last_h: float  # the step that it spans

        def step(self, n: int = 1) -> None: ...
        def _set_dt(self, h: float) -> None: ...
        def _resume(self, tick: int, started: bool, last_h: float) -> None: ...
        def _digest(self, values: np.ndarray, place: int) -> int: ...
        def _sampled(self) -> tuple[np.ndarray, ...]: ...  # what `record` keeps
        def _trajectory(self, time: np.ndarray, *samples: np.ndarray) -> Any: ...
        def _arrays(self) -> list[np.ndarray]: ...  # what later steps depend on
        def _array_count(self, started: bool) -> int: ...  # of these, with the history filled or not
        def _refuse_while_stepping(self) -> None: ...  # RuntimeError then
        def _identity(self) -> dict[str, Any]: ...  # whose snapshots it takes, as JSON
        def _move_forces(self, offset: np.ndarray) -> None: ...

    def _begin(self, exact_dt: Fraction, threads: int) -> None:
        self._threads = arguments.integer("threads", threads, 1)
        self._exact_dt, self._dt = exact_dt, float(exact_dt)
        # Time is origin + (tick - origin_tick) * dt, both exact; the origin moves when dt changes,
        # and is then rounded to a multiple of 2**-1100 s where its terms would grow beyond that.
        self._origin, self._origin_tick = Fraction(0), 0
        self._snapshot_text: tuple[Any, bytes] | None = None

    @property
    def threads(self) -> int:
        """How many threads share the work of large steps; it changes no bit of the result."""
        return self._threads

    @property
    def dt(self) -> float:
        """Seconds per step; may be set between steps (also to a Fraction or text), time stays continuous."""
        return self._dt

    @dt.setter
    def dt(self, value: float | Fraction | str) -> None:
        self._choose_dt(arguments.time_step(value, None, self.dtype))

    def _choose_dt(self, exact: Fraction) -> None:
        self._change_dt(exact)

    def _change_dt(self, exact: Fraction) -> None:
        self._set_dt(float(exact))
        self._origin, self._origin_tick = arguments.exact_time(self._time_exact()), self.tick
        self._dt, self._exact_dt = float(exact), exact

    def _take_dt(self, exact: Fraction) -> None:
        """Take over the dt of a snapshot, exactly, or raise ValueError and change nothing."""
        arguments.time_step(exact, None, self.dtype)  # is it one?
        clock = self._clock
        if clock is None or not clock.deterministic:
            self._change_dt(exact)  # what a frame measured is no rate
        elif arguments.countable(exact * clock.substeps):
            self._choose_dt(exact)
        else:
            raise ValueError(f"hz: expected a step that the clock can count, got one of {arguments.show(exact)} s")

    def _time_exact(self) -> Fraction:
        return self._origin + (self.tick - self._origin_tick) * self._exact_dt

    @property
    def time(self) -> float:
        """Simulated seconds: tick * dt, rounded once and never a running sum; infinite beyond the largest float.

        Over changes of dt it is exact as well, or to 2**-1100 s, once the terms of the fraction are that large.
        """
        return arguments.seconds(self._time_exact())

    def record(self, steps: int, every: int = 1) -> Any:
        """Run `steps` steps and keep the state now and after each `every` of them; raises what `step` raises.

        Where a step raises, the error carries the samples so far as its attribute `trajectory`.

        >>> import kickdrift as kd
        >>> kd.Stepper([[0.0]], [[2.0]], dt=0.5).record(4, every=2).position.ravel().tolist()
        [0.0, 2.0, 4.0]
        """
        steps = arguments.integer("steps", steps, 0)
        every = arguments.integer("every", every, 1)
        count = steps // every + 1
        time = np.empty(count)
        samples = [np.empty((count, *array.shape), array.dtype) for array in self._sampled()]
        for number in range(count):
            try:
                if number:
                    self.step(every)
            except BaseException as error:
                error.trajectory = self._trajectory(time[:number], *(sample[:number] for sample in samples))  # type: ignore[attr-defined]
                raise
            time[number] = self.time
            for sample, array in zip(samples, self._sampled(), strict=True):
                sample[number] = array
        self.step(steps - (count - 1) * every)
        return self._trajectory(time, *samples)

    def checksum(self) -> int:
        """A 64-bit digest of the bits of the state, and of the integrator's history if it has one.

        Equal on every platform, for every instruction set, memory layout and number of threads. Signed
        zeros count as equal; float32 and float64 states never agree.
        """
        total, size = 0, self.n * self.dim
        for number, array in enumerate(self._arrays()):
            total += self._digest(array, number * size)
        return total % 2**64

    def snapshot(self) -> bytes:
        """Everything that later steps depend on, as bytes that any other machine can `restore`.

        That is: the state, the integrator's history, tick, dt and the clock's tick, but not the time
        that waits in the clock, which is the display's affair. Coefficients are not in it, only
        their digest.

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[0.0]], [[1.0]], dt=1)
        >>> saved = ball.snapshot()
        >>> ball.step(3)
        >>> ball.restore(saved)
        >>> ball.tick, ball.position.tolist()
        (0, [[0.0]])
        """
        return snapshots.save(self)

    def restore(self, snapshot: bytes) -> None:
        """Go back (or forth) to a snapshot of this or an equal stepper, in the same arrays.

        Raises SnapshotError for one that is damaged or was made by a stepper with another size,
        integrator or other coefficients, or with a dt that the clock here cannot have; nothing has
        changed then. Drawing starts anew.
        """
        self._refuse_while_stepping()
        snapshots.load(self, snapshot)

    def __copy__(self) -> Any:
        # Two steppers on the same arrays would each undo what the other did.
        return copy.deepcopy(self)
