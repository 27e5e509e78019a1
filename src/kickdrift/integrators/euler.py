"""Euler's methods: explicit, semi-implicit, implicit, and energy-conserving."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import validation
from ..declaration import frozen
from .base import Integrator, Shares

if TYPE_CHECKING:
    from ..stepper.model import Plan


class ExplicitEuler(Integrator):
    """Forward Euler: x' = x + h v, v' = v + h a(x, v). For comparison only; oscillators gain energy without bound."""

    name = "explicit_euler"
    source = "Euler 1768, Institutiones calculi integralis I, 650"
    evaluation_shares = ((0,), (0,))
    order = 1

    @property
    def velocity_lag(self) -> float:
        return -0.5


@frozen()
class SemiImplicitEuler(Integrator):
    """Symplectic Euler: v' = v + h a(x, v), x' = x + h v'.

    form: "kick_drift" (these equations), "drift_kick" (x' = x + h v first, then v with a at x') or
    "alternate" (kick_drift on even ticks, drift_kick on odd ones: two such steps are one of velocity
    Verlet, which makes this form second order if no force depends on velocity). Raises ValueError for another.
    """

    form: str = "kick_drift"
    name = "semi_implicit_euler"
    source = "de Vogelaere 1956; Hairer, Lubich, Wanner 2006, Geometric Numerical Integration, I.1.9"
    order = 1
    symplectic = True

    def __post_init__(self) -> None:
        validation.one_of("SemiImplicitEuler(form)", self.form, ("kick_drift", "drift_kick", "alternate"))
        if self.form == "alternate":
            object.__setattr__(self, "order", 2)

    @property
    def order_with_drag(self) -> float:
        return 1

    @property
    def velocity_lag(self) -> float:
        return {"kick_drift": 0.5, "drift_kick": -0.5, "alternate": 0.0}[self.form]

    splits_pulls = False  # each step of "alternate" has its own impulse

    @property
    def evaluation_shares(self) -> Shares:  # type: ignore[override]
        # Evaluation time of "alternate" on odd ticks; on even ticks it is 0.
        return ((0,), (0,)) if self.form == "kick_drift" else ((1,), (1,))


@frozen()
class ImplicitEuler(Integrator):
    """Backward Euler: v' = v + h a(x', v'), x' = x + h v', solved by Newton's method.

    tolerance: the residual v' - v - h a may be at most this share of |v'| + |v| + h |a| (largest components), plus
    rounding. max_iterations: Newton steps before ConvergenceError.

    Stable at any step, but it loses energy. Exception: a `Distance` that forces compress gains energy; see there.

    Independent bodies are solved separately. With interactions or callbacks all bodies form one system, with norms over
    all bodies. Its linear systems are solved matrix-free, from matrix-vector products only. For callbacks these come
    from difference quotients, or from their `jacobian` (Knoll, Keyes 2004).

    Raises TypeError or ValueError for a tolerance that is not above 0, and for fewer than one or more than a million
    iterations.
    """

    tolerance: float = 1e-9
    max_iterations: int = 200
    name = "implicit_euler"
    source = "Curtiss, Hirschfelder 1952; Baraff, Witkin 1998"
    evaluation_shares = ((1,), (1,))
    order = 1
    damping_limit = math.inf
    force_evaluations = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tolerance", validation.real("ImplicitEuler(tolerance)", self.tolerance, above=0))
        iterations = validation.integer("ImplicitEuler(max_iterations)", self.max_iterations, 1, 10**6)
        object.__setattr__(self, "max_iterations", iterations)

    @property
    def velocity_lag(self) -> float:
        return 0.5

    def check(self, plan: Plan) -> None:
        _check_turned(self, plan)


class EnergyEuler(Integrator):
    """x' = x + h v; then the speed is set to conserve the sum of kinetic and potential energy.

    The direction is that of v + h a. Only conservative forces are accepted.

    If the energy is too small for x', because a turning point is less than a step away or the body starts from rest,
    the step follows the parabola x' = x + h (v + h a/2). If the energy is too small for that, too, the position does
    not change in this step, and the velocity is reflected in the direction of a. This conserves energy, with an error
    in time of up to a few h. (A body at rest on a spring that is too stiff for the step, h² k/m > 4, never moves.) A
    `Distance` changes the energy: a pendulum loses its height.
    """

    name = "energy_euler"
    source = "Conserving energy in physics simulations, 2002, with the sign of v from v + h a"
    evaluation_shares = ((0,), (0,))
    order = 1

    def check(self, plan: Plan) -> None:
        _check_turned(self, plan)
        others = [interaction.term for interaction in plan.interactions if interaction.kind != "formula"]
        for term in plan.forces:
            if not term.conservative or any(other is term for other in others):
                raise ValueError(
                    f"integrator: {self.name} takes forces on single bodies with a potential and no friction, "
                    f"got {type(term).__name__}"
                )


def _check_turned(integrator: Integrator, plan: Plan) -> None:
    if plan.turned and plan.interactions:
        raise ValueError(
            f"integrator: {integrator.name} takes Magnetic and RotatingFrame only without interactions, "
            f"got {type(plan.interactions[0].term).__name__} beside them"
        )
