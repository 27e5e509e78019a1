"""A box whose opposite sides are one: who leaves it on one side comes in on the other."""

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
    """The space of a periodic box: numbers of shape (dim,), all 0 along axes that are open."""

    lower: np.ndarray
    upper: np.ndarray
    width: np.ndarray
    per_width: np.ndarray

    def nearest(self, way: np.ndarray) -> np.ndarray:
        """Ways between bodies, (k, dim) in float64, to the nearest images instead; the same bits as in a step."""
        turns = way * self.per_width
        return way - self.width * ((turns + WHOLE[8]) - WHOLE[8])

    def inside(self, place: np.ndarray) -> np.ndarray:
        """Places, (k, dim) in float64, in the box."""
        turns = (place - self.lower) * self.per_width
        with np.errstate(invalid="ignore"):
            moved = place - self.width * np.floor(turns)
            moved = np.where((moved < self.lower) | (moved >= self.upper), self.lower, moved)
            out = (self.width > 0) & ~((self.lower <= place) & (place < self.upper))
        return np.where(out, moved, place)


#: By the size of a number: what is added to one and taken away again to round it to a whole number.
WHOLE = {8: 1.5 * 2.0**52, 4: 1.5 * 2.0**23}
#: From how many widths on a body is too far out to be near others: its digits say too little of where in the box it is.
FAR_OUT = {8: 2.0**37, 4: 2.0**8}


@declaration()
class Periodic(Constraint):
    """A periodic box: bodies that leave it on one side come in on the other, and see each other across its sides.

    lower, upper: m, a vector of shape (dim,) or one number for all components, lower < upper. An axis from -inf to inf
    is open: kd.Periodic((0, -inf), (800, inf)) wraps from left to right, and not from floor to ceiling.

    After each step, behind all other constraints, whatever their order, lower <= x < upper holds in each component:
    whole widths are added or taken away, and velocities stay. Under `verlet` the previous position moves along.
    Where there are forces of pairs and no other constraint, `velocity_verlet` and `verlet` with "central" velocities do
    so before they evaluate the forces at the new place, which then serve the next step too.

    A body that is put more than 256 widths outside in float32, or 1e11 in float64, or gets there within a step, is near
    no other until it is back in the box: so few of its digits say where in the box it is.

    `ElasticCollisions`, `Contacts`, `PairPotential`, `Springs` and `Distance` go from a body to the nearest image of
    the other (Metropolis et al. 1953), also where integrators look outside of the box within a step. For that the sum
    of two radii and the cutoff may be half of the width at most. Springs and rods that are longer than that turn to
    another image, and lengths that are measured are those to the nearest. All else sees bodies where they are, once:
    fields, walls, shapes, sensors and functions of users. `interpolate` draws along the shortest way, in the box, so
    a body that wraps leaves no streak; it may go through half of the width in a step at most. `Neighbours` takes the
    same box. Momentum and energy stay what they would be; angular momentum means nothing here.

    Raises TypeError or ValueError for a box that is inside out or has no width. A stepper refuses two of them, beside
    `NBody`, whose attraction reaches all images, and bodies or cutoffs that are too large for it. Walls and shapes of
    `Contacts` that would not hold bodies on both sides alike are refused: see there.

    >>> import kickdrift as kd
    >>> ship = kd.Stepper([[9.0]], [[4.0]], dt=0.5, constraints=[Periodic(0, 10)])
    >>> ship.step()
    >>> ship.position.tolist(), ship.velocity.tolist()
    ([[1.0]], [[4.0]])
    """

    kind = "periodic"

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
        """The space for bodies of such a dtype."""
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
    """Numbers, of which some may be infinite; a read-only copy."""
    try:
        given = np.array(validation.plain(name, value), np.float64)
    except (TypeError, ValueError):
        return validation.numbers(name, value)  # says what is wrong
    infinite = np.isinf(given)
    if not infinite.any():
        return validation.numbers(name, value)
    validation.numbers(name, np.where(infinite, 0.0, given))
    given.flags.writeable = False
    return given


def periodic_among(constraints: Iterable[Any]) -> Periodic | None:
    """The periodic box of a stepper, if it has one."""
    found = [constraint for constraint in constraints if isinstance(constraint, Periodic)]
    if len(found) > 1:
        raise ValueError("constraints: expected one Periodic at most, got two")
    return found[0] if found else None


def check_company(plan: Plan) -> None:
    """Refuse what cannot be in one stepper with a periodic box."""
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
    """Of the axes that are not open."""
    return float(min((w for w in torus.width.tolist() if w > 0), default=math.inf))
