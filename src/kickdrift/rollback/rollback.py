"""Rollback: a ring buffer of snapshots, and a test that replays are deterministic."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any

from .. import validation
from ..errors import DesyncError
from ..stepper.common import State
from ..stepper.events import owner
from . import history, snapshots

if TYPE_CHECKING:
    from ..stepper.base import StepperBase

#: Called before each step with the stepper and its tick, to apply the players' inputs of that tick.
InputFunction = Callable[[Any, int], None]


class Rollback:
    """Keep the last `ticks` states of a stepper, to return to one of them when late input arrives.

    stepper: a Stepper or an ODEStepper. ticks: how many states are kept, at least 1. Raises TypeError or ValueError
    for anything else. Thread-safety: that of the stepper.

    The stepper's latest Rollback owns its events as long as it exists. Read them with `events`, or with
    `stepper.events.of`, because `stepper.events.take()` raises RuntimeError meanwhile.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0]], [[1.0]], dt=1)
    >>> past = kd.Rollback(world, ticks=8)
    >>> for _ in range(5):
    ...     past.save()
    ...     world.step()
    >>> past.rollback(2)
    >>> past.resimulate(5, inputs=lambda world, tick: None)
    >>> world.tick, world.position.tolist()
    (5, [[5.0]])
    """

    def __init__(self, stepper: StepperBase, ticks: int = 60) -> None:
        if not isinstance(stepper, State):
            raise TypeError(f"stepper: expected a Stepper or ODEStepper, got {validation.show(stepper)}")
        self.stepper = stepper
        self._ticks = validation.integer("ticks", ticks, 1)
        self._snapshots: dict[int, snapshots.Kept] = {}
        listens = getattr(stepper, "_events", None) is not None
        #: The event history of the stepper from now on; None if events are disabled.
        self._history = history.EventHistory(stepper) if listens else None

    @property
    def ticks(self) -> list[int]:
        """Ticks of the saved states, oldest first."""
        return list(self._snapshots)

    def save(self) -> None:
        """Save the stepper's state. Drop saved states of later ticks and, if there is no room, the oldest."""
        kept = self.stepper._exclusively(snapshots.keep, self.stepper)
        states = self._snapshots
        if not states or kept.tick > next(reversed(states)):
            states[kept.tick] = kept
            while len(states) > self._ticks:
                del states[next(iter(states))]
        else:
            # After a rollback, states of later ticks are invalid. Ctrl-C cannot interrupt a single assignment.
            earlier = [(saved, state) for saved, state in states.items() if saved < kept.tick]
            self._snapshots = dict([*earlier, (kept.tick, kept)][-self._ticks :])
        if self._history is not None and self._history.owns:
            self._history.saved(kept.tick, next(iter(self._snapshots)))

    def checksum(self, tick: int) -> int:
        """Return the `checksum()` of the state saved at `tick`, for comparison with peers.

        Raises ValueError if no such state is saved.
        """
        return int(self.stepper._exclusively(snapshots.checksum, self.stepper, self._saved(tick)))

    def _saved(self, tick: int) -> snapshots.Kept:
        if not isinstance(tick, Integral) or tick not in self._snapshots:
            raise ValueError(f"tick: expected one of the saved ticks {self.ticks}, got {validation.show(tick)}")
        return self._snapshots[int(tick)]

    def rollback(self, tick: int) -> None:
        """Restore the state saved at `tick`, and drop the later ones.

        Raises ValueError, and changes nothing, if no state of that tick is kept.
        """
        snapshot = snapshots.packed(self.stepper, self._saved(tick))
        reported = None if self._history is None else owner(self.stepper) or self._history
        if reported is not None:
            reported.withdraw(tick)
        # The clock keeps its tick: real time does not go back, and resimulation catches up with it.
        self.stepper._exclusively(self.stepper._restore, snapshot, False)
        self._snapshots = {saved: state for saved, state in self._snapshots.items() if saved <= tick}

    def events(self, confirmed: int) -> Any:
        """Return the events up to a tick that can no longer change, each once; see `Events`.

        confirmed: a tick, also one ahead of the stepper. Events of later ticks are kept. `rollback` drops the events of
        ticks that it undoes, because replayed steps record them again. While the Rollback exists, it owns the events
        of the stepper: `events.take()` raises RuntimeError. Game logic that depends on events reads
        `stepper.events.of(tick)` in `inputs` instead. Call it regularly: of ticks before the oldest saved state, at
        most `Events(capacity)` events are kept, and the rest is counted in `dropped`.

        Raises RuntimeError for a stepper without `events=` and if a later Rollback of the stepper owns them, and
        TypeError if `confirmed` is not an int.

        >>> import kickdrift as kd
        >>> asked = kd.Events(begin=False, end=False)
        >>> ball = kd.Stepper([[1.0]], [[5.0]], dt=0.5, constraints=[kd.Box(0, 2.5)], events=asked)
        >>> past = kd.Rollback(ball)
        >>> past.resimulate(4)
        >>> past.rollback(2)
        >>> past.resimulate(4)
        >>> [past.events(confirmed=tick)["tick"].tolist() for tick in (1, 1, 4)]
        [[1], [], [2, 3, 4]]
        """
        confirmed = validation.integer("confirmed", confirmed)
        if self._history is None:
            raise RuntimeError("events: expected a stepper that was made with events=kickdrift.Events()")
        if not self._history.owns:
            raise RuntimeError("events: a later Rollback owns the events of this stepper")
        return self._history.confirm(confirmed)

    def resimulate(self, tick: int, inputs: InputFunction | None = None) -> None:
        """Step up to `tick`, saving each state on the way; `interpolate` then works as after a frame.

        tick: not before the stepper's.
        inputs: called before each step as inputs(stepper, tick), to apply the present inputs. Game logic
        belongs there too: `stepper.events.of(tick)` returns the events of the previous step, equal in each replay.

        A step of a clock with substeps has several ticks, and `inputs` is called once for all of them. Therefore run
        whole steps: `resimulate(stepper.tick + stepper.clock.substeps, inputs)`.

        Raises TypeError or ValueError for wrong arguments, and the errors of `inputs` and of `Stepper.step`. After an
        error the stepper is at the last completed tick; with `inputs`, at the last completed step of the clock, and
        what `inputs` changed since then is undone. Call it again to continue.
        """
        stepper = self.stepper
        now = stepper.tick
        tick = validation.integer("tick", tick, now)
        _check(inputs)
        while now < tick:
            self.save()
            begin, end = now, -1
            try:
                if inputs is not None:
                    inputs(stepper, now)
                    now = stepper.tick
                # One step of the clock has several ticks of the stepper if the clock has substeps: run them in one
                # call.
                clock = stepper._clock
                step = min(1 if clock is None else clock.substeps, tick - now)
                end = now + step
                if end == tick:
                    stepper._last_step(step)
                else:
                    stepper.step(step)
            except BaseException:
                # The next call applies these inputs again, at the tick of their step: also if substeps have run.
                if inputs is not None and stepper.tick != end and begin in self._snapshots:
                    self.rollback(begin)
                raise
            now = stepper.tick


def _check(inputs: Any) -> None:
    if inputs is not None and not callable(inputs):
        hint = ": a table is played by its own `play`" if hasattr(inputs, "play") else ""
        raise TypeError(f"inputs: expected a function of (stepper, tick), got {validation.show(inputs)}{hint}")


def sync_test(stepper: StepperBase, frames: int, distance: int = 4, inputs: InputFunction | None = None) -> None:
    """Check that results depend only on what snapshots contain: go back `distance` ticks at each tick, and compare.

    stepper: a Stepper or an ODEStepper; it ends at the last tick. frames: how many ticks to run. distance: how many
    ticks to go back, at least 1. inputs: called before each step as inputs(stepper, tick). It must depend only on these
    two, and on `stepper.events.of(tick)`.

    Each tick is simulated distance + 1 times, and must have an equal checksum each time. Events that were not taken
    before are dropped, unless another Rollback keeps them.

    Raises DesyncError, which names the first tick whose checksums differ.

    >>> import kickdrift as kd
    >>> kd.sync_test(kd.Stepper([[0.0]], [[1.0]]), frames=10)
    """
    frames = validation.integer("frames", frames, 0)
    distance = validation.integer("distance", distance, 1)
    _check(inputs)
    events = None if getattr(stepper, "_events", None) is None else owner(stepper)
    past = Rollback(stepper, distance + 1)
    first: dict[int, int] = {}

    def step() -> None:
        past.resimulate(stepper.tick + 1, inputs)
        expected = first.setdefault(stepper.tick, stepper.checksum())
        if stepper.checksum() != expected:
            raise DesyncError(stepper.tick, expected, stepper.checksum())

    try:
        for _ in range(frames):
            step()
            now = stepper.tick
            past.rollback(max(now - distance, past.ticks[0]))
            while stepper.tick < now:
                step()
            first.pop(now - distance - 1, None)
    finally:
        if events is not None and past._history is not None:
            events.take_back(past._history)
