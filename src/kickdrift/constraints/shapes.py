"""Static shapes: platforms, bricks, the walls of a level."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ..declaration import declaration, noticed, numbers
from .base import ALL_BITS, countable, flags
from .walls import Wall

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan

#: Shapes per leaf of the bounding volume tree.
LEAF = 4


class Shapes(Wall):
    """Base of static shapes."""

    kind = "shapes"

    def sides(self, plan: Plan) -> int:
        return len(self._ends(plan)[0])

    def _ends(self, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
        """Return two points of each shape (ends or corners), each of shape (k, dim)."""
        raise NotImplementedError

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        if not self.places.isdisjoint(names) or "radius" in names:
            return None  # the tree and the margins depend on these coefficients: compile again
        return super().fields_of(plan, names, before)

    def check(self, plan: Plan) -> None:
        """Raise ValueError for bodies in another number of dimensions."""
        raise NotImplementedError

    def described(self, plan: Plan, radius: np.ndarray) -> dict[str, np.ndarray]:
        """Return record fields: coordinates of shapes, which are enabled, and margins for these radii."""
        name = type(self).__name__
        countable(name, plan)
        lower, upper = self._ends(plan)
        enabled = np.asarray(self.enabled)  # type: ignore[attr-defined]
        if enabled.shape not in ((), (len(lower),)):
            raise ValueError(
                f"{name}(enabled): expected a bool or shape ({len(lower)},), one per shape, got shape {enabled.shape}"
            )
        # A minimum margin, even for points: rounding must not carry a body through a shape.
        skin = max(1.0, float(np.abs([lower, upper]).max(initial=0))) * 4096 * float(np.finfo(plan.dtype).eps)
        return {
            "segments": np.array([name == "Segments"], np.uint8),
            "lower": lower,
            "upper": upper,
            "enabled": np.broadcast_to(enabled, (len(lower),)).astype(np.uint8),
            "reach": np.maximum(radius + np.asarray(getattr(self, "thickness", 0.0)) / 2, skin),
        }

    def compile(self, plan: Plan) -> None:
        self.check(plan)
        self._compile(plan, **self.described(plan, self._scalars(plan, "radius")))


@declaration()
class Segments(Shapes):
    """Straight walls between two points each, solid from both sides, in the plane.

    points: m, shape (k, 2, 2): k segments with two ends each. Neighbours may share an end. restitution, friction,
    radius, category, mask, sensor: as for `Box`, a number or one per body. thickness: m, >= 0, of all segments; ends
    are round. enabled: a bool, or one per segment of shape (k,); False disables a segment.

    Bodies come no nearer than their radius. Continuous collision detection follows each along its straight
    displacement in the step, through up to 8 impacts: even the fastest body does not tunnel. It bounces as from a
    `Plane` at the point of impact. A body inside a wall is moved outside along the shortest displacement. Put shapes
    after constraints that move bodies, such as `ElasticCollisions`. The shapes near a body are found in a tree. In
    events b is -1 - the number of the segment. Raises TypeError or ValueError for wrong numbers, and if the bodies are
    not in two dimensions.

    >>> import kickdrift as kd
    >>> roof = kd.Segments([[(-1, 0), (1, 0)]])
    >>> ball = kd.Stepper([[0.0, 5.0]], [[0.0, -6000.0]], dt=1/60, constraints=[roof])
    >>> ball.step()
    >>> ball.position.round(6).tolist(), ball.velocity.tolist()
    ([[0.0, 95.0]], [[0.0, 6000.0]])
    """

    points: ArrayLike = numbers(place=True)
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0, per_body="number")
    friction: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    radius: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    thickness: ArrayLike = numbers(minimum=0.0, default=0.0)
    enabled: ArrayLike = True
    category: ArrayLike = noticed(1)
    mask: ArrayLike = noticed(ALL_BITS)
    sensor: ArrayLike = noticed(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        points = np.asarray(self.points)
        if points.ndim != 3 or points.shape[1:] != (2, 2):
            raise ValueError(f"Segments(points): expected shape (k, 2, 2), got {points.shape}")
        if np.asarray(self.thickness).ndim:
            raise ValueError(f"Segments(thickness): expected a number, got shape {np.asarray(self.thickness).shape}")
        object.__setattr__(self, "enabled", flags("Segments(enabled)", self.enabled))

    def _ends(self, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
        points = np.asarray(self.points)
        return points[:, 0], points[:, 1]

    def check(self, plan: Plan) -> None:
        if plan.dim != 2:
            raise ValueError(f"Segments: expected bodies in 2 dimensions, got {plan.dim}")


@declaration()
class Boxes(Shapes):
    """Solid boxes along the axes, which bodies bounce off from outside: bricks, platforms, level geometry.

    lower, upper: m, shape (k, dim). restitution, friction, radius, category, mask, sensor: as for `Box`. enabled: a
    bool, or one per box of shape (k,); False disables a box, such as a brick that was hit. Corners are rounded by
    the radius of the body. For collisions and events see `Segments`. Friction along an edge of two boxes, in three
    dimensions, acts box after box; `Contacts(shapes=)` solves them together. Raises TypeError or ValueError for wrong
    numbers, and for boxes whose lower corner is above the upper one.

    >>> import kickdrift as kd
    >>> bricks = kd.Boxes([(0, 0), (3, 0)], [(2, 1), (5, 1)], radius=0.5, enabled=[True, False])
    >>> ball = kd.Stepper([[1.0, 4.0]], [[0.0, -8.0]], dt=0.5, constraints=[bricks])
    >>> ball.step()
    >>> ball.position.tolist(), ball.velocity.tolist()
    ([[1.0, 3.0]], [[0.0, 8.0]])
    """

    lower: ArrayLike = numbers(place=True)
    upper: ArrayLike = numbers(place=True)
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0, per_body="number")
    friction: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    radius: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    enabled: ArrayLike = True
    category: ArrayLike = noticed(1)
    mask: ArrayLike = noticed(ALL_BITS)
    sensor: ArrayLike = noticed(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        if lower.ndim != 2 or lower.shape != upper.shape:
            raise ValueError(f"Boxes(lower, upper): expected shapes (k, dim), got {lower.shape} and {upper.shape}")
        wrong = np.flatnonzero((lower > upper).any(axis=1))
        if len(wrong):
            raise ValueError(f"Boxes(lower, upper): expected lower <= upper, got the contrary in box {wrong[0]}")
        object.__setattr__(self, "enabled", flags("Boxes(enabled)", self.enabled))

    def _ends(self, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.lower), np.asarray(self.upper)

    def check(self, plan: Plan) -> None:
        if np.shape(self.lower)[1] != plan.dim:
            raise ValueError(f"Boxes(lower): expected shape (k, {plan.dim}), got {np.shape(self.lower)}")


def tree(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Build a bounding volume tree by median splits along the longest axis: return order, bounds, first, count.

    bounds: lower and upper corners, shape (nodes, 2, dim). A node with a count is a leaf, whose shapes begin at
    `first`; any other node has two children, at `first` and `first` + 1.
    """
    order = np.arange(len(lower))
    middle = lower + (upper - lower) / 2
    waiting = [(0, len(lower))]
    bounds: list[Any] = [None]
    first, count = [0], [0]
    places = [0]
    while waiting:
        begin, end = waiting.pop()
        node = places.pop()
        own = order[begin:end]
        bounds[node] = np.array([lower[own].min(axis=0), upper[own].max(axis=0)])
        if end - begin <= LEAF:
            first[node], count[node] = begin, end - begin
            continue
        axis = int(np.argmax(middle[own].max(axis=0) - middle[own].min(axis=0)))
        order[begin:end] = own[np.argsort(middle[own, axis], kind="stable")]
        half = (begin + end) // 2
        first[node] = len(bounds)
        places += [len(bounds), len(bounds) + 1]
        bounds += [None, None]
        first += [0, 0]
        count += [0, 0]
        waiting += [(begin, half), (half, end)]
    return order, np.array(bounds), np.array(first), np.array(count)
