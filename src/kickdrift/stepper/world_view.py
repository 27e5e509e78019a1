"""Views of `Worlds`: World (one world, with the methods of a stepper), and WorldsEvents (events of all worlds)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from .base import StepperBase
from .user_state import UserArrays

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .worlds_base import WorldsBase

#: Methods and attributes that a world shares with a stepper: they change only the state.
_CALLS = {"step", "record", "energy", "teleport", "restart", "kill", "slots"}
_CALLS |= {
    "touching",
    "grounded",
    "cast",
    "overlap",
    "load",
    "whole",
    "interpolate",
    "interpolate_angles",
    "interpolate_shapes",
}
_READS = {
    "n",
    "dim",
    "dtype",
    "dt",
    "hz",
    "mass",
    "time",
    "count",
    "integrator",
    "forces",
    "constraints",
    "inertia",
    "threads",
}
#: Arrays of all worlds, of which a world shows its own rows.
_STATE = {"position", "velocity", "angular_velocity", "angle", "orientation"}
_ARRAYS = _STATE | {"alive", "ids"}


class World:
    """One of many worlds, `worlds[i]`: a view of it, with the methods of a stepper.

    It may be stepped, recorded, drawn, queried (`cast`, `touching`), saved and restored alone. Methods that
    change forces, constraints, masses or dt are not available: `Worlds.set` sets coefficients per world.

    >>> import kickdrift as kd
    >>> worlds = kd.Worlds(kd.Stepper([[0.0]], [[1.0]], dt=0.5), 3)
    >>> world = worlds[1]
    >>> world.step(2)
    >>> world.position.tolist(), world.time, worlds.tick.tolist()
    ([[1.0]], 1.0, [0, 2, 0])
    """

    __slots__ = ("_index", "_worlds")

    def __init__(self, worlds: WorldsBase, index: int) -> None:
        self._worlds, self._index = worlds, index

    def __getattr__(self, name: str) -> Any:
        if name in World.__slots__:  # slots are unset while a copy is created: avoid infinite recursion
            raise AttributeError(name)
        worlds, index = self._worlds, self._index
        if name in _CALLS:
            function = getattr(worlds._stepper_type, name)
            return lambda *given, **named: worlds._exclusively(worlds._call, index, function, *given, **named)
        if name in _READS:
            read = getattr(worlds._stepper_type, name)
            read = getattr(read, "fget", None) or read.__get__  # `_call` looks up its __name__ in `ASKED`
            return worlds._exclusively(worlds._call, index, read)
        if name in _ARRAYS:
            array = getattr(worlds, name)
            return None if array is None else array[index]
        if hasattr(worlds._stepper_type, name) and not name.startswith("_"):
            instead = "`Worlds.set` takes a number for each world" if name == "set" else "see kickdrift.Worlds"
            raise AttributeError(f"{name}: one of many worlds has none of its own; {instead}")
        raise AttributeError(f"a world of kickdrift.Worlds has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _STATE:
            super().__setattr__(name, value)
        else:
            validation.in_place(name, value, getattr(self, name))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_CALLS, *_READS, *_ARRAYS})

    @property
    def tick(self) -> int:
        """Number of completed steps."""
        return int(self._worlds.tick[self._index])

    @property
    def state(self) -> UserArrays:
        """The arrays of `state=` of this world, by name."""
        return UserArrays({name: array[self._index, ...] for name, array in self._worlds.state.items()})

    def current(self, declaration: Any) -> Any:
        """Return a force or constraint with this world's coefficients and current shapes: see `Stepper.current`."""
        return self._worlds._exclusively(self._worlds._current, self._index, declaration)

    def snapshot(self) -> bytes:
        """Return a snapshot of this world: see `Stepper.snapshot`."""
        worlds = self._worlds
        return bytes(worlds._exclusively(worlds._call, self._index, StepperBase.snapshot))

    def checksum(self) -> int:
        """Return the digest of this world, with the numbers that `Worlds.set` gave it: see `Stepper.checksum`."""
        return int(self._worlds._exclusively(self._worlds._checksum, self._index))

    def spawn(self, position: ArrayLike, velocity: ArrayLike = 0.0, **turning: ArrayLike) -> np.ndarray:
        """Add bodies in the lowest free rows; return their ids: see `Stepper.spawn`. Masses are those of the rows.

        turning: angular_velocity, angle, orientation, where bodies rotate. Raises TypeError for anything else.
        """
        for name in turning.keys() - {"angular_velocity", "angle", "orientation"}:
            raise TypeError(f"{name}: expected angular_velocity, angle or orientation; a world has none of its own")
        worlds = self._worlds
        spawn = worlds._stepper_type.spawn  # type: ignore[attr-defined]
        return np.asarray(worlds._exclusively(worlds._call, self._index, spawn, position, velocity, **turning))

    def restore(self, snapshot: bytes) -> None:
        """Restore a snapshot into this world: see `Worlds.restore`."""
        self._worlds.restore(snapshot, np.arange(len(self._worlds)) == self._index)

    def __repr__(self) -> str:
        return f"<world {self._index} of {self._worlds!r}>"


class WorldsEvents:
    """The events of all worlds, `worlds.events`. Each event can be taken once."""

    __slots__ = ("_worlds",)

    def __init__(self, worlds: WorldsBase) -> None:
        self._worlds = worlds

    def take(self) -> np.ndarray:
        """Return the events since the last call, as `Events` does, with a column `world`, and sorted by world first.

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[1.0]], [[4.0]], dt=0.5, constraints=[kd.Box(0, 2.5)], events=kd.Events())
        >>> worlds = kd.Worlds(ball, 2)
        >>> worlds.step()
        >>> hits = worlds.events.take()
        >>> hits["world"][hits["kind"] == kd.HIT].tolist()
        [0, 1]
        """
        return np.asarray(self._worlds._exclusively(self._worlds._take_events))

    def where(self, events: np.ndarray, declaration: Any) -> np.ndarray:
        """Return a bool mask of the events of a constraint: see `Events`, `stepper.events.where`."""
        from .entries import acting_constraints
        from .events import event_names, from_sources  # imported late: few programs use events

        event_names(events)
        guest = self._worlds._guest
        return from_sources(events, acting_constraints(guest._entries), guest._sources_of(declaration))

    @property
    def dropped(self) -> np.ndarray:
        """Number of events of each world lost to a full buffer: int64 of shape (worlds,)."""
        return self._worlds._events_dropped


def fields_of_all(fields: np.dtype) -> np.dtype:
    """Return the dtype of events with the column of the world."""
    return np.dtype([("world", np.int64), *[(name, fields[name]) for name in fields.names or ()]])
