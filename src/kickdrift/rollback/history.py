"""History of the events of the last ticks, owned by a Rollback."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from .. import validation
from ..stepper.events import fields, owner

if TYPE_CHECKING:
    from ..stepper.base import StepperBase


class EventHistory:
    """The events of ticks that a Rollback can restore, and those not returned by `Rollback.events` yet.

    A step records events in the stepper's buffer. Each saved state empties the buffer into the history, therefore
    every step has the full `Events(capacity)`, also in a replay. Restoring a tick keeps the events of that tick and of
    earlier ones. The events of a tick are therefore the same in each replay.
    """

    def __init__(self, stepper: StepperBase) -> None:
        self._stepper = stepper
        #: Events by tick, ascending; ticks without events are left out.
        self._rows: dict[int, np.ndarray] = {}
        self._count = 0
        #: Tick up to which `confirm` has returned the events.
        self._confirmed = -1
        #: Oldest tick that can be queried; tick of the last dropped state: events up to that tick may be dropped.
        self._oldest, self._floor = int(stepper.tick), -(2**62)
        self._own()

    def _own(self) -> None:
        self._stepper._event_history = weakref.ref(self)

    @property
    def owns(self) -> bool:
        """True if this history receives the stepper's events: it is the latest one that still exists."""
        other = owner(self._stepper)
        if other is None:
            self._own()
        return other is None or other is self

    def withdraw(self, tick: int) -> None:
        """Move the stepper's events to the history, and drop events after a tick."""
        fresh = self._stepper._exclusively(self._stepper._take_events)
        numbers = fresh["tick"]
        self._cut(min(tick, int(numbers[0]) - 1) if len(fresh) else tick)
        if len(fresh):
            for number in validation.distinct(numbers[numbers <= tick]).tolist():
                rows = fresh[numbers == number]
                self._rows[number] = rows
                self._count += len(rows)

    def _cut(self, tick: int) -> None:
        while self._rows and next(reversed(self._rows)) > tick:
            self._count -= len(self._rows.popitem()[1])

    def saved(self, tick: int, oldest: int) -> None:
        """Update the history after a state was saved. oldest: tick of the oldest saved state."""
        self.withdraw(tick)
        self._floor = self._oldest if oldest > self._oldest else min(self._floor, oldest - 1)
        self._oldest = oldest
        self._forget()

    def _forget(self) -> None:
        """Drop events that cannot be queried any more, and unconfirmed ones beyond the capacity."""
        capacity = self._stepper._events.capacity
        while self._rows:
            tick, rows = next(iter(self._rows.items()))
            if tick > self._floor or (tick > self._confirmed and self._count <= capacity):
                return
            if tick > self._confirmed:
                self._stepper._events_forgotten += len(rows)
            del self._rows[tick]
            self._count -= len(rows)

    def of(self, tick: int, ticks: int) -> np.ndarray:
        """Return the events of `ticks` ticks up to `tick`."""
        now = int(self._stepper.tick)
        self.withdraw(now)
        if not self._oldest <= tick <= now or tick - ticks < self._floor:
            first = max(self._oldest, self._floor + ticks)
            raise ValueError(f"tick: expected one from {first} to {now}, whose events the Rollback keeps, got {tick}")
        return self._joined([self._rows[each] for each in range(tick - ticks + 1, tick + 1) if each in self._rows])

    def confirm(self, tick: int) -> np.ndarray:
        """Return the events up to a tick; each event is returned only once."""
        now = int(self._stepper.tick)
        self.withdraw(now)
        tick = min(tick, now)  # events of later ticks do not exist yet; a later call returns them
        rows = [rows for each, rows in self._rows.items() if self._confirmed < each <= tick]
        self._confirmed = max(self._confirmed, tick)
        self._forget()
        return self._joined(rows)

    def _joined(self, rows: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([np.zeros(0, fields(self._stepper.dim)), *rows])

    def take_back(self, other: EventHistory) -> None:
        """Take ownership of the events again, including those that another history received meanwhile."""
        other.withdraw(int(self._stepper.tick))
        self._cut(next(iter(other._rows), 2**62) - 1)
        self._rows |= other._rows
        self._count = sum(map(len, self._rows.values()))
        self._own()
