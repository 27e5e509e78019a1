"""Queries at the current positions: ray and circle casts, and overlaps with a circle.

Queries do not need events. They are computed in float64. Functions without an underscore that take a stepper as `self`
become its methods in base.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import validation
from ..constraints.base import ALL_BITS, bits
from ..declaration import once
from .rotation import radii
from .slots import as_ids

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .base import StepperBase
    from .model import Plan


#: Number of (ray, body) tests below which a search without a grid is faster.
_FEW = 16384
#: Maximum number of bodies that stay out of the grid because they are much larger than all others.
LARGE = 16


class Side(NamedTuple):
    """A wall, or the shapes of one declaration."""

    source: int  #: number of its constraint
    record: int  #: index of its record in the plan
    part: int  #: index among the shapes of `Contacts`; negative for walls of `Contacts`; 0 for other constraints
    first: int  #: number of its first plane or shape in events
    mask: int  #: bitwise OR of its masks for all bodies
    half: float  #: half the thickness of segments, m
    normals: np.ndarray | None  #: normals of the planes of a wall, by number; None for shapes
    offsets: np.ndarray | None


class Touch(NamedTuple):
    """A search of `touching`: for contacts between bodies, or between bodies and one wall or set of shapes."""

    source: int  #: number of its constraint
    side: Side | None  #: None for pairs of bodies
    radius: np.ndarray
    through: np.ndarray  #: 0 collides, 1 sensor, 2 no contact: (sides, n) for a wall or shapes, (n,) for pairs
    reach: np.ndarray | None = None  #: contact distance of shapes, m
    slack: float = 0.0  #: tolerance for rounding errors, relative to coordinates
    category: np.ndarray | None = None  #: `category`, `mask`, and `moves` (True if movable) per body: for pairs only
    mask: np.ndarray | None = None
    moves: np.ndarray | None = None


class Scene:
    """Bodies, walls and shapes of a plan for queries, copied to arrays with one number per row."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.radius = np.array(radii(plan))
        pairs = [constraint for constraint in plan.constraints if constraint.reports_pairs]
        own: Any = pairs[0] if pairs else None  # without such a constraint, the default category
        self.category = _each(plan, getattr(own, "category", 1), np.uint64)
        self.sensor = _each(plan, getattr(own, "sensor", False), np.uint8)
        self.sides = [*sides(plan)]
        self.hit, self.contact = _hit(plan.dim), _contact(plan.dim)

    @once
    def contacts(self) -> list[Touch]:
        plan = self._plan
        # Constraints use the same tolerance.
        slack = 16 * float(np.finfo(plan.dtype).eps)
        found = []
        for record in plan.constraint_records:
            if record.constraint.reports_pairs:
                given = record.fields
                radius = _each(plan, given["radius"])
                category, mask = (_each(plan, given.get(name, 1), np.uint64) for name in ("category", "mask"))
                sensor = _each(plan, given.get("sensor", 0), np.uint8)
                moves = _each(plan, given.get("weight", 1)) > 0
                found.append(
                    Touch(plan.source(record), None, radius, sensor, category=category, mask=mask, moves=moves)
                )
        for side in self.sides:
            given = plan.constraint_records[side.record].fields
            radius, none = _each(plan, given["radius"]), np.zeros((1, 1), np.uint8)
            if side.normals is None:
                own = side.part if "shape_reach" in given else 0
                reach, through = (
                    np.atleast_2d(given.get(f"shape_{other}", given.get(name, none)))[own]
                    for name, other in (("reach", "reach"), ("sensor", "through"))
                )
                through = _each(plan, through, np.uint8)[None]
                found.append(Touch(side.source, side, radius, through, _each(plan, reach), slack))
                continue
            through = given.get("sensor", none)
            if "wall_friction" in given:  # a wall of `Contacts`: `through` includes sensor bodies
                through = given["through"][side.first : side.first + len(side.normals)] if "through" in given else none
            through = np.array(np.broadcast_to(through, (len(side.normals), plan.n)), np.uint8, order="C")
            found.append(Touch(side.source, side, radius, through, slack=slack))
        return found


def scene(self: StepperBase) -> Scene:
    """Return the Scene of the stepper's plan, cached until the plan changes."""
    found = self._scene
    if found is None or found._plan is not self._plan:
        found = self._scene = Scene(self._plan)
    return found


def _each(plan: Plan, values: Any, dtype: Any = np.float64) -> np.ndarray:
    """Return a copy of a coefficient with one number per row."""
    array = np.empty(plan.n, dtype)
    array[...] = values
    return array


def sides(plan: Plan) -> Iterator[Side]:
    """Yield the walls and shapes of a plan, in the order of evaluation."""
    for number, record in enumerate(plan.constraint_records):
        owner: Any = record.constraint
        if record.kind != "contacts" and not record.solid:
            continue
        walls, shapes = (owner.walls, owner.shapes) if record.kind == "contacts" else ((), (owner,))
        first = 0
        for part, own in enumerate((*walls, *shapes)):
            mask = int(np.bitwise_or.reduce(np.atleast_1d(own.mask), initial=np.uint64(0)))
            half, normals, offsets = float(getattr(own, "thickness", 0.0)) / 2, None, None
            if own.kind != "shapes":
                order = np.argsort(own.numbers(plan))
                normals, offsets = (np.array(each[order], np.float64, order="C") for each in own.faces(plan))
            yield Side(plan.source(record), number, part - len(walls), first, mask, half, normals, offsets)
            first += own.sides(plan)


def cast(
    self: StepperBase,
    origin: ArrayLike,
    motion: ArrayLike,
    radius: float = 0.0,
    mask: int = ALL_BITS,
    ignore: ArrayLike | None = None,
) -> Any:
    """The first hit of each ray, or of each circle or sphere that moves along a straight line.

    origin: m, shape (dim,) for one, or (k, dim). motion: m, (dim,) or the shape of origin: displacement from origin.
    radius: m, >= 0, of the circle or sphere; 0 is a ray. mask: bits; it selects bodies whose category, and walls and
    shapes whose mask, share a bit with it. ignore: a body that is not hit, by id or row: one for all rays or one each.

    Returns a structured array of shape (k,), or one item for an origin of shape (dim,):
    share, the fraction of the motion before the hit, 0 to 1: 0 if the ray begins in contact, 1 without a hit;
    what, int64: the id of the body, or -1 - number of the wall or shape as b in `Events`, or 0 without a hit;
    slot, the row of the body, else -1; shape, the number of the wall or shape in its own declaration, else -1;
    source, the number of the constraint of the wall or shape, else -1;
    point, m, of the hit; normal, outward, of length 1; without a hit, the end of the motion and zeros;
    query, the number of the ray.

    A body that lies on a floor begins in contact with it: to cast its circle along the floor, begin a hundredth of its
    radius above. Bodies have the radius and category of `Contacts`, else of `ElasticCollisions`, or the radius of
    shapes or walls. Bodies without a radius are hit by circles only. Sensors are not hit. One-way shapes are hit from
    both sides.

    A ray (radius 0) from outside hits a face, edges included, only if it moves against the normal of the face: not a
    face that it runs along or leaves, nor a circle that it grazes. So it may run along the top of a box, but meets the
    next box at the upper edge of its side. At a corner, and of all hits at the same share, the normal most opposed to
    the motion counts; if equal, bodies come first, then constraints and shapes in order. A segment without thickness
    has the normals of its two sides, also at its ends.

    Casts are computed in float64, and reproducible. Raises TypeError or ValueError, also in a world with `Periodic`,
    where `Neighbours.cast` finds bodies across the sides; DeadBodyError for a body in `ignore` that is not active;
    RuntimeError during a step.

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
    x, displacement = _vectors("origin", origin, plan.dim), validation.numbers("motion", motion).astype(np.float64)
    if displacement.shape not in ((plan.dim,), x.shape):
        raise ValueError(f"motion: expected shape ({plan.dim},) or {x.shape}, got {displacement.shape}")
    displacement = np.array(np.broadcast_to(displacement, x.shape), order="C")
    r, seen = _asked(radius, mask)
    known, level, skip = scene(self), self._level(), _skipped(self, ignore, len(x))
    places = np.ascontiguousarray(self._position, np.float64)
    hit = _first_bodies(self, known, level, places, x, displacement, r, seen, skip)
    hits = level.cast(known, places, x, displacement, r, seen, *hit)
    return hits[0] if np.ndim(origin) == 1 else hits


def overlap(self: StepperBase, point: ArrayLike, radius: float = 0.0, mask: int = ALL_BITS) -> np.ndarray:
    """The bodies, walls and shapes that a circle or sphere touches, also sensors.

    point: m, shape (dim,), or (k, dim) for several. radius: m, >= 0; 0 is a point. mask: as for `cast`.

    Returns a structured array with the fields of `cast`, sorted by query, the number of the point: first bodies by
    row, then walls and shapes in the order of constraints. share is 0; point is the point of the surface that is
    nearest to the circle's center. In a world with `Periodic`, bodies are found across its sides. Raises TypeError or
    ValueError, RuntimeError during a step.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0, 0.0], [5.0, 0.0]], constraints=[kd.Contacts(1.0)])
    >>> world.overlap((4.5, 0.5))["slot"].tolist(), world.overlap((2.0, 0.0), radius=2.0)["slot"].tolist()
    ([1], [0, 1])
    """
    return self._exclusively(_overlap, self, point, radius, mask)


@np.errstate(over="ignore", invalid="ignore")  # squares of large distances overflow
def _overlap(self: StepperBase, point: Any, radius: Any, mask: Any) -> np.ndarray:
    from ..neighbours import grid  # imported late: few programs use queries

    plan, level = self._plan, self._level()
    x = _vectors("point", point, plan.dim)
    torus = None if plan.periodic is None else plan.periodic.torus(plan.dim)
    x = x if torus is None else torus.inside(x)
    r, seen = _asked(radius, mask)
    found: list[tuple[Any, ...]] = []
    known = scene(self)
    rows = _rows(self, known, seen, sensors=True)
    places, size = self._position[rows].astype(np.float64), known.radius[rows]
    large = much_larger(size)
    others = np.delete(np.arange(len(rows)), large)
    reach = r + float(size[others].max(initial=0.0))
    if len(rows) and reach > 0:
        places = places if torus is None else torus.inside(places)
        own, start = grid(level.index_type, places[others], others, reach, torus).of(x, None)
        query = np.repeat(np.arange(len(x)), np.diff(start))
        if len(large):
            query = np.concatenate([query, np.repeat(np.arange(len(x)), len(large))])
            own = np.concatenate([own, np.tile(large, len(x))])
            order = np.lexsort((own, query))
            query, own = query[order], own[order]
        row = rows[own]
        d = x[query] - places[own]
        d = d if torus is None else torus.nearest(d)
        distance = np.sqrt(dot(d, d))
        there = distance <= r + size[own]
        normal = np.divide(d, distance[:, None], out=np.zeros_like(d), where=distance[:, None] > 0)
        on_surface = x[query] - (distance - size[own])[:, None] * normal
        arrays = query, ids(self, row), row, on_surface, normal
        query, what, row, on_surface, normal = (each[there] for each in arrays)
        found.append((query, what, row, -1, -1, on_surface, normal))
    for side in known.sides:
        if not side.mask & seen:
            continue
        if side.normals is None or side.offsets is None:
            query, number, distance, normal = level.near(side.record, side.part, x, np.full(len(x), r + side.half))
            distance = distance - side.half
        else:
            gap = along(x, side.normals) - side.offsets[:, None]
            query, number = np.nonzero((gap <= r).T)
            distance, normal = gap[number, query], side.normals[number]
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


@cache
def _contact(dim: int) -> np.dtype:
    whole = [(name, np.int64) for name in ("source", "a", "b", "slot_a", "slot_b")]
    vectors = [(name, np.float64, (dim,)) for name in ("point", "normal")]
    return np.dtype([*whole, *vectors, ("impulse", np.float64), ("shape", np.int64)])


def _first_bodies(
    self: StepperBase, known: Scene, level: Any, places: np.ndarray, x: np.ndarray, displacement: np.ndarray, r: float,
    seen: int, skip: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return for each ray the row of the first body hit (-1: none), and the fraction of the ray before the hit.

    Few rays test all bodies; more rays use a grid.
    """
    from ..neighbours import grid  # imported late: few programs use queries

    if (len(x) - 8) * len(places) < _FEW:
        found: tuple[np.ndarray, np.ndarray] = level.first_bodies(known, places, x, displacement, r, seen, skip)
        return found
    rows = _rows(self, known, seen, sensors=False)
    size = known.radius[rows]
    row, time, reach = np.full(len(x), -1), np.ones(len(x)), r + float(size.max(initial=0.0))
    if not len(rows) or not reach > 0:
        return row, time
    places = places[rows]
    if skip is not None:
        at = np.searchsorted(rows, skip) % len(rows)
        skip = np.where(rows[at] == skip, at, -1)
    # `spread`: volume per body, from a sample without the outermost 1/16 at each side, because a single body far away
    # must not enlarge all cells.
    some = np.sort(places[:: len(rows) // 1024 + 1], axis=0)
    edge = (len(some) + 15) // 16
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.prod(some[-1 - edge] - some[edge]) / len(rows) if len(some) > 2 * edge else 0.0
    if np.isfinite(spread):  # one body per cell on average: a long ray passes few cells
        reach = max(reach, float(spread) ** (1 / self.dim))
    grid(level.index_type, places, rows, reach, None, size).cast(x, displacement, r, row, time, skip)
    return row, time


# Helpers of several queries.


def _rows(self: StepperBase, known: Scene, seen: int, sensors: bool) -> np.ndarray:
    """Return the active rows whose category shares a bit with the mask `seen`."""
    rows = living(self)
    kept = known.category[rows] & np.uint64(seen) != 0
    return rows[kept if sensors else kept & (known.sensor[rows] == 0)]


def much_larger(radius: np.ndarray) -> np.ndarray:
    """Return the few bodies that are more than four times as large as all others. A grid with these bodies would need
    cells of their size for all bodies."""
    most = float(np.partition(radius, -1 - LARGE)[-1 - LARGE]) if len(radius) > 8 * LARGE else 0.0
    return np.flatnonzero(radius > 4 * most) if most > 0 else np.zeros(0, np.int64)


def living(self: StepperBase) -> np.ndarray:
    return np.arange(self.n) if self._slots is None else np.flatnonzero(self._slots.alive)


def ids(self: StepperBase, slots: np.ndarray) -> np.ndarray:
    """Return the ids of rows; negative numbers (walls and shapes) are unchanged."""
    if self._slots is None:
        return np.where(slots < 0, slots, slots | 1 << 32)
    return np.where(slots < 0, slots, self._slots.ids[np.maximum(slots, 0)] if self.n else slots)


def _skipped(self: StepperBase, ignore: Any, count: int) -> np.ndarray | None:
    """Return the row that each ray ignores."""
    if ignore is None:
        return None
    rows = self.slots(as_ids("ignore", ignore))
    if np.shape(rows) not in ((), (count,)):
        raise ValueError(f"ignore: expected one body or shape ({count},), got shape {np.shape(rows)}")
    return np.array(np.broadcast_to(rows, (count,)), np.int64)


def _asked(radius: Any, mask: Any) -> tuple[float, int]:
    seen = bits("mask", mask)
    if seen.ndim:
        raise ValueError(f"mask: expected an int, got shape {seen.shape}")
    return validation.real("radius", radius, minimum=0.0), int(seen)


def _vectors(name: str, given: Any, dim: int) -> np.ndarray:
    array = validation.numbers(name, given)
    if array.ndim not in (1, 2) or array.shape[-1] != dim:
        raise ValueError(f"{name}: expected shape (k, {dim}) or ({dim},), got {array.shape}")
    return np.array(array, np.float64, order="C", ndmin=2)


def along(x: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the dot product of each direction with each vector, summed in the order of components."""
    total = directions[:, :1] * x[:, 0]
    for c in range(1, x.shape[1]):
        total = total + directions[:, c : c + 1] * x[:, c]
    return total


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total = a[..., 0] * b[..., 0]
    for c in range(1, a.shape[-1]):
        total = total + a[..., c] * b[..., c]
    return total
