"""Contributions of a declaration to a plan, rounded to the dtype of the state."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints.base import Constraint
from ..forces.base import Term
from .pieces import ConstraintRecord, InteractionRecord, Part, Record

_F64 = np.dtype(np.float64)
#: Smallest and largest magnitude that is rounded to float32 without underflow or overflow.
_ORDINARY = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)

#: Names for errors of `_round`: the owner of merged affine coefficients, and the coefficient 1/m.
MERGED, RECIPROCAL = "forces", "reciprocal"
#: Names for errors: "owner field" or "field" -> the user's argument from which the field is computed.
_ARGUMENTS = {"forces g": "acceleration", "forces c": "drag / mass", "forces k": "stiffness / mass",
              "forces p": "anchor", "forces spin": "angular rate", "forces omega": "rate of rotation",
              "NBody mu": "G * mass", "QuadraticDrag c": "coefficient / mass", "Springs c": "damping",
              "Springs k": "stiffness", "Springs rest": "rest_length", "e2": "softening**2",
              "heat": "temperature / mass", "s": "strength", "w": "wind", "w2": "omega**2"}  # fmt: skip

if TYPE_CHECKING:
    from ..forces.applied import Applied


class Additions:
    """Base of Plan with the attributes and methods that declarations use in `compile`."""

    n: int
    dtype: np.dtype
    inverse_mass: np.ndarray
    mobility: np.ndarray
    periodic: Any
    rounded_weights: Any
    _part: Part

    # Called by declarations to add their contributions: float64 arrays with one row or n rows, and indices.

    def _add(self, name: str, *added: Any) -> None:
        part = self._part.__dict__
        part[name] = part[name] + added if name in part else added

    def add_gravity(self, g: np.ndarray) -> None:
        self._add("affine", ("g", g * self.mobility[:, None], None))

    def add_applied(self, term: Applied) -> None:
        self._add("applied", term)

    def add_drag(self, c: np.ndarray, w: np.ndarray) -> None:
        """Add -c (v - w). Coefficients of several drags are summed; the wind is their weighted mean."""
        self._add("affine", ("c", c, w))

    def add_spring(self, k: np.ndarray, p: np.ndarray) -> None:
        """Add -k (x - p). Stiffnesses of several springs are summed; the anchor is their weighted mean."""
        self._add("affine", ("k", k, p))

    def add_damping(self, rate: np.ndarray) -> None:
        self._add("affine", ("rate", rate, None))

    def add_spin_damping(self, rate: np.ndarray) -> None:
        self._add("affine", ("spin", rate, None))

    def add_rotation(self, omega: np.ndarray) -> None:
        """Add v' = v x omega, omega (1|n, 3) in rad/s. It is applied as a rotation, not as an acceleration."""
        self._add("affine", ("omega", omega, None))

    def add_record(self, kind: str, term: Term, **fields: np.ndarray) -> None:
        self._add("records", Record(kind, term.velocity_dependent, self._rounded(fields, term)))

    def add_interaction(self, kind: str, term: Term, divided_by_mass: bool, **fields: np.ndarray) -> None:
        factor = self._round(RECIPROCAL, self.inverse_mass if divided_by_mass else self.mobility, "mass")
        self._add("interactions", InteractionRecord(kind, term, factor, self._rounded(fields, term)))

    def add_constraint(self, kind: str, constraint: Constraint | Term, **fields: np.ndarray) -> None:
        self._add("constraint_records", ConstraintRecord(kind, constraint, self._rounded(fields, constraint)))

    def add_wall(self, wall: Any) -> None:
        """Register a wall that may form corners with other walls."""
        self._add("walls", wall)

    def add_links(self, *bodies: np.ndarray, at_rest: bool) -> None:
        """Register linked bodies. at_rest: whether the velocity stored at rest contains a share of a step's delta_v."""
        self._part.linked = True
        if at_rest:
            self._add("links", *bodies)

    def near_pairs(self, position: np.ndarray, reach: float, alive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and second bodies of all pairs closer than `reach`; periodic boxes use the minimum image."""
        from ..neighbours import Neighbours

        return Neighbours(position, reach, alive, periodic=self.periodic).pairs()

    def _rounded(self, fields: dict[str, np.ndarray], declared: Any) -> dict[str, np.ndarray]:
        """Return the fields of a declaration: real ones read-only in the dtype of the state, integer ones unchanged."""
        weights, owner = vars(self).get("weights"), type(declared).__name__
        return {
            name: field
            if field.dtype.kind != "f"
            else self.rounded_weights
            if field is weights
            else self._round(name, field, owner)
            for name, field in fields.items()
        }

    def _ordinary(self, numbers: list[float]) -> bool:
        """Return whether rounding to the dtype of the state can neither overflow nor underflow (NumPy would warn)."""
        if self.dtype is _F64:  # identity test for speed: an equal but distinct dtype only gets the stricter test
            return math.isfinite(sum(numbers))
        least, most = _ORDINARY
        return all(least <= number <= most or number == 0 or -most <= number <= -least for number in numbers)

    def _round(self, name: str, array: np.ndarray, owner: str = MERGED) -> np.ndarray:
        """Return an array in the dtype of the state. name, owner: coefficient and declaration, for errors."""
        if array.size <= 4 and self._ordinary(array.ravel().tolist()):  # much faster for few numbers
            array = array.astype(self.dtype, order="C")
            array.setflags(write=False)
            return array
        with np.errstate(over="ignore", under="ignore"):
            array = array.astype(self.dtype, order="C", copy=False)
        check_finite(name, array, self.dtype, owner)
        array.flags.writeable = False
        return array


def check_finite(name: str, array: np.ndarray, dtype: np.dtype, owner: str = MERGED) -> None:
    if not np.isfinite(array).all():
        what = "their merged" if owner is MERGED else "its"
        given = _ARGUMENTS.get(f"{owner} {name}") or _ARGUMENTS.get(name, name)
        raise ValueError(f"{owner}: {what} {given} overflows {dtype}")
