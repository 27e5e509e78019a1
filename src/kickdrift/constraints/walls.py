"""Walls that bodies bounce off: boxes from inside, and planes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Self

import numpy as np

from .. import validation
from ..declaration import declaration, filter_field, numbers
from .base import ALL_BITS, Filtered, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan


#: Coefficients that are scalar or per body.
_EACH = ("restitution", "friction", "radius")
#: Coefficients that determine which bodies collide with a wall.
_FILTERS = Filtered.independent


class Wall(Filtered):
    """Base of walls and shapes, which bodies bounce off."""

    #: The record kind of `add_corners`. This base class itself is not compiled; subclasses have other kinds.
    kind = "corners"
    solid = True
    independent = Filtered.independent | {"restitution", "friction", "surface_speed"}

    def faces(self, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
        """Return the wall as planes: normals of length 1, shape (faces, dim), and offsets."""
        raise NotImplementedError

    def numbers(self, plan: Plan) -> np.ndarray:
        """Return the event number of each plane."""
        raise NotImplementedError

    def _through(self, plan: Plan, owner: Filtered | None = None) -> np.ndarray:
        """Return for each body 0 (collides), 1 (passes with an event) or 2 (passes). owner: see `_selected`."""
        sensor = np.broadcast_to(self._scalars(plan, "sensor"), (plan.n,))
        return np.where(self._selected(plan, owner), sensor.astype(np.uint8), np.uint8(2))

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        if not set(names) <= {*_EACH, *self.places, *_FILTERS, "surface_speed", "mass"}:
            return None
        fields = {name: self._scalars(plan, name) for name in _EACH if name in names}
        for name, of, needed in (("belt", self.belt, {"surface_speed"}), ("sensor", self._through, _FILTERS)):
            if not needed.isdisjoint(names):
                values = of(plan)
                if values.any() != (name in before):
                    return None
                fields |= {name: values} if name in before else {}
        if "mass" in names:
            fields["weight"] = weights(plan)
        return fields if self.places.isdisjoint(names) else fields | self._places(plan)

    def belt(self, plan: Plan) -> np.ndarray:
        """Return the surface velocity: speed along (-n_y, n_x), for the normal n towards a body, then a vector."""
        speed: np.ndarray = np.asarray(self.surface_speed)  # type: ignore[attr-defined]
        if speed.shape != (plan.dim,) and not (speed.shape == () and (plan.dim == 2 or not speed)):
            known = "a number or " if plan.dim == 2 else ""
            raise ValueError(
                f"{type(self).__name__}(surface_speed): expected {known}a vector of shape ({plan.dim},), got shape "
                f"{speed.shape}"
            )
        return np.concatenate([[speed], np.zeros(plan.dim)] if speed.ndim == 0 else [[0.0], speed])

    def _places(self, plan: Plan) -> dict[str, np.ndarray]:
        """Return the record fields with the coordinates of the wall."""
        raise NotImplementedError

    def _compile(self, plan: Plan, **places: np.ndarray) -> None:
        plan.add_wall(self)
        each = {name: self._scalars(plan, name) for name in _EACH}
        fields = {"weight": weights(plan), "lag": np.array([plan.integrator.velocity_lag])}
        plan.add_constraint(self.kind, self, **places, **each, **fields, **self._optional(plan))

    def _optional(self, plan: Plan) -> dict[str, np.ndarray]:
        """Return the record fields of filters and of a belt that differ from the defaults."""
        found = {"sensor": self._through(plan), "belt": self.belt(plan)}
        return {name: values for name, values in found.items() if values.any()}


@declaration()
class Box(Wall):
    """Walls on all sides: lower + radius <= x <= upper - radius in each component.

    lower, upper: m, a vector of shape (dim,) or one number for all components. restitution: 0 to 1, the ratio of
    normal speed after a bounce to that before. friction: Coulomb's coefficient >= 0, which limits the tangent impulse
    to this multiple of the normal impulse; it never reverses the tangential velocity. radius: m, >= 0. The
    last three are scalar or (n,).
    category, mask: bits, a number or (n,). A body whose category is not in the mask passes through. sensor: a bool or
    (n,). Such a body passes through, and an event is recorded.

    surface_speed: m/s, of a conveyor belt: a vector, whose part along the surface counts, or in the plane a number,
    along (-n_y, n_x), where n is the normal towards the body: with y up, > 0 moves a floor to the left, and a ceiling
    to the right. Friction acts on the slip relative to the surface.

    A body that is outside after a step has hit the wall within the step. Its path is the parabola under the forces of
    the step. It bounces where the parabola crosses the wall, and moves for the rest of the step. Under uniform forces,
    bounces of restitution 1 conserve energy to rounding, at any dt and with any integrator except `energy_euler`,
    whose speed does not follow its positions.

    A body comes to rest, with zero normal velocity, if the forces of one step account for its impact speed, or if it
    would hit the wall again in the same step. A body that was outside before the step is moved to the wall.

    Static friction of walls and shapes is exact under uniform forces and `AppliedForce`. Beside other forces a body
    creeps with velocity 0, by an error of order dt²: under `velocity_verlet`, `rk4` and `pefrl` by 1 to 6 mm in a
    minute at 60 Hz in wind or on a spring; in a `RotatingFrame` by 40 to 80 mm, under most integrators. In `Contacts`
    it does not.

    Raises TypeError or ValueError for a box whose lower corner is above its upper one, or that is too narrow for a
    body.

    >>> import kickdrift as kd
    >>> ball = kd.Stepper([[1.0]], [[4.0]], dt=0.5, constraints=[Box(0, 2.5)])
    >>> ball.step()
    >>> ball.position.tolist(), ball.velocity.tolist()
    ([[2.0]], [[-4.0]])
    """

    alone = True

    kind = "box"
    radius_rank = 4

    lower: ArrayLike = numbers(place=True)
    upper: ArrayLike = numbers(place=True)
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0, per_body="number")
    friction: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    radius: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    category: ArrayLike = filter_field(1)
    mask: ArrayLike = filter_field(ALL_BITS)
    sensor: ArrayLike = filter_field(False)
    surface_speed: ArrayLike = numbers(default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        lower, upper, radius = np.asarray(self.lower), np.asarray(self.upper), np.asarray(self.radius)
        if lower.ndim > 1 or upper.ndim > 1 or (lower.ndim and upper.ndim and lower.shape != upper.shape):
            raise ValueError(
                f"Box(lower, upper): expected numbers or vectors of one shape (dim,), "
                f"got shapes {lower.shape} and {upper.shape}"
            )
        with np.errstate(over="ignore"):
            width = np.atleast_1d(upper - lower)
        if (width < 0).any():
            raise ValueError(f"Box(lower, upper): expected lower <= upper, got {lower.tolist()} and {upper.tolist()}")
        if radius.size and width.size and radius.max() > width.min() / 2:
            raise ValueError(f"Box(radius): expected at most half the width of {width.min():g} m, got {radius.max():g}")

    def faces(self, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
        """Return the wall as planes: normals of length 1, shape (faces, dim), and offsets."""
        places = self._places(plan)
        axes = np.eye(plan.dim)
        return np.concatenate([axes, -axes]), np.concatenate([places["lower"][0], -places["upper"][0]])

    def numbers(self, plan: Plan) -> np.ndarray:
        lower = 2 * np.arange(plan.dim)
        return np.concatenate([lower, lower + 1])

    def sides(self, plan: Plan) -> int:
        return 2 * plan.dim

    def compile(self, plan: Plan) -> None:
        self._compile(plan, **self._places(plan))

    def _places(self, plan: Plan) -> dict[str, np.ndarray]:
        places = {}
        for name in ("lower", "upper"):
            array = np.asarray(getattr(self, name))
            if array.shape not in ((), (plan.dim,)):
                raise ValueError(
                    f"Box({name}): expected a number or a vector of shape ({plan.dim},), got shape {array.shape}"
                )
            places[name] = np.broadcast_to(array, (1, plan.dim))
        return places


@declaration()
class Plane(Wall):
    """A half-space boundary: normal · x >= offset + radius, with the normal scaled to length 1.

    normal: shape (dim,), of any length other than zero, pointing to the side where bodies may be. offset: a number in m
    if the normal has length 1; both are divided by the length. restitution, friction, radius, category, mask, sensor,
    surface_speed: as for `Box`, and bodies bounce as from a `Box`.

    In a very flat V of two planes, one of them decides within |x| < g dt² / (4 sin slope) of its middle: there a body
    without friction slides to one side, also uphill. At 60 Hz and a slope of 0.001 that is 0.68 m.

    Raises TypeError or ValueError for any other normal or offset.

    >>> import kickdrift as kd
    >>> slope = Plane((-1, 2), 0, restitution=0, friction=0.6)
    >>> crate = kd.Stepper([[2.0, 1.0]], forces=[kd.Gravity((0, -9.81))], constraints=[slope])
    >>> crate.step(600)
    >>> crate.position.round(9).tolist()  # tan of the slope: 0.5
    [[2.0, 1.0]]
    """

    alone = True

    kind = "plane"
    radius_rank = 5
    independent = Wall.independent | {"radius"}

    normal: ArrayLike = numbers(place=True)  # any length: `offset` is divided by it, too
    offset: ArrayLike = numbers(place=True)
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0, per_body="number")
    friction: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    radius: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    category: ArrayLike = filter_field(1)
    mask: ArrayLike = filter_field(ALL_BITS)
    sensor: ArrayLike = filter_field(False)
    surface_speed: ArrayLike = numbers(default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        normal = np.asarray(self.normal)
        if normal.ndim != 1 or not normal.any():
            raise ValueError(
                f"Plane(normal): expected a direction of shape (dim,) other than zero, got {normal.tolist()}"
            )
        if np.asarray(self.offset).ndim:
            raise ValueError(f"Plane(offset): expected a number, got shape {np.asarray(self.offset).shape}")

    def shifted(self, offset: np.ndarray) -> Self:
        along = validation.dot(np.asarray(self.normal), offset)
        return dataclasses.replace(self, offset=np.asarray(self.offset) + along)

    def numbers(self, plan: Plan) -> np.ndarray:
        return np.zeros(1, np.int64)

    def sides(self, plan: Plan) -> int:
        return 1

    def faces(self, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
        """Return the plane: its normal of length 1, shape (1, dim), and its offset."""
        normal = np.asarray(self.normal)
        if normal.shape != (plan.dim,):
            raise ValueError(f"Plane(normal): expected shape ({plan.dim},), got {normal.shape}")
        size = np.abs(normal).max()  # avoids overflow of squares
        scaled = normal / size
        length = math.sqrt(validation.dot(scaled, scaled))
        return (scaled / length).reshape(1, plan.dim), np.asarray(self.offset).reshape(1) / size / length

    def compile(self, plan: Plan) -> None:
        self._compile(plan, **self._places(plan))

    def _places(self, plan: Plan) -> dict[str, np.ndarray]:
        return dict(zip(("normal", "offset"), self.faces(plan), strict=True))


def add_corners(plan: Plan, walls: list[Wall]) -> None:
    """Add a record for bodies in corners, before those of all walls, with the coefficients of the walls.

    One `Box` needs no such record, because its sides are at right angles, except for friction along an edge.
    """
    walls = [wall for wall in walls if isinstance(wall, Box | Plane)]  # `Segments` and `Boxes` solve corners themselves
    planes = any(isinstance(wall, Plane) for wall in walls) and len(walls) > 1
    edges = plan.dim > 2 and any(isinstance(wall, Box) and wall._scalars(plan, "friction").any() for wall in walls)
    if plan.dim == 1 or not (planes or edges):
        return
    faces = [wall.faces(plan) for wall in walls]
    plan.add_constraint(
        Wall.kind,
        walls[0],
        normal=np.concatenate([normal for normal, _ in faces]),
        offset=np.concatenate([offset for _, offset in faces]),
        weight=weights(plan),
        lag=np.array([plan.integrator.velocity_lag]),
        # per plane, the index of its wall and its event number
        wall=np.repeat(np.arange(len(walls)), [len(offset) for _, offset in faces]),
        number=np.concatenate([wall.numbers(plan) for wall in walls]),
    )
