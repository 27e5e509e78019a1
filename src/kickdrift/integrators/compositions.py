"""Compositions of drifts and kicks, declared by their coefficients."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import ClassVar

from .. import exact_math
from .base import Integrator


class Composition(Integrator):
    """Base of schemes that alternate drifts and kicks: x += c0 h v; then (v += d h a; x += c h v) ...

    Under velocity-dependent forces a plain kick v += h a would reduce the order to one, because the
    acceleration changes with v. Instead a kick integrates v' = a(x, v) at constant x closely enough
    to keep the order: by the iterated implicit midpoint rule for compositions of symmetric
    second-order steps, and by RK4 for PEFRL, which is no such composition.
    """

    kind = "composition"
    symplectic = True
    kick_rule: ClassVar[str] = "midpoint"  # or "rk4"
    kicks: ClassVar[int]

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        """Return (c0, c1, ...), (d1, ...): drifts and kicks as fractions of h."""
        raise NotImplementedError

    @property
    def force_evaluations_with_drag(self) -> int:
        return self.kicks * int(self.order)


def _leapfrogs(weights: list[Decimal]) -> tuple[list[Decimal], list[Decimal]]:
    # Consecutive drift-kick-drift steps; adjacent drifts are merged.
    ends = [Decimal(0), *weights, Decimal(0)]
    return [(left + right) / 2 for left, right in pairwise(ends)], weights


class Leapfrog(Composition):
    """Drift h/2, kick h, drift h/2; position and velocity are synchronous after each step."""

    name = "leapfrog"
    responses_to_drag = (1 / 2, 0.0, 1 / 2, 0.0)  # positions and velocities respond to the velocity at h/2
    source = "Hairer, Lubich, Wanner 2003, Acta Numerica 12, 399, eq. 1.8"
    order = 2
    kicks = 1

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        return _leapfrogs([Decimal(1)])


class Yoshida4(Composition):
    """Three leapfrog steps, the middle one backwards, that cancel each other's third-order error."""

    name = "yoshida4"
    source = "Forest, Ruth 1990; Yoshida 1990, Phys. Lett. A 150, 262"
    order = 4
    damping_limit = 1.044
    kicks = 3
    force_evaluations = 3

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        outer = 1 / (2 - exact_math.cube_root_of_two())
        return _leapfrogs([outer, 1 - 2 * outer, outer])


class PEFRL(Composition):
    """Position-extended Forest-Ruth-like: four kicks.

    The error constant is 46 times below yoshida4's at the same dt, 15 times at the same number of force evaluations:
    6.1e-4 and 0.0283, the norm of the remaining fifth-order error terms.
    """

    name = "pefrl"
    source = "Omelyan, Mryglod, Folk 2002, Comput. Phys. Commun. 146, 188"
    order = 4
    damping_limit = 3.263
    kicks = 4
    force_evaluations = 4
    kick_rule = "rk4"

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        xi, lam, chi = Decimal("0.1786178958448091"), Decimal("-0.2123418310626054"), Decimal("-0.06626458266981849")
        kick = (1 - 2 * lam) / 2
        return [xi, chi, 1 - 2 * (chi + xi), chi, xi], [kick, lam, lam, kick]


class Yoshida6(Composition):
    """Seven leapfrog steps; solution A of Yoshida."""

    name = "yoshida6"
    source = "Yoshida 1990, Phys. Lett. A 150, 262, table 1 (solution A)"
    order = 6
    damping_limit = 1.293
    kicks = 7
    force_evaluations = 7

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        # The printed 15 digits, continued by Newton's method on the order conditions.
        w1 = Decimal("-1.17767998417887100694641568096431573463927")
        w2 = Decimal("0.235573213359358133684793182978534601686468")
        w3 = Decimal("0.784513610477557263819497633866349875776824")
        return _leapfrogs([w3, w2, w1, 1 - 2 * (w1 + w2 + w3), w1, w2, w3])
