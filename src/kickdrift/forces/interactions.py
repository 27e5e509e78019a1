"""Interactions between bodies: springs between pairs, and gravity among all.

They are evaluated for all bodies at once, after the forces of `fields.py`. The forces on a body are summed in a fixed
order: results are bitwise reproducible for any number of threads and any instruction set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .. import validation
from ..constraints.base import generation_fields, weights
from ..declaration import declaration, generations, numbers
from .base import Elastic, Interaction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..constraints.periodic import Periodic
    from ..stepper.model import Plan
    from ..stepper.slots import Slots


#: Record fields of springs, by the coefficients that determine them.
_FIELDS = {"stiffness": "k", "rest_length": "rest", "damping": "c"}


@declaration()
class Springs(Elastic, Interaction):
    """Springs and dampers between pairs of bodies: F = (k (L - rest) + d L') u (Hooke; Baraff, Witkin 1998).

    pairs: indices of bodies, ints of shape (pairs, 2). A pair may appear more than once.
    stiffness: k >= 0 in N/m, scalar or (pairs,). rest_length: >= 0 in m, scalar or (pairs,); if left out, the distances
    when the stepper is made. damping: d >= 0 in kg/s, scalar or (pairs,). per_mass: whether stiffness and damping are
    divided by the reduced mass of each pair, in 1/s² and 1/s, as `from_frequency` gives them; there a pinned body is
    infinitely heavy.

    u points from the first body of a pair to the second, L is their distance and L' its rate. The first body feels F,
    the second -F. At distance zero the direction is undefined and the force is zero. Potential: k (L - rest)² / 2.
    Total momentum and angular momentum are conserved, to rounding. The forces on a body are summed in the order of the
    pairs; several `Springs` of a stepper are one list of pairs, and cost what one does.

    Raises TypeError or ValueError for wrong indices, a body paired with itself, and wrong numbers. Unstable damping,
    where dt d / m adds up to more than 2 at a body, gives a RuntimeWarning, when the stepper is made and when `set`,
    `add`, `enable`, `set_mass` or another dt causes it.

    >>> import kickdrift as kd
    >>> chain = kd.Stepper([[0.0], [1.0], [3.0]], dt=0.5, forces=[kd.Springs([(0, 1), (1, 2)], 2.0, rest_length=1.0)])
    >>> chain.energy()
    (0.0, 1.0)
    >>> chain.step()
    >>> chain.position.tolist()
    [[0.0], [1.25], [2.75]]
    """

    kind = "springs"
    independent = frozenset({"stiffness", "damping"})

    pairs: ArrayLike
    stiffness: ArrayLike = numbers(minimum=0.0)
    rest_length: ArrayLike | None = None
    damping: ArrayLike = numbers(minimum=0.0, default=0.0)
    per_mass: bool = dataclasses.field(default=False, kw_only=True)  # both coefficients are per unit of reduced mass
    generations: np.ndarray | None = generations()

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", validation.pairs("Springs(pairs)", self.pairs))
        super().__post_init__()
        if self.rest_length is not None:
            rest = validation.numbers("Springs(rest_length)", self.rest_length, minimum=0.0)
            object.__setattr__(self, "rest_length", rest)

    @classmethod
    def from_frequency(
        cls, pairs: ArrayLike, hertz: ArrayLike, damping_ratio: ArrayLike = 0.0, rest_length: ArrayLike | None = None
    ) -> Springs:
        """Return the springs that make two bodies of any masses oscillate `hertz` times a second.

        pairs, rest_length: as for `Springs`. hertz: undamped frequency >= 0 in Hz, scalar or (pairs,). damping_ratio: 0
        never stops swinging, 1 returns fastest without overshoot (critical); scalar or (pairs,).

        Stiffness and damping follow from the reduced mass of each pair, m m' / (m + m'), and are exact for a pair
        without other forces. Raises the errors of `Springs`.

        >>> import kickdrift as kd
        >>> spring = Springs.from_frequency([(0, 1)], hertz=2.0, rest_length=1.0)
        >>> pair = kd.Stepper([[0.0], [1.5]], mass=[1.0, 3.0], dt=0.001, forces=[spring])
        >>> pair.step(250)  # half a period
        >>> (pair.position[1] - pair.position[0]).round(3).tolist()
        [0.5]
        """
        stiffness, damping = cls._of_frequency(hertz, damping_ratio)
        return cls(pairs, stiffness, rest_length, damping, per_mass=True)

    def placed(self, position: np.ndarray, periodic: Periodic | None = None) -> Self:
        if self.rest_length is not None:
            return self
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is rejected below
            _, distance = self._distances(position.astype(np.float64), periodic)
        return dataclasses.replace(self, rest_length=distance)

    def compile(self, plan: Plan) -> None:
        pairs = validation.within("Springs(pairs)", np.asarray(self.pairs), plan.n)
        plan.add_interaction(
            self.kind,
            self,
            True,
            pairs=pairs,
            **self._numbers_of(self._share(plan), _FIELDS),
            **generation_fields(self.generations),
        )

    def fields_of(self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return self._numbers_of(self._share(plan), _FIELDS if "per_mass" in names else names)

    def _share(self, plan: Plan) -> np.ndarray:
        """Return the factor on stiffness and damping: the reduced mass of each pair if `per_mass`, else 1."""
        return self._reduced_masses(plan) if self.per_mass else np.ones(1)

    def _numbers_of(self, share: np.ndarray, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Return record fields that depend on these coefficients. share: factor on stiffness and damping."""
        return {_FIELDS[name]: self._per_pair(name) * (1 if name == "rest_length" else share) for name in names}

    def doubts(self, plan: Plan, dt: float) -> str | None:
        """Return a warning about damping that is unstable at this dt, for one spring or summed over a body."""
        pairs, limit = np.asarray(self.pairs), plan.integrator.damping_limit
        damping = np.broadcast_to(self._per_pair("damping") * self._share(plan), len(pairs))
        if not damping.any():
            return None
        weight = weights(plan)
        with np.errstate(over="ignore"):
            at_body = np.bincount(pairs.ravel(), np.repeat(damping, 2), plan.n) * weight
            rate = np.maximum(damping * weight[pairs].sum(axis=1), at_body[pairs].max(axis=1))
        worst = int(np.argmax(rate))
        excess = float(rate[worst]) * abs(dt) / limit
        if excess <= 1 + 1e-9:
            return None
        return (
            f"Springs(damping): {damping[worst]:.4g} kg/s of pair {worst}, of bodies {pairs[worst, 0]} and"
            f" {pairs[worst, 1]}, with all that damps either of them, makes velocities grow: {plan.integrator.name} is"
            f" stable up to a dt of {abs(dt) / excess:.3g} s, got {abs(dt):.3g} s; divide the damping by {excess:.3g}"
            f" or more, take more substeps or a smaller dt, or ImplicitEuler()"
        )

    def bound_to(self, slots: Slots) -> Self:
        return self._with(generations=slots.generations("Springs(pairs)", np.asarray(self.pairs)))

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        return self._energy(plan, position, np.ones(len(np.asarray(self.pairs)), np.bool_))

    def active_energy(self, plan: Plan, position: np.ndarray, slots: Slots) -> np.ndarray:
        return self._energy(plan, position, slots.uncut(np.asarray(self.pairs), self.generations))

    def _energy(self, plan: Plan, position: np.ndarray, uncut: np.ndarray) -> np.ndarray:
        pairs, distance = self._distances(position, plan.periodic)
        stiffness = self._per_pair("stiffness") * self._share(plan)
        stretch = distance - self._per_pair("rest_length")
        moves = (plan.mobility + np.zeros(plan.n))[pairs].any(axis=1)
        energy = np.where(uncut, moves * stiffness * stretch * stretch / 2, 0.0)
        # Each end gets half of the energy, and the sum over bodies counts each spring once.
        return np.bincount(pairs.ravel(), np.repeat(energy / 2, 2), plan.n)

    def _per_pair(self, name: str) -> np.ndarray:
        return validation.per_body(f"Springs({name})", getattr(self, name), len(np.asarray(self.pairs)), "pair")

    def _distances(self, position: np.ndarray, periodic: Periodic | None) -> tuple[np.ndarray, np.ndarray]:
        pairs = validation.within("Springs(pairs)", np.asarray(self.pairs), len(position))
        difference = position[pairs[:, 1]] - position[pairs[:, 0]]
        if periodic is not None:
            difference = periodic.torus(position.shape[1]).nearest(difference)
        return pairs, np.sqrt((difference * difference).sum(axis=1))

    def _reduced_masses(self, plan: Plan) -> np.ndarray:
        """Return m m' / (m + m') of each pair; a pinned body is infinitely heavy. Zero for two immovable bodies."""
        inverse = plan.weights[np.asarray(self.pairs)].sum(axis=1)
        return np.divide(1, inverse, out=np.zeros_like(inverse), where=inverse > 0)


@declaration()
class NBody(Interaction):
    """Gravity among all bodies: a = sum of G m' d / (|d|² + e²)^(3/2), d = x' - x (Newton; Aarseth 1963).

    G: m³/(kg s²), one number (in SI units 6.6743e-11; a negative one repels). softening: e >= 0 in m, one number
    (Plummer's, as in Aarseth). Potential: -G m m' / sqrt(|d|² + e²), once for each pair.

    Bodies at the same position do not attract each other. The cost grows with the square of the number of bodies. The
    accelerations of a body are always summed from the first body to the last. Total momentum and angular momentum are
    conserved, to rounding. Raises ValueError for bodies of infinite mass, and if the softening is so small that
    attractions overflow.

    >>> import kickdrift as kd
    >>> moons = kd.Stepper([[-1.0, 0.0], [1.0, 0.0]], [[0.0, -0.5], [0.0, 0.5]], dt=0.01, forces=[kd.NBody()])
    >>> moons.energy()
    (0.25, -0.5)
    >>> moons.step(100)
    >>> moons.position.round(4).tolist()  # half a radian along a circle
    [[-0.8776, -0.4794], [0.8776, 0.4794]]
    """

    kind = "n_body"

    G: float = 1.0
    softening: float = 0.0
    conservative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "G", validation.real("NBody(G)", self.G))
        object.__setattr__(self, "softening", validation.real("NBody(softening)", self.softening, minimum=0.0))

    def compile(self, plan: Plan) -> None:
        if np.isinf(plan.mass).any():
            first = int(np.argmax(np.isinf(plan.mass)))
            raise ValueError(
                f"NBody: expected finite masses, got inf for body {first}, which would attract without bound"
            )
        plan.add_interaction(self.kind, self, False, **self.fields_of(plan, (), {}))

    def fields_of(self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        mu, e2 = self.G * plan.mass, np.array([self.softening * self.softening])
        with np.errstate(all="ignore"):  # overflow is rejected here and by the plan
            largest = abs(mu.item()) if mu.size == 1 else np.abs(mu).max(initial=0)
            e, most = plan.dtype.type(e2.item()), plan.dtype.type(largest)
            cube = e * np.sqrt(e)
            if cube > 0 and np.isfinite(most) and not np.isfinite(most / cube):
                raise ValueError(
                    f"NBody(softening): expected 0 or enough to keep attractions within {plan.dtype}, "
                    f"got {validation.show(self.softening)}"
                )
        return {"mu": mu, "e2": e2}

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        return self._energy(plan.mass + np.zeros(plan.n), position)

    def active_energy(self, plan: Plan, position: np.ndarray, slots: Slots) -> np.ndarray:
        return self._energy(np.where(slots.alive, plan.mass, 0.0), position)

    def _energy(self, mass: Any, position: np.ndarray) -> np.ndarray:
        energy = np.zeros(len(mass))
        for i in range(len(mass) - 1):  # pairs (i, j > i)
            difference = position[i + 1 :] - position[i]
            distance = np.sqrt((difference * difference).sum(axis=1) + self.softening * self.softening)
            energy[i] = np.divide(mass[i + 1 :], distance, out=np.zeros_like(distance), where=distance > 0).sum()
        return -self.G * mass * energy
