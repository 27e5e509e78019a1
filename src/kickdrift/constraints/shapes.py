"""Shapes, static or moving with a given velocity: platforms, bricks, lifts, the walls of a level."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import validation
from ..declaration import declaration, filter_field, numbers, once
from .base import ALL_BITS, countable, flags
from .walls import Wall

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan

#: Shapes per leaf of the bounding volume tree.
LEAF = 4
#: Minimal distance of bodies from shapes, per item size: a multiple of the machine epsilon times the largest coordinate
#: of enabled shapes. Points do not tunnel in steps up to some 30 (float32) or 1,000 (float64) times as long as that
#: coordinate; a larger distance would be visible in float32.
SKIN = {4: 64, 8: 4096}


class Shapes(Wall):
    """Base of `Segments` and `Boxes`."""

    kind = "shapes"
    radius_rank = 3
    independent = Wall.independent | {"radius", "enabled"}

    def sides(self, plan: Plan) -> int:
        return self.count

    def _check_more(self) -> None:
        name, side = type(self).__name__, self.one_way  # type: ignore[attr-defined]
        self.__dict__["enabled"] = self._checked("enabled", self.enabled)  # type: ignore[attr-defined]
        if not isinstance(side, (bool, np.bool_)):
            direction = validation.numbers(f"{name}(one_way)", side)
            if direction.ndim != 1 or not direction.any():
                raise ValueError(f"{name}(one_way): expected True, False or a direction, got {validation.show(side)}")
            side = direction
        object.__setattr__(self, "one_way", side if isinstance(side, np.ndarray) else bool(side))
        k, dim = self.ends()[0].shape
        for coefficient, rank in (("velocity", (dim,)), ("angular_velocity", ()), ("center", (dim,))):
            value = getattr(self, coefficient, None)
            still = coefficient == "velocity" and value is not None and (dim == 1 or not np.any(value))
            if value is None or value.shape in (rank, (k, *rank)) or (still and value.shape == ()):
                continue
            one = {(): "a number", (dim,): f"shape ({dim},)"}[rank]
            each = (k, *rank)
            raise ValueError(f"{name}({coefficient}): expected {one} or {each}, got shape {value.shape}")

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two points of each shape (ends or corners), each of shape (k, dim)."""
        raise NotImplementedError

    def _with_ends(self, lower: np.ndarray, upper: np.ndarray, **more: Any) -> Self:
        """Return a copy with other ends or corners."""
        raise NotImplementedError

    # Copies of shapes keep the user's object as their handle, by which `set` and other methods find them.

    @property
    def handle(self) -> Shapes:
        known: Shapes = self.__dict__.get("_handle", self)
        return known

    def named(self, handle: Shapes) -> Self:
        """Set the handle: the user's object that this copy stands for."""
        if handle is not self:
            self.__dict__["_handle"] = handle
        return self

    def changed(self, coefficients: dict[str, Any]) -> Self:
        return super().changed(coefficients).named(self.handle)

    def shifted(self, offset: np.ndarray) -> Self:
        return super().shifted(offset).named(self.handle)

    # Motion.

    def _checked(self, name: str, value: Any) -> np.ndarray:
        if value is None and name in ("velocity", "angular_velocity", "center"):
            return value  # type: ignore[return-value]
        if name == "enabled":
            return flags(f"{type(self).__name__}(enabled)", value)
        checked = super()._checked(name, value)
        if name == "thickness" and checked.ndim:
            raise ValueError(f"Segments(thickness): expected a number, got shape {checked.shape}")
        return checked

    @property
    def count(self) -> int:
        return len(self.ends()[0])

    @property
    def moves(self) -> bool:
        """Whether the shapes have a velocity that `set` can change, even if it is 0."""
        return getattr(self, "velocity", None) is not None or getattr(self, "angular_velocity", None) is not None

    def initial_rows(self, dim: int) -> np.ndarray:
        """Return the declared displacement, angle, velocity and angular velocity of each shape, see `Motion`."""
        rows = np.zeros((self.count, 2 * dim + 2))
        rows[:, dim + 1 : -1] = self._of_each("velocity", 0.0)
        rows[:, -1] = self._of_each("angular_velocity", 0.0)
        return rows

    def _of_each(self, name: str, default: Any) -> np.ndarray:
        value = getattr(self, name, None)
        return np.asarray(default if value is None else value)

    def centers(self) -> np.ndarray:
        """Return the center of rotation of each shape: as declared, or the middle of all shapes."""
        points = np.concatenate(self.ends())
        middle = (points.min(axis=0) + points.max(axis=0)) / 2 if len(points) else np.zeros(points.shape[1])
        return np.broadcast_to(self._of_each("center", middle), (self.count, points.shape[1]))

    def posed(self, rows: np.ndarray) -> Self:
        """Return a copy with the positions and velocities of motion rows, see `Motion`."""
        dim = self.ends()[0].shape[1]
        initial, center, displacement, angle = self.initial_rows(dim), self.centers(), rows[:, :dim], rows[:, dim]
        more = {}
        for name, own in (("velocity", slice(dim + 1, -1)), ("angular_velocity", slice(-1, None))):
            values = rows[:, own]
            if not np.array_equal(values, initial[:, own]):
                values = values[0] if len(values) and (values == values[0]).all() else values
                more[name] = values if name == "velocity" else values[..., 0]
        if not displacement.any() and not angle.any():
            return dataclasses.replace(self, **more).named(self.handle) if more else self
        ends = []
        for end in self.ends():
            placed = end + displacement
            if angle.any():
                from ..math import cos, sin  # imported late: few shapes rotate

                c, s, (x, y) = cos(angle), sin(angle), (end - center).T
                turned = center + np.stack([c * x - s * y, s * x + c * y], axis=1) + displacement
                placed = np.where((angle == 0)[:, None], placed, turned)
            ends.append(placed)
        if isinstance(self, Segments):
            more["center"] = center + displacement
        return self._with_ends(*ends, **more).named(self.handle)

    def _motion(self) -> dict[str, np.ndarray]:
        """Return the record fields of moving shapes."""
        rows, center, ends = self.initial_rows(dim := self.ends()[0].shape[1]), self.centers(), self.ends()
        far = np.sqrt(np.max([((end - center) ** 2).sum(axis=1) for end in ends], axis=0)) * (1 + 1e-6)
        return {"center": center, "velocity": rows[:, dim + 1 : -1], "angular_velocity": rows[:, -1], "far": far}

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        if not self.places.isdisjoint(names):
            return None  # the tree depends on positions: compile again
        reaching = {"enabled", "thickness", "radius"}
        fields = super().fields_of(plan, set(names) - reaching, before)
        if fields is None or reaching.isdisjoint(names):
            return fields
        if "enabled" in names:
            fields["enabled"] = self.flags()
        radius = self._scalars(plan, "radius")
        return fields | {"radius": radius, "reach": self.reach(plan, radius)}

    def _open_sides(self, plan: Plan) -> np.ndarray:
        """Return the direction above each shape of a one-way declaration, see `Shapes.passes` of the reference."""
        lower, upper = self.ends()
        side = self.one_way  # type: ignore[attr-defined]
        above = np.eye(plan.dim)[-1] if side is True else np.asarray(side)
        if above.shape != (plan.dim,):
            raise ValueError(
                f"{type(self).__name__}(one_way): expected True, False or a direction of shape ({plan.dim},), "
                f"got shape {above.shape}"
            )
        if isinstance(self, Segments):
            along = upper - lower
            left = along[:, 0] * above[1] - along[:, 1] * above[0]
            sides = np.zeros((len(lower), plan.dim))
            sides[:, 0] = 1.0 if side is True else np.where(left < 0, -1.0, 1.0)
            return sides
        return np.broadcast_to(validation.unit(above), lower.shape)

    def check(self, plan: Plan) -> None:
        """Raise ValueError for bodies in another number of dimensions."""
        raise NotImplementedError

    def described(self, plan: Plan, radius: np.ndarray) -> dict[str, np.ndarray]:
        """Return record fields of the shapes: coordinates, enabled flags, motion, and contact distances per radius."""
        name = type(self).__name__
        countable(name, plan)
        lower, upper = self.ends()
        return {
            "segments": np.array([name == "Segments"], np.uint8),
            "lower": lower,
            "upper": upper,
            "enabled": self.flags(),
            **(self._motion() if self.moves else {}),
            **({} if self.one_way is False else {"one_way": self._open_sides(plan)}),  # type: ignore[attr-defined]
            "reach": self.reach(plan, radius),
        }

    def flags(self) -> np.ndarray:
        """Return the enabled flag of each shape."""
        enabled = np.asarray(self.enabled)  # type: ignore[attr-defined]
        if enabled.shape not in ((), (self.count,)):
            raise ValueError(
                f"{type(self).__name__}(enabled): expected a bool or shape ({self.count},), one per shape, "
                f"got shape {enabled.shape}"
            )
        return np.broadcast_to(enabled, (self.count,)).astype(np.uint8)

    def reach(self, plan: Plan, radius: np.ndarray) -> np.ndarray:
        """Return the distance at which bodies of these radii touch."""
        # A minimum margin, even for points: rounding must not carry a body through a shape.
        skin = self._largest * SKIN[plan.dtype.itemsize] * float(np.finfo(plan.dtype).eps)
        return np.maximum(radius + np.asarray(getattr(self, "thickness", 0.0)) / 2, skin)

    @once
    def _largest(self) -> float:
        """The largest magnitude of a coordinate of enabled shapes."""
        lower, upper = self.ends()
        held = np.broadcast_to(np.asarray(self.enabled), (len(lower),))  # type: ignore[attr-defined]
        return float(np.abs([lower[held], upper[held]]).max(initial=0))

    def _with(self, **values: Any) -> Self:
        other = super()._with(**values)
        if not {"enabled", *self.places}.isdisjoint(values):
            other.__dict__.pop("_largest", None)
        return other

    def compile(self, plan: Plan) -> None:
        self.check(plan)
        self._compile(plan, **self.described(plan, self._scalars(plan, "radius")))


@declaration()
class Segments(Shapes):
    """Straight walls between two points each, solid from both sides, in the plane.

    points: m, shape (k, 2, 2): k segments with two ends each. Neighbours may share an end. restitution, friction,
    radius, category, mask, sensor, surface_speed: as for `Box`. thickness: m, >= 0, of all segments; ends are round.
    enabled: a bool, or one per segment of shape (k,); False disables a segment. one_way: True blocks only bodies on the
    left of the line from the first to the second end; a direction, of shape (2,), those on the side that it points to.
    A body passes if it begins a step on the other side, or overlaps the segment by more than 1/16 of its radius.

    velocity: m/s, of shape (2,), or (k, 2) with one per segment. angular_velocity: rad/s, a number or (k,),
    counter-clockwise where y points up. center: m, of shape (2,) or (k, 2), about which segments rotate; the middle of
    all if left out. With a velocity, if only 0, segments move in each step: `world.set(flipper, angular_velocity=-20)`
    changes it, `world.current(flipper)` has their present places. Bodies bounce off with the velocity of the surface,
    and friction carries them. Collision detection follows the motion, too: nothing passes through, however fast. A body
    between two shapes stays there if no surface moves by more than its radius in a step; in `Contacts` in a substep.

    Bodies come no nearer than their radius. Continuous collision detection follows each along its straight
    displacement in the step, through up to 8 impacts: even the fastest body does not tunnel. It bounces as from a
    `Plane` at the point of impact. A body inside a wall is moved outside along the shortest displacement. Put shapes
    after constraints that move bodies, such as `ElasticCollisions`. The shapes near a body are found in a tree. In
    events b is -1 - the number of the segment.

    Outside of `Contacts`, two declarations act one after the other, and the second may move a body into the first: a
    ball of diameter 18 fell through a gap of 16 between a floor and a wall. Put shapes that a body touches at once
    into one declaration: there it stays above the gap.

    A body that slides or rolls from one shape to the next of the same declaration loses only the velocity across the
    kink, at any dt: forces and friction of a step are divided between the shapes by time.

    Raises TypeError or ValueError for wrong numbers, and if the bodies are not in two dimensions.

    >>> import kickdrift as kd
    >>> roof = kd.Segments([[(-1, 0), (1, 0)]])
    >>> ball = kd.Stepper([[0.0, 5.0]], [[0.0, -6000.0]], dt=1/60, constraints=[roof])
    >>> ball.step()
    >>> ball.position.round(6).tolist(), ball.velocity.tolist()
    ([[0.0, 95.0]], [[0.0, 6000.0]])
    """

    independent = Shapes.independent | {"thickness"}

    points: ArrayLike = numbers(place=True)
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0, per_body="number")
    friction: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    radius: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    thickness: ArrayLike = numbers(minimum=0.0, default=0.0)
    enabled: ArrayLike = True
    category: ArrayLike = filter_field(1)
    mask: ArrayLike = filter_field(ALL_BITS)
    sensor: ArrayLike = filter_field(False)
    surface_speed: ArrayLike = numbers(default=0.0)
    one_way: ArrayLike | bool = False
    velocity: ArrayLike | None = numbers(default=None)
    angular_velocity: ArrayLike | None = numbers(default=None)
    center: ArrayLike | None = numbers(default=None, place=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        points = np.asarray(self.points)
        if points.ndim != 3 or points.shape[1:] != (2, 2):
            line = points.ndim == 2 and points.shape[1] == 2
            hint = "; a line through points is list(zip(points[:-1], points[1:]))" if line else ""
            raise ValueError(f"Segments(points): expected two ends each, shape (k, 2, 2), got {points.shape}{hint}")
        self._check_more()

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        points = np.asarray(self.points)
        return points[:, 0], points[:, 1]

    def _with_ends(self, lower: np.ndarray, upper: np.ndarray, **more: Any) -> Self:
        return dataclasses.replace(self, points=np.stack([lower, upper], axis=1), **more)

    def check(self, plan: Plan) -> None:
        if plan.dim != 2:
            raise ValueError(f"Segments: expected bodies in 2 dimensions, got {plan.dim}")


@declaration()
class Boxes(Shapes):
    """Solid boxes along the axes, which bodies bounce off from outside: bricks, platforms, level geometry.

    lower, upper: m, shape (k, dim). restitution, friction, radius, category, mask, sensor, surface_speed: as for `Box`.
    enabled: a bool, or one per box of shape (k,); False disables a box, such as a brick that was hit. one_way: True
    blocks only bodies above the box, along the last axis; a direction, of shape (dim,), those on the side that it
    points to; see `Segments`. velocity: m/s, of shape (dim,), or (k, dim) with one per box: boxes that move, such as
    lifts, see `Segments`. Corners are rounded by the radius of the body. For collisions and events see `Segments`.
    Friction along an edge of two boxes, in three dimensions, acts box after box; `Contacts(shapes=)` solves them
    together. Put boxes that a body touches at once into one declaration: two act one after the other, and a ball of
    diameter 18 fell through a gap of 16 between them.

    Raises TypeError or ValueError for wrong numbers, and for boxes whose lower corner is above the upper one.

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
    category: ArrayLike = filter_field(1)
    mask: ArrayLike = filter_field(ALL_BITS)
    sensor: ArrayLike = filter_field(False)
    surface_speed: ArrayLike = numbers(default=0.0)
    one_way: ArrayLike | bool = False
    velocity: ArrayLike | None = numbers(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        if lower.ndim != 2 or lower.shape != upper.shape:
            hint = "; one box is Boxes([lower], [upper])" if lower.ndim == upper.ndim == 1 else ""
            raise ValueError(
                f"Boxes(lower, upper): expected equal shapes (k, dim), got {lower.shape} and {upper.shape}{hint}"
            )
        wrong = np.flatnonzero((lower > upper).any(axis=1))
        if len(wrong):
            raise ValueError(f"Boxes(lower, upper): expected lower <= upper, got the contrary in box {wrong[0]}")
        self._check_more()

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.lower), np.asarray(self.upper)

    def _with_ends(self, lower: np.ndarray, upper: np.ndarray, **more: Any) -> Self:
        return dataclasses.replace(self, lower=lower, upper=upper, **more)

    def check(self, plan: Plan) -> None:
        if np.shape(self.lower)[1] != plan.dim:
            raise ValueError(f"Boxes(lower): expected shape (k, {plan.dim}), got {np.shape(self.lower)}")


def tree(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Build a bounding volume tree by median splits along the longest axis: return order, bounds, first, count.

    bounds: lower and upper corners, shape (nodes, 2, dim). A node with a count is a leaf, whose shapes begin at
    `first`; any other node has two children, at `first` and `first` + 1. Recent trees are cached, because a change of
    masses or radii needs the tree of the same shapes again: do not write to the arrays.
    """
    return _tree(lower.shape, lower.tobytes(), upper.tobytes())


@lru_cache(16)
def _tree(shape: tuple[int, int], *corners: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    lower, upper = (np.frombuffer(each).reshape(shape) for each in corners)
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
