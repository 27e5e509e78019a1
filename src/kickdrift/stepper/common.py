"""State, the base of all steppers: arrays that are stepped in place, with exact time and snapshots."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import time_steps, validation
from ..declaration import once
from ..errors import SnapshotError
from ..rollback import parts, snapshots
from . import recording
from .user_state import UserArrays, UserState, described, user_arrays

_ZERO = Fraction(0)


class State:
    """Exact time, recording and snapshots. Subclasses define the state and how it is stepped.

    A subclass calls `_begin(dt, threads)` and implements the methods declared below.
    """

    #: The clock that `advance` feeds, or None.
    _clock: Any = None
    #: Accumulated offset of `shift`, per component; empty if the stepper cannot be shifted.
    _offset: np.ndarray = np.zeros(0)
    #: True if the integrator may have a history; `_started` is then True once the history is filled.
    _starts = True
    #: Sections that snapshots contain beside the state arrays, see rollback/parts.py.
    _parts: tuple[parts.Part, ...] = ()

    if TYPE_CHECKING:

        @property
        def tick(self) -> int: ...
        @property
        def n(self) -> int: ...
        @property
        def dim(self) -> int: ...
        @property
        def dtype(self) -> np.dtype: ...

        _tape: Any  # the `Tape` that records this stepper, or None
        _plan: Any  # plan of the bodies, see model.py
        _started: bool  # True if the history is filled
        _last_h: float  # the step size of the history, in s

        def step(self, n: int = 1, progress: bool = False) -> None: ...
        def _step(self, n: int) -> None: ...  # only for callers that have the lock
        def _exclusively(self, function: Callable[..., Any], *given: Any) -> Any: ...  # under the lock
        def _numbers(self, binding: Any, h: float) -> Any: ...  # the numbers that depend on dt, for `_commit`
        def _commit(self, *args: Any, **changes: Any) -> None: ...  # apply several changes atomically, see bodies.pyx
        def _copies(self) -> bytes: ...  # the state arrays in snapshot format
        def _digest(self, values: np.ndarray, place: int) -> int: ...
        def _sampled(self) -> dict[str, np.ndarray]: ...  # the arrays that `record` samples, by name
        def _trajectory(self, **samples: Any) -> Any: ...  # the result of `record`
        def _arrays(self) -> list[np.ndarray]: ...  # the arrays that later steps depend on
        def _array_count(self, started: bool) -> int: ...  # number of arrays that `_arrays` returns
        def _described(self) -> dict[str, Any]: ...  # properties that compatible snapshots share, for JSON
        def _targets(self, count: int) -> list[np.ndarray]: ...  # the arrays to which `count` saved arrays are restored
        def _shifted(self, offset: np.ndarray, **plan: Any) -> dict[str, Any]: ...  # for `_commit`

    def _begin(self, exact_dt: Fraction, threads: int) -> None:
        self._threads = validation.threads(threads)
        self._exact_dt, self._dt = exact_dt, float(exact_dt)
        # Time is origin + (tick - origin_tick) * dt, in exact fractions. A change of dt moves the origin to the current
        # time, which is rounded to a multiple of 2**-1100 s if its fraction would become longer.
        self._origin, self._origin_tick = _ZERO, 0
        self._snapshot_text: tuple[Any, bytes] | None = None

    def _take_state(self, given: Mapping[str, np.ndarray] | None, **taken: np.ndarray) -> None:
        """Register the user's arrays. taken: the stepper's own arrays, with which they must not share memory."""
        arrays = user_arrays(given, taken)
        self._user_given = UserArrays(arrays)
        # Views of the state arrays: they keep their shape, and prevent a resize of the original arrays.
        self._user_arrays = {name: np.asarray(arrays[name]).view() for name in sorted(arrays)}
        if arrays:
            self._user_text = described(self._user_arrays)
            self._parts = (*self._parts, UserState())

    def _copied_state(self) -> dict[str, np.ndarray]:
        return {name: array.copy(order="K") for name, array in self._user_arrays.items()}

    @property
    def state(self) -> UserArrays:
        """Your own arrays that belong to this world, by name. A copy of the stepper has copies of the arrays.

        >>> import numpy as np, kickdrift as kd
        >>> ammo = np.array([6, 6])
        >>> world = kd.Stepper([[0.0]], state={"ammo": ammo})
        >>> saved = world.snapshot()
        >>> ammo[0] -= 1
        >>> world.restore(saved)
        >>> ammo.tolist(), world.state["ammo"] is ammo
        ([6, 6], True)
        """
        return self._user_given

    @property
    def threads(self) -> int:
        """Number of threads that share the work of large steps; results do not depend on it."""
        return self._threads

    @property
    def dt(self) -> float:
        """Seconds per step. May be set between steps, also to a Fraction or string; the time stays continuous.

        Negative steps go back in time. This works without constraints, noise and a clock.
        """
        return self._dt

    @dt.setter
    def dt(self, value: float | Fraction | str) -> None:
        self._exclusively(self._choose_dt, time_steps.signed_step(value, None, self.dtype))
        self._warn_of()

    @property
    def hz(self) -> float:
        """Steps per second, 1 / `dt`. May be set between steps, as `dt`, also to a Fraction or string.

        Raises TypeError or ValueError as `hz=` of the constructor does, RuntimeError during a step.

        >>> import kickdrift as kd
        >>> world = kd.Stepper([[0.0]], hz=60)
        >>> world.hz = 30
        >>> world.hz, world.dt == 1 / 30
        (30.0, True)
        """
        return float(1 / self._exact_dt)

    @hz.setter
    def hz(self, value: float | Fraction | str) -> None:
        self._exclusively(self._choose_dt, time_steps.signed_step(None, value, self.dtype))
        self._warn_of()

    # All methods below whose names begin with an underscore require that the caller has the lock.

    @once
    def _identity(self) -> dict[str, Any]:
        return self._described()

    def _warn_of(self) -> None:
        """Warn of coefficients that are unsuitable for the current dt."""

    def _choose_dt(self, exact: Fraction) -> None:
        if exact != self._exact_dt:
            self._change_dt(exact, **self._clock_change(exact))

    def _clock_change(self, exact: Fraction) -> dict[str, Any]:
        """Return the change of the clock, if the stepper has one, that another dt requires."""
        return {}

    def _change_dt(self, exact: Fraction, **more: Any) -> None:
        """Change dt; time stays continuous."""
        origin = {"_origin": time_steps.exact_time(self._time_exact()), "_origin_tick": self.tick}
        step = {"_dt": float(exact), "_exact_dt": exact}
        self._commit(numbers=self._numbers(None, float(exact)), attributes=origin | step, **more)

    def _numbered(self, tick: int, entries: Any = None) -> dict[str, Any]:
        """Return the attributes to set if events from this tick on have other constraint numbers, else {}."""
        return {}

    def _time_exact(self) -> Fraction:
        return Fraction(*self._time_ratio())

    def _time_ratio(self) -> tuple[int, int]:
        """Return the time as a fraction, not reduced to lowest terms: the gcd would dominate the cost."""
        origin, dt = self._origin, self._exact_dt
        passed = (self.tick - self._origin_tick) * dt.numerator * origin.denominator
        return origin.numerator * dt.denominator + passed, origin.denominator * dt.denominator

    @property
    def time(self) -> float:
        """Simulated seconds: tick * dt, rounded once, without accumulated errors. Infinite beyond the largest float.

        It stays exact if dt changes. Only a very long fraction is rounded, to a multiple of 2**-1100 s.
        """
        return validation.ratio(*self._time_ratio())

    if not TYPE_CHECKING:
        record = recording.record

    def checksum(self) -> int:
        """Return a 64-bit digest of all that a snapshot contains: the state, the integrator's history, your own arrays.

        It does not depend on platform, instruction set, memory layout and number of threads. 0.0 and -0.0
        count as equal. A float32 state and a float64 state always differ. Raises RuntimeError during a step.
        """
        return int(self._exclusively(self._checksum))

    def _checksum(self) -> int:
        return snapshots.digest(self, self._arrays(), parts.written(self))

    def snapshot(self) -> bytes:
        """All that later steps depend on, as bytes that any machine can `restore`.

        That is the state, the integrator's history, tick, dt and the clock's tick. Not included are the clock's
        unconsumed time, its scale, and whether it is paused. Coefficients that were
        changed after construction are included, all others only as a digest. Raises RuntimeError during a step.

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[0.0]], [[1.0]], dt=1)
        >>> saved = ball.snapshot()
        >>> ball.step(3)
        >>> ball.restore(saved)
        >>> ball.tick, ball.position.tolist()
        (0, [[0.0]])
        """
        return bytes(self._exclusively(snapshots.save, self))

    def restore(self, snapshot: bytes, *, clock: bool = False) -> None:
        """Restore the state of a snapshot of this or an equal stepper, in the same arrays.

        snapshot: what `snapshot()` returned.
        clock: whether to reset the clock too, as for a new game. It then has its initial scale, is not paused, has no
        unconsumed time, and takes tick and time from the snapshot. If false, scale and pause stay as they are.

        dt and the rate of the clock come from the snapshot too, unless the clock follows the frames. Unread events of
        later ticks are dropped: the repeated steps will record them again.

        Raises SnapshotError, and changes nothing, if the snapshot is damaged, or was made by a stepper with another
        size, integrator or other coefficients, or if its dt does not suit the clock. Interpolation is reset. Raises
        RuntimeError during a step, and with `clock` also inside a frame.

        >>> import kickdrift as kd
        >>> game = kd.Stepper([[0.0]], [[1.0]], hz=60)
        >>> start = game.snapshot()
        >>> game.clock.scale = 0.5
        >>> steps = game.advance(0.1)
        >>> game.clock.pause()
        >>> game.restore(start, clock=True)
        >>> game.tick, game.clock.tick, game.clock.scale, game.clock.paused
        (0, 0, 1.0, False)
        """
        anew = validation.flag("clock", clock)
        self._exclusively(self._restore, snapshot, True, True, anew)

    def _restore(
        self, snapshot: bytes, clock_tick: bool = True, clock_rate: bool = True, clock_anew: bool = False
    ) -> None:
        """Restore a snapshot, optionally with the clock's tick and rate."""
        clock = self._clock
        clock_anew = clock_anew and clock is not None
        # Under policy "variable", dt is the length of the last frame: it must not become the clock's rate.
        clock_rate = clock_rate and (clock is None or clock.deterministic)
        # The clock's rate may have changed since the stepper's last frame.
        other_rate = clock_rate and clock_tick and clock is not None and clock.substep_dt != self._dt
        saved = snapshots.parse(self, snapshot)
        writes = [(to, None, array) for to, array in zip(self._targets(len(saved.arrays)), saved.arrays, strict=True)]
        resume = saved.tick, saved.started, saved.last_h
        counted = saved.clock_tick or 0 if clock_tick and clock is not None else None
        same_origin = saved.origin is self._origin and saved.origin_tick == self._origin_tick
        same_time = same_origin and saved.exact_dt is self._exact_dt and not other_rate
        if saved.changes is None and same_time and saved.offset is self._offset and not clock_anew:
            numbered = self._numbered(saved.tick)
            more = {} if counted is None else {"clock_tick": counted}
            self._commit(writes=writes, resume=resume, **more, **({"attributes": numbered} if numbered else {}))
            return
        changes = saved.changes or parts.together([])
        plan, attributes = changes.pop("plan"), changes["attributes"]
        if plan or (saved.offset is not self._offset and (saved.offset != self._offset).any()):
            try:
                shifted = self._shifted(saved.offset, **plan)
            except ValueError as error:  # the offset may make coefficients overflow
                what = "plan" if plan else "offset"
                raise SnapshotError(f"snapshot: its {what} is refused here: {error}") from error
            attributes |= shifted.pop("attributes")
            changes |= shifted
        for function in changes.pop("later"):
            changes["writes"] += function(attributes)
        attributes |= self._numbered(saved.tick, attributes.get("_entries"))
        if not same_origin:
            attributes |= {"_origin": saved.origin, "_origin_tick": saved.origin_tick}
        other_dt = saved.exact_dt is not self._exact_dt and saved.exact_dt != self._exact_dt
        if other_dt or "binding" in changes:
            attributes |= {"_exact_dt": saved.exact_dt, "_dt": float(saved.exact_dt)}
        changes["writes"] += writes
        try:
            if clock_anew:
                rate = 1 / (saved.exact_dt * clock.substeps) if clock_rate else clock._settings.rate
                time = saved.origin + (saved.tick - saved.origin_tick) * saved.exact_dt
                changes["clock_anew"] = rate, counted or 0, time_steps.exact_time(time)
            elif counted is not None:
                changes["clock_tick"] = counted
            if "_exact_dt" in attributes:
                changes["numbers"] = self._numbers(changes.get("binding"), float(saved.exact_dt))
            if not clock_anew and (other_rate or (clock_rate and other_dt)):
                changes |= self._clock_change(saved.exact_dt)
            self._commit(resume=resume, **changes)
        except ValueError as error:  # the clock may be unable to represent dt
            raise SnapshotError(f"snapshot: its dt of {saved.exact_dt} s is refused here: {error}") from error

    def __copy__(self) -> Any:
        # A shallow copy would share arrays: both steppers would overwrite each other's results.
        return copy.deepcopy(self)
