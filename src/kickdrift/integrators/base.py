"""Base class of integrators.

Each subclass declares the scheme's order, whether it is symplectic, its force evaluations per step and its
source. The steps are implemented twice: in `kickdrift.reference` as the readable reference, in
`kickdrift.kernels` for speed.

"With drag" stands for any force that depends on velocity: some schemes then need an extra evaluation, and
`groot_warren` drops to first order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from ..declaration import Frozen

if TYPE_CHECKING:
    from ..stepper.model import Plan

#: Times of force evaluations as fractions of a step: (without, with) velocity-dependent forces.
Shares = tuple[tuple[float, ...], tuple[float, ...]]


class Integrator(Frozen):
    """Base of all integrators; parameters of the wrong type raise TypeError, wrong values ValueError.

    >>> import kickdrift as kd
    >>> kd.Stepper([[0.0]], integrator=kd.GrootWarren(lam=0.65)).integrator
    GrootWarren(lam=0.65)
    >>> kd.INTEGRATORS["rk4"].force_evaluations
    4
    """

    name: ClassVar[str]
    #: Key in the tables of reference and engine; defaults to the name.
    kind: ClassVar[str] = ""
    source: ClassVar[str]
    #: Order of the global error of positions, O(h**order), under forces that depend on position alone.
    order: ClassVar[float]
    #: Whether the scheme is symplectic under conservative forces: energy errors then stay bounded at small dt.
    symplectic: ClassVar[bool] = False
    #: Force evaluations per step if forces depend on position alone; None if a step iterates.
    force_evaluations: ClassVar[int | None] = 1

    #: Times of force evaluations; unset for compositions, and for schemes that accept no callbacks. Fractions that are
    #: not binary are rounded first: reference and kernels use real(h) * real(share).
    evaluation_shares: ClassVar[Shares]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.kind or getattr(cls, "name", "")

    def check(self, plan: Plan) -> None:
        """Raise ValueError for a plan that this scheme cannot step."""

    @property
    def order_with_drag(self) -> float:
        """Order under velocity-dependent forces."""
        return self.order

    @property
    def force_evaluations_with_drag(self) -> int | None:
        """Force evaluations per step under velocity-dependent forces."""
        return self.force_evaluations

    #: Stability limit of damping, d dt / m: up to it, the growth factor for v' = -d v / m is at most 1.
    damping_limit: ClassVar[float] = 2.0

    #: State besides position, velocity and tick: "previous position", "acceleration" or "".
    history: ClassVar[str] = ""

    @property
    def velocity_lag(self) -> float:
        """Lag of the velocity behind the position, in steps, under constant forces."""
        return 0.0

    @property
    def splits_pulls(self) -> bool:
        """Whether velocities belong to the end of the step: then half of a constraint impulse follows the drift."""
        return self.velocity_lag == 0

    @property
    def responses_to_drag(self) -> tuple[float, float, float, float]:
        """Coefficients of the response to a steady force under drag c in a step.

        (a, b) of 1 - a c h + b (c h)² for the position, then (a, b) of the same series for twice the velocity less
        the position. The defaults are the Taylor series of the exact motion.
        """
        return 1 / 3, 1 / 12, 2 / 3, 1 / 4


@lru_cache(256)
def shown(integrator: Integrator) -> str:
    """Return the repr() of an integrator, cached because each change of a plan needs it."""
    return repr(integrator)
