"""Short-range pair forces, by an expression of the distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .. import validation
from ..declaration import once
from .formula.derivatives import gradient
from .formula.program import MOST, Builder, TooLongError
from .formulas import Coded, EnergyFormula, coded, evaluate

if TYPE_CHECKING:
    from ..stepper.model import Plan
    from ..stepper.slots import Slots

#: Candidate pairs per batch of the energy sum, which limits memory.
CANDIDATES = 1 << 20


class PairPotential(EnergyFormula):
    """A short-range pair potential in J, as an expression; the force is its symbolic derivative.

    energy: the expression. It depends on r, the distance in m, and on parameters, which are numbers, uniform for
    all pairs. Definitions are strings, as for `Expression`. cutoff: m, > 0: bodies at this distance or farther do not
    interact. shift: whether to subtract the energy at the cutoff from that of each pair, which makes it continuous
    there. Forces do not depend on it.

    Each pair i < j with d = x_j - x_i and 0 < |d| < cutoff counts once: the force on i is V'(r) d / r, and on j its
    negative. The forces on a body are summed from the pair of the lowest indices to the last, with any instruction set.
    Momentum and angular momentum are conserved, to rounding. Bodies at the same position exert no force.

    A neighbour list contains the pairs within 9/8 of the cutoff, until a body has moved by half of that margin
    (Verlet 1967, Phys. Rev. 159, 98). It is built with the grid of `ElasticCollisions`. The result does not depend
    on when the list is built. Space is open, or that of `Periodic`: then d is the minimum image.
    `implicit_euler` uses difference quotients of the force.

    Raises the errors of `Expression`, and ValueError for a cutoff that is not above 0 and for parameters that are not
    single numbers. This is the potential of Lennard-Jones (1924), whose well has the depth e:

    >>> import kickdrift as kd
    >>> bond = kd.PairPotential("4*e*((q/r)**12 - (q/r)**6)", cutoff=2.5, e=1.0, q=1.0)
    >>> argon = kd.Stepper([[0.0, 0.0], [2 ** (1 / 6), 0.0], [9.0, 0.0]], dt=0.005, forces=[bond])
    >>> round(argon.energy()[1], 12)
    -1.0
    >>> argon.step(100)
    >>> argon.position.round(6).tolist()
    [[0.0, 0.0], [1.122462, 0.0], [9.0, 0.0]]
    """

    kind = "pair_potential"
    _variables = ("r",)
    conservative: ClassVar[bool] = True

    #: Each parameter is one number for all pairs.
    per_body: ClassVar[dict[str, str]] = {}

    def __init__(self, energy: str, /, cutoff: float, shift: bool = False, **given: Any) -> None:
        texts, parameters = self._split(energy, given, ("r",))
        object.__setattr__(self, "cutoff", validation.real("PairPotential(cutoff)", cutoff, above=0.0))
        object.__setattr__(self, "shift", validation.flag("PairPotential(shift)", shift))
        _check_single(parameters)
        self._declare(texts, parameters)

    if TYPE_CHECKING:
        cutoff: float
        shift: bool

    def _options(self) -> list[str]:
        return [f"cutoff={self.cutoff!r}", *(["shift=True"] if self.shift else [])]

    def changed(self, coefficients: dict[str, Any]) -> Self:
        """Return a copy with other parameters."""
        other = super().changed(coefficients)
        _check_single(other.parameters)
        return other

    def declared_values(self) -> dict[str, Any]:
        return {**super().declared_values(), "cutoff": self.cutoff, "shift": self.shift}

    # Lists of operations.

    @once
    def _nodes(self) -> tuple[Builder, dict[str, int]]:
        builder, energy = self._energy
        builder.most = 4 * MOST
        try:
            (slope,) = gradient(builder, energy, ["r"])
            if slope is None:
                slope = builder.const(0)
            return builder, {"x": builder.apply("div", slope, builder.node("name", "r"))}
        except TooLongError:
            raise ValueError("PairPotential: too long for its derivative") from None

    # In a stepper.

    def compile(self, plan: Plan) -> None:
        fields = {name: array.reshape(1) for name, array in self.parameters.items()}
        plan.add_interaction(self.kind, self, True, cutoff=np.array([self.cutoff]), **fields)

    def code(self, fields: dict[str, np.ndarray], which: str = "operations") -> Coded:
        from ..engine.formulas import LIMITS

        known = {name: fields[name] for name in self.parameters}
        places: dict[str, tuple[str, Any]] = {"r": ("position", 0), **{name: ("known", name) for name in known}}
        return coded("PairPotential", getattr(self, which), places, known, LIMITS)

    # Energy.

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        return self._sum(plan, position, np.arange(len(position)))

    def active_energy(self, plan: Plan, position: np.ndarray, slots: Slots) -> np.ndarray:
        return self._sum(plan, position, np.flatnonzero(slots.alive))

    def _sum(self, plan: Plan, position: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the energy per body: half of the energy of each pair, skipping pairs of immovable bodies."""
        if plan.periodic is not None:
            return self._sum_around(plan, position, rows)
        order = rows[np.argsort(position[rows, 0], kind="stable")]
        place, moves = position[order], (plan.mobility + np.zeros(plan.n))[order]
        behind = np.searchsorted(place[:, 0], place[:, 0] + self.cutoff) - np.arange(1, len(order) + 1)
        behind = np.maximum(behind, 0)
        total, lost, first = np.zeros(plan.n), 0.0, 0
        if self.shift:
            lost = float(self._at(np.array([self.cutoff]))[0])
        while first < len(order):
            last = first + max(1, int(np.searchsorted(np.cumsum(behind[first:]), CANDIDATES)))
            count = behind[first:last]
            i = np.repeat(np.arange(first, first + len(count)), count)
            j = i + 1 + np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
            d = place[j] - place[i]
            square = (d * d).sum(axis=1)
            near = (square > 0) & (square < self.cutoff * self.cutoff) & ((moves[i] > 0) | (moves[j] > 0))
            energy = (self._at(np.sqrt(square[near])) - lost) / 2
            total += np.bincount(order[i[near]], energy, plan.n) + np.bincount(order[j[near]], energy, plan.n)
            first = last
        return total

    def _sum_around(self, plan: Plan, position: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the energy per body in a periodic box, by minimum image."""
        assert plan.periodic is not None
        i, j = plan.near_pairs(position, self.cutoff, np.isin(np.arange(plan.n), rows))
        d = plan.periodic.torus(plan.dim).nearest(position[j] - position[i])
        square, moves = (d * d).sum(axis=1), plan.mobility + np.zeros(plan.n)
        near = (square > 0) & (square < self.cutoff * self.cutoff) & ((moves[i] > 0) | (moves[j] > 0))
        lost = float(self._at(np.array([self.cutoff]))[0]) if self.shift else 0.0
        energy = (self._at(np.sqrt(square[near])) - lost) / 2
        return np.bincount(i[near], energy, plan.n) + np.bincount(j[near], energy, plan.n)

    def _at(self, r: np.ndarray) -> np.ndarray:
        return np.asarray(evaluate(self.energy, {"r": r, **self.parameters})["x"] + np.zeros(len(r)))


def _check_single(parameters: dict[str, np.ndarray]) -> None:
    for name, array in parameters.items():
        if array.ndim:
            raise ValueError(f"PairPotential({name}): expected one number for all pairs, got shape {array.shape}")
