"""Many worlds in plain Python: a stepper for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import in_world
from ..stepper.world_copies import private, renumber
from ..stepper.world_view import fields_of_all
from ..stepper.worlds_base import WorldsBase
from .stepper import Stepper

if TYPE_CHECKING:
    from ..declaration import Declaration
    from ..forces.applied import Applied
    from ..stepper.base import StepperBase


class Worlds(WorldsBase):
    """`kickdrift.Worlds` in plain Python: a loop over steppers, each on its rows of the shared arrays.

    >>> import kickdrift as kd
    >>> ball = kd.Stepper([[0.0]], [[1.0]], dt=0.5)
    >>> worlds = kd.reference.Worlds(ball, 2)
    >>> worlds.step()
    >>> worlds.position.tolist()
    [[[0.5]], [[0.5]]]
    """

    _stepper_type = Stepper
    _busy = False

    def _exclusively(self, function: Any, *given: Any, **named: Any) -> Any:
        if self._busy:
            raise RuntimeError("these worlds are stepping already: they serve one thread at a time")
        self._busy = True
        try:
            return function(*given, **named)
        finally:
            self._busy = False

    def _make(self, world: StepperBase, alike: np.ndarray) -> None:
        made = [self._made(world, i) for i in range(len(self))]
        self._steppers, self._others = [stepper for stepper, _ in made], [others for _, others in made]
        for i, stepper in enumerate(self._steppers):
            stepper._world = i
            if not alike[i]:
                stepper.restart()
        self._guest, others = private(world, Stepper, {}, lambda one: one.array.copy())
        self._others.append(others)

    def _made(self, world: StepperBase, i: int) -> tuple[Any, dict[Declaration, Any]]:
        """Return a stepper on the rows of one world."""
        arrays: dict[str, Any] = {name: array[i] for name, array in self._given.items()}
        before = {name: array.copy() for name, array in arrays.items()}
        for name, array in arrays.items():  # values that the constructor accepts; the given ones are restored below
            array[...] = (1, 0, 0, 0) if name == "orientation" else 0
        state = {name: array[i, ...] for name, array in self._user.items()}

        def array_of(one: Applied) -> np.ndarray:
            plan = world._plan
            for own, of_all in ((plan.applied, self._applied), (plan.torques, self._torques)):
                for array, each in zip(own, of_all, strict=True):
                    if array is one.array:
                        return each[i]
            return one.array.copy()

        made = private(world, Stepper, arrays | {"state": state}, array_of)
        for name, array in arrays.items():
            array[...] = before[name]
        return made

    def _private(self, declaration: Any) -> Any:
        return self._others[-1].get(declaration, declaration)

    @property
    def tick(self) -> np.ndarray:
        """Completed steps of each world: int64 of shape (worlds,)."""
        return np.array([stepper.tick for stepper in self._steppers], np.int64)

    def _advance(self, n: int, active: np.ndarray | None) -> None:
        errors = []
        for i, stepper in enumerate(self._steppers):
            if active is None or active[i]:
                try:
                    stepper.step(n)
                except Exception as error:  # raised after the steps of the other worlds
                    errors.append((i, error))
        if errors:
            raise in_world(*errors[0])

    def _call(self, i: int, function: Any, *given: Any, **named: Any) -> Any:
        return function(self._steppers[i], *given, **named)

    def _go_back(self, saved: list[tuple[bytes, np.ndarray]]) -> None:
        for snapshot, rows in saved:
            for i in rows:
                self._steppers[i].restore(snapshot)

    def _copy(self, source: np.ndarray, target: np.ndarray) -> None:
        saved = [(self._steppers[i].snapshot(), [array.copy() for array in self._loads(i)]) for i in source]
        for i, (snapshot, loads) in zip(target, saved, strict=True):
            self._steppers[i].restore(snapshot)
            for array, values in zip(self._loads(i), loads, strict=True):
                array[...] = values  # snapshots contain only the loads of rods that may break
            if self._steppers[i]._log is not None:
                self._steppers[i]._log.cut(-1)

    def _loads(self, i: int) -> list[np.ndarray]:
        """Return the arrays of the loads of a world."""
        return [array for entry in self._steppers[i]._entries for array in entry.origin.loads]

    def _renumber(self, numbers: dict[Declaration, dict[str, Any]], what: str, rows: np.ndarray | None) -> None:
        try:
            self._fit(numbers, rows)
        except BaseException:
            self._fit(self._numbers)  # restore the old coefficients
            raise
        self._numbers = numbers

    def _fit(self, numbers: dict[Declaration, dict[str, Any]], rows: np.ndarray | None = None) -> None:
        for i in range(len(self)) if rows is None else rows.tolist():
            renumber(self._steppers[i], self._numbers_of(i, numbers))

    def _replace_arrays(self, name: str, arrays: list[np.ndarray]) -> None:
        setattr(self, name, arrays)
        for i, stepper in enumerate(self._steppers):
            plan = stepper._plan
            for own, of_all in ((plan.applied, self._applied), (plan.torques, self._torques)):
                for k, each in enumerate(of_all):
                    term = next(one for one in stepper.forces if getattr(one, "array", None) is own[k])
                    array = each[i]  # the same object in term and plan: the line above compares by identity
                    object.__setattr__(term, "_array", array)
                    own[k] = array

    def _slots_of_all(self) -> tuple[np.ndarray, np.ndarray]:
        books = [stepper._book() for stepper in self._steppers]
        shape = (len(self), self.n)
        alive = np.array([book.mask[: self.n] for book in books], np.uint8).reshape(shape)
        return alive, np.array([book.generation for book in books], np.int64).reshape(shape)

    def _spawn(self, where: np.ndarray, rows: list[tuple[np.ndarray, np.ndarray]]) -> None:
        for of_all, values in rows:
            of_all[where] = values
        for stepper, mask in zip(self._steppers, where, strict=True):
            if stepper._history is not None:
                stepper._history[mask] = 0
            stepper._book().spawn(np.flatnonzero(mask))

    def _kill(self, mask: np.ndarray) -> None:
        for stepper, rows in zip(self._steppers, mask, strict=True):
            stepper.kill(rows)

    def _take_events(self) -> np.ndarray:
        taken = [stepper._take_events() for stepper in self._steppers]
        events = np.zeros(sum(map(len, taken)), fields_of_all(self._guest._take_events().dtype))
        events["world"] = np.repeat(np.arange(len(self)), [len(each) for each in taken])
        for name in events.dtype.names[1:]:
            events[name] = np.concatenate([each[name] for each in taken] or [events[name]])
        return events

    @property
    def _events_dropped(self) -> np.ndarray:
        return np.array([stepper._events_dropped for stepper in self._steppers], np.int64)
