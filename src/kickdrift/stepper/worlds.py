"""The public class Worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..declaration import Declaration
from ..engine.worlds import WorldsCore
from ..rollback.applied import idle_arrays
from ..validation import as_rows
from .stepper import Stepper
from .world_copies import private, renumber, rows_of
from .world_numbers import of_each
from .world_view import fields_of_all
from .worlds_base import WorldsBase

if TYPE_CHECKING:
    from .base import StepperBase


#: Methods and properties of a stepper that read coefficients in Python.
ASKED = {"energy", "record", "touching", "grounded", "cast", "overlap", "forces", "constraints"}


class Worlds(WorldsBase, WorldsCore):
    """Many copies of one world, stepped together in compiled code: each as if it were alone, bit for bit.

    world: a `Stepper`, which stays as it is. worlds: how many copies, if not given by arrays.
    position, velocity, angular_velocity, angle, orientation: your own arrays of all worlds, (worlds, n, ...), in the
    dtype of the world and with any strides. They are stepped in place, and their contents are the state. Those that
    are left out begin as copies of the world's.
    threads: how many threads share the worlds of a call.

    World i does what the same stepper does alone, whatever the number of worlds and threads, and whichever are active.
    In world i, `Langevin` has the seed of the template plus i, and noise(k) of an expression is noise(k + i) there: in
    one expression take numbers k that are farther apart than there are worlds. A function of yours is called for each
    world in turn, one at a time.

    Run: `step`. Look: `position`, `velocity`, `mass`, `angular_velocity`, `angle`, `orientation`, `state`, `tick`,
    `alive`, `ids`, `events.take()`, `checksum()`, and `worlds[i]`, one world with the methods of a stepper.
    Go back: `snapshot`, `restore`, `copy`. Change: `set`, `spawn`, `kill`. dt, masses, forces and constraints are those
    that the template had.

    Raises TypeError or ValueError, which name the argument. Thread-safety: one thread at a time, else RuntimeError.

    >>> import numpy as np, kickdrift as kd
    >>> ball = kd.Stepper([[0.0, 2.0]], dt=0.5, forces=[kd.Gravity((0, -10))])
    >>> worlds = kd.Worlds(ball, 3)
    >>> worlds.velocity[:, 0, 0] = (1, 2, 3)
    >>> worlds.step(2)
    >>> worlds.position[:, 0].tolist()
    [[1.0, -3.0], [2.0, -3.0], [3.0, -3.0]]
    >>> worlds.restore(ball.snapshot(), where=np.array([True, False, False]))
    >>> worlds.tick.tolist()
    [0, 2, 2]
    """

    __module__ = "kickdrift"

    _stepper_type = Stepper

    def _make(self, world: StepperBase, alike: np.ndarray) -> None:
        # Kernels choose their loops by strides, therefore the arrays of private steppers have the strides of one world
        # within the caller's arrays.
        arrays = {name: _strided(self._given[name]) for name in ("position", "velocity")}
        made = [
            private(world, Stepper, {name: array() for name, array in arrays.items()}, lambda one: one.array.copy())
            for _ in range(min(self._threads, max(1, self._count)) + 1)
        ]
        self._steppers, self._others = [stepper for stepper, _ in made], [others for _, others in made]
        self._guest, self._fitted = self._steppers[0], self._steppers.pop()
        self._state_arrays = [self._position, self._velocity]
        if self._guest._history is not None:
            own = self._guest._history
            tall = own.strides[0] < own.strides[1]
            history = np.zeros((self._count, *(own.shape[::-1] if tall else own.shape)), own.dtype)
            self._state_arrays.append(history.transpose(0, 2, 1) if tall else history)
            self._state_arrays[2][alike] = own
        self._arrange()
        self._found(self._steppers, self._count)
        self._began &= alike
        self._waiting: list[np.ndarray] = []  # recorded events, until `take` returns them

    def _private(self, declaration: Any) -> Any:
        return self._others[0].get(declaration, declaration) if isinstance(declaration, Declaration) else declaration

    def _arrange(self) -> None:
        """Pair each array of the first private stepper with the array of all worlds from which it is loaded."""
        guest = self._guest
        self._turning_arrays = [rows_of(self._given[name]) for name in [*self._given][2:]]
        self._applied_arrays, self._torque_arrays = (
            [rows_of(array) for array in arrays] for arrays in (self._applied, self._torques)
        )
        own = [guest._position, guest._velocity, *([] if guest._history is None else [guest._history])]
        own += [] if guest._rotation is None else [guest._rotation.velocity, guest._rotation.turned]
        own += [*map(as_rows, guest._plan.applied), *map(as_rows, guest._plan.torques), *guest._user_arrays.values()]
        own += idle_arrays(guest._entries)
        of_all = [*self._state_arrays, *self._turning_arrays, *self._applied_arrays, *self._torque_arrays]
        self._pairs = [*zip(own, [*of_all, *self._user.values(), *self._idle_applied], strict=True)]

    def _replace_arrays(self, name: str, arrays: list[np.ndarray]) -> None:
        self._rebinding = True
        setattr(self, name, arrays)
        self._arrange()
        self._bind_again()
        self._rebinding = False

    def _finish_rebinding(self) -> None:
        """Finish a change that Ctrl-C interrupted: bind again to the arrays and numbers of all worlds."""
        self._arrange()
        if self._alive is None and any(stepper._slots is not None for stepper in (*self._steppers, self._fitted)):
            self._take_slots()
        self._fit(self._numbers)
        self._rebinding = False

    @property
    def tick(self) -> np.ndarray:
        """Completed steps of each world: int64 of shape (worlds,), a copy."""
        return self._tick.copy()

    def _advance(self, n: int, active: np.ndarray | None) -> None:
        try:
            self._run(n, active)
        finally:
            self._waiting += self._new_events()

    def _call(self, i: int, function: Any, *given: Any, **named: Any) -> Any:
        """Load the state of a world into a private stepper, call a function with it, and store the state back."""
        guest, fitted = self._guest, self._fitted
        plan = guest._plan
        if function.__name__ in ("spawn", "kill") and self._alive is None:
            self._take_slots()
        self._load(i, [(own, ..., of_all[i]) for own, of_all in self._pairs])
        try:
            if self._numbers and function.__name__ in ASKED:
                # `_load` has given the kernels the coefficients of this world, but code in Python reads the plan.
                renumber(fitted, self._numbers_of(i, self._numbers))
                guest._plan = fitted._plan
                if guest._motion is not None:
                    guest._motion.know(fitted._fitted_entries, guest._entries)
            return function(guest, *given, **named)
        finally:
            guest._plan = plan
            self._store(i, [(of_all, i, own) for own, of_all in self._pairs])
            self._waiting += self._new_events()

    def _go_back(self, saved: list[tuple[bytes, np.ndarray]]) -> None:
        guest, where = self._guest, np.zeros(len(self), np.bool_)
        try:
            for snapshot, rows in saved:
                self._rebinding = True  # until all worlds have the slots that the snapshot may give to the guest
                guest._exclusively(guest._restore, snapshot)
                if guest._slots is not None and self._alive is None:
                    self._take_slots()
                self._rebinding = False
                where[rows] = True
                self._write([(of_all, rows, own) for own, of_all in self._pairs], spread=rows)
        finally:  # an interrupt leaves each world as before or as restored: those that are restored lose later events
            waiting, pending = self._events_left(where, self._tick)
            self._write([(self._pending, ..., pending)])
            self._waiting = waiting

    def _events_left(self, where: np.ndarray, tick: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the untaken events, without those after a tick in the worlds `where`, and the counts per world."""
        left = [rows[~where[rows[:, 0]] | (rows[:, 1] <= tick[rows[:, 0]])] for rows in self._waiting]
        numbers = np.concatenate([np.zeros(0, np.int64), *[rows[:, 0] for rows in left]])
        return [rows for rows in left if len(rows)], np.bincount(numbers, minlength=len(self))

    def _copy(self, source: np.ndarray, target: np.ndarray) -> None:
        where = np.zeros(len(self), np.bool_)
        where[target] = True
        waiting, pending = self._events_left(where, np.full(len(self), -1))
        arrays = [*(of_all for _, of_all in self._pairs), self._tick, self._began, self._spanned]
        arrays += [] if self._alive is None else [self._alive, self._needs_start, self._generation]
        writes: list[Any] = [(array, target, array[source]) for array in arrays]
        writes += [(self._stale, target, 1), (self._pending, ..., pending)]
        self._write(writes, copies=(source, target))
        self._waiting = waiting

    def _renumber(self, numbers: dict[Declaration, dict[str, Any]], what: str, rows: np.ndarray | None) -> None:
        self._rebinding = True
        try:
            if rows is None or not self._fit_rows(numbers, rows):
                self._fit(numbers, what)
        except Exception:
            self._fit(self._numbers)  # the coefficients before this call
            self._rebinding = False
            raise
        self._numbers = numbers
        self._rebinding = False

    def _fit(self, numbers: dict[Declaration, dict[str, Any]], what: str = "set") -> None:
        """Set the coefficients of each world in a private stepper, and copy the numbers that kernels read from it.

        what: the coefficients that are set, for messages.
        """
        if not len(self):
            return
        differ = any(of_each(value) for given in numbers.values() for value in given.values())
        values = [self._numbers_of(i, numbers) for i in range(len(self) if differ else 1)]
        for stepper, others in zip(self._steppers, self._others, strict=False):
            renumber(stepper, [(others.get(one, one), given) for one, given in values[0]])
        self._bind_again()
        renumber(self._fitted, values[0])
        self._begin_numbers(self._fitted)
        for i, given in enumerate(values):
            renumber(self._fitted, given)
            self._take_numbers(self._fitted, i, what)
        self._end_numbers(differ)

    def _fit_rows(self, numbers: dict[Declaration, dict[str, Any]], rows: np.ndarray) -> bool:
        """Do as `_fit` where only the numbers of some worlds change; return False if they need another binding."""
        if not self._has_numbers():
            self._fit(self._numbers)
        found = self._new_rows(len(rows))
        for i, row in zip(rows.tolist(), found, strict=True):
            renumber(self._fitted, self._numbers_of(i, numbers))
            if not self._copy_numbers(self._fitted, row):
                return False
        self._change_numbers(rows, found)
        return True

    def _slots_of_all(self) -> tuple[np.ndarray, np.ndarray]:
        if self._alive is None:
            ones = np.ones((len(self), self.n), np.int64)
            return ones.astype(np.uint8), ones
        return self._alive, self._generation

    def _spawn(self, where: np.ndarray, rows: list[tuple[np.ndarray, np.ndarray]]) -> None:
        if self._alive is None:
            self._take_slots()
        writes: list[Any] = [(of_all, where, values) for of_all, values in rows]
        writes += [(history, where, 0) for history in self._state_arrays[2:]]
        writes += [(array, where, 1) for array in (self._alive, self._needs_start)]
        writes += [(self._generation, where, self._generation[where] + 1), (self._stale, where.any(axis=1), 1)]
        self._write(writes)

    def _kill(self, mask: np.ndarray) -> None:
        if self._alive is None:
            self._take_slots()
        arrays = (*self._state_arrays, *self._turning_arrays, self._alive, self._needs_start)
        self._write([*((array, mask, 0) for array in arrays), (self._stale, mask.any(axis=1), 1)])

    def _take_events(self) -> np.ndarray:
        fields = fields_of_all(self._guest._take_events().dtype)
        rows = np.concatenate(self._waiting or [np.zeros((0, fields.itemsize // 8), np.int64)])
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        self._waiting = []
        self._pending[:] = 0
        return np.ascontiguousarray(rows).view(fields).reshape(len(rows))

    @property
    def _events_dropped(self) -> np.ndarray:
        return self._dropped.copy()


def _strided(of_all: np.ndarray) -> Any:
    """Return a function that creates an array with the strides of one world within `of_all`."""
    (count, n, dim), (_, body, component) = of_all.shape, of_all.strides
    if count == 0:  # the strides of an empty array are 0
        body, component = dim * of_all.itemsize, of_all.itemsize
    below = sum(min(0, stride) * (size - 1) for stride, size in ((body, n), (component, dim)) if size)
    above = sum(max(0, stride) * (size - 1) for stride, size in ((body, n), (component, dim)) if size)

    def made() -> np.ndarray:
        memory = np.zeros(above - below + of_all.itemsize, np.uint8)
        return np.ndarray((n, dim), of_all.dtype, memory, -below, (body, component))

    return made
