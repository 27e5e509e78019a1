"""Queries of the present positions: what a ray hits, and what is at a place.

They need no events. All is computed in float64. Functions without an underscore that take a stepper as `self` become
its methods in base.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import validation
from ..constraints.base import ALL_BITS, bits
from .rotation import radii

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .base import StepperBase
    from .model import Plan


class Side(NamedTuple):
    """A wall, or the shapes of one declaration."""

    source: int  #: number of its constraint
    record: int  #: index of its record in the plan
    part: int  #: index among the shapes of `Contacts`
    first: int  #: its first number in events
    own: Any


def sides(plan: Plan) -> Iterator[Side]:
    """Yield the walls and shapes of a plan, in the order of evaluation."""
    for number, record in enumerate(plan.constraint_records):
        owner: Any = record.constraint
        if record.kind not in ("box", "plane", "shapes", "contacts"):
            continue
        walls, shapes = (owner.walls, owner.shapes) if record.kind == "contacts" else ((), (owner,))
        first = 0
        for part, own in enumerate((*walls, *shapes)):
            yield Side(plan.source(record), number, part - len(walls), first, own)
            first += own.sides(plan)


def cast(
    self: StepperBase,
    origin: ArrayLike,
    motion: ArrayLike,
    radius: float = 0.0,
    mask: int = ALL_BITS,
    ignore: ArrayLike | None = None,
) -> Any:
    """The first thing that each ray hits, or each circle or sphere that moves along a straight line.

    origin: m, shape (dim,) for one, or (k, dim). motion: m, (dim,) or the shape of origin: from where to how far.
    radius: m, >= 0, of what moves; 0 is a ray. mask: bits; bodies whose category is in it are hit, and walls and
    shapes whose mask shares a bit with it. ignore: a body that is not hit, by id or row: one for all or one each.

    Returns a structured array of shape (k,), or one item for an origin of shape (dim,):
    share, the fraction of the motion before the hit, 0 to 1: 0 if it begins in contact, 1 without a hit;
    what, int64: the id of the body, -1 - number for a wall or shape as b in `Events`, 0 without a hit;
    slot, the row of the body, else -1; shape, the number of the wall or shape in its own declaration, else -1;
    source, the number of the constraint of the wall or shape, else -1;
    point, m, where it is hit; normal, outward, of length 1; without a hit, the end of the motion and zeros;
    query, the number of the ray.

    Bodies have the radius and category of `Contacts`, else of `ElasticCollisions`, or the radius of shapes or walls.
    Bodies without a radius are hit by circles only. Sensors are not hit. Of hits at the same share bodies come first,
    then constraints and shapes in order. All is computed in float64, and reproducible. Raises TypeError or ValueError,
    also in a world with `Periodic`, where `Neighbours.cast` finds bodies across the sides; RuntimeError during a step.

    >>> import kickdrift as kd
    >>> wall = kd.Boxes([(4, -1)], [(5, 1)])
    >>> world = kd.Stepper([[9.0, 0.0]], constraints=[kd.ElasticCollisions(1.0), wall])
    >>> hit = world.cast((0, 0), (8, 0))
    >>> float(hit["share"]), int(hit["source"]), hit["point"].tolist(), hit["normal"].tolist()
    (0.5, 1, [4.0, 0.0], [-1.0, 0.0])
    >>> world.cast([(0, 3), (9, 3)], (0, -10), radius=0.5)["slot"].tolist()
    [-1, 0]
    """
    return self._exclusively(_cast, self, origin, motion, radius, mask, ignore)


def _cast(self: StepperBase, origin: Any, motion: Any, radius: Any, mask: Any, ignore: Any) -> Any:
    plan = self._plan
    if plan.torus is not None:
        raise ValueError("cast: expected a world without Periodic; Neighbours(periodic=...).cast goes on at its sides")
    x, way = _vectors("origin", origin, plan.dim), validation.numbers("motion", motion).astype(np.float64)
    if way.shape not in ((plan.dim,), x.shape):
        raise ValueError(f"motion: expected shape ({plan.dim},) or {x.shape}, got {way.shape}")
    way = np.array(np.broadcast_to(way, x.shape), order="C")
    r, seen = _asked(radius, mask)
    hits = np.zeros(len(x), _hit(plan.dim))
    hits["query"], hits["slot"], hits["shape"], hits["source"] = np.arange(len(x)), -1, -1, -1
    share, normal = np.full(len(x), np.inf), np.zeros(x.shape)
    level = self._level()
    _hit_bodies(self, level, x, way, r, seen, _skipped(self, ignore, len(x)), share, normal, hits)
    for side in sides(plan):
        if not _noticed(side.own) & seen:
            continue
        if side.own.kind == "shapes":
            reach = r + float(getattr(side.own, "thickness", 0.0)) / 2
            number = level.cast(side.record, side.part, x, way, reach, share, normal)
        else:
            number = _cast_at_walls(plan, side, x, way, r, share, normal)
        closer = number >= 0
        hits["what"][closer], hits["shape"][closer] = -1 - side.first - number[closer], number[closer]
        hits["source"][closer], hits["slot"][closer] = side.source, -1
    hits["share"], hits["normal"] = np.where(hits["what"] == 0, 1.0, share), normal
    hits["point"] = x + hits["share"][:, None] * way
    hits["point"][hits["what"] != 0] -= (r * normal)[hits["what"] != 0]
    return hits[0] if np.ndim(origin) == 1 else hits


def overlap(self: StepperBase, point: ArrayLike, radius: float = 0.0, mask: int = ALL_BITS) -> np.ndarray:
    """The bodies, walls and shapes at a place: those that a circle or sphere touches, also sensors.

    point: m, shape (dim,), or (k, dim) for several. radius: m, >= 0; 0 is a point. mask: as for `cast`.

    Returns a structured array with the fields of `cast`, sorted by query, the number of the point: first bodies by
    row, then walls and shapes in the order of constraints. share is 0; point is on the surface of what is there, next
    to the circle's center. In a world with `Periodic`, bodies are found across its sides. Raises TypeError or
    ValueError, RuntimeError during a step.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0, 0.0], [5.0, 0.0]], constraints=[kd.Contacts(1.0)])
    >>> world.overlap((4.5, 0.5))["slot"].tolist(), world.overlap((2.0, 0.0), radius=2.0)["slot"].tolist()
    ([1], [0, 1])
    """
    return self._exclusively(_overlap, self, point, radius, mask)


def _overlap(self: StepperBase, point: Any, radius: Any, mask: Any) -> np.ndarray:
    from ..neighbours import grid  # imported late: few programs use queries

    plan, level = self._plan, self._level()
    x = _vectors("point", point, plan.dim)
    torus = None if plan.periodic is None else plan.periodic.torus(plan.dim)
    x = x if torus is None else torus.inside(x)
    r, seen = _asked(radius, mask)
    found: list[tuple[Any, ...]] = []
    rows, places, size = _bodies(self, seen, sensors=True)
    reach = r + float(size.max(initial=0.0))
    if len(rows) and reach > 0:
        places = places if torus is None else torus.inside(places)
        row, start = grid(level.index_type, places, rows, reach, torus).of(x, None)
        query = np.repeat(np.arange(len(x)), np.diff(start))
        own = np.searchsorted(rows, row)
        d = x[query] - places[own]
        d = d if torus is None else torus.nearest(d)
        distance = np.sqrt(dot(d, d))
        there = distance <= r + size[own]
        normal = np.divide(d, distance[:, None], out=np.zeros_like(d), where=distance[:, None] > 0)
        on_surface = x[query] - (distance - size[own])[:, None] * normal
        arrays = query, ids(self, row), row, on_surface, normal
        query, what, row, on_surface, normal = (each[there] for each in arrays)
        found.append((query, what, row, -1, -1, on_surface, normal))
    for side in sides(plan):
        if not _noticed(side.own) & seen:
            continue
        if side.own.kind == "shapes":
            half = float(getattr(side.own, "thickness", 0.0)) / 2
            query, number, distance, normal = level.near(side.record, side.part, x, np.full(len(x), r + half))
            distance = distance - half
        else:
            normals, offsets = planes(plan, side)
            gap = along(x, normals) - offsets[:, None]
            query, number = np.nonzero((gap <= r).T)
            distance, normal = gap[number, query], normals[number]
        on_surface = x[query] - distance[:, None] * normal
        found.append((query, -1 - side.first - number, -1, number, side.source, on_surface, normal))
    result = np.zeros(sum(len(part[0]) for part in found), _hit(plan.dim))
    first = 0
    for part in found:
        last = first + len(part[0])
        for name, values in zip(("query", "what", "slot", "shape", "source", "point", "normal"), part, strict=True):
            result[name][first:last] = values
        first = last
    return result[np.argsort(result["query"], kind="stable")]


@cache
def _hit(dim: int) -> np.dtype:
    whole = [(name, np.int64) for name in ("what", "slot", "shape", "source")]
    vectors = [(name, np.float64, (dim,)) for name in ("point", "normal")]
    return np.dtype([("share", np.float64), *whole, *vectors, ("query", np.int64)])


def _hit_bodies(
    self: StepperBase, level: Any, x: np.ndarray, way: np.ndarray, r: float, seen: int, skip: np.ndarray | None,
    share: np.ndarray, normal: np.ndarray, hits: np.ndarray,
) -> None:  # fmt: skip
    """Cast at bodies, and write what is hit."""
    from ..neighbours import grid

    rows, places, size = _bodies(self, seen, sensors=False)
    reach = r + float(size.max(initial=0.0))
    if not len(rows) or not reach > 0:
        return
    row, time = np.empty(len(x), np.int64), np.empty(len(x))
    if skip is not None:
        at = np.searchsorted(rows, skip) % len(rows)
        skip = np.where(rows[at] == skip, at, -1)
    spread = np.ptp(places, axis=0).prod() / len(rows)
    if np.isfinite(spread):  # long rays pass few cells, each with a body on average
        reach = max(reach, float(spread) ** (1 / self.dim))
    grid(level.index_type, places, rows, reach, None, size).cast(x, way, r, row, time, skip)
    closer = row >= 0
    own = np.searchsorted(rows, row[closer])
    d = x[closer] + time[closer, None] * way[closer] - places[own]
    distance = np.sqrt(dot(d, d))[:, None]
    share[closer], normal[closer] = time[closer], np.divide(d, distance, out=np.zeros_like(d), where=distance > 0)
    hits["slot"][closer], hits["what"][closer] = row[closer], ids(self, row[closer])


def _cast_at_walls(
    plan: Plan, side: Side, x: np.ndarray, way: np.ndarray, r: float, share: np.ndarray, normal: np.ndarray
) -> np.ndarray:
    """Return the number of the wall that each ray hits before its share, or -1; update the shares and normals."""
    found = np.full(len(x), -1)
    normals, offsets = planes(plan, side)
    gaps, speeds = along(x, normals) - offsets[:, None] - r, -along(way, normals)
    for number, (gap, speed) in enumerate(zip(gaps, speeds, strict=True)):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            time = np.where(gap <= 0, 0.0, np.where(speed > 0, gap / speed, np.inf))
        closer = (time <= 1) & (time < share)
        share[closer], found[closer], normal[closer] = time[closer], number, normals[number]
    return found


# Shared.


def _bodies(self: StepperBase, seen: int, sensors: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, positions and radii of the active bodies whose category is in a mask."""
    plan = self._plan
    rows = living(self)
    kept = np.ones(plan.n, np.bool_)
    for constraint in plan.constraints:
        if constraint.meets:
            kept &= np.asarray(constraint.category) & np.uint64(seen) != 0  # type: ignore[attr-defined]
            kept &= ~np.asarray(constraint.sensor) | sensors  # type: ignore[attr-defined]
            break
    else:
        kept &= bool(seen & 1)  # the default category
    rows = rows[kept[rows]]
    return rows, self._position[rows].astype(np.float64), np.ascontiguousarray(radii(plan)[rows])


def living(self: StepperBase) -> np.ndarray:
    return np.arange(self.n) if self._slots is None else np.flatnonzero(self._slots.alive)


def ids(self: StepperBase, slots: np.ndarray) -> np.ndarray:
    """Return the ids of rows; negative numbers, of walls and shapes, stay."""
    if self._slots is None:
        return np.where(slots < 0, slots, slots | 1 << 32)
    return np.where(slots < 0, slots, self._slots.ids[np.maximum(slots, 0)] if self.n else slots)


def _skipped(self: StepperBase, ignore: Any, count: int) -> np.ndarray | None:
    """Return the row that each ray ignores."""
    if ignore is None:
        return None
    rows = self.slots(ignore)
    if np.shape(rows) not in ((), (count,)):
        raise ValueError(f"ignore: expected one body or shape ({count},), got shape {np.shape(rows)}")
    return np.broadcast_to(rows, (count,))


def _asked(radius: Any, mask: Any) -> tuple[float, int]:
    seen = bits("mask", mask)
    if seen.ndim:
        raise ValueError(f"mask: expected an int, got shape {seen.shape}")
    return validation.real("radius", radius, minimum=0.0), int(seen)


def _noticed(own: Any) -> int:
    """Return the mask of a wall or shape, of all bodies together."""
    return int(np.bitwise_or.reduce(np.atleast_1d(own.mask), initial=np.uint64(0)))


def planes(plan: Plan, side: Side) -> tuple[np.ndarray, np.ndarray]:
    """Return normals and offsets of a wall, by number."""
    order = np.argsort(side.own.numbers(plan))
    normals, offsets = side.own.faces(plan)
    return normals[order], offsets[order]


def _vectors(name: str, given: Any, dim: int) -> np.ndarray:
    array = validation.numbers(name, given)
    if array.ndim not in (1, 2) or array.shape[-1] != dim:
        raise ValueError(f"{name}: expected shape (k, {dim}) or ({dim},), got {array.shape}")
    return np.array(array, np.float64, order="C", ndmin=2)


def along(x: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the scalar product of each direction with each vector, summed from the first component on."""
    total = directions[:, :1] * x[:, 0]
    for c in range(1, x.shape[1]):
        total = total + directions[:, c : c + 1] * x[:, c]
    return total


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total = a[..., 0] * b[..., 0]
    for c in range(1, a.shape[-1]):
        total = total + a[..., c] * b[..., c]
    return total
