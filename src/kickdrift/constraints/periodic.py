"""Periodic boundary conditions and the minimum image."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import validation
from ..declaration import declaration, numbers
from .base import Constraint

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan


class Torus(NamedTuple):
    """Geometry of a periodic box: arrays of shape (dim,), zero along open axes."""

    lower: np.ndarray
    upper: np.ndarray
    width: np.ndarray
    per_width: np.ndarray

    def nearest(self, displacement: np.ndarray) -> np.ndarray:
        """Return displacements by minimum image, (k, dim) in float64, bitwise equal to those of a step."""
        turns = displacement * self.per_width
        return displacement - self.width * ((turns + WHOLE[8]) - WHOLE[8])

    def inside(self, place: np.ndarray) -> np.ndarray:
        """Return positions, (k, dim) in float64, wrapped into the box."""
        with np.errstate(invalid="ignore"):
            out = (self.width > 0) & ~((self.lower <= place) & (place < self.upper))
            if not out.any():
                return place
            moved = place - self.width * np.floor((place - self.lower) * self.per_width)
            moved = np.where((moved < self.lower) | (moved >= self.upper), self.lower, moved)
        return np.where(out, moved, place)


#: Rounding constant per item size in bytes: adding and then subtracting it rounds to an integer.
WHOLE = {8: 1.5 * 2.0**52, 4: 1.5 * 2.0**23}
#: Distance from the box, in widths, beyond which rounding loses the position within the box; per item size.
FAR_OUT = {8: 2.0**37, 4: 2.0**8}


@declaration()
class Periodic(Constraint):
    """Periodic boundary conditions: bodies that leave on one side re-enter on the other, and interact across the sides.

    lower, upper: m, a vector of shape (dim,) or one number for all components, lower < upper. An axis from -inf to inf
    is open: kd.Periodic((0, -inf), (800, inf)) wraps from left to right, and not from floor to ceiling.

    After each step and all other constraints, in any order of declaration, positions are wrapped to lower <= x < upper
    by whole widths; velocities are unchanged. Under `verlet` the previous position is shifted equally. With pair forces
    and no other constraint, `velocity_verlet` and `verlet` with "central" velocities wrap before they evaluate the
    forces at the new position, which the next step reuses.

    A body more than 256 widths outside in float32, or 1e11 in float64, is near no other until it is wrapped: rounding
    loses its position within the box.

    `ElasticCollisions`, `Contacts`, `PairPotential`, `Springs` and `Distance` use the minimum image (Metropolis et
    al. 1953), also at positions outside of the box within a step. The sum of two radii and the cutoff may be half of
    the width at most. Springs and rods longer than that switch to another image, and measured lengths use the minimum
    image. Fields, walls, shapes, sensors and callbacks ignore images. `interpolate` draws along the shortest
    displacement, in the box: a body that wraps leaves no streak, if it moves by at most half of the width in a step.
    `Neighbours` accepts the same box. Momentum and energy are conserved as without a box; angular momentum is not
    defined.

    Raises TypeError or ValueError unless lower < upper. A stepper refuses two of them, beside
    `NBody`, whose attraction reaches all images, and bodies or cutoffs that are too large for it. Walls and shapes of
    `Contacts` that differ across opposite sides are refused, see `Contacts`.

    >>> import kickdrift as kd
    >>> ship = kd.Stepper([[9.0]], [[4.0]], dt=0.5, constraints=[Periodic(0, 10)])
    >>> ship.step()
    >>> ship.position.tolist(), ship.velocity.tolist()
    ([[1.0]], [[4.0]])
    """

    kind = "periodic"
    turn = 5

    lower: ArrayLike = numbers(place=True)
    upper: ArrayLike = numbers(place=True)

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, _bounds(f"Periodic({name})", getattr(self, name)))
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        if lower.ndim > 1 or upper.ndim > 1 or (lower.ndim and upper.ndim and lower.shape != upper.shape):
            raise ValueError(
                f"Periodic(lower, upper): expected numbers or vectors of one shape (dim,), "
                f"got shapes {lower.shape} and {upper.shape}"
            )
        lower, upper = np.broadcast_arrays(lower, upper)
        is_open = (lower == -math.inf) & (upper == math.inf)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            width = upper - lower
            wrong = ~(is_open | ((width > 0) & np.isfinite(width) & np.isfinite(1 / width)))
        if wrong.any():
            raise ValueError(
                f"Periodic(lower, upper): expected lower < upper, or -inf and inf along open axes, "
                f"got {lower.tolist()} and {upper.tolist()}"
            )

    def torus(self, dim: int, dtype: np.dtype | type = np.float64) -> Torus:
        """Return the geometry for bodies of this dtype."""
        edges = []
        for name in ("lower", "upper"):
            array = np.asarray(getattr(self, name))
            if array.shape not in ((), (dim,)):
                raise ValueError(f"Periodic({name}): expected a number or shape ({dim},), got shape {array.shape}")
            edges.append(np.broadcast_to(array, (dim,)))
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            lower, upper = (np.where(np.isfinite(edge), edge, 0.0).astype(dtype) for edge in edges)
            is_open = ~np.isfinite(edges[0])
            width = upper - lower
            per_width = np.where(is_open, np.zeros(1, dtype), 1 / np.where(is_open, np.ones(1, dtype), width))
        if not (np.isfinite(width).all() and np.isfinite(per_width).all() and ((width > 0) | is_open).all()):
            raise ValueError(
                f"Periodic(lower, upper): expected a width within {np.dtype(dtype)}, "
                f"got {edges[0].tolist()} and {edges[1].tolist()}"
            )
        return Torus(lower, upper, width, per_width)

    def compile(self, plan: Plan) -> None:
        assert plan.torus is not None
        plan.add_constraint(self.kind, self, **{name: array.copy() for name, array in plan.torus._asdict().items()})


def _bounds(name: str, value: Any) -> np.ndarray:
    """Validate numbers, which may be infinite; return a read-only copy."""
    given = validation.plain(name, value)
    infinite = np.isinf(given) if given.dtype.kind == "f" else np.zeros(given.shape, np.bool_)
    if not infinite.any():
        return validation.numbers(name, value)
    validation.numbers(name, np.where(infinite, 0.0, given))
    given = validation.in_float64(given)
    given.flags.writeable = False
    return given


def periodic_among(constraints: Iterable[Any]) -> Periodic | None:
    """Return the periodic box of a stepper, or None."""
    found = [constraint for constraint in constraints if isinstance(constraint, Periodic)]
    if len(found) > 1:
        raise ValueError("constraints: expected one Periodic at most, got two")
    return found[0] if found else None


def check_company(plan: Plan) -> None:
    """Refuse forces and constraints that are incompatible with a periodic box."""
    if plan.torus is None:
        return
    if any(interaction.kind == "n_body" for interaction in plan.interactions):
        raise ValueError("forces: expected no NBody beside Periodic: it would attract all images, far ones too")
    half = _least_width(plan.torus) / 2
    for interaction in plan.interactions:
        if interaction.kind == "pair_potential" and not float(interaction.fields["cutoff"][0]) <= half:
            raise ValueError(
                f"PairPotential(cutoff): expected at most half of the width of Periodic, {half:g} m, "
                f"got {float(interaction.fields['cutoff'][0]):g}"
            )
    for record in plan.constraint_records:
        if record.kind in ("collisions", "contacts"):
            radius = np.broadcast_to(record.fields["radius"], (plan.n,))
            reach = float(np.sort(radius.astype(np.float64))[-2:].sum()) if plan.n > 1 else 0.0
            if not reach <= half:
                raise ValueError(
                    f"{type(record.constraint).__name__}(radius): expected any two to be at most half of the width of "
                    f"Periodic together, {half:g} m, got {reach:g}"
                )
        if record.kind == "contacts":
            from .contacts import check_sides

            check_sides(plan, record)


def _least_width(torus: Torus) -> float:
    """Return the smallest width of the periodic axes."""
    return float(min((w for w in torus.width.tolist() if w > 0), default=math.inf))
