"""HOW bodies move: one small declaration per scheme.

Each class names the scheme's order, whether it is symplectic, how often a step evaluates the
forces and where it comes from. The steps themselves are written twice: in `kickdrift.reference`
to be read, in `kickdrift.kernels` to be fast.

"With drag" stands for any force that depends on velocity: it costs some schemes an evaluation and
`groot_warren` its second order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from ..declaration import Frozen

if TYPE_CHECKING:
    from ..stepper.model import Plan

#: When a step evaluates the forces, in steps: under those that ignore velocity, and under others.
Shares = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Integrator(Frozen):
    """Base of all integrators; parameters of the wrong type raise TypeError, wrong values ValueError.

    >>> import kickdrift as kd
    >>> kd.Stepper([[0.0]], integrator=kd.GrootWarren(lam=0.65)).integrator
    GrootWarren(lam=0.65)
    >>> kd.INTEGRATORS["rk4"].force_evaluations
    4
    """

    name: ClassVar[str]
    #: The name by which the reference and the engine know how it steps: its own, where nothing else is said.
    kind: ClassVar[str] = ""
    source: ClassVar[str]
    #: Global error is O(h**order): positions, under forces that depend on position alone.
    order: ClassVar[float]
    #: Does it keep phase-space volume under such forces, so that energy errors stay bounded?
    symplectic: ClassVar[bool] = False
    #: Evaluations of the forces in one step under such forces; None where a step iterates.
    force_evaluations: ClassVar[int | None] = 1

    #: When a step evaluates the forces; of those alone that take functions, and of no composition. Shares that are no
    #: binary fractions are rounded first: reference and kernels are told real(h) * real(share).
    evaluation_shares: ClassVar[Shares]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.kind or getattr(cls, "name", "")

    def check(self, plan: Plan) -> None:
        """Refuse a plan that it cannot step, with ValueError."""

    @property
    def order_with_drag(self) -> float:
        """The order under forces that depend on velocity too."""
        return self.order

    @property
    def force_evaluations_with_drag(self) -> int | None:
        """Evaluations of the forces in one step under forces that depend on velocity too."""
        return self.force_evaluations

    #: With how much damping, d dt / m, a step can be stable at most: its growth, of v' = -d v / m, is at most 1 there.
    damping_limit: ClassVar[float] = 2.0

    #: What a later step depends on beside position, velocity and tick: "previous position", "acceleration" or "".
    history: ClassVar[str] = ""

    @property
    def velocity_lag(self) -> float:
        """How far, in steps, the velocity of a step is behind its position, as constant forces show."""
        return 0.0

    @property
    def splits_pulls(self) -> bool:
        """Is the velocity of a step that at its end, so that half of a steady pull's impulse follows the drift?"""
        return self.velocity_lag == 0

    @property
    def responses_to_drag(self) -> tuple[float, float, float, float]:
        """The share of a steady pull that drag c leaves in a step.

        (a, b) of 1 - a c h + b (c h)² for the position, then (a, b) of the same for twice the velocity less the
        position. These are the series of the motion itself.
        """
        return 1 / 3, 1 / 12, 2 / 3, 1 / 4


@lru_cache(256)
def shown(integrator: Integrator) -> str:
    """Its repr(), found once: each change of a plan asks for it."""
    return repr(integrator)
