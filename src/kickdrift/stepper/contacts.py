"""Contacts at the current positions, and the mask of grounded bodies.

These queries do not need events. They are computed in float64. Functions without an underscore that take a stepper as
`self` become its methods in base.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from .queries import dot, much_larger, scene

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .base import StepperBase
    from .events import EventLog


def event_log(_: StepperBase) -> type[EventLog]:
    """Return the class of `stepper.events`, imported once, because games access it several times per frame."""
    from .events import EventLog  # imported late: few programs use events

    return EventLog


def touching(self: StepperBase) -> np.ndarray:
    """The contacts at the current positions, a structured array of shape (k,), sorted by source, slot_a and slot_b.

    source, a, b, slot_a, slot_b: as in `Events`; b and slot_b are -1 - number for a wall or shape.
    point: m, shape (dim,), on the surface of a. normal: of length 1, from a to b. impulse: N s, the normal impulse of
    the last tick: for `Contacts`, that of the last substep times the number of substeps; nan for other constraints.
    shape: the number of the wall or shape in its own declaration, -1 for two bodies.

    Two objects are in contact if they overlap, or if their gap is at most 1/1024 of the sum of the radii (or within
    rounding), also with sensors. A one-way shape is in contact with bodies that it stops, not with a body that passes.
    Only enabled constraints that stop bodies are searched: `Pin`, `Distance` and `Sensor` have no contacts. The
    stepper needs no `events=`. Raises RuntimeError during a step.

    >>> import kickdrift as kd
    >>> ball = kd.Stepper([[0.0, 2.0]], forces=[kd.Gravity((0, -10))],
    ...                   constraints=[kd.Contacts(1.0, walls=[kd.Plane((0, 1), 0)])])
    >>> ball.step(120)
    >>> contact = ball.touching()
    >>> contact["slot_b"].tolist(), contact["normal"].tolist(), contact["impulse"].round(3).tolist()
    ([-1], [[0.0, -1.0]], [0.167])
    """
    return self._exclusively(_touching, self)[0]


def grounded(self: StepperBase, up: ArrayLike = (0, 1), slope: float = 0.7) -> np.ndarray:
    """Mask of the bodies that rest on something, bool of shape (n,): only a grounded character may jump.

    A body is grounded if it is in contact, see `touching`, with a body, wall or shape whose outward normal has at
    least the component `slope` along `up`: slope is the cosine of the steepest angle, and 0.7 is some 45 degrees.
    Sensors do not support bodies. up: the direction against gravity, shape (dim,), of any length. slope: from 0 to 1.
    Raises TypeError or ValueError for anything else, RuntimeError during a step.

    >>> import kickdrift as kd
    >>> floor = kd.Boxes([(-5, -1)], [(5, 0)], radius=0.5, restitution=0)
    >>> world = kd.Stepper([[0.0, 0.5], [2.0, 3.0]], hz=60, forces=[kd.Gravity((0, -9.81))], constraints=[floor])
    >>> world.step()
    >>> world.grounded().tolist()
    [True, False]
    """
    direction = validation.numbers("up", up)
    if direction.shape != (self.dim,) or not direction.any():
        raise ValueError(f"up: expected a direction of shape ({self.dim},) other than zero, got {validation.show(up)}")
    direction = validation.unit(direction)
    slope = validation.real("slope", slope, minimum=0.0)
    if slope > 1:
        raise ValueError(f"slope: expected a number from 0 to 1, got {slope!r}")
    found, sensed = self._exclusively(_touching, self)
    rise, first, second = dot(found["normal"], direction), found["slot_a"], found["slot_b"]
    result = np.zeros(self.n, np.bool_)
    result[first[~sensed & (-rise >= slope)]] = True
    result[second[~sensed & (second >= 0) & (rise >= slope)]] = True
    return result


def _touching(self: StepperBase) -> tuple[np.ndarray, np.ndarray]:
    """Return the contacts, and a mask of those with a sensor."""
    known, level = scene(self), self._level()
    places = np.ascontiguousarray(self._position, np.float64)
    pairs = [_candidates(self, part, level, places) for part in known.contacts]
    displacement = self._dt * np.ascontiguousarray(self._velocity, np.float64)
    found, sensed = level.touching(known, places, displacement, pairs, _impulses(self))
    return found, sensed


def _candidates(self: StepperBase, part: Any, level: Any, places: np.ndarray) -> Any:
    """Return (index, pairs): a spatial index of active bodies, and all pairs with much larger bodies, which it lacks.

    Return None for a wall, for shapes, or for fewer than two bodies.
    """
    from ..neighbours import grid  # imported late: few programs use queries

    if part.side is not None:
        return None
    rows, radius = None, part.radius
    if self._slots is not None:
        rows = np.flatnonzero(self._slots.alive)
        places, radius = places[rows], radius[rows]
    if len(radius) < 2:
        return None
    pairs = np.zeros((0, 2), np.int64)
    large = much_larger(radius)
    if len(large):
        active = np.arange(len(radius)) if rows is None else rows
        for k, one in enumerate(active[large]):
            other = np.delete(active, large[: k + 1])
            pairs = np.concatenate([pairs, np.stack([np.minimum(one, other), np.maximum(one, other)], axis=1)])
        rows, places, radius = (np.delete(each, large, axis=0) for each in (active, places, radius))
    reach = float(np.partition(radius, -2)[-2:].sum()) * (1 + 1 / 1024)
    torus = None if self._plan.periodic is None else self._plan.periodic.torus(self.dim)
    places = places if torus is None else torus.inside(places)
    if not reach > 0:
        return None
    return grid(level.index_type, places, rows, reach, torus), pairs


def _impulses(self: StepperBase) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Return (constraint number, pairs, normal impulses in N s) that `Contacts` stored in the last tick, or None."""
    if self._impulses is None:
        return None
    record = next(record for record in self._plan.constraint_records if record.kind == "contacts")
    pair, push, _ = self._impulses.now(self._slots)
    total = push[:, 0].astype(np.float64) * int(record.fields["substeps"][0])
    return self._plan.source(record), pair.astype(np.int64), total
