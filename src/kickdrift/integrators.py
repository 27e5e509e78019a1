"""HOW bodies move: one small declaration per scheme.

Each class names the scheme's order, whether it is symplectic, how often a step evaluates the
forces and where it comes from. The steps themselves are written twice: in `kickdrift.reference`
to be read, in `kickdrift.kernels` to be fast.

"With drag" stands for any force that depends on velocity: it costs some schemes an evaluation and
`groot_warren` its second order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import ClassVar

from . import arguments, rounded


@dataclass(frozen=True)
class Integrator:
    """Base of all integrators; parameters of the wrong type raise TypeError, wrong values ValueError.

    >>> import kickdrift as kd
    >>> kd.Stepper([[0.0]], integrator=kd.GrootWarren(lam=0.65)).integrator
    GrootWarren(lam=0.65)
    >>> kd.INTEGRATORS["rk4"].force_evaluations
    4
    """

    name: ClassVar[str]
    source: ClassVar[str]
    #: Global error is O(h**order): positions, under forces that depend on position alone.
    order: ClassVar[float]
    #: Does it keep phase-space volume under such forces, so that energy errors stay bounded?
    symplectic: ClassVar[bool] = False
    #: Evaluations of the forces in one step under such forces; None where a step iterates.
    force_evaluations: ClassVar[int | None] = 1

    @property
    def order_with_drag(self) -> float:
        """The order under forces that depend on velocity too."""
        return self.order

    @property
    def force_evaluations_with_drag(self) -> int | None:
        """Evaluations of the forces in one step under forces that depend on velocity too."""
        return self.force_evaluations

    #: What a later step depends on beside position, velocity and tick; "" for nothing.
    history: ClassVar[str] = ""

    @property
    def velocity_lag(self) -> float:
        """How far, in steps, the velocity of a step is behind its position, as constant forces show."""
        return 0.0


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        known = ", ".join(map(repr, choices))
        raise ValueError(f"{name}: expected one of {known}, got {arguments.show(value)}")


@dataclass(frozen=True)
class ExplicitEuler(Integrator):
    """Forward Euler: x' = x + h v, v' = v + h a(x, v). For comparison; oscillators blow up."""

    name = "explicit_euler"
    source = "Euler 1768, Institutiones calculi integralis I, 650"
    order = 1

    @property
    def velocity_lag(self) -> float:
        return -0.5


@dataclass(frozen=True)
class SemiImplicitEuler(Integrator):
    """Symplectic Euler: v' = v + h a(x, v), x' = x + h v'.

    form: "kick_drift" (the above), "drift_kick" (x' = x + h v first, then v with a at x') or
    "alternate" (kick_drift on even ticks, drift_kick on odd ones: two such steps are one of velocity
    Verlet, so that this form is of second order where forces ignore velocity). Raises ValueError for another.
    """

    form: str = "kick_drift"
    name = "semi_implicit_euler"
    source = "de Vogelaere 1956; Hairer, Lubich, Wanner 2006, Geometric Numerical Integration, I.1.9"
    order = 1
    symplectic = True

    def __post_init__(self) -> None:
        _one_of("SemiImplicitEuler(form)", self.form, ("kick_drift", "drift_kick", "alternate"))
        if self.form == "alternate":
            object.__setattr__(self, "order", 2)

    @property
    def order_with_drag(self) -> float:
        return 1

    @property
    def velocity_lag(self) -> float:
        return {"kick_drift": 0.5, "drift_kick": -0.5, "alternate": 0.0}[self.form]


@dataclass(frozen=True)
class ImplicitEuler(Integrator):
    """Backward Euler: v' = v + h a(x', v'), x' = x + h v', solved by Newton's method.

    Stable at any step, at the price of energy. `tolerance`: the residual v' - v - h a may be at most
    this share of |v'| + |v| + h |a| (largest components), give or take what rounding alone causes.
    `max_iterations`: Newton steps before ConvergenceError.

    Bodies that are left alone are solved one by one. Where they see each other, or functions push them,
    all are one system, and sizes are the largest of all bodies: its linear systems are solved by products
    with the matrix alone, which functions take from differences or from the `jacobian` that they were given
    (Knoll, Keyes 2004).

    Raises TypeError or ValueError for a tolerance that is not above 0, and for fewer than one or more than a million
    iterations.
    """

    tolerance: float = 1e-9
    max_iterations: int = 200
    name = "implicit_euler"
    source = "Curtiss, Hirschfelder 1952; Baraff, Witkin 1998"
    order = 1
    force_evaluations = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tolerance", arguments.real("ImplicitEuler(tolerance)", self.tolerance, above=0))
        iterations = arguments.integer("ImplicitEuler(max_iterations)", self.max_iterations, 1, 10**6)
        object.__setattr__(self, "max_iterations", iterations)

    @property
    def velocity_lag(self) -> float:
        return 0.5


@dataclass(frozen=True)
class Midpoint(Integrator):
    """Explicit midpoint rule: an Euler half-step, then a full step with the slope found there."""

    name = "midpoint"
    source = "Runge 1895; Hairer, Norsett, Wanner 1993, Solving ODEs I, II.1.2"
    order = 2
    force_evaluations = 2


@dataclass(frozen=True)
class Heun(Integrator):
    """Heun's method: the average of the slopes at both ends of an Euler step."""

    name = "heun"
    source = "Heun 1900; Hairer, Norsett, Wanner 1993, Solving ODEs I, II.1"
    order = 2
    force_evaluations = 2


@dataclass(frozen=True)
class RK4(Integrator):
    """The classical Runge-Kutta method for (x, v), weights 1/6, 1/3, 1/3, 1/6."""

    name = "rk4"
    source = "Kutta 1901; Hairer, Norsett, Wanner 1993, Solving ODEs I, table II.1.2"
    order = 4
    force_evaluations = 4


@dataclass(frozen=True)
class Verlet(Integrator):
    """Störmer's method, position Verlet: x' = 2 x - x_prev + h² a.

    The history is the previous position: after the first step, motion follows it and not the
    velocity array, which is only written (call `restart()` after changing velocities). When dt
    changes, the time-corrected form x' = x + (x - x_prev) h/h_prev + a h (h + h_prev)/2 is used.

    velocity: "backward" reads out (x' - x)/h, first order; "central" (x'' - x)/(2 h), second order, at
    one more evaluation per call (where no force depends on velocity it serves the next step).
    start: "taylor" (x_prev = x - h v + h² a/2, second order) or "backward" (x_prev = x - h v, which
    makes it semi-implicit Euler in disguise, first order). Forces that depend on velocity are
    given the second-order velocity (x - x_prev)/h + h a/2. Raises ValueError for other words.
    """

    velocity: str = "backward"
    start: str = "taylor"
    name = "verlet"
    source = "Störmer 1907; Verlet 1967, Phys. Rev. 159, 98"
    order = 2
    symplectic = True
    history = "previous position"

    def __post_init__(self) -> None:
        _one_of("Verlet(velocity)", self.velocity, ("backward", "central"))
        _one_of("Verlet(start)", self.start, ("taylor", "backward"))
        if self.start == "backward":
            object.__setattr__(self, "order", 1)

    @property
    def force_evaluations_with_drag(self) -> int:
        return 2

    @property
    def velocity_lag(self) -> float:
        return 0.5 if self.velocity == "backward" else 0.0


@dataclass(frozen=True)
class VelocityVerlet(Integrator):
    """Velocity Verlet: x' = x + h (v + h a/2), v_p = v + h a, v' = v_p + h (a' - a)/2.

    a' = a(x', v_p). Exact under constant acceleration at any dt. Where no force depends on velocity
    a' is the next step's a: one evaluation per step, and one more for the first of each call.
    """

    name = "velocity_verlet"
    source = "Swope et al. 1982, J. Chem. Phys. 76, 637"
    order = 2
    symplectic = True

    @property
    def force_evaluations_with_drag(self) -> int:
        return 2


@dataclass(frozen=True)
class GrootWarren(Integrator):
    """Velocity Verlet for forces that depend on velocity, with one evaluation per step.

    x' = x + h (v + h a/2), a' = a(x', v + lam h a), v' = v + h (a + a')/2. The history is a', kept for
    the next step although v' is not the velocity it was evaluated at: with drag that is second order
    for lam = 1 and first order otherwise.

    lam: 0 to 1, how far ahead velocity is predicted. Groot and Warren recommend 0.5 (0.65 where
    temperature matters). Raises TypeError or ValueError for what is no such number.
    """

    lam: float = 0.5
    name = "groot_warren"
    source = "Groot, Warren 1997, J. Chem. Phys. 107, 4423"
    order = 2
    symplectic = True
    history = "acceleration"

    def __post_init__(self) -> None:
        lam = arguments.real("GrootWarren(lam)", self.lam, minimum=0.0)
        if lam > 1:
            raise ValueError(f"GrootWarren(lam): expected a number from 0 to 1, got {lam!r}")
        object.__setattr__(self, "lam", lam)

    @property
    def order_with_drag(self) -> float:
        return 2 if self.lam == 1 else 1


@dataclass(frozen=True)
class Composition(Integrator):
    """Base of the schemes that drift and kick in turn: x += c0 h v; then (v += d h a; x += c h v) ...

    Under forces that depend on velocity a kick is no longer a plain sum, because v changes what it
    is changed by. The plain sum would bring every such scheme down to first order, silently; here a
    kick follows v' = a(x, v) at held x closely enough to keep the order: by the implicit midpoint
    rule, iterated, for compositions of symmetric second-order steps, and by RK4 for PEFRL, which is
    not one.
    """

    symplectic = True
    kick_rule: ClassVar[str] = "midpoint"  # or "rk4"
    kicks: ClassVar[int]

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        """(c0, c1, ...), (d1, ...): the drifts and kicks as shares of h."""
        raise NotImplementedError

    @property
    def force_evaluations_with_drag(self) -> int:
        return self.kicks * int(self.order)


def _leapfrogs(weights: list[Decimal]) -> tuple[list[Decimal], list[Decimal]]:
    # Steps of drift-kick-drift in a row; the drifts that meet are one.
    ends = [Decimal(0), *weights, Decimal(0)]
    return [(left + right) / 2 for left, right in pairwise(ends)], weights


@dataclass(frozen=True)
class Leapfrog(Composition):
    """Drift h/2, kick h, drift h/2; position and velocity are of the same time after each step."""

    name = "leapfrog"
    source = "Hairer, Lubich, Wanner 2003, Acta Numerica 12, 399, eq. 1.8"
    order = 2
    kicks = 1

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        return _leapfrogs([Decimal(1)])


@dataclass(frozen=True)
class Yoshida4(Composition):
    """Three leapfrog steps, the middle one backwards, that cancel each other's third-order error."""

    name = "yoshida4"
    source = "Forest, Ruth 1990; Yoshida 1990, Phys. Lett. A 150, 262"
    order = 4
    kicks = 3
    force_evaluations = 3

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        outer = 1 / (2 - rounded.cube_root_of_two())
        return _leapfrogs([outer, 1 - 2 * outer, outer])


@dataclass(frozen=True)
class PEFRL(Composition):
    """Position-extended Forest-Ruth-like: four kicks.

    The error constant is 46 times below yoshida4's at the same dt, 15 times at the same number of force evaluations:
    6.1e-4 and 0.0283, the norm of what is left of the fifth order.
    """

    name = "pefrl"
    source = "Omelyan, Mryglod, Folk 2002, Comput. Phys. Commun. 146, 188"
    order = 4
    kicks = 4
    force_evaluations = 4
    kick_rule = "rk4"

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        xi, lam, chi = Decimal("0.1786178958448091"), Decimal("-0.2123418310626054"), Decimal("-0.06626458266981849")
        kick = (1 - 2 * lam) / 2
        return [xi, chi, 1 - 2 * (chi + xi), chi, xi], [kick, lam, lam, kick]


@dataclass(frozen=True)
class Yoshida6(Composition):
    """Seven leapfrog steps; solution A of Yoshida."""

    name = "yoshida6"
    source = "Yoshida 1990, Phys. Lett. A 150, 262, table 1 (solution A)"
    order = 6
    kicks = 7
    force_evaluations = 7

    @classmethod
    def coefficients(cls) -> tuple[list[Decimal], list[Decimal]]:
        # The printed 15 digits, continued by Newton's method on the order conditions.
        w1 = Decimal("-1.17767998417887100694641568096431573463927")
        w2 = Decimal("0.235573213359358133684793182978534601686468")
        w3 = Decimal("0.784513610477557263819497633866349875776824")
        return _leapfrogs([w3, w2, w1, 1 - 2 * (w1 + w2 + w3), w1, w2, w3])


@dataclass(frozen=True)
class EnergyEuler(Integrator):
    """x' = x + h v; then the speed is set so that kinetic + potential energy stays what it was.

    The direction is that of v + h a. Only for terms with a potential and without friction.

    Where energy would not suffice to be at x' (a turning point is less than a step away, or the
    body starts from rest) the step follows the parabola x' = x + h (v + h a/2) instead. Where even
    that asks for more than there is, the body stays for this step and its velocity is mirrored in
    the direction of a: that keeps the energy too, and costs up to a few h of time. (A body at rest on
    a spring too stiff for the step, h² k/m > 4, stays there.)
    """

    name = "energy_euler"
    source = "Conserving energy in physics simulations, 2002, with the sign of v from v + h a"
    order = 1


@dataclass(frozen=True)
class Exact(Integrator):
    """The exact flow over h of gravity, linear drag and anchored springs; refuses other terms.

    x' = x + P v + Q a, v' = C v + S a with the acceleration a at the old state; C, S, P, Q are
    correctly rounded for each pair of drag and stiffness (some 0.1 ms each, once per dt).
    """

    name = "exact"
    source = "variation of constants; Hairer, Lubich, Wanner 2006, XIII.1.2"
    order = math.inf
    symplectic = True


INTEGRATORS: dict[str, type[Integrator]] = {
    cls.name: cls
    for cls in (
        ExplicitEuler,
        SemiImplicitEuler,
        ImplicitEuler,
        Midpoint,
        Heun,
        RK4,
        Verlet,
        VelocityVerlet,
        GrootWarren,
        Leapfrog,
        EnergyEuler,
        Yoshida4,
        PEFRL,
        Yoshida6,
        Exact,
    )
}


def resolve(integrator: str | Integrator | type[Integrator]) -> Integrator:
    """The integrator that a name, an instance or a class stands for."""
    if isinstance(integrator, str) and integrator in INTEGRATORS:
        return INTEGRATORS[integrator]()
    if isinstance(integrator, type) and integrator in INTEGRATORS.values():
        return integrator()
    if isinstance(integrator, Integrator) and getattr(integrator, "name", None) in INTEGRATORS:
        return integrator
    known = ", ".join(INTEGRATORS)
    kind = ValueError if isinstance(integrator, str) else TypeError
    raise kind(f"integrator: expected one of {known} or an instance of one, got {arguments.show(integrator)}")
