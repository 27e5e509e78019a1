"""Contacts of the present positions, and which bodies are grounded.

They need no events. All is computed in float64. Functions without an underscore that take a stepper as `self` become
its methods in base.py.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from .queries import Side, along, dot, ids, living, planes, sides

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .base import StepperBase
    from .model import Plan


def touching(self: StepperBase) -> np.ndarray:
    """The contacts of the present positions, a structured array of shape (k,), sorted by source, slot_a and slot_b.

    source, a, b, slot_a, slot_b: as in `Events`; b and slot_b are -1 - number for a wall or shape.
    point: m, shape (dim,), on the surface of a. normal: of length 1, from a to b. impulse: N s, the normal impulse of
    the last tick; of `Contacts`, that of its last substep times their number, nan for constraints that store none.
    shape: the number of the wall or shape in its own declaration, -1 for two bodies.

    In contact are a gap of at most 1/1024 of the sum of the radii, or rounding, and any overlap, also with sensors.
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
    """Which bodies rest on something, a bool mask of shape (n,): a character that may jump.

    A body is grounded if it is in contact, see `touching`, with a body, wall or shape whose outward normal has at
    least the component `slope` along `up`: slope is the cosine of the steepest angle, and 0.7 is some 45 degrees.
    Sensors carry nothing. up: the direction against gravity, shape (dim,), of any length. slope: from 0 to 1.

    Raises TypeError or ValueError for anything else, RuntimeError during a step.

    >>> import kickdrift as kd
    >>> floor = kd.Boxes([(-5, -1)], [(5, 0)], radius=0.5, restitution=0)
    >>> world = kd.Stepper([[0.0, 0.5], [2.0, 3.0]], hz=60, forces=[kd.Gravity((0, -9.81))], constraints=[floor])
    >>> world.step()
    >>> world.grounded().tolist()
    [True, False]
    """
    direction = validation.numbers("up", up).astype(np.float64)
    if direction.shape != (self.dim,) or not direction.any():
        raise ValueError(f"up: expected a direction of shape ({self.dim},) other than zero, got {validation.show(up)}")
    direction = direction / max(abs(direction))
    direction = direction / np.sqrt(dot(direction, direction))
    slope = validation.real("slope", slope, minimum=0.0)
    if slope > 1:
        raise ValueError(f"slope: expected a number from 0 to 1, got {slope!r}")
    found, sensed = self._exclusively(_touching, self)
    found = found[~sensed]
    rise = dot(found["normal"], direction)
    result = np.zeros(self.n, np.bool_)
    result[found["slot_a"][-rise >= slope]] = True
    result[found["slot_b"][(found["slot_b"] >= 0) & (rise >= slope)]] = True
    return result


def _touching(self: StepperBase) -> tuple[np.ndarray, np.ndarray]:
    """Return the contacts, and a mask of those with a sensor."""
    plan, level = self._plan, self._level()
    rows = living(self)
    x = self._position[rows].astype(np.float64)
    records = [record for record in plan.constraint_records if record.constraint.reports_pairs]
    found = [_pairs(self, record, level, rows, x) for record in records]
    for side in sides(plan):
        fields = plan.constraint_records[side.record].fields
        radius = np.broadcast_to(fields["radius"], (plan.n,))[rows].astype(np.float64)
        contacts = _at_shapes if side.own.kind == "shapes" else _at_walls
        i, number, normal, sensed = contacts(plan, side, fields, level, rows, x, radius)
        slot = -1 - side.first - number
        found.append((side.source, rows[i], slot, number, x[i] + radius[i, None] * normal, normal, sensed))
    names = ("source", "slot_a", "slot_b", "shape", "point", "normal")
    count = sum(len(part[1]) for part in found)
    result, sensors = np.zeros(count, _contact(self.dim)), np.zeros(count, np.bool_)
    result["impulse"] = np.nan
    first = 0
    for part in found:
        last = first + len(part[1])
        for name, values in zip(names, part, strict=False):
            result[name][first:last] = values
        sensors[first:last] = part[-1]
        first = last
    order = np.lexsort((result["slot_b"], result["slot_a"], result["source"]))
    result, sensors = result[order], sensors[order]
    for name in "ab":
        result[name] = ids(self, result[f"slot_{name}"])
    if self._impulses is not None:
        _add_impulses(self, result)
    return result, sensors


@cache
def _contact(dim: int) -> np.dtype:
    whole = [(name, np.int64) for name in ("source", "a", "b", "slot_a", "slot_b")]
    vectors = [(name, np.float64, (dim,)) for name in ("point", "normal")]
    return np.dtype([*whole, *vectors, ("impulse", np.float64), ("shape", np.int64)])


def _pairs(self: StepperBase, record: Any, level: Any, rows: np.ndarray, x: np.ndarray) -> tuple[Any, ...]:
    """Return the pairs of bodies in contact, as `_touching` collects them."""
    from ..neighbours import grid  # imported late: few programs use queries

    plan, fields = self._plan, record.fields
    torus = None if plan.periodic is None else plan.periodic.torus(plan.dim)

    def each(name: str, default: Any) -> np.ndarray:
        return np.broadcast_to(fields.get(name, default), (plan.n,))

    radius = each("radius", 0).astype(np.float64)
    reach = float(np.sort(radius[rows])[-2:].sum()) * (1 + 1 / 1024)
    i = j = np.zeros(0, np.int64)
    if len(rows) > 1 and reach > 0:
        places = x if torus is None else torus.inside(x)
        i, j = grid(level.index_type, places, rows, reach, torus).pairs(None)
    there = np.ones(plan.n, np.bool_) if self._slots is None else self._slots.alive
    category, mask, sensor = each("category", np.uint64(1)), each("mask", np.uint64(1)), each("sensor", 0) != 0
    d = self._position[j].astype(np.float64) - self._position[i]
    d = d if torus is None else torus.nearest(d)
    near = (radius[i] + radius[j]) * (1 + 1 / 1024)
    distance = np.sqrt(dot(d, d))
    sensed = sensor[i] | sensor[j]
    kept = (distance <= near) & (category[i] & mask[j] != 0) & (category[j] & mask[i] != 0)
    weight = each("weight", 1) * there
    kept &= sensed | (weight[i] > 0) | (weight[j] > 0)
    i, j, d, distance = i[kept], j[kept], d[kept], distance[kept, None]
    normal = np.divide(d, distance, out=np.zeros_like(d), where=distance > 0)
    point = self._position[i] + radius[i, None] * normal
    return plan.source(record), i, j, -1, point, normal, sensed[kept]


def _at_walls(
    plan: Plan, side: Side, fields: dict[str, np.ndarray], _level: Any, rows: np.ndarray, x: np.ndarray, r: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return indices of bodies in contact with a wall, the wall's number, the normal into it, and who is a sensor."""
    normals, offsets = planes(plan, side)
    nobody = np.zeros(1, np.uint8)
    if "wall_friction" in fields:  # a wall of `Contacts`: `through` includes sensor bodies
        through = fields["through"][side.first : side.first + len(offsets)] if "through" in fields else nobody
    else:
        through = fields.get("sensor", nobody)
    through = np.broadcast_to(through, (len(offsets), plan.n))[:, rows]
    gap = along(x, normals) - offsets[:, None] - r
    large = abs(offsets[:, None]) + along(abs(x), abs(normals))
    number, i = np.nonzero((gap <= r / 1024 + _slack(plan) * large) & (through != 2))
    return i, number, 0.0 - normals[number], through[number, i] == 1


def _at_shapes(
    plan: Plan, side: Side, fields: dict[str, np.ndarray], level: Any, rows: np.ndarray, x: np.ndarray, r: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same for shapes."""
    names = ("reach", "sensor") if "reach" in fields else ("shape_reach", "shape_through")
    reach, through = (fields.get(name, np.zeros(1, np.uint8)) for name in names)
    if "shape_reach" in fields:
        reach, through = reach[side.part], through[side.part]
    reach, through = (np.broadcast_to(each, (plan.n,))[rows] for each in (reach, through))
    reach = reach.astype(np.float64)
    large = reach + dot(abs(x), np.ones(plan.dim))
    i, number, _, normal = level.near(side.record, side.part, x, reach + reach / 1024 + _slack(plan) * large)
    kept = through[i] != 2
    return i[kept], number[kept], 0.0 - normal[kept], through[i[kept]] == 1


def _add_impulses(self: StepperBase, found: np.ndarray) -> None:
    """Set the impulses that `Contacts` has stored."""
    n = self.n
    record = next(record for record in self._plan.constraint_records if record.kind == "contacts")
    assert self._impulses is not None
    pair, push, _ = self._impulses.now(self._slots)
    own = found["source"] == self._plan.source(record)
    second = np.where(found["slot_b"] < 0, n - 1 - found["slot_b"], found["slot_b"])
    width = n + self._impulses.sides
    known = pair[:, 0].astype(np.int64) * width + pair[:, 1]
    key = found["slot_a"] * width + second
    place = np.minimum(np.searchsorted(known, key), max(len(known) - 1, 0))
    same = known[place] == key if len(known) else np.zeros(len(key), np.bool_)
    total = push[:, 0].astype(np.float64) * int(record.fields["substeps"][0])
    found["impulse"][own] = np.where(same, total[place] if len(known) else 0.0, 0.0)[own]


def _slack(plan: Plan) -> float:
    """Return the part of a coordinate that counts as rounding, as in the constraints."""
    return 4096 * float(np.finfo(plan.dtype).eps)
