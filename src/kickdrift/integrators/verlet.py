"""Verlet methods: position Verlet, velocity Verlet, and Groot and Warren's variant."""

from __future__ import annotations

from .. import validation
from ..declaration import frozen
from .base import Integrator, Shares


@frozen()
class Verlet(Integrator):
    """Störmer's method, position Verlet: x' = 2 x - x_prev + h² a.

    The history is the previous position. After the first step it determines the motion. The velocity array is only
    written: call `restart()` after you change velocities. If dt changes, the time-corrected equation x' = x + (x -
    x_prev) h/h_prev + a h (h + h_prev)/2 is used.

    velocity: "backward" computes (x' - x)/h, first order; "central" (x'' - x)/(2 h), second order, at
    one more evaluation per call (the next step reuses it if no force depends on velocity).
    start: "taylor" (x_prev = x - h v + h² a/2, second order) or "backward" (x_prev = x - h v, which is
    equivalent to semi-implicit Euler, first order). Velocity-dependent forces use
    the second-order velocity (x - x_prev)/h + h a/2. Raises ValueError for other values.
    """

    velocity: str = "backward"
    start: str = "taylor"
    name = "verlet"
    source = "Störmer 1907; Verlet 1967, Phys. Rev. 159, 98"
    order = 2
    symplectic = True
    history = "previous position"

    def __post_init__(self) -> None:
        validation.one_of("Verlet(velocity)", self.velocity, ("backward", "central"))
        validation.one_of("Verlet(start)", self.start, ("taylor", "backward"))
        if self.start == "backward":
            object.__setattr__(self, "order", 1)

    @property
    def force_evaluations_with_drag(self) -> int:
        return 2

    @property
    def velocity_lag(self) -> float:
        return 0.5 if self.velocity == "backward" else 0.0

    splits_pulls = False  # the next step starts from positions, not from the computed velocity

    @property
    def evaluation_shares(self) -> Shares:  # type: ignore[override]
        return ((0,), (0, 0)) if self.velocity == "backward" else ((1,), (0, 1))


class VelocityVerlet(Integrator):
    """Velocity Verlet: x' = x + h (v + h a/2), v_p = v + h a, v' = v_p + h (a' - a)/2.

    a' = a(x', v_p). Exact under constant acceleration at any dt. If no force depends on velocity,
    a' is the next step's a: one evaluation per step, and one more for the first of each call.
    """

    name = "velocity_verlet"
    responses_to_drag = (0.0, 0.0, 1.0, 0.0)  # drag on the velocity change of a step affects v', not x'
    source = "Swope et al. 1982, J. Chem. Phys. 76, 637"
    evaluation_shares = ((1,), (0, 1))
    order = 2
    symplectic = True

    @property
    def force_evaluations_with_drag(self) -> int:
        return 2


@frozen()
class GrootWarren(Integrator):
    """Velocity Verlet for forces that depend on velocity, with one evaluation per step.

    x' = x + h (v + h a/2), a' = a(x', v + lam h a), v' = v + h (a + a')/2. The history is a', which the next step
    uses, although v' is not the velocity that it was computed with. With drag this is of second order for lam = 1,
    and of first order otherwise.

    lam: 0 to 1, how far ahead velocity is predicted. Groot and Warren recommend 0.5, or 0.65 if temperature matters.
    Raises TypeError or ValueError for other values.
    """

    lam: float = 0.5
    name = "groot_warren"
    source = "Groot, Warren 1997, J. Chem. Phys. 107, 4423"
    evaluation_shares = ((1,), (1,))
    order = 2
    symplectic = True
    history = "acceleration"

    def __post_init__(self) -> None:
        lam = validation.real("GrootWarren(lam)", self.lam, minimum=0.0)
        if lam > 1:
            raise ValueError(f"GrootWarren(lam): expected a number from 0 to 1, got {lam!r}")
        object.__setattr__(self, "lam", lam)

    @property
    def order_with_drag(self) -> float:
        return 2 if self.lam == 1 else 1
