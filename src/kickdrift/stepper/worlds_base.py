"""Base class of `Worlds` and of its reference: the arrays of all worlds, and the checks of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from ..declaration import Declaration
from ..forces.applied import Applied
from ..progress import in_parts
from ..rollback import snapshots
from ..rollback.applied import idle_arrays
from .base import StepperBase
from .entries import acting, differences, places_of
from .motion import SPEEDS, is_placed
from .slots import LAST_GENERATION
from .user_state import UserArrays
from .world_arguments import applied_arrays, copied_worlds, mask_of, place_of, rows_to_spawn
from .world_copies import HEAD, MAGIC, check_snapshot, checksum, counted, of_all, parted, rebuilt
from .world_numbers import numbers_of, of_world, with_hint, with_rows
from .world_view import World, WorldsEvents

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class WorldsBase:
    """The arrays of all worlds, and the checks of arguments. Subclasses run the worlds."""

    _stepper_type: type[StepperBase]

    def __init__(
        self,
        world: StepperBase,
        worlds: int | None = None,
        *,
        position: np.ndarray | None = None,
        velocity: np.ndarray | None = None,
        angular_velocity: np.ndarray | None = None,
        angle: np.ndarray | None = None,
        orientation: np.ndarray | None = None,
        threads: int = 1,
    ) -> None:
        if hasattr(self, "_guest"):
            raise RuntimeError("worlds are made once: __init__ was called before")
        if not isinstance(world, StepperBase):
            raise TypeError(f"world: expected a kickdrift.Stepper, got {validation.show(world)}")
        self._threads = validation.threads(threads)
        given = {
            "position": position, "velocity": velocity,
            "angular_velocity": angular_velocity, "angle": angle, "orientation": orientation,
        }  # fmt: skip
        given = {name: array for name, array in given.items() if array is not None}
        self._count = counted(worlds, given)
        world._exclusively(self._begin, world, given)

    __init__.__qualname__ = "Worlds.__init__"  # Python's errors about wrong arguments print it

    def _begin(self, world: StepperBase, given: dict[str, np.ndarray]) -> None:
        """Make the arrays of all worlds, and the private steppers."""
        world._zero_inactive()
        known = {"position": world._position, "velocity": world._velocity, **world._turning_arrays()}
        for name in given.keys() - known.keys():
            raise ValueError(f"{name}: expected a world with angular_velocity in as many dimensions")
        alive = np.ones(world.n, np.bool_) if world._slots is None else world._slots.alive
        self._given = {
            name: of_all(name, own, self._count, given.get(name), alive if name in given else None)
            for name, own in known.items()
        }
        arrays = [*self._given.items()]
        for k, (name, array) in enumerate(arrays):
            for other, another in arrays[:k]:
                if np.shares_memory(array, another):
                    raise ValueError(f"{name}: shares memory with {other}, expected an array of its own")
        for array in given.values():
            array[:, ~alive] = 0
        self._position, self._velocity = self._given["position"], self._given["velocity"]
        self._user = {name: np.repeat(array[None], self._count, 0) for name, array in world._user_arrays.items()}
        self._mass = np.broadcast_to(world._plan.mass + np.zeros(world.n), (self._count, world.n))
        self._applied = [np.repeat(array[None], self._count, 0) for array in world._plan.applied]
        self._torques = [np.repeat(array[None], self._count, 0) for array in world._plan.torques]
        self._idle_applied = [np.repeat(array[None], self._count, 0) for array in idle_arrays(world._entries)]
        #: Mask of the worlds that start in the template's state. In others, integrators start their history anew.
        alike = np.ones(self._count, np.bool_)
        for name, array in given.items():
            alike &= (array == known[name]).all(axis=tuple(range(1, array.ndim)))
        #: Coefficients passed to `set`, by declaration and name: one number, or an array with an item per world.
        self._numbers: dict[Declaration, dict[str, Any]] = {}
        self._make(world, alike)

    if TYPE_CHECKING:
        _guest: Any  # private stepper that parses snapshots; all worlds have its n, dim and entries; numbers may differ

        def _make(self, world: StepperBase, alike: np.ndarray) -> None: ...  # make the private steppers
        def _exclusively(self, function: Any, *given: Any, **named: Any) -> Any: ...  # call the function under the lock
        def _advance(self, n: int, active: np.ndarray | None) -> None: ...
        def _call(self, i: int, function: Any, *given: Any, **named: Any) -> Any: ...  # call it on the state of world i
        def _go_back(self, saved: list[tuple[bytes, np.ndarray]]) -> None: ...  # snapshots, and the worlds of each
        def _copy(self, source: np.ndarray, target: np.ndarray) -> None: ...
        def _renumber(self, numbers: dict[Declaration, dict[str, Any]], what: str, rows: Any) -> None: ...  # `_numbers`
        def _replace_arrays(self, name: str, arrays: list[np.ndarray]) -> None: ...  # `_applied` or `_torques`
        def _private(self, declaration: Declaration) -> Any: ...  # the private steppers' copy of it
        def _spawn(self, where: np.ndarray, arrays: list[tuple[np.ndarray, np.ndarray]]) -> None: ...
        def _kill(self, mask: np.ndarray) -> None: ...
        def _slots_of_all(self) -> tuple[np.ndarray, np.ndarray]: ...  # masks and generations, (worlds, n)
        def _take_events(self) -> np.ndarray: ...

        @property
        def tick(self) -> np.ndarray: ...
        @property
        def _events_dropped(self) -> np.ndarray: ...

    # State, sizes and declarations.

    def __len__(self) -> int:
        return self._count

    @property
    def position(self) -> np.ndarray:
        """Positions in m, (worlds, n, dim): the caller's own array if one was given."""
        return self._given["position"]

    @position.setter
    def position(self, value: np.ndarray) -> None:
        validation.in_place("position", value, self._given["position"])

    @property
    def velocity(self) -> np.ndarray:
        """Velocities in m/s, (worlds, n, dim): the caller's own array if one was given."""
        return self._given["velocity"]

    @velocity.setter
    def velocity(self, value: np.ndarray) -> None:
        validation.in_place("velocity", value, self._given["velocity"])

    @property
    def mass(self) -> np.ndarray:
        """Masses in kg, (worlds, n), the same in each world: read-only."""
        return self._mass

    @property
    def angular_velocity(self) -> np.ndarray | None:
        """Angular velocities in rad/s, (worlds, n) or (worlds, n, 3); None where nothing rotates."""
        return self._given.get("angular_velocity")

    @angular_velocity.setter
    def angular_velocity(self, value: np.ndarray | None) -> None:
        validation.in_place("angular_velocity", value, self._given.get("angular_velocity"))

    @property
    def angle(self) -> np.ndarray | None:
        """Angles in rad, (worlds, n), of bodies that rotate in the plane. Else None."""
        return self._given.get("angle")

    @angle.setter
    def angle(self, value: np.ndarray | None) -> None:
        validation.in_place("angle", value, self._given.get("angle"))

    @property
    def orientation(self) -> np.ndarray | None:
        """Unit quaternions w, x, y, z, (worlds, n, 4), of bodies that rotate in space. Else None."""
        return self._given.get("orientation")

    @orientation.setter
    def orientation(self, value: np.ndarray | None) -> None:
        validation.in_place("orientation", value, self._given.get("orientation"))

    @property
    def state(self) -> UserArrays:
        """The arrays of `state=` by name, (worlds, ...) each: write to them in place."""
        return UserArrays(self._user)

    @property
    def alive(self) -> np.ndarray:
        """Mask of the active rows, bool, (worlds, n): a copy."""
        return self._slots_of_all()[0].astype(np.bool_)

    @property
    def ids(self) -> np.ndarray:
        """The id of each row's body, -1 for a free row, as of a stepper: int64 of shape (worlds, n), a copy."""
        alive, generation = self._slots_of_all()
        return np.where(alive, generation << 32 | np.arange(self.n), -1)

    @property
    def threads(self) -> int:
        """How many threads share the worlds of a call; it changes no bit of the result."""
        return self._threads

    @property
    def n(self) -> int:
        """Number of bodies of each world, including free rows."""
        return self._guest.n

    @property
    def dim(self) -> int:
        """Number of dimensions, 1 to 3."""
        return self._guest.dim

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64, in which every step is computed."""
        return self._guest.dtype

    @property
    def dt(self) -> float:
        """Seconds per step, the same for all worlds."""
        return self._guest.dt

    @property
    def forces(self) -> tuple[Any, ...]:
        """The enabled force terms of the template, with its numbers; `worlds[i].current` has those of a world."""
        return tuple(acting(self._guest._entries)["forces"])

    @property
    def constraints(self) -> tuple[Any, ...]:
        """The enabled constraints of the template, with its numbers."""
        return tuple(acting(self._guest._entries)["constraints"])

    @property
    def events(self) -> WorldsEvents:
        """The events since the last `take()`: those of `Events`, with the column `world`."""
        if self._guest._events is None:
            raise RuntimeError("events: this world was made without; hand in events=kickdrift.Events()")
        return WorldsEvents(self)

    def __getitem__(self, index: int) -> World:
        """One world: its state, and the methods of a stepper that change nothing but that."""
        number = validation.integer("index", index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"index: expected a world from 0 to {len(self) - 1}, got {number}")
        return World(self, number % len(self))

    # Running.

    def step(self, n: int = 1, active: np.ndarray | None = None, *, progress: bool = False) -> None:
        """Run n fixed steps of each world in compiled code, in place, and return None.

        n: how many, an int >= 0.
        active: bool, (worlds,): those whose item is False stay as they are, tick and all; all run if left out. An
        error in one world names it, as in "world 3: ...", and has its number as `world`; all others make their steps.
        progress: whether to show progress on standard error, if the call takes longer than two seconds. An error
        then ends the call for all worlds, within some tenths of a second.
        A long call answers Ctrl-C within a fraction of a second, with each world at a completed tick.

        Raises the errors of `Stepper.step`: that of the first world that has one.

        >>> import numpy as np, kickdrift as kd
        >>> worlds = kd.Worlds(kd.Stepper([[0.0]], [[1.0]], dt=0.5), 3)
        >>> worlds.step(2, active=np.array([True, False, True]))
        >>> worlds.tick.tolist(), worlds.position.ravel().tolist()
        ([2, 0, 2], [1.0, 0.0, 1.0])
        """
        number = validation.steps(n, int(self.tick.max(initial=0)))
        mask = None if active is None else mask_of("active", active, (len(self),)).view(np.uint8)
        if validation.flag("progress", progress):
            in_parts(lambda part: self._exclusively(self._advance, part, mask), number, True)
        else:
            self._exclusively(self._advance, number, mask)

    def snapshot(self, index: int | None = None) -> bytes:
        """Return a snapshot of one world, like `Stepper.snapshot`; of all worlds if index is left out.

        Numbers that `set` gave each world are not in it. Raises IndexError for a world that is not there.
        """
        if index is None:
            saved = [self._exclusively(self._call, i, StepperBase.snapshot) for i in range(len(self))]
            sizes = np.array([len(each) for each in saved], "<i8").tobytes()
            return b"".join([HEAD.pack(MAGIC, len(self)), sizes, *saved])
        return bytes(self[index].snapshot())

    def restore(self, snapshot: bytes, where: np.ndarray | None = None) -> None:
        """Restore a snapshot of the template or of one world into each world of a mask, or a snapshot of all worlds.

        snapshot: what `snapshot()` of the template or of a world returned, or `worlds.snapshot()`.
        where: bool, (worlds,); all worlds if left out. A snapshot of all worlds gives each its own state back. Events
        of later ticks that were not taken are dropped. Numbers that `set` gave each world stay: only `set` changes
        them. Raises SnapshotError, and changes nothing, for a snapshot of another stepper, or with other coefficients
        or another dt than the template had when the worlds were made.

        >>> import numpy as np, kickdrift as kd
        >>> worlds = kd.Worlds(kd.Stepper([[0.0]], [[1.0]], dt=0.5), 3)
        >>> start = worlds.snapshot(0)
        >>> worlds.step(4)
        >>> worlds.restore(start, where=worlds.position[:, 0, 0] > 1.5)
        >>> worlds.tick.tolist()
        [0, 0, 0]
        """
        mask = np.ones(len(self), np.bool_) if where is None else mask_of("where", where, (len(self),))
        self._exclusively(self._restored, snapshot, mask)

    def _restored(self, snapshot: bytes, mask: np.ndarray) -> None:
        data, rows = snapshots.bytes_of(snapshot), np.flatnonzero(mask)
        saved = [(data, rows)]
        if data.startswith(MAGIC):
            # Snapshots of worlds outside the mask are not read: a reset of a few worlds costs what these cost.
            saved = [*zip(parted(data, len(self), rows), rows[:, None], strict=True)]
        for each, _ in saved:
            check_snapshot(self._guest, each)
        self._go_back(saved)

    def copy(self, source: ArrayLike, target: ArrayLike) -> None:
        """Copy worlds onto others: the state, the tick and all that a snapshot has.

        source, target: numbers of worlds, ints of shape (k,), or one int; one source may serve several targets. All are
        read before one is written. Numbers that `set` gave a world stay where they are. Untaken events of the targets
        are dropped. Raises IndexError for a world that is not there, ValueError for a target that is named twice.

        >>> import kickdrift as kd
        >>> worlds = kd.Worlds(kd.Stepper([[0.0]], [[1.0]], dt=0.5), 4)
        >>> worlds[0].step(3)
        >>> worlds.copy(0, [2, 3])
        >>> worlds.tick.tolist()
        [3, 0, 3, 3]
        """
        sources, targets = copied_worlds(source, target, len(self))
        self._exclusively(self._copy, sources, targets)

    def checksum(self) -> np.ndarray:
        """Return `Stepper.checksum` of each world, with the numbers that `set` gave it: uint64 of shape (worlds,).

        It takes some 10 µs for each world, and 30 more for each force or constraint that `set` gave numbers.
        """
        return np.array([self._exclusively(self._checksum, i) for i in range(len(self))], np.uint64)

    def _checksum(self, i: int) -> int:
        return int(self._call(i, checksum, self._numbers_of(i, self._numbers)))

    # Changes.

    def set(self, declaration: Declaration, /, *, where: np.ndarray | None = None, **coefficients: Any) -> None:
        """Set coefficients of a force or constraint per world, from the next step on.

        declaration: as for `Stepper.set`, but no joints or shapes of `Contacts`; the object the template was given.
        coefficients: an array whose first axis has an item for each world, of the shape that `Stepper.set` takes; or a
        number or tuple for all. A list is for all, too, but refused if it has as many items as there are worlds: it
        could mean either. The force of an `AppliedForce` and the torque of an `AppliedTorque` are your own
        arrays, (worlds, n, dim), which each step reads and `restore` writes. A length of None is measured now, in each
        world.
        where: bool, (worlds,): the worlds that change, all if left out. Arrays have an item for each of these, numbers
        and tuples are for all of these; lists are refused. Values have the shape of those of the other worlds: if one
        gets numbers per body, all have numbers per body from then on.

        Numbers may differ from world to world, but not what a world consists of and how it is stepped: radii of
        bodies that collide, pairs, stiffness and `breaks_at` of a `Distance`, where shapes are, or filters or a drag
        that act in some worlds only. The regions of a `Sensor` may differ, and which shapes are enabled, except in
        `Contacts`.

        Coefficients belong to the index of a world: no snapshot has them, and `copy` leaves them. It takes about 0.1 ms
        for each world that changes, and more with each force or constraint that has numbers of each world's own.
        Raises TypeError or ValueError as `Stepper.set` does; nothing has changed then.

        >>> import numpy as np, kickdrift as kd
        >>> wind = kd.LinearDrag(1.0)
        >>> leaf = kd.Stepper([[0.0]], [[1.0]], dt=0.5, integrator="explicit_euler", forces=[wind])
        >>> worlds = kd.Worlds(leaf, 3)
        >>> worlds.set(wind, coefficient=np.array([0.5, 1.0, 2.0]))
        >>> worlds.step()
        >>> worlds.velocity.ravel().tolist()
        [0.75, 0.5, 0.0]
        >>> worlds.set(wind, coefficient=1.5, where=worlds.velocity[:, 0, 0] > 0.6)
        >>> [float(worlds[i].current(wind).coefficient) for i in range(3)]
        [1.5, 1.0, 2.0]
        """
        if not coefficients:
            raise TypeError("set: expected coefficients by name")
        rows = None if where is None else np.flatnonzero(mask_of("where", where, (len(self),)))
        self._exclusively(self._set, declaration, coefficients, rows)

    def _set(self, declaration: Declaration, coefficients: dict[str, Any], rows: np.ndarray | None) -> None:
        """Check the shapes of coefficients, and set the values of each world, or of the worlds `rows`."""
        place = place_of(self._guest, self._private(declaration))
        entry = self._guest._entries[place]
        if is_placed(declaration, coefficients) and (
            getattr(entry.now, "moves", False) or not SPEEDS.isdisjoint(coefficients)
        ):
            raise ValueError(
                f"{type(declaration).__name__}({', '.join(coefficients)}): places and velocities of shapes that move "
                f"are part of the state of each world: set them in the template, and restore its snapshot into worlds"
            )
        if isinstance(declaration, Applied):
            if rows is not None:
                raise ValueError("where: expected none, your array has the forces of all worlds: write to its rows")
            self._replace_arrays(*applied_arrays(self, declaration, coefficients))
            return
        handle = self._handle(declaration)
        known, today = self._numbers.get(handle, {}), entry.today
        if rows is not None and not {*today.coefficients}.issuperset(coefficients):
            today.changed(coefficients)  # raises the error that names the coefficients
        given = known | numbers_of(coefficients, len(self), rows, known, today)
        if rows is not None and not len(rows):
            return
        for name, values in self._measured(place, handle, given, rows).items():
            given[name] = values if rows is None else with_rows(name, known, today, len(self), rows, values)
        left = [name for name in coefficients if given[name] is None]
        if rows is not None and left:
            raise TypeError(f"{left[0]}: expected numbers where only some worlds change, got None")
        try:
            what = f"{type(declaration).__name__}({', '.join(coefficients)})"
            self._renumber({**self._numbers, handle: given}, what, rows)
        except ValueError as error:
            raise with_hint(error, coefficients, len(self)) from error.__cause__

    def _measured(
        self, place: int, handle: Declaration, given: dict[str, Any], rows: np.ndarray | None
    ) -> dict[str, Any]:
        """Return the lengths that were given as None, measured in each world, or in each of the worlds `rows`."""
        if not any(value is None for value in given.values()):
            return {}
        guest, found = self._guest, []
        for i in range(len(self)) if rows is None else rows.tolist():
            ((_, own),) = self._numbers_of(i, {handle: given})
            changed = guest._entries[place].today.changed(own)
            found.append(differences(changed.placed(self._position[i], guest._plan.periodic), changed))
        return {name: np.array([each[name] for each in found]) for name in (found[0] if found else ())}

    def _handle(self, declaration: Declaration) -> Declaration:
        """Return the handle of a declaration; it may be the current copy, from `forces` or `constraints`."""
        own = self._private(declaration)
        return next((entry.origin.handle for entry in self._guest._entries if entry.today is own), own)

    def _current(self, i: int, declaration: Declaration) -> Any:
        """Return a declaration with the coefficients of world i."""
        own = self._private(declaration)
        now = self._call(i, StepperBase.current, own)
        given = dict(self._numbers_of(i, self._numbers)).get(self._handle(declaration))
        return now.changed(given) if given else now

    def _numbers_of(
        self, i: int, numbers: dict[Declaration, dict[str, Any]]
    ) -> list[tuple[Declaration, dict[str, Any]]]:
        """Return the coefficients of world i as pairs: (declaration of the private steppers, coefficients by name)."""
        return [(self._private(declaration), of_world(i, given)) for declaration, given in numbers.items()]

    def spawn(
        self,
        where: np.ndarray,
        position: ArrayLike,
        velocity: ArrayLike = 0.0,
        *,
        angular_velocity: ArrayLike | None = None,
        angle: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
    ) -> np.ndarray:
        """Add a body in each row of a mask; return their ids, int64 of shape (k,), in the order of the mask.

        where: bool, (worlds, n). Each of these rows must be free; to do as `Stepper.spawn`, name the lowest. position,
        velocity: m and m/s, of shape (worlds, n, dim), of which the rows of the mask are read; or of shape (k, dim) or
        (dim,), as for `worlds.position[where] = position`. angular_velocity, angle, orientation: likewise, where
        bodies rotate; 0, 0 and (1, 0, 0, 0) if left out.

        Raises ValueError for a row that is taken, or numbers that are not finite; nothing has changed then.

        >>> import numpy as np, kickdrift as kd
        >>> worlds = kd.Worlds(kd.Stepper([[0.0, 0.0]] * 3, dt=0.5, alive=1), 2)
        >>> ids = worlds.spawn(np.array([[False, True, False], [False, True, True]]), (1.0, 2.0))
        >>> worlds.kill(worlds.position[:, :, 0] == 0)
        >>> worlds.alive.tolist()
        [[False, True, False], [False, True, True]]
        """
        mask = mask_of("where", where, (len(self), self.n))
        given = {"angular_velocity": angular_velocity, "angle": angle, "orientation": orientation}
        for name, value in given.items():
            if value is not None and name not in self._given:
                raise ValueError(f"{name}: expected a world with angular_velocity in as many dimensions")
        usual: dict[str, Any] = {"angular_velocity": 0.0, "angle": 0.0, "orientation": (1.0, 0.0, 0.0, 0.0)}
        values: dict[str, Any] = {"position": position, "velocity": velocity}
        values |= {name: usual[name] if given[name] is None else given[name] for name in [*self._given][2:]}
        rows = [(own := self._given[name], rows_to_spawn(name, value, mask, own)) for name, value in values.items()]
        return np.asarray(self._exclusively(self._spawn_free, mask, rows))

    def _spawn_free(self, mask: np.ndarray, rows: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Check that rows are free, spawn bodies in them and return the ids. The caller has the lock for all three."""
        alive, generation = self._slots_of_all()
        taken = mask & ((alive == 1) | (generation == LAST_GENERATION))
        if taken.any():
            world, row = np.argwhere(taken)[0]
            raise ValueError(f"where: expected free rows, got row {row} of world {world}, which has a body")
        self._spawn(mask, rows)
        return self.ids[mask]

    def kill(self, mask: np.ndarray) -> None:
        """Remove the bodies in the rows of a mask, as `Stepper.kill`.

        mask: bool, (worlds, n); free rows in it stay free.
        """
        self._exclusively(self._kill, mask_of("mask", mask, (len(self), self.n)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Coefficients are pickled by index of the entry, because the unpickled stepper has other declaration objects.
        numbers = {places_of(self._guest, self._private(one))[0]: given for one, given in self._numbers.items()}
        return rebuilt, (type(self), self._guest, len(self), self._threads, self.snapshot(), numbers)

    def __repr__(self) -> str:
        kind = f"{type(self).__module__}.{type(self).__name__}"
        return f"<{kind}: {len(self)} worlds of {self.n} bodies, dim {self.dim}, {self.dtype}, threads={self.threads}>"
