"""The Langevin thermostat: friction and noise of a heat bath."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import validation
from ..declaration import declaration, numbers
from .base import Interaction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan
    from ..stepper.slots import Slots


@declaration()
class Langevin(Interaction):
    """Langevin thermostat: dv = F/m dt - friction v dt + sqrt(2 friction temperature / m) dW (Langevin 1908).

    friction: 1/s, >= 0, scalar or (n,). temperature: k_B T in J = kg m²/s², >= 0, scalar or (n,). The variance of
    each component of a velocity becomes temperature / m. seed: 0 to 2**64 - 1. Bodies of infinite mass are not
    affected. A stepper can have only one.

    With c = exp(-friction dt), v' = c v + sqrt((1 - c²) temperature / m) z is exact for friction and noise alone (an
    Ornstein-Uhlenbeck process). With `velocity_verlet` it is applied in the middle of the drift. The order is then:
    kick, half a drift, this, half a drift, kick. This is BAOAB (Leimkuhler and Matthews 2013, J. Chem. Phys. 138,
    174102), whose positions in a spring have the right variance at any stable dt. With other methods, and with
    `velocity_verlet` if forces depend on velocities, it is applied after each step.

    The numbers z are normal (Box and Muller 1958, with the functions of `kd.math`). They come from Philox 4x32-10
    (Salmon et al. 2011, doi 10.1145/2063384.2063405), whose key is the seed, and whose counter is the tick and the
    id of the body. They do not depend on platform, memory layout, number of threads, other bodies that are spawned or
    removed, or `restore`. Raises TypeError or ValueError for wrong numbers, and ValueError
    for a dt below 0, because noise cannot run backwards.

    >>> import kickdrift as kd
    >>> bath = kd.Langevin(friction=1.0, temperature=2.0, seed=7)
    >>> gas = kd.Stepper([[0.0]] * 10000, dt=0.1, forces=[bath])
    >>> gas.step(100)
    >>> round(float(gas.velocity.var()), 1)
    2.0
    """

    kind = "langevin"
    conservative: ClassVar[bool] = False
    independent: ClassVar[frozenset[str]] = frozenset({"friction", "temperature"})

    friction: ArrayLike = numbers(minimum=0.0, per_body="number")
    temperature: ArrayLike = numbers(minimum=0.0, per_body="number")
    seed: int = field(default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "seed", validation.integer("Langevin(seed)", self.seed, 0, 2**64 - 1))

    @property
    def label(self) -> str:
        return f"Langevin {self.seed}"

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of the coefficients that `set` accepts."""
        return "friction", "temperature"

    def compile(self, plan: Plan) -> None:
        plan.add_interaction(self.kind, self, True, **self.fields_of(plan, (), {}))

    def fields_of(self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        friction, temperature = self._scalars(plan, "friction"), self._scalars(plan, "temperature")
        return {"friction": friction * plan.mobility, "heat": temperature * plan.inverse_mass}

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        return np.zeros(plan.n)

    def active_energy(self, plan: Plan, position: np.ndarray, slots: Slots) -> np.ndarray:
        return np.zeros(plan.n)
